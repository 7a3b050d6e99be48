"""The checkpoints of one namespace, in a dict that knows whether it is in order.

"The latest" is the greatest id (CP-03). Ids are made in ascending order and a dict keeps
the order of insertion, so the latest is nearly always the last key, and newest first is
the dict read backwards. Not always: checkpoints are copied from one saver to another,
newest first; or a clock was wrong. So the dict watches what is inserted:

    insert "3", "5", "7"   ascending       newest first = backwards
    insert "4"             not ascending   sorted once, when it is next read

Deleting cannot disturb the order. Whoever puts a plain dict in the place of this one pays
with a sort for each reading, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

__all__ = ["Row", "Rows", "Typed", "newest_first"]

Typed: TypeAlias = tuple[str, bytes]
"""A value as a serializer made it: tag and bytes."""

Row: TypeAlias = tuple[Typed, Typed, str | None]
"""(checkpoint without its values, metadata, id of the parent)."""


class Rows(dict[str, Row]):
    """Checkpoint id → row.

    >>> rows = Rows()
    >>> rows["5"] = rows["3"] = (("null", b""), ("null", b""), None)
    >>> list(rows), list(newest_first(rows))
    (['5', '3'], ['5', '3'])
    """

    ascending = True

    def __setitem__(self, checkpoint_id: str, row: Row) -> None:
        if (
            self.ascending
            and self
            and checkpoint_id not in self
            and checkpoint_id < next(reversed(self))
        ):
            self.ascending = False
        super().__setitem__(checkpoint_id, row)

    # The other ways in do not pass through __setitem__. Nobody here takes them.

    def setdefault(self, *args: Any) -> Any:
        self.ascending = False
        return super().setdefault(*args)

    def update(self, *args: Any, **more: Any) -> None:
        self.ascending = False
        super().update(*args, **more)

    def __ior__(self, other: Any) -> Rows:  # type: ignore[override, misc]
        self.update(other)
        return self


def newest_first(rows: Mapping[str, Row]) -> Iterator[str]:
    """The ids, greatest first. Brings the rows in order if they are not."""
    if not isinstance(rows, Rows):
        return iter(sorted(rows, reverse=True))
    if not rows.ascending:
        entries = sorted(rows.items())
        rows.clear()
        rows.update(entries)
        rows.ascending = True
    return reversed(rows)
