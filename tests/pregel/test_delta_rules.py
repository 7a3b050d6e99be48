"""What is stored of a `DeltaChannel`, thread by thread: one small story for each rule.

A row is (source, super-step, what is stored of the channel, its counters, what was written to it
beside the checkpoint), oldest first.
"""

from __future__ import annotations

import operator
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.channels import DeltaChannel, LastValue
from minigraph.channels.whole import _DeltaSnapshot
from minigraph.checkpoint.base import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.constants import COPY, END, INPUT, START
from minigraph.graph import StateGraph
from minigraph.pregel import NodeBuilder, Pregel
from minigraph.types import Command, Overwrite, StateUpdate, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


def sqlite_saver() -> Any:
    return SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))


both_savers = pytest.mark.parametrize("make", [InMemorySaver, sqlite_saver])


def extend(value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*value, *(item for write in writes for item in write)]


def state(frequency: int = 100, reducer: Callable[..., Any] = extend) -> Any:
    return TypedDict(
        "State",
        {
            "log": Annotated[list[Any], DeltaChannel(reducer, snapshot_frequency=frequency)],
            "n": int,
        },
    )


class Plain(TypedDict):
    log: Annotated[list[Any], operator.add]
    n: int


def counting(saver: Any, schema: Any, until: int = 3) -> Any:
    """START ─▶ a ─▶ a ─▶ …, which writes a0, a1, …"""

    def route(state: Any) -> str:
        return "a" if state["n"] < until else END

    builder = StateGraph(schema)
    builder.add_node("a", lambda state: {"log": [f"a{state['n']}"], "n": state["n"] + 1})
    builder.add_edge(START, "a").add_conditional_edges("a", route)
    return builder.compile(checkpointer=saver)


def parallel(saver: Any, schema: Any, **nodes: Callable[[Any], Any]) -> Any:
    """All nodes in the first super-step."""
    builder = StateGraph(schema)
    for name, node in nodes.items():
        builder.add_node(name, node).add_edge(START, name)
    return builder.compile(checkpointer=saver)


def say(name: str) -> Callable[[Any], Any]:
    return lambda state: {"log": [name]}


def rows(saver: Any) -> list[Any]:
    return [
        (
            row.metadata["source"],
            row.metadata["step"],
            row.checkpoint["channel_values"].get("log"),
            row.metadata.get("counters_since_delta_snapshot", {}).get("log"),
            [value for _, channel, value in row.pending_writes if channel == "log"],
        )
        for row in reversed([*saver.list(THREAD)])
    ]


def history(graph: Any) -> list[Any]:
    """What is read at each checkpoint, newest first."""
    return [snapshot.values.get("log") for snapshot in graph.get_state_history(THREAD)]


def at_step(graph: Any, step: int) -> Any:
    """The config of the oldest checkpoint of a super-step."""
    found = [s for s in graph.get_state_history(THREAD) if s.metadata["step"] == step]
    return found[-1].config


@both_savers
def test_nothing_is_stored_and_all_is_read(make: Any) -> None:
    """DC-01, DC-08, CH-19: the key is absent, and every checkpoint reads whole. The input is an
    update of super-step 0, which applies it."""
    saver = make()
    graph = counting(saver, state(), until=2)

    assert graph.invoke({"log": ["i"], "n": 0}, THREAD)["log"] == ["i", "a0", "a1"]
    assert rows(saver) == [
        ("input", -1, None, [0, 1], [["i"]]),
        ("loop", 0, None, [1, 2], [["a0"]]),
        ("loop", 1, None, [2, 3], [["a1"]]),
        ("loop", 2, None, [3, 4], []),
    ]
    assert all("log" not in row.checkpoint["channel_values"] for row in saver.list(THREAD))
    assert history(graph) == [["i", "a0", "a1"], ["i", "a0"], ["i"], []]


