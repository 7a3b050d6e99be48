"""Authoring: declare a graph with `StateGraph`, compile it, and run it."""

from typing import TYPE_CHECKING

from minigraph.constants import END, START
from minigraph.doors import lazy_door

if TYPE_CHECKING:
    from minigraph.graph.message import MessagesState, add_messages
    from minigraph.graph.state import StateGraph

__all__ = ["END", "START", "MessagesState", "StateGraph", "add_messages"]

__getattr__ = lazy_door(
    __name__,
    {
        "MessagesState": "minigraph.graph.message",
        "StateGraph": "minigraph.graph.state",
        "add_messages": "minigraph.graph.message",
    },
)
