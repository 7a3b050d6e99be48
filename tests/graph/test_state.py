"""`StateGraph`: declaring graphs, and what the declared graphs do."""

from __future__ import annotations

import asyncio
import functools
import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Optional, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigraph.channels.untracked_value import UntrackedValue
from minigraph.checkpoint.base import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import END, RESERVED, START
from minigraph.errors import EmptyInputError, InvalidUpdateError
from minigraph.graph import StateGraph
from minigraph.types import Command, Overwrite, Send

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    x: int
    log: Annotated[list[Any], operator.add]


class Secretive(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    secret: Annotated[Any, UntrackedValue]


def say(name: str, **more: Any) -> Callable[[Any], Any]:
    return lambda state: {"log": [name], **more}


def nodes(*names: str) -> StateGraph:
    builder = StateGraph(State)
    for name in names:
        builder.add_node(name, say(name))
    return builder


def log(way: Any, builder: StateGraph) -> Any:
    return way.invoke(builder.compile(), {"log": []})["log"]


# ---------------------------------------------------------------- adding


def named(state: State) -> Any:
    return {"log": ["named"]}


class Caller:
    def __call__(self, state: State) -> Any:
        return {"log": ["called"]}

    def one(self, state: State) -> Any:
        return {"log": ["n"]}

    def two(self, state: State, other: Any) -> None: ...


@functools.wraps(lambda state, db: None)
def decorated(*args: Any) -> Any:
    return {"log": ["n"]}


def generator(state: State) -> Any:
    yield {"log": ["generated"]}


async def async_generator(state: State) -> Any:
    yield {"log": ["generated"]}


class Generating:
    def __call__(self, state: State) -> Any:
        yield {"log": ["generated"]}

    def method(self, state: State, config: Any) -> Any:
        yield {"log": ["generated"]}


GENERATORS = [
    generator,
    async_generator,
    functools.partial(generator),
    Generating(),
    Generating().method,
    lambda state: (yield),
]


@dataclass
class Record:
    x: int


class Names(str, Enum):  # noqa: UP042  # such as people have
    A = "a"
    B = "b"


def annotated_by(schema: Any) -> Any:
    """A function that expects this schema."""

    def function(state: Any) -> Any: ...

    function.__annotations__["state"] = schema
    return function


class TestAdd:
    def test_all_methods_return_the_builder(self) -> None:
        """SG-15: so that calls can be chained."""
        builder = StateGraph(State)
        for result in (
            builder.add_node(named),
            builder.add_node("b", named),
            builder.add_edge(START, "named"),
            builder.add_edge(["named", "b"], END),
            builder.add_sequence([("c", named), ("d", named)]),
            builder.add_conditional_edges("b", lambda state: END),
            builder.set_entry_point("b"),
            builder.set_conditional_entry_point(lambda state: "b"),
            builder.set_finish_point("d"),
        ):
            assert result is builder

    @pytest.mark.parametrize(
        ("arguments", "name", "said"),
        [
            ((named,), "named", "named"),
            (("own name", named), "own name", "named"),
            ((Caller(),), "Caller", "called"),
            ((Caller().__call__,), "__call__", "called"),
            ((functools.partial(named),), "partial", "named"),
            ((lambda state: {"log": ["lambda"]},), "<lambda>", "lambda"),
        ],
    )
    def test_a_node_by_any_function(self, way: Any, arguments: Any, name: str, said: str) -> None:
        """SG-15: its own name, unless it is given one."""
        builder = StateGraph(State).add_node(*arguments)
        assert [*builder.nodes] == [name]
        assert log(way, builder.add_edge(START, name)) == [said]

    def test_a_name_without_a_function(self) -> None:
        """SG-33."""
        with pytest.raises(RuntimeError, match="Node 'only' has no function"):
            StateGraph(State).add_node("only")

    def test_something_that_is_no_function(self) -> None:
        with pytest.raises(TypeError, match="Node 'a' needs a function, not dict"):
            StateGraph(State).add_node("a", {"x": 1})  # type: ignore[arg-type]

    def test_a_graph_that_is_not_compiled(self) -> None:
        inner: Any = nodes("a").add_edge(START, "a")
        words = "Node 'inner' needs a function, not StateGraph. Compile it first"
        with pytest.raises(TypeError, match=words):
            StateGraph(State).add_node("inner", inner)

    def test_a_graph_as_a_node(self) -> None:
        """SB-10: it is called with the state; without a name it is called by its own."""
        inner = nodes("a").add_edge(START, "a").compile(name="inside")
        builder = StateGraph(State).add_node("inner", inner).add_node(inner)
        assert [*builder.nodes] == ["inner", "inside"]
        assert [spec.function.graph for spec in builder.nodes.values()] == [inner, inner]

    def test_a_name_twice(self) -> None:
        """SG-23."""
        with pytest.raises(ValueError, match="Node 'a' already present"):
            nodes("a", "a")

    @pytest.mark.parametrize("name", [START, END, *sorted(RESERVED)])
    def test_a_reserved_name(self, name: str) -> None:
        """SG-24: the two ends, and what the machine calls its own writes and writers."""
        assert {"__interrupt__", "__input__", "__error__", "__pregel_push", "__copy__"} <= RESERVED
        with pytest.raises(ValueError, match=f"Node '{name}' is reserved; choose another name"):
            nodes(name)

    @pytest.mark.parametrize("name", ["a|b", "|", "a:b", "branch:to:a"])
    def test_reserved_characters(self, name: str) -> None:
        """SG-25."""
        with pytest.raises(ValueError, match="is a reserved character"):
            nodes(name)

    @pytest.mark.parametrize("name", ["a b", "a,b", "a+b", "ä", "1", "", "__root__", "~"])
    def test_any_other_name(self, way: Any, name: str) -> None:
        assert log(way, nodes(name).add_edge(START, name)) == [name]

    def test_a_sequence(self, way: Any) -> None:
        """SG-15: with edges from each to the next; the first and last ones are the user's."""
        builder = StateGraph(State).add_sequence([named, ("two", say("two")), Caller()])
        assert [*builder.edges] == [("named", "two"), ("two", "Caller")]
        assert log(way, builder.add_edge(START, "named")) == ["named", "two", "called"]

    def test_sequences_that_cannot_be(self) -> None:
        """SG-32."""
        with pytest.raises(ValueError, match="Sequence requires at least one node"):
            StateGraph(State).add_sequence([])
        with pytest.raises(ValueError, match="Node names must be unique: 'named'"):
            StateGraph(State).add_sequence([named, named])
        with pytest.raises(ValueError, match="Node names must be unique: 'a'"):
            nodes("a").add_sequence([("a", named)])
        builder = nodes("a")
        for wrong in ("ab", None, 5):
            with pytest.raises(TypeError, match="A sequence is a list of functions"):
                builder.add_sequence(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="'a' is only a name"):
            builder.add_sequence([named, "a"])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="Node names must be unique: 'named'"):
            builder.add_sequence(each for each in (Caller(), named, named))
        assert [*builder.nodes] == ["a"]  # names are looked at before anything is added

    def test_entry_and_finish_points(self, way: Any) -> None:
        """SG-15: other words for edges."""
        builder = nodes("a", "b").set_entry_point("a").set_finish_point("a")
        assert [*builder.edges] == [(START, "a"), ("a", END)]
        assert log(way, builder) == ["a"]
        entry = nodes("a", "b").set_conditional_entry_point(lambda s: True, {True: "b"})
        assert log(way, entry) == ["b"]


