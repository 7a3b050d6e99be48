"""A scenario as a program that stands on its own, to hand to somebody who knows neither of us.

    python that_program.py langgraph
    python that_program.py minigraph

It defines the graph with the very code that was compared (see `build`), makes the calls, and
prints what comes back, and at the end what is stored.
"""

from __future__ import annotations

from typing import Any

from .build import HEADER, program
from .scenario import LATEST, UNKNOWN, UPDATED, Call, Command, Scenario, send_target
from .transcript import NO_SUCH_CHECKPOINT, UNKNOWN_QUESTION, stream_options

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


def inside(namespace, index):
    places = {{row.config["configurable"]["checkpoint_ns"]: row for row in saver.list(thread)}}
    places.pop("", None)
    if not places:
        return thread
    name = sorted(places, key=lambda name: "".join(name.split(":")[::2]))[namespace % len(places)]
    place = {{"configurable": {{**thread["configurable"], "checkpoint_ns": name}}}}
    if index is None:
        return place
    history = list(app.get_state_history(place))
    return history[index % len(history)].config


def asked(place):
    tasks = app.get_state(place).tasks if saver else []
    return [q.id for t in tasks for q in sorted(t.interrupts, key=lambda q: str(q.value))]


def answers(place, given):
    ids = asked(place)

    def id_of(which):
        return ids[int(which) % len(ids)] if ids and which.isdigit() else "{UNKNOWN_QUESTION}"

    return {{id_of(which): answer for which, answer in given.items()}}


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
    tasks = [(t.name, t.path, t.error, t.result, t.interrupts, short(t.state)) for t in value.tasks]
    return value.values, value.next, value.metadata, tasks


def integers(versions):
    return {{channel: int(str(version).split(".")[0]) for channel, version in versions.items()}}

'''

STORED = """
ids = []
rows = sorted(saver.list(thread) if saver else [], key=lambda row: row.checkpoint["id"])
for row in rows:
    checkpoint, parent = row.checkpoint, (row.parent_config or thread)["configurable"]
    ids.append(checkpoint["id"])
    parent = ids.index(parent["checkpoint_id"]) if "checkpoint_id" in parent else None
    place = row.config["configurable"]["checkpoint_ns"]
    print(f"stored {len(ids) - 1}: parent {parent}, {row.metadata} {place}")
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
    place = _address(call.at, call.inside)
    config = f'{{**{place}, "recursion_limit": {limit}{metadata}}}'
    many = call.op in ("stream", "history")
    given = _command(call.command, place) if call.command else repr(call.input)
    run = f"{given}, {config}{_told(call)}, **options"
    method, arguments = {
        "invoke": ("invoke", run),
        "stream": ("stream", run),
        "update": (
            "update_state",
            f"{place}, {call.input!r}, as_node={call.as_node!r}",
        ),
        "state": ("get_state", f"{place}{', subgraphs=True' * call.subgraphs}"),
        "history": ("get_state_history", f"{place}{_narrowed(call)}"),
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


def _command(command: Command, place: str) -> str:
    goto = [
        f'Send({sent!r}, {{"send": "@user.{number}"}})' if sent else repr(target)
        for number, target in enumerate(command.goto)
        for sent in [send_target(target)]
    ]
    given = {
        "resume": repr(command.resume) if command.resume is not None else "",
        "update": repr(command.update) if command.update is not None else "",
        "goto": f"[{', '.join(goto)}]" if goto else "",
        "graph": "Command.PARENT" if command.to_parent else "",
    }
    if command.answers is not None:
        given["resume"] = f"answers({place}, {command.answers!r})"
    return f"Command({', '.join(f'{name}={said}' for name, said in given.items() if said)})"


def _address(at: int | str | None, inside: int | None = None) -> str:
    if inside is not None:
        return f"inside({inside}, {at})" if isinstance(at, int) else f"inside({inside}, None)"
    words: dict[Any, str] = {LATEST: "thread", UPDATED: "updated", UNKNOWN: "no_such"}
    return words.get(at, f"at({at})")


def _narrowed(call: Call) -> str:
    before = None if call.before is None else _address(call.before, call.inside)
    parts = [("filter", call.where), ("limit", call.limit), ("before", before)]
    given = [f", {name}={value}" for name, value in parts if value is not None]
    return "".join(given)
