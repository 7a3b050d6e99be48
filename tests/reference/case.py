"""Two transcripts of one scenario that differ, and how a known difference is recognised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .scenario import Call, Scenario
from .transcript import Entry


@dataclass(frozen=True)
class Case:
    """Two transcripts of one scenario, and the number of the first entry that differs."""

    scenario: Scenario
    number: int
    reference: list[Entry]
    other: list[Entry]

    @property
    def call(self) -> Call:
        """The call whose entry differs; the last entry, what is stored, belongs to none."""
        return [*self.scenario.calls, Call("stored")][self.number]

    def raised(self, *names: str) -> list[Call]:
        """The calls up to here that raised one of `names`, on both sides."""
        told = zip(self.scenario.calls, self.reference[: self.number + 1], self.other)
        return [call for call, one, two in told if one.get("raises") == two.get("raises") in names]


@dataclass(frozen=True)
class Difference:
    """A row of the ledger, `docs/differences.md`, by its first words; and how to recognise it."""

    name: str
    explains: Callable[[Case], bool]
