"""Checks of `delete_thread`, `delete_for_runs`, `copy_thread` and `prune`: what is meant is gone,
and everything else is as it was.

Each asks one question, which its docstring answers for a saver that is right.
"""

from __future__ import annotations

from typing import Any, Final

from minigraph.checkpoint.base.records import CheckpointTuple
from minigraph.checkpoint.conformance.bench import Bench, Check, address, expect, id_of
from minigraph.checkpoint.conformance.gathering import grown, whole
from minigraph.types import RunnableConfig

__all__ = ["COPY_THREAD", "DELETE_FOR_RUNS", "DELETE_THREAD", "PRUNE"]


async def filled(bench: Bench) -> str:
    """A thread of two namespaces, two checkpoints each, every one with a write; its name. The
    first pair was made by a run named after the thread, with ``-0`` at its end, and so on."""
    thread = bench.thread()
    for namespace in ("", "inner"):
        parent: RunnableConfig | None = None
        for step in range(2):
            values = {"x": step, "same": [namespace]}
            run = f"{thread}-{step}"
            parent = await bench.put(
                thread, values, parent, namespace=namespace, step=step, run_id=run
            )
            await bench.put_writes(parent, [("x", step), ("y", namespace)], "t")
    return thread


async def contents(bench: Bench, thread: str) -> list[CheckpointTuple]:
    """All that a thread has, in all namespaces."""
    return await bench.listed({"configurable": {"thread_id": thread}})


def without_thread(records: list[CheckpointTuple]) -> list[Any]:
    """What a copy has in common with its source, in an order of its own."""

    def place(config: RunnableConfig | None) -> object:
        return config and (config["configurable"]["checkpoint_ns"], id_of(config))

    found = [
        (place(r.config), place(r.parent_config), r.checkpoint, r.metadata, r.pending_writes)
        for r in records
    ]
    return sorted(found, key=lambda record: str(record[0]))


# -------------------------------------------------------------- delete_thread


async def delete_thread_removes_checkpoints(bench: Bench) -> None:
    """Nothing is found any more, by id or as the latest, in any namespace (SV-12)."""
    thread = await filled(bench)
    configs = [record.config for record in await contents(bench, thread)]
    await bench.call("delete_thread", thread)
    for config in [*configs, address(thread), address(thread, "inner")]:
        expect(f"what is left at {config!r}", await bench.get(config), None)
    expect("the list", await contents(bench, thread), [])


async def delete_thread_removes_writes(bench: Bench) -> None:
    """Writes do not come back with a checkpoint of the same id (SV-12)."""
    thread = bench.thread()
    config = await bench.put(thread)
    await bench.put_writes(config, [("x", 1)], "t")
    await bench.call("delete_thread", thread)
    checkpoint = bench.made[id_of(config) or ""]
    await bench.call("put", address(thread), checkpoint, {"step": 0}, {})
    expect("the writes", await bench.writes(config), [])


async def delete_thread_leaves_other_threads(bench: Bench) -> None:
    """Other threads are as they were, one whose name begins alike as well."""
    thread, other = await filled(bench), await filled(bench)
    await bench.put(f"{thread}-2", {"x": 1})
    before = await contents(bench, other)
    await bench.call("delete_thread", thread)
    expect("the other thread", await contents(bench, other), before)
    expect("the namesake", await bench.values(address(f"{thread}-2")), {"x": 1})


async def delete_thread_takes_names_literally(bench: Bench) -> None:
    """``%``, ``*``, ``..`` and the empty name are names, and no patterns or places."""
    thread = await filled(bench)
    before = await contents(bench, thread)
    for name in ("%", "*", "..", ".", "", "' OR '1'='1", thread[:-1] + "_"):
        await bench.call("delete_thread", name)
        expect(f"the thread, after {name!r}", await contents(bench, thread), before)


