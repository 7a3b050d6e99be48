"""What every saver must do, whatever it keeps its threads in.

Each test runs once for each bundled saver, and once more through its async methods, if it has
some. A new saver joins by an entry in `SAVERS`. What only one does is tested beside it.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from typing import Any

import pytest

from minigraph.checkpoint.base.id import uuid6_text
from minigraph.checkpoint.base.records import Checkpoint, CheckpointTuple
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from minigraph.checkpoint.sqlite.database import connect
from minigraph.types import RunnableConfig, Send


@contextmanager
def async_sqlite() -> Iterator[AsyncSqliteSaver]:
    """Made outside of any event loop, so that the sync methods may be called here too."""
    saver = AsyncSqliteSaver(connect(":memory:"))
    yield saver
    asyncio.run(saver.aclose())


SAVERS: dict[str, Callable[[], AbstractContextManager[BaseCheckpointSaver[Any]]]] = {
    "memory": lambda: nullcontext(InMemorySaver()),
    "sqlite": lambda: SqliteSaver.from_conn_string(":memory:"),
    "async sqlite": async_sqlite,
}


class Sync:
    """Calls a saver's methods, with small checkpoints that are known by a number."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        self.saver = saver

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.saver, method)(*args, **kwargs)

    def listed(self, config: Any, **kwargs: Any) -> list[CheckpointTuple]:
        return list(self.saver.list(config, **kwargs))

    def put(
        self,
        n: int,
        values: dict[str, Any] | None = None,
        *,
        metadata: dict[str, Any] | None = None,
        parent: int | None = None,
        thread: Any = "t",
        ns: str = "",
        versions: dict[str, Any] | None = None,
        new: dict[str, Any] | None = None,
    ) -> Any:
        stored = checkpoint(n, values, versions)
        return self.call(
            "put",
            at(parent, thread=thread, ns=ns),
            stored,
            {"source": "loop", "step": n} if metadata is None else metadata,
            stored["channel_versions"] if new is None else new,
        )

    def writes(self, n: int, writes: Any, *task: str, thread: str = "t", ns: str = "") -> None:
        self.call("put_writes", at(n, thread=thread, ns=ns), writes, *task)

    def get(self, n: int | None = None, **where: Any) -> CheckpointTuple | None:
        return self.call("get_tuple", at(n, **where))  # type: ignore[no-any-return]

    def pending(self, n: int | None = None, **where: Any) -> Any:
        found = self.get(n, **where)
        assert found
        return found.pending_writes

    def steps(self, config: Any, **kwargs: Any) -> list[Any]:
        return [found.metadata.get("step") for found in self.listed(config, **kwargs)]


class Async(Sync):
    """The same through the async twins."""

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return asyncio.run(getattr(self.saver, f"a{method}")(*args, **kwargs))

    def listed(self, config: Any, **kwargs: Any) -> list[CheckpointTuple]:
        async def collect() -> list[CheckpointTuple]:
            return [found async for found in self.saver.alist(config, **kwargs)]

        return asyncio.run(collect())


WAYS = [
    pytest.param((saver, kind), id=f"{saver}-{kind.__name__.lower()}")
    for saver in SAVERS
    for kind in (Sync, Async)
    if (saver, kind) != ("sqlite", Async)
]


@pytest.fixture(params=WAYS)
def store(request: pytest.FixtureRequest) -> Iterator[Sync]:
    name, kind = request.param
    with SAVERS[name]() as saver:
        yield kind(saver)


def number(n: int) -> str:
    return f"1ef4f797-8335-6428-8{n:03d}-8a1503f9b875"


def checkpoint(n: int, values: Any = None, versions: Any = None) -> Checkpoint:
    values = values or {}
    return {
        "v": 4,
        "ts": "2024-07-31T20:14:19.804150+00:00",
        "id": number(n),
        "channel_values": values,
        "channel_versions": versions or dict.fromkeys(values, n),
        "versions_seen": {"__input__": {}, "node": {"a": 1}},
        "updated_channels": sorted(values),
    }


def at(n: int | None = None, *, thread: Any = "t", ns: str | None = "") -> RunnableConfig:
    """A config: `n` is the checkpoint, None the latest; `ns=None` leaves the namespace out."""
    configurable = {"thread_id": thread}
    if ns is not None:
        configurable["checkpoint_ns"] = ns
    if n is not None:
        configurable["checkpoint_id"] = number(n)
    return {"configurable": configurable}


# ------------------------------------------------------------------ put and get


def test_put_returns_the_address(store: Sync) -> None:
    """SV-03: exactly three keys; the id given in the config is the parent's."""
    assert store.put(2, {"a": 1}, parent=1) == at(2)
    found = store.get()
    assert found
    assert found.parent_config == at(1)


def test_put_returns_no_more_than_the_address(store: Sync) -> None:
    """SV-03: what else stands in the config is not the address's."""
    config: Any = {"configurable": {**at()["configurable"], "user": "u"}, "tags": ["x"]}
    assert store.call("put", config, checkpoint(1), {}, {}) == at(1)


