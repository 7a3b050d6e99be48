"""The machine: pure super-steps, the program around them, and the drivers."""

from typing import TYPE_CHECKING

from minigraph.doors import lazy_door

if TYPE_CHECKING:
    from minigraph.pregel.builder import ChannelWriteEntry, NodeBuilder
    from minigraph.pregel.main import Pregel

__all__ = ["ChannelWriteEntry", "NodeBuilder", "Pregel"]

__getattr__ = lazy_door(
    __name__,
    {
        "ChannelWriteEntry": "minigraph.pregel.builder",
        "NodeBuilder": "minigraph.pregel.builder",
        "Pregel": "minigraph.pregel.main",
    },
)
