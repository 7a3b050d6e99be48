"""A saver in one file. Read `schema`, `database`, `rows`, `saver`, then `aio`."""

from typing import TYPE_CHECKING, Any

from minigraph.doors import lazy_door

if TYPE_CHECKING:
    from minigraph.checkpoint.sqlite.saver import SqliteSaver

__all__ = ["SqliteSaver"]

_door = lazy_door(__name__, {"SqliteSaver": "minigraph.checkpoint.sqlite.saver"})


def __getattr__(name: str) -> Any:
    if name == "AsyncSqliteSaver":
        # An `AttributeError` would be replaced by one that does not say where it is.
        raise ImportError(
            f"{name} is not in {__name__}, but in a module of its own: "
            f"from minigraph.checkpoint.sqlite.aio import {name}"
        )
    return _door(name)