# ---------------------------------------------------------------- what is refused


class TestRefused:
    def test_no_entry(self) -> None:
        """SG-20."""
        with pytest.raises(ValueError, match="Graph must have an entrypoint"):
            nodes("a").add_edge("a", END).compile()
        with pytest.raises(ValueError, match="Graph must have an entrypoint"):
            StateGraph(State).compile()

    @pytest.mark.parametrize(
        ("builder", "words"),
        [
            (nodes("a").add_edge(START, "a").add_edge("zz", "a"), "starting at unknown node 'zz'"),
            (nodes("a").add_edge(START, "a").add_edge("a", "zz"), "ending at unknown node 'zz'"),
            (nodes("a").add_edge(START, "zz"), "ending at unknown node 'zz'"),
            (
                nodes("a").add_edge(START, "a").add_conditional_edges("zz", lambda s: "a"),
                "starting at unknown node 'zz'",
            ),
            (
                nodes("a").add_edge(START, "a").add_conditional_edges("a", lambda s: 1, {1: "zz"}),
                "At node 'a', branch 'condition' found unknown target 'zz'",
            ),
            (
                nodes("a").add_conditional_edges(START, lambda s: "a", ["a", "zz"]),
                "At node '__start__', branch 'condition' found unknown target 'zz'",
            ),
        ],
    )
    def test_unknown_nodes(self, builder: StateGraph, words: str) -> None:
        """SG-21, SG-28: when the graph is compiled, so that they may be added until then."""
        with pytest.raises(ValueError, match=words):
            builder.compile()
        assert builder.add_node("zz", named).compile().invoke({"log": []})["log"]

    def test_ends_the_wrong_way_around(self) -> None:
        """SG-22: at once."""
        builder = nodes("a")
        with pytest.raises(ValueError, match="END cannot be a start node"):
            builder.add_conditional_edges(END, lambda state: "a")
        with pytest.raises(ValueError, match="END cannot be a start node"):
            builder.set_finish_point(END)
        with pytest.raises(ValueError, match="START cannot be an end node"):
            builder.set_entry_point(START)
        with pytest.raises(ValueError, match="END cannot be a start node"):
            builder.add_edge(END, "a")
        with pytest.raises(ValueError, match="START cannot be an end node"):
            builder.add_edge("a", START)
        with pytest.raises(ValueError, match="END cannot be a start node"):
            builder.add_edge(["a", END], "a")
        with pytest.raises(ValueError, match="START cannot be an end node"):
            builder.add_edge(["a"], START)

    def test_a_list_edge_with_unknown_nodes(self) -> None:
        """SG-26: at once."""
        for starts, end in ((["a", "zz"], "a"), (["a"], "zz")):
            with pytest.raises(ValueError, match="Need to add_node 'zz'"):
                nodes("a").add_edge(starts, end)

    def test_edges_of_another_kind(self) -> None:
        """A slip that would be found much later is told where it is made."""
        builder = nodes("a", "b")
        with pytest.raises(TypeError, match="An edge ends at one node, but this one"):
            builder.add_edge("a", ["a", "b"])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="START cannot be in a list edge"):
            builder.add_edge([START, "a"], "b")
        with pytest.raises(TypeError, match="The branch after 'a' needs a function"):
            builder.add_conditional_edges("a", "b")  # type: ignore[arg-type]

    def test_two_branches_of_one_name(self) -> None:
        """SG-29: lambdas, and whatever has no name, are called `condition`."""

        def branch(state: State) -> str:
            return END

        builder = nodes("a", "b").add_conditional_edges("a", branch)
        with pytest.raises(
            ValueError, match="Branch with name 'branch' already exists for node 'a'"
        ):
            builder.add_conditional_edges("a", branch)
        builder.add_conditional_edges("b", branch)
        builder.add_conditional_edges("a", lambda state: END)
        with pytest.raises(ValueError, match="Branch with name 'condition' already exists"):
            builder.add_conditional_edges("a", functools.partial(branch))

    @pytest.mark.parametrize("saver", ["nope", 5, InMemorySaver, object()])
    def test_something_that_is_no_saver(self, saver: Any) -> None:
        """SG-30."""
        with pytest.raises(TypeError, match="Invalid checkpointer provided"):
            nodes("a").add_edge(START, "a").compile(checkpointer=saver)
        if saver is InMemorySaver:
            with pytest.raises(TypeError, match="received the class InMemorySaver: call it"):
                nodes("a").add_edge(START, "a").compile(checkpointer=saver)

    def test_anything_that_is_a_saver(self) -> None:
        saver: Any = BaseCheckpointSaver()
        assert nodes("a").add_edge(START, "a").compile(checkpointer=saver).checkpointer is saver

    def test_targets_that_an_annotation_names(self, way: Any) -> None:
        """SG-34, CS-06: they are for validation only; a node may go elsewhere."""

        def goes(state: State) -> Command[Literal["b", "__end__"]]:
            return Command(goto="c", update={"log": ["goes"]})

        builder = nodes("c").add_node(goes).add_edge(START, "goes")
        with pytest.raises(ValueError, match="unknown node 'b': 'goes' names it as a destination"):
            builder.compile()
        assert log(way, builder.add_node("b", say("b"))) == ["goes", "c"]

    @pytest.mark.parametrize(
        "annotation",
        [
            Command[Literal["zz"]] | None,
            Command[Literal["zz", "a"]] | Command[Literal["a"]],
            Optional[Command[Literal["zz"]]],  # noqa: UP045
        ],
    )
    def test_targets_in_an_annotation_of_several_types(self, annotation: Any) -> None:
        """SG-34: a node that sometimes returns None, or one of two Commands."""

        def goes(state: State) -> Any: ...

        goes.__annotations__["return"] = annotation
        builder = nodes("a").add_node(goes).add_edge(START, "goes")
        assert "zz" in builder.nodes["goes"].destinations
        with pytest.raises(ValueError, match="unknown node 'zz'"):
            builder.compile()

    def test_destinations(self, way: Any) -> None:
        """CS-06, SG-34: said by name; they replace those of the annotation, and do not bind."""

        def goes(state: State) -> Command[Literal["zz"]]:
            return Command(goto="c", update={"log": ["goes"]})

        for said, kept in (
            (["b", END], {"b": "", END: ""}),
            (("b",), {"b": ""}),
            ({"b": "when it rains"}, {"b": "when it rains"}),
            ((), {}),
        ):
            builder = nodes("b", "c").add_node(goes, destinations=said).add_edge(START, "goes")
            assert builder.nodes["goes"].destinations == kept
            assert log(way, builder) == ["goes", "c"]
        with pytest.raises(ValueError, match="Found edge ending at unknown node 'yy'"):
            nodes("a").add_edge(START, "a").add_node(goes, destinations=["yy"]).compile()
        for wrong in ("b", 5, [goes]):
            with pytest.raises(TypeError, match="destination"):
                nodes("b").add_node(goes, destinations=wrong)  # type: ignore[arg-type]

    def test_other_annotations_of_commands(self, way: Any) -> None:
        """Without names there is nothing to check."""

        def one(state: State) -> Command[str]:
            return Command(update={"log": ["one"]})

        def two(state: State) -> Command:  # type: ignore[type-arg]
            return Command(update={"log": ["two"]})

        builder = StateGraph(State).add_node(one).add_node(two)
        assert log(way, builder.add_edge(START, "one").add_edge("one", "two")) == ["one", "two"]

    def test_schemas_that_differ(self) -> None:
        """SG-05: a reducer and another, or a reducer behind a plain key; plain is no opinion."""

        class Adds(TypedDict):
            v: Annotated[list[Any], operator.add]

        class Plain(TypedDict):
            v: list[Any]

        class Concatenates(TypedDict):
            v: Annotated[list[Any], operator.concat]

        words = "Channel 'v' already exists with a different type"
        with pytest.raises(ValueError, match=words):
            StateGraph(Adds, input_schema=Concatenates)
        with pytest.raises(ValueError, match=words):
            StateGraph(Plain).add_node("a", say("a"), input_schema=Adds)
        builder = StateGraph(Adds, output_schema=Plain)
        assert builder.channels["v"] == StateGraph(Adds).channels["v"]
        words = "Channel 'v' already exists.*it is BinaryOperatorAggregate with add, and Conc"
        with pytest.raises(ValueError, match=words):
            builder.add_conditional_edges(START, annotated_by(Concatenates))
        # A schema that is refused leaves the builder as it was.
        assert builder.branches == {}
        with pytest.raises(ValueError, match=words):
            builder.add_schema(Concatenates)
        with pytest.raises(ValueError, match=words):
            builder.add_node("n", annotated_by(Concatenates))
        assert builder.nodes == {}
        assert builder.schemas == [Adds, Plain]
        assert builder.add_schema(Adds) is None  # type: ignore[func-returns-value]

    @pytest.mark.parametrize(
        "schema",
        [None, "State", 5, {"x": int}, [int], (int,), Record(1), lambda state: None, Caller],
    )
    def test_what_is_no_schema(self, schema: Any) -> None:
        """SG-01: a value, or an object of the class that was meant; but any class will do."""
        if schema is Caller:
            assert [*StateGraph(schema).channels] == ["__root__"]
            return
        with pytest.raises(TypeError, match="A schema is a class, such as a TypedDict, or a type"):
            StateGraph(schema)
        if schema is not None:
            with pytest.raises(TypeError, match="A schema is a class"):
                StateGraph(State, input_schema=schema)
            with pytest.raises(TypeError, match="A schema is a class"):
                nodes().add_node("a", named, input_schema=schema)

    def test_keys_and_a_single_value_do_not_mix(self, way: Any) -> None:
        """SG-05: a state has keys, or it is one value. An annotation is only a hint, then."""
        words = "The state State is made of keys, so it cannot be read or written as int"
        with pytest.raises(ValueError, match=words):
            StateGraph(State, input_schema=int)
        with pytest.raises(ValueError, match=words):
            StateGraph(State, output_schema=int)
        with pytest.raises(ValueError, match=words):
            nodes().add_node("a", named, input_schema=int)
        with pytest.raises(ValueError, match="The state dict is made of a single value"):
            StateGraph(dict).add_node("a", named, input_schema=State)

        def path(state: State) -> str:
            return "b" if state["x"] else END

        builder = StateGraph(dict).add_node("a", named).add_edge(START, "a")
        builder.add_conditional_edges("a", lambda state: END).add_node("b", named)
        builder.add_conditional_edges(START, path)
        assert way.invoke(builder.compile(), {"x": 0}) == {"log": ["named"]}

    def test_a_schema_without_keys(self, way: Any) -> None:
        """SG-01, SG-08, observed: a node that reads nothing, and a state of nothing."""
        empty: Any = TypedDict("Empty", {})
        seen: list[Any] = []
        builder = StateGraph(State).add_node(
            "a", lambda state: seen.append(state) or {"log": ["a"]}, input_schema=empty
        )
        assert log(way, builder.add_edge(START, "a")) == ["a"]
        nothing = StateGraph(empty).add_node("a", lambda state: seen.append(state) or {"x": 1})
        assert nothing.channels == {}
        assert way.invoke(nothing.add_edge(START, "a").compile(), {}) is None
        assert seen == [{}, {}]

    @pytest.mark.parametrize("name", [5, None, ["a"], named, Send("a", 1), b"a"])
    def test_a_name_that_is_no_text(self, name: Any) -> None:
        """SG-21: wherever a node is named; where it is a function, its name is suggested."""
        builder = nodes("a", "b")
        words = r"The name of .* is text, but this is .*"
        words += r" Nodes go by their names: 'named'\." if name is named else ""
        with pytest.raises(TypeError, match=words):
            builder.add_node(name, named)
        if name != ["a"]:  # that is a list edge
            with pytest.raises(TypeError, match=words):
                builder.add_edge(name, "a")
        with pytest.raises(TypeError, match=words):
            builder.add_edge(["b", name], "a")
        with pytest.raises(TypeError, match="An edge ends at one node"):
            builder.add_edge("a", name)
        with pytest.raises(TypeError, match=words):
            builder.add_conditional_edges(name, lambda state: "a")
        assert (builder.edges, builder.waiting_edges, builder.branches) == ({}, {}, {})

    def test_a_set_of_starts(self, way: Any) -> None:
        """SG-10: a set has no order, so its names stand sorted, in every process alike."""
        builder = nodes("c", "a", "b", "end").add_edge({"c", "a", "b"}, "end")
        assert [*builder.waiting_edges] == [(("a", "b", "c"), "end")]
        for name in "abc":
            builder.add_edge(START, name)
        assert log(way, builder) == ["a", "b", "c", "end"]
        with pytest.raises(ValueError, match="An edge to 'end' starts nowhere"):
            builder.add_edge([], "end")

    @pytest.mark.parametrize("function", GENERATORS)
    def test_generators(self, function: Any) -> None:
        """SG-40: what they return is no result, and is refused before it is called."""
        with pytest.raises(TypeError, match="Node 'a' is a generator function"):
            nodes().add_node("a", function)
        with pytest.raises(TypeError, match="The branch after 'a' is a generator function"):
            nodes("a").add_conditional_edges("a", function)

    @pytest.mark.parametrize(
        ("function", "words"),
        [
            (lambda: None, r"must take the state as its first parameter, but it takes \(\)"),
            (lambda *, state: None, "must take the state as its first parameter"),
            (lambda **state: None, "must take the state as its first parameter"),
            (lambda state, db: None, "needs 'db', which nobody gives it"),
            (lambda state, config, *, db: None, "needs 'db', which nobody gives it"),
            (Caller().two, "needs 'other', which nobody gives it"),
            (functools.partial(lambda state, a, b: None, a=1), "needs 'b'"),
        ],
    )
    def test_functions_that_cannot_be_called(self, function: Any, words: str) -> None:
        """SG-15, MR-05: with a state, and with what is given by name."""
        with pytest.raises(TypeError, match=f"Node 'a' {words}"):
            nodes().add_node("a", function)
        builder = nodes("a")
        with pytest.raises(TypeError, match=f"The branch after 'a' {words}"):
            builder.add_conditional_edges("a", function)
        assert builder.branches == {}

    @pytest.mark.parametrize(
        "function",
        [
            lambda *args: {"log": ["n"]},
            lambda state=None: {"log": ["n"]},
            lambda state, /, config, more=1, *args, **others: {"log": ["n"]},
            lambda state, *, config: {"log": ["n"]},
            functools.partial(lambda state, a: {"log": ["n"]}, a=1),
            decorated,
            Caller().one,
        ],
    )
    def test_functions_that_can(self, way: Any, function: Any) -> None:
        """MR-05: of a decorated function, the decorator's own parameters count."""
        assert log(way, nodes().add_node("a", function).add_edge(START, "a")) == ["n"]

    def test_metadata_of_another_kind(self) -> None:
        with pytest.raises(TypeError, match="The metadata of node 'a' must be a dict, not 'text'"):
            nodes().add_node("a", named, metadata="text")  # type: ignore[arg-type]

    def test_options_that_do_not_exist(self) -> None:
        """A slip in an option's name is not passed over."""
        with pytest.raises(TypeError, match="deferred"):
            nodes().add_node("a", named, deferred=True)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="interupt_before"):
            nodes("a").compile(interupt_before=["a"])  # type: ignore[call-arg]

    def test_names_from_an_enum(self, way: Any) -> None:
        """A member of an enum of texts is a name, and it is the text that streams show."""
        builder = StateGraph(State).add_node(Names.A, say("a")).add_node(Names.B, say("b"))
        builder.add_node("c", say("c")).add_edge(START, Names.A)
        builder.add_conditional_edges(Names.A, lambda state: "b")
        builder.add_edge([Names.A, Names.B], "c")
        assert way.stream(builder.compile(), {"log": []}) == [
            {"a": {"log": ["a"]}},
            {"b": {"log": ["b"]}},
            {"c": {"log": ["c"]}},
        ]
        assert [repr(name) for name in builder.nodes] == ["'a'", "'b'", "'c'"]


