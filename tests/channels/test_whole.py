"""A whole value, where channels mostly hear of additions: the start, an overwrite, a snapshot."""

from __future__ import annotations

import collections
import collections.abc
import typing
from typing import Annotated, Any, NotRequired, Required, TypedDict

import pytest

from minigraph.channels.whole import (
    _DeltaSnapshot,
    overwrite_value,
    several_overwrites,
    start_value,
)
from minigraph.constants import MISSING
from minigraph.errors import InvalidUpdateError
from minigraph.types import Overwrite


class NeedsArgument:
    def __init__(self, argument: object) -> None:
        self.argument = argument


class Fields(TypedDict):
    a: int


class Unlucky:
    def __init__(self) -> None:
        raise RuntimeError("not today")


class TestStartValue:
    @pytest.mark.parametrize(
        ("typ", "expected"),
        [
            (int, 0),
            (str, ""),
            (list, []),
            (list[str], []),
            (dict[str, int], {}),
            (typing.List[int], []),  # noqa: UP006  # the old spelling is the point
            (typing.Dict, {}),  # noqa: UP006
            (type(None), None),
            (Fields, {}),
            (collections.abc.Sequence, []),
            (collections.abc.Sequence[int], []),
            (typing.Sequence[int], []),
            (collections.abc.MutableSequence, []),
            (collections.abc.Set, set()),
            (typing.AbstractSet[int], set()),
            (collections.abc.MutableSet, set()),
            (collections.abc.Mapping, {}),
            (typing.Mapping[str, int], {}),
            (collections.abc.MutableMapping, {}),
            (Annotated[collections.abc.Sequence[int], "doc"], []),
            (Required[list], []),
            (NotRequired[int], 0),
            (Annotated[NotRequired[list], "doc"], []),
            (NotRequired[Annotated[list, "doc"]], []),
        ],
    )
    def test_the_empty_value_of_a_type(self, typ: Any, expected: object) -> None:
        """CH-07, CH-08: abstract types and wrappers are seen through."""
        found = start_value(typ)

        assert (found, type(found)) == (expected, type(expected))

    @pytest.mark.parametrize(
        "typ",
        [
            int | None,
            typing.Optional[int],  # noqa: UP045  # the old spelling is the point
            typing.Union[int, str],  # noqa: UP007
            typing.Literal["a"],
            Any,
            None,
            collections.abc.Iterable,
            NeedsArgument,
            Unlucky,
            ["not", "a", "type"],
        ],
    )
    def test_a_type_without_one(self, typ: Any) -> None:
        """CH-09: whatever the type does when it is called, and be it none."""
        assert start_value(typ) is MISSING

    def test_it_is_a_new_one_each_time(self) -> None:
        """A start value that two channels shared would carry one thread's state to another."""
        assert start_value(list) is not start_value(list)
        assert start_value(collections.abc.Mapping) is not start_value(collections.abc.Mapping)


class TestOverwriteValue:
    @pytest.mark.parametrize(
        "write",
        [
            Overwrite(["O"]),
            {"__overwrite__": ["O"]},
            {"value": ["O"], "type": "__overwrite__"},
            {"value": ["O"], "type": "__overwrite__", "more": 1},
            collections.OrderedDict({"__overwrite__": ["O"]}),
        ],
        ids=["class", "one-key", "json", "json-with-more", "dict-subclass"],
    )
    def test_spellings(self, write: Any) -> None:
        """CH-10."""
        assert overwrite_value(write) == ["O"]

    @pytest.mark.parametrize("value", [None, False, 0, ""])
    def test_any_value_may_be_written_over(self, value: Any) -> None:
        """CH-10, CH-12: None too, which is not the absence of an overwrite."""
        for write in (Overwrite(value), {"__overwrite__": value}):
            assert overwrite_value(write) is value

    @pytest.mark.parametrize(
        "write",
        [
            {},
            {"value": 1},
            {"type": "__overwrite__"},
            {"type": "other", "value": 1},
            {"__overwrite__": 1, "more": 2},
            {"__overwrite__": 1, "type": "__overwrite__"},
            collections.UserDict({"__overwrite__": 1}),
            ["__overwrite__"],
            "__overwrite__",
            Overwrite,
            None,
        ],
    )
    def test_what_only_looks_like_one(self, write: Any) -> None:
        """CH-10: is an ordinary write."""
        assert overwrite_value(write) is MISSING

    def test_a_users_dict_may_hold_anything_under_type(self) -> None:
        """An array answers == with an array, which has no truth value."""

        class Array:
            def __eq__(self, other: object) -> Any:
                raise ValueError("the truth value of an array is ambiguous")

        assert overwrite_value({"type": Array(), "value": 1}) is MISSING


def test_two_overwrites_are_named() -> None:
    """CH-11: the error says which channel."""
    error = several_overwrites("log")

    assert type(error) is InvalidUpdateError
    assert str(error) == (
        "Channel 'log' received more than one Overwrite in one super-step, and only one value can "
        "stand. Let only one of the nodes overwrite it.\n"
        "Error code: INVALID_CONCURRENT_GRAPH_UPDATE"
    )


def test_a_snapshot_is_a_named_tuple() -> None:
    """DC-06: of one field; two of equal values are equal."""
    snapshot = _DeltaSnapshot(["a"])

    assert (snapshot.value, snapshot._fields) == (["a"], ("value",))
    assert snapshot == _DeltaSnapshot(["a"]) != _DeltaSnapshot([])
