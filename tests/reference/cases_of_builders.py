"""Named scenarios of the builder: each form in which a graph can be declared (SG-15, SG-50 ff.)."""

from __future__ import annotations

from typing import Any

from .scenario import END, FORMS, START, Branch, Call, Edge, Node, Scenario
from .shorthand import graph, history, node, start, state


def stream(**more: Any) -> Call:
    modes = ("values", "updates", "tasks")
    return Call("stream", **({"input": {"log": ["in"]}, "modes": modes} | more))


def forms(**more: Any) -> tuple[Node, ...]:
    """A node for each form, called a, b, c, ..."""
    return tuple(node(name, form=form, **more) for name, form in zip("abcdefg", FORMS))


CHAIN = ">a a>b b>c c>d d>e e>f f>g"

BUILDERS: dict[str, tuple[Scenario, list[str]]] = {
    "a node is whatever can be called": (
        graph(CHAIN, nodes=forms(), calls=(stream(),)),
        [
            "stream values in, task a, updates a, result a, values in a, task b, updates b,",
            "    result b, values in a b, task c, updates c, result c, values in a b c, task",
            "    d, updates d, result d, values in a b c d, task e, updates e, result e,",
            "    values in a b c d e, task f, updates f, result f, values in a b c d e f,",
            "    task g, updates g, result g, values in a b c d e f g",
        ],
    ),
    "a node is whatever can be called and takes a writer": (
        graph(
            CHAIN,
            nodes=forms(tells="writer"),
            calls=(stream(modes="custom"), stream(modes="custom", asynchronous=True)),
        ),
        [
            "stream custom a, custom b, custom c, custom d, custom e, custom f, custom g",
            "stream custom a, custom b, custom c, custom d, custom e, custom f, custom g",
        ],
    ),
    "a node is whatever can be awaited": (
        graph(
            CHAIN,
            nodes=tuple(n for n in forms(coroutine=True, tells="get") if n.form != "partial"),
            calls=(stream(modes=("updates", "custom"), asynchronous=True),),
        ),
        [
            "stream custom a, updates a, custom b, updates b, custom c, updates c, custom d,",
            "    updates d, custom e, updates e, custom f, updates f, updates g",
        ],
    ),
    "a partial of a coroutine function": (
        graph(
            ">a",
            nodes=(node("a", form="partial", coroutine=True),),
            calls=(Call("invoke", input={}, asynchronous=True),),
        ),
        ["invoke a"],
    ),
    "a sequence": (
        graph(">a", nodes=forms(), sequence=tuple("abcdefg"), calls=(stream(), history)),
        [
            "stream values in, task a, updates a, result a, values in a, task b, updates b,",
            "    result b, values in a b, task c, updates c, result c, values in a b c, task",
            "    d, updates d, result d, values in a b c d, task e, updates e, result e,",
            "    values in a b c d e, task f, updates f, result f, values in a b c d e f,",
            "    task g, updates g, result g, values in a b c d e f g",
            "history 7:loop 6:loop 5:loop 4:loop 3:loop 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a sequence of one": (graph(">a a>b", sequence=("b",)), ["invoke in a b"]),
    "an entry point and a finish point": (
        graph(
            "a>b",
            edges=(
                Edge((START,), "a", form="point"),
                Edge(("a",), "b"),
                Edge(("b",), END, form="point"),
            ),
            nodes=(node("a"), node("b")),
            calls=(stream(), history),
        ),
        [
            "stream values in, task a, updates a, result a, values in a, task b, updates b,",
            "    result b, values in a b",
            "history 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "two entry points": (
        graph(
            "a>c",
            edges=(Edge((START,), "a", form="point"), Edge((START,), "b", form="point")),
            nodes=(node("a"), node("b")),
        ),
        ["invoke in a b"],
    ),
    "a list edge of one": (
        graph(
            ">a a>b",
            edges=(Edge((START,), "a"), Edge(("a",), "b", form="list")),
            calls=(stream(), history),
        ),
        [
            "stream values in, task a, updates a, result a, values in a, task b, updates b,",
            "    result b, values in a b",
            "history 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a list edge to END": (
        graph(">a >b a+b>__end__", calls=(start, state, history)),
        ["invoke in a b", "state in a b", "history 1:loop 0:loop -1:input"],
    ),
    "a list edge from START": (
        graph(">a", edges=(Edge((START,), "a", form="list"),), nodes=(node("a"),)),
        ["build raises ValueError"],
    ),
    "edges from and to where there is nothing": (
        graph(">a", edges=(Edge((START,), "a"), Edge((END,), "a")), nodes=(node("a"),)),
        ["build raises ValueError"],
    ),
    "an edge to START": (
        graph(">a", edges=(Edge((START,), "a"), Edge(("a",), START)), nodes=(node("a"),)),
        ["build raises ValueError"],
    ),
    "no entry": (graph("a>b", nodes=(node("a"), node("b"))), ["build raises ValueError"]),
    "a list edge names a node that is not there": (
        graph(">a", edges=(Edge((START,), "a"), Edge(("a", "z"), "a")), nodes=(node("a"),)),
        ["build raises ValueError"],
    ),
    "branches with and without a map": (
        graph(
            ">a",
            branches=tuple(
                Branch(source, ((target,), (END,)), targets=targets)
                for source, target, targets in (
                    ("a", "b", ""),
                    ("b", "c", "list"),
                    ("c", "d", "dict"),
                    ("d", "e", "literal"),
                )
            ),
            calls=(start, start),
        ),
        ["invoke in a b c d e", "invoke in a b c d e in a"],
    ),
    "branches from START": (
        graph(
            "a>z",
            branches=(
                Branch(START, (("a",), (END,)), targets="dict"),
                Branch(START, (("b",),), targets="literal", point=True),
                Branch(START, (("c", "b"), (END,)), targets="list", point=True),
                Branch(START, (("send:d", "c"),), point=True),
            ),
            calls=(start, start),
        ),
        ["invoke in a b c d.0 z", "invoke in a b c d.0 z in b c d.0"],
    ),
    "a choice that the map has not": (
        graph(
            ">a",
            branches=(Branch("a", (("b",), ("c",)), targets="short"),),
            calls=(start, start, state),
        ),
        ["invoke in a b", "invoke raises KeyError", "state in a b in a"],
    ),
    "an empty map is no map": (
        graph("", branches=(Branch(START, (("a",),), targets="short"),), calls=(start, state)),
        ["invoke in", "state in"],
    ),
    "a map that names a stranger": (
        graph(">a", branches=(Branch("a", (("unknown",),), targets="dict"),)),
        ["build raises ValueError"],
    ),
    "a literal that names a stranger": (
        graph(">a", branches=(Branch("a", (("unknown",),), targets="literal"),)),
        ["build raises ValueError"],
    ),
    "a command declares where it goes": (
        graph(
            ">a",
            nodes=(
                node("a", returns="command", goto=("b", "send:c", END), declares=True),
                node("b", returns="list", goto=("c",), declares=True, form="bare object"),
            ),
            calls=(stream(),),
        ),
        [
            "stream values in, task a, updates a, result a, values in a, task c, task b,",
            "    updates b, result b, updates c, result c, values in a b c.1, task c, updates",
            "    c, result c, values in a b c.1 c",
        ],
    ),
    "a command declares a stranger": (
        graph(">a", nodes=(node("a", returns="command", goto=("unknown",), declares=True),)),
        ["build raises ValueError"],
    ),
    "metadata of a node": (
        graph(
            ">a >b a+b>c",
            nodes=(node("b", metadata=True, form="function"), node("c", metadata=True, defer=True)),
            calls=(stream(run_id="r"), history),
        ),
        [
            "stream values in, task a, task b, updates a, result a, updates b, result b,",
            "    values in a b, task c, updates c, result c, values in a b c",
            "history 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a node is added twice": (
        graph(">a", nodes=(node("a"),), sequence=("a", "a")),
        ["build raises ValueError"],
    ),
}
