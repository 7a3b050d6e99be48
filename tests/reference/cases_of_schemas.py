"""Named scenarios of schemas: each kind of class, and each form of an annotation (SG-01 to 09)."""

from __future__ import annotations

from typing import Any

from .scenario import ROOT, START, Branch, Call, Key, Node, Scenario, Schema, Write
from .shorthand import LOG, NAME, graph, history, node, resume, start, state, update

LAST = Key("last", "last")
PRIVATE = Key("secret", "last", private=True)
NUMBER = Key("sum", "sum", extra="after")
"""A number with a reducer that is none, since it is not the last of the metadata."""

COUNT = Write("last", "plus", 1)
TOLD = ("values", "updates", "tasks", "checkpoints")


def stream(modes: str | tuple[str, ...] = TOLD, **more: Any) -> Call:
    return Call("stream", **({"input": {"log": ["in"]}, "modes": modes} | more))


def classes(schema: str, **more: Any) -> Scenario:
    """A state of this kind that is written in each way, and read by nodes and a branch."""
    nodes = (
        node("a", NAME, COUNT),
        node("b", Write("last", "plus", 1), returns="object"),
        node("c", Write("log", "copy", "last"), returns="command"),
    )
    parts = {
        "keys": (LOG, LAST, Key("sum", "sum"), Key("topic", "topic")),
        "branches": (Branch("c", (("b",),) * 3 + (("d",),), by="log"),),
        "nodes": nodes,
        "calls": (
            stream(),
            stream(version="v2"),
            Call("invoke", input={"sum": 1}, version="v2"),
            update("u", as_node="a"),
            state,
            resume,
            history,
        ),
        "schema": schema,
    }
    return graph(">a a>b b>c", **(parts | more))


def root(kind: str, given: Any, *nodes: Node, **more: Any) -> Scenario:
    """A state that is one value, two nodes in a row, and a life."""
    calls = (
        Call("invoke", input=given),
        Call("stream", input=given, modes=TOLD),
        Call("stream", input=given, modes=("values", "debug"), version="v2"),
        Call("invoke", input=given, version="v2"),
        Call("update", input=given, as_node="a"),
        state,
        resume,
        history,
    )
    parts = {"keys": (Key(ROOT, kind),), "nodes": nodes, "calls": calls, "schema": "root"}
    return graph(">a a>b", **(parts | more))


def value(name: str, how: str, value: Any = None, **more: Any) -> Node:
    """A node that writes the only value of a state."""
    return Node(name, writes=(Write(ROOT, how, value),), **more)


