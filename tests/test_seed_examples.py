"""The examples of the reference's documentation, with exactly the outcomes it promises.

Where the documentation and the reference differ, the outcome is the reference's: metadata has
no ``writes``, and a snapshot has ``interrupts``.
"""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, NotRequired, TypedDict
from uuid import uuid4

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.config import RunnableConfig
from minigraph.graph import END, START, StateGraph
from minigraph.types import PregelTask, StateSnapshot

# ---------------------------------------------------------------- checkpointers


class State(TypedDict):
    foo: str
    bar: Annotated[list[str], add]


def node_a(state: State) -> Any:
    return {"foo": "a", "bar": ["a"]}


def node_b(state: State) -> Any:
    return {"foo": "b", "bar": ["b"]}


def compiled() -> Any:
    workflow = StateGraph(State)
    workflow.add_node(node_a)
    workflow.add_node(node_b)
    workflow.add_edge(START, "node_a")
    workflow.add_edge("node_a", "node_b")
    workflow.add_edge("node_b", END)
    return workflow.compile(checkpointer=InMemorySaver())


def test_one_run_of_two_nodes_leaves_four_checkpoints(way: Any) -> None:
    """A1, CP-01, CP-02."""
    graph = compiled()
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}

    result = way.invoke(graph, {"foo": "", "bar": []}, config)

    assert result == {"foo": "b", "bar": ["a", "b"]}
    assert [(state.next, state.values) for state in reversed(way.history(graph, config))] == [
        (("__start__",), {"bar": []}),
        (("node_a",), {"foo": "", "bar": []}),
        (("node_b",), {"foo": "a", "bar": ["a"]}),
        ((), {"foo": "b", "bar": ["a", "b"]}),
    ]
    assert len([*graph.checkpointer.list(config)]) == 4


def test_a_node_reads_its_namespace() -> None:
    """A2: the name of the node and the id of its task, not the empty text that the page says."""
    seen = []

    def my_node(state: State, config: RunnableConfig) -> None:
        seen.append(config["configurable"]["checkpoint_ns"])

    builder = StateGraph(State).add_node(my_node).add_edge(START, "my_node")
    graph = builder.compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    graph.invoke({"foo": "", "bar": []}, config)

    _, before, _ = graph.get_state_history(config)
    assert seen == [f"my_node:{before.tasks[0].id}"]


def test_get_state_gives_the_latest_or_the_one_that_is_named(way: Any) -> None:
    """A3: the same values; by id, the snapshot echoes the config that it was asked with."""
    graph = compiled()
    way.invoke(graph, {"foo": "", "bar": []}, {"configurable": {"thread_id": "1"}})

    latest = way.state(graph, {"configurable": {"thread_id": "1"}})
    id = latest.config["configurable"]["checkpoint_id"]
    named = way.state(graph, {"configurable": {"thread_id": "1", "checkpoint_id": id}})

    assert named.values == latest.values == {"foo": "b", "bar": ["a", "b"]}
    assert latest.config == {
        "configurable": {"thread_id": "1", "checkpoint_ns": "", "checkpoint_id": id}
    }
    assert named.config == {"configurable": {"thread_id": "1", "checkpoint_id": id}}


def test_the_printed_snapshot_and_history(way: Any) -> None:
    """A4, A5: all fields of all four."""
    graph = compiled()
    config: RunnableConfig = {"configurable": {"thread_id": "1"}}
    way.invoke(graph, {"foo": "", "bar": []}, config)

    history = way.history(graph, config)

    def place(index: int) -> Any:
        return history[index].config

    def task(index: int, name: str, result: Any) -> PregelTask:
        id = history[index].tasks[0].id
        return PregelTask(id, name, ("__pregel_pull", name), None, (), None, result)

    def metadata(source: str, step: int) -> Any:
        return {"source": source, "step": step, "parents": {}}

    assert history == [
        StateSnapshot(
            values={"foo": "b", "bar": ["a", "b"]},
            next=(),
            config=place(0),
            metadata=metadata("loop", 2),
            created_at=history[0].created_at,
            parent_config=place(1),
            tasks=(),
            interrupts=(),
        ),
        StateSnapshot(
            values={"foo": "a", "bar": ["a"]},
            next=("node_b",),
            config=place(1),
            metadata=metadata("loop", 1),
            created_at=history[1].created_at,
            parent_config=place(2),
            tasks=(task(1, "node_b", {"foo": "b", "bar": ["b"]}),),
            interrupts=(),
        ),
        StateSnapshot(
            values={"foo": "", "bar": []},
            next=("node_a",),
            config=place(2),
            metadata=metadata("loop", 0),
            created_at=history[2].created_at,
            parent_config=place(3),
            tasks=(task(2, "node_a", {"foo": "a", "bar": ["a"]}),),
            interrupts=(),
        ),
        StateSnapshot(
            values={"bar": []},
            next=("__start__",),
            config=place(3),
            metadata=metadata("input", -1),
            created_at=history[3].created_at,
            parent_config=None,
            tasks=(task(3, "__start__", {"foo": "", "bar": []}),),
            interrupts=(),
        ),
    ]
    assert way.state(graph, config) == history[0]
    times = [state.created_at for state in history]
    assert times == sorted(times, reverse=True)


