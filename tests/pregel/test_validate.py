"""What can be seen to be wrong with a graph before it runs."""

from __future__ import annotations

from typing import Any

import pytest

from minigraph.channels import EphemeralValue, LastValue, Topic
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from minigraph.constants import PREVIOUS, RESERVED, START, TASKS
from minigraph.graph import StateGraph
from minigraph.pregel import NodeBuilder, Pregel
from minigraph.pregel.node import PregelNode, Route, UserFunction
from minigraph.pregel.selection import Selection
from minigraph.pregel.validate import breakpoints_of
from minigraph.types import Send


def on_a() -> NodeBuilder:
    return NodeBuilder().subscribe_only("a").write_to("b")


def make(**options: Any) -> Pregel:
    """n: from a to b; with these arguments instead."""
    given: dict[str, Any] = {
        "nodes": {"n": on_a()},
        "channels": {"a": LastValue(int), "b": LastValue(int)},
        "input_channels": "a",
        "output_channels": "b",
    }
    return Pregel(**{**given, **options})


def with_channel(name: Any, channel: Any = None) -> Any:
    return {"a": LastValue(int), "b": LastValue(int), name: channel or LastValue(int)}


def looking_at(channel: str) -> PregelNode:
    """A node whose route reads a channel."""
    path = UserFunction(lambda state: None)
    route = Route(path, Selection([channel]), None, lambda choice: [])
    return PregelNode("n", ("a",), Selection("a"), routes=(route,))


THERE = "which is no channel of this graph; there are ['a', 'b']."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"nodes": {"n": NodeBuilder().subscribe_only("z")}},
            f"Node 'n' subscribes to 'z', {THERE}",
        ),
        (
            {"nodes": {"n": NodeBuilder().subscribe_to("a", "z")}},
            f"Node 'n' subscribes to 'z', {THERE}",
        ),
        (
            {"nodes": {"n": NodeBuilder().subscribe_to("a").read_from("z")}},
            f"Node 'n' reads 'z', {THERE}",
        ),
        ({"nodes": {"n": looking_at("z")}}, f"Node 'n' reads 'z', {THERE}"),
        ({"input_channels": "z"}, f"input_channels names 'z', {THERE}"),
        ({"input_channels": ["a", "z"]}, f"input_channels names 'z', {THERE}"),
        ({"output_channels": "z"}, f"output_channels names 'z', {THERE}"),
        ({"output_channels": ["b", "z"]}, f"output_channels names 'z', {THERE}"),
        ({"stream_channels": "z"}, f"stream_channels names 'z', {THERE}"),
        ({"stream_channels": ["b", "z"]}, f"stream_channels names 'z', {THERE}"),
    ],
)
def test_unknown_channels(options: Any, message: str) -> None:
    """SS-51: who names it, and what there is instead."""
    with pytest.raises(ValueError) as caught:
        make(**options)
    assert str(caught.value) == message


HEARD = "so an input would start nothing; nodes subscribe to ['a']."
REMEDY = "Let a node subscribe to it, or name another input channel."


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("b", f"Input channel 'b' is not subscribed to by any node, {HEARD} {REMEDY}"),
        (["b"], f"None of the input channels ['b'] is subscribed to by any node, {HEARD} {REMEDY}"),
        ([], f"None of the input channels [] is subscribed to by any node, {HEARD} {REMEDY}"),
    ],
)
def test_an_input_that_nobody_hears(names: Any, message: str) -> None:
    """SS-51."""
    with pytest.raises(ValueError) as caught:
        make(input_channels=names)
    assert str(caught.value) == message


def test_one_input_channel_that_is_heard_is_enough() -> None:
    """SS-51: the others may be there to be read."""
    assert make(input_channels=["b", "a"]).input_channels == ["b", "a"]


def test_no_nodes() -> None:
    """SS-51."""
    with pytest.raises(ValueError, match="A graph needs at least one node"):
        make(nodes={})


@pytest.mark.parametrize("option", ["interrupt_before_nodes", "interrupt_after_nodes"])
class TestBreakpoints:
    """SS-51: nodes to stop at."""

    def test_unknown(self, option: str) -> None:
        with pytest.raises(ValueError) as caught:
            make(**{option: ["n", "z"]})
        assert str(caught.value) == "Interrupt node 'z' not found; there are ['n']."

    def test_no_list(self, option: str) -> None:
        with pytest.raises(TypeError) as caught:
            make(**{option: "n"})
        assert (
            str(caught.value) == "Nodes to stop at are given as a list, or as '*' for all: ['n']."
        )

    @pytest.mark.parametrize("chosen", ["*", ["n"], (), ("n",)])
    def test_fine(self, option: str, chosen: Any) -> None:
        assert getattr(make(**{option: chosen}), option) == chosen

    def test_of_a_state_graph(self, option: str) -> None:
        """The same words, when it is compiled."""
        builder = StateGraph(int).add_node("n", lambda x: x).add_edge(START, "n")
        with pytest.raises(ValueError, match="Interrupt node 'z' not found; there are"):
            builder.compile(**{option.removesuffix("_nodes"): ["z"]})


