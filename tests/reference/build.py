"""From a scenario to a graph: the plain code a user would have written, and that code run.

A scenario is realised by *writing a program* and executing it with the package of choice. So what
the comparison ran is what a report of a difference shows: `script` adds the calls and a header,
and the text stands on its own.

The program counts every run of a node, apart for each `Send` tag, since tasks that run at the same
time must not share a counter. What will fail waits a moment first, each such node a different one:
then its siblings are done, and the order of events is no matter of luck (the async runner of the
reference cancels siblings that are still running).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from .scenario import Branch, Node, Scenario, Write, send_target

ANNOTATIONS = {
    "last": "Any",
    "list": "Annotated[list, operator.add]",
    "sum": "Annotated[int, operator.add]",
    "unset": "Annotated[Any, operator.add]",  # a reducer whose type has no start value
    "any": "Annotated[Any, channels.AnyValue]",
    "ephemeral": "Annotated[Any, channels.EphemeralValue]",
    "unguarded": "Annotated[Any, channels.EphemeralValue(Any, guard=False)]",
    "topic": "Annotated[Any, channels.Topic(Any)]",
    "collected": "Annotated[Any, channels.Topic(Any, accumulate=True)]",
}

ONCE = ("last", "ephemeral")
"""The kinds that take one write in a super-step."""

PAUSE = 0.02

HEADER = """\
import asyncio
import importlib
import operator
import threading
import time
from collections import Counter
from typing import Annotated, Any

from typing_extensions import TypedDict

channels = importlib.import_module(f"{package}.channels")
graph = importlib.import_module(f"{package}.graph")
types = importlib.import_module(f"{package}.types")
memory = importlib.import_module(f"{package}.checkpoint.memory")
Command, Overwrite, Send = types.Command, types.Overwrite, types.Send

runs, turns, lock = Counter(), Counter(), threading.Lock()


def started(name, state):
    with lock:
        runs[name, state.get("send", "")] += 1
        return runs[name, state.get("send", "")]


def turn(name):
    with lock:
        turns[name] += 1
        return turns[name] - 1


def size(value):
    return len(value) if isinstance(value, list) else value if isinstance(value, int) else 0


def rank(state):
    return tags.index(state["send"]) + 1 if "send" in state else 0
