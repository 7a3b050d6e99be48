"""The nouns that users hold in their hands."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, Literal, get_args

import pytest

from minigraph import types
from minigraph.pregel.events import MODES
from minigraph.types import (
    All,
    Command,
    Interrupt,
    Overwrite,
    PregelTask,
    Send,
    StateSnapshot,
    StateUpdate,
    StreamMode,
)


def test_the_public_names() -> None:
    for name in types.__all__:
        assert hasattr(types, name)
    here = types.__all__[: -len(types.POLICIES)]
    assert sorted(here) == here
    assert sorted(types.POLICIES) == list(types.POLICIES) == types.__all__[-len(types.POLICIES) :]
    assert (get_args(StreamMode), get_args(All)) == (MODES, ("*",))


class TestSend:
    def test_it_compares_and_hashes_by_content(self) -> None:
        """SG-71."""
        assert Send("n", {"a": 1}) == Send("n", {"a": 1})
        assert hash(Send("n", {"a": 1})) == hash(Send("n", {"a": 1}))
        assert Send("n", 1) != Send("n", 2)
        assert Send("n", 1) != Send("m", 1)
        assert Send("n", 1) != ("n", 1)
        assert len({Send("n", 1), Send("n", 1), Send("n", 2)}) == 2

    def test_it_shows_what_it_is(self) -> None:
        assert repr(Send("n", {"a": 1})) == "Send(node='n', arg={'a': 1})"
        assert repr(Send(arg=[1], node="n")) == "Send(node='n', arg=[1])"

    def test_it_holds_nothing_else(self) -> None:
        with pytest.raises(AttributeError):
            Send("n", 1).other = 2  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
    )
    def test_it_can_be_copied(self, again: Any) -> None:
        assert again(Send("n", {"a": [1]})) == Send("n", {"a": [1]})


class TestCommand:
    def test_it_shows_only_what_it_says(self) -> None:
        """SG-71."""
        assert repr(Command()) == "Command()"
        assert repr(Command(update={"x": 1}, goto="a")) == "Command(update={'x': 1}, goto='a')"
        assert repr(Command(update={}, resume=0)) == "Command()"
        assert repr(Command(graph=Command.PARENT, goto=["a", Send("b", 1)])) == (
            "Command(graph='__parent__', goto=['a', Send(node='b', arg=1)])"
        )

    def test_it_cannot_be_changed(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            Command(update=1).update = 2  # type: ignore[misc]

    def test_everything_is_named(self) -> None:
        with pytest.raises(TypeError):
            Command("a")  # type: ignore[misc]

    def test_it_compares_by_content(self) -> None:
        assert Command(goto="a") == Command(goto="a") != Command(goto="b")
        assert Command.PARENT == "__parent__"

    def test_it_can_be_annotated_with_its_targets(self) -> None:
        """CS-06."""
        assert get_args(get_args(Command[Literal["a", "b"]])[0]) == ("a", "b")


def test_overwrite() -> None:
    """CH-10: a wrapper that knows itself by its type, also when it became a plain dict."""
    assert dataclasses.asdict(Overwrite([1])) == {"value": [1], "type": "__overwrite__"}
    assert Overwrite([1]) == Overwrite([1]) != Overwrite([2])
    with pytest.raises(dataclasses.FrozenInstanceError):
        Overwrite(1).value = 2  # type: ignore[misc]


def test_interrupt() -> None:
    """SG-71."""
    assert repr(Interrupt("v", "i")) == "Interrupt(value='v', id='i', response_schema=None)"
    assert Interrupt("v").id == "placeholder-id"


@pytest.mark.parametrize(
    ("kind", "fields", "defaults"),
    [
        (StateUpdate, ("values", "as_node", "task_id"), {"as_node": None, "task_id": None}),
        (
            PregelTask,
            ("id", "name", "path", "error", "interrupts", "state", "result"),
            {"error": None, "interrupts": (), "state": None, "result": None},
        ),
        (
            StateSnapshot,
            (
                *("values", "next", "config", "metadata"),
                *("created_at", "parent_config", "tasks", "interrupts"),
            ),
            {},
        ),
    ],
)
def test_named_tuples(kind: Any, fields: Any, defaults: Any) -> None:
    """SG-70: the fields, their order and their defaults."""
    assert kind._fields == fields
    assert kind._field_defaults == defaults
