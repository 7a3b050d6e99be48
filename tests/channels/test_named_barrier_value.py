"""The two barriers: everybody has arrived, and everybody has arrived at the end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigraph.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError, InvalidUpdateError

NAMES = {"a", "b"}
UNKNOWN_NAME = (
    "Channel 'j' is a barrier that waits for 'a', 'b', but received 'zz'. "
    "Write one of these names, or add it to the barrier's names."
)
operations = st.lists(
    st.lists(st.sampled_from("abc"), max_size=3) | st.sampled_from(["consume", "finish"]),
    max_size=12,
)


class TestNamedBarrierValue:
    def test_starts_closed_but_has_a_checkpoint(self) -> None:
        """CH-17: unavailable, and stored as an empty set."""
        channel = NamedBarrierValue(str, NAMES)

        with pytest.raises(EmptyChannelError) as caught:
            channel.get()

        assert str(caught.value) == ""
        assert channel.is_available() is False
        assert channel.checkpoint() == set()

    def test_opens_when_all_have_arrived_and_consume_closes_it(self) -> None:
        """CH-17: names may come in different super-steps, and more than once."""
        channel = NamedBarrierValue(str, NAMES)

        assert channel.update(["a"]) is True
        assert (channel.is_available(), channel.checkpoint()) == (False, {"a"})
        assert channel.update(["a"]) is False
        assert channel.update([]) is False
        assert channel.consume() is False
        assert channel.checkpoint() == {"a"}
        with pytest.raises(EmptyChannelError):
            channel.get()

        assert channel.update(["b", "b"]) is True
        assert (channel.is_available(), channel.checkpoint()) == (True, {"a", "b"})
        assert channel.get() is None
        assert channel.update(["a", "b"]) is False
        assert channel.finish() is False

        assert channel.consume() is True
        assert (channel.is_available(), channel.checkpoint()) == (False, set())
        assert channel.consume() is False

    def test_an_unknown_name_is_refused_and_nothing_is_kept(self) -> None:
        """CH-17: nothing of the batch, not even the known name before it."""
        channel = NamedBarrierValue(str, NAMES, "j")

        with pytest.raises(InvalidUpdateError) as caught:
            channel.update(["a", "zz"])

        assert str(caught.value) == UNKNOWN_NAME
        assert channel.checkpoint() == set()

    @pytest.mark.parametrize("stored", [{"a"}, ["a"], frozenset({"a"})])
    def test_checkpoint_round_trip(self, stored: Any) -> None:
        """CH-17: a thread may be resumed while a barrier waits; a list is taken too."""
        channel = NamedBarrierValue(str, NAMES, "j").from_checkpoint(stored)

        assert channel.checkpoint() == {"a"}
        assert (channel.names, channel.key, channel.typ) == (NAMES, "j", str)
        assert (channel.update(["b"]), channel.is_available()) == (True, True)

    def test_checkpoint_missing_gives_a_fresh_channel(self) -> None:
        assert NamedBarrierValue(str, NAMES).from_checkpoint(MISSING).checkpoint() == set()

    def test_stored_sets_are_not_edited(self) -> None:
        """What a saver or a snapshot still holds must not change under its hands."""
        stored = {"a"}
        channel = NamedBarrierValue(str, NAMES).from_checkpoint(stored)
        earlier = channel.checkpoint()

        channel.update(["b"])
        complete = channel.checkpoint()
        channel.consume()

        assert (stored, earlier, complete, channel.checkpoint()) == ({"a"}, {"a"}, NAMES, set())

    def test_a_copy_is_independent(self) -> None:
        channel = NamedBarrierValue(str, NAMES, "j")
        channel.update(["a"])

        copy = channel.copy()
        assert (copy.checkpoint(), copy.names, copy.key) == ({"a"}, NAMES, "j")
        copy.update(["b"])
        assert (channel.checkpoint(), copy.checkpoint()) == ({"a"}, NAMES)
        copy.consume()

        assert (channel.checkpoint(), copy.checkpoint()) == ({"a"}, set())

    def test_the_names_are_the_channels_own(self) -> None:
        names = {"a"}
        channel = NamedBarrierValue(str, names)
        names.add("b")

        assert (channel.update(["a"]), channel.is_available()) == (True, True)

    def test_equality_is_about_configuration(self) -> None:
        """CH-22: the names and the class count; type, key and content do not."""
        one = NamedBarrierValue(str, {"a"}, "j")
        one.update(["a"])

        assert one == NamedBarrierValue(object, {"a"})
        assert one != NamedBarrierValue(str, {"b"})
        assert one != NamedBarrierValueAfterFinish(str, {"a"})
        assert NamedBarrierValueAfterFinish(str, {"a"}) != one
        assert one != {"a"}
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)

    def test_types_and_cost(self) -> None:
        channel = NamedBarrierValue(str, NAMES)

        assert (channel.ValueType, channel.UpdateType) == (str, str)
        assert channel.changes_when_unwritten is False

    @given(operations)
    def test_model(self, steps: list[Any]) -> None:
        """CH-17, for any order of arrivals: a set that is emptied when it is full."""
        channel = NamedBarrierValue(str, "abc")
        seen: set[str] = set()
        for step in steps:
            if step == "finish":
                assert channel.finish() is False
            elif step == "consume":
                assert channel.consume() is (len(seen) == 3)
                seen = set() if len(seen) == 3 else seen
            else:
                assert channel.update(step) is bool(set(step) - seen)
                seen = seen | set(step)
            assert channel.checkpoint() == seen
            assert channel.is_available() is (len(seen) == 3)


class TestNamedBarrierValueAfterFinish:
    def test_starts_closed_but_has_a_checkpoint(self) -> None:
        """CH-18."""
        channel = NamedBarrierValueAfterFinish(str, NAMES)

        with pytest.raises(EmptyChannelError):
            channel.get()

        assert channel.is_available() is False
        assert channel.checkpoint() == (set(), False)
        assert (channel.finish(), channel.consume()) == (False, False)

    def test_opens_when_all_have_arrived_and_nothing_is_left(self) -> None:
        """CH-18: names, finish, consume; each step with what it shows and what it stores."""
        channel = NamedBarrierValueAfterFinish(str, NAMES)

        assert channel.update(["a"]) is True
        assert channel.finish() is False
        assert channel.update(["b"]) is True
        assert (channel.is_available(), channel.checkpoint()) == (False, (NAMES, False))
        assert channel.consume() is False
        with pytest.raises(EmptyChannelError):
            channel.get()

        assert channel.finish() is True
        assert (channel.is_available(), channel.checkpoint()) == (True, (NAMES, True))
        assert channel.get() is None
        assert channel.finish() is False
        assert channel.update(["a"]) is False
        assert channel.update([]) is False
        assert channel.is_available() is True

        assert channel.consume() is True
        assert (channel.is_available(), channel.checkpoint()) == (False, (set(), False))
        assert channel.consume() is False

    def test_an_unknown_name_is_refused_and_nothing_is_kept(self) -> None:
        """CH-17 holds here too."""
        channel = NamedBarrierValueAfterFinish(str, NAMES, "j")

        with pytest.raises(InvalidUpdateError) as caught:
            channel.update(["a", "zz"])

        assert str(caught.value) == UNKNOWN_NAME
        assert channel.checkpoint() == (set(), False)

    @pytest.mark.parametrize(
        ("stored", "available"),
        [((NAMES, True), True), ([["a", "b"], True], True), ((NAMES, False), False)],
    )
    def test_checkpoint_round_trip(self, stored: Any, available: bool) -> None:
        """CH-18: tuple or list, finished or not."""
        channel = NamedBarrierValueAfterFinish(str, NAMES, "j").from_checkpoint(stored)

        assert channel.is_available() is available
        assert channel.checkpoint() == (NAMES, available)
        assert (channel.names, channel.key, channel.typ) == (NAMES, "j", str)

    def test_checkpoint_missing_gives_a_fresh_channel(self) -> None:
        channel = NamedBarrierValueAfterFinish(str, NAMES).from_checkpoint(MISSING)

        assert channel.checkpoint() == (set(), False)

    def test_a_copy_is_independent(self) -> None:
        channel = NamedBarrierValueAfterFinish(str, NAMES, "j")
        channel.update(["a", "b"])

        copy = channel.copy()
        copy.finish()
        assert (channel.checkpoint(), copy.checkpoint()) == ((NAMES, False), (NAMES, True))
        again = copy.copy()
        assert (again.checkpoint(), again.key) == ((NAMES, True), "j")
        again.consume()

        assert (copy.checkpoint(), again.checkpoint()) == ((NAMES, True), (set(), False))

    def test_equality_is_about_configuration(self) -> None:
        """CH-22."""
        one = NamedBarrierValueAfterFinish(str, {"a"})

        assert one == NamedBarrierValueAfterFinish(object, {"a"})
        assert one != NamedBarrierValueAfterFinish(str, {"b"})
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)

    def test_types_and_cost(self) -> None:
        channel = NamedBarrierValueAfterFinish(str, NAMES)

        assert (channel.ValueType, channel.UpdateType) == (str, str)
        assert channel.changes_when_unwritten is False

    @given(operations)
    def test_model(self, steps: list[Any]) -> None:
        """CH-18, for any order of arrivals: open means full and finished."""
        channel = NamedBarrierValueAfterFinish(str, "abc")
        seen: set[str] = set()
        finished = False
        for step in steps:
            if step == "finish":
                assert channel.finish() is (len(seen) == 3 and not finished)
                finished = len(seen) == 3
            elif step == "consume":
                assert channel.consume() is finished
                seen = set() if finished else seen
                finished = False
            else:
                assert channel.update(step) is bool(set(step) - seen)
                seen = seen | set(step)
            assert channel.checkpoint() == (seen, finished)
            assert channel.is_available() is finished
