"""Checkpoints of older layouts (CP-08)."""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.graph import START, StateGraph
from minigraph.pregel.migrate import renamed
from minigraph.types import Send

PLACE: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
ID = "1ef4f797-8335-6428-8001-8a1503f9b875"


class State(TypedDict, total=False):
    log: Annotated[list[str], add]


def graph_with(checkpoint: dict[str, Any]) -> Any:
    saver = InMemorySaver()
    builder = StateGraph(State).add_node("a", lambda state: {"log": ["a"]})
    builder.add_node("b", lambda state: {"log": [f"b:{len(state['log'])}"]})
    graph = builder.add_edge(START, "a").compile(checkpointer=saver)
    versions = checkpoint["channel_versions"]
    whole: Any = {"ts": "2024-07-31T20:14:19+00:00", "id": ID, **checkpoint}
    saver.put(PLACE, whole, {"source": "loop", "step": 0}, dict(versions))  # type: ignore[typeddict-item]
    return graph


ONE, TWO = f"{1:032}.5", f"{2:032}.5"

FIRST: dict[str, Any] = {
    "v": 1,
    "channel_values": {"log": ["x"], "start:a": "__start__"},
    "channel_versions": {"__start__": TWO, "log": TWO, "start:a": TWO},
    "versions_seen": {"__input__": {}, "__start__": {"__start__": ONE}},
    "pending_sends": [Send("b", {"log": ["s", "t"]})],
}


def test_the_first_layout(way: Any) -> None:
    """What waited, waits: a node by the old name of its channel, and a Send beside the channels."""
    graph = graph_with(FIRST)
    state = way.state(graph, PLACE)
    assert (state.values, state.next) == ({"log": ["x"]}, ("b", "a"))
    assert [state.next for state in way.history(graph, PLACE)] == [("b", "a")]
    assert way.invoke(graph, None, PLACE) == {"log": ["x", "a", "b:2"]}
    assert way.state(graph, PLACE).metadata["step"] == 1


def test_an_update_of_the_first_layout(way: Any) -> None:
    """It is read as a run reads it."""
    graph = graph_with(FIRST)
    way.update(graph, PLACE, {"log": ["u"]}, "a")
    assert way.state(graph, PLACE).values == {"log": ["x", "u"]}


def test_the_third_layout(way: Any) -> None:
    """Its channels have their present names; only the Sends are elsewhere."""
    third = {
        "v": 3,
        "channel_values": {"log": ["x"], "branch:to:a": None},
        "channel_versions": {"log": TWO, "branch:to:a": TWO},
        "versions_seen": {"a": {"branch:to:a": TWO}},
        "pending_sends": [Send("b", {"log": []})],
    }
    assert way.state(graph_with(third), PLACE).next == ("b",)


def test_a_layout_to_come(way: Any) -> None:
    """It is not guessed at."""
    graph = graph_with({**FIRST, "v": 5})
    for call in (way.state, way.history):
        with pytest.raises(
            UnreadableError, match="has layout 5, and this machine knows none after 4"
        ):
            call(graph, PLACE)
    with pytest.raises(UnreadableError, match="update minigraph"):
        way.invoke(graph, None, PLACE)


def test_two_channels_that_have_become_one() -> None:
    """The newer version counts, whatever the order."""
    names = {"branch:x:p:a": 3, "start:a": 2, "branch:y:p:a": 1}
    assert renamed(names) == renamed(dict(reversed(names.items()))) == {"branch:to:a": 3}
