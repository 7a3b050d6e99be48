"""Whole runs with a `DeltaChannel`, on savers that somebody has written.

Five methods are enough, sync or async. A saver that does not find old checkpoints, or not all that
belongs to them, is found out: an error is better than a value of which a part is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from minigraph.channels import DeltaChannel
from minigraph.checkpoint.base import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.database import connect
from minigraph.constants import START
from minigraph.graph import StateGraph
from minigraph.types import Command, Overwrite, interrupt

THREAD: Any = {"configurable": {"thread_id": "1"}}


class FiveMethods(BaseCheckpointSaver[int]):
    """What every saver must, sync. Versions are those of the base class, whole numbers. What is
    stored lies in a file that is none."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = SqliteSaver(connect(":memory:"))

    def get_tuple(self, config: Any) -> Any:
        return self.inner.get_tuple(config)

    def list(self, *args: Any, **options: Any) -> Any:
        return self.inner.list(*args, **options)

    def put(self, *args: Any) -> Any:
        return self.inner.put(*args)

    def put_writes(self, *args: Any) -> None:
        self.inner.put_writes(*args)

    def delete_thread(self, thread_id: str) -> None:
        self.inner.delete_thread(thread_id)


class FiveAsyncMethods(BaseCheckpointSaver[int]):
    """What every saver must, async, on a store that takes its time."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = SqliteSaver(connect(":memory:"))

    async def aget_tuple(self, config: Any) -> Any:
        await asyncio.sleep(0)
        return self.inner.get_tuple(config)

    async def alist(self, *args: Any, **options: Any) -> Any:
        for found in self.inner.list(*args, **options):
            await asyncio.sleep(0)
            yield found

    async def aput(self, *args: Any) -> Any:
        await asyncio.sleep(0)
        return self.inner.put(*args)

    async def aput_writes(self, *args: Any) -> None:
        await asyncio.sleep(0)
        self.inner.put_writes(*args)

    async def adelete_thread(self, thread_id: str) -> None:
        self.inner.delete_thread(thread_id)


class Both(FiveMethods):
    """The sync ones, and async twins that call them."""

    async def aget_tuple(self, config: Any) -> Any:
        return self.get_tuple(config)

    async def alist(self, *args: Any, **options: Any) -> Any:
        for found in self.list(*args, **options):
            yield found

    async def aput(self, *args: Any) -> Any:
        return self.put(*args)

    async def aput_writes(self, *args: Any) -> None:
        self.put_writes(*args)


def saver_for(way: Any) -> Any:
    """A saver with five methods, of the kind that this way of calling needs."""
    return FiveAsyncMethods() if way.is_async else FiveMethods()


def extend(value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*value, *(item for write in writes for item in write)]


class Asking(TypedDict, total=False):
    log: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=3)]
    notes: Annotated[list[Any], DeltaChannel(extend)]


def asking(saver: Any, way: Any) -> Any:
    """begin ─▶ left and right, beside each other ─▶ ask; right has another graph in it."""
    note = StateGraph(Asking).add_node("note", lambda state: {"notes": ["inner"]})
    inner = note.add_edge(START, "note").compile()
    builder = StateGraph(Asking)
    builder.add_node("begin", lambda state: {"log": ["begin"], "notes": [len(state["log"])]})
    builder.add_node("left", lambda state: {"log": ["left"]})

    def call(state: Asking) -> Any:
        return inner.invoke({"notes": ["right"]})

    async def acall(state: Asking) -> Any:
        return await inner.ainvoke({"notes": ["right"]})

    builder.add_node("right", acall if way.is_async else call)
    builder.add_node("ask", lambda state: {"log": [interrupt("?")]})
    builder.add_edge(START, "begin").add_edge("begin", "left").add_edge("begin", "right")
    builder.add_edge(["left", "right"], "ask")
    return builder.compile(checkpointer=saver)


def story(way: Any, graph: Any) -> list[Any]:
    """A question, its answer, another turn, an edit of an old checkpoint, a replay, an overwrite.
    Afterwards, what is read at every checkpoint."""
    way.invoke(graph, {"log": ["in"]}, THREAD)
    way.invoke(graph, Command(resume="yes"), THREAD)
    way.invoke(graph, {"log": ["again"]}, THREAD)
    old = [s for s in way.history(graph, THREAD) if s.next == ("left", "right")][-1].config
    fork = way.update(graph, old, {"log": ["edit"], "notes": ["edit"]}, "begin")
    way.invoke(graph, None, fork)
    way.invoke(graph, Command(resume="forked"), THREAD)
    way.invoke(graph, None, old, durability="exit")
    way.update(graph, THREAD, {"log": Overwrite(["O"])}, "begin")
    way.invoke(graph, {"log": ["last"]}, THREAD, durability="exit")
    read = [s.values for s in way.history(graph, THREAD)]
    assert [way.state(graph, s.config).values for s in way.history(graph, THREAD)] == read
    return read


def test_five_methods_are_enough(way: Any) -> None:
    """DC-15, SV-50: at every checkpoint of a long story all is read as from a saver of ours, by the
    graph that made it, and by another one that knows nothing yet."""
    expected = story(way, asking(InMemorySaver(), way))
    saver = saver_for(way)

    assert story(way, asking(saver, way)) == expected
    assert [s.values for s in way.history(asking(saver, way), THREAD)] == expected
    assert len(expected) == 15
    assert expected[0] == {
        "log": ["O", "last", "begin", "left"],
        "notes": [1, "right", "inner", 2, "right", "inner"],
    }


def test_a_saver_with_both_serves_both(way: Any) -> None:
    """SV-50: on one thread, turn by turn."""
    saver = Both()
    graph = line(saver)
    graph.invoke({"log": ["1"]}, THREAD)
    asyncio.run(graph.ainvoke({"log": ["2"]}, THREAD))
    result = way.invoke(graph, {"log": ["3"]}, THREAD)

    assert "".join(result["log"]) == "1abc2abc3abc"
    assert way.state(line(saver), THREAD).values["log"] == result["log"]


def test_the_method_is_asked_for_what_is_needed(way: Any) -> None:
    """DC-15: a saver that has a way of its own need not know of a third parameter. It is asked once
    for a checkpoint, for those channels that are not stored with it."""
    asked: list[Any] = []

    class Own(InMemorySaver):
        def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:  # type: ignore[override]
            asked.append([*channels])
            return super().get_delta_channel_history(config=config, channels=channels)

        async def aget_delta_channel_history(self, *, config: Any, channels: Any) -> Any:  # type: ignore[override]
            return self.get_delta_channel_history(config=config, channels=channels)

    saver = Own()
    expected = story(way, asking(InMemorySaver(), way))
    assert story(way, asking(saver, way)) == expected
    asked.clear()
    assert [s.values for s in way.history(asking(saver, way), THREAD)] == expected
    rows = [*saver.list({"configurable": {"thread_id": "1", "checkpoint_ns": ""}})]
    missing = [
        [
            name
            for name in ("log", "notes")
            if name in c["channel_versions"] and name not in c["channel_values"]
        ]
        for c in (row.checkpoint for row in rows)
    ]
    assert asked == [names for names in missing if names]
    assert [] in missing
    assert ["notes"] in missing
    assert ["log", "notes"] in missing


def test_a_saver_that_lists_all_at_once() -> None:
    """SV-10: in a list, instead of one after the other."""

    class AtOnce(FiveMethods):
        def list(self, *args: Any, **options: Any) -> Any:
            return [*self.inner.list(*args, **options)]

    graph = line(AtOnce())
    graph.invoke({"log": ["1"]}, THREAD)
    found = ["".join(s.values["log"]) for s in graph.get_state_history(THREAD)]
    assert found == ["1abc", "1ab", "1a", "1", ""]


# --------------------------------------------------------------------- broken lookups


class Line(TypedDict, total=False):
    log: Annotated[list[Any], DeltaChannel(extend)]
    n: int


def line(saver: Any) -> Any:
    """a ─▶ b ─▶ c, on a saver; it knows nothing of what was there before."""
    builder = StateGraph(Line)
    for name in "abc":
        builder.add_node(name, lambda state, name=name: {"log": [name]})
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    return builder.compile(checkpointer=saver)


class Broken(Both):
    """One that has something wrong with it, once `is_broken`."""

    is_broken = False
    forget: Any = {}

    def get_tuple(self, config: Any) -> Any:
        place = config["configurable"]
        if not self.is_broken or not place.get("checkpoint_id"):
            return self.inner.get_tuple(config)
        return self.by_id(config, self.inner.get_tuple(config), self.latest(config))

    def latest(self, config: Any) -> Any:
        return self.inner.get_tuple(
            {"configurable": {**config["configurable"], "checkpoint_id": None}}
        )

    def by_id(self, config: Any, found: Any, latest: Any) -> Any:
        raise NotImplementedError


class GivesTheLatest(Broken):
    def by_id(self, config: Any, found: Any, latest: Any) -> Any:
        return latest._replace(config=config)


class GivesNothing(Broken):
    def by_id(self, config: Any, found: Any, latest: Any) -> Any:
        return None


class GivesNothingOld(Broken):
    def by_id(self, config: Any, found: Any, latest: Any) -> Any:
        return found if found.checkpoint["id"] == latest.checkpoint["id"] else None


class GivesTheFirst(Broken):
    def by_id(self, config: Any, found: Any, latest: Any) -> Any:
        return [*self.inner.list(THREAD)][-1]


class LosesWrites(Broken):
    def by_id(self, config: Any, found: Any, latest: Any) -> Any:
        return found._replace(pending_writes=[])


class LosesWritesAltogether(Broken):
    def by_id(self, config: Any, found: Any, latest: Any) -> Any:
        return found._replace(pending_writes=None)


class LosesParents(Broken):
    def by_id(self, config: Any, found: Any, latest: Any) -> Any:
        return found._replace(parent_config=None)


class NamesNoIds(Broken):
    def by_id(self, config: Any, found: Any, latest: Any) -> Any:
        parent: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
        return found._replace(parent_config=found.parent_config and parent)


BROKEN = [
    GivesTheLatest, GivesNothing, GivesNothingOld, GivesTheFirst, LosesWrites,
    LosesWritesAltogether, LosesParents, NamesNoIds,
]  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_a_lookup_that_is_broken(way: Any, broken: type[Broken]) -> None:
    """DC-15: asked for the state, for all states, or to go on: an error says that pieces are
    missing, where the value would have been empty, or a part of what it was."""
    saver = broken()
    assert way.invoke(line(saver), {"log": ["in"]}, THREAD)["log"] == ["in", "a", "b", "c"]
    assert way.invoke(line(saver), {"log": ["2"]}, THREAD)["log"][4:] == ["2", "a", "b", "c"]
    before = len([*saver.inner.list(THREAD)])
    saver.is_broken = True

    for ask in (
        lambda: way.state(line(saver), THREAD),
        lambda: way.history(line(saver), THREAD),
        lambda: way.invoke(line(saver), {"log": ["3"]}, THREAD),
        lambda: way.invoke(line(saver), None, THREAD),
        lambda: way.update(line(saver), THREAD, {"log": ["3"]}, "c"),
    ):
        with pytest.raises(UnreadableError, match=r"The value of .*'log'.* is stored in pieces"):
            ask()
    assert len([*saver.inner.list(THREAD)]) == before
    saver.is_broken = False
    assert way.state(line(saver), THREAD).values["log"] == ["in", "a", "b", "c", "2", "a", "b", "c"]


def test_what_was_deleted_while_somebody_reads(way: Any) -> None:
    """DC-15: a history whose checkpoints are gone, when their pieces are to be read, says so. It
    never gives a part of a value."""

    class Deleting(Both):
        def list(self, *args: Any, **options: Any) -> Any:
            found = [*self.inner.list(*args, **options)]
            self.inner.delete_thread("1")
            yield from found

    saver = Deleting()
    way.invoke(line(saver), {"log": ["in"]}, THREAD)
    with pytest.raises(UnreadableError, match="is asked for, but by that id nothing is found"):
        way.history(line(saver), THREAD)
