"""The program: one run of a graph, as a list of effects."""

from __future__ import annotations

import dataclasses
import itertools
import operator
import threading
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.channels.ephemeral_value import EphemeralValue
from minigraph.checkpoint.base import CheckpointTuple
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.constants import END, ERROR, START
from minigraph.errors import EmptyInputError, GraphRecursionError, InvalidUpdateError
from minigraph.graph import StateGraph
from minigraph.pregel.drive import Driver
from minigraph.pregel.effects import (
    Cancel,
    Effect,
    Emit,
    Failed,
    Finished,
    Load,
    Next,
    Save,
    SaveWrites,
    Start,
    Stopped,
)
from minigraph.pregel.pending import finished_writes
from minigraph.types import Command

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    x: int


def say(name: str, **more: Any) -> Callable[[Any], Any]:
    return lambda state: {"log": [name], **more}


def chain(*names: str, saver: Any = InMemorySaver, **options: Any) -> Any:
    builder = StateGraph(State)
    previous = START
    for name in names:
        builder.add_node(name, say(name)).add_edge(previous, name)
        previous = name
    return builder.compile(checkpointer=saver and saver(), **options)


def loop(saver: Any = InMemorySaver, until: int | None = None) -> Any:
    """A node that runs until `x` has reached a number, or for ever."""
    builder = StateGraph(State).add_node("a", lambda state: {"x": state.get("x", 0) + 1})
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", lambda s: END if until and s["x"] >= until else "a")
    return builder.compile(checkpointer=saver and saver())


def perform_all(
    graph: Any, input: Any, config: Any = CONFIG, **options: Any
) -> tuple[list[Effect], Any]:
    """All effects of a run, in order, and its result."""
    program = graph.program(input, config, **options)
    driver = Driver(graph.checkpointer)
    effects: list[Effect] = []
    answer = None
    while True:
        try:
            effect = program.send(answer)
        except StopIteration as end:
            driver.tasks.close()
            return effects, end.value
        effects.append(effect)
        answer = None if isinstance(effect, Emit) else driver.perform(effect)


def told(effect: Effect) -> Any:
    """An effect in short."""
    match effect:
        case Start(tasks, view):
            return ("start", view.step, [task.name for task in tasks])
        case SaveWrites(_, writes, _, path):
            return ("writes", path.rpartition(", ")[2], [name for name, _ in writes])
        case Save(_, checkpoint, metadata, new_versions):
            values = sorted(checkpoint["channel_values"])
            assert {*new_versions} <= {*checkpoint["channel_versions"]}
            return ("save", metadata["source"], metadata["step"], values)
        case Emit(mode, payload):
            return (mode, payload)
        case _:
            return type(effect).__name__


# ---------------------------------------------------------------- the effects, in order


def test_a_run_with_a_saver() -> None:
    """Writes are stored before what they cause begins; a checkpoint ends each super-step."""
    effects, result = perform_all(chain("a", "b"), {"log": ["in"]})

    assert [told(effect) for effect in effects] == [
        "Load",
        ("save", "input", -1, ["__pregel_tasks", "__start__", "log"]),
        ("start", 0, ["__start__"]),
        "Next",
        ("writes", "__start__", ["log", "branch:to:a"]),
        ("save", "loop", 0, ["__pregel_tasks", "branch:to:a", "log"]),
        ("start", 1, ["a"]),
        "Next",
        ("writes", "a", ["log", "branch:to:b"]),
        ("save", "loop", 1, ["__pregel_tasks", "branch:to:b", "log"]),
        ("start", 2, ["b"]),
        "Next",
        ("writes", "b", ["log"]),
        ("save", "loop", 2, ["__pregel_tasks", "log"]),
    ]
    assert result == {"log": ["in", "a", "b"]}


def test_a_run_without_a_saver() -> None:
    """Nothing is loaded or stored."""
    effects, result = perform_all(chain("a", saver=None), {"log": []}, None)
    assert [told(effect) for effect in effects] == [
        *[("start", 0, ["__start__"]), "Next"],
        *[("start", 1, ["a"]), "Next"],
    ]
    assert result == {"log": ["a"]}


