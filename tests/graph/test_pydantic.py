"""Pydantic models as schemas: what is validated, when, and what the state keeps of it."""

from __future__ import annotations

import operator
from typing import Annotated, Any, ClassVar, Generic, Optional, TypedDict, TypeVar

import pytest

from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import END, START
from minigraph.errors import InvalidUpdateError
from minigraph.graph import StateGraph
from minigraph.graph.schema import (
    channels_of,
    check_values,
    fields_of,
    is_keyed,
    mapper_of,
    updates_of,
    validates,
)
from minigraph.types import Command, Overwrite, Send

pydantic = pytest.importorskip("pydantic")
BaseModel, Field = pydantic.BaseModel, pydantic.Field

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Inner(BaseModel):
    n: int = 1


class Model(BaseModel):
    model_config = pydantic.ConfigDict(extra="ignore")
    shared: ClassVar[int] = 3
    _private: int = pydantic.PrivateAttr(2)

    x: int
    y: str = "default"
    log: Annotated[list[str], operator.add] = Field(default_factory=list)
    maybe: Optional[int] = None  # noqa: UP045
    inner: Inner = Inner()


class OnlyX(BaseModel):
    x: int


class Loose(TypedDict, total=False):
    x: Any
    y: Any
    log: Annotated[list[Any], operator.add]


class Renamed(BaseModel):
    x: int = Field(alias="theX")
    y: str = "default"


class Doubled(BaseModel):
    x: int

    @pydantic.field_validator("x")
    @classmethod
    def double(cls, value: int) -> int:
        return value * 2


class Ordered(BaseModel):
    low: int = 0
    high: int = 0

    @pydantic.model_validator(mode="after")
    def in_order(self) -> Any:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


@pydantic.dataclasses.dataclass
class Data:
    x: int
    y: str = "default"


def chain(
    schema: Any, result: Any = None, *, saver: bool = False, **schemas: Any
) -> tuple[Any, list[Any]]:
    """A graph START ─▶ a ─▶ b in which a returns `result`, and what its nodes were given."""
    seen: list[Any] = []
    builder = StateGraph(schema, **schemas)
    builder.add_node("a", lambda state: seen.append(state) or result)
    builder.add_node("b", lambda state: seen.append(state))
    builder.add_edge(START, "a").add_edge("a", "b")
    return builder.compile(checkpointer=InMemorySaver() if saver else None), seen


def stored(graph: Any) -> int:
    return len(list(graph.checkpointer.list(CONFIG)))


# ---------------------------------------------------------------- to channels


class TestChannels:
    def test_its_fields_are_the_keys(self) -> None:
        """SG-01, SG-62: and not its class variables, its private attributes and its settings."""
        assert [*fields_of(Model)] == ["x", "y", "log", "maybe", "inner"]
        assert {name: type(channel) for name, channel in channels_of(Model).items()} == {
            "x": LastValue,
            "y": LastValue,
            "log": BinaryOperatorAggregate,
            "maybe": LastValue,
            "inner": LastValue,
        }

    def test_constraints_are_no_reducers(self) -> None:
        """SG-02: what is pydantic's among the metadata is left alone."""

        class Constrained(BaseModel):
            a: Annotated[int, Field(gt=0)]
            b: Annotated[list[int], Field(max_length=3), operator.add]
            c: Annotated[int, pydantic.AfterValidator(lambda value: value)] = 1
            d: Annotated[int, EphemeralValue, Field(gt=0)] = 1
            e: Annotated[list[int], operator.add, Field(max_length=3)]  # the last item counts

        kinds = [type(channel) for channel in channels_of(Constrained).values()]
        assert kinds == [LastValue, BinaryOperatorAggregate, LastValue, EphemeralValue, LastValue]

    def test_subclasses_and_generics(self) -> None:
        """SG-01: the fields of the bases first."""

        class Child(Model):
            z: int = 0

        assert [*fields_of(Child)] == [*fields_of(Model), "z"]
        assert [*fields_of(Box[int])] == ["content"]

    def test_without_fields(self) -> None:
        """SG-01: a schema with no keys, and not a single value."""

        class Nothing(BaseModel):
            pass

        assert (is_keyed(Nothing), channels_of(Nothing)) == (True, {})

    def test_which_schemas_validate(self) -> None:
        """SG-62."""
        assert [validates(schema) for schema in (Model, Data, Loose, int)] == [
            *[True, True],
            *[False, False],
        ]


