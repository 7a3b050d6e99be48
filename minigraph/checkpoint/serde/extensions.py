"""Every type that msgpack does not know, taken apart and put together again.

msgpack knows None, truth values, numbers, text, bytes, lists and dicts. Everything else
travels as an *extension*: a code, and an array that names the type and holds its parts.
The code says how the parts are to be given to the type:

    code  array                         put together by
    0     module, name, part            name(part)          set, UUID, Decimal, enums …
    1     module, name, [parts]         name(*parts)        date, timedelta, paths, Send …
    2     module, name, {key: part}     name(**parts)       time, our own records …
    2     module, name, {key: part}, …  as it was           dataclasses, named tuples
    3     module, name, part, method    name.method(part)   datetime, from ISO text
    5     module, name, {key: part}, …  as it was           pydantic models
    6     dtype, shape, order, bytes    numpy               arrays, where numpy is installed
    7     (the part itself)                                 snapshots of a channel

This is the reference's layout, so that each package opens the other's data (SD-15). For
the same reason our own classes travel under the reference's names, which are plain text
here, and both packages' names are understood when reading.

The parts may hold extensions again; packing them is not this module's work. It is a
table: how each type is taken apart, and how it is put together. What has no row, and is
not an enum, a dataclass, a named tuple, a pydantic model or an array, cannot be stored.

The rule for each row is *exact or refused*: a value that would come back different in
type or content is refused while it is being written, when the mistake can still be seen.

"As it was" means: what an instance holds is stored, and is what the next one holds. Nobody's
constructor is asked when it is read. A constructor is for making new things: what it parses
would be parsed a second time, and what it refuses may have been set later.
"""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import math
import pathlib
import re
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from importlib import import_module
from inspect import getattr_static, isgetsetdescriptor, ismemberdescriptor
from typing import Any, Final, TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

from minigraph import types
from minigraph.checkpoint.serde.types import _DeltaSnapshot
from minigraph.policies import TimeoutPolicy

__all__ = [
    "EXT_CONSTRUCTOR_KW_ARGS",
    "EXT_CONSTRUCTOR_POS_ARGS",
    "EXT_CONSTRUCTOR_SINGLE_ARG",
    "EXT_DELTA_SNAPSHOT",
    "EXT_METHOD_SINGLE_ARG",
    "EXT_NUMPY_ARRAY",
    "EXT_PYDANTIC_V2",
    "ROWS",
    "SAFE",
    "SAFE_MODELS",
    "Apart",
    "Parts",
    "address_of",
    "apart_of_class",
    "array_together",
    "check_address",
    "find_class",
    "is_array",
    "is_model",
    "is_storable",
    "model_together",
    "take_apart",
    "together_of_class",
]

EXT_CONSTRUCTOR_SINGLE_ARG: Final = 0
"""Code of an extension whose one part goes to the type."""

EXT_CONSTRUCTOR_POS_ARGS: Final = 1
"""Code of an extension whose parts go to the type by position."""

EXT_CONSTRUCTOR_KW_ARGS: Final = 2
"""Code of an extension whose parts go to the type by name."""

EXT_METHOD_SINGLE_ARG: Final = 3
"""Code of an extension whose one part goes to a method of the type."""

EXT_PYDANTIC_V2: Final = 5
"""Code of an extension that holds the fields of a pydantic model."""

EXT_NUMPY_ARRAY: Final = 6
"""Code of an extension that holds an array of numpy's."""

EXT_DELTA_SNAPSHOT: Final = 7
"""Code of an extension that holds nothing but the value of a snapshot (SD-10)."""

Parts: TypeAlias = tuple[int, Any]
"""An extension before it is packed: its code, and the array [module, name, part(s), …]; for the
last two codes, what the table above says."""

Apart: TypeAlias = Callable[[Any], Parts]
"""How values of one type are taken apart."""

OUR_MODULE: Final = types.__name__
THEIR_MODULE: Final = "langgraph.types"
"""Where the classes of `minigraph.types` are in the reference (SD-15)."""


# -------------------------------------------------------------------- the table

ROWS: dict[type, Apart] = {}
"""Type → how a value of exactly this type is taken apart."""

