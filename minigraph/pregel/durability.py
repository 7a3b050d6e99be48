"""Durability: when what the program asks to be stored is stored.

The program yields `SaveWrites` and `Save` and relies on their order alone. How soon they are
true is settled here, between the driver and the saver, in one of three ways:

    sync     at once: when the program goes on, it is in the store. A node never starts before
             the checkpoint that it starts from, and the writes that led there, are safe.
    async    in the background, in order, while the run goes on. All of it is stored before the
             run returns, and what goes wrong is raised: at the next thing to store, or then.
    exit     only at the end, however that comes: one checkpoint, and the writes of the
             super-step that was open.

What is stored in the background must be what it was when the program said so, whatever nodes
do to their lists meanwhile. So it is copied, or made into bytes, before the run goes on.

A store that is only this process's memory has nothing to wait for: it is always written at
once. All three ways have the two verbs of a saver, and `finish`.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, cast

from minigraph.checkpoint.base.history import counters_of
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.config import at_checkpoint
from minigraph.constants import RESUME
from minigraph.errors import add_note
from minigraph.pregel.effects import Paused, Save, SaveWrites
from minigraph.pregel.known import ATOMS, COPIES
from minigraph.types import Durability, RunnableConfig

Saver: TypeAlias = BaseCheckpointSaver[Any]


class NoSaver:
    """Stands where a saver would. Whoever asks it for anything hears that there is none."""

    def __getattr__(self, name: str) -> Any:
        raise ValueError("No checkpointer set: compile the graph with one, to load or to store.")


NO_SAVER: Any = NoSaver()

MODES: Final = ("sync", "async", "exit")

MOST_WAITING: Final = 100
"""How many things may wait to be stored. A run that is faster than its store is held up then,
or it would fill the memory with copies of its state."""


GATHERING: Final = 0.002
"""Seconds to wait for more before something is stored in the background. A store on a disk waits
for the disk once for each time that it is asked, and a short run is over by then."""


def check_durability(mode: str | None) -> None:
    """Refuse a way that does not exist (DU-13).

    >>> check_durability("later")
    Traceback (most recent call last):
    ValueError: durability must be one of ['sync', 'async', 'exit'], but it is 'later'.
    """
    if mode is not None and mode not in MODES:
        raise ValueError(f"durability must be one of {list(MODES)}, but it is {mode!r}.")


def stores_at_once(saver: Saver) -> bool:
    """Whether this saver says that storing takes no time worth mentioning.

    What a class says counts for the methods that it has itself. A subclass with methods of its
    own may do anything in them, and must say it anew.
    """
    for cls in type(saver).__mro__:
        if not METHODS.isdisjoint(vars(cls)):
            return bool(vars(cls).get("stores_at_once", False))
    return False


def in_halves(saver: Saver) -> bool:
    """Whether this saver can make bytes now and store them later, many at once.

    Such a saver has `prepare_put`, `prepare_put_writes`, and `store` or `astore`, which takes what
    these return, and stores it in that order. As above, a class speaks for its own methods.
    """
    for cls in type(saver).__mro__:
        if not METHODS.isdisjoint(vars(cls)):
            return "store" in vars(cls) or "astore" in vars(cls)
    return False


def prepared(saver: Any, effect: Save | SaveWrites) -> Any:
    """What such a saver makes of it. Raises what it raises for a value that cannot be stored."""
    prepare = saver.prepare_put if isinstance(effect, Save) else saver.prepare_put_writes
    return prepare(*effect)


METHODS: Final = frozenset({"put", "put_writes", "aput", "aput_writes"})


@lru_cache(maxsize=256)
def takes(method: Callable[..., Any], parameter: str, any: inspect._ParameterKind) -> bool:
    """Whether a saver's method can be given this, by its name or because it takes `any`."""
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return True
    return bool([p for p in parameters if p.name == parameter or p.kind is any])


