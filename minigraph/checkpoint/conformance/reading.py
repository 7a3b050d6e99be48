"""Checks of `get_tuple` and `list`: the right ones, all of them, in the right order.

Each asks one question, which its docstring answers for a saver that is right.
"""

from __future__ import annotations

from typing import Any, Final

from minigraph.checkpoint.base.id import uuid6_text
from minigraph.checkpoint.base.records import CheckpointTuple
from minigraph.checkpoint.conformance.bench import Bench, Check, address, expect, id_of
from minigraph.types import RunnableConfig

__all__ = ["GET_TUPLE", "LIST"]

# ------------------------------------------------------------------ get_tuple


async def get_tuple_of_an_unknown_thread(bench: Bench) -> None:
    """A thread that is not there has no checkpoint: ``None``, and no error (SV-05)."""
    expect("what is found", await bench.get(address(bench.thread())), None)


async def get_tuple_of_an_unknown_id(bench: Bench) -> None:
    """An id that is not there is ``None``, and not the latest (SV-05)."""
    thread = bench.thread()
    await bench.put(thread)
    expect("what is found", await bench.get(address(thread, "", uuid6_text(clock_seq=0))), None)


async def get_tuple_gives_the_latest(bench: Bench) -> None:
    """Without an id, the latest."""
    thread = bench.thread()
    first = await bench.put(thread, {"x": 1})
    await bench.put(thread, {"x": 2}, first)
    expect("the values", await bench.values(address(thread)), {"x": 2})


async def get_tuple_takes_the_greatest_id_for_the_latest(bench: Bench) -> None:
    """The latest is the one of the greatest id, not the one that was stored last (SV-04)."""
    thread = bench.thread()
    older, newer = bench.checkpoint({"x": "older"}), bench.checkpoint({"x": "newer"})
    for checkpoint, new in (newer, older):
        await bench.call("put", address(thread), checkpoint, {"step": 0}, new)
    expect("the values", await bench.values(address(thread)), {"x": "newer"})


async def get_tuple_by_id(bench: Bench) -> None:
    """With an id, that one, though there is a later one."""
    thread = bench.thread()
    first = await bench.put(thread, {"x": 1}, step=1)
    await bench.put(thread, {"x": 2}, first, step=2)
    record = await bench.there(first)
    expect("the id", record.checkpoint["id"], id_of(first))
    expect("the metadata's step", record.metadata["step"], 1)


async def get_tuple_takes_an_empty_id_for_none(bench: Bench) -> None:
    """An id that is ``None`` or empty means the latest (SV-05)."""
    config = await bench.put(bench.thread(), {"x": 1})
    for id in (None, ""):
        empty: Any = {**config["configurable"], "checkpoint_id": id}
        expect(f"the values at {id!r}", await bench.values({"configurable": empty}), {"x": 1})


async def get_tuple_has_the_full_address(bench: Bench) -> None:
    """The config of the latest is its full address (SV-05)."""
    thread = bench.thread()
    config = await bench.put(thread, namespace="inner")
    expect("the config", (await bench.there(address(thread, "inner"))).config, config)


async def get_tuple_means_the_root(bench: Bench) -> None:
    """A config without namespace means the root (SV-03)."""
    thread = bench.thread()
    await bench.put(thread, {"x": "root"})
    await bench.put(thread, {"x": "inner"}, namespace="inner")
    found = await bench.values({"configurable": {"thread_id": thread}})
    expect("the values", found, {"x": "root"})


async def get_tuple_of_another_namespace(bench: Bench) -> None:
    """The id of one namespace leads nowhere in another."""
    config = await bench.put(bench.thread(), namespace="inner")
    root = address(config["configurable"]["thread_id"], "", id_of(config))
    expect("what is found", await bench.get(root), None)


async def get_tuple_needs_a_thread(bench: Bench) -> None:
    """A config without ``thread_id`` is a `KeyError` (SV-03)."""
    try:
        await bench.get({"configurable": {"checkpoint_ns": ""}})
    except KeyError:
        return
    raise AssertionError("get_tuple with a config without thread_id should be a KeyError")