SAFE: dict[tuple[str, str], Callable[..., Any]] = {}
"""(module, name) → what puts it together. These types are safe: building one runs no code of
the user's and touches nothing outside of it. So they need no permission (SD-24)."""


def _row(
    kind: type,
    code: int,
    part: Callable[[Any], Any],
    *,
    module: str = "",
    name: str = "",
    together: Callable[..., Any] | None = None,
) -> None:
    module, name = module or kind.__module__, name or kind.__name__

    def apart(value: Any) -> Parts:
        return code, [module, name, part(value)]

    ROWS[kind] = apart
    SAFE[module, name] = together or kind


def _only_from(expected: type, kind: Callable[..., Any]) -> Callable[..., Any]:
    """Not the class itself: given a number, `bytearray` makes an array of so many zeros, and
    `Decimal` takes the square of its length in time."""

    def together(part: Any) -> Any:
        if type(part) is not expected:
            raise TypeError(f"expected {expected.__name__}, found {type(part).__name__}")
        return kind(part)

    return together


_row(tuple, EXT_CONSTRUCTOR_SINGLE_ARG, list)
_row(set, EXT_CONSTRUCTOR_SINGLE_ARG, list)
_row(frozenset, EXT_CONSTRUCTOR_SINGLE_ARG, list)
_row(bytearray, EXT_CONSTRUCTOR_SINGLE_ARG, bytes, together=_only_from(bytes, bytearray))
_row(OrderedDict, EXT_CONSTRUCTOR_SINGLE_ARG, dict)
_row(Counter, EXT_CONSTRUCTOR_SINGLE_ARG, dict)
_row(UUID, EXT_CONSTRUCTOR_SINGLE_ARG, lambda value: value.hex)
_row(Decimal, EXT_CONSTRUCTOR_SINGLE_ARG, str, together=_only_from(str, Decimal))
# A dict comes here only for its keys: when one of them is not plain data. As pairs, keys are
# values like any others.
_row(dict, EXT_CONSTRUCTOR_SINGLE_ARG, lambda value: [[k, v] for k, v in value.items()])
# And an int only for its size, in base 16, which Python reads at any length.
_row(int, EXT_CONSTRUCTOR_POS_ARGS, lambda value: [f"{value:x}", 16])

for _kind in (
    ipaddress.IPv4Address,
    ipaddress.IPv4Interface,
    ipaddress.IPv4Network,
    ipaddress.IPv6Address,
    ipaddress.IPv6Interface,
    ipaddress.IPv6Network,
):
    _row(_kind, EXT_CONSTRUCTOR_SINGLE_ARG, str)

_row(
    datetime.timedelta,
    EXT_CONSTRUCTOR_POS_ARGS,
    lambda value: [value.days, value.seconds, value.microseconds],
)
_row(
    datetime.date,
    EXT_CONSTRUCTOR_POS_ARGS,
    lambda value: [value.year, value.month, value.day],
)
_row(
    datetime.timezone,
    EXT_CONSTRUCTOR_POS_ARGS,
    lambda value: list(value.__getinitargs__()),
)


def _pattern_parts(value: re.Pattern[Any]) -> list[Any]:
    if value.flags & re.DEBUG:
        raise TypeError("a pattern with re.DEBUG prints when it is made; compile it without")
    return [value.pattern, value.flags]


def _pattern(text: str | bytes, flags: int) -> re.Pattern[Any]:
    if flags & re.DEBUG:
        raise ValueError("re.DEBUG prints, which data must not be able to do")
    return re.compile(text, flags)


_row(re.Pattern, EXT_CONSTRUCTOR_POS_ARGS, _pattern_parts, name="compile", together=_pattern)


def _time_fields(value: datetime.time | datetime.datetime) -> dict[str, Any]:
    return {
        "hour": value.hour,
        "minute": value.minute,
        "second": value.second,
        "microsecond": value.microsecond,
        "tzinfo": value.tzinfo,
        "fold": value.fold,
    }


_row(datetime.time, EXT_CONSTRUCTOR_KW_ARGS, _time_fields)


