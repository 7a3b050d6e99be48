"""The saver for async code: on which thread it works, and on which it refuses to."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import TypedDict

import minigraph.checkpoint.sqlite
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.aio import AT_ONCE, AsyncSqliteSaver
from minigraph.graph import END, START, StateGraph

CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def checkpoint(n: int) -> Any:
    return {"id": f"{n:05}", "channel_values": {"x": n}, "channel_versions": {"x": n}}


async def put(saver: AsyncSqliteSaver, n: int) -> Any:
    return await saver.aput(CONFIG, checkpoint(n), {"step": n}, {})


class Count(TypedDict):
    n: int


def counter(saver: Any) -> Any:
    async def more(state: Count) -> Count:
        return {"n": state["n"] + 1}

    builder = StateGraph(Count)
    builder.add_node("more", more)
    builder.add_edge(START, "more")
    builder.add_conditional_edges(
        "more", lambda state: "more" if state["n"] < 5 else END, ["more", END]
    )
    return builder.compile(checkpointer=saver)


def test_where_it_is() -> None:
    """SV-35: who looks in the wrong module is told the right one; other names are as anywhere."""
    with pytest.raises(ImportError) as caught:
        exec("from minigraph.checkpoint.sqlite import AsyncSqliteSaver")
    assert str(caught.value) == (
        "AsyncSqliteSaver is not in minigraph.checkpoint.sqlite, but in a module of its own: "
        "from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver"
    )
    assert not hasattr(minigraph.checkpoint.sqlite, "Cellar")
    with pytest.raises(ImportError, match="cannot import name 'Cellar'"):
        exec("from minigraph.checkpoint.sqlite import Cellar")


def test_a_graph(tmp_path: Path) -> None:
    """SV-35: runs, history and state; and the file is the same as the sync saver's."""
    path = str(tmp_path / "threads.db")

    async def main() -> list[Any]:
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            graph = counter(saver)
            assert await graph.ainvoke({"n": 0}, CONFIG) == {"n": 5}
            history = [state async for state in graph.aget_state_history(CONFIG)]
            assert (await graph.aget_state(CONFIG)) == history[0]
            return history

    history = asyncio.run(main())
    with SqliteSaver.from_conn_string(path) as saver:
        assert [*counter(saver).get_state_history(CONFIG)] == history
    assert [state.values for state in history] == [{"n": n} for n in (5, 4, 3, 2, 1, 0)] + [{}]


SYNC: dict[str, Callable[[AsyncSqliteSaver], object]] = {
    "get": lambda saver: saver.get(CONFIG),
    "get_tuple": lambda saver: saver.get_tuple(CONFIG),
    "list": lambda saver: [*saver.list(CONFIG)],
    "put": lambda saver: saver.put(CONFIG, checkpoint(1), {}, {}),
    "put_writes": lambda saver: saver.put_writes(
        {"configurable": {"thread_id": "t", "checkpoint_id": "1"}}, [("x", 1)], "task"
    ),
    "delete_thread": lambda saver: saver.delete_thread("t"),
    "delete_for_runs": lambda saver: saver.delete_for_runs(["r"]),
    "copy_thread": lambda saver: saver.copy_thread("t", "u"),
    "prune": lambda saver: saver.prune(["t"]),
}


@pytest.mark.parametrize("call", SYNC.values(), ids=SYNC)
def test_sync_methods(call: Callable[[AsyncSqliteSaver], object]) -> None:
    """SV-35: an error on the loop's own thread, not a hanging program; elsewhere they work."""

    async def main() -> None:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            with pytest.raises(asyncio.InvalidStateError, match="with an `a` in front"):
                call(saver)
            await asyncio.to_thread(call, saver)

            async def on_another_loop() -> None:
                call(saver)

            await asyncio.to_thread(lambda: asyncio.run(on_another_loop()))

    asyncio.run(main())


def test_async_methods_from_another_loop() -> None:
    """SV-35: the thread is the saver's, not the loop's."""

    async def main() -> None:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            await asyncio.to_thread(lambda: asyncio.run(put(saver, 1)))
            assert await saver.aget(CONFIG) == checkpoint(1)

    asyncio.run(main())


def test_the_loop_goes_on(tmp_path: Path) -> None:
    """SV-35: while the disk works, or another process has the file."""
    path = str(tmp_path / "threads.db")

    async def main() -> int:
        ticks = 0
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            await put(saver, 1)
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(put(saver, 2))
            for _ in range(20):
                await asyncio.sleep(0.005)
                ticks += 1
            assert not waiting.done()
            other.execute("COMMIT")
            other.close()
            await waiting
        return ticks

    assert asyncio.run(main()) == 20


