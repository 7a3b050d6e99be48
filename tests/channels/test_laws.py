"""What holds for every channel class, whatever is written to it.

The runtime relies on these laws and on nothing else: it updates a copy and throws it away when
the super-step fails, it believes the answer "nothing changed", and it leaves channels alone that
say they do not change in silence.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigraph.channels.any_value import AnyValue
from minigraph.channels.base import BaseChannel
from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.delta import DeltaChannel
from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue, LastValueAfterFinish
from minigraph.channels.named_barrier_value import NamedBarrierValue, NamedBarrierValueAfterFinish
from minigraph.channels.topic import Topic
from minigraph.channels.untracked_value import UntrackedValue
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError, InvalidUpdateError
from minigraph.types import Overwrite

Channel = BaseChannel[Any, Any, Any]


class UnluckyNumberError(Exception):
    pass


def add(old: int, new: int) -> int:
    if new == 3:
        raise UnluckyNumberError
    return old + new


def add_all(old: int, writes: list[int]) -> int:
    return reduce(add, writes, old)


def delta() -> Channel:
    channel = DeltaChannel[int](add_all, int)
    channel.key = "k"
    return channel.from_checkpoint(MISSING)  # as the runtime makes it


FRESH: dict[str, Callable[[], Channel]] = {
    "LastValue": lambda: LastValue(int, "k"),
    "LastValueAfterFinish": lambda: LastValueAfterFinish(int, "k"),
    "EphemeralValue": lambda: EphemeralValue(int, key="k"),
    "EphemeralValue unguarded": lambda: EphemeralValue(int, guard=False, key="k"),
    "AnyValue": lambda: AnyValue(int, "k"),
    "UntrackedValue": lambda: UntrackedValue(int, key="k"),
    "UntrackedValue unguarded": lambda: UntrackedValue(int, guard=False, key="k"),
    "Topic": lambda: Topic(int, key="k"),
    "Topic accumulate": lambda: Topic(int, accumulate=True, key="k"),
    "BinaryOperatorAggregate": lambda: BinaryOperatorAggregate(int, add, "k"),
    "BinaryOperatorAggregate unset": lambda: BinaryOperatorAggregate(int | None, add, "k"),
    "DeltaChannel": delta,
    "NamedBarrierValue": lambda: NamedBarrierValue(int, {1, 2}, "k"),
    "NamedBarrierValueAfterFinish": lambda: NamedBarrierValueAfterFinish(int, {1, 2}, "k"),
}
every_channel = pytest.mark.parametrize("name", FRESH)
# Few examples for each of many channels: the classes share their shape, so they share the hunt.
few = settings(max_examples=25, deadline=None)

# 3 is refused by the reducer and is no name of the barriers; the lists mean something to Topic.
WRITES = {
    "Topic": st.integers(1, 2) | st.lists(st.integers(1, 2), max_size=2),
    "BinaryOperatorAggregate": st.integers(1, 3) | st.builds(Overwrite, st.integers(1, 3)),
    "DeltaChannel": st.integers(1, 3) | st.builds(Overwrite, st.integers(1, 3)),
}
Step = tuple[str, list[Any]]


def steps(name: str, max_size: int = 6) -> st.SearchStrategy[list[Step]]:
    writes = WRITES.get(name.split()[0], st.integers(1, 3))
    update = st.tuples(st.just("update"), st.lists(writes, max_size=3))
    other = st.tuples(st.sampled_from(["consume", "finish"]), st.just([]))
    return st.lists(update | update | other, max_size=max_size)


class Seen(NamedTuple):
    """All that can be seen of a channel from outside."""

    available: bool
    value: Any
    stored: Any


def look(channel: Channel) -> Seen:
    try:
        value = channel.get()
    except EmptyChannelError:
        value = MISSING
    stored = channel.checkpoint()
    # Copied deeply, so that an edit in place shows as a difference. (MISSING must stay itself.)
    return Seen(
        channel.is_available(),
        value if value is MISSING else copy.deepcopy(value),
        stored if stored is MISSING else copy.deepcopy(stored),
    )


def take(channel: Channel, step: Step) -> bool | None:
    """What the step answered, or None if it was refused."""
    method, writes = step
    try:
        answer = channel.update(writes) if method == "update" else getattr(channel, method)()
    except (InvalidUpdateError, UnluckyNumberError):
        return None
    assert isinstance(answer, bool)
    return answer


def reach(name: str, data: st.DataObject) -> Channel:
    """A channel in some state that writes can bring about."""
    channel = FRESH[name]()
    for step in data.draw(steps(name), "first"):
        take(channel, step)
    return channel


@every_channel
@few
@given(data=st.data())
def test_copies_are_independent_both_ways(name: str, data: st.DataObject) -> None:
    """A copy looks the same, and what happens to one never shows in the other."""
    channel = reach(name, data)
    before = look(channel)
    duplicate = channel.copy()
    assert look(duplicate) == before
    assert duplicate == channel
    assert (type(duplicate), duplicate.key, duplicate.typ) == (type(channel), "k", channel.typ)

    for step in data.draw(steps(name), "then"):
        take(duplicate, step)
        assert look(channel) == before
    after = look(duplicate)
    for step in data.draw(steps(name), "then"):
        take(channel, step)
        assert look(duplicate) == after


@every_channel
@few
@given(data=st.data())
def test_unchanged_means_unchanged(name: str, data: st.DataObject) -> None:
    """A step that answers False, or that is refused, leaves everything as it was."""
    channel = FRESH[name]()
    for step in data.draw(steps(name, max_size=10)):
        before = look(channel)
        if take(channel, step) is not True:
            assert look(channel) == before


@every_channel
@few
@given(data=st.data())
def test_silence_changes_only_channels_that_say_so(name: str, data: st.DataObject) -> None:
    """`changes_when_unwritten`: who answers False need not be asked."""
    channel = reach(name, data)
    before = look(channel)

    changed = channel.update([])

    if not channel.changes_when_unwritten:
        assert (changed, look(channel)) == (False, before)
    assert channel.update([]) is False


@every_channel
@few
@given(data=st.data())
def test_available_means_readable(name: str, data: st.DataObject) -> None:
    """CH-01: is_available and get never disagree."""
    seen = look(reach(name, data))

    assert seen.available is (seen.value is not MISSING)


@every_channel
@few
@given(data=st.data())
def test_checkpoint_round_trip(name: str, data: st.DataObject) -> None:
    """CH-01, CH-06, CH-19: a restored channel looks and behaves the same; one of a class that
    stores nothing, as a fresh one."""
    channel = reach(name, data)
    stored = channel.checkpoint()
    if name.startswith(("UntrackedValue", "DeltaChannel")):
        channel = FRESH[name]()
    before = look(channel)

    restored = channel.from_checkpoint(stored)

    assert look(restored) == before
    assert restored == channel
    assert (restored.key, restored.typ) == ("k", channel.typ)
    for step in data.draw(steps(name), "then"):
        assert take(restored, step) == take(channel, step)
        assert look(restored) == look(channel)


@every_channel
@few
@given(data=st.data())
def test_what_was_stored_is_not_edited(name: str, data: st.DataObject) -> None:
    """A checkpoint that somebody still holds does not change when the run goes on."""
    channel = reach(name, data)
    stored = channel.checkpoint()
    kept = stored if stored is MISSING else copy.deepcopy(stored)
    restored = channel.from_checkpoint(stored)

    for step in data.draw(steps(name), "then"):
        take(channel, step)
        take(restored, step)

    assert stored == kept


@every_channel
def test_from_checkpoint_missing_is_a_fresh_channel(name: str) -> None:
    """CH-01: an absent entry in a checkpoint means that nothing was written yet."""
    fresh = FRESH[name]()

    assert look(fresh.from_checkpoint(MISSING)) == look(fresh)


@every_channel
def test_a_channel_is_small(name: str) -> None:
    """Slots everywhere: no channel carries a dict of its own."""
    assert not hasattr(FRESH[name](), "__dict__")
