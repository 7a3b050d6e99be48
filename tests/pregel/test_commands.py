"""Commands: from outside, as the input of a run, and from a graph to the graphs around it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import END, NULL_TASK_ID, START
from minigraph.errors import InvalidUpdateError, ParentCommand
from minigraph.graph import StateGraph
from minigraph.pregel.io import command_writes
from minigraph.runtime import interrupt
from minigraph.types import Command, Send

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    x: Any


def say(name: str) -> Callable[[Any], Any]:
    return lambda state: {"log": [name]}


def chain(*names: str, saver: Any = None, **options: Any) -> Any:
    builder = StateGraph(State)
    previous = START
    for name in names:
        builder.add_node(name, say(name)).add_edge(previous, name)
        previous = name
    return builder.compile(checkpointer=saver, **options)


def stored(saver: Any) -> list[Any]:
    """Of all checkpoints, oldest first: step, values, and what nobody wrote beside it."""
    return [
        (
            row.metadata["step"],
            row.checkpoint["channel_values"].get("log"),
            [(name, value) for id, name, value in row.pending_writes if id == NULL_TASK_ID],
        )
        for row in [*saver.list(CONFIG)][::-1]
    ]


# ---------------------------------------------------------------- from outside


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        (Command(), []),
        (Command(resume="x"), []),
        (Command(goto=END), []),
        (Command(goto="b"), [("branch:to:b", START)]),
        (Command(goto=Send("b", 1)), [("__pregel_tasks", Send("b", 1))]),
        (
            Command(goto=["b", Send("c", 1), END]),
            [("branch:to:b", START), ("__pregel_tasks", Send("c", 1))],
        ),
        (Command(goto=("b",)), [("branch:to:b", START)]),
        (Command(update={"x": 1}), [("x", 1)]),
        (Command(update=[("x", 1), ("x", 2)]), [("x", 1), ("x", 2)]),
        (Command(update={"x": 1}, goto="b"), [("branch:to:b", START), ("x", 1)]),
    ],
    ids=repr,
)
def test_what_it_writes(command: Command[Any], writes: Any) -> None:
    """CS-11: routes, Sends, and its update."""
    assert command_writes(command) == writes


@pytest.mark.parametrize(
    ("command", "error", "words"),
    [
        (Command(graph=Command.PARENT), InvalidUpdateError, "no parent graph .* '__parent__'"),
        (Command(graph="other"), InvalidUpdateError, "no parent graph .* 'other'"),
        (Command(goto=[5]), TypeError, "expected Send/str, got int: 5"),
        (Command(goto=["b", None]), TypeError, "expected Send/str, got NoneType"),
        (Command(update=5), InvalidUpdateError, "not 5"),
        (Command(update=["xy", 5]), InvalidUpdateError, "update is a dict"),
    ],
    ids=repr,
)
def test_what_it_cannot_be(command: Command[Any], error: type[Exception], words: str) -> None:
    """CS-13."""
    with pytest.raises(error, match=words):
        command_writes(command)


def test_an_update_on_a_finished_thread(way: Any, saver: Any) -> None:
    """CS-10: it is shown, also in the record, and kept beside the checkpoint; no other is made."""
    graph = chain("a", "b", saver=saver)
    way.invoke(graph, {"log": ["in"]}, CONFIG)
    count = len(stored(saver))

    result = way.invoke(graph, Command(update={"log": ["u"]}), CONFIG)

    assert result == {"log": ["in", "a", "b", "u"]}
    assert way.state(graph, CONFIG).values == result
    assert way.history(graph, CONFIG)[0].values == result
    assert len(stored(saver)) == count
    assert stored(saver)[-1] == (2, ["in", "a", "b"], [("log", ["u"])])
    assert way.invoke(graph, None, CONFIG) == result


def test_updates_one_after_the_other(way: Any, saver: Any) -> None:
    """CS-10: all of them count."""
    graph = chain("a", saver=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    for text in ("one", "two", "three"):
        way.invoke(graph, Command(update={"log": [text]}), CONFIG)
    assert way.state(graph, CONFIG).values == {"log": ["a", "one", "two", "three"]}
    assert way.invoke(graph, Command(goto="a"), CONFIG) == {
        "log": ["a", "one", "two", "three", "a"]
    }
    assert [entry[1] for entry in stored(saver)][-1] == ["a", "one", "two", "three", "a"]


def test_to_go_somewhere_on_a_finished_thread(way: Any, saver: Any) -> None:
    """CS-10, CS-11: the node runs, and what comes after it; versions go on counting."""
    graph = chain("a", "b", saver=saver)
    way.invoke(graph, {"log": ["in"]}, CONFIG)
    assert way.invoke(graph, Command(goto="a"), CONFIG) == {"log": ["in", "a", "b", "a", "b"]}
    assert stored(saver)[3:] == [
        (2, ["in", "a", "b"], [("branch:to:a", START)]),
        (3, ["in", "a", "b", "a"], []),
        (4, ["in", "a", "b", "a", "b"], []),
    ]


def test_the_versions_that_it_moves(way: Any, saver: Any) -> None:
    """CS-11: it is applied before anything is planned, so its channels count once more."""
    builder = StateGraph(State).add_node("a", say("a")).add_node("b", say("b"))
    graph = builder.add_edge(START, "a").compile(checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, Command(update={"log": ["u"]}, goto="b"), CONFIG)
    before, after = [row.checkpoint for row in saver.list(CONFIG)][1::-1]

    def count(checkpoint: Any, name: str) -> int:
        version: int = int(str(checkpoint["channel_versions"][name]).split(".")[0])
        return version

    assert (count(before, "log"), count(after, "log")) == (3, 5)
    assert after["channel_values"]["log"] == ["a", "u", "b"]


def test_a_send_from_outside(way: Any, saver: Any) -> None:
    """CS-11, CS-30: the node gets its argument, and nothing else."""
    seen: list[Any] = []
    builder = StateGraph(State).add_node("a", say("a"))
    builder.add_node("b", lambda arg: seen.append(arg))
    graph = builder.add_edge(START, "a").compile(checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, Command(goto=[Send("b", {"n": n}) for n in (1, 2)]), CONFIG)
    assert sorted(seen, key=repr) == [{"n": 1}, {"n": 2}]
    assert way.state(graph, CONFIG).next == ()


def test_it_shows_before_it_has_run(way: Any, saver: Any) -> None:
    """CS-10: after a failure behind it, `get_state` knows what was to come."""
    fails = [True]

    def bad(state: State) -> Any:
        if fails:
            raise ValueError("boom")
        return {"log": ["b"]}

    builder = StateGraph(State).add_node("a", say("a")).add_node("b", bad)
    graph = builder.add_edge(START, "a").compile(checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    with pytest.raises(ValueError, match="boom"):
        way.invoke(graph, Command(update={"log": ["u"]}, goto="b"), CONFIG)
    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["a", "u"]}, ("b",))
    fails.clear()
    assert way.invoke(graph, None, CONFIG) == {"log": ["a", "u", "b"]}


def test_at_a_breakpoint(way: Any, saver: Any) -> None:
    """IN-62: any Command goes on, and brings what it has."""
    graph = chain("a", "b", saver=saver, interrupt_before=["b"])
    way.invoke(graph, {"log": []}, CONFIG)
    assert way.invoke(graph, Command(update={"log": ["u"]}), CONFIG) == {"log": ["a", "u", "b"]}


def test_nowhere_to_go(way: Any, saver: Any, caplog: pytest.LogCaptureFixture) -> None:
    """CS-03, CS-11: a node that does not exist is warned of and ignored."""
    graph = chain("a", saver=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    assert way.invoke(graph, Command(goto="zz"), CONFIG) == {"log": ["a"]}
    [record] = caplog.records
    assert record.message == (
        "'__input__' goes to node 'zz', which does not exist; there are ['a']. Ignored."
    )


@pytest.mark.parametrize("kept", [True, False], ids=["a thread", "without a saver"])
def test_it_starts_a_run(way: Any, kept: bool) -> None:
    """CS-12: ≠ from START with an empty input, and its update counts once."""
    graph = chain("a", "b", saver=InMemorySaver() if kept else None)
    config = CONFIG if kept else None
    result = way.invoke(graph, Command(update={"log": ["u"], "x": 1}), config)
    assert result == {"log": ["u", "a", "b"], "x": 1}


def test_what_it_is_made_into_by_the_schema(way: Any, saver: Any) -> None:
    """CS-01, CS-10: a key that is none is left out, and an object with fields is an update."""

    class Part:
        x: int

        def __init__(self) -> None:
            self.x = 5

    graph = chain("a", saver=saver)
    for update, x in (({"x": 1, "zz": 2}, 1), (Part(), 5)):
        config: Any = {"configurable": {"thread_id": str(x)}}
        way.invoke(graph, {"log": []}, config)
        assert way.invoke(graph, Command(update=update), config) == {"log": ["a"], "x": x}


def test_the_update_of_a_state_that_is_one_value(way: Any, saver: Any) -> None:
    """CS-10."""
    builder = StateGraph(int).add_node("a", lambda n: n + 1).add_edge(START, "a")
    graph = builder.compile(checkpointer=saver)
    assert way.invoke(graph, 1, CONFIG) == 2
    assert way.invoke(graph, Command(update=40), CONFIG) == 40
    assert way.invoke(graph, Command(goto="a"), CONFIG) == 41


def asking(saver: Any) -> Any:
    """One node with two questions."""

    def ask(state: State) -> Any:
        return {"log": [interrupt("one"), interrupt("two")]}

    builder = StateGraph(State).add_node(ask).add_edge(START, "ask")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize(
    ("graph", "before", "after"),
    [(lambda saver: chain("a", saver=saver), ["a"], ["a"]), (asking, [], [])],
    ids=["finished", "waiting"],
)
def test_what_it_has_written_stays(
    way: Any, saver: Any, graph: Any, before: Any, after: Any
) -> None:
    """CS-10: whatever comes next: an input, an update from outside, a replay."""
    built = graph(saver)
    configs: list[Any] = [{"configurable": {"thread_id": name}} for name in "123"]
    for config in configs:
        way.invoke(built, {"log": []}, config)
        way.invoke(built, Command(update={"log": ["u"]}), config)
    result = way.invoke(built, {"log": ["new"]}, configs[0])
    assert result["log"] == [*before, "u", "new", *after]
    way.update(built, configs[1], {"log": ["upd"]})
    assert way.state(built, configs[1]).values == {"log": [*before, "u", "upd"]}
    there = way.history(built, configs[2])[0].config
    assert way.invoke(built, None, there)["log"] == [*before, "u"]
    assert way.state(built, configs[2]).values == {"log": [*before, "u"]}


def test_updates_of_a_plain_key(way: Any, saver: Any) -> None:
    """CS-10: each Command is an update by itself, so the newest value counts."""
    graph = chain("a", saver=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    for x in (1, 2, 3):
        assert way.invoke(graph, Command(update={"x": x}), CONFIG) == {"log": ["a"], "x": x}
    assert way.state(graph, CONFIG).values == {"log": ["a"], "x": 3}
    assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["a", "a"], "x": 3}


def test_answers_that_bring_a_plain_key(way: Any, saver: Any) -> None:
    """CS-10, IN-38: two answers at one checkpoint, each with an update of the same key."""
    graph = asking(saver)
    way.invoke(graph, {"log": []}, CONFIG)
    way.invoke(graph, Command(resume="A", update={"x": 1}), CONFIG)
    assert way.state(graph, CONFIG).values == {"log": [], "x": 1}
    done = way.invoke(graph, Command(resume="B", update={"x": 2}), CONFIG)
    assert done == {"log": ["A", "B"], "x": 2}


@pytest.mark.parametrize("graph", [lambda saver: chain("a", saver=saver), asking])
@pytest.mark.parametrize(
    ("update", "error"),
    [([("x", 1), ("x", 2)], InvalidUpdateError), ({"log": 5}, TypeError)],
    ids=["two values", "a reducer that raises"],
)
def test_an_update_that_a_channel_refuses(
    way: Any, saver: Any, graph: Any, update: Any, error: type[Exception]
) -> None:
    """CS-13: ≠ refused while nothing is stored; the thread is as it was."""
    built = graph(saver)
    way.invoke(built, {"log": []}, CONFIG)
    before = (way.history(built, CONFIG), way.state(built, CONFIG), stored(saver))
    with pytest.raises(error):
        way.invoke(built, Command(update=update), CONFIG)
    assert (way.history(built, CONFIG), way.state(built, CONFIG), stored(saver)) == before


def test_a_stored_update_that_cannot_be_applied(
    way: Any, saver: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """CS-11: ≠ such as another program's: it is left out, and the log is told."""
    graph = chain("a", saver=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    there = way.state(graph, CONFIG).config
    saver.put_writes(there, [("x", 1), ("x", 2)], NULL_TASK_ID)
    assert way.state(graph, CONFIG).values == {"log": ["a"]}
    assert way.invoke(graph, Command(goto="a"), CONFIG) == {"log": ["a", "a"]}
    [record] = caplog.records
    assert record.message.startswith("A stored update from outside cannot be applied, and is left")


@pytest.mark.parametrize("kept", [True, False], ids=["a thread", "without a saver"])
def test_it_starts_a_run_and_goes_somewhere(way: Any, kept: bool) -> None:
    """CS-12: the node runs beside those that START leads to."""
    graph = chain("a", "b", saver=InMemorySaver() if kept else None)
    config = CONFIG if kept else None
    result = way.invoke(graph, Command(update={"log": ["u"]}, goto="b"), config)
    assert result == {"log": ["u", "a", "b", "b"]}
    if kept:
        nexts = [state.next for state in way.history(graph, CONFIG)]
        assert nexts == [(), ("b",), ("a", "b"), (START,)]


# ---------------------------------------------------------------- to the graph around


def outer(inner: Any, called: bool = False, **options: Any) -> Any:
    """sub ─▶ after, and other, to which only a Command leads; `sub` is, or calls, this graph."""
    builder = StateGraph(State)
    builder.add_node("sub", (lambda state: inner.invoke(state)) if called else inner)
    builder.add_node("after", say("after")).add_node("other", say("other"))
    return builder.add_edge(START, "sub").add_edge("sub", "after").compile(**options)


def commanding(command: Any) -> Any:
    """inner ─▶ never."""
    builder = StateGraph(State).add_node("inner", lambda state: command)
    builder.add_node("never", say("never"))
    return builder.add_edge(START, "inner").add_edge("inner", "never").compile()


@pytest.mark.parametrize("called", [False, True], ids=["as a node", "called by one"])
def test_to_the_parent(way: Any, called: bool) -> None:
    """CS-20, CS-21: the inner graph ends; its node counts as having returned the Command."""
    command = Command(graph=Command.PARENT, update={"log": ["up"]}, goto="other")
    graph = outer(commanding(command), called)
    assert way.invoke(graph, {"log": ["in"]}) == {"log": ["in", "up", "after", "other"]}
    chunks = way.stream(graph, {"log": []})
    assert chunks[0] == {"sub": {"log": ["up"]}}
    assert sorted(chunks[1:], key=repr) == [
        {"after": {"log": ["after"]}},
        {"other": {"log": ["other"]}},
    ]


@pytest.mark.parametrize("goto", [(), END, ["other", Send("other", {"log": []})]])
def test_where_it_may_go(way: Any, goto: Any) -> None:
    """CS-20, CS-02: as a Command of the node itself."""
    command = Command(graph=Command.PARENT, update={"log": ["up"]}, goto=goto)
    log = way.invoke(outer(commanding(command)), {"log": []})["log"]
    assert log == ["up", "after", *(["other"] * 2 if isinstance(goto, list) else [])]


def test_other_results_of_the_inner_graph_are_dropped(way: Any) -> None:
    """CS-20: also what siblings wrote, and what it had done in super-steps before."""
    builder = StateGraph(State).add_node("first", say("first"))
    builder.add_node("up", lambda s: Command(graph=Command.PARENT, update={"log": ["up"]}))
    builder.add_node("sibling", say("sibling")).add_edge(START, "first")
    builder.add_edge("first", "up").add_edge("first", "sibling")
    assert way.invoke(outer(builder.compile()), {"log": []}) == {"log": ["up", "after"]}


def test_beside_an_update_of_its_own(way: Any) -> None:
    """CS-20: of a list of Commands, those for the parent go up, and the others are dropped."""
    commands = [
        Command(update={"log": ["own"]}),
        Command(graph=Command.PARENT, update={"log": ["one"]}),
        Command(graph=Command.PARENT, update={"log": ["two"]}, goto="other"),
    ]
    log = way.invoke(outer(commanding(commands)), {"log": []})["log"]
    assert log == ["one", "two", "after", "other"]


def test_several_at_once(way: Any) -> None:
    """CS-20: ≠ every task's Command counts; in the reference one of them."""
    builder = StateGraph(State)
    for name in "abc":
        up = Command(graph=Command.PARENT, update={"log": [name]}, goto="other")
        builder.add_node(name, lambda state, up=up: up).add_edge(START, name)
    log = way.invoke(outer(builder.compile()), {"log": []})["log"]
    assert (sorted(log[:3]), log[3:]) == (["a", "b", "c"], ["after", "other"])


def two_levels(command: Any) -> Any:
    """top: mid ─▶ done; mid: inner ─▶ mid2; inner: deep."""
    inner = StateGraph(State).add_node("deep", lambda s: command).add_edge(START, "deep")
    mid = StateGraph(State).add_node("inner", inner.compile()).add_node("mid2", say("mid2"))
    mid.add_edge(START, "inner")
    top = StateGraph(State).add_node("mid", mid.compile()).add_node("done", say("done"))
    return top.add_edge(START, "mid").add_edge("mid", "done").compile()


def test_one_level_up(way: Any) -> None:
    """CS-22: the parent is the next graph around, and no other."""
    command = Command(graph=Command.PARENT, update={"log": ["deep"]}, goto="mid2")
    assert way.invoke(two_levels(command), {"log": []}) == {"log": ["deep", "mid2", "done"]}


def test_from_the_second_call_of_a_node(way: Any) -> None:
    """CS-22: the number in its namespace is no level."""
    plain = chain("c")
    up = commanding(Command(graph=Command.PARENT, update={"log": ["up"]}, goto="other"))

    def sub(state: State) -> Any:
        plain.invoke({"log": []})
        up.invoke({"log": []})

    builder = StateGraph(State).add_node(sub).add_node("other", say("other"))
    graph = builder.add_edge(START, "sub").compile()
    assert way.invoke(graph, {"log": []}) == {"log": ["up", "other"]}


@pytest.mark.parametrize(("name", "log"), [("mid", ["deep", "done"]), ("inner", ["deep", "done"])])
def test_to_a_graph_by_its_nodes_name(way: Any, name: str, log: list[str]) -> None:
    """CS-22: it is for the graph that has this node, however far up that is."""
    command = Command(graph=name, update={"log": ["deep"]})
    assert way.invoke(two_levels(command), {"log": []}) == {"log": log}


def test_a_root_graph_has_no_parent(way: Any) -> None:
    """CS-23: it leaves the root graph as an exception, which says so."""
    command = Command(graph=Command.PARENT, goto="x")
    with pytest.raises(ParentCommand) as caught:
        way.invoke(commanding(command), {"log": []})
    assert caught.value.args == (command,)
    assert str(caught.value) == (
        "A node has returned Command(graph='__parent__', goto='x'), for the graph around its own. "
        "A graph that is run by itself has none around it: there, leave out `graph`."
    )


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (commanding, "there is none around this one."),
        (lambda command: outer(commanding(command)), "there are ['sub']; the next one is"),
        (lambda command: outer(commanding(command), called=True), "there are ['sub']; the"),
        (lambda command: two_levels(command), "there are ['mid', 'inner']; the next one is"),
    ],
    ids=["by itself", "as a node", "called by one", "two levels"],
)
@pytest.mark.parametrize("name", ["nobody", "done", "deep", 5])
def test_to_a_graph_that_is_not_there(way: Any, graph: Any, words: str, name: Any) -> None:
    """CS-22: ≠ the node fails, and is told which graphs are around it."""
    with pytest.raises(InvalidUpdateError) as caught:
        way.invoke(graph(Command(graph=name, goto="x")), {"log": []})
    assert str(caught.value).startswith(f"Command(graph={name!r}, goto='x') is for no graph: ")
    assert words in str(caught.value)


