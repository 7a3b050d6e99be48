"""Named scenarios of streams: each mode, alone and together, and each shape of what is told (ST).

The gist of a chunk is its mode and what it tells of: ``task a`` and ``result a`` are the two kinds
of the mode `tasks`, ``checkpoint 0`` is that of step 0, and ``again`` is what is not run again.
"""

from __future__ import annotations

from typing import Any

from .scenario import MODES, START, Branch, Call, Key, Scenario, Write
from .shorthand import LOG, NAME, graph, node, resume_at, start, state, update


def stream(*modes: str, **more: Any) -> Call:
    """A stream of these modes, in a list, with the usual input unless another is given."""
    return Call("stream", **({"input": {"log": ["in"]}, "modes": modes} | more))


def shapes(mode: str) -> tuple[Call, ...]:
    """One mode in each shape: bare, in a list, and both in version 2."""
    bare, listed = stream(modes=mode), stream(mode)
    return bare, listed, stream(modes=mode, version="v2"), stream(mode, version="v2")


def line(*calls: Call, **more: Any) -> Scenario:
    """Two nodes in a row that tell something, by either way of doing so."""
    nodes = (node("a", tells="writer"), node("b", tells="get", metadata=True))
    return graph(">a a>b", **({"nodes": nodes, "calls": calls, "saver": False} | more))


