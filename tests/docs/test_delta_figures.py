"""The figures and the table of docs/delta-channel.md: real threads, measured and drawn.

    python tests/docs/test_delta_figures.py        draws them anew

Ids are counted and the clock stands still, so that the same rows come out each time. What is
drawn is compared with the files that are kept in docs/figures.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import count
from operator import add
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest

from minigraph.channels import DeltaChannel
from minigraph.channels.whole import _DeltaSnapshot
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.graph import END, START, StateGraph

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = DOCS / "delta-channel.md"
FIGURES = DOCS / "figures"
THREAD: Any = {"configurable": {"thread_id": "1"}}
TURNS = (10, 100, 1000)  # of the table
PLOTTED = 300  # turns of the plots

# Colours that can be told apart on white and on black; all else has the colour of the text.
COLOURS = {"list": "#d9772b", "delta": "#1d9a8a"}


def extend(value: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*value, *(item for write in writes for item in write)]


def with_counted_ids(graph: Any) -> Any:
    """The same graph, in a world where ids are counted and time stands still."""
    ids = count(1)

    def new_id(step: int) -> str:
        return f"1f000000-0000-6000-8000-{next(ids):012x}"

    def now() -> str:
        return "2030-01-01T00:00:00.000000+00:00"

    graph.environment = graph.environment._replace(new_id=new_id, now=now)
    return graph


# ---------------------------------------------------------------- a long conversation


class Plain(TypedDict):
    log: Annotated[list[str], add]


class Delta(TypedDict):
    log: Annotated[list[str], DeltaChannel(extend)]


SCHEMAS = {"list": Plain, "delta": Delta}


def answer(state: Any) -> Any:
    number = (len(state["log"]) + 1) // 2
    return {"log": [f"{number} times 17 is {number * 17}."]}


class Measured(NamedTuple):
    """What a conversation has cost.

    Fields:
        rows: bytes of each checkpoint, oldest first: of its own row, and of what lies beside it.
        files: size of the file after so many turns, for each of `TURNS`.
    """

    rows: Sequence[int]
    files: Sequence[int]


LENGTHS = """
    SELECT length(thread_id) + length(checkpoint_id) + ifnull(length(parent_checkpoint_id), 0)
           + length(type) + length(checkpoint) + length(metadata) + ifnull(beside.bytes, 0)
    FROM checkpoints LEFT JOIN (
        SELECT checkpoint_id AS id, sum(
            length(thread_id) + length(checkpoint_id) + length(task_id) + length(task_path)
            + length(channel) + length(type) + ifnull(length(value), 0)
        ) AS bytes FROM writes GROUP BY checkpoint_id
    ) AS beside ON beside.id = checkpoint_id
    ORDER BY checkpoint_id
"""


@cache
def measured(kind: str) -> Measured:
    """The same conversation in a SQLite file, with one channel or the other."""
    files = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "threads.db"
        conn = sqlite3.connect(path, check_same_thread=False)
        conn.execute("PRAGMA page_size = 4096")
        conn.execute("PRAGMA synchronous = OFF")  # the same file, sooner
        builder = StateGraph(SCHEMAS[kind]).add_node("answer", answer).add_edge(START, "answer")
        graph = with_counted_ids(builder.compile(checkpointer=SqliteSaver(conn)))
        for turn in range(1, max(TURNS) + 1):
            graph.invoke({"log": [f"What is {turn} times 17?"]}, THREAD, durability="sync")
            if turn in TURNS:
                conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                files.append(path.stat().st_size)
        rows = [length for (length,) in conn.execute(LENGTHS)]
        conn.close()
    return Measured(rows, files)


def of_plot(kind: str) -> Sequence[int]:
    """The sizes of the checkpoints that are plotted."""
    rows = measured(kind).rows
    return rows[: len(rows) * PLOTTED // max(TURNS)]


def size(count: int) -> str:
    """
    >>> size(950), size(48_318), size(12_600_000)
    ('1 kB', '48 kB', '12.6 MB')
    """
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def table() -> Iterator[str]:
    """The sizes of the files, rounded: a page more or less is SQLite's affair."""
    yield "| Turns | A list with a reducer | `DeltaChannel` |"
    yield "|---|---|---|"
    for turns, *sizes in zip(TURNS, measured("list").files, measured("delta").files, strict=True):
        texts = [size(int(float(f"{each:.2g}"))) for each in sizes]
        yield f"| {turns:,} | {' | '.join(texts)} |"


# ---------------------------------------------------------------- drawing


def tag(name: str, *content: str, **attributes: Any) -> str:
    """An element. Its attributes are written with an underscore for each dash.

    >>> tag("text", "a < b", font_size=13)
    '<text font-size="13">a &lt; b</text>'
    """
    listed = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    inner = "".join(content)
    if name in ("text", "title"):
        inner = inner.replace("&", "&amp;").replace("<", "&lt;")
    return f"<{name}{listed}>{inner}</{name}>" if content else f"<{name}{listed}/>"


