"""The default serializer: every supported value comes back exactly; nothing strange is built."""

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import importlib
import ipaddress
import math
import pathlib
import re
import struct
import sys
import threading
import types as pytypes
import uuid
import zoneinfo
from typing import Any, NamedTuple, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ormsgpack import Ext, packb

from minigraph.checkpoint.base import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde import types as serde_types
from minigraph.checkpoint.serde.base import SerializerProtocol, UnknownTagError, UnreadableError
from minigraph.checkpoint.serde.jsonplus import InvalidModuleError, JsonPlusSerializer
from minigraph.checkpoint.serde.types import _DeltaSnapshot
from minigraph.graph import START, StateGraph
from minigraph.types import Command, Interrupt, Overwrite, PregelTask, Send, StateSnapshot

SAFE = JsonPlusSerializer()
OPEN = JsonPlusSerializer(allowed_msgpack_modules=True)
LENIENT = JsonPlusSerializer(allowed_msgpack_modules=None)


class Color(enum.Enum):
    RED = "r"
    POINT = (1, 2)


class Number(enum.IntEnum):
    ONE = 1


class Word(enum.StrEnum):
    A = "a"


class Bits(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: Any


class Pair(NamedTuple):
    a: Any
    b: Any = 7


class Outer:
    class Inner(enum.Enum):
        DEEP = 1


SHARED = {
    "plain": {"a": [1, -(2**63), 2**64 - 1, 1.5, None, True, "żółć", b"x"]},
    "int keys": {1: "a", 2.5: "b", None: "c"},
    "set": {1, 2},
    "frozenset": frozenset({1}),
    "deque": collections.deque([1, 2]),
    "naive": dt.datetime(2024, 1, 2, 3, 4, 5, 6),
    "utc": dt.datetime(2024, 1, 2, tzinfo=dt.UTC),
    "offset": dt.datetime(2024, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30))),
    "date": dt.date(2024, 1, 2),
    "time": dt.time(1, 2, 3, 4, tzinfo=dt.UTC),
    "timedelta": dt.timedelta(days=1, seconds=2, microseconds=3),
    "timezone": dt.timezone(dt.timedelta(hours=5)),
    "zone": zoneinfo.ZoneInfo("Europe/Berlin"),
    "uuid": uuid.UUID(int=7),
    "decimal": decimal.Decimal("1.50"),
    "ip": ipaddress.ip_address("127.0.0.1"),
    "network": ipaddress.ip_network("::/64"),
    "path": pathlib.Path("/a/b"),
    "pattern": re.compile("a+", re.I),
    "enum": Color.RED,
    "int enum": Number.ONE,
    "str enum": Word.A,
    "dataclass": Point(1, [2]),
    "frozen": Frozen(1),
    "named tuple": Pair(1, 2),
    "nested": {"l": [Color.RED, {uuid.UUID(int=1)}]},
}

BETTER = {
    "tuple": (1, ("x",)),
    "tuple key": {(1, 2): "x"},
    "uuid key": {uuid.UUID(int=1): 1},
    "tuples in a set": {(1, 2)},
    "bytearray": [bytearray(b"x")],
    "bounded deque": collections.deque([1], 2),
    "pure path": pathlib.PurePosixPath("/a/b"),
    "big int": 2**200,
    "ordered dict": collections.OrderedDict(b=1, a=2),
    "counter": collections.Counter("aab"),
    "datetime in a zone": dt.datetime(
        2024, 10, 27, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"), fold=1
    ),
    "odd offset": dt.datetime(2024, 1, 2, tzinfo=dt.timezone(dt.timedelta(microseconds=1))),
    "naive, the second time": dt.datetime(2024, 1, 2, fold=1),
    "named offset": dt.timezone(dt.timedelta(hours=5), "X"),
}


