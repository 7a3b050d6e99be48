"""What a store must offer.

A checkpoint belongs to a thread. What must outlive the thread, such as what a user likes, goes
into a store: a place for items that every thread, and every graph, may read and write at any time.

    namespace                 key         value
    ("users", "ada")          "likes"     {"colour": "green"}
    ("users", "ada", "trips") "2026"      {"to": "Rome", "days": 3}
    ─── a path of labels ───  ─ a name ─  ─── a dict ────────────

A store is written by one method, `BaseStore.batch`: it takes operations, as records, and returns
their results. All others are one operation in the user's words. They need not be written again:
whoever has a database, and implements `batch`, has a store.

Nothing here ranks items by what they mean. A graph that asks a store to index a value, or to
search by a question, gets what a store without an index gives: all that fits, in order.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

__all__ = [
    "BaseStore",
    "GetOp",
    "InvalidNamespaceError",
    "Item",
    "ListNamespacesOp",
    "MatchCondition",
    "NamespaceMatchType",
    "NamespacePath",
    "Op",
    "PutOp",
    "Result",
    "SearchItem",
    "SearchOp",
]

Namespace: TypeAlias = tuple[str, ...]

NamespacePath: TypeAlias = tuple[str | Literal["*"], ...]
"""Labels to compare with those of a namespace; ``"*"`` is like any label (LM-05)."""

NamespaceMatchType: TypeAlias = Literal["prefix", "suffix"]
"""Which end of a namespace is looked at."""

ROOT_OF_THE_MACHINE: Final = "langgraph"
"""The first label that users may not write to; the reference keeps it for itself."""


class InvalidNamespaceError(ValueError):
    """This is no namespace, or none that can be written to (LM-01)."""


# ---------------------------------------------------------------- what is stored


class Item:
    """A value in a store, and where it is.

    Args:
        value: a dict. It is the reader's own: to change it changes nothing in the store.
        key: its name in its namespace.
        namespace: the path to it.
        created_at, updated_at: when it was first and last put there; may be ISO 8601 text.

    >>> Item(value={"x": 1}, key="k", namespace=("a",), created_at="2026-01-01T00:00:00+00:00",
    ...      updated_at="2026-01-01T00:00:00+00:00")
    Item(namespace=['a'], key='k', value={'x': 1}, created_at='2026-01-01T00:00:00+00:00', \
updated_at='2026-01-01T00:00:00+00:00')
    """

    __slots__ = ("created_at", "key", "namespace", "updated_at", "value")

    def __init__(
        self,
        *,
        value: dict[str, Any],
        key: str,
        namespace: Sequence[str],
        created_at: datetime | str,
        updated_at: datetime | str,
    ) -> None:
        self.value = value
        self.key = key
        self.namespace = tuple(namespace)
        self.created_at = as_time(created_at)
        self.updated_at = as_time(updated_at)

    def dict(self) -> dict[str, Any]:
        """All of it as plain data; times are text."""
        return {
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Item):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in Item.__slots__)

    def __hash__(self) -> int:
        return hash((self.namespace, self.key))

    def __repr__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in self.dict().items())
        return f"Item({', '.join(fields)})"


class SearchItem(Item):
    """An item that a search has found.

    Attributes:
        score: how well it fits, in stores that can tell. Here it is None.
    """

    __slots__ = ("score",)

    def __init__(
        self,
        namespace: Sequence[str],
        key: str,
        value: dict[str, Any],
        created_at: datetime | str,
        updated_at: datetime | str,
        score: float | None = None,
    ) -> None:
        super().__init__(
            value=value,
            key=key,
            namespace=namespace,
            created_at=created_at,
            updated_at=updated_at,
        )
        self.score = score

    def dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {**super().dict(), "score": self.score}


def as_time(given: datetime | str) -> datetime:
    return datetime.fromisoformat(given) if isinstance(given, str) else given


# ---------------------------------------------------------------- what can be asked for


class GetOp(NamedTuple):
    """Read one item. Result: an `Item`, or None if there is none."""

    namespace: Namespace
    key: str
    refresh_ttl: bool = True


class SearchOp(NamedTuple):
    """Find items below a namespace. Result: a list of `SearchItem` (LM-04).

    Fields:
        namespace_prefix: what their namespaces begin with; ``()`` for all.
        filter: what must be in their values, see `matches`.
        limit, offset: how many, and how many of the first ones to leave out.
        query: a question, for stores that can rank by it. Here it makes no difference.
    """

    namespace_prefix: Namespace
    filter: Mapping[str, Any] | None = None
    limit: int = 10
    offset: int = 0
    query: str | None = None
    refresh_ttl: bool = True


class PutOp(NamedTuple):
    """Write an item, or remove it. Result: None.

    Fields:
        value: None removes the item, if it is there.
        index: which parts of the value to index, for stores that can. Here it makes no difference.
        ttl: minutes to live, for stores with ``supports_ttl``.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any] | None
    index: Literal[False] | list[str] | None = None  # type: ignore[assignment]  # no method here
    ttl: float | None = None


