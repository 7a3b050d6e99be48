"""Handlers: the task that takes the place of one that has failed.

A node may name another node that takes over when it has failed for good. In the super-step in which
that happens, one more task is started:

    task of n fails ──▶ its error is stored, and with it that a handler takes over
                        n counts as having run, and has written nothing
                    ──▶ task of __error_handler__n, with n's input and n's error
                        what it writes counts, in the place where n's writes would have been

So the plan of a super-step is the planner's tasks, and those of the handlers that are needed. What
is needed can be read from what is stored: a run that goes on after a crash goes straight to the
handler, and does not try the node again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Final

from minigraph.checkpoint.base.records import CheckpointTuple
from minigraph.constants import ERROR_SOURCE_NODE, PUSH
from minigraph.errors import GraphBubbleUp
from minigraph.failures import NodeError
from minigraph.pregel.identity import task_id
from minigraph.pregel.layout import Layout
from minigraph.pregel.node import Call, Surroundings, UserFunction, Write
from minigraph.pregel.pending import pending, stored_errors
from minigraph.pregel.plan import Task

HANDLER_PREFIX: Final = "__error_handler__"
DEFAULT_HANDLER: Final = "__default_error_handler__"
"""What handlers are called, as nodes: that of one node, and that of all which have no other."""

STEP: Final = "node_error_handler"
"""What a handler's path has behind that of the task whose place it takes."""


class Handler(UserFunction):
    """A handler's function. It is given the error in a parameter ``error``, annotated `NodeError`.

    >>> def handle(state, error: NodeError): return f"{error.node}: {error.error}"
    >>> call = Handler(handle, "h", True).about(NodeError("n", ValueError("no"))).call({}, None)
    >>> call.function(*call.arguments, **call.keywords)
    'n: no'
    """

    __slots__ = ("error", "takes_error")

    def __init__(self, function: Any, name: str, takes_error: bool) -> None:
        super().__init__(function, name)
        self.takes_error = takes_error
        self.error: NodeError | None = None

    def about(self, error: NodeError) -> Handler:
        """The same, for one failure."""
        mine = copy(self)
        mine.error = error
        return mine

    def call(self, value: Any, surroundings: Surroundings, chooses: bool = False) -> Call:
        """The call of the handler with the failed node's input."""
        call = super().call(value, surroundings, chooses)
        if self.takes_error:
            call = call._replace(keywords={**call.keywords, "error": self.error})
        return call


def handler_task(layout: Layout, failed: Task, error: BaseException) -> Task:
    """The task that takes the place of one that has failed, if its node has a handler."""
    policies = failed.node.policies
    name = str(policies and policies.handler)
    node = layout.nodes[name]
    if isinstance(node.bound, Handler):
        # It receives what the failed node was given, as an object of that node's schema.
        bound = node.bound.about(NodeError(failed.name, error))
        mapper, metadata = failed.node.mapper, failed.node.metadata
        node = replace(node, bound=bound, mapper=mapper, metadata=metadata)
    place = failed.place.removesuffix(failed.name) + name
    path = (*failed.path, STEP, False)
    id = task_id(f"{failed.id}{name}{STEP}")
    return Task(id, name, path, failed.input, (PUSH,), (), place, node)


def handlers_needed(
    layout: Layout, tasks: Sequence[Task], saved: CheckpointTuple | None
) -> dict[str, Task]:
    """The handlers' tasks that belong to a super-step, by the id of the task that has failed."""
    handled = {id for id, channel, _ in pending(saved) if channel == ERROR_SOURCE_NODE}
    if not handled:
        return {}
    errors = stored_errors(saved)
    return {
        task.id: handler_task(layout, task, as_error(errors.get(task.id)))
        for task in tasks
        if task.id in handled and has_handler(task)
    }


def has_handler(task: Task) -> bool:
    """Whether another node takes over if this task's node fails."""
    return task.node.policies is not None and task.node.policies.handler is not None


def is_handler(task: Task) -> bool:
    """Whether a task is there because another one has failed."""
    return STEP in task.path


def hands_over(task: Task, error: BaseException) -> bool:
    """Whether a handler takes over. It does not for what only passes through a node, such as a
    question, nor for a task that was cancelled (ER-32)."""
    fails = isinstance(error, Exception) and not isinstance(error, GraphBubbleUp)
    return fails and has_handler(task)


def has_handed_over(writes: Iterable[Write]) -> bool:
    """Whether these are the writes of a task that has failed, and whose handler has taken over."""
    return any(name == ERROR_SOURCE_NODE for name, _ in writes)


def as_error(stored: Any) -> BaseException:
    """A stored error as one that can be raised: what is stored is its text (CP-22).

    >>> as_error("ValueError('no')")
    Exception("ValueError('no')")
    """
    return stored if isinstance(stored, BaseException) else Exception(stored)
