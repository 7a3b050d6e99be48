"""A cache in a dict."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from minigraph.cache.base import BaseCache, FullKey
from minigraph.cache.memory import InMemoryCache

A: FullKey = (("ns", "a"), "1")
B: FullKey = (("ns", "b"), "1")


@dataclass
class Value:
    x: int


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def call(face: str, cache: BaseCache[Any], method: str, *arguments: Any) -> Any:
    if face == "sync":
        return getattr(cache, method)(*arguments)
    return asyncio.run(getattr(cache, "a" + method)(*arguments))


def test_what_is_kept_is_found(face: str) -> None:
    """ER-50: and nothing else is in the answer."""
    cache: InMemoryCache[Any] = InMemoryCache()
    call(face, cache, "set", {A: ([("x", 1)], None), B: (Value(2), None)})
    assert call(face, cache, "get", [A, B, (("ns", "a"), "2")]) == {A: [("x", 1)], B: Value(2)}
    assert call(face, cache, "get", []) == {}


def test_a_value_grows_too_old(face: str) -> None:
    """ER-50: after its seconds it is not there any more, and is forgotten."""
    now = [100.0]
    cache: InMemoryCache[int] = InMemoryCache(now=lambda: now[0])
    call(face, cache, "set", {A: (1, 10), B: (2, None)})
    now[0] = 109.9
    assert call(face, cache, "get", [A, B]) == {A: 1, B: 2}
    now[0] = 110.0
    assert call(face, cache, "get", [A, B]) == {B: 2}
    assert cache.kept[A[0]] == {}
    call(face, cache, "set", {A: (3, 10)})
    assert call(face, cache, "get", [A]) == {A: 3}


def test_what_is_kept_cannot_be_edited(face: str) -> None:
    """ER-50: neither by whoever gave it nor by whoever got it."""
    cache: InMemoryCache[list[int]] = InMemoryCache()
    given = [1]
    call(face, cache, "set", {A: (given, None)})
    given.append(2)
    call(face, cache, "get", [A])[A].append(3)
    assert call(face, cache, "get", [A]) == {A: [1]}


def test_clear(face: str) -> None:
    """ER-51: some namespaces, or all."""
    cache: InMemoryCache[int] = InMemoryCache()
    call(face, cache, "set", {A: (1, None), B: (2, None)})
    call(face, cache, "clear", [A[0], ("no", "such")])
    assert call(face, cache, "get", [A, B]) == {B: 2}
    call(face, cache, "clear")
    assert call(face, cache, "get", [A, B]) == {}


def test_what_cannot_be_kept() -> None:
    """None of it is."""
    cache: InMemoryCache[Any] = InMemoryCache()
    with pytest.raises(TypeError):
        cache.set({A: (1, None), B: (lambda: 1, None)})
    assert cache.get([A, B]) == {}


def test_the_base_class_is_a_contract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        BaseCache()  # type: ignore[abstract]
