"""`StateGraph`: where a graph is declared.

A builder. It collects nodes, edges and branches, refuses what cannot work as early as it
can tell, and hands everything to `compile`. It never runs anything.

    builder = StateGraph(State)
    builder.add_node("a", function)      # a step: from state to update
    builder.add_edge(START, "a")         # where to begin
    builder.add_edge("a", END)
    graph = builder.compile(checkpointer=InMemorySaver())
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, Self, get_args, get_origin

from minigraph.channels.base import BaseChannel
from minigraph.channels.last_value import LastValue
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.constants import END, LEVEL_SEPARATOR, RESERVED, START, TASK_SEPARATOR
from minigraph.graph.branch import BranchSpec
from minigraph.graph.compile import CompiledStateGraph, Declaration, NodeSpec
from minigraph.graph.schema import annotations_of, channels_of, parameter_schema
from minigraph.pregel.interrupts import Breakpoints
from minigraph.pregel.main import Pregel
from minigraph.pregel.node import UserFunction, function_name
from minigraph.types import Command

__all__ = ["CompiledStateGraph", "StateGraph"]


class StateGraph:
    """Declares a graph whose nodes communicate by reading and writing one shared state.

    Args:
        state_schema: the state: a TypedDict or dataclass, one channel per key, or a plain type
            for a state that is a single value (SG-01).
        input_schema: the keys that an input may have; all of the state by default (SG-07).
        output_schema: the keys that `invoke` returns; all of the state by default.

    All methods that add something return the builder, so calls can be chained.

    >>> from operator import add
    >>> from typing import Annotated, TypedDict
    >>> State = TypedDict("State", {"log": Annotated[list, add]})
    >>> builder = StateGraph(State)
    >>> builder = builder.add_node("a", lambda state: {"log": ["a"]}).add_edge(START, "a")
    >>> builder.compile().invoke({"log": []})
    {'log': ['a']}
    """

    def __init__(
        self,
        state_schema: Any,
        *,
        input_schema: Any | None = None,
        output_schema: Any | None = None,
    ) -> None:
        self.state_schema = state_schema
        self.input_schema = state_schema if input_schema is None else input_schema
        self.output_schema = state_schema if output_schema is None else output_schema
        self.nodes: dict[str, NodeSpec] = {}
        self.edges: dict[tuple[str, str], None] = {}
        self.waiting_edges: dict[tuple[tuple[str, ...], str], None] = {}
        self.branches: dict[str, dict[str, BranchSpec]] = {}
        self.channels: dict[str, BaseChannel[Any, Any, Any]] = {}
        self.schemas: list[Any] = []
        for schema in (self.state_schema, self.input_schema, self.output_schema):
            self.add_schema(schema)

    def add_schema(self, schema: Any) -> None:
        """Add the channels of a schema to the state.

        A key that is there already must mean the same, or add nothing (SG-05).
        """
        if any(schema is known for known in self.schemas):
            return
        channels = channels_of(schema)
        for name, channel in channels.items():
            known = self.channels.get(name)
            if known is not None and known != channel and not isinstance(channel, LastValue):
                raise ValueError(
                    f"Channel {name!r} already exists with a different type: it is "
                    f"{described(known)}, and {getattr(schema, '__name__', schema)} makes it "
                    f"{described(channel)}. Give the key the same annotation in all schemas."
                )
        self.schemas.append(schema)
        for name, channel in channels.items():
            self.channels.setdefault(name, channel)

    # ------------------------------------------------------------ nodes

    def add_node(
        self,
        node: str | Callable[..., Any],
        action: Callable[..., Any] | None = None,
        *,
        defer: bool = False,
        metadata: Mapping[str, Any] | None = None,
        input_schema: Any | None = None,
    ) -> Self:
        """Add a node.

        Args:
            node: its name, or the function, which then gives it its name.
            action: the function, when `node` is a name: from the state to an update of it. A
                parameter named ``config`` receives the config.
            defer: run it only when nothing else is left to run (SS-08).
            metadata: shown to the node in its config.
            input_schema: what it reads, if that is not the state; by default the annotation of
                the function's first parameter, where that is a schema (SG-08).

        Raises `ValueError` for a name that is taken, reserved, or has ``|`` or ``:`` in it.
        """
        if isinstance(node, str):
            name = node
            if action is None:
                raise RuntimeError(f"Node {name!r} has no function: add_node({name!r}, function).")
        else:
            name, action = function_name(node), node
        if isinstance(action, Pregel):
            raise TypeError(
                f"Node {name!r} is a compiled graph. Graphs as nodes are not built yet; "
                "call the graph inside a function."
            )
        if not callable(action):
            raise TypeError(f"Node {name!r} needs a function, not {type(action).__name__}.")
        if name in self.nodes:
            raise ValueError(f"Node {name!r} already present; every node needs a name of its own.")
        if name in RESERVED or name in (START, END):
            raise ValueError(f"Node {name!r} is reserved; choose another name.")
        for character in (LEVEL_SEPARATOR, TASK_SEPARATOR):
            if character in name:
                raise ValueError(
                    f"{character!r} is a reserved character and cannot be in node name {name!r}: "
                    "namespaces are written with it."
                )
        schema = input_schema or parameter_schema(action) or self.state_schema
        self.add_schema(schema)
        self.nodes[name] = NodeSpec(
            UserFunction(action, name), schema, defer, dict(metadata or {}), declared_ends(action)
        )
        return self

    def add_sequence(
        self, nodes: Sequence[Callable[..., Any] | tuple[str, Callable[..., Any]]]
    ) -> Self:
        """Add nodes, given as functions or as (name, function), with edges from each to the next.

        Raises `ValueError` if there are none, or if a name repeats (SG-32).
        """
        if not nodes:
            raise ValueError("Sequence requires at least one node.")
        previous: str | None = None
        for each in nodes:
            name, action = each if isinstance(each, tuple) else (function_name(each), each)
            if name in self.nodes:
                raise ValueError(
                    f"Node names must be unique: {name!r} already exists. "
                    "Pass (name, function) to name a function otherwise."
                )
            self.add_node(name, action)
            if previous is not None:
                self.add_edge(previous, name)
            previous = name
        return self

    # ------------------------------------------------------------ edges

    def add_edge(self, start: str | Sequence[str], end: str) -> Self:
        """Run `end` after `start`; after *all* of them, once, when `start` is a list (SS-06).

        Raises `ValueError` for an edge from END or to START, and, in a list, for nodes that
        have not been added.
        """
        if not isinstance(end, str):
            raise TypeError(
                f"An edge ends at one node, but this one (from {start!r}) ends at {end!r}: "
                "add one edge for each target."
            )
        if end == START:
            raise ValueError(f"START cannot be an end node (edge from {start!r}).")
        if isinstance(start, str):
            if start == END:
                raise ValueError(f"END cannot be a start node (edge to {end!r}).")
            self.edges[start, end] = None
            return self
        for name in start:
            if name == END:
                raise ValueError(f"END cannot be a start node (edge to {end!r}).")
            if name == START:
                raise ValueError(
                    f"START cannot be in a list edge (to {end!r}): nothing waits for it."
                )
            self.require_node(name)
        if end != END:
            self.require_node(end)
        self.waiting_edges[tuple(start), end] = None
        return self

    def require_node(self, name: str) -> None:
        if name not in self.nodes:
            raise ValueError(
                f"Need to add_node {name!r} before a list edge can name it; "
                f"there are {sorted(self.nodes)}."
            )

    def add_conditional_edges(
        self,
        source: str,
        path: Callable[..., Any],
        path_map: Mapping[Hashable, str] | Sequence[str] | None = None,
    ) -> Self:
        """Let a function choose what runs after `source`.

        Args:
            source: the node after which it is asked; may be START.
            path: from the state, `source`'s own writes included, to a node name, END, a `Send`,
                or a list of these (SG-50, SG-51).
            path_map: from what it returns to node names; or just the names it may return.

        Raises `ValueError` if `source` already has a branch of this name (SG-29).
        """
        if not callable(path):
            raise TypeError(
                f"The branch after {source!r} needs a function from the state to a choice, not "
                f"{path!r}. For an edge that is always taken, use add_edge."
            )
        name = getattr(path, "__name__", None)
        name = "condition" if name in (None, "<lambda>") else name
        branches = self.branches.setdefault(source, {})
        if name in branches:
            raise ValueError(f"Branch with name {name!r} already exists for node {source!r}.")
        branches[name] = BranchSpec.declare(path, path_map)
        if branches[name].schema is not None:
            self.add_schema(branches[name].schema)
        return self

    def set_entry_point(self, node: str) -> Self:
        """The same as an edge from START."""
        return self.add_edge(START, node)

    def set_conditional_entry_point(
        self,
        path: Callable[..., Any],
        path_map: Mapping[Hashable, str] | Sequence[str] | None = None,
    ) -> Self:
        """The same as conditional edges from START."""
        return self.add_conditional_edges(START, path, path_map)

    def set_finish_point(self, node: str) -> Self:
        """The same as an edge to END."""
        return self.add_edge(node, END)

    # ------------------------------------------------------------ compiling

    def compile(
        self,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        *,
        interrupt_before: Breakpoints | None = None,
        interrupt_after: Breakpoints | None = None,
        name: str | None = None,
    ) -> CompiledStateGraph:
        """The graph, ready to run. Later changes of the builder do not reach it.

        Args:
            checkpointer: the saver that keeps its threads; without one nothing is kept.
            interrupt_before, interrupt_after: nodes at which every run stops, ``"*"`` for all;
                go on with ``invoke(None)`` (IN-60, IN-62).
            name: the graph's name.

        Raises `ValueError` for edges and branches that name unknown nodes, and if nothing
        starts at START; `TypeError` for something that is no saver (SG-20 to SG-34).
        """
        if checkpointer is not None and not isinstance(checkpointer, BaseCheckpointSaver):
            raise TypeError(
                "Invalid checkpointer provided. Expected an instance of BaseCheckpointSaver, such "
                f"as InMemorySaver(), or None, but received {type(checkpointer).__name__}."
            )
        self.validate()
        declared = Declaration(
            nodes=dict(self.nodes),
            edges=list(self.edges),
            joins=list(self.waiting_edges),
            branches={source: dict(found) for source, found in self.branches.items()},
            channels={name: channel.copy() for name, channel in self.channels.items()},
            state_schema=self.state_schema,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
        )
        graph = CompiledStateGraph(
            declared,
            self,
            checkpointer=checkpointer,
            interrupt_before=interrupt_before or (),
            interrupt_after=interrupt_after or (),
            name=name or "LangGraph",
        )
        graph.breakpoints(graph.interrupt_before, ())
        graph.breakpoints(graph.interrupt_after, ())
        return graph

    def validate(self) -> None:
        """Refuse a graph that names nodes it does not have."""
        known = sorted(self.nodes)
        sources = [start for start, _ in self.edges] + list(self.branches)
        for name in sources:
            if name not in self.nodes and name != START:
                raise ValueError(f"Found edge starting at unknown node {name!r}; known: {known}.")
        if START not in sources:
            raise ValueError(
                "Graph must have an entrypoint: add at least one edge from START to another node."
            )
        for start, end in self.edges:
            if end not in self.nodes and end != END:
                raise ValueError(
                    f"Found edge ending at unknown node {end!r} (from {start!r}); known: {known}."
                )
        for source, branches in self.branches.items():
            for name, branch in branches.items():
                for end in (branch.ends or {}).values():
                    if end not in self.nodes and end != END:
                        raise ValueError(
                            f"At node {source!r}, branch {name!r} found unknown target {end!r}; "
                            f"known: {known}."
                        )
        for name, spec in self.nodes.items():
            for end in spec.ends:
                if end not in self.nodes and end != END:
                    raise ValueError(
                        f"Found edge ending at unknown node {end!r}: the return annotation of "
                        f"{name!r} names it; known: {known}."
                    )


def described(channel: BaseChannel[Any, Any, Any]) -> str:
    """A channel's class, and its reducer where that is what tells it apart."""
    reducer = getattr(channel, "operator", None)
    name = type(channel).__name__
    return name if reducer is None else f"{name} with {getattr(reducer, '__name__', reducer)}"


def declared_ends(action: Callable[..., Any]) -> tuple[str, ...]:
    """The targets that a node's return annotation, ``Command[Literal[…]]``, names (CS-06)."""
    returns = annotations_of(action).get("return")
    if get_origin(returns) is not Command:
        return ()
    (target,) = get_args(returns)
    return get_args(target) if get_origin(target) is Literal else ()
