"""The one rule: a node runs when a channel it listens to is newer than what it saw."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigraph.pregel.versions import Cause, causes, moved_since


@pytest.mark.parametrize(
    ("readable", "versions", "seen", "expected"),
    [
        pytest.param({}, {}, {}, (), id="nothing ever happened"),
        pytest.param({"a": 1}, {"a": 1}, {}, (Cause("a", 1, None),), id="never seen"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 1}, (Cause("a", 2, 1),), id="newer than seen"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, (), id="seen"),
        pytest.param({"a": 1}, {"a": 1}, {"a": 2}, (), id="older than seen"),
        pytest.param({}, {"a": 2}, {"a": 1}, (), id="newer, but without a value (SS-21)"),
        pytest.param({"a": 1}, {}, {}, (), id="a value that was never written"),
        pytest.param({"a": None}, {"a": 1}, {}, (Cause("a", 1, None),), id="None is a value"),
        pytest.param({"a": 1}, {"a": 0}, {}, (Cause("a", 0, None),), id="0 is a version"),
        pytest.param({"z": 1}, {"z": 9}, {}, (), id="not a trigger"),
    ],
)
def test_causes(readable: Any, versions: Any, seen: Any, expected: Any) -> None:
    """SS-22."""
    assert causes(["a", "b"], readable, versions, seen) == expected


def test_causes_come_in_the_order_of_the_triggers() -> None:
    """All that are news, and no others."""
    readable = {"a": 1, "b": 1, "c": 1}
    versions = {"a": "2.1", "b": "2.1", "c": "1.5"}
    assert causes(["c", "b", "a"], readable, versions, {"c": "1.5", "b": "1.9"}) == (
        Cause("b", "2.1", "1.9"),
        Cause("a", "2.1", None),
    )


def test_moved_since() -> None:
    """DU-05: changed and new ones, with where they are now; also when the number is smaller."""
    assert moved_since({}, {}) == {}
    assert moved_since({"a": 1, "b": 1}, {"a": 1, "b": 2, "c": 2}) == {"b": 2, "c": 2}
    assert moved_since({"a": 5}, {"a": 3}) == {"a": 3}
    assert moved_since({"a": 1}, {}) == {}


names = st.sampled_from("abcd")


@given(st.dictionaries(names, st.integers(0, 3)), st.dictionaries(names, st.integers(0, 3)))
def test_whatever_moved_makes_the_new_of_the_old(before: Any, after: Any) -> None:
    """Nothing that moved is left out, as long as no channel disappears."""
    assert {**before, **moved_since(before, {**before, **after})} == {**before, **after}
