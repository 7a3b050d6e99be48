"""Named scenarios: nodes that ask, answers, breakpoints, and Commands from outside.

In the log, ``a['yes']`` is what the node `a` was told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .scenario import (
    END,
    ROOT,
    START,
    UPDATED,
    Branch,
    Call,
    Command,
    Edge,
    Inner,
    Key,
    Node,
    Scenario,
    Write,
)
from .shorthand import graph, history, node, resume, resume_at, start, state, update

TOLD = Write("log", "answers")


def asks(name: str, times: int = 1, **more: Any) -> Node:
    """A node that asks, and appends what it was told to the log."""
    return node(name, TOLD, asks=times, **more)


def answer(value: Any, **more: Any) -> Call:
    return Call("invoke", command=Command(resume=value), **more)


def answers(*values: Any, **more: Any) -> Call:
    """By id, in the order of the questions."""
    given = {str(number): value for number, value in enumerate(values)}
    return Call("invoke", command=Command(answers=given), **more)


def command(**parts: Any) -> Call:
    return Call("invoke", command=Command(**parts))


QUESTIONS: dict[str, tuple[Scenario, list[str]]] = {
    # Answers (IN)
    "a question and its answer": (
        graph(">a a>b", nodes=(asks("a"),), calls=(start, state, answer("yes"), history)),
        [
            "invoke in a?0",
            "state in > a",
            "invoke in a['yes'] b",
            "history 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "two questions of one node, and a falsy answer": (
        graph(">a", nodes=(asks("a", 2),), calls=(start, answer(False), state, answer(0))),
        [
            "invoke in a?0",
            "invoke in a?1",
            "state in > a",
            "invoke in a[False, 0]",
        ],
    ),
    "questions of siblings are answered by id": (
        graph(
            ">a >b a+b>c",
            nodes=(asks("a"), asks("b")),
            calls=(start, answer("?"), answers("A"), state, answers("B"), history),
        ),
        [
            "invoke in a?0 b?0",
            "invoke raises RuntimeError",
            "invoke in a['A'] b?0",
            "state in a['A'] > b",
            "invoke in a['A'] b['B'] c",
            "history 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "questions of sends": (
        graph(
            "w>c",
            nodes=(asks("w"),),
            branches=(Branch(START, (("send:w", "send:w"),)),),
            calls=(
                Call("stream", input={"log": ["in"]}, modes=("updates", "values", "tasks")),
                answers("A", "B"),
            ),
        ),
        [
            "stream values in, task w, task w, result w, result w, updates __interrupt__,",
            "    updates __interrupt__, values in w.0?0, values in w.1?0",
            "invoke in w['A'].0 w['B'].1 c",
        ],
    ),
    "a sibling that fails beside a question": (
        graph(
            ">a >b", nodes=(asks("a"), node("b", fails=(1,))), calls=(start, state, answer("yes"))
        ),
        [
            "invoke raises ValueError",
            "state in > a > b",
            "invoke in a['yes'] b",
        ],
    ),
    "going on without an answer asks again": (
        graph(">a", nodes=(asks("a"),), calls=(start, resume, answer("yes"))),
        [
            "invoke in a?0",
            "invoke in a?0",
            "invoke in a['yes']",
        ],
    ),
    "an answer and an update": (
        graph(
            ">a", nodes=(asks("a"),), calls=(start, command(resume="yes", update={"log": ["u"]}))
        ),
        [
            "invoke in a?0",
            "invoke in u a['yes']",
        ],
    ),
    "a goto beside a question": (
        graph(">a a>b", nodes=(asks("a"), node("c")), calls=(start, command(goto=("c",)))),
        [
            "invoke in a?0",
            "invoke in c a?0",
        ],
    ),
    "an update while a question waits": (
        graph(">a", nodes=(asks("a"),), calls=(start, update("u"), answer("yes"), history)),
        [
            "invoke in a?0",
            "update",
            "invoke in u a['yes']",
            "history 2:loop 1:update 0:loop -1:input",
        ],
    ),
    "a replay asks again": (
        graph(
            ">a a>b", nodes=(asks("a"),), calls=(start, answer("yes"), resume_at(2), answer("no"))
        ),
        [
            "invoke in a?0",
            "invoke in a['yes'] b",
            "invoke in a?0",
            "invoke in a['no'] b",
        ],
    ),
    "a fork asks again": (
        graph(
            ">a a>b",
            nodes=(asks("a"),),
            calls=(start, answer("yes"), update("u", at=2), resume_at(UPDATED), answer("no")),
        ),
        [
            "invoke in a?0",
            "invoke in a['yes'] b",
            "update",
            "invoke in u a?0",
            "invoke in u a['no'] b",
        ],
    ),
    # What minigraph does in another way
    "an answer for a thread that is over": (
        graph(">a", calls=(start, answer("yes"), history)),
        [
            "invoke in a",
            "invoke in a",
            "history 1:loop 0:loop -1:input",
        ],
    ),
    "an empty map": (
        graph(">a", nodes=(asks("a"),), calls=(start, answer({}))),
        [
            "invoke in a?0",
            "invoke in a?0",
        ],
    ),
    "an answer at a checkpoint that is past": (
        graph(">a", nodes=(asks("a"),), calls=(start, answer("yes"), answer("no", at=1), history)),
        [
            "invoke in a?0",
            "invoke in a['yes']",
            "invoke in a['yes']",
            "history 1:loop 1:loop 0:loop -1:input",
        ],
    ),
    "one answer for two questions": (
        graph(">a", nodes=(asks("a", 2),), calls=(start, answer("yes"), resume)),
        [
            "invoke in a?0",
            "invoke in a?1",
            "invoke in a['yes', 'yes']",
        ],
    ),
    "a Command on a new thread": (
        graph(">a", calls=(command(update={"log": ["u"]}),)),
        [
            "invoke u u a",
        ],
    ),
    "a Command that sends, seen live": (
        graph(
            ">a", nodes=(asks("a"), node("c")), calls=(start, command(goto=("c",)), state, history)
        ),
        [
            "invoke in a?0",
            "invoke in c a?0",
            "state in > a",
            "history 0:loop -1:input",
        ],
    ),
    "an update by Command at the latest, named": (
        graph(
            ">a",
            calls=(
                start,
                Call("invoke", command=Command(update={"log": ["u"]}), at=0),
                history,
            ),
        ),
        [
            "invoke in a",
            "invoke in a u",
            "history 2:fork 1:loop 0:loop -1:input",
        ],
    ),
    "two updates by Command of one key": (
        graph(
            ">a",
            keys=(Key("log"), Key("last", "last")),
            calls=(start, command(update={"last": 1}), command(update={"last": 2}), state),
        ),
        [
            "invoke in a",
            "invoke in a",
            "invoke raises InvalidUpdateError",
            "state raises InvalidUpdateError",
        ],
    ),
    "a node that was answered fails": (
        graph(
            ">a",
            nodes=(asks("a", fails=(2,), fails_late=True),),
            calls=(start, answer("yes"), state, resume),
        ),
        [
            "invoke in a?0",
            "invoke raises ValueError",
            "state in > a",
            "invoke in a['yes']",
        ],
    ),
    "a new answer after a failure": (
        graph(
            ">a",
            nodes=(asks("a", fails=(2,), fails_late=True),),
            calls=(start, answer("no"), answer("yes"), state),
        ),
        [
            "invoke in a?0",
            "invoke raises ValueError",
            "invoke in a['no']",
            "state in a['no']",
        ],
    ),
    "a node that was answered fails, in a stream": (
        graph(
            ">a",
            nodes=(asks("a", fails=(2,), fails_late=True),),
            calls=(start, Call("stream", command=Command(resume="yes"))),
        ),
        [
            "invoke in a?0",
            "stream updates a and raises ValueError",
        ],
    ),
    "a question of a state that is one value": (
        Scenario(
            keys=(Key("__root__", "last"),),
            nodes=(Node("a", asks=1),),
            edges=graph(">a").edges,
            calls=(Call("stream", input="in", modes="values", version="v2"),),
            schema="root",
        ),
        [
            "stream values in, values nothing",
        ],
    ),
    "an answer, and a goto to another who asks": (
        graph(
            ">a",
            nodes=(asks("a"), asks("A")),
            calls=(start, command(resume="yes", goto=("A",))),
        ),
        [
            "invoke in a?0",
            "invoke in a['yes'] A?0",
        ],
    ),
    # Breakpoints
    "an empty list of breakpoints": (
        graph(">a", stop_before=("a",), calls=(replace(start, stop_before=()),)),
        [
            "invoke in",
        ],
    ),
    "breakpoints, compiled and of a call": (
        graph(
            ">a a>b b>c",
            stop_before=("b",),
            calls=(
                start,
                state,
                resume,
                Call("stream", input={"log": ["new"]}, stop_after="*"),
                update("u"),
                Call("stream"),
                history,
            ),
        ),
        [
            "invoke in a",
            "state in a > b",
            "invoke in a b c",
            "stream updates a, updates __interrupt__",
            "update",
            "stream updates b, updates c",
            "history 9:loop 8:loop 7:update 6:loop 5:loop 4:input 3:loop 2:loop 1:loop 0:loop",
            "    -1:input",
        ],
    ),
    "a question that cannot be asked again": (
        graph(
            "",
            keys=(Key(ROOT, "untracked"),),
            schema="root",
            nodes=(node("a", Write(ROOT, "answers"), asks=1),),
            branches=(Branch(START, (("send:a", "a"),)),),
            calls=(Call("invoke", input=1), state, answer("yes")),
        ),
        [
            "invoke nothing a?0 a.0?0",
            "state None > a",
            "invoke raises RuntimeError",
        ],
    ),
    "a Command to END goes on": (
        graph(">a a>b", nodes=(asks("a"),), calls=(start, command(goto=(END,)), answer("yes"))),
        [
            "invoke in a?0",
            "invoke in a?0",
            "invoke in a['yes'] b",
        ],
    ),
    "an answer, and a graph that goes on from a breakpoint and asks": (
        graph(
            ">s >a",
            inner=(
                Inner("sub", nodes=(asks("x"),), edges=(Edge((START,), "x"),), stop_before=("x",)),
            ),
            nodes=(Node("s", graph="sub"), asks("a", 2)),
            calls=(start, answer("yes")),
        ),
        [
            "invoke in a?0",
            "invoke in in x['yes'] a?0",
        ],
    ),
    "an update after a Command and a run that does nothing": (
        graph(">a", calls=(start, command(update={"log": ["u"]}), resume, update(), state)),
        [
            "invoke in a",
            "invoke in a u",
            "invoke in a u",
            "update",
            "state in a",
        ],
    ),
    "a Command with an update that a channel refuses, on a thread that waits": (
        graph(
            "",
            nodes=(node("a", fails=(1,)),),
            branches=(Branch(START, (("send:a",),)),),
            calls=(start, state, command(update={"log": 5}), state),
        ),
        [
            "invoke raises ValueError",
            "state in > a",
            "invoke raises TypeError",
            "state raises TypeError",
        ],
    ),
}
