"""What a saver asks of a serializer: two methods.

    value ── dumps_typed ──▶ (tag, bytes) ── loads_typed ──▶ value

The tag says in which form the bytes are, so that data written in one form can still be
read after the default has become another. A saver stores both and looks into neither.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["SerializerProtocol"]


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
        """The value that `dumps_typed` was given."""
