"""Checks of `put` and `put_writes`: what goes in comes out, and nothing else.

Each asks one question, which its docstring answers for a saver that is right.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final
from uuid import uuid4

from minigraph.checkpoint.base.records import WRITES_IDX_MAP
from minigraph.checkpoint.conformance.bench import Bench, Check, address, expect, id_of
from minigraph.checkpoint.serde.base import SerializerProtocol
from minigraph.constants import ERROR, INTERRUPT, RESUME, TASKS
from minigraph.types import RunnableConfig, Send

__all__ = ["PUT", "PUT_WRITES"]

HOSTILE_NAMES = ("../escape", "a/b", "..", "%", "_", "*", "'; DROP TABLE checkpoints; --", "ü\n|")
"""Names of threads that mean something to a file system, a database or a shell."""

SEPARATORS = (":", "|", "/", "_", "-", ".", ",", " ")
"""What a store may put between the names of which it makes a key."""


@dataclass
class Stranger:
    """A class that no serializer knows by itself."""

    value: int


class Watched:
    """A serializer that remembers what it was given and what it gave."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self.serde = serde
        self.dumped: list[Any] = []
        self.loaded: list[Any] = []

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        self.dumped.append(obj)
        return self.serde.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        loaded = self.serde.loads_typed(data)
        self.loaded.append(loaded)
        return loaded


@contextmanager
def watched(bench: Bench) -> Iterator[Watched]:
    """The saver's serializer is watched inside of the block."""
    serde = bench.saver.serde
    bench.saver.serde = watching = Watched(serde)
    try:
        yield watching
    finally:
        bench.saver.serde = serde


async def expect_errors(bench: Bench, method: str, key: str, *given: Any) -> None:
    """Fail unless the method raises `KeyError` for a config without this key."""
    config, *rest = given
    place = {name: value for name, value in config["configurable"].items() if name != key}
    try:
        await bench.call(method, {"configurable": place}, *rest)
    except KeyError:
        return
    raise AssertionError(f"{method} with a config without {key} should be a KeyError")


# ------------------------------------------------------------------------ put


async def put_returns_the_address(bench: Bench) -> None:
    """The config that comes back has thread, namespace and the new id, and nothing more (SV-03)."""
    thread = bench.thread()
    checkpoint, new = bench.checkpoint({"x": 1})
    found = await bench.call("put", address(thread, "inner"), checkpoint, {"step": 0}, new)
    expect("the address", found, address(thread, "inner", checkpoint["id"]))


async def put_keeps_values(bench: Bench) -> None:
    """Values of all plain types come back equal, and of the same type."""
    values = {"text": "ü", "int": 2**60, "float": 0.1, "none": None, "true": True, "bytes": b"\0"}
    values |= {"list": [1, [2, {"deep": []}]], "dict": {"a": {"b": None}}, "": 0}
    found = await bench.values(await bench.put(bench.thread(), values))
    expect("the values", repr(sorted((found or {}).items())), repr(sorted(values.items())))


async def put_keeps_no_values(bench: Bench) -> None:
    """A checkpoint without values is one."""
    expect("the values", await bench.values(await bench.put(bench.thread())), {})


async def put_keeps_id_and_versions(bench: Bench) -> None:
    """Format, id, time, versions and versions seen come back, and of the same types."""
    thread = bench.thread()
    first = await bench.put(thread, {"x": 1})
    await bench.put(thread, {"x": 2}, first)
    for record in await bench.listed(address(thread)):
        made = bench.made[record.checkpoint["id"]]
        for key in ("v", "id", "ts", "channel_versions", "versions_seen"):
            expect(key, repr(dict(record.checkpoint)[key]), repr(dict(made)[key]))


async def put_keeps_every_key(bench: Bench) -> None:
    """The whole checkpoint comes back, whatever it says of the channels that were updated: without
    them, the runtime does not find what comes next (SV-03)."""
    for updated in (["x", "y"], [], None):
        checkpoint, new = bench.checkpoint({"x": 1, "y": 2})
        checkpoint["updated_channels"] = updated
        config = await bench.call("put", address(bench.thread()), checkpoint, {"step": 0}, new)
        found = dict((await bench.there(config)).checkpoint)
        expect("the checkpoint", sorted(found.items()), sorted(dict(checkpoint).items()))