@pytest.mark.parametrize("key", ["checkpoint_ns", "thread_id"])
def test_put_needs_thread_and_namespace(store: Sync, key: str) -> None:
    """SV-03."""
    config = at()
    del config["configurable"][key]
    with pytest.raises(KeyError, match=key):
        store.call("put", config, checkpoint(1), {}, {})


@pytest.mark.parametrize("key", ["checkpoint_id", "thread_id"])
def test_put_writes_needs_thread_and_checkpoint(store: Sync, key: str) -> None:
    """SV-01: writes without their checkpoint would hang in the air."""
    config = at(1)
    del config["configurable"][key]
    with pytest.raises(KeyError, match=key):
        store.call("put_writes", config, [("x", 1)], "task")


def test_get_tuple_needs_a_thread(store: Sync) -> None:
    """SV-03."""
    store.put(1)
    with pytest.raises(KeyError, match="thread_id"):
        store.call("get_tuple", {"configurable": {"checkpoint_ns": ""}})


def test_a_checkpoint_comes_back_whole(store: Sync) -> None:
    """SV-05: all its keys, and a full config."""
    store.put(1, {"a": 1, "b": [2]})
    store.put(2, {"a": 5, "b": [2]}, parent=1, versions={"a": 2, "b": 1}, new={"a": 2})
    assert store.get(ns=None) == CheckpointTuple(
        at(2), checkpoint(2, {"a": 5, "b": [2]}, {"a": 2, "b": 1}), {"source": "loop", "step": 2},
        at(1), [],
    )  # fmt: skip


def test_by_id_the_callers_config_is_echoed(store: Sync) -> None:
    """SV-05."""
    store.put(1, {"a": 1})
    store.put(2, {"a": 5}, parent=1)
    found = store.get(1, ns=None)
    assert found
    assert found.config == at(1, ns=None)
    assert found.parent_config is None
    assert found.checkpoint["channel_values"] == {"a": 1}


def test_get_gives_the_checkpoint_alone(store: Sync) -> None:
    """SV-01."""
    store.put(1, {"a": 1})
    assert store.call("get", at()) == checkpoint(1, {"a": 1})
    assert store.call("get", at(thread="u")) is None


def test_what_is_not_there_is_none(store: Sync) -> None:
    """SV-05: unknown thread, id and namespace."""
    assert store.get() is None
    store.put(1)
    assert store.get(thread="zz") is None
    assert store.get(9) is None
    assert store.get(ns="n:1") is None


@pytest.mark.parametrize("id", [None, ""])
def test_an_empty_id_means_the_latest(store: Sync, id: Any) -> None:
    """SV-05."""
    store.put(1)
    store.put(2)
    config = at()
    config["configurable"]["checkpoint_id"] = id
    found = store.call("get_tuple", config)
    assert found.checkpoint["id"] == number(2)
    assert found.config == at(2)


def test_namespaces_are_apart(store: Sync) -> None:
    """SV-03."""
    store.put(1, {"a": "root"})
    store.put(1, {"a": "child"}, ns="child:1")
    for ns, value in (("", "root"), ("child:1", "child")):
        found = store.get(ns=ns)
        assert found
        assert found.checkpoint["channel_values"] == {"a": value}
        assert found.config == at(1, ns=ns)


def test_the_same_id_replaces(store: Sync) -> None:
    """SV-04: checkpoint, metadata and parent."""
    store.put(1, {"a": 1})
    store.put(1, {"a": 2}, metadata={"step": 10}, parent=0)
    found = store.get()
    assert found
    assert found.metadata == {"step": 10}
    assert found.checkpoint["channel_values"] == {"a": 2}
    assert found.parent_config == at(0)
    assert store.steps(at()) == [10]


def test_the_latest_is_the_greatest_id(store: Sync) -> None:
    """SV-04: not the last stored; so a thread can be copied newest first."""
    for n in (5, 3, 7, 1, 6):
        store.put(n)
    found = store.get()
    assert found
    assert found.metadata["step"] == 7
    assert store.steps(at()) == [7, 6, 5, 3, 1]


def test_values_follow_their_versions(store: Sync) -> None:
    """SV-20: unchanged channels keep their value, removed ones are gone, new ones are there."""
    store.put(1, {"keep": [1], "change": 1, "drop": 1})
    store.put(
        2,
        {"keep": [1], "change": 2, "add": 2},
        parent=1,
        versions={"keep": 1, "change": 2, "drop": 2, "add": 2},
        new={"change": 2, "drop": 2, "add": 2},
    )
    values = [found.checkpoint["channel_values"] for found in store.listed(at())]
    assert values == [
        {"keep": [1], "change": 2, "add": 2},
        {"keep": [1], "change": 1, "drop": 1},
    ]


