"""Runners: tasks at work, on threads or on an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import functools
import operator
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.config import get_config
from minigraph.context import Calls, running_task
from minigraph.errors import GraphInterrupt, NodeCancelledError, ParentCommand
from minigraph.graph import END, START, StateGraph
from minigraph.pregel.effects import Asked, Failed, Finished, View
from minigraph.pregel.identity import interrupt_id
from minigraph.pregel.interrupts import LooseAnswer
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import hydrate
from minigraph.pregel.node import PregelNode, UserFunction
from minigraph.pregel.plan import Task
from minigraph.pregel.runner import MAX_THREADS, LoopRunner, ThreadRunner, perform
from minigraph.pregel.selection import Selection
from minigraph.runtime import interrupt
from minigraph.types import Command, Interrupt, Send

PATIENCE = 20.0
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


@pytest.fixture(autouse=True)
def no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has no function marked as a `task`."""
    monkeypatch.setattr(Calls, "possible", False)


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """Call it on a thread of its own, and give up when it takes too long: a deadlock."""
    outcome: list[Any] = []

    def call() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    assert outcome, f"still at work after {seconds} seconds"
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


# ---------------------------------------------------------------- the three verbs


def make_task(name: str, function: Callable[..., Any]) -> Task:
    node = PregelNode(name, ("x",), Selection("x"), bound=UserFunction(function))
    return Task(name, name, ("__pregel_pull", name), 1, ("x",), (), name, node)


LAYOUT = Layout(
    {},
    {},
    input_channels=Selection("x"),
    output_channels=Selection("x"),
    stream_channels=Selection("x"),
)
VIEW = View({}, 1, hydrate(LAYOUT, None))


def test_perform_gives_an_outcome_and_never_an_exception() -> None:
    """Finished with the writes, or Failed with the very error."""
    error = ValueError("boom")

    def bad(value: Any) -> Any:
        raise error

    def outcome_of(task: Task) -> Any:
        return contextvars.copy_context().run(perform, task, VIEW)

    assert outcome_of(make_task("good", lambda value: value)) == Finished("good", [])
    assert outcome_of(make_task("bad", bad)) == Failed("bad", error)


def outcome_by(kind: str, task: Task, view: View = VIEW) -> Any:
    """The outcome of a task, in a sync or an async run."""
    if kind == "sync":
        return contextvars.copy_context().run(perform, task, view)

    async def main() -> Any:
        runner = LoopRunner(None)
        runner.start([task], view)
        outcome = await runner.next()
        runner.close()
        return outcome

    return asyncio.run(main())


RAISING = pytest.mark.parametrize("kind", ["sync", "async"])


@RAISING
def test_a_task_that_asks(kind: str) -> None:
    """IN-06: it has neither finished nor failed; a graph in it may have stopped without a word."""

    def asks(value: Any) -> Any:
        return interrupt("q?")

    question = Interrupt("q?", interrupt_id("a:a", 0))
    assert outcome_by(kind, make_task("a", asks)) == Asked("a", (question,))

    def stops(value: Any) -> Any:
        raise GraphInterrupt

    assert outcome_by(kind, make_task("a", stops)) == Asked("a", ())


@RAISING
@pytest.mark.parametrize("ends", ["finishes", "asks again", "fails"])
def test_answers_that_a_task_has_taken(kind: str, ends: str) -> None:
    """IN-33: are told with its outcome, whatever that is."""
    error = ValueError("boom")

    def asks(value: Any) -> Any:
        assert interrupt("one?") == "A"
        if ends == "fails":
            raise error
        return interrupt("two?") if ends == "asks again" else None

    view = VIEW._replace(loose=LooseAnswer("A"))
    outcome = outcome_by(kind, make_task("a", asks), view)
    question = Interrupt("two?", interrupt_id("a:a", 1))
    assert (
        outcome
        == {
            "finishes": Finished("a", [], {"a": ["A"]}),
            "asks again": Asked("a", (question,), {"a": ["A"]}),
            "fails": Failed("a", error, {"a": ["A"]}),
        }[ends]
    )


@RAISING
def test_commands_that_have_come_up(kind: str) -> None:
    """CS-20, CS-22: the node has returned those for its graph, and fails with others."""

    def sends(*commands: Command[Any]) -> Task:
        def function(value: Any) -> Any:
            raise ParentCommand(*commands)

        def writer(result: Any) -> Any:
            return [("x", each) for each in result]

        task = make_task("a", function)
        return task._replace(node=dataclasses.replace(task.node, writers=(writer,)))

    arrived = Command(update={"x": 1})
    for name in (None, "a", "a:a"):
        came = dataclasses.replace(arrived, graph=name)
        assert outcome_by(kind, sends(came, came)) == Finished("a", [("x", arrived)] * 2)
    further = Command(graph="other", goto="x")
    outcome = outcome_by(kind, sends(arrived, further))
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, ParentCommand)
    assert outcome.error.args == (further,)


