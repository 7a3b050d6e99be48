"""Graphs in graphs: where they stand, what they remember, how they stop and go back in time."""

from __future__ import annotations

import asyncio
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.config import RunnableConfig, get_stream_writer
from minigraph.constants import START
from minigraph.errors import GraphInterrupt, InvalidUpdateError, ParentCommand
from minigraph.graph import StateGraph
from minigraph.pregel.effects import NOTHING, Emit, Paused, View
from minigraph.pregel.interrupts import Origin, Resumption
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import hydrate
from minigraph.pregel.nesting import (
    Place,
    Savers,
    accompanying,
    allowed,
    inner_place,
    is_here,
    place_of,
    root_place,
)
from minigraph.pregel.node import PregelNode
from minigraph.pregel.plan import Task
from minigraph.pregel.running import Around, Running
from minigraph.pregel.selection import Selection
from minigraph.runtime import Runtime, interrupt
from minigraph.types import Command, Send, StateSnapshot

CONFIG: Any = {"configurable": {"thread_id": "t"}}

FLAVOURS = pytest.mark.parametrize("flavour", [None, True, False], ids=["inherit", "own", "none"])
"""What an inner graph is compiled with."""

KEPT = pytest.mark.parametrize("flavour", [None, True], ids=["inherit", "own"])
"""Those that store anything."""


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


class Plain(TypedDict, total=False):
    """What passes through graphs as it is, so that nests of all kinds give the same."""

    values: list[Any]


def say(name: str) -> Callable[[Any], Any]:
    return lambda state: {"log": [name]}


def chain(*names: str, **options: Any) -> Any:
    builder = StateGraph(State)
    previous = START
    for name in names:
        builder.add_node(name, say(name)).add_edge(previous, name)
        previous = name
    return builder.compile(**options)


def asking(flavour: Any = None, ran: list[str] | None = None) -> Any:
    """a ─▶ b; both ask."""

    def node(name: str) -> Callable[[Any], Any]:
        def ask(state: Plain) -> Any:
            if ran is not None:
                ran.append(name)
            return {"values": [*state.get("values", []), f"{name}:{interrupt(f'{name}?')}"]}

        return ask

    builder = StateGraph(Plain).add_node("a", node("a")).add_node("b", node("b"))
    return builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=flavour)


def around(inner: Any, name: str = "sub", **options: Any) -> Any:
    """A graph whose one node is this graph."""
    return StateGraph(Plain).add_node(name, inner).add_edge(START, name).compile(**options)


def called(inner: Any, awaited: bool = False, **options: Any) -> Any:
    """A graph whose one node calls this graph."""

    def sub(state: Plain) -> Any:
        return inner.invoke(state)

    async def asub(state: Plain) -> Any:
        return await inner.ainvoke(state)

    builder = StateGraph(Plain).add_node("sub", asub if awaited else sub)
    return builder.add_edge(START, "sub").compile(**options)


def nest(kind: str, inner: Any, way: Any, saver: Any) -> Any:
    """A root graph with this graph somewhere in it."""
    match kind:
        case "node":
            return around(inner, checkpointer=saver)
        case "called":
            return called(inner, checkpointer=saver)
        case "awaited":
            return called(inner, way.is_async, checkpointer=saver)
        case "two levels":
            return around(around(inner), "middle", checkpointer=saver)
        case "two levels of calls":
            return called(called(inner, way.is_async), way.is_async, checkpointer=saver)
    raise AssertionError(kind)


NESTS = pytest.mark.parametrize(
    "kind", ["node", "called", "awaited", "two levels", "two levels of calls"]
)


def questions(result: Any) -> Any:
    return [each.value for each in result["__interrupt__"]]


def namespaces(saver: Any, thread: str | None = "t") -> list[str]:
    """Where something is stored, without the ids of tasks, in order; once for each namespace."""
    config: Any = {"configurable": {"thread_id": thread}} if thread else None
    found = {row.config["configurable"]["checkpoint_ns"] for row in saver.list(config)}
    return sorted(bare(namespace) for namespace in found)


def bare(namespace: str) -> str:
    """A namespace with a # in the place of each task id."""
    levels = namespace.split("|")
    return "|".join(f"{level.split(':')[0]}:#" if ":" in level else level for level in levels)


def rows(saver: Any, namespace: str = "") -> list[Any]:
    """Of all checkpoints of a namespace (by its bare name), oldest first: source and step."""
    return [
        (row.metadata["source"], row.metadata["step"])
        for row in [*saver.list({"configurable": {"thread_id": "t"}})][::-1]
        if bare(row.config["configurable"]["checkpoint_ns"]) == namespace
    ]


def inside(way: Any, graph: Any, config: Any = CONFIG) -> Any:
    """The snapshot of the graph in the first task that waits."""
    return way.state(graph, config, subgraphs=True).tasks[0].state


# ---------------------------------------------------------------- where a call stands

LAYOUT = Layout(
    {},
    {},
    input_channels=Selection([]),
    output_channels=Selection([]),
    stream_channels=Selection([]),
)
TASK = Task(
    "1", "n", ("__pregel_pull", "n"), None, (), (), "o:0|n", PregelNode("n", (), Selection([]))
)
PLACE: Any = {"thread_id": "t", "checkpoint_ns": "o:0", "checkpoint_id": "7", "mine": 1}


def running(resumption: Resumption | None = None, around: Around | None = None) -> Running:
    """A task of node n, in graph o:0, of thread t."""
    config: RunnableConfig = {"configurable": PLACE, "tags": ["outer"], "recursion_limit": 9}
    state = hydrate(LAYOUT, None)
    view = View(config, 3, state, resumption=resumption)
    return Running(TASK, view, None, around or Around())


@pytest.mark.parametrize(
    ("place", "here"),
    [
        ({}, True),
        ({"mine": 2}, True),
        ({"thread_id": None, "checkpoint_id": ""}, True),
        ({"thread_id": "t"}, False),
        ({"thread_id": "other"}, False),
        ({"checkpoint_id": "7"}, False),
        ({"checkpoint_map": {"": "1"}}, False),
        ({"thread_id": "t", "checkpoint_ns": "o:0|n:1"}, True),
        ({"thread_id": "t", "checkpoint_ns": "o:0"}, False),
    ],
    ids=repr,
)
def test_whether_a_call_belongs_to_its_task(place: Any, here: bool) -> None:
    """SB-11: it does, unless it names a place; the task's own config is no other place."""
    assert is_here(place, running()) is here


def test_what_goes_with_a_run_of_its_own() -> None:
    """SB-11: all but the place."""
    assert accompanying({"configurable": {"x": 1}, "tags": ["t"]}) == {"tags": ["t"]}


@FLAVOURS
def test_the_place_of_an_inner_graph(flavour: Any) -> None:
    """SB-02, SB-03, SB-04, SB-12."""
    saver = InMemorySaver()
    task = running(around=Around(saver))
    places = [inner_place(flavour, {"configurable": {"mine": 2}}, task) for _ in range(3)]
    own = ["o|n", "o|n|1", "o|n|2"] if flavour else ["o:0|n:1", "o:0|n:1|1", "o:0|n:1|2"]
    assert [place.config["configurable"] for place in places] == [
        {
            "thread_id": "t",
            "checkpoint_ns": name,
            "checkpoint_map": {"o:0": "7"},
            "mine": 2,
        }
        for name in own
    ]
    assert {place.saver for place in places} == {None if flavour is False else saver}
    assert {place.remembers for place in places} == {flavour is True}
    assert places[0].task is task
    assert (places[0].config["tags"], places[0].config["recursion_limit"]) == (["outer"], 9)
    assert places[1].levels == tuple(own[1].split("|"))


@pytest.mark.parametrize(
    ("then", "ids", "flavour", "starts"),
    [
        pytest.param("o:0|n:9", {"": "1", "o:0|n:9": "5"}, None, "o:0|n:9", id="in it"),
        pytest.param("o:0|n:9", {"": "1", "o:0|n:9|m:8": "5"}, None, "o:0|n:9", id="below it"),
        pytest.param("o:0|n:9", {"": "1", "o:0": "5"}, None, None, id="around it"),
        pytest.param("o:0|n:9", {"o|n": "5"}, True, "o|n", id="in its memory"),
        pytest.param("o:0|n:9", {"o:0|n:9": "5"}, True, None, id="not in its memory"),
        pytest.param("o:0|n:9", {"o:0|n:99": "5"}, None, None, id="a name that begins like it"),
    ],
)
def test_where_it_starts_from(then: str, ids: Any, flavour: Any, starts: str | None) -> None:
    """TT-31, TT-33: where it stood when the task had another id, if one goes back to that."""
    resumption = Resumption(NOTHING, {"1": Origin(then, ids)})
    origin = inner_place(flavour, {}, running(resumption)).origin
    assert origin == (None if starts is None else Origin(starts, ids))


def test_where_it_starts_from_ordinarily() -> None:
    """TT-33."""
    other = Resumption(NOTHING, {"another task": Origin("", {})})
    assert inner_place(None, {}, running()).origin is None
    assert inner_place(None, {}, running(other)).origin is None


def test_the_place_of_a_root() -> None:
    """SB-01, TT-32: a config inside of a thread is one of its root, of when that was."""
    saver = InMemorySaver()
    bare: Any = {"configurable": {"thread_id": "t"}, "tags": ["x"]}
    assert root_place(saver, bare) == Place(bare, saver)
    inside: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "a:1"}, "tags": ["x"]}
    assert root_place(saver, inside) == Place(
        {"configurable": {"thread_id": "t", "checkpoint_ns": ""}, "tags": ["x"]}, saver
    )
    ids = {"": "5", "a:1": "6"}
    then: Any = {**inside["configurable"], "checkpoint_id": "6", "checkpoint_map": ids}
    assert root_place(saver, {"configurable": then}) == Place(
        {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "5"}},
        saver,
        origin=Origin("", ids),
    )


