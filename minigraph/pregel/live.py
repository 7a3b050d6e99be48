"""The state between two checkpoints: channels that live, and what is known of them.

A checkpoint is dead text. To run a super-step its channels must be objects again, and
the version of each must be at hand:

    Checkpoint ──hydrate──▶ LiveState ──to_checkpoint──▶ Checkpoint
                              │    ▲
                     read by  │    │ absorb(changes)
                              ▼    │
                            plan  update

`plan` and `update` only read a `LiveState`. What an update found out comes back as
`Changes`, and absorbing them is the single place where a live state changes. So a
reducer that raises in the middle of a super-step leaves everything as it was.

Reading a channel and asking it what to store are done once per change and remembered
(`readable`, `stored`). Building a node's input is then a lookup per key, and saving a
state of a thousand keys of which two moved costs two calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from minigraph.channels.base import BaseChannel
from minigraph.checkpoint.base.records import Checkpoint
from minigraph.constants import MISSING
from minigraph.pregel.layout import Layout
from minigraph.pregel.selection import Selection

Channels: TypeAlias = dict[str, BaseChannel[Any, Any, Any]]
Version: TypeAlias = Any
"""A number or a text; whatever the saver's `get_next_version` gives, later ones greater."""

FORMAT_VERSION = 4  # of the checkpoint dict, as the reference writes it


class Changes(NamedTuple):
    """What a super-step changed, and nothing else.

    Fields:
        channels: the touched channels, as they are afterwards.
        versions: the channels whose version moved, with their new version.
        seen: the nodes that ran, with the trigger versions they have now seen.
        updated: the channels that got a new value and have one: the next plan looks at
            the nodes that listen to these, and at no others.
        ignored: (task name, channel) of writes to channels that do not exist.
        told_finished: the channels that were told that nothing is left to run.
    """

    channels: Channels
    versions: dict[str, Version]
    seen: dict[str, dict[str, Version]]
    updated: frozenset[str]
    ignored: Sequence[tuple[str, str]] = ()
    told_finished: Collection[str] = ()


@dataclass(slots=True)
class Glimpse:
    """A checkpoint brought to life only as far as is needed to read it and to plan from it.

    Attributes:
        versions: each channel's version, also of channels that were cleared (SS-21).
        seen: node → trigger → the version with which it last started the node (SS-22).
        updated: the channels that the last super-step updated; ``None`` when that is not
            known, and then every node is asked (SS-23).
        readable: the value of each channel that has one; and what the run itself provides, see
            `minigraph.managed`.
    """

    versions: dict[str, Version]
    seen: dict[str, dict[str, Version]]
    updated: frozenset[str] | None
    readable: dict[str, Any]

    def read(self, selection: Selection) -> Any:
        """What is there to read, in the shape of `selection`; ``MISSING`` if that is nothing."""
        return selection.read(self.readable)