def test_a_thread_runner_runs_a_task_alone_right_here() -> None:
    """SS-46: no thread is started for it, and it starts only when its outcome is wanted."""
    threads: list[int] = []
    runner = ThreadRunner(None)

    runner.start([make_task("a", lambda value: threads.append(threading.get_ident()))], VIEW)
    assert threads == []

    assert runner.next() == Finished("a", [])
    assert threads == [threading.get_ident()]
    assert runner.next() is None
    assert runner.pool is None


def test_a_thread_runner_runs_several_on_threads() -> None:
    """SS-46: at the same time, none of them here."""
    meeting = threading.Barrier(3)
    threads: set[int] = set()
    runner = ThreadRunner(None)

    def work(value: Any) -> None:
        meeting.wait(PATIENCE)
        threads.add(threading.get_ident())

    runner.start([make_task(name, work) for name in "abc"], VIEW)
    outcomes = [runner.next() for _ in range(3)]
    runner.close()

    assert sorted(outcome.task_id for outcome in outcomes if outcome) == ["a", "b", "c"]
    assert runner.next() is None
    assert len(threads) == 3
    assert threading.get_ident() not in threads


def test_a_thread_runner_takes_more_while_it_is_at_work() -> None:
    """Also a single one: it does not wait for its turn on this thread."""
    go_on = threading.Event()
    runner = ThreadRunner(None)
    runner.start([make_task(n, lambda value: go_on.wait(PATIENCE)) for n in "ab"], VIEW)

    runner.start([make_task("c", lambda value: None)], VIEW)
    assert runner.next() == Finished("c", [])
    go_on.set()

    ended = [runner.next(), runner.next(), runner.next()]
    assert [outcome and outcome.task_id for outcome in ended] in (
        ["a", "b", None],
        ["b", "a", None],
    )
    runner.close()


def test_a_cancelled_thread_runner_gives_up_what_has_not_begun() -> None:
    """With `wait` it still tells of what is at work; of the rest, it says that there is none."""
    begun = threading.Event()
    go_on = threading.Event()
    ran: list[str] = []

    def first(value: Any) -> None:
        ran.append("a")
        begun.set()
        go_on.wait(PATIENCE)

    runner = ThreadRunner(1)
    runner.start(
        [make_task("a", first), make_task("b", lambda value: ran.append("b"))],
        VIEW,
    )
    assert begun.wait(PATIENCE)

    runner.cancel(wait=True)
    go_on.set()

    assert runner.next() == Finished("a", [])
    assert runner.next() is None
    assert ran == ["a"]
    runner.close()


def test_a_cancelled_thread_runner_need_not_wait() -> None:
    """Without `wait` it says at once that nothing more has ended."""
    begun = threading.Event()
    go_on = threading.Event()

    def work(value: Any) -> None:
        begun.set()
        go_on.wait(PATIENCE)

    runner = ThreadRunner(None)
    runner.start([make_task("a", work), make_task("b", work)], VIEW)
    assert begun.wait(PATIENCE)

    runner.cancel(wait=False)

    assert runner.next() is None
    go_on.set()
    runner.close()


def test_a_loop_runner_runs_tasks_side_by_side() -> None:
    """Coroutines on the loop's thread, sync functions on other threads."""
    threads: dict[str, int] = {}

    async def run() -> list[Any]:
        meeting = asyncio.Event()

        async def one(value: Any) -> None:
            threads["one"] = threading.get_ident()
            await meeting.wait()

        async def two(value: Any) -> None:
            threads["two"] = threading.get_ident()
            meeting.set()

        def three(value: Any) -> None:
            threads["three"] = threading.get_ident()

        runner = LoopRunner(None)
        tasks = [make_task("one", one), make_task("two", two), make_task("three", three)]
        runner.start(tasks, VIEW)
        outcomes = [await runner.next() for _ in tasks]
        assert await runner.next() is None
        runner.close()
        return outcomes

    outcomes = asyncio.run(run())

    assert sorted(outcome.task_id for outcome in outcomes) == ["one", "three", "two"]
    assert threads["one"] == threads["two"] == threading.get_ident()
    assert threads["three"] != threading.get_ident()


