"""What users of the reference have reported, and the whole kind of each.

A single report is one point of a table; what fails there fails in its neighbours too. So each case
is here with sync and async, in memory and in a file, and with the node in question in the root
graph, in a graph that is a node, in one that a function calls, and two levels down.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.config import get_stream_writer
from minigraph.constants import START
from minigraph.graph import StateGraph
from minigraph.runtime import interrupt
from minigraph.types import Command, Send

CONFIG: Any = {"configurable": {"thread_id": "t"}}
OTHER: Any = {"configurable": {"thread_id": "other"}}

PLACES = ["root", "node", "called", "awaited", "two levels", "two levels of calls"]
FLAVOURS = pytest.mark.parametrize("flavour", [None, True, False], ids=["inherit", "own", "none"])


class State(TypedDict, total=False):
    """Inner graphs get it empty, and return what is new; so reducers add it once everywhere."""

    log: Annotated[list[Any], operator.add]


def placed(place: str, builder: StateGraph, way: Any, saver: Any, flavour: Any = None) -> Any:
    """This graph as the root, or with graphs around it that pass on what it has written."""
    if place == "root":
        return builder.compile(checkpointer=saver)
    inner = builder.compile(checkpointer=flavour)
    levels = place.removeprefix("two levels").strip()
    kind = {"": "node", "of calls": "awaited"}.get(levels, levels)
    middle = around(kind, inner, way)
    if place.startswith("two levels"):
        return around(kind, middle.compile(), way).compile(checkpointer=saver)
    return middle.compile(checkpointer=saver)


def around(kind: str, inner: Any, way: Any) -> StateGraph:
    """A graph with one node, in which the inner one gets an empty state."""

    def call(state: State) -> Any:
        return inner.invoke({"log": []})

    async def acall(state: State) -> Any:
        return await inner.ainvoke({"log": []})

    if kind == "node":
        # What it is given comes back with what it adds, so it is sent there with nothing.
        builder = StateGraph(State).add_node("sub", inner)
        builder.add_conditional_edges(START, lambda state: Send("sub", {"log": []}), ["sub"])
        return builder
    function: Any = acall if kind == "awaited" and way.is_async else call
    return StateGraph(State).add_node("sub", function).add_edge(START, "sub")


def questions(found: Any) -> Any:
    """The open questions of a result or a snapshot: question → id."""
    asked = found["__interrupt__"] if isinstance(found, dict) else found.interrupts
    return {each.value: each.id for each in asked}


def say(name: str) -> Callable[[Any], Any]:
    return lambda state: {"log": [name]}


# ---------------------------------------------------------------- questions


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("count", [1, 2, 4])
@FLAVOURS
def test_next_names_the_node_until_all_is_answered(
    way: Any, saver: Any, place: str, count: int, flavour: Any
) -> None:
    """IN-25: after each answer but the last, the node is next, and its next question waits."""

    def quiz(state: State) -> Any:
        return {"log": [interrupt(n) for n in range(count)]}

    builder = StateGraph(State).add_node(quiz).add_edge(START, "quiz")
    graph = placed(place, builder, way, saver, flavour)
    name = "quiz" if place == "root" else "sub"
    way.invoke(graph, {"log": []}, CONFIG)
    for n in range(count):
        state = way.state(graph, CONFIG)
        assert (state.next, [*questions(state)]) == ((name,), [n])
        assert [task.name for task in state.tasks if task.interrupts] == [name]
        result = way.invoke(graph, Command(resume=f"answer {n}"), CONFIG)
    assert result == {"log": [f"answer {n}" for n in range(count)]}
    assert way.state(graph, CONFIG).next == ()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("sent", [False, True], ids=["nodes", "sends"])
@FLAVOURS
def test_one_plain_answer_for_two_who_wait(
    way: Any, saver: Any, place: str, sent: bool, flavour: Any
) -> None:
    """IN-30: refused; nobody has got it, and both can still be answered by their ids."""
    ran: list[str] = []

    def gate(name: str) -> Any:
        ran.append(name)
        return {"log": [f"{name}:{interrupt(name)}"]}

    builder = StateGraph(State)
    if sent:
        builder.add_node("gate", gate)
        builder.add_conditional_edges(START, lambda s: [Send("gate", n) for n in ("left", "right")])
    else:
        for name in ("left", "right"):
            builder.add_node(name, lambda state, name=name: gate(name)).add_edge(START, name)
    graph = placed(place, builder, way, saver, flavour)
    way.invoke(graph, {"log": []}, CONFIG)
    before, count = way.history(graph, CONFIG), len(ran)

    with pytest.raises(RuntimeError, match="multiple pending interrupts"):
        way.invoke(graph, Command(resume="yes"), CONFIG)

    assert (way.history(graph, CONFIG), len(ran)) == (before, count)
    ids = questions(way.state(graph, CONFIG))
    assert sorted(ids) == ["left", "right"]
    answers = {ids["right"]: 2, ids["left"]: 1}
    assert way.invoke(graph, Command(resume=answers), CONFIG) == {"log": ["left:1", "right:2"]}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("times", [1, 3])
@FLAVOURS
def test_a_replay_of_an_answered_question_asks_again(
    way: Any, saver: Any, place: str, times: int, flavour: Any
) -> None:
    """TT-20: as often as one goes back; the thread then waits at the newest branch."""
    builder = StateGraph(State).add_node("asks", lambda s: {"log": [interrupt("allow?")]})
    graph = placed(place, builder.add_edge(START, "asks"), way, saver, flavour)
    way.invoke(graph, {"log": []}, CONFIG)
    there = way.state(graph, CONFIG).config
    assert way.invoke(graph, Command(resume="yes"), CONFIG) == {"log": ["yes"]}
    for n in range(times):
        again = way.invoke(graph, None, there)
        assert [*questions(again)] == ["allow?"]
        assert way.state(graph, CONFIG).next == (("asks",) if place == "root" else ("sub",))
        assert way.invoke(graph, Command(resume=n), CONFIG) == {"log": [n]}
        assert way.state(graph, CONFIG).values == {"log": [n]}


# ---------------------------------------------------------------- subgraphs


@pytest.mark.parametrize("place", ["called", "awaited"])
@pytest.mark.parametrize("turns", [1, 4])
@FLAVOURS
def test_what_a_subgraph_remembers_between_turns(
    way: Any, saver: Any, place: str, turns: int, flavour: Any
) -> None:
    """SB-12: only what has a memory of its own, and only within its thread."""

    class Count(TypedDict, total=False):
        n: int
        log: Annotated[list[Any], operator.add]

    inner = StateGraph(Count).add_node("work", lambda s: {"n": s.get("n", 0) + 1})
    sub = inner.add_edge(START, "work").compile(checkpointer=flavour)

    def call(state: State) -> Any:
        return {"log": [sub.invoke({"log": []})["n"]]}

    async def acall(state: State) -> Any:
        return {"log": [(await sub.ainvoke({"log": []}))["n"]]}

    function: Any = acall if place == "awaited" and way.is_async else call
    builder = StateGraph(State).add_node("call", function).add_edge(START, "call")
    graph = builder.compile(checkpointer=saver)
    for _ in range(turns):
        result = way.invoke(graph, {"log": []}, CONFIG)
    expected = [*range(1, turns + 1)] if flavour is True else [1] * turns
    assert result == {"log": expected}
    assert way.invoke(graph, {"log": []}, OTHER) == {"log": [1]}


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("calls", [1, 2, 3])
@FLAVOURS
def test_a_subgraph_that_a_node_calls_several_times_gets_each_answer_once(
    way: Any, saver: Any, awaited: bool, calls: int, flavour: Any
) -> None:
    """SB-03: calls that have ended are not made again, where anything is kept of them."""
    ran: list[Any] = []

    class Child(TypedDict, total=False):
        q: int
        a: str

    def ask(state: Child) -> Any:
        ran.append(state["q"])
        return {"a": interrupt(state["q"])}

    inner = StateGraph(Child).add_node(ask).add_edge(START, "ask")
    sub = inner.compile(checkpointer=flavour)

    def top(state: State) -> Any:
        ran.append("top")
        return {"log": [sub.invoke({"q": n})["a"] for n in range(calls)]}

    async def atop(state: State) -> Any:
        ran.append("top")
        return {"log": [(await sub.ainvoke({"q": n}))["a"] for n in range(calls)]}

    node: Any = atop if awaited and way.is_async else top
    builder = StateGraph(State).add_node("top", node).add_edge(START, "top")
    graph = builder.compile(checkpointer=saver)
    result = way.invoke(graph, {"log": []}, CONFIG)
    ids = set()
    for n in range(calls):
        [(question, id)] = questions(result).items()
        assert question == n
        ids.add(id)
        result = way.invoke(graph, Command(resume=f"answer {n}"), CONFIG)
    assert result == {"log": [f"answer {n}" for n in range(calls)]}
    assert len(ids) == calls
    once = [["top", *range(max(0, n - 1), n + 1)] for n in range(calls)]
    if flavour is False:  # they are made again, with the answers of before
        once = [["top", *range(n + 1)] for n in range(calls)]
    last = ["top", *range(calls)] if flavour is False else ["top", calls - 1]
    assert ran == [each for run in once for each in run] + last


# ---------------------------------------------------------------- updates


@pytest.mark.parametrize("kind", ["node", "called", "awaited"])
@pytest.mark.parametrize("by", ["the snapshot's config", "the task's config"])
@pytest.mark.parametrize("flavour", [None, True], ids=["inherit", "own"])
def test_editing_a_subgraph_that_waits_is_seen_on_resume(
    way: Any, saver: Any, kind: str, by: str, flavour: Any
) -> None:
    """SB-32: by either address, and as often as one likes; nothing runs again but who asked."""
    ran: list[str] = []

    class Child(TypedDict, total=False):
        draft: str
        log: Annotated[list[Any], operator.add]

    def write(state: Child) -> Any:
        ran.append("write")
        return {"draft": "first"}

    def review(state: Child) -> Any:
        ran.append("review")
        return {"log": [f"{state['draft']}/{interrupt('ok?')}"]}

    builder = StateGraph(Child).add_node(write).add_node(review)
    builder.add_edge(START, "write").add_edge("write", "review")
    inner = builder.compile(checkpointer=flavour)
    graph = around(kind, inner, way).compile(checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    for draft in ("second", "third"):
        found = way.state(graph, CONFIG, subgraphs=True).tasks[0].state
        assert found.next == ("review",)
        short = way.state(graph, CONFIG).tasks[0].state
        way.update(graph, found.config if by.startswith("the snap") else short, {"draft": draft})
        found = way.state(graph, CONFIG, subgraphs=True).tasks[0].state
        assert (found.values["draft"], found.next) == (draft, ("review",))
    result = way.invoke(graph, Command(resume="fine"), CONFIG)
    assert result == {"log": ["third/fine"]}
    assert ran == ["write", "review", "review"]


# ---------------------------------------------------------------- Commands and edges


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("goto", "log"),
    [
        ("c", ["a", "b", "c", "c", "d", "d"]),
        (["c"], ["a", "b", "c", "c", "d", "d"]),
        (Send("c", {}), ["a", "b", "c", "c", "d", "d"]),
        (["c", "d"], ["a", "b", "c", "d", "c", "d", "d"]),
        ((), ["a", "b", "c", "d"]),
    ],
)
def test_a_goto_adds_a_route_and_cancels_no_edge(
    way: Any, saver: Any, place: str, goto: Any, log: Any
) -> None:
    """CS-02."""
    builder = StateGraph(State)
    builder.add_node("a", lambda state: Command(goto=goto, update={"log": ["a"]}))
    builder.add_edge(START, "a")
    for before, name in ("ab", "bc", "cd"):
        builder.add_node(name, say(name)).add_edge(before, name)
    assert way.invoke(placed(place, builder, way, saver), {"log": []}, CONFIG) == {"log": log}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("route", "log"),
    [
        (["a", "b"], ["a", "b", "b2", "join"]),
        (["a"], ["a"]),
        (["b"], ["b", "b2"]),
        ([], []),
    ],
)
def test_a_list_edge_waits_for_all_of_its_starts(
    way: Any, saver: Any, place: str, route: list[str], log: Any
) -> None:
    """SG-10: and fires never, if one of them is never reached."""
    builder = StateGraph(State)
    for name in ("a", "b", "b2", "join"):
        builder.add_node(name, say(name))
    builder.add_conditional_edges(START, lambda state: route, ["a", "b"])
    builder.add_edge("b", "b2").add_edge(["a", "b2"], "join")
    result = way.invoke(placed(place, builder, way, saver), {"log": []}, CONFIG)
    assert result == {"log": log}


# ---------------------------------------------------------------- streams


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "without a saver"])
def test_what_inner_nodes_say_is_for_those_who_ask_for_subgraphs(
    way: Any, saver: Any, place: str, kept: bool
) -> None:
    """ST-05, ST-17: with the namespace of the graph in which it was said."""

    def speak(state: State) -> Any:
        get_stream_writer()("said")
        return {"log": ["spoke"]}

    builder = StateGraph(State).add_node(speak).add_edge(START, "speak")
    graph = placed(place, builder, way, saver if kept else None)
    depth = 0 if place == "root" else 2 if place.startswith("two") else 1
    quiet = way.stream(graph, {"log": []}, CONFIG, stream_mode="custom")
    assert quiet == (["said"] if depth == 0 else [])
    [(namespace, said)] = way.stream(
        graph, {"log": []}, OTHER, stream_mode="custom", subgraphs=True
    )
    assert ([level.split(":")[0] for level in namespace], said) == (["sub"] * depth, "said")
