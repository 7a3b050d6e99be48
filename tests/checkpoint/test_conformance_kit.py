"""Our own checks for savers: ours pass them, a saver in a directory too; broken ones do not."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import operator
import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from pathlib import Path
from random import random
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest

from minigraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver
from minigraph.checkpoint.base.history import COUNTERS
from minigraph.checkpoint.conformance import checkpointer_test, validate
from minigraph.checkpoint.conformance.capabilities import BASE_CAPABILITIES, Capability
from minigraph.checkpoint.conformance.report import (
    CapabilityReport,
    CapabilityResult,
    ProgressCallbacks,
)
from minigraph.checkpoint.conformance.suite import CHECKS
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.encrypted import EncryptedSerializer
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from minigraph.graph import END, START, StateGraph
from minigraph.types import Send

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "directory_saver.py"


def load_example() -> Any:
    spec = importlib.util.spec_from_file_location("directory_saver", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DirectorySaver: Any = load_example().DirectorySaver


@asynccontextmanager
async def in_memory(path: Path) -> AsyncIterator[Any]:
    yield InMemorySaver()


@asynccontextmanager
async def in_sqlite(path: Path) -> AsyncIterator[Any]:
    with SqliteSaver.from_conn_string(str(path / "threads.db")) as saver:
        yield saver


class Rot128:
    """A cipher that keeps nothing secret, and changes every byte."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "rot128", bytes(byte ^ 128 for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return self.encrypt(ciphertext)[1]


@asynccontextmanager
async def in_sqlite_encrypted(path: Path) -> AsyncIterator[Any]:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    yield SqliteSaver(connection, serde=EncryptedSerializer(Rot128()))
    connection.close()


@asynccontextmanager
async def in_a_directory(path: Path) -> AsyncIterator[Any]:
    yield DirectorySaver(path)


SAVERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Any]]] = {
    "memory": in_memory,
    "sqlite": in_sqlite,
    "async sqlite": lambda path: AsyncSqliteSaver.from_conn_string(str(path / "threads.db")),
    "encrypted": in_sqlite_encrypted,
    "directory": in_a_directory,
}


def report_of(
    open_saver: Callable[[], AbstractAsyncContextManager[Any]], **options: Any
) -> CapabilityReport:
    @checkpointer_test(name="under test")
    async def registered() -> AsyncIterator[Any]:
        async with open_saver() as saver:
            yield saver

    return asyncio.run(validate(registered, **options))


def failures_of(saver: BaseCheckpointSaver[Any]) -> set[str]:
    """The names of the checks that a saver fails."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield saver

    results = report_of(opened).results.values()
    return {failure.partition(":")[0] for each in results for failure in each.failures}


# ------------------------------------------------------------------ savers that are right


@pytest.mark.parametrize("name", SAVERS)
def test_savers_that_are_right(name: str, tmp_path: Path) -> None:
    """SV-70, SV-71: every check passes; what the example does not write is skipped, except for what
    the base class does for it (DC-15)."""
    report = report_of(lambda: SAVERS[name](tmp_path))

    assert [failure for each in report.results.values() for failure in each.failures] == []
    inherited = {*BASE_CAPABILITIES, Capability.GET_DELTA_CHANNEL_HISTORY}
    asked = [each for each in Capability if name != "directory" or each in inherited]
    ran = {name: each.tests_passed for name, each in report.results.items() if each.detected}
    assert ran == {each.value: len(CHECKS[each]) for each in asked}
    assert report.passed_all()
    assert report.passed_all_base()
    assert report.conformance_level() == "FULL"


def test_how_many_checks_there_are() -> None:
    """Each stands in the table once, and says what it proves."""
    checks = [check for group in CHECKS.values() for check in group]

    assert len(checks) == len(set(checks)) == 119
    assert all(check.__doc__ for check in checks)
    page = (ROOT / "docs" / "persistence.md").read_text(encoding="utf-8")
    assert f"The kit asks {len(checks)} small questions" in page
    for capability in {*BASE_CAPABILITIES, Capability.GET_DELTA_CHANNEL_HISTORY}:
        number = len(CHECKS[capability])
        count = f"{number} of {number}"
        assert f"    ✓ {capability.value:<25} {count:<10} {capability.value}\n" in page
    for module in {check.__module__ for check in checks}:
        file = Path(importlib.import_module(module).__file__ or "")
        written = file.read_text(encoding="utf-8").count("(bench: Bench) -> None:")
        assert written == sum(check.__module__ == module for check in checks)


# -------------------------------------------------------------------- savers that are not


class Forgetful(InMemorySaver):
    """Takes the last write of a task for the only one."""

    async def aput_writes(
        self, config: Any, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        place = config["configurable"]
        self.writes.pop((place["thread_id"], place["checkpoint_ns"], place["checkpoint_id"]), None)
        self.put_writes(config, writes, task_id, task_path)


class Unordered(InMemorySaver):
    """Gives the writes as they came, whatever the path of their task."""

    async def aput_writes(
        self, config: Any, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        self.put_writes(config, writes, task_id)


class Sharing(InMemorySaver):
    """Gives everybody the value that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[Any, Any] = {}

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        stored = self.put(config, checkpoint, metadata, new_versions)
        self.values[repr(stored)] = checkpoint["channel_values"]
        return stored

    async def aget_tuple(self, config: Any) -> Any:
        found = self.get_tuple(config)
        if found is not None:
            where = {"checkpoint_ns": "", **found.config["configurable"]}
            names = ("thread_id", "checkpoint_ns", "checkpoint_id")
            full = {"configurable": {name: where[name] for name in names}}
            found.checkpoint["channel_values"] = self.values[repr(full)]
        return found


