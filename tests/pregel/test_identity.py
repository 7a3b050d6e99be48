"""Who a task is: a hash of its position, and of nothing else."""

from __future__ import annotations

import re
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigraph.pregel.identity import (
    child_namespace,
    hashed,
    interrupt_id,
    path_text,
    task_id,
    without_ids,
)

ID = "1ef4f797-8335-6428-8001-8a1503f9b875"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("__pregel_pull", "node_a"), "~__pregel_pull, node_a"),
        (("__pregel_push", 2, False), "~__pregel_push, 0000000002, 0000000000"),
        (("__pregel_push", 12, True), "~__pregel_push, 0000000012, 0000000001"),
        (("__interrupt__", 0), "~__interrupt__, 0000000000"),
        (
            ("__pregel_push", ("__pregel_pull", "a"), 0),
            "~__pregel_push, ~__pregel_pull, a, 0000000000",
        ),
        ((), "~"),
    ],
)
def test_path_text(path: object, text: str) -> None:
    """SS-02: parts joined by a comma behind a tilde, numbers padded to ten digits."""
    assert path_text(path) == text


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_sends_sort_as_they_were_sent(one: int, other: int) -> None:
    """SS-03: text sorts like the numbers in it, so the tenth Send comes after the ninth."""
    texts = [path_text(("__pregel_push", index, False)) for index in (one, other)]
    assert (texts[0] < texts[1]) == (one < other)


def test_pull_comes_before_push() -> None:
    """SS-03: what an edge started is applied before what was sent."""
    assert path_text(("__pregel_pull", "z")) < path_text(("__pregel_push", 0, False))


def test_task_id_is_a_hash_of_its_parts_in_order() -> None:
    """SS-31, SS-33: 128 bits made of the position, printed like a UUID."""
    id = task_id(f"{ID}node_a1node_a__pregel_pullbranch:to:node_a")

    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", id)
    position = b"1ef4f797-8335-6428-8001-8a1503f9b875node_a1node_a__pregel_pullbranch:to:node_a"
    plain = blake2b(position, digest_size=16)
    assert id.replace("-", "") == plain.hexdigest()


def test_task_ids_of_other_positions_differ() -> None:
    """SS-32: the same place always gives the same id; a fork's checkpoint gives others."""
    fork = ID.replace("8001", "8002")
    assert task_id(f"{ID}a1a") == task_id(f"{ID}a1a")
    assert len({task_id(f"{ID}a1a"), task_id(f"{fork}a1a"), task_id(f"{ID}a2a")}) == 3


def test_names_in_any_script() -> None:
    """A node may be called anything; its id is made of the name's bytes."""
    assert task_id(f"{ID}knöten") != task_id(f"{ID}knoten")


def test_namespaces() -> None:
    """SB-01, SB-02: levels are joined by a bar, a name and its task's id by a colon."""
    assert child_namespace("", "a") == "a"
    assert child_namespace("a:1", "b") == "a:1|b"


def test_ids_of_questions() -> None:
    """IN-05: 32 digits, made of the place; the first question has no number."""
    first, second = interrupt_id("a:1", 0), interrupt_id("a:1", 1)
    assert (first, second) == (hashed("a:1"), hashed("a:1|1"))
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in (first, second))
    others = [interrupt_id("a:2", 0), interrupt_id("b:1", 0), interrupt_id("o:0|a:1", 0)]
    assert len({first, second, *others}) == 5


@pytest.mark.parametrize(
    ("namespace", "nodes"),
    [
        ("", ""),
        ("a:1", "a"),
        ("a:1|b:2", "a|b"),
        ("a:1|1", "a|1"),
        ("a:1|2|b:3|1", "a|2|b|1"),
        ("a", "a"),
    ],
)
def test_namespaces_without_ids(namespace: str, nodes: str) -> None:
    """SB-04: the numbers of repeated calls stay."""
    assert without_ids(namespace) == nodes