Content = TypeVar("Content")


class Box(BaseModel, Generic[Content]):
    content: Content


# ---------------------------------------------------------------- what nodes are given


class TestReading:
    def test_nodes_are_given_models_and_the_state_keeps_what_was_written(self, way: Any) -> None:
        """SG-62, observed: validated, converted and completed on each reading; stored as it was."""
        graph, seen = chain(Model, {"y": "new", "inner": {"n": "7"}}, saver=True)

        result = way.invoke(graph, {"x": "5", "unknown": 1}, CONFIG)

        assert seen == [Model(x=5), Model(x=5, y="new", inner=Inner(n=7))]
        assert result == {"x": "5", "y": "new", "log": [], "inner": {"n": "7"}}
        assert way.state(graph, CONFIG).values == result

    def test_a_model_as_input(self, way: Any) -> None:
        """SG-42: it writes its fields."""
        graph, seen = chain(Model)
        assert way.invoke(graph, Model(x=5, log=["in"])) == {
            "x": 5,
            "y": "default",
            "log": ["in"],
            "inner": Inner(),
        }
        assert seen == [Model(x=5, log=["in"])] * 2

    def test_each_reader_has_its_own_schema(self, way: Any) -> None:
        """SG-08: nodes and path functions, by annotation and by `input_schema`."""
        seen: list[Any] = []

        def node(state: OnlyX) -> Any:
            seen.append(state)
            return {"x": "2"}

        def path(state: OnlyX) -> str:
            seen.append(state)
            return "other"

        builder = StateGraph(Loose).add_node(node).add_edge(START, "node")
        builder.add_node("other", lambda state: seen.append(state), input_schema=Data)
        builder.add_conditional_edges("node", path)
        assert way.invoke(builder.compile(), {"x": "1"}) == {"x": "2", "log": []}
        assert seen == [OnlyX(x=1), OnlyX(x=2), Data(x=2)]

    def test_a_send_is_not_validated(self, way: Any) -> None:
        """CS-31, observed: the node is given exactly what was sent."""
        seen: list[Any] = []

        def worker(state: Model) -> None:
            seen.append(state)

        builder = StateGraph(Model).add_node(worker)
        builder.add_conditional_edges(
            START, lambda state: [Send("worker", {"x": "5"}), Send("worker", Model(x=2))]
        )
        way.invoke(builder.compile(), {"x": 1})
        assert sorted(seen, key=repr) == [Model(x=2), {"x": "5"}]

    def test_validators_that_change_the_value(self, way: Any) -> None:
        """SG-62, observed: each reader sees it changed once; the state does not have it."""
        graph, seen = chain(Doubled)
        assert way.invoke(graph, {"x": 1}) == {"x": 1}
        assert seen == [Doubled.model_construct(x=2)] * 2

    def test_aliases(self, way: Any) -> None:
        """SG-62: channels are called like fields, and a model finds them there.

        The reference reads them by alias, and finds none.
        """
        graph, seen = chain(Renamed, {"y": "new"})
        assert way.invoke(graph, {"x": "1"}) == {"x": "1", "y": "new"}
        assert [(state.x, state.y) for state in seen] == [(1, "default"), (1, "new")]
        assert way.invoke(graph, Renamed(theX=3)) == {"x": 3, "y": "new"}

    def test_a_pydantic_that_cannot_read_by_name(self) -> None:
        """Older ones have no such option; their models must allow it themselves."""

        class Old:
            model_fields = Renamed.model_fields

            def __init__(self, **values: Any) -> None:
                self.values = values

            @classmethod
            def model_validate(cls, values: Any) -> None: ...

        make = mapper_of(Old)
        assert make is not None
        assert make({"x": 1}).values == {"x": 1}

    def test_a_root_model_has_one_key(self, way: Any) -> None:
        """Its own name for its content."""
        schema = pydantic.RootModel[list[int]]
        graph, seen = chain(schema)
        assert way.invoke(graph, {"root": ["1"]}) == {"root": ["1"]}
        assert seen == [schema([1])] * 2


