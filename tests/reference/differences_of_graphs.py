"""What differs where graphs are nodes of graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .case import Case, Difference
from .scenario import UPDATED, Call, Node


def _runs_inside(case: Case) -> Iterator[Call]:
    """The runs so far that start from a place inside of a graph in a node."""
    updated_inside = False
    for call in case.scenario.calls[: case.number + 1]:
        if call.op == "update":
            updated_inside = call.inside is not None or (updated_inside and call.at == UPDATED)
        there = call.inside is not None or (call.at == UPDATED and updated_inside)
        if there and call.op in ("invoke", "stream"):
            yield call


def _replay_inside(case: Case) -> bool:
    """A run from inside of a graph that takes its parent's saver."""
    inherits = any(graph.checkpointer is None for graph in case.scenario.inner)
    return inherits and any(_runs_inside(case))


def _memory_gone_back_to_twice(case: Case) -> bool:
    """In the reference two visits to one memory begin where the run from inside began."""
    began: dict[tuple[str, str], set[str]] = {}
    for row in case.reference[-1].get("stored", []):
        parents, place = row["metadata"].get("parents", {}), row["namespace"]
        if place in parents and parents[place] == row["parent"]:
            began.setdefault((place, row["parent"]), set()).add(parents[""])
    return any(_runs_inside(case)) and any(len(visits) > 1 for visits in began.values())


def _parents_of_a_root(case: Case) -> bool:
    """Without the parents of checkpoints, all is equal; and a root of the reference's has one."""
    one, two = case.reference[case.number], case.other[case.number]
    roots = [row for row in case.reference[-1].get("stored", []) if row["namespace"] == ""]
    some = any(row["metadata"].get("parents") for row in roots)
    return some and _without_parents(one) == _without_parents(two)


def _without_parents(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {
            key: item for key, item in value.items() if key not in ("parents", "checkpoint_map")
        }
        return {key: _without_parents(item) for key, item in kept.items()}
    return [_without_parents(item) for item in value] if isinstance(value, list) else value


def _forgetful_graph_asks(case: Case) -> bool:
    """A graph that keeps nothing, with nodes that ask, when there was an answer."""
    forgets = [graph for graph in case.scenario.inner if graph.checkpointer is False]
    asks = any(node.asks for graph in case.scenario.inner for node in graph.nodes)
    answered = any(call.command for call in case.scenario.calls[: case.number + 1])
    return bool(forgets) and asks and answered


def _kept_below_what_keeps_nothing(case: Case) -> bool:
    """In the reference there is a place in a graph that keeps nothing, which ours has not."""
    forgets = [graph for graph in case.scenario.inner if graph.checkpointer is False]
    graphs = {node.name for graph in forgets for node in graph.nodes if node.graph}
    theirs, ours = (
        {row["namespace"] for row in entries[-1].get("stored", [])}
        for entries in (case.reference, case.other)
    )
    levels = (level for place in theirs - ours for level in place.split("|"))
    return any(level.split(":")[0] in graphs for level in levels)


def _input_of_a_graph_with_a_memory(case: Case) -> bool:
    """A run goes on, and a graph with a memory runs in ours, which in the reference does not. Or it
    has taken its input, and stands at a breakpoint."""
    inside = {
        node.name
        for graph in case.scenario.inner
        if any(each.checkpointer is True for each in case.scenario.inner)
        for node in graph.nodes
    }
    one, two = case.reference[case.number].get("ran", {}), case.other[case.number].get("ran", {})
    goes_on = case.call.op in ("invoke", "stream") and case.call.input is None
    more = any(two.get(name, 0) > one.get(name, 0) for name in inside)
    return goes_on and (
        more or _inputs_of_memories(case.other) > _inputs_of_memories(case.reference)
    )


def _inputs_of_memories(entries: list[Any]) -> int:
    rows = [row for row in entries[-1].get("stored", []) if row["metadata"]["source"] == "input"]
    levels = [row["namespace"].split("|")[-1] for row in rows]
    return sum(level != "" and ":" not in level for level in levels)


def _commands_to_a_parent(case: Case) -> bool:
    """A task that sends Commands to its parent wrote more in ours than in the reference."""
    if not any(node.to_parent for graph in case.scenario.inner for node in graph.nodes):
        return False
    rows = zip(case.reference[-1].get("stored", []), case.other[-1].get("stored", []))
    return any(len(one["writes"]) < len(two["writes"]) for one, two in rows)


def _graph_is_given_a_dict(case: Case) -> bool:
    """Without the name of the state's class, all is equal; or the object that the reference gives
    to a graph has keys without a value, which write None there."""
    graphs = any(node.graph and not node.called for node in _nodes(case))
    objects = case.scenario.schema in ("dataclass", "pydantic")
    return graphs and objects and (_gives_none(case) or _alike_without_classes(case))


def _gives_none(case: Case) -> bool:
    """What a graph was given is stored. Of one that keeps nothing, nobody knows: it has run."""
    so_far = case.reference[: case.number + 1]
    ran = {name.split("@")[0] for entry in so_far for name in entry.get("ran", {})}
    for graph in case.scenario.inner:
        keeps_nothing = not case.scenario.saver or graph.checkpointer is False
        if keeps_nothing and ran & {node.name for node in graph.nodes}:
            return True
    rows = [row for row in case.reference[-1].get("stored", []) if row["namespace"]]
    given = [row["values"].get("__start__") for row in rows]
    return any("object" in one and None in one["object"][1].values() for one in given if one)


def _inner_graph_tells_dicts(case: Case) -> bool:
    inner = bool(case.scenario.inner) and case.call.subgraphs and case.call.version == "v2"
    return inner and _alike_without_classes(case)


def _nodes(case: Case) -> Iterator[Node]:
    for graph in (case.scenario, *case.scenario.inner):
        yield from graph.nodes


def _alike_without_classes(case: Case) -> bool:
    """Without classes all is equal; and without what only an object has, keys without a value."""
    one, two = case.reference[case.number], case.other[case.number]
    return _without_classes(one) == _without_classes(two)


def _without_classes(value: Any) -> Any:
    if isinstance(value, dict):
        if "object" in value and value["object"][0] in ("State", "Shown"):
            return _without_classes(value["object"][1])
        return {k: _without_classes(item) for k, item in value.items() if item is not None}
    if isinstance(value, str):  # a printed line
        return re.sub(r"(, )?'\w+': None", "", value).replace("{, ", "{")
    return [_without_classes(item) for item in value] if isinstance(value, list) else value


GRAPHS = (
    Difference("A checkpoint inside of a graph in a node", _replay_inside),
    Difference("A place inside is gone back to once", _memory_gone_back_to_twice),
    Difference("The root of a thread has no parents", _parents_of_a_root),
    Difference("Inner graphs that keep nothing", _forgetful_graph_asks),
    Difference("Nothing below a graph that keeps nothing is kept", _kept_below_what_keeps_nothing),
    Difference("An inner graph with a memory gets its input", _input_of_a_graph_with_a_memory),
    Difference("A graph as a node is given a dict", _graph_is_given_a_dict),
    Difference("In version 2 inner graphs tell", _inner_graph_tells_dicts),
    Difference("All Commands to a parent count", _commands_to_a_parent),
)
