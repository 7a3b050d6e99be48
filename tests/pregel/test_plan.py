"""Plan: which tasks does the next super-step consist of?"""

from __future__ import annotations

from typing import Any

import pytest

from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.channels.last_value import LastValue
from minigraph.channels.topic import Topic
from minigraph.constants import TASKS
from minigraph.pregel.identity import task_id
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import LiveState, hydrate
from minigraph.pregel.node import PregelNode
from minigraph.pregel.plan import Task, plan
from minigraph.pregel.selection import Selection
from minigraph.pregel.versions import Cause
from minigraph.types import Send

ID = "1ef4f797-8335-6428-8001-8a1503f9b875"


def make_layout() -> Layout:
    """Nodes b and a listen to a channel each, c to both and one more."""
    nodes = {
        "b": PregelNode("b", ("to b",), Selection(["x", "y"])),
        "a": PregelNode("a", ("to a",), Selection(["x", "y"])),
        "c": PregelNode("c", ("z", "to b", "to a"), Selection(["x"])),
        "root": PregelNode("root", ("x",), Selection("y")),
    }
    channels: dict[str, Any] = {name: LastValue(int, name) for name in "xyz"}
    channels |= {name: EphemeralValue(Any, guard=False, key=name) for name in ("to a", "to b")}
    channels[TASKS] = Topic(Send, key=TASKS)
    return Layout(
        nodes,
        channels,
        input_channels=Selection("x"),
        output_channels=Selection("x"),
        stream_channels=Selection("x"),
    )


LAYOUT = make_layout()


def make_state(
    values: Any, versions: Any = None, seen: Any = None, updated: Any = "all"
) -> LiveState:
    return hydrate(
        LAYOUT,
        {
            "channel_values": values,
            "channel_versions": dict.fromkeys(values, 1) if versions is None else versions,
            "versions_seen": seen or {},
            "updated_channels": sorted(values) if updated == "all" else updated,
        },
    )


def names(state: LiveState) -> list[str]:
    return [task.name for task in plan(LAYOUT, state, ID, 1)]


def test_nothing_to_do() -> None:
    """An empty plan means that the run is over."""
    assert plan(LAYOUT, hydrate(LAYOUT, None), ID, 1) == []
    assert plan(LAYOUT, make_state({}, updated=[]), ID, 1) == []
    assert plan(LAYOUT, make_state({"y": 1, "z": 1}, seen={"c": {"z": 1}}), ID, 1) == []


def test_a_task_in_full() -> None:
    """SS-30, SS-31: who, why, with what, and where it stands."""
    state = make_state(
        {"to a": None, "x": 5, "to b": None}, seen={"c": {"to a": 1}, "b": {"to b": 1}}
    )
    state.versions["to a"] = 3

    a, c = plan(LAYOUT, state, ID, 7)

    id = task_id(f"{ID}a7a__pregel_pullto a")
    assert a == Task(
        id=id,
        name="a",
        path=("__pregel_pull", "a"),
        input={"x": 5},
        triggers=("to a",),
        because=(Cause("to a", 3, None),),
        place="a",
        node=LAYOUT.nodes["a"],
    )
    # The triggers' names are part of the id in their sorted order; the causes keep the node's.
    assert c.id == task_id(f"{ID}c7c__pregel_pullto ato bz")
    assert c.triggers == ("z", "to b", "to a")
    assert c.because == (Cause("to b", 1, None), Cause("to a", 3, 1))


def test_a_send_in_full() -> None:
    """CS-30, CS-32: exactly the argument, and triggered by nothing but having been sent."""
    arg = {"own": 1}
    state = make_state({TASKS: [Send("a", arg)]})

    (task,) = plan(LAYOUT, state, ID, 7)

    id = task_id(f"{ID}a7a__pregel_push0")
    assert task == Task(
        id=id,
        name="a",
        path=("__pregel_push", 0, False),
        input=arg,
        triggers=("__pregel_push",),
        because=(),
        place="a",
        node=LAYOUT.nodes["a"],
    )
    assert task.input is arg


