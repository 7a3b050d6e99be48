"""A graph, to look at: what can be drawn of nodes and edges."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pytest

from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.constants import END, START
from minigraph.pregel import Pregel
from minigraph.pregel.drawing import Drawing, Edge, Node, NodeStyles, mermaid_id, yaml
from minigraph.pregel.node import PregelNode
from minigraph.pregel.selection import Selection


def drawing(*edges: Edge, **metadata: dict[str, Any]) -> Drawing:
    names = dict.fromkeys(name for edge in edges for name in edge[:2])
    return Drawing([Node(name, name, metadata.get(name)) for name in names], edges)


CHOICE = drawing(
    Edge(START, "a"),
    Edge("a", END, "enough, it is", True),
    Edge("a", "b", None, True),
    Edge("b", "a"),
)


class TestMermaid:
    """MR-11."""

    def test_a_document(self) -> None:
        assert CHOICE.draw_mermaid() == (
            """\
---
config:
  flowchart:
    curve: linear
---
graph TD;
	__start__([<p>__start__</p>]):::first
	a(a)
	__end__([<p>__end__</p>]):::last
	b(b)
	__start__ --> a;
	a -. &nbsp;enough, it is&nbsp; .-> __end__;
	a -.-> b;
	b --> a;
	classDef default fill:#f2f0ff,line-height:1.2
	classDef first fill-opacity:0
	classDef last fill:#bfb6fc
"""
        )

    def test_its_options(self) -> None:
        text = CHOICE.draw_mermaid(
            curve_style="basis",
            node_colors=NodeStyles(default="fill:#fff"),
            wrap_label_n_words=2,
            frontmatter_config={"config": {"theme": "neutral"}, "title": "It's"},
        )

        assert text.startswith(
            "---\nconfig:\n  flowchart:\n    curve: basis\n  theme: neutral\ntitle: 'It''s'\n---\n"
        )
        assert "\ta -. &nbsp;enough, it&nbsp<br>&nbspis&nbsp; .-> __end__;\n" in text
        assert "\tclassDef default fill:#fff\n\tclassDef first fill-opacity:0\n" in text

    def test_without_styles(self) -> None:
        assert CHOICE.draw_mermaid(with_styles=False, wrap_label_n_words=1) == (
            "graph TD;\n"
            "\t__start__ --> a;\n"
            "\ta -. &nbsp;enough,&nbsp<br>&nbspit&nbsp<br>&nbspis&nbsp; .-> __end__;\n"
            "\ta -.-> b;\n"
            "\tb --> a;\n"
        )

    @pytest.mark.parametrize(
        ("name", "id"),
        [
            ("a_b-c1", "a_b-c1"),
            ("my node", r"my\20node"),
            ("wörk", r"w\f6rk"),
            ("end", r"\65nd"),
            ("end.", r"\65nd\2e"),
            ("the end", r"the\20\65nd"),
            ("1end", r"1\65nd"),
            ("x-click", r"x-\63lick"),
            ("bend", "bend"),
            ("end_it", "end_it"),
            ("END", "END"),
            ("_self", r"\5fself"),
            ("constructor", r"\63onstructor"),
            ("a--b", r"a\2d\2db"),
            ("-a-", r"\2da\2d"),
            ('"', r"\22"),
        ],
    )
    def test_names_that_would_be_syntax(self, name: str, id: str) -> None:
        """Such a name is written so that Mermaid reads a name."""
        assert mermaid_id(name) == id

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("my node", "my node"),
            ("v1.0", "v1.0"),
            ("__x__", "<p>__x__</p>"),
            ("f(x)", '"<p>f(x)</p>"'),
            ('say "hi"', '"<p>say #34;hi#34;</p>"'),
            ("<b>&#x", '"<p>#60;b#62;#38;#35;x</p>"'),
            ("- item", '"<p>- item</p>"'),
            ("$$x$$", '"<p>$#8203;$#8203;x$#8203;$#8203;</p>"'),
            ("two\nlines", '"<p>two<br/>lines</p>"'),
            (r"C:\new", r'"<p>C:\#8203;new</p>"'),
            ("%%{init}", '"<p>#37;#37;{init}</p>"'),
        ],
    )
    def test_text_that_would_be_syntax(self, name: str, text: str) -> None:
        """Such a text is put between quotes."""
        made = Drawing([Node("a", name)], []).draw_mermaid()

        assert f"\ta({text})\n" in made

    @pytest.mark.parametrize(
        ("label", "arrow"),
        [
            ("yes", "-- &nbsp;yes&nbsp; -->"),
            ("it's a-b, ok?", "-- &nbsp;it's a-b, ok?&nbsp; -->"),
            ("v1.0", '-- "&nbsp;v1.0&nbsp;" -->'),
            ("a --> b", '-- "&nbsp;a --#62; b&nbsp;" -->'),
            ("", "-->"),
        ],
    )
    def test_labels(self, label: str, arrow: str) -> None:
        made = drawing(Edge("a", "b", label)).draw_mermaid(with_styles=False)

        assert made == f"graph TD;\n\ta {arrow} b;\n"

    def test_metadata(self) -> None:
        """Short values are shown, below the name."""
        notes = {"k": 1, "list": ["x", 2], "none": None, "deep": {"y": 1}, "defer": True}
        made = drawing(Edge("a", "b"), a=notes, b={"k": "(b)"}).draw_mermaid()

        assert "\ta(a<hr/><small><em>k = 1\nlist = x, 2\ndefer = True</em></small>)\n" in made
        assert '\tb("<p>b</p><hr/><small><em>k = (b)</em></small>")\n' in made

    def test_two_names_that_would_be_one(self) -> None:
        """Two nodes never become one, although their code points can be read as one number."""
        made = drawing(Edge("\u00e4b", "\u0e4b")).draw_mermaid(with_styles=False)

        assert made == "graph TD;\n\t\\e4b --> \\e4b_;\n"


def test_yaml() -> None:
    """Words are written as they are, and what YAML would take for something else in quotes."""
    value = {"on": "no", "n": None, "f": False, "i": 1.5, "e": {}, "l": [["x y"], {"k": []}]}

    assert yaml(value) == [
        "e: {}",
        "f: false",
        "i: 1.5",
        "l:",
        "-",
        "  - 'x y'",
        "-",
        "  k: []",
        "n: null",
        "'on': 'no'",
    ]


class TestCharacters:
    """MR-11."""

    def test_notes(self) -> None:
        """What is special about a node stands in its box."""
        notes = {"k": "v", "defer": True, "__interrupt": "before,after"}

        assert drawing(Edge(START, "a"), a=notes).draw_ascii() == (
            """\
      ╭───────────╮
      │ __start__ │
      ╰─────┬─────╯
            ▼
