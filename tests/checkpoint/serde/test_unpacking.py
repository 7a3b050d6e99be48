"""Reading bytes from anybody: a value or one kind of error, in bounded time, memory and depth."""

import dataclasses
import signal
import struct
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ormsgpack import Ext, packb

from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.extensions import SAFE
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.checkpoint.serde.unpacking import Unpacker, nesting

BUILT: list[Any] = []


@dataclasses.dataclass
class Known:
    x: Any = None


@dataclasses.dataclass
class Forbidden:
    """Tells that there was one when it is gone; no constructor would tell, as none is called."""

    x: Any = None

    def __del__(self) -> None:
        BUILT.append(1)


OPEN = JsonPlusSerializer(allowed_msgpack_modules=True)
LISTED = JsonPlusSerializer(allowed_msgpack_modules=[Known])
READERS = [JsonPlusSerializer(), LISTED, JsonPlusSerializer(allowed_msgpack_modules=None)]


def loads_or_refuses(data: tuple[str, bytes]) -> None:
    """The contract. Any other exception, a crash, or a `Forbidden` that is built, fails."""
    BUILT.clear()
    for reader in READERS:
        try:
            reader.loads_typed(data)
        except UnreadableError:
            pass
    assert BUILT == []


def extension(code: int, content: bytes) -> bytes:
    return b"\xc9" + struct.pack(">Ib", len(content), code) + content


# ------------------------------------------------------------------ any bytes at all

tags = st.sampled_from(["msgpack", "null", "bytes", "bytearray", "pickle", "json", "zzz", ""])
codes = st.integers(-1, 9)
addresses = st.sampled_from(
    [
        ("builtins", "set"),
        ("builtins", "dict"),
        ("builtins", "int"),
        ("builtins", "bytearray"),
        ("builtins", "eval"),
        ("collections", "Counter"),
        ("collections", "deque"),
        ("datetime", "datetime"),
        ("datetime", "timezone"),
        ("decimal", "Decimal"),
        ("os", "system"),
        ("pathlib", "PosixPath"),
        ("re", "compile"),
        ("uuid", "UUID"),
        ("zoneinfo", "ZoneInfo"),
        ("langgraph.types", "Send"),
        ("langgraph.types", "Command"),
        (__name__, "Known"),
        (__name__, "Forbidden"),
    ]
)
atoms = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(), st.binary()
)


