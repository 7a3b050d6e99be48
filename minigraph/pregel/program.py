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

A call without an input, or with a `Command`, *continues*: it replays a checkpoint that it
names, or *resumes* the latest. These are not two more machines: they differ in where `begin`
starts from, and the loop does not know which of them it is in.

A graph in a node of a graph is a run of its own, with a program and a driver. What it has to know
of the run around it, it is told in its `Request`.

The generator's return value is the result of the run. With the same functions in the
`Environment`, the same scenario can be run twice to the same bytes.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NoReturn

from minigraph.constants import (
    ERROR,
    ERROR_SOURCE_NODE,
    INTERRUPT,
    LEVEL_SEPARATOR,
    MISSING,
    RESUME,
    TASKS,
)
from minigraph.errors import (
    ErrorCode,
    GraphRecursionError,
    InvalidUpdateError,
    ParentCommand,
    add_note,
    message_with_code,
)
from minigraph.failures import GraphDrained
from minigraph.pregel.beginning import Beginning
from minigraph.pregel.calls import Called, called_task
from minigraph.pregel.effects import (
    NEXT,
    NOTHING,
    Asked,
    Cancel,
    Effect,
    Emit,
    Failed,
    Finished,
    Late,
    Program,
    Reply,
    SaveWrites,
    Start,
    Stopped,
    View,
    Warn,
)
from minigraph.pregel.events import task_result_event
from minigraph.pregel.handlers import handler_task, hands_over
from minigraph.pregel.identity import interrupt_id, without_ids
from minigraph.pregel.interrupts import Resumption, holds
from minigraph.pregel.layout import Layout
from minigraph.pregel.node import Write
from minigraph.pregel.pending import stored_questions
from minigraph.pregel.plan import Task
from minigraph.pregel.progress import Part
from minigraph.pregel.request import Environment, Request
from minigraph.types import Command, Interrupt, new_record


