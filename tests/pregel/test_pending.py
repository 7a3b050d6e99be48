"""What is stored beside a checkpoint, read back."""

from __future__ import annotations

from typing import Any

import pytest

from minigraph.checkpoint.base import CheckpointTuple
from minigraph.constants import NULL_TASK_ID
from minigraph.pregel.identity import interrupt_id
from minigraph.pregel.node import PregelNode
from minigraph.pregel.pending import (
    by_command,
    finished_writes,
    held_answers,
    loose_answer,
    open_questions,
    outside_writes,
    pending,
    stored_errors,
    stored_questions,
    unanswered,
)
from minigraph.pregel.plan import Task
from minigraph.pregel.selection import Selection
from minigraph.types import Interrupt


def saved(*writes: Any) -> CheckpointTuple:
    """A checkpoint with these writes beside it."""
    stored: Any = {"configurable": {}}
    checkpoint: Any = {}
    return CheckpointTuple(stored, checkpoint, {}, None, list(writes))


def task(name: str) -> Task:
    """A task whose id is its name."""
    return Task(name, name, (), None, (), (), name, PregelNode(name, (), Selection("x")))


def question(name: str, index: int = 0) -> Interrupt:
    """What this task asks first, second, …"""
    return Interrupt(f"{name}{index}", interrupt_id(f"{name}:{name}", index))


def nobody(channel: str, value: Any) -> Any:
    return (NULL_TASK_ID, channel, value)


FULL = saved(
    nobody("__resume__", "loose"),
    nobody("x", 1),
    nobody("branch:to:b", "__start__"),
    ("a", "__error__", "boom"),
    ("b", "__interrupt__", [question("b")]),
    ("b", "__resume__", ["B"]),
    ("c", "x", 2),
    ("c", "y", 3),
    ("d", "__no_writes__", None),
    ("e", "__interrupt__", []),
    ("f", "__resume__", ["F"]),
    ("f", "x", 4),
)
"""One of everything."""


@pytest.mark.parametrize(
    "nothing",
    [None, saved(), CheckpointTuple({}, {}, {}, None, None)],  # type: ignore[typeddict-item]
)
def test_nothing(nothing: Any) -> None:
    """Of a thread that does not exist, and of a checkpoint with nothing beside it."""
    assert [*pending(nothing)] == []
    assert stored_errors(nothing) == stored_questions(nothing) == held_answers(nothing) == {}
    assert outside_writes(nothing) == []
    assert loose_answer(nothing) is None
    assert finished_writes(nothing) == {}
    assert [*open_questions(nothing, [task("a")])] == []


def test_everything() -> None:
    """CP-20, CP-21, IN-06, IN-33, CS-11: each kind by itself, and nothing twice."""
    assert stored_errors(FULL) == {"a": "boom"}
    assert stored_questions(FULL) == {"b": [question("b")]}
    assert held_answers(FULL) == {"b": ["B"], "f": ["F"]}
    assert outside_writes(FULL) == [("x", 1), ("branch:to:b", "__start__")]
    assert finished_writes(FULL) == {
        "c": [("x", 2), ("y", 3)],
        "d": [("__no_writes__", None)],
        "f": [("x", 4)],
    }


@pytest.mark.parametrize(
    ("writes", "taken"),
    [
        ([nobody("__resume__", "x")], ["x", None]),
        ([nobody("__resume__", "x"), ("a", "y", 1)], ["x", None]),
        ([nobody("__resume__", "x"), ("a", "__error__", "boom")], ["x", None]),
        ([nobody("__resume__", "x"), ("a", "__resume__", ["x"])], None),
        ([nobody("__resume__", "x"), ("a", "__interrupt__", [question("a")])], None),
        ([("a", "__resume__", ["x"])], None),
        ([nobody("y", 1)], None),
    ],
)
def test_an_answer_that_nobody_has_come_to(writes: Any, taken: Any) -> None:
    """IN-41: it was stored, and the run has been killed before anybody asked."""
    answer = loose_answer(saved(*writes))
    if taken is None:
        assert answer is None
    else:
        assert answer is not None
        assert answer.take() == "x"
        assert answer.take() is not None
        assert answer.take() != "x"


@pytest.mark.parametrize(
    ("writes", "groups"),
    [
        ([], []),
        ([("x", 1), ("y", 2)], [[("x", 1), ("y", 2)]]),
        ([("x", 1), ("__no_writes__", None), ("x", 2)], [[("x", 1)], [("x", 2)]]),
        ([("__no_writes__", None), ("x", 1), ("__no_writes__", None)], [[("x", 1)]]),
    ],
)
def test_writes_of_several_commands(writes: Any, groups: Any) -> None:
    """CS-10: each Command by itself; one that wrote nothing is none."""
    assert by_command(writes) == groups


def test_questions_that_are_open() -> None:
    """IN-25: those of tasks that have not finished, and that have no answer."""
    stored = saved(
        ("a", "__interrupt__", [question("a")]),
        ("b", "__interrupt__", [question("b")]),
        ("b", "__resume__", ["B"]),
        ("c", "__interrupt__", [question("c", 1)]),
        ("c", "__resume__", ["C"]),
        ("d", "__interrupt__", [question("d")]),
        ("d", "x", 1),
        ("gone", "__interrupt__", [question("gone")]),
    )
    tasks = [task(name) for name in "abcdz"]
    assert [*open_questions(stored, tasks)] == [
        (tasks[0], [question("a")]),
        (tasks[2], [question("c", 1)]),
    ]
    assert [*open_questions(stored, tasks[::-1])] == [
        (tasks[2], [question("c", 1)]),
        (tasks[0], [question("a")]),
    ]


@pytest.mark.parametrize(
    ("held", "left"), [([], [0, 1, 2]), (["A"], [1, 2]), (["A", "B", "C", "D"], [])]
)
def test_questions_without_an_answer(held: list[str], left: list[int]) -> None:
    """IN-33: answers belong to questions by their order; a question of another task stays."""
    asked = [question("a", index) for index in range(3)]
    assert unanswered(task("a"), asked, held) == [asked[index] for index in left]
    foreign = question("b")
    assert unanswered(task("a"), [foreign], ["A"]) == [foreign]
