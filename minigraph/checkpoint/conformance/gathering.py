"""Checks of `get_delta_channel_history`: all pieces, in order, and no others.

The value of a `DeltaChannel` lies in pieces on the way to a checkpoint (see
`minigraph.checkpoint.base.history`). The base class gathers them for every saver, from what
`get_tuple` finds; a saver may have a quicker way. These checks are for both: so they also tell
whether `get_tuple` finds old checkpoints by their id, with parent and pending writes.

Each asks one question, which its docstring answers for a saver that is right.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from minigraph.checkpoint.base.history import COUNTERS, DeltaChannelHistory
from minigraph.checkpoint.base.id import uuid6_text
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.checkpoint.conformance.bench import Bench, Check, address, expect, id_of
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.constants import ERROR, INTERRUPT
from minigraph.types import RunnableConfig

__all__ = ["GET_DELTA_CHANNEL_HISTORY", "grow", "grown", "history", "whole"]


async def grow(
    bench: Bench,
    thread: str,
    parent: RunnableConfig | None = None,
    *,
    namespace: str = "",
    run_id: str = "",
    **values: Any,
) -> RunnableConfig:
    """A checkpoint after which ``log`` and ``notes`` are read from pieces, unless their value is
    among those that it holds; its address."""
    counted = {name: [1, 1] for name in ("log", "notes") if name not in values and parent}
    checkpoint, new = bench.checkpoint({"id": uuid6_text(clock_seq=0), **values}, parent)
    for name in ("log", "notes"):
        checkpoint["channel_versions"][name] = new[name] = new["id"]
    metadata: dict[str, Any] = {"source": "loop", "step": 0}
    metadata |= {COUNTERS: counted} if counted else {}
    metadata |= {"run_id": run_id} if run_id else {}
    config = address(thread, namespace, id_of(parent))
    found: RunnableConfig = await bench.call("put", config, checkpoint, metadata, new)
    return found


async def grown(bench: Bench, thread: str, namespace: str = "") -> list[RunnableConfig]:
    """A thread of five checkpoints, each made by a run that is named after the thread, with ``-0``
    at its end, and so on. ``log`` has a value at the second, ``notes`` nowhere, and to both
    something was written beside each."""
    made: list[RunnableConfig] = []
    for n in range(5):
        parent = made[-1] if made else None
        values: dict[str, Any] = {"log": ["value"]} if n == 1 else {}
        run_id = f"{thread}-{n}"
        made.append(await grow(bench, thread, parent, namespace=namespace, run_id=run_id, **values))
        await bench.put_writes(made[-1], [("log", [n]), ("notes", f"note {n}")], f"task-{n}")
    return made


async def history(bench: Bench, config: RunnableConfig, *channels: str) -> Any:
    """What the saver's method finds. Some serializers make lists of tuples."""
    found = await bench.call("get_delta_channel_history", config=config, channels=[*channels])
    return plain(found)


def plain(found: dict[str, DeltaChannelHistory]) -> dict[str, Any]:
    """Histories in which each write is a tuple."""
    return {
        name: {**each, "writes": [tuple(write) for write in each["writes"]]}
        for name, each in found.items()
    }


async def whole(bench: Bench, config: RunnableConfig) -> list[Any]:
    """The value of ``log`` at a checkpoint, put together."""
    values = await bench.values(config)
    if values is not None and "log" in values:
        found: list[Any] = values["log"]
        return found
    pieces = (await history(bench, config, "log"))["log"]
    return [*pieces.get("seed", []), *(item for write in pieces["writes"] for item in write[2])]


async def history_goes_back_to_the_value(bench: Bench) -> None:
    """The writes since the value was stored, oldest first, and that value. Writes beside the
    checkpoint that has it are included, those beside the checkpoint asked for are not (DC-03)."""
    made = await grown(bench, bench.thread())
    logs = [(f"task-{n}", "log", [n]) for n in range(5)]
    expect("the last", await history(bench, made[4], "log"),
           {"log": {"seed": ["value"], "writes": logs[1:4]}})  # fmt: skip
    expect("the third", await history(bench, made[2], "log"),
           {"log": {"seed": ["value"], "writes": logs[1:2]}})  # fmt: skip
    expect("the second", await history(bench, made[1], "log"), {"log": {"writes": logs[:1]}})


