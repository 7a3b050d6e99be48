"""Policies: what a node wants done when it fails, takes too long, or repeats itself."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer as Reference
from langgraph.types import Send as TheirSend

from minigraph import policies, types
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.errors import NodeTimeoutError
from minigraph.policies import (
    CachePolicy,
    Policies,
    RetryPolicy,
    TimeoutPolicy,
    default_cache_key,
    default_retry_on,
    policies_of,
    together,
)
from minigraph.types import Send


def test_the_public_address() -> None:
    """ER-10: they stand beside the other nouns, in `types`."""
    assert policies.__all__ == list(types.POLICIES)
    for name in types.POLICIES:
        assert getattr(types, name) is getattr(policies, name)


class TestRetryPolicy:
    def test_fields_and_defaults(self) -> None:
        """ER-10."""
        assert RetryPolicy()._asdict() == {
            "initial_interval": 0.5,
            "backoff_factor": 2.0,
            "max_interval": 128.0,
            "max_attempts": 3,
            "jitter": True,
            "retry_on": default_retry_on,
        }

    def test_waits_grow_up_to_a_limit(self) -> None:
        """ER-10: initial times factor to the power of the attempts before, capped."""
        policy = RetryPolicy(0.05, 2.0, 0.15, jitter=False)
        assert [policy.wait(attempt) for attempt in (1, 2, 3, 4)] == [0.05, 0.1, 0.15, 0.15]

    def test_jitter_adds_up_to_a_second(self) -> None:
        """ER-10: chance is what is handed in."""
        policy = RetryPolicy(1.0, max_interval=1.5)
        assert [policy.wait(n, lambda: 0.25) for n in (1, 2)] == [1.25, 1.75]

    def test_attempts_without_end(self) -> None:
        """A wait that is too large for a number is the longest wait."""
        assert RetryPolicy(jitter=False).wait(5000) == 128.0
        assert RetryPolicy(-1.0, jitter=False).wait(1) == 0.0

    @pytest.mark.parametrize(
        ("retry_on", "covered", "not_covered"),
        [
            (KeyError, KeyError("k"), ValueError("v")),
            (LookupError, KeyError("k"), ValueError("v")),
            ((KeyError, ValueError), ValueError("v"), TypeError("t")),
            ([KeyError], KeyError("k"), ValueError("v")),
            (lambda error: "v" in str(error), ValueError("v"), ValueError("w")),
        ],
    )
    def test_what_is_covered(
        self, retry_on: Any, covered: Exception, not_covered: Exception
    ) -> None:
        """ER-12: a class, several, or a function that is asked."""
        policy = RetryPolicy(retry_on=retry_on)
        assert (policy.covers(covered), policy.covers(not_covered)) == (True, False)

    def test_what_can_tell_nothing(self) -> None:
        """ER-12."""
        with pytest.raises(TypeError, match=r"retry_on is a class of errors.* but it is 5"):
            RetryPolicy(retry_on=5).covers(ValueError())  # type: ignore[arg-type]


HOPELESS = [
    *(ValueError, TypeError, ArithmeticError, ZeroDivisionError, ImportError, LookupError),
    *(KeyError, NameError, SyntaxError, RuntimeError, RecursionError, ReferenceError),
    *(StopIteration, StopAsyncIteration, OSError, FileNotFoundError, TimeoutError),
]
HOPEFUL = [ConnectionError, ConnectionResetError, Exception, AssertionError, MemoryError, EOFError]


def test_the_default_rule() -> None:
    """ER-11: what a mistake raises fails again; a lost connection may come back."""
    assert [kind for kind in HOPELESS if default_retry_on(kind())] == []
    assert [kind for kind in HOPEFUL if not default_retry_on(kind())] == []
    assert default_retry_on(NodeTimeoutError("n", 1.0, kind="run", run_timeout=1.0))


class TestTimeoutPolicy:
    def test_coerce(self) -> None:
        """ER-22: in seconds, and nothing where there is no limit."""
        assert TimeoutPolicy.coerce(None) is None
        assert TimeoutPolicy.coerce(TimeoutPolicy()) is None
        assert TimeoutPolicy.coerce(2) == TimeoutPolicy(run_timeout=2.0)
        assert TimeoutPolicy.coerce(timedelta(minutes=1)) == TimeoutPolicy(run_timeout=60.0)
        both = TimeoutPolicy(run_timeout=5, idle_timeout=timedelta(seconds=2))
        assert TimeoutPolicy.coerce(both) == TimeoutPolicy(run_timeout=5.0, idle_timeout=2.0)

    @pytest.mark.parametrize(
        ("limit", "said"),
        [
            (0, "run_timeout must be greater than 0"),
            (-1, "run_timeout must be greater than 0"),
            (timedelta(0), "run_timeout must be greater than 0"),
            (float("nan"), "run_timeout must be greater than 0"),
            (TimeoutPolicy(idle_timeout=0), "idle_timeout must be greater than 0"),
            (
                TimeoutPolicy(run_timeout=1, refresh_on="x"),  # type: ignore[arg-type]
                "refresh_on must be 'auto' or 'heartbeat'",
            ),
        ],
    )
    def test_what_is_no_limit(self, limit: Any, said: str) -> None:
        """ER-21."""
        with pytest.raises(ValueError) as caught:
            TimeoutPolicy.coerce(limit)
        assert str(caught.value) == said

    def test_which_limit_comes_first(self) -> None:
        """ER-20: a sign of life puts off the idle limit, and not the other."""
        policy = TimeoutPolicy(run_timeout=10.0, idle_timeout=3.0)
        assert policy.left(began=0.0, active=0.0, now=1.0) == ("idle", 2.0)
        assert policy.left(began=0.0, active=9.0, now=9.5) == ("run", 0.5)

    def test_a_send_brings_its_own(self) -> None:
        """ER-20: shown only where it is there."""
        assert repr(Send("n", 1, timeout=2)) == (
            "Send(node='n', arg=1, timeout=TimeoutPolicy(run_timeout=2.0, idle_timeout=None, "
            "refresh_on='auto'))"
        )
        assert Send("n", 1, timeout=2) == Send("n", 1, timeout=2.0) != Send("n", 1)

    def test_a_send_is_stored_with_its_limit(self) -> None:
        """ER-20, SD-12: in the form in which the reference stores it, and reads it."""
        send = Send("n", 1, timeout=2)
        serializer = JsonPlusSerializer()
        stored = serializer.dumps_typed(send)
        assert serializer.loads_typed(stored) == send
        assert stored == Reference().dumps_typed(TheirSend("n", 1, timeout=2))
        plain = serializer.dumps_typed(Send("n", 1))
        assert plain == Reference().dumps_typed(TheirSend("n", 1))


@dataclass
class Point:
    x: int


class TestCacheKeys:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
            ({"a": {1: "x", "1": "y"}}, {"a": {"1": "y", 1: "x"}}),
            ({3, 1, 2}, {1, 2, 3}),
            ({frozenset({1, 2})}, {frozenset({2, 1})}),
            ([Point(1)], [Point(1)]),
            (["a" * 3, "aaa"], ["".join("aaa"), "".join("aaa")]),
        ],
    )
    def test_equal_inputs_have_equal_keys(self, one: Any, other: Any) -> None:
        """ER-50: however they were put together."""
        assert default_cache_key(one) == default_cache_key(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"a": 1}, {"a": 2}),
            ([1], (1,)),
            (1, True),
            (1, 1.0),
            ({1: "x"}, {"1": "x"}),
            ([Point(1)], [Point(2)]),
            ({"a": [1, 2]}, {"a": [2, 1]}),
        ],
    )
    def test_other_inputs_have_other_keys(self, one: Any, other: Any) -> None:
        """ER-50: also those of which a node might see the difference."""
        assert default_cache_key(one) != default_cache_key(other)

    def test_keys_are_the_same_in_another_process(self) -> None:
        """ER-50: so a cache may be shared, whatever the seed of Python's hashes."""
        value = "{'a': {'x', 'y', 'z'}, 'b': [1.5, None]}"
        program = (
            "from minigraph.types import default_cache_key as key; print(key(" + value + ").hex())"
        )
        found = {
            subprocess.run(
                [sys.executable, "-c", program],
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
                env={"PYTHONHASHSEED": seed},
            ).stdout.strip()
            for seed in ("1", "2")
        }
        assert found == {default_cache_key(eval(value)).hex()}

    def test_what_has_no_key(self) -> None:
        """What contains itself, or cannot be taken apart."""
        endless: list[Any] = []
        endless.append(endless)
        with pytest.raises((ValueError, RecursionError)):
            default_cache_key(endless)
        with pytest.raises(Exception, match="pickle"):
            default_cache_key({"f": lambda: 1})


