"""One task, as often as its policies want.

A node without policies is simply run. Here is what happens to one that has some, as a program of
its own: it yields what is to be done, and whoever runs tasks does it, on threads or on an event
loop.

    yield Look(key)                 ──▶ the cache's answer             a hit: that was all
    yield Try(running)              ──▶ the outcome of one attempt
        it has failed, and a policy wants another attempt:
    yield Wait(seconds)             ──▶ whether the run still goes on
    yield Try(running)              ──▶ …
    yield Keep(key, …)              ──▶ the cache has it now

Each attempt begins where the first began: with its own copy of the input, none of the writes of
the others, and asking its first question first. Two things go on from attempt to attempt, as they
would if the run had died and gone on: what people have answered, and graphs in the task.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeAlias

from minigraph.cache.base import FullKey, digest, identity_of, namespace_of
from minigraph.errors import GraphBubbleUp
from minigraph.failures import NodeTimeoutError
from minigraph.policies import CachePolicy, RetryPolicy, TimeoutPolicy, default_cache_key
from minigraph.pregel.effects import NOTHING, Asked, Emit, Failed, Finished, View
from minigraph.pregel.events import given_to
from minigraph.pregel.interrupts import Resumption
from minigraph.pregel.node import PregelNode, UserFunction, Write
from minigraph.pregel.plan import Task
from minigraph.pregel.running import Around, Running

Outcome: TypeAlias = Finished | Asked | Failed


class Try(NamedTuple):
    """Make one attempt. Answer: its outcome."""

    running: Running


class Wait(NamedTuple):
    """Wait between two attempts. Answer: whether the run still goes on."""

    seconds: float


class Look(NamedTuple):
    """Ask the cache. Answer: the writes; None if it has none."""

    key: FullKey


class Keep(NamedTuple):
    """Tell the cache what was written. Answer: nothing."""

    key: FullKey
    writes: Sequence[Write]
    ttl: int | None


Course: TypeAlias = Generator[Try | Wait | Look | Keep, Any, Outcome]


def course(task: Task, view: View, tell: Callable[[Emit], None] | None, around: Around) -> Course:
    """What is to be done for one task whose node has policies; returns the task's outcome."""
    policies = task.node.policies
    assert policies is not None
    key: FullKey | None = None
    if policies.cache is not None and around.cache is not None and view.results is None:
        key = cache_key(task, policies.cache)
        if (known := (yield Look(key))) is not None:
            return Finished(task.id, known, NOTHING, True)
    spared = view.results is None and (policies.retry or policies.handler)
    began = around.clock.now()
    running = Running(given_a_copy(task) if spared else task, view, tell, around)
    running.began = began
    outcome: Outcome = yield Try(running)
    while isinstance(outcome, Failed) and view.results is None:
        policy = policy_for(outcome.error, policies.retry)
        if policy is None or running.attempt >= policy.max_attempts:
            break
        wait = policy.wait(running.attempt, around.clock.chance)
        if not (yield Wait(wait)):
            break
        running = next_attempt(given_a_copy(task), running)
        outcome = yield Try(running)
    if key is not None and isinstance(outcome, Finished) and not has_asked(running, view):
        yield Keep(key, outcome.writes, policies.cache.ttl if policies.cache else None)
    return outcome


def has_asked(running: Running, view: View) -> bool:
    """Whether a task, or a graph in it, may have asked somebody: what depends on his answer is
    nobody else's."""
    return bool(running.asked or running.took or running.answers or view.resumption is not None)


def policy_for(error: BaseException, policies: Sequence[RetryPolicy]) -> RetryPolicy | None:
    """The first policy that covers an error. What only passes through the node is none (ER-13)."""
    if isinstance(error, GraphBubbleUp) or not isinstance(error, Exception):
        return None
    return next((policy for policy in policies if policy.covers(error)), None)


def next_attempt(task: Task, failed: Running) -> Running:
    """The attempt after one that has failed: as if the run had died there, and gone on."""
    view, answers = failed.view, failed.answered()
    view = view._replace(
        held={**view.held, **answers},
        # So a graph in the task goes on as well, and what it has finished is not done again.
        resumption=view.resumption or Resumption(NOTHING, NOTHING),
    )
    running = Running(task, view, failed.emit, failed.around)
    running.answers, running.took = failed.answers, failed.took
    running.attempt, running.began = failed.attempt + 1, failed.began
    return running


def given_a_copy(task: Task) -> Task:
    """The same task, with an input that its node may edit without anybody noticing."""
    return task._replace(input=own_copy(task.input))


def own_copy(value: Any) -> Any:
    """A deep copy; of what holds something that cannot be copied, a copy of all the rest.

    >>> given = {"log": [1], "lock": print}
    >>> own_copy(given) == given, own_copy(given)["log"] is given["log"]
    (True, False)
    """
    try:
        return deepcopy(value)
    except Exception:  # a lock, a connection: there is only one of it
        if type(value) is dict:
            return {key: own_copy(each) for key, each in value.items()}
        if type(value) in (list, tuple):
            return type(value)(map(own_copy, value))
        return value


# ---------------------------------------------------------------- what a cache is asked for


def cache_key(task: Task, policy: CachePolicy) -> FullKey:
    """Where the output of a task is to be found (ER-50).

    Raises what the policy's `key_func` raises.
    """
    default = policy.key_func is default_cache_key
    return cache_namespace(task.node), digest(
        policy.key_func(task.input if default else given_to(task))
    )


def cache_namespace(node: PregelNode) -> tuple[str, ...]:
    """Where the outputs of a node are kept."""
    functions = [node.bound, *node.then] if node.bound else []
    name, *_ = namespace_of(node.name, None)
    return (name, "|".join(text for each in functions for text in identities(each)), node.name)


def identities(function: UserFunction) -> list[str]:
    """What tells a function from others; a graph is what its nodes do."""
    if function.graph is None:
        return [identity_of(function.function)]
    nodes = function.graph.layout.nodes.values()
    inside = [text for node in nodes if node.bound for text in identities(node.bound)]
    return [f"{function.graph.name}:{digest('|'.join(inside))}"]


# ---------------------------------------------------------------- how long an attempt may take


def overdue(limit: TimeoutPolicy, running: Running, began: float) -> NodeTimeoutError | float:
    """What an attempt that has run since `began` fails with; or in how many seconds to look again.

    A sign of life that comes meanwhile puts the moment off, so one look is not enough.
    """
    now = running.around.clock.monotonic()
    kind, left = limit.left(began, running.active or began, now)
    if left > 0:
        return left
    limits: Any = {"run_timeout": limit.run_timeout, "idle_timeout": limit.idle_timeout}
    return NodeTimeoutError(running.task.name, now - began, kind=kind, **limits)
