"""Policies: what a node wants done when it fails, takes too long, or repeats itself.

    RetryPolicy      it may fail for reasons that pass: try again, a little later
    TimeoutPolicy    it may hang: give up after so long
    CachePolicy      it says the same to the same input: ask it once

A policy is a record, and it is the node's: whoever declares the node says it once. Nothing here
waits, and nothing reads a clock; who acts on policies is `minigraph.pregel.retry`, and what time
it is comes from a `minigraph.clock`.

    builder.add_node("fetch", fetch, retry_policy=RetryPolicy(max_attempts=5), timeout=30)
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from io import BytesIO
from typing import Any, Final, Literal, NamedTuple, TypeAlias

__all__ = [
    "CachePolicy",
    "RetryPolicy",
    "TimeoutPolicy",
    "default_cache_key",
    "default_retry_on",
]

# ---------------------------------------------------------------- again

HOPELESS: Final = (
    ArithmeticError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    ReferenceError,
    RuntimeError,
    StopAsyncIteration,
    StopIteration,
    SyntaxError,
    TypeError,
    ValueError,
)
"""Mistakes, mostly: the same call would fail in the same way."""


def default_retry_on(error: BaseException) -> bool:
    """Whether an error is of a kind that may pass by itself (ER-11).

    Lost connections are, and so is every class that nobody has said anything about. What a
    programming mistake raises is not.

    >>> [default_retry_on(kind()) for kind in (ConnectionError, KeyError, OSError)]
    [True, False, False]
    """
    return isinstance(error, ConnectionError) or not isinstance(error, HOPELESS)


RetryOn: TypeAlias = type[Exception] | Sequence[type[Exception]] | Callable[[Any], bool]


class RetryPolicy(NamedTuple):
    """When to try a node again that has failed, and how long to wait before (ER-10, ER-12).

    Fields:
        initial_interval: seconds before the second attempt.
        backoff_factor: by what the wait grows from attempt to attempt.
        max_interval: seconds that it never grows beyond.
        max_attempts: how many attempts there are, the first included.
        jitter: wait up to one second more, by chance, so that many do not come back all at once.
        retry_on: what is tried again: a class of errors, several, or a function that is asked.

    >>> [RetryPolicy(jitter=False, max_interval=1.5).wait(attempt) for attempt in (1, 2, 3)]
    [0.5, 1.0, 1.5]
    """

    initial_interval: float = 0.5
    backoff_factor: float = 2.0
    max_interval: float = 128.0
    max_attempts: int = 3
    jitter: bool = True
    retry_on: RetryOn = default_retry_on

    def covers(self, error: Exception) -> bool:
        """Whether this policy has anything to say to an error.

        Raises `TypeError` if `retry_on` is nothing that can tell, and what a function in it raises.
        """
        wanted: Any = self.retry_on
        if isinstance(wanted, type) and issubclass(wanted, BaseException):
            return isinstance(error, wanted)
        if isinstance(wanted, (list, tuple, set, frozenset)):
            return isinstance(error, tuple(wanted))
        if callable(wanted):
            return bool(wanted(error))
        raise TypeError(
            f"retry_on is a class of errors, a list of such classes, or a function from an error "
            f"to True or False, but it is {wanted!r}."
        )

    def wait(self, attempt: int, chance: Callable[[], float] = float) -> float:
        """Seconds to wait after this attempt has failed; `chance` gives numbers from 0 to 1."""
        try:
            interval = self.initial_interval * self.backoff_factor ** (attempt - 1)
        except OverflowError:  # it has grown for a thousand attempts
            interval = self.max_interval
        return max(0.0, min(interval, self.max_interval) + (chance() if self.jitter else 0.0))


# ---------------------------------------------------------------- not for ever


@dataclass(frozen=True, kw_only=True)
class TimeoutPolicy:
    """How long an async node may take (ER-20).

    Args:
        run_timeout: for one attempt, in seconds or as a `timedelta`.
        idle_timeout: for how long it may show no sign of life.
        refresh_on: which signs count: with ``"auto"`` whatever it tells the stream, tasks of graphs
            in it, and `Runtime.heartbeat`; with ``"heartbeat"`` only the last.
    """

    run_timeout: float | timedelta | None = None
    idle_timeout: float | timedelta | None = None
    refresh_on: Literal["auto", "heartbeat"] = "auto"

    @classmethod
    def coerce(cls, value: float | timedelta | TimeoutPolicy | None) -> TimeoutPolicy | None:
        """A policy in seconds; None for no limit at all (ER-22). A number is a `run_timeout`.

        Raises `ValueError` for a limit that is not greater than 0, and for another `refresh_on`
        (ER-21).

        >>> TimeoutPolicy.coerce(2)
        TimeoutPolicy(run_timeout=2.0, idle_timeout=None, refresh_on='auto')
        """
        policy = value if isinstance(value, TimeoutPolicy) else cls(run_timeout=value)
        if policy.refresh_on not in ("auto", "heartbeat"):
            raise ValueError("refresh_on must be 'auto' or 'heartbeat'")
        limits = {
            name: seconds(name, getattr(policy, name)) for name in ("run_timeout", "idle_timeout")
        }
        if not any(limits.values()):
            return None
        return cls(**limits, refresh_on=policy.refresh_on)

    def instead(self, policies: Policies | None) -> Policies:
        """A node's policies, with this limit in the place of the node's own."""
        return (policies or Policies())._replace(timeout=self)

    def left(self, began: float, active: float, now: float) -> tuple[Literal["run", "idle"], float]:
        """Which limit comes first, and in how many seconds; `active` is the last sign of life.

        >>> TimeoutPolicy(run_timeout=10.0, idle_timeout=3.0).left(began=0, active=5, now=6)
        ('idle', 2.0)
        """
        left: list[tuple[float, Literal["run", "idle"]]] = []
        if isinstance(self.run_timeout, float):
            left.append((began + self.run_timeout - now, "run"))
        if isinstance(self.idle_timeout, float):
            left.append((active + self.idle_timeout - now, "idle"))
        soonest, kind = min(left)
        return kind, soonest


def seconds(name: str, given: float | timedelta | None) -> float | None:
    """A limit in seconds. Raises `ValueError` for one that is over before anything begins."""
    if given is None:
        return None
    limit = given.total_seconds() if isinstance(given, timedelta) else float(given)
    if not limit > 0:
        raise ValueError(f"{name} must be greater than 0")
    return limit


# ---------------------------------------------------------------- not twice


def default_cache_key(value: Any) -> bytes:
    """What equal inputs have in common: the same bytes, whatever the order of a dict (ER-50).

    Raises what `pickle` raises for what it does not know, and `ValueError` for data that contains
    itself.

    >>> default_cache_key({"a": 1, "b": {2, 3}}) == default_cache_key({"b": {3, 2}, "a": 1})
    True
    """
    buffer = BytesIO()
    pickler = pickle.Pickler(buffer, protocol=5)
    # Without notes such as "the same text as before", which only say how the input was put
    # together: the same object twice is equal to two equal ones.
    pickler.fast = True
    pickler.dump(frozen(value))
    return buffer.getvalue()


def frozen(value: Any) -> Any:
    """Data without an order that does not matter.

    >>> frozen({"b": [1], "a": 2})
    ('dict', (('a', 2), ('b', ('list', (1,)))))
    """
    kind = type(value).__name__
    if isinstance(value, Mapping):
        return kind, tuple(sorted(((k, frozen(v)) for k, v in value.items()), key=first_text))
    if isinstance(value, AbstractSet):
        return kind, tuple(sorted(map(frozen, value), key=repr))
    if isinstance(value, (list, tuple)):
        return kind, tuple(map(frozen, value))
    return value


def first_text(pair: tuple[Hashable, Any]) -> tuple[str, str]:
    """Keys may be of any type, and so cannot be compared with each other."""
    return type(pair[0]).__name__, repr(pair[0])


@dataclass(kw_only=True)
class CachePolicy:
    """What of a node's input its output depends on, and how long it stays true (ER-50).

    It has an effect only in a graph that has a cache: ``compile(cache=InMemoryCache())``.

    Args:
        key_func: from the node's input to bytes or text. Inputs with equal keys are the same to
            the node. The default looks at all of the input.
        ttl: for how many seconds an output may be used; None for as long as the cache keeps it.
    """

    key_func: Callable[..., str | bytes] = default_cache_key
    ttl: int | None = None


# ---------------------------------------------------------------- all of a node's policies


class Policies(NamedTuple):
    """Everything that a node wants done besides being run.

    Fields:
        retry: the first that covers an error decides.
        timeout: how long an attempt may take.
        cache: whether its output is used again.
        handler: the node that takes over when it has failed for good, see `pregel.handlers`.
    """

    retry: tuple[RetryPolicy, ...] = ()
    timeout: TimeoutPolicy | None = None
    cache: CachePolicy | None = None
    handler: str | None = None


def policies_of(
    who: str,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    cache_policy: CachePolicy | None = None,
    timeout: float | timedelta | TimeoutPolicy | None = None,
) -> Policies | None:
    """What was said of a node; None if that is nothing. Raises `TypeError` for what is no policy.

    >>> policies_of("Node 'a'", retry_policy=[RetryPolicy()], timeout=3).timeout.run_timeout
    3.0
    >>> policies_of("Node 'a'", cache_policy=5)
    Traceback (most recent call last):
    TypeError: Node 'a' has the cache_policy 5, but that is given as a CachePolicy(...).
    """
    several: Any = [] if retry_policy is None else retry_policy
    if isinstance(several, RetryPolicy):
        several = [several]
    if not isinstance(several, Sequence) or any(not isinstance(e, RetryPolicy) for e in several):
        raise TypeError(
            f"{who} has the retry_policy {retry_policy!r}, but that is given as a "
            "RetryPolicy(...), or as a list of them."
        )
    if not isinstance(cache_policy, CachePolicy | None):
        raise TypeError(
            f"{who} has the cache_policy {cache_policy!r}, but that is given as a CachePolicy(...)."
        )
    found = Policies(tuple(several), TimeoutPolicy.coerce(timeout), cache_policy)
    return None if found == Policies() else found


def with_default(node: Any, default: Policies | None) -> Any:
    """A node, with the graph's policies where it has none."""
    return replace(node, policies=together(node.policies, default))


def together(own: Policies | None, default: Policies | None) -> Policies | None:
    """A node's own policies, and what a default says where they say nothing (ER-33).

    >>> own = Policies(retry=(RetryPolicy(max_attempts=2),))
    >>> together(own, Policies(handler="h")) == own._replace(handler="h")
    True
    """
    if own is None or default is None:
        return own or default
    return Policies(
        retry=own.retry or default.retry,
        timeout=own.timeout or default.timeout,
        cache=own.cache or default.cache,
        handler=own.handler or default.handler,
    )