async def get_tuple_leaves_its_argument_alone(bench: Bench) -> None:
    """The config is the caller's: as the latest is asked for again with it, it must not come to
    name a checkpoint."""
    thread = bench.thread()
    first = await bench.put(thread, {"x": 1})
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    expect("the values", await bench.values(config), {"x": 1})
    expect("the config", config, {"configurable": {"thread_id": thread}})
    before = repr(first)
    await bench.there(first)
    expect("the config", repr(first), before)


async def get_tuple_has_the_full_parent(bench: Bench) -> None:
    """The latest, too, has the full address of its parent (SV-05)."""
    thread = bench.thread()
    first = await bench.put(thread, namespace="inner")
    await bench.put(thread, parent=first, namespace="inner")
    expect("the parent", (await bench.there(address(thread, "inner"))).parent_config, first)


async def get_tuple_has_the_pending_writes(bench: Bench) -> None:
    """The latest has its own pending writes, and none that are an older checkpoint's."""
    thread = bench.thread()
    first = await bench.put(thread)
    await bench.put_writes(first, [("x", 1)], "t")
    second = await bench.put(thread, parent=first)
    await bench.put_writes(second, [("x", 2)], "u")
    expect("the writes", await bench.writes(address(thread)), [("u", "x", 2)])


# ----------------------------------------------------------------------- list


async def three(bench: Bench) -> tuple[RunnableConfig, list[str]]:
    """A thread of three checkpoints: its address, and their ids, newest first."""
    thread, parent = bench.thread(), None
    ids: list[str] = []
    for step, source in enumerate(("input", "loop", "update")):
        parent = await bench.put(
            thread, {"x": step}, parent, step=step, source=source, odd=step % 2
        )
        ids.insert(0, id_of(parent) or "")
    return address(thread), ids


async def list_gives_the_newest_first(bench: Bench) -> None:
    """All of a thread, newest first (SV-10)."""
    config, ids = await three(bench)
    expect("the ids", await bench.ids(config), ids)


async def list_sorts_by_id(bench: Bench) -> None:
    """Newest is the greatest id, whichever was stored last (SV-04)."""
    thread = bench.thread()
    made = [bench.checkpoint({"x": number}) for number in range(3)]
    for checkpoint, new in (made[1], made[2], made[0]):
        await bench.call("put", address(thread), checkpoint, {"step": 0}, new)
    expect("the ids", await bench.ids(address(thread)), [made[n][0]["id"] for n in (2, 1, 0)])


async def list_of_one_thread(bench: Bench) -> None:
    """Other threads are not in it; an unknown one is empty."""
    config, ids = await three(bench)
    await three(bench)
    expect("the ids", await bench.ids(config), ids)
    expect("an unknown thread", await bench.ids(address(bench.thread())), [])


async def list_of_everything(bench: Bench) -> None:
    """Without a config, all threads (SV-10)."""
    _, some = await three(bench)
    _, more = await three(bench)
    found = await bench.ids(None)
    expect("what is missing", {*some, *more} - {*found}, set())


async def list_needs_a_thread(bench: Bench) -> None:
    """A config without ``thread_id`` is a `KeyError`; all threads are listed by ``None``
    (SV-10)."""
    try:
        await bench.ids({"configurable": {"checkpoint_ns": ""}})
    except KeyError:
        return
    raise AssertionError("list with a config without thread_id should be a KeyError")


async def list_of_a_namespace(bench: Bench) -> None:
    """With a namespace, that one; without, all of the thread (SV-10)."""
    thread = bench.thread()
    root = await bench.put(thread)
    inner = await bench.put(thread, namespace="inner")
    expect("the root", await bench.ids(address(thread)), [id_of(root)])
    expect("the inner graph", await bench.ids(address(thread, "inner")), [id_of(inner)])
    both = await bench.ids({"configurable": {"thread_id": thread}})
    expect("both", {*both}, {id_of(root), id_of(inner)})


async def list_of_one_checkpoint(bench: Bench) -> None:
    """With an id, only that one (SV-10)."""
    config, ids = await three(bench)
    thread = config["configurable"]["thread_id"]
    expect("the ids", await bench.ids(address(thread, "", ids[1])), [ids[1]])