def _datetime_apart(value: datetime.datetime) -> Parts:
    """ISO text where it says everything. It does not say a time zone's name, nor which of the
    two half past twos was meant in the night when the clock was set back. Then, field by field."""
    if not value.fold and _is_plain_offset(value.tzinfo):
        text = value.isoformat()
        return EXT_METHOD_SINGLE_ARG, ["datetime", "datetime", text, "fromisoformat"]
    fields = {"year": value.year, "month": value.month, "day": value.day, **_time_fields(value)}
    return EXT_CONSTRUCTOR_KW_ARGS, ["datetime", "datetime", fields]


def _is_plain_offset(zone: datetime.tzinfo | None) -> bool:
    if zone is None or zone is datetime.UTC:
        return True
    if type(zone) is not datetime.timezone:
        return False
    offset, *name = zone.__getinitargs__()  # type: ignore[attr-defined]
    # Python writes the fraction of a second into the text, and 3.11 does not read it.
    return not name and offset.microseconds == 0


def _zone_apart(value: ZoneInfo) -> Parts:
    if value.key is None:
        raise TypeError("a ZoneInfo without a key was made from a file and has no name to store")
    return EXT_CONSTRUCTOR_SINGLE_ARG, ["zoneinfo", "ZoneInfo", value.key]


def _deque_apart(value: deque[Any]) -> Parts:
    if value.maxlen is None:
        return EXT_CONSTRUCTOR_SINGLE_ARG, ["collections", "deque", list(value)]
    return EXT_CONSTRUCTOR_POS_ARGS, ["collections", "deque", [list(value), value.maxlen]]


def _path_apart(value: pathlib.PurePath) -> Parts:
    kind = type(value)
    again = kind(*value.parts)
    if (again.drive, again.parts) != (value.drive, value.parts):  # "./c:x" has no drive, "c:x" has
        raise TypeError(f"the path {value!r} is not the sum of its parts")
    return EXT_CONSTRUCTOR_POS_ARGS, ["pathlib", kind.__name__, list(value.parts)]


ROWS[datetime.datetime] = _datetime_apart
SAFE["datetime", "datetime"] = datetime.datetime
ROWS[ZoneInfo] = _zone_apart
SAFE["zoneinfo", "ZoneInfo"] = ZoneInfo
ROWS[deque] = _deque_apart
SAFE["collections", "deque"] = deque
for _path in (
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
    pathlib.PosixPath,
    pathlib.WindowsPath,
):
    ROWS[_path] = _path_apart
    # "pathlib._local" is what Python 3.13 calls it, and the reference writes what Python says.
    SAFE["pathlib", _path.__name__] = SAFE["pathlib._local", _path.__name__] = _path

_row(
    types.Send,
    EXT_CONSTRUCTOR_POS_ARGS,
    lambda value: [value.node, value.arg, *((value.timeout,) if value.timeout else ())],
    module=THEIR_MODULE,
)
_row(TimeoutPolicy, EXT_CONSTRUCTOR_KW_ARGS, dataclasses.asdict, module=THEIR_MODULE)
for _record in (
    types.Command,
    types.Interrupt,
    types.Overwrite,
    types.PregelTask,
    types.Send,
    types.StateSnapshot,
    types.StateUpdate,
):
    SAFE[THEIR_MODULE, _record.__name__] = SAFE[OUR_MODULE, _record.__name__] = _record


SAFE_MODELS: Final = frozenset(
    {
        ("langchain_core.documents.base", "Document"),
        ("langchain_core.messages.modifier", "RemoveMessage"),
        *(
            (f"langchain_core.messages.{module}", f"{name}Message{chunk}")
            for module, name in (
                ("ai", "AI"),
                ("chat", "Chat"),
                ("function", "Function"),
                ("human", "Human"),
                ("system", "System"),
                ("tool", "Tool"),
            )
            for chunk in ("", "Chunk")
        ),
    }
)
"""Pydantic models that need no permission either. They are langchain-core's, and it is imported
only when stored data names one of them (SD-24)."""

ROWS[_DeltaSnapshot] = lambda value: (EXT_DELTA_SNAPSHOT, value.value)


# ------------------------------------------------------------------ taking apart


