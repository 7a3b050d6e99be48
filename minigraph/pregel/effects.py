"""The vocabulary between the program and its driver.

The program decides and never acts; a driver acts and never decides. The program yields
one of the *effects* below and stops; the driver performs it and sends back an answer:

    program                                   driver
    ───────                                   ──────
    yield Load(config)              ──▶       saver.get_tuple(config)
                     CheckpointTuple, None ◀──
    yield Start(tasks, view)        ──▶       sets them going
    yield Next()                    ──▶       waits for one of them
           Finished, Asked, Failed, None ◀──
    yield SaveWrites(…)             ──▶       saver.put_writes(…)
    yield Save(…)                   ──▶       saver.put(…)
    yield Emit(mode, payload)       ──▶       hands it to whoever reads the stream

Effects and answers are plain, frozen data, with one exception: the `state` in a `View` is
the live one, not a copy, and the tasks only read it. So anything can be a driver: threads, an
event loop, a dictionary of prepared answers, a person in a REPL, or a driver that dies on
purpose at the k-th effect. An effect that could not be performed comes back as the
exception it raised, thrown into the program at the place where it waits.

What is durable when the program goes on: after `SaveWrites` the writes of that task, after
`Save` that checkpoint. How soon that is true (at once, in the background, at the end) is
the driver's to promise; the program only relies on the order.

A task that calls another task is one more kind of answer to `Next`, see `calls`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from minigraph.checkpoint.base.records import Checkpoint, CheckpointMetadata
from minigraph.pregel.interrupts import Loose, Replay, Resumption
from minigraph.pregel.live import LiveState, Version
from minigraph.pregel.node import Write
from minigraph.pregel.plan import Task
from minigraph.types import Interrupt, RunnableConfig

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class View(NamedTuple):
    """What the tasks of a super-step may see of the run. They read it and change nothing.

    Fields:
        config: the run's config.
        step: the super-step's number.
        state: the state from which the super-step starts: the program's own `LiveState`,
            which does not change until the tasks have ended.
        results: what each task is to be treated as having returned, by task id, in place of
            calling its function: an update from outside is such a task.
        context: what the caller gave for the nodes to know (MR-04).
        held: the answers that tasks have already, by task id.
        resumption: what else comes with a super-step that the run goes on with; None for others.
        loose: an answer for whoever asks first.
        replay: set if the run goes back in time.
    """

    config: RunnableConfig
    step: int
    state: LiveState
    results: Mapping[str, Any] | None = None
    context: Any = None
    held: Mapping[str, Sequence[Any]] = NOTHING
    resumption: Resumption | None = None
    loose: Loose | None = None
    replay: Replay | None = None


# ---------------------------------------------------------------- effects


class Load(NamedTuple):
    """Fetch the checkpoint that `config` addresses. Answer: a `CheckpointTuple`, or None."""

    config: RunnableConfig


class LoadPieces(NamedTuple):
    """Fetch what is stored in pieces of these channels, on the way to the checkpoint that `config`
    addresses. Answer: channel → `DeltaChannelHistory`.

    `known` are values at checkpoints that may be on the way, by id; no need to go back further.
    """

    config: RunnableConfig
    channels: Sequence[str]
    known: Mapping[str, Mapping[str, Any]] = NOTHING


class Listing(NamedTuple):
    """Open a list of checkpoints, newest first. Answer: a cursor, to be given to `Advance`."""

    config: RunnableConfig
    filter: dict[str, Any] | None = None
    before: RunnableConfig | None = None
    limit: int | None = None


class Advance(NamedTuple):
    """Fetch the cursor's next checkpoint. Answer: a `CheckpointTuple`, or None at the end."""

    cursor: Any


class Start(NamedTuple):
    """Set these tasks going. Answer: nothing; their outcomes are answers to `Next`."""

    tasks: Sequence[Task]
    view: View


class Next(NamedTuple):
    """Wait for one task to end. Answer: `Finished`, `Asked`, `Failed`, or None if none is left.

    While it waits, the driver passes on what tasks tell the reader of the stream: that is no
    answer, and the program does not hear of it.
    """


NEXT: Final = Next()
"""All are equal, so one is enough."""


class Reply(NamedTuple):
    """Tell a task what has become of the task that it called. Answer: nothing.

    `to` is what came with the call, see `calls`.
    """

    to: Any
    outcome: Finished | Asked | Failed


class Cancel(NamedTuple):
    """Start no further task. Answer: nothing; `Next` still tells of those that end.

    With ``wait`` the driver waits, at `Next`, for tasks that cannot be cancelled (threads);
    without, it answers None as soon as nothing more has ended.
    """

    wait: bool


class SaveWrites(NamedTuple):
    """Store what a task wrote, beside the checkpoint that `config` addresses. Answer: nothing."""

    config: RunnableConfig
    writes: Sequence[Write]
    task_id: str
    task_path: str


class Save(NamedTuple):
    """Store a checkpoint. The `checkpoint_id` in `config` is its parent. Answer: nothing.

    `new_versions` are the channels that moved since the previous checkpoint of this run.
    """

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new_versions: dict[str, Version]


class Emit(NamedTuple):
    """Tell the reader of the stream. Answer: nothing.

    Fields:
        mode, payload: see `events`.
        namespace: of the graph that tells, level by level; empty for the run's own.
        interrupts: the questions that go with a chunk of values (IN-22).
    """

    mode: str
    payload: Any
    namespace: tuple[str, ...] = ()
    interrupts: tuple[Interrupt, ...] = ()


class Warn(NamedTuple):
    """Tell the log. Answer: nothing."""

    message: str


Effect: TypeAlias = (
    Load
    | LoadPieces
    | Listing
    | Advance
    | Start
    | Next
    | Reply
    | Cancel
    | SaveWrites
    | Save
    | Emit
    | Warn
)

Program: TypeAlias = Generator[Effect, Any, Any]
"""What a driver drives."""


# ---------------------------------------------------------------- answers to Next


class Finished(NamedTuple):
    """A task ended well, with these writes.

    `answers`, here and below, are what tasks have been answered, by task id, as far as the program
    does not know it: this task, and those of graphs in it that keep nothing. `cached`: it was not
    run, its writes were known.
    """

    task_id: str
    writes: Sequence[Write]
    answers: Mapping[str, Sequence[Any]] = NOTHING
    cached: bool = False


class Asked(NamedTuple):
    """A task has stopped to ask; without a question, if a graph in it stopped at a breakpoint."""

    task_id: str
    interrupts: Sequence[Interrupt]
    answers: Mapping[str, Sequence[Any]] = NOTHING


class Failed(NamedTuple):
    """A task ended with an exception."""

    task_id: str
    error: BaseException
    answers: Mapping[str, Sequence[Any]] = NOTHING


class Late(NamedTuple):
    """No task has ended, but the super-step takes longer than its `step_timeout`."""

    error: TimeoutError


class Stopped(Exception):
    """Thrown into the program when its reader goes away, or a person presses Ctrl-C.

    A generator may not yield while Python closes it, and the program has to store what was
    finished; so a driver throws this instead, performs what the program still asks for, and
    then lets the original reason take its course.
    """


# ---------------------------------------------------------------- the end of a program


class Paused(NamedTuple):
    """What a run returns that has stopped for people, in the place of its bare result.

    Fields:
        value: the result so far.
        interrupts: the questions; none if it stopped at a breakpoint.
    """

    value: Any
    interrupts: tuple[Interrupt, ...]
