"""What a scenario makes use of, by name; and which two of these no scenario can have at once.

A comparison is worth what it reaches. So every run of ``python -m tests.reference`` counts the
features it drew, and each two of them, and a pair that is possible has to be drawn often enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import combinations

from .scenario import (
    END,
    FORMS,
    LATEST,
    MODES,
    SCHEMAS,
    START,
    Branch,
    Call,
    Command,
    Edge,
    Inner,
    Node,
    Scenario,
    send_target,
)
from .schemas import ANNOTATIONS

ENOUGH = 20
"""So often each possible pair is drawn in a long run,"""
LONG = 20_000
"""which is one of so many scenarios. In a shorter one the numbers are projected."""


def features(scenario: Scenario) -> frozenset[str]:
    """The names of what a scenario uses. The last two calls are always the same: they are none."""
    return frozenset(_features(scenario))


def _features(scenario: Scenario) -> Iterator[str]:
    yield "saver" if scenario.saver else "no saver"
    yield f"state {scenario.schema}"
    for name, schema in {"input": scenario.given, "output": scenario.shown}.items():
        yield from [f"{name} schema {schema.kind}"] if schema else []
    for key in scenario.keys:
        yield f"key {key.kind}"
        yield from [f"annotation {key.extra}"] * bool(key.extra)
        yield from ["private key"] * key.private + ["required key"] * key.required
    for node in scenario.nodes:
        yield from _of_node(node)
    yield from ["sequence"] * (len(scenario.sequence) > 1)
    for edge in scenario.edges:
        yield _of_edge(edge)
    for branch in scenario.branches:
        yield from _of_branch(branch)
    yield from ["breakpoint"] * bool(scenario.stop_before or scenario.stop_after)
    for graph in scenario.inner:
        yield from _of_inner(graph)
    yield from ["graph in a graph"] * (len(scenario.inner) > 1)
    for call in scenario.calls[:-2]:
        yield from _of_call(call)


def _of_inner(graph: Inner) -> Iterator[str]:
    yield f"memory {graph.checkpointer}"
    yield from ["breakpoint inside"] * bool(graph.stop_before or graph.stop_after)
    yield from ["whole state goes in"] * (graph.given is None)
    for node in graph.nodes:
        yield from ["asks inside"] * bool(node.asks) + ["fails inside"] * bool(node.fails)
        yield from ["command to parent"] * node.to_parent


def _of_node(node: Node) -> Iterator[str]:
    if node.graph:
        yield ("graph", "graph called", "graph called twice")[node.called]
        if not node.called:
            return
    yield from ["asks"] * (node.asks > 0) + ["asks twice"] * (node.asks > 1)
    yield from ["fails late"] * bool(node.fails and node.fails_late)
    yield f"node {node.form}"
    yield f"returns {node.returns}"
    yield from (f"write {write.how}" for write in node.writes)
    yield from ["fails"] * bool(node.fails) + ["defer"] * node.defer
    yield from ["coroutine"] * node.coroutine + ["metadata"] * node.metadata
    yield from _of_targets(node.goto, "goto")
    if node.declares and any(not send_target(target) for target in node.goto):
        yield "goto declared"
    yield from [f"tells {node.tells}"] * bool(node.tells)
    if node.reads:
        yield f"node reads {node.reads.kind}"
        yield f"reads by {node.reads_by}"


def _of_edge(edge: Edge) -> str:
    if edge.target == END:
        return "finish point" if edge.form == "point" else "edge to END"
    if edge.form == "point":
        return "entry point"
    return "join" if len(edge.sources) > 1 else "join of one" if edge.form == "list" else "edge"


def _of_branch(branch: Branch) -> Iterator[str]:
    entry = "entry branch point" if branch.point else "entry branch"
    yield entry if branch.source == START else "branch"
    yield f"targets {branch.targets}" if branch.targets else "targets undeclared"
    yield from [f"branch reads {branch.reads.kind}"] if branch.reads else []
    for choice in branch.choices:
        yield from _of_targets(choice, "")


def _of_targets(targets: tuple[str, ...], named: str) -> Iterator[str]:
    for target in targets:
        yield from ["send"] if send_target(target) else [named] * bool(named)


def _of_call(call: Call) -> Iterator[str]:
    driver = "async" if call.asynchronous else "sync"
    yield from ["subgraphs"] * call.subgraphs
    if call.op not in ("invoke", "stream"):
        yield f"{driver} {call.op}{'' if call.inside is None else ' inside'}"
        yield from [f"as {_role(call.as_node)}"] * (call.op == "update" and call.inside is None)
        return
    kind = "start" if call.input is not None else "command" if call.command else "resume"
    yield f"{driver} {kind}{'' if call.at is LATEST else ' there'}"
    yield from ["run inside"] * (call.inside is not None)
    yield from ["breakpoint of a call"] * bool(call.stop_before or call.stop_after)
    yield from _of_command(call.command) if call.command else ()
    yield from ["run_id"] * bool(call.run_id) + ["limit"] * bool(call.recursion_limit)
    yield from [f"version {call.version}"] * (call.version != "v1")
    yield from [f"prints {call.prints}"] * bool(call.prints)
    if call.output_keys is not None:
        yield "output key" if isinstance(call.output_keys, str) else "output keys"
    yield call.op if call.modes is None or call.op == "stream" else "invoke with modes"
    yield from _shapes(call.modes)


def _of_command(command: Command) -> Iterator[str]:
    yield from ["answer"] * (command.resume is not None)
    yield from ["falsy answer"] * (command.resume is not None and not command.resume)
    yield from ["answers by id"] * (command.answers is not None)
    yield from ["command update"] * (command.update is not None)
    yield from (f"command {'send' if send_target(target) else 'goto'}" for target in command.goto)


def _shapes(modes: str | tuple[str, ...] | None) -> Iterator[str]:
    """One mode alone or in a list of one; of several, each two."""
    if modes is None:
        yield "default mode"
    elif isinstance(modes, str):
        yield f"mode {modes}"
    elif len(modes) == 1:
        yield f"mode [{modes[0]}]"
    else:
        yield from (f"modes {one}+{two}" for one, two in combinations(sorted(modes), 2))


def _role(as_node: str | None) -> str:
    if as_node is None:
        return "inferred"
    return as_node if as_node.startswith("__") or as_node == "unknown" else "node"


def _named(prefix: str, *names: str) -> list[str]:
    return [f"{prefix} {name}" for name in names]


DRIVERS = ("sync", "async")
RUNS = ("start", "resume", "command")
LOOKS = ("update", "state", "history")

FEATURES = frozenset(
    [
        *("saver", "no saver", "private key", "required key", "sequence"),
        *_named("state", *SCHEMAS, "root"),
        *_named("input schema", *SCHEMAS),
        *_named("output schema", *SCHEMAS),
        *_named("key", *ANNOTATIONS),
        *_named("annotation", "before", "after", "nested", "inside", "outside"),
        *_named("node", *FORMS),
        *_named("node reads", *SCHEMAS),
        *_named("reads by", "annotation", "argument"),
        *_named("returns", "dict", "none", "command", "pairs", "list", "object", "invalid"),
        *_named("write", "value", "name", "run", "plus", "copy", "overwrite", "refused"),
        *_named("write", "answers", "inner"),
        *("fails", "defer", "coroutine", "metadata", "goto", "goto declared", "send"),
        *_named("tells", "writer", "get"),
        *("edge", "join", "join of one", "edge to END", "entry point", "finish point"),
        *("branch", "entry branch", "entry branch point"),
        *_named("targets", "undeclared", "list", "dict", "literal", "short"),
        *_named("branch reads", *SCHEMAS),
        *(f"{driver} {what}" for driver in DRIVERS for what in RUNS),
        *(f"{driver} {what} there" for driver in DRIVERS for what in RUNS),
        *(f"{driver} {what}" for driver in DRIVERS for what in LOOKS),
        *(f"{driver} {what} inside" for driver in DRIVERS for what in LOOKS),
        *("asks", "asks twice", "fails late", "breakpoint", "breakpoint of a call"),
        *("answer", "falsy answer", "answers by id"),
        *_named("command", "update", "goto", "send"),
        *("graph", "graph called", "graph called twice", "graph in a graph", "whole state goes in"),
        *_named("memory", "None", "True", "False"),
        *("asks inside", "fails inside", "breakpoint inside", "command to parent"),
        *("subgraphs", "run inside"),
        *_named("as", "inferred", "node", "unknown", START, END, "__input__", "__copy__"),
        *("run_id", "limit", "version v2", "output key", "output keys"),
        *("invoke", "stream", "invoke with modes", "default mode"),
        *_named("prints", "values", "updates"),
        *(f"mode {mode}" for mode in MODES),
        *(f"mode [{mode}]" for mode in MODES),
        *(f"modes {one}+{two}" for one, two in combinations(sorted(MODES), 2)),
    ]
)
"""All that there is to draw, so that what is never drawn is missed."""

WHOLE = "a state that is a single value has no keys"
HELD = "the reference cannot hash the instance of a channel, nor run nodes without the only value"
PARTIAL = "a key may be absent in a TypedDict only"
ONE_GRAPH = "one node of the outermost graph has a graph; another one may be in that"

IMPOSSIBLE = (
    ("saver", "no saver", "a graph has a saver or it has none"),
    ("state *", "state *", "a state has one class"),
    ("input schema *", "input schema *", "a graph has one input schema"),
    ("output schema *", "output schema *", "a graph has one output schema"),
    ("coroutine", "sync *", "a sync run refuses a coroutine node; a named case shows it"),
    ("graph", "graph called*", ONE_GRAPH),
    ("graph called", "graph called twice", ONE_GRAPH),
    ("graph", "write inner", "a node that is a graph writes what the graph returns"),
    ("state root", "* schema *", WHOLE),
    ("state root", "node reads *", WHOLE),
    ("state root", "branch reads *", WHOLE),
    ("state root", "reads by *", WHOLE),
    ("state root", "private key", WHOLE),
    ("state root", "required key", WHOLE),
    ("state root", "output keys", WHOLE),
    ("state root", "returns pairs", WHOLE),
    ("state root", "annotation [io]*", WHOLE),
    *(("state root", f"key {kind}", HELD) for kind in ("any", "ephemeral", "unguarded")),
    *(("state root", f"key {kind}", HELD) for kind in ("topic", "collected", "added")),
    ("state root", "command update", "an update has keys"),
    ("state dataclass", "annotation [io]*", PARTIAL),
    ("state pydantic", "annotation [io]*", PARTIAL),
)
"""Patterns of two features that exclude each other, and why."""


def impossible(one: str, other: str) -> str | None:
    """Why no scenario can have both, or None where one can.

    >>> impossible("no saver", "saver")
    'a graph has a saver or it has none'
    """
    for left, right, reason in IMPOSSIBLE:
        for pair in ((one, other), (other, one)):
            if fnmatchcase(pair[0], left) and fnmatchcase(pair[1], right):
                return reason
    return None
