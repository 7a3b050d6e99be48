"""How each type is taken apart and put together: the layout that both packages share."""

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import ipaddress
import pathlib
import re
import sys
import types as pytypes
import uuid
import zoneinfo
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from minigraph.checkpoint.serde.extensions import (
    SAFE,
    find_class,
    take_apart,
    together_of_class,
)
from minigraph.checkpoint.serde.jsonplus import _MAKERS, JsonPlusSerializer
from minigraph.types import Command, Interrupt, Overwrite, PregelTask, Send, StateUpdate

HERE = __name__
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


class Color(enum.Enum):
    RED = "r"


class Bits(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass
class Point:
    x: int
    y: Any = 0


class Pair(NamedTuple):
    a: int
    b: int = 7


class Outer:
    @dataclasses.dataclass
    class Inner:
        x: int


LAYOUT = {
    "tuple": ((1, 2), 0, ["builtins", "tuple", [1, 2]]),
    "set": ({1}, 0, ["builtins", "set", [1]]),
    "frozenset": (frozenset({1}), 0, ["builtins", "frozenset", [1]]),
    "bytearray": (bytearray(b"x"), 0, ["builtins", "bytearray", b"x"]),
    "dict": ({(1,): 2}, 0, ["builtins", "dict", [[(1,), 2]]]),
    "big int": (-(2**64), 1, ["builtins", "int", ["-10000000000000000", 16]]),
    "ordered dict": (
        collections.OrderedDict(a=1),
        0,
        ["collections", "OrderedDict", {"a": 1}],
    ),
    "counter": (collections.Counter("aab"), 0, ["collections", "Counter", {"a": 2, "b": 1}]),
    "deque": (collections.deque([1]), 0, ["collections", "deque", [1]]),
    "bounded deque": (collections.deque([1], 3), 1, ["collections", "deque", [[1], 3]]),
    "uuid": (uuid.UUID(int=7), 0, ["uuid", "UUID", "00000000000000000000000000000007"]),
    "decimal": (decimal.Decimal("1.50"), 0, ["decimal", "Decimal", "1.50"]),
    "ipv4": (ipaddress.ip_address("127.0.0.1"), 0, ["ipaddress", "IPv4Address", "127.0.0.1"]),
    "ipv6 net": (ipaddress.ip_network("::/64"), 0, ["ipaddress", "IPv6Network", "::/64"]),
    "interface": (
        ipaddress.ip_interface("10.0.0.1/8"),
        0,
        ["ipaddress", "IPv4Interface", "10.0.0.1/8"],
    ),
    "zone": (BERLIN, 0, ["zoneinfo", "ZoneInfo", "Europe/Berlin"]),
    "timedelta": (dt.timedelta(1, 2, 3), 1, ["datetime", "timedelta", [1, 2, 3]]),
    "date": (dt.date(2024, 1, 2), 1, ["datetime", "date", [2024, 1, 2]]),
    "utc": (dt.UTC, 1, ["datetime", "timezone", [dt.timedelta(0)]]),
    "named offset": (
        dt.timezone(dt.timedelta(hours=5), "X"),
        1,
        ["datetime", "timezone", [dt.timedelta(hours=5), "X"]],
    ),
    "pattern": (re.compile("a", re.I), 1, ["re", "compile", ["a", 34]]),
    "path": (pathlib.PurePosixPath("/a/b"), 1, ["pathlib", "PurePosixPath", ["/", "a", "b"]]),
    "windows path": (
        pathlib.PureWindowsPath("C:\\a"),
        1,
        ["pathlib", "PureWindowsPath", ["C:\\", "a"]],
    ),
    "time": (
        dt.time(1, 2, tzinfo=dt.UTC, fold=1),
        2,
        [
            "datetime",
            "time",
            {"hour": 1, "minute": 2, "second": 0, "microsecond": 0, "tzinfo": dt.UTC, "fold": 1},
        ],
    ),
    "datetime": (
        dt.datetime(2024, 1, 2, 3, 4, 5, 6),
        3,
        ["datetime", "datetime", "2024-01-02T03:04:05.000006", "fromisoformat"],
    ),
    "datetime in utc": (
        dt.datetime(2024, 1, 2, tzinfo=dt.UTC),
        3,
        ["datetime", "datetime", "2024-01-02T00:00:00+00:00", "fromisoformat"],
    ),
    "datetime with an offset": (
        dt.datetime(2024, 1, 2, tzinfo=dt.timezone(-dt.timedelta(hours=3, minutes=30))),
        3,
        ["datetime", "datetime", "2024-01-02T00:00:00-03:30", "fromisoformat"],
    ),
    "datetime in a zone": (
        dt.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=1),
        2,
        [
            "datetime",
            "datetime",
            {
                "year": 2024,
                "month": 10,
                "day": 27,
                "hour": 2,
                "minute": 30,
                "second": 0,
                "microsecond": 0,
                "tzinfo": BERLIN,
                "fold": 1,
            },
        ],
    ),
    "send": (Send("n", 1), 1, ["langgraph.types", "Send", ["n", 1]]),
    "overwrite": (
        Overwrite([1]),
        2,
        ["langgraph.types", "Overwrite", {"value": [1], "type": "__overwrite__"}],
    ),
    "command": (
        Command(goto="x"),
        2,
        [
            "langgraph.types",
            "Command",
            {"graph": None, "update": None, "resume": None, "goto": "x"},
        ],
    ),
    "interrupt": (
        Interrupt("v", "i"),
        2,
        ["langgraph.types", "Interrupt", {"value": "v", "id": "i", "response_schema": None}],
    ),
    "state update": (
        StateUpdate({"x": 1}),
        2,
        ["langgraph.types", "StateUpdate", {"values": {"x": 1}, "as_node": None, "task_id": None}],
    ),
    "enum": (Color.RED, 0, [HERE, "Color", "r"]),
    "flags": (Bits.A | Bits.B, 0, [HERE, "Bits", 3]),
    "dataclass": (Point(1, [2]), 2, [HERE, "Point", {"x": 1, "y": [2]}]),
    "named tuple": (Pair(1), 2, [HERE, "Pair", {"a": 1, "b": 7}]),
    "nested class": (Outer.Inner(1), 2, [HERE, "Outer.Inner", {"x": 1}]),
}


