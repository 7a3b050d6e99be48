"""Who runs the checks.

    @checkpointer_test(name="mine")
    async def mine():                 opened once for each capability, closed after its checks
        yield MySaver()

    report = await validate(mine)     what it can do is found out; all of that is checked

A check uses threads of its own, so a saver may be on a store in which there is something already;
but the checks leave behind what they have put there.
"""

from __future__ import annotations

import traceback
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import Any, Final, TypeAlias

from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.checkpoint.conformance.bench import Bench, Check, misshapen
from minigraph.checkpoint.conformance.capabilities import (
    BASE_CAPABILITIES,
    Capability,
    chosen,
    has_both,
    is_there,
)
from minigraph.checkpoint.conformance.gathering import GET_DELTA_CHANNEL_HISTORY
from minigraph.checkpoint.conformance.reading import GET_TUPLE, LIST
from minigraph.checkpoint.conformance.removing import (
    COPY_THREAD,
    DELETE_FOR_RUNS,
    DELETE_THREAD,
    PRUNE,
)
from minigraph.checkpoint.conformance.report import (
    CapabilityReport,
    CapabilityResult,
    ProgressCallbacks,
)
from minigraph.checkpoint.conformance.saving import PUT, PUT_WRITES

__all__ = ["CHECKS", "RegisteredCheckpointer", "checkpointer_test", "validate"]

CHECKS: Final[dict[Capability, tuple[Check, ...]]] = {
    Capability.PUT: PUT,
    Capability.PUT_WRITES: PUT_WRITES,
    Capability.GET_TUPLE: GET_TUPLE,
    Capability.LIST: LIST,
    Capability.DELETE_THREAD: DELETE_THREAD,
    Capability.DELETE_FOR_RUNS: DELETE_FOR_RUNS,
    Capability.COPY_THREAD: COPY_THREAD,
    Capability.PRUNE: PRUNE,
    Capability.GET_DELTA_CHANNEL_HISTORY: GET_DELTA_CHANNEL_HISTORY,
}
"""All checks there are."""

SaverFactory: TypeAlias = Callable[[], AsyncGenerator[BaseCheckpointSaver[Any], None]]
Lifespan: TypeAlias = Callable[[], AsyncGenerator[None, None]]


async def no_lifespan() -> AsyncGenerator[None, None]:
    """Nothing to prepare, nothing to clean up."""
    yield


@dataclass
class RegisteredCheckpointer:
    """A saver that can be checked: what `checkpointer_test` makes of a function.

    Fields:
        name: what the report calls it.
        factory: the function; it yields a saver.
        skip_capabilities: names of what is not to be checked.
        lifespan: an async generator function; what stands before its ``yield`` happens once before
            all checks, what stands after it once at the end.
    """

    name: str
    factory: SaverFactory
    skip_capabilities: Collection[str] = frozenset()
    lifespan: Lifespan = no_lifespan

    @asynccontextmanager
    async def create(self) -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        """A saver, for an ``async with`` block. Raises `TypeError` if the function yields none."""
        async with AsyncExitStack() as stack:
            made: Any = self.factory()
            if not isinstance(made, AsyncGenerator):
                raise TypeError(no_factory(self.name, self.factory))
            try:
                saver = await stack.enter_async_context(asynccontextmanager(lambda: made)())
            except RuntimeError as error:
                if str(error) != "generator didn't yield":
                    raise
                raise TypeError(
                    f"What makes the saver {self.name!r} has ended without yielding one. Write "
                    "`yield saver` where it is ready to be used."
                ) from None
            if not isinstance(saver, BaseCheckpointSaver):
                raise TypeError(
                    f"What {self.name!r} yields must be a BaseCheckpointSaver, but it is "
                    f"{saver!r}. Derive your class from "
                    "minigraph.checkpoint.base.BaseCheckpointSaver."
                )
            yield saver

    def enter_lifespan(self) -> AbstractAsyncContextManager[None]:
        """What holds for all checks, for an ``async with`` block."""
        return asynccontextmanager(self.lifespan)()


def checkpointer_test(
    name: str,
    *,
    skip_capabilities: Collection[str] | None = None,
    lifespan: Lifespan | None = None,
) -> Callable[[SaverFactory], RegisteredCheckpointer]:
    """A decorator for an async generator function that yields a saver (SV-70).

    Args:
        name: what the report calls the saver.
        skip_capabilities: names of what is not to be checked, such as ``{"prune"}``.
        lifespan: see `RegisteredCheckpointer`.

    Raises `ValueError` for a capability that does not exist, and `TypeError` for a function of
    another kind, or the saver's class itself.

    >>> import asyncio
    >>> from minigraph.checkpoint.memory import InMemorySaver
    >>> @checkpointer_test(name="memory")
    ... async def memory():
    ...     yield InMemorySaver()
    >>> report = asyncio.run(validate(memory, capabilities={"prune"}))
    >>> report.results["prune"].tests_passed, report.results["prune"].failures
    (7, [])
    """
    if not isinstance(name, str):
        raise TypeError(
            f"A saver to be checked needs a name, but got {name!r}. Write "
            '@checkpointer_test(name="mine") above the function.'
        )
    skipped = {each.value for each in chosen(skip_capabilities or (), "skip_capabilities")}

    def register(factory: SaverFactory) -> RegisteredCheckpointer:
        is_class = isinstance(factory, type)
        is_other = iscoroutinefunction(factory) or isgeneratorfunction(factory)
        if is_class or is_other or not callable(factory):
            raise TypeError(no_factory(name, factory))
        return RegisteredCheckpointer(name, factory, skipped, lifespan or no_lifespan)

    return register


