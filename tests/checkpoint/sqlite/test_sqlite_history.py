"""Pieces from a file: in how many statements, and what happens where rows are damaged.

What every saver has to find is in test_histories.py.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minigraph.checkpoint.base.history import COUNTERS
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.database import connect


def at(n: int | None = None) -> Any:
    place = {"thread_id": "t", "checkpoint_ns": ""}
    return {"configurable": place if n is None else {**place, "checkpoint_id": f"{n:05}"}}


def put(saver: Any, n: int, values: Any = None, writes: Any = None, names: str = "ab") -> None:
    """Checkpoint n on n - 1, with a value for the first at 1; and a write to each."""
    values = values if values is not None else {"a": "seed", "b": "seed"} if n == 1 else {}
    counted = {name: [1, 1] for name in names if name not in values}
    checkpoint: Any = {
        "v": 4,
        "id": f"{n:05}",
        "ts": "",
        "channel_values": {"big": "x" * 100, **values},
        "channel_versions": dict.fromkeys([*names, "big"], n),
        "versions_seen": {},
        "updated_channels": None,
    }
    saver.put(at(n - 1) if n > 1 else at(), checkpoint, {COUNTERS: counted} if counted else {}, {})
    saver.put_writes(at(n), writes or [(name, n) for name in names], f"task {n}")


class Counting(JsonPlusSerializer):
    """Counts what is decoded."""

    loads = 0

    def loads_typed(self, data: Any) -> Any:
        self.loads += 1
        return super().loads_typed(data)


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    opened = connect(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def saver(conn: sqlite3.Connection) -> SqliteSaver:
    return SqliteSaver(conn)


def execute(saver: SqliteSaver, statement: str, *values: Any) -> None:
    with saver.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount == 1


def history(saver: SqliteSaver, n: int | None, *channels: str) -> Any:
    return saver.get_delta_channel_history(config=at(n), channels=[*channels])


def test_three_statements(conn: sqlite3.Connection, saver: SqliteSaver) -> None:
    """DC-15: however many ancestors there are: the way, the checkpoint with the seeds, the writes;
    around them one transaction, and for the latest its id. The base class asks for each."""
    for n in range(1, 102):
        put(saver, n)
    statements: list[str] = []

    def count(n: int | None, *channels: str, way: Any = SqliteSaver) -> list[str]:
        statements.clear()
        conn.set_trace_callback(statements.append)
        way.get_delta_channel_history(saver, config=at(n), channels=[*channels])
        conn.set_trace_callback(None)
        return [statement.split()[0] for statement in statements]

    expected = ["BEGIN", "WITH", "SELECT", "WITH", "COMMIT"]
    for n in (2, 3, 10, 101):
        assert count(n, "a", "b") == expected
        assert len(history(saver, n, "a")["a"]["writes"]) == n - 1
    assert count(None, "a") == ["BEGIN", "SELECT", *expected[1:]]
    assert count(1, "a") == ["BEGIN", "WITH", "WITH", "COMMIT"]
    assert count(101) == []
    assert len(count(101, "a", way=BaseCheckpointSaver)) == 4 * 101


def test_what_is_decoded(conn: sqlite3.Connection) -> None:
    """DC-15: the writes to these channels, and of the checkpoints only the one with the seed; not
    what is beside and behind."""
    saver = SqliteSaver(conn, serde=Counting())
    for n in range(1, 21):
        put(saver, n, {"a": "seed"} if n in (1, 5) else None)
    serde: Any = saver.serde
    serde.loads = 0

    assert len(history(saver, 20, "a")["a"]["writes"]) == 15
    assert serde.loads == 15 + 1
    serde.loads = 0
    known = {"00018": {"a": "known"}}
    found = saver.get_delta_channel_history(config=at(20), channels=["a"], known=known)
    assert found == {"a": {"seed": "known", "writes": [("task 18", "a", 18), ("task 19", "a", 19)]}}
    assert serde.loads == 2


def test_a_checkpoint_that_counts_nothing_is_looked_into(saver: SqliteSaver) -> None:
    """DC-14: it may be of a time when the field was of another kind, and hold its value."""
    for n in (1, 2, 3):
        put(saver, n, {"a": f"A{n}"} if n == 2 else {})
    assert history(saver, 3, "a")["a"] == {"seed": "A2", "writes": [("task 2", "a", 2)]}
    execute(saver, "UPDATE checkpoints SET metadata = NULL WHERE checkpoint_id = '00002'")
    assert history(saver, 3, "a")["a"]["seed"] == "A2"


def test_a_write_that_is_damaged(tmp_path: Path) -> None:
    """SD-14, DC-15: which it is, and on the way to which checkpoint of which file. One to another
    channel, or beside the checkpoint itself, is in nobody's way."""
    path = str(tmp_path / "threads.db")
    saver = SqliteSaver(connect(path))
    for n in (1, 2, 3):
        put(saver, n)
    damage = "UPDATE writes SET value = X'C1' WHERE checkpoint_id = ? AND channel = ?"
    execute(saver, damage, "00002", "b")
    execute(saver, damage, "00003", "a")

    assert history(saver, 3, "a")["a"]["writes"] == [("task 1", "a", 1), ("task 2", "a", 2)]
    for _ in range(2):  # and what failed leaves nothing behind
        with pytest.raises(UnreadableError) as caught:
            history(saver, 3, "a", "b")
        place = f"('t', '', '00003') in {path!r}"
        assert caught.value.__notes__ == [
            (
                "This happened while reading a write to 'b' of task 'task 2', on the way to "
                f"checkpoint {place}."
            )
        ]
    put(saver, 4)
    saver.database.close()


