"""However a value is stored, it is the same value.

Two graphs live through the same history, which hypothesis draws. One has delta channels, with some
cadence of snapshots, in some saver; the other has plain reducers, and a saver of the same kind.
After each thing that happened, both must have given the same result, and at every checkpoint of
every branch, in every namespace, both must read the same: for the graphs that have made them, for
new ones, and for a graph that has the other kind of channels.

    history drawn     turn      fork      turn (exit)     prune      …
                       │         │         │               │
    delta channels     ○ ◀──○ ◀──○ ◀──□ ◀──○               ○ ◀──□ ◀──○       compared one by one,
    plain reducers     ○ ◀──○ ◀──○ ◀───────○                         ○       in pairs

A □ has no partner: the mode ``exit`` keeps the checkpoint of a run's input for the pieces to lie
beside, and what is pruned leaves the ancestors that are needed. It must go on reading as it did.

What the nodes do in a call is drawn too, as a script: write, overwrite, ask, fail, send, go
somewhere. The examples are the same in every run, so that a build does not fail by luck. To search
further::

    DELTA_EXAMPLES=5000 DELTA_RANDOM=1 pytest tests/test_delta_model.py -m slow
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from minigraph.channels import DeltaChannel
from minigraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from minigraph.checkpoint.sqlite.database import connect
from minigraph.constants import COPY, END, INPUT, START
from minigraph.graph import StateGraph
from minigraph.types import Command, Overwrite, Send, StateUpdate, interrupt

# ---------------------------------------------------------------- what a saver needs to have


class Basic(BaseCheckpointSaver[int]):
    """A saver of one's own: the five methods, their twins, and nothing else. It stores each
    checkpoint with all its values."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[tuple[str, str], dict[str, Any]] = {}
        self.writes: dict[tuple[str, str, str], dict[tuple[str, int], Any]] = {}
        self.lock = threading.Lock()

    def found(self, thread: str, namespace: str, id: str) -> CheckpointTuple:
        checkpoint, metadata, parent = map(self.serde.loads_typed, self.rows[thread, namespace][id])
        with self.lock:
            stored = [*self.writes.get((thread, namespace, id), {}).items()]
        stored.sort(key=lambda each: (each[1][3], *each[0]))
        place = {"thread_id": thread, "checkpoint_ns": namespace}
        return CheckpointTuple(
            {"configurable": {**place, "checkpoint_id": id}},
            checkpoint,
            metadata,
            {"configurable": {**place, "checkpoint_id": parent}} if parent else None,
            [(task, name, self.serde.loads_typed(value)) for _, (task, name, value, _) in stored],
        )

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        place = config["configurable"]
        thread, namespace = place["thread_id"], place.get("checkpoint_ns", "")
        with self.lock:
            ids = sorted(self.rows.get((thread, namespace), ()))
        id = place.get("checkpoint_id") or (ids[-1] if ids else "")
        return self.found(thread, namespace, id) if id in ids else None

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: int | None = None
    ) -> Iterator[CheckpointTuple]:
        place = config["configurable"]
        with self.lock:
            found = [
                (id, namespace)
                for (thread, namespace), rows in self.rows.items()
                for id in rows
                if thread == place["thread_id"]
                and namespace == place.get("checkpoint_ns", namespace)
                and id == (place.get("checkpoint_id") or id)
                and (before is None or id < before["configurable"]["checkpoint_id"])
            ]
        for id, namespace in sorted(found, reverse=True):
            saved = self.found(place["thread_id"], namespace, id)
            if all(saved.metadata.get(name) == value for name, value in (filter or {}).items()):
                if limit is not None and (limit := limit - 1) < 0:
                    return
                yield saved

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        place = config["configurable"]
        given = {**config.get("metadata", {}), **metadata}
        row = map(self.serde.dumps_typed, (checkpoint, given, place.get("checkpoint_id")))
        with self.lock:
            rows = self.rows.setdefault((place["thread_id"], place["checkpoint_ns"]), {})
            rows[checkpoint["id"]] = [*row]
        return {"configurable": {**place, "checkpoint_id": checkpoint["id"]}}

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        place = config["configurable"]
        special = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}
        key = place["thread_id"], place["checkpoint_ns"], place["checkpoint_id"]
        with self.lock:
            stored = self.writes.setdefault(key, {})
            for position, (name, value) in enumerate(writes):
                at = task_id, special.get(name, position)
                if name in special or at not in stored:
                    stored[at] = task_id, name, self.serde.dumps_typed(value), task_path

    def delete_thread(self, thread_id: str) -> None:
        for kept in (self.rows, self.writes):
            for key in [each for each in kept if each[0] == thread_id]:
                del kept[key]  # type: ignore[attr-defined]  # a key of this very dict

    async def aget_tuple(self, config: Any) -> Any:
        return self.get_tuple(config)

    async def alist(self, config: Any, **options: Any) -> Any:
        for each in self.list(config, **options):
            yield each

    async def aput(self, *args: Any) -> Any:
        return self.put(*args)

    async def aput_writes(self, *args: Any) -> None:
        self.put_writes(*args)

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)


