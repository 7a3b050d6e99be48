"""Dataclasses and named tuples as values: what one holds is stored, and no constructor is asked."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import functools
import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import pytest
from ormsgpack import Ext, packb

from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.extensions import take_apart, together_of_class
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer

T = TypeVar("T")

ALL = JsonPlusSerializer(allowed_msgpack_modules=True)


def held(value: Any) -> dict[Any, Any]:
    """All attributes of an instance: of its `__dict__`, and of its slots."""
    found = dict(getattr(value, "__dict__", {}))
    for cls in {*type(value).__mro__} - {*BaseException.__mro__}:
        for name, place in vars(cls).items():
            if type(place).__name__ == "member_descriptor":
                try:
                    found[name] = place.__get__(value)
                except AttributeError:
                    pass
    return found


# ------------------------------------------------------------ constructors that do more


@dataclasses.dataclass
class When:
    """Parses what it is given, and could not parse what it keeps."""

    at: Any

    def __post_init__(self) -> None:
        self.at = dt.datetime.fromisoformat(self.at)


@dataclasses.dataclass
class Positive:
    n: int

    def __post_init__(self) -> None:
        if self.n <= 0:
            raise ValueError("must be positive")


@dataclasses.dataclass
class Headed:
    """Edits what it is given, in place."""

    lines: list[Any]

    def __post_init__(self) -> None:
        self.lines.insert(0, "header")


@dataclasses.dataclass
class Drained:
    todo: list[int]
    done: list[int] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        while self.todo:
            self.done.append(self.todo.pop())


@dataclasses.dataclass(init=False)
class ByPosition:
    x: int

    def __init__(self, x: int, /) -> None:
        self.x = x


@dataclasses.dataclass(init=False)
class ByAnything:
    x: int

    def __init__(self, *args: int, **kwargs: int) -> None:
        (self.x,) = (*args, *kwargs.values())


@dataclasses.dataclass
class Refusing:
    x: Any

    def __setattr__(self, name: str, value: Any) -> None:
        if value is None:
            raise ValueError("nothing")
        object.__setattr__(self, name, value)


@dataclasses.dataclass
class Seeded:
    x: int
    seed: dataclasses.InitVar[int]

    def __post_init__(self, seed: int) -> None:
        self.x += seed
        self.scaled = self.x * 10


@dataclasses.dataclass(frozen=True)
class Derived:
    x: int
    twice: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", self.x * 2)


@dataclasses.dataclass
class Later:
    x: int
    result: int = dataclasses.field(init=False)


@dataclasses.dataclass
class Logged:
    n: int

    def __post_init__(self) -> None:
        self.log: list[int] = []


# ------------------------------------------------------------------ odd places to keep things


@dataclasses.dataclass
class Base:
    x: int = 0


class Child(Base):
    """Not a dataclass itself."""

    def __init__(self, x: int) -> None:
        super().__init__(x)
        self.total = 0


@dataclasses.dataclass(slots=True)
class Slotted:
    a: int
    b: int = 2


@dataclasses.dataclass
class Mixed(Slotted):
    """Two of its fields are in slots, one is not, and another slot is no field."""

    __slots__ = ("__dict__", "__secret", "spare")
    c: int = 3

    def tell(self, secret: int) -> Mixed:
        self.__secret = secret
        return self


@dataclasses.dataclass
class Box(Generic[T]):
    content: T


@dataclasses.dataclass
class Cached:
    x: int
    calls: ClassVar[int] = 0

    @functools.cached_property
    def slow(self) -> list[int]:
        return [self.x]


class Doubles:
    """A descriptor that changes what is set, and keeps it under the name of the field."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return 0 if instance is None else instance.__dict__[self.name]

    def __set__(self, instance: Any, value: int) -> None:
        instance.__dict__[self.name] = value * 2


@dataclasses.dataclass
class WithDescriptor:
    a: int = Doubles()  # type: ignore[assignment]  # as descriptors in dataclasses are


