"""BinaryOperatorAggregate: reducers, start values and Overwrite."""

from __future__ import annotations

import collections.abc
import functools
import operator
import typing
from typing import Annotated, Any, NotRequired

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.last_value import LastValue
from minigraph.channels.whole import _DeltaSnapshot
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError, InvalidUpdateError
from minigraph.types import Overwrite

TWO_OVERWRITES = (
    "Channel 'k' received more than one Overwrite in one super-step, and only one value can "
    "stand. Let only one of the nodes overwrite it.\nError code: INVALID_CONCURRENT_GRAPH_UPDATE"
)


class NeedsArgument:
    def __init__(self, argument: object) -> None:
        self.argument = argument


def keep_left(old: Any, new: Any) -> Any:
    return old


def with_base() -> BinaryOperatorAggregate[Any]:
    channel = BinaryOperatorAggregate(list, operator.add, "k")
    channel.update([["base"]])
    return channel


class TestFold:
    def test_starts_at_the_empty_value_of_its_type(self) -> None:
        """CH-07: it is available before anybody wrote."""
        channel = BinaryOperatorAggregate(int, operator.add)

        assert (channel.is_available(), channel.get(), channel.checkpoint()) == (True, 0, 0)
        assert channel.update([]) is False
        assert channel.get() == 0

    def test_folds_the_batch_left_to_right(self) -> None:
        """CH-07: exact values, and an order that shows."""
        numbers = BinaryOperatorAggregate(int, operator.add)
        assert (numbers.update([1, 2]), numbers.get()) == (True, 3)
        assert (numbers.update([3]), numbers.get()) == (True, 6)

        letters = BinaryOperatorAggregate(str, lambda old, new: f"({old}{new})")
        assert (letters.update(["a", "b"]), letters.get()) == (True, "((a)b)")
        assert letters.checkpoint() == "((a)b)"

    def test_a_fold_that_gives_the_same_value_counts_as_a_change(self) -> None:
        """CH-07: a write is a change; values are not compared."""
        channel = BinaryOperatorAggregate(int, operator.add)

        assert (channel.update([0]), channel.get()) == (True, 0)

    def test_what_the_reducer_raises_is_raised_and_the_value_stays(self) -> None:
        """Nothing of a batch is kept when its third write breaks the reducer."""
        channel = BinaryOperatorAggregate(int, operator.add)
        channel.update([10])

        with pytest.raises(TypeError, match="unsupported operand"):
            channel.update([1, 2, "three"])

        assert channel.get() == 10

    @given(st.lists(st.lists(st.lists(st.integers(), max_size=2), max_size=4), max_size=5))
    def test_equals_functools_reduce(self, batches: list[list[list[int]]]) -> None:
        """CH-07: however the writes fall into super-steps."""
        channel = BinaryOperatorAggregate(list, operator.add)
        for batch in batches:
            assert channel.update(batch) is bool(batch)

        all_writes = [write for batch in batches for write in batch]
        assert channel.get() == functools.reduce(operator.add, all_writes, [])


class TestStartValue:
    @pytest.mark.parametrize(
        ("typ", "expected"),
        [
            (int, 0),
            (dict[str, int], {}),
            (collections.abc.Set, set()),
            (typing.Sequence[int], []),
            (Annotated[NotRequired[list], "doc"], []),
        ],
    )
    def test_start_value(self, typ: Any, expected: object) -> None:
        """CH-07, CH-08: the empty value of the type, as it is written in the schema."""
        channel = BinaryOperatorAggregate(typ, operator.add)

        assert (channel.is_available(), channel.get()) == (True, expected)
        assert type(channel.get()) is type(expected)
        assert (channel.ValueType, channel.UpdateType) == (typ, typ)

    @pytest.mark.parametrize("typ", [int | None, Any, NeedsArgument, ["not", "a", "type"]])
    def test_a_type_without_an_empty_value_starts_unset(self, typ: Any) -> None:
        """CH-09."""
        channel = BinaryOperatorAggregate(typ, operator.add)

        assert channel.is_available() is False
        assert channel.checkpoint() is MISSING
        with pytest.raises(EmptyChannelError) as caught:
            channel.get()
        assert str(caught.value) == ""

    def test_the_first_write_of_an_unset_one_is_taken_as_it_is(self) -> None:
        """CH-09: the reducer is called for later writes only."""
        calls: list[tuple[Any, Any]] = []

        def record(old: Any, new: Any) -> Any:
            calls.append((old, new))
            return new

        channel = BinaryOperatorAggregate(NeedsArgument, record)

        assert channel.update([]) is False
        assert (channel.update(["x"]), channel.get(), calls) == (True, "x", [])
        assert (channel.update(["y"]), channel.get(), calls) == (True, "y", [("x", "y")])

    def test_later_writes_of_the_first_batch_are_folded(self) -> None:
        """CH-09."""
        channel = BinaryOperatorAggregate(int | None, operator.add)

        assert (channel.update([1, 2, 3]), channel.get()) == (True, 6)

    def test_each_channel_has_its_own_start_value(self) -> None:
        """A start value that two channels shared would carry one thread's state to another."""
        one = BinaryOperatorAggregate(list, operator.iadd)
        two = one.from_checkpoint(MISSING)
        one.update([[1]])

        assert (one.get(), two.get(), one.from_checkpoint(MISSING).get()) == ([1], [], [])


