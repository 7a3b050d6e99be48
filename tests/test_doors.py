"""The lazy doors of the package: every public name is there, and nothing comes too early."""

from __future__ import annotations

import subprocess
import sys

import pytest

import minigraph.channels
from minigraph.channels.topic import Topic
from minigraph.doors import lazy_door


def test_exports_of_channels() -> None:
    """CH-23: the reference's names, each a class of that name."""
    assert minigraph.channels.__all__ == [
        "AnyValue",
        "BaseChannel",
        "BinaryOperatorAggregate",
        "DeltaChannel",
        "EphemeralValue",
        "LastValue",
        "LastValueAfterFinish",
        "NamedBarrierValue",
        "NamedBarrierValueAfterFinish",
        "Topic",
        "UntrackedValue",
    ]
    for name in minigraph.channels.__all__:
        assert getattr(minigraph.channels, name).__name__ == name


def test_a_door_gives_the_very_class() -> None:
    from minigraph.channels import Topic as through_the_door

    assert through_the_door is Topic


def test_an_unknown_name_is_an_attribute_error() -> None:
    """So that hasattr, and `from … import`, say what they say for any module."""
    door = lazy_door("house", {"Room": "minigraph.channels.topic"})

    with pytest.raises(AttributeError) as caught:
        door("Cellar")

    assert str(caught.value) == "module 'house' has no attribute 'Cellar'"
    assert not hasattr(minigraph.channels, "Cellar")
    with pytest.raises(ImportError, match="Cellar"):
        exec("from minigraph.channels import Cellar")


def test_one_channel_does_not_bring_the_others() -> None:
    """A fresh interpreter that asks for one channel loads that one, and what stands above it."""
    program = (
        "import sys; from minigraph.channels import LastValue; "
        "print(*sorted(m for m in sys.modules if m.startswith('minigraph.')))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert ran.stdout.split() == [
        "minigraph.channels",
        "minigraph.channels.base",
        "minigraph.channels.last_value",
        "minigraph.constants",
        "minigraph.doors",
        "minigraph.errors",
    ]
