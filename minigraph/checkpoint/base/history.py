"""Putting together what was stored in pieces: the writes that led to a checkpoint.

A `DeltaChannel` stores no value with most checkpoints. What is known of it lies on the way that led
there: writes beside each checkpoint of the parent chain, and further back a whole value, the
*seed*.

    checkpoint   1 ◀─────── 2 ◀─────── 3        asked for the history at 3
    value        ["a"]      –          –        found: seed ["a"],
    writes           ["b"]      ["c"]           writes ["b"], ["c"], oldest first

The writes beside the checkpoint that was asked for are not part of it: they lead to its children.
And it is the parents that count, never the ids: between 1 and 2 there may be checkpoints of another
branch.

`walk` says which checkpoint it wants to see next, so that any saver can be asked, sync or async, by
what it has anyway. A saver that can do better asks its store once for the whole way, and has
`Pieces` sort it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NotRequired, TypeAlias

from typing_extensions import TypedDict

from minigraph.checkpoint.base.records import CheckpointTuple, PendingWrite, get_checkpoint_id
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.types import RunnableConfig

__all__ = ["COUNTERS", "DeltaChannelHistory", "counters_of", "kept_in_writes"]

COUNTERS: Final = "counters_since_delta_snapshot"
"""The metadata's entry: channel → (updates, checkpoints) since its value was stored (DC-07). It
tells such a channel from one that is merely empty, without knowing the graph."""


def counters_of(metadata: Any) -> dict[str, tuple[int, int]]:
    """The counters in a checkpoint's metadata. What is there may come from anybody.

    >>> counters_of({"source": "loop", "counters_since_delta_snapshot": {"log": [2, 3], "x": 1}})
    {'log': (2, 3)}
    """
    entry = metadata.get(COUNTERS)
    found = entry.items() if isinstance(entry, dict) else ()
    return {
        channel: (pair[0], pair[1])
        for channel, pair in found
        if isinstance(pair, (list, tuple)) and [*map(type, pair)] == [int, int]
    }


def kept_in_writes(saved: CheckpointTuple) -> set[str]:
    """The channels that have been written, and whose value is not stored with this checkpoint."""
    counted = counters_of(saved.metadata)
    checkpoint = saved.checkpoint
    values, versions = checkpoint["channel_values"], checkpoint.get("channel_versions", {})
    return {channel for channel in counted if channel in versions and channel not in values}


class DeltaChannelHistory(TypedDict):
    """What is stored of one channel on the way to a checkpoint (DC-03)."""

    writes: list[PendingWrite]
    """(task id, channel, value), oldest first; of one super-step, in the order of task paths."""
    seed: NotRequired[Any]
    """The value that the channel had before all these; absent if the way has a beginning, and none
    was stored on it."""


Values: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Checkpoint id → channel → value."""

NOTHING_KNOWN: Final[Mapping[str, Any]] = MappingProxyType({})


class Pieces:
    """Collects the histories of some channels, from ancestors that come newest first.

    >>> pieces = Pieces(["log"])
    >>> pieces.add({}, [("task 2", "log", ["c"])])
    >>> pieces.add({"log": ["a"]}, [("task 1", "log", ["b"])])
    >>> pieces.missing
    set()
    >>> pieces.histories()["log"]
    {'writes': [('task 1', 'log', ['b']), ('task 2', 'log', ['c'])], 'seed': ['a']}
    """

    def __init__(self, channels: Sequence[str]) -> None:
        self.missing = set(channels)
        """The channels whose seed has not been found yet."""
        self.seeds: dict[str, Any] = {}
        self.writes: dict[str, list[list[PendingWrite]]] = {name: [] for name in channels}

    def add(self, values: Mapping[str, Any], writes: Iterable[PendingWrite]) -> None:
        """Take in the next ancestor: the values that are stored with it, and what is beside it."""
        found: dict[str, list[PendingWrite]] = {}
        for write in writes:
            if write[1] in self.missing:
                found.setdefault(write[1], []).append(write)
        for name, own in found.items():
            self.writes[name].append(own)
        for name in [each for each in self.missing if each in values]:
            self.seeds[name] = values[name]
            self.missing.discard(name)

    def histories(self) -> dict[str, DeltaChannelHistory]:
        """What has been collected, by channel."""
        histories: dict[str, DeltaChannelHistory] = {}
        for name, steps in self.writes.items():
            histories[name] = {"writes": [write for step in reversed(steps) for write in step]}
            if name in self.seeds:
                histories[name]["seed"] = self.seeds[name]
        return histories


def walk(
    config: RunnableConfig, channels: Sequence[str], known: Values = NOTHING_KNOWN
) -> Generator[RunnableConfig, CheckpointTuple | None, dict[str, DeltaChannelHistory]]:
    """Collect histories from whatever finds checkpoints by config. Yields the config of the one to
    find next, wants it sent back, and returns the histories.

    Raises `UnreadableError` if the checkpoint, or one on the way, is not found, or does not name
    its parent although it must have one: what was written beside it is missing, and to read on
    would be to invent a value. And if the way leads in a circle, as it may where somebody has
    edited the store.
    """
    pieces = Pieces(channels)
    here = (yield config) if channels else None
    asked, first = get_checkpoint_id(config), here and here.checkpoint["id"]
    if channels and asked and first != asked:
        raise broken(None, asked, first, pieces)
    passed: set[str] = set()
    while here is not None and pieces.missing and here.parent_config is not None:
        wanted = get_checkpoint_id(here.parent_config)
        passed.add(here.checkpoint["id"])
        parent = yield here.parent_config
        if parent is None or parent.checkpoint["id"] != wanted or wanted in passed:
            raise broken(here.checkpoint["id"], wanted, parent and parent.checkpoint["id"], pieces)
        at_hand = known.get(parent.checkpoint["id"], NOTHING_KNOWN)
        pieces.add({**parent.checkpoint["channel_values"], **at_hand}, parent.pending_writes or ())
        here = parent
    if here is not None and pieces.missing and here.parent_config is None:
        counted = counters_of(here.metadata)
        if any(counted[name][0] for name in pieces.missing & counted.keys()):
            raise broken(here.checkpoint["id"], None, None, pieces)
    return pieces.histories()


def broken(
    child: str | None, wanted: str | None, found: str | None, pieces: Pieces
) -> UnreadableError:
    """The error for a way that cannot be followed to its end.

    Args:
        child: the checkpoint whose parent is missing; ``None`` for where the way begins.
        wanted: the parent's id; ``None`` if it is not named.
        found: the id of what is there instead.
        pieces: what has been found so far.
    """
    instead = "nothing is found" if found is None else f"{found!r} is found"
    if child is None:
        problem = f"{wanted!r} is asked for, but by that id {instead}"
    elif wanted is None:
        problem = f"{child!r} names no parent, although the value has been updated before it"
    else:
        instead = "one is found that comes after it" if found == wanted else instead
        problem = f"{child!r} names {wanted!r} as its parent, but by that id {instead}"
    return UnreadableError(
        f"The value of {sorted(pieces.missing)} is stored in pieces, checkpoint by checkpoint, and "
        f"a piece is missing: checkpoint {problem}. Either it was deleted by something that did "
        "not know of the pieces, or the saver does not find checkpoints by their id; "
        "`minigraph.checkpoint.conformance` tells."
    )
