"""Selections: which channels somebody reads, and in which shape."""

from __future__ import annotations

import pytest

from minigraph.constants import MISSING
from minigraph.pregel.selection import Selection


def test_one_name_gives_the_bare_value() -> None:
    """SG-01: as for the one channel of a state without keys."""
    assert Selection("x").read({"x": 1, "y": 2}) == 1
    assert Selection("x").read({"x": None}) is None
    assert Selection("x").read({"y": 2}) is MISSING


@pytest.mark.parametrize("names", [["x"], ["x", "y"], ["y", "x", "z"]])
def test_several_names_give_a_dict_in_their_order(names: list[str]) -> None:
    """SG-08: a list of one name is still a list, and the dict has the names' order."""
    readable = {"z": 3, "x": 1, "y": 2, "more": 4}
    assert Selection(names).read(readable) == {name: readable[name] for name in names}
    assert [*Selection(names).read(readable)] == names


def test_what_has_no_value_is_not_there() -> None:
    """SG-08: unset keys are absent, and not None."""
    assert Selection(["x", "y", "z"]).read({"y": None}) == {"y": None}
    assert Selection(["x"]).read({}) == {}
    assert Selection(["x", "y"]).read({}) == {}
    assert Selection([]).read({"x": 1}) == {}


def test_the_dict_is_fresh_and_the_values_are_not() -> None:
    """SG-09: editing the dict touches nobody; editing a list in it does."""
    log: list[int] = []
    readable = {"x": 1, "log": log}

    got = Selection(["x", "log"]).read(readable)
    got["x"] = 2
    got["log"].append(3)

    assert readable == {"x": 1, "log": [3]}
    assert got["log"] is log


def test_what_it_knows_of_itself() -> None:
    """Its names, in order; whether it is single; which names it has."""
    several, single = Selection(iter(["y", "x"])), Selection("long name")
    assert (several.names, several.single) == (("y", "x"), False)
    assert (single.names, single.single) == (("long name",), True)
    assert "x" in several
    assert "z" not in several
    assert "l" not in single
    assert (repr(several), repr(single)) == ("Selection(['y', 'x'])", "Selection('long name')")
