"""A value for the next super-step, and for that one only.

The super-step after a write can read the value. Unless it is written again, it is gone
after that, without anybody taking it away:

    after super-step     1        2        3
    written in it        v        –        –
    update gives         True     True     False
    get gives            v        (unset)  (unset)

That is why "start this node" is told by such a channel: a start that was seen must not
be seen again. The raw input of a run travels in one too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

from minigraph.channels.base import BaseChannel, Value
from minigraph.constants import MISSING
from minigraph.errors import (
    EmptyChannelError,
    ErrorCode,
    InvalidUpdateError,
    message_with_code,
)

__all__ = ["EphemeralValue"]


class EphemeralValue(BaseChannel[Value, Value, Value], Generic[Value]):
    """Holds what the last super-step wrote, and nothing if it wrote nothing (CH-05).

    Args:
        guard: True refuses a second write in one super-step with `InvalidUpdateError`;
            False keeps the last one. Use False where all writers say the same.

    >>> channel = EphemeralValue(str, key="note")
    >>> channel.update(["hello"]), channel.get()
    (True, 'hello')
    >>> channel.update([]), channel.is_available()  # nobody wrote: the value is gone
    (True, False)
    >>> channel.update(["a", "b"])
    Traceback (most recent call last):
    minigraph.errors.InvalidUpdateError: Channel 'note' received 2 writes in one super-step, ...
    """

    __slots__ = ("guard", "value")

    guard: bool
    value: Value | Any

    def __init__(self, typ: Any, guard: bool = True, key: str = "") -> None:
        super().__init__(typ, key)
        self.guard = guard
        self.value = MISSING

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EphemeralValue) and other.guard == self.guard

    __hash__ = None  # type: ignore[assignment]  # mutable: compares by configuration (CH-22)

    @property
    def ValueType(self) -> Any:
        return self.typ

    @property
    def UpdateType(self) -> Any:
        return self.typ

    def copy(self) -> Self:
        # Every super-step copies what it writes to, so this avoids the calls of __init__. A
        # subclass that adds attributes must copy them here.
        new = self.__class__.__new__(self.__class__)
        new.typ = self.typ
        new.key = self.key
        new.guard = self.guard
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

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            had_value = self.value is not MISSING
            self.value = MISSING
            return had_value
        if self.guard and len(values) > 1:
            raise InvalidUpdateError(
                message_with_code(
                    f"Channel {self.key!r} received {len(values)} writes in one super-step, "
                    "but a guarded EphemeralValue can take only one. Let only one of the nodes "
                    "write it, or make it with guard=False to keep the last write.",
                    ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE,
                )
            )
        self.value = values[-1]
        return True
