"""The same saver for async code: on a thread of its own.

SQLite has no asynchronous interface; a call returns when the disk has answered. So each
call of an async method is made by a thread that has nothing else to do, one after the
other, and the event loop goes on meanwhile:

    event loop   ── await aput(…) ──▶ …other tasks… ──▶ returned
    thread                └──▶ put(…) ── disk ──▶ ┘

What is done there is written in `saver`, and nothing is repeated here.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from itertools import islice
from typing import Any, Final, ParamSpec, Self, TypeVar

from minigraph.checkpoint.base.history import NOTHING_KNOWN, DeltaChannelHistory, Values
from minigraph.checkpoint.base.records import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from minigraph.checkpoint.serde.base import SerializerProtocol, UntypedSerializerProtocol
from minigraph.checkpoint.sqlite.database import connect, explained
from minigraph.checkpoint.sqlite.saver import Prepared, SqliteSaver
from minigraph.types import RunnableConfig

__all__ = ["AsyncSqliteSaver"]

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE: Final = 32
"""How many tuples of a list are fetched for one trip to the thread and back."""


class AsyncSqliteSaver(SqliteSaver):
    """Keeps threads in a SQLite database, for ``ainvoke`` and its relatives (SV-35).

    Args:
        conn: a connection of the module `sqlite3`, as for `SqliteSaver`; no other package is
            needed. `from_conn_string` makes one.
        serde: how values become bytes, as for `SqliteSaver`.

    The async methods may be called from any event loop. The sync methods are there too, for
    other threads: on the thread of the event loop in which the saver was made they raise
    `asyncio.InvalidStateError`, since everything on that loop would have to wait for the disk.

    >>> async def main():
    ...     async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
    ...         config = {"configurable": {"thread_id": "a", "checkpoint_ns": ""}}
    ...         checkpoint = {"v": 4, "id": "1", "ts": "", "channel_values": {"x": [1]},
    ...             "channel_versions": {"x": 1}, "versions_seen": {}, "updated_channels": None}
    ...         await saver.aput(config, checkpoint, {"step": -1}, {"x": 1})
    ...         return (await saver.aget(config))["channel_values"]
    >>> asyncio.run(main())
    {'x': [1]}
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        *,
        serde: SerializerProtocol | UntypedSerializerProtocol | None = None,
    ) -> None:
        super().__init__(conn, serde=serde)
        self.loop: asyncio.AbstractEventLoop | None = _running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="minigraph-sqlite")
        self._is_closed = False

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str) -> AsyncIterator[Self]:  # type: ignore[override]  # async here
        """A saver on a file, for an ``async with`` block; the connection is closed at its end.

        Args:
            conn_string: the path. It is made if it is not there. ``":memory:"`` for none.
        """
        saver = cls(connect(conn_string))
        try:
            yield saver
        finally:
            await saver.aclose()

    async def aclose(self) -> None:
        """Close the connection, when everything that was begun is done. The ``async with`` block
        of `from_conn_string` does it, too; a second time is fine."""
        if not self._is_closed:
            await self._there(self.database.close)
            self._is_closed = True
            self._thread.shutdown(wait=False)

    async def setup(self) -> None:  # type: ignore[override]  # async here, as in the reference
        """Make the tables, or bring them up to date. Need not be called: everything else does."""
        await self._there(self.database.set_up)

    def cursor(self, transaction: bool = True) -> AbstractContextManager[sqlite3.Cursor]:
        """As `SqliteSaver.cursor`. All sync methods come through here."""
        if self.loop is not None and _running_loop() is self.loop:
            raise asyncio.InvalidStateError(
                "A sync method of an AsyncSqliteSaver was called on the thread of its event loop, "
                "where everything else would have to wait for it. Await the method of the same "
                "name with an `a` in front; for a graph, call ainvoke, aget_state and so on."
            )
        return super().cursor(transaction)

    async def _there(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a sync method, on this saver's thread."""
        if self._is_closed:
            error = sqlite3.ProgrammingError("Cannot operate on a closed database.")
            raise explained(error, self.database.file)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: method(*args, **kwargs))

    # ------------------------------------------------------------ the async twins

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._there(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `SqliteSaver.list`. Several tuples are fetched at once; what is put or deleted while
        these are read is not seen in them."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        at_once = 1  # who only wants the first does not wait for more
        while some := await self._there(take, found, at_once):
            for each in some:
                yield each
            at_once = min(at_once * 2, AT_ONCE)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self._there(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        await self._there(self.put_writes, config, writes, task_id, task_path)

    async def astore(self, prepared: Sequence[Prepared]) -> None:
        """`store` on this saver's thread: the second half of `aput` and `aput_writes`."""
        await self._there(self.store, prepared)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._there(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._there(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._there(self.copy_thread, source_thread_id, target_thread_id)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str], known: Values = NOTHING_KNOWN
    ) -> dict[str, DeltaChannelHistory]:
        find = self.get_delta_channel_history
        return await self._there(find, config=config, channels=channels, known=known)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self._there(self.prune, thread_ids, strategy=strategy)


def take(found: Iterator[T], count: int) -> list[T]:
    """The next `count` of them."""
    return [*islice(found, count)]


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
