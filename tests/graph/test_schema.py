"""Schemas: from annotations to channels, and from channels back to objects."""

from __future__ import annotations

import gc
import operator
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple, NotRequired, Optional, Required, TypedDict

import pytest
from typing_extensions import ReadOnly

from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue
from minigraph.channels.topic import Topic
from minigraph.channels.untracked_value import UntrackedValue
from minigraph.constants import RESERVED, ROOT
from minigraph.errors import InvalidUpdateError
from minigraph.graph import schema as schema_module
from minigraph.graph.schema import (
    annotations_of,
    channel_for,
    channels_of,
    fields_of,
    is_keyed,
    mapper_of,
    parameter_schema,
    root_updates_of,
    selection_of,
    take_apart,
    updates_of,
)
from minigraph.types import Command, Overwrite, Send


def reduce(old: list[Any], new: list[Any]) -> list[Any]:
    return old + new


class Typed(TypedDict, total=False):
    x: int
    log: Annotated[list[Any], reduce]


@dataclass
class Data:
    x: int
    y: str = "dy"
    log: Annotated[list[Any], reduce] = field(default_factory=list)


@dataclass(frozen=True)
class Half:
    shared: ClassVar[int] = 3
    x: int = 0
    _: KW_ONLY
    given: InitVar[int] = 1
    late: int = field(init=False, default=0)


class Plain:
    """A class with annotations and a constructor that takes them by name."""

    shared: ClassVar[int] = 3
    x: int
    y: str | None

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class Child(Typed):
    z: str


# ---------------------------------------------------------------- to channels


class TestFields:
    @pytest.mark.parametrize(
        ("schema", "names"),
        [
            (Typed, ["x", "log"]),
            (Data, ["x", "y", "log"]),
            (Plain, ["x", "y"]),
            (Child, ["x", "log", "z"]),
            (Half, ["x", "late"]),
            (int, []),
            (list, []),
            (list[int], []),
            (Annotated[list, reduce], []),
            (None, []),
            ("Typed", []),
            (int | None, []),
            (reduce, []),
        ],
    )
    def test_of(self, schema: Any, names: list[str]) -> None:
        """SG-01: the annotated keys, those of bases first; none of what is no class.

        Class variables are no keys, nor is what only a constructor takes.
        """
        assert [*fields_of(schema)] == names

    @pytest.mark.parametrize(
        ("schema", "keyed"),
        [
            (Typed, True),
            (Data, True),
            (Plain, True),
            (TypedDict("Empty", {}), True),
            (dataclass(type("EmptyData", (), {})), True),
            (type("Nothing", (), {}), False),
            (int, False),
            (dict[str, int], False),
            (Annotated[list, reduce], False),
        ],
    )
    def test_with_and_without_keys(self, schema: Any, keyed: bool) -> None:
        """SG-01: a schema with no keys at all is not a single value."""
        assert is_keyed(schema) is keyed
        assert list(channels_of(schema)) == ([*fields_of(schema)] if keyed else [ROOT])

    def test_annotations_that_cannot_be_resolved(self) -> None:
        """The error names the class, and says what is wrong with it."""

        class Unknown(TypedDict):
            x: Nowhere  # type: ignore[name-defined]  # noqa: F821

        words = "The annotations of Unknown cannot be resolved: name 'Nowhere' is not defined"
        with pytest.raises(NameError, match=words):
            fields_of(Unknown)

    def test_annotations_are_resolved_and_kept_whole(self) -> None:
        """They are texts in a module like this one."""
        assert fields_of(Typed)["log"] == Annotated[list[Any], reduce]

    def test_a_class_is_resolved_once(self) -> None:
        assert fields_of(Typed) is fields_of(Typed)


