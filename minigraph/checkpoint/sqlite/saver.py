"""A saver in one file, which is there again after the process has died.

    with SqliteSaver.from_conn_string("threads.db") as saver:
        graph = builder.compile(checkpointer=saver)

What is stored is in `schema`, how it is stored safely by many at once in `database`, and how
records become rows in `rows`. What is left for this module are the statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any, Final, NoReturn, Self, TypeAlias

from minigraph.checkpoint.base.ancestors import still_needed
from minigraph.checkpoint.base.history import (
    COUNTERS,
    NOTHING_KNOWN,
    DeltaChannelHistory,
    Pieces,
    Values,
)
from minigraph.checkpoint.base.id import next_text_version
from minigraph.checkpoint.base.records import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)
from minigraph.checkpoint.base.saver import BaseCheckpointSaver, check_strategy, several
from minigraph.checkpoint.serde.base import (
    SerializerProtocol,
    UnreadableError,
    UntypedSerializerProtocol,
)
from minigraph.checkpoint.sqlite.database import (
    AS_STORED,
    READ,
    WRITE,
    Database,
    connect,
    rows_of,
)
from minigraph.checkpoint.sqlite.history import delta_history
from minigraph.checkpoint.sqlite.rows import (
    Place,
    address,
    checkpoint_row,
    is_plain,
    is_text,
    metadata_filter,
    read_metadata,
    read_record,
    writes_rows,
)
from minigraph.types import RunnableConfig

__all__ = ["SqliteSaver"]

Stored: TypeAlias = tuple[Place, tuple[Any, ...], list[Any]]
"""A checkpoint's place, the rest of its row, and the rows of its writes."""

Prepared: TypeAlias = tuple[str, Sequence[tuple[Any, ...]]]
"""What `SqliteSaver.store` takes: a statement, and the rows for it."""

PUT: Final = """
    INSERT OR REPLACE INTO checkpoints
    (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""

# An ordinary write is kept as it was stored first, a special one has a negative index (SV-08).
PUT_WRITE: Final = """
    INSERT INTO writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO UPDATE
    SET task_path = excluded.task_path, channel = excluded.channel,
        type = excluded.type, value = excluded.value
    WHERE excluded.idx < 0
"""

_GET: Final = """
    SELECT checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints
    WHERE thread_id = ? AND checkpoint_ns = ?
"""
GET: Final = _GET + "AND checkpoint_id = ?"
LATEST_ID: Final = """
    SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?
    ORDER BY checkpoint_id DESC LIMIT 1
"""
GET_LATEST: Final = _GET + "ORDER BY checkpoint_id DESC LIMIT 1"

GET_WRITES: Final = """
    SELECT task_id, channel, type, value FROM writes
    WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
    ORDER BY task_path, task_id, idx
"""

IDS: Final = """
    SELECT checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = ?
    ORDER BY checkpoint_ns, checkpoint_id
"""

DEPENDENT_IDS: Final = f"""
    SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?
    AND instr(CAST(metadata AS TEXT), '{COUNTERS}')
"""

ALL_METADATA: Final = "SELECT thread_id, checkpoint_ns, checkpoint_id, metadata FROM checkpoints"

LOOKS_LIKE: Final = """
    CASE WHEN json_valid(CAST(metadata AS TEXT))
    THEN json_extract(CAST(metadata AS TEXT), ?) = ? ELSE TRUE END
