"""From a scenario to a graph: the plain code a user would have written, and that code run.

A scenario is realised by *writing a program* and executing it with the package of choice. So what
the comparison ran is what a report of a difference shows: `script` adds the calls and a header,
and the text stands on its own.

The program counts every run of a node, apart for each `Send` tag, since tasks that run at the same
time must not share a counter. What will fail waits a moment first, each such node a different one:
then its siblings are done, and the order of events is no matter of luck (the async runner of the
reference cancels siblings that are still running). So does who asks, if there are others: the first
one may be given an answer that is for nobody in particular.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .scenario import (
    END,
    ROOT,
    START,
    Branch,
    Edge,
    Inner,
    Node,
    Scenario,
    Schema,
    Write,
    send_target,
)
from .schemas import LISTS, ONCE, class_of, effective_kind, root_of

MODULE = "realised_scenario"

PAUSE = 0.02
PAUSE_BESIDE_GRAPHS = 0.04
"""What to wait for before failing; graphs in nodes take their time."""

HEADER = """\
import asyncio
import dataclasses
import functools
import importlib
import operator
import threading
import time
from collections import Counter
from typing import Annotated, Any, Literal

import pydantic
from typing_extensions import NotRequired, Required, TypedDict

channels = importlib.import_module(f"{package}.channels")
graph = importlib.import_module(f"{package}.graph")
types = importlib.import_module(f"{package}.types")
memory = importlib.import_module(f"{package}.checkpoint.memory")
config = importlib.import_module(f"{package}.config")
Command, Overwrite, Send, interrupt = types.Command, types.Overwrite, types.Send, types.interrupt

runs, turns, lock = Counter(), Counter(), threading.Lock()


def sent(state):
    return state.get("send", "") if isinstance(state, dict) else ""


def read(state, key):
    if key == "__root__":
        return None if sent(state) else state
    return state.get(key) if isinstance(state, dict) else getattr(state, key, None)


def started(name, state):
    with lock:
        runs[name, sent(state)] += 1
        return runs[name, sent(state)]


def turn(name):
    with lock:
        turns[name] += 1
        return turns[name] - 1


def question(state, number):
    namespace = config.get_config()["configurable"]["checkpoint_ns"]
    path = [level.split(":")[0] for level in namespace.split("|") if not level.isdigit()]
    return f"{'/'.join(path)}{sent(state)}?{number}"


def told(result):
    log = (result or {}).get("log", "") if isinstance(result, dict) else result
    return " ".join(map(str, log)) if isinstance(log, list) else str(log)


def size(value):
    return len(value) if isinstance(value, list) else value if isinstance(value, int) else 0


def rank(state):
    return [*tags, sent(state)].index(sent(state)) + 1 if sent(state) else 0
