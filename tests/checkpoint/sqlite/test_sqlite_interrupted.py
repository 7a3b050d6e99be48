"""Files of threads that wait for people, and of graphs in graphs, go both ways.

What can be promised, as observed. The records are the same: checkpoints of all namespaces, their
parents and metadata, what is written beside them, and so the histories. And every thread goes on
at the boundary of a super-step. But a task's id is a hash, and each package has its own. So the
other one does not know the tasks of an *open* super-step, nor what they have asked, and they run
again, and ask anew:

    in the root graph              the node that asked
    checkpointer=True              the node that asked: its namespace has no ids in it, so it is
                                   found, with all that has been finished inside
    checkpointer=None, or False    the inner graph from its beginning, as a new task

What is asked anew is answered by the new ids. (One plain answer is enough for minigraph; for the
reference the question in the file is one that waits, too.)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import langgraph.checkpoint.sqlite as their_sqlite
import langgraph.graph as their_graph
import langgraph.types as their_types
import pytest
from typing_extensions import TypedDict

import minigraph.checkpoint.sqlite as our_sqlite
import minigraph.graph as our_graph
import minigraph.types as our_types

OURS = SimpleNamespace(
    name="minigraph", graph=our_graph, types=our_types, Saver=our_sqlite.SqliteSaver
)
THEIRS = SimpleNamespace(
    name="langgraph", graph=their_graph, types=their_types, Saver=their_sqlite.SqliteSaver
)

CONFIG: Any = {"configurable": {"thread_id": "t"}}
ANSWERS = {"a?": "A", "b?": "B"}

pytestmark = pytest.mark.filterwarnings("ignore")  # the reference's

OTHER = [(OURS, THEIRS), (THEIRS, OURS)]
BOTH = [*OTHER, (OURS, OURS), (THEIRS, THEIRS)]
"""Writers and readers. The last two are what the first two are measured by."""

KINDS = ["root", "inherit", "own", "none", "two levels", "two levels, own"]


def each(pairs: Any, kinds: Any = KINDS, answers: int | None = None) -> Any:
    """A case for each pair and kind.

    `answers`: which of the pair has to answer both questions. The reference cannot do that in a
    graph that keeps nothing: with each answer it starts over, and asks one of them again.
    """
    return pytest.mark.parametrize(
        ("writer", "reader", "kind"),
        [
            pytest.param(*pair, kind, id=f"{pair[0].name}-{pair[1].name}-{kind}")
            for pair in pairs
            for kind in kinds
            if answers is None or kind != "none" or pair[answers] is OURS
        ],
    )


both_ways = pytest.mark.parametrize(("writer", "reader"), BOTH, ids=lambda package: package.name)


class State(TypedDict, total=False):
    values: list[Any]


class Thread:
    """A graph in which a, and then b, ask; on its thread.

    `kind` says where they are. `ran` is what has run, since the file was opened here.
    """

    def __init__(self, package: Any, saver: Any, kind: str) -> None:
        self.package = package
        self.saver = saver
        self.ran: list[str] = []
        builder = self.builder()
        for name in "ab":
            builder.add_node(name, self.asking(name))
        builder.add_edge("__start__", "a")
        builder.add_edge("a", "b")
        memory: Any = True if kind.endswith("own") else False if kind == "none" else None
        match kind:
            case "root":
                self.graph = builder.compile(checkpointer=saver)
            case "inherit" | "own" | "none":
                self.graph = self.around("sub", builder.compile(checkpointer=memory), saver)
            case _:
                middle = self.around("middle", builder.compile(checkpointer=memory), memory)
                self.graph = self.around("sub", middle, saver)

    def builder(self) -> Any:
        return self.package.graph.StateGraph(State)

    def around(self, name: str, inner: Any, saver: Any) -> Any:
        builder = self.builder()
        builder.add_node(name, inner)
        builder.add_edge("__start__", name)
        return builder.compile(checkpointer=saver)

    def asking(self, name: str) -> Callable[[State], Any]:
        def node(state: State) -> Any:
            self.ran.append(name)
            answer = self.package.types.interrupt(f"{name}?")
            return {"values": [*state.get("values", []), f"{name}:{answer}"]}

        return node

    def answer(self, answer: Any, config: Any = CONFIG) -> Any:
        return self.graph.invoke(self.package.types.Command(resume=answer), config)

    def asked(self, result: Any) -> dict[str, str]:
        """The questions of a result: what is asked, and the id."""
        return {each.value: each.id for each in result.get("__interrupt__", ())}

    def to_the_end(self, result: Any) -> Any:
        """Answer what is asked, by its id, until nobody asks any more."""
        for _ in range(4):
            if not (asked := self.asked(result)):
                return result
            result = self.answer({id: ANSWERS[question] for question, id in asked.items()})
        raise AssertionError(f"still asking: {result}")

    def history(self, namespace: str = "") -> list[Any]:
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": namespace}}
        return [
            (state.values, dict(state.metadata), state.config, state.parent_config)
            for state in self.graph.get_state_history(config)
        ]


def asked(thread: Thread) -> None:
    thread.graph.invoke({"values": ["in"]}, CONFIG)


def answered(thread: Thread) -> None:
    asked(thread)
    thread.answer("A")


def ended(thread: Thread) -> None:
    answered(thread)
    thread.answer("B")


def ended_and_asked(thread: Thread) -> None:
    ended(thread)
    asked(thread)


STORIES = [asked, answered, ended, ended_and_asked]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "threads.db")


@contextmanager
def opened(package: Any, path: str, kind: str) -> Iterator[Thread]:
    with package.Saver.from_conn_string(path) as saver:
        yield Thread(package, saver, kind)


def plain(value: Any) -> Any:
    """Records of questions as plain data: each package gives its own class."""
    if type(value).__name__ == "Interrupt":
        return ("question", value.value, value.id)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def records(thread: Thread) -> list[Any]:
    """All that is stored, of all namespaces."""
    return [
        (
            found.config,
            found.checkpoint,
            found.metadata,
            found.parent_config,
            sorted(plain(found.pending_writes), key=repr),
        )
        for found in thread.saver.list(CONFIG)
    ]


def namespaces(thread: Thread) -> list[str]:
    found = thread.saver.list(CONFIG)
    return sorted({record.config["configurable"]["checkpoint_ns"] for record in found})


@each(OTHER)
@pytest.mark.parametrize("story", STORIES)
def test_the_same_records(path: str, writer: Any, reader: Any, story: Any, kind: str) -> None:
    """SV-30, SB-01, IN-06, IN-33: every namespace, with its questions and answers, and the same
    histories, also those of the graphs inside."""
    with opened(writer, path, kind) as thread:
        story(thread)
        stored, places = records(thread), namespaces(thread)
        histories = [thread.history(place) for place in places]
    with opened(reader, path, kind) as thread:
        assert records(thread) == stored
        assert namespaces(thread) == places
        assert [thread.history(place) for place in places] == histories
    levels = {"root": 1, "none": 1, "inherit": 2, "own": 2, "two levels": 3, "two levels, own": 3}
    turns = 2 if story is ended_and_asked and kind in ("inherit", "two levels") else 1
    assert len(places) == 1 + turns * (levels[kind] - 1)
    assert all(len(history) >= 2 for history in histories)


@each(BOTH, answers=1)
def test_at_the_first_question(path: str, writer: Any, reader: Any, kind: str) -> None:
    """SB-20, IN-36: it is asked anew, and all is answered; the writer reads the same at the end."""
    with opened(writer, path, kind) as thread:
        asked(thread)
    with opened(reader, path, kind) as thread:
        result = thread.graph.invoke(None, CONFIG)
        assert ([*thread.asked(result)], thread.ran) == (["a?"], ["a"])
        result = thread.to_the_end(result)
        assert result == {"values": ["in", "a:A", "b:B"]}
        assert thread.graph.get_state(CONFIG).next == ()
        stored = records(thread)
    with opened(writer, path, kind) as thread:
        assert records(thread) == stored
        assert thread.graph.get_state(CONFIG).values == result


@each(BOTH, ["root", "own", "two levels, own"])
def test_at_the_second_question(path: str, writer: Any, reader: Any, kind: str) -> None:
    """SB-21: at the node that asked, where that is found; what was finished is not done again.
    A plain answer goes to whoever asks first."""
    with opened(writer, path, kind) as thread:
        answered(thread)
    with opened(reader, path, kind) as thread:
        assert thread.answer("B") == {"values": ["in", "a:A", "b:B"]}
        assert thread.ran == ["b"]


@each(OTHER, ["inherit", "none", "two levels"], answers=1)
def test_at_the_second_question_in_a_new_task(
    path: str, writer: Any, reader: Any, kind: str
) -> None:
    """SS-31: the inner graph begins again, in another namespace; it asks what it has to ask."""
    with opened(writer, path, kind) as thread:
        answered(thread)
        places = namespaces(thread)
    with opened(reader, path, kind) as thread:
        result = thread.to_the_end(thread.graph.invoke(None, CONFIG))
        assert result == {"values": ["in", "a:A", "b:B"]}
        assert thread.ran[0] == "a"
        assert len(namespaces(thread)) == 2 * len(places) - 1


@each(OTHER, answers=0)
@pytest.mark.parametrize("story", STORIES)
def test_a_new_input(path: str, writer: Any, reader: Any, story: Any, kind: str) -> None:
    """CP-50, CP-51: whatever waits is given up; and the writer goes on with what the reader did."""
    with opened(writer, path, kind) as thread:
        story(thread)
    with opened(reader, path, kind) as thread:
        assert [*thread.asked(thread.graph.invoke({"values": ["new"]}, CONFIG))] == ["a?"]
        assert thread.ran == ["a"]
    with opened(writer, path, kind) as thread:
        assert thread.to_the_end(thread.graph.invoke({"values": ["newest"]}, CONFIG)) == {
            "values": ["newest", "a:A", "b:B"]
        }


@each(BOTH, answers=1)
def test_back_in_time(path: str, writer: Any, reader: Any, kind: str) -> None:
    """TT-20, TT-30: a replay of the other package's thread asks again, on a branch of its own."""
    with opened(writer, path, kind) as thread:
        (asked if kind == "none" else ended)(thread)
        stored = records(thread)
    with opened(reader, path, kind) as thread:
        name = "a" if kind == "root" else "sub"
        there = [s for s in thread.graph.get_state_history(CONFIG) if s.next == (name,)][-1]
        result = thread.graph.invoke(None, there.config)
        assert [*thread.asked(result)] == ["a?"]
        assert thread.to_the_end(result) == {"values": ["in", "a:A", "b:B"]}
        # Where nothing is kept, all is done again, with the answers of before.
        assert thread.ran == (["a", "a", "b", "a", "b"] if kind == "none" else ["a", "a", "b", "b"])
        known = [record[0] for record in stored]
        assert [record for record in records(thread) if record[0] in known] == stored


