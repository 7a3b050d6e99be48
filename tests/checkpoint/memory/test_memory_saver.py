"""The saver in three dicts: its layout, what it does alone, and that it does no needless work."""

import asyncio
import copy
import dataclasses
import enum
import inspect
import operator
import signal
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Annotated, Any, TypedDict

import pytest

from minigraph.checkpoint import memory
from minigraph.checkpoint.base.records import Checkpoint
from minigraph.checkpoint.memory import InMemorySaver, MemorySaver
from minigraph.checkpoint.memory.rows import Rows
from minigraph.checkpoint.serde.jsonplus import InvalidModuleError, JsonPlusSerializer
from minigraph.graph import START, StateGraph
from minigraph.types import RunnableConfig


@dataclasses.dataclass
class Note:
    text: str


class Color(enum.Enum):
    RED = "r"


def checkpoint(n: int, values: Any = None, versions: Any = None) -> Checkpoint:
    values = {"a": n} if values is None else values
    return {
        "v": 4,
        "id": str(n),
        "ts": "",
        "channel_values": values,
        "channel_versions": versions or dict.fromkeys(values, n),
        "versions_seen": {},
        "updated_channels": None,
    }


def at(n: int | None = None, thread: str = "t", ns: str = "") -> RunnableConfig:
    configurable = {"thread_id": thread, "checkpoint_ns": ns}
    return {
        "configurable": configurable if n is None else {**configurable, "checkpoint_id": str(n)}
    }


def put(saver: InMemorySaver, n: int, *, thread: str = "t", ns: str = "", **kw: Any) -> None:
    made = checkpoint(n, **kw)
    saver.put(at(thread=thread, ns=ns), made, {"step": n}, made["channel_versions"])


@pytest.fixture
def saver() -> InMemorySaver:
    return InMemorySaver()


class Counting(JsonPlusSerializer):
    """Counts what is converted."""

    loads = 0

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        self.loads += 1
        return super().loads_typed(data)


# ----------------------------------------------------------------------- layout


def test_layout(saver: InMemorySaver) -> None:
    """SV-20, SV-22: three dicts; everything in them went through the serializer."""
    saver.put(at(0), checkpoint(1, {"a": 1, "old": 0}), {"step": 1}, {"a": 1, "gone": 1})
    saver.put_writes(at(1), [("x", 1), ("__error__", "e")], "task", "path")
    dumps = saver.serde.dumps_typed
    without_values: dict[str, Any] = {**checkpoint(1, {"a": 1, "old": 0})}
    del without_values["channel_values"]
    assert saver.storage == {"t": {"": {"1": (dumps(without_values), dumps({"step": 1}), "0")}}}
    assert saver.blobs == {("t", "", "a", 1): dumps(1), ("t", "", "gone", 1): ("empty", b"")}
    assert saver.writes == {
        ("t", "", "1"): {
            ("task", 0): ("task", "x", dumps(1), "path"),
            ("task", -1): ("task", "__error__", dumps("e"), "path"),
        }
    }


def test_a_value_is_stored_under_its_version_once(saver: InMemorySaver) -> None:
    """SV-20: a checkpoint that did not change a channel does not store it again."""
    put(saver, 1, values={"a": 1, "b": 1})
    made = checkpoint(2, {"a": 2, "b": 1}, {"a": 2, "b": 1})
    saver.put(at(1), made, {}, {"a": 2})
    assert sorted(key[2:] for key in saver.blobs) == [("a", 1), ("a", 2), ("b", 1)]
    assert saver.get(at()) == made


@pytest.mark.parametrize("new", [{}, {"my_key": 3, "node": 3}])
def test_new_versions_decide_what_is_stored(saver: InMemorySaver, new: Any) -> None:
    """SV-21, SV-40: without them the values are lost, as in the reference's own example."""
    made = checkpoint(1, {"my_key": "meow", "node": "node"}, {"my_key": 3, "node": 3})
    saver.put(at(), made, {}, new)
    found = saver.get(at())
    assert found
    assert found["channel_values"] == (made["channel_values"] if new else {})
    assert list(found)[-1] == "channel_values"


