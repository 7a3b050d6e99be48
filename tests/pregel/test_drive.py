"""Drivers: what becomes of a run when its surroundings fail, or when somebody leaves.

Whatever happens, two things hold: what was finished is stored, and the thread can go on.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import operator
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigraph.channels import LastValue
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.errors import InvalidUpdateError
from minigraph.graph import END, START, StateGraph
from minigraph.pregel import Pregel
from minigraph.pregel.drive import AsyncDriver, Driver, afinish, finish
from minigraph.pregel.effects import Cancel, Effect, Emit, Load, Next, Start, Stopped, View
from minigraph.pregel.node import PregelNode
from minigraph.pregel.plan import Task
from minigraph.pregel.request import Environment
from minigraph.pregel.runner import perform
from minigraph.pregel.selection import Selection
from minigraph.types import Send

CONFIG: Any = {"configurable": {"thread_id": "t"}}
PATIENCE = 20.0
"""Seconds after which a test that waits for another thread gives up."""


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def say(name: str) -> Callable[[Any], Any]:
    return lambda state: {"log": [name]}


def fan(nodes: dict[str, Callable[..., Any]], saver: Any = None) -> Any:
    """All nodes in parallel."""
    builder = StateGraph(State)
    for name, function in nodes.items():
        builder.add_node(name, function).add_edge(START, name)
    return builder.compile(checkpointer=saver)


def chain(nodes: dict[str, Callable[..., Any]], saver: Any = None) -> Any:
    builder = StateGraph(State)
    previous = START
    for name, function in nodes.items():
        builder.add_node(name, function).add_edge(previous, name)
        previous = name
    return builder.compile(checkpointer=saver)


def results(way: Any, graph: Any) -> dict[str, Any]:
    """What each task of the open super-step has come to."""
    return {task.name: task.result for task in way.state(graph, CONFIG).tasks}


class WatchedSaver(InMemorySaver):
    """Sets an event when a task's writes are stored, for nodes that wait for that."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[str, threading.Event] = {}

    def event(self, node: str) -> threading.Event:
        return self.stored.setdefault(node, threading.Event())

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        self.event(task_path.rpartition(", ")[2]).set()


# ---------------------------------------------------------------- savers that fail


class SickSaver(InMemorySaver):
    """Raises `OSError` where its doctor says so."""

    def __init__(self, sick: Callable[[str, Any], bool]) -> None:
        super().__init__()
        self.sick = sick
        self.failed = threading.Event()

    def check(self, method: str, about: Any) -> None:
        if self.sick(method, about):
            self.failed.set()
            raise OSError(f"{method} failed")

    def get_tuple(self, config: Any) -> Any:
        self.check("get_tuple", config)
        return super().get_tuple(config)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.check("put", metadata["step"])
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.check("put_writes", (task_path.rpartition(", ")[2], writes[0][0]))
        super().put_writes(config, writes, task_id, task_path)


def never(method: str, about: Any) -> bool:
    return False


def test_a_saver_that_cannot_read(way: Any) -> None:
    """The run ends before it has begun, and the question is answered with the same error."""
    ran: list[str] = []
    saver = SickSaver(lambda method, about: method == "get_tuple")
    graph = chain({"a": lambda state: ran.append("a")}, saver)

    with pytest.raises(OSError, match="get_tuple failed"):
        way.invoke(graph, {"log": []}, CONFIG)
    with pytest.raises(OSError, match="get_tuple failed"):
        way.state(graph, CONFIG)
    with pytest.raises(OSError, match="get_tuple failed"):
        way.update(graph, CONFIG, {"log": ["x"]})

    assert ran == []
    assert (dict(saver.storage), saver.blobs) == ({}, {})


@pytest.mark.parametrize(("step", "ran_before"), [(-1, []), (0, []), (1, ["a"]), (2, ["a", "b"])])
def test_a_saver_that_cannot_store_a_checkpoint(way: Any, step: int, ran_before: Any) -> None:
    """CP-54: the super-step is over, but not on paper; its nodes do not run again."""
    ran: list[str] = []

    def node(name: str) -> Callable[[Any], Any]:
        return lambda state: ran.append(name) or {"log": [name]}

    saver = SickSaver(lambda method, about: (method, about) == ("put", step))
    graph = chain({"a": node("a"), "b": node("b")}, saver)

    with pytest.raises(OSError, match="put failed"):
        way.invoke(graph, {"log": ["in"]}, CONFIG, durability="sync")

    assert ran == ran_before
    saver.sick = never
    again = {"log": ["in"]} if step == -1 else None
    assert way.invoke(graph, again, CONFIG, durability="sync") == {"log": ["in", "a", "b"]}
    assert ran == ["a", "b"]
    assert [state.metadata["step"] for state in way.history(graph, CONFIG)] == [2, 1, 0, -1]


