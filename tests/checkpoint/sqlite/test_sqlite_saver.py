"""What is SqliteSaver's own; what it shares with others is in test_savers.py."""

from __future__ import annotations

import asyncio
import json
import operator
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from minigraph.checkpoint.base.records import Checkpoint
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.encrypted import EncryptedSerializer
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite import saver as statements
from minigraph.checkpoint.sqlite.database import connect
from minigraph.graph import END, START, StateGraph
from minigraph.types import RunnableConfig


@dataclass
class Note:
    text: str


def number(n: int) -> str:
    return f"1ef4f797-8335-6428-8{n:03d}-8a1503f9b875"


def checkpoint(n: int, values: dict[str, Any]) -> Checkpoint:
    return {
        "v": 4,
        "ts": "",
        "id": number(n),
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, n),
        "versions_seen": {},
        "updated_channels": None,
    }


def at(n: int | None = None, thread: str = "t", ns: str | None = "") -> RunnableConfig:
    configurable: dict[str, Any] = {"thread_id": thread}
    if ns is not None:
        configurable["checkpoint_ns"] = ns
    if n is not None:
        configurable["checkpoint_id"] = number(n)
    return {"configurable": configurable}


def put(saver: SqliteSaver, n: int, /, *, thread: str = "t", ns: str = "", **metadata: Any) -> None:
    made: Any = {"step": n, **metadata}
    saver.put(at(None, thread, ns), checkpoint(n, {"x": n}), made, {})


def steps(saver: SqliteSaver, config: Any = None, **options: Any) -> list[Any]:
    return [found.metadata["step"] for found in saver.list(config, **options)]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "threads.db")


@pytest.fixture
def saver(path: str) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(path) as opened:
        yield opened


def rows(saver: SqliteSaver, statement: str) -> list[Any]:
    with saver.cursor(transaction=False) as cursor:
        return cursor.execute(statement).fetchall()


# ---------------------------------------------------------------- what is stored


def test_a_row(saver: SqliteSaver) -> None:
    """SV-32: the checkpoint whole, values too, with its tag; metadata as JSON; ids as text."""
    stored = checkpoint(2, {"x": (1, "é")})
    assert saver.put(at(1, thread=5, ns="n:1"), stored, {"source": "loop", "step": 2}, {}) == at(  # type: ignore[arg-type]
        2, thread="5", ns="n:1"
    )
    ((thread, ns, id, parent, tag, blob, metadata),) = rows(saver, "SELECT * FROM checkpoints")
    assert (thread, ns, id, parent) == ("5", "n:1", number(2), number(1))
    assert saver.serde.loads_typed((tag, blob)) == stored
    assert metadata == b'{"source": "loop", "step": 2}'


def test_rows_of_writes(saver: SqliteSaver) -> None:
    """SV-30, CP-20: a special write has its own negative index."""
    saver.put_writes(at(1), [("x", 1), ("__error__", "e"), ("y", None)], "task", "~path")
    assert rows(saver, "SELECT * FROM writes ORDER BY idx") == [
        ("t", "", number(1), "task", "~path", -1, "__error__", "msgpack", b"\xa1e"),
        ("t", "", number(1), "task", "~path", 0, "x", "msgpack", b"\x01"),
        ("t", "", number(1), "task", "~path", 2, "y", "null", b""),
    ]


def test_values_do_not_depend_on_new_versions(saver: SqliteSaver) -> None:
    """SV-40: a checkpoint is one row, and needs no other."""
    saver.put(at(), checkpoint(1, {"x": 1}), {}, {})
    found = saver.get(at())
    assert found
    assert found["channel_values"] == {"x": 1}


def test_a_repeated_list_of_mixed_writes(saver: SqliteSaver) -> None:
    """SV-41: special writes are replaced and ordinary ones stay, as in memory."""
    put(saver, 1)
    for n in (1, 2):
        saver.put_writes(at(1), [("q", n), ("__resume__", f"r{n}")], "task")
    found = saver.get_tuple(at())
    assert found
    assert found.pending_writes == [("task", "__resume__", "r2"), ("task", "q", 1)]


