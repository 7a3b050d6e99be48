"""What is stored in pieces: the pieces sorted, and the walk that finds them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from minigraph.checkpoint.base.history import (
    COUNTERS,
    Pieces,
    broken,
    counters_of,
    kept_in_writes,
    walk,
)
from minigraph.checkpoint.base.records import CheckpointTuple
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.checkpoint.serde.base import UnreadableError


def at(id: str | None = None) -> Any:
    place = {"thread_id": "t", "checkpoint_ns": ""}
    return {"configurable": place | ({} if id is None else {"checkpoint_id": id})}


def found(
    id: str,
    parent: str | None,
    values: dict[str, Any] | None = None,
    writes: Sequence[Any] = (),
    counted: dict[str, Any] | None = None,
) -> CheckpointTuple:
    """A checkpoint of a, b and c, which have been written; writes are (channel, value) pairs."""
    checkpoint: Any = {
        "id": id,
        "channel_values": values or {},
        "channel_versions": dict.fromkeys("abc", 1),
    }
    metadata: Any = {COUNTERS: counted} if counted else {}
    pending = [(f"task {id}", channel, value) for channel, value in writes]
    return CheckpointTuple(at(id), checkpoint, metadata, at(parent) if parent else None, pending)


LINE = [
    found("1", None, {"b": "B1"}, [("a", 1), ("b", 1), ("c", 1)]),
    found("2", "1", {"a": "A2"}, [("a", 2), ("a", 22), ("b", 2)]),
    found("3", "2", {}, [("b", 3), ("a", 3), ("other", 3)]),
    found("4", "3", {"a": "A4", "b": "B4"}, [("a", 4), ("b", 4)]),
]
"""a has a value at 2 and 4, b at 1 and 4, c nowhere."""

SINCE_2 = [("task 2", "a", 2), ("task 2", "a", 22), ("task 3", "a", 3)]
"""What leads from the value of a at 2 to that at 4."""


class Fixed(BaseCheckpointSaver[int]):
    """Finds these; the last is the latest. Notes what it is asked for."""

    def __init__(self, *records: CheckpointTuple) -> None:
        super().__init__()
        self.records = {record.checkpoint["id"]: record for record in records}
        self.asked: list[str | None] = []

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        id = config["configurable"].get("checkpoint_id")
        self.asked.append(id)
        return self.records.get(id or [*self.records][-1])

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        return self.get_tuple(config)


def histories(saver: BaseCheckpointSaver[Any], id: str | None, *channels: str, **more: Any) -> Any:
    """By the walk of the base class, sync and async, which must agree."""
    asked: Any = {"config": at(id), "channels": [*channels], **more}
    results: list[Any] = []
    for call in (
        lambda: saver.get_delta_channel_history(**asked),
        lambda: asyncio.run(saver.aget_delta_channel_history(**asked)),
    ):
        try:
            results.append(call())
        except UnreadableError as error:
            results.append(error)
    first, second = results
    if isinstance(first, UnreadableError):
        assert str(first) == str(second)
        raise first
    assert first == second
    return first


# ------------------------------------------------------------------------ counters


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"a": [2, 3]}, {"a": (2, 3)}),
        ({"a": (0, 1), "b": [0, 0]}, {"a": (0, 1), "b": (0, 0)}),
        ({"a": [1, 2], "b": 5, "c": "12", "d": None, "e": [1], "f": [1, 2, 3]}, {"a": (1, 2)}),
        ({"a": [1.0, 2], "b": ["1", 2], "c": [True, 1], "d": {"0": 1, "1": 2}}, {}),
        ({}, {}),
        ([["a", 1]], {}),
        (5, {}),
        (None, {}),
    ],
)
def test_counters_of(entry: Any, expected: Any) -> None:
    """DC-07: pairs of whole numbers. What is anything else was put there by somebody else."""
    assert counters_of({"step": 1, COUNTERS: entry}) == expected


def test_counters_that_are_not_there() -> None:
    """DC-07."""
    assert counters_of({}) == {}


def test_kept_in_writes() -> None:
    """DC-01, DC-10: what is counted, has been written, and has no value here. The others have
    one, are merely empty, or are of another kind."""
    counted = {"a": [1, 1], "b": [1, 1], "never": [0, 5]}
    assert kept_in_writes(found("1", None, {"b": 0}, counted=counted)) == {"a"}
    assert kept_in_writes(found("1", None, {"b": None}, counted={"b": [1, 1]})) == set()
    assert kept_in_writes(found("1", None)) == set()


def test_kept_in_writes_without_versions() -> None:
    """DC-10: somebody's saver gives none."""
    saved = found("1", None, counted={"a": [1, 1]})
    del saved.checkpoint["channel_versions"]  # type: ignore[misc]  # that is the point
    assert kept_in_writes(saved) == set()


