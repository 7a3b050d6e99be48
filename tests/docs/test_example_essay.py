"""What the example of functions prints."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "essay_by_functions.py"


def test_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """FN-08: what has been done is not done again."""
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == [
        "first process",
        "  looking up ants ...",
        "  writing ...",
        "  stops, and asks: Print it?",
        "second process",
        "  Ants are small; ants are wild.",
    ]