class Careless(InMemorySaver):
    """Puts a filter together as text, and looks only at the first few checkpoints."""

    async def alist(self, config: Any, *, filter: Any = None, **options: Any) -> Any:
        tests = [f"m.get('{key}') == {value!r}" for key, value in (filter or {}).items()]
        for found in self.list(config, **options):
            if eval(" and ".join(["True", *tests]), {"m": found.metadata}):
                yield found


class Racing(InMemorySaver):
    """Remembers in one place which thread it is about to store, and looks there too late."""

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.current = config
        await asyncio.sleep(0)
        return self.put(self.current, checkpoint, metadata, new_versions)


class Leaky(InMemorySaver):
    """Deletes checkpoints, and forgets the writes; of runs, those in the root alone."""

    async def adelete_thread(self, thread_id: str) -> None:
        self.storage.pop(str(thread_id), None)

    async def adelete_for_runs(self, run_ids: Any) -> None:
        for thread in self.storage.values():
            for id, row in [*thread[""].items()]:
                if self.serde.loads_typed(row[1]).get("run_id") in run_ids:
                    thread[""].pop(id)


class Counting(InMemorySaver):
    """Counts in text: the tenth version sorts before the ninth."""

    def get_next_version(self, current: Any, channel: None) -> str:
        count = int(str(current or 0).split(".")[0])
        return f"{count + 1}.{uuid4().hex}"


class Stuck(InMemorySaver):
    """Counts no further than to a thousand."""

    def get_next_version(self, current: Any, channel: None) -> Any:
        return current if current and current > 1000 else int(current or 0) + 1 + random()


class Unaware(InMemorySaver):
    """Does not keep which channels were updated."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return super().put(config, {**checkpoint, "updated_channels": []}, metadata, new_versions)


class Terse(InMemorySaver):
    """Leaves out metadata that is None."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        some: Any = {key: value for key, value in metadata.items() if value is not None}
        return super().put(config, checkpoint, some, new_versions)


class Loyal(InMemorySaver):
    """Keeps the first parent of a checkpoint."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        place = config["configurable"]
        thread, namespace = str(place["thread_id"]), place["checkpoint_ns"]
        old = self._rows(thread, namespace).get(checkpoint["id"])
        stored = super().put(config, checkpoint, metadata, new_versions)
        if old:
            rows = self.storage[thread][namespace]
            rows[checkpoint["id"]] = (*rows[checkpoint["id"]][:2], old[2])
        return stored


class TextOnly(InMemorySaver):
    """Knows threads by text alone."""

    def get_tuple(self, config: Any) -> Any:
        if not isinstance(config["configurable"]["thread_id"], str):
            return None
        return super().get_tuple(config)


class Literal(InMemorySaver):
    """Takes an id that is empty for an id."""

    def get_tuple(self, config: Any) -> Any:
        if config["configurable"].get("checkpoint_id", True) in (None, ""):
            return None
        return super().get_tuple(config)


class Generous(InMemorySaver):
    """Takes a limit of 0 for no limit."""

    def list(self, config: Any, *, limit: Any = None, **options: Any) -> Any:
        return super().list(config, limit=limit or None, **options)


class Nervous(InMemorySaver):
    """Does not bear that something is deleted while it lists."""

    def list(self, config: Any, **options: Any) -> Any:
        def count() -> int:
            return sum(map(len, self.storage.get(config["configurable"]["thread_id"], {}).values()))

        before = count() if config else 0
        for found in super().list(config, **options):
            if config and count() < before:
                raise RuntimeError("changed size during iteration")
            yield found


class NoExceptions(InMemorySaver):
    """Stores data only."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if any(isinstance(value, Exception) for _, value in writes):
            raise TypeError("an exception is no data")
        super().put_writes(config, writes, task_id, task_path)


class NoSends(InMemorySaver):
    """Stores a Send as a dict."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        plain = [(c, {"node": v.node} if isinstance(v, Send) else v) for c, v in writes]
        super().put_writes(config, plain, task_id, task_path)


class Whole(InMemorySaver):
    """Ignores a list that is stored again if there is an ordinary write in it, all of it."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        place = config["configurable"]
        key = str(place["thread_id"]), place.get("checkpoint_ns", ""), place["checkpoint_id"]
        before = dict(self.writes.get(key, {}))
        super().put_writes(config, writes, task_id, task_path)
        if any(channel not in WRITES_IDX_MAP for channel, _ in writes):
            self.writes[key].update(before)


class Replacing(InMemorySaver):
    """Empties the target before it copies."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.delete_thread(target_thread_id)
        super().copy_thread(source_thread_id, target_thread_id)


class Mixing(InMemorySaver):
    """Leaves writes of a checkpoint that it has replaced."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        before = {key: dict(writes) for key, writes in self.writes.items()}
        super().copy_thread(source_thread_id, target_thread_id)
        for key, writes in before.items():
            if key[0] == target_thread_id:
                self.writes[key] = {**writes, **self.writes.get(key, {})}


class DropsNone(InMemorySaver):
    """Takes a write of None for no write."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        some = [write for write in writes if write[1] is not None]
        super().put_writes(config, some, task_id, task_path)


OWN = JsonPlusSerializer(allowed_msgpack_modules=True)


class Headstrong(InMemorySaver):
    """Uses a serializer of its own, whichever it was given."""

    serde = property(lambda self: OWN, lambda self, given: None)  # type: ignore[assignment]


class Strict(InMemorySaver):
    def __init__(self) -> None:
        super().__init__(serde=JsonPlusSerializer(allowed_msgpack_modules=()))


class Elsewhere(Strict):
    """Its wider copy has a store of its own."""

    def with_allowlist(self, extra_allowlist: Any) -> Any:
        return InMemorySaver()


class Deaf(Strict):
    """Its wider copy allows no more than it does itself."""

    def with_allowlist(self, extra_allowlist: Any) -> Any:
        return copy(self)


class Repeating(InMemorySaver):
    """Stores values by version, and gives both of two branches the same."""

    def get_next_version(self, current: Any, channel: None) -> str:
        return f"{int(current or 0) + 1:032}"


class Renewing(InMemorySaver):
    """Removes the writes of a checkpoint that is put."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        stored = super().put(config, checkpoint, metadata, new_versions)
        self.writes.pop(tuple(stored["configurable"].values()), None)  # type: ignore[call-overload]
        return stored


