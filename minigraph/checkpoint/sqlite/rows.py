"""From records to rows, and from rows to records.

A checkpoint is stored whole, as the serializer makes it. Its metadata is stored as JSON, in a
form that SQLite's own functions and anybody's tools can read, and that is searched:

    put_row        config, checkpoint, metadata    ──▶  7 columns of `checkpoints`
    writes_rows    config, writes, task            ──▶  9 columns of `writes`, for each write
    read_record    those columns                   ──▶  CheckpointTuple

Nothing here knows of a connection.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from json import JSONDecoder, JSONEncoder
from typing import Any, Final, NamedTuple, TypeAlias, cast

from minigraph.checkpoint.base.records import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_metadata,
)
from minigraph.checkpoint.serde.base import SerializerProtocol, UnreadableError
from minigraph.errors import add_note
from minigraph.types import RunnableConfig, new_record

__all__ = [
    "CheckpointRow",
    "Place",
    "WriteRow",
    "address",
    "checkpoint_row",
    "is_plain",
    "is_text",
    "metadata_filter",
    "read_metadata",
    "read_record",
    "writes_rows",
]


class Place(NamedTuple):
    """Where a checkpoint is: the key of its row."""

    thread_id: str
    namespace: str
    checkpoint_id: str


CheckpointRow: TypeAlias = tuple[str, str, str, str | None, str, bytes, bytes]
"""A row of `checkpoints`, in the order of its columns."""

WriteRow: TypeAlias = tuple[str, str, str, str, str, int, str, str, bytes]
"""A row of `writes`, in the order of its columns."""

_to_json: Final = JSONEncoder(ensure_ascii=False).encode
_to_ascii_json: Final = JSONEncoder().encode
_from_json: Final = JSONDecoder().decode


# ------------------------------------------------------------------------ writing


def checkpoint_row(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    serde: SerializerProtocol,
) -> CheckpointRow:
    """The row of a checkpoint (SV-32).

    Raises `TypeError`, and says whose value it is, for what the serializer does not store, and
    for metadata that JSON cannot hold (SV-46).
    """
    configurable = config["configurable"]
    thread_id, namespace = str(configurable["thread_id"]), configurable["checkpoint_ns"]
    checkpoint_id = checkpoint["id"]
    dumps = serde.dumps_typed
    try:
        typed = dumps(checkpoint)
    except Exception as error:
        # Somewhere in the whole. Which channel it is, one finds out by asking each.
        for channel, value in checkpoint["channel_values"].items():
            try:
                dumps(value)
            except Exception as problem:
                _add_note(problem, "storing", "channel", channel, thread_id)
                raise problem from None
        _add_note(error, "storing", "checkpoint", checkpoint_id, thread_id)
        raise
    try:
        stored = _metadata_bytes(get_checkpoint_metadata(config, metadata))
    except Exception as error:
        _add_note(error, "storing", "metadata of", checkpoint_id, thread_id)
        raise
    parent = configurable.get("checkpoint_id")
    return thread_id, namespace, checkpoint_id, parent, *typed, stored


def writes_rows(
    config: RunnableConfig,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
    serde: SerializerProtocol,
) -> list[WriteRow]:
    """The rows of a task's writes. Raises as `checkpoint_row` does."""
    configurable = config["configurable"]
    thread_id = str(configurable["thread_id"])
    namespace, checkpoint_id = configurable.get("checkpoint_ns", ""), configurable["checkpoint_id"]
    dumps = serde.dumps_typed
    rows: list[WriteRow] = []
    for position, (channel, value) in enumerate(writes):
        try:
            typed = dumps(value)
        except Exception as error:
            _add_note(error, "storing", "a write to", channel, thread_id)
            raise
        index = WRITES_IDX_MAP.get(channel, position)
        rows.append(
            (thread_id, namespace, checkpoint_id, task_id, task_path, index, channel, *typed)
        )
    return rows


def _metadata_bytes(metadata: CheckpointMetadata) -> bytes:
    try:
        return _to_json(metadata).encode()
    except UnicodeEncodeError:  # half a character: JSON can write it down, UTF-8 cannot
        return _to_ascii_json(metadata).encode()
    except TypeError as error:
        raise TypeError(
            f"Metadata is stored as JSON, which cannot hold this: {error}. "
            f"Convert it to text, or to lists and dicts of plain data"
        ) from error


# ------------------------------------------------------------------------ reading


