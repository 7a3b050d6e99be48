"""In and out: inputs to writes, writes to what is seen of them."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue
from minigraph.constants import MISSING
from minigraph.errors import InvalidUpdateError
from minigraph.pregel.io import grouped, input_writes, read_after, result_of, written_values
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import LiveState, hydrate
from minigraph.pregel.selection import Selection


def make_state(**values: Any) -> LiveState:
    channels: dict[str, Any] = {
        "x": LastValue(int, "x"),
        "log": BinaryOperatorAggregate(list, operator.add, "log"),
        "note": EphemeralValue(str, key="note"),
    }
    everything = Selection(list(channels))
    layout = Layout(
        {},
        channels,
        input_channels=everything,
        output_channels=everything,
        stream_channels=everything,
    )
    versions = dict.fromkeys(values, 1)
    return hydrate(layout, {"channel_values": values, "channel_versions": versions})


EVERYTHING = Selection(["x", "log", "note"])


class TestReadAfter:
    """SG-50: what a route sees: the start of the super-step and its own node's writes."""

    def test_without_writes_it_is_the_state(self) -> None:
        assert read_after(make_state(x=1, log=[1]), [], EVERYTHING) == {"x": 1, "log": [1]}

    def test_writes_are_applied_and_the_state_is_untouched(self) -> None:
        state = make_state(x=1, log=[1])
        writes = [("x", 2), ("log", [2]), ("log", [3]), ("note", "n"), ("nowhere", 9)]

        seen = read_after(state, writes, EVERYTHING)

        assert seen == {"x": 2, "log": [1, 2, 3], "note": "n"}
        assert read_after(state, [], EVERYTHING) == {"x": 1, "log": [1]}
        assert state.channels["x"].get() == 1

    def test_a_single_channel(self) -> None:
        assert read_after(make_state(), [("x", 2)], Selection("x")) == 2
        assert read_after(make_state(), [], Selection("x")) is MISSING

    def test_writes_that_a_channel_refuses(self) -> None:
        """The route fails, as the super-step would have."""
        with pytest.raises(InvalidUpdateError, match="'x' received 2 writes"):
            read_after(make_state(), [("x", 1), ("x", 2)], EVERYTHING)

    def test_a_channel_that_the_write_empties(self) -> None:
        """A channel of the user's own may lose its value by a write."""

        class Erasable(LastValue[Any]):
            def update(self, values: Any) -> bool:
                self.value = MISSING
                return True

        state = make_state(x=1)
        state.channels["x"] = Erasable(int, "x").from_checkpoint(1)
        assert read_after(state, [("x", None)], EVERYTHING) == {"log": []}


class TestInputWrites:
    def test_none_is_no_input(self) -> None:
        assert input_writes(Selection("__start__"), None) == []
        assert input_writes(Selection(["a", "b"]), None) == []

    @pytest.mark.parametrize("value", [{"x": 1}, {}, 0, "", [], False])
    def test_one_channel_takes_it_whole(self, value: Any) -> None:
        """SG-44: anything but None is an input, also what is empty."""
        assert input_writes(Selection("__start__"), value) == [("__start__", value)]

    def test_several_channels_take_their_keys(self) -> None:
        """SG-41: other keys are dropped; the order is the channels'."""
        several = Selection(["a", "b"])
        assert input_writes(several, {"z": 0, "b": 2, "a": None}) == [("a", None), ("b", 2)]
        assert input_writes(several, {"z": 0}) == []

    def test_several_channels_need_a_dict(self) -> None:
        """As observed, it is no InvalidUpdateError."""
        with pytest.raises(TypeError) as caught:
            input_writes(Selection(["a", "b"]), 5)
        assert str(caught.value) == (
            "The input must be a dict with keys among ['a', 'b'], but it is int."
        )


class TestWrittenValues:
    """ST-11, ST-12, CS-07: the chunk that says what a task did."""

    @pytest.mark.parametrize(
        ("writes", "chunk"),
        [
            ([], None),
            ([("branch:to:b", None)], None),
            ([("x", 1), ("branch:to:b", None)], {"x": 1}),
            ([("x", None)], {"x": None}),
            ([("y", 2), ("x", 1)], {"y": 2, "x": 1}),
            ([("x", 1), ("x", 2)], [{"x": 1}, {"x": 2}]),
            ([("x", 1), ("y", 2), ("x", 3)], [{"x": 1}, {"y": 2}, {"x": 3}]),
        ],
    )
    def test_of_several_channels(self, writes: Any, chunk: Any) -> None:
        assert written_values(writes, Selection(["x", "y"])) == chunk

    @pytest.mark.parametrize(
        ("writes", "chunk"),
        [
            ([], None),
            ([("y", 2)], None),
            ([("x", 1), ("y", 2)], 1),
            ([("x", [])], []),
            ([("x", 1), ("x", 2)], [1, 2]),
        ],
    )
    def test_of_a_single_channel(self, writes: Any, chunk: Any) -> None:
        assert written_values(writes, Selection("x")) == chunk


@pytest.mark.parametrize(
    ("writes", "result"),
    [
        ([], {}),
        ([("__no_writes__", None)], {}),
        ([("x", 1), ("branch:to:b", None)], {"x": 1}),
        ([("x", 1), ("x", 2), ("y", 3)], {"x": {"$writes": [1, 2]}, "y": 3}),
    ],
)
def test_result_of(writes: Any, result: Any) -> None:
    """CP-42: channel to value, several values marked as such; `{}` without output."""
    assert result_of(writes, Selection(["x", "y"])) == result


def test_the_result_of_a_root_state() -> None:
    """SG-01: even there, a result is a dict."""
    assert result_of([("__root__", 5)], Selection("__root__")) == {"__root__": 5}


def test_grouped() -> None:
    """In order, channel by channel."""
    assert grouped([]) == {}
    assert grouped(iter([("x", 1), ("y", 2), ("x", 3)])) == {"x": [1, 3], "y": [2]}
