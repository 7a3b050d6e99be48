"""The nouns that users hold in their hands.

A node speaks to the runtime by what it returns: plain updates, a `Send` ("run this
node with that input"), a `Command` ("update this and go there"), an `Overwrite`
("replace, do not reduce"). It asks people with `interrupt`, and they answer with a `Command`
as the input of the next call. The runtime speaks to its user in snapshots: a
`StateSnapshot` is one checkpoint made readable, with a `PregelTask` for every task
of the super-step that starts from it.

Nothing here does anything, but for `interrupt`, which has its address here. The others are
records, and they compare by content.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import (
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NamedTuple,
    TypeAlias,
    TypedDict,
    TypeVar,
)

from minigraph.doors import lazy_door

__all__ = [
    "All",
    "Command",
    "Durability",
    "GraphOutput",
    "Interrupt",
    "Overwrite",
    "PregelTask",
    "RunnableConfig",
    "Send",
    "StateSnapshot",
    "StateUpdate",
    "StreamMode",
    "StreamWriter",
    "interrupt",  # noqa: F822  # behind the door
]

POLICIES = ("CachePolicy", "RetryPolicy", "TimeoutPolicy", "default_cache_key", "default_retry_on")
__all__ += POLICIES
on_demand = lazy_door(
    __name__, {"interrupt": "minigraph.runtime", **dict.fromkeys(POLICIES, "minigraph.policies")}
)
__getattr__ = on_demand
"""The reference's address of `interrupt`, which needs to know what is running, and of policies,
which most nodes do without."""

All: TypeAlias = Literal["*"]
"""Every node, where a list of nodes could stand."""

StreamMode: TypeAlias = Literal[
    "values", "updates", "tasks", "checkpoints", "debug", "custom", "messages"
]
"""What a stream tells (ST-10 to ST-18), see `minigraph.pregel.events`."""

Durability: TypeAlias = Literal["sync", "async", "exit"]
"""When what a run has to store is stored, see `minigraph.pregel.durability` (DU-01)."""

StreamWriter: TypeAlias = Callable[[Any], None]
"""Tells the reader of the stream ``custom`` something, while the node is still at work (ST-17)."""

Node = TypeVar("Node", bound=str)
Output = TypeVar("Output")

new_record: Final = tuple.__new__
"""A NamedTuple from a tuple of all its fields: ``new_record(Point, (1, 2))`` is ``Point(1, 2)``.