def same(a: Any, b: Any) -> bool:
    """Equal in type and content, all the way down. `==` alone takes True for 1, a tuple for a
    named tuple, and one half past two for the other."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, decimal.Decimal):
        return a.as_tuple() == b.as_tuple()
    if isinstance(a, (dt.datetime, dt.time)):
        bare = a.replace(tzinfo=None) == b.replace(tzinfo=None)
        return bare and a.fold == b.fold and same(a.tzinfo, b.tzinfo)
    if isinstance(a, dt.timezone):
        return a.__getinitargs__() == b.__getinitargs__()  # type: ignore[attr-defined,no-any-return]
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(k, j) and same(v, w) for (k, v), (j, w) in zip(a.items(), b.items())
        )
    if isinstance(a, (set, frozenset)):
        return len(a) == len(b) and all(any(same(x, y) for y in b) for x in a)
    if isinstance(a, collections.deque) and a.maxlen != b.maxlen:
        return False
    if isinstance(a, (list, tuple, collections.deque)):
        return len(a) == len(b) and all(map(same, a, b))
    if dataclasses.is_dataclass(a):
        return all(
            same(getattr(a, f.name), getattr(b, f.name))
            for f in dataclasses.fields(a)  # type: ignore[arg-type]
        )
    if isinstance(a, Send):
        return same([a.node, a.arg], [b.node, b.arg])
    return bool(a == b)


ZONES = ["Europe/Berlin", "America/New_York", "UTC", "Asia/Kathmandu"]
zones = st.none() | st.sampled_from([dt.UTC, *map(zoneinfo.ZoneInfo, ZONES)])
zones |= st.timedeltas(dt.timedelta(hours=-23), dt.timedelta(hours=23)).map(dt.timezone)
zones |= st.builds(
    dt.timezone, st.integers(-600, 600).map(lambda m: dt.timedelta(minutes=m)), st.just("X")
)
folds = st.sampled_from([0, 1])
datetimes = st.builds(lambda d, z, f: d.replace(tzinfo=z, fold=f), st.datetimes(), zones, folds)
times = st.builds(lambda t, z, f: t.replace(tzinfo=z, fold=f), st.times(), zones, folds)

atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**63, max_value=2**66),
    st.floats(),
    st.text(),
    st.binary(),
    st.uuids(allow_nil=True),
    st.decimals(allow_nan=False),
    datetimes,
    times,
    st.dates(),
    st.timedeltas(),
    st.ip_addresses(),
    st.lists(st.sampled_from("a./~ é"), max_size=6).map(lambda p: pathlib.PurePosixPath(*p)),
    st.lists(st.sampled_from(["C:", "a", "\\", "..", "/x"])).map(
        lambda p: pathlib.PureWindowsPath(*p)
    ),
    st.sampled_from([*Color, *Number, *Word, *Bits, Bits.A | Bits.B, Outer.Inner.DEEP]),
    st.sampled_from([re.compile("a+"), re.compile(b"(?i)x", re.S), re.compile("é", re.I | re.X)]),
)
keys = st.recursive(
    atoms.filter(lambda x: x == x),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | st.builds(Frozen, inner)
    ),
    max_leaves=4,
)
values = st.recursive(
    atoms | st.binary().map(bytearray) | st.sampled_from([decimal.Decimal("sNaN12")]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(), inner, max_size=4),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(keys, inner, max_size=3).map(collections.OrderedDict),
        st.dictionaries(keys, st.integers(), max_size=3).map(collections.Counter),
        st.sets(keys, max_size=4),
        st.frozensets(keys, max_size=4),
        st.builds(collections.deque, st.lists(inner, max_size=3), st.none() | st.integers(3, 5)),
        st.builds(Point, inner, inner),
        st.builds(Pair, inner, inner),
        st.builds(Send, st.text(), inner),
        st.builds(Overwrite, inner),
        st.builds(Interrupt, inner, st.text()),
        st.builds(Command, update=inner, resume=inner, goto=st.text()),
    ),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(values)
def test_every_supported_value_comes_back_exactly(value: Any) -> None:
    """SD-12, exact or refused: type and content, at every depth and in every place."""
    back = OPEN.loads_typed(OPEN.dumps_typed(value))
    assert same(back, value), (back, value)


@settings(max_examples=150, deadline=None)
@given(values)
def test_writing_what_was_read_gives_a_value_that_reads_the_same(value: Any) -> None:
    """SD-12: a thread that is read and stored again many times does not drift."""
    first = OPEN.loads_typed(OPEN.dumps_typed(value))
    assert same(OPEN.loads_typed(OPEN.dumps_typed(first)), value)


@pytest.mark.parametrize("case", BETTER)
def test_what_the_reference_loses_comes_back_exactly(case: str) -> None:
    """SD-12: needing no permission."""
    assert same(SAFE.loads_typed(SAFE.dumps_typed(BETTER[case])), BETTER[case])


def test_same_sees_what_equality_does_not() -> None:
    """The helper of these tests: it must be able to fail."""
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    night = dt.datetime(2024, 10, 27, 2, 30, tzinfo=berlin)
    different = [
        (1, True),
        ([1], [1.0]),
        ((1,), [1]),
        ({1: 1}, {True: 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({1}, {True}),
        (0.0, -0.0),
        (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
        (collections.deque([1], 2), collections.deque([1])),
        (night, night.replace(fold=1)),
        (night.replace(tzinfo=dt.UTC), night.replace(tzinfo=zoneinfo.ZoneInfo("UTC"))),
        (Point(1), Point(True)),
        (Send("n", (1,)), Send("n", [1])),
    ]
    for a, b in different:
        assert not same(a, b), (a, b)
        assert same(a, a)


@pytest.mark.parametrize(
    ("value", "tag", "content"),
    [
        (None, "null", b""),
        (b"ab", "bytes", b"ab"),
        (bytearray(b"ab"), "bytearray", b"ab"),
        ("s", "msgpack", b"\xa1s"),
        (1, "msgpack", b"\x01"),
        ([], "msgpack", b"\x90"),
    ],
)
def test_tags(value: Any, tag: str, content: bytes) -> None:
    """SD-02."""
    assert SAFE.dumps_typed(value) == (tag, content)
    assert same(SAFE.loads_typed((tag, content)), value)


def test_a_stored_bytearray_is_a_copy() -> None:
    """SD-02: editing the original does not edit the store, nor does editing what was read."""
    original = bytearray(b"ab")
    stored = SAFE.dumps_typed(original)
    original.append(1)
    read = SAFE.loads_typed(stored)
    read.append(2)
    assert SAFE.loads_typed(stored) == bytearray(b"ab")


@pytest.mark.parametrize("tag", ["zzz", "pickle", "json", ""])
def test_an_unknown_tag_is_an_error(tag: str) -> None:
    """SD-02, SD-20, SD-21: the reference's, and one of the family of those that cannot be read."""
    with pytest.raises(NotImplementedError, match=f"Unknown serialization type: '{tag}'") as caught:
        SAFE.loads_typed((tag, b""))
    assert isinstance(caught.value, UnknownTagError)
    assert isinstance(caught.value, UnreadableError)


