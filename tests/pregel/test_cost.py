"""What a super-step costs follows what changed in it, not what there is.

Shown by counting calls, so that it does not depend on the machine: the same graph in three
widths, 10, 100 and 1,000, and each super-step makes the same few calls in all of them.

The cost of one super-step is the difference between a longer run and a shorter one, so what a
run does once (bring a checkpoint to life, read the input) is not in it.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.channels.base import BaseChannel
from minigraph.channels.untracked_value import UntrackedValue
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.graph import END, START, StateGraph
from minigraph.pregel.drive import Driver
from minigraph.pregel.effects import Save
from minigraph.types import Send

METHODS = ["update", "copy", "get", "checkpoint", "consume", "finish", "from_checkpoint"]
WIDTHS = [10, 100, 1000]
CONFIG: Any = {"configurable": {"thread_id": "t"}}


def classes(cls: type[Any] = BaseChannel) -> Iterator[type[Any]]:
    """A class and all that are made from it."""
    yield cls
    for child in cls.__subclasses__():
        yield from classes(child)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often which method of any channel was called from outside of the channel."""
    counter: Counter[str] = Counter()
    inside: set[str] = set()

    def counted(method: str, plain: Any) -> Any:
        def call(self: Any, *args: Any) -> Any:
            if method in inside:  # a class that asks its base class
                return plain(self, *args)
            counter[method] += 1
            inside.add(method)
            try:
                return plain(self, *args)
            finally:
                inside.discard(method)

        return call

    for cls in {*classes()}:
        for method in METHODS:
            # Only where a class defines it: which classes override what is looked at, too.
            if method in vars(cls):
                monkeypatch.setattr(cls, method, counted(method, vars(cls)[method]))
    return counter


