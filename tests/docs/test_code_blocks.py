"""Every example in the documentation runs.

A page is read from top to bottom, so its blocks share one namespace and run in order. A block
fails where it raises; what it should come to, it asserts itself, or says in a comment behind
a `print`. A page that makes files makes them in a directory of its own.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent.parent


class Block(NamedTuple):
    """A fenced block of Python: the line on which its code begins, and the code."""

    line: int
    code: str


def pages() -> Iterator[Path]:
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def blocks_of(page: Path) -> list[Block]:
    found: list[Block] = []
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^( *)```python\b.*\n((?:.*\n)*?)\1```$", text, re.MULTILINE):
        indent, code = match.groups()
        code = re.sub(f"^{indent}", "", code, flags=re.MULTILINE)
        found.append(Block(text[: match.start(2)].count("\n") + 1, code))
    return found


WITH_CODE = [page for page in pages() if blocks_of(page)]


def promised(code: str) -> list[str]:
    """What the code says it prints: the comments behind its `print` calls."""
    return re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE)


def run_page(page: Path) -> tuple[str, list[str]]:
    """Run the blocks of a page. Returns what was printed, and what it promised to print."""
    module = ModuleType("a_page_of_the_docs")
    printed = io.StringIO()
    promises: list[str] = []
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setitem(sys.modules, module.__name__, module)  # where annotations are looked up
        # As in a program of its own, which has not imported what other tests have.
        patch.delitem(sys.modules, "langchain_core.messages", raising=False)
        for line, code in blocks_of(page):
            # With the page's own line numbers, so that a traceback points into the page, and
            # without the `from __future__` of this file.
            tree = ast.increment_lineno(ast.parse(code, str(page)), line - 1)
            with redirect_stdout(printed):
                exec(compile(tree, str(page), "exec", dont_inherit=True), vars(module))
            promises.extend(promised(code))
    return printed.getvalue(), promises


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(page: Path) -> None:
    """And they print what they say they print."""
    printed, promises = run_page(page)

    assert printed.splitlines() == promises


def test_there_are_examples() -> None:
    """That the pages with examples are found, so that the test above has something to fail on."""
    names = {str(page.relative_to(ROOT)) for page in WITH_CODE}

    assert {"README.md", "docs/index.md", "docs/design.md"} <= names


def test_a_failing_example_is_noticed(tmp_path: Path) -> None:
    """A page whose second block contradicts its first fails, on the line where it does so."""
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\nx = 1\n```\n\n```python\n\nassert x == 2\n```\n")

    with pytest.raises(AssertionError) as caught:
        run_page(page)

    assert (caught.traceback[-1].lineno, str(caught.traceback[-1].path)) == (8, str(page))
