"""Parameters that are recognised by their annotation."""

from __future__ import annotations

import functools
import typing
from typing import Any, Optional, TypedDict

import langchain_core.runnables
import langgraph.runtime
import langgraph.store.base
import pytest

from minigraph import config, runtime, types
from minigraph.graph import START, StateGraph
from minigraph.pregel.node import UserFunction
from minigraph.pregel.parameters import by_annotation
from minigraph.runtime import Runtime
from minigraph.store import base
from minigraph.store.memory import InMemoryStore
from minigraph.types import RunnableConfig, StreamWriter


def annotated(annotation: Any, default: Any = ...) -> Any:
    """A function whose second parameter has this annotation."""

    def function(state: Any, p: Any) -> Any:
        return p

    function.__annotations__["p"] = annotation
    function.__defaults__ = None if default is ... else (default,)
    return function


@pytest.mark.parametrize(
    ("annotation", "source"),
    [
        (config.RunnableConfig, "config"),
        (langchain_core.runnables.RunnableConfig, "config"),
        ("RunnableConfig", "config"),
        ("'RunnableConfig'", "config"),
        ("langchain_core.runnables.RunnableConfig | None", "config"),
        (RunnableConfig | None, "config"),
        (Optional[RunnableConfig], "config"),  # noqa: UP045  # as others write it
        ("Optional[RunnableConfig]", "config"),
        ("typing.Optional[RunnableConfig]", "config"),
        (runtime.Runtime, "runtime"),
        (runtime.Runtime[int], "runtime"),
        ("Runtime[Context]", "runtime"),
        (langgraph.runtime.Runtime, "runtime"),
        (base.BaseStore, "store"),
        (langgraph.store.base.BaseStore, "store"),
        ("BaseStore", "store"),
        (types.StreamWriter, "write"),
        ("StreamWriter", "write"),
    ],
)
def test_types_that_say_what_is_wanted(annotation: Any, source: str) -> None:
    """MR-05: by their names, whosever they are."""
    assert by_annotation(annotated(annotation)) == (("p", source),)
    assert by_annotation(annotated(annotation, None)) == ()


@pytest.mark.parametrize(
    "annotation",
    [int, dict, Any, "MyRunnableConfig", "Runtimes", "list[RunnableConfig]", typing.Callable],
)
def test_types_that_do_not(annotation: Any) -> None:
    """MR-05."""
    assert by_annotation(annotated(annotation)) == ()


def test_what_is_no_such_parameter() -> None:
    """MR-05: the first is the state's, and those of known names are given by name."""

    def function(state: RunnableConfig, config: RunnableConfig, other: Any) -> None: ...

    assert by_annotation(function) == ()
    assert by_annotation(len) == ()
    assert by_annotation(dict) == ()


class Object:
    def __call__(self, state: Any, settings: RunnableConfig) -> None: ...

    def method(self, state: Any, settings: RunnableConfig) -> None: ...


@pytest.mark.parametrize(
    "function",
    [
        Object(),
        Object().method,
        functools.partial(annotated(RunnableConfig)),
    ],
)
def test_callables_of_every_kind(function: Any) -> None:
    """MR-05."""
    ((name, source),) = UserFunction(function).wants
    assert (name in ("settings", "p"), source) == (True, "config")


class State(TypedDict, total=False):
    seen: Any


def test_in_a_run(way: Any) -> None:
    """MR-05: each of them, beside one that is given by its name."""
    store = InMemoryStore()

    def node(
        state: State,
        writer: Any,
        settings: langchain_core.runnables.RunnableConfig,
        around: Runtime[Any],
        memory: base.BaseStore,
        say: StreamWriter,
        n: int = 3,
    ) -> Any:
        say(settings["metadata"]["langgraph_node"])
        return {"seen": (around.store is memory is store, writer == say, n)}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(store=store)
    assert way.stream(graph, {}, stream_mode=["custom", "values"]) == [
        ("custom", "node"),
        ("values", {"seen": (True, True, 3)}),
    ]


def test_in_a_path_function(way: Any) -> None:
    """MR-05."""
    told: list[Any] = []

    def path(state: State, settings: RunnableConfig) -> str:
        told.append(settings["metadata"]["mine"])
        return "node"

    builder = StateGraph(State).add_node("node", lambda state: None)
    way.invoke(builder.add_conditional_edges(START, path).compile(), {}, {"metadata": {"mine": 1}})
    assert told == [1]


def test_what_nobody_gives_is_refused() -> None:
    """MR-05: when it is declared."""
    with pytest.raises(TypeError, match="Node 'n' needs 'p', which nobody gives it"):
        StateGraph(State).add_node("n", annotated(int))
