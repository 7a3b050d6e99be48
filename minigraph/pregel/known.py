"""What was read before need not be read again.

The value of a `DeltaChannel` is put together from writes (see `deltas`), and in a long
conversation each turn would put together what the turn before had at its beginning. So a graph
remembers, for the threads that it has worked on lately, the value where it last began:

    last turn began here          this one begins here
           │                             │
           ▼                             ▼
    ○ ◀─── ● ◀─── ○ ◀─── ○ ◀─── ○ ◀────  ●        only the writes in between are fetched
         known

Checkpoints do not change, so what is known of one stays true. It was read from the store, and never
taken from a run: what nodes do to their lists is not in it. And it is given out as a copy. Where a
value cannot be edited, its items can be shared, and a copy costs next to nothing; the others are
kept as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from operator import is_
from typing import Any, Final

from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.config import namespace_of
from minigraph.types import RunnableConfig

MOST_THREADS: Final = 64
"""So many are remembered. With one more, all are forgotten, and each is read anew once."""

MOST_PARTS: Final = 32
"""A value is kept in so many parts, then it is packed anew in one."""

ATOMS: Final = frozenset({int, str, float, bool, type(None), bytes})
"""What nobody can edit, so it need not be copied."""

COPIES: Final = JsonPlusSerializer(allowed_msgpack_modules=True)
"""Makes copies that share nothing, or raises."""


class Remembered:
    """A value, from which fresh ones are made."""

    __slots__ = ("is_list", "parts", "value")

    def __init__(self, value: Any, before: Remembered | None = None, begins: Any = None) -> None:
        """Keep a value; it was made from `begins`, which was made of `before`.

        Raises whatever a serializer raises for a value that has no copy.
        """
        self.is_list = type(value) is list
        self.value: Any = None
        self.parts: list[Any] | None = None
        if before is None or not (self.is_list and before.is_list and same(begins, value, before)):
            before, begins = None, []
        added = value[len(begins) :] if self.is_list else value
        if (before is None or before.parts is None) and unchangeable(added):
            self.value = value.copy() if self.is_list else value
        elif before is not None and before.parts is not None and len(before.parts) < MOST_PARTS:
            self.parts = [*before.parts, COPIES.dumps_typed(added)]
        else:
            self.parts = [COPIES.dumps_typed(value)]

    def fresh(self) -> Any:
        """A value that shares nothing that can be edited with any other."""
        if self.parts is None:
            return self.value.copy() if self.is_list else self.value
        if not self.is_list:
            return COPIES.loads_typed(self.parts[0])
        return [item for part in self.parts for item in COPIES.loads_typed(part)]


def same(begins: list[Any], value: list[Any], before: Remembered) -> bool:
    """Whether `value` begins with the very items of `begins`."""
    if before.parts is None:  # equal is good enough for what cannot be edited, and quicker
        return value[: len(begins)] == begins
    return len(begins) <= len(value) and all(map(is_, begins, value))


def unchangeable(value: Any) -> bool:
    """Whether nobody can edit this, or the items of this list.

    >>> unchangeable("a"), unchangeable([1, "a"]), unchangeable([{}]), unchangeable({})
    (True, True, False, False)
    """
    return type(value) in ATOMS or (type(value) is list and ATOMS.issuperset(map(type, value)))


class Known:
    """What a graph remembers of threads in one store.

    >>> known = Known()
    >>> config = {"configurable": {"thread_id": "1", "checkpoint_id": "7"}}
    >>> known.keep(config, "7", {"log": Remembered(["a"])})
    >>> known.of(config)["7"]["log"].fresh()
    ['a']
    """

    def __init__(self) -> None:
        self.threads: dict[tuple[Any, str], tuple[str, Mapping[str, Remembered]]] = {}

    def of(self, config: RunnableConfig) -> Mapping[str, Mapping[str, Remembered]]:
        """Checkpoint id → channel → what is known, for this config's thread and namespace."""
        found = self.threads.get(self.place(config))
        return {} if found is None else {found[0]: found[1]}

    def keep(self, config: RunnableConfig, id: str, values: Mapping[str, Remembered]) -> None:
        """Remember this instead of what was known of the thread."""
        if len(self.threads) >= MOST_THREADS and self.place(config) not in self.threads:
            self.threads.clear()
        self.threads[self.place(config)] = (id, values)

    def place(self, config: RunnableConfig) -> tuple[Any, str]:
        return config["configurable"].get("thread_id"), namespace_of(config)


def known_in(saver: Any, known: MutableMapping[Any, Known]) -> Known:
    """What a graph remembers of the threads in this saver."""
    try:
        return known.setdefault(saver, Known())
    except TypeError:  # it cannot be a key
        return Known()
