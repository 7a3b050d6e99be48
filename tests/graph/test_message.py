"""Messages: the reducer, its twin for a `DeltaChannel`, and graphs that talk."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from operator import add
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import TypedDict

import minigraph.graph
from minigraph.channels import BinaryOperatorAggregate, DeltaChannel, LastValue
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.graph import START, MessagesState, StateGraph, add_messages
from minigraph.graph.compile import preparations_of
from minigraph.graph.message import (
    REMOVE_ALL_MESSAGES,
    RemoveMessage,
    _messages_delta_reducer,
    messages_delta_reducer,
    prepare,
)
from minigraph.types import Command, Overwrite

CONFIG: Any = {"configurable": {"thread_id": "t"}}

pytestmark = pytest.mark.usefixtures("without_langchain")  # but for those who bring it back


NAME = "langchain_core.messages"
LANGCHAIN: Any = None
with suppress(ImportError):
    LANGCHAIN = importlib.import_module(NAME)


@contextmanager
def program(*, with_langchain: bool) -> Iterator[Any]:
    """A program that has imported langchain-core's messages, or one that has not."""
    if with_langchain and LANGCHAIN is None:
        pytest.skip("langchain-core is not installed")
    with pytest.MonkeyPatch.context() as patch:
        if with_langchain:
            patch.setitem(sys.modules, NAME, LANGCHAIN)
        else:
            patch.delitem(sys.modules, NAME, raising=False)
        yield LANGCHAIN


@pytest.fixture
def langchain(without_langchain: None) -> Iterator[Any]:
    with program(with_langchain=True) as messages:
        yield messages


def user(content: str, id: str | None = None) -> dict[str, Any]:
    return {"role": "user", "content": content} | ({} if id is None else {"id": id})


def bot(content: str, id: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content} | ({} if id is None else {"id": id})


def without_id(message: dict[str, Any]) -> dict[str, Any]:
    """And it had one, as `uuid4` makes them."""
    assert UUID(message["id"]).version == 4
    return {key: value for key, value in message.items() if key != "id"}


# ---------------------------------------------------------------- the reducer


