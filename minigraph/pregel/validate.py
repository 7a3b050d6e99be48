"""Is this a graph? What can be seen to be wrong before anything runs.

A graph can be wrong in ways that no run tells: an input that nobody listens to starts
nothing, a channel that is misspelt is never read. So a graph is looked at once, when it is
made, and nothing in here is asked again later.

`StateGraph` makes checks of its own first, in the words of somebody who draws edges. These
are in the words of channels. They hold for every graph, whoever made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import replace
from typing import Any, Final, Protocol

from minigraph.cache.base import BaseCache
from minigraph.channels.base import BaseChannel
from minigraph.channels.topic import Topic
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.constants import (
    END,
    LEVEL_SEPARATOR,
    PREVIOUS,
    RESERVED,
    START,
    TASK_SEPARATOR,
    TASKS,
)
from minigraph.pregel.interrupts import Breakpoints
from minigraph.pregel.node import PregelNode
from minigraph.pregel.selection import Selection

NOT_FOR_CHANNELS: Final = RESERVED - {TASKS, PREVIOUS}
"""A state may not have a key ``__previous__``. But a graph that keeps what its last run returned,
keeps it there."""

NOT_FOR_NODES: Final = RESERVED | {END}


def check_graph(
    nodes: Mapping[str, PregelNode],
    channels: Mapping[str, BaseChannel[Any, Any, Any]],
    *,
    input_channels: Selection,
    output_channels: Selection,
    stream_channels: Selection,
    managed: Iterable[str] = (),
) -> None:
    """Refuse a graph that cannot work.

    Args: as for `Pregel`.

    Raises `ValueError` for names that are reserved or unknown and for an input that would start
    nothing, `TypeError` for what is no channel, no name or no list of nodes (SS-51).

    >>> from minigraph.channels import LastValue
    >>> x = Selection("x")
    >>> node = PregelNode("n", ("y",), Selection("y"))
    >>> check_graph({"n": node}, {"x": LastValue(int)}, input_channels=x, output_channels=x,
    ...             stream_channels=x)
    Traceback (most recent call last):
    ValueError: Node 'n' subscribes to 'y', which is no channel of this graph; there are ['x'].
    """
    if not nodes:
        raise ValueError("A graph needs at least one node; pass nodes={name: NodeBuilder()…}.")
    check_channels(channels)
    known = frozenset((*channels, TASKS))
    looked_at: set[int] = set()  # mostly all nodes read by one and the same selection
    for name, node in nodes.items():
        check_node_name(name)
        check_limit(node)
        require_known("Node {!r} subscribes to", name, node.triggers, known)
        require_known("Node {!r} writes to", name, node.targets, known)
        for selection in (node.channels, *[route.selection for route in node.routes]):
            if id(selection) not in looked_at:
                looked_at.add(id(selection))
                require_known("Node {!r} reads", name, selection.names, known.union(managed))
    require_known("{} names", "input_channels", input_channels.names, known)
    check_input_is_heard(nodes, input_channels)
    require_known("{} names", "output_channels", output_channels.names, known)
    require_known("{} names", "stream_channels", stream_channels.names, known)


class Buildable(Protocol):
    """What becomes a node: a `NodeBuilder`."""

    def build(self) -> PregelNode:
        """The node."""


def built(nodes: Mapping[str, PregelNode | Buildable]) -> dict[str, PregelNode]:
    """The nodes of a graph: all built, and each with the name that it stands under.

    Raises `TypeError` for what is no node.
    """
    ready: dict[str, PregelNode] = {}
    for name, node in nodes.items():
        made: Any = node if isinstance(node, PregelNode) else getattr(node, "build", lambda: None)()
        if not isinstance(made, PregelNode):
            raise TypeError(
                f"Node {name!r} must be a NodeBuilder or a PregelNode, but it is {node!r}. Say "
                "what it listens to: NodeBuilder().subscribe_only(channel).do(function)."
            )
        ready[name] = made if made.name == name else replace(made, name=name)
    return ready


def check_channels(channels: Mapping[str, BaseChannel[Any, Any, Any]]) -> None:
    """Raise for a name that is taken, and for what is no channel."""
    for name in channels:
        check_name("Channel", name, NOT_FOR_CHANNELS)
    # Asking each class once is several times faster than asking each channel: it is an ABC.
    kinds = {kind: issubclass(kind, BaseChannel) for kind in set(map(type, channels.values()))}
    if not all(kinds.values()):
        name = next(name for name, channel in channels.items() if not kinds[type(channel)])
        raise TypeError(
            f"Channel {name!r} must be a channel, such as LastValue(int), "
            f"but it is {channels[name]!r}."
        )
    if TASKS in channels and not isinstance(channels[TASKS], Topic):
        raise ValueError(
            f"Channel name {TASKS!r} is reserved for the Topic of Sends that the machine adds by "
            "itself; leave it out."
        )


def check_node_name(name: Any) -> None:
    """Raise for a name that the machine could not tell from its own."""
    check_name("Node", name, NOT_FOR_NODES)
    if LEVEL_SEPARATOR in name or TASK_SEPARATOR in name:
        raise ValueError(
            f"Node name {name!r} has {LEVEL_SEPARATOR!r} or {TASK_SEPARATOR!r} in it, with which "
            "namespaces are written; choose another name."
        )


def check_name(kind: str, name: Any, reserved: frozenset[str]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} names are text, but this one is {name!r}.")
    if name in reserved:
        raise ValueError(f"{kind} name {name!r} is reserved; choose another name.")


def require_known(does: str, who: str, names: Iterable[str], known: frozenset[str]) -> None:
    """Raise for a name that is no channel; `does` is a sentence that begins with `who`."""
    if not known.issuperset(names):
        name = next(name for name in names if name not in known)
        raise ValueError(
            f"{does.format(who)} {name!r}, which is no channel of this graph; "
            f"there are {sorted(known - {TASKS})}."
        )


def check_input_is_heard(nodes: Mapping[str, PregelNode], input_channels: Selection) -> None:
    """Raise if no node listens to any of the channels that an input is written to."""
    heard = {trigger for node in nodes.values() for trigger in node.triggers}
    if not heard.isdisjoint(input_channels.names):
        return
    found = (
        f"Input channel {input_channels.names[0]!r} is not subscribed to by any node"
        if input_channels.single
        else f"None of the input channels {list(input_channels.names)} is subscribed to by any node"
    )
    raise ValueError(
        f"{found}, so an input would start nothing; nodes subscribe to {sorted(heard)}. Let a "
        "node subscribe to it, or name another input channel."
    )


def check_saver(checkpointer: Any) -> None:
    """Raise `TypeError` for what cannot keep a graph's threads."""
    if not isinstance(checkpointer, (BaseCheckpointSaver, bool, type(None))):
        received = type(checkpointer).__name__
        if isinstance(checkpointer, type):
            received = f"the class {checkpointer.__name__}: call it"
        elif isinstance(checkpointer, AbstractContextManager):  # of from_conn_string
            received += ": use it in a with block, `with … as saver:`, and give that saver"
        elif isinstance(checkpointer, AbstractAsyncContextManager):
            received += ": use it in a block, `async with … as saver:`, and give that saver"
        raise TypeError(
            "Invalid checkpointer provided. Expected an instance of BaseCheckpointSaver, such "
            f"as InMemorySaver(), True, False, or None, but received {received}."
        )


