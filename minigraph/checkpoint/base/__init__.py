"""The records of a thread, and what a saver must offer. Read `id`, `records`, `history`,
`saver`, then `ancestors`."""

from typing import TYPE_CHECKING

from minigraph.doors import lazy_door

if TYPE_CHECKING:
    from minigraph.checkpoint.base.history import DeltaChannelHistory
    from minigraph.checkpoint.base.records import (
        EXCLUDED_METADATA_KEYS,
        WRITES_IDX_MAP,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        PendingWrite,
        copy_checkpoint,
        empty_checkpoint,
        get_checkpoint_id,
        get_checkpoint_metadata,
        writes_sort_key,
    )
    from minigraph.checkpoint.base.saver import BaseCheckpointSaver
    from minigraph.checkpoint.serde.base import SerializerProtocol
    from minigraph.errors import EmptyChannelError

__all__ = [
    "EXCLUDED_METADATA_KEYS",
    "WRITES_IDX_MAP",
    "BaseCheckpointSaver",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "DeltaChannelHistory",
    "EmptyChannelError",
    "PendingWrite",
    "SerializerProtocol",
    "copy_checkpoint",
    "empty_checkpoint",
    "get_checkpoint_id",
    "get_checkpoint_metadata",
    "writes_sort_key",
]

_RECORDS = "minigraph.checkpoint.base.records"

__getattr__ = lazy_door(
    __name__,
    {
        "EXCLUDED_METADATA_KEYS": _RECORDS,
        "WRITES_IDX_MAP": _RECORDS,
        "BaseCheckpointSaver": "minigraph.checkpoint.base.saver",
        "ChannelVersions": _RECORDS,
        "Checkpoint": _RECORDS,
        "CheckpointMetadata": _RECORDS,
        "CheckpointTuple": _RECORDS,
        "DeltaChannelHistory": "minigraph.checkpoint.base.history",
        "EmptyChannelError": "minigraph.errors",
        "PendingWrite": _RECORDS,
        "SerializerProtocol": "minigraph.checkpoint.serde.base",
        "copy_checkpoint": _RECORDS,
        "empty_checkpoint": _RECORDS,
        "get_checkpoint_id": _RECORDS,
        "get_checkpoint_metadata": _RECORDS,
        "writes_sort_key": _RECORDS,
    },
)
