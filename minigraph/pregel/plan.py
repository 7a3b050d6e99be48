"""Plan: which tasks does the next super-step consist of?

    one task per Send that waits in         path ("__pregel_push", index, False)
        the tasks channel
    one task per node with a trigger        path ("__pregel_pull", node)
        that is news to it

A node with news but nothing to read is left out: it reads a single channel, and that one
has no value.

Nothing runs here and nothing changes. The same state always gives the same plan, with
the same task ids, in this process or in another one: that is what "durable" rests on.

Only nodes that listen to a channel which the last super-step updated are looked at. A
graph of a thousand nodes in which one channel moved costs one look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from minigraph.constants import MISSING, PULL, PUSH, TASK_SEPARATOR, TASKS
from minigraph.pregel.identity import child_namespace, task_id
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import Glimpse
from minigraph.pregel.node import PregelNode
from minigraph.pregel.versions import Cause, causes
from minigraph.types import Send, new_record


class Task(NamedTuple):
    """One node, to be run once.

    Fields:
        id, path: see `identity`.
        name: the node's name; a Send's task and a triggered one may share it.
        input: what was read for it, or the Send's argument.
        triggers: all triggers of the node, or ``("__pregel_push",)`` for a Send; these count
            as seen once it ran.
        because: the triggers that were news; empty for a Send.
        place: the namespace that it shares with all tasks of its node.
        node: the node.
    """

    id: str
    name: str
    path: tuple[Any, ...]
    input: Any
    triggers: tuple[str, ...]
    because: tuple[Cause, ...]
    place: str
    node: PregelNode

    @property
    def namespace(self) -> str:
        """Where it stands: the `checkpoint_ns` that its node sees (SB-02)."""
        return f"{self.place}{TASK_SEPARATOR}{self.id}"


def plan(
    layout: Layout, state: Glimpse, checkpoint_id: str, step: int, namespace: str = ""
) -> list[Task]:
    """The tasks of super-step `step`, which starts from the given state.

    Args:
        layout: the graph.
        state: the state that the tasks read; it is not changed.
        checkpoint_id: the checkpoint that `state` was saved as; part of every task's id.
        step: the super-step's number.
        namespace: where in a nest of graphs this one runs.

    Returns:
        Sends first, in the order sent, then triggered nodes by name. (By order of declaration
        when it is not known what the last super-step updated.) This is not the order in which
        their writes are applied: see `update`. An empty list means that the run is over. A
        Send to a node that does not exist gives no task.

    Rules: SS-02, SS-22, SS-23, SS-30, SS-31, CS-32.
    """
    tasks: list[Task] = []
    around = child_namespace(namespace, "") if namespace else ""
    for index, send in enumerate(state.readable.get(TASKS, ())):
        node = layout.nodes.get(send.node) if is_send_to_a_name(send) else None
        if node is not None:
            place = around + node.name
            id = task_id(f"{checkpoint_id}{place}{step}{node.name}{PUSH}{index}")
            path = (PUSH, index, False)
            if send.timeout is not None:  # the Send's own limit
                node = replace(node, policies=send.timeout.instead(node.policies))
            tasks.append(
                new_record(Task, (id, node.name, path, send.arg, (PUSH,), (), place, node))
            )

    for name in candidates(layout, state):
        node = layout.nodes[name]
        because = causes(node.triggers, state.readable, state.versions, state.seen.get(name))
        if because and (value := state.read(node.channels)) is not MISSING:
            place = around + name
            id = task_id(f"{checkpoint_id}{place}{step}{layout.marks[name]}")
            fields = (id, name, (PULL, name), value, node.triggers, because, place, node)
            tasks.append(new_record(Task, fields))
    return tasks


def candidates(layout: Layout, state: Glimpse) -> Iterable[str]:
    """The nodes that can have news: those that listen to an updated channel.

    When it is not known what was updated (``state.updated`` is None), that can be all nodes;
    or none, if nothing was ever written.
    """
    if state.updated is None:
        return layout.nodes if state.versions else ()
    names: Sequence[str] = ()
    for channel in state.updated:
        if channel in layout.listeners:
            found = layout.listeners[channel]
            names = [*names, *found] if names else found
    return sorted(set(names)) if len(names) > 1 else names


def is_send_to_a_name(send: Any) -> bool:
    """Whether this can be run at all; the tasks channel takes whatever is written to it."""
    return isinstance(send, Send) and isinstance(send.node, str)