def read_record(
    serde: SerializerProtocol,
    place: Place,
    row: tuple[Any, ...],
    writes: Sequence[tuple[str, str, str, bytes]],
    config: RunnableConfig | None,
    file: str,
) -> CheckpointTuple:
    """The record of a row (parent, tag, bytes, metadata) and of its writes, which are in order and
    come as (task id, channel, tag, bytes).

    `config` is the one that was asked with, if it named this checkpoint (SV-05). Raises what the
    serializer does, saying which row of which file cannot be read.
    """
    thread_id, namespace, checkpoint_id = place
    parent_id, tag, content, stored = row
    metadata = read_metadata(place, stored, file)
    loads = serde.loads_typed
    kind, name = "checkpoint", checkpoint_id
    try:
        checkpoint = loads((tag, content)) if content is not None else None
        if not isinstance(checkpoint, dict) or not (
            isinstance(checkpoint.get("channel_values"), dict)
            and isinstance(checkpoint.get("channel_versions", {}), dict)
        ):
            raise UnreadableError("The stored bytes are damaged: what they hold is no checkpoint.")
        _check_text(parent_id or "")
        kind = "a write to"
        pending: list[PendingWrite] = []
        for task_id, name, tag, content in writes:
            _check_text(task_id)
            _check_text(name)
            pending.append((task_id, name, loads((tag, content))))
    except Exception as error:
        _add_place(error, kind, name, place, file)
        raise
    if config is None:
        config = address(thread_id, namespace, checkpoint_id)
    parent = address(thread_id, namespace, parent_id) if parent_id else None
    return new_record(CheckpointTuple, (config, checkpoint, metadata, parent, pending))


def read_metadata(place: Place, stored: Any, file: str) -> CheckpointMetadata:
    """Metadata from its column: bytes, or text, or nothing.

    Raises `UnreadableError` for anything else, and for a row whose key is not what it should be.
    """
    try:
        for text in place:
            _check_text(text)
        if stored is None:
            return {}
        if isinstance(stored, str):
            stored = stored.encode()
        if not isinstance(stored, bytes):
            raise ValueError(f"it is a {type(stored).__name__}")
        metadata: Any = _from_json(stored.decode())
        if not isinstance(metadata, dict):
            raise ValueError("it is no JSON object")
    except (ValueError, RecursionError) as error:
        problem = UnreadableError(f"The stored metadata is damaged: {error}.")
        _add_place(problem, "metadata of", place.checkpoint_id, place, file)
        raise problem from error
    return cast(CheckpointMetadata, metadata)


def is_text(found: Any) -> bool:
    """Whether a column holds what can be asked for: text that is UTF-8.

    >>> is_text("ü"), is_text("\\udcff"), is_text(b"x")
    (True, False, False)
    """
    if not isinstance(found, str):
        return False
    if not found.isascii():
        try:
            found.encode()
        except UnicodeEncodeError:
            return False
    return True


def _check_text(found: Any) -> None:
    if not is_text(found):
        raise UnreadableError(f"The row is damaged: {found!r} should be text in UTF-8.")


def address(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    """The full config of a checkpoint."""
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


def _add_place(error: Exception, kind: str, name: str, place: Place, file: str) -> None:
    _add_note(error, "reading", kind, name, place.thread_id)
    add_note(error, f"The row is {tuple(place)!r}" + (f" in {file!r}." if file else "."))


# ---------------------------------------------------------------------- searching

FILTER_KEY: Final = re.compile(r"[A-Za-z0-9_.-]+")


def metadata_filter(filter: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    """A function that tells whether metadata passes `filter` (SV-11, SV-33).

    A dot leads into a dict, unless there is an entry that has the dot in its name. A value of
    ``None`` is also found where there is nothing. A value is compared as JSON would give it
    back, so a tuple equals the list that it has become.

    Raises `ValueError` for a key with other characters than letters, digits, ``_``, ``.`` and
    ``-`` (SV-42). Nothing bad could come of one: keys never become part of a statement. But a
    search that can find nothing in one store, and is refused by another, is a mistake.

    >>> metadata_filter({"user.name": "ada"})({"user": {"name": "ada"}})
    True
    >>> metadata_filter({"a b": 1})
    Traceback (most recent call last):
    ValueError: Invalid filter key: 'a b'. Use letters, digits, "_", "-", and "." to go deeper.
    """
    for key in filter:
        if not (isinstance(key, str) and FILTER_KEY.fullmatch(key)):
            raise ValueError(
                f'Invalid filter key: {key!r}. Use letters, digits, "_", "-", and "." to go deeper.'
            )
    wanted = [(key, key.split("."), _as_json_gives_it(value)) for key, value in filter.items()]

    def passes(metadata: Mapping[str, Any]) -> bool:
        return all(_find(metadata, key, path) == value for key, path, value in wanted)

    return passes


def is_plain(key: str, value: Any) -> bool:
    """Whether an entry of a filter means the same to SQLite's functions for JSON, where it is
    found. A key with a dot may be a name or a way; a float may be written down in several ways,
    and what is long or has a NUL in it is not always read to its end.

    >>> is_plain("step", 7), is_plain("user.name", "ada"), is_plain("share", 0.1)
    (True, False, False)
    """
    if "." in key:
        return False
    if type(value) is str:
        return value.isprintable()
    return type(value) is bool or (type(value) is int and abs(value) < 2**53)


def _find(metadata: Mapping[str, Any], key: str, path: Sequence[str]) -> Any:
    if key in metadata or len(path) == 1:
        return metadata.get(key)
    found: Any = metadata
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _as_json_gives_it(value: Any) -> Any:
    try:
        return _from_json(_to_json(value))
    except (TypeError, ValueError):
        return value
