"""`Pregel`: the face of a graph."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import operator
import threading
import time
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue
from minigraph.channels.topic import Topic
from minigraph.checkpoint.base import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import END, START
from minigraph.errors import EmptyInputError, InvalidUpdateError
from minigraph.graph import StateGraph
from minigraph.pregel import NodeBuilder, Pregel
from minigraph.pregel.effects import Start
from minigraph.pregel.main import next_version_of, spread_config
from minigraph.pregel.node import PregelNode, UserFunction
from minigraph.pregel.selection import Selection
from minigraph.types import Send, StateUpdate

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    x: int


def ab(saver: Any = None, **options: Any) -> Any:
    """START ─▶ a ─▶ b, the graph of the observations."""
    builder = StateGraph(State).add_node("a", lambda state: {"log": ["a"], "x": 1})
    builder.add_node("b", lambda state: {"log": ["b"]}).add_edge(START, "a").add_edge("a", "b")
    return builder.compile(checkpointer=saver and saver(), **options)


# ---------------------------------------------------------------- a graph by hand


def by_hand(**options: Any) -> Pregel:
    """A graph that nobody authored: two nodes, and the channels between them."""
    nodes = {
        "one": PregelNode(
            "one",
            ("a",),
            Selection("a"),
            bound=UserFunction(lambda text: text + text),
            writers=(lambda result: [("b", result), ("c", result)],),
        ),
        "two": PregelNode(
            "two",
            ("b",),
            Selection("b"),
            bound=UserFunction(lambda text: text + "foo"),
            writers=(lambda result: [("c", result)],),
        ),
    }
    channels: Any = {
        "a": EphemeralValue(str, key="a"),
        "b": EphemeralValue(str, key="b"),
        "c": Topic(str, accumulate=True, key="c"),
    }
    return Pregel(
        nodes=nodes,
        channels=channels,
        **{"input_channels": "a", "output_channels": ["b", "c"], **options},
    )


class TestByHand:
    def test_it_runs(self, way: Any) -> None:
        """SS-50, SS-51: as observed; `values` is what it tells unless it is asked."""
        graph = by_hand()
        assert way.invoke(graph, "foo") == {"c": ["foofoo", "foofoofoo"]}
        assert way.stream(graph, "foo") == [
            {"b": "foofoo", "c": ["foofoo"]},
            {"c": ["foofoo", "foofoofoo"]},
        ]
        assert way.stream(graph, "foo", stream_mode="updates") == [
            {"one": {"b": "foofoo", "c": "foofoo"}},
            {"two": {"c": "foofoofoo"}},
        ]

    def test_channels_for_input_output_and_streams(self, way: Any) -> None:
        """One name means a bare value, several mean a dict."""
        assert way.invoke(by_hand(output_channels="c"), "foo") == ["foofoo", "foofoofoo"]
        two_ways_in = by_hand(input_channels=["a", "b"])
        result = way.invoke(two_ways_in, {"a": "x", "b": "y", "z": 1})
        assert result == {"c": ["xx", "yfoo", "xxfoo"]}
        shown = by_hand(output_channels="c", stream_channels=["b"])
        assert way.stream(shown, "foo") == [{"b": "foofoo"}]
        assert way.invoke(shown, "foo") == ["foofoo", "foofoofoo"]

    def test_inputs_that_start_nothing(self, way: Any) -> None:
        """SG-44."""
        graph = by_hand(input_channels=["a", "b"])
        with pytest.raises(EmptyInputError, match=r"no key of \['a', 'b'\]"):
            way.invoke(graph, {"z": 1})
        with pytest.raises(TypeError, match="must be a dict"):
            way.invoke(graph, "foo")

    def test_a_thread_of_it(self, way: Any) -> None:
        """Snapshots show the stream channels; without START, an update must say whose it is."""
        graph = by_hand(checkpointer=InMemorySaver())
        with pytest.raises(InvalidUpdateError, match="No node has run yet"):
            way.update(graph, CONFIG, "bar")
        way.invoke(graph, "foo", CONFIG)
        assert way.state(graph, CONFIG).values == {"c": ["foofoo", "foofoofoo"]}
        way.update(graph, CONFIG, "bar", "one")
        state = way.state(graph, CONFIG)
        assert (state.values["b"], state.next) == ("bar", ("two",))
        assert way.invoke(graph, None, CONFIG)["c"][2:] == ["bar", "barfoo"]

    def test_a_loop(self, way: Any) -> None:
        """SS-50: as observed: a node that listens to what it writes, until it writes nothing."""
        node = PregelNode(
            "double",
            ("v",),
            Selection("v"),
            bound=UserFunction(lambda text: text + text if len(text) < 10 else None),
            writers=(lambda result: [("v", result)] if result else [],),
        )
        graph = Pregel(
            nodes={"double": node},
            channels={"v": LastValue(str, "v")},
            input_channels="v",
            output_channels=["v"],
            checkpointer=InMemorySaver(),
        )
        assert way.invoke(graph, "a", CONFIG) == {"v": "a" * 16}
        # CP-61: with a single node, an update needs not say whose it is.
        way.update(graph, CONFIG, "bbbb")
        assert way.state(graph, CONFIG).next == ("double",)
        assert way.invoke(graph, None, CONFIG) == {"v": "b" * 16}

    def test_what_it_shows_of_itself(self) -> None:
        graph = by_hand(name="mine")
        assert [*graph.nodes] == ["one", "two"]
        assert [*graph.channels] == ["a", "b", "c", "__pregel_tasks"]
        assert graph.trigger_to_nodes == {"a": ["one"], "b": ["two"]}
        assert graph.get_name() == "mine"
        assert graph.output_channels == ["b", "c"]
        assert graph.stream_channels == ["a", "b", "c", "__pregel_tasks"]

    def test_channels_learn_their_names(self) -> None:
        """The caller's own stay as they are, and may serve in two graphs."""
        own: Any = LastValue(str)
        node = NodeBuilder().subscribe_only("x").write_to("x")
        graphs = [
            Pregel(
                nodes={"one": node, "two": node},
                channels={"x": own, name: own},
                input_channels="x",
                output_channels=name,
            )
            for name in ("y", "z")
        ]
        assert [[channel.key for channel in graph.channels.values()] for graph in graphs] == [
            ["x", "y", "__pregel_tasks"],
            ["x", "z", "__pregel_tasks"],
        ]
        assert own.key == ""
        with pytest.raises(InvalidUpdateError, match="Channel 'x' received 2 writes"):
            graphs[0].invoke("1")


