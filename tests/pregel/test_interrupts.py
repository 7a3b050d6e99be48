"""Where a run stops, that it lets go once it goes on, and how an answer finds its question."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import END, INTERRUPT, MISSING, START, TAG_HIDDEN
from minigraph.errors import UnknownInterruptError
from minigraph.graph import StateGraph
from minigraph.pregel.interrupts import (
    LooseAnswer,
    Replay,
    aimed,
    check_in_the_past,
    holds,
    is_map_of_answers,
    something_new,
)
from minigraph.pregel.live import Glimpse
from minigraph.pregel.node import PregelNode
from minigraph.pregel.plan import Task
from minigraph.pregel.selection import Selection
from minigraph.types import Interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def chain(saver: Any = InMemorySaver, **options: Any) -> Any:
    builder = StateGraph(State)
    previous = START
    for name in "abc":
        builder.add_node(name, say(name)).add_edge(previous, name)
        previous = name
    return builder.compile(checkpointer=saver and saver(), **options)


def say(name: str) -> Callable[[Any], Any]:
    return lambda state: {"log": [name]}


def task(name: str, *tags: str) -> Task:
    node = PregelNode(name, (), Selection("x"), tags=tags)
    return Task("id", name, ("__pregel_pull", name), None, (), (), name, node)


def state(versions: Any, noted: Any = None) -> Glimpse:
    return Glimpse(versions, {} if noted is None else {INTERRUPT: noted}, None, {})


# ---------------------------------------------------------------- the two questions


@pytest.mark.parametrize(
    ("versions", "noted", "new"),
    [
        ({}, None, False),
        ({"x": 1}, None, True),
        ({"x": 1}, {"x": 1}, False),
        ({"x": 2}, {"x": 1}, True),
        ({"x": 1}, {"x": 2}, False),
        ({"x": 1, "y": 1}, {"x": 1}, True),
        ({"x": 1}, {"x": 1, "y": 9}, False),
        ({"x": "2.1"}, {"x": "1.9"}, True),
    ],
)
def test_something_new(versions: Any, noted: Any, new: bool) -> None:
    """IN-51: whether any channel is newer than the note of the last resume."""
    assert something_new(state(versions, noted)) is new


@pytest.mark.parametrize(
    ("breakpoints", "tasks", "held"),
    [
        (["a"], [task("a")], True),
        (["a"], [task("b")], False),
        (["a"], [task("b"), task("a")], True),
        (["a", "b"], [task("b")], True),
        ("*", [task("b")], True),
        ("*", [task(START, TAG_HIDDEN)], False),
        ("*", [task(START, TAG_HIDDEN), task("b")], True),
        ([START], [task(START, TAG_HIDDEN)], True),
        (["a"], [], False),
        ("*", [], False),
    ],
)
def test_holds(breakpoints: Any, tasks: list[Task], held: bool) -> None:
    """IN-60: at a node that is named; `*` means all that are not hidden."""
    assert holds(breakpoints, tasks, state({"x": 1})) is held
    assert holds(breakpoints, tasks, state({"x": 1}, {"x": 1})) is False


# ---------------------------------------------------------------- in a run


def test_before_a_node(way: Any) -> None:
    """IN-61: plain values, nothing is written for it, and the snapshot has no interrupts."""
    graph = chain(interrupt_before=["b"])

    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["a"]}

    held = way.state(graph, CONFIG)
    assert (held.next, held.interrupts) == (("b",), ())
    assert [(t.name, t.interrupts, t.error, t.result) for t in held.tasks] == [
        ("b", (), None, None)
    ]
    assert graph.checkpointer.get_tuple(CONFIG).pending_writes == []
    assert way.stream(graph, None, CONFIG) == [{"b": {"log": ["b"]}}, {"c": {"log": ["c"]}}]
    assert way.state(graph, CONFIG).next == ()


def test_what_streams_tell(way: Any) -> None:
    """IN-61: an interrupt without a question in `updates`, and nothing in `values`."""
    graph = chain(interrupt_before=["b"])
    both = way.stream(graph, {"log": []}, CONFIG, stream_mode=["values", "updates"])
    assert both == [
        ("values", {"log": []}),
        ("updates", {"a": {"log": ["a"]}}),
        ("values", {"log": ["a"]}),
        ("updates", {"__interrupt__": ()}),
    ]
    graph = chain(interrupt_after=["a"])
    assert way.stream(graph, {"log": []}, CONFIG) == [{"a": {"log": ["a"]}}, {"__interrupt__": ()}]


def test_the_note_is_made_when_the_run_goes_on(way: Any) -> None:
    """IN-50: absent until then; stored with the next checkpoint; at the versions of then."""
    graph = chain(interrupt_before=["b"])
    way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, None, CONFIG)

    rows = [*graph.checkpointer.list(CONFIG)][::-1]
    notes = [row.checkpoint["versions_seen"].get("__interrupt__") for row in rows]
    assert notes[:3] == [None] * 3
    assert notes[3] == notes[4] == rows[2].checkpoint["channel_versions"]


def test_after_a_node(way: Any) -> None:
    """IN-60: the super-step is complete, and stored."""
    graph = chain(interrupt_after=["a"])
    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["a"]}
    held = way.state(graph, CONFIG)
    assert (held.next, held.metadata["step"]) == (("b",), 1)
    assert way.invoke(graph, None, CONFIG) == {"log": ["a", "b", "c"]}


def test_after_the_last_node(way: Any) -> None:
    """IN-64: then there is nothing left."""
    graph = chain(interrupt_after="*")
    seen = []
    for _ in range(5):
        result = way.invoke(graph, None if seen else {"log": []}, CONFIG)
        seen.append((result["log"], way.state(graph, CONFIG).next))
    assert seen == [
        (["a"], ("b",)),
        (["a", "b"], ("c",)),
        (["a", "b", "c"], ()),
        (["a", "b", "c"], ()),
        (["a", "b", "c"], ()),
    ]


def test_at_every_node(way: Any) -> None:
    """IN-60: `*` stops once before each of them, and not at START."""
    graph = chain(interrupt_before="*")
    logs = [way.invoke(graph, None if i else {"log": []}, CONFIG)["log"] for i in range(5)]
    assert logs == [[], ["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c"]]


def test_before_and_after_are_one_stop_each(way: Any) -> None:
    """IN-51: after a, and before b, with nothing new between them, is a single stop."""
    graph = chain(interrupt_before=["b"], interrupt_after=["a"])
    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["a"]}
    assert way.invoke(graph, None, CONFIG) == {"log": ["a", "b", "c"]}


def test_the_call_decides(way: Any) -> None:
    """IN-60: what it says replaces what was compiled, and an empty list is something to say."""
    graph = chain(interrupt_before=["b"])
    assert way.invoke(graph, {"log": []}, CONFIG, interrupt_before=["c"]) == {"log": ["a", "b"]}
    assert way.state(graph, CONFIG).next == ("c",)
    other: Any = {"configurable": {"thread_id": "other"}}
    assert way.invoke(graph, {"log": []}, other, interrupt_before=[]) == {"log": ["a", "b", "c"]}
    third: Any = {"configurable": {"thread_id": "third"}}
    held = way.invoke(graph, {"log": []}, third, interrupt_before=[], interrupt_after="*")
    assert held == {"log": ["a"]}


@pytest.mark.parametrize("option", ["interrupt_before", "interrupt_after"])
def test_a_node_that_does_not_exist(way: Any, option: str) -> None:
    """SG-27: refused, at compile and per call."""
    with pytest.raises(ValueError, match="Interrupt node 'zz' not found"):
        chain(**{option: ["a", "zz"]})
    with pytest.raises(ValueError, match="Interrupt node 'zz' not found"):
        way.invoke(chain(), {"log": []}, CONFIG, **{option: ["zz"]})


@pytest.mark.parametrize("option", ["interrupt_before", "interrupt_after"])
def test_a_name_where_a_list_belongs(way: Any, option: str) -> None:
    """A text is a list of letters, which nobody means; only `*` is more than that."""
    with pytest.raises(TypeError, match="given as a list"):
        way.invoke(chain(), {"log": []}, CONFIG, **{option: "a"})


def test_an_update_does_not_make_it_hold_again(way: Any) -> None:
    """IN-63: to go on marks everything as seen first, the update as well."""
    graph = chain(interrupt_before=["b"])
    way.invoke(graph, {"log": []}, CONFIG)
    way.update(graph, CONFIG, {"log": ["u"]})
    assert way.invoke(graph, None, CONFIG) == {"log": ["a", "u", "b", "c"]}
    assert way.state(graph, CONFIG).next == ()


def test_it_holds_again_the_next_time_around(way: Any) -> None:
    """In a loop, and for a new input."""
    builder = StateGraph(State).add_node("a", say("a")).add_edge(START, "a")
    builder.add_conditional_edges("a", lambda state: "a" if len(state["log"]) < 3 else END)
    graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["a"])
    logs = [way.invoke(graph, None if i else {"log": []}, CONFIG)["log"] for i in range(4)]
    assert logs == [[], ["a"], ["a", "a"], ["a", "a", "a"]]
    assert way.invoke(graph, {"log": ["in"]}, CONFIG) == {"log": ["a", "a", "a", "in"]}
    assert way.state(graph, CONFIG).next == ("a",)


def test_without_a_saver_the_run_just_ends_there(way: Any) -> None:
    """IN-62."""
    graph = chain(saver=None, interrupt_before=["b"])
    assert way.invoke(graph, {"log": []}) == {"log": ["a"]}
    assert way.stream(graph, {"log": []}) == [{"a": {"log": ["a"]}}, {"__interrupt__": ()}]


def test_a_replay_stops_again(way: Any) -> None:
    """TT-20, in its kind: what was passed once is not passed for ever."""
    graph = chain(interrupt_before=["c"])
    way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, None, CONFIG)
    first = way.history(graph, CONFIG)[-1]
    assert way.invoke(graph, None, first.config) == {"log": ["a", "b"]}
    assert way.state(graph, CONFIG).next == ("c",)


# ---------------------------------------------------------------- answers

ONE, TWO = Interrupt("one?", "1" * 32), Interrupt("two?", "2" * 32)
NOBODYS = "0" * 32


@pytest.mark.parametrize(
    ("resume", "is_map"),
    [
        ({"0" * 32: 1}, True),
        ({"0123456789abcdef" * 2: None, "f" * 32: 2}, True),
        ({}, False),
        ({"0" * 31: 1}, False),
        ({"0" * 33: 1}, False),
        ({"G" * 32: 1}, False),
        ({"A" * 32: 1}, False),
        ({"0" * 32: 1, "k": 2}, False),
        ({"0" * 32: 1, 5: 2}, False),
        ({b"0" * 32: 1}, False),
        ("0" * 32, False),
        (["0" * 32], False),
        (None, False),
    ],
    ids=repr,
)
def test_what_is_a_map_of_answers(resume: Any, is_map: bool) -> None:
    """IN-31: a dict in which all keys are ids, and there is one."""
    assert is_map_of_answers(resume) is is_map


@pytest.mark.parametrize(
    ("resume", "waiting", "aims"),
    [
        ("yes", [("a", ONE)], {ONE.id: "yes"}),
        ("yes", [], None),
        ({}, [("a", ONE)], {ONE.id: {}}),
        ({"k": 1}, [("a", ONE)], {ONE.id: {"k": 1}}),
        ({ONE.id: 1}, [("a", ONE)], {ONE.id: 1}),
        ({ONE.id: 1}, [("a", ONE), ("b", TWO)], {ONE.id: 1}),
        ({TWO.id: 2, ONE.id: 1}, [("a", ONE), ("b", TWO)], {ONE.id: 1, TWO.id: 2}),
    ],
)
def test_whom_an_answer_is_for(resume: Any, waiting: Any, aims: Any) -> None:
    """IN-30, IN-31: the one who waits, or those whose ids are there; None where nobody asks."""
    assert aimed(resume, waiting) == aims


def test_one_answer_and_two_questions() -> None:
    """IN-30: the message says who asks what."""
    with pytest.raises(RuntimeError) as caught:
        aimed("yes", [("a", ONE), ("b", TWO)])
    assert str(caught.value) == (
        "There are multiple pending interrupts, and one answer: say by its id which is meant, "
        "with Command(resume={id: answer}). These questions wait: node 'a' asks 'one?' (id "
        f"{ONE.id}); node 'b' asks 'two?' (id {TWO.id})."
    )


def test_a_question_is_told_as_it_was_asked() -> None:
    """IN-30: with its capitals."""
    with pytest.raises(RuntimeError, match=r"These questions wait: node 'A' asks 'Who\?'"):
        aimed("yes", [("A", Interrupt("Who?", "1" * 32)), ("b", TWO)])


def test_a_map_that_one_key_spoils() -> None:
    """IN-31: ≠ it is named: as one that nobody asked, or as the reason why this is one answer."""
    with pytest.raises(UnknownInterruptError, match="Nobody has asked 'note', 5; these"):
        aimed({ONE.id: 1, "note": 2, 5: 3}, [("a", ONE)])
    with pytest.raises(RuntimeError, match="and one answer, because 'note' is no id: say by"):
        aimed({NOBODYS: 1, "note": 2}, [("a", ONE), ("b", TWO)])
    assert aimed({NOBODYS: 1, "note": 2}, [("a", ONE)]) == {ONE.id: {NOBODYS: 1, "note": 2}}


def test_answers_at_a_checkpoint_that_is_past() -> None:
    """TT-22: one is enough where one had asked; others are refused, or known to be nobody's."""
    one, two = {"task": [ONE]}, {"task": [ONE], "other": [TWO]}
    for resume, asked in (("yes", one), ({"k": 1}, one), ({NOBODYS: 1}, two), ("yes", {})):
        check_in_the_past(resume, asked)
    with pytest.raises(RuntimeError, match="several nodes asked"):
        check_in_the_past("yes", two)
    for resume in ({ONE.id: 1}, {NOBODYS: 2, ONE.id: 1}, {ONE.id: 1, "note": 2}):
        with pytest.raises(UnknownInterruptError, match=f"^'{ONE.id}': asked at this"):
            check_in_the_past(resume, two)