def test_half_an_address(way: Any) -> None:
    """TT-32: ≠ an inner checkpoint without its map is refused: nobody knows when that was."""
    half: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "sub:1", "checkpoint_id": "7"}}
    with pytest.raises(ValueError, match="its checkpoint_map is missing"):
        way.invoke(around(asking(), checkpointer=InMemorySaver()), None, half)


def test_a_memory_of_its_own_needs_a_graph_around_it(way: Any) -> None:
    """SB-13."""
    with pytest.raises(RuntimeError, match="checkpointer=True cannot be used for root graphs"):
        place_of(True, None, CONFIG)
    with pytest.raises(RuntimeError, match="checkpointer=True cannot be used for root graphs"):
        way.invoke(chain("a", checkpointer=True), {"log": []}, CONFIG)


def test_what_has_come_for_it() -> None:
    """SB-20, SB-21: None where the super-step around it is new."""
    question = "0" * 32
    place = inner_place(None, {}, running())
    assert place.answers is None
    answers = {"1": {question: "x"}, "2": {}}
    assert inner_place(None, {}, running(Resumption(answers, {}))).answers == {question: "x"}
    assert inner_place(None, {}, running(Resumption({}, {}))).answers == {}
    assert Place({}, None).answers is None


def test_how_it_ends() -> None:
    """SB-20, CS-20: in a task, to stop is to raise; Commands for the parent have arrived."""
    root, inner = Place({}, None), Place({}, None, running())
    question: Any = ("q",)
    assert (root.result(5), inner.result(5)) == (5, 5)
    assert root.result(Paused(1, question)) == Paused(1, question)
    with pytest.raises(GraphInterrupt) as caught:
        inner.result(Paused(1, question))
    assert caught.value.args == (question,)
    with pytest.raises(GraphInterrupt) as caught:
        inner.result(Paused(1, ()))
    assert caught.value.args == ()
    sent = ParentCommand(Command(graph=Command.PARENT, goto="x"), Command(graph="name"))
    assert root.arrived(sent) is sent
    assert inner.arrived(sent).args == (Command(goto="x"), Command(graph="name"))


def test_when_it_stores() -> None:
    """DU-11: as the run around it; a root as it was told, and in the background otherwise."""
    inner = Place({}, None, running(around=Around(durability="exit")))
    assert [inner.durability(mode) for mode in (None, "sync")] == ["exit", "exit"]
    root = Place({}, None)
    assert [root.durability(mode) for mode in (None, "sync", "exit")] == ["async", "sync", "exit"]


def test_what_it_passes_on() -> None:
    """ST-05: what the run around it wants, with the namespace, if it has none yet."""
    told: list[Emit] = []
    view = View({}, 0, hydrate(LAYOUT, None))
    around = Around(modes=frozenset(["custom"]))
    task = Running(TASK, view, told.append, around)
    place = Place({"configurable": {"checkpoint_ns": "o:0|n:1"}}, None, task)
    place.pass_on(Emit("custom", 1))
    place.pass_on(Emit("values", 2))
    place.pass_on(Emit("custom", 3, ("from", "below")))
    assert told == [Emit("custom", 1, ("o:0", "n:1")), Emit("custom", 3, ("from", "below"))]
    Place({}, None).pass_on(Emit("custom", 1))
    Place({}, None, Running(TASK, view, None, around)).pass_on(Emit("custom", 1))
    assert len(told) == 2


class Listed:
    """As much of a saver as `allowed` needs."""

    def __init__(self) -> None:
        self.made = 0

    def with_allowlist(self, classes: Any) -> Any:
        self.made += 1
        return (self.made, tuple(classes))


class Slotted(Listed):
    """One that cannot be remembered, as there can be no weak reference to it."""

    __slots__ = ()

    __hash__ = None  # type: ignore[assignment]


def test_savers_of_other_graphs_are_widened_once() -> None:
    """SD-26: for as long as both live."""
    known = Savers()
    saver: Any = Listed()
    assert [allowed(saver, [int], known) for _ in range(2)] == [(1, (int,)), (1, (int,))]
    odd: Any = Slotted()
    assert [allowed(odd, [int], known) for _ in range(2)] == [(1, (int,)), (2, (int,))]


@dataclass
class Seen:
    """Stands in the schema of an inner graph, and in no other."""

    number: int


class WithSeen(TypedDict, total=False):
    values: list[Any]
    seen: Seen


@pytest.mark.parametrize("flavour", [None, True])
def test_classes_of_an_inner_graph(way: Any, saver: Any, flavour: Any) -> None:
    """SD-26: what its schema names can be stored by the saver of the graph around it."""

    def after(state: WithSeen) -> Any:
        return {"values": [state["seen"].number, interrupt("?")]}

    builder = StateGraph(WithSeen).add_node("a", lambda state: {"seen": Seen(5)})
    builder.add_node("after", after).add_edge(START, "a").add_edge("a", "after")
    graph = around(builder.compile(checkpointer=flavour), checkpointer=saver)
    assert questions(way.invoke(graph, {}, CONFIG)) == ["?"]
    assert way.invoke(graph, Command(resume="x"), CONFIG) == {"values": [5, "x"]}


# ---------------------------------------------------------------- namespaces


def test_where_everything_is_stored(way: Any, saver: Any) -> None:
    """SB-01, SB-02: a node knows the namespace of its task, and its graph stands right there."""
    seen: dict[str, str] = {}

    def look(name: str) -> Callable[..., Any]:
        def node(state: State, config: RunnableConfig) -> Any:
            seen[name] = config["configurable"]["checkpoint_ns"]

        return node

    inner = StateGraph(State).add_node("leaf", look("leaf")).add_edge(START, "leaf").compile()
    middle = StateGraph(State).add_node("mid", look("mid")).add_node("inner", inner)
    middle.add_edge(START, "mid").add_edge("mid", "inner")
    builder = StateGraph(State).add_node("root", look("root")).add_node("middle", middle.compile())
    graph = builder.add_edge(START, "root").add_edge("root", "middle").compile(checkpointer=saver)

    way.invoke(graph, {"log": []}, CONFIG)

    assert {name: bare(namespace) for name, namespace in seen.items()} == {
        "root": "root:#",
        "mid": "middle:#|mid:#",
        "leaf": "middle:#|inner:#|leaf:#",
    }
    assert namespaces(saver) == ["", "middle:#", "middle:#|inner:#"]
    stored = {row.config["configurable"]["checkpoint_ns"] for row in saver.list(CONFIG)}
    assert seen["leaf"].rpartition("|")[0] in stored
    assert seen["mid"].rpartition("|")[0] in stored


@pytest.mark.parametrize("awaited", [False, True])
def test_several_calls_of_one_node(way: Any, saver: Any, awaited: bool) -> None:
    """SB-03, SB-04: the calls are numbered; the memory of its own has the number, and no id."""
    plain, own = chain("c"), chain("t", checkpointer=True)

    def call(state: State) -> Any:
        for graph in (plain, plain, own):
            graph.invoke({"log": []})
        return own.invoke({"log": []})

    async def acall(state: State) -> Any:
        for graph in (plain, plain, own):
            await graph.ainvoke({"log": []})
        return await own.ainvoke({"log": []})

    builder = StateGraph(State).add_node("call", acall if awaited and way.is_async else call)
    graph = builder.add_edge(START, "call").compile(checkpointer=saver)
    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["t"]}
    assert namespaces(saver) == ["", "call:#", "call:#|1", "call|2", "call|3"]


def test_what_a_checkpoint_knows_of_those_around_it(way: Any, saver: Any) -> None:
    """SB-05: `parents` in the metadata, and the map in the config of a task."""
    maps: list[Any] = []

    def leaf(state: Plain, config: RunnableConfig) -> None:
        maps.append(config["configurable"]["checkpoint_map"])

    inner = StateGraph(Plain).add_node(leaf).add_edge(START, "leaf").compile()
    graph = around(around(inner, "inner"), "middle", checkpointer=saver)
    way.invoke(graph, {}, CONFIG)

    found = [*saver.list(CONFIG)][::-1]
    ids = {
        namespace: [
            row.checkpoint["id"]
            for row in found
            if bare(row.config["configurable"]["checkpoint_ns"]) == namespace
        ]
        for namespace in ("", "middle:#", "middle:#|inner:#")
    }
    # Of each graph around it, the checkpoint from which its present super-step has started.
    root, middle, deepest = (ids[name][1] for name in ("", "middle:#", "middle:#|inner:#"))
    [seen] = maps
    assert {bare(name): id for name, id in seen.items()} == {
        "": root,
        "middle:#": middle,
        "middle:#|inner:#": deepest,
    }
    parents = {
        bare(row.config["configurable"]["checkpoint_ns"]): {
            bare(name): id for name, id in row.metadata["parents"].items()
        }
        for row in found
    }
    assert parents == {
        "": {},
        "middle:#": {"": root},
        "middle:#|inner:#": {"": root, "middle:#": middle},
    }


# ---------------------------------------------------------------- attaching


def test_as_a_node(way: Any) -> None:
    """SB-10: what it returns is the node's update, so a reducer adds what was passed in again."""
    graph = StateGraph(State).add_node("sub", chain("c")).add_edge(START, "sub").compile()
    assert way.invoke(graph, {"log": ["p"]}) == {"log": ["p", "p", "c"]}


def test_keys_that_only_one_of_them_has(way: Any) -> None:
    """SB-10: the inner graph gets the keys that it knows, and so does the outer one."""

    class Inner(TypedDict, total=False):
        values: list[Any]
        secret: str

    class Outer(TypedDict, total=False):
        values: list[Any]
        other: str

    seen: list[Any] = []

    def node(state: Inner) -> Any:
        seen.append(dict(state))
        return {"values": [2], "secret": "s"}

    inner = StateGraph(Inner).add_node("n", node).add_edge(START, "n").compile()
    graph = StateGraph(Outer).add_node("sub", inner).add_edge(START, "sub").compile()
    result = way.invoke(graph, {"values": [1], "other": "o"})
    assert (result, seen) == ({"values": [2], "other": "o"}, [{"values": [1]}])


