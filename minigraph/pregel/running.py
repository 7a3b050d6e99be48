"""A task's surroundings: what user code can see while it runs.

The runner makes one of these for every task, puts it into the context variable (see
`context`), and walks the node's pipeline with it. Nothing here is built before somebody
asks: most nodes never look at their config.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from minigraph.constants import PUSH
from minigraph.pregel.effects import Emit, View
from minigraph.pregel.io import read_after
from minigraph.pregel.node import Call, Write
from minigraph.pregel.plan import Task
from minigraph.pregel.selection import Selection
from minigraph.runtime import Runtime
from minigraph.types import RunnableConfig


class Running:
    """One task at work, seen from the inside."""

    __slots__ = ("_config", "emit", "task", "view")

    def __init__(self, task: Task, view: View, emit: Callable[[Emit], None] | None = None) -> None:
        self.task = task
        self.view = view
        self.emit = emit  # None: nobody reads
        self._config: RunnableConfig | None = None

    @property
    def config(self) -> RunnableConfig:
        if self._config is None:
            self._config = task_config(self.task, self.view)
        return self._config

    @property
    def runtime(self) -> Runtime[Any]:
        return Runtime(context=self.view.context, stream_writer=self.write)

    def write(self, chunk: Any) -> None:
        if self.emit is not None:
            self.emit(Emit("custom", chunk))

    def read(self, selection: Selection, writes: Sequence[Write]) -> Any:
        return read_after(self.view.state, writes, selection)

    def walk(self) -> Generator[Call, Any, Sequence[Write]]:
        """The walk through the node's pipeline."""
        task, results = self.task, self.view.results
        if results is not None:
            return task.node.work(results[task.id], self, returned=True)
        return task.node.work(task.input, self, sent=task.path[0] == PUSH)


def task_config(task: Task, view: View) -> RunnableConfig:
    """The config that a node receives (MR-06, SB-02).

    The caller's config, with `configurable` pointing to the task's own namespace, and with
    `metadata` saying which task it is. `recursion_limit` is there only if the caller gave it.
    """
    config = view.config
    place = config.get("configurable", {})
    namespace = place.get("checkpoint_ns", "")
    metadata = {**config.get("metadata", {})}
    if "thread_id" in place:
        metadata.setdefault("thread_id", place["thread_id"])
    tags = [*config.get("tags", ()), *task.node.tags]
    shown: RunnableConfig = {**config, "tags": tags} if tags else config
    return {
        **shown,
        "metadata": {
            **metadata,
            **task.node.metadata,
            "langgraph_step": view.step,
            "langgraph_node": task.name,
            "langgraph_triggers": task.triggers,
            "langgraph_path": task.path,
            "langgraph_checkpoint_ns": task.namespace,
        },
        "configurable": {
            **place,
            "checkpoint_ns": task.namespace,
            "checkpoint_id": None,
            "checkpoint_map": {
                **place.get("checkpoint_map", {}),
                namespace: place.get("checkpoint_id"),
            },
        },
    }
