"""The story: what the tour runs, in which order, and the words between.

1  run           four checkpoints come into being
2  checkpoints   what was stored
3  replay        from the middle, with the same values
4  fork          from the middle, with another value
5  thread        all of it, as a tree
"""

from __future__ import annotations

import inspect
import os
import sys
import textwrap
from collections.abc import Sequence
from operator import add
from typing import Annotated, Any, TextIO, TypedDict

from minigraph import __version__
from minigraph.checkpoint.memory.saver import InMemorySaver
from minigraph.constants import END, START
from minigraph.graph.compile import CompiledStateGraph
from minigraph.graph.state import StateGraph
from minigraph.pregel.drive import finish
from minigraph.pregel.inspect import update_program
from minigraph.tour.narrator import Narrator, count_ends, id_of, short, tell_checkpoints
from minigraph.tour.page import ACCENT, BOLD, PLAIN, QUIET, Page
from minigraph.types import RunnableConfig, StateSnapshot, StateUpdate

# ---------------------------------------------------------------- the example


class State(TypedDict):
    foo: str  # a write replaces it
    bar: Annotated[list[str], add]  # a write is added


def node_a(state: State) -> dict[str, Any]:
    return {"foo": "a", "bar": ["a"]}


def node_b(state: State) -> dict[str, Any]:
    return {"foo": "b", "bar": ["b"]}