class Guessing(InMemorySaver):
    """Makes up what a config lacks."""

    def put(self, config: Any, *args: Any) -> Any:
        place = {"thread_id": "", "checkpoint_ns": "", **config["configurable"]}
        return super().put({"configurable": place}, *args)

    def put_writes(self, config: Any, *args: Any) -> None:
        place = {"thread_id": "", "checkpoint_id": "", **config["configurable"]}
        super().put_writes({"configurable": place}, *args)

    def get_tuple(self, config: Any) -> Any:
        return super().get_tuple(config) if "thread_id" in config["configurable"] else None

    def list(self, config: Any, **options: Any) -> Any:
        known = config is None or "thread_id" in config["configurable"]
        return super().list(config if known else None, **options)


class Editing(InMemorySaver):
    """Takes configs and writes for its own."""

    def put_writes(self, config: Any, writes: Any, *task: str) -> None:
        super().put_writes(config, [*writes], *task)
        writes.sort(key=lambda write: write[0])

    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        config["configurable"].setdefault("checkpoint_ns", "")
        return found


class Containing(InMemorySaver):
    """Compares a dict or a list of a filter by what is in it."""

    def list(self, config: Any, *, filter: Any = None, limit: Any = None, **options: Any) -> Any:
        def passes(found: Any, wanted: Any) -> bool:
            if isinstance(wanted, dict) and isinstance(found, dict):
                return wanted.items() <= found.items()
            if isinstance(wanted, list) and isinstance(found, list):
                return all(each in found for each in wanted)
            return bool(found == wanted)

        for found in super().list(config, **options):
            if limit is not None and limit <= 0:
                return
            if all(passes(found.metadata.get(k), v) for k, v in (filter or {}).items()):
                yield found
                limit = limit and limit - 1


class Growing(InMemorySaver):
    """Does not bear that something is put while it lists."""

    def list(self, config: Any, **options: Any) -> Any:
        def count() -> int:
            return sum(map(len, self.storage.get(config["configurable"]["thread_id"], {}).values()))

        before = count() if config else 0
        for found in super().list(config, **options):
            if config and count() > before:
                raise RuntimeError("changed size during iteration")
            yield found