# ---------------------------------------------------------------- inputs and results


def two() -> Any:
    builder = StateGraph(State).add_node("a", say("a", x=1)).add_node("b", say("b", x=2))
    return builder.add_edge(START, "a").add_edge("a", "b").compile()


class TestInputs:
    @pytest.mark.parametrize(
        "input", [{}, {"log": []}, {"unknown": 1}, {"log": [], "unknown": 1}, {"x": None}]
    )
    def test_any_dict_will_do(self, way: Any, input: Any) -> None:
        """SG-41, SG-44: an empty one as well; unknown keys are dropped."""
        assert way.invoke(two(), input) == {"x": 2, "log": ["a", "b"]}

    def test_none_without_anything_to_resume(self, way: Any) -> None:
        """SG-44: with and without a saver."""
        with pytest.raises(EmptyInputError, match="nothing to resume"):
            way.invoke(two(), None)
        graph = nodes("a").add_edge(START, "a").compile(checkpointer=InMemorySaver())
        with pytest.raises(EmptyInputError, match="nothing to resume"):
            way.invoke(graph, None, CONFIG)
        assert way.state(graph, CONFIG).metadata is None

    @pytest.mark.parametrize("input", [5, "text", [], [{"x": 1}], True])
    def test_other_inputs_are_refused(self, way: Any, input: Any) -> None:
        """SG-44: before it is stored, see test_compile."""
        with pytest.raises(InvalidUpdateError, match="The input must be a dict"):
            way.invoke(two(), input)

    def test_what_a_node_sees_of_a_partial_input(self, way: Any) -> None:
        """SG-08: aggregates with their start value, and no unset keys."""
        seen: list[Any] = []
        builder = StateGraph(State).add_node("a", lambda state: seen.append(dict(state)))
        way.invoke(builder.add_edge(START, "a").compile(), {"x": 1})
        assert seen == [{"x": 1, "log": []}]

    def test_a_root_state(self, way: Any) -> None:
        """SG-43: bare values in and out, reduced like any other."""
        builder = StateGraph(Annotated[list, operator.add])
        builder.add_node("a", lambda state: ["a"]).add_node("b", lambda state: [*state, "b"])
        graph = builder.add_edge(START, "a").add_edge("a", "b").compile()
        assert way.invoke(graph, ["i"]) == ["i", "a", "i", "a", "b"]
        assert way.stream(graph, ["i"]) == [{"a": ["a"]}, {"b": ["i", "a", "b"]}]
        assert way.stream(graph, ["i"], stream_mode="values")[0] == ["i"]

    def test_a_run_that_writes_nothing(self, way: Any) -> None:
        """ST-04: there is no last state."""
        builder = StateGraph(int).add_node("a", lambda n: None)
        builder.add_conditional_edges(START, lambda n: END)
        assert way.invoke(builder.compile(), 5) == 5
        keyed = StateGraph(State, output_schema=TypedDict("Out", {"z": int}))
        keyed.add_node("a", lambda state: None).add_edge(START, "a")
        assert way.invoke(keyed.compile(), {"x": 1}) is None


