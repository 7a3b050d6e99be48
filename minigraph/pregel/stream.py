"""The stream: how a reader gets what a run tells.

The program emits (mode, payload). What the reader holds in his hands depends on how he
asked (ST-01, ST-02):

    stream_mode="custom"       payload
    stream_mode=["custom"]     ("custom", payload)
    subgraphs=True             (namespace, payload), (namespace, "custom", payload)
    version="v2"               {"type": "custom", "ns": namespace, "data": payload}

Graphs inside of nodes tell as well, and their chunks come with the namespace of the graph; but only
if the reader wants them (`subgraphs`).

``print_mode`` is for the impatient: what it names is printed as well, and changes nothing
else (ST-32).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from typing import Any, TypeAlias

from minigraph.constants import INTERRUPT, START
from minigraph.errors import ParentCommand
from minigraph.pregel.drive import AsyncDriver
from minigraph.pregel.effects import Emit, Paused
from minigraph.pregel.events import MODES
from minigraph.pregel.nesting import Place
from minigraph.types import GraphOutput, Interrupt, StreamMode

Modes: TypeAlias = StreamMode | Sequence[StreamMode]

Maker: TypeAlias = Callable[[Any], Any]

VERSIONS = ("v1", "v2")


class Reader:
    """What somebody wants to read of a run, and in which shape.

    Args:
        stream_mode: one mode, or several.
        print_mode: modes to print.
        version: ``"v1"`` or ``"v2"``, the shape of what is read.
        make_values: makes what version 2 shows of values, and in `GraphOutput`, out of a dict.
        make_state: the same for the state of a checkpoint.
        subgraphs: read what graphs inside of nodes tell, too.

    Raises `ValueError` for a mode or version that does not exist.

    >>> Reader(["custom"]).chunk(Emit("custom", 5))
    ('custom', 5)
    >>> Reader("custom", version="v2").chunk(Emit("custom", 5))
    {'type': 'custom', 'ns': (), 'data': 5}
    """

    def __init__(
        self,
        stream_mode: Modes,
        print_mode: Modes = (),
        version: str = "v1",
        make_values: Maker | None = None,
        make_state: Maker | None = None,
        subgraphs: bool = False,
    ) -> None:
        if version not in VERSIONS:
            raise ValueError(f"version must be one of {list(VERSIONS)}, but it is {version!r}.")
        self.version = version
        self.make_values = make_values
        self.make_state = make_state
        self.bare = isinstance(stream_mode, str)
        self.read = modes_of("stream_mode", stream_mode)
        self.printed = modes_of("print_mode", print_mode)
        self.modes = self.read | self.printed
        self.subgraphs = subgraphs
        self.live = subgraphs or "custom" in self.modes

    def chunk(self, emitted: Emit) -> Any:
        """What is emitted, in the shape that was asked for."""
        mode, payload, namespace, interrupts = emitted
        if self.version == "v1":
            if interrupts:
                payload = with_questions(payload, interrupts)
            if self.subgraphs:
                return (namespace, payload) if self.bare else (namespace, mode, payload)
            return payload if self.bare else (mode, payload)
        if mode == "values":
            data = payload if namespace else self.object_of(payload)
            return {"type": mode, "ns": namespace, "data": data, "interrupts": interrupts}
        if self.make_state is not None and not namespace:
            if mode == "checkpoints":
                payload = with_object(payload, self.make_state)
            elif mode == "debug" and payload["type"] == "checkpoint":
                payload = {**payload, "payload": with_object(payload["payload"], self.make_state)}
        return {"type": mode, "ns": namespace, "data": payload}

    def object_of(self, values: Any) -> Any:
        """Values as an object of the output schema, where that makes objects."""
        return values if self.make_values is None else self.make_values(values)

    def output(self, result: Any) -> Any:
        """What `invoke` returns: bare, or in version 2 as a `GraphOutput` (ST-02, IN-20)."""
        value, interrupts = result if isinstance(result, Paused) else (result, ())
        if self.version == "v2":
            return GraphOutput(self.object_of(value), interrupts)
        return with_questions(value, list(interrupts)) if interrupts else value

    def wants(self, emitted: Emit) -> bool:
        """Whether this is to be read: a graph inside of a node may tell more than was asked for."""
        return emitted.mode in self.read and (self.subgraphs or not emitted.namespace)

    def chunks(
        self, driving: Generator[Emit, None, Any], place: Place
    ) -> Generator[Any, None, Any]:
        """What a driver yields, for this reader. Returns the result of the run.

        Closing it closes the driver, so that what goes wrong then reaches who closes.
        """
        runs = None if place.task is None else place.task.around.inner_runs
        if runs is not None:
            runs.add(1)
        try:
            while True:
                try:
                    emitted = next(driving)
                except StopIteration as end:
                    return place.result(end.value)
                if emitted.mode in self.printed and (self.subgraphs or not emitted.namespace):
                    show(emitted)
                place.pass_on(emitted)
                if self.wants(emitted):
                    yield self.chunk(emitted)
        except ParentCommand as sent:
            raise place.arrived(sent) from None
        finally:
            driving.close()
            if runs is not None:
                runs.add(-1)

    async def achunks(
        self, driving: AsyncGenerator[Emit, None], place: Place, driver: AsyncDriver | None = None
    ) -> AsyncGenerator[Any, None]:
        """The same for an async driver, whose result is its own attribute; at the end the result of
        `driver`, if it is given, is asked for."""
        try:
            async for emitted in driving:
                if emitted.mode in self.printed and (self.subgraphs or not emitted.namespace):
                    show(emitted)
                place.pass_on(emitted)
                if self.wants(emitted):
                    yield self.chunk(emitted)
            if driver is not None:
                place.result(driver.result)
        except ParentCommand as sent:
            raise place.arrived(sent) from None
        finally:
            # An async generator that is dropped is closed "some time later"; a run is not.
            await driving.aclose()


def with_object(checkpoint: dict[str, Any], make: Maker) -> dict[str, Any]:
    """A checkpoint's event with its state as an object. Where START is next there is none yet."""
    if START in checkpoint["next"]:
        return checkpoint
    return {**checkpoint, "values": make(checkpoint["values"])}


def with_questions(values: Any, interrupts: Sequence[Interrupt]) -> Any:
    """Values, and the questions for which the run stops. Values that are no dict are left out.

    >>> with_questions({"x": 1}, [])
    {'x': 1, '__interrupt__': []}
    """
    return {**(values if isinstance(values, dict) else {}), INTERRUPT: interrupts}


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
    """Print a chunk, its mode in bold; what a graph in a node tells, with its namespace."""
    mode, payload, namespace, interrupts = emitted
    told = with_questions(payload, interrupts) if interrupts else payload
    inside = f"\033[1;30;33m[graph={namespace!r}]\033[0m " if namespace else ""
    print(f"\033[1m[{mode}]\033[0m {inside}{told!r}")
