"""The chunks of a stream: their envelopes, what is volatile in them, and what order they have.

```
              one mode       modes in a list      version="v2"
v1            payload        (mode, payload)
v2                                                {"type": mode, "ns": (), "data": payload, ...}
```

The chunks of a super-step come in three parts: the tasks start, in their order; then whatever the
tasks tell and return, as they finish; then what the step made of it. Only the middle part has an
order that is a matter of luck. It is sorted by task, and what one task tells stays in its order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from .plain import error_class, plain
from .scenario import Call


def chunk(value: Any, call: Call) -> Any:
    """A chunk as JSON, without what differs from run to run and is no id."""
    made = plain(value)
    mode, payload = opened(made, call)
    if mode == "debug":
        payload["timestamp"] = payload["timestamp"] is not None
        payload = payload["payload"]
    if mode in ("tasks", "checkpoints", "debug"):
        if "triggers" in payload:
            payload["triggers"]["tuple"].sort()  # the reference keeps joins in a set
        for told in (payload, *payload.get("tasks", ())):
            if "error" in told:
                told["error"] = error_class(told["error"])
    return made


def opened(made: Any, call: Call) -> tuple[str, Any]:
    """The mode and the payload of a chunk, without its envelope.

    >>> opened({"tuple": ["values", {}]}, Call("stream", modes=("values",)))
    ('values', {})
    """
    if call.version == "v2":
        return made["type"], made["data"]
    if isinstance(call.modes, tuple):
        mode, payload = made["tuple"]
        return mode, payload
    return call.modes or "updates", made


def in_order(chunks: list[Any], call: Call) -> list[Any]:
    """The same chunks, sorted by task where they follow finishing order.

    >>> in_order([{"b": 2}, {"a": 1}], Call("stream", modes="updates"))
    [{'a': 1}, {'b': 2}]
    """
    ordered: list[Any] = []
    for by_luck, run in groupby(chunks, lambda made: _author(*opened(made, call)) is not None):
        found = list(run)
        ordered += _by_task(found, call) if by_luck else found
    return ordered


def _author(mode: str, payload: Any) -> str | None:
    """The node that tells, if it does so when it likes; None for what has a place in the order.

    What a finished task of an earlier run once wrote is told at once, in the order of tasks.
    """
    if mode == "updates":
        return None if "__metadata__" in payload else str(next(iter(payload)))
    if mode == "custom":
        return str(payload["node"])
    if mode == "debug" and payload["type"] == "task_result":
        return str(payload["payload"]["name"])
    return str(payload["name"]) if mode == "tasks" and "input" not in payload else None


def _by_task(run: list[Any], call: Call) -> Iterator[Any]:
    """By the name of the node. Where several tasks have one name, nobody can tell them apart."""

    def told(made: Any) -> tuple[str, str]:
        mode, payload = opened(made, call)
        return _author(mode, payload) or "", mode

    times = Counter(map(told, run))
    shared = {name for (name, _), count in times.items() if count > 1}
    rows = [(*told(made), json.dumps(made, sort_keys=True), made) for made in run]
    rows.sort(key=lambda row: (row[0], row[2] if row[0] in shared else ""))
    return (made for *_, made in rows)
