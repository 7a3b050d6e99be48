"""A store in one file."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.sqlite import SqliteStore as TheirStore

from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.store.base import PutOp
from minigraph.store.sqlite import SqliteStore, oddities


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "threads.db")


def test_it_is_there_again(path: str) -> None:
    """LM-07."""
    with SqliteStore.from_conn_string(path) as store:
        store.put(("users", "ada"), "likes", {"colour": "green"})
        item = store.get(("users", "ada"), "likes")
    with SqliteStore.from_conn_string(path) as store:
        assert store.get(("users", "ada"), "likes") == item
        assert store.search(()) == [item]


def test_what_is_stored(path: str) -> None:
    """LM-07: labels and values can be read with any tool; times are in UTC."""
    before = datetime.now(UTC)
    with SqliteStore.from_conn_string(path) as store:
        store.put(("users", "ada"), "likes", {"n": 1, "t": (1, 2)})
    conn = sqlite3.connect(path)
    ((prefix, key, value, created_at, updated_at),) = conn.execute("SELECT * FROM store")
    conn.close()
    assert (prefix, key, value) == ("users.ada", "likes", '{"n": 1, "t": [1, 2]}')
    assert before <= datetime.fromisoformat(created_at) <= datetime.now(UTC)
    assert created_at == updated_at


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"when": datetime(2026, 1, 1)}, r"\['when'\] is a datetime"),
        ({"a": [0, {"b": {1, 2}}]}, r"\['a'\]\[1\]\['b'\] is a set"),
        ({"a": b""}, r"\['a'\] is a bytes"),
        ({"a": float("nan")}, r"\['a'\] is nan"),
        ({"a": float("inf")}, r"\['a'\] is inf"),
        ({1: 2}, "it has the key 1"),
        ({"a": {None: 2}}, r"\['a'\] has the key None"),
        ({"a": Colour.RED}, r"\['a'\] is a Colour"),
    ],
)
def test_what_is_no_json(value: Any, words: str) -> None:
    """LM-07: is refused, with its place in the value; and nothing is stored."""
    with SqliteStore.from_conn_string(":memory:") as store:
        with pytest.raises(TypeError, match=rf"Item 'k' in \('a',\) cannot be stored.*{words}"):
            store.put(("a",), "k", value)
        assert store.search(()) == []


def test_what_is_json() -> None:
    """LM-07: comes back as it was, but for tuples."""
    value = {"n": None, "b": True, "i": 2**70, "f": 0.1, "s": "ü", "l": [[], {}]}
    assert list(oddities(value, "")) == []
    with SqliteStore.from_conn_string(":memory:") as store:
        store.put(("a",), "k", {**value, "t": (1, (2,))})
        found = store.get(("a",), "k")
        assert found is not None
        assert found.value == {**value, "t": [1, [2]]}


# ---------------------------------------------------------------- beside a saver


def test_in_the_file_of_a_saver(path: str) -> None:
    """LM-07: each makes its own tables, and sees nothing of the other's."""
    config: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    checkpoint: Any = {
        "v": 4,
        "id": "1",
        "ts": "",
        "channel_values": {"x": 1},
        "channel_versions": {"x": 1},
        "versions_seen": {},
        "updated_channels": None,
    }
    with SqliteSaver.from_conn_string(path) as saver, SqliteStore.from_conn_string(path) as store:
        saver.put(config, checkpoint, {"step": 1}, {"x": 1})
        store.put(("a",), "k", {"x": 2})
        saver.delete_thread("other")
        found = saver.get(config)
        assert found is not None
        assert found["channel_values"] == {"x": 1}
        assert [item.value for item in store.search(())] == [{"x": 2}]


