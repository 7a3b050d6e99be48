"""The reserved channel names, at the address where writers of serializers look for them.

They are defined in `minigraph.constants`, with all the other reserved words.
"""

from minigraph.constants import ERROR, INTERRUPT, RESUME, SCHEDULED, TASKS

__all__ = ["ERROR", "INTERRUPT", "RESUME", "SCHEDULED", "TASKS"]