# ---------------------------------------------------------------- what nodes return


class AllKinds(BaseModel):
    required: Optional[int]  # noqa: UP045
    none: Optional[int] = None  # noqa: UP045
    five: Optional[int] = 5  # noqa: UP045
    made_none: Optional[int] = Field(default_factory=lambda: None)  # noqa: UP045


class TestWriting:
    @pytest.mark.parametrize(
        ("result", "writes"),
        [
            pytest.param(
                AllKinds(required=1),
                {"required": 1, "five": 5, "made_none": None},
                id="what nobody set, and is None by default, says nothing",
            ),
            pytest.param(
                AllKinds(required=None, none=None, five=None),
                {"required": None, "none": None, "five": None, "made_none": None},
                id="what was set to None",
            ),
            pytest.param(
                AllKinds.model_construct(_fields_set=set(), required=None, five=None),
                {"required": None, "five": None, "made_none": None},
                id="not set, but None is not the default",
            ),
        ],
    )
    def test_of_a_model(self, result: Any, writes: Any) -> None:
        """SG-42: as observed."""
        keys = AllKinds.model_fields.keys()
        assert dict(updates_of("a", keys, result)) == writes
        assert dict(updates_of("a", keys, Command(update=result))) == writes

    def test_defaults_are_written_over_the_state(self, way: Any) -> None:
        """SG-42, observed: all that the model has, but not a None that nobody set."""
        graph, seen = chain(Model, Model(x=9, log=["a"]))
        input = {"x": 1, "y": "mine", "maybe": 4, "log": ["in"]}
        result = way.invoke(graph, input)
        assert result == {
            "x": 9,
            "y": "default",
            "log": ["in", "a"],
            "maybe": 4,
            "inner": Inner(),
        }
        assert seen[1] == Model(x=9, log=["in", "a"], maybe=4)

    def test_what_was_assigned_counts_as_set(self, way: Any) -> None:
        """SG-42: a node may edit what it was given, and return it."""

        def node(state: Model) -> Any:
            state.maybe = None
            state.log = ["a"]
            return state

        graph = StateGraph(Model).add_node(node).add_edge(START, "node").compile()
        result = way.invoke(graph, {"x": 1, "maybe": 4, "log": ["in"]})
        assert (result["maybe"], result["log"]) == (None, ["in", "a"])

    def test_the_output_is_not_validated(self, way: Any) -> None:
        """SG-07, SG-62, observed: an output schema chooses keys."""
        graph, _ = chain(Loose, {"x": "no number", "y": 1}, output_schema=OnlyX)
        assert way.invoke(graph, {}) == {"x": "no number"}


# ---------------------------------------------------------------- invalid inputs


