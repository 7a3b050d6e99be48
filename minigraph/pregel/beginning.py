"""Where a run begins: at an input, at an old checkpoint, or in the middle of a super-step.

After `load` and `begin` a run stands somewhere, and has a plan. How it came there makes no
difference any more: the loop in `program` does not know whether this is a first run, a resume, a
replay or a fork, nor how deep in other graphs it is.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from typing import Any

from minigraph.checkpoint.base.records import CheckpointTuple
from minigraph.config import at_checkpoint, located
from minigraph.constants import (
    BRANCH_PREFIX,
    INPUT,
    INTERRUPT,
    MISSING,
    NO_WRITES,
    NULL_TASK_ID,
    RESUME,
    ROOT,
)
from minigraph.errors import EmptyInputError, UnknownInterruptError
from minigraph.managed import count_down
from minigraph.pregel.deltas import Deltas, whole
from minigraph.pregel.effects import NOTHING, Advance, Effect, Listing, Load, SaveWrites, Warn
from minigraph.pregel.identity import interrupt_id
from minigraph.pregel.interrupts import (
    LooseAnswer,
    Origin,
    Replay,
    Resumption,
    aimed,
    check_in_the_past,
    is_map_of_answers,
)
from minigraph.pregel.io import command_writes, input_writes
from minigraph.pregel.live import Changes, glimpse, hydrate
from minigraph.pregel.migrate import migrated
from minigraph.pregel.node import Write
from minigraph.pregel.pending import (
    apply_from_outside,
    by_command,
    finished_writes,
    held_answers,
    loose_answer,
    open_questions,
    outside_writes,
    stored_errors,
    stored_questions,
)
from minigraph.pregel.plan import Task, plan
from minigraph.pregel.progress import Part, Progress, node_names
from minigraph.pregel.update import TaskWrites, update
from minigraph.types import Command, Interrupt


class Beginning(Progress):
    """The first stretch of a run."""

    def load(self) -> Part:
        """Find the thread's place, or an empty one.

        Steps count from -1, the input's. A checkpoint that does not know its step, and the
        empty one of a new thread, stand at -2, one before it. The empty one is never stored;
        it gets an id because the ids of tasks are made from it. A graph in a task that keeps
        nothing begins anew each time; its tasks must have the same ids nevertheless, or an answer
        would not find them.
        """
        if self.request.has_saver:
            stored = migrated((yield from self.starting_point()))
            self.deltas = Deltas(self.layout, stored, self.request.keeps_last)
            self.loaded = yield from whole(self.layout, stored, self.environment.known, begins=True)
        self.state = hydrate(self.layout, self.loaded.checkpoint if self.loaded else None)
        if self.loaded is not None:
            self.checkpoint_id = self.loaded.checkpoint["id"]
            self.metadata = self.loaded.metadata
            self.parent_config = self.loaded.parent_config
            self.step = self.loaded.metadata.get("step", -2) + 1
        elif self.request.is_inner and not self.request.has_saver:
            self.checkpoint_id = self.namespace
            self.held = dict(self.request.held)
        else:
            self.checkpoint_id = self.environment.new_id(-2)
        self.config = at_checkpoint(self.config, self.checkpoint_id if self.loaded else None)
        self.last_step = self.step + self.limit + 1
        count_down(self.state.readable, self.layout.managed, self.limit + 1)

    def starting_point(self) -> Generator[Effect, Any, CheckpointTuple | None]:
        """The checkpoint that the run starts from: the one that is named, or the latest."""
        origin, replay = self.request.origin, self.replay
        first_visit = replay is not None and replay.is_first_visit(self.namespace)
        found: CheckpointTuple | None
        if origin is not None and origin.namespace in origin.ids:
            self.named = origin.ids[origin.namespace]
            found = yield Load(located(self.config, origin.namespace, self.named))
            return found
        if replay is not None and first_visit:
            self.went_back = True
            before = at_checkpoint(self.config, replay.before)
            cursor = yield Listing(self.config, None, before, 1)
            found = yield Advance(cursor)
            if found is not None:
                yield Advance(cursor)  # to its end, so that nothing stays open
            return found
        found = yield Load(self.config)
        return found

    def begin(self) -> Part:
        """Take in the input, or find what is still to be done.

        Four ways in, and here is all that tells them apart:
            input    the waiting tasks are given up, and the input is written (CP-51)
            replay   a checkpoint was named: a copy of it becomes the present (TT-02)
            resume   go on from the latest, with what its tasks have already written (CP-54)
            stuck    a resume whose writes cannot be applied: it starts from a copy instead
        A `Command` brings answers and writes of its own, whichever of the last three it is.
        """
        command = self.request.input if isinstance(self.request.input, Command) else None
        if not self.is_continuing():
            yield from self.take_input()
            return
        replaying = yield from self.is_replaying()
        yield from self.apply_stored()
        waiting = () if replaying else self.open_questions()
        brought = None if command is None else self.understood(command, waiting, replaying)
        if not (brought and brought[0]) and (yield from self.has_nothing_to_do(brought)):
            brought = None
        if brought is not None and brought[0]:
            # First of all: what a channel refuses must not be stored.
            changes = self.apply(brought[0])
            yield from self.warn_of_what_is_ignored(changes)
            if replaying:  # then it is not stored: the copy has it already
                self.deltas.loosen(changes.versions)
        self.pass_breakpoints()
        if self.named is not None and not self.request.is_inner and (replaying or command is None):
            self.replay = Replay(self.moment())
        if replaying:
            yield from self.fork()
        else:
            yield from self.recall()
        if brought is not None:
            yield from self.store_command(*brought)
        if not (replaying or waiting):
            yield from self.correct()
        if not replaying and self.is_stuck():
            yield from self.fork()
        yield from self.tell_values()

    def is_continuing(self) -> bool:
        """Whether this call goes on from a checkpoint instead of starting a run.

        It has no input (CP-52), or it says by its run id that it is the run which made the
        checkpoint (CP-53). A graph in a task goes on if that task does, and had called it before;
        and if it has a memory of its own, and has not come to an end.
        """
        if self.request.is_inner and self.request.input is not None:
            if self.request.answers is None or self.loaded is None or self.went_back:
                return False
            if self.named is not None or self.metadata.get("parents") == self.parents:
                return True
            return bool(self.next_tasks())
        if self.request.input is None or isinstance(self.request.input, Command):
            if not self.state.versions:
                return self.refuse_to_continue()
            return True
        mine = self.config.get("metadata", {}).get("run_id")
        theirs = self.loaded.metadata.get("run_id") if self.loaded is not None else None
        return mine is not None and mine == theirs

    def refuse_to_continue(self) -> bool:
        """There is nothing to go on from. Only a `Command` without an answer may start a run."""
        why = (
            "the thread has no checkpoint here"
            if self.request.has_saver
            else "the graph keeps no threads, because it has no checkpointer"
        )
        command = self.request.input
        if command is None:
            raise EmptyInputError(
                f"There is no input, and nothing to resume: {why}. Pass an input to start a run."
            )
        if command.resume is not None and not self.request.has_saver:
            raise RuntimeError(
                "Cannot use Command(resume=...) without checkpointer: the question is forgotten. "
                "Compile the graph with one, such as compile(checkpointer=InMemorySaver())."
            )
        if command.resume is not None:
            raise UnknownInterruptError(
                f"The answer {command.resume!r:.200} is for nobody: {why}. Is it the right thread?"
            )
        if ROOT in self.layout.channels:
            raise EmptyInputError(
                f"{command!r:.200} cannot start a run: {why}, and a state that is a single value "
                "needs an input."
            )
        return False

    def is_replaying(self) -> Generator[Effect, Any, bool]:
        """Whether the call names a checkpoint in order to run from it again.

        The newest checkpoint of a thread may be named and still be resumed, if it was made in
        order to be run from, by an update or a fork (TT-06); or with an answer (TT-22).
        """
        if self.loaded is None or self.named is None:
            return False
        if self.is_elsewhere():
            return True
        made_for_it = self.loaded.metadata.get("source") in ("update", "fork")
        command = self.request.input
        answers = isinstance(command, Command) and command.resume is not None
        answers = answers or bool(self.request.answers)  # of an inner graph, by way of the root
        if not made_for_it and not answers:
            return True
        latest = yield Load(at_checkpoint(self.config, None))
        return latest is not None and latest.checkpoint["id"] != self.checkpoint_id

    def moment(self) -> str:
        """The checkpoint at whose time graphs with a memory are to be, in a run that goes back: the
        one that is named, or what that was made of, if it is an update or a copy.
        """
        made = self.metadata.get("source") in ("update", "fork")
        then = self.parent_config if made else None
        return str((then or self.config)["configurable"]["checkpoint_id"])

    def is_elsewhere(self) -> bool:
        """Whether the run starts from another namespace: when that was, its task had another id."""
        return self.request.origin is not None and self.request.origin.namespace != self.namespace

    def pass_breakpoints(self) -> None:
        """A breakpoint holds when something is newer than this note (IN-50, IN-51)."""
        self.state.seen[INTERRUPT] = dict(self.state.versions)

    def recall(self) -> Part:
        """What tasks of the present super-step have done before."""
        self.finished = finished_writes(self.loaded)
        self.errors = stored_errors(self.loaded)
        self.held = held_answers(self.loaded)
        if not self.request.is_inner:
            self.loose = loose_answer(self.loaded)
        yield from self.hand_on(self.request.answers or NOTHING)

    def hand_on(self, answers: Mapping[str, Any]) -> Part:
        """Find the tasks that these answers are for; graphs in them will do the same."""
        tasks = self.next_tasks()
        found: dict[str, dict[str, Any]] = {}
        waiting = [*open_questions(self.loaded, tasks)]
        for task, questions in waiting:
            if mine := {each.id: answers[each.id] for each in questions if each.id in answers}:
                found[task.id] = mine
        edited = self.request.is_inner and self.metadata.get("source") in ("update", "fork")
        if edited and answers and not waiting:
            found = yield from self.answers_before_the_edit(tasks, answers)
        elif answers and not found and (yield from self.asked_before(answers)):
            yield Warn(
                f"An answer has come to the graph at {self.namespace!r} for a question that was "
                "answered before. It has no effect."
            )
        self.resumption = Resumption(found, self.origins(tasks))

    def asked_before(self, ids: Collection[str]) -> Generator[Effect, Any, bool]:
        """Whether one of these questions was asked in here, since the task around this graph began.

        The answers of a task come to all graphs in it, and most likely this one is not meant.
        """
        saved = self.loaded
        while saved is not None and saved.metadata.get("parents") == self.parents:
            for questions in stored_questions(saved).values():
                if any(each.id in ids for each in questions):
                    return True
            saved = (yield Load(saved.parent_config)) if saved.parent_config else None
        return False

    def answers_before_the_edit(
        self, tasks: Sequence[Task], answers: Mapping[str, Any]
    ) -> Generator[Effect, Any, dict[str, dict[str, Any]]]:
        """A graph that was edited while it waited has forgotten its questions, though the graph
        around it has not. Find the tasks that had asked them; the same nodes will ask again.

        Where that cannot be told, one answer is for whoever asks first; of several, none is given
        to somebody who may not have been meant.
        """
        config, saved = self.parent_config, self.loaded
        while config is not None and not stored_questions(saved):
            saved = migrated((yield Load(config)))
            config = None if saved is None else saved.parent_config
        found: dict[str, dict[str, Any]] = {}
        known: set[str] = set()
        if saved is not None:
            step, id = saved.metadata.get("step", -2) + 1, saved.checkpoint["id"]
            then = plan(
                self.layout, glimpse(self.layout, saved.checkpoint), id, step, self.namespace
            )
            asked = {interrupt_id(task.namespace, 0): task.path for task in then}
            now = {task.path: task for task in tasks}
            known = answers.keys() & asked.keys()
            for old in known:
                if (task := now.get(asked[old])) is not None:
                    found[task.id] = {interrupt_id(task.namespace, 0): answers[old]}
        if len(answers) == 1 and not known:
            self.loose = LooseAnswer(*answers.values())
        elif len(found) < len(answers):
            yield Warn(
                f"The graph at {self.namespace!r} was edited after it had asked, and some of the "
                "answers cannot be told to belong to what it asks now. They have no effect."
            )
        return found

    def origins(
        self, tasks: Sequence[Task], then: Mapping[Any, str] = NOTHING
    ) -> dict[str, Origin]:
        """Where the graphs in these tasks start from, if the call names a point inside of one.

        `then`: by the path of a task, where it stood when its graph made that checkpoint.
        """
        if self.request.origin is None:
            return {}
        ids = self.request.origin.ids
        return {task.id: Origin(then.get(task.path, task.namespace), ids) for task in tasks}

    def open_questions(self) -> list[tuple[str, Interrupt]]:
        """The questions that wait for an answer, each with the name of the node that asked."""
        tasks = self.next_tasks() if stored_questions(self.loaded) else ()
        return [
            (task.name, question)
            for task, questions in open_questions(self.loaded, tasks)
            for question in questions
        ]

    def understood(
        self, command: Command[Any], waiting: Sequence[tuple[str, Interrupt]], replaying: bool
    ) -> tuple[list[Write], Any, Mapping[str, Any] | None]:
        """What a `Command` brings: writes, an answer, and whose it is.

        Raises for what it cannot mean, while nothing is stored yet.
        """
        writes = command_writes(command, self.layout.updates_of)
        if command.resume is None:
            if not writes and command.update is None and not command.goto:
                raise EmptyInputError(
                    "The Command is empty: give it an answer (resume; None is none), an update, or "
                    "somewhere to go (goto)."
                )
            return writes, None, {}
        if replaying:
            check_in_the_past(command.resume, stored_questions(self.loaded))
        if not waiting and not replaying and len(failed := self.failed_with_answers()) > 1:
            raise UnknownInterruptError(
                f"The answer {command.resume!r:.200} is for nobody in particular: no question "
                f"waits, and {sorted(task.name for task in failed)} have failed with the answers "
                "that they had. Try them again with invoke(None, config); or have all asked anew "
                "with invoke(None, graph.get_state(config).config)."
            )
        return writes, command.resume, aimed(command.resume, waiting)

    def has_nothing_to_do(
        self, brought: tuple[Any, Any, Mapping[str, Any] | None] | None
    ) -> Generator[Effect, Any, bool]:
        """Whether nothing is left to run, though somebody expects it: he has answered, or the
        thread waits at a node that this graph does not have, as after renaming it. The log is told.
        """
        answer = None if brought is None or brought[1:] == (None, {}) else brought[1]
        stored = self.loaded.checkpoint["channel_values"] if self.loaded is not None else ()
        lost = [
            name.removeprefix(BRANCH_PREFIX)
            for name in stored
            if name not in self.layout.channels and name.startswith(BRANCH_PREFIX)
        ]
        if (answer is None and not lost) or self.next_tasks():
            return False
        what = "Nothing runs" if answer is None else f"The answer {answer!r:.200} is for nobody"
        why = "has come to its end"
        if lost:
            nodes, there = ", ".join(map(repr, lost)), node_names(self.layout.nodes)
            why = f"waits at {nodes}, which this graph does not have; there are {there}"
        thread = self.config.get("configurable", {}).get("thread_id")
        yield Warn(f"{what}: thread {thread!r} {why}.")
        return True

    def failed_with_answers(self) -> list[Task]:
        """The tasks that have failed although, or because, they had been answered."""
        errors, held = stored_errors(self.loaded), held_answers(self.loaded)
        if not errors or not held:
            return []
        return [task for task in self.next_tasks() if task.id in errors and held.get(task.id)]

    def correct(self) -> Part:
        """An answer has come, and nobody waits for one; but a task has failed with what it had been
        told. So this is meant to be better: it takes the place of the last one."""
        failed = self.failed_with_answers()
        if len(failed) != 1 or self.loose is None or (answer := self.loose.take()) is MISSING:
            return
        id = failed[0].id
        self.held[id] = [*self.held[id][:-1], answer]
        if self.request.has_saver or self.request.is_inner:
            effect = SaveWrites(self.config, ((RESUME, self.held[id]),), id, "")
            yield from self.save_said("The answer", answer, effect)

    def store_command(
        self, writes: list[Write], answer: Any, aims: Mapping[str, Any] | None
    ) -> Part:
        """Store what a `Command` brings, as writes of nobody's, and hand its answers on (CS-11)."""
        if aims:
            self.loose = None
            yield from self.hand_on(aims)
        elif aims is None:
            self.loose = LooseAnswer(answer)
        before = outside_writes(self.loaded)
        if self.checkpoint_id != (self.loaded and self.loaded.checkpoint["id"]):
            stored = []  # a copy was made for it, and that has these writes already
        else:
            stored = [*before, *([(NO_WRITES, None)] if before and writes else ()), *writes]
            if self.deltas.keeps_last:  # its pieces come under another id, so these are there twice
                self.deltas.loosen(name for name, _ in before)
        if answer is not None and not is_map_of_answers(answer):
            stored.append((RESUME, answer))
        if stored and self.request.has_saver:
            effect = SaveWrites(self.config, stored, NULL_TASK_ID, "")
            if writes:  # the error's note says which of them it is
                yield effect
            else:
                yield from self.save_said("The answer", answer, effect)

    def apply(self, writes: Sequence[Write]) -> Changes:
        """Apply the writes of a Command to the present state."""
        next_version = self.environment.next_version
        changes = apply_from_outside(self.layout, self.state, writes, next_version)
        self.unsaved_versions.update(changes.versions)
        return changes

    def apply_stored(self) -> Part:
        """Apply what Commands have brought before, and what is kept beside the checkpoint."""
        if self.metadata.get("source") == "input":  # then it has started the run, see `take_input`
            self.late = [each for each in outside_writes(self.loaded) if each[0] != NO_WRITES]
            return
        for writes in by_command(outside_writes(self.loaded)):
            try:
                self.apply(writes)
            except Exception as error:  # it was not stored by this machine, or not by this graph
                self.deltas.loosen(name for name, _ in writes)
                yield Warn(
                    f"A stored update from outside cannot be applied, and is left out: {error!r}"
                )

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
        then: Mapping[Any, str] = NOTHING
        if self.request.origin is not None:
            stood = self.request.origin.namespace
            then = {task.path: task.namespace for task in self.next_tasks(stood)}
        if self.is_elsewhere():
            # Its past is not in this namespace, so no value of it is there either.
            self.config = at_checkpoint(self.config, None)
            self.unsaved_versions = dict(self.state.versions)
        elif self.replay is None and not self.request.is_inner:
            self.replay = Replay(self.checkpoint_id)
        self.finished = {}
        self.errors = {}
        self.held = {}
        updated, self.state.updated = self.state.updated, None
        self.deltas.loosen(self.layout.deltas)
        yield from self.save("fork")
        self.state.updated = updated
        self.deltas.loosen(name for name, _ in self.late)  # they are stored beside the original
        self.step += 1
        self.resumption = Resumption(NOTHING, self.origins(self.next_tasks(), then))

    def take_input(self) -> Part:
        """Turn the input into writes, apply them, and save the first checkpoint of the run."""
        yield from self.apply_stored()
        input = self.request.input
        late: list[Write] = []
        if isinstance(input, Command):  # it counts together with what START does (CS-12)
            late, input = command_writes(input, self.layout.updates_of), {}
        elif self.layout.check_input is not None:
            self.layout.check_input(input, self.state)
        writes = input_writes(self.layout.input_channels, input)
        if not writes:
            raise EmptyInputError(
                f"The input has no key of {list(self.layout.input_channels.names)}, so it would "
                "start nothing."
            )
        self.state.updated = None  # ask every node, so that none of the waiting is overlooked
        done = [TaskWrites(task.path, task.name, (), task.triggers) for task in self.next_tasks()]
        if done:  # somebody may be at work on them
            self.deltas.loosen(self.layout.deltas)
        done.append(TaskWrites((), INPUT, writes, ()))
        changes = update(self.layout, self.state, done, self.environment.next_version)
        self.state.absorb(changes)
        self.unsaved_versions.update(changes.versions)
        self.deltas.loosen(changes.versions)  # by the input itself, which is not stored as a write
        if self.request.has_saver:
            yield from self.save("input")
            if late:
                yield SaveWrites(self.config, late, NULL_TASK_ID, "")
        self.late = late
        self.step += 1
