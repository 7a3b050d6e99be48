"""Scenarios drawn by hypothesis: mostly valid, mostly interesting, small when they shrink.

A graph grows node by node. Each newcomer is reached from what is already there: by an edge, two
edges, a join, a branch, Sends, a `Command`, or not at all. Then come loops. The script starts with
a run, goes on with what a user may do to a thread in any state, and ends with a look at it.

Beside that, every part may take another form: the state's class and those of its readers, what the
builder is given, what a run tells. See `features` for all that is drawn, and how often it must be.

One scenario in a few has nodes that fail, one in a few nodes that ask, or graphs in nodes; and one
has odd things: inputs and results that cannot be, unknown names. The rest is well formed, else no
run would get far.

Some things are never drawn, because their outcome would be a matter of luck or is no secret:

- a branch that counts its turns behind a node that `Send` runs several times at once; Sends from
  such a node (two tasks would have the same tag); synchronous runs of coroutine nodes;
- in graphs that `Send` runs several times at once, what depends on how often a node has run, and a
  memory from call to call (two tasks would have the same namespace);
- the log of the state as the input of a graph in a node, if it comes back and is added to the log,
  where that can happen often: it would double each time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from .chance import often, one_of, rarely, seldom, sometimes
from .generate_calls import Script
from .scenario import (
    END,
    FORMS,
    ROOT,
    SCHEMAS,
    START,
    Branch,
    Edge,
    Inner,
    Key,
    Node,
    Scenario,
    Schema,
    Write,
)
from .schemas import ANNOTATIONS

NAMES = ("a", "b", "c", "n10", "n2", "B")
"""Writes are applied in the order of the names as text (SS-02): so not only neat ones."""

INNER_NAMES = (("x", "y", "Z"), ("p", "q1", "q"))
"""The names of nodes in graphs in nodes, and in graphs in these."""


OTHERS = tuple(kind for kind in ANNOTATIONS if kind != "list")
"""The keys besides `log`. Each is named after its kind."""

ROOTS = ("list", "list", "last", "sum", "unset", "untracked", "latest")
"""The kinds that all of a state may have. The reference cannot hash the instance of a channel, and
where a value fades, the nodes that would read it do not run."""

WRITES: dict[str, list[tuple[str, Any]]] = {
    "list": [("value", []), ("copy", None), ("overwrite", ["o"])],
    "last": [("plus", 1), ("plus", 1), ("run", None), ("value", None)],
    "sum": [("value", 1), ("value", 2), ("overwrite", 5)],
    "unset": [("name", None), ("value", "u")],
    "any": [("name", None), ("value", None)],
    "ephemeral": [("name", None), ("value", None)],
    "unguarded": [("name", None), ("value", None)],
    "topic": [("name", None), ("value", ["p", "q"]), ("value", [])],
    "collected": [("run", None), ("value", ["p", "q"])],
    "untracked": [("plus", 1), ("run", None)],
    "latest": [("plus", 1), ("name", None)],
    "added": [("name", None), ("run", None), ("overwrite", ["o"])],
}
ODD_WRITES = [Write("log", "refused"), Write("last", "overwrite", 1), Write("unknown", "value", 1)]


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """A graph and a script."""
    odd = draw(sometimes)
    schema = draw(one_of("typed_dict", *SCHEMAS, *SCHEMAS[2:], "root"))
    keys = draw(_roots() if schema == "root" else _keys(schema, odd))
    public = [key for key in keys if not key.private]
    classes = st.none() if schema == "root" else _schemas([key.name for key in keys])
    size = draw(one_of(1, 2, 3, 3, 4, 4, 5))
    names = draw(st.permutations(NAMES))[:size]
    drivers = draw(one_of((False,), (True,), (False, True), (False, True)))
    sequence = tuple(names[: draw(st.integers(1, size))]) if draw(seldom) else ()
    sketch = _Sketch(draw, names, public, sequence, odd)
    failing = [draw(st.sampled_from(names)) for _ in range(draw(one_of(0, 0, 0, 1, 2)))]
    nodes = [
        dataclasses.replace(
            draw(_nodes(name, keys, sketch.gotos[name], odd)),
            fails=draw(one_of((1,), (1, 2), (2,), "always")) if name in failing else (),
            coroutine=drivers == (True,) and draw(sometimes),
            form=draw(one_of(*FORMS[:1], *FORMS)),
            tells=draw(one_of("", "", "", "writer", "get")),
            reads=draw(classes) if draw(sometimes) else None,
            **({} if name in sequence else draw(_options())),
        )
        for name in names
    ]
    asking = draw(one_of(False, False, True))
    nodes = [
        draw(_with_questions(node)) if asking and (node.fails or draw(often)) else node
        for node in nodes
    ]
    inner: list[Inner] = []
    if draw(one_of(False, False, True)):
        within = _Within(draw, public, names, sketch.sent_to, drivers == (True,))
        place = draw(st.integers(0, size - 1))
        nodes[place], inner = within.with_graph(nodes[place])
    asks = any(node.asks for part in (nodes, *(graph.nodes for graph in inner)) for node in part)
    inside = [node.name for graph in inner for node in graph.nodes]
    free = [node.name for node in nodes if not node.graph]
    script = Script(draw, public, names, free, odd, asks, inside)
    return Scenario(
        keys=tuple(keys),
        nodes=tuple(_with_private_keys(nodes, keys)),
        inner=tuple(inner),
        stop_before=draw(_stops(names)) if draw(rarely) else (),
        stop_after=draw(_stops(names)) if draw(rarely) else (),
        edges=tuple(sketch.edges),
        branches=tuple(
            dataclasses.replace(branch, reads=draw(classes) if draw(sometimes) else None)
            for branch in sketch.branches
        ),
        calls=tuple(
            dataclasses.replace(call, asynchronous=draw(one_of(*drivers))) for call in script.calls
        ),
        saver=not draw(seldom),
        recursion_limit=2 if draw(rarely) else 8,
        schema=schema,
        given=draw(classes) if draw(often) else None,
        shown=draw(classes) if draw(often) else None,
        sequence=sequence,
    )


@st.composite
def _keys(draw: st.DrawFn, schema: str, odd: bool) -> list[Key]:
    """The log and a few others. Where the log has one writer at a time, no run would get far."""
    within = ["inside", "outside"] if schema in SCHEMAS[:2] else []
    keys = [Key("log", "list", draw(one_of("", "", "", "before", "nested", *within)))]
    for kind in draw(st.lists(st.sampled_from(OTHERS), unique=True, max_size=4)):
        extras = one_of("", "", "", "before", "after", "nested", *within)
        keys.append(Key(kind, kind, draw(extras), private=draw(seldom)))
    if odd and draw(often):
        keys[-1] = dataclasses.replace(keys[-1], required=True)
    return keys


@st.composite
def _roots(draw: st.DrawFn) -> list[Key]:
    """The only key of a state that is a single value."""
    extra = draw(one_of("", "", "before", "nested", "after"))
    return [Key(ROOT, draw(st.sampled_from(ROOTS)), extra)]


@st.composite
def _schemas(draw: st.DrawFn, names: list[str]) -> Schema:
    """A class of its own for some keys, mostly with the log."""
    some = draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    return Schema(tuple(dict.fromkeys(["log"] * (not draw(rarely)) + some)), draw(one_of(*SCHEMAS)))


@st.composite
def _options(draw: st.DrawFn) -> dict[str, Any]:
    """What `add_node` is told besides, where there is no sequence to do so."""
    by = draw(one_of("annotation", "argument"))
    return {"defer": draw(rarely), "metadata": draw(seldom), "reads_by": by}


def _with_private_keys(nodes: list[Node], keys: list[Key]) -> list[Node]:
    """The same nodes; where a private key is read by none, the last one reads it."""
    private = tuple(key.name for key in keys if key.private)
    read = {name for node in nodes if node.reads for name in node.reads.keys}
    if read.issuperset(private):
        return nodes
    reads = nodes[-1].reads or Schema(("log",))
    reads = dataclasses.replace(reads, keys=tuple(dict.fromkeys([*reads.keys, *private])))
    return [*nodes[:-1], dataclasses.replace(nodes[-1], reads=reads)]


@st.composite
def _with_questions(draw: st.DrawFn, node: Node) -> Node:
    """The same node, which asks, and mostly writes what it was told."""
    told = (Write(node.writes[0].key, "answers"),) if node.writes and not draw(seldom) else ()
    return dataclasses.replace(
        node,
        asks=draw(one_of(1, 1, 2)),
        writes=(*told, *node.writes[len(told) :]),
        fails_late=bool(node.fails) and not draw(seldom),
    )


@st.composite
def _stops(draw: st.DrawFn, names: list[str]) -> tuple[str, ...] | str:
    some = st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=2)
    return "*" if draw(sometimes) else tuple(draw(some))


class _Within:
    """Graphs in nodes: a graph for a node, and perhaps one for a node of that graph."""

    def __init__(
        self,
        draw: st.DrawFn,
        keys: list[Key],
        outside: list[str],
        sent_to: set[str],
        coroutines: bool,
    ) -> None:
        self.draw, self.keys, self.outside, self.sent_to = draw, keys, outside, sent_to
        self.coroutines, self.failing = coroutines, False
        self.inner: list[Inner] = []
        self.waiting: set[str] = set()  # the graphs with coroutines

    def with_graph(self, node: Node) -> tuple[Node, list[Inner]]:
        """The node with a graph, and all the graphs, the innermost first."""
        made = self.attach(node, 0, node.name in self.sent_to, self.outside)
        return made, self.inner

    def attach(self, node: Node, depth: int, sent: bool, outside: list[str]) -> Node:
        draw, name = self.draw, f"graph_{depth + 1}"
        waits = self.graph(name, depth, sent, outside)
        called = draw(one_of(0, 0, 1, 2, 2))
        if not called and not node.goto:
            kept = {"defer": node.defer, "metadata": node.metadata}
            return Node(node.name, graph=name, **kept)
        key = node.writes[0].key if node.writes else self.keys[0].name
        return dataclasses.replace(
            node,
            graph=name,
            called=called or 1,
            writes=(Write(key, "inner"), *node.writes[1:]),
            coroutine=node.coroutine or waits,
        )

    def graph(self, name: str, depth: int, sent: bool, outside: list[str]) -> bool:
        """Make the graph. Returns whether something in it is a coroutine."""
        draw = self.draw
        stops = draw(sometimes)
        names = draw(st.permutations(INNER_NAMES[depth]))[: draw(one_of(1, 2, 2, 3))]
        sketch = _Sketch(draw, names, self.keys, (), False, counts=not sent)
        nodes = [self.node(each, sketch.gotos[each], sent) for each in names]
        if depth == 0 and draw(sometimes):
            place = draw(st.integers(0, len(names) - 1))
            inside = sent or names[place] in sketch.sent_to
            nodes[place] = self.attach(nodes[place], 1, inside, names)
        alone = not sent and depth == 0 and names[-1] not in sketch.sent_to
        if alone and not nodes[-1].graph and draw(often):
            nodes[-1] = self.to_parent(nodes[-1], outside)
        only = [key.name for key in self.keys[1:]]
        whole = sent or not only or (depth == 0 and draw(seldom))
        memory = draw(one_of(None, None, False, *[True] * (not sent)))
        self.inner.append(
            Inner(
                name,
                nodes=tuple(nodes),
                edges=tuple(sketch.edges),
                branches=tuple(sketch.branches),
                checkpointer=memory,
                given=None if whole else Schema(tuple(only), "typed_dict"),
                stop_before=draw(_stops(names)) if stops else (),
                stop_after=draw(_stops(names)) if stops and draw(often) else (),
            )
        )
        waits = any(node.coroutine or node.graph in self.waiting for node in nodes)
        self.waiting |= {name} if waits else set()
        return waits

    def node(self, name: str, goto: list[str], sent: bool) -> Node:
        draw = self.draw
        node = draw(_nodes(name, self.keys, goto, False))
        if sent:  # how often it has run would be a matter of luck
            plain = tuple(write for write in node.writes if write.how != "run")
            node = dataclasses.replace(node, writes=plain)
        node = dataclasses.replace(
            node,
            coroutine=self.coroutines and draw(seldom),
            tells="" if sent else draw(one_of("", "", "", "writer", "get")),
        )
        if not self.failing and not sent and draw(sometimes):
            self.failing = True
            node = dataclasses.replace(node, fails=draw(one_of((1,), (2,), "always")))
        return draw(_with_questions(node)) if draw(sometimes) else node

    def to_parent(self, node: Node, outside: list[str]) -> Node:
        """The node with a `Command` for the graph around."""
        goto = (self.draw(st.sampled_from(outside)),) if self.draw(often) else ()
        return dataclasses.replace(
            node, returns="command", goto=goto, to_parent=True, declares=False
        )


class _Sketch:
    """How the nodes are reached: edges, branches, and the targets that nodes name themselves."""

    def __init__(
        self,
        draw: st.DrawFn,
        names: list[str],
        keys: list[Key],
        sequence: tuple[str, ...],
        odd: bool,
        counts: bool = True,
    ) -> None:
        self.draw, self.names, self.odd, self.counts = draw, names, odd, counts
        self.keys = [key.name for key in keys]
        self.edges: list[Edge] = []
        self.branches: list[Branch] = []
        self.gotos: dict[str, list[str]] = {name: [] for name in names}
        self.sent_to: set[str] = set()
        for position, name in enumerate(names):
            ways = ["edge", "edge", "branch"] + ["send"] * counts
            ways += ["two_edges", "join", "join", "join"] if position > 1 else []
            ways += ["goto", "nothing"] + ["send_by_goto"] * counts if position else []
            if name not in sequence[1:]:
                getattr(self, draw(st.sampled_from(ways)))(name, names[:position])
        entered = any(START in edge.sources for edge in self.edges)
        if not entered and not any(branch.source == START for branch in self.branches):
            self.edges.append(Edge((START,), names[0]))
        for _ in range(draw(one_of(0, 0, 1, 2)) if counts else 0):
            self.loop(draw(st.sampled_from(names)))
        for _ in range(draw(one_of(0, 0, 1, 2))):
            self.edges.append(Edge((draw(st.sampled_from(names)),), END))
        self.edges = [dataclasses.replace(edge, form=self.form(edge)) for edge in self.edges]

    def form(self, edge: Edge) -> str:
        forms = ["edge", "edge"]
        forms += ["point"] if edge.sources == (START,) or edge.target == END else []
        forms += ["list"] if len(edge.sources) == 1 and START not in edge.sources else []
        form: str = self.draw(st.sampled_from(forms))
        return form

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
        by = [*self.keys, *self.keys[:1]]
        by = by if source in self.sent_to or not self.counts else ["", "", *by]
        declared = ["", "", "", "list", "dict", "literal"] + ["short"] * 2 * self.odd
        self.branches.append(
            Branch(
                source,
                tuple(choices),
                self.draw(st.sampled_from(by)),
                self.draw(st.sampled_from(declared)),
                point=source == START and self.draw(often),
            )
        )

    def source(self, earlier: list[str]) -> str:
        name: str = self.draw(st.sampled_from([START, *reversed(earlier)]))
        return name

    def sources(self, earlier: list[str]) -> list[str]:
        two_or_three = st.lists(st.sampled_from(earlier), unique=True, min_size=2, max_size=3)
        names: list[str] = self.draw(two_or_three)
        return names


@st.composite
def _nodes(draw: st.DrawFn, name: str, keys: list[Key], goto: list[str], odd: bool) -> Node:
    first = keys[0]
    writes = []
    if first.kind == "list" and not draw(rarely):
        writes.append(Write(first.name, draw(one_of("name", "name", "run"))))
    for key in draw(st.lists(st.sampled_from(keys), unique=True, max_size=3)):
        how, value = draw(st.sampled_from(WRITES[key.kind]))
        if how == "copy":  # not the log itself, which would double in every step
            value = draw(st.sampled_from([*(key.name for key in keys[1:]), "unknown"]))
        writes.append(Write(key.name, how, value))
    if odd and draw(often):
        writes.append(draw(st.sampled_from(ODD_WRITES)))
    commands = ["command", "pairs", "list"]
    plain = ["dict"] * 5 + ["object"] * 2 + ["none"]
    forms = commands if goto else [*plain, *commands, *["invalid"] * 2 * odd]
    odd_goto = ["unknown"] if odd and goto and draw(sometimes) else []
    declares = bool(goto) and draw(often)
    form = draw(st.sampled_from(forms))
    if first.name == ROOT and form in ("command", "pairs"):
        # The reference takes an update with fields, or of pairs, for keys, and so it is lost.
        form = "command"
        writes = [w for w in writes if w.how != "overwrite" and w.value != []]
    return Node(name, tuple(writes), form, goto=(*goto, *odd_goto), declares=declares)
