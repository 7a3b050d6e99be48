"""A graph, to look at: its nodes, its edges, and what can be drawn of them.

    graph.get_graph() ─▶ Drawing ─┬▶ draw_ascii      a picture in characters
                                  ├▶ draw_mermaid    a text from which others make a picture
                                  └▶ to_json         plain data

A drawing shows what was declared, before anything runs. It cannot know where a path function
will go, or a `Command`: such edges are dashed, and lead to all the nodes that were announced.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from minigraph.constants import END, START
from minigraph.pregel.interrupts import Breakpoints
from minigraph.pregel.layout import Layout
from minigraph.pregel.sketch import Arrow, Box, sketch

STOPS: Final = "__interrupt"
"""The entry of a node's metadata that tells where a run stops: ``before,after``."""


class Node(NamedTuple):
    """A node in a drawing. Its metadata are the user's, and notes: ``defer``, ``__interrupt``."""

    id: str
    name: str
    metadata: Mapping[str, Any] | None = None


class Edge(NamedTuple):
    """An edge in a drawing: from one node's id to another's.

    Fields:
        source, target: where it starts and ends.
        data: its label.
        conditional: whether it may be taken, or may not; drawn dashed.
    """

    source: str
    target: str
    data: str | None = None
    conditional: bool = False


class NodeStyles(NamedTuple):
    """How Mermaid is to paint nodes, in its words (CSS): all, the first, and the last."""

    default: str = "fill:#f2f0ff,line-height:1.2"
    first: str = "fill-opacity:0"
    last: str = "fill:#bfb6fc"


def place_in_list(edge: Edge) -> tuple[bool, str, str, bool, str]:
    ends_it = edge.target == END and not edge.conditional
    return ends_it, edge.source, edge.target, edge.conditional, edge.data or ""


class Drawing:
    """The nodes of a graph by their ids, and its edges (MR-11).

    Edges are sorted by the ids at their ends. Those that simply lead to END are the last.

    >>> from minigraph.graph import END, START, StateGraph
    >>> builder = StateGraph(int).add_node("increment", lambda n: n + 1)
    >>> drawing = builder.add_edge(START, "increment").compile().get_graph()
    >>> drawing.edges[0]
    Edge(source='__start__', target='increment', data=None, conditional=False)
    >>> drawing.print_ascii()
    ╭───────────╮
    │ __start__ │
    ╰─────┬─────╯
          ▼
    ┌───────────┐
    │ increment │
    └─────┬─────┘
          ▼
     ╭─────────╮
     │ __end__ │
     ╰─────────╯
    """

    def __init__(self, nodes: Iterable[Node], edges: Iterable[Edge]) -> None:
        self.nodes = {node.id: node for node in nodes}
        self.edges = sorted(edges, key=place_in_list)

    def to_json(self) -> dict[str, list[dict[str, Any]]]:
        """Nodes and edges as plain data; what says nothing is left out."""
        nodes = [{"id": id} | ({"metadata": m} if m else {}) for id, _, m in self.nodes.values()]
        edges = []
        for source, target, label, conditional in self.edges:
            edge: dict[str, Any] = {"source": source, "target": target}
            if label is not None:
                edge["data"] = label
            if conditional:
                edge["conditional"] = True
            edges.append(edge)
        return {"nodes": nodes, "edges": edges}

    # ------------------------------------------------------------ characters

    def draw_ascii(self, *, width: int = 100, unicode: bool = True) -> str:
        """A picture of boxes and arrows, from top to bottom. An arrow that is dashed may be taken.

        Args:
            width: a graph that needs more columns has its parallel nodes stacked in one box; one
                that still does, or has many nodes, becomes a list of edges.
            unicode: False to draw with ASCII characters only, whatever the nodes are called.
        """
        boxes = {}
        for id, name, metadata in self.nodes.values():
            notes = ["deferred"] if (metadata or {}).get("defer") is True else []
            if metadata and STOPS in metadata:
                notes.append(f"stop {metadata[STOPS].replace(',', ' and ')}")
            boxes[id] = Box(name, tuple(notes), round=id in (START, END))
        arrows = [Arrow(*edge[:2], edge.data or "", edge.conditional) for edge in self.edges]
        return sketch(boxes, arrows, width=width, ascii=not unicode)

    def print_ascii(self) -> None:
        """Print `draw_ascii`, with the characters that the standard output has."""
        encoding = sys.stdout.encoding or "utf-8"
        text = self.draw_ascii()
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            text = self.draw_ascii(unicode=False).encode(encoding, "replace").decode(encoding)
        print(text)

    # ------------------------------------------------------------ Mermaid

    def draw_mermaid(
        self,
        *,
        with_styles: bool = True,
        curve_style: str = "linear",
        node_colors: NodeStyles | None = None,
        wrap_label_n_words: int = 9,
        frontmatter_config: Mapping[str, Any] | None = None,
    ) -> str:
        """The graph as a Mermaid document, for whatever renders these (mermaid.js.org).

        Args:
            with_styles: False for the edges alone, without shapes and colours.
            curve_style: how edges bend: ``"linear"``, ``"basis"``, ``"step"`` …
            node_colors: how nodes are painted.
            wrap_label_n_words: break an edge's label after so many words.
            frontmatter_config: more configuration, to stand above the graph.

        Names that mean something to Mermaid are written so that they do not.

        >>> drawing = Drawing([Node("a", "a"), Node("b", "b")], [Edge("a", "b", "yes", True)])
        >>> drawing.draw_mermaid(with_styles=False)
        'graph TD;\\n\\ta -. &nbsp;yes&nbsp; .-> b;\\n'
        """
        ids: dict[str, str] = {}
        for id in self.nodes:
            safe = mermaid_id(id)
            while safe in ids.values():  # "ab" and "äb" are told apart by one digit at best
                safe += "_"
            ids[id] = safe
        lines = ["graph TD;"]
        if with_styles:
            config = dict(frontmatter_config or {})
            inner = dict(config.get("config", {}))
            inner["flowchart"] = {"curve": curve_style} | dict(inner.get("flowchart", {}))
            lines = ["---", *yaml({**config, "config": inner}), "---", *lines]
            lines += [f"\t{mermaid_node(ids[node.id], node)}" for node in self.nodes.values()]
        for source, target, label, conditional in self.edges:
            arrow = mermaid_arrow(label, conditional, wrap_label_n_words)
            lines.append(f"\t{ids[source]} {arrow} {ids[target]};")
        if with_styles:
            styles = (node_colors or NodeStyles())._asdict()
            lines += [f"\tclassDef {name} {style}" for name, style in styles.items()]
        return "\n".join([*lines, ""])


