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
from minigraph.errors import InvalidUpdateError, ParentCommand
from minigraph.graph.schema import annotations_of, parameter_schema
from minigraph.pregel.node import Write
from minigraph.types import Command, Send


def branch_channel(node: str) -> str:
    """The channel whose write starts a node.

    >>> branch_channel("b")
    'branch:to:b'
    """
    return BRANCH_PREFIX + node


def join_channel(starts: Sequence[str], end: str) -> str:
    """The channel that waits for all of `starts`, named in the order given (SG-10).

    >>> join_channel(["b", "a"], "c")
    'join:b+a:c'
    """
    return JOIN_PREFIX + "+".join(starts) + ":" + end


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

    Raises `ParentCommand` for what is meant for a graph further up. The node and its graph then
    end, and whatever else it returned is dropped (CS-20).
    """
    if result is None or isinstance(result, dict):
        return []
    several = isinstance(result, (list, tuple))
    commands = [each for each in (result if several else [result]) if isinstance(each, Command)]
    if upward := [command for command in commands if command.graph is not None]:
        raise ParentCommand(*upward)
    if isinstance(result, Send):
        return go_to(result)
    if isinstance(result, Command):
        goto = [result.goto] if isinstance(result.goto, (str, Send)) else result.goto
        if not isinstance(goto, Iterable):
            raise TypeError(
                f"goto must be a node's name, a Send, or a list of these, but it is {goto!r}."
            )
        return [w for target in goto if isinstance(target, (str, Send)) for w in go_to(target)]
    return [write for command in commands for write in command_routes(command)] if several else []


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
        cls,
        source: str,
        path: Callable[..., Any],
        path_map: Mapping[Hashable, str] | Iterable[str] | None,
    ) -> BranchSpec:
        """With the targets from `path_map`, or from the function's ``Literal`` (SG-51).

        Raises `TypeError` for a path map that does not map to names.
        """
        ends = None if path_map is None else ends_of(source, path_map)
        hints = annotations_of(path)
        if not ends:
            returns = hints.get("return")
            names = get_args(returns) if get_origin(returns) is Literal else ()
            ends = {name: name for name in names} or None
        return cls(path, ends, parameter_schema(path, hints))

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
            # A path map may lead anywhere; without one, a choice that is no name is a slip.
            if not isinstance(target, (str, Send)) or target == START:
                raise ValueError(
                    f"The branch after {source!r} chose {each!r:.200}, which is no destination. "
                    "Return a node's name, END, a Send, or a list of these; for other choices, "
                    "say with a path_map where they lead."
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


def ends_of(source: str, path_map: Mapping[Hashable, str] | Iterable[str]) -> dict[Hashable, str]:
    """A path map as a dict. Names in a list stand for themselves.

    >>> ends_of("a", ["b", END])
    {'b': 'b', '__end__': '__end__'}
    """
    if isinstance(path_map, str) or not isinstance(path_map, Iterable):
        raise TypeError(
            f"The path_map of the branch after {source!r} must be a dict from choices to node "
            f"names, or a list of names, but it is {path_map!r}."
        )
    pairs = path_map.items() if isinstance(path_map, Mapping) else ((end, end) for end in path_map)
    ends: dict[Hashable, str] = {}
    for choice, end in pairs:
        if not isinstance(end, str):
            raise TypeError(
                f"The path_map of the branch after {source!r} leads to {end!r}; it must lead to "
                "nodes by their names, one for each choice. For several at once, let the path "
                "function return a list."
            )
        ends[choice] = end
    return ends