STREAMS: dict[str, tuple[Scenario, list[str]]] = {
    "values in each shape": (
        line(*shapes("values")),
        [
            "stream values in, values in a, values in a b",
            "stream values in, values in a, values in a b",
            "stream values in, values in a, values in a b",
            "stream values in, values in a, values in a b",
        ],
    ),
    "updates in each shape": (
        line(*shapes("updates")),
        [
            "stream updates a, updates b",
            "stream updates a, updates b",
            "stream updates a, updates b",
            "stream updates a, updates b",
        ],
    ),
    "custom in each shape": (
        line(*shapes("custom")),
        [
            "stream custom a, custom b",
            "stream custom a, custom b",
            "stream custom a, custom b",
            "stream custom a, custom b",
        ],
    ),
    "messages in each shape": (
        line(*shapes("messages")),
        ["stream nothing", "stream nothing", "stream nothing", "stream nothing"],
    ),
    "tasks in each shape": (
        line(*shapes("tasks")),
        [
            "stream task a, result a, task b, result b",
            "stream task a, result a, task b, result b",
            "stream task a, result a, task b, result b",
            "stream task a, result a, task b, result b",
        ],
    ),
    "checkpoints in each shape": (
        line(*shapes("checkpoints"), saver=True),
        [
            "stream checkpoint -1, checkpoint 0, checkpoint 1, checkpoint 2",
            "stream checkpoint 3, checkpoint 4, checkpoint 5, checkpoint 6",
            "stream checkpoint 7, checkpoint 8, checkpoint 9, checkpoint 10",
            "stream checkpoint 11, checkpoint 12, checkpoint 13, checkpoint 14",
        ],
    ),
    "debug in each shape": (
        line(*shapes("debug"), saver=True),
        [
            "stream debug checkpoint -1, debug checkpoint 0, debug task a, debug result a,",
            "    debug checkpoint 1, debug task b, debug result b, debug checkpoint 2",
            "stream debug checkpoint 3, debug checkpoint 4, debug task a, debug result a,",
            "    debug checkpoint 5, debug task b, debug result b, debug checkpoint 6",
            "stream debug checkpoint 7, debug checkpoint 8, debug task a, debug result a,",
            "    debug checkpoint 9, debug task b, debug result b, debug checkpoint 10",
            "stream debug checkpoint 11, debug checkpoint 12, debug task a, debug result a,",
            "    debug checkpoint 13, debug task b, debug result b, debug checkpoint 14",
        ],
    ),
    "without a saver there are no checkpoints to tell of": (
        line(stream("checkpoints"), stream("debug")),
        ["stream nothing", "stream debug task a, debug result a, debug task b, debug result b"],
    ),
    "what is told by default": (
        line(Call("stream", input={}), Call("stream", input={}, version="v2")),
        ["stream updates a, updates b", "stream updates a, updates b"],
    ),
    "all modes at once": (
        line(stream(*MODES), saver=True),
        [
            "stream checkpoint -1, debug checkpoint -1, values in, checkpoint 0, debug",
            "    checkpoint 0, task a, debug task a, custom a, updates a, result a, debug",
            "    result a, values in a, checkpoint 1, debug checkpoint 1, task b, debug task",
            "    b, custom b, updates b, result b, debug result b, values in a b, checkpoint",
            "    2, debug checkpoint 2",
        ],
    ),
    "all modes in any order": (
        line(stream(*reversed(MODES)), saver=True),
        [
            "stream checkpoint -1, debug checkpoint -1, values in, checkpoint 0, debug",
            "    checkpoint 0, task a, debug task a, custom a, updates a, result a, debug",
            "    result a, values in a, checkpoint 1, debug checkpoint 1, task b, debug task",
            "    b, custom b, updates b, result b, debug result b, values in a b, checkpoint",
            "    2, debug checkpoint 2",
        ],
    ),
    "all modes in version 2": (
        line(stream(*MODES, version="v2"), saver=True),
        [
            "stream checkpoint -1, debug checkpoint -1, values in, checkpoint 0, debug",
            "    checkpoint 0, task a, debug task a, custom a, updates a, result a, debug",
            "    result a, values in a, checkpoint 1, debug checkpoint 1, task b, debug task",
            "    b, custom b, updates b, result b, debug result b, values in a b, checkpoint",
            "    2, debug checkpoint 2",
        ],
    ),
    "all modes at once, asynchronously": (
        line(stream(*MODES, asynchronous=True), stream(*MODES, version="v2", asynchronous=True)),
        [
            "stream values in, task a, debug task a, custom a, updates a, result a, debug",
            "    result a, values in a, task b, debug task b, custom b, updates b, result b,",
            "    debug result b, values in a b",
            "stream values in, task a, debug task a, custom a, updates a, result a, debug",
            "    result a, values in a, task b, debug task b, custom b, updates b, result b,",
            "    debug result b, values in a b",
        ],
    ),
    "two modes": (
        line(stream("updates", "custom"), stream("tasks", "values"), stream("values", "tasks")),
        [
            "stream custom a, updates a, custom b, updates b",
            "stream values in, task a, result a, values in a, task b, result b, values in a b",
            "stream values in, task a, result a, values in a, task b, result b, values in a b",
        ],
    ),
    "invoke with modes returns what is told": (
        line(
            *(Call("invoke", input={"log": ["in"]}, modes=mode) for mode in ("values", "updates")),
            Call("invoke", input={"log": ["in"]}, modes=("values",)),
            Call("invoke", input={"log": ["in"]}, modes=("tasks", "custom")),
        ),
        [
            "invoke in a b",
            "invoke updates a, updates b",
            "invoke values in, values in a, values in a b",
            "invoke task a, custom a, result a, task b, custom b, result b",
        ],
    ),
    "invoke in version 2 returns an object": (
        line(
            Call("invoke", input={"log": ["in"]}, version="v2"),
            Call("invoke", input={"log": ["in"]}, version="v2", modes="values"),
            Call("invoke", input={"log": ["in"]}, version="v2", modes="updates"),
            Call("invoke", input={"log": ["in"]}, version="v2", modes=("values", "updates")),
        ),
        [
            "invoke GraphOutput in a b",
            "invoke GraphOutput in a b",
            "invoke updates a, updates b",
            "invoke values in, updates a, values in a, updates b, values in a b",
        ],
    ),
    "what is told may be printed as well": (
        line(
            stream(modes="tasks", prints="values"),
            stream("custom", "values", prints="updates", version="v2", asynchronous=True),
            Call("invoke", input={"log": ["in"]}, prints="values", output_keys="log"),
        ),
        [
            "stream task a, result a, task b, result b",
            "stream values in, custom a, values in a, custom b, values in a b",
            "invoke in a b",
        ],
    ),
    "output keys in a list": (
        line(
            stream("values", "updates", "tasks", "checkpoints", output_keys=("last",)),
            stream("values", output_keys=("log", "last")),
            Call("invoke", input={"log": ["in"]}, output_keys=("last",)),
            keys=(LOG, Key("last", "last")),
            nodes=(node("a", NAME, Write("last", "value", 1)), node("b")),
            saver=True,
        ),
        [
            "stream checkpoint -1, checkpoint 0, task a, updates a, result a, values nothing,",
            "    checkpoint 1, task b, updates b, result b, checkpoint 2",
            "stream values in a b in, values in a b in a, values in a b in a b",
            "invoke nothing",
        ],
    ),
    "output keys narrow the results of finished tasks": (
        graph(
            ">a >bad",
            keys=(LOG, Key("last", "last")),
            nodes=(
                node("a", NAME, Write("last", "value", 1)),
                node("bad", fails=(1, 2, 3, 4)),
            ),
            calls=(
                start,
                stream("checkpoints", "updates", input=None, output_keys="log"),
                stream("checkpoints", "updates", input=None, output_keys=("last",)),
                stream("checkpoints", "updates", input=None),
                stream("checkpoints", "updates", input=None, version="v2"),
            ),
        ),
        [
            "invoke raises ValueError",
            "stream checkpoint 0, updates a again and raises ValueError",
            "stream checkpoint 0, updates a again and raises ValueError",
            "stream checkpoint 0, updates a again and raises ValueError",
            "stream checkpoint 0, updates a again, updates bad, checkpoint 1",
        ],
    ),
    "one output key is shown bare": (
        line(
            stream("values", "updates", "tasks", "debug", output_keys="log"),
            Call("invoke", input={"log": ["in"]}, output_keys="log"),
            Call("invoke", input={"log": ["in"]}, output_keys="log", version="v2"),
            saver=True,
        ),
        [
            "stream debug checkpoint -1, values in, debug checkpoint 0, task a, debug task a,",
            "    updates a, result a, debug result a, values in a, debug checkpoint 1, task",
            "    b, debug task b, updates b, result b, debug result b, values in a b, debug",
            "    checkpoint 2",
            "invoke in a b in a b",
            "invoke GraphOutput in a b in a b in a b",
        ],
    ),
    "a task that fails has a result": (
        graph(
            ">a >bad",
            nodes=(node("a"), node("bad", tells="get", fails=(1,))),
            calls=(stream(*MODES), state, stream(*MODES, input=None)),
        ),
        [
            "stream checkpoint -1, debug checkpoint -1, values in, checkpoint 0, debug",
            "    checkpoint 0, task a, debug task a, task bad, debug task bad, updates a,",
            "    result a, debug result a, custom bad, result bad, debug result bad and",
            "    raises ValueError",
            "state in a > bad",
            "stream values in, checkpoint 0, debug checkpoint 0, task a, debug task a, task",
            "    bad, debug task bad, updates a again, custom bad, updates bad, result bad,",
            "    debug result bad, values in a bad, checkpoint 1, debug checkpoint 1",
        ],
    ),
    "two tasks that fail in one super-step": (
        graph(
            ">a >b",
            nodes=(node("a", fails=(1,)), node("b", fails=(1,))),
            calls=(stream("tasks"), stream("tasks", "debug", input=None)),
        ),
        [
            "stream task a, task b, result a and raises ValueError",
            "stream debug checkpoint 0, task a, debug task a, task b, debug task b, result a,",
            "    debug result a, result b, debug result b, debug checkpoint 1",
        ],
    ),
    "what finished is told again": (
        graph(
            ">a >bad >quiet a>c",
            nodes=(node("bad", fails=(1,)), node("quiet", returns="none")),
            calls=(start, stream("updates", "tasks", "custom", "checkpoints", input=None)),
        ),
        [
            "invoke raises ValueError",
            "stream checkpoint 0, task a, task bad, task quiet, updates a again, updates",
            "    quiet again, updates bad, result bad, checkpoint 1, task c, updates c,",
            "    result c, checkpoint 2",
        ],
    ),
    "a super-step that cannot be applied is told as far as it got": (
        graph(
            ">a >b",
            keys=(LOG, Key("last", "last")),
            nodes=(node("a", Write("last", "run")), node("b", Write("last", "run"))),
            calls=(stream(*MODES),),
        ),
        [
            "stream checkpoint -1, debug checkpoint -1, values in, checkpoint 0, debug",
            "    checkpoint 0, task a, debug task a, task b, debug task b, updates a, result",
            "    a, debug result a, updates b, result b, debug result b and raises",
            "    InvalidUpdateError",
        ],
    ),
    "the limit ends what is told": (
        graph(">a a>a", recursion_limit=2, calls=(stream(*MODES),)),
        [
            "stream checkpoint -1, debug checkpoint -1, values in, checkpoint 0, debug",
            "    checkpoint 0, task a, debug task a, updates a, result a, debug result a,",
            "    values in a, checkpoint 1, debug checkpoint 1, task a, debug task a, updates",
            "    a, result a, debug result a, values in a a, checkpoint 2, debug checkpoint 2",
            "    and raises GraphRecursionError",
        ],
    ),
    "sends are tasks too": (
        graph(
            "w>z",
            nodes=(node("w", tells="writer"), node("z")),
            branches=(Branch(START, (("send:w", "send:w", "w"),)),),
            calls=(stream(*MODES),),
        ),
        [
            "stream checkpoint -1, debug checkpoint -1, values in, checkpoint 0, debug",
            "    checkpoint 0, task w, debug task w, task w, debug task w, task w, debug task",
            "    w, custom w, custom w, custom w, debug result w, debug result w, debug",
            "    result w, result w, result w, result w, updates w, updates w, updates w,",
            "    values in w w.0 w.1, checkpoint 1, debug checkpoint 1, task z, debug task z,",
            "    updates z, result z, debug result z, values in w w.0 w.1 z, checkpoint 2,",
            "    debug checkpoint 2",
        ],
    ),
    "joins and deferred nodes have their triggers": (
        graph(
            ">a >b a+b>c a>d",
            nodes=(node("d", defer=True, metadata=True),),
            calls=(stream("tasks", run_id="r"),),
        ),
        ["stream task a, task b, result a, result b, task c, result c, task d, result d"],
    ),
    "a replay and a fork are told": (
        graph(
            ">a a>b",
            calls=(
                start,
                stream(*MODES, input=None, at=1),
                update("u", as_node="a"),
                stream(*MODES, input=None, at="updated"),
                resume_at(0),
            ),
        ),
        [
            "invoke in a b",
            "stream values in a, checkpoint 2, debug checkpoint 2, task b, debug task b,",
            "    updates b, result b, debug result b, values in a b, checkpoint 3, debug",
            "    checkpoint 3",
            "update",
            "stream values in a b u, checkpoint 4, debug checkpoint 4, task b, debug task b,",
            "    updates b, result b, debug result b, values in a b u b, checkpoint 5, debug",
            "    checkpoint 5",
            "invoke in a b u b",
        ],
    ),
    "nothing to tell": (
        line(start, stream(*MODES, input=None), stream(*MODES, input=5), saver=True),
        [
            "invoke in a b",
            "stream values in a b, checkpoint 2, debug checkpoint 2",
            "stream checkpoint 3, debug checkpoint 3 and raises InvalidUpdateError",
        ],
    ),
    "hidden nodes and unknown channels are not told": (
        graph(
            ">a",
            keys=(LOG, Key("topic", "topic")),
            nodes=(node("a", NAME, Write("topic", "name"), Write("unknown", "value", 1)),),
            calls=(stream(*MODES),),
        ),
        [
            "stream checkpoint -1, debug checkpoint -1, values in, checkpoint 0, debug",
            "    checkpoint 0, task a, debug task a, updates a, result a, debug result a,",
            "    values in a, checkpoint 1, debug checkpoint 1",
        ],
    ),
    "an empty result": (
        graph(
            ">a >b",
            keys=(LOG, Key("last", "last")),
            nodes=(node("a", Write("last", "value", 0)), node("b", asks=1)),
            calls=(start, stream("checkpoints", input=None, output_keys="last")),
        ),
        [
            "invoke in b?0",
            "stream checkpoint 0",
        ],
    ),
}
