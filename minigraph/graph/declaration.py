"""What was declared: the words between the builder and what runs.

`StateGraph` collects nodes, edges and branches. A `Declaration` is all of that, as plain data; what
runs is made of it (see `compile`), and drawings are. So whoever wants to know how a graph is
declared need not know how it runs, and the other way around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minigraph.channels.base import BaseChannel
from minigraph.graph.branch import BranchSpec
from minigraph.managed import Managed
from minigraph.pregel.node import UserFunction

if TYPE_CHECKING:
    from minigraph.policies import Policies


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node as it was declared.

    Args:
        function: the user's function.
        input_schema: what it expects.
        defer: whether it waits until nothing else is left to run (SS-08).
        metadata: for its config.
        destinations: the nodes that it says it may go to: name → label, which may be empty. They
            are for checks and drawings, and do not bind it (CS-06).
        policies: what was said of failures, time limits and caches.
        error_handler: what takes over when it has failed.
    """

    function: UserFunction
    input_schema: Any
    defer: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    destinations: Mapping[str, str] = field(default_factory=dict)
    policies: Policies | None = None
    error_handler: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """Everything that compiling needs to know, without the builder that collected it."""

    nodes: Mapping[str, NodeSpec]
    edges: Sequence[tuple[str, str]]
    joins: Sequence[tuple[tuple[str, ...], str]]
    branches: Mapping[str, Mapping[str, BranchSpec]]
    channels: Mapping[str, BaseChannel[Any, Any, Any]]
    state_schema: Any
    input_schema: Any
    output_schema: Any
    context_schema: Any | None = None
    schemas: Sequence[Any] = ()
    managed: Mapping[str, Managed] = field(default_factory=dict)
    default_policies: Policies | None = None
    default_handler: Callable[..., Any] | None = None
