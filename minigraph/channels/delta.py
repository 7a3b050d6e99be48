"""A value that grows, and of which only the growth is stored.

A conversation of ten thousand messages is a list to which each turn adds two. A checkpoint that
holds the list holds ten thousand messages, and so does the next one. But what a task has written is
stored beside the checkpoint it started from anyway, so that its work is not lost. This channel
relies on that: its checkpoint holds nothing, and whoever reads it folds the writes together again.

    checkpoint   1 ◀──────── 2 ◀──────── 3 ◀──────── 4
    value        snapshot    nothing     nothing     nothing      what is stored for the channel
                 ["a"]
    writes           ["b"]       ["c"]       ["d"]                 what is stored beside it

    value at 4   =  reducer(["a"], [["b"], ["c"], ["d"]])

Every now and then a checkpoint gets the whole value after all, a *snapshot*, so that nobody has to
go back further than that.

The channel itself knows nothing of checkpoints. When a value may be left out, and how it is put
together again, is the matter of `minigraph.pregel.deltas`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Self

from minigraph.channels.base import SingleValue, Value
from minigraph.channels.whole import (
    _DeltaSnapshot,
    overwrite_value,
    several_overwrites,
    start_value,
)
from minigraph.constants import MISSING

__all__ = ["DeltaChannel"]


class DeltaChannel(SingleValue[Value], Generic[Value]):
    """Folds the writes of a super-step into its value, all at once, and stores no value.

    Args:
        reducer: ``reducer(value, writes) -> value``. It is called with all writes of a super-step,
            and when a thread is read, once, with those of many; how they are grouped must make no
            difference. It must give back a new value and leave its arguments as they are.
        typ: the type of the value; called without arguments it gives the start value. In a schema
            it is left out, for the annotation says it.
        snapshot_frequency: after so many updates a checkpoint holds the whole value.

    An `Overwrite` among the writes decides the result; what else is written in the super-step is
    lost, and two of them raise `InvalidUpdateError` (CH-11). ``Overwrite(None)`` makes the value
    empty (CH-12).

    Raises `ValueError` for a frequency that is not a positive integer (CH-20), and for a type that
    has no start value.

    >>> def extend(value, writes):
    ...     return [*value, *(item for write in writes for item in write)]
    >>> channel = DeltaChannel(extend, list).from_checkpoint(None)
    >>> channel.update([["a"], ["b"]]), channel.get(), channel.checkpoint() is MISSING
    (True, ['a', 'b'], True)
    >>> channel = DeltaChannel(extend, list).from_checkpoint(["a"])
    >>> channel.replay_writes([("task 1", "log", ["b"]), ("task 2", "log", ["c"])])
    >>> channel.get()
    ['a', 'b', 'c']

    Rules: CH-19, CH-20, DC-02.
    """

    __slots__ = ("overwritten", "reducer", "snapshot_frequency")

    changes_when_unwritten = False
    stores_writes = True

    overwritten: bool
    """Whether an `Overwrite` has come since the value was stored. In one super-step it beats the
    writes after it, in a replay it does not, so the value must be stored whole (DC-09)."""

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any],
        typ: Any = None,
        *,
        snapshot_frequency: int = 100,
    ) -> None:
        super().__init__(list if typ is None else typ)
        if not isinstance(snapshot_frequency, int) or snapshot_frequency <= 0:
            raise ValueError(
                f"snapshot_frequency must be a positive int, got {snapshot_frequency!r}"
            )
        if start_value(self.typ) is MISSING:
            raise ValueError(
                f"A DeltaChannel begins with an empty value, but {self.typ!r} cannot be called "
                "without arguments. Give it a type that can, such as list or dict."
            )
        self.reducer = reducer
        self.snapshot_frequency = snapshot_frequency
        self.overwritten = False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeltaChannel)
            and self.snapshot_frequency == other.snapshot_frequency
            and bool(self.reducer == other.reducer)
        )

    __hash__ = None  # as in SingleValue

    def copy(self) -> Self:
        new = super().copy()
        new.reducer = self.reducer
        new.snapshot_frequency = self.snapshot_frequency
        new.overwritten = self.overwritten
        return new

    def of_type(self, typ: Any) -> Self:
        """The same for values of another type, that of an annotation (SG-02)."""
        return type(self)(self.reducer, typ, snapshot_frequency=self.snapshot_frequency)

    def checkpoint(self) -> Any:
        """Always ``MISSING``: there is nothing to store."""
        return MISSING

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """The channel with a value: a snapshot, a bare value that was stored when the field was
        another kind of channel, or, for nothing, an empty one."""
        new = self.copy()
        new.overwritten = False
        if isinstance(checkpoint, _DeltaSnapshot):
            new.value = checkpoint.value
        else:
            new.value = checkpoint
            if checkpoint is None or checkpoint is MISSING:
                new.value = start_value(self.typ)
        return new

    def update(self, values: Sequence[Any]) -> bool:
        if not values:
            return False
        overwrites = [value for value in map(overwrite_value, values) if value is not MISSING]
        if len(overwrites) > 1:
            raise several_overwrites(self.key)
        if overwrites:
            self.value = self.replacing(overwrites[0])
            self.overwritten = True
        else:
            self.value = self.reducer(self.present(), [*values])
        return True

    def replay_writes(self, writes: Sequence[tuple[str, str, Any]]) -> None:
        """Take in what was written in many super-steps, as (task id, channel, write), oldest first.

        The last `Overwrite` among them is the new base, and what was before it is lost (DC-09).
        """
        pending: list[Any] = []
        for _, _, write in writes:
            replacement = overwrite_value(write)
            if replacement is MISSING:
                pending.append(write)
            else:
                self.value, pending = self.replacing(replacement), []
        if pending:
            self.value = self.reducer(self.present(), pending)

    def present(self) -> Any:
        return start_value(self.typ) if self.value is MISSING else self.value

    def replacing(self, value: Any) -> Any:
        return start_value(self.typ) if value is None else value