def check_limit(node: PregelNode) -> None:
    """Raise `ValueError` for a node that may only take so long, and cannot be stopped (ER-21)."""
    if node.policies is None or node.policies.timeout is None:
        return
    functions = [f for f in (node.bound, *node.then) if f is not None]
    if not all(f.is_async or f.awaited is not None for f in functions):
        raise ValueError(
            f"Node {node.name!r} is sync, and only async nodes can have a timeout: a thread cannot "
            "be stopped. Make its function async, and run the graph with ainvoke or astream."
        )


def check_cache(cache: Any) -> None:
    """Raise `TypeError` for what is no cache."""
    if cache is not None and not isinstance(cache, BaseCache):
        raise TypeError(
            "A cache is an instance of BaseCache, such as InMemoryCache(), or None, but this is "
            f"{cache!r:.200}."
        )


def check_store(store: Any) -> None:
    """Raise `TypeError` for what is no store. What has its methods is one, whoever's it is."""
    if store is not None and not (hasattr(store, "batch") and not isinstance(store, type)):
        raise TypeError(
            "A store is an instance of BaseStore, such as InMemoryStore(), or None, but this is "
            f"{store!r:.200}. What from_conn_string gives must be opened: `with … as store:`."
        )


def breakpoints_of(chosen: Any, nodes: Mapping[str, Any]) -> Breakpoints:
    """Nodes to stop at, as they were given, in a form that can be looked at again and again.

    Raises `ValueError` for a node that does not exist, `TypeError` for what is no list of names.

    >>> breakpoints_of(iter(["a"]), {"a": ...})
    ['a']
    """
    if chosen == "*":
        return "*"
    if isinstance(chosen, str) or not isinstance(chosen, Iterable):
        hint = f"[{chosen!r}]" if isinstance(chosen, str) else f"but this is {chosen!r}"
        raise TypeError(f"Nodes to stop at are given as a list, or as '*' for all: {hint}.")
    names = chosen if isinstance(chosen, (list, tuple)) else list(chosen)
    for name in names:
        if name == START or name not in nodes:
            there = sorted(node for node in nodes if node != START)
            raise ValueError(f"Interrupt node {name!r} not found; there are {there}.")
    return names