def test_very_many_writes(saver: SqliteSaver) -> None:
    """SV-01: more than a statement of SQLite's has room for."""
    put(saver, 1)
    saver.put_writes(at(1), [("x", n) for n in range(40_000)], "task")
    found = saver.get_tuple(at())
    assert found
    assert found.pending_writes == [("task", "x", n) for n in range(40_000)]


def test_prepared_now_and_stored_later(saver: SqliteSaver) -> None:
    """DU-05: what is stored is what was there when it was prepared; all of it or nothing."""
    values = [1]
    prepared = [
        saver.prepare_put(at(), checkpoint(1, {"x": values}), {"step": 1}, {}),
        saver.prepare_put_writes(at(1), [("x", values), ("y", 2)], "task"),
        saver.prepare_put(at(1), checkpoint(2, {"x": values}), {"step": 2}, {}),
        saver.prepare_put_writes(at(2), [], "task"),
    ]
    values.append(2)
    assert rows(saver, "SELECT * FROM checkpoints") == []
    with pytest.raises(sqlite3.Error):
        saver.store([*prepared, ("INSERT INTO nowhere VALUES (?)", [(1,)])])
    assert rows(saver, "SELECT * FROM checkpoints") == []
    saver.store(prepared)
    newest, oldest = saver.list(at())
    assert newest.checkpoint["channel_values"] == oldest.checkpoint["channel_values"] == {"x": [1]}
    assert newest.parent_config == at(1)
    assert oldest.pending_writes == [("task", "x", [1]), ("task", "y", 2)]


# ---------------------------------------------------------------------- metadata


def test_metadata_is_json(saver: SqliteSaver) -> None:
    """SV-32, SV-46: tuples become lists; what JSON cannot hold is refused, and nothing stored."""
    put(saver, 1, t=(1, 2), n=1.5, é="ü", none=None, bad=float("inf"))
    found = saver.get_tuple(at())
    assert found
    assert found.metadata == {
        "step": 1, "t": [1, 2], "n": 1.5, "é": "ü", "none": None, "bad": float("inf"),
    }  # fmt: skip
    ((stored,),) = rows(saver, "SELECT metadata FROM checkpoints")
    assert "é" in stored.decode()
    for value in (uuid.UUID(int=1), b"x", {1}):
        with pytest.raises(TypeError, match="stored as JSON, which cannot hold this") as caught:
            put(saver, 2, odd=value)
        assert number(2) in caught.value.__notes__[0]
    assert steps(saver) == [1]


def test_half_a_character_in_the_metadata(saver: SqliteSaver) -> None:
    """SV-32: UTF-8 cannot hold it, JSON can."""
    put(saver, 1, text="a\ud800b")
    assert [found.metadata for found in saver.list(at())] == [{"step": 1, "text": "a\ud800b"}]


def test_metadata_of_others(saver: SqliteSaver) -> None:
    """SV-32: as text, or none at all."""
    put(saver, 1)
    put(saver, 2)
    with saver.cursor() as cursor:
        cursor.execute("UPDATE checkpoints SET metadata = CAST(metadata AS TEXT) WHERE rowid = 1")
        cursor.execute("UPDATE checkpoints SET metadata = NULL WHERE rowid = 2")
    assert [found.metadata for found in saver.list(at())] == [{}, {"step": 1}]


# ------------------------------------------------------------------------- types


def test_a_type_that_the_next_process_could_not_read_is_refused(saver: SqliteSaver) -> None:
    """SD-22: the error names type, channel, thread and remedy; nothing is stored."""
    remedy = re.escape(f"allowed_msgpack_modules=[({Note.__module__!r}, 'Note')]")
    with pytest.raises(TypeError, match=remedy) as caught:
        saver.put(at(), checkpoint(1, {"good": 1, "notes": [Note("a")]}), {}, {})
    assert caught.value.__notes__ == ["This happened while storing channel 'notes' of thread 't'."]
    with pytest.raises(TypeError, match=remedy) as caught:
        saver.put_writes(at(1), [("good", 1), ("notes", Note("a"))], "task")
    assert caught.value.__notes__ == [
        "This happened while storing a write to 'notes' of thread 't'."
    ]
    assert rows(saver, "SELECT * FROM checkpoints") == rows(saver, "SELECT * FROM writes") == []


