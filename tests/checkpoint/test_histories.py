"""What is stored in pieces, and how each saver finds it.

A saver may have a way of its own to do that, and the base class has a slow one that is right for
every saver. Here all of them are asked the same, and have to give the same answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minigraph.checkpoint.base.history import COUNTERS
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.encrypted import EncryptedSerializer
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from minigraph.checkpoint.sqlite.database import connect
from minigraph.constants import ERROR, INTERRUPT, RESUME


class Rot128:
    """A cipher that keeps nothing secret, and changes every byte."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "rot128", bytes(byte ^ 128 for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return self.encrypt(ciphertext)[1]


class Walking(InMemorySaver):
    """Asks for one ancestor after the other, as the base class does."""

    get_delta_channel_history = BaseCheckpointSaver.get_delta_channel_history
    aget_delta_channel_history = BaseCheckpointSaver.aget_delta_channel_history


class WalkingInAFile(SqliteSaver):
    get_delta_channel_history = BaseCheckpointSaver.get_delta_channel_history


@contextmanager
def opened(kind: str) -> Iterator[BaseCheckpointSaver[Any]]:
    if kind == "async sqlite":
        saver = AsyncSqliteSaver(connect(":memory:"))
        yield saver
        asyncio.run(saver.aclose())
    elif "sqlite" in kind:
        conn = connect(":memory:")
        serde = EncryptedSerializer(Rot128()) if "encrypted" in kind else None
        yield (WalkingInAFile if "walk" in kind else SqliteSaver)(conn, serde=serde)
        conn.close()
    else:
        yield Walking() if "walk" in kind else InMemorySaver()


KINDS = [
    "memory", "memory, walk", "sqlite", "sqlite, walk", "encrypted sqlite", "async sqlite",
]  # fmt: skip


@pytest.fixture(params=KINDS)
def saver(request: pytest.FixtureRequest) -> Iterator[BaseCheckpointSaver[Any]]:
    with opened(request.param) as made:
        yield made


def at(id: str | None = None, *, thread: str = "t", namespace: str | None = "") -> Any:
    place = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id}
    return {"configurable": {name: value for name, value in place.items() if value is not None}}


class Thread:
    """Checkpoints of a, b and c, which have all been written, on a saver."""

    def __init__(self, saver: BaseCheckpointSaver[Any], **place: str) -> None:
        self.saver = saver
        self.place = place

    def put(self, id: str, parent: str | None, values: Any = None, **more: Any) -> None:
        """A checkpoint that holds these values. What it does not, it counts."""
        values = values or {}
        names = more.pop("names", "abc")
        checkpoint: Any = {
            "v": 4,
            "id": id,
            "ts": "",
            "channel_values": values,
            "channel_versions": dict.fromkeys(names, id),
            "versions_seen": {},
            "updated_channels": None,
        }
        counted = {name: [1, 1] for name in names if name not in values and parent}
        metadata: Any = {"step": 0} | ({COUNTERS: counted} if counted else {}) | more
        config = at(parent, **self.place)
        self.saver.put(config, checkpoint, metadata, checkpoint["channel_versions"])

    def write(self, id: str, writes: Sequence[Any], task: str = "", path: str = "") -> None:
        self.saver.put_writes(at(id, **self.place), writes, task or f"task {id}", path)

    def history(self, id: str | None, *channels: str, **more: Any) -> Any:
        """What the saver finds: by its own method, by the async twin, and by the base class."""
        asked: Any = {"config": at(id, **self.place), "channels": [*channels], **more}
        ways = [
            lambda: self.saver.get_delta_channel_history(**asked),
            lambda: BaseCheckpointSaver.get_delta_channel_history(self.saver, **asked),
            lambda: asyncio.run(self.saver.aget_delta_channel_history(**asked)),
        ]
        answers: list[Any] = []
        for way in ways if type(self.saver).aget_tuple is not SqliteSaver.aget_tuple else ways[:2]:
            try:
                answers.append(way())
            except UnreadableError as error:
                answers.append(error)
        for answer in answers[1:]:
            if isinstance(answer, UnreadableError):
                assert repr(answer) == repr(answers[0])
            else:
                assert answer == answers[0]
        if isinstance(answers[0], UnreadableError):
            raise answers[0]
        return answers[0]