# ---------------------------------------------------------------- threads of a graph by hand


def chain(**options: Any) -> Pregel:
    """one: a + 1, to b; two: b * 10, to c; both write to the log."""
    one = NodeBuilder().subscribe_only("a").do(lambda a: a + 1).write_to("b", "log")
    two = NodeBuilder().subscribe_to("b").read_from("log").do(lambda state: state["b"] * 10)
    given: dict[str, Any] = {
        "nodes": {"one": one, "two": two.write_to("c", "log")},
        "channels": {
            "a": EphemeralValue(int),
            "b": EphemeralValue(int),
            "c": LastValue(int),
            "log": Topic(int, accumulate=True),
        },
        "input_channels": "a",
        "output_channels": "c",
        "checkpointer": InMemorySaver(),
    }
    return Pregel(**{**given, **options})


def lines(states: list[Any]) -> list[Any]:
    """Snapshots in short."""
    return [(s.metadata["source"], s.metadata["step"], s.values, s.next) for s in states]


BOTH = ["values", "updates"]


class TestThreadsByHand:
    """SS-50: as observed of the reference."""

    def test_a_run_and_its_history(self, way: Any) -> None:
        """What is shown is all channels, not the output alone."""
        graph = chain()
        assert way.stream(graph, 1, CONFIG, stream_mode=BOTH) == [
            ("updates", {"one": {"b": 2, "log": 2}}),
            ("values", {"b": 2, "log": [2]}),
            ("updates", {"two": {"c": 20, "log": 20}}),
            ("values", {"c": 20, "log": [2, 20]}),
        ]
        history = way.history(graph, CONFIG)
        assert lines(history) == [
            ("loop", 1, {"c": 20, "log": [2, 20]}, ()),
            ("loop", 0, {"b": 2, "log": [2]}, ("two",)),
            ("input", -1, {"a": 1}, ("one",)),
        ]
        assert [[task.result for task in state.tasks] for state in history] == [
            [],
            [{"c": 20, "log": 20}],
            [{"b": 2, "log": 2}],
        ]
        assert way.invoke(graph, None, CONFIG) == 20

    def test_a_replay(self, way: Any) -> None:
        """TT-02."""
        graph = chain()
        way.invoke(graph, 1, CONFIG)
        before_two = way.history(graph, CONFIG)[1].config
        assert way.stream(graph, None, before_two, stream_mode=BOTH) == [
            ("values", {"b": 2, "log": [2]}),
            ("updates", {"two": {"c": 20, "log": 20}}),
            ("values", {"c": 20, "log": [2, 20]}),
        ]

    def test_updates(self, way: Any) -> None:
        """CP-61, CP-65, CP-66: as a node, as the one that ran last, as an input, as the end."""
        graph = chain()
        with pytest.raises(InvalidUpdateError, match="No node has run yet"):
            way.update(graph, CONFIG, 5)
        way.invoke(graph, 1, CONFIG, interrupt_before=["two"])
        way.update(graph, CONFIG, 5)
        way.update(graph, CONFIG, 6, "one")
        way.update(graph, CONFIG, 7, "two")
        way.update(graph, CONFIG, 8, "__input__")
        way.update(graph, CONFIG, None, "__end__")
        with pytest.raises(InvalidUpdateError, match="Node 'zz' does not exist"):
            way.update(graph, CONFIG, 5, "zz")
        assert lines(way.history(graph, CONFIG))[:5] == [
            ("update", 5, {"c": 7, "log": [2, 5, 6, 7]}, ()),
            ("input", 4, {"a": 8, "c": 7, "log": [2, 5, 6, 7]}, ("one",)),
            ("update", 3, {"c": 7, "log": [2, 5, 6, 7]}, ()),
            ("update", 2, {"b": 6, "log": [2, 5, 6]}, ("two",)),
            ("update", 1, {"b": 5, "log": [2, 5]}, ("two",)),
        ]
        assert way.invoke(graph, None, CONFIG) == 7

    def test_breakpoints_and_a_fork(self, way: Any) -> None:
        """IN-60, TT-10."""
        graph = chain(interrupt_before_nodes=["two"], interrupt_after_nodes="*")
        assert way.stream(graph, 1, CONFIG, stream_mode=BOTH)[-1] == (
            "updates",
            {"__interrupt__": ()},
        )
        assert lines([way.state(graph, CONFIG)]) == [("loop", 0, {"b": 2, "log": [2]}, ("two",))]
        assert way.invoke(graph, None, CONFIG) == 20
        first = way.history(graph, CONFIG)[-1].config
        fork = way.update(graph, first, 50, "one")
        assert way.stream(graph, None, fork, stream_mode=BOTH) == [
            ("values", {"b": 50, "log": [50]}),
            ("updates", {"two": {"c": 500, "log": 500}}),
            ("values", {"c": 500, "log": [50, 500]}),
            ("updates", {"__interrupt__": ()}),
        ]

    def test_a_single_channel_is_shown_bare(self, way: Any) -> None:
        """ST-12."""
        graph = chain(stream_channels="log")
        assert way.stream(graph, 1, CONFIG, stream_mode=BOTH) == [
            ("updates", {"one": 2}),
            ("values", [2]),
            ("updates", {"two": 20}),
            ("values", [2, 20]),
        ]
        assert way.state(graph, CONFIG).values == [2, 20]

    def test_a_value_that_nobody_wrote_is_no_news(self, way: Any) -> None:
        """SS-22: not even for a node that has never run, and where all nodes are asked."""
        add: Any = BinaryOperatorAggregate(list, operator.add)
        graph = Pregel(
            nodes={
                "n": NodeBuilder().subscribe_only("a").write_to("b"),
                "sum": NodeBuilder().subscribe_only("sum").write_to("b"),
            },
            channels={"a": LastValue(int), "b": LastValue(Any), "sum": add},
            input_channels="a",
            output_channels="b",
            checkpointer=InMemorySaver(),
        )
        assert way.invoke(graph, 1, CONFIG) == 1
        assert way.history(graph, CONFIG)[1].values == {"a": 1, "sum": []}
        assert [state.next for state in way.history(graph, CONFIG)] == [(), ("n",)]
        way.update(graph, CONFIG, 2, "n")
        assert way.state(graph, CONFIG).next == ()

    def test_a_bare_value_beside_a_dict_of_it(self, way: Any) -> None:
        """SS-50: each node reads as it said, also in one super-step."""
        graph = Pregel(
            nodes={
                "bare": NodeBuilder().subscribe_only("a").write_to("c"),
                "dict": NodeBuilder().subscribe_to("a").write_to("c"),
            },
            channels={"a": LastValue(int), "c": Topic(object, accumulate=True)},
            input_channels="a",
            output_channels="c",
        )
        assert way.invoke(graph, 1) == [1, {"a": 1}]

    def test_nothing_of_what_was_written_twice_is_left_out(self, way: Any) -> None:
        """CP-42: None counts."""
        node = NodeBuilder().subscribe_only("a").write_to(c=None).write_to(c=4)
        graph = Pregel(
            nodes={"n": node},
            channels={"a": LastValue(int), "c": Topic(object)},
            input_channels="a",
            output_channels="c",
            checkpointer=InMemorySaver(),
        )
        way.invoke(graph, 1, CONFIG)
        (task,) = way.history(graph, CONFIG)[-1].tasks
        assert task.result == {"c": {"$writes": [None, 4]}}

    def test_sends_need_a_writer_of_ones_own(self, way: Any) -> None:
        """CS-32: the channel is there, and shown, since nobody chose what is shown."""
        sends = [Send("m", 1), Send("m", 2)]
        writes = [("__pregel_tasks", sends[0]), ("__pregel_tasks", sends[1]), ("b", "x")]
        graph = Pregel(
            nodes={
                "n": PregelNode("n", ("a",), Selection("a"), writers=(lambda result: writes,)),
                "m": NodeBuilder().write_to("c"),
            },
            channels={
                "a": EphemeralValue(int),
                "b": LastValue(str),
                "c": Topic(int, accumulate=True),
            },
            input_channels="a",
            output_channels="c",
            checkpointer=InMemorySaver(),
        )
        assert way.invoke(graph, 0, CONFIG) == [1, 2]
        history = way.history(graph, CONFIG)
        assert lines(history) == [
            ("loop", 1, {"b": "x", "c": [1, 2]}, ()),
            ("loop", 0, {"b": "x", "__pregel_tasks": sends}, ("m", "m")),
            ("input", -1, {"a": 0}, ("n",)),
        ]
        assert history[2].tasks[0].result == {"__pregel_tasks": {"$writes": sends}, "b": "x"}