# -------------------------------------------------------------------------- pieces


def test_pieces_come_newest_first_and_leave_oldest_first() -> None:
    """DC-03, DC-04: within a super-step they keep their order."""
    pieces = Pieces(["a", "b"])
    pieces.add({}, [("t4", "a", 4), ("t5", "a", 5), ("t4", "b", 4)])
    assert pieces.missing == {"a", "b"}
    pieces.add({"a": "A", "c": "C"}, [("t2", "a", 2), ("t3", "a", 3), ("t3", "c", 3)])
    assert pieces.missing == {"b"}
    pieces.add({"a": "older"}, [("t1", "a", 1), ("t1", "b", 1)])

    assert pieces.histories() == {
        "a": {"seed": "A", "writes": [(f"t{n}", "a", n) for n in (2, 3, 4, 5)]},
        "b": {"writes": [("t1", "b", 1), ("t4", "b", 4)]},
    }


def test_the_seed_has_the_writes_beside_it() -> None:
    """DC-03: they come after it. What is beside older ones is in it already."""
    pieces = Pieces(["a"])
    pieces.add({"a": ["seed"]}, [("t", "a", 1)])
    pieces.add({}, [("t", "a", 0)])

    assert pieces.histories() == {"a": {"writes": [("t", "a", 1)], "seed": ["seed"]}}


@pytest.mark.parametrize("value", [None, False, [], 0])
def test_a_seed_may_be_anything(value: Any) -> None:
    """DC-03: what counts is that it is there."""
    pieces = Pieces(["a"])
    pieces.add({"a": value}, [])

    assert (pieces.missing, pieces.histories()) == (set(), {"a": {"writes": [], "seed": value}})


def test_no_pieces() -> None:
    """DC-03."""
    assert Pieces([]).histories() == {}
    assert Pieces(["a"]).histories() == {"a": {"writes": []}}


# ---------------------------------------------------------------------------- walk


def test_each_channel_back_to_its_own_seed() -> None:
    """DC-03, DC-15: the writes beside the checkpoint itself are not part of it, and its own values
    are no seeds; those beside the ancestor with the seed are. Others' writes do not count."""
    assert histories(Fixed(*LINE), "4", "a", "b", "c") == {
        "a": {"seed": "A2", "writes": SINCE_2},
        "b": {"seed": "B1", "writes": [("task 1", "b", 1), ("task 2", "b", 2), ("task 3", "b", 3)]},
        "c": {"writes": [("task 1", "c", 1)]},
    }


def test_no_further_than_needed() -> None:
    """DC-15: the walk ends where all seeds are found."""
    saver = Fixed(*LINE)
    saver.get_delta_channel_history(config=at("4"), channels=["a"])
    assert saver.asked == ["4", "3", "2"]
    saver.asked.clear()
    saver.get_delta_channel_history(config=at("4"), channels=["a", "b"])
    assert saver.asked == ["4", "3", "2", "1"]


def test_the_latest() -> None:
    """DC-03: without an id."""
    assert histories(Fixed(*LINE), None, "a") == histories(Fixed(*LINE), "4", "a")


def test_the_root_and_what_is_not_there() -> None:
    """DC-03: a root, an unknown channel and an empty thread have no history; no channels, none at
    all, and nobody is asked."""
    saver = Fixed(*LINE)
    assert histories(saver, "1", "a", "b") == {"a": {"writes": []}, "b": {"writes": []}}
    nothing = Fixed()
    nothing.get_tuple = lambda config: None  # type: ignore[method-assign]
    assert histories(nothing, None, "a") == {"a": {"writes": []}}
    assert histories(saver, "4", "unknown") == {"unknown": {"writes": []}}
    saver.asked.clear()
    assert histories(saver, "4") == {}
    assert saver.asked == []