class TestAddMessages:
    def test_new_ones_go_to_the_end(self) -> None:
        """SG-80."""
        assert add_messages([user("a", "1")], [bot("b", "2"), user("c", "3")]) == [
            user("a", "1"),
            bot("b", "2"),
            user("c", "3"),
        ]

    def test_a_known_id_takes_the_place(self) -> None:
        """SG-80: and of two in one write, the later one."""
        talk = [user("a", "1"), bot("b", "2"), user("c", "3")]

        assert add_messages(talk, [bot("B", "2"), user("d", "4"), user("D", "4")]) == [
            user("a", "1"),
            bot("B", "2"),
            user("c", "3"),
            user("D", "4"),
        ]

    def test_removal(self) -> None:
        """SG-80."""
        talk = [user("a", "1"), bot("b", "2"), user("c", "3")]

        assert add_messages(talk, [RemoveMessage("2")]) == [user("a", "1"), user("c", "3")]
        assert add_messages(talk, RemoveMessage(id="1")) == [bot("b", "2"), user("c", "3")]
        assert add_messages(talk, {"role": "remove", "id": "3"}) == [user("a", "1"), bot("b", "2")]
        assert add_messages(talk, {"type": "remove", "id": "3"}) == [user("a", "1"), bot("b", "2")]

    def test_removal_in_the_order_of_the_write(self) -> None:
        """SG-80: who is removed and comes again in one write, keeps the place."""
        talk = [user("a", "1"), bot("b", "2")]

        assert add_messages(talk, [RemoveMessage("1"), user("A", "1")]) == [
            user("A", "1"),
            bot("b", "2"),
        ]
        assert add_messages(talk, [user("A", "1"), RemoveMessage("1")]) == [bot("b", "2")]
        assert add_messages(talk, [user("x", "9"), RemoveMessage("9")]) == talk
        assert add_messages(talk, [RemoveMessage("1"), RemoveMessage("1")]) == [bot("b", "2")]

    def test_removal_of_all(self) -> None:
        """SG-80: all that came before it, in the list and in the write."""
        talk = [user("a", "1"), bot("b", "2")]
        all = RemoveMessage(REMOVE_ALL_MESSAGES)

        assert REMOVE_ALL_MESSAGES == "__remove_all__"
        assert add_messages(talk, all) == []
        assert add_messages(talk, [user("x", "3"), all, user("c", "1")]) == [user("c", "1")]
        assert add_messages([], [all]) == []
        assert add_messages(talk, [RemoveMessage("9"), all]) == []
        # What comes behind it is taken as it always is.
        assert add_messages(
            talk, [all, user("x", "3"), all, user("c", "1"), user("C", "1"), user("d", "4")]
        ) == [user("C", "1"), user("d", "4")]
        assert add_messages(talk, [all, user("c", "3"), RemoveMessage("3")]) == []

    @pytest.mark.parametrize("id", ["9", None])
    def test_removal_of_nothing(self, id: Any) -> None:
        """SG-80: also of what has just been removed with all others."""
        message = "There is no message with the id "

        with pytest.raises(ValueError, match=f"^{message}{id!r} to remove.* among the 1 messages"):
            add_messages([user("a", "1")], [RemoveMessage(id)])
        with pytest.raises(ValueError, match=f"^{message}'1' to remove.* among the 0 messages"):
            add_messages([user("a", "1")], [RemoveMessage(REMOVE_ALL_MESSAGES), RemoveMessage("1")])

    def test_ids_are_given(self) -> None:
        """SG-81: to all who have none, on both sides; an empty one is one."""
        result = add_messages([user("a"), user("b", "")], [bot("c"), bot("d") | {"id": None}])

        assert [*map(without_id, (result[0], *result[2:]))] == [user("a"), bot("c"), bot("d")]
        assert result[1] == user("b", "")
        assert len({message["id"] for message in result}) == 4

    def test_arguments_are_left_as_they_are(self) -> None:
        """SG-81: also a message that is said again and again."""
        left, again = [user("a")], bot("Pardon?")
        copy = deepcopy((left, again))

        once = add_messages(left, again)
        twice = add_messages(once, again)

        assert (left, again) == copy
        assert [message["content"] for message in twice] == ["a", "Pardon?", "Pardon?"]
        assert once == twice[:2]

    @pytest.mark.parametrize(
        ("written", "message"),
        [
            ("hi", user("hi")),
            (("user", "hi"), user("hi")),
            (["human", "hi"], None),  # a list is of messages
            ([["human", "hi"]], user("hi")),
            (("ai", "yo"), bot("yo")),
            (("assistant", [{"type": "text", "text": "yo"}]), None),
            (("system", "be kind"), {"role": "system", "content": "be kind"}),
            ({"type": "human", "content": "hi"}, {"type": "human", "content": "hi"}),
            (
                {"role": "tool", "content": "7", "tool_call_id": "c", "more": [1]},
                {"role": "tool", "content": "7", "tool_call_id": "c", "more": [1]},
            ),
            ({"role": "assistant", "content": None}, {"role": "assistant", "content": None}),
        ],
    )
    def test_what_is_a_message(self, written: Any, message: Any) -> None:
        """SG-81: a dict stays what it is; the short forms become one."""
        result = [*map(without_id, add_messages([], written))]

        if written == ["human", "hi"]:
            assert result == [user("human"), user("hi")]
        elif message is None:
            assert result == [{"role": written[0], "content": written[1]}]
        else:
            assert result == [message]

    @pytest.mark.parametrize(
        ("written", "error", "words"),
        [
            (7, NotImplementedError, "but this is a int: 7"),
            ([None], NotImplementedError, "but this is a NoneType: None"),
            ((x for x in "ab"), NotImplementedError, "but this is a generator"),
            (("user", "a", "b"), NotImplementedError, "this one has 3 items"),
            ((user("a"), user("b")), NotImplementedError, "Several messages are a list"),
            (
                {"content": "hi"},
                ValueError,
                "'role' and a 'content', but this is {'content': 'hi'}",
            ),
            ({"role": "user"}, ValueError, "'role' and a 'content', but this is {'role': 'user'}"),
            ({"role": "usr", "content": "hi"}, ValueError, "is one of 'human', 'ai', 'user', "),
            (("usr", "hi"), ValueError, "but this is \\('usr', 'hi'\\)"),
            ({"role": 7, "content": "hi"}, ValueError, "The role of a message is one of"),
        ],
    )
    def test_what_is_no_message(self, written: Any, error: Any, words: str) -> None:
        """SG-81: on either side, and before it is stored."""
        with pytest.raises(error, match=words):
            prepare(written)
        with pytest.raises(error, match=words):
            add_messages(written, [])

    def test_one_side_alone(self) -> None:
        """SG-80."""
        with pytest.raises(ValueError, match="but the second is None"):
            add_messages([user("a")], None)
        with pytest.raises(ValueError, match="but the first is None"):
            add_messages(None, [user("a")])
        assert add_messages([], []) == []

    def test_without_sides_it_is_a_reducer(self) -> None:
        """SG-84."""
        assert add_messages()([user("a", "1")], user("b", "2")) == [user("a", "1"), user("b", "2")]

    def test_formats(self) -> None:
        """SG-84: only langchain-core knows it."""
        with pytest.raises(ImportError, match=r"import langchain_core\.messages in your program"):
            add_messages(format="langchain-openai")([], "hi")
        with pytest.raises(ValueError, match="or None, not 'openai'"):
            add_messages([], "hi", format="openai")

    def test_where_it_is_found(self) -> None:
        """SG-85: at the reference's addresses."""
        assert minigraph.graph.add_messages is add_messages
        assert minigraph.graph.MessagesState is MessagesState
        assert _messages_delta_reducer is messages_delta_reducer