def test_it_is_a_serializer() -> None:
    """SD-01."""
    assert isinstance(SAFE, SerializerProtocol)
    assert not isinstance(object(), SerializerProtocol)


def test_reserved_names_are_at_the_references_address() -> None:
    """Law of the swapped import: `checkpoint.serde.types` has them."""
    assert {name: getattr(serde_types, name) for name in serde_types.__all__} == {
        "ERROR": "__error__",
        "INTERRUPT": "__interrupt__",
        "RESUME": "__resume__",
        "SCHEDULED": "__scheduled__",
        "TASKS": "__pregel_tasks",
    }


def test_own_classes_travel_under_the_references_names() -> None:
    """SD-15: as plain text in the bytes, and no trace of our own module."""
    for value in (Send("n", 1), Overwrite(1), Interrupt(1), Command(goto="x")):
        content = SAFE.dumps_typed(value)[1]
        assert b"langgraph.types" in content
        assert b"minigraph" not in content
        assert same(SAFE.loads_typed(("msgpack", content)), value)


def test_snapshots_are_safe_too() -> None:
    """SD-24."""
    task = PregelTask("i", "n", ("__pregel_pull", "n"), "E('x')", (Interrupt(1),))
    snapshot = StateSnapshot({}, ("n",), {"configurable": {}}, None, None, None, (task,), ())
    assert same(SAFE.loads_typed(SAFE.dumps_typed(snapshot)), snapshot)


# --------------------------------------------------------------- safe by default


