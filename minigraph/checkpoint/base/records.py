"""What is stored: one checkpoint after every super-step, and the writes on top of it.

A thread is a chain of checkpoints. Each is the whole state *between* two super-steps,
together with the versions from which it follows what runs next. While the next
super-step is under way, what its tasks have produced so far hangs on the checkpoint
that it started from, as *pending writes*:

    checkpoint −1 ◀── checkpoint 0 ◀── checkpoint 1 ◀── …        the parent chain
       input             │                 │
                    writes of a       writes of b                pending writes

When the process dies in the middle of a super-step, the last checkpoint and its pending
writes are what is left, and enough to go on: tasks that have writes there do not run
again. The writes stay when the super-step completes; history is never edited (CP-07).

The dicts here are plain, so that a saver written by anybody can build them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from typing_extensions import TypedDict

from minigraph.checkpoint.base.id import uuid6_text
from minigraph.constants import ERROR, INTERRUPT, RESUME, SCHEDULED
from minigraph.types import RunnableConfig

__all__ = [
    "EXCLUDED_METADATA_KEYS",
    "WRITES_IDX_MAP",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "PendingWrite",
    "copy_checkpoint",
    "empty_checkpoint",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "writes_sort_key",
]

ChannelVersions: TypeAlias = dict[str, str | int | float]
"""Channel → version. All versions of one saver are of one type, and greater means newer."""

PendingWrite: TypeAlias = tuple[str, str, Any]
"""(task id, channel, value)."""

WRITES_IDX_MAP: Final[dict[str, int]] = {ERROR: -1, SCHEDULED: -2, INTERRUPT: -3, RESUME: -4}
"""The index of a write that is about its task. An ordinary write's index is its position in
the list; these have one place each, so a task has at most one of each kind, and a newer one
takes the older one's place (CP-20)."""

EXCLUDED_METADATA_KEYS: Final = frozenset(
    {
        "thread_id",
        "checkpoint_id",
        "checkpoint_ns",
        "checkpoint_map",
        "langgraph_step",
        "langgraph_node",
        "langgraph_triggers",
        "langgraph_path",
        "langgraph_checkpoint_ns",
    }
)
"""Keys of a config that are not copied into metadata: they say where the checkpoint is (CP-13)."""


class CheckpointMetadata(TypedDict, total=False):
    """Why a checkpoint was made. Beside these keys it holds the caller's own (CP-13)."""

    source: Literal["input", "loop", "update", "fork"]
    """``input``: from the input of a run; ``loop``: after a super-step; ``update``: from outside,
    by `update_state`; ``fork``: a copy of another (CP-10)."""
    step: int
    """−1 for a thread's first input, one more for each checkpoint after it (CP-11)."""
    parents: dict[str, str]
    """In a nested graph: the enclosing namespace → the checkpoint it stood at (CP-12)."""
    run_id: str
    """The run that made it, if the caller named one (CP-14)."""


class Checkpoint(TypedDict):
    """The state between two super-steps, and what is needed to plan the next one."""

    v: int
    """The format's version; the runtime writes 4."""
    id: str
    """A `uuid6` as text: later checkpoints have greater ids (CP-03)."""
    ts: str
    """When it was made: ISO 8601, UTC."""
    channel_values: dict[str, Any]
    """Channel → stored value. A channel without a value is not here."""
    channel_versions: ChannelVersions
    """Channel → version, also of channels without a value."""
    versions_seen: dict[str, ChannelVersions]
    """Node → channel → the version that the node saw when it last ran. A channel of a greater
    version than that starts the node."""
    updated_channels: list[str] | None
    """The channels that the super-step changed, sorted; ``None`` if it is not known (SS-23)."""


class CheckpointTuple(NamedTuple):
    """One checkpoint as a saver gives it back, with everything that hangs on it.

    Fields:
        config: the address of this checkpoint, or the config it was asked for with (SV-05).
        checkpoint: the checkpoint.
        metadata: why it was made.
        parent_config: the full address of the checkpoint before it, ``None`` for the first.
        pending_writes: what tasks of the next super-step have written, ordered by task path,
            task id and position (SV-09).
    """

    config: RunnableConfig
    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    parent_config: RunnableConfig | None = None
    pending_writes: list[PendingWrite] | None = None