@dataclasses.dataclass
class WithProperty:
    name: str

    @property  # type: ignore[no-redef]
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value.title()


@dataclasses.dataclass
class Failure(Exception):
    code: int


@dataclasses.dataclass
class WithArgs(Exception):
    args: Any = ("x",)


def changed(value: Any, **attributes: Any) -> Any:
    for name, part in attributes.items():
        object.__setattr__(value, name, part)
    return value


def without(value: Any, name: str) -> Any:
    object.__delattr__(value, name)
    return value


def noted(error: Exception) -> Exception:
    error.add_note("a note")
    return error


EXACT: dict[str, tuple[Callable[[], Any], dict[Any, Any]]] = {
    "parsed": (lambda: When("2024-01-02"), {"at": dt.datetime(2024, 1, 2)}),
    "set later": (lambda: changed(Positive(1), n=0), {"n": 0}),
    "edited in place": (lambda: Headed(["a"]), {"lines": ["header", "a"]}),
    "drained": (lambda: changed(Drained([1]), todo=[2]), {"todo": [2], "done": [1]}),
    "by position": (lambda: ByPosition(1), {"x": 1}),
    "by anything": (lambda: ByAnything(x=1), {"x": 1}),
    "refuses": (lambda: changed(Refusing(1), x=None), {"x": None}),
    "an InitVar": (lambda: Seeded(1, 2), {"x": 3, "scaled": 30}),
    "derived": (lambda: changed(Derived(1), twice=5), {"x": 1, "twice": 5}),
    "no value yet": (lambda: Later(1), {"x": 1}),
    "a value by now": (lambda: changed(Later(1), result=2), {"x": 1, "result": 2}),
    "beside the fields": (lambda: changed(Logged(1), log=[5]), {"n": 1, "log": [5]}),
    "added": (lambda: changed(Base(1), note="n"), {"x": 1, "note": "n"}),
    "deleted": (lambda: without(Base(1), "x"), {}),
    "in another order": (lambda: changed(without(Mixed(1), "c"), d=4, c=5),
                         {"a": 1, "b": 2, "c": 5, "d": 4}),
    "a child": (lambda: changed(Child(1), total=7), {"x": 1, "total": 7}),
    "slots": (lambda: Slotted(1), {"a": 1, "b": 2}),
    "slots and more": (lambda: changed(Mixed(1).tell(9), spare=8, e=[1]),
                       {"a": 1, "b": 2, "c": 3, "_Mixed__secret": 9, "spare": 8, "e": [1]}),
    "cached": (lambda: changed(Cached(1), slow=[9]), {"x": 1, "slow": [9]}),
    "a descriptor": (lambda: WithDescriptor(3), {"a": 6}),
    "a property": (lambda: changed(WithProperty("ada"), _name="bob"), {"_name": "bob"}),
    "an odd key": (lambda: vars(value := Base(1)).update({5: 6}) or value, {"x": 1, 5: 6}),
    "an exception": (lambda: noted(Failure(3)), {"code": 3, "__notes__": ["a note"]}),
}  # fmt: skip


PLACES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "alone": (lambda value: value, lambda whole: whole),
    "in a list": (lambda value: [value], lambda whole: whole[0]),
    "packed carefully": (lambda value: {1: (value,)}, lambda whole: whole[1][0]),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", EXACT)
def test_what_an_instance_holds_comes_back(case: str, place: str) -> None:
    """SD-12: all of it and nothing else, in its place, whatever the class would make of it."""
    make, expected = EXACT[case]
    wrap, unwrap = PLACES[place]
    value = make()
    assert held(value) == expected
    # The first knows the class by now, and takes a shorter way; the second looks for it each time.
    for serializer in (JsonPlusSerializer(), ALL):
        data = serializer.dumps_typed(wrap(value))
        for _ in range(2):
            back = unwrap(serializer.loads_typed(data))
            assert type(back) is type(value)
            assert held(back) == expected
        assert held(value) == expected