def test_the_reducer_is_called_once_for_a_batch() -> None:
    """DC-02: with the writes of a super-step while it runs, with those of all when it is read."""
    calls: list[Any] = []

    def spy(value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
        calls.append((value, [*writes]))
        return extend(value, writes)

    graph = parallel(InMemorySaver(), state(reducer=spy), a=say("a"), b=say("b"))
    graph.invoke({"log": ["i"]}, THREAD)

    assert calls == [([], [["i"]]), (["i"], [["a"], ["b"]])]
    calls.clear()
    graph.get_state(THREAD)
    assert calls == [([], [["i"], ["a"], ["b"]])]


@both_savers
def test_parallel_writes_are_read_in_the_order_of_task_paths(make: Any) -> None:
    """DC-04."""
    names = ("zeta", "alpha", "mid")
    graph = parallel(make(), state(), **{name: say(name) for name in names})

    assert graph.invoke({"log": []}, THREAD)["log"] == ["alpha", "mid", "zeta"]
    assert history(graph)[0] == ["alpha", "mid", "zeta"]


@both_savers
def test_a_snapshot_after_so_many_updates(make: Any) -> None:
    """DC-06, DC-07, CH-20: then the counters begin again."""
    saver = make()
    graph = counting(saver, state(2), until=3)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)

    assert [row[2:4] for row in rows(saver)] == [
        (None, [0, 1]),
        (None, [1, 2]),
        (_DeltaSnapshot(["i", "a0"]), None),
        (None, [1, 1]),
        (_DeltaSnapshot(["i", "a0", "a1", "a2"]), None),
    ]
    assert history(graph)[:2] == [["i", "a0", "a1", "a2"], ["i", "a0", "a1"]]


def test_a_snapshot_after_many_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """DC-07: however few of them have updated the channel."""
    monkeypatch.setattr("minigraph.pregel.deltas.MOST_CHECKPOINTS", 3)
    saver = sqlite_saver()  # in memory a value that did not move is there again
    builder = StateGraph(state())
    for name in "ab":
        builder.add_node(name, lambda state: {"n": 1})
    builder.add_edge(START, "a").add_edge("a", "b")
    builder.compile(checkpointer=saver).invoke({"log": ["i"], "n": 0}, THREAD)

    assert [row[2:4] for row in rows(saver)] == [
        (None, [0, 1]),
        (None, [1, 2]),
        (_DeltaSnapshot(["i"]), None),
        (None, [0, 1]),
    ]


@both_savers
def test_an_overwrite_brings_a_snapshot(make: Any) -> None:
    """DC-09: the checkpoint after it holds the value; what is written later is read again."""
    saver = make()
    builder = StateGraph(state()).add_node("o", lambda state: {"log": Overwrite(["O"])})
    builder.add_node("z", say("z")).add_edge(START, "o").add_edge("o", "z")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"log": ["i"]}, THREAD)

    assert [row[2] for row in rows(saver)] == [None, None, _DeltaSnapshot(["O"]), None]
    assert history(graph) == [["O", "z"], ["O"], ["i"], []]


def test_an_overwrite_beats_what_comes_after_it_in_its_super_step() -> None:
    """DC-09: when it runs, and when it is read, where the writes beside it must not count."""
    nodes: Any = {"a": lambda state: {"log": Overwrite(["O"])}, "b": say("b")}
    graph = parallel(InMemorySaver(), state(), **nodes)

    assert graph.invoke({"log": ["i"]}, THREAD)["log"] == ["O"]
    assert history(graph) == [["O"], ["i"], []]


def test_a_channel_that_nobody_writes() -> None:
    """DC-10: it is empty, and its counter of checkpoints grows."""
    saver = InMemorySaver()
    graph = parallel(saver, state(), a=lambda state: {"n": 1})

    assert graph.invoke({"n": 0}, THREAD) == {"log": [], "n": 1}
    assert [row[2:4] for row in rows(saver)] == [(None, [0, 1]), (None, [0, 2]), (None, [0, 3])]
    assert graph.get_state(THREAD).values == {"log": [], "n": 1}