"""


@dataclass
class Built:
    """A realised scenario: the compiled graph, its saver, and how often each node ran so far."""

    graph: Any
    saver: Any
    runs: Counter[tuple[str, str]]
    types: Any


def build(scenario: Scenario, package: str) -> Built:
    """Realise the graph of `scenario` on `package`; whatever building it raises comes out."""
    module = sys.modules[MODULE] = ModuleType(MODULE)  # stored objects find their classes there
    names = module.__dict__
    names["package"] = package
    code = compile(HEADER + program(scenario), "<scenario>", "exec", dont_inherit=True)
    exec(code, names)
    return Built(names["app"], names["saver"], names["runs"], names["types"])


def program(scenario: Scenario) -> str:
    """The code that defines the graph of `scenario` as `app`, to be read after `HEADER`."""
    writer = _Program(scenario)
    blocks = writer.schemas()
    for graph in writer.graphs:
        blocks += [writer.node(node) for node in graph.nodes if not is_graph(node)]
        blocks += [writer.branch(branch) for branch in graph.branches]
    blocks += [f"tags = {writer.tags}", *map(writer.inner, scenario.inner), writer.wiring()]
    return "\n\n" + "\n\n\n".join(blocks)


def is_graph(node: Node) -> bool:
    """Whether the node is a graph, and no function."""
    return bool(node.graph) and not node.called


class _Program:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.keys = {key.name: key for key in scenario.keys}
        self.public = [key.name for key in scenario.keys if not key.private]
        self.graphs: list[Scenario | Inner] = [*scenario.inner, scenario]
        self.nodes = [node for graph in self.graphs for node in graph.nodes]
        self.branches = [branch for graph in self.graphs for branch in graph.branches]
        self.named_branches = [
            (branch, f"after_{getattr(graph, 'name', '')}{branch.source.strip('_')}_{number}")
            for graph in self.graphs
            for number, branch in enumerate(graph.branches)
        ]
        choices = [target for b in self.branches for choice in b.choices for target in choice]
        gotos = [target for node in self.nodes for target in node.goto]
        self.sent_to = {send_target(target) for target in choices + gotos}
        self.tags: list[str] = []
        self.branched = {branch.source for branch in self.branches}
        late = [node.name for node in self.nodes if self.refused_late(node)]
        self.asking = [node.name for node in self.nodes if node.asks]
        failing = late + [n.name for n in self.nodes if n.fails and n.name not in late]
        self.slow = [*self.asking, *(f"{name} fails" for name in failing)]

    def refused_late(self, node: Node) -> bool:
        """Whether the node goes well, and then its task fails over what it returned.

        That is so at once, or when a branch reads the state with these writes.
        """
        if node.returns in ("none", "invalid"):
            return node.returns == "invalid"
        kinds = {key.name: effective_kind(key) for key in self.scenario.keys}
        once = [write.key for write in node.writes if kinds.get(write.key) in ONCE]
        twice = node.returns in ("list", "pairs") and len(set(once)) < len(once)
        refused = any(write.how == "refused" for write in node.writes)
        return node.name in self.branched and (twice or refused)

    # ------------------------------------------------------------ schemas

    def schemas(self) -> list[str]:
        """The classes; a state that is a single value is an annotation, and has a name as well."""
        scenario = self.scenario
        if scenario.schema == "root":
            texts = [f"State = {root_of(scenario.keys)}"]
        else:
            state = Schema(tuple(self.public), scenario.schema)
            texts = [class_of("State", state, self.keys)]
        named = {"Given": scenario.given, "Shown": scenario.shown}
        named |= {f"Given_to_{graph.name}": graph.given for graph in scenario.inner}
        named |= {f"Shown_by_{graph.name}": graph.shown for graph in scenario.inner}
        named |= {self.reads(node): node.reads for node in self.nodes}
        named |= {self.reads(branch): branch.reads for branch in self.branches}
        return texts + [class_of(name, made, self.keys) for name, made in named.items() if made]

    def reads(self, part: Node | Branch) -> str:
        """The name of the class that a node or a path function reads."""
        if isinstance(part, Node):
            return f"Read_by_{part.name}"
        return f"Read_{self.branch_name(part)}"

    # ------------------------------------------------------------ nodes

    def node(self, node: Node) -> str:
        """The function, or the class it is a method of."""
        name = {"object": "__call__", "bare object": "__call__"}.get(node.form, node.name)
        within = "object" in node.form or "method" in node.form
        annotated = f": {self.reads(node)}" if node.reads and node.reads_by == "annotation" else ""
        parameters = ["self"] * within + ["word"] * (node.form == "partial")
        parameters += [f"state{annotated}"] + ["writer"] * (node.tells == "writer")
        named = [target for target in node.goto if not send_target(target)]
        returns = f" -> Command[Literal{named}]" if node.declares and named else ""
        head = f"{'async ' * node.coroutine}def {name}({', '.join(parameters)}){returns}:"
        lines = [head, *(f"    {line}" for line in self.body(node))]
        if not within:
            return "\n".join(lines)
        return "\n".join([f"class {self.holder(node)}:", *(f"    {line}" for line in lines)])

    def holder(self, node: Node) -> str:
        return node.name if node.form == "bare object" else f"Holder_of_{node.name}"

    def body(self, node: Node) -> list[str]:
        name = node.name
        lines = [f'run = started("{name}", state)']
        if node.tells:
            writer = "writer" if node.tells == "writer" else "config.get_stream_writer()"
            lines += [f'{writer}({{"node": "{name}", "send": sent(state), "run": run}})']
        pause = self.pause(f"{name} fails", node)
        failure: list[str] = []
        if node.fails:
            condition = "run" if node.fails == "always" else f"run in {node.fails!r}"
            failure += [f"if {condition}:", f"    {pause}"]
            failure += [f'    raise ValueError("{name} fails")']
        lines += [] if node.fails_late else failure
        lines += self.questions_and_calls(node)
        lines += failure if node.fails_late else []
        if self.refused_late(node):
            lines += [pause]
        return [*lines, f"return {self.result(node)}"]

    def pause(self, what: str, node: Node) -> str:
        """The line that waits for one's turn to ask or to fail; failures come after questions."""
        if what not in self.slow:
            return ""
        number, step = self.slow.index(what) + (not self.asking), len(self.slow)
        unit = PAUSE_BESIDE_GRAPHS if self.scenario.inner else PAUSE
        later = " + len(tags)" * (bool(self.asking) and what not in self.asking)
        seconds = f"{unit} * ({number} + {step} * (rank(state){later}))"
        return f"{'await asyncio' if node.coroutine else 'time'}.sleep({seconds})"

    def questions_and_calls(self, node: Node) -> list[str]:
        """Ask, call, ask, call: as often as there is something to ask, and somebody to call."""
        lines = ["answers = []"] * bool(node.asks) + ["results = []"] * bool(node.called)
        if len(self.asking) > 1 or node.name in self.sent_to:
            lines += [self.pause(node.name, node)] * bool(node.asks)
        called = f"await {node.graph}.ainvoke" if node.coroutine else f"{node.graph}.invoke"
        for turn in range(max(node.asks, node.called)):
            if turn < node.asks:
                lines.append(f"answers.append(interrupt(question(state, {turn})))")
            if turn < node.called:
                given = self.given(f'"{node.name}" + sent(state)')
                lines.append(f"results.append(told({called}({given})))")
        return lines

    def result(self, node: Node) -> str:
        pairs = [(write.key, self.value(node, write)) for write in node.writes]
        update = "{" + ", ".join(f'"{key}": {value}' for key, value in pairs) + "}"
        if self.scenario.schema == "root":
            update = pairs[-1][1] if pairs else "None"
        goto = [f"goto={self.targets(node.goto, node.name)}"] if node.goto else []
        goto += ["graph=Command.PARENT"] * node.to_parent
        if node.returns == "command":
            return f"Command({', '.join([f'update={update}', *goto])})"
        if node.returns == "pairs":
            as_pairs = "[" + ", ".join(f'("{key}", {value})' for key, value in pairs) + "]"
            return f"Command({', '.join([f'update={as_pairs}', *goto])})"
        if node.returns == "list":
            dicts = [f'{{"{key}": {value}}}' for key, value in pairs]
            if self.scenario.schema == "root":
                dicts = [value for _, value in pairs]
            return "[" + ", ".join([*dicts, f"Command({', '.join(goto)})"]) + "]"
        if node.returns == "object" and self.scenario.schema != "root":
            misfits = [write.key for write in node.writes if self.misfits(write)]
            fields = {
                key: value for key, value in pairs if key in self.public and key not in misfits
            }
            return f"State({', '.join(f'{key}={value}' for key, value in fields.items())})"
        return {"none": "None", "invalid": "5"}.get(node.returns, update)

    def misfits(self, write: Write) -> bool:
        """Whether the state's class refuses what is written, so that the node itself would fail."""
        return self.scenario.schema == "pydantic" and write.how in ("overwrite", "refused")

    def value(self, node: Node, write: Write) -> str:
        a_list = write.key in self.keys and self.keys[write.key].kind in LISTS
        tag = " + sent(state)" if node.name in self.sent_to else ""
        match write.how:
            case "value":
                return repr(write.value)
            case "overwrite":
                return f"Overwrite({write.value!r})"
            case "plus":
                return f'size(read(state, "{write.key}")) + {write.value!r}'
            case "refused":
                return "5" if a_list else '"refused"'
        item = {
            "name": f'"{node.name}"{tag}',
            "run": f'f"{node.name}{{run}}"{tag}',
            "copy": f'read(state, "{write.value}")',
            "answers": f'f"{node.name}{{answers}}"{tag}',
            "inner": f"f\"{node.name}({{', '.join(results)}})\"{tag}",
        }[write.how]
        return f"[{item}]" if a_list else item

    # ------------------------------------------------------------ branches

    def branch(self, branch: Branch) -> str:
        name = self.branch_name(branch)
        index = f'size(read(state, "{branch.by}"))' if branch.by else f'turn("{name}")'
        choices = [self.choice(choice, branch, name) for choice in branch.choices]
        annotated = f": {self.reads(branch)}" if branch.reads else ""
        declared = _declared(branch)
        returns = f" -> Literal{declared}" if branch.targets == "literal" and declared else ""
        return "\n".join(
            [
                f"def {name}(state{annotated}){returns}:",
                f"    choices = [{', '.join(choices)}]",
                f"    return choices[max(0, min({index}, {len(choices) - 1}))]",
            ]
        )

    def branch_name(self, branch: Branch) -> str:
        return next(name for each, name in self.named_branches if each is branch)

    def choice(self, choice: tuple[str, ...], branch: Branch, tag: str) -> str:
        mapped = branch.targets in ("dict", "short")
        named = [_in_the_map(t) if mapped and not send_target(t) else t for t in choice]
        targets = self.targets(tuple(named), tag)
        return targets[1:-1] if len(choice) == 1 else targets

    def targets(self, targets: tuple[str, ...], tag: str) -> str:
        items = []
        for number, target in enumerate(targets):
            sent = send_target(target)
            if sent:
                self.tags.append(f"@{tag}.{number}")
                items.append(self.send(sent, self.tags[-1]))
            else:
                items.append(f'"{target}"')
        return f"[{', '.join(items)}]"

    def send(self, node: str, tag: str) -> str:
        """A `Send` with its tag. A graph does not know the tag, but it does know the log."""
        argument = f'{{"send": "{tag}"}}'
        if any(is_graph(each) and each.name == node for each in self.nodes):
            argument = self.given(f'"{tag}"')
        return f'Send("{node}", {argument})'

    def given(self, word: str) -> str:
        """The input of a graph, with one word in the log."""
        if self.scenario.schema != "root":
            return f'{{"log": [{word}]}}'
        kind = self.keys[ROOT].kind if ROOT in self.keys else ""
        return f"[{word}]" if kind in LISTS else "1" if kind == "sum" else word

    # ------------------------------------------------------------ wiring

    def inner(self, graph: Inner) -> str:
        """What the builder of an inner graph is told."""
        own = {"input_schema": graph.given, "output_schema": graph.shown}
        named = {"input_schema": "Given_to", "output_schema": "Shown_by"}
        schemas = [f", {name}={named[name]}_{graph.name}" for name, made in own.items() if made]
        lines = [f"builder = graph.StateGraph(State{''.join(schemas)})", *self.parts(graph)]
        options = f"checkpointer={graph.checkpointer}{_stops(graph)}"
        return "\n".join([*lines, f"{graph.name} = builder.compile({options})"])

    def wiring(self) -> str:
        """What the builder of the graph is told."""
        scenario = self.scenario
        own = {"input_schema": scenario.given, "output_schema": scenario.shown}
        named = {"input_schema": "Given", "output_schema": "Shown"}
        schemas = [f", {name}={named[name]}" for name, schema in own.items() if schema]
        lines = [f"builder = graph.StateGraph(State{''.join(schemas)})", *self.parts(scenario)]
        saver = "memory.InMemorySaver()" if scenario.saver else "None"
        lines += [
            f"saver = {saver}",
            f"app = builder.compile(checkpointer=saver{_stops(scenario)})",
        ]
        return "\n".join([*lines, ""])

    def parts(self, graph: Scenario | Inner) -> list[str]:
        """The nodes, the edges and the branches."""
        lines = []
        nodes = {node.name: node for node in graph.nodes}
        sequence = graph.sequence if isinstance(graph, Scenario) else ()
        for node in graph.nodes:
            if node.name not in sequence:
                lines.append(f"builder.add_node({self.added(node)}{self.options(node)})")
        if sequence:
            items = [nodes[name] for name in sequence]
            lines.append(f"builder.add_sequence([{', '.join(map(self.in_sequence, items))}])")
        lines += [_edge(edge) for edge in graph.edges]
        for branch in graph.branches:
            added = f'add_conditional_edges("{branch.source}", '
            if branch.point and branch.source == START:
                added = "set_conditional_entry_point("
            lines.append(f"builder.{added}{self.branch_name(branch)}{_path_map(branch)})")
        return lines

    def added(self, node: Node) -> str:
        """What is given to the builder: a name and something to call, or that alone."""
        if is_graph(node):
            return f'"{node.name}", {node.graph}'
        name, holder = node.name, self.holder(node)
        return {
            "function": name,
            "object": f'"{name}", {holder}()',
            "bare object": f"{holder}()",
            "method": f'"{name}", {holder}().{name}',
            "bare method": f"{holder}().{name}",
            "partial": f'"{name}", functools.partial({name}, "word")',
        }.get(node.form, f'"{name}", {name}')

    def in_sequence(self, node: Node) -> str:
        added = self.added(node)
        return f"({added})" if added.startswith('"') else added

    def options(self, node: Node) -> str:
        """The options of `add_node`. There are none in a sequence."""
        by_argument = node.reads and node.reads_by == "argument"
        given = ["defer=True"] * node.defer
        given += [f'metadata={{"about": "{node.name}"}}'] * node.metadata
        given += [f"input_schema={self.reads(node)}"] * bool(by_argument)
        return "".join(f", {option}" for option in given)