def test_a_cancelled_loop_runner_cancels() -> None:
    """What has begun is cancelled and told as such; what has not is given up."""

    async def run() -> Any:
        runner = LoopRunner(1)

        async def work(value: Any) -> None:
            await asyncio.sleep(PATIENCE)

        runner.start([make_task("a", work), make_task("b", work)], VIEW)
        await asyncio.sleep(0)
        runner.cancel(wait=True)
        return await runner.next(), await runner.next()

    told, nothing = asyncio.run(run())

    assert told.task_id == "a"
    assert isinstance(told.error, asyncio.CancelledError)
    assert nothing is None


# ---------------------------------------------------------------- an async task that is alone


def alone(node: Callable[..., Any], cancel: bool = False) -> list[Any]:
    """What a loop runner tells of a task that is alone; who asks may be cancelled meanwhile."""

    async def run() -> list[Any]:
        told: list[Any] = []

        async def ask() -> None:
            runner.start([make_task("a", node)], VIEW)
            try:
                while (outcome := await runner.next()) is not None:
                    told.append(outcome)
            except asyncio.CancelledError:
                told.append("cancelled")
                runner.cancel(wait=False)
                while (outcome := await runner.next()) is not None:
                    told.append(outcome)

        runner = LoopRunner(None)
        asking = asyncio.create_task(ask())
        if cancel:
            await asyncio.sleep(0.01)
            asking.cancel()
        await asking
        runner.close()
        return told

    told: list[Any] = asyncio.run(run())
    return told


def test_an_async_task_alone_has_an_asyncio_task_of_its_own() -> None:
    """What cancels the asyncio task that it is used in must not cancel the caller's."""
    tasks: list[Any] = []

    async def child() -> None:
        await asyncio.sleep(0)
        raise ValueError("child")

    async def grouped(value: Any) -> None:
        tasks.append(asyncio.current_task())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(child())
        except* ValueError:
            tasks.append("caught")

    async def rash(value: Any) -> None:
        asyncio.current_task().cancel()  # type: ignore[union-attr]
        await asyncio.sleep(0)

    async def stubborn(value: Any) -> None:
        asyncio.current_task().cancel()  # type: ignore[union-attr]
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            tasks.append("swallowed")

    async def run(node: Any) -> Any:
        runner = LoopRunner(None)
        runner.start([make_task("a", node)], VIEW)
        outcome = await runner.next()
        me = asyncio.current_task()
        assert me is not None
        assert me not in tasks
        assert me.cancelling() == 0
        return outcome

    assert asyncio.run(run(grouped)) == Finished("a", [])
    assert tasks[1:] == ["caught"]
    assert asyncio.run(run(stubborn)) == Finished("a", [])
    assert tasks[2:] == ["swallowed"]
    outcome = asyncio.run(run(rash))
    assert isinstance(outcome.error, NodeCancelledError)


def test_a_node_that_cancels_itself_beside_others() -> None:
    """ER-03: nobody has cancelled the run; the node has failed."""

    async def run() -> list[Any]:
        async def rash(value: Any) -> None:
            asyncio.current_task().cancel()  # type: ignore[union-attr]
            await asyncio.sleep(0)

        async def calm(value: Any) -> None:
            await asyncio.sleep(0.001)

        runner = LoopRunner(None)
        runner.start([make_task("rash", rash), make_task("calm", calm)], VIEW)
        return [await runner.next(), await runner.next()]

    failed, finished = asyncio.run(run())
    assert isinstance(failed.error, NodeCancelledError)
    assert finished == Finished("calm", [])


def test_what_an_async_task_alone_awaits_comes_back_to_it() -> None:
    """Values and exceptions, each at the place where it waits, and always in its own context."""
    seen: list[Any] = []

    async def answer() -> str:
        await asyncio.sleep(0)
        return var.get()

    async def raises() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    async def node(value: Any) -> None:
        var.set("mine")
        seen.append(await asyncio.create_task(answer()))
        try:
            await asyncio.create_task(raises())
        except ValueError as error:
            seen.append(str(error))
        async with asyncio.timeout(PATIENCE):
            seen.append(await asyncio.gather(answer(), answer()))
        try:
            async with asyncio.timeout(0):
                await asyncio.sleep(PATIENCE)
        except TimeoutError:
            seen.append(var.get())
        raise KeyError("last")

    (outcome,) = alone(node)

    assert seen == ["mine", "no", ["mine", "mine"], "mine"]
    assert repr(outcome.error) == "KeyError('last')"
    assert var.get() == "unset"


