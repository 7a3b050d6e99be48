"""A super-step whose tasks all went well, and whose writes cannot be applied.

Two nodes wrote a key that takes one write, or a reducer raised. There is no such state, so there
is no such checkpoint: the last good one stands, its tasks are still to be done, and the store
knows what went wrong.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.errors import InvalidUpdateError
from minigraph.graph import START, StateGraph
from minigraph.types import Overwrite

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    x: int


class Clash:
    """START ─▶ one, other ─▶ after (from one). Both write `x` as long as `clashing`."""

    def __init__(self) -> None:
        self.clashing = True
        self.ran: list[str] = []
        builder = StateGraph(State)
        for name in ("one", "other", "after"):
            builder.add_node(name, self.node(name))
        builder.add_edge(START, "one").add_edge(START, "other").add_edge("one", "after")
        self.graph = builder.compile(checkpointer=InMemorySaver())

    def node(self, name: str) -> Callable[[State], Any]:
        def function(state: State) -> Any:
            self.ran.append(name)
            writes_x = name == "one" or (name == "other" and self.clashing)
            return {"log": [name], **({"x": len(name)} if writes_x else {})}

        return function


class Fragile:
    """START ─▶ a ─▶ b, with a reducer that raises while it is told to."""

    def __init__(self) -> None:
        self.failures = 1
        self.ran: list[str] = []

        def reduce(old: list[str], new: list[str]) -> list[str]:
            if "a" in new and self.failures:
                self.failures -= 1
                raise ArithmeticError("cannot add")
            return old + new

        def node(name: str) -> Callable[[Any], Any]:
            def function(state: Any) -> Any:
                self.ran.append(name)
                return {"log": [name]}

            return function

        schema = TypedDict("schema", {"log": Annotated[list, reduce]})  # noqa: UP013
        builder = StateGraph(schema).add_node("a", node("a")).add_node("b", node("b"))
        builder.add_edge(START, "a").add_edge("a", "b")
        self.graph = builder.compile(checkpointer=InMemorySaver())


def rows(way: Any, graph: Any) -> list[tuple[str, int]]:
    states = way.history(graph, CONFIG)
    return [(state.metadata["source"], state.metadata["step"]) for state in reversed(states)]


def test_the_last_good_checkpoint_stands(way: Any) -> None:
    """SS-05: its values, its tasks, and on each of them the error."""
    page = Clash()

    with pytest.raises(InvalidUpdateError, match="'x' received 2 writes") as caught:
        way.invoke(page.graph, {"log": ["in"]}, CONFIG)

    assert any("'x'" in note and "one, other" in note for note in caught.value.__notes__)
    state = way.state(page.graph, CONFIG)
    assert state.values == {"log": ["in"]}
    assert state.next == ("one", "other")
    assert state.metadata == {"source": "loop", "step": 0, "parents": {}}
    for task in state.tasks:
        assert task.error.startswith("InvalidUpdateError(")
        assert "'x' received 2 writes" in task.error
    assert [task.result for task in state.tasks] == [
        {"log": ["one"], "x": 3},
        {"log": ["other"], "x": 5},
    ]
    assert rows(way, page.graph) == [("input", -1), ("loop", 0)]


def test_a_saver_that_cannot_say_so(way: Any) -> None:
    """The run fails with what went wrong first, and the thread is as it was."""

    class Sick(InMemorySaver):
        def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            if writes[0][0] == "__error__":
                raise OSError("disk full")
            super().put_writes(config, writes, task_id, task_path)

    page = Clash()
    graph = page.graph.builder.compile(checkpointer=Sick())
    with pytest.raises(InvalidUpdateError, match="'x' received 2 writes") as caught:
        way.invoke(graph, {"log": ["in"]}, CONFIG)
    assert any("disk full" in note for note in caught.value.__notes__)
    assert way.state(graph, CONFIG).next == ("one", "other")
    page.clashing = False
    result = way.invoke(graph, None, CONFIG)
    assert result == {"log": ["in", "one", "other", "after"], "x": 3}


def test_the_record_tells_the_same(way: Any) -> None:
    """CP-41: history, and the snapshot by id, do not differ from the live view here."""
    page = Clash()
    with pytest.raises(InvalidUpdateError):
        way.invoke(page.graph, {"log": ["in"]}, CONFIG)

    live = way.state(page.graph, CONFIG)

    assert way.history(page.graph, CONFIG)[0] == live
    assert way.state(page.graph, live.config) == live


def test_it_is_told_once_without_a_saver(way: Any) -> None:
    """Nothing is kept, so nothing is stored; the error is the same."""
    page = Clash()
    graph = page.graph.builder.compile()

    with pytest.raises(InvalidUpdateError, match="'x' received 2 writes"):
        way.invoke(graph, {"log": ["in"]})

    assert sorted(page.ran) == ["one", "other"]


def test_streams_tell_the_tasks_and_then_raise(way: Any) -> None:
    """ST-20: the tasks had ended well, so their updates were told."""
    page = Clash()
    chunks: list[Any] = []

    with pytest.raises(InvalidUpdateError):
        way.stream_into(chunks, page.graph, {"log": ["in"]}, CONFIG)

    assert sorted(chunks, key=repr) == [
        {"one": {"log": ["one"], "x": 3}},
        {"other": {"log": ["other"], "x": 5}},
    ]


def test_trying_again_when_the_cause_is_gone(way: Any) -> None:
    """CP-54: the stored writes go through now, and no node runs for them a second time."""
    page = Fragile()
    with pytest.raises(ArithmeticError, match="cannot add") as caught:
        way.invoke(page.graph, {"log": ["in"]}, CONFIG)
    assert any("'log'" in note and note.endswith(": a") for note in caught.value.__notes__)
    state = way.state(page.graph, CONFIG)
    assert page.failures == 0
    # The reducer raises no more, so what is stored can be applied: a is done, and b is next.
    assert (state.values, state.next) == ({"log": ["in", "a"]}, ("b",))
    assert state.tasks[0].error == "ArithmeticError('cannot add')"

    assert way.invoke(page.graph, None, CONFIG) == {"log": ["in", "a", "b"]}

    assert page.ran == ["a", "b"]
    assert rows(way, page.graph) == [("input", -1), ("loop", 0), ("loop", 1), ("loop", 2)]
    assert way.state(page.graph, CONFIG).next == ()


def test_looking_while_the_reducer_raises(way: Any) -> None:
    """The error is told, even by a look; and by a look, nothing is lost."""
    page = Fragile()
    page.failures = 2
    with pytest.raises(ArithmeticError):
        way.invoke(page.graph, {"log": ["in"]}, CONFIG)

    state = way.state(page.graph, CONFIG)

    assert page.failures == 0
    assert (state.values, state.next) == ({"log": ["in"]}, ("a",))
    assert state.tasks[0].error == "ArithmeticError('cannot add')"
    assert state.tasks[0].result == {"log": ["a"]}
    assert way.invoke(page.graph, None, CONFIG) == {"log": ["in", "a", "b"]}


def test_trying_again_when_the_writes_still_clash(way: Any) -> None:
    """TT-02, TT-04: the stored writes are of no use, so the nodes run again, under a fork."""
    page = Clash()
    with pytest.raises(InvalidUpdateError):
        way.invoke(page.graph, {"log": ["in"]}, CONFIG)

    with pytest.raises(InvalidUpdateError):
        way.invoke(page.graph, None, CONFIG)

    assert sorted(page.ran) == ["one", "one", "other", "other"]
    state = way.state(page.graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["in"]}, ("one", "other"))
    assert rows(way, page.graph) == [("input", -1), ("loop", 0), ("fork", 1)]


def test_trying_again_with_nodes_that_have_changed_their_mind(way: Any) -> None:
    """They run again, and what they write now counts; what they wrote then is history."""
    page = Clash()
    with pytest.raises(InvalidUpdateError):
        way.invoke(page.graph, {"log": ["in"]}, CONFIG)
    page.clashing = False

    result = way.invoke(page.graph, None, CONFIG)

    assert result == {"log": ["in", "one", "other", "after"], "x": 3}
    assert sorted(page.ran) == ["after", "one", "one", "other", "other"]
    assert rows(way, page.graph) == [
        ("input", -1),
        ("loop", 0),
        ("fork", 1),
        ("loop", 2),
        ("loop", 3),
    ]
    failed = next(state for state in way.history(page.graph, CONFIG) if state.metadata["step"] == 0)
    assert [task.result for task in failed.tasks] == [
        {"log": ["one"], "x": 3},
        {"log": ["other"], "x": 5},
    ]


def test_what_was_finished_before_a_clash_of_more_is_kept(way: Any) -> None:
    """A task that failed for itself is run again; the others' writes are not run for, yet."""
    page = Clash()
    page.clashing = False
    calls: list[str] = []

    def third(state: State) -> Any:
        calls.append("third")
        if len(calls) == 1:
            raise ValueError("not yet")
        return {"x": 7} if len(calls) == 2 else {"log": ["third"]}

    page.graph.builder.add_node("third", third).add_edge(START, "third")
    graph = page.graph.builder.compile(checkpointer=InMemorySaver())
    with pytest.raises(ValueError, match="not yet"):
        way.invoke(graph, {"log": ["in"]}, CONFIG)
    state = way.state(graph, CONFIG)
    ran_once = sorted(page.ran)
    done = {task.name for task in state.tasks if task.result is not None}
    assert state.next == tuple(name for name in ("one", "other", "third") if name not in done)

    # Now it writes x, as "one" did: the step fails as a whole.
    with pytest.raises(InvalidUpdateError):
        way.invoke(graph, None, CONFIG)
    again = [name for name in ("one", "other") if name not in done]
    assert sorted(page.ran) == sorted([*ran_once, *again])
    assert way.state(graph, CONFIG).next == ("one", "other", "third")

    result = way.invoke(graph, None, CONFIG)
    assert result == {"log": ["in", "one", "other", "third", "after"], "x": 3}
    assert calls == ["third"] * 3


