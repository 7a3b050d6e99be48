"""What every channel gets from the base class, shown on the smallest channel one can write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from minigraph.channels.base import BaseChannel
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError


class Largest(BaseChannel[int, int, int]):
    """Keeps the largest number. Defines only what the base class leaves open."""

    largest: int | None = None

    @property
    def ValueType(self) -> Any:
        return self.typ

    @property
    def UpdateType(self) -> Any:
        return self.typ

    def from_checkpoint(self, checkpoint: int | Any) -> Largest:
        new = Largest(self.typ, self.key)
        new.largest = None if checkpoint is MISSING else checkpoint
        return new

    def get(self) -> int:
        if self.largest is None:
            raise EmptyChannelError
        return self.largest

    def update(self, values: Sequence[int]) -> bool:
        best = max((*values, *([] if self.largest is None else [self.largest])), default=None)
        changed = best != self.largest
        self.largest = best
        return changed


def test_unset_channel() -> None:
    """CH-01: without a value get raises with an empty message, and nothing is stored."""
    channel = Largest(int, "top")

    with pytest.raises(EmptyChannelError) as caught:
        channel.get()

    assert str(caught.value) == ""
    assert channel.is_available() is False
    assert channel.checkpoint() is MISSING


def test_set_channel() -> None:
    """CH-01: availability and checkpoint follow from get."""
    channel = Largest(int)
    assert channel.update([3, 7, 5]) is True

    assert channel.get() == 7
    assert channel.is_available() is True
    assert channel.checkpoint() == 7


def test_stored_none_is_a_value() -> None:
    """CH-02: MISSING is not None."""
    assert MISSING is not None
    assert MISSING != None  # noqa: E711  # equality is the point


def test_consume_and_finish_do_nothing_unless_a_class_says_so() -> None:
    channel = Largest(int)
    channel.update([1])

    assert (channel.consume(), channel.finish()) == (False, False)
    assert channel.get() == 1


def test_default_copy_goes_through_the_checkpoint_and_is_independent() -> None:
    channel = Largest(int, "top")
    channel.update([1])

    copy = channel.copy()
    assert (copy.typ, copy.key, copy.get()) == (int, "top", 1)
    copy.update([9])

    assert (channel.get(), copy.get()) == (1, 9)


def test_default_copy_of_an_unset_channel_is_unset() -> None:
    assert Largest(int).copy().is_available() is False


def test_a_new_class_is_asked_in_every_super_step() -> None:
    """True is the answer that is right for every class, so it is the default."""
    assert Largest(int).changes_when_unwritten is True


def test_key_is_empty_until_given() -> None:
    assert (Largest(int).key, Largest(int, "k").key) == ("", "k")


def test_what_a_channel_must_define() -> None:
    """CH-01: a class that leaves one of these out cannot be made."""
    assert BaseChannel.__abstractmethods__ == {
        "UpdateType",
        "ValueType",
        "from_checkpoint",
        "get",
        "update",
    }
    with pytest.raises(TypeError, match="abstract"):
        BaseChannel(int)