def test_without_a_key_in_common(way: Any) -> None:
    """SB-10: it runs with an empty input, and changes nothing."""

    class Inner(TypedDict):
        secret: str

    inner = (
        StateGraph(Inner).add_node("n", lambda s: {"secret": "s"}).add_edge(START, "n").compile()
    )
    graph = StateGraph(State).add_node("sub", inner).add_edge(START, "sub").compile()
    assert way.invoke(graph, {"log": ["x"]}) == {"log": ["x"]}


def test_a_graph_with_a_single_value_as_a_node(way: Any) -> None:
    """SB-10."""
    inner = StateGraph(int).add_node("n", lambda n: n + 1).add_edge(START, "n").compile()
    graph = StateGraph(int).add_node("sub", inner).add_edge(START, "sub").compile()
    assert way.invoke(graph, 41) == 42


def test_a_graph_in_a_send(way: Any, saver: Any) -> None:
    """SB-10, CS-30: one task for each, each with its own namespace."""
    inner = StateGraph(State).add_node("n", lambda s: {"log": [s["log"][0] * 10]})
    builder = StateGraph(State).add_node("sub", inner.add_edge(START, "n").compile())
    builder.add_conditional_edges(
        START, lambda s: [Send("sub", {"log": [n]}) for n in (1, 2)], ["sub"]
    )
    graph = builder.compile(checkpointer=saver)
    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": [1, 10, 2, 20]}
    assert namespaces(saver) == ["", "sub:#", "sub:#"]


def test_a_run_of_its_own(way: Any) -> None:
    """SB-11: a call that names a thread is no part of the task; its own saver stores it."""
    saver, own = InMemorySaver(), InMemorySaver()
    child = chain("c", checkpointer=own)
    elsewhere: Any = {"configurable": {"thread_id": "child"}}

    def call(state: State) -> Any:
        return child.invoke({"log": []}, elsewhere)

    builder = StateGraph(State).add_node("call", call).add_edge(START, "call")
    graph = builder.compile(checkpointer=saver)
    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["c"]}
    assert (namespaces(saver, None), namespaces(own, None)) == ([""], [""])
    assert [state.metadata["step"] for state in way.history(child, elsewhere)] == [1, 0, -1]


def test_tags_go_with_a_run_of_its_own(way: Any) -> None:
    """SB-11: what accompanies the task accompanies it as well; its place does not."""
    seen: list[Any] = []

    def look(state: State, config: RunnableConfig) -> None:
        seen.append(config)

    child = (
        StateGraph(State)
        .add_node(look)
        .add_edge(START, "look")
        .compile(checkpointer=InMemorySaver())
    )
    elsewhere: Any = {"configurable": {"thread_id": "child"}}
    builder = StateGraph(State).add_node("call", lambda s: child.invoke({"log": []}, elsewhere))
    graph = builder.add_edge(START, "call").compile()
    way.invoke(graph, {"log": []}, {"tags": ["mine"], "configurable": {"key": 1}})
    [config] = seen
    assert config["tags"] == ["mine"]
    assert "key" not in config["configurable"]
    assert config["configurable"]["thread_id"] == "child"


def test_a_question_in_a_run_of_its_own(way: Any) -> None:
    """SB-11: it is that thread's, and the node gets the result like any caller."""
    child = asking(InMemorySaver())
    elsewhere: Any = {"configurable": {"thread_id": "child"}}

    def call(state: Plain) -> Any:
        return {"values": questions(child.invoke({}, elsewhere))}

    builder = StateGraph(Plain).add_node("call", call).add_edge(START, "call")
    graph = builder.compile(checkpointer=InMemorySaver())
    assert way.invoke(graph, {}, CONFIG) == {"values": ["a?"]}
    assert way.state(graph, CONFIG).next == ()
    assert questions(way.invoke(child, Command(resume=1), elsewhere)) == ["b?"]


def test_a_saver_of_its_own_is_not_asked(way: Any) -> None:
    """SB-12: inside of a thread everything is kept by the root's saver."""
    saver, own = InMemorySaver(), InMemorySaver()
    graph = around(chain("c", checkpointer=own), checkpointer=saver)
    way.invoke(graph, {}, CONFIG)
    assert (namespaces(saver), namespaces(own, None)) == (["", "sub:#"], [])


@pytest.mark.parametrize(
    ("flavour", "counts", "stored"),
    [
        (None, [1, 1, 1], ["", "call:#", "call:#", "call:#"]),
        (False, [1, 1, 1], [""]),
        (True, [1, 3, 5], ["", "call"]),
    ],
    ids=["inherit", "none", "own"],
)
def test_what_it_remembers(
    way: Any, saver: Any, flavour: Any, counts: list[int], stored: list[str]
) -> None:
    """SB-12: nothing beyond its task; nothing at all; or everything, for the life of the thread."""

    class Got(TypedDict, total=False):
        got: int

    builder = StateGraph(State).add_node("n", lambda state: {"log": [len(state["log"])]})
    inner = builder.add_edge(START, "n").compile(checkpointer=flavour)

    def call(state: Got) -> Any:
        return {"got": inner.invoke({"log": ["x"]})["log"][-1]}

    outer = StateGraph(Got).add_node("call", call).add_edge(START, "call")
    graph = outer.compile(checkpointer=saver)
    assert [way.invoke(graph, {}, CONFIG)["got"] for _ in range(3)] == counts
    assert namespaces(saver) == stored
    elsewhere: Any = {"configurable": {"thread_id": "elsewhere"}}
    assert way.invoke(graph, {}, elsewhere)["got"] == 1


def test_two_memories_in_two_nodes(way: Any, saver: Any) -> None:
    """SB-17: the names of the nodes keep them apart."""
    counter = StateGraph(State).add_node("n", lambda state: {"log": [len(state["log"])]})
    counter.add_edge(START, "n")
    one, two = counter.compile(checkpointer=True), counter.compile(checkpointer=True)
    builder = StateGraph(State)
    builder.add_node("one", lambda state: {"log": [len(one.invoke({"log": ["x"]})["log"])]})
    builder.add_node("two", lambda state: {"log": [len(two.invoke({"log": ["x", "x"]})["log"])]})
    builder.add_edge(START, "one").add_edge("one", "two")
    graph = builder.compile(checkpointer=saver)
    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": [2, 3]}
    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": [2, 3, 4, 6]}
    assert namespaces(saver) == ["", "one", "two"]


def test_steps(way: Any, saver: Any) -> None:
    """SB-15: each namespace counts from -1; a whole inner graph is one super-step of the outer."""
    graph = StateGraph(State).add_node("sub", chain("a", "b")).add_node("after", say("after"))
    graph.add_edge(START, "sub").add_edge("sub", "after")
    way.invoke(graph.compile(checkpointer=saver), {"log": []}, CONFIG)
    assert rows(saver) == [("input", -1), ("loop", 0), ("loop", 1), ("loop", 2)]
    assert rows(saver, "sub:#") == [("input", -1), ("loop", 0), ("loop", 1), ("loop", 2)]


# ---------------------------------------------------------------- questions and failures inside


@NESTS
@FLAVOURS
def test_questions_inside(way: Any, saver: Any, kind: str, flavour: Any) -> None:
    """SB-14, SB-20, SB-21: all levels stop, and are resumed at the root."""
    ran: list[str] = []
    graph = nest(kind, asking(flavour, ran), way, saver)
    first = way.invoke(graph, {"values": []}, CONFIG)
    kept = namespaces(saver)
    assert questions(first) == ["a?"]
    assert way.state(graph, CONFIG).interrupts == tuple(first["__interrupt__"])
    second = way.invoke(graph, Command(resume="A"), CONFIG)
    assert questions(second) == ["b?"]
    assert way.invoke(graph, None, CONFIG) == second
    assert way.invoke(graph, Command(resume="B"), CONFIG) == {"values": ["a:A", "b:B"]}
    assert namespaces(saver) == kept
    # Where nothing is kept, all is done again, with the answers of before.
    assert ran == (["a", "a", "b", "a", "b", "a", "b"] if flavour is False else list("aabbb"))
    assert rows(saver) == [("input", -1), ("loop", 0), ("loop", 1)]
    assert way.state(graph, CONFIG).next == ()


@NESTS
@FLAVOURS
def test_questions_inside_are_answered_by_id(way: Any, saver: Any, kind: str, flavour: Any) -> None:
    """SB-20, IN-31: the id is the inner question's own, at every level."""
    graph = nest(kind, asking(flavour), way, saver)
    way.invoke(graph, {"values": []}, CONFIG)
    for answer in "AB":
        [question] = way.state(graph, CONFIG).interrupts
        result = way.invoke(graph, Command(resume={question.id: answer}), CONFIG)
    assert result == {"values": ["a:A", "b:B"]}


@NESTS
@FLAVOURS
def test_a_second_turn(way: Any, saver: Any, kind: str, flavour: Any) -> None:
    """SB-12: a new input on a thread that has ended asks again, wherever it is remembered."""
    graph = nest(kind, asking(flavour), way, saver)
    for turn in ("one", "two"):
        assert questions(way.invoke(graph, {"values": [turn]}, CONFIG)) == ["a?"]
        assert questions(way.invoke(graph, Command(resume="A"), CONFIG)) == ["b?"]
        done = way.invoke(graph, Command(resume="B"), CONFIG)
        assert done == {"values": [turn, "a:A", "b:B"]}