@pytest.fixture
def thread(saver: BaseCheckpointSaver[Any]) -> Thread:
    """a has a value at 2, b at 1 and 4, c nowhere."""
    made = Thread(saver)
    made.put("1", None, {"b": "B1"})
    made.put("2", "1", {"a": ["A2"]})
    made.put("3", "2")
    made.put("4", "3", {"b": "B4"})
    for id in "1234":
        made.write(id, [(name, [f"{name}{id}"]) for name in "abc"])
    return made


def written(name: str, *ids: str) -> list[Any]:
    return [(f"task {id}", name, [f"{name}{id}"]) for id in ids]


# ------------------------------------------------------------------ which checkpoints


def test_back_to_the_seed(thread: Thread) -> None:
    """DC-03, DC-15: each channel to its own. The writes beside the seed are included, those beside
    the checkpoint itself are not, and what it holds is no seed."""
    assert thread.history("4", "a", "b", "c") == {
        "a": {"seed": ["A2"], "writes": written("a", "2", "3")},
        "b": {"seed": "B1", "writes": written("b", "1", "2", "3")},
        "c": {"writes": written("c", "1", "2", "3")},
    }
    assert thread.history("3", "a") == {"a": {"seed": ["A2"], "writes": written("a", "2")}}
    assert thread.history("2", "a") == {"a": {"writes": written("a", "1")}}


def test_the_latest(thread: Thread) -> None:
    """DC-03: without an id, and with one that is empty; also without a namespace."""
    expected = thread.history("4", "a", "b")
    for config in (at(), at(""), at(namespace=None), at("4", namespace=None)):
        found = thread.saver.get_delta_channel_history(config=config, channels=["a", "b"])
        assert found == expected


def test_nothing_to_find(thread: Thread) -> None:
    """DC-03: at a root, in an unknown thread, for an unknown channel: no writes. For no channels:
    nothing."""
    assert thread.history("1", "a", "b") == {"a": {"writes": []}, "b": {"writes": []}}
    assert thread.history("9") == {}
    assert thread.history("4", "unknown") == {"unknown": {"writes": []}}
    assert thread.history("4") == {}
    for place in ({"thread": "unknown"}, {"namespace": "unknown"}):
        elsewhere = Thread(thread.saver, **place)
        assert elsewhere.history(None, "a") == {"a": {"writes": []}}
        assert elsewhere.history(None) == {}


def test_parents_and_not_neighbours(saver: BaseCheckpointSaver[Any]) -> None:
    """DC-05: two branches, whose ids alternate. Neither sees what the other has stored or written,
    nor does the checkpoint at which they part."""
    thread = Thread(saver)
    links = [("1", None), ("2", "1"), ("3", "1"), ("4", "2"), ("5", "3"), ("6", "4"), ("7", "5")]
    for id, parent in links:
        thread.put(id, parent, {"a": ["A3"]} if id == "3" else {})
        thread.write(id, [("a", [f"a{id}"]), ("b", [f"b{id}"])])

    assert thread.history("6", "a") == {"a": {"writes": written("a", "1", "2", "4")}}
    assert thread.history("7", "a", "b") == {
        "a": {"seed": ["A3"], "writes": written("a", "3", "5")},
        "b": {"writes": written("b", "1", "3", "5")},
    }
    assert (
        thread.history("2", "b") == thread.history("3", "b") == {"b": {"writes": written("b", "1")}}
    )


def test_a_parent_with_a_greater_id(saver: BaseCheckpointSaver[Any]) -> None:
    """DC-05: where a clock was set back, ids tell nothing about what came first."""
    thread = Thread(saver)
    for id, parent in (("5", None), ("9", "5"), ("1", "9"), ("7", "1")):
        thread.put(id, parent)
        thread.write(id, [("a", [f"a{id}"])])

    assert thread.history("7", "a") == {"a": {"writes": written("a", "5", "9", "1")}}
    assert thread.history(None, "a") == {"a": {"writes": written("a", "5")}}


def test_threads_and_namespaces_are_apart(saver: BaseCheckpointSaver[Any]) -> None:
    """DC-03: with checkpoints of the same ids."""
    places: list[Any] = [{}, {"namespace": "inner"}, {"thread": "u"}]
    for n, place in enumerate(places):
        thread = Thread(saver, **place)
        for id, parent in (("1", None), ("2", "1"), ("3", "2")):
            thread.put(id, parent, {"b": n} if id == "2" else {})
            thread.write(id, [("a", n), ("b", n)], f"task {id}")
    for n, place in enumerate(places):
        assert Thread(saver, **place).history("3", "a", "b") == {
            "a": {"writes": [("task 1", "a", n), ("task 2", "a", n)]},
            "b": {"seed": n, "writes": [("task 2", "b", n)]},
        }


