"""A saver in one file. Read `schema`, `database`, `rows`, `saver`, then `aio`."""

from typing import TYPE_CHECKING

from minigraph.doors import lazy_door

if TYPE_CHECKING:
    from minigraph.checkpoint.sqlite.saver import SqliteSaver

__all__ = ["SqliteSaver"]

__getattr__ = lazy_door(__name__, {"SqliteSaver": "minigraph.checkpoint.sqlite.saver"})
