"""Files with values that are stored in pieces go both ways.

What one package has stored of a `DeltaChannel`, the other reads at every checkpoint, continues,
and what it makes of it the first one reads again. They differ in where the pieces lie: the mode
``exit`` has another shape in each, the ids of tasks are other ones, and snapshots come in some
places here and in others there. None of that may be seen in a value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import langgraph.channels.delta as their_channels
import langgraph.checkpoint.serde.encrypted as their_encrypted
import langgraph.checkpoint.sqlite as their_sqlite
import langgraph.graph as their_graph
import langgraph.types as their_types
import pytest
from typing_extensions import TypedDict

import minigraph.channels.delta as our_channels
import minigraph.checkpoint.serde.encrypted as our_encrypted
import minigraph.checkpoint.sqlite as our_sqlite
import minigraph.graph as our_graph
import minigraph.types as our_types

OURS = SimpleNamespace(
    name="minigraph",
    graph=our_graph,
    types=our_types,
    Saver=our_sqlite.SqliteSaver,
    DeltaChannel=our_channels.DeltaChannel,
    EncryptedSerializer=our_encrypted.EncryptedSerializer,
)
THEIRS = SimpleNamespace(
    name="langgraph",
    graph=their_graph,
    types=their_types,
    Saver=their_sqlite.SqliteSaver,
    DeltaChannel=their_channels.DeltaChannel,
    EncryptedSerializer=their_encrypted.EncryptedSerializer,
)

CONFIG: Any = {"configurable": {"thread_id": "t"}}

pytestmark = pytest.mark.filterwarnings("ignore")  # the reference's

both_ways = pytest.mark.parametrize(
    ("writer", "reader"), [(OURS, THEIRS), (THEIRS, OURS)], ids=lambda package: package.name
)
frequencies = pytest.mark.parametrize("frequency", [2, 100])


def extend(value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*value, *(item for write in writes for item in write)]


def schema(package: Any, frequency: int | None) -> Any:
    """A growing log and growing notes. Without a frequency, with plain reducers."""
    log: Any = Annotated[list[Any], operator.add]
    notes: Any = Annotated[list[Any], operator.add]
    if frequency is not None:
        log = Annotated[list[Any], package.DeltaChannel(extend, snapshot_frequency=frequency)]
        notes = Annotated[list[Any], package.DeltaChannel(extend)]
    return TypedDict("State", {"log": log, "notes": notes, "ask": bool}, total=False)  # type: ignore[operator]


PARALLEL = ["zeta", "alpha", "mid", "omega", "beta"]


class Thread:
    """begin, then five beside each other, then the end, which may ask."""

    def __init__(self, package: Any, saver: Any, frequency: int | None) -> None:
        self.package = package
        self.saver = saver
        builder = package.graph.StateGraph(schema(package, frequency))
        for name in ("begin", *PARALLEL):
            builder.add_node(name, self.saying(name))
        builder.add_node("end", self.end)
        builder.add_edge("__start__", "begin")
        for name in PARALLEL:
            builder.add_edge("begin", name)
        builder.add_edge(PARALLEL, "end")
        self.graph = builder.compile(checkpointer=saver)

    def saying(self, name: str) -> Callable[[Any], Any]:
        def node(state: Any) -> Any:
            more = {"notes": [len(state["log"])]} if name == "begin" else {}
            return {"log": [name], **more}

        return node

    def end(self, state: Any) -> Any:
        if "overwrite" in state["log"]:
            return {"log": self.package.types.Overwrite(["whole"])}
        if state.get("ask"):
            return {"log": [self.package.types.interrupt("?")], "ask": False}
        return {"log": ["end"]}

    def turn(self, text: str, **options: Any) -> Any:
        return self.graph.invoke({"log": [text], "ask": text == "ask"}, CONFIG, **options)

    def answer(self) -> Any:
        return self.graph.invoke(self.package.types.Command(resume="answer"), CONFIG)

    def before(self, *names: str) -> Any:
        """The oldest checkpoint after which these come next."""
        found = [s for s in self.graph.get_state_history(CONFIG) if s.next == names]
        return found[-1].config

    def values(self) -> list[Any]:
        """What is read at every checkpoint, newest first: in the history, and one by one."""
        found = [*self.graph.get_state_history(CONFIG)]
        read = [(s.config["configurable"]["checkpoint_id"], s.values) for s in found]
        again = [self.graph.get_state(s.config).values for s in found]
        assert [values for _, values in read] == again
        return read


def turns(thread: Thread) -> None:
    for n in range(3):
        thread.turn(f"turn {n}")


def overwritten(thread: Thread) -> None:
    thread.turn("in")
    thread.turn("overwrite")
    thread.turn("after")
    thread.graph.invoke({"log": thread.package.types.Overwrite(["given"])}, CONFIG)


def updated(thread: Thread) -> None:
    thread.turn("in")
    thread.graph.update_state(CONFIG, {"log": ["update"], "notes": ["update"]}, as_node="end")
    thread.graph.update_state(CONFIG, {"log": ["again"]}, as_node="begin")


def begun_by_an_update(thread: Thread) -> None:
    thread.graph.update_state(CONFIG, {"log": ["update"]}, as_node="begin")
    thread.graph.invoke(None, CONFIG)


def forked(thread: Thread) -> None:
    thread.turn("in")
    fork = thread.graph.update_state(thread.before("end"), {"log": ["fork"]}, as_node="begin")
    thread.graph.invoke(None, fork)


def replayed(thread: Thread) -> None:
    thread.turn("in")
    thread.graph.invoke(None, thread.before("end"))
    thread.graph.invoke(None, thread.before("begin"))


def in_one(thread: Thread) -> None:
    for n in range(3):
        thread.turn(f"exit {n}", durability="exit")
    thread.turn("sync", durability="sync")
    thread.turn("exit", durability="exit")


def asked(thread: Thread) -> None:
    thread.turn("in")
    thread.turn("ask")


def answered(thread: Thread) -> None:
    asked(thread)
    thread.answer()


def asked_and_left(thread: Thread) -> None:
    asked(thread)
    thread.turn("other")


def asked_in_one(thread: Thread) -> None:
    thread.turn("ask", durability="exit")


STORIES = [
    turns, overwritten, updated, begun_by_an_update, forked, replayed, in_one, asked, answered,
    asked_and_left, asked_in_one,
]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "threads.db")


@contextmanager
def opened(package: Any, path: str, frequency: int | None = 100) -> Iterator[Thread]:
    with package.Saver.from_conn_string(path) as saver:
        yield Thread(package, saver, frequency)


@both_ways
@frequencies
@pytest.mark.parametrize("story", STORIES)
def test_every_checkpoint_and_what_follows(
    path: str, writer: Any, reader: Any, frequency: int, story: Any
) -> None:
    """DC-01, DC-06, DC-07, DC-11, DC-13, DC-16: the reader finds at every checkpoint what the
    writer found, whatever that one has stored whole, or left out. It goes on from there; what was
    there before is unchanged. And then the writer reads it all, and goes on once more."""
    with opened(writer, path, frequency) as thread:
        story(thread)
        written = thread.values()
    with opened(reader, path, frequency) as thread:
        assert thread.values() == written
        if story in (asked, asked_in_one):
            assert thread.answer()["log"][-1] == "answer"
        result = thread.turn("more")
        before = result["log"][: result["log"].index("more")]
        assert result["log"] == [*before, "more", "begin", *sorted(PARALLEL), "end"]
        assert result["notes"][-1] == len(before) + 1
        read = thread.values()
        assert read[0][1] == {**result}
        assert read[-len(written) :] == written
    with opened(writer, path, frequency) as thread:
        assert thread.values() == read
        assert thread.turn("last")["log"][: len(result["log"])] == result["log"]
        written = thread.values()
    with opened(reader, path, frequency) as thread:
        assert thread.values() == written


@both_ways
def test_parallel_writers_come_in_the_order_of_their_names(
    path: str, writer: Any, reader: Any
) -> None:
    """DC-04, SV-09: in both packages, when they are applied and when they are read, although ids of
    tasks are hashes; each of several writes of a task in its place."""

    def graph(package: Any, saver: Any) -> Any:
        builder = package.graph.StateGraph(schema(package, 100))
        for n in (3, 11, 1, 25, 2, 10):
            builder.add_node(
                f"node{n}",
                lambda state, n=n: package.types.Command(update=[("log", [n]), ("log", [n + 0.5])]),
            )
            builder.add_edge("__start__", f"node{n}")
        return builder.compile(checkpointer=saver)

    order = [float(n) for n in (1, 1.5, 10, 10.5, 11, 11.5, 2, 2.5, 25, 25.5, 3, 3.5)]
    with writer.Saver.from_conn_string(path) as saver:
        assert graph(writer, saver).invoke({"log": []}, CONFIG)["log"] == order
    with reader.Saver.from_conn_string(path) as saver:
        assert graph(reader, saver).get_state(CONFIG).values["log"] == order
        assert graph(reader, saver).invoke({"log": []}, CONFIG)["log"] == order * 2
    with writer.Saver.from_conn_string(path) as saver:
        assert graph(writer, saver).get_state(CONFIG).values["log"] == order * 2


@both_ways
@frequencies
def test_sends_are_read_in_their_order(path: str, writer: Any, reader: Any, frequency: int) -> None:
    """DC-04: a dozen, whose paths are numbers."""

    def graph(package: Any, saver: Any) -> Any:
        builder = package.graph.StateGraph(schema(package, frequency))
        builder.add_node("work", lambda n: {"log": [n]})
        builder.add_conditional_edges(
            "__start__", lambda state: [package.types.Send("work", n) for n in range(12)], ["work"]
        )
        return builder.compile(checkpointer=saver)

    with writer.Saver.from_conn_string(path) as saver:
        live = graph(writer, saver).invoke({"log": ["in"]}, CONFIG)["log"]
    with reader.Saver.from_conn_string(path) as saver:
        assert graph(reader, saver).get_state(CONFIG).values["log"] == live
    assert live == ["in", *range(12)]


@both_ways
@frequencies
def test_a_failure(path: str, writer: Any, reader: Any, frequency: int) -> None:
    """DC-11: one of two has failed. What the other one wrote lies there; whoever goes on, counts it
    once, whether its task is done again or not."""

    def graph(package: Any, saver: Any, fails: bool) -> Any:
        def fail(state: Any) -> Any:
            if fails:
                raise ValueError("down")
            return {"log": ["late"]}

        builder = package.graph.StateGraph(schema(package, frequency))
        builder.add_node("good", lambda state: {"log": ["good"]}).add_edge("__start__", "good")
        builder.add_node("bad", fail).add_edge("__start__", "bad")
        return builder.compile(checkpointer=saver)

    with writer.Saver.from_conn_string(path) as saver, pytest.raises(ValueError, match="down"):
        graph(writer, saver, True).invoke({"log": ["in"]}, CONFIG)
    with reader.Saver.from_conn_string(path) as saver:
        result = graph(reader, saver, False).invoke(None, CONFIG)
        assert sorted(result["log"]) == ["good", "in", "late"]
        assert graph(reader, saver, False).get_state(CONFIG).values == result
    with writer.Saver.from_conn_string(path) as saver:
        assert graph(writer, saver, False).get_state(CONFIG).values == result


@both_ways
@frequencies
def test_a_plain_list_becomes_a_delta_channel_and_back(
    path: str, writer: Any, reader: Any, frequency: int
) -> None:
    """DC-14: in the other package's hands, at every checkpoint."""
    log: list[Any] = []
    kinds = [None, frequency, None, frequency, frequency, None]
    for n, kind in enumerate(kinds):
        package = (writer, reader)[n % 2]
        with opened(package, path, kind) as thread:
            log += [f"turn {n}", "begin", *sorted(PARALLEL), "end"]
            assert thread.turn(f"turn {n}")["log"] == log
            expected = [values.get("log", []) for _, values in thread.values()]
        for other in (writer, reader):
            for kind in (None, frequency):
                with opened(other, path, kind) as thread:
                    assert [values.get("log", []) for _, values in thread.values()] == expected


