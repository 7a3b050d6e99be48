"""What somebody found who wanted answers to get lost, or work to be done twice."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.config import RunnableConfig
from minigraph.errors import InvalidUpdateError, UnknownInterruptError
from minigraph.graph import START, StateGraph
from minigraph.types import Command, Send, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}
PATIENCE = 20.0


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def single(name: str, node: Any, **options: Any) -> Any:
    return StateGraph(State).add_node(name, node).add_edge(START, name).compile(**options)


def asking(name: str) -> Any:
    return lambda state: {"log": [f"{name}:{interrupt(name)}"]}


def two_that_ask(**options: Any) -> Any:
    builder = StateGraph(State)
    for name in ("pay", "mail"):
        builder.add_node(name, asking(name)).add_edge(START, name)
    return builder.compile(**options)


def open_ids(way: Any, graph: Any) -> dict[str, str]:
    return {each.value: each.id for each in way.state(graph, CONFIG).interrupts}


def test_an_answer_is_stored_before_its_node_runs(tmp_path: Path) -> None:
    """DU-03: with "sync" an answer outlives the process that is killed while the node works."""
    path = str(tmp_path / "threads.db")
    seen: list[Any] = []

    def ask(state: State) -> Any:
        answer = interrupt("?")
        with SqliteSaver.from_conn_string(path) as another_process:
            (found,) = another_process.list(CONFIG, limit=1)
            seen.append([value for _, name, value in found.pending_writes if name == "__resume__"])
        return {"log": [answer]}

    with SqliteSaver.from_conn_string(path) as saver:
        graph = single("ask", ask, checkpointer=saver)
        graph.invoke({"log": []}, CONFIG, durability="sync")
        graph.invoke(Command(resume="A"), CONFIG, durability="sync")
    assert seen == [["A", ["A"]]]


def test_answers_by_id_after_the_inner_graph_was_edited(way: Any) -> None:
    """IN-41: they get to the nodes that had asked, in whatever order these ask now."""
    graph = single("inner", two_that_ask(), checkpointer=InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG)
    ids = open_ids(way, graph)
    place = way.state(graph, CONFIG).tasks[0].state
    way.update(graph, place, {"log": ["edited"]}, START)
    answers = {ids["mail"]: "to mail", ids["pay"]: "to pay"}
    done = way.invoke(graph, Command(resume=answers), CONFIG)
    assert done == {"log": ["edited", "mail:to mail", "pay:to pay"]}


def test_one_answer_of_two_after_the_inner_graph_was_edited(way: Any) -> None:
    """It is not given to the other node, and that one asks again."""
    graph = single("inner", two_that_ask(), checkpointer=InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG)
    ids = open_ids(way, graph)
    way.update(graph, way.state(graph, CONFIG).tasks[0].state, {"log": ["edited"]}, START)
    asked = way.invoke(graph, Command(resume={ids["pay"]: "yes"}), CONFIG)
    assert [each.value for each in asked["__interrupt__"]] == ["mail"]
    done = way.invoke(graph, Command(resume="no"), CONFIG)
    assert done == {"log": ["edited", "mail:no", "pay:yes"]}


@pytest.mark.parametrize("memory", ["root", None, True, False], ids=str)
def test_a_question_beside_an_answer_whose_node_fails(way: Any, memory: Any) -> None:
    """IN-25: the other question stays open, and can be answered by its id."""
    failing = [True]

    def a(state: State) -> Any:
        answer = interrupt("a?")
        if failing[0]:
            raise ValueError("boom")
        return {"log": [f"a:{answer}"]}

    builder = StateGraph(State).add_node("a", a).add_node("b", asking("b"))
    builder.add_edge(START, "a").add_edge(START, "b")
    if memory == "root":
        graph = builder.compile(checkpointer=InMemorySaver())
    else:
        inner = builder.compile(checkpointer=memory)
        graph = single("inner", inner, checkpointer=InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG)
    ids = open_ids(way, graph)
    with pytest.raises(ValueError, match="boom"):
        way.invoke(graph, Command(resume={ids["a?"]: "A"}), CONFIG)
    assert open_ids(way, graph) == {"b": ids["b"]}
    failing[0] = False
    assert way.invoke(graph, Command(resume={ids["b"]: "B"}), CONFIG) == {"log": ["a:A", "b:B"]}


@pytest.mark.parametrize("memory", ["root", None, True, False], ids=str)
@pytest.mark.parametrize("edited", [False, True])
def test_a_node_that_edits_its_answer(way: Any, memory: Any, edited: bool) -> None:
    """IN-04: the next run is given it as it came."""

    def ask(state: State) -> Any:
        first = interrupt("1?")
        first.append("x")
        return {"log": [first, interrupt("2?")]}

    inner = StateGraph(State).add_node(ask).add_edge(START, "ask")
    if memory == "root":
        graph = inner.compile(checkpointer=InMemorySaver())
    else:
        graph = single("inner", inner.compile(checkpointer=memory), checkpointer=InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG)
    if edited:
        way.update(graph, CONFIG, {"log": []}, START)
    way.invoke(graph, Command(resume=["A"]), CONFIG)
    assert way.invoke(graph, Command(resume="B"), CONFIG) == {"log": [["A", "x"], "B"]}


def test_a_path_function_that_asks(way: Any) -> None:
    """A run can be answered; an update from outside cannot, and says so."""
    builder = StateGraph(State).add_node("n", lambda state: {"log": ["n"]})
    builder.add_node("z", lambda state: {"log": ["z"]}).add_edge(START, "n")
    builder.add_conditional_edges("n", lambda state: interrupt("where to?"), ["z"])
    graph = builder.compile(checkpointer=InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG)
    with pytest.raises(InvalidUpdateError, match="A path function asks a question"):
        way.update(graph, CONFIG, {"log": ["u"]}, "n")
    assert way.invoke(graph, Command(resume="z"), CONFIG) == {"log": ["n", "z"]}


def test_a_graph_in_a_run_that_nobody_waits_for() -> None:
    """ST-30: when the stream is closed, the inner graph ends with its present super-step."""
    ran: list[str] = []
    at_work, go_on = threading.Event(), threading.Event()

    def first(state: State) -> Any:
        ran.append("first")
        at_work.set()
        assert go_on.wait(PATIENCE)
        return {"log": ["first"]}

    def second(state: State) -> Any:
        ran.append("second")
        return {"log": ["second"]}

    builder = StateGraph(State).add_sequence([first, second]).add_edge(START, "first")
    graph = single("inner", builder.compile(), checkpointer=InMemorySaver())
    with orphans_joined():
        stream = graph.stream({"log": []}, CONFIG, subgraphs=True, stream_mode="tasks")
        while next(stream)[1]["name"] != "first":
            pass
        assert at_work.wait(PATIENCE)
        threading.Timer(0.05, go_on.set).start()  # the node that is at work is waited for
        stream.close()
        assert go_on.is_set()
    assert ran == ["first"]
    assert graph.invoke(None, CONFIG) == {"log": ["first", "second"]}
    assert ran == ["first", "second"]


@contextmanager
def orphans_joined() -> Iterator[None]:
    """Wait for the threads that were started meanwhile."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(PATIENCE)


