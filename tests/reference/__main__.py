"""Run the comparison at length: ``python -m tests.reference --examples 5000 --seed 7``.

Prints what was drawn how often, alone and in pairs, so that nobody has to hope that the scenarios
reach a corner. Where the packages part it prints the smallest scenario found, the place, and a
program that shows it on either package.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from hypothesis import HealthCheck, Phase, given, seed, settings

from .differences import Difference, Mismatch, judge
from .generate import scenarios
from .reduce import reduce
from .scenario import LATEST, START, Scenario, send_target
from .script import script


def features(scenario: Scenario) -> Iterator[str]:
    """The names of what a scenario uses."""
    targets = [target for branch in scenario.branches for c in branch.choices for target in c]
    yield "saver" if scenario.saver else "no saver"
    yield from (f"key {key.kind}" for key in scenario.keys)
    for node in scenario.nodes:
        yield f"returns {node.returns}"
        yield from (f"write {write.how}" for write in node.writes)
        yield from ["fails"] * bool(node.fails) + ["defer"] * node.defer
        yield from ["coroutine"] * node.coroutine + ["goto"] * bool(node.goto)
    for edge in scenario.edges:
        yield "join" if len(edge.sources) > 1 else "edge"
    for branch in scenario.branches:
        yield "entry branch" if branch.source == START else "branch"
    if any(
        send_target(target) for target in [*targets, *(g for n in scenario.nodes for g in n.goto)]
    ):
        yield "send"
    for call in scenario.calls[:-2]:  # the last two are always the same
        driver = "async" if call.asynchronous else "sync"
        kind = call.op
        if call.op in ("invoke", "stream"):
            kind = "resume" if call.input is None else "start"
            kind += "" if call.at is LATEST else " there"
        yield f"{driver} {kind}"
        yield from [f"as {_role(call.as_node)}"] * (call.op == "update")
        yield from ["run_id"] * bool(call.run_id) + ["limit"] * bool(call.recursion_limit)


def _role(as_node: str | None) -> str:
    return "inferred" if as_node is None else as_node if as_node.startswith("__") else "node"


def run(examples: int, number: int, package: str) -> int:
    """Draw `examples` scenarios; 0 where none shows an unknown difference."""
    alone: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    known: Counter[str] = Counter()
    found: list[tuple[Scenario, Mismatch]] = []

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(scenarios())
    def compare(scenario: Scenario) -> None:
        if found:
            return
        verdict = judge(scenario, package)
        if isinstance(verdict, Mismatch):
            found.append((scenario, verdict))
        present = sorted(set(features(scenario)))
        alone.update(present)
        together.update(combinations(present, 2))
        known.update([verdict.name] if isinstance(verdict, Difference) else [])

    compare()
    if not found:
        _report(alone, together, known)
        return 0
    scenario, mismatch = reduce(*found[0], package)
    print(script(scenario))
    print(f"# {scenario}\n")
    print("# " + str(mismatch).replace("\n", "\n# "))
    return 1


def _report(alone: Counter[str], together: Counter[tuple[str, str]], known: Counter[str]) -> None:
    print("known differences met:", dict(known))
    print("\ndrawn:")
    for name, count in alone.most_common():
        print(f"{count:7} {name}")
    pairs = sorted(combinations(sorted(alone), 2), key=lambda pair: together[pair])
    print(f"\npairs: {len(together)} of {len(pairs)} were drawn; the rarest:")
    for pair in pairs[: len(pairs) // 10]:
        print(f"{together[pair]:7} {pair[0]} + {pair[1]}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reference", description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pkg", default="minigraph", help="what to hold against the reference")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)  # both packages warn of writes to unknown channels
    return run(arguments.examples, arguments.seed, arguments.pkg)


if __name__ == "__main__":
    sys.exit(main())
