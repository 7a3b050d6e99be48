"""When to stop, and how an answer finds its question.

A node that asks raises `GraphInterrupt`; its question is stored beside the checkpoint, under an id
that is made of the task's place. Days later an answer comes, and has to get to that task, which may
stand in a graph in a graph:

    Command(resume={id: answer})   belongs to the question with that id
    Command(resume=answer)         belongs to the one question that waits; if none does (the thread
                                   was edited, so all will be asked anew), to whoever asks first

What belongs to an id is handed down from graph to graph, until a task finds that it is the id of
its own next question. A task's answers are kept in order, beside its questions; when it runs again,
its first call of `interrupt` gets the first of them, and so on (IN-04).

Breakpoints stop a run without a question. A breakpoint must hold once and let go once: a run
that is resumed at it has to pass it, and the next time around it has to hold again. No flag is
kept for that. When a run resumes, it notes the version of every channel under the name
``__interrupt__``, as if there were a node of that name that had seen everything. A breakpoint
holds only if some channel is newer than that note, so only if something has happened since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from minigraph.constants import INTERRUPT, MISSING
from minigraph.errors import UnknownInterruptError
from minigraph.pregel.live import Glimpse
from minigraph.pregel.plan import Task
from minigraph.types import All, Interrupt

Breakpoints: TypeAlias = All | Sequence[str]
"""The nodes to stop at; ``"*"`` for all that are not hidden."""


def holds(breakpoints: Breakpoints, tasks: Sequence[Task], state: Glimpse) -> bool:
    """Whether the run stops at one of these tasks.

    Rules: IN-50, IN-51, IN-60.
    """
    at_one = any(
        not task.node.hidden if breakpoints == "*" else task.name in breakpoints for task in tasks
    )
    return at_one and something_new(state)


def something_new(state: Glimpse) -> bool:
    """Whether a channel has moved since the run was last resumed."""
    noted = state.seen.get(INTERRUPT, {})
    return any(
        name not in noted or version > noted[name] for name, version in state.versions.items()
    )


# ---------------------------------------------------------------- answers


class Loose(Protocol):
    """An answer for whoever asks first."""

    def take(self) -> Any:
        """The answer; ``MISSING`` for all but the first who ask."""


class LooseAnswer:
    """An answer that came before its question; or several.

    >>> answer = LooseAnswer("yes")
    >>> answer.take(), answer.take() is MISSING
    ('yes', True)
    """

    def __init__(self, *values: Any) -> None:
        self.values = [*values]

    def take(self) -> Any:
        try:
            return self.values.pop(0)  # in one go: tasks on several threads may ask at once
        except IndexError:
            return MISSING


class Origin(NamedTuple):
    """Where a graph in a task is to start from, when a run goes back to a point inside of it.

    Fields:
        namespace: where the graph stood then. The task may have got another id since.
        ids: namespace → checkpoint id, of all the graphs of that time.
    """

    namespace: str
    ids: Mapping[str, str]


class Resumption(NamedTuple):
    """What comes with a super-step that a run goes on with. Graphs in its tasks go on as well.

    Fields:
        answers: by the id of the task that asked, and by the id of the question.
        origins: for the graphs in these tasks, by task id, where they start from.
    """

    answers: Mapping[str, Mapping[str, Any]]
    origins: Mapping[str, Origin]


class Replay:
    """A run that goes back in time, for the graphs with a memory of their own (TT-34).

    The first time that it comes by such a graph, that has to be as it was then; afterwards it is
    as the replay has left it.

    >>> replay = Replay("1ef-0")
    >>> replay.is_first_visit("call"), replay.is_first_visit("call")
    (True, False)
    """

    def __init__(self, before: str) -> None:
        self.before = before  # the id of the checkpoint that is replayed
        self.visited: set[str] = set()

    def is_first_visit(self, namespace: str) -> bool:
        first = namespace not in self.visited
        self.visited.add(namespace)
        return first


def is_map_of_answers(resume: Any) -> bool:
    """Whether a `Command`'s ``resume`` has answers by the ids of their questions (IN-31).

    Any other dict, the empty one too, is itself an answer, unless it has such an id in it: see
    `aimed`.

    >>> is_map_of_answers({"0" * 32: "yes"}), is_map_of_answers({"k": 1}), is_map_of_answers({})
    (True, False, False)
    """
    return (
        isinstance(resume, dict)
        and bool(resume)
        and all(isinstance(key, str) and is_id(key) for key in resume)
    )


def is_id(text: str) -> bool:
    return len(text) == 32 and not text.strip("0123456789abcdef")


def aimed(resume: Any, waiting: Sequence[tuple[str, Interrupt]]) -> dict[str, Any] | None:
    """Answers by the ids of the questions that they belong to; None if nobody has asked.

    Args:
        resume: what a `Command` says.
        waiting: the questions without an answer, each with the name of the node that asked.

    Raises `UnknownInterruptError` for an id that belongs to none of them, and `RuntimeError` for
    one answer to several questions (IN-30, IN-32).

    >>> question = Interrupt("May I?", "2dcd7f43a5a8e26a0d8b9f0c5a0a3a4a")
    >>> aimed("yes", [("ask", question)])
    {'2dcd7f43a5a8e26a0d8b9f0c5a0a3a4a': 'yes'}
    >>> aimed({"0" * 32: "yes"}, [("ask", question)])
    Traceback (most recent call last):
    minigraph.errors.UnknownInterruptError: Nobody has asked '000...000'; these questions wait: ...
    """
    known = {interrupt.id: interrupt for _, interrupt in waiting}
    if is_map_of_answers(resume) or names_one_of(resume, known):
        if unknown := [id for id in resume if id not in known]:
            raise unknown_interrupt(
                f"Nobody has asked {', '.join(map(repr, unknown))}; {who_waits(waiting)} "
                "Nothing was stored and nothing ran.",
                unknown,
                known,
            )
        return dict(resume)
    if len(known) > 1:
        found = "one answer"
        if isinstance(resume, dict) and any(isinstance(key, str) and is_id(key) for key in resume):
            odd = [key for key in resume if not (isinstance(key, str) and is_id(key))]
            found = f"one answer, because {', '.join(map(repr, odd))} is no id"
        who = who_waits(waiting)
        raise RuntimeError(
            f"There are multiple pending interrupts, and {found}: say by its id which is meant, "
            f"with Command(resume={{id: answer}}). {who[0].upper()}{who[1:]}"
        )
    return dict.fromkeys(known, resume) if known else None


def names_one_of(resume: Any, known: Mapping[str, Any]) -> bool:
    """Whether this is a dict with the id of a known question in it, whatever else it has."""
    return isinstance(resume, dict) and not known.keys().isdisjoint(resume)


def unknown_interrupt(
    message: str, answered: Iterable[str], waiting: Iterable[str]
) -> UnknownInterruptError:
    error = UnknownInterruptError(message)
    error.interrupt_ids, error.pending_ids = tuple(answered), tuple(waiting)
    return error


def check_in_the_past(resume: Any, asked: Mapping[str, Sequence[Interrupt]]) -> None:
    """Refuse answers, at a checkpoint that is past, of which it cannot be told whose they are.

    Who goes back is asked anew, under a new id. So there the ids that a snapshot shows are no
    addresses any more, and one answer is enough only where one task had asked (TT-22).

    Args:
        resume: what a `Command` says.
        asked: the questions that were asked there, by task id.

    Raises `UnknownInterruptError` and `RuntimeError`.
    """
    ids = {question.id: question for questions in asked.values() for question in questions}
    advice = (
        "Replay it with invoke(None, config): all ask anew, and can then be answered by the new "
        "ids."
    )
    if names_one_of(resume, ids):
        old = [id for id in resume if id in ids]
        if len(ids) == 1:
            advice += " Or answer without an id: Command(resume=answer)."
        raise unknown_interrupt(
            f"{', '.join(map(repr, old))}: asked at this checkpoint, which is past, and not to be "
            f"answered a second time by the same id. {advice} Nothing was stored and nothing ran.",
            old,
            (),
        )
    if len(asked) > 1 and not is_map_of_answers(resume):
        raise RuntimeError(
            f"There is one answer, and several nodes asked at this checkpoint, which is past. "
            f"{advice}"
        )


def who_waits(waiting: Sequence[tuple[str, Interrupt]]) -> str:
    """The open questions, for messages."""
    if not waiting:
        return "no question waits for an answer here."
    lines = [f"node {name!r} asks {each.value!r:.200} (id {each.id})" for name, each in waiting]
    return f"these questions wait: {'; '.join(lines)}."