def test_a_saver_that_cannot_store_a_task_once(way: Any) -> None:
    """That task has failed, like one that raised; its sibling's work is stored."""
    ran: list[str] = []

    def node(name: str) -> Callable[[Any], Any]:
        return lambda state: ran.append(name) or {"log": [name]}

    saver = SickSaver(lambda method, about: (method, about) == ("put_writes", ("bad", "log")))
    graph = fan({"bad": node("bad"), "good": node("good")}, saver)

    with pytest.raises(OSError, match="put_writes failed") as caught:
        way.invoke(graph, {"log": []}, CONFIG, durability="sync")

    assert caught.value.__notes__[-1].startswith("During task with name 'bad' and id ")
    state = way.state(graph, CONFIG)
    assert "bad" in state.next
    assert {task.name: task.error for task in state.tasks}["bad"] == "OSError('put_writes failed')"
    done = [name for name, result in results(way, graph).items() if result]
    if not way.is_async:
        assert done == ["good"]
    ran.clear()
    saver.sick = never
    assert way.invoke(graph, None, CONFIG, durability="sync") == {"log": ["bad", "good"]}
    assert sorted(ran) == sorted({"bad", "good"} - {*done})


def test_a_sibling_that_ends_after_a_task_could_not_be_stored() -> None:
    """SS-47: a thread that is at work is waited for, and what it did is kept."""
    saver = SickSaver(lambda method, about: (method, about) == ("put_writes", ("bad", "log")))

    def late(state: State) -> Any:
        assert saver.failed.wait(PATIENCE)
        return {"log": ["late"]}

    graph = fan({"bad": say("bad"), "late": late}, saver)

    with pytest.raises(OSError, match="put_writes failed"):
        graph.invoke({"log": []}, CONFIG, durability="sync")

    state = graph.get_state(CONFIG)
    assert (state.values, state.next) == ({"log": ["late"]}, ("bad",))


def test_a_sibling_that_ends_after_an_error_could_not_be_stored() -> None:
    """Neither the task's writes nor its error can be stored; its sibling's work still can."""
    saver = SickSaver(lambda method, about: method == "put_writes" and about[0] == "bad")

    def late(state: State) -> Any:
        assert saver.failed.wait(PATIENCE)
        return {"log": ["late"]}

    graph = fan({"bad": say("bad"), "late": late}, saver)

    with pytest.raises(OSError, match="put_writes failed"):
        graph.invoke({"log": []}, CONFIG, durability="sync")

    state = graph.get_state(CONFIG)
    assert (state.values, state.next) == ({"log": ["late"]}, ("bad",))


def test_a_node_that_fails_and_a_saver_that_cannot_say_so(way: Any) -> None:
    """The run fails, and a sibling's work that was stored stays stored."""
    saver = SickSaver(lambda method, about: (method, about) == ("put_writes", ("bad", "__error__")))
    stored = threading.Event()
    put_writes = saver.put_writes

    def watching(config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        put_writes(config, writes, task_id, task_path)
        if task_path.endswith("good"):
            stored.set()

    def bad(state: State) -> Any:
        assert stored.wait(PATIENCE)
        raise ValueError("boom")

    saver.put_writes = watching  # type: ignore[method-assign]
    graph = fan({"bad": bad, "good": say("good")}, saver)

    with pytest.raises(ValueError, match="boom") as caught:
        way.invoke(graph, {"log": []}, CONFIG)

    told = "\n".join(caught.value.__notes__)
    assert "could not be stored" in told
    assert "put_writes failed" in told
    assert way.state(graph, CONFIG).values == {"log": ["good"]}


def test_a_value_that_cannot_be_stored(way: Any) -> None:
    """The error says which node wrote it; the thread is as it was."""
    graph = fan({"bad": lambda state: {"log": [threading.Lock()]}}, InMemorySaver())

    with pytest.raises(TypeError, match="lock") as caught:
        way.invoke(graph, {"log": ["in"]}, CONFIG)

    assert any("'bad'" in note for note in caught.value.__notes__)
    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["in"]}, ("bad",))


def test_no_saver_at_all() -> None:
    """An effect that needs a saver says how to get one."""
    with pytest.raises(ValueError, match="No checkpointer set: compile the graph with one"):
        Driver(None).perform(Load({}))
    saver = InMemorySaver()
    assert Driver(saver).saver is saver


