"""Files go both ways: what one package has stored, the other opens, shows and continues."""

from __future__ import annotations

import datetime
import operator
import sqlite3
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import langgraph.checkpoint.sqlite as their_sqlite
import langgraph.graph as their_graph
import langgraph.types as their_types
import pytest
from langgraph.channels.delta import DeltaChannel
from typing_extensions import TypedDict

import minigraph.checkpoint.sqlite as our_sqlite
import minigraph.graph as our_graph
import minigraph.types as our_types

OURS = SimpleNamespace(
    name="minigraph", graph=our_graph, types=our_types, Saver=our_sqlite.SqliteSaver
)
THEIRS = SimpleNamespace(
    name="langgraph", graph=their_graph, types=their_types, Saver=their_sqlite.SqliteSaver
)

CONFIG: Any = {"configurable": {"thread_id": "t"}}

both_ways = pytest.mark.parametrize(
    ("writer", "reader"),
    [(OURS, THEIRS), (THEIRS, OURS), (OURS, OURS), (THEIRS, THEIRS)],
    ids=lambda package: package.name,
)
"""The last two are what the first two are measured by."""


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    count: int
    values: list[Any]


class Graph:
    """begin, then two beside each other, then the end; `fails` is what fails."""

    def __init__(self, package: Any, saver: Any) -> None:
        self.fails = ""
        builder = package.graph.StateGraph(State)
        for name in ("begin", "left", "right", "end"):
            builder.add_node(name, self.node(name))
        builder.add_edge("__start__", "begin")
        builder.add_edge("begin", "left")
        builder.add_edge("begin", "right")
        builder.add_edge(["left", "right"], "end")
        self.graph = builder.compile(checkpointer=saver)

    def node(self, name: str) -> Callable[[State], Any]:
        def function(state: State) -> Any:
            if name == self.fails:
                time.sleep(0.05)  # what runs beside it has long been stored
                raise ValueError(f"no {name}")
            values = {
                "begin": {"count": state.get("count", 0) + 1},
                "end": {"values": [b"x", 1.5, datetime.date(2024, 1, 2), Decimal("1.50"), {"s"}]},
            }
            return {"log": [name], **values.get(name, {})}

        return function


def plain(graph: Graph) -> None:
    graph.graph.invoke({"log": ["in"]}, CONFIG)


def twice(graph: Graph) -> None:
    plain(graph)
    plain(graph)


def failed(graph: Graph) -> None:
    graph.fails = "right"
    with pytest.raises(ValueError, match="no right"):
        plain(graph)
    graph.fails = ""


def forked(graph: Graph) -> None:
    plain(graph)
    after_begin = [*graph.graph.get_state_history(CONFIG)][-3]
    graph.graph.update_state(after_begin.config, {"log": ["forked"]}, as_node="begin")
    graph.graph.invoke(None, CONFIG)


def stopped(graph: Graph) -> None:
    graph.graph.invoke({"log": ["in"]}, CONFIG, interrupt_before=["end"])


STORIES = [plain, twice, failed, forked, stopped]


def opened(package: Any, path: str) -> Any:
    return package.Saver.from_conn_string(path)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "threads.db")


def shown(state: Any) -> Any:
    # Not what comes next: in the reference's history, that now and then includes the node behind a
    # join that waits. What comes next is what is done when the thread goes on, below.
    return state.values, dict(state.metadata), state.config, state.parent_config


@pytest.mark.filterwarnings("ignore")  # the reference's
@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize(
    ("writer", "reader"), [(OURS, THEIRS), (THEIRS, OURS)], ids=lambda package: package.name
)
def test_the_same_records(path: str, writer: Any, reader: Any, story: Any) -> None:
    """SV-30, SV-32: checkpoints, metadata, parents and pending writes; and the same history."""
    with opened(writer, path) as saver:
        writing = Graph(writer, saver)
        story(writing)
        stored = [tuple(found) for found in saver.list(CONFIG)]
        history = [shown(state) for state in writing.graph.get_state_history(CONFIG)]
    with opened(reader, path) as saver:
        assert [tuple(found) for found in saver.list(CONFIG)] == stored
        found = [shown(state) for state in Graph(reader, saver).graph.get_state_history(CONFIG)]
    assert found == history
    assert len(stored) >= 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("story", STORIES)
@both_ways
def test_the_thread_goes_on(path: str, writer: Any, reader: Any, story: Any) -> None:
    """SV-30: what is left to do is done, a new input works, and the first one reads it all."""
    with opened(writer, path) as saver:
        story(Graph(writer, saver))
    with opened(reader, path) as saver:
        reading = Graph(reader, saver)
        if reading.graph.get_state(CONFIG).next:
            reading.graph.invoke(None, CONFIG)
        result = reading.graph.invoke({"log": ["again"]}, CONFIG)
        before = {
            plain: ["in"], twice: ["in", "begin", "left", "right", "end", "in"], failed: ["in"],
            forked: ["in", "begin", "forked"], stopped: ["in"],
        }[story]  # fmt: skip
        middle = [] if story is forked else ["begin"]
        rest = [*middle, "left", "right", "end", "again", "begin", "left", "right", "end"]
        assert result["log"] == before + rest
        assert result["count"] == result["log"].count("begin")
        assert result["values"] == [b"x", 1.5, datetime.date(2024, 1, 2), Decimal("1.50"), {"s"}]
        stored = [tuple(found) for found in saver.list(CONFIG)]
    with opened(writer, path) as saver:
        assert [tuple(found) for found in saver.list(CONFIG)] == stored
        assert Graph(writer, saver).graph.get_state(CONFIG).values == result


