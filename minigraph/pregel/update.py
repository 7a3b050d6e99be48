"""Update: what do the writes of a super-step make of the state?

The tasks have run; each left a list of writes. Now, in one go:

    1. note for every task which versions of its triggers it has seen
    2. tell the triggers that they were used                        consume()
    3. give each channel all the writes that were made to it        update(writes)
    4. tell the restless channels that nobody wrote to them         update([])
    5. if no node has news, channels that wait for the end open     finish()

*Restless* are the channels with a value that may fade when nobody writes to them, such as
ephemeral values and topics that do not accumulate. Those that wait for the end belong to
deferred nodes, which run when nothing else is left to run.

Writes are taken in the order of the task paths, never in the order of finishing, so the
outcome does not depend on how fast a node was. Everything that changed gets the same new
version.

The state given in is not touched: channels are copied before they are changed, and the
outcome is returned as `Changes`. If a channel refuses, or a reducer raises, there simply
is no outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from minigraph.constants import ERROR, ERROR_SOURCE_NODE, INTERRUPT, NO_WRITES, RESUME, RETURN
from minigraph.errors import add_note
from minigraph.pregel.identity import path_text
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import Changes, Channels, LiveState, Version
from minigraph.pregel.node import Write
from minigraph.types import new_record

ABOUT_THE_TASK = frozenset({ERROR, ERROR_SOURCE_NODE, INTERRUPT, NO_WRITES, RESUME, RETURN})
"""Writes that are kept with a task and are no part of the state (CP-20, CP-21)."""


class TaskWrites(NamedTuple):
    """A task that has run, as far as the update is concerned.

    `triggers` is empty for writes that no super-step made, such as an input.
    """

    path: tuple[Any, ...]
    name: str
    writes: Sequence[Write]
    triggers: tuple[str, ...]


TRIGGERS = attrgetter("triggers")


def update(
    layout: Layout,
    state: LiveState,
    tasks: Sequence[TaskWrites],
    next_version: Callable[[Version | None], Version],
) -> Changes:
    """The changes that the writes of one super-step make to `state`.

    Args:
        layout: the graph.
        state: the state that the tasks started from; it is not changed.
        tasks: what the tasks of the super-step wrote, in any order.
        next_version: from the newest version so far to the one after it.

    Raises whatever a channel's `update` raises, above all `InvalidUpdateError`, with a note
    that names the channel and the tasks that wrote to it.

    Rules: SS-02, SS-10, SS-20 to SS-25.
    """
    ordered = tasks if len(tasks) == 1 else in_order(tasks)
    seen, batches, ignored = collect(state, ordered)
    version = next_version(state.newest)
    channels = state.channels
    touched: Channels = {}
    versions: dict[str, Version] = {}
    updated: set[str] = set()
    told_finished: Collection[str] = ()

    for name in used_triggers(ordered, layout.consumed) if layout.consumed else ():
        channel = touched[name] = channels[name].copy()
        if channel.consume():
            versions[name] = version

    # A channel may be touched more than once. Each time a copy is changed, and never what is there:
    # then a channel that refuses has changed nothing, whatever it did before it raised.
    for name, values in batches.items():
        channel = touched[name] = (touched if name in touched else channels)[name].copy()
        try:
            if channel.update(values):
                versions[name] = version
                if channel.is_available():
                    updated.add(name)
        except Exception as error:
            add_note(error, refusal(name, ordered))
            raise

    # An input is not a super-step: nothing has had its turn, so nothing fades.
    if any(map(TRIGGERS, ordered)):
        for name in state.restless - updated:
            channel = touched[name] = (touched if name in touched else channels)[name].copy()
            if channel.is_available() and channel.update(()):
                versions[name] = version
                if channel.is_available():
                    updated.add(name)
        if state.finishing and layout.listeners.keys().isdisjoint(updated):
            told_finished = state.finishing.intersection(touched) | state.unfinished
            for name in told_finished:
                channel = touched[name] = (touched if name in touched else channels)[name].copy()
                if channel.finish():
                    versions[name] = version
                    if channel.is_available():
                        updated.add(name)

    fields = (touched, versions, seen, frozenset(updated), ignored, told_finished)
    return new_record(Changes, fields)


def refusal(channel: str, tasks: Iterable[TaskWrites]) -> str:
    """Whose writes a channel was taking in when it raised."""
    writers = [task.name for task in tasks if channel in dict(task.writes)]
    return f"While channel {channel!r} was taking in the writes of: {', '.join(writers)}"


def in_order(tasks: Iterable[TaskWrites]) -> list[TaskWrites]:
    """The tasks in the order in which their writes are applied: by the text of their path."""
    return sorted(tasks, key=lambda task: path_text(task.path[:3]))


def used_triggers(tasks: Sequence[TaskWrites], consumed: frozenset[str]) -> Iterable[str]:
    """The triggers of these tasks that want to know that they were used."""
    return consumed.intersection(trigger for task in tasks for trigger in task.triggers)


def collect(
    state: LiveState, tasks: Iterable[TaskWrites]
) -> tuple[dict[str, dict[str, Version]], dict[str, list[Any]], list[tuple[str, str]]]:
    """Go through the tasks once.

    Returns:
        for each node that ran, the versions that its triggers had at the start (SS-22);
        for each channel, all that was written to it, in order;
        the writes that have no channel, as (task name, channel name) (SS-25).
    """
    seen: dict[str, dict[str, Version]] = {}
    batches: dict[str, list[Any]] = {}
    ignored: list[tuple[str, str]] = []
    versions, channels = state.versions, state.channels
    for _, node, writes, triggers in tasks:
        if node not in seen:
            seen[node] = {**state.seen[node]} if node in state.seen else {}
        for trigger in triggers:
            if trigger in versions:
                seen[node][trigger] = versions[trigger]
        for name, value in writes:
            if name in batches:
                batches[name].append(value)
            elif name in channels:
                batches[name] = [value]
            elif name not in ABOUT_THE_TASK:
                ignored.append((node, name))
    return seen, batches, ignored
