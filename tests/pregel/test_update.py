"""Update: what do the writes of a super-step make of the state?"""

from __future__ import annotations

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigraph.channels.any_value import AnyValue
from minigraph.channels.base import BaseChannel
from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue, LastValueAfterFinish
from minigraph.channels.named_barrier_value import (
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
)
from minigraph.channels.topic import Topic
from minigraph.channels.untracked_value import UntrackedValue
from minigraph.constants import ERROR, INTERRUPT, NO_WRITES, RESUME, RETURN
from minigraph.errors import InvalidUpdateError
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import Changes, LiveState, hydrate
from minigraph.pregel.node import PregelNode
from minigraph.pregel.selection import Selection
from minigraph.pregel.update import TaskWrites, update


class Blinking(LastValue[Any]):
    """Says that it did not change when it is written what it holds; fades like a note."""

    changes_when_unwritten = True

    def update(self, values: Any) -> bool:
        if not values:
            return AnyValue.update(self, [])  # type: ignore[arg-type]
        return bool(values[-1] != self.value) and super().update(values)


def make_layout() -> Layout:
    channels: dict[str, BaseChannel[Any, Any, Any]] = {
        "x": LastValue(int),
        "y": LastValue(int),
        "log": BinaryOperatorAggregate(list, operator.add),
        "note": EphemeralValue(str),
        "any": AnyValue(int),
        "secret": UntrackedValue(str),
        "mail": Topic(int),
        "to a": EphemeralValue(Any, guard=False),
        "to late": LastValueAfterFinish(Any),
        "join": NamedBarrierValue(str, {"a", "b"}),
        "late join": NamedBarrierValueAfterFinish(str, {"a", "b"}),
        "blinking": Blinking(int),
    }
    for name, channel in channels.items():
        channel.key = name
    nodes = {
        "a": PregelNode("a", ("to a",), Selection(["x"])),
        "joined": PregelNode("joined", ("to joined", "join"), Selection(["x"])),
        "late": PregelNode("late", ("to late", "late join"), Selection(["x"])),
    }
    everything = Selection(list(channels))
    return Layout(
        nodes,
        channels,
        input_channels=everything,
        output_channels=everything,
        stream_channels=everything,
    )


LAYOUT = make_layout()


def make_state(values: Any = (), seen: Any = None) -> LiveState:
    """With these values, each of version 1."""
    return hydrate(
        LAYOUT,
        {
            "channel_values": dict(values),
            "channel_versions": dict.fromkeys(dict(values), 1),
            "versions_seen": seen or {},
            "updated_channels": None,
        },
    )


def after(newest: Any) -> int:
    return 1 if newest is None else newest + 1


def task(
    name: str, *writes: Any, triggers: tuple[str, ...] = ("z",), path: Any = None
) -> TaskWrites:
    return TaskWrites(path or ("__pregel_pull", name), name, writes, triggers)


def step(state: LiveState, *tasks: TaskWrites) -> Changes:
    changes = update(LAYOUT, state, tasks, after)
    state.absorb(changes)
    return changes


# ---------------------------------------------------------------- what is written


def test_writes_become_values_of_one_new_version() -> None:
    """SS-20: whatever changes in a step gets the version after the greatest of all."""
    state = make_state({"x": 1, "log": ["in"]})
    state.versions["y"] = state.newest = 6

    changes = step(state, task("a", ("x", 2), ("log", ["a"])), task("b", ("mail", 7)))

    assert changes.versions == {"x": 7, "log": 7, "mail": 7}
    assert changes.updated == {"x", "log", "mail"}
    assert {"log", "mail", "x"} <= {*changes.channels}
    assert not {"y", "note", "join"} & {*changes.channels}
    assert state.readable == {"x": 2, "log": ["in", "a"], "mail": [7]}
    assert state.versions == {"x": 7, "log": 7, "mail": 7, "y": 6}