async def list_gives_whole_tuples(bench: Bench) -> None:
    """What is listed is what `get_tuple` gives, with parent and pending writes (SV-10)."""
    config, _ = await three(bench)
    for record in await bench.listed(config):
        await bench.put_writes(record.config, [("x", record.checkpoint["id"])], "t")
    for record in await bench.listed(config):
        expect("the tuple", record, await bench.there(record.config))
        expect("the writes", [*map(tuple, record.pending_writes or [])],
               [("t", "x", record.checkpoint["id"])])  # fmt: skip


async def list_filters_by_one_key(bench: Bench) -> None:
    """Only checkpoints whose metadata has this value (SV-11)."""
    config, ids = await three(bench)
    expect("the ids", await bench.ids(config, filter={"source": "loop"}), [ids[1]])
    expect("by step", await bench.ids(config, filter={"step": 0}), [ids[2]])


async def list_filters_by_several_keys(bench: Bench) -> None:
    """All must match (SV-11)."""
    config, ids = await three(bench)
    expect("both match", await bench.ids(config, filter={"odd": 0, "step": 2}), [ids[0]])
    expect("one does", await bench.ids(config, filter={"odd": 0, "step": 1}), [])


async def list_filters_by_keys_of_ones_own(bench: Bench) -> None:
    """A key that the runtime does not know; and an empty filter, which is none."""
    config, ids = await three(bench)
    expect("the ids", await bench.ids(config, filter={"odd": 0}), [ids[0], ids[2]])
    expect("an empty filter", await bench.ids(config, filter={}), ids)


async def list_filters_by_none(bench: Bench) -> None:
    """``None`` matches a checkpoint that has no such key; a value matches none (SV-11)."""
    config, ids = await three(bench)
    expect("None", await bench.ids(config, filter={"absent": None}), ids)
    expect("a value", await bench.ids(config, filter={"absent": 1}), [])


async def list_filters_by_hostile_keys(bench: Bench) -> None:
    """A key with quotes in it is refused by a `ValueError`, or matches nothing, and the store is
    still there (SV-33)."""
    config, ids = await three(bench)
    for key in ("step' OR '1'='1", 'step") OR 1=1 --', "'; DROP TABLE checkpoints; --", "step%"):
        try:
            found = await bench.ids(config, filter={key: 99})
        except ValueError:
            found = []
        expect(f"what key {key!r} finds", found, [])
    expect("the thread", await bench.ids(config), ids)


async def list_filters_by_hostile_values(bench: Bench) -> None:
    """A value is compared, and never interpreted (SV-33)."""
    thread = bench.thread()
    hostile: list[Any] = ["' OR '1'='1", "%", "_", "*", ".*", "\\", "null", '"', "{}", "'; --"]
    plain = await bench.put(thread, own="a")
    for value in hostile:
        expect(f"what {value!r} finds", await bench.ids(address(thread), filter={"own": value}), [])
        config = await bench.put(thread, own=value)
        found = await bench.ids(address(thread), filter={"own": value})
        expect(f"what {value!r} finds", found, [id_of(config)])
    found = await bench.ids(address(thread), filter={"own": "a"})
    expect("what is left of the others", found, [id_of(plain)])


async def list_filters_by_type(bench: Bench) -> None:
    """The text "1" is not the number 1."""
    thread = bench.thread()
    number, text = await bench.put(thread, own=1), await bench.put(thread, own="1")
    expect("1", await bench.ids(address(thread), filter={"own": 1}), [id_of(number)])
    expect("'1'", await bench.ids(address(thread), filter={"own": "1"}), [id_of(text)])


async def list_filters_by_lists_and_dicts(bench: Bench) -> None:
    """They are compared whole: one that is contained, or has another order, is not equal
    (SV-11)."""
    thread = bench.thread()
    values: list[Any] = [[1, 2], [2, 1], [1], [], {"a": [1]}, {"a": [1], "b": None}, {"a": {}}, {}]
    configs = [await bench.put(thread, own=value) for value in values]
    for value, config in zip(values, configs, strict=True):
        found = await bench.ids(address(thread), filter={"own": value})
        expect(f"what {value!r} finds", found, [id_of(config)])
    expect("another", await bench.ids(address(thread), filter={"own": {"b": None}}), [])


