"""The default serializer: msgpack, with every type that users keep in their state.

    dumps_typed(None)          ("null",      nothing)
    dumps_typed(b"…")          ("bytes",     as it is)
    dumps_typed(bytearray())   ("bytearray", a copy)
    dumps_typed(other)         ("msgpack",   what `packing` makes of it)

Two promises. **Exact or refused**: a value comes back with the same type and content,
or it is refused with a `TypeError` when it is written (see `packing`).

**Safe by default**: stored data is not trusted. A type that is named in it is imported
and built only if it is known to be harmless, or if the caller has listed it. Whoever can
write to the database must not be able to run code in the process that reads it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from ormsgpack import OPT_NON_STR_KEYS, unpackb

from minigraph.checkpoint.serde.extensions import (
    EXT_CONSTRUCTOR_KW_ARGS,
    EXT_CONSTRUCTOR_POS_ARGS,
    EXT_CONSTRUCTOR_SINGLE_ARG,
    EXT_METHOD_SINGLE_ARG,
    EXT_PYDANTIC_V2,
    SAFE,
    assemble,
    find_class,
    model_together,
    together_of_class,
)
from minigraph.checkpoint.serde.packing import pack

__all__ = [
    "EXT_CONSTRUCTOR_KW_ARGS",
    "EXT_CONSTRUCTOR_POS_ARGS",
    "EXT_CONSTRUCTOR_SINGLE_ARG",
    "EXT_METHOD_SINGLE_ARG",
    "EXT_PYDANTIC_V2",
    "InvalidModuleError",
    "JsonPlusSerializer",
]


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
        return "msgpack", pack(obj)

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
                problem = _take_up(error)
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
        """Called by the C library for each extension; calls itself for the inner ones."""
        try:
            parts = unpackb(content, ext_hook=self._revive, option=OPT_NON_STR_KEYS)
        except ValueError as error:
            raise _put_down(_damaged(error)) from None
        try:
            return self._build(code, *parts)
        except TypeError as error:  # not an array of module, name and parts
            raise _put_down(_damaged(error)) from None
        except BaseException as error:
            _put_down(error)
            raise

    def _build(
        self, code: int, module: str, name: str, part: Any, method: str = "", rest: Any = None
    ) -> Any:
        if code > EXT_METHOD_SINGLE_ARG and code != EXT_PYDANTIC_V2:
            raise ValueError(f"This version cannot read values of extension code {code}.")
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
                if code == EXT_PYDANTIC_V2:
                    return model_together(cls, part, rest)
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
    first error, which is the innermost, is put down here on its way up."""

    cause: BaseException | None = None


_failure = _Failure()


def _put_down(error: BaseException) -> BaseException:
    if _failure.cause is None:
        _failure.cause = error
    return error


def _take_up(error: ValueError) -> BaseException:
    cause, _failure.cause = _failure.cause, None
    return cause or _damaged(error)


def _damaged(error: Exception) -> ValueError:
    return ValueError(f"The stored bytes are damaged, or were not written here: {error}.")


def _remedy(module: str, name: str, method: str) -> str:
    if method:
        return f"Stored data asks for a call of `{module}.{name}.{method}`, which is never made."
    return (
        f"Stored data names the type `{module}.{name}`, which is not on the list of types that may "
        f"be built. If you know it and trust those who write to the store, allow it: "
        f"JsonPlusSerializer(allowed_msgpack_modules=[({module!r}, {name!r})])."
    )