@NESTS
@FLAVOURS
def test_a_new_input_instead_of_an_answer(way: Any, saver: Any, kind: str, flavour: Any) -> None:
    """CP-51, IN-40: what waits is given up, inside as well."""
    graph = nest(kind, asking(flavour), way, saver)
    way.invoke(graph, {"values": ["one"]}, CONFIG)
    assert questions(way.invoke(graph, {"values": ["two"]}, CONFIG)) == ["a?"]
    way.invoke(graph, Command(resume="A"), CONFIG)
    done = way.invoke(graph, Command(resume="B"), CONFIG)
    assert done == {"values": ["two", "a:A", "b:B"]}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@NESTS
@FLAVOURS
def test_every_durability(way: Any, saver: Any, kind: str, flavour: Any, durability: Any) -> None:
    """DU-09, DU-11: a nest that has stopped goes on, in every mode."""
    graph = nest(kind, asking(flavour), way, saver)
    seen = [
        way.invoke(graph, given, CONFIG, durability=durability)
        for given in ({"values": []}, Command(resume="A"), Command(resume="B"))
    ]
    assert [questions(each) for each in seen[:2]] == [["a?"], ["b?"]]
    assert seen[2] == {"values": ["a:A", "b:B"]}


@KEPT
def test_at_exit(way: Any, saver: Any, flavour: Any) -> None:
    """DU-11: of a graph that ends nothing is kept, unless it has a memory; of one that stops, its
    last checkpoint."""
    ends = around(
        StateGraph(Plain)
        .add_node("n", lambda s: {"values": [1]})
        .add_edge(START, "n")
        .compile(checkpointer=flavour),
        checkpointer=saver,
    )
    way.invoke(ends, {"values": []}, CONFIG, durability="exit")
    name = "sub" if flavour else "sub:#"
    assert (rows(saver), rows(saver, name)) == ([("loop", 1)], [("loop", 1)] if flavour else [])

    stops: Any = {"configurable": {"thread_id": "t2"}}
    graph = around(asking(flavour), checkpointer=saver)
    way.invoke(graph, {"values": []}, stops, durability="exit")
    found = [
        (bare(row.config["configurable"]["checkpoint_ns"]), row.metadata["step"])
        for row in saver.list(stops)
    ]
    assert sorted(found) == [("", 0), (name, 0)]


@KEPT
def test_at_exit_after_a_failure(way: Any, saver: Any, flavour: Any) -> None:
    """DU-08, DU-11: all levels store one checkpoint; what has finished inside is in it."""
    fails, ran = [True], []

    def y(state: Plain) -> Any:
        ran.append("y")
        if fails:
            raise ValueError("boom")
        return {"values": [*state["values"], "y"]}

    def x(state: Plain) -> Any:
        ran.append("x")
        return {"values": ["x"]}

    builder = StateGraph(Plain).add_node(x).add_node(y).add_edge(START, "x").add_edge("x", "y")
    graph = around(builder.compile(checkpointer=flavour), checkpointer=saver)
    with pytest.raises(ValueError, match="boom"):
        way.invoke(graph, {"values": []}, CONFIG, durability="exit")
    name = "sub" if flavour else "sub:#"
    assert (rows(saver), rows(saver, name)) == ([("loop", 0)], [("loop", 1)])
    fails.clear()
    done = way.invoke(graph, None, CONFIG, durability="exit")
    assert (done, ran) == ({"values": ["x", "y"]}, ["x", "y", "y"])
    assert rows(saver) == [("loop", 0), ("loop", 1)]


