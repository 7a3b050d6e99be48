"""Events: what a run tells of itself while it goes on.

The program knows when something happens, and the reader of a stream decides what to hear of
it, by *mode*. This room makes the payloads; nothing here sends them anywhere.

    checkpoint planned from   ──▶ checkpoints   the state, and what runs next
    task begins               ──▶ tasks         who, on what input, started by what
    task ends                 ──▶ updates       {node: what it wrote}
                                  tasks         its result, or its error
    super-step ends           ──▶ values        the state
    task says something       ──▶ custom        whatever it says (see `running`)

``debug`` is ``checkpoints`` and ``tasks`` in an envelope that tells the super-step and the time.
The payloads are plain dicts: `CheckpointPayload`, `TaskPayload` and `TaskResultPayload` of the
reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from minigraph.checkpoint.base.records import EXCLUDED_METADATA_KEYS
from minigraph.config import namespace_of
from minigraph.constants import PUSH
from minigraph.pregel.calls import is_call, result_of_call
from minigraph.pregel.io import result_of, written_values
from minigraph.pregel.node import Graph, Write
from minigraph.pregel.plan import Task
from minigraph.pregel.selection import Selection
from minigraph.types import Interrupt, RunnableConfig

MODES: Final = ("values", "updates", "tasks", "checkpoints", "debug", "custom", "messages")
"""All modes of a stream. ``messages`` is accepted and stays silent: there is no chat model here
whose tokens it could tell (ST-18)."""


def update_event(
    task: Task, writes: Sequence[Write], output: Selection, cached: bool = False
) -> dict[str, Any]:
    """What a task wrote, for ``updates`` (ST-11). `cached`: it had finished before (ST-13)."""
    event = {task.name: result_of_call(writes) if is_call(task) else written_values(writes, output)}
    if cached:
        event["__metadata__"] = {"cached": True}
    return event


def task_event(task: Task, config: RunnableConfig) -> dict[str, Any]:
    """A task begins, for ``tasks`` (ST-14)."""
    event = {
        "id": task.id,
        "name": task.name,
        "input": given_to(task),
        "triggers": task.triggers,
    }
    metadata: dict[str, Any] = {**config.get("metadata", {}), **task.node.metadata}
    if namespace_of(config):  # of a graph in a task: what is said of that is not said of this one
        metadata = {k: v for k, v in metadata.items() if k not in EXCLUDED_METADATA_KEYS}
    if tags := [*config.get("tags", ()), *task.node.tags]:
        metadata["tags"] = tags
    if metadata:
        event["metadata"] = metadata
    return event


def given_to(task: Task) -> Any:
    """What a task's node receives: an object of its schema, where that makes objects."""
    mapper = task.node.mapper
    if mapper is None or task.path[0] == PUSH:
        return task.input
    try:
        return mapper(task.input)
    except Exception:  # its task will fail with that, and say so
        return task.input


def task_result_event(
    task: Task,
    writes: Sequence[Write],
    shown: Selection,
    error: BaseException | None = None,
    questions: Sequence[Interrupt] = (),
) -> dict[str, Any]:
    """A task has ended, for ``tasks``: with writes, an error or questions (ST-14, ST-20)."""
    return {
        "id": task.id,
        "name": task.name,
        "error": error,
        "result": dict(writes) if is_call(task) else result_of(writes, shown),
        "interrupts": [asdict(question) for question in questions],
    }


def checkpoint_event(
    *,
    config: RunnableConfig,
    parent_config: RunnableConfig | None,
    values: Any,
    metadata: Mapping[str, Any],
    tasks: Sequence[Task],
    finished: Mapping[str, Sequence[Write]],
    errors: Mapping[str, Any],
    questions: Mapping[str, Sequence[Interrupt]],
    graphs: Mapping[str, Graph],
    shown: Selection,
) -> dict[str, Any]:
    """A checkpoint, and what runs next, for ``checkpoints`` (ST-15).

    `finished`, `errors` and `questions` say, by task id, what is already known of the tasks: when
    a run goes on from a checkpoint, some of them may have run before. `graphs` are those in nodes.
    """
    return {
        "config": public_config(config),
        "parent_config": parent_config and public_config(parent_config),
        "values": values,
        "metadata": dict(metadata),
        "next": [task.name for task in tasks],
        "tasks": [
            waiting_task(
                task,
                finished.get(task.id),
                errors.get(task.id),
                questions.get(task.id, ()),
                inner_config(config, task, graphs.get(task.name)),
                shown,
            )
            for task in tasks
        ],
    }


def waiting_task(
    task: Task,
    writes: Sequence[Write] | None,
    error: Any,
    questions: Sequence[Interrupt],
    inner: RunnableConfig | None,
    shown: Selection,
) -> dict[str, Any]:
    """A task of a checkpoint's super-step, with its error or its result if it has one."""
    entry: dict[str, Any] = {"id": task.id, "name": task.name}
    if writes is None and error is not None:
        return {**entry, "error": error, "state": inner}
    result: Any = result_of(writes or (), shown)
    if result:
        entry["result"] = result.get(shown.names[0]) if shown.single else result
    return {**entry, "interrupts": tuple([asdict(each) for each in questions]), "state": inner}


def debug_event(step: int, timestamp: str, type: str, payload: Any) -> dict[str, Any]:
    """The envelope of ``debug`` around another mode's payload (ST-16)."""
    return {"step": step, "timestamp": timestamp, "type": type, "payload": payload}


def public_config(config: RunnableConfig) -> RunnableConfig:
    """Only where a checkpoint is, and what the user has put beside that.

    >>> public_config({"tags": ["x"], "configurable": {"thread_id": "1", "__pregel_x": 1}})
    {'configurable': {'thread_id': '1'}}
    """
    place = config.get("configurable", {})
    return {"configurable": {k: v for k, v in place.items() if not k.startswith("__")}}


def with_map(config: RunnableConfig, around: Mapping[str, str]) -> RunnableConfig:
    """The address of an inner graph's checkpoint, with those of all the graphs around it: only
    together they say when that was (SB-31). The root's is as it is."""
    place = config.get("configurable", {})
    namespace = place.get("checkpoint_ns")
    if not namespace:
        return config
    ids = {**around, namespace: place.get("checkpoint_id")}
    return {**config, "configurable": {**place, "checkpoint_map": ids}}


def inner_config(config: RunnableConfig, task: Task, graph: Graph | None) -> RunnableConfig | None:
    """Where to ask for the graph that is in this task, if there is one that keeps anything (SB-30).

    A graph with a memory of its own stands at the same place without the ids. It is found there by
    whoever is asked, see `main`.
    """
    if graph is None or graph.checkpointer is False:
        return None
    thread = config.get("configurable", {}).get("thread_id")
    return {"configurable": {"thread_id": thread, "checkpoint_ns": task.namespace}}
