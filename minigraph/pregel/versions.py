"""The one rule: a node runs when a channel it listens to is newer than what it saw.

Every channel has a version. It moves when the channel changes, and at no other time. For
every node there is a note of the versions that its triggers had when it last ran. So
"is there work to do?" needs no queue and no flags; it is a comparison of two maps, and
both of them are in the checkpoint:

    channel_versions            versions_seen["b"]
    branch:to:b  3        >     branch:to:b  2            ⇒  b runs

That is why a run can stop anywhere and go on in another process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from minigraph.pregel.live import Version
from minigraph.types import new_record


class Cause(NamedTuple):
    """Why a task runs: `channel` is at `version`, and the node had seen `seen` (None: never)."""

    channel: str
    version: Version
    seen: Version | None


def causes(
    triggers: Iterable[str],
    readable: Mapping[str, Any],
    versions: Mapping[str, Version],
    seen: Mapping[str, Version] | None,
) -> tuple[Cause, ...]:
    """The triggers that are a reason to run: they have a value, and it is news (SS-22).

    >>> causes(["a", "b", "c"], {"a": 1, "b": 1}, {"a": 3, "b": 2, "c": 9}, {"b": 2})
    (Cause(channel='a', version=3, seen=None),)
    """
    found: tuple[Cause, ...] = ()
    for name in triggers:
        if name in readable and name in versions:
            last = seen.get(name) if seen else None
            if last is None or versions[name] > last:
                found += (new_record(Cause, (name, versions[name], last)),)
    return found


def moved_since(before: Mapping[str, Version], after: Mapping[str, Version]) -> dict[str, Version]:
    """The channels whose version is not what it was, with their new version (DU-05).

    >>> moved_since({"a": 1, "b": 1}, {"a": 1, "b": 2, "c": 2})
    {'b': 2, 'c': 2}
    """
    return {name: version for name, version in after.items() if before.get(name) != version}
