"""Which old checkpoints newer ones cannot do without."""

from __future__ import annotations

from typing import Any

import pytest

from minigraph.checkpoint.base.ancestors import still_needed
from minigraph.checkpoint.base.history import COUNTERS
from minigraph.checkpoint.base.records import CheckpointTuple


def thread(*links: tuple[str, str | None, str, str]) -> dict[str, CheckpointTuple]:
    """Links are (id, parent, channels kept in writes, channels with a value)."""
    made: dict[str, CheckpointTuple] = {}
    for id, parent, counted, stored in links:
        checkpoint: Any = {
            "channel_values": dict.fromkeys(stored, 0),
            "channel_versions": dict.fromkeys("ab", 1),
        }
        metadata: Any = {COUNTERS: {channel: [1, 1] for channel in counted}} if counted else {}
        parent_config: Any = parent and {"configurable": {"checkpoint_id": parent}}
        made[id] = CheckpointTuple({}, checkpoint, metadata, parent_config)
    return made


LINE = thread(
    ("1", None, "", "ab"),
    ("2", "1", "a", "b"),
    ("3", "2", "ab", ""),
    ("4", "3", "a", "b"),
    ("5", "4", "", "ab"),
    ("6", "5", "b", ""),
)
"""b has a value at 2 and a at 1; both again at 5."""


@pytest.mark.parametrize(
    ("doomed", "survivors", "needed"),
    [
        ("12345", "6", "5"),
        ("1234", "56", ""),
        ("123", "4", "123"),
        ("12", "3", "12"),
        ("1", "2", "1"),
        ("13", "46", "13"),
        ("23", "1", ""),
        ("", "123456", ""),
        ("123456", "", ""),
    ],
)
def test_back_to_the_last_value(doomed: str, survivors: str, needed: str) -> None:
    """SV-63: all between, the one with the value too, and nothing before it."""
    assert still_needed({*doomed}, survivors, LINE.get) == {*needed}


def test_parents_and_not_neighbours() -> None:
    """SV-63, DC-05: a sibling on another branch is nobody's ancestor."""
    forked = thread(("1", None, "", "ab"), ("2", "1", "a", "b"), ("3", "1", "a", "b"))
    assert still_needed({"1", "2"}, "3", forked.get) == {"1"}


def test_a_chain_that_is_broken_already() -> None:
    """SV-63: what is left of it is kept."""
    broken = {id: found for id, found in LINE.items() if id != "2"}
    assert still_needed({"1", "2", "3"}, "4", broken.get) == {"2", "3"}
    assert still_needed({"1"}, "9", broken.get) == set()


def test_a_channel_that_was_never_written() -> None:
    """SV-63, DC-10: is counted, and needs nothing."""
    found = thread(("1", None, "", ""), ("2", "1", "c", ""))
    assert still_needed({"1"}, "2", found.get) == set()


@pytest.mark.parametrize("parents", [("1", "2", "3"), ("2", "3", "1"), ("3", "1", "2")])
def test_a_circle_of_parents(parents: tuple[str, str, str]) -> None:
    """SV-63: there is none, unless somebody has edited the store; then it has an end all the
    same."""
    circle = thread(*((id, parent, "a", "") for id, parent in zip("123", parents)))
    assert still_needed("12", "3", circle.get) <= {"1", "2"}


@pytest.mark.parametrize("counted", [5, "a", ["a"], None, {}])
def test_counters_that_are_none(counted: Any) -> None:
    """SV-63: nothing is concluded from them."""
    made = thread(("1", None, "", ""), ("2", "1", "", ""))
    metadata: Any = made["2"].metadata
    metadata[COUNTERS] = counted
    assert still_needed("1", "2", made.get) == set()
