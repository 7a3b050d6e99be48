"""The functional API: functions that are graphs, and tasks that they call."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from pathlib import Path
from typing import Any, TypedDict

import pytest

from minigraph.cache.memory import InMemoryCache
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.errors import (
    EmptyInputError,
    InvalidUpdateError,
    NodeCancelledError,
    NodeTimeoutError,
)
from minigraph.func import TaskFuture, entrypoint, task
from minigraph.graph import START, StateGraph
from minigraph.types import CachePolicy, Command, RetryPolicy, interrupt

THREAD: Any = {"configurable": {"thread_id": "t"}}
PATIENCE = 20.0


@task
def double(n: int) -> int:
    return 2 * n


@task
async def double_later(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n


@task
def ask(question: str) -> str:
    answer: str = interrupt(question)
    return answer


def stored(saver: Any, config: Any = THREAD) -> list[tuple[str, Any]]:
    found = saver.get_tuple(config)
    return [(channel, value) for _, channel, value in found.pending_writes]


# ---------------------------------------------------------------- entrypoints


def test_what_an_entrypoint_is() -> None:
    """FN-01."""

    @entrypoint()
    def flow(x: int) -> int:
        return x

    assert list(flow.nodes) == ["flow"]
    assert {name: type(channel).__name__ for name, channel in flow.channels.items()} == {
        "__start__": "EphemeralValue",
        "__end__": "LastValue",
        "__previous__": "LastValue",
        "__pregel_tasks": "Topic",
    }
    assert (flow.name, flow.stream_mode) == ("flow", "updates")


def test_what_cannot_be_one() -> None:
    """FN-01, FN-02."""

    def numbers(n: int) -> Any:
        yield n

    async def later(n: int) -> Any:
        yield n

    with pytest.raises(ValueError, match="Entrypoint function must have at least one parameter"):
        entrypoint()(lambda: 1)
    for function in (numbers, later):
        with pytest.raises(NotImplementedError, match=f"'{function.__name__}' is a generator"):
            entrypoint()(function)
        with pytest.raises(NotImplementedError, match=f"'{function.__name__}' is a generator"):
            task(function)


def test_nothing_as_input_and_as_result() -> None:
    """FN-02: None as input means to go on."""
    flow = entrypoint()(lambda x: None)
    with pytest.raises(EmptyInputError):
        flow.invoke(None)
    assert flow.invoke(1) is None


def test_previous() -> None:
    """FN-06."""

    @entrypoint(checkpointer=InMemorySaver())
    def total(n: int, *, previous: int | None = None) -> int:
        return n + (previous or 0)

    @entrypoint(checkpointer=InMemorySaver())
    def doubled(n: int, previous: Any) -> Any:
        return entrypoint.final(value=previous, save=2 * n)

    other: Any = {"configurable": {"thread_id": "other"}}
    found = [total.invoke(1, THREAD), total.invoke(2, THREAD), total.invoke(5, other)]
    assert found == [1, 3, 5]
    assert [doubled.invoke(3, THREAD), doubled.invoke(1, THREAD)] == [None, 6]
    assert entrypoint()(lambda n, previous: [n, previous]).invoke(1) == [1, None]


def test_what_is_told() -> None:
    """FN-05."""

    @entrypoint()
    def flow(numbers: list[int]) -> list[int]:
        return [double(n).result() for n in numbers]

    assert [*flow.stream([1, 2])] == [{"double": 2}, {"double": 4}, {"flow": [2, 4]}]
    assert [*flow.stream([1], stream_mode="values")] == [[2]]


def test_what_is_stored() -> None:
    """FN-07."""
    saver = InMemorySaver()

    @entrypoint(checkpointer=saver)
    def flow(x: int) -> int:
        return double(x).result() + 1

    flow.invoke(3, THREAD)
    rows = [
        (each.metadata, each.checkpoint["channel_values"], [w[1:] for w in each.pending_writes])
        for each in saver.list(THREAD)
    ]
    assert rows == [
        (
            {"source": "loop", "step": 0, "parents": {}},
            {"__end__": 7, "__previous__": 7},
            [],
        ),
        (
            {"source": "input", "step": -1, "parents": {}},
            {"__start__": 3},
            [("__end__", 7), ("__previous__", 7), ("__return__", 6)],
        ),
    ]
    assert flow.get_state(THREAD).values == 7


# ---------------------------------------------------------------- tasks


def test_a_task_outside_of_everything() -> None:
    """FN-03."""
    with pytest.raises(RuntimeError, match="'double' was called outside of a runnable context"):
        double(1)


def test_names_and_arguments() -> None:
    """FN-03, FN-12: by position and by name; what is left out is given as to a node."""

    @task(name="renamed")
    def many(a: int, b: int = 2, *rest: int, c: int, config: Any = None, **more: int) -> Any:
        return [a, b, rest, c, more, config["metadata"]["langgraph_node"]]

    @entrypoint()
    def flow(x: int) -> Any:
        return many(x, 3, 4, c=5, d=6).result()

    assert repr(many) == "<task 'renamed'>"
    assert [*flow.stream(1)] == [
        {"renamed": [1, 3, (4,), 5, {"d": 6}, "renamed"]},
        {"flow": [1, 3, (4,), 5, {"d": 6}, "renamed"]},
    ]


@pytest.mark.parametrize("limit", [None, 1, 2])
@pytest.mark.parametrize("streamed", [False, True])
def test_tasks_run_at_the_same_time(limit: int | None, streamed: bool) -> None:
    """FN-04, MR-10: as many as may; and whoever waits for one takes nobody's place."""
    meeting = threading.Barrier(2)
    met: list[bool] = []

    @task
    def wait(n: int) -> int:
        try:
            meeting.wait(PATIENCE if limit != 1 else 0.2)
            met.append(True)
        except threading.BrokenBarrierError:
            met.append(False)
        return n

    @entrypoint()
    def flow(numbers: list[int]) -> list[int]:
        return [future.result() for future in [wait(n) for n in numbers]]

    config: Any = {"max_concurrency": limit} if limit else {}
    if streamed:
        assert [*flow.stream([1, 2], config)][-1] == {"flow": [1, 2]}
    else:
        assert flow.invoke([1, 2], config) == [1, 2]
    assert met == [limit != 1] * 2