# ---------------------------------------------------------------- nodes that do odd things


def test_a_node_that_raises_stop_iteration(way: Any) -> None:
    """It is an error like any other, and not the end of the walk or of the run."""

    def node(state: State) -> Any:
        return {"log": [next(iter(()))]}

    graph = fan({"a": node, "b": say("b")}, InMemorySaver())

    with pytest.raises(RuntimeError) as caught:
        way.invoke(graph, {"log": []}, CONFIG)

    assert isinstance(caught.value.__cause__, StopIteration)
    errors = {task.name: task.error for task in way.state(graph, CONFIG).tasks}
    assert errors["a"] == "StopIteration()"


def test_a_single_node_that_raises_stop_iteration(way: Any) -> None:
    """The same for a task that runs alone, on the caller's thread."""

    def node(state: State) -> Any:
        raise StopIteration("alone")

    graph = chain({"a": node}, InMemorySaver())

    with pytest.raises(RuntimeError) as caught:
        way.invoke(graph, {"log": []}, CONFIG)

    assert isinstance(caught.value.__cause__, StopIteration)
    assert "StopIteration" in way.state(graph, CONFIG).tasks[0].error


class Odd(BaseException):
    """Not an `Exception`: not for the machine to catch."""


@pytest.mark.parametrize("kind", [SystemExit, Odd, KeyboardInterrupt])
def test_a_lonely_node_that_wants_to_leave(way: Any, kind: type[BaseException]) -> None:
    """It leaves: nothing is stored for it, so it runs again when the thread goes on."""
    leaving = [True]

    def node(state: State) -> Any:
        if leaving.pop():
            leaving.append(False)
            raise kind("bye")
        leaving.append(False)
        return {"log": ["stayed"]}

    graph = chain({"a": node}, InMemorySaver())

    with pytest.raises(kind, match="bye"):
        way.invoke(graph, {"log": []}, CONFIG)

    assert way.state(graph, CONFIG).next == ("a",)
    assert way.invoke(graph, None, CONFIG) == {"log": ["stayed"]}


@pytest.mark.parametrize("kind", [SystemExit, Odd, KeyboardInterrupt])
def test_a_node_among_others_that_wants_to_leave(way: Any, kind: type[BaseException]) -> None:
    """In a thread, too: it ends the run, and what a sibling had finished is kept."""
    saver = WatchedSaver()
    leaving = [True]

    def leaver(state: State) -> Any:
        assert saver.event("good").wait(PATIENCE)
        if leaving[0]:
            raise kind("bye")
        return {"log": ["stayed"]}

    graph = fan({"good": say("good"), "leaver": leaver}, saver)

    with pytest.raises(kind, match="bye"):
        way.invoke(graph, {"log": []}, CONFIG)

    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["good"]}, ("leaver",))
    leaving[0] = False
    assert way.invoke(graph, None, CONFIG) == {"log": ["good", "stayed"]}


def test_a_sync_function_that_returns_a_coroutine() -> None:
    """A sync run says what is wrong, and leaves no coroutine behind that nobody awaited."""

    async def later() -> Any:
        return {"log": ["later"]}

    graph = chain({"a": lambda state: later()}, InMemorySaver())

    with pytest.raises(TypeError, match="Node 'a' returned a coroutine"):
        graph.invoke({"log": []}, CONFIG)

    assert graph.get_state(CONFIG).next == ("a",)
    # An async run can, so it does.
    assert asyncio.run(graph.ainvoke(None, CONFIG)) == {"log": ["later"]}


def test_a_sync_function_that_returns_another_awaitable() -> None:
    """An async run awaits whatever can be awaited."""

    class Later:
        def __await__(self) -> Any:
            yield from asyncio.sleep(0).__await__()
            return {"log": ["later"]}

    graph = chain({"a": lambda state: Later()})

    assert asyncio.run(graph.ainvoke({"log": []})) == {"log": ["later"]}


# ---------------------------------------------------------------- somebody leaves


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_ctrl_c_while_waiting_for_threads(asynchronous: bool) -> None:
    """ST-30: the signal reaches the driver, not the node; the finished sibling is stored."""
    saver = WatchedSaver()
    release = threading.Event()

    def slow(state: State) -> Any:
        assert saver.event("quick").wait(PATIENCE)
        time.sleep(0.1)  # the main thread is on its way to wait; the signal is to find it waiting
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        assert release.wait(PATIENCE)
        return {"log": ["slow"]}

    graph = fan({"quick": say("quick"), "slow": slow}, saver)

    with pytest.raises(KeyboardInterrupt):
        if asynchronous:
            asyncio.run(graph.ainvoke({"log": []}, CONFIG))
        else:
            graph.invoke({"log": []}, CONFIG)
    release.set()

    state = graph.get_state(CONFIG)
    assert (state.values, state.next) == ({"log": ["quick"]}, ("slow",))