@each(BOTH, ["own", "two levels, own"])
def test_an_update_inside(path: str, writer: Any, reader: Any, kind: str) -> None:
    """SB-32, SB-33: in a memory that the other package has written."""
    with opened(writer, path, kind) as thread:
        asked(thread)
        namespace = namespaces(thread)[-1]
        assert namespace == ("sub" if kind == "own" else "sub|middle")
    place: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": namespace}}
    with opened(reader, path, kind) as thread:
        assert thread.graph.get_state(place).next == ("a",)
        thread.graph.update_state(place, {"values": ["given"]}, as_node="a")
        assert [*thread.asked(thread.graph.invoke(None, CONFIG))] == ["b?"]
    with opened(writer, path, kind) as thread:
        assert thread.graph.get_state(place).values == {"values": ["given"]}


@both_ways
def test_a_memory_goes_on(path: str, writer: Any, reader: Any) -> None:
    """SB-12: turn by turn, whoever takes it."""

    class Counted(TypedDict, total=False):
        seen: Annotated[list[int], operator.add]

    def graph(package: Any, saver: Any) -> Any:
        inner = package.graph.StateGraph(Counted)
        inner.add_node("count", lambda state: {"seen": [len(state["seen"])]})
        inner.add_edge("__start__", "count")
        memory = inner.compile(checkpointer=True)
        builder = package.graph.StateGraph(State)
        builder.add_node("call", lambda state: {"values": memory.invoke({"seen": []})["seen"]})
        builder.add_edge("__start__", "call")
        return builder.compile(checkpointer=saver)

    for turn, package in enumerate([writer, reader, writer, reader, reader]):
        with package.Saver.from_conn_string(path) as saver:
            found = graph(package, saver).invoke({"values": []}, CONFIG)
            assert found == {"values": [*range(turn + 1)]}


