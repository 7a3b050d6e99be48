"""The classes that a graph's schemas name, and what a saver does with them."""

import dataclasses
import enum
from collections import deque
from collections.abc import Callable
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    TypeVar,
)

import pytest
from typing_extensions import TypeAliasType, TypedDict

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.allowlist import classes_in
from minigraph.checkpoint.serde.base import SerializerCompat
from minigraph.checkpoint.serde.jsonplus import InvalidModuleError, JsonPlusSerializer
from minigraph.graph import START, StateGraph


class Colour(enum.Enum):
    RED = "r"


@dataclasses.dataclass
class Price:
    amount: int
    colour: "Colour"
    next: "Price | None" = None


class Pair(NamedTuple):
    price: Price


class Inner(TypedDict):
    pair: Pair


Item = TypeVar("Item")
Bound = TypeVar("Bound", bound=Colour)


@dataclasses.dataclass
class Box(Generic[Item]):
    item: Item


@dataclasses.dataclass
class Other:
    x: int = 0


@dataclasses.dataclass
class Unnamed:
    x: int = 0


@dataclasses.dataclass
class Broken:
    missing: "NoSuchName"  # type: ignore[name-defined]  # noqa: F821
    x: int = 0


Name = NewType("Name", Colour)  # type: ignore[valid-newtype]  # of an enum, at run time
Alias = TypeAliasType("Alias", "list[Colour]")
RealAlias = TypeAliasType("RealAlias", list[Colour])


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Colour, {Colour}),
        (Price, {Price, Colour}),
        (Pair, {Pair, Price, Colour}),
        (Inner, {Pair, Price, Colour}),
        (list[Colour], {Colour}),
        (dict[str, tuple[Colour, ...]], {Colour}),
        (deque[Price] | None, {Price, Colour}),
        (Annotated[list[Colour], max], {Colour}),
        (NotRequired[Annotated[Colour | int, "x"]], {Colour}),
        (Callable[[Colour], Other], {Colour, Other}),
        (Literal[Colour.RED, "x"], {Colour}),
        (Box[Other], {Box, Other}),
        (Name, {Colour}),
        (RealAlias, {Colour}),
        (Bound, {Colour}),
        (type[Colour], {Colour}),
        (Broken, {Broken}),
        (object, set()),
        (Any, set()),
        (int, set()),
        (None, set()),
        ("Colour", set()),
        (Alias, set()),
    ],
    ids=str,
)
def test_what_an_annotation_names(annotation: Any, expected: set[type]) -> None:
    """SD-26: at any depth; what cannot be resolved names nothing, and is no error."""
    found = list(classes_in([annotation]))
    assert set(found) == expected
    assert len(found) == len(expected)


def test_pydantic_models() -> None:
    """SD-26: their fields, and their private part."""
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        colour: Colour
        _others: list[Other] = []

    assert set(classes_in([Model])) == {Model, Colour, Other}


# --------------------------------------------------------------------- in a graph


class State(TypedDict, total=False):
    price: Price
    anything: object


class Reads(TypedDict):
    box: Box[Other]


CONFIG: Any = {"configurable": {"thread_id": "1"}}


def strict_saver() -> InMemorySaver:
    return InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[]))


def graph_of(saver: Any, node: Callable[[Any], Any]) -> Any:
    def reads(state: Reads) -> None:
        pass

    builder = StateGraph(State).add_node("a", node).add_node("reads", reads)
    return builder.add_edge(START, "a").compile(checkpointer=saver)


def test_a_graph_allows_what_its_schemas_name() -> None:
    """SD-26: those of the state and of its nodes; the saver itself may read them, too."""
    saver = strict_saver()
    value = {"price": Price(1, Colour.RED), "box": Box(Other(2))}
    graph = graph_of(saver, lambda state: value)

    graph.invoke({}, CONFIG)

    assert graph.checkpointer is not saver
    assert graph.checkpointer.storage is saver.storage
    assert graph.get_state(CONFIG).values == value
    found = saver.get_tuple(CONFIG)
    assert found
    assert found.checkpoint["channel_values"] == value
    with pytest.raises(TypeError, match="Price"):
        saver.put_writes(found.config, [("price", value["price"])], "task")


def test_what_they_do_not_name_is_refused_when_it_is_written() -> None:
    """SD-22, SD-26: naming the type, and the remedy; the thread stays readable."""
    graph = graph_of(strict_saver(), lambda state: {"anything": [Unnamed()]})
    with pytest.raises(TypeError, match=r"Unnamed.*Name the class in an annotation of the graph's"):
        graph.invoke({}, CONFIG)
    assert graph.get_state(CONFIG).next == ("a",)


def test_another_graph_on_the_same_store() -> None:
    """SD-22: knows only its own classes."""
    first = strict_saver()
    graph_of(first, lambda state: {"price": Price(1, Colour.RED)}).invoke({}, CONFIG)
    second = strict_saver()
    second.storage, second.blobs, second.writes = first.storage, first.blobs, first.writes
    builder = StateGraph(dict).add_node("a", lambda state: state).add_edge(START, "a")
    with pytest.raises(InvalidModuleError, match="Colour"):
        builder.compile(checkpointer=second).get_state(CONFIG)


@pytest.mark.parametrize(
    "serde",
    [
        None,
        JsonPlusSerializer(allowed_msgpack_modules=True),
        SerializerCompat(__import__("pickle")),
    ],
)
def test_a_saver_without_a_list_stays_itself(serde: Any) -> None:
    """SD-25: `graph.checkpointer` is the one that was given."""
    saver = InMemorySaver(serde=serde)
    assert graph_of(saver, lambda state: {}).checkpointer is saver
    assert saver.with_allowlist([Other]) is saver


def test_schemas_are_not_looked_at_for_nothing() -> None:
    """Compiling is quick where no list is kept."""

    def never() -> Any:
        raise AssertionError("looked at")
        yield

    InMemorySaver().with_allowlist(never())
