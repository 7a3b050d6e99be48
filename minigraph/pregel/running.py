"""A task's surroundings: what user code can see while it runs.

The runner makes one of these for every task, puts it into the context variable (see
`context`), and walks the node's pipeline with it. Nothing here is built before somebody
asks: most nodes never look at their config.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any, NamedTuple, Protocol, cast

from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.constants import LEVEL_SEPARATOR, MISSING, PUSH
from minigraph.errors import GraphInterrupt
from minigraph.pregel.effects import NOTHING, Emit, View
from minigraph.pregel.identity import interrupt_id
from minigraph.pregel.io import read_after
from minigraph.pregel.node import Call, Write
from minigraph.pregel.plan import Task
from minigraph.pregel.selection import Selection
from minigraph.runtime import Runtime
from minigraph.types import Durability, Interrupt, RunnableConfig


class InnerRuns(Protocol):
    """Counts the graphs that are at work in the tasks of a sync run."""

    def add(self, change: int) -> None:
        """One more, or one less."""


class Around(NamedTuple):
    """What a driver has for the graphs that its tasks call.

    Fields:
        saver: where they store, if they have no will of their own.
        durability: when they store.
        modes: what somebody wants to read of them.
        is_over: whether the run around them has ended without waiting for them.
        inner_runs: counts them.
        memories: by the namespace of a graph's memory, the super-step and task that used it last.
    """

    saver: BaseCheckpointSaver[Any] | None = None
    durability: Durability = "async"
    modes: frozenset[str] = frozenset()
    is_over: Callable[[], bool] = bool
    inner_runs: InnerRuns | None = None
    memories: dict[str, tuple[int, str]] | None = None


NOTHING_AROUND = Around()


class Running:
    """One task at work, seen from the inside."""

    # What most tasks never touch costs them nothing: it is the class's, until it is set.
    asked = 0
    calls = 0  # of other graphs
    took = False  # whether it has used an answer that was not meant for it in particular
    answers: Mapping[str, Sequence[Any]] = NOTHING
    held: Sequence[Any] = ()
    known_config: RunnableConfig | None = None

    def __init__(
        self,
        task: Task,
        view: View,
        emit: Callable[[Emit], None] | None = None,
        around: Around = NOTHING_AROUND,
    ) -> None:
        self.task = task
        self.view = view
        self.emit = emit  # None: nobody reads
        self.around = around
        if view.held:
            self.held = view.held.get(task.id, ())

    @property
    def config(self) -> RunnableConfig:
        if self.known_config is None:
            shown = TaskConfig(task_config(self.task, self.view))
            shown.task = self
            self.known_config = cast(RunnableConfig, shown)
        return self.known_config

    @property
    def runtime(self) -> Runtime[Any]:
        return Runtime(context=self.view.context, stream_writer=self.write)

    def write(self, chunk: Any) -> None:
        if self.emit is not None:
            self.emit(Emit("custom", chunk))

    def ask(self, value: Any, response_schema: Any = None) -> Any:
        """The answer to the task's next question (IN-04, IN-05)."""
        index = self.asked
        self.asked += 1
        if index < len(self.held):
            return self.held[index]
        if (answer := self.take()) is not MISSING:
            kept = answer
            with suppress(Exception):  # it is stored later, and the node may edit it meanwhile
                kept = deepcopy(answer)
            self.held = [*self.held, kept]
            return answer
        question = Interrupt(value, interrupt_id(self.task.namespace, index), response_schema)
        raise GraphInterrupt((question,))

    def take(self) -> Any:
        """The answer that is for whoever asks first; ``MISSING`` if there is none any more.

        Graphs in this task come here too. So it is known afterwards through which task it went.
        """
        if self.view.loose is None:
            return MISSING
        answer = self.view.loose.take()
        self.took = self.took or answer is not MISSING
        return answer

    def note(self, task_id: str, answers: Sequence[Any]) -> None:
        """A graph in this task keeps nothing, so its tasks' answers are kept with this one's."""
        self.answers = {**self.answers, task_id: answers}

    def answered(self) -> Mapping[str, Sequence[Any]]:
        """The answers that came while the task ran: to itself, and in graphs that keep nothing.

        If it only passed one on, that is told as well: then the answer is not for others (IN-33).
        """
        return {**self.answers, self.task.id: list(self.held)} if self.took else self.answers

    def next_call(self) -> str:
        """What comes after the task's namespace, for the graph that it calls now (SB-03)."""
        index = self.calls
        self.calls += 1
        return f"{LEVEL_SEPARATOR}{index}" if index else ""

    def read(self, selection: Selection, writes: Sequence[Write]) -> Any:
        return read_after(self.view.state, writes, selection)

    def walk(self) -> Generator[Call, Any, Sequence[Write]]:
        """The walk through the node's pipeline."""
        task, results = self.task, self.view.results
        if results is not None:
            return self.walk_from(results[task.id])
        return task.node.work(task.input, self, sent=task.path[0] == PUSH)

    def walk_from(self, result: Any) -> Generator[Call, Any, Sequence[Write]]:
        """The rest of the walk, if this is what the node's function is to have returned."""
        return self.task.node.work(result, self, returned=True)


class TaskConfig(dict[str, Any]):
    """A task's config, which remembers the task. A node may hand it to a thread of its own, where
    no context says which task is running."""

    task: Running


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