def test_what_is_told_and_when() -> None:
    """ST-19: a task's update after its writes are stored, the state after its checkpoint is."""
    effects, _ = perform_all(chain("a"), {"log": []}, stream_mode=["updates", "values"])
    assert [told(effect) for effect in effects][6:] == [
        ("values", {"log": []}),
        ("start", 1, ["a"]),
        "Next",
        ("writes", "a", ["log"]),
        ("updates", {"a": {"log": ["a"]}}),
        ("save", "loop", 1, ["__pregel_tasks", "log"]),
        ("values", {"log": ["a"]}),
    ]


def test_parallel_tasks_are_stored_one_by_one() -> None:
    """Between two ends of tasks, the first one's writes are stored."""
    builder = StateGraph(State).add_node("a", say("a")).add_node("b", lambda state: None)
    graph = builder.add_edge(START, "a").add_edge(START, "b").compile(checkpointer=InMemorySaver())
    effects, _ = perform_all(graph, {"log": []})
    short = [told(effect) for effect in effects][6:]
    assert short[0] == ("start", 1, ["a", "b"])
    assert short[1::2][:2] == ["Next", "Next"]
    assert sorted(short[2:5:2]) == [("writes", "a", ["log"]), ("writes", "b", ["__no_writes__"])]
    assert short[5:] == [("save", "loop", 1, ["__pregel_tasks", "log"])]


def test_where_things_are_stored() -> None:
    """CP-07: each checkpoint's parent is the one before; writes hang on the step's start."""
    effects, _ = perform_all(chain("a"), {"log": []})
    saves = [effect for effect in effects if isinstance(effect, Save)]
    ids = [save.checkpoint["id"] for save in saves]
    places = [save.config["configurable"] for save in saves]
    assert places == [
        {"thread_id": "t", "checkpoint_ns": ""},
        *[{"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": id} for id in ids[:-1]],
    ]
    writes = [effect for effect in effects if isinstance(effect, SaveWrites)]
    assert [write.config["configurable"]["checkpoint_id"] for write in writes] == ids[:-1]
    assert {*saves[1].new_versions} == {"__start__", "log", "branch:to:a"}


def test_nothing_happens_before_the_first_effect_is_asked_for() -> None:
    """A program is a generator: to make one is to promise nothing."""
    graph = chain("a")
    program = graph.program({"log": []}, CONFIG)
    program.close()
    assert graph.checkpointer.get_tuple(CONFIG) is None


# ---------------------------------------------------------------- failures, in order


def failing() -> Any:
    def bad(state: State) -> Any:
        raise ValueError("boom")

    builder = StateGraph(State).add_node("ok", say("ok")).add_node("bad", bad)
    builder.add_edge(START, "ok").add_edge(START, "bad")
    return builder.compile(checkpointer=InMemorySaver())


def test_a_failed_task_is_stored_and_the_others_are_taken_in() -> None:
    """SS-47: the error, then a request to start no more, then whoever is still at work."""
    graph = failing()
    program = graph.program({"log": []}, CONFIG)
    driver = Driver(graph.checkpointer)
    answer: Any = None
    while not (isinstance(effect := program.send(answer), Start) and effect.view.step == 1):
        answer = driver.perform(effect)
    ok, bad = sorted(effect.tasks, key=lambda task: task.name != "ok")
    error = ValueError("boom")

    assert program.send(None) == Next()
    saved = program.send(Failed(bad.id, error))
    assert (saved.task_id, saved.writes) == (bad.id, ((ERROR, error),))
    assert program.send(None) == Cancel(wait=True)
    assert program.send(None) == Next()
    saved = program.send(Finished(ok.id, [("log", ["ok"])]))
    assert (saved.task_id, saved.writes) == (ok.id, [("log", ["ok"])])
    with pytest.raises(ValueError, match="boom") as caught:
        program.send(None)
    assert caught.value is error
    assert error.__notes__ == [f"During task with name 'bad' and id '{bad.id}'"]  # CP-55


