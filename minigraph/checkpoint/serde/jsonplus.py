"""The default serializer: msgpack, with every type that users keep in their state.

    dumps_typed(None)          ("null",      nothing)
    dumps_typed(b"…")          ("bytes",     as it is)
    dumps_typed(bytearray())   ("bytearray", a copy)
    dumps_typed(anything)      ("msgpack",   msgpack, with the extensions of `extensions`)

Nearly all that is ever stored is text, numbers and lists and dicts of them, and for
these `dumps_typed` is one call of the C library. Only when that meets something it does
not know, it calls back, and gets an extension.

Two promises. **Exact or refused**: a value comes back with the same type and content,
or it is refused with a `TypeError` when it is written. The C library does not always
hold to that by itself, so there is a second, careful way to pack, in Python. It is taken
when the quick way fails, to pack what can be packed or to say precisely what cannot; and
when the result of the quick way may contain bytes, since a bytearray packs as bytes.

**Safe by default**: stored data is not trusted. A type that is named in it is imported
and built only if it is known to be harmless, or if the caller has listed it. A process
that may write to the database must not be able to run code in the one that reads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import is_dataclass
from datetime import datetime
from typing import Any, Final, Literal

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
    unpackb,
)

from minigraph.checkpoint.serde.extensions import (
    EXT_CONSTRUCTOR_KW_ARGS,
    EXT_CONSTRUCTOR_POS_ARGS,
    EXT_CONSTRUCTOR_SINGLE_ARG,
    EXT_METHOD_SINGLE_ARG,
    SAFE,
    assemble,
    find_class,
    take_apart,
    together_of_class,
)

__all__ = [
    "EXT_CONSTRUCTOR_KW_ARGS",
    "EXT_CONSTRUCTOR_POS_ARGS",
    "EXT_CONSTRUCTOR_SINGLE_ARG",
    "EXT_METHOD_SINGLE_ARG",
    "InvalidModuleError",
    "JsonPlusSerializer",
]

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


class InvalidModuleError(Exception):
    """Stored data names a type that it was not allowed to build."""


class JsonPlusSerializer:
    """Values to bytes and back, exactly (SD-02).

    Args:
        allowed_msgpack_modules: which types, beside those that are always safe, may be built
            when they are found in data: classes, or pairs of module and class name.
            Left out, or empty: none. ``True``: all; only for data that nobody else can write.
            ``None``: none, and for reading what can be read: instead of an error, a type
            that is not allowed gives its parts as plain data, as it does in the reference
            (SD-22, SD-23).

    Always allowed: dates, times and time zones, UUID, Decimal, the containers and paths of
    the standard library, IP addresses, patterns, and the records of `minigraph.types` (SD-24).

    >>> serializer = JsonPlusSerializer()
    >>> serializer.dumps_typed({"x": 1})
    ('msgpack', b'\\x81\\xa1x\\x01')
    >>> serializer.loads_typed(serializer.dumps_typed({"seen": {("a", 1)}}))
    {'seen': {('a', 1)}}
    """

    def __init__(
        self,
        *,
        allowed_msgpack_modules: Iterable[tuple[str, str] | type] | Literal[True] | None = (),
    ) -> None:
        self._allow_all = allowed_msgpack_modules is True
        self._give_parts = allowed_msgpack_modules is None
        self._allowed: dict[tuple[str, str], type | None] = {}
        if allowed_msgpack_modules is not True:
            for entry in allowed_msgpack_modules or ():
                if isinstance(entry, type):
                    self._allowed[entry.__module__, entry.__qualname__] = entry
                else:
                    module, name = entry
                    self._allowed[module, name] = None

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The tag of the form, and `obj` in that form.

        Raises `TypeError` for what cannot be stored exactly. The message names the type, says
        where in `obj` it stands, and what to do (SD-13).

        >>> JsonPlusSerializer().dumps_typed({"a": [memoryview(b"x")]})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        TypeError: value['a'][0]: a `builtins.memoryview` cannot be stored: it is a window on ...
        """
        if obj is None:
            return "null", b""
        kind = type(obj)
        if kind is bytes:
            return "bytes", obj
        if kind is bytearray:
            return "bytearray", bytes(obj)
        return "msgpack", _pack(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """A new value, equal to the one that was stored.

        Raises `InvalidModuleError` for a type that is not allowed, `ValueError` for one that
        cannot be built (any more) and for damaged bytes, `NotImplementedError` for an unknown
        tag. The message names the type and says what to do (SD-14).
        """
        tag, content = data
        if tag == "msgpack":
            try:
                return unpackb(content, ext_hook=self._revive, option=OPT_NON_STR_KEYS)
            except ValueError as error:
                problem = _why(error)
            raise problem
        if tag == "null":
            return None
        if tag == "bytes":
            return content
        if tag == "bytearray":
            return bytearray(content)
        raise NotImplementedError(
            f"Unknown serialization type: {tag!r}. It was written by another serializer; "
            f"read it with that one."
        )

    # ------------------------------------------------------------------ reading

    def _revive(self, code: int, content: bytes) -> Any:
        """Called by the C library for each extension, the inner ones first."""
        try:
            parts = unpackb(content, ext_hook=self._revive, option=OPT_NON_STR_KEYS)
            return self._build(code, *parts)
        except BaseException as error:
            if _failure.cause is None:
                _failure.cause = error
            raise

    def _build(self, code: int, module: str, name: str, part: Any, method: str = "") -> Any:
        address = (module, name)
        safe = SAFE.get(address)
        allowed = safe is not None or self._allow_all or address in self._allowed
        if code == EXT_METHOD_SINGLE_ARG:
            # A method could be any function of the type's module; there is one that is needed.
            allowed = (module, name, method) == ("datetime", "datetime", "fromisoformat")
        if not allowed:
            if self._give_parts:
                return part
            raise InvalidModuleError(_remedy(module, name, method))
        try:
            if safe is None:
                cls = self._allowed.get(address) or find_class(module, name)
                return together_of_class(cls)(part)
            if code == EXT_METHOD_SINGLE_ARG:
                return datetime.fromisoformat(part)
            return assemble(code, safe, part)
        except Exception as error:
            if self._give_parts:
                return part
            raise ValueError(
                f"The stored `{module}.{name}` cannot be built: {error}. Was it moved, renamed or "
                f"changed since? Bring back the old form, or read the data with "
                f"JsonPlusSerializer(allowed_msgpack_modules=None), which gives its parts."
            ) from error


class _Failure(threading.local):
    """Why an extension could not be built. The C library only says that one could not, so the
    first error is put down here on its way up."""

    cause: BaseException | None = None


_failure = _Failure()


def _why(error: ValueError) -> BaseException:
    cause, _failure.cause = _failure.cause, None
    return cause or ValueError(f"The stored bytes are damaged, or not msgpack: {error}.")


def _remedy(module: str, name: str, method: str) -> str:
    if method:
        return f"Stored data asks for a call of `{module}.{name}.{method}`, which is never made."
    return (
        f"Stored data names the type `{module}.{name}`, which is not on the list of types that may "
        f"be built. If you know it and trust those who write to the store, allow it: "
        f"JsonPlusSerializer(allowed_msgpack_modules=[({module!r}, {name!r})])."
    )


# ---------------------------------------------------------------------- writing


def _pack(value: Any) -> bytes:
    """The quick way, unless its result is not certain to be exact."""
    try:
        packed = packb(value, _quick_extension, _QUICK)
    except TypeError:
        return _pack_carefully(value)
    # These three bytes begin every run of bytes. They also occur elsewhere, which costs a look
    # at the value; where they do not occur, there is no bytearray in it.
    if (0xC4 in packed or 0xC5 in packed or 0xC6 in packed) and _holds_a_buffer(value):
        return _pack_carefully(value)
    return packed


def _quick_extension(value: Any) -> Any:
    return _extension(value, _pack)


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


def _carefully(value: Any, levels: int) -> Any:
    """`value`, made of nothing but what the C library packs exactly."""
    kind = type(value)
    if levels == 0:
        raise _Refused("it is nested too deeply to be stored, or contains itself")
    if _is_plain(value):
        return value
    if kind is list:
        return [_item(i, item, levels) for i, item in enumerate(value)]
    if kind is dict and all(map(_is_plain, value)):
        return {key: _item(key, item, levels) for key, item in value.items()}

    def pack(parts: list[Any]) -> bytes:
        parts[2] = _carefully(parts[2], levels - 1)
        return packb(parts, option=_CAREFUL)

    try:
        return _extension(value, pack)
    except _Refused:
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