def test_the_state_given_in_is_not_touched() -> None:
    """What an update finds out are `Changes`; absorbing them is another matter."""
    state = make_state({"x": 1, "log": ["in"], "note": "n", "join": {"a", "b"}})
    before = state.to_checkpoint("1", "now"), dict(state.readable), dict(state.channels)

    update(
        LAYOUT,
        state,
        [task("a", ("x", 2), ("log", ["a"]), triggers=("join",)), task("b", ("join", "a"))],
        after,
    )

    assert (state.to_checkpoint("1", "now"), dict(state.readable), dict(state.channels)) == before
    assert state.channels["log"].get() == ["in"]
    assert state.channels["join"].is_available()


def test_writes_are_taken_in_the_order_of_paths() -> None:
    """SS-02, SS-03: pulled before pushed, names as texts, Sends by number."""
    state = make_state()
    step(
        state,
        task("z", ("log", ["send 10"]), path=("__pregel_push", 10, False)),
        task("z", ("log", ["send 9"]), path=("__pregel_push", 9, False)),
        task("n2", ("log", ["n2"])),
        task("n10", ("log", ["n10"])),
        task("B", ("log", ["B"])),
        task("a", ("log", ["a"]), ("log", ["a again"])),
    )
    assert state.readable["log"] == ["B", "a", "a again", "n10", "n2", "send 9", "send 10"]


@given(st.permutations("abcd"))
def test_the_order_of_the_tasks_given_in_does_not_matter(order: list[str]) -> None:
    """SS-02."""
    state = make_state()
    step(state, *(task(name, ("log", [name]), ("mail", ord(name))) for name in order))
    assert state.readable == {"log": ["a", "b", "c", "d"], "mail": [97, 98, 99, 100]}


def test_no_task_no_change() -> None:
    state = make_state({"x": 1, "note": "n"})
    changes = step(state)
    assert (changes.channels, changes.versions, changes.seen) == ({}, {}, {})
    assert (changes.updated, [*changes.ignored]) == (frozenset(), [])
    assert state.readable == {"x": 1, "log": [], "note": "n"}


def test_writes_without_a_channel_are_told() -> None:
    """SS-25: ignored, but not silently; in the order of the tasks."""
    changes = step(make_state(), task("b", ("nowhere", 1)), task("a", ("gone", 1), ("x", 1)))
    assert [*changes.ignored] == [("a", "gone"), ("b", "nowhere")]
    assert changes.versions == {"x": 1}


@pytest.mark.parametrize("name", [ERROR, INTERRUPT, NO_WRITES, RESUME, RETURN])
def test_writes_about_a_task_are_no_part_of_the_state(name: str) -> None:
    """CP-20, CP-21: they are kept beside the checkpoint, and nobody misses a channel for them."""
    changes = step(make_state(), task("a", (name, "whatever")))
    assert ([*changes.ignored], changes.versions) == ([], {})


# ---------------------------------------------------------------- what is refused


def test_a_refused_write_names_everybody_and_changes_nothing() -> None:
    """SS-05: the channel in the error, the writers in its note."""
    state = make_state({"x": 1, "log": ["in"]})
    before = state.to_checkpoint("1", "now")

    with pytest.raises(InvalidUpdateError, match="'x' received 2 writes") as caught:
        step(state, task("b", ("x", 2)), task("c", ("log", ["c"])), task("a", ("x", 3)))

    assert caught.value.__notes__ == ["While channel 'x' was taking in the writes of: a, b"]
    assert state.to_checkpoint("1", "now") == before
    assert (state.readable["x"], state.channels["x"].get()) == (1, 1)


def test_a_reducer_that_raises_changes_nothing() -> None:
    """Its error is its own."""
    state = make_state({"log": ["in"]})
    with pytest.raises(TypeError, match="can only concatenate list") as caught:
        step(state, task("a", ("log", ["a"]), ("log", 5)))
    assert caught.value.__notes__ == ["While channel 'log' was taking in the writes of: a"]
    assert state.channels["log"].get() == ["in"]


# ---------------------------------------------------------------- what was seen


