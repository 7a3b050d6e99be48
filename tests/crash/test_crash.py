"""Every effect is a place to die at, and from every one of them the thread goes on.

A run yields its effects one after the other: load, start, wait, store. Here it dies before
each of them in turn. Then somebody opens the thread anew, with nothing but what the saver
holds, and goes on as a user would: with ``invoke(None)`` if there is work to do, with the
same input once more if the call had not even got so far as to store it.

Three ways to die:

    killed      the program is dropped; nothing more is performed
    pressed     the driver meets an exception of its own, as with Ctrl-C: the program may still
                store what is finished
    cancelled   the same on an event loop
"""

from __future__ import annotations

import asyncio
import itertools
import operator
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import ERROR
from minigraph.graph import END, START, StateGraph
from minigraph.pregel.drive import AsyncDriver, Driver
from minigraph.pregel.effects import Effect, Emit, Next, Save, SaveWrites
from minigraph.pregel.inspect import update_program
from minigraph.types import Command, Send, StateUpdate

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Death(BaseException):
    """The end of a process. Nobody catches it."""


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    count: int


Call = tuple[int, str, str]
"""Which super-step, which node, which task."""


class Witness:
    """Makes nodes that leave a trace outside of the state, where a crash does not reach it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def node(self, name: str, **more: Any) -> Callable[..., Any]:
        def function(state: State, config: Any) -> Any:
            namespace = config["configurable"]["checkpoint_ns"]
            step = config["metadata"]["langgraph_step"]
            self.calls.append((step, name, namespace.partition(":")[2]))
            update = {key: f(state) for key, f in more.items()}
            # `sent` tells the tasks of one node apart; only a Send's argument has it.
            said = f"{name}{state.get('sent', '')}"  # type: ignore[typeddict-item]
            return {"log": [said], **update}

        return function


def chain(witness: Witness) -> StateGraph:
    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, witness.node(name))
    return builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c").add_edge("c", END)


def parallel_and_join(witness: Witness) -> StateGraph:
    builder = StateGraph(State)
    for name in ("a", "b", "b2", "c"):
        builder.add_node(name, witness.node(name))
    builder.add_edge(START, "a").add_edge(START, "b").add_edge("b", "b2")
    return builder.add_edge(["a", "b2"], "c")


def sends(witness: Witness) -> StateGraph:
    builder = StateGraph(State)
    for name in ("plan", "work", "reduce"):
        builder.add_node(name, witness.node(name))
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda state: [Send("work", {"sent": i}) for i in "231"])
    return builder.add_edge("work", "reduce")


def loop(witness: Witness) -> StateGraph:
    """A node with an edge to itself: what it listens to moves in the step that it runs in."""
    builder = StateGraph(State)
    builder.add_node("a", witness.node("a", count=lambda state: state.get("count", 0) + 1))
    builder.add_edge(START, "a")
    return builder.add_conditional_edges("a", lambda state: "a" if state["count"] < 3 else END)


def loop_of_two(witness: Witness) -> StateGraph:
    builder = StateGraph(State)
    builder.add_node("a", witness.node("a"))
    builder.add_node("b", witness.node("b", count=lambda state: state.get("count", 0) + 1))
    builder.add_edge(START, "a").add_edge("a", "b")
    return builder.add_conditional_edges("b", lambda state: "a" if state["count"] < 3 else END)


def loop_through_a_join(witness: Witness) -> StateGraph:
    builder = StateGraph(State)
    builder.add_node("a", witness.node("a")).add_node("b", witness.node("b"))
    builder.add_node("c", witness.node("c", count=lambda state: state.get("count", 0) + 1))
    builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c")
    return builder.add_conditional_edges(
        "c", lambda state: ["a", "b"] if state["count"] < 2 else END
    )


def loop_of_sends(witness: Witness) -> StateGraph:
    """A node that sends to itself: waiting Sends are taken out and put in in one step."""
    builder = StateGraph(State)
    builder.add_node("a", witness.node("a"))
    builder.add_edge(START, "a")
    return builder.add_conditional_edges(
        "a", lambda state: [Send("a", {"sent": len(state["log"])})] if len(state["log"]) < 3 else []
    )


def defer(witness: Witness) -> StateGraph:
    builder = StateGraph(State)
    for name in ("a", "b", "b2"):
        builder.add_node(name, witness.node(name))
    builder.add_node("d", witness.node("d"), defer=True)
    builder.add_edge(START, "a").add_edge(START, "b").add_edge("b", "b2")
    return builder.add_edge("a", "d").add_edge("b2", "d")


def deferred_join(witness: Witness) -> StateGraph:
    builder = StateGraph(State)
    for name in ("a", "b", "b2", "e"):
        builder.add_node(name, witness.node(name))
    builder.add_node("d", witness.node("d"), defer=True)
    builder.add_edge(START, "a").add_edge(START, "b").add_edge("b", "b2").add_edge("b2", "e")
    return builder.add_edge(["a", "b"], "d")


def conditional(witness: Witness) -> StateGraph:
    builder = StateGraph(State)
    for name in ("a", "left", "right", "never"):
        builder.add_node(name, witness.node(name))
    builder.add_conditional_edges(START, lambda state: "a")
    builder.add_conditional_edges("a", lambda state: ["left", "right"], ["left", "right", "never"])
    return builder.add_edge("left", "right")


def commands(witness: Witness) -> StateGraph:
    builder = StateGraph(State)
    said = witness.node("a")
    builder.add_node(
        "a",
        lambda state, config: Command(
            update=said(state, config), goto=["b", Send("b", {"sent": "!"})]
        ),
    )
    builder.add_node("b", witness.node("b"))
    return builder.add_edge(START, "a")


def quiet(witness: Witness) -> StateGraph:
    """Nodes without an update: only the note that they have finished keeps them from running."""
    builder = StateGraph(State)

    def silent(name: str) -> Callable[..., Any]:
        traced = witness.node(name)

        def function(state: State, config: Any) -> None:
            traced(state, config)

        return function

    builder.add_node("a", silent("a")).add_node("b", silent("b")).add_node("c", witness.node("c"))
    return builder.add_edge(START, "a").add_edge(START, "b").add_edge("a", "c")


GRAPHS = [
    chain,
    parallel_and_join,
    sends,
    loop,
    loop_of_two,
    loop_through_a_join,
    loop_of_sends,
    defer,
    deferred_join,
    conditional,
    commands,
    quiet,
]
INPUT = {"log": ["in"], "count": 0}


# ---------------------------------------------------------------- how to die


class Limited:
    """Counts the effects that were performed, and dies instead of performing one too many."""

    def __init__(self, effects: int) -> None:
        self.left = effects

    def count(self, effect: Effect) -> None:
        if self.left == 0:
            raise Death
        self.left -= 1


def killed(graph: Any, input: Any, effects: int) -> bool:
    """Perform so many effects and no more. Returns whether the run came to its end."""
    program = graph.program(input, CONFIG, stream_mode="updates")
    driver = Driver(graph.checkpointer)
    answer = None
    try:
        for _ in range(effects):
            effect = program.send(answer)
            answer = None if isinstance(effect, Emit) else driver.perform(effect)
        program.send(answer)
    except StopIteration:
        return True
    finally:
        driver.tasks.close()
    return False


class PressedDriver(Driver):
    def __init__(self, saver: Any, limit: Limited) -> None:
        super().__init__(saver)
        self.limit = limit

    def perform(self, effect: Effect) -> Any:
        self.limit.count(effect)
        return super().perform(effect)


def pressed(graph: Any, input: Any, effects: int) -> bool:
    driver = PressedDriver(graph.checkpointer, dying := Limited(effects))
    try:
        for _ in driver.drive(graph.program(input, CONFIG)):
            pass
    except Death:
        # The program may have gone on to store what was finished: these effects were allowed.
        assert dying.left == 0
        return False
    return True


class OnceDying(Limited):
    """Dies a single time, so that what the program still wants to store is performed."""

    def count(self, effect: Effect) -> None:
        if self.left == 0:
            self.left = -1
            raise Death
        self.left -= 1


def pressed_once(graph: Any, input: Any, effects: int) -> bool:
    driver = PressedDriver(graph.checkpointer, OnceDying(effects))
    try:
        for _ in driver.drive(graph.program(input, CONFIG)):
            pass
    except Death:
        return False
    return True


class CancelledDriver(AsyncDriver):
    def __init__(self, saver: Any, limit: Limited) -> None:
        super().__init__(saver)
        self.limit = limit

    async def perform(self, effect: Effect) -> Any:
        try:
            self.limit.count(effect)
        except Death:
            raise asyncio.CancelledError from None
        return await super().perform(effect)


def cancelled(graph: Any, input: Any, effects: int) -> bool:
    async def run() -> bool:
        driver = CancelledDriver(graph.checkpointer, OnceDying(effects))
        try:
            async for _ in driver.drive(graph.program(input, CONFIG)):
                pass
        except asyncio.CancelledError:
            return False
        return True

    return asyncio.run(run())


WAYS = [killed, pressed, pressed_once, cancelled]


# ---------------------------------------------------------------- how to go on


def rows(graph: Any) -> list[Any]:
    """The history without what is different in every run: ids and times, and how tasks died."""
    return [
        (
            state.metadata,
            state.values,
            state.next,
            [(task.name, task.path, task.result) for task in state.tasks],
        )
        for state in graph.get_state_history(CONFIG)
    ]


def uninterrupted(build: Callable[[Witness], StateGraph], inputs: list[Any]) -> Any:
    """What a run that nothing happens to comes to: state, history, calls."""
    witness = Witness()
    graph = build(witness).compile(checkpointer=InMemorySaver())
    for input in inputs:
        graph.invoke(input, CONFIG)
    return graph.get_state(CONFIG).values, rows(graph), positions(witness.calls)


def positions(calls: list[Call]) -> Counter[tuple[int, str]]:
    return Counter((step, name) for step, name, _ in calls)


def stored(saver: InMemorySaver) -> tuple[int | None, set[str]]:
    """The last super-step with a checkpoint, and the tasks of the next that are finished."""
    last = saver.get_tuple(CONFIG)
    if last is None:
        return None, set()
    done = {task for task, channel, _ in last.pending_writes or () if channel != ERROR}
    return last.metadata["step"], done


def crash_and_go_on(
    build: Callable[[Witness], StateGraph],
    die: Callable[[Any, Any, int], bool],
    effects: int,
    inputs: list[Any],
    expected: Any,
) -> bool:
    """One life and one afterlife; returns whether the run was over before it could die."""
    values, history, calls = expected
    saver, witness = InMemorySaver(), Witness()
    graph = build(witness).compile(checkpointer=saver)
    *before, last = inputs
    for input in before:
        graph.invoke(input, CONFIG)
    earlier, _ = stored(saver)

    over = die(graph, last, effects)

    # A new process: another graph, made by the same code, over the same saver.
    step, done = stored(saver)
    calls_of_first_life = len(witness.calls)
    graph = build(witness).compile(checkpointer=saver)
    state = graph.get_state(CONFIG)
    if step == earlier:
        assert not over
        assert (state.next, state.values) == ((), {} if step is None else state.values)
        result = graph.invoke(last, CONFIG)
    else:
        result = graph.invoke(None, CONFIG)
        again = witness.calls[calls_of_first_life:]
        if state.next != (START,):
            now = [name for at, name, _ in again if at == again[0][0]]
            assert sorted(state.next) == sorted(now), "the snapshot told of other work than this"

    assert result == values
    assert graph.get_state(CONFIG).values == values
    assert graph.get_state(CONFIG).next == ()
    assert rows(graph) == history
    again = witness.calls[calls_of_first_life:]
    if step is not None and step != earlier:
        assert [call for call in again if call[0] <= step] == [], "a stored super-step ran again"
    assert [call for call in again if call[2] in done] == [], "a finished task ran again"
    assert set(positions(witness.calls)) == set(calls), "the two lives together did another thing"
    # The calls of both lives are those of the one run, and perhaps some of one super-step twice.
    twice = positions(witness.calls) - calls
    assert len({step for step, _ in twice}) <= 1
    assert not any(count > calls[position] for position, count in twice.items())
    return over


@pytest.mark.parametrize("die", WAYS)
@pytest.mark.parametrize("build", GRAPHS)
def test_a_thread_goes_on_from_every_effect(
    build: Callable[[Witness], StateGraph], die: Callable[[Any, Any, int], bool]
) -> None:
    """CP-54, CP-07: death before effect k, for every k; the thread still comes to its end."""
    expected = uninterrupted(build, [INPUT])
    effects = 0
    while not crash_and_go_on(build, die, effects, [INPUT], expected):
        effects += 1
    assert effects >= 3 * 4, "a run of several super-steps has more effects than that"


@pytest.mark.parametrize("die", WAYS)
@pytest.mark.parametrize("build", [chain, loop, parallel_and_join, sends])
def test_a_second_run_goes_on_from_every_effect(
    build: Callable[[Witness], StateGraph], die: Callable[[Any, Any, int], bool]
) -> None:
    """CP-50: on a thread that has a finished run, the input is given again only if it is lost."""
    inputs = [INPUT, {"log": ["again"], "count": 1}]
    expected = uninterrupted(build, inputs)
    effects = 0
    while not crash_and_go_on(build, die, effects, inputs, expected):
        effects += 1
    assert effects >= 3 * 4


@pytest.mark.parametrize("build", GRAPHS)
def test_many_deaths_in_one_run(build: Callable[[Witness], StateGraph]) -> None:
    """A process that dies as soon as it has stored anything new still comes to the end."""
    values, history, _ = uninterrupted(build, [INPUT])
    saver = InMemorySaver()
    inputs: list[Any] = [INPUT]
    lives = 0
    while life(build(Witness()).compile(checkpointer=saver), inputs.pop() if inputs else None):
        lives += 1
        assert lives < 100
    checkpoints = [*saver.list(CONFIG)]
    tasks = {task for found in checkpoints for task, _, _ in found.pending_writes or ()}
    assert lives == len(checkpoints) + len(tasks)
    assert build(Witness()).compile(checkpointer=saver).get_state(CONFIG).values == values
    assert rows(graph := build(Witness()).compile(checkpointer=saver)) == history
    assert graph.get_state(CONFIG).next == ()


def life(graph: Any, input: Any) -> bool:
    """Live until something was stored, then die. Returns whether there was something to store."""
    program, driver, answer = graph.program(input, CONFIG), Driver(graph.checkpointer), None
    try:
        while True:
            effect = program.send(answer)
            answer = driver.perform(effect)
            if isinstance(effect, (Save, SaveWrites)):
                return True
    except StopIteration:
        return False
    finally:
        driver.tasks.close()


def test_a_death_while_waiting_keeps_what_was_finished() -> None:
    """CP-54: of three parallel tasks one was stored; the two others run again, it does not."""
    witness, saver = Witness(), InMemorySaver()
    graph = sends(witness).compile(checkpointer=saver)
    program = graph.program(INPUT, CONFIG)
    driver = Driver(saver)
    answer: Any = None
    waits = 0
    # START, plan, and one of the three Sends; then its writes; then the end.
    while not (waits == 3 and isinstance(answer, type(None))):
        effect = program.send(answer)
        answer = driver.perform(effect)
        waits += isinstance(effect, Next)
    program.close()
    driver.tasks.close()
    step, done = stored(saver)
    assert (step, len(done)) == (1, 1)
    state = graph.get_state(CONFIG)
    assert state.next == ("work", "work")
    assert len(state.values["log"]) == 3

    resumed = Witness()
    result = sends(resumed).compile(checkpointer=saver).invoke(None, CONFIG)

    assert result["log"] == ["in", "plan", "work2", "work3", "work1", "reduce"]
    assert positions(resumed.calls) == {(2, "work"): 2, (3, "reduce"): 1}


# ---------------------------------------------------------------- other programs than a first run


def drop(program: Any, saver: InMemorySaver, effects: int) -> bool:
    """Perform so many effects of any program and no more; whether that was all."""
    driver, answer = Driver(saver), None
    try:
        for _ in range(effects):
            effect = program.send(answer)
            answer = None if isinstance(effect, Emit) else driver.perform(effect)
        program.send(answer)
    except StopIteration:
        return True
    finally:
        program.close()
        driver.tasks.close()
    return False


def half_way(build: Callable[[Witness], StateGraph], stop_at: str) -> Any:
    """A thread that stands before a node."""
    graph = build(Witness()).compile(checkpointer=InMemorySaver())
    graph.invoke(INPUT, CONFIG, interrupt_before=[stop_at])
    assert stop_at in graph.get_state(CONFIG).next
    return graph


SPECIAL = ["__start__", "__input__", "__end__", "__copy__", None]


@pytest.mark.parametrize(
    ("build", "as_node"),
    [(chain, name) for name in ["a", "b", "c", *SPECIAL]]
    + [(parallel_and_join, name) for name in ["a", "b", "b2", "c", *SPECIAL]],
)
def test_an_update_happens_or_does_not(
    build: Callable[[Witness], StateGraph], as_node: str | None
) -> None:
    """CP-60: death in an update leaves the thread as it was, or as it was to be.

    Also when the update is the work of a task that waits, beside another that waits.
    """
    values: Any = None if as_node in ("__end__", "__copy__") else {"log": ["updated"]}
    updates = [[StateUpdate(values, as_node)]]

    def look(graph: Any) -> Any:
        state = graph.get_state(CONFIG)
        return state.values, state.next, state.metadata

    graph = half_way(build, "b")
    before = look(graph)
    graph.update_state(CONFIG, values, as_node)
    after = look(graph)
    seen = []
    for effects in itertools.count():
        graph = half_way(build, "b")
        program = update_program(graph.layout, CONFIG, updates, graph.environment)
        over = drop(program, graph.checkpointer, effects)
        seen.append(look(graph))
        if over:
            break
        assert seen[-1] in (before, after)
    assert (seen[0], seen[-1]) == (before, after)


@pytest.mark.parametrize("where", ["__start__", "a", "b", "c"])
def test_a_replay_goes_on_from_every_effect(where: str) -> None:
    """TT-02: once its copy is stored, the thread goes on from that; before, it never happened."""

    def ran() -> tuple[Any, Any]:
        graph = chain(Witness()).compile(checkpointer=InMemorySaver())
        graph.invoke(INPUT, CONFIG)
        history = [*graph.get_state_history(CONFIG)]
        return graph, next(state for state in history if state.next == (where,)).config

    graph, place = ran()
    result = graph.invoke(None, place)
    expected = rows(graph)
    for effects in itertools.count():
        graph, place = ran()
        over = drop(graph.program(None, place), graph.checkpointer, effects)
        forked = graph.get_state(CONFIG).next != () or over or len(rows(graph)) > 5
        assert graph.invoke(None, CONFIG if forked else place) == result
        assert rows(graph) == expected
        if over:
            break


@pytest.mark.parametrize("build", [chain, loop_of_two, parallel_and_join, defer])
def test_breakpoints_hold_after_a_death(build: Callable[[Witness], StateGraph]) -> None:
    """IN-51: wherever a life ended, the next one stops where a whole one would have stopped."""
    values, history, _ = uninterrupted(build, [INPUT])
    nodes = [*build(Witness()).nodes]
    for effects in itertools.count():
        graph = build(Witness()).compile(checkpointer=InMemorySaver(), interrupt_before=nodes)
        over = drop(graph.program(INPUT, CONFIG), graph.checkpointer, effects)
        stops = []
        input = None if graph.get_state(CONFIG).metadata else INPUT
        while not stops or graph.get_state(CONFIG).next:
            assert len(stops) < 50
            graph.invoke(input, CONFIG)
            input = None
            stops.append(graph.get_state(CONFIG).next)
        assert graph.get_state(CONFIG).values == values
        # Notes of what was seen are made at each resume, so only values and steps are compared.
        assert [row[:2] for row in rows(graph)] == [row[:2] for row in history]
        if over:
            break