def test_an_update_from_outside_repairs_it(way: Any) -> None:
    """CP-63: the update is the super-step; what the nodes had written is dropped."""
    page = Clash()
    with pytest.raises(InvalidUpdateError):
        way.invoke(page.graph, {"log": ["in"]}, CONFIG)

    way.update(page.graph, CONFIG, {"log": ["repaired"], "x": 9}, "one")

    state = way.state(page.graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["in", "repaired"], "x": 9}, ("after",))
    result = way.invoke(page.graph, None, CONFIG)
    assert result == {"log": ["in", "repaired", "after"], "x": 9}
    assert sorted(page.ran) == ["after", "one", "other"]


def test_clearing_the_tasks_cannot_apply_what_clashes(way: Any) -> None:
    """CP-66: to end the super-step with what is there is the same update, so it fails, too."""
    page = Clash()
    with pytest.raises(InvalidUpdateError):
        way.invoke(page.graph, {"log": ["in"]}, CONFIG)

    with pytest.raises(InvalidUpdateError, match="'x' received 2 writes"):
        way.update(page.graph, CONFIG, None, "__end__")

    assert way.state(page.graph, CONFIG).next == ("one", "other")
    assert rows(way, page.graph) == [("input", -1), ("loop", 0)]


def test_a_new_input_goes_on(way: Any) -> None:
    """CP-51: the tasks that waited are given up, and the state is the last good one."""
    page = Clash()
    with pytest.raises(InvalidUpdateError):
        way.invoke(page.graph, {"log": ["in"]}, CONFIG)
    page.clashing = False

    result = way.invoke(page.graph, {"log": ["anew"]}, CONFIG)

    assert result == {"log": ["in", "anew", "one", "other", "after"], "x": 3}
    assert rows(way, page.graph) == [
        ("input", -1),
        ("loop", 0),
        ("input", 1),
        ("loop", 2),
        ("loop", 3),
        ("loop", 4),
    ]


