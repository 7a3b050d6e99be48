"""The scenario language: a graph, and what a user does with it, written down as data.

A scenario is small, printable, and survives a trip through JSON. It names no package, so that
`build` can realise it on the reference and on minigraph alike. It has two halves:

- the *graph*: state keys and the classes that declare them, nodes whose behaviour is scripted,
  edges, joins, branches, graphs in nodes, and the form in which each is told to the builder;
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

SCHEMAS = ("typed_dict", "not_required", "dataclass", "pydantic")
"""The kinds of classes: a TypedDict that is not total, one whose keys are `NotRequired`, ..."""

MODES = ("values", "updates", "tasks", "checkpoints", "debug", "custom", "messages")
"""The stream modes."""

FORMS = ("named", "function", "object", "bare object", "method", "bare method", "partial")
"""What a node may be for the builder."""

ROOT = "__root__"
"""The only key of a state that is no class but a single value."""

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
    """A key of the state. The kinds are the rows of `schemas.ANNOTATIONS`.

    `extra` says what else is in the annotation: metadata ``before`` or ``after`` the reducer or
    channel, an annotation ``nested`` in another, `Required` ``inside`` or `NotRequired`
    ``outside`` (both in TypedDicts only).

    A `private` key is no part of the state's own class, only of others that name it. A `required`
    key has no default, where keys have one: in dataclasses and pydantic models.
    """

    name: str
    kind: str = "list"
    extra: str = ""
    private: bool = False
    required: bool = False


@dataclass(frozen=True, repr=False)
class Schema(Part):
    """A class of its own for some keys. `kind` is one of `SCHEMAS`."""

    keys: tuple[str, ...]
    kind: str = "typed_dict"


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
    | `answers`   | the node's name, and the answers that it got                            |
    | `inner`     | the node's name, and what the graphs that it called have returned       |

    All from `name` on but `plus` and `overwrite` are wrapped in a list where the key is a list.
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
    each write, then a `Command`), ``object`` (of the state's class, without what a pydantic model
    would refuse), or ``invalid`` (a number). With a state that is a single value, the value of the
    last write is returned in place of a dict.

    A target in `goto`, and in the choices of a `Branch`, is a node name, ``__end__``, or
    ``send:<node>``, which becomes ``Send(<node>, {"send": <tag>})`` with a telling tag. With
    `declares` the return annotation names the nodes in `goto`. With `to_parent` the `Command` is
    meant for the graph around, and so are the targets.

    `asks` is how many questions the node asks, one after another. Each is a text that says where
    the node is, who asks, and the how manieth it is: ``sub/ask?0``. With `fails_late` the node
    fails after that, else before.

    `graph` is the name of an `Inner` graph. It *is* the node, unless the node calls it, `called`
    times, in turn with the questions, giving it the node's name as the log.

    `form` says what the builder is given:

    | form            | what is added                                                    |
    |-----------------|------------------------------------------------------------------|
    | `named`         | a name and a function                                            |
    | `function`      | a function of that name                                          |
    | `object`        | a name and an object that can be called                          |
    | `bare object`   | such an object, whose class has the name                         |
    | `method`        | a name and a method                                              |
    | `bare method`   | a method of that name                                            |
    | `partial`       | a name and a `functools.partial`                                 |

    `reads` is the class of what the node reads, if that is not the state: given ``by`` the
    annotation of the parameter, or by the ``argument`` `input_schema`. `tells` says how it writes
    to the custom stream, when it starts: not at all, to a parameter ``writer``, or to the result
    of ``get_stream_writer``.
    """

    name: str
    writes: tuple[Write, ...] = ()
    returns: str = "dict"
    goto: tuple[str, ...] = ()
    fails: tuple[int, ...] | str = ()
    fails_late: bool = False
    asks: int = 0
    graph: str = ""
    called: int = 0
    to_parent: bool = False
    defer: bool = False
    coroutine: bool = False
    form: str = "named"
    reads: Schema | None = None
    reads_by: str = "annotation"
    tells: str = ""
    metadata: bool = False
    declares: bool = False


@dataclass(frozen=True, repr=False)
class Edge(Part):
    """A static edge. With more than one source it is a join: it waits for all of them.

    `form` is how the builder is told of one source: ``edge``, as a ``list`` of one (a join that
    waits for one), or by naming a ``point``, of entry or of finish.
    """

    sources: tuple[str, ...]
    target: str
    form: str = "edge"


@dataclass(frozen=True, repr=False)
class Branch(Part):
    """A conditional edge: a list of choices, each a list of targets.

    The n-th time it is asked it returns the n-th choice, and the last one from then on. With `by`
    the value of that state key counts instead (a list by its length). A choice of one target is
    returned bare, any other as a list.

    `targets` says how the targets are declared: not at all, in a ``list``, in a ``dict`` (then
    the function returns keys of it), in a ``short`` dict which lacks the last, or in a
    ``literal`` return annotation. `reads` is the class that the function's parameter is annotated
    with, if any. A `point` is added with `set_conditional_entry_point`.
    """

    source: str
    choices: tuple[tuple[str, ...], ...]
    by: str = ""
    targets: str = ""
    reads: Schema | None = None
    point: bool = False