async def history_of_several_channels(bench: Bench) -> None:
    """Each goes back to its own value, or to the beginning if none was stored; then there is no
    ``seed`` (DC-03)."""
    made = await grown(bench, bench.thread())
    expect("both", await history(bench, made[3], "log", "notes"), {
        "log": {"seed": ["value"], "writes": [(f"task-{n}", "log", [n]) for n in (1, 2)]},
        "notes": {"writes": [(f"task-{n}", "notes", f"note {n}") for n in (0, 1, 2)]},
    })  # fmt: skip


async def history_of_the_latest(bench: Bench) -> None:
    """Without an id, that of the latest checkpoint (DC-03)."""
    thread = bench.thread()
    made = await grown(bench, thread)
    found = await history(bench, address(thread), "log", "notes")
    expect("the latest", found, await history(bench, made[-1], "log", "notes"))


async def history_of_nothing(bench: Bench) -> None:
    """No writes, and no ``seed``: at a first checkpoint, in an unknown thread, of an unknown
    channel. Of no channels, nothing (DC-03)."""
    thread = bench.thread()
    made = await grown(bench, thread)
    nothing: Any = {"log": {"writes": []}}
    expect("the first", await history(bench, made[0], "log"), nothing)
    expect("an unknown thread", await history(bench, address(bench.thread()), "log"), nothing)
    found = await history(bench, made[-1], "unknown")
    expect("an unknown channel", found, {"unknown": {"writes": []}})
    expect("no channels", await history(bench, made[-1]), {})


async def history_follows_the_parents(bench: Bench) -> None:
    """What was stored in between, by its id, on another branch, does not belong to it (DC-05)."""
    thread = bench.thread()
    root = await grow(bench, thread, log=["root"])
    tips = [root, root]
    await bench.put_writes(root, [("log", ["r"])], "task")
    for n in range(4):
        values: dict[str, Any] = {"log": ["on one branch"]} if n == 2 else {}
        tips[n % 2] = await grow(bench, thread, tips[n % 2], **values)
        await bench.put_writes(tips[n % 2], [("log", [n])], "task")
    tips = [await grow(bench, thread, tip) for tip in tips]
    expect("one", await whole(bench, tips[0]), ["on one branch", 2])
    expect("the other", await whole(bench, tips[1]), ["root", "r", 1, 3])


async def history_keeps_the_order(bench: Bench) -> None:
    """Within a super-step writes are ordered by task path, task id and position, as they were when
    they were applied (DC-04, SV-09)."""
    thread = bench.thread()
    root = await grow(bench, thread)
    for task, path, numbers in (("a", "z", [5, 6]), ("z", "m", [3, 4]), ("b", "m", [1, 2])):
        await bench.put_writes(root, [("log", [number]) for number in numbers], task, path)
    await bench.put_writes(root, [("log", [0])], "y")
    tip = await grow(bench, thread, root)
    expect("the value", await whole(bench, tip), [0, 1, 2, 3, 4, 5, 6])


async def history_has_no_other_writes(bench: Bench) -> None:
    """What was written to other channels is not in it, nor what is about a task (DC-03)."""
    thread = bench.thread()
    root = await grow(bench, thread)
    special = [(ERROR, ["error"]), (INTERRUPT, ["question"])]
    await bench.put_writes(root, [*special, ("other", ["other"]), ("log", [1])], "task")
    tip = await grow(bench, thread, root)
    found = await history(bench, tip, "log")
    expect("the history", found, {"log": {"writes": [("task", "log", [1])]}})


async def history_keeps_none(bench: Bench) -> None:
    """``None`` is a value, that was written or stored like any other (DC-03)."""
    thread = bench.thread()
    root = await grow(bench, thread, log=None)
    await bench.put_writes(root, [("log", None)], "task")
    tip = await grow(bench, thread, root)
    found = await history(bench, tip, "log")
    expect("the history", found, {"log": {"seed": None, "writes": [("task", "log", None)]}})


