"""Arrays of numpy's, where it is installed."""

from __future__ import annotations

import importlib
import time
from typing import Any

import pytest
from ormsgpack import Ext, packb

from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer

np = pytest.importorskip("numpy")

STRICT = JsonPlusSerializer(allowed_msgpack_modules=[])

ARRAYS = {
    "numbers": lambda: np.arange(6.0).reshape(2, 3),
    "columns first": lambda: np.asfortranarray(np.arange(6).reshape(2, 3)),
    "big end first": lambda: np.array([1, 2], ">i4"),
    "truth": lambda: np.array([True, False]),
    "texts": lambda: np.array(["a", "bcd"]),
    "bytes": lambda: np.array([b"a", b"bcd"]),
    "complex": lambda: np.array([1j]),
    "dates": lambda: np.array(["2024-01-02"], "datetime64[D]"),
    "empty": lambda: np.zeros((0, 3)),
    "no dimension": lambda: np.array(5),
    "every second": lambda: np.arange(10)[::2],
    "turned": lambda: np.arange(6).reshape(2, 3).T,
    "backwards": lambda: np.arange(5)[::-1],
}


@pytest.mark.parametrize("case", ARRAYS)
def test_an_array_comes_back_exactly(case: str) -> None:
    """SD-12, SD-24: type, shape, order and items, needing no permission; and it may be edited."""
    array = ARRAYS[case]()
    for value in ([array], {1: array}):
        back: Any = STRICT.loads_typed(STRICT.dumps_typed(value))
        back = back[1] if isinstance(back, dict) else back[0]
        assert type(back) is np.ndarray
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert (back == array).all()
        assert back.flags.writeable
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            assert back.flags.f_contiguous


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array([object()]),
        lambda: np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]),
        lambda: np.ma.masked_array([1], [True]),
        lambda: np.float64(1.5),
    ],
)
def test_what_would_come_back_different_is_refused(make: Any) -> None:
    """SD-12."""
    with pytest.raises(TypeError, match="cannot be stored"):
        STRICT.dumps_typed([make()])


@pytest.mark.parametrize("case", [case for case in ARRAYS if case not in ("backwards", "dates")])
def test_each_package_reads_the_others_arrays(case: str) -> None:
    """SD-15: code 6."""
    pytest.importorskip("langgraph")
    theirs = importlib.import_module("langgraph.checkpoint.serde.jsonplus").JsonPlusSerializer()
    array = ARRAYS[case]()
    assert (STRICT.loads_typed(theirs.dumps_typed(array)) == array).all()
    assert (theirs.loads_typed(STRICT.dumps_typed(array)) == array).all()


@pytest.mark.parametrize("shape", [[2**62] * 100_000, [2**64 - 1], [-1], ["x"], [1] * 65, 5])
def test_a_shape_that_cannot_be(shape: Any) -> None:
    """SD-14: is refused at once; the product of a hundred thousand numbers takes its time."""
    started = time.process_time()
    data = packb(Ext(6, packb(["<i8", shape, "C", b"\0" * 8])))
    with pytest.raises(UnreadableError, match=r"`numpy.ndarray` cannot be built"):
        STRICT.loads_typed(("msgpack", data))
    assert time.process_time() - started < 2


def test_lenient_reading_gives_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """SD-23: where numpy is not installed; otherwise that is an error that says so."""
    data = STRICT.dumps_typed(np.array([1], "<i4"))
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    with pytest.raises(UnreadableError, match=r"`numpy.ndarray` cannot be built.*numpy"):
        JsonPlusSerializer().loads_typed(data)
    lenient = JsonPlusSerializer(allowed_msgpack_modules=None)
    assert lenient.loads_typed(data) == ["<i4", [1], "C", b"\x01\x00\x00\x00"]
