"""What a store must offer: its records, its checks, and the decisions that all stores share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from minigraph.store import base
from minigraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
    check_op,
    is_met,
    listed,
    matches,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Recorder(BaseStore):
    """A store of somebody's own, with the one method that it must have."""

    def __init__(self) -> None:
        self.ops: list[Op] = []

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        given = list(ops)
        self.ops += given
        return [f"result {index}" for index, _ in enumerate(given)]


class Forgetful(Recorder):
    supports_ttl = True


def make(value: Any = None, **fields: Any) -> Item:
    given = {"key": "k", "namespace": ("a",), "created_at": NOON, "updated_at": NOON}
    return Item(value=value or {}, **{**given, **fields})


# ---------------------------------------------------------------- records


class TestItem:
    def test_times_may_be_text(self) -> None:
        item = make(created_at="2026-01-01T12:00:00+00:00", namespace=["a", "b"])
        assert (item.created_at, item.namespace) == (NOON, ("a", "b"))

    def test_as_plain_data(self) -> None:
        """LM-03: what a program prints, or sends on as JSON."""
        assert make({"x": 1}).dict() == {
            "namespace": ["a"],
            "key": "k",
            "value": {"x": 1},
            "created_at": "2026-01-01T12:00:00+00:00",
            "updated_at": "2026-01-01T12:00:00+00:00",
        }
        found = SearchItem(("a",), "k", {}, NOON, NOON, score=0.5)
        assert found.dict() == {**make().dict(), "score": 0.5}
        assert repr(found) == repr(make()).replace(")", ", score=0.5)")
        assert SearchItem(("a",), "k", {}, NOON, NOON).score is None

    def test_items_are_equal_by_what_they_are(self) -> None:
        """Whether they were found or fetched makes no difference."""
        assert make({"x": 1}) == make({"x": 1})
        assert make({"x": 1}) != make({"x": 2})
        assert make() != make(key="other")
        assert make() == SearchItem(("a",), "k", {}, NOON, NOON, score=0.5)
        assert make() != "k"
        assert len({make({"x": 1}), make({"x": 1}), make(key="other")}) == 2


def test_defaults_of_operations() -> None:
    """The fields and their order are the reference's."""
    assert GetOp(("a",), "k") == (("a",), "k", True)
    assert SearchOp(("a",)) == (("a",), None, 10, 0, None, True)
    assert PutOp(("a",), "k", {}) == (("a",), "k", {}, None, None)
    assert ListNamespacesOp() == (None, None, 100, 0)


def test_public_names() -> None:
    for name in base.__all__:
        assert getattr(base, name) is not None


# ---------------------------------------------------------------- methods


def test_every_method_is_one_operation() -> None:
    """LM-02: so a store is complete when it has `batch`."""
    store = Recorder()
    results = [
        store.get(("a",), "k"),
        store.search(("a",), filter={"x": 1}, limit=3, offset=2, query="q"),
        store.search((), refresh_ttl=False),
        store.list_namespaces(prefix=("a", "*"), suffix=("b",), max_depth=2, limit=5, offset=1),
        store.list_namespaces(),
    ]
    store.put(("a",), "k", {"x": 1}, index=False)
    store.put(("a",), 5, None)  # type: ignore[arg-type]  # a key may be a number
    store.delete(("a",), "k")
    assert results == ["result 0"] * 5
    assert store.ops == [
        GetOp(("a",), "k"),
        SearchOp(("a",), {"x": 1}, 3, 2, "q"),
        SearchOp((), refresh_ttl=False),
        ListNamespacesOp(
            (MatchCondition("prefix", ("a", "*")), MatchCondition("suffix", ("b",))), 2, 5, 1
        ),
        ListNamespacesOp(),
        PutOp(("a",), "k", {"x": 1}, False),
        PutOp(("a",), "5", None),
        PutOp(("a",), "k", None),
    ]


