"""What all tests share: the ways to call a graph.

A test that takes `way` runs once for each. So what it proves of `invoke` it proves of
`ainvoke`, too, and likewise for stream, batch, state, history and update.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from minigraph.checkpoint.base import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from minigraph.checkpoint.sqlite.database import connect


class Sync:
    """Calls a graph's methods, on threads."""

    name = "sync"
    is_async = False

    def invoke(self, graph: Any, input: Any, config: Any = None, **options: Any) -> Any:
        return graph.invoke(input, config, **options)

    def stream(self, graph: Any, input: Any, config: Any = None, **options: Any) -> list[Any]:
        return list(graph.stream(input, config, **options))

    def stream_into(
        self, chunks: list[Any], graph: Any, input: Any, config: Any = None, **options: Any
    ) -> None:
        """For a stream that raises: what came before that is in `chunks`."""
        chunks.extend(graph.stream(input, config, **options))

    def take(self, graph: Any, count: int, input: Any, config: Any, **options: Any) -> list[Any]:
        """The first `count` chunks of a stream that is then closed."""
        stream = graph.stream(input, config, **options)
        chunks = [next(stream) for _ in range(count)]
        stream.close()
        return chunks

    def batch(self, graph: Any, inputs: Any, config: Any = None, **options: Any) -> list[Any]:
        return graph.batch(inputs, config, **options)

    def state(self, graph: Any, config: Any, **options: Any) -> Any:
        return graph.get_state(config, **options)

    def history(self, graph: Any, config: Any, **options: Any) -> list[Any]:
        return list(graph.get_state_history(config, **options))

    def update(self, graph: Any, config: Any, *values: Any, **options: Any) -> Any:
        return graph.update_state(config, *values, **options)


class Async:
    """Calls their async twins, each on an event loop of its own."""

    name = "async"
    is_async = True

    def invoke(self, graph: Any, input: Any, config: Any = None, **options: Any) -> Any:
        return asyncio.run(graph.ainvoke(input, config, **options))

    def stream(self, graph: Any, input: Any, config: Any = None, **options: Any) -> list[Any]:
        chunks: list[Any] = []
        self.stream_into(chunks, graph, input, config, **options)
        return chunks

    def stream_into(
        self, chunks: list[Any], graph: Any, input: Any, config: Any = None, **options: Any
    ) -> None:
        async def collect() -> None:
            async for chunk in graph.astream(input, config, **options):
                chunks.append(chunk)

        asyncio.run(collect())

    def take(self, graph: Any, count: int, input: Any, config: Any, **options: Any) -> list[Any]:
        async def collect() -> list[Any]:
            stream = graph.astream(input, config, **options)
            chunks = [await anext(stream) for _ in range(count)]
            await stream.aclose()
            return chunks

        return asyncio.run(collect())

    def batch(self, graph: Any, inputs: Any, config: Any = None, **options: Any) -> list[Any]:
        return asyncio.run(graph.abatch(inputs, config, **options))

    def state(self, graph: Any, config: Any, **options: Any) -> Any:
        return asyncio.run(graph.aget_state(config, **options))

    def history(self, graph: Any, config: Any, **options: Any) -> list[Any]:
        async def collect() -> list[Any]:
            return [state async for state in graph.aget_state_history(config, **options)]

        return asyncio.run(collect())

    def update(self, graph: Any, config: Any, *values: Any, **options: Any) -> Any:
        return asyncio.run(graph.aupdate_state(config, *values, **options))


@pytest.fixture(params=[Sync, Async], ids=["sync", "async"])
def way(request: pytest.FixtureRequest) -> Any:
    """One of the two ways to call a graph."""
    return request.param()


@pytest.fixture(
    params=[(Sync, False), (Async, False), (Async, True)],
    ids=["sync", "async with sync nodes", "async with async nodes"],
)
def way_and_nodes(request: pytest.FixtureRequest) -> Any:
    """A way to call a graph, and whether its nodes are to be async."""
    way, async_nodes = request.param
    return way(), async_nodes


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest) -> Iterator[BaseCheckpointSaver[Any]]:
    """A saver of each kind, for both ways."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    kept = AsyncSqliteSaver(connect(":memory:"))
    yield kept
    asyncio.run(kept.aclose())


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C is heard, even where these tests are a background job, whose shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def without_langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a program that has not imported langchain-core, where messages are dicts."""
    monkeypatch.delitem(sys.modules, "langchain_core.messages", raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """An example in a docstring is such a program, whatever other tests have imported."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.runtest = alone(item.runtest)  # type: ignore[method-assign]


def alone(run: Callable[[], None]) -> Callable[[], None]:
    def runtest() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.delitem(sys.modules, "langchain_core.messages", raising=False)
            run()

    return runtest
