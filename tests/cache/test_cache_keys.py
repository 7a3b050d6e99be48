"""Where in a cache the outputs of a node are."""

from __future__ import annotations

import functools
import py_compile
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from minigraph.cache.base import digest, identity_of, namespace_of


def work(state: int) -> int:
    return state


class Worker:
    def __call__(self, state: int) -> int:
        return state

    def method(self, state: int) -> int:
        return state


def test_functions_are_told_apart() -> None:
    """ER-50: by their code as well: two lambdas of one place have the same name."""

    def make(number: int) -> tuple[Callable[[int], int], Callable[[int], int]]:
        return (lambda x: x + 1), (lambda x: x + 2)

    one, two = make(0)
    again, _ = make(0)
    assert identity_of(one) != identity_of(two)
    assert identity_of(one) == identity_of(again)
    assert identity_of(work).startswith(f"{work.__module__}.work:")
    assert identity_of(Worker()) == f"{Worker.__module__}.Worker"
    assert identity_of(Worker().method).startswith(f"{Worker.__module__}.Worker.method:")


def test_wrappers_are_seen_through() -> None:
    @functools.wraps(work)
    def wrapper(state: int) -> int:
        return work(state)

    assert identity_of(wrapper) == identity_of(work) == identity_of(functools.partial(work, 1))


def test_a_namespace_has_the_nodes_name() -> None:
    assert namespace_of("n", work) == ("__pregel_ns_writes", identity_of(work), "n")


def test_an_identity_is_the_same_in_another_process(tmp_path: Path) -> None:
    """ER-50: and whether the module was compiled just now, or read from its compiled form."""
    (tmp_path / "a_module.py").write_text("def f(x):\n    return {'some key': x, 'é': 'text'}\n")
    program = (
        "import a_module; from minigraph.cache.base import identity_of as i; print(i(a_module.f))"
    )
    found = set()
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            cwd=tmp_path,
        )
        found.add(ran.stdout)
        py_compile.compile(str(tmp_path / "a_module.py"))
    assert len(found) == 1


def test_a_digest_has_128_bits() -> None:
    """Of text and of bytes."""
    assert len(digest("x")) == 32
    assert digest("x") == digest(b"x") != digest("y")
    assert digest("\ud800") != digest("\ud801")
