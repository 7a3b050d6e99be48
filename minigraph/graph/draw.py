"""Draw: from declared nodes and edges to a drawing of them.

Compiling turns every edge into channels and writes, and a path function into something that
only answers when it is called. So a drawing is made of the words in which a graph was declared:

    add_edge                     ─▶   a ──▶ b
    a list edge                  ─▶   an edge from each of its sources
    add_conditional_edges        ┄▶   a dashed edge for each target, with its labels;
                                      to every node and END if no targets are known
    Command[Literal["b"]],       ┄▶   a dashed edge for each target
    destinations=
    nothing of all this          ─▶   a ──▶ END
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigraph.constants import END, START
from minigraph.pregel.drawing import Drawing, Edge, Node, noted
from minigraph.pregel.interrupts import Breakpoints

if TYPE_CHECKING:
    from minigraph.graph.declaration import Declaration


def drawing_of(declared: Declaration, before: Breakpoints, after: Breakpoints) -> Drawing:
    """The drawing of a graph.

    Args:
        declared: its nodes and edges.
        before, after: the nodes at which its runs stop.
    """
    edges = dict.fromkeys(Edge(start, end) for start, end in declared.edges)
    edges |= dict.fromkeys(Edge(start, end) for starts, end in declared.joins for start in starts)
    labels: dict[tuple[str, str], dict[str, None]] = {}

    def may_lead(source: str, target: str, label: object) -> None:
        found = labels.setdefault((source, target), {})
        if str(label) not in ("", target):
            found[str(label)] = None

    for source, branches in declared.branches.items():
        for branch in branches.values():
            ends = {name: name for name in (*declared.nodes, END)}
            for choice, target in (ends if branch.ends is None else branch.ends).items():
                may_lead(source, target, choice)
    for name, spec in declared.nodes.items():
        for target, label in spec.destinations.items():
            may_lead(name, target, label)
    edges |= dict.fromkeys(
        Edge(*ends, ", ".join(found) or None, True) for ends, found in labels.items()
    )
    going_on = {edge.source for edge in edges}
    edges |= dict.fromkeys(Edge(name, END) for name in declared.nodes if name not in going_on)

    nodes = [
        Node(name, name, noted(name, spec.metadata, before=before, after=after, defer=spec.defer))
        for name, spec in declared.nodes.items()
    ]
    last = [Node(END, END)] if any(edge.target == END for edge in edges) else []
    return Drawing([Node(START, START), *nodes, *last], edges)