def test_to_a_graph_around_one_that_was_called_second(way: Any) -> None:
    """CS-22, SB-03: the number of the call is the name of nobody."""
    up = commanding(Command(graph="1", goto="x"))

    def sub(state: State) -> Any:
        chain("c").invoke({"log": []})
        up.invoke({"log": []})

    graph = StateGraph(State).add_node(sub).add_edge(START, "sub").compile()
    with pytest.raises(InvalidUpdateError, match=r"there are \['sub'\]"):
        way.invoke(graph, {"log": []})


@pytest.mark.parametrize("flavour", [None, True], ids=["inherit", "own"])
def test_by_the_whole_name_of_a_place(way: Any, saver: Any, flavour: Any) -> None:
    """CS-22: `checkpoint_ns`, as a node of the graph around knows it, names that graph."""
    place: list[str] = []

    def sub(state: State, config: Any) -> Any:
        place.append(config["configurable"]["checkpoint_ns"])
        inner.invoke(state)

    def up(state: State) -> Any:
        return Command(graph=place[0], update={"log": ["up"]})

    inner = StateGraph(State).add_node(up).add_edge(START, "up").compile(checkpointer=flavour)
    graph = StateGraph(State).add_node(sub).add_edge(START, "sub").compile(checkpointer=saver)
    if not way.is_async or saver.__class__ is InMemorySaver:
        assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["up"]}


