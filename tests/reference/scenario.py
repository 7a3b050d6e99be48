"""The scenario language: a graph, and what a user does with it, written down as data.

A scenario is small, printable, and survives a trip through JSON. It names no package, so that
`build` can realise it on the reference and on minigraph alike. It has two halves:

- the *graph*: state keys, nodes whose behaviour is scripted, edges, joins, branches;
- the *script*: the calls a user makes on one thread, one after another.

    Scenario(
        keys=(Key('log'),),
        nodes=(Node('a', writes=(Write('log', 'name'),), fails=(1,)),),
        edges=(Edge(('__start__',), 'a'),),
        calls=(Call('invoke', input={'log': ['in']}), Call('invoke'), Call('history')),
    )

reads: one list key; a node `a` that appends its name, but fails the first time it runs; invoke it
(which fails), resume it, look at the history.

Nothing in a scenario may depend on luck. Parallel tasks finish in any order, so what a node does
depends on its own input and on how often *it* has run, never on its siblings.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

START, END = "__start__", "__end__"

LATEST, UPDATED, UNKNOWN = None, "updated", "unknown"
"""Which checkpoint a call addresses, besides an index into the history: none in particular, the
one that the last `update` returned, or one that does not exist."""


class Part:
    """Prints what was said and leaves out what was not, so that a scenario reads as written."""

    def __repr__(self) -> str:
        said = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # every part is one
            value = getattr(self, field.name)
            if value != field.default:
                said.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(said)})"


@dataclass(frozen=True, repr=False)
class Key(Part):
    """A key of the state. The kinds are the rows of `build.ANNOTATIONS`."""

    name: str
    kind: str = "list"


@dataclass(frozen=True, repr=False)
class Write(Part):
    """One key of a node's update, and how its value comes about.

    | how         | the value written                                                       |
    |-------------|-------------------------------------------------------------------------|
    | `value`     | `value` itself                                                          |
    | `name`      | the node's name, and the tag of the `Send` it runs for                  |
    | `run`       | the node's name and the number of this run: tells a replay from a resume|
    | `plus`      | the key's value (0 where it is no number) plus `value`                  |
    | `copy`      | what the key named by `value` holds: shows what the node was given      |
    | `overwrite` | `Overwrite(value)`                                                      |
    | `refused`   | something that the reducer of the key cannot take                       |

    `name`, `run` and `copy` are wrapped in a list where the key is a list.
    """

    key: str
    how: str = "value"
    value: Any = None


@dataclass(frozen=True, repr=False)
class Node(Part):
    """A node with scripted behaviour.

    `fails` lists the runs that raise `ValueError` (counted from 1, for each `Send` tag apart), or
    is the word ``always``. `returns` says in which form the writes are returned: ``dict``,
    ``none``, ``command``, ``pairs`` (a `Command` with a list of pairs), ``list`` (one dict for
    each write, then a `Command`), or ``invalid`` (a number).

    A target in `goto`, and in the choices of a `Branch`, is a node name, ``__end__``, or
    ``send:<node>``, which becomes ``Send(<node>, {"send": <tag>})`` with a telling tag.
    """

    name: str
    writes: tuple[Write, ...] = ()
    returns: str = "dict"
    goto: tuple[str, ...] = ()
    fails: tuple[int, ...] | str = ()
    defer: bool = False
    coroutine: bool = False


@dataclass(frozen=True, repr=False)
class Edge(Part):
    """A static edge. With more than one source it is a join: it waits for all of them."""

    sources: tuple[str, ...]
    target: str


@dataclass(frozen=True, repr=False)
class Branch(Part):
    """A conditional edge: a list of choices, each a list of targets.

    The n-th time it is asked it returns the n-th choice, and the last one from then on. With `by`
    the value of that state key counts instead (a list by its length). A choice of one target is
    returned bare, any other as a list. `mapped` declares the targets in a path map.
    """

    source: str
    choices: tuple[tuple[str, ...], ...]
    by: str = ""
    mapped: bool = False


@dataclass(frozen=True, repr=False)
class Call(Part):
    """One thing a user does.

    | op        | uses                                                                       |
    |-----------|----------------------------------------------------------------------------|
    | `invoke`  | `input` (None resumes), `at`, `run_id`, `recursion_limit`                  |
    | `stream`  | the same, and `mode`: ``values``, ``updates``, or ``both``                 |
    | `update`  | `input` as the values, `as_node`, `at`                                     |
    | `state`   | `at`                                                                       |
    | `history` | `at`, `where` (the filter), `limit`, `before` (an index into the history)  |

    `at` addresses a checkpoint: an index into the history (0 is the newest; modulo its length, so
    that every index means something), or one of the words above.
    """

    op: str
    input: Any = None
    at: int | str | None = LATEST
    mode: str = "updates"
    as_node: str | None = None
    where: Any = None
    limit: int | None = None
    before: int | None = None
    run_id: str | None = None
    recursion_limit: int | None = None
    asynchronous: bool = False


@dataclass(frozen=True, repr=False)
class Scenario(Part):
    """A graph and a script. `recursion_limit` bounds every run, so that every scenario ends."""

    keys: tuple[Key, ...] = ()
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    branches: tuple[Branch, ...] = ()
    calls: tuple[Call, ...] = ()
    saver: bool = True
    recursion_limit: int = 10

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Scenario:
        """The scenario that `to_json` wrote: equal to it, and equal in print.

        >>> one = Scenario(nodes=(Node("a", fails=(1,)),), edges=(Edge((START,), "a"),))
        >>> Scenario.from_json(one.to_json()) == one
        True
        """
        data = json.loads(text)
        return cls(
            keys=tuple(Key(**key) for key in data["keys"]),
            nodes=tuple(_node(**node) for node in data["nodes"]),
            edges=tuple(Edge(tuple(edge["sources"]), edge["target"]) for edge in data["edges"]),
            branches=tuple(_branch(**branch) for branch in data["branches"]),
            calls=tuple(Call(**call) for call in data["calls"]),
            saver=data["saver"],
            recursion_limit=data["recursion_limit"],
        )


def _node(writes: list[Any], goto: list[str], fails: list[int] | str, **rest: Any) -> Node:
    return Node(
        writes=tuple(Write(**write) for write in writes),
        goto=tuple(goto),
        fails=fails if isinstance(fails, str) else tuple(fails),
        **rest,
    )


def _branch(choices: list[list[str]], **rest: Any) -> Branch:
    return Branch(choices=tuple(tuple(choice) for choice in choices), **rest)


def send_target(target: str) -> str | None:
    """The node that a target sends to, or None where the target is no `Send`.

    >>> send_target("send:a"), send_target("a")
    ('a', None)
    """
    return target.removeprefix("send:") if target.startswith("send:") else None