@both_savers
def test_an_update_of_the_latest_checkpoint(make: Any) -> None:
    """DC-11: its writes lie beside the checkpoint that it started from, and no snapshot is due."""
    saver = make()
    graph = counting(saver, state(), until=1)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)
    graph.update_state(THREAD, {"log": ["u"]}, as_node="a")

    assert rows(saver)[-2:] == [
        ("loop", 1, None, [2, 3], [["u"]]),
        ("update", 2, None, [3, 4], []),
    ]
    assert history(graph) == [["i", "a0", "u"], ["i", "a0"], ["i"], []]


@both_savers
def test_an_update_of_an_old_checkpoint(make: Any) -> None:
    """DC-05, DC-11: a snapshot, so that the writes of the other branch do not count. Both branches
    go on by themselves."""
    saver = make()
    graph = counting(saver, state(), until=2)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)
    before = history(graph)
    fork = graph.update_state(at_step(graph, 1), {"log": ["fork"]}, as_node="a")

    assert rows(saver)[-1] == ("update", 2, _DeltaSnapshot(["i", "a0", "fork"]), None, [])
    assert graph.invoke(None, fork)["log"] == ["i", "a0", "fork", "a1"]
    assert history(graph) == [["i", "a0", "fork", "a1"], ["i", "a0", "fork"], *before]


def test_a_thread_that_begins_with_an_update() -> None:
    """DC-11: there is no parent beside which its writes could lie."""
    saver = InMemorySaver()
    graph = counting(saver, state())
    graph.update_state(THREAD, {"log": ["u"], "n": 9}, as_node="a")

    assert rows(saver) == [("update", 0, _DeltaSnapshot(["u"]), None, [])]
    assert history(graph) == [["u"]]


@both_savers
def test_an_update_as_a_node_that_has_finished(make: Any) -> None:
    """DC-11: the finished task has writes under its id already, and a saver keeps the first. Those
    of the update have ids of their own, so they are there."""
    fails = [True]

    def last(state: Any) -> Any:
        if fails.pop():
            raise ValueError("down")
        return {}

    graph = parallel(make(), state(), quiet=lambda state: {"n": 1}, slow=last)
    with pytest.raises(ValueError, match="down"):
        graph.invoke({"log": ["i"], "n": 0}, THREAD)
    graph.update_state(THREAD, {"log": ["u"]}, as_node="quiet")

    assert history(graph) == [["i", "u"], ["i"], []]


@both_savers
def test_a_replay(make: Any) -> None:
    """DC-12: the copy has a snapshot under a version of its own, which is no news to anybody."""
    saver = make()
    graph = counting(saver, state(), until=2)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)
    before = history(graph)

    assert graph.invoke(None, at_step(graph, 1))["log"] == ["i", "a0", "a1"]
    assert [row[:3] for row in rows(saver)[4:]] == [
        ("fork", 2, _DeltaSnapshot(["i", "a0"])),
        ("loop", 3, None),
    ]
    assert history(graph) == [["i", "a0", "a1"], ["i", "a0"], *before]


@both_savers
def test_a_replay_from_before_anything_was_written(make: Any) -> None:
    """DC-10, DC-12: beside an input lies what `START` wrote then. A replay of the input, and a new
    one in its place, must not count that, although the channel has no value there yet."""
    saver = make()
    graph = counting(saver, state(), until=1)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)
    before = history(graph)

    assert graph.invoke(None, at_step(graph, -1))["log"] == ["i", "a0"]
    assert history(graph) == [["i", "a0"], ["i"], [], *before]
    graph.invoke({"log": ["j"], "n": 0}, at_step(graph, -1))
    assert history(graph)[:3] == [["j", "a0"], ["j"], []]


