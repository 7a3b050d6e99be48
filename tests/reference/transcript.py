"""What happened, written down so that two implementations can be held against each other.

A transcript is a list with one entry for each call, and a last one with everything the saver
holds. An entry says what came back (or the *class* of what was raised: the words are each
package's own) and which nodes ran, and how often. It is plain JSON: two of them compare with `==`.

What differs from run to run is replaced by what it means:

- a checkpoint id becomes ``c0``, ``c1``, ... in the order of creation, which is the order of ids;
  those of each inner graph are counted for themselves: ``sub:sub@c1/c0``;
- a task id becomes the task's name and the checkpoint it belongs to: ``a@c1``, ``a#0@c1`` for the
  first `Send`, also where it is a part of a namespace;
- the id of a question becomes its text and the checkpoint beside which it is stored:
  ``sub/ask?0@sub:sub@c1/c0``;
- other ids are numbered as they appear; or all alike, if an inner graph keeps nothing. (There the
  reference makes new ids in each run, and minigraph does not.)
- a version becomes its integer part; a time, the fact that there is one.

Only what has no order is sorted: sets; the chunks of a stream that follow finishing order (see
`chunks`); the questions of one super-step (see `plain`); the writes of different tasks; and of one
task, the ``branch:to:*`` and ``join:*`` writes (the reference walks over sets there).
Inside *stored* values tuples become lists, as the serializer of the reference makes them.

The reference runs with ``durability="sync"``: by default it serialises a checkpoint in the
background, where the set of a join may have moved on since (a race, and a wrong history). Only
where an inner graph keeps nothing it does not: its `invoke` dies then, by an internal error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import redirect_stdout
from copy import deepcopy
from io import StringIO
from itertools import groupby
from typing import Any, TypeAlias

from .build import Built, build
from .chunks import chunk, in_order
from .plain import ID, LEAKED, error_class, in_any_order, plain
from .scenario import UNKNOWN, UPDATED, Call, Command, Scenario, send_target

Entry: TypeAlias = dict[str, Any]

THREAD = {"configurable": {"thread_id": "1"}}
NO_SUCH_CHECKPOINT = "1ef663ba-28fe-6528-8002-5a559208592c"
FIXED_IDS = {
    NO_SUCH_CHECKPOINT: "<no such checkpoint>",
    "00000000-0000-0000-0000-000000000000": "<null task>",
}
EDGES = ("branch:to:", "join:")
UNKNOWN_QUESTION = "0" * 32


def transcript(scenario: Scenario, package: str) -> list[Entry]:
    """Run `scenario` on `package` and tell what happened."""
    try:
        forgets = any(graph.checkpointer is False for graph in scenario.inner)
        durable = package == "langgraph" and scenario.saver and not forgets
        session = Session(build(scenario, package), durable, scenario.recursion_limit)
    except Exception as error:
        return [{"call": "build", "raises": type(error).__name__}]
    entries = [session.perform(call) for call in scenario.calls]
    if scenario.saver:
        entries.append({"call": "stored", "stored": session.stored()})
    labels = session.labels()
    labelled: list[Entry] = _labelled(entries, labels)
    for call, entry in zip(scenario.calls, labelled):
        if "chunks" in entry:
            entry["chunks"] = in_order(entry["chunks"], call)
        if "printed" in entry:
            entry["printed"].sort(key=lambda line: ID.sub("", line))
    if scenario.saver:
        labelled[-1]["stored"].sort(key=lambda row: (ID.sub("", row["namespace"]), row["number"]))
        for row in labelled[-1]["stored"]:
            row["writes"].sort(
                key=lambda write: ID.sub("", write[0])
            )  # tasks are stored as they finish
    forgets = forgets or bool(scenario.inner and not scenario.saver)
    numbered: list[Entry] = _labelled(labelled, {}, numbers=not forgets)
    return numbered


class Session:
    """One thread, and the calls made on it. There is a method for each `Call.op`."""

    def __init__(self, built: Built, durable: bool, recursion_limit: int) -> None:
        self.built, self.graph = built, built.graph
        self.run_options = {"durability": "sync"} if durable else {}
        self.recursion_limit = recursion_limit
        self.updated: dict[str, Any] = THREAD
        self.questions: dict[str, tuple[str, str]] = {}
        self.early: dict[str, str] = {}

    def perform(self, call: Call) -> Entry:
        before = self.built.runs.copy()
        entry: Entry = {"call": call.op}
        if call.command or call.op == "update":
            self.early |= self.labels()  # in the reference the thread may be unreadable afterwards
        printed = StringIO()
        try:
            with redirect_stdout(printed):
                getattr(self, call.op)(call, entry)
        except Exception as error:
            entry["raises"] = type(error).__name__
        self._remember_questions()
        if call.prints:
            entry["printed"] = [_in_any_order(line) for line in printed.getvalue().splitlines()]
        ran = self.built.runs - before
        entry["ran"] = {f"{name}{tag}": count for (name, tag), count in sorted(ran.items())}
        return entry

    def invoke(self, call: Call, entry: Entry) -> None:
        options = {**stream_options(call), **self.run_options}
        result = self._do(call, "invoke", *self._input(call, entry), **options)
        if isinstance(result, list) and call.modes not in (None, "values"):
            entry["chunks"] = [chunk(each, call) for each in result]
        else:
            entry["result"] = plain(result)

    def stream(self, call: Call, entry: Entry) -> None:
        options = {**stream_options(call), **self.run_options}
        chunks = entry["chunks"] = []
        arguments = self._input(call, entry)
        self._each(
            lambda item: chunks.append(chunk(item, call)), call, "stream", *arguments, **options
        )

    def update(self, call: Call, entry: Entry) -> None:
        config = self._whole_address(call)
        self.updated = self._do(call, "update_state", config, call.input, as_node=call.as_node)
        entry["config"] = plain(self.updated)

    def state(self, call: Call, entry: Entry) -> None:
        options = {"subgraphs": True} if call.subgraphs else {}
        config = self._address(call.at, call.inside)
        entry["state"] = plain(self._do(call, "get_state", config, **options))

    def history(self, call: Call, entry: Entry) -> None:
        narrowed = {
            "filter": call.where,
            "limit": call.limit,
            "before": None if call.before is None else self._address(call.before, call.inside),
        }
        given = {name: value for name, value in narrowed.items() if value is not None}
        states = entry["history"] = []
        arguments = (self._address(call.at, call.inside),)
        self._each(
            lambda item: states.append(plain(item)), call, "get_state_history", *arguments, **given
        )

    def stored(self) -> list[Entry]:
        """Every checkpoint of the thread as the saver holds it, oldest first in its namespace."""
        return [
            {"namespace": namespace, "number": number, **_checkpoint(row)}
            for namespace, rows in self._by_namespace().items()
            for number, row in enumerate(rows)
        ]

    def labels(self) -> dict[str, str]:
        """What to write in the place of each id."""
        labels = FIXED_IDS | self.early
        for namespace, rows in self._by_namespace().items():
            inside = f"{_labelled(namespace, labels)}/" if namespace else ""
            for number, row in enumerate(rows):
                labels[row.checkpoint["id"]] = f"{inside}c{number}"
                for task in self._planned(row.config):
                    if _was_sent(task, row):
                        continue
                    sent = f"#{task.path[1]}" if isinstance(task.path[1], int) else ""
                    labels[task.id] = f"{task.name}{sent}@c{number}"
        asked = {id: f"{text}@{labels[beside]}" for id, (text, beside) in self.questions.items()}
        return labels | asked

    def _remember_questions(self) -> None:
        """By their ids: their texts, and the checkpoints beside which they are, or were, stored."""
        for rows in self._by_namespace().values():
            for row in rows:
                for question in _questions(row):
                    self.questions[question.id] = (str(question.value), row.checkpoint["id"])

    def _by_namespace(self) -> dict[str, list[Any]]:
        """The rows of each namespace, oldest first; the namespaces of outer graphs come first."""
        found: dict[str, list[Any]] = {}
        rows = [] if self.built.saver is None else list(self.built.saver.list(THREAD))
        for row in sorted(rows, key=lambda row: str(row.checkpoint["id"])):
            found.setdefault(row.config["configurable"]["checkpoint_ns"], []).append(row)
        return {name: found[name] for name in sorted(found, key=lambda name: name.count("|"))}

    def _planned(self, config: Any) -> tuple[Any, ...]:
        """The tasks that follow a checkpoint; none where a class cannot take what it holds."""
        try:
            tasks: tuple[Any, ...] = self.graph.get_state(config).tasks
            return tasks
        except Exception:
            return ()

    def _do(self, call: Call, method: str, *args: Any, **kwargs: Any) -> Any:
        if call.asynchronous:
            return asyncio.run(getattr(self.graph, f"a{method}")(*args, **kwargs))
        return getattr(self.graph, method)(*args, **kwargs)

    def _each(
        self, tell: Callable[[Any], None], call: Call, method: str, *args: Any, **kwargs: Any
    ) -> None:
        """Tell of every item that `method` yields, as it comes."""

        async def each() -> None:
            async for item in getattr(self.graph, f"a{method}")(*args, **kwargs):
                tell(item)

        if call.asynchronous:
            asyncio.run(each())
        else:
            for item in getattr(self.graph, method)(*args, **kwargs):
                tell(item)

    def _input(self, call: Call, entry: Entry) -> tuple[Any, dict[str, Any]]:
        """What a run is given: the input, and the config. Tells what a `Command` finds there."""
        place = self._whole_address(call)
        limit = self.recursion_limit if call.recursion_limit is None else call.recursion_limit
        config = {**place, "recursion_limit": limit}
        if call.run_id:
            config["metadata"] = {"run_id": call.run_id}
        if not call.command:
            return deepcopy(call.input), config  # the reference writes its questions into it
        found = self.graph.get_state(place) if self.built.saver is not None else None
        asked = found.interrupts if found else ()
        entry["waiting"] = sorted(str(question.value) for question in asked)
        entry["next"] = sorted(found.next) if found else []
        return self._command(call.command, place), config

    def _command(self, command: Command, place: dict[str, Any]) -> Any:
        """A `Command` of the package; targets are told as in nodes, with a tag of their own."""
        given: dict[str, Any] = {}
        if command.answers is not None:
            asked = self._waiting(place)
            given["resume"] = {
                _question_id(asked, which): answer for which, answer in command.answers.items()
            }
        elif command.resume is not None:
            given["resume"] = command.resume
        if command.update is not None:
            given["update"] = command.update
        if command.goto:
            given["goto"] = [
                self.built.types.Send(sent, {"send": f"@user.{number}"}) if sent else target
                for number, target in enumerate(command.goto)
                for sent in [send_target(target)]
            ]
        if command.to_parent:
            given["graph"] = self.built.types.Command.PARENT
        return self.built.types.Command(**given)

    def _waiting(self, place: dict[str, Any]) -> list[Any]:
        """The questions that wait at a place, by the order of tasks and then of their texts."""
        if self.built.saver is None:
            return []
        tasks = self.graph.get_state(place).tasks
        return [question for task in tasks for question in in_any_order(task.interrupts)]

    def _address(self, at: int | str | None, inside: int | None = None) -> dict[str, Any]:
        if inside is not None:
            return self._address_inside(at, inside)
        if at == UNKNOWN:
            return {"configurable": {**THREAD["configurable"], "checkpoint_id": NO_SUCH_CHECKPOINT}}
        if at == UPDATED:
            return self.updated
        if isinstance(at, int) and self.built.saver is not None:
            rows = self._by_namespace().get("", [])
            config: dict[str, Any] = rows[-1 - at % len(rows)].config if rows else THREAD
            return config
        return THREAD

    def _whole_address(self, call: Call) -> dict[str, Any]:
        """Of an inner checkpoint as a snapshot tells it: when that was in the graphs around it."""
        config = self._address(call.at, call.inside)
        if call.inside is not None and "checkpoint_id" in config["configurable"]:
            whole = self.graph.get_state(config).config["configurable"]
            config = {"configurable": {key: whole[key] for key in whole if key != LEAKED}}
        return config

    def _address_inside(self, at: int | str | None, inside: int) -> dict[str, Any]:
        """Of an inner graph, or of one of its checkpoints."""
        labels, found = self.labels(), self._by_namespace()
        names = sorted(found.keys() - {""}, key=lambda name: str(_labelled(name, labels)))
        if not names:
            return THREAD
        name = names[inside % len(names)]
        if isinstance(at, int):
            config: dict[str, Any] = found[name][-1 - at % len(found[name])].config
            return config
        return {"configurable": {**THREAD["configurable"], "checkpoint_ns": name}}


def _in_any_order(line: str) -> str:
    """A printed line; where it tells of several questions, these are sorted."""
    parts = line.split("Interrupt(")
    if len(parts) < 3:
        return line
    return "Interrupt(".join([parts[0], *sorted(part.rstrip(" ,()[]{}") for part in parts[1:])])


def _was_sent(task: Any, row: Any) -> bool:
    """Whether a task was started by a `Command`, whose targets are stored beside a checkpoint. The
    reference does not show it there."""
    values = row.checkpoint["channel_values"]
    written = {channel for id, channel, _ in row.pending_writes or [] if id in FIXED_IDS}
    if isinstance(task.path[1], int):
        within = task.path[1] < len(values.get("__pregel_tasks", ()))
        return not within or "__pregel_tasks" in written  # then these are in its place
    target = f"branch:to:{task.name}"
    return target in written and target not in values


def _questions(row: Any) -> list[Any]:
    return [
        question
        for _, channel, value in row.pending_writes or []
        if channel == "__interrupt__"
        for question in value
    ]


def _question_id(asked: list[Any], which: str) -> str:
    if which == UNKNOWN or not asked:
        return UNKNOWN_QUESTION
    return str(asked[int(which) % len(asked)].id)


def _checkpoint(row: Any) -> Entry:
    checkpoint = row.checkpoint
    parent = (row.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    seen = checkpoint["versions_seen"]
    return {
        "id": checkpoint["id"],
        "parent": parent,
        "config": plain(row.config),
        "metadata": plain(row.metadata),
        "format": checkpoint["v"],
        "values": plain(checkpoint["channel_values"], stored=True),
        "versions": _integers(checkpoint["channel_versions"]),
        "seen": {
            node: _integers(versions)
            for node, versions in seen.items()
            if versions or node != "__input__"  # an input has seen nothing, noted or not
        },
        "updated": checkpoint.get("updated_channels"),
        "writes": _without_edge_order(row.pending_writes or []),
    }


def _integers(versions: dict[str, Any]) -> dict[str, int]:
    return {channel: int(str(version).split(".")[0]) for channel, version in versions.items()}


def _without_edge_order(writes: list[Any]) -> list[Any]:
    rows = [
        [task, channel, error_class(value) if channel == "__error__" else plain(value, stored=True)]
        for task, channel, value in writes
        if not _says_nothing(task, channel)
    ]
    ordered: list[Any] = []
    for (_, edge), run in groupby(rows, lambda row: (row[0], row[1].startswith(EDGES))):
        found = list(run)
        ordered += sorted(found, key=lambda row: row[1]) if edge else found
    return ordered


def _says_nothing(task: str, channel: str) -> bool:
    """A way to END is none; and where nobody wrote nothing, one `Command` is told from another."""
    nobody = FIXED_IDS.get(task) == "<null task>"
    return channel == "branch:to:__end__" or (nobody and channel == "__no_writes__")


def stream_options(call: Call) -> dict[str, Any]:
    """What `call` says about what is told, as options of a run."""
    given: dict[str, Any] = {}
    if call.modes is not None:
        given["stream_mode"] = call.modes if isinstance(call.modes, str) else list(call.modes)
    if call.version != "v1":
        given["version"] = call.version
    if call.output_keys is not None:
        keys = call.output_keys
        given["output_keys"] = keys if isinstance(keys, str) else list(keys)
    if call.prints:
        given["print_mode"] = call.prints
    if call.subgraphs:
        given["subgraphs"] = True
    for name, stops in (("before", call.stop_before), ("after", call.stop_after)):
        if stops is not None:
            given[f"interrupt_{name}"] = stops if isinstance(stops, str) else list(stops)
    return given


def _labelled(value: Any, labels: dict[str, str], numbers: bool | None = None) -> Any:
    """`value` with labels in the place of ids. Others stay, unless they are to be told apart by
    `numbers`, or not at all."""
    if isinstance(value, dict):
        return {
            _labelled(key, labels, numbers): _labelled(item, labels, numbers)
            for key, item in value.items()
        }
    if isinstance(value, list):
        items = [_labelled(item, labels, numbers) for item in value]
        asked = all(isinstance(item, dict) and "interrupt" in item for item in items)
        return sorted(items, key=lambda item: item["interrupt"]) if asked else items
    if isinstance(value, str):
        return ID.sub(lambda found: _label(found[0], labels, numbers), value)
    return value


def _label(id: str, labels: dict[str, str], numbers: bool | None) -> str:
    if numbers is None:
        return labels.get(id, id)
    return labels.setdefault(id, f"<id {len(labels)}>") if numbers else "<id>"