@dataclass(slots=True)
class LiveState(Glimpse):
    """A checkpoint brought to life: it can also be changed.

    Attributes:
        channels: every channel of the layout.
        newest: the greatest version; there is one clock for all channels (SS-20).
        stored: what a checkpoint must hold for each channel that has something to store.
        restless: channels with a value that may change in a super-step that does not write
            to them.
        finishing: channels of the layout that want to know when nothing is left to run.
        unfinished: those of them that changed since they were last told.
        plain: channels of the layout whose value is also what is stored of them.
        whole: all of the state as one dict, if somebody has read it; kept up to date.
        whole_names: the channels that belong in it.
    """

    channels: Channels
    newest: Version | None
    stored: dict[str, Any]
    restless: set[str]
    finishing: frozenset[str]
    unfinished: set[str]
    plain: frozenset[str]
    whole: dict[str, Any] | None
    whole_names: frozenset[str]

    def absorb(self, changes: Changes) -> None:
        """Make the outcome of a super-step the present state."""
        self.channels.update(changes.channels)
        self.versions.update(changes.versions)
        self.seen.update(changes.seen)
        self.updated = changes.updated
        if changes.versions:
            self.newest = next(iter(changes.versions.values()))  # all got the same
        self.remember(changes.channels)
        self.unfinished.difference_update(changes.told_finished)

    def remember(self, channels: Channels) -> None:
        """Read channels once, now that they changed."""
        readable, stored, restless = self.readable, self.stored, self.restless
        whole_names = self.whole_names if self.whole is not None else ()
        for name, channel in channels.items():
            keep = channel.checkpoint()
            if name in self.plain:
                value = keep
            else:
                value = channel.get() if channel.is_available() else MISSING
            if value is not MISSING:
                readable[name] = value
                if channel.changes_when_unwritten:
                    restless.add(name)
            else:
                readable.pop(name, None)
                restless.discard(name)
            if name in whole_names and self.whole is not None:
                if value is not MISSING and name in self.whole:
                    self.whole[name] = value
                else:
                    self.whole = None
            if keep is not MISSING:
                stored[name] = keep
            else:
                stored.pop(name, None)
            if name in self.finishing:
                self.unfinished.add(name)

    def read(self, selection: Selection) -> Any:
        """What is there to read, in the shape of `selection`; ``MISSING`` if that is nothing.

        Copying a dict is many times faster than making it key by key, and in a wide state of
        which little changes that is most of the work.
        """
        if selection.whole_of is not self.whole_names:
            return selection.read(self.readable)
        if self.whole is None:
            self.whole = selection.read(self.readable)
        return self.whole.copy()

    def to_checkpoint(self, id: str, timestamp: str) -> Checkpoint:
        """The present state as a checkpoint. Later changes do not reach into it.

        The maps are copied, the values are not: whoever keeps a checkpoint serialises it.
        """
        return {
            "v": FORMAT_VERSION,
            "id": id,
            "ts": timestamp,
            "channel_values": dict(self.stored),
            "channel_versions": dict(self.versions),
            "versions_seen": dict(self.seen),
            "updated_channels": None if self.updated is None else sorted(self.updated),
        }


def hydrate(layout: Layout, checkpoint: Mapping[str, Any] | None) -> LiveState:
    """Bring a checkpoint to life; ``None`` gives the state before anything happened.

    Channels that the layout no longer has are left out, channels that are new to it start
    empty: a thread goes on when its graph has changed.
    """
    saved: Mapping[str, Any] = checkpoint or {}
    values: Mapping[str, Any] = saved.get("channel_values") or {}
    versions = dict(saved.get("channel_versions") or {})
    updated = saved.get("updated_channels")
    state = LiveState(
        # Patterns are safe to share: whoever changes a channel copies it first. Only one that
        # already holds something gets its own, since a node may edit that value in place.
        channels=dict(layout.channels),
        versions=versions,
        seen=dict(saved.get("versions_seen") or {}),
        newest=max(versions.values(), default=None),
        updated=None if updated is None else frozenset(updated),
        readable={},
        stored={},
        restless=set(),
        finishing=layout.finishing,
        unfinished=set(),
        plain=layout.plain,
        whole=None,
        whole_names=layout.stream_channels.members,
    )
    filled = {
        name: layout.channels[name].from_checkpoint(values.get(name, MISSING))
        for name in layout.filled.union(values)
        if name in layout.channels
    }
    state.channels.update(filled)
    state.remember(filled)
    return state


def glimpse(layout: Layout, checkpoint: Checkpoint) -> Glimpse:
    """A checkpoint, to be looked at. A history is made of thousands of these."""
    values = checkpoint["channel_values"]
    updated = checkpoint.get("updated_channels")
    readable: dict[str, Any] = {}
    for name in values.keys() | layout.preset if layout.preset else values:
        if name in layout.plain and name in values:
            readable[name] = values[name]
        elif name in layout.channels:
            channel = layout.channels[name].from_checkpoint(values.get(name, MISSING))
            if channel.is_available():
                readable[name] = channel.get()
    return Glimpse(
        checkpoint["channel_versions"],
        checkpoint["versions_seen"],
        None if updated is None else frozenset(updated),
        readable,
    )
