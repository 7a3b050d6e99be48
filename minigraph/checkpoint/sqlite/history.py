"""What is stored in pieces, fetched in three queries.

`minigraph.checkpoint.base.history` says what a history is. The walk in the base class would ask the
file once for each ancestor. Here SQLite follows the parents itself:

    1  the way back, newest first: ids and metadata, until all seeds are in sight
    2  a checkpoint that holds a seed, which is mostly one
    3  the writes to these channels, beside the checkpoints of that way

The metadata of a checkpoint says which channels are *not* stored with it, so of all the checkpoints
on the way only those are decoded that hold a value.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from minigraph.checkpoint.base.history import (
    NOTHING_KNOWN,
    DeltaChannelHistory,
    Pieces,
    Values,
    broken,
    counters_of,
)
from minigraph.checkpoint.base.records import PendingWrite
from minigraph.checkpoint.serde.base import SerializerProtocol
from minigraph.checkpoint.sqlite.database import AS_STORED, plain_cursor, rows_of
from minigraph.checkpoint.sqlite.rows import Place, read_metadata, read_record
from minigraph.errors import add_note

_WAY: Final = """
    WITH RECURSIVE way(checkpoint_id, parent, metadata, depth) AS (
        SELECT checkpoint_id, parent_checkpoint_id, NULL, 0 FROM checkpoints
        WHERE thread_id = :thread AND checkpoint_ns = :namespace AND checkpoint_id = :id
        UNION ALL
        SELECT c.checkpoint_id, c.parent_checkpoint_id, c.metadata, way.depth + 1
        FROM way JOIN checkpoints AS c ON c.thread_id = :thread
        AND c.checkpoint_ns = :namespace AND c.checkpoint_id = way.parent
        LIMIT :most
    )
"""

WAY: Final = _WAY + "SELECT checkpoint_id, parent, metadata FROM way"

WRITES: Final = (
    _WAY
    + """
    SELECT way.depth, w.task_id, w.channel, w.type, w.value
    FROM way JOIN writes AS w ON w.thread_id = :thread
    AND w.checkpoint_ns = :namespace AND w.checkpoint_id = way.checkpoint_id
    WHERE way.depth > 0 AND w.channel IN ({channels})
    ORDER BY way.depth, w.task_path, w.task_id, w.idx
"""
)

VALUES: Final = """
    SELECT parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints
    WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
"""


def delta_history(
    cursor: sqlite3.Cursor,
    place: Place,
    channels: Sequence[str],
    serde: SerializerProtocol,
    file: str,
    known: Values = NOTHING_KNOWN,
) -> dict[str, DeltaChannelHistory]:
    """The histories of channels at a checkpoint; as the contract of savers says (DC-03)."""
    way = {"thread": place.thread_id, "namespace": place.namespace, "id": place.checkpoint_id}
    values = seeds_on(cursor, place, channels, serde, file, way, known)
    names = {f"channel{index}": name for index, name in enumerate(channels)}
    statement = WRITES.format(channels=", ".join(f":{each}" for each in names))
    found = rows_of(cursor, statement, {**way, **names, "most": len(values) + 1})
    writes: dict[int, list[PendingWrite]] = {}
    for depth, task_id, channel, tag, content in found:
        try:
            value = serde.loads_typed((tag, content))
        except Exception as error:
            add_note(
                error,
                f"This happened while reading a write to {channel!r} of task {task_id!r}, on the "
                f"way to checkpoint {tuple(place)!r}" + (f" in {file!r}." if file else "."),
            )
            raise
        writes.setdefault(depth, []).append((task_id, channel, value))
    pieces = Pieces(channels)
    for depth, seeds in enumerate(values, start=1):
        pieces.add(seeds, writes.get(depth, ()))
    return pieces.histories()


def seeds_on(
    cursor: sqlite3.Cursor,
    place: Place,
    channels: Sequence[str],
    serde: SerializerProtocol,
    file: str,
    way: dict[str, Any],
    known: Values,
) -> list[dict[str, Any]]:
    """The values that the ancestors of a checkpoint hold, newest first, as far back as needed."""
    values: list[dict[str, Any]] = []
    pieces = Pieces(channels)
    with plain_cursor(cursor.connection) as ancestors:
        cursor.connection.text_factory = AS_STORED
        ancestors.execute(WAY, {**way, "most": -1})
        found = next(ancestors, None)
        if found is None:
            raise broken(None, place.checkpoint_id, None, pieces)
        here, parent, _ = found
        passed = {here}
        while parent and pieces.missing:
            found = next(ancestors, None)
            if found is None or found[0] in passed:
                raise broken(here, parent, found and found[0], pieces)
            here, parent, metadata = found
            passed.add(here)
            at = Place(place.thread_id, place.namespace, here)
            held = {**known.get(here, NOTHING_KNOWN)}
            if not pieces.missing <= held.keys():
                counted = counters_of(read_metadata(at, metadata, file))
                if not pieces.missing <= counted.keys():
                    (row,) = rows_of(cursor, VALUES, at)
                    checkpoint = read_record(serde, at, row, [], None, file).checkpoint
                    held = {**checkpoint["channel_values"], **held}
            pieces.add(held, ())
            values.append({name: held[name] for name in channels if name in held})
    return values