def get_checkpoint_id(config: RunnableConfig) -> str | None:
    """The checkpoint that a config names, or ``None`` for "the latest".

    >>> get_checkpoint_id({"configurable": {"thread_id": "1", "checkpoint_id": "x"}})
    'x'
    """
    return config["configurable"].get("checkpoint_id")


def get_checkpoint_metadata(
    config: RunnableConfig, metadata: CheckpointMetadata
) -> CheckpointMetadata:
    """The metadata to store: what the runtime says, and the caller's own scalar entries (CP-13).

    Args:
        config: the caller's. Text, numbers and truth values of its ``metadata`` are added, then
            those of its ``configurable``. A key that is there already keeps its value, and keys
            that begin with ``__`` or stand in `EXCLUDED_METADATA_KEYS` are left out.
        metadata: the runtime's. Returned as a new dict.

    NUL characters are removed from text, because some databases do not store them.

    >>> get_checkpoint_metadata(
    ...     {"metadata": {"user": "ada"}, "configurable": {"thread_id": "1", "user": "bob"}},
    ...     {"source": "loop", "step": 1},
    ... )
    {'source': 'loop', 'step': 1, 'user': 'ada'}
    """
    result: Any = {**metadata}
    for key, value in metadata.items():
        if isinstance(value, str) and "\0" in value:
            result[key] = value.replace("\0", "")
    for entries in (config.get("metadata"), config.get("configurable")):
        if not entries or EXCLUDED_METADATA_KEYS.issuperset(entries):
            continue  # mostly there is no more than an address, and this is asked for every save
        for key, value in entries.items():
            if key in EXCLUDED_METADATA_KEYS or key in result or key.startswith("__"):
                continue
            # Exact types: an enum that is also a str is not plain data, and a checkpoint must not
            # become unreadable because of a setting that happened to be in the config.
            kind = type(value)
            if kind is str:
                result[key] = value.replace("\0", "")
            elif kind is int or kind is float or kind is bool:
                result[key] = value
    stored: CheckpointMetadata = result
    return stored


def writes_sort_key(task_path: str, task_id: str = "", idx: int = 0) -> tuple[str, str, int]:
    """The order of pending writes: by the task's path first (SV-09).

    Not by id, which is a hash: the writes of parallel tasks are applied in this order, and it
    must not be a matter of luck.
    """
    return (task_path, task_id, idx)


def empty_checkpoint() -> Checkpoint:
    """A checkpoint of nothing, in the older form with ``v == 2`` (CP-06).

    For users' savers and their tests; the runtime does not use it.

    >>> empty_checkpoint()["channel_values"]
    {}
    """
    return _with_pending_sends(
        Checkpoint(
            v=2,
            id=uuid6_text(clock_seq=-2),
            ts=datetime.now(UTC).isoformat(),
            channel_values={},
            channel_versions={},
            versions_seen={},
            updated_channels=None,
        ),
        [],
    )


def copy_checkpoint(checkpoint: Checkpoint) -> Checkpoint:
    """A copy whose dicts and lists can be edited without touching `checkpoint`'s own (CP-06).

    The values of the channels are shared. The form is the older one, with ``pending_sends``.
    """
    return _with_pending_sends(
        Checkpoint(
            v=checkpoint["v"],
            id=checkpoint["id"],
            ts=checkpoint["ts"],
            channel_values=checkpoint["channel_values"].copy(),
            channel_versions=checkpoint["channel_versions"].copy(),
            versions_seen={k: v.copy() for k, v in checkpoint["versions_seen"].items()},
            updated_channels=checkpoint.get("updated_channels"),
        ),
        cast(dict[str, Any], checkpoint).get("pending_sends", []).copy(),
    )


def _with_pending_sends(checkpoint: Checkpoint, sends: list[Any]) -> Checkpoint:
    cast(dict[str, Any], checkpoint)["pending_sends"] = sends
    return checkpoint
