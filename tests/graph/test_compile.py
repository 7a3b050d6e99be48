"""Compile: from declared nodes and edges to a layout of channels."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue
from minigraph.channels.topic import Topic
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import END, START, TAG_HIDDEN
from minigraph.errors import EmptyInputError, InvalidUpdateError
from minigraph.graph import StateGraph
from minigraph.graph.state import CompiledStateGraph
from minigraph.pregel import Pregel
from minigraph.pregel.live import hydrate
from minigraph.types import Command, Send


class State(TypedDict):
    x: int
    log: Annotated[list[Any], operator.add]


def say(name: str) -> Callable[[Any], Any]:
    return lambda state: {"log": [name]}


def kinds(graph: Any) -> dict[str, str]:
    return {name: type(channel).__name__ for name, channel in sorted(graph.channels.items())}


def triggers(graph: Any) -> dict[str, list[str]]:
    return {name: [*node.triggers] for name, node in graph.nodes.items()}


# ---------------------------------------------------------------- the layout


def test_the_layout_of_a_chain() -> None:
    """SG-10, SG-11, SG-12, SG-14: observed, word for word."""
    builder = StateGraph(State).add_node("a", say("a")).add_node("b", say("b"))
    graph = builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", END).compile()

    assert isinstance(graph, CompiledStateGraph)
    assert isinstance(graph, Pregel)
    assert kinds(graph) == {
        "__pregel_tasks": "Topic",
        "__start__": "EphemeralValue",
        "branch:to:a": "EphemeralValue",
        "branch:to:b": "EphemeralValue",
        "log": "BinaryOperatorAggregate",
        "x": "LastValue",
    }
    assert [*graph.nodes] == ["__start__", "a", "b"]
    assert triggers(graph) == {
        "__start__": ["__start__"],
        "a": ["branch:to:a"],
        "b": ["branch:to:b"],
    }
    assert graph.trigger_to_nodes == {
        "__start__": ["__start__"],
        "branch:to:a": ["a"],
        "branch:to:b": ["b"],
    }
    assert graph.input_channels == "__start__"
    assert graph.output_channels == graph.stream_channels == ["x", "log"]
    assert (graph.stream_mode, graph.name, graph.get_name()) == (
        "updates",
        "LangGraph",
        "LangGraph",
    )
    assert graph.channels["branch:to:a"] == EphemeralValue(Any, guard=False)
    assert graph.channels["__start__"] == EphemeralValue(State, guard=True)
    assert graph.channels["__pregel_tasks"] == Topic(Send)
    assert graph.nodes["__start__"].tags == (TAG_HIDDEN,)
    assert all(channel.key == name for name, channel in graph.channels.items())
    assert graph.builder is builder


def test_the_layout_of_joins_and_deferred_nodes() -> None:
    """SG-10: observed, word for word."""
    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, say(name))
    builder.add_node("d", say("d"), defer=True).add_edge(START, "a").add_edge(START, "b")
    graph = builder.add_edge(["a", "b"], "c").add_edge(["b", "a"], "d").compile()

    assert kinds(graph) == {
        "__pregel_tasks": "Topic",
        "__start__": "EphemeralValue",
        "branch:to:a": "EphemeralValue",
        "branch:to:b": "EphemeralValue",
        "branch:to:c": "EphemeralValue",
        "branch:to:d": "LastValueAfterFinish",
        "join:a+b:c": "NamedBarrierValue",
        "join:b+a:d": "NamedBarrierValueAfterFinish",
        "log": "BinaryOperatorAggregate",
        "x": "LastValue",
    }
    assert triggers(graph) == {
        "__start__": ["__start__"],
        "a": ["branch:to:a"],
        "b": ["branch:to:b"],
        "c": ["branch:to:c", "join:a+b:c"],
        "d": ["branch:to:d", "join:b+a:d"],
    }


def test_the_layout_of_a_state_without_keys() -> None:
    """SG-01, SG-14: one channel, and bare values."""
    builder = StateGraph(Annotated[list, operator.add]).add_node("a", lambda state: ["a"])
    graph = builder.add_edge(START, "a").compile()
    assert kinds(graph) == {
        "__pregel_tasks": "Topic",
        "__root__": "BinaryOperatorAggregate",
        "__start__": "EphemeralValue",
        "branch:to:a": "EphemeralValue",
    }
    assert graph.output_channels == graph.stream_channels == "__root__"


def test_metadata_and_names() -> None:
    """SG-14: what `compile` and `add_node` are told."""
    builder = StateGraph(State).add_node("a", say("a"), metadata={"m": 1}).add_edge(START, "a")
    graph = builder.compile(name="mine", interrupt_before=["a"], interrupt_after="*")
    assert graph.get_name() == "mine"
    assert graph.nodes["a"].metadata == {"m": 1}
    assert (graph.interrupt_before_nodes, graph.interrupt_after_nodes) == (["a"], "*")


@dataclass
class Context:
    user: str


def test_the_context_schema_is_kept() -> None:
    """MR-04: given second, or by name; without one there is none."""
    for builder in (StateGraph(State, Context), StateGraph(State, context_schema=Context)):
        builder.add_node("a", say("a")).add_edge(START, "a")
        assert builder.context_schema is builder.compile().context_schema is Context
    plain = StateGraph(State).add_node("a", say("a")).add_edge(START, "a")
    assert plain.context_schema is plain.compile().context_schema is None


def test_compiling_is_a_snapshot(way: Any) -> None:
    """SG-16: what is added later is in later graphs only."""
    builder = StateGraph(State).add_node("a", say("a")).add_node("b", say("b"))
    old = builder.add_edge(START, "a").add_edge("a", "b").compile()
    builder.add_node("late", say("late")).add_edge("b", "late")
    builder.add_conditional_edges("a", lambda state: "late").add_edge(["a", "b"], "late")
    new = builder.compile()

    assert way.invoke(old, {"log": []})["log"] == ["a", "b"]
    assert way.invoke(new, {"log": []})["log"] == ["a", "b", "late", "late"]


def test_a_graph_shares_no_channel_with_its_builder() -> None:
    """Two graphs of one builder, and the builder, are independent."""
    builder = StateGraph(State).add_node("a", say("a")).add_edge(START, "a")
    one, other = builder.compile(), builder.compile()
    for name in ("x", "log"):
        ids = {id(channels[name]) for channels in (builder.channels, one.channels, other.channels)}
        assert len(ids) == 3


# ---------------------------------------------------------------- schemas at work


class In(TypedDict):
    q: str


class Out(TypedDict):
    a: str


class Private(TypedDict):
    tmp: str


class Whole(In, Out):
    pass


def private(seen: list[Any]) -> StateGraph:
    def one(state: In) -> Private:
        seen.append(dict(state))
        return {"tmp": state["q"] * 2}

    def two(state: Private) -> Out:
        seen.append(dict(state))
        return {"a": state["tmp"] + "!"}

    builder = StateGraph(Whole, input_schema=In, output_schema=Out)
    builder.add_node("one", one).add_node("two", two)
    return builder.add_edge(START, "one").add_edge("one", "two")


@pytest.mark.parametrize("saver", [False, True], ids=["no saver", "saver"])
def test_private_keys_pass_between_nodes_but_not_out(way: Any, saver: bool) -> None:
    """SG-07, SG-08: each node sees its own schema; only the output's keys come back."""
    seen: list[Any] = []
    graph = private(seen).compile(checkpointer=InMemorySaver() if saver else None)
    config: Any = {"configurable": {"thread_id": "t"}}

    assert way.invoke(graph, {"q": "x", "a": "not an input"}, config) == {"a": "xx!"}

    assert seen == [{"q": "x"}, {"tmp": "xx"}]
    if saver:
        assert way.state(graph, config).values == {"q": "x", "a": "xx!", "tmp": "xx"}
        # On the same thread again, what was private is still there, and still not an input.
        seen.clear()
        assert way.invoke(graph, {"q": "y", "tmp": "no"}, config) == {"a": "yy!"}
        assert seen == [{"q": "y"}, {"tmp": "yy"}]


