"""A task's surroundings: what user code can see while it runs.

The runner makes one of these for every task, puts it into the context variable (see
`context`), and walks the node's pipeline with it. Nothing here is built before somebody
asks: most nodes never look at their config.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from minigraph.cache.base import BaseCache
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.clock import REAL, Clock
from minigraph.constants import LEVEL_SEPARATOR, MISSING, PREVIOUS, PUSH
from minigraph.errors import GraphInterrupt
from minigraph.pregel.calls import Called
from minigraph.pregel.effects import NOTHING, Emit, View
from minigraph.pregel.identity import interrupt_id
from minigraph.pregel.io import read_after
from minigraph.pregel.node import Call, PregelNode, Write
from minigraph.pregel.plan import Task
from minigraph.pregel.selection import Selection
from minigraph.runtime import ExecutionInfo, RunControl, Runtime
from minigraph.types import Durability, Interrupt, RunnableConfig

if TYPE_CHECKING:
    from minigraph.store.base import BaseStore


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
        call: has another task run; None where nobody could.
        memories: by the namespace of a graph's memory, the super-step and task that used it last.
        clock: what time it is, and how to wait.
        cache: where outputs are kept that may be used again.
        control: what the caller gave, to stop the run with.
        outer: the task that has called this graph, if one has.
        store: where nodes find what is to outlive their threads.
        step_timeout: for how many seconds a super-step of this graph may go on.
    """

    saver: BaseCheckpointSaver[Any] | None = None
    durability: Durability = "async"
    modes: frozenset[str] = frozenset()
    is_over: Callable[[], bool] = bool
    inner_runs: InnerRuns | None = None
    memories: dict[str, tuple[int, str]] | None = None
    call: Callable[[Called], None] | None = None
    clock: Clock = REAL
    cache: BaseCache[Any] | None = None
    control: RunControl | None = None
    outer: Running | None = None
    store: BaseStore | None = None
    step_timeout: float | None = None


NOTHING_AROUND = Around()


class Running:
    """One task at work, seen from the inside."""

    # What most tasks never touch costs them nothing: it is the class's, until it is set.
    asked = 0
    calls = 0  # of other graphs
    tasks_called = 0
    took = False  # whether it has used an answer that was not meant for it in particular
    answers: Mapping[str, Sequence[Any]] = NOTHING
    held: Sequence[Any] = ()
    known_config: RunnableConfig | None = None
    attempt = 1
    began: float | None = None  # the first attempt
    active: float | None = None  # when there was a sign of life, if anybody waits for one
    only_heartbeats = False  # whether nothing else counts as one

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
        return Runtime(
            context=self.view.context,
            store=self.store,
            stream_writer=self.write,
            heartbeat=self.heartbeat,
            previous=self.previous,
            execution_info=self.execution_info,
            control=self.around.control,
        )

    @property
    def execution_info(self) -> ExecutionInfo:
        if self.began is None:  # without policies nobody has looked at the clock
            self.began = self.around.clock.now()
        place = self.view.config.get("configurable", {})
        run_id = self.view.config.get("run_id")
        return ExecutionInfo(
            checkpoint_id=place.get("checkpoint_id") or "",
            checkpoint_ns=self.task.namespace,
            task_id=self.task.id,
            thread_id=place.get("thread_id"),
            run_id=None if run_id is None else str(run_id),
            node_attempt=self.attempt,
            node_first_attempt_time=self.began,
        )

    def heartbeat(self) -> None:
        """The node is alive, and says so; and so are those around it (ER-20)."""
        if self.active is not None:
            self.active = self.around.clock.monotonic()
        if self.around.outer is not None:
            self.around.outer.heartbeat()

    def beat(self) -> None:
        """Something goes on in the task, so it is alive, if that is sign enough."""
        if self.active is not None and not self.only_heartbeats:
            self.active = self.around.clock.monotonic()
        if self.around.outer is not None:
            self.around.outer.beat()

    @property
    def store(self) -> BaseStore | None:
        return self.around.store

    @property
    def previous(self) -> Any:
        return self.view.state.readable.get(PREVIOUS)

    def write(self, chunk: Any) -> None:
        self.beat()
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

    def call(self, node: PregelNode, input: Any, reply: Any) -> None:
        """Have this run as a task of its own; what it gives comes to `reply`."""
        assert self.around.call is not None, "a runner says how"
        called = Called(self.task.id, self.tasks_called, node, input, reply)
        self.tasks_called += 1
        self.around.call(called)

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
