"""Ids and versions: what storage calls things."""

import os
import random
import threading
from uuid import RFC_4122, UUID

import pytest

from minigraph.checkpoint.base import id as ids
from minigraph.checkpoint.base.id import next_text_version, uuid6, uuid6_text


def test_an_id_is_a_uuid_of_version_6() -> None:
    """CP-03: and the two functions make the same kind of id."""
    for made in (uuid6(), UUID(uuid6_text())):
        assert (made.version, made.variant) == (6, RFC_4122)


@pytest.mark.parametrize(
    ("step", "group"), [(-1, "bfff"), (0, "8000"), (1, "8001"), (2**14, "8000"), (-2, "bffe")]
)
def test_the_clock_sequence_shows_the_step(step: int, group: str) -> None:
    """CP-03: the fourth group of an id is the step's number, modulo 2^14."""
    assert uuid6_text(clock_seq=step)[19:23] == group
    assert str(uuid6(clock_seq=step))[19:23] == group


def test_the_clock_is_read_most_significant_part_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of RFC 9562, A.5: 22 February 2022, 19:22:22 UTC."""
    monkeypatch.setattr(ids, "_last_tick", 0)
    monkeypatch.setattr(ids, "time_ns", lambda: 1645557742_000_000_000)
    made = uuid6(clock_seq=0x33C8, node=0x9F6BDECED846)
    assert str(made) == "1ec9414c-232a-6b00-b3c8-9f6bdeced846"
    assert (made.clock_seq, made.node) == (0x33C8, 0x9F6BDECED846)


def test_ids_of_one_tick_are_forced_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """CP-03: one tick apart, whatever their random parts are."""
    monkeypatch.setattr(ids, "_last_tick", 0)
    monkeypatch.setattr(ids, "time_ns", lambda: 1_700_000_000_000_000_000)
    made = [uuid6_text(clock_seq=0) for _ in range(50)]
    assert made == sorted(set(made))
    ticks = [int(text[:8] + text[9:13] + text[15:18], 16) for text in made]
    assert ticks == list(range(ticks[0], ticks[0] + 50))


def test_ids_go_on_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """CP-03: ids only increase within a process."""
    monkeypatch.setattr(ids, "_last_tick", 0)
    clock = iter([2_000_000_000_000_000_000, 1_000_000_000_000_000_000, 1_500_000_000_000_000_000])
    monkeypatch.setattr(ids, "time_ns", lambda: next(clock))
    made = [uuid6_text() for _ in range(3)]
    assert made == sorted(set(made))


def test_ids_increase_within_each_thread_and_are_unique_in_all() -> None:
    """CP-03 holds when several runs make ids at once."""
    made: list[list[str]] = [[] for _ in range(6)]
    start = threading.Barrier(len(made))

    def work(mine: list[str]) -> None:
        start.wait()
        for _ in range(2_000):
            mine.append(uuid6_text(clock_seq=0))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mine in made:
        assert mine == sorted(mine)
    # The time alone must tell them apart: the first three groups.
    assert len({text[:18] for mine in made for text in mine}) == 12_000


def test_a_random_node_is_marked_as_one() -> None:
    """RFC 9562, 6.10: it has the bit that a network card's address never has."""
    assert all(uuid6().node >> 40 & 1 for _ in range(20))
    assert len({uuid6().node for _ in range(20)}) == 20


def test_versions_count_and_sort_as_text() -> None:
    """CP-04: a counter of 32 digits, a dot, and a random fraction."""
    versions = [next_text_version(None)]
    for _ in range(11):
        versions.append(next_text_version(versions[-1]))
    assert [int(version.split(".")[0]) for version in versions] == list(range(1, 13))
    assert versions == sorted(versions)
    for version in versions:
        counter, fraction = version.split(".", 1)
        assert len(counter) == 32
        assert 0 <= float(fraction) < 1


def test_a_number_can_be_followed_by_a_text_version() -> None:
    """CP-04, CP-05: a thread begun with int versions can go on with these."""
    assert next_text_version(5)[:32] == f"{6:032}"


def test_text_that_is_no_version_is_an_error() -> None:
    with pytest.raises(ValueError, match="x"):
        next_text_version("x.0.5")


def test_a_seeded_random_module_does_not_repeat_versions_or_ids() -> None:
    """CP-04: the random part keeps branches apart, also of nodes that seed `random`."""
    random.seed(42)
    version, node = next_text_version(None), uuid6().node
    random.seed(42)
    assert next_text_version(None) != version
    random.seed(42)
    assert uuid6().node != node


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_draws_other_numbers() -> None:
    """Parent and child must not name two branches alike."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, next_text_version(None).encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reader, 200).decode()
    os.close(reader)
    os.close(writer)
    assert theirs.startswith(f"{1:032}.0.")
    assert theirs != next_text_version(None)
