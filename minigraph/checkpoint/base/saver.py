"""What every saver must offer.

A saver is a table of checkpoints and a table of writes. It is addressed by config, and
it answers with config:

    configurable: thread_id        which thread
                  checkpoint_ns    which graph inside it: "" is the root, "node:task" a nested one
                  checkpoint_id    which checkpoint; left out: the latest

                        ┌───────────────┐
    put(checkpoint) ──▶ │  checkpoints  │ ──▶ get_tuple(config)    one, by id or the latest
    put_writes(…)   ──▶ │  writes       │ ──▶ list(config, …)      many, newest first
                        └───────────────┘ ◀── delete_thread(id)

To write one, subclass `BaseCheckpointSaver` and give it those five methods, or their
``a…`` twins if your store is asynchronous, or both. Everything that goes into the store
goes through ``self.serde``, so that nobody shares a mutable value with it.

A store that is slow to answer can offer its writing in two halves: `prepare_put` and
`prepare_put_writes`, which take what `put` and `put_writes` take and return anything that shares no
value with it, and `store` (for async runs `astore`), which takes a list of these and stores them in
that order, at once. Then what belongs together is stored together.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from copy import copy
from typing import Any, Generic, NoReturn, Self, TypeVar, cast

from minigraph.checkpoint.base.history import NOTHING_KNOWN, DeltaChannelHistory, Values, walk
from minigraph.checkpoint.base.records import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from minigraph.checkpoint.serde.base import (
    SerializerProtocol,
    UntypedSerializerProtocol,
    maybe_add_typed_methods,
)
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.types import RunnableConfig

__all__ = ["BaseCheckpointSaver"]

Version = TypeVar("Version", int, float, str)


class BaseCheckpointSaver(Generic[Version]):
    """The contract of a saver. Subclass it to keep threads in a store of your own (SV-01).

    Args:
        serde: how values become bytes. By default a `JsonPlusSerializer` that stores and builds
            only types that are known to be safe, and those that a graph's state names.

    The type parameter is the type of the channel versions that `get_next_version` makes:
    ``int`` unless it is overridden.

    >>> BaseCheckpointSaver().get_tuple({"configurable": {"thread_id": "1"}})
    Traceback (most recent call last):
    NotImplementedError: BaseCheckpointSaver has no get_tuple(): it is for the subclass to write.
    """

    stores_at_once: bool = False
    """Whether `put` and `put_writes` take no time worth mentioning. Then they are called as soon
    as there is something to store, also where that could be done in the background. It speaks of
    the methods of its own class; a subclass with other ones says it anew."""

    # Of the class too, for subclasses that do not call this __init__.
    serde: SerializerProtocol = JsonPlusSerializer(allowed_msgpack_modules=())

    def __init__(
        self, *, serde: SerializerProtocol | UntypedSerializerProtocol | None = None
    ) -> None:
        if serde is not None:
            self.serde = maybe_add_typed_methods(serde)

    def with_allowlist(self, extra_allowlist: Iterable[tuple[str, str] | type]) -> Self:
        """A copy on the same store, whose serializer allows these types as well (SD-25).

        Args:
            extra_allowlist: classes, or pairs of module and class name. A graph gives those that
                its schemas name (SD-26).

        Where the serializer allows all types, or knows no list, it is this saver itself.
        """
        widen = getattr(self.serde, "with_msgpack_allowlist", None)
        wider = self.serde if widen is None else widen(extra_allowlist)
        if wider is self.serde:
            return self
        saver = copy(self)
        saver.serde = wider
        return saver

    def _missing(self, method: str) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__} has no {method}(): it is for the subclass to write."
        )

    # ------------------------------------------------------------------ reading

    def get(self, config: RunnableConfig) -> Checkpoint | None:
        """The checkpoint of `get_tuple`, without what hangs on it."""
        found = self.get_tuple(config)
        return found.checkpoint if found else None

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or the latest of its thread and namespace.

        Args:
            config: needs ``thread_id``; ``checkpoint_ns`` is ``""`` if left out.

        ``None`` if there is none. Asked for by id, the tuple's ``config`` is the one given;
        otherwise it is the full address (SV-05). The latest is the one with the greatest id,
        in whatever order they were stored (SV-04).
        """
        self._missing("get_tuple")

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints with their pending writes, newest first (SV-10).

        Args:
            config: the thread; without ``checkpoint_ns``, all its namespaces; with a
                ``checkpoint_id``, only that one. ``None``: everything there is.
            filter: metadata that must be equal, key by key. A value of ``None`` also matches
                a checkpoint that has no such key (SV-11).
            before: only checkpoints with a smaller id than this config's.
            limit: at most so many, counted after filtering.
        """
        self._missing("list")

    # ------------------------------------------------------------------ writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; one of the same id is replaced (SV-03, SV-04).

        Args:
            config: ``thread_id`` and ``checkpoint_ns`` say where, and both are needed
                (`KeyError`); its ``checkpoint_id``, if any, is the parent's.
            checkpoint: what to store, under its own id.
            metadata: stored as `get_checkpoint_metadata` makes it from `config` (SV-06).
            new_versions: the channels that changed since the parent, and their versions. A
                saver may store only the values of these and take the others from where
                they are stored already.

        Returns the address of what was stored: a config with exactly ``thread_id``,
        ``checkpoint_ns`` and ``checkpoint_id``.
        """
        self._missing("put")

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote, with the checkpoint that its super-step started from.

        Args:
            config: the full address of that checkpoint, which may be stored later (SV-07).
            writes: (channel, value) pairs.
            task_id: the task.
            task_path: where the task stands; it orders the writes (SV-09).

        Calling it again changes nothing: an ordinary write keeps what was stored first for
        its task and position; a write to a channel of `WRITES_IDX_MAP` replaces (SV-08).
        """
        self._missing("put_writes")

    def delete_thread(self, thread_id: str) -> None:
        """Remove everything of a thread, in all namespaces; an unknown one is fine (SV-12)."""
        self._missing("delete_thread")

    # ---------------------------------------------------- what a saver may offer

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints that these runs made, with their writes (SV-60).

        Args:
            run_ids: as they stand in the metadata's ``run_id`` (CP-14), in whatever thread and
                namespace. Unknown ones are fine.

        A checkpoint stays if a later one cannot be read without it (SV-63). Optional, as are
        the next two: a saver that does not write it raises `NotImplementedError`.
        """
        self._missing("delete_for_runs")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread, with their writes, to another one (SV-61).

        Args:
            source_thread_id: the thread. It stays as it is; an unknown one is fine.
            target_thread_id: where its copy goes. What is there already stays, except
                checkpoints of the same id, which are replaced, and with them their writes.
        """
        self._missing("copy_thread")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove what is old (SV-62).

        Args:
            thread_ids: the threads. Unknown ones are fine.
            strategy: ``"keep_latest"`` keeps the latest checkpoint of each namespace, with its
                writes, and those without which it cannot be read (SV-63). It still names its
                parent, which is no longer there. ``"delete"`` keeps nothing.

        Raises `ValueError` for another strategy.
        """
        self._missing("prune")

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str], known: Values = NOTHING_KNOWN
    ) -> dict[str, DeltaChannelHistory]:
        """What is stored of channels on the way to a checkpoint; see `DeltaChannelHistory` (DC-03).

        Args:
            config: the checkpoint, or the latest of its thread and namespace.
            channels: the channels to look for. One that nobody has written has no writes.
            known: values that the caller knows, as checkpoint id → channel → value. On an ancestor
                they count as what is stored there. A saver that writes this method anew may do
                without this parameter.

        This one fetches one ancestor after the other with `get_tuple`, which is right for every
        saver, and slow for a store that is far away; such a saver writes it anew. Raises
        `UnreadableError` if the checkpoint that is named, or an ancestor, is not there.
        """
        walking = walk(config, channels, known)
        try:
            wanted = next(walking)
            while True:
                wanted = walking.send(self.get_tuple(wanted))
        except StopIteration as end:
            return cast(dict[str, DeltaChannelHistory], end.value)

    @property
    def config_specs(self) -> Sequence[Any]:
        """What else a config may say to this saver: nothing. Frameworks around a graph ask."""
        return []

    def get_next_version(self, current: Version | None, channel: None) -> Version:
        """The version that follows `current`, the greatest in use; 1 for the first (CP-05).

        Args:
            current: the greatest version of any channel, or ``None``.
            channel: always ``None``; it is there for savers written long ago.

        A subclass may choose another type, as long as a later version compares as greater.
        """
        if isinstance(current, str):
            self._missing("get_next_version for text versions")
        # For a saver with text versions this line is wrong, and that saver overrides it.
        return 1 if current is None else current + 1  # type: ignore[return-value]

    # ------------------------------------------------------------ the async twins

    async def aget(self, config: RunnableConfig) -> Checkpoint | None:
        """`get`, for an asynchronous store."""
        found = await self.aget_tuple(config)
        return found.checkpoint if found else None

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple`, for an asynchronous store."""
        self._missing("aget_tuple")

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list`, for an asynchronous store: an asynchronous generator."""
        self._missing("alist")
        yield  # makes this a generator, so that `async for` meets the error

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`put`, for an asynchronous store."""
        self._missing("aput")

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """`put_writes`, for an asynchronous store."""
        self._missing("aput_writes")

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread`, for an asynchronous store."""
        self._missing("adelete_thread")

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`delete_for_runs`, for an asynchronous store."""
        self._missing("adelete_for_runs")

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`copy_thread`, for an asynchronous store."""
        self._missing("acopy_thread")

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`prune`, for an asynchronous store."""
        self._missing("aprune")

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str], known: Values = NOTHING_KNOWN
    ) -> dict[str, DeltaChannelHistory]:
        """`get_delta_channel_history`, for an asynchronous store."""
        walking = walk(config, channels, known)
        try:
            wanted = next(walking)
            while True:
                wanted = walking.send(await self.aget_tuple(wanted))
        except StopIteration as end:
            return cast(dict[str, DeltaChannelHistory], end.value)


# --------------------------------------------------------- checks for those who write one


def several(ids: Sequence[str], argument: str) -> list[str]:
    """Several ids, as text. One alone is a mistake: a text is a sequence too, of letters.

    >>> several(["a", 5], "thread_ids")
    ['a', '5']
    >>> several("abc", "thread_ids")
    Traceback (most recent call last):
    TypeError: thread_ids must be a list of ids, but it is 'abc'. Did you mean ['abc']?
    """
    if isinstance(ids, (str, bytes)):
        raise TypeError(
            f"{argument} must be a list of ids, but it is {ids!r}. Did you mean [{ids!r}]?"
        )
    return [str(id) for id in ids]


def check_strategy(strategy: str) -> None:
    """Refuse a way to prune that does not exist (SV-62).

    >>> check_strategy("keep_last")
    Traceback (most recent call last):
    ValueError: strategy must be 'keep_latest' or 'delete', but it is 'keep_last'.
    """
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f"strategy must be 'keep_latest' or 'delete', but it is {strategy!r}.")