def test_a_snapshot_is_no_news() -> None:
    """DC-12: a node that listens to the channel itself has seen the version before, and does not
    run because the copy of the checkpoint has another one."""
    ran: list[str] = []

    def node(name: str) -> Any:
        return NodeBuilder().subscribe_only("log").do(lambda log: ran.append(name)).build()

    def other(_: Any) -> Any:
        ran.append("other")

    graph = Pregel(
        nodes={
            "listens": node("listens"),
            "other": NodeBuilder().subscribe_only("n").do(other).build(),
        },
        channels={"log": DeltaChannel(extend, list), "n": LastValue(int)},
        input_channels=["log", "n"],
        output_channels=["log", "n"],
        checkpointer=InMemorySaver(),
    )
    graph.invoke({"log": ["i"]}, THREAD)
    graph.invoke({"n": 1}, THREAD)
    assert ran == ["listens", "other"]
    copy = graph.update_state(at_step(graph, 0), None, as_node=COPY)
    version = graph.checkpointer.get(copy)["channel_versions"]["log"]

    assert version > graph.checkpointer.get(at_step(graph, 0))["channel_versions"]["log"]
    assert graph.checkpointer.get(copy)["channel_values"]["log"] == _DeltaSnapshot(["i"])
    assert graph.get_state(copy).next == ()
    graph.invoke(None, copy)
    assert ran == ["listens", "other"]


@both_savers
def test_finished_tasks_that_are_given_up(make: Any) -> None:
    """DC-11: a new input, while a finished task waits for one that asks. What that task wrote lies
    beside the parent, and is not part of the value: hence a snapshot."""
    saver = make()

    def ask(state: Any) -> Any:
        return {"log": [interrupt("?")]}

    graph = parallel(saver, state(), good=say("good"), ask=ask)
    graph.invoke({"log": ["1"]}, THREAD)
    graph.invoke({"log": ["2"]}, THREAD)

    assert [row[2] for row in rows(saver)] == [None, None, _DeltaSnapshot(["1"]), None]
    assert history(graph) == [["1", "2"], ["1"], ["1"], []]
    assert graph.invoke(Command(resume="yes"), THREAD)["log"] == ["1", "2", "yes", "good"]
    graph.update_state(THREAD, {"log": ["u"]}, as_node="good")
    assert history(graph)[:2] == [["1", "2", "yes", "good", "u"], ["1", "2", "yes", "good"]]


def test_an_edit_while_a_finished_task_waits() -> None:
    """DC-11: somebody may be at work on what waits, hence a snapshot, whatever the edit is."""

    def ask(state: Any) -> Any:
        return {"log": [interrupt("?")]}

    found = []
    for values, node in (({"log": ["u"]}, "ask"), (None, END)):
        saver = InMemorySaver()
        graph = parallel(saver, state(), good=say("good"), ask=ask)
        graph.invoke({"log": ["1"]}, THREAD)
        graph.update_state(THREAD, values, as_node=node)
        found.append((rows(saver)[-1][2], history(graph)))

    assert found == [
        (_DeltaSnapshot(["1", "u"]), [["1", "u"], ["1"], []]),
        (_DeltaSnapshot(["1", "good"]), [["1", "good"], ["1"], []]),
    ]


def test_an_edit_while_a_task_is_at_work() -> None:
    """DC-11: what the task writes beside the checkpoint later is no part of the edited branch, and
    what the edit wrote is none of the run's."""
    saver = InMemorySaver()
    edited: list[Any] = []

    def busy(state: Any) -> Any:
        edited.append(graph.update_state(THREAD, {"log": ["edit"]}, as_node="busy"))
        return {"log": ["busy"]}

    graph = parallel(saver, state(), busy=busy)
    assert graph.invoke({"log": ["1"]}, THREAD)["log"] == ["1", "busy"]
    values = sorted(each.values["log"] for each in graph.get_state_history(THREAD))
    assert values == [[], ["1"], ["1", "busy"], ["1", "edit"]]
    assert graph.get_state(edited[0]).values["log"] == ["1", "edit"]


