"""Draining: a run is stopped from outside, between two super-steps."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.clock import Clock
from minigraph.errors import GraphDrained
from minigraph.graph import START, StateGraph
from minigraph.runtime import RunControl
from minigraph.types import RetryPolicy

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def says(what: str) -> Any:
    return lambda state: {"log": [what]}


def drains(control: RunControl, what: str) -> Any:
    def node(state: State) -> Any:
        control.request_drain("bye")
        return {"log": [what]}

    return node


def sequence(*nodes: tuple[str, Any]) -> StateGraph:
    return StateGraph(State).add_sequence(nodes).add_edge(START, nodes[0][0])


def test_after_the_super_step(way: Any, saver: Any) -> None:
    """ER-60: what it did is stored, and the run goes on when it is asked to."""
    control = RunControl()
    graph = sequence(("a", drains(control, "a")), ("b", says("b"))).compile(checkpointer=saver)
    with pytest.raises(GraphDrained) as caught:
        way.invoke(graph, {"log": []}, CONFIG, control=control)
    assert (str(caught.value), caught.value.reason) == ("Graph drained: bye", "bye")
    state = way.state(graph, CONFIG)
    assert (state.next, state.values, state.tasks[0].error) == (("b",), {"log": ["a"]}, None)
    assert way.invoke(graph, None, CONFIG) == {"log": ["a", "b"]}


def test_before_anything_has_run(way: Any, saver: Any) -> None:
    """ER-60: the input is stored."""
    control = RunControl()
    control.request_drain()
    graph = sequence(("a", says("a"))).compile(checkpointer=saver)
    with pytest.raises(GraphDrained, match="shutdown"):
        way.invoke(graph, {"log": []}, CONFIG, control=control)
    assert way.state(graph, CONFIG).next == ("__start__",)
    assert way.invoke(graph, None, CONFIG) == {"log": ["a"]}


def test_a_run_that_is_over_anyway(way: Any) -> None:
    """ER-60: it has come to its end."""
    control = RunControl()
    graph = sequence(("a", drains(control, "a"))).compile()
    assert way.invoke(graph, {"log": []}, control=control) == {"log": ["a"]}


@pytest.mark.parametrize("checkpointer", [None, True, False])
def test_graphs_in_nodes(way: Any, saver: Any, checkpointer: Any) -> None:
    """ER-60: they stop too, siblings end, and nothing has failed: no retry, no handler."""
    control = RunControl()
    inner = sequence(("ia", drains(control, "ia")), ("ib", says("ib")))
    builder = StateGraph(State).add_node(
        "n",
        inner.compile(checkpointer=checkpointer),
        retry_policy=RetryPolicy(retry_on=lambda error: True),
        error_handler=says("handled"),
    )
    builder.add_node("m", says("m")).add_edge(START, "n").add_edge(START, "m")
    builder.add_node("z", says("z")).add_edge("n", "z")
    graph = builder.compile(checkpointer=saver)
    with pytest.raises(GraphDrained, match="bye"):
        way.invoke(graph, {"log": []}, CONFIG, control=control)
    state = way.state(graph, CONFIG)
    assert (state.next, state.values) == (("n",), {"log": ["m"]})
    assert [task.error for task in state.tasks] == [None, None]
    result = way.invoke(graph, None, CONFIG)
    assert sorted(result["log"]) == sorted(["m", "ia", "ib", "z"])


def test_a_node_knows(way: Any) -> None:
    """ER-60: one that takes long may end early; and it may ask for the end itself."""
    seen: list[Any] = []

    def node(state: State, runtime: Any) -> Any:
        seen.append((runtime.drain_requested, runtime.drain_reason))
        runtime.control.request_drain("mine")
        seen.append((runtime.drain_requested, runtime.drain_reason))
        return {"log": ["a"]}

    with pytest.raises(GraphDrained, match="mine"):
        way.invoke(sequence(("a", node), ("b", says("b"))).compile(), {"log": []})
    assert seen == [(False, None), (True, "mine")]


def test_one_control_is_not_that_of_another_run(way: Any) -> None:
    """ER-60: a run without one has its own."""
    graph = sequence(("a", says("a")), ("b", says("b"))).compile()
    graph.clock = Clock()
    for _ in range(2):
        assert way.invoke(graph, {"log": []}) == {"log": ["a", "b"]}


def test_what_is_no_control(way: Any) -> None:
    with pytest.raises(TypeError, match="control is a RunControl"):
        way.invoke(sequence(("a", says("a"))).compile(), {"log": []}, control=5)
