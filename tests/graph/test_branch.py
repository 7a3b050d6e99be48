"""Going on: what edges, routes and Commands write."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, TypedDict

import pytest

from minigraph.constants import END, START, TASKS
from minigraph.errors import InvalidUpdateError
from minigraph.graph.branch import (
    BranchSpec,
    branch_channel,
    command_routes,
    go_to,
    join_channel,
)
from minigraph.types import Command, Send


class State(TypedDict):
    x: int


def test_names_of_channels() -> None:
    """SG-10: a join's names follow the order given."""
    assert branch_channel("b") == "branch:to:b"
    assert join_channel(["b", "a"], "c") == "join:b+a:c"


class Names(str, Enum):  # noqa: UP042  # such as people have
    B = "b"


def test_names_from_an_enum() -> None:
    """A member of an enum of texts is the text, and not what it is shown as."""
    assert branch_channel(Names.B) == "branch:to:b"
    assert join_channel([Names.B, "a"], Names.B) == "join:b+a:b"
    assert command_routes(Command(goto=Names.B)) == [B]
    assert BranchSpec(lambda state: None, None, None).writes("a", [Names.B]) == [B]


def test_go_to() -> None:
    """SG-12, SG-13, CS-32."""
    assert go_to("b") == [("branch:to:b", None)]
    assert go_to(END) == []
    assert go_to(Send("b", 1)) == [(TASKS, Send("b", 1))]


B, C = ("branch:to:b", None), ("branch:to:c", None)
SENT = (TASKS, Send("b", 1))


@pytest.mark.parametrize(
    ("result", "writes"),
    [
        pytest.param(None, [], id="None"),
        pytest.param({"goto": "b"}, [], id="dict"),
        pytest.param("b", [], id="text"),
        pytest.param(5, [], id="number"),
        pytest.param(Send("b", 1), [SENT], id="bare Send"),
        pytest.param(Command(update={"x": 1}), [], id="no goto"),
        pytest.param(Command(goto="b"), [B], id="name"),
        pytest.param(Command(goto=["b", "c"]), [B, C], id="list"),
        pytest.param(Command(goto=("c", "b")), [C, B], id="tuple"),
        pytest.param(Command(goto=Send("b", 1)), [SENT], id="Send"),
        pytest.param(Command(goto=["c", Send("b", 1)]), [C, SENT], id="mixed"),
        pytest.param(Command(goto=END), [], id="END"),
        pytest.param(Command(goto=["b", 5, None, END]), [B], id="other kinds are ignored"),
        pytest.param(Command(goto={"b"}), [B], id="set"),
        pytest.param(Command(goto="zz"), [("branch:to:zz", None)], id="unknown name"),
        pytest.param(Command(resume=1, goto="b"), [B], id="resume means nothing here"),
        pytest.param(
            [Command(goto="b"), {"x": 1}, Command(goto="c")], [B, C], id="list of Commands"
        ),
        pytest.param([Send("b", 1), Command(goto="c")], [C], id="Send in a list"),
    ],
)
def test_command_routes(result: Any, writes: Any) -> None:
    """CS-02 to CS-05."""
    assert command_routes(result) == writes


@pytest.mark.parametrize("goto", [5, None])
def test_a_goto_that_is_no_place(goto: Any) -> None:
    """CS-13: it is refused, and the error shows it."""
    with pytest.raises(TypeError, match=f"goto must be a node's name.*{goto}"):
        command_routes(Command(goto=goto))


