"""Which classes does a schema name?

Stored data is not trusted: a class that it names is built only if somebody in this process
has vouched for it (see `jsonplus`). Whoever declares a graph does so, by annotations:

    class State(TypedDict):
        colour: Colour                         an enum         ─▶  Colour
        items: Annotated[list[Item], add]      a dataclass     ─▶  Item,
                                               with a field of    Price, and what Price names
        note: object                                           ─▶  nothing

A graph gives these classes to its saver, when it is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, ForwardRef, get_args

from typing_extensions import get_type_hints, is_typeddict

from minigraph.checkpoint.serde.extensions import is_storable

__all__ = ["classes_in"]


def classes_in(schemas: Iterable[Any]) -> Iterator[type]:
    """The dataclasses, enums, named tuples and pydantic models that schemas name (SD-26).

    Args:
        schemas: classes with annotations, or any other annotations.

    Each class comes once, however deep it is: inside of containers, unions, ``Annotated``,
    ``Literal``, aliases and the bounds of type variables, and in the fields of classes that were
    found. An annotation that cannot be resolved names nothing.

    >>> from minigraph.types import Interrupt
    >>> list(classes_in([dict[str, list[Interrupt] | None]]))
    [<class 'minigraph.types.Interrupt'>]
    """
    waiting = [*schemas]
    seen: set[int] = set()  # by identity: an annotation need not be hashable
    keep: list[Any] = []  # so that no identity is given to another object meanwhile
    while waiting:
        annotation = waiting.pop()
        if annotation is None or isinstance(annotation, (str, ForwardRef)):
            continue
        if id(annotation) in seen:
            continue
        seen.add(id(annotation))
        keep.append(annotation)
        # A list is one of parameters, as in Callable[[int], str].
        waiting += annotation if isinstance(annotation, list) else get_args(annotation)
        for attribute in ("__origin__", "__value__", "__supertype__", "__bound__"):
            waiting.append(getattr(annotation, attribute, None))
        waiting += getattr(annotation, "__constraints__", ())
        if isinstance(annotation, Enum):  # of a Literal
            waiting.append(type(annotation))
        if isinstance(annotation, type):
            if is_storable(annotation):
                yield annotation
            if not issubclass(annotation, Enum):
                waiting += _annotations_of(annotation)


def _annotations_of(cls: type) -> Iterable[Any]:
    """The annotations of a class that has fields."""
    if not (is_storable(cls) or is_typeddict(cls) or vars(cls).get("__annotations__")):
        return ()
    hints: dict[str, Any]
    try:
        hints = get_type_hints(cls, include_extras=True)
    except Exception:
        # One of them cannot be resolved. That is told where it matters, if it does; those that
        # are no text count all the same.
        hints = vars(cls).get("__annotations__", {})
    return hints.values()
