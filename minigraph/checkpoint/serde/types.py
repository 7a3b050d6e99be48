"""The reserved channel names, at the address where writers of serializers look for them, and
the one record that is stored under an extension code of its own.

The names are defined in `minigraph.constants`, with all the other reserved words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minigraph.constants import ERROR, INTERRUPT, RESUME, SCHEDULED, TASKS

__all__ = ["ERROR", "INTERRUPT", "RESUME", "SCHEDULED", "TASKS"]


class _DeltaSnapshot(NamedTuple):
    """Marks a stored value that is whole, in a channel that stores what was added (SD-10)."""

    value: Any