class TestInvalidInputs:
    @pytest.mark.parametrize(
        ("schema", "input", "error"),
        [
            pytest.param(Model, {"x": "no number"}, "1 validation error for Model", id="value"),
            pytest.param(Model, {"y": 1}, "validation errors? for Model", id="and another missing"),
            pytest.param(Model, {"x": 1, "inner": {"n": "n"}}, r"inner\.n", id="nested value"),
            pytest.param(Model, {"x": 1, "inner": Box(content=1)}, "inner", id="other model"),
            pytest.param(Model, Model.model_construct(x="no number"), "validation", id="model"),
            pytest.param(Renamed, {"x": "no number"}, "for Renamed", id="alias"),
            pytest.param(Ordered, {"low": 2, "high": 1}, "low is above high", id="whole"),
            pytest.param(Data, {"x": "no number"}, "for Data", id="dataclass"),
        ],
    )
    def test_they_are_refused_before_anything_happens(
        self, way: Any, schema: Any, input: Any, error: str
    ) -> None:
        """SG-61: nothing runs, nothing is stored, and the thread is what it was."""
        graph, seen = chain(schema, saver=True)
        with pytest.raises(pydantic.ValidationError, match=error) as caught:
            way.invoke(graph, input, CONFIG)
        assert "Nothing ran, and nothing was stored" in caught.value.__notes__[0]
        assert (seen, stored(graph)) == ([], 0)

        good = {"x": 1} if schema is not Ordered else {"low": 1, "high": 1}
        way.invoke(graph, good, CONFIG)
        before, count = way.state(graph, CONFIG), stored(graph)
        seen.clear()
        with pytest.raises(pydantic.ValidationError, match=error):
            way.invoke(graph, input, CONFIG)
        assert (seen, stored(graph)) == ([], count)
        assert way.state(graph, CONFIG) == before

    @pytest.mark.parametrize("input", [5, "text", [Model(x=1)], Box(content=1), object()])
    def test_of_another_kind(self, way: Any, input: Any) -> None:
        """SG-44: neither a dict, nor an object with a field of the state."""
        graph, seen = chain(Model, saver=True)
        with pytest.raises(InvalidUpdateError, match="The input"):
            way.invoke(graph, input, CONFIG)
        assert (seen, stored(graph)) == ([], 0)

    def test_only_the_input_schema_is_asked(self, way: Any) -> None:
        """SG-61: it says what an input is, also where no node reads it so."""
        graph, seen = chain(Loose, input_schema=OnlyX)
        with pytest.raises(pydantic.ValidationError, match="for OnlyX"):
            way.invoke(graph, {"x": "no number"})
        assert seen == []
        assert way.invoke(graph, {"x": "1", "y": "dropped"}) == {"x": "1", "log": []}

    def test_a_part_is_enough_where_the_thread_has_the_rest(self, way: Any) -> None:
        """SG-61: what is missing in the input is not missing in the state."""
        graph, seen = chain(Model, saver=True)
        way.invoke(graph, {"x": 1, "y": "one", "log": ["in"]}, CONFIG)
        assert way.invoke(graph, {"y": "two"}, CONFIG) == {"x": 1, "y": "two", "log": ["in"]}
        assert seen[-1] == Model(x=1, y="two", log=["in"])

        ordered, seen = chain(Ordered, saver=True)
        way.invoke(ordered, {"low": 1, "high": 5}, CONFIG)
        way.invoke(ordered, {"low": 3}, CONFIG)  # alone, it would be above the default of `high`
        assert seen[-1] == Ordered(low=3, high=5)

    def test_what_a_reducer_takes_is_its_own_affair(self, way: Any) -> None:
        """SG-61: a write to a reducer is not the value, which is what the model knows."""

        class Collecting(BaseModel):
            log: Annotated[list[str], lambda old, new: [*old, new]] = []

        graph, seen = chain(Collecting, "one")
        graph, seen = chain(Collecting)
        assert way.invoke(graph, {"log": "one"}) == {"log": ["one"]}
        assert seen == [Collecting(log=["one"])] * 2
        added, _ = chain(Model)
        result = way.invoke(added, {"x": 1, "log": Overwrite(["fresh"])})
        assert result["log"] == ["fresh"]

    def test_what_a_node_will_add_may_be_missing(self, way: Any) -> None:
        """SG-61: the first node need not read all of the state."""
        seen: list[Any] = []

        class Answered(OnlyX):
            answer: str

        def first(state: OnlyX) -> Any:
            return {"answer": str(state.x)}

        builder = StateGraph(Answered).add_node(first).add_node("b", lambda s: seen.append(s))
        builder.add_edge(START, "first").add_edge("first", "b")
        way.invoke(builder.compile(), {"x": 1})
        assert seen == [Answered(x=1, answer="1")]

    def test_a_missing_field_that_the_first_node_needs(self, way: Any) -> None:
        """SG-61: refused before anything is stored; a better input goes on."""
        graph, seen = chain(Model, saver=True)
        with pytest.raises(pydantic.ValidationError, match="Field required"):
            way.invoke(graph, {"y": "one"}, CONFIG)
        assert seen == []
        assert way.history(graph, CONFIG) == []
        assert way.invoke(graph, {"x": 1}, CONFIG)["x"] == 1
        assert way.invoke(graph, {"y": "two"}, CONFIG)["x"] == 1  # now there is one