class TestObjects:
    def test_all_become_objects(self, langchain: Any) -> None:
        """SG-81: on both sides, where the program has imported langchain-core."""
        talk = add_messages([user("a", "1")], [("ai", "b"), "c", langchain.AIMessage("d", id="4")])

        kinds = [langchain.HumanMessage, langchain.AIMessage] * 2
        assert [type(message) for message in talk] == kinds
        assert [message.content for message in talk] == ["a", "b", "c", "d"]
        assert (talk[0].id, talk[3].id) == ("1", "4")
        assert UUID(talk[1].id).version == UUID(talk[2].id).version == 4

    def test_dicts_know_all_that_langchain_core_does(self, langchain: Any) -> None:
        """SG-81: it is its function that makes them."""
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
        asked = {"role": "assistant", "content": "", "tool_calls": [call], "id": "1"}
        told = {"role": "tool", "content": "7", "tool_call_id": "c", "id": "2"}

        assert add_messages([], [asked, told]) == [
            langchain.AIMessage(
                "", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c"}], id="1"
            ),
            langchain.ToolMessage("7", tool_call_id="c", id="2"),
        ]

    def test_chunks_become_messages(self, langchain: Any) -> None:
        """SG-81."""
        (message,) = add_messages([], langchain.AIMessageChunk("a", id="1"))

        assert message == langchain.AIMessage("a", id="1")

    def test_removals_of_both_kinds(self, langchain: Any) -> None:
        """SG-80."""
        talk = [langchain.HumanMessage("a", id="1"), langchain.AIMessage("b", id="2")]

        for remove in (RemoveMessage, langchain.RemoveMessage):
            assert add_messages(talk, [remove(id="1")]) == talk[1:]
            assert add_messages(talk, [remove(id=REMOVE_ALL_MESSAGES), talk[1]]) == talk[1:]
            with pytest.raises(ValueError, match="no message with the id '3'"):
                add_messages(talk, [remove(id="3")])

    def test_a_message_that_is_said_twice(self, langchain: Any) -> None:
        """SG-81: it is not given the id, its copy is; so it does not replace itself."""
        pardon = langchain.AIMessage("Pardon?", additional_kwargs={"x": [1]})

        talk = add_messages(add_messages([], pardon), pardon)

        assert pardon.id is None
        assert [message.model_copy(update={"id": None}) for message in talk] == [pardon, pardon]
        assert talk[0].id != talk[1].id

    def test_what_is_no_message(self, langchain: Any) -> None:
        """SG-81: langchain-core's own errors."""
        with pytest.raises(NotImplementedError, match="<class 'int'>"):
            prepare(7)
        with pytest.raises(ValueError, match="Unexpected message type: 'usr'"):
            prepare(("usr", "hi"))
        with pytest.raises(NotImplementedError, match="Several messages are a list"):
            prepare((langchain.HumanMessage("a"), langchain.HumanMessage("b")))

    def test_a_format(self, langchain: Any) -> None:
        """SG-84: contents and calls are OpenAI's, and what else is known of a message is kept."""
        image = {"type": "base64", "media_type": "image/jpeg", "data": "1234"}
        call = {"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}
        usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
        result = {"type": "tool_result", "tool_use_id": "c", "content": "7"}
        reducer = add_messages(format="langchain-openai")

        talk = reducer(
            [langchain.HumanMessage([{"type": "image", "source": image}], id="1")],
            [
                langchain.AIMessage(
                    [{"type": "text", "text": "wait"}, call], id="2", usage_metadata=usage
                ),
                langchain.HumanMessage([result], id="3"),
            ],
        )

        url = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,1234"}}
        assert talk[0] == langchain.HumanMessage([url], id="1")
        assert (talk[1].content, talk[1].id, talk[1].usage_metadata) == ("wait", "2", usage)
        assert [(each["name"], each["args"]) for each in talk[1].tool_calls] == [("f", {"x": 1})]
        assert [(type(m), m.content) for m in talk[2:]] == [(langchain.ToolMessage, "7")]
        assert talk[2].tool_call_id == "c"
        assert reducer(talk, [RemoveMessage("1")]) == talk[1:]  # and once is enough
        prepared = reducer.prepare_write([talk[0]])  # type: ignore[attr-defined]  # a reducer's
        assert prepared == [talk[0]]


# ---------------------------------------------------------------- laws


IDS = st.sampled_from("abcd")
SAID = st.tuples(st.sampled_from(["user", "ai"]), st.text("xyz", max_size=2))


@st.composite
def messages(draw: Any, removals: bool = True) -> dict[str, Any]:
    """One message, as JSON has it. An id that is left out is to be given."""
    if removals and draw(st.integers(0, 3)) == 0:
        id = draw(st.one_of(IDS, IDS, st.just(REMOVE_ALL_MESSAGES)))
        return {"role": "remove", "content": "", "id": id}
    role, content = draw(SAID)
    message = {"role": role, "content": content}
    return message | {"id": draw(IDS)} if draw(st.integers(0, 4)) else message


WRITES = st.lists(st.lists(messages(), max_size=4), max_size=6)


def is_read_alike(write: list[dict[str, Any]]) -> bool:
    """Behind a removal of all the reference takes messages as they are, even removals."""
    ids = [message.get("id") for message in write]
    if REMOVE_ALL_MESSAGES not in ids:
        return True
    rest = write[len(ids) - ids[::-1].index(REMOVE_ALL_MESSAGES) :]
    known = [message["id"] for message in rest if "id" in message]
    return len(known) == len(set(known)) and all(message["role"] != "remove" for message in rest)


def told(outcome: Any) -> Any:
    """What both kinds of messages say; ids that were given are all alike."""
    if isinstance(outcome, type):
        return outcome
    roles = {"human": "user", "ai": "ai", "user": "user"}
    if outcome and not isinstance(outcome[0], dict):
        outcome = [{"role": m.type, "content": m.content, "id": m.id} for m in outcome]
    return [
        (roles[m["role"]], m["content"], m["id"] if len(m["id"]) == 1 else "given") for m in outcome
    ]


def outcomes(reducer: Any, writes: Any) -> list[Any]:
    """The list after each write; where one is refused, the class of the error."""
    left: list[Any] = []
    found = []
    for write in writes:
        try:
            left = reducer(left, deepcopy(write))
            found.append(told(left))
        except Exception as error:
            found.append(type(error))
    return found


@settings(max_examples=300, deadline=None)
@given(writes=WRITES)
def test_it_does_what_the_reference_does(writes: Any) -> None:
    """SG-80, SG-81: with dicts that stay dicts, and with objects."""
    writes = [write for write in writes if is_read_alike(write)]

    with program(with_langchain=True) as langchain:
        theirs = pytest.importorskip("langgraph.graph.message").add_messages
        expected = outcomes(theirs, writes)
        objects = [langchain.convert_to_messages(write) for write in writes]
        assert outcomes(add_messages, objects) == expected
        assert outcomes(add_messages, writes) == expected
    with program(with_langchain=False):
        assert outcomes(add_messages, writes) == expected


@settings(max_examples=300, deadline=None)
@given(
    writes=st.lists(st.lists(messages(removals=False), max_size=4), max_size=6),
    removals=st.lists(st.tuples(st.integers(0, 5), IDS), max_size=4),
    cuts=st.sets(st.integers(0, 8)),
    objects=st.booleans(),
)
def test_grouping_makes_no_difference(writes: Any, removals: Any, cuts: Any, objects: bool) -> None:
    """SG-83, DC-02: nor is the result another than `add_messages` has, one write at a time."""
    expected: list[Any] = []
    taken: list[Any] = []
    with program(with_langchain=objects and LANGCHAIN is not None):
        for index, write in enumerate(writes):
            write = prepare(write)
            write += [RemoveMessage(id) for at, id in removals if at == index]
            try:
                expected = add_messages(expected, write)
            except ValueError:  # such a write never gets into a thread
                continue
            taken.append(write)

        assert messages_delta_reducer([], taken) == expected
        result: list[Any] = []
        for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(taken)]):
            result = messages_delta_reducer(result, taken[start:end])
        assert result == expected