def test_a_hundred_that_each_wait_for_another() -> None:
    """FN-04: threads that wait are no reason for others not to begin."""

    @task
    def outer(n: int) -> int:
        return double(n).result() + 1

    @entrypoint()
    def flow(count: int) -> int:
        return sum(future.result() for future in [outer(n) for n in range(count)])

    assert flow.invoke(100) == sum(2 * n + 1 for n in range(100))
    assert flow.invoke(100, {"max_concurrency": 1}) == sum(2 * n + 1 for n in range(100))
    assert asyncio.run(flow.ainvoke(100)) == sum(2 * n + 1 for n in range(100))
    assert asyncio.run(flow.ainvoke(100, {"max_concurrency": 2})) == sum(
        2 * n + 1 for n in range(100)
    )


def test_nested_calls_and_their_paths() -> None:
    """FN-10."""

    @task
    def outer(x: int) -> int:
        return double(x).result() * 10

    saver = InMemorySaver()

    @entrypoint(checkpointer=saver)
    def flow(x: int) -> int:
        return outer(x).result()

    called = "~__pregel_push, ~__pregel_pull, flow, 0000000000, 0000000001"
    events = [*flow.stream(1, THREAD, stream_mode="tasks")]
    assert [(e["name"], e.get("input"), e.get("triggers"), e.get("result")) for e in events] == [
        ("flow", 1, ("__start__",), None),
        ("outer", ((1,), {}), ("__pregel_push",), None),
        ("double", ((1,), {}), ("__pregel_push",), None),
        ("double", None, None, {"__return__": 2}),
        ("outer", None, None, {"__return__": 20}),
        ("flow", None, None, {"__end__": 20}),
    ]
    assert sorted({path for kept in saver.writes.values() for *_, path in kept.values()}) == [
        "~__pregel_pull, flow",
        called,
        f"~__pregel_push, {called}, 0000000000, 0000000001",
    ]


def test_in_async_code() -> None:
    """FN-03: awaited alone, together, and mixed with sync tasks."""

    @entrypoint()
    async def flow(x: int) -> list[int]:
        together = await asyncio.gather(double_later(1), double(2))
        return [await double_later(x), *together]

    assert asyncio.run(flow.ainvoke(5)) == [10, 2, 4]


def test_an_async_task_in_sync_code() -> None:
    """FN-13: in a sync run there is no event loop; in an async one a sync function may wait."""

    @entrypoint()
    def flow(x: int) -> int:
        return double_later(x).result()

    with pytest.raises(RuntimeError, match="In an sync context async tasks cannot be called"):
        flow.invoke(1)
    assert asyncio.run(flow.ainvoke(1)) == 2


