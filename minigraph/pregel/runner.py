"""Runners: tasks at work, on threads or on an event loop.

Both offer the driver the same three verbs, `start`, `next` and `cancel`, and both treat
every task alike: it runs in its own copy of the caller's context, and its outcome is a
`Finished`, an `Asked` or a `Failed`, never an exception.

    ThreadRunner   a task alone runs on the caller's own thread; several run on threads
    LoopRunner     every task is an asyncio task; sync functions are sent to threads

Threads belong to a run. A pool shared by all runs would deadlock as soon as graphs call
graphs: the parents would hold every thread while their children wait for one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from queue import Empty, SimpleQueue
from threading import Condition, get_ident
from time import perf_counter
from types import CoroutineType
from typing import Any, Final, TypeAlias

from minigraph.clock import tell_of_an_end
from minigraph.context import Calls, running_task
from minigraph.errors import GraphInterrupt, NodeCancelledError, ParentCommand
from minigraph.pregel.attempts import pursue, pursue_async
from minigraph.pregel.calls import Called, is_call
from minigraph.pregel.effects import Asked, Emit, Failed, Finished, Late, View
from minigraph.pregel.node import Call
from minigraph.pregel.plan import Task
from minigraph.pregel.running import NOTHING_AROUND, Around, Running
from minigraph.types import new_record

Outcome: TypeAlias = Finished | Asked | Failed

MAX_THREADS: Final = 32
"""How many sync tasks of one run work at the same time, unless `max_concurrency` says so.

