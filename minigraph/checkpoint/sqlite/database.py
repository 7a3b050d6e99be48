"""One connection for many threads, and many processes on one file.

SQLite lets one process write at a time, and the others wait. What makes that work without
anybody ever seeing ``database is locked``:

    write-ahead log     a reader sees the file as it was when it began, and holds up no writer
    BEGIN IMMEDIATE     who will write says so at once. Who begins by reading and then writes
                        is refused, without any waiting, if somebody else wrote in between
    a long patience     of a minute, where the default is five seconds
    short transactions  none is left open while a caller does something else, so no reader of
                        a long list is in anybody's way

In this process there is one connection, and a lock that is held for one transaction. A saver and a
store may have one connection each, or share one, and its lock.

A commit is safe when it returns: SQLite has then asked the disk to keep it
(``synchronous=FULL``). That is most of what a small checkpoint costs.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from minigraph.checkpoint.sqlite.schema import is_ready, make_ready

__all__ = ["AS_STORED", "Database", "connect", "explained", "rows_of"]

PATIENCE: Final = 60.0
"""Seconds to wait for other processes."""

PYTHONS_PATIENCE: Final = 5000
"""Milliseconds that Python waits unless it is told otherwise."""

LOCKS: Final = weakref.WeakValueDictionary[int, Any]()
"""By the id of a connection, the lock of all who share it: a saver and a store may. Whoever has the
lock keeps the connection, so no other one can have that id meanwhile."""

READ: Final = "BEGIN"
WRITE: Final = "BEGIN IMMEDIATE"

AS_STORED: Final = partial(str, encoding="utf-8", errors="surrogateescape")
"""How text is read where some of it is damaged: what is not UTF-8, in half characters. Then it is
seen, and named, by whoever reads the row, instead of ending the statement that comes upon it."""

REMEDIES: Final = {
    "SQLITE_CANTOPEN": "Its folder must exist, and be one that this process may write to.",
    "SQLITE_READONLY": "This process may read the file, but not write to it.",
    "SQLITE_NOTADB": "This is another kind of file. Nothing was changed in it.",
    "SQLITE_BUSY": "Another process has kept it locked all the time that this one waited.",
    "SQLITE_CORRUPT": "The file is damaged. The command `sqlite3 FILE .recover` saves what can be.",
    "SQLITE_FULL": "There is no space left.",
}


def connect(path: str) -> sqlite3.Connection:
    """A connection for `Database`. ``":memory:"`` is a database that nobody else can see.

    Raises `sqlite3.DatabaseError`, naming the path, if there is no such folder, or something else
    than a database.
    """
    try:
        # Without an isolation level, Python begins no transactions of its own.
        conn = sqlite3.connect(
            path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            conn.execute("PRAGMA synchronous=FULL")
        except BaseException:
            conn.close()
            raise
    except sqlite3.Error as error:
        raise explained(error, os.fspath(path)) from error
    return conn


class Database:
    """A connection that every thread may use, in one transaction after the other.

    Args:
        conn: the connection. It may also be the caller's own, with other settings; those that
            concern others are left as they are. One that only the thread that opened it may
            use is not used, but another one to the same file.
        is_ready, make_ready: look whether the tables are there, and make them; see `schema`.

    Attributes:
        conn: the connection that is used.
        file: its file, ``""`` if there is none.
        is_setup: whether the tables have been seen to.
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        *,
        is_ready: Callable[[sqlite3.Cursor], bool] = is_ready,
        make_ready: Callable[[sqlite3.Cursor], None] = make_ready,
    ) -> None:
        if not isinstance(conn, sqlite3.Connection):
            raise TypeError(
                f"A database on SQLite needs a sqlite3.Connection, not {conn!r}. "
                "from_conn_string(path) opens one."
            )
        self.is_ready = is_ready
        self.make_ready = make_ready
        self.is_setup = False
        try:
            with plain_cursor(conn) as cursor:
                self.file: str = cursor.execute("PRAGMA database_list").fetchall()[0][2] or ""
                if self.file and not _any_thread_may_use(conn):
                    conn = connect(self.file)
                    weakref.finalize(self, conn.close)
                elif cursor.execute("PRAGMA busy_timeout").fetchone()[0] == PYTHONS_PATIENCE:
                    cursor.execute(f"PRAGMA busy_timeout={int(PATIENCE * 1000)}")
        except sqlite3.Error as error:
            raise explained(error, "") from error
        self.conn = conn
        self.lock = LOCKS.setdefault(id(conn), threading.Lock())

    @contextmanager
    def transaction(self, begin: str = READ) -> Iterator[sqlite3.Cursor]:
        """A cursor in a transaction, which is over at the end of the block: all of it or nothing.

        Raises what `sqlite3` raises, saying which file it is about and what to do.
        """
        with self.lock:
            try:
                if not self.is_setup:
                    self._set_up()
                with plain_cursor(self.conn) as cursor:
                    try:
                        if not self.conn.in_transaction:
                            cursor.execute(begin)
                        yield cursor
                        cursor.execute("COMMIT")
                    except BaseException:
                        if self.conn.in_transaction:
                            cursor.execute("ROLLBACK")
                        raise
            except sqlite3.Error as error:
                raise explained(error, self.file) from error

    def set_up(self) -> None:
        """See to the tables, if that has not been done (SV-31)."""
        with self.lock:
            try:
                if not self.is_setup:
                    self._set_up()
            except sqlite3.Error as error:
                raise explained(error, self.file) from error

    def close(self) -> None:
        """Close the connection when nobody is in the middle of something."""
        with self.lock:
            self.conn.close()

    def _set_up(self) -> None:
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                with plain_cursor(self.conn) as cursor:
                    self._prepare(cursor)
                break
            except sqlite3.OperationalError as error:
                # Several processes open a new file at once. SQLite does not wait for the lock
                # that it takes for changing the journal's mode; so we do.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.01)
        self.is_setup = True

    def _prepare(self, cursor: sqlite3.Cursor) -> None:
        ready = self.is_ready(cursor)
        (mode,) = cursor.execute("PRAGMA journal_mode").fetchone()
        if ready and mode in ("wal", "memory"):
            return
        if self.conn.in_transaction:  # the caller's own, and the mode cannot be changed in one
            cursor.execute("COMMIT")
        try:
            cursor.execute("PRAGMA journal_mode=WAL").fetchone()
        except sqlite3.OperationalError as error:
            if ready and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY:
                return  # good enough for reading
            raise
        if not ready:
            cursor.execute(WRITE)
            try:
                self.make_ready(cursor)
                cursor.execute("COMMIT")
            except BaseException:
                if self.conn.in_transaction:
                    cursor.execute("ROLLBACK")
                raise