SAVERS: dict[str, Callable[[Path], Any]] = {
    "memory": lambda folder: InMemorySaver(),
    "sqlite": lambda folder: SqliteSaver(connect(":memory:")),
    "sqlite file": lambda folder: SqliteSaver(connect(str(folder / "threads.db"))),
    "async sqlite": lambda folder: AsyncSqliteSaver(connect(":memory:")),
    "basic": lambda folder: Basic(),
}


def again(saver: Any) -> Any:
    """Another saver on the same store."""
    if isinstance(saver, (InMemorySaver, Basic)):
        return saver
    return type(saver)(saver.conn)


# ---------------------------------------------------------------- the graphs


class Act(NamedTuple):
    """What a node does in one call. `number` says where to, how often, or in which spelling."""

    kind: str
    number: int


KINDS = (
    *("say", "say", "twice", "rare", "quiet", "remove", "overwrite", "overwrite", "empty"),
    *("goto", "send", "ask", "ask", "fail", "upward"),
)
AROUND = ("a", "b", "c", "d", "inner", "outer")
"""Where a node of the graph around can go."""
INSIDE = ("p", "q", "r")
NODES = (*AROUND[:4], "w", *INSIDE)

DEFAULT = Act("say", 0)


class Script:
    """What the nodes do in the present call: by name, for each time that the node runs."""

    def __init__(self) -> None:
        self.call = 0
        self.acts: Mapping[str, Sequence[Act]] = {}
        self.runs: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.one_asks = False

    def begin(self, call: int, acts: Mapping[str, Sequence[Act]] | None) -> None:
        self.call, self.runs = call, Counter()
        self.acts = self.acts if acts is None else acts

    def next(self, name: str) -> tuple[str, Act]:
        """What the node says, and what it does. Of "inner p", it is "p" that the script tells."""
        with self.lock:
            run = self.runs[name]
            self.runs[name] += 1
        acts = self.acts.get(name.rpartition(" ")[2]) or [DEFAULT]
        act = acts[run % len(acts)]
        return f"{name}{self.call}.{run}", act if self.may(act, name) else DEFAULT

    def may(self, act: Act, name: str) -> bool:
        """Of two that fail in one super-step, it is a matter of time which error is raised; and of
        two that ask, who gets an answer that is for nobody in particular. So there is one.
        Nor does a graph in a node fail because it goes in circles, or overwrites a value twice."""
        if act.kind == "fail" or (act.kind == "ask" and self.one_asks):
            who = self.first(act.kind)
            return name in (who, f"inner {who}")
        if " " in name and act.kind in ("overwrite", "empty"):
            return name.endswith(self.first("overwrite", "empty", among=INSIDE) or "")
        return " " not in name or act.kind != "goto" or self.runs[name] == 1

    def first(self, *kinds: str, among: Sequence[str] = NODES) -> str | None:
        """The first node of those that do this in the present call."""
        doing = (name for name in among for act in self.acts.get(name, ()) if act.kind in kinds)
        return next(doing, None)


def overwrite(value: Any, number: int) -> Any:
    spelled: tuple[Any, ...] = (Overwrite(value), {"__overwrite__": value})
    return spelled[number % len(spelled)]


def perform(token: str, act: Act, ways: Sequence[str]) -> Any:
    """The update that a node returns."""
    log, rare = ("notes", "few") if ways == INSIDE else ("log", "rare")
    said: dict[str, Any] = {log: [token], "marks": {token: act.number}}
    kind, number = act
    way = ways[number % len(ways)]
    if kind == "twice":
        return [Command(update={log: [f"{token}{each}"]}) for each in "xy"]
    if kind == "rare":
        return {rare: [token]}
    if kind == "quiet":
        return {}
    if kind == "remove":
        return {"marks": dict.fromkeys(f"{name}{call}.0" for name in NODES for call in range(5))}
    if kind == "overwrite":
        both = {log: overwrite([token], number), "marks": overwrite({token: 0}, number)}
        return both if number % 3 else {**said, log: both[log]}
    if kind == "empty":
        return {log: Overwrite(None)}
    if kind == "goto":
        return Command(update=said, goto=way)
    if kind == "send":
        sent = [Send("w", each) for each in range(number)] if "w" not in ways else []
        return Command(update=said, goto=[*sent, way][: number + 1])
    if kind == "ask":
        answers = [interrupt(f"{token} {each}") for each in range(1 + number % 2)]
        return {log: [token, *map(str, answers)]}
    if kind == "fail":
        time.sleep(0.02)  # so that its siblings have finished
        raise ValueError(token)
    if kind == "upward" and ways == INSIDE:
        goto = AROUND[number % 4]
        return Command(graph=Command.PARENT, update={"log": [token]}, goto=goto)
    return said