def test_reading_leaves_no_trace(saver: InMemorySaver) -> None:
    """Asking for threads that are not there must not fill the memory."""
    saver.get_tuple(at(thread="ghost"))
    saver.get_tuple(at(1, thread="ghost"))
    list(saver.list(at(thread="ghost")))
    list(saver.list(at(thread="ghost"), filter={"a": 1}))
    saver.delete_thread("ghost")
    assert saver.storage == saver.blobs == saver.writes == {}


def test_public_names(saver: InMemorySaver) -> None:
    """SV-23: `MemorySaver` is an alias."""
    assert MemorySaver is InMemorySaver
    assert memory.__all__ == ["InMemorySaver", "MemorySaver"]
    with pytest.raises(AttributeError, match="PersistentDict"):
        _ = memory.PersistentDict


def test_it_can_stand_in_a_with_block(saver: InMemorySaver) -> None:
    """SV-23: synchronous and asynchronous; leaving it loses nothing."""

    async def enter() -> None:
        async with saver as inside:
            assert inside is saver

    with saver as inside:
        assert inside is saver
        put(saver, 1)
    asyncio.run(enter())
    assert saver.get(at()) == checkpoint(1)


def test_what_cannot_be_stored_after_a_removal_is_named(saver: InMemorySaver) -> None:
    """SV-20: also where it is stored for a reason of the saver's own."""
    put(saver, 1, values={"a": 1, "b": 1})
    saver.prune(["t"], strategy="delete")
    made = checkpoint(2, {"a": 1, "b": object()}, {"a": 1, "b": 1})
    with pytest.raises(TypeError, match="object` cannot be stored") as caught:
        saver.put(at(1), made, {}, {"a": 2})
    assert caught.value.__notes__ == ["This happened while storing channel 'b' of thread 't'."]
    assert saver.storage == saver.blobs == saver.writes == {}


@pytest.mark.parametrize("removed", [False, True])
def test_what_was_never_stored_stays_so(saver: InMemorySaver, removed: bool) -> None:
    """SV-21: while the parent is there, or there is none, `new_versions` decides alone."""
    put(saver, 1, values={"a": 1})
    if removed:
        put(saver, 1, thread="gone")
        saver.delete_thread("gone")
    saver.put(at(1), checkpoint(2, {"a": 1, "b": 2}, {"a": 1, "b": 2}), {}, {})
    saver.put(at(thread="u"), checkpoint(2, {"b": 2}, {"b": 2}), {}, {})
    for config, values in ((at(2), {"a": 1}), (at(2, thread="u"), {})):
        found = saver.get(config)
        assert found
        assert found["channel_values"] == values


def test_a_copy_that_would_change_what_stays_is_refused(saver: InMemorySaver) -> None:
    """SV-61, SV-20: a version is the name of one value. Nothing is copied then."""
    put(saver, 1, values={"x": "source"}, versions={"x": 7})
    put(saver, 2, values={"x": "target", "y": 1}, versions={"x": 7, "y": 7}, thread="u")
    saver.put_writes(at(1, thread="u"), [("x", 1)], "task")
    before = copy.deepcopy((saver.storage, saver.blobs, saver.writes))
    with pytest.raises(
        ValueError, match=r"'t' cannot be copied into 'u'.*version 7 of channel 'x'"
    ):
        saver.copy_thread("t", "u")
    assert (saver.storage, saver.blobs, saver.writes) == before
    put(saver, 1, values={"x": "target"}, versions={"x": 7})
    saver.copy_thread("t", "u")  # of the same value
    assert [found.metadata["step"] for found in saver.list(at(thread="u"))] == [2, 1]
    put(saver, 2, values={"x": "source"}, versions={"x": 7})
    saver.copy_thread("t", "u")  # and here it is replaced
    assert saver.get(at(2, thread="u")) == saver.get(at(2))


def test_versions_are_text(saver: InMemorySaver) -> None:
    """CP-04: and may follow a number."""
    first = saver.get_next_version(None, None)
    assert first.startswith(f"{1:032}.0.")
    assert saver.get_next_version(first, None).startswith(f"{2:032}.0.")
    assert saver.get_next_version(5, None).startswith(f"{6:032}.0.")
    assert saver.get_next_version(None, None) != first


# --------------------------------------------------------------- its serializer