def test_none_is_a_value(store: Sync) -> None:
    """SV-20: not the same as no value."""
    store.put(1, {"a": None}, versions={"a": 1, "empty": 1})
    found = store.get()
    assert found
    assert found.checkpoint["channel_values"] == {"a": None}
    assert found.checkpoint["channel_versions"] == {"a": 1, "empty": 1}


def test_values_keep_their_type(store: Sync) -> None:
    """SD-12: through a whole saver."""
    values = {"t": (1, (2,)), "s": {1}, "send": Send("n", (1,)), "d": Decimal("1.50"), "n": 2**80}
    store.put(1, values)
    store.writes(1, list(values.items()), "task")
    found = store.get()
    assert found
    assert found.checkpoint["channel_values"] == values
    assert found.pending_writes == [("task", key, value) for key, value in values.items()]
    assert [type(v) for v in found.checkpoint["channel_values"].values()] == [
        tuple, set, Send, Decimal, int,
    ]  # fmt: skip


def test_nothing_is_shared_with_the_store(store: Sync) -> None:
    """SV-22: neither what was put nor what was read."""
    given = checkpoint(1, {"a": [1]})
    writes = [("x", [1])]
    metadata: Any = {"step": 1, "parents": {}}
    store.call("put", at(), given, metadata, {"a": 1})
    store.writes(1, writes, "task")
    given["channel_values"]["a"].append(2)
    given["versions_seen"]["node"]["a"] = 9
    writes[0][1].append(2)
    metadata["parents"]["x"] = 1
    for _ in range(2):
        found = store.get()
        assert found
        assert found.checkpoint == checkpoint(1, {"a": [1]})
        assert found.pending_writes == [("task", "x", [1])]
        assert found.metadata == {"step": 1, "parents": {}}
        found.checkpoint["channel_values"]["a"].append(3)
        found.pending_writes[0][2].append(3)
        found.metadata["parents"]["y"] = "1"


def test_put_leaves_its_arguments_alone(store: Sync) -> None:
    """SV-03."""
    given, config = checkpoint(1, {"a": 1}), at(0)
    metadata: Any = {"step": 1}
    store.call("put", config, given, metadata, {"a": 1})
    assert given == checkpoint(1, {"a": 1})
    assert config == at(0)
    assert metadata == {"step": 1}


def test_metadata(store: Sync) -> None:
    """SV-06, CP-13: unknown keys are kept, scalars of the config added, NUL removed."""
    config: Any = at()
    config["metadata"] = {"user": "ada", "list": [1]}
    config["configurable"]["tenant"] = 5
    metadata = {"source": "loop", "step": 1, "b": "x\0y", "parents": {"": "p"}, "é": "é"}
    store.call("put", config, checkpoint(1), metadata, {})
    found = store.get()
    assert found
    assert found.metadata == {**metadata, "b": "xy", "user": "ada", "tenant": 5}


def test_a_thread_id_may_be_a_number(store: Sync) -> None:
    """SV-34: it is the same thread as its text."""
    assert store.put(1, thread=5) == at(1, thread="5")
    store.writes(1, [("x", 1)], "task", thread="5")
    for thread in (5, "5"):
        assert store.pending(thread=thread) == [("task", "x", 1)]
        assert store.steps(at(thread=thread)) == [1]
    store.call("delete_thread", 5)
    assert store.get(thread="5") is None


# ------------------------------------------------------------------- put_writes


def test_order_of_pending_writes(store: Sync) -> None:
    """SV-09: task path, task id, index; not the order of arrival."""
    store.put(1)
    store.writes(1, [("x", 1), ("y", 2)], "t2", "~b")
    store.writes(1, [("x", 9)], "t1", "~c")
    store.writes(1, [("x", 3)], "t3", "~b")
    store.writes(1, [("n", "no path")], "t9")
    assert store.pending() == [
        ("t9", "n", "no path"),
        ("t2", "x", 1),
        ("t2", "y", 2),
        ("t3", "x", 3),
        ("t1", "x", 9),
    ]


def test_an_ordinary_write_is_stored_once(store: Sync) -> None:
    """SV-08: its first value stays; positions that are new are added."""
    store.put(1)
    store.writes(1, [("x", 1), ("y", 2)], "t")
    store.writes(1, [("x", "again"), ("y", "again"), ("z", 3)], "t")
    assert store.pending() == [("t", "x", 1), ("t", "y", 2), ("t", "z", 3)]


def test_one_channel_may_be_written_twice(store: Sync) -> None:
    """SV-08: the position counts, not the channel."""
    store.put(1)
    store.writes(1, [("x", 1), ("x", 1), ("x", 2)], "t")
    assert store.pending() == [("t", "x", 1), ("t", "x", 1), ("t", "x", 2)]


@pytest.mark.parametrize("channel", ["__error__", "__scheduled__", "__interrupt__", "__resume__"])
def test_a_special_write_replaces(store: Sync, channel: str) -> None:
    """CP-20, SV-08: there is one of each kind for a task."""
    store.put(1)
    store.writes(1, [(channel, 1)], "t")
    store.writes(1, [(channel, 2)], "t")
    store.writes(1, [(channel, 3)], "other")
    assert store.pending() == [("other", channel, 3), ("t", channel, 2)]


