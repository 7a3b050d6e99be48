"""The oracle itself: it sees what differs, and only that."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from . import reduce as reducing
from . import scenario as language
from .cases import CASES
from .chunks import in_order
from .differences import Difference, Mismatch, compare, judge
from .features import FEATURES, features, impossible
from .generate import scenarios
from .scenario import END, START, UPDATED, Branch, Call, Edge, Key, Node, Scenario, Schema, Write
from .script import script
from .transcript import Entry, transcript

memory = pytest.importorskip("langgraph.checkpoint.memory", reason="the reference is not installed")
PUT, PUT_WRITES = memory.InMemorySaver.put, memory.InMemorySaver.put_writes

NAME = (Write("log", "name"),)

WIDE = Scenario(
    keys=(Key("log"), Key("last", "last")),
    nodes=(
        Node("a", writes=NAME, fails=(1,)),
        Node("b", writes=(Write("last", "run"),), returns="command", goto=("send:c", "send:c")),
        Node("c", writes=NAME),
        Node("d", writes=NAME, defer=True),
    ),
    edges=(Edge((START,), "a"), Edge((START,), "b"), Edge(("a", "b"), "d"), Edge(("c",), "d")),
    branches=(Branch("d", (("a", "b"), (END,))),),
    calls=(
        Call("invoke", input={"log": ["in"]}),
        Call("stream", modes=("values", "updates")),
        Call("update", input={"last": 5}, as_node="a", at=2),
        Call("invoke", at=UPDATED),
        Call("history"),
    ),
)
"""One of each: failure, resume, join, Sends, defer, loop, update, fork, history."""


def told(scenario: Scenario) -> list[Entry]:
    return transcript(scenario, "langgraph")


@given(scenarios())
@settings(max_examples=100, deadline=None, database=None, derandomize=True)
def test_a_scenario_survives_json_and_print(scenario: Scenario) -> None:
    """The JSON reads back as an equal scenario; what is printed is the code of an equal one."""
    assert Scenario.from_json(scenario.to_json()) == scenario
    assert eval(repr(scenario), vars(language)) == scenario


@given(scenarios())
@settings(max_examples=100, deadline=None, database=None, derandomize=True)
def test_no_scenario_has_features_that_exclude_each_other(scenario: Scenario) -> None:
    """A reason why two features cannot go together is a true one; and all features are known."""
    assert features(scenario) <= FEATURES
    present = sorted(features(scenario))
    assert not [pair for pair in combinations(present, 2) if impossible(*pair)]


def test_a_scenario_has_the_features_it_uses() -> None:
    """Each part is counted, alone and for what it is given; the last two calls are not."""
    assert features(WIDE) == {
        *("saver", "state typed_dict", "key list", "key last", "node named"),
        *("returns dict", "returns command", "write name", "write run"),
        *("fails", "defer", "send", "edge", "join", "branch", "targets undeclared"),
        *("sync start", "sync resume", "sync update", "as node"),
        *("invoke", "default mode", "stream", "modes updates+values"),
    }


def test_chunks_are_sorted_by_task_and_only_where_they_follow_finishing_order() -> None:
    """What tasks tell is sorted within the super-step; the starts and the values are in place."""
    call = Call("stream", modes=("tasks", "updates", "custom", "values"))
    told: list[Any] = [
        ("tasks", {"name": "b", "input": {}}),
        ("updates", {"b": None}),
        ("custom", {"node": "a"}),
        ("tasks", {"name": "b", "error": None}),
        ("updates", {"a": None}),
        ("values", {"log": []}),
        ("custom", {"node": "B"}),
    ]
    ordered = in_order([{"tuple": list(chunk)} for chunk in told], call)
    assert [tuple(made["tuple"]) for made in ordered] == [
        told[0],
        told[2],
        told[4],
        told[1],
        told[3],
        *told[5:],
    ]


@given(scenarios())
@settings(max_examples=25, deadline=None, database=None, derandomize=True)
def test_the_reference_agrees_with_itself(scenario: Scenario) -> None:
    """Run twice, a scenario has one transcript: nothing volatile is left in it."""
    assert judge(scenario, "langgraph") is None


def test_a_transcript_does_not_depend_on_the_hash_seed() -> None:
    """Sets and the names of ids are written in an order of their own."""
    code = (
        "import json, sys; from tests.reference import scenario, transcript; "
        "made = scenario.Scenario.from_json(sys.stdin.read()); "
        "print(json.dumps(transcript.transcript(made, 'langgraph'), sort_keys=True))"
    )
    tellings = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed},
            input=WIDE.to_json(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(tellings) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"edges": (*WIDE.edges[:2], Edge(("a",), "d"), Edge(("b",), "d"), WIDE.edges[3])},
        {"edges": (*WIDE.edges[:2], Edge(("b", "a"), "d"), WIDE.edges[3])},
        {"nodes": (*WIDE.nodes[:3], Node("d", writes=NAME))},
        {"nodes": (Node("a", writes=NAME), *WIDE.nodes[1:])},
        {"nodes": (*WIDE.nodes[:2], Node("c"), WIDE.nodes[3])},
        {"branches": (Branch("d", ((END,),)),)},
        {"recursion_limit": 3},
        {"saver": False},
        {"keys": (Key("log"), Key("last", "any"))},
        {"shown": Schema(("last",))},
        {"given": Schema(("last",))},
        {"calls": (WIDE.calls[0], Call("stream", modes=("updates", "values", "tasks")))},
    ],
    ids=[
        *("edges", "order", "defer", "failure", "writes", "loop", "limit", "saver", "kind"),
        *("output", "input", "modes"),
    ],
)
def test_another_graph_is_another_story(change: dict[str, Any]) -> None:
    """Each small change of the graph shows in the transcript."""
    other = dataclasses.replace(WIDE, **change)
    assert isinstance(compare(WIDE, told(WIDE), told(other)), Mismatch)


def _other_step(saver: Any, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
    return PUT(saver, config, checkpoint, {**metadata, "step": metadata["step"] + 1}, versions)


def _unsorted(saver: Any, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
    updated = (checkpoint["updated_channels"] or [])[::-1]
    return PUT(saver, config, {**checkpoint, "updated_channels": updated}, metadata, versions)


def _forgets(saver: Any, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
    return PUT(saver, config, {**checkpoint, "versions_seen": {}}, metadata, versions)


def _backwards(saver: Any, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
    PUT_WRITES(saver, config, writes[::-1], task_id, task_path)


def _nameless(saver: Any, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
    PUT_WRITES(saver, config, writes, task_id.replace("-", "0"), task_path)


@pytest.mark.parametrize("fault", [_other_step, _unsorted, _forgets, _backwards, _nameless])
def test_a_faulty_runtime_is_caught(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored counts, down to the step number, the order of writes and their task."""
    good = told(WIDE)
    method = "put_writes" if fault in (_backwards, _nameless) else "put"
    monkeypatch.setattr(memory.InMemorySaver, method, fault)
    assert isinstance(compare(WIDE, good, told(WIDE)), Mismatch)