def test_parents_and_not_neighbours() -> None:
    """DC-05: what lies between, by its id, may be of another branch. A parent may even have the
    greater id, where a clock was set back."""
    line = [
        found("1", None, {}, [("a", 1)]),
        found("2", "1", {"a": "no"}, [("a", 2)]),
        found("3", "8", {"a": "no"}, [("a", 3)]),
        found("8", "1", {}, [("a", 8)]),
    ]
    assert histories(Fixed(*line), "3", "a") == {
        "a": {"writes": [("task 1", "a", 1), ("task 8", "a", 8)]}
    }


def test_pending_writes_may_be_left_out() -> None:
    """DC-03: by a record without any."""
    line = [LINE[0]._replace(pending_writes=None), *LINE[1:]]
    assert histories(Fixed(*line), "2", "a", "b") == {
        "a": {"writes": []},
        "b": {"writes": [], "seed": "B1"},
    }


def test_what_the_caller_knows() -> None:
    """DC-15: counts as stored there, and before what is. At the checkpoint itself it does not."""
    saver = Fixed(*LINE)
    known = {"4": {"a": "no"}, "3": {"c": "C3"}, "2": {"a": "known", "b": "B2"}}

    assert histories(saver, "4", "a", "b", "c", known=known) == {
        "a": {"seed": "known", "writes": SINCE_2},
        "b": {"seed": "B2", "writes": [("task 2", "b", 2), ("task 3", "b", 3)]},
        "c": {"seed": "C3", "writes": []},
    }


# ------------------------------------------------------------------- broken chains

BROKEN = (
    "The value of {names} is stored in pieces, checkpoint by checkpoint, and a piece is missing: "
    "checkpoint {problem}. Either it was deleted by something that did not know of the pieces, or "
    "the saver does not find checkpoints by their id; `minigraph.checkpoint.conformance` tells."
)


def problem_of(saver: BaseCheckpointSaver[Any], *channels: str) -> str:
    with pytest.raises(UnreadableError) as caught:
        histories(saver, "4", *channels)
    return str(caught.value)


def test_a_missing_ancestor() -> None:
    """DC-15: the error names it, who named it, and the channels; behind a seed it is not missed."""
    saver = Fixed(LINE[0], *LINE[2:])
    assert problem_of(saver, "c", "a") == BROKEN.format(
        names=["a", "c"], problem="'3' names '2' as its parent, but by that id nothing is found"
    )
    saver = Fixed(*LINE[1:])
    assert histories(saver, "4", "a")["a"]["seed"] == "A2"
    assert problem_of(saver, "a", "b") == BROKEN.format(
        names=["b"], problem="'2' names '1' as its parent, but by that id nothing is found"
    )


def test_only_the_latest_is_found() -> None:
    """DC-15: a saver that takes no notice of ids would lead in a circle for ever."""

    class OnlyTheLatest(Fixed):
        def get_tuple(self, config: Any) -> CheckpointTuple | None:
            return self.records["4"]

    assert problem_of(OnlyTheLatest(*LINE), "a") == BROKEN.format(
        names=["a"], problem="'4' names '3' as its parent, but by that id '4' is found"
    )


def test_a_parent_without_an_id() -> None:
    """DC-15: leads to the latest, which is not what was meant."""
    saver = Fixed(*LINE[:3], LINE[3]._replace(parent_config=at()))
    assert problem_of(saver, "a") == BROKEN.format(
        names=["a"],
        problem="'4' names no parent, although the value has been updated before it",
    )


