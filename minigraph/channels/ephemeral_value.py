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

from minigraph.channels.base import SingleValue, Value

__all__ = ["EphemeralValue"]


class EphemeralValue(SingleValue[Value], Generic[Value]):
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

    __slots__ = ("guard",)

    guard: bool
    stores_its_value = True

    def __init__(self, typ: Any, guard: bool = True, key: str = "") -> None:
        super().__init__(typ, key)
        self.guard = guard

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EphemeralValue) and other.guard == self.guard

    __hash__ = None  # as in SingleValue

    def copy(self) -> Self:
        # Written out: branches are of this kind, and every super-step copies two of them.
        new = self.__class__.__new__(self.__class__)
        new.typ = self.typ
        new.key = self.key
        new.value = self.value
        new.guard = self.guard
        return new

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            return self.clear()
        if self.guard and len(values) > 1:
            raise self.several(
                values,
                "a guarded EphemeralValue can take only one. Let only one of the nodes write it, "
                "or make it with guard=False to keep the last write.",
            )
        self.value = values[-1]
        return True
