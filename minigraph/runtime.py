"""The run-time object: what a node may ask of the run around it.

A node gets its state as an argument. What does not belong in the state (who is asking, which
model to use, a place to report progress) it gets from here, in a parameter that is called
``runtime``, or, anywhere below the node, from `get_runtime`:

    def node(state, runtime: Runtime[Settings]):
        runtime.stream_writer("thinking ...")
        return {"answer": ask(runtime.context.model, state["question"])}

    graph.invoke({"question": ...}, context=Settings(model="small"))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from minigraph.context import running_task
from minigraph.types import StreamWriter

__all__ = ["Runtime", "get_runtime"]

Context = TypeVar("Context")


def write_to_nobody(chunk: Any) -> None:
    """What a stream writer does where nobody reads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Runtime(Generic[Context]):
    """What a node may ask of the run (MR-02).

    Attributes:
        context: what the caller gave as ``context=``, as the graph's ``context_schema`` (MR-04).
        stream_writer: tells the reader of the stream ``custom`` something, at once (ST-17).
    """

    context: Context = None  # type: ignore[assignment]  # a graph without a context has None
    stream_writer: StreamWriter = write_to_nobody


def get_runtime(context_schema: type[Context] | None = None) -> Runtime[Context]:
    """The run-time object of the task that is running here (MR-02).

    Args:
        context_schema: the type of the context, for type checkers; nothing is checked.

    Raises `RuntimeError` outside of a node.

    >>> get_runtime()
    Traceback (most recent call last):
    RuntimeError: get_runtime() was called outside of a node: no task is running here.
    """
    task = running_task.get()
    if task is None:
        raise RuntimeError("get_runtime() was called outside of a node: no task is running here.")
    runtime: Runtime[Context] = task.runtime
    return runtime