async def delete_thread_of_an_unknown_thread(bench: Bench) -> None:
    """No error, and twice is no mistake (SV-12)."""
    thread = await filled(bench)
    for name in (bench.thread(), thread, thread):
        await bench.call("delete_thread", name)


async def delete_thread_allows_a_new_start(bench: Bench) -> None:
    """The name may be used again, and has nothing of its past."""
    thread = await filled(bench)
    await bench.call("delete_thread", thread)
    config = await bench.put(thread, {"x": "new"})
    expect("the list", await bench.ids({"configurable": {"thread_id": thread}}), [id_of(config)])
    expect("the values", await bench.values(config), {"x": "new"})


# ------------------------------------------------------------ delete_for_runs


async def delete_for_runs_removes_one_run(bench: Bench) -> None:
    """Its checkpoints go, in all namespaces; those of other runs stay (SV-60)."""
    thread = await filled(bench)
    before = await contents(bench, thread)
    await bench.call("delete_for_runs", [f"{thread}-0"])
    expected = [record for record in before if record.metadata["run_id"] != f"{thread}-0"]
    expect("what is left", await contents(bench, thread), expected)


async def delete_for_runs_removes_several_runs(bench: Bench) -> None:
    """Several at once, in all threads; threads without them are as they were (SV-60)."""
    threads = [await filled(bench) for _ in range(3)]
    before = await contents(bench, threads[2])
    await bench.call("delete_for_runs", [f"{t}-{n}" for t in threads[:2] for n in (0, 1)])
    expect("the first", await contents(bench, threads[0]), [])
    expect("the second", await contents(bench, threads[1]), [])
    expect("the third", await contents(bench, threads[2]), before)


async def delete_for_runs_removes_writes(bench: Bench) -> None:
    """Writes do not come back with a checkpoint of the same id (SV-60)."""
    thread = bench.thread()
    config = await bench.put(thread, run_id=f"{thread}-run")
    await bench.put_writes(config, [("x", 1)], "t")
    await bench.call("delete_for_runs", [f"{thread}-run"])
    checkpoint = bench.made[id_of(config) or ""]
    await bench.call("put", address(thread), checkpoint, {"step": 0}, {})
    expect("the writes", await bench.writes(config), [])


async def delete_for_runs_of_nothing(bench: Bench) -> None:
    """Unknown runs, names that are patterns, and an empty list change nothing (SV-60)."""
    thread = await filled(bench)
    before = await contents(bench, thread)
    for runs in ([], ["unknown"], ["%"], [thread], [""]):
        await bench.call("delete_for_runs", runs)
        expect(f"the thread, after {runs!r}", await contents(bench, thread), before)


async def delete_for_runs_keeps_what_values_are_made_of(bench: Bench) -> None:
    """A checkpoint whose value lies in pieces beside older ones reads as before (SV-63)."""
    thread = bench.thread()
    made = await grown(bench, thread)
    before = [await whole(bench, config) for config in made]
    await bench.call("delete_for_runs", [f"{thread}-{n}" for n in (1, 3)])
    for n in (2, 4):
        expect(f"the value at checkpoint {n}", await whole(bench, made[n]), before[n])


# ---------------------------------------------------------------- copy_thread


async def copy_thread_copies_everything(bench: Bench) -> None:
    """All namespaces, with ids, parents, values, metadata and writes (SV-61)."""
    source, target = await filled(bench), bench.thread()
    await bench.call("copy_thread", source, target)
    copied = await contents(bench, target)
    expect("the copy", without_thread(copied), without_thread(await contents(bench, source)))
    expect("its thread", {r.config["configurable"]["thread_id"] for r in copied}, {target})
    parents = [r.parent_config for r in copied if r.parent_config]
    expect("its parents", {p["configurable"]["thread_id"] for p in parents}, {target})


async def copy_thread_keeps_the_order(bench: Bench) -> None:
    """The latest of the source is the latest of the copy (SV-61)."""
    source, target = await filled(bench), bench.thread()
    await bench.call("copy_thread", source, target)
    expect("the order", await bench.ids(address(target)), await bench.ids(address(source)))


