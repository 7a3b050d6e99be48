"""Quick and careful packing: both exact, and the careful one is taken when it must be."""

import dataclasses
import enum
import signal
import uuid
from typing import Any

import pytest
from ormsgpack import OPT_NON_STR_KEYS, packb, unpackb

from minigraph.checkpoint.serde import packing
from minigraph.checkpoint.serde.extensions import ROWS
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.checkpoint.serde.packing import Packer, pack


class Color(enum.Enum):
    RED = "r"


@dataclasses.dataclass
class Box:
    content: Any


@pytest.fixture
def careful_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The values that were packed carefully."""
    seen: list[Any] = []
    careful = Packer._pack_carefully

    def watch(packer: Packer, value: Any) -> bytes:
        seen.append(value)
        return careful(packer, value)

    monkeypatch.setattr(Packer, "_pack_carefully", watch)
    return seen


@pytest.mark.parametrize(
    "value",
    [
        1,
        2**64 - 1,
        -(2**63),
        "text",
        "żółć",
        1.5,
        True,
        b"x",
        [b"x", {"a": [b"y"]}],
        {"x": 1, "tags": ["a", "b"], "none": None},
        [196, 197, 198],
        ["Ā", 6.02e23],
    ],
)
def test_plain_data_is_packed_by_the_c_library_alone(value: Any, careful_calls: list[Any]) -> None:
    """SD-04: byte for byte; also where the bytes look as if a bytearray may be in it."""
    assert pack(value) == packb(value)
    assert careful_calls == []


@pytest.mark.parametrize(
    "value",
    [
        {1: "a", None: "b", 2.5: "c", b"k": "d"},
        {True: [{-1: "x"}]},
        [bytearray(b"x")],
        {"deep": [{"in": bytearray(b"x")}]},
        {(1, 2): "x"},
        {Color.RED: "x"},
        {uuid.UUID(int=1): 2**70},
        {2**70: "x"},
    ],
)
def test_what_the_c_library_is_not_sure_of_is_packed_carefully(
    value: Any, careful_calls: list[Any]
) -> None:
    """SD-12: keys that are not text, and bytearrays, which it would pack as bytes."""
    pack(value)
    assert careful_calls == [value]


def test_plain_keys_stay_keys() -> None:
    """SD-12: int, float, None, truth values and bytes are msgpack's own keys."""
    value = {1: "a", 2.5: "b", None: "c", b"k": "d"}
    assert unpackb(pack(value), option=OPT_NON_STR_KEYS) == value
    assert pack({True: 1}) == b"\x81\xc3\x01"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (object(), ""),
        ([1, object()], r"\[1\]"),
        ({"a": {2: [object()]}}, r"\['a'\]\[2\]\[0\]"),
        ({"a": Box([object()])}, r"\['a'\]\['content'\]\[0\]"),
        ((1, (object(),)), r"\[1\]\[0\]"),
    ],
)
def test_the_error_says_where(value: Any, path: str) -> None:
    """SD-13: in a state of many keys one wants to know which."""
    with pytest.raises(TypeError, match=rf"^value{path}: a `builtins.object` cannot be stored"):
        pack(value)


@pytest.mark.parametrize(
    "value",
    ["a\ud800b", ["a\ud800b"], {"a\ud800b": 1}, ("a\ud800b",), {("a\ud800b",): 1}],
)
def test_half_a_character_is_refused(value: Any) -> None:
    """SD-12, exact or refused: the reference stores a question mark."""
    with pytest.raises(TypeError, match=r"lone surrogate\) at position 1, .* Replace it"):
        pack(value)


def test_a_memoryview_is_refused() -> None:
    """SD-12: it would come back as bytes."""
    for value in (memoryview(b"x"), [memoryview(b"x")], Box(memoryview(b"x"))):
        with pytest.raises(TypeError, match=r"store bytes\(value\)"):
            pack(value)


def test_a_missing_field_is_an_error() -> None:
    """A dataclass with `slots` or a deleted attribute may have none."""
    box = Box(1)
    del box.content
    with pytest.raises(TypeError, match="no attribute 'content'"):
        pack([box])


