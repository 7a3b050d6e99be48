"""Our own checks for savers: ours pass them, a saver in a directory too; broken ones do not."""

from __future__ import annotations

import asyncio
import importlib.util
import operator
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.base import BaseCheckpointSaver
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

    assert len(checks) == len(set(checks)) == 77
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
        self.storage.pop(thread_id, None)

    async def adelete_for_runs(self, run_ids: Any) -> None:
        for thread in self.storage.values():
            for id, row in [*thread[""].items()]:
                if self.serde.loads_typed(row[1]).get("run_id") in run_ids:
                    thread[""].pop(id)


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
    ],
)
def test_savers_that_are_not_right(broken: type[InMemorySaver], caught: set[str]) -> None:
    """SV-70, SV-09, SV-08: what is wrong is named, and nothing else."""
    assert failures_of(broken()) == caught


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
    checked = ["open", ("copy_thread", True), *[True] * 5, "close", "copy_thread"]
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