# ----------------------------------------------------------------------- which writes


def test_the_order_of_writes(saver: BaseCheckpointSaver[Any]) -> None:
    """DC-04, SV-09: by task path, task id and position, whenever they came; not by task id alone,
    which is a hash."""
    thread = Thread(saver)
    thread.put("1", None)
    thread.write("1", [("a", 5), ("b", 0), ("a", 6)], "t1", "~pull, z")
    thread.write("1", [("a", 3), ("a", 4)], "t3", "~pull, m")
    thread.write("1", [("a", 1), ("a", 2)], "t2", "~pull, m")
    thread.write("1", [("a", 0)], "t9", "~pull, a")
    thread.put("2", "1")

    history = thread.history("2", "a")["a"]
    assert [write[2] for write in history["writes"]] == [0, 1, 2, 3, 4, 5, 6]
    assert [write[0] for write in history["writes"]] == ["t9", "t2", "t2", "t3", "t3", "t1", "t1"]


def test_more_than_ten_writes_of_a_task(saver: BaseCheckpointSaver[Any]) -> None:
    """DC-04: positions are numbers; the tenth is not between the first and the second."""
    thread = Thread(saver)
    thread.put("1", None)
    thread.write("1", [("a", n) for n in range(25)])
    thread.put("2", "1")

    assert [value for _, _, value in thread.history("2", "a")["a"]["writes"]] == [*range(25)]


def test_writes_about_a_task_are_not_in_it(saver: BaseCheckpointSaver[Any]) -> None:
    """DC-03, CP-20: its error, its question, its answers; unless somebody asks for just these."""
    thread = Thread(saver)
    thread.put("1", None)
    for channel in (ERROR, INTERRUPT, RESUME):
        thread.write("1", [(channel, "about")])
    thread.write("1", [("a", "own"), (ERROR, "again")])
    thread.put("2", "1")

    assert thread.history("2", "a", ERROR) == {
        "a": {"writes": [("task 1", "a", "own")]},
        ERROR: {"writes": [("task 1", ERROR, "again")]},
    }


def test_values_come_back_as_they_were(saver: BaseCheckpointSaver[Any]) -> None:
    """DC-03: None is a value, as a seed and as a write; and nobody shares what he gets with the
    store."""
    thread = Thread(saver)
    thread.put("1", None, {"a": None, "b": [["deep"]]})
    thread.write("1", [("a", None), ("b", {"k": [1]})])
    thread.put("2", "1")
    expected = {
        "a": {"seed": None, "writes": [("task 1", "a", None)]},
        "b": {"seed": [["deep"]], "writes": [("task 1", "b", {"k": [1]})]},
    }

    found = thread.history("2", "a", "b")
    assert found == expected
    found["b"]["seed"][0].append("edited")
    found["b"]["writes"][0][2]["k"].append("edited")
    assert thread.history("2", "a", "b") == expected


@pytest.mark.parametrize("name", ["", "a b", "'; DROP TABLE writes; --", ":channel0", "?", "ü\n%"])
def test_hostile_names(saver: BaseCheckpointSaver[Any], name: str) -> None:
    """DC-03: a name is a name."""
    thread = Thread(saver)
    thread.put("1", None, {name: "seed"}, names=[name, "a"])
    thread.write("1", [(name, "write"), ("a", 1)])
    thread.put("2", "1", names=[name, "a"])

    assert thread.history("2", name, "a") == {
        name: {"seed": "seed", "writes": [("task 1", name, "write")]},
        "a": {"writes": [("task 1", "a", 1)]},
    }


def test_a_channel_that_is_asked_for_twice(thread: Thread) -> None:
    """DC-03: is found once."""
    assert thread.history("4", "a", "a") == thread.history("4", "a")


def test_many_channels(saver: BaseCheckpointSaver[Any]) -> None:
    """DC-03: as many as a wide state has."""
    names = [f"channel {n}" for n in range(1200)]
    thread = Thread(saver)
    thread.put("1", None, {name: name for name in names[::2]}, names=names)
    thread.write("1", [(name, 1) for name in names[::3]])
    thread.put("2", "1", names=names)

    found = thread.history("2", *names)
    assert [*found] == names
    for n, name in enumerate(names):
        assert found[name].get("seed", None) == (name if n % 2 == 0 else None)
        assert found[name]["writes"] == ([("task 1", name, 1)] if n % 3 == 0 else [])