def test_an_async_task_alone_is_cancelled_with_its_caller() -> None:
    """It hears of it where it waits, can put things in order, and then is no outcome."""
    seen: list[str] = []

    async def node(value: Any) -> None:
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            await asyncio.sleep(0)
            seen.append("put in order")

    assert alone(node, cancel=True) == ["cancelled"]
    assert seen == ["put in order"]


def test_an_async_task_alone_cannot_swallow_its_callers_cancellation() -> None:
    """The caller goes; what the task has done all the same counts."""

    async def node(value: Any) -> None:
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            pass

    assert alone(node, cancel=True) == ["cancelled", Finished("a", [])]


def test_a_second_start_ends_the_loneliness() -> None:
    """Two tasks are alone together only if they run side by side."""

    async def run() -> list[Any]:
        meeting = asyncio.Event()

        async def one(value: Any) -> None:
            await meeting.wait()

        async def two(value: Any) -> None:
            meeting.set()

        runner = LoopRunner(None)
        runner.start([make_task("one", one)], VIEW)
        runner.start([make_task("two", two)], VIEW)
        return [await runner.next(), await runner.next(), await runner.next()]

    assert asyncio.run(run()) == [Finished("two", []), Finished("one", []), None]


def test_an_async_task_alone_that_was_given_up() -> None:
    async def run() -> Any:
        runner = LoopRunner(None)
        runner.start([make_task("a", asyncio.sleep)], VIEW)
        runner.cancel(wait=False)
        return await runner.next()

    assert asyncio.run(run()) is None


# ---------------------------------------------------------------- context variables

var: contextvars.ContextVar[str] = contextvars.ContextVar("var", default="unset")


def observing(seen: list[Any], name: str, is_async: bool) -> Callable[[Any], Any]:
    """A node that reads the variable and then changes it."""

    def node(state: Any) -> Any:
        seen.append((name, var.get()))
        var.set(f"changed by {name}")
        return {"log": [name]}

    async def async_node(state: Any) -> Any:
        return node(state)

    return async_node if is_async else node


SHAPES: dict[str, Callable[[StateGraph], Any]] = {
    "alone": lambda builder: builder.add_edge(START, "a"),
    "chain": lambda b: b.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c"),
    "parallel": lambda b: b.add_edge(START, "a").add_edge(START, "b").add_edge(START, "c"),
    "sends": lambda builder: builder.add_conditional_edges(
        START, lambda state: [Send(name, {}) for name in "aabc"]
    ),
    "branch": lambda b: b.add_edge(START, "a").add_edge(START, "b").add_edge("a", "c"),
}
RAN = {"alone": "a", "chain": "abc", "parallel": "abc", "sends": "aabc", "branch": "abc"}


@pytest.mark.parametrize("limit", [None, 1, 2])
@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["no saver", "saver"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_callers_variables_reach_nodes_and_do_not_leak(
    way_and_nodes: Any, shape: str, saver: Any, limit: int | None
) -> None:
    """Each task has its own copy of the caller's context: it reads it, and changes only its own."""
    way, is_async = way_and_nodes
    seen: list[Any] = []
    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, observing(seen, name, is_async))
    SHAPES[shape](builder)
    graph = builder.compile(checkpointer=saver and saver())
    config: Any = {**CONFIG, "max_concurrency": limit}
    token = var.set("caller")
    try:
        way.invoke(graph, {"log": []}, config)
        assert sorted(seen) == [(name, "caller") for name in RAN[shape]]
        assert var.get() == "caller"
        seen.clear()

        way.stream(graph, {"log": []}, config)
        assert sorted(seen) == [(name, "caller") for name in RAN[shape]]
        seen.clear()

        way.batch(graph, [{"log": []}, {"log": []}], config if saver is None else [config] * 2)
        assert sorted(seen) == sorted([(name, "caller") for name in RAN[shape]] * 2)
        assert var.get() == "caller"
    finally:
        var.reset(token)


def test_path_functions_run_in_their_tasks_context(way: Any) -> None:
    """A route belongs to the task of its node: it sees what the node has set."""
    seen: list[str] = []

    def path(state: State) -> list[str]:
        seen.append(var.get())
        return []

    def node(state: State) -> None:
        var.set("by the node")

    builder = StateGraph(State).add_node("a", node).add_edge(START, "a")
    graph = builder.add_conditional_edges("a", path).compile()

    way.invoke(graph, {"log": []})

    # On a loop, a sync function gets a copy of the task's context, so what it sets is its own.
    assert seen == (["unset"] if way.is_async else ["by the node"])
    assert var.get() == "unset"


