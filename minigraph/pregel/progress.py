"""How far a run is: what it knows, what it saves, what it tells.

    state, checkpoint_id, step      where it stands
    finished, held, interrupts …    what the tasks of the present super-step have done
    save, stored, …                 the effects that keep it
    tell_…                          the effects that tell the reader of the stream

Nothing here decides what comes next. Where a run begins is the matter of `beginning`, how it goes
on that of `program`; these three rooms are one class, in the order in which it makes sense.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from minigraph.checkpoint.base.records import CheckpointTuple
from minigraph.config import at_checkpoint, namespace_of, recursion_limit
from minigraph.constants import (
    BRANCH_PREFIX,
    INPUT,
    INTERRUPT,
    MISSING,
    NO_WRITES,
    NULL_TASK_ID,
    START,
    TASKS,
)
from minigraph.failures import GraphDrained
from minigraph.managed import count_down
from minigraph.pregel.deltas import Deltas
from minigraph.pregel.effects import NOTHING, Effect, Emit, Paused, Save, SaveWrites, Warn
from minigraph.pregel.events import (
    checkpoint_event,
    debug_event,
    task_event,
    task_result_event,
    update_event,
    with_map,
)
from minigraph.pregel.handlers import handlers_needed, has_handed_over, is_handler
from minigraph.pregel.identity import path_text
from minigraph.pregel.inner import graphs_in
from minigraph.pregel.interrupts import Loose, Resumption
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import Changes, LiveState, Version
from minigraph.pregel.node import Write
from minigraph.pregel.pending import stored_questions
from minigraph.pregel.plan import Task, is_send_to_a_name, plan
from minigraph.pregel.request import Environment, Request
from minigraph.pregel.update import TaskWrites, update
from minigraph.types import Interrupt, RunnableConfig, Send, new_record

Part: TypeAlias = Generator[Effect, Any, None]
"""A stretch of the program that gives no value."""


NOTHING_WRITTEN: Final[Sequence[Write]] = ((NO_WRITES, None),)
"""What is stored of a task that finished and wrote nothing, so that it counts as finished."""


class Progress:
    """What one run knows. The methods that yield are stretches of the program."""

    def __init__(self, layout: Layout, request: Request, environment: Environment) -> None:
        self.layout = layout
        self.request = request
        self.environment = environment
        self.config = request.config
        place = request.config.get("configurable", {})
        self.namespace = namespace_of(request.config)
        self.parents: Mapping[str, str] = place.get("checkpoint_map", {})
        self.named: str | None = place.get("checkpoint_id") or None
        self.state: LiveState  # from `load` on
        self.checkpoint_id = ""
        self.step = -1
        self.limit = recursion_limit(request.config)
        self.last_step = -1
        self.loaded: CheckpointTuple | None = None
        self.deltas = Deltas(layout, None)
        self.metadata: Mapping[str, Any] = {}
        self.parent_config: RunnableConfig | None = None
        self.unsaved_versions: dict[str, Version] = {}
        self.finished: dict[str, Sequence[Write]] = {}
        self.errors: dict[str, Any] = {}
        self.known_changes: Changes | None = None
        self.resumption: Resumption | None = None
        self.loose: Loose | None = request.loose
        self.replay = request.replay
        self.went_back = False
        self.held: dict[str, Sequence[Any]] = {}
        self.calls: dict[str, list[Any]] = {}  # called task → who waits for it
        self.late: Sequence[Write] = ()
        self.upward: list[Any] = []
        self.interrupts: list[Interrupt] = []
        self.paused = False
        self.drained: GraphDrained | None = None
        self.stopped = False
        modes = request.modes
        self.tells_values = "values" in modes
        self.tells_updates = "updates" in modes
        self.tells_tasks = not modes.isdisjoint(("tasks", "debug"))
        self.tells_ends = self.tells_updates or self.tells_tasks
        # Where nothing is kept there are no checkpoints to tell of.
        self.tells_checkpoints = request.has_saver and not modes.isdisjoint(
            ("checkpoints", "debug")
        )
        self.keeps_records = request.has_saver or self.tells_ends
        # If the output can only change by being written to, and nobody looks at it meanwhile,
        # it is enough to read it once, at the end, instead of after every super-step.
        self.reads_output_late = not self.tells_values and request.output.members <= layout.lasting
        self.has_output = False
        self.output: Any = None

    def next_tasks(self, namespace: str | None = None) -> list[Task]:
        """The plan of the next super-step; of another namespace, if that is where it stood."""
        here = self.namespace if namespace is None else namespace
        count_down(self.state.readable, self.layout.managed, self.last_step - self.step)
        tasks = plan(self.layout, self.state, self.checkpoint_id, self.step, here)
        loaded = self.loaded
        if self.layout.has_handlers and loaded and loaded.checkpoint["id"] == self.checkpoint_id:
            tasks += handlers_needed(self.layout, tasks, loaded).values()
        return tasks

    def changes_of(self, tasks: list[Task]) -> Changes:
        """What the writes of these finished tasks make of the present state."""
        done = [
            new_record(TaskWrites, (t.path, t.name, self.finished[t.id], t.triggers)) for t in tasks
        ]
        if self.late:
            done.append(TaskWrites((), INPUT, self.late, ()))
        return update(self.layout, self.state, done, self.environment.next_version)

    # ------------------------------------------------------------ saving and telling

    def save_said(self, what: str, said: Any, effect: SaveWrites) -> Part:
        """Store a question or an answer. An error of the store's says which one it is about."""
        try:
            yield effect
        except TypeError as error:
            raise TypeError(f"{what} {said!r:.200} cannot be stored: {error}") from error

    def save(self, source: str) -> Part:
        """Save the present state as a checkpoint, child of the one before."""
        save = self.checkpoint_saved(source)
        yield save
        self.moved_to(save)

    def checkpoint_saved(self, source: str, tasks: Iterable[Task] = ()) -> Save:
        """The effect that saves the present state, to which the writes of these tasks have led."""
        id = self.environment.new_id(self.step)
        snapshots = self.settle_deltas(source, tasks) if self.deltas else NOTHING
        checkpoint = self.state.to_checkpoint(id, self.environment.now())
        if self.layout.untracked and (sent := checkpoint["channel_values"].get(TASKS)):
            checkpoint["channel_values"][TASKS] = [self.storable(each) for each in sent]
        metadata: Any = {"source": source, "step": self.step, "parents": dict(self.parents)}
        if self.deltas:
            checkpoint["channel_values"].update(snapshots)
            metadata |= self.deltas.metadata()
        return new_record(Save, (self.config, checkpoint, metadata, self.unsaved_versions))

    def settle_deltas(self, source: str, tasks: Iterable[Task]) -> Mapping[str, Any]:
        """The values that must be stored whole this time, of channels that are stored in pieces."""
        if self.loaded is not None and self.checkpoint_id == self.loaded.checkpoint["id"]:
            done = {task.id for task in tasks}
            # What a Command brought beside an input counts at the end of its super-step.
            if source == "loop" or self.metadata.get("source") != "input":
                done.add(NULL_TASK_ID)
            self.deltas.loosen_others(self.loaded, done)
        has_parent = bool(self.config["configurable"].get("checkpoint_id"))
        version = self.environment.next_version(self.state.newest)
        return self.deltas.settle(self.state, self.unsaved_versions, has_parent, version)

    def moved_to(self, save: Save) -> None:
        """The checkpoint is stored, so it is where the run stands."""
        self.checkpoint_id = save.checkpoint["id"]
        self.metadata = save.metadata
        self.parent_config = (
            save.config if save.config["configurable"].get("checkpoint_id") else None
        )
        self.config = at_checkpoint(self.config, self.checkpoint_id)
        self.unsaved_versions = {}

    def writes_saved(self, task: Task, writes: Sequence[Write]) -> SaveWrites | None:
        """The effect that stores what a finished task wrote.

        None if all of that is untracked: then the store shall not know that it has finished, for
        whoever goes on from there needs those values again.
        """
        untracked = self.layout.untracked
        if untracked and writes:
            writes = [(name, self.storable(v)) for name, v in writes if name not in untracked]
            if not writes:
                return None
        return self.stored(task, writes or NOTHING_WRITTEN)

    def stored(self, task: Task, writes: Sequence[Write]) -> SaveWrites:
        """The effect that stores writes beside the checkpoint that their task started from."""
        return new_record(SaveWrites, (self.config, writes, task.id, path_text(task.path)))

    def storable(self, value: Any) -> Any:
        """What of a written value may be stored: a Send without untracked values (CS-39)."""
        if not isinstance(value, Send) or not isinstance(value.arg, dict):
            return value
        untracked = self.layout.untracked
        arg = {k: v for k, v in value.arg.items() if k not in untracked}
        return Send(value.node, arg, value.timeout)

    def tell_start(self, tasks: Sequence[Task]) -> Part:
        """Tell which tasks begin; and what those wrote that have finished before (ST-13)."""
        shown = [task for task in tasks if not task.node.hidden]
        if self.tells_tasks:
            for task in shown:
                yield from self.tell("tasks", "task", task_event(task, self.request.config))
        if self.tells_updates and self.finished:
            for task in shown:
                writes = self.finished.get(task.id)
                if writes is not None and not has_handed_over(writes):
                    event = update_event(task, writes, self.request.output, cached=True)
                    yield Emit("updates", event)

    def tell_end(
        self,
        task: Task,
        writes: Sequence[Write],
        error: BaseException | None = None,
        cached: bool = False,
    ) -> Part:
        """Tell what a task wrote, or its error (ST-11, ST-14, ST-20)."""
        if self.stopped or task.node.hidden:
            return
        if self.tells_updates and error is None:
            yield Emit("updates", update_event(task, writes, self.request.output, cached))
        if self.tells_tasks and not cached:
            event = task_result_event(task, writes, self.layout.stream_channels, error)
            yield from self.tell("tasks", "task_result", event)

    def tell_checkpoint(self, tasks: Sequence[Task]) -> Part:
        """Tell where the run stands, and what runs next (ST-15)."""
        values = self.state.read(self.layout.stream_channels)
        around = self.metadata.get("parents") or self.parents
        event = checkpoint_event(
            config=with_map(self.config, around),
            parent_config=self.parent_config and with_map(self.parent_config, around),
            values=None if values is MISSING else values,
            metadata=self.metadata,
            tasks=[task for task in tasks if not is_handler(task)],
            finished={i: w for i, w in self.finished.items() if not has_handed_over(w)},
            errors=self.errors,
            questions=stored_questions(self.loaded) if self.resumption else NOTHING,
            graphs=graphs_in(self.layout),
            shown=self.request.output,
        )
        yield from self.tell("checkpoints", "checkpoint", event, self.step - 1)

    def tell(self, mode: str, type: str, payload: Any, step: int | None = None) -> Part:
        """Tell an event to those who read its mode, and to those who read ``debug`` (ST-16)."""
        if mode in self.request.modes:
            yield Emit(mode, payload)
        if "debug" in self.request.modes:
            now = self.environment.now()
            number = self.step if step is None else step
            yield Emit("debug", debug_event(number, now, type, payload))

    def tell_values(self) -> Part:
        """Tell the state, and remember it as the result so far (ST-04, ST-10)."""
        self.has_output = True
        self.output = self.present_output()
        if self.tells_values and not self.stopped:
            yield Emit("values", self.output)

    def stop_at_breakpoint(self) -> Part:
        """Stop between two super-steps."""
        self.paused = True
        yield from self.tell_breakpoint()

    def tell_breakpoint(self) -> Part:
        """Tell that the run stops here: an interrupt without a question (IN-61)."""
        if self.tells_updates and not self.request.is_inner:
            yield Emit("updates", {INTERRUPT: ()})

    def present_output(self) -> Any:
        value = self.state.read(self.request.output)
        return None if value is MISSING else value

    def result(self) -> Any:
        """The last state that was, or would have been, told."""
        late = self.has_output and self.reads_output_late
        value = self.present_output() if late else self.output
        return Paused(value, tuple(self.interrupts)) if self.paused else value

    def warn_of_what_is_ignored(self, changes: Changes) -> Part:
        """Tell the log of writes without a channel, and of ways to nodes that do not exist."""
        nodes = self.layout.nodes
        for task_name, channel in changes.ignored:
            if channel.startswith(BRANCH_PREFIX):
                target = channel.removeprefix(BRANCH_PREFIX)
                yield Warn(
                    f"{task_name!r} goes to node {target!r}, which does not exist; there are "
                    f"{node_names(nodes)}. Ignored."
                )
            else:
                yield Warn(
                    f"Task {task_name!r} wrote to {channel!r}, which is no channel; ignored."
                )
        for sent in self.state.readable.get(TASKS, ()):
            if not is_send_to_a_name(sent):
                yield Warn(f"{sent!r:.200} was sent, but it is no Send to a node; ignored.")
            elif sent.node not in nodes:
                yield Warn(
                    f"{sent!r:.200} goes to node {sent.node!r}, which does not exist; there are "
                    f"{node_names(nodes)}. Ignored."
                )


def node_names(nodes: Iterable[str]) -> list[str]:
    """The nodes that somebody may go to, for messages.

    >>> node_names(["__start__", "b", "a"])
    ['a', 'b']
    """
    return sorted(name for name in nodes if name != START)
