"""Going on: how edges, routes and Commands start the next node.

Nothing is called and nothing is enqueued. To follow an edge is to *write* to the channel
that the target listens to; the planner then finds it has news:

    edge a ─▶ b             a writes None to  branch:to:b
    edge [a, b] ─▶ c        each writes its name to  join:a+b:c, which waits for all
    Send("b", arg)          goes to the tasks channel, as it is
    edge a ─▶ END           writes nothing
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from minigraph.constants import BRANCH_PREFIX, END, JOIN_PREFIX, START, TASKS
from minigraph.errors import InvalidUpdateError
from minigraph.graph.schema import annotations_of, parameter_schema
from minigraph.pregel.node import Write
from minigraph.types import Command, Send


def branch_channel(node: str) -> str:
    """The channel whose write starts a node.

    >>> branch_channel("b")
    'branch:to:b'
    """
    return f"{BRANCH_PREFIX}{node}"


def join_channel(starts: Sequence[str], end: str) -> str:
    """The channel that waits for all of `starts`, named in the order given (SG-10).

    >>> join_channel(["b", "a"], "c")
    'join:b+a:c'
    """
    return f"{JOIN_PREFIX}{'+'.join(starts)}:{end}"


def go_to(target: Any) -> list[Write]:
    """The write that makes a target run: a `Send`, or a node's name.

    >>> go_to("b"), go_to(END)
    ([('branch:to:b', None)], [])
    """
    if isinstance(target, Send):
        return [(TASKS, target)]
    return [] if target == END else [(branch_channel(target), None)]


def command_routes(result: Any) -> list[Write]:
    """Where the Commands and Sends in a node's result go (CS-02 to CS-04).

    They add to the node's edges. A goto of another kind is ignored, CS-03.
    """
    if result is None or isinstance(result, dict):
        return []
    if isinstance(result, Send):
        return go_to(result)
    if isinstance(result, Command):
        goto = [result.goto] if isinstance(result.goto, (str, Send)) else result.goto
        if not isinstance(goto, Iterable):
            raise TypeError(
                f"goto must be a node's name, a Send, or a list of these, but it is {goto!r}."
            )
        return [w for target in goto if isinstance(target, (str, Send)) for w in go_to(target)]
    if isinstance(result, (list, tuple)):
        commands = (each for each in result if isinstance(each, Command))
        return [write for command in commands for write in command_routes(command)]
    return []


@dataclass(frozen=True, slots=True)
class BranchSpec:
    """A conditional edge as it was declared.

    Args:
        path: the user's function, from state to a choice.
        ends: from choices to node names; ``None`` when a choice is a name itself.
        schema: what the function expects, if it says so.
    """

    path: Callable[..., Any]
    ends: Mapping[Hashable, str] | None
    schema: Any | None

    @classmethod
    def declare(
        cls, path: Callable[..., Any], path_map: Mapping[Hashable, str] | Sequence[str] | None
    ) -> BranchSpec:
        """With the targets from `path_map`, or from the function's ``Literal`` (SG-51)."""
        if path_map is None:
            returns = annotations_of(path).get("return")
            path_map = get_args(returns) if get_origin(returns) is Literal else None
        ends = (
            path_map
            if isinstance(path_map, Mapping) or path_map is None
            else {name: name for name in path_map}
        )
        return cls(path, ends, parameter_schema(path))

    def table(self, nodes: Iterable[str]) -> dict[Hashable, list[Write]]:
        """The writes of every choice that is a single known name: what a branch mostly makes."""
        ends = {name: name for name in (*nodes, END)} if self.ends is None else self.ends
        return {choice: go_to(end) for choice, end in ends.items()}

    def writes(self, source: str, choice: Any) -> list[Write]:
        """The writes that any choice means.

        Raises `KeyError` for a choice that is not in the map, `ValueError` for one that is no
        destination, `InvalidUpdateError` for a `Send` to END (SG-51, SG-52).
        """
        writes: list[Write] = []
        for each in choice if isinstance(choice, (list, tuple)) else (choice,):
            if isinstance(each, Send):
                if each.node == END:
                    raise InvalidUpdateError(
                        f"The branch after {source!r} sends a packet to END, which is no node."
                    )
                target: Any = each
            else:
                target = self.target(source, each)
            if target is None or target == START:
                raise ValueError(
                    f"The branch after {source!r} chose {each!r}, which is no destination. "
                    "Return a node's name, END, a Send, or a list of these."
                )
            writes += go_to(target)
        return writes

    def target(self, source: str, choice: Any) -> Any:
        if self.ends is None:
            return choice
        try:
            return self.ends[choice]
        except KeyError:
            problem = f"chose {choice!r}, which its path_map does not have"
            raise KeyError(
                f"The branch after {source!r} {problem}; it has {list(self.ends)}."
            ) from None
        except TypeError:
            raise TypeError(
                f"The branch after {source!r} chose {choice!r}, which cannot be a key of its "
                f"path_map; it has {list(self.ends)}."
            ) from None
