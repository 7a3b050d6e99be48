"""Compile: from declared nodes and edges to a layout of channels.

What `StateGraph` collects is still words: this node, that edge. Compiling makes each of
them a channel, a trigger or a writer:

    a node            ─▶  PregelNode + the channel  branch:to:NODE
    an edge           ─▶  a write that its source always makes
    a list edge       ─▶  a barrier channel, and a write to it in every source
    conditional edges ─▶  a Route in their source
    START             ─▶  a node like any other, triggered by the input

The result is a snapshot: later changes of the builder do not reach it (SG-16).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minigraph.channels.base import BaseChannel
from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue, LastValueAfterFinish
from minigraph.channels.named_barrier_value import (
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
)
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.checkpoint.serde.allowlist import classes_in
from minigraph.constants import END, ROOT, START, TAG_HIDDEN
from minigraph.doors import lazy_door
from minigraph.errors import InvalidUpdateError, add_note
from minigraph.failures import takes_error
from minigraph.graph.branch import (
    BranchSpec,
    branch_channel,
    command_routes,
    join_channel,
)
from minigraph.graph.declaration import Declaration, NodeSpec
from minigraph.graph.schema import (
    annotations_of,
    channels_of,
    check_values,
    command_updates,
    fields_of,
    is_keyed,
    maker_of,
    mapper_of,
    name_of,
    root_updates_of,
    selection_of,
    updates_of,
    validates,
)
from minigraph.policies import Policies, together
from minigraph.pregel.handlers import DEFAULT_HANDLER, HANDLER_PREFIX, Handler
from minigraph.pregel.inner import inner_graph
from minigraph.pregel.interrupts import Breakpoints
from minigraph.pregel.io import Updates
from minigraph.pregel.layout import InputCheck
from minigraph.pregel.live import LiveState
from minigraph.pregel.main import Pregel
from minigraph.pregel.node import PregelNode, Route, UserFunction, Write, Writer
from minigraph.pregel.selection import Selection
from minigraph.types import Command, RunnableConfig

if TYPE_CHECKING:
    from minigraph.cache.base import BaseCache
    from minigraph.graph.state import StateGraph
    from minigraph.pregel.drawing import Drawing
    from minigraph.store.base import BaseStore

on_demand = lazy_door(__name__, {"drawing_of": "minigraph.graph.draw"})
"""A run needs no drawing, so it does not wait for one to be imported."""

Channels = dict[str, BaseChannel[Any, Any, Any]]
Preparations = Mapping[str, Callable[[Any], Any]]


class CompiledStateGraph(Pregel):
    """A `StateGraph` that can run. It remembers its builder, for those who look."""

    def __init__(
        self,
        declared: Declaration,
        builder: StateGraph,
        *,
        classes: Sequence[type],
        checkpointer: BaseCheckpointSaver[Any] | bool | None,
        interrupt_before: Breakpoints,
        interrupt_after: Breakpoints,
        store: BaseStore | None,
        cache: BaseCache[Any] | None,
        name: str,
    ) -> None:
        self.builder = builder
        self.declared = declared
        output = list(channels_of(declared.output_schema))
        shown = list(declared.channels)
        nodes = nodes_of(declared)
        self.classes = classes
        self.managed = declared.managed
        self.make_values = maker_of(declared.output_schema)
        self.make_state = maker_of(declared.state_schema)
        super().__init__(
            nodes=nodes,
            channels=all_channels(declared),
            input_channels=START,
            output_channels=ROOT if output == [ROOT] else output,
            stream_channels=ROOT if shown == [ROOT] else shown,
            checkpointer=checkpointer,
            stream_mode="updates",
            interrupt_before_nodes=interrupt_before,
            interrupt_after_nodes=interrupt_after,
            check_input=input_check(declared, nodes),
            updates_of=updates_from_outside(declared),
            context_schema=declared.context_schema,
            store=store,
            cache=cache,
            name=name,
        )

    def get_graph(
        self, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Drawing:
        """What this graph looks like: its nodes and edges as they were declared (MR-11)."""
        stops = self.interrupt_before_nodes, self.interrupt_after_nodes
        drawing: Drawing = on_demand("drawing_of")(self.declared, *stops)
        return drawing


def compiled(
    declared: Declaration, builder: StateGraph, *, checkpointer: Any, **options: Any
) -> CompiledStateGraph:
    """The graph that was declared, ready to run.

    The saver may store the classes that the graph's schemas name, and build them when they are read
    (SD-26). What is no saver is refused later, with all the other mistakes.
    """
    classes = classes_of([*declared.schemas, declared.context_schema], declared.nodes.values())
    if isinstance(checkpointer, BaseCheckpointSaver):
        checkpointer = checkpointer.with_allowlist(classes)
    return CompiledStateGraph(
        declared, builder, classes=classes, checkpointer=checkpointer, **options
    )


def classes_of(schemas: Iterable[Any], nodes: Iterable[NodeSpec]) -> list[type]:
    """The classes that a graph's schemas name, and those of the graphs in its nodes."""
    inner = (getattr(inner_graph(spec.function), "classes", ()) for spec in nodes)
    return list(dict.fromkeys([*classes_in(schemas), *(cls for each in inner for cls in each)]))