def test_their_async_twins() -> None:
    """LM-02: the same operations, on a thread where the store has nothing better."""
    store = Recorder()

    async def main() -> list[Any]:
        await store.aput(("a",), "k", {"x": 1}, index=["x"])
        await store.adelete(("a",), "k")
        return [
            await store.aget(("a",), "k", refresh_ttl=False),
            await store.asearch(("a",), filter={"x": 1}),
            await store.alist_namespaces(suffix=("b",), max_depth=1),
            await store.abatch(iter([GetOp(("a",), "k")])),
        ]

    assert asyncio.run(main()) == ["result 0", "result 0", "result 0", ["result 0"]]
    assert store.ops == [
        PutOp(("a",), "k", {"x": 1}, ["x"]),
        PutOp(("a",), "k", None),
        GetOp(("a",), "k", False),
        SearchOp(("a",), {"x": 1}),
        ListNamespacesOp((MatchCondition("suffix", ("b",)),), 1),
        GetOp(("a",), "k"),
    ]


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("namespace", "words"),
    [
        ((), "at least one label"),
        (("a", ""), "not empty"),
        (("langgraph", "x"), "reserved"),
        (("a.b",), r"no '\.' in it"),
        (("a", 1), "made of text, but 1"),
        ("ab", "tuple of labels"),
        (["a"], "tuple of labels"),
    ],
)
def test_namespaces_that_nothing_is_put_into(namespace: Any, words: str) -> None:
    """LM-01: by `put`, its twin, and by an operation in a batch."""
    store = Recorder()
    with pytest.raises(InvalidNamespaceError, match=words):
        store.put(namespace, "k", {})
    with pytest.raises(InvalidNamespaceError, match=words):
        asyncio.run(store.aput(namespace, "k", {}))
    with pytest.raises(InvalidNamespaceError, match=words):
        check_op(PutOp(namespace, "k", {}), store)
    assert store.ops == []
    assert issubclass(InvalidNamespaceError, ValueError)


@pytest.mark.parametrize("namespace", [(), ("langgraph",), ("x", "langgraph")])
def test_where_nothing_can_be_nothing_is_found(namespace: Any) -> None:
    """LM-01: to look there, or to remove something, is no mistake."""
    for op in (GetOp(namespace, "k"), SearchOp(namespace), PutOp(namespace, "k", None)):
        check_op(op, Recorder())


@pytest.mark.parametrize("namespace", ["ab", ["a"], ("a.b",), ("a", ""), (1,), None])
def test_what_is_no_namespace_at_all(namespace: Any) -> None:
    """LM-01: is refused everywhere."""
    for op in (GetOp(namespace, "k"), SearchOp(namespace), PutOp(namespace, "k", None)):
        with pytest.raises(InvalidNamespaceError):
            check_op(op, Recorder())


@pytest.mark.parametrize(
    ("op", "error", "words"),
    [
        (PutOp(("a",), "k", [1]), TypeError, "is a dict, but for 'k'"),  # type: ignore[arg-type]
        (PutOp(("a",), 5, {}), TypeError, "is text, but this is 5"),  # type: ignore[arg-type]
        (GetOp(("a",), 5), TypeError, "is text, but this is 5"),  # type: ignore[arg-type]
        (SearchOp(("a",), limit=-1), ValueError, "limit is a number from 0 on, but it is -1"),
        (SearchOp(("a",), offset=None), ValueError, "offset is"),  # type: ignore[arg-type]
        (SearchOp(("a",), {"x": {"$in": [1]}}), ValueError, r"Unsupported operator '\$in'"),
        (SearchOp(("a",), {"x": {"$gt": 1, "y": 1}}), ValueError, "Unsupported operator 'y'"),
        (SearchOp(("a",), {"x": [{"y": {"$near": 1}}]}), ValueError, r"'\$near'"),
        (ListNamespacesOp(limit=-1), ValueError, "limit"),
        (ListNamespacesOp(max_depth=0), ValueError, "max_depth must be at least 1"),
        (ListNamespacesOp((MatchCondition("infix", ("a",)),)), ValueError, "'infix'"),  # type: ignore[arg-type]
        (ListNamespacesOp((MatchCondition("prefix", "ab"),)), ValueError, "tuple of labels"),  # type: ignore[arg-type]
        ("get", TypeError, "An operation is a GetOp"),
    ],
)
def test_operations_that_cannot_be(op: Any, error: type[Exception], words: str) -> None:
    """LM-02, LM-04, LM-05: each says what was expected."""
    with pytest.raises(error, match=words):
        check_op(op, Recorder())


