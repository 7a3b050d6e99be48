"""Who takes over when a node has failed."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.clock import Clock
from minigraph.errors import NodeError
from minigraph.graph import START, StateGraph
from minigraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}
BOOM = "ValueError('boom')"


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    x: Any


@dataclass
class Part:
    x: Any = None


def bad(state: State) -> Any:
    raise ValueError("boom")


def handle(state: State, error: NodeError) -> Any:
    return {"log": [f"{error.node}: {error.error}"]}


def says(what: str) -> Callable[[State], Any]:
    return lambda state: {"log": [what]}


def one(function: Any = bad, **policies: Any) -> StateGraph:
    return StateGraph(State).add_node("n", function, **policies).add_edge(START, "n")


class TestTakingOver:
    def test_its_result_counts_instead(self, way: Any, saver: Any) -> None:
        """ER-30: it is given the failed node's input; and the node's edges are not followed."""
        builder = one(error_handler=lambda state: {"log": [dict(state)]})
        builder.add_node("next", says("next")).add_edge("n", "next")
        graph = builder.compile(checkpointer=saver)
        assert way.invoke(graph, {"log": ["in"]}, CONFIG) == {"log": ["in", {"log": ["in"]}]}

    def test_it_is_told_the_error(self, way: Any) -> None:
        """ER-30: if it has a parameter ``error: NodeError``."""
        told: list[Any] = []

        def handler(state: State, error: NodeError, config: Any) -> Any:
            told.append((error.node, error.error, config["metadata"]["langgraph_node"]))
            return {}

        failure = ValueError("boom")

        def node(state: State) -> Any:
            raise failure

        assert way.invoke(one(node, error_handler=handler).compile(), {"log": []}) == {"log": []}
        assert told == [("n", failure, "__error_handler__n")]

    def test_an_async_handler(self) -> None:
        """ER-30: a sync run refuses it before anything runs."""

        async def handler(state: State, error: NodeError) -> Any:
            return {"log": [error.node]}

        graph = one(error_handler=handler).compile()
        assert asyncio.run(graph.ainvoke({"log": []})) == {"log": ["n"]}
        with pytest.raises(TypeError, match="'__error_handler__n'"):
            graph.invoke({"log": []})

    def test_a_graph_as_a_handler(self, way: Any, saver: Any) -> None:
        """ER-30."""
        inner = StateGraph(State).add_node("i", says("inner")).add_edge(START, "i").compile()
        graph = one(error_handler=inner).compile(checkpointer=saver)
        assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["inner"]}

    def test_it_may_go_somewhere(self, way: Any, saver: Any) -> None:
        """ER-30: by a Command, also to several."""

        def handler(state: State) -> Any:
            return Command(update={"log": ["h"]}, goto=["fin", Send("fin", {"log": []})])

        builder = one(error_handler=handler).add_node("fin", says("fin"))
        graph = builder.compile(checkpointer=saver)
        assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["h", "fin", "fin"]}

    def test_it_receives_what_the_node_would_have(self, way: Any) -> None:
        """ER-30: an object of the failed node's schema, or a Send's argument."""

        def typed(state: Part) -> Any:
            raise ValueError("boom")

        builder = one(typed, error_handler=lambda state: {"log": [state]})
        assert way.invoke(builder.compile(), {"log": [], "x": 3})["log"] == [Part(3)]
        sent = StateGraph(State).add_node("n", bad, error_handler=lambda arg: {"log": [arg]})
        sent.add_conditional_edges(START, lambda state: [Send("n", 1), Send("n", 2)])
        assert way.invoke(sent.compile(), {"log": []}) == {"log": [1, 2]}

    def test_it_does_not_see_what_the_node_has_edited(self, way: Any) -> None:
        """ER-30, ER-13: as if the run had died before it."""

        def node(state: Any) -> Any:
            state["log"].append("edited")
            raise ValueError("boom")

        builder = one(node, error_handler=lambda state: {"log": [list(state["log"])]})
        assert way.invoke(builder.compile(), {"log": ["in"]}) == {"log": ["in", ["in"]]}

    def test_its_writes_stand_where_the_nodes_would_have(self, way: Any, saver: Any) -> None:
        """ER-31, SS-20: whoever was quicker."""
        builder = one(error_handler=says("handled"))
        for name in ("m", "o"):
            builder.add_node(name, says(name)).add_edge(START, name)
        graph = builder.compile(checkpointer=saver)
        assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["m", "handled", "o"]}

    def test_after_all_attempts(self, way: Any) -> None:
        """ER-30."""
        runs: list[int] = []

        def lost(state: State) -> Any:
            runs.append(1)
            raise ConnectionError("lost")

        async def asleep(seconds: float) -> None:
            pass

        graph = one(lost, error_handler=handle, retry_policy=RetryPolicy()).compile()
        graph.clock = Clock(sleep=lambda seconds, is_over: True, asleep=asleep)
        assert way.invoke(graph, {"log": []}) == {"log": ["n: lost"]}
        assert len(runs) == 3

    def test_a_node_that_fails_in_a_loop(self, way: Any, saver: Any) -> None:
        """ER-31: each time anew, and without a saver as well."""

        def handler(state: State) -> Any:
            again = len(state["log"]) < 3
            return Command(update={"log": ["h"]}, goto="n" if again else [])

        builder = one(error_handler=handler)
        for graph in (builder.compile(checkpointer=saver), builder.compile()):
            assert way.invoke(graph, {"log": ["in"]}, CONFIG)["log"] == ["in", "h", "h", "h"]


class TestWhatIsNotHandled:
    def test_a_handler_that_fails(self, way: Any, saver: Any) -> None:
        """ER-32: handlers are not caught by handlers."""

        def handler(state: State) -> Any:
            raise KeyError("handler")

        builder = one(error_handler=handler).set_node_defaults(error_handler=handle)
        with pytest.raises(KeyError, match="handler") as caught:
            way.invoke(builder.compile(checkpointer=saver), {"log": []}, CONFIG)
        assert "task with name '__error_handler__n'" in caught.value.__notes__[0]

    def test_a_question(self, way: Any, saver: Any) -> None:
        """ER-32: and it is answered as ever."""

        def ask(state: State) -> Any:
            return {"log": [interrupt("q?")]}

        graph = one(ask, error_handler=handle).compile(checkpointer=saver)
        assert "__interrupt__" in way.invoke(graph, {"log": []}, CONFIG)
        assert way.invoke(graph, Command(resume="A"), CONFIG) == {"log": ["A"]}

    def test_a_command_for_the_graph_around(self, way: Any) -> None:
        """ER-32, CS-20."""

        def leave(state: State) -> Any:
            return Command(graph=Command.PARENT, update={"log": ["up"]})

        inner = one(leave, error_handler=handle).compile()
        assert way.invoke(one(inner, error_handler=handle).compile(), {"log": []}) == {
            "log": ["up"]
        }

    def test_a_task_that_was_cancelled(self) -> None:
        """ER-32, ER-41: it has not failed."""

        async def slow(state: State) -> Any:
            await asyncio.get_running_loop().create_future()

        async def fails(state: State) -> Any:
            raise ValueError("boom")

        builder = one(slow, error_handler=handle).add_node("m", fails).add_edge(START, "m")
        graph = builder.compile(checkpointer=InMemorySaver())
        with pytest.raises(ValueError, match="boom"):
            asyncio.run(graph.ainvoke({"log": []}, CONFIG))
        errors = {task.name: task.error for task in graph.get_state(CONFIG).tasks}
        assert errors == {"n": "CancelledError()", "m": BOOM}

    def test_a_value_that_cannot_be_stored(self, way: Any, saver: Any) -> None:
        """ER-32, CP-54: the node has done its work."""
        graph = one(lambda state: {"x": print}, error_handler=handle)
        with pytest.raises(TypeError, match="cannot be stored"):
            way.invoke(graph.compile(checkpointer=saver), {"log": []}, CONFIG)


class TestRecords:
    def test_what_is_stored(self, way: Any, saver: Any) -> None:
        """ER-31: the error, and that a handler has taken over; then the handler's writes."""
        graph = one(error_handler=handle).compile(checkpointer=saver)
        way.invoke(graph, {"log": []}, CONFIG)
        history = way.history(graph, CONFIG)
        assert [each.next for each in history] == [(), ("n",), ("__start__",)]
        (task,) = history[1].tasks
        assert (task.name, task.error, task.result) == ("n", BOOM, None)
        if way.is_async:
            return
        saved = saver.get_tuple(history[1].config)
        assert [(name, value) for _, name, value in saved.pending_writes] == [
            ("__error__", BOOM),
            ("__error_source_node__", "n"),
            ("log", ["n: boom"]),
        ]
        assert saved.pending_writes[0][0] == saved.pending_writes[1][0] == task.id

    def test_what_is_told(self, way: Any) -> None:
        """ER-31: the handler has a result, under its own name, and no beginning of its own."""
        graph = one(error_handler=handle).compile()
        chunks = way.stream(graph, {"log": []}, stream_mode=["updates", "tasks"])
        assert [
            (mode, chunk.get("name"), "result" in chunk, str(chunk.get("error")))
            for mode, chunk in chunks
            if mode == "tasks"
        ] == [
            ("tasks", "n", False, "None"),
            ("tasks", "n", True, "boom"),
            ("tasks", "__error_handler__n", True, "None"),
        ]
        assert [chunk for mode, chunk in chunks if mode == "updates"] == [
            {"__error_handler__n": {"log": ["n: boom"]}}
        ]

    def test_it_is_a_node(self) -> None:
        """ER-31: a hidden one, that nothing starts."""
        graph = one(error_handler=handle).compile()
        assert list(graph.nodes) == ["__start__", "n", "__error_handler__n"]
        assert graph.nodes["__error_handler__n"].triggers == ()
        assert list(graph.get_graph().nodes) == ["__start__", "n", "__end__"]

    def test_a_name_that_is_taken(self) -> None:
        builder = one(error_handler=handle).add_node("__error_handler__n", says("mine"))
        with pytest.raises(ValueError, match="is the name of an error handler"):
            builder.compile()

    def test_what_is_no_handler(self) -> None:
        """ER-30: an ``error`` is given by its annotation."""
        with pytest.raises(TypeError, match="The error handler of node 'n' needs a function"):
            one(error_handler=5)
        with pytest.raises(TypeError, match="needs 'error', which nobody gives it"):
            one(error_handler=lambda state, error: {})