def all_channels(declared: Declaration) -> Channels:
    """The state's channels, and those that carry control from node to node (SG-10)."""
    channels: Channels = {**declared.channels, START: EphemeralValue(declared.input_schema)}
    for name, spec in declared.nodes.items():
        channels[branch_channel(name)] = (
            LastValueAfterFinish(Any) if spec.defer else EphemeralValue(Any, guard=False)
        )
    for starts, end in joins_of(declared):
        waits = end in declared.nodes and declared.nodes[end].defer
        kind = NamedBarrierValueAfterFinish if waits else NamedBarrierValue
        channels[join_channel(starts, end)] = kind(str, set(starts))
    for name, channel in channels.items():
        channel.key = name
    return channels


def joins_of(declared: Declaration) -> Iterator[tuple[tuple[str, ...], str]]:
    """The list edges; but for those to END, where nobody waits (SG-13)."""
    return ((starts, end) for starts, end in declared.joins if end != END)


def nodes_of(declared: Declaration) -> dict[str, PregelNode]:
    """Every node with its triggers, and with its edges as writes."""
    edges: dict[str, list[Write]] = {name: [] for name in (START, *declared.nodes)}
    triggers = {name: [branch_channel(name)] for name in declared.nodes}
    for start, end in declared.edges:
        if end != END:
            edges[start].append((branch_channel(end), None))
    for starts, end in joins_of(declared):
        channel = join_channel(starts, end)
        if end in triggers:
            triggers[end].append(channel)
        for start in starts:
            edges[start].append((channel, start))

    reading = Reading()
    preparations = preparations_of(declared.channels)
    nodes = {
        START: PregelNode(
            name=START,
            triggers=(START,),
            channels=Selection(START),
            writers=(updating(START, frozenset(channels_of(declared.input_schema)), preparations),),
            edges=tuple(edges[START]),
            routes=routes_of(declared, START, reading),
            tags=(TAG_HIDDEN,),
        )
    }
    keys = frozenset(declared.channels)
    for name, spec in declared.nodes.items():
        selection, mapper = reading.of(spec.input_schema)
        if spec.function.graph is not None:
            mapper = None  # a graph takes of a dict what it knows, and makes its own objects
        nodes[name] = PregelNode(
            name=name,
            triggers=tuple(triggers[name]),
            channels=selection,
            mapper=mapper,
            bound=spec.function,
            writers=(updating(name, keys, preparations),),
            edges=tuple(edges[name]),
            routes=routes_of(declared, name, reading),
            metadata=spec.metadata,
            policies=policies_of(declared, name),
        )
    return nodes | handlers_of(declared, keys, preparations)


def policies_of(declared: Declaration, name: str) -> Policies | None:
    """What is to be done when a node fails, takes long or repeats; and who takes over (ER-33)."""
    spec = declared.nodes[name]
    policies, handler = spec.policies, handler_name(declared, name)
    if declared.default_policies is not None:
        policies = together(policies, declared.default_policies)
    return (policies or Policies())._replace(handler=handler) if handler else policies


def handler_name(declared: Declaration, name: str) -> str | None:
    """The node that takes over when this one has failed."""
    if declared.nodes[name].error_handler is not None:
        return HANDLER_PREFIX + name
    return None if declared.default_handler is None else DEFAULT_HANDLER


def handlers_of(
    declared: Declaration, keys: frozenset[str], preparations: Preparations
) -> dict[str, PregelNode]:
    """The nodes that take over. Only a failure starts them, and no edge leads on from them."""
    handlers = {HANDLER_PREFIX + name: spec.error_handler for name, spec in declared.nodes.items()}
    handlers[DEFAULT_HANDLER] = declared.default_handler
    default = declared.default_policies
    nodes = {}
    for name, handler in handlers.items():
        if handler is None:
            continue
        if name in declared.nodes:
            raise ValueError(f"{name!r} is the name of an error handler. Rename the node.")
        nodes[name] = PregelNode(
            name=name,
            triggers=(),
            channels=Selection(()),
            bound=Handler(handler, name, takes_error(annotations_of(handler))),
            writers=(updating(name, keys, preparations),),
            policies=default and Policies(retry=default.retry, timeout=default.timeout),
        )
    return nodes


