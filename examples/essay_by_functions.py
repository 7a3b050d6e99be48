"""Functions that can be stopped, and go on: the same script, run twice, as two processes would.

    python examples/essay_by_functions.py

The first run does the work that costs something, and stops to ask. The second one is given the
answer. It begins the function from its start, but what has been done is not done again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.func import entrypoint, task
from minigraph.types import Command, interrupt

THREAD: Any = {"configurable": {"thread_id": "essay 1"}}


@task
def research(topic: str) -> list[str]:
    print(f"  looking up {topic} ...")
    return [f"{topic} are small", f"{topic} are wild"]


@task
def draft(facts: list[str]) -> str:
    print("  writing ...")
    return "; ".join(facts).capitalize() + "."


def essay(topics: list[str]) -> str:
    # Both are called before the first is waited for, so they run at the same time.
    found = [research(topic) for topic in topics]
    text = draft([fact for each in found for fact in each.result()]).result()
    answer = interrupt({"text": text, "question": "Print it?"})
    return text if answer == "yes" else "(thrown away)"


def process(path: Path, input: Any) -> None:
    """What one process does: open the file, run, close the file."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        write = entrypoint(checkpointer=saver)(essay)
        result = write.invoke(input, THREAD)
        if isinstance(result, dict):
            print("  stops, and asks:", result["__interrupt__"][0].value["question"])
        else:
            print("  ", result, sep="")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "threads.db"
        print("first process")
        process(path, ["ants"])
        print("second process")
        process(path, Command(resume="yes"))


if __name__ == "__main__":
    main()