def test_a_question_whose_answer_was_used_before_the_run_was_left() -> None:
    """IN-25: it is not shown as open, though the task around it has not ended."""

    def slow(state: State) -> Any:
        return {"log": ["slow"]}

    builder = StateGraph(State).add_node("ask", asking("?")).add_node(slow)
    builder.add_edge(START, "ask").add_edge("ask", "slow")
    graph = single("inner", builder.compile(), checkpointer=InMemorySaver())
    graph.invoke({"log": []}, CONFIG)
    with orphans_joined():
        stream = graph.stream(Command(resume="yes"), CONFIG, subgraphs=True)
        namespace, update = next(stream)
        assert (len(namespace), update) == (1, {"ask": {"log": ["?:yes"]}})
        stream.close()
    assert graph.get_state(CONFIG).interrupts == ()
    assert graph.invoke(None, CONFIG) == {"log": ["?:yes", "slow"]}


def test_an_answer_to_a_question_that_an_update_has_settled(way: Any) -> None:
    """It is given to nobody else: who comes next asks for himself."""
    inner = StateGraph(State).add_sequence([("pay", asking("pay")), ("mail", asking("mail"))])
    graph = single("inner", inner.add_edge(START, "pay").compile(), checkpointer=InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG)
    ids = open_ids(way, graph)
    place = way.state(graph, CONFIG).tasks[0].state
    way.update(graph, place, {"log": ["decided"]}, "pay")
    asked = way.invoke(graph, Command(resume={ids["pay"]: "yes"}), CONFIG)
    assert [each.value for each in asked["__interrupt__"]] == ["mail"]
    assert way.invoke(graph, Command(resume="no"), CONFIG) == {"log": ["decided", "mail:no"]}