def take_apart(value: Any) -> Parts:
    """The parts of a value that msgpack does not know.

    Raises `TypeError` for what cannot be stored exactly, saying what to do instead.

    >>> take_apart({1})
    (0, ['builtins', 'set', [1]])
    >>> take_apart(types.Interrupt("Go on?", "1"))
    (2, ['langgraph.types', 'Interrupt', {'value': 'Go on?', 'id': '1', 'response_schema': None}])
    >>> take_apart({}.keys())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: a `builtins.dict_keys` cannot be stored: it is not plain data, nor a dataclass, ...
    """
    kind: type = type(value)
    apart = ROWS.get(kind)
    if apart is None:
        apart = apart_of_class(kind)
        check_address(kind)
    return apart(value)


@lru_cache(maxsize=1024)
def apart_of_class(cls: type[Any]) -> Apart:
    """How the values of a class without a row are taken apart (SD-11).

    Raises `TypeError` for a class whose values cannot be stored exactly.
    """
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _named_tuple_apart(cls)
    if issubclass(cls, Enum):
        return _enum_apart(cls)
    if dataclasses.is_dataclass(cls):
        return _dataclass_apart(cls)
    if is_model(cls):
        return _model_apart(cls)
    if is_array(cls):
        return _array_apart
    raise TypeError(_why_not(cls))


def is_storable(cls: type) -> bool:
    """Whether this is a class of a user's whose values are stored by their parts.

    >>> is_storable(int), is_storable(types.Interrupt)
    (False, True)
    """
    return (
        (issubclass(cls, tuple) and hasattr(cls, "_fields"))
        or issubclass(cls, Enum)
        or dataclasses.is_dataclass(cls)
        or is_model(cls)
    )


def is_model(cls: type) -> bool:
    """Whether this is a class of pydantic's; it is never imported to find out."""
    return hasattr(cls, "__pydantic_validator__") and hasattr(cls, "model_fields")


def is_array(cls: type) -> bool:
    """Whether this is numpy's array; neither is numpy imported to find out."""
    return cls.__module__ == "numpy" and cls.__qualname__ == "ndarray"


def _why_not(cls: type) -> str:
    name = f"{cls.__module__}.{cls.__qualname__}"
    if cls is memoryview:
        return f"a `{name}` cannot be stored: it is a window on memory; store bytes(value)"
    for base in (str, int, float, bytes, list, dict, tuple, set, frozenset, datetime.datetime):
        if issubclass(cls, base):
            return (
                f"a `{name}` cannot be stored: it would come back as a plain {base.__name__}. "
                f"Convert it to one, if nothing is lost by that"
            )
    return (
        f"a `{name}` cannot be stored: it is not plain data, nor a dataclass, a named tuple, an "
        f"enum or a pydantic model. Store its data instead, or give the saver a serializer that "
        f"knows the type"
    )


def check_address(cls: type) -> None:
    """Raises `TypeError` if the class is not where it says it is (SD-14).

    To be asked for each value, not only when the class is first met: in a notebook, a cell that
    is run again puts another class in its place.
    """
    module = sys.modules.get(cls.__module__)
    found: Any = getattr(module, cls.__qualname__, None)
    if found is not cls:
        found = module
        for attribute in cls.__qualname__.split("."):
            found = getattr(found, attribute, None)
    if found is not cls:
        raise TypeError(
            f"a `{cls.__module__}.{cls.__qualname__}` cannot be stored, because that is not the "
            f"class that is found under this name. Define it at the top level of a module"
        )


def address_of(cls: type) -> tuple[str, str]:
    """The module and name by which a class is called in stored data (SD-15).

    >>> address_of(types.Interrupt)
    ('langgraph.types', 'Interrupt')
    """
    module = cls.__module__
    return (THEIR_MODULE if module == OUR_MODULE else module), cls.__qualname__


def _enum_apart(cls: type[Enum]) -> Apart:
    module, name = address_of(cls)

    def apart(value: Enum) -> Parts:
        part = value.value
        # What is read will be equal, and not the same: so no number that is not even itself.
        if cls(deepcopy(part)) is not value or part != part:
            raise TypeError(f"{value!r} cannot be stored: its value does not lead back to it")
        return EXT_CONSTRUCTOR_SINGLE_ARG, [module, name, part]

    return apart


