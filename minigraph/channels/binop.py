"""A value that grows: a *reducer* folds every write into it.

``Annotated[list, operator.add]`` in a schema makes one of these. Many nodes may write
it in one super-step, because the reducer says how their writes come together:

    old ──▶ reducer(old, w1) ──▶ reducer(…, w2) ──▶ next value

A reducer must give back a new value and leave its arguments as they are. The old value
may still be what a reader, or the checkpoint before, holds.

Sometimes a node wants to replace the value and not add to it. It says so by wrapping
its write in an `Overwrite`, which beats every other write of the super-step.
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

__all__ = ["BinaryOperatorAggregate"]


class BinaryOperatorAggregate(SingleValue[Value], Generic[Value]):
    """Folds the writes of a super-step into its value, one after the other (CH-07).

    Args:
        typ: the type of the value. If it can be called without arguments, what it gives is
            the start value; else the channel starts unset, and takes the first write as it
            is (CH-09).
        operator: the reducer, ``operator(value, write) -> value``.

    An `Overwrite` among the writes decides the result: what came before it is lost and what
    comes after it is ignored (CH-11). It is unwrapped on an unset channel too (CH-13). Two of
    them raise `InvalidUpdateError`. What the reducer raises is raised as it is. In both cases
    the value stays what it was.

    >>> import operator
    >>> from minigraph.types import Overwrite
    >>> channel = BinaryOperatorAggregate(list, operator.add, "log")
    >>> channel.update([["a"], ["b"]]), channel.get()
    (True, ['a', 'b'])
    >>> channel.update([["c"], Overwrite(["new"])]), channel.get()
    (True, ['new'])
    """

    __slots__ = ("operator",)

    operator: Callable[[Value, Value], Value]
    changes_when_unwritten = False
    stores_its_value = True

    def __init__(self, typ: Any, operator: Callable[[Value, Value], Value], key: str = "") -> None:
        super().__init__(typ, key)
        self.operator = operator
        self.value = start_value(typ)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BinaryOperatorAggregate):
            return False
        # A lambda that is written twice makes two functions, and nobody can tell whether they
        # do the same. Calling them different would refuse two schemas that share a key.
        operators = (self.operator, other.operator)
        if any(getattr(op, "__name__", "") == "<lambda>" for op in operators):
            return True
        return bool(self.operator == other.operator)

    __hash__ = None  # as in SingleValue

    def copy(self) -> Self:
        new = super().copy()
        new.operator = self.operator
        return new

    def from_checkpoint(self, checkpoint: Value | Any) -> Self:
        if checkpoint is MISSING:
            checkpoint = start_value(self.typ)
        elif isinstance(checkpoint, _DeltaSnapshot):  # the field was a `DeltaChannel` (CH-21)
            checkpoint = checkpoint.value
        return super().from_checkpoint(checkpoint)

    def update(self, values: Sequence[Value | Any]) -> bool:
        if not values:
            return False
        # Folded beside the channel, so that a reducer that raises leaves no half-done value.
        result = self.value
        overwritten = False
        for write in values:
            replacement = overwrite_value(write)
            if replacement is not MISSING:
                if overwritten:
                    raise several_overwrites(self.key)
                result = replacement
                overwritten = True
            elif overwritten:
                continue
            elif result is MISSING:
                result = write
            else:
                result = self.operator(result, write)
        self.value = result
        return True