def test_a_task_knows_itself_and_the_caller_knows_none(way: Any) -> None:
    """MR-07: `get_config` finds the task that runs here; outside of a run there is none."""
    seen: dict[str, Any] = {}

    def node(name: str) -> Callable[[Any], Any]:
        def function(state: Any) -> None:
            seen[name] = get_config()["metadata"]["langgraph_node"]

        return function

    builder = StateGraph(State)
    for name in "ab":
        builder.add_node(name, node(name)).add_edge(START, name)

    way.invoke(builder.compile(), {"log": []})

    assert seen == {"a": "a", "b": "b"}
    assert running_task.get() is None
    with pytest.raises(RuntimeError, match="outside of a node"):
        get_config()


def test_a_graph_inside_a_node_restores_the_outer_task(way: Any) -> None:
    """After a nested run, the node is itself again."""
    inner = (
        StateGraph(State).add_node("inner", lambda s: {"log": [here()]}).add_edge(START, "inner")
    )
    nested = inner.compile()

    def here() -> str:
        return str(get_config()["metadata"]["langgraph_node"])

    def outer(state: State) -> Any:
        return {"log": [here(), *nested.invoke({"log": []})["log"], here()]}

    graph = StateGraph(State).add_node("outer", outer).add_edge(START, "outer").compile()

    assert way.invoke(graph, {"log": []}) == {"log": ["outer", "inner", "outer"]}


# ---------------------------------------------------------------- graphs that call graphs


def nest(levels: int, width: int, asynchronous: bool, config: Any) -> Any:
    """A graph of parallel nodes that each call such a graph, down to the last level."""
    builder = StateGraph(State)
    inner = nest(levels - 1, width, asynchronous, config) if levels > 1 else None

    def node(name: str) -> Callable[..., Any]:
        def call(state: State) -> Any:
            log = inner.invoke({"log": []}, config)["log"] if inner else []
            return {"log": [name, *log]}

        async def acall(state: State) -> Any:
            log = (await inner.ainvoke({"log": []}, config))["log"] if inner else []
            return {"log": [name, *log]}

        return acall if asynchronous else call

    for i in range(width):
        builder.add_node(f"{levels}{i}", node(f"{levels}{i}")).add_edge(START, f"{levels}{i}")
    return builder.compile()


def nested_log(levels: int, width: int) -> list[str]:
    if levels == 0:
        return []
    inner = nested_log(levels - 1, width)
    return [entry for i in range(width) for entry in (f"{levels}{i}", *inner)]


@pytest.mark.parametrize("limit", [1, 2, None])
@pytest.mark.parametrize("kind", ["threads", "loop", "threads on a loop"])
def test_three_levels_of_parallel_graphs_do_not_deadlock(kind: str, limit: int | None) -> None:
    """Threads belong to a run, so no level can take them from another."""
    config: Any = {} if limit is None else {"max_concurrency": limit}
    graph = nest(3, 3, kind == "loop", config)

    if kind == "threads":
        result = within(PATIENCE, lambda: graph.invoke({"log": []}, config))
    else:
        result = within(PATIENCE, lambda: asyncio.run(graph.ainvoke({"log": []}, config)))

    assert result == {"log": nested_log(3, 3)}
    assert len(result["log"]) == 3 + 9 + 27


# ---------------------------------------------------------------- how many at once


class Crowd:
    """Counts how many are at work at the same time."""

    def __init__(self) -> None:
        self.now = 0
        self.peak = 0
        self.lock = threading.Lock()

    def enter(self) -> None:
        with self.lock:
            self.now += 1
            self.peak = max(self.peak, self.now)

    def leave(self) -> None:
        with self.lock:
            self.now -= 1


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_max_concurrency_is_kept(way_and_nodes: Any, limit: int) -> None:
    """MR-10: never more at once; and, while there are enough, never fewer."""
    way, is_async = way_and_nodes
    crowd = Crowd()

    def work(arg: int) -> Any:
        crowd.enter()
        time.sleep(0.01)
        crowd.leave()
        return {"log": [arg]}

    async def awork(arg: int) -> Any:
        crowd.enter()
        await asyncio.sleep(0.01)
        crowd.leave()
        return {"log": [arg]}

    builder = StateGraph(State).add_node("work", awork if is_async else work)
    builder.add_conditional_edges(START, lambda state: [Send("work", i) for i in range(10)])

    result = way.invoke(builder.compile(), {"log": []}, {"max_concurrency": limit})

    assert result == {"log": [*range(10)]}
    assert crowd.peak == limit


