"""Named scenarios: graphs in nodes, what they remember, ask and fail at, and time travel in them.

The inner graph is ``x`` and then ``y``; where these ask, ``x['yes']`` is what `x` was told.
"""

from __future__ import annotations

from typing import Any

from .cases_of_questions import answer, answers, asks
from .scenario import (
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
    Schema,
    Write,
)
from .shorthand import LOG, RUN, graph, history, node, resume, resume_at, start, state

UP = Write("log", "value", ["up"])
CHAIN = (Edge((START,), "x"), Edge(("x",), "y"))


def inner(*nodes: Node, name: str = "sub", **more: Any) -> Inner:
    """A graph of `x` and then `y`."""
    given = {node.name: node for node in nodes}
    both = (given.pop("x", node("x")), given.pop("y", node("y")))
    return Inner(name, nodes=(*both, *given.values()), edges=CHAIN, **more)


def around(*graphs: Inner, called: int = 0, **more: Any) -> Scenario:
    """A graph of `s`, which is or calls the last of these graphs, and then `b`."""
    told = (Write("log", "inner"),) if called else ()
    within = Node("s", writes=told, graph=graphs[-1].name, called=called)
    nodes = (within, *more.pop("nodes", ()))
    return graph(">s s>b", inner=graphs, nodes=nodes, **more)


watched = Call("stream", input={"log": ["in"]}, modes=("updates", "values"), subgraphs=True)
seen = Call("state", subgraphs=True)

LIVES = (
    [
        "stream values in, values in, updates __interrupt__, values in s/x?0, updates",
        "    __interrupt__, values in s/x?0",
        "state in > s",
        "invoke in s/y?0",
        "state in > s",
        "invoke in in x['1'] y['2'] b",
        "history 2:loop 1:loop 0:loop -1:input",
    ],
    [
        "stream values in, values s, updates __interrupt__, values s s/x?0, updates",
        "    __interrupt__, values in s/x?0",
        "state in > s",
        "invoke in s/y?0",
        "state in > s",
        "invoke in s(s x['1'] y['2']) b",
        "invoke in s(s x['1'] y['2']) b",
        "history 2:loop 1:loop 0:loop -1:input",
    ],
    [
        "stream values in, values s, updates __interrupt__, values s s/x?0, updates",
        "    __interrupt__, values in s/x?0",
        "state in > s",
        "invoke in s/y?0",
        "state in > s",
        "invoke in s/x?0",
        "invoke in s/y?0",
        "invoke in s(s x['1'] y['2'], s x['2'] y['2']) b",
        "history 2:loop 1:loop 0:loop -1:input",
    ],
)
"""Of a graph that is the node, is called, and is called twice: the memory makes no difference."""