class Crossing(pydantic.BaseModel):
    x: int = pydantic.Field(alias="y")
    y: int = pydantic.Field(alias="z")


def extend_in_place(old: list[Any], new: Any) -> list[Any]:
    old.extend(new)
    return old


class Range(pydantic.BaseModel):
    low: int
    high: int = 20
    log: Annotated[list[Any], extend_in_place] = []

    @pydantic.field_validator("high")
    @classmethod
    def above(cls, high: int, info: Any) -> int:
        if high <= info.data["low"]:
            raise ValueError("high is not above low")
        return high


class TestLooking:
    """SG-61: an input is looked at, and nothing else."""

    def test_new_values_are_judged_beside_those_that_are_there(self, way: Any) -> None:
        """Not beside defaults, and not alone: a validator may look at the other fields."""
        graph, _ = chain(Range, saver=True)
        way.invoke(graph, {"low": 1, "high": 3}, CONFIG)
        assert way.invoke(graph, {"high": 5}, CONFIG)["high"] == 5
        with pytest.raises(pydantic.ValidationError, match="high is not above low"):
            way.invoke(graph, {"high": 1}, CONFIG)

    def test_reducers_are_asked_once(self, way: Any) -> None:
        """One that edits its left side would otherwise do so twice."""
        graph, _ = chain(Range, saver=True)
        assert way.invoke(graph, {"low": 1, "log": ["a"]}, CONFIG)["log"] == ["a"]
        assert way.invoke(graph, {"log": ["b"]}, CONFIG)["log"] == ["a", "b"]

    def test_what_can_be_looked_at_only_once_is_not(self, way: Any) -> None:
        """A generator belongs to the reducer, or to the node."""
        graph, seen = chain(Range)
        way.invoke(graph, {"low": 1, "log": (i for i in range(3))})
        assert seen[0].log == [0, 1, 2]

    def test_crossing_aliases(self, way: Any) -> None:
        """SG-62: fields are read by their names, whatever else is called so."""
        graph, seen = chain(Crossing)
        way.invoke(graph, {"x": 1, "y": 2})
        assert (seen[0].x, seen[0].y) == (1, 2)


class TestCheckValues:
    @pytest.mark.parametrize(
        ("schema", "values"),
        [
            (Model, {}),
            (Model, {"x": "1"}),
            (Model, {"y": "y", "inner": {}}),
            (Ordered, {"low": 1}),
            (Renamed, {"y": "y"}),
            (Data, {}),
        ],
    )
    def test_what_is_missing_is_no_error(self, schema: Any, values: Any) -> None:
        """SG-61: neither is what a model says of the whole, where this is not the whole."""
        check_values(schema, values, values)

    @pytest.mark.parametrize(
        ("schema", "values"),
        [
            (Model, {"y": 1}),
            (Model, {"inner": {"n": "n"}}),
            (Box[Model], {"content": {}}),  # nested, so nobody else has it
            (Ordered, {"low": 1, "high": 0}),
            (Renamed, {"x": "x"}),
            (Data, {"y": 1}),
        ],
    )
    def test_what_cannot_be_is_one(self, schema: Any, values: Any) -> None:
        """SG-61."""
        with pytest.raises(pydantic.ValidationError):
            check_values(schema, values, values)

    def test_what_is_there_already_is_not_judged(self) -> None:
        """SG-61: it is there to complete what is new."""
        check_values(Model, {"x": "no number", "y": "y"}, ["y"])
        with pytest.raises(pydantic.ValidationError):
            check_values(Model, {"x": "no number", "y": "y"}, ["x"])

    def test_other_errors_are_the_schemas_own(self) -> None:
        """A `ValueError` that is no list of problems is not weighed."""

        class Strict:
            model_fields: ClassVar[dict[str, Any]] = {}
            model_validate = None

            def __init__(self) -> None:
                raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            check_values(Strict, {}, [])


