"""The reference's own suite for savers, run on ours.

It is for subclasses of the reference's base class, and tells by the methods that a class
overrides what it can do. So each saver is put behind a small class that passes calls on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver as TheirBase
from langgraph.checkpoint.conformance import checkpointer_test, validate

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver

NUMBER_OF_CHECKS = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}


class Adapter(TheirBase):  # type: ignore[type-arg]
    """One of our savers, for those who know only the reference's."""

    def __init__(self, saver: Any) -> None:
        super().__init__()
        self.saver = saver

    async def aget_tuple(self, *args: Any, **kwargs: Any) -> Any:
        return await self.call("get_tuple", *args, **kwargs)

    async def alist(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        if type(self.saver) is SqliteSaver:
            for found in self.saver.list(*args, **kwargs):
                yield found
        else:
            async for found in self.saver.alist(*args, **kwargs):
                yield found

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        return await self.call("put", *args, **kwargs)

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        await self.call("put_writes", *args, **kwargs)

    async def adelete_thread(self, *args: Any, **kwargs: Any) -> None:
        await self.call("delete_thread", *args, **kwargs)

    async def adelete_for_runs(self, *args: Any, **kwargs: Any) -> None:
        await self.call("delete_for_runs", *args, **kwargs)

    async def acopy_thread(self, *args: Any, **kwargs: Any) -> None:
        await self.call("copy_thread", *args, **kwargs)

    async def aprune(self, *args: Any, **kwargs: Any) -> None:
        await self.call("prune", *args, **kwargs)

    async def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        if type(self.saver) is SqliteSaver:
            return getattr(self.saver, method)(*args, **kwargs)
        return await getattr(self.saver, f"a{method}")(*args, **kwargs)


class AsAsync:
    """An ordinary with-block as an async one."""

    def __init__(self, block: Any) -> None:
        self.block = block

    async def __aenter__(self) -> Any:
        return self.block.__enter__()

    async def __aexit__(self, *error: Any) -> Any:
        return self.block.__exit__(*error)


SAVERS: dict[str, Callable[[], AbstractAsyncContextManager[Any]]] = {
    "memory": lambda: AsAsync(nullcontext(InMemorySaver())),
    "sqlite": lambda: AsAsync(SqliteSaver.from_conn_string(":memory:")),
    "async sqlite": lambda: AsyncSqliteSaver.from_conn_string(":memory:"),
}


@pytest.mark.parametrize("name", SAVERS)
def test_conformance(name: str) -> None:
    """SV-70, SV-71, SV-72: all 81 checks of all eight capabilities."""

    @checkpointer_test(name=name)
    async def registered() -> AsyncIterator[Adapter]:
        async with SAVERS[name]() as saver:
            yield Adapter(saver)

    report = asyncio.run(validate(registered))
    failures = [failure for each in report.results.values() for failure in each.failures]
    assert failures == []
    assert {
        capability: each.tests_passed for capability, each in report.results.items()
    } == NUMBER_OF_CHECKS
    assert sum(NUMBER_OF_CHECKS.values()) == 81
    assert report.conformance_level() == "FULL"
