"""Draw: from declared nodes and edges to a drawing of them."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import Any, Literal, TypedDict

import pytest

from minigraph.constants import END, START
from minigraph.graph import StateGraph
from minigraph.pregel.drawing import Edge, Node
from minigraph.types import Command


class State(TypedDict):
    x: int


def nothing(state: Any) -> None:
    return None


def built(package: Any, *names: str, **options: Any) -> Any:
    """A builder with nodes that do nothing."""
    builder = package.StateGraph(State)
    for name in names:
        builder.add_node(name, nothing, **options)
    return builder


def edges(builder: Any) -> list[Edge]:
    found: list[Edge] = builder.compile().get_graph().edges
    return found


def router(*targets: str) -> Callable[[Any], Any]:
    """A path function that says where it may go."""

    def route(state: Any) -> Any:
        return targets[0]

    route.__annotations__["return"] = Literal[targets]
    return route


def goer(command: Any, *targets: str) -> Callable[[Any], Any]:
    """A node that says where its Commands may go."""

    def go(state: Any) -> Any:
        return command(goto=targets[0])

    go.__annotations__["return"] = command[Literal[targets]]
    return go


class graph:  # the package, as `built` wants it
    StateGraph = StateGraph


# ---------------------------------------------------------------- the same as the reference's


def chain(g: Any, c: Any) -> Any:
    return built(g, "a", "b").add_edge(START, "a").add_edge("a", "b").add_edge("b", END)


def no_way_on(g: Any, c: Any) -> Any:
    return built(g, "a", "b").add_edge(START, "a").add_edge("a", "b")


def branch(g: Any, c: Any) -> Any:
    targets = {"x": "b", "y": "c", "done": END}
    builder = built(g, "a", "b", "c").add_edge(START, "a").add_edge("b", "a").add_edge("c", END)
    return builder.add_conditional_edges("a", nothing, targets)


def branch_with_a_list(g: Any, c: Any) -> Any:
    builder = built(g, "a", "b", "c").add_edge(START, "a")
    return builder.add_conditional_edges("a", nothing, ["b", "c"])


def branch_with_a_literal(g: Any, c: Any) -> Any:
    return built(g, "a", "b").add_edge(START, "a").add_conditional_edges("a", router("b", END))


def branch_from_start(g: Any, c: Any) -> Any:
    return built(g, "a", "b").add_conditional_edges(START, nothing, {"l": "a", "r": "b"})


def loop(g: Any, c: Any) -> Any:
    builder = built(g, "a", "b").add_edge(START, "a").add_edge("a", "b")
    return builder.add_conditional_edges("b", nothing, {"again": "a", END: END})


def node_that_repeats_itself(g: Any, c: Any) -> Any:
    builder = built(g, "a").add_edge(START, "a")
    return builder.add_conditional_edges("a", nothing, {"again": "a", "stop": END})


def join(g: Any, c: Any) -> Any:
    builder = built(g, "a", "c", "b", "d").add_edge(START, "a").add_edge("a", "b")
    return builder.add_edge("a", "c").add_edge(["c", "b"], "d").add_edge("d", END)


def join_at_the_end(g: Any, c: Any) -> Any:
    return built(g, "a", "b").add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], END)


def command_annotation(g: Any, c: Any) -> Any:
    return (
        built(g, "b", "c")
        .add_node("go", goer(c, "b", END))
        .add_edge(START, "go")
        .add_edge("go", "c")
    )


def destinations(g: Any, c: Any) -> Any:
    builder = built(g, "b", "c").add_node("go", nothing, destinations=("b", "c"))
    return builder.add_edge(START, "go")


def destinations_with_labels(g: Any, c: Any) -> Any:
    builder = built(g, "b", "c").add_node("go", nothing, destinations={"b": "to b", "c": "to c"})
    return builder.add_edge(START, "go")


def notes(g: Any, c: Any) -> Any:
    builder = built(g, "b", "c", defer=True, metadata={"k": [1, 2]})
    builder.add_node("m", nothing, metadata={"k": 1, "z": "hey"}).add_edge(START, "m")
    return builder.add_edge("m", "b").add_edge("m", "c")


def names(g: Any, c: Any) -> Any:
    builder = built(g, "my node", "a.b", "ünï", "__x__", "日本").add_edge(START, "my node")
    return (
        builder.add_edge("my node", "a.b")
        .add_edge("a.b", "ünï")
        .add_edge("ünï", "__x__")
        .add_edge("__x__", "日本")
    )


def endless(g: Any, c: Any) -> Any:
    builder = built(g, "z", "m", "a", "k").add_edge(START, "z").add_edge("z", "m")
    builder.add_edge("z", "a").add_edge("z", "k").add_edge("m", "k").add_edge("a", "z")
    return builder.add_edge("k", "a")


def long_labels(g: Any, c: Any) -> Any:
    label = "one two three four five six seven eight nine ten eleven"
    builder = built(g, "a", "b").add_edge(START, "a")
    return builder.add_conditional_edges("a", nothing, {label: "b", "x": END})


ORDINARY = [
    *(chain, no_way_on, branch, branch_with_a_list, branch_with_a_literal, branch_from_start),
    *(loop, node_that_repeats_itself, join, join_at_the_end, command_annotation, destinations),
    *(destinations_with_labels, notes, names, endless, long_labels),
]


@pytest.mark.parametrize("declare", ORDINARY, ids=lambda declare: declare.__name__)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"with_styles": False},
        {"wrap_label_n_words": 2},
        {"frontmatter_config": {"config": {"theme": "neutral", "flowchart": {"padding": 2}}}},
    ],
    ids=["plain", "without styles", "wrapped", "configured"],
)
def test_the_mermaid_text_is_the_references(declare: Any, options: dict[str, Any]) -> None:
    """MR-11: for ordinary graphs it is the same document, character by character."""
    pytest.importorskip("langgraph", reason="the reference is not installed")
    theirs = importlib.import_module("langgraph.graph")
    command = importlib.import_module("langgraph.types").Command
    stops: dict[str, Any] = {}
    if declare is notes:
        stops = {"interrupt_before": ["b", "m"], "interrupt_after": ["c", "m"]}

    text = declare(graph, Command).compile(**stops).get_graph().draw_mermaid(**options)

    assert text == declare(theirs, command).compile(**stops).get_graph().draw_mermaid(**options)


# ---------------------------------------------------------------- our own


def test_nodes_and_edges() -> None:
    """MR-11: what a drawing consists of."""
    drawing = branch(graph, Command).compile(interrupt_before=["b"]).get_graph()

    assert [*drawing.nodes.values()] == [
        Node(START, START),
        Node("a", "a"),
        Node("b", "b", {"__interrupt": "before"}),
        Node("c", "c"),
        Node(END, END),
    ]
    assert drawing.edges == [
        Edge(START, "a"),
        Edge("a", END, "done", True),
        Edge("a", "b", "x", True),
        Edge("a", "c", "y", True),
        Edge("b", "a"),
        Edge("c", END),
    ]


def test_a_branch_without_known_targets_may_go_anywhere() -> None:
    """MR-11: to every node, itself included, and to END; the reference draws none of them."""
    builder = built(graph, "a", "b").add_edge(START, "a").add_conditional_edges("a", nothing)

    assert edges(builder) == [
        Edge(START, "a"),
        Edge("a", END, None, True),
        Edge("a", "a", None, True),
        Edge("a", "b", None, True),
        Edge("b", END),
    ]


def test_all_that_was_declared_is_drawn() -> None:
    """Edges of a node that nothing leads to, edges to END beside others and beside a branch."""
    builder = built(graph, "a", "b", "c").add_edge(START, "a").add_edge("a", "b").add_edge("a", END)
    builder.add_conditional_edges("a", nothing, {"go": "b"}).add_edge("c", "b")

    assert edges(builder) == [
        Edge(START, "a"),
        Edge("a", "b"),
        Edge("a", "b", "go", True),
        Edge("c", "b"),
        Edge("a", END),
        Edge("b", END),
    ]


def test_labels_that_lead_to_one_node() -> None:
    """All of them are told, those of two branches and of destinations too."""
    builder = built(graph, "b").add_node("a", nothing, destinations={"b": "now", END: "no"})
    builder.add_edge(START, "a").add_conditional_edges("a", nothing, {True: "b", 3: "b", None: END})
    builder.add_conditional_edges("a", router("b"))

    assert edges(builder)[1:3] == [
        Edge("a", END, "None, no", True),
        Edge("a", "b", "True, 3, now", True),
    ]


def test_breakpoints_at_all_nodes() -> None:
    """``"*"`` is noted at each of them."""
    drawing = chain(graph, Command).compile(interrupt_after="*").get_graph()

    assert [node.metadata for node in drawing.nodes.values()] == [
        None,
        {"__interrupt": "after"},
        {"__interrupt": "after"},
        None,
    ]


def test_it_is_the_graph_that_was_compiled() -> None:
    """SG-16: what the builder is told later does not show."""
    builder = chain(graph, Command)
    compiled = builder.compile()
    builder.add_node("late", nothing).add_edge("a", "late")

    assert "late" not in compiled.get_graph().nodes
    assert "late" in builder.compile().get_graph().nodes


def test_awaited() -> None:
    compiled = chain(graph, Command).compile()
    drawing = asyncio.run(compiled.aget_graph(xray=True))

    assert drawing.to_json() == compiled.get_graph({"tags": ["x"]}, xray=1).to_json()


def test_a_picture_of_an_agent() -> None:
    """MR-11: what a beginner sees."""
    builder = built(graph, "agent", "tools").add_edge(START, "agent").add_edge("tools", "agent")
    builder.add_conditional_edges("agent", nothing, {"call": "tools", "answer": END})

    assert builder.compile().get_graph().draw_ascii() == (
        """\
          ╭───────────╮
          │ __start__ │
          ╰─────┬─────╯
                ▼
            ┌───────┐
            │ agent │
            └──┬────┘
               ┊   ▲
      ╭┄┄┄┄┄┄┄┄┤   │
   answer    call  │
      ▼        ▼   │
╭─────────╮  ┌─────┴─┐
│ __end__ │  │ tools │
╰─────────╯  └───────┘"""
    )


def test_a_picture_of_a_map_and_reduce() -> None:
    """MR-11: parallel nodes, and one that waits for them."""
    workers = ["north", "east", "south"]
    builder = built(graph, "split", *workers).add_node("sum", nothing, defer=True)
    for worker in workers:
        builder.add_edge("split", worker)
    builder.add_edge(START, "split").add_edge(workers, "sum")

    assert builder.compile(interrupt_before=["sum"]).get_graph().draw_ascii() == (
        """\
         ╭───────────╮
         │ __start__ │
         ╰─────┬─────╯
               ▼
           ┌───────┐
           │ split │
           └───┬───┘
    ╭──────────┼──────────╮
    ▼          ▼          ▼
┌───────┐  ┌───────┐  ┌───────┐
│ north │  │ east  │  │ south │
└───┬───┘  └───┬───┘  └───┬───┘
    ╰──────────┼──────────╯
               ▼
        ┌─────────────┐
        │     sum     │
        │  deferred   │
        │ stop before │
        └──────┬──────┘
               ▼
          ╭─────────╮
          │ __end__ │
          ╰─────────╯"""
    )