# ---------------------------------------------------------------- copies


def say_config(state: Any, config: Any) -> Any:
    """A node that tells its tags, the caller's part of its config, and its limit."""
    mine = {name: config["configurable"].get(name) for name in ("k", "j", "foo")}
    metadata = {name: config["metadata"].get(name) for name in ("m", "n")}
    return {"log": [(config.get("tags"), mine, metadata, config.get("recursion_limit"))]}


def telling(**options: Any) -> Any:
    return StateGraph(State).add_node("a", say_config).add_edge(START, "a").compile(**options)


class TestWithConfig:
    """MR-08: a config that goes with every call."""

    def test_a_bound_copy(self, way: Any) -> None:
        """The graph itself knows nothing of it."""
        graph = telling()
        bound = graph.with_config(
            {"configurable": {"k": 1, "j": 1}, "metadata": {"m": 1}, "tags": ["x"]},
            recursion_limit=5,
        )
        assert way.invoke(bound, {"log": []})["log"] == [
            (["x"], {"k": 1, "j": 1, "foo": None}, {"m": 1, "n": None}, 5)
        ]
        assert way.invoke(graph, {"log": []})["log"] == [
            (None, {"k": None, "j": None, "foo": None}, {"m": None, "n": None}, None)
        ]
        assert type(bound) is type(graph)
        assert (bound.builder, bound.nodes) == (graph.builder, graph.nodes)

    def test_what_the_call_says_comes_first(self, way: Any) -> None:
        """Key by key; tags are joined, and may repeat; None says nothing."""
        bound = telling().with_config(
            configurable={"k": 1, "j": 1}, metadata={"m": 1, "n": 1}, tags=["x", "y"]
        )
        config = {"configurable": {"k": 9}, "metadata": {"m": 9}, "tags": ["y", "z"]}
        assert way.stream(bound, {"log": []}, config, stream_mode="values")[-1]["log"] == [
            (["x", "y", "y", "z"], {"k": 9, "j": 1, "foo": None}, {"m": 9, "n": 1}, None)
        ]
        config = {"configurable": None, "metadata": None, "tags": None}
        assert way.batch(bound, [{"log": []}], config)[0]["log"] == [
            (["x", "y"], {"k": 1, "j": 1, "foo": None}, {"m": 1, "n": 1}, None)
        ]

    def test_bound_again(self, way: Any) -> None:
        """Later bindings come first, named keys before those of the config."""
        bound = telling().with_config(configurable={"k": 1, "j": 1}, tags=["x"])
        again = bound.with_config({"configurable": {"k": 2}}, configurable={"k": 3}, tags=["y"])
        assert again.config == {"configurable": {"k": 3, "j": 1}, "tags": ["x", "y"]}
        assert bound.config == {"configurable": {"k": 1, "j": 1}, "tags": ["x"]}
        assert way.invoke(again, {"log": []})["log"][0][1]["k"] == 3

    def test_keys_of_the_users_own(self, way: Any) -> None:
        bound = telling().with_config({"foo": 1})
        assert way.invoke(bound, {"log": []})["log"][0][1]["foo"] == 1

    def test_bound_to_a_thread(self, way: Any) -> None:
        """Everything that asks for a thread finds it; a call may name another."""
        graph = ab(InMemorySaver)
        bound = graph.with_config(CONFIG, metadata={"by": "me"})
        way.invoke(bound, {"log": []})
        way.update(bound, {}, {"log": ["u"]})
        state = way.state(bound, {})
        assert state == way.state(graph, CONFIG)
        assert (state.values["log"], state.metadata["by"]) == (["a", "b", "u"], "me")
        assert len(way.history(bound, {})) == 5
        other: Any = {"configurable": {"thread_id": "other"}}
        assert way.state(bound, other).values == {}
        way.invoke(bound, {"log": []}, other)
        assert way.state(bound, other).values == {"log": ["a", "b"], "x": 1}

    @pytest.mark.parametrize("config", [{"max_concurrency": 1}, {}])
    def test_the_concurrency_is_bound_too(self, way: Any, config: Any) -> None:
        """Of a run and of a batch; the call's own counts."""
        peak = Peak()
        builder = StateGraph(State)
        for name in ("a", "b", "c"):
            builder.add_node(name, peak.work).add_edge(START, name)
        bound = builder.compile().with_config(max_concurrency=1)
        way.invoke(bound, {"log": []}, config)
        assert peak.highest == 1
        way.batch(bound, [{"log": []}] * 3, config)
        assert peak.highest == 1
        way.invoke(bound, {"log": []}, {"max_concurrency": 3})
        assert peak.highest > 1

    def test_mistakes_are_told_at_once(self) -> None:
        with pytest.raises(ValueError, match="recursion_limit must be at least 1"):
            telling().with_config(recursion_limit=0)
        with pytest.raises(TypeError, match="A config is a dict"):
            telling().with_config(3)

    def test_as_an_argument(self, way: Any) -> None:
        """A graph by hand can be made with its config."""
        node = NodeBuilder().subscribe_only("a").do(lambda a, config: config["configurable"]["k"])
        graph = Pregel(
            nodes={"n": node.write_to("b")},
            channels={"a": LastValue(int), "b": LastValue(int)},
            input_channels="a",
            output_channels="b",
            config={"configurable": {"k": 8}},
        )
        assert way.invoke(graph, 1) == 8
        assert way.invoke(graph, 1, {"configurable": {"k": 9}}) == 9