def test_special_writes_come_before_ordinary_ones(store: Sync) -> None:
    """CP-20, SV-09: their index is negative, and they take no position from the others."""
    store.put(1)
    special = [("__error__", "e"), ("__resume__", "r"), ("__scheduled__", "s")]
    store.writes(1, [*special, ("x", 1)], "t")
    assert store.pending() == [
        ("t", "__resume__", "r"),
        ("t", "__scheduled__", "s"),
        ("t", "__error__", "e"),
        ("t", "x", 1),
    ]


def test_writes_may_come_before_their_checkpoint(store: Sync) -> None:
    """SV-07."""
    store.writes(7, [("x", 1)], "t")
    assert store.get(7) is None
    assert store.listed(at()) == []
    store.put(7)
    assert store.pending(7) == [("t", "x", 1)]


def test_writes_outlast_their_checkpoint(store: Sync) -> None:
    """SV-04, SV-07: one that is stored again keeps them, as in the reference."""
    store.put(1, {"x": 1})
    store.writes(1, [("x", 5), ("y", None), ("__error__", "e")], "task")
    store.put(1, {"x": 2}, metadata={"step": 7})
    found = store.get(1)
    assert found
    assert (found.checkpoint["channel_values"], found.metadata) == ({"x": 2}, {"step": 7})
    assert found.pending_writes == [
        ("task", "__error__", "e"),
        ("task", "x", 5),
        ("task", "y", None),
    ]


def test_writes_belong_to_one_checkpoint(store: Sync) -> None:
    """CP-07: of one namespace; and they stay when the next checkpoint comes."""
    store.put(1)
    store.put(1, ns="child:1")
    store.writes(1, [("x", 1)], "t")
    store.put(2, parent=1)
    assert store.pending() == []
    assert store.pending(1) == [("t", "x", 1)]
    assert store.pending(1, ns="child:1") == []


def test_no_writes_are_fine(store: Sync) -> None:
    store.put(1)
    store.writes(1, [], "t")
    assert store.pending() == []


def test_a_stored_exception_is_its_text(store: Sync) -> None:
    """CP-22."""
    store.put(1)
    store.writes(1, [("__error__", ValueError("boom"))], "t")
    assert store.pending() == [("t", "__error__", "ValueError('boom')")]


def test_what_cannot_be_stored_is_named(store: Sync) -> None:
    """SD-13, SD-14: the error says which channel of which thread; nothing is stored."""
    for name, call in {
        "channel 'bad'": lambda: store.put(1, {"good": 1, "bad": [object()]}),
        "a write to 'bad'": lambda: store.writes(1, [("good", 1), ("bad", object())], "t"),
    }.items():
        with pytest.raises(TypeError, match=r"builtins\.object") as caught:
            call()
        assert caught.value.__notes__ == [f"This happened while storing {name} of thread 't'."]
    assert store.get() is None
    store.put(1)
    assert store.pending() == []


# ------------------------------------------------------------------------- list


@pytest.fixture
def filled(store: Sync) -> Sync:
    first = {"source": "input", "step": -1, "k": "v", "flag": True, "none": None}
    store.put(1, metadata={**first, "d": {"a": 1}, "f": 1.5})
    store.put(2, metadata={"source": "loop", "step": 0, "k": "w"}, parent=1)
    store.put(3, metadata={"source": "loop", "step": 1, "k": "v"}, parent=2)
    store.put(1, metadata={"source": "loop", "step": 10}, ns="sub:1")
    store.put(4, metadata={"source": "loop", "step": 20}, thread="u")
    return store


def test_list_of_a_thread(filled: Sync) -> None:
    """SV-10: newest first; without a namespace, all of them."""
    assert filled.steps(at()) == [1, 0, -1]
    assert filled.steps(at(ns="sub:1")) == [10]
    assert filled.steps(at(ns=None)) == [1, 0, -1, 10]
    assert filled.steps(at(thread="u")) == [20]
    assert filled.steps(at(thread="zz")) == []


def test_list_of_everything(filled: Sync) -> None:
    """SV-10."""
    assert sorted(filled.steps(None)) == [-1, 0, 1, 10, 20]
    assert len(filled.steps(None, limit=4)) == 4


def test_list_needs_a_thread(filled: Sync) -> None:
    """SV-10: `None` is how one asks for everything."""
    with pytest.raises(KeyError, match="thread_id"):
        filled.steps({"configurable": {}})


def test_list_of_one_checkpoint(filled: Sync) -> None:
    """SV-10: of each namespace that has it."""
    assert filled.steps(at(2)) == [0]
    assert filled.steps(at(1, ns=None)) == [-1, 10]
    assert filled.steps(at(9)) == []
    assert filled.steps(at(2), before=at(2)) == []
    assert filled.steps(at(2), before=at(3)) == [0]


