"""Attempts at one task: waiting between them, and giving up those that take too long."""

from __future__ import annotations

import asyncio
import operator
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.clock import Clock
from minigraph.errors import NodeTimeoutError
from minigraph.graph import START, StateGraph
from minigraph.pregel.effects import Cancel, Finished, Late, Next, Start, View
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import hydrate
from minigraph.pregel.node import PregelNode, UserFunction
from minigraph.pregel.plan import Task
from minigraph.pregel.runner import ThreadRunner
from minigraph.pregel.running import Around
from minigraph.pregel.selection import Selection
from minigraph.types import Command, RetryPolicy, Send, TimeoutPolicy, interrupt

PATIENCE = 20.0
CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def one(function: Any, **policies: Any) -> StateGraph:
    return StateGraph(State).add_node("n", function, **policies).add_edge(START, "n")


class Hand:
    """A clock that is moved by hand. Nobody waits for anything else."""

    def __init__(self) -> None:
        self.time = 0.0
        self.sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def asleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        self.sleepers.append((self.time + seconds, future))
        await future

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everybody do what he has to do meanwhile."""
        await settled()
        self.time += seconds
        for until, future in self.sleepers:
            if until <= self.time and not future.done():
                future.set_result(None)
        await settled()

    @property
    def waiting(self) -> list[float]:
        """Until when the sleepers sleep."""
        return sorted(until for until, future in self.sleepers if not future.done())

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.time, monotonic=lambda: self.time, asleep=self.asleep)


async def settled() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def for_ever() -> None:
    await asyncio.get_running_loop().create_future()


def run(story: Callable[[Hand], Coroutine[Any, Any, Any]]) -> Any:
    async def told() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await story(Hand())

    return asyncio.run(told())


def begin(hand: Hand, builder: StateGraph, **options: Any) -> asyncio.Task[Any]:
    """A run on this clock."""
    graph = builder.compile(**options)
    graph.clock = hand.clock
    config = CONFIG if options.get("checkpointer") else None
    return asyncio.create_task(graph.ainvoke({"log": []}, config))


async def slow(state: State) -> Any:
    await for_ever()


class TestTimeLimits:
    def test_a_run_limit(self) -> None:
        """ER-20: it says which node, which limit, and how long it took."""

        async def story(hand: Hand) -> None:
            running = begin(hand, one(slow, timeout=5))
            await hand.advance(4.75)
            assert not running.done()
            await hand.advance(0.5)
            with pytest.raises(NodeTimeoutError) as caught:
                await running
            error = caught.value
            assert (error.node, error.kind, error.timeout, error.elapsed) == ("n", "run", 5.0, 5.25)
            assert hand.waiting == []

        run(story)

    def test_an_idle_limit(self) -> None:
        """ER-20: a sign of life puts it off, as often as there is one."""

        async def story(hand: Hand) -> None:
            steps = [asyncio.Event() for _ in range(3)]

            async def node(state: State, writer: Any) -> Any:
                for step in steps:
                    await step.wait()
                    writer("alive")
                await for_ever()

            running = begin(hand, one(node, timeout=TimeoutPolicy(idle_timeout=5)))
            for step in steps:
                await hand.advance(4)
                step.set()
            await hand.advance(4)
            assert not running.done()
            await hand.advance(1)
            with pytest.raises(NodeTimeoutError) as caught:
                await running
            assert (caught.value.kind, caught.value.elapsed) == ("idle", 17.0)

        run(story)

    @pytest.mark.parametrize(
        ("sign", "refresh_on", "counts"),
        [
            ("writer", "auto", True),
            ("heartbeat", "auto", True),
            ("task of an inner graph", "auto", True),
            ("writer of an inner graph", "auto", True),
            ("heartbeat of an inner graph", "auto", True),
            ("nothing", "auto", False),
            ("writer", "heartbeat", False),
            ("heartbeat", "heartbeat", True),
            ("task of an inner graph", "heartbeat", False),
            ("heartbeat of an inner graph", "heartbeat", True),
        ],
    )
    def test_signs_of_life(self, sign: str, refresh_on: Any, counts: bool) -> None:
        """ER-20: with ``heartbeat`` nothing else counts."""

        async def story(hand: Hand) -> bool:
            step, end = asyncio.Event(), asyncio.Event()

            async def signs(state: State, runtime: Any) -> Any:
                await step.wait()
                if sign.startswith("writer"):
                    runtime.stream_writer("alive")
                if sign.startswith("heartbeat"):
                    runtime.heartbeat()
                if not sign.startswith("task"):
                    await end.wait()
                return {}

            async def last(state: State) -> Any:
                await end.wait()
                return {}

            node: Any = signs
            if sign.endswith("graph"):
                inner = StateGraph(State).add_sequence([("signs", signs), ("last", last)])
                node = inner.add_edge(START, "signs").compile()
            policy = TimeoutPolicy(idle_timeout=5, refresh_on=refresh_on)
            running = begin(hand, one(node, timeout=policy))
            await hand.advance(4)
            step.set()
            await hand.advance(4)
            end.set()
            await settled()
            return (await asyncio.gather(running, return_exceptions=True))[0] == {"log": []}

        assert run(story) is counts

    def test_the_limit_that_comes_first(self) -> None:
        """ER-20."""

        async def story(hand: Hand) -> None:
            policy = TimeoutPolicy(run_timeout=9, idle_timeout=5)
            running = begin(hand, one(slow, timeout=policy))
            await hand.advance(5)
            with pytest.raises(NodeTimeoutError) as caught:
                await running
            assert (caught.value.kind, caught.value.run_timeout) == ("idle", 9.0)

        run(story)

    def test_a_node_that_is_quick_enough(self) -> None:
        """ER-20: nothing is left of the limit."""

        async def story(hand: Hand) -> None:
            async def quick(state: State) -> Any:
                return {"log": ["quick"]}

            assert await begin(hand, one(quick, timeout=5)) == {"log": ["quick"]}
            await settled()
            assert hand.waiting == []
            assert len(asyncio.all_tasks()) == 1

        run(story)

    def test_each_attempt_has_its_time(self) -> None:
        """ER-20, ER-11: a limit that was exceeded is a failure that may pass."""

        async def story(hand: Hand) -> None:
            attempts: list[float] = []

            async def node(state: State) -> Any:
                attempts.append(hand.time)
                if len(attempts) < 3:
                    await for_ever()
                return {"log": ["ok"]}

            policy = RetryPolicy(1.0, jitter=False)
            running = begin(hand, one(node, timeout=5, retry_policy=policy))
            for seconds in (5, 1, 5, 2):
                await hand.advance(seconds)
            assert await running == {"log": ["ok"]}
            assert attempts == [0.0, 6.0, 13.0]

        run(story)

    def test_an_attempt_cleans_up_before_the_next_begins(self) -> None:
        """ER-20: it is cancelled, and waited for."""

        async def story(hand: Hand) -> None:
            order: list[str] = []
            cleaned = asyncio.Event()

            async def node(state: State) -> Any:
                order.append("begins")
                if len(order) > 1:
                    return {"log": ["ok"]}
                try:
                    await for_ever()
                finally:
                    await cleaned.wait()
                    order.append("cleaned up")

            policy = RetryPolicy(1.0, jitter=False)
            running = begin(hand, one(node, timeout=5, retry_policy=policy))
            await hand.advance(5)
            await hand.advance(5)
            assert order == ["begins"]
            cleaned.set()
            await hand.advance(0)
            await hand.advance(1)
            assert await running == {"log": ["ok"]}
            assert order == ["begins", "cleaned up", "begins"]

        run(story)

    def test_a_node_that_does_not_want_to_stop(self) -> None:
        """ER-20: what it returns then is too late."""

        async def story(hand: Hand) -> None:
            async def node(state: State) -> Any:
                try:
                    await for_ever()
                except asyncio.CancelledError:
                    return {"log": ["late"]}

            running = begin(hand, one(node, timeout=5))
            await hand.advance(5)
            with pytest.raises(NodeTimeoutError):
                await running

        run(story)

    def test_a_run_that_is_cancelled(self) -> None:
        """ER-20, ER-03: the attempt is, too; it has not timed out."""

        async def story(hand: Hand) -> None:
            ended: list[str] = []

            async def node(state: State) -> Any:
                try:
                    await for_ever()
                finally:
                    ended.append("cancelled")

            running = begin(hand, one(node, timeout=5))
            await hand.advance(1)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert ended == ["cancelled"]
            assert len(asyncio.all_tasks()) == 1

        run(story)

    def test_a_question_within_the_time(self) -> None:
        """ER-20: it is asked, and answered in another run."""

        async def story(hand: Hand) -> None:
            async def ask(state: State) -> Any:
                return {"log": [interrupt("q?")]}

            graph = one(ask, timeout=5).compile(checkpointer=InMemorySaver())
            graph.clock = hand.clock
            assert "__interrupt__" in await graph.ainvoke({"log": []}, CONFIG)
            assert await graph.ainvoke(Command(resume="A"), CONFIG) == {"log": ["A"]}

        run(story)

    def test_a_send_with_a_limit(self) -> None:
        """ER-20: it counts instead of the node's."""

        async def story(hand: Hand) -> None:
            builder = StateGraph(State).add_node("n", slow, timeout=60)
            builder.add_conditional_edges(START, lambda state: [Send("n", {}, timeout=5)])
            running = begin(hand, builder, checkpointer=InMemorySaver())
            await hand.advance(5)
            with pytest.raises(NodeTimeoutError, match=r"its run timeout of 5\.000s"):
                await running

        run(story)

    def test_what_cannot_be_limited(self, way: Any) -> None:
        """ER-21: a sync node, at compile; and whatever it is, in a sync run."""

        def sync(state: State) -> Any:
            return {}

        with pytest.raises(ValueError, match="Node 'n' is sync, and only async nodes"):
            one(sync, timeout=1).compile()
        with pytest.raises(ValueError, match="Node 'n' is sync, and only async nodes"):
            one(sync).set_node_defaults(timeout=1).compile()
        with pytest.raises(ValueError, match="run_timeout must be greater than 0"):
            one(slow, timeout=0)
        sent = StateGraph(State).add_node("n", sync)
        sent.add_conditional_edges(START, lambda state: [Send("n", {}, timeout=5)])
        with pytest.raises(ValueError, match="timeout"):
            way.invoke(sent.compile(), {"log": []})
        graph = one(one(sync).compile(), timeout=5).compile()
        if way.is_async:
            assert way.invoke(graph, {"log": []}) == {"log": []}
        else:
            with pytest.raises(ValueError, match="A sync run cannot keep the timeout of 'n'"):
                way.invoke(graph, {"log": []})

    def test_an_update_from_outside_takes_no_time(self, way: Any) -> None:
        """ER-21, CP-60: no node runs."""
        graph = one(slow, timeout=5).compile(checkpointer=InMemorySaver())
        way.update(graph, CONFIG, {"log": ["u"]}, as_node="n")
        assert way.state(graph, CONFIG).values == {"log": ["u"]}


