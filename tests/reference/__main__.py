"""Run the comparison at length: ``python -m tests.reference --examples 5000 --seed 7``.

Prints what was drawn how often, alone and in pairs, so that nobody has to hope that the scenarios
reach a corner; and fails where a pair that is possible was not drawn often enough. Where the
packages part it prints the smallest scenario found, the place, and a program that shows it on
either package.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Callable
from itertools import combinations

from hypothesis import HealthCheck, Phase, given, seed, settings

from .differences import Difference, Mismatch, judge
from .features import ENOUGH, FEATURES, LONG, features, impossible
from .generate import scenarios
from .reduce import reduce
from .scenario import Scenario
from .script import script

BLOCK = 100
"""Hypothesis varies what it has drawn, so that two features often go together or never do. It
starts anew after so many."""


class Drawn:
    """How often each feature was drawn, and each two of them."""

    def __init__(self) -> None:
        self.scenarios = 0
        self.alone: Counter[str] = Counter()
        self.together: Counter[tuple[str, str]] = Counter()

    def count(self, scenario: Scenario) -> None:
        present = sorted(features(scenario))
        self.scenarios += 1
        self.alone.update(present)
        self.together.update(combinations(present, 2))

    def report(self) -> bool:
        """Print it all. False where a pair is too rare, or was drawn though it is impossible."""
        print("drawn:")
        for name, count in self.alone.most_common():
            print(f"{count:7} {name}")
        pairs = list(combinations(sorted(FEATURES), 2))
        wrong = [pair for pair in pairs if impossible(*pair) and self.together[pair]]
        possible = [pair for pair in pairs if not impossible(*pair)]
        possible.sort(key=lambda pair: self.together[pair])
        enough = ENOUGH * self.scenarios / LONG if self.scenarios < LONG else ENOUGH
        rare = [pair for pair in possible if self.together[pair] < enough]
        print(f"\n{len(FEATURES)} features, {len(pairs)} pairs: {len(possible)} possible;")
        print(f"drawn fewer than {enough:g} times: {len(rare)}. The rarest:")
        for pair in possible[: max(50, len(rare))]:
            print(f"{self.together[pair]:7} {pair[0]} + {pair[1]}")
        for pair in wrong:
            print(f"drawn, but said to be impossible: {pair[0]} + {pair[1]}: {impossible(*pair)}")
        projected = "" if self.scenarios >= LONG else f" (projected to {LONG} scenarios)"
        print(f"every possible pair is drawn often enough{projected}: {'no' if rare else 'yes'}")
        return not wrong and (not rare or self.scenarios < LONG)


def _draw(examples: int, number: int, use: Callable[[Scenario], None]) -> None:
    """Draw so many scenarios, not depending on what was drawn before with another number."""

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(scenarios())
    def draw(scenario: Scenario) -> None:
        use(scenario)

    draw()


def run(examples: int, number: int, package: str | None) -> int:
    """Draw `examples` scenarios; 0 where none shows an unknown difference, and all was drawn."""
    drawn = Drawn()
    known: Counter[str] = Counter()
    found: list[tuple[Scenario, Mismatch]] = []

    def compare(scenario: Scenario) -> None:
        if found:
            return
        verdict = judge(scenario, package) if package else None
        if isinstance(verdict, Mismatch):
            found.append((scenario, verdict))
        known.update([verdict.name] if isinstance(verdict, Difference) else [])
        drawn.count(scenario)

    for start in range(0, examples, BLOCK):
        _draw(min(BLOCK, examples - start), number * LONG + start, compare)
    if found and package:
        scenario, mismatch = reduce(*found[0], package)
        print(script(scenario))
        print(f"# {scenario}\n")
        print("# " + str(mismatch).replace("\n", "\n# "))
        return 1
    print("known differences met:", dict(known), end="\n\n")
    return 0 if drawn.report() else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reference", description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pkg", default="minigraph", help="what to hold against the reference")
    parser.add_argument("--draw-only", action="store_true", help="count, and compare nothing")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)  # both packages warn of writes to unknown channels
    package = None if arguments.draw_only else arguments.pkg
    return run(arguments.examples, arguments.seed, package)


if __name__ == "__main__":
    sys.exit(main())