def holding(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Extensions with an array that may, or may not, be what is expected."""
    arrays = st.builds(
        lambda address, parts: (
            bytes([0x92 + len(parts)]) + packb(address[0]) + packb(address[1]) + b"".join(parts)
        ),
        addresses,
        st.lists(inner, max_size=3),
    )
    return st.one_of(
        st.builds(extension, codes, arrays | inner),
        st.lists(inner, max_size=4).map(lambda items: bytes([0x90 + len(items)]) + b"".join(items)),
        st.lists(st.tuples(inner, inner), max_size=3).map(
            lambda items: bytes([0x80 + len(items)]) + b"".join(k + v for k, v in items)
        ),
    )


well_formed = st.recursive(atoms.map(packb), holding, max_leaves=10)


@settings(max_examples=300, deadline=None)
@given(tags, st.binary(max_size=80) | well_formed)
def test_any_bytes(tag: str, content: bytes) -> None:
    """SD-14, SD-22: they load or are refused, whatever is said to be in them."""
    loads_or_refuses((tag, content))


VALUES = [
    OPEN.dumps_typed(value)[1]
    for value in (
        {"a": [1, {2}, (3, "x" * 40)], 1: b"y" * 20},
        [Known({"x": Forbidden((1, 2))}), Known([])],
    )
]


def test_what_is_forbidden_would_tell() -> None:
    """The helper of these tests: it must be able to fail."""
    BUILT.clear()
    OPEN.loads_typed(("msgpack", VALUES[1]))
    assert BUILT


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(VALUES),
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 255))),
    st.data(),
)
def test_changed_bytes(content: bytes, changes: list[tuple[int, int]], data: st.DataObject) -> None:
    """SD-14, SD-22: valid data with some bytes changed, cut off or repeated."""
    changed = bytearray(content)
    for position, byte in changes:
        changed[position % len(changed)] = byte
    start = data.draw(st.integers(0, len(changed)))
    end = data.draw(st.integers(start, len(changed)))
    loads_or_refuses(("msgpack", bytes(changed[:end] + changed[start:])))
    loads_or_refuses(("msgpack", bytes(changed[:end])))


# ------------------------------------------------------------------- bombs


def set_of(content: bytes) -> bytes:
    return extension(0, b"\x93" + packb("builtins") + packb("set") + content)


def repeat(levels: int, wrap: Any, content: bytes = b"\x01") -> bytes:
    for _ in range(levels):
        content = wrap(content)
    return content


BOMBS = {
    "lists": b"\x91" * 100_000 + b"\x01",
    "dicts": b"\x81\x01" * 100_000 + b"\x01",
    "extensions": repeat(5000, lambda content: extension(0, content)),
    "sets in sets": repeat(3000, lambda content: set_of(b"\x91" + content)),
    "lists in sets": repeat(60, lambda content: set_of(b"\x91" * 1000 + content)),
    "lists in snapshots": repeat(60, lambda content: extension(7, b"\x91" * 1000 + content)),
    "long list": b"\xdd\xff\xff\xff\xff",
    "long lists": b"\xdd\xff\xff\xff\xff" * 1000,
    "long dict": b"\xdf\xff\xff\xff\xff",
    "long text": b"\xdb\xff\xff\xff\xff",
    "long bytes": b"\xc6\xff\xff\xff\xff",
    "long extension": b"\xc9\xff\xff\xff\xff\x00",
    "long bytearray": extension(0, packb(["builtins", "bytearray", 10**12])),
    "long number": extension(1, packb(["builtins", "int", ["9" * 1_000_000, 10]])),
    "long array": extension(6, packb(["<f8", [10**6, 10**6], "C", b""])),
    "objects in an array": extension(6, packb(["|O", [1], "C", b"\x01" * 8])),
    "a number for a decimal": extension(
        0, packb(["decimal", "Decimal", Ext(1, packb(["builtins", "int", ["f" * 4_000_000, 16]]))])
    ),
    "a path to a file": extension(0, packb(["zoneinfo", "ZoneInfo", "../../../etc/passwd"])),
    "a printing pattern": extension(1, packb(["re", "compile", ["a", 128]])),
    "an unhashable key": b"\x81\x81\x01\x01\x01",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs(bomb: str, capfd: pytest.CaptureFixture[str]) -> None:
    """SD-14: a few bytes take neither the process, nor its memory, nor its time."""
    started = time.perf_counter()
    tracemalloc.start()
    try:
        for reader in READERS[:2]:
            with pytest.raises(UnreadableError):
                reader.loads_typed(("msgpack", BOMBS[bomb]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 550 * len(BOMBS[bomb]) + 1_000_000  # each extension around it has a copy
    assert time.perf_counter() - started < 20
    assert capfd.readouterr() == ("", "")


PARTS = {
    "a number": Ext(1, packb(["builtins", "int", ["f" * 600_000, 16]])),
    "digits": "9" * 100_000,
    "underscores": "1_" * 100_000 + "1",
    "colons": "1:" * 100_000,
    "dots": "1." * 100_000,
    "a prefix": "1.1.1.1/" + "9" * 100_000,
    "spaces": " " * 100_000,
    "steps": "a/" * 100_000,
    "bytes": b"9" * 100_000,
    "ones": [1] * 100_000,
    "pairs": [["a", "b"]] * 10_000,
}


@pytest.mark.parametrize("part", PARTS)
def test_no_safe_type_takes_long(part: str) -> None:
    """SD-14: none of them takes the square of what it is given in time, not even to refuse it.
    (Patterns are compiled; a long one takes a while.)"""
    slow = []
    for address in SAFE.keys() - {("re", "compile")}:
        started = time.process_time()
        for code, parts in ((0, PARTS[part]), (1, [PARTS[part]]), (1, [PARTS[part], 16])):
            try:
                READERS[0].loads_typed(("msgpack", extension(code, packb([*address, parts]))))
            except UnreadableError:
                pass
        if time.process_time() - started > 2:
            slow.append(address)
    assert slow == []


def test_depth_is_bounded_inside_of_extensions() -> None:
    """SD-14: and what is written stays below the bound (see test_packing.py)."""
    deep = repeat(6, lambda content: set_of(b"\x91" * 600 + content))
    with pytest.raises(UnreadableError, match="nested more deeply than anything"):
        READERS[0].loads_typed(("msgpack", deep))


@given(st.recursive(atoms, lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=20))
def test_nesting(value: Any) -> None:
    """The count is right for whatever the C library packs."""

    def depth(value: Any) -> int:
        if not isinstance(value, (list, dict)) or not value:
            return 0
        items = value.values() if isinstance(value, dict) else value
        return 1 + max(map(depth, items))

    assert nesting(packb(value), 1000) == depth(value)


@pytest.mark.parametrize(
    ("value", "depth"),
    [
        ([1.5, "x" * 40, "x" * 300, "x" * 70_000, b"", b"x" * 300, b"x" * 70_000, [-1, 300]], 2),
        ([Ext(1, b"\x91" * n) for n in (1, 2, 3, 4, 8, 16, 300, 70_000)] + [[]], 1),
        ([[0] * 20, [[1]] * 20, [1] * 70_000], 3),
        ({str(i): {"x": i} for i in range(20)}, 2),
        ([2**8, 2**16, 2**32, -(2**8), -(2**16), -(2**32), -1, None, True, [[[]]]], 3),
    ],
)
def test_nesting_of_every_form(value: Any, depth: int) -> None:
    """Every kind of first byte: what is in extensions is not counted."""
    assert nesting(packb(value), 1000) == depth


def test_nesting_stops_when_it_is_enough() -> None:
    assert nesting(b"\x91" * 1000 + b"\x01", 10) == 10
    assert nesting(b"\x91\xdd", 10) == 1  # cut off


# ------------------------------------------------------------- errors on their way


def test_the_innermost_error_is_told() -> None:
    """SD-14."""

    def build(code: int, parts: Any) -> Any:
        raise UnreadableError(f"{parts}")

    with pytest.raises(UnreadableError, match=r"^inner$"):
        Unpacker(build).unpack(extension(1, extension(5, packb("inner"))))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interruption_is_no_damage(kind: type[BaseException]) -> None:
    """To the C library it is one more error; what comes out is the interruption, once."""

    def build(code: int, parts: Any) -> Any:
        if code == 1:
            raise kind
        return parts

    unpacker = Unpacker(build)
    with pytest.raises(kind):
        unpacker.unpack(extension(5, extension(1, b"\x01")))
    assert unpacker.unpack(extension(5, b"\x05")) == 5


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_the_c_library_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """It strikes at the callback's first line, before anything there could take note of it."""
    unpacker = Unpacker(lambda code, parts: parts)
    monkeypatch.setattr(
        unpacker, "_callback", lambda code, content: signal.raise_signal(signal.SIGINT)
    )
    with pytest.raises(KeyboardInterrupt):
        unpacker.unpack(extension(1, b"\x01"))


def test_the_end_of_the_stack_is_no_interruption() -> None:
    """At the end of the stack, a callback cannot even begin. That is no Ctrl-C."""
    data = LISTED.dumps_typed(((((({1},),),),),))
    seen: set[type[BaseException]] = set()

    def at(depth: int) -> Any:
        return at(depth - 1) if depth else LISTED.loads_typed(data)

    for depth in range(800, 1000):
        try:
            at(depth)
        except BaseException as error:
            seen.add(type(error))
    assert seen <= {RecursionError, UnreadableError}
    assert UnreadableError in seen
    assert LISTED.loads_typed(data) == ((((({1},),),),),)
