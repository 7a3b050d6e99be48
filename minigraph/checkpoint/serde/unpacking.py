"""Msgpack to a value, whatever the bytes are.

The mirror of `packing`. The C library reads what is plain, and for each extension it calls
back; the content of an extension is msgpack again, and may hold extensions of its own:

    unpackb ──▶ callback ──▶ unpackb ──▶ callback …       one stack, and it ends

The bytes may come from anybody. A few thousand of them, well chosen, nest lists in lists in
extensions until the stack is used up, and then the process is gone: that is no exception
that somebody could catch. So the depth is bounded:

    outermost, in one or two extensions    in each as deep as the C library goes: 1023 levels
    in three or more                       counted beforehand, and bounded all together

That makes some 2 MB of stack at most; a thread has 8, unless somebody has given it less.

A length that is declared and not there costs nothing: the C library believes no number. What
is in an extension is copied for it, so the memory is at most the size of the bytes times the
number of extensions in one another, for which there is the same bound.

What an extension means is not this module's business; somebody gives it the function that
builds values. That function's errors have to pass through the C library, which forgets them;
they are noted on the way, and raised at the end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ormsgpack import OPT_NON_STR_KEYS, unpackb

from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.extensions import EXT_CONSTRUCTOR_KW_ARGS

__all__ = ["Unpacker", "damaged", "nesting"]

Build: TypeAlias = Callable[[int, Any], Any]
"""Makes a value of an extension: its code, and what it holds."""

Quick: TypeAlias = Mapping[str, tuple[str, Callable[..., Any]]]

Callback: TypeAlias = Callable[[int, bytes], Any]

_UNCOUNTED: Final = 2
"""So many extensions may stand in one another before anybody counts."""

_LEVELS: Final = 1600
"""How deeply lists, dicts and extensions may be nested inside of these. `packing` stays below: it
packs two more extensions of 255 levels each quickly, and 255 levels carefully."""

_COST: Final = 3
"""An extension counts for so many levels: it takes more of the stack than a list."""

_FAILED: Final = "ext_hook failed"
"""The C library's error when its callback has raised something. It does not say what."""


class Unpacker:
    """Reads values, with its own idea of what an extension means.

    Args:
        build: makes a value of an extension.
        quick: a dict that may be filled as time goes by: name → module, and a function that makes
            a value of its parts by name. It is asked first where there is nothing else, and
            `build` if it fails.

    >>> Unpacker(lambda code, content: (code, content)).unpack(b"\\x91\\xd4\\x05\\x07")
    [(5, 7)]
    """

    def __init__(self, build: Build, quick: Quick | None = None) -> None:
        self._build = build
        self._quick: Quick = {} if quick is None else quick
        self._callback = self._quick_callback(_UNCOUNTED)

    def unpack(self, content: bytes) -> Any:
        """The value of these bytes.

        Raises `UnreadableError` if they are no msgpack or too deeply nested, and what `build`
        raises. If several extensions could not be built, the innermost is told.
        """
        try:
            return unpackb(content, ext_hook=self._callback, option=OPT_NON_STR_KEYS)
        except ValueError as error:
            _note(error)
            problem, _noted.error = _noted.error, None
        if isinstance(problem, RecursionError):
            problem = damaged(problem)
        raise problem or damaged(ValueError(_FAILED))

    def _quick_callback(self, levels: int) -> Callback:
        """The callback for what stands in no extension; it has the next one for what is in that."""
        build, quick = self._build, self._quick
        inner = self._quick_callback(levels - 1) if levels > 1 else self._counting_callback(_LEVELS)

        def callback(code: int, content: bytes) -> Any:
            try:
                parts = unpackb(content, ext_hook=inner, option=OPT_NON_STR_KEYS)
                if code == EXT_CONSTRUCTOR_KW_ARGS and len(parts) == 3:
                    module, name, part = parts
                    known = quick.get(name)
                    if known is not None and known[0] == module:
                        try:
                            return known[1](part)
                        except Exception:
                            pass  # and `build` will say what is wrong
                return build(code, parts)
            except BaseException as error:
                try:
                    _note(error)
                except RecursionError as no_room:
                    _noted.error = no_room
                raise

        return callback

    def _counting_callback(self, levels: int) -> Callback:
        """The callback for what is deep inside; only so many levels may be deeper."""

        def callback(code: int, content: bytes) -> Any:
            try:
                left = levels - _COST - nesting(content, levels)
                if left < 0:
                    raise UnreadableError(
                        "The stored bytes are nested more deeply than anything that was written "
                        "here. They are damaged, or somebody has made them to do harm."
                    )
                inner = self._counting_callback(left)
                return self._build(code, unpackb(content, ext_hook=inner, option=OPT_NON_STR_KEYS))
            except BaseException as error:
                try:
                    _note(error)
                except RecursionError as no_room:
                    _noted.error = no_room
                raise

        return callback