def test_it_builds_what_it_was_given(saver: InMemorySaver) -> None:
    """SD-22: the data has never left the process; so users' types need no list here."""
    put(saver, 1, values={"note": Note("x"), "color": [Color.RED]})
    found = saver.get(at())
    assert found
    assert found["channel_values"] == {"note": Note("x"), "color": [Color.RED]}


def test_a_serializer_can_be_given() -> None:
    """SV-01."""
    serde = JsonPlusSerializer()
    assert InMemorySaver(serde=serde).serde is serde


@pytest.mark.parametrize(
    ("where", "values", "writes"),
    [("channel 'note'", {"note": Note("x")}, []), ("a write to 'n'", {}, [("n", Note("x"))])],
)
def test_an_error_in_reading_names_channel_and_thread(where: str, values: Any, writes: Any) -> None:
    """SD-14."""
    saver = InMemorySaver()
    put(saver, 1, values=values)
    saver.put_writes(at(1), writes, "task")
    saver.serde = JsonPlusSerializer()
    for read in (lambda: saver.get_tuple(at()), lambda: list(saver.list(at()))):
        with pytest.raises(InvalidModuleError, match="Note") as caught:
            read()
        assert caught.value.__notes__ == [f"This happened while reading {where} of thread 't'."]


# ------------------------------------------------------------ where savers differ


def test_a_repeated_list_of_mixed_writes(saver: InMemorySaver) -> None:
    """SV-41, memory column: the special one is replaced, the ordinary one stays."""
    saver.put_writes(at(1), [("q", 1), ("__resume__", "r1")], "t5", "~d")
    saver.put_writes(at(1), [("q", 2), ("__resume__", "r2")], "t5", "~d")
    put(saver, 1)
    found = saver.get_tuple(at())
    assert found
    assert found.pending_writes == [("t5", "__resume__", "r2"), ("t5", "q", 1)]


@pytest.mark.parametrize("key", ["a b", "d.a"])
def test_any_filter_key_is_taken_literally(saver: InMemorySaver, key: str) -> None:
    """SV-42, SV-43, memory column."""
    saver.put(at(), checkpoint(1), {"d": {"a": 1}}, {})  # type: ignore[typeddict-unknown-key]
    assert list(saver.list(at(), filter={key: 1})) == []


def test_before_without_an_id_excludes_nothing(saver: InMemorySaver) -> None:
    """SV-44, memory column."""
    put(saver, 1)
    assert len(list(saver.list(at(), before={"configurable": {}}))) == 1


@pytest.mark.parametrize("filter", [None, {"step": 1}])
def test_a_negative_limit_gives_nothing(saver: InMemorySaver, filter: Any) -> None:
    """SV-45, memory column."""
    put(saver, 1)
    assert list(saver.list(at(), limit=-1, filter=filter)) == []


def test_metadata_need_not_be_json(saver: InMemorySaver) -> None:
    """SV-46, memory column."""
    metadata: Any = {"tup": (1, 2), "bytes": b"x", "note": Note("x")}
    saver.put(at(), checkpoint(1), metadata, {})
    found = saver.get_tuple(at())
    assert found
    assert found.metadata == metadata


def test_namespaces_are_listed_one_after_the_other(saver: InMemorySaver) -> None:
    """SV-47, memory column."""
    put(saver, 1)
    put(saver, 2, ns="sub:1")
    put(saver, 3)
    listed = [
        (found.config["configurable"]["checkpoint_ns"], found.metadata["step"])
        for found in saver.list({"configurable": {"thread_id": "t"}})
    ]
    assert listed == [("", 3), ("", 1), ("sub:1", 2)]


# --------------------------------------------------------------- edited by hand


def test_rows_deleted_by_hand_are_gone(saver: InMemorySaver) -> None:
    """SV-22: the dicts are the truth, also for what is the latest."""
    for n in (1, 2, 3):
        put(saver, n)
    del saver.storage["t"][""]["3"]
    assert saver.get(at()) == checkpoint(2)
    assert saver.get(at(3)) is None
    assert [found.metadata["step"] for found in saver.list(at())] == [2, 1]
    put(saver, 3)
    assert saver.get(at()) == checkpoint(3)
    del saver.storage["t"]
    assert saver.get(at()) is None
    assert list(saver.list(None)) == []