def test_ctrl_c_takes_in_what_has_just_ended() -> None:
    """Both tasks are done when the signal comes, one of them unread: both are stored."""
    saver = WatchedSaver()
    both = threading.Barrier(2)

    def one(name: str) -> Callable[[Any], Any]:
        def node(state: State) -> Any:
            both.wait(PATIENCE)
            return {"log": [name]}

        return node

    class Pressed(Driver):
        """Interrupted when both have ended, and neither was looked at."""

        waits = 0
        ended: list[Any]

        def perform(self, effect: Effect) -> Any:
            if isinstance(effect, Next):
                self.waits += 1
                if self.waits == 2:  # the first was START's
                    self.ended = [super().perform(effect), super().perform(effect)]
                    raise KeyboardInterrupt
                if self.waits > 2:
                    return self.ended.pop() if self.ended else None
            return super().perform(effect)

    graph = fan({"a": one("a"), "b": one("b")}, saver)

    with pytest.raises(KeyboardInterrupt):
        finish(Pressed(saver).drive(graph.program({"log": []}, CONFIG)))

    state = graph.get_state(CONFIG)
    # Nothing was missing any more, so the super-step was completed as well.
    assert (state.values, state.next) == ({"log": ["a", "b"]}, ())
    assert state.metadata["step"] == 1


@pytest.mark.parametrize("channel", ["log", "__error__"])
def test_ctrl_c_while_something_is_stored(way: Any, channel: str) -> None:
    """It may be stored or not; whoever had been stored before stays, and the run ends at once."""

    class Interrupted(WatchedSaver):
        pressed = True

        def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            if self.pressed and task_path.endswith("late") and writes[0][0] == channel:
                raise KeyboardInterrupt
            super().put_writes(config, writes, task_id, task_path)

    saver = Interrupted()

    def late(state: State) -> Any:
        assert saver.event("good").wait(PATIENCE)
        if saver.pressed and channel == "__error__":
            raise ValueError("boom")
        return {"log": ["late"]}

    graph = fan({"good": say("good"), "late": late}, saver)
    with pytest.raises(KeyboardInterrupt):
        way.invoke(graph, {"log": []}, CONFIG)

    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["good"]}, ("late",))
    assert [task.error for task in state.tasks] == [None, None]
    saver.pressed = False
    assert way.invoke(graph, None, CONFIG) == {"log": ["good", "late"]}


def test_closing_a_stream_early(way: Any) -> None:
    """ST-30: what was told is stored, what comes after it does not run."""
    ran: list[str] = []

    def node(name: str) -> Callable[[Any], Any]:
        return lambda state: ran.append(name) or {"log": [name]}

    graph = chain({"a": node("a"), "b": node("b"), "c": node("c")}, InMemorySaver())

    assert way.take(graph, 1, {"log": []}, CONFIG) == [{"a": {"log": ["a"]}}]

    assert ran == ["a"]
    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["a"]}, ("b",))
    assert state.metadata["step"] == 1
    assert way.invoke(graph, None, CONFIG) == {"log": ["a", "b", "c"]}
    assert ran == ["a", "b", "c"]


def test_closing_a_stream_of_values_early(way: Any) -> None:
    """The state is told after it is stored, so nothing is between the two."""
    graph = chain({"a": say("a"), "b": say("b")}, InMemorySaver())

    chunks = way.take(graph, 2, {"log": []}, CONFIG, stream_mode="values")

    assert chunks == [{"log": []}, {"log": ["a"]}]
    state = way.state(graph, CONFIG)
    assert (state.values, state.next, state.metadata["step"]) == ({"log": ["a"]}, ("b",), 1)