async def copy_thread_leaves_the_source(bench: Bench) -> None:
    """The source is as it was, and others too (SV-61)."""
    source, other = await filled(bench), await filled(bench)
    before = [await contents(bench, thread) for thread in (source, other)]
    await bench.call("copy_thread", source, bench.thread())
    expect("the rest", [await contents(bench, thread) for thread in (source, other)], before)


async def copy_thread_makes_a_thread_of_its_own(bench: Bench) -> None:
    """What then happens to the source does not happen to the copy (SV-61)."""
    source, target = await filled(bench), bench.thread()
    await bench.call("copy_thread", source, target)
    before = await contents(bench, target)
    await bench.put(source, {"x": "later"})
    await bench.call("delete_thread", source)
    expect("the copy", await contents(bench, target), before)


async def copy_thread_leaves_what_the_target_had(bench: Bench) -> None:
    """Checkpoints that the source does not have stay, with their writes and values (SV-61)."""
    source, target = await filled(bench), await filled(bench)
    before = await contents(bench, target)
    await bench.call("copy_thread", source, target)
    after = await contents(bench, target)
    expect("how many there are", len(after), 2 * len(before))
    ids = {record.checkpoint["id"] for record in before}
    kept = [record for record in after if record.checkpoint["id"] in ids]
    expect("what was there", without_thread(kept), without_thread(before))
    copied = [record for record in after if record.checkpoint["id"] not in ids]
    expect("the copy", without_thread(copied), without_thread(await contents(bench, source)))


async def copy_thread_replaces_the_same_id(bench: Bench) -> None:
    """A checkpoint that both have is the source's then, with its writes and no others (SV-61)."""
    source, target = await filled(bench), bench.thread()
    await bench.call("copy_thread", source, target)
    for record in await contents(bench, target):
        place = record.config["configurable"]
        at = address(target, place["checkpoint_ns"], place["checkpoint_id"])
        await bench.put_writes(at, [("x", "old"), ("y", "old"), ("z", "old")], "t")
        await bench.put_writes(at, [("x", "old")], "u")
    bare = await bench.put(source, {"x": "bare"})
    made = bench.made[id_of(bare) or ""]
    await bench.call("put", address(target), made, {"step": 9}, made["channel_versions"])
    await bench.put_writes(address(target, "", id_of(bare)), [("x", "old")], "t")
    await bench.call("copy_thread", source, target)
    expected = without_thread(await contents(bench, source))
    expect("the copy", without_thread(await contents(bench, target)), expected)


async def copy_thread_copies_what_values_are_made_of(bench: Bench) -> None:
    """At each checkpoint of the copy, a value that lies in pieces is that of the source; also when
    the source is gone (SV-63)."""
    source, target = bench.thread(), bench.thread()
    made = await grown(bench, source)
    before = [await whole(bench, config) for config in made]
    await bench.call("copy_thread", source, target)
    await bench.call("delete_thread", source)
    for n, config in enumerate(made):
        found = await whole(bench, address(target, "", id_of(config)))
        expect(f"the value at checkpoint {n}", found, before[n])


async def copy_thread_of_an_unknown_thread(bench: Bench) -> None:
    """There is nothing in the target; an error is allowed (SV-61)."""
    target = bench.thread()
    try:
        await bench.call("copy_thread", bench.thread(), target)
    except Exception:
        pass
    expect("the target", await contents(bench, target), [])


# ---------------------------------------------------------------------- prune


async def prune_keeps_the_latest(bench: Bench) -> None:
    """Of each namespace the latest stays, whole, with its writes and values (SV-62)."""
    thread = await filled(bench)
    before = await contents(bench, thread)
    await bench.call("prune", [thread], strategy="keep_latest")
    expected = [record for record in before if record.metadata["step"] == 1]
    expect("what is left", await contents(bench, thread), expected)