def test_so_it_is_with_a_serializer_without_a_list(path: str) -> None:
    """SD-22: `JsonPlusSerializer()` goes by what it has stored itself, and that ends with the
    process."""
    conn = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(conn, serde=JsonPlusSerializer())
    with pytest.raises(TypeError, match="Note"):
        saver.put(at(), checkpoint(1, {"x": Note("a")}), {}, {})
    conn.close()


@pytest.mark.parametrize("allowed", [[Note], [(Note.__module__, "Note")], True])
def test_a_type_that_is_allowed(path: str, allowed: Any) -> None:
    """SD-22: comes back from another connection."""
    for _ in range(2):
        conn = sqlite3.connect(path, check_same_thread=False)
        saver = SqliteSaver(conn, serde=JsonPlusSerializer(allowed_msgpack_modules=allowed))
        saver.put(at(), checkpoint(1, {"x": Note("a")}), {}, {})
        saver.put_writes(at(1), [("x", Note("b"))], "task")
        conn.close()
        conn = sqlite3.connect(path, check_same_thread=False)
        saver = SqliteSaver(conn, serde=JsonPlusSerializer(allowed_msgpack_modules=allowed))
        found = saver.get_tuple(at())
        assert found
        assert found.checkpoint["channel_values"] == {"x": Note("a")}
        assert found.pending_writes == [("task", "x", Note("b"))]
        conn.close()


def test_a_serializer_of_ones_own(path: str) -> None:
    """SV-01: values go through it, and its tag is stored."""

    class Json:
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "json", json.dumps(obj).encode()

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            return json.loads(data[1])

    conn = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(conn, serde=Json())
    saver.put(at(), checkpoint(1, {"x": [1]}), {}, {})
    saver.put_writes(at(1), [("x", [2])], "task")
    assert rows(saver, "SELECT type FROM checkpoints UNION ALL SELECT type FROM writes") == [
        ("json",),
        ("json",),
    ]
    found = saver.get_tuple(at())
    assert found
    assert found.checkpoint["channel_values"] == {"x": [1]}
    assert found.pending_writes == [("task", "x", [2])]
    conn.close()


# -------------------------------------------------------------------- damaged rows


@pytest.mark.parametrize(
    ("column", "content", "expected", "what"),
    [
        ("checkpoint", b"\xc1", "damaged", "checkpoint '{id}'"),
        ("checkpoint", b"\x01", "no checkpoint", "checkpoint '{id}'"),
        ("checkpoint", b"\x81\xaechannel_values\x05", "no checkpoint", "checkpoint '{id}'"),
        (
            "checkpoint",
            b"\x82\xaechannel_values\x80\xb0channel_versions\x05",
            "no checkpoint",
            "checkpoint '{id}'",
        ),
        ("checkpoint", None, "no checkpoint", "checkpoint '{id}'"),
        ("type", "unheard of", "Unknown serialization type: 'unheard of'", "checkpoint '{id}'"),
        ("metadata", b'{"step": ', "metadata is damaged: Expecting", "metadata of '{id}'"),
        ("metadata", b"[1]", "no JSON object", "metadata of '{id}'"),
        ("metadata", b"\xff", "metadata is damaged: 'utf-8'", "metadata of '{id}'"),
        ("value", b"\xc1", "damaged", "a write to 'x'"),
    ],
)
def test_a_damaged_row(
    path: str, saver: SqliteSaver, column: str, content: Any, expected: str, what: str
) -> None:
    """SV-31: the error names row and file; other threads are read as ever."""
    put(saver, 1)
    saver.put_writes(at(1), [("x", 1)], "task")
    put(saver, 1, thread="healthy")
    put(saver, 2)
    table = "writes" if column == "value" else "checkpoints"
    with saver.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {column} = ? WHERE thread_id = 't' AND checkpoint_id = ?",
            (content, number(1)),
        )
    for call in (lambda: saver.get_tuple(at(1)), lambda: [*saver.list(at())]):
        with pytest.raises(UnreadableError, match=expected) as caught:
            call()
        assert caught.value.__notes__ == [
            f"This happened while reading {what.format(id=number(1))} of thread 't'.",
            f"The row is ('t', '', {number(1)!r}) in {path!r}.",
        ]
    assert saver.get(at())
    assert steps(saver, at(thread="healthy")) == [1]
    assert steps(saver, at(thread="healthy"), filter={"step": 1}) == [1]
    saver.prune(["t"])
    assert steps(saver, at()) == [2]