KEY = b"0123456789abcdef"


@both_ways
@pytest.mark.parametrize("story", [overwritten, forked, in_one])
def test_what_is_encrypted(path: str, writer: Any, reader: Any, story: Any) -> None:
    """SD-30, DC-06: pieces and snapshots, read with the same key."""

    def encrypted(package: Any, saver: Any) -> Thread:
        saver.serde = package.EncryptedSerializer.from_pycryptodome_aes(key=KEY)
        return Thread(package, saver, 2)

    with writer.Saver.from_conn_string(path) as saver:
        story(encrypted(writer, saver))
        written = encrypted(writer, saver).values()
        assert b"begin" not in b"".join(
            value for (value,) in saver.conn.execute("SELECT value FROM writes")
        )
    with reader.Saver.from_conn_string(path) as saver:
        assert encrypted(reader, saver).values() == written
        result = encrypted(reader, saver).turn("more")
        assert result["log"][: len(written[0][1]["log"])] == written[0][1]["log"]
    with writer.Saver.from_conn_string(path) as saver:
        assert encrypted(writer, saver).values()[0][1] == result


@both_ways
@frequencies
@pytest.mark.parametrize("memory", [None, True], ids=["inherit", "own"])
def test_a_graph_in_a_node(
    path: str, writer: Any, reader: Any, frequency: int, memory: Any
) -> None:
    """DC-01, SB-12: it has a log of its own, in a namespace of its own; a memory is continued."""

    def graph(package: Any, saver: Any) -> Any:
        inner = package.graph.StateGraph(schema(package, frequency))
        inner.add_node("one", lambda state: {"notes": ["one"]})
        inner.add_node("two", lambda state: {"notes": [len(state["notes"])]})
        inner.add_edge("__start__", "one")
        inner.add_edge("one", "two")
        compiled = inner.compile(checkpointer=memory)
        builder = package.graph.StateGraph(schema(package, frequency))
        builder.add_node("call", lambda state: {"log": compiled.invoke({"notes": ["in"]})["notes"]})
        builder.add_edge("__start__", "call")
        return builder.compile(checkpointer=saver)

    def histories(package: Any, saver: Any) -> Any:
        everything = saver.list({"configurable": {"thread_id": "t"}})
        places = sorted({found.config["configurable"]["checkpoint_ns"] for found in everything})
        outer = graph(package, saver)
        return [
            (place, [
                (s.config["configurable"]["checkpoint_id"], s.values)
                for s in outer.get_state_history(
                    {"configurable": {"thread_id": "t", "checkpoint_ns": place}}
                )
            ])
            for place in places
            if not place or memory
        ]  # fmt: skip

    log: list[Any] = []
    for turn, package in enumerate([writer, reader, writer, reader]):
        before = 3 * turn if memory else 0
        with package.Saver.from_conn_string(path) as saver:
            log += ["go"]
            result = graph(package, saver).invoke({"log": ["go"]}, CONFIG)["log"]
            added = result[len(log) :]
            assert result[: len(log)] == log
            assert added[before:] == ["in", "one", before + 2]
            assert len(added) == before + 3
            log = result
            written = histories(package, saver)
        other = reader if package is writer else writer
        with other.Saver.from_conn_string(path) as saver:
            assert histories(other, saver) == written