def test_the_arguments_of_an_exception_come_back() -> None:
    """SD-12, CP-22: they are kept in a place of Python's own."""
    for error in (Failure(3), WithArgs((1, "a")), changed(Failure(4), args=())):
        back = ALL.loads_typed(ALL.dumps_typed(error))
        assert (type(back), back.args, held(back)) == (type(error), error.args, held(error))
    assert Failure(3).args == (3,)


def test_what_typing_has_noted_is_no_data() -> None:
    """SD-12: `Box[int](1)` is a `Box`; which box was asked for is kept in a note, of no use."""
    value = Box[int](1)
    assert held(value)["content"] == 1
    assert held(ALL.loads_typed(ALL.dumps_typed(value))) == {"content": 1}


def test_where_it_stands() -> None:
    """SD-11: the fields where the reference has them, and behind them what else there is, and
    which fields have no value."""
    assert take_apart(Base(1))[1][2:] == [{"x": 1}]
    assert take_apart(Slotted(1))[1][2:] == [{"a": 1, "b": 2}]
    assert take_apart(changed(Logged(1), log=[5]))[1][2:] == [{"n": 1}, {"log": [5]}, []]
    assert take_apart(Later(1))[1][2:] == [{"x": 1}, {}, ["result"]]
    assert take_apart(WithProperty("ada"))[1][2:] == [{}, {"_name": "Ada"}, ["name"]]
    assert take_apart(WithDescriptor(3))[1][2:] == [{"a": 6}, {}, []]


# ------------------------------------------------------------------------ named tuples


class Pair(NamedTuple):
    a: int
    b: int = 7


class Noted(Pair):
    """Has a `__dict__`, because it does not say that it has none."""


class Odd(Pair):
    """Makes something else of what it is given, and shows something else of what it has."""

    def __new__(cls, a: int, b: int) -> Odd:
        return super().__new__(cls, a * 2, b)

    @classmethod
    def _make(cls, items: Any) -> Odd:
        return cls(*items)

    def __iter__(self) -> Iterator[Any]:
        return iter("ab")