def test_the_twin_gives_no_ids() -> None:
    """SG-83: they would be others each time that a thread is read."""
    assert messages_delta_reducer(["hi"], [("ai", "yo"), [user("x", "1")]]) == [
        user("hi"),
        bot("yo"),
        user("x", "1"),
    ]


# ---------------------------------------------------------------- graphs


class DeltaState(TypedDict):
    messages: Annotated[list[Any], DeltaChannel(messages_delta_reducer)]


KINDS = pytest.mark.parametrize("objects", [False, True], ids=["dicts", "objects"])
STATES = pytest.mark.parametrize("schema", [MessagesState, DeltaState])


def use(objects: bool, request: pytest.FixtureRequest) -> None:
    if objects:
        request.getfixturevalue("langchain")


def value(message: Any, name: str) -> Any:
    return message[name] if isinstance(message, dict) else getattr(message, name)


def contents(messages: Any) -> list[str]:
    return [value(message, "content") for message in messages]


def talking(schema: Any, saver: Any, seen: list[Any]) -> Any:
    """A graph that answers, corrects itself, and forgets what is older than four messages."""

    def answer(state: Any) -> Any:
        return {"messages": ("ai", f"re: {contents(state['messages'])[-1]}")}

    def after(state: Any) -> str:
        seen.append(state["messages"])
        return "edit"

    def edit(state: Any) -> Any:
        *old, last = state["messages"]
        edited = {"role": "assistant", "content": value(last, "content").upper()}
        removals = [RemoveMessage(value(message, "id")) for message in old[:-3]]
        return {"messages": [{**edited, "id": value(last, "id")}, *removals]}

    builder = StateGraph(schema)
    builder.add_node("answer", answer).add_node("edit", edit)
    builder.add_edge(START, "answer").add_conditional_edges("answer", after, ["edit"])
    return builder.compile(checkpointer=saver)