def input_check(declared: Declaration, nodes: Mapping[str, PregelNode]) -> InputCheck | None:
    """What a graph has to say to an input before it is stored; None if it takes anything.

    It refuses, with `InvalidUpdateError`, what is neither a dict nor an object with a field that
    the graph knows (SG-44). Where the input schema is pydantic's, it has the values validated.
    And it makes what the first nodes will be given. So an input that nobody could read is refused
    while nothing has happened yet, by the same error (SG-61). Nothing is changed by looking.
    """
    schema = declared.input_schema
    if not is_keyed(schema):
        return None
    keys = frozenset(fields_of(schema)).intersection(declared.channels)
    # What a reducer makes of a write is known when it is asked; and it must be asked once only.
    single = frozenset(name for name in keys if type(declared.channels[name]) is LastValue)
    judge = schema if validates(schema) else None
    first = [
        nodes[end]
        for start, end in declared.edges
        if start == START and end != END and not declared.nodes[end].defer
    ]
    reading = [(node.channels, node.mapper) for node in first]
    reading += [(route.selection, route.mapper) for route in nodes[START].routes]
    readers = [(selection, make) for selection, make in dict.fromkeys(reading) if make is not None]

    def check(input: Any, state: LiveState) -> None:
        if type(input) is dict and judge is None and not readers:
            return
        writes = dict(updates_of(START, keys, input))
        fields = fields_of(type(input))
        if fields and keys.isdisjoint(fields):
            raise InvalidUpdateError(
                f"The input is an object of {name_of(type(input))}, none of whose fields "
                f"{sorted(fields)} the graph knows; it takes {sorted(keys)}."
            )
        if any(isinstance(value, Iterator) for value in writes.values()):
            return  # to look at them would use them up
        new = {name: value for name, value in writes.items() if name in single}
        try:
            if judge is not None:
                known = {n: state.readable[n] for n in single if n in state.readable}
                check_values(judge, {**known, **new}, new)
            for selection, make in readers:
                given = {**state.read(selection), **new}
                reduced = writes.keys() - new.keys() & selection.members
                if given.keys() >= reduced:  # else it is not known what there will be
                    make({name: given[name] for name in selection.names if name in given})
        except Exception as error:
            add_note(error, "The input was refused. Nothing ran, and nothing was stored.")
            raise

    return check


def updates_from_outside(declared: Declaration) -> Updates:
    """What the update of a `Command` means that comes as an input (CS-10)."""
    preparations = preparations_of(declared.channels)
    if ROOT in declared.channels:
        return preparing(root_updates_of, preparations)

    def updates(update: Any) -> list[Write]:
        writes = command_updates(Command(update=update))
        if not writes and update is not None and update != {}:
            raise InvalidUpdateError(
                f"A Command's update is a dict with keys among {sorted(declared.channels)}, a list "
                f"of (key, value), or an object with such fields, but it is {update!r:.200}."
            )
        return writes

    return preparing(updates, preparations)


class Reading:
    """How to read the state as a given schema; worked out once for each schema."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Selection, Callable[[Any], Any] | None]] = {}

    def of(self, schema: Any) -> tuple[Selection, Callable[[Any], Any] | None]:
        if id(schema) not in self.known:
            self.known[id(schema)] = Selection(selection_of(schema)), mapper_of(schema)
        return self.known[id(schema)]


def routes_of(declared: Declaration, source: str, reading: Reading) -> tuple[Route, ...]:
    """The conditional edges of a node.

    A path function sees what its node sees, unless it is annotated with a schema of its own.
    """
    default = declared.nodes[source].input_schema if source != START else declared.state_schema
    routes = []
    for branch in declared.branches.get(source, {}).values():
        selection, mapper = reading.of(branch.schema or default)
        path = UserFunction(branch.path)
        writes = choosing(branch, source, declared.nodes)
        routes.append(Route(path, selection, mapper, writes, branch.schema is None))
    return tuple(routes)


def choosing(branch: BranchSpec, source: str, nodes: Iterable[str]) -> Writer:
    """The writer that turns a branch's choice into writes."""
    known = branch.table(nodes)

    def writer(choice: Any) -> list[Write]:
        try:
            return known[choice]
        except (KeyError, TypeError):  # several choices, a Send, or a mistake
            return branch.writes(source, choice)

    return writer


def updating(node: str, keys: frozenset[str], preparations: Preparations) -> Updates:
    """The writer that turns a node's result into its state update and its gotos."""
    keyed = keys != {ROOT}

    def writer(result: Any) -> list[Write]:
        if keyed and type(result) is dict:  # as nearly every node returns; a dict goes nowhere
            return [(key, value) for key, value in result.items() if key in keys]
        routes = command_routes(result)  # first: what is meant for another graph is no update here
        return (updates_of(node, keys, result) if keyed else root_updates_of(result)) + routes

    return preparing(writer, preparations)


def preparations_of(channels: Mapping[str, BaseChannel[Any, Any, Any]]) -> Preparations:
    """Channel → what is to be made of a write to it before it is stored, if anything is (SG-82).

    A reducer says so by an attribute, ``prepare_write``. It is for what must be decided once,
    such as the ids of messages; a reducer may be asked several times for one write.
    """
    found = {}
    for name, channel in channels.items():
        reducer = getattr(channel, "operator", None) or getattr(channel, "reducer", None)
        if (prepare := getattr(reducer, "prepare_write", None)) is not None:
            found[name] = prepare
    return found


def preparing(writer: Updates, preparations: Preparations) -> Updates:
    """The same writer, but some of its writes are prepared first."""
    if not preparations:
        return writer

    def prepared(result: Any) -> list[Write]:
        return [
            (name, preparations[name](value) if name in preparations else value)
            for name, value in writer(result)
        ]

    return prepared