@pytest.mark.filterwarnings("ignore")
@both_ways
def test_what_is_finished_within_an_open_super_step(path: str, writer: Any, reader: Any) -> None:
    """SS-31: belongs to a task, whose id is a hash, and each package has its own. So the other
    package does not recognise the task, and does it again; the thread is none the worse."""
    with opened(writer, path) as saver:
        writing = Graph(writer, saver)
        failed(writing)
        assert writing.graph.get_state(CONFIG).next == ("right",)
    with opened(reader, path) as saver:
        state = Graph(reader, saver).graph.get_state(CONFIG)
        if reader is writer:
            assert state.next == ("right",)
            assert state.values["log"] == ["in", "begin", "left"]
        else:
            assert sorted(state.next) == ["left", "right"]
            assert state.values["log"] == ["in", "begin"]


@pytest.mark.filterwarnings("ignore")
@both_ways
def test_sends_that_wait(path: str, writer: Any, reader: Any) -> None:
    """SD-15: a Send is the other package's own Send."""

    class Many(TypedDict, total=False):
        log: Annotated[list[int], operator.add]

    def graph(package: Any, saver: Any) -> Any:
        builder = package.graph.StateGraph(Many)
        builder.add_node("split", lambda state: {})
        builder.add_node("work", lambda arg: {"log": [arg["n"]]})
        builder.add_edge("__start__", "split")
        send = package.types.Send
        builder.add_conditional_edges(
            "split", lambda state: [send("work", {"n": n}) for n in (1, 2)], ["work"]
        )
        return builder.compile(checkpointer=saver)

    with opened(writer, path) as saver:
        graph(writer, saver).invoke({"log": [0]}, CONFIG, interrupt_before=["work"])
    with opened(reader, path) as saver:
        assert graph(reader, saver).get_state(CONFIG).next == ("work", "work")
        assert graph(reader, saver).invoke(None, CONFIG) == {"log": [0, 1, 2]}


@pytest.mark.filterwarnings("ignore")
def test_both_have_one_file_open(path: str) -> None:
    """SV-30: at the same time, each with its own threads and with one that they share."""
    with opened(OURS, path) as ours, opened(THEIRS, path) as theirs:
        graphs = [Graph(OURS, ours).graph, Graph(THEIRS, theirs).graph]
        for graph in graphs * 2:
            graph.invoke({"log": []}, CONFIG)
        for graph in graphs:
            assert graph.get_state(CONFIG).values["count"] == 4
    conn = sqlite3.connect(path)
    assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    conn.close()


def list_of_all(state: list[int], writes: list[list[int]]) -> list[int]:
    return (state or []) + [item for write in writes for item in write]


class Deltas(TypedDict, total=False):
    log: Annotated[list[int], DeltaChannel(list_of_all, snapshot_frequency=5)]


def with_deltas(saver: Any) -> Any:
    """A graph of the reference's whose list is kept in the writes, with a value now and then."""
    builder = their_graph.StateGraph(Deltas)
    builder.add_node("more", lambda state: {"log": [len(state["log"])]})
    builder.add_edge("__start__", "more")
    return builder.compile(checkpointer=saver)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("runs", range(1, 8))
def test_values_that_are_kept_in_writes(path: str, runs: int) -> None:
    """SV-63: what we prune, delete or copy, the reference can still read, as it was."""
    with opened(THEIRS, path) as saver:
        for run in range(runs):
            config = {**CONFIG, "metadata": {"run_id": f"r{run}"}}
            with_deltas(saver).invoke({"log": [100 + run]}, config)
        expected = with_deltas(saver).get_state(CONFIG).values
        assert len(expected["log"]) == 2 * runs
    with opened(OURS, path) as saver:
        saver.copy_thread("t", "copy")
        saver.copy_thread("t", "pruned")
        saver.delete_thread("t")
        saver.prune(["pruned"])
        left = len([*saver.list({"configurable": {"thread_id": "pruned"}})])
        assert left < 20
        saver.copy_thread("copy", "some runs")
        saver.delete_for_runs([f"r{run}" for run in range(0, runs - 1, 2)])
    with opened(THEIRS, path) as saver:
        for thread in ("copy", "pruned", "some runs"):
            found = with_deltas(saver).get_state({"configurable": {"thread_id": thread}})
            assert found.values == expected