def test_a_run_that_is_stopped() -> None:
    """ST-30: start no more, wait for nobody, keep what has ended, and leave."""
    graph = failing()
    program = graph.program({"log": []}, CONFIG, stream_mode="updates")
    driver = Driver(graph.checkpointer)
    answer: Any = None
    while not (isinstance(effect := program.send(answer), Start) and effect.view.step == 1):
        answer = driver.perform(effect) if not isinstance(effect, Emit) else None
    ok = next(task for task in effect.tasks if task.name == "ok")

    assert program.send(None) == Next()
    assert program.throw(Stopped()) == Cancel(wait=False)
    assert program.send(None) == Next()
    saved = program.send(Finished(ok.id, [("log", ["ok"])]))
    assert (type(saved), saved.task_id) == (SaveWrites, ok.id)
    # Nobody reads any more, so nothing is told.
    assert program.send(None) == Next()
    with pytest.raises(Stopped):
        program.send(None)


def test_a_run_that_is_stopped_when_all_is_done() -> None:
    """Then the super-step is completed: its checkpoint is worth more than its writes."""
    graph = chain("a", "b")
    program = graph.program({"log": []}, CONFIG, stream_mode="values")
    driver = Driver(graph.checkpointer)
    answer: Any = None
    while not (isinstance(effect := program.send(answer), Start) and effect.view.step == 1):
        answer = driver.perform(effect) if not isinstance(effect, Emit) else None
    (a,) = effect.tasks
    program.send(None)
    program.throw(Stopped())
    program.send(None)
    assert isinstance(program.send(Finished(a.id, [("log", ["a"])])), SaveWrites)
    saved = program.send(None)
    assert (type(saved), saved.metadata["step"]) == (Save, 1)
    with pytest.raises(Stopped):
        program.send(None)


def test_a_driver_that_gives_up() -> None:
    """An effect that cannot be performed comes back as its exception, where it was asked for."""
    program = chain("a").program({"log": []}, CONFIG)
    assert isinstance(next(program), Load)
    with pytest.raises(OSError, match="disk"):
        program.throw(OSError("disk"))


def test_a_driver_that_forgets_a_task() -> None:
    """The program does not take silence for success."""
    program = chain("a", saver=None).program({"log": []})
    assert isinstance(next(program), Start)
    assert program.send(None) == Next()
    with pytest.raises(RuntimeError, match=r"these tasks have not ended: \['__start__'\]"):
        program.send(None)


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    """Not even a note can be added to it."""

    code: int


class TakesNoNotes(Exception):
    def add_note(self, note: str) -> None:
        raise RuntimeError("no notes, please")


@pytest.mark.parametrize(
    ("error", "stored"), [(Frozen(3), Frozen(3)), (TakesNoNotes("boom"), "TakesNoNotes('boom')")]
)
def test_an_error_that_takes_no_notes(way: Any, error: Exception, stored: Any) -> None:
    """CP-54, CP-55: it is stored, its sibling's work is kept, and the run raises it."""
    good_is_stored = threading.Event()

    class Watched(InMemorySaver):
        def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            super().put_writes(config, writes, task_id, task_path)
            if task_path.endswith("good"):
                good_is_stored.set()

    def bad(state: State) -> Any:
        assert good_is_stored.wait(20)
        raise error

    builder = StateGraph(State).add_node("good", say("good")).add_node("bad", bad)
    graph = builder.add_edge(START, "good").add_edge(START, "bad").compile(checkpointer=Watched())

    with pytest.raises(type(error)) as caught:
        way.invoke(graph, {"log": []}, CONFIG)

    assert caught.value is error
    state = way.state(graph, CONFIG)
    assert (state.values, state.next) == ({"log": ["good"]}, ("bad",))
    assert {task.name: task.error for task in state.tasks} == {"good": None, "bad": stored}


