"""The chunks of a stream: their envelopes, what is volatile in them, and what order they have.

```
              one mode       modes in a list      version="v2"
v1            payload        (mode, payload)
  subgraphs   (ns, payload)  (ns, mode, payload)
v2                                                {"type": mode, "ns": ns, "data": payload, ...}
```

The chunks of a super-step come in three parts: the tasks start, in their order; then whatever the
tasks tell, ask and return, as they finish; then what the step made of it. Only the middle part has
an order that is a matter of luck. It is sorted by task, and what one task tells stays in its order.
What a graph in a task tells belongs to that task, and is itself such a stream.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from .plain import ID, error_class, plain
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
            if "interrupts" in told:
                _questions_in(told).sort(key=lambda question: str(question["value"]))
    return made


def _questions_in(told: Any) -> list[Any]:
    found: Any = told["interrupts"]
    return found["tuple"] if isinstance(found, dict) else found


def opened(made: Any, call: Call) -> tuple[str, Any]:
    """The mode and the payload of a chunk, without its envelope.

    >>> opened({"tuple": ["values", {}]}, Call("stream", modes=("values",)))
    ('values', {})
    """
    if call.version == "v2":
        return made["type"], made["data"]
    several = isinstance(call.modes, tuple)
    mode = made["tuple"][-2] if several else call.modes or "updates"
    return mode, made["tuple"][-1] if several or call.subgraphs else made


def levels(made: Any, call: Call) -> list[str]:
    """The namespace that a chunk comes from, level by level; empty for the outermost graph.

    >>> levels({"tuple": [{"tuple": ["sub:1"]}, {}]}, Call("stream", subgraphs=True))
    ['sub:1']
    """
    if call.version == "v2":
        return list(made["ns"]["tuple"])
    return list(made["tuple"][0]["tuple"]) if call.subgraphs else []


def in_order(chunks: list[Any], call: Call, depth: int = 0) -> list[Any]:
    """The same chunks, sorted by task where they follow finishing order.

    >>> in_order([{"b": 2}, {"a": 1}], Call("stream", modes="updates"))
    [{'a': 1}, {'b': 2}]
    """
    ordered: list[Any] = []
    for by_luck, run in groupby(chunks, lambda made: author(made, call, depth) is not None):
        found = list(run)
        ordered += _by_task(found, call, depth) if by_luck else found
    return ordered


def author(made: Any, call: Call, depth: int = 0) -> str | None:
    """The node that tells, if it does so when it likes; None for what has a place in the order.

    What a finished task of an earlier run once wrote is told at once, in the order of tasks.
    """
    inside = levels(made, call)[depth:]
    if inside:
        return inside[0].split(":")[0]
    mode, payload = opened(made, call)
    if asked := _asked(made, mode, payload):
        path = re.split(r"[@?]", asked[0]["interrupt"][0])[0].split("/")
        return str(path[min(depth, len(path) - 1)])
    if mode == "updates":
        outside = "__metadata__" in payload or "__interrupt__" in payload
        return None if outside else str(next(iter(payload)))
    if mode == "custom":
        return str(payload["node"])
    if mode == "debug" and payload["type"] == "task_result":
        return str(payload["payload"]["name"])
    return str(payload["name"]) if mode == "tasks" and "input" not in payload else None


def _asked(made: Any, mode: str, payload: Any) -> list[Any]:
    """The questions in a chunk of updates or values."""
    if mode == "values" and isinstance(made, dict) and made.get("interrupts"):
        return list(made["interrupts"]["tuple"])
    if mode not in ("updates", "values") or not isinstance(payload, dict):
        return []
    found: Any = payload.get("__interrupt__") or []
    return list(found["tuple"] if isinstance(found, dict) else found)


def _by_task(run: list[Any], call: Call, depth: int) -> Iterator[Any]:
    """By the name of the node. Where several tasks have one name, nobody can tell them apart."""

    def told(made: Any) -> tuple[str, str]:
        mode = "" if levels(made, call)[depth:] else opened(made, call)[0]
        return author(made, call, depth) or "", mode

    def place(made: Any) -> str:
        return "".join(levels(made, call)[depth : depth + 1])

    times = Counter(told(made) for made in run if not place(made))
    places = Counter(told(made)[0] for inside, made in {place(m): m for m in run}.items() if inside)
    shared = {name for (name, _), count in times.items() if count > 1}
    shared |= {name for name, count in places.items() if count > 1}
    for name in sorted({told(made)[0] for made in run}):
        own = [made for made in run if told(made)[0] == name]
        if name in shared:
            own.sort(key=place)
        parts = [
            in_order([*part], call, depth + 1) if inside else [*part]
            for inside, part in groupby(own, place)
        ]
        if name in shared:
            split = [[part] if place(part[0]) else [[made] for made in part] for part in parts]
            parts = sorted((part for each in split for part in each), key=_without_ids)
        yield from (made for part in parts for made in part)


def _without_ids(part: list[Any]) -> str:
    return ID.sub("", json.dumps(part, sort_keys=True))