async def put_is_given_versions_that_sort(bench: Bench) -> None:
    """Each version is greater than the one before, over a long chain, and still is when it has been
    stored: by that the runtime knows what is new (CP-05)."""
    versions: list[Any] = [bench.saver.get_next_version(None, None)]
    for _ in range(1200):
        versions.append(bench.saver.get_next_version(versions[-1], None))
    for before, after in pairwise(versions):
        if not before < after:
            raise AssertionError(f"the version after {before!r} should be greater: {after!r}")
    for older, newer in ((8, 9), (9, 10), (98, 99), (99, 100), (999, 1000)):
        checkpoint, _ = bench.checkpoint({"x": 1, "y": 2})
        given = {"x": versions[older], "y": versions[newer]}
        checkpoint["channel_versions"] = given
        config = await bench.call("put", address(bench.thread()), checkpoint, {"step": 0}, given)
        found = (await bench.there(config)).checkpoint
        expect("the versions", found["channel_versions"], given)
        expect("the values", found["channel_values"], {"x": 1, "y": 2})


async def put_keeps_metadata(bench: Bench) -> None:
    """Source, step, parents, run id and keys of one's own come back, ``None`` too (SV-06)."""
    own: dict[str, Any] = {
        "source": "update",
        "step": -1,
        "parents": {"": "p"},
        "run_id": "r",
        "mine": [1, None],
        "nothing": None,
    }
    record = await bench.there(await bench.put(bench.thread(), **own))
    expect("the metadata", record.metadata, own)


async def put_adds_scalars_of_the_config(bench: Bench) -> None:
    """Scalars in the config become metadata; the address does not (SV-06)."""
    config = address(bench.thread())
    config["configurable"]["user"] = "ada"
    checkpoint, new = bench.checkpoint({})
    stored = await bench.call("put", config, checkpoint, {"step": 0}, new)
    expect("the metadata", (await bench.there(stored)).metadata, {"step": 0, "user": "ada"})


async def put_keeps_the_parent(bench: Bench) -> None:
    """The id in the given config is the parent's; the first checkpoint has none (SV-03)."""
    thread = bench.thread()
    first = await bench.put(thread)
    second = await bench.put(thread, parent=first)
    expect("the first's parent", (await bench.there(first)).parent_config, None)
    expect("the second's parent", (await bench.there(second)).parent_config, first)


async def put_keeps_namespaces_apart(bench: Bench) -> None:
    """The root and nested graphs of one thread do not see each other."""
    thread = bench.thread()
    for namespace in ("", "child", "child:1|grandchild:2"):
        await bench.put(thread, {"x": namespace}, namespace=namespace)
    for namespace in ("", "child", "child:1|grandchild:2"):
        found = await bench.values(address(thread, namespace))
        expect(f"the values of namespace {namespace!r}", found, {"x": namespace})


async def put_keeps_threads_apart(bench: Bench) -> None:
    """One thread's values are not another's."""
    one, other = bench.thread(), bench.thread()
    await bench.put(one, {"x": 1})
    await bench.put(other, {"x": 2})
    expect("one thread", await bench.values(address(one)), {"x": 1})
    expect("the other", await bench.values(address(other)), {"x": 2})


async def put_keeps_names_apart(bench: Bench) -> None:
    """Thread and namespace are two names, wherever one ends and the other begins."""
    prefix = bench.thread()
    places: list[RunnableConfig] = []
    checkpoint, new = bench.checkpoint({"x": 1})
    for separator in SEPARATORS:
        for thread, namespace in (("a{}b", ""), ("a", "b{}"), ("a{}", "b"), ("a", "{}b")):
            place = address(prefix + thread.format(separator), namespace.format(separator))
            made: Any = {**checkpoint, "channel_values": {"x": repr(place)}}
            places.append(await bench.call("put", place, made, {"step": 0}, new))
            await bench.put_writes(places[-1], [("x", repr(place))], "t")
    for stored in places:
        name = stored["configurable"]
        place = address(name["thread_id"], name["checkpoint_ns"])
        expect("the values", await bench.values(place), {"x": repr(place)})
        expect("the writes", await bench.writes(place), [("t", "x", repr(place))])


