"""A store in a dict, for tests and for processes that need not remember.

    items:  (namespace, key) ─▶ Item

Nothing is shared with the caller: what is put is copied, and so is what is found. Other stores turn
values into bytes, and a graph must not begin to depend on more.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, datetime
from itertools import chain
from threading import Lock
from typing import Any

from minigraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Namespace,
    Op,
    PutOp,
    SearchItem,
    SearchOp,
    check_op,
    fits,
    listed,
)

__all__ = ["InMemoryStore"]


class InMemoryStore(BaseStore):
    """A store that is gone with its process. Threads may use it at the same time.

    A search gives items in the order in which they were first put, namespace by namespace (LM-04).

    >>> store = InMemoryStore()
    >>> store.put(("users", "ada"), "likes", {"colour": "green"})
    >>> store.get(("users", "ada"), "likes").value
    {'colour': 'green'}
    >>> [item.key for item in store.search(("users",), filter={"colour": "green"})]
    ['likes']
    """

    def __init__(self) -> None:
        self.items: dict[tuple[Namespace, str], Item] = {}
        self.lock = Lock()

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        given = list(ops)
        for op in given:
            check_op(op, self)
        with self.lock:
            results = [None if isinstance(op, PutOp) else self.read(op) for op in given]
            # The last write to an item decides, so that one that was put and removed was not there.
            writes = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
            for op in writes.values():
                self.write(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Any]:
        return self.batch(ops)  # there is nothing to wait for

    def read(self, op: GetOp | SearchOp | ListNamespacesOp) -> Any:
        if isinstance(op, GetOp):
            item = self.items.get((op.namespace, op.key))
            if item is None:
                return None
            return Item(
                value=copied(item.value),
                key=item.key,
                namespace=item.namespace,
                created_at=item.created_at,
                updated_at=item.updated_at,
            )
        if isinstance(op, ListNamespacesOp):
            return listed(op, (namespace for namespace, _ in self.items))
        depth = len(op.namespace_prefix)
        found: dict[Namespace, list[Item]] = {}
        for (namespace, _), item in self.items.items():
            if namespace[:depth] == op.namespace_prefix:
                there = found.setdefault(namespace, [])
                if fits(item.value, op.filter):
                    there.append(item)
        window = [*chain.from_iterable(found.values())][op.offset : op.offset + op.limit]
        return [
            SearchItem(
                item.namespace, item.key, copied(item.value), item.created_at, item.updated_at
            )
            for item in window
        ]

    def write(self, op: PutOp) -> None:
        place = (op.namespace, op.key)
        if op.value is None:
            self.items.pop(place, None)
            return
        now = datetime.now(UTC)
        before = self.items.get(place)
        self.items[place] = Item(
            value=copied(dict(op.value)),
            key=op.key,
            namespace=op.namespace,
            created_at=now if before is None else before.created_at,
            updated_at=now,
        )


def copied(value: dict[str, Any]) -> dict[str, Any]:
    """A copy, down to the parts; where something in it cannot be copied, of the dict alone."""
    with suppress(Exception):
        return deepcopy(value)
    return dict(value)
