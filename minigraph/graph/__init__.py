"""Authoring: declare a graph with `StateGraph`, compile it, and run it."""

from typing import TYPE_CHECKING

from minigraph.constants import END, START
from minigraph.doors import lazy_door

if TYPE_CHECKING:
    from minigraph.graph.state import StateGraph

__all__ = ["END", "START", "StateGraph"]

__getattr__ = lazy_door(__name__, {"StateGraph": "minigraph.graph.state"})