async def put_keeps_branches_apart(bench: Bench) -> None:
    """Two checkpoints on top of one each have their own values, whatever their versions (CP-04)."""
    thread = bench.thread()
    parent = await bench.put(thread, {"x": 0})
    branches = [await bench.put(thread, {"x": value}, parent) for value in (1, 2, 3)]
    for value, config in enumerate(branches, 1):
        expect("the values", await bench.values(config), {"x": value})
    expect("the parent's", await bench.values(parent), {"x": 0})


async def put_takes_any_name_of_a_thread(bench: Bench) -> None:
    """Names that mean something to the store are names like any other, and no two are one."""
    prefix = bench.thread()
    names = [f"{hostile}{prefix}" for hostile in HOSTILE_NAMES] + [prefix, prefix.upper()]
    for name in names:
        await bench.put(name, {"x": name})
    for name in names:
        expect(f"thread {name!r}", await bench.values(address(name)), {"x": name})


async def put_keeps_each_checkpoint(bench: Bench) -> None:
    """A later checkpoint does not change an earlier one."""
    thread = bench.thread()
    first = await bench.put(thread, {"x": 1})
    second = await bench.put(thread, {"x": 2}, first)
    expect("the first", await bench.values(first), {"x": 1})
    expect("the second", await bench.values(second), {"x": 2})


async def put_keeps_what_did_not_change(bench: Bench) -> None:
    """A channel that is not in the new versions still has its value."""
    first = await bench.put(bench.thread(), {"same": [1], "other": 1})
    second = await bench.put(first["configurable"]["thread_id"], {"same": [1], "other": 2}, first)
    expect("the values", await bench.values(second), {"same": [1], "other": 2})


async def put_adds_and_removes_channels(bench: Bench) -> None:
    """A channel may come later, and may lose its value."""
    thread = bench.thread()
    first = await bench.put(thread, {"old": 1})
    second = await bench.put(thread, {"new": 2}, first)
    third = await bench.put(thread, {"old": 3, "new": 2}, second)
    for config, values in (
        (first, {"old": 1}),
        (second, {"new": 2}),
        (third, {"old": 3, "new": 2}),
    ):
        expect("the values", await bench.values(config), values)


async def put_replaces_the_same_id(bench: Bench) -> None:
    """A checkpoint that is stored again takes the old one's place (SV-04)."""
    thread = bench.thread()
    config = await bench.put(thread, {"x": 1})
    checkpoint = bench.made[config["configurable"]["checkpoint_id"]]
    versions = checkpoint["channel_versions"]
    await bench.call("put", address(thread), checkpoint, {"step": 7}, versions)
    expect("the checkpoints", await bench.ids(address(thread)), [checkpoint["id"]])
    expect("the metadata", (await bench.there(config)).metadata, {"step": 7})


async def put_replaces_the_parent(bench: Bench) -> None:
    """A checkpoint that is stored again with another parent has that one, or none (SV-04)."""
    thread = bench.thread()
    one, other = await bench.put(thread, {"x": 1}), await bench.put(thread, {"x": 2})
    config = await bench.put(thread, {"x": 3}, one)
    checkpoint = bench.made[id_of(config) or ""]
    for parent in (other, one, None):
        given = address(thread, "", id_of(parent))
        await bench.call("put", given, checkpoint, {"step": 0}, checkpoint["channel_versions"])
        expect("the parent", (await bench.there(config)).parent_config, parent)


