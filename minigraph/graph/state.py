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

import inspect
import types
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Literal, Self, Union, get_args, get_origin

from minigraph.channels.base import BaseChannel
from minigraph.channels.last_value import LastValue
from minigraph.constants import END, LEVEL_SEPARATOR, RESERVED, START, TASK_SEPARATOR
from minigraph.doors import lazy_door
from minigraph.graph.branch import BranchSpec
from minigraph.graph.declaration import Declaration, NodeSpec
from minigraph.graph.schema import (
    annotations_of,
    channels_of,
    fields_of,
    is_keyed,
    managed_of,
    name_of,
    parameter_schema,
)
from minigraph.managed import Managed
from minigraph.pregel.node import GIVEN, Graph, UserFunction, function_name
from minigraph.types import All, Command

if TYPE_CHECKING:
    from datetime import timedelta

    from minigraph.cache.base import BaseCache
    from minigraph.checkpoint.base.saver import BaseCheckpointSaver
    from minigraph.graph.compile import CompiledStateGraph
    from minigraph.policies import CachePolicy, Policies, RetryPolicy, TimeoutPolicy
    from minigraph.store.base import BaseStore

__all__ = ["CompiledStateGraph", "StateGraph"]

on_demand = lazy_door(
    __name__,
    {
        "CompiledStateGraph": "minigraph.graph.compile",
        "compiled": "minigraph.graph.compile",
        "policies_of": "minigraph.policies",
        "takes_error": "minigraph.failures",
    },
)
__getattr__ = on_demand
"""What runs is another matter than what is declared. Whoever reads this room, or imports it, needs
none of the machine before somebody compiles."""