class Watched(dict[str, Any]):
    """A dict that counts how many of its entries were looked at."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.looks = 0

    def __getitem__(self, key: str) -> Any:
        self.looks += 1
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.looks += 1
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        self.looks += len(self)
        return super().__iter__()

    def items(self) -> Any:
        self.looks += len(self)
        return super().items()

    def values(self) -> Any:
        self.looks += len(self)
        return super().values()


def per_step(calls: Counter[str], run: Any, steps: int = 10) -> dict[str, float]:
    """What each of `steps` more super-steps costs."""
    run(5)  # what happens once in a graph's life, such as filling a cache
    calls.clear()
    run(5)
    short = calls.copy()
    calls.clear()
    run(5 + steps)
    return {
        method: (calls[method] - short[method]) / steps
        for method in METHODS
        if calls[method] != short[method]
    }


# ---------------------------------------------------------------- graphs of any width


def wide_state(width: int) -> Any:
    """A state of `width` keys, all of them filled, of four kinds."""
    kinds = [int, Annotated[int, UntrackedValue], Annotated[list, operator.add]]
    keys: dict[str, Any] = {f"k{i:04d}": kinds[i % len(kinds)] for i in range(width)}
    return TypedDict("State", {**keys, "n": int})  # type: ignore[operator, misc]


def full(width: int) -> dict[str, Any]:
    return {f"k{i:04d}": [i] if i % 3 == 2 else i for i in range(width)}


def one_that_moves(width: int, saver: Any) -> Any:
    """A loop of one node that moves one key; so many others lie still."""
    builder = StateGraph(wide_state(width))
    builder.add_node("tick", lambda state: {"n": state["n"] - 1})
    builder.add_edge(START, "tick")
    builder.add_conditional_edges("tick", lambda state: "tick" if state["n"] > 0 else END)
    return builder.compile(checkpointer=saver)


def many_that_sleep(width: int, saver: Any) -> Any:
    """A loop of two nodes, and so many others that nobody goes to, some through joins."""
    builder = StateGraph(TypedDict("State", {"n": int}))
    builder.add_node("tick", lambda state: {"n": state["n"] - 1})
    builder.add_node("tock", lambda state: None)
    for i in range(width):
        builder.add_node(f"sleeper{i}", lambda state: None)
    for i in range(0, width - 2, 3):
        builder.add_edge([f"sleeper{i}", f"sleeper{i + 1}"], f"sleeper{i + 2}")
    builder.add_edge(START, "tick").add_edge("tock", "tick")
    builder.add_conditional_edges("tick", lambda state: "tock" if state["n"] > 0 else END)
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["no saver", "saver"])
@pytest.mark.parametrize("width", WIDTHS)
def test_keys_that_lie_still_cost_nothing(calls: Counter[str], width: int, saver: Any) -> None:
    """One key and one trigger move: each is copied, updated and asked for its content once.

    What is stored of them is also what is read, so that is one question. The route reads the
    state with the node's own write in it: one more copy, update and read.
    """
    graph = one_that_moves(width, saver and saver())

    cost = per_step(calls, lambda steps: graph.invoke({**full(width), "n": steps}, CONFIG))

    assert cost == {"update": 3, "copy": 3, "get": 1, "checkpoint": 2}


@pytest.mark.parametrize("width", WIDTHS)
def test_nodes_that_sleep_cost_nothing(calls: Counter[str], width: int) -> None:
    """In every super-step one node runs; joins and branches of the others are never touched.

    Per two super-steps: tick writes n and tock's branch, and its own branch fades; the route
    reads n once more. Then tock writes tick's branch, and its own fades.
    """
    graph = many_that_sleep(width, InMemorySaver())

    cost = per_step(calls, lambda steps: graph.invoke({"n": steps}, CONFIG))

    assert cost == {"update": 3 + 2 + 1, "copy": 6, "get": 1, "checkpoint": 5}


@pytest.mark.parametrize("width", WIDTHS)
def test_deferred_nodes_that_sleep_cost_nothing(calls: Counter[str], width: int) -> None:
    """SS-10: when nothing else is left to run, only those are told that wait for it."""
    builder = StateGraph(TypedDict("State", {"n": int}))
    builder.add_node("tick", lambda state: {"n": state["n"] - 1})
    builder.add_node("late", lambda state: None, defer=True)
    for i in range(width):
        builder.add_node(f"sleeper{i}", lambda state: None, defer=True)
    for i in range(0, width - 2, 3):
        builder.add_edge([f"sleeper{i}", f"sleeper{i + 1}"], f"sleeper{i + 2}")
    builder.add_edge(START, "tick").add_edge("late", "tick")
    builder.add_conditional_edges("tick", lambda state: "late" if state["n"] > 0 else END)
    graph = builder.compile(checkpointer=InMemorySaver())

    cost = per_step(calls, lambda steps: graph.invoke({"n": steps}, CONFIG))

    # Per two super-steps: tick writes n and late's branch, its own branch fades, and late's is
    # finished; then late uses its branch up and writes tick's.
    assert cost["finish"] == 1
    assert cost["update"] == 3 + 1 + 1
    assert cost["consume"] == 1
    assert cost["copy"] <= 3 + 1 + 1 + 2


@pytest.mark.parametrize("width", WIDTHS)
def test_only_nodes_with_news_are_looked_at(width: int) -> None:
    """SS-23: planning looks at the nodes that listen to what moved, and at no others."""
    graph = many_that_sleep(width, InMemorySaver())
    watched = graph.layout.nodes = Watched(graph.layout.nodes)

    def looks(steps: int) -> int:
        watched.looks = 0
        graph.invoke({"n": steps}, CONFIG)
        return watched.looks

    looks(1)  # an input on a thread that has a history asks every node once what was waiting
    # Two super-steps each, and one node in each of them.
    assert looks(15) - looks(5) == 10 * 2


@pytest.mark.parametrize("width", WIDTHS)
def test_a_checkpoint_names_only_what_moved(width: int) -> None:
    """DU-05: a saver is told which values are new, and needs to convert no others."""
    graph = one_that_moves(width, InMemorySaver())
    program = graph.program({**full(width), "n": 3}, CONFIG)
    driver = Driver(graph.checkpointer)
    moved = []
    answer = None
    try:
        while True:
            effect = program.send(answer)
            if isinstance(effect, Save):
                moved.append(sorted(effect.new_versions))
            answer = driver.perform(effect)
    except StopIteration:
        pass

    assert moved[0] == ["__start__"]
    assert len(moved[1]) == width + 3
    assert moved[2:] == [["branch:to:tick", "n"]] * 3


@pytest.mark.parametrize("count", [1, 10, 100])
def test_parallel_tasks_cost_one_update_of_their_channel(calls: Counter[str], count: int) -> None:
    """All writes of a super-step reach a channel in one batch, however many there are."""
    schema = TypedDict("State", {"log": Annotated[list, operator.add]})  # noqa: UP013
    builder = StateGraph(schema).add_node("work", lambda arg: {"log": [arg]})
    builder.add_conditional_edges(START, lambda s: [Send("work", i) for i in range(count)])
    graph = builder.compile()
    graph.invoke({"log": []})
    calls.clear()

    assert graph.invoke({"log": []}) == {"log": [*range(count)]}

    # The input; START: log, the waiting Sends, its fading channel, and once more for the route;
    # the work: log, and the mailbox of Sends is emptied.
    assert calls["update"] == 1 + 4 + 2


@pytest.mark.parametrize("width", WIDTHS)
def test_a_thread_is_brought_to_life_once_per_call(calls: Counter[str], width: int) -> None:
    """The part that is linear in the width: one `from_checkpoint` for each stored value."""
    graph = one_that_moves(width, InMemorySaver())
    graph.invoke({**full(width), "n": 3}, CONFIG)
    stored = next(graph.checkpointer.list(CONFIG)).checkpoint["channel_values"]
    # Those that have something to hold before anything is stored: the aggregates and the mailbox.
    filled = {f"k{i:04d}" for i in range(width) if i % 3 == 2} | {"__pregel_tasks"}
    calls.clear()

    graph.get_state(CONFIG)

    assert calls["from_checkpoint"] == len({*stored} | filled)
    assert calls["update"] == calls["consume"] == calls["finish"] == 0
