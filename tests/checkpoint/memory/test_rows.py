"""The dict that knows whether it is in order."""

import copy
import itertools
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigraph.checkpoint.memory.rows import Row, Rows, newest_first

ROW: Row = (("null", b""), ("null", b""), None)


def rows(ids: str) -> Rows:
    made = Rows()
    for id in ids:
        made[id] = ROW
    return made


@pytest.mark.parametrize("ids", ["", "1", "123", "135"])
def test_ascending_ids_are_read_backwards(ids: str) -> None:
    """SV-04: without a sort."""
    made = rows(ids)
    assert made.ascending
    assert "".join(newest_first(made)) == ids[::-1]


@pytest.mark.parametrize("ids", ["21", "132", "312", "54321"])
def test_other_ids_are_sorted_once(ids: str) -> None:
    """SV-04: in place, when they are next read; then the dict is in order again."""
    made = rows(ids)
    assert not made.ascending
    assert "".join(made) == ids
    assert "".join(newest_first(made)) == "".join(sorted(ids, reverse=True))
    assert "".join(made) == "".join(sorted(ids))
    assert made.ascending


def test_replacing_and_deleting_keep_the_order() -> None:
    """SV-04: replacing leaves a row in its place."""
    made = rows("123")
    made["1"] = ROW
    del made["3"]
    made.pop("1")
    made["5"] = ROW
    assert made.ascending
    assert list(newest_first(made)) == ["5", "2"]


@pytest.mark.parametrize(
    "insert",
    [
        lambda made: made.setdefault("1", ROW),
        lambda made: made.update({"1": ROW}),
        lambda made: made.update([("1", ROW)]),
        lambda made: made.__ior__({"1": ROW}),
    ],
)
def test_every_way_in_is_watched(insert: Any) -> None:
    """SV-04: somebody may fill the dict by hand."""
    made = rows("23")
    insert(made)
    assert list(newest_first(made)) == ["3", "2", "1"]


def test_in_place_or() -> None:
    made = rows("23")
    made |= {"1": ROW}
    assert isinstance(made, Rows)
    assert list(newest_first(made)) == ["3", "2", "1"]


def test_a_plain_dict_is_sorted_each_time() -> None:
    plain = dict.fromkeys("132", ROW)
    assert list(newest_first(plain)) == ["3", "2", "1"]
    assert list(plain) == ["1", "3", "2"]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_in_order_too(copied: Any) -> None:
    """Users look into the store, and keep what they found there."""
    for ids in ("123", "312"):
        made = copied(rows(ids))
        assert made == rows(ids)
        assert list(newest_first(made)) == ["3", "2", "1"]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["set", "del", "update", "read"]), st.sampled_from("12345")))
)
def test_newest_first_is_always_the_sorted_keys(script: list[tuple[str, str]]) -> None:
    """SV-04: after any history of edits."""
    made = Rows()
    for what, id in script:
        if what == "set":
            made[id] = ROW
        elif what == "del":
            made.pop(id, None)
        elif what == "update":
            made.update({id: ROW})
        else:
            list(newest_first(made))
    ids = list(newest_first(made))
    assert all(a > b for a, b in itertools.pairwise(ids))
    assert set(ids) == set(made)