def test_a_task_has_seen_its_triggers() -> None:
    """SS-22: at the versions of the start of the step, also of triggers that did not fire."""
    state = make_state({"x": 1, "to a": None}, seen={"a": {"old": 3}, "b": {"x": 0}})
    state.versions["cleared"] = 2
    changes = step(state, task("a", ("x", 5), triggers=("to a", "cleared", "never written")))
    assert changes.seen == {"a": {"old": 3, "to a": 1, "cleared": 2}}
    assert state.seen == {"a": {"old": 3, "to a": 1, "cleared": 2}, "b": {"x": 0}}


def test_a_sent_task_has_seen_nothing() -> None:
    """SS-22: an empty entry for its node; an entry that is there stays."""
    pushed = ("__pregel_push", 0, False)
    changes = step(make_state(), task("w", path=pushed, triggers=("__pregel_push",)))
    assert changes.seen == {"w": {}}
    changes = step(make_state(seen={"w": {"x": 1}}), task("w", path=pushed, triggers=("push",)))
    assert changes.seen == {"w": {"x": 1}}


def test_what_others_had_seen_is_not_edited() -> None:
    """An older checkpoint may still hold these maps."""
    seen = {"a": {"to a": 0}}
    state = make_state({"to a": None}, seen=seen)
    step(state, task("a", triggers=("to a",)))
    assert seen == {"a": {"to a": 0}}


# ---------------------------------------------------------------- what fades


def test_what_nobody_wrote_to_fades() -> None:
    """SS-21, SS-24: its version moves, it has no value, and it is not among the updated."""
    state = make_state({"note": "n", "any": 1, "mail": [1], "x": 1})
    changes = step(state, task("a"))
    assert changes.versions == {"note": 2, "any": 2, "mail": 2}
    assert changes.updated == frozenset()
    assert state.readable == {"x": 1, "log": []}
    assert state.stored["mail"] == []
    # Once is enough.
    assert step(state, task("a")).versions == {}


def test_what_somebody_wrote_to_does_not_fade() -> None:
    state = make_state({"note": "old", "any": 1})
    changes = step(state, task("a", ("note", "new"), ("any", 1)))
    assert (changes.versions, changes.updated) == ({"note": 2, "any": 2}, {"note", "any"})


def test_nothing_fades_for_an_input() -> None:
    """SS-24: writes that no super-step made, told by having no triggers."""
    state = make_state({"note": "n", "to late": (None, False)})
    changes = step(state, task("__input__", ("x", 1), triggers=(), path=()))
    assert (changes.versions, changes.updated) == ({"x": 2}, {"x"})
    assert changes.seen == {"__input__": {}}
    assert state.readable["note"] == "n"


def test_untracked_values_stay() -> None:
    """CH-06."""
    state = make_state()
    step(state, task("a", ("secret", "s")))
    step(state, task("a"))
    assert state.readable["secret"] == "s"


def test_a_write_that_changed_nothing_does_not_keep_from_fading() -> None:
    """SS-24: told by the channels that changed, as the reference tells it."""
    state = make_state({"blinking": 1})
    assert step(state, task("a", ("blinking", 2))).updated == {"blinking"}
    changes = step(state, task("a", ("blinking", 2)))
    assert changes.updated == frozenset()
    assert "blinking" not in state.readable


class OfTheUsers(AnyValue[Any]):
    """Written without a thought of what the class attributes mean; it does not fade."""

    def update(self, values: Any) -> bool:
        return bool(values) and super().update(values)


def test_a_channel_that_need_not_be_asked_may_be_asked() -> None:
    """CH-01: the default of `changes_when_unwritten` is correct for every class."""
    layout = Layout(
        {},
        {"own": OfTheUsers(int, "own")},
        input_channels=Selection("own"),
        output_channels=Selection("own"),
        stream_channels=Selection("own"),
    )
    state = hydrate(layout, None)
    state.absorb(update(layout, state, [task("a", ("own", 1))], after))
    changes = update(layout, state, [task("b")], after)
    assert (changes.versions, changes.updated) == ({}, frozenset())
    state.absorb(changes)
    assert state.readable == {"own": 1}


