"""What storage makes up: a checkpoint's id, its time, and a channel's version.

Ids and versions are text, and both *sort* in the order in which they were made. That is what makes
"the latest checkpoint" and "newer than what the node saw" a comparison of two strings,
in a dict as in a database.

A checkpoint's id is a UUID of version 6: the clock first, most significant part first
(RFC 9562). Its clock sequence holds the super-step's number, for human eyes only:

    1f1ecdc3-9aed-6706-8002-5b3acc3db6e2
    └─────── time ───┘ └─2┘ └─ random ─┘
                  6 is the version

A version is a counter and, behind it, a random part, which keeps two branches of a
thread apart when both have counted to the same number:

    00000000000000000000000000000002.0.8374465361247

The random parts come from a generator of our own. With the `random` module's, a node
that calls ``random.seed(42)`` would give the same version to two branches, and where
values are stored by version the one branch would overwrite the other's.
"""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from random import Random
from time import time_ns
from typing import Final
from uuid import UUID

__all__ = ["next_text_version", "timestamp", "uuid6", "uuid6_text"]

_EPOCH: Final = 0x01B21DD213814000
"""The Unix epoch on a UUID's clock, which ticks every 100 ns and began on 15 October 1582."""

_MULTICAST: Final = 1 << 40
"""The bit by which a random node number is told from a network card's (RFC 9562, 6.10)."""

_entropy = Random()
_lock = threading.Lock()
_last_tick = 0
_latest_second = (-1, "")


def _start_anew() -> None:
    """In a forked child: no lock that another thread held, no numbers that the parent draws too."""
    global _lock
    _lock = threading.Lock()
    _entropy.seed()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def _next_tick() -> int:
    """The clock's tick; never the same twice and never an earlier one than before (CP-03)."""
    global _last_tick
    with _lock:
        tick = time_ns() // 100 + _EPOCH
        if tick <= _last_tick:
            tick = _last_tick + 1
        _last_tick = tick
    return tick


def uuid6_text(clock_seq: int | None = None, node: int | None = None) -> str:
    """The text of a new `uuid6`, without the object around it: half the time.

    >>> uuid6_text(clock_seq=-1, node=0xAC)[18:]
    '-bfff-0000000000ac'
    """
    tick = _next_tick()
    if clock_seq is None:
        clock_seq = _entropy.getrandbits(14)
    if node is None:
        node = _entropy.getrandbits(48) | _MULTICAST
    # One long number, cut in pieces, takes half the time of five short ones.
    digits = f"{tick:015x}{clock_seq & 0x3FFF | 0x8000:04x}{node & 0xFFFF_FFFF_FFFF:012x}"
    return f"{digits[:8]}-{digits[8:12]}-6{digits[12:15]}-{digits[15:19]}-{digits[19:]}"


def timestamp() -> str:
    """The time, as ISO 8601 text in UTC: when a checkpoint was made.

    >>> datetime.fromisoformat(timestamp()).tzname()
    'UTC'
    """
    global _latest_second
    second, microsecond = divmod(time_ns() // 1000, 1_000_000)
    known, text = _latest_second
    if second != known:
        # Many super-steps fall in one second, and its text is most of the work.
        text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        _latest_second = second, text
    return f"{text}.{microsecond:06d}+00:00"


def uuid6(clock_seq: int | None = None, node: int | None = None) -> UUID:
    """A new id that is greater than every one this process made before (CP-03).

    Args:
        clock_seq: 14 bits to show in the fourth group, random if left out. The runtime puts
            the super-step's number there; a negative one counts from the top.
        node: 48 bits for the last group, random if left out.

    Two ids made in one tick of the clock are forced one tick apart, in threads too, and a
    clock that is set back does not take the ids with it.

    >>> uuid6(clock_seq=2).version, uuid6(clock_seq=2).clock_seq
    (6, 2)
    >>> str(uuid6()) < str(uuid6())
    True
    """
    return UUID(uuid6_text(clock_seq, node))


def next_text_version(current: str | int | None) -> str:
    """The version after `current`, in the form of both bundled savers (CP-04).

    Args:
        current: a version of this form, a plain number, or ``None`` for the first.

    Raises `ValueError` for text that does not begin with a counter.

    >>> next_text_version(None)[:34]
    '00000000000000000000000000000001.0'
    >>> next_text_version("00000000000000000000000000000007.0.25")[:34]
    '00000000000000000000000000000008.0'
    """
    if current is None:
        count = 0
    elif isinstance(current, str):
        count = int(current.partition(".")[0])
    else:
        count = current
    # A fraction of 16 random digits, made from an int: it takes Python longer to find out how to
    # write a float than to do all the rest.
    return "%032d.0.%016d" % (count + 1, _entropy.getrandbits(53))  # noqa: UP031