class TestPoliciesOfANode:
    def test_nothing_said_is_nothing(self) -> None:
        assert policies_of("A node") is None
        assert policies_of("A node", (), None, TimeoutPolicy()) is None

    def test_one_or_several(self) -> None:
        """ER-12."""
        one, two = RetryPolicy(max_attempts=1), RetryPolicy(max_attempts=2)
        assert policies_of("A node", one) == Policies(retry=(one,))
        assert policies_of("A node", [one, two]) == Policies(retry=(one, two))

    @pytest.mark.parametrize("given", [5, "x", [5], RetryPolicy])
    def test_what_is_no_policy(self, given: Any) -> None:
        with pytest.raises(TypeError, match="Node 'n' has the retry_policy"):
            policies_of("Node 'n'", given)
        with pytest.raises(TypeError, match="Node 'n' has the cache_policy"):
            policies_of("Node 'n'", None, given)

    def test_a_default_says_what_is_not_said(self) -> None:
        """ER-33: each for itself."""
        mine, general = RetryPolicy(max_attempts=1), RetryPolicy(max_attempts=9)
        cache = CachePolicy(ttl=3)
        own = Policies(retry=(mine,))
        default = Policies(retry=(general,), cache=cache)
        assert together(own, default) == Policies(retry=(mine,), cache=cache)
        assert together(None, default) == default
        assert together(own, None) == own