def test_types_of_the_standard_library_need_no_permission() -> None:
    """SD-24."""
    value = [
        dt.datetime(2024, 1, 2, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
        uuid.UUID(int=1),
        decimal.Decimal("1.5"),
        {(1, frozenset({2}))},
        collections.deque([1], 2),
        ipaddress.ip_network("10.0.0.0/8"),
        pathlib.PurePosixPath("/a"),
        re.compile("a"),
        2**100,
        Send("n", 1),
    ]
    assert same(SAFE.loads_typed(SAFE.dumps_typed(value)), value)


@pytest.mark.parametrize(
    "value",
    [Point(1), Frozen(1), Pair(1), Color.RED, Number.ONE, Word.A, Outer.Inner.DEEP],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("place", ["alone", "inside"])
def test_a_users_type_needs_permission(value: Any, place: str) -> None:
    """SD-22, SD-23: refused, naming the type and the remedy; and the remedy works."""
    cls = type(value)
    data = OPEN.dumps_typed(value if place == "alone" else {"a": [{"b": value}]})
    with pytest.raises(InvalidModuleError) as caught:
        SAFE.loads_typed(data)
    module, name = __name__, cls.__qualname__
    assert str(caught.value) == (
        f"Stored data names the type `{module}.{name}`, which is not on the list of types that may "
        "be built. If you know it and trust those who write to the store, name it in an annotation "
        f"of the graph's state, or allow it: saver.with_allowlist([({module!r}, {name!r})]), or "
        f"JsonPlusSerializer(allowed_msgpack_modules=[({module!r}, {name!r})])."
    )
    with pytest.raises(InvalidModuleError):
        JsonPlusSerializer(allowed_msgpack_modules=[(__name__, "Other")]).loads_typed(data)
    for entry in (cls, (__name__, cls.__qualname__)):
        back = JsonPlusSerializer(allowed_msgpack_modules=[entry]).loads_typed(data)
        assert same(back if place == "alone" else back["a"][0]["b"], value)


BUILT: list[int] = []


@dataclasses.dataclass
class Tripwire:
    """Tells that there was one when it is gone; no constructor would tell, as none is called."""

    n: int

    def __del__(self) -> None:
        BUILT.append(1)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda wire: wire,
        lambda wire: {"x": wire, "money": decimal.Decimal("1.5")},
        lambda wire: (wire, [wire]),
        lambda wire: Send("n", wire),
        lambda wire: Overwrite({"deep": collections.deque([wire])}),
        lambda wire: {1: wire},
    ],
)
@pytest.mark.parametrize("allowed", [(), None, [("other", "Tripwire")], [Point]])
def test_nothing_is_built_that_was_not_allowed(wrap: Any, allowed: Any) -> None:
    """SD-22, SD-23: wherever it stands, however the list was given."""
    data = OPEN.dumps_typed(wrap(Tripwire(7)))
    BUILT.clear()
    strict = JsonPlusSerializer(allowed_msgpack_modules=allowed)
    if allowed is None:
        strict.loads_typed(data)
    else:
        with pytest.raises(InvalidModuleError, match="Tripwire"):
            strict.loads_typed(data)
    assert BUILT == []
    listed = JsonPlusSerializer(allowed_msgpack_modules=[(__name__, "Tripwire")])
    assert listed.loads_typed(data) == wrap(Tripwire(7))
    assert BUILT  # and so it would have been told


def test_none_gives_the_parts_of_what_is_not_allowed() -> None:
    """SD-22, SD-23: strict as well, for reading what can be read; safe types are built."""
    value = {
        "x": Point(1, [2]),
        "colour": Color.RED,
        "pair": Pair(1),
        "money": decimal.Decimal("1.5"),
        "day": dt.date(2020, 1, 1),
        "set": {Frozen(1)},
    }
    assert LENIENT.loads_typed(OPEN.dumps_typed(value)) == {
        "x": {"x": 1, "y": [2]},
        "colour": "r",
        "pair": {"a": 1, "b": 7},
        "money": decimal.Decimal("1.5"),
        "day": dt.date(2020, 1, 1),
        "set": [{"a": 1}],
    }


def ext(code: int, *parts: Any) -> tuple[str, bytes]:
    return "msgpack", packb([Ext(code, packb(list(parts)))])