def test_parents_that_are_not_told() -> None:
    """DC-15: of a checkpoint that was found by its id. What has been updated before it, must have
    been so beside a parent; what has not, or is of another kind, need not."""

    class Orphans(Fixed):
        def get_tuple(self, config: Any) -> CheckpointTuple | None:
            record = super().get_tuple(config)
            by_id = "checkpoint_id" in config["configurable"]
            return record and record._replace(parent_config=None) if by_id else record

    counted = {"a": [2, 3], "b": [0, 3]}
    saver = Orphans(LINE[0], found("2", "1", counted=counted), found("3", "2", counted=counted))
    for channels in ("a", "ab"):
        with pytest.raises(UnreadableError) as caught:
            histories(saver, None, *channels)
        assert str(caught.value) == BROKEN.format(
            names=[*channels],
            problem="'2' names no parent, although the value has been updated before it",
        )
    assert histories(saver, None, "b", "c") == {"b": {"writes": []}, "c": {"writes": []}}
    assert histories(Orphans(*LINE), None, "a") == {"a": {"writes": [("task 3", "a", 3)]}}


def test_a_checkpoint_that_is_not_there() -> None:
    """DC-15: whoever names one, has seen it; it was removed since, or is not found by its id."""
    with pytest.raises(UnreadableError) as caught:
        histories(Fixed(*LINE), "9", "a", "b")
    assert str(caught.value) == BROKEN.format(
        names=["a", "b"], problem="'9' is asked for, but by that id nothing is found"
    )
    assert histories(Fixed(*LINE), "9") == {}

    class OnlyTheLatest(Fixed):
        def get_tuple(self, config: Any) -> CheckpointTuple | None:
            return self.records["4"]

    with pytest.raises(UnreadableError) as caught:
        histories(OnlyTheLatest(*LINE), "1", "a")
    assert str(caught.value) == BROKEN.format(
        names=["a"], problem="'1' is asked for, but by that id '4' is found"
    )


@pytest.mark.parametrize(
    ("parents", "child", "parent"),
    [("412", "1", "4"), ("_32", "2", "3"), ("__3", "3", "3"), ("_42", "2", "4")],
)
def test_a_circle(parents: str, child: str, parent: str) -> None:
    """DC-15: somebody has edited the store. It has an end all the same, and that is an error."""
    links = zip("1234", f"{parents}3", strict=True)
    saver = Fixed(*(found(id, before, {}, [("a", 1)]) for id, before in links))

    assert problem_of(saver, "a") == BROKEN.format(
        names=["a"],
        problem=f"{child!r} names {parent!r} as its parent, but by that id one is found that comes "
        "after it",
    )


def test_a_circle_behind_the_seed() -> None:
    """DC-15: nobody goes there."""
    line = [found("1", "2", {"a": "A"}, [("a", 1)]), found("2", "1", {}, [])]
    assert histories(Fixed(*line), "2", "a") == {"a": {"writes": [("task 1", "a", 1)], "seed": "A"}}


def test_a_walk_ends_with_its_answers() -> None:
    """DC-15: whoever drives it sends in records, and is told by the end what they come to."""
    walking = walk(at("2"), ["a"])
    assert next(walking) == at("2")
    assert walking.send(found("2", "1")) == at("1")
    with pytest.raises(StopIteration) as end:
        walking.send(found("1", None, {}, [("a", 1)]))
    assert end.value.value == {"a": {"writes": [("task 1", "a", 1)]}}


def test_a_long_chain() -> None:
    """DC-15: of 6,000 checkpoints; depth is not a matter of recursion."""
    line = [found("0", None, {}, [("a", 0)])]
    line += [found(str(n), str(n - 1), {}, [("a", n)]) for n in range(1, 6000)]
    history = histories(Fixed(*line), "5999", "a")["a"]

    assert [value for _, _, value in history["writes"]] == [*range(5999)]


def test_the_words_of_the_error() -> None:
    """DC-15: an `UnreadableError`, as other damage is."""
    error = broken("2", "1", None, Pieces(["b", "a"]))
    assert type(error) is UnreadableError
    assert str(error) == (
        "The value of ['a', 'b'] is stored in pieces, checkpoint by checkpoint, and a piece is "
        "missing: checkpoint '2' names '1' as its parent, but by that id nothing is found. Either "
        "it was deleted by something that did not know of the pieces, or the saver does not find "
        "checkpoints by their id; `minigraph.checkpoint.conformance` tells."
    )