def test_an_input_while_a_task_is_at_work() -> None:
    """DC-08: of two runs on one thread at once, every checkpoint reads as its own run saw it."""
    saver = InMemorySaver()

    def busy(state: Any) -> Any:
        if state["log"] == ["1"]:
            with ThreadPoolExecutor(1) as pool:
                other = pool.submit(graph.invoke, {"log": ["2"]}, THREAD).result()
            assert other["log"] == ["1", "2", "busy"]
        return {"log": ["busy"]}

    graph = parallel(saver, state(), busy=busy)
    assert graph.invoke({"log": ["1"]}, THREAD)["log"] == ["1", "busy"]
    values = sorted(each.values["log"] for each in graph.get_state_history(THREAD))
    assert values == [[], ["1"], ["1"], ["1", "2"], ["1", "2", "busy"], ["1", "busy"]]


def test_an_input_by_an_update() -> None:
    """DC-11: `START` runs it, as any input."""
    graph = counting(InMemorySaver(), state(), until=1)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)
    graph.update_state(THREAD, {"log": ["in"], "n": 0}, as_node=INPUT)

    assert graph.invoke(None, THREAD)["log"] == ["i", "a0", "in", "a0"]
    assert history(graph)[:3] == [["i", "a0", "in", "a0"], ["i", "a0", "in"], ["i", "a0"]]


def test_several_updates_in_one_super_step() -> None:
    """DC-11, DC-04: they are read in the order in which they were applied."""
    builder = StateGraph(state()).add_node("a", say("a")).add_node("b", say("b"))
    builder.add_edge(START, "a").add_edge("a", "b")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"log": ["i"]}, THREAD)
    first = [StateUpdate({"log": ["z"]}, "b"), StateUpdate({"log": ["y"]}, "a")]
    graph.bulk_update_state(THREAD, [first, [StateUpdate({"log": ["x"]}, "b")]])

    assert history(graph)[:2] == [["i", "a", "b", "z", "y", "x"], ["i", "a", "b", "z", "y"]]


@both_savers
def test_the_mode_exit(make: Any) -> None:
    """DC-13: a run keeps the checkpoint of its input too, and beside it all that it wrote."""
    saver = make()
    graph = counting(saver, state(), until=2)
    graph.invoke({"log": ["i"], "n": 0}, THREAD, durability="exit")
    graph.invoke({"log": ["j"], "n": 0}, THREAD, durability="exit")

    assert rows(saver) == [
        ("input", -1, None, [0, 1], [["i"], ["a0"], ["a1"]]),
        ("loop", 2, None, [3, 4], []),
        ("input", 3, None, [3, 5], [["j"], ["a0"], ["a1"]]),
        ("loop", 6, None, [6, 8], []),
    ]
    assert history(graph) == [
        ["i", "a0", "a1", "j", "a0", "a1"],
        ["i", "a0", "a1"],
        ["i", "a0", "a1"],
        [],
    ]


def test_the_mode_exit_with_snapshots_of_everything() -> None:
    """DC-13: then the last checkpoint is enough."""
    saver = InMemorySaver()
    counting(saver, state(1), until=2).invoke({"log": ["i"], "n": 0}, THREAD, durability="exit")

    assert rows(saver) == [("loop", 2, _DeltaSnapshot(["i", "a0", "a1"]), None, [])]


@both_savers
def test_the_mode_exit_with_a_snapshot_of_one_of_two_channels(make: Any) -> None:
    """DC-13: the first checkpoint is kept for the sake of the other channel. It must be readable
    too, although the last one needs nothing of the first channel's pieces."""
    schema: Any = TypedDict(
        "State",
        {
            "log": Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=3)],
            "other": Annotated[list[Any], DeltaChannel(extend)],
        },
    )
    builder = StateGraph(schema).add_edge(START, "a").add_edge("a", "b")
    for name in "ab":
        builder.add_node(name, lambda state, name=name: {"log": [name], "other": [name]})
    graph = builder.compile(checkpointer=make())
    graph.invoke({"log": ["i"], "other": ["i"]}, THREAD, interrupt_before=["a"])
    graph.invoke(None, THREAD, durability="exit")

    assert [(s.values["log"], s.values["other"]) for s in graph.get_state_history(THREAD)] == [
        (["i", "a", "b"], ["i", "a", "b"]),
        (["i", "a"], ["i", "a"]),
        (["i"], ["i"]),
        ([], []),
    ]