def node(script: Script, name: str, ways: Sequence[str]) -> Callable[[Any], Any]:
    def run(state: Any) -> Any:
        return perform(*script.next(name), ways)

    return run


def sent_to(script: Script) -> Callable[[Any], Any]:
    def run(number: int) -> Any:
        acts = script.acts.get("w") or [DEFAULT]
        token = f"w{script.call}.{number}"
        act = acts[number % len(acts)]
        return perform(token, act if script.may(act, "several w") else DEFAULT, AROUND)

    return run


def extend(value: list[Any], writes: Sequence[list[Any]]) -> list[Any]:
    return [*value, *(item for write in writes for item in write)]


def mark(value: dict[str, Any], writes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Entries of None are removed."""
    for write in writes:
        value = {name: each for name, each in {**value, **write}.items() if each is not None}
    return value


def extend_once(value: list[Any] | None, write: list[Any]) -> list[Any]:
    return extend(value or [], [write])  # Overwrite(None) makes it None, see CH-12


def mark_once(value: dict[str, Any] | None, write: dict[str, Any]) -> dict[str, Any]:
    return mark(value or {}, [write])


class Kind(NamedTuple):
    """Which channels a graph has: plain ones, or those that are stored in pieces."""

    cadence: int | None
    other: int | None = None

    def schema(self, *lists: str) -> Any:
        fields: dict[str, Any] = {}
        for name in lists:
            how = (
                extend_once
                if self.cadence is None
                else DeltaChannel(extend, snapshot_frequency=self.cadence)
            )
            fields[name] = Annotated[list[Any], how]
        marks = (
            mark_once if self.other is None else DeltaChannel(mark, snapshot_frequency=self.other)
        )
        fields["marks"] = Annotated[dict[str, Any], marks]
        if "log" in lists:
            fields["start"] = list[str]
        return TypedDict("State", fields)  # type: ignore[operator]  # its fields are made here

    def build(self, script: Script, saver: Any) -> Any:
        """START leads to whatever the input names; a ─▶ c; b and c together ─▶ d."""
        builder = StateGraph(self.schema("log", "rare"))
        for name in AROUND[:4]:
            builder.add_node(name, node(script, name, AROUND))
        builder.add_node("w", sent_to(script))
        builder.add_node("inner", self.inside(script, "inner").compile(checkpointer=True))
        builder.add_node("outer", self.inside(script, "outer").compile())
        builder.add_conditional_edges(START, lambda state: state.get("start") or END)
        builder.add_edge("a", "c").add_edge(["b", "c"], "d")
        return builder.compile(checkpointer=saver)

    def inside(self, script: Script, graph: str) -> StateGraph[Any]:
        """p and q together, then r."""
        builder = StateGraph(self.schema("notes", "few"))
        for name in INSIDE:
            builder.add_node(name, node(script, f"{graph} {name}", INSIDE))
        return builder.add_edge(START, "p").add_edge(START, "q").add_edge(["p", "q"], "r")


PLAIN = Kind(None, None)

# ---------------------------------------------------------------- what is compared

IDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")


def without_ids(text: Any) -> str:
    return IDS.sub("ID", str(text))


def read(values: Any) -> Any:
    """A state or a result. None is what a plain reducer makes of Overwrite(None)."""
    if not isinstance(values, dict):
        return values
    empty: dict[str, Any] = {"log": [], "notes": [], "rare": [], "few": [], "marks": {}}
    found = {name: empty.get(name) if each is None else each for name, each in values.items()}
    if "__interrupt__" in found:
        found["__interrupt__"] = sorted(each.value for each in found["__interrupt__"])
    return found


def shown(snapshot: Any) -> dict[str, Any]:
    """What somebody sees of a checkpoint, without ids."""
    metadata = snapshot.metadata or {}
    return {
        "values": read(snapshot.values),
        "next": snapshot.next,
        "made": [metadata.get(name) for name in ("source", "step", "run_id")],
        "parents": sorted(map(without_ids, metadata.get("parents", {}))),
        "tasks": [
            (
                task.name,
                without_ids(task.path),
                task.error and without_ids(task.error),
                [each.value for each in task.interrupts],
                read(task.result),
                shown(task.state)
                if hasattr(task.state, "values") and hasattr(task.state, "next")
                else task.state is None,
            )
            for task in snapshot.tasks
        ],
    }


DELTAS = frozenset({"log", "rare", "notes", "few", "marks"})


def without_deltas(seen: dict[str, Any]) -> dict[str, Any]:
    """The same, without the results of tasks in channels that may be delta channels."""
    tasks = []
    for task in seen["tasks"]:
        result = {name: each for name, each in (task[4] or {}).items() if name not in DELTAS}
        tasks.append((*task[:4], result, *task[5:]))
    return {**seen, "tasks": tasks}


# ---------------------------------------------------------------- one of the two


class Side:
    """A graph, its saver and its threads."""

    def __init__(self, saver: Any, kind: Kind) -> None:
        self.saver = saver
        self.kind = kind
        self.script = Script()
        self.graph = kind.build(self.script, saver)
        self.thread = "thread 0"

    def become(self, kind: Kind) -> None:
        """A new process, perhaps with another version of the program."""
        self.saver = again(self.saver)
        self.kind = kind
        self.graph = kind.build(self.script, self.saver)

    def config(self, id: str | None = None, namespace: str = "", **metadata: Any) -> Any:
        place = {"thread_id": self.thread, "checkpoint_ns": namespace}
        if id is not None:
            place["checkpoint_id"] = id
        config: dict[str, Any] = {"configurable": place, "recursion_limit": 8}
        return {**config, "metadata": metadata} if metadata else config

    def stored(self) -> dict[str, list[CheckpointTuple]]:
        """The checkpoints of the thread, by namespace, oldest first."""
        found: dict[str, list[CheckpointTuple]] = {}
        for saved in self.saver.list({"configurable": {"thread_id": self.thread}}):
            found.setdefault(saved.config["configurable"]["checkpoint_ns"], []).append(saved)
        for each in found.values():
            each.sort(key=lambda saved: saved.checkpoint["id"])
        return dict(sorted(found.items(), key=lambda each: each[1][0].checkpoint["id"]))

    def history(self, graph: Any, namespace: str) -> dict[str, dict[str, Any]]:
        """What is seen of each checkpoint, by id."""
        config = self.config(namespace=namespace)

        async def collect() -> list[Any]:
            return [each async for each in graph.aget_state_history(config)]

        is_async = isinstance(self.saver, AsyncSqliteSaver)
        found = asyncio.run(collect()) if is_async else graph.get_state_history(config)
        return {each.config["configurable"]["checkpoint_id"]: shown(each) for each in found}

    def one_by_one(self, graph: Any, rows: Sequence[CheckpointTuple]) -> dict[str, Any]:
        """The same, if one asks for each of them; None for what cannot be read any more."""
        found: dict[str, Any] = {}
        for row in rows:
            place = row.config["configurable"]
            id = place["checkpoint_id"]
            try:
                config = self.config(id, place["checkpoint_ns"])
                found[id] = shown(graph.get_state(config))
            except UnreadableError:
                found[id] = None
        return found

    def attempt(self, call: Callable[[Side], Any]) -> Any:
        """What comes of it, in a form that can be compared."""
        try:
            return read(call(self))
        except Exception as error:
            return type(error).__name__, without_ids(error)


def called(side: Side, is_async: bool, method: str, *args: Any, **options: Any) -> Any:
    # An async run gives up the siblings of a node that fails, and some may have finished.
    if not is_async or side.script.first("fail"):
        return getattr(side.graph, method)(*args, **options)
    return asyncio.run(getattr(side.graph, f"a{method}")(*args, **options))


class Pairs:
    """What belongs together in the two threads of one name."""

    def __init__(self) -> None:
        self.namespaces: dict[str, str] = {}
        """The plain thread's namespace → the other's."""
        self.ids: dict[str, dict[str, str]] = {}
        """By the plain thread's namespace: its checkpoint → the other's. In order."""
        self.edited: set[str] = set()
        """The plain thread's checkpoints that somebody has updated. There what the update wrote
        counts as the result of a task; but not what it wrote to a delta channel, for the task may
        be at work at this moment, and its own writes must be the ones that are stored."""
        self.alone: dict[str, dict[str, Any]] = {}
        """By the other's namespace: what was seen of checkpoints that have no partner."""
        self.seen: dict[str, dict[str, Any]] = {}
        """The same of those that have one, for the case that it is removed."""

    def add_namespaces(self, plain: Sequence[str], delta: Sequence[str]) -> None:
        for name in plain:
            if name not in self.namespaces:
                taken = self.namespaces.values()
                like = (each for each in delta if without_ids(each) == without_ids(name))
                self.namespaces[name] = next(each for each in like if each not in taken)
                other = self.namespaces[name]
                self.ids[name], self.alone[other], self.seen[other] = {}, {}, {}
        more = {*delta} - {*self.namespaces.values()}
        assert not more, f"only in the thread with deltas: {more}"

    def add(self, namespace: str, plain: list[Any], delta: list[Any]) -> list[str]:
        """Find partners for new checkpoints, the newest first; gives those that have none."""
        other, ids = self.namespaces[namespace], self.ids[namespace]
        new = [each for each in plain if each.checkpoint["id"] not in ids]
        known = {*ids.values(), *self.alone[other]}
        more = [each for each in delta if each.checkpoint["id"] not in known]
        found, alone = [], []
        while more:
            last = more.pop()
            if new and made(new[-1]) == made(last):
                found.append((new.pop().checkpoint["id"], last.checkpoint["id"]))
            else:
                alone.append(last.checkpoint["id"])
        assert not new, f"only in the plain thread: {[*map(made, new)]} at {namespace!r}"
        ids.update(reversed(found))
        return alone


def made(saved: CheckpointTuple) -> Any:
    return saved.metadata["source"], saved.metadata["step"]


def parent_of(saved: CheckpointTuple) -> str | None:
    return saved.parent_config and saved.parent_config["configurable"]["checkpoint_id"]


# ---------------------------------------------------------------- the machine

acts = st.builds(Act, st.sampled_from(KINDS), st.integers(0, 5))
scripts = st.dictionaries(
    st.sampled_from(NODES), st.lists(acts, min_size=1, max_size=2), max_size=4
)
starts = st.lists(st.sampled_from((*AROUND, "a", "b")), max_size=3, unique=True)
durabilities = st.sampled_from(["sync", "async", "exit", "exit"])
places = st.one_of(st.none(), st.integers(0, 10**6))
"""Which checkpoint: the latest, or one of all."""
updates = st.sampled_from(["say", "say", "overwrite", "empty", "rare", "nothing", "sub"])
cadences = st.sampled_from([100, 1, 2, 3, 5, 100])
kinds = st.one_of(st.builds(Kind, cadences, cadences), st.just(PLAIN))
writers = st.sampled_from([*AROUND, "w", None, START])


class DeltaMachine(RuleBasedStateMachine):
    """One history of two threads."""

    everything_each_time = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.call = 0
        self.threads: dict[str, Pairs] = {"thread 0": Pairs()}
        self.thinned: set[str] = set()

    @initialize(saver=st.sampled_from([*SAVERS]), kind=kinds)
    def begin(self, saver: str, kind: Kind) -> None:
        self.saver_name = saver
        folders = [Path(self.folder.name) / name for name in ("plain", "delta")]
        for each in folders:
            each.mkdir()
        self.plain = Side(SAVERS[saver](folders[0]), PLAIN)
        self.delta = Side(SAVERS[saver](folders[1]), kind)

    # ------------------------------------------------------------ what can happen

    @rule(
        script=scripts,
        start=starts,
        said=st.sampled_from(["log", "log", "overwrite", "nothing"]),
        at=st.one_of(st.none(), places),
        durability=durabilities,
        is_async=st.booleans(),
        run=st.one_of(st.none(), st.sampled_from(["run 1", "run 2"])),
        stops=st.dictionaries(
            st.sampled_from(["interrupt_before", "interrupt_after"]),
            st.lists(st.sampled_from([*AROUND, "w"]), min_size=1, max_size=2),
        ),
    )
    def turn(
        self,
        script: Any,
        start: Any,
        said: str,
        at: Any,
        durability: Any,
        is_async: bool,
        run: Any,
        stops: Any,
    ) -> None:
        """A new input, whatever waits; at the end of the thread, or at an old checkpoint."""
        call = self.begin_call(script)
        input: dict[str, Any] = {"start": start}
        if said == "log":
            input |= {"log": [f"i{call}"], "marks": {f"i{call}": 0}}
        elif said == "overwrite":
            input["log"] = Overwrite([f"i{call}"])
        self.run(input, at, durability, is_async, run, stops)

    @rule(
        several=st.lists(acts, min_size=3, max_size=3),
        durability=durabilities,
        is_async=st.booleans(),
    )
    def together(self, several: Any, durability: Any, is_async: bool) -> None:
        """Three nodes write in one super-step."""
        call = self.begin_call({name: [act] for name, act in zip("abd", several, strict=True)})
        input = {"start": ["a", "b", "d"], "log": [f"i{call}"]}
        self.run(input, None, durability, is_async)

    @rule(
        script=st.one_of(st.none(), scripts),
        at=places,
        durability=durabilities,
        is_async=st.booleans(),
    )
    def go_on(self, script: Any, at: Any, durability: Any, is_async: bool) -> None:
        """Resume what waits or has failed; or replay."""
        self.begin_call(script)
        self.run(None, at, durability, is_async)

    @rule(
        script=st.one_of(st.none(), st.none(), scripts),
        by_id=st.booleans(),
        update=st.one_of(st.none(), updates),
        at=st.one_of(st.none(), st.none(), places),
        durability=durabilities,
        is_async=st.booleans(),
        asked=st.sampled_from([True, True, True, False]),
    )
    def answer(
        self,
        script: Any,
        by_id: bool,
        update: Any,
        at: Any,
        durability: Any,
        is_async: bool,
        asked: bool,
    ) -> None:
        """Answer the question, or all that wait; seldom, where nobody has asked."""
        if at is not None or not self.plain.graph.get_state(self.plain.config()).interrupts:
            if asked:
                return
            self.plain.script.one_asks = self.delta.script.one_asks = True
        call = self.begin_call(script)
        values = None if update is None else self.values_of(update, call)

        def command(side: Side) -> Any:
            waiting = side.graph.get_state(side.config()).interrupts
            answer: Any = f"answer {call}"
            if by_id and waiting:
                answer = {each.id: f"{answer}.{n}" for n, each in enumerate(waiting)}
            return Command(resume=answer, update=values)

        self.run(command, at, durability, is_async)

    @rule(
        script=st.one_of(st.none(), scripts),
        update=updates,
        goto=st.lists(st.sampled_from(AROUND), max_size=2, unique=True),
        sends=st.integers(0, 2),
        at=st.one_of(st.none(), places),
        durability=durabilities,
        is_async=st.booleans(),
    )
    def command(
        self,
        script: Any,
        update: str,
        goto: Any,
        sends: int,
        at: Any,
        durability: Any,
        is_async: bool,
    ) -> None:
        """A Command from outside."""
        call = self.begin_call(script)
        ways = [*goto, *(Send("w", each) for each in range(sends))]
        self.run(Command(update=self.values_of(update, call), goto=ways), at, durability, is_async)

    @rule(
        update=updates,
        as_node=st.one_of(writers, writers, st.sampled_from([INPUT, END, COPY])),
        at=places,
        is_async=st.booleans(),
    )
    def update(self, update: str, as_node: Any, at: Any, is_async: bool) -> None:
        """An update from outside: an edit, a fork, an input, an end, or a copy."""
        call = self.begin_call({})
        values = self.values_of(update, call)
        if as_node == END:
            values = None
        elif as_node == COPY:
            values = [(values, "a")] if update == "say" else None
        self.both(
            lambda s, id: called(
                s, is_async, "update_state", s.config(id), values, as_node=as_node
            ),
            at,
            unedited=as_node == END,
        )

    @rule(
        steps=st.lists(
            st.lists(st.tuples(updates, writers), min_size=1, max_size=2), min_size=1, max_size=3
        ),
        at=places,
        is_async=st.booleans(),
    )
    def bulk_update(self, steps: Any, at: Any, is_async: bool) -> None:
        """Several updates, in several super-steps."""
        call = self.begin_call({})
        made = [
            [
                StateUpdate(self.values_of(update, f"{call}.{i}{j}"), as_node)
                for j, (update, as_node) in enumerate(step)
            ]
            for i, step in enumerate(steps)
        ]
        self.both(lambda s, id: called(s, is_async, "bulk_update_state", s.config(id), made), at)

    @rule(
        update=updates,
        as_node=st.sampled_from([*INSIDE, None, INPUT, END, COPY]),
        at=places,
        is_async=st.booleans(),
    )
    def update_inside(self, update: str, as_node: Any, at: Any, is_async: bool) -> None:
        """An update of a graph in a node: of where it stands now, or of an old checkpoint."""
        call = self.begin_call({})
        values = None if as_node in (END, COPY) else self.values_of(update, call, "notes")
        pairs = self.pairs
        inner = [name for name in pairs.namespaces if name]
        if not inner:
            return
        name = inner[(at or 0) % len(inner)]
        old = [*self.alive(name, unedited=as_node == END)]
        chosen = old[at % len(old)] if at is not None and at % 2 and old else None

        def edit(side: Side) -> Any:
            is_plain = side is self.plain
            namespace = name if is_plain else pairs.namespaces[name]
            id = chosen and (chosen if is_plain else pairs.ids[name][chosen])
            config = side.config(id, namespace)
            called(side, is_async, "update_state", config, values, as_node=as_node)

        self.compare(edit)

    @rule(kind=kinds)
    def another_version(self, kind: Kind) -> None:
        """A new process goes on with the thread, and its graph has other channels."""
        self.delta.become(kind)
        self.plain.become(PLAIN)

    @precondition(lambda self: self.saver_name != "basic")
    @rule()
    def prune(self) -> None:
        self.thin(lambda side: side.saver.prune([side.thread]))

    @precondition(lambda self: self.saver_name != "basic")
    @rule(run=st.sampled_from(["run 1", "run 2"]))
    def delete_run(self, run: str) -> None:
        self.thin(lambda side: side.saver.delete_for_runs([run]))

    @precondition(lambda self: self.saver_name != "basic" and len(self.threads) < 3)
    @rule()
    def copy(self) -> None:
        """Go on with a copy of the thread."""
        new, old = f"thread {len(self.threads)}", self.plain.thread
        for side in (self.plain, self.delta):
            side.saver.copy_thread(old, new)
            side.thread = new
        self.threads[new] = deepcopy(self.threads[old])
        self.thinned |= {new} if old in self.thinned else set()

    @rule(number=st.integers(0, 2))
    def another_thread(self, number: int) -> None:
        """Go on with another thread of the two graphs."""
        names = [*self.threads]
        self.plain.thread = self.delta.thread = names[number % len(names)]

    # ------------------------------------------------------------ how it is done

    @property
    def pairs(self) -> Pairs:
        return self.threads[self.plain.thread]

    def begin_call(self, script: Any) -> int:
        self.call += 1
        for side in (self.plain, self.delta):
            side.script.begin(self.call, script)
        return self.call

    def values_of(self, update: str, call: Any, log: str = "log") -> Any:
        """What an update from outside writes."""
        token = f"u{call}"
        return {
            "say": {log: [token], "marks": {token: 1}},
            "overwrite": {log: Overwrite([token]), "marks": {token: 1}},
            "empty": {log: Overwrite(None)},
            "rare": {"rare" if log == "log" else "few": [token]},
            "nothing": {"start": ["b"]},
            "sub": {"start": ["inner", "a"], log: [token]},
        }[update]

    def alive(self, namespace: str = "", unedited: bool = False) -> dict[str, str]:
        """The pairs of checkpoints of which none has been removed; without those that somebody has
        updated, if what seems to be the result of a task is to be applied: see `Pairs.edited`."""
        found = [
            {each.checkpoint["id"] for each in side.stored().get(place, ())}
            for side, place in (
                (self.plain, namespace),
                (self.delta, self.pairs.namespaces.get(namespace, "")),
            )
        ]
        pairs = self.pairs.ids.get(namespace, {})
        without = self.pairs.edited if unedited else ()
        return {
            a: b for a, b in pairs.items() if a in found[0] and b in found[1] and a not in without
        }

    def run(
        self,
        input: Any,
        at: Any,
        durability: Any,
        is_async: bool,
        run: Any = None,
        stops: Any = None,
    ) -> None:
        def call(side: Side, id: str | None) -> Any:
            config = side.config(id, **({"run_id": run} if run else {}))
            given = input(side) if callable(input) else deepcopy(input)
            options = {"durability": durability, **(stops or {})}
            return called(side, is_async, "invoke", given, config, **options)

        self.both(call, at)

    def both(
        self, call: Callable[[Side, str | None], Any], at: int | None, unedited: bool = False
    ) -> None:
        """Do the same on both sides, at the latest checkpoint, or at an old one."""
        thinned = self.plain.thread in self.thinned
        old = {} if at is None or thinned else self.alive(unedited=unedited)
        chosen = None if at is None or not old else [*old][at % len(old)]

        def one(side: Side) -> Any:
            is_plain = side is self.plain
            found = call(side, chosen if chosen is None or is_plain else old[chosen])
            return None if isinstance(found, dict) and "configurable" in found else found

        self.compare(one)

    def compare(self, call: Callable[[Side], Any]) -> None:
        plain, delta = self.plain.attempt(call), self.delta.attempt(call)
        note(f"    → {plain}")
        assert delta == plain, f"plain: {plain}\ndelta: {delta}"

    def thin(self, call: Callable[[Side], Any]) -> None:
        """Remove checkpoints. Afterwards no old one is run from: a graph with a memory goes back
        to what it was before that, and on one side there may be more to go back to."""
        for side in (self.plain, self.delta):
            call(side)
        self.thinned.update(self.threads)

    # ------------------------------------------------------------ what must hold

    @invariant()
    def both_read_the_same(self) -> None:
        if hasattr(self, "delta"):
            self.check(self.everything_each_time)

    def check(self, everything: bool) -> None:
        pairs, plain, delta = self.pairs, self.plain, self.delta
        stored, others = plain.stored(), delta.stored()
        pairs.add_namespaces([*stored], [*others])
        new = (delta.kind if delta.kind != PLAIN else Kind(2, 3)).build(
            Script(), again(delta.saver)
        )
        fresh = PLAIN.build(Script(), again(delta.saver))
        is_thinned = plain.thread in self.thinned
        for namespace, other in pairs.namespaces.items():
            if namespace not in stored:
                continue
            rows, other_rows = stored[namespace], others.get(other, [])
            alone = pairs.add(namespace, rows, other_rows)
            pairs.edited |= {parent_of(row) or "" for row in rows if made(row)[0] == "update"}
            expected = plain.history(plain.graph, namespace)
            graphs = {"its graph": delta.graph, "a new graph": new, "a plain graph": fresh}
            ways = {}
            for how, graph in graphs.items():
                if is_thinned or (everything and graph is not delta.graph):
                    ways[f"{how}, one by one"] = delta.one_by_one(graph, other_rows)
                if not is_thinned:
                    ways[how] = delta.history(graph, other)
            parents = {each.checkpoint["id"]: parent_of(each) for each in other_rows}
            for row in rows:
                id = pairs.ids[namespace][row.checkpoint["id"]]
                wanted = expected[row.checkpoint["id"]]
                for how, seen in ways.items():
                    assert id in seen, f"lost: {made(row)} at {namespace!r}"
                    mine = seen[id]
                    if row.checkpoint["id"] in pairs.edited:
                        wanted, mine = without_deltas(wanted), without_deltas(mine)
                    assert mine == wanted, (
                        f"at {namespace!r}, {made(row)}, by {how}:\nplain: {wanted}\ndelta: {mine}"
                    )
                if (parent := parents[id]) in pairs.alone[other] or parent in alone:
                    parent = parents.get(parent)
                pairs.seen[other][id] = mine
                before = parent_of(row)
                if before in expected:
                    assert parent == pairs.ids[namespace][before], "it has another parent"
            for id in alone:
                pairs.alone[other][id] = next(iter(ways.values()))[id]
            partners = {pairs.ids[namespace][row.checkpoint["id"]] for row in rows}
            for id in parents.keys() - partners:
                before = pairs.alone[other].get(id) or pairs.seen[other].get(id)
                for how, seen in ways.items():
                    if before is None or seen[id] is None:
                        assert is_thinned, f"cannot be read, by {how}"
                    else:
                        assert without_deltas(seen[id]) == without_deltas(before), f"by {how}"
        self.check_latest(plain.graph, delta.graph, new, fresh)

    def check_latest(self, plain: Any, *graphs: Any) -> None:
        expected = self.plain.attempt(
            lambda side: shown(plain.get_state(side.config(), subgraphs=True))
        )
        for graph in graphs:
            seen = self.delta.attempt(
                lambda side: shown(graph.get_state(side.config(), subgraphs=True))
            )
            assert seen == expected, f"plain: {expected}\ndelta: {seen}"

    def teardown(self) -> None:
        try:
            if hasattr(self, "delta"):
                for name in self.threads:
                    self.plain.thread = self.delta.thread = name
                    self.check(everything=True)
        finally:
            for side in [
                side
                for side in (getattr(self, "plain", None), getattr(self, "delta", None))
                if side
            ]:
                if isinstance(side.saver, AsyncSqliteSaver):
                    asyncio.run(side.saver.aclose())
                elif isinstance(side.saver, SqliteSaver):
                    side.saver.conn.close()
            self.folder.cleanup()


def search(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        DeltaMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize="DELTA_RANDOM" not in os.environ,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        ),
    )


def test_a_history_reads_the_same_in_pieces() -> None:
    """DC-01 to DC-17: whatever happens to the thread."""
    search(examples=80, steps=10)


@pytest.mark.slow
def test_many_long_histories_read_the_same_in_pieces() -> None:
    """DC-01 to DC-17."""
    search(examples=int(os.environ.get("DELTA_EXAMPLES", "1000")), steps=20)