class Peak:
    """How many work at once."""

    def __init__(self) -> None:
        self.now = self.highest = 0
        self.lock = threading.Lock()

    def work(self, state: Any) -> None:
        with self.lock:
            self.now += 1
            self.highest = max(self.highest, self.now)
        time.sleep(0.02)
        with self.lock:
            self.now -= 1


class TestCopy:
    """Another graph like this one."""

    def test_alike(self) -> None:
        graph = ab(InMemorySaver, name="mine").with_config(tags=["t"])
        other = graph.copy()
        assert other is not graph
        assert type(other) is type(graph)
        assert other.config == {"tags": ["t"]}
        assert (other.checkpointer, other.name) == (graph.checkpointer, "mine")
        assert [*other.nodes] == [*graph.nodes]
        other.name = "other"
        assert graph.get_name() == "mine"

    def test_with_another_saver(self, way: Any) -> None:
        """Everything that comes of an argument follows it."""
        graph = ab(InMemorySaver)
        way.invoke(graph, {"log": []}, CONFIG)
        other = graph.copy({"checkpointer": InMemorySaver(), "interrupt_before_nodes": ["b"]})
        assert way.state(other, CONFIG).values == {}
        assert way.invoke(other, {"log": []}, CONFIG) == {"log": ["a"], "x": 1}
        assert way.state(graph, CONFIG).values == {"log": ["a", "b"], "x": 1}
        without = graph.copy({"checkpointer": None})
        assert way.invoke(without, {"log": []}) == {"log": ["a", "b"], "x": 1}
        with pytest.raises(ValueError, match="No checkpointer set"):
            way.state(without, CONFIG)

    def test_every_argument_can_be_another(self) -> None:
        """So each is kept under its name."""
        graph = chain(name="mine", stream_channels="log", config={"tags": ["t"]})
        _, *names = inspect.signature(Pregel.__init__).parameters
        kept = {name: getattr(graph, name) for name in names}
        again = Pregel(**kept)
        assert {name: getattr(again, name) for name in names} == kept
        assert (kept["name"], kept["stream_channels"], kept["config"]) == (
            "mine",
            "log",
            {"tags": ["t"]},
        )

    def test_what_cannot_work(self) -> None:
        """SS-51: it is looked at like any graph."""
        with pytest.raises(ValueError, match="output_channels names 'zz'"):
            ab().copy({"output_channels": "zz"})
        with pytest.raises(
            TypeError, match=r"copy cannot change \['foo'\]; it can change \['nodes'"
        ):
            ab().copy({"foo": 1})


def test_no_node_is_a_graph() -> None:
    """Graphs as nodes are to come."""
    assert list(ab().get_subgraphs()) == []
    assert list(ab().get_subgraphs(namespace="a", recurse=True)) == []

    async def collect() -> list[Any]:
        return [found async for found in ab().aget_subgraphs(recurse=True)]

    assert asyncio.run(collect()) == []


# ---------------------------------------------------------------- streams


