"""A task's surroundings: what user code can see while it runs."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.last_value import LastValue
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.config import RunnableConfig, get_config
from minigraph.constants import MISSING
from minigraph.errors import GraphInterrupt
from minigraph.graph import START, StateGraph
from minigraph.pregel.effects import Emit, View
from minigraph.pregel.identity import interrupt_id
from minigraph.pregel.interrupts import LooseAnswer
from minigraph.pregel.layout import Layout
from minigraph.pregel.live import hydrate
from minigraph.pregel.node import PregelNode, UserFunction
from minigraph.pregel.plan import Task
from minigraph.pregel.running import Running, task_config
from minigraph.pregel.selection import Selection
from minigraph.types import Interrupt, Send

CHANNELS: dict[str, Any] = {
    "x": LastValue(int, "x"),
    "log": BinaryOperatorAggregate(list, operator.add, "log"),
}
LAYOUT = Layout(
    {},
    CHANNELS,
    input_channels=Selection("x"),
    output_channels=Selection("x"),
    stream_channels=Selection("x"),
)


def make_task(path: Any = ("__pregel_pull", "a"), **parts: Any) -> Task:
    node = PregelNode("a", ("to a",), Selection("x"), **parts)
    return Task("42", "a", path, 5, ("to a",), (), "a", node)


def make_view(config: Any, results: Any = None) -> View:
    state = hydrate(LAYOUT, {"channel_values": {"x": 1}, "channel_versions": {"x": 1}})
    return View(config, 3, state, results)


class TestTaskConfig:
    def test_of_a_bare_call(self) -> None:
        """MR-06, MR-03: without a thread, and without anything from the caller."""
        assert task_config(make_task(), make_view({})) == {
            "metadata": {
                "langgraph_step": 3,
                "langgraph_node": "a",
                "langgraph_triggers": ("to a",),
                "langgraph_path": ("__pregel_pull", "a"),
                "langgraph_checkpoint_ns": "a:42",
            },
            "configurable": {
                "checkpoint_ns": "a:42",
                "checkpoint_id": None,
                "checkpoint_map": {"": None},
            },
        }

    def test_of_a_full_one(self) -> None:
        """MR-06: the caller's first, then the node's, then which task it is."""
        config: Any = {
            "tags": ["mine"],
            "metadata": {"m": 1, "n": 1, "langgraph_step": "not mine to say"},
            "configurable": {"thread_id": "t", "checkpoint_id": "7", "key": "value"},
            "recursion_limit": 9,
            "max_concurrency": 2,
            "callbacks": ["kept"],
        }
        task = make_task(tags=("nodes",), metadata={"n": 2})
        assert task_config(task, make_view(config)) == {
            "tags": ["mine", "nodes"],
            "metadata": {
                "m": 1,
                "n": 2,
                "thread_id": "t",
                "langgraph_step": 3,
                "langgraph_node": "a",
                "langgraph_triggers": ("to a",),
                "langgraph_path": ("__pregel_pull", "a"),
                "langgraph_checkpoint_ns": "a:42",
            },
            "configurable": {
                "thread_id": "t",
                "checkpoint_ns": "a:42",
                "checkpoint_id": None,
                "checkpoint_map": {"": "7"},
                "key": "value",
            },
            "recursion_limit": 9,
            "max_concurrency": 2,
            "callbacks": ["kept"],
        }
        assert config["metadata"] == {"m": 1, "n": 1, "langgraph_step": "not mine to say"}

    def test_the_callers_own_thread_id_in_metadata_stays(self) -> None:
        config: Any = {"metadata": {"thread_id": "own"}, "configurable": {"thread_id": "t"}}
        assert task_config(make_task(), make_view(config))["metadata"]["thread_id"] == "own"

    def test_in_a_nest_of_graphs(self) -> None:
        """SB-02: the map grows by one place for each level."""
        config: Any = {
            "configurable": {
                "checkpoint_ns": "outer:1",
                "checkpoint_id": "7",
                "checkpoint_map": {"": "6"},
            }
        }
        place = task_config(make_task(), make_view(config))["configurable"]
        assert place["checkpoint_map"] == {"": "6", "outer:1": "7"}


class TestRunning:
    def test_the_config_is_made_once_and_only_when_asked_for(self) -> None:
        running = Running(make_task(), make_view({"tags": ["t"]}))
        assert running.config is running.config
        assert running.config["tags"] == ["t"]

    def test_it_reads_the_state_after_given_writes(self) -> None:
        """SG-50."""
        running = Running(make_task(), make_view({}))
        assert running.read(Selection(["x", "log"]), [("log", [1])]) == {"x": 1, "log": [1]}

    @pytest.mark.parametrize(
        ("path", "results", "calls", "written"),
        [
            pytest.param(("__pregel_pull", "a"), None, [("mapped", 5)], "called", id="triggered"),
            pytest.param(("__pregel_push", 0, False), None, [5], "called", id="sent"),
            pytest.param(("__interrupt__", 0), {"42": "given"}, [], "given", id="given"),
            pytest.param(("__interrupt__", 0), {"42": None}, [], None, id="given None"),
        ],
    )
    def test_the_walk(self, path: Any, results: Any, calls: Any, written: Any) -> None:
        """CS-31, CP-60: a Send's argument is not mapped; a given result is not called for."""
        task = make_task(
            path,
            mapper=lambda value: ("mapped", value),
            bound=UserFunction(lambda value: "called"),
            writers=(lambda result: [("x", result)],),
        )
        walk = Running(task, make_view({}, results)).walk()
        seen = []
        with pytest.raises(StopIteration) as end:
            answer = None
            while True:
                call = walk.send(answer)
                seen.extend(call.arguments)
                answer = call.function(*call.arguments)
        assert end.value.value == [("x", written)]
        assert seen == calls


