"""Pydantic models as values: stored by their fields, and given back as they were."""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import Any

import pytest

from minigraph.checkpoint.serde.extensions import model_together, take_apart
from minigraph.checkpoint.serde.jsonplus import InvalidModuleError, JsonPlusSerializer

pydantic = pytest.importorskip("pydantic")
importlib.import_module("pydantic.dataclasses")

ALL = JsonPlusSerializer(allowed_msgpack_modules=True)


class Inner(pydantic.BaseModel):
    n: int = 0


class Model(pydantic.BaseModel):
    x: int
    y: str = "why"
    inner: Inner = Inner()
    pair: tuple[int, int] = (1, 2)
    _private: list[int] = pydantic.PrivateAttr(default_factory=list)

    @pydantic.field_validator("x")
    @classmethod
    def count(cls, x: int) -> int:
        CALLS.append(x)
        return x + 1


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    x: int = 0


CALLS: list[int] = []


def round_trip(value: Any, serializer: JsonPlusSerializer = ALL) -> Any:
    return serializer.loads_typed(serializer.dumps_typed(value))


def test_a_model_comes_back_exactly() -> None:
    """SD-12: its fields, which of them were set, what else it was given, its private part."""
    model = Model(x=1, inner=Inner(n=5))
    model._private.append(7)
    CALLS.clear()

    again = round_trip({"models": [model]})["models"][0]

    assert again == model
    assert type(again) is Model
    assert (again.x, again.inner, again.pair) == (2, Inner(n=5), (1, 2))
    assert again.model_fields_set == {"x", "inner"}
    assert again._private == [7]
    assert CALLS == []  # it was valid when it was stored, and is not validated again


def test_what_a_model_was_given_besides() -> None:
    """SD-12."""
    again = round_trip(Open(x=1, z=[2]))
    assert again == Open(x=1, z=[2])
    assert again.model_extra == {"z": [2]}


def test_its_layout() -> None:
    """SD-11: code 5, and the first four places are those of the reference."""
    code, parts = take_apart(Inner(n=3))
    assert (code, parts[1:4]) == (5, ["Inner", {"n": 3}, "model_validate_json"])
    assert parts[4] == [["n"], None, None]


def test_a_model_that_is_not_allowed() -> None:
    """SD-22, SD-23: as for every class of the user's."""
    stored = ALL.dumps_typed(Inner(n=3))
    with pytest.raises(InvalidModuleError, match="Inner"):
        JsonPlusSerializer().loads_typed(stored)
    allowed = JsonPlusSerializer(allowed_msgpack_modules=[Inner])
    assert allowed.loads_typed(stored) == Inner(n=3)
    assert JsonPlusSerializer(allowed_msgpack_modules=None).loads_typed(stored) == {"n": 3}


def test_data_that_is_no_model() -> None:
    """SD-22: nothing else is built by this code, and no field that is gone is dropped silently."""
    with pytest.raises(TypeError, match="it is not a pydantic model"):
        model_together(dict, {}, None)
    with pytest.raises(TypeError, match=r"it has no field \['gone'\] any more"):
        model_together(Inner, {"gone": 1}, [[], None, None])


def test_a_local_model_is_refused() -> None:
    """SD-14: it could not be found again."""

    class Local(pydantic.BaseModel):
        n: int = 0

    with pytest.raises(TypeError, match="Local` cannot be stored, because that is not the class"):
        ALL.dumps_typed(Local())


def test_each_package_reads_the_others_models() -> None:
    """SD-15."""
    jsonplus = pytest.importorskip("langgraph.checkpoint.serde.jsonplus")
    theirs = jsonplus.JsonPlusSerializer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ALL.loads_typed(theirs.dumps_typed(Inner(n=3))) == Inner(n=3)
        assert theirs.loads_typed(ALL.dumps_typed(Inner(n=3))) == Inner(n=3)


class Changed(pydantic.BaseModel):
    """As it is now; `x` is all that it had when it was stored."""

    x: int = 1
    tags: list[int] = pydantic.Field(default_factory=lambda: [7])
    _count: int = pydantic.PrivateAttr(3)
    _unset: int


class Needy(pydantic.BaseModel):
    x: int
    new: int


class Tree(pydantic.RootModel[dict[str, int]]):
    pass


def test_what_a_class_has_since_got_its_default() -> None:
    """SD-14: fields and private attributes; and a field without a default is an error."""
    model = model_together(Changed, {"x": 2}, [["x"], None, None])
    assert model == Changed(x=2, tags=[7])
    assert (model.tags, model._count, model.model_fields_set) == ([7], 3, {"x"})
    with pytest.raises(TypeError, match="it needs the field 'new', which was not stored"):
        model_together(Needy, {"x": 1}, [["x"], None, None])