def test_without_a_limit_all_work_at_once(way_and_nodes: Any) -> None:
    """Up to the threads of a run; coroutines have no such bound."""
    way, is_async = way_and_nodes
    count = MAX_THREADS * 2 if is_async else MAX_THREADS
    meeting = threading.Barrier(count)
    arrived: list[int] = []

    def work(arg: int) -> Any:
        meeting.wait(PATIENCE)
        return {"log": [arg]}

    async def awork(arg: int) -> Any:
        arrived.append(arg)
        while len(arrived) < count:
            await asyncio.sleep(0)
        return {"log": [arg]}

    builder = StateGraph(State).add_node("work", awork if is_async else work)
    builder.add_conditional_edges(START, lambda state: [Send("work", i) for i in range(count)])

    result = within(PATIENCE, lambda: way.invoke(builder.compile(), {"log": []}))

    assert result == {"log": [*range(count)]}


def test_a_thousand_sends_in_order(way_and_nodes: Any) -> None:
    """SS-03: however they end, their writes are applied in the order in which they were sent."""
    way, is_async = way_and_nodes

    async def awork(arg: int) -> Any:
        await asyncio.sleep(0.001 if arg % 7 == 0 else 0)
        return {"log": [arg]}

    builder = StateGraph(State)
    builder.add_node("work", awork if is_async else lambda arg: {"log": [arg]})
    builder.add_conditional_edges(START, lambda state: [Send("work", i) for i in range(1000)])

    result = way.invoke(builder.compile(checkpointer=InMemorySaver()), {"log": []}, CONFIG)

    assert result == {"log": [*range(1000)]}


# ---------------------------------------------------------------- sync and async nodes


def test_an_async_node_is_refused_before_anything_happens() -> None:
    """ST-31: not when its turn comes, but before anything has run or is stored."""
    ran: list[str] = []
    saver = InMemorySaver()

    async def later(state: State) -> Any:
        return {"log": ["later"]}

    builder = StateGraph(State).add_node("now", lambda state: ran.append("now"))
    builder.add_node("later", later).add_edge(START, "now").add_edge("now", "later")
    graph = builder.compile(checkpointer=saver)

    for call in (
        lambda: graph.invoke({"log": []}, CONFIG),
        lambda: graph.stream({"log": []}, CONFIG),
        lambda: graph.batch([{"log": []}], CONFIG),
    ):
        with pytest.raises(TypeError, match="No synchronous function was provided to 'later'"):
            call()

    assert ran == []
    assert graph.get_state(CONFIG).metadata is None
    assert dict(saver.storage) == {}
    assert asyncio.run(graph.ainvoke({"log": []}, CONFIG)) == {"log": ["later"]}


def test_an_async_path_function_is_refused_too() -> None:
    """A route is called like a node, and must be awaited like one."""

    async def route(state: State) -> str:
        return "b"

    builder = (
        StateGraph(State).add_node("a", lambda s: None).add_node("b", lambda s: {"log": ["b"]})
    )
    builder.add_edge(START, "a").add_conditional_edges("a", route)
    graph = builder.compile()

    with pytest.raises(TypeError, match="No synchronous function was provided to 'a'"):
        graph.invoke({"log": []})
    assert asyncio.run(graph.ainvoke({"log": []})) == {"log": ["b"]}


def test_sync_nodes_do_not_hold_up_the_loop() -> None:
    """In an async run they are on threads, so coroutines go on meanwhile."""
    reached = threading.Event()
    where: dict[str, int] = {}

    def waits(state: State) -> Any:
        where["waits"] = threading.get_ident()
        assert reached.wait(PATIENCE)
        return {"log": ["waits"]}

    async def goes_on(state: State) -> Any:
        where["goes_on"] = threading.get_ident()
        reached.set()
        return {"log": ["goes_on"]}

    builder = StateGraph(State).add_node("waits", waits).add_node("goes_on", goes_on)
    graph = builder.add_edge(START, "waits").add_edge(START, "goes_on").compile()

    assert asyncio.run(graph.ainvoke({"log": []})) == {"log": ["goes_on", "waits"]}
    assert where["goes_on"] == threading.get_ident() != where["waits"]


def test_a_sync_node_alone_is_on_a_thread_too() -> None:
    """Else one slow node would stop a whole server."""
    where: list[int] = []
    builder = StateGraph(State).add_node("a", lambda state: where.append(threading.get_ident()))
    graph = builder.add_edge(START, "a").compile()

    asyncio.run(graph.ainvoke({"log": []}))
    graph.invoke({"log": []})

    assert where[0] != threading.get_ident() == where[1]


