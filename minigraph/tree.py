"""The tree of a thread's checkpoints, to look at.

A thread looks like a list, and is a tree: every replay, fork and update from outside adds a branch,
and none is ever removed. Its newest checkpoint is the *head*, and that is all that the next call
sees.

    print(tree_of(graph.get_state_history(thread)))

    -1  input   next: __start__
     0  loop    next: ask · asked 'Who?'
    ├─  1  loop    next: greet                the answer was Ada
    │   2  loop    end
    ├─  1  fork    next: ask · asked 'Who?'   somebody went back to the question
    │   2  loop    next: greet                and answered otherwise
    │   3  loop    end
    └─  1  fork    next: ask · asks 'Who?' · head      and went back again; nobody has answered

Lines are checkpoints, older ones above; each starts with the number of its super-step and its
source. Where several follow on one, they are indented. Where several follow on none, each of these
is called a root; and what follows on a checkpoint that is not among the given ones says so.

A question that waits is one that its node *asks*; one that was answered, or given up, it *asked*.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from minigraph.types import RunnableConfig, StateSnapshot

__all__ = ["CheckpointTree", "Node", "tree_of"]


@dataclass(eq=False, slots=True)
class Node:
    """A checkpoint in the tree.

    Attributes:
        snapshot: the checkpoint, as the history has it.
        parent: the one that it came from; None for the first of a thread.
        children: those that came from it, older ones first.
    """

    snapshot: StateSnapshot
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The checkpoint's id."""
        return id_in(self.snapshot.config)

    @property
    def is_cut_off(self) -> bool:
        """Whether it came from a checkpoint that is not in the tree."""
        return self.parent is None and self.snapshot.parent_config is not None

    def __repr__(self) -> str:
        return f"Node({self.id!r}, {len(self.children)} children)"


class CheckpointTree:
    """A thread's checkpoints, as a tree.

    Attributes:
        roots: those without a parent, older ones first; mostly there is one.
        nodes: all of them by id, older ones first.
        head: the newest: where a call goes on that names no checkpoint. None if there are none, and
            if it can be told that a newer one is missing: see `is_left_behind`.
    """

    def __init__(self, snapshots: Iterable[StateSnapshot]) -> None:
        known = {id_in(each.config): Node(each) for each in checked(snapshots) if each.created_at}
        self.nodes = {id: known[id] for id in sorted(known)}  # ids are made to sort by age
        self.roots: list[Node] = []
        self.head: Node | None = None
        for node in self.nodes.values():
            parent = node.snapshot.parent_config
            node.parent = self.nodes.get(id_in(parent)) if parent else None
            (self.roots if node.parent is None else node.parent.children).append(node)
        newest = next(reversed(self.nodes.values()), None)
        if newest is not None and not is_left_behind(newest.snapshot):
            self.head = newest

    def path_to(self, config: RunnableConfig) -> list[Node]:
        """The checkpoints that led to the one that `config` names, which comes last.

        Raises `KeyError` for one that is not in the tree, `ValueError` for a config that names
        none, and `TypeError` for something else.
        """
        if not isinstance(config, Mapping):
            hint = " Pass its .config." if isinstance(config, StateSnapshot) else ""
            raise TypeError(f"path_to takes the config of a snapshot, not {config!r:.100}.{hint}")
        id = config.get("configurable", {}).get("checkpoint_id")
        if id is None:
            raise ValueError(
                f"{config!r:.200} names no checkpoint. Pass the config of a snapshot; that of the "
                "newest here is tree.head.snapshot.config."
            )
        if id not in self.nodes:
            raise KeyError(f"checkpoint {id} is not among these {len(self.nodes)}")
        node: Node | None = self.nodes[id]
        path: list[Node] = []
        while node is not None:
            path.append(node)
            node = node.parent
        return path[::-1]

    def lines(self) -> Iterator[str]:
        """The tree as text, a line for each checkpoint."""
        waiting = [(root, "", "") for root in reversed(self.roots)]
        while waiting:  # and not a function that calls itself: threads are long
            node, first, rest = waiting.pop()
            told = [*described(node), *(["head"] if node is self.head else [])]
            if node.parent is None and (node.is_cut_off or len(self.roots) > 1):
                told.append("follows on one that is not here" if node.is_cut_off else "root")
            yield first + line(node, told)
            if len(node.children) == 1:
                waiting.append((node.children[0], rest, rest))
            for child in reversed(node.children if len(node.children) > 1 else []):
                last = child is node.children[-1]
                branch = rest + ("└─ " if last else "├─ ")
                waiting.append((child, branch, rest + ("   " if last else "│  ")))

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        ends = sum(not node.children for node in self.nodes.values())
        head = self.head and self.head.id
        return f"CheckpointTree({len(self.nodes)} checkpoints, {ends} ends, head {head!r})"


