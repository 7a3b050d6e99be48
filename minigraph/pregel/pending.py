"""What is stored beside a checkpoint, read back.

While a super-step goes on, its tasks' doings are stored as *pending writes* of the checkpoint that
it started from: (task id, channel, value). Most are writes to the state, and a task that has some
has finished. Others are about the task itself, under names that no channel can have:

    __error__        why it failed
    __interrupt__    its questions
    __resume__       the answers that it has got, in order

Some belong to no task: what a `Command` has brought from outside. Whoever goes on from the
checkpoint, or only looks at it, asks here what was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from minigraph.checkpoint.base.records import CheckpointTuple, PendingWrite
from minigraph.constants import ERROR, INPUT, INTERRUPT, NO_WRITES, NULL_TASK_ID, RESUME
from minigraph.pregel.identity import interrupt_id
from minigraph.pregel.interrupts import Loose, LooseAnswer
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import Changes, LiveState, Version
from minigraph.pregel.node import Write
from minigraph.pregel.plan import Task
from minigraph.pregel.update import TaskWrites, update
from minigraph.types import Interrupt


def pending(saved: CheckpointTuple | None) -> Iterable[PendingWrite]:
    """What is stored beside a checkpoint."""
    return (saved and saved.pending_writes) or ()


def stored_errors(saved: CheckpointTuple | None) -> dict[str, Any]:
    """The errors of tasks that have failed, by task id (CP-22)."""
    return {id: value for id, channel, value in pending(saved) if channel == ERROR}


def stored_questions(saved: CheckpointTuple | None) -> dict[str, Sequence[Interrupt]]:
    """The questions that tasks have asked, by task id, answered or not (IN-06)."""
    return {id: value for id, name, value in pending(saved) if name == INTERRUPT and value}


def held_answers(saved: CheckpointTuple | None) -> dict[str, Sequence[Any]]:
    """The answers that tasks have got, by task id (IN-33)."""
    return {
        id: value for id, name, value in pending(saved) if name == RESUME and id != NULL_TASK_ID
    }


def outside_writes(saved: CheckpointTuple | None) -> list[Write]:
    """The writes of nobody's, which a `Command` from outside has brought (CS-11)."""
    return [(name, v) for id, name, v in pending(saved) if id == NULL_TASK_ID and name != RESUME]


def by_command(writes: Iterable[Write]) -> list[list[Write]]:
    """The same, Command by Command: between two of them stands a write of nothing.

    >>> by_command([("x", 1), ("__no_writes__", None), ("x", 2), ("y", 3)])
    [[('x', 1)], [('x', 2), ('y', 3)]]
    """
    groups: list[list[Write]] = [[]]
    for write in writes:
        if write[0] == NO_WRITES:
            groups.append([])
        else:
            groups[-1].append(write)
    return [group for group in groups if group]


def loose_answer(saved: CheckpointTuple | None) -> Loose | None:
    """An answer that was stored, and that nobody had asked for; if no task has come to it yet.

    The run that brought it has been killed.
    """
    about = {(id == NULL_TASK_ID, name): value for id, name, value in pending(saved)}
    if (True, RESUME) not in about or (False, RESUME) in about or (False, INTERRUPT) in about:
        return None
    return LooseAnswer(about[True, RESUME])


def open_questions(
    saved: CheckpointTuple | None, tasks: Iterable[Task]
) -> Iterator[tuple[Task, Sequence[Interrupt]]]:
    """Those of these tasks that wait for answers, each with its questions."""
    done, held, asked = finished_writes(saved), held_answers(saved), stored_questions(saved)
    for task in tasks:
        if task.id not in done:
            waiting = unanswered(task, asked.get(task.id, ()), held.get(task.id, ()))
            if waiting:
                yield task, waiting


def unanswered(task: Task, questions: Iterable[Interrupt], held: Sequence[Any]) -> list[Interrupt]:
    """Those of a task's questions that wait for an answer."""
    answered = {interrupt_id(task.namespace, index) for index in range(len(held))}
    return [question for question in questions if question.id not in answered]


def finished_writes(saved: CheckpointTuple | None) -> dict[str, Sequence[Write]]:
    """The writes of tasks that have finished, from what is stored beside a checkpoint.

    A task has finished when it wrote something that is not about itself (CP-21).
    """
    writes: dict[str, list[Write]] = {}
    for task_id, channel, value in pending(saved):
        if channel not in (ERROR, INTERRUPT, RESUME) and task_id != NULL_TASK_ID:
            writes.setdefault(task_id, []).append((channel, value))
    return dict(writes)


def apply_from_outside(
    layout: Layout,
    state: LiveState,
    writes: Sequence[Write],
    next_version: Callable[[Version | None], Version],
) -> Changes:
    """Apply the writes of one Command, before anything is planned (CS-11).

    No checkpoint is made for that. They are kept beside the one that is there, and so they are
    applied whenever it is loaded. Returns what they changed; whoever waited, waits still. Raises
    what a channel raises, and then nothing has changed.
    """
    before = state.updated
    changes = update(layout, state, [TaskWrites((), INPUT, writes, ())], next_version)
    state.absorb(changes)
    state.updated = None if before is None else before | changes.updated
    return changes
