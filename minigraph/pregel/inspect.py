"""Reading and editing threads: snapshots, history, updates from outside.

These are programs too. They yield `Load` and `Save` like a run does, and any driver can
perform them; so there is one `get_state`, not a sync one and an async one.

    state      Load                                  ─▶ StateSnapshot
    history    Listing, Advance, Advance, …          ─▶ Emit(snapshot) each
    update     Load, Start/Next, SaveWrites, Save    ─▶ the new checkpoint's config

A snapshot answers "what is stored here, and what would run next?". It asks the planner,
with the same state a run would ask it with, so the answer cannot differ from what a run
would do.

An update is a super-step in which a single node wrote, and that node did not really run:
its result is given from outside, and from there on (reducers, edges, routes) everything
is as if it had.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Generator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn
from uuid import UUID, uuid5

from minigraph.checkpoint.base.records import CheckpointTuple
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.config import at_checkpoint, located, namespace_of
from minigraph.constants import (
    COPY,
    END,
    INPUT,
    INTERRUPT,
    LEVEL_SEPARATOR,
    MISSING,
    NULL_TASK_ID,
    PULL,
    START,
)
from minigraph.errors import InvalidUpdateError, add_note
from minigraph.managed import count_down
from minigraph.pregel.deltas import Deltas, whole
from minigraph.pregel.effects import (
    Advance,
    Asked,
    Effect,
    Emit,
    Failed,
    Finished,
    Listing,
    Load,
    Next,
    Program,
    Save,
    SaveWrites,
    Start,
    View,
    Warn,
)
from minigraph.pregel.events import inner_config, with_map
from minigraph.pregel.handlers import handlers_needed
from minigraph.pregel.identity import path_text, without_ids
from minigraph.pregel.inner import graphs_in
from minigraph.pregel.io import input_writes, result_of
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import Glimpse, LiveState, Version, glimpse, hydrate
from minigraph.pregel.migrate import migrated
from minigraph.pregel.node import Graph, Write
from minigraph.pregel.pending import (
    apply_from_outside,
    by_command,
    finished_writes,
    open_questions,
    outside_writes,
    stored_errors,
    stored_questions,
)
from minigraph.pregel.plan import Task, plan
from minigraph.pregel.request import Environment
from minigraph.pregel.update import TaskWrites, update
from minigraph.pregel.versions import moved_since
from minigraph.types import (
    Interrupt,
    PregelTask,
    RunnableConfig,
    StateSnapshot,
    StateUpdate,
    new_record,
)

# ---------------------------------------------------------------- reading


def state_program(
    layout: Layout,
    config: RunnableConfig,
    next_version: Callable[[Version | None], Version],
    inside: bool = False,
) -> Generator[Effect, Any, StateSnapshot]:
    """One checkpoint as a `StateSnapshot`: the latest, or the one that is named (CP-31).

    `inside`: show the state of the graphs in its tasks as well, and of those in theirs (SB-31).
    """
    saved = yield from whole(layout, migrated((yield Load(config))))
    named = config.get("configurable", {}).get("checkpoint_id")
    found = snapshot(layout, config, saved, next_version, is_live=not named)
    if not inside:
        return found
    tasks: list[PregelTask] = []
    for task in found.tasks:
        graph = graphs_in(layout).get(task.name)
        if graph is not None and task.state is not None:
            place = standing(graph, task.state)
            state = yield from state_program(graph.layout, place, next_version, inside)
            task = task._replace(state=state)
        tasks.append(task)
    return found._replace(tasks=tuple(tasks))


def standing(graph: Graph, config: RunnableConfig) -> RunnableConfig:
    """The config of an inner graph's place: one with a memory of its own stands at the same place
    in all tasks (SB-04)."""
    if graph.checkpointer is not True:
        return config
    place = {**config["configurable"], "checkpoint_ns": without_ids(namespace_of(config))}
    return {**config, "configurable": place}


def history_program(
    layout: Layout,
    config: RunnableConfig,
    filter: dict[str, Any] | None,
    before: RunnableConfig | None,
    limit: int | None,
    next_version: Callable[[Version | None], Version],
) -> Program:
    """All checkpoints of one namespace, newest first, each emitted as a snapshot (CP-34)."""
    place = {"checkpoint_ns": "", **config.get("configurable", {})}
    cursor = yield Listing({**config, "configurable": place}, filter, before, limit)
    advance = Advance(cursor)
    any_shown = False
    while (saved := (yield advance)) is not None:
        try:
            saved = yield from whole(layout, migrated(saved))
        except UnreadableError as error:
            if not any_shown:
                raise
            # Where a thread was pruned, what newer ones are made of is left, but cannot always be
            # read itself (SV-63).
            yield Warn(f"A checkpoint is left out of the history: {error}")
            continue
        any_shown = True
        shown = snapshot(layout, config, saved, next_version, is_live=False)
        yield new_record(Emit, ("snapshot", shown, (), ()))


def snapshot(
    layout: Layout,
    config: RunnableConfig,
    saved: CheckpointTuple | None,
    next_version: Callable[[Version | None], Version],
    is_live: bool,
) -> StateSnapshot:
    """A stored checkpoint, made readable.

    Args:
        layout: the graph whose thread it is.
        config: what was asked for; an empty snapshot echoes it.
        saved: the checkpoint; ``None`` gives an empty snapshot.
        next_version: from the newest version to the next.
        is_live: in the live view, tasks that have finished count as done, and questions that were
            answered are gone: it shows where the thread stands. Otherwise the snapshot is a record
            of how the super-step began (CP-40, CP-41).
    """
    if saved is None:
        return StateSnapshot({}, (), config, None, None, None, (), ())
    state: Glimpse
    if is_live or outside_writes(saved):
        state = live = hydrate(layout, saved.checkpoint)
        apply_stored(layout, live, saved, next_version)
    else:
        state = glimpse(layout, saved.checkpoint)
    tasks = waiting_tasks(layout, state, saved)
    finished = finished_writes(saved)
    errors = stored_errors(saved)
    questions = stored_questions(saved) if saved.pending_writes else {}
    next_nodes = tuple([task.name for task in tasks])
    handlers = handlers_needed(layout, tasks, saved) if layout.has_handlers else {}
    if is_live and questions:
        everybody = [*tasks, *handlers.values()]
        questions = {task.id: each for task, each in open_questions(saved, everybody)}
    for id, handler in handlers.items():
        # A task that has failed stands for its handler: it is next for as long as that is, and
        # shows its questions.
        questions = {**questions, id: questions.get(handler.id, ())}
        if handler.id not in finished:
            del finished[id]
    if is_live and finished:
        done = [task for task in (*tasks, *handlers.values()) if task.id in finished]
        try:
            advance(layout, live, done, finished, next_version)
        except Exception as error:
            # They ran, and what they wrote cannot be applied. So none of them counts, and
            # the state is the last good one.
            for task in done:
                errors.setdefault(task.id, repr(error))
        else:
            next_nodes = tuple([task.name for task in tasks if task.id not in finished])
            if tasks and not next_nodes:
                # The super-step is over but for its checkpoint: tell what comes after it.
                next_nodes = tuple([t.name for t in waiting_tasks(layout, state, saved)])
    inside = graphs_in(layout)
    shown_tasks = tuple(
        [
            shown(
                layout,
                task,
                None if task.id in handlers else finished.get(task.id),
                errors.get(task.id),
                questions.get(task.id, ()),
                inner_config(saved.config, task, inside[task.name])
                if task.name in inside
                else None,
            )
            for task in tasks
        ]
    )
    address, parent = saved.config, saved.parent_config
    if (around := saved.metadata.get("parents")) and namespace_of(address):
        address = with_map(address, around)
        parent = parent and with_map(parent, around)
    return new_record(
        StateSnapshot,
        (
            read_state(layout, state),
            next_nodes,
            address,
            dict(saved.metadata),
            saved.checkpoint["ts"],
            parent,
            shown_tasks,
            tuple([each for task in shown_tasks for each in task.interrupts]),
        ),
    )


def apply_stored(
    layout: Layout,
    state: LiveState,
    saved: CheckpointTuple,
    next_version: Callable[[Version | None], Version],
) -> None:
    """Apply what Commands have brought that is kept beside the checkpoint, as a run would."""
    if not saved.pending_writes or saved.metadata.get("source") == "input":
        return  # beside an input, they count at the end of its super-step
    for writes in by_command(outside_writes(saved)):
        with suppress(Exception):  # a run tells the log of it
            apply_from_outside(layout, state, writes, next_version)


def shown(
    layout: Layout,
    task: Task,
    writes: Sequence[Write] | None,
    error: Any,
    questions: Sequence[Interrupt],
    inner: RunnableConfig | None,
) -> PregelTask:
    """A task as a snapshot shows it. Where the state is one value, so is the result."""
    shown = layout.stream_channels
    result: Any = None if writes is None else result_of(writes, shown)
    if result is not None and shown.single:
        result = result.get(shown.names[0])
    fields = (task.id, task.name, task.path, error, tuple(questions), inner, result)
    return new_record(PregelTask, fields)


def advance(
    layout: Layout,
    state: LiveState,
    tasks: Sequence[Task],
    writes: Mapping[str, Sequence[Write]],
    next_version: Callable[[Version | None], Version],
) -> None:
    """Apply finished tasks to a state that only serves to be looked at."""
    if tasks:
        done = [TaskWrites(t.path, t.name, writes[t.id], t.triggers) for t in tasks]
        state.absorb(update(layout, state, done, next_version))


def waiting_tasks(layout: Layout, state: Glimpse, saved: CheckpointTuple) -> list[Task]:
    """The tasks of the super-step that starts from a stored checkpoint, as they were declared."""
    step = saved.metadata.get("step", -2) + 1
    tasks = plan(layout, state, saved.checkpoint["id"], step, namespace_of(saved.config))
    if len(tasks) > 1:
        declared = {name: index for index, name in enumerate(layout.nodes)}
        tasks.sort(key=lambda task: declared[task.name] if task.path[0] == PULL else -1)
    return tasks


def read_state(layout: Layout, state: Glimpse) -> Any:
    """The channels that a snapshot shows; None for a single channel without a value."""
    value = state.read(layout.stream_channels)
    return None if value is MISSING else value


# ---------------------------------------------------------------- editing


def update_program(
    layout: Layout,
    config: RunnableConfig,
    super_steps: Sequence[Sequence[StateUpdate]],
    environment: Environment,
    around: Graph | None = None,
) -> Program:
    """Updates from outside, one checkpoint per inner list; returns the last one's config.

    `around`: the graph around this one, if this one is kept as long as the task that it is in.

    Raises `ValueError` when there is nothing to do, or nobody who would ever see it, and
    `InvalidUpdateError` for an update that cannot be made; the thread then keeps the checkpoints
    that were complete.

    Rules: CP-60 to CP-69.
    """
    for updates in super_steps:
        wrong = [each for each in updates if not isinstance(each, tuple)]
        if isinstance(updates, Mapping) or wrong:
            raise TypeError(
                "Updates are given as a list of super-steps, each a list of StateUpdate(values, "
                f"as_node), but one of them is {updates!r:.200}."
            )
    super_steps = [[StateUpdate(*update) for update in updates] for updates in super_steps]
    if not super_steps:
        raise ValueError("No supersteps provided: pass at least one list of updates.")
    if not all(super_steps):
        raise ValueError("No updates provided: every super-step needs at least one update.")
    for updates in super_steps:
        editor = Editor(layout, config, environment)
        yield from editor.load()
        if editor.saved is None and around is not None:
            yield from require_task(around, config, environment.next_version)
        yield from editor.edit(updates)
        config = at_checkpoint(config, editor.checkpoint_id)
    place = config["configurable"]
    names = ("thread_id", "checkpoint_ns", "checkpoint_id")
    updated: RunnableConfig = {"configurable": {name: place[name] for name in names}}
    return with_map(updated, editor.parents) if namespace_of(updated) else updated


def require_task(
    around: Graph, config: RunnableConfig, next_version: Callable[[Version | None], Version]
) -> Generator[Effect, Any, None]:
    """Raise `ValueError` if no task of the graph around stands at the place that `config` names:
    nobody would ever come to what is stored there (SB-32)."""
    levels = namespace_of(config).split(LEVEL_SEPARATOR)
    while levels[-1].isdigit():  # the second, third, … graph that a task has called
        levels.pop()
    outer = located(config, LEVEL_SEPARATOR.join(levels[:-1]), None)
    found = yield from state_program(around.layout, standing(around, outer), next_version)
    waiting = [namespace_of(task.state) for task in found.tasks if task.state is not None]
    if LEVEL_SEPARATOR.join(levels) not in waiting:
        there = f"those that wait are at {waiting}" if waiting else "none waits at all"
        raise ValueError(
            f"Nothing is stored at checkpoint_ns {namespace_of(config)!r}, and no task waits "
            f"there; {there}. Take the config of a graph in a node from the snapshot around it: "
            "get_state(config, subgraphs=True).tasks[0].state.config."
        )


def problem_of(outcome: Failed | Asked) -> BaseException:
    """Why an update from outside cannot be made."""
    if isinstance(outcome, Failed):
        return outcome.error
    return InvalidUpdateError(
        "A path function asks a question, and an update from outside has nobody who answers. "
        "Update as another node, or go on with the run and answer there."
    )


class Editor:
    """One update from outside. It reads like a run that has a single super-step."""

    def __init__(self, layout: Layout, config: RunnableConfig, environment: Environment) -> None:
        self.layout = layout
        self.config = config
        self.environment = environment
        self.saved: CheckpointTuple | None = None
        self.deltas = Deltas(layout, None)
        self.is_latest = True
        self.tasks_wait = False
        self.state: LiveState  # from `load` on
        self.step = -1
        self.checkpoint_id = ""
        self.parents: Mapping[str, str] = {}

    def load(self) -> Generator[Effect, Any, None]:
        """Find the checkpoint to update, and whether the thread has moved past it."""
        stored = migrated((yield Load(self.config)))
        self.deltas = Deltas(self.layout, stored)
        self.saved = yield from whole(self.layout, stored, self.environment.known)
        self.state = hydrate(self.layout, self.saved.checkpoint if self.saved else None)
        named = self.config.get("configurable", {}).get("checkpoint_id")
        if self.saved is None:
            if named:
                place = self.config["configurable"]
                inside = (
                    f" in the graph at {place['checkpoint_ns']!r}"
                    if namespace_of(self.config)
                    else ""
                )
                raise InvalidUpdateError(
                    f"Thread {place['thread_id']!r} has no checkpoint {named!r}{inside}, so it "
                    "cannot be updated. Take the config of a snapshot, or leave out checkpoint_id "
                    "to update the latest."
                )
            self.config = at_checkpoint(self.config, None)
            self.checkpoint_id = self.environment.new_id(-2)
            return
        if named is not None:
            latest = yield Load(at_checkpoint(self.config, None))
            self.is_latest = latest is not None and latest.checkpoint["id"] == named
        if self.is_latest:
            apply_stored(self.layout, self.state, self.saved, self.environment.next_version)
        self.step = self.saved.metadata.get("step", -2) + 1
        self.parents = self.saved.metadata.get("parents", {})
        self.checkpoint_id = self.saved.checkpoint["id"]
        self.config = at_checkpoint(self.config, self.checkpoint_id)
        self.tasks_wait = bool(self.layout.deltas and self.waiting())

    def edit(self, updates: Sequence[StateUpdate]) -> Generator[Effect, Any, None]:
        """Apply one super-step of updates, by the kind that `as_node` makes them."""
        special = {INPUT: self.as_input, COPY: self.copy}
        for name, problem in (
            (INPUT, "apply multiple updates when updating as input"),
            (END, "apply multiple updates when clearing state"),
            (COPY, "copy a checkpoint with multiple updates"),
        ):
            if len(updates) > 1 and any(update.as_node == name for update in updates):
                raise InvalidUpdateError(f"Cannot {problem}: let {name!r} be the only one.")
        first = updates[0]
        if first.as_node in special:
            yield from special[first.as_node](first.values)
        elif first.as_node == END:
            yield from self.clear(first.values)
        else:
            yield from self.as_nodes(updates)

    def as_input(self, values: Any) -> Generator[Effect, Any, None]:
        """Store the values as an input that nobody has run yet; what waits is given up (CP-65)."""
        if self.layout.check_input is not None:
            self.layout.check_input(values, self.state)
        writes = input_writes(self.layout.input_channels, values)
        if not writes:
            raise InvalidUpdateError(
                f"Received no input writes for {list(self.layout.input_channels.names)}."
            )
        given_up = [TaskWrites(t.path, t.name, (), t.triggers) for t in self.waiting()]
        self.apply([*given_up, TaskWrites((), INPUT, writes, ())])
        self.deltas.loosen(name for name, _ in writes)
        self.loosen_others(())
        base, base_id = self.config, self.checkpoint_id
        yield from self.save("input")
        if self.saved is not None and self.is_latest:
            yield SaveWrites(base, writes, str(uuid5(UUID(base_id), INPUT)), "")

    def clear(self, values: Any) -> Generator[Effect, Any, None]:
        """End the open super-step with what is there; nothing waits any more (CP-66)."""
        if values is not None:
            raise InvalidUpdateError(
                f"As {END!r} an update only clears the waiting tasks; its values must be None."
            )
        finished = finished_writes(self.saved)
        self.apply(
            [TaskWrites(t.path, t.name, finished.get(t.id, ()), t.triggers) for t in self.waiting()]
        )
        self.loosen_others(finished)
        yield from self.save("update")

    def copy(self, values: Any) -> Generator[Effect, Any, None]:
        """Clone the checkpoint beside itself; then, perhaps, update the clone (CP-69)."""
        if self.saved is None:
            raise InvalidUpdateError(
                "Cannot copy a non-existent checkpoint: the thread has none at this place."
            )
        updates: list[StateUpdate] = []
        if isinstance(values, (list, tuple)):
            for each in values:
                if not isinstance(each, (list, tuple)):
                    raise InvalidUpdateError(
                        f"As {COPY!r}, an update is a list of (values, as_node), but one of them "
                        f"is {each!r:.200}."
                    )
                updates.append(StateUpdate(*each))
        for one in updates:
            if one.as_node is not None and one.as_node not in self.layout.nodes:
                self.refuse_node(one.as_node)
        parent = (self.saved.parent_config or {}).get("configurable", {}).get("checkpoint_id")
        self.config = at_checkpoint(self.config, parent)
        self.deltas.loosen(self.layout.deltas)
        self.state.updated = None
        yield from self.save("fork")
        if updates:
            editor = Editor(self.layout, self.config, self.environment)
            yield from editor.load()
            yield from editor.edit(updates)
            self.checkpoint_id = editor.checkpoint_id

    def as_nodes(self, updates: Sequence[StateUpdate]) -> Generator[Effect, Any, None]:
        """Let nodes have returned these values: run their writers and routes, then update."""
        if len(updates) > 1 and any(update.as_node is None for update in updates):
            raise InvalidUpdateError(
                "Several updates in one super-step need to say who makes them: pass as_node."
            )
        tasks: list[Task] = []
        results: dict[str, Any] = {}
        for index, each in enumerate(updates):
            name = self.last_writer() if each.as_node is None else each.as_node
            task = self.task_for(name, index, each.task_id, results)
            if task.id in results:
                raise InvalidUpdateError(
                    f"Two updates of one super-step count as the task {task.id!r}; leave out "
                    "task_id, or give each its own."
                )
            tasks.append(task)
            results[task.id] = each.values
        written = yield from self.run_writers(tasks, results)
        # A refused update must leave nothing behind, so it is applied before anything is stored.
        done = [TaskWrites(t.path, t.name, written[t.id], t.triggers) for t in tasks]
        changes = update(self.layout, self.state, done, self.environment.next_version)
        self.state.absorb(changes)
        for task_name, channel in changes.ignored:
            yield Warn(f"The update as {task_name!r} wrote to {channel!r}, which is no channel.")
        for each, task in zip(updates, tasks, strict=True):
            for name in self.unknown_keys(each.values):
                yield Warn(f"The update as {task.name!r} wrote to {name!r}, which is no channel.")
        base = self.config
        self.loosen_others(())
        yield from self.save_pieces(tasks, written)
        yield from self.save("update")
        # Only now: whoever dies in between leaves the update done, and its record incomplete.
        # The other way around, a waiting task would count as finished with these writes.
        if self.saved is not None and self.is_latest:
            for task in tasks:
                rest = [each for each in written[task.id] if each[0] not in self.layout.deltas]
                yield SaveWrites(base, rest, task.id, path_text(task.path))

    def unknown_keys(self, values: Any) -> list[Any]:
        """What of an update is dropped, since the state has no such key (SG-41). A node may return
        more than the graph knows; but somebody who writes by hand has mistyped it."""
        if not isinstance(values, dict) or self.layout.updates_of is None:
            return []
        written = [name for name, _ in self.layout.updates_of(values)]
        return [name for name in written if name not in self.layout.channels]

    def save_pieces(
        self, tasks: Sequence[Task], written: Mapping[str, Sequence[Write]]
    ) -> Generator[Effect, Any, None]:
        """Store first what the new checkpoint will leave out, since it can be made again from these
        writes: under ids of their own, which no waiting task has."""
        apart = self.layout.deltas - self.deltas.loose
        if self.saved is None or not apart:
            return
        for index, task in enumerate(tasks):
            if pieces := [each for each in written[task.id] if each[0] in apart]:
                id = str(uuid5(UUID(self.checkpoint_id), f"deltas {index}"))
                yield SaveWrites(self.config, pieces, id, path_text(task.path))

    def loosen_others(self, applied: Collection[str]) -> None:
        """Beside the checkpoint that is edited, only what these tasks wrote counts, and what came
        from outside; and nothing where tasks wait, or where it may have led to another (DC-11)."""
        if not self.is_latest or self.tasks_wait:
            self.deltas.loosen(self.layout.deltas)
        nobody = (NULL_TASK_ID,) if self.metadata_source() != "input" else ()
        self.deltas.loosen_others(self.saved, {*applied, *nobody})

    def metadata_source(self) -> str | None:
        return None if self.saved is None else self.saved.metadata.get("source")

    def task_for(self, name: str, index: int, task_id: str | None, taken: Container[str]) -> Task:
        """A task for a node that did not really run.

        It borrows the id of a task that waits for this node, so that the store's record of the
        super-step reads as if that task had written (CP-64); if it is not `taken` already.
        """
        node = self.layout.nodes.get(name)
        if node is None:
            self.refuse_node(name)
        waiting = next((t.id for t in self.waiting() if t.name == name and t.id not in taken), None)
        id = task_id or waiting or str(uuid5(UUID(self.checkpoint_id), f"{INTERRUPT}{index or ''}"))
        return Task(id, name, (INTERRUPT, index), None, (INTERRUPT,), (), name, node)

    def refuse_node(self, name: str) -> NoReturn:
        raise InvalidUpdateError(
            f"Node {name!r} does not exist; as_node can be one of {sorted(self.layout.nodes)}."
        )

    def run_writers(
        self, tasks: Sequence[Task], results: dict[str, Any]
    ) -> Generator[Effect, Any, dict[str, Sequence[Write]]]:
        """Have the nodes' writers and routes turn the given results into writes."""
        written: dict[str, Sequence[Write]] = {}
        failure: BaseException | None = None
        # A path function may read them. That many are left where there is no limit (MR-01).
        count_down(self.state.readable, self.layout.managed, 2)
        yield Start(tasks, View(self.config, self.step, self.state, results))
        while len(written) < len(tasks) and (outcome := (yield Next())) is not None:
            if not isinstance(outcome, Finished):
                failure = failure or problem_of(outcome)
                written[outcome.task_id] = ()
            else:
                written[outcome.task_id] = outcome.writes
        if failure is not None:
            add_note(failure, f"This was an update from outside, as {[t.name for t in tasks]}.")
            raise failure
        return written

    def last_writer(self) -> str:
        """The node that an update without `as_node` belongs to: who ran last (CP-61)."""
        nodes = self.layout.nodes
        if len(nodes) == 1:
            return next(iter(nodes))
        ran = {
            name: max(seen.values())
            for name, seen in self.state.seen.items()
            if name in nodes and seen
        }
        if not ran:
            if START in nodes:
                return START
            raise InvalidUpdateError("No node has run yet: say which one updates, with as_node.")
        newest = max(ran.values())
        last = [name for name, version in ran.items() if version == newest]
        if len(last) > 1:
            raise InvalidUpdateError(
                f"Ambiguous update, specify as_node: {sorted(last)} ran in the same super-step."
            )
        return last[0]

    def waiting(self) -> list[Task]:
        """The tasks that wait at this checkpoint."""
        if self.saved is None:
            return []
        tasks = waiting_tasks(self.layout, self.state, self.saved)
        if self.layout.has_handlers:
            tasks += handlers_needed(self.layout, tasks, self.saved).values()
        return tasks

    def apply(self, tasks: Sequence[TaskWrites]) -> None:
        self.state.absorb(update(self.layout, self.state, tasks, self.environment.next_version))

    def save(self, source: str) -> Generator[Effect, Any, None]:
        """Store the outcome as a new checkpoint; the one it came from stays as it is."""
        before: dict[str, Version] = self.saved.checkpoint["channel_versions"] if self.saved else {}
        step = self.step if source == "input" or self.saved else self.step + 1
        id = self.environment.new_id(step)
        # Not every node that waits listens to what this update touched: ask them all.
        self.state.updated = None
        moved = moved_since(before, self.state.versions)
        snapshots = {}
        if self.deltas:
            has_parent = bool(self.config["configurable"].get("checkpoint_id"))
            version = self.environment.next_version(self.state.newest)
            snapshots = self.deltas.settle(self.state, moved, has_parent, version)
        checkpoint = self.state.to_checkpoint(id, self.environment.now())
        checkpoint["channel_values"].update(snapshots)
        metadata: Any = {"source": source, "step": step, "parents": dict(self.parents)}
        yield Save(self.config, checkpoint, metadata | self.deltas.metadata(), moved)
        self.checkpoint_id = id
        self.config = at_checkpoint(self.config, id)