def takes_task_path(method: Callable[..., Any]) -> bool:
    """Whether a saver's `put_writes` knows of task paths; older ones do not (SV-51)."""
    return takes(method, "task_path", inspect.Parameter.VAR_POSITIONAL)


def takes_known(method: Callable[..., Any]) -> bool:
    """Whether a saver's `get_delta_channel_history` can make use of what is known."""
    return takes(method, "known", inspect.Parameter.VAR_KEYWORD)


def frozen(effect: Save | SaveWrites) -> Save | SaveWrites | None:
    """The same, sharing no value with anybody; None if that is not possible."""
    try:
        if isinstance(effect, Save):
            copy = COPIES.loads_typed(COPIES.dumps_typed(effect.checkpoint))
            return effect._replace(checkpoint=copy)
        copies = [COPIES.loads_typed(COPIES.dumps_typed(value)) for _, value in effect.writes]
    except Exception:
        return None
    channels = [channel for channel, _ in effect.writes]
    return effect._replace(writes=list(zip(channels, copies, strict=True)))


def where(effect: Save | SaveWrites) -> str:
    """For the note on an error that comes later than what it is about."""
    thread = effect.config.get("configurable", {}).get("thread_id")
    if isinstance(effect, Save):
        step = effect.metadata.get("step")
        return f"checkpoint {effect.checkpoint['id']!r} (super-step {step}) of thread {thread!r}"
    return f"the writes of task {effect.task_id!r} of thread {thread!r}"


# ---------------------------------------------------------------- the end of a run


UNFINISHED: Final[Any] = object()
"""The result of a run that has raised."""


class Inner(NamedTuple):
    """A graph that a task has called, as the one who stores for it must know it.

    Fields:
        task: takes down what is to be kept with it, if the graph keeps nothing itself.
        remembers: whether the graph has a memory of its own.
    """

    task: Notes
    remembers: bool


class Notes(Protocol):
    """A task that keeps the answers of graphs in it which keep nothing."""

    def note(self, task_id: str, answers: Sequence[Any]) -> None:
        """Keep these, which are all of that task's."""


def copied(value: Any, otherwise: Callable[[Any], Any] = id) -> Any:
    """A copy that nobody edits; or the value itself, if it has none, and `otherwise` takes it."""
    if type(value) in ATOMS:
        return value
    try:
        return COPIES.loads_typed(COPIES.dumps_typed(value))
    except Exception:
        otherwise(value)
        return value


