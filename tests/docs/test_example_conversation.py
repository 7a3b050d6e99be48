"""The example of a conversation prints what it is meant to, the second time as well."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "conversation.py"

FIRST = """\
Hello!       You have said 1 thing I remember.
How are you? You have said 2 things I remember.
Bye!         You have said 3 things I remember.
4 messages are remembered, and 15 checkpoints are kept.
"""

SECOND = """\
Hello!       You have said 3 things I remember.
How are you? You have said 3 things I remember.
Bye!         You have said 3 things I remember.
4 messages are remembered, and 30 checkpoints are kept.
"""


def run(path: Path) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLE), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == ""
    return done.stdout


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """SG-80, SG-83: in another process, from the file."""
    assert run(tmp_path / "talk.db") == FIRST
    assert run(tmp_path / "talk.db") == SECOND


def test_it_is_short() -> None:
    """An example is read at a glance."""
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) < 80
