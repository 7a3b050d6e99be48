"""Which old checkpoints are still needed by newer ones?

Mostly none: a checkpoint holds the whole state, and what came before it is history. But the value
of a `DeltaChannel` is not stored with each checkpoint. It is made again from the writes that hang
on the checkpoints before it, back to the last one that has the value:

    1 ◀── 2 ◀── 3 ◀── 4        value at 4 = value at 2, and the writes of 2 and of 3
          ▲     │
        value  no value        so who removes 2 or 3 has silently emptied 4

The metadata of each checkpoint names these channels, which is how they are told from channels that
are merely empty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from minigraph.checkpoint.base.history import kept_in_writes
from minigraph.checkpoint.base.records import CheckpointTuple, get_checkpoint_id

__all__ = ["still_needed"]


def still_needed(
    doomed: Collection[str],
    survivors: Iterable[str],
    read: Callable[[str], CheckpointTuple | None],
) -> set[str]:
    """Those of `doomed` that a survivor cannot do without, though it need not know (SV-63).

    Args:
        doomed: ids of checkpoints, of one thread and namespace, that are to be removed.
        survivors: ids of those that stay.
        read: the checkpoint of an id.
    """
    needed: set[str] = set()
    for checkpoint_id in survivors if doomed else ():
        here = read(checkpoint_id)
        missing = kept_in_writes(here) if here else set()
        passed = {checkpoint_id}
        while missing and here and here.parent_config:
            parent_id = get_checkpoint_id(here.parent_config) or ""
            if parent_id in passed:  # somebody has edited it: a chain has no circles
                break
            passed.add(parent_id)
            here = read(parent_id)
            if parent_id in doomed:
                needed.add(parent_id)
            if here:
                missing -= here.checkpoint["channel_values"].keys()
    return needed
