"""Parameters that are recognised by their annotation.

A node's further parameters are mostly given by their names, and that is all that `node` knows. But
a function that was written for another graph, or for another library, may call them otherwise, and
say by a type what it means:

    def node(state, settings: RunnableConfig, memory: BaseStore): ...

Types are recognised by their names, so anybody's `RunnableConfig` will do, and none is imported.
A parameter with a default is left alone: it does without.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Final

from minigraph.pregel.node import GIVEN
from minigraph.types import StreamWriter

KINDS: Final = {
    "RunnableConfig": "config",
    "Runtime": "runtime",
    "StreamWriter": "write",
    "BaseStore": "store",
}
"""The name of a type → what of the surroundings a parameter of that type is."""

KIND: Final = re.compile(rf"['\"]?(?:[\w.]*Optional\[)?(?:\w+\.)*({'|'.join(KINDS)})\b")


def by_annotation(function: Callable[..., Any]) -> tuple[tuple[str, str], ...]:
    """The parameters that are given because of their annotation, and what they are given (MR-05).

    >>> from minigraph.types import RunnableConfig
    >>> def node(state, settings: RunnableConfig, *, tell: "StreamWriter | None", n: int): ...
    >>> by_annotation(node)
    (('settings', 'config'), ('tell', 'write'))
    """
    try:
        _, *parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(
        (parameter.name, source)
        for parameter in parameters
        if parameter.name not in GIVEN and (source := source_of(parameter)) is not None
    )


def source_of(parameter: inspect.Parameter) -> str | None:
    annotation = parameter.annotation
    if parameter.default is not parameter.empty or annotation is parameter.empty:
        return None
    if annotation == StreamWriter:  # it is an alias, and has no name
        return KINDS["StreamWriter"]
    found = KIND.match(annotation.__name__ if isinstance(annotation, type) else str(annotation))
    return KINDS[found[1]] if found else None