text = partial(tag, "text", fill="currentColor", font_size=13)
line = partial(tag, "path", fill="none", stroke="currentColor")


def drawing(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    """A whole picture, which grows with the page up to its own size."""
    style = f"max-width:{width * 1.25:.0f}px"
    whole = tag(
        "svg",
        *("\n" + part for part in (tag("title", title), *parts)),
        "\n",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        role="img",
        font_family="sans-serif",
        style=style,
    )
    return whole + "\n"


def plot(kind: str) -> str:
    """Bytes for each checkpoint of a conversation, one after the other."""
    sizes = of_plot(kind)
    top = 2000 * (max(max(of_plot(each)) for each in SCHEMAS) // 2000 + 1)
    left, right, upper, lower = 46, 350, 34, 200
    across, up = (right - left) / len(sizes), (lower - upper) / top

    def y(bytes: int) -> str:
        return f"{lower - bytes * up:.1f}"

    corners = [f"M{left} {lower}"]
    height = ""
    for index, bytes in enumerate(sizes):
        if (here := y(bytes)) != height:  # a step only where there is one
            corners.append(f"H{left + index * across:.1f}V{here}")
            height = here
    corners.append(f"H{right}V{lower}Z")
    name = {"list": "A list with a reducer", "delta": "DeltaChannel"}[kind]
    total = f"{size(sum(sizes))} in all"
    parts = [
        text(name, x=left, y=18, font_weight="bold", font_size=14),
        text(total, x=right, y=18, text_anchor="end"),
    ]
    for bytes in range(0, top + 1, 4000):
        parts.append(line(d=f"M{left} {y(bytes)}H{right}", opacity=0.2 if bytes else 0.7))
        label = f"{bytes // 1000} kB" if bytes else "0"
        parts.append(text(label, x=left - 6, y=f"{lower - bytes * up + 4:.1f}", text_anchor="end"))
    colour = COLOURS[kind]
    parts.append(tag("path", d="".join(corners), fill=colour, stroke=colour))
    for turns in range(0, PLOTTED + 1, 100):
        x = f"{left + (right - left) * turns / PLOTTED:.1f}"
        label = f"{turns} turns" if turns == PLOTTED else str(turns)
        anchor = "end" if turns == PLOTTED else "middle"
        parts.append(line(d=f"M{x} {lower}v4", opacity=0.7))
        parts.append(text(label, x=x, y=lower + 18, text_anchor=anchor))
    title = f"{name}: bytes of each checkpoint in a conversation of {PLOTTED} turns"
    return drawing(title, right + 8, lower + 26, parts)


# ---------------------------------------------------------------- a small thread, with a fork


def small_thread() -> Any:
    """A thread of a few letters with a snapshot after every third update; and a fork of it."""

    class Letters(TypedDict):
        log: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=3)]

    def letter(state: Any) -> Any:
        return {"log": ["abcde"[len(state["log"])]]}

    def route(state: Any) -> str:
        return "letter" if len(state["log"]) < 5 else END

    builder = StateGraph(Letters).add_node("letter", letter)
    builder.add_edge(START, "letter").add_conditional_edges("letter", route)
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({"log": ["a"]}, THREAD)
    second = next(s for s in graph.get_state_history(THREAD) if s.values["log"] == ["a", "b"])
    graph.invoke(None, graph.update_state(second.config, {"log": ["x"]}))
    return graph


class Shown(NamedTuple):
    """A checkpoint of the picture: what is stored of the channel, and what is read of it."""

    step: int
    source: str
    stored: str
    read: str
    beside: str
    parent: str | None


def letters(value: Sequence[str]) -> str:
    """As they are drawn: without quotes, of which there would be many."""
    return f"[{', '.join(value)}]"


def checkpoints() -> dict[str, Shown]:
    """All checkpoints of the small thread by id, oldest first."""
    graph = small_thread()
    values = {
        snapshot.config["configurable"]["checkpoint_id"]: snapshot.values["log"]
        for snapshot in graph.get_state_history(THREAD)
    }
    found = {}
    for row in reversed([*graph.checkpointer.list(THREAD)]):
        stored = row.checkpoint["channel_values"].get("log")
        id, parent = row.checkpoint["id"], row.parent_config
        found[id] = Shown(
            row.metadata["step"],
            row.metadata["source"],
            f"snapshot {letters(stored.value)}" if isinstance(stored, _DeltaSnapshot) else "",
            letters(values[id]),
            " ".join(
                letters(value) for _, channel, value in row.pending_writes if channel == "log"
            ),
            parent and parent["configurable"]["checkpoint_id"],
        )
    return found


