"""Who a task is: its path, its id, its place.

A task must be found again, by another process, days later: its finished writes wait in
the store under its id. So the id cannot be random. It is a hash of the task's
*position*, and of nothing else:

    the checkpoint it starts from ─┐
    the super-step, the node ──────┼─▶ 128-bit hash, printed like a UUID
    why it runs (path, triggers) ──┘

The same checkpoint always plans tasks with the same ids, so a resumed run finds what
was finished. Another checkpoint, even an exact copy, plans tasks with other ids, so a
fork never picks up the answers of the branch it left.

The *path* says why a task runs, and its text decides the order in which the writes of a
super-step are applied.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any

from minigraph.constants import LEVEL_SEPARATOR, TASK_SEPARATOR


@lru_cache(maxsize=4096)
def path_text(path: Any) -> str:
    """A task path as text that sorts in the order in which writes are applied (SS-02).

    Numbers are padded so that the tenth Send comes after the ninth.

    >>> path_text(("__pregel_pull", "node_a"))
    '~__pregel_pull, node_a'
    >>> path_text(("__pregel_push", 2, False))
    '~__pregel_push, 0000000002, 0000000000'
    """
    if isinstance(path, tuple):
        return "~" + ", ".join(path_text(part) for part in path)
    return f"{path:010d}" if isinstance(path, int) else str(path)


def task_id(position: str) -> str:
    """The id of the task at a position (SS-31).

    Args:
        position: one text: the checkpoint the task starts from, namespace, super-step, node,
            kind of path, then what tells apart the tasks of one node: the trigger names, or a
            Send's index.

    The reference uses XXH3-128 here; any 128-bit hash keeps every rule that can be observed,
    and BLAKE2 comes with Python (SS-33).

    >>> task_id("1ef4f797-8335-6428-8001-8a1503f9b875" "a" "1" "a" "__pregel_pull" "branch:to:a")
    '1e8c35ea-500b-4611-b3ea-302a6c60770f'
    """
    text = hashed(position)
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def hashed(text: str) -> str:
    """128 bits of a text, as 32 hexadecimal digits."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def interrupt_id(namespace: str, index: int) -> str:
    """The id of a task's question: of its first (index 0), second, … (IN-05).

    It says where the question is asked, and in no other place of any thread is it the same.

    >>> interrupt_id("ask:1e8c35ea-500b-4611-b3ea-302a6c60770f", 0)
    '80248c04ca7ed95504f2046ede4501c8'
    """
    return hashed(f"{namespace}{LEVEL_SEPARATOR}{index}" if index else namespace)


def child_namespace(namespace: str, node: str) -> str:
    """The namespace of `node`, one level below `namespace` (SB-01).

    >>> child_namespace("", "a"), child_namespace("a:1", "b")
    ('a', 'a:1|b')
    """
    return f"{namespace}{LEVEL_SEPARATOR}{node}" if namespace else node


def without_ids(place: str) -> str:
    """A namespace by its nodes alone; the numbers of repeated calls stay (SB-04).

    >>> without_ids("call:1e8c35ea|1|inner:2f"), without_ids("call")
    ('call|1|inner', 'call')
    """
    return LEVEL_SEPARATOR.join(x.split(TASK_SEPARATOR)[0] for x in place.split(LEVEL_SEPARATOR))
