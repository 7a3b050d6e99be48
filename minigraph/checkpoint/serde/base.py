"""What a saver asks of a serializer: two methods.

    value ── dumps_typed ──▶ (tag, bytes) ── loads_typed ──▶ value

The tag says in which form the bytes are, so that data written in one form can still be
read after the default has become another. A saver stores both and looks into neither.

Whatever the bytes are, reading them gives a value, or raises an `UnreadableError`.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = [
    "CipherProtocol",
    "SerializerCompat",
    "SerializerProtocol",
    "UnknownTagError",
    "UnreadableError",
    "UntypedSerializerProtocol",
    "maybe_add_typed_methods",
]


class UnreadableError(ValueError):
    """Stored data cannot be read: it is damaged, was made by somebody else, or is not allowed.

    The one family of errors of `loads_typed` (SD-14). Its members say what kind of trouble it
    is, and every message says what to do.
    """


class UnknownTagError(UnreadableError, NotImplementedError):
    """Stored data is in a form that this serializer does not read (SD-02, SD-20)."""


@runtime_checkable
class SerializerProtocol(Protocol):
    """Any object with these two methods can be a saver's ``serde`` (SD-01).

    What a serializer promises a saver: the bytes share nothing with the value, and loading
    them gives a value of the same type and content, each time a new one. What it cannot
    store like that it refuses with a `TypeError`.

    >>> class Text:
    ...     def dumps_typed(self, obj):
    ...         return "text", repr(obj).encode()
    ...     def loads_typed(self, data):
    ...         return data[1].decode()
    >>> isinstance(Text(), SerializerProtocol)
    True
    """

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The form's tag, and `obj` in that form. Raises `TypeError` if it has none."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value that `dumps_typed` was given. Raises `UnreadableError` if that is lost."""


@runtime_checkable
class UntypedSerializerProtocol(Protocol):
    """A serializer of the simple kind, such as the modules `pickle` and `marshal`: no tags."""

    def dumps(self, obj: Any) -> bytes:
        """`obj` as bytes."""

    def loads(self, data: bytes) -> Any:
        """The value that `dumps` was given."""


class SerializerCompat:
    """Gives a serializer of the simple kind the two methods that a saver asks for (SD-01).

    The tag is the name of the value's class. It is for people who look into the store; reading
    does not need it.

    >>> import marshal
    >>> SerializerCompat(marshal).dumps_typed([1])[0]
    'list'
    """

    def __init__(self, serde: UntypedSerializerProtocol) -> None:
        self.serde = serde

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return type(obj).__name__, self.serde.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return self.serde.loads(data[1])


def maybe_add_typed_methods(
    serde: SerializerProtocol | UntypedSerializerProtocol,
) -> SerializerProtocol:
    """A serializer as savers need it: itself, or wrapped if it is of the simple kind (SD-01).

    Raises `TypeError` for what is no serializer of either kind.

    >>> import marshal
    >>> saver_needs = maybe_add_typed_methods(marshal)
    >>> saver_needs.loads_typed(saver_needs.dumps_typed([1]))
    [1]
    """
    if isinstance(serde, SerializerProtocol):
        return serde
    if isinstance(serde, UntypedSerializerProtocol):
        return SerializerCompat(serde)
    raise TypeError(
        f"A serializer has the methods dumps_typed and loads_typed, or dumps and loads, but "
        f"{serde!r} has neither. Give an instance, such as JsonPlusSerializer()."
    )


class CipherProtocol(Protocol):
    """What an encrypting serializer asks of a cipher (SD-31)."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """The cipher's name, which is stored beside it, and the encrypted text."""

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """The text that `encrypt` was given. Raises any `Exception` if it is not that."""