def _named_tuple_apart(cls: Any) -> Apart:
    module, name = address_of(cls)
    fields: tuple[str, ...] = cls._fields

    def apart(value: Any) -> Parts:
        items = [*tuple.__iter__(value)]
        if len(items) != len(fields):
            raise TypeError(f"a `{module}.{name}` of {len(items)} items cannot be stored by fields")
        more = [others, []] if (others := _held(value)) else []
        return EXT_CONSTRUCTOR_KW_ARGS, [module, name, dict(zip(fields, items)), *more]

    return apart


def _dataclass_apart(cls: Any) -> Apart:
    """What an instance holds: the fields, in the place where the reference has them; and behind
    them what else there is, and which fields have no value."""
    module, name = address_of(cls)
    _maker_of_blanks(cls)
    needed = {field.name: field.init for field in dataclasses.fields(cls)}
    fields = tuple(needed)
    is_simple = not any(_place(cls, f) == "elsewhere" for f in fields)

    def apart(value: Any) -> Parts:
        held = _held(value)
        if is_simple and tuple(held) == fields:
            return EXT_CONSTRUCTOR_KW_ARGS, [module, name, held]
        part = {f: held[f] for f in fields if f in held}
        absent = [f for f in fields if f not in held]
        for field in absent:
            if needed[field]:
                getattr(value, field)  # or it is an error
        others = {key: item for key, item in held.items() if key not in part}
        more = [others, absent] if others or absent or not is_simple else []
        return EXT_CONSTRUCTOR_KW_ARGS, [module, name, part, *more]

    return apart


def _held(value: Any) -> dict[str, Any]:
    """What an instance holds in its `__dict__` and its slots, whatever its class makes of it.

    It is not a copy, where it need not be: it is packed at once.
    """
    held: Any = object.__getstate__(value) or {}
    if isinstance(held, tuple):
        held = {**(held[0] or {}), **held[1]}
    if isinstance(value, BaseException) and value.args:
        held = {**held, "args": value.args}
    if "__orig_class__" in held:  # a note of `typing`'s, of Box[int](1)
        held = {key: item for key, item in held.items() if key != "__orig_class__"}
    return held  # type: ignore[no-any-return]


def _maker_of_blanks(cls: type) -> Callable[[type], Any]:
    """What makes an instance that holds nothing yet, and does not ask the constructor.

    Raises `TypeError` for a class that keeps something elsewhere than in its attributes.
    """
    make = BaseException.__new__ if issubclass(cls, BaseException) else object.__new__
    try:
        make(cls)
    except TypeError as error:
        raise TypeError(
            f"a `{cls.__module__}.{cls.__qualname__}` cannot be stored: it is a dataclass and a "
            f"container at once, or the like, and only its fields would be kept. Make the content "
            f"a field"
        ) from error
    return make


@lru_cache(maxsize=1024)
def _place(cls: type, name: str) -> str:
    """Where an instance keeps what is set under a name. A property may keep it under another."""
    found = getattr_static(cls, name, None)
    if ismemberdescriptor(found) or isgetsetdescriptor(found):
        return "slot"
    return "elsewhere" if hasattr(type(found), "__set__") else "dict"


def _model_apart(cls: Any) -> Apart:
    """A model's fields, in the place where the reference has its dump; and behind them what a
    dump does not tell: which fields were set, what else it was given, and its private part."""
    module, name = address_of(cls)
    _maker_of_blanks(cls)
    fields: tuple[str, ...] = tuple(cls.model_fields)
    allows_extra = cls.model_config.get("extra") == "allow"

    def apart(value: Any) -> Parts:
        state = value.__getstate__()
        own, fields_set = state["__dict__"], state["__pydantic_fields_set__"]
        extra, private = state.get("__pydantic_extra__"), state.get("__pydantic_private__")
        part = {field: own[field] for field in fields if field in own}
        given = {*part, *(extra or ()), *(private or ())}
        known = {*fields, *cls.__private_attributes__, *(extra or () if allows_extra else ())}
        if odd := {*fields_set, *given} - known:
            raise TypeError(
                f"a `{module}.{name}` cannot be stored: it says that {odd} were set, which are no "
                f"fields of its class. Leave them out"
            )
        others = {key: item for key, item in own.items() if key not in part}
        absent = sorted(known - given)
        more = [others, absent] if others or absent else []
        rest = [sorted(fields_set), extra if allows_extra else None, private, *more]
        return EXT_PYDANTIC_V2, [module, name, part, "model_validate_json", rest]

    return apart