@both_savers
def test_the_mode_exit_after_a_command_that_started_nothing(make: Any) -> None:
    """DC-13: what it brought lies beside the checkpoint of its beginning, and counts once."""
    graph = counting(make(), state(), until=1)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)
    graph.invoke(Command(update={"log": ["one"]}), THREAD)
    graph.invoke(Command(update={"log": ["two"]}, goto="a"), THREAD, durability="exit")

    assert history(graph) == [
        ["i", "a0", "one", "two", "a1"],
        ["i", "a0", "one"],
        ["i"],
        [],
    ]


def test_two_runs_at_once_in_the_mode_exit() -> None:
    """DC-13: both start from one checkpoint. Neither reads what the other has written."""
    begun: list[bool] = []

    def another_run() -> None:
        graph.invoke({"log": ["inner"]}, THREAD, durability="exit")

    def node(state: Any) -> Any:
        if "outer" in state["log"] and not begun:
            begun.append(True)
            other = threading.Thread(target=lambda: Context().run(another_run))
            other.start()
            other.join()
        return {"log": ["a"]}

    graph = parallel(InMemorySaver(), state(), node=node)
    graph.invoke({"log": ["0"]}, THREAD, durability="exit")
    result = graph.invoke({"log": ["outer"]}, THREAD, durability="exit")

    assert result["log"] == ["0", "a", "outer", "a"]
    ends = [s for s in graph.get_state_history(THREAD) if s.metadata["source"] == "loop"]
    assert [s.values["log"] for s in ends] == [
        ["0", "a", "outer", "a"],
        ["0", "a", "inner", "a"],
        ["0", "a"],
    ]


@both_savers
def test_from_a_plain_reducer_and_back(make: Any) -> None:
    """DC-14, CH-21: every checkpoint can be read by both, also one that has a snapshot."""
    saver = make()
    plain, delta = counting(saver, Plain, until=1), counting(saver, state(3), until=1)
    plain.invoke({"log": ["old"], "n": 0}, THREAD)
    assert history(delta)[0] == ["old", "a0"]
    delta.invoke({"log": ["new"], "n": 0}, THREAD)
    delta.invoke({"log": ["two"], "n": 0}, THREAD)
    assert [row[2] for row in rows(saver)].count(
        _DeltaSnapshot(["old", "a0", "new", "a0", "two"])
    ) == 1

    assert history(plain) == history(delta)
    result = plain.invoke({"log": ["back"], "n": 0}, THREAD)["log"]
    assert result == ["old", "a0", "new", "a0", "two", "a0", "back", "a0"]
    assert rows(saver)[-1][2] == result  # and it is stored whole again
    assert history(plain) == history(delta)


@both_savers
def test_a_channel_that_is_written_for_the_first_time_after_pruning(make: Any) -> None:
    """DC-10, DC-17: until then nobody needed what was pruned, and nobody does now."""
    saver = make()
    graph = counting(saver, state(), until=2)
    graph.invoke({"n": 2}, THREAD, interrupt_before=["a"])
    saver.prune(["1"])
    graph.invoke(None, THREAD)
    graph.invoke({"log": ["i"], "n": 2}, THREAD)

    assert history(graph) == [["a2", "i", "a2"], ["a2", "i"], ["a2"], ["a2"], []]


@both_savers
def test_a_write_that_never_counted_and_then_another_kind_of_channel(make: Any) -> None:
    """DC-14: beside an old checkpoint lies what a task wrote to a plain channel, and it was given
    up. When the channel is a delta channel and gets its first value, that does not come back."""
    saver = make()
    wait: Any = {"good": say("good"), "wait": lambda state: {"log": [interrupt("?")]}}
    parallel(saver, Plain, **wait).invoke({"n": 0}, THREAD)
    quiet = parallel(saver, Plain, other=lambda state: {})
    quiet.invoke({"n": 1}, THREAD)
    graph = parallel(saver, state(), other=say("other"))

    assert graph.invoke({"n": 2}, THREAD)["log"] == ["other"]
    assert history(graph)[:3] == [["other"], [], []]