class TestWaiting:
    def test_a_cancelled_run_does_not_wait(self) -> None:
        """ER-16: however long the next attempt is away."""

        async def story(hand: Hand) -> None:
            async def bad(state: State) -> Any:
                raise ConnectionError("lost")

            saver = InMemorySaver()
            policy = RetryPolicy(3600.0, max_interval=3600.0)
            running = begin(hand, one(bad, retry_policy=policy), checkpointer=saver)
            await settled()
            assert len(hand.waiting) == 1
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert len(asyncio.all_tasks()) == 1

        run(story)

    def test_a_failed_sibling_ends_a_wait(self) -> None:
        """ER-16, ER-41: in an async run, siblings are cancelled, and one that waits is, too."""

        async def story(hand: Hand) -> None:
            async def lost(state: State) -> Any:
                raise ConnectionError("lost")

            async def bad(state: State) -> Any:
                await settled()
                raise ValueError("boom")

            policy = RetryPolicy(3600.0, max_interval=3600.0)
            builder = one(lost, retry_policy=policy).add_node("m", bad).add_edge(START, "m")
            saver = InMemorySaver()
            with pytest.raises(ValueError, match="boom"):
                await begin(hand, builder, checkpointer=saver)
            graph = builder.compile(checkpointer=saver)
            errors = {task.name: task.error for task in (await graph.aget_state(CONFIG)).tasks}
            assert errors == {"n": "CancelledError()", "m": "ValueError('boom')"}

        run(story)

    @pytest.mark.parametrize("nested", [False, True])
    def test_a_thread_does_not_wait_for_a_run_that_is_over(self, nested: bool) -> None:
        """ER-16: it is told, wherever in a nest of graphs it waits."""
        attempts: list[int] = []
        waiting = threading.Event()

        def lost(state: State) -> Any:
            attempts.append(1)
            waiting.set()
            raise ConnectionError("lost")

        def other(state: State, writer: Any) -> Any:
            waiting.wait(PATIENCE)
            writer("said")
            return {}

        policy = RetryPolicy(3600.0, max_interval=3600.0)
        builder = one(lost, retry_policy=policy)
        if nested:
            builder = one(builder.compile())
        graph = builder.add_node("m", other).add_edge(START, "m").compile()
        before = time.monotonic()
        stream = graph.stream({"log": []}, stream_mode="custom")
        assert next(stream) == "said"
        stream.close()
        assert time.monotonic() - before < PATIENCE
        while any(each.name.startswith("minigraph") for each in threading.enumerate()):
            assert time.monotonic() - before < PATIENCE, "a thread still waits"
            time.sleep(0.01)
        assert len(attempts) == 1

    def test_ctrl_c_ends_a_wait(self) -> None:
        """ER-16: on the caller's own thread."""

        def sleep(seconds: float, is_over: Callable[[], bool]) -> bool:
            raise KeyboardInterrupt

        def lost(state: State) -> Any:
            raise ConnectionError("lost")

        graph = one(lost, retry_policy=RetryPolicy()).compile()
        graph.clock = Clock(sleep=sleep)
        with pytest.raises(KeyboardInterrupt):
            graph.invoke({"log": []})


