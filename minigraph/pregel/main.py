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
import warnings
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from copy import copy as shallow_copy
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias, TypedDict, Unpack
from weakref import WeakKeyDictionary

from minigraph.cache.base import BaseCache
from minigraph.channels.base import BaseChannel
from minigraph.checkpoint.base.id import timestamp, uuid6_text
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.clock import REAL, Clock
from minigraph.config import merged, namespace_of, require_thread
from minigraph.constants import TASKS
from minigraph.context import Calls, running_task
from minigraph.doors import lazy_door
from minigraph.managed import Managed
from minigraph.pregel.drive import AsyncDriver, Driver, afinish, finish
from minigraph.pregel.durability import Inner, check_durability
from minigraph.pregel.effects import NOTHING, Emit, Program
from minigraph.pregel.identity import without_ids
from minigraph.pregel.inner import graphs_in
from minigraph.pregel.inspect import history_program, standing, state_program, update_program
from minigraph.pregel.interrupts import Breakpoints
from minigraph.pregel.io import Updates
from minigraph.pregel.known import Known, known_in
from minigraph.pregel.layout import InputCheck, Layout, completed
from minigraph.pregel.nesting import Place, Savers, allowed, place_of
from minigraph.pregel.node import Graph, PregelNode
from minigraph.pregel.program import run
from minigraph.pregel.request import Environment, Request
from minigraph.pregel.retry import cache_namespace
from minigraph.pregel.runner import MAX_THREADS
from minigraph.pregel.running import Around, Running
from minigraph.pregel.selection import Selection
from minigraph.pregel.stream import Maker, Modes, Reader, modes_of
from minigraph.pregel.validate import (
    Buildable,
    breakpoints_of,
    built,
    check_cache,
    check_graph,
    check_saver,
    check_store,
)
from minigraph.runtime import RunControl
from minigraph.types import Durability, RunnableConfig, StateSnapshot, StateUpdate, StreamMode

if TYPE_CHECKING:
    from minigraph.policies import CachePolicy, RetryPolicy
    from minigraph.pregel.builder import ChannelWriteEntry
    from minigraph.pregel.drawing import Drawing
    from minigraph.store.base import BaseStore

__all__ = ["ChannelWriteEntry", "Pregel"]

on_demand = lazy_door(
    __name__,
    {
        "wiring": "minigraph.pregel.drawing",
        "ChannelWriteEntry": "minigraph.pregel.builder",
        "policies_of": "minigraph.policies",
        "with_default": "minigraph.policies",
    },
)
__getattr__ = on_demand
"""A run needs no drawing, so it does not wait for one to be imported; most need no policies."""


Driven: TypeAlias = tuple[
    BaseCheckpointSaver[Any] | None, int | None, bool, Durability, Around, Inner | None
]
"""The arguments of `Driver` and of `AsyncDriver`."""


class RunOptions(TypedDict, total=False):
    """What every way of running a graph can be told.

    Keys:
        output_keys: channels to return or show, instead of the graph's own choice. A single
            name gives the bare value (ST-12).
        interrupt_before, interrupt_after: nodes to stop at, ``"*"`` for all; instead of those
            that the graph was compiled with, so an empty list switches these off (IN-60).
        context: for the nodes to know, see `minigraph.runtime`. A dict is turned into the graph's
            context schema, if that is a class with fields (MR-04).
        control: stops the run from outside, between two super-steps (ER-60).
        durability: when things are stored: ``"sync"``, ``"async"`` (the default) or ``"exit"``, see
            `minigraph.pregel.durability` (DU-01). Inner graphs do as the one around them.
        subgraphs: also read what graphs inside of nodes tell (ST-05).
        print_mode: stream modes to print as well (ST-32).
        version: ``"v2"`` gives every chunk as ``{"type", "ns", "data"}``, and `invoke` a
            `GraphOutput` (ST-02).
    """

    output_keys: str | Sequence[str] | None
    interrupt_before: Breakpoints | None
    interrupt_after: Breakpoints | None
    context: Any
    control: RunControl | None
    durability: Durability | None
    subgraphs: bool
    print_mode: Modes
    version: Literal["v1", "v2"]


