"""Named scenarios: the situations behind the rules, and every difference once found.

A row is a scenario and its `gist`, one line for each call, so that the table reads as a
description of what the machine does. The log names who ran, in the order of application: ``b2``
is the second run of `b`, ``w.0`` the task of the first `Send`; a state goes on with what is next.

What concerns schemas, the forms of the builder, streams, questions, and graphs in nodes stands in
tables of their own.
"""

from __future__ import annotations

from .cases_of_builders import BUILDERS
from .cases_of_graphs import GRAPHS
from .cases_of_questions import QUESTIONS
from .cases_of_schemas import SCHEMAS
from .cases_of_streams import STREAMS
from .scenario import END, START, UNKNOWN, UPDATED, Branch, Call, Key, Node, Scenario, Write
from .shorthand import (
    LOG,
    NAME,
    RUN,
    graph,
    history,
    node,
    resume,
    resume_at,
    start,
    state,
    state_at,
    update,
)

MACHINE: dict[str, tuple[Scenario, list[str]]] = {
    # Super-steps: order, joins, deferral, limits (SS)
    "writes are applied in the order of names": (
        graph(">zeta >a >B >n10 >n2 >b"),
        ["invoke in B a b n10 n2 zeta"],
    ),
    "nodes by edge come before nodes by send": (
        graph(">a a>m", branches=(Branch("a", (("send:z", "send:z", "send:z", "z"),)),)),
        ["invoke in a m z z.0 z.1 z.2"],
    ),
    "twelve sends keep their order": (
        graph(
            "",
            nodes=(node("w", Write("log", "name")),),
            branches=(Branch(START, (("send:w",) * 12,)),),
        ),
        ["invoke in w.0 w.1 w.2 w.3 w.4 w.5 w.6 w.7 w.8 w.9 w.10 w.11"],
    ),
    "two writers of one value clash": (
        graph(
            ">a >b",
            keys=(LOG, Key("last", "last")),
            nodes=(node("a", Write("last", "run")), node("b", Write("last", "run"))),
            calls=(start, resume),
        ),
        ["invoke raises InvalidUpdateError", "invoke raises InvalidUpdateError"],
    ),
    "two edges run a node twice": (
        graph(">a >b b>b2 a>c b2>c", calls=(start, history)),
        ["invoke in a b b2 c c", "history 3:loop 2:loop 1:loop 0:loop -1:input"],
    ),
    "a join runs a node once": (
        graph(">a >b b>b2 a+b2>c", calls=(start, history)),
        ["invoke in a b b2 c", "history 3:loop 2:loop 1:loop 0:loop -1:input"],
    ),
    "a join that never completes ends the run": (
        graph(">a a+b>c", calls=(start, start, state)),
        ["invoke in a", "invoke in a in a", "state in a in a"],
    ),
    "a join remembers its half over two runs": (
        graph("a+b>c", branches=(Branch(START, (("a",), ("b",))),), calls=(start, start)),
        ["invoke in a", "invoke in a in b c"],
    ),
    "a join fires again in a loop": (
        graph(">a >b a+b>c", branches=(Branch("c", (("a", "b"), (END,))),)),
        ["invoke in a b c a b c"],
    ),
    "a deferred node waits for all": (
        graph(">a >b b>b2 a>d b2>d", nodes=(node("d", defer=True),), calls=(start, history)),
        ["invoke in a b b2 d", "history 3:loop 2:loop 1:loop 0:loop -1:input"],
    ),
    "a deferred node over time": (
        graph(
            ">a a>d a>e", nodes=(node("d", defer=True),), calls=(start, state_at(1), state_at(2))
        ),
        ["invoke in a e d", "state in a e > d", "state in a > e"],
    ),
    "a deferred node may run twice": (
        graph(">a a>d1 a>d2 d1>d2", nodes=(node("d1", defer=True), node("d2", defer=True))),
        ["invoke in a d1 d2 d2"],
    ),
    "a deferred join": (
        graph(">a >b b>c a+b>d", nodes=(node("d", defer=True),)),
        ["invoke in a b c d"],
    ),
    "the limit counts steps and one more": (
        graph(
            ">a a>b",
            calls=(
                Call("invoke", input={}, recursion_limit=0),
                Call("invoke", input={}, recursion_limit=1),
                Call("invoke", input={}, recursion_limit=2),
                Call("invoke", input={}, recursion_limit=3),
            ),
        ),
        [
            "invoke raises ValueError",
            "invoke raises GraphRecursionError",
            "invoke raises GraphRecursionError",
            "invoke a a b a b",
        ],
    ),
    "the limit leaves a checkpoint to go on from": (
        graph(
            ">a",
            recursion_limit=2,
            branches=(Branch("a", (("a",),) * 4 + ((END,),)),),
            calls=(start, state, resume, resume, history),
        ),
        [
            "invoke raises GraphRecursionError",
            "state in a a > a",
            "invoke in a a a a a",
            "invoke in a a a a a",
            "history 5:loop 4:loop 3:loop 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a loop without end meets the limit": (
        graph(">a a>a", recursion_limit=5, saver=False),
        ["invoke raises GraphRecursionError"],
    ),
    "a branch sees the write of its node": (
        graph(">a", branches=(Branch("a", (("b",), ("b",), (END,)), by="log"),)),
        ["invoke in a"],
    ),
    "a branch may name nobody or a stranger": (
        graph(
            ">a",
            branches=(Branch("a", (("unknown",), (), ("b", "b"))),),
            calls=(start, start, start),
        ),
        ["invoke in a", "invoke in a in a", "invoke in a in a in a b"],
    ),
    "a branch does not see what lived for one step": (
        graph(
            "",
            keys=(LOG, Key("topic", "topic")),
            nodes=(node("w", NAME, Write("topic", "name")),),
            branches=(Branch(START, (("w",), (END,)), by="topic"),),
            calls=(start, start),
        ),
        ["invoke in w", "invoke in w in w"],
    ),
    "one path leads to several nodes": (
        graph("", branches=(Branch(START, (("c", "a", "b"),), targets="list"),)),
        ["invoke in a b c"],
    ),
    "values are told when a step writes": (
        graph(
            ">a a>b b>c",
            keys=(LOG, Key("last", "last")),
            nodes=(
                Node("a", returns="none"),
                node("b", Write("last", "copy", "last")),
                node("c", Write("log", "value", [])),
            ),
            calls=(
                Call("stream", input={"last": 1}, modes="values"),
                Call("stream", input={"last": 1}, modes="updates"),
                Call("stream", input={"last": 1}, modes=("values", "updates")),
            ),
        ),
        [
            "stream values empty, values empty, values empty",
            "stream updates a, updates b, updates c",
            "stream values empty, updates a, updates b, values empty, updates c, values empty",
        ],
    ),
    "an emptied channel is no news": (
        graph(
            ">a a>b",
            keys=(LOG, Key("topic", "topic")),
            nodes=(
                node("a", Write("topic", "value", ["x"])),
                node("b", Write("topic", "value", [])),
            ),
            calls=(Call("stream", input={}, modes="values"),),
        ),
        ["stream values empty"],
    ),
    # Channels in a graph (CH, SG)
    "ephemeral values live for one step": (
        graph(
            ">a a>b b>c",
            keys=(LOG, Key("ephemeral", "ephemeral")),
            nodes=(
                node("a", Write("ephemeral", "name")),
                node("b", Write("log", "copy", "ephemeral")),
                node("c", Write("log", "copy", "ephemeral")),
            ),
            calls=(start, Call("invoke", input={"ephemeral": "x"})),
        ),
        ["invoke in a None", "invoke in a None a None"],
    ),
    "any value forgets when nobody writes": (
        graph(
            ">a >b a>c c>d",
            keys=(LOG, Key("any", "any")),
            nodes=(
                node("a", Write("any", "name")),
                node("b", Write("any", "name")),
                node("c", Write("log", "copy", "any")),
                node("d", Write("log", "copy", "any")),
            ),
            calls=(start, history),
        ),
        ["invoke in b None", "history 3:loop 2:loop 1:loop 0:loop -1:input"],
    ),
    "a topic holds the values of one step": (
        graph(
            ">a >b a>c",
            keys=(LOG, Key("topic", "topic"), Key("collected", "collected")),
            nodes=(
                node("a", Write("topic", "name"), Write("collected", "name")),
                node("b", Write("topic", "value", ["p", "q"]), Write("collected", "name")),
                node("c", Write("log", "copy", "topic")),
            ),
        ),
        ["invoke in ['a', 'p', 'q']"],
    ),
    "a reducer without a start value": (
        graph(
            ">a >b",
            keys=(LOG, Key("unset", "unset")),
            nodes=(
                node("a", Write("unset", "name")),
                node("b", Write("unset", "name"), Write("log", "copy", "unset")),
            ),
            calls=(Call("invoke", input={}), Call("invoke", input={"unset": "in"})),
        ),
        ["invoke None", "invoke None abin"],
    ),
    "overwrite beats its siblings": (
        graph(
            ">a >b",
            nodes=(node("b", Write("log", "overwrite", ["o"])),),
            calls=(
                start,
                Call("invoke", input={"log": {"__overwrite__": ["new"]}}),
                update(input={"log": {"__overwrite__": ["u"]}}, as_node="a"),
                state,
            ),
        ),
        ["invoke o", "invoke o", "update", "state u"],
    ),
    "unknown keys are dropped": (
        graph(
            ">a",
            nodes=(node("a", NAME, Write("unknown", "value", 1)),),
            calls=(Call("invoke", input={"unknown": 1}), Call("invoke", input={})),
        ),
        ["invoke a", "invoke a a"],
    ),
    "a node returns what it may not": (
        graph(">a", nodes=(Node("a", returns="invalid"),), calls=(start, state, resume)),
        ["invoke raises InvalidUpdateError", "state in > a", "invoke raises InvalidUpdateError"],
    ),
    "input that is no input": (
        graph(">a", calls=(resume, Call("invoke", input=5), start)),
        ["invoke raises EmptyInputError", "invoke raises InvalidUpdateError", "invoke in a"],
    ),
    "a reducer that refuses": (
        graph(">a", nodes=(node("a", Write("log", "refused")),), calls=(start, resume, history)),
        ["invoke raises TypeError", "invoke raises TypeError", "history 0:loop -1:input"],
    ),
    "a step that cannot be applied has no live state": (
        graph(
            ">a >b",
            keys=(LOG, Key("last", "last")),
            nodes=(node("a", Write("last", "run")), node("b", Write("last", "run"))),
            calls=(start, state_at(0), state),
        ),
        ["invoke raises InvalidUpdateError", "state in > a > b", "state raises InvalidUpdateError"],
    ),
    "a branch that raises hides what its node wrote": (
        graph(
            ">a",
            nodes=(node("a", Write("log", "refused")),),
            branches=(Branch("a", (("b",),)),),
            calls=(start, resume),
        ),
        ["invoke raises TypeError", "invoke raises TypeError"],
    ),
    "a branch meets a value its reducer refuses": (
        graph(
            ">a",
            nodes=(node("a", Write("log", "refused")),),
            branches=(Branch("a", (("b",),)),),
            calls=(start, state),
        ),
        ["invoke raises TypeError", "state raises TypeError"],
    ),
    # Commands and Sends (CS)
    "goto adds to the edges": (
        graph(">a a>b", nodes=(node("a", returns="command", goto=("c",)),)),
        ["invoke in a b c"],
    ),
    "goto END or a stranger adds nothing": (
        graph(">a a>b", nodes=(node("a", returns="command", goto=(END, "unknown")),)),
        ["invoke in a b"],
    ),
    "sends by command": (
        graph(
            ">a b>c",
            nodes=(node("a", returns="command", goto=("send:b", "send:b")),),
            calls=(start, history),
        ),
        ["invoke in a b.0 b.1 c", "history 3:loop 2:loop 1:loop 0:loop -1:input"],
    ),
    "a command with pairs writes a key twice": (
        graph(
            ">a", nodes=(node("a", NAME, RUN, returns="pairs"),), calls=(Call("stream", input={}),)
        ),
        ["stream updates a"],
    ),
    "a list of commands and dicts": (
        graph(
            ">a",
            nodes=(node("a", NAME, RUN, returns="list", goto=("b",)),),
            calls=(Call("stream", input={}, modes=("values", "updates")),),
        ),
        ["stream updates a, values a a1, updates b, values a a1 b"],
    ),
    "a node by edge and by send in one step": (
        graph(
            ">a a>w", branches=(Branch("a", (("send:w", "send:w"),)),), calls=(start, state_at(1))
        ),
        ["invoke in a w w.0 w.1", "state in a > w > w > w"],
    ),
    "a failed send runs again alone": (
        graph(
            "",
            nodes=(node("a", fails=(1,)),),
            branches=(Branch(START, (("send:w", "send:a", "send:w"),)),),
            calls=(start, state, resume),
        ),
        ["invoke raises ValueError", "state in w.0 w.2 > a", "invoke in w.0 a.1 w.2"],
    ),
    "a deferred node is sent to": (
        graph(">a", nodes=(node("d", defer=True),), branches=(Branch("a", (("send:d", "d"),)),)),
        ["invoke in a d d.0"],
    ),
    # Checkpoints (CP)
    "four checkpoints": (
        graph(
            ">node_a node_a>node_b",
            calls=(start, history, state_at(3), state_at(2), state_at(1), state),
        ),
        [
            "invoke in node_a node_b",
            "history 2:loop 1:loop 0:loop -1:input",
            "state empty > __start__",
            "state in > node_a",
            "state in node_a > node_b",
            "state in node_a node_b",
        ],
    ),
    "a second run of the thread": (
        graph(">a a>b", calls=(start, start, history)),
        [
            "invoke in a b",
            "invoke in a b in a b",
            "history 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "nothing to resume": (
        graph(
            ">a a>b", calls=(start, resume, Call("stream"), Call("stream", modes="values"), history)
        ),
        [
            "invoke in a b",
            "invoke in a b",
            "stream nothing",
            "stream values in a b",
            "history 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "history narrowed": (
        graph(
            ">a a>b",
            calls=(
                start,
                Call("history", limit=2),
                Call("history", before=1),
                Call("history", where={"step": 1}),
                Call("history", at=2),
                Call("history", at=UNKNOWN),
                state_at(UNKNOWN),
            ),
        ),
        [
            "invoke in a b",
            "history 2:loop 1:loop",
            "history 0:loop -1:input",
            "history 1:loop",
            "history 0:loop",
            "history",
            "state nothing",
        ],
    ),
    "a failure and a resume": (
        graph(
            ">bad >ok",
            nodes=(node("bad", fails=(1,)),),
            calls=(start, state, state_at(0), history, Call("stream")),
        ),
        [
            "invoke raises ValueError",
            "state in ok > bad",
            "state in > bad > ok",
            "history 0:loop -1:input",
            "stream updates ok again, updates bad",
        ],
    ),
    "a failure alone": (
        graph(">bad", nodes=(node("bad", fails="always"),), calls=(start, resume, state)),
        ["invoke raises ValueError", "invoke raises ValueError", "state in > bad"],
    ),
    "two failures in one step": (
        graph(
            ">a >b >c",
            nodes=(node("a", fails=(1,)), node("b", fails=(1, 2))),
            calls=(start, resume, resume),
        ),
        ["invoke raises ValueError", "invoke raises ValueError", "invoke in a b c"],
    ),
    "the live state forgets what lives for one step": (
        graph(
            ">a >bad",
            keys=(LOG, Key("any", "any"), Key("topic", "topic"), Key("ephemeral", "ephemeral")),
            nodes=(
                node(
                    "a",
                    NAME,
                    Write("any", "name"),
                    Write("topic", "name"),
                    Write("ephemeral", "name"),
                ),
                node("bad", fails=(1,)),
            ),
            calls=(start, state, resume),
        ),
        ["invoke raises ValueError", "state in a > bad", "invoke in a bad"],
    ),
    "a quiet task is not run again": (
        graph(
            ">bad >quiet",
            nodes=(node("bad", fails=(1,)), Node("quiet", returns="none")),
            calls=(start, state, resume),
        ),
        ["invoke raises ValueError", "state in > bad", "invoke in bad"],
    ),
    "new input discards what waits": (
        graph(">a a>b", nodes=(node("b", fails=(1,)),), calls=(start, start, history)),
        [
            "invoke raises ValueError",
            "invoke in a in a b",
            "history 5:loop 4:loop 3:loop 2:input 1:loop 0:loop -1:input",
        ],
    ),
    "the same run id resumes": (
        graph(
            ">a a>b",
            nodes=(node("b", fails=(1,)),),
            calls=(
                Call("invoke", input={"log": ["in"]}, run_id="r"),
                Call("invoke", input={"log": ["ignored"]}, run_id="r"),
                Call("invoke", input={"log": ["new"]}, run_id="s"),
            ),
        ),
        ["invoke raises ValueError", "invoke in a b", "invoke in a b new a b"],
    ),
    "without a saver nothing is kept": (
        graph(">a", saver=False, calls=(start, start, resume, state, update(input={}))),
        [
            "invoke in a",
            "invoke in a",
            "invoke raises EmptyInputError",
            "state raises ValueError",
            "update raises ValueError",
        ],
    ),
    # Updates (CP-60 ff.)
    "an update while a node waits": (
        graph(
            ">a a>b",
            nodes=(node("b", fails=(1,)),),
            calls=(start, update("u"), state, history, resume),
        ),
        [
            "invoke raises ValueError",
            "update",
            "state in a u > b",
            "history 2:update 1:loop 0:loop -1:input",
            "invoke in a u b",
        ],
    ),
    "an update as a node": (
        graph(">a a>b", calls=(update("u", as_node="a"), state, resume, history)),
        ["update", "state u > b", "invoke u b", "history 1:loop 0:update"],
    ),
    "an update on a fresh thread is input": (
        graph(">a a>b", calls=(update("u"), state, resume)),
        ["update", "state u > a", "invoke u a b"],
    ),
    "an update as START": (
        graph(">a a>b", calls=(update("u", as_node=START), state, resume)),
        ["update", "state u > a", "invoke u a b"],
    ),
    "an update as input": (
        graph(
            ">a a>b",
            calls=(
                update("u", as_node="__input__"),
                state,
                resume,
                update("v", as_node="__input__"),
                state,
                resume,
            ),
        ),
        [
            "update",
            "state empty > __start__",
            "invoke u a b",
            "update",
            "state u a b > __start__",
            "invoke u a b v a b",
        ],
    ),
    "an update as input keeps what waits": (
        graph(
            ">a a>a",
            recursion_limit=2,
            calls=(start, update("u", as_node="__input__"), state, resume, history),
        ),
        [
            "invoke raises GraphRecursionError",
            "update",
            "state in a a > __start__ > a",
            "invoke raises GraphRecursionError",
            "history 7:loop 6:loop 5:loop 4:loop 3:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "an update without values is input too": (
        graph(">a a>b", calls=(update(), state, resume)),
        ["update", "state empty > a", "invoke a b"],
    ),
    "an update without values may be ambiguous": (
        graph(">a >b", calls=(start, update(), state)),
        ["invoke in a b", "update raises InvalidUpdateError", "state in a b"],
    ),
    "an update without values is a super-step": (
        graph(
            ">a a>b",
            keys=(LOG, Key("topic", "topic")),
            nodes=(node("b", NAME, Write("topic", "name")),),
            calls=(start, update(), state, update(at=-1), state_at(UPDATED), resume_at(UPDATED)),
        ),
        [
            "invoke in a b",
            "update",
            "state in a b",
            "update",
            "state empty > a",
            "invoke a b",
        ],
    ),
    "an update of a replayed input has no author": (
        graph(">a", calls=(start, resume_at(2), update("u", at=2), state)),
        ["invoke in a", "invoke in a", "update raises InvalidUpdateError", "state in a"],
    ),
    "an update as a stranger": (
        graph(">a a>b", calls=(update("u", as_node="unknown"), start)),
        ["update raises InvalidUpdateError", "invoke in a b"],
    ),
    "an update after the end": (
        graph(">a a>b", calls=(start, update("u"), state, update(), state, resume)),
        [
            "invoke in a b",
            "update",
            "state in a b u",
            "update",
            "state in a b u",
            "invoke in a b u",
        ],
    ),
    "an update as END clears what waits": (
        graph(
            ">a a>b",
            nodes=(node("b", fails=(1,)),),
            calls=(start, update(as_node=END), state, resume, history),
        ),
        [
            "invoke raises ValueError",
            "update",
            "state in a",
            "invoke in a",
            "history 2:update 1:loop 0:loop -1:input",
        ],
    ),
    "an update that two nodes could have made": (
        graph(
            ">a >b a+b>c",
            calls=(start, update("u", at=1), update("u", as_node="a", at=1), state, resume),
        ),
        [
            "invoke in a b c",
            "update raises InvalidUpdateError",
            "update",
            "state in a b u > c",
            "invoke in a b u c",
        ],
    ),
    "an update of the only node": (
        graph(">only", calls=(update("u"), state, resume)),
        ["update", "state u > only", "invoke u only"],
    ),
    "an update drops finished siblings": (
        graph(
            ">ask >done ask+done>fin",
            nodes=(node("ask", fails=(1,)),),
            calls=(start, state, update("u", as_node="ask"), state, resume),
        ),
        ["invoke raises ValueError", "state in done > ask", "update", "state in u", "invoke in u"],
    ),
    "an update runs the branches of its node": (
        graph(
            ">a",
            branches=(Branch("a", (("b",), ("send:c", "b"))),),
            calls=(start, update("u", as_node="a"), state, resume),
        ),
        ["invoke in a b", "update", "state in a b u > c > b", "invoke in a b u b c.0"],
    ),
    "an update that a reducer refuses": (
        graph(">a", calls=(start, update(input={"log": 5}), state, update(input=5), state)),
        [
            "invoke in a",
            "update raises TypeError",
            "state in a",
            "update raises InvalidUpdateError",
            "state in a",
        ],
    ),
    "a copy": (
        graph(
            ">a a>b",
            calls=(
                update(as_node="__copy__"),
                start,
                update(as_node="__copy__", at=1),
                state_at(UPDATED),
                resume_at(UPDATED),
                history,
            ),
        ),
        [
            "update raises InvalidUpdateError",
            "invoke in a b",
            "update",
            "state in a > b",
            "invoke in a b",
            "history 3:loop 2:fork 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a copy with an update": (
        graph(
            ">a a>b",
            calls=(
                start,
                update(input=[[{"log": ["u"]}, "a"]], as_node="__copy__", at=1),
                state_at(UPDATED),
                resume_at(UPDATED),
                history,
            ),
        ),
        [
            "invoke in a b",
            "update",
            "state in a u > b",
            "invoke in a u b",
            "history 4:loop 3:update 2:fork 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a copy of the latest": (
        graph(
            ">a a>b",
            nodes=(node("b", fails=(1,)),),
            calls=(start, update(as_node="__copy__"), state, resume),
        ),
        ["invoke raises ValueError", "update", "state in a > b", "invoke in a b"],
    ),
    # Time travel (TT)
    "replay runs what came after": (
        graph(
            ">a a>b",
            nodes=(node("a", RUN), node("b", RUN)),
            calls=(start, resume_at(1), history, state),
        ),
        [
            "invoke in a1 b1",
            "invoke in a1 b2",
            "history 3:loop 2:fork 2:loop 1:loop 0:loop -1:input",
            "state in a1 b2",
        ],
    ),
    "replay of the last checkpoint stores a fork": (
        graph(">a a>b", calls=(start, resume_at(0), history, resume, history)),
        [
            "invoke in a b",
            "invoke in a b",
            "history 3:fork 2:loop 1:loop 0:loop -1:input",
            "invoke in a b",
            "history 3:fork 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "replay runs finished siblings again": (
        graph(
            ">a >b a+b>c",
            nodes=(node("a", RUN), node("b", RUN)),
            calls=(start, resume_at(2), history),
        ),
        [
            "invoke in a1 b1 c",
            "invoke in a2 b2 c",
            "history 3:loop 2:loop 1:fork 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "replay of the input checkpoint": (
        graph(
            ">a a>b", nodes=(node("a", RUN), node("b", RUN)), calls=(start, resume_at(3), history)
        ),
        [
            "invoke in a1 b1",
            "invoke in a2 b2",
            "history 3:loop 2:loop 1:loop 0:fork 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "replay of a failed step": (
        graph(
            ">a >b",
            nodes=(node("a", RUN), node("b", RUN, fails=(1,))),
            calls=(start, resume_at(0), history),
        ),
        ["invoke raises ValueError", "invoke in a2 b2", "history 2:loop 1:fork 0:loop -1:input"],
    ),
    "replay behind a failed step": (
        graph(
            ">a a>b b>c",
            nodes=(node("a", RUN), node("b", RUN), node("c", RUN, fails=(1,))),
            calls=(start, resume_at(1), history),
        ),
        [
            "invoke raises ValueError",
            "invoke in a1 b2 c2",
            "history 4:loop 3:loop 2:fork 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "fork": (
        graph(
            ">a a>b",
            nodes=(node("a", RUN), node("b", RUN)),
            calls=(
                start,
                update("u", at=1),
                state_at(UPDATED),
                resume_at(UPDATED),
                history,
                state_at(3),
            ),
        ),
        [
            "invoke in a1 b1",
            "update",
            "state in a1 u > b",
            "invoke in a1 u b2",
            "history 3:loop 2:update 2:loop 1:loop 0:loop -1:input",
            "state in a1 > b",
        ],
    ),
    "fork as a node": (
        graph(
            ">a a>b",
            calls=(
                start,
                update("u", as_node="a", at=1),
                update("v", as_node="b", at=2),
                state,
                resume_at(1),
                resume_at(UPDATED),
            ),
        ),
        ["invoke in a b", "update", "update", "state in a v", "invoke in a u b", "invoke in a v"],
    ),
    "fork of a fork": (
        graph(
            ">a a>b",
            calls=(
                start,
                update("u", at=1),
                update("v", at=UPDATED),
                resume_at(UPDATED),
                resume_at(2),
                history,
            ),
        ),
        [
            "invoke in a b",
            "update",
            "update",
            "invoke in a u v b",
            "invoke in a u b",
            "history 4:loop 3:fork 4:loop 3:update 2:update 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "input at an old checkpoint": (
        graph(">a a>b", calls=(start, Call("invoke", input={"log": ["new"]}, at=1), history)),
        [
            "invoke in a b",
            "invoke in a new a b",
            "history 5:loop 4:loop 3:loop 2:input 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "a checkpoint that does not exist is an empty thread": (
        graph(
            ">a",
            calls=(
                start,
                resume_at(UNKNOWN),
                Call("invoke", input={"log": ["new"]}, at=UNKNOWN),
                history,
            ),
        ),
        [
            "invoke in a",
            "invoke raises EmptyInputError",
            "invoke new a",
            "history 1:loop 0:loop -1:input 1:loop 0:loop -1:input",
        ],
    ),
    "a breakpoint of a call at a node that does not exist": (
        graph(">a", calls=(Call("invoke", input={"log": ["in"]}, stop_before=("b",)),)),
        ["invoke in a"],
    ),
    "an update of a checkpoint that does not exist": (
        graph(">a", calls=(start, update("u", as_node="a", at=UNKNOWN), history)),
        [
            "invoke in a",
            "update",
            "history 0:update 1:loop 0:loop -1:input",
        ],
    ),
    "a replay of the latest fork runs its whole step": (
        graph(
            ">a >b",
            nodes=(node("a", RUN), node("b", fails="always")),
            calls=(start, resume_at(0), resume_at(0), resume, history),
        ),
        [
            "invoke raises ValueError",
            "invoke raises ValueError",
            "invoke raises ValueError",
            "invoke raises ValueError",
            "history 1:fork 0:loop -1:input",
        ],
    ),
    "replay of sends": (
        graph(
            "b>c",
            nodes=(node("b", RUN),),
            branches=(Branch(START, (("send:b", "send:b"),)),),
            calls=(start, resume_at(2), update("u", as_node="b", at=5), state, resume_at(UPDATED)),
        ),
        [
            "invoke in b1.0 b1.1 c",
            "invoke in b2.0 b2.1 c",
            "update",
            "state in u > c",
            "invoke in u c",
        ],
    ),
    # The same, asynchronously
    "an async life": (
        graph(
            ">a a>b",
            nodes=(node("a", coroutine=True), node("b", fails=(1,))),
            calls=tuple(
                Call(
                    call.op,
                    input=call.input,
                    modes=("values", "updates"),
                    as_node=call.as_node,
                    at=call.at,
                    asynchronous=True,
                )
                for call in (
                    start,
                    state,
                    Call("stream"),
                    update("u", as_node="a"),
                    Call("stream", at=UPDATED),
                    resume_at(3),
                    history,
                )
            ),
        ),
        [
            "invoke raises ValueError",
            "state in a > b",
            "stream values in a, updates b, values in a b",
            "update",
            "stream values in a b u, updates b, values in a b u b",
            "invoke values in a, updates b, values in a b",
            "history 3:loop 2:fork 4:loop 3:update 2:loop 1:loop 0:loop -1:input",
        ],
    ),
    "coroutines that fail": (
        graph(
            ">a >b a+b>c",
            nodes=(
                node("a", coroutine=True),
                node("b", coroutine=True, fails=(1,)),
                node("c", coroutine=True),
            ),
            calls=(
                Call("stream", input={"log": ["in"]}, asynchronous=True),
                state,
                Call("stream", asynchronous=True),
            ),
        ),
        [
            "stream updates a and raises ValueError",
            "state in a > b",
            "stream updates a again, updates b, updates c",
        ],
    ),
    "an author with two triggers": (
        graph(
            ">n n+a>b a>b",
            nodes=(node("n", returns="command", goto=("send:a",)), node("a"), node("b")),
            calls=(start, update("u"), state),
        ),
        ["invoke in n a.0 b", "update raises InvalidUpdateError", "state in n a.0 b"],
    ),
    "a coroutine in a sync run": (
        graph(">a", nodes=(node("a", coroutine=True),), calls=(start,)),
        ["invoke raises TypeError"],
    ),
}

CASES = MACHINE | SCHEMAS | BUILDERS | STREAMS | QUESTIONS | GRAPHS
