"""Every type that msgpack does not know, taken apart and put together again.

msgpack knows None, truth values, numbers, text, bytes, lists and dicts. Everything else
travels as an *extension*: a code, and an array that names the type and holds its parts.
The code says how the parts are to be given to the type:

    code  array                         put together by
    0     module, name, part            name(part)          set, UUID, Decimal, enums …
    1     module, name, [parts]         name(*parts)        date, timedelta, paths, Send …
    2     module, name, {key: part}     name(**parts)       dataclasses, named tuples, time …
    3     module, name, part, method    name.method(part)   datetime, from ISO text
    5     module, name, {key: part}, …  as it was           pydantic models

This is the reference's layout, so that each package opens the other's data (SD-15). For
the same reason our own classes travel under the reference's names, which are plain text
here, and both packages' names are understood when reading.

The parts may hold extensions again; packing them is not this module's work. It is a
table: how each type is taken apart, and how it is put together. What has no row, and is
not an enum, a dataclass, a named tuple or a pydantic model, cannot be stored.

The rule for each row is *exact or refused*: a value that would come back different in
type or content is refused while it is being written, when the mistake can still be seen.
"""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import pathlib
import re
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, Final, TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

from minigraph import types

__all__ = [
    "EXT_CONSTRUCTOR_KW_ARGS",
    "EXT_CONSTRUCTOR_POS_ARGS",
    "EXT_CONSTRUCTOR_SINGLE_ARG",
    "EXT_METHOD_SINGLE_ARG",
    "EXT_PYDANTIC_V2",
    "SAFE",
    "Parts",
    "assemble",
    "find_class",
    "is_model",
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

Parts: TypeAlias = tuple[int, list[Any]]
"""An extension before it is packed: its code, and the array [module, name, part(s), …]."""

OUR_MODULE: Final = types.__name__
THEIR_MODULE: Final = "langgraph.types"
"""Where the classes of `minigraph.types` are in the reference (SD-15)."""


# -------------------------------------------------------------------- the table

_apart: dict[type, Callable[[Any], Parts]] = {}
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

    _apart[kind] = apart
    SAFE[module, name] = together or kind


def _bytearray(part: bytes) -> bytearray:
    # Not the class itself: given a number, that makes an array of so many zeros.
    if not isinstance(part, bytes):
        raise TypeError(f"expected bytes, found {type(part).__name__}")
    return bytearray(part)


_row(tuple, EXT_CONSTRUCTOR_SINGLE_ARG, list)
_row(set, EXT_CONSTRUCTOR_SINGLE_ARG, list)
_row(frozenset, EXT_CONSTRUCTOR_SINGLE_ARG, list)
_row(bytearray, EXT_CONSTRUCTOR_SINGLE_ARG, bytes, together=_bytearray)
_row(OrderedDict, EXT_CONSTRUCTOR_SINGLE_ARG, dict)
_row(Counter, EXT_CONSTRUCTOR_SINGLE_ARG, dict)
_row(UUID, EXT_CONSTRUCTOR_SINGLE_ARG, lambda value: value.hex)
_row(Decimal, EXT_CONSTRUCTOR_SINGLE_ARG, str)
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
_row(
    re.Pattern,
    EXT_CONSTRUCTOR_POS_ARGS,
    lambda value: [value.pattern, value.flags],
    name="compile",
    together=re.compile,
)


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


_apart[datetime.datetime] = _datetime_apart
SAFE["datetime", "datetime"] = datetime.datetime
_apart[ZoneInfo] = _zone_apart
SAFE["zoneinfo", "ZoneInfo"] = ZoneInfo
_apart[deque] = _deque_apart
SAFE["collections", "deque"] = deque
for _path in (
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
    pathlib.PosixPath,
    pathlib.WindowsPath,
):
    _apart[_path] = _path_apart
    # "pathlib._local" is what Python 3.13 calls it, and the reference writes what Python says.
    SAFE["pathlib", _path.__name__] = SAFE["pathlib._local", _path.__name__] = _path

_row(
    types.Send,
    EXT_CONSTRUCTOR_POS_ARGS,
    lambda value: [value.node, value.arg],
    module=THEIR_MODULE,
)
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
    apart = _apart.get(kind)
    if apart is None:
        apart = _apart_of_class(kind)
        # Each time, not only when the class is first met: in a notebook, a cell that is run
        # again puts another class in its place.
        _check_address(kind)
    return apart(value)


@lru_cache(maxsize=1024)
def _apart_of_class(cls: type[Any]) -> Callable[[Any], Parts]:
    """How the values of a class without a row are taken apart (SD-11)."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _named_tuple_apart(cls)
    if issubclass(cls, Enum):
        return _enum_apart(cls)
    if dataclasses.is_dataclass(cls):
        return _dataclass_apart(cls)
    if is_model(cls):
        return _model_apart(cls)
    raise TypeError(_why_not(cls))


def is_model(cls: type) -> bool:
    """Whether this is a class of pydantic's; it is never imported to find out."""
    return hasattr(cls, "__pydantic_validator__") and hasattr(cls, "model_fields")


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


def _check_address(cls: type) -> None:
    """Raises `TypeError` if the class is not where it says it is."""
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


def _address(cls: type) -> tuple[str, str]:
    module = cls.__module__
    return (THEIR_MODULE if module == OUR_MODULE else module), cls.__qualname__


def _named_tuple_apart(cls: Any) -> Callable[[Any], Parts]:
    module, name = _address(cls)
    fields: tuple[str, ...] = cls._fields
    return lambda value: (EXT_CONSTRUCTOR_KW_ARGS, [module, name, dict(zip(fields, value))])


def _enum_apart(cls: type[Enum]) -> Callable[[Any], Parts]:
    module, name = _address(cls)

    def apart(value: Enum) -> Parts:
        if cls(value.value) is not value:
            raise TypeError(f"{value!r} cannot be stored: its value does not lead back to it")
        return EXT_CONSTRUCTOR_SINGLE_ARG, [module, name, value.value]

    return apart


def _dataclass_apart(cls: Any) -> Callable[[Any], Parts]:
    module, name = _address(cls)
    if issubclass(cls, (str, int, float, bytes, list, dict, tuple, set, frozenset, deque)):
        raise TypeError(
            f"a `{module}.{name}` cannot be stored: it is a dataclass and a container at once, and "
            f"only its fields would be kept. Make the content a field"
        )
    fields = tuple(field.name for field in dataclasses.fields(cls))
    needed = [name for name, required in _parameters(cls).items() if required]
    if lost := [name for name in needed if name not in fields]:
        raise TypeError(
            f"a `{module}.{name}` cannot be stored: its constructor needs {lost}, which no field "
            f"keeps. Keep it in a field, or give it a default"
        )
    return lambda value: (
        EXT_CONSTRUCTOR_KW_ARGS,
        [module, name, {field: getattr(value, field) for field in fields}],
    )


def _model_apart(cls: Any) -> Callable[[Any], Parts]:
    """A model's fields, in the place where the reference has its dump; and behind them what a
    dump does not tell: which fields were set, what else it was given, and its private part."""
    module, name = _address(cls)
    fields: tuple[str, ...] = tuple(cls.model_fields)

    def apart(value: Any) -> Parts:
        state = value.__getstate__()
        own = state["__dict__"]
        rest = [
            sorted(state["__pydantic_fields_set__"]),
            state["__pydantic_extra__"],
            state["__pydantic_private__"],
        ]
        part = {field: own[field] for field in fields if field in own}
        return EXT_PYDANTIC_V2, [module, name, part, "model_validate_json", rest]

    return apart


def _parameters(cls: type) -> dict[str, bool]:
    """The constructor's parameters that have a name, and whether each must be given."""
    return {
        parameter.name: parameter.default is Parameter.empty
        for parameter in signature(cls).parameters.values()
        if parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    }


# ------------------------------------------------------------- putting together


def assemble(code: int, together: Callable[..., Any], part: Any) -> Any:
    """Give the parts to what puts them together, in the way that the code says.

    >>> assemble(1, datetime.date, [2024, 1, 2])
    datetime.date(2024, 1, 2)
    """
    if code == EXT_CONSTRUCTOR_SINGLE_ARG:
        return together(part)
    if code == EXT_CONSTRUCTOR_POS_ARGS:
        return together(*part)
    if code == EXT_CONSTRUCTOR_KW_ARGS:
        return together(**part)
    raise ValueError(f"extension code {code} is not known")


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
def together_of_class(cls: type) -> Callable[[Any], Any]:
    """What puts the values of a user's class together: a function of the part.

    Raises `TypeError` for a class that is not an enum, a dataclass or a named tuple: no value of
    it was ever stored so, and data that asks for it was made by somebody who wants it called.
    """
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _named_tuple_together(cls)
    if issubclass(cls, Enum):
        return cls
    if dataclasses.is_dataclass(cls):
        return _dataclass_together(cls)
    raise TypeError("it is not an enum, a dataclass or a named tuple")


def _named_tuple_together(cls: Any) -> Callable[[dict[str, Any]], Any]:
    fields: tuple[str, ...] = cls._fields
    defaults: dict[str, Any] = cls._field_defaults

    def together(stored: dict[str, Any]) -> Any:
        _check_fields(stored, fields)
        # Past the constructor: one that was written by hand may change what it is given.
        return cls._make([stored[f] if f in stored else defaults[f] for f in fields])

    return together


def _dataclass_together(cls: Any) -> Callable[[dict[str, Any]], Any]:
    fields = tuple(field.name for field in dataclasses.fields(cls))
    parameters = _parameters(cls)
    all_are_given = all(field in parameters for field in fields)

    def together(stored: dict[str, Any]) -> Any:
        _check_fields(stored, fields)
        if all_are_given:
            value = cls(**stored)
        else:
            value = cls(**{name: part for name, part in stored.items() if name in parameters})
        # The constructor makes what is not a field. What it made of the fields is then put right:
        # a __post_init__ has changed them once already, before they were stored.
        for name, part in stored.items():
            if getattr(value, name, together) is not part:
                object.__setattr__(value, name, part)
        return value

    return together


def model_together(cls: Any, stored: dict[str, Any], rest: Any) -> Any:
    """A pydantic model as it was, without asking its validators: it was valid when it was stored.

    Without `rest` the data is the reference's, which dumps a model, and then they are asked.
    """
    if not is_model(cls):
        raise TypeError("it is not a pydantic model")
    if rest is None:
        return cls.model_validate(stored)
    fields_set, extra, private = rest
    _check_fields(stored, tuple(cls.model_fields))
    value = cls.__new__(cls)
    value.__setstate__(
        {
            "__dict__": stored,
            "__pydantic_fields_set__": set(fields_set),
            "__pydantic_extra__": extra,
            "__pydantic_private__": private,
        }
    )
    return value


def _check_fields(stored: dict[str, Any], fields: tuple[str, ...]) -> None:
    if tuple(stored) != fields and (unknown := [name for name in stored if name not in fields]):
        raise TypeError(f"it has no field {unknown} any more")