class TestStreams:
    def test_single_modes(self, way: Any) -> None:
        """ST-01, ST-10, ST-11: as observed."""
        assert way.stream(ab(), {"log": ["i"]}, stream_mode="values") == [
            {"log": ["i"]},
            {"log": ["i", "a"], "x": 1},
            {"log": ["i", "a", "b"], "x": 1},
        ]
        updates = [{"a": {"log": ["a"], "x": 1}}, {"b": {"log": ["b"]}}]
        assert way.stream(ab(), {"log": ["i"]}, stream_mode="updates") == updates
        assert way.stream(ab(), {"log": ["i"]}) == updates  # ST-03

    def test_lists_of_modes(self, way: Any) -> None:
        """ST-01, ST-19: pairs, also for a list of one; updates before the values they made."""
        assert way.stream(ab(), {"log": []}, stream_mode=["updates"]) == [
            ("updates", {"a": {"log": ["a"], "x": 1}}),
            ("updates", {"b": {"log": ["b"]}}),
        ]
        both = way.stream(ab(), {"log": []}, stream_mode=["values", "updates"])
        assert [mode for mode, _ in both] == ["values", "updates", "values", "updates", "values"]
        assert way.stream(ab(), {"log": []}, stream_mode=["updates", "values"]) == both
        assert way.stream(ab(), {"log": []}, stream_mode=[]) == []

    def test_output_keys(self, way: Any) -> None:
        """ST-12: as observed."""
        assert way.stream(ab(), {"log": []}, stream_mode="values", output_keys=["x"]) == [{"x": 1}]
        assert way.stream(ab(), {"log": []}, output_keys=["x"]) == [{"a": {"x": 1}}, {"b": None}]
        assert way.stream(ab(), {"log": []}, stream_mode="values", output_keys="x") == [1]
        assert way.stream(ab(), {"log": []}, output_keys="x") == [{"a": 1}, {"b": None}]
        assert way.invoke(ab(), {"log": []}, output_keys="x") == 1
        assert way.invoke(ab(), {"log": []}, output_keys=["log"]) == {"log": ["a", "b"]}

    def test_names_that_do_not_exist(self, way: Any) -> None:
        """Refused, before anything has run."""
        for call in (way.invoke, way.stream):
            with pytest.raises(ValueError, match="output_keys names 'nope', which is no channel"):
                call(ab(), {"log": []}, output_keys=["log", "nope"])
            with pytest.raises(ValueError, match="output_keys names 'nope'"):
                call(ab(), {"log": []}, output_keys="nope")
            with pytest.raises(ValueError, match="stream_mode 'nope' does not exist"):
                call(ab(), {"log": []}, stream_mode="nope")
            with pytest.raises(ValueError, match="stream_mode 'nope' does not exist"):
                call(ab(), {"log": []}, stream_mode=["values", "nope"])

    def test_invoke_in_other_modes(self, way: Any) -> None:
        """ST-04: all chunks, as a list."""
        updates = [{"a": {"log": ["a"], "x": 1}}, {"b": {"log": ["b"]}}]
        assert way.invoke(ab(), {"log": []}, stream_mode="updates") == updates
        assert way.invoke(ab(), {"log": []}, stream_mode=["values", "updates"]) == [
            ("values", {"log": []}),
            ("updates", updates[0]),
            ("values", {"log": ["a"], "x": 1}),
            ("updates", updates[1]),
            ("values", {"log": ["a", "b"], "x": 1}),
        ]
        assert way.invoke(ab(), {"log": []}, stream_mode="updates", output_keys="x") == [
            {"a": 1},
            {"b": None},
        ]

    def test_invoke_shows_outputs_and_streams_show_all(self, way: Any) -> None:
        """SG-07, in each of its ways."""

        class Out(TypedDict):
            x: int

        builder = StateGraph(State, output_schema=Out)
        builder.add_node("a", lambda s: {"log": ["a"], "x": 1}).add_edge(START, "a")
        graph = builder.compile()
        assert way.invoke(graph, {"log": []}) == {"x": 1}
        assert way.invoke(graph, {"log": []}, stream_mode="updates") == [{"a": {"x": 1}}]
        assert way.stream(graph, {"log": []}) == [{"a": {"log": ["a"], "x": 1}}]
        assert way.stream(graph, {"log": []}, stream_mode="values")[-1] == {"log": ["a"], "x": 1}

    def test_updates_follow_the_order_of_finishing(self, way: Any) -> None:
        """SS-04: and the state follows the order of names."""
        first_done = threading.Event()

        def slow(state: State) -> Any:
            first_done.wait(20)
            return {"log": ["a"]}

        builder = StateGraph(State).add_node("a", slow).add_node("b", lambda s: {"log": ["b"]})
        graph = builder.add_edge(START, "a").add_edge(START, "b").compile()
        if way.is_async:

            async def read() -> list[Any]:
                chunks = []
                async for each in graph.astream({"log": []}, stream_mode=["updates", "values"]):
                    chunks.append(each)
                    if "b" in each[1]:
                        first_done.set()
                return chunks

            chunks = asyncio.run(read())
        else:
            chunks = []
            for each in graph.stream({"log": []}, stream_mode=["updates", "values"]):
                chunks.append(each)
                if "b" in each[1]:
                    first_done.set()
        assert chunks == [
            ("values", {"log": []}),
            ("updates", {"b": {"log": ["b"]}}),
            ("updates", {"a": {"log": ["a"]}}),
            ("values", {"log": ["a", "b"]}),
        ]

    def test_a_failing_task_tells_nothing(self, way: Any) -> None:
        """ST-20: the exception is raised from the iterator."""
        builder = StateGraph(State).add_node("a", lambda state: {"log": ["a"]})
        builder.add_node("bad", lambda state: 1 / 0).add_edge(START, "a").add_edge("a", "bad")
        chunks: list[Any] = []
        with pytest.raises(ZeroDivisionError):
            way.stream_into(chunks, builder.compile(), {"log": []})
        assert chunks == [{"a": {"log": ["a"]}}]

    def test_a_stream_runs_only_while_it_is_read(self) -> None:
        """ST-30: nothing before the first `next`, and nothing ahead of the reader."""
        ran: list[str] = []
        builder = StateGraph(State)
        for name in "ab":
            builder.add_node(name, lambda state, name=name: ran.append(name))
        graph = builder.add_edge(START, "a").add_edge("a", "b").compile()
        stream = graph.stream({"log": []})
        assert ran == []
        next(stream)
        assert ran == ["a"]
        next(stream)
        assert ran == ["a", "b"]

    def test_values_told_are_not_the_next_ones(self, way: Any) -> None:
        """Each chunk is a dict of its own, so a reader may keep it."""
        chunks = way.stream(ab(), {"log": []}, stream_mode="values")
        assert len({id(each) for each in chunks}) == 3
        assert [len(each["log"]) for each in chunks] == [0, 1, 2]


