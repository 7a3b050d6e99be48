"""One connection for many threads, and errors that say which file they are about."""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import re
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.database import Database, connect
from minigraph.types import RunnableConfig


def at(n: int | None = None, thread: str = "t") -> RunnableConfig:
    configurable = {"thread_id": thread, "checkpoint_ns": ""}
    return {
        "configurable": configurable if n is None else {**configurable, "checkpoint_id": str(n)}
    }


def put(saver: SqliteSaver, n: int = 1, thread: str = "t") -> None:
    checkpoint: Any = {"id": str(n), "channel_values": {"x": n}, "channel_versions": {"x": n}}
    saver.put(at(None, thread), checkpoint, {"step": n}, {})


def in_a_thread(function: Callable[[], object]) -> list[BaseException]:
    """Call it in a thread of its own; what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "threads.db")


@pytest.fixture
def saver(path: str) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(path) as opened:
        yield opened


# ------------------------------------------------------------------ connections


def test_a_connection_is_closed_with_its_block(path: str) -> None:
    """SV-31: and the error of whoever uses it later says so."""
    with SqliteSaver.from_conn_string(path) as saver:
        put(saver)
    with pytest.raises(sqlite3.ProgrammingError, match=r"closed database\. Use it inside"):
        saver.get(at())
    with pytest.raises(sqlite3.ProgrammingError):
        saver.conn.cursor()
    with SqliteSaver.from_conn_string(path) as saver:
        assert saver.get(at())


def test_commits_reach_the_disk(saver: SqliteSaver) -> None:
    """SV-31: the write-ahead log is on the disk when a commit returns (FULL is 2)."""
    put(saver)
    assert saver.conn.execute("PRAGMA synchronous").fetchone() == (2,)
    assert saver.conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)


SETTINGS: dict[str, dict[str, Any]] = {
    "as documented": {"check_same_thread": False},
    "no transactions of its own": {"check_same_thread": False, "isolation_level": None},
    "immediate": {"check_same_thread": False, "isolation_level": "IMMEDIATE"},
    "one thread only": {},
}
if sys.version_info >= (3, 12):
    for autocommit in (True, False):
        SETTINGS[f"autocommit={autocommit}"] = {
            "check_same_thread": False,
            "autocommit": autocommit,
        }


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_connection_of_ones_own(path: str, settings: dict[str, Any]) -> None:
    """SV-36: with whatever settings, from whatever thread; everything is committed."""
    conn = sqlite3.connect(path, **settings)
    conn.row_factory = sqlite3.Row
    saver = SqliteSaver(conn)
    put(saver, 1)
    assert in_a_thread(partial(put, saver, 2)) == []
    saver.put_writes(at(2), [("x", 1), ("y", 2)], "task")
    assert [found.metadata["step"] for found in saver.list(at())] == [2, 1]
    with SqliteSaver.from_conn_string(path) as other:
        found = other.get_tuple(at())
        assert found
        assert found.pending_writes == [("task", "x", 1), ("task", "y", 2)]
    assert conn.execute("SELECT count(*) FROM checkpoints").fetchone()[0] == 2
    del saver
    gc.collect()
    conn.close()


def test_a_connection_that_can_be_shared_is_used_itself(path: str) -> None:
    """SV-31: so is one to memory, which nobody could open a second time."""
    shared = sqlite3.connect(path, check_same_thread=False)
    assert SqliteSaver(shared).conn is shared
    shared.close()
    in_memory = sqlite3.connect(":memory:")
    assert SqliteSaver(in_memory).conn is in_memory
    in_memory.close()


def test_memory_that_only_one_thread_may_use() -> None:
    """SV-36: works on that thread; on another, the error says how to open it."""
    conn = sqlite3.connect(":memory:")
    saver = SqliteSaver(conn)
    put(saver)
    assert saver.get(at())
    (error,) = in_a_thread(lambda: saver.get(at()))
    assert isinstance(error, sqlite3.ProgrammingError)
    assert "check_same_thread=False" in str(error)
    assert saver.get(at())
    conn.close()


def test_what_the_caller_has_not_committed_yet(path: str) -> None:
    """SV-36: is committed with what is stored; there is one transaction on a connection."""
    conn = sqlite3.connect(path, check_same_thread=False)
    conn.execute("CREATE TABLE notes (text)")
    saver = SqliteSaver(conn)
    for n in (1, 2):
        conn.execute("INSERT INTO notes VALUES ('x')")
        assert conn.in_transaction
        put(saver, n)
        assert not conn.in_transaction
    conn.close()
    conn = sqlite3.connect(path)
    assert conn.execute("SELECT count(*) FROM notes").fetchone() == (2,)
    conn.close()


def test_patience(path: str) -> None:
    """SV-31: a minute; a connection of one's own keeps a timeout that is not Python's default."""
    for settings, milliseconds in [
        ({}, 60_000),
        ({"timeout": 0.5}, 500),
        ({"timeout": 90}, 90_000),
    ]:
        conn = sqlite3.connect(path, check_same_thread=False, **settings)
        SqliteSaver(conn)
        assert conn.execute("PRAGMA busy_timeout").fetchone() == (milliseconds,)
        conn.close()
    with SqliteSaver.from_conn_string(path) as saver:
        assert saver.conn.execute("PRAGMA busy_timeout").fetchone() == (60_000,)


def test_not_a_connection() -> None:
    """SV-31: a path is for `from_conn_string`."""
    with pytest.raises(TypeError, match=r"sqlite3.Connection, not 'a.db'.*from_conn_string"):
        SqliteSaver("a.db")  # type: ignore[arg-type]


# ----------------------------------------------------------------- transactions


def test_all_or_nothing(saver: SqliteSaver) -> None:
    """SV-31: an error in the middle takes everything back, and the next one can begin."""
    with pytest.raises(ZeroDivisionError), saver.cursor() as cursor:
        cursor.execute("INSERT INTO writes VALUES ('t', '', '1', 'task', '', 0, 'x', 'null', '')")
        raise ZeroDivisionError
    put(saver)
    found = saver.get_tuple(at(1))
    assert found
    assert found.pending_writes == []


def test_nobody_waits_for_the_reader_of_a_list(path: str) -> None:
    """SV-10: another saver on the file, and a thread with this one, store what they like."""
    with SqliteSaver.from_conn_string(path) as saver:
        for n in range(5):
            put(saver, n)
        listing = saver.list(at())
        assert next(listing).metadata["step"] == 4
        assert in_a_thread(lambda: put(saver, 5)) == []
        impatient = sqlite3.connect(path, check_same_thread=False, timeout=0)
        other = SqliteSaver(impatient)
        put(other, 6)
        other.delete_thread("another")
        assert impatient.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        impatient.close()
        assert [found.metadata["step"] for found in listing] == [3, 2, 1, 0]


def test_who_reads_first_and_writes_later_is_not_refused(path: str) -> None:
    """SV-31: with ``BEGIN IMMEDIATE``, a writer's view is never an old one."""
    with SqliteSaver.from_conn_string(path) as one, SqliteSaver.from_conn_string(path) as other:
        for n in range(20):
            put(one if n % 2 else other, n)
            assert one.get(at(n))
            assert other.get(at(n))
            one.copy_thread("t", "copy")
            other.prune(["copy"])
        assert len(list(one.list(at()))) == 20