def _stops(graph: Scenario | Inner) -> str:
    """The breakpoints that a graph is compiled with."""
    given = {"interrupt_before": graph.stop_before, "interrupt_after": graph.stop_after}
    return "".join(f", {name}={_nodes(stops)}" for name, stops in given.items() if stops)


def _nodes(stops: tuple[str, ...] | str) -> str:
    return repr(stops if isinstance(stops, str) else list(stops))


def _edge(edge: Edge) -> str:
    if edge.form == "point" and edge.sources == (START,):
        return f'builder.set_entry_point("{edge.target}")'
    if edge.form == "point" and edge.target == END and len(edge.sources) == 1:
        return f'builder.set_finish_point("{edge.sources[0]}")'
    one = len(edge.sources) == 1 and edge.form != "list"
    source = f'"{edge.sources[0]}"' if one else f"{list(edge.sources)}"
    return f'builder.add_edge({source}, "{edge.target}")'


def _path_map(branch: Branch) -> str:
    declared = _declared(branch)
    if branch.targets in ("dict", "short"):
        last = len(declared) - (branch.targets == "short")
        return f", { ({_in_the_map(target): target for target in declared[:last]}) }"
    return f", {declared}" if branch.targets == "list" and declared else ""


def _in_the_map(target: str) -> str:
    return f"to {target}"


def _declared(branch: Branch) -> list[str]:
    targets = [target for choice in branch.choices for target in choice if not send_target(target)]
    return list(dict.fromkeys(targets))
