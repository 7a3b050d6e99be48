"""LastValue and LastValueAfterFinish."""

from __future__ import annotations

import pytest

from minigraph.channels.last_value import LastValue, LastValueAfterFinish
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError, InvalidUpdateError
from minigraph.types import Overwrite


class TestLastValue:
    def test_starts_unset(self) -> None:
        """CH-01: no value, no checkpoint, and an error without words on get."""
        channel = LastValue(int, "k")

        with pytest.raises(EmptyChannelError) as caught:
            channel.get()

        assert str(caught.value) == ""
        assert channel.is_available() is False
        assert channel.checkpoint() is MISSING

    def test_one_write_replaces_the_value(self) -> None:
        """CH-03: a batch of one is the new value, an empty batch changes nothing."""
        channel = LastValue(int)

        assert channel.update([]) is False
        assert channel.is_available() is False
        assert channel.update([1]) is True
        assert channel.get() == 1
        assert channel.update([]) is False
        assert channel.get() == 1
        assert channel.update([2]) is True
        assert (channel.get(), channel.checkpoint()) == (2, 2)

    def test_two_writes_are_refused_and_the_old_value_stays(self) -> None:
        """CH-03: two writes in one super-step raise; the message says where, what and how."""
        channel = LastValue(int, "count")
        channel.update([1])

        with pytest.raises(InvalidUpdateError) as caught:
            channel.update([2, 3])

        assert str(caught.value) == (
            "Channel 'count' received 2 writes in one super-step, but a LastValue can take only "
            "one. Give the key a reducer, `Annotated[type, reducer]`, or let only one of the "
            "nodes write it.\nError code: INVALID_CONCURRENT_GRAPH_UPDATE"
        )
        assert channel.get() == 1

    def test_none_is_a_value(self) -> None:
        """CH-02: None is stored and given back; only MISSING means unset."""
        channel = LastValue(int)

        assert channel.update([None]) is True
        assert channel.is_available() is True
        assert channel.get() is None
        assert channel.checkpoint() is None
        assert channel.from_checkpoint(None).is_available() is True

    @pytest.mark.parametrize("write", [Overwrite(1), {"__overwrite__": 1}])
    def test_an_overwrite_is_an_ordinary_value_here(self, write: object) -> None:
        """CH-14: nothing is reduced, so nothing is unwrapped."""
        channel = LastValue(object)
        channel.update([write])

        assert channel.get() is write

    def test_checkpoint_round_trip(self) -> None:
        """CH-01: what checkpoint gives, from_checkpoint takes."""
        channel = LastValue(int, "k")
        channel.update([5])

        again = channel.from_checkpoint(channel.checkpoint())

        assert (again.get(), again.key, again.typ) == (5, "k", int)
        assert channel.from_checkpoint(MISSING).is_available() is False

    def test_a_copy_is_independent(self) -> None:
        channel = LastValue(int, "k")
        channel.update([1])

        copy = channel.copy()
        copy.update([2])

        assert (channel.get(), copy.get(), copy.key) == (1, 2, "k")

    def test_consume_and_finish_change_nothing(self) -> None:
        channel = LastValue(int)
        channel.update([1])

        assert (channel.consume(), channel.finish(), channel.get()) == (False, False, 1)

    def test_equality_is_about_configuration(self) -> None:
        """CH-22: all LastValues are equal, whatever their type, key and value."""
        one = LastValue(int, "a")
        one.update([1])

        assert one == LastValue(str, "b")
        assert one != LastValueAfterFinish(int)
        assert one != 1
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)

    def test_types_and_cost(self) -> None:
        channel = LastValue(int)

        assert (channel.ValueType, channel.UpdateType) == (int, int)
        assert channel.changes_when_unwritten is False


