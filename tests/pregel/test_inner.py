"""Which graph is in a node?"""

from __future__ import annotations

import functools
from typing import Any, TypedDict

from minigraph.constants import START
from minigraph.graph import StateGraph
from minigraph.pregel.inner import graph_in, graphs_in, inner_graph
from minigraph.pregel.layout import Layout
from minigraph.pregel.node import PregelNode, UserFunction
from minigraph.pregel.selection import Selection


class State(TypedDict, total=False):
    x: int


def compiled(**options: Any) -> Any:
    builder = StateGraph(State).add_node("n", lambda state: None).add_edge(START, "n")
    return builder.compile(**options)


OF_THE_MODULE = compiled(name="of the module")


def calls_one_of_the_module(state: State) -> Any:
    return OF_THE_MODULE.invoke(state)


async def awaits_one_of_the_module(state: State) -> Any:
    return await OF_THE_MODULE.ainvoke(state)


def calls_none(state: State) -> Any:
    return len(state)


class Method:
    def node(self, state: State) -> Any:
        return OF_THE_MODULE.invoke(state)

    def __call__(self, state: State) -> Any:
        return OF_THE_MODULE.invoke(state)


def layout(**functions: Any) -> Layout:
    """A graph at rest, with nodes of these functions."""
    nodes = {
        name: PregelNode(
            name, (), Selection([]), bound=None if function is None else UserFunction(function)
        )
        for name, function in functions.items()
    }
    faces = dict.fromkeys(("input_channels", "output_channels", "stream_channels"), Selection([]))
    return Layout(nodes, {}, **faces)


def test_a_graph_is_its_own() -> None:
    """SB-16: the node is a graph."""
    graph = compiled()
    assert inner_graph(UserFunction(graph)) is graph


def test_all_of_a_graph() -> None:
    """SB-16: of those nodes that have one, in their order; looked up once."""
    graph = compiled()
    nodes = layout(none=None, plain=calls_none, direct=graph, calls=calls_one_of_the_module)
    found = graphs_in(nodes)
    assert found == {"direct": graph, "calls": OF_THE_MODULE}
    assert [*found] == ["direct", "calls"]
    assert graphs_in(nodes) is found
    assert graphs_in(layout()) == {}


def test_one_of_the_module() -> None:
    """SB-16: a name from the module, in functions of all kinds that have code."""
    assert graph_in(calls_one_of_the_module) is OF_THE_MODULE
    assert graph_in(awaits_one_of_the_module) is OF_THE_MODULE
    assert inner_graph(UserFunction(Method().node)) is OF_THE_MODULE


def test_one_of_the_function_around() -> None:
    """SB-16: that is what is meant where both have the name."""
    OF_THE_MODULE = compiled(name="of the function")

    def call(state: State) -> Any:
        return OF_THE_MODULE.invoke(state)

    found = graph_in(call)
    assert found is OF_THE_MODULE
    assert found is not graph_in(calls_one_of_the_module)


def test_the_first_of_several() -> None:
    """SB-16: in the order of their names among those from around."""
    one, two = compiled(), compiled()

    def call(state: State) -> Any:
        return two.invoke(one.invoke(state))

    assert graph_in(call) is one


def test_none() -> None:
    """A function that knows no graph; what has no code to look at."""
    assert graph_in(calls_none) is None
    assert graph_in(len) is None
    assert graph_in(functools.partial(calls_one_of_the_module)) is None
    assert graph_in(Method()) is None


def test_a_name_that_is_a_local_one_too() -> None:
    """What the function gives a value itself does not come from outside."""

    def call(state: State) -> Any:
        OF_THE_MODULE = calls_none
        return OF_THE_MODULE(state)

    assert graph_in(call) is None


def test_a_name_without_a_value_yet() -> None:
    """SB-16: nothing is found, and nothing fails."""

    def call(state: State) -> Any:
        return later.invoke(state)

    assert graph_in(call) is None
    later = compiled()
    assert graph_in(call) is later