GRAPHS: dict[str, tuple[Scenario, list[str]]] = {
    f"{what}, memory {memory}": (
        around(
            inner(asks("x"), asks("y"), checkpointer=memory),
            called=called,
            calls=(watched, seen, answer("1"), seen, *[answer("2")] * (called + 1), history),
        ),
        LIVES[called],
    )
    for memory in (None, True)
    for called, what in enumerate(("a graph as a node", "a graph called", "a graph called twice"))
} | {
    "a graph that keeps nothing": (
        around(inner(checkpointer=False), calls=(watched, seen, Call("history"))),
        [
            "stream values in, values in, updates x, values in x, updates y, values in x y,",
            "    updates s, values in in x y, updates b, values in in x y b",
            "state in in x y b",
            "history 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a graph that keeps nothing asks, in parallel": (
        around(
            Inner(
                "sub",
                nodes=(asks("x"), asks("y")),
                edges=(Edge((START,), "x"), Edge((START,), "y")),
                checkpointer=False,
            ),
            calls=(start, Call("invoke", command=Command(answers={"1": "Y"})), seen, answer("X")),
        ),
        [
            "invoke in s/x?0 s/y?0",
            "invoke in s/x?0 s/y?0",
            "state in > s",
            "invoke raises RuntimeError",
        ],
    ),
    "checkpoints of a graph that keeps none": (
        around(
            inner(checkpointer=False),
            calls=(Call("stream", input={"log": ["in"]}, modes=("checkpoints",), subgraphs=True),),
        ),
        [
            "stream checkpoint -1, checkpoint 0, checkpoint 1, checkpoint 2",
        ],
    ),
    "a graph that fails goes on where it was": (
        around(
            inner(node("x", RUN), node("y", RUN, fails=(1,))), calls=(start, seen, resume, history)
        ),
        [
            "invoke raises ValueError",
            "state in > s",
            "invoke in in x1 y2 b",
            "history 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a memory from call to call": (
        around(
            inner(checkpointer=True),
            calls=(start, start, Call("history", inside=0), Call("state", inside=0)),
        ),
        [
            "invoke in in x y b",
            "invoke in in x y b in in x y in in x y b in x y b",
            "history 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
            "state in x y in in x y b in x y",
        ],
    ),
    "a graph in a graph, and a Command to the parent": (
        around(
            Inner("deep", nodes=(asks("d"),), edges=(Edge((START,), "d"),)),
            Inner(
                "sub",
                nodes=(
                    Node("m", graph="deep"),
                    node("y", returns="command", goto=("e",), to_parent=True),
                ),
                edges=(Edge((START,), "m"), Edge(("m",), "y")),
            ),
            nodes=(node("e"),),
            calls=(watched, seen, answer("1"), history, Call("history", inside=1)),
        ),
        [
            "stream values in, values in, values in, updates __interrupt__, values in",
            "    s/m/d?0, updates __interrupt__, values in s/m/d?0, updates __interrupt__,",
            "    values in s/m/d?0",
            "state in > s",
            "invoke in y b e",
            "history 2:loop 1:loop 0:loop -1:input",
            "history 1:loop 0:loop -1:input",
        ],
    ),
    "two Commands to the parent": (
        around(
            Inner(
                "sub",
                nodes=(
                    node("x", UP, returns="command", goto=("e",), to_parent=True),
                    node("y", UP, returns="command", goto=("e",), to_parent=True),
                ),
                edges=(Edge((START,), "x"), Edge((START,), "y")),
            ),
            nodes=(node("e"),),
            calls=(start,),
        ),
        [
            "invoke in up b e",
        ],
    ),
    "graphs in sends": (
        graph(
            "s>b",
            inner=(inner(asks("x")),),
            nodes=(Node("s", graph="sub"),),
            branches=(Branch(START, (("send:s", "send:s"),)),),
            calls=(watched, Call("invoke", command=Command(answers={"0": "A", "1": "B"}))),
        ),
        [
            "stream values in, values .0, updates __interrupt__, values .0 s/x?0, values .1,",
            "    updates __interrupt__, values .1 s/x?0, updates __interrupt__, updates",
            "    __interrupt__, values in s/x?0, values in s/x?0",
            "invoke in .0 x['A'] y .1 x['B'] y b",
        ],
    ),
    "two sends to one memory": (
        graph(
            "s>b",
            inner=(inner(asks("x"), checkpointer=True),),
            nodes=(Node("s", graph="sub"),),
            branches=(Branch(START, (("send:s", "send:s"),)),),
            calls=(start,),
        ),
        [
            "invoke in s/x?0 s/x?0",
        ],
    ),
    "a breakpoint inside": (
        around(inner(stop_before=("y",)), calls=(watched, seen, resume, history)),
        [
            "stream values in, values in, updates x, values in x, updates __interrupt__",
            "state in > s",
            "invoke in in x y b",
            "history 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a graph as a node, where the state is an object": (
        around(inner(), schema="dataclass", calls=(start,)),
        [
            "invoke in in x y b",
        ],
    ),
    "a graph that is called, where the state is an object": (
        around(
            inner(),
            called=1,
            schema="dataclass",
            calls=(
                Call(
                    "stream",
                    input={"log": ["in"]},
                    modes="checkpoints",
                    version="v2",
                    subgraphs=True,
                ),
            ),
        ),
        [
            "stream checkpoint -1, checkpoint 0, checkpoint -1, checkpoint 0, checkpoint 1,",
            "    checkpoint 2, checkpoint 1, checkpoint 2",
        ],
    ),
    # Time travel
    "an update inside of a graph that waits": (
        around(
            inner(asks("x"), asks("y")),
            calls=(
                start,
                answer("1"),
                Call("update", input={"log": ["u"]}, as_node="y", inside=0),
                resume,
                history,
            ),
        ),
        [
            "invoke in s/x?0",
            "invoke in s/y?0",
            "update",
            "invoke in in x['1'] u b",
            "history 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a replay before a graph runs it from its start": (
        around(inner(node("x", RUN), node("y", RUN)), calls=(start, resume_at(2), state)),
        [
            "invoke in in x1 y1 b",
            "invoke in in x2 y2 b",
            "state in in x2 y2 b",
        ],
    ),
    "a fork inside of a graph with a memory": (
        around(
            inner(node("x", RUN), asks("y"), checkpointer=True),
            calls=(
                start,
                Call("update", input={"log": ["u"]}, inside=0),
                Call("invoke", at=UPDATED),
                answer("yes"),
                Call("history", inside=0),
                history,
            ),
        ),
        [
            "invoke in s/y?0",
            "update",
            "invoke in s/y?0",
            "invoke in in x1 u y['yes'] b",
            "history 3:loop 2:update 1:loop 0:loop -1:input",
            "history 3:loop 2:loop 1:fork 0:loop -1:input",
        ],
    ),
    "a replay from inside of a graph that inherits": (
        around(
            inner(node("x", RUN), node("y", RUN)),
            calls=(start, Call("invoke", at=1, inside=0), history),
        ),
        [
            "invoke in in x1 y1 b",
            "invoke in in x2 y2 b",
            "history 3:loop 2:loop 1:fork 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a memory, and the replay of a copy": (
        around(
            inner(checkpointer=True),
            calls=(start, resume_at(2), resume_at(2), Call("history", inside=0), history),
        ),
        [
            "invoke in in x y b",
            "invoke in in x y b",
            "invoke in in x y b",
            "history 2:loop 1:loop 0:loop -1:input 2:loop 1:loop 0:loop -1:input 2:loop",
            "    1:loop 0:loop -1:input",
            "history 4:loop 3:loop 2:fork 3:loop 2:loop 1:fork 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a memory in a loop, from a place inside": (
        graph(
            ">s s>b",
            inner=(
                inner(
                    node("x", RUN),
                    node("y", returns="command", goto=("s",), to_parent=True),
                    checkpointer=True,
                    given=Schema(("last",)),
                ),
            ),
            keys=(LOG, Key("last", "last")),
            nodes=(Node("s", graph="sub"),),
            calls=(
                Call("invoke", input={"last": 1}, recursion_limit=2),
                Call("update", inside=0, as_node="x"),
                Call("invoke", at=UPDATED, recursion_limit=3),
                Call("history", inside=0),
            ),
        ),
        [
            "invoke raises GraphRecursionError",
            "update",
            "invoke raises GraphRecursionError",
            "history 8:loop 7:loop 6:input 8:loop 7:loop 6:input 8:loop 7:loop 6:input",
            "    5:update 4:loop 3:loop 2:input 1:loop 0:loop -1:input",
        ],
    ),
    "the input of a graph with a memory, when its parent goes on": (
        graph(
            ">a a>s",
            inner=(inner(checkpointer=True),),
            nodes=(
                Node("s", writes=(Write("log", "inner"),), graph="sub", called=1, asks=1),
                node("a"),
            ),
            calls=(start, answer("1"), start, answer("2")),
        ),
        [
            "invoke in a s?0",
            "invoke in a s(s x y)",
            "invoke in a s(s x y) in a s?0",
            "invoke in a s(s x y) in a s(s x y)",
        ],
    ),
    "a node that was answered calls a graph that stops": (
        graph(
            ">s s>b",
            inner=(inner(stop_before=("y",)),),
            nodes=(Node("s", (Write("log", "inner"),), asks=1, graph="sub", called=1),),
            calls=(start, answers("yes"), resume),
        ),
        [
            "invoke in s?0",
            "invoke in",
            "invoke in s?0",
        ],
    ),
    "a graph that inherits, in one that keeps nothing": (
        around(
            Inner("deep", nodes=(asks("d"),), edges=(Edge((START,), "d"),)),
            Inner(
                "sub",
                nodes=(Node("m", graph="deep"),),
                edges=(Edge((START,), "m"),),
                checkpointer=False,
            ),
            calls=(start, answer("yes")),
        ),
        [
            "invoke in s/m/d?0",
            "invoke in in in d['yes'] b",
        ],
    ),
    "a question beside a graph that fails first": (
        graph(
            ">s >a >e",
            inner=(
                Inner("sub", nodes=(node("x"),), edges=(Edge((START,), "x"), Edge(("x",), "x"))),
            ),
            nodes=(Node("s", graph="sub"), asks("a"), asks("e")),
            calls=(Call("invoke", input={"log": ["in"]}, prints="updates", recursion_limit=4),),
        ),
        [
            "invoke raises GraphRecursionError",
        ],
    ),
}