def test_streams_show_private_keys(way: Any) -> None:
    """SG-07: all of the state, unless the call says otherwise."""
    graph = private([]).compile()
    assert way.stream(graph, {"q": "x"}, stream_mode="values")[-1] == {
        "q": "x",
        "a": "xx!",
        "tmp": "xx",
    }
    assert way.stream(graph, {"q": "x"}) == [{"one": {"tmp": "xx"}}, {"two": {"a": "xx!"}}]
    assert way.invoke(graph, {"q": "x"}, output_keys=["tmp"]) == {"tmp": "xx"}
    assert way.invoke(graph, {"q": "x"}, output_keys="tmp") == "xx"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_private_keys_of_many_nodes(way: Any, count: int) -> None:
    """A pipeline in which each node reads what the one before left for it alone."""
    schemas = [TypedDict(f"Step{i}", {f"k{i}": str}) for i in range(count + 1)]  # type: ignore[misc]
    builder = StateGraph(Whole, input_schema=schemas[0], output_schema=schemas[-1])
    seen: list[Any] = []

    def node(i: int) -> Callable[[Any], Any]:
        def function(state: Any) -> Any:
            seen.append(dict(state))
            return {f"k{i + 1}": state[f"k{i}"] + str(i)}

        return function

    previous = START
    for i in range(count):
        builder.add_node(f"n{i}", node(i), input_schema=schemas[i]).add_edge(previous, f"n{i}")
        previous = f"n{i}"
    # Only the first one is in the input's schema; a later one's schema adds its own keys.
    result = way.invoke(builder.compile(), {"k0": "", "k1": "no input"})

    assert result == {f"k{count}": "".join(map(str, range(count)))}
    assert [[*state] for state in seen] == [[f"k{i}"] for i in range(count)]


