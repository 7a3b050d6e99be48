"""The channel classes, one room each. Start with `base`, then `last_value`."""

from typing import TYPE_CHECKING

from minigraph.doors import lazy_door

if TYPE_CHECKING:
    from minigraph.channels.any_value import AnyValue
    from minigraph.channels.base import BaseChannel
    from minigraph.channels.binop import BinaryOperatorAggregate
    from minigraph.channels.ephemeral_value import EphemeralValue
    from minigraph.channels.last_value import LastValue, LastValueAfterFinish
    from minigraph.channels.named_barrier_value import (
        NamedBarrierValue,
        NamedBarrierValueAfterFinish,
    )
    from minigraph.channels.topic import Topic
    from minigraph.channels.untracked_value import UntrackedValue

__all__ = [
    "AnyValue",
    "BaseChannel",
    "BinaryOperatorAggregate",
    "DeltaChannel",
    "EphemeralValue",
    "LastValue",
    "LastValueAfterFinish",
    "NamedBarrierValue",
    "NamedBarrierValueAfterFinish",
    "Topic",
    "UntrackedValue",
]

__getattr__ = lazy_door(
    __name__,
    {
        "AnyValue": "minigraph.channels.any_value",
        "BaseChannel": "minigraph.channels.base",
        "BinaryOperatorAggregate": "minigraph.channels.binop",
        "DeltaChannel": "minigraph.channels.delta",
        "EphemeralValue": "minigraph.channels.ephemeral_value",
        "LastValue": "minigraph.channels.last_value",
        "LastValueAfterFinish": "minigraph.channels.last_value",
        "NamedBarrierValue": "minigraph.channels.named_barrier_value",
        "NamedBarrierValueAfterFinish": "minigraph.channels.named_barrier_value",
        "Topic": "minigraph.channels.topic",
        "UntrackedValue": "minigraph.channels.untracked_value",
    },
)