class TestOverwrite:
    @pytest.mark.parametrize(
        "spelling",
        [Overwrite(["O"]), {"__overwrite__": ["O"]}, {"value": ["O"], "type": "__overwrite__"}],
        ids=["class", "one-key", "json"],
    )
    def test_spellings(self, spelling: Any) -> None:
        """CH-10: each replaces the value."""
        channel = with_base()

        assert (channel.update([spelling]), channel.get()) == (True, ["O"])

    @pytest.mark.parametrize("write", [{"value": 1}, {"__overwrite__": 1, "more": 2}, None])
    def test_what_only_looks_like_one(self, write: Any) -> None:
        """CH-10: it goes to the reducer as an ordinary write."""
        channel = BinaryOperatorAggregate(list, lambda old, new: [*old, new])

        assert (channel.update([write]), channel.get()) == (True, [write])

    def test_it_beats_the_writes_around_it(self) -> None:
        """CH-11: earlier writes are folded and lost, later ones do not reach the reducer."""
        calls: list[tuple[Any, Any]] = []

        def record(old: list[str], new: list[str]) -> list[str]:
            calls.append((old, new))
            return old + new

        channel = BinaryOperatorAggregate(list, record)

        assert channel.update([["a"], Overwrite(["O"]), ["b"]]) is True
        assert (channel.get(), calls) == (["O"], [([], ["a"])])
        assert (channel.update([["c"]]), channel.get()) == (True, ["O", "c"])

    @pytest.mark.parametrize("second", [Overwrite([2]), {"__overwrite__": [2]}, Overwrite([1])])
    def test_two_of_them_are_refused_and_the_value_stays(self, second: Any) -> None:
        """CH-11: even when they agree; nothing of the batch is kept."""
        channel = with_base()

        with pytest.raises(InvalidUpdateError) as caught:
            channel.update([["a"], Overwrite([1]), ["b"], second])

        assert str(caught.value) == TWO_OVERWRITES
        assert channel.get() == ["base"]

    @pytest.mark.parametrize("spelling", [Overwrite(None), {"__overwrite__": None}])
    def test_overwriting_with_none_stores_none(self, spelling: Any) -> None:
        """CH-12: None is a value, not an absence."""
        channel = with_base()

        assert channel.update([spelling]) is True
        assert (channel.is_available(), channel.get(), channel.checkpoint()) == (True, None, None)

    def test_an_unset_aggregate_unwraps_it_too(self) -> None:
        """CH-13: the value is stored, where the reference stores the wrapper."""
        channel = BinaryOperatorAggregate(NeedsArgument, keep_left)

        assert (channel.update([Overwrite(1)]), channel.get()) == (True, 1)

    def test_an_unset_aggregate_refuses_two_of_them_too(self) -> None:
        """CH-11, CH-13: the first is seen as the Overwrite it is, so the second is one too many."""
        channel = BinaryOperatorAggregate(NeedsArgument, keep_left, "k")

        with pytest.raises(InvalidUpdateError) as caught:
            channel.update([Overwrite(1), Overwrite(2)])

        assert str(caught.value) == TWO_OVERWRITES
        assert channel.is_available() is False

    def test_on_an_unset_aggregate_it_beats_the_writes_around_it(self) -> None:
        """CH-09, CH-11."""
        channel = BinaryOperatorAggregate(NeedsArgument, keep_left)

        assert (channel.update([1, Overwrite(2), 3]), channel.get()) == (True, 2)

    @given(
        st.lists(st.lists(st.integers(), max_size=2), max_size=3),
        st.lists(st.integers(), max_size=2),
        st.lists(st.lists(st.integers(), max_size=2), max_size=3),
    )
    def test_the_result_is_the_overwrite_wherever_it_stands(
        self, before: list[list[int]], value: list[int], after: list[list[int]]
    ) -> None:
        """CH-11, for any neighbours."""
        channel = BinaryOperatorAggregate(list, operator.add)
        channel.update([[0]])

        assert channel.update([*before, Overwrite(value), *after]) is True
        assert channel.get() == value