@pytest.mark.parametrize("case", LAYOUT)
def test_layout(case: str) -> None:
    """SD-11, SD-15: code and array are the reference's; what it loses has a form it can read."""
    value, code, parts = LAYOUT[case]
    assert take_apart(value) == (code, parts)


@pytest.mark.parametrize("case", [case for case in LAYOUT if LAYOUT[case][2][0] != HERE])
def test_parts_of_a_safe_type_give_the_value_again(case: str) -> None:
    """SD-24: every type with a row is on the safe list, under the name it is written by."""
    value, code, (module, name, part, *method) = LAYOUT[case]
    if method:
        assert code == 3
        back = dt.datetime.fromisoformat(part)
    else:
        back = _MAKERS[code](SAFE[module, name])(part)
    assert type(back) is type(value)
    assert back == value


def test_both_names_of_our_classes_are_known() -> None:
    """SD-15: data of the reference, and older data with our own names, build our classes."""
    for cls in (Send, Command, Interrupt, Overwrite, PregelTask, StateUpdate):
        assert SAFE["langgraph.types", cls.__name__] is cls
        assert SAFE["minigraph.types", cls.__name__] is cls


def test_paths_written_by_python_3_13_are_known() -> None:
    """There `PosixPath.__module__` is "pathlib._local", and the reference writes that."""
    assert SAFE["pathlib._local", "PosixPath"] is pathlib.PosixPath


def test_a_bytearray_is_built_from_bytes_only() -> None:
    """SD-24: given a number, the class would take that much memory."""
    with pytest.raises(TypeError, match="expected bytes, found int"):
        SAFE["builtins", "bytearray"](10**12)


@pytest.mark.parametrize("part", [2**400_000, 1.5, (0, (1,), 0), ["1"], None, b"1"], ids=type)
def test_a_decimal_is_built_from_text_only(part: Any) -> None:
    """SD-14, SD-24: given a number, the class would take the square of its length in time."""
    with pytest.raises(TypeError, match="expected str, found"):
        SAFE["decimal", "Decimal"](part)
    assert repr(SAFE["decimal", "Decimal"]("1.50")) == "Decimal('1.50')"