def test_many_tasks_at_once() -> None:
    """SV-35: each of them is served, and nothing is lost."""

    async def main() -> int:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            await asyncio.gather(*(put(saver, n) for n in range(200)))
            return len([found async for found in saver.alist(CONFIG)])

    assert asyncio.run(main()) == 200


@pytest.mark.parametrize("count", [0, 1, AT_ONCE - 1, 2 * AT_ONCE, 2 * AT_ONCE + 1, 200])
def test_a_list_comes_in_portions(count: int) -> None:
    """SV-10: and is whole, and in order."""

    async def main() -> list[Any]:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            for n in range(count):
                await put(saver, n)
            limited = [found async for found in saver.alist(CONFIG, limit=5)]
            assert len(limited) == min(count, 5)
            return [found.metadata["step"] async for found in saver.alist(CONFIG)]

    assert asyncio.run(main()) == [*range(count - 1, -1, -1)]


def test_who_is_cancelled_does_not_wait(tmp_path: Path) -> None:
    """SV-35: the call ends at once; what the thread has begun it ends in its own time, before the
    connection is closed."""
    path = str(tmp_path / "threads.db")

    async def main() -> None:
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            await put(saver, 1)
            other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(put(saver, 2))
            await asyncio.sleep(0.02)
            waiting.cancel()
            before = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert time.monotonic() - before < 5
            other.execute("COMMIT")
            other.close()

    asyncio.run(main())
    with SqliteSaver.from_conn_string(path) as saver:
        assert [found.metadata["step"] for found in saver.list(CONFIG)] == [2, 1]


def test_everything_is_closed() -> None:
    """SV-31: the connection and the thread, when the block ends, by an error too."""
    kept: list[AsyncSqliteSaver] = []

    async def main() -> None:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            kept.append(saver)
            await saver.setup()
            assert saver.is_setup
            raise ZeroDivisionError

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(main())
    with pytest.raises(sqlite3.ProgrammingError):
        kept[0].conn.cursor()
    while threading.active_count() > before:
        time.sleep(0.001)


def test_closing_twice_is_fine() -> None:
    """SV-31: in the block and at its end, one after the other and at once."""

    async def main() -> None:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            await put(saver, 1)
            await saver.aclose()
            await saver.aclose()
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            await asyncio.gather(saver.aclose(), put(saver, 1), saver.aclose(),
                                 return_exceptions=True)  # fmt: skip

    asyncio.run(main())


ASYNC: dict[str, Callable[[AsyncSqliteSaver], Any]] = {
    "aget": lambda saver: saver.aget(CONFIG),
    "aget_tuple": lambda saver: saver.aget_tuple(CONFIG),
    "alist": lambda saver: anext(saver.alist(CONFIG)),
    "aput": lambda saver: put(saver, 1),
    "aput_writes": lambda saver: saver.aput_writes(
        {"configurable": {"thread_id": "t", "checkpoint_id": "1"}}, [("x", 1)], "task"
    ),
    "astore": lambda saver: saver.astore([]),
    "adelete_thread": lambda saver: saver.adelete_thread("t"),
    "adelete_for_runs": lambda saver: saver.adelete_for_runs(["r"]),
    "acopy_thread": lambda saver: saver.acopy_thread("t", "u"),
    "aprune": lambda saver: saver.aprune(["t"]),
    "setup": lambda saver: saver.setup(),
}


@pytest.mark.parametrize("call", ASYNC.values(), ids=ASYNC)
def test_use_after_closing(call: Callable[[AsyncSqliteSaver], Any], tmp_path: Path) -> None:
    """SV-31: the error is that of sync code, with the file and what to do."""
    path = str(tmp_path / "threads.db")

    async def main() -> str:
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            await put(saver, 1)
        with pytest.raises(sqlite3.ProgrammingError) as caught:
            await call(saver)
        return str(caught.value)

    told = asyncio.run(main())
    assert told == (
        f"SQLite database {path!r}: Cannot operate on a closed database. "
        "Use it inside of its with-block."
    )
    with SqliteSaver.from_conn_string(path) as saver:
        pass
    with pytest.raises(sqlite3.ProgrammingError) as caught:
        saver.get_tuple(CONFIG)
    assert str(caught.value) == told


def test_an_error_says_what_it_says_in_sync_code(tmp_path: Path) -> None:
    """SV-31."""

    async def main() -> None:
        path = str(tmp_path / "nowhere" / "threads.db")
        with pytest.raises(sqlite3.OperationalError, match=r"nowhere.*folder must exist"):
            async with AsyncSqliteSaver.from_conn_string(path):
                pass

    asyncio.run(main())


def test_not_a_connection_of_sqlite3() -> None:
    """SV-35: another package's connection is not needed, and not taken."""
    with pytest.raises(TypeError, match=r"needs a sqlite3\.Connection"):
        AsyncSqliteSaver(object())  # type: ignore[arg-type]