def test_all_kinds_of_async_callables() -> None:
    """A coroutine function, a method, an object with an async ``__call__``, a partial."""

    class Caller:
        async def __call__(self, state: State) -> Any:
            return {"log": ["call"]}

        async def method(self, state: State) -> Any:
            return {"log": ["method"]}

    async def plain(state: State, said: str = "plain") -> Any:
        return {"log": [said]}

    builder = StateGraph(State).add_node("a", Caller()).add_node("b", Caller().method)
    builder.add_node("c", plain).add_node("d", functools.partial(plain, said="partial"))
    for name in "abcd":
        builder.add_edge(START, name)
    graph = builder.compile()

    assert graph.layout.async_nodes == ["a", "b", "c", "d"]
    assert asyncio.run(graph.ainvoke({"log": []})) == {
        "log": ["call", "method", "plain", "partial"]
    }


# ---------------------------------------------------------------- path functions on a loop


def looping(path: Callable[[State], str]) -> Any:
    """A graph that asks its path function six times."""
    builder = StateGraph(State).add_node("a", lambda state: {"log": ["a"]}).add_edge(START, "a")
    return builder.add_conditional_edges("a", path).compile()


def go_on(state: State) -> str:
    return "a" if len(state["log"]) < 6 else END


def test_a_slow_path_function_does_not_hold_up_the_loop() -> None:
    """It is a sync function, so it is called on a thread, each time."""
    threads: list[int] = []

    def path(state: State) -> str:
        threads.append(threading.get_ident())
        time.sleep(0.005)
        return go_on(state)

    assert asyncio.run(looping(path).ainvoke({"log": []})) == {"log": ["a"] * 6}
    assert len(threads) == 6
    assert threading.get_ident() not in threads


def test_a_path_function_that_becomes_slow() -> None:
    """Where it was quick it may have been called on the loop; where it is slow, at most once."""
    threads: list[int] = []

    def path(state: State) -> str:
        if len(state["log"]) > 2:
            threads.append(threading.get_ident())
            time.sleep(0.005)
        return go_on(state)

    assert asyncio.run(looping(path).ainvoke({"log": []})) == {"log": ["a"] * 6}
    assert len(threads) == 4
    assert threading.get_ident() not in threads[1:]


def test_a_path_function_may_run_a_loop_of_its_own() -> None:
    """A sync function may call `asyncio.run`, the first time and every time."""

    async def ask(state: State) -> str:
        return go_on(state)

    def path(state: State) -> str:
        question = ask(state)
        try:
            return asyncio.run(question)
        finally:
            question.close()

    assert asyncio.run(looping(path).ainvoke({"log": []})) == {"log": ["a"] * 6}


@pytest.mark.parametrize("kind", [StopIteration, ValueError, KeyError])
def test_a_path_function_that_raises(way: Any, kind: type[Exception]) -> None:
    """The first time or later: its node's task has failed, with this error."""
    for calls in range(1, 5):
        count = iter(range(calls - 1))

        def path(state: State, count: Any = count) -> str:
            if next(count, None) is None:
                raise kind("no way")
            return "a"

        builder = StateGraph(State).add_node("a", lambda state: {"log": ["a"]})
        builder.add_edge(START, "a").add_conditional_edges("a", path)
        graph = builder.compile(checkpointer=InMemorySaver())
        with pytest.raises((kind, RuntimeError)) as caught:
            way.invoke(graph, {"log": []}, CONFIG)
        assert isinstance(caught.value, kind) or isinstance(caught.value.__cause__, kind)
        state = way.state(graph, CONFIG)
        assert (state.values, state.next) == ({"log": ["a"] * (calls - 1)}, ("a",))
        assert kind.__name__ in state.tasks[0].error


# ---------------------------------------------------------------- cancelled by itself


class WatchedSaver(InMemorySaver):
    """Knows when the work of the node "good" is stored."""

    def __init__(self) -> None:
        super().__init__()
        self.good = threading.Event()

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        if task_path.endswith("good"):
            self.good.set()


def with_a_good_one(bad: Callable[..., Any], saver: Any) -> Any:
    builder = StateGraph(State).add_node("good", lambda state: {"log": ["good"]})
    builder.add_node("bad", bad).add_edge(START, "good").add_edge(START, "bad")
    return builder.compile(checkpointer=saver)


def test_a_node_that_raises_cancelled_error(way_and_nodes: Any) -> None:
    """ER-03: it has failed like any other, is stored so, and its sibling's work stays."""
    way, async_nodes = way_and_nodes
    saver = WatchedSaver()
    error = asyncio.CancelledError("mine")

    def bad(state: State) -> Any:
        assert saver.good.wait(PATIENCE)
        raise error

    async def bad_async(state: State) -> Any:
        while not saver.good.is_set():
            await asyncio.sleep(0)
        raise error

    graph = with_a_good_one(bad_async if async_nodes else bad, saver)
    with pytest.raises(NodeCancelledError) as caught:
        way.invoke(graph, {"log": []}, CONFIG)

    assert str(caught.value) == "Node 'bad' raised asyncio.CancelledError"
    assert caught.value.__cause__ is error
    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["good"]}, ("bad",))
    assert {task.name: task.error for task in state.tasks} == {
        "good": None,
        "bad": repr(caught.value),
    }


