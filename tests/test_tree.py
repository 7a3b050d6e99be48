"""The tree of a thread's checkpoints."""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.graph import START, StateGraph
from minigraph.tree import tree_of
from minigraph.types import Command, interrupt

THREAD: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], add]


def asking() -> Any:
    def ask(state: State) -> State:
        return {"log": [interrupt("Who?")]}

    builder = StateGraph(State).add_sequence([ask, ("greet", lambda state: {"log": ["hello"]})])
    return builder.add_edge(START, "ask").compile(checkpointer=InMemorySaver())


def test_of_nothing() -> None:
    tree = tree_of([])
    assert (tree.roots, tree.nodes, tree.head, str(tree)) == ([], {}, None, "")


def test_a_question_and_two_answers() -> None:
    """Both branches are there; the newest checkpoint is the head."""
    graph = asking()
    graph.invoke({"log": []}, THREAD)
    at_question = graph.get_state(THREAD).config
    graph.invoke(Command(resume="Ada"), THREAD)
    first_end = graph.get_state(THREAD).config
    graph.invoke(None, at_question)
    graph.invoke(Command(resume="Bob"), THREAD)
    tree = tree_of(graph.get_state_history(THREAD))
    assert str(tree).splitlines() == [
        "-1  input   next: __start__",
        " 0  loop    next: ask · asked 'Who?'",
        "├─  1  loop    next: greet",
        "│   2  loop    end",
        "└─  1  fork    next: ask · asked 'Who?'",
        "    2  loop    next: greet",
        "    3  loop    end · head",
    ]
    assert repr(tree) == f"CheckpointTree(7 checkpoints, 2 ends, head '{tree.head.id}')"
    assert tree.head is not None
    assert tree.head.snapshot.values == {"log": ["Bob", "hello"]}
    steps = [[node.snapshot.metadata["step"] for node in path] for path in (
        tree.path_to(first_end), tree.path_to(tree.head.snapshot.config)
    )]  # fmt: skip
    assert steps == [[-1, 0, 1, 2], [-1, 0, 1, 2, 3]]
    assert [len(node.children) for node in tree.nodes.values()] == [1, 2, 1, 0, 1, 1, 0]


def test_forks_of_forks() -> None:
    """Each is indented below what it came from, the older first."""
    graph = asking()
    graph.invoke({"log": []}, THREAD)
    first = graph.update_state(graph.get_state(THREAD).config, {"log": ["1"]})
    graph.update_state(first, {"log": ["2"]})
    graph.update_state(first, {"log": ["3"]})
    graph.update_state(graph.get_state(THREAD).config, {"log": ["4"]}, as_node="ask")
    lines = str(tree_of(graph.get_state_history(THREAD))).splitlines()
    assert lines == [
        "-1  input   next: __start__",
        " 0  loop    next: ask · asked 'Who?'",
        " 1  update  next: ask",
        "├─  2  update  next: ask",
        "└─  2  update  next: ask",
        "    3  update  next: greet · head",
    ]


def test_a_failure_is_told() -> None:
    def fail(state: State) -> State:
        raise ValueError("no network")

    graph = StateGraph(State).add_node("fail", fail).add_edge(START, "fail")
    app = graph.compile(checkpointer=InMemorySaver())
    with pytest.raises(ValueError, match="no network"):
        app.invoke({"log": []}, THREAD)
    last = str(tree_of(app.get_state_history(THREAD))).splitlines()[-1]
    assert last == " 0  loop    next: fail · fail failed: ValueError('no network') · head"


def test_a_part_of_a_history() -> None:
    """What follows on something that is not there, is a root, and says so."""
    graph = asking()
    graph.invoke({"log": []}, THREAD)
    graph.invoke(Command(resume="Ada"), THREAD)
    tree = tree_of(graph.get_state_history(THREAD, limit=2))
    assert [root.snapshot.metadata["step"] for root in tree.roots] == [1]
    assert str(tree).splitlines() == [
        " 1  loop    next: greet · follows on one that is not here",
        " 2  loop    end · head",
    ]


def test_the_head_is_missing() -> None:
    """A history that ends before the newest has none, where that can be told: the tasks of its
    last checkpoint have finished, so another one came after it."""
    graph = asking()
    graph.invoke({"log": []}, THREAD)
    waiting = tree_of(graph.get_state_history(THREAD))
    assert waiting.head is not None
    graph.invoke(Command(resume="Ada"), THREAD)
    newest = graph.get_state(THREAD).config
    tree = tree_of(graph.get_state_history(THREAD, before=newest))
    assert tree.head is None
    assert str(tree).splitlines()[-1] == " 1  loop    next: greet"
    assert repr(tree) == "CheckpointTree(3 checkpoints, 1 ends, head None)"
    graph.invoke({"log": []}, THREAD)  # it begins where one had come to its end
    before = [each for each in graph.get_state_history(THREAD) if each.metadata["step"] == 3]
    ended = tree_of(graph.get_state_history(THREAD, before=before[0].config)).head
    assert ended is not None
    assert ended.snapshot.config == newest  # which cannot be told


