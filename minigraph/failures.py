"""What a failure is called when a node has failed, taken too long, or was not begun.

These stand at `minigraph.errors`, beside the other classes, where the reference has them. They have
a room of their own because whoever reads a channel needs none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from minigraph.errors import GraphBubbleUp

__all__ = ["GraphDrained", "NodeError", "NodeTimeoutError", "TaskNotFound"]


class GraphDrained(GraphBubbleUp):
    """The run has stopped between two super-steps, because somebody asked it to (ER-60).

    All that was done is stored: ``invoke(None, config)`` goes on.

    >>> GraphDrained("deployment").reason
    'deployment'
    """

    def __init__(self, reason: str = "shutdown") -> None:
        super().__init__(f"Graph drained: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class NodeError:
    """What an error handler is told, in a parameter ``error: NodeError`` (ER-30).

    Attributes:
        node: the node that has failed.
        error: its error. In a run that goes on after a crash it is an `Exception` with the text of
            the error: that is what was stored (CP-22).
    """

    node: str
    error: BaseException


def takes_error(hints: Mapping[str, Any]) -> bool:
    """Whether a function with these annotations is to be told the error. The name alone is not
    enough: a handler may have an ``error`` of its own, with a default.

    >>> takes_error({"error": NodeError}), takes_error({"error": str})
    (True, False)
    """
    return hints.get("error") is NodeError


class NodeTimeoutError(Exception):
    """A node took longer than its `TimeoutPolicy` allows (ER-20). It is no `TimeoutError`, so that
    what times out inside of a node, and the node itself, can be told apart.

    Attributes:
        node: the node.
        elapsed: for how many seconds the attempt had run.
        kind: which limit it was, ``"run"`` or ``"idle"``.
        timeout: that limit, in seconds.
        run_timeout, idle_timeout: the limits of the policy.

    >>> print(NodeTimeoutError("fetch", 2.5, kind="run", run_timeout=2.0))
    Node 'fetch' exceeded its run timeout of 2.000s (elapsed: 2.500s).
    """

    def __init__(
        self,
        node: str,
        elapsed: float,
        *,
        kind: Literal["idle", "run"],
        idle_timeout: float | None = None,
        run_timeout: float | None = None,
    ) -> None:
        timeout = idle_timeout if kind == "idle" else run_timeout
        if timeout is None:
            raise ValueError(f"{kind}_timeout is required when kind={kind!r}")
        idle = " without making progress" if kind == "idle" else ""
        super().__init__(
            f"Node {node!r} exceeded its {kind} timeout of {timeout:.3f}s{idle} "
            f"(elapsed: {elapsed:.3f}s)."
        )
        self.node = node
        self.elapsed = elapsed
        self.kind = kind
        self.timeout = timeout
        self.run_timeout = run_timeout
        self.idle_timeout = idle_timeout


class TaskNotFound(Exception):
    """A task is not there. Nothing raises it here; it is for those who run tasks elsewhere."""


for _class in (GraphDrained, NodeError, NodeTimeoutError, TaskNotFound):
    _class.__module__ = "minigraph.errors"  # the address that people know
