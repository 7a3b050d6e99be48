"""The default serializer: msgpack, with every type that users keep in their state.

    dumps_typed(None)          ("null",      nothing)
    dumps_typed(b"…")          ("bytes",     as it is)
    dumps_typed(bytearray())   ("bytearray", a copy)
    dumps_typed(other)         ("msgpack",   what `packing` makes of it)
                               ("pickle",    what else there is, for those who ask for it)

Three promises. **Exact or refused**: a value comes back with the same type and content,
or it is refused with a `TypeError` when it is written (see `packing`).

**Safe by default**: stored data is not trusted. A type that is named in it is imported
and built only if it is known to be harmless, or if somebody in this process has vouched for
it. Whoever can write to the database must not be able to run code in the process that
reads it. Three can vouch for a class: the caller, who lists it; a graph, whose schema names
it (see `allowlist`); and the serializer itself, when it is given a value of it to write.

**Refused when it is written**: the last of these is gone when the process ends, and the data
is not. So a serializer that has been given a list holds to it in writing too. It says then
what is missing, and not when the data is needed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from minigraph.checkpoint.serde.base import UnknownTagError, UnreadableError
from minigraph.checkpoint.serde.extensions import (
    EXT_CONSTRUCTOR_KW_ARGS,
    EXT_CONSTRUCTOR_POS_ARGS,
    EXT_CONSTRUCTOR_SINGLE_ARG,
    EXT_DELTA_SNAPSHOT,
    EXT_METHOD_SINGLE_ARG,
    EXT_NUMPY_ARRAY,
    EXT_PYDANTIC_V2,
    SAFE,
    SAFE_MODELS,
    address_of,
    array_together,
    find_class,
    is_array,
    model_together,
    together_of_class,
)
from minigraph.checkpoint.serde.packing import Packer
from minigraph.checkpoint.serde.types import _DeltaSnapshot
from minigraph.checkpoint.serde.unpacking import Unpacker, damaged

__all__ = [
    "EXT_CONSTRUCTOR_KW_ARGS",
    "EXT_CONSTRUCTOR_POS_ARGS",
    "EXT_CONSTRUCTOR_SINGLE_ARG",
    "EXT_DELTA_SNAPSHOT",
    "EXT_METHOD_SINGLE_ARG",
    "EXT_NUMPY_ARRAY",
    "EXT_PYDANTIC_V2",
    "InvalidModuleError",
    "JsonPlusSerializer",
]

Address: TypeAlias = tuple[str, str]
"""The module and the qualified name of a class."""


class InvalidModuleError(UnreadableError):
    """Stored data names a type that it was not allowed to build (SD-23)."""


class _Unlisted:
    """What `allowed_msgpack_modules` is when it is left out."""

    def __repr__(self) -> str:
        return "<what was written here>"


_UNLISTED: Final = _Unlisted()


class JsonPlusSerializer:
    """Values to bytes and back, exactly (SD-02).

    Args:
        pickle_fallback: whether a value that has no exact form may be pickled, as a whole, and
            such data be unpickled (SD-20). Unpickling runs whatever code the data asks for, so
            this is for a store that nobody else can write to; unless a list is given as well,
            all types are allowed then.
        allowed_msgpack_modules: which types, beside those that are always safe, may be stored,
            and built when they are found in data: classes, or pairs of module and class name.
            Empty: none. ``True``: all; only for a store that nobody else can write to.
            Left out: all may be stored, and those built that this object has stored itself.
            ``None``: none, and for reading what can be read: instead of an error, a type
            that is not allowed gives its parts as plain data, as it does in the reference
            (SD-22, SD-23).

    Always allowed: dates, times and time zones, UUID, Decimal, the containers and paths of
    the standard library, IP addresses, patterns, arrays of numpy's, the records of
    `minigraph.types`, and the messages of langchain-core (SD-24).

    >>> serializer = JsonPlusSerializer()
    >>> serializer.dumps_typed({"x": 1})
    ('msgpack', b'\\x81\\xa1x\\x01')
    >>> serializer.loads_typed(serializer.dumps_typed({"seen": {("a", 1)}}))
    {'seen': {('a', 1)}}
    """

    def __init__(
        self,
        *,
        pickle_fallback: bool = False,
        allowed_msgpack_modules: (
            Iterable[Address | type] | Literal[True] | _Unlisted | None
        ) = _UNLISTED,
    ) -> None:
        if pickle_fallback and allowed_msgpack_modules is _UNLISTED:
            allowed_msgpack_modules = True
        self._pickles = pickle_fallback
        self._allows_all = allowed_msgpack_modules is True
        self._gives_parts = allowed_msgpack_modules is None
        listed: Iterable[Address | type] | None = None
        if allowed_msgpack_modules is None:
            listed = ()
        elif not isinstance(allowed_msgpack_modules, (bool, _Unlisted)):
            listed = allowed_msgpack_modules
        self._listed = None if listed is None else _addresses(listed)
        # Classes that this process has vouched for; shared with the copies of this object.
        self._vouched: dict[Address, type | None] = dict(self._listed or {})
        self._makers: dict[tuple[int, str, str], Callable[..., Any]] = {}
        self._quick: dict[str, tuple[str, Callable[..., Any]]] = {}
        self._set_up()

    def _set_up(self) -> None:
        self._pack = Packer(self._permit).pack
        self._unpack = Unpacker(self._build, self._quick).unpack

    def with_msgpack_allowlist(
        self, extra_allowlist: Iterable[Address | type]
    ) -> JsonPlusSerializer:
        """A copy that allows these types as well; the same object if it allows all (SD-25).

        What is allowed here, `self` may read too: somebody has vouched for it.

        >>> strict = JsonPlusSerializer(allowed_msgpack_modules=[])
        >>> wider = strict.with_msgpack_allowlist([("colours", "Colour")])
        """
        if self._allows_all:
            return self
        extra = _addresses(extra_allowlist)
        if self._listed is not None and extra.items() <= self._listed.items():
            return self
        wider = JsonPlusSerializer.__new__(type(self))
        wider.__dict__.update(self.__dict__)
        wider._listed = {**(self._listed or {}), **extra}
        wider._set_up()
        self._vouch(extra)
        return wider

    # ------------------------------------------------------------------ writing

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The tag of the form, and `obj` in that form.

        Raises `TypeError` for what cannot be stored exactly, and for a type that is not on the
        list. The message names the type, says where in `obj` it stands, and what to do (SD-13).

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
        try:
            return "msgpack", self._pack(obj)
        except TypeError as refused:
            if not self._pickles:
                raise
            try:
                return "pickle", pickle.dumps(obj)
            except Exception as error:
                raise TypeError(f"{refused} Nor can it be pickled: {error}.") from error

    def _permit(self, cls: type) -> None:
        """Asked before a class is stored for the first time."""
        address = address_of(cls)
        if self._allows_all or address in SAFE or address in SAFE_MODELS or is_array(cls):
            return
        if self._listed is not None and address not in self._listed:
            module, name = address
            raise TypeError(
                f"a `{module}.{name}` cannot be stored, because the serializer may not build it "
                f"again when it is read. Name the class in an annotation of the graph's state, or "
                f"allow it: saver.with_allowlist([({module!r}, {name!r})]), or "
                f"JsonPlusSerializer(allowed_msgpack_modules=[({module!r}, {name!r})])"
            )
        known = self._vouched.get(address)
        if known is not cls and (known is not None or self._listed is None):
            self._vouch({address: cls})

    def _vouch(self, classes: dict[Address, type | None]) -> None:
        self._vouched.update(classes)
        self._makers.clear()
        self._quick.clear()

    # ------------------------------------------------------------------ reading

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """A new value, equal to the one that was stored.

        Raises `UnreadableError`, which is a `ValueError`, for one that cannot be built (any more)
        and for damaged bytes. Of its kinds, `InvalidModuleError` is for a type that is not
        allowed, and `UnknownTagError` for a form that this serializer does not read. The message
        names the type and says what to do (SD-14).
        """
        tag, content = data
        if tag == "null":
            return None
        # A column of a table may hold anything; and given a number, `bytearray` makes zeros of it.
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise damaged(TypeError(f"expected bytes, found {type(content).__name__}"))
        if tag == "msgpack":
            return self._unpack(content)
        if tag == "bytes":
            return bytes(content)
        if tag == "bytearray":
            return bytearray(content)
        if tag == "pickle" and self._pickles:
            try:
                return pickle.loads(content)
            except Exception as error:
                raise damaged(error) from error
        hint = _HINTS.get(tag, _FOREIGN)
        raise UnknownTagError(f"Unknown serialization type: {tag!r}. {hint}")

    def _build(self, code: int, parts: Any) -> Any:
        """Make the value of an extension, if its type is one that may be built."""
        if code == EXT_DELTA_SNAPSHOT:
            return _DeltaSnapshot(parts)
        if code == EXT_NUMPY_ARRAY:
            parts = ("numpy", "ndarray", parts)
        module, name, part, *more = parts
        make = self._makers.get((code, module, name))
        try:
            make = make or self._find_maker(code, module, name)
            return make(part, more) if more else make(part)
        except Exception as error:
            if self._gives_parts:
                return part
            if isinstance(error, UnreadableError):
                raise
            raise UnreadableError(
                f"The stored `{module}.{name}` cannot be built: {error}. Was it moved, renamed or "
                f"changed since? Bring back the old form, or read the data with "
                f"JsonPlusSerializer(allowed_msgpack_modules=None), which gives its parts."
            ) from error

    def _find_maker(self, code: int, module: str, name: str) -> Callable[..., Any]:
        """What makes a value of this type from its parts, if the type is one that may be built.

        It is remembered, unless a class has to be found by its name each time: in a notebook, a
        cell that is run again puts another class in its place.
        """
        address = (module, name)
        safe = SAFE.get(address)
        cls: type | None = None
        make: Callable[..., Any]
        if code == EXT_METHOD_SINGLE_ARG:
            make = _maker_by_method(module, name)
            if safe is None:
                return make
        elif code == EXT_NUMPY_ARRAY:
            make = _array
        elif safe and code in _MAKERS:
            make = _MAKERS[code](safe)
        elif code not in _MAKERS and code != EXT_PYDANTIC_V2:
            raise UnreadableError(f"This version cannot read values of extension code {code}.")
        elif not (self._allows_all or address in SAFE_MODELS or address in self._vouched):
            raise InvalidModuleError(
                f"Stored data names the type `{module}.{name}`, which is not on the list of types "
                f"that may be built. If you know it and trust those who write to the store, name "
                f"it in an annotation of the graph's state, or allow it: "
                f"saver.with_allowlist([({module!r}, {name!r})]), or "
                f"JsonPlusSerializer(allowed_msgpack_modules=[({module!r}, {name!r})])."
            )
        else:
            cls = self._vouched.get(address)
            make = _maker_of_class(code, cls or find_class(module, name))
            if cls is None and address not in SAFE_MODELS:
                return make
            if cls is not None and code == EXT_CONSTRUCTOR_KW_ARGS:
                self._quick[name] = module, make
        self._makers[code, module, name] = make
        return make


def _addresses(entries: Iterable[Address | type]) -> dict[Address, type | None]:
    """Address → the class, where it was given as one."""
    found: dict[Address, type | None] = {}
    # A text is a sequence too, and so is an enum.
    alone = isinstance(entries, (str, type)) or not isinstance(entries, Iterable)
    for entry in (entries,) if alone else entries:
        match entry:
            case type() if not alone:
                found[address_of(entry)] = entry
            case (str(module), str(name)) if not alone:
                found[module, name] = None
            case _:
                raise TypeError(
                    f"Types that may be stored are given in a list of classes, or of pairs such as "
                    f"('colours', 'Colour'), but {entry!r} is {'no list' if alone else 'neither'}."
                )
    return found


_MAKERS: Final[dict[int, Callable[[Callable[..., Any]], Callable[[Any], Any]]]] = {
    EXT_CONSTRUCTOR_SINGLE_ARG: lambda kind: kind,
    EXT_CONSTRUCTOR_POS_ARGS: lambda kind: lambda part: kind(*part),
    EXT_CONSTRUCTOR_KW_ARGS: lambda kind: lambda part: kind(**part),
}
"""Code → how the parts of a safe type are given to it."""


def _maker_of_class(code: int, cls: type) -> Callable[..., Any]:
    if code != EXT_PYDANTIC_V2:
        return together_of_class(cls)

    def make(part: Any, more: list[Any]) -> Any:
        return model_together(cls, part, more[1] if len(more) > 1 else None)

    return make


def _array(part: list[Any]) -> Any:
    return array_together(*part)


def _maker_by_method(module: str, name: str) -> Callable[..., Any]:
    def make(part: str, more: list[Any]) -> Any:
        # A method could be any function of the type's module; there is one that is needed.
        if (module, name, *more) != ("datetime", "datetime", "fromisoformat"):
            raise InvalidModuleError(
                f"Stored data asks for a call of `{module}.{name}.{more[0]}`, which is never made."
            )
        return datetime.fromisoformat(part)

    return make


_FOREIGN: Final = "It was written by another serializer; read it with that one."

_HINTS: Final = {
    "pickle": "The value was pickled, and to unpickle it is to run what is in it. If nobody else "
    "can write to the store, read it with JsonPlusSerializer(pickle_fallback=True).",
    "json": "It was written long ago, by a version that stored text. Read it with the reference, "
    "and store it again.",
}
"""Tag → what to do about it, where more is known than that it is not ours."""