@both_ways
def test_sends_that_ask(path: str, writer: Any, reader: Any) -> None:
    """CS-36, SD-15: as many as were sent, with their arguments."""

    class Many(TypedDict, total=False):
        log: Annotated[list[Any], operator.add]

    def graph(package: Any, saver: Any) -> Any:
        builder = package.graph.StateGraph(Many)
        builder.add_node("ask", lambda n: {"log": [(n, package.types.interrupt(n))]})
        builder.add_conditional_edges(
            "__start__", lambda state: [package.types.Send("ask", n) for n in (1, 2)], ["ask"]
        )
        return builder.compile(checkpointer=saver)

    with writer.Saver.from_conn_string(path) as saver:
        graph(writer, saver).invoke({"log": []}, CONFIG)
    with reader.Saver.from_conn_string(path) as saver:
        reading = graph(reader, saver)
        assert reading.get_state(CONFIG).next == ("ask", "ask")
        asked = reading.invoke(None, CONFIG)["__interrupt__"]
        assert sorted(each.value for each in asked) == [1, 2]
        answers = {each.id: each.value * 10 for each in asked}
        result = reading.invoke(reader.types.Command(resume=answers), CONFIG)
    assert result == {"log": [(1, 10), (2, 20)]}


@pytest.mark.parametrize("when", ["question", "end"])
@both_ways
def test_what_a_command_has_written(path: str, writer: Any, reader: Any, when: str) -> None:
    """CS-10, CS-11: it is nobody's, so it needs no task to be known by."""
    with opened(writer, path, "root") as thread:
        (asked if when == "question" else ended)(thread)
        thread.graph.invoke(writer.types.Command(update={"values": ["update"]}), CONFIG)
        assert thread.graph.get_state(CONFIG).values == {"values": ["update"]}
    with opened(reader, path, "root") as thread:
        assert thread.graph.get_state(CONFIG).values == {"values": ["update"]}
        result = thread.to_the_end(thread.graph.invoke(None, CONFIG))
        rest = ["a:A", "b:B"] if when == "question" else []
        assert result == {"values": ["update", *rest]}