┌───────────────────────┐
│           a           │
│       deferred        │
│ stop before and after │
└───────────────────────┘"""
        )

    def test_options(self) -> None:
        assert drawing(Edge("a", "b")).draw_ascii(unicode=False) == (
            "+---+\n| a |\n+-+-+\n  v\n+---+\n| b |\n+---+"
        )
        assert drawing(Edge("a", "b")).draw_ascii(width=3) == "a ─▶ b\nb"

    @pytest.mark.parametrize(("encoding", "first"), [("utf-8", "┌───┐"), ("ascii", "+---+")])
    def test_print(self, encoding: str, first: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """It prints what the output can show."""
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        drawing(Edge("a", "b")).print_ascii()
        stream.seek(0)

        assert stream.read().splitlines()[0] == first

    def test_print_of_what_the_output_does_not_have(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", stream)
        drawing(Edge("ünï", "b")).print_ascii()
        stream.seek(0)

        assert stream.read().splitlines()[1] == "| ?n? |"

    def test_signs_that_steer_a_terminal_are_not_drawn(self) -> None:
        assert "a b c d" in drawing(Edge("a\rb\x1bc\x00d", "b")).draw_mermaid()


def test_to_json() -> None:
    """MR-11: plain data, without what says nothing."""
    made = drawing(Edge("a", "b", "x", True), Edge("b", "a"), b={"k": 1})

    assert made.to_json() == {
        "nodes": [{"id": "a"}, {"id": "b", "metadata": {"k": 1}}],
        "edges": [
            {"source": "a", "target": "b", "data": "x", "conditional": True},
            {"source": "b", "target": "a"},
        ],
    }


def test_edges_are_sorted_and_the_end_is_last() -> None:
    ends = Edge("a", END), Edge("b", END, None, True), Edge("c", "a"), Edge("b", "c")

    assert drawing(*ends).edges == [ends[1], ends[3], ends[2], ends[0]]


def by_hand(**options: Any) -> Pregel:
    def node(name: str, reads: str, *writes: str) -> PregelNode:
        edges = tuple((channel, None) for channel in writes)
        return PregelNode(name, (reads,), Selection(reads), edges=edges, metadata={})

    return Pregel(
        nodes={
            "a": node("a", "in", "x", "y"),
            "b": node("b", "x", "out"),
            "c": node("c", "y", "x"),
        },
        channels={name: EphemeralValue(int, guard=False) for name in ("in", "x", "y", "out")},
        input_channels="in",
        output_channels="out",
        **options,
    )


def test_a_graph_that_was_made_by_hand() -> None:
    """MR-11: an edge is a channel that one node writes to, and that starts another."""
    made = by_hand(interrupt_before_nodes=["b"], interrupt_after_nodes="*").get_graph()

    assert [*made.nodes.values()] == [
        Node(START, START),
        Node("a", "a", {"__interrupt": "after"}),
        Node("b", "b", {"__interrupt": "before,after"}),
        Node("c", "c", {"__interrupt": "after"}),
        Node(END, END),
    ]
    assert made.edges == [
        Edge(START, "a", "in"),
        Edge("a", "b", "x"),
        Edge("a", "c", "y"),
        Edge("c", "b", "x"),
        Edge("b", END, "out"),
    ]


def test_several_channels_between_two_nodes() -> None:
    """They are one edge."""
    both = PregelNode("b", ("x", "y"), Selection(["x", "y"]))
    first = PregelNode("a", ("in",), Selection("in"), edges=(("x", 1), ("y", 2), ("x", 3)))
    graph = Pregel(
        nodes={"a": first, "b": both},
        channels={name: EphemeralValue(int, guard=False) for name in ("in", "x", "y")},
        input_channels="in",
        output_channels="in",
    )

    assert Edge("a", "b", "x, y") in graph.get_graph().edges
    assert END not in graph.get_graph().nodes


def test_a_run_does_not_import_it() -> None:
    """Who only runs graphs does not wait for the drawing of them."""
    program = (
        "import sys; from minigraph.graph import START, StateGraph;"
        "graph = StateGraph(int).add_node('a', abs).add_edge(START, 'a').compile();"
        "graph.invoke(1);"
        "print([name for name in sys.modules if name.endswith(('drawing', 'sketch', 'draw'))])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ran.stdout == "[]\n"
