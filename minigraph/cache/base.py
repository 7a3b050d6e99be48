"""A cache: what nodes wrote, to be used again.

Some nodes give the same output for the same input, at a price. Such a node has a `CachePolicy`, and
the graph that it is in a cache:

    graph = builder.compile(cache=InMemoryCache())

A cache is a store of pairs, by namespace and key. The namespace is the node's, so that all it has
said can be forgotten at once; the key is made of its input. What is stored is what the node wrote,
as a tuple of (channel, value). Unlike a saver's, none of it is needed: a cache may forget at any
time, and it may be shared by graphs and processes.
"""

from __future__ import annotations

import marshal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Generic, TypeAlias, TypeVar

from minigraph.checkpoint.serde.base import SerializerProtocol
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer

__all__ = ["BaseCache", "FullKey", "Namespace"]

Value = TypeVar("Value")

Namespace: TypeAlias = tuple[str, ...]
"""Whose entries these are."""

FullKey: TypeAlias = tuple[Namespace, str]
"""A namespace, and a key in it."""


class BaseCache(ABC, Generic[Value]):
    """What a cache must offer. Sync runs call the sync methods, async ones those with an ``a``.

    Args:
        serde: how values become bytes, for caches that keep bytes.
    """

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        self.serde: SerializerProtocol = serde or JsonPlusSerializer(allowed_msgpack_modules=True)

    @abstractmethod
    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Value]:
        """The values that are there, and not too old, by key."""

    @abstractmethod
    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, Value]:
        """`get` on the event loop."""

    @abstractmethod
    def set(self, pairs: Mapping[FullKey, tuple[Value, int | None]]) -> None:
        """Keep values, each with the seconds for which it may be used; None for ever."""

    @abstractmethod
    async def aset(self, pairs: Mapping[FullKey, tuple[Value, int | None]]) -> None:
        """`set` on the event loop."""

    @abstractmethod
    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget what is in these namespaces; everything if None."""

    @abstractmethod
    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """`clear` on the event loop."""


WRITES = "__pregel_ns_writes"


def namespace_of(name: str, function: Any) -> Namespace:
    """Where a node's outputs are kept: its name, and what it does.

    A cache may be shared, so two nodes of one name must not take each other's outputs, not even if
    both are a ``lambda`` of the same place. What a function finds in names around it, or what a
    callable object holds, is not seen: then give the policy a `key_func` that says it.
    """
    return (WRITES, identity_of(function), name)


def identity_of(function: Any) -> str:
    """A text that tells functions apart, in other processes as well: name, place and code.

    >>> identity_of(lambda x: 1) == identity_of(lambda x: 2)
    False
    """
    while hasattr(function, "__wrapped__") or hasattr(function, "func"):
        function = getattr(function, "__wrapped__", None) or function.func
    code = getattr(function, "__code__", None)
    named = function if hasattr(function, "__qualname__") else type(function)
    name = f"{named.__module__}.{named.__qualname__}"
    # Version 2 of the format has no notes about shared objects, so equal code gives equal bytes.
    return name if code is None else f"{name}:{digest(marshal.dumps(code, 2))}"


def digest(key: str | bytes) -> str:
    """128 bits of a key, as text."""
    raw = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
    return blake2b(raw, digest_size=16).hexdigest()