def test_a_root_model() -> None:
    """SD-12: it has one field and nothing else."""
    assert round_trip(Tree({"a": 1})) == Tree({"a": 1})


@pytest.mark.parametrize(
    ("cls", "stored", "rest"),
    [
        (Inner, {"n": 1}, [["n"], {"evil": 1}, None]),  # it takes nothing besides its fields
        (Open, {"x": 1}, [["x"], {"x": 9}, None]),  # that is a field
        (Open, {"x": 1}, [["x"], "abc", None]),
        (Open, {"x": 1}, [["x"], {5: 1}, None]),
        (Inner, {"n": 1}, [["n", "z"], None, None]),
        (Inner, {"n": 1}, ["n", None, None]),
        (Inner, {"n": 1}, [["n"], None, {"_evil": 1}]),
        (Model, {"x": 1}, [["x"], None, {"_evil": 1}]),
        (Model, {"x": 1}, [["x"], None, 5]),
    ],
)
def test_crafted_models_are_refused(cls: Any, stored: Any, rest: Any) -> None:
    """SD-22: data sets what the class has, and nothing else."""
    with pytest.raises(TypeError):
        model_together(cls, stored, rest)


# --------------------------------------------------------- models that are not as they should be


class Lazy(pydantic.BaseModel):
    x: int
    y: int = 0
    _count: int = pydantic.PrivateAttr(3)
    _unset: int

    @functools.cached_property
    def slow(self) -> list[int]:
        return [self.x]


def with_a_cache() -> Any:
    model = Lazy(x=1)
    model.slow.append(9)
    return model


def without(name: str) -> Any:
    model = Lazy(x=1)
    delattr(model, name)
    return model


@pytest.mark.parametrize(
    ("make", "fields", "private", "fields_set"),
    [
        (lambda: Lazy(x=1), {"x": 1, "y": 0}, {"_count": 3}, {"x"}),
        (lambda: Lazy.model_construct(y=1), {"y": 1}, {"_count": 3}, {"y"}),
        (lambda: Lazy.model_construct(x="no number"), {"x": "no number", "y": 0}, {"_count": 3},
         {"x"}),
        (with_a_cache, {"x": 1, "y": 0, "slow": [1, 9]}, {"_count": 3}, {"x"}),
        (lambda: without("y"), {"x": 1}, {"_count": 3}, {"x"}),
        (lambda: without("_count"), {"x": 1, "y": 0}, {}, {"x"}),
        (lambda: Lazy.model_construct({"x", "y"}, x=1), {"x": 1, "y": 0}, {"_count": 3},
         {"x", "y"}),
    ],
)  # fmt: skip
def test_what_a_model_holds_comes_back(
    make: Any, fields: Any, private: Any, fields_set: Any
) -> None:
    """SD-12: also what it lacks, and what it keeps besides."""
    for serializer in (JsonPlusSerializer(), ALL):
        again = round_trip([make()], serializer)[0]
        assert type(again) is Lazy
        assert again.__dict__ == fields
        assert {key: getattr(again, key) for key in private} == private
        assert hasattr(again, "_count") is ("_count" in private)
        assert not hasattr(again, "_unset")
        assert again.model_fields_set == fields_set


@pytest.mark.parametrize(
    "make",
    [
        lambda: Lazy.model_construct({"x", "zz"}, x=1),
        lambda: Lazy.model_validate({"x": 1, "zz": 2}, extra="allow"),
        lambda: Inner.model_construct({"zz"}, n=1),
    ],
)
def test_a_model_that_says_what_cannot_be_is_refused(make: Any) -> None:
    """SD-14: nobody would believe it when it is read."""
    with pytest.raises(TypeError, match=r"it says that \{'zz'\} were set, which are no fields"):
        ALL.dumps_typed(make())


class Stubborn(pydantic.BaseModel):
    """What makes an instance of it says no."""

    x: int

    def __new__(cls, **fields: Any) -> Any:
        if not fields:
            raise ValueError("nothing")
        return super().__new__(cls)


def test_a_model_is_built_past_its_constructor() -> None:
    """SD-12."""
    assert round_trip(Stubborn(x=1)) == Stubborn(x=1)


@pydantic.dataclasses.dataclass
class Record:
    n: int
    tags: list[int] = pydantic.Field(default_factory=list)


def test_a_dataclass_of_pydantics() -> None:
    """SD-12: what it holds may have become something that it would not take."""
    record = Record(n=1)
    record.n = "text"  # type: ignore[assignment]
    again = round_trip(record)
    assert type(again) is Record
    assert vars(again) == {"n": "text", "tags": []}
