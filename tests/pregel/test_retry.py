"""One task, as often as its policies want."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.cache.memory import InMemoryCache
from minigraph.channels import EphemeralValue, LastValue
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.clock import Clock
from minigraph.context import Calls
from minigraph.errors import GraphBubbleUp
from minigraph.func import entrypoint, task
from minigraph.graph import END, START, StateGraph
from minigraph.pregel import NodeBuilder, Pregel
from minigraph.pregel.retry import own_copy, policy_for
from minigraph.runtime import get_runtime
from minigraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt

CONFIG: Any = {"configurable": {"thread_id": "t"}}
LOST = ConnectionError("lost")


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    x: Any


class Hurry:
    """A clock on which waiting takes no time. It remembers for how long it was asked to wait."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.time = 1000.0

    def sleep(self, seconds: float, is_over: Callable[[], bool]) -> bool:
        self.waits.append(seconds)
        self.time += seconds
        return not is_over()

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds, bool)

    @property
    def clock(self) -> Clock:
        return Clock(
            now=lambda: self.time,
            monotonic=lambda: self.time,
            chance=lambda: 0.25,
            sleep=self.sleep,
            asleep=self.asleep,
        )


def flaky(fails: int, error: BaseException, runs: list[Any]) -> Callable[[State], Any]:
    """A node that fails so many times, and then says ok."""

    def node(state: State) -> Any:
        runs.append(state.get("x"))
        if len(runs) <= fails:
            raise error
        return {"log": ["ok"]}

    return node


def compiled(builder: StateGraph, hurry: Hurry | None = None, **options: Any) -> Any:
    graph = builder.compile(**options)
    graph.clock = (hurry or Hurry()).clock
    return graph


def one(function: Any, **policies: Any) -> StateGraph:
    return StateGraph(State).add_node("n", function, **policies).add_edge(START, "n")