async def put_takes_a_number_for_a_thread(bench: Bench) -> None:
    """A thread id that is no text is taken as its text, by each method (SV-34)."""
    number: Any = uuid4().int >> 80
    text = str(number)
    stored = await bench.put(number, {"x": 1})
    expect("the address", stored["configurable"]["thread_id"], text)
    at: Any = {"thread_id": number, "checkpoint_ns": "", "checkpoint_id": id_of(stored)}
    await bench.put_writes({"configurable": at}, [("x", 2)], "t")
    for thread in (number, text):
        expect("the values", await bench.values(address(thread)), {"x": 1})
        expect("the writes", await bench.writes(address(thread)), [("t", "x", 2)])
        expect("the list", await bench.ids(address(thread)), [id_of(stored)])
    await bench.call("delete_thread", number)
    expect("what is left", await bench.get(address(text)), None)


async def put_needs_thread_and_namespace(bench: Bench) -> None:
    """A config without one of these is a `KeyError`, and not another place (SV-03)."""
    checkpoint, new = bench.checkpoint({"x": 1})
    for key in ("thread_id", "checkpoint_ns"):
        given = (address(bench.thread()), checkpoint, {"step": 0}, new)
        await expect_errors(bench, "put", key, *given)


async def put_goes_through_the_serializer(bench: Bench) -> None:
    """Values become bytes, and values again, by ``saver.serde`` and nothing else: it may be one
    that encrypts (SV-01)."""
    value = f"secret-{uuid4()}"
    with watched(bench) as serde:
        config = await bench.put(bench.thread(), {"x": value})
        expect("whether serde.dumps_typed was given the value", value in repr(serde.dumped), True)
        expect("the values", await bench.values(config), {"x": value})
        expect("whether serde.loads_typed gave the value", value in repr(serde.loaded), True)


async def put_goes_through_a_wider_copy(bench: Bench) -> None:
    """`with_allowlist` gives a saver on the same store, which stores what is allowed by then. A
    graph that is compiled uses such a copy (SD-25)."""
    thread = bench.thread()
    wider = bench.saver.with_allowlist([Stranger])
    value = Stranger(1) if hasattr(bench.saver.serde, "with_msgpack_allowlist") else "plain"
    copy = Bench(wider, prefers_sync=bench.prefers_sync)
    config = await copy.put(thread, {"x": value})
    await copy.put_writes(config, [("x", value)], "t")
    for which in (copy, bench):
        expect("the values", await which.values(config), {"x": value})
        expect("the writes", await which.writes(config), [("t", "x", value)])
        expect("the list", await which.ids(address(thread)), [id_of(config)])
    await bench.call("delete_thread", thread)  # others may not read it
    expect("what the copy has left", await copy.get(config), None)


async def put_leaves_its_arguments_alone(bench: Bench) -> None:
    """Config, checkpoint, metadata and versions are the caller's (SV-03)."""
    checkpoint, new = bench.checkpoint({"x": [1]})
    given: list[Any] = [address(bench.thread()), checkpoint, {"step": 0}, new]
    before = repr(given)
    await bench.call("put", *given)
    expect("the arguments", repr(given), before)


async def put_shares_nothing(bench: Bench) -> None:
    """Neither the caller's later edits, nor those of a reader, reach the store."""
    thread, mine = bench.thread(), [1]
    checkpoint, new = bench.checkpoint({"x": mine})
    metadata: dict[str, Any] = {"step": 0, "own": {"a": [1]}}
    config = await bench.call("put", address(thread), checkpoint, metadata, new)
    mine.append(2)
    metadata["own"]["a"].append(2)
    checkpoint["versions_seen"]["intruder"] = {}
    for _ in ("after the caller's edit", "after a reader's edit"):
        record = await bench.there(config)
        expect("the value", record.checkpoint["channel_values"], {"x": [1]})
        expect("the metadata", record.metadata, {"step": 0, "own": {"a": [1]}})
        expect("the versions seen", record.checkpoint["versions_seen"], {"node": {}})
        record.checkpoint["channel_values"]["x"].append(3)
        record.checkpoint["versions_seen"]["intruder"] = {}
        edited: Any = record.metadata
        edited["own"]["a"].append(3)