# ---------------------------------------------------------------- batches


class TestBatch:
    def graph(self, saver: Any = None) -> Any:
        def node(state: State, config: Any) -> Any:
            time.sleep(0.002 * (5 - state["x"]))  # the later, the quicker
            if state["x"] < 0:
                raise ValueError("negative")
            return {"log": [config["metadata"].get("who", "nobody")]}

        builder = StateGraph(State).add_node("a", node).add_edge(START, "a")
        return builder.compile(checkpointer=saver and saver())

    def test_results_in_the_order_of_inputs(self, way: Any) -> None:
        """MR-11: each run is its own."""
        inputs = [{"log": [f"in {i}"], "x": i} for i in range(5)]
        expected = [{"log": [f"in {i}", "nobody"], "x": i} for i in range(5)]
        assert way.batch(self.graph(), inputs) == expected
        assert way.batch(self.graph(), []) == []

    def test_one_config_for_all_or_one_for_each(self, way: Any) -> None:
        inputs = [{"log": [], "x": i} for i in range(3)]
        for_all: Any = {"metadata": {"who": "all"}}
        for_each: Any = [{"metadata": {"who": who}} for who in "abc"]
        told = [result["log"] for result in way.batch(self.graph(), inputs, for_all)]
        assert told == [["all"]] * 3
        told = [result["log"] for result in way.batch(self.graph(), inputs, for_each)]
        assert told == [["a"], ["b"], ["c"]]
        with pytest.raises(ValueError, match="batch got 3 inputs but 2 configs"):
            way.batch(self.graph(), inputs, for_each[:2])

    def test_many_threads_at_once(self, way: Any) -> None:
        """One saver, and a thread of its own for each input."""
        graph = self.graph(InMemorySaver)
        configs: Any = [{"configurable": {"thread_id": str(i)}} for i in range(20)]
        for _ in range(2):
            way.batch(graph, [{"log": [i], "x": 4} for i in range(20)], configs)
        logs = [way.state(graph, config).values["log"] for config in configs]
        assert logs == [[i, "nobody"] * 2 for i in range(20)]

    def test_exceptions(self, way: Any) -> None:
        """Raised, or put in the place of the result."""
        inputs = [{"log": [], "x": 1}, {"log": [], "x": -1}, {"log": [], "x": 2}]
        with pytest.raises(ValueError, match="negative"):
            way.batch(self.graph(), inputs)
        one, bad, two = way.batch(self.graph(), inputs, return_exceptions=True)
        assert (one, two) == ({"log": ["nobody"], "x": 1}, {"log": ["nobody"], "x": 2})
        assert isinstance(bad, ValueError)

    def test_options(self, way: Any) -> None:
        """As for `invoke`."""
        inputs = [{"log": [], "x": 1}] * 2
        assert way.batch(self.graph(), inputs, output_keys="x") == [1, 1]
        assert (
            way.batch(self.graph(), inputs, stream_mode="updates")
            == [[{"a": {"log": ["nobody"]}}]] * 2
        )

    @pytest.mark.parametrize("limit", [1, 2])
    def test_how_many_at_once(self, way: Any, limit: int) -> None:
        """MR-10: `max_concurrency` of the first config is the batch's."""
        at_work, peak, lock = [0], [0], threading.Lock()

        def node(state: State) -> None:
            with lock:
                at_work[0] += 1
                peak[0] = max(peak[0], at_work[0])
            time.sleep(0.01)
            with lock:
                at_work[0] -= 1

        graph = StateGraph(State).add_node("a", node).add_edge(START, "a").compile()
        way.batch(graph, [{"log": []}] * 6, {"max_concurrency": limit})
        assert peak == [limit]

    def test_the_callers_context(self, way: Any) -> None:
        """Each run has a copy of it."""
        var = contextvars.ContextVar("var", default="unset")
        seen: list[str] = []

        def node(state: State) -> None:
            seen.append(var.get())
            var.set("changed")

        graph = StateGraph(State).add_node("a", node).add_edge(START, "a").compile()
        token = var.set("caller")
        way.batch(graph, [{"log": []}] * 3)
        assert (seen, var.get()) == (["caller"] * 3, "caller")
        var.reset(token)

    def test_a_batch_inside_a_node(self, way: Any) -> None:
        """Threads are the batch's own, so it may be called from anywhere."""
        inner = ab()

        def node(state: State) -> Any:
            results = inner.batch([{"log": [i]} for i in range(40)])
            return {"log": [len(results)]}

        graph = StateGraph(State).add_node("a", node).add_edge(START, "a").compile()
        assert way.batch(graph, [{"log": []}] * 5) == [{"log": [40]}] * 5