async def list_before(bench: Bench) -> None:
    """`before` leaves out that checkpoint, and all later ones (SV-10)."""
    config, ids = await three(bench)
    thread = config["configurable"]["thread_id"]
    expect("the ids", await bench.ids(config, before=address(thread, "", ids[1])), [ids[2]])
    expect("before the first", await bench.ids(config, before=address(thread, "", ids[2])), [])


async def list_limit(bench: Bench) -> None:
    """`limit` gives the newest; more than there are is no mistake, and none is none (SV-10)."""
    config, ids = await three(bench)
    expect("none", await bench.ids(config, limit=0), [])
    expect("none with a filter", await bench.ids(config, filter={"source": "loop"}, limit=0), [])
    expect("two", await bench.ids(config, limit=2), ids[:2])
    expect("many", await bench.ids(config, limit=99), ids)


async def list_counts_after_filtering(bench: Bench) -> None:
    """`limit` counts what `filter` and `before` have left (SV-10)."""
    config, ids = await three(bench)
    before = address(config["configurable"]["thread_id"], "", ids[0])
    expect("before", await bench.ids(config, before=before, limit=1), [ids[1]])
    expect("filter", await bench.ids(config, filter={"step": 0}, limit=1), [ids[2]])
    found = await bench.ids(config, filter={"odd": 0}, before=before, limit=1)
    expect("both", found, [ids[2]])


async def list_survives_a_deletion(bench: Bench) -> None:
    """What is deleted, or put, while somebody reads on is in the list or not, and no error; what is
    read is whole (SV-10)."""
    config, ids = await three(bench)
    found: list[CheckpointTuple] = []
    async for record in bench.listing(config):
        if not found:
            await bench.call("delete_thread", config["configurable"]["thread_id"])
            oldest = bench.made[ids[-1]]
            await bench.call("put", config, oldest, {"step": 0}, oldest["channel_versions"])
        found.append(record)
    read = [each.checkpoint["id"] for each in found]
    expect("the ids", read, [id for id in ids if id in read])
    expect("the newest among them", ids[0] in read, True)
    steps = [ids[::-1].index(id) for id in read]
    values = [each.checkpoint["channel_values"] for each in found]
    expect("the values", values, [{"x": step} for step in steps])
    expect("what is left", await bench.ids(config), ids[-1:])


async def list_survives_a_put(bench: Bench) -> None:
    """What is put while somebody reads on is in the list or not; what was there before is, in
    order (SV-10)."""
    config, ids = await three(bench)
    thread, read = config["configurable"]["thread_id"], []
    async for record in bench.listing(config):
        for other in (thread, bench.thread()):
            await bench.put(other, {"x": "new"})
        await bench.put_writes(record.config, [("x", 1)], "t")
        read.append(record.checkpoint["id"])
    expect("the ids", [id for id in read if id in ids], ids)
    expect("whether any came twice", len(read), len({*read}))


GET_TUPLE: Final[tuple[Check, ...]] = (
    get_tuple_of_an_unknown_thread,
    get_tuple_of_an_unknown_id,
    get_tuple_gives_the_latest,
    get_tuple_takes_the_greatest_id_for_the_latest,
    get_tuple_by_id,
    get_tuple_takes_an_empty_id_for_none,
    get_tuple_has_the_full_address,
    get_tuple_means_the_root,
    get_tuple_of_another_namespace,
    get_tuple_needs_a_thread,
    get_tuple_leaves_its_argument_alone,
    get_tuple_has_the_full_parent,
    get_tuple_has_the_pending_writes,
)
"""The checks of `get_tuple`."""

LIST: Final[tuple[Check, ...]] = (
    list_gives_the_newest_first,
    list_sorts_by_id,
    list_of_one_thread,
    list_of_everything,
    list_needs_a_thread,
    list_of_a_namespace,
    list_of_one_checkpoint,
    list_gives_whole_tuples,
    list_filters_by_one_key,
    list_filters_by_several_keys,
    list_filters_by_keys_of_ones_own,
    list_filters_by_none,
    list_filters_by_hostile_keys,
    list_filters_by_hostile_values,
    list_filters_by_type,
    list_filters_by_lists_and_dicts,
    list_before,
    list_limit,
    list_counts_after_filtering,
    list_survives_a_deletion,
    list_survives_a_put,
)
"""The checks of `list`."""