def test_a_config_that_is_handed_to_a_thread(way: Any) -> None:
    """SB-11: with the node's config a graph is an inner one, on whatever thread it is called."""
    inner = single("ask", asking("?"))

    def node(state: State, config: RunnableConfig) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return {"log": pool.submit(inner.invoke, {"log": []}, config).result()["log"]}

    graph = single("node", node, checkpointer=InMemorySaver())
    asked = way.invoke(graph, {"log": []}, CONFIG)
    assert [each.value for each in asked["__interrupt__"]] == ["?"]
    assert way.invoke(graph, Command(resume="yes"), CONFIG) == {"log": ["?:yes"]}


def test_an_answer_that_nobody_takes_is_told(way: Any, caplog: Any) -> None:
    """IN-37: a run that goes on, in which nobody asks, says so in the log."""
    graph = single("quiet", lambda state: {"log": ["done"]}, checkpointer=InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG, interrupt_before=["quiet"])
    with caplog.at_level("WARNING", "minigraph"):
        assert way.invoke(graph, Command(resume="yes"), CONFIG) == {"log": ["done"]}
    assert caplog.messages == [
        "The answer 'yes' is for nobody: nobody has asked. The run goes on without it."
    ]


def test_an_answer_beside_a_goto_to_another_that_asks(way: Any) -> None:
    """IN-30: it belongs to the question that waits, and the other one asks for itself."""
    builder = StateGraph(State).add_node("pay", asking("pay")).add_node("mail", asking("mail"))
    graph = builder.add_edge(START, "pay").compile(checkpointer=InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG)
    asked = way.invoke(graph, Command(resume="yes", goto="mail"), CONFIG)
    assert [each.value for each in asked["__interrupt__"]] == ["mail"]
    assert way.invoke(graph, Command(resume="no"), CONFIG) == {"log": ["mail:no", "pay:yes"]}


def test_an_answer_is_stored_with_the_task_that_got_it() -> None:
    """IN-33: also where a graph that the task calls then stops at a breakpoint."""
    quiet = StateGraph(State).add_node("quiet", lambda state: {}).add_edge(START, "quiet")
    stopping = quiet.compile(interrupt_before=["quiet"])

    def ask(state: State) -> Any:
        answer = interrupt("?")
        stopping.invoke({"log": []})
        return {"log": [answer]}

    saver = InMemorySaver()
    graph = single("ask", ask, checkpointer=saver)
    graph.invoke({"log": []}, CONFIG)
    assert graph.invoke(Command(resume=1), CONFIG) == {"log": []}
    saved = saver.get_tuple(CONFIG)
    assert saved is not None
    kept = [(name, value) for _, name, value in saved.pending_writes or ()]
    assert [entry for entry in kept if entry[0] == "__resume__"] == [
        ("__resume__", 1),
        ("__resume__", [1]),
    ]
    assert graph.invoke(None, CONFIG) == {"log": [1]}


def test_a_pause_beside_finished_tasks_whose_writes_clash() -> None:
    """SS-05, IN-24: it is a pause; that they clash is told when the super-step is complete."""

    class Clashing(TypedDict, total=False):
        last: int

    builder = StateGraph(Clashing)
    for name, node in (
        ("one", lambda state: {"last": 1}),
        ("two", lambda state: {"last": 2}),
        ("ask", lambda state: interrupt("?")),
    ):
        builder.add_node(name, node).add_edge(START, name)
    graph = builder.compile(checkpointer=InMemorySaver())
    paused = graph.invoke({}, CONFIG)
    assert [question.value for question in paused["__interrupt__"]] == ["?"]
    with pytest.raises(InvalidUpdateError, match="'last' received 2 writes"):
        graph.invoke(Command(resume={}), CONFIG)
    assert graph.get_state(CONFIG).next == ("one", "two", "ask")