def _array_apart(value: Any) -> Parts:
    """What numpy needs to make the array again. The type of its items must be one that a short
    text tells whole: not that of Python objects, nor one with fields."""
    dtype = value.dtype
    if not _is_plain_dtype(dtype) or type(value)(0, dtype.str).dtype != dtype or dtype.metadata:
        raise TypeError(
            f"an array of {dtype!r} cannot be stored: the text {dtype.str!r} does not lead back "
            f"to this type. Store a list, or one array for each field"
        )
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    return EXT_NUMPY_ARRAY, [dtype.str, list(value.shape), order, value.tobytes(order)]


# ------------------------------------------------------------- putting together


def find_class(module: str, name: str) -> type:
    """Import a user's class by its address. Only for addresses that somebody has vouched for:
    importing a module runs its code.

    Raises `TypeError` for what is not a class; `ImportError` and `AttributeError` for what is
    not there.
    """
    if module == THEIR_MODULE:
        module = OUR_MODULE
    found: Any = sys.modules.get(module) or import_module(module)
    for attribute in name.split("."):
        found = getattr(found, attribute)
    if not isinstance(found, type):
        raise TypeError("it is not a class")
    return found


@lru_cache(maxsize=1024)
def together_of_class(cls: type) -> Callable[..., Any]:
    """What puts the values of a user's class together: a function of the part, and of a list of
    what stands behind that, if anything does.

    Raises `TypeError` for a class that is not an enum, a dataclass or a named tuple: no value of
    it was ever stored so, and data that asks for it was made by somebody who wants it called.
    """
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _named_tuple_together(cls)
    if issubclass(cls, Enum):
        return lambda part: cls(part)
    if dataclasses.is_dataclass(cls):
        return _dataclass_together(cls)
    raise TypeError("it is not an enum, a dataclass or a named tuple")


def _named_tuple_together(cls: Any) -> Callable[..., Any]:
    fields: tuple[str, ...] = cls._fields
    defaults: dict[str, Any] = getattr(cls, "_field_defaults", {})

    def together(stored: dict[str, Any], more: Sequence[Any] = ({}, ())) -> Any:
        _check_fields(stored, fields)
        value = tuple.__new__(cls, [stored[f] if f in stored else defaults[f] for f in fields])
        _fill(value, more[0])
        return value

    return together


def _dataclass_together(cls: Any) -> Callable[..., Any]:
    make = _maker_of_blanks(cls)
    known = {field.name: field for field in dataclasses.fields(cls)}
    fields = tuple(known)
    in_dict = all(_place(cls, f) == "dict" for f in fields)

    def together(stored: dict[str, Any], more: Sequence[Any] | None = None) -> Any:
        if tuple(stored) != fields:
            _check_fields(stored, fields)
            for name in fields:
                if name not in stored and not (more and name in more[1]):
                    _set_default(stored, known[name])
        value = make(cls)
        if more:
            _fill(value, {**stored, **more[0]})
        elif in_dict:
            value.__dict__.update(stored)
        else:  # where the class wants it: the reference knows what a property gives, and no more
            for name, part in stored.items():
                object.__setattr__(value, name, part)
        return value

    return together


def _set_default(stored: dict[str, Any], field: dataclasses.Field[Any]) -> None:
    """What becomes of a field that was not stored: the class has it since."""
    if field.default is not dataclasses.MISSING:
        stored[field.name] = field.default
    elif field.default_factory is not dataclasses.MISSING:
        stored[field.name] = field.default_factory()
    elif field.init:
        raise TypeError(f"it needs the field {field.name!r}, which was not stored")