def test_closing_a_stream_while_siblings_work(way: Any) -> None:
    """The reader has seen one of two tasks; what it has seen is stored, the other is left."""
    saver = WatchedSaver()
    release = threading.Event()

    def slow(state: State) -> Any:
        assert release.wait(PATIENCE)
        return {"log": ["slow"]}

    graph = fan({"quick": say("quick"), "slow": slow}, saver)

    if way.is_async:

        async def read_one() -> Any:
            stream = graph.astream({"log": []}, CONFIG)
            first = await anext(stream)
            await stream.aclose()
            release.set()
            return first

        assert asyncio.run(read_one()) == {"quick": {"log": ["quick"]}}
    else:
        stream = graph.stream({"log": []}, CONFIG)
        assert next(stream) == {"quick": {"log": ["quick"]}}
        stream.close()
        release.set()

    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["quick"]}, ("slow",))
    chunks = way.stream(graph, None, CONFIG)
    assert chunks == [
        {"quick": {"log": ["quick"]}, "__metadata__": {"cached": True}},
        {"slow": {"log": ["slow"]}},
    ]


def test_closing_a_stream_at_cached_work(way: Any) -> None:
    """ST-13: a resumed run that is left while it tells what was finished has changed nothing."""
    failing = [True]

    def bad(state: State) -> Any:
        if failing[0]:
            raise ValueError("boom")
        return {"log": ["bad"]}

    graph = fan({"ok": say("ok"), "bad": bad}, InMemorySaver())
    while True:  # async: until "ok" was quicker
        with pytest.raises(ValueError, match="boom"):
            way.invoke(graph, None if way.state(graph, CONFIG).metadata else {"log": []}, CONFIG)
        if way.state(graph, CONFIG).values == {"log": ["ok"]}:
            break
    failing[0] = False
    before = way.history(graph, CONFIG)

    (chunk,) = way.take(graph, 1, None, CONFIG)

    assert chunk == {"ok": {"log": ["ok"]}, "__metadata__": {"cached": True}}
    assert way.history(graph, CONFIG) == before
    assert way.invoke(graph, None, CONFIG) == {"log": ["bad", "ok"]}


def test_an_error_while_a_stream_is_closed() -> None:
    """What goes wrong while the last work is stored reaches whoever closes the stream."""
    saver = SickSaver(never)
    told = threading.Event()

    class Patient(Driver):
        """Waits for threads even when the reader has gone."""

        def perform(self, effect: Effect) -> Any:
            return super().perform(Cancel(wait=True) if isinstance(effect, Cancel) else effect)

    def slow(state: State) -> Any:
        assert told.wait(PATIENCE)
        return {"log": ["slow"]}

    graph = fan({"quick": say("quick"), "slow": slow}, saver)
    program = graph.program({"log": []}, CONFIG, stream_mode="updates")
    stream = Patient(saver).drive(program)
    assert next(stream).payload == {"quick": {"log": ["quick"]}}
    saver.sick = lambda method, about: True
    told.set()

    with pytest.raises(OSError, match="put_writes failed"):
        stream.close()


def test_a_stream_that_is_dropped() -> None:
    """Nobody closes it, and nobody reads it any more: the same as closing."""
    graph = chain({"a": say("a"), "b": say("b")}, InMemorySaver())

    for chunk in graph.stream({"log": []}, CONFIG):
        assert chunk == {"a": {"log": ["a"]}}
        break

    assert graph.get_state(CONFIG).next == ("b",)
    assert graph.get_state(CONFIG).metadata["step"] == 1


def test_an_async_stream_that_is_dropped() -> None:
    """The event loop closes it at its end, and what was told is stored."""
    graph = chain({"a": say("a"), "b": say("b")}, InMemorySaver())

    async def read_one() -> None:
        async for chunk in graph.astream({"log": []}, CONFIG):
            assert chunk == {"a": {"log": ["a"]}}
            break
        async for state in graph.aget_state_history(CONFIG):
            assert state.metadata is not None
            break

    asyncio.run(read_one())

    state = graph.get_state(CONFIG)
    assert (state.values, state.next) == ({"log": ["a"]}, ("b",))


def test_cancelling_whoever_awaits_a_run() -> None:
    """The tasks are cancelled, what was finished is stored, and the cancellation goes on."""
    saver = WatchedSaver()
    cancelled: list[str] = []

    async def slow(state: State) -> Any:
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            cancelled.append("slow")
            raise

    async def run() -> None:
        call = asyncio.create_task(graph.ainvoke({"log": []}, CONFIG))
        while not saver.event("quick").is_set():
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert call.cancelled()

    graph = fan({"quick": say("quick"), "slow": slow}, saver)
    asyncio.run(run())

    assert cancelled == ["slow"]
    state = graph.get_state(CONFIG)
    assert (state.values, state.next) == ({"log": ["quick"]}, ("slow",))
    assert {task.name: task.error for task in state.tasks} == {
        "quick": None,
        "slow": "CancelledError()",  # ER-41
    }


