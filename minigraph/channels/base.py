"""What a channel is: one piece of state, and the rule by which it changes.

Nodes never touch the state. They return writes; between super-steps each channel
receives *all* writes made to it and decides, by itself, what its next value is.
That is the whole difference between one channel class and another:

    writes of the super-step ──▶ update([w1, w2, …]) ──▶ next value
                                 consume()               a task that it triggered has run
                                 finish()                nothing else is left to run

Each of the three answers ``True`` when the channel changed. Only then does the
channel's *version* move, and a moved version is the only thing that starts a node.

Two more methods carry a channel over the gap between two processes:
`checkpoint()` gives what is to be stored, `from_checkpoint()` builds the channel
again from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError, ErrorCode, InvalidUpdateError, message_with_code

__all__ = ["BaseChannel", "EmptyChannelError"]

Value = TypeVar("Value")
Update = TypeVar("Update")
Stored = TypeVar("Stored")


class BaseChannel(ABC, Generic[Value, Update, Stored]):
    """One piece of state. Subclass it to make a channel of your own.

    Args:
        typ: the type of the values, as written in the schema.
        key: the channel's name in the graph; filled in when the graph is built, and used
            in error messages.

    The runtime never changes a channel that somebody else may still be reading: it takes a
    `copy()`, updates that, and puts it in the place of the old one only when the whole
    super-step went through. So `copy()` must share nothing that `update()` edits in place.

    Rules: CH-01.
    """

    __slots__ = ("key", "typ")

    changes_when_unwritten: bool = True
    """Whether ``update([])`` can change this channel. One that says False is not asked in
    super-steps that did not write to it, which keeps a wide state cheap. True is always
    correct, so it is what a new class starts with. Most classes settle it for all their
    channels; where it depends on an argument, each channel says it for itself (`Topic`)."""

    stores_its_value: bool = False
    """Whether what there is to store of this channel is what there is to read, always. Then the
    runtime asks once for both. Each class says it for itself: it is not inherited, because a
    subclass may read or store in another way."""

    stores_writes: bool = False
    """Whether a checkpoint leaves the value out, because it can be made again from the writes that
    are stored anyway. See `DeltaChannel`."""

    def __init__(self, typ: Any, key: str = "") -> None:
        self.typ = typ
        self.key = key

    @property
    @abstractmethod
    def ValueType(self) -> Any:
        """The type of what `get` returns."""

    @property
    @abstractmethod
    def UpdateType(self) -> Any:
        """The type of one write."""

    def copy(self) -> Self:
        """An independent channel with the same content. By default it goes through
        `checkpoint`; override it when that loses something or is slow."""
        return self.from_checkpoint(self.checkpoint())

    def checkpoint(self) -> Stored | Any:
        """What to store for this channel; ``MISSING`` if there is nothing to store."""
        try:
            return self.get()
        except EmptyChannelError:
            return MISSING

    @abstractmethod
    def from_checkpoint(self, checkpoint: Stored | Any) -> Self:
        """A new channel of the same configuration that holds what was stored.

        ``MISSING`` gives a fresh channel.
        """

    @abstractmethod
    def get(self) -> Value:
        """The current value. Raises `EmptyChannelError` when there is none."""

    def is_available(self) -> bool:
        """Whether `get` would return a value."""
        try:
            self.get()
        except EmptyChannelError:
            return False
        return True

    @abstractmethod
    def update(self, values: Sequence[Update]) -> bool:
        """Take in all writes of one super-step, in the order of their tasks (SS-02).

        Returns whether the channel changed. Raises `InvalidUpdateError` for a set of writes
        that it cannot accept, and must then be unchanged. The sequence is empty in a
        super-step that did not write to this channel.
        """

    def consume(self) -> bool:
        """A task that this channel triggered has run. Returns whether the channel changed."""
        return False

    def finish(self) -> bool:
        """No task is left that could write. Returns whether the channel changed.

        A channel is told once after each change, not at the end of every super-step.
        """
        return False


class OfOneType(BaseChannel[Value, Update, Stored], Generic[Value, Update, Stored]):
    """A channel whose schema names one type, for what is written and for what is read."""

    __slots__ = ()

    @property
    def ValueType(self) -> Any:
        return self.typ

    @property
    def UpdateType(self) -> Any:
        return self.typ


class SingleValue(OfOneType[Value, Value, Any], Generic[Value]):
    """What the channels of one value have in common: all but how they take in writes.

    A subclass with attributes of its own must copy them in `copy`, which does not go through
    ``__init__``: every super-step copies each channel that it writes to.
    """

    __slots__ = ("value",)

    value: Value | Any

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value = MISSING

    # Channels are mutable, and are compared by how they are configured (CH-22).
    __hash__ = None  # type: ignore[assignment]  # object has a hash; a channel has none

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def copy(self) -> Self:
        new = self.__class__.__new__(self.__class__)
        new.typ = self.typ
        new.key = self.key
        new.value = self.value
        return new

    def from_checkpoint(self, checkpoint: Value | Any) -> Self:
        new = self.copy()
        new.value = checkpoint
        return new

    def checkpoint(self) -> Value | Any:
        return self.value

    def get(self) -> Value:
        if self.value is MISSING:
            raise EmptyChannelError
        return self.value

    def is_available(self) -> bool:
        return self.value is not MISSING

    def clear(self) -> bool:
        """Hold nothing from now on. Returns whether there was something."""
        had_value = self.value is not MISSING
        self.value = MISSING
        return had_value

    def several(self, values: Sequence[Value], advice: str) -> InvalidUpdateError:
        """The error for more writes in one super-step than the channel can take (CH-03)."""
        return InvalidUpdateError(
            message_with_code(
                f"Channel {self.key!r} received {len(values)} writes in one super-step, "
                f"but {advice}",
                ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE,
            )
        )