# ------------------------------------------------------------------ what is known


def test_what_the_caller_knows(thread: Thread) -> None:
    """DC-15: counts as stored there, and before what is; what it says of the checkpoint itself, or
    of others, does not."""
    known: Any = {
        "4": {"a": "no"},
        "3": {"c": "C3"},
        "2": {"a": "known", "other": 1},
        "1": {"a": "no"},
        "9": {"a": "no", "b": "no"},
    }
    assert thread.history("4", "a", "b", "c", known=known) == {
        "a": {"seed": "known", "writes": written("a", "2", "3")},
        "b": {"seed": "B1", "writes": written("b", "1", "2", "3")},
        "c": {"seed": "C3", "writes": written("c", "3")},
    }


def test_a_known_value_is_given_back_as_it_is(thread: Thread) -> None:
    """DC-15: it is the caller's, and need not be one that can be stored."""
    mine = object()
    found = thread.history("4", "a", known={"3": {"a": mine}})
    assert found["a"]["seed"] is mine


# ------------------------------------------------------------------- broken chains

BROKEN = (
    "The value of {names} is stored in pieces, checkpoint by checkpoint, and a piece is missing: "
    "checkpoint {problem}. Either it was deleted by something that did not know of the pieces, or "
    "the saver does not find checkpoints by their id; `minigraph.checkpoint.conformance` tells."
)


def test_a_checkpoint_that_is_not_there(thread: Thread) -> None:
    """DC-15: whoever names one, has seen it; it was removed since. Also in another thread, or in
    another namespace."""
    for place in ({}, {"thread": "unknown"}, {"namespace": "unknown"}):
        with pytest.raises(UnreadableError) as caught:
            Thread(thread.saver, **place).history("4" if place else "9", "b", "a")
        assert str(caught.value) == BROKEN.format(
            names=["a", "b"],
            problem=f"{'4' if place else '9'!r} is asked for, but by that id nothing is found",
        )


def test_a_missing_ancestor(saver: BaseCheckpointSaver[Any]) -> None:
    """DC-15: the error names it, and who named it. Behind the seed it is not missed."""
    thread = Thread(saver)
    for id, parent in (("2", "1"), ("3", "2"), ("4", "3")):
        thread.put(id, parent, {"a": "A3"} if id == "3" else {"b": "B2"} if id == "2" else {})
        thread.write(id, [("a", id)])

    assert thread.history("4", "a", "b")["a"] == {"seed": "A3", "writes": [("task 3", "a", "3")]}
    for channels in ("c", "ac", "cba"):
        with pytest.raises(UnreadableError) as caught:
            thread.history("4", *channels)
        assert str(caught.value) == BROKEN.format(
            names=["c"], problem="'2' names '1' as its parent, but by that id nothing is found"
        )
    with pytest.raises(UnreadableError) as caught:
        thread.history("2", "c", "b")
    assert str(caught.value) == BROKEN.format(
        names=["b", "c"], problem="'2' names '1' as its parent, but by that id nothing is found"
    )


@pytest.mark.parametrize(
    ("parents", "child", "parent"),
    [("4123", "1", "4"), ("_323", "2", "3"), ("__33", "3", "3"), ("_423", "2", "4")],
)
def test_a_circle(saver: BaseCheckpointSaver[Any], parents: str, child: str, parent: str) -> None:
    """DC-15: somebody has edited the store. It has an end all the same, and that is an error;
    unless the seed comes first."""
    thread = Thread(saver)
    for id, before in zip("1234", parents, strict=True):
        thread.put(id, before, {"b": "B3"} if id == "3" else {})
        thread.write(id, [("a", id), ("b", id)])

    with pytest.raises(UnreadableError) as caught:
        thread.history("4", "a", "b")
    assert str(caught.value) == BROKEN.format(
        names=["a"],
        problem=f"{child!r} names {parent!r} as its parent, but by that id one is found that comes "
        "after it",
    )
    assert thread.history("4", "b") == {"b": {"seed": "B3", "writes": [("task 3", "b", "3")]}}


