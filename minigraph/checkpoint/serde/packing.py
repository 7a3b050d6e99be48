"""A value to msgpack: quickly where that is exact, and carefully where it is not.

Nearly all that is ever stored is text, numbers, and lists and dicts of them. For these,
packing is one call of a C library; when that meets something it does not know it calls
back, and gets an extension (see `extensions`).

The rule is *exact or refused*, and the C library does not always hold to it. It packs a
bytearray as bytes, and a key that is not text as whatever looks alike. So there are two ways:

    quick      the C library alone. It fails at the first thing it is not sure of.
    careful    first, in Python, the value is made again out of what the C library packs
               exactly. What cannot be made so is refused, and here it can be said where
               in the value it stood.

The careful way is ten times slower, and taken when the quick one failed, or when its
result holds something that may have been a bytearray.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, Final

from ormsgpack import (
    OPT_NON_STR_KEYS,
    OPT_PASSTHROUGH_BIG_INT,
    OPT_PASSTHROUGH_DATACLASS,
    OPT_PASSTHROUGH_DATETIME,
    OPT_PASSTHROUGH_ENUM,
    OPT_PASSTHROUGH_SUBCLASS,
    OPT_PASSTHROUGH_TUPLE,
    OPT_PASSTHROUGH_UUID,
    Ext,
    packb,
)

from minigraph.checkpoint.serde.extensions import take_apart

__all__ = ["pack"]

_QUICK: Final = (
    OPT_PASSTHROUGH_BIG_INT
    | OPT_PASSTHROUGH_DATACLASS
    | OPT_PASSTHROUGH_DATETIME
    | OPT_PASSTHROUGH_ENUM
    | OPT_PASSTHROUGH_SUBCLASS
    | OPT_PASSTHROUGH_TUPLE
    | OPT_PASSTHROUGH_UUID
)
"""Whatever is not plain data is asked about, not guessed. Without `OPT_NON_STR_KEYS`, which would
turn a key ``Color.RED`` into ``"r"``: such a dict fails here, and is packed carefully."""


_CAREFUL: Final = _QUICK | OPT_NON_STR_KEYS

_LEVELS: Final = 255
"""How deep the C library goes."""

_NOT_PACKED: Final = "Type is not msgpack serializable"
"""How the C library's error begins when its callback has raised something. It does not say what."""

_callback = threading.local()
"""`error` is what the callback has raised on this thread, until `pack` has looked at it."""

_TOO_DEEP: Final = "it is nested too deeply to be stored, or contains itself"


def pack(value: Any) -> bytes:
    """The msgpack form of `value`.

    Raises `TypeError` for what has no exact form, naming the type, where in the value it
    stands, and what to do (SD-12, SD-13).

    >>> pack([1, "x"])
    b'\\x92\\x01\\xa1x'
    >>> pack({"a": [b"x", memoryview(b"x")]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: value['a'][1]: a `builtins.memoryview` cannot be stored: it is a window on ...
    """
    try:
        packed = packb(value, _quick_extension, _QUICK)
    except TypeError as error:
        _let_interruptions_out(error)
        return _pack_carefully(value)
    # These three bytes begin every run of bytes. They also occur elsewhere, which costs a look
    # at the value; where they do not occur, there is no bytearray in it.
    if (0xC4 in packed or 0xC5 in packed or 0xC6 in packed) and _holds_a_buffer(value):
        return _pack_carefully(value)
    return packed


def _quick_extension(value: Any) -> Any:
    try:
        return _extension(value, pack)
    except BaseException as error:
        _callback.error = error
        raise


def _let_interruptions_out(error: TypeError) -> None:
    """Raise the Ctrl-C that struck in the callback: to the C library, that is one more error.

    It may strike before the callback's first line, while nobody can note it: the signal came
    while the C library was at work. Then the callback has failed, and there is no note.
    """
    raised = vars(_callback).pop("error", None)
    if raised is None and str(error).startswith(_NOT_PACKED):
        raised = KeyboardInterrupt()
    if raised is not None and not isinstance(raised, Exception):
        raise raised from None


def _extension(value: Any, pack: Callable[[Any], bytes]) -> Ext | str:
    if isinstance(value, BaseException) and not is_dataclass(value):
        # Its text: what else it carries, a traceback and all that hangs on it, is not data (CP-22).
        return repr(value).encode(errors="backslashreplace").decode()
    code, parts = take_apart(value)
    return Ext(code, pack(parts))


def _holds_a_buffer(value: Any) -> bool:
    """Whether a bytearray or memoryview is in `value`, where only the C library has looked."""
    kind = type(value)
    if kind is not list and kind is not dict:
        return kind is bytearray or kind is memoryview
    items = value.values() if kind is dict else value
    kinds = set(map(type, items))
    if bytearray in kinds or memoryview in kinds:
        return True
    if list in kinds or dict in kinds:
        return any(_holds_a_buffer(item) for item in items if type(item) in (list, dict))
    return False


class _Refused(Exception):
    """Why a value cannot be stored, and where in the whole it stands."""

    def __init__(self, why: str) -> None:
        self.why = why
        self.path = ""


def _pack_carefully(value: Any) -> bytes:
    try:
        return packb(_carefully(value, _LEVELS), option=_CAREFUL)
    except _Refused as refused:
        raise TypeError(f"value{refused.path}: {refused.why}.") from refused.__cause__
    except RecursionError:
        raise TypeError(f"value: {_TOO_DEEP}.") from None


def _carefully(value: Any, levels: int) -> Any:
    """`value`, made of nothing but what the C library packs exactly."""
    kind = type(value)
    if levels < 0:
        raise _Refused(_TOO_DEEP)
    if _is_plain(value):
        return value
    if kind is list:
        return [_item(i, item, levels) for i, item in enumerate(value)]
    if kind is dict and all(map(_is_plain, value)):
        return {key: _item(key, item, levels) for key, item in value.items()}

    def pack_parts(parts: list[Any]) -> bytes:
        parts[2] = _carefully(parts[2], levels - 1)
        return packb(parts, option=_CAREFUL)

    try:
        return _extension(value, pack_parts)
    except (_Refused, RecursionError):
        raise
    except Exception as error:
        raise _Refused(str(error)) from error


def _item(key: Any, item: Any, levels: int) -> Any:
    try:
        return _carefully(item, levels - 1)
    except _Refused as refused:
        refused.path = f"[{key!r}]{refused.path}"
        raise


def _is_plain(value: Any) -> bool:
    """Whether the C library packs it exactly, also as the key of a dict."""
    kind: type = type(value)
    if kind is str:
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise _Refused(
                    f"the text has half a character (a lone surrogate) at position {error.start}, "
                    f"which has no form in bytes. Replace it: value.encode(errors='replace')"
                ) from error
        return True
    if kind is int:
        return bool(-(2**63) <= value < 2**64)
    return value is None or kind is float or kind is bool or kind is bytes
