"""What was read before is not read again, and nobody can edit what is remembered."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from minigraph.channels.delta import DeltaChannel
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.graph import START, StateGraph
from minigraph.pregel.known import MOST_PARTS, MOST_THREADS, Known, Remembered, unchangeable


def extend(value: list[Any], writes: list[list[Any]]) -> list[Any]:
    return [*value, *(item for write in writes for item in write)]


class State(TypedDict, total=False):
    log: Annotated[list[Any], DeltaChannel(extend)]


class Counting(InMemorySaver):
    """Counts the checkpoints that are looked at for a history."""

    looked_at = 0

    def _pieces(self, *args: Any) -> Any:
        self.looked_at += 1
        return super()._pieces(*args)


def talk(saver: Any, say: Any) -> Any:
    builder = StateGraph(State).add_node("say", lambda state: {"log": [say(len(state["log"]))]})
    return builder.add_edge(START, "say").compile(checkpointer=saver)


def config(thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread}}


@pytest.mark.parametrize("say", [str, lambda n: {"n": n}], ids=["text", "dicts"])
def test_a_turn_reads_what_is_new(say: Any) -> None:
    """DC-03: on a warm thread a turn looks at the checkpoints of the turn before, however long the
    thread is; on a cold one at all since the last snapshot."""
    saver = Counting()
    graph = talk(saver, say)
    looked_at = []
    for _ in range(120):
        before = saver.looked_at
        graph.invoke({"log": []}, config())
        looked_at.append(saver.looked_at - before)
    assert looked_at[0] == 0
    assert max(looked_at[1:]) == 3
    before = saver.looked_at
    talk(saver, say).invoke({"log": []}, config())
    # A turn updates the channel twice, so the last snapshot was stored a hundred turns in.
    assert saver.looked_at - before == 20 * 3 - 1
    assert [len(each.values["log"]) for each in graph.get_state_history(config(), limit=3)] == [
        121,
        120,
        120,
    ]


@pytest.mark.parametrize("say", [str, lambda n: {"n": n}], ids=["text", "dicts"])
def test_nobody_edits_what_is_remembered(say: Any) -> None:
    """CP-07: neither by the result of a run, nor in a node."""
    saver = InMemorySaver()
    graph = talk(saver, say)
    for turn in range(4):
        result = graph.invoke({"log": []}, config())
        result["log"].append("edited")
        if isinstance(result["log"][0], dict):
            result["log"][0]["n"] = "edited"
        assert len(result["log"]) == turn + 2
    expected = [say(n) for n in range(4)]
    assert graph.get_state(config()).values == {"log": expected}
    assert talk(saver, say).get_state(config()).values == {"log": expected}


def test_two_graphs_and_two_savers() -> None:
    """DC-01: what a graph knows of a thread is of one store, and another graph's turns are read."""
    here, there = InMemorySaver(), InMemorySaver()
    graph, other = talk(here, str), talk(here, str)
    for turn in range(6):
        (graph if turn % 2 else other).invoke({"log": []}, config())
    assert graph.invoke({"log": []}, config()) == {"log": [*"0123456"]}
    graph.checkpointer = there
    assert graph.invoke({"log": []}, config()) == {"log": ["0"]}


def test_a_thread_that_was_deleted_and_copied() -> None:
    """DC-17."""
    saver = InMemorySaver()
    graph = talk(saver, str)
    for thread in ("a", "b", "b"):
        graph.invoke({"log": []}, config(thread))
    saver.delete_thread("a")
    saver.copy_thread("b", "a")
    assert graph.invoke({"log": []}, config("a")) == {"log": [*"012"]}


def test_going_back_on_a_warm_thread() -> None:
    """TT-01: what is known of the newest checkpoint is nothing to an older one."""
    graph = talk(InMemorySaver(), str)
    for _ in range(3):
        graph.invoke({"log": []}, config())
    (old,) = [
        each
        for each in graph.get_state_history(config())
        if each.values["log"] == ["0"] and each.next == ("say",)
    ]
    assert graph.invoke(None, old.config) == {"log": ["0", "1"]}
    assert graph.invoke({"log": []}, config()) == {"log": [*"012"]}


@pytest.mark.parametrize("items", [["a", "b"], [{"a": 1}, {"b": 2}]], ids=["text", "dicts"])
def test_what_is_remembered_grows(items: Any) -> None:
    """Parts are added, and packed in one now and then."""
    remembered = Remembered([])
    for number in range(3 * MOST_PARTS):
        fresh = remembered.fresh()
        remembered = Remembered([*fresh, items[number % 2]], remembered, fresh)
        assert remembered.parts is None or len(remembered.parts) <= MOST_PARTS
    assert remembered.fresh() == [items[number % 2] for number in range(3 * MOST_PARTS)]
    assert remembered.fresh() is not remembered.fresh()


def test_a_reducer_that_changes_what_was_there() -> None:
    """Then nothing of what was remembered is of use."""
    before = Remembered([{"n": 1}])
    fresh = before.fresh()
    assert Remembered([{"n": 2}, {"n": 3}], before, fresh).fresh() == [{"n": 2}, {"n": 3}]
    assert Remembered([], before, fresh).fresh() == []
    assert Remembered({"n": 1}, before, fresh).fresh() == {"n": 1}
    assert Remembered(5, before, fresh).fresh() == 5


def test_what_cannot_be_edited() -> None:
    class Text(str):
        pass

    assert [unchangeable(each) for each in (1, "a", None, [1, "a"], [])] == [True] * 5
    assert [unchangeable(each) for each in ({}, [{}], Text("a"), [Text("a")], (1,))] == [False] * 5


def test_many_threads() -> None:
    """With one too many all are forgotten: that costs one reading, and needs no bookkeeping."""
    known = Known()
    for number in range(MOST_THREADS):
        known.keep(config(str(number)), "1", {"log": Remembered([])})
    assert len(known.threads) == MOST_THREADS
    known.keep(config("0"), "2", {"log": Remembered([])})
    assert len(known.threads) == MOST_THREADS
    known.keep(config("one more"), "1", {"log": Remembered([])})
    assert [*known.threads] == [("one more", "")]
    assert known.of(config("0")) == {}