@contextmanager
def plain_cursor(conn: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    """A cursor that gives rows and texts as we expect them, whatever the owner expects."""
    cursor = conn.cursor()
    cursor.row_factory = None
    before = conn.text_factory
    conn.text_factory = str
    try:
        yield cursor
    finally:
        conn.text_factory = before


def rows_of(
    cursor: sqlite3.Cursor, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()
) -> list[Any]:
    """All rows that a statement finds, also damaged ones (`AS_STORED`)."""
    try:
        return cursor.execute(statement, values).fetchall()
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
    conn = cursor.connection
    conn.text_factory = AS_STORED
    try:
        return cursor.execute(statement, values).fetchall()
    finally:
        conn.text_factory = str


def _any_thread_may_use(conn: sqlite3.Connection) -> bool:
    """Whether `conn` was opened with ``check_same_thread=False``, and without one transaction
    that is always open. Only another thread can find that out."""
    refused: list[Exception] = []

    def attempt() -> None:
        try:
            conn.cursor()
        except sqlite3.ProgrammingError as error:
            refused.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return not refused and getattr(conn, "autocommit", None) is not False


def explained(error: sqlite3.Error, file: str) -> sqlite3.Error:
    """The same error, with the file in it and what to do about it.

    >>> explained(sqlite3.ProgrammingError("Cannot operate on a closed database."), "a.db")
    ProgrammingError("SQLite database 'a.db': Cannot operate on a closed database. Use it \
inside of its with-block.")
    """
    code: int = getattr(error, "sqlite_errorcode", 0)
    name: str = getattr(error, "sqlite_errorname", "")
    text = str(error).rstrip(".")
    remedy = next((REMEDIES[kind] for kind in REMEDIES if name.startswith(kind)), "")
    if isinstance(error, sqlite3.ProgrammingError):
        if "closed" in text:
            remedy = "Use it inside of its with-block."
        elif "same thread" in text:
            remedy = "Open it with sqlite3.connect(path, check_same_thread=False): a graph "
            remedy += "stores its checkpoints from several threads."
    where = f"SQLite database {file!r}" if file else "SQLite database in memory"
    new = type(error)(f"{where}: {text}. {remedy}".rstrip())
    if code:
        new.sqlite_errorcode, new.sqlite_errorname = code, name
    return new