def _fill(value: Any, held: dict[str, Any]) -> None:
    """Give back to an instance what it held, each thing in its place."""
    cls: Any = type(value)
    for name, part in held.items():
        if _place(cls, name) == "slot":
            object.__setattr__(value, name, part)
        else:
            value.__dict__[name] = part  # that is where it was, whoever has put it there


def array_together(dtype: str, shape: list[int], order: str, content: bytes) -> Any:
    """An array of numpy's.

    Raises `ModuleNotFoundError` where numpy is not installed, and `ValueError` for items that are
    not plain, and if the bytes are not as many as the shape needs.
    """
    numpy = import_module("numpy")
    kind = numpy.dtype(dtype)
    if not _is_plain_dtype(kind):  # objects would be addresses in memory, taken from the data
        raise ValueError(f"its items are of the type {dtype!r}")
    is_huge = len(shape) > 64 or max(shape, default=0) >= 2**63  # and its product takes its time
    if is_huge or math.prod(shape) * kind.itemsize != len(content):
        raise ValueError(f"{len(content)} bytes do not make the shape {shape[:64]}")
    # A copy: what is read may be edited, and nobody else sees it.
    return numpy.ndarray(shape, kind, content, order=order).copy(order)


def _is_plain_dtype(dtype: Any) -> bool:
    return not dtype.hasobject and dtype.fields is None and dtype.itemsize > 0


def model_together(cls: Any, stored: dict[str, Any], rest: Any) -> Any:
    """A pydantic model as it was, without asking its validators: it was valid when it was stored.

    Without `rest` the data is the reference's, which dumps a model, and then they are asked.
    """
    if not is_model(cls):
        raise TypeError("it is not a pydantic model")
    if rest is None:
        return cls.model_validate(stored)
    fields_set, extra, private, others, absent = (*rest, {}, ())[:5]
    if not isinstance(fields_set, list):
        raise TypeError("its fields are not told as they should be")
    fields = cls.model_fields
    _check_fields(stored, tuple(fields))
    if extra is not None:
        _check_extra(cls, extra)
    if strange := sorted(set(fields_set) - set(fields) - set(extra or ())):
        raise TypeError(f"it has no field {strange} any more")
    for name, info in fields.items():
        if name not in stored and name not in absent:  # the class has it since
            if info.is_required():
                raise TypeError(f"it needs the field {name!r}, which was not stored")
            stored[name] = info.get_default(call_default_factory=True, validated_data=stored)
    value = object.__new__(cls)
    value.__setstate__(
        {
            "__dict__": {**{name: stored[name] for name in fields if name in stored}, **others},
            "__pydantic_fields_set__": set(fields_set),
            "__pydantic_extra__": extra,
            "__pydantic_private__": _private_part(cls, private, absent),
        }
    )
    return value


def _check_extra(cls: Any, extra: Any) -> None:
    """Refuse what a model does not take besides its fields."""
    if cls.model_config.get("extra") != "allow" or not isinstance(extra, dict):
        raise TypeError("it takes nothing besides its fields")
    if taken := [name for name in extra if not isinstance(name, str) or name in cls.model_fields]:
        raise TypeError(f"it has fields called {taken}")


def _private_part(cls: Any, private: Any, absent: Sequence[str]) -> dict[str, Any] | None:
    """The private attributes that a class has, with what was stored of them."""
    declared: dict[str, Any] = cls.__private_attributes__
    if not declared:
        if private:
            raise TypeError("it has no private attributes any more")
        return None
    if not isinstance(private, (dict, type(None))):
        raise TypeError("its private attributes are not told as they should be")
    stored = private or {}
    _check_fields({name: 0 for name in stored if name not in declared}, tuple(declared))
    part: dict[str, Any] = {}
    for name, attribute in declared.items():
        if name in stored:
            part[name] = stored[name]
        elif name not in absent:
            given = attribute.get_default()
            if given is not type(attribute)().default:  # pydantic's sign for "no default"
                part[name] = given
    return part


def _check_fields(stored: dict[str, Any], fields: tuple[str, ...]) -> None:
    if tuple(stored) != fields and (unknown := [name for name in stored if name not in fields]):
        raise TypeError(f"it has no field {unknown} any more")