class TestAgain:
    def test_waits_grow(self, way: Any) -> None:
        """ER-10: initial times factor to the power of the attempts before, capped; jitter adds."""
        hurry = Hurry()
        policy = RetryPolicy(1.0, 3.0, 5.0, max_attempts=5)
        graph = compiled(one(flaky(4, LOST, []), retry_policy=policy), hurry)
        assert way.invoke(graph, {"log": []}) == {"log": ["ok"]}
        assert hurry.waits == [1.25, 3.25, 5.25, 5.25]

    @pytest.mark.parametrize(
        ("fails", "error", "policy", "expected"),
        [
            (2, LOST, RetryPolicy(), 3),
            (9, LOST, RetryPolicy(), 3),
            (9, LOST, RetryPolicy(max_attempts=1), 1),
            (9, LOST, RetryPolicy(max_attempts=0), 1),
            (9, ValueError("v"), RetryPolicy(), 1),
            (2, ValueError("v"), RetryPolicy(retry_on=ValueError), 3),
            (
                9,
                ValueError("v"),
                [
                    RetryPolicy(retry_on=KeyError, max_attempts=5),
                    RetryPolicy(retry_on=ValueError, max_attempts=2),
                    RetryPolicy(retry_on=ValueError, max_attempts=9),
                ],
                2,
            ),
        ],
    )
    def test_how_often(
        self, way: Any, fails: int, error: Exception, policy: Any, expected: int
    ) -> None:
        """ER-10, ER-12: the first policy that covers the error decides; the last error counts."""
        runs: list[Any] = []
        graph = compiled(one(flaky(fails, error, runs), retry_policy=policy))
        if fails < expected:
            assert way.invoke(graph, {"log": []}) == {"log": ["ok"]}
        else:
            with pytest.raises(type(error)) as caught:
                way.invoke(graph, {"log": []})
            assert caught.value is error
            assert len(error.__notes__) >= 1
            del error.__notes__
        assert len(runs) == expected

    def test_one_note(self, way: Any) -> None:
        """ER-14: after several attempts the error has one note, which names the node."""
        error = ConnectionError("c")
        with pytest.raises(ConnectionError):
            way.invoke(compiled(one(flaky(9, error, []), retry_policy=RetryPolicy())), {"log": []})
        (note,) = error.__notes__
        assert note.startswith("During task with name 'n' and id ")

    def test_a_policy_that_fails_itself(self, way: Any) -> None:
        """ER-12: its error is the task's."""
        runs: list[Any] = []
        bad: Any = RetryPolicy(retry_on=5)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="retry_on is a class of errors"):
            way.invoke(compiled(one(flaky(9, LOST, runs), retry_policy=bad)), {"log": []})
        assert len(runs) == 1

    def test_attempts_are_told(self, way: Any) -> None:
        """ER-13: which attempt it is, and when the first began."""
        seen: list[Any] = []

        def node(state: State, runtime: Any) -> Any:
            info = runtime.execution_info
            assert get_runtime().execution_info == info
            seen.append((info.node_attempt, info.node_first_attempt_time))
            if len(seen) < 3:
                raise LOST
            return {}

        policy = RetryPolicy(10.0, jitter=False)
        way.invoke(compiled(one(node, retry_policy=policy)), {"log": []})
        assert seen == [(1, 1000.0), (2, 1000.0), (3, 1000.0)]

    def test_without_policies_there_is_one_attempt(self, way: Any) -> None:
        """ER-13: and it has its place and its time."""
        seen: list[Any] = []

        def node(state: State, runtime: Any) -> Any:
            seen.append(runtime.execution_info)
            return {}

        graph = compiled(one(node), checkpointer=InMemorySaver())
        way.invoke(graph, {"log": []}, {"configurable": {"thread_id": 5}, "run_id": "r"})
        (info,) = seen
        assert (info.node_attempt, info.node_first_attempt_time) == (1, 1000.0)
        assert (info.thread_id, info.run_id) == (5, "r")
        assert info.checkpoint_ns == f"n:{info.task_id}"
        assert info.checkpoint_id

    def test_nothing_of_a_failed_attempt_is_left(self, way: Any, saver: Any) -> None:
        """ER-13: neither in the input of the next, nor in the state, nor in the store."""
        seen: list[Any] = []

        def node(state: Any) -> Any:
            state["log"].append("edited")
            state["x"]["deep"].append(len(seen))
            seen.append((list(state["log"]), list(state["x"]["deep"])))
            if len(seen) < 3:
                raise LOST
            return {"log": ["ok"]}

        graph = compiled(one(node, retry_policy=RetryPolicy()), checkpointer=saver)
        result = way.invoke(graph, {"log": ["in"], "x": {"deep": []}}, CONFIG)
        assert seen == [(["in", "edited"], [i]) for i in range(3)]
        assert result == {"log": ["in", "ok"], "x": {"deep": []}}
        assert way.state(graph, CONFIG).values == result
        assert [task.error for each in way.history(graph, CONFIG) for task in each.tasks] == [
            None,
            None,
        ]

    def test_a_sent_argument_is_copied_too(self, way: Any) -> None:
        """ER-13, CS-31."""
        seen: list[Any] = []

        def node(argument: list[int]) -> Any:
            argument.append(1)
            seen.append(list(argument))
            if len(seen) < 2:
                raise LOST
            return {"log": [argument]}

        builder = StateGraph(State).add_node("n", node, retry_policy=RetryPolicy())
        builder.add_conditional_edges(START, lambda state: [Send("n", [0])])
        assert way.invoke(compiled(builder), {"log": []}) == {"log": [[0, 1]]}
        assert seen == [[0, 1], [0, 1]]

    def test_a_node_without_policies_gets_no_copy(self, way: Any) -> None:
        """It would have to be paid for."""
        given = {"k": object()}
        seen: list[Any] = []
        way.invoke(compiled(one(lambda state: seen.append(state["x"]))), {"log": [], "x": given})
        assert seen == [given]
        assert seen[0] is given

    def test_what_cannot_be_copied_is_passed_on(self) -> None:
        """The rest is a copy nevertheless."""
        lock = threading.Lock()
        given = {"lock": lock, "log": [1], "pair": ([2], lock)}
        copied = own_copy(given)
        assert copied == given
        assert (copied["lock"], copied["pair"][1]) == (lock, lock)
        assert copied["log"] is not given["log"]
        assert copied["pair"][0] is not given["pair"][0]


