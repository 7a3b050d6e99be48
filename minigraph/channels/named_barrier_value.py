"""A gate that opens when everybody has arrived.

``add_edge(["a", "b"], "c")`` says that ``c`` waits for both. The join is a channel with a
list of names; each node writes its own name when it is done, in whichever super-step that is:

    writes      a          –          b            (c runs)
    seen        {a}        {a}        {a, b}       consume() ─▶ {}
    available   no         no         yes          no

The value that it gives then is None. A barrier does not say anything but "now".

`NamedBarrierValueAfterFinish` opens only when, besides, nothing else is left to run. It is
the join of a node with ``defer=True``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Self

from minigraph.channels.base import OfOneType, Value
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError, InvalidUpdateError

__all__ = ["NamedBarrierValue", "NamedBarrierValueAfterFinish"]


class NamedBarrierValue(OfOneType[None, Value, "set[Value]"], Generic[Value]):
    """Available once every name was written; `consume` closes it again (CH-17).

    Args:
        typ: the type of the names.
        names: whom to wait for.

    Raises `InvalidUpdateError` for a name that is not one of them. The checkpoint is the set
    of names seen so far.

    >>> channel = NamedBarrierValue(str, {"a", "b"}, "join:a+b:c")
    >>> channel.update(["a"]), channel.is_available()
    (True, False)
    >>> channel.update(["a"])  # it is here already: nothing changes
    False
    >>> channel.update(["b"]), channel.is_available()
    (True, True)
    >>> channel.consume(), channel.is_available()
    (True, False)
    """

    __slots__ = ("names", "seen")

    names: frozenset[Value]
    seen: set[Value]
    """Never edited in place: copies and checkpoints share it."""
    changes_when_unwritten = False

    def __init__(self, typ: Any, names: Iterable[Value], key: str = "") -> None:
        super().__init__(typ, key)
        self.names = frozenset(names)
        self.seen = set()

    def __eq__(self, other: object) -> bool:
        # By exact class: a barrier that also waits for the end is another configuration.
        return (
            isinstance(other, NamedBarrierValue)
            and other.__class__ is self.__class__
            and other.names == self.names
        )

    __hash__ = None  # type: ignore[assignment]  # mutable: compares by configuration (CH-22)

    def copy(self) -> Self:
        new = self.__class__(self.typ, self.names, self.key)
        new.seen = self.seen
        return new

    def from_checkpoint(self, checkpoint: Iterable[Value] | Any) -> Self:
        new = self.__class__(self.typ, self.names, self.key)
        if checkpoint is not MISSING:
            new.seen = set(checkpoint)
        return new

    def checkpoint(self) -> set[Value] | Any:
        return self.seen

    def get(self) -> None:
        if not self.is_available():
            raise EmptyChannelError

    def is_available(self) -> bool:
        return self.seen == self.names

    def update(self, values: Sequence[Value]) -> bool:
        for name in values:
            if name not in self.names:
                expected = ", ".join(sorted(map(repr, self.names)))
                raise InvalidUpdateError(
                    f"Channel {self.key!r} is a barrier that waits for {expected}, but received "
                    f"{name!r}. Write one of these names, or add it to the barrier's names."
                )
        seen = self.seen.union(values)
        changed = len(seen) > len(self.seen)
        self.seen = seen
        return changed

    def consume(self) -> bool:
        if self.seen != self.names:
            return False
        self.seen = set()
        return True


class NamedBarrierValueAfterFinish(NamedBarrierValue[Value], Generic[Value]):
    """Available once every name was written *and* nothing else is left to run (CH-18).

    `finish` opens it, if all have arrived; `consume` closes it again. The checkpoint is the
    pair ``(seen, finished)``.

    >>> channel = NamedBarrierValueAfterFinish(str, {"a", "b"})
    >>> channel.update(["a", "b"]), channel.is_available()
    (True, False)
    >>> channel.finish(), channel.is_available()
    (True, True)
    >>> channel.consume(), channel.is_available()
    (True, False)
    """

    __slots__ = ("finished",)

    finished: bool

    def __init__(self, typ: Any, names: Iterable[Value], key: str = "") -> None:
        super().__init__(typ, names, key)
        self.finished = False

    def copy(self) -> Self:
        new = super().copy()
        new.finished = self.finished
        return new

    def from_checkpoint(self, checkpoint: tuple[Iterable[Value], bool] | Any) -> Self:
        if checkpoint is MISSING:
            return super().from_checkpoint(MISSING)
        seen, finished = checkpoint
        new = super().from_checkpoint(seen)
        new.finished = finished
        return new

    def checkpoint(self) -> tuple[set[Value], bool] | Any:
        return self.seen, self.finished

    def is_available(self) -> bool:
        return self.finished

    def consume(self) -> bool:
        if not self.finished:
            return False
        self.finished = False
        self.seen = set()
        return True

    def finish(self) -> bool:
        if self.finished or self.seen != self.names:
            return False
        self.finished = True
        return True