# ---------------------------------------------------------------- in a run


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


def test_what_a_node_sees_in_a_run(way: Any) -> None:
    """MR-06: keys of the user's, the task's place, and the same by `get_config`."""
    seen: dict[str, Any] = {}

    def node(state: State, config: RunnableConfig) -> None:
        seen["node"] = config

    def path(state: State, config: RunnableConfig) -> Any:
        seen["path"] = config
        return [Send("sent", 1)]

    def sent(arg: int) -> None:
        seen["sent"] = get_config()

    builder = StateGraph(State).add_node("a", node, metadata={"nm": 1}).add_node("sent", sent)
    builder.add_edge(START, "a").add_conditional_edges("a", path)
    graph = builder.compile(checkpointer=InMemorySaver())
    config: Any = {
        "configurable": {"thread_id": "1", "mine": "m"},
        "metadata": {"um": 2},
        "tags": ["t"],
    }

    way.invoke(graph, {"log": []}, config)

    ids = [
        state.config["configurable"]["checkpoint_id"]
        for state in reversed(way.history(graph, {"configurable": {"thread_id": "1"}}))
    ]
    namespace = seen["node"]["configurable"]["checkpoint_ns"]
    assert seen["node"] == {
        "configurable": {
            "thread_id": "1",
            "mine": "m",
            "checkpoint_ns": namespace,
            "checkpoint_id": None,
            "checkpoint_map": {"": ids[1]},
        },
        "metadata": {
            "um": 2,
            "nm": 1,
            "thread_id": "1",
            "langgraph_step": 1,
            "langgraph_node": "a",
            "langgraph_triggers": ("branch:to:a",),
            "langgraph_path": ("__pregel_pull", "a"),
            "langgraph_checkpoint_ns": namespace,
        },
        "tags": ["t"],
    }
    assert namespace.startswith("a:")
    assert seen["path"] is seen["node"]
    assert seen["sent"]["metadata"]["langgraph_path"] == ("__pregel_push", 0, False)
    assert seen["sent"]["metadata"]["langgraph_triggers"] == ("__pregel_push",)
    assert seen["sent"]["metadata"]["langgraph_step"] == 2
    assert seen["sent"]["configurable"]["checkpoint_map"] == {"": ids[2]}


# ---------------------------------------------------------------- questions


def asked(task: Running, value: Any = "q") -> Any:
    """The questions for which a task stops."""
    with pytest.raises(GraphInterrupt) as caught:
        task.ask(value)
    return caught.value.args


class TestAsking:
    def running(self, held: Any = (), loose: Any = None, resumed: bool = True) -> Running:
        view = make_view({})
        if resumed:
            view = view._replace(held={"42": held}, loose=loose)
        return Running(make_task(), view)

    def test_a_question_without_an_answer(self) -> None:
        """IN-01, IN-05: it ends the task, with all that is known of it."""
        running = self.running(resumed=False)
        question = Interrupt("q", interrupt_id("a:42", 0))
        assert asked(running) == ((question,),)
        schema = {"type": "object"}
        with pytest.raises(GraphInterrupt) as caught:
            running.ask("second", schema)
        assert caught.value.args == ((Interrupt("second", interrupt_id("a:42", 1), schema),),)
        assert running.answered() == {}

    def test_answers_by_their_order(self) -> None:
        """IN-04: those that it has, one for each call; then it asks."""
        running = self.running(["A", None])
        assert (running.ask("one"), running.ask("two")) == ("A", None)
        assert asked(running) == ((Interrupt("q", interrupt_id("a:42", 2)),),)
        assert running.answered() == {}

    def test_answers_of_another_task(self) -> None:
        """IN-04: are not its own."""
        view = make_view({})._replace(held={"another": ["A"]})
        assert len(asked(Running(make_task(), view))) == 1

    def test_an_answer_for_whoever_asks_first(self) -> None:
        """IN-41, IN-33: it is taken once, after those it has, and is told afterwards."""
        loose = LooseAnswer("loose")
        running = self.running(["A"], loose)
        assert running.answered() == {}
        assert (running.ask("one"), running.ask("two")) == ("A", "loose")
        assert running.answered() == {"42": ["A", "loose"]}
        assert len(asked(running)) == 1
        late = self.running(["A"], loose)
        late.ask("one")
        assert len(asked(late)) == 1
        assert late.answered() == {}

    def test_an_answer_that_is_passed_on(self) -> None:
        """IN-33: to a graph in the task; then it is known through which task it went."""
        running = self.running((), LooseAnswer("loose"))
        assert running.take() == "loose"
        assert running.take() is MISSING
        assert running.answered() == {"42": []}
        assert self.running(resumed=False).take() is MISSING
        assert self.running((), None).take() is MISSING

    def test_answers_in_graphs_that_keep_nothing(self) -> None:
        """SB-14: are kept by the task, by inner task; the newest list counts."""
        running = self.running()
        running.note("inner", ["A"])
        running.note("other", ["X"])
        running.note("inner", ["A", "B"])
        assert running.answered() == {"inner": ["A", "B"], "other": ["X"]}
        assert self.running().answered() == {}

    def test_calls_are_counted(self) -> None:
        """SB-03: the first one has no number."""
        running = self.running()
        assert [running.next_call() for _ in range(3)] == ["", "|1", "|2"]

    def test_what_it_says(self) -> None:
        """ST-17: to whoever reads, or to nobody."""
        told: list[Any] = []
        Running(make_task(), make_view({}), told.append).write("hello")
        assert told == [Emit("custom", "hello")]
        Running(make_task(), make_view({})).write("nobody hears")