def run(layout: Layout, request: Request, environment: Environment) -> Program:
    """One run, as a generator of effects that returns the run's result.

    It returns a `Paused` if it has stopped for people. Raises what a node raises, and
    `EmptyInputError`, `GraphRecursionError`, `InvalidUpdateError` and, for answers that nobody
    waits for, `UnknownInterruptError` and `RuntimeError` on its own account. Whatever it raises,
    what was finished before is stored, and the thread can be read and continued.
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
            yield from machine.stop_at_breakpoint()
            break
        if machine.step > machine.last_step:
            machine.give_up()
        if not tasks:
            break
        if request.control is not None and (reason := request.control.drain_reason) is not None:
            raise GraphDrained(reason)
        if request.stop_before and holds(request.stop_before, tasks, machine.state):
            yield from machine.stop_at_breakpoint()
            break
        yield from machine.super_step(tasks)
        if machine.paused:
            break
        ran = tasks
    return machine.result()


class Run(Beginning):
    """A run, super-step by super-step."""

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
        if (
            self.request.is_inner
            and not self.request.has_saver
            and self.request.answers is not None
        ):
            # It remembers nothing, but it does the same again, so its questions have the same ids.
            to_all = dict.fromkeys(waiting, self.request.answers)
            self.resumption = Resumption(to_all, {})
        if self.resumption is not None and self.resumption.answers:
            yield from self.hand_out(waiting, self.resumption.answers)
        failure: BaseException | None = None
        try:
            if waiting:
                about = (self.request.context, self.held, self.resumption, self.loose, self.replay)
                view = new_record(View, (self.config, self.step, self.state, None, *about))
                yield new_record(Start, ([*waiting.values()], view))
            while waiting and (outcome := (yield NEXT)) is not None:
                if isinstance(outcome, Called):
                    yield from self.take_call(outcome, waiting)
                    continue
                if isinstance(outcome, Late):
                    failure = failure or outcome.error
                    yield Cancel(wait=True)
                    continue
                task = self.ended(waiting, outcome)
                if (
                    isinstance(outcome, Finished)
                    and not (self.keeps_records or outcome.answers)
                    and task.id not in self.calls
                ):
                    self.finished[task.id] = outcome.writes
                    continue
                error = yield from self.take_outcome(task, outcome)
                if task.id in self.calls:
                    told = outcome if error is None else Failed(task.id, error)
                    for reply in self.calls.pop(task.id):
                        yield Reply(reply, told)
                elif error is not None and task.id in self.finished:
                    handler = handler_task(self.layout, task, error)
                    tasks.append(handler)
                    if failure is None:
                        waiting[handler.id] = handler
                        yield Start([handler], view)
                elif error is not None and failure is None:
                    failure = error
                    yield Cancel(wait=True)
        except Stopped:
            yield from self.stop(tasks, waiting)
            raise
        if failure is not None:
            raise failure
        if self.drained is not None:
            raise self.drained
        if waiting:
            names = sorted(task.name for task in waiting.values())
            raise RuntimeError(
                f"The driver answered Next with None, but these tasks have not ended: {names}. "
                "Answer with a Finished or a Failed for each task of Start."
            )
        if self.upward:
            raise ParentCommand(*self.upward)
        if self.paused:
            yield from self.pause(tasks)
        else:
            yield from self.complete(tasks)

    def take_call(self, called: Called, waiting: dict[str, Task]) -> Part:
        """A task has called another: run that, or give the result that it has had before."""
        caller = waiting[called.task_id]
        task = called_task(caller, called, self.checkpoint_id, self.step, self.namespace)
        if (writes := self.finished.get(task.id)) is not None:
            yield Reply(called.reply, Finished(task.id, writes))
            return
        if task.id in self.calls:  # another attempt of its caller has called it, and it runs
            self.calls[task.id].append(called.reply)
            return
        waiting[task.id] = task
        self.calls[task.id] = [called.reply]
        if self.tells_ends:
            yield from self.tell_start([task])
        if self.resumption is not None:
            # What has come for the caller may be for this one, or for a graph in it.
            mine = self.resumption.answers.get(called.task_id, NOTHING)
            answers = {**self.resumption.answers, task.id: mine}
            self.resumption = self.resumption._replace(answers=answers)
            yield from self.hand_out({task.id: task}, {task.id: mine})
        about = (self.request.context, self.held, self.resumption, self.loose, self.replay)
        yield Start([task], View(self.config, self.step, self.state, None, *about))

    def hand_out(self, tasks: Mapping[str, Task], answers: Mapping[str, Mapping[str, Any]]) -> Part:
        """Give these tasks the answers to their own questions, before they run again."""
        for id, mine in answers.items():
            before = self.held.get(id, ())
            held = [*before]
            while (question := interrupt_id(tasks[id].namespace, len(held))) in mine:
                held.append(mine[question])
            if len(held) > len(before):
                self.held[id] = held
                yield from self.save_answers({id: held})

    def save_answers(self, answers: Mapping[str, Sequence[Any]]) -> Part:
        """Store the answers that tasks have got, by task id. Where nothing is stored, the task
        around this graph keeps them."""
        if self.request.has_saver or self.request.is_inner:
            for id, held in answers.items():
                effect = SaveWrites(self.config, ((RESUME, held),), id, "")
                yield from self.save_said("The answer", held[-1] if held else None, effect)

    def ended(self, waiting: dict[str, Task], outcome: Any) -> Task:
        """The task that an answer to Next is about. A person may be the driver, and err."""
        if (isinstance(outcome, Finished) and outcome.writes is not None) or isinstance(
            outcome, (Failed, Asked)
        ):
            task = waiting.pop(outcome.task_id, None)
            if task is not None:
                return task
        raise TypeError(
            f"Next was answered with {outcome!r:.200}; expected a Finished, with a list of "
            f"writes, an Asked or a Failed, for one of the task ids {list(waiting)}."
        )

    def take_outcome(
        self, task: Task, outcome: Finished | Asked | Failed
    ) -> Generator[Effect, Any, BaseException | None]:
        """Store what became of a task, and tell it. Returns its error, if it has one.

        A task whose writes cannot be stored has failed like one that raised (CP-54). One that has
        failed counts as finished if it has a handler, whose turn it is then (ER-31).
        """
        error: BaseException
        try:
            if outcome.answers:
                yield from self.save_answers(outcome.answers)
            if isinstance(outcome, Finished):
                if self.request.has_saver and (effect := self.writes_saved(task, outcome.writes)):
                    yield effect
                self.finished[task.id] = outcome.writes
                if self.tells_ends:
                    yield from self.tell_end(task, outcome.writes, cached=outcome.cached)
                return None
            if isinstance(outcome, Asked):
                if task.id in self.calls:  # whoever has called it asks in its place
                    if self.request.has_saver:
                        yield self.stored(task, ((INTERRUPT, [*outcome.interrupts]),))
                    return None
                yield from self.take_questions(task, outcome.interrupts)
                return None
            error = outcome.error
        except Stopped:
            raise
        except Exception as problem:
            error = problem
        if isinstance(error, ParentCommand):
            unknown = self.unknown_graph(error.args)
            if unknown is None:
                if task.id not in self.calls:  # else whoever has called it is told
                    self.upward += error.args
                return None
            error = unknown
        if isinstance(error, GraphDrained):
            self.drained = None if task.id in self.calls else error
            return None
        add_note(error, f"During task with name {task.name!r} and id {task.id!r}")
        writes: tuple[Write, ...] = ((ERROR, error), *self.still_open(task))
        handled = isinstance(outcome, Failed) and hands_over(task, error)
        if handled:
            writes += ((ERROR_SOURCE_NODE, task.name),)
        if self.request.has_saver:
            try:
                yield self.stored(task, writes)
            except Stopped:
                raise
            except Exception as problem:
                # The run fails anyway; what matters is that its siblings are still taken in.
                add_note(error, f"This error could not be stored: {problem!r}")
                handled = False
        if handled:
            self.finished[task.id] = writes
        if self.tells_ends:
            yield from self.tell_end(task, (), error)
        return error

    def unknown_graph(self, commands: Sequence[Any]) -> InvalidUpdateError | None:
        """What to say if one of these Commands names a graph that is none around this (CS-22)."""
        levels = self.namespace.split(LEVEL_SEPARATOR)
        around = [without_ids(level) for level in levels if level and not level.isdigit()]
        for command in commands:
            name = without_ids(str(command.graph)).rpartition(LEVEL_SEPARATOR)[2]
            if command.graph not in (None, Command.PARENT) and name not in around:
                there = (
                    f"a graph is named by its node that leads here, and there are {around}; the "
                    "next one is Command.PARENT"
                    if around
                    else "there is none around this one"
                )
                return InvalidUpdateError(f"{command!r:.200} is for no graph: {there}.")
        return None

    def still_open(self, task: Task) -> Sequence[Write]:
        """What is to be stored of a task's old questions, if it ends without an end: those that
        have not been answered meanwhile."""
        asked = stored_questions(self.loaded).get(task.id)
        if not asked or self.resumption is None:
            return ()
        answered = self.resumption.answers.get(task.id, NOTHING)
        left = [each for each in asked if each.id not in answered]
        return ((INTERRUPT, left),) if len(left) < len(asked) else ()

    def take_questions(self, task: Task, questions: Sequence[Interrupt]) -> Part:
        """A task has stopped to ask: store its questions, and tell them (IN-06, IN-21 to IN-23).

        Its siblings go on; the run will stop at the end of the super-step.
        """
        if self.request.has_saver and questions:
            effect = self.stored(task, ((INTERRUPT, [*questions]),))
            yield from self.save_said("The question", questions[-1].value, effect)
        self.paused = True
        self.interrupts += questions
        if questions and not self.has_output:
            self.has_output, self.output = True, self.present_output()
        if self.stopped or not questions:
            return
        if self.tells_updates:
            yield Emit("updates", {INTERRUPT: tuple(questions)})
        if self.tells_values:
            yield Emit("values", self.present_output(), (), tuple(questions))
        if self.tells_tasks:
            event = task_result_event(task, (), self.layout.stream_channels, None, questions)
            yield from self.tell("tasks", "task_result", event)

    def pause(self, tasks: list[Task]) -> Part:
        """End the run in the middle of a super-step. What it has done so far is shown in its
        result, and stored with the tasks; but no checkpoint is made (IN-06, IN-24)."""
        done = [task for task in tasks if task.id in self.finished]
        if done:
            try:
                changes = self.changes_of(done)
            except Exception:
                pass  # it will be told when the super-step is complete
            else:
                self.state.absorb(changes)
                news = not self.request.output.members.isdisjoint(changes.updated)
                # What an inner run has, the task around it tells when it ends.
                if news and not self.request.is_inner:
                    yield from self.tell_values()
        if not self.interrupts:
            yield from self.tell_breakpoint()

    def stop(self, tasks: list[Task], waiting: dict[str, Task]) -> Part:
        """Somebody left: keep what is finished, and wait for nothing (ST-30)."""
        self.stopped, failed = True, False
        yield Cancel(wait=False)
        while waiting and (outcome := (yield NEXT)) is not None:
            if isinstance(outcome, Called):
                continue  # nobody begins anything any more
            error = yield from self.take_outcome(waiting.pop(outcome.task_id), outcome)
            failed = failed or error is not None
            if error is not None and isinstance(outcome, Finished):
                raise error  # finished work could not be stored, and whoever leaves must know
        if not (self.upward or failed) and all(task.id in self.finished for task in tasks):
            yield from self.complete(tasks)
        for task in waiting.values() if self.request.has_saver else ():
            if writes := self.still_open(task):
                yield self.stored(task, writes)

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
        self.late = ()
        if self.request.has_saver:
            if self.resumption is not None:
                self.held, self.resumption = {}, None
                if not self.request.is_inner:  # else the super-step around it is still the same
                    left, self.loose = self.loose, None
                    if left is not None and (answer := left.take()) is not MISSING:
                        yield Warn(
                            f"The answer {answer!r:.200} is for nobody: nobody has asked. The run "
                            "goes on without it."
                        )
            save = self.checkpoint_saved("loop", tasks)
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
