"""The saver, fixed where the checks can get at it.

A check wants to say "put this value, then that one on top of it". What a saver wants to hear is
checkpoints with ids and versions. The `Bench` translates: it makes checkpoints as the runtime
does, with a new version for every channel that has changed, and knows which it has made.

It calls the async methods. Where a saver has written only the sync one, it calls that, on a
worker thread, which is also where a graph would call it. A saver that has both is put on two
benches, one after the other: the second calls the sync methods, where there are any.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Sequence,
)
from inspect import isawaitable, iscoroutine
from typing import Any, TypeAlias
from uuid import uuid4

from minigraph.checkpoint.base.id import uuid6_text
from minigraph.checkpoint.base.records import ChannelVersions, Checkpoint, CheckpointTuple
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.checkpoint.conformance.capabilities import Capability, is_there, is_written
from minigraph.types import RunnableConfig

__all__ = ["Bench", "Check", "address", "expect", "id_of", "misshapen"]


def expect(what: str, found: object, expected: object) -> None:
    """Fail the check unless both are equal. No `assert`: that one is silent under ``python -O``.

    >>> expect("the value", 1, 2)
    Traceback (most recent call last):
    AssertionError: the value: expected 2, found 1
    """
    if found != expected:
        raise AssertionError(f"{what}: expected {expected!r}, found {found!r}")


def address(thread: str, namespace: str = "", id: str | None = None) -> RunnableConfig:
    """The config of a checkpoint, or of the latest.

    >>> address("1")
    {'configurable': {'thread_id': '1', 'checkpoint_ns': ''}}
    """
    configurable = {"thread_id": thread, "checkpoint_ns": namespace}
    return {"configurable": configurable | ({"checkpoint_id": id} if id else {})}


def id_of(config: RunnableConfig | None) -> str | None:
    """The checkpoint that a config names."""
    return config["configurable"]["checkpoint_id"] if config else None


class Bench:
    """A saver, and the words in which the checks speak to it.

    Args:
        saver: the one to be checked.
        prefers_sync: whether a sync method is called where there is an async one, too.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], *, prefers_sync: bool = False) -> None:
        self.saver = saver
        self.prefers_sync = prefers_sync
        self.made: dict[str, Checkpoint] = {}

    def is_async(self, method: str) -> bool:
        """Whether it is the async twin of a method that is called here."""
        if self.prefers_sync:
            return not is_there(self.saver, method)
        return is_there(self.saver, f"a{method}") or not is_there(self.saver, method)

    async def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the saver, or its async twin."""
        if self.is_async(method):
            return await getattr(self.saver, f"a{method}")(*args, **kwargs)
        return await asyncio.to_thread(getattr(self.saver, method), *args, **kwargs)

    async def is_offered(self) -> bool:
        """Whether the methods that are called here are there: some only say to use the others."""
        try:
            await self.call("get_tuple", address(self.thread()))
        except NotImplementedError:
            return False
        except Exception:
            return True  # and a check will tell
        return True

    def thread(self) -> str:
        """The name of a thread that nobody has used, so that no check sees another's."""
        return f"thread-{uuid4()}"

    def checkpoint(
        self, values: dict[str, Any], parent: RunnableConfig | None = None
    ) -> tuple[Checkpoint, ChannelVersions]:
        """A checkpoint of these values, and the versions of the channels that are new in it."""
        before = self.made.get(id_of(parent) or "")
        old_values = before["channel_values"] if before else {}
        old_versions: ChannelVersions = before["channel_versions"] if before else {}
        highest: Any = max(old_versions.values(), default=None)
        version = self.saver.get_next_version(highest, None)
        nothing = object()
        new = {
            channel: version
            for channel in [*old_values, *(c for c in values if c not in old_values)]
            if old_values.get(channel, nothing) != values.get(channel, nothing)
        }
        made = Checkpoint(
            v=4,
            id=uuid6_text(clock_seq=0),
            ts="2026-01-01T00:00:00+00:00",
            channel_values=dict(values),
            channel_versions={**old_versions, **new},
            versions_seen={"node": dict(old_versions)},
            updated_channels=sorted(new),
        )
        self.made[made["id"]] = made
        return made, new

    async def put(
        self,
        thread: str,
        values: dict[str, Any] | None = None,
        parent: RunnableConfig | None = None,
        *,
        namespace: str = "",
        **metadata: Any,
    ) -> RunnableConfig:
        """Store a checkpoint of these values, on top of another one; its address."""
        checkpoint, new = self.checkpoint(values or {}, parent)
        config = address(thread, namespace, id_of(parent))
        stored = {"source": "loop", "step": 0, "parents": {}, **metadata}
        found: RunnableConfig = await self.call("put", config, checkpoint, stored, new)
        return found

    async def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task: str, path: str = ""
    ) -> None:
        """Store what a task wrote. A path that is empty is not mentioned."""
        await self.call("put_writes", config, writes, task, *([path] if path else []))

    async def get(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The tuple that is there, or ``None``."""
        found: CheckpointTuple | None = await self.call("get_tuple", config)
        return found

    async def there(self, config: RunnableConfig) -> CheckpointTuple:
        """The tuple that must be there."""
        found = await self.get(config)
        if found is None:
            raise AssertionError(f"get_tuple({config!r}) found nothing")
        return found

    async def values(self, config: RunnableConfig) -> dict[str, Any] | None:
        """The values of a checkpoint, or ``None`` if it is not there."""
        found = await self.get(config)
        return found.checkpoint["channel_values"] if found else None

    async def writes(self, config: RunnableConfig) -> list[tuple[Any, ...]]:
        """The pending writes of a checkpoint. Some serializers make lists of tuples."""
        return [tuple(write) for write in (await self.there(config)).pending_writes or []]

    async def listing(
        self, config: RunnableConfig | None, **options: Any
    ) -> AsyncIterator[CheckpointTuple]:
        """What the saver's `list` gives, one by one."""
        if self.is_async("list"):
            async for found in self.saver.alist(config, **options):
                yield found
        else:
            left = await asyncio.to_thread(lambda: iter(self.saver.list(config, **options)))
            while (each := await asyncio.to_thread(next, left, None)) is not None:
                yield each

    async def listed(self, config: RunnableConfig | None, **options: Any) -> list[CheckpointTuple]:
        """All that the saver's `list` gives."""
        return [found async for found in self.listing(config, **options)]

    async def ids(self, config: RunnableConfig | None, **options: Any) -> list[str]:
        """The ids of what `list` gives."""
        return [found.checkpoint["id"] for found in await self.listed(config, **options)]


Check: TypeAlias = Callable[[Bench], Awaitable[None]]
"""Asks one question. Its docstring says which; an exception is the answer no."""


async def misshapen(
    saver: BaseCheckpointSaver[Any], capabilities: Collection[Capability]
) -> dict[str, str]:
    """Capability → why no call of its methods can be right, because of how one is written.

    Each method is called once; what it raises does not matter here. This is asked before all
    checks, most of which would fail for this one reason.
    """
    bench = Bench(saver)
    thread, nobody = bench.thread(), bench.thread()
    try:
        checkpoint, new = bench.checkpoint({"x": 1})
    except Exception:
        return {}
    arguments: dict[Capability, tuple[Any, ...]] = {
        Capability.PUT: (address(thread), checkpoint, {"step": 0}, new),
        Capability.PUT_WRITES: (address(thread, "", checkpoint["id"]), [("x", 1)], "t"),
        Capability.GET_TUPLE: (address(thread),),
        Capability.LIST: (address(thread),),
        Capability.DELETE_THREAD: (thread,),
        Capability.DELETE_FOR_RUNS: ([nobody],),
        Capability.COPY_THREAD: (nobody, nobody),
        Capability.PRUNE: ([nobody],),
        Capability.GET_DELTA_CHANNEL_HISTORY: (),
    }
    by_name = {Capability.GET_DELTA_CHANNEL_HISTORY: {"config": address(nobody), "channels": ["x"]}}
    found: dict[str, str] = {}
    for capability, given in arguments.items():
        for method in (capability.value, f"a{capability.value}"):
            if capability in capabilities and is_written(saver, method):
                problem = await misfit(saver, method, given, by_name.get(capability, {}))
                if problem is not None:
                    found[capability.value] = problem
    return found


async def misfit(
    saver: Any, method: str, given: tuple[Any, ...], by_name: dict[str, Any]
) -> str | None:
    """What is wrong with the kind of thing that a call of this method gives."""
    is_sync = not method.startswith("a")
    try:
        called = getattr(saver, method)
        if is_sync:
            result = await asyncio.to_thread(called, *given, **by_name)
        else:
            result = called(*given, **by_name)
        if isawaitable(result) and not is_sync and method != "alist":
            await result
    except Exception:
        return None
    if method == "list":
        fits, remedy = isinstance(result, Iterable), "make list a generator, or name it alist"
    elif method == "alist":
        fits = isinstance(result, AsyncIterable)
        remedy = "make alist an async generator: `async def`, with `yield` in it"
    elif is_sync:
        fits = not isinstance(result, (Awaitable, AsyncIterable))
        remedy = f"{method} must not be async; name it a{method}"
    else:
        fits, remedy = isinstance(result, Awaitable), f"{method} must be async def"
    if iscoroutine(result):
        result.close()
    return None if fits else f"{remedy}. What a call of it gives is {type(result).__name__!r}."