@dataclass(frozen=True, repr=False)
class Inner(Part):
    """A graph in a node of the scenario's graph, or of another inner graph further down the list.

    It has the same state. Its nodes have names that no other node has. `checkpointer` says what
    it remembers, as in `compile`.
    """

    name: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    branches: tuple[Branch, ...] = ()
    checkpointer: bool | None = None
    given: Schema | None = None
    shown: Schema | None = None
    stop_before: tuple[str, ...] | str = ()
    stop_after: tuple[str, ...] | str = ()


@dataclass(frozen=True, repr=False)
class Command(Part):
    """A `Command` as input: an answer, an update, and targets, as far as they are said.

    `resume` is one answer. `answers` gives some by the ids of their questions: the key is a number,
    of a question that waits at the checkpoint addressed (in the order of tasks, then of the
    texts; modulo their number), or ``unknown``.
    """

    resume: Any = None
    answers: Any = None
    update: Any = None
    goto: tuple[str, ...] = ()
    to_parent: bool = False


@dataclass(frozen=True, repr=False)
class Call(Part):
    """One thing a user does.

    | op        | uses                                                                       |
    |-----------|----------------------------------------------------------------------------|
    | `invoke`  | `input` (None resumes) or `command`, `at`, `run_id`, `recursion_limit`,    |
    |           | `stop_before` and `stop_after` (breakpoints, ``*`` for all nodes)          |
    | `stream`  | the same, and `subgraphs`                                                  |
    | `update`  | `input` as the values, `as_node`, `at`                                     |
    | `state`   | `at`, `subgraphs`                                                          |
    | `history` | `at`, `where` (the filter), `limit`, `before` (an index into the history)  |

    `at` addresses a checkpoint: an index into the history (0 is the newest; modulo its length, so
    that every index means something), or one of the words above. `inside` addresses an inner
    graph: it is an index into the namespaces that the thread has stored, in the order of their
    labels (see `transcript`); `at` is then a place in the history of that namespace.

    What a run tells: `modes` is one stream mode, bare, or several in a list, or None for what is
    told by default; `version` the shape of the chunks; `output_keys` the keys to tell of; `prints`
    a mode (`values` or `updates`) to print as well.
    """

    op: str
    input: Any = None
    command: Command | None = None
    at: int | str | None = LATEST
    inside: int | None = None
    subgraphs: bool = False
    stop_before: tuple[str, ...] | str | None = None
    stop_after: tuple[str, ...] | str | None = None
    modes: str | tuple[str, ...] | None = None
    version: str = "v1"
    output_keys: str | tuple[str, ...] | None = None
    prints: str = ""
    as_node: str | None = None
    where: Any = None
    limit: int | None = None
    before: int | None = None
    run_id: str | None = None
    recursion_limit: int | None = None
    asynchronous: bool = False


@dataclass(frozen=True, repr=False)
class Scenario(Part):
    """A graph and a script. `recursion_limit` bounds every run, so that every scenario ends.

    `schema` is the kind of the state's class, or ``root``: then the state is the value of one key,
    `ROOT`. `given` and `shown` are the input and output schemas, where these are not the state.
    The nodes in `sequence` are added, and joined by edges, with `add_sequence`.
    """

    keys: tuple[Key, ...] = ()
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    branches: tuple[Branch, ...] = ()
    inner: tuple[Inner, ...] = ()
    calls: tuple[Call, ...] = ()
    saver: bool = True
    recursion_limit: int = 10
    schema: str = "typed_dict"
    given: Schema | None = None
    shown: Schema | None = None
    sequence: tuple[str, ...] = ()
    stop_before: tuple[str, ...] | str = ()
    stop_after: tuple[str, ...] | str = ()

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Scenario:
        """The scenario that `to_json` wrote: equal to it, and equal in print.

        >>> one = Scenario(nodes=(Node("a", fails=(1,)),), edges=(Edge((START,), "a"),))
        >>> Scenario.from_json(one.to_json()) == one
        True
        """
        return cls(**{name: _decoded(name, value) for name, value in json.loads(text).items()})


FREE = ("input", "value", "where", "resume", "answers", "update")
"""The fields that hold any JSON."""

PARTS: dict[str, Any] = {
    "keys": Key,
    "nodes": Node,
    "writes": Write,
    "edges": Edge,
    "branches": Branch,
    "calls": Call,
    "inner": Inner,
    "command": Command,
    "given": Schema,
    "shown": Schema,
    "reads": Schema,
}
"""The fields that hold parts."""


def _decoded(field: str, value: Any) -> Any:
    if field in FREE:
        return value
    if isinstance(value, dict):
        return PARTS[field](**{name: _decoded(name, item) for name, item in value.items()})
    return tuple(_decoded(field, item) for item in value) if isinstance(value, list) else value


def send_target(target: str) -> str | None:
    """The node that a target sends to, or None where the target is no `Send`.

    >>> send_target("send:a"), send_target("a")
    ('a', None)
    """
    return target.removeprefix("send:") if target.startswith("send:") else None