@pytest.mark.parametrize("name", sorted(RESERVED | {"__end__"}))
def test_reserved_names_of_nodes(name: str) -> None:
    """SS-51: the machine could not tell them from its own."""
    with pytest.raises(ValueError) as caught:
        make(nodes={name: on_a()})
    assert str(caught.value) == f"Node name {name!r} is reserved; choose another name."


@pytest.mark.parametrize("name", ["x|y", "x:y"])
def test_characters_that_namespaces_need(name: str) -> None:
    """SS-51, SB-02."""
    with pytest.raises(ValueError) as caught:
        make(nodes={name: on_a()})
    assert str(caught.value) == (
        f"Node name {name!r} has '|' or ':' in it, with which namespaces are written; "
        "choose another name."
    )


@pytest.mark.parametrize("name", sorted(RESERVED - {TASKS, PREVIOUS}))
def test_reserved_names_of_channels(name: str) -> None:
    """SS-51."""
    with pytest.raises(ValueError) as caught:
        make(channels=with_channel(name))
    assert str(caught.value) == f"Channel name {name!r} is reserved; choose another name."


@pytest.mark.parametrize("name", ["__start__", "__end__", "__root__", "__previous__", "x|y", "n"])
def test_names_that_channels_may_have(name: str) -> None:
    """Channels are no nodes, and may even share their names."""
    assert [*make(channels=with_channel(name)).channels] == ["a", "b", name, TASKS]


def test_a_node_may_be_called_start() -> None:
    assert [*make(nodes={START: on_a()}).nodes] == [START]


class TestTheChannelForSends:
    """SS-50: it is added."""

    def test_it_may_be_there(self) -> None:
        own = Topic(Send)
        graph = make(channels=with_channel(TASKS, own))
        assert [*graph.channels] == ["a", "b", TASKS]

    def test_it_must_be_a_topic(self) -> None:
        with pytest.raises(ValueError) as caught:
            make(channels=with_channel(TASKS, EphemeralValue(int)))
        assert str(caught.value) == (
            "Channel name '__pregel_tasks' is reserved for the Topic of Sends that the machine "
            "adds by itself; leave it out."
        )


@pytest.mark.parametrize("what", [int, LastValue, 3, "c"])
def test_what_is_no_channel(what: Any) -> None:
    """SS-51: it is named, and not passed over."""
    with pytest.raises(TypeError) as caught:
        make(channels=with_channel("c", what))
    assert str(caught.value) == (
        f"Channel 'c' must be a channel, such as LastValue(int), but it is {what!r}."
    )


def test_names_are_text() -> None:
    """SS-51."""
    with pytest.raises(TypeError, match="Channel names are text, but this one is 5"):
        make(channels=with_channel(5))
    with pytest.raises(TypeError, match="Node names are text, but this one is 5"):
        make(nodes={5: on_a()})


@pytest.mark.parametrize("option", ["interrupt_before", "auto_validate", "outputs"])
def test_unknown_options(option: str) -> None:
    """A misspelt option is seen; it is not passed over."""
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        make(**{option: None})


BLOCK = "… as saver:`, and give that saver"


@pytest.mark.parametrize(
    ("saver", "received"),
    [
        (1, "int"),
        ("memory", "str"),
        (InMemorySaver, "the class InMemorySaver: call it"),
        (
            SqliteSaver.from_conn_string("x.db"),
            f"_GeneratorContextManager: use it in a with block, `with {BLOCK}",
        ),
        (
            AsyncSqliteSaver.from_conn_string("x.db"),
            f"_AsyncGeneratorContextManager: use it in a block, `async with {BLOCK}",
        ),
    ],
)
def test_what_is_no_saver(saver: Any, received: str) -> None:
    """SS-51."""
    with pytest.raises(TypeError) as caught:
        make(checkpointer=saver)
    assert str(caught.value) == (
        "Invalid checkpointer provided. Expected an instance of BaseCheckpointSaver, such as "
        f"InMemorySaver(), True, False, or None, but received {received}."
    )


def test_many_nodes_that_read_alike() -> None:
    """A selection that several nodes share is looked at once; each other one is, too."""
    shared = Selection(["a", "b"])
    fine = {f"n{i}": PregelNode("", ("a",), shared) for i in range(3)}
    assert [*make(nodes=fine).nodes] == ["n0", "n1", "n2"]
    with pytest.raises(ValueError, match="Node 'last' reads 'z'"):
        make(nodes={**fine, "last": PregelNode("", ("a",), Selection(["a", "z"]))})


def test_breakpoints_of_a_call() -> None:
    """IN-60: the same check."""
    assert breakpoints_of("*", {}) == "*"
    assert breakpoints_of(iter(["n"]), {"n": None}) == ["n"]
    assert breakpoints_of({"n"}, {"n": None}) == ["n"]
    with pytest.raises(
        ValueError, match=r"Interrupt node '__start__' not found; there are \['n'\]"
    ):
        breakpoints_of(["__start__"], {"n": None, "__start__": None})
    for wrong in ("n", 5, True):
        with pytest.raises(TypeError, match="given as a list, or as"):
            breakpoints_of(wrong, {"n": None})
    with pytest.raises(ValueError, match=r"Interrupt node 'z' not found; there are \['n'\]"):
        make().invoke(1, interrupt_before=["z"])
