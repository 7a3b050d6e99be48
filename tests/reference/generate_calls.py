"""The calls of a scenario, drawn by hypothesis: what a user may do to a thread in any state.

Some come in pairs, since one prepares what the other one needs. Where nodes ask, they mostly get an
answer; where nodes are graphs, their namespaces are looked at, edited, and run from.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .chance import often, one_of, rarely, seldom, sometimes
from .scenario import END, MODES, ROOT, START, UNKNOWN, UPDATED, Call, Command, Key

INPUTS: dict[str, list[Any]] = {
    "list": [["in"], [], {"__overwrite__": ["new"]}],
    "last": [0, 1],
    "sum": [1, {"__overwrite__": 7}],
    "added": [["in"], {"__overwrite__": ["new"]}],
    "topic": ["in", ["in", "put"]],
}
ODD_INPUTS = [5, {"log": 5}, {"unknown": 1}, {"last": None}]

ANSWERS = (*("yes", "no") * 6, *(0, False, "", {"k": 1}, ["l"]) * 2, {})


class Script:
    """Draws calls.

    `names` are the nodes, and `send_to` those that a user may send to: no graphs, since these could
    run twice at once. `asks` says whether nodes ask; `inside` are the names of
    nodes in graphs.
    """

    def __init__(
        self,
        draw: st.DrawFn,
        keys: list[Key],
        names: list[str],
        send_to: list[str],
        odd: bool,
        asks: bool,
        inside: list[str],
    ) -> None:
        self.draw, self.keys, self.names, self.odd = draw, keys, names, odd
        self.send_to, self.inside = send_to, inside
        self.calls: list[Call] = []
        start = "update" if draw(rarely) else "resume" if draw(rarely) else "start"
        start = "command" if draw(rarely) and draw(sometimes) else start
        deeds = ["resume", "resume", "start", "start", "replay", "replay", "fork", "fork"]
        deeds += ["update", "update", "start_there", "start_there", "look", "look", "command"]
        if asks:
            deeds += ["answer"] * 5 + ["answer_by_id"] * 3 + ["answer_there"]
        elif draw(seldom):
            deeds += ["answer", "answer_by_id"]
        if inside:
            deeds += ["look_inside"] * 8 + ["fork_inside"] * 5 + ["run_inside"] * 3
            deeds += ["look", "command"]
        length = 8 if inside else 6 if asks else 5
        for deed in [start, *draw(st.lists(st.sampled_from(deeds), max_size=length))]:
            getattr(self, deed)()
        self.calls += [Call("state"), Call("history")]

    # ------------------------------------------------------------ runs

    def start(self) -> None:
        self.run(self.input())

    def resume(self) -> None:
        self.run(None)

    def replay(self) -> None:
        self.run(None, at=self.address())

    def start_there(self) -> None:
        self.run(self.input(), at=self.address())

    def fork(self) -> None:
        self.update()
        self.run(None, at=UPDATED)

    def answer(self) -> None:
        self.run(command=Command(resume=self.draw(one_of(*ANSWERS))))

    def answer_there(self) -> None:
        deed = self.draw(one_of(self.some_answers, self.one_answer))
        self.run(command=deed(), at=self.draw(one_of(0, 0, 1, UPDATED)))

    def answer_by_id(self) -> None:
        self.run(command=self.some_answers())

    def one_answer(self) -> Command:
        return Command(resume=self.draw(one_of(*ANSWERS)))

    def some_answers(self) -> Command:
        which = one_of("0", "0", "1", "2", *["unknown"] * self.draw(seldom))
        chosen = self.draw(st.lists(which, unique=True, min_size=1, max_size=3))
        return Command(answers={each: self.draw(one_of(*ANSWERS)) for each in chosen})

    def command(self) -> None:
        """A `Command` with an update or targets, or with an answer and an update.

        No answer beside targets: in the reference whoever asks first gets it, and of parallel nodes
        that may be any.
        """
        targets = [*self.names, *(f"send:{name}" for name in self.send_to * 2)]
        targets += ["unknown"] * 3 * self.odd
        whole = self.keys[0].name == ROOT  # an update has keys
        update = None if whole or self.draw(sometimes) else self.input()
        targets += [END]
        some = st.lists(st.sampled_from(targets), unique=True, min_size=not update, max_size=2)
        answers = self.draw(sometimes)
        goto = [] if answers else self.draw(some)
        self.run(
            command=Command(
                resume=self.draw(one_of(*ANSWERS)) if answers else None,
                update=update,
                goto=tuple(goto),
                to_parent=self.draw(rarely),
            ),
            at=self.address() if self.draw(often) else None,
        )

    # ------------------------------------------------------------ looks and edits

    def update(self) -> None:
        reserved = [START, END, "__input__", "__copy__"] + ["unknown"] * 9 * self.odd
        roles: list[Any] = [[None], [None], self.names, self.names, *([name] for name in reserved)]
        nodes = self.draw(st.sampled_from(roles))
        as_node = self.draw(st.sampled_from(nodes))
        values = None if as_node in (END, "__copy__") or self.draw(rarely) else self.input()
        self.calls.append(Call("update", input=values, as_node=as_node, at=self.address()))
        if self.draw(sometimes):
            self.state()

    def look(self) -> None:
        history = self.history(self.address(), None)
        self.draw(one_of(self.state, lambda: self.calls.append(history)))()

    def state(self, at: int | str | None = None, inside: int | None = None) -> None:
        subgraphs = bool(self.inside) and self.draw(often)
        self.calls.append(Call("state", at=at, inside=inside, subgraphs=subgraphs))

    def history(self, at: int | str | None, inside: int | None) -> Call:
        where = one_of(None, {"source": "loop"}, {"step": 1}, {"source": "update", "step": 2})
        return Call(
            "history",
            at=at,
            inside=inside,
            where=self.draw(where),
            limit=self.draw(one_of(None, 1, 2)),
            before=self.draw(one_of(None, 0, 1, 3)),
        )

    # ------------------------------------------------------------ graphs in nodes

    def look_inside(self) -> None:
        at, inside = self.place_inside()
        if self.draw(one_of(True, False)):
            self.state(at, inside)
        else:
            self.calls.append(self.history(at, inside))

    def fork_inside(self) -> None:
        """An update of a graph in a node; then the thread goes on, or runs from there."""
        at, inside = self.place_inside()
        role: str | None = self.draw(st.sampled_from([None, None, *self.inside]))
        self.calls.append(Call("update", input=self.input(), as_node=role, at=at, inside=inside))
        self.run(None, at=self.draw(one_of(UPDATED, UPDATED, None)))

    def run_inside(self) -> None:
        at, inside = self.place_inside()
        command = self.one_answer() if self.draw(sometimes) else None
        self.run(None, command=command, at=at, inside=inside)

    def place_inside(self) -> tuple[int | None, int]:
        at: int | None = self.draw(one_of(None, 0, 1, 2, 3))
        inside: int = self.draw(one_of(0, 0, 1, 2))
        return at, inside

    # ------------------------------------------------------------ parts

    def run(
        self,
        given: Any = None,
        command: Command | None = None,
        at: int | str | None = None,
        inside: int | None = None,
    ) -> None:
        op = self.draw(one_of("invoke", "stream", "stream", "stream"))
        stops = one_of((), "*", tuple(self.names[:1]), tuple(self.names[-1:]))
        self.calls.append(
            Call(
                op,
                input=given,
                command=command,
                at=at,
                inside=inside,
                subgraphs=op == "stream" and bool(self.inside) and self.draw(often),
                stop_before=self.draw(stops) if self.draw(rarely) else None,
                stop_after=self.draw(stops) if self.draw(rarely) else None,
                modes=self.modes(),
                version="v2" if self.draw(sometimes) else "v1",
                output_keys=self.output_keys() if self.draw(sometimes) else None,
                prints=self.draw(one_of("", "", "", "", "values", "updates")),
                recursion_limit=self.draw(one_of(1, 2, 4)) if self.draw(rarely) else None,
                run_id="r" if self.draw(sometimes) else None,
            )
        )

    def modes(self) -> str | tuple[str, ...] | None:
        """None in particular, one, one in a list, or some."""
        some = st.lists(st.sampled_from(MODES), unique=True, min_size=2, max_size=len(MODES))
        one = st.sampled_from(MODES)
        way = self.draw(
            one_of("default", "one", "one", "list of one", "list of one", "some", "some")
        )
        if way == "default":
            return None
        if way == "some":
            return tuple(self.draw(some))
        return self.draw(one) if way == "one" else (self.draw(one),)

    def output_keys(self) -> str | tuple[str, ...]:
        names = [key.name for key in self.keys]
        if names == [ROOT] or self.draw(often):
            return str(self.draw(st.sampled_from(names)))
        return tuple(self.draw(st.lists(st.sampled_from(names), unique=True, min_size=1)))

    def input(self) -> Any:
        if self.odd and self.draw(sometimes):
            return self.draw(st.sampled_from(ODD_INPUTS))
        some = self.draw(st.lists(st.sampled_from(self.keys), unique=True, max_size=3))
        given = {key.name: self.draw(self.values(key)) for key in some}
        if self.keys[0].name == ROOT:
            return given.get(ROOT, self.draw(self.values(self.keys[0])))
        return self.draw(one_of({"log": ["in"]}, given))

    def values(self, key: Key) -> st.SearchStrategy[Any]:
        given = INPUTS.get(key.kind, ["in"])
        if key.name == ROOT:  # a dict that is all of the state is edited by the reference
            given = [value for value in given if not isinstance(value, dict)]
        return st.sampled_from(given)

    def address(self) -> int | str | None:
        if self.odd and self.draw(sometimes):
            return UNKNOWN
        at: int | str | None = self.draw(one_of(None, 0, 1, 2, 3, 4, 5, UPDATED))
        return at