class TestDeclare:
    def test_without_a_map_a_choice_is_a_name(self) -> None:
        spec = BranchSpec.declare("a", lambda state: "b", None)
        assert (spec.ends, spec.schema) == (None, None)

    def test_with_a_dict(self) -> None:
        ends = {True: "b", False: END}
        assert BranchSpec.declare("a", lambda state: True, ends).ends == ends

    def test_with_a_list(self) -> None:
        """SG-51: of names, which then stand for themselves."""
        assert BranchSpec.declare("a", lambda state: "b", ["b", END]).ends == {"b": "b", END: END}

    def test_with_an_iterator(self) -> None:
        """SG-51: it is read once, and every name still stands for itself."""
        names = ["a", "b", "c", END]
        for path_map in (iter(names), (name for name in names), dict.fromkeys(names).keys()):
            spec = BranchSpec.declare("a", lambda state: "b", path_map)  # type: ignore[arg-type]
            assert spec.ends == {"a": "a", "b": "b", "c": "c", END: END}

    def test_with_an_annotation(self) -> None:
        """SG-51: a `Literal` declares the targets; a map beats it."""

        def path(state: State) -> Literal["b", "c"]:
            return "b"

        assert BranchSpec.declare("a", path, None).ends == {"b": "b", "c": "c"}
        assert BranchSpec.declare("a", path, {"b": "z"}).ends == {"b": "z"}
        assert BranchSpec.declare("a", path, None).schema is State

    def test_with_an_empty_map(self) -> None:
        """SG-51, observed: it says nothing, and is taken for none."""

        def path(state: State) -> Literal["b"]:
            return "b"

        for path_map in ({}, [], ()):
            assert BranchSpec.declare("a", path, path_map).ends == {"b": "b"}
            assert BranchSpec.declare("a", lambda state: "b", path_map).ends is None

    @pytest.mark.parametrize("path_map", ["b", "bc", 5, True, object()])
    def test_a_map_of_another_kind(self, path_map: Any) -> None:
        """SG-51: a text is no list of its letters."""
        with pytest.raises(TypeError, match="The path_map of the branch after 'a' must be a dict"):
            BranchSpec.declare("a", lambda state: "b", path_map)

    @pytest.mark.parametrize("end", [None, 5, ["b", "c"], Send("b", 1), test_go_to])
    def test_a_map_that_does_not_lead_to_names(self, end: Any) -> None:
        """SG-51: told where it is declared."""
        for path_map in ({True: end}, ["b", end]):
            with pytest.raises(TypeError, match="it must lead to nodes by their names"):
                BranchSpec.declare("a", lambda state: True, path_map)


class TestWrites:
    @pytest.mark.parametrize(
        ("choice", "writes"),
        [
            ("b", [B]),
            (["b", "c"], [B, C]),
            (("c", "b"), [C, B]),
            (["b", "b"], [B, B]),
            ([], []),
            (END, []),
            ([END, "b"], [B]),
            (Send("b", 1), [SENT]),
            ([Send("b", 1), "c"], [SENT, C]),
            ("zz", [("branch:to:zz", None)]),
        ],
    )
    def test_without_a_map(self, choice: Any, writes: Any) -> None:
        """SG-51, SG-53, SG-54."""
        assert BranchSpec(lambda state: None, None, None).writes("a", choice) == writes

    @pytest.mark.parametrize(
        ("choice", "writes"),
        [
            (True, [B]),
            ([True, "end"], [B]),
            ("end", []),
            ([True, Send("c", 2)], [B, (TASKS, Send("c", 2))]),
        ],
    )
    def test_with_a_map(self, choice: Any, writes: Any) -> None:
        """SG-51: choices go through it, Sends do not."""
        spec = BranchSpec(lambda state: None, {True: "b", "end": END}, None)
        assert spec.writes("a", choice) == writes

    def test_a_choice_that_the_map_does_not_have(self) -> None:
        """SG-51: also a node's own name is none, then."""
        spec = BranchSpec(lambda state: None, {True: "b"}, None)
        for choice in (False, "b", None):
            with pytest.raises(KeyError) as caught:
                spec.writes("a", choice)
            (said,) = caught.value.args
            assert said.startswith(f"The branch after 'a' chose {choice!r}, which its path_map")
            assert said.endswith("it has [True].")

    def test_a_choice_that_no_map_can_have(self) -> None:
        """SG-51: what cannot be hashed is said to be that, and not to be missing."""
        spec = BranchSpec(lambda state: None, {True: "b"}, None)
        with pytest.raises(TypeError, match="which cannot be a key of its path_map"):
            spec.writes("a", {"x": 1})

    @pytest.mark.parametrize(
        "choice",
        [
            *[None, START, ["b", None], [START], True, 5, {"b": 1}, {"b"}, [["b"]], test_go_to],
            *[Command(goto="b"), iter(["b"])],
        ],
    )
    def test_no_destination(self, choice: Any) -> None:
        """SG-52: without a map, neither is anything that is not a name or a Send."""
        with pytest.raises(ValueError, match=r"after 'a' chose .*, which is no destination"):
            BranchSpec(lambda state: None, None, None).writes("a", choice)

    def test_a_map_that_leads_nowhere(self) -> None:
        """SG-52."""
        spec = BranchSpec(lambda state: None, {"x": START}, None)
        with pytest.raises(ValueError, match="chose 'x', which is no destination"):
            spec.writes("a", "x")

    def test_a_send_to_the_end(self) -> None:
        """SG-52."""
        with pytest.raises(InvalidUpdateError, match="after 'a' sends a packet to END"):
            BranchSpec(lambda state: None, None, None).writes("a", ["b", Send(END, 1)])
