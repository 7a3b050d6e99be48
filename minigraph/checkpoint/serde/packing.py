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
result holds something that may have been a bytearray. It is also taken for what stands
inside of four extensions, one in the other: the C library calls itself for each level of
lists, and its callback for each extension, on a stack that ends. What was packed must be
readable within the bounds that `unpacking` sets.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import is_dataclass
from sys import modules
from typing import Any, Final, TypeAlias

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

from minigraph.checkpoint.serde.extensions import (
    EXT_DELTA_SNAPSHOT,
    ROWS,
    Apart,
    apart_of_class,
    check_address,
)

__all__ = ["Packer", "pack"]

Pack: TypeAlias = Callable[[Any], bytes]

Callback: TypeAlias = Callable[[Any], Ext | str]
"""What the C library calls with a value that it does not know."""

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

_QUICK_EXTENSIONS: Final = 4
"""How many extensions may stand in one another where they are packed quickly."""

_NOT_PACKED: Final = "Type is not msgpack serializable"
"""How the C library's error begins when its callback has raised something. It does not say what."""

_noted = threading.local()
"""`error` is what the callback has raised on this thread, until `pack` has looked at it."""

_TOO_DEEP: Final = "it is nested too deeply to be stored, or contains itself"


class _Refused(Exception):
    """Why a value cannot be stored, and where in the whole it stands."""

    def __init__(self, why: str) -> None:
        self.why = why
        self.path = ""


class Packer:
    """Packs values, with its own idea of which classes may be stored.

    Args:
        permit: called with each class that is about to be stored for the first time, unless it is
            of the table in `extensions`. It raises `TypeError` for one that may not.

    ``pack(value)`` gives the msgpack form of a value. It raises `TypeError` for what has no exact
    form, or may not be stored, naming the type, where in the value it stands, and what to do
    (SD-12, SD-13).

    >>> Packer(print).pack([1, "x"])
    b'\\x92\\x01\\xa1x'
    >>> Packer().pack({"a": [b"x", memoryview(b"x")]})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: value['a'][1]: a `builtins.memoryview` cannot be stored: it is a window on ...
    """

    pack: Pack

    def __init__(self, permit: Callable[[type], None] | None = None) -> None:
        self._permit = permit
        self._classes: dict[type, tuple[Apart, str, str]] = {}
        self.pack = self._packing_with(self._quick_callback(_QUICK_EXTENSIONS))

    def _packing_with(self, callback: Callback) -> Pack:
        def pack(value: Any) -> bytes:
            """A value in bytes: quickly where that is exact, and carefully where it is not."""
            try:
                packed = packb(value, callback, _QUICK)
            except TypeError as error:
                _let_interruptions_out(error)
                return self._pack_carefully(value)
            # These three bytes begin every run of bytes. They also occur elsewhere, which costs a
            # look at the value; where they do not occur, there is no bytearray in it.
            if (0xC4 in packed or 0xC5 in packed or 0xC6 in packed) and _holds_a_buffer(value):
                return self._pack_carefully(value)
            return packed

        return pack

    def _quick_callback(self, levels: int) -> Callback:
        """The callback for what stands inside of no extension yet; with `levels` more below it."""
        pack: Pack = self._pack_carefully
        if levels:
            pack = self._packing_with(self._quick_callback(levels - 1))
        admitted, admit = self._classes, self._admit

        def callback(value: Any) -> Ext | str:
            try:
                kind: type = type(value)
                apart = ROWS.get(kind)
                if apart is None:
                    known = admitted.get(kind)
                    if known is not None:
                        apart, module, name = known
                        # This is most of `check_address`, which has to be asked each time.
                        if getattr(modules.get(module), name, None) is not kind:
                            check_address(kind)
                    elif _is_stored_as_text(kind):
                        return _text_of(value)
                    else:
                        apart = admit(kind)
                code, parts = apart(value)
                return Ext(code, pack(parts))
            except BaseException as error:
                _noted.error = error
                raise

        return callback

    def _admit(self, kind: type) -> Apart:
        """How the values of a class that is not in the table are taken apart, if they may be."""
        apart = apart_of_class(kind)
        check_address(kind)
        if self._permit is not None:
            self._permit(kind)
        self._classes[kind] = apart, kind.__module__, kind.__qualname__
        return apart

    # -------------------------------------------------------------- the careful way

    def _pack_carefully(self, value: Any) -> bytes:
        try:
            return packb(self._carefully(value, _LEVELS), option=_CAREFUL)
        except _Refused as refused:
            raise TypeError(f"value{refused.path}: {refused.why}.") from refused.__cause__
        except RecursionError:
            raise TypeError(f"value: {_TOO_DEEP}.") from None

    def _carefully(self, value: Any, levels: int) -> Any:
        """`value`, made of nothing but what the C library packs exactly."""
        kind: type = type(value)
        if levels < 0:
            raise _Refused(_TOO_DEEP)
        if _is_plain(value):
            return value
        if kind is list:
            return [self._item(i, item, levels) for i, item in enumerate(value)]
        if kind is dict and all(map(_is_plain, value)):
            return {key: self._item(key, item, levels) for key, item in value.items()}
        try:
            if _is_stored_as_text(kind):
                return _text_of(value)
            apart = ROWS.get(kind)
            if apart is None:
                apart = self._admit(kind)
            code, parts = apart(value)
        except RecursionError:
            raise
        except Exception as error:
            raise _Refused(str(error)) from error
        if code == EXT_DELTA_SNAPSHOT:
            parts = self._carefully(parts, levels - 1)
        else:
            parts = [self._carefully(part, levels - 1) for part in parts]
        return Ext(code, packb(parts, option=_CAREFUL))

    def _item(self, key: Any, item: Any, levels: int) -> Any:
        try:
            return self._carefully(item, levels - 1)
        except _Refused as refused:
            refused.path = f"[{key!r}]{refused.path}"
            raise


pack: Final = Packer().pack
"""Packs a value of any class that can be stored."""


def _is_stored_as_text(kind: type) -> bool:
    """An exception is: what else it carries, a traceback and all that hangs on it, is not data
    (CP-22)."""
    return issubclass(kind, BaseException) and not is_dataclass(kind)


def _text_of(error: BaseException) -> str:
    return repr(error).encode(errors="backslashreplace").decode()


def _let_interruptions_out(error: TypeError) -> None:
    """Raise the Ctrl-C that struck in the callback: to the C library, that is one more error.

    It may strike before the callback's first line, while nobody can note it: the signal came
    while the C library was at work. Then the callback has failed, and there is no note.
    """
    raised = vars(_noted).pop("error", None)
    if raised is None and str(error).startswith(_NOT_PACKED):
        raised = KeyboardInterrupt()
    if raised is not None and not isinstance(raised, Exception):
        raise raised from None


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
