"""Checkpoints of older layouts, in the present one.

Threads live long, and the layout of a checkpoint has changed under them (CP-08):

    before 3    start:NODE, branch:FROM:PATH:NODE   the channels that started a node
                                                    ─▶  branch:to:NODE
    before 4    pending_sends, beside the channels  ─▶  the value of the channel for Sends

Nothing is written back: the next checkpoint of the thread has the present layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minigraph.checkpoint.base.records import CheckpointTuple
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.constants import BRANCH_PREFIX, TASKS
from minigraph.pregel.live import FORMAT_VERSION


def migrated(saved: CheckpointTuple | None) -> CheckpointTuple | None:
    """A stored checkpoint, in the present layout; as it is, if it has that already.

    Raises `UnreadableError` for a layout that is newer than this machine.
    """
    if saved is None or (version := saved.checkpoint.get("v", FORMAT_VERSION)) == FORMAT_VERSION:
        return saved
    old: Any = saved.checkpoint
    if version > FORMAT_VERSION:
        raise UnreadableError(
            f"Checkpoint {old['id']!r} has layout {version}, and this machine knows none after "
            f"{FORMAT_VERSION}. It was stored by something newer: update minigraph."
        )
    values, versions, seen = old["channel_values"], old["channel_versions"], old["versions_seen"]
    if version < 3:
        values, versions = renamed(values), renamed(versions)
        seen = {node: renamed(noted) for node, noted in seen.items()}
    if sends := old.get("pending_sends"):
        values = {**values, TASKS: [*sends]}
        versions = {**versions, TASKS: max(versions.values())}
    new = {**old, "v": FORMAT_VERSION, "updated_channels": None}
    new |= {"channel_values": values, "channel_versions": versions, "versions_seen": seen}
    new.pop("pending_sends", None)
    return saved._replace(checkpoint=new)  # type: ignore[arg-type]  # a dict, put together


def renamed(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of channels by their present names. Where two have become one, the greater counts.

    >>> renamed({"start:a": 2, "branch:x:path:a": 3, "branch:to:b": 1, "log": 2})
    {'branch:to:a': 3, 'branch:to:b': 1, 'log': 2}
    """
    found: dict[str, Any] = {}
    for name, entry in entries.items():
        if name.startswith("start:") or (
            name.startswith("branch:") and not name.startswith(BRANCH_PREFIX)
        ):
            name = BRANCH_PREFIX + name.rpartition(":")[2]
        kept = found.get(name)
        found[name] = entry if kept is None or type(kept) is not type(entry) else max(kept, entry)
    return found
