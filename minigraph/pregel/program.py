"""The program: one run of a graph, from its first checkpoint to its last.

This is the machine. It loads, plans, starts tasks, takes in their writes and saves; and
it does none of that itself. Whatever touches the world is *yielded* as an effect (see
`effects`) and performed by a driver; only ids, times and version numbers come from
functions that the caller hands in.

    load ▸ begin ─────────── an input becomes writes, or a run that goes on finds its place
    while there is a plan:
        super-step ───────── start the tasks; store each one's writes as it ends
        update ───────────── all writes ─▶ the next state           (nothing yielded)
        save ─────────────── a checkpoint per super-step

A call without an input *continues*: it replays a checkpoint that it names, or *resumes*
the latest. These are not two more machines: they differ in where `begin` starts from, and
the loop does not know which of them it is in.

The generator's return value is the result of the run. With the same functions in the
`Environment`, the same scenario can be run twice to the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from minigraph.checkpoint.base.records import CheckpointTuple
from minigraph.config import at_checkpoint, recursion_limit
from minigraph.constants import (
    BRANCH_PREFIX,
    ERROR,
    INPUT,
    INTERRUPT,
    MISSING,
    NO_WRITES,
    START,
    TASKS,
)
from minigraph.errors import (
    EmptyInputError,
    ErrorCode,
    GraphRecursionError,
    add_note,
    message_with_code,
)
from minigraph.pregel.effects import (
    NEXT,
    Cancel,
    Effect,
    Emit,
    Failed,
    Finished,
    Load,
    Program,
    Save,
    SaveWrites,
    Start,
    Stopped,
    View,
    Warn,
)
from minigraph.pregel.events import (
    checkpoint_event,
    debug_event,
    task_event,
    task_result_event,
    update_event,
)
from minigraph.pregel.identity import path_text
from minigraph.pregel.interrupts import Breakpoints, holds
from minigraph.pregel.io import input_writes
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import Changes, LiveState, Version, hydrate
from minigraph.pregel.node import Write
from minigraph.pregel.plan import Task, is_send_to_a_name, plan
from minigraph.pregel.selection import Selection
from minigraph.pregel.update import TaskWrites, update
from minigraph.types import Command, RunnableConfig, Send, new_record

Part: TypeAlias = Generator[Effect, Any, None]
"""A stretch of the program that gives no value."""


NOTHING_WRITTEN: Final[Sequence[Write]] = ((NO_WRITES, None),)
"""What is stored of a task that finished and wrote nothing, so that it counts as finished."""


class Environment(NamedTuple):
    """What a program needs to know of the world, as functions that its caller hands in.

    `Pregel` makes one for each graph. Calling them is no effect: nothing has to be waited for.

    Fields:
        new_id: from a super-step's number to a new checkpoint id; ids must increase.
        now: the time, as ISO 8601 text in UTC.
        next_version: from the newest version so far (None: none yet) to the next.
    """

    new_id: Callable[[int], str]
    now: Callable[[], str]
    next_version: Callable[[Version | None], Version]


class Request(NamedTuple):
    """One call of a graph.

    Fields:
        input: the input; ``None`` goes on with what the thread has.
        config: which thread and checkpoint, and what goes with the call.
        output: the channels that make up the result.
        modes: the stream modes that somebody reads; nothing else is emitted.
        stop_before, stop_after: nodes to stop at, see `interrupts`.
        has_saver: whether there is a saver. Without one nothing is loaded or saved.
        context: for the nodes, see `minigraph.runtime`.
    """

    input: Any
    config: RunnableConfig
    output: Selection
    modes: frozenset[str]
    has_saver: bool
    stop_before: Breakpoints = ()
    stop_after: Breakpoints = ()
    context: Any = None


def run(layout: Layout, request: Request, environment: Environment) -> Program:
    """One run, as a generator of effects that returns the run's result.

    Raises what a node raises, and `EmptyInputError`, `GraphRecursionError` and
    `InvalidUpdateError` on its own account. Whatever it raises, what was finished before is
    stored, and the thread can be read and continued.
    """
    machine = Run(layout, request, environment)
    yield from machine.load()
    yield from machine.begin()
    ran: list[Task] = []
    while True:
        tasks = machine.next_tasks()
        if machine.tells_checkpoints:
            yield from machine.tell_checkpoint(tasks)
        if request.stop_after and ran and holds(request.stop_after, ran, machine.state):
            yield from machine.tell_breakpoint()
            break
        if machine.step > machine.last_step:
            machine.give_up()
        if not tasks:
            break
        if request.stop_before and holds(request.stop_before, tasks, machine.state):
            yield from machine.tell_breakpoint()
            break
        yield from machine.super_step(tasks)
        ran = tasks
    return machine.result()


class Run:
    """What one run knows. The methods that yield are the stretches of the program."""

    def __init__(self, layout: Layout, request: Request, environment: Environment) -> None:
        self.layout = layout
        self.request = request
        self.environment = environment
        self.config = request.config
        self.namespace: str = request.config.get("configurable", {}).get("checkpoint_ns", "")
        self.state: LiveState  # from `load` on
        self.checkpoint_id = ""
        self.step = -1
        self.limit = recursion_limit(request.config)
        self.last_step = -1
        self.loaded: CheckpointTuple | None = None
        self.metadata: Mapping[str, Any] = {}
        self.parent_config: RunnableConfig | None = None
        self.unsaved_versions: dict[str, Version] = {}
        self.finished: dict[str, Sequence[Write]] = {}
        self.errors: dict[str, Any] = {}
        self.known_changes: Changes | None = None
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

    # ------------------------------------------------------------ where to start

    def load(self) -> Part:
        """Find the thread's place, or an empty one.

        Steps count from -1, the input's. A checkpoint that does not know its step, and the
        empty one of a new thread, stand at -2, one before it. The empty one is never stored;
        it gets an id because the ids of tasks are made from it.
        """
        if self.request.has_saver:
            self.loaded = yield Load(self.config)
        self.state = hydrate(self.layout, self.loaded.checkpoint if self.loaded else None)
        if self.loaded is not None:
            self.checkpoint_id = self.loaded.checkpoint["id"]
            self.metadata = self.loaded.metadata
            self.parent_config = self.loaded.parent_config
            self.step = self.loaded.metadata.get("step", -2) + 1
        else:
            self.checkpoint_id = self.environment.new_id(-2)
        self.config = at_checkpoint(self.config, self.checkpoint_id if self.loaded else None)
        self.last_step = self.step + self.limit + 1

    def begin(self) -> Part:
        """Take in the input, or find what is still to be done.

        Four ways in, and here is all that tells them apart:
            input    the waiting tasks are given up, and the input is written (CP-51)
            replay   a checkpoint was named: a copy of it becomes the present (TT-02)
            resume   go on from the latest, with what its tasks have already written (CP-54)
            stuck    a resume whose writes cannot be applied: it starts from a copy instead
        """
        if not self.is_continuing():
            yield from self.take_input()
            return
        # A breakpoint holds when something is newer than this note (IN-50, IN-51).
        self.state.seen[INTERRUPT] = dict(self.state.versions)
        if (yield from self.is_replaying()):
            yield from self.fork()
        else:
            self.finished = finished_writes(self.loaded)
            self.errors = stored_errors(self.loaded)
            if self.is_stuck():
                yield from self.fork()
        yield from self.tell_values()

    def is_continuing(self) -> bool:
        """Whether this call goes on from a checkpoint instead of starting a run.

        It has no input (CP-52), or it says by its run id that it is the run which made the
        checkpoint (CP-53).
        """
        if self.request.input is None:
            if not self.state.versions:
                why = (
                    "the thread has no checkpoint here"
                    if self.request.has_saver
                    else "the graph keeps no threads, because it has no checkpointer"
                )
                raise EmptyInputError(
                    f"There is no input, and nothing to resume: {why}. Pass an input to start a "
                    "run."
                )
            return True
        mine = self.config.get("metadata", {}).get("run_id")
        theirs = self.loaded.metadata.get("run_id") if self.loaded is not None else None
        return mine is not None and mine == theirs

    def is_replaying(self) -> Generator[Effect, Any, bool]:
        """Whether the call names a checkpoint in order to run from it again.

        The newest checkpoint of a thread may be named and still be resumed, if it was made in
        order to be run from: by an update or a fork (TT-06).
        """
        named = self.request.config.get("configurable", {}).get("checkpoint_id")
        if self.loaded is None or not named:
            return False
        if self.loaded.metadata.get("source") not in ("update", "fork"):
            return True
        latest = yield Load(at_checkpoint(self.config, None))
        return latest is not None and latest.checkpoint["id"] != self.checkpoint_id

    def is_stuck(self) -> bool:
        """Whether everything has run, and what it wrote cannot be applied.

        Then the stored writes are of no use, and the tasks must run again under new ids: a
        store keeps the first write of a task, so under the old ones it would keep these.
        """
        tasks = self.next_tasks()
        if not tasks or not all(task.id in self.finished for task in tasks):
            return False
        try:
            # Kept for the end of the super-step: a reducer must be asked once, not twice.
            self.known_changes = self.changes_of(tasks)
        except Exception:
            return True
        return False

    def fork(self) -> Part:
        """Make a copy of the present checkpoint the one to run from: its source is ``fork``.

        (What users call a fork, `update_state` on an old checkpoint, is in `inspect`.)

        Its tasks get new ids, so none of them counts as finished (TT-04).
        """
        self.finished = {}
        self.errors = {}
        updated, self.state.updated = self.state.updated, None
        yield from self.save("fork")
        self.state.updated = updated
        self.step += 1

    def take_input(self) -> Part:
        """Turn the input into writes, apply them, and save the first checkpoint of the run."""
        if isinstance(self.request.input, Command):
            raise EmptyInputError(
                "A Command as the input of a run is not built yet. Pass an input, or None to "
                "resume; use update_state to change the state first."
            )
        if self.layout.check_input is not None:
            self.layout.check_input(self.request.input, self.state)
        writes = input_writes(self.layout.input_channels, self.request.input)
        if not writes:
            raise EmptyInputError(
                f"The input has no key of {list(self.layout.input_channels.names)}, so it would "
                "start nothing."
            )
        self.state.updated = None  # ask every node, so that none of the waiting is overlooked
        done = [TaskWrites(task.path, task.name, (), task.triggers) for task in self.next_tasks()]
        done.append(TaskWrites((), INPUT, writes, ()))
        changes = update(self.layout, self.state, done, self.environment.next_version)
        self.state.absorb(changes)
        self.unsaved_versions.update(changes.versions)
        if self.request.has_saver:
            yield from self.save("input")
        self.step += 1

    # ------------------------------------------------------------ one super-step

    def next_tasks(self) -> list[Task]:
        """The plan of the next super-step."""
        return plan(self.layout, self.state, self.checkpoint_id, self.step, self.namespace)

    def give_up(self) -> NoReturn:
        """Refuse to go on for ever (SS-41)."""
        raise GraphRecursionError(
            message_with_code(
                f"The run has made the {self.limit} super-steps that its recursion_limit "
                f"allows, and is not over: {self.what_is_next()}. Raise `recursion_limit` in the "
                "config, or look for a loop that never leaves.",
                ErrorCode.GRAPH_RECURSION_LIMIT,
            )
        )

    def what_is_next(self) -> str:
        """For the message of a run that has to give up."""
        names = sorted({task.name for task in self.next_tasks()})
        if names:
            return f"super-step {self.step} would run {', '.join(names)}"
        return "whether anything is left to run, only one more super-step could tell"

    def super_step(self, tasks: list[Task]) -> Part:
        """Run the tasks that have not finished yet, then make one state of all their writes.

        When a task fails, the others that run are still taken in; then its error is raised.
        """
        waiting = {task.id: task for task in tasks if task.id not in self.finished}
        if self.tells_ends:
            yield from self.tell_start(tasks)
        failure: BaseException | None = None
        try:
            if waiting:
                view = new_record(
                    View, (self.config, self.step, self.state, None, self.request.context)
                )
                yield new_record(Start, ([*waiting.values()], view))
            while waiting and (outcome := (yield NEXT)) is not None:
                task = self.ended(waiting, outcome)
                if isinstance(outcome, Finished) and not self.keeps_records:
                    self.finished[task.id] = outcome.writes
                    continue
                error = yield from self.take_outcome(task, outcome)
                if error is not None and failure is None:
                    failure = error
                    yield Cancel(wait=True)
        except Stopped:
            yield from self.stop(tasks, waiting)
            raise
        if failure is not None:
            raise failure
        if waiting:
            names = sorted(task.name for task in waiting.values())
            raise RuntimeError(
                f"The driver answered Next with None, but these tasks have not ended: {names}. "
                "Answer with a Finished or a Failed for each task of Start."
            )
        yield from self.complete(tasks)

    def ended(self, waiting: dict[str, Task], outcome: Any) -> Task:
        """The task that an answer to Next is about. A person may be the driver, and err."""
        if isinstance(outcome, Failed) or (
            isinstance(outcome, Finished) and outcome.writes is not None
        ):
            task = waiting.pop(outcome.task_id, None)
            if task is not None:
                return task
        raise TypeError(
            f"Next was answered with {outcome!r:.200}; expected a Finished, with a list of "
            f"writes, or a Failed, for one of the task ids {list(waiting)}."
        )

    def take_outcome(
        self, task: Task, outcome: Finished | Failed
    ) -> Generator[Effect, Any, BaseException | None]:
        """Store what became of a task, and tell it. Returns its error, if it has one.

        A task whose writes cannot be stored has failed like one that raised (CP-54).
        """
        error: BaseException
        if isinstance(outcome, Finished):
            try:
                if self.request.has_saver and (effect := self.writes_saved(task, outcome.writes)):
                    yield effect
            except Stopped:
                raise
            except Exception as problem:
                error = problem
            else:
                self.finished[task.id] = outcome.writes
                if self.tells_ends:
                    yield from self.tell_end(task, outcome.writes)
                return None
        else:
            error = outcome.error
        add_note(error, f"During task with name {task.name!r} and id {task.id!r}")
        if self.request.has_saver:
            try:
                yield self.stored(task, ((ERROR, error),))
            except Stopped:
                raise
            except Exception as problem:
                # The run fails anyway; what matters is that its siblings are still taken in.
                add_note(error, f"This error could not be stored: {problem!r}")
        if self.tells_ends:
            yield from self.tell_end(task, (), error)
        return error

    def stop(self, tasks: list[Task], waiting: dict[str, Task]) -> Part:
        """Somebody left: keep what is finished, and wait for nothing (ST-30)."""
        self.stopped = True
        yield Cancel(wait=False)
        while waiting and (outcome := (yield NEXT)) is not None:
            error = yield from self.take_outcome(waiting.pop(outcome.task_id), outcome)
            if error is not None and isinstance(outcome, Finished):
                raise error  # finished work could not be stored, and whoever leaves must know
        if all(task.id in self.finished for task in tasks):
            yield from self.complete(tasks)

    def complete(self, tasks: list[Task]) -> Part:
        """End the super-step: apply all writes, and save where that leads."""
        try:
            changes = self.known_changes or self.changes_of(tasks)
            self.known_changes = None
        except Exception as error:
            # Like any failed super-step: the checkpoint it started from stays the last good
            # one, its tasks are still to be done, and the store knows why.
            add_note(error, f"At the end of super-step {self.step}; none of its writes counts.")
            yield from self.blame(tasks, error)
            raise
        self.state.absorb(changes)
        self.unsaved_versions.update(changes.versions)
        if changes.ignored or TASKS in self.state.readable:
            yield from self.warn_of_what_is_ignored(changes)
        # What was emptied is no news, and neither is a write that changed nothing.
        news = not self.request.output.members.isdisjoint(changes.updated)
        self.finished = {}
        self.errors = {}
        if self.request.has_saver:
            save = self.checkpoint_saved("loop")
            try:
                yield save
            except Stopped:
                raise
            except Exception as error:
                yield from self.blame(tasks, error)
                raise
            self.moved_to(save)
        self.step += 1
        if news:
            self.has_output = True
            if not self.reads_output_late:
                yield from self.tell_values()

    def blame(self, tasks: list[Task], error: Exception) -> Part:
        """Store an error of the super-step's end with each of its tasks, if that can be done."""
        if self.request.has_saver:
            for task in tasks:
                try:
                    yield self.stored(task, ((ERROR, error),))
                except Stopped:
                    raise
                except Exception as problem:
                    add_note(error, f"This error could not be stored: {problem!r}")
                    return

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

    def changes_of(self, tasks: list[Task]) -> Changes:
        """What the writes of these finished tasks make of the present state."""
        done = [
            new_record(TaskWrites, (t.path, t.name, self.finished[t.id], t.triggers)) for t in tasks
        ]
        return update(self.layout, self.state, done, self.environment.next_version)

    # ------------------------------------------------------------ saving and telling

    def save(self, source: str) -> Part:
        """Save the present state as a checkpoint, child of the one before."""
        save = self.checkpoint_saved(source)
        yield save
        self.moved_to(save)

    def checkpoint_saved(self, source: str) -> Save:
        """The effect that saves the present state."""
        id = self.environment.new_id(self.step)
        checkpoint = self.state.to_checkpoint(id, self.environment.now())
        if self.layout.untracked and (sent := checkpoint["channel_values"].get(TASKS)):
            checkpoint["channel_values"][TASKS] = [self.storable(each) for each in sent]
        metadata: Any = {"source": source, "step": self.step, "parents": {}}
        return new_record(Save, (self.config, checkpoint, metadata, self.unsaved_versions))

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
        return Send(value.node, {k: v for k, v in value.arg.items() if k not in untracked})

    def tell_start(self, tasks: Sequence[Task]) -> Part:
        """Tell which tasks begin; and what those wrote that have finished before (ST-13)."""
        shown = [task for task in tasks if not task.node.hidden]
        if self.tells_tasks:
            for task in shown:
                yield from self.tell("tasks", "task", task_event(task, self.request.config))
        if self.tells_updates and self.finished:
            for task in shown:
                if (writes := self.finished.get(task.id)) is not None:
                    event = update_event(task, writes, self.request.output, cached=True)
                    yield Emit("updates", event)

    def tell_end(
        self, task: Task, writes: Sequence[Write], error: BaseException | None = None
    ) -> Part:
        """Tell what a task wrote, or its error (ST-11, ST-14, ST-20)."""
        if self.stopped or task.node.hidden:
            return
        if self.tells_updates and error is None:
            yield Emit("updates", update_event(task, writes, self.request.output))
        if self.tells_tasks:
            event = task_result_event(task, writes, self.layout.stream_channels, error)
            yield from self.tell("tasks", "task_result", event)

    def tell_checkpoint(self, tasks: Sequence[Task]) -> Part:
        """Tell where the run stands, and what runs next (ST-15)."""
        values = self.state.read(self.layout.stream_channels)
        event = checkpoint_event(
            config=self.config,
            parent_config=self.parent_config,
            values=None if values is MISSING else values,
            metadata=self.metadata,
            tasks=tasks,
            finished=self.finished,
            errors=self.errors,
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

    def tell_breakpoint(self) -> Part:
        """Tell that the run stops here: an interrupt without a question (IN-61)."""
        if self.tells_updates:
            yield Emit("updates", {INTERRUPT: ()})

    def present_output(self) -> Any:
        value = self.state.read(self.request.output)
        return None if value is MISSING else value

    def result(self) -> Any:
        """The last state that was, or would have been, told."""
        return self.present_output() if self.has_output and self.reads_output_late else self.output


def node_names(nodes: Iterable[str]) -> list[str]:
    """The nodes that somebody may go to, for messages.

    >>> node_names(["__start__", "b", "a"])
    ['a', 'b']
    """
    return sorted(name for name in nodes if name != START)


def stored_errors(saved: CheckpointTuple | None) -> dict[str, Any]:
    """The errors of tasks that have failed, by task id, from what is stored (CP-22)."""
    pending = (saved and saved.pending_writes) or ()
    return {task_id: value for task_id, channel, value in pending if channel == ERROR}


def finished_writes(saved: CheckpointTuple | None) -> dict[str, Sequence[Write]]:
    """The writes of tasks that have finished, from what is stored beside a checkpoint.

    A task has finished when it wrote something besides its error (CP-21).
    """
    writes: dict[str, list[Write]] = {}
    for task_id, channel, value in (saved and saved.pending_writes) or ():
        if channel not in (ERROR, INTERRUPT):
            writes.setdefault(task_id, []).append((channel, value))
    return dict(writes)
