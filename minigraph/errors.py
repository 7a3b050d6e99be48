"""What can go wrong, as classes.

The classes are the reference's, so that ``except`` clauses move over unchanged.
The words are ours: every message names the channel, node, super-step or thread,
says what was expected, and what to do next.

Some of them are no mistakes: `GraphBubbleUp` and its kinds carry a wish up to the graphs
around a node, and end what is in between.

This module imports nothing, so that every other may use it. Those that only few need are behind a
door, in `minigraph.failures`.
"""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import Any

__all__ = [
    "EmptyChannelError",
    "EmptyInputError",
    "ErrorCode",
    "GraphBubbleUp",
    "GraphInterrupt",
    "GraphRecursionError",
    "InvalidUpdateError",
    "NodeCancelledError",
    "ParentCommand",
    "UnknownInterruptError",
]
BEHIND_THE_DOOR = ["GraphDrained", "NodeError", "NodeTimeoutError", "TaskNotFound"]
__all__ += BEHIND_THE_DOOR


def __getattr__(name: str) -> Any:
    if name not in BEHIND_THE_DOOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("minigraph.failures"), name)


class ErrorCode(Enum):
    """Short names under which a mistake is explained in the documentation (ER-02)."""

    GRAPH_RECURSION_LIMIT = "GRAPH_RECURSION_LIMIT"
    INVALID_CONCURRENT_GRAPH_UPDATE = "INVALID_CONCURRENT_GRAPH_UPDATE"
    INVALID_GRAPH_NODE_RETURN_VALUE = "INVALID_GRAPH_NODE_RETURN_VALUE"
    MULTIPLE_SUBGRAPHS = "MULTIPLE_SUBGRAPHS"


def message_with_code(message: str, code: ErrorCode) -> str:
    """Add the code by which the documentation explains this mistake.

    >>> print(message_with_code("Too deep.", ErrorCode.GRAPH_RECURSION_LIMIT))
    Too deep.
    Error code: GRAPH_RECURSION_LIMIT
    """
    return f"{message}\nError code: {code.value}"


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an error of the user's, if it takes notes: a frozen one does not.

    >>> error = ValueError("no")
    >>> add_note(error, "In super-step 3."); error.__notes__
    ['In super-step 3.']
    """
    try:
        error.add_note(note)
    except Exception:
        pass  # the error itself matters more than what there is to say about it


class EmptyChannelError(Exception):
    """A channel was read that holds no value (CH-01)."""


class EmptyInputError(Exception):
    """A run was started with nothing to do: no input, and nothing to resume (SG-44)."""


class InvalidUpdateError(Exception):
    """A write, or a set of writes, that a channel or the graph cannot accept (CH-03, SG-40)."""


class NodeCancelledError(Exception):
    """A node raised `asyncio.CancelledError`, though nobody had cancelled it (ER-03)."""


class GraphRecursionError(RecursionError):
    """The run took more super-steps than its `recursion_limit` allows (SS-41)."""


class UnknownInterruptError(Exception):
    """An answer is meant for a question that nobody has asked (IN-32).

    Attributes:
        reason: always ``"not_pending"``; the reference has others.
        interrupt_ids: the ids that were answered and that no open question has.
        pending_ids: the ids of the open questions.
    """

    reason = "not_pending"
    interrupt_ids: tuple[str, ...] = ()
    pending_ids: tuple[str, ...] = ()


class GraphBubbleUp(Exception):
    """Ends a node, and goes up to the graph around it. A node that catches it, keeps it."""


class GraphInterrupt(GraphBubbleUp):
    """A node has questions, and its graph stops until they are answered (IN-02).

    Its one argument is the list of questions. There is none if a graph in the node stopped at a
    breakpoint.
    """


class ParentCommand(GraphBubbleUp):
    """Commands that are meant for a graph further up (CS-20). They are its arguments.

    >>> print(ParentCommand("Command(graph='__parent__')"))
    A node has returned Command(graph='__parent__'), for the graph around its own. ...
    """

    def __str__(self) -> str:
        return (
            f"A node has returned {', '.join(map(str, self.args))}, for the graph around its own. "
            "A graph that is run by itself has none around it: there, leave out `graph`."
        )