class TestResults:
    @pytest.mark.parametrize(
        ("result", "state"),
        [
            (None, {"x": 0, "log": []}),
            ({}, {"x": 0, "log": []}),
            ({"x": 1, "unknown": 2}, {"x": 1, "log": []}),
            ([Command(update={"x": 1}), Command(update={"log": ["c"]})], {"x": 1, "log": ["c"]}),
            ([Command(update={"x": 1}), {"log": ["d"]}], {"x": 1, "log": ["d"]}),
            (Command(update=[("x", 3), ("log", ["t"])]), {"x": 3, "log": ["t"]}),
        ],
    )
    def test_of_a_node(self, way: Any, result: Any, state: Any) -> None:
        """SG-40, SG-41: as observed."""
        builder = StateGraph(State).add_node("n", lambda s: result).add_edge(START, "n")
        assert way.invoke(builder.compile(), {"x": 0, "log": []}) == state

    @pytest.mark.parametrize("result", [5, "s", [{"x": 1}], [Send("n", {})]])
    def test_that_are_refused(self, way: Any, result: Any) -> None:
        """SG-40, CS-04."""
        builder = StateGraph(State).add_node("n", lambda s: result).add_edge(START, "n")
        with pytest.raises(InvalidUpdateError, match="Node 'n' must return a dict"):
            way.invoke(builder.compile(), {"x": 0})

    def test_overwrites(self, way: Any) -> None:
        """SG-60: beats what siblings append; as input and from outside, too; and it is shown."""
        builder = StateGraph(State).add_node("a", say("a"))
        builder.add_node("o", lambda state: {"log": Overwrite(["O"])}).add_node("p", say("p"))
        builder.add_edge(START, "a").add_edge("a", "o").add_edge("a", "p")
        graph = builder.compile(checkpointer=InMemorySaver())

        chunks = way.stream(graph, {"log": ["in"]}, CONFIG)

        assert sorted(chunks, key=repr) == [
            {"a": {"log": ["a"]}},
            {"o": {"log": Overwrite(["O"])}},
            {"p": {"log": ["p"]}},
        ]
        assert way.state(graph, CONFIG).values == {"log": ["O"]}
        results = {t.name: t.result for t in way.history(graph, CONFIG)[1].tasks}
        assert results == {"o": {"log": Overwrite(["O"])}, "p": {"log": ["p"]}}
        way.update(graph, CONFIG, {"log": Overwrite(["U"])}, "p")
        assert way.state(graph, CONFIG).values == {"log": ["U"]}
        assert way.invoke(graph, {"log": Overwrite(["I"])}, CONFIG) == {"log": ["O"]}