def test_a_time_to_live() -> None:
    """LM-06: is refused by a store that has none, and passed on to one that has."""
    words = "Recorder keeps items for ever"
    with pytest.raises(NotImplementedError, match=words):
        Recorder().put(("a",), "k", {}, ttl=5)
    with pytest.raises(NotImplementedError, match=words):
        asyncio.run(Recorder().aput(("a",), "k", {}, ttl=5))
    Recorder().put(("a",), "k", {}, ttl=None)
    store = Forgetful()
    store.put(("a",), "k", {}, ttl=5)
    assert store.ops == [PutOp(("a",), "k", {}, None, 5)]


# ---------------------------------------------------------------- filters and conditions

VALUE = {"n": 3, "s": "abc", "digits": "10", "l": [1, {"z": 3, "y": 1}], "d": {"e": {"f": 1}}}


@pytest.mark.parametrize(
    ("filter", "fits"),
    [
        ({}, True),
        ({"n": 3}, True),
        ({"n": 3.0}, True),
        ({"n": 4}, False),
        ({"n": 3, "s": "abc"}, True),
        ({"n": 3, "s": "x"}, False),
        ({"missing": None}, True),
        ({"missing": 1}, False),
        ({"n": None}, False),
        ({"n": {"$eq": 3}}, True),
        ({"n": {"$ne": 3}}, False),
        ({"missing": {"$ne": 3}}, True),
        ({"n": {"$gt": 2}}, True),
        ({"n": {"$gt": 3}}, False),
        ({"n": {"$gte": 3, "$lt": 4}}, True),
        ({"n": {"$gte": 3, "$lt": 3}}, False),
        ({"n": {"$lte": 3}}, True),
        ({"n": {"$gt": "2"}}, True),
        ({"digits": {"$gt": 9}}, True),
        ({"digits": {"$gt": "9"}}, True),
        ({"s": {"$gt": "abb"}}, True),
        ({"s": {"$lt": "abb"}}, False),
        ({"s": {"$gt": 1}}, False),
        ({"l": {"$gt": 1}}, False),
        ({"missing": {"$lt": 1}}, False),
        ({"n": {"$lt": None}}, False),
        ({"d": {"e": {"f": 1}}}, True),
        ({"d": {"e": {}}}, True),
        ({"d": {"e": {"f": {"$gt": 1}}}}, False),
        ({"d": {"$eq": {"e": {}}}}, False),
        ({"n": {}}, False),
        ({"l": [1, {"z": 3}]}, True),
        ({"l": (1, {"z": 3})}, True),
        ({"l": [1]}, False),
        ({"l": [{"$gt": 0}, {}]}, True),
        ({"l": {"z": 3}}, False),
    ],
)
def test_filters(filter: Any, fits: bool) -> None:
    """LM-04."""
    assert matches(VALUE, filter) is fits


def test_an_operators_name_is_a_name_at_the_top() -> None:
    """LM-04: an entry of a value may be called so."""
    assert base.fits({"$eq": 1}, {"$eq": 1}) is True
    assert base.fits({}, {"$eq": 1}) is False


def test_large_numbers_are_compared_exactly() -> None:
    """LM-04: they are not made floats."""
    assert matches(10**17 + 1, {"$gt": 10**17}) is True


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        (("prefix", ()), True),
        (("prefix", ("a",)), True),
        (("prefix", ("b",)), False),
        (("prefix", ("*", "b")), True),
        (("prefix", ("a", "b", "c", "d")), False),
        (("suffix", ("c",)), True),
        (("suffix", ("b", "*")), True),
        (("suffix", ["b", "c"]), True),
        (("suffix", ("a", "c")), False),
    ],
)
def test_conditions(condition: Any, met: bool) -> None:
    """LM-05."""
    assert is_met(MatchCondition(*condition), ("a", "b", "c")) is met


def test_a_list_of_namespaces() -> None:
    """LM-05: sorted, each once, and cut out of that."""
    namespaces = [("b", "x"), ("a",), ("b", "x", "y"), ("c", "x")]
    ends_in_x = (MatchCondition("suffix", ("x",)),)
    assert listed(ListNamespacesOp(), namespaces) == sorted(namespaces)
    assert listed(ListNamespacesOp(ends_in_x), namespaces) == [("b", "x"), ("c", "x")]
    assert listed(ListNamespacesOp(max_depth=1), namespaces) == [("a",), ("b",), ("c",)]
    assert listed(ListNamespacesOp(max_depth=1, limit=1, offset=1), namespaces) == [("b",)]
    assert listed(ListNamespacesOp(limit=0), namespaces) == []