"""


@dataclass
class Built:
    """A realised scenario: the compiled graph, its saver, and how often each node ran so far."""

    graph: Any
    saver: Any
    runs: Counter[tuple[str, str]]


def build(scenario: Scenario, package: str) -> Built:
    """Realise the graph of `scenario` on `package`; whatever building it raises comes out."""
    names: dict[str, Any] = {"package": package, "__name__": "realised_scenario"}
    code = compile(HEADER + program(scenario), "<scenario>", "exec", dont_inherit=True)
    exec(code, names)
    return Built(names["app"], names["saver"], names["runs"])


def program(scenario: Scenario) -> str:
    """The code that defines the graph of `scenario` as `app`, to be read after `HEADER`."""
    writer = _Program(scenario)
    blocks = [writer.state()]
    blocks += [writer.node(node) for node in scenario.nodes]
    blocks += [writer.branch(number) for number in range(len(scenario.branches))]
    return "\n\n" + "\n\n\n".join([*blocks, writer.wiring()])


class _Program:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.kinds = {key.name: key.kind for key in scenario.keys}
        choices = [target for b in scenario.branches for choice in b.choices for target in choice]
        gotos = [target for node in scenario.nodes for target in node.goto]
        self.sent_to = {send_target(target) for target in choices + gotos}
        self.tags: list[str] = []
        self.branched = {branch.source for branch in scenario.branches}
        late = [node.name for node in scenario.nodes if self.refused_late(node)]
        self.slow = late + [n.name for n in scenario.nodes if n.fails and n.name not in late]

    def refused_late(self, node: Node) -> bool:
        """Whether the node goes well, and then its task fails over what it returned.

        That is so at once, or when a branch reads the state with these writes.
        """
        if node.returns in ("none", "invalid"):
            return node.returns == "invalid"
        once = [write.key for write in node.writes if self.kinds.get(write.key) in ONCE]
        twice = node.returns in ("list", "pairs") and len(set(once)) < len(once)
        refused = any(write.how == "refused" for write in node.writes)
        return node.name in self.branched and (twice or refused)

    def state(self) -> str:
        lines = [f"    {key.name}: {ANNOTATIONS[key.kind]}" for key in self.scenario.keys]
        return "\n".join(["class State(TypedDict, total=False):", *(lines or ["    pass"])])

    def node(self, node: Node) -> str:
        name = node.name
        lines = [f"{'async ' if node.coroutine else ''}def {name}(state):"]
        lines += [f'    run = started("{name}", state)']
        if name in self.slow:
            number, step = self.slow.index(name) + 1, len(self.slow)
            seconds = f"{PAUSE} * ({number} + {step} * rank(state))"
            pause = f"{'await asyncio' if node.coroutine else 'time'}.sleep({seconds})"
        if node.fails:
            condition = "True" if node.fails == "always" else f"run in {node.fails!r}"
            lines += [f"    if {condition}:", f"        {pause}"]
            lines += [f'        raise ValueError("{name} fails")']
        if self.refused_late(node):
            lines += [f"    {pause}"]
        return "\n".join([*lines, f"    return {self.result(node)}"])

    def result(self, node: Node) -> str:
        pairs = [(write.key, self.value(node, write)) for write in node.writes]
        update = "{" + ", ".join(f'"{key}": {value}' for key, value in pairs) + "}"
        goto = [f"goto={self.targets(node.goto, node.name)}"] if node.goto else []
        if node.returns == "command":
            return f"Command({', '.join([f'update={update}', *goto])})"
        if node.returns == "pairs":
            as_pairs = "[" + ", ".join(f'("{key}", {value})' for key, value in pairs) + "]"
            return f"Command({', '.join([f'update={as_pairs}', *goto])})"
        if node.returns == "list":
            dicts = [f'{{"{key}": {value}}}' for key, value in pairs]
            return "[" + ", ".join([*dicts, f"Command({', '.join(goto)})"]) + "]"
        return {"none": "None", "invalid": "5"}.get(node.returns, update)

    def value(self, node: Node, write: Write) -> str:
        kind = self.kinds.get(write.key)
        tag = ' + state.get("send", "")' if node.name in self.sent_to else ""
        match write.how:
            case "value":
                return repr(write.value)
            case "overwrite":
                return f"Overwrite({write.value!r})"
            case "plus":
                return f'size(state.get("{write.key}")) + {write.value!r}'
            case "refused":
                return "5" if kind == "list" else '"refused"'
        item = {
            "name": f'"{node.name}"{tag}',
            "run": f'f"{node.name}{{run}}"{tag}',
            "copy": f'state.get("{write.value}")',
        }[write.how]
        return f"[{item}]" if kind == "list" else item

    def branch(self, number: int) -> str:
        branch = self.scenario.branches[number]
        name = self.branch_name(number)
        index = f'size(state.get("{branch.by}"))' if branch.by else f'turn("{name}")'
        choices = [self.choice(choice, name) for choice in branch.choices]
        return "\n".join(
            [
                f"def {name}(state):",
                f"    choices = [{', '.join(choices)}]",
                f"    return choices[max(0, min({index}, {len(choices) - 1}))]",
            ]
        )

    def branch_name(self, number: int) -> str:
        return f"after_{self.scenario.branches[number].source.strip('_')}_{number}"

    def choice(self, choice: tuple[str, ...], tag: str) -> str:
        targets = self.targets(choice, tag)
        return targets[1:-1] if len(choice) == 1 else targets

    def targets(self, targets: tuple[str, ...], tag: str) -> str:
        items = []
        for number, target in enumerate(targets):
            sent = send_target(target)
            if sent:
                self.tags.append(f"@{tag}.{number}")
                items.append(f'Send("{sent}", {{"send": "{self.tags[-1]}"}})')
            else:
                items.append(f'"{target}"')
        return f"[{', '.join(items)}]"

    def wiring(self) -> str:
        lines = [f"tags = {self.tags}", "builder = graph.StateGraph(State)"]
        for node in self.scenario.nodes:
            defer = ", defer=True" if node.defer else ""
            lines.append(f'builder.add_node("{node.name}", {node.name}{defer})')
        for edge in self.scenario.edges:
            source = f'"{edge.sources[0]}"' if len(edge.sources) == 1 else f"{list(edge.sources)}"
            lines.append(f'builder.add_edge({source}, "{edge.target}")')
        for number, branch in enumerate(self.scenario.branches):
            mapped = f", {_path_map(branch)}" if branch.mapped and _path_map(branch) else ""
            name = self.branch_name(number)
            lines.append(f'builder.add_conditional_edges("{branch.source}", {name}{mapped})')
        saver = "memory.InMemorySaver()" if self.scenario.saver else "None"
        lines += [f"saver = {saver}", "app = builder.compile(checkpointer=saver)", ""]
        return "\n".join(lines)


def _path_map(branch: Branch) -> list[str]:
    targets = [target for choice in branch.choices for target in choice if not send_target(target)]
    return list(dict.fromkeys(targets))
