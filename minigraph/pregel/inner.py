"""Which graph is in a node?

A node may be a graph. Or its function calls one, and then it knows the graph by a name from
outside of the function: one of the module, or of a function around it. That can be looked up
without running anything, so a graph's inner graphs are known as soon as it is made (SB-16).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minigraph.pregel.layout import Layout
from minigraph.pregel.node import Graph, UserFunction


def graphs_in(layout: Layout) -> Mapping[str, Graph]:
    """The nodes of a graph that have a graph in them, by name."""
    if layout.graphs is None:
        found = ((n, inner_graph(node.bound)) for n, node in layout.nodes.items() if node.bound)
        layout.graphs = {name: graph for name, graph in found if graph is not None}
    return layout.graphs


def inner_graph(function: UserFunction) -> Graph | None:
    """The graph that this is, or that it calls."""
    return function.graph or graph_in(function.function)


def graph_in(function: Callable[..., Any]) -> Graph | None:
    """The first graph that a function knows by a name from outside of it (SB-16)."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    known: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, getattr(function, "__closure__", None) or ()):
        try:
            known[name] = cell.cell_contents
        except ValueError:  # it has no value yet
            pass
    around = getattr(function, "__globals__", {})
    found = (known.get(name, around.get(name)) for name in (*code.co_freevars, *code.co_names))
    return next((each for each in found if isinstance(each, Graph)), None)