def test_a_timeout_around_a_run() -> None:
    """`asyncio.timeout` is a cancellation, and comes out as what it is."""
    saver = InMemorySaver()

    async def slow(state: State) -> Any:
        await asyncio.sleep(PATIENCE)

    graph = chain({"a": say("a"), "slow": slow}, saver)

    async def run() -> None:
        async with asyncio.timeout(0.2):
            await graph.ainvoke({"log": []}, CONFIG)

    with pytest.raises(TimeoutError):
        asyncio.run(run())

    state = graph.get_state(CONFIG)
    assert (state.values, state.next) == ({"log": ["a"]}, ("slow",))


def test_a_failure_cancels_coroutines() -> None:
    """ER-41: in an async run, siblings that are at work are cancelled, and that is told."""

    async def slow(state: State) -> Any:
        await asyncio.sleep(PATIENCE)

    async def bad(state: State) -> Any:
        await asyncio.sleep(0)
        raise ValueError("boom")

    graph = fan({"bad": bad, "slow": slow}, InMemorySaver())

    with pytest.raises(ValueError, match="boom"):
        asyncio.run(graph.ainvoke({"log": []}, CONFIG))

    errors = {task.name: task.error for task in graph.get_state(CONFIG).tasks}
    assert errors == {"bad": "ValueError('boom')", "slow": "CancelledError()"}


def test_a_failure_waits_for_threads() -> None:
    """SS-47: in a sync run, siblings that are at work finish, and their writes are stored."""
    failed = threading.Event()

    def slow(state: State) -> Any:
        assert failed.wait(PATIENCE)
        return {"log": ["slow"]}

    def bad(state: State) -> Any:
        failed.set()
        raise ValueError("boom")

    graph = fan({"bad": bad, "slow": slow}, InMemorySaver())

    with pytest.raises(ValueError, match="boom") as caught:
        graph.invoke({"log": []}, CONFIG)

    assert caught.value.__notes__[0].startswith("During task with name 'bad' and id '")
    state = graph.get_state(CONFIG)
    assert (state.values, state.next) == ({"log": ["slow"]}, ("bad",))


def test_a_failure_starts_no_further_task(way: Any) -> None:
    """What had not begun when a sibling failed does not begin."""
    ran: list[int] = []

    def work(arg: int) -> Any:
        ran.append(arg)
        time.sleep(
            0.005
        )  # without it one thread could take them all before the driver has its turn
        raise ValueError(f"no {arg}")

    builder = StateGraph(State).add_node("work", work)
    builder.add_conditional_edges(START, lambda state: [Send("work", i) for i in range(100)])
    graph = builder.compile(checkpointer=InMemorySaver())

    with pytest.raises(ValueError, match="no 0"):
        way.invoke(graph, {"log": []}, {**CONFIG, "max_concurrency": 1})

    # The second may have begun while the failure of the first was on its way.
    assert len(ran) < 5
    state = way.state(graph, CONFIG)
    assert state.next == ("work",) * 100
    assert state.tasks[0].error == "ValueError('no 0')"


def test_several_failures_are_all_stored() -> None:
    """The first to come is raised; every one is told on its task."""
    both = threading.Barrier(2)

    def bad(name: str) -> Callable[[Any], Any]:
        def node(state: State) -> Any:
            both.wait(PATIENCE)
            raise ValueError(name)

        return node

    graph = fan({"a": bad("a"), "b": bad("b")}, InMemorySaver())

    with pytest.raises(ValueError, match=r"^[ab]\n"):
        graph.invoke({"log": []}, CONFIG)

    errors = [task.error for task in graph.get_state(CONFIG).tasks]
    assert errors == ["ValueError('a')", "ValueError('b')"]


# ---------------------------------------------------------------- the order of finishing


class Shuffled(Driver):
    """Lets parallel tasks end in an order that is drawn from outside."""

    def __init__(self, saver: Any, draws: Sequence[int]) -> None:
        super().__init__(saver)
        self.draws = itertools.chain(draws, itertools.repeat(0))
        self.started: list[tuple[Task, View]] = []

    def perform(self, effect: Effect) -> Any:
        match effect:
            case Start(tasks, view):
                self.started.extend((task, view) for task in tasks)
                return None
            case Next():
                if not self.started:
                    return None
                task, view = self.started.pop(next(self.draws) % len(self.started))
                return copy_context().run(perform, task, view)
            case _:
                return super().perform(effect)


