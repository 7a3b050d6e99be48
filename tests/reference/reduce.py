"""From a scenario that shows a difference to a small one that shows the same difference.

Leave out one thing at a time, as long as the transcripts still part at the same kind of place.
This knows what a scenario is made of, so it gets further, and sooner, than hypothesis can.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from .differences import Mismatch, judge
from .scenario import Branch, Edge, Inner, Node, Scenario, send_target


def reduce(scenario: Scenario, mismatch: Mismatch, package: str) -> tuple[Scenario, Mismatch]:
    """The smallest scenario found, and what still differs there."""
    found = True
    while found:
        found = False
        for smaller in simpler(scenario):
            verdict = judge(smaller, package)
            if isinstance(verdict, Mismatch) and _place(verdict) == _place(mismatch):
                scenario, mismatch, found = smaller, verdict, True
                break
    return scenario, mismatch


def _place(mismatch: Mismatch) -> tuple[str, str]:
    return mismatch.call, re.sub(r"\d+", "", mismatch.path)


def simpler(scenario: Scenario) -> Iterator[Scenario]:
    """Every scenario that is simpler than `scenario` by one thing."""
    for node in scenario.nodes:
        yield _without_node(scenario, node.name)
    whole: Any = scenario  # its fields are read and replaced by name
    for number, graph in enumerate(scenario.inner):
        for smaller in _simpler_inner(graph):
            graphs = (*scenario.inner[:number], smaller, *scenario.inner[number + 1 :])
            yield replace(scenario, inner=graphs)
    for field in ("calls", "edges", "branches", "keys"):
        for fewer in _one_less(getattr(whole, field)):
            if fewer or field != "keys":  # a state without keys is another matter
                yield replace(whole, **{field: fewer})
    for field in ("schema", "given", "shown", "sequence", "saver", "stop_before", "stop_after"):
        plain = getattr(Scenario, field)
        if getattr(whole, field) != plain:
            yield replace(whole, **{field: plain})
    for field in ("nodes", "edges", "branches", "calls", "keys"):
        parts = getattr(whole, field)
        for number, part in enumerate(parts):
            for plainer in _plainer(part):
                yield replace(whole, **{field: (*parts[:number], plainer, *parts[number + 1 :])})


def _simpler_inner(graph: Inner) -> Iterator[Inner]:
    """The same for a graph in a node. (One that no node has does no harm.)"""
    alone = Scenario(nodes=graph.nodes, edges=graph.edges, branches=graph.branches)
    for smaller in simpler(alone):
        if smaller.nodes:
            parts = {"nodes": smaller.nodes, "edges": smaller.edges, "branches": smaller.branches}
            yield replace(graph, **parts)
    for field in ("checkpointer", "given", "shown", "stop_before", "stop_after"):
        plain = getattr(Inner, field)
        if getattr(graph, field) != plain:
            yield replace(graph, **{field: plain})


def _plainer(part: Any) -> Iterator[Any]:
    """`part` with one of its fields as by default, or with one item less in it."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if field.default is not dataclasses.MISSING and value != field.default:
            yield replace(part, **{field.name: field.default})
        if isinstance(value, tuple) and len(value) > 1:
            for fewer in _one_less(value):
                yield replace(part, **{field.name: fewer})
    if isinstance(part, Branch):
        for number, choice in enumerate(part.choices):
            for fewer in _one_less(choice):
                choices = (*part.choices[:number], fewer, *part.choices[number + 1 :])
                yield replace(part, choices=choices)


def _without_node(scenario: Scenario, name: str) -> Scenario:
    def others(targets: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(t for t in targets if name not in (t, send_target(t)))

    def node(node: Node) -> Node:
        return replace(node, goto=others(node.goto))

    def edge(edge: Edge) -> Edge:
        return replace(edge, sources=others(edge.sources))

    def branch(branch: Branch) -> Branch:
        return replace(branch, choices=tuple(map(others, branch.choices)))

    return replace(
        scenario,
        nodes=tuple(node(n) for n in scenario.nodes if n.name != name),
        sequence=others(scenario.sequence),
        edges=tuple(edge(e) for e in scenario.edges if name != e.target and others(e.sources)),
        branches=tuple(branch(b) for b in scenario.branches if b.source != name),
    )


def _one_less(items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    for number in range(len(items)):
        yield (*items[:number], *items[number + 1 :])
