"""What happened, written down so that two implementations can be held against each other.

A transcript is a list with one entry for each call, and a last one with everything the saver
holds. An entry says what came back (or the *class* of what was raised: the words are each
package's own) and which nodes ran, and how often. It is plain JSON: two of them compare with `==`.

What differs from run to run is replaced by what it means:

- a checkpoint id becomes ``c0``, ``c1``, ... in the order of creation, which is the order of ids;
- a task id becomes the task's name and the checkpoint it belongs to: ``a@c1``, ``a#0@c1`` for the
  first `Send`; other ids are numbered as they appear;
- a version becomes its integer part; a time, the fact that there is one.

Only what has no order is sorted: sets; the chunks of a stream that follow finishing order (see
`chunks`); the ``branch:to:*`` and ``join:*`` writes of one task (the reference walks over sets
there).
Inside *stored* values tuples become lists, as the serializer of the reference makes them.

The reference runs with ``durability="sync"``: by default it serialises a checkpoint in the
background, where the set of a join may have moved on since (a race, and a wrong history).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from itertools import groupby
from typing import Any, TypeAlias

from .build import Built, build
from .chunks import chunk, in_order
from .plain import error_class, plain
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
    for call, entry in zip(scenario.calls, labelled):
        if "chunks" in entry:
            entry["chunks"] = in_order(entry["chunks"], call)
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
        printed = StringIO()
        try:
            with redirect_stdout(printed):
                getattr(self, call.op)(call, entry)
        except Exception as error:
            entry["raises"] = type(error).__name__
        if call.prints:
            entry["printed"] = sorted(printed.getvalue().splitlines())
        ran = self.built.runs - before
        entry["ran"] = {f"{name}{tag}": count for (name, tag), count in sorted(ran.items())}
        return entry

    def invoke(self, call: Call, entry: Entry) -> None:
        options = {**stream_options(call), **self.run_options}
        result = self._do(call, "invoke", call.input, self._run_config(call), **options)
        if isinstance(result, list) and call.modes not in (None, "values"):
            entry["chunks"] = [chunk(each, call) for each in result]
        else:
            entry["result"] = plain(result)

    def stream(self, call: Call, entry: Entry) -> None:
        options = {**stream_options(call), **self.run_options}
        chunks = entry["chunks"] = []
        arguments = (call.input, self._run_config(call))
        self._each(
            lambda item: chunks.append(chunk(item, call)), call, "stream", *arguments, **options
        )

    def update(self, call: Call, entry: Entry) -> None:
        config = self._address(call.at)
        self.updated = self._do(call, "update_state", config, call.input, as_node=call.as_node)
        entry["config"] = plain(self.updated)

    def state(self, call: Call, entry: Entry) -> None:
        entry["state"] = plain(self._do(call, "get_state", self._address(call.at)))

    def history(self, call: Call, entry: Entry) -> None:
        narrowed = {
            "filter": call.where,
            "limit": call.limit,
            "before": None if call.before is None else self._address(call.before),
        }
        given = {name: value for name, value in narrowed.items() if value is not None}
        states = entry["history"] = []
        arguments = (self._address(call.at),)
        self._each(
            lambda item: states.append(plain(item)), call, "get_state_history", *arguments, **given
        )

    def stored(self) -> list[Entry]:
        """Every checkpoint of the thread as the saver holds it, oldest first."""
        return [_checkpoint(row) for row in reversed(list(self.built.saver.list(THREAD)))]

    def labels(self) -> dict[str, str]:
        """What to write in the place of each id."""
        labels = dict(FIXED_IDS)
        if self.built.saver is not None:
            rows = sorted(self.built.saver.list(THREAD), key=lambda row: row.checkpoint["id"])
            for number, row in enumerate(rows):
                labels[row.checkpoint["id"]] = f"c{number}"
                for task in self._planned(row.config):
                    sent = f"#{task.path[1]}" if isinstance(task.path[1], int) else ""
                    labels[task.id] = f"{task.name}{sent}@c{number}"
        return labels

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

    def _run_config(self, call: Call) -> dict[str, Any]:
        limit = self.recursion_limit if call.recursion_limit is None else call.recursion_limit
        config = {**self._address(call.at), "recursion_limit": limit}
        return {**config, "metadata": {"run_id": call.run_id}} if call.run_id else config

    def _address(self, at: int | str | None) -> dict[str, Any]:
        if at == UNKNOWN:
            return {"configurable": {**THREAD["configurable"], "checkpoint_id": NO_SUCH_CHECKPOINT}}
        if at == UPDATED:
            return self.updated
        if isinstance(at, int) and self.built.saver is not None:
            rows = list(self.built.saver.list(THREAD))
            return rows[at % len(rows)].config if rows else THREAD
        return THREAD


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
        [task, channel, error_class(value) if channel == "__error__" else plain(value, stored=True)]
        for task, channel, value in writes
    ]
    ordered: list[Any] = []
    for (_, edge), run in groupby(rows, lambda row: (row[0], row[1].startswith(EDGES))):
        found = list(run)
        ordered += sorted(found, key=lambda row: row[1]) if edge else found
    return ordered


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
    return given


def _labelled(value: Any, labels: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _labelled(item, labels) for key, item in value.items()}
    if isinstance(value, list):
        return [_labelled(item, labels) for item in value]
    if isinstance(value, str) and ID.fullmatch(value):
        unknown = sum(label.startswith("<id ") for label in labels.values())
        return labels.setdefault(value, f"<id {unknown}>")
    return value
