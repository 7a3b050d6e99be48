"""A cache in a dict: for one process, and for as long as it lives."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TypeVar

from minigraph.cache.base import BaseCache, FullKey, Namespace
from minigraph.checkpoint.serde.base import SerializerProtocol

__all__ = ["InMemoryCache"]

Value = TypeVar("Value")


class InMemoryCache(BaseCache[Value]):
    """Keeps values as bytes, so that nobody can edit what is kept (ER-50).

    Args:
        serde: how values become bytes. The default builds every class again, since only this
            process can have put it here.
        now: seconds since some moment, for values that may grow too old.

    Safe to use from several threads.

    >>> cache = InMemoryCache()
    >>> cache.set({(("node",), "key"): ([1], None)})
    >>> cache.get([(("node",), "key"), (("node",), "other")])
    {(('node',), 'key'): [1]}
    """

    def __init__(
        self,
        *,
        serde: SerializerProtocol | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(serde=serde)
        self.now = now
        self.lock = Lock()
        self.kept: dict[Namespace, dict[str, tuple[str, bytes, float | None]]] = {}

    def get(self, keys: Sequence[FullKey]) -> dict[FullKey, Value]:
        """The values that are there, and not too old, by key. What is too old is forgotten."""
        found: dict[FullKey, tuple[str, bytes]] = {}
        now = self.now()
        with self.lock:
            for namespace, key in keys:
                entry = self.kept.get(namespace, {}).get(key)
                if entry is None:
                    continue
                tag, raw, until = entry
                if until is not None and until <= now:
                    del self.kept[namespace][key]
                else:
                    found[namespace, key] = tag, raw
        return {key: self.serde.loads_typed(typed) for key, typed in found.items()}

    async def aget(self, keys: Sequence[FullKey]) -> dict[FullKey, Value]:
        """`get`; nothing here has to be waited for."""
        return self.get(keys)

    def set(self, pairs: Mapping[FullKey, tuple[Value, int | None]]) -> None:
        """Keep values, each with the seconds for which it may be used; None for ever.

        Raises `TypeError` for a value that the serializer does not take; then none of them is kept.
        """
        now = self.now()
        typed = {
            key: (*self.serde.dumps_typed(value), None if ttl is None else now + ttl)
            for key, (value, ttl) in pairs.items()
        }
        with self.lock:
            for (namespace, key), entry in typed.items():
                self.kept.setdefault(namespace, {})[key] = entry

    async def aset(self, pairs: Mapping[FullKey, tuple[Value, int | None]]) -> None:
        """`set`; nothing here has to be waited for."""
        self.set(pairs)

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """Forget what is in these namespaces; everything if None."""
        with self.lock:
            for namespace in [*self.kept] if namespaces is None else namespaces:
                self.kept.pop(namespace, None)

    async def aclear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        """`clear`; nothing here has to be waited for."""
        self.clear(namespaces)
