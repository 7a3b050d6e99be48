"""The plainest channel: it remembers the last value written to it.

A key of a schema without further annotation is one of these. Because the writes of a
super-step have no order among each other, two of them in one super-step would make the
result a matter of luck; so that is an error instead.

`LastValueAfterFinish` keeps its value hidden until nothing else is left to run. It is
the trigger of a node with ``defer=True``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self

from minigraph.channels.base import OfOneType, SingleValue, Value
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError

__all__ = ["LastValue", "LastValueAfterFinish"]


class LastValue(SingleValue[Value], Generic[Value]):
    """Holds the last value; accepts at most one write per super-step (CH-03).

    >>> channel = LastValue(int, "count")
    >>> channel.update([1]), channel.get()
    (True, 1)
    >>> channel.update([])  # nobody wrote: nothing changes
    False
    >>> channel.update([2, 3])
    Traceback (most recent call last):
    minigraph.errors.InvalidUpdateError: Channel 'count' received 2 writes in one super-step, ...
    """

    __slots__ = ()

    changes_when_unwritten = False
    stores_its_value = True

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            return False
        if len(values) > 1:
            raise self.several(
                values,
                "a LastValue can take only one. Give the key a reducer, "
                "`Annotated[type, reducer]`, or let only one of the nodes write it.",
            )
        self.value = values[0]
        return True


class LastValueAfterFinish(
    OfOneType[Value, Value, "tuple[Value | Any, bool]"],
    Generic[Value],
):
    """Holds the last value, and shows it only once nothing else is left to run (CH-18).

    `finish` opens it, `consume` empties it, and a new write closes it again. It takes any
    number of writes: as a trigger it says *that* somebody wrote, not what.

    The checkpoint is the pair ``(value, finished)``.

    >>> channel = LastValueAfterFinish(str, "branch:to:report")
    >>> channel.update(["go"]), channel.is_available()
    (True, False)
    >>> channel.finish(), channel.get()
    (True, 'go')
    >>> channel.consume(), channel.is_available()
    (True, False)
    """

    __slots__ = ("finished", "value")

    value: Value | Any
    finished: bool
    changes_when_unwritten = False

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value = MISSING
        self.finished = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LastValueAfterFinish)

    __hash__ = None  # type: ignore[assignment]  # mutable: compares by configuration (CH-22)

    def copy(self) -> Self:
        new = self.__class__(self.typ, self.key)
        new.value = self.value
        new.finished = self.finished
        return new

    def from_checkpoint(self, checkpoint: tuple[Value | Any, bool] | Any) -> Self:
        new = self.__class__(self.typ, self.key)
        if checkpoint is not MISSING:
            # Unpacked whatever it is: a store that knows only JSON gives a list.
            new.value, new.finished = checkpoint
        return new

    def checkpoint(self) -> tuple[Value | Any, bool] | Any:
        return MISSING if self.value is MISSING else (self.value, self.finished)

    def get(self) -> Value:
        if not self.finished:
            raise EmptyChannelError
        return self.value

    def is_available(self) -> bool:
        return self.finished

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            return False
        self.value = values[-1]
        self.finished = False
        return True

    def consume(self) -> bool:
        if not self.finished:
            return False
        self.value = MISSING
        self.finished = False
        return True

    def finish(self) -> bool:
        if self.finished or self.value is MISSING:
            return False
        self.finished = True
        return True