def test_rows_put_in_by_hand_are_found(saver: InMemorySaver) -> None:
    """SV-22, SV-04: in whatever order, and in a dict of whatever kind."""
    for n in (1, 5, 3):
        put(saver, n)
    rows = saver.storage["t"][""]
    saver.storage["copy"][""].update(dict(rows))
    saver.storage["plain"] = {"": dict(rows)}  # type: ignore[dict-item]
    for thread in ("copy", "plain"):
        found = saver.get_tuple(at(thread=thread))
        assert found
        assert found.metadata["step"] == 5
        assert [f.metadata["step"] for f in saver.list(at(thread=thread))] == [5, 3, 1]


def test_blobs_and_writes_deleted_by_hand_are_gone(saver: InMemorySaver) -> None:
    """SV-22: and the thread can still be deleted."""
    put(saver, 1, values={"a": 1, "b": 2})
    saver.put_writes(at(1), [("x", 1)], "task")
    del saver.blobs["t", "", "a", 1]
    del saver.writes["t", "", "1"]
    found = saver.get_tuple(at())
    assert found
    assert found.checkpoint["channel_values"] == {"b": 2}
    assert found.pending_writes == []
    saver.delete_thread("t")
    assert saver.storage == saver.blobs == saver.writes == {}


def test_blobs_and_writes_put_in_by_hand_are_deleted_with_their_thread(
    saver: InMemorySaver,
) -> None:
    """SV-12: nothing of the thread is left, and nothing of others is touched."""
    put(saver, 1)
    put(saver, 1, thread="u")
    saver.blobs["t", "x", "by hand", 1] = ("null", b"")
    saver.writes["t", "x", "1"] = {}
    saver.writes["u", "x", "1"] = {}
    saver.delete_thread("t")
    assert [key[0] for key in (*saver.storage, *saver.blobs, *saver.writes)] == ["u", "u", "u"]
    saver.delete_thread("u")
    assert saver.storage == saver.blobs == saver.writes == {}


def test_a_copy_of_the_store_can_be_kept(saver: InMemorySaver) -> None:
    """SV-22: and put back, to go back in time."""
    put(saver, 1)
    before = copy.deepcopy((saver.storage, saver.blobs, saver.writes))
    put(saver, 2)
    saver.storage, saver.blobs, saver.writes = before
    assert saver.get(at()) == checkpoint(1)
    put(saver, 3)
    assert saver.get(at()) == checkpoint(3)
    saver.delete_thread("t")
    assert saver.storage == saver.blobs == saver.writes == {}


# ------------------------------------------------------------- no needless work