def test_what_is_stored_of_a_question_inside(way: Any, saver: Any) -> None:
    """SB-20: the same question in both namespaces, under the same id."""
    graph = around(asking(), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    found = {
        bare(row.config["configurable"]["checkpoint_ns"]): [
            write[1:] for write in row.pending_writes
        ]
        for row in saver.list(CONFIG)
        if row.metadata["step"] == 0
    }
    question = way.state(graph, CONFIG).interrupts[0]
    assert found == {"": [("__interrupt__", [question])], "sub:#": [("__interrupt__", [question])]}


def test_what_is_stored_of_answers_where_nothing_is_kept(way: Any, saver: Any) -> None:
    """SB-14: the inner tasks' answers are kept with the outer task."""
    graph = around(asking(False), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    way.invoke(graph, Command(resume="A"), CONFIG)
    task = way.state(graph, CONFIG).tasks[0]
    [row] = [row for row in saver.list(CONFIG) if row.metadata["step"] == 0]
    resumed = [
        (id == task.id, value) for id, name, value in row.pending_writes if name == "__resume__"
    ]
    assert resumed == [(False, "A"), (False, ["A"])]


@KEPT
def test_two_calls_with_questions(way: Any, saver: Any, flavour: Any) -> None:
    """SB-03, SB-21: the first call has ended, and is not made again; its result is."""
    ran: list[str] = []

    def ask(state: Plain) -> Any:
        ran.append(state["values"][-1])
        return {"values": [interrupt(state["values"][-1])]}

    builder = StateGraph(Plain).add_node(ask).add_edge(START, "ask")
    inner = builder.compile(checkpointer=flavour)

    def call(state: Plain) -> Any:
        ran.append("call")
        answers = [inner.invoke({"values": [name]})["values"][-1] for name in ("one", "two")]
        return {"values": answers}

    outer = StateGraph(Plain).add_node(call).add_edge(START, "call")
    graph = outer.compile(checkpointer=saver)
    assert questions(way.invoke(graph, {}, CONFIG)) == ["one"]
    assert questions(way.invoke(graph, Command(resume="A"), CONFIG)) == ["two"]
    assert way.invoke(graph, Command(resume="B"), CONFIG) == {"values": ["A", "B"]}
    assert ran == ["call", "one", "call", "one", "two", "call", "two"]


@FLAVOURS
def test_a_node_and_its_graph_both_ask(way: Any, saver: Any, flavour: Any) -> None:
    """IN-04, SB-20: the answers of a function and those of a graph it calls do not mix."""
    inner = asking(flavour)

    def call(state: Plain) -> Any:
        before = interrupt("before?")
        middle = inner.invoke({"values": []})["values"]
        return {"values": [before, *middle, interrupt("after?")]}

    builder = StateGraph(Plain).add_node(call).add_edge(START, "call")
    graph = builder.compile(checkpointer=saver)
    seen = [way.invoke(graph, {}, CONFIG)]
    seen += [way.invoke(graph, Command(resume=answer), CONFIG) for answer in (1, 2, 3, 4)]
    assert [questions(each) for each in seen[:4]] == [["before?"], ["a?"], ["b?"], ["after?"]]
    assert seen[4] == {"values": [1, "a:2", "b:3", 4]}


@FLAVOURS
def test_nests_beside_each_other(way: Any, saver: Any, flavour: Any) -> None:
    """SB-20, IN-31: each node's graph has its own questions."""
    builder = StateGraph(State)
    for name in ("left", "right"):
        inner = asking(flavour)
        builder.add_node(name, lambda s, inner=inner: {"log": inner.invoke({})["values"]})
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    for answer in "AB":
        waiting = way.state(graph, CONFIG).tasks
        answers = {
            question.id: f"{answer} {task.name}" for task in waiting for question in task.interrupts
        }
        assert len(answers) == 2
        result = way.invoke(graph, Command(resume=answers), CONFIG)
    assert result == {"log": ["a:A left", "b:B left", "a:A right", "b:B right"]}


def test_what_streams_tell_of_a_question_inside(way: Any, saver: Any) -> None:
    """SB-22: twice, first with the inner namespace."""
    graph = around(asking(), checkpointer=saver)
    chunks = way.stream(graph, {"values": []}, CONFIG, subgraphs=True)
    task = way.state(graph, CONFIG).tasks[0]
    asked = {"__interrupt__": task.interrupts}
    assert chunks == [((f"sub:{task.id}",), asked), ((), asked)]


@NESTS
@KEPT
def test_a_failure_inside(way: Any, saver: Any, kind: str, flavour: Any) -> None:
    """SB-23: what has finished is not done again; every level knows the error."""
    fails, ran = [True], []

    def x(state: Plain) -> Any:
        ran.append("x")
        return {"values": ["x"]}

    def y(state: Plain) -> Any:
        ran.append("y")
        if fails:
            raise ValueError("boom")
        return {"values": [*state["values"], "y"]}

    builder = StateGraph(Plain).add_node(x).add_node(y)
    inner = builder.add_edge(START, "x").add_edge("x", "y").compile(checkpointer=flavour)
    graph = nest(kind, inner, way, saver)
    with pytest.raises(ValueError, match="boom"):
        way.invoke(graph, {"values": []}, CONFIG)
    state = way.state(graph, CONFIG, subgraphs=True)
    [task] = state.tasks
    assert (state.next, task.error) == ((task.name,), "ValueError('boom')")
    fails.clear()
    assert way.invoke(graph, None, CONFIG) == {"values": ["x", "y"]}
    assert ran == ["x", "y", "y"]


@KEPT
def test_breakpoints_inside(way: Any, saver: Any, flavour: Any) -> None:
    """IN-60, SB-20: the whole nest stops there, and passes it when it goes on."""
    builder = StateGraph(Plain).add_node("x", lambda s: {"values": ["x"]})
    builder.add_node("y", lambda s: {"values": [*s["values"], "y"]})
    builder.add_edge(START, "x").add_edge("x", "y")
    inner = builder.compile(checkpointer=flavour, interrupt_before=["y"])
    graph = around(inner, checkpointer=saver)
    assert way.stream(graph, {"values": []}, CONFIG) == [{"__interrupt__": ()}]
    state = way.state(graph, CONFIG)
    assert (state.next, state.interrupts, state.values) == (("sub",), (), {"values": []})
    assert inside(way, graph).next == ("y",)
    assert way.invoke(graph, None, CONFIG) == {"values": ["x", "y"]}


def test_breakpoints_where_nothing_is_kept(way: Any, saver: Any) -> None:
    """SB-14: nobody knows that the run has been here before, so it stops each time."""
    builder = StateGraph(Plain).add_node("x", lambda s: {"values": ["x"]})
    inner = builder.add_edge(START, "x").compile(checkpointer=False, interrupt_before=["x"])
    graph = around(inner, checkpointer=saver)
    for given in ({"values": []}, None, None):
        assert way.invoke(graph, given, CONFIG) == {"values": []}
        assert way.state(graph, CONFIG).next == ("sub",)


def test_a_memory_that_had_not_begun(way: Any, saver: Any) -> None:
    """SB-12: ≠ in a super-step that is resumed, it still takes its input."""
    fails = [True]

    def call(state: Plain) -> Any:
        if fails:
            raise ValueError("boom")
        return {"values": inner.invoke({"values": ["fresh"]})["values"]}

    builder = StateGraph(Plain).add_node("n", lambda s: {"values": [*s["values"], "n"]})
    inner = builder.add_edge(START, "n").compile(checkpointer=True)
    outer = StateGraph(Plain).add_node(call).add_edge(START, "call")
    graph = outer.compile(checkpointer=saver)
    fails.clear()
    assert way.invoke(graph, {}, CONFIG) == {"values": ["fresh", "n"]}
    fails.append(True)
    with pytest.raises(ValueError, match="boom"):
        way.invoke(graph, {}, CONFIG)
    fails.clear()
    assert way.invoke(graph, None, CONFIG) == {"values": ["fresh", "n"]}
    assert rows(saver, "call") == [
        ("input", -1), ("loop", 0), ("loop", 1), ("input", 2), ("loop", 3), ("loop", 4)
    ]  # fmt: skip


EARLY = pytest.mark.parametrize("early", ["after an update", "at a breakpoint"])


@EARLY
@NESTS
@FLAVOURS
def test_a_plain_answer_is_for_whoever_asks_first(
    way: Any, saver: Any, kind: str, flavour: Any, early: str
) -> None:
    """IN-41, IN-62: also in a graph that begins only then; and who has got it, keeps it."""
    ran: list[str] = []
    graph = nest(kind, asking(flavour, ran), way, saver)
    name = "middle" if kind == "two levels" else "sub"
    if early == "after an update":
        way.invoke(graph, {"values": []}, CONFIG)
        way.update(graph, CONFIG, {"values": []}, as_node=START)
    else:
        way.invoke(graph, {"values": []}, CONFIG, interrupt_before=[name])
    ran.clear()
    assert questions(way.invoke(graph, Command(resume="A"), CONFIG)) == ["b?"]
    assert way.invoke(graph, Command(resume="B"), CONFIG) == {"values": ["a:A", "b:B"]}
    assert ran == (["a", "b", "a", "b"] if flavour is False else ["a", "b", "b"])


@pytest.mark.parametrize("by_id", [False, True], ids=["plain", "by id"])
@pytest.mark.parametrize("kinds", ["node", "called"])
@pytest.mark.parametrize("outer", [None, True, False], ids=["in inherit", "in own", "in none"])
@FLAVOURS
def test_two_levels_of_any_two_flavours(
    way: Any, saver: Any, flavour: Any, outer: Any, kinds: str, by_id: bool
) -> None:
    """SB-12, SB-14: questions on all levels, before and behind each other, in two turns."""

    def node(name: str) -> Callable[[Any], Any]:
        return lambda state: {"values": [*state["values"], f"{name}:{interrupt(f'{name}?')}"]}

    wrap = around if kinds == "node" else called
    inside = asking(flavour)
    builder = StateGraph(Plain).add_node("before", node("before"))
    builder.add_node("inner", inside if wrap is around else lambda state: inside.invoke(state))
    builder.add_node("behind", node("behind")).add_edge(START, "before")
    builder.add_edge("before", "inner").add_edge("inner", "behind")
    graph = wrap(builder.compile(checkpointer=outer), checkpointer=saver)
    for turn in (1, 2):
        result = way.invoke(graph, {"values": [turn]}, CONFIG)
        for name in ("before", "a", "b", "behind"):
            [question] = result["__interrupt__"]
            assert question.value == f"{name}?"
            answer: Any = {question.id: name.upper()} if by_id else name.upper()
            result = way.invoke(graph, Command(resume=answer), CONFIG)
        assert result == {"values": [turn, "before:BEFORE", "a:A", "b:B", "behind:BEHIND"]}


# ---------------------------------------------------------------- looking inside


@pytest.mark.parametrize("called_", [False, True], ids=["as a node", "called"])
@KEPT
def test_where_an_inner_graph_stands(way: Any, saver: Any, flavour: Any, called_: bool) -> None:
    """SB-16, SB-30, SB-31: a config, or, if asked for, the snapshot; for whoever waits only."""
    inner = asking(flavour)
    graph = called(inner, checkpointer=saver) if called_ else around(inner, checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    way.invoke(graph, Command(resume="A"), CONFIG)

    root = way.state(graph, CONFIG)
    [task] = root.tasks
    name = "sub" if flavour else f"sub:{task.id}"
    place = {"thread_id": "t", "checkpoint_ns": f"sub:{task.id}"}
    assert task.state == {"configurable": place}  # also where it stands at another place
    shown = inside(way, graph)
    root_id = root.config["configurable"]["checkpoint_id"]
    id = shown.config["configurable"]["checkpoint_id"]
    assert shown.config == {
        "configurable": {
            "thread_id": "t",
            "checkpoint_ns": name,
            "checkpoint_id": id,
            "checkpoint_map": {"": root_id, name: id},
        }
    }
    parent = shown.parent_config["configurable"]
    assert parent["checkpoint_map"] == {"": root_id, name: parent["checkpoint_id"]}
    assert (shown.values, shown.next) == ({"values": ["a:A"]}, ("b",))
    assert shown.metadata == {"source": "loop", "step": 1, "parents": {"": root_id}}
    assert shown.interrupts == root.interrupts

    assert way.state(graph, task.state) == shown
    history = way.history(graph, task.state)
    assert history[0].config == shown.config
    assert [state.next for state in history] == [("b",), ("a",), (START,)]

    way.invoke(graph, Command(resume="B"), CONFIG)
    assert way.state(graph, CONFIG, subgraphs=True).tasks == ()


def test_a_graph_that_keeps_nothing_cannot_be_looked_into(way: Any, saver: Any) -> None:
    """SB-30, SB-12."""
    graph = around(asking(False), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    for subgraphs in (False, True):
        [task] = way.state(graph, CONFIG, subgraphs=subgraphs).tasks
        assert task.state is None


def test_two_levels_inside(way: Any, saver: Any) -> None:
    """SB-31: all the way down."""
    graph = around(around(asking(), "inner"), "middle", checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    middle = inside(way, graph)
    inner = middle.tasks[0].state
    assert (middle.next, inner.next) == (("inner",), ("a",))
    place = inner.config["configurable"]
    assert [bare(name) for name in place["checkpoint_map"]] == ["", "middle:#", "middle:#|inner:#"]
    assert bare(place["checkpoint_ns"]) == "middle:#|inner:#"
    assert way.state(graph, inner.config).next == ("a",)
    assert middle.interrupts == inner.interrupts == way.state(graph, CONFIG).interrupts


def test_a_graph_that_has_not_begun(way: Any, saver: Any) -> None:
    """SB-31: there is nothing to show but where it will stand."""
    graph = around(asking(), checkpointer=saver, interrupt_before=["sub"])
    way.invoke(graph, {"values": []}, CONFIG)
    [task] = way.state(graph, CONFIG).tasks
    assert task.state == {"configurable": {"thread_id": "t", "checkpoint_ns": f"sub:{task.id}"}}
    shown = inside(way, graph)
    assert shown == StateSnapshot({}, (), task.state, None, None, None, (), ())


def test_the_record_inside(way: Any, saver: Any) -> None:
    """SB-31, CP-41: with a checkpoint of the root's named, it is shown with that one's tasks."""
    graph = around(asking(True), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    named = way.state(graph, CONFIG).config
    assert inside(way, graph, named).next == ("a",)


@KEPT
def test_an_update_inside(way: Any, saver: Any, flavour: Any) -> None:
    """SB-32: it goes to that namespace, and the graph around it stays as it is."""
    ran: list[str] = []
    graph = around(asking(flavour, ran), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    place = inside(way, graph).config
    updated = way.update(graph, place, {"values": ["upd"]})
    name = place["configurable"]["checkpoint_ns"]
    assert updated["configurable"].keys() == {
        "thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint_map"
    }  # fmt: skip
    assert updated["configurable"]["checkpoint_map"] == {
        "": place["configurable"]["checkpoint_map"][""],
        name: updated["configurable"]["checkpoint_id"],
    }
    shown = inside(way, graph)
    assert (shown.values, shown.next, shown.interrupts) == ({"values": ["upd"]}, ("a",), ())
    assert way.state(graph, CONFIG).values == {"values": []}
    assert rows(saver) == [("input", -1), ("loop", 0)]
    assert questions(way.invoke(graph, Command(resume="A"), CONFIG)) == ["b?"]
    done = way.invoke(graph, Command(resume="B"), CONFIG)
    assert done == {"values": ["upd", "a:A", "b:B"]}


@KEPT
def test_an_update_inside_by_the_short_address(way: Any, saver: Any, flavour: Any) -> None:
    """SB-30, SB-32: the config of the task will do, too."""
    graph = around(asking(flavour), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    way.update(graph, way.state(graph, CONFIG).tasks[0].state, {"values": ["upd"]}, as_node="a")
    assert questions(way.invoke(graph, None, CONFIG)) == ["b?"]
    assert way.invoke(graph, Command(resume="B"), CONFIG) == {"values": ["upd", "b:B"]}


@KEPT
def test_an_update_inside_as_a_node(way: Any, saver: Any, flavour: Any) -> None:
    """SB-33: the run goes on behind that node."""
    ran: list[str] = []
    graph = around(asking(flavour, ran), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    way.update(graph, inside(way, graph).config, {"values": ["given"]}, as_node="a")
    assert questions(way.invoke(graph, None, CONFIG)) == ["b?"]
    assert ran == ["a", "b"]
    assert way.invoke(graph, Command(resume="B"), CONFIG) == {"values": ["given", "b:B"]}


def test_an_update_two_levels_inside(way: Any, saver: Any) -> None:
    """SB-32."""
    graph = around(around(asking(), "inner"), "middle", checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    place = inside(way, graph).tasks[0].state.config
    updated = way.update(graph, place, {"values": ["given"]}, as_node="a")
    assert updated["configurable"]["checkpoint_map"].keys() == (
        place["configurable"]["checkpoint_map"].keys()
    )
    assert questions(way.invoke(graph, None, CONFIG)) == ["b?"]
    assert way.invoke(graph, Command(resume="B"), CONFIG) == {"values": ["given", "b:B"]}


def test_a_namespace_that_does_not_exist(way: Any, saver: Any) -> None:
    """SB-32: nothing to read; a `ValueError` to write."""
    graph = around(asking(), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    unknown: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "zz:1"}}
    found = way.state(graph, unknown)
    assert (found.values, found.next, found.metadata) == ({}, (), None)
    assert way.history(graph, unknown) == []
    with pytest.raises(ValueError, match="zz"):
        way.update(graph, unknown, {"values": []})


@pytest.mark.parametrize("ended", [False, True], ids=["waiting", "ended"])
@pytest.mark.parametrize("place", ["sub", "sub:123", "sub:123|1"])
def test_an_update_where_no_task_is(way: Any, saver: Any, ended: bool, place: str) -> None:
    """SB-32: ≠ refused, since nobody would ever come to it; the tasks that wait are named."""
    graph = around(asking(), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    waiting = [
        task.state["configurable"]["checkpoint_ns"] for task in way.state(graph, CONFIG).tasks
    ]
    if ended:
        way.invoke(graph, Command(resume="A"), CONFIG)
        way.invoke(graph, Command(resume="B"), CONFIG)
        waiting = []
    before = namespaces(saver)
    nowhere: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": place}}
    with pytest.raises(ValueError) as caught:
        way.update(graph, nowhere, {"values": []})
    assert str(caught.value).startswith(
        f"Nothing is stored at checkpoint_ns '{place}', and no task waits there; "
        f"{f'those that wait are at {waiting}' if waiting else 'none waits at all'}. Take the"
    )
    assert namespaces(saver) == before


def test_an_update_of_a_graph_that_has_not_begun(way: Any, saver: Any) -> None:
    """SB-31, SB-32: its task waits, so it will come there; two levels down as well."""
    inner = chain("a")
    middle = StateGraph(State).add_node("inner", inner).add_edge(START, "inner")
    logs = []
    for depth, stop in ((1, {"checkpointer": None}), (2, {"interrupt_before": ["inner"]})):
        builder = StateGraph(State).add_node("middle", middle.compile(**stop))
        builder.add_edge(START, "middle")
        before = ["middle"] if depth == 1 else []
        graph = builder.compile(checkpointer=saver, interrupt_before=before)
        config: Any = {"configurable": {"thread_id": str(depth)}}
        way.invoke(graph, {"log": ["in"]}, config)
        place = way.state(graph, config, subgraphs=True).tasks[0].state
        place = place.tasks[0].state if depth == 2 else place
        way.update(graph, place.config, {"log": ["early"]})
        logs.append(way.invoke(graph, None, config)["log"])
    assert ["early" in log for log in logs] == [True, True]


def test_an_update_of_a_memory_that_has_not_begun(way: Any, saver: Any) -> None:
    """SB-32, SB-12: its place does not depend on a task, so it can be there before."""
    graph = around(asking(True), checkpointer=saver)
    place: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "sub"}}
    way.update(graph, place, {"values": ["early"]}, as_node="a")
    assert way.state(graph, place).values == {"values": ["early"]}


def test_an_update_of_a_graph_that_keeps_nothing(way: Any, saver: Any) -> None:
    """SB-32, SB-12: ≠ refused; it would not be seen."""
    graph = around(asking(False), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    [task] = way.state(graph, CONFIG).tasks
    place: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": f"sub:{task.id}"}}
    with pytest.raises(ValueError, match="The graph at 'sub' keeps nothing"):
        way.update(graph, place, {"values": []})


def test_an_unknown_checkpoint_inside(way: Any, saver: Any) -> None:
    """TT-11, SB-32: ≠ no update."""
    graph = around(asking(), checkpointer=saver)
    way.invoke(graph, {"values": []}, CONFIG)
    place = way.state(graph, CONFIG).tasks[0].state["configurable"]
    unknown: Any = {"configurable": {**place, "checkpoint_id": "1" * 36}}
    words = f"Thread 't' has no checkpoint '{'1' * 36}' in the graph at '{place['checkpoint_ns']}'"
    with pytest.raises(InvalidUpdateError, match=re.escape(words)):
        way.update(graph, unknown, {"values": []})


def test_a_node_looks_into_its_own_graph(way: Any, saver: Any) -> None:
    """SB-30, SB-12: with its own config, in the saver that it has inherited."""
    seen: list[Any] = []
    inner = chain("a", "b")

    def call(state: State, config: RunnableConfig) -> Any:
        inner.invoke({"log": []})
        found = inner.get_state(config)
        seen.append((found.values, found.next))
        seen.append([each.next for each in inner.get_state_history(config)])

    async def acall(state: State, config: RunnableConfig) -> Any:
        await inner.ainvoke({"log": []})
        found = await inner.aget_state(config)
        seen.append((found.values, found.next))
        seen.append([each.next async for each in inner.aget_state_history(config)])

    node: Any = acall if way.is_async else call
    graph = StateGraph(State).add_node("call", node).add_edge(START, "call")
    way.invoke(graph.compile(checkpointer=saver), {"log": []}, CONFIG)
    assert seen == [({"log": ["a", "b"]}, ()), [(), ("b",), ("a",), (START,)]]
    with pytest.raises(ValueError, match="No checkpointer set"):
        way.state(inner, CONFIG)


def test_the_graphs_inside_of_a_graph() -> None:
    """SB-34, SB-16: as nodes, and known to their functions."""
    inner = asking()
    builder = StateGraph(Plain).add_node("direct", inner)
    builder.add_node("closure", lambda state: inner.invoke(state))
    builder.add_node("plain", lambda state: None).add_edge(START, "direct")
    graph = builder.compile()
    outer = around(graph, "g")
    assert [*graph.get_subgraphs()] == [("direct", inner), ("closure", inner)]
    assert [*outer.get_subgraphs()] == [("g", graph)]
    names = ["g", "g|direct", "g|closure"]
    assert [name for name, _ in outer.get_subgraphs(recurse=True)] == names
    assert [*outer.get_subgraphs(namespace="g|direct", recurse=True)] == [("g|direct", inner)]
    assert [*outer.get_subgraphs(namespace="g", recurse=True)] == [("g", graph)]
    assert [*outer.get_subgraphs(namespace="g|closure")] == [("g|closure", inner)]
    for missing in ("zz", "g|zz", "direct", "g|", ""):
        for recurse in (False, True):
            assert [*outer.get_subgraphs(namespace=missing, recurse=recurse)] == []

    async def collect() -> list[Any]:
        return [found async for found in outer.aget_subgraphs(recurse=True)]

    assert asyncio.run(collect()) == [*outer.get_subgraphs(recurse=True)]


def test_a_graph_that_keeps_nothing_is_listed(way: Any) -> None:
    """SB-34: ≠ it is there."""
    inner = asking(False)
    assert [*around(inner).get_subgraphs()] == [("sub", inner)]


# ---------------------------------------------------------------- streams


def test_streams_from_inside(way: Any) -> None:
    """ST-05: only if they are asked for, with the namespace of the graph."""
    graph = StateGraph(State).add_node("sub", chain("a", "b")).add_node("after", say("after"))
    compiled = graph.add_edge(START, "sub").add_edge("sub", "after").compile()
    assert way.stream(compiled, {"log": []}) == [
        {"sub": {"log": ["a", "b"]}},
        {"after": {"log": ["after"]}},
    ]
    chunks = way.stream(compiled, {"log": []}, subgraphs=True)
    assert [tuple(bare(level) for level in chunk[0]) for chunk in chunks] == [
        ("sub:#",), ("sub:#",), (), ()
    ]  # fmt: skip
    assert [chunk[1] for chunk in chunks] == [
        {"a": {"log": ["a"]}},
        {"b": {"log": ["b"]}},
        {"sub": {"log": ["a", "b"]}},
        {"after": {"log": ["after"]}},
    ]


def test_the_shapes_of_chunks_from_inside(way: Any) -> None:
    """ST-01, ST-02, ST-05."""
    graph = StateGraph(State).add_node("sub", chain("a")).add_edge(START, "sub").compile()
    lists = way.stream(graph, {"log": []}, subgraphs=True, stream_mode=["updates"])
    assert [chunk[1:] for chunk in lists] == [
        ("updates", {"a": {"log": ["a"]}}),
        ("updates", {"sub": {"log": ["a"]}}),
    ]
    first, last = way.stream(graph, {"log": []}, subgraphs=True, version="v2")
    assert [bare(level) for level in first.pop("ns")] == ["sub:#"]
    assert first == {"type": "updates", "data": {"a": {"log": ["a"]}}}
    assert last == {"type": "updates", "ns": (), "data": {"sub": {"log": ["a"]}}}


def test_values_from_inside(way: Any) -> None:
    """ST-05, ST-10."""
    graph = StateGraph(State).add_node("sub", chain("a")).add_edge(START, "sub").compile()
    chunks = way.stream(graph, {"log": ["i"]}, subgraphs=True, stream_mode="values")
    assert [(len(ns), values["log"]) for ns, values in chunks] == [
        (0, ["i"]), (1, ["i"]), (1, ["i", "a"]), (0, ["i", "i", "a"])
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["node", "called", "awaited"])
def test_custom_from_inside(way: Any, kind: str) -> None:
    """ST-05, ST-17: what inner nodes say is for those who read graphs inside of nodes."""

    def speak(state: Plain) -> None:
        get_stream_writer()("inner")

    inner = StateGraph(Plain).add_node(speak).add_edge(START, "speak").compile()
    graph = nest(kind, inner, way, None)
    assert way.stream(graph, {}, stream_mode="custom") == []
    [(namespace, said)] = way.stream(graph, {}, stream_mode="custom", subgraphs=True)
    assert ([bare(level) for level in namespace], said) == (["sub:#"], "inner")


def test_two_levels_of_streams(way: Any, saver: Any) -> None:
    """ST-05: every level has its own namespace."""
    inner = (
        StateGraph(Plain).add_node("n", lambda s: {"values": [1]}).add_edge(START, "n").compile()
    )
    graph = around(around(inner, "inner"), "middle", checkpointer=saver)
    chunks = way.stream(graph, {"values": []}, CONFIG, subgraphs=True)
    assert [([bare(level) for level in ns], [*update]) for ns, update in chunks] == [
        (["middle:#", "inner:#"], ["n"]),
        (["middle:#"], ["inner"]),
        ([], ["middle"]),
    ]


def test_a_stream_of_an_inner_graph_is_its_callers(way: Any) -> None:
    """ST-05: whoever streams an inner graph reads that, and the reader outside does as well."""
    read: list[Any] = []
    inner = chain("a", "b")

    def call(state: State) -> Any:
        read.extend(inner.stream({"log": []}))
        return {"log": ["done"]}

    graph = StateGraph(State).add_node("call", call).add_edge(START, "call").compile()
    assert way.stream(graph, {"log": []}) == [{"call": {"log": ["done"]}}]
    assert read == [{"a": {"log": ["a"]}}, {"b": {"log": ["b"]}}]
    chunks = way.stream(graph, {"log": []}, subgraphs=True)
    assert [update for _, update in chunks] == [
        {"a": {"log": ["a"]}}, {"b": {"log": ["b"]}}, {"call": {"log": ["done"]}}
    ]  # fmt: skip
    assert read == [{"a": {"log": ["a"]}}, {"b": {"log": ["b"]}}] * 2


def test_debug_from_inside(way: Any, saver: Any) -> None:
    """ST-21: between the outer task's beginning and its end, with steps of its own."""
    graph = StateGraph(State).add_node("sub", chain("a")).add_edge(START, "sub")
    compiled = graph.compile(checkpointer=saver)
    chunks = way.stream(compiled, {"log": []}, CONFIG, stream_mode="debug", subgraphs=True)
    assert [(len(ns), event["step"], event["type"]) for ns, event in chunks] == [
        (0, -1, "checkpoint"),
        (0, 0, "checkpoint"),
        (0, 1, "task"),
        (1, -1, "checkpoint"),
        (1, 0, "checkpoint"),
        (1, 1, "task"),
        (1, 1, "task_result"),
        (1, 1, "checkpoint"),
        (0, 1, "task_result"),
        (0, 1, "checkpoint"),
    ]


@FLAVOURS
def test_checkpoints_say_where_an_inner_graph_stands(way: Any, saver: Any, flavour: Any) -> None:
    """ST-22, SB-30: unless it keeps nothing."""
    graph = around(asking(flavour), checkpointer=saver)
    chunks = way.stream(graph, {"values": []}, CONFIG, stream_mode="checkpoints")
    [task] = chunks[-1]["tasks"]
    place = {"thread_id": "t", "checkpoint_ns": f"sub:{task['id']}"}
    assert task["state"] == (None if flavour is False else {"configurable": place})


def test_leaving_a_stream_in_the_middle_of_an_inner_graph(way: Any, saver: Any) -> None:
    """ST-30, DU-03: what was told from inside is stored, and the nest goes on."""
    ran: list[str] = []

    def node(name: str) -> Callable[[Any], Any]:
        def run(state: Plain) -> Any:
            ran.append(name)
            return {"values": [*state["values"], name]}

        return run

    builder = StateGraph(Plain).add_node("x", node("x")).add_node("y", node("y"))
    inner = builder.add_edge(START, "x").add_edge("x", "y").compile()
    graph = around(inner, checkpointer=saver)
    given: Any = {"values": []}
    [(namespace, update)] = way.take(graph, 1, given, CONFIG, subgraphs=True, durability="sync")
    assert (len(namespace), update) == (1, {"x": {"values": ["x"]}})
    assert way.invoke(graph, None, CONFIG) == {"values": ["x", "y"]}
    assert ran.count("x") == 1


# ---------------------------------------------------------------- context and config


def test_context_goes_down(way: Any) -> None:
    """MR-04: the graphs in a node have the same context, unless the call gives another."""
    seen: list[Any] = []

    def look(state: State, runtime: Runtime[Any]) -> None:
        seen.append(runtime.context)

    inner = StateGraph(State).add_node(look).add_edge(START, "look").compile()

    def call(state: State) -> None:
        inner.invoke({"log": []})
        inner.invoke({"log": []}, context={"own": 1})

    graph = StateGraph(State).add_node(call).add_edge(START, "call").compile()
    way.invoke(graph, {"log": []}, context={"outer": 1})
    assert seen == [{"outer": 1}, {"own": 1}]


def test_config_goes_down(way: Any) -> None:
    """SB-11: also where the node does not pass it on; what the call says is heard first."""
    seen: list[Any] = []

    def look(state: State, config: RunnableConfig) -> None:
        seen.append((config["tags"], config["configurable"]["key"], config["metadata"]["m"]))

    inner = StateGraph(State).add_node(look).add_edge(START, "look").compile()

    def call(state: State, config: RunnableConfig) -> None:
        inner.invoke({"log": []})
        inner.invoke({"log": []}, {"configurable": {"key": 2}, "tags": ["more"]})
        inner.invoke({"log": []}, config)

    graph = StateGraph(State).add_node(call).add_edge(START, "call").compile()
    config: Any = {"tags": ["t"], "configurable": {"key": 1}, "metadata": {"m": 1}}
    way.invoke(graph, {"log": []}, config)
    assert seen[:2] == [(["t"], 1, 1), (["t", "more"], 2, 1)]
    assert seen[2][1:] == (1, 1)


def test_async_nodes_inside_of_a_sync_run() -> None:
    """ST-31: refused before anything runs."""

    async def late(state: Plain) -> None: ...

    inner = StateGraph(Plain).add_node(late).add_edge(START, "late").compile()
    graph = around(around(inner, "inner"), "middle")
    with pytest.raises(TypeError, match="No synchronous function was provided to 'middle': "):
        graph.invoke({})
    assert asyncio.run(graph.ainvoke({"values": [1]})) == {"values": [1]}


# ---------------------------------------------------------------- time travel


def before(way: Any, graph: Any, name: str = "sub") -> Any:
    """The config of the oldest checkpoint at which this node comes next."""
    return [state for state in way.history(graph, CONFIG) if state.next == (name,)][-1].config


def answered(way: Any, graph: Any) -> None:
    way.invoke(graph, {"values": []}, CONFIG)
    way.invoke(graph, Command(resume="Alice"), CONFIG)


@pytest.mark.parametrize("fork", [False, True], ids=["replay", "fork"])
@pytest.mark.parametrize("kind", ["node", "called", "awaited"])
def test_back_to_before_an_inner_graph(way: Any, saver: Any, kind: str, fork: bool) -> None:
    """TT-30: it runs from scratch, in a new namespace."""
    ran: list[str] = []
    graph = nest(kind, asking(None, ran), way, saver)
    answered(way, graph)
    way.invoke(graph, Command(resume="30"), CONFIG)
    ran.clear()
    config = before(way, graph)
    if fork:
        config = way.update(graph, config, {"values": ["forked"]})
    assert questions(way.invoke(graph, None, config)) == ["a?"]
    assert ran == ["a"]
    assert namespaces(saver) == ["", "sub:#", "sub:#"]
    assert questions(way.invoke(graph, Command(resume="A2"), CONFIG)) == ["b?"]
    start = ["forked"] if fork else []
    assert way.invoke(graph, Command(resume="B2"), CONFIG) == {"values": [*start, "a:A2", "b:B2"]}


@KEPT
def test_a_fork_inside(way: Any, saver: Any, flavour: Any) -> None:
    """TT-31, TT-32: only the later inner node runs, the earlier one's result is kept. The root has
    a copy of the checkpoint that the inner one belongs to."""
    ran: list[str] = []
    graph = around(asking(flavour, ran), checkpointer=saver)
    answered(way, graph)
    fork = way.update(graph, inside(way, graph).config, {"values": ["forked"]})
    ran.clear()
    again = way.invoke(graph, None, fork)
    assert (questions(again), ran) == (["b?"], ["b"])
    assert rows(saver) == [("input", -1), ("loop", 0), ("fork", 1)]
    shown = inside(way, graph)
    assert (shown.values, shown.next) == ({"values": ["forked"]}, ("b",))
    assert way.invoke(graph, Command(resume="B2"), CONFIG) == {"values": ["forked", "b:B2"]}


def test_the_address_of_a_fork_inside(way: Any, saver: Any) -> None:
    """TT-32: the namespace of the memory, and the map with the root's checkpoint."""
    graph = around(asking(True), checkpointer=saver)
    answered(way, graph)
    root = way.state(graph, CONFIG).config["configurable"]["checkpoint_id"]
    fork = way.update(graph, inside(way, graph).config, {"values": ["forked"]})["configurable"]
    assert fork == {
        "thread_id": "t",
        "checkpoint_ns": "sub",
        "checkpoint_id": fork["checkpoint_id"],
        "checkpoint_map": {"": root, "sub": fork["checkpoint_id"]},
    }


def test_a_replay_from_inside(way: Any, saver: Any) -> None:
    """TT-33: ≠ from a checkpoint of an inherited graph, that graph goes on from there. The
    reference restarts it."""
    ran: list[str] = []
    graph = around(asking(None, ran), checkpointer=saver)
    answered(way, graph)
    place = inside(way, graph).config
    ran.clear()
    assert questions(way.invoke(graph, None, place)) == ["b?"]
    assert ran == ["b"]
    done = way.invoke(graph, Command(resume="30"), CONFIG)
    assert done == {"values": ["a:Alice", "b:30"]}


def test_a_replay_from_two_levels_inside(way: Any, saver: Any) -> None:
    """TT-33, TT-32: all levels start from where they were."""
    ran: list[str] = []
    graph = around(around(asking(None, ran), "inner"), "middle", checkpointer=saver)
    answered(way, graph)
    place = inside(way, graph).tasks[0].state.config
    ran.clear()
    assert questions(way.invoke(graph, None, place)) == ["b?"]
    assert ran == ["b"]
    done = way.invoke(graph, Command(resume="30"), CONFIG)
    assert done == {"values": ["a:Alice", "b:30"]}


@KEPT
def test_a_replay_from_the_past_of_a_thread_that_has_ended(
    way: Any, saver: Any, flavour: Any
) -> None:
    """TT-33: an old inner checkpoint is found, also when its task is long over."""
    ran: list[str] = []
    graph = around(asking(flavour, ran), checkpointer=saver)
    answered(way, graph)
    place = inside(way, graph).config
    way.invoke(graph, Command(resume="30"), CONFIG)
    ran.clear()
    assert questions(way.invoke(graph, None, place)) == ["b?"]
    assert ran == ["b"]
    done = way.invoke(graph, Command(resume="31"), CONFIG)
    assert done == {"values": ["a:Alice", "b:31"]}


class Looped(TypedDict, total=False):
    seen: Annotated[list[Any], operator.add]
    n: int


def test_a_replay_of_graphs_with_a_memory(way: Any, saver: Any) -> None:
    """TT-34: at its first visit one is as it was then; afterwards as the replay has left it."""
    builder = StateGraph(State).add_node("n", lambda state: {"log": [len(state["log"])]})
    inner = builder.add_edge(START, "n").compile(checkpointer=True)

    def call(state: Looped) -> Any:
        return {"seen": [inner.invoke({"log": []})["log"]], "n": state["n"] + 1}

    outer = StateGraph(Looped).add_node("call", call).add_edge(START, "call")
    outer.add_conditional_edges("call", lambda state: "call" if state["n"] < 3 else "__end__")
    graph = outer.compile(checkpointer=saver)
    expected = [[0], [0, 1], [0, 1, 2]]
    assert way.invoke(graph, {"seen": [], "n": 0}, CONFIG)["seen"] == expected
    history = way.history(graph, CONFIG)
    for n in (2, 1, 0):
        [config] = [s.config for s in history if s.values.get("n") == n and s.next == ("call",)]
        assert way.invoke(graph, None, config)["seen"] == expected


def test_a_fork_and_a_memory(way: Any, saver: Any) -> None:
    """TT-34, TT-05: a fork of an old checkpoint finds the memory as it was then."""
    builder = StateGraph(State).add_node("n", lambda state: {"log": [len(state["log"])]})
    inner = builder.add_edge(START, "n").compile(checkpointer=True)

    def call(state: Looped) -> Any:
        return {"seen": [inner.invoke({"log": []})["log"]], "n": state["n"] + 1}

    outer = StateGraph(Looped).add_node("call", call).add_edge(START, "call")
    outer.add_conditional_edges("call", lambda state: "call" if state["n"] < 3 else "__end__")
    graph = outer.compile(checkpointer=saver)
    way.invoke(graph, {"seen": [], "n": 0}, CONFIG)
    history = way.history(graph, CONFIG)
    [there] = [s.config for s in history if s.values.get("n") == 1 and s.next == ("call",)]
    fork = way.update(graph, there, {"n": 1}, as_node="call")
    assert way.invoke(graph, None, fork)["seen"] == [[0], [0, 1], [0, 1, 2]]


@pytest.mark.parametrize("edit", [False, True], ids=["copy", "update"])
def test_a_replay_of_a_copy_and_a_memory(way: Any, saver: Any, edit: bool) -> None:
    """TT-34: a memory is as it was where the copy, or the update, was made; every time."""
    inner = StateGraph(State).add_node("n", lambda state: {"log": [len(state["log"])]})
    memory = inner.add_edge(START, "n").compile(checkpointer=True)
    outer = StateGraph(State).add_node("call", lambda state: memory.invoke({"log": []}))
    graph = outer.add_edge(START, "call").compile(checkpointer=saver)
    assert way.invoke(graph, {"log": ["in"]}, CONFIG) == {"log": ["in", 0]}
    there = next(s.config for s in way.history(graph, CONFIG) if s.next == ("call",))
    if edit:
        there = way.update(graph, there, {"log": ["u"]}, as_node=START)
    else:
        way.invoke(graph, None, there)
        copies = (s for s in way.history(graph, CONFIG) if s.metadata["source"] == "fork")
        there = next(copies).config
    expected = {"log": ["in", *["u"] * edit, 0]}
    assert [way.invoke(graph, None, there) for _ in range(3)] == [expected] * 3


def test_a_memory_is_gone_back_to_once(way: Any, saver: Any) -> None:
    """TT-32, TT-34: ≠ a run from a place inside of a graph starts there at its first visit. At the
    next ones the graph goes on from what it has done since; in the reference it starts there again.
    """
    builder = StateGraph(State).add_node("n", lambda state: {"log": [len(state["log"])]})
    inner = builder.add_edge(START, "n").compile(checkpointer=True)

    def call(state: Looped) -> Any:
        return {"seen": [inner.invoke({"log": []})["log"]], "n": state["n"] + 1}

    outer = StateGraph(Looped).add_node("call", call).add_edge(START, "call")
    outer.add_conditional_edges("call", lambda state: "call" if state["n"] < 3 else "__end__")
    graph = outer.compile(checkpointer=saver)
    way.invoke(graph, {"seen": [], "n": 0}, CONFIG)
    memory: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "call"}}
    ended = [each for each in way.history(graph, memory) if not each.next]
    second = next(each for each in ended if each.values == {"log": [0, 1]})
    fork = way.update(graph, second.config, {"log": ["u"]}, as_node="n")
    again = way.invoke(graph, None, fork)["seen"]
    assert again == [[0], [0, 1, "u"], [0, 1, "u", 3]]


def test_a_new_turn_after_a_replay(way: Any, saver: Any) -> None:
    """TT-34: the memory goes on from the branch that is the newest."""
    builder = StateGraph(State).add_node("n", lambda state: {"log": [len(state["log"])]})
    inner = builder.add_edge(START, "n").compile(checkpointer=True)
    outer = StateGraph(Plain)
    outer.add_node("call", lambda state: {"values": inner.invoke({"log": ["x"]})["log"]})
    graph = outer.add_edge(START, "call").compile(checkpointer=saver)
    for _ in range(3):
        way.invoke(graph, {"values": []}, CONFIG)
    second = [state for state in way.history(graph, CONFIG) if state.next == ("call",)][1]
    assert way.invoke(graph, None, second.config)["values"] == ["x", 1, "x", 3]
    assert way.invoke(graph, {"values": []}, CONFIG)["values"] == ["x", 1, "x", 3, "x", 5]


class Depth(TypedDict):
    n: int


def even(state: Depth) -> Any:
    return {"n": odd_graph.invoke({"n": state["n"] - 1})["n"] if state["n"] else interrupt("n?")}


def odd(state: Depth) -> Any:
    return {"n": even_graph.invoke({"n": state["n"] - 1})["n"]}


even_graph = StateGraph(Depth).add_node(even).add_edge(START, "even").compile()
odd_graph = StateGraph(Depth).add_node(odd).add_edge(START, "odd").compile()


def test_graphs_that_call_each_other() -> None:
    """SB-16, SB-34: they are listed once on each way, and found as deep as somebody asks."""
    graph = even_graph.builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"n": 4}, CONFIG)
    assert [name for name, _ in graph.get_subgraphs(recurse=True)] == [
        "even",
        "even|odd",
        "even|odd|even",
    ]
    deep = dict(graph.get_subgraphs(namespace="even|odd|even|odd", recurse=True))
    assert [*deep.values()] == [even_graph]
    snapshot = graph.get_state(CONFIG, subgraphs=True)
    for _ in range(4):
        snapshot = snapshot.tasks[0].state
    assert (snapshot.next, [each.value for each in snapshot.interrupts]) == (("even",), ["n?"])
    assert graph.invoke(Command(resume=7), CONFIG) == {"n": 7}


def test_nothing_below_a_graph_that_keeps_nothing_is_kept() -> None:
    """SB-12."""
    saver = InMemorySaver()

    def around(inner: Any, **options: Any) -> Any:
        return StateGraph(State).add_node("in", inner).add_edge(START, "in").compile(**options)

    innermost = around(lambda state: {"log": ["done"]})
    graph = around(around(innermost, checkpointer=False), checkpointer=saver)
    assert graph.invoke({"log": []}, {"configurable": {"thread_id": "t"}}) == {"log": ["done"]}
    found = [each.config["configurable"]["checkpoint_ns"] for each in saver.list(None)]
    assert found == ["", "", ""]
