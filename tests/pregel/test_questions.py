"""Questions to people: how they are asked, shown and stored, and how an answer comes to them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import NULL_TASK_ID
from minigraph.errors import EmptyInputError, InvalidUpdateError, UnknownInterruptError
from minigraph.graph import START, StateGraph
from minigraph.pregel.identity import interrupt_id
from minigraph.runtime import interrupt
from minigraph.types import Command, GraphOutput, Interrupt, Send

CONFIG: Any = {"configurable": {"thread_id": "t"}}
OTHER: Any = {"configurable": {"thread_id": "other"}}
NOBODYS = "0" * 32
"""An id that no question has."""


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    answers: Any


def say(name: str) -> Callable[[Any], Any]:
    return lambda state: {"log": [name]}


def asking(saver: Any = None, calls: list[str] | None = None, **options: Any) -> Any:
    """START ─▶ ask ─▶ end, and what the one node is told."""

    def ask(state: State) -> Any:
        if calls is not None:
            calls.append("ask")
        answer = interrupt("q?")
        if calls is not None:
            calls.append(f"got {answer}")
        return {"log": [answer]}

    builder = StateGraph(State).add_node(ask).add_node("end", say("end"))
    builder.add_edge(START, "ask").add_edge("ask", "end")
    return builder.compile(checkpointer=saver, **options)


def beside(saver: Any, *names: str, ran: list[str] | None = None) -> Any:
    """Nodes beside each other: all ask but z, which says its name."""

    def node(name: str) -> Callable[[Any], Any]:
        def run(state: State) -> Any:
            if ran is not None:
                ran.append(name)
            return {"log": [name if name == "z" else f"{name}={interrupt('q' + name)}"]}

        return run

    builder = StateGraph(State)
    for name in names:
        builder.add_node(name, node(name)).add_edge(START, name)
    return builder.compile(checkpointer=saver)


def questions(result: Any) -> Any:
    """The questions that a result has, as texts."""
    return [each.value for each in result["__interrupt__"]]


def ids(way: Any, graph: Any, config: Any = CONFIG) -> dict[Any, str]:
    """The ids of the questions that a thread waits for, by question."""
    return {each.value: each.id for each in way.state(graph, config).interrupts}


def steps(saver: Any, config: Any = CONFIG) -> list[Any]:
    """Of all checkpoints, oldest first: source and step."""
    return [(row.metadata["source"], row.metadata["step"]) for row in saver.list(config)][::-1]


def written(saver: Any, index: int, config: Any = CONFIG) -> list[Any]:
    """What is stored beside the checkpoint with this index, by whom: nobody, or a task."""
    row = [*saver.list(config)][::-1][index]
    return [
        ("nobody" if id == NULL_TASK_ID else "task", channel, value)
        for id, channel, value in row.pending_writes
    ]


# ---------------------------------------------------------------- asking


def test_a_question_and_its_answer(way: Any, saver: Any) -> None:
    """IN-01: the run stops; with the answer the node runs again, from its beginning."""
    calls: list[str] = []
    graph = asking(saver, calls)

    result = way.invoke(graph, {"log": ["in"]}, CONFIG)

    question = Interrupt("q?", ids(way, graph)["q?"])
    assert result == {"log": ["in"], "__interrupt__": [question]}
    assert calls == ["ask"]
    assert way.invoke(graph, Command(resume="yes"), CONFIG) == {"log": ["in", "yes", "end"]}
    assert calls == ["ask", "ask", "got yes"]


@pytest.mark.parametrize(
    "answer",
    ["yes", False, 0, "", [], {}, {"k": 1}, {1: 2}, {"0" * 31: 1}, {"G" * 32: 1}, ["x", None]],
    ids=repr,
)
def test_what_can_be_an_answer(way: Any, answer: Any) -> None:
    """IN-35, IN-31: anything but None, and a dict of answers by ids. ≠ An empty dict is a value."""
    graph = asking(InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG)
    assert way.invoke(graph, Command(resume=answer), CONFIG) == {"log": [answer, "end"]}


def test_none_is_no_answer(way: Any) -> None:
    """IN-35, SG-45: ≠ refused in words; nothing is stored, and the question waits."""
    graph = asking(InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG)
    before = way.history(graph, CONFIG)
    with pytest.raises(EmptyInputError, match="The Command is empty: give it an answer"):
        way.invoke(graph, Command(resume=None), CONFIG)
    assert way.history(graph, CONFIG) == before
    assert way.state(graph, CONFIG).next == ("ask",)


def test_a_node_that_catches_everything(way: Any) -> None:
    """IN-02: the question is an exception, so the node has swallowed it, and nobody is asked."""

    def ask(state: State) -> Any:
        try:
            return {"log": [interrupt("q?")]}
        except Exception as swallowed:
            return {"log": [type(swallowed).__name__]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["GraphInterrupt"]}
    assert way.state(graph, CONFIG).next == ()


def test_outside_of_a_node() -> None:
    """IN-03."""
    with pytest.raises(RuntimeError, match=r"interrupt\(\) was called outside of a node"):
        interrupt("q?")


@pytest.mark.parametrize("count", [2, 3, 5])
def test_several_questions_of_one_node(way: Any, saver: Any, count: int) -> None:
    """IN-04: answers belong to questions by their order; each runs the node once more."""
    runs: list[int] = []

    def ask(state: State) -> Any:
        runs.append(1)
        return {"log": [interrupt(n) for n in range(count)]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=saver)
    asked = questions(way.invoke(graph, {"log": []}, CONFIG))
    for n in range(count - 1):
        asked += questions(way.invoke(graph, Command(resume=f"answer {n}"), CONFIG))
        state = way.state(graph, CONFIG)
        assert (state.next, [each.value for each in state.interrupts]) == (("ask",), [n + 1])
    assert asked == [*range(count)]
    result = way.invoke(graph, Command(resume=f"answer {count - 1}"), CONFIG)
    assert result == {"log": [f"answer {n}" for n in range(count)]}
    assert len(runs) == count + 1
    assert way.state(graph, CONFIG).next == ()


def test_ids(way: Any) -> None:
    """IN-05: made of the task's place, and of how many it has asked before."""

    def ask(state: State) -> Any:
        return {"log": [interrupt("one"), interrupt("two")]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    [first] = way.invoke(graph, {"log": []}, CONFIG)["__interrupt__"]
    task = way.state(graph, CONFIG).tasks[0]
    assert first.id == interrupt_id(f"ask:{task.id}", 0)
    assert way.state(graph, CONFIG).interrupts == (first,)
    [second] = way.invoke(graph, Command(resume=1), CONFIG)["__interrupt__"]
    assert second.id == interrupt_id(f"ask:{task.id}", 1)
    [elsewhere] = way.invoke(graph, {"log": []}, OTHER)["__interrupt__"]
    assert len({first.id, second.id, elsewhere.id}) == 3


def test_what_is_stored_of_it(way: Any, saver: Any) -> None:
    """IN-06, IN-33: one write of the task's, and no checkpoint; then the answers, beside it."""
    graph = asking(saver)
    way.invoke(graph, {"log": ["in"]}, CONFIG)
    question = Interrupt("q?", ids(way, graph)["q?"])
    assert steps(saver) == [("input", -1), ("loop", 0)]
    assert written(saver, -1) == [("task", "__interrupt__", [question])]

    way.invoke(graph, Command(resume="yes"), CONFIG)

    assert steps(saver) == [("input", -1), ("loop", 0), ("loop", 1), ("loop", 2)]
    assert written(saver, 1) == [
        ("nobody", "__resume__", "yes"),
        ("task", "__resume__", ["yes"]),
        ("task", "__interrupt__", [question]),
        ("task", "log", ["yes"]),
        ("task", "branch:to:end", None),
    ]


def test_what_is_stored_of_answers_by_id(way: Any, saver: Any) -> None:
    """IN-33: then only the task has them."""
    graph = asking(saver)
    way.invoke(graph, {"log": ["in"]}, CONFIG)
    way.invoke(graph, Command(resume={ids(way, graph)["q?"]: "yes"}), CONFIG)
    assert [write[:2] for write in written(saver, 1)] == [
        ("task", "__resume__"),
        ("task", "__interrupt__"),
        ("task", "log"),
        ("task", "branch:to:end"),
    ]


def test_what_is_stored_between_two_questions(way: Any, saver: Any) -> None:
    """IN-33: the newer question stands in the place of the older one."""

    def ask(state: State) -> Any:
        return {"log": [interrupt("one"), interrupt("two")]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, Command(resume="A"), CONFIG)
    two = Interrupt("two", ids(way, graph)["two"])
    assert written(saver, -1) == [
        ("nobody", "__resume__", "A"),
        ("task", "__resume__", ["A"]),
        ("task", "__interrupt__", [two]),
    ]


def test_without_a_saver(way: Any) -> None:
    """IN-07: it can be asked, and not be answered."""
    graph = asking()
    assert questions(way.invoke(graph, {"log": []})) == ["q?"]
    with pytest.raises(RuntimeError, match="without checkpointer: the question is forgotten"):
        way.invoke(graph, Command(resume="yes"))


def test_a_schema_goes_with_the_question(way: Any, saver: Any) -> None:
    """IN-08: ≠ to whoever shows it; no answer is checked against it."""

    def ask(state: State) -> Any:
        return {"log": [interrupt("q?", response_schema={"type": "object"})]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=saver)
    [question] = way.invoke(graph, {"log": []}, CONFIG)["__interrupt__"]
    assert question.response_schema == {"type": "object"}
    assert way.state(graph, CONFIG).interrupts == (question,)
    assert way.invoke(graph, Command(resume=5), CONFIG) == {"log": [5]}


def test_a_node_that_fails_after_its_answer(way: Any, saver: Any) -> None:
    """IN-09: it keeps the answer, and is not asked again when it is tried again."""
    fails = [True]

    def ask(state: State) -> Any:
        answer = interrupt("q?")
        if fails.pop():
            fails.append(False)
            raise ValueError("boom")
        return {"log": [answer]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    with pytest.raises(ValueError, match="boom"):
        way.invoke(graph, Command(resume="A"), CONFIG)
    state = way.state(graph, CONFIG)
    assert (state.next, state.interrupts) == (("ask",), ())
    assert state.tasks[0].error == "ValueError('boom')"
    assert way.invoke(graph, None, CONFIG) == {"log": ["A"]}


# ---------------------------------------------------------------- what the caller sees


def test_results(way: Any) -> None:
    """IN-20: a list beside the values; in version 2 a tuple of its own."""
    graph = asking(InMemorySaver())
    result = way.invoke(graph, {"log": ["in"]}, CONFIG, version="v2")
    assert result == GraphOutput({"log": ["in"]}, (Interrupt("q?", ids(way, graph)["q?"]),))
    done = way.invoke(graph, Command(resume=1), CONFIG, version="v2")
    assert done == GraphOutput({"log": ["in", 1, "end"]}, ())


def test_the_result_of_a_state_that_is_one_value(way: Any) -> None:
    """IN-20: there is no place beside it, so there are only the questions."""
    builder = StateGraph(int).add_node("ask", lambda n: n + interrupt(n)).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    assert way.invoke(graph, 40, CONFIG) == {"__interrupt__": [Interrupt(40, ids(way, graph)[40])]}
    assert way.invoke(graph, Command(resume=2), CONFIG) == 42


@pytest.mark.parametrize("stored", [True, False])
def test_streams(way: Any, stored: bool) -> None:
    """IN-21, IN-22, IN-23: the values, the question as an update, and the values with it."""
    graph = asking(InMemorySaver() if stored else None)
    both = way.stream(graph, {"log": ["in"]}, CONFIG, stream_mode=["values", "updates"])
    [question] = both[1][1]["__interrupt__"]
    assert question.value == "q?"
    assert both == [
        ("values", {"log": ["in"]}),
        ("updates", {"__interrupt__": (question,)}),
        ("values", {"log": ["in"], "__interrupt__": (question,)}),
    ]


def test_streams_in_version_2(way: Any) -> None:
    """IN-22: questions have a field of their own."""
    graph = asking(InMemorySaver())
    chunks = way.stream(graph, {"log": ["in"]}, CONFIG, stream_mode="values", version="v2")
    question = Interrupt("q?", ids(way, graph)["q?"])
    values = {"type": "values", "ns": (), "data": {"log": ["in"]}}
    assert chunks == [{**values, "interrupts": ()}, {**values, "interrupts": (question,)}]


def test_streams_of_tasks(way: Any) -> None:
    """ST-14: the task ends, without an error and without a result."""
    graph = asking(InMemorySaver())
    begin, end = way.stream(graph, {"log": ["in"]}, CONFIG, stream_mode="tasks")
    question = {"value": "q?", "id": ids(way, graph)["q?"], "response_schema": None}
    assert end == {
        "id": begin["id"],
        "name": "ask",
        "error": None,
        "result": {},
        "interrupts": [question],
    }


@pytest.mark.parametrize("mode", ["checkpoints", "debug"])
def test_streams_of_checkpoints(way: Any, saver: Any, mode: Any) -> None:
    """ST-15, ST-16: whoever goes on hears what the task has asked, as plain data."""
    graph = asking(saver)
    way.invoke(graph, {"log": ["in"]}, CONFIG)
    question = {"value": "q?", "id": ids(way, graph)["q?"], "response_schema": None}
    told = way.stream(graph, Command(resume="r"), CONFIG, stream_mode=mode)[0]
    [task] = (told if mode == "checkpoints" else told["payload"])["tasks"]
    del task["id"]
    assert task == {"name": "ask", "interrupts": (question,), "state": None}


def test_streams_of_the_resumed_run(way: Any) -> None:
    """ST-10: it begins with the state as it was loaded."""
    graph = asking(InMemorySaver())
    for config in (CONFIG, OTHER):
        way.invoke(graph, {"log": ["in"]}, config)
    assert way.stream(graph, Command(resume="r"), CONFIG) == [
        {"ask": {"log": ["r"]}},
        {"end": {"log": ["end"]}},
    ]
    assert way.stream(graph, Command(resume="r"), OTHER, stream_mode="values") == [
        {"log": ["in"]},
        {"log": ["in", "r"]},
        {"log": ["in", "r", "end"]},
    ]


def test_siblings_that_have_finished(way: Any) -> None:
    """IN-24: a last chunk of values shows their work; no checkpoint has it."""
    graph = beside(InMemorySaver(), "a", "z")
    chunks = way.stream(graph, {"log": []}, CONFIG, stream_mode="values")
    assert [chunk["log"] for chunk in chunks] == [[], [], ["z"]]
    assert "__interrupt__" in chunks[1]
    assert "__interrupt__" not in chunks[2]
    assert way.state(graph, CONFIG).values == {"log": ["z"]}
    assert way.history(graph, CONFIG)[0].values == {"log": []}


def test_siblings_that_have_nothing_to_show(way: Any) -> None:
    """IN-24, ST-10: there is no further chunk then."""
    builder = StateGraph(State).add_node("quiet", lambda state: None)
    builder.add_node("ask", lambda state: {"log": [interrupt("q?")]})
    builder.add_edge(START, "quiet").add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    chunks = way.stream(graph, {"log": ["in"]}, CONFIG, stream_mode="values")
    assert [("__interrupt__" in chunk, chunk["log"]) for chunk in chunks] == [
        (False, ["in"]), (True, ["in"])
    ]  # fmt: skip
    assert way.state(graph, CONFIG).next == ("ask",)


def test_siblings_whose_work_does_not_go_together(way: Any, saver: Any) -> None:
    """IN-24, SS-05: that is said when the super-step is complete; until then it waits."""
    builder = StateGraph(State)
    for name in "xy":
        builder.add_node(name, lambda state, name=name: {"answers": name}).add_edge(START, name)
    builder.add_node("ask", lambda state: {"log": [interrupt("q?")]}).add_edge(START, "ask")
    graph = builder.compile(checkpointer=saver)
    result = way.invoke(graph, {"log": []}, CONFIG)
    assert (result["log"], questions(result)) == ([], ["q?"])
    with pytest.raises(InvalidUpdateError, match="'answers' received 2 writes"):
        way.invoke(graph, Command(resume="R"), CONFIG)
    way.update(graph, CONFIG, {"answers": "mended"}, as_node="x")
    assert way.state(graph, CONFIG).values == {"log": [], "answers": "mended"}


def test_snapshots(way: Any, saver: Any) -> None:
    """IN-25: live, a question is gone with its answer; the record keeps it."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    live = way.state(graph, CONFIG)
    question = Interrupt("q?", interrupt_id(f"ask:{live.tasks[0].id}", 0))
    assert (live.next, live.interrupts) == (("ask",), (question,))
    assert [(t.name, t.interrupts, t.error, t.result) for t in live.tasks] == [
        ("ask", (question,), None, None)
    ]

    way.invoke(graph, Command(resume="yes"), CONFIG)

    assert way.state(graph, CONFIG).interrupts == ()
    shown = [(state.next, state.interrupts) for state in way.history(graph, CONFIG)]
    assert shown == [((), ()), (("end",), ()), (("ask",), (question,)), ((START,), ())]
    assert way.state(graph, live.config).interrupts == (question,)


def test_the_order_of_questions(way: Any) -> None:
    """IN-26: in a snapshot it is the order of the tasks; elsewhere they come as they come."""
    graph = beside(InMemorySaver(), "c", "a", "b")
    result = way.invoke(graph, {"log": []}, CONFIG)
    assert sorted(questions(result)) == ["qa", "qb", "qc"]
    state = way.state(graph, CONFIG)
    assert [each.value for each in state.interrupts] == ["qc", "qa", "qb"]
    assert [task.interrupts[0].value for task in state.tasks] == ["qc", "qa", "qb"]


# ---------------------------------------------------------------- answering


def test_one_answer_for_two(way: Any, saver: Any) -> None:
    """IN-30: refused, before anything is stored, or runs."""
    ran: list[str] = []
    graph = beside(saver, "a", "b", ran=ran)
    way.invoke(graph, {"log": []}, CONFIG)
    before = way.history(graph, CONFIG)
    with pytest.raises(RuntimeError, match="There are multiple pending interrupts"):
        way.invoke(graph, Command(resume="x"), CONFIG)
    assert way.history(graph, CONFIG) == before
    assert sorted(ran) == ["a", "b"]


def test_answers_by_their_ids(way: Any, saver: Any) -> None:
    """IN-31, IN-34: all at once; who has finished does not run again."""
    ran: list[str] = []
    graph = beside(saver, "a", "b", "z", ran=ran)
    way.invoke(graph, {"log": []}, CONFIG)
    known = ids(way, graph)
    answers = {known["qb"]: 2, known["qa"]: 1}
    assert way.invoke(graph, Command(resume=answers), CONFIG) == {"log": ["a=1", "b=2", "z"]}
    assert sorted(ran) == ["a", "a", "b", "b", "z"]


def test_some_of_the_answers(way: Any, saver: Any) -> None:
    """IN-31: the others wait on; for the last of them one plain answer is enough."""
    ran: list[str] = []
    graph = beside(saver, "a", "b", "z", ran=ran)
    way.invoke(graph, {"log": []}, CONFIG)
    result = way.invoke(graph, Command(resume={ids(way, graph)["qa"]: "A"}), CONFIG)
    assert (result["log"], questions(result)) == (["a=A", "z"], ["qb"])
    state = way.state(graph, CONFIG)
    assert (state.next, [*ids(way, graph)]) == (("b",), ["qb"])
    assert state.values == {"log": ["a=A", "z"]}
    assert way.invoke(graph, Command(resume="B"), CONFIG) == {"log": ["a=A", "b=B", "z"]}
    assert sorted(ran) == ["a", "a", "b", "b", "b", "z"]


def test_answers_to_sends(way: Any, saver: Any) -> None:
    """CS-36: every Send is a task of its own, and so has its own question."""
    builder = StateGraph(State).add_node("w", lambda arg: {"log": [interrupt(arg)]})
    builder.add_conditional_edges(START, lambda state: [Send("w", n) for n in range(3)])
    graph = builder.compile(checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    known = ids(way, graph)
    assert [*known] == [0, 1, 2]
    assert len({*known.values()}) == 3
    result = way.invoke(graph, Command(resume={known[0]: "zero", known[2]: "two"}), CONFIG)
    assert (result["log"], questions(result)) == (["zero", "two"], [1])
    assert way.invoke(graph, Command(resume="one"), CONFIG) == {"log": ["zero", "one", "two"]}


@pytest.mark.parametrize("known", [False, True], ids=["alone", "beside a right one"])
def test_an_id_that_belongs_to_nobody(way: Any, saver: Any, known: bool) -> None:
    """IN-32: ≠ refused, with the ids that would have been right; nothing is stored, nothing ran."""
    ran: list[str] = []
    graph = beside(saver, "a", "b", ran=ran)
    way.invoke(graph, {"log": []}, CONFIG)
    before = way.history(graph, CONFIG)
    right = ids(way, graph)
    answers = {NOBODYS: "x", **({right["qa"]: "A"} if known else {})}
    with pytest.raises(UnknownInterruptError) as caught:
        way.invoke(graph, Command(resume=answers), CONFIG)
    assert caught.value.interrupt_ids == (NOBODYS,)
    assert sorted(caught.value.pending_ids) == sorted(right.values())
    assert caught.value.reason == "not_pending"
    assert "node 'a' asks 'qa'" in str(caught.value)
    assert way.history(graph, CONFIG) == before
    assert sorted(ran) == ["a", "b"]


@pytest.mark.parametrize("names", [("a",), ("a", "b")], ids=["one", "two"])
def test_a_map_with_another_key(way: Any, saver: Any, names: Any) -> None:
    """IN-31: ≠ a dict with the id of a question in it is no answer; what spoils it is named."""
    graph = beside(saver, *names)
    way.invoke(graph, {"log": []}, CONFIG)
    right = ids(way, graph)
    with pytest.raises(UnknownInterruptError, match="Nobody has asked 'note'; these") as caught:
        way.invoke(graph, Command(resume={right["qa"]: "A", "note": "x"}), CONFIG)
    assert caught.value.interrupt_ids == ("note",)
    assert ids(way, graph) == right
    answers = dict.fromkeys(right.values(), "yes")
    assert len(way.invoke(graph, Command(resume=answers), CONFIG)["log"]) == len(names)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("by_id", [False, True], ids=["plain", "by id"])
def test_an_answer_that_cannot_be_stored(
    way: Any, saver: Any, durability: Any, by_id: bool
) -> None:
    """IN-33: the error says that it is about the answer; the question waits."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    answer: Any = {ids(way, graph)["q?"]: ids} if by_id else ids
    with pytest.raises(
        TypeError, match=r"^The answer <function ids at .*> cannot be stored: value"
    ):
        way.invoke(graph, Command(resume=answer), CONFIG, durability=durability)
    assert [*ids(way, graph)] == ["q?"]
    assert way.invoke(graph, Command(resume="y"), CONFIG) == {"log": ["y", "end"]}


def test_a_question_that_cannot_be_stored(way: Any, saver: Any) -> None:
    """IN-06: the error says that it is about the question."""
    builder = StateGraph(State).add_node("ask", lambda state: interrupt(ids))
    graph = builder.add_edge(START, "ask").compile(checkpointer=saver)
    with pytest.raises(TypeError, match=r"^The question <function ids at .*> cannot be stored: "):
        way.invoke(graph, {"log": []}, CONFIG)


def test_the_id_of_a_question_that_was_answered(way: Any) -> None:
    """IN-32: ≠ it belongs to nobody any more."""

    def ask(state: State) -> Any:
        return {"log": [interrupt("one"), interrupt("two")]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG)
    one = ids(way, graph)["one"]
    way.invoke(graph, Command(resume={one: "A"}), CONFIG)
    with pytest.raises(UnknownInterruptError) as caught:
        way.invoke(graph, Command(resume={one: "B"}), CONFIG)
    assert caught.value.pending_ids == (ids(way, graph)["two"],)
    assert way.invoke(graph, Command(resume="B"), CONFIG) == {"log": ["A", "B"]}


def test_nobody_answers(way: Any, saver: Any) -> None:
    """IN-36: to go on without an answer asks the same question again, under the same id."""
    calls: list[str] = []
    graph = asking(saver, calls)
    first = way.invoke(graph, {"log": []}, CONFIG)
    assert way.invoke(graph, None, CONFIG) == first
    assert calls == ["ask", "ask"]
    assert steps(saver) == [("input", -1), ("loop", 0)]
    assert way.invoke(graph, Command(resume="x"), CONFIG) == {"log": ["x", "end"]}


def test_nobody_answers_the_second_question(way: Any, saver: Any) -> None:
    """IN-36: ≠ the answer to the first is kept, and the second is asked again."""

    def ask(state: State) -> Any:
        return {"log": [interrupt("one"), interrupt("two")]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    graph = builder.compile(checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    second = way.invoke(graph, Command(resume="A"), CONFIG)
    assert questions(second) == ["two"]
    assert way.invoke(graph, None, CONFIG) == second
    assert way.invoke(graph, Command(resume="B"), CONFIG) == {"log": ["A", "B"]}


def test_an_answer_on_a_finished_thread(
    way: Any, saver: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """IN-37: nothing runs or is stored, the state is returned; ≠ and the log is told."""
    calls: list[str] = []
    graph = asking(saver, calls)
    way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, Command(resume="x"), CONFIG)
    before = way.history(graph, CONFIG)
    calls.clear()
    assert way.invoke(graph, Command(resume="again"), CONFIG) == {"log": ["x", "end"]}
    assert (calls, way.history(graph, CONFIG)) == ([], before)
    assert written(saver, -1) == []
    [record] = caplog.records
    assert record.message == "The answer 'again' is for nobody: thread 't' has come to its end."


@pytest.mark.parametrize(
    ("input", "told"),
    [(Command(resume="x"), "The answer 'x' is for nobody"), (None, "Nothing runs")],
    ids=["an answer", "nothing"],
)
def test_a_node_that_was_renamed_while_it_waited(
    way: Any, saver: Any, caplog: pytest.LogCaptureFixture, input: Any, told: str
) -> None:
    """IN-37: ≠ the log is told where the thread waits; with the node, it goes on."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    renamed = StateGraph(State).add_node("ask2", say("ask2")).add_node("end", say("end"))
    other = renamed.add_edge(START, "ask2").compile(checkpointer=saver)
    before = way.history(graph, CONFIG)
    assert way.invoke(other, input, CONFIG) == {"log": []}
    [record] = caplog.records
    assert record.message == (
        f"{told}: thread 't' waits at 'ask', which this graph does not have; there are "
        "['ask2', 'end']."
    )
    assert way.history(graph, CONFIG) == before
    assert way.invoke(graph, Command(resume="y"), CONFIG) == {"log": ["y", "end"]}


@pytest.mark.parametrize("resume", ["x", {NOBODYS: "x"}, False], ids=repr)
def test_an_answer_on_a_thread_that_does_not_exist(way: Any, resume: Any) -> None:
    """IN-37: ≠ refused, instead of asking, where the thread's name is probably wrong."""
    graph = asking(InMemorySaver())
    with pytest.raises(UnknownInterruptError, match="Is it the right thread"):
        way.invoke(graph, Command(resume=resume), CONFIG)
    assert way.history(graph, CONFIG) == []


def test_an_answer_and_an_update(way: Any, saver: Any) -> None:
    """IN-38: the update is there before the node runs."""
    seen: list[Any] = []

    def ask(state: State) -> Any:
        seen.append([*state["log"]])
        return {"log": [interrupt("q?")]}

    builder = StateGraph(State).add_node(ask).add_node("end", say("end"))
    graph = builder.add_edge(START, "ask").add_edge("ask", "end").compile(checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    result = way.invoke(graph, Command(resume="R", update={"log": ["U"]}), CONFIG)
    assert result == {"log": ["U", "R", "end"]}
    assert seen == [[], ["U"]]


def test_an_answer_an_update_and_a_place_to_go(way: Any, saver: Any) -> None:
    """IN-38, IN-39: all three at once."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    command = Command(resume="R", update={"log": ["U"]}, goto="end")
    assert way.invoke(graph, command, CONFIG) == {"log": ["U", "R", "end", "end"]}


def test_to_go_elsewhere_instead(way: Any, saver: Any) -> None:
    """IN-39: it runs, and so does who asked, and asks again."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    result = way.invoke(graph, Command(goto="end"), CONFIG)
    assert (result["log"], questions(result)) == (["end"], ["q?"])
    assert way.state(graph, CONFIG).next == ("ask",)
    assert way.invoke(graph, Command(resume="R"), CONFIG) == {"log": ["R", "end", "end"]}


def test_a_new_input_instead(way: Any, saver: Any) -> None:
    """IN-40, CP-51: the question is given up, and the graph starts over, and asks anew."""
    graph = asking(saver)
    first = way.invoke(graph, {"log": ["one"]}, CONFIG)
    second = way.invoke(graph, {"log": ["two"]}, CONFIG)
    assert (second["log"], questions(second)) == (["one", "two"], ["q?"])
    assert first["__interrupt__"] != second["__interrupt__"]
    assert way.invoke(graph, Command(resume="R"), CONFIG) == {"log": ["one", "two", "R", "end"]}


def test_an_update_while_it_waits(way: Any, saver: Any) -> None:
    """IN-41: a checkpoint without a question, which will be asked anew, under another id."""
    graph = asking(saver)
    [first] = way.invoke(graph, {"log": []}, CONFIG)["__interrupt__"]
    way.update(graph, CONFIG, {"log": ["upd"]})
    state = way.state(graph, CONFIG)
    assert (state.values, state.next, state.interrupts) == ({"log": ["upd"]}, ("ask",), ())
    assert state.metadata == {"source": "update", "step": 1, "parents": {}}
    [second] = way.invoke(graph, None, CONFIG)["__interrupt__"]
    assert (second.value, second.id != first.id) == ("q?", True)
    assert way.invoke(graph, Command(resume="R"), CONFIG) == {"log": ["upd", "R", "end"]}


def test_an_answer_after_an_update(way: Any, saver: Any) -> None:
    """IN-41: a plain answer is for whoever asks first."""
    calls: list[str] = []
    graph = asking(saver, calls)
    way.invoke(graph, {"log": []}, CONFIG)
    way.update(graph, CONFIG, {"log": ["upd"]})
    assert way.invoke(graph, Command(resume="R"), CONFIG) == {"log": ["upd", "R", "end"]}
    assert calls == ["ask", "ask", "got R"]


def test_an_answer_by_an_id_of_before_an_update(way: Any) -> None:
    """IN-41, IN-32: ≠ that question is nobody's any more."""
    graph = asking(InMemorySaver())
    [first] = way.invoke(graph, {"log": []}, CONFIG)["__interrupt__"]
    way.update(graph, CONFIG, {"log": ["upd"]})
    with pytest.raises(UnknownInterruptError):
        way.invoke(graph, Command(resume={first.id: "R"}), CONFIG)


def test_one_answer_after_an_update_and_two_who_ask(way: Any, saver: Any) -> None:
    """IN-41: one of them gets it; the other one asks."""
    graph = beside(saver, "a", "b")
    way.invoke(graph, {"log": []}, CONFIG)
    way.update(graph, CONFIG, {"log": ["upd"]}, as_node=START)
    result = way.invoke(graph, Command(resume="R"), CONFIG)
    [open] = questions(result)
    other = {"qa": "b", "qb": "a"}[open]
    assert result["log"] == ["upd", f"{other}=R"]
    done = way.invoke(graph, Command(resume="S"), CONFIG)
    assert done == {"log": ["upd", *sorted([f"{other}=R", f"{open[1]}=S"])]}


def test_an_answer_whose_run_was_killed(way: Any, saver: Any) -> None:
    """IN-41: it was stored, and nobody had come to it; so whoever goes on has it."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    way.update(graph, CONFIG, {"log": ["upd"]})
    there = way.state(graph, CONFIG).config
    saver.put_writes(there, [("__resume__", "early")], NULL_TASK_ID)
    assert way.invoke(graph, None, CONFIG) == {"log": ["upd", "early", "end"]}


def test_an_update_as_the_node_that_asks(way: Any, saver: Any) -> None:
    """IN-41: it has its result, and does not ask."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    way.update(graph, CONFIG, {"log": ["given"]}, as_node="ask")
    assert way.state(graph, CONFIG).next == ("end",)
    assert way.invoke(graph, None, CONFIG) == {"log": ["given", "end"]}


def test_a_sibling_that_fails(way: Any, saver: Any) -> None:
    """IN-42: its error is raised; the question is stored as well, and can be answered."""
    fails = [True]

    def bad(state: State) -> Any:
        if fails:
            raise ValueError("boom")
        return {"log": ["bad"]}

    def ask(state: State) -> Any:
        return {"log": [interrupt("q?")]}

    builder = StateGraph(State).add_node(ask).add_node(bad)
    builder.add_edge(START, "ask").add_edge(START, "bad")
    graph = builder.compile(checkpointer=saver)
    # In sync runs a failure waits for its siblings, so the question is stored for sure.
    with pytest.raises(ValueError, match="boom"):
        graph.invoke({"log": []}, CONFIG)
    tasks = way.state(graph, CONFIG).tasks
    assert [(t.name, t.error, [each.value for each in t.interrupts]) for t in tasks] == [
        ("ask", None, ["q?"]),
        ("bad", "ValueError('boom')", []),
    ]
    fails.clear()
    assert way.invoke(graph, Command(resume="R"), CONFIG) == {"log": ["R", "bad"]}


def test_breakpoints_and_questions(way: Any, saver: Any) -> None:
    """IN-62: a Command passes a breakpoint as None does, and its answer waits for who asks."""
    graph = asking(saver, interrupt_before=["ask"])
    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": []}
    assert questions(way.invoke(graph, None, CONFIG)) == ["q?"]
    assert way.invoke(graph, {"log": []}, OTHER) == {"log": []}
    assert way.invoke(graph, Command(resume="early"), OTHER) == {"log": ["early", "end"]}


def test_a_question_in_a_loop(way: Any, saver: Any) -> None:
    """IN-01: the same node asks once in each super-step, under another id."""

    def ask(state: State) -> Any:
        return {"log": [interrupt(len(state["log"]))]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    builder.add_conditional_edges("ask", lambda s: "ask" if len(s["log"]) < 3 else "__end__")
    graph = builder.compile(checkpointer=saver)
    seen = [way.invoke(graph, {"log": []}, CONFIG)]
    seen += [way.invoke(graph, Command(resume=answer), CONFIG) for answer in "abc"]
    assert [questions(each) for each in seen[:-1]] == [[0], [1], [2]]
    assert len({each["__interrupt__"][0].id for each in seen[:-1]}) == 3
    assert seen[-1] == {"log": ["a", "b", "c"]}


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_at_the_end_of_a_run(way: Any, saver: Any, durability: Any) -> None:
    """DU-09: in the mode `exit`, the last checkpoint and the question; every mode can go on."""
    graph = asking(saver)
    result = way.invoke(graph, {"log": ["in"]}, CONFIG, durability=durability)
    assert questions(result) == ["q?"]
    stored = [("loop", 0)] if durability == "exit" else [("input", -1), ("loop", 0)]
    assert steps(saver) == stored
    assert [write[:2] for write in written(saver, -1)] == [("task", "__interrupt__")]
    again = way.invoke(graph, Command(resume="R"), CONFIG, durability=durability)
    assert again == {"log": ["in", "R", "end"]}
    rest = [("loop", 2)] if durability == "exit" else [("loop", 1), ("loop", 2)]
    assert steps(saver) == stored + rest


# ---------------------------------------------------------------- time travel


def two_questions(saver: Any) -> Any:
    """name ─▶ age ─▶ done; both ask."""

    def name(state: State) -> Any:
        return {"log": [f"name: {interrupt('What is your name?')}"]}

    def age(state: State) -> Any:
        return {"log": [f"age: {interrupt('How old are you?')}"]}

    builder = StateGraph(State).add_node(name).add_node(age).add_node("done", say("Done"))
    builder.add_edge(START, "name").add_edge("name", "age").add_edge("age", "done")
    return builder.compile(checkpointer=saver)


def before(way: Any, graph: Any, name: str) -> Any:
    """The config of the oldest checkpoint at which this node comes next."""
    return [state for state in way.history(graph, CONFIG) if state.next == (name,)][-1].config


def test_a_replay_asks_again(way: Any, saver: Any) -> None:
    """TT-20: the answer belongs to the branch on which it was given."""
    graph = asking(saver)
    first = way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, Command(resume="Alice"), CONFIG)
    again = way.invoke(graph, None, before(way, graph, "ask"))
    assert (again["log"], questions(again)) == ([], ["q?"])
    assert again["__interrupt__"] != first["__interrupt__"]
    assert steps(saver)[-1] == ("fork", 1)
    assert way.invoke(graph, Command(resume="Bob"), CONFIG) == {"log": ["Bob", "end"]}


@pytest.mark.parametrize("named", [True, False])
def test_a_fork_asks_again(way: Any, saver: Any, named: bool) -> None:
    """TT-20, TT-21: and is answered, with its id in the config while it is the latest, or none."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, Command(resume="Alice"), CONFIG)
    fork = way.update(graph, before(way, graph, "ask"), {"log": ["forked"]})
    assert questions(way.invoke(graph, None, fork)) == ["q?"]
    done = way.invoke(graph, Command(resume="Bob"), fork if named else CONFIG)
    assert done == {"log": ["forked", "Bob", "end"]}
    assert steps(saver)[-4:] == [("loop", 2), ("update", 1), ("loop", 2), ("loop", 3)]


def test_the_latest_checkpoint_may_be_named(way: Any, saver: Any) -> None:
    """TT-22: with an answer it is resumed, and not replayed."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    head = way.state(graph, CONFIG).config
    assert way.invoke(graph, Command(resume="A"), head) == {"log": ["A", "end"]}
    assert steps(saver) == [("input", -1), ("loop", 0), ("loop", 1), ("loop", 2)]


def test_an_answer_at_a_checkpoint_that_is_past(way: Any, saver: Any) -> None:
    """TT-22: ≠ it branches off there, and the answer is that of the new branch."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    head = way.state(graph, CONFIG).config
    way.invoke(graph, Command(resume="A"), head)
    old = way.history(graph, CONFIG)
    assert way.invoke(graph, Command(resume="B"), head) == {"log": ["B", "end"]}
    assert steps(saver)[4:] == [("fork", 1), ("loop", 2), ("loop", 3)]
    assert way.history(graph, CONFIG)[3:] == old


def test_one_answer_at_a_past_checkpoint_where_several_asked(way: Any, saver: Any) -> None:
    """TT-22: ≠ the questions of the branch have new ids, so none can be meant; refused."""
    graph = beside(saver, "a", "b")
    way.invoke(graph, {"log": []}, CONFIG)
    head, known = way.state(graph, CONFIG).config, ids(way, graph)
    way.invoke(graph, Command(resume={known["qa"]: 1, known["qb"]: 2}), CONFIG)
    count = len(way.history(graph, CONFIG))
    with pytest.raises(RuntimeError, match=r"several nodes asked .* Replay it with invoke\(None"):
        way.invoke(graph, Command(resume="x"), head)
    with pytest.raises(UnknownInterruptError) as caught:
        way.invoke(graph, Command(resume={known["qa"]: "x"}), head)
    assert (caught.value.interrupt_ids, caught.value.pending_ids) == ((known["qa"],), ())
    assert str(caught.value) == (
        f"'{known['qa']}': asked at this checkpoint, which is past, and not to be answered a "
        "second time by the same id. Replay it with invoke(None, config): all ask anew, and can "
        "then be answered by the new ids. Nothing was stored and nothing ran."
    )
    assert len(way.history(graph, CONFIG)) == count
    way.invoke(graph, None, head)
    new = ids(way, graph)
    result = way.invoke(graph, Command(resume={new["qa"]: 3, new["qb"]: 4}), CONFIG)
    assert sorted(result["log"]) == ["a=3", "b=4"]


def test_an_old_id_at_a_checkpoint_that_is_past(way: Any, saver: Any) -> None:
    """TT-22: ≠ a snapshot shows it, but it is no address any more; where one had asked, the answer
    needs none."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    head, old = way.state(graph, CONFIG).config, ids(way, graph)["q?"]
    way.invoke(graph, Command(resume="x"), CONFIG)
    with pytest.raises(UnknownInterruptError, match="Or answer without an id: Command") as caught:
        way.invoke(graph, Command(resume={old: "y"}), head)
    assert caught.value.interrupt_ids == (old,)
    with pytest.raises(UnknownInterruptError, match=f"Nobody has asked '{NOBODYS}'"):
        way.invoke(graph, Command(resume={NOBODYS: "y"}), head)
    assert way.invoke(graph, Command(resume="y"), head) == {"log": ["y", "end"]}


def test_a_fork_between_two_questions(way: Any, saver: Any) -> None:
    """TT-23: the first answer is kept, and the second question is asked again."""
    graph = two_questions(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, Command(resume="Alice"), CONFIG)
    way.invoke(graph, Command(resume="30"), CONFIG)
    fork = way.update(graph, before(way, graph, "age"), {"log": ["modified"]})
    again = way.invoke(graph, None, fork)
    assert again["log"] == ["name: Alice", "modified"]
    assert questions(again) == ["How old are you?"]
    expected = {"log": ["name: Alice", "modified", "age: 31", "Done"]}
    assert way.invoke(graph, Command(resume="31"), fork) == expected
    assert way.invoke(graph, None, CONFIG) == expected