def test_the_walk_and_the_savers_agree() -> None:
    """DC-03, DC-15: at every checkpoint, the walk of the base class, and each bundled saver's own
    way, find the same writes and the same seed."""
    found = []
    for saver in (InMemorySaver(), sqlite_saver()):
        graph = counting(saver, state(3), until=5)
        graph.invoke({"log": ["i"], "n": 0}, THREAD)
        graph.update_state(at_step(graph, 2), {"log": ["fork"]}, as_node="a")
        graph.invoke(None, THREAD)
        for row in reversed([*saver.list(THREAD)]):
            asked: Any = {"config": row.config, "channels": ["log", "n", "unknown"]}
            own = saver.get_delta_channel_history(**asked)
            assert own == BaseCheckpointSaver.get_delta_channel_history(saver, **asked)
            assert own["unknown"] == {"writes": []}
            history = own["log"]
            found.append((history.get("seed"), [value for _, _, value in history["writes"]]))
        assert saver.get_delta_channel_history(config=THREAD, channels=[]) == {}
    half = len(found) // 2

    assert found[:half] == found[half:]
    assert found[:5] == [
        (None, []),
        (None, [["i"]]),
        (None, [["i"], ["a0"]]),
        (None, [["i"], ["a0"], ["a1"]]),
        (_DeltaSnapshot(["i", "a0", "a1"]), [["a2"]]),
    ]


@both_savers
def test_a_question(make: Any) -> None:
    """DC-16: asked and answered as on any thread."""

    def ask(state: Any) -> Any:
        return {"log": [interrupt("?")]}

    builder = StateGraph(state()).add_node("a", say("a")).add_node("ask", ask)
    builder.add_edge(START, "a").add_edge("a", "ask")
    graph = builder.compile(checkpointer=make())
    graph.invoke({"log": ["i"]}, THREAD)

    assert history(graph)[0] == ["i", "a"]
    assert graph.invoke(Command(resume="yes"), THREAD)["log"] == ["i", "a", "yes"]
    assert history(graph) == [["i", "a", "yes"], ["i", "a"], ["i"], []]


@both_savers
def test_what_is_left_of_a_thread_can_be_read(make: Any) -> None:
    """DC-17, SV-63: after a copy, and after pruning it back to the last snapshot."""
    saver = make()
    graph = counting(saver, state(3), until=4)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)
    saver.copy_thread("1", "2")
    copy: Any = {"configurable": {"thread_id": "2"}}
    saver.prune(["1"])

    assert [row[1:3] for row in rows(saver)] == [
        (2, _DeltaSnapshot(["i", "a0", "a1"])),
        (3, None),
        (4, None),
    ]
    assert history(graph)[0] == ["i", "a0", "a1", "a2", "a3"]
    read = [snapshot.values.get("log") for snapshot in graph.get_state_history(copy)]
    assert read[0] == ["i", "a0", "a1", "a2", "a3"]
    assert len(read) == 6
    saver.delete_thread("2")
    assert [*saver.list(copy)] == []


