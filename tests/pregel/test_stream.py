"""Streams: what a run tells, in every mode and shape."""

from __future__ import annotations

import asyncio
import operator
import threading
import time
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.config import get_config, get_stream_writer
from minigraph.graph import END, START, StateGraph
from minigraph.pregel.effects import Emit
from minigraph.pregel.events import MODES
from minigraph.pregel.stream import Reader
from minigraph.types import Command, GraphOutput, Send

PATIENCE = 20.0
CONFIG: Any = {
    "configurable": {"thread_id": "t", "mine": 1},
    "metadata": {"user": "u"},
    "tags": ["tag"],
}
PLACE = {"thread_id": "t", "mine": 1, "checkpoint_ns": ""}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    x: int


def ab(saver: Any = None, **options: Any) -> Any:
    """a, then b; a says something while it works."""

    def a(state: State) -> Any:
        get_stream_writer()("working")
        return {"log": ["a"], "x": 1}

    builder = StateGraph(State).add_node("a", a, metadata={"m": 1})
    builder.add_node("b", lambda state: {"log": ["b"]})
    return builder.add_edge(START, "a").add_edge("a", "b").compile(saver, **options)


def single(node: Any, saver: Any = None) -> Any:
    return StateGraph(State).add_node("n", node).add_edge(START, "n").compile(saver)


