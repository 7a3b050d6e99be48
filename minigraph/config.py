"""The config: where a call goes, and what accompanies it.

One plain dict travels with every call. The runtime reads a few keys of it, the rest is
passed on to nodes and stored as metadata:

    configurable   thread_id, checkpoint_ns, checkpoint_id    which thread, and where in it
                   anything else                              for the nodes
    metadata, tags                                            for the nodes and the store
    recursion_limit, max_concurrency                          for the runtime
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from minigraph.context import running_task
from minigraph.types import RunnableConfig, StreamWriter

if TYPE_CHECKING:
    from minigraph.store.base import BaseStore

__all__ = ["RunnableConfig", "get_config", "get_store", "get_stream_writer"]

EXAMPLE: Final = '{"configurable": {"thread_id": "1"}}'

KNOWN_KEYS: Final = frozenset(RunnableConfig.__annotations__)
"""Any other key at the top of a config is the user's own, and those live in ``configurable``."""

SHAPES: Final[dict[str, Any]] = {
    "configurable": Mapping,
    "metadata": Mapping,
    "tags": (list, tuple),
}
"""What these keys of a config must be."""

DEFAULT_RECURSION_LIMIT: Final = int(os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT", "10007"))
"""Super-steps that a run may take when the config does not say (SS-40)."""


def get_config() -> RunnableConfig:
    """The config of the task that is running here (MR-07).

    Raises `RuntimeError` outside of a node.

    >>> get_config()
    Traceback (most recent call last):
    RuntimeError: get_config() was called outside of a node: no task is running here.
    """
    task = running_task.get()
    if task is None:
        raise RuntimeError("get_config() was called outside of a node: no task is running here.")
    return task.config


def get_store() -> BaseStore:
    """The store of the run; None if the graph was compiled without one (LM-08, MR-07).

    Raises `RuntimeError` outside of a node.

    >>> get_store()
    Traceback (most recent call last):
    RuntimeError: get_store() was called outside of a node: no task is running here.
    """
    task = running_task.get()
    if task is None:
        raise RuntimeError("get_store() was called outside of a node: no task is running here.")
    store: BaseStore = task.store
    return store


def get_stream_writer() -> StreamWriter:
    """A function that tells the reader of the stream ``custom`` something, at once (ST-17).

    Where nobody reads that stream it does nothing. Raises `RuntimeError` outside of a node.

    >>> get_stream_writer()
    Traceback (most recent call last):
    RuntimeError: get_stream_writer() was called outside of a node: no task is running here. ...
    """
    task = running_task.get()
    if task is None:
        raise RuntimeError(
            "get_stream_writer() was called outside of a node: no task is running here. To speak "
            "from a thread of your own, get the writer in the node and hand it over."
        )
    return task.write


def prepared(config: RunnableConfig | None) -> RunnableConfig:
    """A caller's config without the entries that are None: they say no more than absent ones.

    Keys that the runtime does not know are the user's own, and move to ``configurable``.

    Raises `ValueError` for limits below 1 (SS-44), `TypeError` for what is no config.

    >>> prepared({"tags": None, "metadata": {"user": "u"}}), prepared(None)
    ({'metadata': {'user': 'u'}}, {})
    >>> prepared({"recursion_limit": 0})
    Traceback (most recent call last):
    ValueError: recursion_limit must be at least 1, but it is 0.
    """
    if not isinstance(config or {}, Mapping):
        hint = " Pass its .config." if hasattr(config, "config") else ""
        raise TypeError(
            f"A config is a dict, such as {EXAMPLE}, but this is {config!r:.100}.{hint}"
        )
    given: Any = {key: value for key, value in (config or {}).items() if value is not None}
    for name, kind in SHAPES.items():
        if name in given and not isinstance(given[name], kind):
            words = "a list" if name == "tags" else "a dict"
            raise TypeError(f"{name!r} of a config is {words}, but it is {given[name]!r}.")
    if not KNOWN_KEYS.issuperset(given):
        own = {key: given.pop(key) for key in given.keys() - KNOWN_KEYS}
        given["configurable"] = {**own, **given.get("configurable", {})}
    for name in ("recursion_limit", "max_concurrency"):
        if name in given:
            at_least_one(name, given[name])
    prepared: RunnableConfig = given
    return prepared


def merged(first: RunnableConfig | None, second: RunnableConfig | None) -> RunnableConfig:
    """Two configs as one: where both speak, the second is heard (MR-08).

    ``configurable`` and ``metadata`` are merged key by key, tags are joined. Raises as `prepared`.

    >>> bound = {"tags": ["a"], "metadata": {"user": "u"}, "configurable": {"x": 1, "y": 1}}
    >>> merged(bound, {"tags": ["b"], "configurable": {"y": 2}})["configurable"]
    {'x': 1, 'y': 2}
    >>> merged(bound, {"tags": ["b"]})["tags"], merged(None, {"tags": ["b"]})
    (['a', 'b'], {'tags': ['b']})
    """
    if not first:
        return prepared(second)
    below: Any = prepared(first)
    above: Any = prepared(second)
    both: Any = {**below, **above}
    for key in below.keys() & above.keys():
        if key in ("configurable", "metadata"):
            both[key] = {**below[key], **above[key]}
        elif key == "tags":
            both[key] = [*below[key], *above[key]]
    merged: RunnableConfig = both
    return merged


def recursion_limit(config: RunnableConfig) -> int:
    """How many super-steps the run may take. Raises `ValueError` below 1 (SS-44)."""
    limit = config.get("recursion_limit", DEFAULT_RECURSION_LIMIT)
    at_least_one("recursion_limit", limit)
    return limit


def at_least_one(name: str, limit: Any) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise TypeError(f"{name} must be a number, but it is {limit!r}.")
    if limit < 1:
        raise ValueError(f"{name} must be at least 1, but it is {limit}.")


def at_checkpoint(config: RunnableConfig, checkpoint_id: str | None) -> RunnableConfig:
    """The same config, addressing another checkpoint; ``None`` addresses the latest.

    >>> at_checkpoint({"configurable": {"thread_id": "1"}}, "1ef")["configurable"]
    {'thread_id': '1', 'checkpoint_ns': '', 'checkpoint_id': '1ef'}
    """
    place = {**config.get("configurable", {})}
    place.setdefault("checkpoint_ns", "")
    place.pop("checkpoint_id", None)
    if checkpoint_id is not None:
        place["checkpoint_id"] = checkpoint_id
    return {**config, "configurable": place}


def namespace_of(config: RunnableConfig) -> str:
    """The namespace that a config addresses; ``""`` for the root of a thread."""
    namespace: str = config.get("configurable", {}).get("checkpoint_ns", "")
    return namespace


def located(config: RunnableConfig, namespace: str, checkpoint_id: str | None) -> RunnableConfig:
    """The same config, addressing a checkpoint of some namespace of its thread."""
    place = {**config.get("configurable", {}), "checkpoint_ns": namespace}
    return at_checkpoint({**config, "configurable": place}, checkpoint_id)


def require_thread(config: RunnableConfig, *, to_run: bool) -> None:
    """A graph with a saver must be told which thread a call belongs to (CP-30).

    Raises `KeyError` without ``thread_id``; and `ValueError`, if the call is `to_run`, when there
    is nothing in ``configurable`` at all.
    """
    place = config.get("configurable") or {}
    if to_run and not place:
        raise ValueError(
            "This graph has a checkpointer, so a call must say in its config's 'configurable' "
            "which thread it belongs to: thread_id, and optionally checkpoint_ns, "
            f"checkpoint_id. Pass a config such as {EXAMPLE}."
        )
    if place.get("thread_id") is None:
        # KeyError shows its text quoted, so there are no quotes in it.
        there = ", ".join(map(str, place)) or "nothing"
        raise KeyError(
            f"thread_id is missing in the configurable part of the config, which has {there}"
        )