class TestConfiguration:
    def test_checkpoint_round_trip(self) -> None:
        channel = with_base()

        again = channel.from_checkpoint(channel.checkpoint())

        assert (again.get(), again.key, again.typ) == (["base"], "k", list)
        assert again.operator is operator.add
        assert (again.update([["x"]]), again.get()) == (True, ["base", "x"])

    def test_checkpoint_none_is_a_value_and_missing_starts_again(self) -> None:
        """CH-02, CH-07."""
        channel = with_base()

        assert channel.from_checkpoint(None).get() is None
        assert channel.from_checkpoint(MISSING).get() == []

    def test_a_snapshot_is_unwrapped(self) -> None:
        """CH-21: what was stored while the field was a `DeltaChannel`."""
        channel = with_base().from_checkpoint(_DeltaSnapshot([9]))

        assert channel.get() == channel.checkpoint() == [9]
        assert (channel.update([[1]]), channel.get()) == (True, [9, 1])

    def test_a_copy_is_independent(self) -> None:
        channel = with_base()

        copy = channel.copy()
        assert (copy.get(), copy.key, copy.typ) == (["base"], "k", list)
        copy.update([["x"]])

        assert (channel.get(), copy.get()) == (["base"], ["base", "x"])

    def test_a_copy_does_not_call_the_type(self) -> None:
        """Channels are copied in every super-step; a user's constructor may be expensive."""
        made = []

        class Counted(list[int]):
            def __init__(self) -> None:
                made.append(1)

        channel = BinaryOperatorAggregate(Counted, operator.add)
        channel.copy().copy()
        channel.from_checkpoint([1])
        assert len(made) == 1
        channel.from_checkpoint(MISSING)
        assert len(made) == 2

    def test_an_unset_channel_has_unset_copies(self) -> None:
        assert BinaryOperatorAggregate(int | None, operator.add).copy().is_available() is False

    def test_equality_compares_operators(self) -> None:
        """CH-22: the operator counts; type, key and value do not."""
        one = BinaryOperatorAggregate(list, operator.add, "a")

        assert one == BinaryOperatorAggregate(dict, operator.add, "b")
        assert one != BinaryOperatorAggregate(list, operator.or_)
        assert one != LastValue(list)
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)

    def test_a_lambda_equals_any_operator(self) -> None:
        """CH-22: on either side."""
        anything = BinaryOperatorAggregate(list, lambda a, b: a)
        add = BinaryOperatorAggregate(list, operator.add)

        assert anything == add
        assert add == anything
        assert anything == BinaryOperatorAggregate(list, lambda a, b: b)

    def test_operators_without_a_name_are_compared_too(self) -> None:
        """CH-22: callable objects, `functools.partial` and bound methods make good reducers."""

        class Reducer:
            def __call__(self, old: Any, new: Any) -> Any:
                return new

            def method(self, old: Any, new: Any) -> Any:
                return new

        reducer = Reducer()
        partial = functools.partial(keep_left)

        def aggregate(op: Any) -> BinaryOperatorAggregate[Any]:
            return BinaryOperatorAggregate(list, op)

        assert aggregate(reducer) == aggregate(reducer)
        assert aggregate(reducer) != aggregate(Reducer())
        assert aggregate(partial) == aggregate(partial)
        assert aggregate(partial) != aggregate(keep_left)
        assert aggregate(reducer.method) == aggregate(reducer.method)

    def test_cost(self) -> None:
        channel = BinaryOperatorAggregate(int, operator.add)

        assert channel.changes_when_unwritten is False
        assert (channel.consume(), channel.finish()) == (False, False)