def chain() -> str:
    """Checkpoints as boxes, below each other; what lies beside one is written below it."""
    found = checkpoints()
    width, high, gap, row = 188, 46, 22, 84
    places: dict[str, tuple[int, int]] = {}
    parts = []
    for id, shown in found.items():
        lane = 0
        if shown.parent is not None:
            x, y = places[shown.parent]
            has_child = (x, y + row) in places.values()
            lane = (x > 8) or has_child
            fork = lane and x == 8
        else:
            fork = False
        place = places[id] = (8 + lane * (width + gap), 8 + (shown.step + 1) * row)
        if shown.parent is not None:
            (x1, y1), (x2, y2) = places[shown.parent], place
            middle = x2 + 24
            d = f"M{middle} {y2}V{y1 + high}m-4 6l4 -6l4 6"
            if fork:
                side = y1 + high // 2
                d = f"M{middle} {y2}V{side + 10}q0 -10 -10 -10H{x1 + width}m6 -4l-6 4l6 4"
            parts.append(line(d=d, opacity=0.7))
            if not fork:
                beside = f"write {found[shown.parent].beside}"
                dot = tag("circle", cx=middle + 14, cy=y1 + high + 19, r=4, fill=COLOURS["list"])
                parts += [dot, text(beside, x=middle + 24, y=y1 + high + 24)]
    for id, (x, y) in places.items():
        shown = found[id]
        colour = COLOURS["delta"]
        box = partial(tag, "rect", x=x, y=y, width=width, height=high, rx=6, stroke=colour)
        if shown.stored:
            parts.append(box(fill=colour, fill_opacity=0.25, stroke_width=2))
        else:
            parts.append(box(fill="none", stroke_dasharray="4 3"))
        name = f"super-step {shown.step} · {shown.source}" if shown.step >= 0 else shown.source
        parts.append(text(name, x=x + 10, y=y + 19, font_weight="bold"))
        below = shown.stored or f"nothing; reads {shown.read}"
        parts.append(text(below, x=x + 10, y=y + 37))
    title = "Checkpoints of a thread with a fork: what is stored with each, and beside it"
    bottom = max(y for _, y in places.values()) + high + 8
    return drawing(title, 2 * width + gap + 16, bottom, parts)


# ---------------------------------------------------------------- what is kept, and what holds

DRAWN: dict[str, Callable[[], str]] = {
    "delta-bytes-list.svg": partial(plot, "list"),
    "delta-bytes-delta.svg": partial(plot, "delta"),
    "delta-chain.svg": chain,
}
TABLE = re.compile(r"(?<=<!-- table -->\n\n)(?:\|.*\|\n)*")


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_what_comes_out(name: str) -> None:
    """The figure that is kept is the one that the present code draws."""
    assert (FIGURES / name).read_text(encoding="utf-8") == DRAWN[name](), (
        "draw it anew: python tests/docs/test_delta_figures.py"
    )


def test_the_table_is_what_comes_out() -> None:
    (written,) = TABLE.findall(PAGE.read_text(encoding="utf-8"))

    assert written.splitlines() == [*table()]


def test_the_page_shows_every_figure() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert re.findall(r'^--8<-- "figures/(.*)"$', page, re.MULTILINE) == [*DRAWN]


def test_a_checkpoint_costs_what_was_said() -> None:
    """DC-01: with a list, the end of 300 turns costs far more than the beginning; with a
    `DeltaChannel` no more, unless there is a snapshot: one for every hundred updates (DC-07)."""
    plain, delta = of_plot("list"), of_plot("delta")
    smallest, twice = min(delta), 2 * min(delta)

    assert len(plain) == len(delta) == 3 * PLOTTED
    assert plain[-1] > 10 * plain[2]
    assert delta[-2] < smallest + 200
    assert sum(size > twice for size in delta) == 2 * PLOTTED // 100


def test_the_small_thread() -> None:
    """DC-01, DC-05, DC-07, DC-11: what the picture of the chain has to show."""
    assert [
        (shown.step, shown.source, shown.stored, shown.read) for shown in checkpoints().values()
    ] == [
        (-1, "input", "", "[]"),
        (0, "loop", "", "[a]"),
        (1, "loop", "", "[a, b]"),
        (2, "loop", "snapshot [a, b, c]", "[a, b, c]"),
        (3, "loop", "", "[a, b, c, d]"),
        (4, "loop", "", "[a, b, c, d, e]"),
        (2, "update", "snapshot [a, b, x]", "[a, b, x]"),
        (3, "loop", "", "[a, b, x, d]"),
        (4, "loop", "", "[a, b, x, d, e]"),
    ]


if __name__ == "__main__":
    FIGURES.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        (FIGURES / name).write_text(draw(), encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    rows = "".join(f"{row}\n" for row in table())
    PAGE.write_text(TABLE.sub(lambda _: rows, page), encoding="utf-8")
