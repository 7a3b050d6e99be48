"""A value that many may write, as long as they all say the same.

Where it makes no difference which of several writes wins, because all are equal, the
check of `LastValue` would only be in the way. This channel does not check that they are
equal; it believes it and keeps the last.

Like an `EphemeralValue`, it is empty after a super-step that did not write it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

from minigraph.channels.base import BaseChannel, Value
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError

__all__ = ["AnyValue"]


class AnyValue(BaseChannel[Value, Value, Value], Generic[Value]):
    """Holds the last of any number of writes; a super-step without one empties it (CH-04).

    >>> channel = AnyValue(int)
    >>> channel.update([7, 7]), channel.get()
    (True, 7)
    >>> channel.update([]), channel.is_available()
    (True, False)
    """

    __slots__ = ("value",)

    value: Value | Any

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value = MISSING

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyValue)

    __hash__ = None  # type: ignore[assignment]  # mutable: compares by configuration (CH-22)

    @property
    def ValueType(self) -> Any:
        return self.typ

    @property
    def UpdateType(self) -> Any:
        return self.typ

    def copy(self) -> Self:
        return self.from_checkpoint(self.value)

    def from_checkpoint(self, checkpoint: Value | Any) -> Self:
        new = self.__class__(self.typ, self.key)
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

    def update(self, values: Sequence[Value]) -> bool:
        if values:
            self.value = values[-1]
            return True
        had_value = self.value is not MISSING
        self.value = MISSING
        return had_value
