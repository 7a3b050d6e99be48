"""A node that fails for reasons that pass, and what happens when they do not.

`fetch` loses its connection now and then. A `RetryPolicy` tries it again, each time after a longer
wait; when all attempts have failed, an error handler says something in its place. So that nobody
has to wait here, the graph is given a clock on which an hour is over at once.

    python examples/flaky_node.py
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from minigraph.clock import Clock
from minigraph.errors import NodeError
from minigraph.graph import END, START, StateGraph
from minigraph.runtime import Runtime
from minigraph.types import Command, RetryPolicy


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def hurried(waits: list[float]) -> Clock:
    """A clock that notes for how long it was asked to wait, and does not wait."""

    def sleep(seconds: float, is_over: Callable[[], bool]) -> bool:
        waits.append(seconds)
        return not is_over()

    return Clock(sleep=sleep, chance=lambda: 0.25)


def graph_of(failures: int) -> Any:
    """A graph whose node fails so many times."""

    def fetch(state: State, runtime: Runtime[Any]) -> Any:
        attempt = runtime.execution_info.node_attempt if runtime.execution_info else 0
        state["log"].append(f"attempt {attempt} was here")  # an edit that nobody will see
        if attempt <= failures:
            raise ConnectionError(f"attempt {attempt} was cut off")
        return {"log": [f"fetched at attempt {attempt}"]}

    def give_up(state: State, error: NodeError) -> Command[str]:
        return Command(update={"log": [f"{error.node} gave up: {error.error}"]}, goto="report")

    builder = StateGraph(State)
    policy = RetryPolicy(initial_interval=60, max_interval=200, max_attempts=4)
    builder.add_node("fetch", fetch, retry_policy=policy, error_handler=give_up)
    builder.add_node("report", lambda state: {"log": ["reported"]})
    builder.add_edge(START, "fetch").add_edge("fetch", "report").add_edge("report", END)
    return builder.compile()


def main() -> None:
    for failures in (0, 2, 9):
        waits: list[float] = []
        graph = graph_of(failures)
        graph.clock = hurried(waits)
        print(f"{failures} failures:")
        for chunk in graph.stream({"log": []}):
            print("  ", chunk)
        print("   waited", waits)


if __name__ == "__main__":
    main()
