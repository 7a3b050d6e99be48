"""Is this a saver? 103 small questions for one that somebody has written.

    capabilities    what a saver can do
    report          what came out
    bench           the saver, fixed where the checks can get at it
    saving          checks of put and put_writes
    reading         checks of get_tuple and list
    gathering       checks of what is stored in pieces
    removing        checks of delete_thread, and of what a saver may offer beside it
    suite           who runs them

Read them in this order; the checks can be skipped, or looked up when one fails.
"""

from typing import TYPE_CHECKING

from minigraph.doors import lazy_door

if TYPE_CHECKING:
    from minigraph.checkpoint.conformance.suite import checkpointer_test, validate

__all__ = ["checkpointer_test", "validate"]

__getattr__ = lazy_door(
    __name__,
    {
        "checkpointer_test": "minigraph.checkpoint.conformance.suite",
        "validate": "minigraph.checkpoint.conformance.suite",
    },
)