class Pregel(Graph):
    """A graph that can run: nodes, the channels between them, and where its threads are kept.

    Usually `StateGraph.compile` makes one. It can also be made by hand, of `NodeBuilder`s and
    channels (SS-50).

    Args:
        nodes: name → node, as a `NodeBuilder` or already built.
        channels: name → an empty channel. The one for Sends is added.
        input_channels: where an input goes; one name takes it whole, several take a dict.
        output_channels: what `invoke` returns.
        stream_channels: what `stream` and snapshots show; all channels by default.
        checkpointer: the saver that keeps this graph's threads. For a graph inside of another
            one also True or False, see `minigraph.pregel.nesting`.
        stream_mode: what `stream` tells unless the call says otherwise.
        interrupt_before_nodes, interrupt_after_nodes: nodes at which every run stops, ``"*"``
            for all.
        config: goes with every call, see `with_config`.
        check_input: raises for an input that the graph cannot take, before it is stored.
        updates_of: what the update of a `Command` from outside means.
        context_schema: what ``context=`` of a call is turned into (MR-04).
        store: where nodes find what is to outlive their threads. A graph inside of another one
            has the store of that one, if it has one (LM-08).
        cache: where outputs are kept of nodes that have a `CachePolicy` (ER-50).
        retry_policy, cache_policy: for nodes that have none of their own (ER-33).
        step_timeout: for how many seconds a super-step may go on. Then no more is started, what can
            be cancelled is, and the run raises `TimeoutError` (ER-23).
        name: the graph's name.

    Raises `ValueError` and `TypeError` for what cannot work, such as an input that no node
    listens to: see `minigraph.pregel.validate` (SS-51).

    >>> from minigraph.channels import EphemeralValue, LastValue
    >>> from minigraph.pregel.builder import NodeBuilder
    >>> graph = Pregel(
    ...     nodes={"double": NodeBuilder().subscribe_only("a").do(lambda a: 2 * a).write_to("b")},
    ...     channels={"a": EphemeralValue(int), "b": LastValue(int)},
    ...     input_channels="a",
    ...     output_channels="b",
    ... )
    >>> graph.invoke(21)
    42
    """

    layout: Layout
    make_values: Maker | None = None
    make_state: Maker | None = None
    """What readers of version 2 are shown in the place of dicts, see `stream.Reader`."""

    managed: Mapping[str, Managed] = NOTHING
    """Keys that nodes read and that are no channels, see `minigraph.managed`."""

    clock: Clock = REAL
    """How to wait; tests set another one, see `minigraph.clock`."""

    classes: Sequence[type] = ()
    """The classes that the graph's schemas name; whatever saver it stores in must allow them."""

    def __init__(
        self,
        *,
        nodes: Mapping[str, PregelNode | Buildable],
        channels: Mapping[str, BaseChannel[Any, Any, Any]],
        input_channels: str | Sequence[str],
        output_channels: str | Sequence[str],
        stream_channels: str | Sequence[str] | None = None,
        checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
        stream_mode: StreamMode = "values",
        interrupt_before_nodes: Breakpoints = (),
        interrupt_after_nodes: Breakpoints = (),
        config: RunnableConfig | None = None,
        check_input: InputCheck | None = None,
        updates_of: Updates | None = None,
        context_schema: Any | None = None,
        store: BaseStore | None = None,
        cache: BaseCache[Any] | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] = (),
        cache_policy: CachePolicy | None = None,
        step_timeout: float | None = None,
        name: str = "LangGraph",
    ) -> None:
        self.input_channels = input_channels
        self.output_channels = output_channels
        everything = list(dict.fromkeys((*channels, TASKS)))
        self.stream_channels = everything if stream_channels is None else stream_channels
        check_saver(checkpointer)
        self.checkpointer = checkpointer
        self.stream_mode = stream_mode
        self.config = config
        self.check_input = check_input
        self.updates_of = updates_of
        self.context_schema = context_schema
        check_store(store)
        self.store = store
        check_cache(cache)
        self.cache = cache
        self.retry_policy = retry_policy
        self.cache_policy = cache_policy
        self.step_timeout = step_timeout
        self.name = name
        faces = {
            "input_channels": Selection(input_channels),
            "output_channels": Selection(output_channels),
            "stream_channels": Selection(self.stream_channels),
        }
        ready = built(nodes)
        if retry_policy or cache_policy:
            default = on_demand("policies_of")("The graph", retry_policy, cache_policy)
            ready = {name: on_demand("with_default")(node, default) for name, node in ready.items()}
        check_graph(ready, channels, **faces, managed=self.managed)
        care = {name: node.policies for name, node in ready.items() if node.policies is not None}
        self.limited_nodes = [name for name, policies in care.items() if policies.timeout]
        self.interrupt_before_nodes = breakpoints_of(interrupt_before_nodes, ready)
        self.interrupt_after_nodes = breakpoints_of(interrupt_after_nodes, ready)
        self.layout = Layout(
            ready,
            completed(channels),
            check_input=check_input,
            updates_of=updates_of,
            managed=self.managed,
            **faces,
        )
        self.environment = Environment(
            new_id=uuid6_text,
            now=timestamp,
            next_version=next_version_of(saver_in(checkpointer)),
        )
        self.savers = Savers()
        self.known = WeakKeyDictionary[Any, Known]()

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

    def get_graph(
        self, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Drawing:
        """What this graph looks like: its nodes and edges, and pictures of them (MR-11).

        Args:
            config: makes no difference.
            xray: whether to look into nodes that are graphs; there are none yet.
        """
        stops = self.interrupt_before_nodes, self.interrupt_after_nodes
        drawing: Drawing = on_demand("wiring")(self.layout, *stops)
        return drawing

    async def aget_graph(
        self, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Drawing:
        """`get_graph`, for those who await everything."""
        return self.get_graph(config, xray=xray)

    def with_config(self, config: RunnableConfig | None = None, **more: Any) -> Self:
        """This graph, with a config that goes with every call.

        What a call says itself comes first. ``configurable`` and ``metadata`` are merged key by
        key, tags are joined (MR-08).

        Args:
            config: the config.
            more: keys of a config, by name; these come before those of `config`.

        Raises as a call with such a config does. Questions about threads know it too, so a
        graph can be bound to its thread. The graph itself stays as it is.

        >>> from minigraph.graph import START, StateGraph
        >>> def add(n, config): return n + config["configurable"]["by"]
        >>> graph = StateGraph(int).add_node(add).add_edge(START, "add").compile()
        >>> by_two = graph.with_config(configurable={"by": 2})
        >>> by_two.invoke(1), by_two.invoke(1, {"configurable": {"by": 40}})
        (3, 41)
        """
        bound = shallow_copy(self)
        given: Any = more
        bound.config = merged(merged(self.config, config), given)
        return bound

    def copy(self, update: Mapping[str, Any] | None = None) -> Self:
        """Another graph like this one.

        Args:
            update: arguments of `Pregel` that are to be others, as ``{"checkpointer": saver}``.

        Raises as `Pregel` does, and `TypeError` for an argument that does not exist.
        """
        other = shallow_copy(self)
        if update:
            _, *arguments = signature(Pregel.__init__).parameters
            if strange := sorted(update.keys() - set(arguments)):
                raise TypeError(f"copy cannot change {strange}; it can change {arguments}.")
            Pregel.__init__(other, **{**{n: getattr(self, n) for n in arguments}, **update})
        return other

    def get_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> Iterator[tuple[str, Pregel]]:
        """The graphs inside of this one's nodes, as (namespace, graph) (SB-34).

        A node may be a graph, or a function that knows one by a name from outside of it (SB-16).

        Args:
            namespace: only the graph at this place, as ``"node"`` or ``"node|node in it"``.
            recurse: also the graphs in these graphs; their names are joined by ``|``.
        """
        return inner_graphs(self, namespace, recurse, (self,))

    def no_subgraph(self, namespace: str) -> ValueError:
        return ValueError(
            f"Subgraph {namespace} not found: no node of this graph leads to a graph of that name; "
            f"there are {[name for name, _ in self.get_subgraphs(recurse=True)]}."
        )

    async def aget_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> AsyncIterator[tuple[str, Pregel]]:
        """`get_subgraphs` for `async for`."""
        for found in self.get_subgraphs(namespace=namespace, recurse=recurse):
            yield found

    # ------------------------------------------------------------ programs

    def program(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stream_mode: Modes = (),
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
        place = place_of(self.checkpointer, self.config, config)
        return self.program_at(place, input, modes_of("stream_mode", stream_mode), options)

    def program_at(
        self, place: Place, input: Any, modes: frozenset[str], options: RunOptions
    ) -> Program:
        """The same, for a call that stands somewhere, and for the stream modes of a `Reader`."""
        for name in options.keys() - RunOptions.__annotations__.keys() if options else ():
            raise TypeError(
                f"{name!r} is no option of a run, or is not built yet; there are stream_mode, "
                f"{', '.join(RunOptions.__annotations__)}."
            )
        view = None if place.task is None else place.task.view
        context = as_context(options.get("context"), self.context_schema)
        if view is not None:
            modes |= place.task.around.modes if place.task is not None else frozenset()
            context = view.context if context is None else context
        request = Request(
            input=input,
            config=place.config,
            output=self.output_selection(options.get("output_keys")),
            modes=modes,
            has_saver=place.saver is not None,
            stop_before=self.breakpoints(
                options.get("interrupt_before"), self.interrupt_before_nodes
            ),
            stop_after=self.breakpoints(options.get("interrupt_after"), self.interrupt_after_nodes),
            context=context,
            is_inner=place.task is not None,
            answers=place.answers,
            loose=place.task,  # an answer that is for whoever asks first, goes through the task
            held=NOTHING if view is None else view.held,
            origin=place.origin,
            replay=None if view is None else view.replay,
            keeps_last=place.durability(options.get("durability")) == "exit",
            control=control_of(place, options),
        )
        return run(self.layout, request, self.environment_for(place.saver))

    def environment_for(self, saver: BaseCheckpointSaver[Any] | None) -> Environment:
        """Versions are numbered as the store wants it, and that may be another graph's."""
        environment = self.environment
        if saver is not None and saver is not self.checkpointer:
            environment = environment._replace(next_version=next_version_of(saver))
        if saver is not None and self.layout.deltas:
            environment = environment._replace(known=known_in(saver, self.known))
        return environment

    def output_selection(self, keys: str | Sequence[str] | None) -> Selection:
        """The channels that a call wants to see. Raises `ValueError` for one that is none."""
        if keys is None or keys is self.output_channels:
            return self.layout.output_channels
        if keys is self.stream_channels:
            return self.layout.stream_channels
        if not isinstance(keys, Iterable):
            raise TypeError(
                f"output_keys is the name of a channel, or a list of names, but it is {keys!r}."
            )
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
        if given is None:
            return compiled  # checked when the graph was made
        return breakpoints_of(given, self.layout.nodes)

    def refuse_async_nodes(self) -> None:
        """A sync run cannot await; better to say so before anything has run (ST-31)."""
        if self.layout.async_nodes:
            names = ", ".join(map(repr, self.layout.async_nodes))
            raise TypeError(
                f"No synchronous function was provided to {names}: a sync run cannot await. "
                "Use ainvoke or astream, or give the node a sync function."
            )
        if self.limited_nodes:
            names = ", ".join(map(repr, self.limited_nodes))
            raise ValueError(
                f"A sync run cannot keep the timeout of {names}: a thread cannot be stopped. "
                "Use ainvoke or astream."
            )

    # ------------------------------------------------------------ running

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stream_mode: Modes = "values",
        **options: Unpack[RunOptions],
    ) -> Any:
        """Run the graph to its end.

        Args:
            input: the input; ``None`` goes on with what the thread has left to do, and so does a
                `Command`, which brings an answer, an update or somewhere to go (CS-10, IN-30).
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
        reader = self.reader((), options)
        place = self.place(config)
        return reader.output(finish(self.chunks(place, input, reader, options)))

    def stream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stream_mode: Modes | None = None,
        **options: Unpack[RunOptions],
    ) -> Iterator[Any]:
        """Run the graph, and tell what happens while it does.

        Args:
            input, config: as for `invoke`.
            stream_mode: ``"values"`` tells the state after each super-step, ``"updates"`` what
                each node returned, as ``{node: update}``, ``"custom"`` what nodes say while they
                work; for the others see `minigraph.pregel.events`. A list of modes gives
                ``(mode, chunk)`` pairs (ST-01).
            options: see `RunOptions`.

        The run goes on only while somebody reads. Closing the iterator ends it; what was
        finished is stored, and the thread can go on (ST-30).
        """
        self.refuse_async_nodes()
        mode = self.stream_mode if stream_mode is None else stream_mode
        if options.get("output_keys") is None:
            options["output_keys"] = self.stream_channels
        return self.chunks(self.place(config), input, self.reader(mode, options), options)

    def chunks(
        self, place: Place, input: Any, reader: Reader, options: RunOptions
    ) -> Generator[Any, None, Any]:
        """Run, for a reader. Returns the result. What cannot work is refused by the call itself."""
        program = self.program_at(place, input, reader.modes, options)
        driver = Driver(*self.driven(place, reader, options))
        return reader.chunks(driver.drive(program), place)

    def batch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        stream_mode: Modes = "values",
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

        configs = spread_config(inputs, config)
        if not inputs:
            return []
        limit = merged(self.config, configs[0]).get("max_concurrency")
        with ThreadPoolExecutor(limit or MAX_THREADS) as pool:
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
        stream_mode: Modes = "values",
        **options: Unpack[RunOptions],
    ) -> Any:
        """`invoke` on the running event loop: async nodes as tasks, sync nodes on threads."""
        if stream_mode != "values":
            options["output_keys"] = options.get("output_keys") or self.output_channels
            stream = self.astream(input, config, stream_mode=stream_mode, **options)
            return [chunk async for chunk in stream]
        reader = self.reader((), options)
        place = self.place(config)
        driver = AsyncDriver(*self.driven(place, reader, options))
        program = self.program_at(place, input, reader.modes, options)
        async for _ in reader.achunks(driver.drive(program), place):
            pass
        return reader.output(place.result(driver.result))

    def astream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        stream_mode: Modes | None = None,
        **options: Unpack[RunOptions],
    ) -> AsyncGenerator[Any, None]:
        """`stream` on the running event loop."""
        mode = self.stream_mode if stream_mode is None else stream_mode
        if options.get("output_keys") is None:
            options["output_keys"] = self.stream_channels
        reader = self.reader(mode, options)
        place = self.place(config)
        driver = AsyncDriver(*self.driven(place, reader, options))
        program = self.program_at(place, input, reader.modes, options)
        return reader.achunks(driver.drive(program), place, driver)

    async def abatch(
        self,
        inputs: Sequence[Any],
        config: RunnableConfig | Sequence[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        stream_mode: Modes = "values",
        **options: Unpack[RunOptions],
    ) -> list[Any]:
        """`batch` on the running event loop."""
        configs = spread_config(inputs, config)
        limit = merged(self.config, configs[0]).get("max_concurrency") if configs else None
        gate = asyncio.Semaphore(limit or len(inputs) or 1)

        async def one(input: Any, config: RunnableConfig | None) -> Any:
            async with gate:
                return await self.ainvoke(input, config, stream_mode=stream_mode, **options)

        calls = (one(input, each) for input, each in zip(inputs, configs, strict=True))
        return list(await asyncio.gather(*calls, return_exceptions=return_exceptions))

    def place(self, config: RunnableConfig | None) -> Place:
        """Where a call of this graph stands, and where it stores."""
        place = place_of(self.checkpointer, self.config, config)
        if place.task is None or place.saver is None:
            return place
        return place._replace(saver=allowed(place.saver, self.classes, self.savers))

    def reader(self, mode: Modes, options: RunOptions) -> Reader:
        printed, version = options.get("print_mode", ()), options.get("version", "v1")
        inner = bool(options.get("subgraphs", False))
        return Reader(mode, printed, version, self.make_values, self.make_state, inner)

    def around(self, place: Place, reader: Reader, options: RunOptions) -> Around:
        """What graphs inside of nodes get from this run."""
        chosen = options.get("durability")
        check_durability(chosen)
        if chosen is not None and place.saver is None:
            warnings.warn(
                f"durability={chosen!r} has no effect: the graph has no checkpointer, so nothing "
                "is stored. Compile it with one, or leave out `durability`.",
                stacklevel=4,
            )
        modes = reader.modes if reader.subgraphs else frozenset()
        if place.task is None:
            return Around(
                place.saver,
                place.durability(chosen),
                modes,
                memories={},
                store=self.store,
                clock=self.clock,
                cache=self.cache,
                control=control_of(place, options),
                step_timeout=self.step_timeout,
            )
        outer = place.task.around
        return Around(
            place.saver,
            place.durability(chosen),
            modes | outer.modes,
            outer.is_over,
            memories={},
            store=self.store if outer.store is None else outer.store,
            clock=outer.clock,
            cache=self.cache,
            control=control_of(place, options),
            outer=place.task,
            step_timeout=self.step_timeout,
        )

    def driven(self, place: Place, reader: Reader, options: RunOptions) -> Driven:
        """What a driver of either kind is given for a call."""
        around = self.around(place, reader, options)
        limit = place.config.get("max_concurrency")
        live = reader.live or bool(around.modes) or Calls.possible
        return place.saver, limit, live, around.durability, around, place.inner

    # ------------------------------------------------------------ caches

    def clear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """Forget the outputs of these nodes, or of all (ER-51).

        Raises `ValueError` if the graph has no cache, or not such a node.
        """
        cache, namespaces = self.cached(nodes)
        cache.clear(namespaces)

    async def aclear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """`clear_cache` on the running event loop."""
        cache, namespaces = self.cached(nodes)
        await cache.aclear(namespaces)

    def cached(
        self, nodes: Sequence[str] | None
    ) -> tuple[BaseCache[Any], Sequence[tuple[str, ...]]]:
        """The cache, and where in it the outputs of nodes are."""
        if self.cache is None:
            raise ValueError(
                "No cache is set for this graph. Cannot clear cache. Compile it with one, such as "
                "compile(cache=InMemoryCache())."
            )
        for name in nodes or ():
            if name not in self.nodes:
                raise ValueError(f"There is no node {name!r}, but there are {sorted(self.nodes)}.")
        chosen = self.nodes if nodes is None else nodes
        return self.cache, [cache_namespace(self.nodes[name]) for name in chosen]

    # ------------------------------------------------------------ threads

    def get_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """Where a thread stands: its latest checkpoint, or the one with ``checkpoint_id``.

        Without an id the view is live: tasks that have finished in an open super-step count.
        With one it is a record of how the super-step began (CP-40, CP-41). A thread or id that
        does not exist gives an empty snapshot (CP-31).

        Args:
            config: the thread, or a checkpoint in it; of a graph inside of it too, as the ``state``
                of a task says (SB-30).
            subgraphs: show in ``state`` of each task where the graph stands that is in it (SB-31).

        Raises `ValueError` if the graph has no saver, `KeyError` without ``thread_id``.
        """
        asked = self.address(config)
        program = state_program(
            asked.layout, asked.config, asked.environment.next_version, subgraphs
        )
        state: StateSnapshot = finish(Driver(asked.saver).drive(program))
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
        asked = self.address(config)
        next_version = asked.environment.next_version
        program = history_program(asked.layout, asked.config, filter, before, limit, next_version)
        driving = Driver(asked.saver).drive(program)
        return snapshots(driving)

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
            config: the thread, or one of its checkpoints; of a graph inside of it too: the
                ``state`` of a task says its address, and where it stands (SB-30, SB-32).
            values: the update.
            as_node: the node it comes from, whose edges are then followed. Without it, the node
                that ran last; ``"__input__"``, ``"__end__"`` and ``"__copy__"`` are special
                (CP-65, CP-66, CP-69).
            task_id: the task it counts as, for tools that record runs.

        Returns:
            The config of the new checkpoint.

        Raises `InvalidUpdateError` for an unknown node or checkpoint, for an update that channels
        refuse, and when `as_node` is not given and cannot be told; `ValueError` for a graph inside
        that is not there. Nothing is stored then.
        """
        return self.bulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    def bulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Several updates from outside, one checkpoint for each inner list (CP-68).

        Updates in one list belong to one super-step; each then needs its `as_node`. Returns and
        raises as `update_state`; the super-steps before a refused one are stored.
        """
        asked = self.address(config, to_write=True)
        program = update_program(
            asked.layout, asked.config, supersteps, asked.environment, asked.around
        )
        around = Around(asked.saver, store=self.store)  # a path function may look into it
        updated: RunnableConfig = finish(Driver(asked.saver, around=around).drive(program))
        return updated

    async def aget_state(self, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
        """`get_state` on the running event loop."""
        asked = self.address(config)
        program = state_program(
            asked.layout, asked.config, asked.environment.next_version, subgraphs
        )
        state: StateSnapshot = await afinish(AsyncDriver(asked.saver), program)
        return state

    def aget_state_history(
        self,
        config: RunnableConfig,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """`get_state_history` on the running event loop."""
        asked = self.address(config)
        next_version = asked.environment.next_version
        program = history_program(asked.layout, asked.config, filter, before, limit, next_version)
        return asnapshots(asked.saver, program)

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
        asked = self.address(config, to_write=True)
        program = update_program(
            asked.layout, asked.config, supersteps, asked.environment, asked.around
        )
        around = Around(asked.saver, store=self.store)
        driver = AsyncDriver(asked.saver, around=around)
        updated: RunnableConfig = await afinish(driver, program)
        return updated

    def address(self, config: RunnableConfig, to_write: bool = False) -> Address:
        """Whom a question about a thread goes to (CP-33).

        That is this graph; or the graph inside of it that the namespace says (SB-30).
        """
        config = merged(self.config, config)
        saver = saver_in(self.checkpointer)
        task = running_task.get()
        if isinstance(task, Running) and saver is None and self.checkpointer is not False:
            saver = task.around.saver
        if saver is None:
            raise ValueError(
                "No checkpointer set: this graph keeps no threads. "
                "Compile it with one, such as compile(checkpointer=InMemorySaver())."
            )
        require_thread(config, to_run=False)
        environment = self.environment_for(saver)
        if not (namespace := namespace_of(config)):
            return Address(self.layout, saver, config, environment)
        names = [level for level in without_ids(namespace).split("|") if not level.isdigit()]
        found = dict(inner_graphs(self, "|".join(names), True, (self,)))
        if not found and to_write:
            raise self.no_subgraph("|".join(names))
        for graph in found.values():
            if graph.checkpointer is False and to_write:
                raise ValueError(
                    f"The graph at {'|'.join(names)!r} keeps nothing (checkpointer=False), so an "
                    "update of it would not be seen. Update the graph around it."
                )
            inner = allowed(saver, graph.classes, graph.savers)
            around: Graph | None = None
            if graph.checkpointer is not True:
                outer = dict(inner_graphs(self, "|".join(names[:-1]), True, (self,)))
                around = next(iter(outer.values()), self)
            return Address(graph.layout, inner, standing(graph, config), environment, around)
        # Nobody inside is meant, so it is this graph that stands there: its caller may ask itself.
        return Address(self.layout, saver, config, environment)


def inner_graphs(
    graph: Pregel, namespace: str | None, recurse: bool, around: tuple[Pregel, ...]
) -> Iterator[tuple[str, Pregel]]:
    """The graphs in a graph's nodes, by their names; see `Pregel.get_subgraphs`.

    `around` are the graphs that lead here. One that is in itself is not looked into again, unless a
    namespace leads there.
    """
    for name, inner in graphs_in(graph.layout).items():
        if not isinstance(inner, Pregel):
            continue
        if namespace is None or namespace == name:
            yield name, inner
        rest = None if namespace is None else namespace.removeprefix(f"{name}|")
        if (recurse and inner not in around) if rest is None else rest != namespace:
            for below, found in inner_graphs(inner, rest, recurse, (*around, inner)):
                yield f"{name}|{below}", found


def control_of(place: Place, options: RunOptions) -> RunControl:
    """What stops a run from outside: what the call says, or the run around it has."""
    chosen = options.get("control")
    if chosen is None:
        inherited = None if place.task is None else place.task.around.control
        chosen = options["control"] = inherited or RunControl()
    if not isinstance(chosen, RunControl):
        raise TypeError(f"control is a RunControl(), but it is {chosen!r:.200}.")
    return chosen


class Address(NamedTuple):
    """Whom a question about a thread goes to; and the graph around it, if that knows whether it is
    there."""

    layout: Layout
    saver: BaseCheckpointSaver[Any]
    config: RunnableConfig
    environment: Environment
    around: Graph | None = None


def snapshots(driving: Generator[Emit, None, Any]) -> Generator[Any, None, None]:
    """The snapshots that a history tells. Closing it closes the driver."""
    try:
        for emitted in driving:
            yield emitted.payload
    finally:
        driving.close()


async def asnapshots(
    saver: BaseCheckpointSaver[Any], program: Program
) -> AsyncGenerator[StateSnapshot, None]:
    """The same on the running event loop."""
    driving = AsyncDriver(saver).drive(program)
    try:
        async for emitted in driving:
            yield emitted.payload
    finally:
        await driving.aclose()


def as_context(given: Any, schema: Any | None) -> Any:
    """A call's context: a dict becomes what the graph's schema makes of it (MR-04).

    Raises what the schema raises. A TypedDict is a dict already.
    """
    if not isinstance(given, dict) or not isinstance(schema, type) or issubclass(schema, dict):
        return given
    return schema(**given)


def spread_config(
    inputs: Sequence[Any], config: RunnableConfig | Sequence[RunnableConfig] | None
) -> list[RunnableConfig | None]:
    """One config for each of a batch's inputs. Raises for what is no batch."""
    if not isinstance(inputs, Sequence) or isinstance(inputs, str):
        raise TypeError(
            f"batch takes a list of inputs, but this is {inputs!r:.200}. For one input use invoke."
        )
    count = len(inputs)
    if config is None or isinstance(config, Mapping):
        return [config] * count
    if len(config) != count:
        raise ValueError(f"batch got {count} inputs but {len(config)} configs.")
    return list(config)


def saver_in(checkpointer: Any) -> BaseCheckpointSaver[Any] | None:
    """The saver of a graph, if it has one of its own."""
    return checkpointer if isinstance(checkpointer, BaseCheckpointSaver) else None


def next_version_of(saver: BaseCheckpointSaver[Any] | None) -> Any:
    """How versions are numbered: the saver's way, or 1, 2, 3 … without one."""
    if saver is None:
        return lambda newest: 1 if newest is None else newest + 1
    return lambda newest: saver.get_next_version(newest, None)