KEYWORD: Final = re.compile(  # of Mermaid; and what every JavaScript object has a meaning for
    r"(?<![A-Za-z_])"
    r"(?=(?:graph|flowchart|subgraph|end|style|linkStyle|classDef|class|click|href|call|"
    r"interpolate|default|_self|_blank|_parent|_top|"
    r"constructor|toString|valueOf|hasOwnProperty|__proto__)(?![A-Za-z0-9_]))."
)
UNQUOTED: Final = re.compile(r"\w[\w ,.=/'?!-]*")
UNQUOTED_LABEL: Final = re.compile(r"\w+(?:(?:,? |[,'/-])\w+)*[?!,]?")


def mermaid_id(name: str) -> str:
    r"""A name as Mermaid can have it: what would be syntax is written as its code point.

    >>> mermaid_id("my node"), mermaid_id("end"), mermaid_id("the-end"), mermaid_id("a--b")
    ('my\\20node', '\\65nd', 'the-\\65nd', 'a\\2d\\2db')
    """

    def code(found: re.Match[str]) -> str:
        return "".join(f"\\{ord(character):x}" for character in found[0])

    return KEYWORD.sub(code, re.sub(r"[^A-Za-z0-9_-]|^-|-$|--+", code, name))


def escaped(text: str) -> str:
    """Text as it can stand between quotes in Mermaid."""
    text = re.sub(r"[^\S\n]|[\x00-\x08\x0e-\x1f\x7f]", " ", text)  # signs that steer a terminal
    text = re.sub(r'[#"&<>`%]', lambda found: f"#{ord(found[0])};", text)
    # Two $$ begin a formula, and \\n is a new line; but not with something invisible in between.
    return re.sub(r"[$\\]", r"\g<0>#8203;", text).replace("\n", "<br/>")