def test_a_known_difference_ends_the_comparison() -> None:
    """After a clash the packages part: known, so the rest does not matter. Elsewhere it does."""
    clash, _ = CASES["two writers of one value clash"]
    verdict = compare(clash, told(clash), _said_otherwise(told(clash)))
    assert isinstance(verdict, Difference)
    assert verdict.name == "A super-step that cannot be applied"
    assert isinstance(compare(WIDE, told(WIDE), _said_otherwise(told(WIDE))), Mismatch)


def _said_otherwise(entries: list[Entry]) -> list[Entry]:
    return [entries[0], {**entries[1], "ran": {"stranger": 1}}, *entries[2:]]


def test_a_graph_that_cannot_be_built_is_a_story_too() -> None:
    """An edge to nowhere: the class of the error is compared, nothing is run."""
    broken = dataclasses.replace(WIDE, edges=(Edge((START,), "nowhere"),))
    assert told(broken) == [{"call": "build", "raises": "ValueError"}]


def test_the_program_of_a_scenario_shows_what_the_transcript_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-alone program makes the same calls and ends with the same checkpoints."""
    monkeypatch.setattr(sys, "argv", ["program", "langgraph"])
    exec(compile(script(WIDE), "program", "exec", dont_inherit=True), {"__name__": "program"})
    printed = capsys.readouterr().out
    entries = told(WIDE)
    assert printed.count("\nstored ") == len(entries[-1]["stored"])
    assert f"invoke => {entries[3]['result']}" in printed
    assert "invoke raises ValueError" in printed


def test_a_scenario_is_reduced_to_what_shows_the_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where two packages differ in deferral alone, all that has no part in it is left out."""

    def judge_deferral(scenario: Scenario, package: str) -> Mismatch | Difference | None:
        nodes = tuple(dataclasses.replace(node, defer=False) for node in scenario.nodes)
        undeferred = dataclasses.replace(scenario, nodes=nodes)
        return compare(scenario, told(scenario), told(undeferred))

    monkeypatch.setattr(reducing, "judge", judge_deferral)
    plain, _ = CASES["a deferred node waits for all"]
    noise = Branch("a", (("unknown", "b2"), (END,)))
    noisy = dataclasses.replace(plain, keys=WIDE.keys, branches=(noise,))
    found = judge_deferral(noisy, "")
    assert isinstance(found, Mismatch)
    smallest, _ = reducing.reduce(noisy, found, "")
    assert smallest == Scenario(
        keys=(Key("log"),),
        nodes=(Node("a"), Node("b2"), Node("d", writes=NAME, defer=True)),
        edges=(Edge((START,), "a"), Edge(("a",), "d"), Edge(("b2",), "d")),
        branches=(Branch("a", (("b2",),)),),
        calls=(Call("invoke", input={"log": ["in"]}),),
    )
