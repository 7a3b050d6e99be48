"""A scenario as a program that stands on its own, to hand to somebody who knows neither of us.

    python that_program.py langgraph
    python that_program.py minigraph

It defines the graph with the very code that was compared (see `build`), makes the calls, and
prints what comes back, and at the end what is stored.
"""

from __future__ import annotations

from typing import Any

from .build import HEADER, program
from .scenario import LATEST, UNKNOWN, UPDATED, Call, Scenario
from .transcript import NO_SUCH_CHECKPOINT, stream_options

ARGUMENT = 'import sys\n\npackage = sys.argv[1] if len(sys.argv) > 1 else "minigraph"\n'

PRINTERS = f'''

thread = {{"configurable": {{"thread_id": "1"}}}}
options = {{"durability": "sync"}} if saver and package == "langgraph" else {{}}
no_such = {{"configurable": {{"thread_id": "1", "checkpoint_id": "{NO_SUCH_CHECKPOINT}"}}}}
updated = thread


def at(index):
    history = list(app.get_state_history(thread))
    return history[index % len(history)].config if history else thread


async def gather(items):
    return [item async for item in items]


def show(title, call):
    before = runs.copy()
    try:
        result = call()
        for line in result if isinstance(result, list) else [result]:
            print(title, "=>", short(line))
    except Exception as error:
        print(title, "raises", type(error).__name__, "-", str(error).splitlines()[:1])
        result = thread
    print("    ran", dict(runs - before))
    return result


def short(value):
    if type(value).__name__ != "StateSnapshot":
        return value
    tasks = [(task.name, task.path, task.error, task.result) for task in value.tasks]
    return value.values, value.next, value.metadata, tasks


def integers(versions):
    return {{channel: int(str(version).split(".")[0]) for channel, version in versions.items()}}

'''

STORED = """
ids = []
for row in reversed(list(saver.list(thread)) if saver else []):
    checkpoint, parent = row.checkpoint, (row.parent_config or thread)["configurable"]
    ids.append(checkpoint["id"])
    parent = ids.index(parent["checkpoint_id"]) if "checkpoint_id" in parent else None
    print(f"stored {len(ids) - 1}: parent {parent}, {row.metadata}")
    print("    values  ", checkpoint["channel_values"])
    print("    versions", integers(checkpoint["channel_versions"]))
    print("    seen    ", {n: integers(v) for n, v in checkpoint["versions_seen"].items()})
    print("    updated ", checkpoint.get("updated_channels"))
    print("    writes  ", [tuple(write[1:]) for write in row.pending_writes or []])
"""


def script(scenario: Scenario) -> str:
    """The program for `scenario`."""
    calls = "\n".join(_call(call, scenario.recursion_limit) for call in scenario.calls)
    return ARGUMENT + HEADER + program(scenario) + PRINTERS + calls + "\n" + STORED


def _call(call: Call, recursion_limit: int) -> str:
    limit = recursion_limit if call.recursion_limit is None else call.recursion_limit
    metadata = f', "metadata": {{"run_id": {call.run_id!r}}}' if call.run_id else ""
    config = f'{{**{_address(call.at)}, "recursion_limit": {limit}{metadata}}}'
    many = call.op in ("stream", "history")
    run = f"{call.input!r}, {config}{_told(call)}, **options"
    method, arguments = {
        "invoke": ("invoke", run),
        "stream": ("stream", run),
        "update": (
            "update_state",
            f"{_address(call.at)}, {call.input!r}, as_node={call.as_node!r}",
        ),
        "state": ("get_state", _address(call.at)),
        "history": ("get_state_history", f"{_address(call.at)}{_narrowed(call)}"),
    }[call.op]
    if call.asynchronous:
        code = f"app.a{method}({arguments})"
        code = f"asyncio.run(gather({code}))" if many else f"asyncio.run({code})"
    else:
        code = f"list(app.{method}({arguments}))" if many else f"app.{method}({arguments})"
    return f"{'updated = ' if call.op == 'update' else ''}show({method!r}, lambda: {code})"


def _told(call: Call) -> str:
    """The options that say what a run tells, as far as they are given."""
    return "".join(f", {name}={value!r}" for name, value in stream_options(call).items())


def _address(at: int | str | None) -> str:
    words: dict[Any, str] = {LATEST: "thread", UPDATED: "updated", UNKNOWN: "no_such"}
    return words.get(at, f"at({at})")


def _narrowed(call: Call) -> str:
    before = None if call.before is None else f"at({call.before})"
    parts = [("filter", call.where), ("limit", call.limit), ("before", before)]
    given = [f", {name}={value}" for name, value in parts if value is not None]
    return "".join(given)