class TestChannels:
    @pytest.mark.parametrize(
        ("annotation", "kind"),
        [
            pytest.param(int, LastValue, id="plain"),
            pytest.param(Optional[int], LastValue, id="optional"),  # noqa: UP045
            pytest.param(Annotated[int, "doc"], LastValue, id="metadata that is no reducer"),
            pytest.param(Annotated[list, reduce], BinaryOperatorAggregate, id="reducer"),
            pytest.param(Annotated[list, operator.add], BinaryOperatorAggregate, id="in C"),
            pytest.param(Annotated[list, "doc", reduce], BinaryOperatorAggregate, id="last"),
            pytest.param(Annotated[list, reduce, "doc"], LastValue, id="not last"),
            pytest.param(Annotated[list, max], BinaryOperatorAggregate, id="silent about itself"),
            pytest.param(Annotated[int, EphemeralValue], EphemeralValue, id="class"),
            pytest.param(Annotated[int, EphemeralValue(int)], EphemeralValue, id="instance"),
            pytest.param(Annotated[int, UntrackedValue, "doc"], UntrackedValue, id="anywhere"),
            pytest.param(Annotated[list, UntrackedValue, reduce], UntrackedValue, id="wins"),
            pytest.param(Annotated[list, Topic(int, True)], Topic, id="topic"),
            pytest.param(NotRequired[int], LastValue, id="NotRequired"),
            pytest.param(Required[int], LastValue, id="Required"),
            pytest.param(ReadOnly[int], LastValue, id="ReadOnly"),
            pytest.param(
                NotRequired[Annotated[list, reduce]], BinaryOperatorAggregate, id="around Annotated"
            ),
            pytest.param(
                Annotated[NotRequired[list], reduce], BinaryOperatorAggregate, id="inside Annotated"
            ),
            pytest.param(
                Required[ReadOnly[Annotated[list, reduce]]], BinaryOperatorAggregate, id="many"
            ),
        ],
    )
    def test_for_an_annotation(self, annotation: Any, kind: type) -> None:
        """SG-02, SG-04."""
        channel = channel_for("key", annotation)
        assert type(channel) is kind
        assert channel.key == "key"

    def test_it_knows_its_type_and_reducer(self) -> None:
        channel = channel_for("log", NotRequired[Annotated[Sequence[str], "doc", reduce]])
        assert isinstance(channel, BinaryOperatorAggregate)
        assert (channel.typ, channel.operator) == (Sequence[str], reduce)
        assert channel.get() == []
        assert channel_for("x", Annotated[int, "doc"]).typ is int
        assert channel_for("x", Annotated[int, EphemeralValue]).typ is int

    def test_an_instance_serves_many_graphs(self) -> None:
        """Each gets a channel of its own, of the same configuration."""
        given = Topic(int, accumulate=True)
        one, other = (
            channel_for("a", Annotated[list, given]),
            channel_for("b", Annotated[list, given]),
        )
        assert one == other == given
        assert len({id(one), id(other), id(given)}) == 3
        assert (one.key, other.key, given.key) == ("a", "b", "")

    @pytest.mark.parametrize(
        ("reducer", "said"),
        [
            (lambda a: a, "takes (a)"),
            (lambda a, b, c: a, "takes (a, b, c)"),
            (lambda *args: args, "takes (*args)"),
            (lambda a, *, b: a, "takes (a, *, b)"),
            (lambda: 1, "takes ()"),
        ],
    )
    def test_a_reducer_takes_two(self, reducer: Any, said: str) -> None:
        """SG-03: the error names the key and shows what was found."""
        with pytest.raises(ValueError, match="Invalid reducer signature for key 'log'") as caught:
            channel_for("log", Annotated[list, reducer])
        assert str(caught.value).endswith(f"{said}.")

    @pytest.mark.parametrize("last", [str, Typed, Plain])
    def test_a_class_is_no_reducer(self, last: Any) -> None:
        """SG-03: it can be called, but a type that stands last is a slip."""
        with pytest.raises(ValueError, match="Invalid reducer signature for key 'log'"):
            channel_for("log", Annotated[list, last])

    def test_a_reducer_of_any_kind(self) -> None:
        """A method, an object, more parameters by keyword."""

        class Reducer:
            def __call__(self, old: Any, new: Any, *, strict: bool = False) -> Any:
                return old

        for reducer in (Reducer(), Reducer().__call__, list.__add__, lambda a, b, /: a):
            assert isinstance(channel_for("x", Annotated[list, reducer]), BinaryOperatorAggregate)

    def test_of_a_schema(self) -> None:
        """SG-01: one for each key, in order; one root channel for a schema without keys."""
        channels = channels_of(Data)
        assert {name: type(channel) for name, channel in channels.items()} == {
            "x": LastValue,
            "y": LastValue,
            "log": BinaryOperatorAggregate,
        }
        assert {name: type(c) for name, c in channels_of(int).items()} == {ROOT: LastValue}
        (root,) = channels_of(Annotated[list, reduce]).values()
        assert isinstance(root, BinaryOperatorAggregate)
        assert root.key == ROOT

    @pytest.mark.parametrize(
        "name", [*sorted(RESERVED), "__start__", "branch:to:a", "branch:to:", "join:a+b:c"]
    )
    def test_reserved_names(self, name: str) -> None:
        """SG-31: also those of the channels that edges and the input are made of."""
        schema = TypedDict("schema", {name: int})  # type: ignore[misc]
        words = f"Channel name '{re.escape(name)}' is reserved: rename this key of schema"
        with pytest.raises(ValueError, match=words):
            channels_of(schema)

    @pytest.mark.parametrize("name", ["branch", "join", "a:b", "__end__", "start"])
    def test_names_that_look_alike(self, name: str) -> None:
        """SG-31: nothing else is refused."""
        schema = TypedDict("schema", {name: int})  # type: ignore[misc]
        assert list(channels_of(schema)) == [name]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, (int, ())),
        (Annotated[int, 1, 2], (int, (1, 2))),
        (Annotated[NotRequired[Annotated[int, 1]], 2], (int, (1, 2))),
        (Required[int], (int, ())),
    ],
)
def test_take_apart(annotation: Any, expected: Any) -> None:
    """SG-04: the inner metadata first, as Python itself flattens them."""
    assert take_apart(annotation) == expected