SCHEMAS: dict[str, tuple[Scenario, list[str]]] = {
    "a state that is a TypedDict": (
        classes("typed_dict"),
        [
            "stream checkpoint -1, values in, checkpoint 0, task a, updates a, result a,",
            "    values in a, checkpoint 1, task b, updates b, result b, values in a,",
            "    checkpoint 2, task c, updates c, result c, values in a 2, checkpoint 3, task",
            "    d, updates d, result d, values in a 2 d, checkpoint 4",
            "stream checkpoint 5, values in a 2 d in, checkpoint 6, task a, updates a, result",
            "    a, values in a 2 d in a, checkpoint 7, task b, updates b, result b, values",
            "    in a 2 d in a, checkpoint 8, task c, updates c, result c, values in a 2 d in",
            "    a 4, checkpoint 9, task d, updates d, result d, values in a 2 d in a 4 d,",
            "    checkpoint 10",
            "invoke GraphOutput in a 2 d in a 4 d a 6 d",
            "update",
            "state in a 2 d in a 4 d a 6 d u > b",
            "invoke in a 2 d in a 4 d a 6 d u 7 d",
            "history 20:loop 19:loop 18:loop 17:update 16:loop 15:loop 14:loop 13:loop",
            "    12:loop 11:input 10:loop 9:loop 8:loop 7:loop 6:loop 5:input 4:loop 3:loop",
            "    2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a state whose keys are not required": (
        classes("not_required"),
        [
            "stream checkpoint -1, values in, checkpoint 0, task a, updates a, result a,",
            "    values in a, checkpoint 1, task b, updates b, result b, values in a,",
            "    checkpoint 2, task c, updates c, result c, values in a 2, checkpoint 3, task",
            "    d, updates d, result d, values in a 2 d, checkpoint 4",
            "stream checkpoint 5, values in a 2 d in, checkpoint 6, task a, updates a, result",
            "    a, values in a 2 d in a, checkpoint 7, task b, updates b, result b, values",
            "    in a 2 d in a, checkpoint 8, task c, updates c, result c, values in a 2 d in",
            "    a 4, checkpoint 9, task d, updates d, result d, values in a 2 d in a 4 d,",
            "    checkpoint 10",
            "invoke GraphOutput in a 2 d in a 4 d a 6 d",
            "update",
            "state in a 2 d in a 4 d a 6 d u > b",
            "invoke in a 2 d in a 4 d a 6 d u 7 d",
            "history 20:loop 19:loop 18:loop 17:update 16:loop 15:loop 14:loop 13:loop",
            "    12:loop 11:input 10:loop 9:loop 8:loop 7:loop 6:loop 5:input 4:loop 3:loop",
            "    2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a state that is a dataclass": (
        classes("dataclass"),
        [
            "stream checkpoint -1, values in, checkpoint 0, task a, updates a, result a,",
            "    values in a, checkpoint 1, task b, updates b, result b, values in a,",
            "    checkpoint 2, task c, updates c, result c, values in a 2, checkpoint 3, task",
            "    d, updates d, result d, values in a 2 d, checkpoint 4",
            "stream checkpoint 5, values State in a 2 d in, checkpoint 6, task a, updates a,",
            "    result a, values State in a 2 d in a, checkpoint 7, task b, updates b,",
            "    result b, values State in a 2 d in a, checkpoint 8, task c, updates c,",
            "    result c, values State in a 2 d in a 4, checkpoint 9, task d, updates d,",
            "    result d, values State in a 2 d in a 4 d, checkpoint 10",
            "invoke GraphOutput State in a 2 d in a 4 d a 6 d",
            "update",
            "state in a 2 d in a 4 d a 6 d u > b",
            "invoke in a 2 d in a 4 d a 6 d u 7 d",
            "history 20:loop 19:loop 18:loop 17:update 16:loop 15:loop 14:loop 13:loop",
            "    12:loop 11:input 10:loop 9:loop 8:loop 7:loop 6:loop 5:input 4:loop 3:loop",
            "    2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a state that is a pydantic model": (
        classes("pydantic"),
        [
            "stream checkpoint -1, values in, checkpoint 0, task a, updates a, result a,",
            "    values in a, checkpoint 1, task b, updates b, result b, values in a,",
            "    checkpoint 2, task c, updates c, result c, values in a 2, checkpoint 3, task",
            "    d, updates d, result d, values in a 2 d, checkpoint 4",
            "stream checkpoint 5, values State in a 2 d in, checkpoint 6, task a, updates a,",
            "    result a, values State in a 2 d in a, checkpoint 7, task b, updates b,",
            "    result b, values State in a 2 d in a, checkpoint 8, task c, updates c,",
            "    result c, values State in a 2 d in a 4, checkpoint 9, task d, updates d,",
            "    result d, values State in a 2 d in a 4 d, checkpoint 10",
            "invoke GraphOutput State in a 2 d in a 4 d a 6 d",
            "update",
            "state in a 2 d in a 4 d a 6 d u > b",
            "invoke in a 2 d in a 4 d a 6 d u 7 d",
            "history 20:loop 19:loop 18:loop 17:update 16:loop 15:loop 14:loop 13:loop",
            "    12:loop 11:input 10:loop 9:loop 8:loop 7:loop 6:loop 5:input 4:loop 3:loop",
            "    2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a state that is one list": (
        root("list", ["in"], value("a", "name"), value("b", "run")),
        [
            "invoke in a b1",
            "stream checkpoint 3, values in a b1 in, checkpoint 4, task a, updates a, result",
            "    a, values in a b1 in a, checkpoint 5, task b, updates b, result b, values in",
            "    a b1 in a b2, checkpoint 6",
            "stream debug checkpoint 7, values in a b1 in a b2 in, debug checkpoint 8, debug",
            "    task a, debug result a, values in a b1 in a b2 in a, debug checkpoint 9,",
            "    debug task b, debug result b, values in a b1 in a b2 in a b3, debug",
            "    checkpoint 10",
            "invoke GraphOutput in a b1 in a b2 in a b3 in a b4",
            "update",
            "state in a b1 in a b2 in a b3 in a b4 in > b",
            "invoke in a b1 in a b2 in a b3 in a b4 in b5",
            "history 16:loop 15:update 14:loop 13:loop 12:loop 11:input 10:loop 9:loop 8:loop",
            "    7:input 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a state that is one number": (
        root("sum", 1, value("a", "value", 2), value("b", "plus", 1)),
        [
            "invoke 7",
            "stream checkpoint 3, values 8, checkpoint 4, task a, updates a, result a, values",
            "    10, checkpoint 5, task b, updates b, result b, values 21, checkpoint 6",
            "stream debug checkpoint 7, values 22, debug checkpoint 8, debug task a, debug",
            "    result a, values 24, debug checkpoint 9, debug task b, debug result b,",
            "    values 49, debug checkpoint 10",
            "invoke GraphOutput 105",
            "update",
            "state 106 > b",
            "invoke 213",
            "history 16:loop 15:update 14:loop 13:loop 12:loop 11:input 10:loop 9:loop 8:loop",
            "    7:input 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a state that is one value": (
        root("last", 1, value("a", "plus", 1), value("b", "name")),
        [
            "invoke b",
            "stream checkpoint 3, values 1, checkpoint 4, task a, updates a, result a, values",
            "    2, checkpoint 5, task b, updates b, result b, values b, checkpoint 6",
            "stream debug checkpoint 7, values 1, debug checkpoint 8, debug task a, debug",
            "    result a, values 2, debug checkpoint 9, debug task b, debug result b, values",
            "    b, debug checkpoint 10",
            "invoke GraphOutput b",
            "update",
            "state 1 > b",
            "invoke b",
            "history 16:loop 15:update 14:loop 13:loop 12:loop 11:input 10:loop 9:loop 8:loop",
            "    7:input 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a state that is one channel": (
        root("latest", 1, value("a", "plus", 1), value("b", "name")),
        [
            "invoke b",
            "stream checkpoint 3, values 1, checkpoint 4, task a, updates a, result a, values",
            "    2, checkpoint 5, task b, updates b, result b, values b, checkpoint 6",
            "stream debug checkpoint 7, values 1, debug checkpoint 8, debug task a, debug",
            "    result a, values 2, debug checkpoint 9, debug task b, debug result b, values",
            "    b, debug checkpoint 10",
            "invoke GraphOutput b",
            "update",
            "state 1 > b",
            "invoke b",
            "history 16:loop 15:update 14:loop 13:loop 12:loop 11:input 10:loop 9:loop 8:loop",
            "    7:input 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a state that is one value and is not written": (
        root("last", "in", Node("a", returns="none"), value("b", "value", None)),
        [
            "invoke in",
            "stream checkpoint 3, values in, checkpoint 4, task a, updates a, result a,",
            "    checkpoint 5, task b, updates b, result b, checkpoint 6",
            "stream debug checkpoint 7, values in, debug checkpoint 8, debug task a, debug",
            "    result a, debug checkpoint 9, debug task b, debug result b, debug checkpoint",
            "    10",
            "invoke GraphOutput in",
            "update",
            "state in > b",
            "invoke in",
            "history 16:loop 15:update 14:loop 13:loop 12:loop 11:input 10:loop 9:loop 8:loop",
            "    7:input 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a state that is one list is overwritten": (
        root(
            "list",
            {"__overwrite__": ["new"]},
            value("a", "overwrite", ["o"]),
            value("b", "name"),
        ),
        [
            "invoke o b",
            "stream checkpoint 3, values new, checkpoint 4, task a, updates a, result a,",
            "    values o, checkpoint 5, task b, updates b, result b, values o b, checkpoint",
            "    6",
            "stream debug checkpoint 7, values new, debug checkpoint 8, debug task a, debug",
            "    result a, values o, debug checkpoint 9, debug task b, debug result b, values",
            "    o b, debug checkpoint 10",
            "invoke GraphOutput o b",
            "update",
            "state new > b",
            "invoke new b",
            "history 16:loop 15:update 14:loop 13:loop 12:loop 11:input 10:loop 9:loop 8:loop",
            "    7:input 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "commands write a state that is one list": (
        root(
            "list",
            ["in"],
            value("a", "name", returns="command"),
            value("b", "name", returns="list", goto=("c",)),
            value("c", "name", returns="object"),
        ),
        [
            "invoke in a b c",
            "stream checkpoint 4, values in a b c in, checkpoint 5, task a, updates a, result",
            "    a, values in a b c in a, checkpoint 6, task b, updates b, result b, values",
            "    in a b c in a b, checkpoint 7, task c, updates c, result c, values in a b c",
            "    in a b c, checkpoint 8",
            "stream debug checkpoint 9, values in a b c in a b c in, debug checkpoint 10,",
            "    debug task a, debug result a, values in a b c in a b c in a, debug",
            "    checkpoint 11, debug task b, debug result b, values in a b c in a b c in a",
            "    b, debug checkpoint 12, debug task c, debug result c, values in a b c in a b",
            "    c in a b c, debug checkpoint 13",
            "invoke GraphOutput in a b c in a b c in a b c in a b c",
            "update",
            "state in a b c in a b c in a b c in a b c in > b",
            "invoke in a b c in a b c in a b c in a b c in b c",
            "history 21:loop 20:loop 19:update 18:loop 17:loop 16:loop 15:loop 14:input",
            "    13:loop 12:loop 11:loop 10:loop 9:input 8:loop 7:loop 6:loop 5:loop 4:input",
            "    3:loop 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a list beside a command writes None to a state that is one value": (
        root(
            "last",
            1,
            value("a", "value", None, returns="list", goto=("c",)),
            value("b", "value", None),
            value("c", "name"),
        ),
        [
            "invoke c",
            "stream checkpoint 3, values 1, checkpoint 4, task a, updates a, result a, values",
            "    None, checkpoint 5, task b, task c, updates b, result b, updates c, result",
            "    c, values c, checkpoint 6",
            "stream debug checkpoint 7, values 1, debug checkpoint 8, debug task a, debug",
            "    result a, values None, debug checkpoint 9, debug task b, debug task c, debug",
            "    result b, debug result c, values c, debug checkpoint 10",
            "invoke GraphOutput c",
            "update",
            "state 1 > b",
            "invoke 1",
            "history 16:loop 15:update 14:loop 13:loop 12:loop 11:input 10:loop 9:loop 8:loop",
            "    7:input 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "sends to nodes of a state that is one list": (
        root(
            "list",
            ["in"],
            value("a", "name"),
            value("b", "name"),
            value("w", "name"),
            branches=(Branch("a", (("send:w", "send:w"),)),),
        ),
        [
            "invoke in a b w.0 w.1",
            "stream checkpoint 3, values in a b w.0 w.1 in, checkpoint 4, task a, updates a,",
            "    result a, values in a b w.0 w.1 in a, checkpoint 5, task w, task w, task b,",
            "    updates b, result b, result w, result w, updates w, updates w, values in a b",
            "    w.0 w.1 in a b w.0 w.1, checkpoint 6",
            "stream debug checkpoint 7, values in a b w.0 w.1 in a b w.0 w.1 in, debug",
            "    checkpoint 8, debug task a, debug result a, values in a b w.0 w.1 in a b w.0",
            "    w.1 in a, debug checkpoint 9, debug task w, debug task w, debug task b,",
            "    debug result b, debug result w, debug result w, values in a b w.0 w.1 in a b",
            "    w.0 w.1 in a b w.0 w.1, debug checkpoint 10",
            "invoke GraphOutput in a b w.0 w.1 in a b w.0 w.1 in a b w.0 w.1 in a b w.0 w.1",
            "update",
            "state in a b w.0 w.1 in a b w.0 w.1 in a b w.0 w.1 in a b w.0 w.1 in > w > w > b",
            "invoke in a b w.0 w.1 in a b w.0 w.1 in a b w.0 w.1 in a b w.0 w.1 in b w.0 w.1",
            "history 16:loop 15:update 14:loop 13:loop 12:loop 11:input 10:loop 9:loop 8:loop",
            "    7:input 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "an input schema lets its keys in": (
        graph(
            ">a",
            keys=(LOG, LAST),
            nodes=(node("a", NAME, COUNT),),
            given=Schema(("last",)),
            calls=(Call("invoke", input={"log": ["in"], "last": 5}), state, update("u"), state),
        ),
        ["invoke a", "state a", "update", "state a u"],
    ),
    "an input schema may have keys that the state has not": (
        graph(
            ">a",
            keys=(LOG, PRIVATE),
            nodes=(node("a", NAME, Write("log", "copy", "secret")),),
            given=Schema(("log", "secret"), "dataclass"),
            calls=(Call("invoke", input={"log": ["in"], "secret": "s"}), state),
        ),
        ["invoke in None", "state in None"],
    ),
    "an output schema lets its keys out": (
        graph(
            ">a",
            keys=(LOG, LAST),
            nodes=(node("a", NAME, COUNT),),
            shown=Schema(("last",)),
            calls=(start, Call("invoke", input={}, version="v2"), stream(), state),
        ),
        [
            "invoke nothing",
            "invoke GraphOutput nothing",
            "stream checkpoint 5, values in a a in, checkpoint 6, task a, updates a, result",
            "    a, values in a a in a, checkpoint 7",
            "state in a a in a",
        ],
    ),
    "an output schema that is a class": (
        graph(
            ">a",
            keys=(LOG, LAST),
            nodes=(node("a", NAME, COUNT),),
            shown=Schema(("log",), "pydantic"),
            calls=(start, Call("invoke", input={}, version="v2"), stream(version="v2")),
        ),
        [
            "invoke in a",
            "invoke GraphOutput Shown in a a",
            "stream checkpoint 5, values Shown in a a in, checkpoint 6, task a, updates a,",
            "    result a, values Shown in a a in a, checkpoint 7",
        ],
    ),
    "version 2 shows objects of the class": (
        graph(
            ">a >b",
            keys=(LOG, LAST),
            nodes=(node("a", NAME, COUNT), node("b", fails=(1,))),
            schema="dataclass",
            calls=(
                stream(modes=("values", "checkpoints", "debug"), version="v2"),
                stream(modes=("values", "checkpoints"), input=None, version="v2"),
                stream(modes=("values", "checkpoints"), version="v2", output_keys=("last",)),
                stream(modes="values", version="v2", output_keys="last"),
                Call("invoke", input={}, version="v2", output_keys=("log", "last")),
                Call("invoke", input={}, version="v2", modes=("values",)),
            ),
        ),
        [
            "stream checkpoint -1, debug checkpoint -1, values State in, checkpoint 0, debug",
            "    checkpoint 0, debug task a, debug task b, debug result a, debug result b and",
            "    raises ValueError",
            "stream values State in, checkpoint 0, values State in a b, checkpoint 1",
            "stream checkpoint 2, checkpoint 3, values State empty, checkpoint 4",
            "stream values 3",
            "invoke GraphOutput State in a b in a b in a b a b",
            "invoke values State in a b in a b in a b a b a b",
        ],
    ),
    "version 2 leaves out what an output class does not have": (
        graph(
            ">a",
            keys=(LOG, LAST),
            nodes=(node("a", NAME, COUNT),),
            shown=Schema(("log",), "dataclass"),
            calls=(stream(modes=("values",), version="v2"),),
        ),
        ["stream values Shown in and raises TypeError"],
    ),
    "version 2 shows objects of the output schema": (
        graph(
            ">a",
            keys=(LOG, LAST),
            nodes=(node("a", NAME, COUNT),),
            schema="dataclass",
            shown=Schema(("log",), "not_required"),
            calls=(
                stream(modes=("values", "checkpoints"), version="v2"),
                Call("invoke", input={}, version="v2"),
            ),
        ),
        [
            "stream checkpoint -1, values in, checkpoint 0, values in a, checkpoint 1",
            "invoke GraphOutput in a a",
        ],
    ),
    "a private key passes from node to node": (
        graph(
            ">a a>b",
            keys=(LOG, PRIVATE),
            nodes=(
                node("a", NAME, Write("secret", "name")),
                node("b", Write("log", "copy", "secret"), reads=Schema(("secret",))),
            ),
            calls=(start, stream(), state, history),
        ),
        [
            "invoke in a a",
            "stream checkpoint 3, values in a a in, checkpoint 4, task a, updates a, result",
            "    a, values in a a in a, checkpoint 5, task b, updates b, result b, values in",
            "    a a in a a, checkpoint 6",
            "state in a a in a a",
            "history 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a node reads a class of its own, by annotation or argument": (
        graph(
            ">a a>b b>c c>d",
            keys=(LOG, LAST, Key("sum", "sum")),
            nodes=tuple(
                node(name, NAME, COUNT, reads=Schema(("last", "sum"), kind), reads_by=by)
                for name, kind, by in (
                    ("a", "typed_dict", "annotation"),
                    ("b", "dataclass", "argument"),
                    ("c", "pydantic", "annotation"),
                    ("d", "not_required", "argument"),
                )
            ),
            calls=(start, stream(), stream(version="v2")),
        ),
        [
            "invoke in a b c d",
            "stream checkpoint 5, values in a b c d in, checkpoint 6, task a, updates a,",
            "    result a, values in a b c d in a, checkpoint 7, task b, updates b, result b,",
            "    values in a b c d in a b, checkpoint 8, task c, updates c, result c, values",
            "    in a b c d in a b c, checkpoint 9, task d, updates d, result d, values in a",
            "    b c d in a b c d, checkpoint 10",
            "stream checkpoint 11, values in a b c d in a b c d in, checkpoint 12, task a,",
            "    updates a, result a, values in a b c d in a b c d in a, checkpoint 13, task",
            "    b, updates b, result b, values in a b c d in a b c d in a b, checkpoint 14,",
            "    task c, updates c, result c, values in a b c d in a b c d in a b c,",
            "    checkpoint 15, task d, updates d, result d, values in a b c d in a b c d in",
            "    a b c d, checkpoint 16",
        ],
    ),
    "a send is given as it is, whatever its node reads": (
        graph(
            "",
            nodes=(
                node("w", reads=Schema(("log",), "pydantic")),
                node("v", reads=Schema(("log",), "dataclass")),
            ),
            branches=(Branch(START, (("send:w", "w", "send:v"),)),),
            calls=(stream(),),
            schema="dataclass",
        ),
        [
            "stream checkpoint -1, values in, checkpoint 0, task w, task v, task w, updates",
            "    v, result v, result w, result w, updates w, updates w, values in w w.0 v.2,",
            "    checkpoint 1",
        ],
    ),
    "a branch reads a class of its own": (
        graph(
            ">a",
            keys=(LOG, LAST),
            nodes=(node("a", NAME, COUNT),),
            branches=(
                Branch(START, (("b",), ("c",)), by="last", reads=Schema(("last",), "dataclass")),
                Branch("a", (("b",), ("c",)), by="last", reads=Schema(("last",), "pydantic")),
            ),
            calls=(start, start),
        ),
        ["invoke in a b c", "invoke in a b c in a c c"],
    ),
    "metadata stands beside a reducer": (
        graph(
            ">a a>b",
            keys=(
                Key("log", "list", extra="before"),
                Key("sum", "sum", extra="nested"),
                Key("topic", "topic", extra="after"),
                Key("any", "any", extra="before"),
                Key("added", "added", extra="after"),
            ),
            nodes=(
                node(
                    "a",
                    NAME,
                    Write("sum", "value", 1),
                    Write("topic", "name"),
                    Write("any", "name"),
                ),
                node("b", NAME, Write("sum", "value", 2), Write("added", "name")),
            ),
            calls=(start, start, history),
        ),
        [
            "invoke in a b",
            "invoke in a b in a b",
            "history 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a reducer that is not the last of the metadata is none": (
        graph(
            ">a a>b",
            keys=(Key("log", "list", extra="after"),),
            calls=(start, state),
        ),
        ["invoke b", "state b"],
    ),
    "required or not, within and without": (
        graph(
            ">a",
            keys=(
                Key("log", "list", extra="inside"),
                Key("last", "last", extra="outside"),
                Key("sum", "sum", extra="outside"),
                Key("topic", "topic", extra="inside"),
            ),
            nodes=(node("a", NAME, COUNT, Write("sum", "value", 1), Write("topic", "name")),),
            calls=(start, start, history),
            schema="not_required",
        ),
        ["invoke in a", "invoke in a in a", "history 4:loop 3:loop 2:input 1:loop 0:loop -1:input"],
    ),
    "channels by class and by instance": (
        graph(
            ">a >b a+b>c",
            keys=tuple(Key(kind, kind) for kind in ("latest", "added", "untracked", "unguarded"))
            + (LOG,),
            nodes=(
                node(
                    "a",
                    NAME,
                    Write("latest", "name"),
                    Write("added", "name"),
                    Write("untracked", "name"),
                ),
                node("b", NAME, Write("added", "name"), Write("unguarded", "name")),
                node(
                    "c",
                    Write("log", "copy", "untracked"),
                    Write("log", "copy", "unguarded"),
                    returns="pairs",
                ),
            ),
            calls=(start, stream(), history),
        ),
        [
            "invoke in a b a b",
            "stream checkpoint 3, values in a b a b in, checkpoint 4, task a, task b, updates",
            "    a, result a, updates b, result b, values in a b a b in a b, checkpoint 5,",
            "    task c, updates c, result c, values in a b a b in a b a b, checkpoint 6",
            "history 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "an untracked value is not stored": (
        graph(
            ">a a>b",
            keys=(LOG, Key("untracked", "untracked")),
            nodes=(
                node("a", NAME, Write("untracked", "name")),
                node("b", Write("log", "copy", "untracked"), fails=(1,)),
            ),
            calls=(start, state, resume, stream()),
        ),
        [
            "invoke raises ValueError",
            "state in a > b",
            "invoke in a None",
            "stream checkpoint 3, values in a None in, checkpoint 4, task a, updates a,",
            "    result a, values in a None in a, checkpoint 5, task b, updates b, result b,",
            "    values in a None in a a, checkpoint 6",
        ],
    ),
    "an input that a model refuses": (
        graph(
            ">a",
            keys=(LOG, NUMBER),
            schema="pydantic",
            calls=(Call("invoke", input={"sum": "x"}), state, Call("invoke", input={"sum": 1})),
        ),
        [
            "invoke raises ValidationError",
            "state raises ValidationError",
            "invoke raises ValidationError",
        ],
    ),
    "an input that an input model refuses": (
        graph(
            ">a",
            keys=(LOG, NUMBER),
            given=Schema(("sum",), "pydantic"),
            calls=(Call("invoke", input={"sum": "x"}), state, Call("invoke", input={"sum": 1})),
        ),
        ["invoke a", "state a", "invoke a a"],
    ),
    "an input that is none, and a resume": (
        graph(">a", calls=(Call("invoke", input=5), resume)),
        ["invoke raises InvalidUpdateError", "invoke raises InvalidUpdateError"],
    ),
    "a write that a model refuses": (
        graph(
            ">a a>b",
            keys=(LOG, NUMBER),
            nodes=(node("a", Write("sum", "refused")),),
            schema="pydantic",
            calls=(start, state),
        ),
        ["invoke raises ValidationError", "state raises ValidationError"],
    ),
    "a required key that has no value": (
        graph(
            ">a",
            keys=(LOG, Key("last", "last", required=True)),
            schema="dataclass",
            calls=(start, state, Call("invoke", input={"last": 1}), state),
        ),
        [
            "invoke raises TypeError",
            "state raises TypeError",
            "invoke raises TypeError",
            "state raises TypeError",
        ],
    ),
}