class TestGoingOn:
    def test_straight_to_the_handler(self, way: Any, saver: Any) -> None:
        """ER-31: the node is not tried again; the error is known by its text (CP-22)."""
        calls: list[Any] = []

        def node(state: State) -> Any:
            calls.append("n")
            raise ValueError("boom")

        def handler(state: State, error: NodeError) -> Any:
            calls.append((type(error.error), str(error.error)))
            if len(calls) < 3:
                raise KeyError("handler")
            return {"log": ["handled"]}

        builder = one(node, error_handler=handler)
        builder.add_node("m", says("m")).add_edge(START, "m")
        graph = builder.compile(checkpointer=saver)
        with pytest.raises(KeyError):
            way.invoke(graph, {"log": []}, CONFIG)
        state = way.state(graph, CONFIG)
        shown = {task.name: (task.error, task.result) for task in state.tasks}
        assert (state.next[0], shown["n"]) == ("n", (BOOM, None))
        chunks = way.stream(graph, None, CONFIG, stream_mode="updates")
        assert {"__error_handler__n": {"log": ["handled"]}} in chunks
        assert not any("n" in chunk for chunk in chunks)
        assert calls == ["n", (ValueError, "boom"), (Exception, BOOM)]
        assert way.state(graph, CONFIG).values == {"log": ["m", "handled"]}

    def test_a_handler_that_asks(self, way: Any, saver: Any) -> None:
        """ER-31: the task that has failed shows its question; an answer gets there."""
        calls: list[str] = []

        def node(state: State) -> Any:
            calls.append("n")
            raise ValueError("boom")

        def handler(state: State) -> Any:
            calls.append("h")
            return {"log": [interrupt("one?"), interrupt("two?")]}

        graph = one(node, error_handler=handler).compile(checkpointer=saver)
        (question,) = way.invoke(graph, {"log": []}, CONFIG)["__interrupt__"]
        state = way.state(graph, CONFIG)
        assert (state.next, state.interrupts) == (("n",), (question,))
        assert (state.tasks[0].error, state.tasks[0].interrupts) == (BOOM, (question,))
        (question,) = way.invoke(graph, Command(resume="A"), CONFIG)["__interrupt__"]
        assert question.value == "two?"
        by_id = Command(resume={question.id: "B"})
        assert way.invoke(graph, by_id, CONFIG) == {"log": ["A", "B"]}
        assert calls == ["n", "h", "h", "h"]

    def test_a_handler_that_is_done_before_its_siblings(self, way: Any, saver: Any) -> None:
        """ER-31, CP-40: its node counts as done, and what it wrote is there."""
        asked: list[int] = []

        def ask(state: State) -> Any:
            asked.append(1)
            return {"log": [interrupt("q?")]}

        builder = one(error_handler=says("handled")).add_node("m", ask).add_edge(START, "m")
        graph = builder.compile(checkpointer=saver)
        way.invoke(graph, {"log": []}, CONFIG)
        state = way.state(graph, CONFIG)
        assert (state.next, state.values) == (("m",), {"log": ["handled"]})
        chunks = way.stream(graph, Command(resume="A"), CONFIG, stream_mode="updates")
        assert chunks == [
            {
                "__error_handler__n": {"log": ["handled"]},
                "__metadata__": {"cached": True},
            },
            {"m": {"log": ["A"]}},
        ]
        assert way.state(graph, CONFIG).values == {"log": ["A", "handled"]}

    def test_an_update_from_outside_ends_it(self, way: Any, saver: Any) -> None:
        """ER-31, CP-60: as the handler, or as the node."""
        for as_node in ("__error_handler__n", "n"):
            config: Any = {"configurable": {"thread_id": as_node}}

            def handler(state: State) -> Any:
                raise KeyError("handler")

            graph = one(error_handler=handler).compile(checkpointer=saver)
            with pytest.raises(KeyError):
                way.invoke(graph, {"log": []}, config)
            way.update(graph, config, {"log": ["u"]}, as_node=as_node)
            state = way.state(graph, config)
            assert (state.next, state.values) == ((), {"log": ["u"]})

    def test_a_cleared_super_step_keeps_what_handlers_did(self, way: Any, saver: Any) -> None:
        """ER-31, CP-66."""

        def ask(state: State) -> Any:
            return {"log": [interrupt("q?")]}

        builder = one(error_handler=says("handled")).add_node("m", ask).add_edge(START, "m")
        graph = builder.compile(checkpointer=saver)
        way.invoke(graph, {"log": []}, CONFIG)
        way.update(graph, CONFIG, None, as_node="__end__")
        state = way.state(graph, CONFIG)
        assert (state.next, state.values) == ((), {"log": ["handled"]})

    def test_going_back_tries_the_node_again(self, way: Any, saver: Any) -> None:
        """ER-31, TT-02: a replay has new tasks."""
        runs: list[int] = []

        def node(state: State) -> Any:
            runs.append(1)
            raise ValueError("boom")

        graph = one(node, error_handler=handle).compile(checkpointer=saver)
        way.invoke(graph, {"log": []}, CONFIG)
        before = way.history(graph, CONFIG)[1].config
        assert way.invoke(graph, None, before) == {"log": ["n: boom"]}
        assert len(runs) == 2


