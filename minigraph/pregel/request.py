"""A call, put into words: what a program is given before it begins.

A program touches nothing of the world. What it has to know, it is told here: which run this is, and
how ids, times and versions are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minigraph.pregel.effects import NOTHING
from minigraph.pregel.interrupts import Breakpoints, Loose, Origin, Replay
from minigraph.pregel.known import Known
from minigraph.pregel.live import Version
from minigraph.pregel.selection import Selection
from minigraph.runtime import RunControl
from minigraph.types import RunnableConfig


class Environment(NamedTuple):
    """What a program needs to know of the world, as functions that its caller hands in.

    `Pregel` makes one for each graph. Calling them is no effect: nothing has to be waited for.

    Fields:
        new_id: from a super-step's number to a new checkpoint id; ids must increase.
        now: the time, as ISO 8601 text in UTC.
        next_version: from the newest version so far (None: none yet) to the next.
        known: what was read of threads before, where values are stored in pieces.
    """

    new_id: Callable[[int], str]
    now: Callable[[], str]
    next_version: Callable[[Version | None], Version]
    known: Known | None = None


class Request(NamedTuple):
    """One call of a graph.

    Fields:
        input: the input; ``None`` goes on with what the thread has.
        config: which thread and checkpoint, and what goes with the call.
        output: the channels that make up the result.
        modes: the stream modes that somebody reads; nothing else is emitted.
        has_saver: whether there is a saver. Without one nothing is loaded or saved.
        stop_before, stop_after: nodes to stop at, see `interrupts`.
        context: for the nodes, see `minigraph.runtime`.
        is_inner: whether a task of another run has called the graph.
        answers: for an inner graph: what has come for its tasks, by the ids of their questions;
            None if the super-step around it is not one that was gone on with.
        loose: for an inner graph: an answer for whoever asks first.
        held: for an inner graph that keeps nothing: the answers it has got so far, by task id.
        origin: where to start from, if that is a point inside of a graph in a node.
        replay: set if a run around it goes back in time.
        control: what stops the run from outside, between two super-steps.
        keeps_last: whether only the last checkpoint is sure to be kept, see `durability`.
    """

    input: Any
    config: RunnableConfig
    output: Selection
    modes: frozenset[str]
    has_saver: bool
    stop_before: Breakpoints = ()
    stop_after: Breakpoints = ()
    context: Any = None
    is_inner: bool = False
    answers: Mapping[str, Any] | None = None
    loose: Loose | None = None
    held: Mapping[str, Sequence[Any]] = NOTHING
    origin: Origin | None = None
    replay: Replay | None = None
    keeps_last: bool = False
    control: RunControl | None = None