def test_a_module_that_is_not_allowed_is_not_imported(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SD-22: importing runs code."""
    (tmp_path / "evil_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InvalidModuleError, match=r"evil_module\.Anything"):
        SAFE.loads_typed(ext(2, "evil_module", "Anything", {}))
    assert LENIENT.loads_typed(ext(2, "evil_module", "Anything", {"a": 1})) == [{"a": 1}]
    assert "evil_module" not in sys.modules


@pytest.mark.parametrize(
    ("code", "module", "name", "part"),
    [
        (0, "os", "abort", []),
        (1, "os", "system", ["true"]),
        (2, "subprocess", "Popen", {"args": ["true"]}),
        (0, "builtins", "eval", "1"),
        (0, "builtins", "list", [1]),
        (1, "threading", "Thread", []),
    ],
)
def test_even_when_all_is_allowed_no_function_and_no_odd_class_is_called(
    code: int, module: str, name: str, part: Any
) -> None:
    """SD-24: only what can have been stored is built."""
    with pytest.raises(InvalidModuleError, match=f"{module}.{name}"):
        SAFE.loads_typed(ext(code, module, name, part))
    with pytest.raises(ValueError, match=f"`{module}.{name}` cannot be built: it is not a"):
        OPEN.loads_typed(ext(code, module, name, part))


@pytest.mark.parametrize(
    "call",
    [
        ("datetime", "datetime", "2024-01-01", "today"),
        ("datetime", "date", "2024-01-01", "fromisoformat"),
        ("pathlib", "PosixPath", "/tmp", "rmdir"),
        (__name__, "Tripwire", 1, "fromisoformat"),
    ],
)
def test_the_one_method_that_is_ever_called_is_fromisoformat(call: tuple[Any, ...]) -> None:
    """SD-24: of `datetime.datetime`; not even when all types are allowed."""
    for serializer in (SAFE, OPEN):
        with pytest.raises(InvalidModuleError, match=f"{call[1]}.{call[3]}`, which is never made"):
            serializer.loads_typed(ext(3, *call))
    assert LENIENT.loads_typed(ext(3, *call)) == [call[2]]


def test_a_type_that_is_gone_is_an_error_with_a_remedy() -> None:
    """SD-14: the reference gives the parts instead; here one asks for that."""
    ghost: Any = pytypes.ModuleType("ghost_module")

    @dataclasses.dataclass
    class Ghost:
        a: int

    Ghost.__module__, Ghost.__qualname__, ghost.Ghost = "ghost_module", "Ghost", Ghost
    sys.modules["ghost_module"] = ghost
    data = OPEN.dumps_typed({"x": Ghost(1)})
    assert OPEN.loads_typed(data)["x"] == Ghost(1)
    del sys.modules["ghost_module"]
    with pytest.raises(ValueError, match=r"`ghost_module\.Ghost` cannot be built") as caught:
        OPEN.loads_typed(data)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert "allowed_msgpack_modules=None" in str(caught.value)
    assert LENIENT.loads_typed(data) == {"x": {"a": 1}}
    by_class = JsonPlusSerializer(allowed_msgpack_modules=[Ghost])
    assert by_class.loads_typed(data) == {"x": Ghost(1)}


def test_a_constructor_that_fails_is_an_error_with_its_reason() -> None:
    """SD-14: the innermost one, when it stands inside of others."""
    bad = ("msgpack", packb([Ext(0, packb(["builtins", "set", [Ext(0, uuid_parts("nonsense"))]]))]))
    with pytest.raises(ValueError, match=r"`uuid\.UUID` cannot be built: badly formed"):
        SAFE.loads_typed(bad)
    assert SAFE.loads_typed(ext(0, "uuid", "UUID", "0" * 32)) == [uuid.UUID(int=0)]


def uuid_parts(text: str) -> bytes:
    return packb(["uuid", "UUID", text])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x92\x01",
        b"\xc1",
        packb(Ext(0, b"\x93\xa1")),
        packb(Ext(0, packb(5))),
        packb(Ext(0, packb(["uuid", "UUID"]))),
        packb(Ext(0, packb([["uuid"], "UUID", "x"]))),
        packb(Ext(0, packb(["builtins", "set", [Ext(1, b"\xc1")]]))),
    ],
)
def test_damaged_bytes_are_an_error(content: bytes) -> None:
    """SD-14: and the error of one reading is not taken for that of the next."""
    with pytest.raises(ValueError, match="damaged"):
        SAFE.loads_typed(("msgpack", content))
    assert SAFE.loads_typed(("msgpack", b"\x01")) == 1


@pytest.mark.parametrize(
    "tag", ["msgpack", "bytes", "bytearray", "pickle", "zzz", None, 5, b"null"]
)
@pytest.mark.parametrize("content", [None, 5, 3_000_000_000, 2.5, "text"])
def test_content_that_is_no_bytes(tag: Any, content: Any) -> None:
    """SD-14: a column of a table may hold anything. A number is no length for a bytearray."""
    for serializer in (SAFE, OPEN, PICKLING):
        with pytest.raises(UnreadableError, match=r"expected bytes, found|Unknown serialization"):
            serializer.loads_typed((tag, content))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_bytes_of_another_kind(kind: Any) -> None:
    """SD-12: some drivers of databases give these; what is read is what was written."""
    for value in (b"x", bytearray(b"x"), [1, "x"], None):
        tag, content = SAFE.dumps_typed(value)
        assert same(SAFE.loads_typed((tag, kind(content))), value)


@pytest.mark.parametrize("code", [-1, 4, 8, 100])
def test_a_code_of_another_version_is_an_error(code: int) -> None:
    """SD-14."""
    with pytest.raises(UnreadableError, match=f"cannot read values of extension code {code}"):
        SAFE.loads_typed(("msgpack", b"\xc7\x06" + bytes([code % 256]) + packb(["m", "N", {}])))


def test_a_snapshot_of_a_channel() -> None:
    """SD-10: code 7, and nothing but the value; its type shows whether it is one."""
    for value in ([1, {2}], {1: (2,)}, None, bytearray(b"x")):
        tag, content = SAFE.dumps_typed([_DeltaSnapshot(value)])
        assert same(SAFE.loads_typed((tag, content)), [_DeltaSnapshot(value)])
    assert SAFE.dumps_typed(_DeltaSnapshot([1])) == ("msgpack", packb(Ext(7, packb([1]))))


def test_errors_of_threads_are_kept_apart() -> None:
    """Each thread that reads gets the error of its own data."""
    wrong: list[str] = []
    start = threading.Barrier(4)

    def work(name: str) -> None:
        start.wait()
        for _ in range(200):
            try:
                SAFE.loads_typed(ext(0, "m", name, 1))
            except InvalidModuleError as error:
                if f"`m.{name}`" not in str(error):
                    wrong.append(str(error))
            if SAFE.loads_typed(("msgpack", b"\x01")) != 1:
                wrong.append("value")

    threads = [threading.Thread(target=work, args=(f"N{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_reading_again_gives_another_value() -> None:
    """SD-01: nobody shares what they read."""
    data = SAFE.dumps_typed({"a": [1]})
    first = SAFE.loads_typed(data)
    first["a"].append(2)
    assert SAFE.loads_typed(data) == {"a": [1]}


# ------------------------------------------------- refused when written, not when too late


STRICT = JsonPlusSerializer(allowed_msgpack_modules=[])


@pytest.mark.parametrize(
    "value",
    [Point(1), Frozen(1), Pair(1), Color.RED, Outer.Inner.DEEP, {Color.RED: 1}, {1: [Point(1)]}],
    ids=repr,
)
def test_what_is_not_on_the_list_is_refused_when_it_is_written(value: Any) -> None:
    """SD-22: naming the type, where it stands, and the remedy; and the remedy works."""
    for serializer in (STRICT, LENIENT, JsonPlusSerializer(allowed_msgpack_modules=[Tripwire])):
        with pytest.raises(TypeError, match=r"value\['a'\].* may not build it again") as caught:
            serializer.dumps_typed({"a": value})
    found = re.search(r"allowed_msgpack_modules=(\[.*\])\)", str(caught.value))
    assert found
    (address,) = eval(found[1])
    listed = JsonPlusSerializer(allowed_msgpack_modules=[address])
    assert same(listed.loads_typed(listed.dumps_typed({"a": value})), {"a": value})
    assert str(caught.value).endswith(
        " cannot be stored, because the serializer may not build it again when it is read. Name "
        "the class in an annotation of the graph's state, or allow it: "
        f"saver.with_allowlist([{address!r}]), or "
        f"JsonPlusSerializer(allowed_msgpack_modules=[{address!r}])."
    )


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("ab", "'ab' is no list"),
        ("colours.Colour", "'colours.Colour' is no list"),
        (Color, "<enum 'Color'> is no list"),
        (Point, f"{Point!r} is no list"),
        (5, "5 is no list"),
        (["colours.Colour"], "'colours.Colour' is neither"),
        (["ab"], "'ab' is neither"),
        ([("a", "b", "c")], "('a', 'b', 'c') is neither"),
        ([("a", 1)], "('a', 1) is neither"),
        ([Point(1)], f"{Point(1)!r} is neither"),
    ],
    ids=repr,
)
def test_a_list_that_is_none(given: Any, found: str) -> None:
    """SD-22, SD-25: told when it is given; a text is no list of letters, nor an enum of members."""
    message = (
        "Types that may be stored are given in a list of classes, or of pairs such as "
        f"('colours', 'Colour'), but {found}."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        JsonPlusSerializer(allowed_msgpack_modules=given)
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        SAFE.with_msgpack_allowlist(given)
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        BaseCheckpointSaver(serde=SAFE).with_allowlist(given)


def test_safe_types_are_never_refused() -> None:
    """SD-22, SD-24."""
    for value in (*BETTER.values(), Command(goto="x"), [Interrupt(Send("a", {1}))]):
        for serializer in (STRICT, LENIENT):
            assert same(serializer.loads_typed(serializer.dumps_typed(value)), value)


def test_a_serializer_builds_what_it_has_written_itself() -> None:
    """SD-22: without a list; another one, or another process, does not know."""
    serializer = JsonPlusSerializer()
    data = serializer.dumps_typed([Point(1), Color.RED])
    assert serializer.loads_typed(data) == [Point(1), Color.RED]
    with pytest.raises(InvalidModuleError, match="Point"):
        JsonPlusSerializer().loads_typed(data)
    with pytest.raises(InvalidModuleError, match="Frozen"):
        serializer.loads_typed(OPEN.dumps_typed(Frozen(1)))


def test_a_class_that_is_defined_again_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """SD-22: in a notebook; what was remembered of the old one is forgotten."""
    serializers = [JsonPlusSerializer(), JsonPlusSerializer(allowed_msgpack_modules=[Point])]
    data = OPEN.dumps_typed(Point(1))
    for serializer in serializers:
        serializer.dumps_typed(Point(1))
        assert type(serializer.loads_typed(data)) is Point
    again: Any = dataclasses.make_dataclass("Point", ["x", "y"], namespace={"__module__": __name__})
    monkeypatch.setattr(sys.modules[__name__], "Point", again)
    for serializer in serializers:
        serializer.dumps_typed(again(1, 2))
        assert type(serializer.loads_typed(data)) is again


def test_a_wider_copy() -> None:
    """SD-25: it allows more; its original may read that, too, and still not write it."""
    strict = JsonPlusSerializer(allowed_msgpack_modules=[Color])
    wider = strict.with_msgpack_allowlist([Point, (__name__, "Pair")])
    value = [Point(1), Color.RED, Pair(1)]
    data = wider.dumps_typed(value)
    assert wider is not strict
    assert wider.loads_typed(data) == strict.loads_typed(data) == value
    with pytest.raises(TypeError, match="Point"):
        strict.dumps_typed(value)
    assert strict.with_msgpack_allowlist([Color]) is strict
    assert OPEN.with_msgpack_allowlist([Point]) is OPEN


def test_a_list_for_a_serializer_that_had_none() -> None:
    """SD-25: from then on it is the list that counts; what was written is known."""
    loose = JsonPlusSerializer()
    data = loose.dumps_typed(Color.RED)
    listed = loose.with_msgpack_allowlist([Point])
    assert listed.loads_typed(data) is Color.RED
    with pytest.raises(TypeError, match="Color"):
        listed.dumps_typed(Color.RED)


def test_lenient_stays_lenient() -> None:
    """SD-23, SD-25."""
    wider = LENIENT.with_msgpack_allowlist([Color])
    assert wider.loads_typed(OPEN.dumps_typed([Color.RED, Point(1)])) == [
        Color.RED,
        {"x": 1, "y": 0},
    ]


# --------------------------------------------------------------------- pickle


class Plain:
    """Not data, for msgpack."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.x == other.x


PICKLING = JsonPlusSerializer(pickle_fallback=True)


@pytest.mark.parametrize(
    "value", [Plain(1), {"a": [Plain(1)], "t": (1,)}, collections.defaultdict(list)]
)
def test_what_has_no_form_is_pickled_whole(value: Any) -> None:
    """A8, SD-20: if that is asked for."""
    with pytest.raises(TypeError, match="cannot be stored"):
        SAFE.dumps_typed(value)
    tag, content = PICKLING.dumps_typed(value)
    assert tag == "pickle"
    assert same(PICKLING.loads_typed((tag, content)), value)


class Holds(TypedDict):
    odd: Any


def test_a_saver_that_pickles() -> None:
    """A8: a graph's state may be anything then; without the flag the run fails."""

    def run(saver: InMemorySaver) -> Any:
        builder = StateGraph(Holds).add_node("n", lambda state: {"odd": Plain(1)})
        graph = builder.add_edge(START, "n").compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "1"}}
        graph.invoke({"odd": None}, config)
        return graph.get_state(config).values

    assert run(InMemorySaver(serde=PICKLING)) == {"odd": Plain(1)}
    with pytest.raises(TypeError, match="Plain` cannot be stored"):
        run(InMemorySaver())


