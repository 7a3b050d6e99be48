"""Our own checks for savers: ours pass them, a saver in a directory too; broken ones do not."""

from __future__ import annotations

import asyncio
import importlib.util
import operator
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from random import random
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest

from minigraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver
from minigraph.checkpoint.conformance import checkpointer_test, validate
from minigraph.checkpoint.conformance.capabilities import BASE_CAPABILITIES, Capability
from minigraph.checkpoint.conformance.report import (
    CapabilityReport,
    CapabilityResult,
    ProgressCallbacks,
)
from minigraph.checkpoint.conformance.suite import CHECKS
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from minigraph.graph import END, START, StateGraph
from minigraph.types import Send

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "directory_saver.py"


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


@asynccontextmanager
async def in_a_directory(path: Path) -> AsyncIterator[Any]:
    yield DirectorySaver(path)


SAVERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Any]]] = {
    "memory": in_memory,
    "sqlite": in_sqlite,
    "async sqlite": lambda path: AsyncSqliteSaver.from_conn_string(str(path / "threads.db")),
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
    """SV-70, SV-71: every check passes; what the example does not write is skipped."""
    report = report_of(lambda: SAVERS[name](tmp_path))

    assert [failure for each in report.results.values() for failure in each.failures] == []
    asked = [each for each in Capability if name != "directory" or each in BASE_CAPABILITIES]
    ran = {name: each.tests_passed for name, each in report.results.items() if each.detected}
    assert ran == {each.value: len(CHECKS[each]) for each in asked}
    assert report.passed_all()
    assert report.passed_all_base()
    assert report.conformance_level() == "FULL"


def test_how_many_checks_there_are() -> None:
    """Each stands in the table once, and says what it proves."""
    checks = [check for group in CHECKS.values() for check in group]

    assert len(checks) == len(set(checks)) == 88
    assert all(check.__doc__ for check in checks)
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
        self.values: dict[str, Any] = {}

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.values[checkpoint["id"]] = checkpoint["channel_values"]
        return self.put(config, checkpoint, metadata, new_versions)

    async def aget_tuple(self, config: Any) -> Any:
        found = self.get_tuple(config)
        if found is not None:
            found.checkpoint["channel_values"] = self.values[found.checkpoint["id"]]
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
            },
        ),
        (Unordered, {"put_writes_keeps_the_order"}),
        (Sharing, {"put_shares_nothing"}),
        (Careless, {"list_filters_by_hostile_keys", "list_counts_after_filtering"}),
        (Racing, {"put_works_in_parallel"}),
        (
            Leaky,
            {
                "delete_thread_removes_writes",
                "delete_for_runs_removes_one_run",
                "delete_for_runs_removes_several_runs",
                "delete_for_runs_removes_writes",
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
    ],
)
def test_savers_that_are_not_right(broken: type[InMemorySaver], caught: set[str]) -> None:
    """SV-70, SV-09, SV-08: what is wrong is named, and nothing else."""
    assert failures_of(broken()) == caught


def test_sync_methods_are_tried_too() -> None:
    """SV-71: where a class has both; what is wrong with one is said to be wrong with that one."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield HalfDone()

    report = report_of(opened)
    result = report.results["put_writes"]
    names = [failure.partition(": ") for failure in result.failures]
    assert all(why.startswith("with the sync methods, ") for _, _, why in names)
    passed = {"put_writes_takes_an_empty_list"}
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
    checked = ["open", ("copy_thread", True), *[True] * 7, "close", "copy_thread"]
    skipped[6] = checked
    assert told == ["begin", *(entry for each in skipped for entry in each), "end"]
    assert [name for name, each in report.results.items() if each.passed] == ["copy_thread"]


def test_unknown_capabilities() -> None:
    with pytest.raises(ValueError, match="nothing"):
        checkpointer_test(name="m", skip_capabilities={"nothing"})
    with pytest.raises(ValueError, match="nothing"):
        report_of(lambda: in_memory(Path()), capabilities={"nothing"})


@pytest.mark.parametrize(
    ("base", "extended", "level", "all_base", "everything"),
    [
        ([True] * 5, [True] * 3, "FULL", True, True),
        ([True] * 5, [None] * 3, "FULL", True, True),
        ([True] * 5, [True, True, False], "BASE+PARTIAL", True, False),
        ([True] * 4 + [False], [True] * 3, "BASE", False, False),
        ([True] * 4 + [None], [True] * 3, "FULL", False, True),
        ([False] * 5, [True] * 3, "NONE", False, False),
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
    """SV-70: a line for each capability, and what is wrong."""
    CapabilityReport(
        "mine",
        {
            "put": CapabilityResult(True, True, 17),
            "list": CapabilityResult(True, False, 16, 1, 0, ["list_limit: two should be …"]),
        },
    ).print_report()

    assert capsys.readouterr().out == (
        "Saver: mine\n\n"
        "  What a saver must do\n"
        "    ✓ put              17 of 17\n"
        "    – put_writes       not asked, or not there\n"
        "    – get_tuple        not asked, or not there\n"
        "    ✗ list             16 of 17\n"
        "        list_limit: two should be …\n"
        "    – delete_thread    not asked, or not there\n\n"
        "  What a saver may do\n"
        "    – delete_for_runs  not asked, or not there\n"
        "    – copy_thread      not asked, or not there\n"
        "    – prune            not asked, or not there\n\n"
        "  Level: BASE\n"
    )


def test_progress_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """SV-70: dots, or lines."""

    def run(progress: ProgressCallbacks) -> None:
        report_of(lambda: in_memory(Path()), capabilities={"prune"}, progress=progress)

    run(ProgressCallbacks.default())
    assert capsys.readouterr().out.endswith("  copy_thread: skipped\n  prune: ......\n")
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


async def no_generator() -> Any:
    return InMemorySaver()


def sync_generator() -> Any:
    yield InMemorySaver()


@pytest.mark.parametrize("factory", [no_generator, sync_generator, InMemorySaver()])
def test_a_function_of_another_kind(factory: Any) -> None:
    with pytest.raises(TypeError, match="'mine' must be an async generator function"):
        checkpointer_test(name="mine")(factory)


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