def tree_of(snapshots: Iterable[StateSnapshot]) -> CheckpointTree:
    """The tree of a thread's checkpoints.

    Args:
        snapshots: its history, from `get_state_history`, or collected from `aget_state_history`;
            of a graph inside of a node too, and then it is the tree of that namespace. Where the
            history is only a part, what follows on something outside of it stands as a root; and
            the newest is called the head, unless it can be seen that its super-step has ended.

    Raises `TypeError` for what are no snapshots, such as a config.

    >>> from minigraph.checkpoint.memory import InMemorySaver
    >>> from minigraph.graph import START, StateGraph
    >>> builder = StateGraph(int).add_node("add", lambda n: n + 1).add_edge(START, "add")
    >>> graph = builder.compile(checkpointer=InMemorySaver())
    >>> thread = {"configurable": {"thread_id": "1"}}
    >>> graph.invoke(1, thread)
    2
    >>> before = [*graph.get_state_history(thread)][1]
    >>> graph.invoke(None, graph.update_state(before.config, 41))
    42
    >>> print(tree_of(graph.get_state_history(thread)))
    -1  input   next: __start__
     0  loop    next: add
    ├─  1  loop    end
    └─  1  update  next: add
        2  loop    end · head
    """
    return CheckpointTree(snapshots)


def checked(snapshots: Any) -> Iterator[StateSnapshot]:
    """The same, or a `TypeError` that says what to pass instead."""
    hint = ""
    if isinstance(snapshots, Mapping):
        hint = " This is a config: pass graph.get_state_history(config)."
    elif isinstance(snapshots, StateSnapshot):
        hint = " One is no history: pass graph.get_state_history(snapshot.config), or a list."
    elif isinstance(snapshots, AsyncIterable):
        hint = " Collect them: [each async for each in graph.aget_state_history(config)]."
    if hint or not isinstance(snapshots, Iterable):
        raise TypeError(f"A tree is made of snapshots, not of {snapshots!r:.100}.{hint}")
    for each in snapshots:
        if not isinstance(each, StateSnapshot):
            raise TypeError(
                f"A tree is made of snapshots, but one of these is {each!r:.100}. Pass "
                "graph.get_state_history(config)."
            )
        yield each


def is_left_behind(snapshot: StateSnapshot) -> bool:
    """Whether the super-step that starts here has ended, so that another checkpoint follows.

    It may be missing because the history is only a part; or because the process died just before
    it was stored. Of a run that has ended it cannot be told whether another one followed.
    """
    return bool(snapshot.tasks) and all(task.result is not None for task in snapshot.tasks)


def described(node: Node) -> list[str]:
    """What is told of a checkpoint."""
    snapshot = node.snapshot
    told = [f"next: {', '.join(snapshot.next)}" if snapshot.next else "end"]
    for task in snapshot.tasks:
        waits = task.result is None and not node.children
        asks = "asks" if waits else "asked"
        told += [f"{asks} {question.value!r:.60}" for question in task.interrupts]
        told += [f"{task.name} failed: {task.error!s:.60}"] if task.error else []
    return told


def line(node: Node, told: Iterable[str]) -> str:
    """The line of a checkpoint."""
    metadata = node.snapshot.metadata or {}
    return f"{metadata.get('step', '?'):>2}  {metadata.get('source', '?'):6}  {' · '.join(told)}"


def id_in(config: RunnableConfig) -> str:
    id: str = config["configurable"]["checkpoint_id"]
    return id