async def put_works_in_parallel(bench: Bench) -> None:
    """Ten threads that are stored to at once, five checkpoints each, lose and mix nothing."""
    threads = [bench.thread() for _ in range(10)]

    async def run(thread: str) -> None:
        parent = None
        for step in range(5):
            parent = await bench.put(thread, {"who": thread, "step": step}, parent, step=step)

    await asyncio.gather(*map(run, threads))
    for thread in threads:
        found = [each.checkpoint["channel_values"] for each in await bench.listed(address(thread))]
        expect("the history", found, [{"who": thread, "step": n} for n in (4, 3, 2, 1, 0)])


# ----------------------------------------------------------------- put_writes


async def put_writes_keeps_task_channel_and_value(bench: Bench) -> None:
    """Several writes of a task come back in its order, two to one channel as well."""
    config = await bench.put(bench.thread())
    await bench.put_writes(config, [("x", 1), ("y", {"a": [None]}), ("x", 2)], "t")
    expected = [("t", "x", 1), ("t", "y", {"a": [None]}), ("t", "x", 2)]
    expect("the writes", await bench.writes(config), expected)


async def put_writes_keeps_none(bench: Bench) -> None:
    """``None`` is a value. It is what follows an edge; without it a task that is finished would run
    again."""
    config = await bench.put(bench.thread())
    await bench.put_writes(config, [("branch:to:b", None), ("x", 1), (RESUME, None)], "t")
    expected = [("t", RESUME, None), ("t", "branch:to:b", None), ("t", "x", 1)]
    expect("the writes", await bench.writes(config), expected)


async def put_writes_keeps_the_order(bench: Bench) -> None:
    """Writes come by task path, then task id, whoever came first (SV-09)."""
    config = await bench.put(bench.thread())
    for task, path in (("t1", "b"), ("t4", "a"), ("t2", "a"), ("t0", "c"), ("t3", "")):
        await bench.put_writes(config, [("x", task), ("y", task)], task, path)
    found = [(task, channel) for task, channel, _ in await bench.writes(config)]
    order = ("t3", "t2", "t4", "t1", "t0")
    expect("the order", found, [(task, channel) for task in order for channel in ("x", "y")])


async def put_writes_keeps_the_order_of_many(bench: Bench) -> None:
    """The twelfth write of a task comes after the second: positions are numbers, not text."""
    config = await bench.put(bench.thread())
    await bench.put_writes(config, [("x", number) for number in range(12)], "t")
    expect("the values", [each[2] for each in await bench.writes(config)], [*range(12)])


async def put_writes_is_idempotent(bench: Bench) -> None:
    """A write that is stored again keeps its first value; a position that is new is added
    (SV-08)."""
    config = await bench.put(bench.thread())
    await bench.put_writes(config, [("x", 1)], "t")
    await bench.put_writes(config, [("x", 2), ("y", 3)], "t")
    expect("the writes", await bench.writes(config), [("t", "x", 1), ("t", "y", 3)])


async def put_writes_replaces_special_writes(bench: Bench) -> None:
    """Of an error, an interrupt or a resume value, a task has one: the newest (SV-08)."""
    config = await bench.put(bench.thread())
    for channel in (ERROR, INTERRUPT, RESUME):
        await bench.put_writes(config, [(channel, "old")], "t")
        await bench.put_writes(config, [(channel, "new")], "t")
    found = sorted(await bench.writes(config))
    expect("the writes", found, sorted(("t", each, "new") for each in (ERROR, INTERRUPT, RESUME)))


async def put_writes_keeps_special_and_ordinary_writes(bench: Bench) -> None:
    """An error does not take the place of what the task has written."""
    config = await bench.put(bench.thread())
    await bench.put_writes(config, [("x", 1)], "t")
    await bench.put_writes(config, [(ERROR, "e")], "t")
    expect("the writes", sorted(await bench.writes(config)), [("t", ERROR, "e"), ("t", "x", 1)])