# ---------------------------------------------------------------- what is used up


def test_a_join_that_fired_is_reset() -> None:
    """SS-07: consumed by the task it triggered, at a new version, so that it can fire again."""
    state = make_state()
    assert step(state, task("a", ("join", "a"))).updated == frozenset()
    assert state.stored["join"] == {"a"}
    assert step(state, task("b", ("join", "b"))).updated == {"join"}

    changes = step(state, task("joined", triggers=("to joined", "join")))

    assert (changes.versions, changes.updated) == ({"join": 3}, frozenset())
    assert state.stored["join"] == set()
    assert "join" not in state.readable


def test_a_join_that_is_written_while_it_is_used_starts_anew() -> None:
    """First it is used up, then written: what arrives counts for the next round."""
    state = make_state({"join": {"a", "b"}})
    changes = step(
        state, task("joined", triggers=("join",)), task("a", ("join", "a"), triggers=("to a",))
    )
    assert (changes.versions, changes.updated) == ({"join": 2}, frozenset())
    assert state.stored["join"] == {"a"}


def test_a_join_is_not_used_up_by_others() -> None:
    state = make_state({"join": {"a", "b"}})
    step(state, task("a", triggers=("to a",)))
    assert "join" in state.readable


# ---------------------------------------------------------------- what waits for the end


def test_what_waits_for_the_end_is_told_when_no_node_has_news() -> None:
    """SS-08, SS-10: in the step in which no updated channel triggers anybody."""
    state = make_state()
    changes = step(state, task("a", ("to late", None), ("to a", None)))
    assert "to late" in changes.versions
    assert changes.updated == {"to a"}
    assert state.stored["to late"] == (None, False)

    changes = step(state, task("a", ("x", 1), triggers=("to a",)))

    assert changes.updated == {"x", "to late"}
    assert changes.versions == {"to a": 2, "x": 2, "to late": 2}
    assert state.stored["to late"] == (None, True)
    changes = step(state, task("late", triggers=("to late", "late join")))
    assert (changes.versions, "to late" in state.stored) == ({"to late": 3}, False)


def test_it_is_told_at_once_when_nothing_else_is_there() -> None:
    """Written and finished in one step: one version, one entry."""
    state = make_state()
    changes = step(state, task("a", ("to late", None)))
    assert (changes.versions, changes.updated) == ({"to late": 1}, {"to late"})


def test_a_deferred_join_waits_for_both() -> None:
    """CH-18: for its names, and for the end."""
    state = make_state()
    assert step(state, task("a", ("late join", "a"))).updated == frozenset()
    assert step(state, task("b", ("late join", "b"), ("to a", None))).updated == {"to a"}
    assert step(state, task("a", triggers=("to a",))).updated == {"late join"}
    step(state, task("late", triggers=("to late", "late join")))
    assert state.stored["late join"] == (set(), False)


def test_an_input_is_not_the_end() -> None:
    """SS-24."""
    state = make_state({"to late": (None, False)})
    changes = step(state, task("__input__", ("x", 1), triggers=(), path=()))
    assert state.stored["to late"] == (None, False)
    assert changes.updated == {"x"}


def test_what_is_loaded_is_told_as_well() -> None:
    """SS-08: a deferred node that waits in a stored checkpoint is not forgotten."""
    state = make_state({"to late": (None, False), "late join": ({"a", "b"}, False)})
    assert step(state, task("a", ("x", 1))).updated == {"x", "to late", "late join"}


def test_versions_are_whatever_the_saver_makes() -> None:
    """SS-26, CP-04."""
    state = hydrate(LAYOUT, {"channel_values": {"x": 1}, "channel_versions": {"x": "01.5"}})
    asked = []

    def next_version(newest: Any) -> str:
        asked.append(newest)
        return "02.7"

    changes = update(LAYOUT, state, [task("a", ("x", 2), ("y", 2))], next_version)

    assert asked == ["01.5"]
    assert changes.versions == {"x": "02.7", "y": "02.7"}
