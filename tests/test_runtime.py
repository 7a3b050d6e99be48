"""The run-time object, and the context that a caller gives."""

from __future__ import annotations

import dataclasses
from typing import Any, TypedDict

import pytest

from minigraph.graph import END, START, StateGraph
from minigraph.pregel.main import as_context
from minigraph.runtime import Runtime, get_runtime


class State(TypedDict, total=False):
    seen: Any


@dataclasses.dataclass
class Settings:
    user: str
    level: int = 1


class Plain(TypedDict):
    user: str


def test_what_becomes_of_a_context() -> None:
    """MR-04: a dict becomes the schema's object, if the schema makes objects."""
    assert as_context({"user": "ada"}, Settings) == Settings("ada")
    assert as_context(Settings("bob", 2), Settings) == Settings("bob", 2)
    assert as_context(None, Settings) is None
    assert as_context(5, Settings) == 5
    assert as_context({"user": "ada"}, Plain) == {"user": "ada"}
    assert as_context({"user": "ada"}, None) == {"user": "ada"}
    with pytest.raises(TypeError, match="zz"):
        as_context({"user": "ada", "zz": 1}, Settings)


def test_a_node_reads_the_context(way: Any) -> None:
    """MR-02, MR-04: in a parameter, by the function, and in a path function."""
    seen: list[Any] = []

    def by_parameter(state: State, runtime: Runtime[Settings]) -> Any:
        seen.append(runtime.context)

    def by_function(state: State) -> Any:
        seen.append(get_runtime(Settings).context.user)

    def path(state: State, runtime: Runtime[Settings]) -> str:
        seen.append(runtime.context.level)
        return END

    builder = StateGraph(State, context_schema=Settings)
    builder.add_sequence([by_parameter, by_function]).add_edge(START, "by_parameter")
    graph = builder.add_conditional_edges("by_function", path).compile()

    way.invoke(graph, {}, context={"user": "ada"})
    assert seen == [Settings("ada"), "ada", 1]
    assert graph.context_schema is Settings


def test_a_context_is_checked_before_anything_runs(way: Any) -> None:
    """MR-04."""
    builder = StateGraph(State, context_schema=Settings)
    graph = builder.add_node("n", lambda state: {"seen": 1}).add_edge(START, "n").compile()
    with pytest.raises(TypeError, match="zz"):
        way.invoke(graph, {}, context={"zz": 1})


def test_without_a_context(way: Any) -> None:
    """MR-02: None, and a writer that may be used all the same."""

    def node(state: State, runtime: Runtime[Any]) -> Any:
        runtime.stream_writer("nobody hears this")
        return {"seen": runtime.context}

    builder = StateGraph(State).add_node("n", node).add_edge(START, "n")
    assert way.invoke(builder.compile(), {}) == {"seen": None}


def test_outside_of_a_node() -> None:
    """MR-02."""
    with pytest.raises(RuntimeError, match=r"get_runtime\(\) was called outside of a node"):
        get_runtime()
    Runtime().stream_writer("nobody hears this")
