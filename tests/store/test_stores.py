"""What every store of ours does, in memory and in a file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from minigraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    PutOp,
    SearchItem,
    SearchOp,
)
from minigraph.store.memory import InMemoryStore
from minigraph.store.sqlite import SqliteStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest) -> Iterator[BaseStore]:
    if request.param == "memory":
        yield InMemoryStore()
    else:
        with SqliteStore.from_conn_string(":memory:") as kept:
            yield kept


def keys(items: list[SearchItem]) -> list[str]:
    return [item.key for item in items]


def test_what_is_put_is_there(store: BaseStore) -> None:
    """LM-03."""
    before = datetime.now(UTC)
    assert store.get(("users", "ada"), "likes") is None
    store.put(("users", "ada"), "likes", {"colour": "green", "n": [1, {"x": None}]})
    item = store.get(("users", "ada"), "likes")
    assert item is not None
    assert (item.namespace, item.key) == (("users", "ada"), "likes")
    assert item.value == {"colour": "green", "n": [1, {"x": None}]}
    assert before <= item.created_at == item.updated_at <= datetime.now(UTC)
    assert item.created_at.utcoffset() == timedelta(0)
    assert store.get(("users",), "likes") is None
    assert store.get(("users", "ada"), "other") is None


def test_what_is_put_again(store: BaseStore) -> None:
    """LM-03: takes the place of the old value; when that was made is still known."""
    store.put(("a",), "k", {"x": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"y": 2})
    second = store.get(("a",), "k")
    assert first is not None
    assert second is not None
    assert second.value == {"y": 2}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at


def test_what_is_removed(store: BaseStore) -> None:
    """LM-03: and with the last item its namespace."""
    store.put(("a",), "k", {})
    store.put(("a",), "none", {})
    store.delete(("a",), "k")
    store.delete(("a",), "was never there")
    store.put(("a",), "none", None)
    assert store.get(("a",), "k") is None
    assert store.search(()) == []
    assert store.list_namespaces() == []


def test_reading_leaves_no_trace(store: BaseStore) -> None:
    """LM-05: a namespace in which somebody has looked, is not one in which there is something."""
    store.get(("a",), "k")
    store.search(("b",))
    assert store.list_namespaces() == []


def test_nothing_is_shared(store: BaseStore) -> None:
    """LM-03: neither what was given nor what was found."""
    given: dict[str, Any] = {"l": [1]}
    store.put(("a",), "k", given)
    given["l"].append(2)
    found = store.get(("a",), "k")
    assert found is not None
    found.value["l"].append(3)
    store.search(("a",))[0].value["l"].append(4)
    again = store.get(("a",), "k")
    assert again is not None
    assert again.value == {"l": [1]}


def test_below_a_namespace(store: BaseStore) -> None:
    """LM-04: label by label, so `user` is not below `use`; nothing is below a key."""
    for namespace in [("use",), ("use", "r"), ("user",), ("use-r",), ("use", "r", "x")]:
        store.put(namespace, "/".join(namespace), {})
    assert keys(store.search(("use",))) == ["use", "use/r", "use/r/x"]
    assert keys(store.search(("use", "r"))) == ["use/r", "use/r/x"]
    assert keys(store.search(())) == ["use", "use/r", "user", "use-r", "use/r/x"]
    assert store.search(("us",)) == store.search(("use", "x")) == []


def test_the_order_of_a_search(store: BaseStore) -> None:
    """LM-04: as they were first put, namespace by namespace, the one with the oldest item first.
    To put again changes nothing."""
    for key, namespace in [("1", "b"), ("2", "a"), ("3", "b"), ("4", "a")]:
        store.put((namespace,), key, {"x": 1})
    store.put(("b",), "1", {"x": 2})
    assert keys(store.search(())) == ["1", "3", "2", "4"]
    store.delete(("b",), "1")
    store.put(("b",), "1", {"x": 3})
    assert keys(store.search(())) == ["2", "4", "3", "1"]


def test_windows(store: BaseStore) -> None:
    """LM-04: ten, unless it is said; counted after the filter."""
    for i in range(12):
        store.put(("n",), f"k{i}", {"i": i, "even": i % 2 == 0})
    assert keys(store.search(("n",))) == [f"k{i}" for i in range(10)]
    assert keys(store.search(("n",), limit=2, offset=9)) == ["k9", "k10"]
    assert store.search(("n",), limit=0) == store.search(("n",), offset=12) == []
    even = {"even": True}
    assert keys(store.search(("n",), filter=even, limit=2, offset=1)) == ["k2", "k4"]
    assert keys(store.search(("n",), filter={"i": {"$gte": 10}})) == ["k10", "k11"]
    assert store.search(("n",), filter=even, limit=0) == []


def test_what_a_search_gives(store: BaseStore) -> None:
    """LM-04: items with all there is to know, and no score: nothing is ranked."""
    store.put(("a",), "k", {"text": "hello"}, index=["text"])
    store.put(("a",), "l", {"text": "bye"}, index=False)
    found = store.search(("a",), query="a greeting")
    assert found == [store.get(("a",), "k"), store.get(("a",), "l")]
    assert [type(item) for item in found] == [SearchItem, SearchItem]
    assert [item.score for item in found] == [None, None]


def test_namespaces(store: BaseStore) -> None:
    """LM-05."""
    for namespace in [("b", "x"), ("a",), ("a", "x"), ("b", "x", "y")]:
        store.put(namespace, "k", {})
    store.put(("a",), "l", {})
    assert store.list_namespaces() == [("a",), ("a", "x"), ("b", "x"), ("b", "x", "y")]
    assert store.list_namespaces(prefix=("b",)) == [("b", "x"), ("b", "x", "y")]
    assert store.list_namespaces(suffix=("x",)) == [("a", "x"), ("b", "x")]
    assert store.list_namespaces(prefix=("*", "x"), suffix=("y",)) == [("b", "x", "y")]
    assert store.list_namespaces(max_depth=1) == [("a",), ("b",)]
    assert store.list_namespaces(limit=2, offset=1) == [("a", "x"), ("b", "x")]


def test_a_batch(store: BaseStore) -> None:
    """LM-02: results in the order of operations; its reads see what was there before it."""
    store.put(("a",), "k", {"x": 1})
    results = store.batch(
        [
            PutOp(("a",), "k", {"x": 2}),
            GetOp(("a",), "k"),
            PutOp(("b",), "new", {}),
            SearchOp(("b",)),
            ListNamespacesOp(),
            GetOp(("b",), "new"),
            PutOp(("a",), "k", {"x": 3}),
        ]
    )
    assert results[0] is results[2] is results[5] is results[6] is None
    assert results[1].value == {"x": 1}
    assert (results[3], results[4]) == ([], [("a",)])
    assert [item.value for item in store.search(())] == [{"x": 3}, {}]
    assert store.batch([]) == []


def test_the_last_write_of_a_batch_counts(store: BaseStore) -> None:
    """LM-02: also one that removes."""
    store.batch([PutOp(("a",), "k", {"x": 1}), PutOp(("a",), "k", None)])
    assert store.search(()) == []
    store.batch([PutOp(("a",), "k", None), PutOp(("a",), "k", {"x": 1})])
    assert [item.value for item in store.search(())] == [{"x": 1}]


def test_a_batch_that_cannot_be_does_nothing(store: BaseStore) -> None:
    """LM-02, LM-06."""
    good = PutOp(("a",), "k", {})
    for bad, error in [
        (PutOp((), "k", {}), InvalidNamespaceError),
        (PutOp(("a.b",), "k", {}), InvalidNamespaceError),
        (PutOp(("a",), "k", {}, None, 5), NotImplementedError),
        (SearchOp(("a",), {"x": {"$bad": 1}}), ValueError),
    ]:
        with pytest.raises(error):
            store.batch([good, bad])
    assert store.list_namespaces() == []


def test_names_that_are_no_identifiers(store: BaseStore) -> None:
    """LM-01: everything but a dot may be in a label, and everything in a key."""
    odd = ("a/b", "ü %_*?[", "'; DROP TABLE store --")
    store.put(odd, "a.b/'\"%", {"ü": "\ud800 half a character", "e": ""})
    assert store.list_namespaces() == [odd]
    assert store.search(odd[:1])[0].value == {"ü": "\ud800 half a character", "e": ""}
    found = store.get(odd, "a.b/'\"%")
    assert found is not None
    assert store.search(("a/b", "ü %_*?")) == []


def test_async_methods(store: BaseStore) -> None:
    """LM-02: the same, for those who await; several at once too."""

    async def main() -> None:
        puts = [store.aput(("a",), str(i), {"i": i}) for i in range(20)]
        await asyncio.gather(*puts)
        item = await store.aget(("a",), "7")
        assert item is not None
        assert item.value == {"i": 7}
        assert len(await store.asearch(("a",), limit=50)) == 20
        await store.adelete(("a",), "7")
        assert await store.aget(("a",), "7") is None
        assert await store.alist_namespaces() == [("a",)]
        assert await store.abatch([GetOp(("a",), "7")]) == [None]

    asyncio.run(main())


def test_a_value_that_cannot_be_copied() -> None:
    """LM-03: in memory anything can be kept; what cannot be copied is shared."""
    connection = sqlite3.connect(":memory:")
    store = InMemoryStore()
    store.put(("a",), "k", {"connection": connection, "n": 1})
    found = store.get(("a",), "k")
    assert found is not None
    found.value["n"] = 2
    assert store.search(())[0].value == {"connection": connection, "n": 1}
    connection.close()