def ids_and_times_out(value: Any) -> Any:
    """The same, with a word in the place of each id and time."""
    if isinstance(value, dict):
        out = {key: ids_and_times_out(each) for key, each in value.items()}
        words = {"id": "ID", "checkpoint_id": "CHECKPOINT", "timestamp": "TIME"}
        return {key: words.get(key, each) for key, each in out.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(ids_and_times_out(each) for each in value)
    return value


# ---------------------------------------------------------------- events


def test_tasks(way: Any) -> None:
    """ST-14: a task as it begins, and as it ends; START is left out."""
    assert ids_and_times_out(way.stream(ab(), {"log": ["in"]}, CONFIG, stream_mode="tasks")) == [
        {
            "id": "ID",
            "name": "a",
            "input": {"log": ["in"]},
            "triggers": ("branch:to:a",),
            "metadata": {"user": "u", "m": 1, "tags": ["tag"]},
        },
        {
            "id": "ID",
            "name": "a",
            "error": None,
            "result": {"log": ["a"], "x": 1},
            "interrupts": [],
        },
        {
            "id": "ID",
            "name": "b",
            "input": {"log": ["in", "a"], "x": 1},
            "triggers": ("branch:to:b",),
            "metadata": {"user": "u", "tags": ["tag"]},
        },
        {"id": "ID", "name": "b", "error": None, "result": {"log": ["b"]}, "interrupts": []},
    ]


def test_tasks_have_metadata_only_if_there_is_any(way: Any) -> None:
    """ST-14."""
    told = way.stream(ab(), {"log": []}, stream_mode="tasks")
    assert told[0]["metadata"] == {"m": 1}
    assert "metadata" not in told[2]


def test_tasks_of_sends_and_of_several_writes(way: Any) -> None:
    """CP-42, ST-14: a Send's argument is the input; several writes of one key are told apart."""

    def node(state: Any) -> Any:
        return [Command(update={"log": [state["k"]]}), {"log": ["more"]}]

    builder = StateGraph(State).add_node("n", node)
    builder.add_conditional_edges(START, lambda state: [Send("n", {"k": 1})])
    start, end = way.stream(builder.compile(), {"log": []}, stream_mode="tasks")
    assert (start["input"], start["triggers"]) == ({"k": 1}, ("__pregel_push",))
    assert end["result"] == {"log": {"$writes": [[1], ["more"]]}}
    assert start["id"] == end["id"]


def test_checkpoints(way: Any) -> None:
    """ST-15: each checkpoint with what runs next, from the input's to the last."""
    saver = InMemorySaver()
    graph = ab(saver)
    told = way.stream(graph, {"log": ["in"]}, CONFIG, stream_mode="checkpoints")

    stored = list(reversed(way.history(graph, CONFIG)))
    for event, state in zip(told, stored, strict=True):
        assert event["config"] == {"configurable": {**PLACE, **state.config["configurable"]}}
        parent = state.parent_config
        assert event["parent_config"] == (
            parent and {"configurable": {**PLACE, **parent["configurable"]}}
        )
        assert event["values"] == state.values
        assert event["next"] == list(state.next)
        assert [task["id"] for task in event["tasks"]] == [task.id for task in state.tasks]
    assert ids_and_times_out(told[1]) == {
        "config": {"configurable": {**PLACE, "checkpoint_id": "CHECKPOINT"}},
        "parent_config": {"configurable": {**PLACE, "checkpoint_id": "CHECKPOINT"}},
        "values": {"log": ["in"]},
        "metadata": {"source": "loop", "step": 0, "parents": {}},
        "next": ["a"],
        "tasks": [{"id": "ID", "name": "a", "interrupts": (), "state": None}],
    }
    assert [event["metadata"]["step"] for event in told] == [-1, 0, 1, 2]
    assert told[-1]["tasks"] == []


def test_checkpoints_and_debug_without_a_saver(way: Any) -> None:
    """ST-15: there are no checkpoints; tasks are told all the same."""
    assert way.stream(ab(), {"log": []}, stream_mode="checkpoints") == []
    told = way.stream(ab(), {"log": []}, stream_mode="debug")
    assert [event["type"] for event in told] == ["task", "task_result"] * 2


def test_checkpoints_of_a_state_without_a_value(way: Any) -> None:
    """ST-15: a state that is a single value is None before there is one."""
    builder = StateGraph(int).add_node("n", lambda n: n + 1).add_edge(START, "n")
    told = way.stream(builder.compile(InMemorySaver()), 1, CONFIG, stream_mode="checkpoints")
    assert [event["values"] for event in told] == [None, 1, 2]


def test_debug(way: Any) -> None:
    """ST-16: the same payloads in an envelope. A checkpoint's step is its own."""
    graph = ab(InMemorySaver())
    modes = ["debug", "tasks", "checkpoints"]
    told = way.stream(graph, {"log": []}, CONFIG, stream_mode=modes)
    debug = [event for mode, event in told if mode == "debug"]
    plain = [event for mode, event in told if mode != "debug"]

    assert [(event["step"], event["type"]) for event in debug] == [
        (-1, "checkpoint"),
        (0, "checkpoint"),
        (1, "task"),
        (1, "task_result"),
        (1, "checkpoint"),
        (2, "task"),
        (2, "task_result"),
        (2, "checkpoint"),
    ]
    assert [event["payload"] for event in debug] == plain
    assert [mode for mode, _ in told[:2]] == ["checkpoints", "debug"]
    assert all(event["timestamp"].endswith("+00:00") for event in debug)
    assert {tuple(event) for event in debug} == {("step", "timestamp", "type", "payload")}


def test_the_order_of_all_modes(way: Any) -> None:
    """ST-19."""
    graph = single(lambda state: get_stream_writer()("c") or {"x": 1}, InMemorySaver())
    told = way.stream(graph, {"x": 0}, CONFIG, stream_mode=list(MODES))
    assert [mode for mode, _ in told if mode != "debug"] == [
        "checkpoints",
        "values",
        "checkpoints",
        "tasks",
        "custom",
        "updates",
        "tasks",
        "values",
        "checkpoints",
    ]


def test_messages_are_silent(way: Any) -> None:
    """ST-18."""
    assert way.stream(ab(), {"log": []}, stream_mode="messages") == []


def failing(saver: Any, fails: list[bool]) -> Any:
    """ok and bad side by side; bad waits for ok, and fails as long as `fails` holds anything."""
    done = threading.Event()

    def ok(state: State) -> Any:
        done.set()
        return {"log": ["ok"]}

    def bad(state: State) -> Any:
        assert done.wait(PATIENCE)
        time.sleep(0.05)
        if fails:
            raise ValueError("boom")
        return {"log": ["bad"]}

    builder = StateGraph(State).add_node(ok).add_node(bad)
    return builder.add_edge(START, "ok").add_edge(START, "bad").compile(saver)


def test_a_task_that_fails(way: Any) -> None:
    """ST-20: no update, but an end with the error; then the stream raises it."""
    told: list[Any] = []
    graph = failing(InMemorySaver(), [True])
    modes = ["updates", "tasks", "values"]
    with pytest.raises(ValueError, match="boom") as caught:
        way.stream_into(told, graph, {"log": []}, CONFIG, stream_mode=modes)

    assert [(mode, event.get("name")) for mode, event in told] == [
        ("values", None),
        ("tasks", "bad"),
        ("tasks", "ok"),
        ("updates", None),
        ("tasks", "ok"),
        ("tasks", "bad"),
    ]
    assert told[-1][1]["error"] is caught.value
    assert told[-1][1]["result"] == {}


def test_going_on_after_a_failure(way: Any) -> None:
    """ST-13, ST-15: who has finished is told so; who has failed, with what."""
    fails = [True]
    graph = failing(InMemorySaver(), fails)
    with pytest.raises(ValueError, match="boom"):
        way.invoke(graph, {"log": []}, CONFIG)
    fails.clear()

    told = way.stream(graph, None, CONFIG, stream_mode=["updates", "tasks", "checkpoints"])

    first = ids_and_times_out(told[0][1])
    assert first["tasks"] == [
        {"id": "ID", "name": "bad", "error": "ValueError('boom')", "state": None},
        {"id": "ID", "name": "ok", "result": {"log": ["ok"]}, "interrupts": (), "state": None},
    ]
    assert first["metadata"]["user"] == "u"  # as it was stored
    assert [(mode, event.get("name")) for mode, event in told[1:3]] == [
        ("tasks", "bad"),
        ("tasks", "ok"),
    ]
    assert told[3] == ("updates", {"ok": {"log": ["ok"]}, "__metadata__": {"cached": True}})
    assert told[4] == ("updates", {"bad": {"log": ["bad"]}})
    assert told[5][1]["name"] == "bad"
    assert [mode for mode, _ in told[6:]] == ["checkpoints"]


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
def test_at_a_breakpoint(way: Any, where: str) -> None:
    """IN-61: the checkpoint is told, then that the run stops."""
    node = "b" if where == "interrupt_before" else "a"
    graph = ab(InMemorySaver(), **{where: [node]})
    told = way.stream(graph, {"log": []}, CONFIG, stream_mode=["updates", "checkpoints"])
    assert [mode for mode, _ in told[-2:]] == ["checkpoints", "updates"]
    assert told[-2][1]["next"] == ["b"]
    assert told[-1] == ("updates", {"__interrupt__": ()})


def test_at_the_recursion_limit(way: Any) -> None:
    """SS-41: the last checkpoint is told before the error."""
    told: list[Any] = []
    config = {**CONFIG, "recursion_limit": 1}
    with pytest.raises(RecursionError):
        way.stream_into(told, ab(InMemorySaver()), {"log": []}, config, stream_mode="checkpoints")
    assert [event["next"] for event in told] == [["__start__"], ["a"], ["b"]]


def test_output_keys_narrow_values_and_updates_alone(way: Any) -> None:
    """ST-12, ST-14."""
    modes = ["values", "updates", "tasks", "checkpoints"]
    graph = ab(InMemorySaver())
    told = way.stream(graph, {"log": []}, CONFIG, stream_mode=modes, output_keys="x")
    of = {mode: [event for m, event in told if m == mode] for mode in modes}
    assert of["values"] == [1]
    assert of["updates"] == [{"a": 1}, {"b": None}]
    assert of["tasks"][1]["result"] == {"log": ["a"], "x": 1}
    assert of["checkpoints"][-1]["values"] == {"log": ["a", "b"], "x": 1}


# ---------------------------------------------------------------- custom


def test_custom_by_every_road(way: Any) -> None:
    """ST-17, MR-05: by the function, by a parameter, by the run-time object, and in a path."""

    def by_function(state: State) -> None:
        get_stream_writer()({"by": "function"})

    def by_parameter(state: State, writer: Any) -> None:
        writer("parameter")

    def by_runtime(state: State, runtime: Any) -> None:
        runtime.stream_writer(["runtime"])

    def path(state: State, writer: Any) -> str:
        writer("path")
        return END

    builder = StateGraph(State).add_sequence([by_function, by_parameter, by_runtime])
    builder.add_edge(START, "by_function").add_conditional_edges("by_runtime", path)
    told = way.stream(builder.compile(), {"log": []}, stream_mode=["custom", "updates"])
    assert told == [
        ("custom", {"by": "function"}),
        ("updates", {"by_function": None}),
        ("custom", "parameter"),
        ("updates", {"by_parameter": None}),
        ("custom", ["runtime"]),
        ("custom", "path"),
        ("updates", {"by_runtime": None}),
    ]


def test_custom_where_nobody_reads(way: Any) -> None:
    """ST-17: it does nothing."""
    assert way.stream(ab(), {"log": []}, stream_mode="updates")[0] == {"a": {"log": ["a"], "x": 1}}
    assert way.invoke(ab(), {"log": []}) == {"log": ["a", "b"], "x": 1}


def test_a_writer_outside_of_a_node() -> None:
    """MR-07."""
    with pytest.raises(RuntimeError, match="outside of a node"):
        get_stream_writer()


def test_custom_events_of_async_nodes() -> None:
    """ST-17: from coroutines, from threads they start, in the order in which they were said."""

    async def node(state: State, writer: Callable[[Any], None]) -> Any:
        writer(1)
        await asyncio.sleep(0)
        await asyncio.to_thread(writer, 2)
        writer(3)
        return {"x": 4}

    async def read() -> list[Any]:
        stream = single(node).astream({"x": 0}, stream_mode=["custom", "updates"])
        return [chunk async for chunk in stream]

    assert asyncio.run(read()) == [
        ("custom", 1),
        ("custom", 2),
        ("custom", 3),
        ("updates", {"n": {"x": 4}}),
    ]


class Meeting:
    """A node that says that it is at work, and goes on only when the reader has heard it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.heard = threading.Event()

    def node(self, state: State, writer: Any) -> Any:
        writer(self.name)
        assert self.heard.wait(PATIENCE), "nobody heard it while it was at work"
        return {"log": [self.name]}

    async def async_node(self, state: State, writer: Any) -> Any:
        writer(self.name)
        for _ in range(int(PATIENCE * 1000)):
            if self.heard.is_set():
                return {"log": [self.name]}
            await asyncio.sleep(0.001)
        raise AssertionError("nobody heard it while it was at work")


@pytest.mark.parametrize("count", [1, 3], ids=["single", "parallel"])
@pytest.mark.parametrize("kind", ["sync", "sync in async", "async"])
def test_events_are_live(kind: str, count: int) -> None:
    """ST-17: what a node says is read while the node is still at work."""
    meetings = [Meeting(f"node {i}") for i in range(count)]
    builder = StateGraph(State)
    for meeting in meetings:
        node = meeting.async_node if kind == "async" else meeting.node
        builder.add_node(meeting.name, node).add_edge(START, meeting.name)
    graph = builder.compile()
    told: list[Any] = []

    def take(chunk: Any) -> None:
        told.append(chunk)
        for meeting in meetings:
            if chunk == ("custom", meeting.name):
                meeting.heard.set()

    if kind == "sync":
        for chunk in graph.stream({"log": []}, stream_mode=["custom", "updates"]):
            take(chunk)
    else:

        async def read() -> None:
            async for chunk in graph.astream({"log": []}, stream_mode=["custom", "updates"]):
                take(chunk)

        asyncio.run(read())

    said = [chunk for mode, chunk in told if mode == "custom"]
    assert sorted(said) == [meeting.name for meeting in meetings]
    assert len(told) == 2 * count
    for meeting in meetings:
        end = ("updates", {meeting.name: {"log": [meeting.name]}})
        assert told.index(("custom", meeting.name)) < told.index(end)


def test_leaving_while_a_node_is_at_work(way: Any) -> None:
    """ST-30: who has read enough of what a node says may go; the thread can go on."""
    entered: list[int] = []
    released = threading.Event()

    def node(state: State, writer: Any) -> Any:
        entered.append(1)
        writer("one")
        if len(entered) == 1:
            released.wait(PATIENCE)
        writer("two")
        return {"x": 1}

    graph = single(node, InMemorySaver())
    try:
        assert way.take(graph, 1, {"x": 0}, CONFIG, stream_mode="custom") == ["one"]
    finally:
        released.set()
    assert way.state(graph, CONFIG).next == ("n",)
    assert way.stream(graph, None, CONFIG, stream_mode="custom") == ["one", "two"]


def test_what_is_said_before_a_failure_is_heard(way: Any) -> None:
    """ST-17, ST-20."""

    def node(state: State, writer: Any) -> Any:
        writer("before")
        raise ValueError("boom")

    told: list[Any] = []
    with pytest.raises(ValueError, match="boom"):
        way.stream_into(told, single(node), {"x": 0}, stream_mode="custom")
    assert told == ["before"]


def test_what_is_said_after_the_end_is_lost(way: Any) -> None:
    """A writer may outlive its task, and then speaks to nobody."""
    writers: list[Any] = []
    graph = single(lambda state, writer: writers.append(writer))
    assert way.stream(graph, {"x": 0}, stream_mode="custom") == []
    writers[0]("too late")


def test_a_live_run_keeps_its_limit(way: Any) -> None:
    """MR-10: max_concurrency also counts where events are read."""
    at_work: list[int] = []
    most: list[int] = []
    lock = threading.Lock()

    def node(state: Any, writer: Any) -> None:
        with lock:
            at_work.append(1)
            most.append(len(at_work))
        writer(state["k"])
        time.sleep(0.002)
        with lock:
            at_work.pop()

    builder = StateGraph(State).add_node("n", node)
    builder.add_conditional_edges(START, lambda s: [Send("n", {"k": k}) for k in range(12)])
    config = {"max_concurrency": 2}
    told = way.stream(builder.compile(), {"log": []}, config, stream_mode="custom")
    assert sorted(told) == list(range(12))
    assert max(most) <= 2


# ---------------------------------------------------------------- shapes


def test_shapes_of_version_1() -> None:
    """ST-01."""
    emitted = Emit("values", {"x": 1})
    assert Reader("values").chunk(emitted) == {"x": 1}
    assert Reader(["values"]).chunk(emitted) == ("values", {"x": 1})
    assert Reader(("values",)).chunk(emitted) == ("values", {"x": 1})


def test_version_2(way: Any) -> None:
    """ST-02: a dict each, and those of values tell of questions."""
    graph = ab(InMemorySaver())
    told = way.stream(graph, {"log": []}, CONFIG, stream_mode=["custom", "values"], version="v2")
    assert told == [
        {"type": "values", "ns": (), "data": {"log": []}, "interrupts": ()},
        {"type": "custom", "ns": (), "data": "working"},
        {"type": "values", "ns": (), "data": {"log": ["a"], "x": 1}, "interrupts": ()},
        {"type": "values", "ns": (), "data": {"log": ["a", "b"], "x": 1}, "interrupts": ()},
    ]
    bare = way.stream(ab(), {"log": []}, stream_mode="updates", version="v2")
    assert bare[0] == {"type": "updates", "ns": (), "data": {"a": {"log": ["a"], "x": 1}}}


def test_invoke_in_version_2(way: Any) -> None:
    """ST-02, ST-04: the last state in a `GraphOutput`; chunks as in a stream."""
    output = GraphOutput({"log": ["a", "b"], "x": 1}, ())
    assert way.invoke(ab(), {"log": []}, version="v2") == output
    assert way.invoke(ab(), {"log": []}, version="v2", stream_mode="updates") == [
        {"type": "updates", "ns": (), "data": {"a": {"log": ["a"], "x": 1}}},
        {"type": "updates", "ns": (), "data": {"b": {"log": ["b"]}}},
    ]


def test_versions_and_modes_that_do_not_exist(way: Any) -> None:
    """ST-03: seen at the call."""
    with pytest.raises(ValueError, match="version must be one of"):
        way.stream(ab(), {"log": []}, version="v3")
    with pytest.raises(ValueError, match="print_mode 'nope' does not exist"):
        way.invoke(ab(), {"log": []}, print_mode="nope")


def test_print_mode(way: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """ST-32: printed as well, and nothing else changes."""
    assert way.invoke(ab(), {"log": []}, print_mode="updates") == {"log": ["a", "b"], "x": 1}
    assert capsys.readouterr().out == (
        "\033[1m[updates]\033[0m {'a': {'log': ['a'], 'x': 1}}\n"
        "\033[1m[updates]\033[0m {'b': {'log': ['b']}}\n"
    )
    told = way.stream(ab(), {"log": []}, stream_mode="updates", print_mode=["custom", "updates"])
    assert told == [{"a": {"log": ["a"], "x": 1}}, {"b": {"log": ["b"]}}]
    assert capsys.readouterr().out.count("\n") == 3


def test_every_task_knows_its_own_writer(way: Any) -> None:
    """MR-07: parallel tasks speak for themselves."""

    def node(name: str) -> Any:
        def speak(state: State) -> None:
            get_stream_writer()((name, get_config()["metadata"]["langgraph_node"]))

        return speak

    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, node(name)).add_edge(START, name)
    told = way.stream(builder.compile(), {"log": []}, stream_mode="custom")
    assert sorted(told) == [("a", "a"), ("b", "b"), ("c", "c")]
