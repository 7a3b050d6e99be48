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

import collections.abc
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, NotRequired, Required, Self, get_args, get_origin

from minigraph.channels.base import SingleValue, Value
from minigraph.constants import MISSING, OVERWRITE
from minigraph.errors import (
    ErrorCode,
    InvalidUpdateError,
    message_with_code,
)
from minigraph.types import Overwrite

__all__ = ["BinaryOperatorAggregate"]

CONCRETE: dict[Any, Any] = {
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}
"""What stands in for an abstract type, which cannot be called (CH-08)."""


def start_value(typ: Any) -> Any:
    """What an aggregate of this type holds before the first write (CH-07, CH-08).

    ``MISSING`` if the type cannot be called without arguments; it never raises.

    >>> start_value(int), start_value(Annotated[Sequence[str], "names"])
    (0, [])
    >>> start_value(int | None) is MISSING
    True
    """
    while get_origin(typ) in (Annotated, Required, NotRequired):
        typ = get_args(typ)[0]
    typ = get_origin(typ) or typ
    try:
        return CONCRETE.get(typ, typ)()
    except Exception:  # the constructor is the user's: it may raise anything
        return MISSING


def overwrite_value(write: Any) -> Any:
    """What an `Overwrite` wants stored; ``MISSING`` if this write is an ordinary one (CH-10).

    An `Overwrite` may arrive in three spellings, since a write can come from a process that
    has only JSON: the class, a dict that says the same in one key, and the dict that JSON
    makes of the class.

    >>> overwrite_value(Overwrite(1))
    1
    >>> overwrite_value({"__overwrite__": 1})
    1
    >>> overwrite_value({"value": 1, "type": "__overwrite__"})
    1
    >>> overwrite_value({"value": 1}) is MISSING
    True
    """
    if isinstance(write, Overwrite):
        return write.value
    if isinstance(write, dict):
        if OVERWRITE in write and len(write) == 1:
            return write[OVERWRITE]
        # A user's own dict may hold an array under "type", and arrays answer == with an array.
        kind = write.get("type")
        if isinstance(kind, str) and kind == OVERWRITE and "value" in write:
            return write["value"]
    return MISSING


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
        return super().from_checkpoint(
            start_value(self.typ) if checkpoint is MISSING else checkpoint
        )

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
                    raise InvalidUpdateError(
                        message_with_code(
                            f"Channel {self.key!r} received more than one Overwrite in one "
                            "super-step, and only one value can stand. Let only one of the "
                            "nodes overwrite it.",
                            ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE,
                        )
                    )
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