def nested(levels: int, innermost: Any = 1) -> Any:
    value: Any = innermost
    for _ in range(levels):
        value = [value]
    return value


def test_depth() -> None:
    """SD-12: 255 levels are packed, quickly and carefully; more are refused, and so are circles."""
    assert unpackb(pack(nested(255))) == nested(255)
    careful = pack(nested(253, {1: 2}))
    assert unpackb(careful, option=OPT_NON_STR_KEYS) == nested(253, {1: 2})
    circle: list[Any] = []
    circle.append(circle)
    in_tuple: list[Any] = []
    in_tuple.append((in_tuple,))
    for value in (nested(256), nested(300, {1: 2}), circle, in_tuple):
        with pytest.raises(TypeError, match="nested too deeply to be stored, or contains itself"):
            pack(value)


def test_extensions_in_extensions() -> None:
    """SD-12: deep ones are packed carefully, and read again; those too deep are refused."""
    serializer = JsonPlusSerializer()
    for levels in (1, 4, 5, 100):
        value: Any = {1: 2}
        for _ in range(levels):
            value = (value,)
        assert serializer.loads_typed(serializer.dumps_typed(value)) == value
    wide: Any = 1
    for _ in range(4):  # as deep as what is packed quickly can be
        wide = (nested(250, wide),)
    data = serializer.dumps_typed(nested(250, wide))
    assert serializer.dumps_typed(serializer.loads_typed(data)) == data  # too deep to compare
    for _ in range(300):
        value = (value,)
    with pytest.raises(TypeError, match="nested too deeply"):
        pack(value)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("boom"), "ValueError('boom')"),
        (KeyError("k"), "KeyError('k')"),
        (ValueError("a\ud800"), "ValueError('a\\ud800')"),
    ],
)
def test_exceptions_are_stored_as_their_text(error: Exception, text: str) -> None:
    """CP-22, SD-12: the repr; also inside of other values."""
    assert unpackb(pack(error)) == text
    assert unpackb(pack({"e": [error]})) == {"e": [text]}
    assert unpackb(pack({1: error}), option=OPT_NON_STR_KEYS) == {1: text}


@dataclasses.dataclass
class Failure(Exception):
    code: int


def test_a_dataclass_that_is_an_exception_is_stored_as_a_dataclass() -> None:
    """SD-11: its fields say more than its text."""
    codes: list[int] = []
    unpackb(pack(Failure(3)), ext_hook=lambda code, _: codes.append(code))
    assert codes == [2]


# ---------------------------------------------------------------- interruptions


class Leaves(BaseException):
    """Not an error: somebody wants to leave."""


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, Leaves])
@pytest.mark.parametrize("value", [{1}, [1, {"a": {1}}], ([{1}],), {1: {1}}])
def test_an_interruption_is_no_reason_to_pack_carefully(
    value: Any, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The C library makes a TypeError of it; what comes out is the interruption, once."""
    interruption = kind("now")
    pressed = [interruption]

    def set_apart(value: Any) -> Any:
        if value == {1} and pressed:
            raise pressed.pop()
        return original(value)

    original = ROWS[set]
    monkeypatch.setitem(ROWS, set, set_apart)
    with pytest.raises(kind) as caught:
        pack(value)
    assert caught.value is interruption
    assert unpackb(pack({1: "plain"}), option=OPT_NON_STR_KEYS) == {1: "plain"}
    with pytest.raises(TypeError, match=r"`builtins\.object` cannot be stored"):
        pack(object())


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_the_c_library_is_at_work() -> None:
    """It strikes at the callback's first line, before anything there could take note of it."""

    def early(value: Any) -> Any:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        Packer()._packing_with(early)([1, {1}])


def test_an_error_leaves_nothing_behind() -> None:
    """What the callback raised is looked at once: the next value is judged for itself."""
    for _ in range(2):
        with pytest.raises(TypeError, match=r"`builtins\.object` cannot be stored"):
            pack([(object(),)])
        assert vars(packing._noted) == {}
        assert pack({True: 1}) == b"\x81\xc3\x01"