def test_questions_of_several() -> None:
    """All that wait are told; one that was answered, or given up, is told in the past."""

    def node(name: str) -> Any:
        return lambda state: {"log": [interrupt(f"{name}?"), interrupt(f"and {name}?")]}

    builder = StateGraph(State).add_node("a", node("a")).add_node("b", node("b"))
    graph = builder.add_edge(START, "a").add_edge(START, "b").compile(checkpointer=InMemorySaver())
    graph.invoke({"log": []}, THREAD)

    def last_line() -> str:
        return str(tree_of(graph.get_state_history(THREAD))).splitlines()[-1]

    assert last_line() == " 0  loop    next: a, b · asks 'a?' · asks 'b?' · head"
    for expected in ("asks 'and a?' · asks 'b?'", "asked 'and a?' · asks 'b?'"):
        a = graph.get_state(THREAD).interrupts[0].id
        graph.invoke(Command(resume={a: "yes"}), THREAD)
        assert last_line() == f" 0  loop    next: a, b · {expected} · head"
    graph.invoke({"log": ["something else"]}, THREAD)
    lines = str(tree_of(graph.get_state_history(THREAD))).splitlines()
    assert lines[1] == " 0  loop    next: a, b · asked 'and a?' · asked 'b?'"


def test_several_roots() -> None:
    """Each is called one: a call that names a checkpoint that does not exist begins anew."""
    graph = asking()
    graph.invoke({"log": []}, THREAD)
    graph.invoke({"log": []}, {"configurable": {"thread_id": "t", "checkpoint_id": "no"}})
    assert str(tree_of(graph.get_state_history(THREAD))).splitlines() == [
        "-1  input   next: __start__ · root",
        " 0  loop    next: ask · asks 'Who?'",
        "-1  input   next: __start__ · root",
        " 0  loop    next: ask · asks 'Who?' · head",
    ]


def test_what_is_no_checkpoint_of_the_tree() -> None:
    graph = asking()
    graph.invoke({"log": []}, THREAD)
    tree = tree_of(graph.get_state_history(THREAD))
    unknown: Any = {"configurable": {"thread_id": "t", "checkpoint_id": "no"}}
    with pytest.raises(KeyError, match="checkpoint no is not among these 2"):
        tree.path_to(unknown)
    with pytest.raises(ValueError, match=r"names no checkpoint.*tree\.head\.snapshot\.config"):
        tree.path_to(THREAD)
    snapshot: Any = graph.get_state(THREAD)
    with pytest.raises(TypeError, match=r"path_to takes the config.*Pass its \.config"):
        tree.path_to(snapshot)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda graph: THREAD, "This is a config: pass graph.get_state_history(config)."),
        (lambda graph: graph.get_state(THREAD), "pass graph.get_state_history(snapshot.config)"),
        (lambda graph: graph.aget_state_history(THREAD), "[each async for each in graph.aget_"),
        (lambda graph: graph, "A tree is made of snapshots, not of <minigraph."),
        (lambda graph: [THREAD], "made of snapshots, but one of these is {'configurable'"),
    ],
    ids=["config", "snapshot", "async history", "graph", "list of configs"],
)
def test_what_is_no_history(given: Any, words: str) -> None:
    with pytest.raises(TypeError) as caught:
        tree_of(given(asking()))
    assert words in str(caught.value)


def test_of_a_graph_in_a_node() -> None:
    """It has a tree of its own."""
    inner = asking().builder.compile()
    graph = StateGraph(State).add_node("inner", inner).add_edge(START, "inner")
    app = graph.compile(checkpointer=InMemorySaver())
    app.invoke({"log": []}, THREAD)
    place = app.get_state(THREAD).tasks[0].state
    lines = str(tree_of(app.get_state_history(place))).splitlines()
    assert lines == [
        "-1  input   next: __start__",
        " 0  loop    next: ask · asks 'Who?' · head",
    ]


def test_a_long_thread() -> None:
    """Neither building nor printing it is a matter of depth."""
    builder = StateGraph(State).add_node("a", lambda state: {"log": []}).add_edge(START, "a")
    app = builder.compile(checkpointer=InMemorySaver())
    for _ in range(400):
        app.invoke({"log": []}, THREAD)
    tree = tree_of(app.get_state_history(THREAD))
    assert len(str(tree).splitlines()) == 1200
    assert len(tree.path_to(app.get_state(THREAD).config)) == 1200