Tasks mostly wait for a network, so this is not a matter of processor cores.
"""

NO_LIMIT: Final = 100_000
"""For a pool of which somebody else counts the threads."""

FIRST_THREADS: Final = 4
"""How many threads a super-step begins with; more come when these are not enough."""

QUICK: Final = 0.001
"""Seconds that a path function may take and still be called on the event loop."""


Tell: TypeAlias = Callable[[Emit], None]
"""Takes what a task says to the reader of the stream, at any time and from any thread."""


def perform(
    task: Task, view: View, tell: Tell | None = None, around: Around = NOTHING_AROUND
) -> Outcome:
    """Run one task on this thread; as often as its policies want, if it has any."""
    if task.node.policies is None:
        outcome = attempt(Running(task, view, tell, around))
    else:
        outcome = pursue(task, view, tell, around, attempt)
    if around.outer is not None:
        around.outer.beat()
    return outcome


def attempt(running: Running) -> Outcome:
    """Walk through one task, calling sync user code."""
    task = running.task
    running_task.set(running)
    walk = running.walk()
    answer: Any = None
    try:
        # A `StopIteration` that user code raises must not be taken for the end of the walk, so
        # the two calls below must not share an `except StopIteration`.
        while True:
            try:
                call = walk.send(answer)
            except StopIteration as end:
                answers = running.answered() if running.took else running.answers
                return new_record(Finished, (task.id, end.value, answers, False))
            try:
                if call.keywords:
                    answer = call.function(*call.arguments, **call.keywords)
                else:
                    answer = call.function(*call.arguments)
            except ParentCommand as sent:
                walk, answer = running.walk_from(for_here(task, sent)), None
                continue
            if type(answer) is CoroutineType:
                answer.close()
                raise TypeError(
                    f"Node {task.name!r} returned a coroutine, which a sync run cannot await. "
                    "Use ainvoke or astream, or make the function sync."
                )
    except asyncio.CancelledError as error:
        return Failed(task.id, cancelled(task, error))
    except GraphInterrupt as asking:
        return Asked(task.id, questions_of(asking), running.answered())
    except Exception as error:
        return Failed(task.id, error, running.answered())


def questions_of(asking: GraphInterrupt) -> Sequence[Any]:
    return asking.args[0] if asking.args else ()


def for_here(task: Task, sent: ParentCommand) -> list[Any]:
    """The Commands that have come up from a graph in this task, if they are meant for this graph.

    Its node then counts as having returned them (CS-20). Raises `ParentCommand` with those that are
    meant for a graph still further up; the graphs in between end (CS-22).
    """
    here = (None, task.name, task.namespace)
    if further := [command for command in sent.args if command.graph not in here]:
        raise ParentCommand(*further) from None
    return [replace(command, graph=None) for command in sent.args]


def cancelled(task: Task, error: asyncio.CancelledError) -> NodeCancelledError:
    """What a node that raises `CancelledError` has failed with: nobody has cancelled the run."""
    problem = NodeCancelledError(f"Node {task.name!r} raised asyncio.CancelledError")
    problem.__cause__ = error
    return problem


async def perform_async(
    task: Task,
    view: View,
    call_sync: Callable[[Call], Awaitable[Any]],
    tell: Tell | None = None,
    around: Around = NOTHING_AROUND,
) -> Outcome:
    """Run one task on the event loop; as often as its policies want, if it has any."""
    if task.node.policies is None:
        outcome = await attempt_async(call_sync, Running(task, view, tell, around))
    else:
        work = partial(attempt_async, call_sync)
        outcome = await pursue_async(task, view, tell, around, work)
    if around.outer is not None:
        around.outer.beat()
    return outcome


async def attempt_async(call_sync: Callable[[Call], Awaitable[Any]], running: Running) -> Outcome:
    """Walk through one task, awaiting async user code and handing on sync code."""
    task = running.task
    running_task.set(running)
    walk = running.walk()
    answer: Any = None
    try:
        while True:
            try:
                call = walk.send(answer)
            except StopIteration as end:
                answers = running.answered() if running.took else running.answers
                return new_record(Finished, (task.id, end.value, answers, False))
            try:
                if call.is_async:
                    answer = await call.function(*call.arguments, **call.keywords)
                    continue
                if call.awaited is not None:
                    answer = await call.awaited(*call.arguments, **call.keywords)
                    continue
                answer = await call_sync(call)
                if isinstance(answer, Escaped):
                    raise answer.error
                if isawaitable(answer):
                    answer = await answer
            except ParentCommand as sent:
                walk, answer = running.walk_from(for_here(task, sent)), None
    except asyncio.CancelledError as error:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise
        return Failed(task.id, cancelled(task, error))
    except GraphInterrupt as asking:
        return Asked(task.id, questions_of(asking), running.answered())
    except Exception as error:
        return Failed(task.id, error, running.answered())


def late(around: Around) -> Late:
    """What the program is told when a super-step goes on for too long."""
    return Late(TimeoutError(f"The super-step took longer than {around.step_timeout} seconds."))


class Escaped:
    """A `StopIteration` from user code, wrapped: neither a future nor a coroutine can carry it."""

    __slots__ = ("error",)

    def __init__(self, error: StopIteration) -> None:
        self.error = error


def require_open(closed: bool, called: Called) -> None:
    """Refuse a call that nobody would hear of: the run has ended."""
    if closed:
        raise NodeCancelledError(
            f"Task {called.node.name!r} was called after the run had ended that it would belong to."
        )


def timed(call: Call) -> tuple[Any, float]:
    """Call sync user code. Returns its answer, and the seconds it took."""
    began = perf_counter()
    answer: Any
    try:
        answer = call.function(*call.arguments, **call.keywords)
    except StopIteration as error:
        answer = Escaped(error)
    return answer, perf_counter() - began


COUNTED: Final = Condition()
"""One for all: graphs in tasks that somebody waits for are few, and every run would have to make
one."""


class Counted:
    """How many graphs are at work in the tasks of a sync run."""

    count = 0

    def add(self, change: int) -> None:
        with COUNTED:
            self.count += change
            COUNTED.notify_all()

    def wait(self) -> None:
        """Until there are none."""
        with COUNTED:
            while self.count:
                COUNTED.wait()


class ThreadRunner:
    """Runs tasks for a sync driver.

    Args:
        limit: how many tasks may run at the same time; ``None`` for `MAX_THREADS`.
        live: somebody reads what tasks say while they work, so `next` must be free to tell it.
        around: for graphs that tasks call.
    """

    def __init__(
        self, limit: int | None, live: bool = False, around: Around = NOTHING_AROUND
    ) -> None:
        self.outer_is_over = around.is_over
        self.inner_runs = Counted()
        self.around = around._replace(
            is_over=self.is_over, inner_runs=self.inner_runs, call=self.call
        )
        self.replies: set[Any] = set()
        self.closed = False
        self.blocked = 0  # threads on which a task waits for one that it has called
        self.here: int | None = None  # the driver's thread, while a task is at work on it
        self.listen: Callable[[Any], None]  # set by the driver
        self.over = False
        self.limit = limit or MAX_THREADS
        self.live = live
        self.waiting: deque[tuple[Context, Task, View]] = deque()
        self.outcomes: SimpleQueue[Outcome | Emit | Called | BaseException | int | None]
        self.outcomes = SimpleQueue()
        self.tell = self.outcomes.put if live else None
        self.on_threads = 0  # tasks that threads have taken, or will
        self.workers = 0  # threads that look for tasks
        self.pool: ThreadPoolExecutor | None = None
        self.patient = True
        self.until: float | None = None  # the end of what the super-step may take
        self.listens = live or around.step_timeout is not None

    def start(self, tasks: Sequence[Task], view: View) -> None:
        self.patient = True
        if self.around.step_timeout is not None and self.idle:
            self.until = self.around.clock.monotonic() + self.around.step_timeout
        for task in tasks:
            self.waiting.append((copy_context(), task, view))
        # A task alone runs in `next`, unless `next` has to listen to what it says.
        if len(tasks) > 1 or self.on_threads or self.listens or self.here:
            self.on_threads += len(tasks)
            # Whoever has called a task keeps his own thread.
            at_work = 0 if is_call(tasks[0]) else self.workers
            for _ in range(min(len(tasks), self.limit, FIRST_THREADS) - at_work):
                if self.workers - self.blocked < self.limit:
                    self.hire()

    def hire(self) -> None:
        """Let one more thread take waiting tasks, one after the other."""
        if self.pool is None:
            most = NO_LIMIT if Calls.possible else self.limit
            self.pool = ThreadPoolExecutor(most, thread_name_prefix="minigraph")
        self.workers += 1
        self.pool.submit(self.take_waiting)

    def take_waiting(self) -> None:
        while True:
            try:
                context, task, view = self.waiting.popleft()
            except IndexError:
                self.outcomes.put(None)  # this thread goes home
                return
            try:
                self.outcomes.put(context.run(perform, task, view, self.tell, self.around))
            except BaseException as error:
                # A thread that dies silently would be waited for forever.
                self.outcomes.put(error)

    def left(self) -> float | None:
        """How many seconds the super-step may still go on."""
        return None if self.until is None else max(0, self.until - self.around.clock.monotonic())

    def next(self) -> Outcome | Emit | Called | Late | None:
        """The outcome of the next task to end, or what one says before that.

        None when there is nothing to wait for.
        """
        while self.on_threads:
            try:
                # More threads are hired only while there is nothing else to do: a thousand quick
                # tasks are done by a few before the last of many could have been started.
                can_hire = bool(self.waiting) and self.workers - self.blocked < self.limit
                outcome = self.outcomes.get(self.patient and not can_hire, self.left())
            except Empty:
                if self.left() == 0:
                    self.until = None
                    return late(self.around)
                if not self.patient:
                    return None
                self.hire()
                continue
            if outcome is None:
                self.workers -= 1
                continue
            if isinstance(outcome, int):  # a thread is blocked, or no longer
                self.blocked += outcome
                continue
            if isinstance(outcome, (Emit, Called)):
                return outcome
            self.on_threads -= 1
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome
        if not self.waiting:
            return None
        context, task, view = self.waiting.popleft()
        self.here = get_ident()
        try:
            return context.run(perform, task, view, None, self.around)
        finally:
            self.here = None

    @property
    def idle(self) -> bool:
        """Whether no task is at work, or waits to be."""
        return not self.on_threads and not self.waiting

    def is_over(self) -> bool:
        """Whether nobody waits for the tasks any more. A graph in one of them then ends, too."""
        return self.over or self.outer_is_over()

    def cancel(self, wait: bool) -> None:
        """Give up tasks that have not begun. A running thread cannot be stopped."""
        self.patient = wait
        self.over = self.over or not wait
        if self.over:
            tell_of_an_end()
        called: list[tuple[Context, Task, View]] = []
        while self.waiting:
            try:
                entry = self.waiting.pop()
            except IndexError:  # a thread was quicker
                break
            if wait and is_call(entry[1]):  # somebody waits for it
                called.append(entry)
            elif self.on_threads:
                self.on_threads -= 1
        self.waiting.extend(reversed(called))

    def close(self) -> None:
        """Let the threads go. Graphs in tasks have stored what others read, so they are waited for:
        they end with their present super-step."""
        self.closed = True
        for reply in [*self.replies]:
            reply.give_up()
        if self.pool is not None:
            self.pool.shutdown(wait=False, cancel_futures=True)
            if self.over:
                self.inner_runs.wait()

    def call(self, called: Called) -> None:
        """A task calls another. If it is at work on the driver's own thread, the driver cannot
        listen, and is told here."""
        if called.node.async_functions:
            raise RuntimeError(
                "In an sync context async tasks cannot be called: the run has no event loop for "
                f"task {called.node.name!r}. Use ainvoke or astream, or make it sync."
            )
        require_open(self.closed, called)
        called.reply.expect(self.replies, self.while_waiting)
        if self.here == get_ident():
            self.listen(called)
        else:
            self.outcomes.put(called)

    @contextmanager
    def while_waiting(self, reply: Any) -> Iterator[None]:
        """A task waits for another, and others may run meanwhile."""
        if self.here == get_ident():
            while not reply.done():
                self.listen(self.next())
            yield
            return
        self.outcomes.put(1)
        try:
            yield
        finally:
            self.outcomes.put(-1)


class LoopRunner:
    """Runs tasks for an async driver, on the event loop that is running.

    Args:
        limit: how many tasks may run at the same time; ``None`` for no limit.
        live: somebody reads what tasks say while they work.
        around: for graphs that tasks call.
    """

    def __init__(
        self, limit: int | None, live: bool = False, around: Around = NOTHING_AROUND
    ) -> None:
        self.around = around._replace(call=self.call)
        self.replies: set[Any] = set()
        self.closed = False
        self.blocked = 0  # tasks that wait for one that they have called
        self.limit = limit
        self.live = live
        self.loop: asyncio.AbstractEventLoop | None = None
        self.waiting: deque[tuple[Context, Task, View]] = deque()
        self.running: dict[str, asyncio.Task[None]] = {}
        self.outcomes: deque[Outcome | Emit | Called | Late] = deque()
        self.wake: asyncio.Future[None] | None = None
        self.pool: ThreadPoolExecutor | None = None
        self.is_quick: dict[int, bool] = {}
        self.filling = False
        self.alone = False  # whether the task that waits is the only one
        self.cancelling = False
        self.alarm: asyncio.Task[None] | None = None

    def start(self, tasks: Sequence[Task], view: View) -> None:
        if self.live or Calls.possible:
            self.loop = asyncio.get_running_loop()
        limited = self.around.step_timeout is not None
        if limited and not self.running:
            self.alarm = asyncio.create_task(self.ring())
        # The context is the caller's, so it is copied here: `fill` may run inside another task.
        for task in tasks:
            self.waiting.append((copy_context(), task, view))
        listens = self.running or self.live or limited or Calls.possible
        self.alone = len(self.waiting) == 1 and not listens
        if not self.alone:  # else it will run in `next`
            self.fill()

    def fill(self) -> None:
        """Set waiting tasks going, as many as may run."""
        if self.filling:
            return  # a task that started at once has ended: the loop below goes on without us
        self.filling = True
        while self.waiting and (
            self.limit is None or len(self.running) - self.blocked < self.limit
        ):
            context, task, view = self.waiting.popleft()
            running = asyncio.create_task(self.attempt(task, view), context=context)
            if not running.done():  # it may be, where tasks start at once
                self.running[task.id] = running
                running.add_done_callback(partial(self.ended, task))
        self.filling = False

    async def attempt(self, task: Task, view: View) -> None:
        tell = self.tell if self.live else None
        self.report(task.id, await perform_async(task, view, self.call_sync, tell, self.around))

    def ended(self, task: Task, running: asyncio.Task[None]) -> None:
        """Report a task that could not report itself: it was cancelled, or escaped."""
        if task.id in self.running:
            error: BaseException | None = asyncio.CancelledError()
            if not running.cancelled():
                error = running.exception()
            elif not self.cancelling:  # by nobody but itself
                error = cancelled(task, asyncio.CancelledError())
            self.report(task.id, Failed(task.id, error or asyncio.CancelledError()))

    def report(self, task_id: str, outcome: Outcome) -> None:
        self.running.pop(task_id, None)
        self.put(outcome)
        self.fill()
        if self.alarm is not None and not self.running:
            self.alarm.cancel()

    async def ring(self) -> None:
        """Tell that the super-step has gone on for as long as it may."""
        await self.around.clock.asleep(self.around.step_timeout or 0)
        self.put(late(self.around))

    def put(self, told: Outcome | Emit | Called | Late) -> None:
        """Let `next` have this, and wake it if it waits."""
        self.outcomes.append(told)
        if self.wake is not None and not self.wake.done():
            self.wake.set_result(None)

    def call(self, called: Called) -> None:
        """A task calls another."""
        require_open(self.closed, called)
        called.reply.expect(self.replies, self.while_waiting, self.loop)
        self.tell(called)

    @contextmanager
    def while_waiting(self, reply: Any) -> Iterator[None]:
        """A task waits for another, and others may run meanwhile."""
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self.count_blocked, 1)
        try:
            yield
        finally:
            self.loop.call_soon_threadsafe(self.count_blocked, -1)

    def count_blocked(self, change: int) -> None:
        self.blocked += change
        self.fill()

    def tell(self, emit: Emit | Called) -> None:
        """What a task says; sync nodes say it from their threads."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self.loop:
            self.put(emit)
        elif self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.put, emit)

    async def call_sync(self, call: Call) -> Any:
        """Call sync user code without holding up the loop.

        That means a thread, in the task's context. But a path function mostly just looks at the
        state, and handing it to a thread takes many times longer than it does. So once one
        has been seen to be quick it is called right here, until it is seen to be slow.
        """
        if not call.chooses:
            answer, _ = await self.on_thread(call)
            return answer
        function = id(call.function)
        if self.is_quick.get(function):
            try:
                answer, seconds = timed(call)
            except RuntimeError as error:
                if "event loop" not in str(error):
                    raise
                # It wants to run a loop of its own, which it can do only on a thread.
                self.is_quick[function] = False
                answer, _ = await self.on_thread(call)
                return answer
        else:
            answer, seconds = await self.on_thread(call)
        self.is_quick[function] = seconds < QUICK and self.is_quick.get(function, True)
        return answer

    async def on_thread(self, call: Call) -> tuple[Any, float]:
        """Call sync user code on one of the run's threads."""
        if self.pool is None:
            threads = NO_LIMIT if Calls.possible else self.limit or MAX_THREADS
            self.pool = ThreadPoolExecutor(threads, thread_name_prefix="minigraph")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, copy_context().run, timed, call)

    async def next(self) -> Outcome | Emit | Called | Late | None:
        """The outcome of the next task to end, or what one says before that.

        None when there is nothing to wait for.
        """
        if self.alone:
            self.alone = False
            return await self.attend(*self.waiting.popleft())
        while not self.outcomes:
            if not self.running:
                return None
            self.wake = asyncio.get_running_loop().create_future()
            await self.wake
        return self.outcomes.popleft()

    async def attend(self, context: Context, task: Task, view: View) -> Outcome:
        """Run a task that is alone: its asyncio task can simply be awaited.

        It has one nevertheless. Timeouts and task groups cancel the asyncio task that they are used
        in, and that must not be the caller's.
        """
        me = asyncio.current_task()
        before = me.cancelling() if me else 0
        work = perform_async(task, view, self.call_sync, None, self.around)
        try:
            outcome = await asyncio.create_task(work, context=context)
        except asyncio.CancelledError as error:
            if me and me.cancelling() > before:
                raise
            outcome = Failed(task.id, cancelled(task, error))
        if me and me.cancelling() > before:
            # The node has swallowed what was meant for the run. Its outcome counts all the same.
            self.outcomes.append(outcome)
            raise asyncio.CancelledError
        return outcome

    def cancel(self, wait: bool) -> None:
        """Give up tasks that have not begun, and cancel those that have.

        A cancelled coroutine ends soon, so there is no harm in always waiting for it.
        """
        self.alone = False
        self.cancelling = True
        self.waiting.clear()
        for running in self.running.values():
            running.cancel()

    def close(self) -> None:
        self.closed = True
        for reply in [*self.replies]:
            reply.give_up()
        if self.alarm is not None:
            self.alarm.cancel()
        if self.pool is not None:
            self.pool.shutdown(wait=False, cancel_futures=True)