def test_what_has_a_form_is_not_pickled() -> None:
    """SD-20: and every class is allowed, since whoever reads pickles trusts the store."""
    data = PICKLING.dumps_typed([Point(1), {Color.RED}])
    assert data[0] == "msgpack"
    assert JsonPlusSerializer(pickle_fallback=True).loads_typed(data) == [Point(1), {Color.RED}]
    listed = JsonPlusSerializer(pickle_fallback=True, allowed_msgpack_modules=[Color])
    assert listed.dumps_typed(Color.RED)[0] == "msgpack"
    assert listed.dumps_typed(Point(1))[0] == "pickle"


def test_a_pickle_is_not_touched_unless_that_was_asked_for() -> None:
    """SD-20: to unpickle is to run what is in it."""
    for serializer in (SAFE, OPEN, LENIENT):
        with pytest.raises(
            UnknownTagError, match=r"'pickle'.* read it with .*pickle_fallback=True"
        ):
            serializer.loads_typed(PICKLING.dumps_typed(Plain(1)))


def test_what_cannot_even_be_pickled() -> None:
    """SD-20: both reasons are told."""
    with pytest.raises(TypeError, match=r"`_thread.lock` cannot be stored.* Nor can it be pickled"):
        PICKLING.dumps_typed([threading.Lock()])


