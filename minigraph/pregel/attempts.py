"""Attempts at one task, on a thread and on an event loop.

What is to be done for a task with policies, `retry` says. Here it is done: twice, since waiting is
another thing on a thread than on an event loop. And only there can an attempt be given up that
takes too long:

    attempt ───────────────────────▶ its outcome
    watch ── sleeps until a limit ──▶ NodeTimeoutError            whichever is there first

Whoever waits between two attempts can be told to stop at any time: a thread when its run is over, a
coroutine when it is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from minigraph.failures import NodeTimeoutError
from minigraph.policies import TimeoutPolicy
from minigraph.pregel.effects import Emit, Failed, View
from minigraph.pregel.plan import Task
from minigraph.pregel.retry import Course, Keep, Look, Outcome, Try, Wait, course, overdue
from minigraph.pregel.running import Around, Running
from minigraph.pregel.validate import check_limit

Tell: TypeAlias = Callable[[Emit], None]


def pursue(
    task: Task,
    view: View,
    tell: Tell | None,
    around: Around,
    attempt: Callable[[Running], Outcome],
) -> Outcome:
    """The outcome of a task with policies, on this thread."""
    try:
        if limit_of(task, view) is not None:
            raise ValueError(
                f"A sync run cannot keep the timeout of {task.name!r}: a thread cannot be stopped. "
                "Use ainvoke or astream."
            )
        steps: Course = course(task, view, tell, around)
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            match step:
                case Try(running):
                    answer = attempt(running)
                case Wait(seconds):
                    answer = around.clock.sleep(seconds, around.is_over)
                case Look(key):
                    answer = around.cache.get([key]).get(key) if around.cache else None
                case Keep(key, writes, ttl) if around.cache is not None:
                    around.cache.set({key: (writes, ttl)})
    except Exception as error:  # of a policy's function, or of the cache
        return Failed(task.id, error)


async def pursue_async(
    task: Task,
    view: View,
    tell: Tell | None,
    around: Around,
    attempt: Callable[[Running], Coroutine[Any, Any, Outcome]],
) -> Outcome:
    """The same on the event loop."""
    try:
        limit = limit_of(task, view)
        if limit is not None:
            check_limit(task.node)  # a Send may have brought it
        steps: Course = course(task, view, tell, around)
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            match step:
                case Try(running):
                    work = attempt(running)
                    answer = await (work if limit is None else limited(running, limit, work))
                case Wait(seconds):
                    await around.clock.asleep(seconds)
                    answer = True
                case Look(key):
                    found = await around.cache.aget([key]) if around.cache else {}
                    answer = found.get(key)
                case Keep(key, writes, ttl) if around.cache is not None:
                    await around.cache.aset({key: (writes, ttl)})
    except Exception as error:
        return Failed(task.id, error)


def limit_of(task: Task, view: View) -> TimeoutPolicy | None:
    """How long an attempt may take. An update from outside runs no node."""
    policies = task.node.policies
    return policies.timeout if policies is not None and view.results is None else None


# ---------------------------------------------------------------- not for ever


async def limited(
    running: Running, limit: TimeoutPolicy, work: Coroutine[Any, Any, Outcome]
) -> Outcome:
    """The outcome of an attempt, or a `NodeTimeoutError`.

    An attempt that is given up is cancelled, and waited for: what it does to clean up is done
    before the next one begins.
    """
    began = running.active = running.around.clock.monotonic()
    running.only_heartbeats = limit.refresh_on == "heartbeat"
    attempt = asyncio.create_task(work)
    watching = asyncio.create_task(watch(running, limit, began))
    try:
        await asyncio.wait((attempt, watching), return_when=asyncio.FIRST_COMPLETED)
        if attempt.done():
            return attempt.result()
        await given_up(attempt)
        return Failed(running.task.id, watching.result())
    finally:
        watching.cancel()
        await given_up(attempt)


async def given_up(attempt: asyncio.Task[Any]) -> None:
    """Cancel an attempt, and wait until it has ended."""
    if not attempt.done():
        attempt.cancel()
        await asyncio.wait((attempt,))


async def watch(running: Running, limit: TimeoutPolicy, began: float) -> NodeTimeoutError:
    """Sleep until a limit is exceeded."""
    while True:
        found = overdue(limit, running, began)
        if isinstance(found, NodeTimeoutError):
            return found
        await running.around.clock.asleep(found)