class StateGraph:
    """Declares a graph whose nodes communicate by reading and writing one shared state.

    Args:
        state_schema: the state: a TypedDict, a dataclass or a pydantic model, one channel per
            key, or a plain type for a state that is a single value (SG-01).
        context_schema: what the ``context=`` of a call is (MR-04).
        input_schema: the keys that an input may have; all of the state by default (SG-07).
        output_schema: the keys that `invoke` returns; all of the state by default.

    Raises `TypeError` for what is no schema, `ValueError` for schemas that do not go together,
    for a reserved key and for a reducer that does not take two arguments (SG-03, SG-05, SG-31).

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
        context_schema: Any | None = None,
        *,
        input_schema: Any | None = None,
        output_schema: Any | None = None,
    ) -> None:
        self.state_schema = state_schema
        self.has_keys = is_keyed(state_schema)
        self.context_schema = context_schema
        self.input_schema = state_schema if input_schema is None else input_schema
        self.output_schema = state_schema if output_schema is None else output_schema
        self.nodes: dict[str, NodeSpec] = {}
        self.edges: dict[tuple[str, str], None] = {}
        self.waiting_edges: dict[tuple[tuple[str, ...], str], None] = {}
        self.branches: dict[str, dict[str, BranchSpec]] = {}
        self.channels: dict[str, BaseChannel[Any, Any, Any]] = {}
        self.managed: dict[str, Managed] = {}
        self.default_policies: Policies | None = None
        self.default_handler: Callable[..., Any] | None = None
        self.schemas: list[Any] = []
        for schema in (self.state_schema, self.input_schema, self.output_schema):
            if schema is not self.state_schema and (managed := managed_of(schema)):
                raise ValueError(
                    f"{name_of(schema)} has {sorted(managed)}, which the run itself provides: they "
                    "are no part of an input or an output. Move them to the state."
                )
            self.add_schema(schema)

    def add_schema(self, schema: Any) -> None:
        """Add the channels of a schema to the state.

        A key that is there already must mean the same, or add nothing (SG-05).
        """
        if any(schema is known for known in self.schemas):
            return
        require_schema(schema)
        if is_keyed(schema) != self.has_keys:
            whole, part = (
                ("keys", "a single value") if self.has_keys else ("a single value", "keys")
            )
            raise ValueError(
                f"The state {name_of(self.state_schema)} is made of {whole}, so it cannot be read "
                f"or written as {name_of(schema)}, which is made of {part}. Give all schemas keys, "
                "or none."
            )
        channels, managed = channels_of(schema), managed_of(schema)
        both = {*self.channels, *channels} & {*self.managed, *managed}
        if both:
            raise ValueError(
                f"The run provides {sorted(both)} in one schema, and another one makes channels of "
                "them. Rename the one or the other."
            )
        for name, channel in channels.items():
            known = self.channels.get(name)
            if known is not None and known != channel and not isinstance(channel, LastValue):
                raise ValueError(
                    f"Channel {name!r} already exists with a different type: it is "
                    f"{described(known)}, and {name_of(schema)} makes it {described(channel)}. "
                    "Give the key the same annotation in all schemas."
                )
        self.schemas.append(schema)
        self.managed.update(managed)
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
        destinations: Mapping[str, str] | Sequence[str] | None = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy | None = None,
        error_handler: Callable[..., Any] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
    ) -> Self:
        """Add a node.

        Args:
            node: its name, or the function, which then gives it its name.
            action: the function, when `node` is a name: from the state to an update of it.
                Further parameters are given by their names, such as ``config`` (MR-05).
            defer: run it only when nothing else is left to run (SS-08).
            metadata: shown to the node in its config.
            input_schema: what it reads, if that is not the state; by default the annotation of
                the function's first parameter, where that is a schema (SG-08).
            destinations: the nodes that it may go to by a `Command`, as a list, or as a dict from
                names to labels. They are for drawings; by default they are taken from a return
                annotation ``Command[Literal[...]]`` (CS-06).
            retry_policy: whether to try again when it fails; of several policies the first that
                covers the error decides (ER-10).
            cache_policy: whether to use its output again, if the graph has a cache (ER-50).
            error_handler: called when it has failed for good, with the input of the node, and with
                a parameter ``error: NodeError`` if it has one; its result counts instead (ER-30).
            timeout: how long it may take, if it is async (ER-20).

        Raises `ValueError` for a name that is taken, reserved, or has ``|`` or ``:`` in it, and
        `TypeError` for what cannot be called with a state.
        """
        if action is None:
            if isinstance(node, str):
                raise RuntimeError(f"Node {node!r} has no function: add_node({node!r}, function).")
            own = node.name if isinstance(node, Graph) else function_name(node)
            name, action = own, node
        else:
            name = as_name(node, "a node")
        require_function(action, f"Node {name!r}")
        if name in self.nodes:
            raise ValueError(
                f"Node {name!r} already present; every node needs a name of its own: "
                "add_node(name, function)."
            )
        if name in RESERVED or name in (START, END):
            raise ValueError(f"Node {name!r} is reserved; choose another name.")
        for character in (LEVEL_SEPARATOR, TASK_SEPARATOR):
            if character in name:
                raise ValueError(
                    f"{character!r} is a reserved character and cannot be in node name {name!r}: "
                    "namespaces are written with it."
                )
        if metadata is not None and not isinstance(metadata, Mapping):
            raise TypeError(f"The metadata of node {name!r} must be a dict, not {metadata!r}.")
        hints = annotations_of(action)
        spec = NodeSpec(
            UserFunction(action, name),
            self.schema_for(action, hints, input_schema),
            defer,
            dict(metadata or {}),
            declared_targets(hints) if destinations is None else labelled(name, destinations),
            policies_of(f"Node {name!r}", retry_policy, cache_policy, timeout),
            checked_handler(error_handler, f"The error handler of node {name!r}"),
        )
        if spec.input_schema is not self.state_schema:
            self.add_schema(spec.input_schema)
        self.nodes[name] = spec
        return self

    def set_node_defaults(
        self,
        *,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy | None = None,
        error_handler: Callable[..., Any] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
    ) -> Self:
        """What holds for all nodes that say nothing else, added before or later (ER-33).

        Error handlers are nodes, too, as far as `retry_policy` and `timeout` are concerned.
        """
        self.default_policies = policies_of("A node", retry_policy, cache_policy, timeout)
        self.default_handler = checked_handler(error_handler, "The error handler of all nodes")
        return self

    def schema_for(
        self, function: Callable[..., Any], hints: Mapping[str, Any], given: Any | None
    ) -> Any:
        """What a function reads: what is said, or what it says itself, or the state.

        A state that is a single value is read whole, whatever a function calls it.
        """
        if given is not None:
            return given
        own = parameter_schema(function, hints) if self.has_keys else None
        return self.state_schema if own is None else own

    def add_sequence(
        self, nodes: Iterable[Callable[..., Any] | tuple[str, Callable[..., Any]]]
    ) -> Self:
        """Add nodes, given as functions or as (name, function), with edges from each to the next.

        Raises `ValueError` if there are none, or if a name repeats (SG-32).
        """
        if isinstance(nodes, str) or not isinstance(nodes, Iterable):
            raise TypeError(f"A sequence is a list of functions, but this is {nodes!r}.")
        named: dict[str, Callable[..., Any]] = {}
        for each in nodes:
            if isinstance(each, str):
                raise TypeError(
                    f"A sequence adds new nodes, as functions or as (name, function), but {each!r} "
                    "is only a name. To connect nodes that are there, use add_edge."
                )
            name, action = each if isinstance(each, tuple) else (function_name(each), each)
            if name in self.nodes or name in named:
                raise ValueError(
                    f"Node names must be unique: {name!r} already exists. "
                    "Pass (name, function) to name a function otherwise."
                )
            named[name] = action
        if not named:
            raise ValueError("Sequence requires at least one node.")
        previous: str | None = None
        for name, action in named.items():
            self.add_node(name, action)
            if previous is not None:
                self.add_edge(previous, name)
            previous = name
        return self

    # ------------------------------------------------------------ edges

    def add_edge(self, start_key: str | Iterable[str], end_key: str) -> Self:
        """Run `end_key` after `start_key`; after *all* of them, once, if these are several (SS-06).

        Raises `ValueError` for an edge from END or to START, and, in a list, for nodes that
        have not been added.
        """
        if not isinstance(end_key, str):
            raise TypeError(
                f"An edge ends at one node, but this one (from {start_key!r}) ends at {end_key!r}: "
                "add one edge for each target, by the names of the nodes."
            )
        end = as_name(end_key, "the end of an edge")
        if end == START:
            raise ValueError(f"START cannot be an end node (edge from {start_key!r}).")
        if isinstance(start_key, str) or not isinstance(start_key, Iterable):
            start = as_name(start_key, "the start of an edge")
            if start == END:
                raise ValueError(f"END cannot be a start node (edge to {end!r}).")
            self.edges[start, end] = None
            return self
        starts = tuple(as_name(each, "the start of an edge") for each in start_key)
        if isinstance(start_key, (set, frozenset)):
            # The channel is called after them, and another process must call it the same.
            starts = tuple(sorted(starts))
        if not starts:
            raise ValueError(f"An edge to {end!r} starts nowhere: the list of its starts is empty.")
        for name in starts:
            if name == END:
                raise ValueError(f"END cannot be a start node (edge to {end!r}).")
            if name == START:
                raise ValueError(
                    f"START cannot be in a list edge (to {end!r}): nothing waits for it."
                )
            self.require_node(name)
        if end != END:
            self.require_node(end)
        self.waiting_edges[starts, end] = None
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
        path_map: Mapping[Hashable, str] | Iterable[str] | None = None,
    ) -> Self:
        """Let a function choose what runs after `source`.

        Args:
            source: the node after which it is asked; may be START.
            path: from the state, `source`'s own writes included, to a node name, END, a `Send`,
                or a list of these (SG-50, SG-51).
            path_map: from what it returns to node names; or just the names it may return.

        Raises `ValueError` if `source` already has a branch of this name (SG-29), or is END.
        """
        source = as_name(source, "the source of a branch")
        if source == END:
            raise ValueError("END cannot be a start node (of a conditional edge).")
        if not callable(path):
            raise TypeError(
                f"The branch after {source!r} needs a function from the state to a choice, not "
                f"{path!r}. For an edge that is always taken, use add_edge."
            )
        require_function(path, f"The branch after {source!r}")
        name = getattr(path, "__name__", None)
        name = "condition" if name in (None, "<lambda>") else name
        if name in self.branches.get(source, ()):
            raise ValueError(
                f"Branch with name {name!r} already exists for node {source!r}. A branch is called "
                "after its function; give the function another name."
            )
        branch = BranchSpec.declare(source, path, path_map)
        if not self.has_keys:
            branch = replace(branch, schema=None)
        if branch.schema is not None:
            self.add_schema(branch.schema)
        self.branches.setdefault(source, {})[name] = branch
        return self

    def set_entry_point(self, key: str) -> Self:
        """The same as an edge from START."""
        return self.add_edge(START, key)

    def set_conditional_entry_point(
        self,
        path: Callable[..., Any],
        path_map: Mapping[Hashable, str] | Iterable[str] | None = None,
    ) -> Self:
        """The same as conditional edges from START."""
        return self.add_conditional_edges(START, path, path_map)

    def set_finish_point(self, key: str) -> Self:
        """The same as an edge to END."""
        return self.add_edge(key, END)

    # ------------------------------------------------------------ compiling

    def compile(
        self,
        checkpointer: BaseCheckpointSaver[Any] | bool | None = None,
        *,
        interrupt_before: All | Sequence[str] | None = None,
        interrupt_after: All | Sequence[str] | None = None,
        store: BaseStore | None = None,
        cache: BaseCache[Any] | None = None,
        name: str | None = None,
    ) -> CompiledStateGraph:
        """The graph, ready to run. Later changes of the builder do not reach it.

        Args:
            checkpointer: the saver that keeps its threads; without one nothing is kept. A graph
                that is to be called inside of another one takes the saver of that one, and starts
                afresh in each task of the node that it is in; it is kept as far as is needed to go
                on within that task, after a question or a failure. With True it also remembers,
                from call to call, for the life of the thread; with False nothing of it is kept, and
                after a question it runs again from its beginning (SB-12).
            interrupt_before, interrupt_after: nodes at which every run stops, ``"*"`` for all;
                go on with ``invoke(None)`` (IN-60, IN-62).
            store: where nodes find what is to outlive their threads (LM-08).
            cache: where outputs are kept of nodes that have a `CachePolicy` (ER-50).
            name: the graph's name.

        Raises `ValueError` for edges and branches that name unknown nodes, and if nothing
        starts at START; `TypeError` for something that is no saver (SG-20 to SG-34).
        """
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
            context_schema=self.context_schema,
            schemas=tuple(self.schemas),
            managed=dict(self.managed),
            default_policies=self.default_policies,
            default_handler=self.default_handler,
        )
        graph: CompiledStateGraph = on_demand("compiled")(
            declared,
            self,
            checkpointer=checkpointer,
            interrupt_before=interrupt_before or (),
            interrupt_after=interrupt_after or (),
            store=store,
            cache=cache,
            name=name or "LangGraph",
        )
        return graph

    def validate(self) -> Self:
        """Refuse a graph that names nodes it does not have, or that does not begin anywhere."""
        sources = [*(start for start, _ in self.edges), *self.branches]
        for name in sources:
            if name not in self.nodes and name != START:
                raise ValueError(f"Found edge starting at unknown node {name!r}; {self.hint(name)}")
        if START not in sources:
            raise ValueError(
                "Graph must have an entrypoint: add at least one edge from START to another node."
            )
        for start, end in self.edges:
            if end not in self.nodes and end != END:
                raise ValueError(
                    f"Found edge ending at unknown node {end!r} (from {start!r}); {self.hint(end)}"
                )
        for source, branches in self.branches.items():
            for name, branch in branches.items():
                for end in (branch.ends or {}).values():
                    if end not in self.nodes and end != END:
                        raise ValueError(
                            f"At node {source!r}, branch {name!r} found unknown target {end!r}; "
                            f"{self.hint(end)}"
                        )
        for name, spec in self.nodes.items():
            for end in spec.destinations:
                if end not in self.nodes and end != END:
                    raise ValueError(
                        f"Found edge ending at unknown node {end!r}: {name!r} names it as a "
                        f"destination, or in its return annotation; {self.hint(end)}"
                    )
        return self

    def hint(self, name: str) -> str:
        """What to say to somebody who names a node that is not there."""
        if name in ("START", "END"):
            return f"{name} is a constant: from minigraph.graph import {name}."
        return f"there are {sorted(self.nodes)}. Correct the name, or add the node with add_node."


def described(channel: BaseChannel[Any, Any, Any]) -> str:
    """A channel's class, and its reducer where that is what tells it apart."""
    reducer = getattr(channel, "operator", None)
    name = type(channel).__name__
    return name if reducer is None else f"{name} with {getattr(reducer, '__name__', reducer)}"