# ---------------------------------------------------------------- to objects


def test_what_is_read_for_a_schema() -> None:
    """SG-08."""
    assert selection_of(Typed) == ("x", "log")
    assert selection_of(int) == ROOT
    assert selection_of(TypedDict("Empty", {})) == ()


def test_what_is_made_of_what_was_read() -> None:
    """SG-08: a dict stays one; a dataclass is made from what is there, whatever its fields are."""
    assert mapper_of(Typed) is None
    assert mapper_of(int) is None
    assert mapper_of(Plain) is None
    assert mapper_of(Pair) is None
    make_data, make_half = mapper_of(Data), mapper_of(Half)
    assert make_data is not None
    assert make_half is not None
    assert make_data({"x": 1}) == Data(1, "dy", [])
    assert (make_half({"x": 1}).late, make_half({"x": 1, "late": 2}).late) == (0, 2)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        make_data({"y": "only"})


class Method:
    def run(self, state: Data) -> None: ...

    def __call__(self, state: Typed) -> None: ...


def annotated(state: Typed, config: Any) -> Data: ...  # type: ignore[empty-body]


def unresolvable(state: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "schema"),
    [
        (annotated, Typed),
        (Method().run, Data),
        (Method(), Typed),
        (unresolvable, None),
        (lambda state: None, None),
        (len, None),
        (int, None),
        (dict, None),
    ],
)
def test_parameter_schema(function: Any, schema: Any) -> None:
    """SG-08: the annotation of the first parameter, if it is a class with annotations."""
    assert parameter_schema(function, annotations_of(function)) is schema


def test_parameter_schema_of_other_annotations() -> None:
    """What is no schema says nothing about what to read."""

    def takes_int(state: int) -> None: ...

    def takes_dict(state: dict[str, Any]) -> None: ...

    def only_returns() -> Typed: ...  # type: ignore[empty-body]

    def only_second(state, config: Typed) -> None: ...  # type: ignore[no-untyped-def]

    for function in (takes_int, takes_dict, only_returns, only_second):
        assert parameter_schema(function, annotations_of(function)) is None


def test_parameter_schema_of_a_function_that_hides_its_parameters() -> None:
    """Python cannot tell which parameter is the first; then nobody can."""

    def hides(state: Typed) -> None: ...

    hides.__signature__ = "hidden"  # type: ignore[attr-defined]
    assert parameter_schema(hides, {"other": Typed}) is None


def test_annotations_of() -> None:
    """As types; those of an object are its call's; none where Python cannot tell."""
    assert annotations_of(annotated) == {"state": Typed, "config": Any, "return": Data}
    assert annotations_of(Method())["state"] is Typed
    assert annotations_of(unresolvable) == {}
    assert annotations_of(print) == {}


