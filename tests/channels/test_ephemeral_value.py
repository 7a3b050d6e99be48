"""EphemeralValue: one super-step long, then gone."""

from __future__ import annotations

import pytest

from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.untracked_value import UntrackedValue
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError, InvalidUpdateError


def test_starts_unset() -> None:
    """CH-01."""
    channel = EphemeralValue(int)

    with pytest.raises(EmptyChannelError) as caught:
        channel.get()

    assert str(caught.value) == ""
    assert channel.is_available() is False
    assert channel.checkpoint() is MISSING


def test_lives_for_one_super_step() -> None:
    """CH-05: an empty batch clears it; a second one has nothing left to clear."""
    channel = EphemeralValue(int)

    assert channel.update([1]) is True
    assert (channel.is_available(), channel.get(), channel.checkpoint()) == (True, 1, 1)
    assert channel.update([]) is True
    assert channel.is_available() is False
    assert channel.checkpoint() is MISSING
    assert channel.update([]) is False


def test_a_rewritten_value_is_there_again() -> None:
    """CH-05: each write counts for its own super-step."""
    channel = EphemeralValue(int)

    assert channel.update([1]) is True
    assert channel.update([1]) is True
    assert channel.get() == 1


def test_none_is_a_value_and_is_cleared_as_one() -> None:
    """CH-02, CH-05: triggers are written with None."""
    channel = EphemeralValue(int)

    assert channel.update([None]) is True
    assert (channel.is_available(), channel.get()) == (True, None)
    assert channel.update([]) is True


def test_guarded_refuses_two_writes_and_keeps_its_value() -> None:
    """CH-05: guard=True is the default."""
    channel = EphemeralValue(int, key="e")
    channel.update([0])

    with pytest.raises(InvalidUpdateError) as caught:
        channel.update([1, 2])

    assert str(caught.value) == (
        "Channel 'e' received 2 writes in one super-step, but a guarded EphemeralValue can take "
        "only one. Let only one of the nodes write it, or make it with guard=False to keep the "
        "last write.\nError code: INVALID_CONCURRENT_GRAPH_UPDATE"
    )
    assert channel.get() == 0


def test_unguarded_keeps_the_last_write() -> None:
    """CH-05: guard=False."""
    channel = EphemeralValue(int, guard=False)

    assert (channel.update([1, 2]), channel.get()) == (True, 2)
    assert (channel.update([]), channel.is_available()) == (True, False)


def test_checkpoint_round_trip() -> None:
    """A thread may be resumed between the write and the super-step that reads it."""
    channel = EphemeralValue(int, guard=False, key="e")
    channel.update([1])

    again = channel.from_checkpoint(channel.checkpoint())

    assert (again.get(), again.guard, again.key, again.typ) == (1, False, "e", int)
    assert channel.from_checkpoint(MISSING).is_available() is False


def test_a_copy_is_independent() -> None:
    channel = EphemeralValue(int, guard=False, key="e")
    channel.update([1])

    copy = channel.copy()
    assert (copy.get(), copy.guard, copy.key) == (1, False, "e")
    copy.update([])

    assert (channel.get(), copy.is_available()) == (1, False)


def test_equality_is_about_configuration() -> None:
    """CH-22: the guard counts; type, key and value do not."""
    one = EphemeralValue(int, key="a")
    one.update([1])

    assert one == EphemeralValue(str, key="b")
    assert one != EphemeralValue(int, guard=False)
    assert one != UntrackedValue(int)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_types_and_cost() -> None:
    channel = EphemeralValue(int)

    assert (channel.ValueType, channel.UpdateType) == (int, int)
    assert channel.changes_when_unwritten is True
    assert (channel.consume(), channel.finish()) == (False, False)