@pytest.mark.parametrize("waiting", [[], [("a", ONE)]])
def test_an_answer_for_nobody(waiting: Any) -> None:
    """IN-32: ≠ refused, also beside a right one."""
    with pytest.raises(UnknownInterruptError) as caught:
        aimed({NOBODYS: "yes", **{question.id: 1 for _, question in waiting}}, waiting)
    error = caught.value
    pending = tuple(question.id for _, question in waiting)
    assert (error.interrupt_ids, error.pending_ids) == ((NOBODYS,), pending)
    who = (
        f"these questions wait: node 'a' asks 'one?' (id {ONE.id})."
        if waiting
        else "no question waits for an answer here."
    )
    assert str(error) == (
        f"Nobody has asked '{NOBODYS}'; {who} Nothing was stored and nothing ran."
    )


def test_several_loose_answers() -> None:
    """IN-41: one for each who asks, in order."""
    answers = LooseAnswer(None, "two")
    assert [answers.take() for _ in range(3)] == [None, "two", MISSING]


def test_the_first_visit_of_a_replay() -> None:
    """TT-34: one for each namespace."""
    replay = Replay("7")
    assert [replay.is_first_visit(name) for name in ("a", "b", "a", "b")] == [
        True, True, False, False
    ]  # fmt: skip
    assert replay.before == "7"