class Kept:
    """What a run in the mode ``exit`` has to store when it ends (DU-06 to DU-10).

    That is its last checkpoint, and the writes of the super-step that was open. Where a value is
    stored in pieces (see `deltas`), the pieces of the whole run are stored as well, and the run's
    first checkpoint for them to lie beside: nobody else puts anything there (DC-13).

    Nodes may edit their lists meanwhile. So of each value there is a copy, made when it was new.
    """

    def __init__(self, saver: Saver, inner: Inner | None) -> None:
        self.serde = saver.serde
        self.inner = inner
        self.first: Save | None = None
        self.last: Save | None = None
        self.values: dict[str, Any] = {}
        self.versions: dict[str, Any] = {}
        self.writes: list[SaveWrites] = []
        self.leading: list[list[SaveWrites]] = []
        """The writes that led to each of the run's checkpoints, where values are in pieces."""

    def put(self, *fields: Any) -> None:
        save = Save(*fields)
        values = save.checkpoint["channel_values"]
        new = values.keys() if self.last is None else save.new_versions.keys() & values.keys()
        self.values |= {name: self.copied(values[name]) for name in new}
        self.versions.update(save.new_versions)
        if counters_of(save.metadata):
            self.leading.append(self.writes)
            if self.first is None:
                save = self.whole(save, save.config)
                self.versions = {**self.versions}
        self.first = self.first or save
        self.last = save
        self.writes = []  # they belong to a super-step that is over

    def put_writes(self, *fields: Any) -> None:
        effect = SaveWrites(*fields)
        writes = [(channel, self.copied(value)) for channel, value in effect.writes]
        self.writes.append(effect._replace(writes=writes))

    def copied(self, value: Any) -> Any:
        """A copy. What has none must be storable otherwise, or it is refused now, and not later."""
        return copied(value, self.serde.dumps_typed)

    def whole(self, save: Save, config: RunnableConfig) -> Save:
        """This checkpoint with the copies of its values, and with all that moved so far."""
        names = save.checkpoint["channel_values"]
        values = {name: self.values[name] for name in names}
        checkpoint: Any = {**save.checkpoint, "channel_values": values}
        return Save(config, checkpoint, save.metadata, self.versions)

    def to_store(self, result: Any) -> list[Save | SaveWrites]:
        """The last checkpoint, as a child of the one that the run began with; and the writes that
        hang on it.

        A graph in a task that has come to its end in the run that began it has nothing to go on
        with, and nothing is stored of it, unless it has a memory of its own (DU-11).
        """
        first, last = self.first, self.last
        if first is None or last is None:
            return [*self.writes]
        ended = result is not UNFINISHED and not isinstance(result, Paused)
        began = "checkpoint_id" not in first.config["configurable"]
        if self.inner is not None and not self.inner.remembers and ended and began:
            return []
        channels = counters_of(last.metadata).keys()
        to_store: list[Save | SaveWrites] = []
        config = first.config
        if channels and self.leading:
            here = at_checkpoint(config, first.checkpoint["id"])
            beside_first = [*pieces(self.leading[1:], channels, here)]
            if beside_first:  # then the first is kept, and must be readable too
                channels = counters_of(first.metadata).keys()
            to_store += pieces(self.leading[:1], channels, config)
            if beside_first:
                to_store += [first, *beside_first]
                config = here
        return [*to_store, self.whole(last, config), *self.writes]


def pieces(
    steps: Iterable[Iterable[SaveWrites]], channels: Collection[str], config: RunnableConfig
) -> Iterator[SaveWrites]:
    """What several super-steps wrote to these channels, to lie beside one checkpoint.

    The ids are those of no task, so that none of a later run counts as finished. They sort, as the
    paths do, in the order in which the writes were applied.
    """
    for number, effects in enumerate(steps):
        for index, effect in enumerate(sorted(effects, key=lambda each: each.task_path)):
            if writes := [each for each in effect.writes if each[0] in channels]:
                prefix = "ffffffff" if number else "00000000"
                id = f"{prefix}-{number:08}-{index:08}-{effect.task_id}"
                path = f"~~{number:08}{effect.task_path}" if number else effect.task_path
                yield SaveWrites(config, writes, id, path)


def all_of(problems: Sequence[Exception]) -> None:
    """Raise the first of these, if there are any."""
    if problems:
        raise problems[0]


# ---------------------------------------------------------------- for the sync driver


class Storage:
    """Stores at once (DU-03). The other ways are made from it."""

    def __init__(self, saver: Saver) -> None:
        self.put: Callable[..., Any] = saver.put
        self.put_writes: Callable[..., Any] = saver.put_writes
        if not takes_task_path(type(saver).put_writes):
            self.put_writes = lambda *fields: saver.put_writes(*fields[:3])

    def perform(self, effect: Save | SaveWrites) -> None:
        (self.put if isinstance(effect, Save) else self.put_writes)(*effect)

    holds = False
    """Whether writes may wait for the checkpoint that follows, until `flush` is called."""

    def flush(self) -> None:
        """Store what waits."""

    def finish(self, result: Any = UNFINISHED) -> None:
        """Nothing is left to store when this returns. Raises what went wrong before.

        `result` is what the program has returned.
        """


def stubbornly(store: Callable[[], None]) -> None:
    """Store, whatever happens. Ctrl-C in the middle of it has to wait until it is done: there is no
    other chance to keep what was finished (ST-30). To store the same thing twice does no harm."""
    try:
        store()
    except Exception:
        raise
    except BaseException:
        store()
        raise