A NamedTuple's own constructor is a Python function around this one. Wherever a super-step makes
a record, the detour through it would cost as much as planning a task; elsewhere it is not worth
losing the names of the fields."""


class RunnableConfig(TypedDict, total=False):
    """What accompanies one call. It is a plain dict; every key is optional.

    ``configurable`` addresses the run: ``thread_id`` names the thread, ``checkpoint_id`` a
    checkpoint of it, and further keys are the user's own (CP-30).
    """

    configurable: dict[str, Any]
    metadata: dict[str, Any]
    tags: list[str]
    run_id: Any
    run_name: str
    callbacks: Any
    recursion_limit: int
    max_concurrency: int


class Send:
    """Run `node` in the next super-step with exactly `arg` as its input (CS-30).

    Many Sends to one node run it many times, in parallel. A `timeout` counts instead of the node's
    own (ER-20).

    >>> Send("count", {"words": 3})
    Send(node='count', arg={'words': 3})
    >>> Send("count", 1) == Send("count", 1)
    True
    """

    __slots__ = ("arg", "node", "timeout")

    node: str
    arg: Any

    def __init__(self, /, node: str, arg: Any, timeout: Any = None) -> None:
        self.node = node
        self.arg = arg
        self.timeout = None if timeout is None else on_demand("TimeoutPolicy").coerce(timeout)

    def __repr__(self) -> str:
        limit = f", timeout={self.timeout!r}" if self.timeout else ""
        return f"Send(node={self.node!r}, arg={self.arg!r}{limit})"

    def __eq__(self, other: object) -> bool:
        mine = (self.node, self.arg, self.timeout)
        return isinstance(other, Send) and mine == (other.node, other.arg, other.timeout)

    def __hash__(self) -> int:
        # Equal Sends must hash alike, and most args are dicts, which cannot be hashed. Sends to
        # one node then share a hash: slow in a very large set of Sends, and always right.
        return hash((Send, self.node))


@dataclasses.dataclass(frozen=True, slots=True)
class Overwrite:
    """Write `value` in the place of what a reducer has accumulated (CH-10).

    >>> Overwrite([1])
    Overwrite(value=[1], type='__overwrite__')
    """

    value: Any
    type: Literal["__overwrite__"] = "__overwrite__"


@dataclasses.dataclass(frozen=True, slots=True)
class Interrupt:
    """A question that a task asked, and the id by which it can be answered (IN-05)."""

    value: Any
    id: str = "placeholder-id"
    response_schema: Any = None


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Command(Generic[Node]):
    """What a node may return, or a caller may give as input: an update and where to go, at once.

    Args:
        graph: which graph it is meant for; ``None`` is the one that the node belongs to,
            `Command.PARENT` the one around that. A caller leaves it out (CS-13).
        update: the state update, as a dict, as (key, value) pairs (a key may repeat), or as
            an object with annotated fields (CS-01).
        resume: from a caller, the answer to the one question that waits, or a dict from the ids
            of questions to their answers (IN-30, IN-31); the node that asked runs again, and its
            `interrupt` returns it. It has no meaning in a node's result (CS-05).
        goto: a node name, a `Send`, or a list of both. It adds to the static edges and does
            not replace them (CS-02).

    >>> Command(update={"x": 1}, goto="a")
    Command(update={'x': 1}, goto='a')
    """

    graph: str | None = None
    update: Any | None = None
    resume: Any | None = None
    goto: Send | Sequence[Send | Node] | Node = ()

    PARENT: ClassVar[Literal["__parent__"]] = "__parent__"

    def __repr__(self) -> str:
        fields = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
        return f"Command({', '.join(f'{name}={value!r}' for name, value in fields if value)})"


@dataclasses.dataclass(frozen=True, slots=True)
class GraphOutput(Generic[Output]):
    """What `invoke` returns with ``version="v2"``: the last state, and the questions (ST-02)."""

    value: Output
    interrupts: tuple[Interrupt, ...] = ()


class StateUpdate(NamedTuple):
    """One update from outside: `values`, written as if node `as_node` had returned them."""

    values: Any
    as_node: str | None = None
    task_id: str | None = None


class PregelTask(NamedTuple):
    """One task of the super-step that starts from a checkpoint (CP-42).

    `result` is what it wrote, as ``{channel: value}``; ``{}`` if it finished without output,
    ``None`` if it has not finished. `error` is the failure's text when it was stored, CP-22.
    """

    id: str
    name: str
    path: tuple[Any, ...]
    error: Exception | str | None = None
    interrupts: tuple[Interrupt, ...] = ()
    state: Any = None
    result: Any = None


class StateSnapshot(NamedTuple):
    """One checkpoint of a thread, made readable (SG-70).

    Fields:
        values: the state's channels.
        next: the nodes that run next, ``()`` when the run is done (CP-43).
        config: how to address this checkpoint, for replay and fork.
        metadata: ``source``, ``step``, ``parents`` and the caller's own entries (CP-10).
        created_at: ISO 8601 text, UTC.
        parent_config: the checkpoint that this one came from; ``None`` for the first.
        tasks: the tasks of the super-step that starts here.
        interrupts: the questions that wait for an answer.
    """

    values: dict[str, Any] | Any
    next: tuple[str, ...]
    config: RunnableConfig
    metadata: dict[str, Any] | None
    created_at: str | None
    parent_config: RunnableConfig | None
    tasks: tuple[PregelTask, ...]
    interrupts: tuple[Interrupt, ...]
