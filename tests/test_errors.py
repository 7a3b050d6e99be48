"""What can go wrong, as classes."""

from __future__ import annotations

import dataclasses

import pytest

from minigraph import errors
from minigraph.errors import ErrorCode, add_note, message_with_code


def test_the_public_names() -> None:
    """Those of the reference that there is a use for so far."""
    assert errors.__all__ == [
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
        "GraphDrained",
        "NodeError",
        "NodeTimeoutError",
        "TaskNotFound",
    ]


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("EmptyChannelError", Exception),
        ("EmptyInputError", Exception),
        ("InvalidUpdateError", Exception),
        ("NodeCancelledError", Exception),
        ("GraphRecursionError", RecursionError),
        ("GraphBubbleUp", Exception),
        ("GraphInterrupt", errors.GraphBubbleUp),
        ("ParentCommand", errors.GraphBubbleUp),
        ("UnknownInterruptError", Exception),
    ],
)
def test_what_an_except_clause_catches(name: str, base: type[Exception]) -> None:
    """ER-01: the bases are the reference's."""
    assert getattr(errors, name).__bases__ == (base,)


def test_codes_and_their_place_in_a_message() -> None:
    """ER-02: the code stands on a line of its own, at the end."""
    assert [code.value for code in ErrorCode] == [
        "GRAPH_RECURSION_LIMIT",
        "INVALID_CONCURRENT_GRAPH_UPDATE",
        "INVALID_GRAPH_NODE_RETURN_VALUE",
        "MULTIPLE_SUBGRAPHS",
    ]
    assert all(code.name == code.value for code in ErrorCode)
    assert message_with_code("Too deep.", ErrorCode.GRAPH_RECURSION_LIMIT).splitlines() == [
        "Too deep.",
        "Error code: GRAPH_RECURSION_LIMIT",
    ]


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    code: int


class TakesNoNotes(Exception):
    def add_note(self, note: str) -> None:
        raise RuntimeError("no notes, please")


@pytest.mark.parametrize("error", [Frozen(3), TakesNoNotes("boom")])
def test_an_error_that_takes_no_notes(error: Exception) -> None:
    """CP-55: it is left as it is, and nothing is raised in its place."""
    add_note(error, "During task ...")
    assert not hasattr(error, "__notes__")
