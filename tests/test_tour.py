"""The tour, from the outside: what it prints, where to, and how it ends.

The expected text is the one on the first page of the documentation, so that page is proved
along with the tour. After a change that is meant, put the output of `minigraph tour --plain`
there.
"""

from __future__ import annotations

import io
import operator
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
from typing_extensions import TypedDict

from minigraph import __version__
from minigraph.__main__ import main
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.graph import START, StateGraph
from minigraph.pregel.drive import finish
from minigraph.tour.narrator import Narrator
from minigraph.tour.page import Page
from minigraph.tour.story import tour

FIRST_PAGE = Path(__file__).parent.parent / "docs" / "index.md"

RUN = [sys.executable, "-m", "minigraph", "tour"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal, and that it has an encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]  # writable in StringIO
        return self._encoding

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns and colours, whatever the terminal is that runs the tests."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def masked(text: str) -> str:
    """Without what differs from run to run: ids, and the path of this Python."""
    text = re.sub(r"\b[0-9a-f]{4}…[0-9a-f]{4}\b", "####…####", text)
    return re.sub(r"^  \S+ -m inspect", "  python -m inspect", text, flags=re.MULTILINE)


def told(stream: io.StringIO, *, plain: bool = False) -> str:
    tour(stream, plain=plain)
    return stream.getvalue()


def test_the_tour_is_the_one_on_the_first_page(capsys: pytest.CaptureFixture[str]) -> None:
    """Every plan, write, version, checkpoint and branch of the tour is as it is printed there."""
    blocks = re.findall(r"^```text\n(.*?)^```", FIRST_PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (expected,) = (block for block in blocks if block.startswith("minigraph "))

    assert main(["tour", "--plain"]) == 0

    assert masked(capsys.readouterr().out) == masked(expected)


def test_ids_are_those_of_the_saver_and_lead_to_their_parents() -> None:
    """Each id is saved once, and every parent is one that was saved before."""
    saves = re.findall(
        r"save +(\S{9}), step (-?\d+), (\w+), (?:child of (\S{9})|without parent)$",
        told(io.StringIO()),
        re.MULTILINE,
    )

    assert [(step, source) for _, step, source, _ in saves] == [
        ("-1", "input"),
        ("0", "loop"),
        ("1", "loop"),
        ("2", "loop"),
        ("2", "fork"),
        ("3", "loop"),
        ("2", "update"),
        ("3", "loop"),
    ]
    ids = [id for id, _, _, _ in saves]
    parents = [parent for _, _, _, parent in saves]
    assert parents == ["", ids[0], ids[1], ids[2], ids[2], ids[4], ids[2], ids[6]]


@pytest.mark.parametrize(("columns", "width"), [(40, 60), (60, 60), (71, 71), (80, 80), (200, 80)])
def test_no_line_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int, width: int
) -> None:
    """At least 60 columns, at most 80; the rules of the headings use all of them."""
    monkeypatch.setenv("COLUMNS", str(columns))

    assert max(len(line) for line in told(io.StringIO()).splitlines()) == width


def test_colours_are_for_terminals() -> None:
    """A terminal gets colours, a pipe does not, and the text is the same."""
    on_terminal, in_pipe = told(Terminal()), told(io.StringIO())

    assert "\x1b[36m" in on_terminal
    assert "\x1b" not in in_pipe
    assert masked(re.sub(r"\x1b\[\d+m", "", on_terminal)) == masked(in_pipe)


@pytest.mark.parametrize("refusal", ["plain", "NO_COLOR", "TERM"])
def test_colours_can_be_refused(monkeypatch: pytest.MonkeyPatch, refusal: str) -> None:
    """By --plain, by NO_COLOR with any value, and by a terminal that calls itself dumb."""
    if refusal != "plain":
        monkeypatch.setenv(refusal, {"NO_COLOR": "0", "TERM": "dumb"}[refusal])

    assert "\x1b" not in told(Terminal(), plain=refusal == "plain")


def test_an_empty_no_color_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As no-color.org has it: present and not empty."""
    monkeypatch.setenv("NO_COLOR", "")

    assert "\x1b" in told(Terminal())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_without_box_drawing_it_is_all_ascii(encoding: str) -> None:
    """Every drawing has a stand-in of the same width, so the columns stay where they are."""
    drawn = [len(line) for line in told(Terminal(), plain=True).splitlines()]

    text = told(Terminal(encoding), plain=True)

    assert text.isascii()
    assert [len(line) for line in text.splitlines()] == drawn
    assert "\n  START -> node_a -> node_b -> END\n" in text
    assert re.search(r"^\|-\*     2  fork  ", text, re.MULTILINE)


def test_it_runs_where_the_encoding_is_ascii() -> None:
    """The whole program, with a stdout that cannot print a box."""
    ran = subprocess.run(
        [*RUN], capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, timeout=60
    )

    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.isascii()


def test_a_pipe_that_closes_is_no_error() -> None:
    """As in `minigraph tour | head -1`: no traceback, and exit code 0."""
    running = subprocess.Popen(RUN, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stderr is not None

    first = running.stdout.readline()
    running.stdout.close()
    complaint = running.stderr.read()
    running.stderr.close()

    assert first.decode().strip() == f"minigraph {__version__}"
    assert (running.wait(timeout=60), complaint) == (0, b"")


def test_a_pipe_that_nobody_ever_reads_is_no_error() -> None:
    """The very first line meets a closed pipe."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run(RUN, stdout=writing, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(writing)

    assert (ran.returncode, ran.stderr) == (0, b"")


def test_without_a_command_it_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    """A way of calling that has no meaning: exit code 2."""
    assert main([]) == 2

    shown = capsys.readouterr()
    assert shown.out == ""
    assert "usage: minigraph" in shown.err
    assert "tour" in shown.err


@pytest.mark.parametrize("arguments", [["march"], ["tour", "--fast"], ["--plain"]])
def test_mistakes_are_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: minigraph")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"minigraph {__version__}\n"


def test_columns_are_as_wide_as_what_stands_in_them() -> None:
    stream = io.StringIO()

    Page(stream, plain=True).table(["a", "b"], [[("long value", ""), ("x", "")]])

    assert stream.getvalue() == "a           b\nlong value  x\n"


def test_the_narrator_tells_any_graph() -> None:
    """Two nodes in one super-step, one of them with two reasons to run, and a value too long."""

    class State(TypedDict):
        log: Annotated[list[str], operator.add]

    builder = StateGraph(State)
    for name in ("a", "b"):
        builder.add_node(name, lambda state: {"log": ["a text that is too long to be shown"]})
        builder.add_edge(START, name)
    builder.add_edge("a", "b").add_edge(["a"], "b")
    graph = builder.compile(checkpointer=InMemorySaver())
    stream = io.StringIO()
    narrator = Narrator(graph, Page(stream, plain=True))

    finish(narrator.drive(graph.program({"log": []}, {"configurable": {"thread_id": "1"}})))

    lines = stream.getvalue().splitlines()
    first = lines.index("super-step 1")
    assert lines[first + 1 : first + 3] == [
        "  plan    node a: channel branch:to:a is at v2, and it has seen none",
        "          node b: channel branch:to:b is at v2, and it has seen none",
    ]
    assert lines[lines.index("super-step 2") + 1 :][:2] == [
        "  plan    node b: channel branch:to:b is at v3, and it has seen v2; channel",
        "          join:a:b is at v3, and it has seen none",
    ]
    assert lines.count("  run     log               ['a text that is too … b") == 2
    assert narrator.ran == ["__start__", "a", "b", "b"]