def test_a_damaged_pickle() -> None:
    """SD-14: one family of errors."""
    with pytest.raises(UnreadableError, match="damaged"):
        PICKLING.loads_typed(("pickle", b"\x80\x04."))


# ------------------------------------------------------ the reference as a witness


@pytest.fixture(scope="module")
def reference() -> Any:
    """The reference's serializer, told to build everything."""
    pytest.importorskip("langgraph")
    module = importlib.import_module("langgraph.checkpoint.serde.jsonplus")
    return module.JsonPlusSerializer(allowed_msgpack_modules=True)


@pytest.mark.parametrize("case", SHARED)
def test_data_of_the_reference_can_be_read(case: str, reference: Any) -> None:
    """SD-15: and the bytes are the same, so each opens the other's files."""
    value = SHARED[case]
    theirs = reference.dumps_typed(value)
    assert same(OPEN.loads_typed(theirs), value)
    assert OPEN.dumps_typed(value) == theirs


@pytest.mark.parametrize("case", [*SHARED, *BETTER])
def test_the_reference_can_read_our_data(case: str, reference: Any) -> None:
    """SD-12, SD-15: also what it cannot write without loss."""
    value = {**SHARED, **BETTER}[case]
    assert same(reference.loads_typed(OPEN.dumps_typed(value)), value)


def test_tuple_keys_written_by_the_reference_can_be_read(reference: Any) -> None:
    """SD-12: it writes them as arrays, and an array that is a key is a tuple."""
    value = {(1, (2, "x")): 1}
    assert same(SAFE.loads_typed(reference.dumps_typed(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        Send("n", {"a": [1]}),
        Command(update={"a": 1}, goto="x", resume=3, graph="__parent__"),
        Interrupt("v", "i"),
        Overwrite([1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_records_become_the_readers_own_classes(value: Any, reference: Any) -> None:
    """SD-15: in both directions."""
    theirs = importlib.import_module("langgraph.types")
    cls = getattr(theirs, type(value).__name__)
    there = reference.loads_typed(SAFE.dumps_typed(value))
    assert type(there) is cls
    here = SAFE.loads_typed(reference.dumps_typed(there))
    assert same(here, value)