class TestDefaults:
    def test_one_handler_for_all(self, way: Any, saver: Any) -> None:
        """ER-33: nodes that are added before and after; it is one node."""
        builder = one().set_node_defaults(error_handler=handle)
        builder.add_node("m", bad).add_edge(START, "m")
        graph = builder.compile(checkpointer=saver)
        assert way.invoke(graph, {"log": []}, CONFIG) == {"log": ["m: boom", "n: boom"]}
        assert list(graph.nodes) == ["__start__", "n", "m", "__default_error_handler__"]

    def test_what_a_node_says_itself_counts(self, way: Any) -> None:
        """ER-33: each policy by itself."""
        runs: list[str] = []

        def lost(name: str) -> Callable[[State], Any]:
            def node(state: State) -> Any:
                runs.append(name)
                raise ConnectionError(name)

            return node

        now = RetryPolicy(0.0, jitter=False)
        builder = StateGraph(State).set_node_defaults(
            retry_policy=now._replace(max_attempts=4), error_handler=handle
        )
        builder.add_node("a", lost("a")).add_edge(START, "a")
        builder.add_node("b", lost("b"), retry_policy=now._replace(max_attempts=2))
        builder.add_node("c", lost("c"), error_handler=says("own"))
        builder.add_edge(START, "b").add_edge(START, "c")
        assert way.invoke(builder.compile(), {"log": []}) == {"log": ["a: a", "b: b", "own"]}
        assert sorted(runs) == ["a"] * 4 + ["b"] * 2 + ["c"] * 4

    def test_handlers_are_tried_again_and_not_cached(self, way: Any) -> None:
        """ER-33: of the defaults, retries and time limits are for them, too."""
        runs: list[int] = []

        def handler(state: State) -> Any:
            runs.append(1)
            if len(runs) < 3:
                raise ConnectionError("lost")
            return {"log": ["handled"]}

        builder = one(error_handler=handler).set_node_defaults(
            retry_policy=RetryPolicy(0.0, jitter=False), cache_policy=CachePolicy(ttl=1)
        )
        graph = builder.compile()
        assert way.invoke(graph, {"log": []}) == {"log": ["handled"]}
        assert len(runs) == 3
        policies = graph.nodes["__error_handler__n"].policies
        assert policies is not None
        assert (policies.cache, policies.handler) == (None, None)
        assert graph.nodes["n"].policies.cache == CachePolicy(ttl=1)

    def test_compiling_twice(self) -> None:
        """ER-34."""
        builder = one().set_node_defaults(error_handler=handle)
        for graph in (builder.compile(), builder.compile()):
            assert graph.invoke({"log": []}) == {"log": ["n: boom"]}