class _Noted(threading.local):
    """The first error of a callback on this thread, until `unpack` has looked at it."""

    error: BaseException | None = None


_noted = _Noted()


def _note(error: BaseException) -> None:
    if _noted.error is not None:
        return
    if isinstance(error, ValueError) and str(error) == _FAILED:
        # A callback has failed before its first line. A signal came while the C library was at
        # work, and Ctrl-C strikes as soon as there is Python again.
        error = KeyboardInterrupt()
    elif isinstance(error, Exception) and not isinstance(error, UnreadableError):
        error = damaged(error)
    _noted.error = error


def damaged(error: Exception) -> UnreadableError:
    """What to say of bytes that are no value."""
    return UnreadableError(f"The stored bytes are damaged, or were not written here: {error}.")


_SIZED: Final = {
    **{0xC4 + i: ("skip", 2**i, 0) for i in range(3)},  # bytes
    **{0xC7 + i: ("skip", 2**i, 1) for i in range(3)},  # an extension, and its code
    **{0xD9 + i: ("skip", 2**i, 0) for i in range(3)},  # text
    **{0xDC + i: ("items", 2 << i, 1) for i in range(2)},  # a list
    **{0xDE + i: ("items", 2 << i, 2) for i in range(2)},  # a dict: keys and values
}
"""First byte → what is counted, in how many bytes that number stands, and what to add to the
bytes, or multiply the items by."""

_FIXED: Final = {
    **dict(zip(range(0xCA, 0xD4), (4, 8, 1, 2, 4, 8, 1, 2, 4, 8))),  # numbers
    **{0xD4 + i: 1 + 2**i for i in range(5)},  # a short extension, and its code
}
"""First byte → how many bytes follow."""


def nesting(content: bytes, enough: int) -> int:
    """How deeply lists and dicts are nested in these bytes, not counting what is in extensions.

    Counting stops at `enough`. Bytes that are no msgpack give some number: the C library will
    say what is wrong with them.

    >>> nesting(b"\\x91\\x92\\x91\\x01\\x02", 10)
    3
    """
    deepest = position = 0
    open_items: list[int] = []  # for each list or dict around here: how many items it waits for
    while position < len(content) and deepest < enough:
        first = content[position]
        position += 1
        items = 0
        if 0x80 <= first <= 0x8F:
            items = 2 * (first - 0x80)
        elif 0x90 <= first <= 0x9F:
            items = first - 0x90
        elif 0xA0 <= first <= 0xBF:
            position += first - 0xA0
        elif first in _FIXED:
            position += _FIXED[first]
        elif first in _SIZED:
            kind, width, more = _SIZED[first]
            number = int.from_bytes(content[position : position + width], "big")
            position += width
            if kind == "items":
                items = number * more
            else:
                position += number + more
        if items:
            open_items.append(items)
            deepest = max(deepest, len(open_items))
            continue
        while open_items:
            open_items[-1] -= 1
            if open_items[-1]:
                break
            open_items.pop()
    return deepest