def test_a_refused_update_with_an_error_that_takes_no_notes(way: Any) -> None:
    """CP-54: a reducer may raise such a one, too; it is told on the task."""
    error = Frozen(4)

    def reduce(old: list[str], new: list[str]) -> list[str]:
        if "a" in new:
            raise error
        return old + new

    schema = TypedDict("schema", {"log": Annotated[list, reduce]})  # noqa: UP013
    graph = StateGraph(schema).add_node("a", say("a")).add_edge(START, "a")
    compiled = graph.compile(checkpointer=InMemorySaver())
    with pytest.raises(Frozen) as caught:
        way.invoke(compiled, {"log": ["in"]}, CONFIG)
    assert caught.value is error
    state = way.state(compiled, CONFIG)
    assert (state.values, state.next) == ({"log": ["in"]}, ("a",))
    assert [task.error for task in state.tasks] == [Frozen(4)]


@pytest.mark.parametrize(
    "nonsense",
    [
        lambda done, open_: Finished("zz", []),
        lambda done, open_: Failed("zz", ValueError("boom")),
        lambda done, open_: Finished(done, [("log", ["again"])]),
        lambda done, open_: Failed(done, ValueError("boom")),
        lambda done, open_: Finished(open_, None),
        lambda done, open_: (open_, []),
        lambda done, open_: "done",
        lambda done, open_: 0,
    ],
    ids=["unknown", "unknown failed", "twice", "twice failed", "None", "tuple", "text", "zero"],
)
@pytest.mark.parametrize("saver", [True, False], ids=["saver", "no saver"])
def test_an_answer_that_makes_no_sense(nonsense: Any, saver: bool) -> None:
    """Whoever drives by hand is told which tasks there are; nothing is stored by it."""
    builder = StateGraph(State).add_node("a", say("a")).add_node("b", say("b"))
    builder.add_edge(START, "a").add_edge(START, "b")
    graph = builder.compile(checkpointer=InMemorySaver() if saver else None)
    program = graph.program({"log": []}, CONFIG if saver else None)
    driver = Driver(graph.checkpointer)
    answer: Any = None
    while not (isinstance(effect := program.send(answer), Start) and effect.view.step == 1):
        answer = driver.perform(effect)
    a, b = effect.tasks
    assert program.send(None) == Next()
    effect = program.send(Finished(a.id, [("log", ["a"])]))
    if saver:
        driver.perform(effect)
        effect = program.send(None)
    assert effect == Next()
    before = [*graph.checkpointer.list(CONFIG)] if saver else []

    with pytest.raises(TypeError) as caught:
        program.send(nonsense(a.id, b.id))

    assert str(caught.value).startswith("Next was answered with ")
    assert str(caught.value).endswith(f" for one of the task ids ['{b.id}'].")
    if saver:
        assert [*graph.checkpointer.list(CONFIG)] == before
        assert graph.get_state(CONFIG).values == {"log": ["a"]}
        assert graph.invoke(None, CONFIG) == {"log": ["a", "b"]}


# ---------------------------------------------------------------- where to start


def test_finished_writes() -> None:
    """CP-21: a task has finished when it wrote anything but its error or its question."""
    assert finished_writes(None) == {}
    saved = CheckpointTuple({}, {}, {}, None, None)  # type: ignore[typeddict-item]
    assert finished_writes(saved) == {}
    writes = [
        ("1", "log", ["a"]),
        ("2", "__error__", "boom"),
        ("1", "x", 1),
        ("3", "__no_writes__", None),
        ("4", "__interrupt__", "?"),
    ]
    assert finished_writes(saved._replace(pending_writes=writes)) == {
        "1": [("log", ["a"]), ("x", 1)],
        "3": [("__no_writes__", None)],
    }


def test_new_input_on_a_finished_thread(way: Any) -> None:
    """CP-50, CP-11: one more input checkpoint, and the state is kept; as observed."""
    graph = chain("a", "b")
    way.invoke(graph, {"log": ["1"]}, CONFIG)
    assert way.invoke(graph, {"log": ["2"]}, CONFIG) == {"log": ["1", "a", "b", "2", "a", "b"]}
    rows = [*graph.checkpointer.list(CONFIG)][::-1]
    assert [(row.metadata["source"], row.metadata["step"]) for row in rows] == [
        *[("input", -1), ("loop", 0), ("loop", 1), ("loop", 2)],
        *[("input", 3), ("loop", 4), ("loop", 5), ("loop", 6)],
    ]
    assert all(row.checkpoint["versions_seen"]["__input__"] == {} for row in rows)


