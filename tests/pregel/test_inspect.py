"""Reading and editing threads: snapshots, history, updates from outside."""

from __future__ import annotations

import asyncio
import itertools
import operator
import uuid
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import END, START
from minigraph.errors import EmptyInputError, InvalidUpdateError
from minigraph.graph import StateGraph
from minigraph.pregel.drive import Driver, finish
from minigraph.pregel.inspect import update_program
from minigraph.types import Command, Send, StateSnapshot, StateUpdate

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class State(TypedDict):
    foo: str
    bar: Annotated[list[str], operator.add]


class Log(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def node_a(state: State) -> Any:
    return {"foo": "a", "bar": ["a"]}


def node_b(state: State) -> Any:
    return {"foo": "b", "bar": ["b"]}


def ab(**options: Any) -> Any:
    """START ─▶ node_a ─▶ node_b, the graph of the observations."""
    builder = StateGraph(State).add_node(node_a).add_node(node_b)
    builder.add_edge(START, "node_a").add_edge("node_a", "node_b").add_edge("node_b", END)
    return builder.compile(checkpointer=InMemorySaver(), **options)


def say(name: str) -> Callable[[Any], Any]:
    return lambda state: {"log": [name]}


def nodes(*names: str) -> StateGraph:
    builder = StateGraph(Log)
    for name in names:
        builder.add_node(name, say(name))
    return builder


def rows(graph: Any) -> list[Any]:
    """All checkpoints, oldest first, as the saver gives them."""
    return [*graph.checkpointer.list(CONFIG)][::-1]


def brief(graph: Any) -> list[Any]:
    """Of each: source, step, channels with a value, number of pending writes."""
    return [
        (
            row.metadata["source"],
            row.metadata["step"],
            sorted(row.checkpoint["channel_values"]),
            len(row.pending_writes),
        )
        for row in rows(graph)
    ]


def metadata(source: str, step: int) -> Any:
    return {"source": source, "step": step, "parents": {}}


def place(row: Any) -> Any:
    return row.config["configurable"]["checkpoint_id"]


class FailsOnce:
    """A node that raises when it is called for the first time."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, state: Any) -> Any:
        self.calls += 1
        if self.calls == 1:
            raise ValueError("boom")
        return {"log": ["bad"]}


def half_done(way: Any) -> Any:
    """A thread whose open super-step has one finished task, `ok`, and one that failed."""
    bad = FailsOnce()

    def ok(state: Log) -> Any:
        return {"log": ["ok"]}

    builder = StateGraph(Log).add_node("ok", ok).add_node("bad", bad).add_edge(START, "ok")
    graph = builder.add_edge(START, "bad").add_node("after", say("after"))
    compiled = graph.add_edge("bad", "after").compile(checkpointer=InMemorySaver())
    # In sync runs a failure waits for siblings, so that `ok` is stored for sure.
    with pytest.raises(ValueError, match="boom"):
        compiled.invoke({"log": []}, CONFIG)
    return compiled


# ---------------------------------------------------------------- snapshots


class TestState:
    def test_of_a_thread_that_does_not_exist(self, way: Any) -> None:
        """CP-31: empty, with the config echoed, and no error."""
        empty = StateSnapshot({}, (), {}, None, None, None, (), ())  # type: ignore[typeddict-item]
        graph = ab()
        assert way.state(graph, CONFIG) == empty._replace(config=CONFIG)
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        unknown: Any = {
            "configurable": {
                "thread_id": "1",
                "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875",
            }
        }
        assert way.state(graph, unknown) == empty._replace(config=unknown)
        assert way.history(graph, {"configurable": {"thread_id": "nope"}}) == []

    def test_without_a_saver(self, way: Any) -> None:
        """CP-33: also for history and updates."""
        graph = ab().builder.compile()
        for call in (way.state, way.history):
            with pytest.raises(ValueError, match="No checkpointer set"):
                call(graph, CONFIG)
        with pytest.raises(ValueError, match="No checkpointer set"):
            way.update(graph, CONFIG, {"foo": "x"})

    def test_live_and_record(self, way: Any) -> None:
        """CP-40, CP-41: without an id, finished tasks count; with one, and in history, not."""
        graph = half_done(way)
        live = way.state(graph, CONFIG)
        assert (live.values, live.next) == ({"log": ["ok"]}, ("bad",))
        assert [(t.name, t.error, t.result) for t in live.tasks] == [
            ("ok", None, {"log": ["ok"]}),
            ("bad", "ValueError('boom')", None),
        ]
        record = way.state(graph, live.config)
        assert (record.values, record.next) == ({"log": []}, ("ok", "bad"))
        assert way.history(graph, CONFIG)[0] == record
        assert record.tasks == live.tasks
        assert record.metadata == live.metadata == metadata("loop", 0)

    def test_an_empty_checkpoint_id_means_the_latest(self, way: Any) -> None:
        """CP-41, SV-04: so the view is the live one, not the record."""
        graph = half_done(way)
        live = way.state(graph, CONFIG)
        assert live.values == {"log": ["ok"]}
        empty: Any = {"configurable": {"thread_id": "1", "checkpoint_id": ""}}
        assert way.state(graph, empty) == live
        assert way.state(graph, live.config).values == {"log": []}

    def test_next_and_tasks_come_in_the_order_of_declaration(self, way: Any) -> None:
        """CP-40, observed: not in the order in which writes are applied; Sends come first."""
        builder = nodes("z", "m", "a", "w").add_edge(START, "a").add_edge(START, "z")
        builder.add_edge(START, "m")
        builder.add_conditional_edges(START, lambda state: [Send("w", 2), Send("w", 1)])
        graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["a"])
        way.invoke(graph, {"log": []}, CONFIG)
        state = way.state(graph, CONFIG)
        assert state.next == ("w", "w", "z", "m", "a")
        assert [task.name for task in state.tasks] == ["w", "w", "z", "m", "a"]

    def test_a_task_that_finished_without_output(self, way: Any) -> None:
        """CP-21, CP-42: it is told by a write of its own, shown as `{}`, and not run again."""
        quiet_runs = []
        bad = FailsOnce()
        builder = StateGraph(Log).add_node("quiet", lambda state: quiet_runs.append(1))
        graph = (
            builder.add_node("bad", bad)
            .add_edge(START, "quiet")
            .add_edge(START, "bad")
            .compile(checkpointer=InMemorySaver())
        )
        with pytest.raises(ValueError, match="boom"):
            graph.invoke({"log": []}, CONFIG)

        state = way.state(graph, CONFIG)
        assert [(task.name, task.result) for task in state.tasks] == [("quiet", {}), ("bad", None)]
        stored = graph.checkpointer.get_tuple(CONFIG).pending_writes
        assert sorted(write[1:] for write in stored) == [
            ("__error__", "ValueError('boom')"),
            ("__no_writes__", None),
        ]
        way.invoke(graph, None, CONFIG)
        assert (len(quiet_runs), bad.calls) == (1, 2)

    def test_several_writes_to_one_channel(self, way: Any) -> None:
        """CP-42: marked as such."""
        builder = StateGraph(Log).add_node(
            "a", lambda state: Command(update=[("log", ["1"]), ("log", ["2"])])
        )
        graph = builder.add_edge(START, "a").compile(checkpointer=InMemorySaver())
        way.invoke(graph, {"log": []}, CONFIG)
        assert way.history(graph, CONFIG)[1].tasks[0].result == {"log": {"$writes": [["1"], ["2"]]}}

    def test_a_root_state(self, way: Any) -> None:
        """SG-01, CP-42: bare values, as results too; None before there is one."""
        builder = StateGraph(int).add_node("a", lambda n: n + 1).add_edge(START, "a")
        graph = builder.compile(checkpointer=InMemorySaver())
        way.invoke(graph, 1, CONFIG)
        history = way.history(graph, CONFIG)
        assert [state.values for state in history] == [2, 1, None]
        assert [[task.result for task in state.tasks] for state in history] == [[], [2], [1]]

    def test_time_and_place(self, way: Any) -> None:
        """CP-43: each one's parent is the one before it, and the first has none."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        history = way.history(graph, CONFIG)
        assert [state.parent_config for state in history] == [
            *[state.config for state in history[1:]],
            None,
        ]
        stored = [row.checkpoint["ts"] for row in reversed(rows(graph))]
        assert [state.created_at for state in history] == stored

    def test_looking_stores_nothing(self, way: Any) -> None:
        """A snapshot may apply finished work to show it; it must not keep that."""
        graph = half_done(way)
        saver = graph.checkpointer
        before = repr((saver.storage, saver.blobs, saver.writes))
        first = way.state(graph, CONFIG)
        way.history(graph, CONFIG)
        assert way.state(graph, CONFIG) == first
        assert repr((saver.storage, saver.blobs, saver.writes)) == before

    def test_a_thread_whose_graph_has_changed(self, way: Any) -> None:
        """Another graph looks at it with its own eyes: what it lacks is left out."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        other = nodes("a").add_edge(START, "a").compile(checkpointer=graph.checkpointer)
        assert way.state(other, CONFIG).values == {"log": []}
        assert [state.values for state in way.history(other, CONFIG)] == [{"log": []}] * 4
        assert way.invoke(other, {"log": ["in"]}, CONFIG) == {"log": ["in", "a"]}

    def test_finished_work_of_a_node_that_is_gone(self, way: Any) -> None:
        """It belongs to nobody any more, so it does not count; what else waits, still waits."""
        graph = half_done(way)
        builder = nodes("bad", "after").add_edge(START, "bad").add_edge("bad", "after")
        other = builder.compile(checkpointer=graph.checkpointer)
        state = way.state(other, CONFIG)
        assert (state.values, state.next) == ({"log": []}, ("bad",))
        assert way.invoke(other, None, CONFIG) == {"log": ["bad", "after"]}


class TestHistory:
    def run(self, way: Any) -> tuple[Any, list[Any]]:
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": []}, {**CONFIG, "metadata": {"run": "first"}})
        return graph, way.history(graph, CONFIG)

    def steps(self, way: Any, graph: Any, config: Any = CONFIG, **options: Any) -> list[int]:
        return [state.metadata["step"] for state in way.history(graph, config, **options)]

    def test_options(self, way: Any) -> None:
        """CP-34: filter, limit, before, and a checkpoint of its own."""
        graph, history = self.run(way)
        assert self.steps(way, graph) == [2, 1, 0, -1]
        assert self.steps(way, graph, limit=2) == [2, 1]
        assert self.steps(way, graph, before=history[1].config) == [0, -1]
        assert self.steps(way, graph, before=history[1].config, limit=1) == [0]
        assert self.steps(way, graph, filter={"step": 1}) == [1]
        assert self.steps(way, graph, filter={"source": "loop"}) == [2, 1, 0]
        assert self.steps(way, graph, filter={"run": "first", "step": 0}) == [0]
        assert self.steps(way, graph, filter={"run": "second"}) == []
        assert self.steps(way, graph, history[2].config) == [0]

    def test_it_is_of_the_root_namespace(self, way: Any) -> None:
        """CP-34: what a nested graph stored under the same thread is not in it."""
        graph, history = self.run(way)
        saver = graph.checkpointer
        row = saver.get_tuple(CONFIG)
        nested: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": "inner:1"}}
        saver.put(nested, row.checkpoint, row.metadata, {})
        assert way.history(graph, CONFIG) == history

    def test_two_threads(self, way: Any) -> None:
        """They know nothing of each other; ids that are no text become one (CP-30)."""
        graph, history = self.run(way)
        other: Any = {"configurable": {"thread_id": 2}}
        way.invoke(graph, {"foo": "", "bar": ["2"]}, other)
        assert way.state(graph, other).values["bar"] == ["2", "a", "b"]
        assert way.state(graph, {"configurable": {"thread_id": "2"}}).values["bar"][0] == "2"
        assert way.history(graph, CONFIG) == history


# ---------------------------------------------------------------- what a run leaves behind


def test_the_four_checkpoints_of_two_nodes(way: Any) -> None:
    """CP-01, CP-07, SS-20 to SS-23: as observed, with integers for versions."""
    graph = ab()
    counter = itertools.count(1)
    graph.environment = graph.environment._replace(next_version=lambda newest: next(counter))

    way.invoke(graph, {"foo": "", "bar": []}, CONFIG)

    stored = [
        (
            row.checkpoint["channel_values"],
            row.checkpoint["channel_versions"],
            row.checkpoint["versions_seen"],
            row.checkpoint["updated_channels"],
            [write[1:] for write in row.pending_writes],
        )
        for row in rows(graph)
    ]
    first, second, third = {"__start__": 1}, {"branch:to:node_a": 2}, {"branch:to:node_b": 3}
    assert stored == [
        (
            {"__start__": {"foo": "", "bar": []}},
            {"__start__": 1},
            {"__input__": {}},
            ["__start__"],
            [("foo", ""), ("bar", []), ("branch:to:node_a", None)],
        ),
        (
            {"foo": "", "bar": [], "branch:to:node_a": None},
            {"__start__": 2, "foo": 2, "bar": 2, "branch:to:node_a": 2},
            {"__input__": {}, "__start__": first},
            ["bar", "branch:to:node_a", "foo"],
            [("foo", "a"), ("bar", ["a"]), ("branch:to:node_b", None)],
        ),
        (
            {"foo": "a", "bar": ["a"], "branch:to:node_b": None},
            {"__start__": 2, "foo": 3, "bar": 3, "branch:to:node_a": 3, "branch:to:node_b": 3},
            {"__input__": {}, "__start__": first, "node_a": second},
            ["bar", "branch:to:node_b", "foo"],
            [("foo", "b"), ("bar", ["b"])],
        ),
        (
            {"foo": "b", "bar": ["a", "b"]},
            {"__start__": 2, "foo": 4, "bar": 4, "branch:to:node_a": 3, "branch:to:node_b": 4},
            {"__input__": {}, "__start__": first, "node_a": second, "node_b": third},
            ["bar", "foo"],
            [],
        ),
    ]
    assert [row.metadata for row in rows(graph)] == [
        metadata("input", -1),
        *[metadata("loop", step) for step in range(3)],
    ]
    ids = [uuid.UUID(place(row)) for row in rows(graph)]
    assert [id.version for id in ids] == [6] * 4
    assert [id.clock_seq for id in ids] == [16383, 0, 1, 2]
    assert all(row.checkpoint["v"] == 4 for row in rows(graph))


def test_metadata_of_the_callers_own(way: Any) -> None:
    """CP-13, CP-14: scalars of `metadata` and `configurable`, in every checkpoint."""
    graph = ab()
    config: Any = {
        "metadata": {"tag": "m", "flag": True, "object": [1], "step": "mine", "run_id": "r"},
        "configurable": {"thread_id": "1", "user": "u1", "n": 3, "tag": "later", "__hidden": 1},
        "run_id": "top level",
    }
    way.invoke(graph, {"foo": "", "bar": []}, config)
    own = {"tag": "m", "flag": True, "run_id": "r", "user": "u1", "n": 3}
    assert [row.metadata for row in rows(graph)] == [
        {**metadata("input", -1), **own},
        *[{**metadata("loop", step), **own} for step in range(3)],
    ]


# ---------------------------------------------------------------- updates


class TestUpdate:
    def test_it_is_a_super_step_of_its_own(self, way: Any) -> None:
        """CP-60, CP-64: as observed."""
        graph = ab(interrupt_before=["node_b"])
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        before = way.history(graph, CONFIG)

        updated = way.update(graph, CONFIG, {"foo": "upd", "bar": ["u"]})

        state = way.state(graph, CONFIG)
        assert updated == state.config
        assert (state.values, state.next) == ({"foo": "upd", "bar": ["a", "u"]}, ("node_b",))
        assert (state.metadata, state.parent_config) == (metadata("update", 2), before[0].config)
        assert state.tasks[0].result is None
        base, row = rows(graph)[-2:]
        assert row.checkpoint["updated_channels"] is None
        assert [*row.checkpoint["versions_seen"]] == ["__input__", "__start__", "node_a"]
        assert [write[1:] for write in base.pending_writes] == [
            ("foo", "upd"),
            ("bar", ["u"]),
            ("branch:to:node_b", None),
        ]
        # The base is as it was; the update is no work of the task that waited there.
        assert way.history(graph, CONFIG)[1:] == before
        assert way.invoke(graph, None, CONFIG) == {"foo": "b", "bar": ["a", "u", "b"]}

    def test_the_id_of_its_writes(self, way: Any) -> None:
        """CP-64: the waiting task's, if it stands for that; the caller's; else made of the base."""
        graph = ab(interrupt_before=["node_b"])
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        held = way.state(graph, CONFIG)
        way.update(graph, held.config, {"foo": "1"}, "node_b")
        (write,) = rows(graph)[-2].pending_writes
        assert write == (held.tasks[0].id, "foo", "1")

        finished = way.state(graph, CONFIG)
        way.update(graph, CONFIG, {"foo": "2"}, "node_b")
        (write,) = rows(graph)[-2].pending_writes
        base = uuid.UUID(finished.config["configurable"]["checkpoint_id"])
        assert write == (str(uuid.uuid5(base, "__interrupt__")), "foo", "2")

        way.update(graph, CONFIG, {"foo": "3"}, "node_b", task_id="mine")
        (write,) = rows(graph)[-2].pending_writes
        assert write == ("mine", "foo", "3")

    def test_as_a_waiting_node_it_is_that_nodes_work(self, way: Any) -> None:
        """CP-60, CP-64: the record of the base shows it as the task's result."""
        graph = ab(interrupt_before=["node_b"])
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        way.update(graph, CONFIG, {"foo": "by hand", "bar": ["h"]}, "node_b")
        assert way.history(graph, CONFIG)[1].tasks[0].result == {"foo": "by hand", "bar": ["h"]}
        assert way.state(graph, CONFIG).next == ()
        assert way.invoke(graph, None, CONFIG) == {"foo": "by hand", "bar": ["a", "h"]}

    def test_the_path_of_its_writes(self, way: Any) -> None:
        """SS-30: observed `~__interrupt__, 0000000000`."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        before = {*graph.checkpointer.writes}
        way.update(graph, CONFIG, {"foo": "x"})
        (key,) = {*graph.checkpointer.writes} - before
        assert {row[3] for row in graph.checkpointer.writes[key].values()} == {
            "~__interrupt__, 0000000000"
        }

    def test_on_a_fresh_thread(self, way: Any) -> None:
        """CP-61, CP-65, CP-67: as observed, by who is said to have written."""
        for as_node, values, next_nodes, about in (
            ("node_a", {"foo": "f", "bar": ["x"]}, ("node_b",), metadata("update", 0)),
            ("__start__", {"foo": "f", "bar": ["x"]}, ("node_a",), metadata("update", 0)),
            (None, {"foo": "f", "bar": ["x"]}, ("node_a",), metadata("update", 0)),
            ("__input__", {"bar": []}, ("__start__",), metadata("input", -1)),
        ):
            graph = ab()
            way.update(graph, CONFIG, {"foo": "f", "bar": ["x"]}, as_node)
            state = way.state(graph, CONFIG)
            assert (state.values, state.next, state.metadata) == (values, next_nodes, about)
            assert state.parent_config is None
            assert way.invoke(graph, None, CONFIG)["foo"] == "b"
        graph = ab()
        way.update(graph, CONFIG, {"foo": "f", "bar": ["x"]}, "node_a")
        (row,) = rows(graph)
        assert row.checkpoint["versions_seen"] == {"node_a": {}}
        assert [*row.checkpoint["channel_versions"]] == ["foo", "bar", "branch:to:node_b"]
        assert len({*row.checkpoint["channel_versions"].values()}) == 1

    def test_whom_it_belongs_to(self, way: Any) -> None:
        """CP-61: to who ran last; several that ran together need to be told apart."""
        builder = nodes("a", "b", "c").add_edge(START, "a").add_edge(START, "b")
        builder.add_edge(["a", "b"], "c")
        graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["c"])
        way.invoke(graph, {"log": []}, CONFIG)
        before = len(rows(graph))

        with pytest.raises(InvalidUpdateError, match=r"specify as_node: \['a', 'b'\] ran"):
            way.update(graph, CONFIG, {"log": ["u"]})
        assert len(rows(graph)) == before

        way.update(graph, CONFIG, {"log": ["u"]}, "a")
        state = way.state(graph, CONFIG)
        assert (state.values, state.next) == ({"log": ["a", "b", "u"]}, ("c",))

    def test_of_a_finished_thread(self, way: Any) -> None:
        """CP-61, CP-66: as observed, one after the other."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        seen = []
        for values, as_node in (({"foo": "later"}, None), (None, END), (None, None)):
            way.update(graph, CONFIG, values, as_node)
            state = way.state(graph, CONFIG)
            seen.append(
                (state.values, state.next, state.metadata["source"], state.metadata["step"])
            )
        later = {"foo": "later", "bar": ["a", "b"]}
        assert seen == [(later, (), "update", step) for step in (3, 4, 5)]

    def test_a_node_that_does_not_exist(self, way: Any) -> None:
        """CP-62: nothing is stored."""
        graph = ab()
        with pytest.raises(InvalidUpdateError, match="Node 'zz' does not exist"):
            way.update(graph, CONFIG, {"foo": "f"}, "zz")
        assert rows(graph) == []

    def test_a_key_that_is_none(self, way: Any, caplog: pytest.LogCaptureFixture) -> None:
        """SG-41: dropped like that of a node; ≠ and the log is told, since it is a slip here."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        way.update(graph, CONFIG, {"foo": "x", "zz": 1})
        assert way.state(graph, CONFIG).values["foo"] == "x"
        [record] = caplog.records
        assert record.message == "The update as 'node_b' wrote to 'zz', which is no channel."

    @pytest.mark.parametrize("values", [{"bar": 5}, 5, {"bar": ["x"], "foo": "x", "zz": 1}])
    def test_values_that_are_refused(self, way: Any, values: Any) -> None:
        """Nothing is stored, no write either, and the thread goes on as if nobody had tried."""
        graph = ab(interrupt_before=["node_b"])
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        before = rows(graph)
        if isinstance(values, dict) and "zz" in values:  # is not refused: unknown keys are dropped
            way.update(graph, CONFIG, values, "node_b")
            assert way.state(graph, CONFIG).values == {"foo": "x", "bar": ["a", "x"]}
            return

        with pytest.raises((InvalidUpdateError, TypeError)):
            way.update(graph, CONFIG, values, "node_b")

        assert rows(graph) == before
        assert way.state(graph, CONFIG).next == ("node_b",)
        assert way.invoke(graph, None, CONFIG) == {"foo": "b", "bar": ["a", "b"]}

    def test_it_drops_what_finished_siblings_had_stored(self, way: Any) -> None:
        """CP-63: only `as_node` wrote in this super-step; all others that waited are given up."""
        graph = half_done(way)
        way.update(graph, CONFIG, {"log": ["answered"]}, "bad")
        state = way.state(graph, CONFIG)
        assert (state.values, state.next) == ({"log": ["answered"]}, ("after",))
        assert way.invoke(graph, None, CONFIG) == {"log": ["answered", "after"]}

    def test_as_the_end_it_clears_what_waits(self, way: Any) -> None:
        """CP-66: the step is finished with what is there; the rest of the state stays."""
        graph = ab(interrupt_before=["node_b"])
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        way.update(graph, CONFIG, None, END)
        state = way.state(graph, CONFIG)
        assert (state.values, state.next) == ({"foo": "a", "bar": ["a"]}, ())
        assert state.metadata == metadata("update", 2)
        assert way.invoke(graph, None, CONFIG) == {"foo": "a", "bar": ["a"]}
        graph = half_done(way)
        way.update(graph, CONFIG, None, END)
        assert way.state(graph, CONFIG).values == {"log": ["ok"]}
        with pytest.raises(InvalidUpdateError, match="values must be None"):
            way.update(graph, CONFIG, {"log": ["x"]}, END)

    def test_as_an_input_on_a_thread_that_waits(self, way: Any) -> None:
        """CP-65, CP-51: what waits is given up."""
        graph = ab(interrupt_before=["node_b"])
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        way.update(graph, CONFIG, {"foo": "f", "bar": ["in"]}, "__input__")
        state = way.state(graph, CONFIG)
        assert (state.next, state.metadata) == (("__start__",), metadata("input", 2))
        assert way.invoke(graph, None, CONFIG, interrupt_before=[]) == {
            "foo": "b",
            "bar": ["a", "in", "a", "b"],
        }
        with pytest.raises(InvalidUpdateError, match="no input writes"):
            way.update(graph, CONFIG, None, "__input__")

    def test_routes_of_the_node_are_asked(self, way: Any) -> None:
        """CP-60: with the state as the update makes it, and of a Command as well."""
        builder = nodes("a", "b", "c", "d").add_edge(START, "a")
        builder.add_conditional_edges("a", lambda state: "b" if "u" in state["log"] else "c")
        graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before="*")
        way.invoke(graph, {"log": []}, CONFIG)
        way.update(graph, CONFIG, {"log": ["u"]}, "a")
        assert way.state(graph, CONFIG).next == ("b",)
        way.update(graph, CONFIG, {"log": ["v"]}, "b")
        assert way.state(graph, CONFIG).next == ()
        way.update(graph, CONFIG, Command(update={"log": ["w"]}, goto=["d", Send("c", 1)]), "d")
        assert way.state(graph, CONFIG).next == ("c", "d")
        assert way.state(graph, CONFIG).values == {"log": ["u", "v", "w"]}

    def test_a_route_that_fails(self, way: Any) -> None:
        """The update fails with its error, and nothing is stored."""
        builder = nodes("a", "b").add_edge(START, "a")
        builder.add_conditional_edges("a", lambda state: {}["no"])
        graph = builder.compile(checkpointer=InMemorySaver())
        with pytest.raises(KeyError):
            way.update(graph, CONFIG, {"log": ["u"]}, "a")
        assert rows(graph) == []

    def test_a_write_to_nowhere(self, way: Any, caplog: pytest.LogCaptureFixture) -> None:
        """SG-53: told to the log."""
        builder = nodes("a").add_edge(START, "a").add_conditional_edges("a", lambda state: "zz")
        graph = builder.compile(checkpointer=InMemorySaver())
        way.update(graph, CONFIG, {"log": ["u"]}, "a")
        assert ["branch:to:zz" in record.getMessage() for record in caplog.records] == [True]

    def test_an_async_route_needs_a_loop(self) -> None:
        """ST-31: the sync one refuses, without storing anything; the async one asks it."""

        async def route(state: Log) -> str:
            return "b"

        builder = nodes("a", "b").add_edge(START, "a").add_conditional_edges("a", route)
        graph = builder.compile(checkpointer=InMemorySaver())
        with pytest.raises(TypeError, match="coroutine"):
            graph.update_state(CONFIG, {"log": ["u"]}, "a")
        assert rows(graph) == []
        asyncio.run(graph.aupdate_state(CONFIG, {"log": ["u"]}, "a"))
        assert graph.get_state(CONFIG).next == ("b",)

    def test_a_graph_with_one_node(self, way: Any) -> None:
        """CP-61: START counts, so a fresh thread's update is START's."""
        builder = StateGraph(State).add_node("only", lambda state: {"foo": "o"})
        graph = builder.add_edge(START, "only").compile(checkpointer=InMemorySaver())
        way.update(graph, CONFIG, {"foo": "z", "bar": []})
        state = way.state(graph, CONFIG)
        assert (state.values, state.next) == ({"foo": "z", "bar": []}, ("only",))

    def test_metadata_of_the_callers_own(self, way: Any) -> None:
        """CP-13: an update's config says who made it."""
        graph = ab()
        way.update(graph, {**CONFIG, "metadata": {"by": "ada"}}, {"foo": "f"})
        assert way.state(graph, CONFIG).metadata == {**metadata("update", 0), "by": "ada"}


class TestFork:
    def test_from_a_checkpoint_that_is_past(self, way: Any) -> None:
        """TT-05, TT-09: beside the old branch; no writes are left on the shared parent."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        before = rows(graph)
        history = way.history(graph, CONFIG)
        way.update(graph, history[1].config, {"foo": "forked"})
        assert rows(graph)[:4] == before
        assert way.state(graph, CONFIG).parent_config == history[1].config
        assert way.invoke(graph, None, CONFIG) == {"foo": "b", "bar": ["a", "b"]}

    def test_a_fork_of_a_fork(self, way: Any) -> None:
        """TT-06: one that the thread has moved past is copied first; the latest is not."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        past = way.history(graph, CONFIG)[1].config
        one = way.update(graph, past, {"foo": "one"})
        two = way.update(graph, one, {"bar": ["two"]})
        assert way.invoke(graph, None, two)["bar"] == ["a", "two", "b"]
        assert way.invoke(graph, None, one)["bar"] == ["a", "b"]
        ids = [place(row) for row in rows(graph)]
        tree = [
            (
                row.metadata["source"],
                row.metadata["step"],
                None
                if row.parent_config is None
                else ids.index(place(row._replace(config=row.parent_config))),
            )
            for row in rows(graph)
        ]
        assert tree == [
            ("input", -1, None),
            ("loop", 0, 0),
            ("loop", 1, 1),
            ("loop", 2, 2),
            ("update", 2, 2),
            ("update", 3, 4),
            ("loop", 4, 5),
            ("fork", 3, 4),
            ("loop", 4, 7),
        ]

    def test_a_replay_runs_all_of_the_step_again(self, way: Any) -> None:
        """TT-04: also what had finished."""
        ran: list[str] = []

        def node(name: str) -> Callable[[Any], Any]:
            return lambda state: ran.append(name) or {"log": [name]}

        builder = StateGraph(Log)
        for name in "abc":
            builder.add_node(name, node(name))
        builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c")
        graph = builder.compile(checkpointer=InMemorySaver())
        way.invoke(graph, {"log": []}, CONFIG)
        both = next(state for state in way.history(graph, CONFIG) if state.next == ("a", "b"))
        ran.clear()
        assert way.invoke(graph, None, both.config) == {"log": ["a", "b", "c"]}
        assert sorted(ran) == ["a", "b", "c"]

    def test_a_replay_of_the_input(self, way: Any) -> None:
        """TT-12: the whole graph, with the stored input."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": ["in"]}, CONFIG)
        first = way.history(graph, CONFIG)[-1]
        assert way.invoke(graph, None, first.config) == {"foo": "b", "bar": ["in", "a", "b"]}
        assert brief(graph)[4:] == [
            ("fork", 0, ["__start__"], 3),
            ("loop", 1, ["bar", "branch:to:node_a", "foo"], 3),
            ("loop", 2, ["bar", "branch:to:node_b", "foo"], 2),
            ("loop", 3, ["bar", "foo"], 0),
        ]

    def test_input_on_an_old_checkpoint(self, way: Any) -> None:
        """TT-10, TT-07: a new run on a branch of its own, which is the latest from then on."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": ["in"]}, CONFIG)
        past = way.history(graph, CONFIG)[1]
        assert way.invoke(graph, {"bar": ["2"]}, past.config)["bar"] == ["in", "a", "2", "a", "b"]
        assert [row[:2] for row in brief(graph)[4:]] == [
            ("input", 2),
            *[("loop", step) for step in (3, 4, 5)],
        ]
        assert way.state(graph, CONFIG).values["bar"] == ["in", "a", "2", "a", "b"]

    def test_a_checkpoint_that_does_not_exist(self, way: Any) -> None:
        """TT-11: an empty thread; ≠ but nothing to update."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": ["in"]}, CONFIG)
        unknown: Any = {
            "configurable": {
                "thread_id": "1",
                "checkpoint_id": "1ef4f797-8335-6428-8001-8a1503f9b875",
            }
        }
        with pytest.raises(EmptyInputError):
            way.invoke(graph, None, unknown)
        assert way.invoke(graph, {"foo": "", "bar": ["2"]}, unknown)["bar"] == ["2", "a", "b"]
        before = way.history(graph, CONFIG)
        with pytest.raises(InvalidUpdateError) as caught:
            way.update(graph, unknown, {"foo": "f"})
        assert str(caught.value) == (
            "Thread '1' has no checkpoint '1ef4f797-8335-6428-8001-8a1503f9b875', so it cannot be "
            "updated. Take the config of a snapshot, or leave out checkpoint_id to update the "
            "latest."
        )
        assert way.history(graph, CONFIG) == before


class TestCopy:
    def test_a_clone_beside_the_original(self, way: Any) -> None:
        """CP-69: as observed."""
        graph = ab()
        with pytest.raises(InvalidUpdateError, match="Cannot copy a non-existent checkpoint"):
            way.update(graph, CONFIG, None, "__copy__")
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        middle = way.history(graph, CONFIG)[1]

        clone = way.update(graph, middle.config, None, "__copy__")

        state = way.state(graph, clone)
        assert (state.values, state.next) == (middle.values, ("node_b",))
        assert state.metadata == metadata("fork", 2)
        assert state.parent_config == middle.parent_config
        assert rows(graph)[-1].checkpoint["updated_channels"] is None
        assert way.invoke(graph, None, clone) == {"foo": "b", "bar": ["a", "b"]}
        assert brief(graph) == [
            ("input", -1, ["__start__"], 3),
            ("loop", 0, ["bar", "branch:to:node_a", "foo"], 3),
            ("loop", 1, ["bar", "branch:to:node_b", "foo"], 2),
            ("loop", 2, ["bar", "foo"], 0),
            ("fork", 2, ["bar", "branch:to:node_b", "foo"], 2),
            ("loop", 3, ["bar", "foo"], 0),
        ]

        updated = way.update(
            graph, middle.config, [({"foo": "C", "bar": ["C"]}, "node_b")], "__copy__"
        )
        state = way.state(graph, updated)
        assert (state.values, state.next) == ({"foo": "C", "bar": ["a", "C"]}, ())
        assert state.metadata == metadata("update", 3)

    def test_a_copy_of_the_first_checkpoint(self, way: Any) -> None:
        """It has no parent, and so has its copy."""
        graph = ab()
        way.invoke(graph, {"foo": "", "bar": []}, CONFIG)
        clone = way.update(graph, way.history(graph, CONFIG)[-1].config, None, "__copy__")
        assert way.state(graph, clone).parent_config is None


class TestSuperSteps:
    """CP-68, of the program: one checkpoint per inner list."""

    def run(self, graph: Any, *super_steps: Any) -> Any:
        program = update_program(graph.layout, CONFIG, super_steps, graph.environment)
        return finish(Driver(graph.checkpointer).drive(program))

    def test_one_checkpoint_for_each(self) -> None:
        graph = ab()
        config = self.run(
            graph,
            [StateUpdate({"foo": "i", "bar": ["i"]}, "__input__")],
            [StateUpdate({"foo": "1", "bar": ["1"]}, "node_a")],
            [StateUpdate({"bar": ["2"]}, "node_b")],
        )
        assert brief(graph) == [
            ("input", -1, ["__start__"], 3),
            ("update", 0, ["bar", "branch:to:node_b", "foo"], 1),
            ("update", 1, ["bar", "foo"], 0),
        ]
        state = graph.get_state(CONFIG)
        assert (state.values, state.config) == ({"foo": "1", "bar": ["1", "2"]}, config)
        self.run(
            graph, [StateUpdate({"bar": ["p"]}, "node_b"), StateUpdate({"bar": ["q"]}, "node_a")]
        )
        assert graph.get_state(CONFIG).values == {"foo": "1", "bar": ["1", "2", "p", "q"]}

    def test_what_cannot_be(self) -> None:
        graph = ab()
        with pytest.raises(ValueError, match="No supersteps provided"):
            self.run(graph)
        with pytest.raises(ValueError, match="No updates provided"):
            self.run(graph, [])
        other = StateUpdate({"bar": ["y"]}, "node_a")
        for first, words in (
            (StateUpdate({"bar": ["x"]}), "need to say who makes them"),
            (StateUpdate({"bar": ["x"]}, "__input__"), "multiple updates when updating as input"),
            (StateUpdate(None, "__end__"), "multiple updates when clearing state"),
            (StateUpdate(None, "__copy__"), "copy a checkpoint with multiple updates"),
        ):
            for updates in ([first, other], [other, first]):
                with pytest.raises(InvalidUpdateError, match=words):
                    self.run(graph, updates)
        assert rows(graph) == []

    def test_a_write_clash_in_one_super_step(self) -> None:
        """SS-05: and nothing is stored."""
        graph = ab()
        graph.invoke({"foo": "", "bar": []}, CONFIG)
        before = rows(graph)
        clash = [StateUpdate({"foo": "1"}, "node_a"), StateUpdate({"foo": "2"}, "node_b")]
        with pytest.raises(InvalidUpdateError, match="'foo' received 2 writes"):
            self.run(graph, clash)
        assert rows(graph) == before