def fixed() -> Environment:
    """Ids, times and versions that are the same in every run."""
    ids, versions = itertools.count(1), itertools.count(1)
    return Environment(
        new_id=lambda step: f"{next(ids):08x}-0000-6000-8000-000000000000",
        now=lambda: "2024-08-29T19:19:38.821749+00:00",
        next_version=lambda newest: f"{next(versions):032}.0",
    )


def busy(failing: bool) -> StateGraph:
    """Parallel nodes, Sends, a join, a deferred node, routes; and perhaps one that fails."""
    builder = StateGraph(State)
    for name in ("d", "b", "c", "a", "last"):
        builder.add_node(name, say(name))
    builder.add_node("end", say("end"), defer=True)

    def work(arg: Any) -> Any:
        if failing and arg == 2:
            raise ValueError("two")
        return {"log": [arg]}

    builder.add_node("work", work)
    for name in "dbca":
        builder.add_edge(START, name)
    builder.add_conditional_edges("b", lambda state: [Send("work", i) for i in (3, 1, 2)])
    builder.add_conditional_edges("d", lambda state: [Send("work", 4), "a"])
    builder.add_edge(["a", "c"], "last").add_edge("work", "end").add_edge("last", "end")
    return builder


def outcome(draws: Sequence[int], failing: bool) -> tuple[Any, Any]:
    graph = busy(failing).compile(checkpointer=InMemorySaver())
    graph.environment = fixed()
    driver = Shuffled(graph.checkpointer, draws)
    try:
        result = finish(driver.drive(graph.program({"log": ["in"]}, CONFIG)))
    except ValueError as error:
        result = repr(error)
    return result, [*graph.checkpointer.list(CONFIG)]