async def put_writes_takes_a_mixed_list_again(bench: Bench) -> None:
    """Of a list of both that is stored again, special writes are replaced, and ordinary ones stay
    (SV-08, SV-41)."""
    config = await bench.put(bench.thread())
    for value in ("old", "new"):
        special = [(channel, value) for channel in WRITES_IDX_MAP]
        await bench.put_writes(config, [("x", value), *special, ("y", value)], "t")
    expected = [("t", "x", "old"), ("t", "y", "old")]
    expected += [("t", channel, "new") for channel in WRITES_IDX_MAP]
    expect("the writes", sorted(await bench.writes(config)), sorted(expected))


async def put_writes_takes_exceptions(bench: Bench) -> None:
    """The error of a task is stored; it comes back as it was, or as its text (CP-22)."""
    config = await bench.put(bench.thread())
    await bench.put_writes(config, [(ERROR, ValueError("boom"))], "t")
    ((task, channel, value),) = await bench.writes(config)
    found = (task, channel, value if isinstance(value, str) else repr(value))
    expect("the write", found, ("t", ERROR, "ValueError('boom')"))


async def put_writes_takes_sends(bench: Bench) -> None:
    """What a task sends is stored, and is sent when the super-step is over."""
    send = Send("node", {"a": [1]})
    config = await bench.put(bench.thread())
    await bench.put_writes(config, [(TASKS, send), (TASKS, send)], "t")
    expect("the writes", await bench.writes(config), [("t", TASKS, send)] * 2)


async def put_writes_belong_to_one_checkpoint(bench: Bench) -> None:
    """The next checkpoint begins without writes, and the one before keeps its own."""
    thread = bench.thread()
    first = await bench.put(thread)
    await bench.put_writes(first, [("x", 1)], "t")
    second = await bench.put(thread, parent=first)
    expect("the writes of the second", await bench.writes(second), [])
    expect("the writes of the first", await bench.writes(first), [("t", "x", 1)])


async def put_writes_keeps_namespaces_apart(bench: Bench) -> None:
    """Writes of a nested graph are not the root's, even on a checkpoint of the same id."""
    thread = bench.thread()
    root = await bench.put(thread)
    id = root["configurable"]["checkpoint_id"]
    inner = await bench.call("put", address(thread, "inner"), bench.made[id], {"step": 0}, {})
    await bench.put_writes(root, [("x", "root")], "t")
    await bench.put_writes(inner, [("x", "inner")], "t")
    expect("the root's writes", await bench.writes(root), [("t", "x", "root")])
    expect("the inner graph's", await bench.writes(inner), [("t", "x", "inner")])


async def put_writes_may_come_first(bench: Bench) -> None:
    """Writes may be stored before their checkpoint, and wait for it (SV-07)."""
    thread = bench.thread()
    checkpoint, new = bench.checkpoint({})
    config = address(thread, "", checkpoint["id"])
    await bench.put_writes(config, [("x", 1)], "t")
    expect("the checkpoint", await bench.get(config), None)
    await bench.call("put", address(thread), checkpoint, {"step": 0}, new)
    expect("the writes", await bench.writes(config), [("t", "x", 1)])


async def put_writes_outlast_their_checkpoint(bench: Bench) -> None:
    """A checkpoint that is stored again keeps its writes (SV-04, SV-07)."""
    thread = bench.thread()
    config = await bench.put(thread, {"x": 1})
    await bench.put_writes(config, [("x", 2), (ERROR, "e")], "t")
    made = bench.made[id_of(config) or ""]
    await bench.call("put", address(thread), made, {"step": 7}, made["channel_versions"])
    expect("the metadata", (await bench.there(config)).metadata, {"step": 7})
    expect("the writes", sorted(await bench.writes(config)), [("t", ERROR, "e"), ("t", "x", 2)])


async def put_writes_needs_thread_and_checkpoint(bench: Bench) -> None:
    """A config without one of these is a `KeyError`, and not another place (SV-03)."""
    config = await bench.put(bench.thread())
    for key in ("thread_id", "checkpoint_id"):
        await expect_errors(bench, "put_writes", key, config, [("x", 1)], "t")