async def prune_keeps_the_latest_unless_told(bench: Bench) -> None:
    """That is what is done without a strategy (SV-62)."""
    thread = await filled(bench)
    latest = (await bench.ids(address(thread)))[0]
    await bench.call("prune", [thread])
    expect("what is left", await bench.ids(address(thread)), [latest])


async def prune_keeps_what_values_are_made_of(bench: Bench) -> None:
    """The latest checkpoint, whose value lies in pieces beside older ones, reads as before, in each
    namespace (SV-63)."""
    thread = bench.thread()
    made = [(await grown(bench, thread, namespace))[-1] for namespace in ("", "inner")]
    before = [await whole(bench, config) for config in made]
    await bench.call("prune", [thread], strategy="keep_latest")
    expect("the values", [await whole(bench, config) for config in made], before)


async def prune_by_deleting(bench: Bench) -> None:
    """``delete`` keeps nothing (SV-62)."""
    thread = await filled(bench)
    await bench.call("prune", [thread], strategy="delete")
    expect("what is left", await contents(bench, thread), [])


async def prune_several_threads(bench: Bench) -> None:
    """Several at once; others are as they were (SV-62)."""
    one, two, other = [await filled(bench) for _ in range(3)]
    before = await contents(bench, other)
    await bench.call("prune", [one, two], strategy="keep_latest")
    left = [len(await contents(bench, thread)) for thread in (one, two)]
    expect("how many are left", left, [2, 2])
    expect("the other", await contents(bench, other), before)


async def prune_of_nothing(bench: Bench) -> None:
    """Unknown threads, names that are patterns, and an empty list change nothing (SV-62)."""
    thread = await filled(bench)
    before = await contents(bench, thread)
    for strategy in ("keep_latest", "delete"):
        for threads in ([], [bench.thread()], ["%"], ["*"], [".."]):
            await bench.call("prune", threads, strategy=strategy)
    expect("the thread", await contents(bench, thread), before)


async def prune_refuses_an_unknown_strategy(bench: Bench) -> None:
    """A strategy that does not exist is an error, and removes nothing (SV-62)."""
    thread = await filled(bench)
    before = await contents(bench, thread)
    try:
        await bench.call("prune", [thread], strategy="unknown")
    except ValueError:
        expect("the thread", await contents(bench, thread), before)
    else:
        raise AssertionError("prune(strategy='unknown') should be a ValueError")


DELETE_THREAD: Final[tuple[Check, ...]] = (
    delete_thread_removes_checkpoints,
    delete_thread_removes_writes,
    delete_thread_leaves_other_threads,
    delete_thread_takes_names_literally,
    delete_thread_of_an_unknown_thread,
    delete_thread_allows_a_new_start,
)
"""The checks of `delete_thread`."""

DELETE_FOR_RUNS: Final[tuple[Check, ...]] = (
    delete_for_runs_removes_one_run,
    delete_for_runs_removes_several_runs,
    delete_for_runs_removes_writes,
    delete_for_runs_keeps_what_values_are_made_of,
    delete_for_runs_of_nothing,
)
"""The checks of `delete_for_runs`."""

COPY_THREAD: Final[tuple[Check, ...]] = (
    copy_thread_copies_everything,
    copy_thread_keeps_the_order,
    copy_thread_leaves_the_source,
    copy_thread_makes_a_thread_of_its_own,
    copy_thread_leaves_what_the_target_had,
    copy_thread_replaces_the_same_id,
    copy_thread_copies_what_values_are_made_of,
    copy_thread_of_an_unknown_thread,
)
"""The checks of `copy_thread`."""

PRUNE: Final[tuple[Check, ...]] = (
    prune_keeps_the_latest,
    prune_keeps_the_latest_unless_told,
    prune_keeps_what_values_are_made_of,
    prune_by_deleting,
    prune_several_threads,
    prune_of_nothing,
    prune_refuses_an_unknown_strategy,
)
"""The checks of `prune`."""