"""
"""Damaged metadata passes, so that whoever comes upon it is told."""

AT_ONCE: Final = 32
"""How many checkpoints of a list are read in one transaction."""

DELETE: Final = [
    f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
    for table in ("checkpoints", "writes")
]

DELETE_THREAD: Final = [
    f"DELETE FROM {table} WHERE thread_id = ?" for table in ("checkpoints", "writes")
]

_COLUMNS: Final = {
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
    "writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value",
}
COPY_THREAD: Final = [
    # A checkpoint that is replaced loses its writes: they were those of another.
    f"DELETE FROM writes WHERE thread_id = :target AND (checkpoint_ns, checkpoint_id) IN "
    f"(SELECT checkpoint_ns, checkpoint_id FROM {table} WHERE thread_id = :source)"
    for table in _COLUMNS
] + [
    f"INSERT OR REPLACE INTO {table} (thread_id, {columns}) "
    f"SELECT :target, {columns} FROM {table} WHERE thread_id = :source"
    for table, columns in _COLUMNS.items()
]


class SqliteSaver(BaseCheckpointSaver[str]):
    """Keeps threads in a SQLite database (SV-30 to SV-36).

    Args:
        conn: a connection. `from_conn_string` makes one that suits. With one of your own, open
            it with ``check_same_thread=False``; another one works too if it is to a file, which
            is then opened once more.
        serde: how values become bytes. Classes of yours that the graph's state does not name,
            and that are allowed neither by `with_allowlist` nor by a
            ``JsonPlusSerializer(allowed_msgpack_modules=[…])``, are refused with a `TypeError`
            when they are stored: the next process could not read them.

    Several threads may use one saver at the same time, and several processes one file. When
    `put` or `put_writes` returns, what was stored is on the disk.

    In the database, the metadata is JSON, and as readable as anything in the file.

    >>> with SqliteSaver.from_conn_string(":memory:") as saver:
    ...     config = {"configurable": {"thread_id": "a", "checkpoint_ns": ""}}
    ...     checkpoint = {"v": 4, "id": "1", "ts": "", "channel_values": {"x": [1]},
    ...         "channel_versions": {"x": 1}, "versions_seen": {}, "updated_channels": None}
    ...     _ = saver.put(config, checkpoint, {"step": -1}, {"x": 1})
    ...     saver.get(config)["channel_values"]
    {'x': [1]}
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        *,
        serde: SerializerProtocol | UntypedSerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        # The next process knows nothing of what this one has stored. So a serializer that would
        # go by that is given a list, an empty one; a graph adds the types of its state to it.
        self.serde = self.with_allowlist(()).serde
        self.database = Database(conn)

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str) -> Iterator[Self]:
        """A saver on a file, for a ``with`` block; the connection is closed at its end (SV-31).

        Args:
            conn_string: the path. It is made if it is not there. ``":memory:"`` for none.
        """
        saver = cls(connect(conn_string))
        try:
            yield saver
        finally:
            saver.database.close()

    @property
    def conn(self) -> sqlite3.Connection:
        """The connection."""
        return self.database.conn

    @property
    def is_setup(self) -> bool:
        """Whether `setup` has been called, by the caller or by whatever came first."""
        return self.database.is_setup

    def setup(self) -> None:
        """Make the tables, or bring them up to date. Need not be called: everything else does.

        Raises `sqlite3.Error`, naming the file, if it cannot be opened, is no database, or has
        such tables of some other kind.
        """
        self.database.set_up()

    def cursor(self, transaction: bool = True) -> AbstractContextManager[sqlite3.Cursor]:
        """A cursor in a transaction of its own: for writing, or with ``False`` for reading.

        Others wait until the block is over.
        """
        return self.database.transaction(WRITE if transaction else READ)

    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """Text that sorts: a counter, and a random part that keeps branches apart (CP-04)."""
        return next_text_version(current)

    def _missing(self, method: str) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__} has no {method}(): it would hold up the event loop. "
            f"Use minigraph.checkpoint.sqlite.aio.AsyncSqliteSaver in async code."
        )

    # ------------------------------------------------------------------ writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        prepared = self.prepare_put(config, checkpoint, metadata, new_versions)
        self.store([prepared])
        return address(*prepared[1][0][:3])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self.store([self.prepare_put_writes(config, writes, task_id, task_path)])

    # The same in two halves. Who stores in the background must take the values as they are now,
    # and will have the disk asked once for all that has come together in the meantime.

    def prepare_put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Prepared:
        """The first half of `put`: everything in bytes, and nothing stored. Raises what it does."""
        return PUT, [checkpoint_row(config, checkpoint, metadata, self.serde)]

    def prepare_put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> Prepared:
        """The first half of `put_writes`."""
        return PUT_WRITE, writes_rows(config, writes, task_id, task_path, self.serde)

    def store(self, prepared: Sequence[Prepared]) -> None:
        """The second half: store what was prepared, in this order, in one transaction.

        >>> with SqliteSaver.from_conn_string(":memory:") as saver:
        ...     at = {"configurable": {"thread_id": "a", "checkpoint_id": "1"}}
        ...     prepared = [saver.prepare_put_writes(at, [("x", n)], f"task {n}") for n in (1, 2)]
        ...     saver.store(prepared)
        """
        with self.cursor() as cursor:
            for statement, rows in prepared:
                if len(rows) == 1:
                    cursor.execute(statement, rows[0])
                else:
                    cursor.executemany(statement, rows)

    # ------------------------------------------------------------------ reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        configurable = config["configurable"]
        thread_id = str(configurable["thread_id"])
        namespace = configurable.get("checkpoint_ns", "")
        checkpoint_id = get_checkpoint_id(config)
        with self.cursor(transaction=False) as cursor:
            stored = fetch(cursor, thread_id, namespace, checkpoint_id)
        return self._record(stored, config if checkpoint_id else None) if stored else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """As the contract says; newest first, across namespaces and threads (SV-47).

        What is put or deleted while somebody reads on is in the list or not, and disturbs
        nothing; nobody has to wait for the reader. A negative `limit` gives nothing (SV-45), and
        a `before` without a checkpoint id excludes nothing (SV-44).
        """
        if limit is not None and limit <= 0:
            return
        places = self._places(config, filter or {}, before, limit)
        missing = -1 if limit is None else limit
        at_once = 1  # who only wants the first does not wait for more
        while portion := [*islice(places, at_once if missing < 0 else min(at_once, missing))]:
            with self.cursor(transaction=False) as cursor:
                found = [fetch(cursor, *place) for place in portion]
            for stored in found:
                if stored is not None:  # not deleted in the meantime
                    yield self._record(stored)
                    missing -= 1
            if missing == 0:
                return
            at_once = min(at_once * 2, AT_ONCE)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str], known: Values = NOTHING_KNOWN
    ) -> dict[str, DeltaChannelHistory]:
        """As the contract says, in a few queries."""
        configurable = config["configurable"]
        thread_id = str(configurable["thread_id"])
        namespace = configurable.get("checkpoint_ns", "")
        if not channels:
            return {}
        with self.cursor(transaction=False) as cursor:
            id = get_checkpoint_id(config)
            if not id:
                latest = rows_of(cursor, LATEST_ID, (thread_id, namespace))
                if not latest:
                    return Pieces(channels).histories()
                id = latest[0][0]
            place = Place(thread_id, namespace, id)
            return delta_history(cursor, place, channels, self.serde, self.database.file, known)

    def _places(
        self,
        config: RunnableConfig | None,
        filter: Mapping[str, Any],
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Iterator[Place]:
        """Where the checkpoints of a list are, newest first."""
        passes = metadata_filter(filter)
        statement, values = select(config, filter, before)
        # Without a filter, no more places are needed than tuples are wanted.
        values.append(-1 if filter or limit is None else limit)
        with self.cursor(transaction=False) as cursor:
            found = rows_of(cursor, statement, values)
        for *key, stored in found:
            place = Place(*key)
            metadata = read_metadata(place, stored, self.database.file)
            if not filter or passes(metadata):
                yield place

    def _record(self, stored: Stored, config: RunnableConfig | None = None) -> CheckpointTuple:
        return read_record(self.serde, *stored, config, self.database.file)

    # ----------------------------------------------------------------- removing

    def delete_thread(self, thread_id: str) -> None:
        with self.cursor() as cursor:
            for statement in DELETE_THREAD:
                cursor.execute(statement, (str(thread_id),))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As the contract says. It looks at the metadata of every checkpoint in the file.

        Where it cannot be read which checkpoints later ones need, none is removed, and that is
        an `UnreadableError`, when all the others have been.
        """
        runs = frozenset(several(run_ids, "run_ids"))
        if not runs:
            return
        problems: list[UnreadableError] = []
        with self.cursor() as cursor:
            doomed: dict[tuple[str, str], set[str]] = {}
            cursor.connection.text_factory = AS_STORED  # one by one: they may be very many
            for *place, stored in cursor.execute(ALL_METADATA):
                row = Place(*place)
                try:
                    run = read_metadata(row, stored, self.database.file).get("run_id")
                except UnreadableError:  # nobody's, and no reason to keep the others
                    continue
                if isinstance(run, str) and run in runs:
                    doomed.setdefault(row[:2], set()).add(row.checkpoint_id)
            for (thread_id, namespace), ids in doomed.items():
                try:
                    self._delete(cursor, thread_id, namespace, ids)
                except UnreadableError as problem:
                    problems.append(problem)
        if problems:
            raise problems[0]

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        names = {"source": str(source_thread_id), "target": str(target_thread_id)}
        if names["source"] == names["target"]:
            return
        with self.cursor() as cursor:
            for statement in COPY_THREAD:
                cursor.execute(statement, names)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As the contract says. Damaged rows: as for `delete_for_runs`."""
        check_strategy(strategy)
        threads = several(thread_ids, "thread_ids")
        if strategy == "delete":
            with self.cursor() as cursor:
                for statement in DELETE_THREAD:
                    cursor.executemany(statement, [(thread_id,) for thread_id in threads])
            return
        problems: list[UnreadableError] = []
        for thread_id in threads:
            with self.cursor() as cursor:
                ids: dict[str, list[str]] = {}
                for namespace, checkpoint_id in rows_of(cursor, IDS, (thread_id,)):
                    if is_text(namespace) and is_text(checkpoint_id):
                        ids.setdefault(namespace, []).append(checkpoint_id)
                for namespace, found in ids.items():
                    try:
                        self._delete(cursor, thread_id, namespace, {*found[:-1]})
                    except UnreadableError as problem:
                        problems.append(problem)
        if problems:
            raise problems[0]

    def _delete(
        self, cursor: sqlite3.Cursor, thread_id: str, namespace: str, doomed: set[str]
    ) -> None:
        """Delete checkpoints with their writes, except those that others cannot do without."""

        def read(checkpoint_id: str) -> CheckpointTuple | None:
            stored = fetch(cursor, thread_id, namespace, checkpoint_id)
            return self._record(stored) if stored else None

        found = rows_of(cursor, DEPENDENT_IDS, (thread_id, namespace))
        dependent = {id for (id,) in found if is_text(id)}
        doomed = doomed - still_needed(doomed, dependent - doomed, read)
        for statement in DELETE:
            cursor.executemany(statement, [(thread_id, namespace, id) for id in doomed])


def fetch(
    cursor: sqlite3.Cursor, thread_id: str, namespace: str, checkpoint_id: str | None
) -> Stored | None:
    """A checkpoint's place, row and writes, as they are stored; the latest, without an id."""
    if checkpoint_id:
        found = rows_of(cursor, GET, (thread_id, namespace, checkpoint_id))
    else:
        found = rows_of(cursor, GET_LATEST, (thread_id, namespace))
    if not found:
        return None
    place = Place(thread_id, namespace, found[0][0])
    writes = rows_of(cursor, GET_WRITES, place) if is_text(place.checkpoint_id) else []
    return place, found[0][1:], writes


def select(
    config: RunnableConfig | None, filter: Mapping[str, Any], before: RunnableConfig | None
) -> tuple[str, list[Any]]:
    """The statement that finds the places of a list, newest first, and the values for it, of
    which the last, a limit, is to be added."""
    conditions: list[str] = []
    values: list[Any] = []

    def where(condition: str, *given: Any) -> None:
        conditions.append(condition)
        values.extend(given)

    if config is not None:
        configurable = config["configurable"]
        where("thread_id = ?", str(configurable["thread_id"]))
        if (namespace := configurable.get("checkpoint_ns")) is not None:
            where("checkpoint_ns = ?", namespace)
        if checkpoint_id := get_checkpoint_id(config):
            where("checkpoint_id = ?", checkpoint_id)
    if before and (checkpoint_id := get_checkpoint_id(before)):
        where("checkpoint_id < ?", checkpoint_id)
    for key, value in filter.items():
        # SQLite looks through metadata ten times as fast. But it may only leave out what certainly
        # does not pass, so it is asked about plain entries, and what it finds is looked at again.
        if is_plain(key, value):
            where(LOOKS_LIKE, f'$."{key}"', value)
    all_conditions = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    statement = (
        f"SELECT thread_id, checkpoint_ns, checkpoint_id, {'metadata' if filter else 'NULL'} "
        f"FROM checkpoints {all_conditions}"
        f"ORDER BY checkpoint_id DESC, thread_id, checkpoint_ns LIMIT ?"
    )
    return statement, values