class TestWhatIsNoFailure:
    def test_a_question(self, way: Any, saver: Any) -> None:
        """ER-13: the run stops, however many attempts there might be."""
        runs: list[int] = []

        def node(state: State) -> Any:
            runs.append(1)
            return {"log": [interrupt("q?")]}

        every = RetryPolicy(retry_on=lambda error: True)
        graph = compiled(one(node, retry_policy=every), checkpointer=saver)
        assert way.invoke(graph, {"log": []}, CONFIG)["__interrupt__"][0].value == "q?"
        assert len(runs) == 1
        assert way.invoke(graph, Command(resume="A"), CONFIG) == {"log": ["A"]}

    def test_a_command_for_the_graph_around(self, way: Any) -> None:
        """ER-13, CS-20."""
        runs: list[int] = []

        def leave(state: State) -> Any:
            runs.append(1)
            return Command(graph=Command.PARENT, update={"log": ["up"]})

        every = RetryPolicy(retry_on=lambda error: True)
        inner = compiled(one(leave, retry_policy=every))
        assert way.invoke(compiled(one(inner, retry_policy=every)), {"log": []}) == {"log": ["up"]}
        assert len(runs) == 1

    def test_what_no_policy_is_asked_about(self) -> None:
        """ER-13: what passes through, and what ends the process."""
        every = [RetryPolicy(retry_on=lambda error: True)]
        assert policy_for(GraphBubbleUp(), every) is None
        assert policy_for(KeyboardInterrupt(), every) is None
        assert policy_for(ValueError(), every) is every[0]

    def test_an_answer_is_not_lost_with_an_attempt(self, way: Any, saver: Any) -> None:
        """ER-13, IN-33: it was given to the task, and the next attempt has it."""
        runs: list[int] = []

        def node(state: State) -> Any:
            answer = interrupt("q?")
            runs.append(1)
            if len(runs) < 3:
                raise LOST
            return {"log": [answer]}

        graph = compiled(one(node, retry_policy=RetryPolicy()), checkpointer=saver)
        way.invoke(graph, {"log": []}, CONFIG)
        assert way.invoke(graph, Command(resume="A"), CONFIG) == {"log": ["A"]}
        assert len(runs) == 3


class TestGraphsInNodes:
    @pytest.mark.parametrize(
        ("checkpointer", "expected"), [(None, "abbb"), (True, "abbb"), (False, "ababab")]
    )
    def test_a_graph_goes_on_where_it_failed(
        self, way: Any, saver: Any, checkpointer: Any, expected: str
    ) -> None:
        """ER-15: what it has finished is not done again, if it keeps anything."""
        runs: list[str] = []

        def a(state: State) -> Any:
            runs.append("a")
            return {"log": ["a"]}

        def b(state: State) -> Any:
            runs.append("b")
            if runs.count("b") < 3:
                raise LOST
            return {"log": ["b"]}

        inner = StateGraph(State).add_sequence([("a", a), ("b", b)]).add_edge(START, "a")
        graph = compiled(
            one(inner.compile(checkpointer=checkpointer), retry_policy=RetryPolicy()),
            checkpointer=saver,
        )
        assert way.invoke(graph, {"log": ["in"]}, CONFIG) == {"log": ["in", "in", "a", "b"]}
        assert "".join(runs) == expected

    def test_a_graph_that_keeps_nothing_has_its_answers(self, way: Any, saver: Any) -> None:
        """ER-15, SB-14."""
        runs: list[str] = []

        def ask(state: State) -> Any:
            answer = interrupt("q?")
            runs.append(answer)
            if len(runs) < 2:
                raise LOST
            return {"log": [answer]}

        inner = one(ask).compile(checkpointer=False)
        graph = compiled(one(inner, retry_policy=RetryPolicy()), checkpointer=saver)
        way.invoke(graph, {"log": []}, CONFIG)
        assert way.invoke(graph, Command(resume="A"), CONFIG) == {"log": ["A"]}
        assert runs == ["A", "A"]

    def test_the_clock_is_that_of_the_run_around(self, way: Any) -> None:
        hurry = Hurry()
        policy = RetryPolicy(7.0, jitter=False)
        inner = one(flaky(1, LOST, []), retry_policy=policy).compile()
        assert way.invoke(compiled(one(inner), hurry), {"log": []}) == {"log": ["ok"]}
        assert hurry.waits == [7.0]


