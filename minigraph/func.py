"""Graphs without a drawing: a function, and the pieces of its work.

Not every program is a graph to its author. One that reads from top to bottom can stay so, and still
be stopped, answered, resumed in another process and looked at:

    @task
    def draft(topic): ...                          a piece of work, done once

    @entrypoint(checkpointer=saver)
    def write(topic):                              the program
        text = draft(topic).result()
        return text if interrupt(text) == "fine" else "..."

It becomes a graph of a single node, so everything else in this package is as it is for graphs. When
it is resumed, the function begins from its start. What it calls that is a `task` and has finished
is not done again; it gives what it gave before.

    channel        START ──▶ the function ──▶ END, and what `previous` will be
    checkpoint       −1                        0
    beside it        the results of tasks
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, overload

from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.constants import END, PREVIOUS, START
from minigraph.context import Calls, running_task
from minigraph.errors import GraphInterrupt, NodeCancelledError
from minigraph.policies import CachePolicy, RetryPolicy, TimeoutPolicy, policies_of
from minigraph.pregel.calls import TaskFunction, called_node, result_of_call
from minigraph.pregel.effects import Asked, Failed, Finished
from minigraph.pregel.main import Pregel
from minigraph.pregel.node import (
    PregelNode,
    UserFunction,
    function_name,
    is_coroutine_function,
    parameter_names,
)
from minigraph.pregel.running import Running
from minigraph.pregel.selection import Selection

__all__ = ["TaskFuture", "entrypoint", "task"]

P = ParamSpec("P")
T = TypeVar("T")
Value = TypeVar("Value")
Saved = TypeVar("Saved")


class TaskFuture(Future[T]):
    """What calling a `task` gives: its result, as soon as there is one.

    In sync code ask for `result`, in async code ``await`` it. Both raise what the task has raised.
    Several that are called before the first is waited for run at the same time (FN-04).
    """

    def expect(
        self,
        replies: set[Any],
        while_waiting: Callable[[Any], AbstractContextManager[None]],
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Told by the runner: it will be settled, if not by the task then at the end of the run."""
        self.while_waiting = while_waiting
        self.loop = loop
        replies.add(self)
        self.add_done_callback(replies.discard)

    def settle(self, outcome: Finished | Asked | Failed) -> None:
        """The task has ended like this."""
        if self.done():
            return
        if isinstance(outcome, Finished):
            self.set_result(result_of_call(outcome.writes))
        elif isinstance(outcome, Asked):
            questions = outcome.interrupts
            self.set_exception(GraphInterrupt(*([tuple(questions)] if questions else ())))
        else:
            self.set_exception(outcome.error)

    def give_up(self) -> None:
        """The run has ended, and nobody will settle this."""
        if not self.done():
            self.set_exception(NodeCancelledError("The run has ended before this task."))

    def wait(self, method: Callable[[float | None], Any], timeout: float | None) -> Any:
        if self.done():
            return method(timeout)
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is not None and here is self.loop:
            raise RuntimeError(
                "result() would hold up the event loop, on which the task is to run. Await the "
                "task instead: `await task(...)`."
            )
        with self.while_waiting(self):
            return method(timeout)

    def result(self, timeout: float | None = None) -> T:
        """The result; waits for it. Raises what the task has raised, and `TimeoutError`."""
        found: T = self.wait(super().result, timeout)
        return found

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What the task has raised, or None; waits until that is known."""
        found: BaseException | None = self.wait(super().exception, timeout)
        return found

    def __await__(self) -> Generator[Any, None, T]:
        if self.done():
            return super().result()
        with self.while_waiting(self):
            return (yield from asyncio.wrap_future(self).__await__())


class TaskCaller(Generic[P, T]):
    """A function that is marked as a `task`. Calling it gives a `TaskFuture`."""

    def __init__(
        self, function: Callable[P, Any], name: str | None, cache_policy: Any, **policies: Any
    ) -> None:
        refuse_generators(function)
        Calls.possible = True
        update_wrapper(self, function)
        self.function = function
        self.name = name or function_name(function)
        names = parameter_names(function)
        who = f"Task {self.name!r}"
        given = policies_of(who, cache_policy=cache_policy, **policies)
        self.node = called_node(TaskFunction(function, self.name, names), given)
        if given is not None and given.timeout and not is_coroutine_function(function):
            raise ValueError(
                f"{who} is sync and has a timeout, but a thread cannot be stopped. Make it async, "
                "or leave out `timeout`."
            )

    def __call__(self, *arguments: P.args, **keywords: P.kwargs) -> TaskFuture[T]:
        running = running_task.get()
        if not isinstance(running, Running):
            raise RuntimeError(
                f"Task {self.name!r} was called outside of a runnable context: only an entrypoint, "
                "another task, or a node of a graph can call it."
            )
        future: TaskFuture[T] = TaskFuture()
        running.call(self.node, (arguments, keywords), future)
        return future

    def __repr__(self) -> str:
        return f"<task {self.name!r}>"


def refuse_generators(function: Callable[..., Any]) -> None:
    """A function that yields would be begun, and never run (FN-01)."""
    inner = function.func if isinstance(function, partial) else function
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise NotImplementedError(
            f"{function_name(function)!r} is a generator, which cannot be a task or an entrypoint: "
            "return a list, or tell the reader of the stream with get_stream_writer()."
        )


@overload
def task(function: Callable[P, Awaitable[T]], /) -> TaskCaller[P, T]: ...
@overload
def task(function: Callable[P, T], /) -> TaskCaller[P, T]: ...
@overload
def task(
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
) -> Callable[[Callable[P, Awaitable[T]] | Callable[P, T]], TaskCaller[P, T]]: ...
def task(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
) -> Any:
    """Mark a function as a piece of work that is done once (FN-03).

    Inside of an `entrypoint`, another task or a node of a graph, calling it starts it and returns a
    `TaskFuture` at once. When its result is there it is stored; then whoever waits for it goes on.
    If the run is resumed later, the same call gives the stored result. Which call is the same, is
    told by the order of calls (FN-08).

    Args:
        function: the function, sync or async. Parameters that the caller leaves out, and that are
            called ``config``, ``writer``, ``runtime`` and so on, are given as to a node.
        name: what it is called in streams; the function's own name.
        retry_policy, cache_policy, timeout: as for a node, see `minigraph.policies`. With a
            `retry_policy` each attempt has its own copy of the arguments. Results are kept in the
            cache of the graph that runs, by the function's code and the arguments.

    Raises `ValueError` for a timeout of a sync function, `NotImplementedError` for a generator, and
    `RuntimeError` when it is called and nothing runs.

    >>> @task
    ... def double(n):
    ...     return 2 * n
    >>> @entrypoint()
    ... def sum_of_doubles(numbers):
    ...     return sum(future.result() for future in [double(n) for n in numbers])
    >>> sum_of_doubles.invoke([1, 2, 3])
    12
    """
    given = {"retry_policy": retry_policy, "cache_policy": cache_policy, "timeout": timeout}
    if function is None:
        return lambda function: TaskCaller(function, name, **given)
    return TaskCaller(function, name, **given)


class entrypoint:
    """Make a function a graph: an object with ``invoke``, ``stream`` and all the others (FN-01).

    The function has one parameter for the input; others are given by name, as to a node. One called
    ``previous`` gets what the thread's last run has returned, or saved (FN-06).

    Args:
        checkpointer: where threads are kept. Without one nothing is stored, and `previous` is None.
        store: what the function gets as ``store``, and `get_store` finds.
        cache: where results of tasks are kept, and its own, if there is a policy that says so.
        context_schema: what runs are told with ``context=``.
        cache_policy, retry_policy, timeout: for the function as a whole, as for a node.

    Raises `ValueError` for a function without a parameter (FN-02), `NotImplementedError` for a
    generator.

    >>> from minigraph.checkpoint.memory import InMemorySaver
    >>> @entrypoint(checkpointer=InMemorySaver())
    ... def total(n: int, *, previous: int | None = None) -> int:
    ...     return n + (previous or 0)
    >>> thread = {"configurable": {"thread_id": "1"}}
    >>> total.invoke(1, thread), total.invoke(2, thread)
    (1, 3)
    """

    @dataclass(frozen=True)
    class final(Generic[Value, Saved]):
        """A result, and what the next run finds as ``previous``, where these are not the same."""

        value: Value
        save: Saved

    def __init__(
        self,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: Any = None,
        cache: Any = None,
        context_schema: type[Any] | None = None,
        cache_policy: CachePolicy | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
    ) -> None:
        self.checkpointer = checkpointer
        self.store = store
        self.cache = cache
        self.context_schema = context_schema
        given = (retry_policy, cache_policy, timeout)
        self.policies = policies_of("The entrypoint", *given)

    def __call__(self, function: Callable[..., Any]) -> Pregel:
        refuse_generators(function)
        if not parameter_names(function):
            raise ValueError(
                "Entrypoint function must have at least one parameter: it is given the input."
            )
        Calls.possible = True
        name = function_name(function)
        node = PregelNode(
            name,
            (START,),
            Selection(START),
            bound=UserFunction(function, name),
            writers=(written,),
            targets=(END, PREVIOUS),
            policies=self.policies,
        )
        return Pregel(
            nodes={name: node},
            channels={
                START: EphemeralValue(Any),
                END: LastValue(Any, END),
                PREVIOUS: LastValue(Any, PREVIOUS),
            },
            input_channels=START,
            output_channels=END,
            stream_channels=END,
            stream_mode="updates",
            checkpointer=self.checkpointer,
            store=self.store,
            cache=self.cache,
            context_schema=self.context_schema,
            name=name,
        )


def written(result: Any) -> list[tuple[str, Any]]:
    """What an entrypoint's result writes."""
    if isinstance(result, entrypoint.final):
        return [(END, result.value), (PREVIOUS, result.save)]
    return [(END, result), (PREVIOUS, result)]