# ---------------------------------------------------------------- invalid writes


class TestInvalidWrites:
    @pytest.mark.parametrize("saved", [False, True])
    def test_the_next_reader_fails(self, way: Any, saved: bool) -> None:
        """SG-62, observed: the writer has finished, and who reads the value raises."""
        graph, seen = chain(Model, {"x": "no number"}, saver=saved)
        with pytest.raises(pydantic.ValidationError, match="valid integer"):
            way.invoke(graph, {"x": 1}, CONFIG)
        assert seen == [Model(x=1)]

    def test_the_thread_stays_readable_and_can_be_repaired(self, way: Any) -> None:
        """SG-62: the reference's `get_state` raises, and so does everything else after it."""
        graph, seen = chain(Model, {"x": "no number"}, saver=True)
        with pytest.raises(pydantic.ValidationError):
            way.invoke(graph, {"x": 1}, CONFIG)

        state = way.state(graph, CONFIG)
        assert (state.values, state.next) == ({"x": "no number", "log": []}, ("b",))
        assert "valid integer" in state.tasks[0].error
        assert len(way.history(graph, CONFIG)) == 3
        with pytest.raises(pydantic.ValidationError):
            way.invoke(graph, None, CONFIG)

        way.update(graph, CONFIG, {"x": 7})
        assert way.state(graph, CONFIG).next == ("b",)
        assert way.invoke(graph, None, CONFIG) == {"x": 7, "log": []}
        assert seen == [Model(x=1), Model(x=7)]

    def test_a_new_input_goes_on(self, way: Any) -> None:
        """SG-62: it replaces the value, or a node does."""
        results: list[Any] = [{"x": "no number"}, {"log": ["a"]}]
        seen: list[Any] = []
        builder = StateGraph(Model).add_node("a", lambda state: results.pop(0))
        builder.add_node("b", lambda state: seen.append(state))
        builder.add_edge(START, "a").add_edge("a", "b")
        graph = builder.compile(checkpointer=InMemorySaver())
        with pytest.raises(pydantic.ValidationError):
            way.invoke(graph, {"x": 1}, CONFIG)
        assert way.invoke(graph, {"x": 2}, CONFIG) == {"x": 2, "log": ["a"]}
        assert seen == [Model(x=2, log=["a"])]

    def test_an_invalid_update_from_outside(self, way: Any) -> None:
        """SG-62: is stored like an invalid write, and can be taken back like one."""
        graph, seen = chain(Model, saver=True)
        way.invoke(graph, {"x": 1}, CONFIG)
        way.update(graph, CONFIG, {"x": "no number"}, "a")
        assert way.state(graph, CONFIG).values["x"] == "no number"
        way.update(graph, CONFIG, OnlyX(x=3), "a")
        assert way.invoke(graph, None, CONFIG)["x"] == 3
        assert seen[-1] == Model(x=3)

    def test_a_path_function_is_a_reader(self, way: Any) -> None:
        """SG-50, SG-62: it sees its node's own write, so there the writing node fails."""
        builder = StateGraph(Model).add_node("a", lambda state: {"x": "no number"})
        builder.add_edge(START, "a").add_conditional_edges("a", lambda state: END)
        graph = builder.compile(checkpointer=InMemorySaver())
        with pytest.raises(pydantic.ValidationError):
            way.invoke(graph, {"x": 1}, CONFIG)
        state = way.state(graph, CONFIG)
        assert (state.values, state.next) == ({"x": 1, "log": []}, ("a",))