class Part(TypedDict):
    log: Annotated[list[Any], operator.add]
    tmp: str


def test_private_keys_of_parallel_nodes_and_sends(way: Any) -> None:
    """What a node may read is its own affair; what it may write is the whole state."""
    seen: list[Any] = []

    def one(state: In) -> Any:
        return {"tmp": "t", "q": state["q"] + "1"}

    def two(state: Part) -> Any:
        seen.append(sorted(state))
        return {"log": [state["tmp"]], "a": "two"}

    def three(state: In) -> Any:
        seen.append(sorted(state))
        return {"log": ["three"]}

    builder = StateGraph(Whole, output_schema=Part)
    builder.add_node("one", one).add_node("two", two).add_node("three", three)
    builder.add_node("four", lambda arg: {"log": [arg]})
    builder.add_edge(START, "one").add_edge("one", "two")
    builder.add_conditional_edges("one", lambda state: ["three", Send("four", "sent")])

    assert way.invoke(builder.compile(), {"q": "x"}) == {"log": ["three", "t", "sent"], "tmp": "t"}
    assert sorted(seen) == [["log", "tmp"], ["q"]]


@dataclass
class Data:
    x: int
    y: str = "dy"


def test_a_dataclass_as_state(way: Any) -> None:
    """SG-01, SG-08, SG-42: nodes get instances, and may return them; results are dicts."""
    seen: list[Any] = []

    def a(state: Data) -> Any:
        seen.append(state)
        return {"y": "a"}

    def b(state: Data) -> Any:
        seen.append(state)
        return Data(9, "b")

    builder = StateGraph(Data).add_node("a", a).add_node("b", b)
    graph = builder.add_edge(START, "a").add_edge("a", "b").compile()

    assert way.invoke(graph, Data(1)) == {"x": 9, "y": "b"}
    assert way.invoke(graph, {"x": 1}) == {"x": 9, "y": "b"}
    assert seen == [Data(1), Data(1, "a")] * 2
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        way.invoke(graph, {"y": "only"})


@dataclass
class Unrelated:
    other: int = 1


