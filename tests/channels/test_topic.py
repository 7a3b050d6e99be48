"""Topic: a mailbox, or a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigraph.channels.last_value import LastValue
from minigraph.channels.topic import Topic
from minigraph.constants import MISSING
from minigraph.errors import EmptyChannelError

writes = st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=3)
batches = st.lists(st.lists(writes, max_size=3), max_size=6)


def flat(batch: Sequence[Any]) -> list[Any]:
    return [entry for w in batch for entry in (w if isinstance(w, list) else [w])]


def test_starts_empty_but_has_a_checkpoint() -> None:
    """CH-16: an empty topic is unavailable, and stored as an empty list."""
    channel = Topic(int)

    with pytest.raises(EmptyChannelError) as caught:
        channel.get()

    assert str(caught.value) == ""
    assert channel.is_available() is False
    assert channel.checkpoint() == []


def test_mailbox_holds_one_super_step() -> None:
    """CH-15: each batch replaces the content, an empty one too."""
    channel = Topic(int)

    assert channel.update([1, [2, 3]]) is True
    assert (channel.get(), channel.checkpoint()) == ([1, 2, 3], [1, 2, 3])
    assert channel.update([]) is True
    assert (channel.is_available(), channel.checkpoint()) == (False, [])
    assert channel.update([]) is False
    assert (channel.update([4]), channel.get()) == (True, [4])
    assert (channel.update([4]), channel.get()) == (True, [4])


def test_log_only_grows() -> None:
    """CH-15: with accumulate nothing is lost, and duplicates are kept."""
    channel = Topic(int, accumulate=True)

    assert (channel.update([1]), channel.get()) == (True, [1])
    assert (channel.update([]), channel.get()) == (False, [1])
    assert (channel.update([[2, 2]]), channel.get()) == (True, [1, 2, 2])
    assert (channel.update([]), channel.checkpoint()) == (False, [1, 2, 2])


def test_lists_are_flattened_one_level_and_nothing_else_is() -> None:
    """CH-15: tuples, sets and texts are single entries, and so is a list in a list."""
    channel = Topic(object)
    channel.update([(1, 2), {3}, [[4]], [], "ab"])

    assert channel.get() == [(1, 2), {3}, [4], "ab"]


def test_a_batch_of_empty_lists_is_an_empty_batch() -> None:
    """CH-15."""
    mailbox, log = Topic(int), Topic(int, accumulate=True)
    assert (mailbox.update([[]]), log.update([[]])) == (False, False)

    mailbox.update([1])
    log.update([1])

    assert (mailbox.update([[]]), mailbox.checkpoint()) == (True, [])
    assert (log.update([[], []]), log.checkpoint()) == (False, [1])


@pytest.mark.parametrize("accumulate", [False, True])
def test_checkpoint_round_trip(accumulate: bool) -> None:
    channel = Topic(int, accumulate, key="t")
    channel.update([1, 2])

    again = channel.from_checkpoint(channel.checkpoint())

    assert (again.get(), again.accumulate, again.key, again.typ) == ([1, 2], accumulate, "t", int)
    assert channel.from_checkpoint([]).is_available() is False
    assert channel.from_checkpoint(MISSING).checkpoint() == []


def test_old_checkpoint_in_two_parts() -> None:
    """CH-16: the second part of a tuple is the content."""
    assert Topic(int).from_checkpoint((set(), [7, 8])).get() == [7, 8]


def test_a_stored_list_is_not_edited() -> None:
    """What a saver or a snapshot still holds must not change under its hands."""
    stored = [1, 2]
    channel = Topic(int, accumulate=True).from_checkpoint(stored)
    earlier = channel.checkpoint()

    channel.update([3])

    assert (stored, earlier, channel.get()) == ([1, 2], [1, 2], [1, 2, 3])


def test_the_list_from_get_is_the_callers_own() -> None:
    """A node that edits what it was given does not write to the channel that way."""
    channel = Topic(int)
    channel.update([1])

    channel.get().append(2)

    assert channel.get() == [1]


def test_a_written_list_is_not_kept() -> None:
    """Nor does one that goes on editing the list that it wrote."""
    channel = Topic(int)
    written = [1]
    channel.update([written])

    written.append(2)

    assert channel.get() == [1]


@pytest.mark.parametrize("accumulate", [False, True])
def test_a_copy_is_independent(accumulate: bool) -> None:
    channel = Topic(int, accumulate, key="t")
    channel.update([1])

    copy = channel.copy()
    assert (copy.get(), copy.accumulate, copy.key) == ([1], accumulate, "t")
    copy.update([2])

    assert channel.get() == [1]
    assert copy.get() == ([1, 2] if accumulate else [2])


def test_equality_is_about_configuration() -> None:
    """CH-22: accumulate counts; type, key and content do not."""
    one = Topic(int)
    one.update([1])

    assert one == Topic(str, key="b")
    assert one != Topic(int, accumulate=True)
    assert one != LastValue(int)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_types_and_cost() -> None:
    """A log does not change in silence, a mailbox does."""
    channel = Topic(int)

    assert channel.ValueType == Sequence[int]
    assert channel.UpdateType == int | list[int]
    assert channel.changes_when_unwritten is True
    assert Topic(int, accumulate=True).changes_when_unwritten is False
    assert Topic(int, accumulate=True).copy().changes_when_unwritten is False
    assert (channel.consume(), channel.finish()) == (False, False)


@given(batches)
def test_a_mailbox_is_its_last_batch_flattened(sent: list[list[Any]]) -> None:
    """CH-15, for any writes: content, and the answer whether it changed."""
    channel = Topic(int)
    content: list[Any] = []
    for batch in sent:
        before, content = content, flat(batch)
        assert channel.update(batch) is bool(before or content)
        assert channel.checkpoint() == content
        assert channel.is_available() is bool(content)


@given(batches)
def test_a_log_is_all_batches_flattened(sent: list[list[Any]]) -> None:
    """CH-15, for any writes: content, and the answer whether it changed."""
    channel = Topic(int, accumulate=True)
    content: list[Any] = []
    for batch in sent:
        content = content + flat(batch)
        assert channel.update(batch) is bool(flat(batch))
        assert channel.checkpoint() == content
        assert channel.is_available() is bool(content)