# ---------------------------------------------------------------- slips, told where they are made


def as_name(name: Any, what: str) -> str:
    """A node's name as plain text: it may be a member of an enum of texts.

    >>> as_name("a", "a node")
    'a'
    """
    if type(name) is str:
        return name
    if not isinstance(name, str):
        hint = f" Nodes go by their names: {function_name(name)!r}." if callable(name) else ""
        raise TypeError(f"The name of {what} is text, but this is {name!r}.{hint}")
    return str.__str__(name)


def require_schema(schema: Any) -> None:
    """Refuse what is no type, and so cannot say what a state is made of."""
    is_value = schema is None or isinstance(
        schema, (str, bytes, int, float, list, tuple, set, frozenset, dict, types.FunctionType)
    )
    if is_value or (not isinstance(schema, type) and fields_of(type(schema))):
        raise TypeError(
            f"A schema is a class, such as a TypedDict, or a type, but this is {schema!r:.200}. "
            "Pass the class itself, and not an instance of it."
        )


def policies_of(who: str, *said: Any) -> Policies | None:
    """What was said of a node's failures, time limits and caches. Mostly that is nothing."""
    if all(each is None for each in said):
        return None
    policies: Policies | None = on_demand("policies_of")(who, *said)
    return policies


def checked_handler(function: Callable[..., Any] | None, who: str) -> Callable[..., Any] | None:
    """An error handler, if it can be one. It may have a parameter more than other functions."""
    if function is not None:
        takes_error = on_demand("takes_error")(annotations_of(function))
        require_function(function, who, ("error",) if takes_error else ())
    return function


