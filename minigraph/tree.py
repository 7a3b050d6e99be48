"""The tree of a thread's checkpoints, to look at.

A thread looks like a list, and is a tree: every replay, fork and update from outside adds a branch,
and none is ever removed. Its newest checkpoint is the *head*, and that is all that the next call
sees.

    print(tree_of(graph.get_state_history(thread)))

    -1  input   next: __start__
     0  loop    next: ask · asks 'Who?'
    ├─  1  loop    next: greet                the answer was Ada
    │   2  loop    end
    └─  1  fork    next: ask · asks 'Who?'    somebody went back to the question
        2  loop    next: greet                and answered otherwise
        3  loop    end · head

Lines are checkpoints, older ones above; each starts with the number of its super-step and its
source. Where several follow on one, they are indented.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

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

    def __repr__(self) -> str:
        return f"Node({self.id!r}, {len(self.children)} children)"


class CheckpointTree:
    """A thread's checkpoints, as a tree.

    Attributes:
        roots: those without a parent, older ones first; mostly there is one.
        nodes: all of them by id, older ones first.
        head: the newest: where a call goes on that names no checkpoint. None if there are none.
    """

    def __init__(self, snapshots: Iterable[StateSnapshot]) -> None:
        known = {id_in(each.config): Node(each) for each in snapshots if each.created_at}
        self.nodes = {id: known[id] for id in sorted(known)}  # ids are made to sort by age
        self.roots: list[Node] = []
        self.head: Node | None = None
        for node in self.nodes.values():
            parent = node.snapshot.parent_config
            node.parent = self.nodes.get(id_in(parent)) if parent else None
            (self.roots if node.parent is None else node.parent.children).append(node)
            self.head = node

    def path_to(self, config: RunnableConfig) -> list[Node]:
        """The checkpoints that led to the one that `config` names, which comes last.

        Raises `KeyError` for one that is not in the tree.
        """
        node: Node | None = self.nodes[id_in(config)]
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
            yield first + described(node, node is self.head)
            if len(node.children) == 1:
                waiting.append((node.children[0], rest, rest))
            for child in reversed(node.children if len(node.children) > 1 else []):
                last = child is node.children[-1]
                branch = rest + ("└─ " if last else "├─ ")
                waiting.append((child, branch, rest + ("   " if last else "│  ")))

    def __str__(self) -> str:
        return "\n".join(self.lines())


def tree_of(snapshots: Iterable[StateSnapshot]) -> CheckpointTree:
    """The tree of a thread's checkpoints.

    Args:
        snapshots: its history, from `get_state_history`, or collected from `aget_state_history`;
            of a graph inside of a node too, and then it is the tree of that namespace. Where the
            history is only a part, what follows on something outside of it stands as a root.

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


def described(node: Node, is_head: bool) -> str:
    """What a line says of a checkpoint."""
    snapshot = node.snapshot
    metadata = snapshot.metadata or {}
    told = [f"next: {', '.join(snapshot.next)}" if snapshot.next else "end"]
    told += [f"asks {question.value!r:.60}" for question in snapshot.interrupts]
    told += [f"{task.name} failed: {task.error!s:.60}" for task in snapshot.tasks if task.error]
    if is_head:
        told.append("head")
    return f"{metadata.get('step', '?'):>2}  {metadata.get('source', '?'):6}  {' · '.join(told)}"


def id_in(config: RunnableConfig) -> str:
    id: str = config["configurable"]["checkpoint_id"]
    return id