# ---------------------------------------------------------------- routes


class TestConditionalEdges:
    @pytest.mark.parametrize(
        ("choice", "ran"),
        [
            ("b", ["a", "b"]),
            (["b", "c"], ["a", "b", "c"]),
            (("c", "b"), ["a", "b", "c"]),
            (END, ["a"]),
            ([], ["a"]),
            ([END, "b"], ["a", "b"]),
            (["b", "b"], ["a", "b"]),
            (Send("b", {}), ["a", "b"]),
            ([Send("b", {}), "c", Send("b", {})], ["a", "c", "b", "b"]),
        ],
    )
    def test_a_choice(self, way: Any, choice: Any, ran: list[str]) -> None:
        """SG-51, SG-53, SG-54, SS-03."""
        builder = nodes("a", "b", "c").add_edge(START, "a")
        assert log(way, builder.add_conditional_edges("a", lambda state: choice)) == ran

    def test_it_sees_its_nodes_writes_and_no_siblings(self, way: Any) -> None:
        """SG-50: of the state as it will be, only what its own node made of it."""
        seen: list[Any] = []
        builder = StateGraph(State).add_node("a", say("a", x=1)).add_node("b", say("b"))
        builder.add_edge(START, "a").add_edge(START, "b")
        builder.add_conditional_edges("a", lambda state: seen.append(("a", state)) or [])
        builder.add_conditional_edges("b", lambda state: seen.append(("b", state)) or [])
        way.invoke(builder.compile(), {"log": ["in"], "x": 0})
        assert sorted(seen, key=repr) == [
            ("a", {"log": ["in", "a"], "x": 1}),
            ("b", {"log": ["in", "b"], "x": 0}),
        ]

    def test_what_it_cannot_choose(self, way: Any) -> None:
        """SG-51, SG-52: the node's task fails."""
        for path_map, choice, error in (
            (None, None, ValueError),
            (None, START, ValueError),
            ({True: "b"}, False, KeyError),
            (["b"], "c", KeyError),
            (None, Send(END, 1), InvalidUpdateError),
        ):
            builder = nodes("a", "b", "c").add_edge(START, "a")
            builder.add_conditional_edges("a", lambda state: choice, path_map)
            graph = builder.compile(checkpointer=InMemorySaver())
            with pytest.raises(error):
                way.invoke(graph, {"log": []}, CONFIG)
            state = way.state(graph, CONFIG)
            assert (state.values, state.next) == ({"log": []}, ("a",))

    def test_with_a_map(self, way: Any) -> None:
        """SG-51: any hashable thing may be a choice."""
        for path_map, choice in (
            ({True: "b", False: "c"}, True),
            ({(1, 2): "b"}, [(1, 2)]),
            ({None: "b"}, None),
            (["b", "c"], "b"),
            ({"end": END, "go": "b"}, ["end", "go"]),
        ):
            builder = nodes("a", "b", "c").add_edge(START, "a")
            builder.add_conditional_edges("a", lambda state: choice, path_map)
            assert log(way, builder) == ["a", "b"]

    def test_with_a_literal(self, way: Any) -> None:
        """SG-51: declares the targets, so another choice is a KeyError."""

        def path(state: State) -> Literal["b"]:
            return "b" if len(state["log"]) == 1 else "c"  # type: ignore[return-value]

        builder = nodes("a", "b", "c").add_edge(START, "a").add_conditional_edges("a", path)
        assert log(way, builder) == ["a", "b"]
        with pytest.raises(KeyError):
            way.invoke(builder.compile(), {"log": ["more"]})

    def test_several_on_one_node(self, way: Any) -> None:
        """In the order in which they were declared, all of them taken."""

        def one(state: State) -> Any:
            return "b"

        def other(state: State) -> Any:
            return [Send("c", {})]

        builder = nodes("a", "b", "c").add_edge(START, "a").add_edge("a", "c")
        builder.add_conditional_edges("a", one).add_conditional_edges("a", other)
        assert log(way, builder) == ["a", "b", "c", "c"]

    def test_it_may_ask_for_the_config(self, way: Any) -> None:
        """MR-05."""

        def path(state: State, config: Any) -> Any:
            return config["configurable"]["go"]

        builder = nodes("a", "b").add_edge(START, "a").add_conditional_edges("a", path)
        result = way.invoke(builder.compile(), {"log": []}, {"configurable": {"go": "b"}})
        assert result == {"log": ["a", "b"]}


# ---------------------------------------------------------------- Commands and Sends


