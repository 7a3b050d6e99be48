"""The machine, driven by hand: no saver, no threads, no clock.

The driver in this file is a list of checkpoints and a loop. It answers `Load` from the list,
puts what it is told to `Save` into it, and walks each task's node itself, on this thread,
while threads, sockets, event loops and clocks are switched off. It must come to the very same
results, snapshots and stored checkpoints as the real drivers do with a real saver.

That is a test of the program: whatever it needed beside its effects would be missing here.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
import operator
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest

import minigraph.checkpoint.base.id
from minigraph.checkpoint.base import CheckpointTuple
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import ERROR, PUSH
from minigraph.graph import END, START, StateGraph
from minigraph.pregel.drive import AsyncDriver, Driver
from minigraph.pregel.effects import (
    Advance,
    Cancel,
    Effect,
    Emit,
    Failed,
    Finished,
    Listing,
    Load,
    Next,
    Program,
    Save,
    SaveWrites,
    Start,
    View,
    Warn,
)
from minigraph.pregel.inspect import history_program, state_program, update_program
from minigraph.pregel.io import read_after
from minigraph.pregel.node import Write
from minigraph.pregel.plan import Task
from minigraph.pregel.request import Environment
from minigraph.pregel.selection import Selection
from minigraph.types import Overwrite, Send, StateUpdate

CONFIG: Any = {"configurable": {"thread_id": "t"}}


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Switch off what the machine may not use."""

    def refuse(*args: Any, **more: Any) -> Any:
        raise AssertionError("the program must leave the world to its driver")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        patch.setattr(socket, "socket", refuse)
        patch.setattr(asyncio, "new_event_loop", refuse)
        patch.setattr(minigraph.checkpoint.base.id, "time_ns", refuse)
        for clock in ("time", "time_ns", "sleep", "monotonic", "perf_counter"):
            patch.setattr(time, clock, refuse)
        yield


def test_silence_is_silent() -> None:
    """Else this file would prove nothing."""
    with silence():
        for forbidden in (
            lambda: threading.Thread(target=print).start(),
            socket.socket,
            time.time,
            time.perf_counter,
            lambda: time.sleep(0),
            minigraph.checkpoint.base.id.uuid6,
            lambda: (
                StateGraph(int)
                .add_node("a", lambda n: n)
                .add_edge(START, "a")
                .compile(InMemorySaver())
                .invoke(1, CONFIG)
            ),
        ):
            with pytest.raises(AssertionError, match="leave the world"):
                forbidden()


# ---------------------------------------------------------------- two drivers


class Outcome(NamedTuple):
    """What a call came to, and what it told meanwhile."""

    result: Any
    told: list[Any]


class Stored(NamedTuple):
    """A checkpoint, as it lies in the list."""

    place: dict[str, Any]
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    parent: str | None


class Surroundings:
    """What a node may see of the run, for nodes that we walk ourselves."""

    config: Any = {"configurable": {}}

    def __init__(self, view: View) -> None:
        self.view = view

    def read(self, selection: Selection, writes: Sequence[Write]) -> Any:
        return read_after(self.view.state, writes, selection)