def interrupted(code: Any, line: int, function: Callable[[], object]) -> bool:
    """Whether a Ctrl-C at the nth line of `code` struck while `function` ran.

    Not at the beginning of a with-block, which is where it ends, too, nor of a try-block: Python
    looks for signals after calls, and there, between taking a lock and giving it back, is none.
    """
    lines, first = inspect.getsourcelines(code)
    count = 0

    def local(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        text = lines[frame.f_lineno - first].strip()
        if event == "line" and not text.startswith(("with ", "try:")):
            count += 1
            if count == line:
                raise KeyboardInterrupt
        return local

    def trace(frame: Any, event: str, arg: Any) -> Any:
        return local if frame.f_code is code else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


TRANSACTION = Database.transaction.__wrapped__.__code__  # type: ignore[attr-defined]


@pytest.mark.parametrize("code", [TRANSACTION, SqliteSaver.store.__code__], ids=["begin", "store"])
def test_ctrl_c_at_any_line(saver: SqliteSaver, code: Any) -> None:
    """CP-54: all of a task's writes are stored, or none; and the saver goes on working."""
    put(saver)
    found = []
    for line in range(1, 50):
        struck = interrupted(
            code,
            line,
            lambda line=line: saver.put_writes(at(1), [("x", 1), ("y", 2)], f"task {line}"),
        )
        stored = saver.get_tuple(at(1))
        assert stored
        assert stored.pending_writes is not None
        found.append([write[2] for write in stored.pending_writes if write[0] == f"task {line}"])
        assert found[-1] in ([], [1, 2])
        assert not saver.conn.in_transaction
        if not struck:
            break
    assert len(found) > 3
    assert [found[0], found[-1]] == [[], [1, 2]]


# ----------------------------------------------------------------------- errors


def test_no_such_folder(tmp_path: Path) -> None:
    """SV-31: the path is in the error, and what is wrong with it."""
    path = str(tmp_path / "nowhere" / "threads.db")
    with (
        pytest.raises(
            sqlite3.OperationalError, match=f"{re.escape(repr(path))}.*folder must exist"
        ),
        SqliteSaver.from_conn_string(path),
    ):
        pass


def test_a_folder(tmp_path: Path) -> None:
    """SV-31."""
    with (
        pytest.raises(sqlite3.OperationalError, match=re.escape(repr(str(tmp_path)))),
        SqliteSaver.from_conn_string(str(tmp_path)),
    ):
        pass


def test_not_a_database(tmp_path: Path) -> None:
    """SV-31: what is in the file stays in it."""
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sir or Madam, this is not a database. " * 20)
    before = path.read_bytes()
    expected = r"letter\.txt.*another kind of file"
    with (
        pytest.raises(sqlite3.DatabaseError, match=expected),
        SqliteSaver.from_conn_string(str(path)),
    ):
        pass
    with contextlib.closing(sqlite3.connect(path, check_same_thread=False)) as conn:
        saver = SqliteSaver(conn)
        for call in (saver.setup, lambda: saver.get(at()), lambda: put(saver)):
            with pytest.raises(sqlite3.DatabaseError, match=expected):
                call()
    assert path.read_bytes() == before


def read_only(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)


def test_a_file_that_may_only_be_read(path: str) -> None:
    """SV-31: can be read. The error of whoever writes says that he may not."""
    with SqliteSaver.from_conn_string(path) as saver:
        put(saver)
    conn = read_only(path)
    saver = SqliteSaver(conn)
    assert [found.metadata["step"] for found in saver.list(at())] == [1]
    for call in (
        lambda: put(saver, 2),
        lambda: saver.put_writes(at(1), [("x", 1)], "task"),
        lambda: saver.delete_thread("t"),
    ):
        with pytest.raises(sqlite3.OperationalError, match=r"threads\.db.*not write to it"):
            call()
    assert saver.get(at())
    conn.close()


def test_a_file_that_may_only_be_read_without_a_log(path: str) -> None:
    """SV-31: one that has never been set up for many writers is read as it is; an empty one is
    of no use."""
    with SqliteSaver.from_conn_string(path) as saver:
        put(saver)
    conn = sqlite3.connect(path)
    conn.execute("PRAGMA journal_mode=DELETE")
    conn.close()
    conn = read_only(path)
    assert SqliteSaver(conn).get(at())
    conn.close()

    empty = path + "2"
    sqlite3.connect(empty).close()
    Path(empty).touch()
    conn = read_only(empty)
    with pytest.raises(sqlite3.OperationalError, match="may read the file, but not write"):
        SqliteSaver(conn).get(at())
    conn.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_a_folder_that_may_only_be_read(tmp_path: Path) -> None:
    """SV-31."""
    tmp_path.chmod(0o500)
    try:
        with (
            pytest.raises(sqlite3.OperationalError, match="one that this process may write to"),
            SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver,
        ):
            saver.setup()
    finally:
        tmp_path.chmod(0o700)


def test_somebody_else_has_it_locked(path: str) -> None:
    """SV-31: for longer than one waits."""
    with SqliteSaver.from_conn_string(path) as saver:
        put(saver)
        with contextlib.closing(connect(path)) as greedy:
            greedy.execute("BEGIN IMMEDIATE")
            saver.conn.execute("PRAGMA busy_timeout = 1")
            with pytest.raises(sqlite3.OperationalError, match=r"locked.*kept it locked") as caught:
                put(saver, 2)
            assert caught.value.sqlite_errorname == "SQLITE_BUSY"
            assert saver.get(at())
        put(saver, 2)


def test_a_damaged_file(path: str) -> None:
    """SV-31: the error names it and says how to save what can be saved."""
    with SqliteSaver.from_conn_string(path) as saver:
        for n in range(200):
            saver.put_writes(at(n), [("x", "text " * 100)], "task")
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        file.seek(4096 * 2)
        file.write(b"\xff" * (size - 4096 * 3))
    with (
        SqliteSaver.from_conn_string(path) as saver,
        pytest.raises(sqlite3.DatabaseError, match=r"threads\.db.*malformed.*\.recover"),
    ):
        for n in range(200):
            saver.put_writes(at(n), [("x", "more")], f"task {n}")
            saver.delete_thread("t")
