"""`NodeBuilder`: nodes without a StateGraph."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from minigraph.channels import EphemeralValue, LastValue, Topic
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import TAG_HIDDEN, TASKS
from minigraph.errors import InvalidUpdateError
from minigraph.pregel import ChannelWriteEntry, NodeBuilder, Pregel
from minigraph.pregel.builder import writing
from minigraph.pregel.node import PregelNode
from minigraph.pregel.selection import Selection
from minigraph.pregel.validate import built
from minigraph.types import Command, Overwrite, Send

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def graph_of(*nodes: Any, **options: Any) -> Pregel:
    """Nodes n0, n1 … on the channels a (the input), b and c (a growing list)."""
    channels: Any = {
        "a": LastValue(object),
        "b": LastValue(object),
        "c": Topic(object, accumulate=True),
    }
    given = {"input_channels": "a", "output_channels": ["a", "b", "c"], **options}
    return Pregel(nodes={f"n{i}": node for i, node in enumerate(nodes)}, channels=channels, **given)


def on_a(function: Any = None) -> NodeBuilder:
    builder = NodeBuilder().subscribe_only("a")
    return builder if function is None else builder.do(function)


async def add_one(x: int) -> int:
    await asyncio.sleep(0)
    return x + 1


def yields(x: Any) -> Iterator[Any]:
    yield x


async def yields_async(x: Any) -> AsyncIterator[Any]:
    yield x


class TestSubscriptions:
    """SS-50: what starts a node, and what it gets."""

    def test_the_bare_value(self) -> None:
        node = on_a().build()
        assert (node.triggers, node.channels.single, node.channels.names) == (("a",), True, ("a",))

    def test_a_dict(self) -> None:
        """Repeated names count once."""
        node = NodeBuilder().subscribe_to("a", "b").subscribe_to("b", "c").build()
        assert (node.triggers, node.channels.single) == (("a", "b", "c"), False)
        assert node.channels.names == ("a", "b", "c")

    def test_further_channels_start_nothing(self) -> None:
        node = NodeBuilder().subscribe_to("a").read_from("b", "a").build()
        assert (node.triggers, node.channels.names) == (("a",), ("a", "b"))

    def test_a_start_that_is_not_read(self) -> None:
        """A bare value may be read beside it."""
        node = NodeBuilder().subscribe_to("a", read=False).subscribe_to("b").build()
        assert (node.triggers, node.channels.names) == (("a", "b"), ("b",))
        node = NodeBuilder().subscribe_to("b", read=False).subscribe_only("a").build()
        assert (node.triggers, node.channels.single) == (("b", "a"), True)

    def test_nothing_at_all(self) -> None:
        """Only a Send can start it."""
        node = NodeBuilder().build()
        assert (node.triggers, node.channels.names, node.channels.single) == ((), (), False)
        assert (node.bound, node.then, node.writers) == (None, (), ())

    @pytest.mark.parametrize(
        "builder",
        [
            NodeBuilder().subscribe_only("b"),
            NodeBuilder().subscribe_to("b"),
            NodeBuilder().read_from("b"),
        ],
        ids=["subscribe_only", "subscribe_to", "read_from"],
    )
    def test_a_bare_value_beside_others(self, builder: NodeBuilder) -> None:
        with pytest.raises(ValueError) as caught:
            builder.subscribe_only("a")
        assert str(caught.value) == (
            "subscribe_only('a') makes 'a' all that the node reads, but it reads ['b'] already. "
            "For several channels, use subscribe_to."
        )

    @pytest.mark.parametrize("method", ["subscribe_to", "read_from"])
    @pytest.mark.parametrize("channel", ["a", "b"])
    def test_others_beside_a_bare_value(self, method: str, channel: str) -> None:
        """Even if it is the same one."""
        builder = on_a()
        with pytest.raises(ValueError) as caught:
            getattr(builder, method)(channel)
        assert str(caught.value) == (
            f"{method} adds ['{channel}'], but subscribe_only('a') said that a bare value is all "
            "that the node gets. For several channels, use subscribe_to for the first one too."
        )
        assert builder.build().triggers == ("a",)

    @pytest.mark.parametrize("method", ["subscribe_only", "subscribe_to", "read_from", "write_to"])
    @pytest.mark.parametrize("name", [["a", "b"], 3, None, len])
    def test_what_is_no_name(self, method: str, name: Any) -> None:
        with pytest.raises(TypeError) as caught:
            getattr(NodeBuilder(), method)(name)
        assert str(caught.value) == (
            f"{method} takes the names of channels, one by one, such as {method}('a'), "
            f"but this is {name!r}."
        )

    def test_what_they_get_in_a_run(self, way: Any) -> None:
        """As observed: channels without a value are not in the dict."""
        two = NodeBuilder().subscribe_to("a", "b").write_to("c")
        assert way.invoke(graph_of(two), 1)["c"] == [{"a": 1}]
        unread = NodeBuilder().subscribe_to("a", read=False).write_to("c")
        assert way.invoke(graph_of(unread), 1)["c"] == [{}]
        other = NodeBuilder().subscribe_to("a", read=False).read_from("b").write_to("c")
        graph = graph_of(other, input_channels=["a", "b"])
        assert way.invoke(graph, {"a": 1, "b": 2})["c"] == [{"b": 2}]


class TestDo:
    """SS-50: what a node does."""

    def test_one_after_the_other(self, way: Any) -> None:
        node = on_a(lambda x: x + 1).do(lambda x: x * 10).do(str).write_to("b")
        assert way.invoke(graph_of(node), 1) == {"a": 1, "b": "20"}

    def test_nothing_passes_on_what_was_read(self, way: Any) -> None:
        assert way.invoke(graph_of(on_a().write_to("b")), 1) == {"a": 1, "b": 1}

    def test_async_and_sync_mixed(self) -> None:
        """Each where it belongs: sync functions on a thread, async ones on the loop."""
        places: list[Any] = []

        def times_ten(x: int) -> int:
            places.append(threading.current_thread() is threading.main_thread())
            return x * 10

        node = on_a(add_one).do(times_ten).do(add_one).write_to("b")
        graph = graph_of(node)
        assert asyncio.run(graph.ainvoke(1)) == {"a": 1, "b": 21}
        assert places == [False]
        assert graph.nodes["n0"].async_functions == ["add_one", "add_one"]

    def test_a_sync_run_refuses_async_functions_anywhere(self) -> None:
        """ST-31."""
        with pytest.raises(TypeError, match="No synchronous function was provided to 'n0'"):
            graph_of(on_a(str).do(add_one).write_to("b")).invoke(1)

    def test_the_config_goes_to_those_who_want_it(self, way: Any) -> None:
        """MR-05, MR-06, with the tags and metadata of `meta`."""

        def second(x: Any, config: Any) -> Any:
            metadata = {key: config["metadata"][key] for key in ("x", "y", "langgraph_node")}
            return [config["tags"], metadata]

        node = on_a(str).do(second).meta("t", "u", x=1, y=1).meta("v", y=2).write_to("b")
        assert way.invoke(graph_of(node), 1)["b"] == [
            ["t", "u", "v"],
            {"x": 1, "y": 2, "langgraph_node": "n0"},
        ]

    def test_an_update_from_outside_is_what_the_last_one_returned(self, way: Any) -> None:
        """CP-60: nothing of the pipeline is called."""
        node = on_a(lambda x: 1 / 0).do(lambda x: 1 / 0).write_to("b", c=lambda x: -x)
        graph = graph_of(node, checkpointer=InMemorySaver())
        way.update(graph, CONFIG, 5, "n0")
        assert way.state(graph, CONFIG).values == {"b": 5, "c": [-5]}

    def test_a_failure_in_the_middle(self, way: Any) -> None:
        """The task fails, and none of its writes is there."""
        node = on_a(str).do(lambda x: 1 / 0).do(str).write_to("b")
        graph = graph_of(node, checkpointer=InMemorySaver())
        with pytest.raises(ZeroDivisionError):
            way.invoke(graph, 1, CONFIG)
        state = way.state(graph, CONFIG)
        assert (state.values, state.next) == ({"a": 1}, ("n0",))
        assert state.tasks[0].error == "ZeroDivisionError('division by zero')"

    @pytest.mark.parametrize("what", [3, {"x": len}, None])
    def test_what_is_no_function(self, what: Any) -> None:
        with pytest.raises(TypeError) as caught:
            NodeBuilder().do(what)
        assert str(caught.value) == f"do needs a function, not {what!r}."

    @pytest.mark.parametrize("function", [yields, yields_async])
    def test_generator_functions(self, function: Any) -> None:
        """They would be written as they are, unread."""
        with pytest.raises(TypeError) as caught:
            NodeBuilder().do(function)
        assert str(caught.value) == (
            f"do needs a function that returns its result, but {function.__name__!r} yields. "
            "Return a list, or write to a Topic."
        )


class TestWrites:
    """SS-50: where the result goes."""

    @pytest.mark.parametrize(
        ("channels", "mapped", "writes"),
        [
            (("a", "b"), {}, [("a", 2), ("b", 2)]),
            (("a", "a"), {}, [("a", 2), ("a", 2)]),
            (("a",), {"b": 5}, [("a", 2), ("b", 5)]),
            ((), {"b": lambda r: r * 10, "c": str}, [("b", 20), ("c", "2")]),
            ((), {"b": None, "c": lambda r: None}, [("b", None), ("c", None)]),
            ((), {"self": 1, "my channel": 2}, [("self", 1), ("my channel", 2)]),
        ],
    )
    def test_names_and_values(self, channels: Any, mapped: Any, writes: Any) -> None:
        """In the order given, names before values. A function makes a value of the result."""
        (writer,) = NodeBuilder().write_to(*channels, **mapped).build().writers
        assert writer(2) == writes

    def test_a_name_writes_none(self, way: Any) -> None:
        """As observed: None is a value."""
        graph = graph_of(on_a(lambda x: None).write_to("b", "c"))
        assert way.invoke(graph, 1) == {"a": 1, "b": None, "c": [None]}

    @pytest.mark.parametrize(
        ("entry", "result", "writes"),
        [
            (ChannelWriteEntry("b"), None, [("b", None)]),
            (ChannelWriteEntry("b", skip_none=True), None, []),
            (ChannelWriteEntry("b", skip_none=True), 0, [("b", 0)]),
            (ChannelWriteEntry("b", 3), None, [("b", 3)]),
            (ChannelWriteEntry("b", None, skip_none=True), 1, []),
            (ChannelWriteEntry("b", mapper=lambda v: v + 5), 1, [("b", 6)]),
            (ChannelWriteEntry("b", 4, mapper=lambda v: v + 5), 1, [("b", 9)]),
            (ChannelWriteEntry("b", skip_none=True, mapper=lambda v: None), 1, []),
            (ChannelWriteEntry("b", skip_none=True, mapper=lambda v: 7), None, [("b", 7)]),
            (ChannelWriteEntry("b", len), 1, [("b", len)]),
        ],
    )
    def test_an_entry_says_more(self, entry: Any, result: Any, writes: Any) -> None:
        """As observed: the mapper comes before the question whether there is anything."""
        (writer,) = NodeBuilder().write_to(entry).build().writers
        assert writer(result) == writes

    def test_the_order_of_several_calls(self, way: Any) -> None:
        """A channel written twice makes a list of the update (ST-11)."""
        node = on_a().write_to(c=lambda x: "first").write_to("c", c="last").write_to("c")
        graph = graph_of(node)
        assert way.invoke(graph, 1)["c"] == ["first", 1, "last", 1]
        assert way.stream(graph, 1, stream_mode="updates") == [
            {"n0": [{"c": "first"}, {"c": 1}, {"c": "last"}, {"c": 1}]}
        ]

    def test_writing_may_be_said_first(self, way: Any) -> None:
        node = NodeBuilder().write_to("b").subscribe_only("a").do(lambda x: x * 10)
        assert way.invoke(graph_of(node), 1)["b"] == 10

    def test_nothing_written(self, way: Any) -> None:
        """ST-04: nothing was ever written to what is shown."""
        graph = graph_of(on_a(str))
        assert way.stream(graph, 1, stream_mode="updates") == [{"n0": None}]
        assert way.invoke(graph, 1) is None

    @pytest.mark.parametrize("result", [Send("n1", 2), Command(update={"b": 1}, goto="n1")])
    def test_a_result_is_a_value_and_nothing_more(self, way: Any, result: Any) -> None:
        """As observed: it takes a StateGraph to make something of it."""
        graph = graph_of(on_a(lambda x: result).write_to("b"), NodeBuilder().write_to("c"))
        assert way.invoke(graph, 1) == {"a": 1, "b": result}
        graph = graph_of(on_a(lambda x: Overwrite(x)).write_to("b"))
        assert way.invoke(graph, 1)["b"] == Overwrite(1)

    def test_a_channel_that_is_not_there(self) -> None:
        """SS-51: seen when the graph is made."""
        with pytest.raises(ValueError, match="Node 'n0' writes to 'z', which is no channel of"):
            graph_of(on_a().write_to("z", "b"))

    @pytest.mark.parametrize(
        ("channels", "mapped"),
        [((TASKS,), {}), ((ChannelWriteEntry(TASKS),), {}), ((), {TASKS: 1})],
    )
    def test_the_channel_of_the_machine(self, channels: Any, mapped: Any) -> None:
        with pytest.raises(InvalidUpdateError) as caught:
            NodeBuilder().write_to(*channels, **mapped)
        assert str(caught.value) == (
            "'__pregel_tasks' is the machine's own channel, and a node's result cannot be "
            "written to it. For Sends, use a StateGraph, or give a PregelNode a writer."
        )

    @pytest.mark.parametrize(
        ("channels", "mapped"),
        [((), {"b": add_one}), ((ChannelWriteEntry("b", mapper=add_one),), {})],
    )
    def test_an_async_function_that_nobody_awaits(self, channels: Any, mapped: Any) -> None:
        builder = NodeBuilder()
        with pytest.raises(TypeError) as caught:
            builder.write_to("c", *channels, **mapped)
        assert str(caught.value) == (
            "What is written to 'b' is made by an async function, and nobody awaits it there. "
            "Do the async work in `do`."
        )
        assert builder.entries == []

    def test_writing_by_itself(self) -> None:
        assert writing(())(1) == []


class TestBuilding:
    def test_every_method_gives_the_builder(self) -> None:
        builder = NodeBuilder()
        assert builder.subscribe_to("a").read_from("b").do(len).write_to("c").meta("t") is builder
        assert NodeBuilder().subscribe_only("a").triggers == ["a"]

    def test_a_built_node_is_a_snapshot(self) -> None:
        builder = NodeBuilder().subscribe_to("a").do(len).write_to("b").meta("t", x=1)
        node = builder.build()
        builder.subscribe_to("z").do(str).write_to("z").meta("z", x=2)
        assert (node.triggers, node.channels.names, node.then) == (("a",), ("a",), ())
        assert (node.tags, node.metadata, node.writers[0](1)) == (("t",), {"x": 1}, [("b", 1)])

    def test_nodes_are_named_by_the_graph(self) -> None:
        """Built or not; one node may stand under two names."""
        shared = on_a().write_to("c").build()
        graph = graph_of(shared, shared, on_a())
        assert [node.name for node in graph.nodes.values()] == ["n0", "n1", "n2"]
        assert shared.name == ""
        own = PregelNode("own", ("a",), Selection("a"))
        assert built({"own": own})["own"] is own

    @pytest.mark.parametrize("what", [len, None, functools.partial(len)])
    def test_what_is_no_node(self, what: Any) -> None:
        with pytest.raises(TypeError) as caught:
            built({"n": what})
        assert str(caught.value) == (
            f"Node 'n' must be a NodeBuilder or a PregelNode, but it is {what!r}. Say what it "
            "listens to: NodeBuilder().subscribe_only(channel).do(function)."
        )

    def test_a_hidden_node(self, way: Any) -> None:
        """SG-11: streams leave it out."""
        graph = graph_of(on_a().meta(TAG_HIDDEN).write_to("b"))
        assert way.stream(graph, 1, stream_mode=["values", "updates"]) == [
            ("values", {"a": 1, "b": 1})
        ]


class TestDocumentedGraphs:
    """SS-50: the examples of the reference's documentation, as observed."""

    def test_two_nodes(self, way: Any) -> None:
        graph = Pregel(
            nodes={
                "one": NodeBuilder().subscribe_only("a").do(lambda x: x + x).write_to("b", "c"),
                "two": NodeBuilder().subscribe_to("b").do(lambda x: x["b"] + x["b"]).write_to("c"),
            },
            channels={
                "a": EphemeralValue(str),
                "b": EphemeralValue(str),
                "c": Topic(str, accumulate=True),
            },
            input_channels=["a"],
            output_channels=["c"],
        )
        assert way.invoke(graph, {"a": "foo"}) == {"c": ["foofoo", "foofoofoofoo"]}
        assert way.stream(graph, {"a": "foo"}) == [
            {"b": "foofoo", "c": ["foofoo"]},
            {"c": ["foofoo", "foofoofoofoo"]},
        ]
        assert way.stream(graph, {"a": "foo"}, stream_mode="updates") == [
            {"one": {"b": "foofoo", "c": "foofoo"}},
            {"two": {"c": "foofoofoofoo"}},
        ]

    def test_a_loop(self, way: Any) -> None:
        """It ends when nothing is written."""
        node = on_a(lambda x: x + x if len(x) < 10 else None)
        graph = Pregel(
            nodes={"double": node.write_to(ChannelWriteEntry("a", skip_none=True))},
            channels={"a": EphemeralValue(str)},
            input_channels=["a"],
            output_channels=["a"],
        )
        assert way.invoke(graph, {"a": "a"}) == {"a": "a" * 16}