def mermaid_node(id: str, node: Node) -> str:
    """A node's line: its shape, its name, and its metadata in small letters."""
    notes = []
    for key, value in (node.metadata or {}).items():
        if isinstance(value, (list, tuple)):
            value = ", ".join(map(str, value))
        if isinstance(value, (str, int, float)):
            notes.append((key, str(value)))
    plain = all(UNQUOTED.fullmatch(text) for note in [(node.name,), *notes] for text in note)
    own = str if plain else escaped
    # Mermaid would take underscores on both sides for emphasis.
    emphasis = not plain or (node.name.startswith("_") and node.name.endswith("_"))
    text = f"<p>{own(node.name)}</p>" if emphasis else own(node.name)
    if notes:
        small = "\n".join(f"{own(key)} = {own(value)}" for key, value in notes)
        text += f"<hr/><small><em>{small}</em></small>"
    text = text if plain else f'"{text}"'
    if id in (START, END):
        return f"{id}([{text}]):::{'first' if id == START else 'last'}"
    return f"{id}({text})"


def mermaid_arrow(label: str | None, conditional: bool, words_in_line: int) -> str:
    if not label:
        return "-.->" if conditional else "-->"
    words = label.split()
    lines = [
        " ".join(words[start : start + words_in_line])
        for start in range(0, len(words), words_in_line)
    ]
    plain = all(map(UNQUOTED_LABEL.fullmatch, lines))
    text = "&nbsp<br>&nbsp".join(lines if plain else map(escaped, lines))
    text = f"&nbsp;{text}&nbsp;" if plain else f'"&nbsp;{text}&nbsp;"'
    return f"-. {text} .->" if conditional else f"-- {text} -->"


def yaml(value: Any, indent: str = "") -> list[str]:
    """The lines of a YAML document.

    >>> print(*yaml({"config": {"look": "handDrawn", "wrap": True, "n": [1]}}), sep="\\n")
    config:
      look: handDrawn
      n:
      - 1
      wrap: true
    """
    lines = []
    pairs = value.items() if isinstance(value, Mapping) else ((None, each) for each in value)
    for key, each in sorted(pairs) if isinstance(value, Mapping) else pairs:
        head = f"{indent}-" if key is None else f"{indent}{scalar(key)}:"
        if isinstance(each, (Mapping, list, tuple)) and each:
            lines.append(head)
            deeper = isinstance(each, Mapping) or key is None
            lines += yaml(each, f"{indent}  " if deeper else indent)
        else:
            lines.append(f"{head} {scalar(each)}")
    return lines


def scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "null"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (Mapping, list, tuple)):
        return "{}" if isinstance(value, Mapping) else "[]"
    words = re.fullmatch(r"[A-Za-z][\w-]*", str(value))
    if words and str(value).lower() not in ("true", "false", "null", "yes", "no", "on", "off"):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


# ---------------------------------------------------------------- from a graph


def noted(
    name: str,
    metadata: Mapping[str, Any],
    *,
    before: Breakpoints,
    after: Breakpoints,
    defer: bool = False,
) -> dict[str, Any] | None:
    """A node's metadata in a drawing: with notes on what is special about it."""
    notes: dict[str, Any] = {**metadata, "defer": True} if defer else dict(metadata)
    stops = [
        when
        for when, names in (("before", before), ("after", after))
        if names == "*" or name in names
    ]
    if stops:
        notes[STOPS] = ",".join(stops)
    return notes or None


def wiring(layout: Layout, before: Breakpoints, after: Breakpoints) -> Drawing:
    """A graph that was put together by hand: who writes to a channel that starts whom.

    Edges are labelled with these channels. Only writes that a node always makes are known.
    """
    outputs = set(layout.output_channels.names)
    edges: dict[tuple[str, str], list[str]] = {}

    def write(source: str, channel: str) -> None:
        targets = layout.listeners.get(channel, [])
        for target in [*targets, END] if channel in outputs and source != START else targets:
            edges.setdefault((source, target), []).append(channel)

    for channel in layout.input_channels.names:
        write(START, channel)
    for name, node in layout.nodes.items():
        for channel in dict.fromkeys((*node.targets, *(channel for channel, _ in node.edges))):
            write(name, channel)
    nodes = [
        Node(name, name, noted(name, node.metadata, before=before, after=after))
        for name, node in layout.nodes.items()
    ]
    ends = [Node(END, END)] if any(target == END for _, target in edges) else []
    return Drawing(
        [Node(START, START), *nodes, *ends],
        [Edge(*ends, ", ".join(channels)) for ends, channels in edges.items()],
    )
