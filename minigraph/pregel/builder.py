"""A node without a StateGraph: what starts it, what it reads, where its result goes.

`StateGraph` makes channels of a schema, and triggers of edges. Beneath that there is nothing
but channels, nodes that listen to some of them, and writes. `NodeBuilder` says just that:

    subscribe_only("a")          it starts when a moves, and gets the bare value
    subscribe_to("a", "b")       it starts when one of them moves, and gets a dict
    read_from("c")               the dict has c too; c starts nothing
    do(first).do(second)         what it does, as a pipeline
    write_to("x", y=len)         the result goes to x, and what len makes of it to y

A graph of such nodes is made with `Pregel` itself. There are no edges in it, no START and no
END: a node runs because somebody wrote to a channel that it listens to, and the run is over
when nobody did.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from minigraph.constants import MISSING, TASKS
from minigraph.errors import InvalidUpdateError
from minigraph.policies import CachePolicy, RetryPolicy, TimeoutPolicy, policies_of
from minigraph.pregel.node import PregelNode, UserFunction, Write, Writer, is_coroutine_function
from minigraph.pregel.selection import Selection

if TYPE_CHECKING:
    from datetime import timedelta

__all__ = ["ChannelWriteEntry", "NodeBuilder"]


class ChannelWriteEntry(NamedTuple):
    """One write that a node makes of its result.

    Fields:
        channel: where it goes.
        value: what is written; the node's result if this is left out.
        skip_none: write nothing instead of None. A plain name in `NodeBuilder.write_to` writes
            it: None is a value (SS-50).
        mapper: a function that makes another value of it, before `skip_none` looks at it.
    """

    channel: str
    value: Any = MISSING
    skip_none: bool = False
    mapper: Callable[[Any], Any] | None = None


class NodeBuilder:
    """Describes a node for a `Pregel` made by hand. All methods return the builder itself.

    Rules: SS-50.

    >>> from minigraph.channels import EphemeralValue, LastValue
    >>> from minigraph.pregel import Pregel
    >>> double = NodeBuilder().subscribe_only("text").do(lambda text: 2 * text)
    >>> graph = Pregel(
    ...     nodes={"double": double.write_to("doubled", length=len)},
    ...     channels={
    ...         "text": EphemeralValue(str), "doubled": LastValue(str), "length": LastValue(int)
    ...     },
    ...     input_channels="text",
    ...     output_channels=["doubled", "length"],
    ... )
    >>> graph.invoke("ab")
    {'doubled': 'abab', 'length': 4}
    """

    __slots__ = (
        *("entries", "functions", "metadata", "reads", "single", "tags", "triggers"),
        *("cache", "retry", "timeout"),
    )

    def __init__(self) -> None:
        self.triggers: list[str] = []
        self.reads: list[str] = []
        self.single = False  # it reads one bare value
        self.functions: list[UserFunction] = []
        self.entries: list[ChannelWriteEntry] = []
        self.tags: list[str] = []
        self.metadata: dict[str, Any] = {}
        self.retry: list[RetryPolicy] = []
        self.cache: CachePolicy | None = None
        self.timeout: TimeoutPolicy | None = None

    def subscribe_only(self, channel: str) -> Self:
        """Start when this channel moves, and receive its bare value.

        Raises `ValueError` if the node reads something already: a bare value is all it gets.
        """
        require_names("subscribe_only", (channel,))
        if self.reads:
            raise ValueError(
                f"subscribe_only({channel!r}) makes {channel!r} all that the node reads, but it "
                f"reads {self.reads} already. For several channels, use subscribe_to."
            )
        self.single = True
        self.reads.append(channel)
        self.triggers.append(channel)
        return self

    def subscribe_to(self, *channels: str, read: bool = True) -> Self:
        """Start when one of these channels moves, and receive a dict of those with a value.

        Args:
            channels: their names.
            read: False to be started by them without having them in the dict.

        Raises `ValueError` after `subscribe_only`.

        >>> node = NodeBuilder().subscribe_to("go", read=False).subscribe_to("a").build()
        >>> node.triggers, node.channels
        (('go', 'a'), Selection(['a']))
        """
        require_names("subscribe_to", channels)
        self.refuse_more("subscribe_to", channels)
        if read:
            self.reads += channels
        self.triggers += channels
        return self

    def read_from(self, *channels: str) -> Self:
        """Have these channels in the dict too; they start nothing.

        Raises `ValueError` after `subscribe_only`.
        """
        require_names("read_from", channels)
        self.refuse_more("read_from", channels)
        self.reads += channels
        return self

    def refuse_more(self, method: str, channels: Iterable[str]) -> None:
        if self.single:
            raise ValueError(
                f"{method} adds {list(channels)}, but subscribe_only({self.reads[0]!r}) said that "
                "a bare value is all that the node gets. For several channels, use subscribe_to "
                "for the first one too."
            )

    def do(self, function: Callable[..., Any]) -> Self:
        """Call this with what was read; or, after another `do`, with what that one returned.

        Functions may be async; one with a parameter called ``config`` receives the config, as
        the nodes of a `StateGraph` do (MR-05). A node without a function passes on what it read.

        Raises `TypeError` for what is no function, and for generator functions.
        """
        if not callable(function):
            raise TypeError(f"do needs a function, not {function!r}.")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"do needs a function that returns its result, but {function.__name__!r} yields. "
                "Return a list, or write to a Topic."
            )
        self.functions.append(UserFunction(function))
        return self

    def write_to(self, /, *channels: str | ChannelWriteEntry, **mapped: Any) -> Self:
        """Write the result to these channels, in the order given.

        Args:
            channels: a name writes the result as it is, None included. A `ChannelWriteEntry`
                says more.
            mapped: channel → what to write to it: a function makes it of the result, anything
                else is written as it is. These come after `channels`.

        A result is a value and nothing more: a `Command` or `Send` in it is written like any
        other. Writes to channels that the graph does not have are warned of and ignored (SS-25).

        Raises `InvalidUpdateError` for the channel of the machine's own, `TypeError` for what
        is no channel's name, and for async functions in `mapped`.
        """
        entries = [
            each if isinstance(each, ChannelWriteEntry) else ChannelWriteEntry(each)
            for each in channels
        ]
        for name, value in mapped.items():
            entries.append(
                ChannelWriteEntry(name, mapper=value)
                if callable(value)
                else ChannelWriteEntry(name, value)
            )
        require_names("write_to", [entry.channel for entry in entries])
        for entry in entries:
            if entry.channel == TASKS:
                raise InvalidUpdateError(
                    f"{TASKS!r} is the machine's own channel, and a node's result cannot be "
                    "written to it. For Sends, use a StateGraph, or give a PregelNode a writer."
                )
            if entry.mapper is not None and is_coroutine_function(entry.mapper):
                raise TypeError(
                    f"What is written to {entry.channel!r} is made by an async function, and "
                    "nobody awaits it there. Do the async work in `do`."
                )
        self.entries += entries
        return self

    def meta(self, /, *tags: str, **metadata: Any) -> Self:
        """Tags and metadata that the node finds in its config (MR-06)."""
        self.tags += tags
        self.metadata |= metadata
        return self

    def add_retry_policies(self, *policies: RetryPolicy) -> Self:
        """When to try the node again; the first policy that covers an error decides (ER-12)."""
        self.retry += policies
        return self

    def add_cache_policy(self, policy: CachePolicy) -> Self:
        """Use the node's output again, where the graph has a cache (ER-50)."""
        self.cache = policy
        return self

    def set_timeout(self, timeout: float | timedelta | TimeoutPolicy | None) -> Self:
        """How long the node may take, if its functions are async (ER-20). Raises as
        `TimeoutPolicy.coerce` does."""
        self.timeout = TimeoutPolicy.coerce(timeout)
        return self

    def build(self) -> PregelNode:
        """The node, without a name: a graph gives it the one that it stands under.

        Later changes of the builder do not reach it.

        >>> NodeBuilder().subscribe_only("a").write_to("b").build().triggers
        ('a',)
        """
        return PregelNode(
            name="",
            triggers=tuple(dict.fromkeys(self.triggers)),
            channels=Selection(self.reads[0] if self.single else dict.fromkeys(self.reads)),
            bound=self.functions[0] if self.functions else None,
            then=tuple(self.functions[1:]),
            writers=(writing(tuple(self.entries)),) if self.entries else (),
            tags=tuple(self.tags),
            metadata=dict(self.metadata),
            targets=tuple(dict.fromkeys(entry.channel for entry in self.entries)),
            policies=policies_of("A node", self.retry, self.cache, self.timeout),
        )


def require_names(method: str, channels: Iterable[Any]) -> None:
    """Raise `TypeError` for what is no name of a channel."""
    for channel in channels:
        if not isinstance(channel, str):
            raise TypeError(
                f"{method} takes the names of channels, one by one, such as {method}('a'), "
                f"but this is {channel!r}."
            )


def writing(entries: tuple[ChannelWriteEntry, ...]) -> Writer:
    """The writer that makes these writes of a result.

    >>> writing((ChannelWriteEntry("a"), ChannelWriteEntry("b", mapper=len)))("xyz")
    [('a', 'xyz'), ('b', 3)]
    """

    def writer(result: Any) -> list[Write]:
        writes: list[Write] = []
        for channel, value, skip_none, mapper in entries:
            if value is MISSING:
                value = result
            if mapper is not None:
                value = mapper(value)
            if value is not None or not skip_none:
                writes.append((channel, value))
        return writes

    return writer