def test_on_one_connection(path: str) -> None:
    """LM-07: a saver and two stores share it, from many threads; no transaction is torn."""
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    saver, first, second = SqliteSaver(conn), SqliteStore(conn), SqliteStore(conn)
    assert first.database.lock is second.database.lock is saver.database.lock
    other = SqliteStore(sqlite3.connect(":memory:", check_same_thread=False))
    assert other.database.lock is not first.database.lock
    config: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": "", "checkpoint_id": "1"}}

    def work(i: int) -> None:
        first.put(("a",), str(i), {"i": i})
        second.put(("b",), str(i), {"i": i})
        saver.put_writes(config, [("x", i)], f"task {i}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(60)))
    assert len(second.search(("a",), limit=100)) == len(first.search(("b",), limit=100)) == 60
    assert conn.execute("SELECT count(*) FROM writes").fetchone() == (60,)
    conn.close()
    other.database.close()


PROGRAM = """
import sys
from minigraph.store.sqlite import SqliteStore
with SqliteStore.from_conn_string(sys.argv[1]) as store:
    for i in range(25):
        store.put(("from", sys.argv[2]), str(i), {"i": i})
"""


def test_three_processes_on_one_file(path: str) -> None:
    """LM-07: nobody sees `database is locked`, and nothing is lost."""
    started = [subprocess.Popen([sys.executable, "-c", PROGRAM, path, name]) for name in "abc"]
    assert [process.wait(timeout=60) for process in started] == [0, 0, 0]
    with SqliteStore.from_conn_string(path) as store:
        assert store.list_namespaces() == [("from", "a"), ("from", "b"), ("from", "c")]
        assert len(store.search((), limit=100)) == 75


def test_a_connection_that_only_its_thread_may_use(path: str) -> None:
    """LM-07: as for the saver, another one is opened."""
    conn = sqlite3.connect(path)
    store = SqliteStore(conn)
    assert asyncio.run(store.asearch(())) == []
    conn.close()


def test_a_batch_is_one_transaction(path: str) -> None:
    """LM-07: what another process reads has all of it, or nothing."""
    with SqliteStore.from_conn_string(path) as store, SqliteStore.from_conn_string(path) as reader:
        store.setup()
        store.database.conn.execute(
            "CREATE TRIGGER no BEFORE INSERT ON store WHEN NEW.key = 'bad' "
            "BEGIN SELECT RAISE(ABORT, 'not this one'); END"
        )
        with pytest.raises(sqlite3.IntegrityError, match=r"threads\.db.*not this one"):
            store.batch([PutOp(("a",), "good", {}), PutOp(("a",), "bad", {})])
        assert reader.search(()) == []


def test_a_table_of_another_program(path: str) -> None:
    """LM-07: is not touched."""
    conn = sqlite3.connect(path)
    conn.execute("CREATE TABLE store (id INTEGER PRIMARY KEY, name TEXT)")
    conn.close()
    with (
        SqliteStore.from_conn_string(path) as store,
        pytest.raises(sqlite3.DatabaseError, match=r"threads\.db.*its table 'store' is not one"),
    ):
        store.search(())


def test_what_is_no_connection() -> None:
    """LM-07."""
    with pytest.raises(TypeError, match=r"needs a sqlite3\.Connection, not 'threads.db'"):
        SqliteStore("threads.db")  # type: ignore[arg-type]


# ---------------------------------------------------------------- files of the reference


def test_a_file_that_the_reference_has_written(path: str) -> None:
    """LM-07: can be read and written to; its times are those of SQLite, in UTC."""
    with TheirStore.from_conn_string(path) as theirs:
        theirs.setup()
        theirs.put(("users", "ada"), "likes", {"colour": "green", "ü": [1]})
    with SqliteStore.from_conn_string(path) as ours:
        (item,) = ours.search(("users",), filter={"colour": "green"})
        assert item.value == {"colour": "green", "ü": [1]}
        assert item.created_at.tzinfo is UTC
        ours.put(("users", "ada"), "likes", {"colour": "blue"})
        ours.put(("users", "bob"), "likes", {})
    with TheirStore.from_conn_string(path) as theirs:
        found = theirs.get(("users", "ada"), "likes")
        assert found is not None
        assert found.value == {"colour": "blue"}
        assert theirs.list_namespaces() == [("users", "ada"), ("users", "bob")]


def test_a_file_for_the_reference(path: str) -> None:
    """LM-07: it can be read there, once it was set up."""
    with SqliteStore.from_conn_string(path) as ours:
        ours.put(("users", "ada"), "likes", {"colour": "green"})
    with TheirStore.from_conn_string(path) as theirs:
        theirs.setup()
        (item,) = theirs.search(("users",), filter={"colour": "green"})
        assert item.value == {"colour": "green"}
        theirs.put(("users", "bob"), "likes", {"n": 1})
    with SqliteStore.from_conn_string(path) as ours:
        assert [found.value for found in ours.search(())] == [{"colour": "green"}, {"n": 1}]