def test_going_back_behind_it(way: Any) -> None:
    """TT-01: a replay of an older checkpoint does not care what came of it then."""
    page = Clash()
    with pytest.raises(InvalidUpdateError):
        way.invoke(page.graph, {"log": ["in"]}, CONFIG)
    page.clashing = False
    first = way.history(page.graph, CONFIG)[-1]

    result = way.invoke(page.graph, None, first.config)

    assert result == {"log": ["in", "one", "other", "after"], "x": 3}


def test_an_input_that_channels_refuse(way: Any) -> None:
    """The input channel takes anything; START's update is a super-step like any other."""
    page = Fragile()
    page.failures = 1

    with pytest.raises(ArithmeticError):
        way.invoke(page.graph, {"log": ["a"]}, CONFIG)

    state = way.state(page.graph, CONFIG)
    assert state.next == ("a",)
    assert rows(way, page.graph) == [("input", -1)]
    assert state.values == {"log": ["a"]}
    assert way.invoke(page.graph, None, CONFIG) == {"log": ["a", "a", "b"]}


def test_two_overwrites(way: Any) -> None:
    """CH-11, SG-60: one replaces what everybody appends; two cannot both stand."""
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"log": Overwrite(["a"])})
    builder.add_node("b", lambda state: {"log": Overwrite(["b"])})
    builder.add_edge(START, "a").add_edge(START, "b")
    graph = builder.compile(checkpointer=InMemorySaver())

    with pytest.raises(InvalidUpdateError, match="more than one Overwrite"):
        way.invoke(graph, {"log": ["in"]}, CONFIG)

    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["in"]}, ("a", "b"))


def test_a_state_that_cannot_be_stored(way: Any) -> None:
    """CP-54: the reducer gave something that is no data. The checkpoint before stands, and the
    error is told on each task of the super-step; once the cause is gone, the run goes on."""
    ran: list[str] = []
    sick = [True]

    def reduce(old: Any, new: Any) -> Any:
        return (lambda: None) if sick and "a" in new else [*old, *new]

    def node(name: str) -> Callable[[Any], Any]:
        return lambda state: ran.append(name) or {"log": [name]}

    schema = TypedDict("schema", {"log": Annotated[list, reduce]})  # noqa: UP013
    builder = StateGraph(schema).add_node("a", node("a")).add_node("quiet", lambda state: None)
    builder.add_node("b", node("b")).add_edge(START, "a").add_edge(START, "quiet")
    graph = builder.add_edge("a", "b").compile(checkpointer=InMemorySaver())

    with pytest.raises(TypeError, match="function` cannot be stored") as caught:
        way.invoke(graph, {"log": ["in"]}, CONFIG)

    assert "This happened while storing channel 'log' of thread 't'." in caught.value.__notes__
    assert rows(way, graph) == [("input", -1), ("loop", 0)]
    sick.clear()
    state = way.history(graph, CONFIG)[0]
    assert {task.name: task.error for task in state.tasks} == dict.fromkeys(
        ("a", "quiet"), repr(caught.value)
    )
    assert way.invoke(graph, None, CONFIG) == {"log": ["in", "a", "b"]}
    assert ran == ["a", "b"]
    assert rows(way, graph) == [("input", -1), ("loop", 0), ("loop", 1), ("loop", 2)]
