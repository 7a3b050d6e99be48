"""A value that many may write, as long as they all say the same.

Where it makes no difference which of several writes wins, because all are equal, the
check of `LastValue` would only be in the way. This channel does not check that they are
equal; it believes it and keeps the last.

Like an `EphemeralValue`, it is empty after a super-step that did not write it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from minigraph.channels.base import SingleValue, Value

__all__ = ["AnyValue"]


class AnyValue(SingleValue[Value], Generic[Value]):
    """Holds the last of any number of writes; a super-step without one empties it (CH-04).

    >>> channel = AnyValue(int)
    >>> channel.update([7, 7]), channel.get()
    (True, 7)
    >>> channel.update([]), channel.is_available()
    (True, False)
    """

    __slots__ = ()

    stores_its_value = True

    def update(self, values: Sequence[Value]) -> bool:
        if not values:
            return self.clear()
        self.value = values[-1]
        return True