@KINDS
@STATES
def test_a_graph_that_talks(
    way: Any, saver: Any, schema: Any, objects: bool, request: pytest.FixtureRequest
) -> None:
    """SG-80, SG-82, SG-83: on both savers, with both kinds, as a list and in pieces."""
    use(objects, request)
    seen: list[Any] = []
    graph = talking(schema, saver, seen)

    way.invoke(graph, {"messages": [("user", "a")]}, CONFIG)
    way.invoke(graph, {"messages": ["b"]}, CONFIG)
    chunks = way.stream(graph, {"messages": "c"}, CONFIG, stream_mode="updates")

    assert [contents(messages) for messages in seen] == [
        ["a", "re: a"],
        ["a", "RE: A", "b", "re: b"],
        ["a", "RE: A", "b", "RE: B", "c", "re: c"],
    ]
    state = way.state(graph, CONFIG)
    final = state.values["messages"]
    assert contents(final) == ["b", "RE: B", "c", "RE: C"]
    assert {isinstance(message, dict) for message in final} == {not objects}
    # The id that the path function saw is the one that is stored, and that was told.
    assert value(seen[2][-1], "id") == value(final[-1], "id")
    (written,) = chunks[0]["answer"]["messages"]
    assert written == seen[2][-1]
    # What is read of the past is what was there.
    history = way.history(graph, CONFIG)
    assert [contents(each.values.get("messages", ())) for each in history[:5]] == [
        ["b", "RE: B", "c", "RE: C"],
        ["a", "RE: A", "b", "RE: B", "c", "re: c"],
        ["a", "RE: A", "b", "RE: B", "c"],
        ["a", "RE: A", "b", "RE: B"],
        ["a", "RE: A", "b", "RE: B"],
    ]
    assert history == way.history(graph, CONFIG)
    assert history[1].values["messages"] == seen[2]


