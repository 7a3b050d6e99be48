"""In and out: what an input writes, what a task sees of its own writes, what a caller sees.

input ──input_writes──▶ writes ══▶ channels ──Selection.read──▶ a node's input
                                      │                         the result of a run
                                      └──read_after──▶ a route's state
a task's writes ──written_values──▶ the chunk that says what the task did
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from minigraph.constants import BRANCH_PREFIX, END, MISSING, START, TASKS
from minigraph.errors import InvalidUpdateError
from minigraph.pregel.live import LiveState
from minigraph.pregel.node import Write
from minigraph.pregel.selection import Selection
from minigraph.types import Command, Send


def read_after(state: LiveState, writes: Sequence[Write], selection: Selection) -> Any:
    """What is read if these `writes` were all that the super-step made (SG-50).

    So what lives for one super-step is gone, unless they write it anew. The state itself does
    not change.
    """
    batches: dict[str, list[Any]] = {}
    for name, value in writes:
        if name in selection.members:
            batches.setdefault(name, []).append(value)
    for name in state.restless:
        if name in selection.members:
            batches.setdefault(name, [])
    changed: dict[str, Any] = {}
    for name, values in batches.items():
        channel = state.channels[name].copy()
        channel.update(values)
        changed[name] = channel.get() if channel.is_available() else MISSING
    whole = state.read(selection)
    if selection.single:
        return changed.get(selection.names[0], whole)
    for name, value in changed.items():
        if value is MISSING or name not in whole:  # so other keys, in the order of the schema
            merged = {k: v for k, v in {**whole, **changed}.items() if v is not MISSING}
            return selection.read(merged)
        whole[name] = value
    return whole


def input_writes(channels: Selection, value: Any) -> list[Write]:
    """The writes that an input means; none if there is no input.

    A graph with one input channel takes the input whole. One with several takes a dict and
    drops keys that are none of them. Raises `TypeError` if it gets something else.

    >>> input_writes(Selection("__start__"), {"x": 1})
    [('__start__', {'x': 1})]
    >>> input_writes(Selection(["a", "b"]), {"a": 1, "z": 2})
    [('a', 1)]
    """
    if value is None:
        return []
    if channels.single:
        return [(channels.names[0], value)]
    if not isinstance(value, Mapping):
        raise TypeError(
            f"The input must be a dict with keys among {list(channels.names)}, "
            f"but it is {type(value).__name__}."
        )
    return [(name, value[name]) for name in channels.names if name in value]


Updates: TypeAlias = Callable[[Any], list[Write]]
"""From the update of a `Command` that comes from outside to writes."""


def pairs_of(update: Any) -> list[Write]:
    """An update as (channel, value), where the state has no schema.

    >>> pairs_of({"a": 1}), pairs_of([("a", 1), ("a", 2)]), pairs_of(None)
    ([('a', 1)], [('a', 1), ('a', 2)], [])
    """
    pairs = update.items() if isinstance(update, Mapping) else update or ()
    try:
        return [(name, value) for name, value in pairs]
    except (TypeError, ValueError):
        raise InvalidUpdateError(
            f"A Command's update is a dict, or a list of (channel, value), not {update!r:.200}."
        ) from None


def command_writes(command: Command[Any], updates_of: Updates | None = None) -> list[Write]:
    """The writes that a `Command` from outside means: where it goes, and its update (CS-11).

    Raises `InvalidUpdateError` if it is meant for a graph around this one, and `TypeError` for what
    cannot be gone to (CS-13).

    >>> command_writes(Command(goto="b", update={"x": 1}))
    [('branch:to:b', '__start__'), ('x', 1)]
    """
    if command.graph is not None:
        raise InvalidUpdateError(
            f"There is no parent graph for a Command from outside, but it says {command.graph!r}."
        )
    goto = [command.goto] if isinstance(command.goto, (str, Send)) else command.goto
    writes: list[Write] = []
    for target in goto:
        if isinstance(target, Send):
            writes.append((TASKS, target))
        elif not isinstance(target, str):
            raise TypeError(
                f"In Command.goto, expected Send/str, got {type(target).__name__}: {target!r:.200}."
            )
        elif target != END:
            writes.append((BRANCH_PREFIX + target, START))
    return writes + (updates_of or pairs_of)(command.update)


def written_values(writes: Iterable[Write], selection: Selection) -> Any:
    """What a task wrote to the channels that somebody wants to see (ST-11, CS-07).

    ``None`` if nothing; a channel written twice turns the answer into a list.

    >>> written_values([("x", 1), ("branch:to:b", None)], Selection(["x", "y"]))
    {'x': 1}
    >>> written_values([("x", 1), ("x", 2)], Selection(["x"]))
    [{'x': 1}, {'x': 2}]
    >>> written_values([("x", 1), ("y", 2)], Selection("x"))
    1
    """
    shown = [(name, value) for name, value in writes if name in selection.members]
    if selection.single:
        values = [value for _, value in shown]
        return values if len(values) > 1 else values[0] if values else None
    if not shown:
        return None
    together = dict(shown)
    return together if len(together) == len(shown) else [{name: value} for name, value in shown]


def result_of(writes: Iterable[Write], selection: Selection) -> dict[str, Any]:
    """What a finished task shows in a snapshot: channel → value (CP-42).

    >>> result_of([("x", 1), ("x", 2), ("hidden", 3)], Selection(["x"]))
    {'x': {'$writes': [1, 2]}}
    """
    return {
        name: values[0] if len(values) == 1 else {"$writes": values}
        for name, values in grouped(writes).items()
        if name in selection
    }


def grouped(writes: Iterable[Write]) -> dict[str, list[Any]]:
    """The values written to each channel, in order.

    >>> grouped([("x", 1), ("y", 2), ("x", 3)])
    {'x': [1, 3], 'y': [2]}
    """
    batches: dict[str, list[Any]] = {}
    for name, value in writes:
        batches.setdefault(name, []).append(value)
    return batches