def test_a_single_node_that_raises_cancelled_error(way_and_nodes: Any) -> None:
    """ER-03: also where it runs on the caller's own thread, and without a saver."""
    way, async_nodes = way_and_nodes

    def bad(state: State) -> Any:
        raise asyncio.CancelledError

    async def bad_async(state: State) -> Any:
        child = asyncio.create_task(asyncio.sleep(PATIENCE))
        child.cancel()
        await child  # a task of the node's own, which it has cancelled itself

    builder = StateGraph(State).add_node("bad", bad_async if async_nodes else bad)
    with pytest.raises(NodeCancelledError, match=r"^Node 'bad' raised asyncio\.CancelledError"):
        way.invoke(builder.add_edge(START, "bad").compile(), {"log": []})


def test_a_run_that_is_cancelled_is_cancelled() -> None:
    """ER-03: the caller's cancellation is none of the node's: it comes out as what it is."""
    saver = WatchedSaver()

    async def slow(state: State) -> Any:
        await asyncio.sleep(PATIENCE)

    async def run() -> bool:
        call = asyncio.create_task(graph.ainvoke({"log": []}, CONFIG))
        while not saver.good.is_set():
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await call
        assert type(caught.value) is asyncio.CancelledError
        return call.cancelled()

    graph = with_a_good_one(slow, saver)
    assert asyncio.run(run())
    state = graph.get_state(CONFIG)
    assert (state.values, state.next) == ({"log": ["good"]}, ("bad",))
    assert [task.error for task in state.tasks] == [None, "CancelledError()"]


# ---------------------------------------------------------------- tasks that start at once


def eager(loop: Any, coroutine: Any, *, context: Any = None, **options: Any) -> Any:
    """A task factory that takes a coroutine's first step at once, as Python 3.12 has one."""
    context = context or contextvars.copy_context()
    try:
        first = context.run(coroutine.send, None)
    except StopIteration as end:
        done = loop.create_future()
        done.set_result(end.value)
        return done

    @types.coroutine
    def rest() -> Any:
        yield first
        return (yield from coroutine)

    return asyncio.Task(rest(), loop=loop, context=context, **options)


FACTORIES = [
    pytest.param(eager, id="our own"),
    pytest.param(
        getattr(asyncio, "eager_task_factory", None),
        id="Python's",
        marks=pytest.mark.skipif(
            sys.version_info < (3, 12), reason="asyncio.eager_task_factory is new in Python 3.12"
        ),
    ),
]


@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("limit", [None, 1, 2])
def test_tasks_that_start_at_once(factory: Any, limit: int | None) -> None:
    """SS-46: one may have ended before it is known to run; all are told, and once."""

    async def quick(state: Any) -> Any:
        return {"log": ["quick"]}

    async def slow(state: Any) -> Any:
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        return {"log": ["slow"]}

    async def run() -> Any:
        asyncio.get_running_loop().set_task_factory(factory)
        return await graph.ainvoke({"log": []}, {**CONFIG, "max_concurrency": limit})

    builder = StateGraph(State).add_node("quick", quick).add_node("slow", slow)
    builder.add_node("threaded", lambda state: {"log": ["threaded"]})
    names = ["quick", "slow", "quick", "threaded"]
    builder.add_conditional_edges(START, lambda state: [Send(name, state) for name in names])
    graph = builder.compile(checkpointer=InMemorySaver())
    assert asyncio.run(run()) == {"log": names}
    assert graph.get_state(CONFIG).next == ()


@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("limit", [None, 2])
def test_a_thousand_tasks_that_start_at_once(factory: Any, limit: int | None) -> None:
    """SS-46: the end of one starts the next, but not from inside of it, level by level."""

    async def quick(state: Any) -> Any:
        return {"log": [state]}

    async def run() -> Any:
        asyncio.get_running_loop().set_task_factory(factory)
        return await graph.ainvoke({"log": []}, {"max_concurrency": limit})

    builder = StateGraph(State).add_node("quick", quick)
    builder.add_conditional_edges(START, lambda state: [Send("quick", i) for i in range(1000)])
    graph = builder.compile()
    assert asyncio.run(run()) == {"log": [*range(1000)]}
