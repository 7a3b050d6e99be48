"""A conversation that is kept in a file, is corrected, and forgets what is too old.

Run it twice with the name of a file, and it goes on where it stopped:

    python examples/conversation.py talk.db
    python examples/conversation.py talk.db

The messages are a `DeltaChannel`: a checkpoint holds only what was added. The model is played by
a function; a real one takes the same list of dicts.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, TypedDict

from minigraph.channels import DeltaChannel
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.graph import START, StateGraph
from minigraph.graph.message import RemoveMessage, messages_delta_reducer

KEPT = 4
"""So many messages are remembered."""


class State(TypedDict):
    messages: Annotated[list[dict[str, Any]], DeltaChannel(messages_delta_reducer)]


def model(messages: list[dict[str, Any]]) -> str:
    return f"You have said {len([m for m in messages if m['role'] == 'user'])} things I remember."


def answer(state: State) -> dict[str, Any]:
    return {"messages": ("assistant", model(state["messages"]))}


def polish(state: State) -> dict[str, Any]:
    """The same id: the answer takes the place of the one before."""
    last = state["messages"][-1]
    return {"messages": {**last, "content": last["content"].replace("1 things", "1 thing")}}


def forget(state: State) -> dict[str, Any]:
    return {"messages": [RemoveMessage(old["id"]) for old in state["messages"][:-KEPT]]}


def conversation(saver: SqliteSaver) -> Any:
    builder = StateGraph(State).add_sequence([answer, polish, forget])
    return builder.add_edge(START, "answer").compile(checkpointer=saver)


def main(path: str) -> None:
    thread: Any = {"configurable": {"thread_id": "talk"}}
    with SqliteSaver.from_conn_string(path) as saver:
        graph = conversation(saver)
        for said in ("Hello!", "How are you?", "Bye!"):
            talk = graph.invoke({"messages": said}, thread)["messages"]
            print(f"{said:12} {talk[-1]['content']}")
        stored = len([*graph.get_state_history(thread)])
        print(f"{len(talk)} messages are remembered, and {stored} checkpoints are kept.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ":memory:")
