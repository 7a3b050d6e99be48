"""AnyValue: many writers who agree."""

from __future__ import annotations

import pytest

from minigraph.channels.any_value import AnyValue
from minigraph.channels.last_value import LastValue
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError


def test_starts_unset() -> None:
    """CH-01."""
    channel = AnyValue(int)

    with pytest.raises(EmptyChannelError) as caught:
        channel.get()

    assert str(caught.value) == ""
    assert channel.is_available() is False
    assert channel.checkpoint() is MISSING


def test_keeps_the_last_write_and_is_emptied_by_silence() -> None:
    """CH-04: any number of writes is fine, and different ones too."""
    channel = AnyValue(int)

    assert channel.update([1, 2]) is True
    assert (channel.get(), channel.checkpoint()) == (2, 2)
    assert channel.update([]) is True
    assert channel.is_available() is False
    assert channel.checkpoint() is MISSING
    assert channel.update([]) is False
    assert (channel.update([3]), channel.get()) == (True, 3)


def test_none_is_a_value_and_is_emptied_as_one() -> None:
    """CH-02, CH-04."""
    channel = AnyValue(int)

    assert channel.update([1, None]) is True
    assert (channel.is_available(), channel.get()) == (True, None)
    assert channel.update([]) is True


def test_checkpoint_round_trip() -> None:
    channel = AnyValue(int, "k")
    channel.update([4])

    again = channel.from_checkpoint(channel.checkpoint())

    assert (again.get(), again.key, again.typ) == (4, "k", int)
    assert channel.from_checkpoint(MISSING).is_available() is False


def test_a_copy_is_independent() -> None:
    channel = AnyValue(int, "k")
    channel.update([1])

    copy = channel.copy()
    copy.update([])

    assert (channel.get(), copy.is_available(), copy.key) == (1, False, "k")


def test_equality_is_about_configuration() -> None:
    """CH-22: all of them are equal, and none equals a LastValue."""
    assert AnyValue(int) == AnyValue(str)
    assert AnyValue(int) != LastValue(int)
    with pytest.raises(TypeError, match="unhashable"):
        hash(AnyValue(int))


def test_types_and_cost() -> None:
    channel = AnyValue(int)

    assert (channel.ValueType, channel.UpdateType) == (int, int)
    assert channel.changes_when_unwritten is True
    assert (channel.consume(), channel.finish()) == (False, False)
