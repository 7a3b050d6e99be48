"""The example of a flaky node prints what it is meant to, and nobody waits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "flaky_node.py"

PRINTED = """\
0 failures:
   {'fetch': {'log': ['fetched at attempt 1']}}
   {'report': {'log': ['reported']}}
   waited []
2 failures:
   {'fetch': {'log': ['fetched at attempt 3']}}
   {'report': {'log': ['reported']}}
   waited [60.25, 120.25]
9 failures:
   {'__error_handler__fetch': {'log': ['fetch gave up: attempt 4 was cut off']}}
   {'report': {'log': ['reported']}}
   waited [60.25, 120.25, 200.25]
"""


def test_it_prints_what_it_is_meant_to() -> None:
    """ER-10, ER-13, ER-30: waits grow, edits are not seen, and a handler takes over."""
    command = [sys.executable, "-W", "error", str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == (PRINTED, "")