class TestInputs:
    @pytest.mark.parametrize("schema", [State, Data], ids=["typed dict", "dataclass"])
    @pytest.mark.parametrize(
        "input",
        [5, "text", [], [("x", 1)], [{"x": 1}], (1,), {"x"}, True, object(), Unrelated(), Send],
    )
    def test_of_another_kind_are_refused_before_they_are_stored(
        self, way: Any, schema: Any, input: Any
    ) -> None:
        """SG-44, SG-61: the error shows the input and the keys; the thread is what it was."""
        ran: list[Any] = []
        builder = StateGraph(schema).add_node("a", lambda state: ran.append(1))
        graph = builder.add_edge(START, "a").compile(checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "t"}}
        with pytest.raises(InvalidUpdateError, match=r"The input .*'x'"):
            way.invoke(graph, input, config)
        assert (ran, way.history(graph, config)) == ([], [])

        way.invoke(graph, {"x": 1}, config)
        before = way.history(graph, config)
        with pytest.raises(InvalidUpdateError, match=r"The input .*'x'"):
            way.invoke(graph, input, config)
        assert (ran, way.history(graph, config)) == ([1], before)

    def test_of_a_state_that_is_one_value_are_any(self, way: Any) -> None:
        """SG-43: there is nothing to check."""
        graph = StateGraph(object).add_node("a", lambda x: None).add_edge(START, "a").compile()
        assert graph.layout.check_input is None
        for input in (5, [], {"x": 1}, Unrelated()):
            assert way.invoke(graph, input) == input

    def test_objects_need_one_field_that_is_known(self, way: Any) -> None:
        """SG-44: whatever class they are of; other fields are dropped, as keys are."""
        builder = StateGraph(State).add_node("a", say("a")).add_edge(START, "a")
        assert way.invoke(builder.compile(), Data(1)) == {"x": 1, "log": ["a"]}

    def test_the_first_readers_are_asked(self) -> None:
        """SG-61: what they would be given is made, from the input and from what is there."""
        strict = builder_of_readers().compile()
        check: Any = strict.layout.check_input
        empty = hydrate(strict.layout, None)
        words = "missing 1 required positional argument: 'x'"
        for input in ({}, {"y": "only"}, {"unknown": 1}):
            with pytest.raises(TypeError, match=words) as caught:
                check(input, empty)
            assert "Nothing ran, and nothing was stored" in caught.value.__notes__[0]
        check({"x": 1}, empty)
        check(Data(1), empty)
        assert empty.readable == hydrate(strict.layout, None).readable  # it was only looked at

        saved = {"channel_values": {"x": 1}, "channel_versions": {"x": 1}}
        check({}, hydrate(strict.layout, saved))

    def test_readers_that_come_later_are_not_asked(self) -> None:
        """SG-61: until then, others may have written what they need."""
        for builder in (
            builder_of_readers(defer=True),
            StateGraph(Data)
            .add_node("first", say("first"), input_schema=State)
            .add_node("a", say("a"))
            .add_edge(START, "first")
            .add_edge("first", "a")
            .add_edge(START, END),
        ):
            graph: Any = builder.compile()
            graph.layout.check_input({}, hydrate(graph.layout, None))

    def test_path_functions_at_the_start_are_asked(self) -> None:
        """SG-61: they are the first readers of all."""
        builder = StateGraph(Data).add_node("a", say("a"))
        graph: Any = builder.add_conditional_edges(START, lambda state: "a").compile()
        with pytest.raises(TypeError, match="missing 1 required"):
            graph.layout.check_input({}, hydrate(graph.layout, None))


def builder_of_readers(**options: Any) -> StateGraph:
    return StateGraph(Data).add_node("a", say("a"), **options).add_edge(START, "a")


class Wide(TypedDict):
    x: int
    y: str
    z: str


class OnlyX(TypedDict):
    x: int


def test_a_schema_for_one_node(way: Any) -> None:
    """SG-08: `input_schema` beats the parameter's annotation, which beats the state."""
    seen: list[Any] = []

    def node(state: Data) -> None:
        seen.append(state)

    builder = StateGraph(Wide).add_node("a", node).add_node("b", node, input_schema=OnlyX)
    builder.add_node("c", lambda state: seen.append(state))
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")

    way.invoke(builder.compile(), {"x": 1, "y": "y", "z": "z"})

    assert seen == [Data(1, "y"), {"x": 1}, {"x": 1, "y": "y", "z": "z"}]


class Extra(TypedDict):
    q: str
    extra: int


def test_routes_read_their_own_schema(way: Any) -> None:
    """SG-05, SG-50: a path function is given what it is annotated with; else what its node is,
    and what that returned."""
    seen: list[Any] = []

    def own(state: Extra) -> Any:
        seen.append(("own", dict(state)))
        return []

    def nodes(state: Any) -> Any:
        seen.append(("nodes", dict(state)))
        return []

    def a(state: In) -> Any:
        return {"extra": 1, "a": "done"}

    builder = StateGraph(Whole).add_node("a", a).add_edge(START, "a")
    builder.add_conditional_edges("a", own).add_conditional_edges("a", nodes)
    way.invoke(builder.compile(), {"q": "x"})

    everything = {"extra": 1, "a": "done", "q": "x"}
    assert seen == [("own", {"q": "x", "extra": 1}), ("nodes", everything)]


def test_a_route_sees_what_its_node_returned(way: Any) -> None:
    """SG-50: also what is no key of the state, unless it says itself what it reads."""
    seen: list[Any] = []

    def annotated(state: Whole) -> Any:
        seen.append(dict(state))
        return []

    def free(state: Any) -> Any:
        seen.append(dict(state))
        return []

    builder = StateGraph(Whole).add_node("a", lambda state: {"a": "done", "next": "b"})
    builder.add_conditional_edges(START, lambda state: seen.append(dict(state)) or "a", ["a"])
    builder.add_conditional_edges("a", annotated).add_conditional_edges("a", free)
    way.invoke(builder.compile(), {"q": "x", "odd": 1})
    assert seen == [
        {"q": "x", "odd": 1},
        {"q": "x", "a": "done"},
        {"q": "x", "a": "done", "next": "b"},
    ]


