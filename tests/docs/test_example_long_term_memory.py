"""The example of a long-term memory prints what it is meant to, the second time as well."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "long_term_memory.py"

FIRST = """\
0 ada: Hello
      I know nothing of you.
1 ada: My cat is called Tom
      I know that your cat is Tom.
2 bob: Who is Tom?
      I know nothing of you.
"""

SECOND = """\
3 ada: Hello
      I know that your cat is Tom.
4 ada: My cat is called Tom
      I know that your cat is Tom.
5 bob: Who is Tom?
      I know nothing of you.
"""


def run(path: Path) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLE), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == ""
    return done.stdout


def test_it_knows_what_another_process_was_told(tmp_path: Path) -> None:
    """LM-07, LM-08, MR-04: in other threads, of the same user, from one file."""
    assert run(tmp_path / "memory.db") == FIRST
    assert run(tmp_path / "memory.db") == SECOND


def test_it_is_short() -> None:
    """An example is read at a glance."""
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 80
