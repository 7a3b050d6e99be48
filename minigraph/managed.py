"""Managed values: keys of a state that are no state.

How many super-steps a run may still make is nothing that anybody writes, and nothing to store. But
a node, or a path function, may want to know it, and the state is what they are given:

    class State(TypedDict):
        question: str
        left: RemainingSteps        # read it like any key; a write to it is dropped

So before each super-step the run tells such keys what they are to show. There is no channel behind
them, hence nothing in a checkpoint, in a result, or in what a stream tells of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias

__all__ = ["IsLastStep", "RemainingSteps"]


class Managed(NamedTuple):
    """A key that the run provides, from the number of super-steps that are left (MR-01)."""

    of: Callable[[int], Any]


def count_down(readable: dict[str, Any], managed: Mapping[str, Managed], left: int) -> None:
    """Let these keys be read: so many super-steps are left.

    >>> count_down(state := {"x": 1}, {"last": Managed(lambda left: left == 1)}, 1)
    >>> state
    {'x': 1, 'last': True}
    """
    for name, value in managed.items():
        readable[name] = value.of(left)


RemainingSteps: TypeAlias = Annotated[int, Managed(lambda left: left)]
"""How many super-steps the run may make, this one included. When it is 1, the next one fails with
`GraphRecursionError`, if there is anything left to run (MR-01)."""

IsLastStep: TypeAlias = Annotated[bool, Managed(lambda left: left == 1)]
"""Whether this is the last super-step that the run may make (MR-01)."""
