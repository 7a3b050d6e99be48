"""The known differences between the two packages: how to recognise what the ledger allows.

`compare` walks two transcripts call by call. At the first entry that differs, a row of `KNOWN` may
explain it; then the rest is not compared, since a thread that went another way once goes its own
way ever after. What no row explains is a failure. So is a row that explains nothing any more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .case import Case, Difference
from .chunks import opened
from .differences_of_answers import ANSWERS, holders, is_a_pause
from .differences_of_graphs import GRAPHS
from .scenario import UNKNOWN, Call, Scenario
from .transcript import FIXED_IDS, NO_SUCH_CHECKPOINT, Entry, transcript

TRIES = 3

MISSING = object()


REFUSALS = ("InvalidUpdateError", "TypeError")
"""What is raised where channels refuse what is written to them."""

ASTRAY = (*REFUSALS, "KeyError", "ValidationError")
"""What is raised where a branch reads the state, and where it leads."""


def _step_cannot_be_applied(case: Case) -> bool:
    """All tasks of a step have written, and still the step has no outcome.

    Or some did fail, and the state cannot show what their finished siblings wrote. Or the step was
    an update: it left its writes on the checkpoint that it could not be applied to.
    """
    one, two = case.reference[case.number], case.other[case.number]
    if one["call"] == "state" and one.get("raises") in REFUSALS and "raises" not in two:
        return True
    if any(call.op == "update" for call in case.raised("TypeError")):
        return True
    if one.get("raises") in REFUSALS and two.get("raises") not in REFUSALS:
        # The reference applies what finished tasks wrote before all have ended.
        return _pauses(case.scenario) or case.call.command is not None
    untracked = any(key.kind == "untracked" for key in case.scenario.keys)  # and so are its writes
    if untracked or not case.scenario.saver:
        return bool(case.raised(*REFUSALS))
    stored = case.reference[-1].get("stored", [])
    applied = {row["parent"] for row in stored if row["metadata"]["source"] == "loop"}
    stuck = any(
        row["id"] not in applied
        and row["writes"]
        and _failed(row["writes"]) <= _wrote(row["writes"])
        for row in stored
    )
    return stuck and bool(case.raised(*REFUSALS))


def _pauses(scenario: Scenario) -> bool:
    graphs = (scenario, *scenario.inner)
    asks = any(node.asks for graph in graphs for node in graph.nodes)
    return asks or any(graph.stop_before or graph.stop_after for graph in scenario.inner)


def _task_failed_after_it_wrote(case: Case) -> bool:
    """A task has an error that a path function raised, or what it read or chose; and writes too."""
    for row in case.reference[-1].get("stored", []):
        if _wrote(row["writes"]) & _failed(row["writes"], *ASTRAY):
            return bool(case.raised(*ASTRAY))
    one, two = case.reference[case.number], case.other[case.number]
    if case.call not in case.raised(*ASTRAY) or "chunks" not in one or "chunks" not in two:
        return False
    more = [made for made in one["chunks"] if made not in two["chunks"]]  # the reference tells them
    told = (opened(made, case.call) for made in more)
    return bool(more) and all(mode == "updates" or _error_in(mode, made) for mode, made in told)


def _wrote(writes: list[Any]) -> set[str]:
    return {task for task, channel, _ in writes if channel != "__error__"}


def _failed(writes: list[Any], *errors: str) -> set[str]:
    """The tasks with an error: any, or one of `errors`."""
    told = [(task, error) for task, channel, error in writes if channel == "__error__"]
    return {task for task, error in told if not errors or error in errors}


def _coroutine_under_the_sync_driver(case: Case) -> bool:
    coroutines = any(node.coroutine for node in case.scenario.nodes)
    return coroutines and any(not call.asynchronous for call in case.raised("TypeError"))


def _parent_that_does_not_exist(case: Case) -> bool:
    stored = case.reference[-1].get("stored", [])
    entry = case.reference[case.number]
    shown = entry["call"] in ("state", "history", "stored") or "chunks" in entry
    return shown and any(row["parent"] == FIXED_IDS[NO_SUCH_CHECKPOINT] for row in stored)


def _update_of_what_is_not_there(case: Case) -> bool:
    refused = case.other[case.number].get("raises") == "InvalidUpdateError"
    return case.call.op == "update" and case.call.at == UNKNOWN and refused


def _breakpoint_at_an_unknown_node(case: Case) -> bool:
    stops = (*(case.call.stop_before or ()), *(case.call.stop_after or ()))
    unknown = set(stops) - {"*", *(node.name for node in case.scenario.nodes)}
    return bool(unknown) and case.other[case.number].get("raises") == "ValueError"


def _live_view_of_what_lives_one_step(case: Case) -> bool:
    """The live state shows what finished tasks wrote to channels that fade, and else the same."""
    one, two = case.reference[case.number], case.other[case.number]
    if not one["call"] == two["call"] == "state" or "raises" in one or "raises" in two:
        return False
    if not any(task["result"] for task in one["state"]["tasks"]["tuple"]):
        return False
    fading = {
        key.name
        for key in case.scenario.keys
        if key.kind in ("any", "ephemeral", "unguarded", "topic")
    }
    theirs, ours = one["state"]["values"], two["state"]["values"]
    return bool(fading) and all(
        theirs.get(name, MISSING) == ours.get(name, MISSING) for name in {*theirs, *ours} - fading
    )


def _update_of_a_replayed_input(case: Case) -> bool:
    """No node has run since the input, so the update acts as START; the reference finds nobody."""
    one, two = case.reference[case.number], case.other[case.number]
    seen = [
        set(row["seen"]) - {"__input__", "__interrupt__"}
        for row in case.other[-1].get("stored", [])
        if row["metadata"]["source"] == "update"
    ]
    refused = one.get("raises") == "InvalidUpdateError" and "raises" not in two
    return one["call"] == "update" and refused and {"__start__"} in seen


def _author_with_two_triggers(case: Case) -> bool:
    """Two channels started the node that ran last; the reference takes it for two authors."""
    call, one, two = case.call, case.reference[case.number], case.other[case.number]
    refused = one.get("raises") == "InvalidUpdateError" and "raises" not in two
    twice = any(
        len(triggers) > len(set(triggers.values()))
        for row in case.other[-1].get("stored", [])
        for node, triggers in row["seen"].items()
        if not node.startswith("__")
    )
    return call.op == "update" and call.as_node is None and refused and twice


def _latest_named_is_resumed(case: Case) -> bool:
    """The reference runs finished tasks of the latest fork or update again, or asks again what was
    answered; ours goes on."""
    call, one, two = case.call, case.reference[case.number], case.other[case.number]
    again = one.get("ran", {}).items() - two.get("ran", {}).items()
    goes_on = call.input is None or call.run_id is not None
    asks_again = is_a_pause(one) and one.get("ran") == two.get("ran") and bool(holders(case.other))
    return goes_on and call.at is not None and (bool(again) or asks_again)


def _update_as_input_gives_up_what_waits(case: Case) -> bool:
    """From an update as input on, the reference runs what waited beside START."""
    before = case.scenario.calls[: case.number + 1]
    if not any(call.op == "update" and call.as_node == "__input__" for call in before):
        return False
    stored = {row["id"]: row for row in case.reference[-1].get("stored", [])}
    inputs = [row for row in stored.values() if row["metadata"]["source"] == "input"]
    return any(_waits(stored[row["parent"]]) for row in inputs if row["parent"] in stored)


def _waits(row: Entry) -> bool:
    triggers = ("__start__", "branch:to:", "join:", "__pregel_tasks")
    found = [(channel, v) for channel, v in row["values"].items() if channel.startswith(triggers)]
    return any(v != [] or channel == "__start__" for channel, v in found)


def _input_that_cannot_be(case: Case) -> bool:
    """An input was refused, and the reference has it stored, or did not ask the model."""
    calls = zip(case.scenario.calls, case.reference, case.other[: case.number + 1])
    for call, one, two in calls:
        start = call.op in ("invoke", "stream") or call.as_node == "__input__"
        if (
            start
            and call.input is not None
            and two.get("raises") in ("InvalidUpdateError", "ValidationError")
        ):
            stored = _inputs(case.reference, call.input) > _inputs(case.other, call.input)
            if not two["ran"] and (stored or one.get("raises") != two["raises"]):
                return True
    return False


def _inputs(entries: list[Entry], given: Any) -> int:
    """How often this input is stored."""
    rows = [row for row in entries[-1].get("stored", []) if row["metadata"]["source"] == "input"]
    return sum(row["values"].get("__start__") == given for row in rows)


def _value_that_a_model_refuses(case: Case) -> bool:
    """From then on the reference raises, whatever it is asked.

    So it is with a dataclass that must have a value, and does not get it.
    """
    told = [entry.get("raises") for entry in case.reference[: case.number + 1]]
    required = any(key.required for key in case.scenario.keys)
    return "ValidationError" in told or (required and "TypeError" in told)


def _every_failure_is_told(case: Case) -> bool:
    """Without the results of tasks that failed or asked, the streams are the same. So is what is
    printed without questions."""
    one, two = case.reference[case.number], case.other[case.number]
    if "raises" in one and one.get("chunks") == two.get("chunks") and "printed" in one:
        lines = two["printed"]
        told = [line for line in lines if line in one["printed"] or "'__interrupt__'" not in line]
        return len(told) < len(lines) and told == one["printed"]
    if "raises" not in one or "chunks" not in one or "chunks" not in two:
        return False
    ours = [
        made
        for made in two["chunks"]
        if made in one["chunks"] or not _fails_or_asks(made, case.call)
    ]
    return in_any_order(ours) == in_any_order(one["chunks"])


def in_any_order(chunks: list[Any]) -> list[str]:
    return sorted(json.dumps(made, sort_keys=True) for made in chunks)


def _result_that_is_empty(case: Case) -> bool:
    """One value is told of, and without empty results of tasks the streams are the same."""
    one, two = case.reference[case.number], case.other[case.number]
    single = isinstance(case.call.output_keys, str) or case.scenario.schema == "root"
    return single and "chunks" in two and _without_empty_results(two) == one


def _without_empty_results(value: Any) -> Any:
    """Without those of tasks that a checkpoint tells of."""
    if isinstance(value, list):
        return [_without_empty_results(item) for item in value]
    if not isinstance(value, dict):
        return value
    empty = "state" in value and not value.get("result", True)
    return {
        k: _without_empty_results(item) for k, item in value.items() if k != "result" or not empty
    }


def _fails_or_asks(made: Any, call: Call) -> bool:
    mode, payload = opened(made, call)
    if mode == "updates":
        return "__interrupt__" in payload
    asks = mode in ("tasks", "debug") and payload.get("payload", payload).get("interrupts")
    return bool(asks) or _error_in(mode, payload)


def _error_in(mode: str, payload: Any) -> bool:
    """Whether this is the result of a task that failed."""
    return mode in ("tasks", "debug") and bool(payload.get("payload", payload).get("error"))


def _object_of_what_is_known(case: Case) -> bool:
    """Version 2: the reference makes an object of values that its class does not take."""
    one, two = case.reference[case.number], case.other[case.number]
    return case.call.version == "v2" and one.get("raises") == "TypeError" != two.get("raises")


KNOWN = (
    *ANSWERS,
    *GRAPHS,
    Difference("Version 2 shows objects of what a class knows", _object_of_what_is_known),
    Difference("A task fails after it wrote", _task_failed_after_it_wrote),
    Difference("A super-step that cannot be applied", _step_cannot_be_applied),
    Difference("A coroutine node in a sync run", _coroutine_under_the_sync_driver),
    Difference("The parent of a checkpoint exists", _parent_that_does_not_exist),
    Difference("An update of what is not there", _update_of_what_is_not_there),
    Difference("Breakpoints are looked at", _breakpoint_at_an_unknown_node),
    Difference("What lives for one super-step is shown", _live_view_of_what_lives_one_step),
    Difference("An update of a replayed input acts as START", _update_of_a_replayed_input),
    Difference("The node that ran last is one author", _author_with_two_triggers),
    Difference("An input that cannot be", _input_that_cannot_be),
    Difference("A value that a pydantic model refuses", _value_that_a_model_refuses),
    Difference("A result that is empty is a result", _result_that_is_empty),
    Difference("Every task that fails is told", _every_failure_is_told),
    Difference("An update as input gives up what waits", _update_as_input_gives_up_what_waits),
    Difference("A named checkpoint that is the latest is resumed", _latest_named_is_resumed),
)


@dataclass(frozen=True)
class Mismatch:
    """Where two transcripts part: the call, the way into its entry, and what either side says."""

    case: Case
    path: str
    reference: Any
    other: Any

    @property
    def call(self) -> str:
        return str(self.case.reference[self.case.number]["call"])

    def __str__(self) -> str:
        call = f"call {self.case.number} ({self.call})"
        return (
            f"{call}, at {self.path}:\n  reference {self.reference!r}\n  other     {self.other!r}"
        )


def judge(scenario: Scenario, package: str) -> Mismatch | Difference | None:
    """Run `scenario` on the reference and on `package`, and compare.

    A mismatch has to show itself every time. The reference has races of its own: of two tasks
    that fail in one super-step, the second's error may come too late to be stored.
    """
    verdict: Mismatch | Difference | None = None
    for _ in range(TRIES):
        verdict = compare(
            scenario, transcript(scenario, "langgraph"), transcript(scenario, package)
        )
        if not isinstance(verdict, Mismatch):
            break
    return verdict


def compare(
    scenario: Scenario, reference: list[Entry], other: list[Entry]
) -> Mismatch | Difference | None:
    """The first mismatch, or the known difference that explains it, or None where all is equal."""
    for number, (left, right) in enumerate(zip(reference, other)):
        if left != right:
            case = Case(scenario, number, reference, other)
            for difference in KNOWN:
                if difference.explains(case):
                    return difference
            return Mismatch(case, *first_difference(left, right))
    return None


def first_difference(left: Any, right: Any, path: str = "") -> tuple[str, Any, Any]:
    """The way to the first place where two JSON values differ, and what stands there.

    >>> first_difference({"a": [1, 2]}, {"a": [1, 3]})
    ('/a/1', 2, 3)
    >>> first_difference({"a": 1}, {"b": 1})
    ('/a', 1, '<nothing>')
    """
    if isinstance(left, list) and isinstance(right, list):
        left, right = dict(enumerate(left)), dict(enumerate(right))
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return path, left, right
    for key in [*left, *(key for key in right if key not in left)]:
        one, two = left.get(key, "<nothing>"), right.get(key, "<nothing>")
        if one != two:
            return first_difference(one, two, f"{path}/{key}")
    return path, left, right
