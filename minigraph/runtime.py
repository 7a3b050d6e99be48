"""The run-time object: what a node may ask of the run around it.

A node gets its state as an argument. What does not belong in the state (who is asking, which
model to use, a place to report progress) it gets from here, in a parameter that is called
``runtime``, or, anywhere below the node, from `get_runtime`:

    def node(state, runtime: Runtime[Settings]):
        runtime.stream_writer("thinking ...")
        return {"answer": ask(runtime.context.model, state["question"])}

    graph.invoke({"question": ...}, context=Settings(model="small"))

And it may ask the people outside. `interrupt` returns their answer; only, that may come days
later, in another process. So it does not wait: it ends the run, and when the answer is there, the
node runs once more from its beginning, and this time the call returns:

    def node(state):
        if interrupt("May I?") == "yes": ...      1st run: stops here     2nd run: goes on
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from minigraph.context import running_task
from minigraph.types import StreamWriter

__all__ = ["Runtime", "get_runtime", "interrupt"]

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


def interrupt(value: Any, *, response_schema: Any = None) -> Any:
    """Ask a question, and stop the run until it is answered.

    The run returns the question under ``__interrupt__``. It goes on with
    ``invoke(Command(resume=answer), config)``, which runs the node again *from its beginning*: what
    it does before the question it does twice. A node may ask several times; answers belong to
    questions by their order, so it must ask in the same order each time (IN-04).

    Args:
        value: the question; anything that can be stored.
        response_schema: a JSON Schema of the answer, for whoever shows the question. It is passed
            on, and nothing is checked (IN-08).

    Returns:
        The answer.

    Raises `GraphInterrupt` while there is none, which a bare ``except Exception`` in the node must
    not catch (IN-02); `RuntimeError` outside of a node.

    >>> from minigraph.checkpoint.memory import InMemorySaver
    >>> from minigraph.graph import START, StateGraph
    >>> from minigraph.types import Command
    >>> builder = StateGraph(str).add_node("ask", lambda name: interrupt("Who?") + "!")
    >>> graph = builder.add_edge(START, "ask").compile(checkpointer=InMemorySaver())
    >>> thread = {"configurable": {"thread_id": "1"}}
    >>> graph.invoke("", thread)["__interrupt__"][0].value
    'Who?'
    >>> graph.invoke(Command(resume="Ada"), thread)
    'Ada!'
    """
    task = running_task.get()
    if task is None:
        raise RuntimeError("interrupt() was called outside of a node: no task is running here.")
    return task.ask(value, response_schema)
