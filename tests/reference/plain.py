"""Any value as JSON: the types of either package, and of the user, by their names and fields."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
"""The ids of checkpoints and tasks, and of questions."""

LEAKED = "__pregel_checkpointer"
"""The reference shows the saver in the config of an inner graph, and with it forgets the graph."""


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
        fields = {**value._asdict(), "error": error_class(value.error)}
        return {field: plain(item) for field, item in fields.items()}
    if name == "Interrupt":
        return {"interrupt": [value.value, value.id]}
    if name == "Send":
        return {"send": [value.node, plain(value.arg, stored)]}
    if name == "Overwrite":
        return {"overwrite": plain(value.value, stored)}
    if isinstance(value, dict):
        return {str(key): plain(item, stored) for key, item in value.items() if key != LEAKED}
    if isinstance(value, (list, tuple)):
        items = [plain(item, stored) for item in in_any_order(value)]
        return {"tuple": items} if isinstance(value, tuple) and not stored else items
    if isinstance(value, (set, frozenset)):
        return {"set": sorted(plain(item, stored) for item in value)}
    if isinstance(value, BaseException):
        return {"exception": name}
    if dataclasses.is_dataclass(value):
        return {"object": [name, _fields(value, stored)]}
    if isinstance(value, BaseModel):
        return {"object": [name, plain(dict(value), stored)]}
    return value if isinstance(value, (str, int, float, type(None))) else {"repr": repr(value)}


def in_any_order(items: Sequence[Any]) -> Sequence[Any]:
    """Questions of tasks that ran at the same time have no order: they are sorted by their text."""
    if items and all(type(item).__name__ == "Interrupt" for item in items):
        return sorted(items, key=lambda question: str(question.value))
    return items


def _fields(value: Any, stored: bool) -> dict[str, Any]:
    fields = dataclasses.fields(value)
    return {field.name: plain(getattr(value, field.name), stored) for field in fields}


def error_class(error: Any) -> Any:
    """A stored error is the `repr` of an exception: keep the class, drop the words.

    >>> error_class("ValueError('words')"), error_class(ValueError("words"))
    ('ValueError', {'exception': 'ValueError'})
    """
    return error.split("(")[0] if isinstance(error, str) else plain(error)