def test_new_input_on_a_thread_that_waits(way: Any) -> None:
    """CP-51: those who waited are given up as if they had run; as observed."""
    graph = chain("a", "b", interrupt_before=["b"])
    way.invoke(graph, {"log": ["1"]}, CONFIG)
    assert way.invoke(graph, {"log": ["2"]}, CONFIG) == {"log": ["1", "a", "2", "a"]}
    seen = graph.checkpointer.get_tuple(CONFIG).checkpoint["versions_seen"]
    assert [*seen["b"]] == ["branch:to:b"]
    assert way.state(graph, CONFIG).next == ("b",)


def test_nothing_to_do_on_a_finished_thread(way: Any) -> None:
    """CP-52: runs nothing, stores nothing, returns the state."""
    graph = chain("a")
    way.invoke(graph, {"log": []}, CONFIG)
    before = way.history(graph, CONFIG)
    assert way.invoke(graph, None, CONFIG) == {"log": ["a"]}
    assert way.stream(graph, None, CONFIG) == []
    assert way.stream(graph, None, CONFIG, stream_mode="values") == [{"log": ["a"]}]
    assert way.history(graph, CONFIG) == before


def test_an_empty_checkpoint_id_means_the_latest(way: Any) -> None:
    """CP-52: so nothing is replayed: a finished thread runs nothing, and stores nothing."""
    graph = chain("a")
    empty: Any = {"configurable": {"thread_id": "t", "checkpoint_id": ""}}
    way.invoke(graph, {"log": []}, CONFIG)
    before = way.history(graph, CONFIG)
    assert way.invoke(graph, None, empty) == {"log": ["a"]}
    assert way.stream(graph, None, empty) == []
    assert way.history(graph, CONFIG) == before
    assert way.invoke(graph, {"log": ["2"]}, empty) == {"log": ["a", "2", "a"]}
    assert [state.metadata["step"] for state in way.history(graph, CONFIG)] == [4, 3, 2, 1, 0, -1]


def test_reducers_are_asked_once_when_a_super_step_is_only_saved(way: Any) -> None:
    """CP-54: all is done but the checkpoint. Whether that can be applied is found out by doing
    it, and once: a reducer that edits its left side would otherwise do so twice."""
    asked: list[list[str]] = []

    def extend(old: list[str], new: list[str]) -> list[str]:
        asked.append(new)
        old.extend(new)
        return old

    class Sick(InMemorySaver):
        failing = True

        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            if self.failing and metadata["step"] == 1:
                raise OSError("disk")
            return super().put(config, checkpoint, metadata, new_versions)

    schema = TypedDict("schema", {"log": Annotated[list, extend]})  # noqa: UP013
    builder = StateGraph(schema).add_node("a", say("a")).add_node("b", say("b"))
    saver = Sick()
    graph = builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=saver)
    with pytest.raises(OSError, match="disk"):
        way.invoke(graph, {"log": ["in"]}, CONFIG, durability="sync")
    assert asked == [["in"], ["a"]]
    saver.failing = False
    asked.clear()

    assert way.invoke(graph, None, CONFIG, durability="sync") == {"log": ["in", "a", "b"]}

    assert asked == [["a"], ["b"]]
    assert [state.values for state in way.history(graph, CONFIG)] == [
        {"log": ["in", "a", "b"]},
        {"log": ["in", "a"]},
        {"log": ["in"]},
        {"log": []},
    ]


def test_the_same_run_id_resumes(way: Any) -> None:
    """CP-53: the input is ignored; another id, or none, starts anew."""
    graph = chain("a", "b")
    config: Any = {**CONFIG, "metadata": {"run_id": "r"}}
    way.invoke(graph, {"log": ["1"]}, config)
    assert way.invoke(graph, {"log": ["2"]}, config) == {"log": ["1", "a", "b"]}
    assert len(way.history(graph, CONFIG)) == 4
    other: Any = {**CONFIG, "metadata": {"run_id": "other"}}
    assert way.invoke(graph, {"log": ["3"]}, other)["log"][3:] == ["3", "a", "b"]
    assert way.invoke(graph, {"log": ["4"]}, CONFIG)["log"][6:] == ["4", "a", "b"]


