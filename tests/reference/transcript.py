"""What happened, written down so that two implementations can be held against each other.

A transcript is a list with one entry for each call, and a last one with everything the saver
holds. An entry says what came back (or the *class* of what was raised: the words are each
package's own) and which nodes ran, and how often. It is plain JSON: two of them compare with `==`.

What differs from run to run is replaced by what it means:

- a checkpoint id becomes ``c0``, ``c1``, ... in the order of creation, which is the order of ids;
- a task id becomes the task's name and the checkpoint it belongs to: ``a@c1``, ``a#0@c1`` for the
  first `Send`; other ids are numbered as they appear;
- a version becomes its integer part; a time, the fact that there is one.

Only what has no order is sorted: sets; the ``updates`` of tasks of one super-step, which follow
finishing order; the ``branch:to:*`` and ``join:*`` writes of one task (the reference walks over
sets there).
Inside *stored* values tuples become lists, as the serializer of the reference makes them.

The reference runs with ``durability="sync"``: by default it serialises a checkpoint in the
background, where the set of a join may have moved on since (a race, and a wrong history).
"""

from __future__ import annotations

import asyncio
import json
import re
from itertools import groupby
from typing import Any, TypeAlias

from .build import Built, build
from .scenario import UNKNOWN, UPDATED, Call, Scenario

Entry: TypeAlias = dict[str, Any]

THREAD = {"configurable": {"thread_id": "1"}}
NO_SUCH_CHECKPOINT = "1ef663ba-28fe-6528-8002-5a559208592c"
FIXED_IDS = {
    NO_SUCH_CHECKPOINT: "<no such checkpoint>",
    "00000000-0000-0000-0000-000000000000": "<null task>",
}
EDGES = ("branch:to:", "join:")
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def transcript(scenario: Scenario, package: str) -> list[Entry]:
    """Run `scenario` on `package` and tell what happened."""
    try:
        session = Session(build(scenario, package), package, scenario.recursion_limit)
    except Exception as error:
        return [{"call": "build", "raises": type(error).__name__}]
    entries = [session.perform(call) for call in scenario.calls]
    if scenario.saver:
        entries.append({"call": "stored", "stored": session.stored()})
    labelled: list[Entry] = _labelled(entries, session.labels())
    return labelled


class Session:
    """One thread, and the calls made on it. There is a method for each `Call.op`."""

    def __init__(self, built: Built, package: str, recursion_limit: int) -> None:
        self.built, self.graph = built, built.graph
        durable = package == "langgraph" and built.saver is not None
        self.run_options = {"durability": "sync"} if durable else {}
        self.recursion_limit = recursion_limit
        self.updated: dict[str, Any] = THREAD

    def perform(self, call: Call) -> Entry:
        before = self.built.runs.copy()
        entry: Entry = {"call": call.op}
        try:
            getattr(self, call.op)(call, entry)
        except Exception as error:
            entry["raises"] = type(error).__name__
        ran = self.built.runs - before
        entry["ran"] = {f"{name}{tag}": count for (name, tag), count in sorted(ran.items())}
        return entry

    def invoke(self, call: Call, entry: Entry) -> None:
        config = self._run_config(call)
        result = self._do(call, "invoke", call.input, config, **self.run_options)
        entry["result"] = plain(result)

    def stream(self, call: Call, entry: Entry) -> None:
        mode = ["values", "updates"] if call.mode == "both" else call.mode
        options: dict[str, Any] = {"stream_mode": mode, **self.run_options}
        chunks = entry["chunks"] = []
        try:
            config = self._run_config(call)
            self._gather(chunks, call, "stream", call.input, config, **options)
        finally:
            entry["chunks"] = _without_finishing_order(chunks, call.mode)

    def update(self, call: Call, entry: Entry) -> None:
        config = self._address(call.at)
        self.updated = self._do(call, "update_state", config, call.input, as_node=call.as_node)
        entry["config"] = plain(self.updated)

    def state(self, call: Call, entry: Entry) -> None:
        entry["state"] = plain(self._do(call, "get_state", self._address(call.at)))

    def history(self, call: Call, entry: Entry) -> None:
        arguments = {
            "filter": call.where,
            "limit": call.limit,
            "before": None if call.before is None else self._address(call.before),
        }
        given = {name: value for name, value in arguments.items() if value is not None}
        entry["history"] = []
        self._gather(entry["history"], call, "get_state_history", self._address(call.at), **given)

    def stored(self) -> list[Entry]:
        """Every checkpoint of the thread as the saver holds it, oldest first."""
        return [_checkpoint(row) for row in reversed(list(self.built.saver.list(THREAD)))]

    def labels(self) -> dict[str, str]:
        """What to write in the place of each id."""
        labels = dict(FIXED_IDS)
        if self.built.saver is not None:
            ids = sorted(row.checkpoint["id"] for row in self.built.saver.list(THREAD))
            labels.update({checkpoint_id: f"c{number}" for number, checkpoint_id in enumerate(ids)})
            for state in self.graph.get_state_history(THREAD):
                checkpoint = labels[state.config["configurable"]["checkpoint_id"]]
                for task in state.tasks:
                    sent = f"#{task.path[1]}" if isinstance(task.path[1], int) else ""
                    labels[task.id] = f"{task.name}{sent}@{checkpoint}"
        return labels

    def _do(self, call: Call, method: str, *args: Any, **kwargs: Any) -> Any:
        if call.asynchronous:
            return asyncio.run(getattr(self.graph, f"a{method}")(*args, **kwargs))
        return getattr(self.graph, method)(*args, **kwargs)

    def _gather(self, into: list[Any], call: Call, method: str, *args: Any, **kwargs: Any) -> None:
        async def gather() -> None:
            async for item in getattr(self.graph, f"a{method}")(*args, **kwargs):
                into.append(plain(item))

        if call.asynchronous:
            asyncio.run(gather())
        else:
            for item in getattr(self.graph, method)(*args, **kwargs):
                into.append(plain(item))

    def _run_config(self, call: Call) -> dict[str, Any]:
        limit = self.recursion_limit if call.recursion_limit is None else call.recursion_limit
        config = {**self._address(call.at), "recursion_limit": limit}
        return {**config, "metadata": {"run_id": call.run_id}} if call.run_id else config

    def _address(self, at: int | str | None) -> dict[str, Any]:
        if at == UNKNOWN:
            return {"configurable": {**THREAD["configurable"], "checkpoint_id": NO_SUCH_CHECKPOINT}}
        if at == UPDATED:
            return self.updated
        if isinstance(at, int):
            history = list(self.graph.get_state_history(THREAD))
            return history[at % len(history)].config if history else THREAD
        return THREAD


