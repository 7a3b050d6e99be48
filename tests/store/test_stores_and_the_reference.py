"""The stores do what the reference's does: the same calls, on each, give the same.

Calls are drawn at random. They avoid what is different on purpose: the reference lists namespaces
that are empty, or in which somebody has only looked (LM-05), and raises for filters that compare
what cannot be compared (LM-04). So every namespace keeps one item, and every value has a number.
"""

from __future__ import annotations

import random
from typing import Any

import langgraph.store.base as their_base
import pytest
from langgraph.store.memory import InMemoryStore as TheirStore

import minigraph.store.base as our_base
from minigraph.checkpoint.sqlite.database import connect
from minigraph.store.memory import InMemoryStore
from minigraph.store.sqlite import SqliteStore

LABELS = "abc"
KEYS = "pqr"
VALUES: list[dict[str, Any]] = [
    {"n": 0},
    {"n": 3, "x": 3},
    {"n": True, "x": True},
    {"n": 2.5, "d": {"e": 1, "f": "t"}},
    {"n": "7", "l": [1, {"z": 1}]},
    {"n": "12", "l": [1, {"z": 0}]},
    {"n": -1, "t": "text"},
]
FILTERS: list[dict[str, Any] | None] = [
    None,
    {},
    {"x": 3},
    {"x": None},
    {"x": 1, "t": None},
    {"x": {"$ne": 3}},
    {"n": {"$gte": 1, "$lt": 8}},
    {"n": {"$lte": "3"}},
    {"n": {"$gt": 2}},
    {"d": {}},
    {"d": {"e": 1}},
    {"d": {"e": {"$eq": 1}}},
    {"l": [1, {"z": 1}]},
    {"t": {"$eq": "text"}},
]


def plain(found: Any) -> Any:
    if isinstance(found, list):
        return [plain(each) for each in found]
    if not hasattr(found, "value"):
        return found
    kind = type(found).__name__
    return kind, found.namespace, found.key, found.value, getattr(found, "score", "none")


class History:
    """Calls that are drawn from a seed, made on one store."""

    def __init__(self, seed: int, base: Any, store: Any) -> None:
        self.random = random.Random(seed)
        self.base = base
        self.store = store
        self.known: list[tuple[str, ...]] = []

    def namespace(self, length: int) -> tuple[str, ...]:
        return tuple(self.random.choice(LABELS) for _ in range(length))

    def put(self) -> Any:
        namespace = self.namespace(self.random.randint(1, 3))
        if namespace not in self.known:
            self.known.append(namespace)
            self.store.put(namespace, "keep", {"n": 9})
        return self.store.put(namespace, self.key(), self.random.choice(VALUES))

    def key(self) -> str:
        return self.random.choice(KEYS)

    def place(self) -> tuple[str, ...]:
        return self.random.choice(self.known)

    def delete(self) -> Any:
        return self.store.delete(self.place(), self.key())

    def search(self) -> Any:
        return self.store.search(
            self.namespace(self.random.randint(0, 3)),
            filter=self.random.choice(FILTERS),
            limit=self.random.randint(0, 10),
            offset=self.random.randint(0, 3),
        )

    def list_namespaces(self) -> Any:
        return self.store.list_namespaces(
            prefix=self.random.choice([None, ("a",), ("*", "b")]),
            suffix=self.random.choice([None, ("b",), ("*",), ("a", "*")]),
            max_depth=self.random.choice([None, 1, 2]),
            limit=self.random.randint(0, 9),
            offset=self.random.randint(0, 2),
        )

    def operation(self) -> Any:
        draw = self.random.randint(0, 4)
        if draw == 0:
            return self.base.GetOp(self.place(), self.key())
        if draw in (1, 2):
            value = self.random.choice([None, *VALUES])
            return self.base.PutOp(self.place(), self.key(), value)
        if draw == 3:
            return self.base.SearchOp(self.namespace(1), self.random.choice(FILTERS), 5)
        return self.base.ListNamespacesOp()

    def batch(self) -> Any:
        return self.store.batch([self.operation() for _ in range(self.random.randint(1, 4))])

    def play(self) -> list[Any]:
        told: list[Any] = []
        self.put()
        verbs = [self.put, self.put, self.delete, self.search, self.list_namespaces, self.batch]
        for _ in range(60):
            verb = self.random.choice(verbs)
            told.append((verb.__name__, plain(verb())))
        return told


@pytest.mark.parametrize("seed", range(60))
def test_the_same_calls_give_the_same(seed: int) -> None:
    """LM-02 to LM-05."""
    theirs = History(seed, their_base, TheirStore()).play()
    ours = History(seed, our_base, InMemoryStore()).play()
    with SqliteStore.from_conn_string(":memory:") as store:
        in_a_file = History(seed, our_base, store).play()
    assert ours == theirs
    assert in_a_file == ours


def test_the_histories_are_not_empty() -> None:
    """So that the test above is one."""
    played = [History(seed, their_base, TheirStore()).play() for seed in range(60)]
    found = [result for told in played for verb, result in told if verb == "search"]
    assert sum(map(len, played)) == 3600
    assert sum(map(len, found)) > 200


def their_way(name: str, namespace: Any, *rest: Any) -> str:
    """The class that a call raises in the reference, or ``none``."""
    try:
        getattr(TheirStore(), name)(namespace, *rest)
    except Exception as error:
        return type(error).__name__
    return "none"


def our_way(name: str, namespace: Any, *rest: Any) -> str:
    store = SqliteStore(connect(":memory:"))
    try:
        getattr(store, name)(namespace, *rest)
    except Exception as error:
        return type(error).__name__
    finally:
        store.database.close()
    return "none"


@pytest.mark.parametrize(
    "call",
    [
        ("put", (), "k", {}),
        ("put", ("a", ""), "k", {}),
        ("put", ("a.b",), "k", {}),
        ("put", ("a", 1), "k", {}),
        ("put", ("langgraph",), "k", {}),
        ("put", ("a", "langgraph"), "k", {}),
        ("put", ("a",), 5, {}),
        ("put", ("a",), "k", [1]),
        ("put", ("a",), "k", None),
        ("get", (), "k"),
        ("get", ("a.b",), "k"),
        ("get", ("langgraph",), "k"),
        ("search", ("a.b",)),
        ("search", ("a", "")),
        ("delete", (), "k"),
    ],
)
def test_what_is_refused_there_is_refused_here(call: Any) -> None:
    """LM-01: by an error of the same class."""
    assert our_way(*call) == their_way(*call)
