"""A sketch: boxes and arrows, made of characters."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from minigraph.pregel.sketch import LINES, Arrow, Box, alike, columns, listing, sketch


def picture(names: str, arrows: str, *, width: int = 100, ascii: bool = False) -> str:
    """The sketch of ``a > b; b ~ c label``: solid and dashed arrows."""
    found = []
    for arrow in filter(None, arrows.split(";")):
        source, kind, target, *label = arrow.split(maxsplit=3)
        found.append(Arrow(source, target, "".join(label), kind == "~"))
    return sketch({name: Box(name) for name in names.split()}, found, width=width, ascii=ascii)


def test_branches_with_labels() -> None:
    """Labels stand on their lines; what leads to one end, arrives as one arrow."""
    text = picture(
        "route sums verse answer",
        "route ~ sums yes;route ~ verse no;sums > answer;verse > answer",
    )

    assert text == (
        """\
      ┌───────┐
      │ route │
      └───┬───┘
     ╭┄┄┄┄┴┄┄┄╮
    yes      no
     ▼        ▼
┌───────┐  ┌───────┐
│ sums  │  │ verse │
└───┬───┘  └───┬───┘
    ╰─────┬────╯
          ▼
     ┌─────────┐
     │ answer  │
     └─────────┘"""
    )


def test_a_loop_and_a_node_that_repeats_itself() -> None:
    """What leads back, leads up, and has its arrow there."""
    assert picture("agent tools", "agent ~ tools;tools > agent;tools ~ tools again") == (
        """\
 ┌───────┐
 │ agent │
 └─┬─────┘
   ┊   ▲
   ┊   │
   ▼   │
┌──────┴──┐
│  tools  │
│ ↺ again │
└─────────┘"""
    )


def test_a_way_past_a_row() -> None:
    """An arrow to a later row goes around what stands between."""
    assert picture("a b c", "a > b;b > c;a ~ c skip") == (
        """\
┌───────┐
│   a   │
└─┬────┬┘
  │    ┊
  │  skip
  ▼    ┊
┌───┐  ┊
│ b │  ┊
└─┬─┘  ┊
  ▼    ▼
┌───────┐
│   c   │
└───────┘"""
    )


def test_lines_that_cross_do_not_meet() -> None:
    """The line that goes down passes over the other one."""
    text = picture("a b c d", "a > c;a > d;b ~ c;b ~ d")

    assert seen_in(text) == {("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")}
    assert text == (
        """\
    ┌───┐  ┌───┐
    │ a │  │ b │
    └──┬┘  └─┬─┘
      ╭│┄┄┄┄┄┴┄┄┄╮
  ╭───┊┴─────╮   ┊
  ▼   ▼      ▼   ▼
┌───────┐  ┌───────┐
│   c   │  │   d   │
└───────┘  └───────┘"""
    )


def test_what_is_too_wide_is_stacked() -> None:
    """Parallel nodes share a box if they would not have room side by side."""
    workers = [f"worker {index}" for index in range(1, 4)]
    boxes = {name: Box(name) for name in ("split", *workers, "merge")}
    arrows = [Arrow("split", name) for name in workers] + [Arrow(name, "merge") for name in workers]

    assert sketch(boxes, arrows, width=20) == (
        """\
  ┌───────┐
  │ split │
  └───┬───┘
      ▼
┌───────────┐
│ worker 1  │
├───────────┤
│ worker 2  │
├───────────┤
│ worker 3  │
└─────┬─────┘
      ▼
  ┌───────┐
  │ merge │
  └───────┘"""
    )


def test_what_has_no_picture_is_a_list() -> None:
    """A picture that no screen could show would help nobody."""
    assert picture("a b c", "a > b;a ~ c x y;b > c", width=4) == "a ─▶ b\na ┄▶ c (x y)\nb ─▶ c\nc"


def test_a_big_graph_is_a_list_at_once() -> None:
    names = [f"n{index}" for index in range(1500)]
    boxes = {name: Box(name, ("deferred",)) for name in names}
    text = sketch(boxes, [Arrow(a, b) for a, b in pairwise(names)])

    assert text.splitlines()[:2] == ["n0 [deferred] ─▶ n1", "n1 [deferred] ─▶ n2"]
    assert len(text.splitlines()) == 1500


def test_in_ascii() -> None:
    text = picture("a b", "a ~ b x;b > a;a > a", ascii=True)

    assert text.isascii()
    assert text == (
        """\
