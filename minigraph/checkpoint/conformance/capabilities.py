"""What a saver can do: five things that every saver must, and four that it may.

What a saver says about itself is not asked. A capability is there if the class has written the
method, instead of inheriting the one of `BaseCheckpointSaver`, which only raises. One method can be
inherited: the base class finds the history of a channel by `get_tuple`, for every saver that has
written that.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any, Final

from minigraph.checkpoint.base.saver import BaseCheckpointSaver

__all__ = [
    "BASE_CAPABILITIES",
    "EXTENDED_CAPABILITIES",
    "Capability",
    "chosen",
    "has_both",
    "is_there",
    "is_written",
]


class Capability(StrEnum):
    """One method of a saver, and its async twin."""

    PUT = "put"
    PUT_WRITES = "put_writes"
    GET_TUPLE = "get_tuple"
    LIST = "list"
    DELETE_THREAD = "delete_thread"
    DELETE_FOR_RUNS = "delete_for_runs"
    COPY_THREAD = "copy_thread"
    PRUNE = "prune"
    GET_DELTA_CHANNEL_HISTORY = "get_delta_channel_history"


EXTENDED_CAPABILITIES: Final = frozenset(
    {
        Capability.DELETE_FOR_RUNS,
        Capability.COPY_THREAD,
        Capability.PRUNE,
        Capability.GET_DELTA_CHANNEL_HISTORY,
    }
)
"""What a saver may offer (SV-02)."""

BASE_CAPABILITIES: Final = frozenset(Capability) - EXTENDED_CAPABILITIES
"""What a saver must offer (SV-01)."""

INHERITED: Final = {
    "get_delta_channel_history": "get_tuple",
    "aget_delta_channel_history": "aget_tuple",
}
"""What the base class can do, and the method of the saver's by which it does so (DC-15)."""


def chosen(names: Collection[str], argument: str) -> set[Capability]:
    """The capabilities of these names, which were given as this argument.

    >>> chosen({"puts"}, "capabilities")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: There is no capability 'puts', as capabilities says; there are ['put', ...].
    """
    if isinstance(names, str):
        raise TypeError(
            f"{argument} must be a set of names, but it is {names!r}. Did you mean {{{names!r}}}?"
        )
    there = [each.value for each in Capability]
    for name in names:
        if name not in there:
            raise ValueError(
                f"There is no capability {name!r}, as {argument} says; there are {there}."
            )
    return {Capability(name) for name in names}


def has_both(saver: BaseCheckpointSaver[Any]) -> bool:
    """Whether the saver's class has some method of its own twice: sync, and async.

    >>> has_both(BaseCheckpointSaver())
    False
    """
    names = [capability.value for capability in Capability]
    return any(is_written(saver, name) and is_written(saver, f"a{name}") for name in names)


def is_written(saver: BaseCheckpointSaver[Any], method: str) -> bool:
    """Whether the saver's class has a method of its own, instead of the base class's (SV-71).

    >>> is_written(BaseCheckpointSaver(), "aput")
    False
    """
    return getattr(type(saver), method) is not getattr(BaseCheckpointSaver, method)


def is_there(saver: BaseCheckpointSaver[Any], method: str) -> bool:
    """Whether a method can be called: it is written, or inherited from where it does something.

    >>> from minigraph.checkpoint.memory import InMemorySaver
    >>> is_there(InMemorySaver(), "prune"), is_there(BaseCheckpointSaver(), "prune")
    (True, False)
    """
    return is_written(saver, method) or (
        method in INHERITED and is_written(saver, INHERITED[method])
    )
