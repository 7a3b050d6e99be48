"""A value that lives in the running program and never in a checkpoint.

An open connection, a lock, a key that must not reach a disk: nodes can pass such things
to each other here while a run goes on. Whoever picks the thread up later, after a crash or
with the next call, finds the channel empty and must be ready for that.

The cut is in one place: `checkpoint` never has anything to store, and `from_checkpoint`
takes nothing in. `copy`, which stays inside the process, keeps the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

from minigraph.channels.base import SingleValue, Value
from minigraph.constants import MISSING

__all__ = ["UntrackedValue"]


class UntrackedValue(SingleValue[Value], Generic[Value]):
    """Holds the last value for as long as the run lasts, and is never stored (CH-06).

    Args:
        guard: True refuses a second write in one super-step with `InvalidUpdateError`;
            False keeps the last one.

    >>> channel = UntrackedValue(str, key="token")
    >>> channel.update(["secret"]), channel.get()
    (True, 'secret')
    >>> channel.from_checkpoint(channel.checkpoint()).is_available()
    False
    >>> channel.update(["a", "b"])
    Traceback (most recent call last):
    minigraph.errors.InvalidUpdateError: Channel 'token' received 2 writes in one super-step, ...
    """

    __slots__ = ("guard",)

    guard: bool
    changes_when_unwritten = False

    def __init__(self, typ: Any, guard: bool = True, key: str = "") -> None:
        super().__init__(typ, key)
        self.guard = guard

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntrackedValue) and other.guard == self.guard

    __hash__ = None  # as in SingleValue

    def copy(self) -> Self:
        new = super().copy()
        new.guard = self.guard
        return new

    def from_checkpoint(self, checkpoint: Any) -> Self:
        return super().from_checkpoint(MISSING)

    def checkpoint(self) -> Any:
        return MISSING

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            return False
        if self.guard and len(values) > 1:
            raise self.several(
                values,
                "a guarded UntrackedValue can take only one. Let only one of the nodes write it, "
                "or make it with guard=False to keep the last write.",
            )
        self.value = values[-1]
        return True
