"""A field becomes a `DeltaChannel`, and a plain list again, on threads that are there.

Whatever a field was when a checkpoint was stored, every graph reads there what was there. The same
story is told on a thread on which nothing ever changes, and on others where the schema does.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from minigraph.channels import DeltaChannel, UntrackedValue
from minigraph.channels.whole import _DeltaSnapshot
from minigraph.constants import START
from minigraph.graph import StateGraph
from minigraph.types import Command, Overwrite, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}
OTHER: Any = {"configurable": {"thread_id": "2"}}

frequencies = pytest.mark.parametrize("frequency", [1, 2, 100])


def extend(value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*value, *(item for write in writes for item in write)]


def schema(**fields: int | None) -> Any:
    """Fields with a plain reducer, or a `DeltaChannel` of this frequency."""
    annotations: dict[str, Any] = {"quiet": int}
    for name, frequency in fields.items():
        plain: Any = Annotated[list[Any], operator.add]
        delta: Any = DeltaChannel(extend, snapshot_frequency=frequency or 1)
        annotations[name] = Annotated[list[Any], delta] if frequency else plain
    return TypedDict("State", annotations, total=False)  # type: ignore[operator]


class Outer(TypedDict, total=False):
    text: list[Any]
    result: dict[str, Any]


class Untracked(TypedDict, total=False):
    log: Annotated[list[Any], UntrackedValue]
    quiet: int


def chain(way: Any, saver: Any, place: str, **fields: int | None) -> Any:
    """a ─▶ b; each writes its name to every field. Or a graph in which another one has these, and
    a memory of its own."""
    builder = StateGraph(schema(**fields))
    for name in "ab":
        builder.add_node(name, lambda state, name=name: {field: [name] for field in fields})
    builder.add_edge(START, "a").add_edge("a", "b")
    if place == "root":
        return builder.compile(checkpointer=saver)
    inner = builder.compile(checkpointer=True)

    def call(state: Any) -> Any:
        return {"result": inner.invoke(dict.fromkeys(fields, state["text"]))}

    async def acall(state: Any) -> Any:
        return {"result": await inner.ainvoke(dict.fromkeys(fields, state["text"]))}

    around = StateGraph(Outer).add_node("inner", acall if way.is_async else call)
    return around.add_edge(START, "inner").compile(checkpointer=saver)


def turn(way: Any, graph: Any, place: str, text: str, thread: Any, *fields: str) -> Any:
    """What the fields hold after a turn."""
    if place == "root":
        return way.invoke(graph, {field: [text] for field in fields}, thread)
    return way.invoke(graph, {"text": [text]}, thread)["result"]


def namespace(place: str, thread: Any) -> Any:
    ns = "" if place == "root" else "inner"
    return {"configurable": {**thread["configurable"], "checkpoint_ns": ns}}


def histories(way: Any, graph: Any, place: str, thread: Any, *fields: str) -> list[Any]:
    """What each field holds at every checkpoint, newest first. An empty one may be absent."""
    return [
        {field: snapshot.values.get(field, []) for field in fields}
        for snapshot in way.history(graph, namespace(place, thread))
    ]


@frequencies
@pytest.mark.parametrize("place", ["root", "in a node"])
@pytest.mark.parametrize("fields", [("log",), ("log", "notes", "more")], ids=["one", "three"])
def test_there_and_back_and_there_again(
    way: Any, saver: Any, fields: tuple[str, ...], place: str, frequency: int
) -> None:
    """DC-14, CH-21: plain, delta, plain, delta; then each field by itself. After each turn, every
    schema reads at every checkpoint what a thread of plain lists has there."""
    all_plain: dict[str, int | None] = dict.fromkeys(fields)
    all_delta: dict[str, int | None] = dict.fromkeys(fields, frequency)
    mixed = {field: frequency if n % 2 else None for n, field in enumerate(fields)}
    other = {field: None if n % 2 else frequency for n, field in enumerate(fields)}
    model = chain(way, saver, place, **all_plain)
    for n, kinds in enumerate([all_plain, all_delta, all_plain, all_delta, mixed, other]):
        expected = turn(way, model, place, f"turn {n}", OTHER, *fields)
        graph = chain(way, saver, place, **kinds)
        result = turn(way, graph, place, f"turn {n}", THREAD, *fields)
        assert {field: result[field] for field in fields} == {
            field: expected[field] for field in fields
        }
        before = histories(way, model, place, OTHER, *fields)
        for each in (all_plain, all_delta, mixed):
            reading = chain(way, saver, place, **each)
            assert histories(way, reading, place, THREAD, *fields) == before
    assert expected["log"] == [word for n in range(6) for word in (f"turn {n}", "a", "b")]


def test_the_case_that_was_reported(way: Any, saver: Any) -> None:
    """DC-14: a thread of plain lists, one turn later with a delta channel; then what was before is
    replayed, with the channel that is there now."""
    plain, delta = (
        chain(way, saver, "root", log=None),
        chain(way, saver, "root", log=100),
    )
    way.invoke(plain, {"log": ["old"]}, THREAD)
    assert way.state(delta, THREAD).values == {"log": ["old", "a", "b"]}
    result = way.invoke(delta, {"log": ["new"]}, THREAD)
    assert result == {"log": ["old", "a", "b", "new", "a", "b"]}
    assert histories(way, delta, "root", THREAD, "log") == [
        {"log": log.split()}
        for log in (
            "old a b new a b", "old a b new a", "old a b new", "old a b", "old a b", "old a",
            "old", "",
        )
    ]  # fmt: skip
    old = [s for s in way.history(delta, THREAD) if s.next == ("b",)][-1]
    assert way.invoke(delta, None, old.config) == {"log": ["old", "a", "b"]}
    assert way.state(delta, THREAD).values == {"log": ["old", "a", "b"]}
    assert way.state(plain, THREAD).values == {"log": ["old", "a", "b"]}


@frequencies
@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_forks_into_the_past(way: Any, saver: Any, durability: str, frequency: int) -> None:
    """DC-11, DC-12, DC-14: an edit, a replay and a new input, from checkpoints of another time, and
    with another schema than that of then."""
    kinds = [None, frequency]
    threads: list[Any] = [{"configurable": {"thread_id": f"t{n}"}} for n in range(3)]
    read: list[Any] = []
    for thread, order in zip(threads, ([0, 0, 0], [0, 1, 0], [1, 0, 1]), strict=True):
        first, second, third = (chain(way, saver, "root", log=kinds[n]) for n in order)
        way.invoke(first, {"log": ["1"]}, thread)
        way.invoke(second, {"log": ["2"]}, thread, durability=durability)
        before = [s.config for s in way.history(first, thread) if s.next == ("b",)][-1]
        edit = way.update(second, before, {"log": ["edit"]}, "a")
        way.invoke(third, None, edit, durability=durability)
        way.invoke(second, None, before)
        way.invoke(third, {"log": ["input"]}, before, durability=durability)
        way.update(first, thread, {"log": Overwrite(["O"])}, "b")
        way.invoke(third, {"log": ["3"]}, thread, durability=durability)
        histories_of_it = [
            [s.values.get("log", []) for s in way.history(graph, thread)]
            for graph in (first, second, third)
        ]
        assert histories_of_it[0] == histories_of_it[1] == histories_of_it[2]
        # In the mode `exit` a delta channel has the checkpoint of the run's input kept, too.
        ends = [
            s.values["log"] for s in way.history(first, thread)
            if not s.next and s.metadata["source"] == "loop"
        ]  # fmt: skip
        read.append(ends)

    assert read[0] == read[1] == read[2]
    assert ["1", "a", "edit", "b"] in read[0]
    assert read[0][0] == ["O", "3", "a", "b"]


@frequencies
def test_while_a_question_waits(way: Any, saver: Any, frequency: int) -> None:
    """DC-14, DC-16: asked by one schema, and answered by another."""

    def ask(state: Any) -> Any:
        return {"log": [interrupt("?")]}

    def graph(kind: int | None) -> Any:
        builder = StateGraph(schema(log=kind)).add_node("ask", ask)
        builder.add_node("good", lambda state: {"log": ["good"]})
        builder.add_edge(START, "ask").add_edge(START, "good")
        return builder.compile(checkpointer=saver)

    log: list[str] = []
    for n, (asks, answers) in enumerate([(None, frequency), (frequency, None), (None, None)]):
        log += [f"turn {n}"]
        way.invoke(graph(asks), {"log": [f"turn {n}"]}, THREAD)
        assert way.state(graph(answers), THREAD).values["log"] == [*log, "good"]
        log += ["yes", "good"]
        assert way.invoke(graph(answers), Command(resume="yes"), THREAD)["log"] == log
        for kind in (None, frequency):
            assert way.state(graph(kind), THREAD).values["log"] == log


@frequencies
def test_a_channel_that_was_never_written(way: Any, saver: Any, frequency: int) -> None:
    """DC-10, DC-14: it is counted all the same, which must end where it stores its value. Else a
    later delta channel would go past that value, to writes that are none of its branch."""
    plain, delta = (chain(way, saver, "root", log=kind) for kind in (None, frequency))
    builder = StateGraph(schema(log=frequency)).add_node("n", lambda state: {"quiet": 1})
    silent = builder.add_edge(START, "n").compile(checkpointer=saver)
    way.invoke(silent, {"quiet": 0}, THREAD)
    way.invoke(plain, {"log": ["p"]}, THREAD)
    old = next(s.config for s in way.history(plain, THREAD) if s.next == ("a",))
    fork = way.update(plain, old, {"log": ["fork"]}, "b")
    result = way.invoke(delta, {"log": ["d"]}, fork)

    assert result["log"] == ["p", "fork", "d", "a", "b"]
    for graph in (delta, plain):
        assert [log["log"] for log in histories(way, graph, "root", THREAD, "log")[:5]] == [
            ["p", "fork", "d", "a", "b"],
            ["p", "fork", "d", "a"],
            ["p", "fork", "d"],
            ["p", "fork"],
            ["p", "fork"],
        ]


def test_a_graph_without_the_field(way: Any, saver: Any) -> None:
    """DC-07, DC-14: it knows nothing of the log, and leaves it as it is: nothing is stored of it,
    it is counted on, and who knows it goes on."""
    delta = chain(way, saver, "root", log=100)
    builder = StateGraph(schema()).add_node("n", lambda state: {"quiet": 1})
    without = builder.add_edge(START, "n").compile(checkpointer=saver)
    way.invoke(delta, {"log": ["1"]}, THREAD)
    way.invoke(without, {"quiet": 0}, THREAD)
    assert way.state(without, THREAD).values == {"quiet": 1}
    assert way.state(delta, THREAD).values == {"log": ["1", "a", "b"], "quiet": 1}
    rows = [*saver.list(THREAD)]
    counted = [row.metadata.get("counters_since_delta_snapshot") for row in rows]
    assert counted[:4] == [{"log": [3, n]} for n in (7, 6, 5, 4)]
    assert all("log" not in row.checkpoint["channel_values"] for row in rows)

    assert way.invoke(delta, {"log": ["2"]}, THREAD)["log"] == ["1", "a", "b", "2", "a", "b"]


def test_from_a_value_that_is_not_stored(way: Any, saver: Any) -> None:
    """CH-06, DC-14: an `UntrackedValue` has a version and leaves nothing behind, so there is
    nothing to begin with; and no pieces are missed."""
    builder = StateGraph(Untracked).add_node("n", lambda state: {"log": ["gone"], "quiet": 1})
    before = builder.add_edge(START, "n").compile(checkpointer=saver)
    way.invoke(before, {"quiet": 0}, THREAD)
    delta = chain(way, saver, "root", log=100)

    assert way.state(delta, THREAD).values.get("log", []) == []
    assert way.invoke(delta, {"log": ["1"]}, THREAD)["log"] == ["1", "a", "b"]
    assert way.state(delta, THREAD).values["log"] == ["1", "a", "b"]


@frequencies
def test_what_is_stored(way: Any, saver: Any, frequency: int) -> None:
    """DC-01, DC-06, DC-14: a plain list is stored bare, a delta channel as a snapshot or not at
    all."""
    for n, kind in enumerate([None, frequency, None]):
        way.invoke(chain(way, saver, "root", log=kind), {"log": [f"turn {n}"]}, THREAD)
    stored = [row.checkpoint["channel_values"].get("log", ...) for row in saver.list(THREAD)]
    kinds = [type(value) for value in stored[::-1]]
    nothing = type(...)
    deltas: dict[int, list[Any]] = {
        1: [_DeltaSnapshot, _DeltaSnapshot, _DeltaSnapshot],
        2: [nothing, _DeltaSnapshot, nothing],
        100: [nothing, nothing, nothing],
    }
    assert kinds[1:4] == [list] * 3
    assert kinds[5:8] == deltas[frequency]
    # A value that did not move is not stored again in memory: it is the last snapshot still.
    assert kinds[8] in (list, _DeltaSnapshot)
    assert kinds[9:] == [list] * 3