def test_after_a_crash_attempts_are_counted_anew(way: Any, saver: Any) -> None:
    """ER-10, CP-54: a run that goes on has its own attempts."""
    runs: list[Any] = []
    graph = compiled(one(flaky(4, LOST, runs), retry_policy=RetryPolicy()), checkpointer=saver)
    with pytest.raises(ConnectionError):
        way.invoke(graph, {"log": []}, CONFIG)
    state = way.state(graph, CONFIG)
    assert (len(runs), state.next, state.tasks[0].error) == (3, ("n",), repr(LOST))
    assert way.invoke(graph, None, CONFIG) == {"log": ["ok"]}
    assert len(runs) == 5


def test_an_update_from_outside_is_not_tried_again(way: Any, saver: Any) -> None:
    """ER-10, CP-60: no node runs, so none is retried, limited or cached."""
    hurry = Hurry()

    def route(state: State) -> str:
        raise LOST

    policies: Any = {"retry_policy": RetryPolicy(), "cache_policy": CachePolicy()}
    builder = one(lambda state: {}, **policies).add_conditional_edges("n", route, [END])
    graph = compiled(builder, hurry, checkpointer=saver, cache=InMemoryCache())
    with pytest.raises(ConnectionError):
        way.update(graph, CONFIG, {"log": ["u"]}, as_node="n")
    assert hurry.waits == []


def test_a_graph_made_by_hand(way: Any) -> None:
    """ER-10, SS-50: policies of a node, and of the whole graph."""

    def graph(node: NodeBuilder, **options: Any) -> Any:
        made = Pregel(
            nodes={"n": node.write_to("b")},
            channels={"a": EphemeralValue(int), "b": LastValue(int)},
            input_channels="a",
            output_channels="b",
            **options,
        )
        made.clock = Hurry().clock
        return made

    def failing(runs: list[int]) -> NodeBuilder:
        def function(a: int) -> int:
            runs.append(a)
            raise LOST

        return NodeBuilder().subscribe_only("a").do(function)

    for limit, make in (
        (2, lambda n: graph(n.add_retry_policies(RetryPolicy(max_attempts=2)))),
        (4, lambda n: graph(n, retry_policy=RetryPolicy(max_attempts=4))),
        (4, lambda n: graph(n, retry_policy=RetryPolicy(max_attempts=4)).copy()),
        (
            2,
            lambda n: graph(
                n.add_retry_policies(RetryPolicy(max_attempts=2)),
                retry_policy=RetryPolicy(max_attempts=4),
            ),
        ),
    ):
        runs: list[int] = []
        with pytest.raises(ConnectionError):
            way.invoke(make(failing(runs)), 1)
        assert len(runs) == limit

    cached: list[int] = []
    node = NodeBuilder().subscribe_only("a").do(lambda a: cached.append(a) or a)  # type: ignore[func-returns-value]
    made = graph(node.add_cache_policy(CachePolicy()), cache=InMemoryCache())
    assert [way.invoke(made, 1), way.invoke(made, 1)] == [1, 1]
    assert cached == [1]