@given(st.lists(st.integers(0, 11), max_size=12), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_order_of_finishing_shows_nowhere(draws: list[int], failing: bool) -> None:
    """SS-02, SS-04: state and stored checkpoints are the same to the byte in any order."""
    expected = outcome([], failing)
    if failing:
        assert expected[0] == "ValueError('two')"
    else:
        assert expected[0]["log"] == [
            *["in", "a", "b", "c", "d"],
            *["a", "last", 3, 1, 2, 4],
            "end",
        ]

    assert outcome(draws, failing) == expected


# ---------------------------------------------------------------- the drivers themselves


def test_a_driver_returns_what_the_program_returns() -> None:
    """The sync one as a generator does; the async one in `result`."""
    graph = StateGraph(int).add_node("a", lambda n: n + 1).add_edge(START, "a").compile()

    driving = Driver(None).drive(graph.program(1, stream_mode=["updates", "values"]))
    told = []
    while True:
        try:
            told.append(next(driving))
        except StopIteration as end:
            result = end.value
            break

    assert result == 2
    assert told == [Emit("values", 1), Emit("updates", {"a": 2}), Emit("values", 2)]

    async def run() -> Any:
        driver = AsyncDriver(None)
        told = [emitted async for emitted in driver.drive(graph.program(1, stream_mode="updates"))]
        return told, driver.result

    assert asyncio.run(run()) == ([Emit("updates", {"a": 2})], 2)


def test_a_program_that_is_stopped_and_just_ends() -> None:
    """Then, too, whoever wanted to leave leaves."""

    def program() -> Any:
        try:
            yield Next()
        except Stopped:
            return 5

    class Pressed(Driver):
        def perform(self, effect: Effect) -> Any:
            raise KeyboardInterrupt

    class Cancelled(AsyncDriver):
        async def perform(self, effect: Effect) -> Any:
            raise asyncio.CancelledError

    with pytest.raises(KeyboardInterrupt):
        finish(Pressed(None).drive(program()))

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await afinish(Cancelled(None), program())

    asyncio.run(run())


def test_finishing_without_looking() -> None:
    """What is emitted meanwhile is dropped; the result is the program's."""
    graph = StateGraph(int).add_node("a", lambda n: n + 1).add_edge(START, "a").compile()
    assert finish(Driver(None).drive(graph.program(1, stream_mode="updates"))) == 2
    assert asyncio.run(afinish(AsyncDriver(None), graph.program(1, stream_mode="updates"))) == 2


def test_something_that_is_no_effect() -> None:
    """A program that yields anything else is a mistake, and not ignored."""
    effect: Any = object()
    with pytest.raises(AssertionError, match="unreachable"):
        Driver(None).perform(effect)
    with pytest.raises(AssertionError, match="unreachable"):
        asyncio.run(AsyncDriver(None).perform(effect))


def test_an_emit_is_not_performed() -> None:
    """It goes to the reader; a driver that performs it has forgotten somebody."""
    with pytest.raises(TypeError, match="reader of the stream"):
        Driver(None).perform(Emit("values", {}))
    with pytest.raises(TypeError, match="reader of the stream"):
        asyncio.run(AsyncDriver(None).perform(Emit("values", {})))


def test_a_warning_goes_to_the_log(way: Any, caplog: pytest.LogCaptureFixture) -> None:
    """SG-53, SS-25: a write to a channel that does not exist is ignored, and told."""
    builder = StateGraph(State).add_node("a", say("a")).add_edge(START, "a")
    graph = builder.add_conditional_edges("a", lambda state: "nowhere").compile()

    with caplog.at_level(logging.WARNING, logger="minigraph"):
        assert way.invoke(graph, {"log": []}) == {"log": ["a"]}

    (record,) = caplog.records
    assert record.name == "minigraph"
    assert record.getMessage() == (
        "'a' goes to node 'nowhere', which does not exist; there are ['a']. Ignored."
    )


def test_a_write_to_no_channel_is_told_to_the_log(
    way: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """SS-25: one that is no way to a node is told by the name of the channel."""
    node = PregelNode("a", ("x",), Selection("x"), writers=(lambda result: [("zz", result)],))
    graph = Pregel(
        nodes={"a": node},
        channels={"x": LastValue(int, "x")},
        input_channels="x",
        output_channels="x",
    )

    with caplog.at_level(logging.WARNING, logger="minigraph"):
        way.invoke(graph, 1)

    (record,) = caplog.records
    assert record.getMessage() == "Task 'a' wrote to 'zz', which is no channel; ignored."


def test_a_send_to_nowhere_is_told_to_the_log(way: Any, caplog: pytest.LogCaptureFixture) -> None:
    """CS-34: a Send to a node that does not exist is ignored, and told."""
    builder = StateGraph(State).add_node("a", say("a")).add_edge(START, "a")
    builder.add_conditional_edges("a", lambda state: [Send("nowhere", 1)])
    graph = builder.compile()

    with caplog.at_level(logging.WARNING, logger="minigraph"):
        assert way.invoke(graph, {"log": []}) == {"log": ["a"]}

    (record,) = caplog.records
    assert record.getMessage().endswith(
        " goes to node 'nowhere', which does not exist; there are ['a']. Ignored."
    )


def test_a_send_to_a_list_is_told_to_the_log(way: Any, caplog: pytest.LogCaptureFixture) -> None:
    """CS-34: it cannot be looked up, so it is ignored, and told; the thread stays readable."""
    builder = StateGraph(State).add_node("a", say("a")).add_node("b", say("b"))
    builder.add_edge(START, "a")
    nowhere: Any = ["b"]
    builder.add_conditional_edges("a", lambda state: [Send(nowhere, 1), Send("b", 2)])
    graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["b"])

    with caplog.at_level(logging.WARNING, logger="minigraph"):
        assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["a"]}

    (record,) = caplog.records
    assert record.getMessage() == (
        "Send(node=['b'], arg=1) was sent, but it is no Send to a node; ignored."
    )
    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["a"]}, ("b",))
    assert [state.next for state in way.history(graph, CONFIG)] == [("b",), ("a",), ("__start__",)]
    assert way.invoke(graph, None, CONFIG) == {"log": ["a", "b"]}


def test_errors_of_the_program_itself_end_the_run(way: Any) -> None:
    """What the program raises on its own account comes out as it is."""
    graph = chain({"a": say("a"), "b": say("b")}, InMemorySaver())

    with pytest.raises(InvalidUpdateError, match="input must be a dict"):
        way.invoke(graph, 5, CONFIG)
    with pytest.raises(RecursionError):
        way.invoke(graph, {"log": []}, {**CONFIG, "recursion_limit": 1})
    assert way.state(graph, CONFIG).next == ("b",)


def test_a_driver_leaves_no_threads_behind() -> None:
    """The threads of a run end with it."""
    graph = fan({"a": say("a"), "b": say("b"), "c": lambda state: None})
    builder = StateGraph(State).add_node("a", say("a")).add_edge(START, "a").add_edge("a", END)
    before = threading.active_count()

    for _ in range(20):
        graph.invoke({"log": []})
        builder.compile().invoke({"log": []})
        asyncio.run(graph.ainvoke({"log": []}))

    for thread in threading.enumerate():
        if thread.name.startswith("minigraph"):
            thread.join(PATIENCE)
    assert threading.active_count() <= before