# ---------------------------------------------------------------- time travel


class Joke(TypedDict):
    topic: NotRequired[str]
    joke: NotRequired[str]


class Comedian:
    """The graph of the page, and a note of what it ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.config: RunnableConfig = {"configurable": {"thread_id": str(uuid4())}}
        self.graph = (
            StateGraph(Joke)
            .add_node("generate_topic", self.generate_topic)
            .add_node("write_joke", self.write_joke)
            .add_edge(START, "generate_topic")
            .add_edge("generate_topic", "write_joke")
            .compile(checkpointer=InMemorySaver())
        )

    def generate_topic(self, state: Joke) -> Any:
        self.ran.append("generate_topic")
        return {"topic": "socks in the dryer"}

    def write_joke(self, state: Joke) -> Any:
        self.ran.append("write_joke")
        return {"joke": f"Why do {state['topic']} disappear? They elope!"}

    def rows(self, way: Any) -> list[tuple[str, int]]:
        states = way.history(self.graph, self.config)
        return [(state.metadata["source"], state.metadata["step"]) for state in reversed(states)]


SOCKS = {
    "topic": "socks in the dryer",
    "joke": "Why do socks in the dryer disappear? They elope!",
}
FIRST_RUN = [("input", -1), ("loop", 0), ("loop", 1), ("loop", 2)]


def test_replay(way: Any) -> None:
    """B1, TT-01, TT-02: only what comes after the checkpoint runs again."""
    page = Comedian()
    assert way.invoke(page.graph, {}, page.config) == SOCKS
    history = way.history(page.graph, page.config)
    assert [state.next for state in history] == [
        (),
        ("write_joke",),
        ("generate_topic",),
        ("__start__",),
    ]
    before_joke = next(state for state in history if state.next == ("write_joke",))
    page.ran.clear()

    assert way.invoke(page.graph, None, before_joke.config) == SOCKS

    assert page.ran == ["write_joke"]
    assert page.rows(way) == [*FIRST_RUN, ("fork", 2), ("loop", 3)]
    loop, fork, *_ = way.history(page.graph, page.config)
    assert fork.parent_config == before_joke.config
    assert loop.parent_config == fork.config


def test_replaying_the_last_checkpoint(way: Any) -> None:
    """B1, TT-03: no node runs; one more row is stored."""
    page = Comedian()
    way.invoke(page.graph, {}, page.config)
    page.ran.clear()

    last = way.state(page.graph, page.config)
    assert way.invoke(page.graph, None, last.config) == SOCKS

    assert page.ran == []
    assert page.rows(way) == [*FIRST_RUN, ("fork", 3)]


def test_fork(way: Any) -> None:
    """B2, TT-05: another topic, another joke, and the first history as it was."""
    page = Comedian()
    way.invoke(page.graph, {}, page.config)
    history = way.history(page.graph, page.config)
    before_joke = next(state for state in history if state.next == ("write_joke",))
    page.ran.clear()

    fork_config = way.update(page.graph, before_joke.config, values={"topic": "chickens"})
    result = way.invoke(page.graph, None, fork_config)

    assert result["joke"] == "Why do chickens disappear? They elope!"
    assert page.ran == ["write_joke"]
    assert page.rows(way) == [*FIRST_RUN, ("update", 2), ("loop", 3)]
    assert way.history(page.graph, page.config)[2:] == history
    assert way.state(page.graph, before_joke.config).values == {"topic": "socks in the dryer"}


def test_fork_as_a_node(way: Any) -> None:
    """B3, TT-08: who is said to have written decides what runs next."""
    page = Comedian()
    way.invoke(page.graph, {}, page.config)
    history = way.history(page.graph, page.config)
    before_joke = next(state for state in history if state.next == ("write_joke",))

    fork_config = way.update(
        page.graph, before_joke.config, values={"topic": "chickens"}, as_node="generate_topic"
    )
    skipping_config = way.update(
        page.graph, before_joke.config, values={"joke": "No joke."}, as_node="write_joke"
    )

    assert way.state(page.graph, fork_config).next == ("write_joke",)
    assert way.state(page.graph, skipping_config).next == ()
    assert way.state(page.graph, skipping_config).values == {
        "topic": "socks in the dryer",
        "joke": "No joke.",
    }