def test_holding_up_the_event_loop() -> None:
    """FN-03: refused at once, instead of waiting for ever."""

    @entrypoint()
    async def flow(x: int) -> int:
        return double(x).result()

    with pytest.raises(RuntimeError, match="Await the task instead"):
        asyncio.run(flow.ainvoke(1))


def test_in_the_node_of_a_graph() -> None:
    """FN-03, FN-11: the snapshot shows the node, and not what it has called."""

    class State(TypedDict):
        x: int

    runs: list[int] = []

    @task
    def work(n: int) -> int:
        runs.append(n)
        return n + 1

    def node(state: State) -> Any:
        return {"x": work(state["x"]).result() + interrupt("?")}

    builder = StateGraph(State).add_node(node).add_edge(START, "node")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"x": 1}, THREAD)
    assert [each.name for each in graph.get_state(THREAD).tasks] == ["node"]
    assert graph.invoke(Command(resume=10), THREAD) == {"x": 12}
    assert runs == [1]


def test_a_node_that_works_on_a_thread_of_its_own() -> None:
    """FN-03: it must bring the context there, as for everything else."""

    def node(state: dict[str, int]) -> Any:
        with ThreadPoolExecutor(1) as pool:
            called = pool.submit(copy_context().run, double, state["x"])
            return {"x": called.result(PATIENCE).result(PATIENCE)}

    class State(TypedDict):
        x: int

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile()
    assert [*graph.stream({"x": 1}, stream_mode="updates")][-1] == {"node": {"x": 2}}


# ---------------------------------------------------------------- going on


def test_a_finished_task_is_not_done_again() -> None:
    """FN-08, FN-14."""
    runs: list[str] = []

    @task
    def draft(topic: str) -> str:
        runs.append(topic)
        return f"about {topic}"

    saver = InMemorySaver()

    @entrypoint(checkpointer=saver)
    def flow(topic: str) -> Any:
        return {"text": draft(topic).result(), "fine": interrupt("Fine?")}

    first = [*flow.stream("cats", THREAD)]
    assert [*first[0].items()] == [("draft", "about cats")]
    assert [each.value for each in first[1]["__interrupt__"]] == ["Fine?"]
    state = flow.get_state(THREAD)
    assert (state.values, state.next) == (None, ("flow",))
    assert [name for name, _ in stored(saver)] == ["__interrupt__", "__return__"]
    done = [*flow.stream(Command(resume=True), THREAD)]
    assert done == [{"flow": {"text": "about cats", "fine": True}}]
    assert runs == ["cats"]


def test_in_another_process(tmp_path: Path) -> None:
    """FN-08: what the calls have in common is their order."""
    runs: list[int] = []

    @task
    def work(n: int) -> int:
        runs.append(n)
        return n

    def flow(x: int) -> Any:
        return [work(1).result(), work(2).result(), interrupt("?")]

    path = str(tmp_path / "threads.db")
    with SqliteSaver.from_conn_string(path) as saver:
        entrypoint(checkpointer=saver)(flow).invoke(0, THREAD)
    with SqliteSaver.from_conn_string(path) as saver:
        assert entrypoint(checkpointer=saver)(flow).invoke(Command(resume=3), THREAD) == [1, 2, 3]
    assert runs == [1, 2]


def test_tasks_that_ask(way: Any) -> None:
    """FN-14: the one that was called first asks first; each gets its own answer."""

    @entrypoint(checkpointer=InMemorySaver())
    def flow(x: int) -> list[str]:
        return [future.result() for future in [ask("one"), ask("two")]]

    for question, answer in (("one", "A"), ("two", "B")):
        result = way.invoke(flow, 1 if answer == "A" else Command(resume="A"), THREAD)
        assert [each.value for each in result["__interrupt__"]] == [question]
    assert way.invoke(flow, Command(resume="B"), THREAD) == ["A", "B"]


def test_answers_by_id_for_tasks(way: Any) -> None:
    """FN-14, IN-31."""

    @entrypoint(checkpointer=InMemorySaver())
    def flow(x: int) -> Any:
        return [ask("one").result(), interrupt("mine")]

    (question,) = way.invoke(flow, 1, THREAD)["__interrupt__"]
    (mine,) = way.invoke(flow, Command(resume={question.id: "A"}), THREAD)["__interrupt__"]
    assert mine.value == "mine"
    assert way.invoke(flow, Command(resume={mine.id: "B"}), THREAD) == ["A", "B"]


def test_an_error_can_be_caught(way: Any) -> None:
    """FN-09."""

    @task
    def fails() -> None:
        raise ValueError("no")

    @entrypoint(checkpointer=InMemorySaver())
    def flow(x: int) -> Any:
        future = fails()
        assert isinstance(future.exception(), ValueError)
        try:
            future.result()
        except ValueError as error:
            return f"caught {error}"

    assert flow.invoke(1, THREAD) == "caught no"