DAMAGED: dict[str, tuple[str, str]] = {
    "metadata is a number": ("metadata = 5", "metadata is damaged: it is a int"),
    "a fraction": ("metadata = 2.5", "metadata is damaged: it is a float"),
    "deep metadata": (f"metadata = '{'[' * 100_000}'", "metadata is damaged: maximum recursion"),
    "deep in metadata": (
        f"""metadata = '{{"a": {"[" * 50_000}1{"]" * 50_000}}}'""",
        "metadata is damaged: maximum recursion",
    ),
    "metadata is no text": ("metadata = CAST(X'7B22FF22' AS TEXT)", "metadata is damaged: 'utf-8'"),
    "in a string of it": (
        "metadata = CAST(X'7B2261223A2022FF227D' AS TEXT)",
        "metadata is damaged: 'utf-8'",
    ),
    "no tag": ("type = NULL", "Unknown serialization type: None|is not encrypted"),
    "a tag in bytes": ("type = X'00'", "Unknown serialization type|is not encrypted"),
    "a tag that is no text": (
        "type = CAST(X'FF' AS TEXT)",
        "Unknown serialization type|is not encrypted",
    ),
    "content is a number": ("checkpoint = 5", "expected bytes, found int|cannot be decrypted"),
    "content is text": ("checkpoint = 'abc'", "expected bytes, found str|cannot be decrypted"),
    "parent in bytes": ("parent_checkpoint_id = X'00FF'", r"b'\\x00\\xff' should be text"),
    "parent is no text": (
        "parent_checkpoint_id = CAST(X'FF' AS TEXT)",
        r"'\\udcff' should be text in UTF-8",
    ),
}
DAMAGED_WRITES: dict[str, tuple[str, str]] = {
    "a huge bytearray": ("type = 'bytearray', value = 3000000000", "expected bytes, found int"),
    "a text bytearray": ("type = 'bytearray', value = 'text'", "expected bytes, found str"),
    "bytes are a number": ("type = 'bytes', value = 5", "expected bytes, found int"),
    "bytes are text": ("type = 'bytes', value = 'text'", "expected bytes, found str"),
    "bytes are nothing": ("type = 'bytes', value = NULL", "expected bytes, found NoneType"),
    "no value": ("value = NULL", "expected bytes, found NoneType|cannot be decrypted"),
    "no tag": ("type = NULL", "Unknown serialization type: None|is not encrypted"),
    "channel in bytes": ("channel = X'FF'", r"b'\\xff' should be text in UTF-8"),
    "channel is no text": ("channel = CAST(X'FF' AS TEXT)", r"'\\udcff' should be text in UTF-8"),
    "task is no text": ("task_id = CAST(X'FF' AS TEXT)", r"'\\udcff' should be text in UTF-8"),
    "task in bytes": ("task_id = X'FF'", r"b'\\xff' should be text in UTF-8"),
}


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize(
    ("table", "case"),
    [*(("checkpoints", case) for case in DAMAGED), *(("writes", case) for case in DAMAGED_WRITES)],
)
def test_what_somebody_else_has_put_into_a_row(
    path: str, table: str, case: str, encrypted: bool
) -> None:
    """SV-31, SD-14: one kind of error, with row and file; and it disturbs nobody else."""
    change, expected = (DAMAGED if table == "checkpoints" else DAMAGED_WRITES)[case]
    if encrypted:
        pytest.importorskip("Crypto")
        expected += "|is not encrypted|cannot be decrypted"
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16) if encrypted else None
    conn = connect(path)
    saver = SqliteSaver(conn, serde=serde)
    for n in (1, 2, 3):
        put(saver, n, run_id=f"r{n}")
        saver.put_writes(at(n), [("x", b"abc")], "task")
    put(saver, 1, thread="healthy", run_id="r1")
    put(saver, 2, thread="healthy", run_id="r2")
    with saver.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {change} WHERE thread_id = 't' AND checkpoint_id = ?", (number(2),)
        )
    for call in (lambda: saver.get_tuple(at(2)), lambda: [*saver.list(at())]):
        with pytest.raises(UnreadableError, match=expected) as caught:
            call()
        assert caught.value.__notes__[1] == f"The row is ('t', '', {number(2)!r}) in {path!r}."
    assert steps(saver, at(), limit=1) == [3]
    assert steps(saver, at(1)) == [1]
    assert steps(saver, at(), filter={"step": 3}, limit=1) == [3]
    assert steps(saver, at(thread="healthy"), filter={"run_id": "r2"}) == [2]
    saver.delete_for_runs(["r1"])
    assert steps(saver, at(thread="healthy")) == [2]
    saver.copy_thread("t", "copy")
    saver.prune(["t", "copy", "healthy"])
    assert steps(saver) == [3, 3, 2]
    conn.close()