@STATES
def test_every_way_in_is_prepared(way: Any, saver: Any, schema: Any) -> None:
    """SG-82: an input, an update, an `Overwrite`, a Command from a node and one from outside."""

    def command(state: Any) -> Any:
        return Command(update={"messages": ("ai", "from a Command")})

    builder = StateGraph(schema).add_node("command", command).add_edge(START, "command")
    graph = builder.compile(checkpointer=saver)

    way.update(graph, CONFIG, {"messages": "updated"}, as_node="command")
    way.invoke(graph, {"messages": [("user", "in")]}, CONFIG)
    way.update(graph, CONFIG, {"messages": Overwrite(["over"])}, as_node="command")
    over = way.state(graph, CONFIG)
    way.invoke(graph, Command(update={"messages": "outside"}, goto="command"), CONFIG)

    history = way.history(graph, CONFIG)
    final = history[0].values["messages"]
    assert [*map(without_id, final)] == [user("over"), user("outside"), bot("from a Command")]
    assert way.state(graph, CONFIG).values["messages"] == final
    assert over.values["messages"] == final[:1]
    assert way.state(graph, over.config).values["messages"][:1] == final[:1]
    way.update(graph, CONFIG, {"messages": Overwrite(None)}, as_node="command")
    assert way.state(graph, CONFIG).values["messages"] in (None, [])


def test_a_state_that_is_nothing_but_messages(way: Any, saver: Any) -> None:
    """SG-82."""
    state: Any = Annotated[list, add_messages]
    builder = StateGraph(state).add_node("answer", lambda talk: ("ai", f"{len(talk)}"))
    graph = builder.add_edge(START, "answer").compile(checkpointer=saver)

    talk = way.invoke(graph, "hi", CONFIG)

    assert [*map(without_id, talk)] == [user("hi"), bot("1")]
    assert way.state(graph, CONFIG).values == talk


