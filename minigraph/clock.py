"""A clock: time, waiting and chance, as a value that is handed in.

Whoever waits between two attempts, limits a node's time or throws a die asks a `Clock`, and never
the machine it runs on. So a test can hand in another one, in which an hour is over at once, and
chance is what it says:

    hurry = Clock(sleep=lambda seconds, is_over: not is_over(), chance=lambda: 0.5)
    graph.clock = hurry
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from random import Random
from threading import Condition
from typing import Final, NamedTuple

__all__ = ["REAL", "Clock"]

ENDED: Final = Condition()
"""Told by every run that ends early. One for all: those that wait are few."""


def tell_of_an_end() -> None:
    """Wake everybody who sleeps, to see whether it is his run that has ended."""
    with ENDED:
        ENDED.notify_all()


def sleep(seconds: float, is_over: Callable[[], bool]) -> bool:
    """Wait, but not for a run that is over. Returns whether it still goes on."""
    with ENDED:
        return not ENDED.wait_for(is_over, seconds)


class Clock(NamedTuple):
    """What time it is, and how to let it pass.

    Fields:
        now: seconds since 1970, as a calendar counts them.
        monotonic: seconds since some moment; it never jumps.
        chance: a number from 0 to 1.
        sleep: waits so many seconds, or until a function says that the run is over; returns
            whether the run goes on.
        asleep: waits so many seconds on the event loop, where waiting can be cancelled.
    """

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    # A generator of its own: a node that seeds the `random` module makes nothing here predictable.
    chance: Callable[[], float] = Random().random
    sleep: Callable[[float, Callable[[], bool]], bool] = sleep
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep


REAL: Final = Clock()
"""The one on the wall."""
