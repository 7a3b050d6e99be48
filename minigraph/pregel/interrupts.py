"""When to stop: breakpoints before or after a node.

A breakpoint must hold once and let go once: a run that is resumed at it has to pass it,
and the next time around it has to hold again. No flag is kept for that. When a run
resumes, it notes the version of every channel under the name ``__interrupt__``, as if
there were a node of that name that had seen everything. A breakpoint holds only if some
channel is newer than that note, so only if something has happened since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from minigraph.constants import INTERRUPT
from minigraph.pregel.live import Glimpse
from minigraph.pregel.plan import Task
from minigraph.types import All

Breakpoints: TypeAlias = All | Sequence[str]
"""The nodes to stop at; ``"*"`` for all that are not hidden."""


def holds(breakpoints: Breakpoints, tasks: Sequence[Task], state: Glimpse) -> bool:
    """Whether the run stops at one of these tasks.

    Rules: IN-50, IN-51, IN-60.
    """
    at_one = any(
        not task.node.hidden if breakpoints == "*" else task.name in breakpoints for task in tasks
    )
    return at_one and something_new(state)


def something_new(state: Glimpse) -> bool:
    """Whether a channel has moved since the run was last resumed."""
    noted = state.seen.get(INTERRUPT, {})
    return any(
        name not in noted or version > noted[name] for name, version in state.versions.items()
    )
