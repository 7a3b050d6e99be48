"""The stream: how a reader gets what a run tells.

The program emits (mode, payload). What the reader holds in his hands depends on how he
asked (ST-01, ST-02):

    stream_mode="custom"       payload
    stream_mode=["custom"]     ("custom", payload)
    version="v2"               {"type": "custom", "ns": (), "data": payload}

``print_mode`` is for the impatient: what it names is printed as well, and changes nothing
else (ST-32).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from typing import Any, TypeAlias

from minigraph.pregel.effects import Emit
from minigraph.pregel.events import MODES
from minigraph.types import StreamMode

Modes: TypeAlias = StreamMode | Sequence[StreamMode]

VERSIONS = ("v1", "v2")


class Reader:
    """What somebody wants to read of a run, and in which shape.

    Args:
        stream_mode: one mode, or several.
        print_mode: modes to print.
        version: ``"v1"`` or ``"v2"``, the shape of what is read.

    Raises `ValueError` for a mode or version that does not exist.

    >>> Reader(["custom"]).chunk(Emit("custom", 5))
    ('custom', 5)
    >>> Reader("custom", version="v2").chunk(Emit("custom", 5))
    {'type': 'custom', 'ns': (), 'data': 5}
    """

    def __init__(self, stream_mode: Modes, print_mode: Modes = (), version: str = "v1") -> None:
        if version not in VERSIONS:
            raise ValueError(f"version must be one of {list(VERSIONS)}, but it is {version!r}.")
        self.version = version
        self.bare = isinstance(stream_mode, str)
        self.read = modes_of("stream_mode", stream_mode)
        self.printed = modes_of("print_mode", print_mode)
        self.modes = self.read | self.printed
        self.live = "custom" in self.modes

    def chunk(self, emitted: Emit) -> Any:
        """What is emitted, in the shape that was asked for."""
        mode, payload = emitted
        if self.version == "v1":
            return payload if self.bare else (mode, payload)
        part = {"type": mode, "ns": (), "data": payload}
        if mode == "values":
            part["interrupts"] = ()
        return part

    def chunks(self, driving: Generator[Emit, None, Any]) -> Generator[Any, None, Any]:
        """What a driver yields, for this reader. Returns the driver's result.

        Closing it closes the driver, so that what goes wrong then reaches who closes.
        """
        try:
            while True:
                try:
                    emitted = next(driving)
                except StopIteration as end:
                    return end.value
                if emitted.mode in self.printed:
                    show(emitted)
                if emitted.mode in self.read:
                    yield self.chunk(emitted)
        finally:
            driving.close()

    async def achunks(self, driving: AsyncGenerator[Emit, None]) -> AsyncGenerator[Any, None]:
        """The same for an async driver, whose result is its own attribute."""
        try:
            async for emitted in driving:
                if emitted.mode in self.printed:
                    show(emitted)
                if emitted.mode in self.read:
                    yield self.chunk(emitted)
        finally:
            # An async generator that is dropped is closed "some time later"; a run is not.
            await driving.aclose()


def modes_of(name: str, given: Modes) -> frozenset[str]:
    """The modes of an argument. Raises `ValueError` for one that does not exist.

    >>> sorted(modes_of("stream_mode", ["values", "custom"]))
    ['custom', 'values']
    """
    named = {given} if isinstance(given, str) else given
    if not isinstance(named, Iterable) or not all(isinstance(mode, str) for mode in named):
        raise TypeError(f"{name} is a mode, or a list of modes, of {list(MODES)}; not {given!r}.")
    modes = frozenset(named)
    for mode in modes:
        if mode not in MODES:
            raise ValueError(f"{name} {mode!r} does not exist; it can be one of {list(MODES)}.")
    return modes


def show(emitted: Emit) -> None:
    """Print a chunk, its mode in bold."""
    print(f"\033[1m[{emitted.mode}]\033[0m {emitted.payload!r}")
