"""What a failure is called."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from minigraph import errors
from minigraph.errors import GraphDrained, NodeError, NodeTimeoutError, TaskNotFound


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (GraphDrained, errors.GraphBubbleUp),
        (NodeError, object),
        (NodeTimeoutError, Exception),
        (TaskNotFound, Exception),
    ],
)
def test_bases_and_address(kind: type, base: type) -> None:
    """ER-01: the reference's, and a traceback tells the address that people import from."""
    assert kind.__bases__ == (base,)
    assert (kind.__module__, getattr(errors, kind.__name__)) == ("minigraph.errors", kind)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(errors, "NodeInterrupt")


def test_a_drained_run_says_why() -> None:
    """ER-60."""
    assert (str(GraphDrained()), GraphDrained().reason) == ("Graph drained: shutdown", "shutdown")
    assert (str(GraphDrained("bye")), GraphDrained("bye").reason) == ("Graph drained: bye", "bye")


def test_a_timeout_says_which_limit_it_was() -> None:
    """ER-20: it is no `TimeoutError`."""
    run = NodeTimeoutError("n", 2.5, kind="run", run_timeout=2.0, idle_timeout=9.0)
    assert str(run) == "Node 'n' exceeded its run timeout of 2.000s (elapsed: 2.500s)."
    assert (run.node, run.elapsed, run.kind, run.timeout) == ("n", 2.5, "run", 2.0)
    assert (run.run_timeout, run.idle_timeout) == (2.0, 9.0)
    idle = NodeTimeoutError("n", 1.0, kind="idle", idle_timeout=1.0)
    assert str(idle) == (
        "Node 'n' exceeded its idle timeout of 1.000s without making progress (elapsed: 1.000s)."
    )
    assert not isinstance(idle, TimeoutError)
    with pytest.raises(ValueError, match="idle_timeout is required when kind='idle'"):
        NodeTimeoutError("n", 1.0, kind="idle", run_timeout=1.0)


def test_what_a_handler_is_told_cannot_be_changed() -> None:
    """ER-30."""
    told = NodeError("n", ValueError("boom"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        told.node = "m"  # type: ignore[misc]
    again = pickle.loads(pickle.dumps(told))
    assert (again.node, repr(again.error)) == ("n", "ValueError('boom')")
