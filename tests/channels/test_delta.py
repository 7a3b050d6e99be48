"""DeltaChannel by itself: bulk reduction, overwrites, and what it makes of what was stored."""

from __future__ import annotations

import collections.abc
import functools
from collections.abc import Sequence
from typing import Annotated, Any, Required

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigraph.channels import BinaryOperatorAggregate, LastValue
from minigraph.channels.delta import DeltaChannel
from minigraph.channels.whole import _DeltaSnapshot
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError, InvalidUpdateError
from minigraph.types import Overwrite

TWO_OVERWRITES = (
    "Channel 'k' received more than one Overwrite in one super-step, and only one value can "
    "stand. Let only one of the nodes overwrite it.\nError code: INVALID_CONCURRENT_GRAPH_UPDATE"
)


def extend(value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*value, *(item for write in writes for item in write)]


def merge(value: dict[str, Any], writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return functools.reduce(lambda old, new: {**old, **new}, writes, value)


class Spy:
    """A reducer that remembers what it was called with."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __call__(self, value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
        self.calls.append((value, writes))
        return extend(value, writes)


def channel(*stored: Any, reducer: Any = extend, typ: Any = list) -> DeltaChannel[Any]:
    """A channel of key ``k`` with this stored value, or an empty one."""
    made = DeltaChannel[Any](reducer, typ)
    made.key = "k"
    return made.from_checkpoint(*stored or [MISSING])


def replayed(*writes: Any, stored: Any = MISSING, reducer: Any = extend) -> Any:
    """What a row of stored writes makes of a stored value."""
    made = channel(stored, reducer=reducer)
    made.replay_writes([(f"task {n}", "k", write) for n, write in enumerate(writes)])
    return made.get()


class TestUpdate:
    def test_the_reducer_is_called_once_for_a_batch(self) -> None:
        """CH-19, DC-02: with the value, and a list of all writes of the super-step."""
        spy = Spy()
        made = channel(reducer=spy)

        assert made.update([["a"], ["b"]]) is True
        assert made.update((["c"],)) is True
        assert made.get() == ["a", "b", "c"]
        assert spy.calls == [([], [["a"], ["b"]]), (["a", "b"], [["c"]])]
        assert [type(writes) for _, writes in spy.calls] == [list, list]

    def test_the_reducer_has_a_list_of_its_own(self) -> None:
        """DC-02: one that keeps or edits it, does nothing to the writes that are stored."""
        spy = Spy()
        writes = [["a"]]
        channel(reducer=spy).update(writes)

        assert spy.calls[0][1] == writes
        assert spy.calls[0][1] is not writes

    def test_no_writes_are_no_change(self) -> None:
        """CH-01, CH-19: the reducer is not asked."""
        spy = Spy()
        made = channel(["a"], reducer=spy)

        assert made.update([]) is False
        assert (made.get(), spy.calls) == (["a"], [])

    def test_a_batch_that_changes_nothing_counts_as_a_change(self) -> None:
        """CH-07: a write is a change; values are not compared."""
        made = channel(["a"])

        assert (made.update([[]]), made.get()) == (True, ["a"])

    def test_before_it_was_restored_it_is_unset(self) -> None:
        """CH-19: until `from_checkpoint`, or the first update, which begins with the empty type."""
        made = DeltaChannel(extend)

        assert made.is_available() is False
        with pytest.raises(EmptyChannelError):
            made.get()
        assert made.update([["a"]]) is True
        assert (made.is_available(), made.get()) == (True, ["a"])

    def test_what_the_reducer_raises_is_raised_and_the_value_stays(self) -> None:
        made = channel(["a"])

        with pytest.raises(TypeError, match="not iterable"):
            made.update([["b"], 5])
        assert (made.get(), made.overwritten) == (["a"], False)

    def test_other_types(self) -> None:
        """CH-19: whatever the type, it begins empty."""
        made = channel(reducer=merge, typ=dict[str, int])
        assert made.get() == {}
        assert made.update([{"a": 1, "b": 1}, {"b": 2}]) is True
        assert made.get() == {"a": 1, "b": 2}

        count = channel(reducer=lambda value, writes: value + sum(writes), typ=int)
        assert (count.get(), count.update([1, 2]), count.get()) == (0, True, 3)

    @given(st.lists(st.lists(st.lists(st.integers(), max_size=2), max_size=3), max_size=5))
    def test_however_the_writes_fall_into_super_steps(self, steps: list[list[list[int]]]) -> None:
        """CH-19, DC-02: one after the other, or read all at once, they come to the same."""
        made = channel()
        for writes in steps:
            assert made.update(writes) is bool(writes)
        every = [write for writes in steps for write in writes]

        assert made.get() == extend([], every) == replayed(*every)


class TestOverwrite:
    @pytest.mark.parametrize(
        "spelling",
        [Overwrite(["O"]), {"__overwrite__": ["O"]}, {"value": ["O"], "type": "__overwrite__"}],
        ids=["class", "one-key", "json"],
    )
    def test_it_decides_the_super_step(self, spelling: Any) -> None:
        """CH-10, CH-11, DC-09: in all spellings, wherever it stands, and the reducer is not asked.
        The next update goes on from it."""
        for writes in ([spelling], [["a"], spelling], [spelling, ["a"]], [["a"], spelling, ["b"]]):
            spy = Spy()
            made = channel(["base"], reducer=spy)

            assert made.update(writes) is True
            assert (made.get(), made.overwritten, spy.calls) == (["O"], True, [])
            assert (made.update([["c"]]), made.get()) == (True, ["O", "c"])
            assert made.overwritten is True

    def test_two_of_them_are_refused_and_the_value_stays(self) -> None:
        """CH-11: even when they agree."""
        made = channel(["base"])
        for second in (Overwrite(["O"]), {"__overwrite__": ["P"]}):
            with pytest.raises(InvalidUpdateError) as caught:
                made.update([Overwrite(["O"]), ["a"], second])

            assert str(caught.value) == TWO_OVERWRITES
            assert (made.get(), made.overwritten) == (["base"], False)

    @pytest.mark.parametrize("spelling", [Overwrite(None), {"__overwrite__": None}])
    @pytest.mark.parametrize(("typ", "empty"), [(list, []), (dict, {}), (str, "")])
    def test_overwriting_with_none_empties_it(self, spelling: Any, typ: Any, empty: Any) -> None:
        """CH-12: unlike an aggregate, which then holds None."""
        made = channel(typ("x") if typ is str else typ(), typ=typ)

        assert made.update([spelling]) is True
        assert (made.get(), type(made.get()), made.overwritten) == (empty, typ, True)

    def test_what_else_is_false_is_a_value(self) -> None:
        """CH-12: only None stands for nothing."""
        made = channel(7, reducer=lambda value, writes: value + sum(writes), typ=int)
        for value in (0, False, -1):
            assert (made.update([Overwrite(value)]), made.get()) == (True, value)

    def test_what_only_looks_like_one(self) -> None:
        """CH-10: it goes to the reducer."""
        made = channel(reducer=lambda value, writes: [*value, *writes])
        likes: list[Any] = [{"value": 1}, {"__overwrite__": 1, "more": 2}, "__overwrite__", None]

        assert (made.update(likes), made.get()) == (True, likes)
        assert made.overwritten is False


class TestReplay:
    def test_the_reducer_is_called_once_for_all(self) -> None:
        """DC-02: however many super-steps the writes are from."""
        spy = Spy()

        assert replayed(["a"], ["b"], ["c"], stored=["s"], reducer=spy) == ["s", "a", "b", "c"]
        assert spy.calls == [(["s"], [["a"], ["b"], ["c"]])]

    def test_nothing_to_replay(self) -> None:
        """DC-10: the value is what was stored, and the reducer is not asked."""
        spy = Spy()

        assert replayed(stored=["s"], reducer=spy) == ["s"]
        assert replayed(reducer=spy) == []
        assert spy.calls == []

    def test_the_last_overwrite_is_the_new_base(self) -> None:
        """DC-09: what was before it, an overwrite too, is lost; what is after it counts. They may
        be from many super-steps, so several are no mistake here."""
        spy = Spy()
        some = [["a"], Overwrite(["O"]), ["b"], {"__overwrite__": ["P"]}, ["c"], ["d"]]

        assert replayed(*some, stored=["s"], reducer=spy) == ["P", "c", "d"]
        assert spy.calls == [(["P"], [["c"], ["d"]])]

    def test_an_overwrite_at_the_end(self) -> None:
        """DC-09: then there is nothing left to reduce."""
        spy = Spy()

        assert replayed(["a"], Overwrite(["O"]), stored=["s"], reducer=spy) == ["O"]
        assert spy.calls == []

    def test_an_overwrite_with_none(self) -> None:
        """CH-12, DC-09: empties it, and the rest goes on from there."""
        assert replayed(["a"], Overwrite(None), stored=["s"]) == []
        assert replayed(["a"], Overwrite(None), ["b"], stored=["s"]) == ["b"]

    def test_a_replay_is_no_overwrite(self) -> None:
        """DC-09: what was overwritten then is stored whole already, so no snapshot is due now."""
        made = channel()
        made.replay_writes([("task", "k", Overwrite(["O"]))])

        assert made.overwritten is False

    def test_an_unset_channel(self) -> None:
        """CH-19: begins with the empty type."""
        made = DeltaChannel(extend)
        made.replay_writes([("task", "k", ["a"])])

        assert made.get() == ["a"]

    @given(
        st.lists(
            st.lists(st.integers(), max_size=2)
            | st.builds(Overwrite, st.lists(st.integers(), max_size=2) | st.none()),
            max_size=6,
        )
    )
    def test_as_if_each_write_had_had_a_super_step_of_its_own(self, writes: list[Any]) -> None:
        """DC-02, DC-09."""
        made = channel(["s"])
        for write in writes:
            made.update([write])

        assert replayed(*writes, stored=["s"]) == made.get()


class TestStored:
    def test_there_is_nothing_to_store(self) -> None:
        """CH-19, DC-01: whatever it holds."""
        for made in (DeltaChannel(extend), channel(), channel(["a"])):
            assert made.checkpoint() is MISSING

    @pytest.mark.parametrize("nothing", [None, MISSING])
    def test_from_nothing_it_is_empty(self, nothing: Any) -> None:
        """CH-19: and there, which an unset channel is not."""
        made = channel(["old"]).from_checkpoint(nothing)

        assert (made.is_available(), made.get()) == (True, [])

    def test_from_a_snapshot_or_a_bare_value(self) -> None:
        """DC-06, DC-14: the second was stored when the field was another kind of channel."""
        assert channel(_DeltaSnapshot(["a"])).get() == ["a"]
        assert channel(["a"]).get() == ["a"]
        assert channel(_DeltaSnapshot([])).get() == []
        assert channel([]).get() == []

    def test_a_snapshot_of_none_is_none(self) -> None:
        """DC-06: somebody's reducer has given that."""
        assert channel(_DeltaSnapshot(None)).get() is None

    def test_each_channel_has_its_own_start_value(self) -> None:
        """A start value that two channels shared would carry one thread's state to another."""
        first = DeltaChannel(extend)
        one, two = first.from_checkpoint(None), first.from_checkpoint(None)
        one.get().append("mine")

        assert (one.get(), two.get(), first.from_checkpoint(MISSING).get()) == (["mine"], [], [])

    def test_what_was_overwritten_before_is_forgotten(self) -> None:
        """DC-09: it speaks of what came since the value was stored."""
        made = channel()
        made.update([Overwrite(["O"])])

        assert made.copy().overwritten is True
        assert made.from_checkpoint(["O"]).overwritten is False
        assert made.overwritten is True


class TestConfiguration:
    @pytest.mark.parametrize("wrong", [0, -1, None, 1.5, "5", 2.0])
    def test_a_frequency_must_be_a_positive_number(self, wrong: Any) -> None:
        """CH-20."""
        with pytest.raises(ValueError) as caught:
            DeltaChannel(extend, snapshot_frequency=wrong)
        assert str(caught.value) == f"snapshot_frequency must be a positive int, got {wrong!r}"

    def test_what_it_is_without_arguments(self) -> None:
        """CH-19, CH-20: a list, with a snapshot after a hundred updates."""
        made = DeltaChannel(extend)

        assert (made.typ, made.snapshot_frequency, made.reducer) == (list, 100, extend)
        assert DeltaChannel(extend, snapshot_frequency=1).snapshot_frequency == 1
        assert (made.ValueType, made.UpdateType) == (list, list)

    @pytest.mark.parametrize("typ", [int | None, Any, collections.abc.Iterable, ["no type"]])
    def test_a_type_must_have_an_empty_value(self, typ: Any) -> None:
        """CH-19: else there is nothing to fold the first write into."""
        with pytest.raises(ValueError) as caught:
            DeltaChannel(extend, typ)
        assert str(caught.value) == (
            f"A DeltaChannel begins with an empty value, but {typ!r} cannot be called without "
            "arguments. Give it a type that can, such as list or dict."
        )

    @pytest.mark.parametrize(
        ("typ", "empty"),
        [
            (list[str], []),
            (collections.abc.Sequence[int], []),
            (collections.abc.Set, set()),
            (Annotated[collections.abc.Mapping[str, int], "doc"], {}),
            (Required[str], ""),
        ],
    )
    def test_types_that_do(self, typ: Any, empty: Any) -> None:
        """CH-08, CH-19: abstract ones and wrappers are seen through."""
        made = channel(typ=typ)

        assert (made.get(), type(made.get())) == (empty, type(empty))

    def test_the_type_of_an_annotation(self) -> None:
        """CH-19: takes the place of its own; the rest stays. It begins unset."""
        made = channel(["a"], typ=list)
        of_dict = DeltaChannel(merge, snapshot_frequency=7).of_type(dict[str, int])

        assert (of_dict.typ, of_dict.reducer, of_dict.snapshot_frequency) == (
            dict[str, int], merge, 7,
        )  # fmt: skip
        assert of_dict.is_available() is False
        assert made.typ is list
        with pytest.raises(ValueError, match="begins with an empty value"):
            made.of_type(int | None)

    def test_equality_compares_reducer_and_frequency(self) -> None:
        """CH-22: type, key and value do not count."""
        one = channel(["a"])

        assert one == DeltaChannel(extend, dict)
        assert one != DeltaChannel(merge)
        assert one != DeltaChannel(extend, snapshot_frequency=99)
        assert one != BinaryOperatorAggregate(list, lambda old, new: old)
        assert one != LastValue(list)
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)

    def test_a_copy_is_independent(self) -> None:
        made = channel(["a"])
        made.snapshot_frequency = 3
        copied = made.copy()

        assert (copied.get(), copied.key, copied.typ) == (["a"], "k", list)
        assert (copied.reducer, copied.snapshot_frequency) == (extend, 3)
        copied.update([Overwrite(["b"])])
        assert (made.get(), made.overwritten) == (["a"], False)
        assert (copied.get(), copied.overwritten) == (["b"], True)

    def test_cost(self) -> None:
        """It is left alone in super-steps that do not write to it."""
        made = channel()

        assert (made.changes_when_unwritten, made.stores_writes) == (False, True)
        assert (made.consume(), made.finish()) == (False, False)
        assert not hasattr(made, "__dict__")