def test_listed_tuples_are_whole(filled: Sync) -> None:
    """SV-10: full config, parent and pending writes."""
    filled.writes(2, [("x", 1)], "t")
    newest, middle, oldest = filled.listed(at())
    assert [newest.config, middle.config, oldest.config] == [at(3), at(2), at(1)]
    assert [newest.parent_config, middle.parent_config, oldest.parent_config] == [
        at(2),
        at(1),
        None,
    ]
    assert [t.pending_writes for t in (newest, middle, oldest)] == [[], [("t", "x", 1)], []]
    assert newest.checkpoint == checkpoint(3)


@pytest.mark.parametrize(
    ("filter", "steps"),
    [
        ({}, [1, 0, -1, 10]),
        ({"source": "loop"}, [1, 0, 10]),
        ({"source": "loop", "k": "v"}, [1]),
        ({"step": 0}, [0]),
        ({"step": "0"}, []),
        ({"unknown": 1}, []),
        ({"none": None}, [1, 0, -1, 10]),
        ({"k": None}, [10]),
        ({"flag": True}, [-1]),
        ({"d": {"a": 1}}, [-1]),
        ({"f": 1.5}, [-1]),
    ],
)
def test_filter(filled: Sync, filter: dict[str, Any], steps: list[int]) -> None:
    """SV-10, SV-11: all keys must be equal; None also matches what is absent."""
    assert filled.steps(at(ns=None), filter=filter) == steps


def test_before_is_strict(filled: Sync) -> None:
    """SV-10: by id; it need not be there."""
    assert filled.steps(at(), before=at(3)) == [0, -1]
    assert filled.steps(at(), before=at(1)) == []
    assert filled.steps(at(), before=at(9)) == [1, 0, -1]
    assert filled.steps(at(), before={"configurable": {"checkpoint_id": number(2)}}) == [-1]


@pytest.mark.parametrize(
    ("limit", "steps"), [(None, [1, 0, -1]), (0, []), (1, [1]), (2, [1, 0]), (9, [1, 0, -1])]
)
def test_limit(filled: Sync, limit: int | None, steps: list[int]) -> None:
    """SV-10."""
    assert filled.steps(at(), limit=limit) == steps


def test_limit_counts_what_is_left(filled: Sync) -> None:
    """SV-10: after `filter` and `before`, and across namespaces."""
    assert filled.steps(at(), before=at(3), limit=1) == [0]
    assert filled.steps(at(), filter={"source": "input"}, limit=1) == [-1]
    assert filled.steps(at(), filter={"k": "v"}, before=at(3), limit=1) == [-1]
    assert filled.steps(at(ns=None), limit=4) == [1, 0, -1, 10]
    assert filled.steps(at(ns=None), limit=2) == [1, 0]
    assert filled.steps(at(ns=None), limit=0) == []


# ---------------------------------------------------------------- delete_thread


def test_delete_thread(filled: Sync) -> None:
    """SV-12: all namespaces, writes too; other threads stay."""
    filled.writes(1, [("x", 1)], "t")
    filled.writes(8, [("x", 1)], "t")
    filled.writes(1, [("x", 1)], "t", ns="sub:1")
    filled.writes(4, [("x", 1)], "t", thread="u")
    filled.call("delete_thread", "t")
    assert filled.steps(None) == [20]
    assert filled.get() is None
    assert filled.get(ns="sub:1") is None
    assert filled.pending(thread="u") == [("t", "x", 1)]
    for ns in ("", "sub:1"):
        filled.put(1, ns=ns)
        filled.put(8, ns=ns)
        assert filled.pending(1, ns=ns) == filled.pending(8, ns=ns) == []


def test_deleted_values_do_not_come_back(store: Sync) -> None:
    """SV-12: neither under the same version."""
    store.put(1, {"a": "old"})
    store.call("delete_thread", "t")
    store.put(2, {}, versions={"a": 1}, new={})
    found = store.get()
    assert found
    assert found.checkpoint["channel_values"] == {}


def test_deleting_an_unknown_thread_is_fine(filled: Sync) -> None:
    """SV-12."""
    filled.call("delete_thread", "nobody")
    assert len(filled.steps(None)) == 5


# ---------------------------------------------------------- delete_for_runs, copy, prune


@pytest.fixture
def runs(store: Sync) -> Sync:
    """Two threads, made by the runs r1 and r2; each checkpoint has a write."""
    for n, run in enumerate(["r1", "r1", "r2"], 1):
        made = {"step": n, "run_id": run}
        store.put(n, {"a": n, "b": n}, metadata=made, parent=n - 1 or None)
        store.writes(n, [("a", n)], "task")
    store.put(1, {"a": "child"}, metadata={"step": 10, "run_id": "r2"}, ns="child:1")
    store.put(4, {"a": 4}, metadata={"step": 4, "run_id": "r1"}, thread="u")
    store.put(5, {"a": 5}, metadata={"step": 5}, parent=4, thread="u")
    return store


