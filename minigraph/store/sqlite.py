"""A store in one file, which is there again after the process has died.

    with SqliteStore.from_conn_string("threads.db") as store:
        graph = builder.compile(checkpointer=saver, store=store)

The file may be the one in which a saver keeps threads. It is written as safely as that, by the same
means: see `minigraph.checkpoint.sqlite.database`. There is one more table:

    store   prefix, key │ value, created_at, updated_at
            ─── key ─── │
            "users.ada"   {"colour": "green"}        the labels joined by dots, the value as JSON

Its name and columns are the reference's, so that each package opens the other's files. Columns
that the reference adds, for what this store does not do, are left alone.

What SQL can do well is done by it: finding namespaces, and cutting a list short. Whether a value
fits a filter is decided in Python, by the function that decides it for every store.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from math import isfinite
from typing import Any, Final, Self

from minigraph.checkpoint.sqlite.database import READ, WRITE, Database, connect
from minigraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Namespace,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
    check_op,
    fits,
    listed,
)

__all__ = ["SqliteStore"]

TABLE: Final = """
    CREATE TABLE IF NOT EXISTS store (
        prefix TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        PRIMARY KEY (prefix, key)
    )
"""
COLUMNS: Final = ("prefix", "key", "value", "created_at", "updated_at")

GET: Final = "SELECT value, created_at, updated_at FROM store WHERE prefix = ? AND key = ?"

# An update leaves a row where it is, so a row's number says when its item was first put.
PUT: Final = """
    INSERT INTO store (prefix, key, value, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (prefix, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
"""
DELETE: Final = "DELETE FROM store WHERE prefix = ? AND key = ?"

SEARCH: Final = """
    SELECT prefix, key, value, created_at, updated_at FROM store {where}
    ORDER BY min(rowid) OVER (PARTITION BY prefix), rowid LIMIT :limit OFFSET :offset
"""
# All that begins with "users." lies between that and "users/": the slash comes after the dot.
BELOW: Final = "WHERE prefix = :prefix OR (prefix > :prefix || '.' AND prefix < :prefix || '/')"
NAMESPACES: Final = "SELECT DISTINCT prefix FROM store"

ALL: Final = -1  # as a LIMIT


class SqliteStore(BaseStore):
    """Keeps items in a SQLite database, also in the one of a `SqliteSaver` (LM-07).

    Args:
        conn: a connection, as for `SqliteSaver`, and it may be the same. `from_conn_string` makes
            one that suits.

    Several threads may use one store at the same time, and several processes one file. When `put`
    returns, what was stored is on the disk. A batch is one transaction.

    Values are JSON: dicts with texts as keys, lists, texts, numbers, booleans and None; tuples come
    back as lists. Anything else is a `TypeError`, before anything is stored.

    >>> with SqliteStore.from_conn_string(":memory:") as store:
    ...     store.put(("users", "ada"), "likes", {"colour": "green"})
    ...     [item.value for item in store.search(("users",))]
    [{'colour': 'green'}]
    """

    def __init__(self, conn: sqlite3.Connection) -> None:
        self.database = Database(conn, is_ready=is_ready, make_ready=make_ready)

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str) -> Iterator[Self]:
        """A store on a file, for a ``with`` block; the connection is closed at its end.

        Args:
            conn_string: the path. It is made if it is not there. ``":memory:"`` for none.
        """
        store = cls(connect(conn_string))
        try:
            yield store
        finally:
            store.database.close()

    def setup(self) -> None:
        """Make the table. It is made anyway, before it is first used."""
        self.database.set_up()

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        given = list(ops)
        for op in given:
            check_op(op, self)
        # The last write to an item decides.
        writes = {(joined(o.namespace), o.key): as_json(o) for o in given if isinstance(o, PutOp)}
        now = datetime.now(UTC).isoformat(" ")
        with self.database.transaction(WRITE if writes else READ) as cursor:
            results = [None if isinstance(op, PutOp) else read(cursor, op) for op in given]
            for (prefix, key), text in writes.items():
                if text is None:
                    cursor.execute(DELETE, (prefix, key))
                else:
                    cursor.execute(PUT, (prefix, key, text, now, now))
        return results


# ---------------------------------------------------------------- reading


def read(cursor: sqlite3.Cursor, op: GetOp | SearchOp | ListNamespacesOp) -> Any:
    if isinstance(op, GetOp):
        row = cursor.execute(GET, (joined(op.namespace), op.key)).fetchone()
        if row is None:
            return None
        value, created_at, updated_at = row
        return Item(
            value=json.loads(value),
            key=op.key,
            namespace=op.namespace,
            created_at=as_utc(created_at),
            updated_at=as_utc(updated_at),
        )
    if isinstance(op, ListNamespacesOp):
        return listed(op, (apart(prefix) for (prefix,) in cursor.execute(NAMESPACES).fetchall()))
    all_fit = not op.filter
    rows = cursor.execute(
        SEARCH.format(where=BELOW if op.namespace_prefix else ""),
        {
            "prefix": joined(op.namespace_prefix),
            "limit": op.limit if all_fit else ALL,
            "offset": op.offset if all_fit else 0,
        },
    )
    found = (
        SearchItem(apart(prefix), key, value, as_utc(created_at), as_utc(updated_at))
        for prefix, key, text, created_at, updated_at in rows
        if fits(value := json.loads(text), op.filter)
    )
    return list(found if all_fit else islice(found, op.offset, op.offset + op.limit))


def joined(namespace: Namespace) -> str:
    """A namespace as it is stored. No label has a dot in it.

    >>> joined(("users", "ada")), apart("users.ada")
    ('users.ada', ('users', 'ada'))
    """
    return ".".join(namespace)


def apart(prefix: str) -> Namespace:
    return tuple(prefix.split("."))


def as_utc(text: str) -> datetime:
    """A time as it is stored. Where SQLite made it, it does not say that it is in UTC.

    >>> as_utc("2026-01-01 12:00:00").isoformat()
    '2026-01-01T12:00:00+00:00'
    """
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


# ---------------------------------------------------------------- writing


def as_json(op: PutOp) -> str | None:
    """What is stored of a write; None if it removes the item.

    Raises `TypeError` for a value that would come back as another one.
    """
    if op.value is None:
        return None
    value = dict(op.value)
    odd = next(oddities(value, ""), None)
    if odd is not None:
        raise TypeError(
            f"Item {op.key!r} in {op.namespace} cannot be stored as JSON: {odd}. Turn it into "
            "text, numbers, lists or dicts."
        )
    return json.dumps(value)


def oddities(value: Any, path: str) -> Iterator[str]:
    """What in a value is no JSON, and where.

    >>> list(oddities({"a": [1, {2}], "b": {3: None}}, ""))
    ["['a'][1] is a set", "['b'] has the key 3"]
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str):
                yield from oddities(inner, f"{path}[{key!r}]")
            else:
                yield f"{path or 'it'} has the key {key!r}"
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from oddities(inner, f"{path}[{index}]")
    elif isinstance(value, float) and not isfinite(value):
        yield f"{path} is {value}"
    elif not isinstance(value, (str, int, float, bool, type(None))):
        yield f"{path} is a {type(value).__name__}"


# ---------------------------------------------------------------- the table


def is_ready(cursor: sqlite3.Cursor) -> bool:
    """Whether the table is there. Raises `sqlite3.DatabaseError` if it is another program's."""
    rows = cursor.execute("PRAGMA table_info(store)").fetchall()
    if not rows:
        return False
    found = {name: needed and default is None for _, name, _, needed, default, _ in rows}
    key = [name for _, name in sorted((row[5], row[1]) for row in rows if row[5])]
    foreign = [name for name, is_needed in found.items() if is_needed and name not in COLUMNS]
    if not found.keys() >= set(COLUMNS) or foreign or key != ["prefix", "key"]:
        raise sqlite3.DatabaseError(
            f"its table 'store' is not one that this store knows. It has the columns {list(found)} "
            f"with the key {key}; expected are {list(COLUMNS)} with the key ['prefix', 'key']"
        )
    return True


def make_ready(cursor: sqlite3.Cursor) -> None:
    """Make the table. To be called in a transaction."""
    is_ready(cursor)
    cursor.execute(TABLE)