def two_nodes() -> CompiledStateGraph:
    """START ─▶ node_a ─▶ node_b ─▶ END, with a saver.

    >>> two_nodes().invoke({"foo": "", "bar": []}, {"configurable": {"thread_id": "1"}})
    {'foo': 'b', 'bar': ['a', 'b']}
    """
    builder = StateGraph(State)
    builder.add_sequence([node_a, node_b])
    builder.add_edge(START, "node_a").add_edge("node_b", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    return graph


# ---------------------------------------------------------------- the chapters


def tour(stream: TextIO, *, plain: bool = False) -> None:
    """Write the whole tour to `stream`.

    Args:
        stream: a terminal, a pipe, a file.
        plain: no colours.

    Raises `BrokenPipeError` when the reader of a pipe has gone.
    """
    page = Page(stream, plain=plain)
    graph = two_nodes()
    thread: RunnableConfig = {"configurable": {"thread_id": "1"}}

    introduce(page)
    run(page, graph, thread)
    history = oldest_first(graph, thread)
    show_checkpoints(page, history)
    before_b = next(each for each in history if each.next == ("node_b",))
    replay(page, graph, before_b)
    fork(page, graph, before_b)
    show_thread(page, oldest_first(graph, thread))
    page.line()
    page.line(("Now read how a plan is made:", PLAIN))
    page.line((f"  {next_command(page.width)}", BOLD))


def introduce(page: Page) -> None:
    page.line((f"minigraph {__version__}", BOLD))
    page.line()
    page.paragraph(
        "Two nodes, run for real. A run has two halves: its program, a generator, decides what "
        "to do next; its driver, a loop around it, starts the tasks and saves the checkpoints. "
        "This driver also tells what it is asked to do."
    )
    for source in (*(inspect.getsource(each) for each in (State, node_a, node_b)), building()):
        page.line()
        for line in source.splitlines():
            page.line((f"  {line}", QUIET))
    page.line()
    page.line(("  START ─▶ node_a ─▶ node_b ─▶ END", PLAIN))


ON_PLANS = (
    "A node runs when a channel that it listens to is newer than what it has seen. START is "
    "a node too: it passes the input on."
)
ON_WRITES = (
    "A node returns writes and changes nothing. To follow an edge is to write to the channel "
    "that the next node listens to."
)
ON_UPDATES = (
    "In the update every channel takes in its writes: foo replaces, bar adds. All channels "
    "that changed get the same new version."
)


def run(page: Page, graph: CompiledStateGraph, thread: RunnableConfig) -> None:
    page.heading("1  Run")
    given: State = {"foo": "", "bar": []}
    page.line((f"graph.invoke({given})", ACCENT))
    page.paragraph("An input is a write to the channel __start__, and makes a checkpoint.")
    narrator = Narrator(graph, page, [ON_PLANS, ON_WRITES, ON_UPDATES])
    narrator.tell_result(finish(narrator.drive(graph.program(given, thread))))
    page.paragraph("Nothing is news to any node now: there is no plan, and the run is over.")


def show_checkpoints(page: Page, history: Sequence[StateSnapshot]) -> None:
    page.heading("2  What is kept")
    page.paragraph(
        f"{len(history)} checkpoints: one for the input, one after each super-step. Each has all "
        "values and versions, so the next plan can be made in this process or in another."
    )
    page.paragraph(
        "Before anything is written, bar is [], from which its reducer starts; foo has no value."
    )
    page.line()
    tell_checkpoints(page, history, ["foo", "bar"])


def replay(page: Page, graph: CompiledStateGraph, chosen: StateSnapshot) -> None:
    page.heading(f"3  Replay from before {' and '.join(chosen.next)}")
    page.line((f"graph.invoke(None, {named(chosen.config)})", ACCENT))
    page.paragraph(
        "Naming a checkpoint means: run from a copy of it. The copy is saved first, for history "
        "is never edited. Its source is called fork, and it counts as a step."
    )
    narrator = Narrator(graph, page)
    narrator.tell_result(finish(narrator.drive(graph.program(None, chosen.config))))
    page.paragraph(
        f"Only {' and '.join(narrator.ran)} ran again. What the others wrote was in the checkpoint."
    )


def fork(page: Page, graph: CompiledStateGraph, chosen: StateSnapshot) -> None:
    page.heading("4  Fork with another value")
    values = {"bar": ["z"]}
    page.line((f"graph.update_state({named(chosen.config)}, {values})", ACCENT))
    page.paragraph(
        "An update from outside is a super-step in which one node is taken to have returned the "
        "values: the one that ran last, unless you name another. It makes a checkpoint beside "
        "the copy, with the source update; steps are counted along each branch."
    )
    updates = [[StateUpdate(values)]]
    program = update_program(graph.layout, chosen.config, updates, graph.environment)
    updated: RunnableConfig = finish(Narrator(graph, page).drive(program))
    page.line()
    page.line((f"graph.invoke(None, {named(updated)})", ACCENT))
    page.paragraph("No copy this time: this checkpoint is the newest, and was made to be run from.")
    narrator = Narrator(graph, page)
    narrator.tell_result(finish(narrator.drive(graph.program(None, updated))))
    page.paragraph(
        f"{' and '.join(narrator.ran)} ran, and found the other value. There is one clock for all "
        "channels: the update had used v4, so foo went from v3 to v5."
    )


def show_thread(page: Page, history: Sequence[StateSnapshot]) -> None:
    page.heading("5  The thread")
    page.paragraph(
        f"{len(history)} checkpoints on {count_ends(history)} branches: every checkpoint knows "
        f"its parent. The newest, {short(id_of(history[-1].config))}, is where a call without a "
        "checkpoint_id goes on."
    )
    page.line()
    tell_checkpoints(page, history, ["bar"], as_tree=True)


# ---------------------------------------------------------------- help


def oldest_first(graph: CompiledStateGraph, thread: RunnableConfig) -> list[StateSnapshot]:
    return [*graph.get_state_history(thread)][::-1]


def building() -> str:
    """The lines that build the graph: the body of `two_nodes`."""
    body = inspect.getsource(two_nodes).rpartition('"""')[2]
    return textwrap.dedent(body.removesuffix("    return graph\n").lstrip("\n"))


def named(config: RunnableConfig) -> str:
    return f"<{short(id_of(config))}>"


def next_command(width: int) -> str:
    """How to read the module that makes a plan, with the Python that runs this."""
    read = "-m inspect minigraph.pregel.plan"
    python = sys.executable.removeprefix(os.getcwd() + os.sep)
    fits = python != sys.executable and len(f"  {python} {read}") <= width
    return f"{python if fits else 'python'} {read}"