class Together(Storage):
    """Stores at once; but the writes of a super-step's last task together with its checkpoint.

    A store on a disk waits for the disk once for each time that it is asked.
    """

    holds = True

    def __init__(self, saver: Any) -> None:
        self.saver = saver
        self.held: list[Any] = []
        self.put = lambda *fields: self.together([prepared(saver, Save(*fields))])
        self.put_writes = lambda *fields: self.held.append(prepared(saver, SaveWrites(*fields)))

    def together(self, more: list[Any]) -> None:
        try:
            self.saver.store(self.held + more)
        except Exception:
            if self.held and more:
                self.saver.store(self.held)  # what tasks have done is kept, whatever became of it
                self.held = []
            raise
        self.held = []  # and not before: if Ctrl-C comes in between, they are still there

    def flush(self) -> None:
        if self.held:
            self.together([])

    def finish(self, result: Any = UNFINISHED) -> None:
        stubbornly(self.flush)


class AtExit(Storage):
    """Stores at the end."""

    def __init__(self, saver: Saver, inner: Inner | None = None) -> None:
        self.store = Storage(saver)
        self.kept = Kept(saver, inner)
        self.put = self.kept.put
        self.put_writes = self.kept.put_writes

    def finish(self, result: Any = UNFINISHED) -> None:
        problems = []
        for effect in self.kept.to_store(result):
            try:
                stubbornly(partial(self.store.perform, effect))
            except Exception as error:  # what another task has done is stored all the same
                problems.append(error)
        all_of(problems)


class Job:
    """Something that is to be stored in the background."""

    __slots__ = ("alone", "effect", "problem", "ready")

    def __init__(self, effect: Save | SaveWrites, ready: Any) -> None:
        self.effect = effect
        self.alone = ready is None  # no copy could be made, so the run waits until it is stored
        self.ready = effect if ready is None else ready
        self.problem: BaseException | None = None


class Background(Storage):
    """Stores in order, on a thread of its own; what has come together meanwhile in one go.

    The thread waits a moment before it begins. A short run is over by then, and stores all that
    there is itself.
    """

    def __init__(self, saver: Saver, inner: Inner | None = None) -> None:
        self.inner = inner
        self.saver: Any = saver
        self.store = Storage(saver)
        self.in_halves = in_halves(saver)
        self.waiting: list[Job] = []
        self.taken: list[Job] = []
        self.thread: threading.Thread | None = None
        self.storing = self.is_over = False
        self.changed = threading.Condition()
        self.problem: BaseException | None = None
        self.put = lambda *fields: self.later(Save(*fields))
        self.put_writes = lambda *fields: self.later(SaveWrites(*fields))

    def later(self, effect: Save | SaveWrites) -> None:
        self.raise_problem()
        job = Job(effect, prepared(self.saver, effect) if self.in_halves else frozen(effect))
        with self.changed:
            self.waiting.append(job)
            if self.thread is None:
                self.thread = threading.Thread(target=self.work, name="minigraph-store")
                self.thread.start()
            elif len(self.waiting) == 1:
                self.changed.notify()
        if job.alone or len(self.waiting) >= MOST_WAITING:
            self.drain()
            self.raise_problem()
            if job.problem is not None:
                raise job.problem

    def work(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.waiting or self.is_over)
                self.changed.wait_for(lambda: self.is_over, GATHERING)
                if self.is_over:
                    return
                jobs, self.waiting = self.waiting, []
                self.storing = True
            try:
                if self.problem is None:
                    self.problem = self.attempt(jobs)
            except BaseException as error:
                self.problem = error
            finally:
                with self.changed:
                    self.storing = False
                    self.changed.notify_all()

    def attempt(self, jobs: Sequence[Job]) -> Exception | None:
        """Store these, up to the first that cannot be stored: behind it there would be a gap."""
        if self.in_halves:
            try:
                self.saver.store([job.ready for job in jobs])
                return None
            except Exception:
                pass  # one by one, then, to see which it is
        for job in jobs:
            try:
                if self.in_halves:
                    self.saver.store([job.ready])
                else:
                    self.store.perform(job.ready)
            except Exception as error:
                if job.alone:
                    job.problem = error  # the run waits for it, and will hear of it
                    continue
                add_note(error, f"While {where(job.effect)} was being stored in the background.")
                return error
        return None

    def drain(self) -> None:
        """Wait until all is stored that the thread has begun with, and store the rest here."""
        with self.changed:
            while self.storing:
                self.changed.wait()
            self.taken += self.waiting
            self.waiting = []
        if self.taken and self.problem is None:
            self.problem = self.attempt(self.taken)
        self.taken = []  # and not before: if Ctrl-C comes in between, they are still there

    def flush(self) -> None:
        # Who reads the run around an inner one may leave, and nobody waits for its thread then.
        if self.inner is not None:
            self.drain()

    def raise_problem(self) -> None:
        if self.problem is not None:
            raise self.problem

    def finish(self, result: Any = UNFINISHED) -> None:
        try:
            stubbornly(self.drain)
            self.raise_problem()
        finally:
            with self.changed:
                self.is_over = True
                self.changed.notify_all()
            if self.thread is not None:
                self.thread.join()