def _without_finishing_order(chunks: list[Any], mode: str) -> list[Any]:
    """Sort each run of ``updates`` chunks. Between super-steps only ``values`` can part them."""

    def is_update(chunk: Any) -> bool:
        return mode == "updates" or (mode == "both" and chunk["tuple"][0] == "updates")

    ordered: list[Any] = []
    for update, run in groupby(chunks, is_update):
        found = list(run)
        ordered += sorted(found, key=json.dumps) if update else found
    return ordered


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
        "seen": {node: _integers(versions) for node, versions in seen.items()},
        "updated": checkpoint.get("updated_channels"),
        "writes": _without_edge_order(row.pending_writes or []),
    }


def _integers(versions: dict[str, Any]) -> dict[str, int]:
    return {channel: int(str(version).split(".")[0]) for channel, version in versions.items()}


def _without_edge_order(writes: list[Any]) -> list[Any]:
    rows = [
        [task, channel, _error(value) if channel == "__error__" else plain(value, stored=True)]
        for task, channel, value in writes
    ]
    ordered: list[Any] = []
    for (_, edge), run in groupby(rows, lambda row: (row[0], row[1].startswith(EDGES))):
        found = list(run)
        ordered += sorted(found, key=lambda row: row[1]) if edge else found
    return ordered


def _error(error: Any) -> Any:
    """A stored error is the `repr` of an exception: keep the class, drop the words."""
    return error.split("(")[0] if isinstance(error, str) else plain(error)


def plain(value: Any, stored: bool = False) -> Any:
    """`value` as JSON, the package's own types by their names and fields.

    >>> plain({"a": (1, {2}), "b": ValueError("words")})
    {'a': {'tuple': [1, {'set': [2]}]}, 'b': {'exception': 'ValueError'}}
    >>> plain((1, 2), stored=True)
    [1, 2]
    """
    name = type(value).__name__
    if name == "StateSnapshot":
        fields = {**value._asdict(), "created_at": value.created_at is not None}
        return {field: plain(item) for field, item in fields.items()}
    if name == "PregelTask":
        fields = {**value._asdict(), "error": _error(value.error)}
        return {field: plain(item) for field, item in fields.items()}
    if name == "Send":
        return {"send": [value.node, plain(value.arg, stored)]}
    if name == "Overwrite":
        return {"overwrite": plain(value.value, stored)}
    if isinstance(value, dict):
        return {str(key): plain(item, stored) for key, item in value.items()}
    if isinstance(value, tuple) and not stored:
        return {"tuple": [plain(item) for item in value]}
    if isinstance(value, (list, tuple)):
        return [plain(item, stored) for item in value]
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(plain(item, stored) for item in value)}
    if isinstance(value, BaseException):
        return {"exception": name}
    return value if isinstance(value, (str, int, float, type(None))) else {"repr": repr(value)}


def _labelled(value: Any, labels: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _labelled(item, labels) for key, item in value.items()}
    if isinstance(value, list):
        return [_labelled(item, labels) for item in value]
    if isinstance(value, str) and ID.fullmatch(value):
        unknown = sum(label.startswith("<id ") for label in labels.values())
        return labels.setdefault(value, f"<id {unknown}>")
    return value
