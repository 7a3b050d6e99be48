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

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from minigraph.context import running_task
from minigraph.types import StreamWriter

if TYPE_CHECKING:
    from minigraph.store.base import BaseStore

__all__ = ["ExecutionInfo", "RunControl", "Runtime", "get_runtime", "interrupt"]

Context = TypeVar("Context")


def write_to_nobody(chunk: Any) -> None:
    """What a stream writer does where nobody reads."""


def beat_for_nobody() -> None:
    """What a heartbeat does where nobody listens for it."""


@dataclass(frozen=True, slots=True)
class ExecutionInfo:
    """Which task this is, and which attempt at it (ER-13).

    Attributes:
        checkpoint_id: the checkpoint that the super-step started from.
        checkpoint_ns: where the task stands.
        task_id: its id.
        thread_id, run_id: those of the call; None if it has none.
        node_attempt: 1 for the first attempt, 2 for the second, see `RetryPolicy`.
        node_first_attempt_time: when the first began, in seconds since 1970.
    """

    checkpoint_id: str
    checkpoint_ns: str
    task_id: str
    thread_id: str | None = None
    run_id: str | None = None
    node_attempt: int = 1
    node_first_attempt_time: float | None = None


class RunControl:
    """Given to a call as ``control=``, it stops the run between two super-steps (ER-60).

    The run raises `GraphDrained` then, graphs in nodes included, and ``invoke(None)`` goes on. It
    may be called from any thread, and by a node, as ``runtime.control``.

    >>> control = RunControl()
    >>> control.request_drain("deployment")
    >>> control.drain_requested, control.drain_reason
    (True, 'deployment')
    """

    __slots__ = ("drain_reason",)

    def __init__(self) -> None:
        self.drain_reason: str | None = None

    def request_drain(self, reason: str = "shutdown") -> None:
        """Stop as soon as the super-step that goes on is over, or at once if none does."""
        self.drain_reason = reason

    @property
    def drain_requested(self) -> bool:
        """Whether somebody has asked."""
        return self.drain_reason is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Runtime(Generic[Context]):
    """What a node may ask of the run (MR-02).

    Attributes:
        context: what the caller gave as ``context=``, as the graph's ``context_schema`` (MR-04).
        store: the graph's store, if it has one (LM-08).
        stream_writer: tells the reader of the stream ``custom`` something, at once (ST-17).
        heartbeat: a sign of life, for a node with an idle timeout, see `TimeoutPolicy`.
        previous: for an `entrypoint`: what the thread's last run has saved (FN-06).
        execution_info: which task and attempt this is.
        server_info: None. It is for code that also runs on a server.
        control: what the caller gave as ``control=``.
    """

    context: Context = None  # type: ignore[assignment]  # a graph without a context has None
    store: BaseStore | None = None
    stream_writer: StreamWriter = write_to_nobody
    heartbeat: Callable[[], None] = beat_for_nobody
    previous: Any = None
    execution_info: ExecutionInfo | None = None
    server_info: None = None
    control: RunControl | None = None

    @property
    def drain_requested(self) -> bool:
        """Whether the run is to stop: a node that takes long may end early (ER-60)."""
        return self.control is not None and self.control.drain_requested

    @property
    def drain_reason(self) -> str | None:
        """Why it is to stop."""
        return None if self.control is None else self.control.drain_reason

    def override(self, **fields: Any) -> Runtime[Context]:
        """The same with other fields, for a function that is called by hand, as in a test.

        >>> Runtime(context=1).override(context=2).context
        2
        """
        return replace(self, **fields)


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
