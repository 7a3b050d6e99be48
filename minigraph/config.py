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
from typing import Any, Final

from minigraph.context import running_task
from minigraph.types import RunnableConfig

__all__ = ["RunnableConfig", "get_config"]

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


def prepared(config: RunnableConfig | None) -> RunnableConfig:
    """A caller's config without the entries that are None: they say no more than absent ones.

    Raises `ValueError` for limits below 1 (SS-44).

    >>> prepared({"tags": None, "metadata": {"user": "u"}}), prepared(None)
    ({'metadata': {'user': 'u'}}, {})
    >>> prepared({"recursion_limit": 0})
    Traceback (most recent call last):
    ValueError: recursion_limit must be at least 1, but it is 0.
    """
    given: Any = {key: value for key, value in (config or {}).items() if value is not None}
    prepared: RunnableConfig = given
    recursion_limit(prepared)
    if prepared.get("max_concurrency", 1) < 1:
        raise ValueError(
            f"max_concurrency must be at least 1, but it is {given['max_concurrency']}."
        )
    return prepared


def recursion_limit(config: RunnableConfig) -> int:
    """How many super-steps the run may take. Raises `ValueError` below 1 (SS-44)."""
    limit = config.get("recursion_limit", DEFAULT_RECURSION_LIMIT)
    if limit < 1:
        raise ValueError(f"recursion_limit must be at least 1, but it is {limit}.")
    return limit


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


def require_thread(config: Mapping[str, Any]) -> None:
    """A graph with a saver must be told which thread a call belongs to (CP-30).

    Raises `ValueError` when there is no ``configurable`` at all, `KeyError` when it lacks
    ``thread_id``.
    """
    place: Mapping[str, Any] | None = config.get("configurable")
    hint = 'Pass a config such as {"configurable": {"thread_id": "1"}}.'
    if place is None:
        raise ValueError(
            "This graph has a checkpointer, so a call must say in config['configurable'] which "
            f"thread it belongs to: thread_id, and optionally checkpoint_ns, checkpoint_id. {hint}"
        )
    if "thread_id" not in place:
        raise KeyError(f"thread_id is missing in config['configurable']. {hint}")