def everything(store: Sync) -> dict[Any, Any]:
    """Address → values, metadata and writes of all there is."""
    return {
        tuple(found.config["configurable"].values()): (
            found.checkpoint["channel_values"],
            found.metadata,
            found.pending_writes,
        )
        for found in store.listed(None)
    }


@pytest.mark.parametrize(
    ("run_ids", "left"),
    [
        (["r1"], [(3, ""), (1, "child:1"), (5, "")]),
        (["r2"], [(1, ""), (2, ""), (4, ""), (5, "")]),
        (["r1", "r2", "r3"], [(5, "")]),
        ([], [(1, ""), (2, ""), (3, ""), (1, "child:1"), (4, ""), (5, "")]),
        (["unknown"], [(1, ""), (2, ""), (3, ""), (1, "child:1"), (4, ""), (5, "")]),
    ],
)
def test_delete_for_runs(runs: Sync, run_ids: list[str], left: list[tuple[int, str]]) -> None:
    """SV-60: in all threads and namespaces, and nothing else."""
    before = everything(runs)
    runs.call("delete_for_runs", run_ids)
    assert {(key[2], key[1]) for key in everything(runs)} == {(number(n), ns) for n, ns in left}
    assert everything(runs).items() <= before.items()


def test_writes_of_a_deleted_run_do_not_come_back(runs: Sync) -> None:
    """SV-60."""
    runs.call("delete_for_runs", ["r1"])
    runs.put(1)
    assert runs.pending(1) == []
    assert runs.pending(3) == [("task", "a", 3)]


def test_a_run_id_must_be_equal(store: Sync) -> None:
    """SV-60: one that begins like it, or stands elsewhere in the metadata, is another."""
    store.put(1, metadata={"run_id": "r10"})
    store.put(2, metadata={"note": "r1", "parents": {"run_id": "r1"}})
    store.call("delete_for_runs", ["r1"])
    assert len(store.listed(None)) == 2


def test_copy_thread(runs: Sync) -> None:
    """SV-61: checkpoints of all namespaces, with metadata, values, parents and writes."""
    before = everything(runs)
    runs.call("copy_thread", "t", "copy")
    after = everything(runs)
    assert before.items() <= after.items()
    assert {("t", *key[1:]): value for key, value in after.items() if key[0] == "copy"} == {
        key: value for key, value in before.items() if key[0] == "t"
    }
    copied = runs.listed(at(thread="copy"))
    assert [found.parent_config for found in copied] == [
        at(2, thread="copy"),
        at(1, thread="copy"),
        None,
    ]


def test_a_copy_is_a_thread_of_its_own(runs: Sync) -> None:
    """SV-61: what happens to one does not happen to the other."""
    runs.call("copy_thread", "t", "copy")
    runs.put(6, {"a": 6}, parent=3, thread="copy")
    runs.writes(3, [("b", "new")], "other", thread="copy")
    runs.writes(3, [("b", "old")], "other")
    assert runs.steps(at()) == [3, 2, 1]
    assert runs.pending(3, thread="copy") == [("other", "b", "new"), ("task", "a", 3)]
    assert runs.pending(3) == [("other", "b", "old"), ("task", "a", 3)]
    runs.call("delete_thread", "t")
    found = runs.get(3, thread="copy")
    assert found
    assert found.checkpoint["channel_values"] == {"a": 3, "b": 3}
    runs.call("delete_thread", "copy")
    assert {key[0] for key in everything(runs)} == {"u"}


def test_a_copy_into_a_thread_that_is_there(runs: Sync) -> None:
    """SV-61: what was there stays, unless it has the same id."""
    runs.put(9, {"a": 9}, metadata={"step": 9}, thread="copy")
    runs.put(1, {"a": "other"}, metadata={"step": 100}, thread="copy")
    runs.call("copy_thread", "t", "copy")
    assert runs.steps(at(thread="copy")) == [9, 3, 2, 1]


def test_a_copy_replaces_writes_with_their_checkpoint(store: Sync) -> None:
    """SV-61: a copied checkpoint has the source's writes and no others, none if it has none; the
    writes of what stays in the target stay."""
    for thread in ("t", "copy"):
        store.put(1, {"a": thread}, thread=thread)
        store.put(2, {"a": thread}, thread=thread, parent=1)
        store.put(1, {"a": thread}, thread=thread, ns="sub:1")
    store.put(3, {"a": 3}, thread="copy", parent=2)
    store.writes(1, [("x", "source")], "task")
    store.writes(1, [("x", "old"), ("y", "old")], "task", thread="copy")
    store.writes(1, [("x", "old")], "other task", thread="copy")
    for n, ns in ((2, ""), (3, ""), (1, "sub:1"), (2, "sub:1")):
        store.writes(n, [("x", f"{n} {ns}")], "task", thread="copy", ns=ns)
    store.call("copy_thread", "t", "copy")
    assert store.pending(1, thread="copy") == [("task", "x", "source")]
    assert store.pending(2, thread="copy") == store.pending(1, thread="copy", ns="sub:1") == []
    assert store.pending(3, thread="copy") == [("task", "x", "3 ")]
    store.put(2, {}, thread="copy", ns="sub:1")
    assert store.pending(2, thread="copy", ns="sub:1") == [("task", "x", "2 sub:1")]
    assert store.pending(1) == [("task", "x", "source")]