class JoinedKeys(dict[Any, Any]):
    """Makes one text of the names in a key."""

    separator = ""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self.separator.join(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(self.separator.join(key), value)

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(self.separator.join(key))

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(self.separator.join(key))

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(self.separator.join(key), default)


class Gathering(InMemorySaver):
    """Has a way of its own to gather what is stored in pieces: all ancestors, newest first, each
    with its pending writes; what is wrong with it is for others to say."""

    def ancestors(self, found: Any) -> Any:
        while found is not None and found.parent_config is not None:
            child, found = found, self.get_tuple(found.parent_config)
            if found is None:
                raise UnreadableError(f"no parent of {child.config}")
            yield found

    def first(self, config: Any) -> Any:
        found = self.get_tuple(config)
        if found is None and config["configurable"].get("checkpoint_id"):
            raise UnreadableError(f"nothing at {config}")
        return found

    def writes_of(self, record: Any) -> Any:
        return record.pending_writes

    def writes_beside_the_seed(self, record: Any) -> Any:
        return self.writes_of(record)

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        histories: dict[str, Any] = {}
        for channel in channels:
            steps: list[Any] = []
            history = histories[channel] = {"writes": []}
            for record in self.ancestors(self.first(config)):
                values = record.checkpoint["channel_values"]
                is_seed = channel in values
                writes = (self.writes_beside_the_seed if is_seed else self.writes_of)(record)
                steps.insert(0, [write for write in writes if write[1] == channel])
                if is_seed:
                    history["seed"] = values[channel]
                    break
            history["writes"] = [write for step in steps for write in step]
        return histories

    async def aget_delta_channel_history(self, **asked: Any) -> Any:
        return self.get_delta_channel_history(**asked)


class ByRange(Gathering):
    """Takes all checkpoints of a smaller id for ancestors."""

    def ancestors(self, found: Any) -> Any:
        if found is not None:
            place = {**found.config["configurable"], "checkpoint_id": None}
            yield from self.list(
                {"configurable": {"checkpoint_ns": "", **place}}, before=found.config
            )


class ByTaskId(Gathering):
    """Sorts writes by the ids of tasks."""

    def writes_of(self, record: Any) -> Any:
        return sorted(record.pending_writes, key=lambda write: write[0])


class WithItsOwn(Gathering):
    """Begins with the writes beside the checkpoint itself."""

    def ancestors(self, found: Any) -> Any:
        if found is not None:
            yield found
            yield from super().ancestors(found)


class WithoutTheFirst(Gathering):
    """Leaves out what was written beside the checkpoint with the value."""

    def writes_beside_the_seed(self, record: Any) -> Any:
        return []


class Resigned(Gathering):
    """Makes do with what is there."""

    def ancestors(self, found: Any) -> Any:
        try:
            yield from super().ancestors(found)
        except UnreadableError:
            pass


class NoneIsNothing(Gathering):
    """Takes a value of None for none."""

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        found = super().get_delta_channel_history(config=config, channels=channels)
        for history in found.values():
            if history.get("seed", 0) is None:
                del history["seed"]
        return found


class OnlyNow(Gathering):
    """Knows the latest only."""

    def first(self, config: Any) -> Any:
        return self.get_tuple({"configurable": {**config["configurable"], "checkpoint_id": None}})


class Remembering(Gathering):
    """Gives everybody the same record again."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, Any] = {}

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        key = repr((config, channels))
        if key not in self.found:
            found = super().get_delta_channel_history(config=config, channels=channels)
            self.found[key] = found
        return self.found[key]


class Untidy(Gathering):
    """Sorts what it is given."""

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        found = super().get_delta_channel_history(config=config, channels=channels)
        channels.sort()
        return found


class Pruning(InMemorySaver):
    """Removes all that is old, whatever is needed of it."""

    def prune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
        super().prune(thread_ids, strategy=strategy)
        for thread in thread_ids if strategy == "keep_latest" else ():
            for namespace, rows in self.storage.get(thread, {}).items():
                for id in sorted(rows)[:-1]:
                    rows.pop(id)
                    self.writes.pop((thread, namespace, id), None)


class Deleting(InMemorySaver):
    """Removes all that runs have made, whatever is needed of it."""

    def delete_for_runs(self, run_ids: Any) -> None:
        super().delete_for_runs(run_ids)
        for thread, namespaces in self.storage.items():
            for namespace, rows in namespaces.items():
                for id, row in [*rows.items()]:
                    if self.serde.loads_typed(row[1]).get("run_id") in run_ids:
                        rows.pop(id)
                        self.writes.pop((thread, namespace, id), None)


class CopyingTheLast(InMemorySaver):
    """Copies the latest checkpoint of a thread that counts, and takes its value for stored."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        super().copy_thread(source_thread_id, target_thread_id)
        for key in self.writes:
            rows = self.storage[key[0]][key[1]]
            counts = rows and COUNTERS in self.serde.loads_typed(rows[max(rows)][1])
            if counts and key[0] == target_thread_id:
                self.writes[key] = {}


class FiveMethods(BaseCheckpointSaver[str]):
    """What every saver must, and nothing else. What is wrong with it is for others to say."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = inner = InMemorySaver()
        self.get_next_version = inner.get_next_version  # type: ignore[method-assign, assignment]

    @property
    def serde(self) -> Any:
        return self.inner.serde

    @serde.setter
    def serde(self, given: Any) -> None:  # type: ignore[override]
        self.inner.serde = given

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


class OnlyTheLatest(FiveMethods):
    """Takes no notice of ids."""

    def get_tuple(self, config: Any) -> Any:
        place = {**config["configurable"], "checkpoint_id": None}
        found = self.inner.get_tuple({"configurable": place})
        asked = config["configurable"].get("checkpoint_id")
        return found and found._replace(config=config if asked else found.config)


class FindsNoOld(FiveMethods):
    """Finds nothing but the latest."""

    def get_tuple(self, config: Any) -> Any:
        latest = self.inner.get_tuple(
            {"configurable": {**config["configurable"], "checkpoint_id": None}}
        )
        wanted = config["configurable"].get("checkpoint_id")
        is_latest = latest and wanted in (None, "", latest.checkpoint["id"])
        return self.inner.get_tuple(config) if is_latest else None


class OldWithout(FiveMethods):
    """Leaves something out of what is not the latest."""

    def __init__(self, **missing: Any) -> None:
        super().__init__()
        self.missing = missing

    def get_tuple(self, config: Any) -> Any:
        latest = self.inner.get_tuple(
            {"configurable": {**config["configurable"], "checkpoint_id": None}}
        )
        found = self.inner.get_tuple(config)
        is_old = found and found.checkpoint["id"] != latest.checkpoint["id"]
        return found._replace(**self.missing) if is_old else found


class HalfDone(InMemorySaver):
    """Has a method that is right, and its sync twin that does nothing."""

    def put_writes(self, *args: Any) -> None:
        pass

    async def aput_writes(self, *args: Any) -> None:
        InMemorySaver.put_writes(self, *args)


class AsyncOnly(BaseCheckpointSaver[str]):
    """Has sync methods to say that there are none."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = inner = InMemorySaver()
        self.get_next_version = inner.get_next_version  # type: ignore[method-assign, assignment]

    @property
    def serde(self) -> Any:
        return self.inner.serde

    @serde.setter
    def serde(self, given: Any) -> None:  # type: ignore[override]
        self.inner.serde = given

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("use the async methods")

    get_tuple = list = put = put_writes = delete_thread = _refuse

    def alist(self, *args: Any, **options: Any) -> Any:
        return self.inner.alist(*args, **options)

    async def aget_tuple(self, *args: Any) -> Any:
        return await self.inner.aget_tuple(*args)

    async def aput(self, *args: Any) -> Any:
        return await self.inner.aput(*args)

    async def aput_writes(self, *args: Any) -> None:
        await self.inner.aput_writes(*args)

    async def adelete_thread(self, *args: Any) -> None:
        await self.inner.adelete_thread(*args)


@pytest.mark.parametrize(
    ("broken", "caught"),
    [
        (
            Forgetful,
            {
                "put_writes_keeps_the_order",
                "put_writes_is_idempotent",
                "put_writes_replaces_special_writes",
                "put_writes_keeps_special_and_ordinary_writes",
                "put_writes_takes_a_mixed_list_again",
                "put_writes_works_in_parallel",
                "history_keeps_the_order",
                "history_keeps_places_apart",
            },
        ),
        (Unordered, {"put_writes_keeps_the_order", "history_keeps_the_order"}),
        (Sharing, {"put_shares_nothing", "copy_thread_copies_what_values_are_made_of"}),
        (Careless, {"list_filters_by_hostile_keys", "list_counts_after_filtering"}),
        (Racing, {"put_works_in_parallel"}),
        (
            Leaky,
            {
                "delete_thread_removes_writes",
                "delete_for_runs_removes_one_run",
                "delete_for_runs_removes_several_runs",
                "delete_for_runs_removes_writes",
                "delete_for_runs_keeps_what_values_are_made_of",
            },
        ),
        (Counting, {"put_is_given_versions_that_sort"}),
        (Stuck, {"put_is_given_versions_that_sort"}),
        (Unaware, {"put_keeps_every_key"}),
        (Terse, {"put_keeps_metadata"}),
        (Loyal, {"put_replaces_the_parent"}),
        (TextOnly, {"put_takes_a_number_for_a_thread"}),
        (Literal, {"get_tuple_takes_an_empty_id_for_none"}),
        (Generous, {"list_limit"}),
        (Nervous, {"list_survives_a_deletion"}),
        (NoExceptions, {"put_writes_takes_exceptions"}),
        (NoSends, {"put_writes_takes_sends"}),
        (Whole, {"put_writes_takes_a_mixed_list_again"}),
        (Replacing, {"copy_thread_leaves_what_the_target_had"}),
        (Mixing, {"copy_thread_replaces_the_same_id"}),
        (DropsNone, {"put_writes_keeps_none", "history_keeps_none"}),
        (
            Headstrong,
            {"put_goes_through_the_serializer", "put_writes_goes_through_the_serializer"},
        ),
        (Elsewhere, {"put_goes_through_a_wider_copy"}),
        (Deaf, {"put_goes_through_a_wider_copy"}),
        (
            Repeating,
            {
                "put_keeps_branches_apart",
                "get_tuple_takes_the_greatest_id_for_the_latest",
                "history_follows_the_parents",
            },
        ),
        (Renewing, {"put_writes_may_come_first", "put_writes_outlast_their_checkpoint"}),
        (
            Guessing,
            {
                "put_needs_thread_and_namespace",
                "put_writes_needs_thread_and_checkpoint",
                "get_tuple_needs_a_thread",
                "list_needs_a_thread",
            },
        ),
        (
            Editing,
            {"put_writes_leaves_its_arguments_alone", "get_tuple_leaves_its_argument_alone"},
        ),
        (Containing, {"list_filters_by_lists_and_dicts"}),
        (Growing, {"list_survives_a_put"}),
    ],
)
def test_savers_that_are_not_right(broken: type[InMemorySaver], caught: set[str]) -> None:
    """SV-70, SV-09, SV-08: what is wrong is named, and nothing else."""
    assert failures_of(broken()) == caught


def test_a_way_of_its_own_to_gather_pieces() -> None:
    """SV-70, DC-15: if it is right; and five methods are enough."""
    assert failures_of(Gathering()) == set()
    assert failures_of(FiveMethods()) == set()


PIECES = {
    f"history_{name}"
    for name in (
        "goes_back_to_the_value",
        "of_several_channels",
        "follows_the_parents",
        "of_a_broken_way",
    )
}
"""What fails whenever pieces are missing."""


@pytest.mark.parametrize(
    ("broken", "caught"),
    [
        (
            ByRange,
            {
                "history_follows_the_parents",
                "history_is_what_the_parents_have",
                "history_of_a_broken_way",
            },
        ),
        (ByTaskId, {"history_keeps_the_order"}),
        (
            WithItsOwn,
            {
                "history_goes_back_to_the_value",
                "history_of_several_channels",
                "history_of_nothing",
                "history_keeps_places_apart",
                "history_is_what_the_parents_have",
                "history_of_a_broken_way",
            },
        ),
        (
            WithoutTheFirst,
            {
                *PIECES,
                "history_keeps_none",
                "history_keeps_places_apart",
                "history_is_what_the_parents_have",
            },
        ),
        (Resigned, {"history_of_a_broken_way"}),
        (NoneIsNothing, {"history_keeps_none"}),
        (OnlyNow, {*PIECES, "history_of_nothing", "history_is_what_the_parents_have"}),
        (Remembering, {"history_shares_nothing"}),
        (Untidy, {"history_leaves_its_arguments_alone"}),
        (Pruning, {"prune_keeps_what_values_are_made_of"}),
        (Deleting, {"delete_for_runs_keeps_what_values_are_made_of"}),
        (CopyingTheLast, {"copy_thread_copies_what_values_are_made_of"}),
    ],
)
def test_pieces_that_are_gathered_wrongly(broken: type[InMemorySaver], caught: set[str]) -> None:
    """SV-70, SV-63, DC-03, DC-15: what is wrong is named, and nothing else."""
    assert failures_of(broken()) == caught


LOOKUPS = {
    "get_tuple_by_id",
    "list_gives_whole_tuples",
    "put_adds_and_removes_channels",
    "put_keeps_branches_apart",
    "put_keeps_each_checkpoint",
    "put_keeps_the_parent",
    "put_writes_belong_to_one_checkpoint",
}
EVERY_HISTORY = {check.__name__ for check in CHECKS[Capability.GET_DELTA_CHANNEL_HISTORY]}


@pytest.mark.parametrize(
    ("broken", "caught"),
    [
        (OnlyTheLatest, {*LOOKUPS, "get_tuple_of_an_unknown_id", *EVERY_HISTORY}),
        (FindsNoOld, {*LOOKUPS, *EVERY_HISTORY}),
        (
            lambda: OldWithout(pending_writes=[]),
            {
                "list_gives_whole_tuples",
                "put_writes_belong_to_one_checkpoint",
                *PIECES,
                "history_has_no_other_writes",
                "history_keeps_none",
                "history_keeps_places_apart",
                "history_keeps_the_order",
            },
        ),
        (
            lambda: OldWithout(parent_config=None),
            {
                "list_gives_whole_tuples",
                *EVERY_HISTORY,
            }
            - {
                "history_has_no_other_writes",
                "history_keeps_none",
                "history_keeps_the_order",
                "history_of_nothing",
            },
        ),
    ],
    ids=["only the latest", "nothing old", "old without writes", "old without parents"],
)
def test_lookups_that_are_broken(broken: Any, caught: set[str]) -> None:
    """SV-70, DC-15: a saver with five methods, whose old checkpoints are not found, or not whole.
    The checks of pieces say so, too."""
    assert failures_of(broken()) == caught


@pytest.mark.parametrize("separator", [":", "|", "/"])
def test_names_that_are_joined(separator: str) -> None:
    """SV-70: whatever a store puts between the names of a key, it may be in a name."""

    class Joining(InMemorySaver):
        def __init__(self) -> None:
            super().__init__()
            self.writes = JoinedKeys()
            self.writes.separator = separator

    assert failures_of(Joining()) == {"put_keeps_names_apart"}


def test_sync_methods_are_tried_too() -> None:
    """SV-71: where a class has both; what is wrong with one is said to be wrong with that one."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield HalfDone()

    report = report_of(opened)
    result = report.results["put_writes"]
    names = [failure.partition(": ") for failure in result.failures]
    assert all(why.startswith("with the sync methods, ") for _, _, why in names)
    passed = {"put_writes_takes_an_empty_list", "put_writes_leaves_its_arguments_alone"}
    assert {name for name, _, _ in names} == {
        check.__name__ for check in CHECKS[Capability.PUT_WRITES]
    } - passed
    assert (result.tests_passed, result.tests_failed) == (len(passed), len(names))


def test_sync_methods_that_only_say_that_there_are_none() -> None:
    """SV-71: are none."""
    assert failures_of(AsyncOnly()) == set()


def test_a_saver_of_nothing() -> None:
    """SV-71: what the class has not written is not there, and nothing has failed."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield BaseCheckpointSaver()

    report = report_of(opened)
    assert report.results == {each.value: CapabilityResult(tests_skipped=1) for each in Capability}
    assert (report.passed_all(), report.passed_all_base()) == (True, False)


# ------------------------------------------------------------------------------ the suite


def test_what_is_called_when() -> None:
    """SV-70: one lifespan around all, one saver for each capability, callbacks in between."""
    told: list[Any] = []

    async def lifespan() -> AsyncIterator[None]:
        told.append("begin")
        yield
        told.append("end")

    @checkpointer_test(name="m", skip_capabilities={"prune"}, lifespan=lifespan)  # type: ignore[arg-type]
    async def memory() -> AsyncIterator[Any]:
        told.append("open")
        yield InMemorySaver()
        told.append("close")

    progress = ProgressCallbacks(
        on_capability_start=lambda *args: told.append(args),
        on_test_result=lambda capability, check, passed, why: told.append(passed),
        on_capability_end=told.append,
    )
    report = asyncio.run(validate(memory, capabilities={"copy_thread", "prune"}, progress=progress))

    skipped = [["open", (each.value, False), "close", each.value] for each in Capability]
    checked = ["open", ("copy_thread", True), *[True] * 8, "close", "copy_thread"]
    skipped[6] = checked
    assert told == ["begin", *(entry for each in skipped for entry in each), "end"]
    assert [name for name, each in report.results.items() if each.passed] == ["copy_thread"]


def test_unknown_capabilities() -> None:
    """SV-70: the ones that there are, are named; a text is no set of letters."""
    there = [each.value for each in Capability]
    for argument in ("skip_capabilities", "capabilities"):

        def call(given: Any, argument: str = argument) -> None:
            if argument == "capabilities":
                report_of(lambda: in_memory(Path()), capabilities=given)
            else:
                checkpointer_test(name="m", skip_capabilities=given)

        with pytest.raises(ValueError) as caught:
            call({"puts"})
        assert str(caught.value) == (
            f"There is no capability 'puts', as {argument} says; there are {there}."
        )
        with pytest.raises(TypeError) as refused:
            call("put")
        assert str(refused.value) == (
            f"{argument} must be a set of names, but it is 'put'. Did you mean {{'put'}}?"
        )


@pytest.mark.parametrize(
    ("base", "extended", "level", "all_base", "everything"),
    [
        ([True] * 5, [True] * 4, "FULL", True, True),
        ([True] * 5, [None] * 4, "FULL", True, True),
        ([True] * 5, [True, True, True, False], "BASE+PARTIAL", True, False),
        ([True] * 4 + [False], [True] * 4, "BASE", False, False),
        ([True] * 4 + [None], [True] * 4, "FULL", False, True),
        ([False] * 5, [True] * 4, "NONE", False, False),
    ],
)
def test_levels(
    base: list[Any], extended: list[Any], level: str, all_base: bool, everything: bool
) -> None:
    """SV-70: the reference's levels."""
    names = [each.value for each in Capability]
    report = CapabilityReport(
        "m", {n: CapabilityResult(passed=p) for n, p in zip(names, base + extended, strict=True)}
    )

    assert report.conformance_level() == level
    assert (report.passed_all_base(), report.passed_all()) == (all_base, everything)
    assert report.to_dict()["conformance_level"] == level


def test_a_printed_report(capsys: pytest.CaptureFixture[str]) -> None:
    """SV-70: a line for each capability, its methods, and what is wrong; what is not there."""
    CapabilityReport(
        "mine",
        {
            "put": CapabilityResult(True, True, 17),
            "list": CapabilityResult(True, False, 16, 1, 0, ["list_limit: 1 is …\nThe rule."]),
        },
        {"put": ["put", "aput"], "list": ["alist"], "get_tuple": ["get_tuple"]}
        | dict.fromkeys(["put_writes", "delete_thread", "delete_for_runs", "prune"], ()),
    ).print_report()

    assert capsys.readouterr().out == (
        "Saver: mine\n\n"
        "  What a saver must do\n"
        "    ✓ put                       17 of 17   put, aput\n"
        "    – put_writes                not there\n"
        "    – get_tuple                 not asked  get_tuple\n"
        "    ✗ list                      16 of 17   alist\n"
        "        list_limit: 1 is …\n"
        "          The rule.\n"
        "    – delete_thread             not there\n\n"
        "  What a saver may do\n"
        "    – delete_for_runs           not there\n"
        "    – copy_thread               not asked\n"
        "    – prune                     not there\n"
        "    – get_delta_channel_history not asked\n\n"
        "  Level: BASE, without put_writes, delete_thread, which a saver must have, "
        "not asked about get_tuple\n"
    )


def test_a_report_of_a_saver_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    """SV-71: nothing has failed, so the level is the reference's; what is missing is said."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield BaseCheckpointSaver()

    report = report_of(opened)
    report.print_report()
    assert (report.conformance_level(), report.passed_all_base()) == ("FULL", False)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[1:] for line in printed if line.startswith("    ")] == [
        [each.value, "not", "there"] for each in Capability
    ]
    assert printed[-1] == (
        "  Level: FULL, without put, put_writes, get_tuple, list, delete_thread, which a saver "
        "must have"
    )


def test_which_methods_there_are(tmp_path: Path) -> None:
    """SV-71: sync, async or both; a sync one that only says that there is none is none."""
    names = [each.value for each in Capability]

    def methods(open_saver: Callable[[], AbstractAsyncContextManager[Any]]) -> Any:
        return report_of(open_saver, capabilities=set()).methods

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield AsyncOnly()

    both = {name: [name, f"a{name}"] for name in names}
    assert methods(lambda: in_memory(tmp_path)) == both
    assert methods(lambda: in_sqlite(tmp_path)) == {name: [name] for name in names}
    there = {*BASE_CAPABILITIES, Capability.GET_DELTA_CHANNEL_HISTORY}
    assert methods(opened) == {name: [f"a{name}"] if name in there else [] for name in names}


def test_progress_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """SV-70: dots, or lines."""

    def run(progress: ProgressCallbacks) -> None:
        report_of(lambda: in_memory(Path()), capabilities={"prune"}, progress=progress)

    run(ProgressCallbacks.default())
    assert capsys.readouterr().out.endswith(
        "  copy_thread: skipped\n  prune: .......\n  get_delta_channel_history: skipped\n"
    )
    run(ProgressCallbacks.verbose())
    assert "  prune\n    ✓ prune_keeps_the_latest\n" in capsys.readouterr().out


# ------------------------------------------------------------------------ the example


class Counted(TypedDict):
    steps: Annotated[list[str], operator.add]


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_a_graph_goes_on_in_another_process(how: str, tmp_path: Path) -> None:
    """The example keeps a thread: a second saver on the directory knows what the first stored."""
    builder = StateGraph(Counted)
    builder.add_node("a", lambda state: {"steps": ["a"]})
    builder.add_node("b", lambda state: {"steps": ["b"]})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("b", END)
    config: Any = {"configurable": {"thread_id": "1"}}

    def run(given: Any, **options: Any) -> Any:
        graph = builder.compile(checkpointer=DirectorySaver(tmp_path), **options)
        if how == "invoke":
            return graph.invoke(given, config)
        return asyncio.run(graph.ainvoke(given, config))

    assert run({"steps": ["in"]}, interrupt_before=["b"]) == {"steps": ["in", "a"]}
    assert run(None) == {"steps": ["in", "a", "b"]}


def test_a_death_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was not finished is not seen: the checkpoint before it is still the latest."""
    saver = DirectorySaver(tmp_path)
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    saver.put(config, {"id": "1", "channel_values": {"x": 1}}, {}, {})

    def die(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", die)
    for id in ("1", "2"):
        with pytest.raises(KeyboardInterrupt):
            saver.put(config, {"id": id, "channel_values": {"x": 2}}, {}, {})

    again = DirectorySaver(tmp_path)
    assert [found.checkpoint for found in again.list(None)] == [
        {"id": "1", "channel_values": {"x": 1}}
    ]


@pytest.mark.parametrize("kind", ["checkpoint", "writes"])
@pytest.mark.parametrize("length", [0, 3, 8, 20])
def test_a_file_that_is_damaged(kind: str, length: int, tmp_path: Path) -> None:
    """SD-14: empty, or cut off anywhere: the error is an `UnreadableError`, and names the file."""
    saver = DirectorySaver(tmp_path)
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    stored = saver.put(config, {"id": "1", "channel_values": {"x": 1}}, {}, {})
    saver.put_writes(stored, [("x", "a value that is not short")], "t")
    (path,) = tmp_path.rglob(f"*.{kind}")
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(UnreadableError) as caught:
        saver.get_tuple(config)
    assert str(caught.value).startswith(f"The file {path} cannot be read: ")


def test_how_long_the_example_is() -> None:
    """As the README says: without blank lines, comments and docstrings. It is to show how little a
    saver is."""
    text = EXAMPLE.read_text(encoding="utf-8")
    tree = ast.parse(text)
    documentation: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            documentation.update(range(first.lineno, (first.end_lineno or 0) + 1))
    code = [
        line
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in documentation
    ]
    said = re.search(r"in (\d+) lines of code", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert said is not None
    assert len(code) == int(said[1])
    assert len(code) < 120


async def no_generator() -> Any:
    return InMemorySaver()


def sync_generator() -> Any:
    yield InMemorySaver()


@pytest.mark.parametrize("factory", [no_generator, sync_generator, InMemorySaver(), InMemorySaver])
def test_a_function_of_another_kind(factory: Any) -> None:
    """SV-70: the saver itself, and its class, are none either."""
    with pytest.raises(TypeError) as caught:
        checkpointer_test(name="mine")(factory)
    assert str(caught.value) == (
        "What makes the saver 'mine' must be an async generator function, but it is "
        f"{factory!r}. Write `async def`, and `yield` the saver instead of returning it."
    )


def returns_one() -> Any:
    return InMemorySaver()


def test_a_function_that_only_returns_a_saver() -> None:
    """SV-70: that is seen when it is called."""
    with pytest.raises(TypeError, match="'mine' must be an async generator function"):
        asyncio.run(validate(checkpointer_test(name="mine")(returns_one)))


def test_a_function_that_yields_nothing() -> None:
    """SV-70."""

    @checkpointer_test(name="mine")
    async def mine() -> Any:
        for saver in ():
            yield saver

    with pytest.raises(TypeError) as caught:
        asyncio.run(validate(mine))
    assert str(caught.value) == (
        "What makes the saver 'mine' has ended without yielding one. Write `yield saver` where it "
        "is ready to be used."
    )


def test_an_error_of_the_function_itself() -> None:
    """SV-70: is not one of ours."""

    @checkpointer_test(name="mine")
    async def mine() -> Any:
        raise RuntimeError("no database")
        yield

    with pytest.raises(RuntimeError, match="no database"):
        asyncio.run(validate(mine))


# ------------------------------------------------------------------- what a failure says


class ListAsCoroutine(InMemorySaver):
    async def alist(self, *args: Any, **options: Any) -> Any:
        return []


class PlainAput(InMemorySaver):
    def aput(self, *args: Any) -> Any:
        return self.put(*args)


class AsyncDelete(InMemorySaver):
    async def delete_thread(self, thread_id: str) -> None:  # type: ignore[override]
        raise AssertionError("nobody waits for it")

    async def adelete_thread(self, thread_id: str) -> None:
        InMemorySaver.delete_thread(self, thread_id)


class AsyncList(InMemorySaver):
    async def list(self, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        yield


@pytest.mark.parametrize(
    ("saver", "capability", "remedy", "kind"),
    [
        (
            ListAsCoroutine,
            "list",
            "make alist an async generator: `async def`, with `yield` in it",
            "coroutine",
        ),
        (PlainAput, "put", "aput must be async def", "dict"),
        (
            AsyncDelete,
            "delete_thread",
            "delete_thread must not be async; name it adelete_thread",
            "coroutine",
        ),
        (AsyncList, "list", "make list a generator, or name it alist", "async_generator"),
    ],
)
def test_a_method_of_the_wrong_kind(saver: Any, capability: str, remedy: str, kind: str) -> None:
    """SV-71: that is said once, instead of by each check that calls it."""
    said = f"{remedy}. What a call of it gives is {kind!r}."

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield saver()

    told: list[Any] = []
    progress = ProgressCallbacks(on_test_result=lambda *result: told.append(result))
    report = report_of(opened, progress=progress)
    failed = CapabilityResult(detected=True, passed=False, tests_failed=1, failures=[said])
    skipped = CapabilityResult(tests_skipped=1)
    assert report.results == {
        each.value: failed if each.value == capability else skipped for each in Capability
    }
    assert [(name, passed, why) for name, _, passed, why in told] == [(capability, False, said)]
    assert (report.passed_all(), report.passed_all_base()) == (False, False)


class Raising(InMemorySaver):
    """Has mistakes in it."""

    def prune(self, *args: Any, **options: Any) -> None:
        raise KeyError("ups")

    def copy_thread(self, *args: Any) -> None:
        assert False  # noqa: B011, PT015

    async def acopy_thread(self, *args: Any) -> None:
        super().copy_thread(*args)

    def delete_for_runs(self, run_ids: Any) -> None:
        super().delete_for_runs(5)  # type: ignore[arg-type]


def test_an_error_in_the_saver() -> None:
    """SV-70: its type, and the line of the saver's that is to blame; and what would be right."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield Raising()

    def line(method: Any, offset: int) -> str:
        return f"{__file__}:{method.__code__.co_firstlineno + offset}"

    results = report_of(opened).results
    assert results["prune"].failures[0] == (
        f"prune_keeps_the_latest: KeyError: 'ups' ({line(Raising.prune, 1)})\n"
        "Of each namespace the latest stays, whole, with its writes and values (SV-62)."
    )
    assert results["copy_thread"].failures[0] == (
        "copy_thread_copies_everything: with the sync methods, AssertionError: assert False "
        f"({line(Raising.copy_thread, 1)})\n"
        "All namespaces, with ids, parents, values, metadata and writes (SV-61)."
    )
    assert results["delete_for_runs"].failures[0] == (
        "delete_for_runs_removes_one_run: TypeError: 'int' object is not iterable "
        f"({line(Raising.delete_for_runs, 1)})\n"
        "Its checkpoints go, in all namespaces; those of other runs stay (SV-60)."
    )


def test_a_result_that_a_check_finds() -> None:
    """SV-70: what was expected, in the check's words, and the rule on a line of its own."""
    failure = next(
        failure for result in report_of(generous).results.values() for failure in result.failures
    )
    found = failure.partition(", found ")
    assert found[0] == "list_limit: none: expected []"
    assert failure.splitlines()[1] == (
        "`limit` gives the newest; more than there are is no mistake, and none is none (SV-10)."
    )


@asynccontextmanager
async def generous() -> AsyncIterator[Any]:
    yield Generous()


def test_a_decorator_without_a_name() -> None:
    anything: Any = checkpointer_test
    with pytest.raises(TypeError, match="needs a name"):
        anything(no_generator)


def test_what_is_not_registered() -> None:
    anything: Any = InMemorySaver
    with pytest.raises(TypeError, match="Put the decorator above"):
        asyncio.run(validate(anything))


def test_what_is_no_saver() -> None:
    @checkpointer_test(name="mine")
    async def mine() -> Any:
        yield {}

    with pytest.raises(TypeError, match="What 'mine' yields must be a BaseCheckpointSaver"):
        asyncio.run(validate(mine))