# ------------------------------------------------------------- what is refused


class MyStr(str):
    __slots__ = ()


class MyInt(int):
    pass


class MyFloat(float):
    pass


class MyBytes(bytes):
    pass


class MyList(list):  # type: ignore[type-arg]
    pass


class MyDict(dict):  # type: ignore[type-arg]
    pass


class MyTuple(tuple):  # type: ignore[type-arg]
    __slots__ = ()


class MySet(set):  # type: ignore[type-arg]
    pass


class MyDatetime(dt.datetime):
    pass


@pytest.mark.parametrize(
    ("value", "base"),
    [
        (MyStr("x"), "str"),
        (MyInt(1), "int"),
        (MyFloat(1), "float"),
        (MyBytes(b"x"), "bytes"),
        (MyList([1]), "list"),
        (MyDict(a=1), "dict"),
        (MyTuple((1,)), "tuple"),
        (MySet({1}), "set"),
        (MyDatetime(2024, 1, 1), "datetime"),
        (collections.defaultdict(list), "dict"),
    ],
)
def test_a_subclass_is_not_flattened(value: Any, base: str) -> None:
    """SD-12, exact or refused: it would come back as what it is derived from."""
    with pytest.raises(TypeError, match=f"come back as a plain {base}"):
        take_apart(value)


@pytest.mark.parametrize(
    "value", [object(), 1j, range(3), len, Color, (i for i in ()), iter([]), slice(1)]
)
def test_what_is_not_data_is_refused(value: Any) -> None:
    """SD-13: the error names the type and says what to do."""
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    with pytest.raises(TypeError, match=f"a `{re.escape(name)}` cannot be stored: .* instead"):
        take_apart(value)


def test_a_local_class_is_refused() -> None:
    """SD-14, exact or refused: nobody could find it when the data is read."""

    @dataclasses.dataclass
    class Local:
        x: int

    with pytest.raises(TypeError, match="Local` cannot be stored, because that is not the class"):
        take_apart(Local(1))