def no_factory(name: str, found: Any) -> str:
    """The words for what is no function that yields a saver."""
    return (
        f"What makes the saver {name!r} must be an async generator function, but it is {found!r}. "
        "Write `async def`, and `yield` the saver instead of returning it."
    )


async def validate(
    registered: RegisteredCheckpointer,
    *,
    capabilities: Collection[str] | None = None,
    progress: ProgressCallbacks | None = None,
) -> CapabilityReport:
    """Check a saver (SV-70, SV-71).

    Args:
        registered: made by `checkpointer_test`.
        capabilities: names of what to check. By default everything that the saver has.
        progress: who is told meanwhile.

    Returns the report, in which there is a result for each capability, also for one that was not
    checked. A check that fails is an entry there and no error. Raises `ValueError` for a
    capability that does not exist, `TypeError` for what is not registered or no saver, and
    whatever the function or its `lifespan` raises. Where a method is of the wrong kind, such as an
    `aput` that is not async, that is the one failure, and no check is run.
    """
    if not isinstance(registered, RegisteredCheckpointer):
        raise TypeError(
            f"validate needs what @checkpointer_test(name=…) makes of a function, but got "
            f"{registered!r}. Put the decorator above the async function that yields your saver."
        )
    wanted = {*Capability} if capabilities is None else chosen(capabilities, "capabilities")
    wanted -= chosen(registered.skip_capabilities, "skip_capabilities")
    report = CapabilityReport(registered.name)
    progress = progress or ProgressCallbacks.quiet()
    needed = BASE_CAPABILITIES | wanted
    wrong: dict[str, str] | None = None
    async with registered.enter_lifespan():
        for capability, checks in CHECKS.items():
            name = capability.value
            async with registered.create() as saver:
                wrong = await misshapen(saver, needed) if wrong is None else wrong
                benches, second = [Bench(saver)], Bench(saver, prefers_sync=True)
                if has_both(saver) and (wrong or await second.is_offered()):
                    benches.append(second)
                methods = [each for each in (name, f"a{name}") if is_there(saver, each)]
                if len(methods) == 2 and len(benches) == 1:
                    methods = methods[1:]  # the sync one only says that there is none
                report.methods[name] = methods
                if name in wrong:
                    progress.on_capability_start(name, True)
                    progress.on_test_result(name, methods[-1], False, wrong[name])
                    result = CapabilityResult(True, False, tests_failed=1, failures=[wrong[name]])
                elif methods and capability in wanted and not wrong:
                    progress.on_capability_start(name, True)
                    result = await run(name, checks, benches, progress)
                else:
                    progress.on_capability_start(name, False)
                    result = CapabilityResult(tests_skipped=1)
            progress.on_capability_end(name)
            report.results[name] = result
    return report


async def run(
    capability: str,
    checks: Collection[Check],
    benches: Sequence[Bench],
    progress: ProgressCallbacks,
) -> CapabilityResult:
    """One capability's checks, one after the other, whatever becomes of each. A check passes if it
    does so on all benches."""
    result = CapabilityResult(detected=True)
    for check in checks:
        name = getattr(check, "__name__", repr(check))
        bench = benches[0]
        try:
            for bench in benches:
                await check(bench)
        except Exception as error:
            which = "with the sync methods, " if bench.prefers_sync else ""
            rule = " ".join((check.__doc__ or "").split())
            result.tests_failed += 1
            result.failures.append(f"{name}: {which}{reason(error, bench.saver)}\n{rule}")
            progress.on_test_result(capability, name, False, traceback.format_exc())
        else:
            result.tests_passed += 1
            progress.on_test_result(capability, name, True, None)
    result.passed = result.tests_failed == 0
    return result


def reason(error: Exception, saver: BaseCheckpointSaver[Any]) -> str:
    """Why a check has failed: in its own words; or what was raised, and where in the saver."""
    frames = [
        (frame.f_globals.get("__name__", ""), f"{frame.f_code.co_filename}:{line}")
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    kit = __name__.rpartition(".")[0]
    if isinstance(error, AssertionError) and frames[-1][0].startswith(kit):
        return str(error)
    # The deepest line in the saver's own module; if there is none, in that of a class below it.
    places = [
        place
        for cls in type(saver).__mro__
        for module, place in reversed(frames)
        if module == cls.__module__
    ]
    said = " ".join("".join(traceback.format_exception_only(error)).split("\n")).strip()
    return f"{said} ({[*places, frames[-1][1]][0]})"