+-------+
|   a   |
|   @   |
+-+-----+
  :   ^
  x   |
  v   |
+-----+-+
|   b   |
+-------+"""
    )


def test_wide_characters_and_accents() -> None:
    """A box is as wide as its name is on the screen."""
    boxes = {"a": Box("日本語"), "b": Box("e\u0301\n", ("note",), round=True)}

    assert sketch(boxes, [Arrow("a", "b")]) == (
        """\
┌─────────┐
│ 日本語  │
└────┬────┘
     ▼
 ╭───────╮
 │  e\u0301\\n  │
 │ note  │
 ╰───────╯"""
    )


def test_how_wide_text_is() -> None:
    assert [columns(text) for text in ("", "abc", "é", "e\u0301", "日本", "🙂")] == [
        0,
        3,
        1,
        1,
        4,
        2,
    ]


def test_nothing() -> None:
    assert sketch({}, []) == ""
    assert listing({}, []) == ""
    assert sketch({"a": Box("a")}, []) == "┌───┐\n│ a │\n└───┘"


def test_alike() -> None:
    """Boxes are alike if they have the same neighbours, labels and notes."""
    boxes = {name: Box(name) for name in "abcd"} | {"e": Box("e", ("note",))}
    arrows = [Arrow("a", name) for name in "bce"] + [Arrow("a", "d", "x")]

    assert alike(boxes, arrows) == [("a",), ("b", "c"), ("d",), ("e",)]


# ---------------------------------------------------------------- read again


def seen_in(text: str) -> set[tuple[str, str]]:
    """The arrows that a reader finds who follows the lines of a picture with a finger.

    A line that goes down never turns up again, and does not stop at a line that it crosses.
    """
    width = max(map(len, text.splitlines()))
    grid = [line.ljust(width) for line in text.splitlines()]
    owner: dict[tuple[int, int], str] = {}
    starts: list[tuple[int, int, int, str]] = []
    for row, column in cells(grid, "┌"):
        right = grid[row].index("┐", column)
        bottom = next(r for r in range(row, len(grid)) if grid[r][column] == "└")
        name = grid[row + 1][column + 1 : right].strip()
        owner |= {(r, c): name for r in range(row, bottom + 1) for c in range(column, right + 1)}
        starts += [(row, c, 1, name) for c in range(column, right) if grid[row][c] == "┴"]
        starts += [(bottom, c, 2, name) for c in range(column, right) if grid[bottom][c] == "┬"]

    sides = {c: index for index, c in enumerate(LINES) if c != " "} | {"┊": 3, "┄": 12}
    steps = {1: (-1, 0), 2: (1, 0), 4: (0, -1), 8: (0, 1)}
    back = {1: 2, 2: 1, 4: 8, 8: 4}
    found: set[tuple[str, str]] = set()
    for top, left, first, name in starts:
        waiting, done = [(top, left, first)], set()
        while waiting:
            row, column, going = waiting.pop()
            if (row, column, going) in done:
                continue
            done.add((row, column, going))
            row, column = row + steps[going][0], column + steps[going][1]
            character = grid[row][column]
            if character in "▼▲":
                assert going == first == (2 if character == "▼" else 1), text
                found.add((name, owner[row + steps[going][0], column]))
            elif character in "│┊" and going in (4, 8):
                waiting.append((row, column, going))  # it passes under a line that goes down
            else:
                assert sides[character] & back[going], text
                waiting += [
                    (row, column, side)
                    for side in steps
                    if sides[character] & side and side not in (back[going], back[first])
                ]
    return found


def cells(grid: list[str], wanted: str) -> Iterator[tuple[int, int]]:
    for row, line in enumerate(grid):
        for column, character in enumerate(line):
            if character == wanted:
                yield row, column


@pytest.mark.parametrize("seed", range(200))
def test_a_picture_shows_every_arrow_and_no_other(seed: int) -> None:
    """For any graph: whoever follows the lines finds what was drawn."""
    chance = random.Random(seed)
    names = [chr(97 + index) * chance.randint(1, 7) for index in range(chance.randint(2, 9))]
    arrows = {
        Arrow(chance.choice(names), chance.choice(names), "", chance.random() < 0.4): None
        for _ in range(chance.randint(len(names), 2 * len(names)))
    }
    text = sketch({name: Box(name) for name in names}, list(arrows), width=10**6)

    wanted = {(arrow.source, arrow.target) for arrow in arrows}
    assert seen_in(text) == {(a, b) for a, b in wanted if a != b}