class ByHand:
    """A driver of flesh and blood."""

    def __init__(self, build: Callable[[], StateGraph], **options: Any) -> None:
        # A saver that has nothing: the graph asks whether it has one, and only that.
        self.graph = build().compile(checkpointer=InMemorySaver(), **options)
        ids = itertools.count(1)
        self.environment = Environment(
            new_id=lambda step: f"{next(ids):08x}-0000-6000-8000-000000000000",
            now=lambda: "2024-08-29T19:19:38.821749+00:00",
            next_version=lambda newest: (
                f"{int(newest.partition('.')[0]) + 1 if newest else 1:032}.0"
            ),
        )
        self.graph.environment = self.environment
        self.checkpoints: list[Stored] = []
        self.writes: dict[str, list[tuple[str, str, int, str, Any]]] = {}
        self.started: deque[tuple[Task, View]] = deque()
        self.warnings: list[str] = []

    def run(self, input: Any, config: Any = CONFIG, **options: Any) -> Outcome:
        return self.drive(
            self.graph.program(input, config, stream_mode=["values", "updates"], **options)
        )

    def state(self, config: Any = CONFIG) -> Any:
        next_version = self.environment.next_version
        return self.drive(state_program(self.graph.layout, config, next_version)).result

    def history(self) -> list[Any]:
        next_version = self.graph.environment.next_version
        program = history_program(self.graph.layout, CONFIG, None, None, None, next_version)
        return [snapshot for _, snapshot in self.drive(program).told]

    def update(self, config: Any, values: Any, as_node: str | None = None) -> Any:
        updates = [[StateUpdate(values, as_node)]]
        program = update_program(self.graph.layout, config, updates, self.environment)
        return self.drive(program).result

    def stored(self) -> list[CheckpointTuple]:
        return [self.found(stored) for stored in reversed(self.checkpoints)]

    def drive(self, program: Program) -> Outcome:
        answer: Any = None
        told: list[Any] = []
        with silence():
            while True:
                try:
                    effect = program.send(answer)
                except StopIteration as end:
                    return Outcome(end.value, told)
                if isinstance(effect, Emit):
                    told.append((effect.mode, copy.deepcopy(effect.payload)))
                answer = self.answer(effect)

    def answer(self, effect: Effect) -> Any:
        match effect:
            case Load(config):
                place = config["configurable"]
                for stored in reversed(self.checkpoints):
                    if place.get("checkpoint_id") in (None, stored.checkpoint["id"]):
                        return self.found(stored)
            case Listing():
                return iter(self.stored())
            case Advance(cursor):
                return next(cursor, None)
            case Start(tasks, view):
                self.started.extend((task, view) for task in tasks)
            case Next():
                return self.walk(*self.started.popleft()) if self.started else None
            case SaveWrites(config, writes, task_id, task_path):
                rows = self.writes.setdefault(config["configurable"]["checkpoint_id"], [])
                for index, (channel, value) in enumerate(writes):
                    value = repr(value) if channel == ERROR else copy.deepcopy(value)
                    index = -1 if channel == ERROR else index
                    same = [r for r in rows if (r[1], r[2]) == (task_id, index)]
                    if same and index < 0:
                        rows.remove(same[0])
                    if not same or index < 0:
                        rows.append((task_path, task_id, index, channel, value))
            case Save(config, checkpoint, metadata, _):
                place = {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}
                parent = config["configurable"].get("checkpoint_id")
                kept: Any = copy.deepcopy(checkpoint)
                # A channel without a version was never written, and a fresh one is its equal.
                for channel in {*kept["channel_values"]} - {*kept["channel_versions"]}:
                    del kept["channel_values"][channel]
                self.checkpoints.append(Stored(place, kept, dict(metadata), parent))
            case Warn(message):
                self.warnings.append(message)
            case Emit() | Cancel():
                pass  # what has been started is on its way, and ends when we walk it
        return None

    def walk(self, task: Task, view: View) -> Finished | Failed:
        """Run a task: call whatever the walk through its node asks for."""
        around = Surroundings(view)
        if view.results is not None:
            walk = task.node.work(view.results[task.id], around, returned=True)
        else:
            walk = task.node.work(task.input, around, sent=task.path[0] == PUSH)
        answer: Any = None
        while True:
            try:
                call = walk.send(answer)
            except StopIteration as end:
                return Finished(task.id, end.value)
            except Exception as error:
                return Failed(task.id, error)
            try:
                answer = call.function(*call.arguments, **call.keywords)
            except Exception as error:
                return Failed(task.id, error)

    def found(self, stored: Stored) -> CheckpointTuple:
        parent = {**stored.place, "checkpoint_id": stored.parent} if stored.parent else None
        writes = sorted(self.writes.get(stored.checkpoint["id"], []), key=lambda row: row[:3])
        return CheckpointTuple(
            {"configurable": stored.place},
            copy.deepcopy(stored.checkpoint),  # type: ignore[arg-type]
            stored.metadata,  # type: ignore[arg-type]
            {"configurable": parent} if parent else None,
            [(task_id, channel, value) for _, task_id, _, channel, value in writes],
        )