def test_spread_config() -> None:
    one: Any = {"tags": ["t"]}
    assert spread_config([1, 2], None) == [None, None]
    assert spread_config([1, 2], one) == [one, one]
    assert spread_config((1, 2), (one, {})) == [one, {}]
    with pytest.raises(ValueError, match="batch got 1 inputs but 2 configs"):
        spread_config([1], [one, {}])
    for wrong in ({"x": 1}, "text", None):
        with pytest.raises(TypeError, match="batch takes a list of inputs, but this is"):
            spread_config(wrong, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"config": {"configurable": "1"}}, "'configurable' of a config is a dict, but it is '1'"),
        ({"config": {"metadata": ["a"]}}, r"'metadata' of a config is a dict, but it is \['a'\]"),
        ({"config": {"tags": "abc"}}, "'tags' of a config is a list, but it is 'abc'"),
        ({"config": {"recursion_limit": True}}, "recursion_limit must be a number"),
        ({"config": "t"}, "A config is a dict, such as"),
        ({"stream_mode": 1}, "stream_mode is a mode, or a list of modes"),
        ({"stream_mode": [["values"]]}, "stream_mode is a mode, or a list of modes"),
        ({"print_mode": True}, "print_mode is a mode, or a list of modes"),
        ({"output_keys": 5}, "output_keys is the name of a channel, or a list of names"),
        ({"interrupt_before": True}, r"given as a list, or as '\*' for all: but this is True"),
        ({"interrupt_after": "a"}, r"given as a list, or as '\*' for all: \['a'\]"),
    ],
)
def test_arguments_of_another_kind(way: Any, arguments: Any, words: str) -> None:
    """A mistake in a call names the argument, and says what it has to be."""
    with pytest.raises(TypeError, match=words):
        way.stream(ab(), {"log": []}, **arguments)


def test_errors_of_async_streams_come_at_the_call() -> None:
    """ST-01, ST-31: as those of sync ones do."""
    with pytest.raises(ValueError, match="stream_mode 'valuess' does not exist"):
        ab().astream({"log": []}, stream_mode="valuess")
    with pytest.raises(ValueError, match="No checkpointer set"):
        ab().aget_state_history({"configurable": {"thread_id": "t"}})


def test_breakpoints_may_be_given_in_any_form(way: Any) -> None:
    """IN-60: they are looked at in every super-step."""
    config: Any = {"configurable": {"thread_id": "t"}}
    graph = ab(InMemorySaver)
    for form in (iter, set, tuple):
        way.invoke(graph, {"log": []}, config, interrupt_before=form(["b"]))
        assert way.state(graph, config).next == ("b",)


def test_a_snapshot_is_no_config(way: Any) -> None:
    graph = ab(InMemorySaver)
    way.invoke(graph, {"log": []}, {"configurable": {"thread_id": "t"}})
    state = way.state(graph, {"configurable": {"thread_id": "t"}})
    with pytest.raises(TypeError, match=r"Pass its \.config"):
        way.invoke(graph, None, state)


def test_several_updates_as_one_node(way: Any) -> None:
    """CP-68: each counts once, also where a task waits for that node."""
    config: Any = {"configurable": {"thread_id": "t"}}
    graph = ab(InMemorySaver, interrupt_before=["b"])
    way.invoke(graph, {"log": []}, config)
    graph.bulk_update_state(
        config, [[StateUpdate({"log": [1]}, "b"), StateUpdate({"log": [2]}, "b")]]
    )
    assert way.state(graph, config).values["log"] == ["a", 1, 2]
    twice = [StateUpdate({"log": [1]}, "b", "one id"), StateUpdate({"log": [2]}, "b", "one id")]
    with pytest.raises(InvalidUpdateError, match="Two updates of one super-step count as the task"):
        graph.bulk_update_state(config, [twice])
    for nobody in ("", "zz"):
        with pytest.raises(InvalidUpdateError, match="does not exist"):
            graph.update_state(config, {"log": [3]}, as_node=nobody)


def test_a_copy_with_a_wrong_update_leaves_nothing(way: Any) -> None:
    """CP-69."""
    config: Any = {"configurable": {"thread_id": "t"}}
    graph = ab(InMemorySaver)
    way.invoke(graph, {"log": []}, config)
    before = len(way.history(graph, config))
    for wrong in ([({"log": [1]}, "zz")], [5]):
        with pytest.raises(InvalidUpdateError):
            graph.update_state(config, wrong, as_node="__copy__")
    assert len(way.history(graph, config)) == before


def test_updates_in_another_form() -> None:
    """CP-68."""
    graph = ab(InMemorySaver)
    config: Any = {"configurable": {"thread_id": "t"}}
    for wrong in ([{"x": 1}], [[{"x": 1}]]):
        with pytest.raises(TypeError, match=r"each a list of StateUpdate\(values, as_node\)"):
            graph.bulk_update_state(config, wrong)
    graph.bulk_update_state(config, [[({"x": 1}, "a")]])
    assert graph.get_state(config).values["x"] == 1
    with pytest.raises(InvalidUpdateError) as caught:
        graph.update_state(config, 5, as_node="a")
    assert caught.value.__notes__[-1] == "This was an update from outside, as ['a']."


# ---------------------------------------------------------------- versions and programs


class IntegerSaver(InMemorySaver):
    """A saver that numbers versions as the base class does."""

    def get_next_version(self, current: Any, channel: None) -> Any:
        return BaseCheckpointSaver.get_next_version(self, current, channel)


def test_versions_are_the_savers(way: Any) -> None:
    """SS-26, CP-05: integers from 1 with the base class's numbering, as observed."""
    graph = ab(IntegerSaver)
    way.invoke(graph, {"log": []}, CONFIG)
    rows = [*graph.checkpointer.list(CONFIG)][::-1]
    assert [row.checkpoint["channel_versions"] for row in rows] == [
        {"__start__": 1},
        {"__start__": 2, "log": 2, "branch:to:a": 2},
        {"__start__": 2, "log": 3, "branch:to:a": 3, "x": 3, "branch:to:b": 3},
        {"__start__": 2, "log": 4, "branch:to:a": 3, "x": 3, "branch:to:b": 4},
    ]
    assert way.invoke(graph, {"log": ["more"]}, CONFIG)["log"] == ["a", "b", "more", "a", "b"]