class TestStepTimeout:
    def test_on_an_event_loop(self) -> None:
        """ER-23: what can be cancelled is; what is finished is stored; no handler is asked."""

        async def story(hand: Hand) -> None:
            async def quick(state: State) -> Any:
                return {"log": ["quick"]}

            def handler(state: State) -> Any:
                return {"log": ["handled"]}

            policy = RetryPolicy(retry_on=lambda error: True)
            builder = one(slow, error_handler=handler, retry_policy=policy)
            builder.add_node("m", quick).add_edge(START, "m")
            graph = builder.compile(checkpointer=InMemorySaver())
            graph.step_timeout = 5.0
            graph.clock = hand.clock
            running = asyncio.create_task(graph.ainvoke({"log": []}, CONFIG))
            await hand.advance(4.9)
            assert not running.done()
            await hand.advance(0.1)
            with pytest.raises(TimeoutError, match=r"took longer than 5\.0 seconds"):
                await running
            state = await graph.aget_state(CONFIG)
            assert (state.next, state.values) == (("n",), {"log": ["quick"]})
            assert [task.error for task in state.tasks] == ["CancelledError()", None]
            assert len(asyncio.all_tasks()) == 1

        run(story)

    def test_each_super_step_has_its_time(self) -> None:
        """ER-23."""

        async def story(hand: Hand) -> None:
            async def node(state: State) -> Any:
                await hand.asleep(4)
                return {"log": [hand.time]}

            builder = StateGraph(State).add_sequence([("a", node), ("b", node), ("c", node)])
            graph = builder.add_edge(START, "a").compile()
            graph.step_timeout = 5.0
            graph.clock = hand.clock
            running = asyncio.create_task(graph.ainvoke({"log": []}))
            for _ in range(3):
                await hand.advance(4)
            assert await running == {"log": [4.0, 8.0, 12.0]}
            await settled()
            assert hand.waiting == []

        run(story)

    def test_on_threads(self) -> None:
        """ER-23: a thread cannot be stopped, so it is waited for."""
        released = threading.Event()
        readings = iter([0.0])
        clock = Clock(monotonic=lambda: next(readings, 100.0))
        runner = ThreadRunner(None, around=Around(clock=clock, step_timeout=5.0))
        node = PregelNode(
            "n",
            ("x",),
            Selection("x"),
            bound=UserFunction(lambda x: released.wait(PATIENCE)),
            writers=(lambda result: [("x", result)],),
        )
        task = Task("id", "n", ("__pregel_pull", "n"), 1, ("x",), (), "n", node)
        layout = Layout(
            {},
            {},
            input_channels=Selection("x"),
            output_channels=Selection("x"),
            stream_channels=Selection("x"),
        )
        runner.start([task], View({}, 1, hydrate(layout, None)))
        late = runner.next()
        assert isinstance(late, Late)
        assert str(late.error) == "The super-step took longer than 5.0 seconds."
        runner.cancel(wait=True)
        released.set()
        assert runner.next() == Finished("id", [("x", True)])
        assert runner.next() is None
        runner.close()

    def test_what_the_program_makes_of_it(self) -> None:
        """ER-23: nothing more is started; what ends meanwhile is stored; then it raises."""
        graph = one(lambda state: {}).compile(checkpointer=InMemorySaver())
        program = graph.program({"log": []}, CONFIG)
        effect: Any = next(program)
        started: Any = ()
        while not (isinstance(effect, Start) and effect.tasks[0].name == "n"):
            answer = None
            if isinstance(effect, Next):
                answer = Finished(started[0].id, [("branch:to:n", None)])
            elif isinstance(effect, Start):
                started = effect.tasks
            effect = program.send(answer)
        id = effect.tasks[0].id
        assert isinstance(program.send(None), Next)
        error = TimeoutError("late")
        assert program.send(Late(error)) == Cancel(wait=True)
        assert isinstance(program.send(None), Next)
        stored = program.send(Finished(id, [("log", ["x"])]))
        assert stored[1:3] == ([("log", ["x"])], id)
        with pytest.raises(TimeoutError) as caught:
            program.send(None)
        assert caught.value is error

    def test_a_graph_keeps_it_when_it_is_copied(self) -> None:
        graph = one(slow).compile().copy({"step_timeout": 3.0})
        assert (graph.step_timeout, graph.copy().step_timeout) == (3.0, 3.0)