class ByDriver:
    """The same calls, performed by the real drivers and a saver."""

    def __init__(self, build: Callable[[], StateGraph], **options: Any) -> None:
        self.graph = build().compile(checkpointer=InMemorySaver(), **options)

    def run(self, input: Any, config: Any = CONFIG, **options: Any) -> Outcome:
        program = self.graph.program(input, config, stream_mode=["values", "updates"], **options)
        driving = Driver(self.graph.checkpointer).drive(program)
        told = []
        while True:
            try:
                told.append(next(driving))
            except StopIteration as end:
                return Outcome(end.value, told)

    def state(self, config: Any = CONFIG) -> Any:
        return self.graph.get_state(config)

    def history(self) -> list[Any]:
        return [*self.graph.get_state_history(CONFIG)]

    def update(self, config: Any, values: Any, as_node: str | None = None) -> Any:
        return self.graph.update_state(config, values, as_node)

    def stored(self) -> list[CheckpointTuple]:
        assert self.graph.checkpointer is not None
        return [*self.graph.checkpointer.list(CONFIG)]


class ByAsyncDriver(ByDriver):
    def run(self, input: Any, config: Any = CONFIG, **options: Any) -> Outcome:
        async def collect() -> Outcome:
            modes: Any = ["values", "updates"]
            # One after the other: a failure cancels whoever is at work beside it (ER-41).
            driver = AsyncDriver(self.graph.checkpointer, limit=1)
            program = self.graph.program(input, config, stream_mode=modes, **options)
            told = [told async for told in driver.drive(program)]
            return Outcome(driver.result, told)

        return asyncio.run(collect())

    def state(self, config: Any = CONFIG) -> Any:
        return asyncio.run(self.graph.aget_state(config))

    def history(self) -> list[Any]:
        async def collect() -> list[Any]:
            return [state async for state in self.graph.aget_state_history(CONFIG)]

        return asyncio.run(collect())

    def update(self, config: Any, values: Any, as_node: str | None = None) -> Any:
        return asyncio.run(self.graph.aupdate_state(config, values, as_node))


ID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
VERSION = re.compile(r"(\d{32})\.[\d.e-]+")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")


