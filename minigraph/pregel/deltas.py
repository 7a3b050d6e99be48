"""Values that are stored in pieces: when a checkpoint may leave one out, and how it comes back.

The value of a `DeltaChannel` is not stored, because it follows from what is: the value at the
parent checkpoint, and the writes beside that. So, to save, there is one question: *do the writes
that are stored beside the parent, all of them and no others, lead from its value to this one?*

    parent ◀───────────── new checkpoint           mostly they do, and nothing is stored
      └ writes of a, b      a, b were applied

    parent ◀───────────── new checkpoint           the tasks were given up for a new input; an old
      └ writes of a, b      a was not applied      checkpoint was edited; the value was overwritten:
                                                   then it must be stored whole, as a *snapshot*

It is not enough to look. Where tasks wait, somebody may be working on them at this moment, and will
store what they write. So only the super-step that starts from a checkpoint may leave values out of
the next one; whoever else makes a child of it stores them whole.

A snapshot also comes when there have been as many updates as the channel says, so that nobody has
to go back further than that (DC-07). `Deltas` keeps the books of a run or an edit, and `whole` puts
a checkpoint together again.

What the reference has stored can be read here, and the other way around.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from contextlib import suppress
from typing import Any, Final

from minigraph.channels.whole import _DeltaSnapshot
from minigraph.checkpoint.base.history import (
    COUNTERS,
    DeltaChannelHistory,
    counters_of,
    kept_in_writes,
)
from minigraph.checkpoint.base.records import CheckpointTuple
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.pregel.effects import Effect, LoadPieces
from minigraph.pregel.known import Known, Remembered
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import LiveState, Version
from minigraph.pregel.pending import pending

MOST_CHECKPOINTS: Final = 5000
"""So many checkpoints may pass without a snapshot, however few of them updated the channel."""


# ---------------------------------------------------------------- reading


def in_pieces(layout: Layout, saved: CheckpointTuple) -> list[str]:
    """The channels of this graph whose value is stored on the way to the checkpoint, not with it.

    A channel that nobody has written is merely empty (DC-10). One that is not a `DeltaChannel` any
    more, but was, still has its value there (DC-14).
    """
    if not layout.deltas and COUNTERS not in saved.metadata:
        return []
    values, versions = saved.checkpoint["channel_values"], saved.checkpoint["channel_versions"]
    absent = {name for name in layout.deltas if name in versions and name not in values}
    return sorted(absent | (kept_in_writes(saved) & layout.channels.keys()))


def whole(
    layout: Layout, saved: CheckpointTuple | None, known: Known | None = None, begins: bool = False
) -> Generator[Effect, Any, CheckpointTuple | None]:
    """A stored checkpoint, with all values in it. Raises `UnreadableError` if one is lost.

    Args:
        layout: the graph.
        saved: the checkpoint.
        known: what is known of the thread.
        begins: whether something begins here that will go on, so that this is worth knowing.
    """
    if saved is None:
        return None
    values = saved.checkpoint["channel_values"]
    wrapped = [name for name, value in values.items() if type(value) is _DeltaSnapshot]
    names = in_pieces(layout, saved)
    if not names and layout.deltas.issuperset(wrapped):
        return saved
    values = dict(values)
    values |= {name: values[name].value for name in wrapped if name not in layout.deltas}
    at_hand = known.of(saved.config) if known is not None else {}
    here = at_hand.get(saved.checkpoint["id"], {})
    if missing := [name for name in names if name not in here]:
        histories = yield LoadPieces(saved.config, missing, at_hand)
    remembered: dict[str, Remembered] = {}
    for name in names:
        if name in here:
            remembered[name] = here[name]
            values[name] = rebuilt(layout, name, {"seed": here[name].fresh(), "writes": []})
            continue
        history = histories[name]
        before = history.get("seed")
        if isinstance(before, Remembered):
            history = {**history, "seed": before.fresh()}
        else:
            check_history(name, saved, history)
        value = values[name] = rebuilt(layout, name, history)
        if begins and isinstance(value, _DeltaSnapshot):
            with suppress(Exception):  # it has no copy
                seed = before if isinstance(before, Remembered) else None
                remembered[name] = Remembered(value.value, seed, history.get("seed"))
    if begins and known is not None and missing:
        known.keep(saved.config, saved.checkpoint["id"], remembered)
    checkpoint: Any = {**saved.checkpoint, "channel_values": values}
    return saved._replace(checkpoint=checkpoint)


def check_history(name: str, saved: CheckpointTuple, history: DeltaChannelHistory) -> None:
    """Refuse a history that cannot be: the channel was updated, and no write is there."""
    updates, _ = counters_of(saved.metadata).get(name, (0, 0))
    if updates and not history["writes"]:
        raise UnreadableError(
            f"The value of {name!r} at checkpoint {saved.checkpoint['id']!r} is stored in pieces. "
            f"It has been updated {updates} times since it was stored whole, but no such write is "
            "there. Either writes were deleted, or the saver does not give them back with the "
            "checkpoint they were put to; `minigraph.checkpoint.conformance` tells."
        )


def rebuilt(layout: Layout, name: str, history: DeltaChannelHistory) -> Any:
    """The value that a history leads to; what is stored of it, for a channel of another kind."""
    seed, writes = history.get("seed"), history["writes"]
    channel: Any = layout.channels[name]
    if channel.stores_writes:
        channel = channel.from_checkpoint(seed)
        channel.replay_writes(writes)
        return _DeltaSnapshot(channel.get())
    if "seed" in history:
        channel = channel.from_checkpoint(seed.value if isinstance(seed, _DeltaSnapshot) else seed)
    else:
        channel = channel.copy()
    for _, _, write in writes:
        channel.update([write])
    return channel.checkpoint()


# ---------------------------------------------------------------- saving


class Deltas:
    """The books: what the next checkpoint may leave out.

    Args:
        layout: the graph.
        found: the checkpoint that a run or an edit starts from, as it is stored.
        keeps_last: of the checkpoints that are saved, only the last is sure to be kept (mode
            ``exit``). Then a value that was to be stored whole once is so in all that follow.
    """

    def __init__(
        self, layout: Layout, found: CheckpointTuple | None, keeps_last: bool = False
    ) -> None:
        self.names = layout.deltas
        self.keeps_last = keeps_last
        self.held: set[str] = set()
        """Channels whose value has been stored whole, and will be from now on."""
        # Those of another graph are kept, but what stores its value here must not seem not to.
        self.counters = {
            name: pair
            for name, pair in (counters_of(found.metadata) if found is not None else {}).items()
            if name in self.names or name not in layout.channels
        }
        was_delta = kept_in_writes(found) if found is not None else set()
        self.rescued = (was_delta & layout.channels.keys()) - self.names
        """Channels that store their value now, and did not at `found`."""
        self.loose: set[str] = set()
        """Channels whose value does not follow from what is stored."""
        self.unwritten: set[str] = set()
        """Channels that have a past without a value. What lies there may be gone, for nobody needed
        it; or was written to another kind of channel, and never counted. So when a value comes, it
        is stored whole, and nobody goes back further than that."""
        if found is not None and found.parent_config is not None:
            self.unwritten |= self.names - found.checkpoint["channel_versions"].keys()

    def __bool__(self) -> bool:
        return bool(self.names or self.counters or self.rescued)

    def loosen(self, channels: Iterable[str]) -> None:
        """These have changed, or not changed, in a way that is not what the store knows."""
        self.loose.update(self.names.intersection(channels))

    def loosen_others(self, saved: CheckpointTuple | None, applied: Collection[str]) -> None:
        """Beside the checkpoint `saved`, only what these tasks have written led to the next one."""
        if self.names and saved is not None:
            self.loosen(name for id, name, _ in pending(saved) if id not in applied)

    def settle(
        self, state: LiveState, moved: dict[str, Version], has_parent: bool, version: Version
    ) -> dict[str, Any]:
        """Decide what the checkpoint of `state` must hold, and bring the counters up to date.

        Args:
            state: the state that is about to be stored.
            moved: the channels that moved since the last checkpoint. What is stored anew although
                it did not move is given `version`, and added here.
            has_parent: whether there is a checkpoint before it.
            version: the next one.

        Returns the snapshots, by channel.
        """
        snapshots: dict[str, Any] = {}
        for name in self.rescued & state.stored.keys():
            restore(state, moved, name, version)
        self.counters = {
            name: (updates + (name in moved), checkpoints + 1)
            for name in self.names | self.counters.keys()
            for updates, checkpoints in [self.counters.get(name, (0, 0))]
        }
        for name in self.names & (state.versions.keys() | self.loose):
            channel: Any = state.channels[name]
            updates, checkpoints = self.counters[name]
            if (
                name in self.loose
                or name in self.unwritten
                or not has_parent
                or channel.overwritten
                or updates >= channel.snapshot_frequency
                or checkpoints >= MOST_CHECKPOINTS
            ):
                snapshots[name] = _DeltaSnapshot(channel.get())
                if name not in self.held:
                    restore(state, moved, name, version)
                del self.counters[name]
                channel.overwritten = False
        if self.keeps_last:
            self.held.update(snapshots)
        self.rescued, self.loose = set(), {*self.held}
        self.unwritten -= state.versions.keys()
        return snapshots

    def metadata(self) -> dict[str, Any]:
        """The counters, as the metadata has them; nothing if there are none."""
        counters = {name: [*self.counters[name]] for name in sorted(self.counters)}
        return {COUNTERS: counters} if counters else {}


def restore(state: LiveState, moved: dict[str, Version], name: str, version: Version) -> None:
    """Have a channel's value stored although it did not move, under a version of its own: a store
    may have put down already that there is none under the old one (DC-12).

    That is no news: whoever has seen the old version has seen the new one.
    """
    if name in moved:
        return
    old = state.versions.get(name)
    state.versions[name] = moved[name] = state.newest = version
    for node, seen in state.seen.items():
        if old is not None and seen.get(name) == old:
            state.seen[node] = {**seen, name: version}