class TestCache:
    def test_equal_inputs_run_once(self, way: Any) -> None:
        """ER-50, ST-13: and the reader is told."""
        runs: list[Any] = []
        builder = one(flaky(0, LOST, runs), cache_policy=CachePolicy())
        graph = compiled(builder, cache=InMemoryCache())
        for x in (1, 1, 2):
            assert way.invoke(graph, {"log": [], "x": x})["log"] == ["ok"]
        assert runs == [1, 2]
        chunks = way.stream(graph, {"log": [], "x": 1}, stream_mode=["updates", "tasks"])
        assert [mode for mode, _ in chunks] == ["tasks", "updates"]
        assert chunks[1][1] == {"n": {"log": ["ok"]}, "__metadata__": {"cached": True}}

    def test_what_is_cached_is_stored_like_anything_else(self, way: Any, saver: Any) -> None:
        """ER-50."""
        graph = compiled(
            one(flaky(0, LOST, []), cache_policy=CachePolicy()),
            checkpointer=saver,
            cache=InMemoryCache(),
        )
        histories = []
        for thread in "12":
            config = {"configurable": {"thread_id": thread}}
            way.invoke(graph, {"log": []}, config)
            histories.append(
                [
                    (each.values, each.next, [task.result for task in each.tasks])
                    for each in way.history(graph, config)
                ]
            )
        assert histories[0] == histories[1]

    def test_an_output_grows_too_old(self, way: Any) -> None:
        """ER-50."""
        now = [0.0]
        runs: list[Any] = []
        builder = one(flaky(0, LOST, runs), cache_policy=CachePolicy(ttl=60))
        graph = compiled(builder, cache=InMemoryCache(now=lambda: now[0]))
        for now[0] in (0.0, 59.0, 61.0, 62.0):
            way.invoke(graph, {"log": [], "x": 1})
        assert len(runs) == 2

    def test_a_key_of_ones_own(self, way: Any) -> None:
        """ER-50: it is asked with what the node receives."""
        asked: list[Any] = []
        runs: list[Any] = []

        def key(state: Any) -> str:
            asked.append(state)
            return "always"

        builder = one(flaky(0, LOST, runs), cache_policy=CachePolicy(key_func=key))
        graph = compiled(builder, cache=InMemoryCache())
        for x in (1, 2):
            way.invoke(graph, {"log": [], "x": x})
        assert (runs, asked) == ([1], [{"log": [], "x": 1}, {"log": [], "x": 2}])

    def test_without_a_cache_a_policy_does_nothing(self, way: Any) -> None:
        """ER-50."""
        runs: list[Any] = []
        graph = compiled(one(flaky(0, LOST, runs), cache_policy=CachePolicy()))
        for _ in range(2):
            way.invoke(graph, {"log": [], "x": 1})
        assert len(runs) == 2

    def test_failures_are_not_kept(self, way: Any) -> None:
        """ER-51: and neither is what failed before it succeeded."""
        runs: list[Any] = []
        policies: Any = {"cache_policy": CachePolicy(), "retry_policy": RetryPolicy()}
        graph = compiled(one(flaky(4, LOST, runs), **policies), cache=InMemoryCache())
        with pytest.raises(ConnectionError):
            way.invoke(graph, {"log": []})
        for _ in range(2):
            assert way.invoke(graph, {"log": []}) == {"log": ["ok"]}
        assert len(runs) == 5

    @pytest.mark.parametrize("inner", ["", "graph", "graph that keeps nothing"])
    def test_what_depends_on_an_answer_is_not_kept(self, way: Any, saver: Any, inner: str) -> None:
        """ER-51: nobody gets somebody else's answer, not even through a graph in a node."""

        def ask(state: State) -> Any:
            return {"log": [interrupt("q?")]}

        node: Any = ask
        if inner:
            node = one(ask).compile(checkpointer=None if inner == "graph" else False)
        builder = one(node, cache_policy=CachePolicy())
        graph = compiled(builder, checkpointer=saver, cache=InMemoryCache())
        for thread, answer in (("1", "A"), ("2", "B")):
            config: Any = {"configurable": {"thread_id": thread}}
            assert "__interrupt__" in way.invoke(graph, {"log": []}, config)
            assert way.invoke(graph, Command(resume=answer), config) == {"log": [answer]}

    def test_a_graph_as_a_node(self, way: Any) -> None:
        """ER-50: it is what its nodes do; the cache is of the graph that the policy is in."""
        runs: list[str] = []

        def says(name: str) -> Any:
            if name == "1":
                return lambda state: runs.append("1") or {"log": ["1"]}  # type: ignore[func-returns-value]
            return lambda state: runs.append("2") or {"log": ["2"]}  # type: ignore[func-returns-value]

        cache: InMemoryCache[Any] = InMemoryCache()
        for name in ("1", "2", "1", "2"):
            inner = one(says(name)).compile()
            graph = compiled(one(inner, cache_policy=CachePolicy()), cache=cache)
            assert way.invoke(graph, {"log": []}) == {"log": [name]}
        assert runs == ["1", "2"]

    def test_clear(self, way: Any) -> None:
        """ER-51: of some nodes, or of all."""
        runs: list[Any] = []
        builder = one(flaky(0, LOST, runs), cache_policy=CachePolicy())
        builder.add_node("m", lambda state: {})
        graph = compiled(builder, cache=InMemoryCache())

        def clear(nodes: Any) -> None:
            if way.is_async:
                asyncio.run(graph.aclear_cache(nodes))
            else:
                graph.clear_cache(nodes)

        counts = []
        for nodes in (["m"], ["n"], None):
            way.invoke(graph, {"log": []})
            counts.append(len(runs))
            clear(nodes)
        way.invoke(graph, {"log": []})
        assert [*counts, len(runs)] == [1, 1, 2, 3]
        with pytest.raises(
            ValueError, match=r"no node 'zz', but there are \['__start__', 'm', 'n'\]"
        ):
            clear(["zz"])
        with pytest.raises(ValueError, match="No cache is set for this graph"):
            compiled(builder).clear_cache()

    def test_what_is_no_cache(self) -> None:
        with pytest.raises(TypeError, match="A cache is an instance of BaseCache"):
            one(lambda state: {}).compile(cache=5)  # type: ignore[arg-type]

    def test_what_cannot_be_kept_fails_its_task(self, way: Any) -> None:
        """ER-51: the error names the node."""
        graph = compiled(
            one(lambda state: {"x": print}, cache_policy=CachePolicy()), cache=InMemoryCache()
        )
        with pytest.raises(TypeError, match="cannot be stored") as caught:
            way.invoke(graph, {"log": []})
        assert "task with name 'n'" in caught.value.__notes__[0]
        unknown = compiled(one(lambda state: {}, cache_policy=CachePolicy()), cache=InMemoryCache())
        with pytest.raises(Exception, match="pickle"):
            way.invoke(unknown, {"log": [], "x": lambda: 1})


