"""A node, as the machine sees it.

A user's node is a function from state to update. To the machine it is a small pipeline,
and a *task* is one walk through it:

    read channels ─▶ mapper ─▶ function ─▶ writers ─▶ routes
                     (schema)   (user's)    result     (user's) state after my own
                                            to writes           writes ─▶ more writes

Two of these stations are the user's code, which may be async. Everything else is plain
computation. So `PregelNode.work` is a generator: it yields a `Call` wherever user code
must be called and receives what it returned. The sync and the async runner differ only
in how they answer a `Call`; the pipeline exists once.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from minigraph.constants import TAG_HIDDEN
from minigraph.doors import lazy_door
from minigraph.pregel.selection import Selection
from minigraph.types import RunnableConfig, new_record

if TYPE_CHECKING:
    from minigraph.policies import Policies

on_demand = lazy_door(__name__, {"by_annotation": "minigraph.pregel.parameters"})
"""Mostly there is nothing to find."""

Write: TypeAlias = tuple[str, Any]
"""A channel's name, and what to write to it."""

Writer: TypeAlias = Callable[[Any], Iterable[Write]]
"""From what a node returned to writes."""


class Call(NamedTuple):
    """User code that must now be called, once, with these arguments.

    `chooses` is True for a path function: it is asked where to go, and does no work. `awaited` is
    its async twin, if it has one.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    is_async: bool
    chooses: bool = False
    awaited: Callable[..., Awaitable[Any]] | None = None


NO_KEYWORDS: Final[Mapping[str, Any]] = MappingProxyType({})


class Surroundings(Protocol):
    """What a task may ask of the run around it. Whatever `GIVEN` names, it has."""

    @property
    def config(self) -> RunnableConfig:
        """The task's config (MR-06)."""

    @property
    def runtime(self) -> Any:
        """The task's run-time object (MR-02)."""

    @property
    def previous(self) -> Any:
        """What the thread's last run has saved for this one (FN-06)."""

    def write(self, chunk: Any) -> None:
        """Tell the reader of the stream ``custom`` (ST-17)."""

    def read(self, selection: Selection, writes: Sequence[Write]) -> Any:
        """The state as this task left it: the super-step's start plus its own `writes`."""


GIVEN: Final[Mapping[str, str]] = {"writer": "write"} | {
    name: name for name in ("config", "runtime", "previous", "store")
}
"""Parameters that are given by name: the name → what of the surroundings it is."""


class Graph:
    """A graph, as far as a node must know of it: it can be called like a function.

    Attributes:
        invoke, ainvoke: run it; the second on the event loop.
        checkpointer: its saver; None takes that of the graph around it, False none; True takes
            it too, and remembers from call to call (SB-12).
        layout: its nodes and channels.
        name: its own name.
    """

    invoke: Any
    ainvoke: Any
    checkpointer: Any
    layout: Any
    name: str


class UserFunction:
    """A callable of the user's, and what must be known to call it.

    Functions, methods, partials, classes with ``__call__`` and their async kinds are all
    fine, and so are graphs, and other objects with an ``invoke``, and perhaps an ``ainvoke``. The
    first parameter receives the state. Others are given by their names, see `GIVEN`, or by their
    annotations, see `parameters` (MR-05).

    >>> UserFunction(lambda state, config: None).wants
    (('config', 'config'),)
    """

    __slots__ = ("awaited", "function", "graph", "is_async", "name", "wants")

    def __init__(self, function: Any, name: str | None = None) -> None:
        self.graph = function if isinstance(function, Graph) else None
        is_invoked = self.graph is not None or not callable(function)
        self.function: Callable[..., Any] = function.invoke if is_invoked else function
        self.awaited = getattr(function, "ainvoke", None) if is_invoked else None
        self.name = name or function_name(function)
        self.is_async = is_coroutine_function(self.function)
        further = () if self.graph else parameter_names(self.function)[1:]
        self.wants = tuple((n, GIVEN[n]) for n in GIVEN if n in further) if further else ()
        if len(self.wants) < len(further):
            self.wants += on_demand("by_annotation")(function)

    def call(self, value: Any, surroundings: Surroundings, chooses: bool = False) -> Call:
        """The call of this function with a value."""
        keywords: Mapping[str, Any] = NO_KEYWORDS
        if self.wants:
            keywords = {name: getattr(surroundings, source) for name, source in self.wants}
        fields = (self.function, (value,), keywords, self.is_async, chooses, self.awaited)
        return new_record(Call, fields)


