"""What came out: one result for each capability, and what they come to together.

level           the five that must be          the four that may be
FULL            none failed                    none failed
BASE+PARTIAL    all are there, and passed      some failed
BASE            some passed, not all           whatever, but something failed
NONE            none passed                    whatever, but something failed

What is not there, or was not asked, has not failed. So a level alone says nothing about it, as in
the reference: a class without any method is ``FULL``. `CapabilityReport.passed_all_base` wants all
five, and the printed report names what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from minigraph.checkpoint.conformance.capabilities import (
    BASE_CAPABILITIES,
    EXTENDED_CAPABILITIES,
    Capability,
)

__all__ = ["CapabilityReport", "CapabilityResult", "ProgressCallbacks"]


@dataclass
class CapabilityResult:
    """How one capability fared.

    Fields:
        detected: whether the saver has it, and was asked about it.
        passed: whether all its checks passed; ``None`` if none ran.
        tests_passed, tests_failed: how many checks did.
        tests_skipped: 1 for a capability of which no check ran.
        failures: what is wrong, each as ``name of the check: why``, and in a second line what a
            saver that is right does.
    """

    detected: bool = False
    passed: bool | None = None
    tests_passed: int = 0
    tests_failed: int = 0
    tests_skipped: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass
class CapabilityReport:
    """How a saver fared (SV-70).

    Fields:
        checkpointer_name: as it was registered.
        results: name of the capability → result.
        methods: name of the capability → the saver's own methods for it: sync, async, both or none.

    >>> report = CapabilityReport("mine", {"put": CapabilityResult(True, False)})
    >>> report.passed_all(), report.passed_all_base(), report.conformance_level()
    (False, False, 'NONE')
    """

    checkpointer_name: str
    results: dict[str, CapabilityResult] = field(default_factory=dict)
    methods: dict[str, Sequence[str]] = field(default_factory=dict)

    def _passed(self, capability: Capability) -> bool | None:
        result = self.results.get(capability.value)
        return result.passed if result else None

    def passed_all_base(self) -> bool:
        """Whether what every saver must be able to do is there, and right."""
        return all(self._passed(each) for each in BASE_CAPABILITIES)

    def passed_all(self) -> bool:
        """Whether nothing failed. What is not there, or was not asked, does not count."""
        return all(result.passed is not False for result in self.results.values())

    def conformance_level(self) -> str:
        """``FULL``, ``BASE+PARTIAL``, ``BASE`` or ``NONE``, as in the table above.

        As in the reference, what was not asked does not count against ``FULL``.
        """
        if self.passed_all():
            return "FULL"
        if self.passed_all_base():
            return "BASE+PARTIAL"
        return "BASE" if any(self._passed(each) for each in BASE_CAPABILITIES) else "NONE"

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "checkpointer_name": self.checkpointer_name,
            "conformance_level": self.conformance_level(),
            "results": {name: asdict(result) for name, result in self.results.items()},
        }

    def print_report(self) -> None:
        """Print a line for each capability: how many checks passed, and which methods there are;
        and below it what is wrong with it."""
        print(f"Saver: {self.checkpointer_name}")
        for title, group in (("must", BASE_CAPABILITIES), ("may", EXTENDED_CAPABILITIES)):
            print(f"\n  What a saver {title} do")
            for capability in Capability:
                result = self.results.get(capability.value, CapabilityResult())
                if capability in group:
                    mark = {True: "✓", False: "✗", None: "–"}[result.passed]
                    ran = result.tests_passed + result.tests_failed
                    count = f"{result.tests_passed} of {ran}" if ran else "not asked"
                    names = self.methods.get(capability.value)
                    if names is not None:
                        count = f"{count:<10} {', '.join(names)}" if names else "not there"
                    print(f"    {mark} {capability.value:<25} {count}")
                    for failure in result.failures:
                        print("        " + failure.replace("\n", "\n          "))
        print(f"\n  Level: {self.conformance_level()}{self._reservations()}")

    def _reservations(self) -> str:
        """What the level says nothing about."""
        unknown = [
            each.value
            for each in Capability
            if each in BASE_CAPABILITIES and self._passed(each) is None
        ]
        absent = [name for name in unknown if not self.methods.get(name, True)]
        unasked = [name for name in unknown if name not in absent]
        return "".join(
            [
                f", without {', '.join(absent)}, which a saver must have" if absent else "",
                f", not asked about {', '.join(unasked)}" if unasked else "",
            ]
        )


class ProgressCallbacks:
    """Who is told while the checks run.

    Args:
        on_capability_start: called with the capability's name, and whether it will be checked.
        on_test_result: called with capability, name of the check, whether it passed, and why not.
        on_capability_end: called with the capability's name.
    """

    def __init__(
        self,
        *,
        on_capability_start: Callable[[str, bool], None] | None = None,
        on_test_result: Callable[[str, str, bool, str | None], None] | None = None,
        on_capability_end: Callable[[str], None] | None = None,
    ) -> None:
        self.on_capability_start = on_capability_start or (lambda capability, detected: None)
        self.on_test_result = on_test_result or (lambda capability, check, passed, why: None)
        self.on_capability_end = on_capability_end or (lambda capability: None)

    @classmethod
    def quiet(cls) -> ProgressCallbacks:
        """Nobody."""
        return cls()

    @classmethod
    def default(cls) -> ProgressCallbacks:
        """The terminal: a line for each capability, a dot or an F for each check."""
        return cls(
            on_capability_start=lambda name, detected: print(
                f"  {name}: {'' if detected else 'skipped'}", end="", flush=True
            ),
            on_test_result=lambda _, __, passed, ___: print(
                "." if passed else "F", end="", flush=True
            ),
            on_capability_end=lambda name: print(),
        )

    @classmethod
    def verbose(cls) -> ProgressCallbacks:
        """The terminal: a line for each check, and why it failed."""
        return cls(
            on_capability_start=lambda name, detected: print(
                f"  {name}{'' if detected else ': skipped'}"
            ),
            on_test_result=lambda _, check, passed, why: print(
                f"    ✓ {check}" if passed else f"    ✗ {check}\n{why}"
            ),
        )