class MatchCondition(NamedTuple):
    """What a namespace must begin or end with."""

    match_type: NamespaceMatchType
    path: NamespacePath


class ListNamespacesOp(NamedTuple):
    """List the namespaces in which something is. Result: a sorted list (LM-05).

    Fields:
        match_conditions: all of them must be met.
        max_depth: cut longer ones to so many labels; each is listed once.
        limit, offset: how many, and how many of the first ones to leave out.
    """

    match_conditions: tuple[MatchCondition, ...] | None = None
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0


Op: TypeAlias = GetOp | SearchOp | PutOp | ListNamespacesOp
"""What `BaseStore.batch` takes."""

Result: TypeAlias = Item | list[Item] | list[SearchItem] | list[Namespace] | None
"""What it gives for each."""


class BaseStore(ABC):
    """A place for items. A subclass implements `batch`; the rest follows.

    Every method has an async twin, whose name begins with ``a``. A store that knows how to wait
    without a thread overrides `abatch`.

    Attributes:
        supports_ttl: whether items can be given a time to live. If not, to ask for one is a
            `NotImplementedError`: they would be kept for ever instead (LM-06).
    """

    supports_ttl = False

    @abstractmethod
    def batch(self, ops: Iterable[Op]) -> list[Any]:
        """Do all of these, and return a result for each, in their order (LM-02).

        The reads see the store as it was before the batch. Of several writes to one item the last
        one counts.

        Raises `InvalidNamespaceError` and `TypeError` for an operation that cannot be; then none
        has been done.
        """

    async def abatch(self, ops: Iterable[Op]) -> list[Any]:
        """`batch`, for those who await; it works on a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def get(
        self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """One item; None if there is none."""
        found: Item | None = self.batch([get_op(namespace, key, refresh_ttl)])[0]
        return found

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any] | None,
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | None = None,
    ) -> None:
        """Write an item, in the place of the one of this name (LM-03).

        Args:
            namespace: labels, neither empty nor with a ``.`` in them; the first is not
                ``"langgraph"`` (LM-01).
            value: a dict. None removes the item.
            index: for stores that rank by meaning.
            ttl: minutes to live.
        """
        self.batch([self.put_op(namespace, key, value, index, ttl)])

    def delete(self, namespace: Namespace, key: str) -> None:
        """Remove an item, if it is there."""
        self.batch([PutOp(namespace, str(key), None)])

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """The items whose namespace begins so, and whose value fits `filter` (LM-04).

        Args:
            namespace_prefix: labels; ``()`` for all items.
            filter: what must be in the values: ``{"days": {"$gte": 3}}``, see `matches`.
            limit, offset: at most so many, without so many of the first ones.
            query: for stores that rank by meaning.
        """
        op = SearchOp(namespace_prefix, filter, limit, offset, query, refresh_ttl is not False)
        found: list[SearchItem] = self.batch([op])[0]
        return found

    def list_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """The namespaces in which there are items, sorted (LM-05).

        Args:
            prefix, suffix: what they begin and end with; ``"*"`` is like any label.
            max_depth: cut longer ones to so many labels.
            limit, offset: at most so many, without so many of the first ones.
        """
        op = ListNamespacesOp(conditions(prefix, suffix), max_depth, limit, offset)
        found: list[Namespace] = self.batch([op])[0]
        return found

    def put_op(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any] | None,
        index: Literal[False] | list[str] | None,
        ttl: float | None,
    ) -> PutOp:
        op = PutOp(namespace, str(key), value, index, ttl)
        check_op(op, self)
        return op

    # ------------------------------------------------------------ for those who await

    async def aget(
        self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None
    ) -> Item | None:
        """`get`."""
        found: Item | None = (await self.abatch([get_op(namespace, key, refresh_ttl)]))[0]
        return found

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any] | None,
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | None = None,
    ) -> None:
        """`put`."""
        await self.abatch([self.put_op(namespace, key, value, index, ttl)])

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """`delete`."""
        await self.abatch([PutOp(namespace, str(key), None)])

    async def asearch(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """`search`."""
        op = SearchOp(namespace_prefix, filter, limit, offset, query, refresh_ttl is not False)
        found: list[SearchItem] = (await self.abatch([op]))[0]
        return found

    async def alist_namespaces(
        self,
        *,
        prefix: NamespacePath | None = None,
        suffix: NamespacePath | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """`list_namespaces`."""
        op = ListNamespacesOp(conditions(prefix, suffix), max_depth, limit, offset)
        found: list[Namespace] = (await self.abatch([op]))[0]
        return found


def get_op(namespace: Namespace, key: str, refresh_ttl: bool | None) -> GetOp:
    return GetOp(namespace, str(key), refresh_ttl is not False)


def conditions(
    prefix: NamespacePath | None, suffix: NamespacePath | None
) -> tuple[MatchCondition, ...] | None:
    """What the arguments of `list_namespaces` ask for.

    >>> conditions(("users",), None)
    (MatchCondition(match_type='prefix', path=('users',)),)
    """
    found = [MatchCondition("prefix", prefix)] if prefix else []
    found += [MatchCondition("suffix", suffix)] if suffix else []
    return tuple(found) or None


# ---------------------------------------------------------------- for those who write a store


def check_op(op: Any, store: BaseStore) -> None:
    """Refuse an operation that cannot be, before anything is done (LM-01).

    Raises `InvalidNamespaceError` for what is no namespace, `TypeError` for what is no operation,
    no key or no value, `ValueError` for a limit or an offset below zero and for an operator that
    does not exist, and `NotImplementedError` for a time to live, if the store has none.
    """
    if isinstance(op, GetOp):
        check_labels(op.namespace, "A namespace")
        check_key(op.key)
    elif isinstance(op, PutOp):
        check_labels(op.namespace, "A namespace")
        check_key(op.key)
        if op.value is None:
            return
        check_writable(op.namespace)
        if not isinstance(op.value, Mapping):
            raise TypeError(
                f"The value of an item is a dict, but for {op.key!r} in {op.namespace} it is "
                f"{op.value!r:.200}. Put it into one: {{'value': …}}."
            )
        if op.ttl is not None and not store.supports_ttl:
            raise NotImplementedError(
                f"{type(store).__name__} keeps items for ever: it has no time to live. Leave out "
                "ttl, and delete items that are too old by their updated_at."
            )
    elif isinstance(op, SearchOp):
        check_labels(op.namespace_prefix, "A namespace_prefix")
        check_window(op)
        for wanted in (op.filter or {}).values():
            check_filter(wanted)
    elif isinstance(op, ListNamespacesOp):
        check_window(op)
        for kind, path in op.match_conditions or ():
            if kind not in ("prefix", "suffix"):
                raise ValueError(f"A namespace is matched by 'prefix' or 'suffix', not {kind!r}.")
            if isinstance(path, str):
                raise InvalidNamespaceError(f"A {kind} is a tuple of labels, not {path!r}.")
        if op.max_depth is not None and op.max_depth < 1:
            raise ValueError(f"max_depth must be at least 1, but it is {op.max_depth}.")
    else:
        raise TypeError(
            "An operation is a GetOp, a PutOp, a SearchOp or a ListNamespacesOp, but this is "
            f"{op!r:.200}."
        )


def check_labels(namespace: Any, what: str) -> None:
    """Refuse what no namespace can begin with."""
    if not isinstance(namespace, tuple):
        raise InvalidNamespaceError(
            f"{what} is a tuple of labels, such as ('users', 'ada'), but this is {namespace!r}."
        )
    for label in namespace:
        if not isinstance(label, str):
            raise InvalidNamespaceError(
                f"A namespace is made of text, but {label!r} in {namespace} is "
                f"{type(label).__name__}."
            )
        if not label:
            raise InvalidNamespaceError(f"A label of a namespace is not empty, as in {namespace}.")
        if "." in label:
            raise InvalidNamespaceError(
                f"A label of a namespace has no '.' in it, but {label!r} in {namespace} has: paths "
                "are stored with it."
            )


def check_writable(namespace: Namespace) -> None:
    """Refuse a namespace that nothing may be put into."""
    if not namespace:
        raise InvalidNamespaceError("The namespace of an item needs at least one label.")
    if namespace[0] == ROOT_OF_THE_MACHINE:
        raise InvalidNamespaceError(
            f"A namespace does not begin with {ROOT_OF_THE_MACHINE!r}, which is reserved, as in "
            f"{namespace}."
        )


def check_key(key: Any) -> None:
    if not isinstance(key, str):
        raise TypeError(f"The key of an item is text, but this is {key!r}.")


def check_window(op: SearchOp | ListNamespacesOp) -> None:
    for name, number in (("limit", op.limit), ("offset", op.offset)):
        if not isinstance(number, int) or number < 0:
            raise ValueError(f"{name} is a number from 0 on, but it is {number!r}.")


OPERATORS: Final = {
    "$eq": lambda found, wanted: found == wanted,
    "$ne": lambda found, wanted: found != wanted,
    "$gt": lambda found, wanted: found > wanted,
    "$gte": lambda found, wanted: found >= wanted,
    "$lt": lambda found, wanted: found < wanted,
    "$lte": lambda found, wanted: found <= wanted,
}


def matches(found: Any, wanted: Any) -> bool:
    """Whether a value fits a filter (LM-04).

        {"city": "Rome"}                 has this entry; one that is not there is like None
        {"trip": {"to": "Rome"}}         has it further inside; other entries do not matter
        {"days": {"$gte": 3, "$lt": 7}}  operators: $eq, $ne, $gt, $gte, $lt, $lte

    Numbers are compared with numbers, text that looks like a number too; other text with text. What
    cannot be compared does not fit.

    >>> value = {"to": "Rome", "days": 3, "by": {"train": True, "class": 2}}
    >>> matches(value, {"by": {"class": 2}}), matches(value, {"days": {"$gt": 3}})
    (True, False)
    """
    if isinstance(wanted, Mapping):
        if has_operators(wanted):
            return all(compare(found, operator, bound) for operator, bound in wanted.items())
        return isinstance(found, Mapping) and fits(found, wanted)
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(found, (list, tuple))
            and len(found) == len(wanted)
            and all(map(matches, found, wanted))
        )
    return bool(found == wanted)


def fits(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Whether the entries of a value fit those of a filter, whatever these are called."""
    return all(matches(value.get(key), wanted) for key, wanted in (filter or {}).items())