class TestCommands:
    @pytest.mark.parametrize(
        ("result", "ran"),
        [
            (Command(update={"log": ["n"]}, goto="b"), ["n", "b"]),
            (Command(goto=["b", "c"]), ["b", "c"]),
            (Command(goto=("c",)), ["c"]),
            (Command(goto=Send("b", {})), ["b"]),
            (Command(goto=[Send("b", {}), "c"]), ["c", "b"]),
            (Command(update={"log": ["n"]}, goto=END), ["n"]),
            (Command(update={"log": ["n"]}), ["n"]),
            (Command(goto=[5]), []),
            ([Command(goto="b"), Command(goto="c")], ["b", "c"]),
            (Command(update={"unknown": 1}, goto="b"), ["b"]),
            (Command(update="text", goto="b"), ["b"]),
            (Command(update=[("log", ["1"]), ("log", ["2"])]), ["1", "2"]),
            (Command(update={"log": ["n"]}, resume=1), ["n"]),
            (Send("b", {}), ["b"]),
        ],
    )
    def test_from_a_node(self, way: Any, result: Any, ran: list[str]) -> None:
        """CS-01 to CS-05: as observed."""
        builder = nodes("b", "c").add_node("n", lambda s: result).add_edge(START, "n")
        assert log(way, builder) == ran

    def test_what_streams_show_of_them(self, way: Any) -> None:
        """CS-07."""
        builder = StateGraph(State).add_node(
            "a", lambda s: Command(update={"log": ["a"]}, goto="n")
        )
        builder.add_node("n", lambda s: Command(goto="twice")).add_edge(START, "a")
        builder.add_node("twice", lambda s: Command(update=[("log", ["1"]), ("log", ["2"])]))
        assert way.stream(builder.compile(), {"log": []}) == [
            {"a": {"log": ["a"]}},
            {"n": None},
            {"twice": [{"log": ["1"]}, {"log": ["2"]}]},
        ]

    @pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["no saver", "saver"])
    @pytest.mark.parametrize(
        "goto", ["c", ["c"], ("c",), ["c", END]], ids=["name", "list", "tuple", "and END"]
    )
    def test_a_goto_adds_a_route_and_does_not_cancel_the_static_edge(
        self, way: Any, goto: Any, saver: Any
    ) -> None:
        """CS-02: a goes to b by its edge and to c by its Command; so c and d run twice each."""
        builder = nodes("b", "c", "d")
        builder.add_node("a", lambda state: Command(goto=goto, update={"log": ["a"]}))
        builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c").add_edge("c", "d")
        graph = builder.compile(checkpointer=saver and saver())
        # Super-step 2: b and c. 3: c (by b) and d. 4: d.
        assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["a", "b", "c", "c", "d", "d"]}

    def test_a_goto_beside_other_kinds_of_edges(self, way: Any) -> None:
        """It cancels neither a conditional edge nor a list edge; one target twice is one run."""
        builder = nodes("b", "c", "d")
        builder.add_node("a", lambda state: Command(goto=["c", "b"], update={"log": ["a"]}))
        builder.add_edge(START, "a").add_conditional_edges("a", lambda state: "b")
        builder.add_edge(["a", "b"], "d")
        assert log(way, builder) == ["a", "b", "c", "d"]

    def test_a_goto_to_the_node_itself(self, way: Any) -> None:
        """A loop without an edge."""
        builder = (
            StateGraph(State)
            .add_edge(START, "a")
            .add_node(
                "a",
                lambda s: Command(update={"log": ["a"]}, goto="a" if len(s["log"]) < 2 else END),
            )
        )
        assert log(way, builder) == ["a", "a", "a"]


class TestSends:
    def test_a_node_gets_only_the_argument(self, way: Any) -> None:
        """CS-30, CS-31: exactly that, of whatever kind, and not as an object of its schema."""
        arguments: list[Any] = [5, None, [1], {"log": "no list"}, "text"]
        seen: list[Any] = []
        builder = StateGraph(State).add_node("w", lambda arg: seen.append(arg))
        builder.add_conditional_edges(START, lambda s: [Send("w", arg) for arg in arguments])
        way.invoke(builder.compile(), {"log": ["in"], "x": 1}, {"max_concurrency": 1})
        assert sorted(seen, key=repr) == sorted(arguments, key=repr)

    def test_what_is_stored_of_them(self, way: Any) -> None:
        """CS-32, CS-33, SS-22: as observed."""
        builder = StateGraph(State).add_node("start", say("start", x=9))
        builder.add_node("w", lambda arg: {"log": [arg["i"]]}).add_node("end", say("end"))
        builder.add_edge(START, "start").add_edge("w", "end")
        builder.add_conditional_edges("start", lambda s: [Send("w", {"i": i}) for i in (2, 1)])
        graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["w"])

        way.invoke(graph, {"log": []}, CONFIG)

        state = way.state(graph, CONFIG)
        assert state.next == ("w", "w")
        assert [task.path for task in state.tasks] == [
            ("__pregel_push", 0, False),
            ("__pregel_push", 1, False),
        ]
        saved = graph.checkpointer.get_tuple(CONFIG).checkpoint
        sent = [Send("w", {"i": 2}), Send("w", {"i": 1})]
        assert saved["channel_values"]["__pregel_tasks"] == sent
        assert saved["updated_channels"] == ["__pregel_tasks", "log", "x"]

        assert way.invoke(graph, None, CONFIG) == {"log": ["start", 2, 1, "end"], "x": 9}
        rows = [row.checkpoint for row in graph.checkpointer.list(CONFIG)][::-1]
        assert [row["channel_values"].get("__pregel_tasks") for row in rows] == [
            *[None, None],
            sent,
            *[[], []],
        ]
        assert rows[-1]["versions_seen"]["w"] == {}

    def test_an_edge_behind_them_fires_once(self, way: Any) -> None:
        """CS-35: map, then reduce."""
        builder = StateGraph(State).add_node("w", lambda i: {"log": [i * 10]})
        builder.add_node("sum", lambda state: {"x": sum(state["log"])}).add_edge("w", "sum")
        builder.add_conditional_edges(START, lambda s: [Send("w", i) for i in range(4)])
        result = way.invoke(builder.compile(), {"log": []})
        assert result == {"log": [0, 10, 20, 30], "x": 60}

    def test_to_a_node_that_runs_anyway(self, way: Any) -> None:
        """CS-37, SS-03: once by its edge with the state, and once for each Send."""
        builder = nodes("a", "m").add_edge(START, "a").add_edge("a", "m")
        builder.add_node("z", lambda s: {"log": [f"z:{s.get('arg', 'edge')}"]})
        builder.add_conditional_edges(
            "a", lambda s: [Send("z", {"arg": i}) for i in (3, 1, 2)] + ["z"]
        )
        assert log(way, builder) == ["a", "m", "z:edge", "z:3", "z:1", "z:2"]

    def test_what_must_not_be_stored_is_not_stored_with_them(self, way: Any) -> None:
        """MR-09, CS-39, observed: an untracked value is in no checkpoint and in no write."""

        def w(arg: Any) -> Any:
            return {"log": [f"w{sorted(arg)}"]}

        builder = StateGraph(Secretive)
        builder.add_node("a", lambda state: {"secret": object(), "log": ["a"]})
        builder.add_node("b", lambda s: {"log": ["has" if s.get("secret") else "none"]})
        builder.add_node("w", w).add_edge(START, "a").add_edge("a", "b")
        builder.add_conditional_edges("b", lambda s: [Send("w", {"secret": s["secret"], "i": 1})])
        graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["w"])

        result = way.invoke(graph, {"log": []}, CONFIG)

        assert sorted(result) == ["log", "secret"]
        rows = [*graph.checkpointer.list(CONFIG)][::-1]
        assert [sorted(row.checkpoint["channel_values"]) for row in rows] == [
            ["__start__"],
            ["branch:to:a", "log"],
            ["branch:to:b", "log"],
            ["__pregel_tasks", "log"],
        ]
        assert [[write[1] for write in row.pending_writes] for row in rows] == [
            ["log", "branch:to:a"],
            ["log", "branch:to:b"],
            ["log", "__pregel_tasks"],
            [],
        ]
        assert rows[-1].checkpoint["channel_values"]["__pregel_tasks"] == [Send("w", {"i": 1})]
        assert way.invoke(graph, None, CONFIG)["log"] == ["a", "has", "w['i']"]
        # While the run that sent it goes on, the node still gets all of it.
        whole = builder.compile(checkpointer=InMemorySaver())
        assert way.invoke(whole, {"log": []}, CONFIG)["log"] == ["a", "has", "w['i', 'secret']"]

    def test_to_a_deferred_node(self, way: Any) -> None:
        """CS-37: a Send does not wait; the edge does."""
        builder = nodes("a").add_node("d", lambda s: {"log": [s.get("i", "edge")]}, defer=True)
        builder.add_edge(START, "a").add_edge("a", "d").add_node("e", say("e")).add_edge("a", "e")
        builder.add_conditional_edges("a", lambda s: [Send("d", {"i": 1})])
        assert log(way, builder) == ["a", "e", 1, "edge"]

    def test_sends_of_sends(self, way: Any) -> None:
        """Each super-step delivers what the one before sent, and nothing else."""
        builder = StateGraph(State)
        builder.add_node(
            "w", lambda n: [Command(update={"log": [n]}, goto=[Send("w", n - 1)] * min(n, 2))]
        )
        builder.add_conditional_edges(START, lambda s: [Send("w", 2)])
        assert log(way, builder) == [2, 1, 1, 0, 0]


