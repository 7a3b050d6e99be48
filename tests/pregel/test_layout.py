"""The graph at rest: what is looked up once."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.channels.any_value import AnyValue
from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue, LastValueAfterFinish
from minigraph.channels.named_barrier_value import (
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
)
from minigraph.channels.topic import Topic
from minigraph.channels.untracked_value import UntrackedValue
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.graph import START, StateGraph
from minigraph.pregel.layout import Layout, completed
from minigraph.pregel.node import PregelNode, UserFunction
from minigraph.pregel.selection import Selection


class Deaf(LastValue[Any]):
    """Overrides nothing."""


class Curious(LastValue[Any]):
    """Wants to know of everything."""

    def consume(self) -> bool:
        return False

    def finish(self) -> bool:
        return False


CHANNELS: dict[str, Any] = {
    "last": LastValue(int),
    "after": LastValueAfterFinish(int),
    "ephemeral": EphemeralValue(int),
    "any": AnyValue(int),
    "untracked": UntrackedValue(int),
    "topic": Topic(int),
    "log": Topic(int, accumulate=True),
    "sum": BinaryOperatorAggregate(int, operator.add),
    "unset": BinaryOperatorAggregate(int | None, operator.add),
    "join": NamedBarrierValue(str, {"a"}),
    "late join": NamedBarrierValueAfterFinish(str, {"a"}),
    "deaf": Deaf(int),
    "curious": Curious(int),
}


def make(nodes: Any = (), channels: Any = CHANNELS, shown: Any = ("last",)) -> Layout:
    return Layout(
        {node.name: node for node in nodes},
        channels,
        input_channels=Selection("last"),
        output_channels=Selection(shown),
        stream_channels=Selection(shown),
    )


def node(name: str, *triggers: str, function: Any = None) -> PregelNode:
    bound = None if function is None else UserFunction(function)
    return PregelNode(name, triggers, Selection("last"), bound=bound)


def test_completed_channels() -> None:
    """SS-50: named, and with the one for Sends; those that have their name already are kept."""
    named, unnamed = LastValue(int, "x"), LastValue(int)
    complete = completed({"x": named, "y": unnamed})
    assert [*complete] == ["x", "y", "__pregel_tasks"]
    assert complete["x"] is named
    assert (complete["y"].key, unnamed.key) == ("y", "")
    own: Any = Topic(int, key="__pregel_tasks")
    assert completed({"__pregel_tasks": own}) == {"__pregel_tasks": own}


def test_who_listens_to_whom() -> None:
    """In the order in which the nodes were declared; channels without listeners are not there."""
    layout = make([node("b", "last", "join"), node("a", "join"), node("c")])
    assert layout.listeners == {"last": ["b"], "join": ["b", "a"]}
    assert make().listeners == {}


def test_who_must_be_told_what() -> None:
    """CH-01: a class that overrides a method wants to be called; all others never are."""
    layout = make()
    assert layout.consumed == {"after", "join", "late join", "curious"}
    assert layout.finishing == {"after", "late join", "curious"}


def test_who_holds_something_from_the_start() -> None:
    """CH-07, CH-16, CH-17: start values, and what must be stored of an empty channel."""
    assert set(make().filled) == {"topic", "log", "sum", "join", "late join"}
    assert set(make().preset) == {"sum"}


def test_what_stores_its_value() -> None:
    """Those are asked once for what to read and what to store; a subclass is not trusted to."""

    class Loud(LastValue[str]):
        def get(self) -> str:
            return super().get().upper()

    channels = {"loud": Loud(str), "last": LastValue(str)}

    assert set(make().plain) == {"last", "unset", "sum", "ephemeral", "any"}
    assert set(make(channels=channels).plain) == {"last"}


def test_a_channel_that_reads_in_its_own_way() -> None:
    """CH-01: what a node gets is what `get` says; what is stored is what `checkpoint` says."""

    class Loud(LastValue[str]):
        stores_its_value = False

        def get(self) -> str:
            return super().get().upper()

        def checkpoint(self) -> Any:
            return self.value

    seen: list[str] = []
    builder = StateGraph(TypedDict("State", {"word": Annotated[str, Loud]}))
    builder.add_node("a", lambda state: seen.append(state["word"]))
    saver = InMemorySaver()
    graph = builder.add_edge(START, "a").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}

    assert graph.invoke({"word": "hello"}, config) == {"word": "HELLO"}
    assert seen == ["HELLO"]
    assert saver.get(config)["channel_values"] == {"word": "hello"}
    assert next(state.values for state in graph.get_state_history(config)) == {"word": "HELLO"}


def test_which_nodes_need_a_loop() -> None:
    """ST-31."""

    async def later(value: Any) -> None: ...

    layout = make([node("a", function=len), node("b", function=later), node("c")])
    assert layout.async_nodes == ["b"]


@pytest.mark.parametrize(
    ("names", "keeps"),
    [
        (["last"], True),
        (["last", "sum", "log", "unset", "untracked", "deaf"], True),
        ([], True),
        (["last", "ephemeral"], False),
        (["any"], False),
        (["topic"], False),
        (["after"], False),
        (["join"], False),
        (["late join"], False),
        (["curious"], False),
    ],
)
def test_lasting(names: list[str], keeps: bool) -> None:
    """Whether to read these once, at the end of a run, is enough."""
    assert (make().lasting >= set(names)) is keeps


def test_it_does_not_share_its_maps() -> None:
    """SG-16: what is done to the given dicts later does not reach it."""
    channels = {"last": LastValue(int)}
    layout = make(channels=channels)
    channels["more"] = LastValue(int)
    assert [*layout.channels] == ["last"]