KEYS = ["CAST(X'FF' AS TEXT)", "X'00FF'", "CAST(X'30FF' AS TEXT)"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("column", ["thread_id", "checkpoint_ns", "checkpoint_id"])
def test_a_damaged_key(saver: SqliteSaver, path: str, column: str, key: str) -> None:
    """SV-31: a row that nobody can ask for is named, and disturbs no other."""
    for n in (1, 2, 3):
        put(saver, n, run_id=f"r{n}")
    put(saver, 1, thread="healthy", run_id="r1")
    with saver.cursor() as cursor:
        cursor.execute(f"UPDATE checkpoints SET {column} = {key} WHERE checkpoint_id = ?",
                       (number(2),))  # fmt: skip
    with pytest.raises(UnreadableError, match="should be text in UTF-8") as caught:
        [*saver.list(None)]
    assert f"in {path!r}." in caught.value.__notes__[1]
    assert steps(saver, at(thread="healthy")) == [1]
    assert steps(saver, at(1)) == [1]
    saver.delete_for_runs(["r1", "r2"])
    assert steps(saver, at(3)) == [3]
    assert steps(saver, at(thread="healthy")) == []
    put(saver, 4)
    saver.prune(["t"])
    assert steps(saver, at(4)) == [4]
    assert steps(saver, at(3)) == []
    saver.delete_thread("t")
    left = [] if column != "thread_id" else [1]
    assert [n for (n,) in rows(saver, "SELECT count(*) FROM checkpoints") if n] == left


def test_the_latest_has_a_damaged_key(saver: SqliteSaver) -> None:
    """SV-31: whoever asks for the latest is told; the others can be asked for."""
    put(saver, 1)
    put(saver, 2)
    with saver.cursor() as cursor:
        cursor.execute("UPDATE checkpoints SET checkpoint_id = CAST(X'FF' AS TEXT) WHERE rowid = 2")
    with pytest.raises(UnreadableError, match=r"'\\udcff' should be text in UTF-8"):
        saver.get_tuple(at())
    assert steps(saver, at(1)) == [1]
    saver.prune(["t"])
    assert steps(saver, at(1)) == [1]


def test_a_connection_that_reads_text_differently(path: str) -> None:
    """SV-36: its owner's settings are for its owner, and are there again afterwards."""
    conn = sqlite3.connect(path, check_same_thread=False)
    conn.text_factory = bytes
    saver = SqliteSaver(conn)
    put(saver, 1, run_id="r")
    saver.put_writes(at(1), [("x", 1)], "task")
    (found,) = saver.list(None)
    assert found.config == at(1)
    assert found.pending_writes == [("task", "x", 1)]
    assert conn.text_factory is bytes
    assert conn.execute("SELECT thread_id FROM checkpoints").fetchall() == [(b"t",)]
    saver.delete_for_runs(["r"])
    assert steps(saver) == []
    conn.close()


def test_damaged_metadata_does_not_keep_runs_from_being_deleted(saver: SqliteSaver) -> None:
    """SV-60."""
    put(saver, 1, run_id="r")
    put(saver, 1, thread="u", run_id="r")
    with saver.cursor() as cursor:
        cursor.execute("UPDATE checkpoints SET metadata = X'FF' WHERE thread_id = 't'")
    saver.delete_for_runs(["r"])
    assert rows(saver, "SELECT thread_id FROM checkpoints") == [("t",)]


@pytest.mark.parametrize("run_id", [[1], {"r": 1}, 5, None, True])
def test_a_run_id_that_is_no_text(saver: SqliteSaver, run_id: Any) -> None:
    """SV-60: is nobody's, and disturbs nobody."""
    put(saver, 1, run_id=run_id)
    put(saver, 2, run_id="r")
    saver.delete_for_runs(["r", "5", "None", "True"])
    assert steps(saver) == [1]


def test_what_is_needed_cannot_be_told(saver: SqliteSaver, path: str) -> None:
    """SV-63: then nothing is removed there, and that is an error; elsewhere all is done."""
    counted = {"counters_since_delta_snapshot": {"d": [1, 1]}}
    for thread in ("t", "u", "v"):
        for n in (1, 2, 3):
            put(saver, n, thread=thread, run_id=f"r{n}", **(counted if thread == "t" else {}))
    with saver.cursor() as cursor:
        cursor.execute(
            "UPDATE checkpoints SET checkpoint = X'C1' WHERE thread_id = 't' AND checkpoint_id = ?",
            (number(3),),
        )
    calls: list[Callable[[], None]] = [
        lambda: saver.delete_for_runs(["r1"]),
        lambda: saver.prune(["t", "u", "v"]),
    ]
    for call in calls:
        with pytest.raises(UnreadableError, match="damaged") as caught:
            call()
        assert caught.value.__notes__[1] == f"The row is ('t', '', {number(3)!r}) in {path!r}."
    left = rows(saver, "SELECT thread_id, count(*) FROM checkpoints GROUP BY 1 ORDER BY 1")
    assert left == [("t", 3), ("u", 1), ("v", 1)]


# ------------------------------------------------------------------------- lists


def test_namespaces_and_threads_are_listed_together(saver: SqliteSaver) -> None:
    """SV-47: by id across all of them; equal ids by thread and namespace."""
    put(saver, 1)
    put(saver, 2, ns="sub:1")
    put(saver, 3)
    put(saver, 2, thread="a")
    put(saver, 2)

    def places(config: Any) -> list[tuple[Any, ...]]:
        found = (f.config["configurable"] for f in saver.list(config))
        return [(c["thread_id"], c["checkpoint_ns"], c["checkpoint_id"]) for c in found]

    assert places(at(ns=None)) == [
        ("t", "", number(3)),
        ("t", "", number(2)),
        ("t", "sub:1", number(2)),
        ("t", "", number(1)),
    ]
    assert [place[0] for place in places(None)] == ["t", "a", "t", "t", "t"]


def test_before_without_an_id_excludes_nothing(saver: SqliteSaver) -> None:
    """SV-44: as in memory."""
    put(saver, 1)
    assert steps(saver, at(), before=at()) == [1]


def test_a_negative_limit_gives_nothing(saver: SqliteSaver) -> None:
    """SV-45: as in memory."""
    put(saver, 1)
    assert steps(saver, at(), limit=-1) == []


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ({"user.name": "ada"}, [1]),
        ({"user.name": "bob"}, []),
        ({"user.age.x": 1}, []),
        ({"user.none": None}, [3, 2, 1]),
        ({"a.b": 1}, [2]),
        ({"a-b_C.0": "x"}, [3]),
        ({"user": {"name": "ada", "age": 5}}, [1]),
        ({"user": {"age": 5, "name": "ada"}}, [1]),
        ({"list": [1, [2]]}, [1]),
        ({"list": (1, [2])}, [1]),
        ({"list": [1]}, []),
        ({"flag": True}, [1]),
        ({"flag": 1}, [1]),
        ({"flag": "true"}, []),
        ({"step": 2.0}, [2]),
        ({"step": uuid.UUID(int=1)}, []),
        ({"step": {1}}, []),
    ],
)
def test_filter(saver: SqliteSaver, filter: dict[str, Any], found: list[int]) -> None:
    """SV-33, SV-43: a dot leads deeper; lists and dicts are compared whole."""
    put(saver, 1, user={"name": "ada", "age": 5}, list=[1, [2]], flag=True)
    put(saver, 2, **{"a.b": 1})
    put(saver, 3, **{"a-b_C": {"0": "x"}})
    assert steps(saver, at(), filter=filter) == found


