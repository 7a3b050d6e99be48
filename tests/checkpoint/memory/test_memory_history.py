"""Pieces from three dicts: what is decoded, and what happens when somebody removes something.

What every saver has to find is in test_histories.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer


def at(n: int | None = None) -> Any:
    place = {"thread_id": "t", "checkpoint_ns": ""}
    return {"configurable": place if n is None else {**place, "checkpoint_id": str(n)}}


def put(saver: Any, n: int, **values: Any) -> None:
    """Checkpoint n on n - 1, with a write to a, b and c."""
    checkpoint: Any = {
        "v": 4,
        "id": str(n),
        "ts": "",
        "channel_values": values,
        "channel_versions": dict.fromkeys("abc", n),
        "versions_seen": {},
        "updated_channels": None,
    }
    config = at(n - 1) if n > 1 else at()
    saver.put(config, checkpoint, {}, checkpoint["channel_versions"])
    saver.put_writes(at(n), [("a", n), ("b", n), ("c", n)], f"task {n}")


def history(saver: InMemorySaver, n: int | None, *channels: str, **more: Any) -> Any:
    return saver.get_delta_channel_history(config=at(n), channels=[*channels], **more)


class Watched(JsonPlusSerializer):
    """Counts what is decoded, and calls somebody first."""

    loads = 0
    before: Any = None

    def loads_typed(self, data: Any) -> Any:
        self.loads += 1
        if self.before is not None:
            self.before()
        return super().loads_typed(data)


def thread(serde: Any = None) -> InMemorySaver:
    saver = InMemorySaver(serde=serde)
    put(saver, 1, a="A1", b="B1", c="C1")
    put(saver, 2)
    put(saver, 3, a="A3")
    put(saver, 4)
    return saver


def test_what_is_decoded() -> None:
    """DC-15: the ancestors, and of what they have only what belongs to these channels."""
    serde = Watched()
    saver = thread(serde)
    serde.loads = 0
    assert history(saver, 4, "a")["a"] == {"seed": "A3", "writes": [("task 3", "a", 3)]}
    assert serde.loads == 3  # the checkpoint, its value, the write
    serde.loads = 0
    assert len(history(saver, 4, "b")["b"]["writes"]) == 3
    assert serde.loads == 3 + 1 + 3
    serde.loads = 0
    known = {"3": {"b": "known"}}
    assert history(saver, 4, "b", known=known)["b"]["seed"] == "known"
    assert serde.loads == 1


def test_asking_leaves_no_trace() -> None:
    """SV-22: of a thread, or of writes, that are not there."""
    saver = thread()
    del saver.writes[("t", "", "2")]
    saver.get_delta_channel_history(config={"configurable": {"thread_id": "u"}}, channels=["a"])
    assert [value for _, _, value in history(saver, 4, "b")["b"]["writes"]] == [1, 3]

    assert [*saver.storage] == ["t"]
    assert [key[2] for key in saver.writes] == ["1", "3", "4"]


def test_a_number_for_a_thread() -> None:
    """SV-23: is taken as its text."""
    saver = InMemorySaver()
    for n in (1, 2):
        place: Any = {"thread_id": 5, "checkpoint_ns": ""}
        config: Any = {"configurable": place | ({"checkpoint_id": "1"} if n == 2 else {})}
        made: Any = {"id": str(n), "channel_values": {}, "channel_versions": {}}
        saver.put(config, made, {}, {})
    saver.put_writes({"configurable": {**place, "checkpoint_id": "1"}}, [("a", 1)], "task")
    found = saver.get_delta_channel_history(config={"configurable": place}, channels=["a"])
    assert found == {"a": {"writes": [("task", "a", 1)]}}


@pytest.mark.parametrize("what", ["checkpoint", "write", "value"])
def test_what_is_damaged(what: str) -> None:
    """SD-14, DC-15: the error says where it was met."""
    saver = thread()
    broken = ("msgpack", b"\xc1")
    if what == "checkpoint":
        rows = saver.storage["t"][""]
        rows["3"] = (broken, *rows["3"][1:])
    elif what == "write":
        writes = saver.writes[("t", "", "3")]
        writes["task 3", 0] = ("task 3", "a", broken, "")
    else:
        saver.blobs["t", "", "a", 3] = broken
    with pytest.raises(UnreadableError) as caught:
        history(saver, 4, "a")
    where = {"checkpoint": "checkpoint '3'", "write": "a write to 'a'", "value": "channel 'a'"}
    assert caught.value.__notes__ == [f"This happened while reading {where[what]} of thread 't'."]
    if what == "write":
        assert history(saver, 4, "b")["b"]["seed"] == "B1"


@pytest.mark.parametrize("when", range(1, 12))
@pytest.mark.parametrize("how", ["delete", "prune", "again"])
def test_what_happens_meanwhile(when: int, how: str) -> None:
    """DC-15, SV-63: while it is read, the thread is deleted, pruned, or a checkpoint is stored
    again. What is found is what was there, or an error; never a part of it."""
    serde = Watched()
    saver = thread(serde)
    expected = history(saver, 3, "b")
    serde.loads = 0

    def meanwhile() -> None:
        if serde.loads == when:
            serde.before = None
            if how == "delete":
                saver.delete_thread("t")
            elif how == "prune":
                put(saver, 5, a=0, b=0, c=0)
                saver.prune(["t"])
            else:
                put(saver, 2)

    serde.before = meanwhile
    problem = ""
    try:
        found = history(saver, 3, "b")
    except UnreadableError as error:
        found, problem = expected, str(error)
    assert found == expected
    assert not problem or (how != "again" and "by that id nothing is found" in problem)
