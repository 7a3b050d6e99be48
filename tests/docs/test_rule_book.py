"""The rule book keeps its word: one row per rule, and every proof it names exists."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent.parent
BOOK = ROOT / "docs" / "semantics"
NOT_BUILT = "not built yet"

ID = re.compile(r"\b[A-Z]{2}-\d\d\b")
PROOF = re.compile(r"`(?:[\w./]*/)?(\w+\.py(?:::\w+)+)`")


class Row(NamedTuple):
    """One row of a table of rules."""

    page: str
    ids: tuple[str, ...]
    text: str
    origin: str
    proofs: tuple[str, ...]

    @property
    def is_missing(self) -> bool:
        """Whether the row says that there is nothing to prove yet, instead of a proof."""
        return self.origin == "–" and NOT_BUILT in self.text


def rows_of(page: Path) -> list[Row]:
    rows = []
    for line in page.read_text(encoding="utf-8").splitlines():
        # A bar inside a cell is written \|.
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        ids = tuple(ID.findall(cells[0])) if cells else ()
        if ids:
            assert len(cells) == 4, f"{page.name}: {cells[0]} has {len(cells)} cells, not 4"
            proofs = tuple(PROOF.findall(cells[3]))
            rows.append(Row(page.name, ids, cells[1], cells[2], proofs))
    return rows


def names_in(path: Path) -> set[str]:
    """All tests of a file, as ``file::test`` and ``file::class::test``."""
    found: set[str] = set()

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if node.name.startswith("test"):
                    found.add(f"{prefix}::{node.name}")
            elif isinstance(node, ast.ClassDef):
                found.add(f"{prefix}::{node.name}")
                visit(node.body, f"{prefix}::{node.name}")
            elif isinstance(node, ast.Assign):  # a hypothesis machine becomes a TestCase
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                found.update(f"{prefix}::{name}" for name in names if name.startswith("Test"))

    visit(ast.parse(path.read_text(encoding="utf-8")).body, path.name)
    return found


ROWS = [row for page in sorted(BOOK.glob("*.md")) for row in rows_of(page)]
FILES = sorted((ROOT / "tests").rglob("test_*.py"))
TESTS = {test for path in FILES for test in names_in(path)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.ids[0])
def test_every_rule_has_a_proof_that_exists(row: Row) -> None:
    """All tests that a row names are there, and it names at least one, or says what is missing."""
    missing = [proof for proof in row.proofs if proof not in TESTS]

    assert not missing, f"{row.page}: {row.ids[0]} names tests that do not exist: {missing}"
    assert row.proofs or row.is_missing, f"{row.page}: {row.ids[0]} names no test"


def test_no_rule_has_two_rows() -> None:
    counted = Counter(id for row in ROWS for id in row.ids)

    assert [id for id, count in counted.items() if count > 1] == []


def test_origins_are_of_three_kinds() -> None:
    """Documented, observed, or our own; none for what is not built."""
    strange = [
        (row.ids[0], row.origin)
        for row in ROWS
        if row.origin not in ("documented", "observed", "own") and not row.is_missing
    ]

    assert strange == []


def test_file_names_of_tests_are_unique() -> None:
    """So that ``file::test`` says where to look without a path."""
    counted = Counter(path.name for path in FILES)

    assert [name for name, count in counted.items() if count > 1] == []


def test_every_rule_that_the_code_cites_is_in_the_book() -> None:
    """A docstring that says (SS-02) can be looked up."""
    known = {id for row in ROWS for id in row.ids}
    cited = {
        id: path.name
        for path in sorted((ROOT / "minigraph").rglob("*.py"))
        for id in ID.findall(path.read_text(encoding="utf-8"))
    }

    assert {id: name for id, name in cited.items() if id not in known} == {}


def test_ranges_are_ranges() -> None:
    """The book is not empty, which would make the tests above true of nothing."""
    prefixes = {id[:2] for row in ROWS for id in row.ids}

    assert {"CH", "SG", "SS", "CP", "TT", "ST"} <= prefixes
    assert len(ROWS) > 150
