"""The one thing that is global: which task is running here.

A node is a plain function; nothing forces its author to pass the run's config along.
So a task sets this variable, in its own copy of the caller's context, before it calls
the node, and `get_config()` finds it. Because the copy belongs to the task, parallel
tasks never see each other's, and nothing leaks back into the caller.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

from minigraph.types import RunnableConfig


class RunningTask(Protocol):
    """What code below may ask of the task it runs in."""

    @property
    def config(self) -> RunnableConfig:
        """The config of this task, as a node receives it (MR-06)."""

    @property
    def runtime(self) -> Any:
        """Its `Runtime`."""

    @property
    def store(self) -> Any:
        """The run's `BaseStore`, if it has one (LM-08)."""

    def write(self, chunk: Any) -> None:
        """Tell the reader of the stream ``custom`` (ST-17)."""

    def ask(self, value: Any, response_schema: Any) -> Any:
        """The answer to this question; raises `GraphInterrupt` while there is none (IN-01)."""


class Calls:
    """Whether tasks may call other tasks: from the first function on that is marked as a `task`,
    anywhere in the process (see `minigraph.func`). Then no task runs on the driver's own thread:
    while it does, nobody would hear that a task which it has called has ended, and store that."""

    possible = False


running_task: ContextVar[RunningTask | None] = ContextVar("running_task", default=None)