def test_a_state_with_more_than_messages(way: Any) -> None:
    """SG-85."""

    class State(MessagesState):
        log: Annotated[list[str], add]

    def node(state: State) -> Any:
        return {"messages": bot("b", "2"), "log": [f"{len(state['messages'])}"]}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()

    assert way.invoke(graph, {"messages": user("a", "1"), "log": ["in"]}) == {
        "messages": [user("a", "1"), bot("b", "2")],
        "log": ["in", "1"],
    }


def joined(old: str, new: str) -> str:
    return old + new


joined.prepare_write = lambda write: f"<{write}>"  # type: ignore[attr-defined]  # as ours have


def test_preparations() -> None:
    """SG-82: of the channels with a reducer that has one, whichever kind they are."""

    def prepared(old: Any, new: Any) -> Any:
        return new

    prepared.prepare_write = str  # type: ignore[attr-defined]  # as a user may
    channels: Any = {
        "plain": LastValue(list),
        "reduced": BinaryOperatorAggregate(list, add),
        "prepared": BinaryOperatorAggregate(list, prepared),
        "pieces": DeltaChannel(prepared),
    }

    assert preparations_of(channels) == {"prepared": str, "pieces": str}


class MarkedState(TypedDict):
    marked: Annotated[str, joined]
    plain: Annotated[str, add]


def test_other_reducers_can_prepare_too() -> None:
    """SG-82: it is an attribute of the reducer, of whichever kind, and of no other write."""

    builder = StateGraph(MarkedState).add_node("node", lambda state: {"marked": "b", "plain": "b"})
    graph = builder.add_edge(START, "node").compile()

    assert graph.invoke({"marked": "a", "plain": "a"}) == {"marked": "<a><b>", "plain": "ab"}


@STATES
def test_a_write_that_is_no_message(way: Any, saver: Any, schema: Any) -> None:
    """SG-81: the task that wrote it has failed, so it can run again."""
    answers: list[Any] = [7, "fine"]
    builder = StateGraph(schema).add_node("node", lambda state: {"messages": answers.pop(0)})
    graph = builder.add_edge(START, "node").compile(checkpointer=saver)

    with pytest.raises(NotImplementedError, match="but this is a int: 7"):
        way.invoke(graph, {"messages": "hi"}, CONFIG)
    state = way.state(graph, CONFIG)
    assert (contents(state.values["messages"]), state.next) == (["hi"], ("node",))
    assert "this is a int" in state.tasks[0].error

    assert contents(way.invoke(graph, None, CONFIG)["messages"]) == ["hi", "fine"]


@STATES
def test_a_removal_of_nothing_in_a_graph(way: Any, saver: Any, schema: Any) -> None:
    """SG-80, SS-05: the thread stays readable, and the task can run again."""
    removed = ["9", "1"]

    def node(state: Any) -> Any:
        return {"messages": RemoveMessage(removed.pop(0))}

    builder = StateGraph(schema).add_node("node", node).add_edge(START, "node")
    graph = builder.compile(checkpointer=saver)

    with pytest.raises(ValueError, match="no message with the id '9' to remove"):
        way.invoke(graph, {"messages": [user("a", "1"), user("b", "2")]}, CONFIG)
    state = way.state(graph, CONFIG)
    assert (contents(state.values["messages"]), state.next) == (["a", "b"], ("node",))

    assert way.invoke(graph, None, CONFIG) == {"messages": [user("b", "2")]}
    assert way.state(graph, CONFIG).values == {"messages": [user("b", "2")]}


class BothState(TypedDict):
    plain: Annotated[list[Any], add_messages]
    pieces: Annotated[list[Any], DeltaChannel(messages_delta_reducer)]


