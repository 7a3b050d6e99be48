"""Short ways to write a scenario, and to say what came of it: the words of the tables of cases."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import Any

from .chunks import opened
from .scenario import END, START, Call, Edge, Key, Node, Scenario, Write, send_target
from .transcript import Entry

WIDTH = 80

LOG = Key("log")
NAME = Write("log", "name")
RUN = Write("log", "run")

start = Call("invoke", input={"log": ["in"]})
resume = Call("invoke")
state = Call("state")
history = Call("history")


def resume_at(at: int | str) -> Call:
    return Call("invoke", at=at)


def state_at(at: int | str) -> Call:
    return Call("state", at=at)


def update(item: str | None = None, **more: Any) -> Call:
    """An update that appends `item` to the log."""
    return Call("update", **({"input": item and {"log": [item]}} | more))


def node(name: str, *writes: Write, **more: Any) -> Node:
    """A node that appends its name to the log, unless told to write something else."""
    return Node(name, writes=writes or (NAME,), **more)


def graph(text: str, **more: Any) -> Scenario:
    """A scenario from edges such as ``>a a>b a+b>c``: from START to a, a to b, a join of both.

    There is one list key, and a plain `node` for every name that is mentioned and not given.
    """
    pairs = [pair.split(">") for pair in text.split()]
    edges = tuple(Edge(tuple((sources or START).split("+")), target) for sources, target in pairs)
    given = {node.name: node for node in more.pop("nodes", ())}
    names = [name for edge in edges for name in (*edge.sources, edge.target)]
    choices = [choice for branch in more.get("branches", ()) for choice in branch.choices]
    names += [
        target for choice in [*choices, *(n.goto for n in given.values())] for target in choice
    ]
    plain = {send_target(name) or name for name in names} - {START, END, "unknown"}
    nodes = {name: node(name) for name in sorted(plain)} | given
    parts = {"keys": (LOG,), "nodes": tuple(nodes.values()), "edges": edges, "calls": (start,)}
    return Scenario(**(parts | more))


def gist(scenario: Scenario, entries: list[Entry]) -> list[str]:
    """One line for each call: what came back, as shortly as it can be said.

    A long line goes on, indented, in the next ones.
    """
    if entries[0]["call"] == "build":
        return [f"build raises {entries[0]['raises']}"]
    told = [_line(call, entry) for call, entry in zip(scenario.calls, entries)]
    return [part for line in told for part in wrap(line, WIDTH, subsequent_indent="    ")]


def _line(call: Call, entry: Entry) -> str:
    told = ", ".join(_word(*opened(made, call)) for made in entry.get("chunks", []))
    if "raises" in entry:
        return f"{call.op} {told}{' and ' * bool(told)}raises {entry['raises']}"
    if "chunks" in entry:
        return f"{call.op} {told or 'nothing'}"
    match call.op:
        case "invoke":
            return f"invoke {_log(entry['result'])}"
        case "state":
            values, following = entry["state"]["values"], entry["state"]["next"]["tuple"]
            return " ".join(["state", _log(values), *(f"> {name}" for name in following)])
        case "history":
            return " ".join(["history", *map(_row, entry["history"])])
    return call.op


def _word(mode: str, payload: Any) -> str:
    """A chunk: its mode, and what it tells of."""
    if mode == "debug":
        return "debug " + _word(
            "checkpoints" if payload["type"] == "checkpoint" else "tasks", payload["payload"]
        )
    if mode == "values":
        return f"values {_log(payload)}"
    if mode == "checkpoints":
        return f"checkpoint {payload['metadata']['step']}"
    if mode == "tasks":
        return f"{'task' if 'input' in payload else 'result'} {payload['name']}"
    if mode == "custom":
        return f"custom {payload['node']}"
    cached = " again" * ("__metadata__" in payload)
    return " ".join(["updates", *(name for name in payload if name != "__metadata__")]) + cached


def _log(values: Any) -> str:
    """The log among `values`, which may be an object, or a value that is all of the state."""
    if isinstance(values, dict) and "object" in values:
        name, values = values["object"]
        values = values["value"] if name == "GraphOutput" else values
        return f"{name} {_log(values)}"
    log = (values or {}).get("log", ["nothing"]) if isinstance(values, dict) else values
    words = " ".join(map(str, log)) if isinstance(log, list) else str(log)
    return re.sub(r"@\w+", "", (words or "empty") + _questions(values))


def _questions(values: Any) -> str:
    """What is asked, beside values."""
    found = values.get("__interrupt__", []) if isinstance(values, dict) else []
    asked = found["tuple"] if isinstance(found, dict) else found
    return "".join(f" {each['interrupt'][0]}" for each in asked)


def _row(state: Entry) -> str:
    return f"{state['metadata']['step']}:{state['metadata']['source']}"
