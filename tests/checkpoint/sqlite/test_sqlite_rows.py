"""Records as rows; and metadata, which two look through: SQLite first, then we."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.rows import (
    Place,
    checkpoint_row,
    is_plain,
    metadata_filter,
    read_record,
    writes_rows,
)

SERDE = JsonPlusSerializer(allowed_msgpack_modules=())
CHECKPOINT: Any = {"id": "2", "channel_values": {"x": [1]}, "channel_versions": {"x": 1}}
CONFIG: Any = {"configurable": {"thread_id": 7, "checkpoint_ns": "n", "checkpoint_id": "1"}}


def test_there_and_back() -> None:
    """SV-05, SV-32: rows hold all of a record, and no more than bytes and text."""
    row = checkpoint_row(CONFIG, CHECKPOINT, {"step": 1}, SERDE)
    assert [type(column) for column in row] == [str, str, str, str, str, bytes, bytes]
    config: Any = {"configurable": {**CONFIG["configurable"], "checkpoint_id": "2"}}
    writes = writes_rows(config, [("x", 1), ("__error__", "e")], "task", "path", SERDE)
    found = read_record(SERDE, Place(*row[:3]), row[3:], [(w[3], *w[6:]) for w in writes], None, "")
    here = {"thread_id": "7", "checkpoint_ns": "n"}
    assert found.config == {"configurable": {**here, "checkpoint_id": "2"}}
    assert found.parent_config == {"configurable": {**here, "checkpoint_id": "1"}}
    assert found.checkpoint == CHECKPOINT
    assert found.metadata == {"step": 1}
    assert found.pending_writes == [("task", "x", 1), ("task", "__error__", "e")]
    assert read_record(SERDE, Place(*row[:3]), row[3:], [], config, "").config is config


@pytest.mark.parametrize(
    ("key", "value", "plain"),
    [
        ("step", 2**53 - 1, True),
        ("step", -(2**53), False),
        ("step", 1.5, False),
        ("flag", False, True),
        ("name", "", True),
        ("name", "é ü", True),
        ("name", "a\0b", False),
        ("name", "a\ud800", False),
        ("name", None, False),
        ("name", ["x"], False),
        ("a.b", 1, False),
    ],
)
def test_what_sqlite_is_asked_about(key: str, value: Any, plain: bool) -> None:
    """SV-33: only what means the same to it."""
    assert is_plain(key, value) is plain


KEYS = st.sampled_from(["a", "b", "a.b", "a-b", "0", "_"])
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([2**53, 2**64, -(2**70)])
    | st.floats()
    | st.sampled_from(["", "1", "true", "a", "é", "a\0b", '"', "'", "\\", "\ud800", "\n", "null"])
)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2)
)

METADATA = st.dictionaries(KEYS, VALUES, max_size=3)


@settings(deadline=None, max_examples=200)
@given(st.lists(METADATA, max_size=4), st.dictionaries(KEYS, VALUES, max_size=2))
def test_what_sqlite_leaves_out_never_changes_the_result(
    stored: list[dict[str, Any]], filter: dict[str, Any]
) -> None:
    """SV-33: a search finds exactly what one finds who reads all of the metadata."""
    with SqliteSaver.from_conn_string(":memory:") as saver:
        at: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        for n, metadata in enumerate(stored):
            saver.put(at, {**CHECKPOINT, "id": str(n)}, metadata, {})  # type: ignore[arg-type]
        passes = metadata_filter(filter)
        everything = list(saver.list(at))
        expected = [each.checkpoint["id"] for each in everything if passes(each.metadata)]
        assert [each.checkpoint["id"] for each in saver.list(at, filter=filter)] == expected
        first = [each.checkpoint["id"] for each in saver.list(at, filter=filter, limit=1)]
        assert first == expected[:1]