def require_function(function: Any, who: str, further: Sequence[str] = ()) -> None:
    """Refuse what cannot be called with a state, and given by name whatever else it wants.

    >>> require_function(lambda state, db: None, "Node 'a'")
    Traceback (most recent call last):
    TypeError: Node 'a' needs 'db', which nobody gives it: ...
    """
    if isinstance(function, Graph):
        return
    if not callable(function) and callable(getattr(function, "invoke", None)):
        function = function.invoke
    if not callable(function):
        hint = " Compile it first: builder.compile()." if isinstance(function, StateGraph) else ""
        raise TypeError(f"{who} needs a function, not {type(function).__name__}.{hint}")
    if isinstance(function, types.FunctionType):
        code = function.__code__
        makes_generator = code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR)
        if not makes_generator and code.co_argcount == 1 and not code.co_kwonlyargcount:
            return  # as most; everything below is slow
    called = (function, getattr(function, "__call__", function))  # noqa: B004  # an object's method
    if any(inspect.isgeneratorfunction(f) or inspect.isasyncgenfunction(f) for f in called):
        raise TypeError(
            f"{who} is a generator function: it would return a generator, which is no result. "
            "Return what it makes, as one value."
        )
    try:
        # A decorator's own signature counts: it may give its function more than it is given.
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return
    parameters = [*signature.parameters.values()]
    if not parameters or parameters[0].kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD):
        raise TypeError(
            f"{who} must take the state as its first parameter, but it takes {signature}."
        )
    given = {*GIVEN, *further, *(name for name, _ in UserFunction(function).wants)}
    for parameter in parameters[1:]:
        if (
            parameter.default is Parameter.empty
            and parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
            and parameter.name not in given
        ):
            raise TypeError(
                f"{who} needs {parameter.name!r}, which nobody gives it: it is called with the "
                f"state, and with {sorted(GIVEN)} if it has parameters of these names. "
                "Give it a default, or bind it with functools.partial."
            )


def labelled(name: str, destinations: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """Destinations as name → label."""
    if isinstance(destinations, str) or not isinstance(destinations, Iterable):
        raise TypeError(
            f"The destinations of node {name!r} are given as a list of names, or as a dict from "
            f"names to labels, but they are {destinations!r}."
        )
    if isinstance(destinations, Mapping):
        return {as_name(end, "a destination"): label for end, label in destinations.items()}
    return {as_name(end, "a destination"): "" for end in destinations}


def declared_targets(hints: Mapping[str, Any]) -> dict[str, str]:
    """The targets that a node's return annotation names, in each ``Command[Literal[…]]`` (CS-06).

    >>> declared_targets({"return": Command[Literal["a", "b"]] | None})
    {'a': '', 'b': ''}
    """
    returns = hints.get("return")
    if returns is None:
        return {}
    kinds = get_args(returns) if get_origin(returns) in (Union, types.UnionType) else (returns,)
    literals = [get_args(kind)[0] for kind in kinds if get_origin(kind) is Command]
    return {name: "" for each in literals if get_origin(each) is Literal for name in get_args(each)}