def test_a_command_that_starts_a_thread(way: Any) -> None:
    """CS-12: it is applied once, with an empty input. In the reference twice."""
    graph = chain("a")
    assert way.invoke(graph, Command(update={"log": ["u"]}), CONFIG) == {"log": ["u", "a"]}


@pytest.mark.parametrize(
    ("command", "error", "words"),
    [
        (Command(), EmptyInputError, "The Command is empty"),
        (Command(graph=Command.PARENT, goto="a"), InvalidUpdateError, "no parent graph"),
        (Command(goto=[5]), TypeError, "expected Send/str, got int"),
        (Command(update=5), InvalidUpdateError, "update"),
    ],
)
def test_commands_that_cannot_be(
    way: Any, command: Command[Any], error: type[Exception], words: str
) -> None:
    """CS-13: refused in words, before anything is stored."""
    graph = chain("a")
    way.invoke(graph, {"log": []}, CONFIG)
    before = way.history(graph, CONFIG)
    with pytest.raises(error, match=words):
        way.invoke(graph, command, CONFIG)
    assert way.history(graph, CONFIG) == before


def test_failure_and_resume(way: Any) -> None:
    """CP-54, CP-22, ER-40: no checkpoint, the error as text, and only the failed one again."""
    ran: list[str] = []

    def bad(state: State) -> Any:
        ran.append("bad")
        if ran.count("bad") == 1:
            raise ValueError("boom")
        return {"log": ["bad"]}

    builder = StateGraph(State).add_node("ok", lambda s: ran.append("ok") or {"log": ["ok"]})
    builder.add_node("bad", bad).add_edge(START, "ok").add_edge(START, "bad")
    graph = builder.compile(checkpointer=InMemorySaver())
    with pytest.raises(ValueError, match="boom"):
        graph.invoke({"log": []}, CONFIG)

    stored = graph.checkpointer.get_tuple(CONFIG).pending_writes
    assert [write[1:] for write in stored] == [("__error__", "ValueError('boom')"), ("log", ["ok"])]
    assert way.stream(graph, None, CONFIG) == [
        {"ok": {"log": ["ok"]}, "__metadata__": {"cached": True}},  # ST-13
        {"bad": {"log": ["bad"]}},
    ]
    assert sorted(ran) == ["bad", "bad", "ok"]
    assert way.state(graph, CONFIG).values == {"log": ["bad", "ok"]}


def test_failing_again_tells_the_newer_error(way: Any) -> None:
    """CP-20: a task has at most one error."""
    count = itertools.count(1)

    def bad(state: State) -> Any:
        raise ValueError(f"boom {next(count)}")

    builder = StateGraph(State).add_node("bad", bad).add_edge(START, "bad")
    graph = builder.compile(checkpointer=InMemorySaver())
    for input, number in (({"log": []}, 1), (None, 2), (None, 3)):
        with pytest.raises(ValueError, match=f"boom {number}"):
            way.invoke(graph, input, CONFIG)
        assert [task.error for task in way.state(graph, CONFIG).tasks] == [
            f"ValueError('boom {number}')"
        ]


# ---------------------------------------------------------------- how far


@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["no saver", "saver"])
def test_the_recursion_limit(way: Any, saver: Any, limit: int) -> None:
    """SS-41, SS-42: so many super-steps of nodes run; START's is not counted."""
    graph = loop(saver)
    chunks: list[Any] = []
    with pytest.raises(GraphRecursionError, match="recursion_limit") as caught:
        way.stream_into(chunks, graph, {"x": 0}, {**CONFIG, "recursion_limit": limit})
    assert chunks == [{"a": {"x": i + 1}} for i in range(limit)]
    assert isinstance(caught.value, RecursionError)
    message = str(caught.value)
    assert message.startswith(f"The run has made the {limit} super-steps that its recursion_limit")
    assert f"is not over: super-step {limit + 1} would run a." in message
    assert message.endswith("Error code: GRAPH_RECURSION_LIMIT")