def test_a_route_from_start_reads_the_whole_state(way: Any) -> None:
    """Also when the input's schema is smaller."""
    seen: list[Any] = []
    builder = StateGraph(Whole, input_schema=In).add_node("a", lambda state: {"a": "done"})
    builder.add_conditional_edges(START, lambda state: seen.append(dict(state)) or "a")
    graph = builder.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    way.invoke(graph, {"q": "x"}, config)
    way.invoke(graph, {"q": "y"}, config)
    assert seen == [{"q": "x"}, {"q": "y", "a": "done"}]


def test_channels_of_ones_own(way: Any) -> None:
    """SG-02, CH-05: any channel class may stand in a schema."""

    class Mixed(TypedDict, total=False):
        now: Annotated[int, EphemeralValue]
        mail: Annotated[list[int], Topic(int)]
        log: Annotated[list[Any], operator.add]

    def b(state: Mixed) -> Any:
        return {"log": [sorted(state)]}

    builder = StateGraph(Mixed).add_node("a", lambda state: {"now": 1, "mail": [2, 3]})
    builder.add_node("b", b).add_node("c", b)
    graph = builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c").compile()

    result = way.invoke(graph, {"log": []})
    assert result == {"log": [["log", "mail", "now"], ["log"]]}
    assert isinstance(graph.channels["log"], BinaryOperatorAggregate)
    assert not isinstance(graph.channels["now"], LastValue)


# ---------------------------------------------------------------- edges at work


def test_edges_to_the_end_write_nothing() -> None:
    """SG-13: nodes with and without one have the same writers."""
    one = StateGraph(State).add_node("a", say("a")).add_edge(START, "a").compile()
    other = StateGraph(State).add_node("a", say("a")).add_edge(START, "a").add_edge("a", END)
    assert len(one.nodes["a"].writers) == len(other.compile().nodes["a"].writers)


def test_a_list_edge_to_the_end(way: Any) -> None:
    """It waits for nobody, and harms nobody."""
    builder = StateGraph(State).add_node("a", say("a")).add_node("b", say("b"))
    builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], END)
    assert way.invoke(builder.compile(), {"log": []}) == {"log": ["a", "b"]}


def test_unreachable_nodes_are_allowed(way: Any) -> None:
    """SG-17: they may be for a Send, or for later."""
    builder = StateGraph(State).add_node("a", say("a")).add_node("z", say("z"))
    assert way.invoke(builder.add_edge(START, "a").compile(), {"log": []}) == {"log": ["a"]}


def test_an_edge_twice_is_one_edge(way: Any) -> None:
    """The builder keeps edges as a set, in their order."""
    builder = StateGraph(State).add_node("a", say("a")).add_node("b", say("b"))
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("a", "b").add_edge(START, "a")
    assert way.invoke(builder.compile(), {"log": []}) == {"log": ["a", "b"]}


def test_start_as_a_source_of_everything(way: Any) -> None:
    """START is a node like any other: edges and routes at once."""
    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, say(name))
    builder.add_edge(START, "a").add_conditional_edges(START, lambda state: ["b", Send("c", {})])
    assert way.invoke(builder.compile(), {"log": []}) == {"log": ["a", "b", "c"]}


def test_a_command_starts_a_state_with_keys_and_no_other() -> None:
    """CS-12: where the state is a single value, a Command cannot stand for an input."""
    builder = StateGraph(State).add_node("a", say("a")).add_edge(START, "a")
    assert builder.compile().invoke(Command(update={"x": 1})) == {"log": ["a"], "x": 1}
    root = StateGraph(int).add_node("a", lambda n: n).add_edge(START, "a").compile()
    with pytest.raises(EmptyInputError, match="a state that is a single value needs an input"):
        root.invoke(Command(update=1))


class Other(TypedDict):
    other: int


@dataclasses.dataclass
class AnObject:
    last: int = 0


@pytest.mark.parametrize("schema", [AnObject, State])
def test_a_graph_as_a_node_takes_what_it_knows(schema: Any) -> None:
    """SB-10: of a state that shares no key with it, nothing; also where that is an object."""
    inner = StateGraph(Other).add_node("a", lambda state: {"other": 1}).add_edge(START, "a")
    builder = StateGraph(schema).add_node("inner", inner.compile()).add_edge(START, "inner")
    key = "last" if schema is AnObject else "x"
    assert builder.compile().invoke({key: 4})[key] == 4
