"""Scenarios drawn by hypothesis: mostly valid, mostly interesting, small when they shrink.

A graph grows node by node. Each newcomer is reached from what is already there: by an edge, two
edges, a join, a branch, Sends, a `Command`, or not at all. Then come loops. The script starts with
a run, goes on with what a user may do to a thread in any state, and ends with a look at it.

Beside that, every part may take another form: the state's class and those of its readers, what the
builder is given, what a run tells. See `features` for all that is drawn, and how often it must be.

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

from .scenario import (
    END,
    FORMS,
    MODES,
    ROOT,
    SCHEMAS,
    START,
    UNKNOWN,
    UPDATED,
    Branch,
    Call,
    Edge,
    Key,
    Node,
    Scenario,
    Schema,
    Write,
)
from .schemas import ANNOTATIONS

NAMES = ("a", "b", "c", "n10", "n2", "B")
"""Writes are applied in the order of the names as text (SS-02): so not only neat ones."""

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

INPUTS: dict[str, list[Any]] = {
    "list": [["in"], [], {"__overwrite__": ["new"]}],
    "last": [0, 1],
    "sum": [1, {"__overwrite__": 7}],
    "added": [["in"], {"__overwrite__": ["new"]}],
    "topic": ["in", ["in", "put"]],
}
ODD_INPUTS = [5, {"log": 5}, {"unknown": 1}, {"last": None}]


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    """One of `values`: what comes first is simplest, what comes twice is twice as likely."""
    return st.sampled_from(values)


often = one_of(False, True)
sometimes = one_of(False, False, False, True)
seldom = one_of(*[False] * 5, True)
rarely = one_of(*[False] * 11, True)


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
    drivers = draw(one_of((False,), (True,), (False, True)))
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
    script = _Script(draw, public, names, odd)
    return Scenario(
        keys=tuple(keys),
        nodes=tuple(_with_private_keys(nodes, keys)),
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


class _Sketch:
    """How the nodes are reached: edges, branches, and the targets that nodes name themselves."""

    def __init__(
        self,
        draw: st.DrawFn,
        names: list[str],
        keys: list[Key],
        sequence: tuple[str, ...],
        odd: bool,
    ) -> None:
        self.draw, self.names, self.odd = draw, names, odd
        self.keys = [key.name for key in keys]
        self.edges: list[Edge] = []
        self.branches: list[Branch] = []
        self.gotos: dict[str, list[str]] = {name: [] for name in names}
        self.sent_to: set[str] = set()
        for position, name in enumerate(names):
            ways = ["edge", "edge", "branch", "send"]
            ways += ["two_edges", "join", "join", "join"] if position > 1 else []
            ways += ["goto", "send_by_goto", "nothing"] if position else []
            if name not in sequence[1:]:
                getattr(self, draw(st.sampled_from(ways)))(name, names[:position])
        entered = any(START in edge.sources for edge in self.edges)
        if not entered and not any(branch.source == START for branch in self.branches):
            self.edges.append(Edge((START,), names[0]))
        for _ in range(draw(one_of(0, 0, 1, 2))):
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
        by = by if source in self.sent_to else ["", "", *by]
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


class _Script:
    """The calls. Some come in pairs, since one prepares what the other one needs."""

    def __init__(self, draw: st.DrawFn, keys: list[Key], names: list[str], odd: bool) -> None:
        self.draw, self.keys, self.names, self.odd = draw, keys, names, odd
        self.calls: list[Call] = []
        start = "update" if draw(rarely) else "resume" if draw(rarely) else "start"
        deeds = ["resume", "resume", "start", "start", "replay", "replay", "fork", "fork"]
        deeds += ["update", "update", "start_there", "start_there", "look", "look"]
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
        reserved = [START, END, "__input__", "__copy__"] + ["unknown"] * 3 * self.odd
        roles: list[Any] = [[None], [None], self.names, self.names, *([name] for name in reserved)]
        nodes = self.draw(st.sampled_from(roles))
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
        self.calls.append(self.draw(one_of(Call("state", at=at), history, history)))

    def run(self, given: Any, at: int | str | None = None) -> None:
        self.calls.append(
            Call(
                self.draw(one_of("invoke", "stream", "stream", "stream")),
                input=given,
                at=at,
                modes=self.modes(),
                version="v2" if self.draw(sometimes) else "v1",
                output_keys=self.output_keys() if self.draw(sometimes) else None,
                prints=self.draw(one_of("", "", "", "", "values", "updates")),
                recursion_limit=self.draw(one_of(1, 2, 4)) if self.draw(rarely) else None,
                run_id="r" if self.draw(sometimes) else None,
            )
        )

    def modes(self) -> str | tuple[str, ...] | None:
        """None in particular, one, one in a list, or some."""
        some = st.lists(st.sampled_from(MODES), unique=True, min_size=2, max_size=len(MODES))
        one = st.sampled_from(MODES)
        way = self.draw(
            one_of("default", "one", "one", "list of one", "list of one", "some", "some")
        )
        if way == "default":
            return None
        if way == "some":
            return tuple(self.draw(some))
        return self.draw(one) if way == "one" else (self.draw(one),)

    def output_keys(self) -> str | tuple[str, ...]:
        names = [key.name for key in self.keys]
        if names == [ROOT] or self.draw(often):
            return str(self.draw(st.sampled_from(names)))
        return tuple(self.draw(st.lists(st.sampled_from(names), unique=True, min_size=1)))

    def input(self) -> Any:
        if self.odd and self.draw(sometimes):
            return self.draw(st.sampled_from(ODD_INPUTS))
        some = self.draw(st.lists(st.sampled_from(self.keys), unique=True, max_size=3))
        given = {key.name: self.draw(self.values(key)) for key in some}
        if self.keys[0].name == ROOT:
            return given.get(ROOT, self.draw(self.values(self.keys[0])))
        return self.draw(one_of({"log": ["in"]}, given))

    def values(self, key: Key) -> st.SearchStrategy[Any]:
        return st.sampled_from(INPUTS.get(key.kind, ["in"]))

    def address(self) -> int | str | None:
        if self.odd and self.draw(sometimes):
            return UNKNOWN
        at: int | str | None = self.draw(one_of(None, 0, 1, 2, 3, 4, 5, UPDATED))
        return at
