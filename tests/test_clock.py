"""A clock: time, waiting and chance."""

from __future__ import annotations

import random
import threading
import time

from minigraph.clock import REAL, Clock, tell_of_an_end

PATIENCE = 20.0


def test_a_wait_ends_with_the_run() -> None:
    """Whoever sleeps for an hour is woken when it is his run that has ended."""
    over = threading.Event()
    answers: list[bool] = []
    sleeper = threading.Thread(target=lambda: answers.append(REAL.sleep(3600, over.is_set)))
    sleeper.start()
    tell_of_an_end()  # of another run
    over.set()
    while sleeper.is_alive():  # it may not have been asleep yet
        tell_of_an_end()
        sleeper.join(0.01)
    assert answers == [False]


def test_a_wait_that_is_over() -> None:
    """The run goes on."""
    assert REAL.sleep(0.0, lambda: False) is True
    assert REAL.sleep(3600, lambda: True) is False


def test_chance_is_not_what_a_node_has_seeded() -> None:
    random.seed(42)
    first = REAL.chance()
    random.seed(42)
    assert first != REAL.chance()
    assert 0 <= first < 1


def test_a_clock_may_be_another() -> None:
    hurry = Clock(now=lambda: 5.0, sleep=lambda seconds, is_over: True)
    assert (hurry.now(), hurry.sleep(3600, bool)) == (5.0, True)
    assert abs(REAL.now() - time.time()) < PATIENCE
