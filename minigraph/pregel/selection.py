"""Which channels somebody reads, and the shape in which they get them.

    Selection("x")            the value of x
    Selection(["x", "y"])     {"x": …, "y": …}, of those that have a value

Nodes, routes, results and streams all read the state this way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

from minigraph.constants import MISSING


class Selection:
    """One channel, for its bare value, or several, for a dict.

    >>> state = {"x": 1, "y": 2}
    >>> Selection("x").read(state), Selection(["y", "z"]).read(state)
    (1, {'y': 2})
    >>> "y" in Selection(["y", "z"])
    True
    """

    __slots__ = ("_fetch", "members", "names", "single", "whole_of")

    def __init__(self, channels: str | Iterable[str]) -> None:
        self.single = isinstance(channels, str)
        self.names = (channels,) if isinstance(channels, str) else tuple(channels)
        self.members = frozenset(self.names)
        # The names of the state of which this is all; a layout says so. Nodes may be shared by
        # several layouts, and then the last one's word stands: for the others it only is slower.
        self.whole_of: frozenset[str] | None = None
        # All of a wide state is read in every super-step. Fetching all values in one call, and
        # zipping them to their names, takes a fraction of the time of a loop over the names.
        self._fetch = itemgetter(*self.names) if len(self.names) > 1 else None

    def __contains__(self, name: object) -> bool:
        return name in self.members

    def __repr__(self) -> str:
        return f"Selection({self.names[0] if self.single else list(self.names)!r})"

    def read(self, readable: Mapping[str, Any]) -> Any:
        """What is there to read; ``MISSING`` for a single channel without a value.

        The dict is fresh, the values in it are not copied (SG-08, SG-09).
        """
        if self.single:
            return readable.get(self.names[0], MISSING)
        if self._fetch is not None:
            try:
                return dict(zip(self.names, self._fetch(readable)))
            except KeyError:
                pass
        return {name: readable[name] for name in self.names if name in readable}
