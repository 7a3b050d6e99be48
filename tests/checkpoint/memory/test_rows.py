"""The dict that knows whether it is in order."""

import copy
import dataclasses
import enum
import itertools
import math
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigraph.checkpoint.memory.rows import Row, Rows, metadata_filter, newest_first
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer

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


# ------------------------------------------------------------ rows of some metadata


class Level(enum.IntEnum):
    SEVEN = 7


class Word(enum.StrEnum):
    step = "step"


@dataclasses.dataclass(frozen=True)
class Wild:
    """Equals everything that has the hash of ``"step"``."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("step")


def serializer() -> JsonPlusSerializer:
    return JsonPlusSerializer(allowed_msgpack_modules=[Level, Word, Wild])


def plainly(metadata: dict[Any, Any], wanted: dict[Any, Any]) -> bool:
    return all(metadata.get(key) == value for key, value in wanted.items())


INTS = [0, 1, -1, 7, 127, 128, 255, 256, -32, -33, 0xA2C2, 2**53 + 1, 2**63, 2**64, 2**70]
FLOATS = [0.0, -0.0, 1.0, -1.0, 7.0, 0.5, 2.0**53, 2.0**64, 2.0**70, math.inf, math.nan, 1e300]
NUMBERS: list[Any] = [*INTS, *FLOATS, False, True]
numbers = st.sampled_from(NUMBERS)
# Text that holds what packed entries look like, and the characters whose last byte looks like the
# first byte of a packed text.
texts = st.text(st.sampled_from("\x07\xa2\xa3akst\x00"), max_size=6) | st.sampled_from(
    ["", "k", "\xa2", "x\xa4step\x07", "step", "\ud800", "k" * 40]
)
leaves = st.none() | numbers | texts | st.binary(max_size=3)
others = st.sampled_from([Decimal(7), Decimal(1), Level.SEVEN, (7,), {7}, bytearray(b"x"), Wild()])
values = st.recursive(
    leaves | others,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
keys = texts | st.sampled_from([7, 1, True, 1.0, None, Word.step, Wild()])


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(keys, values, max_size=4), st.dictionaries(keys, values, max_size=2), st.data()
)
def test_a_look_at_the_bytes_never_changes_the_result(
    metadata: dict[Any, Any], wanted: dict[Any, Any], data: st.DataObject
) -> None:
    """SV-11: a filter lets through what Python's own comparison lets through."""
    if metadata:  # mostly keys that are there
        for key in data.draw(st.lists(st.sampled_from([*metadata]), max_size=2)):
            wanted[key] = data.draw(st.just(metadata[key]) | values)
    serde = serializer()
    try:
        typed = serde.dumps_typed(metadata)
    except TypeError:  # half a character
        return
    assert metadata_filter(wanted, serde)(typed) is plainly(serde.loads_typed(typed), wanted)


def test_equal_numbers_of_other_types_match() -> None:
    """SV-11: equality is Python's, in whatever form the number is stored."""
    serde = serializer()
    for value, wanted in itertools.product([*NUMBERS, Level.SEVEN, Decimal(7)], repeat=2):
        passes = metadata_filter({"step": wanted}, serde)
        assert passes(serde.dumps_typed({"step": value})) is (value == wanted), (value, wanted)


def test_a_key_that_overlaps_with_what_stands_before_it() -> None:
    """SV-11: the bytes ``a2 c2`` of the number and the first of the key look like the key."""
    serde = serializer()
    typed = serde.dumps_typed({"a": 0xA2C2, "\xa2": 7})
    assert b"\xa2\xc2\xa2\xc2\xa2\x07" in typed[1]
    assert metadata_filter({"\xa2": 7}, serde)(typed)


@pytest.mark.parametrize("key", [Word.step, Wild()])
def test_a_key_that_equals_a_text_is_found(key: Any) -> None:
    """SV-11: a dict with keys that are not plain is decoded."""
    serde = serializer()
    assert metadata_filter({"step": 7}, serde)(serde.dumps_typed({key: 7}))


@pytest.mark.parametrize(
    ("wanted", "decoded"),
    [
        ({"step": 7}, 1),  # the one that has it
        ({"step": 70}, 0),
        ({"step": 7, "source": "fork"}, 0),
        ({"source": "loop"}, 10),
        ({"unknown": 1}, 0),
        ({"step": math.nan}, 0),
        ({"step": None}, 10),  # also equals a missing key
        ({"step": [7]}, 10),
        ({"source": "\ud800"}, 10),  # half a character
    ],
)
def test_only_what_may_match_is_decoded(wanted: dict[str, Any], decoded: int) -> None:
    """SV-11: and what is decoded is all that passes, and what cannot be told from outside."""
    serde = serializer()
    stored = [serde.dumps_typed({"source": "loop", "step": n}) for n in range(10)]
    seen = []
    loads = serde.loads_typed
    serde.loads_typed = lambda typed: seen.append(typed) or loads(typed)  # type: ignore
    passes = metadata_filter(wanted, serde)
    passed = [typed for typed in stored if passes(typed)]
    assert len(seen) == decoded
    assert passed == [typed for typed in stored if plainly(loads(typed), wanted)]


def test_bytes_of_another_serializer_are_not_looked_into() -> None:
    """SV-11: it may write numbers as it likes, under the same tag."""

    class Wide(JsonPlusSerializer):
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "msgpack", b"\x81\xa4step\xd3" + obj["step"].to_bytes(8, "big")

    serde = Wide()
    typed = serde.dumps_typed({"step": 7})
    assert metadata_filter({"step": 7}, serde)(typed)
    assert not metadata_filter({"step": 8}, serde)(typed)


def test_damaged_metadata_is_an_error_where_it_is_decoded() -> None:
    """SV-11: nothing is concluded from bytes that are no dict."""
    with pytest.raises(ValueError, match="damaged"):
        metadata_filter({"step": 7}, serializer())(("msgpack", b""))
