"""Whatever hypothesis draws, minigraph tells the same story as the reference.

The examples are the same in every run, so that a build does not fail by luck. To search further::

    REFERENCE_EXAMPLES=5000 REFERENCE_RANDOM=1 pytest tests/reference/test_differential.py
    python -m tests.reference --examples 5000 --seed 7
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from .differences import Mismatch, judge
from .generate import scenarios
from .reduce import reduce
from .scenario import Scenario
from .script import script

pytest.importorskip("langgraph", reason="the reference is not installed")


@settings(
    max_examples=int(os.environ.get("REFERENCE_EXAMPLES", "400")),
    derandomize="REFERENCE_RANDOM" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(scenarios())
def test_any_scenario_has_one_transcript(scenario: Scenario) -> None:
    """Results, events, snapshots, and all that is stored, are the same on both packages."""
    verdict = judge(scenario, "minigraph")
    if isinstance(verdict, Mismatch):
        smallest, mismatch = reduce(scenario, verdict, "minigraph")
        pytest.fail(f"{smallest}\n\n{mismatch}\n\n{script(smallest)}", pytrace=False)