class Basic(BaseCheckpointSaver[str]):
    """A saver of one's own: the five methods, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        inner = InMemorySaver()
        self.get_next_version = inner.get_next_version
        self.inner = inner

    def get_tuple(self, config: Any) -> Any:
        return self.inner.get_tuple(config)

    def list(self, *args: Any, **options: Any) -> Any:
        return self.inner.list(*args, **options)

    def put(self, *args: Any) -> Any:
        return self.inner.put(*args)

    def put_writes(self, *args: Any) -> None:
        self.inner.put_writes(*args)

    def delete_thread(self, thread_id: str) -> None:
        self.inner.delete_thread(thread_id)


def test_a_saver_with_five_methods() -> None:
    """DC-15: is enough."""
    graph = counting(Basic(), state(3), until=4)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)
    graph.update_state(at_step(graph, 2), {"log": ["fork"]}, as_node="a")

    assert graph.invoke({"log": ["j"], "n": 3}, THREAD)["log"] == [
        *("i", "a0", "a1", "fork", "j", "a3"),
    ]
    assert history(graph) == [
        ["i", "a0", "a1", "fork", "j", "a3"],
        ["i", "a0", "a1", "fork", "j"],
        ["i", "a0", "a1", "fork"],
        ["i", "a0", "a1", "fork"],
        ["i", "a0", "a1", "a2", "a3"],
        ["i", "a0", "a1", "a2"],
        ["i", "a0", "a1"],
        ["i", "a0"],
        ["i"],
        [],
    ]


class OnlyTheLatest(Basic):
    """Takes no notice of ids."""

    def get_tuple(self, config: Any) -> Any:
        return self.inner.get_tuple(
            {"configurable": {**config["configurable"], "checkpoint_id": None}}
        )


class WithoutWrites(Basic):
    """Gives back no writes."""

    def get_tuple(self, config: Any) -> Any:
        found = self.inner.get_tuple(config)
        return found and found._replace(pending_writes=[])


@pytest.mark.parametrize("broken", [OnlyTheLatest, WithoutWrites])
def test_a_saver_that_does_not_find_the_pieces(broken: type[Basic]) -> None:
    """DC-15: is found out, instead of an empty value being read."""
    graph = counting(broken(), state(), until=2)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)

    with pytest.raises(UnreadableError, match="is stored in pieces"):
        graph.get_state(THREAD)


@pytest.mark.parametrize("table", ["checkpoints", "writes"])
def test_rows_that_somebody_has_deleted(table: str) -> None:
    """DC-15, DC-17: by hand, or with a tool that does not know of the pieces."""
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    graph = counting(SqliteSaver(conn), state(), until=2)
    graph.invoke({"log": ["i"], "n": 0}, THREAD)
    latest = graph.get_state(THREAD).config["configurable"]["checkpoint_id"]
    conn.execute(f"DELETE FROM {table} WHERE checkpoint_id < ?", (latest,))
    reopened = counting(SqliteSaver(conn), state(), until=2)

    with pytest.raises(UnreadableError, match="is stored in pieces"):
        reopened.get_state(THREAD)


def test_a_frequency_must_be_a_positive_number() -> None:
    """CH-20."""
    for wrong in (0, -1, None, 1.5):
        with pytest.raises(ValueError, match="snapshot_frequency must be a positive int"):
            DeltaChannel(extend, snapshot_frequency=wrong)  # type: ignore[arg-type]  # is refused


def test_a_type_must_have_an_empty_value() -> None:
    """CH-19: a value that begins with nothing cannot be folded into."""
    with pytest.raises(ValueError, match="begins with an empty value"):
        DeltaChannel(extend, int | None)


def test_a_class_does_not_say_how_to_reduce() -> None:
    """CH-19: as an annotation, the channel itself is needed."""

    class Schema(TypedDict):
        log: Annotated[list[Any], DeltaChannel]

    with pytest.raises(ValueError, match=r"write DeltaChannel\(reducer\)"):
        StateGraph(Schema)


def test_the_history_of_a_pruned_thread(caplog: pytest.LogCaptureFixture) -> None:
    """DC-17: what was kept for one channel only, and cannot be read, is left out."""

    class Two(TypedDict):
        x: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=3)]
        y: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=4)]

    saver = InMemorySaver()
    builder = StateGraph(Two).add_node("a", lambda state: {"x": ["x"], "y": ["y"]})
    graph = builder.add_edge(START, "a").compile(checkpointer=saver)
    for _ in range(4):
        graph.invoke({"x": ["i"], "y": ["i"]}, THREAD)
    newest = graph.get_state(THREAD)
    saver.prune(["1"])
    assert graph.get_state(THREAD).values == newest.values
    assert [each.values for each in graph.get_state_history(THREAD)] == [newest.values]
    assert [record.message[:44] for record in caplog.records] == [
        "A checkpoint is left out of the history: The"
    ] * 2
