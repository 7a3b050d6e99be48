"""Graphs in graphs: where a call of a graph stands.

A graph may be called by anybody, and it may be called by a node of another graph. Nobody has to say
so: a task leaves a note of itself in the context (see `context`), and here it is found.

    graph.invoke(x, config)
        no task is running here, or the     ─▶  a run of its own:       thread_id, checkpoint_ns ""
        config names a thread of its own        its own saver
        a task is running here              ─▶  an inner run:           the thread of the task,
                                                the task's saver        checkpoint_ns  NODE:TASK_ID

An inner run is a run like any other, with a program and a driver. It differs in what it is given:
the task's config, context, saver and durability, and the answers that have come for it. What it
has to tell, it tells the task's driver as well; and where it would return that it has stopped, it
raises, so that the task stops too.

What a graph in a task remembers is a matter of how it was compiled (SB-12):

    checkpointer=None    NODE:TASK_ID   until the task has ended; another task has another id
    checkpointer=True    NODE           from call to call, for the life of the thread
    checkpointer=False                  nothing. Its questions are kept with the task's own
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.config import at_checkpoint, merged, namespace_of, require_thread
from minigraph.constants import LEVEL_SEPARATOR
from minigraph.context import running_task
from minigraph.errors import ErrorCode, GraphInterrupt, ParentCommand, message_with_code
from minigraph.pregel.durability import Inner
from minigraph.pregel.effects import NOTHING, Emit, Paused
from minigraph.pregel.identity import without_ids
from minigraph.pregel.interrupts import Origin
from minigraph.pregel.running import Running
from minigraph.types import Command, Durability, RunnableConfig

COORDINATES = ("thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map")
"""What in a config says where in which thread."""


class Place(NamedTuple):
    """Where one call of a graph stands.

    Fields:
        config: the whole config of the call.
        saver: where the run stores.
        task: the task that has called; None for a run of its own.
        origin: where the run starts from, if that is a point inside of a graph in a node.
        remembers: whether the graph has a memory of its own inside of a thread.
    """

    config: RunnableConfig
    saver: BaseCheckpointSaver[Any] | None
    task: Running | None = None
    origin: Origin | None = None
    remembers: bool = False

    @property
    def inner(self) -> Inner | None:
        """What the driver of an inner run must know."""
        return None if self.task is None else Inner(self.task, self.remembers)

    @property
    def levels(self) -> tuple[str, ...]:
        """The namespace as readers of streams get it."""
        return tuple(namespace_of(self.config).split(LEVEL_SEPARATOR))

    @property
    def answers(self) -> Mapping[str, Any] | None:
        """What has come for the task; None if its super-step is not one that was gone on with."""
        resumption = None if self.task is None else self.task.view.resumption
        if self.task is None or resumption is None:
            return None
        answers: Mapping[str, Any] = resumption.answers.get(self.task.task.id, NOTHING)
        return answers

    def durability(self, chosen: Durability | None) -> Durability:
        """When to store; an inner run does it as the run around it does (DU-11)."""
        return (chosen or "async") if self.task is None else self.task.around.durability

    def pass_on(self, emitted: Emit) -> None:
        """Give this to the reader of the run around this one, if he wants it."""
        task = self.task
        if task is not None and task.emit is not None and emitted.mode in task.around.modes:
            task.emit(emitted._replace(namespace=emitted.namespace or self.levels))

    def result(self, result: Any) -> Any:
        """The result of the run. An inner run that has stopped, stops its task (SB-20)."""
        if self.task is not None and isinstance(result, Paused):
            raise GraphInterrupt(*([result.interrupts] if result.interrupts else ()))
        return result

    def arrived(self, sent: ParentCommand) -> ParentCommand:
        """Commands that have left this graph; those for its parent have come to the right place."""
        if self.task is None:
            return sent
        return ParentCommand(
            *(
                replace(each, graph=None) if each.graph == Command.PARENT else each
                for each in sent.args
            )
        )


def place_of(
    checkpointer: Any, bound: RunnableConfig | None, given: RunnableConfig | None
) -> Place:
    """Where a call stands.

    Args:
        checkpointer: what the graph was compiled with.
        bound, given: the config that goes with the graph, and that of the call.

    Raises `ValueError` and `KeyError` for a run of its own without a thread (CP-30), `RuntimeError`
    if the graph can only be an inner one (SB-13).
    """
    config = merged(bound, given)
    task = running_task.get() or getattr(given, "task", None)
    if isinstance(task, Running):
        if is_here(config.get("configurable", {}), task):
            return inner_place(checkpointer, config, task)
        config = merged(accompanying(task.config), config)
    if checkpointer is True:
        raise RuntimeError(
            "checkpointer=True cannot be used for root graphs: it is for a graph in a node of "
            "another graph. Compile this one with a saver, such as InMemorySaver()."
        )
    saver = checkpointer or None
    if saver is not None:
        require_thread(config, to_run=True)
    return root_place(saver, config)


def is_here(place: Mapping[str, Any], task: Running) -> bool:
    """Whether a call belongs to the task that makes it: it names no other place (SB-11).

    A node may pass its own config on; that is no other place.
    """
    if not any(place.get(name) for name in COORDINATES):
        return True
    return place.get("checkpoint_ns") == task.task.namespace


def accompanying(config: RunnableConfig) -> RunnableConfig:
    """What of a task's config goes with a run that is not part of it."""
    return {key: value for key, value in config.items() if key != "configurable"}  # type: ignore[return-value]


