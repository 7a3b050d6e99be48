"""Scenarios drawn by hypothesis: mostly valid, mostly interesting, small when they shrink.

A graph grows node by node. Each newcomer is reached from what is already there: by an edge, two
edges, a join, a branch, Sends, a `Command`, or not at all. Then come loops. The script starts with
a run, goes on with what a user may do to a thread in any state, and ends with a look at it.

One scenario in a few has nodes that fail; one in a few has odd things: inputs and results that
cannot be, unknown names. The rest is well formed, else no run would get far.

Three things are never drawn, because their outcome would be a matter of luck or is no secret: a
branch that counts its turns behind a node that `Send` runs several times at once; Sends from such
a node (two tasks would have the same tag); synchronous runs of coroutine nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from .build import ANNOTATIONS
from .scenario import END, START, UNKNOWN, UPDATED, Branch, Call, Edge, Key, Node, Scenario, Write

NAMES = ("a", "b", "c", "n10", "n2", "B")
"""Writes are applied in the order of the names as text (SS-02): so not only neat ones."""

KINDS = {"log": "list"} | {kind: kind for kind in ANNOTATIONS if kind != "list"}
"""The keys that a scenario may have, and their kinds."""

WRITES: dict[str, list[tuple[str, Any]]] = {
    "log": [("value", []), ("copy", None), ("overwrite", ["o"])],
    "last": [("plus", 1), ("plus", 1), ("run", None), ("value", None)],
    "sum": [("value", 1), ("value", 2), ("overwrite", 5)],
    "unset": [("name", None), ("value", "u")],
    "any": [("name", None), ("value", None)],
    "ephemeral": [("name", None), ("value", None)],
    "unguarded": [("name", None), ("value", None)],
    "topic": [("name", None), ("value", ["p", "q"]), ("value", [])],
    "collected": [("run", None), ("value", ["p", "q"])],
}
ODD_WRITES = [Write("log", "refused"), Write("last", "overwrite", 1), Write("unknown", "value", 1)]

INPUTS: dict[str, list[Any]] = {
    "log": [["in"], [], {"__overwrite__": ["new"]}],
    "last": [0, 1],
    "sum": [1, {"__overwrite__": 7}],
    "topic": ["in", ["in", "put"]],
}
ODD_INPUTS = [5, {"log": 5}, {"unknown": 1}, {"last": None}]


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    """One of `values`: what comes first is simplest, what comes twice is twice as likely."""
    return st.sampled_from(values)


sometimes = one_of(False, False, False, True)
rarely = one_of(*[False] * 11, True)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """A graph and a script."""
    others = [key for key in KINDS if key != "log"]
    keys = ["log", *draw(st.lists(st.sampled_from(others), unique=True, max_size=3))]
    size = draw(one_of(1, 2, 3, 3, 4, 4, 5))
    names = draw(st.permutations(NAMES))[:size]
    odd = draw(sometimes)
    drivers = draw(one_of((False,), (False,), (True,), (False, True)))
    sketch = _Sketch(draw, names, keys)
    failing = [draw(st.sampled_from(names)) for _ in range(draw(one_of(0, 0, 0, 1, 2)))]
    nodes = [
        dataclasses.replace(
            draw(_nodes(name, keys, sketch.gotos[name], odd)),
            fails=draw(one_of((1,), (1, 2), (2,), "always")) if name in failing else (),
            defer=draw(rarely),
            coroutine=drivers == (True,) and draw(sometimes),
        )
        for name in names
    ]
    script = _Script(draw, keys, names, odd)
    return Scenario(
        keys=tuple(Key(key, KINDS[key]) for key in keys),
        nodes=tuple(nodes),
        edges=tuple(sketch.edges),
        branches=tuple(sketch.branches),
        calls=tuple(
            dataclasses.replace(call, asynchronous=draw(one_of(*drivers))) for call in script.calls
        ),
        saver=not draw(rarely),
        recursion_limit=2 if draw(rarely) else 8,
    )


class _Sketch:
    """How the nodes are reached: edges, branches, and the targets that nodes name themselves."""

    def __init__(self, draw: st.DrawFn, names: list[str], keys: list[str]) -> None:
        self.draw, self.names, self.keys = draw, names, keys
        self.edges: list[Edge] = []
        self.branches: list[Branch] = []
        self.gotos: dict[str, list[str]] = {name: [] for name in names}
        self.sent_to: set[str] = set()
        for position, name in enumerate(names):
            ways = ["edge", "edge", "branch", "send"]
            ways += ["two_edges", "join", "join", "join"] if position > 1 else []
            ways += ["goto", "send_by_goto", "nothing"] if position else []
            getattr(self, draw(st.sampled_from(ways)))(name, names[:position])
        entered = any(START in edge.sources for edge in self.edges)
        if not entered and not any(branch.source == START for branch in self.branches):
            self.edges.append(Edge((START,), names[0]))
        for _ in range(draw(one_of(0, 0, 1, 2))):
            self.loop(draw(st.sampled_from(names)))

    def edge(self, name: str, earlier: list[str]) -> None:
        self.edges.append(Edge((self.source(earlier),), name))

    def two_edges(self, name: str, earlier: list[str]) -> None:
        self.edges += [Edge((source,), name) for source in self.sources(earlier)]

    def join(self, name: str, earlier: list[str]) -> None:
        self.edges.append(Edge(tuple(self.sources(earlier)), name))

    def branch(self, name: str, earlier: list[str]) -> None:
        others = st.lists(st.sampled_from([*self.names, END]), max_size=2)
        choices = [(name, *self.draw(others)), *map(tuple, self.draw(st.lists(others, max_size=2)))]
        self.choose(self.source(earlier), choices)

    def send(self, name: str, earlier: list[str]) -> None:
        source = self.source([other for other in earlier if other not in self.sent_to])
        self.sent_to.add(name)
        sends = [f"send:{name}"] * self.draw(st.integers(1, 3))
        by_edge = [name] if self.draw(sometimes) else []
        self.choose(source, [(*sends, *by_edge), *self.draw(one_of([], [(END,)]))])

    def goto(self, name: str, earlier: list[str]) -> None:
        self.gotos[self.draw(st.sampled_from(earlier))].append(name)

    def send_by_goto(self, name: str, earlier: list[str]) -> None:
        senders = [other for other in earlier if other not in self.sent_to]
        if senders:
            self.sent_to.add(name)
            sends = [f"send:{name}"] * self.draw(one_of(1, 2))
            self.gotos[self.draw(st.sampled_from(senders))] += sends

    def nothing(self, name: str, earlier: list[str]) -> None:
        """A node that nothing leads to (SG-17): only `as_node` may name it."""

    def loop(self, name: str) -> None:
        """An edge to any node; mostly one that ends after a turn or two."""
        target = self.draw(st.sampled_from(self.names))
        if self.draw(sometimes):
            self.edges.append(Edge((name,), target))
        else:
            self.choose(name, [*[(target,)] * self.draw(one_of(1, 2)), (END,)])

    def choose(self, source: str, choices: Sequence[tuple[str, ...]]) -> None:
        by = ["log", *self.keys] if source in self.sent_to else ["", "", "log", *self.keys]
        mapped = self.draw(sometimes)
        self.branches.append(Branch(source, tuple(choices), self.draw(st.sampled_from(by)), mapped))

    def source(self, earlier: list[str]) -> str:
        name: str = self.draw(st.sampled_from([START, *reversed(earlier)]))
        return name

    def sources(self, earlier: list[str]) -> list[str]:
        two_or_three = st.lists(st.sampled_from(earlier), unique=True, min_size=2, max_size=3)
        names: list[str] = self.draw(two_or_three)
        return names


@st.composite
def _nodes(draw: st.DrawFn, name: str, keys: list[str], goto: list[str], odd: bool) -> Node:
    writes = [Write("log", draw(one_of("name", "name", "run")))] * (not draw(rarely))
    for key in draw(st.lists(st.sampled_from(keys), unique=True, max_size=2)):
        how, value = draw(st.sampled_from(WRITES[key]))
        if how == "copy":  # not the log itself, which would double in every step
            value = draw(st.sampled_from([*keys[1:], "unknown"]))
        writes.append(Write(key, how, value))
    if odd and draw(sometimes):
        writes.append(draw(st.sampled_from(ODD_WRITES)))
    commands = ["command", "pairs", "list"]
    forms = commands if goto else ["dict"] * 6 + commands + ["none"] + ["invalid"] * odd
    odd_goto = ["unknown"] if odd and goto and draw(sometimes) else []
    return Node(name, tuple(writes), draw(st.sampled_from(forms)), goto=(*goto, *odd_goto))


class _Script:
    """The calls. Some come in pairs, since one prepares what the other one needs."""

    def __init__(self, draw: st.DrawFn, keys: list[str], names: list[str], odd: bool) -> None:
        self.draw, self.keys, self.names, self.odd = draw, keys, names, odd
        self.calls: list[Call] = []
        start = "update" if draw(rarely) else "resume" if draw(rarely) else "start"
        deeds = ["resume", "resume", "start", "start", "replay", "replay", "fork", "fork"]
        deeds += ["update", "start_there", "look"]
        for deed in [start, *draw(st.lists(st.sampled_from(deeds), max_size=5))]:
            getattr(self, deed)()
        self.calls += [Call("state"), Call("history")]

    def start(self) -> None:
        self.run(self.input())

    def resume(self) -> None:
        self.run(None)

    def replay(self) -> None:
        self.run(None, at=self.address())

    def start_there(self) -> None:
        self.run(self.input(), at=self.address())

    def fork(self) -> None:
        self.update()
        self.run(None, at=UPDATED)

    def update(self) -> None:
        reserved = [START, END, "__input__", "__copy__"] + ["unknown"] * self.odd
        nodes = self.draw(one_of([None], [None], self.names, self.names, reserved))
        as_node = self.draw(st.sampled_from(nodes))
        values = None if as_node in (END, "__copy__") or self.draw(rarely) else self.input()
        self.calls.append(Call("update", input=values, as_node=as_node, at=self.address()))
        if self.draw(sometimes):
            self.calls.append(Call("state"))

    def look(self) -> None:
        at = self.address()
        where = one_of(None, {"source": "loop"}, {"step": 1}, {"source": "update", "step": 2})
        history = Call(
            "history",
            at=at,
            where=self.draw(where),
            limit=self.draw(one_of(None, 1, 2)),
            before=self.draw(one_of(None, 0, 1, 3)),
        )
        self.calls.append(self.draw(one_of(Call("state", at=at), history)))

    def run(self, given: Any, at: int | str | None = None) -> None:
        forms = [("invoke", "updates")] + [
            ("stream", mode) for mode in ("updates", "values", "both")
        ]
        op, mode = self.draw(st.sampled_from(forms))
        limit = self.draw(one_of(1, 2, 4)) if self.draw(rarely) else None
        run_id = "r" if self.draw(sometimes) else None
        self.calls.append(
            Call(op, input=given, at=at, mode=mode, recursion_limit=limit, run_id=run_id)
        )

    def input(self) -> Any:
        if self.odd and self.draw(sometimes):
            return self.draw(st.sampled_from(ODD_INPUTS))
        keys = self.draw(st.lists(st.sampled_from(self.keys), unique=True, max_size=3))
        given = {key: self.draw(st.sampled_from(INPUTS.get(key, ["in"]))) for key in keys}
        return self.draw(one_of({"log": ["in"]}, given))

    def address(self) -> int | str | None:
        if self.odd and self.draw(sometimes):
            return UNKNOWN
        at: int | str | None = self.draw(one_of(None, 0, 1, 2, 3, 4, 5, UPDATED))
        return at