def test_a_root_graph_has_no_parent_in_a_stream(way: Any) -> None:
    """CS-23."""
    chunks: list[Any] = []
    with pytest.raises(ParentCommand):
        way.stream_into(chunks, commanding(Command(graph=Command.PARENT)), {"log": []})
    assert chunks == []


def test_to_somewhere_that_the_parent_does_not_have(
    way: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """CS-03, CS-20: warned of and ignored, as if the node itself had returned it."""
    command = Command(graph=Command.PARENT, goto="zz", update={"log": ["up"]})
    assert way.invoke(outer(commanding(command)), {"log": []}) == {"log": ["up", "after"]}
    [record] = caplog.records
    assert record.message == (
        "'sub' goes to node 'zz', which does not exist; there are ['after', 'other', 'sub']. "
        "Ignored."
    )


def test_after_an_answer(way: Any, saver: Any) -> None:
    """CS-20, SB-20: the inner node asks first, and then goes up."""

    def ask(state: State) -> Any:
        answer = interrupt("where?")
        return Command(graph=Command.PARENT, update={"log": [answer]}, goto=answer)

    inner = StateGraph(State).add_node(ask).add_edge(START, "ask").compile()
    graph = outer(inner, checkpointer=saver)
    way.invoke(graph, {"log": []}, CONFIG)
    result = way.invoke(graph, Command(resume="other"), CONFIG)
    assert result == {"log": ["other", "after", "other"]}
    assert way.state(graph, CONFIG).next == ()


def test_a_node_may_catch_it(way: Any) -> None:
    """CS-20: a function that calls a graph gets it as an exception, addressed to its own graph."""
    up = commanding(Command(graph=Command.PARENT, update={"log": ["up"]}))

    def sub(state: State) -> Any:
        try:
            return up.invoke(state)
        except ParentCommand as sent:
            return {"log": [sent.args]}

    graph = StateGraph(State).add_node(sub).add_edge(START, "sub").compile()
    assert way.invoke(graph, {"log": []}) == {"log": [(Command(update={"log": ["up"]}),)]}


def test_a_command_to_the_end_goes_on(way: Any) -> None:
    """CS-03: END adds nothing, so it is as if there were no input; and it is not an empty one."""
    failing = [True]

    def a(state: State) -> Any:
        if failing:
            failing.pop()
            raise ValueError("boom")
        return {"log": ["a"]}

    graph = StateGraph(State).add_node(a).add_edge(START, "a").compile(checkpointer=InMemorySaver())
    with pytest.raises(ValueError, match="boom"):
        way.invoke(graph, {"log": []}, CONFIG)
    assert way.invoke(graph, Command(goto=END), CONFIG) == {"log": ["a"]}
    assert way.invoke(graph, Command(goto=END), CONFIG) == {"log": ["a"]}
