"""Public addresses that open only when somebody knocks.

``from minigraph.channels import LastValue`` must work, since that is the address in
the reference; reading or importing one channel must not drag in all the others. So a
package's ``__init__`` names its rooms and this function fetches one when it is asked
for (PEP 562).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_door(package: str, rooms: Mapping[str, str]) -> Callable[[str], Any]:
    """A module-level ``__getattr__`` for `package`.

    Args:
        package: the package's ``__name__``.
        rooms: public name → the module that defines it.

    Raises `AttributeError` for a name that is not listed, as a module does.

    >>> door = lazy_door("minigraph.channels", {"LastValue": "minigraph.channels.last_value"})
    >>> door("LastValue").__name__
    'LastValue'
    >>> door("Nothing")
    Traceback (most recent call last):
    AttributeError: module 'minigraph.channels' has no attribute 'Nothing'
    """

    def __getattr__(name: str) -> Any:
        if name not in rooms:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(rooms[name]), name)

    return __getattr__