class TestLastValueAfterFinish:
    def test_starts_unset(self) -> None:
        """CH-01, CH-18: and neither finish nor consume finds anything to do."""
        channel = LastValueAfterFinish(int)

        with pytest.raises(EmptyChannelError):
            channel.get()

        assert channel.is_available() is False
        assert channel.checkpoint() is MISSING
        assert (channel.update([]), channel.finish(), channel.consume()) == (False, False, False)

    def test_hidden_until_finish_and_gone_after_consume(self) -> None:
        """CH-18: write, finish, consume; each step with what it shows and what it stores."""
        channel = LastValueAfterFinish(int)

        assert channel.update([1, 2]) is True
        assert channel.is_available() is False
        assert channel.checkpoint() == (2, False)
        assert channel.consume() is False
        assert channel.checkpoint() == (2, False)

        assert channel.finish() is True
        assert channel.is_available() is True
        assert (channel.get(), channel.checkpoint()) == (2, (2, True))
        assert channel.finish() is False

        assert channel.consume() is True
        assert channel.is_available() is False
        assert channel.checkpoint() is MISSING
        assert channel.consume() is False

    def test_hidden_value_cannot_be_read(self) -> None:
        """CH-18: a value that waits for the end is not readable before it."""
        channel = LastValueAfterFinish(int)
        channel.update([1])

        with pytest.raises(EmptyChannelError):
            channel.get()

    def test_a_new_write_hides_it_again(self) -> None:
        """CH-18: finished refers to the value that was there, not to a later one."""
        channel = LastValueAfterFinish(int)
        channel.update([1])
        channel.finish()

        assert channel.update([]) is False
        assert channel.is_available() is True
        assert channel.update([2]) is True
        assert channel.is_available() is False
        assert channel.checkpoint() == (2, False)

    def test_none_is_a_value(self) -> None:
        """CH-02: a trigger is written with None, and must open all the same."""
        channel = LastValueAfterFinish(int)
        channel.update([None])

        assert channel.finish() is True
        assert channel.is_available() is True
        assert channel.get() is None
        assert channel.checkpoint() == (None, True)

    @pytest.mark.parametrize("stored", [(1, True), [1, True]])
    def test_checkpoint_may_be_a_tuple_or_a_list(self, stored: object) -> None:
        """CH-18: a pair that went through JSON comes back as a list."""
        channel = LastValueAfterFinish(int, "k").from_checkpoint(stored)

        assert (channel.get(), channel.checkpoint(), channel.key) == (1, (1, True), "k")

    def test_unfinished_checkpoint_stays_unfinished(self) -> None:
        """CH-18: a thread may be resumed between the write and the end."""
        channel = LastValueAfterFinish(int).from_checkpoint((1, False))

        assert channel.is_available() is False
        assert (channel.finish(), channel.get()) == (True, 1)

    def test_checkpoint_missing_gives_a_fresh_channel(self) -> None:
        channel = LastValueAfterFinish(int).from_checkpoint(MISSING)

        assert channel.checkpoint() is MISSING

    def test_a_copy_is_independent(self) -> None:
        channel = LastValueAfterFinish(int, "k")
        channel.update([1])
        channel.finish()

        copy = channel.copy()
        assert (copy.checkpoint(), copy.key) == ((1, True), "k")
        copy.consume()
        assert (channel.checkpoint(), copy.checkpoint()) == ((1, True), MISSING)

        copy = channel.copy()
        copy.update([2])
        assert (channel.checkpoint(), copy.checkpoint()) == ((1, True), (2, False))

    def test_equality_is_about_configuration(self) -> None:
        """CH-22: all of them are equal, and none equals a LastValue."""
        assert LastValueAfterFinish(int) == LastValueAfterFinish(str)
        assert LastValueAfterFinish(int) != LastValue(int)
        with pytest.raises(TypeError, match="unhashable"):
            hash(LastValueAfterFinish(int))

    def test_types_and_cost(self) -> None:
        channel = LastValueAfterFinish(int)

        assert (channel.ValueType, channel.UpdateType) == (int, int)
        assert channel.changes_when_unwritten is False
