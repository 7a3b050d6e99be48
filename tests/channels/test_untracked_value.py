"""UntrackedValue: there while the run goes on, never stored."""

from __future__ import annotations

import pytest

from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.untracked_value import UntrackedValue
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError, InvalidUpdateError


def test_starts_unset() -> None:
    """CH-01."""
    channel = UntrackedValue(int)

    with pytest.raises(EmptyChannelError) as caught:
        channel.get()

    assert str(caught.value) == ""
    assert channel.is_available() is False
    assert channel.checkpoint() is MISSING


def test_keeps_its_value_and_never_stores_it() -> None:
    """CH-06: it stays through silent super-steps, and the checkpoint has nothing all along."""
    channel = UntrackedValue(int)

    assert channel.update([]) is False
    assert channel.update([1]) is True
    assert channel.update([]) is False
    assert (channel.is_available(), channel.get()) == (True, 1)
    assert channel.checkpoint() is MISSING


@pytest.mark.parametrize("stored", [5, None, MISSING])
def test_from_checkpoint_starts_empty(stored: object) -> None:
    """CH-06: whatever the checkpoint holds."""
    channel = UntrackedValue(int, guard=False, key="u")
    channel.update([1])

    again = channel.from_checkpoint(stored)

    assert again.is_available() is False
    assert (again.guard, again.key, again.typ) == (False, "u", int)
    assert channel.get() == 1


def test_none_is_a_value() -> None:
    """CH-02."""
    channel = UntrackedValue(int)
    channel.update([None])

    assert (channel.is_available(), channel.get()) == (True, None)


def test_guarded_refuses_two_writes_and_keeps_its_value() -> None:
    """CH-06: guard=True is the default."""
    channel = UntrackedValue(int, key="u")
    channel.update([0])

    with pytest.raises(InvalidUpdateError) as caught:
        channel.update([1, 2])

    assert str(caught.value) == (
        "Channel 'u' received 2 writes in one super-step, but a guarded UntrackedValue can take "
        "only one. Let only one of the nodes write it, or make it with guard=False to keep the "
        "last write.\nError code: INVALID_CONCURRENT_GRAPH_UPDATE"
    )
    assert channel.get() == 0


def test_unguarded_keeps_the_last_write() -> None:
    """CH-06: guard=False."""
    channel = UntrackedValue(int, guard=False)

    assert (channel.update([1, 2]), channel.get()) == (True, 2)


def test_a_copy_keeps_the_value_and_is_independent() -> None:
    """CH-06: copies are made in every super-step; only the way to the disk is cut."""
    channel = UntrackedValue(int, guard=False, key="u")
    channel.update([1])

    copy = channel.copy()
    assert (copy.get(), copy.guard, copy.key) == (1, False, "u")
    copy.update([2])

    assert (channel.get(), copy.get()) == (1, 2)


def test_equality_is_about_configuration() -> None:
    """CH-22: the guard counts; type, key and value do not."""
    assert UntrackedValue(int) == UntrackedValue(str, key="b")
    assert UntrackedValue(int) != UntrackedValue(int, guard=False)
    assert UntrackedValue(int) != EphemeralValue(int)
    with pytest.raises(TypeError, match="unhashable"):
        hash(UntrackedValue(int))


def test_types_and_cost() -> None:
    channel = UntrackedValue(int)

    assert (channel.ValueType, channel.UpdateType) == (int, int)
    assert channel.changes_when_unwritten is False
    assert (channel.consume(), channel.finish()) == (False, False)
