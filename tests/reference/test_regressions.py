"""Named scenarios: their gist says what the reference does, and minigraph does the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from .cases import CASES
from .differences import KNOWN, Difference, Mismatch, judge
from .shorthand import gist
from .transcript import transcript

pytest.importorskip("langgraph", reason="the reference is not installed")

LEDGER = Path(__file__).parents[2] / "docs" / "differences.md"


@cache
def verdict(name: str) -> Mismatch | Difference | None:
    return judge(CASES[name][0], "minigraph")


@pytest.mark.parametrize("name", CASES)
def test_the_reference_does_what_the_gist_says(name: str) -> None:
    """So that no scenario says one thing by its name and does another."""
    scenario, expected = CASES[name]
    assert gist(scenario, transcript(scenario, "langgraph")) == expected


@pytest.mark.parametrize("name", CASES)
def test_minigraph_tells_the_same_story(name: str) -> None:
    """The whole transcripts are equal, unless a known difference explains it."""
    assert not isinstance(verdict(name), Mismatch), str(verdict(name))


@pytest.mark.parametrize("difference", KNOWN, ids=lambda difference: difference.name)
def test_a_known_difference_is_in_the_ledger_and_still_explains_something(
    difference: Difference,
) -> None:
    """One list of differences, in words and in code, and no row too many."""
    assert f"**{difference.name}" in LEDGER.read_text(encoding="utf-8")
    assert difference in [verdict(name) for name in CASES]