def test_a_copy_has_writes_that_wait_for_their_checkpoint(store: Sync) -> None:
    """SV-61, SV-07: instead of those that waited in the target."""
    store.writes(1, [("x", "source")], "task")
    store.writes(1, [("x", "old"), ("y", "old")], "task", thread="copy")
    store.call("copy_thread", "t", "copy")
    store.put(1, thread="copy")
    assert store.pending(1, thread="copy") == [("task", "x", "source")]


@pytest.mark.parametrize(("source", "target"), [("unknown", "copy"), ("t", "t")])
def test_a_copy_of_nothing(runs: Sync, source: str, target: str) -> None:
    """SV-61: an unknown thread leaves the target empty, and a thread is its own copy."""
    before = everything(runs)
    runs.call("copy_thread", source, target)
    assert everything(runs) == before


def test_prune(runs: Sync) -> None:
    """SV-62: the newest of each namespace stays, with its writes; other threads as they are."""
    before = everything(runs)
    runs.call("prune", ["t"])
    kept = {("t", "", number(3)), ("t", "child:1", number(1))}
    kept |= {("u", "", number(4)), ("u", "", number(5))}
    assert everything(runs) == {key: before[key] for key in kept}
    runs.put(1)
    assert runs.pending(1) == []


def test_pruning_keeps_the_newest_by_id(store: Sync) -> None:
    """SV-62, SV-04: not what was stored last."""
    for n in (2, 3, 1):
        store.put(n, {"a": n})
    store.call("prune", ["t"], strategy="keep_latest")
    assert store.steps(at()) == [3]


def test_pruning_keeps_values_that_came_from_older_checkpoints(store: Sync) -> None:
    """SV-62, SV-20: a value that did not change was stored with the checkpoint that goes."""
    store.put(1, {"keep": "old", "drop": 1})
    store.put(2, {"keep": "old"}, parent=1, versions={"keep": 1, "drop": 2}, new={"drop": 2})
    store.call("prune", ["t"])
    found = store.get()
    assert found
    assert found.checkpoint["channel_values"] == {"keep": "old"}
    store.put(3, {"keep": "old"}, parent=2, versions={"keep": 1}, new={})
    found = store.get()
    assert found
    assert found.checkpoint["channel_values"] == {"keep": "old"}


@pytest.mark.parametrize(
    ("method", "args"),
    [("prune", [["t"]]), ("delete_for_runs", [["r1"]]), ("delete_thread", ["t"])],
)
def test_what_is_removed_under_a_run_is_not_lost_to_it(
    store: Sync, method: str, args: list[Any]
) -> None:
    """SV-20, SV-62: a run goes on from a checkpoint that it has read and that is not there any
    more; what it did not change is stored with what it did."""
    store.put(1, {"doc": "precious", "n": 1}, metadata={"run_id": "r1"})
    if method == "prune":
        store.put(9, {"doc": "newer", "n": 9}, parent=1, metadata={"run_id": "r9"})
    store.call(method, *args)
    versions = {"doc": 1, "n": 2, "none": 1}
    store.put(3, {"doc": "precious", "n": 2}, parent=1, versions=versions, new={"n": 2})
    store.put(4, {"doc": "precious", "n": 2}, parent=3, versions=versions, new={})
    for n in (3, 4):
        found = store.get(n)
        assert found
        assert found.checkpoint["channel_values"] == {"doc": "precious", "n": 2}


def test_prune_by_deleting(runs: Sync) -> None:
    """SV-62."""
    runs.call("prune", ["t", "unknown"], strategy="delete")
    assert {key[0] for key in everything(runs)} == {"u"}


@pytest.mark.parametrize("thread_ids", [[], ["unknown"]])
@pytest.mark.parametrize("strategy", ["keep_latest", "delete"])
def test_pruning_nothing(runs: Sync, thread_ids: list[str], strategy: str) -> None:
    """SV-62."""
    before = everything(runs)
    runs.call("prune", thread_ids, strategy=strategy)
    assert everything(runs) == before


def test_ids_are_given_in_a_list(runs: Sync) -> None:
    """SV-60, SV-62: a text is a sequence too, of threads "t", "h" and so on."""
    before = everything(runs)
    with pytest.raises(TypeError, match=r"Did you mean \['t'\]"):
        runs.call("prune", "t", strategy="delete")
    with pytest.raises(TypeError, match=r"Did you mean \['r1'\]"):
        runs.call("delete_for_runs", "r1")
    with pytest.raises(ValueError, match="'keep_latest' or 'delete', but it is 'all'"):
        runs.call("prune", ["t"], strategy="all")
    assert everything(runs) == before