def thrice(value: Any) -> int:
    return 3 * int(value)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_new_answer_after_a_failure(way: Any, depth: int) -> None:
    """IN-09: it takes the place of the last one, and the questions before are not asked again."""

    def form(state: State) -> Any:
        return {"log": [interrupt("name"), thrice(interrupt("age"))]}

    graph = single("form", form)
    for _ in range(depth):
        graph = single("inner", graph)
    graph.checkpointer = InMemorySaver()
    way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, Command(resume="Ada"), CONFIG)
    for wrong in ("abc", "xyz"):
        with pytest.raises(ValueError, match=f"'{wrong}'"):
            way.invoke(graph, Command(resume=wrong), CONFIG)
    with pytest.raises(ValueError, match="'xyz'"):
        way.invoke(graph, None, CONFIG)
    assert way.invoke(graph, Command(resume="14"), CONFIG) == {"log": ["Ada", 42]}


def test_a_new_answer_is_not_for_the_next_question() -> None:
    """IN-09: a node that was mended asks what it has not asked before."""

    runs: list[State] = []

    def form(state: State) -> Any:
        runs.append(state)
        age = interrupt("age")
        if len(runs) < 3:
            raise ValueError(age)
        return {"log": [age, interrupt("delete everything?")]}

    graph = single("form", form, checkpointer=InMemorySaver())
    graph.invoke({"log": []}, CONFIG)
    with pytest.raises(ValueError, match="yes"):
        graph.invoke(Command(resume="yes"), CONFIG)
    asked = graph.invoke(Command(resume="42"), CONFIG)
    assert [question.value for question in asked["__interrupt__"]] == ["delete everything?"]
    assert graph.invoke(Command(resume="no"), CONFIG) == {"log": ["42", "no"]}


def test_a_new_answer_for_several_that_failed() -> None:
    """IN-09: whose it is cannot be told, so it is refused."""
    builder = StateGraph(State)
    for name in ("pay", "mail"):
        node = lambda state, name=name: {"log": [thrice(interrupt(name))]}
        builder.add_node(name, node).add_edge(START, name)
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"log": []}, CONFIG)
    wrong = {each.id: "abc" for each in graph.get_state(CONFIG).interrupts}
    with pytest.raises(ValueError, match="abc"):
        graph.invoke(Command(resume=wrong), CONFIG)
    with pytest.raises(UnknownInterruptError, match=r"\['mail', 'pay'\] have failed"):
        graph.invoke(Command(resume="1"), CONFIG)


@pytest.mark.parametrize("memory", [None, True])
@pytest.mark.parametrize("depth", [1, 2])
def test_an_answer_where_the_inner_graph_waits(way: Any, memory: Any, depth: int) -> None:
    """TT-22: with the config of the inner snapshot it is an ordinary answer."""
    builder = StateGraph(State).add_sequence(
        [("before", lambda state: {"log": ["before"]}), ("ask", asking("ask"))]
    )
    graph = builder.add_edge(START, "before").compile(checkpointer=memory)
    for level in reversed(range(depth)):
        options = {"checkpointer": memory if level else InMemorySaver()}
        graph = single("inner", graph, **options)
    way.invoke(graph, {"log": []}, CONFIG)
    state = graph.get_state(CONFIG, subgraphs=True)
    for _ in range(depth):
        state = state.tasks[0].state
    assert way.invoke(graph, Command(resume="R"), state.config) == {"log": ["before", "ask:R"]}


def test_two_tasks_with_one_memory() -> None:
    """SB-12: what they do would be mixed up, so the second is refused."""
    inner = single("ask", asking("ask"), checkpointer=True)
    builder = StateGraph(State).add_node("inner", inner)
    sends = [Send("inner", {"log": [n]}) for n in (1, 2)]
    builder.add_conditional_edges(START, lambda state: sends, ["inner"])
    graph = builder.compile(checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="Two tasks of super-step 1 have called the graph at"):
        graph.invoke({"log": []}, CONFIG)


@pytest.mark.parametrize("memory", [None, True, False])
def test_an_answer_for_another_graph_in_the_task(
    memory: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """IN-35: a graph that has come to its end before says nothing."""
    calm = single("calm", lambda state: {"log": ["calm"]}, checkpointer=memory)
    wants = single("wants", asking("wants"), checkpointer=memory)

    def two(state: State) -> Any:
        return {"log": [*calm.invoke({})["log"], *wants.invoke({})["log"], interrupt("own")]}

    graph = single("two", two, checkpointer=InMemorySaver())
    graph.invoke({"log": []}, CONFIG)
    graph.invoke(Command(resume="a"), CONFIG)
    assert graph.invoke(Command(resume="b"), CONFIG) == {"log": ["calm", "wants:a", "b"]}
    assert caplog.messages == []
