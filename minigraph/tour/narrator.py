"""The narrator: a driver that tells what it is asked to do.

A program yields effects, and a driver performs them (see `pregel.effects`). So a driver
that also talks needs no hook anywhere in the machine:

    program ── Start(tasks) ──▶ Narrator ──▶  plan    node node_a: …
            ◀───── Finished ───          ──▶  run     foo   'a'
            ── Save(checkpoint) ▶        ──▶  update  foo   'a'   v2 ─▶ v3

Every name, value, version and id that it shows comes from an effect, from the answer to
one, or from the saver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from minigraph.graph.compile import CompiledStateGraph
from minigraph.pregel.drive import Driver
from minigraph.pregel.effects import Effect, Finished, Next, Save, Start, View
from minigraph.pregel.live import Version
from minigraph.pregel.plan import Task
from minigraph.tour.page import ACCENT, BOLD, ID, PLAIN, QUIET, VALUE, Page, Span, fitted
from minigraph.types import RunnableConfig, StateSnapshot

# The columns: the phase, a channel, its value, and a note.
PHASE: Final = 10
CHANNEL: Final = 18
SHOWN: Final = 23


class Narrator(Driver):
    """Drives programs of `graph`, and tells on `page` what they do.

    Args:
        graph: the graph, with a saver.
        page: where to tell it.
        remarks: what to say at each super-step, in order; there may be fewer.

    Attributes:
        ran: the nodes that were run, in order.
    """

    def __init__(self, graph: CompiledStateGraph, page: Page, remarks: Sequence[str] = ()) -> None:
        super().__init__(graph.checkpointer)
        self.graph = graph
        self.page = page
        self.remarks = iter(remarks)
        self.names: dict[str, str] = {}
        self.given = False
        self.ran: list[str] = []

    def perform(self, effect: Effect) -> Any:
        if isinstance(effect, Start):
            self.tell_plan(effect.tasks, effect.view)
        answer = super().perform(effect)
        if isinstance(effect, Next) and isinstance(answer, Finished):
            self.tell_writes(answer)
        elif isinstance(effect, Save):
            self.tell_update(effect)
            self.tell_save(effect)
        return answer

    def tell_plan(self, tasks: Sequence[Task], view: View) -> None:
        """The tasks of the super-step that begins, and why each of them runs."""
        self.names = {task.id: task.name for task in tasks}
        self.given = view.results is not None
        self.page.line()
        self.page.line((f"super-step {view.step}", BOLD))
        self.page.paragraph(next(self.remarks, ""))
        phase = "  plan"
        for task in tasks:
            if self.given:
                reason = f"node {task.name}: not run, its result is given"
            else:
                self.ran.append(task.name)
                reason = f"node {task.name}: {causes_text(task)}"
            self.page.paragraph(reason, phase, PHASE)
            phase = ""

    def tell_writes(self, outcome: Finished) -> None:
        """What a task wrote."""
        phase = "given" if self.given else "run"
        for channel, value in outcome.writes:
            self.row(phase, channel, repr(value), self.names[outcome.task_id])
            phase = ""

    def tell_update(self, save: Save) -> None:
        """The channels that the update changed, with their versions before and after."""
        values = save.checkpoint["channel_values"]
        before = self.versions_before(save.config)
        phase = "input" if save.metadata["source"] == "input" else "update"
        for name in self.graph.channels:
            if name in save.new_versions:
                value = repr(values[name]) if name in values else "(empty)"
                old = version_text(before[name]) if name in before else "new"
                self.row(phase, name, value, f"{old:>3} ─▶ {version_text(save.new_versions[name])}")
                phase = ""

    def tell_save(self, save: Save) -> None:
        """The checkpoint."""
        parent = save.config["configurable"].get("checkpoint_id")
        self.page.line(
            ("  save".ljust(PHASE), ACCENT),
            (short(save.checkpoint["id"]), ID),
            (f", step {save.metadata['step']}, {save.metadata['source']}", PLAIN),
            (f", child of {short(parent)}" if parent else ", without parent", PLAIN),
        )

    def tell_result(self, result: Any) -> None:
        """What the run returned."""
        self.page.line(("  return".ljust(PHASE), ACCENT), (repr(result), VALUE))
        self.page.line()

    def versions_before(self, config: RunnableConfig) -> Mapping[str, Version]:
        """The versions in the checkpoint that `config` names; nothing if it names none."""
        if self.saver is None or "checkpoint_id" not in config["configurable"]:
            return {}
        saved = self.saver.get_tuple(config)
        return saved.checkpoint["channel_versions"] if saved else {}

    def row(self, phase: str, channel: str, value: str, note: str) -> None:
        self.page.line(
            (f"  {phase}".ljust(PHASE), ACCENT),
            (fitted(channel, CHANNEL), PLAIN),
            (fitted(value, SHOWN), VALUE),
            (note, QUIET),
        )


def causes_text(task: Task) -> str:
    """Why a task was planned, in words."""
    return "; ".join(
        f"channel {cause.channel} is at {version_text(cause.version)}, and it has seen "
        f"{version_text(cause.seen)}"
        for cause in task.because
    )


def version_text(version: Version | None) -> str:
    """The counter of a version, without the random part behind it.

    >>> version_text("00000000000000000000000000000002.0.8374465361247"), version_text(None)
    ('v2', 'none')
    """
    return "none" if version is None else f"v{int(str(version).partition('.')[0])}"


def short(checkpoint_id: str) -> str:
    """The two ends of an id: the clock, and the random part that tells neighbours apart.

    >>> short("1f1ecdc3-9aed-6706-8002-5b3acc3db6e2")
    '1f1e…b6e2'
    """
    return f"{checkpoint_id[:4]}…{checkpoint_id[-4:]}"


# ---------------------------------------------------------------- a thread


def id_of(config: RunnableConfig | None) -> str:
    """The checkpoint that a config names; empty if there is no config."""
    name: str = config["configurable"]["checkpoint_id"] if config else ""
    return name


def tell_checkpoints(
    page: Page, history: Sequence[StateSnapshot], keys: Sequence[str], *, as_tree: bool = False
) -> None:
    """A table of checkpoints with the values of `keys`, oldest first, or with a tree beside it."""
    rows: list[list[Span]] = []
    for drawn, each in tree(history) if as_tree else [("", each) for each in history]:
        metadata = each.metadata or {}
        rows.append(
            [
                (drawn, QUIET),
                (f"{metadata['step']:>4}", PLAIN),
                (metadata["source"], PLAIN),
                (short(id_of(each.config)), ID),
                (", ".join(each.next) or "-", ACCENT if each.next else QUIET),
                *((repr(each.values[k]) if k in each.values else "", PLAIN) for k in keys),
            ]
        )
    page.table(["", "step", "source", "checkpoint", "next", *keys], rows)


def tree(history: Sequence[StateSnapshot]) -> Iterator[tuple[str, StateSnapshot]]:
    """Each checkpoint after its parent, and a drawing to stand beside it.

    A line goes straight down for as long as nothing forks.

    Args:
        history: checkpoints, oldest first.
    """
    children: dict[str, list[StateSnapshot]] = {}
    for each in history:
        children.setdefault(id_of(each.parent_config), []).append(each)

    def grow(each: StateSnapshot, lead: str, rest: str) -> Iterator[tuple[str, StateSnapshot]]:
        yield f"{lead}●", each
        below = children.get(id_of(each.config), [])
        if len(below) == 1:
            yield from grow(below[0], rest, rest)
        elif below:
            for child in below[:-1]:
                yield from grow(child, f"{rest}├─", f"{rest}│ ")
            yield from grow(below[-1], f"{rest}└─", f"{rest}  ")

    for first in children.get("", []):
        yield from grow(first, "", "")


def count_ends(history: Sequence[StateSnapshot]) -> int:
    """How many branches there are: checkpoints that nothing came after."""
    parents = {id_of(each.parent_config) for each in history}
    return sum(id_of(each.config) not in parents for each in history)
