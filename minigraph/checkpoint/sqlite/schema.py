"""The two tables, and how a file comes to have them.

    checkpoints   thread_id, checkpoint_ns, checkpoint_id  │ parent_checkpoint_id,
                  ────────────── key ───────────────────── │ type, checkpoint, metadata

    writes        thread_id, checkpoint_ns, checkpoint_id, │ task_path, channel,
                  task_id, idx                             │ type, value
                  ────────────── key ───────────────────── │

A checkpoint is one row: all of its values are in one run of bytes, with the serializer's tag
beside it. So a row needs no other row, and is written by one statement. (In memory values
are stored by version, once; there nothing is gained by reading one thing instead of many.)

The names and columns are the reference's, so that each package opens the other's files. Nothing
else tells which version of the tables a file has: the columns that are there are looked at.
Other tables, and columns that somebody has added, are none of our business, as long as a
row can be stored without filling them in.
"""

from __future__ import annotations

import sqlite3
from typing import Final

__all__ = ["TABLES", "is_ready", "make_ready"]

TABLES: Final = {
    "checkpoints": """
        CREATE TABLE IF NOT EXISTS checkpoints (
            thread_id TEXT NOT NULL,
            checkpoint_ns TEXT NOT NULL DEFAULT '',
            checkpoint_id TEXT NOT NULL,
            parent_checkpoint_id TEXT,
            type TEXT,
            checkpoint BLOB,
            metadata BLOB,
            PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
        )
    """,
    "writes": """
        CREATE TABLE IF NOT EXISTS writes (
            thread_id TEXT NOT NULL,
            checkpoint_ns TEXT NOT NULL DEFAULT '',
            checkpoint_id TEXT NOT NULL,
            task_id TEXT NOT NULL,
            task_path TEXT NOT NULL DEFAULT '',
            idx INTEGER NOT NULL,
            channel TEXT NOT NULL,
            type TEXT,
            value BLOB,
            PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
        )
    """,
}
"""Table → the statement that makes it. The primary keys serve every query there is, so there is
no other index (SV-30)."""

OLDER: Final = "ALTER TABLE writes ADD COLUMN task_path TEXT NOT NULL DEFAULT ''"
"""What a file lacks that was made before tasks had paths (SV-31)."""


def is_ready(cursor: sqlite3.Cursor) -> bool:
    """Whether rows can be stored and read as the tables are. Writes nothing.

    Raises `sqlite3.DatabaseError` for tables that are of some other kind.

    >>> cursor = sqlite3.connect(":memory:").cursor()
    >>> is_ready(cursor)
    False
    >>> make_ready(cursor)
    >>> is_ready(cursor)
    True
    """
    return all(_missing_columns(cursor, table) == [] for table in TABLES)


def make_ready(cursor: sqlite3.Cursor) -> None:
    """Make the tables, or bring older ones up to date. To be called in a transaction.

    Raises `sqlite3.DatabaseError` for tables that are of some other kind: they may be another
    program's, and are not touched.
    """
    for table, statement in TABLES.items():
        if _missing_columns(cursor, table) == ["task_path"]:
            cursor.execute(OLDER)
        cursor.execute(statement)


def _missing_columns(cursor: sqlite3.Cursor, table: str) -> list[str] | None:
    """Columns that a table lacks; ``None`` if there is no such table."""
    rows = cursor.execute(f"PRAGMA table_info({table})").fetchall()
    if not rows:
        return None
    found = {name: needed and default is None for _, name, _, needed, default, _ in rows}
    expected = COLUMNS[table]
    missing = [name for name in expected if name not in found]
    foreign = [name for name, is_needed in found.items() if is_needed and name not in expected]
    key = [name for _, name in sorted((row[5], row[1]) for row in rows if row[5])]
    if foreign or missing not in ([], ["task_path"]) or key != KEYS[table]:
        raise sqlite3.DatabaseError(
            f"its table {table!r} is not of a version that this saver knows. It has the columns "
            f"{list(found)} with the key {key}; expected are {expected} with the key {KEYS[table]}"
        )
    return missing


def _known() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The columns and the key of each table, as SQLite understands the statements above."""
    columns, keys = {}, {}
    conn = sqlite3.connect(":memory:")
    for table, statement in TABLES.items():
        conn.execute(statement)
        rows = conn.execute(f"PRAGMA table_info({table})").fetchall()
        columns[table] = [row[1] for row in rows]
        keys[table] = [name for _, name in sorted((row[5], row[1]) for row in rows if row[5])]
    conn.close()
    return columns, keys


COLUMNS, KEYS = _known()