def test_next_version_of() -> None:
    """SS-26: 1, 2, 3 without a saver; else its own, of the newest of all."""
    count = next_version_of(None)
    assert [count(None), count(1), count(41)] == [1, 2, 42]
    text = next_version_of(InMemorySaver())
    assert text(None).startswith("00000000000000000000000000000001.")
    assert text(text(None)).startswith("00000000000000000000000000000002.")


def test_a_program_is_a_run_without_a_driver() -> None:
    """Its arguments are checked at once; its effects come when they are asked for."""
    graph = ab()
    with pytest.raises(ValueError, match="recursion_limit"):
        graph.program({}, {"recursion_limit": 0})
    with pytest.raises(ValueError, match="does not exist"):
        graph.program({}, stream_mode="nope")
    program = graph.program({"log": ["in"]}, stream_mode="updates")
    effect = next(program)
    assert isinstance(effect, Start)
    assert [task.name for task in effect.tasks] == [START]
    assert effect.tasks[0].input == {"log": ["in"]}
    program.close()


# ---------------------------------------------------------------- sync and async


@pytest.mark.parametrize(
    "name", ["invoke", "stream", "batch", "get_state", "get_state_history", "update_state"]
)
def test_a_method_and_its_twin_take_the_same(name: str) -> None:
    """ST-31: the same parameters, in the same order, with the same defaults."""

    def parameters(method: Callable[..., Any]) -> list[Any]:
        return [
            (p.name, p.kind, p.default, p.annotation)
            for p in inspect.signature(method).parameters.values()
        ]

    assert parameters(getattr(Pregel, name)) == parameters(getattr(Pregel, f"a{name}"))


def test_one_thread_by_both_ways() -> None:
    """A thread does not know how it was run."""
    graph = ab(InMemorySaver, interrupt_before=["b"])
    graph.invoke({"log": ["in"]}, CONFIG)
    assert asyncio.run(graph.ainvoke(None, CONFIG))["log"] == ["in", "a", "b"]
    assert asyncio.run(graph.aget_state(CONFIG)) == graph.get_state(CONFIG)


def test_a_graph_that_is_called_with_a_nodes_config(way: Any) -> None:
    """Its checkpoints stand in the thread under the task's namespace, and not in the root's."""
    saver = InMemorySaver()
    inner = ab(None).builder.compile(checkpointer=saver)

    def node(state: State, config: Any) -> Any:
        return {"log": inner.invoke({"log": ["in"]}, config)["log"]}

    builder = StateGraph(State).add_node("outer", node).add_edge(START, "outer")
    graph = builder.compile(checkpointer=saver)

    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["in", "a", "b"]}

    history = way.history(graph, CONFIG)
    assert [state.next for state in history] == [(), ("outer",), (START,)]
    namespace = f"outer:{history[1].tasks[0].id}"
    assert [*saver.storage["t"]] == ["", namespace]
    place: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": namespace}}
    assert way.state(inner, place).values == {"log": ["in", "a", "b"], "x": 1}
    states = way.history(inner, place)
    assert [state.next for state in states] == [(), ("b",), ("a",), (START,)]
    # It is planned as it was run: what its tasks wrote is found under their ids.
    assert [task.result for state in states[1:3] for task in state.tasks] == [
        {"log": ["b"]},
        {"log": ["a"], "x": 1},
    ]
    way.update(graph, place, {"log": ["u"]})
    assert way.state(inner, place).values["log"] == ["in", "a", "b", "u"]
    assert way.history(graph, CONFIG) == history


def test_one_graph_in_many_threads() -> None:
    """A compiled graph keeps nothing of its runs, so it can be shared."""
    graph = ab(InMemorySaver)
    results: dict[int, Any] = {}

    def run(i: int) -> None:
        config: Any = {"configurable": {"thread_id": i}}
        for _ in range(5):
            results[i] = graph.invoke({"log": [i]}, config)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == {i: {"log": [i, "a", "b"] * 5, "x": 1} for i in range(8)}


def test_the_end_is_no_node() -> None:
    """SG-13."""
    assert END not in ab().nodes


def test_an_option_that_does_not_exist(way: Any) -> None:
    """A slip of the pen is told, and nothing runs."""
    ran: list[str] = []
    builder = StateGraph(State).add_node("a", lambda state: ran.append("a")).add_edge(START, "a")
    with pytest.raises(TypeError, match="'interupt_before' is no option of a run"):
        way.invoke(builder.compile(), {"log": []}, interupt_before=["a"])
    assert ran == []


def test_a_namespace_is_not_for_a_users_call(way: Any) -> None:
    """SB-01: the checkpoints of a run that no node started have the root's namespace."""
    saver = InMemorySaver()
    graph = ab(None).builder.compile(checkpointer=saver)
    place: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "elsewhere"}}
    way.invoke(graph, {"log": []}, place)
    assert [*saver.storage["t"]] == [""]


def test_graphs_that_share_nodes_read_their_own_state(way: Any) -> None:
    """SG-08: what is all of the state to one graph is a part of it to the other."""

    class Part(TypedDict, total=False):
        x: int
        y: int

    class Whole(Part, total=False):
        z: int

    seen: list[Any] = []

    def node(state: Any) -> Any:
        seen.append(state)
        return {"x": 2}

    builder = StateGraph(Whole).add_node("a", node, input_schema=Part).add_edge(START, "a")
    graph = builder.compile()
    part = Pregel(
        nodes=graph.nodes,
        channels=graph.channels,
        input_channels=START,
        output_channels=["x", "y"],
    )
    given = {"x": 1, "y": 1, "z": 1}

    assert way.invoke(graph, given) == {"x": 2, "y": 1, "z": 1}
    assert way.invoke(part, given) == {"x": 2, "y": 1}
    assert seen == [{"x": 1, "y": 1}] * 2
