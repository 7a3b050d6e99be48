"""The reserved words of the machine.

Everything minigraph stores or schedules is named by text: a node, a channel, a
task's path, a place in a thread. Some texts are taken. They are all here, once,
and they are the reference's own, so that data written by one package can be
read by the other.

    START ─▶ node ─▶ node ─▶ END          the two ends of every graph
    branch:to:NODE                        the channel whose write starts NODE
    join:A+B:NODE                         the channel that waits for A and B
    NODE:TASK_ID|NODE:TASK_ID             where a task stands, level by level
"""

from __future__ import annotations

import sys
from typing import Any, Final

__all__ = ["END", "START", "TAG_HIDDEN"]

START: Final = sys.intern("__start__")
"""The node before the first: it holds the raw input and writes it to the state (SG-11)."""

END: Final = sys.intern("__end__")
"""The place after the last node. An edge to it writes nothing (SG-13)."""

TAG_HIDDEN: Final = sys.intern("langsmith:hidden")
"""A node with this tag is left out of streams (SG-11)."""

MISSING: Final[Any] = object()
"""What a channel without a value gives as its checkpoint. Not ``None``: a stored None is a
real value (CH-02)."""

# Channels that every graph has.
ROOT: Final = sys.intern("__root__")  # the one channel of a state without keys (SG-01)
TASKS: Final = sys.intern("__pregel_tasks")  # Sends waiting for the next super-step (CS-32)

# Names that appear where a node's name would, in `versions_seen` and `as_node`.
INPUT: Final = sys.intern("__input__")
COPY: Final = sys.intern("__copy__")

# Writes that are about a task instead of about the state (CP-20, CP-21).
ERROR: Final = sys.intern("__error__")
SCHEDULED: Final = sys.intern("__scheduled__")
INTERRUPT: Final = sys.intern("__interrupt__")
RESUME: Final = sys.intern("__resume__")
NO_WRITES: Final = sys.intern("__no_writes__")

# The first part of a task's path: why it runs (SS-30).
PUSH: Final = sys.intern("__pregel_push")  # somebody sent it
PULL: Final = sys.intern("__pregel_pull")  # a channel it listens to moved

OVERWRITE: Final = sys.intern("__overwrite__")
PREVIOUS: Final = sys.intern("__previous__")
RETURN: Final = sys.intern("__return__")
ERROR_SOURCE_NODE: Final = sys.intern("__error_source_node__")
SNAPSHOT_BUMPS: Final = sys.intern("__snapshot_bumps__")

NULL_TASK_ID: Final = "00000000-0000-0000-0000-000000000000"
"""The task id of writes that no task made."""

BRANCH_PREFIX: Final = "branch:to:"
JOIN_PREFIX: Final = "join:"
LEVEL_SEPARATOR: Final = "|"  # between the levels of a namespace
TASK_SEPARATOR: Final = ":"  # between a node's name and its task id

RESERVED: Final = frozenset(
    {INPUT, COPY, ERROR, ERROR_SOURCE_NODE, SCHEDULED, INTERRUPT, RESUME, NO_WRITES}
) | {TASKS, PUSH, PULL, OVERWRITE, PREVIOUS, RETURN, SNAPSHOT_BUMPS}
"""Names that a user's channel may not take (SG-31)."""
