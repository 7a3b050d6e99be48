"""A saver in three dicts. Read `rows`, then `saver`."""

from typing import TYPE_CHECKING

from minigraph.doors import lazy_door

if TYPE_CHECKING:
    from minigraph.checkpoint.memory.saver import InMemorySaver, MemorySaver

__all__ = ["InMemorySaver", "MemorySaver"]

__getattr__ = lazy_door(
    __name__,
    {
        "InMemorySaver": "minigraph.checkpoint.memory.saver",
        "MemorySaver": "minigraph.checkpoint.memory.saver",
    },
)
