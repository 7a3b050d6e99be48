"""The tables of a file, and files whose tables are others."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.schema import TABLES, is_ready, make_ready
from minigraph.types import RunnableConfig

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}

OLDER_WRITES = TABLES["writes"].replace("task_path TEXT NOT NULL DEFAULT '',", "")


def columns(cursor: sqlite3.Cursor, table: str) -> list[tuple[Any, ...]]:
    """(name, type, not null, default, place in the key) of each column."""
    return [row[1:] for row in cursor.execute(f"PRAGMA table_info({table})")]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "threads.db")


def made(path: str, *statements: str) -> None:
    conn = sqlite3.connect(path)
    for statement in statements:
        conn.execute(statement)
    conn.commit()
    conn.close()


def test_tables(path: str) -> None:
    """SV-30: the reference's tables and columns, and no other index than the primary keys."""
    with SqliteSaver.from_conn_string(path) as saver:
        saver.setup()
        with saver.cursor(transaction=False) as cursor:
            assert columns(cursor, "checkpoints") == [
                ("thread_id", "TEXT", 1, None, 1),
                ("checkpoint_ns", "TEXT", 1, "''", 2),
                ("checkpoint_id", "TEXT", 1, None, 3),
                ("parent_checkpoint_id", "TEXT", 0, None, 0),
                ("type", "TEXT", 0, None, 0),
                ("checkpoint", "BLOB", 0, None, 0),
                ("metadata", "BLOB", 0, None, 0),
            ]
            assert columns(cursor, "writes") == [
                ("thread_id", "TEXT", 1, None, 1),
                ("checkpoint_ns", "TEXT", 1, "''", 2),
                ("checkpoint_id", "TEXT", 1, None, 3),
                ("task_id", "TEXT", 1, None, 4),
                ("task_path", "TEXT", 1, "''", 0),
                ("idx", "INTEGER", 1, None, 5),
                ("channel", "TEXT", 1, None, 0),
                ("type", "TEXT", 0, None, 0),
                ("value", "BLOB", 0, None, 0),
            ]
            names = cursor.execute("SELECT type, name FROM sqlite_master ORDER BY 1, 2").fetchall()
            assert names == [
                ("index", "sqlite_autoindex_checkpoints_1"),
                ("index", "sqlite_autoindex_writes_1"),
                ("table", "checkpoints"),
                ("table", "writes"),
            ]
            assert cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_set_up_happens_once_and_when_it_is_needed(path: str) -> None:
    """SV-31: at the first use, or when it is asked for; a second time it changes nothing."""
    with SqliteSaver.from_conn_string(path) as saver:
        assert not saver.is_setup
        assert saver.get_tuple(CONFIG) is None
        assert saver.is_setup
        saver.setup()
        with saver.cursor(transaction=False) as cursor:
            assert is_ready(cursor)


def test_an_older_file_gets_the_column_it_lacks(path: str) -> None:
    """SV-31: the writes that are in it are kept, and come first, since they have no path."""
    made(
        path,
        TABLES["checkpoints"],
        OLDER_WRITES,
        "INSERT INTO checkpoints VALUES ('t', '', '1', NULL, 'msgpack', "
        "X'81AE6368616E6E656C5F76616C75657380', '{\"step\": 1}')",
        "INSERT INTO writes VALUES ('t', '', '1', 'task 2', 0, 'x', 'null', X'')",
    )
    with SqliteSaver.from_conn_string(path) as saver:
        config: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_id": "1"}}
        saver.put_writes(config, [("x", 1)], "task 1", "~path")
        found = saver.get_tuple(config)
        assert found
        assert found.metadata == {"step": 1}
        assert found.pending_writes == [("task 2", "x", None), ("task 1", "x", 1)]


def test_columns_and_tables_of_others_do_no_harm(path: str) -> None:
    """SV-30: as long as a row can be stored without them."""
    made(
        path,
        TABLES["checkpoints"],
        "ALTER TABLE checkpoints ADD COLUMN note TEXT NOT NULL DEFAULT 'none'",
        "CREATE TABLE customers (id INTEGER PRIMARY KEY)",
        "PRAGMA user_version = 7",
    )
    with SqliteSaver.from_conn_string(path) as saver:
        saver.setup()
        saver.put_writes(
            {"configurable": {"thread_id": "t", "checkpoint_id": "1"}}, [("x", 1)], "task"
        )
        with saver.cursor(transaction=False) as cursor:
            assert cursor.execute("PRAGMA user_version").fetchone() == (7,)


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("checkpoints", "CREATE TABLE checkpoints (id INTEGER PRIMARY KEY, data BLOB)"),
        ("writes", "CREATE TABLE writes (thread_id TEXT, value BLOB)"),
        ("checkpoints", TABLES["checkpoints"].replace("type TEXT", "type TEXT, v INT NOT NULL")),
        ("writes", TABLES["writes"].replace("task_id, idx)", "task_id, task_path, idx)")),
        ("writes", TABLES["writes"].replace("channel TEXT NOT NULL,", "")),
    ],
    ids=[
        "another program's",
        "other columns",
        "one that must be filled",
        "another key",
        "one less",
    ],
)
def test_tables_of_another_kind_are_left_alone(path: str, table: str, statement: str) -> None:
    """SV-30: the error names the file and the table, and what is expected; nothing is changed."""
    made(path, statement)
    with SqliteSaver.from_conn_string(path) as saver:
        expected = rf"{re.escape(repr(path))}.*table '{table}' is not of a version.*expected are"
        for call in (saver.setup, lambda: saver.get_tuple(CONFIG)):
            with pytest.raises(sqlite3.DatabaseError, match=expected):
                call()
        assert not saver.is_setup
    conn = sqlite3.connect(path)
    assert conn.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone() == (
        1,
    )
    conn.close()


def test_make_ready_takes_what_is_there() -> None:
    """SV-31: called again, by another process that was as quick, it changes nothing."""
    conn = sqlite3.connect(":memory:")
    cursor = conn.cursor()
    for _ in range(2):
        make_ready(cursor)
        assert is_ready(cursor)
    conn.close()