# ---------------------------------------------------------------- to writes

KEYS = {"x", "y", "log"}


class Pair(NamedTuple):
    x: int
    y: int


@pytest.mark.parametrize(
    ("result", "writes"),
    [
        pytest.param(None, [], id="None"),
        pytest.param({}, [], id="empty"),
        pytest.param({"x": 1, "unknown": 2, "y": None}, [("x", 1), ("y", None)], id="dict"),
        pytest.param(Data(1, "b", ["l"]), [("x", 1), ("y", "b"), ("log", ["l"])], id="dataclass"),
        pytest.param(Data(1, None, []), [("x", 1), ("y", None), ("log", [])], id="None counts"),  # type: ignore[arg-type]
        pytest.param(Plain(x=1, z=2), [("x", 1)], id="object without some of its fields"),
        pytest.param(Pair(1, 2), [("x", 1), ("y", 2)], id="named tuple"),
        pytest.param(Send("b", {"x": 1}), [], id="Send"),
        pytest.param(Command(), [], id="Command"),
        pytest.param(Command(update={"x": 1, "z": 2}, goto="b"), [("x", 1)], id="Command, dict"),
        pytest.param(
            Command(update=[("x", 1), ("z", 0), ("x", 2)]),
            [("x", 1), ("x", 2)],
            id="Command, pairs",
        ),
        pytest.param(Command(update=(("x", 1),)), [("x", 1)], id="Command, tuple of pairs"),
        pytest.param(
            Command(update=Data(1)), [("x", 1), ("y", "dy"), ("log", [])], id="Command, object"
        ),
        pytest.param(Command(update=5), [], id="Command, number"),
        pytest.param(Command(update=["x", 1]), [], id="Command, no pairs"),
        pytest.param(Command(update=[(1, 2)]), [], id="Command, pair without a name"),
        pytest.param([Command(update={"x": 1}), {"x": 2}], [("x", 1), ("x", 2)], id="mixed list"),
        pytest.param((Command(update={"x": 1}), None), [("x", 1)], id="mixed tuple"),
        pytest.param({"log": Overwrite([])}, [("log", Overwrite([]))], id="Overwrite"),
    ],
)
def test_updates_of(result: Any, writes: Any) -> None:
    """SG-40, SG-41, SG-42, CS-01, CS-04."""
    assert updates_of("a", KEYS, result) == writes


@pytest.mark.parametrize(
    "result",
    [5, "text", True, [{"x": 1}], [], [Send("b", {})], (1, 2), object(), [Command(), 5], {"x"}],
)
def test_other_results_are_refused(result: Any) -> None:
    """SG-40: the error names the node, shows what it returned, and says what was expected."""
    with pytest.raises(InvalidUpdateError) as caught:
        updates_of("a", KEYS, result)
    first, code = str(caught.value).splitlines()
    assert first.startswith(
        "Node 'a' must return a dict of state updates, a Command, or None, but it returned "
    )
    assert code == "Error code: INVALID_GRAPH_NODE_RETURN_VALUE"


def test_a_long_result_is_cut() -> None:
    """The message stays readable."""
    with pytest.raises(InvalidUpdateError) as caught:
        updates_of("a", KEYS, "y" * 10_000)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("result", "writes"),
    [
        (None, []),
        (0, [(ROOT, 0)]),
        ({}, [(ROOT, {})]),
        ([1], [(ROOT, [1])]),
        (Send("b", 1), []),
        (Command(update=5, goto="b"), [(ROOT, 5)]),
        (Command(), []),
        ([Command(update=1), 2], [(ROOT, 1), (ROOT, 2)]),
    ],
)
def test_root_updates_of(result: Any, writes: Any) -> None:
    """SG-43: with a state that is one value, anything but None is its update."""
    assert root_updates_of(result) == writes


def test_known_schemas_are_not_kept_alive() -> None:
    """A schema that is made in a function goes when nobody needs it any more."""

    def make() -> None:
        class Local(TypedDict):
            x: int

        fields_of(Local)

    before = len(schema_module._fields)
    for _ in range(10):
        make()
    gc.collect()
    assert len(schema_module._fields) <= before