def test_going_on_after_an_error(way: Any) -> None:
    """FN-09: what has finished is not done again, what has failed is."""
    runs: list[str] = []

    @task
    def good() -> int:
        runs.append("good")
        return 1

    @task
    def bad() -> int:
        runs.append("bad")
        if runs.count("bad") == 1:
            raise ValueError("boom")
        return 2

    @entrypoint(checkpointer=InMemorySaver())
    def flow(x: int) -> int:
        return good().result() + bad().result()

    with pytest.raises(ValueError, match="boom"):
        way.invoke(flow, 0, THREAD)
    assert way.invoke(flow, None, THREAD) == 3
    assert runs == ["good", "bad", "bad"]


def test_a_run_that_ends_before_its_tasks() -> None:
    """FN-03: they are waited for, as long as nothing has gone wrong."""
    done: list[int] = []

    @task
    def slow(n: int) -> None:
        threading.Event().wait(0.05)
        done.append(n)

    flow = entrypoint()(lambda x: slow(x) and None)
    assert flow.invoke(1) is None
    assert done == [1]


def test_whoever_waits_when_the_reader_leaves() -> None:
    """ST-30: he is told that there will be no result, so no thread is left behind."""
    told: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    @task
    def slow() -> None:
        begun.set()
        go_on.wait(PATIENCE)

    @entrypoint()
    def flow(x: int, writer: Any) -> None:
        future: TaskFuture[None] = slow()
        writer("called")
        try:
            future.result()
        except Exception as error:
            told.append(str(error))
            raise

    stream = flow.stream(1, stream_mode="custom")
    assert next(iter(stream)) == "called"
    assert begun.wait(PATIENCE)
    stream.close()
    go_on.set()
    for thread in threading.enumerate():
        if thread.name.startswith("minigraph"):
            thread.join(PATIENCE)
    assert told == ["The run has ended before this task."]


def test_a_parent_command_from_a_task() -> None:
    """CS-20: it goes up through whoever has called the task."""

    @entrypoint()
    def flow(x: int) -> Any:
        return double(x).result()

    class State(TypedDict):
        x: int

    def node(state: State) -> Any:
        return {"x": flow.invoke(state["x"])}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile()
    assert graph.invoke({"x": 4}) == {"x": 8}


def test_a_result_that_cannot_be_stored() -> None:
    """CP-54: the task has failed, and whoever has called it is told."""

    @task
    def makes_a_lock() -> Any:
        return threading.Lock()

    saver = InMemorySaver()

    @entrypoint(checkpointer=saver)
    def flow(x: int) -> str:
        try:
            makes_a_lock().result()
        except TypeError as error:
            return type(error).__name__
        return "stored"

    assert flow.invoke(1, THREAD) == "TypeError"
    assert [name for name, _ in stored(saver, flow.get_state(THREAD).parent_config)] == [
        "__end__",
        "__previous__",
        "__error__",
    ]


def test_an_update_as_an_entrypoint() -> None:
    """CP-60: it is a node like others."""

    @entrypoint(checkpointer=InMemorySaver())
    def flow(n: int, previous: Any) -> Any:
        return [previous, n]

    flow.invoke(1, THREAD)
    flow.update_state(THREAD, "edited")
    assert flow.get_state(THREAD).values == "edited"
    assert flow.invoke(2, THREAD) == ["edited", 2]
    with pytest.raises(InvalidUpdateError, match="'nobody'"):
        flow.update_state(THREAD, 1, as_node="nobody")


# ---------------------------------------------------------------- policies


def test_a_task_that_is_tried_again() -> None:
    """ER-10, FN-03."""
    runs: list[int] = []

    @task(name="flaky", retry_policy=RetryPolicy(initial_interval=0.0, jitter=False))
    def flaky(x: int) -> int:
        runs.append(x)
        if len(runs) < 3:
            raise ConnectionError
        return x

    flow = entrypoint()(lambda x: flaky(x).result())
    assert [*flow.stream(5)] == [{"flaky": 5}, {"<lambda>": 5}]
    assert runs == [5, 5, 5]


def test_a_result_that_is_kept() -> None:
    """ER-50, ST-13: from run to run, and told as such."""
    runs: list[int] = []

    @task(cache_policy=CachePolicy())
    def kept(x: int) -> int:
        runs.append(x)
        return x

    @entrypoint(cache=InMemoryCache())
    def flow(x: int) -> int:
        return kept(x).result()

    assert flow.invoke(1) == 1
    assert [*flow.stream(1)] == [{"kept": 1, "__metadata__": {"cached": True}}, {"flow": 1}]
    assert runs == [1]


