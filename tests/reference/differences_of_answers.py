"""What differs where nodes ask, and where a `Command` comes from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .case import Case, Difference
from .chunks import opened
from .scenario import Call
from .transcript import Entry

NOBODY = "<null task>"


def _answers(call: Call) -> bool:
    command = call.command
    return command is not None and (command.resume is not None or command.answers is not None)


def _so_far(case: Case) -> Iterator[tuple[Call, Entry, Entry]]:
    """The calls up to the one that differs, with what either side says."""
    yield from zip(case.scenario.calls, case.reference[: case.number + 1], case.other)


def is_a_pause(entry: Entry) -> bool:
    return "'interrupt'" in str(entry) or "'interrupts'" in str(entry)


def _answer_for_nobody(case: Case) -> bool:
    """An id that nobody asked with, or an answer where nothing is left to run, or has begun."""
    for call, one, two in _so_far(case):
        if _answers(call) and "next" in one:
            over = not one["next"] and not one["waiting"]
            if over or two.get("raises") == "UnknownInterruptError":
                return True
    return False


def _empty_map(case: Case) -> bool:
    """An empty map; and a Command of which the reference dies, since it finds nothing in it."""
    empty = any(call.command and call.command.resume == {} for call, *_ in _so_far(case))
    dies = case.reference[case.number].get("raises") == "UnboundLocalError"
    return empty or (case.call.command is not None and dies)


def _answer_at_an_old_checkpoint(case: Case) -> bool:
    return any(
        _answers(call) and (call.at is not None or call.inside is not None)
        for call, *_ in _so_far(case)
    )


def _answer_used_once(case: Case) -> bool:
    """The run goes on without an answer. Ours asks, the reference uses the last answer again."""
    call, number = case.call, case.number
    goes_on = call.op in ("invoke", "stream") and call.input is None and not _answers(call)
    if not goes_on or number == 0:
        return False
    before = zip(case.scenario.calls[number - 1 :: -1], case.reference[number - 1 :: -1])
    for earlier, entry in before:
        if earlier.command and earlier.command.resume is not None:
            more = _held(case.reference) > _held(case.other)
            asks = more or is_a_pause(case.other[number]) or _went_further(case, number)
            return asks and bool(entry.get("waiting"))
        if earlier.op in ("invoke", "stream") and earlier.input is not None:
            return False
    return False


def _held(entries: list[Entry]) -> int:
    """How many tasks hold answers, in all that is stored."""
    writes = [write for row in entries[-1].get("stored", []) for write in row["writes"]]
    return sum(channel == "__resume__" and task != NOBODY for task, channel, _ in writes)


def _went_further(case: Case, number: int) -> bool:
    """Whether in the reference some node ran that did not in ours."""
    ours = case.other[number]["ran"]
    return any(count > ours.get(name, 0) for name, count in case.reference[number]["ran"].items())


def _command_that_starts_a_thread(case: Case) -> bool:
    """There is nothing to go on from, or no saver that would know."""
    started = not case.scenario.saver or any(map(_begins, case.reference[-1].get("stored", [])))
    commands = [entry for call, *_, entry in _so_far(case) if call.command and not _answers(call)]
    refused = any(entry.get("raises") == "EmptyInputError" for entry in commands)
    return bool(commands) and (started or refused)


def _begins(row: Entry) -> bool:
    """Whether a checkpoint is that of an input, which was a Command."""
    value = row["values"].get("__start__")
    return isinstance(value, dict) and "Command" in value.get("object", ())


def _commands_on_one_checkpoint(case: Case) -> bool:
    """Beside some checkpoint ours stores more writes of nobody's than the reference; or that cannot
    apply them, since two write one value, or one has been refused before; or forgets them, since
    the checkpoint was updated."""
    theirs, ours = case.reference[-1].get("stored", []), case.other[-1].get("stored", [])
    more = any(len(_of_nobody(two)) > len(_of_nobody(one)) > 0 for one, two in zip(theirs, ours))
    updates = [call for call, *_ in _so_far(case) if call.command and call.command.update]
    one, two = case.reference[case.number], case.other[case.number]
    clash = one.get("raises") in ("InvalidUpdateError", "TypeError")
    refused = bool(updates) and clash and one["raises"] != two.get("raises")
    return more or refused or _updated_after_a_command(case)


def _updated_after_a_command(case: Case) -> bool:
    """Whether a checkpoint was updated beside which a Command had left something."""
    stored = {row["id"]: row for row in case.reference[-1].get("stored", [])}
    updates = [row for row in stored.values() if row["metadata"]["source"] == "update"]
    parents = [stored[row["parent"]] for row in updates if row["parent"] in stored]
    updated = any(call.op == "update" for call, *_ in _so_far(case))
    return updated and any(map(_of_nobody, parents))


def _of_nobody(row: Entry) -> list[Any]:
    return [
        channel for task, channel, _ in row["writes"] if task == NOBODY and channel != "__resume__"
    ]


def _answered_question_of_a_failed_task(case: Case) -> bool:
    """The reference shows the question of a task with an error; ours takes it back in the store."""
    one = case.reference[case.number]
    taken_back = any(
        channel == "__interrupt__" and value == []
        for row in case.other[-1].get("stored", [])
        for _, channel, value in row["writes"]
    )
    other = case.other[case.number]
    seen = one["call"] in ("state", "history", "stored")
    return taken_back and (seen or one.get("waiting") != other.get("waiting"))


def _live_state_after_a_command(case: Case) -> bool:
    """The live state of a checkpoint beside which a `Command` left targets."""
    sent = any(call.command and call.command.goto for call, *_ in [*_so_far(case)][:-1])
    one, two = case.reference[case.number], case.other[case.number]
    if one["call"] in ("state", "history"):
        return sent and "raises" not in one and "raises" not in two
    return sent and any(one.get(name) != two.get(name) for name in ("waiting", "next"))


def _single_value_beside_questions(case: Case) -> bool:
    one = case.reference[case.number]
    single = case.scenario.schema == "root" or isinstance(case.call.output_keys, str)
    return single and case.call.version == "v2" and is_a_pause(one)


def _update_of_a_failed_task(case: Case) -> bool:
    """The reference tells an update of a task that was answered, and then failed."""
    one, two = case.reference[case.number], case.other[case.number]
    if "raises" not in one:
        return False
    if one.get("printed") != two.get("printed") and one.get("chunks") == two.get("chunks"):
        lines = [line for line in one["printed"] if line not in two["printed"]]
        return bool(lines) and all(line.endswith(": None}") for line in lines)
    if "chunks" not in one or "chunks" not in two:
        return False
    more = [made for made in one["chunks"] if made not in two["chunks"]]
    updates = all(opened(made, case.call)[0] == "updates" for made in more)
    return bool(more) and updates and all(made in one["chunks"] for made in two["chunks"])


def _kept_with_its_task(case: Case) -> bool:
    """All is equal, but that ours has more tasks which hold answers. Or there is such a task, and a
    graph in it stops: from then on the reference asks again."""
    one, two = case.reference[case.number], case.other[case.number]
    if one["call"] != "stored":
        return _asks_and_stops(case) and bool(holders(case.other) - holders(case.reference))
    told = [write for row in one["stored"] for write in row["writes"]]
    kept = [
        {**row, "writes": [write for write in row["writes"] if write in told or not _holds(write)]}
        for row in two["stored"]
    ]
    return kept == one["stored"]


def _question_of_no_task(case: Case) -> bool:
    """All of the state is not stored, one question waits at most, and the reference counts more."""
    one, two = case.reference[case.number], case.other[case.number]
    forgets = case.scenario.schema == "root" and case.scenario.keys[0].kind == "untracked"
    refused = one.get("raises") == "RuntimeError" != two.get("raises")
    return forgets and _answers(case.call) and refused and len(one["waiting"]) < 2


def _answer_to_whoever_asks_first(case: Case) -> bool:
    """One question waits, and one answer comes; in the reference another task gets it."""
    theirs, ours = holders(case.reference), holders(case.other)
    one_waits = len(case.reference[case.number].get("waiting", ())) == 1
    return _answers(case.call) and one_waits and bool(theirs - ours) and bool(ours - theirs)


def holders(entries: list[Entry]) -> set[tuple[str, str]]:
    """The tasks that hold answers, and the checkpoints beside which they do."""
    rows = entries[-1].get("stored", [])
    return {(row["id"], write[0]) for row in rows for write in row["writes"] if _holds(write)}


def _asks_and_stops(case: Case) -> bool:
    """Whether a node asks, and calls a graph that may stop at a breakpoint."""
    graphs = (case.scenario, *case.scenario.inner)
    asks = any(node.asks and node.graph for graph in graphs for node in graph.nodes)
    return asks and any(graph.stop_before or graph.stop_after for graph in case.scenario.inner)


def _holds(write: list[Any]) -> bool:
    return write[1] == "__resume__" and write[0] != NOBODY


def _empty_breakpoints(case: Case) -> bool:
    return any(() in (call.stop_before, call.stop_after) for call, *_ in _so_far(case))


def _new_answer_after_a_failure(case: Case) -> bool:
    """An answer, where the run before had failed and no question waits: some task holds answers."""
    ran: Entry | None = None
    for call, _, two in _so_far(case):
        failed = ran is not None and ran.get("raises") not in (None, "UnknownInterruptError")
        if failed and _answers(call) and _held(case.other):
            return True
        ran = two if call.op in ("invoke", "stream") else ran
    return False


def _one_memory_for_two(case: Case) -> bool:
    """Two tasks of one super-step call a graph with a memory: ours refuses the second."""
    return any(graph.checkpointer is True for graph in case.scenario.inner) and any(
        two.get("raises") == "RuntimeError" for _, _, two in _so_far(case)
    )


ANSWERS = (
    Difference("A new answer after a failure", _new_answer_after_a_failure),
    Difference("Two tasks of one super-step with one memory", _one_memory_for_two),
    Difference("An answer for nobody", _answer_for_nobody),
    Difference("An empty map is an answer", _empty_map),
    Difference("An answer at an old checkpoint", _answer_at_an_old_checkpoint),
    Difference("A question whose task cannot run any more does not wait", _question_of_no_task),
    Difference("One answer belongs to the question that waits", _answer_to_whoever_asks_first),
    Difference("An answer is used once", _answer_used_once),
    Difference("A Command that starts a thread", _command_that_starts_a_thread),
    Difference("An empty list of breakpoints", _empty_breakpoints),
    Difference("Commands on one checkpoint all count", _commands_on_one_checkpoint),
    Difference("A question that was answered does not wait", _answered_question_of_a_failed_task),
    Difference("The live state counts what a Command sent", _live_state_after_a_command),
    Difference("A task that failed has no update", _update_of_a_failed_task),
    Difference("An answer is stored with the task that got it", _kept_with_its_task),
    Difference("In version 2 a single value is shown", _single_value_beside_questions),
)
