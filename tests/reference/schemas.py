"""The classes of a state: what a user writes to declare keys, as text.

```
Key("log", "list", extra="before")  ─▶  log: Annotated[list, "words", operator.add]
Schema(("log",), "dataclass")       ─▶  @dataclasses.dataclass
                                        class Given:
                                            log: Annotated[list, ...] = ...
```
"""

from __future__ import annotations

from dataclasses import replace

from .scenario import ROOT, Key, Schema

ANNOTATIONS = {
    "last": ("Any",),
    "list": ("list", "operator.add"),
    "sum": ("int", "operator.add"),
    "unset": ("Any", "operator.add"),  # a reducer whose type has no start value
    "any": ("Any", "channels.AnyValue"),
    "ephemeral": ("Any", "channels.EphemeralValue"),
    "unguarded": ("Any", "channels.EphemeralValue(Any, guard=False)"),
    "topic": ("Any", "channels.Topic(Any)"),
    "collected": ("Any", "channels.Topic(Any, accumulate=True)"),
    "untracked": ("Any", "channels.UntrackedValue"),
    "latest": ("Any", "channels.LastValue"),
    "added": ("list", "channels.BinaryOperatorAggregate(list, operator.add)"),
}
"""The kinds of keys: a type, and what stands beside it: a reducer, a channel or its class."""

ONCE = ("last", "ephemeral", "untracked", "latest")
"""The kinds that take one write in a super-step."""

LISTS = ("list", "added")
"""The kinds that take lists."""

START_VALUES = {"list": "list", "int": "int", "Any": "lambda: None"}

HEADS = {
    "typed_dict": "class {}(TypedDict, total=False):",
    "not_required": "class {}(TypedDict):",
    "dataclass": "@dataclasses.dataclass(kw_only=True)\nclass {}:",
    "pydantic": "class {}(pydantic.BaseModel):",
}
DEFAULTS = {
    "dataclass": "dataclasses.field(default_factory={})",
    "pydantic": "pydantic.Field(default_factory={})",
}


def effective_kind(key: Key) -> str:
    """The kind that counts: a reducer that is not the last of the metadata is none (SG-02).

    >>> effective_kind(Key("log", "list", extra="after")), effective_kind(Key("log", "list"))
    ('last', 'list')
    """
    reduces = ANNOTATIONS[key.kind][1:] == ("operator.add",)
    return "last" if reduces and key.extra == "after" else key.kind


def annotation(key: Key) -> str:
    """The annotation of a key.

    >>> annotation(Key("log", extra="nested"))
    'Annotated[Annotated[list, "words"], operator.add]'
    """
    typ, *extras = ANNOTATIONS[key.kind]
    if key.extra == "nested":
        typ = f'Annotated[{typ}, "words"]'
    if key.extra == "inside":
        typ = f"Required[{typ}]"
    if key.extra in ("before", "after"):
        extras = ['"words"', *extras] if key.extra == "before" else [*extras, '"words"']
    text = f"Annotated[{', '.join([typ, *extras])}]" if extras else typ
    return f"NotRequired[{text}]" if key.extra == "outside" else text


def class_of(name: str, schema: Schema, keys: dict[str, Key]) -> str:
    """The class `name` for the keys that `schema` lists."""
    lines = [f"    {_field(keys[key], schema.kind)}" for key in schema.keys if key in keys]
    return "\n".join([HEADS[schema.kind].format(name), *(lines or ["    pass"])])


def _field(key: Key, kind: str) -> str:
    typed_dict = kind not in DEFAULTS
    if not typed_dict and key.extra in ("inside", "outside"):
        key = replace(key, extra="")
    text = annotation(key)
    if kind == "not_required" and key.extra not in ("outside", "inside"):
        text = f"NotRequired[{text}]"
    if typed_dict or key.required:
        return f"{key.name}: {text}"
    start = START_VALUES[ANNOTATIONS[key.kind][0]]
    return f"{key.name}: {text} = {DEFAULTS[kind].format(start)}"


def root_of(keys: tuple[Key, ...]) -> str:
    """The annotation that is the whole state, where it is a single value.

    The reference takes a bare `Any` for a class without keys.
    """
    text = next((annotation(key) for key in keys if key.name == ROOT), "Any")
    return "object" if text == "Any" else text
