"""A memory that outlives its threads, in the file in which the threads are kept.

Run it twice with the name of a file, and the second conversation knows what the first was told:

    python examples/long_term_memory.py memory.db
    python examples/long_term_memory.py memory.db

A thread is one conversation. What is true of its user in every conversation goes into the store,
under a namespace of the user's own. The model that finds facts in a text is played by a function.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, TypedDict

from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.graph import START, StateGraph
from minigraph.runtime import Runtime
from minigraph.store.base import BaseStore
from minigraph.store.sqlite import SqliteStore


class State(TypedDict, total=False):
    said: str
    answer: str


@dataclass
class Context:
    user: str


def fact_in(text: str) -> dict[str, str] | None:
    """From "My cat is called Tom" to its fact."""
    about, called, name = text.removeprefix("My ").partition(" is called ")
    return {"about": about, "name": name} if called else None


def remember(state: State, runtime: Runtime[Context], store: BaseStore) -> None:
    if (fact := fact_in(state["said"])) is not None:
        store.put(("users", runtime.context.user, "facts"), fact["about"], fact)


def answer(state: State, runtime: Runtime[Context], store: BaseStore) -> dict[str, Any]:
    facts = store.search(("users", runtime.context.user))
    known = [f"your {item.key} is {item.value['name']}" for item in facts]
    return {"answer": f"I know that {' and '.join(known)}." if known else "I know nothing of you."}


def assistant(saver: SqliteSaver, store: SqliteStore) -> Any:
    builder = StateGraph(State, context_schema=Context)
    builder.add_sequence([remember, answer]).add_edge(START, "remember")
    return builder.compile(checkpointer=saver, store=store)


def main(path: str) -> None:
    with SqliteSaver.from_conn_string(path) as saver, SqliteStore.from_conn_string(path) as store:
        graph = assistant(saver, store)
        begun = len({saved.config["configurable"]["thread_id"] for saved in saver.list(None)})
        for number, (user, said) in enumerate(
            [("ada", "Hello"), ("ada", "My cat is called Tom"), ("bob", "Who is Tom?")], begun
        ):
            thread: Any = {"configurable": {"thread_id": str(number)}}
            told = graph.invoke({"said": said}, thread, context={"user": user})["answer"]
            print(f"{number} {user}: {said}\n      {told}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ":memory:")
