"""Drivers: they perform what the program asks for, and nothing else.

There are two, and each is one loop around one `match`:

    send the last answer ──▶ program ──▶ effect ──▶ perform it ──▶ answer ─┐
          ▲                                                               │
          └───────────────────────────────────────────────────────────────┘

An effect that raises is thrown into the program, which knows what must still be stored.
So is the wish to leave: when the reader closes the stream, presses Ctrl-C or cancels the
awaiting task, the program gets a `Stopped`, its last effects are performed, and only then
does the original exception go on.

A driver yields what the program emits. Its return value (async: the attribute `result`)
is the program's.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any, assert_never

from minigraph.errors import NodeCancelledError, add_note
from minigraph.pregel.durability import NO_SAVER, Inner, Saver, async_storage, storage, takes_known
from minigraph.pregel.effects import (
    Advance,
    Cancel,
    Effect,
    Emit,
    Listing,
    Load,
    LoadPieces,
    Next,
    Program,
    Reply,
    Save,
    SaveWrites,
    Start,
    Stopped,
    Warn,
)
from minigraph.pregel.runner import LoopRunner, ThreadRunner
from minigraph.pregel.running import Around
from minigraph.types import Durability

logger = logging.getLogger("minigraph")


class Driver:
    """Performs effects with threads and a saver's sync methods.

    Args:
        saver: where checkpoints go; a program that knows of no saver never needs it.
        limit: how many tasks may run at once (`max_concurrency`).
        live: somebody reads what tasks say while they work.
        durability: when things are stored, see `durability`.
        around: what the graphs have that tasks call.
        inner: set if a task has called this run's graph.
    """

    def __init__(
        self,
        saver: Saver | None,
        limit: int | None = None,
        live: bool = False,
        durability: Durability = "sync",
        around: Around | None = None,
        inner: Inner | None = None,
    ) -> None:
        self.saver: Saver = NO_SAVER if saver is None else saver
        self.storage = storage(saver, durability, inner)
        self.tasks = ThreadRunner(limit, live, around or Around(saver, durability))
        self.tasks.listen = self.listen
        self.program: Program
        self.told: list[Emit] = []

    def drive(self, program: Program) -> Generator[Emit, None, Any]:
        self.program = program
        answer: Any = None
        result: Any = None
        problem: Exception | None = None
        leaving: BaseException | None = None
        try:
            while True:
                try:
                    effect = program.throw(problem) if problem else program.send(answer)
                except StopIteration as end:
                    if leaving is not None:
                        raise leaving from None
                    result = end.value
                    break
                except Stopped:
                    raise leaving or Stopped from None
                answer = problem = None
                try:
                    if isinstance(effect, Emit):
                        self.storage.flush()  # what a reader is told is in the store
                        yield effect
                    else:
                        answer = self.perform(effect)
                        while isinstance(answer, Emit):  # a task says something; wait on
                            if leaving is None:
                                yield answer
                            answer = self.perform(effect)
                        if self.told:
                            told, self.told = self.told, []
                            yield from told
                except Exception as error:
                    problem = error
                except BaseException as error:
                    leaving, problem = error, Stopped()
        except BaseException as error:
            try:
                self.storage.finish()
            except Exception as problem:
                not_stored(error, problem)
            raise
        finally:
            self.tasks.close()
        self.storage.finish(result)
        return result

    def listen(self, answer: Any) -> None:
        """A task that is at work on this very thread has called another one, or waits for it. The
        program is told, and does what it does about it, up to where it waits again."""
        problem: Exception | None = None
        while True:
            effect = self.program.throw(problem) if problem else self.program.send(answer)
            answer = problem = None
            if isinstance(effect, Next):
                return
            if isinstance(effect, Emit):
                self.told.append(effect)
                continue
            try:
                answer = self.perform(effect)
            except Exception as error:
                problem = error

    def perform(self, effect: Effect) -> Any:
        match effect:
            case Next():
                return self.tasks.next()
            case Start():
                if self.tasks.outer_is_over():
                    raise NodeCancelledError("The run around this graph has ended, and so does it.")
                self.storage.flush()  # an answer must not be lost with the task that gets it
                return self.tasks.start(*effect)
            case SaveWrites():
                self.storage.put_writes(*effect)
                if self.storage.holds and not self.tasks.idle:
                    self.storage.flush()  # others are at work, and it may be long until they end
                return None
            case Save():
                return self.storage.put(*effect)
            case Advance(cursor):
                return next(cursor, None)
            case Load(config):
                return self.saver.get_tuple(config)
            case LoadPieces():
                return pieces(self.saver.get_delta_channel_history, effect)
            case Listing(config, filter, before, limit):
                return iter(self.saver.list(config, filter=filter, before=before, limit=limit))
            case Cancel(wait):
                return self.tasks.cancel(wait)
            case Reply(to, outcome):
                return to.settle(outcome)
            case Warn(message):
                return logger.warning(message)
            case Emit():
                raise TypeError("Emit is for the reader of the stream, not to be performed.")
            case _:
                assert_never(effect)


class AsyncDriver:
    """Performs effects on the running event loop, with a saver's async methods.

    `drive` is an async generator, which cannot return a value; the program's is in `result`.
    """

    def __init__(
        self,
        saver: Saver | None,
        limit: int | None = None,
        live: bool = False,
        durability: Durability = "sync",
        around: Around | None = None,
        inner: Inner | None = None,
    ) -> None:
        self.saver: Saver = NO_SAVER if saver is None else saver
        self.storage = async_storage(saver, durability, inner)
        self.tasks = LoopRunner(limit, live, around or Around(saver, durability))
        self.result: Any = None

    async def drive(self, program: Program) -> AsyncGenerator[Emit, None]:
        answer: Any = None
        problem: Exception | None = None
        leaving: BaseException | None = None
        try:
            while True:
                try:
                    effect = program.throw(problem) if problem else program.send(answer)
                except StopIteration as end:
                    if leaving is not None:
                        raise leaving from None
                    self.result = end.value
                    break
                except Stopped:
                    raise leaving or Stopped from None
                answer = problem = None
                try:
                    if isinstance(effect, Emit):
                        yield effect
                    else:
                        answer = await self.perform(effect)
                        while isinstance(answer, Emit):  # a task says something; wait on
                            if leaving is None:
                                yield answer
                            answer = await self.perform(effect)
                except Exception as error:
                    problem = error
                except BaseException as error:
                    leaving, problem = error, Stopped()
        except BaseException as error:
            try:
                await self.storage.finish()
            except Exception as problem:
                not_stored(error, problem)
            raise
        finally:
            self.tasks.close()
        await self.storage.finish(self.result)

    async def perform(self, effect: Effect) -> Any:
        match effect:
            case Next():
                return await self.tasks.next()
            case Start():
                return self.tasks.start(*effect)
            case SaveWrites():
                return await self.storage.put_writes(*effect)
            case Save():
                return await self.storage.put(*effect)
            case Advance(cursor):
                return await anext(cursor, None)
            case Load(config):
                return await self.saver.aget_tuple(config)
            case LoadPieces():
                return await pieces(self.saver.aget_delta_channel_history, effect)
            case Listing(config, filter, before, limit):
                return self.saver.alist(config, filter=filter, before=before, limit=limit)
            case Cancel(wait):
                return self.tasks.cancel(wait)
            case Reply(to, outcome):
                return to.settle(outcome)
            case Warn(message):
                return logger.warning(message)
            case Emit():
                raise TypeError("Emit is for the reader of the stream, not to be performed.")
            case _:
                assert_never(effect)


def pieces(method: Callable[..., Any], effect: LoadPieces) -> Any:
    """Ask a saver for what is stored in pieces. One that writes the method anew need not be able to
    make use of what is known."""
    if effect.known and takes_known(getattr(method, "__func__", method)):
        return method(**effect._asdict())
    return method(config=effect.config, channels=effect.channels)


def not_stored(error: BaseException, problem: Exception) -> None:
    """A run that failed could not be stored either; its own error counts."""
    if problem is not error:
        add_note(error, f"What the run had left to store could not be stored: {problem!r}")


def finish(driving: Generator[Emit, None, Any]) -> Any:
    """Drive to the end without looking at what is emitted; the program's return value."""
    while True:
        try:
            next(driving)
        except StopIteration as end:
            return end.value


async def afinish(driver: AsyncDriver, program: Program) -> Any:
    """The same for an async driver."""
    async for _ in driver.drive(program):
        pass
    return driver.result
