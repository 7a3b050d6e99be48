"""A whole value, where channels mostly hear of additions.

A channel that folds writes into its value meets a whole value three times: when it begins
(`start_value`), when a node wants to replace all there is (`overwrite_value`), and when it is
stored as something that was put together from writes (`_DeltaSnapshot`).
"""

from __future__ import annotations

import collections.abc
from typing import Annotated, Any, NamedTuple, NotRequired, Required, get_args, get_origin

from minigraph.constants import MISSING, OVERWRITE
from minigraph.errors import ErrorCode, InvalidUpdateError, message_with_code
from minigraph.types import Overwrite

CONCRETE: dict[Any, Any] = {
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}
"""What stands in for an abstract type, which cannot be called (CH-08)."""


class _DeltaSnapshot(NamedTuple):
    """Marks a stored value that is whole, of a channel that stores what was added (SD-10)."""

    value: Any


def start_value(typ: Any) -> Any:
    """What an aggregate of this type holds before the first write (CH-07, CH-08).

    ``MISSING`` if the type cannot be called without arguments; it never raises.

    >>> start_value(int), start_value(Annotated[collections.abc.Sequence[str], "names"])
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


def several_overwrites(channel: str) -> InvalidUpdateError:
    """The error for more than one `Overwrite` in one super-step (CH-11)."""
    return InvalidUpdateError(
        message_with_code(
            f"Channel {channel!r} received more than one Overwrite in one super-step, and only one "
            "value can stand. Let only one of the nodes overwrite it.",
            ErrorCode.INVALID_CONCURRENT_GRAPH_UPDATE,
        )
    )
