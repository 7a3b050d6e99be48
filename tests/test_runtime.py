"""The run-time object, and the context that a caller gives."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, TypedDict

import pytest
from langgraph.store.memory import InMemoryStore as TheirStore

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.config import get_store
from minigraph.graph import END, START, StateGraph
from minigraph.pregel.main import as_context
from minigraph.runtime import ExecutionInfo, Runtime, get_runtime
from minigraph.store.base import BaseStore
from minigraph.store.memory import InMemoryStore
from minigraph.store.sqlite import SqliteStore
from minigraph.types import RunnableConfig


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


# ---------------------------------------------------------------- which task this is


def told(graph: Any, way: Any, config: Any = None) -> Any:
    """What the node of a graph has noted of its runtime."""
    return way.invoke(graph, {}, config)["seen"]


def noting(note: Any, **options: Any) -> Any:
    builder = StateGraph(State).add_node("n", lambda state, runtime: {"seen": note(runtime)})
    return builder.add_edge(START, "n").compile(**options)


def test_which_task_this_is(way: Any) -> None:
    """MR-02: the run's ids, the task's own, and what `get_runtime` says of them."""
    seen: list[Any] = []

    def node(state: State, runtime: Runtime[Any], config: RunnableConfig) -> None:
        seen.extend([runtime.execution_info, get_runtime().execution_info, config])

    builder = StateGraph(State).add_node("n", node).add_edge(START, "n")
    graph = builder.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}, "run_id": "r"}
    before = time.time()
    way.invoke(graph, {}, config)
    info, again, shown = seen
    place = shown["configurable"]
    assert info == again
    assert info == ExecutionInfo(
        checkpoint_id=place["checkpoint_map"][""],
        checkpoint_ns=place["checkpoint_ns"],
        task_id=place["checkpoint_ns"].split(":")[1],
        thread_id="1",
        run_id="r",
        node_attempt=1,
        node_first_attempt_time=info.node_first_attempt_time,
    )
    assert before <= info.node_first_attempt_time <= time.time()
    assert len(info.checkpoint_id) == 36


def test_which_task_this_is_without_a_saver(way: Any) -> None:
    """MR-03: it works; there is no thread, and no checkpoint that would have an id."""

    def note(runtime: Any) -> Any:
        info = runtime.execution_info
        return info.thread_id, info.checkpoint_id, info.run_id, info.checkpoint_ns[:2]

    assert told(noting(note), way) == (None, "", None, "n:")


def test_what_else_a_runtime_has(way: Any) -> None:
    """MR-02: nothing of it where there is nothing; outside of a run as well."""

    def note(runtime: Any) -> Any:
        runtime.heartbeat()
        return runtime.store, runtime.previous, runtime.server_info

    assert told(noting(note), way) == (None, None, None)
    assert note(Runtime()) == (None, None, None)
    assert (Runtime().execution_info, Runtime().drain_requested) == (None, False)


def test_a_runtime_for_a_function_that_is_called_by_hand() -> None:
    """MR-02: with other fields; the one that was is not changed."""
    runtime = Runtime(context=1)
    store = InMemoryStore()
    changed = runtime.override(store=store, previous=2)
    assert (changed.context, changed.store, changed.previous) == (1, store, 2)
    assert (runtime.store, runtime.previous) == (None, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        runtime.context = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match="nothing"):
        runtime.override(nothing=1)


# ---------------------------------------------------------------- the store


def test_a_store_is_everywhere(way: Any) -> None:
    """LM-08, MR-05, MR-07: by its name, in the runtime, and by a function; for paths too."""
    store = InMemoryStore()
    seen: list[Any] = []

    def node(state: State, *, store: BaseStore, runtime: Runtime[Any]) -> None:
        seen.extend([store, runtime.store, get_runtime().store, get_store()])

    def path(state: State, store: BaseStore) -> str:
        seen.append(store)
        return END

    builder = StateGraph(State).add_node("n", node).add_edge(START, "n")
    graph = builder.add_conditional_edges("n", path).compile(store=store)
    way.invoke(graph, {})
    assert [each is store for each in seen] == [True] * 5
    assert graph.store is store


def test_without_a_store(way: Any) -> None:
    """LM-08: it is None, however somebody asks for it."""

    def node(state: State, store: Any) -> Any:
        return {"seen": (store, get_store())}

    graph = StateGraph(State).add_node("n", node).add_edge(START, "n").compile()
    assert way.invoke(graph, {}) == {"seen": (None, None)}
    with pytest.raises(RuntimeError, match=r"get_store\(\) was called outside of a node"):
        get_store()


@pytest.mark.parametrize("called", [False, True])
def test_a_store_reaches_inner_graphs(way: Any, called: bool) -> None:
    """LM-08: that of the outermost graph that has one; in a graph that a node calls, too."""
    outer, inner = InMemoryStore(), InMemoryStore()
    names = {id(outer): "outer", id(inner): "inner", id(None): None}

    def seen(theirs: Any, ours: Any) -> Any:
        graph = noting(lambda runtime: names[id(runtime.store)], store=ours)
        node = (lambda state: graph.invoke(state)) if called else graph
        builder = StateGraph(State).add_node("inner", node).add_edge(START, "inner")
        return way.invoke(builder.compile(store=theirs), {})["seen"]

    assert seen(outer, None) == seen(outer, inner) == "outer"
    assert seen(None, inner) == "inner"
    assert seen(None, None) is None


def test_a_store_in_an_update_from_outside(way: Any) -> None:
    """LM-08: a path function that looks into it, finds it."""
    store = InMemoryStore()
    seen: list[Any] = []

    def path(state: State, store: Any) -> str:
        seen.append(store)
        return END

    builder = StateGraph(State).add_node("n", lambda state: None).add_edge(START, "n")
    builder.add_conditional_edges("n", path)
    graph = builder.compile(checkpointer=InMemorySaver(), store=store)
    way.update(graph, {"configurable": {"thread_id": "1"}}, {"seen": 1}, "n")
    assert seen == [store]


def test_a_copy_of_a_graph_with_a_store() -> None:
    """LM-08: has the same, or the one that it is given."""
    first, second = InMemoryStore(), InMemoryStore()
    graph = noting(lambda runtime: runtime.store is second, store=first)
    assert graph.copy().store is first
    assert graph.copy({"store": second}).invoke({}) == {"seen": True}
    assert graph.with_config(tags=["t"]).store is first


@pytest.mark.parametrize(
    "store", [5, True, "store.db", InMemoryStore, SqliteStore.from_conn_string(":memory:")]
)
def test_what_is_no_store(store: Any) -> None:
    """LM-08: is refused when the graph is made."""
    with pytest.raises(TypeError, match="A store is an instance of BaseStore"):
        noting(lambda runtime: None, store=store)


def test_somebody_elses_store(way: Any) -> None:
    """LM-08: one that was written for the reference will do."""
    theirs = TheirStore()
    graph = noting(lambda runtime: runtime.store.put(("a",), "k", {"x": 1}), store=theirs)
    way.invoke(graph, {})
    found = theirs.get(("a",), "k")
    assert found is not None
    assert found.value == {"x": 1}
