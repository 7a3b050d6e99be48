"""The state between two checkpoints."""

from __future__ import annotations

import operator
from typing import Any

from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue
from minigraph.channels.topic import Topic
from minigraph.channels.untracked_value import UntrackedValue
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import Changes, hydrate
from minigraph.pregel.selection import Selection


def make_layout() -> Layout:
    channels: dict[str, Any] = {
        "x": LastValue(int, "x"),
        "log": BinaryOperatorAggregate(list, operator.add, "log"),
        "note": EphemeralValue(str, key="note"),
        "mail": Topic(int, key="mail"),
        "secret": UntrackedValue(str, key="secret"),
    }
    everything = Selection(list(channels))
    return Layout(
        {},
        channels,
        input_channels=everything,
        output_channels=everything,
        stream_channels=everything,
    )


CHECKPOINT: dict[str, Any] = {
    "v": 4,
    "id": "1",
    "ts": "now",
    "channel_values": {"x": 1, "note": "n", "mail": [], "log": [1]},
    "channel_versions": {"x": 3, "note": 4, "log": 2, "mail": 4},
    "versions_seen": {"a": {"note": 3}},
    "updated_channels": ["note", "mail"],
}


class TestHydrate:
    def test_nothing(self) -> None:
        """Before anything happened: start values, no versions, no node to ask."""
        state = hydrate(make_layout(), None)
        assert state.readable == {"log": []}
        assert state.stored == {"log": [], "mail": []}
        assert (state.versions, state.seen, state.newest) == ({}, {}, None)
        assert state.updated is None
        assert state.restless == set()

    def test_a_checkpoint(self) -> None:
        state = hydrate(make_layout(), CHECKPOINT)
        assert state.readable == {"x": 1, "note": "n", "log": [1]}
        assert state.stored == CHECKPOINT["channel_values"]
        assert state.versions == CHECKPOINT["channel_versions"]
        assert state.seen == {"a": {"note": 3}}
        assert state.newest == 4
        assert state.updated == {"note", "mail"}
        assert state.restless == {"note"}
        assert sorted(state.channels) == ["log", "mail", "note", "secret", "x"]

    def test_a_checkpoint_that_says_less(self) -> None:
        """Of another package, or an older one: what is missing is empty or not known."""
        state = hydrate(make_layout(), {"channel_values": {"x": 1}})
        assert state.readable == {"x": 1, "log": []}
        assert (state.versions, state.seen, state.newest, state.updated) == ({}, {}, None, None)
        state = hydrate(make_layout(), {"channel_values": None, "versions_seen": None})
        assert state.readable == {"log": []}

    def test_a_graph_that_has_changed(self) -> None:
        """Channels that it has no more are left out, those that are new to it start empty."""
        values = {"gone": 9, "x": 1}
        state = hydrate(
            make_layout(), {"channel_values": values, "channel_versions": {"gone": 7, "x": 3}}
        )
        assert state.readable == {"x": 1, "log": []}
        assert state.newest == 7

    def test_text_versions(self) -> None:
        """CP-04: the greatest is the last in the order of texts."""
        state = hydrate(make_layout(), {"channel_versions": {"x": "01.9", "log": "02.1"}})
        assert state.newest == "02.1"

    def test_the_layouts_channels_are_never_touched(self) -> None:
        """CH-01: what holds a value from the start gets a channel of its own."""
        layout = make_layout()
        one, other = hydrate(layout, None), hydrate(layout, CHECKPOINT)
        one.readable["log"].append("edited in place")
        assert layout.channels["log"].get() == []
        assert not layout.channels["x"].is_available()
        assert other.readable["log"] == [1]
        assert hydrate(layout, None).readable["log"] == []

    def test_the_checkpoints_maps_are_not_shared(self) -> None:
        """A checkpoint may be kept, and looked at, while the state moves on."""
        state = hydrate(make_layout(), CHECKPOINT)
        state.versions["x"] = 9
        state.seen["b"] = {}
        state.stored.pop("x")
        assert CHECKPOINT["channel_versions"]["x"] == 3
        assert [*CHECKPOINT["versions_seen"]] == ["a"]
        assert CHECKPOINT["channel_values"]["x"] == 1


class TestAbsorb:
    def test_what_changed_is_there_and_the_rest_stays(self) -> None:
        state = hydrate(make_layout(), CHECKPOINT)
        x = state.channels["x"].copy()
        x.update([2])
        note = state.channels["note"].copy()
        note.update([])
        mail = state.channels["mail"].copy()
        mail.update([7])

        state.absorb(
            Changes(
                channels={"x": x, "note": note, "mail": mail},
                versions={"x": 5, "note": 5, "mail": 5},
                seen={"b": {"x": 3}},
                updated=frozenset({"x", "mail"}),
            )
        )

        assert state.readable == {"x": 2, "log": [1], "mail": [7]}
        assert state.stored == {"x": 2, "log": [1], "mail": [7]}
        assert state.versions == {"x": 5, "note": 5, "log": 2, "mail": 5}
        assert state.seen == {"a": {"note": 3}, "b": {"x": 3}}
        assert (state.newest, state.updated) == (5, {"x", "mail"})
        assert state.restless == {"mail"}

    def test_if_nothing_moved_the_clock_stands(self) -> None:
        state = hydrate(make_layout(), CHECKPOINT)
        state.absorb(Changes({}, {}, {}, frozenset()))
        assert (state.newest, state.updated) == (4, frozenset())
        assert state.readable == {"x": 1, "note": "n", "log": [1]}

    def test_what_is_not_for_the_store(self) -> None:
        """CH-06, MR-09: it can be read, and is not in the checkpoint."""
        state = hydrate(make_layout(), None)
        secret = state.channels["secret"].copy()
        secret.update(["s"])
        state.absorb(Changes({"secret": secret}, {"secret": 1}, {}, frozenset({"secret"})))
        assert state.readable["secret"] == "s"
        assert "secret" not in state.stored


class TestToCheckpoint:
    def test_there_and_back(self) -> None:
        """What was brought to life and not changed is what it was."""
        state = hydrate(make_layout(), CHECKPOINT)
        assert state.to_checkpoint("1", "now") == {
            **CHECKPOINT,
            "updated_channels": ["mail", "note"],  # SS-23: sorted
        }

    def test_the_beginning(self) -> None:
        """CP-01: the format's version is 4; what is not known is None."""
        assert hydrate(make_layout(), None).to_checkpoint("2", "then") == {
            "v": 4,
            "id": "2",
            "ts": "then",
            "channel_values": {"log": [], "mail": []},
            "channel_versions": {},
            "versions_seen": {},
            "updated_channels": None,
        }

    def test_later_changes_do_not_reach_into_it(self) -> None:
        state = hydrate(make_layout(), CHECKPOINT)
        checkpoint = state.to_checkpoint("1", "now")
        x = state.channels["x"].copy()
        x.update([2])
        state.absorb(Changes({"x": x}, {"x": 5}, {"b": {}}, frozenset({"x"})))
        assert checkpoint["channel_values"]["x"] == 1
        assert checkpoint["channel_versions"]["x"] == 3
        assert [*checkpoint["versions_seen"]] == ["a"]
