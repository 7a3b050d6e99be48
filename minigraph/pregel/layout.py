"""The graph at rest: which nodes, which channels, and who listens to whom.

A `Layout` is what authoring produces and running reads. It never changes while a graph
runs, so everything that can be looked up once instead of in every super-step is looked
up here. Above all: which channels must hear of a super-step in which nobody wrote to
them. They are few, and knowing them is what lets the cost of a super-step follow what
changed instead of what exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from minigraph.channels.base import BaseChannel
from minigraph.channels.topic import Topic
from minigraph.channels.untracked_value import UntrackedValue
from minigraph.constants import MISSING, PULL, TASKS
from minigraph.pregel.node import Graph, PregelNode, Write
from minigraph.pregel.selection import Selection
from minigraph.types import Send


def completed(
    channels: Mapping[str, BaseChannel[Any, Any, Any]],
) -> dict[str, BaseChannel[Any, Any, Any]]:
    """The channels of a graph: each knows its name, and the one for Sends is there (CS-32).

    The caller's own objects stay as they are: a channel may serve in two graphs.

    >>> {name: channel.key for name, channel in completed({}).items()}
    {'__pregel_tasks': '__pregel_tasks'}
    """
    complete = dict(channels)
    complete.setdefault(TASKS, Topic(Send))
    for name, channel in complete.items():
        if channel.key != name:
            complete[name] = channel = channel.copy()
            channel.key = name
    return complete


InputCheck: TypeAlias = Callable[[Any, Any], None]
"""Looks at an input, and at the `LiveState` into which it is to go. Raises if it cannot be."""


class Layout:
    """Nodes and channels, wired.

    Args:
        nodes: name → node.
        channels: name → an empty channel, used as a pattern and never changed.
        input_channels: where an input goes: one channel takes it whole, several take a dict.
        output_channels: what a run returns.
        stream_channels: what streams and snapshots show.
        check_input: raises for an input that the graph cannot take. It is asked before the
            input is stored.
        updates_of: what the update of a `Command` from outside means.
        managed: keys that nodes read and that are no channels, see `minigraph.managed`.

    Attributes:
        listeners: channel → the nodes that it triggers.
        marks: node → what of it is part of its tasks' ids: its name and its triggers.
        consumed: channels that change when a task that they triggered has run.
        finishing: channels that change when nothing is left to run.
        lasting: channels whose value can only change by being written to.
        plain: channels whose value is also what is stored of them.
        deltas: channels whose value is made again from stored writes, see `deltas`.
        preset: channels that have a value before anything is written.
        filled: these, and channels that then have nothing but something to store.
        untracked: channels that are never stored, and neither are writes to them (MR-09).
        async_nodes: nodes with a function that only an async run can call.
        has_handlers: whether another node takes over when some node fails, see `handlers`.
    """

    def __init__(
        self,
        nodes: Mapping[str, PregelNode],
        channels: Mapping[str, BaseChannel[Any, Any, Any]],
        *,
        input_channels: Selection,
        output_channels: Selection,
        stream_channels: Selection,
        check_input: InputCheck | None = None,
        updates_of: Callable[[Any], list[Write]] | None = None,
        managed: Mapping[str, Any] | None = None,
    ) -> None:
        self.updates_of = updates_of
        self.managed = managed or {}
        self.graphs: Mapping[str, Graph] | None = None  # see `inner`, which finds them
        self.nodes = dict(nodes)
        self.channels = dict(channels)
        self.input_channels = input_channels
        self.output_channels = output_channels
        self.stream_channels = stream_channels
        self.check_input = check_input

        # Mostly everybody reads all of the state, and the live state is prepared for that.
        readers = [node.channels for node in self.nodes.values()]
        readers += [route.selection for node in self.nodes.values() for route in node.routes]
        for selection in (output_channels, stream_channels, *readers):
            if not selection.single and selection.names == stream_channels.names:
                selection.whole_of = stream_channels.members

        self.listeners: dict[str, list[str]] = {}
        for name, node in self.nodes.items():
            for trigger in node.triggers:
                self.listeners.setdefault(trigger, []).append(name)
        self.marks = {
            name: "".join((name, PULL, *sorted(node.triggers))) for name, node in self.nodes.items()
        }
        self.async_nodes = [name for name, node in self.nodes.items() if node.async_functions]
        self.has_handlers = any(n.policies and n.policies.handler for n in self.nodes.values())

        def those(fits: Callable[[BaseChannel[Any, Any, Any]], bool]) -> frozenset[str]:
            return frozenset(name for name, channel in self.channels.items() if fits(channel))

        # A class that does not override `consume` or `finish` cannot change in it.
        self.consumed = those(lambda c: type(c).consume is not BaseChannel.consume)
        self.finishing = those(lambda c: type(c).finish is not BaseChannel.finish)
        self.untracked = those(lambda c: isinstance(c, UntrackedValue))
        self.lasting = those(lambda c: not c.changes_when_unwritten)
        self.lasting -= self.consumed | self.finishing
        self.plain = those(lambda c: bool(vars(type(c)).get("stores_its_value", False)))
        self.deltas = those(lambda c: c.stores_writes)
        self.preset = those(lambda c: c.is_available()) | self.deltas
        self.filled = self.preset | those(lambda c: c.checkpoint() is not MISSING)