def test_sends_come_first_and_in_order() -> None:
    """SS-03: then the nodes, by name; a node may be there for both reasons (CS-37)."""
    state = make_state({TASKS: [Send("b", 2), Send("a", 1), Send("b", 2)], "to b": None})

    tasks = plan(LAYOUT, state, ID, 1)

    assert [(task.path, task.input) for task in tasks] == [
        (("__pregel_push", 0, False), 2),
        (("__pregel_push", 1, False), 1),
        (("__pregel_push", 2, False), 2),
        (("__pregel_pull", "b"), {}),
        (("__pregel_pull", "c"), {}),
    ]
    assert len({task.id for task in tasks}) == 5


def test_sends_to_nobody_give_no_task() -> None:
    """CS-34: the others keep their numbers, so their ids do not depend on it."""
    state = make_state({TASKS: [Send("zz", 1), Send("a", 1), "no send"]})
    assert [task.path for task in plan(LAYOUT, state, ID, 1)] == [("__pregel_push", 1, False)]


@pytest.mark.parametrize("node", [["b"], {"b": 1}, None, 5])
def test_a_send_whose_node_is_no_name(node: Any) -> None:
    """CS-34: also one that could not even be looked up; the next one keeps its number."""
    state = make_state({TASKS: [Send(node, 1), Send("a", 1)]})
    assert [task.path for task in plan(LAYOUT, state, ID, 1)] == [("__pregel_push", 1, False)]


def test_nodes_by_name_or_by_declaration() -> None:
    """SS-02, SS-23: by name, unless it is not known what was updated: then all are asked."""
    values = {"to a": None, "to b": None}
    assert names(make_state(values)) == ["a", "b", "c"]
    assert names(make_state(values, updated=None)) == ["b", "a", "c"]


def test_only_what_was_updated_is_looked_at() -> None:
    """SS-23: a node with old news waits until the thread is asked without that knowledge."""
    values = {"to a": None, "to b": None}
    assert names(make_state(values, updated=["to b"])) == ["b", "c"]
    assert names(make_state(values, updated=[])) == []


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({}, ["a", "c"]),
        ({"a": {"to a": 1}}, ["c"]),
        ({"a": {"to a": 1}, "c": {"to a": 1}}, []),
        ({"a": {"to a": 0}, "c": {"z": 5}}, ["a", "c"]),
    ],
)
def test_a_node_runs_once_for_each_news(seen: Any, expected: list[str]) -> None:
    """SS-22."""
    assert names(make_state({"to a": None}, seen=seen)) == expected


def test_a_cleared_channel_starts_nobody() -> None:
    """SS-21: it has moved, and has no value."""
    assert names(make_state({}, versions={"to a": 9}, updated=None)) == []


def test_a_node_whose_only_channel_is_empty_does_not_run() -> None:
    """There is nothing that it could be given; with a value, it is given bare."""
    assert names(make_state({"x": 1})) == []
    (task,) = plan(LAYOUT, make_state({"x": 1, "y": 0}), ID, 1)
    assert (task.name, task.input) == ("root", 0)


def test_the_same_state_gives_the_same_plan() -> None:
    """SS-32: in this process or in another; the next step, or a fork, gives others."""

    def ids(id: str = ID, step: int = 1, namespace: str = "") -> set[str]:
        state = make_state({TASKS: [Send("a", 1), Send("a", 1)], "to a": None})
        return {task.id for task in plan(LAYOUT, state, id, step, namespace)}

    others = [ids(), ids(step=2), ids(ID.replace("8001", "8002")), ids(namespace="outer:1")]
    assert ids() == others[0]
    assert len(set.union(*others)) == 4 * len(ids()) == 4 * 4


def test_in_a_nest_of_graphs() -> None:
    """SB-02: the place says through which tasks the way leads."""
    (a, _) = plan(LAYOUT, make_state({"to a": None}), ID, 1, "outer:1")
    assert a.namespace == f"outer:1|a:{a.id}"
    assert a.id == task_id(f"{ID}outer:1|a1a__pregel_pullto a")


def test_planning_changes_nothing() -> None:
    """The plan may be asked for any number of times, by anybody."""
    state = make_state({TASKS: [Send("a", 1)], "to b": None, "x": 1})
    before = state.to_checkpoint("1", "now"), dict(state.readable), state.updated
    plan(LAYOUT, state, ID, 1)
    assert (state.to_checkpoint("1", "now"), dict(state.readable), state.updated) == before