async def history_keeps_places_apart(bench: Bench) -> None:
    """Another thread's, and another namespace's, is another (DC-03)."""
    thread = bench.thread()
    made = [await grown(bench, thread), await grown(bench, thread, "inner")]
    made.append(await grown(bench, bench.thread()))
    late = await bench.there(made[1][1])
    await bench.put_writes(late.config, [("log", ["inner"])], "task-9")
    values = [await whole(bench, each[-1]) for each in made]
    plainly = ["value", 1, 2, 3]
    expect("the values", values, [plainly, ["value", 1, "inner", 2, 3], plainly])


async def history_is_what_the_parents_have(bench: Bench) -> None:
    """At every checkpoint it is what one finds by asking `get_tuple` for one parent after the other
    (DC-15)."""
    thread = bench.thread()
    made = await grown(bench, thread)
    fork = await grow(bench, thread, made[2])
    await bench.put_writes(fork, [("log", ["fork"])], "task")
    made += [fork, await grow(bench, thread, fork)]
    names = ["log", "notes", "id", "unknown"]
    for config in made:
        walked = plain(await walk(bench, config, names))
        expect(f"the history at {config!r}", await history(bench, config, *names), walked)


async def walk(bench: Bench, config: RunnableConfig, names: list[str]) -> Any:
    """What the base class finds, by the saver's `get_tuple`."""
    base: Any = BaseCheckpointSaver
    if bench.is_async("get_tuple"):
        way = base.aget_delta_channel_history
        return await way(bench.saver, config=config, channels=names)
    way = base.get_delta_channel_history
    return await asyncio.to_thread(way, bench.saver, config=config, channels=names)


async def history_of_a_broken_way(bench: Bench) -> None:
    """If a parent is not there, or the checkpoint itself, that is an `UnreadableError`, and no
    value of which a part is missing; unless it is not needed (DC-15)."""
    thread = bench.thread()
    lost = address(thread, "", uuid6_text(clock_seq=0))
    first = await grow(bench, thread, lost)
    await bench.put_writes(first, [("log", [1])], "task")
    second = await grow(bench, thread, first, log=["value"])
    await bench.put_writes(second, [("log", [2])], "task")
    third = await grow(bench, thread, second)
    expect("what does not need it", await whole(bench, third), ["value", 2])
    for config in (first, second, lost):
        try:
            found = await history(bench, config, "log")
        except UnreadableError:
            continue
        raise AssertionError(f"a history of which a part is missing should be an error: {found!r}")


async def history_shares_nothing(bench: Bench) -> None:
    """Who edits what was found does not edit the store."""
    made = await grown(bench, bench.thread())
    before = await whole(bench, made[-1])
    found = (await history(bench, made[-1], "log"))["log"]
    found["seed"].append("edited")
    for write in found["writes"]:
        write[2].append("edited")
    found["writes"].clear()
    expect("the value", await whole(bench, made[-1]), before)


async def history_leaves_its_arguments_alone(bench: Bench) -> None:
    """Config and channels are the caller's."""
    thread = bench.thread()
    await grown(bench, thread)
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    channels = ["notes", "log"]
    await bench.call("get_delta_channel_history", config=config, channels=channels)
    expect("the config", config, {"configurable": {"thread_id": thread}})
    expect("the channels", channels, ["notes", "log"])


GET_DELTA_CHANNEL_HISTORY: Final[tuple[Check, ...]] = (
    history_goes_back_to_the_value,
    history_of_several_channels,
    history_of_the_latest,
    history_of_nothing,
    history_follows_the_parents,
    history_keeps_the_order,
    history_has_no_other_writes,
    history_keeps_none,
    history_keeps_places_apart,
    history_is_what_the_parents_have,
    history_of_a_broken_way,
    history_shares_nothing,
    history_leaves_its_arguments_alone,
)
"""The checks of `get_delta_channel_history`."""
