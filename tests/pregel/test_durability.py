"""Durability: when what a run asks to be stored is stored, proven by savers that wait."""

from __future__ import annotations

import asyncio
import operator
import random
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint.base import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from minigraph.checkpoint.sqlite.database import connect
from minigraph.graph import START, StateGraph
from minigraph.pregel import durability
from minigraph.pregel.durability import Kept, frozen, storage, stores_at_once, takes_task_path
from minigraph.pregel.effects import Save, SaveWrites

PATIENCE = 20.0
CONFIG: Any = {"configurable": {"thread_id": "t"}}
MODES = ["sync", "async", "exit"]


class State(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


class Told(InMemorySaver):
    """Notes what it is asked to store, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Any] = []

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.told.append(("put", metadata["step"], sorted(new_versions)))
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.told.append(("writes", task_path.rpartition(" ")[2]))
        super().put_writes(config, writes, task_id, task_path)


class Gate(Told):
    """Stores nothing of a super-step, or nothing at all, until it is released."""

    def __init__(self, closed: Callable[[Any], bool] = lambda what: True) -> None:
        super().__init__()
        self.closed = closed
        self.reached = threading.Event()
        self.released = threading.Event()

    def wait(self, what: Any) -> None:
        if self.closed(what):
            self.reached.set()
            assert self.released.wait(PATIENCE), "nobody has released the saver"

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.wait(("put", metadata["step"]))
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.wait(("writes", task_path.rpartition(" ")[2]))
        super().put_writes(config, writes, task_id, task_path)

    async def aput(self, *fields: Any) -> Any:
        return await asyncio.to_thread(self.put, *fields)

    async def aput_writes(self, *fields: Any) -> None:
        await asyncio.to_thread(self.put_writes, *fields)


def chain(saver: Any, nodes: dict[str, Any], **options: Any) -> Any:
    builder = StateGraph(State).add_sequence([*nodes.items()])
    return builder.add_edge(START, next(iter(nodes))).compile(checkpointer=saver, **options)


def say(name: str, ran: list[str] | None = None) -> Callable[[Any], Any]:
    def node(state: State) -> Any:
        if ran is not None:
            ran.append(name)
        return {"log": [name]}

    return node


def abc(saver: Any, **options: Any) -> Any:
    return chain(saver, {name: say(name) for name in "abc"}, **options)


def beside(way: Any, graph: Any, meanwhile: Callable[[], None], **options: Any) -> Any:
    """The outcome of a run, while this thread does something else."""
    outcome: list[Any] = []

    def call() -> None:
        try:
            outcome.append(way.invoke(graph, {"log": ["in"]}, CONFIG, **options))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    try:
        meanwhile()
    finally:
        graph.checkpointer.released.set()
        thread.join(PATIENCE)
    return outcome[0]


# ---------------------------------------------------------------- what the modes promise


@pytest.mark.parametrize("held", [("writes", "a"), ("put", 1)], ids=str)
def test_sync_waits(way: Any, held: Any) -> None:
    """DU-03: no node starts before the writes and the checkpoint that led there are stored."""
    ran: list[str] = []
    saver = Gate(lambda what: what == held)
    graph = chain(saver, {"a": say("a", ran), "b": say("b", ran)})

    def meanwhile() -> None:
        assert saver.reached.wait(PATIENCE)
        time.sleep(0.05)
        assert ran == ["a"]

    outcome = beside(way, graph, meanwhile, durability="sync")
    assert outcome == {"log": ["in", "a", "b"]}
    assert ran == ["a", "b"]


def test_async_goes_on(way: Any) -> None:
    """DU-02, DU-04: the run does not wait for the store, but it does not return before it."""
    saver = Gate()
    done = threading.Event()
    graph = chain(saver, {"a": say("a"), "b": lambda state: done.set() or {"log": ["b"]}})

    def meanwhile() -> None:
        assert saver.reached.wait(PATIENCE)
        assert done.wait(PATIENCE), "the last node waits for the first checkpoint"
        time.sleep(0.05)
        assert saver.told == []

    outcome = beside(way, graph, meanwhile, durability="async")
    assert outcome == {"log": ["in", "a", "b"]}
    assert [told[:2] for told in saver.told] == [
        ("put", -1),
        ("writes", "__start__"),
        ("put", 0),
        ("writes", "a"),
        ("put", 1),
        ("writes", "b"),
        ("put", 2),
    ]


def test_async_is_what_a_call_means_that_does_not_say(way: Any) -> None:
    """DU-01."""
    saver = Gate()
    done = threading.Event()
    graph = chain(saver, {"a": lambda state: done.set() or {"log": ["a"]}})
    outcome = beside(way, graph, lambda: done.wait(PATIENCE) and None)
    assert done.is_set()
    assert outcome == {"log": ["in", "a"]}


def test_the_order_of_sync(way: Any) -> None:
    """DU-03, DU-05."""
    saver = Told()
    way.invoke(abc(saver), {"log": ["in"]}, CONFIG, durability="sync")
    assert saver.told == [
        ("put", -1, ["__start__"]),
        ("writes", "__start__"),
        ("put", 0, ["__start__", "branch:to:a", "log"]),
        ("writes", "a"),
        ("put", 1, ["branch:to:a", "branch:to:b", "log"]),
        ("writes", "b"),
        ("put", 2, ["branch:to:b", "branch:to:c", "log"]),
        ("writes", "c"),
        ("put", 3, ["branch:to:c", "log"]),
    ]


def test_exit_stores_one_checkpoint(way: Any) -> None:
    """DU-06, DU-07, DU-12: the last, as a child of the one that the run began with."""
    saver = Told()
    graph = abc(saver)
    way.invoke(graph, {"log": ["in"]}, CONFIG, durability="exit")
    all_channels = ["__start__", "branch:to:a", "branch:to:b", "branch:to:c", "log"]
    assert saver.told == [("put", 3, all_channels)]
    way.invoke(graph, {"log": ["more"]}, CONFIG, durability="exit")
    new, old = way.history(graph, CONFIG)
    assert [(state.metadata["step"], state.next) for state in (new, old)] == [(8, ()), (3, ())]
    assert new.values == {"log": ["in", "a", "b", "c", "more", "a", "b", "c"]}
    assert new.parent_config == old.config
    assert old.parent_config is None
    assert new.tasks == ()


def test_exit_after_an_error(way: Any) -> None:
    """DU-08: the last complete super-step, and what is known of the open one."""
    fails = [True]
    done = threading.Event()

    def bad(state: State) -> Any:
        assert done.wait(PATIENCE)
        time.sleep(0.02)
        if fails:
            raise ValueError("boom")
        return {"log": ["bad"]}

    saver = Told()
    builder = StateGraph(State).add_node("a", say("a")).add_node("bad", bad)
    builder.add_node("good", lambda state: done.set() or {"log": ["good"]})
    builder.add_edge(START, "a").add_edge("a", "bad").add_edge("a", "good")
    graph = builder.compile(checkpointer=saver)

    with pytest.raises(ValueError, match="boom"):
        way.invoke(graph, {"log": []}, CONFIG, durability="exit")

    assert [told[:2] for told in saver.told] == [("put", 1), ("writes", "good"), ("writes", "bad")]
    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["a", "good"]}, ("bad",))
    assert [task.error for task in state.tasks] == ["ValueError('boom')", None]
    fails.clear()
    assert way.invoke(graph, None, CONFIG, durability="exit") == {"log": ["a", "bad", "good"]}
    assert [state.metadata["step"] for state in way.history(graph, CONFIG)] == [2, 1]


@pytest.mark.parametrize("failures", [1, 2])
@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "sqlite"])
@pytest.mark.parametrize("mode", MODES)
def test_a_finished_sibling_is_not_run_again(
    way: Any, mode: Any, on_disk: bool, failures: int, tmp_path: Path
) -> None:
    """DU-02, DU-08: in the first super-step, however often the run is taken up in vain."""
    ran: list[str] = []
    finished = threading.Event()

    def good(state: State) -> Any:
        ran.append("good")
        finished.set()
        return {"log": ["good"]}

    def bad(state: State) -> Any:
        assert finished.wait(PATIENCE)
        time.sleep(0.02)
        ran.append("bad")
        if ran.count("bad") <= failures:
            raise ValueError(f"boom {ran.count('bad')}")
        return {"log": ["bad"]}

    builder = StateGraph(State).add_node("good", good).add_node("bad", bad)
    builder.add_node("end", say("end"))
    builder.add_edge(START, "good").add_edge(START, "bad").add_edge(["good", "bad"], "end")

    with closing(connect(str(tmp_path / "threads.db"))) as connection:
        on_file = AsyncSqliteSaver if way.is_async else SqliteSaver
        saver: Any = on_file(connection) if on_disk else InMemorySaver()
        graph = builder.compile(checkpointer=saver)
        for failure in range(1, failures + 1):
            input = {"log": ["in"]} if failure == 1 else None
            with pytest.raises(ValueError, match=f"boom {failure}"):
                way.invoke(graph, input, CONFIG, durability=mode)
            state = way.state(graph, CONFIG)
            tasks = {task.name: task for task in state.tasks}
            assert state.next == ("bad",)
            assert tasks["bad"].error == f"ValueError('boom {failure}')"
            assert (tasks["good"].error, tasks["good"].result) == (None, {"log": ["good"]})
        assert way.invoke(graph, None, CONFIG, durability=mode) == {
            "log": ["in", "bad", "good", "end"]
        }
    assert sorted(ran) == ["bad"] * (failures + 1) + ["good"]


def test_exit_after_a_failed_resume(way: Any) -> None:
    """DU-08: no super-step was completed, so there is no checkpoint, only the error."""
    graph = chain(InMemorySaver(), {"a": lambda state: 1 / 0})
    for input in ({"log": []}, None):
        with pytest.raises(ZeroDivisionError):
            way.invoke(graph, input, CONFIG, durability="exit")
        history = way.history(graph, CONFIG)
        assert [state.metadata["step"] for state in history] == [0]
        assert "ZeroDivisionError" in history[0].tasks[0].error


@pytest.mark.parametrize("options", [{"interrupt_before": ["c"]}, {"interrupt_after": ["b"]}])
def test_exit_at_a_breakpoint(way: Any, options: Any) -> None:
    """DU-10."""
    graph = abc(InMemorySaver(), **options)
    way.invoke(graph, {"log": []}, CONFIG, durability="exit")
    assert way.state(graph, CONFIG).next == ("c",)
    assert way.invoke(graph, None, CONFIG, durability="exit") == {"log": ["a", "b", "c"]}
    assert [state.metadata["step"] for state in way.history(graph, CONFIG)] == [3, 2]


def test_exit_at_the_recursion_limit(way: Any) -> None:
    """DU-10."""
    graph = abc(InMemorySaver())
    with pytest.raises(RecursionError):
        way.invoke(graph, {"log": []}, {**CONFIG, "recursion_limit": 1}, durability="exit")
    assert [state.next for state in way.history(graph, CONFIG)] == [("b",)]


@pytest.mark.parametrize("mode", MODES)
def test_a_reader_who_leaves(way: Any, mode: Any) -> None:
    """ST-30: what was finished is stored by then, in every mode."""
    graph = abc(Told())
    chunks = way.take(graph, 1, {"log": []}, CONFIG, stream_mode="updates", durability=mode)
    assert chunks == [{"a": {"log": ["a"]}}]
    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["a"]}, ("b",))
    assert way.invoke(graph, None, CONFIG, durability=mode) == {"log": ["a", "b", "c"]}


@pytest.mark.parametrize("mode", MODES)
def test_a_replay(way: Any, mode: Any) -> None:
    """TT-02: it branches off where it was asked to."""
    graph = abc(InMemorySaver())
    way.invoke(graph, {"log": []}, CONFIG, durability="sync")
    before_c = next(s for s in way.history(graph, CONFIG) if s.next == ("c",))
    assert way.invoke(graph, None, before_c.config, durability=mode) == {"log": ["a", "b", "c"]}
    newest = way.history(graph, CONFIG)[0]
    assert newest.values == {"log": ["a", "b", "c"]}
    if mode == "exit":
        assert newest.parent_config == before_c.config


# ---------------------------------------------------------------- what goes wrong


class Sick(Told):
    """Cannot store one super-step's checkpoint."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step: int | None = step

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if metadata["step"] == self.step:
            raise OSError("disk full")
        return super().put(config, checkpoint, metadata, new_versions)


@pytest.mark.parametrize(
    ("mode", "step"), [("sync", 0), ("sync", 3), ("async", 0), ("async", 3), ("exit", 3)]
)
def test_a_store_that_fails(way: Any, mode: Any, step: int) -> None:
    """DU-14: the run fails, nothing is stored behind a gap, and the thread can go on."""
    saver = Sick(step)
    graph = abc(saver)
    with pytest.raises(OSError, match="disk full") as caught:
        way.invoke(graph, {"log": ["in"]}, CONFIG, durability=mode)
    if mode == "async":
        assert f"(super-step {step}) of thread 't' was being stored" in str(caught.value.__notes__)
    steps = [state.metadata["step"] for state in way.history(graph, CONFIG)]
    assert steps == ([] if mode == "exit" else [*range(step - 1, -2, -1)])
    saver.step = None
    again = {"log": ["in"]} if mode == "exit" else None
    assert way.invoke(graph, again, CONFIG, durability=mode) == {"log": ["in", "a", "b", "c"]}


def test_a_run_that_fails_and_a_store_that_fails(way: Any) -> None:
    """The run's own error counts; the other is a note on it."""
    graph = chain(Sick(0), {"a": lambda state: 1 / 0})
    with pytest.raises(ZeroDivisionError) as caught:
        way.invoke(graph, {"log": []}, CONFIG, durability="exit")
    assert "could not be stored: OSError('disk full')" in caught.value.__notes__[-1]


def test_a_value_that_cannot_be_stored_in_the_background(way: Any) -> None:
    """CP-54: it is found out at once, and the error names the task."""
    graph = chain(Told(), {"a": lambda state: {"log": [threading.Lock()]}})
    with pytest.raises(TypeError, match="lock") as caught:
        way.invoke(graph, {"log": []}, CONFIG, durability="async")
    assert any("'a'" in note for note in caught.value.__notes__)
    assert way.state(graph, CONFIG).next == ("a",)


def test_no_thread_and_no_task_is_left(way: Any) -> None:
    way.invoke(abc(Told()), {"log": []}, CONFIG, durability="async")
    assert not [t.name for t in threading.enumerate() if t.name.startswith("minigraph-store")]


def test_a_cancelled_run_has_stored_what_it_promised() -> None:
    """DU-04: whoever is cancelled while the rest is being stored waits for it."""
    saver = Gate()
    graph = chain(saver, {"a": say("a")})

    async def run() -> None:
        call = asyncio.create_task(graph.ainvoke({"log": []}, CONFIG, durability="async"))
        while not saver.reached.is_set():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        call.cancel()
        await asyncio.sleep(0.01)
        assert not call.done()
        saver.released.set()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(run())
    assert [told[1] for told in saver.told if told[0] == "put"] == [-1, 0, 1]


@pytest.mark.parametrize("milliseconds", range(0, 60, 4))
def test_a_run_that_is_cancelled_while_it_stores(milliseconds: int) -> None:
    """ST-30: what was finished is stored, whole, however long that takes."""
    ran: list[str] = []

    class Slow(InMemorySaver):
        async def aput(self, *fields: Any) -> Any:
            await asyncio.sleep(0.005)
            return InMemorySaver.put(self, *fields)

        async def aput_writes(self, *fields: Any) -> None:
            await asyncio.sleep(0.005)
            InMemorySaver.put_writes(self, *fields)

    async def node(state: State) -> Any:
        ran.append("a")
        return {"log": ["a"]}

    async def run() -> None:
        graph = chain(Slow(), {"a": node})
        call = graph.ainvoke({"log": []}, CONFIG, durability="sync")
        try:
            await asyncio.wait_for(call, milliseconds / 1000)
        except TimeoutError:
            history = [state async for state in graph.aget_state_history(CONFIG)]
            again = {"log": []} if not history else None
            if not history:
                ran.clear()
            assert await graph.ainvoke(again, CONFIG, durability="sync") == {"log": ["a"]}
        assert ran == ["a"]

    asyncio.run(run())


def test_a_slow_store_holds_up_a_quick_run(way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many copies of the state may wait."""
    monkeypatch.setattr(durability, "MOST_WAITING", 3)
    ran: list[str] = []
    saver = Gate()
    graph = chain(saver, {name: say(name, ran) for name in "abcdef"})

    def meanwhile() -> None:
        assert saver.reached.wait(PATIENCE)
        time.sleep(0.05)
        assert len(ran) <= 2

    assert beside(way, graph, meanwhile, durability="async")["log"] == ["in", *"abcdef"]


# ---------------------------------------------------------------- what is stored


class Slow(Told):
    """Takes its time, and another time each time."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = random.Random(seed)

    def put(self, *fields: Any) -> Any:
        time.sleep(self.random.random() / 100)
        return super().put(*fields)

    def put_writes(self, *fields: Any) -> None:
        time.sleep(self.random.random() / 100)
        super().put_writes(*fields)

    async def aput(self, *fields: Any) -> Any:
        await asyncio.sleep(self.random.random() / 100)
        return InMemorySaver.put(self, *fields)

    async def aput_writes(self, *fields: Any) -> None:
        await asyncio.sleep(self.random.random() / 100)
        InMemorySaver.put_writes(self, *fields)


class Edited(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    shared: list[int]


def editing(saver: Any) -> Any:
    """Nodes that edit the state's lists in place, and join."""

    def edit(name: str) -> Any:
        def node(state: Edited) -> Any:
            state["shared"].append(len(state["shared"]))
            return {"log": [name], **({"shared": state["shared"]} if name == "c" else {})}

        return node

    builder = StateGraph(Edited)
    for name in "abcd":
        builder.add_node(name, edit(name))
    builder.add_edge(START, "a").add_edge("a", "b").add_edge(["a", "b"], "c").add_edge("c", "d")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("seed", range(5))
def test_the_background_stores_what_sync_stores(way: Any, seed: int) -> None:
    """DU-02: however slow the store is, and whatever nodes do to their lists meanwhile."""

    def stored(saver: Any, mode: Any) -> Any:
        way.invoke(editing(saver), {"log": [], "shared": [0]}, CONFIG, durability=mode)
        return [
            (
                row.metadata["step"],
                row.checkpoint["channel_values"],
                row.pending_writes
                and [(channel, value) for _, channel, value in row.pending_writes],
            )
            for row in saver.list(CONFIG)
        ]

    assert stored(Slow(seed), "async") == stored(Told(), "sync")


def test_a_frozen_effect_shares_nothing() -> None:
    values = {"log": [[1]]}
    checkpoint: Any = {"id": "1", "channel_values": values}
    save = Save(CONFIG, checkpoint, {"step": 1}, {})
    writes = SaveWrites(CONFIG, [("log", values["log"])], "id", "path")
    frozen_save, frozen_writes = frozen(save), frozen(writes)
    values["log"][0].append(2)
    assert isinstance(frozen_save, Save)
    assert frozen_save.checkpoint == {"id": "1", "channel_values": {"log": [[1]]}}
    assert isinstance(frozen_writes, SaveWrites)
    assert frozen_writes.writes == [("log", [[1]])]
    assert frozen(SaveWrites(CONFIG, [("x", threading.Lock())], "id", "path")) is None


def test_what_is_kept_until_the_end() -> None:
    """DU-07: the writes of super-steps that are over are not."""
    kept = Kept(InMemorySaver(), None)
    first: Any = {"configurable": {"checkpoint_id": "0"}}
    one, two = (
        {"id": id, "channel_values": {"a": [1], "b": [n]}} for id, n in (("1", 1), ("2", 2))
    )
    kept.put_writes(first, [], "earlier", "")
    kept.put(first, one, {"step": 1}, {"a": 1, "b": 1})
    one["channel_values"]["a"].append("edited")
    kept.put_writes({"configurable": {"checkpoint_id": "1"}}, [], "over", "")
    kept.put({"configurable": {"checkpoint_id": "1"}}, two, {"step": 2}, {"b": 2})
    two["channel_values"]["b"].append("edited")
    kept.put_writes({"configurable": {"checkpoint_id": "2"}}, [("a", 1)], "open", "")
    save, writes = kept.to_store(None)
    whole: Any = {"id": "2", "channel_values": {"a": [1], "b": [2]}}
    assert save == Save(first, whole, {"step": 2}, {"a": 1, "b": 2})
    assert isinstance(writes, SaveWrites)
    assert (writes.task_id, writes.writes) == ("open", [("a", 1)])


# ---------------------------------------------------------------- savers of all kinds


def test_who_stores_at_once() -> None:
    """What a class says counts for its own methods alone."""

    class Renamed(InMemorySaver):
        """Has no methods of its own."""

    class Quick(Told):
        stores_at_once = True

        def put(self, *fields: Any) -> Any:
            return super().put(*fields)

    assert stores_at_once(InMemorySaver())
    assert stores_at_once(Renamed())
    assert not stores_at_once(Told())
    assert stores_at_once(Quick())
    assert not stores_at_once(BaseCheckpointSaver())
    assert type(storage(InMemorySaver(), "async")) is durability.Storage
    assert type(storage(Told(), "async")) is durability.Background


@pytest.mark.parametrize("mode", MODES)
def test_savers_that_know_no_task_paths(way: Any, mode: Any) -> None:
    """SV-51, DU-17."""

    class Old(InMemorySaver):
        def put_writes(self, config: Any, writes: Any, task_id: str) -> None:  # type: ignore[override]
            super().put_writes(config, writes, task_id)

        async def aput_writes(self, config: Any, writes: Any, task_id: str) -> None:  # type: ignore[override]
            super().put_writes(config, writes, task_id)

    graph = abc(Old())
    assert way.invoke(graph, {"log": []}, CONFIG, durability=mode) == {"log": ["a", "b", "c"]}
    assert not takes_task_path(Old.put_writes)
    assert takes_task_path(InMemorySaver.put_writes)
    assert takes_task_path(lambda *fields: None)


@pytest.mark.parametrize("mode", MODES)
def test_without_a_saver(way: Any, mode: Any) -> None:
    """DU-16: it warns, and runs."""
    with pytest.warns(UserWarning, match=f"durability='{mode}' has no effect"):
        assert way.invoke(abc(None), {"log": []}, durability=mode) == {"log": ["a", "b", "c"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        way.invoke(abc(None), {"log": []})


@pytest.mark.parametrize("mode", ["bogus", "", "SYNC"])
def test_a_mode_that_does_not_exist(way: Any, mode: Any) -> None:
    """DU-13: is refused before anything runs."""
    saver = Told()
    with pytest.raises(ValueError, match="durability must be one of"):
        way.invoke(abc(saver), {"log": []}, CONFIG, durability=mode)
    assert saver.told == []


# ---------------------------------------------------------------- savers that store in two halves


class Halves(InMemorySaver):
    """Makes bytes first and stores them later; notes what it stores in one go."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: list[list[Any]] = []
        self.sick: Any = None

    def put(self, *fields: Any) -> Any:
        raise AssertionError("it is asked for halves")

    def put_writes(self, *fields: Any) -> None:
        raise AssertionError("it is asked for halves")

    def prepare_put(self, *fields: Any) -> Any:
        return ("put", fields[2]["step"]), lambda: InMemorySaver.put(self, *fields)

    def prepare_put_writes(self, *fields: Any) -> Any:
        writer = fields[3].rpartition(" ")[2]
        return ("writes", writer), lambda: InMemorySaver.put_writes(self, *fields)

    def store(self, prepared: Any) -> None:
        names = [name for name, _ in prepared]
        if self.sick in names:
            raise OSError("disk full")
        self.stored.append(names)
        for _, perform in prepared:
            perform()

    async def astore(self, prepared: Any) -> None:
        await asyncio.sleep(0.001)
        self.store(prepared)


def test_sync_stores_the_last_writes_with_the_checkpoint() -> None:
    """DU-03: nothing starts in between, so the disk need be asked only once."""
    saver = Halves()
    abc(saver).invoke({"log": []}, CONFIG, durability="sync")
    assert saver.stored == [
        [("put", -1)],
        [("writes", "__start__"), ("put", 0)],
        [("writes", "a"), ("put", 1)],
        [("writes", "b"), ("put", 2)],
        [("writes", "c"), ("put", 3)],
    ]


def test_sync_does_not_wait_with_what_is_finished_while_others_work() -> None:
    """CP-54: a sibling may be at work for long."""
    saver = Halves()

    def late(state: State) -> Any:
        for _ in range(int(PATIENCE * 1000)):
            if [("writes", "quick")] in saver.stored:
                return {"log": ["late"]}
            time.sleep(0.001)
        raise AssertionError("its sibling's work was not stored")

    builder = StateGraph(State).add_node("quick", say("quick")).add_node("late", late)
    graph = builder.add_edge(START, "quick").add_edge(START, "late").compile(checkpointer=saver)
    graph.invoke({"log": []}, CONFIG, durability="sync")
    assert saver.stored[-2:] == [[("writes", "quick")], [("writes", "late"), ("put", 1)]]


def test_sync_stores_before_it_tells() -> None:
    """What a reader was told is in the store."""
    saver = Halves()
    stream = abc(saver).stream({"log": []}, CONFIG, durability="sync", stream_mode="updates")
    assert next(stream) == {"a": {"log": ["a"]}}
    assert saver.stored[-1] == [("writes", "a")]
    stream.close()
    assert saver.stored[-1] == [("put", 1)]


def test_writes_are_kept_when_the_checkpoint_cannot_be_stored() -> None:
    """CP-54: the super-step is over, but not on paper."""
    saver = Halves()
    saver.sick = ("put", 1)
    graph = abc(saver)
    with pytest.raises(OSError, match="disk full"):
        graph.invoke({"log": []}, CONFIG, durability="sync")
    assert [("writes", "a")] in saver.stored
    saver.sick = None
    assert graph.invoke(None, CONFIG, durability="sync") == {"log": ["a", "b", "c"]}


def test_the_background_stores_what_has_come_together_in_one_go(way: Any) -> None:
    """DU-04."""
    saver = Halves()
    way.invoke(abc(saver), {"log": []}, CONFIG, durability="async")
    together = [name for names in saver.stored for name in names]
    assert [about for kind, about in together if kind == "put"] == [-1, 0, 1, 2, 3]
    assert together[2:4] == [("put", 0), ("writes", "a")]
    if way.is_async:
        assert len(saver.stored) < len(together)


def test_the_background_finds_out_which_it_was(way: Any) -> None:
    """DU-14: what came before it is stored, and nothing after it."""
    saver = Halves()
    saver.sick = ("put", 1)
    graph = abc(saver)
    with pytest.raises(OSError, match="disk full") as caught:
        way.invoke(graph, {"log": []}, CONFIG, durability="async")
    assert "(super-step 1) of thread 't' was being stored" in str(caught.value.__notes__)
    stored = [name for names in saver.stored for name in names]
    assert stored == [("put", -1), ("writes", "__start__"), ("put", 0), ("writes", "a")]
    saver.sick = None
    assert way.invoke(graph, None, CONFIG, durability="async") == {"log": ["a", "b", "c"]}


# ---------------------------------------------------------------- interrupted while it stores


class Interrupted(SqliteSaver):
    """Ctrl-C comes while it stores, once, before anything of that is stored."""

    at = 0

    def store(self, jobs: Any) -> Any:
        self.at -= 1
        if self.at == 0:
            raise KeyboardInterrupt
        return super().store(jobs)


@pytest.mark.parametrize("mode", ["sync", "exit"])
def test_ctrl_c_while_the_end_of_a_super_step_is_stored(mode: str) -> None:
    """ST-30: what was finished is stored all the same, and is not run again."""
    ran: list[str] = []
    with closing(connect(":memory:")) as conn:
        saver = Interrupted(conn)
        graph = chain(saver, {"a": say("a", ran), "b": say("b", ran)})
        saver.at = 3 if mode == "sync" else 1  # sync: the end of a; exit: the end of all
        with pytest.raises(KeyboardInterrupt):
            graph.invoke({"log": []}, CONFIG, durability=mode)
        left = () if mode == "exit" else ("b",)
        assert graph.get_state(CONFIG).next == left
        graph.invoke(None, CONFIG, durability=mode)
        assert graph.get_state(CONFIG).values == {"log": ["a", "b"]}
    assert ran == ["a", "b"]


class Uncopied:
    """Has no copy, but a saver that pickles can store it."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Uncopied)

    __hash__ = None  # type: ignore[assignment]


def test_cancelled_while_it_waits_until_something_is_stored() -> None:
    """ST-30: what cannot be copied is waited for. Who is cancelled meanwhile, has it stored."""
    reached, released = asyncio.Event(), asyncio.Event()

    class Slow(InMemorySaver):
        stores_at_once = False

        async def aput_writes(self, *fields: Any) -> None:
            if fields[3].endswith("a"):
                reached.set()
                await released.wait()
            super().put_writes(*fields)

    async def run() -> Any:
        saver = Slow(serde=JsonPlusSerializer(pickle_fallback=True))
        ran: list[str] = []

        async def a(state: State) -> Any:
            ran.append("a")
            return {"log": [Uncopied()]}

        graph = chain(saver, {"a": a, "b": say("b", ran)})
        running = asyncio.create_task(graph.ainvoke({"log": []}, CONFIG, durability="async"))
        await reached.wait()
        running.cancel()
        released.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        await graph.ainvoke(None, CONFIG)
        assert (await graph.aget_state(CONFIG)).values == {"log": [Uncopied(), "b"]}
        return ran

    assert asyncio.run(run()) == ["a", "b"]


# ---------------------------------------------------------------- exit, where something goes wrong


@pytest.mark.parametrize("mode", MODES)
def test_a_value_that_cannot_be_stored_beside_others(mode: Any) -> None:
    """CP-54: it is its own task's failure; what the others did and said is stored in all modes."""
    ran: list[str] = []
    all_at_work = threading.Barrier(3)

    def bad(state: State) -> Any:
        all_at_work.wait(PATIENCE)
        return {"log": [(each for each in "x")]}

    def fail(state: State) -> Any:
        all_at_work.wait(PATIENCE)
        raise ValueError("boom")

    def paid(state: State) -> Any:
        all_at_work.wait(PATIENCE)
        ran.append("paid")
        return {"log": ["paid"]}

    builder = StateGraph(State)
    for node in (bad, fail, paid):
        builder.add_node(node).add_edge(START, node.__name__)
    graph = builder.compile(checkpointer=InMemorySaver())
    with pytest.raises((TypeError, ValueError)):
        graph.invoke({"log": []}, CONFIG, durability=mode)
    tasks = {task.name: task for task in graph.get_state(CONFIG).tasks}
    assert tasks["paid"].result == {"log": ["paid"]}
    assert "cannot be stored" in str(tasks["bad"].error)
    assert tasks["fail"].error == "ValueError('boom')"
    all_at_work = threading.Barrier(2)  # only these run again
    with pytest.raises((TypeError, ValueError)):
        graph.invoke(None, CONFIG, durability=mode)
    assert ran == ["paid"]


@pytest.mark.parametrize("mode", MODES)
def test_what_a_failed_node_did_to_its_list_is_not_stored(way: Any, mode: Any) -> None:
    """DU-08: the checkpoint is that of the last complete super-step, whatever the mode."""

    def edit(state: State) -> Any:
        state["log"].append("edited")
        raise ValueError("boom")

    graph = chain(InMemorySaver(), {"a": say("a"), "edit": edit})
    with pytest.raises(ValueError, match="boom"):
        way.invoke(graph, {"log": []}, CONFIG, durability=mode)
    assert way.state(graph, CONFIG).values == {"log": ["a"]}


def generator_unless_text(left: Any, right: Any) -> Any:
    return right if isinstance(right, str) else (each for each in "x")


class Odd(TypedDict):
    """A reducer makes of its writes what cannot be stored."""

    x: Annotated[Any, generator_unless_text]


@pytest.mark.parametrize("mode", MODES)
def test_a_super_step_whose_end_cannot_be_stored(way: Any, mode: Any) -> None:
    """DU-14: the one before it is in the store."""
    builder = StateGraph(Odd).add_node("a", lambda s: {"x": "a"}).add_node("b", lambda s: {"x": 1})
    graph = builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=InMemorySaver())
    with pytest.raises(TypeError, match="cannot be stored"):
        way.invoke(graph, {"x": ""}, CONFIG, durability=mode)
    state = way.history(graph, CONFIG)[0]
    assert (state.values, state.next) == ({"x": "a"}, ("b",))
