"""Tasks that tasks call.

In the functional API a program is a plain function, and the pieces of its work are functions that
are marked as tasks. Calling one does not run it then and there; it asks the machine to:

    running task                     program                         driver
    ────────────                     ───────                         ──────
    call ── Called ─────────────▶    which task is that?
      gets a future at once          is it done already? ─────────▶  Reply(future, what it gave)
                                     else:               ─────────▶  Start([task])
                                     …it ends: store it, ────────▶   Reply(future, what it gave)
    future.result() goes on  ◀──────────────────────────────────────

So the result is stored before whoever called goes on. When the run is resumed, the function begins
from its start; it makes the same calls in the same order, and gets the same results, without the
work being done twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from minigraph.constants import PUSH, RETURN
from minigraph.pregel.identity import child_namespace, path_text, task_id
from minigraph.pregel.node import Call, PregelNode, Surroundings, UserFunction, Write
from minigraph.pregel.plan import Task
from minigraph.pregel.selection import Selection
from minigraph.types import new_record

if TYPE_CHECKING:
    from minigraph.policies import Policies

NOTHING_READ = Selection(())


class Called(NamedTuple):
    """A task has called another one; an answer to `Next`, though no task has ended.

    Fields:
        task_id: the task that calls.
        number: how many it has called before.
        node: what is called.
        input: the arguments, positional and by name.
        reply: what the caller waits for. The program hands it back and does not look into it.
    """

    task_id: str
    number: int
    node: PregelNode
    input: tuple[tuple[Any, ...], dict[str, Any]]
    reply: Any


class TaskFunction(UserFunction):
    """A function that is called with several arguments, as they were given."""

    __slots__ = ("names",)

    def __init__(self, function: Callable[..., Any], name: str, names: Sequence[str]) -> None:
        super().__init__(function, name)
        self.names = names

    def call(self, value: Any, surroundings: Surroundings, chooses: bool = False) -> Call:
        arguments, given = value
        taken = {*self.names[: len(arguments)], *given}
        wanted = {n: getattr(surroundings, source) for n, source in self.wants if n not in taken}
        return Call(self.function, tuple(arguments), {**wanted, **given}, self.is_async)


def returned(result: Any) -> list[Write]:
    """What a called task writes: its result, which is no part of the state (FN-07)."""
    return [(RETURN, result)]


def called_node(function: TaskFunction, policies: Policies | None = None) -> PregelNode:
    """A node that nothing starts but a call."""
    return PregelNode(
        function.name,
        (PUSH,),
        NOTHING_READ,
        bound=function,
        writers=(returned,),
        policies=policies,
    )


def called_task(caller: Task, called: Called, checkpoint_id: str, step: int, place: str) -> Task:
    """The task of a call. Its id follows from who calls, and from how often that has called before;
    not from the arguments (FN-08).

    Args:
        caller: the task that calls.
        called: the call.
        checkpoint_id, step: of the super-step.
        place: the namespace of the graph.
    """
    node = called.node
    path = (PUSH, caller.path, called.number, True)
    here = child_namespace(place, node.name)
    position = f"{checkpoint_id}{here}{step}{node.name}{path_text(path)}"
    fields = (task_id(position), node.name, path, called.input, (PUSH,), (), here, node)
    return new_record(Task, fields)


def result_of_call(writes: Sequence[Write]) -> Any:
    """What a called task returned.

    >>> result_of_call([("__return__", 7)])
    7
    """
    return dict(writes).get(RETURN)


def is_call(task: Task) -> bool:
    """Whether another task has called this one."""
    return task.path[3:4] == (True,)
