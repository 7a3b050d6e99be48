"""A process may also die between two attempts, and between a failure and its handler.

As in `test_crash`: the run dies before each of its effects in turn, and somebody goes on with what
the saver holds. What has failed and was handed over is not tried again; and in the middle of
attempts, the thread is as if the node had never begun.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.clock import Clock
from minigraph.errors import NodeError
from minigraph.graph import START, StateGraph
from minigraph.pregel.drive import AsyncDriver, Driver
from minigraph.pregel.effects import Emit
from minigraph.types import RetryPolicy

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


class Death(BaseException):
    """The end of a process. Nobody catches it."""


async def asleep(seconds: float) -> None:
    pass


HURRY = Clock(sleep=lambda seconds, is_over: True, asleep=asleep)


def build(calls: list[str], saver: Any) -> Any:
    """Two nodes fail at the same time, one has a handler, and a graph in a node is retried."""

    def said(name: str) -> Callable[[State], Any]:
        def node(state: State) -> Any:
            calls.append(name)
            return {"log": [name]}

        return node

    def bad(state: State) -> Any:
        calls.append("bad")
        raise ConnectionError("lost")

    def handler(state: State, error: NodeError) -> Any:
        calls.append("handler")
        return {"log": [f"handled {error.error}"[:7]]}

    def flaky(state: State) -> Any:
        calls.append("flaky")
        if calls.count("flaky") % 3:
            raise ConnectionError("lost")
        return {"log": ["flaky"]}

    again = RetryPolicy(max_attempts=2)
    inner = StateGraph(State).add_sequence([("first", said("first")), ("flaky", flaky)])
    builder = StateGraph(State)
    builder.add_node("bad", bad, retry_policy=again, error_handler=handler)
    builder.add_node("graph", inner.add_edge(START, "first").compile(), retry_policy=RetryPolicy())
    builder.add_node("end", said("end"))
    builder.add_edge(START, "bad").add_edge(START, "graph").add_edge("graph", "end")
    graph = builder.compile(checkpointer=saver)
    graph.clock = HURRY
    return graph


def killed(graph: Any, input: Any, effects: int) -> bool:
    """Perform so many effects of the outer run and no more. Whether it came to its end."""
    program = graph.program(input, CONFIG)
    driver = Driver(
        graph.checkpointer, around=graph.around(graph.place(CONFIG), graph.reader((), {}), {})
    )
    answer = None
    try:
        for _ in range(effects):
            effect = program.send(answer)
            answer = None if isinstance(effect, Emit) else driver.perform(effect)
        program.send(answer)
    except StopIteration:
        return True
    finally:
        driver.tasks.close()
    return False


def pressed(graph: Any, input: Any, effects: int) -> bool:
    """The same, but the program hears of it, and may store what is finished."""

    class Dying(AsyncDriver):
        left = effects

        async def perform(self, effect: Any) -> Any:
            self.left -= 1
            if self.left == -1:
                raise Death
            return await super().perform(effect)

    async def run() -> bool:
        around = graph.around(graph.place(CONFIG), graph.reader((), {}), {})
        try:
            async for _ in Dying(graph.checkpointer, around=around).drive(
                graph.program(input, CONFIG)
            ):
                pass
        except Death:
            return False
        return True

    return asyncio.run(run())


@pytest.mark.parametrize("die", [killed, pressed])
def test_from_every_effect(die: Callable[[Any, Any, int], bool]) -> None:
    """ER-31, CP-54: the result is the same; a task that has handed over is not run again."""
    expected = build([], InMemorySaver()).invoke({"log": []}, CONFIG)
    assert sorted(expected["log"]) == ["end", "first", "flaky", "handled"]
    effects, over, went_straight = 0, False, 0
    while not over:
        calls: list[str] = []
        saver = InMemorySaver()
        over = die(build(calls, saver), {"log": []}, effects)
        last = saver.get_tuple(CONFIG)
        handed_over = last is not None and any(
            name == "__error_source_node__" for _, name, _ in last.pending_writes or ()
        )
        before = list(calls)
        graph = build(calls, saver)
        result = graph.invoke({"log": []} if last is None else None, CONFIG)
        assert result == expected
        assert graph.get_state(CONFIG).next == ()
        again = calls[len(before) :]
        if handed_over:
            assert "bad" not in again
            went_straight += "handler" in again
        if last is not None and last.metadata["step"] >= 1:
            assert set(again) <= {"end"}
        effects += 1
    assert effects > 10
    assert went_straight >= 1


def test_a_process_that_dies_between_two_attempts() -> None:
    """ER-16, CP-54: nothing of the attempts is stored; the next process has all of its own."""
    attempts: list[str] = []

    def lost(state: State) -> Any:
        attempts.append("a")
        if len(attempts) < 4:
            raise ConnectionError("lost")
        return {"log": ["ok"]}

    def dies(seconds: float, is_over: Callable[[], bool]) -> bool:
        raise Death

    saver = InMemorySaver()
    builder = StateGraph(State).add_node("n", lost, retry_policy=RetryPolicy())
    graph = builder.add_edge(START, "n").compile(checkpointer=saver)
    graph.clock = Clock(sleep=dies)
    with pytest.raises(Death):
        graph.invoke({"log": []}, CONFIG)
    state = graph.get_state(CONFIG)
    assert (attempts, state.next, state.tasks[0].error) == (["a"], ("n",), None)
    graph.clock = HURRY
    assert graph.invoke(None, CONFIG) == {"log": ["ok"]}
    assert len(attempts) == 4