def test_a_sibling_goes_on_with_its_attempts(saver: Any) -> None:
    """ER-41: in a sync run, siblings of a failed task are waited for; that includes attempts."""
    failed = threading.Event()

    def sleep(seconds: float, is_over: Callable[[], bool]) -> bool:
        failed.wait(20)
        return not is_over()

    def bad(state: State) -> Any:
        failed.set()
        raise ValueError("boom")

    runs: list[Any] = []
    builder = one(flaky(2, LOST, runs), retry_policy=RetryPolicy())
    graph = builder.add_node("z", bad).add_edge(START, "z").compile(checkpointer=saver)
    graph.clock = Clock(sleep=sleep)
    with pytest.raises(ValueError, match="boom"):
        graph.invoke({"log": []}, CONFIG)
    assert len(runs) == 3
    assert graph.get_state(CONFIG).values == {"log": ["ok"]}


def test_a_task_that_calls_tasks(way: Any, saver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """ER-10, FN-08: the next attempt gets what the tasks have given, without running them again."""
    monkeypatch.setattr(Calls, "possible", Calls.possible)  # so that other tests do not notice
    runs: list[str] = []

    @task
    def work(x: int) -> int:
        runs.append("work")
        return x + 1

    @entrypoint(checkpointer=saver, retry_policy=RetryPolicy())
    def flow(x: int) -> int:
        found: int = work(x).result()
        runs.append("flow")
        if runs.count("flow") < 3:
            raise LOST
        return found

    flow.clock = Hurry().clock
    assert way.invoke(flow, 1, CONFIG) == 2
    assert runs == ["work", "flow", "flow", "flow"]