async def put_writes_goes_through_the_serializer(bench: Bench) -> None:
    """As values do: by ``saver.serde`` and nothing else (SV-01)."""
    value = f"secret-{uuid4()}"
    config = await bench.put(bench.thread())
    with watched(bench) as serde:
        await bench.put_writes(config, [("x", value)], "t")
        expect("whether serde.dumps_typed was given the value", value in repr(serde.dumped), True)
        expect("the writes", await bench.writes(config), [("t", "x", value)])
        expect("whether serde.loads_typed gave the value", value in repr(serde.loaded), True)


async def put_writes_leaves_its_arguments_alone(bench: Bench) -> None:
    """Config and writes are the caller's (SV-03)."""
    config = await bench.put(bench.thread())
    writes: list[Any] = [("x", [1]), (ERROR, "e"), ("y", None)]
    before = repr((config, writes))
    await bench.put_writes(config, writes, "t", "path")
    expect("the arguments", repr((config, writes)), before)


async def put_writes_takes_an_empty_list(bench: Bench) -> None:
    """No writes are none."""
    config = await bench.put(bench.thread())
    await bench.put_writes(config, [], "t")
    expect("the writes", await bench.writes(config), [])


async def put_writes_shares_nothing(bench: Bench) -> None:
    """Neither the caller's later edits, nor those of a reader, reach the store."""
    config, mine = await bench.put(bench.thread()), [1]
    await bench.put_writes(config, [("x", mine)], "t")
    mine.append(2)
    for _ in ("after the caller's edit", "after a reader's edit"):
        found = await bench.writes(config)
        expect("the writes", found, [("t", "x", [1])])
        found[0][2].append(3)


async def put_writes_works_in_parallel(bench: Bench) -> None:
    """Twelve tasks of a super-step that finish at once lose nothing."""
    config = await bench.put(bench.thread())
    tasks = [f"t{number:02}" for number in range(12)]
    await asyncio.gather(*(bench.put_writes(config, [("x", t), ("y", t)], t) for t in tasks))
    expected = [(task, channel, task) for task in tasks for channel in ("x", "y")]
    expect("the writes", await bench.writes(config), expected)


PUT: Final[tuple[Check, ...]] = (
    put_returns_the_address,
    put_keeps_values,
    put_keeps_no_values,
    put_keeps_id_and_versions,
    put_keeps_every_key,
    put_is_given_versions_that_sort,
    put_keeps_metadata,
    put_adds_scalars_of_the_config,
    put_keeps_the_parent,
    put_keeps_namespaces_apart,
    put_keeps_threads_apart,
    put_keeps_names_apart,
    put_keeps_branches_apart,
    put_takes_any_name_of_a_thread,
    put_keeps_each_checkpoint,
    put_keeps_what_did_not_change,
    put_adds_and_removes_channels,
    put_replaces_the_same_id,
    put_replaces_the_parent,
    put_takes_a_number_for_a_thread,
    put_needs_thread_and_namespace,
    put_goes_through_the_serializer,
    put_goes_through_a_wider_copy,
    put_leaves_its_arguments_alone,
    put_shares_nothing,
    put_works_in_parallel,
)
"""The checks of `put`."""

PUT_WRITES: Final[tuple[Check, ...]] = (
    put_writes_keeps_task_channel_and_value,
    put_writes_keeps_none,
    put_writes_keeps_the_order,
    put_writes_keeps_the_order_of_many,
    put_writes_is_idempotent,
    put_writes_replaces_special_writes,
    put_writes_keeps_special_and_ordinary_writes,
    put_writes_takes_a_mixed_list_again,
    put_writes_takes_exceptions,
    put_writes_takes_sends,
    put_writes_belong_to_one_checkpoint,
    put_writes_keeps_namespaces_apart,
    put_writes_may_come_first,
    put_writes_outlast_their_checkpoint,
    put_writes_needs_thread_and_checkpoint,
    put_writes_goes_through_the_serializer,
    put_writes_leaves_its_arguments_alone,
    put_writes_takes_an_empty_list,
    put_writes_shares_nothing,
    put_writes_works_in_parallel,
)
"""The checks of `put_writes`."""