class Nowhere(Storage):
    """For programs that have nothing to store; or only answers, for the task around them."""

    def __init__(self, inner: Inner | None) -> None:
        if inner is not None:
            self.put_writes = lambda *fields: note(inner, SaveWrites(*fields))

    def __getattr__(self, name: str) -> Any:
        return getattr(NO_SAVER, name)


def note(inner: Inner, effect: SaveWrites) -> None:
    """Have the task around a graph keep the answers that one of its tasks has got."""
    for channel, value in effect.writes:
        if channel == RESUME:
            inner.task.note(effect.task_id, [copied(answer) for answer in value])


def storage(saver: Saver | None, mode: Durability | None, inner: Inner | None = None) -> Storage:
    """The way to store in, for a sync driver."""
    if saver is None:
        return Nowhere(inner)
    if mode == "exit":
        return AtExit(saver, inner)
    if stores_at_once(saver):
        return Storage(saver)
    if mode == "sync":
        return Together(saver) if in_halves(saver) else Storage(saver)
    return Background(saver, inner)


# ---------------------------------------------------------------- for the async driver


class AsyncStorage:
    """The same three ways, with a saver's async methods."""

    def __init__(self, saver: Saver) -> None:
        self.put: Callable[..., Awaitable[Any]] = saver.aput
        self.put_writes: Callable[..., Awaitable[Any]] = saver.aput_writes
        if not takes_task_path(type(saver).aput_writes):
            self.put_writes = lambda *fields: saver.aput_writes(*fields[:3])

    async def perform(self, effect: Save | SaveWrites) -> None:
        await (self.put if isinstance(effect, Save) else self.put_writes)(*effect)

    async def finish(self, result: Any = UNFINISHED) -> None:
        """As for `Storage`."""


async def whole(storing: Awaitable[Any]) -> Any:
    """Wait until something is stored. Whoever is cancelled meanwhile is cancelled after that: a
    task that has finished must not be half in the store, or not at all."""
    task = asyncio.ensure_future(storing)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.done():
                break
            cancelled = error
        except Exception:
            break  # it is the task's own, and raised below
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # so that it is not said that nobody wanted to know
        raise cancelled
    return task.result()


class AsyncAtOnce(AsyncStorage):
    """Stores at once, and whole, where that takes its time."""

    def __init__(self, saver: Saver) -> None:
        super().__init__(saver)
        put, put_writes = self.put, self.put_writes
        self.put = lambda *fields: whole(put(*fields))
        self.put_writes = lambda *fields: whole(put_writes(*fields))