def has_operators(wanted: Any) -> bool:
    return isinstance(wanted, Mapping) and any(
        isinstance(key, str) and key.startswith("$") for key in wanted
    )


def check_filter(wanted: Any) -> None:
    """Raise `ValueError` for an operator that does not exist, also where there is no item yet."""
    if has_operators(wanted):
        if unknown := [key for key in wanted if key not in OPERATORS]:
            raise ValueError(
                f"Unsupported operator {unknown[0]!r} in a filter; there are "
                f"{', '.join(OPERATORS)}."
            )
    elif isinstance(wanted, (Mapping, list, tuple)):
        for inner in wanted.values() if isinstance(wanted, Mapping) else wanted:
            check_filter(inner)


def compare(found: Any, operator: str, bound: Any) -> bool:
    if operator not in ("$eq", "$ne"):
        try:
            found, bound = as_number(found), as_number(bound)
        except (TypeError, ValueError):
            if not (isinstance(found, str) and isinstance(bound, str)):
                return False
    return bool(OPERATORS[operator](found, bound))


def as_number(value: Any) -> float:
    return value if isinstance(value, (int, float)) else float(value)


def is_met(condition: MatchCondition, namespace: Namespace) -> bool:
    """Whether a namespace begins, or ends, as it should.

    >>> is_met(MatchCondition("suffix", ("*", "trips")), ("users", "ada", "trips"))
    True
    """
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    start = 0 if condition.match_type == "prefix" else len(namespace) - len(path)
    return all(label in ("*", there) for label, there in zip(path, namespace[start:], strict=False))


def listed(op: ListNamespacesOp, namespaces: Iterable[Namespace]) -> list[Namespace]:
    """Those of all namespaces that were asked for.

    >>> listed(ListNamespacesOp(max_depth=1), [("b", "c"), ("a",), ("b",)])
    [('a',), ('b',)]
    """
    found = {
        namespace[: op.max_depth]
        for namespace in namespaces
        if all(is_met(condition, namespace) for condition in op.match_conditions or ())
    }
    return sorted(found)[op.offset : op.offset + op.limit]
