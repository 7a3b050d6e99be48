"""A list of everything that was written: a mailbox, or a log.

    writes of a super-step       1, [2, 3]     –       4
    Topic(int)                   1 2 3         –       4         mailbox: this step's letters
    Topic(int, accumulate=True)  1 2 3         1 2 3   1 2 3 4   log: it only grows

The runtime keeps the waiting `Send`s in a mailbox of this kind: each is delivered in the
super-step after it was sent, and in no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

from minigraph.channels.base import BaseChannel, Value
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError

__all__ = ["Topic"]


class Topic(BaseChannel[Sequence[Value], "Value | list[Value]", "list[Value]"], Generic[Value]):
    """Holds a list of writes, in their order, duplicates included (CH-15).

    A write that is a list counts as several: it is flattened, one level deep.

    Args:
        typ: the type of one entry.
        accumulate: False keeps the entries of one super-step; True keeps all there ever were.

    An empty topic has no value, but it does have a checkpoint, ``[]`` (CH-16).

    >>> letters = Topic(int)
    >>> letters.update([1, [2, 3]]), letters.get()
    (True, [1, 2, 3])
    >>> letters.update([]), letters.is_available(), letters.checkpoint()
    (True, False, [])
    """

    __slots__ = ("accumulate", "changes_when_unwritten", "values")

    accumulate: bool
    values: list[Value]
    """Never edited in place: copies and checkpoints share it."""

    def __init__(self, typ: Any, accumulate: bool = False, key: str = "") -> None:
        super().__init__(typ, key)
        self.accumulate = accumulate
        self.changes_when_unwritten = not accumulate
        self.values = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topic) and other.accumulate == self.accumulate

    __hash__ = None  # type: ignore[assignment]  # mutable: compares by configuration (CH-22)

    @property
    def ValueType(self) -> Any:
        return Sequence[self.typ]  # type: ignore[name-defined]  # a type made at run time

    @property
    def UpdateType(self) -> Any:
        return self.typ | list[self.typ]  # type: ignore[name-defined]  # a type made at run time

    def copy(self) -> Self:
        new = self.__class__(self.typ, self.accumulate, self.key)
        new.values = self.values
        return new

    def from_checkpoint(self, checkpoint: list[Value] | tuple[Any, list[Value]] | Any) -> Self:
        """As in the base class. A tuple is the form of old data: its second part counts (CH-16)."""
        new = self.__class__(self.typ, self.accumulate, self.key)
        if checkpoint is not MISSING:
            new.values = checkpoint[1] if isinstance(checkpoint, tuple) else checkpoint
        return new

    def checkpoint(self) -> list[Value]:
        return self.values

    def get(self) -> list[Value]:
        """A list of the entries, the caller's own. Raises `EmptyChannelError` if there are none."""
        if not self.values:
            raise EmptyChannelError
        return self.values.copy()

    def is_available(self) -> bool:
        return bool(self.values)

    def update(self, values: Sequence[Value | list[Value]]) -> bool:
        entries: list[Value] = []
        for write in values:
            if isinstance(write, list):
                entries.extend(write)
            else:
                entries.append(write)
        if self.accumulate:
            if entries:
                self.values = [*self.values, *entries]
            return bool(entries)
        changed = bool(entries or self.values)
        self.values = entries
        return changed
