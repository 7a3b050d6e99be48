"""The simplest thing that satisfies the contract of a saver: three dicts.

    storage[thread][namespace][checkpoint id]        = (checkpoint, metadata, parent's id)
    blobs[thread, namespace, channel, version]       = value
    writes[thread, namespace, checkpoint id][task id, index] = (task id, channel, value, task path)

Checkpoint, metadata and values stand there as a serializer made them, tag and bytes. So
nobody shares a list with the store: what a node does to its state later does not rewrite
history.

A channel's value is not stored with the checkpoint, but under its version. A super-step
that changes two channels of a thousand stores two values, and the new checkpoint finds
the others where they are, by the versions it lists:

    checkpoint 7   {"messages": 7, "user": 1}   ──▶ blobs[…, "messages", 7], blobs[…, "user", 1]
    checkpoint 8   {"messages": 8, "user": 1}   ──▶ blobs[…, "messages", 8], blobs[…, "user", 1]

The three dicts are the truth, and they are public: look into them, or delete from them,
as you like.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import dropwhile, islice
from types import MappingProxyType
from typing import Any, Final, Self, TypeAlias

from minigraph.checkpoint.base.ancestors import still_needed
from minigraph.checkpoint.base.history import (
    COUNTERS,
    NOTHING_KNOWN,
    DeltaChannelHistory,
    Pieces,
    Values,
    broken,
)
from minigraph.checkpoint.base.id import next_text_version
from minigraph.checkpoint.base.records import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from minigraph.checkpoint.base.saver import BaseCheckpointSaver, check_strategy, several
from minigraph.checkpoint.memory.rows import Row, Rows, Typed, metadata_filter, newest_first
from minigraph.checkpoint.serde.base import SerializerProtocol
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.errors import add_note
from minigraph.types import RunnableConfig, new_record

__all__ = ["InMemorySaver", "MemorySaver"]

BlobKey: TypeAlias = tuple[str, str, str, str | int | float]
WritesKey: TypeAlias = tuple[str, str, str]
StoredWrite: TypeAlias = tuple[str, str, Typed, str]

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
"""What is in a dict that is not there."""

UNCHANGEABLE: Final = frozenset({type(None), bool, int, float, str})
"""Types of which two tuples may hold the same value, because neither can do anything to it."""

EMPTY: Final[Typed] = ("empty", b"")
"""Stored for a channel that has a version and no value (SD-03, SV-20)."""


class InMemorySaver(BaseCheckpointSaver[str]):
    """Keeps threads in this process's memory: for tests, notebooks and learning.

    Args:
        serde: how values become bytes. The default builds every dataclass, enum and named
            tuple that it finds in data (``allowed_msgpack_modules=True``), and is the only
            one that does: here the data has never left the process, so it names nothing
            that this process has not put there itself.

    Several runs may use one saver at the same time, from several threads. It can stand in a
    ``with`` or ``async with``, as a saver that holds a connection does; leaving does nothing.
    A thread id that is not text is taken as its text.

    Note that `put` stores the values of the channels in `new_versions` and no others: with
    ``new_versions={}`` a checkpoint comes back without values (SV-21). Unless its parent has been
    removed meanwhile, by `prune` or the like, and with it values that have not changed since.

    >>> saver = InMemorySaver()
    >>> config = {"configurable": {"thread_id": "a", "checkpoint_ns": ""}}
    >>> checkpoint = {"v": 4, "id": "1", "ts": "", "channel_values": {"x": [1]},
    ...               "channel_versions": {"x": 1}, "versions_seen": {}, "updated_channels": None}
    >>> saver.put(config, checkpoint, {"step": -1}, {"x": 1})
    {'configurable': {'thread_id': 'a', 'checkpoint_ns': '', 'checkpoint_id': '1'}}
    >>> saver.get(config)["channel_values"]
    {'x': [1]}
    """

    stores_at_once = True

    storage: dict[str, dict[str, Rows]]
    blobs: dict[BlobKey, Typed]
    writes: dict[WritesKey, dict[tuple[str, int], StoredWrite]]

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=True))
        self.storage = defaultdict(lambda: defaultdict(Rows))
        self.blobs = {}
        self.writes = defaultdict(dict)
        # Held while the dicts are read or changed together, hardly ever while values are converted.
        self._lock = threading.Lock()
        # Which keys of `blobs` and `writes` belong to a thread, so that deleting one does not
        # look at all the others; and how many there should be, to notice when it no longer fits.
        self._keys: dict[str, list[BlobKey | WritesKey]] = defaultdict(list)
        self._key_count = 0
        # Until then, a value that is not here was never to be stored (SV-21).
        self._has_removed_values = False

    # ------------------------------------------------------------------ writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        configurable = config["configurable"]
        thread_id, namespace = str(configurable["thread_id"]), configurable["checkpoint_ns"]
        checkpoint_id = checkpoint["id"]
        rest: Any = checkpoint.copy()
        values = rest.pop("channel_values")
        dumps = self.serde.dumps_typed
        blobs: dict[BlobKey, Typed] = {}
        kind, name = "checkpoint", checkpoint_id
        parent = configurable.get("checkpoint_id")
        try:
            row = dumps(rest), dumps(get_checkpoint_metadata(config, metadata)), parent
            kind = "channel"
            for name, version in new_versions.items():
                blobs[thread_id, namespace, name, version] = (
                    dumps(values[name]) if name in values else EMPTY
                )
            with self._lock:
                is_lost = parent and parent not in self._rows(thread_id, namespace)
                if is_lost and self._has_removed_values:
                    # It was removed while a run went on from it, and what did not change is gone.
                    for name, version in checkpoint["channel_versions"].items():
                        key = thread_id, namespace, name, version
                        if name in values and key not in blobs and key not in self.blobs:
                            blobs[key] = dumps(values[name])
                self._key_count -= len(self.blobs)
                self._keys[thread_id].extend(blobs)
                self.blobs.update(blobs)
                self._key_count += len(self.blobs)
                # The row comes last: a Ctrl-C may strike between any two of these lines, and a row
                # without its values would be read as a state that has lost them.
                self.storage[thread_id][namespace][checkpoint_id] = row
        except Exception as error:
            _add_note(error, "storing", kind, name, thread_id)
            raise
        return _address(thread_id, namespace, checkpoint_id)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        configurable = config["configurable"]
        thread_id = str(configurable["thread_id"])
        key = (thread_id, configurable.get("checkpoint_ns", ""), configurable["checkpoint_id"])
        dumps = self.serde.dumps_typed
        new: dict[tuple[str, int], StoredWrite] = {}
        for position, (channel, value) in enumerate(writes):
            place = (task_id, WRITES_IDX_MAP.get(channel, position))
            try:
                new[place] = (task_id, channel, dumps(value), task_path)
            except Exception as error:
                _add_note(error, "storing", "a write to", channel, thread_id)
                raise

        with self._lock:
            stored = self.writes.get(key)
            if stored is None:
                self._keys[thread_id].append(key)
                self.writes[key] = new
                self._key_count += 1
                return
            # In one step, into which no Ctrl-C can strike: half of a task's writes are none.
            stored.update([(p, w) for p, w in new.items() if p[1] < 0 or p not in stored])

    def delete_thread(self, thread_id: str) -> None:
        thread_id = str(thread_id)
        with self._lock:
            self.storage.pop(thread_id, None)
            self._drop(thread_id, lambda key: True)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        wanted = several(run_ids, "run_ids")
        filters = [metadata_filter({"run_id": run_id}, self.serde) for run_id in wanted]
        for thread_id, namespace in self._namespaces(None) if filters else ():
            rows = self._rows(thread_id, namespace)
            doomed = {
                checkpoint_id
                for checkpoint_id in self._ids(thread_id, namespace, None, None, None)
                if (row := rows.get(checkpoint_id)) and any(passes(row[1]) for passes in filters)
            }
            self._delete(thread_id, namespace, doomed)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As the contract says. Raises `ValueError` if a value of the source would take the place
        of another one, which a checkpoint that stays in the target needs."""
        source, target = str(source_thread_id), str(target_thread_id)
        with self._lock:
            if source == target:
                return
            namespaces = self.storage.get(source, {})
            replaced = {(namespace, id) for namespace in namespaces for id in namespaces[namespace]}
            self._check_versions(source, target, replaced)
            # A checkpoint that is replaced loses its writes: they were those of another.
            self._drop(target, lambda key: len(key) == 3 and key[1:] in replaced)
            for key in self._keys_of(source):
                if len(key) == 4:
                    blob_key = (target, *key[1:])
                    self._keys[target].append(blob_key)
                    self.blobs[blob_key] = self.blobs[key]
                else:
                    writes_key = (target, *key[1:])
                    self._keys[target].append(writes_key)
                    self.writes[writes_key] = self.writes[key].copy()
            self._key_count = len(self.blobs) + len(self.writes)
            for namespace, rows in namespaces.items():
                for checkpoint_id, row in rows.items():
                    self.storage[target][namespace][checkpoint_id] = row

    def _check_versions(self, source: str, target: str, replaced: set[tuple[str, str]]) -> None:
        """Refuse to copy a thread over another one, where both mean something else by a version."""
        for namespace, rows in self.storage.get(target, NOTHING).items():
            for checkpoint_id, row in rows.items():
                if (namespace, checkpoint_id) in replaced:
                    continue
                for place in self.serde.loads_typed(row[0])["channel_versions"].items():
                    mine = self.blobs.get((target, namespace, *place))
                    other = self.blobs.get((source, namespace, *place))
                    if mine and other and mine != other:
                        raise ValueError(
                            f"Thread {source!r} cannot be copied into {target!r}: both have a "
                            f"version {place[1]!r} of channel {place[0]!r}, of another value. Copy "
                            f"it into a thread that is not there yet."
                        )

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        check_strategy(strategy)
        for thread_id in several(thread_ids, "thread_ids"):
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue
            for _, namespace in self._namespaces({"configurable": {"thread_id": thread_id}}):
                ids = self._ids(thread_id, namespace, None, None, None)
                self._delete(thread_id, namespace, {*ids[1:]})

    def _delete(self, thread_id: str, namespace: str, doomed: set[str]) -> None:
        """Delete checkpoints with their writes, except those that others cannot do without; and
        the values that no checkpoint lists any more."""

        def read(checkpoint_id: str) -> CheckpointTuple | None:
            return self._read(thread_id, namespace, checkpoint_id)

        loads = self.serde.loads_typed
        depend = [
            checkpoint_id
            for checkpoint_id, row in [*self._rows(thread_id, namespace).items()]
            if checkpoint_id not in doomed and COUNTERS in loads(row[1])
        ]
        doomed = doomed - still_needed(doomed, depend, read)
        if not doomed:
            return
        with self._lock:
            # Here values are converted under the lock: no checkpoint may come in between.
            rows = self.storage[thread_id][namespace]
            listed: set[tuple[str, Any]] = set()
            for checkpoint_id, row in rows.items():
                if checkpoint_id not in doomed:
                    listed.update(loads(row[0])["channel_versions"].items())
            for checkpoint_id in doomed:
                rows.pop(checkpoint_id, None)

            def is_left_over(key: BlobKey | WritesKey) -> bool:
                if key[1] != namespace:
                    return False
                return key[2:] not in listed if len(key) == 4 else key[2] in doomed

            self._drop(thread_id, is_left_over)

    def _drop(self, thread_id: str, is_meant: Callable[[BlobKey | WritesKey], bool]) -> None:
        """Remove those blobs and writes of a thread that are meant."""
        kept: list[BlobKey | WritesKey] = []
        for key in self._keys_of(thread_id):
            if not is_meant(key):
                kept.append(key)
            elif len(key) == 4:
                del self.blobs[key]
                self._has_removed_values = True
            else:
                del self.writes[key]
        if kept:
            self._keys[thread_id] = kept
        else:
            self._keys.pop(thread_id, None)
        self._key_count = len(self.blobs) + len(self.writes)

    def _keys_of(self, thread_id: str) -> Sequence[BlobKey | WritesKey]:
        """The keys of a thread's blobs and writes, each once."""
        if self._key_count != len(self.blobs) + len(self.writes):
            self._find_keys()
        found = dict.fromkeys(self._keys.get(thread_id, ()))
        return [key for key in found if key in (self.blobs if len(key) == 4 else self.writes)]

    def _find_keys(self) -> None:
        """Somebody has edited the dicts by hand: look again whose their keys are."""
        self._keys.clear()
        for blob_key in self.blobs:
            self._keys[blob_key[0]].append(blob_key)
        for writes_key in self.writes:
            self._keys[writes_key[0]].append(writes_key)

    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """Text that sorts: a counter, and a random part that keeps branches apart (CP-04)."""
        return next_text_version(current)

    # ------------------------------------------------------------------ reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        configurable = config["configurable"]
        thread_id = str(configurable["thread_id"])
        namespace = configurable.get("checkpoint_ns", "")
        if checkpoint_id := get_checkpoint_id(config):
            return self._read(thread_id, namespace, checkpoint_id, config)
        with self._lock:
            latest = next(newest_first(self._rows(thread_id, namespace)), None)
        return self._read(thread_id, namespace, latest) if latest else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """As the contract says; grouped by thread and namespace, newest first in each (SV-47).

        What is put or deleted while somebody reads on is in the list or not, and disturbs
        nothing. A negative `limit` gives nothing (SV-45), and a `before` without a checkpoint
        id excludes nothing (SV-44).
        """
        before_id = get_checkpoint_id(before) if before else None
        passes = metadata_filter(filter, self.serde) if filter else None
        unchanged: dict[str, tuple[Typed, Any]] = {}
        remaining = limit
        for thread_id, namespace in self._namespaces(config):
            if remaining is not None and remaining <= 0:
                return
            only = get_checkpoint_id(config) if config else None
            # Without a filter, no more ids are needed than tuples are wanted.
            enough = remaining if filter is None else None
            for checkpoint_id in self._ids(thread_id, namespace, only, before_id, enough):
                if passes is not None:
                    # As in _rows; this line is the inner loop of a search.
                    rows = self.storage.get(thread_id, NOTHING).get(namespace, NOTHING)
                    if not ((row := rows.get(checkpoint_id)) and passes(row[1])):
                        continue
                found = self._read(thread_id, namespace, checkpoint_id, unchanged=unchanged)
                if found is None:  # deleted in the meantime
                    continue
                yield found
                if remaining is not None:
                    remaining -= 1
                    if remaining <= 0:
                        return

    def _namespaces(self, config: RunnableConfig | None) -> Sequence[tuple[str, str]]:
        """The (thread, namespace) pairs that `config` means."""
        with self._lock:
            if config is None:
                return [(thread, ns) for thread in self.storage for ns in self.storage[thread]]
            configurable = config["configurable"]
            thread_id = str(configurable["thread_id"])
            namespace = configurable.get("checkpoint_ns")
            if namespace is not None:
                return [(thread_id, namespace)]
            return [(thread_id, ns) for ns in self.storage.get(thread_id, ())]

    def _ids(
        self,
        thread_id: str,
        namespace: str,
        only: str | None,
        before: str | None,
        enough: int | None,
    ) -> Sequence[str]:
        """The ids to list, newest first, as they are now."""
        with self._lock:
            rows = self._rows(thread_id, namespace)
            if only:
                ids = iter([only] if only in rows else [])
            else:
                ids = newest_first(rows)
            if before:
                ids = dropwhile(lambda checkpoint_id: checkpoint_id >= before, ids)
            return [*islice(ids, None if enough is None else max(enough, 0))]

    def _rows(self, thread_id: str, namespace: str) -> Mapping[str, Row]:
        """The rows of a namespace. Asking leaves no trace of a thread that is not there."""
        return self.storage.get(thread_id, NOTHING).get(namespace, NOTHING)

    def _read(
        self,
        thread_id: str,
        namespace: str,
        checkpoint_id: str,
        config: RunnableConfig | None = None,
        unchanged: dict[str, tuple[Typed, Any]] | None = None,
    ) -> CheckpointTuple | None:
        """One checkpoint, put together from the three dicts.

        `unchanged` is what a listing remembers from one checkpoint to the next: channel → the
        stored value and the value. Most channels do not change in a super-step.
        """
        loads = self.serde.loads_typed
        kind, name = "checkpoint", checkpoint_id
        try:
            row = self._rows(thread_id, namespace).get(checkpoint_id)
            while row is not None:
                checkpoint = loads(row[0])
                values: dict[str, Any] = {}  # as they are stored, for now
                writes: list[tuple[str, tuple[str, int], StoredWrite]] = []
                with self._lock:
                    now = self._rows(thread_id, namespace).get(checkpoint_id)
                    if now is not row:  # replaced or deleted while it was being decoded
                        row = now
                        continue
                    blobs = self.blobs
                    for channel, version in checkpoint["channel_versions"].items():
                        typed = blobs.get((thread_id, namespace, channel, version), EMPTY)
                        if typed[0] != "empty":
                            values[channel] = typed
                    if stored := self.writes.get((thread_id, namespace, checkpoint_id)):
                        for place, write in stored.items():
                            # Path, (task id, index): the order of `writes_sort_key` (SV-09).
                            writes.append((write[3], place, write))
                break
            else:
                return None

            metadata = loads(row[1])
            kind = "channel"
            for name, typed in values.items():
                if unchanged is None:
                    values[name] = loads(typed)
                elif (known := unchanged.get(name)) and known[0] is typed:
                    values[name] = known[1]
                else:
                    value = values[name] = loads(typed)
                    if type(value) in UNCHANGEABLE:
                        unchanged[name] = typed, value
            kind = "a write to"
            writes.sort()
            pending: list[PendingWrite] = []
            for _, _, (task_id, name, typed, _) in writes:
                pending.append((task_id, name, loads(typed)))
        except Exception as error:
            _add_note(error, "reading", kind, name, thread_id)
            raise

        checkpoint["channel_values"] = values
        if config is None:
            config = _address(thread_id, namespace, checkpoint_id)
        parent = _address(thread_id, namespace, row[2]) if row[2] else None
        return new_record(CheckpointTuple, (config, checkpoint, metadata, parent, pending))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str], known: Values = NOTHING_KNOWN
    ) -> dict[str, DeltaChannelHistory]:
        """As the contract says. Of what is on the way, only these channels are decoded."""
        configurable = config["configurable"]
        thread_id = str(configurable["thread_id"])
        namespace = configurable.get("checkpoint_ns", "")
        asked, pieces = get_checkpoint_id(config), Pieces(channels)
        with self._lock:
            rows = self._rows(thread_id, namespace)
            here = asked or next(newest_first(rows), "")
            row = rows.get(here)
        if row is None and asked and channels:
            raise broken(None, asked, None, pieces)
        passed = {here}
        parent = row[2] if row is not None else None
        while parent and pieces.missing:
            at_hand = known.get(parent, NOTHING)
            found = self._pieces((thread_id, namespace, parent), pieces.missing, at_hand)
            if found is None or parent in passed:
                raise broken(here, parent, found and parent, pieces)
            here = parent
            passed.add(here)
            parent, values, writes = found
            pieces.add(values, writes)
        return pieces.histories()

    def _pieces(
        self, place: WritesKey, channels: set[str], known: Mapping[str, Any]
    ) -> tuple[str | None, dict[str, Any], Sequence[PendingWrite]] | None:
        """The parent of a checkpoint, and the values and writes of these channels there. Some
        values are known. ``None`` if it is not there."""
        thread_id, namespace, checkpoint_id = place
        loads = self.serde.loads_typed
        kind, name = "checkpoint", checkpoint_id
        try:
            row = self._rows(thread_id, namespace).get(checkpoint_id)
            while row is not None:
                versions = {} if channels <= known.keys() else loads(row[0])["channel_versions"]
                with self._lock:
                    now = self._rows(thread_id, namespace).get(checkpoint_id)
                    if now is not row:  # as in _read
                        row = now
                        continue
                    stored = [*self.writes.get(place, NOTHING).items()]
                    blobs = {
                        name: self.blobs.get((thread_id, namespace, name, versions[name]), EMPTY)
                        for name in channels & versions.keys()
                    }
                break
            else:
                return None
            stored = [(place, write) for place, write in stored if write[1] in channels]
            kind = "a write to"
            writes: list[PendingWrite] = []
            for _, (task_id, name, typed, _) in sorted(stored, key=_in_order):
                writes.append((task_id, name, loads(typed)))
            kind = "channel"
            values = {**known}
            for name, typed in blobs.items():
                if name not in known and typed[0] != "empty":
                    values[name] = loads(typed)
        except Exception as error:
            _add_note(error, "reading", kind, name, thread_id)
            raise
        return row[2], values, writes

    # ------------------------------------- the async twins: nothing here ever waits

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for found in self.list(config, filter=filter, before=before, limit=limit):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.delete_for_runs(run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copy_thread(source_thread_id, target_thread_id)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str], known: Values = NOTHING_KNOWN
    ) -> dict[str, DeltaChannelHistory]:
        return self.get_delta_channel_history(config=config, channels=channels, known=known)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.prune(thread_ids, strategy=strategy)

    # ----------------------------------------------------------- as a with-block

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        return None


MemorySaver = InMemorySaver
"""Its older name (SV-23)."""


def _in_order(stored: tuple[tuple[str, int], StoredWrite]) -> tuple[str, tuple[str, int]]:
    """The order of `writes_sort_key` (SV-09)."""
    place, write = stored
    return write[3], place


def _address(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }


def _add_note(error: Exception, doing: str, kind: str, name: str, thread_id: str) -> None:
    """The serializer knows what is wrong with a value; we know whose value it was."""
    add_note(error, f"This happened while {doing} {kind} {name!r} of thread {thread_id!r}.")