def test_a_checkpoint_that_is_damaged(saver: SqliteSaver) -> None:
    """SD-14, DC-15: one that holds a seed is missed. One that holds none is not looked at."""
    for n in (1, 2, 3):
        put(saver, n)
    damage = "UPDATE checkpoints SET checkpoint = X'C1' WHERE checkpoint_id = ?"
    execute(saver, damage, "00002")
    assert history(saver, 3, "a")["a"]["seed"] == "seed"
    execute(saver, damage, "00001")
    with pytest.raises(UnreadableError, match="damaged") as caught:
        history(saver, 3, "a")
    assert caught.value.__notes__[-1] == "The row is ('t', '', '00001')."


@pytest.mark.parametrize("metadata", [b"{", b"[]", 5, b"\xff"])
def test_metadata_that_is_damaged(saver: SqliteSaver, metadata: Any) -> None:
    """SD-14, DC-15: it cannot be told what is there."""
    for n in (1, 2, 3):
        put(saver, n)
    execute(saver, "UPDATE checkpoints SET metadata = ? WHERE checkpoint_id = '00002'", metadata)
    with pytest.raises(UnreadableError, match="The stored metadata is damaged") as caught:
        history(saver, 3, "a")
    assert caught.value.__notes__[-1] == "The row is ('t', '', '00002')."
    assert history(saver, 2, "a")["a"]["seed"] == "seed"  # its own is not asked


def test_text_that_is_no_text(saver: SqliteSaver) -> None:
    """SD-14, DC-15: an id that is not UTF-8 names nobody, and a statement does not end at it."""
    for n in (1, 2, 3):
        put(saver, n)
    statement = "UPDATE writes SET task_id = CAST(X'FF' AS TEXT) WHERE checkpoint_id = '00001'"
    execute(saver, f"{statement} AND channel = 'a'")
    found = history(saver, 2, "a", "b")
    assert [write[2] for each in found.values() for write in each["writes"]] == [1, 1]
    statement = "UPDATE checkpoints SET parent_checkpoint_id = CAST(X'FF' AS TEXT) WHERE"
    execute(saver, f"{statement} checkpoint_id = '00002'")
    with pytest.raises(UnreadableError, match="by that id nothing is found"):
        history(saver, 3, "a")
    assert saver.conn.text_factory is str


@pytest.mark.parametrize(
    "factory", [sqlite3.Row, lambda cursor, row: dict(enumerate(row)), lambda cursor, row: None]
)
def test_rows_of_another_kind(conn: sqlite3.Connection, factory: Any) -> None:
    """SV-30: the owner of the connection may want rows, and texts, of his own kind."""
    conn.row_factory = factory
    conn.text_factory = bytes
    saver = SqliteSaver(conn)
    for n in (1, 2, 3):
        put(saver, n)

    assert history(saver, None, "a")["a"] == {
        "seed": "seed",
        "writes": [("task 1", "a", 1), ("task 2", "a", 2)],
    }
    assert (conn.row_factory, conn.text_factory) == (factory, bytes)


def test_as_it_was_when_it_began(tmp_path: Path) -> None:
    """DC-15: it is read in one transaction. What another process removes then is still there."""
    path = str(tmp_path / "threads.db")

    class Slow(JsonPlusSerializer):
        """While it decodes, another process removes everything."""

        def loads_typed(self, data: Any) -> Any:
            with SqliteSaver.from_conn_string(path) as other:
                other.delete_thread("t")
            return super().loads_typed(data)

    saver = SqliteSaver(connect(path), serde=Slow())
    for n in (1, 2, 3):
        put(saver, n)
    assert history(saver, 3, "a")["a"] == {
        "seed": "seed",
        "writes": [("task 1", "a", 1), ("task 2", "a", 2)],
    }
    with pytest.raises(UnreadableError, match="'00003' is asked for"):
        history(saver, 3, "a")
    saver.database.close()


def test_counters_in_a_file_are_json(conn: sqlite3.Connection, saver: SqliteSaver) -> None:
    """DC-07, SV-32: other tools can read them."""
    put(saver, 2)
    ((stored,),) = conn.execute("SELECT metadata FROM checkpoints").fetchall()
    assert json.loads(stored) == {COUNTERS: {"a": [1, 1], "b": [1, 1]}}