def inner_place(checkpointer: Any, config: RunnableConfig, task: Running) -> Place:
    """The place of a graph that a task calls."""
    namespace = task.task.namespace + task.next_call()
    remembers = checkpointer is True
    own = without_ids(namespace) if remembers else namespace
    if remembers and (memories := task.around.memories) is not None:
        me = (task.view.step, task.task.id)
        step, other = memories.setdefault(own, me)
        if step == me[0] and other != me[1]:
            raise RuntimeError(
                message_with_code(
                    f"Two tasks of super-step {step} have called the graph at {own!r}, which has "
                    "one memory (checkpointer=True), and what they do would be mixed up. Leave "
                    "`checkpointer` out, so that each call stands alone, or call it one by one.",
                    ErrorCode.MULTIPLE_SUBGRAPHS,
                )
            )
        memories[own] = me
    whole = merged(task.config, config) if config else task.config
    place = {**whole["configurable"], "checkpoint_ns": own}
    place.pop("checkpoint_id", None)
    return Place(
        config={**whole, "configurable": place},
        saver=None if checkpointer is False else task.around.saver,
        task=task,
        origin=inner_origin(task, namespace, own),
        remembers=remembers,
    )


def inner_origin(task: Running, namespace: str, own: str) -> Origin | None:
    """Where the graph starts from, if the run goes back to a point inside of it."""
    resumption = task.view.resumption
    found = None if resumption is None else resumption.origins.get(task.task.id)
    if found is None:
        return None
    then = found.namespace + namespace.removeprefix(task.task.namespace)
    if own != namespace:
        then = own  # this name has no ids in it, and so is the same as ever
    if any(each == then or each.startswith(then + LEVEL_SEPARATOR) for each in found.ids):
        return Origin(then, found.ids)
    return None


def root_place(saver: BaseCheckpointSaver[Any] | None, config: RunnableConfig) -> Place:
    """The place of a run of its own: the thread's root.

    A config may be that of a checkpoint inside of it. It says in its ``checkpoint_map`` which
    checkpoint of the root that belongs to, and the run starts from both (TT-32).
    """
    namespace = namespace_of(config)
    if not namespace:
        return Place(config, saver)
    place = {**config["configurable"]}
    ids = place.pop("checkpoint_map", None)
    named = place.pop("checkpoint_id", None)
    place["checkpoint_ns"] = ""
    root: RunnableConfig = {**config, "configurable": place}
    if not ids:
        if named:
            raise ValueError(
                f"The config names checkpoint {named!r} of the inner graph {namespace!r}, and not "
                "when that was in the graphs around it: its checkpoint_map is missing. Pass the "
                "whole config of the snapshot."
            )
        return Place(root, saver)
    return Place(at_checkpoint(root, ids.get("")), saver, origin=Origin("", ids))


Savers = WeakKeyDictionary[Any, BaseCheckpointSaver[Any]]


def allowed(saver: BaseCheckpointSaver[Any], classes: Iterable[type], known: Savers) -> Any:
    """A saver of another graph, which may store this graph's classes as well (SD-26)."""
    try:
        wider = known.get(saver)
        if wider is None:
            wider = known[saver] = saver.with_allowlist(classes)
    except TypeError:  # it cannot be remembered
        return saver.with_allowlist(classes)
    return wider
