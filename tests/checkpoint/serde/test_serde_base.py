"""The contract of serializers, and those that do not quite have it."""

import marshal
import pickle
from typing import Any

import pytest

from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde import base
from minigraph.checkpoint.serde.base import (
    SerializerCompat,
    SerializerProtocol,
    UnknownTagError,
    UnreadableError,
    UntypedSerializerProtocol,
    maybe_add_typed_methods,
)
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer


def test_a_simple_serializer_is_wrapped() -> None:
    """SD-01: the tag is the name of the class."""
    wrapped = maybe_add_typed_methods(marshal)
    assert isinstance(wrapped, SerializerCompat)
    assert isinstance(wrapped, SerializerProtocol)
    tag, content = wrapped.dumps_typed([1])
    assert (tag, marshal.loads(content)) == ("list", [1])
    assert wrapped.loads_typed(("list", marshal.dumps([1]))) == [1]


def test_a_serializer_stays_itself() -> None:
    """SD-01."""
    serializer = JsonPlusSerializer()
    assert maybe_add_typed_methods(serializer) is serializer


@pytest.mark.parametrize("wrong", [None, 5, object(), "json"])
def test_what_is_no_serializer_is_refused(wrong: Any) -> None:
    """SD-01: where it is given, and not when the first value is stored."""
    with pytest.raises(TypeError, match="dumps_typed and loads_typed, or dumps and loads"):
        maybe_add_typed_methods(wrong)
    if wrong is not None:
        with pytest.raises(TypeError, match="dumps_typed"):
            BaseCheckpointSaver(serde=wrong)


def test_savers_take_both_kinds() -> None:
    """SD-01: `pickle` itself will do."""
    assert isinstance(pickle, UntypedSerializerProtocol)
    serde: Any = pickle
    saver = InMemorySaver(serde=serde)
    assert isinstance(saver.serde, SerializerCompat)


def test_all_errors_of_reading_are_of_one_family() -> None:
    """SD-14: and they are what the reference raises, or what it would be caught as."""
    assert issubclass(UnreadableError, ValueError)
    assert issubclass(UnknownTagError, (UnreadableError, NotImplementedError))


def test_everything_is_at_the_references_address() -> None:
    """Law of the swapped import."""
    names = {"CipherProtocol", "SerializerCompat", "SerializerProtocol"}
    names |= {"UntypedSerializerProtocol", "maybe_add_typed_methods"}
    assert names <= set(base.__all__)