class NotToBeSearched(dict):  # type: ignore[type-arg]
    """A dict that is only asked for single keys."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("looked at every key")

    keys = values = items = __iter__  # type: ignore[assignment]


def test_deleting_a_thread_does_not_search_the_others(saver: InMemorySaver) -> None:
    """SV-12: its cost follows the size of the thread."""
    for thread in ("t", "u", "v"):
        put(saver, 1, thread=thread)
        saver.put_writes(at(1, thread), [("x", 1)], "task")
    saver.blobs, saver.writes = NotToBeSearched(saver.blobs), NotToBeSearched(saver.writes)
    saver.storage = NotToBeSearched(saver.storage)
    for thread in ("t", "v"):
        saver.delete_thread(thread)
    assert [dict.keys(d) for d in (saver.storage, saver.blobs, saver.writes)] == [
        {"u"},
        {("u", "", "a", 1)},
        {("u", "", "1")},
    ]


@pytest.mark.parametrize(
    ("arguments", "loads"),
    [
        ({"limit": 2}, 2 * 3),
        ({"filter": {"step": 7}}, 10 + 3),
        ({"filter": {"step": 7}, "limit": 1}, 3 + 3),
        ({"before": at(3), "limit": 1}, 3),
        ({"limit": 0}, 0),
    ],
)
def test_list_converts_what_it_gives_and_no_more(arguments: Any, loads: int) -> None:
    """SV-10: three values for each tuple (checkpoint, metadata, one channel), and with a filter
    the metadata of those that are looked at."""
    serde = Counting()
    saver = InMemorySaver(serde=serde)
    for n in range(10):
        put(saver, n)
    list(saver.list(at(), **arguments))
    assert serde.loads == loads


def test_a_listing_decodes_what_did_not_change_once() -> None:
    """SV-10: and gives each tuple its own of what can be changed."""
    serde = Counting()
    saver = InMemorySaver(serde=serde)
    for n in range(10):
        values = {"a": n, "same": "x", "list": [1]}
        made = checkpoint(n, values, {"a": n, "same": 1, "list": 1})
        saver.put(at(), made, {}, made["channel_versions"] if n == 0 else {"a": n})
    found = [tuple_.checkpoint["channel_values"] for tuple_ in saver.list(at())]
    assert found == [{"a": n, "same": "x", "list": [1]} for n in reversed(range(10))]
    # Checkpoint, metadata, "a" and "list" ten times, and "same" once.
    assert serde.loads == 4 * 10 + 1
    assert len({id(values["list"]) for values in found}) == 10


def test_a_listing_sees_a_value_that_was_stored_again() -> None:
    """SV-10: under the same version, while somebody reads on."""
    saver = InMemorySaver()
    for n in (1, 2, 3):
        put(saver, n, values={"a": "old"}, versions={"a": 1})
    listing = saver.list(at())
    assert next(listing).checkpoint["channel_values"] == {"a": "old"}
    put(saver, 3, values={"a": "new"}, versions={"a": 1})
    assert [found.checkpoint["channel_values"] for found in listing] == [{"a": "new"}] * 2


def test_a_checkpoint_that_is_replaced_while_it_is_read_is_read_again() -> None:
    """SV-22: a tuple is whole, or not there."""
    saver = InMemorySaver()
    put(saver, 1)
    meanwhile = [
        lambda: put(saver, 1, values={"b": 2}),
        lambda: None,
        lambda: saver.delete_thread("t"),
    ]

    class Interrupted(JsonPlusSerializer):
        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            value = super().loads_typed(data)
            if isinstance(value, dict) and "v" in value:
                meanwhile.pop(0)()
            return value

    saver.serde = Interrupted()
    assert saver.get(at(1)) == checkpoint(1, {"b": 2}, {"b": 1})
    assert saver.get(at(1)) is None
    assert meanwhile == []


def test_the_latest_is_found_without_looking_at_the_others() -> None:
    """SV-04: and without sorting."""
    serde = Counting()
    saver = InMemorySaver(serde=serde)
    for n in range(10, 60):
        put(saver, n)
    assert saver.storage["t"][""].ascending
    saver.get_tuple(at())
    assert serde.loads == 3


# ---------------------------------------------------------------- interruptions


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(
    ("rows", "log", "following"),
    [(1, [], "__start__"), (2, ["in"], "a"), (3, ["in", "a"], "b"), (4, ["in", "a", "b"], None)],
)
def test_ctrl_c_right_after_a_row_is_set(
    way: Any, monkeypatch: pytest.MonkeyPatch, rows: int, log: list[str], following: str | None
) -> None:
    """SV-20: its values were stored before it, so the thread can be read and continued."""
    original = Rows.__setitem__
    remaining = [rows]

    def pressed(self: Rows, key: str, row: Any) -> None:
        original(self, key, row)
        remaining[0] -= 1
        if not remaining[0]:
            if way.is_async:  # there a signal becomes a cancellation, which comes later
                raise KeyboardInterrupt
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Rows, "__setitem__", pressed)
    builder = StateGraph(Log).add_node("a", lambda state: {"log": ["a"]})
    builder.add_node("b", lambda state: {"log": ["b"]}).add_edge(START, "a").add_edge("a", "b")
    graph = builder.compile(checkpointer=InMemorySaver())
    with pytest.raises(KeyboardInterrupt):
        way.invoke(graph, {"log": ["in"]}, at())

    found = graph.checkpointer.get(at())
    assert found
    # SV-40: each version in the checkpoint has its value, or is known to have none.
    stored = {key[2:] for key in graph.checkpointer.blobs}
    assert {*found["channel_versions"].items()} <= stored
    state = way.state(graph, at())
    assert state.values == {"log": log}
    assert state.next == ((following,) if following else ())
    assert way.invoke(graph, None, at()) == {"log": ["in", "a", "b"]}


def test_nothing_is_left_over_of_what_is_pruned() -> None:
    """SV-62, SV-20: values stay as long as some checkpoint lists them, and no longer."""
    saver = InMemorySaver()
    put(saver, 1, values={"a": 1, "b": 1})
    put(saver, 2, values={"a": 2, "b": 2})
    saver.put_writes(at(1), [("a", 1)], "task")
    saver.put_writes(at(2), [("a", 2)], "task")
    saver.prune(["t"])
    assert [*saver.storage["t"][""]] == [checkpoint(2)["id"]]
    assert {(key[2], key[3]) for key in saver.blobs} == {("a", 2), ("b", 2)}
    assert {key[2] for key in saver.writes} == {checkpoint(2)["id"]}
    saver.copy_thread("t", "u")
    saver.prune(["t"], strategy="delete")
    assert {key[0] for key in [*saver.blobs, *saver.writes]} == {"u"}
    saver.delete_thread("u")
    assert saver.storage == saver.blobs == saver.writes == {}


def test_rows_deleted_by_hand_are_not_copied() -> None:
    """SV-61, SV-22."""
    saver = InMemorySaver()
    put(saver, 1, values={"a": 1, "b": 1})
    saver.put_writes(at(1), [("a", 1)], "task")
    saver.blobs.pop(next(key for key in saver.blobs if key[2] == "b"))
    saver.writes.clear()
    saver.copy_thread("t", "u")
    found = saver.get_tuple({"configurable": {"thread_id": "u"}})
    assert found
    assert found.checkpoint["channel_values"] == {"a": 1}
    assert found.pending_writes == []


def interrupt(code: CodeType, lines: int, function: Callable[[], Any]) -> bool:
    """Call it; before the n-th line of `code`, Ctrl-C strikes. Whether it did.

    Not at a `with`, whose line comes again at the end: there, Python asks for no signals.
    """
    remaining = lines
    source, first = inspect.getsourcelines(code)
    withs = {first + i for i, line in enumerate(source) if line.lstrip().startswith("with ")}

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal remaining
        if frame.f_code is not code:
            return None
        if event == "line" and frame.f_lineno not in withs:
            remaining -= 1
            if remaining == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_ctrl_c_at_any_line_of_put() -> None:
    """SV-40: what is found is the checkpoint before, or the whole new one."""
    found = []
    for line in range(1, 100):
        saver = InMemorySaver()
        put(saver, 1, values={"a": 1, "b": 1})
        struck = interrupt(
            InMemorySaver.put.__code__,
            line,
            lambda saver=saver: put(saver, 2, values={"a": 2, "b": 2}),
        )
        found.append(saver.get(at()))
        assert found[-1] in (checkpoint(1, {"a": 1, "b": 1}), checkpoint(2, {"a": 2, "b": 2}))
        saver.delete_thread("t")
        assert saver.storage == saver.blobs == saver.writes == {}
        if not struck:
            break
    # It struck before the row was there, and after.
    assert len(found) > 10
    assert [found[0], found[-1]] == [
        checkpoint(1, {"a": 1, "b": 1}),
        checkpoint(2, {"a": 2, "b": 2}),
    ]


@pytest.mark.parametrize("others", [[], [("x", 0)]], ids=["first", "later"])
def test_ctrl_c_at_any_line_of_put_writes(others: Any) -> None:
    """CP-54: all of a task's writes are stored, or none; half of them would count as finished."""
    found = []
    for line in range(1, 100):
        saver = InMemorySaver()
        put(saver, 1)
        if others:
            saver.put_writes(at(1), others, "other")
        struck = interrupt(
            InMemorySaver.put_writes.__code__,
            line,
            lambda saver=saver: saver.put_writes(at(1), [("x", 1), ("y", 2), ("z", 3)], "task"),
        )
        tuple_ = saver.get_tuple(at())
        assert tuple_
        assert tuple_.pending_writes is not None
        found.append([write[1:] for write in tuple_.pending_writes if write[0] == "task"])
        assert found[-1] in ([], [("x", 1), ("y", 2), ("z", 3)])
        assert len(tuple_.pending_writes) == len(others) + len(found[-1])
        saver.delete_thread("t")
        assert saver.storage == saver.blobs == saver.writes == {}
        if not struck:
            break
    assert [found[0], found[-1]] == [[], [("x", 1), ("y", 2), ("z", 3)]]