COUNTED = {"counters_since_delta_snapshot": {"d": [1, 1]}}


@pytest.fixture
def chain(store: Sync) -> Sync:
    """A channel that is stored with 2, and whose value at 5 is made of the writes of 2 to 4."""
    for n in range(1, 6):
        stored = {"a": n, "d": ["seed"]} if n in (1, 2) else {"a": n}
        store.put(
            n, stored, versions={"a": n, "d": n}, parent=n - 1 or None,
            metadata={"step": n, "run_id": f"r{n}", **(COUNTED if n > 2 else {})},
        )  # fmt: skip
        store.writes(n, [("d", [n])], "task")
    return store


def test_pruning_keeps_what_values_are_made_of(chain: Sync) -> None:
    """SV-63: the chain of parents, back to the one that has the value."""
    before = everything(chain)
    chain.call("prune", ["t"])
    assert chain.steps(at()) == [5, 4, 3, 2]
    assert everything(chain).items() <= before.items()


def test_deleting_runs_keeps_what_values_are_made_of(chain: Sync) -> None:
    """SV-63: unless nothing is left that needs it."""
    chain.call("delete_for_runs", ["r1", "r3", "r4"])
    assert chain.steps(at()) == [5, 4, 3, 2]
    chain.call("delete_for_runs", ["r2", "r3", "r4", "r5"])
    assert chain.steps(at()) == []


def test_a_copy_has_the_whole_chain(chain: Sync) -> None:
    """SV-63."""
    chain.call("copy_thread", "t", "copy")
    assert chain.steps(at(thread="copy")) == [5, 4, 3, 2, 1]
    assert chain.pending(3, thread="copy") == [("task", "d", [3])]


# ------------------------------------------------------------------ at the same time


@pytest.fixture(params=SAVERS)
def saver(request: pytest.FixtureRequest) -> Iterator[BaseCheckpointSaver[Any]]:
    with SAVERS[request.param]() as opened:
        yield opened


def test_runs_may_share_a_saver(saver: BaseCheckpointSaver[Any]) -> None:
    """Threads put and delete while others list: each tuple that is read is whole, and in order."""
    wrong: list[object] = []
    writers_done = threading.Event()
    start = threading.Barrier(5)

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            start.wait()
            try:
                work()
            except Exception as error:
                wrong.append(error)

        return run

    def write() -> None:
        parent = None
        for step in range(150):
            config: Any = at()
            config["configurable"]["checkpoint_id"] = parent
            made = checkpoint(0, {"a": [step] * 3, "b": step})
            made["id"] = parent = uuid6_text(step)
            version = saver.get_next_version(None, None)
            made["channel_versions"] = {"a": version, "b": version}
            address = saver.put(config, made, {"step": step}, made["channel_versions"])
            saver.put_writes(address, [("a", step), ("b", step)], f"task {step}")

    def churn() -> None:
        for step in range(150):
            saver.put(at(thread="gone"), checkpoint(step, {"a": 1}), {"step": 0}, {"a": step})
            saver.put_writes(at(step, thread="gone"), [("a", 1)], "task")
            saver.delete_thread("gone")

    def read() -> None:
        while not writers_done.is_set():
            found = list(saver.list(None, limit=60))
            mine = [t for t in found if t.config["configurable"]["thread_id"] == "t"]
            ids = [t.checkpoint["id"] for t in mine]
            if ids != sorted(ids, reverse=True):
                wrong.append(ids)
            for t in mine:
                step = t.metadata["step"]
                if t.checkpoint["channel_values"] != {"a": [step] * 3, "b": step}:
                    wrong.append(t)
            saver.get_tuple(at())
            saver.get_tuple(at(thread="gone"))

    jobs = [write, write, churn, read, read]
    threads = [threading.Thread(target=guarded(job)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads[:3]:
        thread.join()
    writers_done.set()
    for thread in threads[3:]:
        thread.join()
    assert wrong == []
    stored = list(saver.list(None))
    assert len(stored) == 300
    assert all(len(t.pending_writes or ()) == 2 for t in stored)


@pytest.mark.parametrize("filter", [None, {"source": "loop"}])
def test_a_list_that_is_being_read_is_not_disturbed(
    saver: BaseCheckpointSaver[Any], filter: dict[str, Any] | None
) -> None:
    """SV-10: by what is put, or deleted, between two tuples."""
    sync = Sync(saver)
    for n in (1, 2, 3):
        sync.put(n)
    listing = saver.list(at(), filter=filter)
    assert next(listing).metadata["step"] == 3
    sync.put(4)
    sync.put(0)
    assert next(listing).metadata["step"] == 2
    saver.delete_thread("t")
    # A saver may have read on, but not further than was there.
    assert [found.metadata["step"] for found in listing] in ([], [1])
    assert list(saver.list(at(), filter=filter)) == []