@pytest.mark.parametrize(("limit", "enough"), [(1, False), (2, False), (3, True)])
def test_the_limit_is_looked_at_before_planning(way: Any, limit: int, enough: bool) -> None:
    """SS-42: a chain of two needs three."""
    graph = chain("a", "b", saver=None)
    if enough:
        assert way.invoke(graph, {"log": []}, {"recursion_limit": limit}) == {"log": ["a", "b"]}
    else:
        with pytest.raises(GraphRecursionError):
            way.invoke(graph, {"log": []}, {"recursion_limit": limit})


def test_the_limit_leaves_a_thread_that_can_go_on(way: Any) -> None:
    """SS-43: with a fresh budget; as observed."""
    graph = loop(until=5)
    with pytest.raises(GraphRecursionError):
        way.invoke(graph, {"x": 0}, {**CONFIG, "recursion_limit": 2})
    state = way.state(graph, CONFIG)
    assert (state.values["x"], state.next, state.metadata["step"]) == (2, ("a",), 2)
    assert way.invoke(graph, None, CONFIG)["x"] == 5


def test_the_default_limit() -> None:
    """SS-40: 10007 super-steps, and not one more."""
    count = itertools.count(1)
    last = [0]

    def node(state: int) -> None:
        last[0] = next(count)

    builder = StateGraph(int).add_node("a", node).add_edge(START, "a").add_edge("a", "a")
    with pytest.raises(GraphRecursionError, match="10007"):
        builder.compile().invoke(0)
    assert last == [10007]


# ---------------------------------------------------------------- what comes out


def test_values_are_told_when_an_output_channel_was_written(way: Any) -> None:
    """ST-10: not for a node that writes nothing; yes for an equal value, or an empty list."""
    builder = (
        StateGraph(State).add_node("none", lambda s: None).add_node("same", lambda s: {"x": 1})
    )
    builder.add_node("empty", lambda s: {"log": []}).add_edge(START, "none")
    graph = builder.add_edge("none", "same").add_edge("same", "empty").compile()
    state = {"log": [], "x": 1}
    assert way.stream(graph, {"log": [], "x": 1}, stream_mode="values") == [state] * 3
    assert way.stream(graph, {"log": [], "x": 1}) == [
        {"none": None},
        {"same": {"x": 1}},
        {"empty": {"log": []}},
    ]


class Fading(TypedDict, total=False):
    note: Annotated[str, EphemeralValue]
    x: int


def test_the_result_is_the_last_state_told(way: Any) -> None:
    """ST-04: also where a channel loses its value after it was told."""
    builder = StateGraph(Fading).add_node("a", lambda state: {"note": "n"})
    graph = builder.add_node("b", lambda state: None).add_edge(START, "a").add_edge("a", "b")
    # b writes nothing, so nothing is told after its step, in which the note fades.
    assert way.invoke(graph.compile(), {"x": 1}) == {"note": "n", "x": 1}
    assert way.stream(graph.compile(), {"x": 1}, stream_mode="values")[-1] == {"note": "n", "x": 1}
    saved = graph.compile(checkpointer=InMemorySaver())
    assert way.invoke(saved, {"x": 1}, CONFIG) == {"note": "n", "x": 1}
    assert way.state(saved, CONFIG).values == {"x": 1}


@pytest.mark.parametrize("output_keys", [None, ["x"], "x", ["log", "x"], []])
def test_invoke_and_the_stream_of_values_agree(way: Any, output_keys: Any) -> None:
    """ST-04, ST-12: whether the output is read late or after every step."""
    for graph in (chain("a", "b", saver=None), loop(None, until=3)):
        input = {"log": ["in"], "x": 0}
        chunks = way.stream(graph, input, stream_mode="values", output_keys=output_keys)
        assert way.invoke(graph, input, output_keys=output_keys) == (chunks[-1] if chunks else None)