def test_a_class_that_was_defined_again_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a notebook: the old instance would come back as one of the new class."""
    old = Point(1)
    take_apart(old)
    monkeypatch.setattr(sys.modules[HERE], "Point", Pair)
    with pytest.raises(TypeError, match="Point` cannot be stored"):
        take_apart(old)


@pytest.mark.parametrize("text", ["./c:x", "./c:", "a/c:x"])
def test_a_path_that_is_more_than_its_parts_is_refused(text: str) -> None:
    """SD-12: put together again, the parts would name a drive."""
    with pytest.raises(TypeError, match="is not the sum of its parts"):
        take_apart(pathlib.PureWindowsPath(text))


class Odd(enum.Enum):
    FIRST = 1

    @classmethod
    def _missing_(cls, value: object) -> "Odd":
        return cls.FIRST


def test_an_enum_member_that_its_value_does_not_lead_to_is_refused() -> None:
    """SD-12: `Odd(value)` would give another member than this one."""
    lost = object.__new__(Odd)
    lost._value_ = 2
    lost._name_ = "LOST"
    with pytest.raises(TypeError, match="does not lead back"):
        take_apart(lost)


class Number(enum.Enum):
    NONE = float("nan")


@dataclasses.dataclass(eq=False)
class Shade:
    dark: bool


class Shades(enum.Enum):
    DARK = Shade(True)


@pytest.mark.parametrize("member", [Number.NONE, Shades.DARK])
def test_an_enum_member_that_an_equal_value_does_not_lead_to_is_refused(member: Any) -> None:
    """SD-12: what is read is another value, and equal at best."""
    with pytest.raises(TypeError, match=r"does not lead back|is not a valid Shades"):
        JsonPlusSerializer().dumps_typed([member])


@dataclasses.dataclass
class Both(dict):  # type: ignore[type-arg]
    x: int = 0


def test_a_dataclass_that_is_a_container_too_is_refused() -> None:
    """SD-12: the content would be lost."""
    both = Both(1)
    both["content"] = 1
    with pytest.raises(TypeError, match="a dataclass and a container at once"):
        take_apart(both)


def test_a_zone_without_a_name_is_refused() -> None:
    """SD-12: only its name could be stored."""
    data = pathlib.Path(zoneinfo.TZPATH[0], "UTC") if zoneinfo.TZPATH else None
    if data is None or not data.exists():
        pytest.skip("no time zone files on this machine")
    with data.open("rb") as file:
        nameless = zoneinfo.ZoneInfo.from_file(file)
    with pytest.raises(TypeError, match="has no name to store"):
        take_apart(nameless)


# --------------------------------------------------------- putting together again


@dataclasses.dataclass
class Summed:
    """Has what a plain constructor call cannot restore."""

    a: int
    total: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        self.a *= 2
        self.total = self.a + 1
        self.calls = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", self.a * 2)


@dataclasses.dataclass
class OwnInit:
    a: int
    b: int

    def __init__(self, a: int, *args: int, **kwargs: int) -> None:
        self.a = a
        self.b = -1


@pytest.mark.parametrize("value", [Summed(3), Frozen(3), OwnInit(3)])
def test_a_dataclass_has_the_fields_that_were_stored(value: Any) -> None:
    """SD-12, exact: though its constructor changes what it is given, or does not take it."""
    back = together_of_class(type(value))(take_apart(value)[1][2])
    assert type(back) is type(value)
    assert back == value


def test_a_field_that_was_changed_later_is_kept() -> None:
    """SD-12: also one that the constructor computes, and what is no field."""
    value = Summed(3)
    value.total, value.calls = 100, 7
    back = JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(
        JsonPlusSerializer().dumps_typed(value)
    )
    assert (back.a, back.total, back.calls) == (6, 100, 7)


class Doubling(collections.namedtuple("Doubling", "x")):
    __slots__ = ()

    def __new__(cls, x: int) -> "Doubling":
        return super().__new__(cls, x * 2)


def test_a_named_tuple_is_built_past_its_constructor() -> None:
    """SD-12: one written by hand may change what it is given."""
    value = Doubling(2)
    assert value == (4,)
    assert together_of_class(Doubling)(take_apart(value)[1][2]) == value


def test_a_field_that_was_added_since_gets_its_default() -> None:
    """SD-14: old data can be read as long as the new fields have defaults."""
    assert together_of_class(Pair)({"a": 1}) == Pair(1, 7)
    assert together_of_class(Point)({"x": 1}) == Point(1, 0)


@pytest.mark.parametrize("cls", [Pair, Point])
def test_a_field_that_was_removed_since_is_an_error(cls: type) -> None:
    """SD-14: to drop it silently would be to lose data."""
    with pytest.raises(TypeError, match=r"no field \['z'\] any more"):
        together_of_class(cls)({next(iter(cls.__annotations__)): 1, "z": 1})


@pytest.mark.parametrize("cls", [list, dict, type, Outer, pytypes.FunctionType])
def test_only_enums_dataclasses_and_named_tuples_are_built(cls: type) -> None:
    """SD-24: no value of another class was ever stored, so only an attacker asks for one."""
    with pytest.raises(TypeError, match="not an enum, a dataclass or a named tuple"):
        together_of_class(cls)


@pytest.fixture
def ghost() -> Iterator[Any]:
    module: Any = pytypes.ModuleType("ghost_module")
    sys.modules["ghost_module"] = module
    yield module
    sys.modules.pop("ghost_module", None)


def test_a_class_is_found_by_its_qualified_name(ghost: Any) -> None:
    """SD-14: nested ones too, and nothing but classes."""
    ghost.Outer = Outer
    ghost.function = len
    assert find_class("ghost_module", "Outer.Inner") is Outer.Inner
    with pytest.raises(TypeError, match="not a class"):
        find_class("ghost_module", "function")
    with pytest.raises(AttributeError, match="Missing"):
        find_class("ghost_module", "Missing")
    with pytest.raises(ModuleNotFoundError):
        find_class("ghost_module_of_nobody", "Outer")


def test_the_reference_is_never_imported_because_data_names_it() -> None:
    """SD-15: its module is ours, and what we do not have there is not found."""
    assert find_class("langgraph.types", "Send") is Send
    with pytest.raises(AttributeError, match="NoSuchRecord"):
        find_class("langgraph.types", "NoSuchRecord")