# ---------------------------------------------------------------- super-steps


class TestSuperSteps:
    def test_writes_are_seen_in_the_next_step_only(self, way: Any) -> None:
        """SS-01."""
        seen: dict[str, Any] = {}
        builder = StateGraph(State)
        for name in "ab":
            builder.add_node(
                name, lambda s, name=name: seen.update({name: [*s["log"]]}) or {"log": [name]}
            )
            builder.add_edge(START, name)
        assert log(way, builder) == ["a", "b"]
        assert seen == {"a": [], "b": []}

    @pytest.mark.parametrize(
        ("names", "order"),
        [
            (["zeta", "alpha", "mid"], ["alpha", "mid", "zeta"]),
            (["n10", "n2", "n1"], ["n1", "n10", "n2"]),
            (["b", "B", "a", "A"], ["A", "B", "a", "b"]),
        ],
    )
    def test_writes_are_applied_by_name(self, way: Any, names: Any, order: Any) -> None:
        """SS-02: as text, whatever the order of declaration."""
        builder = nodes(*names)
        for name in names:
            builder.add_edge(START, name)
        assert log(way, builder) == order

    def test_two_writers_of_one_key(self, way: Any) -> None:
        """SS-05."""
        builder = StateGraph(State).add_node("a", say("a", x=1)).add_node("b", say("b", x=2))
        builder.add_edge(START, "a").add_edge(START, "b")
        with pytest.raises(InvalidUpdateError, match="Channel 'x' received 2 writes"):
            way.invoke(builder.compile(), {"log": []})

    def test_edges_and_list_edges(self, way: Any) -> None:
        """SS-06: separate edges run the target for each, a list edge once for all."""

        def diamond() -> StateGraph:
            builder = nodes("a", "b", "b2", "c").add_edge(START, "a").add_edge(START, "b")
            return builder.add_edge("b", "b2")

        assert log(way, diamond().add_edge("a", "c").add_edge("b2", "c")) == [
            "a",
            "b",
            "b2",
            "c",
            "c",
        ]
        assert log(way, diamond().add_edge(["a", "b2"], "c")) == ["a", "b", "b2", "c"]

    @pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["no saver", "saver"])
    @pytest.mark.parametrize("defer", [False, True], ids=["plain", "deferred"])
    @pytest.mark.parametrize(
        ("route", "ran"),
        [
            (["a", "b"], ["a", "b", "b2", "join"]),
            (["a"], ["a"]),
            (["b"], ["b", "b2"]),
            ([], []),
            (["b2", "a"], ["a", "b2", "join"]),
        ],
    )
    def test_a_list_edge_never_fires_if_one_start_is_skipped(
        self, way: Any, route: Any, ran: Any, defer: bool, saver: Any
    ) -> None:
        """SS-06, SS-07: a barrier is no "any of them"; the run just ends."""
        builder = nodes("a", "b", "b2").add_node("join", say("join"), defer=defer)
        builder.add_conditional_edges(START, lambda state: route, ["a", "b", "b2"])
        builder.add_edge("b", "b2").add_edge(["a", "b2"], "join")
        graph = builder.compile(checkpointer=saver and saver())
        assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ran}

    def test_a_join_that_is_half_done_waits_in_the_thread(self, way: Any) -> None:
        """SS-07: its partial set is stored, and the next run can complete it."""
        builder = nodes("a", "b", "c").add_edge(["a", "b"], "c")
        builder.add_conditional_edges(START, lambda state: "ab"[len(state["log"]) - 1])
        graph = builder.compile(checkpointer=InMemorySaver())

        assert way.invoke(graph, {"log": ["1"]}, CONFIG) == {"log": ["1", "a"]}
        saved = graph.checkpointer.get_tuple(CONFIG).checkpoint["channel_values"]
        assert saved["join:a+b:c"] == {"a"}
        assert way.invoke(graph, {"log": Overwrite(["2", "2"])}, CONFIG) == {
            "log": ["2", "2", "b", "c"]
        }

    def test_a_join_fires_again_in_a_loop(self, way: Any) -> None:
        """SS-07."""
        builder = nodes("a", "b")
        builder.add_node("c", lambda s: {"log": ["c"], "x": s.get("x", 0) + 1})
        builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c")
        builder.add_conditional_edges("c", lambda s: ["a", "b"] if s["x"] < 2 else END)
        assert log(way, builder) == ["a", "b", "c", "a", "b", "c"]

    def test_deferred_nodes(self, way: Any) -> None:
        """SS-08: as observed, and over time."""

        def build(defer: bool) -> StateGraph:
            builder = nodes("a", "b", "b2").add_node("d", say("d"), defer=defer)
            builder.add_edge(START, "a").add_edge(START, "b").add_edge("b", "b2")
            return builder.add_edge("a", "d").add_edge("b2", "d")

        assert log(way, build(False)) == ["a", "b", "b2", "d", "d"]
        assert log(way, build(True)) == ["a", "b", "b2", "d"]

        builder = nodes("a", "e").add_node("d", say("d"), defer=True)
        builder.add_edge(START, "a").add_edge("a", "d").add_edge("a", "e")
        graph = builder.compile(checkpointer=InMemorySaver())
        way.invoke(graph, {"log": []}, CONFIG)
        rows = [row.checkpoint["channel_values"] for row in graph.checkpointer.list(CONFIG)]
        assert [row.get("branch:to:d", "-") for row in reversed(rows)] == [
            *["-", "-"],
            (None, False),
            (None, True),
            "-",
        ]
        assert [state.next for state in reversed(way.history(graph, CONFIG))] == [
            ("__start__",),
            ("a",),
            ("e",),
            ("d",),
            (),
        ]

    def test_a_deferred_node_behind_a_deferred_node(self, way: Any) -> None:
        """SS-09: decided step by step, so the second one runs twice."""
        builder = nodes("a").add_node("d1", say("d1"), defer=True)
        builder.add_node("d2", say("d2"), defer=True).add_edge(START, "a")
        builder.add_edge("a", "d1").add_edge("a", "d2").add_edge("d1", "d2")
        assert log(way, builder) == ["a", "d1", "d2", "d2"]

    def test_a_deferred_node_first_of_all(self, way: Any) -> None:
        """With nothing else to run it does not wait."""
        builder = StateGraph(State).add_node("d", say("d"), defer=True).add_edge(START, "d")
        assert log(way, builder) == ["d"]

    def test_values_are_not_copied_for_nodes(self, way: Any) -> None:
        """SG-09: a list that a node edits in place is the state's own; the dict is not."""

        def edit(state: State) -> Any:
            state["log"].append("edited")
            state["x"] = 99

        builder = StateGraph(State).add_node("a", edit).add_edge(START, "a")
        assert way.invoke(builder.compile(), {"log": ["in"], "x": 1}) == {
            "log": ["in", "edited"],
            "x": 1,
        }

    def test_untracked_values_are_for_the_running_program_only(self, way: Any) -> None:
        """MR-09, CH-06: seen by nodes and in the output; in no checkpoint and in no write."""
        connection = object()
        builder = StateGraph(Secretive)
        builder.add_node("quiet", lambda state: {"secret": connection})
        builder.add_node("b", lambda s: {"log": [s.get("secret") is connection]})
        builder.add_edge(START, "quiet").add_edge("quiet", "b").add_edge("b", "c")
        builder.add_node("c", lambda s: {"log": [s.get("secret") is connection]})
        graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["c"])

        assert way.invoke(graph, {"log": []}, CONFIG) == {"log": [True], "secret": connection}

        rows = [*graph.checkpointer.list(CONFIG)][::-1]
        assert not any("secret" in row.checkpoint["channel_values"] for row in rows)
        assert [[write[1] for write in row.pending_writes] for row in rows] == [
            ["log", "branch:to:quiet"],
            ["branch:to:b"],
            ["log", "branch:to:c"],
            [],
        ]
        # Whoever goes on does so in another program.
        assert way.invoke(graph, None, CONFIG) == {"log": [True, False]}

    def test_a_task_that_wrote_only_untracked_values_runs_again(self, way: Any) -> None:
        """CP-21, MR-09: nothing that it wrote is stored, and who goes on needs it again."""
        failing = [True]

        def bad(state: Any) -> None:
            if failing[0]:
                raise ValueError("boom")

        ran: list[str] = []
        builder = StateGraph(Secretive).add_node("bad", bad)
        builder.add_node("quiet", lambda state: ran.append("quiet") or {"secret": object()})
        builder.add_edge(START, "bad").add_edge(START, "quiet")
        graph = builder.compile(checkpointer=InMemorySaver())
        with pytest.raises(ValueError, match="boom"):
            graph.invoke({"log": []}, CONFIG)
        stored = graph.checkpointer.get_tuple(CONFIG).pending_writes
        assert [write[1] for write in stored] == ["__error__"]
        assert way.state(graph, CONFIG).next == ("bad", "quiet")
        failing[0] = False
        way.invoke(graph, None, CONFIG)
        assert ran == ["quiet", "quiet"]

    def test_a_clash_of_untracked_values_can_be_tried_again(self, way: Any) -> None:
        """MR-09, SS-05: the super-step is still to be done, and not skipped."""
        builder = StateGraph(Secretive)
        for name in "ab":
            builder.add_node(name, lambda state: {"secret": 1}).add_edge(START, name)
        graph = builder.compile(checkpointer=InMemorySaver())
        for input in ({"log": []}, None):
            with pytest.raises(InvalidUpdateError, match="'secret' received 2 writes"):
                way.invoke(graph, input, CONFIG)
            assert way.state(graph, CONFIG).next == ("a", "b")