class AsyncAtExit(AsyncStorage):
    def __init__(self, saver: Saver, inner: Inner | None = None) -> None:
        self.store = AsyncAtOnce(saver)
        self.kept = Kept(saver, inner)

        async def put(*fields: Any) -> None:
            self.kept.put(*fields)

        async def put_writes(*fields: Any) -> None:
            self.kept.put_writes(*fields)

        self.put, self.put_writes = put, put_writes

    async def finish(self, result: Any = UNFINISHED) -> None:
        await whole(self.store_all(result))

    async def store_all(self, result: Any) -> None:
        problems = []
        for effect in self.kept.to_store(result):
            try:
                await self.store.perform(effect)
            except Exception as error:  # what another task has done is stored all the same
                problems.append(error)
        all_of(problems)


class AsyncBackground(AsyncStorage):
    """Stores in order, in a task of its own; what has come together meanwhile in one go."""

    def __init__(self, saver: Saver) -> None:
        self.saver: Any = saver
        self.store = AsyncStorage(saver)
        self.in_halves = in_halves(saver)
        self.waiting: list[Job] = []
        self.worker: asyncio.Task[None] | None = None
        self.problem: BaseException | None = None
        self.put = lambda *fields: self.later(Save(*fields))
        self.put_writes = lambda *fields: self.later(SaveWrites(*fields))

    async def later(self, effect: Save | SaveWrites) -> None:
        self.raise_problem()
        job = Job(effect, prepared(self.saver, effect) if self.in_halves else frozen(effect))
        self.waiting.append(job)
        if self.worker is None or self.worker.done():
            self.worker = asyncio.create_task(self.work())
        if job.alone or len(self.waiting) >= MOST_WAITING:
            await self.drain()
            self.raise_problem()
            if job.problem is not None:
                raise job.problem

    async def work(self) -> None:
        while self.waiting and self.problem is None:
            jobs, self.waiting = self.waiting, []
            self.problem = await self.attempt(jobs)

    async def attempt(self, jobs: Sequence[Job]) -> BaseException | None:
        """Store these, up to the first that cannot be stored: behind it there would be a gap."""
        if self.in_halves:
            try:
                await self.saver.astore([job.ready for job in jobs])
                return None
            except BaseException:
                pass  # one by one, then, to see which it is
        for job in jobs:
            try:
                if self.in_halves:
                    await self.saver.astore([job.ready])
                else:
                    await self.store.perform(job.ready)
            except BaseException as error:
                if job.alone:
                    job.problem = error  # the run waits for it, and will hear of it
                    continue
                add_note(error, f"While {where(job.effect)} was being stored in the background.")
                return error
        return None

    async def drain(self) -> None:
        """Wait until all is stored. Who is cancelled meanwhile still waits: it was promised."""
        if self.worker is not None:
            await whole(self.worker)

    def raise_problem(self) -> None:
        if self.problem is not None:
            raise self.problem

    async def finish(self, result: Any = UNFINISHED) -> None:
        await self.drain()
        self.raise_problem()


class AsyncNowhere(AsyncStorage):
    """For programs that have nothing to store; or only answers, for the task around them."""

    def __init__(self, inner: Inner | None) -> None:
        async def put_writes(*fields: Any) -> None:
            note(cast(Inner, inner), SaveWrites(*fields))

        if inner is not None:
            self.put_writes = put_writes

    def __getattr__(self, name: str) -> Any:
        return getattr(NO_SAVER, name)


def async_storage(
    saver: Saver | None, mode: Durability | None, inner: Inner | None = None
) -> AsyncStorage:
    """The way to store in, for an async driver."""
    if saver is None:
        return AsyncNowhere(inner)
    if mode == "exit":
        return AsyncAtExit(saver, inner)
    if stores_at_once(saver):
        return AsyncStorage(saver)
    return AsyncAtOnce(saver) if mode == "sync" else AsyncBackground(saver)