def test_a_conversation_in_pieces_is_the_conversation(saver: Any) -> None:
    """SG-83, DC-02: 300 turns with removals, and at each checkpoint both lists are the same."""

    def both(write: list[Any]) -> Any:
        return {"plain": write, "pieces": write}

    def answer(state: BothState) -> Any:
        assert state["plain"] == state["pieces"]
        turn = int(state["plain"][-1]["content"])
        write = [bot(f"re: {turn}", f"answer {turn}")]
        if turn % 5 == 4:
            write = [*[RemoveMessage(message["id"]) for message in state["plain"][:3]], *write]
        if (
            turn % 7 == 6 and turn % 90 > 20
        ):  # removed, and said again behind the others; and one is corrected
            first, second, *_ = state["plain"][3:]
            write += [RemoveMessage(first["id"]), user("again", first["id"])]
            write += [RemoveMessage(second["id"]), bot("new", f"new {turn}")]
        if turn % 90 == 89:
            write = [RemoveMessage(REMOVE_ALL_MESSAGES), *write[-1:]]
        return both(write)

    builder = StateGraph(BothState).add_node("answer", answer).add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver, name="long")
    for turn in range(300):
        input = both([user(f"{turn}", f"turn {turn}")])
        graph.invoke(input, CONFIG, durability="sync")

    states = [*graph.get_state_history(CONFIG)]
    assert len(states) == 900
    lengths = set()
    for state in states:
        assert state.values.get("plain", []) == state.values.get("pieces", [])
        lengths.add(len(state.values.get("plain", [])))
    assert max(lengths) > 50


@KINDS
@STATES
def test_files_open_both_ways(tmp_path: Any, langchain: Any, schema: Any, objects: bool) -> None:
    """SG-81, SG-83, SD-15: the reference's graph goes on where this one has stopped, and this one
    where the reference has. In a program with objects, dicts that were stored become some."""
    theirs = pytest.importorskip("langgraph.graph")
    their_messages = importlib.import_module("langgraph.graph.message")
    their_delta = importlib.import_module("langgraph.channels").DeltaChannel
    their_sqlite = importlib.import_module("langgraph.checkpoint.sqlite")

    their_pieces: Any = Annotated[list, their_delta(their_messages._messages_delta_reducer)]
    their_state = TypedDict("TheirState", {"messages": their_pieces})  # noqa: UP013  # found here

    def talk(package: Any, saver: Any, schema: Any, words: str) -> tuple[list[str], list[str]]:
        """What is found, and what it is after another turn, in which the oldest is removed."""

        def node(state: Any) -> Any:
            oldest = value(state["messages"][0], "id")
            return {"messages": [bot(f"re: {words}"), RemoveMessage(oldest)]}

        builder = package.StateGraph(schema).add_node("node", node).add_edge(START, "node")
        graph = builder.compile(checkpointer=saver)
        found = graph.get_state(CONFIG).values.get("messages", [])
        graph.invoke({"messages": [words]}, CONFIG)
        left = graph.get_state(CONFIG).values["messages"]
        ids = [[value(message, "id") for message in messages] for messages in (found, left)]
        assert ids[1][:-2] == ids[0][1:]
        return contents(found), contents(left)

    path = str(tmp_path / "talk.db")
    with SqliteSaver.from_conn_string(path) as saver:
        if objects:
            assert talk(minigraph.graph, saver, schema, "a") == ([], ["re: a"])
        else:
            with program(with_langchain=False):
                assert talk(minigraph.graph, saver, schema, "a") == ([], ["re: a"])
    their_schema = theirs.MessagesState if schema is MessagesState else their_state
    with their_sqlite.SqliteSaver.from_conn_string(path) as saver:
        assert talk(theirs, saver, their_schema, "b") == (["re: a"], ["b", "re: b"])
    with SqliteSaver.from_conn_string(path) as saver:
        assert talk(minigraph.graph, saver, schema, "c") == (
            ["b", "re: b"],
            ["re: b", "c", "re: c"],
        )
    with their_sqlite.SqliteSaver.from_conn_string(path) as saver:
        found, left = talk(theirs, saver, their_schema, "d")
    assert found == ["re: b", "c", "re: c"]
    assert left == ["c", "re: c", "d", "re: d"]