# ---------------------------------------------------------------- any graph at all


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str]]]:
    """Nodes, and edges that only lead to later ones, so that every run ends."""
    count = draw(st.integers(1, 6))
    names = [f"n{i}" for i in range(count)]
    pairs = [*itertools.combinations(range(count), 2)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    starts = draw(st.sets(st.integers(0, count - 1), min_size=1))
    return names, [(START, names[i]) for i in sorted(starts)] + [
        (names[i], names[j]) for i, j in edges
    ]


@given(graphs(), st.randoms())
@settings(max_examples=60, deadline=None)
def test_super_steps_of_any_graph(graph: Any, random: Any) -> None:
    """SS-02, SS-06: who runs in a step are those whom an edge reaches from the step before."""
    names, edges = graph
    expected: list[str] = []
    front = {end for start, end in edges if start == START}
    while front:
        expected += sorted(front)
        front = {end for start, end in edges if start in front}
    shuffled = edges.copy()
    random.shuffle(shuffled)
    builder = nodes(*names)
    for start, end in shuffled:
        builder.add_edge(start, end)
    saved, unsaved = builder.compile(checkpointer=InMemorySaver()), builder.compile()

    assert unsaved.invoke({"log": []}) == {"log": expected}
    assert saved.invoke({"log": []}, CONFIG) == {"log": expected}
    assert saved.get_state(CONFIG).next == ()


class Invoked:
    """An object that is called by name, as frameworks around a model have them."""

    def invoke(self, state: Any, config: Any = None) -> Any:
        return {"log": [f"invoked in {config['metadata']['langgraph_node']}"]}

    async def ainvoke(self, state: Any, config: Any = None) -> Any:
        return {"log": [f"awaited in {config['metadata']['langgraph_node']}"]}


def test_objects_with_invoke_are_nodes() -> None:
    """MR-05: in a run on the event loop it is their `ainvoke`, where they have one."""

    class Log(TypedDict):
        log: Annotated[list[str], operator.add]

    class OnlySync:
        invoke = Invoked.invoke

    for node, awaited in ((Invoked(), "awaited"), (OnlySync(), "invoked")):
        graph = StateGraph(Log).add_node("n", node).add_edge(START, "n").compile()
        assert graph.invoke({"log": []}) == {"log": ["invoked in n"]}
        assert asyncio.run(graph.ainvoke({"log": []})) == {"log": [f"{awaited} in n"]}