@pytest.mark.parametrize(
    "key",
    [
        "a b",
        "",
        "x') OR 1=1 --",
        "x') = 1 UNION SELECT 1,2,3,4,5,6,7 --",
        "tenant') IS NOT NULL OR json_extract(CAST(metadata AS TEXT), '$.tenant",
        "é",
        "a\n",
        "$",
        1,
    ],
)
def test_a_hostile_filter_key(saver: SqliteSaver, key: Any) -> None:
    """SV-33, SV-42: is refused, and never part of a statement."""
    put(saver, 1, tenant="acme")
    for filter in ({key: 1}, {"tenant": "acme", key: None}):
        with pytest.raises(ValueError, match="Invalid filter key"):
            list(saver.list(None, filter=filter))
    assert steps(saver) == [1]


@pytest.mark.parametrize("value", ["' OR '1'='1", '"', "acme' --", "%", "ac_e", "\0"])
def test_a_hostile_filter_value(saver: SqliteSaver, value: str) -> None:
    """SV-33: is a value."""
    put(saver, 1, tenant="acme")
    put(saver, 2, tenant=value + "!")
    assert steps(saver, None, filter={"tenant": value}) == []
    assert steps(saver, None, filter={"tenant": "acme"}) == [1]


@pytest.mark.parametrize("hostile", ["'; DROP TABLE checkpoints; --", "?", "%", "a\0b", "é'\""])
def test_hostile_names(saver: SqliteSaver, hostile: str) -> None:
    """SV-34: threads, namespaces, tasks and channels may be called anything."""
    saver.put(at(None, hostile, hostile), checkpoint(1, {hostile: 1}), {}, {})
    saver.put_writes(at(1, hostile, hostile), [(hostile, 1)], hostile, hostile)
    put(saver, 1)
    saver.copy_thread(hostile, hostile + "2")
    found = saver.get_tuple(at(1, hostile + "2", hostile))
    assert found
    assert found.checkpoint["channel_values"] == {hostile: 1}
    assert found.pending_writes == [(hostile, hostile, 1)]
    saver.delete_thread(hostile)
    saver.prune([hostile + "2"], strategy="delete")
    assert steps(saver) == [1]