@pytest.mark.parametrize(
    ("value", "items", "more"),
    [
        (Pair(1), (1, 7), {}),
        (changed(Noted(1), note=[2]), (1, 7), {"note": [2]}),
        (changed(Noted(1, 2)), (1, 2), {}),
        (changed(Odd(1, 2), n=3), (2, 2), {"n": 3}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_named_tuple_comes_back(value: Any, items: Any, more: Any) -> None:
    """SD-12: its items, past the constructor; and what a subclass holds besides."""
    for serializer in (JsonPlusSerializer(), ALL):
        for wrap, unwrap in PLACES.values():
            back = unwrap(serializer.loads_typed(serializer.dumps_typed(wrap(value))))
            assert type(back) is type(value)
            assert (tuple.__add__((), back), held(back)) == (items, more)


def test_a_named_tuple_of_another_length_is_refused() -> None:
    """SD-12: what has no field would be lost."""
    with pytest.raises(TypeError, match="Pair` of 3 items cannot be stored by fields"):
        ALL.dumps_typed(tuple.__new__(Pair, (1, 2, 3)))


# -------------------------------------------------------------------------- refused


@dataclasses.dataclass(init=False)
class Holiday(dt.date):
    name: str = ""


@dataclasses.dataclass
class Missing(FileNotFoundError):
    name: str = ""


@dataclasses.dataclass
class Queue(collections.deque):  # type: ignore[type-arg]
    name: str = ""


@pytest.mark.parametrize("value", [Holiday(2020, 1, 2), Missing("x"), Queue("x")], ids=repr)
def test_a_dataclass_that_is_something_of_pythons_own_is_refused(value: Any) -> None:
    """SD-14: what it is besides, a day or a number of an error, is not kept in its attributes."""
    name = type(value).__qualname__
    with pytest.raises(TypeError, match=f"{name}` cannot be stored: it is a dataclass and a cont"):
        ALL.dumps_typed([value])


def test_a_field_that_was_deleted_is_refused() -> None:
    """SD-12: it was there when it was made, and reading it is an error; unless it never was."""
    with pytest.raises(TypeError, match="no attribute 'b'"):
        ALL.dumps_typed(without(Slotted(1), "b"))


def test_what_is_held_besides_must_be_data_too() -> None:
    """SD-13: and the error says where it stands."""
    with pytest.raises(
        TypeError, match=r"value\['log'\]\[0\]: a `builtins.object` cannot be stored"
    ):
        ALL.dumps_typed(changed(Logged(1), log=[object()]))


# ---------------------------------------------------------------------------- reading


@dataclasses.dataclass
class Grown:
    """`x` is all that it had when it was stored."""

    x: int
    y: int = 5
    tags: list[int] = dataclasses.field(default_factory=lambda: [1])
    z: int = dataclasses.field(default=6, init=False)
    w: int = dataclasses.field(init=False)


def test_a_field_that_was_added_since() -> None:
    """SD-14: gets its default, a new one each time; without one it has none, or it is an error."""
    together = together_of_class(Grown)
    one, other = together({"x": 1}), together({"x": 1})
    assert held(one) == held(other) == {"x": 1, "y": 5, "tags": [1], "z": 6}
    assert one.tags is not other.tags
    with pytest.raises(TypeError, match="it needs the field 'x', which was not stored"):
        together({"y": 1})


@pytest.mark.parametrize("more", [[], [1], [{}], [{}, 5], ["ab", []], [{}, [], []], [{"x": 1}]])
def test_crafted_data(more: Any) -> None:
    """SD-14: gives an instance of the class, or the one kind of error."""
    part = {"x": 1} if more != [{}, [], []] else {}
    data = ALL.dumps_typed(changed(Base(1), note="n"))
    crafted = [*take_apart(Base(1))[1][:2], part, *more]
    try:
        back = ALL.loads_typed((data[0], packed(crafted)))
    except UnreadableError:
        return
    assert type(back) is Base


@pytest.mark.parametrize("name", ["__class__", "__dict__", "__init__", "__del__", "__reduce__"])
def test_crafted_names(name: str) -> None:
    """SD-22: a name that means something to Python is an attribute's, or refused."""
    crafted = [*take_apart(Base(1))[1][:2], {"x": 1}, {name: {"x": 2}}, []]
    try:
        back = ALL.loads_typed(("msgpack", packed(crafted)))
    except UnreadableError:
        return
    assert type(back) is Base


def packed(parts: Any) -> bytes:
    return packb(Ext(2, packb(parts)))


# ------------------------------------------------------ the reference as a witness


@pytest.fixture(scope="module")
def reference() -> Any:
    pytest.importorskip("langgraph")
    module = importlib.import_module("langgraph.checkpoint.serde.jsonplus")
    return module.JsonPlusSerializer(allowed_msgpack_modules=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Headed(["a"]), {"lines": ["header", "a"]}),
        (Slotted(1), {"a": 1, "b": 2}),
        (changed(Base(1), note="n"), {"x": 1}),
        (WithProperty("ada"), {"_name": "Ada"}),
        (Derived(2), {"x": 2, "twice": 4}),
        (Seeded(1, 2), {"x": 3}),
        (When("2024-01-02"), {"at": dt.datetime(2024, 1, 2)}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_data_of_the_reference_can_be_read(value: Any, expected: Any, reference: Any) -> None:
    """SD-15: it writes the fields, by name, and no more."""
    back = ALL.loads_typed(reference.dumps_typed(value))
    assert type(back) is type(value)
    assert held(back) == expected


@pytest.mark.parametrize(
    "value",
    [changed(Logged(1), log=[5]), changed(Child(1), total=7), changed(Noted(1), note=[2])],
    ids=lambda value: type(value).__name__,
)
def test_the_reference_can_read_our_data(value: Any, reference: Any) -> None:
    """SD-15: it finds the fields where it looks for them, and passes over the rest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = reference.loads_typed(ALL.dumps_typed(value))
    assert type(back) is type(value)
    assert back == value