def test_what_was_removed_is_not_missed(saver: BaseCheckpointSaver[Any]) -> None:
    """SV-63: after `prune` and `delete_for_runs`, what is left finds what it found before; and a
    copy finds it too."""
    thread = Thread(saver)
    for n in range(1, 9):
        values = {name: f"{name}{n}" for name in "abc"} if n in (3, 6) else {}
        thread.put(str(n), str(n - 1) if n > 1 else None, values, run_id=f"run {n}")
        thread.write(str(n), [("a", n)])
    before = {id: thread.history(id, "a", "b") for id in "12345678"}
    assert before["8"]["a"] == {"seed": "a6", "writes": [("task 6", "a", 6), ("task 7", "a", 7)]}

    for copy in ("runs", "pruned", "copy"):
        saver.copy_thread("t", copy)
    assert {id: Thread(saver, thread="copy").history(id, "a", "b") for id in "12345678"} == before

    saver.delete_for_runs([f"run {n}" for n in (1, 2, 4, 7)])
    left = [found.checkpoint["id"] for found in saver.list(at(thread="runs"))]
    assert left == ["8", "7", "6", "5", "4", "3"]
    for thread_id in ("runs", "copy", "t"):
        for id in ("5", "8"):
            assert Thread(saver, thread=thread_id).history(id, "a", "b") == before[id]

    saver.prune(["pruned"])
    left = [found.checkpoint["id"] for found in saver.list(at(thread="pruned"))]
    assert left == ["8", "7", "6"]
    assert Thread(saver, thread="pruned").history("8", "a", "b") == before["8"]


def test_a_copy_goes_its_own_way(saver: BaseCheckpointSaver[Any]) -> None:
    """SV-61, SV-63: what is written to one is not found in the other, and the copy outlives its
    source."""
    thread = Thread(saver)
    thread.put("1", None)
    thread.write("1", [("a", 1)])
    thread.put("2", "1")
    saver.copy_thread("t", "copy")
    copy = Thread(saver, thread="copy")
    thread.write("1", [("a", "late")], "task late")
    copy.write("1", [("a", "copied")], "task copied")

    assert [write[2] for write in thread.history("2", "a")["a"]["writes"]] == [1, "late"]
    saver.delete_thread("t")
    assert [write[2] for write in copy.history("2", "a")["a"]["writes"]] == [1, "copied"]
    with pytest.raises(UnreadableError, match="'2' is asked for, but by that id nothing is found"):
        thread.history("2", "a")


@pytest.mark.parametrize("kind", ["memory", "memory, walk", "sqlite"])
def test_a_long_chain(kind: str) -> None:
    """DC-15: of 6,000 checkpoints. Their depth is not a matter of recursion."""
    with opened(kind) as saver:
        thread = Thread(saver)
        prepared: list[Any] = []
        if isinstance(saver, SqliteSaver):
            saver.put = lambda *args: prepared.append(saver.prepare_put(*args))  # type: ignore[method-assign]
            saver.put_writes = lambda *args: prepared.append(saver.prepare_put_writes(*args))  # type: ignore[method-assign]
        for n in range(6000):
            thread.put(f"{n:05}", f"{n - 1:05}" if n else None, {} if n != 5 else {"b": 0})
            thread.write(f"{n:05}", [("a", n)])
        if isinstance(saver, SqliteSaver):
            saver.store(prepared)
        found = saver.get_delta_channel_history(config=at(), channels=["a", "b"])

        assert [value for _, _, value in found["a"]["writes"]] == [*range(5999)]
        assert found["b"] == {"seed": 0, "writes": []}


def test_the_example_finds_them_too(tmp_path: Path) -> None:
    """DC-15: a saver in a directory, which has the five methods only."""
    namespace: dict[str, Any] = {"__name__": "directory_saver"}
    example = Path(__file__).parent.parent.parent / "examples" / "directory_saver.py"
    exec(compile(example.read_text(encoding="utf-8"), str(example), "exec"), namespace)
    thread = Thread(namespace["DirectorySaver"](tmp_path))
    thread.put("1", None, {"b": "B1"})
    thread.put("2", "1")
    thread.put("3", "2")
    for id in "123":
        thread.write(id, [("a", [f"a{id}"]), ("b", [f"b{id}"])])

    assert thread.history("3", "a", "b") == {
        "a": {"writes": written("a", "1", "2")},
        "b": {"seed": "B1", "writes": written("b", "1", "2")},
    }
