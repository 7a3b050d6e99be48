"""What can go wrong, as classes.

The classes are the reference's, so that ``except`` clauses move over unchanged.
The words are ours: every message names the channel, node, super-step or thread,
says what was expected, and what to do next.

This module imports nothing, so that every other may use it.
"""

from __future__ import annotations

from enum import Enum

__all__ = [
    "EmptyChannelError",
    "EmptyInputError",
    "ErrorCode",
    "GraphRecursionError",
    "InvalidUpdateError",
    "NodeCancelledError",
]


class ErrorCode(Enum):
    """Short names under which a mistake is explained in the documentation (ER-02)."""

    GRAPH_RECURSION_LIMIT = "GRAPH_RECURSION_LIMIT"
    INVALID_CONCURRENT_GRAPH_UPDATE = "INVALID_CONCURRENT_GRAPH_UPDATE"
    INVALID_GRAPH_NODE_RETURN_VALUE = "INVALID_GRAPH_NODE_RETURN_VALUE"


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
