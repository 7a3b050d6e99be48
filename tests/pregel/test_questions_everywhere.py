"""Wherever a question is asked, and however it is run and stored: pause, resume, replay, fork.

Every cell of the table in docs/questions.md is run here. The table is what comes out:

    python tests/pregel/test_questions_everywhere.py        writes it anew
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import product
from operator import add
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from minigraph.graph import START, StateGraph
from minigraph.types import Command, interrupt

PAGE = Path(__file__).parent.parent.parent / "docs" / "questions.md"
MEMORIES = {"inherit": None, "own": True, "none": False}
PLACES = [
    "root",
    *(f"{place}, {memory}" for place in ("node", "nested", "called") for memory in MEMORIES),
]
WAYS = ["sync", "async"]
SAVERS = ["memory", "sqlite"]
DURABILITIES = ["sync", "async", "exit"]


class State(TypedDict, total=False):
    log: Annotated[list[str], add]


class Cell(NamedTuple):
    """One cell of the table."""

    place: str
    way: str
    saver: str
    durability: str


CELLS = [Cell(*each) for each in product(PLACES, WAYS, SAVERS, DURABILITIES)]


def built(place: str, way: str, saver: Any) -> tuple[Any, list[str]]:
    """A graph in which somebody asks two questions, and the list of what has run in it."""
    ran: list[str] = []

    def prepare(state: State) -> State:
        ran.append("prepare")
        return {"log": ["prepared"]}

    def ask(state: State) -> State:
        ran.append("ask")
        return {"log": [f"{interrupt('one?')}{interrupt('two?')}"]}

    asking = StateGraph(State).add_sequence([prepare, ask]).add_edge(START, "prepare")
    kind, _, memory = place.partition(", ")
    if kind == "root":
        return asking.compile(checkpointer=saver), ran

    inner = asking.compile(checkpointer=MEMORIES[memory])

    def call(state: State) -> Any:
        return {"log": inner.invoke({"log": []})["log"]}

    async def call_async(state: State) -> Any:
        return {"log": (await inner.ainvoke({"log": []}))["log"]}

    def around(node: Any) -> Any:
        return StateGraph(State).add_node("inner", node).add_edge(START, "inner")

    if kind == "nested":
        middle: Any = around(inner).compile(checkpointer=MEMORIES[memory])
    elif kind == "called":
        middle = call if way == "sync" else call_async
    else:
        middle = inner
    return around(middle).compile(checkpointer=saver), ran


@asynccontextmanager
async def saver_for(cell: Cell, folder: Path) -> AsyncIterator[Any]:
    if cell.saver == "memory":
        yield InMemorySaver()
    elif cell.way == "sync":
        with SqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
            yield saver
    else:
        async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as aio:
            yield aio


async def outcome(cell: Cell, folder: Path) -> str:
    """What comes of pausing, resuming, replaying and forking, in one cell."""
    async with saver_for(cell, folder) as saver:
        graph, ran = built(cell.place, cell.way, saver)
        thread: Any = {"configurable": {"thread_id": "t"}}

        async def run(input: Any, config: Any = thread) -> Any:
            if cell.way == "sync":
                return graph.invoke(input, config, durability=cell.durability)
            return await graph.ainvoke(input, config, durability=cell.durability)

        async def answered(asked: Any, answers: str) -> str:
            """Answer two questions; the last entry of the log is what the node made of them."""
            seen = []
            for answer in answers:
                (question,) = asked["__interrupt__"]
                seen.append(question.value)
                asked = await run(Command(resume=answer))
            assert seen == ["one?", "two?"]
            assert "__interrupt__" not in asked
            return str(asked["log"][-1])

        async def history() -> list[Any]:
            if cell.way == "sync":
                return [*graph.get_state_history(thread)]
            return [each async for each in graph.aget_state_history(thread)]

        async def update(config: Any) -> Any:
            if cell.way == "sync":
                return graph.update_state(config, {"log": ["forked"]})
            return await graph.aupdate_state(config, {"log": ["forked"]})

        asked = await run({"log": []})
        paused = (await history())[0]
        resumed = await answered(asked, "AB")
        before = await history()

        replayed = await answered(await run(None, paused.config), "CD")
        forked = await answered(await run(None, await update(paused.config)), "EF")
        assert (await history())[-len(before) :] == before  # the first branch is as it was
        end = (await history())[0].values["log"]
        assert "forked" in end
        again = ran.count("prepare")
        return f"{paused.next[0]} · {resumed} · {replayed} · {forked} · {again}"


def expected(cell: Cell) -> str:
    """Where it paused; what was answered at the resume, replay and fork; how often it prepared."""
    kind, _, memory = cell.place.partition(", ")
    where = "ask" if kind == "root" else "inner"
    if kind == "root":
        prepared = 1  # all goes on from behind it
    elif memory == "none":
        prepared = 9  # nothing is kept, so each of three runs that ask, with two answers each
    else:
        prepared = 3
    return f"{where} · AB · CD · EF · {prepared}"


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: "-".join(cell).replace(", ", "-"))
def test_a_cell(cell: Cell, tmp_path: Path) -> None:
    """IN-04, SB-12, SB-14, SB-21, TT-01, TT-05, TT-20: the values are the same in every cell."""
    assert asyncio.run(outcome(cell, tmp_path)) == expected(cell)


def table() -> Iterator[str]:
    """The table, run cell by cell."""
    yield f"| Asked in | Run | Saver | {' | '.join(DURABILITIES)} |"
    yield "|" + "---|" * (3 + len(DURABILITIES))
    for place, way, saver in product(PLACES, WAYS, SAVERS):
        row = []
        for durability in DURABILITIES:
            with tempfile.TemporaryDirectory() as folder:
                cell = Cell(place, way, saver, durability)
                row.append(asyncio.run(outcome(cell, Path(folder))))
        yield f"| {place} | {way} | {saver} | {' | '.join(row)} |"


def written() -> list[str]:
    """The rows of the table in the docs."""
    return re.findall(r"^\|.*\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_table_in_the_docs() -> None:
    """It has every cell, and each says what comes out."""
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in written()[2:]]
    found = {
        Cell(place, way, saver, durability): text
        for place, way, saver, *texts in rows
        for durability, text in zip(DURABILITIES, texts, strict=True)
    }
    assert found == {cell: expected(cell) for cell in CELLS}


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- table -->\n")
    _, _, after = rest.partition("<!-- end of table -->")
    made = "\n".join(table())
    PAGE.write_text(
        f"{before}<!-- table -->\n\n{made}\n\n<!-- end of table -->{after}", encoding="utf-8"
    )
    sys.exit(0)