def function_name(function: Callable[..., Any]) -> str:
    """A callable's own name, or that of its class."""
    return str(getattr(function, "__name__", type(function).__name__))


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Whether a call of it must be awaited; an object counts by its ``__call__``."""
    if type(function) is FunctionType and not function.__dict__:  # and so no mark that says more
        return bool(function.__code__.co_flags & inspect.CO_COROUTINE)
    if inspect.iscoroutinefunction(function):
        return True
    return not inspect.isroutine(function) and inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004  # not asking, looking
    )


def parameter_names(function: Callable[..., Any]) -> Sequence[str]:
    """The names of a callable's parameters; none when Python cannot tell.

    >>> parameter_names(lambda state, *, config: None)
    ('state', 'config')
    """
    code = getattr(function, "__code__", None)
    # The direct way is many times faster than `inspect.signature`, and graphs have many nodes.
    # It does not see through decorators, so those take the long way.
    if code is not None and not hasattr(function, "__wrapped__"):
        names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        return names
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


@dataclass(frozen=True, slots=True)
class Route:
    """A conditional edge: look at the state, then write to the channels of the nodes to run.

    Args:
        path: the user's function, from state to a choice.
        selection: which channels it reads.
        mapper: from what was read to the object it receives.
        writes: from the choice to writes.
        sees_result: it also sees what its node returned besides the state's own keys (SG-50).
    """

    path: UserFunction
    selection: Selection
    mapper: Callable[[Any], Any] | None
    writes: Writer
    sees_result: bool = False


@dataclass(frozen=True, slots=True)
class PregelNode:
    """One node: what starts it, what it reads, what it does, and where its result goes.

    Args:
        name: the node's name.
        triggers: the channels that start it when one of them moves.
        channels: what it reads.
        mapper: from what was read to what the function receives.
        bound: the function; ``None`` passes the input on.
        then: functions that go on with what it returned, one after the other.
        writers: from the result to writes, in order.
        edges: what it writes whatever it returned: its static edges.
        routes: conditional edges, taken last.
        tags, metadata: shown to the node in its config.
        targets: channels that the writers are known to write to; for drawings.
        policies: what is to be done when it fails, takes long or repeats; see `retry`.
    """

    name: str
    triggers: tuple[str, ...]
    channels: Selection
    mapper: Callable[[Any], Any] | None = None
    bound: UserFunction | None = None
    then: tuple[UserFunction, ...] = ()
    writers: tuple[Writer, ...] = ()
    edges: tuple[Write, ...] = ()
    routes: tuple[Route, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    policies: Policies | None = None

    @property
    def hidden(self) -> bool:
        """Whether streams leave this node out."""
        return TAG_HIDDEN in self.tags

    @property
    def async_functions(self) -> list[str]:
        """Names of the functions in here that only an async run can call."""
        functions = [self.bound, *self.then, *(route.path for route in self.routes)]
        names = [f.name for f in functions if f is not None and f.is_async]
        graphs = [f.graph for f in functions if f is not None and f.graph is not None]
        return names + [f"{self.name}/{n}" for each in graphs for n in each.layout.async_nodes]

    def work(
        self,
        value: Any,
        surroundings: Surroundings,
        *,
        sent: bool = False,
        returned: bool = False,
    ) -> Generator[Call, Any, Sequence[Write]]:
        """One walk through the pipeline: yields each `Call`, returns all writes.

        Args:
            value: what was read for the node.
            surroundings: what user code may ask of the run.
            sent: the value is a Send's argument, and is passed on exactly as it is (CS-31).
            returned: the value is what the function is to have returned, so it is not called:
                this is how `update_state` writes as a node (CP-60).

        >>> node = PregelNode("double", ("x",), Selection("x"), bound=UserFunction(lambda x: 2 * x),
        ...                   writers=(lambda result: [("x", result)],))
        >>> work = node.work(21, None)
        >>> call = next(work)
        >>> try: work.send(call.function(*call.arguments))
        ... except StopIteration as done: print(done.value)
        [('x', 42)]
        """
        if not returned:
            if self.mapper is not None and not sent:
                value = self.mapper(value)
            if self.bound is not None:
                value = yield self.bound.call(value, surroundings)
            for function in self.then:
                value = yield function.call(value, surroundings)
        writes: list[Write] = []
        for writer in self.writers:
            writes += writer(value)
        writes += self.edges
        for route in self.routes:
            # A path function sees its node's writes and no sibling's (SG-50).
            state = surroundings.read(route.selection, writes)
            state = state if route.mapper is None else route.mapper(state)
            if route.sees_result and type(value) is dict and type(state) is dict:
                state = {**value, **state}
            choice = yield route.path.call(state, surroundings, chooses=True)
            writes += route.writes(choice)
        return writes
