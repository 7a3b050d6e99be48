"""The reserved channel names, at the address where writers of serializers look for them, and
the one record that is stored under an extension code of its own.

The names are defined in `minigraph.constants`, with all the other reserved words, and the record
with the channels.
"""

from __future__ import annotations

from minigraph.channels.whole import _DeltaSnapshot as _DeltaSnapshot
from minigraph.constants import ERROR, INTERRUPT, RESUME, SCHEDULED, TASKS

__all__ = ["ERROR", "INTERRUPT", "RESUME", "SCHEDULED", "TASKS"]
