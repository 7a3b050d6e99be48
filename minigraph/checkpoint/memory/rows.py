"""The checkpoints of one namespace, in a dict that knows whether it is in order.

"The latest" is the greatest id (CP-03). Ids are made in ascending order and a dict keeps
the order of insertion, so the latest is nearly always the last key, and newest first is
the dict read backwards. Not always: checkpoints are copied from one saver to another,
newest first; or a clock was wrong. So the dict watches what is inserted:

    insert "3", "5", "7"   ascending       newest first = backwards
    insert "4"             not ascending   sorted once, when it is next read

Deleting cannot disturb the order. Whoever puts a plain dict in the place of this one pays
with a sort for each reading, and nothing else.

Rows are also searched by their metadata, which is stored as bytes: `metadata_filter` sees in
the bytes of most of them that they are not meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

from minigraph.checkpoint.serde.base import SerializerProtocol
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.checkpoint.serde.packing import pack

__all__ = ["Row", "Rows", "Typed", "metadata_filter", "newest_first"]

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
    greatest = ""
    """No id is greater. It may be one that was deleted; then a sort is made in vain."""

    def __setitem__(self, checkpoint_id: str, row: Row) -> None:
        if checkpoint_id > self.greatest:
            self.greatest = checkpoint_id
        elif checkpoint_id not in self:
            self.ascending = False
        dict.__setitem__(self, checkpoint_id, row)

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
        rows.greatest = next(reversed(rows), "")
        rows.ascending = True
    return reversed(rows)


# ------------------------------------------------------------ rows of some metadata


def metadata_filter(
    filter: Mapping[str, Any], serde: SerializerProtocol
) -> Callable[[Typed], bool]:
    """A function that tells whether a row's metadata, as it is stored, passes `filter` (SV-11).

    It passes if each of the filter's keys has an equal value there. To know that, the metadata
    must be decoded; to know that it does *not* pass, a look at the bytes is often enough.
    Msgpack puts the value of a map right behind its key:

        {"source": "loop", "step": 7}      82  a6 source a4 loop  a4 step 07

    So what has no ``a4 step`` with a seven behind it has no entry ``"step": 7``, and need not be
    decoded. Nothing else is concluded: the same bytes may stand deeper down, or in a text, so
    what has them is decoded and compared.

    >>> serde = JsonPlusSerializer()
    >>> passes = metadata_filter({"step": 7}, serde)
    >>> [passes(serde.dumps_typed({"step": step})) for step in (6, 7, 7.0, "7")]
    [False, True, True, False]
    """
    loads = serde.loads_typed

    def passes(typed: Typed) -> bool:
        metadata = loads(typed)
        return all(metadata.get(key) == value for key, value in filter.items())

    # Only these bytes are known. A subclass may have made them in some other way.
    if type(serde) is not JsonPlusSerializer:
        return passes
    signs = [sign.search for key, value in filter.items() if (sign := _sign(key, value))]
    if not signs:
        return passes

    def look_first(typed: Typed) -> bool:
        tag, content = typed
        if tag == "msgpack" and content and content[0] in _MAP:
            for is_in in signs:
                if not is_in(content):
                    return False
        return passes(typed)

    return look_first


_MAP: Final = frozenset((*range(0x80, 0x90), 0xDE, 0xDF))
"""How a dict begins whose keys are plain. (Any other is packed as an extension, and there a key
may be an object that says it equals a text.)"""

_EXTENSION: Final = tuple(bytes([code]) for code in (*range(0xC7, 0xCA), *range(0xD4, 0xD9)))
"""How a value begins that is not plain. It may equal anything: ``Decimal(7) == 7``."""


def _sign(key: Any, value: Any) -> re.Pattern[bytes] | None:
    """What is found in the bytes wherever the key has an equal value.

    ``None`` where there is no such sign. The value None also equals that of a missing key, and a
    list equals others that are packed differently: ``[7] == [7.0]``.
    """
    if type(key) is not str:
        return None
    equal: list[Any]
    if type(value) is str:
        equal = [value]
    elif type(value) in (bool, int, float):
        equal = [0.0, -0.0]
        for number in (bool, int, float):
            with suppress(OverflowError, ValueError):  # infinity is no int
                equal.append(number(value))
        equal = [form for form in equal if form == value]
    else:
        return None
    try:
        values = b"|".join(map(re.escape, (*map(pack, equal), *_EXTENSION)))
        return re.compile(re.escape(pack(key)) + b"(?:" + values + b")")
    except TypeError:  # half a character, which has no form in bytes
        return None