class Labels:
    """Ids become ``<1>``, ``<2>``, … as they turn up; versions become their number."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def text(self, text: str) -> str:
        text = ID.sub(lambda id: self.known.setdefault(id[0], f"<{len(self.known) + 1}>"), text)
        return TIME.sub("<time>", VERSION.sub(lambda version: f"v{int(version[1])}", text))

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self(each) for key, each in value.items()}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value).__name__, [self(each) for each in value]
        if isinstance(value, (list, tuple)):
            return type(value)(self(each) for each in value)
        if isinstance(value, set):
            return {self(each) for each in value}
        if isinstance(value, BaseException):
            return (
                type(value).__name__,
                self.text(str(value)),
                self(getattr(value, "__notes__", [])),
            )
        return value


class Transcript:
    """Everything there is to see of a scenario."""

    def __init__(self, face: Any) -> None:
        self.face = face
        self.seen: list[Any] = []

    def run(self, input: Any, config: Any = CONFIG, **options: Any) -> Any:
        try:
            outcome = self.face.run(input, config, **options)
        except Exception as error:
            self.seen.append(("raised", error))
            result: Any = error
        else:
            # Parallel tasks are told in the order in which they end, which is nobody's to choose.
            updates = sorted(repr(chunk) for mode, chunk, *_ in outcome.told if mode == "updates")
            values = [chunk for mode, chunk, *_ in outcome.told if mode == "values"]
            self.seen.append(("returned", outcome.result, updates, values))
            result = outcome.result
        self.look()
        return result

    def update(self, config: Any, values: Any, as_node: str | None = None) -> Any:
        updated = self.face.update(config, values, as_node)
        self.seen.append(("updated", updated))
        self.look()
        return updated

    def look(self) -> None:
        self.seen += [("state", self.face.state()), ("history", self.face.history())]

    def place(self, *next_nodes: str) -> Any:
        """The config of the newest checkpoint from which these nodes run."""
        return next(state.config for state in self.face.history() if state.next == next_nodes)

    def plain(self) -> list[Any]:
        labels = Labels()
        return [labels(entry) for entry in [*self.seen, *self.face.stored()]]


# ---------------------------------------------------------------- scenarios


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    x: int


def say(name: str, **more: Any) -> Callable[[Any], Any]:
    return lambda state: {"log": [name], **more}


def nodes(*names: str) -> StateGraph:
    builder = StateGraph(State)
    for name in names:
        builder.add_node(name, say(name))
    return builder


def chain() -> StateGraph:
    return nodes("a", "b").add_edge(START, "a").add_edge("a", "b").add_edge("b", END)


class Scenario(NamedTuple):
    build: Callable[[], StateGraph]
    script: Callable[[Transcript], Any]
    values: Any
    """Of the latest checkpoint, at the end."""
    steps: list[tuple[str, int]]
    """Source and step of all checkpoints, oldest first."""
    options: dict[str, Any] = {}


def loops(count: int) -> list[tuple[str, int]]:
    return [("loop", step) for step in range(count)]


def parallel() -> StateGraph:
    return nodes("a", "b", "c").add_edge(START, "b").add_edge(START, "a").add_edge("a", "c")


def join() -> StateGraph:
    builder = nodes("a", "b", "b2", "c").add_edge(START, "a").add_edge(START, "b")
    return builder.add_edge("b", "b2").add_edge(["a", "b2"], "c")


def defer() -> StateGraph:
    builder = nodes("a", "b", "b2").add_node("d", say("d"), defer=True)
    builder.add_edge(START, "a").add_edge(START, "b").add_edge("b", "b2")
    return builder.add_edge("a", "d").add_edge("b2", "d")


def sends() -> StateGraph:
    builder = nodes("a", "end").add_node("work", lambda arg: {"log": [arg]})
    builder.add_conditional_edges(START, lambda state: [Send("work", i) for i in (3, 1, 2)])
    return builder.add_edge(START, "a").add_edge("work", "end")


def loop() -> StateGraph:
    builder = StateGraph(State).add_node(
        "a", lambda state: {"x": state.get("x", 0) + 1, "log": ["a"]}
    )
    builder.add_edge(START, "a")
    return builder.add_conditional_edges("a", lambda state: "a" if state["x"] < 3 else END)


def conditional() -> StateGraph:
    builder = nodes("a", "left", "right").add_edge(START, "a")
    return builder.add_conditional_edges(
        "a", lambda state: len(state["log"]) == 1, {True: "left", False: "right"}
    )


def failing() -> StateGraph:
    attempts = itertools.count()

    def wrong(state: State) -> Any:
        if next(attempts) == 0:
            raise ValueError("boom")
        return {"log": ["wrong"]}

    # It is the last of its super-step, so that the others have ended in every kind of run.
    builder = nodes("ok", "after").add_node("wrong", wrong).add_edge(START, "ok")
    builder.add_node("quiet", lambda state: None).add_edge(START, "quiet")
    return builder.add_edge(START, "wrong").add_edge("wrong", "after")


def clash() -> StateGraph:
    attempts = itertools.count()

    def often(state: State) -> Any:
        return {"x": 2} if next(attempts) < 2 else {"log": ["other"]}

    builder = nodes("after").add_node("one", say("one", x=1)).add_node("other", often)
    return builder.add_edge(START, "one").add_edge(START, "other").add_edge("one", "after")


def raising_reducer() -> StateGraph:
    attempts = itertools.count()

    def add(old: list[Any], new: list[Any]) -> list[Any]:
        if "a" in new and next(attempts) == 0:
            raise ArithmeticError("no")
        return [*old, *new]

    # As a call, because the annotations of a class are texts here, and texts do not see `add`.
    schema = TypedDict("schema", {"log": Annotated[list[Any], add]})  # noqa: UP013
    builder = StateGraph(schema).add_node("a", say("a")).add_node("b", say("b"))
    return builder.add_edge(START, "a").add_edge("a", "b")


def endless() -> StateGraph:
    builder = StateGraph(State).add_node("a", lambda state: {"x": state.get("x", 0) + 1})
    return builder.add_edge(START, "a").add_edge("a", "a")


def once(t: Transcript) -> None:
    t.run({"log": ["in"]})


def twice(t: Transcript) -> None:
    t.run({"log": ["in"]})
    t.run({"log": ["again"], "x": 0})


def and_resume(t: Transcript) -> None:
    t.run({"log": ["in"]})
    t.run(None)
    t.run(None)


def update_and_go_on(t: Transcript) -> None:
    t.update(CONFIG, {"log": ["before"]})
    t.run(None)
    t.update(CONFIG, {"log": ["as a"]}, "a")
    t.run(None)
    t.update(CONFIG, {"log": Overwrite(["new"])})
    t.update(CONFIG, {"log": ["input"]}, "__input__")
    t.update(CONFIG, None, END)
    t.update(CONFIG, None)


def fork(t: Transcript) -> None:
    t.run({"log": ["in"]})
    place = t.place("b")
    t.run(None, t.update(place, {"log": ["forked"]}))
    t.update(place, {"log": ["skipped"]}, "b")
    t.update(t.place("b"), None, "__copy__")
    t.run(None)


def replay(t: Transcript) -> None:
    t.run({"log": ["in"]})
    t.run(None, t.place("b"))
    t.run(None, t.place("__start__"))
    t.run(None, t.place())


def branch_with_input(t: Transcript) -> None:
    t.run({"log": ["in"]})
    t.run({"log": ["other"]}, t.place("b"))


def give_up_and_start_anew(t: Transcript) -> None:
    t.run({"log": ["in"]})
    t.run({"log": ["anew"]})


def too_long(t: Transcript) -> None:
    t.run({"x": 0}, {**CONFIG, "recursion_limit": 2})
    t.run(None, {**CONFIG, "recursion_limit": 1})


def stop_and_go(t: Transcript) -> None:
    t.run({"log": ["in"]})
    t.run(None)
    t.run({"log": ["more"]}, interrupt_before=[], interrupt_after=["a"])
    t.run(None, interrupt_before=[])


ONE_RUN = [("input", -1)]
SCENARIOS = {
    "chain": Scenario(chain, once, {"log": ["in", "a", "b"]}, ONE_RUN + loops(3)),
    "parallel": Scenario(parallel, once, {"log": ["in", "a", "b", "c"]}, ONE_RUN + loops(3)),
    "join": Scenario(join, once, {"log": ["in", "a", "b", "b2", "c"]}, ONE_RUN + loops(4)),
    "defer": Scenario(defer, once, {"log": ["in", "a", "b", "b2", "d"]}, ONE_RUN + loops(4)),
    "sends": Scenario(sends, once, {"log": ["in", "a", 3, 1, 2, "end"]}, ONE_RUN + loops(3)),
    "loop": Scenario(loop, once, {"log": ["in", "a", "a", "a"], "x": 3}, ONE_RUN + loops(4)),
    "conditional": Scenario(conditional, once, {"log": ["in", "a", "right"]}, ONE_RUN + loops(3)),
    "failure and resume": Scenario(
        failing, and_resume, {"log": ["in", "ok", "wrong", "after"]}, ONE_RUN + loops(3)
    ),
    "write clash and resume": Scenario(
        clash,
        and_resume,
        {"log": ["in", "one", "other", "after"], "x": 1},
        ONE_RUN + [("loop", 0), ("fork", 1), ("fork", 2), ("loop", 3), ("loop", 4)],
    ),
    "raising reducer and resume": Scenario(
        raising_reducer, and_resume, {"log": ["in", "a", "b"]}, ONE_RUN + loops(3)
    ),
    "update_state": Scenario(
        chain,
        update_and_go_on,
        {"log": ["new"]},
        [("update", 0), ("loop", 1), ("loop", 2), ("update", 3), ("loop", 4), ("update", 5)]
        + [("input", 6), ("update", 7), ("update", 8)],
    ),
    "fork": Scenario(
        chain,
        fork,
        {"log": ["in", "a", "forked", "b"]},
        ONE_RUN + loops(3) + [("update", 2), ("loop", 3), ("update", 2), ("fork", 3), ("loop", 4)],
    ),
    "replay": Scenario(
        chain,
        replay,
        {"log": ["in", "a", "b"]},
        ONE_RUN
        + loops(3)
        + [("fork", 2), ("loop", 3), ("fork", 0), ("loop", 1), ("loop", 2), ("loop", 3)]
        + [("fork", 4)],
    ),
    "input on a branch": Scenario(
        chain,
        branch_with_input,
        {"log": ["in", "a", "other", "a", "b"]},
        ONE_RUN + loops(3) + [("input", 2), ("loop", 3), ("loop", 4), ("loop", 5)],
    ),
    "new input": Scenario(
        chain,
        twice,
        {"log": ["in", "a", "b", "again", "a", "b"], "x": 0},
        ONE_RUN + loops(3) + [("input", 3), ("loop", 4), ("loop", 5), ("loop", 6)],
    ),
    "new input after a failure": Scenario(
        failing,
        give_up_and_start_anew,
        {"log": ["in", "anew", "ok", "wrong", "after"]},
        ONE_RUN + loops(1) + [("input", 1), ("loop", 2), ("loop", 3), ("loop", 4)],
    ),
    "recursion limit": Scenario(endless, too_long, {"log": [], "x": 5}, ONE_RUN + loops(6)),
    "breakpoint": Scenario(
        chain,
        stop_and_go,
        {"log": ["in", "a", "b", "more", "a", "b"]},
        ONE_RUN + loops(3) + [("input", 3), ("loop", 4), ("loop", 5), ("loop", 6)],
        {"interrupt_before": ["b"]},
    ),
}


@pytest.mark.parametrize("face", [ByDriver, ByAsyncDriver])
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_hand_comes_to_the_same_as_a_driver(name: str, face: Any) -> None:
    """Results, errors, streams, snapshots, history and stored checkpoints are all the same."""
    scenario = SCENARIOS[name]
    hand = Transcript(ByHand(scenario.build, **scenario.options))
    scenario.script(hand)

    driver = Transcript(face(scenario.build, **scenario.options))
    scenario.script(driver)

    for by_hand, by_driver in zip(hand.plain(), driver.plain(), strict=True):
        assert by_hand == by_driver
    assert hand.face.state().values == scenario.values
    stored = [(found.metadata["source"], found.metadata["step"]) for found in hand.face.stored()]
    assert stored[::-1] == scenario.steps


def test_the_same_history_twice_is_the_same_to_the_byte() -> None:
    """Ids, times and versions are inputs: two runs of one scenario differ in nothing at all."""

    def run() -> Any:
        hand = ByHand(failing)
        and_resume(Transcript(hand))
        return hand.checkpoints, hand.writes

    first, second = run(), run()

    assert repr(first) == repr(second)
    assert len(first[0]) == 4


def test_a_warning_is_an_effect() -> None:
    """SG-53: a route to a node that does not exist is told to the log, and the path ends."""
    graph = nodes("a").add_edge(START, "a").add_conditional_edges("a", lambda state: "zz")
    hand = ByHand(lambda: graph)

    assert hand.run({"log": []}).result == {"log": ["a"]}
    (warning,) = hand.warnings
    assert "'a' goes to node 'zz'" in warning
