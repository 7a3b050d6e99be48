"""`Pregel`: the face of a graph.

Everything that a user calls is here, and nothing here decides anything. A call is turned
into a program and given to a driver:

    invoke, stream, get_state, update_state, …      ─▶ program ─▶ Driver
    ainvoke, astream, aget_state, aupdate_state, …  ─▶ program ─▶ AsyncDriver

The program is the same. It can also be had by itself, with `program`, and be driven by
hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypedDict, Unpack

from minigraph.channels.base import BaseChannel
from minigraph.checkpoint.base.id import timestamp, uuid6_text
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.config import prepared, require_thread
from minigraph.context import running_task
from minigraph.pregel.drive import AsyncDriver, Driver, afinish, finish
from minigraph.pregel.effects import Emit, Program
from minigraph.pregel.inspect import history_program, state_program, update_program
from minigraph.pregel.interrupts import Breakpoints
from minigraph.pregel.layout import Layout
from minigraph.pregel.node import PregelNode
from minigraph.pregel.program import Environment, Request, run
from minigraph.pregel.selection import Selection
from minigraph.types import RunnableConfig, StateSnapshot, StateUpdate, StreamMode

__all__ = ["Pregel"]

MODES = ("values", "updates")


class RunOptions(TypedDict, total=False):
    """What every way of running a graph can be told.

    Keys:
        output_keys: channels to return or show, instead of the graph's own choice. A single
            name gives the bare value (ST-12).
        interrupt_before, interrupt_after: nodes to stop at, ``"*"`` for all; instead of those
            that the graph was compiled with, so an empty list switches these off (IN-60).
    """

    output_keys: str | Sequence[str] | None
    interrupt_before: Breakpoints | None
    interrupt_after: Breakpoints | None


class Pregel:
    """A graph that can run: nodes, the channels between them, and where its threads are kept.

    Usually `StateGraph.compile` makes one.

    Args:
        nodes: name → node.
        channels: name → an empty channel.
        input_channels: where an input goes; one name takes it whole, several take a dict.
        output_channels: what `invoke` returns.
        stream_channels: what `stream` and snapshots show; the output channels by default.
        checkpointer: the saver that keeps this graph's threads.
        stream_mode: what `stream` tells unless the call says otherwise.
        interrupt_before, interrupt_after: nodes at which every run stops, ``"*"`` for all.
        check_input: raises for an input that the graph cannot take, before it is stored.
        name: the graph's name.
    """

    def __init__(
        self,
        *,
        nodes: Mapping[str, PregelNode],
        channels: Mapping[str, BaseChannel[Any, Any, Any]],
        input_channels: str | Sequence[str],
        output_channels: str | Sequence[str],
        stream_channels: str | Sequence[str] | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        stream_mode: StreamMode = "values",
        interrupt_before: Breakpoints = (),
        interrupt_after: Breakpoints = (),
        check_input: Callable[[Any], None] | None = None,
        name: str = "LangGraph",
    ) -> None:
        self.input_channels = input_channels
        self.output_channels = output_channels
        self.stream_channels = output_channels if stream_channels is None else stream_channels
        self.checkpointer = checkpointer
        self.stream_mode = stream_mode
        self.interrupt_before = interrupt_before
        self.interrupt_after = interrupt_after
        self.name = name
        self.layout = Layout(
            nodes,
            channels,
            input_channels=Selection(input_channels),
            output_channels=Selection(output_channels),
            stream_channels=Selection(self.stream_channels),
            check_input=check_input,
        )
        self.environment = Environment(
            new_id=uuid6_text,
            now=timestamp,
            next_version=next_version_of(checkpointer),
        )

    @property
    def nodes(self) -> dict[str, PregelNode]:
        """The nodes, by name."""
        return self.layout.nodes

    @property
    def channels(self) -> dict[str, BaseChannel[Any, Any, Any]]:
        """The channels, by name. They are patterns: a run's own live elsewhere."""
        return self.layout.channels

    @property
    def trigger_to_nodes(self) -> dict[str, list[str]]:
        """Which nodes each channel starts."""
        return self.layout.listeners

    def get_name(self) -> str:
        """The graph's name."""
        return self.name

    # ------------------------------------------------------------ programs

    def program(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stream_mode: StreamMode | Sequence[StreamMode] = (),
        **options: Unpack[RunOptions],
    ) -> Program:
        """The run of this graph on this input, as a generator of effects.

        Whoever takes it is the driver: perform each effect, `send` its answer, and the
        program returns the result of the run. See `minigraph.pregel.effects`.

        Args: as for `stream`. Nothing happens before the first `next`.

        >>> from minigraph.graph import END, START, StateGraph
        >>> builder = StateGraph(int).add_node("increment", lambda n: n + 1)
        >>> graph = builder.add_edge(START, "increment").compile()
        >>> program = graph.program(41)
        >>> next(program).tasks[0].name
        '__start__'
        """
        modes = (stream_mode,) if isinstance(stream_mode, str) else tuple(stream_mode)
        for mode in modes:
            if mode not in MODES:
                raise ValueError(
                    f"stream_mode {mode!r} does not exist here, or is not built yet; it can be one "
                    f"of {list(MODES)}."
                )
        for name in options.keys() - RunOptions.__annotations__.keys() if options else ():
            raise TypeError(
                f"{name!r} is no option of a run, or is not built yet; there are stream_mode, "
                f"{', '.join(RunOptions.__annotations__)}."
            )
        config = prepared(config)
        if self.checkpointer is not None:
            require_thread(config, to_run=True)
        if running_task.get() is None and config.get("configurable", {}).get("checkpoint_ns"):
            # A namespace is the place of a graph that is run by a node. This one is not.
            config = {**config, "configurable": {**config["configurable"], "checkpoint_ns": ""}}
        request = Request(
            input=input,
            config=config,
            output=self.output_selection(options.get("output_keys")),
            modes=frozenset(modes),
            has_saver=self.checkpointer is not None,
            stop_before=self.breakpoints(options.get("interrupt_before"), self.interrupt_before),
            stop_after=self.breakpoints(options.get("interrupt_after"), self.interrupt_after),
        )
        return run(self.layout, request, self.environment)

    def output_selection(self, keys: str | Sequence[str] | None) -> Selection:
        """The channels that a call wants to see. Raises `ValueError` for one that is none."""
        if keys is None or keys is self.output_channels:
            return self.layout.output_channels
        if keys is self.stream_channels:
            return self.layout.stream_channels
        chosen = Selection(keys)
        for name in chosen.names:
            if name not in self.layout.channels:
                raise ValueError(
                    f"output_keys names {name!r}, which is no channel of this graph; "
                    f"its state has {list(self.layout.stream_channels.names)}."
                )
        return chosen

    def breakpoints(self, given: Breakpoints | None, compiled: Breakpoints) -> Breakpoints:
        """Where a call stops: where it says, if it says anything (IN-60).

        Raises `ValueError` for a node that does not exist.
        """
        chosen = compiled if given is None else given
        if isinstance(chosen, str) and chosen != "*":
            raise TypeError(
                f"Nodes to stop at are given as a list, or as '*' for all: [{chosen!r}]."
            )
        for name in () if chosen == "*" else chosen:
            if name not in self.layout.nodes:
                raise ValueError(
                    f"Interrupt node {name!r} not found; there are {sorted(self.layout.nodes)}."
                )
        return chosen

    def refuse_async_nodes(self) -> None:
        """A sync run cannot await; better to say so before anything has run (ST-31)."""
        if self.layout.async_nodes:
            names = ", ".join(map(repr, self.layout.async_nodes))
            raise TypeError(
                f"No synchronous function was provided to {names}: a sync run cannot await. "
                "Use ainvoke or astream, or give the node a sync function."
            )

    # ------------------------------------------------------------ running

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stream_mode: StreamMode | Sequence[StreamMode] = "values",
        **options: Unpack[RunOptions],
    ) -> Any:
        """Run the graph to its end.

        Args:
            input: the input; ``None`` goes on with what the thread has left to do.
            config: see `minigraph.config`; a graph with a saver needs a ``thread_id``.
            stream_mode: with another mode than ``"values"``, all chunks are returned, as a list.
            options: see `RunOptions`.

        Returns:
            The last state, or ``None`` if nothing was ever written (ST-04).

        Raises what a node raises, `EmptyInputError`, `InvalidUpdateError`,
        `GraphRecursionError`. What was finished before is kept: `invoke(None, config)` tries
        the rest again.

        >>> from minigraph.graph import START, StateGraph
        >>> builder = StateGraph(int).add_node("increment", lambda n: n + 1)
        >>> builder.add_edge(START, "increment").compile().invoke(41)
        42
        """
        self.refuse_async_nodes()
        if stream_mode != "values":
            options["output_keys"] = options.get("output_keys") or self.output_channels
            return list(self.stream(input, config, stream_mode=stream_mode, **options))
        program = self.program(input, config, **options)
        return finish(self.driver(config).drive(program))

    def stream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stream_mode: StreamMode | Sequence[StreamMode] | None = None,
        **options: Unpack[RunOptions],
    ) -> Iterator[Any]:
        """Run the graph, and tell what happens while it does.

        Args:
            input, config: as for `invoke`.
            stream_mode: ``"values"`` tells the state after each super-step, ``"updates"`` what
                each node returned, as ``{node: update}``. A list of modes gives
                ``(mode, chunk)`` pairs (ST-01).
            options: see `RunOptions`.

        The run goes on only while somebody reads. Closing the iterator ends it; what was
        finished is stored, and the thread can go on (ST-30).
        """
        self.refuse_async_nodes()
        mode = self.stream_mode if stream_mode is None else stream_mode
        if options.get("output_keys") is None:
            options["output_keys"] = self.stream_channels
        program = self.program(input, config, stream_mode=mode, **options)
        driving = self.driver(config).drive(program)
        return each(driving, lambda emitted: chunk(emitted, mode))

    def batch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        stream_mode: StreamMode | Sequence[StreamMode] = "values",
        **options: Unpack[RunOptions],
    ) -> list[Any]:
        """`invoke` for each of several inputs, in parallel; results in the order of inputs.

        Args:
            inputs: the inputs.
            config: one for all, or one for each.
            return_exceptions: put an exception in the place of its result instead of raising.
            options: as for `invoke`.
        """

        def one(input: Any, config: RunnableConfig | None) -> Any:
            try:
                return self.invoke(input, config, stream_mode=stream_mode, **options)
            except Exception as error:
                if return_exceptions:
                    return error
                raise

        configs = spread_config(config, len(inputs))
        if not inputs:
            return []
        limit = (configs[0] or {}).get("max_concurrency")
        with ThreadPoolExecutor(limit) as pool:
            calls = [
                pool.submit(copy_context().run, one, input, each)
                for input, each in zip(inputs, configs, strict=True)
            ]
            return [call.result() for call in calls]

    async def ainvoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stream_mode: StreamMode | Sequence[StreamMode] = "values",
        **options: Unpack[RunOptions],
    ) -> Any:
        """`invoke` on the running event loop: async nodes as tasks, sync nodes on threads."""
        if stream_mode != "values":
            options["output_keys"] = options.get("output_keys") or self.output_channels
            stream = self.astream(input, config, stream_mode=stream_mode, **options)
            return [chunk async for chunk in stream]
        program = self.program(input, config, **options)
        return await afinish(self.async_driver(config), program)

    async def astream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stream_mode: StreamMode | Sequence[StreamMode] | None = None,
        **options: Unpack[RunOptions],
    ) -> AsyncIterator[Any]:
        """`stream` on the running event loop."""
        mode = self.stream_mode if stream_mode is None else stream_mode
        if options.get("output_keys") is None:
            options["output_keys"] = self.stream_channels
        program = self.program(input, config, stream_mode=mode, **options)
        driving = self.async_driver(config).drive(program)
        try:
            async for emitted in driving:
                yield chunk(emitted, mode)
        finally:
            # An async generator that is dropped is closed "some time later"; a run is not.
            await driving.aclose()

    async def abatch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        stream_mode: StreamMode | Sequence[StreamMode] = "values",
        **options: Unpack[RunOptions],
    ) -> list[Any]:
        """`batch` on the running event loop."""
        configs = spread_config(config, len(inputs))
        limit = (configs[0] or {}).get("max_concurrency") if configs else None
        gate = asyncio.Semaphore(limit or len(inputs) or 1)

        async def one(input: Any, config: RunnableConfig | None) -> Any:
            async with gate:
                return await self.ainvoke(input, config, stream_mode=stream_mode, **options)

        calls = (one(input, each) for input, each in zip(inputs, configs, strict=True))
        return list(await asyncio.gather(*calls, return_exceptions=return_exceptions))

    def driver(self, config: RunnableConfig | None) -> Driver:
        return Driver(self.checkpointer, (config or {}).get("max_concurrency"))

    def async_driver(self, config: RunnableConfig | None) -> AsyncDriver:
        return AsyncDriver(self.checkpointer, (config or {}).get("max_concurrency"))

    # ------------------------------------------------------------ threads

    def get_state(self, config: RunnableConfig) -> StateSnapshot:
        """Where a thread stands: its latest checkpoint, or the one with ``checkpoint_id``.

        Without an id the view is live: tasks that have finished in an open super-step count.
        With one it is a record of how the super-step began (CP-40, CP-41). A thread or id that
        does not exist gives an empty snapshot (CP-31).

        Raises `ValueError` if the graph has no saver, `KeyError` without ``thread_id``.
        """
        saver, config = self.address(config)
        program = state_program(self.layout, config, self.environment.next_version)
        state: StateSnapshot = finish(Driver(saver).drive(program))
        return state

    def get_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """All checkpoints of a thread, newest first (CP-34).

        Args:
            config: the thread; with a ``checkpoint_id``, only that checkpoint.
            filter: metadata entries that must be equal, such as ``{"source": "update"}``.
            before: only checkpoints older than the one this config names.
            limit: at most so many.
        """
        saver, config = self.address(config)
        program = history_program(self.layout, config, filter, before, limit)
        driving = Driver(saver).drive(program)
        return each(driving, lambda emitted: emitted.payload)

    def update_state(
        self,
        config: RunnableConfig,
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """Change a thread's state from outside, as if a node had returned `values`.

        A new checkpoint is added; the one it starts from is never edited. With an older
        checkpoint in `config` this is a fork: run on from the returned config.

        Args:
            config: the thread, or one of its checkpoints.
            values: the update.
            as_node: the node it comes from, whose edges are then followed. Without it, the node
                that ran last; ``"__input__"``, ``"__end__"`` and ``"__copy__"`` are special
                (CP-65, CP-66, CP-69).
            task_id: the task it counts as, for tools that record runs.

        Returns:
            The config of the new checkpoint.

        Raises `InvalidUpdateError` for an unknown node, for an update that channels refuse, and
        when `as_node` is not given and cannot be told. Nothing is stored then.
        """
        return self.bulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    def bulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Several updates from outside, one checkpoint for each inner list (CP-68).

        Updates in one list belong to one super-step; each then needs its `as_node`. Returns and
        raises as `update_state`; the super-steps before a refused one are stored.
        """
        saver, config = self.address(config)
        program = update_program(self.layout, config, supersteps, self.environment)
        updated: RunnableConfig = finish(Driver(saver).drive(program))
        return updated

    async def aget_state(self, config: RunnableConfig) -> StateSnapshot:
        """`get_state` on the running event loop."""
        saver, config = self.address(config)
        program = state_program(self.layout, config, self.environment.next_version)
        state: StateSnapshot = await afinish(AsyncDriver(saver), program)
        return state

    async def aget_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """`get_state_history` on the running event loop."""
        saver, config = self.address(config)
        program = history_program(self.layout, config, filter, before, limit)
        driving = AsyncDriver(saver).drive(program)
        try:
            async for emitted in driving:
                yield emitted.payload
        finally:
            await driving.aclose()

    async def aupdate_state(
        self,
        config: RunnableConfig,
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
    ) -> RunnableConfig:
        """`update_state` on the running event loop."""
        return await self.abulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """`bulk_update_state` on the running event loop."""
        saver, config = self.address(config)
        program = update_program(self.layout, config, supersteps, self.environment)
        updated: RunnableConfig = await afinish(AsyncDriver(saver), program)
        return updated

    def address(self, config: RunnableConfig) -> tuple[BaseCheckpointSaver[Any], RunnableConfig]:
        """The saver that a question about a thread goes to (CP-33), and the thread's config."""
        if self.checkpointer is None:
            raise ValueError(
                "No checkpointer set: this graph keeps no threads. "
                "Compile it with one, such as compile(checkpointer=InMemorySaver())."
            )
        config = prepared(config)
        require_thread(config, to_run=False)
        return self.checkpointer, config


def each(
    driving: Generator[Emit, None, Any], shape: Callable[[Emit], Any]
) -> Generator[Any, None, None]:
    """What a driver yields, in the shape that the reader wants.

    Closing it closes the driver, so that what goes wrong then reaches who closes.
    """
    try:
        for emitted in driving:
            yield shape(emitted)
    finally:
        driving.close()


def chunk(emitted: Emit, mode: StreamMode | Sequence[StreamMode]) -> Any:
    """What the reader of a stream gets: bare for one mode, labelled for a list of modes."""
    return emitted.payload if isinstance(mode, str) else (emitted.mode, emitted.payload)


def spread_config(
    config: RunnableConfig | Sequence[RunnableConfig] | None, count: int
) -> list[RunnableConfig | None]:
    """One config for each of `count` calls."""
    if config is None or isinstance(config, Mapping):
        return [config] * count
    if len(config) != count:
        raise ValueError(f"batch got {count} inputs but {len(config)} configs.")
    return list(config)


def next_version_of(saver: BaseCheckpointSaver[Any] | None) -> Any:
    """How versions are numbered: the saver's way, or 1, 2, 3 … without one."""
    if saver is None:
        return lambda newest: 1 if newest is None else newest + 1
    return lambda newest: saver.get_next_version(newest, None)