# ------------------------------------------------------------- async, and what it costs


def test_async_methods_say_where_they_are(saver: SqliteSaver) -> None:
    """SV-35."""

    async def collect() -> None:
        async for _ in saver.alist(None):
            pass

    calls: list[Callable[[], Any]] = [
        lambda: saver.aget_tuple(at()),
        lambda: saver.aget(at()),
        lambda: saver.aput(at(), checkpoint(1, {}), {}, {}),
        lambda: saver.aput_writes(at(1), [], "task"),
        lambda: saver.adelete_thread("t"),
        lambda: saver.adelete_for_runs([]),
        lambda: saver.acopy_thread("t", "u"),
        lambda: saver.aprune([]),
        collect,
    ]
    for call in calls:
        with pytest.raises(NotImplementedError, match=r"sqlite\.aio\.AsyncSqliteSaver"):
            asyncio.run(call())


READS = [
    statements.GET,
    statements.GET_LATEST,
    statements.GET_WRITES,
    statements.IDS,
    statements.DEPENDENT_IDS,
    *statements.DELETE,
    *statements.DELETE_THREAD,
    *statements.COPY_THREAD,
    *(statements.select(config, {"step": 1}, at(1))[0] for config in (at(), at(ns=None))),
]


@pytest.mark.parametrize("statement", READS)
def test_every_search_uses_the_primary_key(saver: SqliteSaver, statement: str) -> None:
    """SV-30: no statement about a thread looks at the rows of others."""
    put(saver, 1)
    count = statement.count("?")
    values: Any = {"source": "t", "target": "u"} if ":source" in statement else ["x"] * count
    with saver.cursor(transaction=False) as cursor:
        plan = [row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert plan
    assert any("USING" in step and "INDEX sqlite_autoindex" in step for step in plan)
    assert not any(step.startswith("SCAN") for step in plan)


def test_a_listing_of_one_namespace_sorts_nothing(saver: SqliteSaver) -> None:
    """SV-30: the key is in the order in which it is wanted."""
    statement, values = statements.select(at(), {}, None)
    with saver.cursor(transaction=False) as cursor:
        plan = cursor.execute(f"EXPLAIN QUERY PLAN {statement}", [*values, 1]).fetchall()
    assert [row[3].split(" (")[0] for row in plan] == [
        "SEARCH checkpoints USING COVERING INDEX sqlite_autoindex_checkpoints_1"
    ]


def count_statements(saver: SqliteSaver, call: Callable[[], object]) -> list[str]:
    seen: list[str] = []
    saver.conn.set_trace_callback(lambda text: seen.append(text.split()[0]))
    call()
    saver.conn.set_trace_callback(None)
    return seen


def test_statements_of_each_method(saver: SqliteSaver) -> None:
    """SV-31: one transaction for a checkpoint, one for a task's writes, and no needless look."""
    put(saver, 1)
    assert count_statements(saver, lambda: put(saver, 2)) == ["BEGIN", "INSERT", "COMMIT"]
    assert count_statements(
        saver, lambda: saver.put_writes(at(2), [("x", 1), ("y", 2)], "task")
    ) == ["BEGIN", "INSERT", "INSERT", "COMMIT"]
    read = ["BEGIN", "SELECT", "SELECT", "COMMIT"]
    assert count_statements(saver, lambda: saver.get_tuple(at())) == read
    assert count_statements(saver, lambda: saver.get_tuple(at(1))) == read
    places = ["BEGIN", "SELECT", "COMMIT"]
    assert count_statements(saver, lambda: steps(saver, at(), limit=1)) == places + read
    for n in range(3, 40):
        put(saver, n)
    seen = count_statements(saver, lambda: steps(saver, at()))
    assert (seen.count("BEGIN"), seen.count("SELECT")) == (1 + 6, 1 + 2 * 39)


# --------------------------------------------------------------------------- graphs


class Notes(TypedDict, total=False):
    notes: Annotated[list[Note], operator.add]


def test_a_type_that_the_graph_names(path: str) -> None:
    """SD-26: is allowed, in the next process too; one that it does not name is not."""
    builder = StateGraph(Notes)
    builder.add_node("write", lambda state: {"notes": [Note("b")]})
    builder.add_edge(START, "write")
    for length in (2, 4):
        with SqliteSaver.from_conn_string(path) as saver:
            graph = builder.compile(checkpointer=saver)
            result = graph.invoke({"notes": [Note("a")]}, at(ns=None))
            assert result["notes"] == [Note("a"), Note("b")] * (length // 2)
    with SqliteSaver.from_conn_string(path) as saver:
        with pytest.raises(TypeError, match="Note") as caught:
            counter(saver).invoke({"n": Note("a")}, at(ns=None, thread="u"))
        assert any("thread 'u'" in note for note in caught.value.__notes__)


class Count(TypedDict):
    n: int


def counter(saver: Any) -> Any:
    builder = StateGraph(Count)
    builder.add_node("more", lambda state: {"n": state["n"] + 1})
    builder.add_edge(START, "more")
    builder.add_conditional_edges(
        "more", lambda state: "more" if state["n"] < 5 else END, ["more", END]
    )
    return builder.compile(checkpointer=saver)


def test_a_thread_goes_on_in_the_next_process(path: str) -> None:
    """SV-31: what one saver has stored, the next one finds; as another saver would give it."""
    in_memory = counter(InMemorySaver())
    for start in (0, 3):
        with SqliteSaver.from_conn_string(path) as saver:
            assert counter(saver).invoke({"n": start}, at(ns=None)) == {"n": 5}
        in_memory.invoke({"n": start}, at(ns=None))
    with SqliteSaver.from_conn_string(path) as saver:
        history = [*counter(saver).get_state_history(at(ns=None))]
    expected = [*in_memory.get_state_history(at(ns=None))]
    assert [(s.values, s.next, s.metadata) for s in history] == [
        (s.values, s.next, s.metadata) for s in expected
    ]
    assert len(history) == 11