def test_a_time_limit() -> None:
    """ER-20, ER-21."""

    @task(timeout=0.01)
    async def slow() -> None:
        await asyncio.sleep(PATIENCE)

    @entrypoint()
    async def flow(x: int) -> None:
        await slow()

    with pytest.raises(NodeTimeoutError):
        asyncio.run(flow.ainvoke(1))
    with pytest.raises(ValueError, match="'double' is sync and has a timeout"):
        task(timeout=1)(double.function)


def test_an_entrypoint_that_is_tried_again() -> None:
    """ER-10, FN-01."""
    runs: list[int] = []

    @entrypoint(retry_policy=RetryPolicy(initial_interval=0.0, jitter=False))
    def flow(x: int) -> int:
        runs.append(double(x).result())
        if len(runs) < 2:
            raise ConnectionError
        return x

    assert flow.invoke(2) == 2
    assert runs == [4, 4]


# ---------------------------------------------------------------- what a trial has found


@pytest.mark.parametrize("memory", [None, False])
@pytest.mark.parametrize("by_id", [False, True])
def test_a_question_of_a_graph_in_a_task(way: Any, memory: Any, by_id: bool) -> None:
    """FN-14, SB-20: the answer finds its way through the task."""

    class State(TypedDict):
        v: str

    builder = StateGraph(State).add_node("n", lambda state: {"v": interrupt("name?")})
    inner = builder.add_edge(START, "n").compile(checkpointer=memory)

    @task
    def called() -> str:
        result: str = inner.invoke({"v": ""})["v"]
        return result

    @task
    def around() -> str:
        return called().result()

    @entrypoint(checkpointer=InMemorySaver())
    def flow(x: int) -> list[str]:
        return [around().result(), called().result()]

    (question,) = way.invoke(flow, 0, THREAD)["__interrupt__"]
    answer: Any = {question.id: "Ada"} if by_id else "Ada"
    (question,) = way.invoke(flow, Command(resume=answer), THREAD)["__interrupt__"]
    answer = {question.id: "Bob"} if by_id else "Bob"
    assert way.invoke(flow, Command(resume=answer), THREAD) == ["Ada", "Bob"]


def test_a_result_is_stored_although_nobody_waits_for_it() -> None:
    """FN-07, DU-03: in a sync call too, while the function does work of its own."""
    saver = InMemorySaver()

    @entrypoint(checkpointer=saver)
    def flow(x: int) -> Any:
        future = double(x)
        patience = time.monotonic() + PATIENCE
        while not future.done() and time.monotonic() < patience:
            time.sleep(0.001)
        return [name for name, _ in stored(saver)], future.result()

    assert flow.invoke(2, THREAD, durability="sync") == (["__return__"], 4)


def test_waiting_in_other_ways() -> None:
    """FN-03: it is a future like others, and a thread with the context may wait, too."""

    @entrypoint()
    def flow(numbers: list[int]) -> Any:
        done = sorted(
            each.result() for each in as_completed([double(n) for n in numbers], PATIENCE)
        )
        contexts = [copy_context() for _ in numbers]
        with ThreadPoolExecutor(2) as pool:
            work = [pool.submit(c.run, lambda: double(1).result(PATIENCE)) for c in contexts]
            return done, [each.result(PATIENCE) for each in work]

    assert flow.invoke([1, 2, 3]) == ([2, 4, 6], [2, 2, 2])


def test_a_call_after_the_end(way: Any) -> None:
    """FN-03: nobody would hear of it, so it is refused."""
    contexts: list[Any] = []

    @entrypoint()
    def flow(x: int) -> int:
        contexts.append(copy_context())
        return x

    way.invoke(flow, 1)
    with pytest.raises(NodeCancelledError, match="'double' was called after the run"):
        contexts[0].run(double, 1)


def test_a_task_that_somebody_gave_up_on() -> None:
    """FN-03: it goes on, and the run waits for it."""
    done: list[int] = []

    @task
    async def slow(n: int) -> None:
        await asyncio.sleep(0.05)
        done.append(n)

    @entrypoint()
    async def flow(x: int) -> str:
        try:
            await asyncio.wait_for(slow(x), 0.001)
        except TimeoutError:
            return "fallback"
        return "in time"

    assert asyncio.run(flow.ainvoke(1)) == "fallback"
    assert done == [1]
