"""Managed values: keys of a state that are no state."""

from __future__ import annotations

import dataclasses
import operator
from typing import Annotated, Any, NotRequired, TypedDict

import pydantic
import pytest

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.graph import END, START, StateGraph
from minigraph.managed import IsLastStep, Managed, RemainingSteps, count_down
from minigraph.types import Command, Send


class State(TypedDict):
    log: Annotated[list[Any], operator.add]
    left: RemainingSteps
    last: IsLastStep


class Plain(TypedDict):
    log: Annotated[list[Any], operator.add]


def see(state: Any) -> Any:
    return {"log": [(state["left"], state["last"])]}


def one(node: Any, schema: Any = State, **options: Any) -> Any:
    return StateGraph(schema).add_node("n", node, **options).add_edge(START, "n")


THREAD: Any = {"configurable": {"thread_id": "1"}}


def limited(limit: int) -> Any:
    return {**THREAD, "recursion_limit": limit}


def test_what_is_counted() -> None:
    """MR-01."""
    assert [IsLastStep.__metadata__[0].of(left) for left in (3, 2, 1)] == [False, False, True]  # type: ignore[attr-defined]
    assert RemainingSteps.__metadata__[0].of(3) == 3  # type: ignore[attr-defined]
    readable: dict[str, Any] = {"x": 1}
    count_down(readable, {"left": Managed(lambda left: left)}, 4)
    assert readable == {"x": 1, "left": 4}


def test_a_run_counts_down(way: Any) -> None:
    """MR-01: its last step is the one after which nothing more may run."""
    builder = one(see)
    builder.add_conditional_edges("n", lambda state: END if state["left"] <= 1 else "n")
    graph = builder.compile(checkpointer=InMemorySaver())
    seen = [(3, False), (2, False), (1, True)]
    assert way.invoke(graph, {"log": []}, limited(4)) == {"log": seen}
    # The next run counts from its own beginning.
    assert way.invoke(graph, {"log": []}, limited(3)) == {"log": [*seen, (2, False), (1, True)]}


def test_the_reference_counts_alike() -> None:
    """MR-01: as it does, in a node, after START, and in a Send."""
    import langgraph.graph
    import langgraph.managed
    import langgraph.types

    def seen(graph: Any, managed: Any, send: Any) -> Any:
        told: list[Any] = []
        keys = {"left": managed.RemainingSteps, "last": managed.IsLastStep}
        schema = TypedDict("schema", {"log": Annotated[list, operator.add], **keys})

        def note(state: Any) -> Any:
            told.append((state.get("left"), state.get("last")))

        def path(state: Any) -> Any:
            note(state)
            return ["n", send("sent", {"left": "given"})]

        builder = graph.StateGraph(schema).add_node("n", note).add_node("sent", note)
        builder.add_conditional_edges(graph.START, path, ["n", "sent"])
        builder.compile().invoke({"log": []}, {"recursion_limit": 5})
        return sorted(told, key=str)

    import minigraph.graph
    import minigraph.managed
    import minigraph.types

    theirs = seen(langgraph.graph, langgraph.managed, langgraph.types.Send)
    assert seen(minigraph.graph, minigraph.managed, minigraph.types.Send) == theirs
    assert theirs == [("given", None), (4, False), (5, False)]


def test_they_are_no_state(way: Any) -> None:
    """MR-01: not in the result, nor in what is stored, streamed or shown."""
    saver = InMemorySaver()
    graph = one(see).compile(checkpointer=saver)
    modes = ["values", "updates"]
    assert way.stream(graph, {"log": []}, limited(5), stream_mode=modes) == [
        ("values", {"log": []}),
        ("updates", {"n": {"log": [(4, False)]}}),
        ("values", {"log": [(4, False)]}),
    ]
    assert way.state(graph, THREAD).values == {"log": [(4, False)]}
    stored = [saved.checkpoint for saved in saver.list(THREAD)]
    assert all({"left", "last"}.isdisjoint(each["channel_values"]) for each in stored)
    assert all({"left", "last"}.isdisjoint(each["channel_versions"]) for each in stored)
    assert {"left", "last"}.isdisjoint(graph.channels)
    with pytest.raises(ValueError, match="output_keys names 'left', which is no channel"):
        way.invoke(graph, {"log": []}, limited(5), output_keys=["left"])


def test_they_cannot_be_written(way: Any) -> None:
    """MR-01: neither by an input, nor by a node, nor from outside; nobody reads another value."""

    def node(state: State) -> Any:
        return Command(update={"left": 99, "log": [state["left"]]})

    graph = one(node).compile(checkpointer=InMemorySaver())
    given: Any = {"log": [], "left": 99}
    assert way.invoke(graph, given, limited(5)) == {"log": [4]}
    way.update(graph, THREAD, {"left": 99, "log": ["u"]})
    assert way.state(graph, THREAD).values == {"log": [4, "u"]}


def test_for_those_who_read_less(way: Any) -> None:
    """MR-01: in the schema of one node, and of one path function, too; as all that it reads."""

    class Left(TypedDict):
        left: RemainingSteps

    told: list[Any] = []

    def path(state: Left) -> str:
        told.append(state)
        return END

    builder = one(lambda state: told.append(state), Plain, input_schema=Left)
    graph = builder.add_conditional_edges("n", path).compile()
    way.invoke(graph, {"log": []}, limited(7))
    assert told == [{"left": 6}, {"left": 6}]


@dataclasses.dataclass
class AsDataclass:
    log: Annotated[list[Any], operator.add]
    left: RemainingSteps


class AsModel(pydantic.BaseModel):
    log: Annotated[list[Any], operator.add]
    left: RemainingSteps


class WithWords(TypedDict):
    log: Annotated[list[Any], operator.add]
    left: NotRequired[Annotated[RemainingSteps, "how many are left"]]


@pytest.mark.parametrize("schema", [AsDataclass, AsModel, WithWords])
def test_in_every_kind_of_schema(way: Any, schema: Any) -> None:
    """MR-01: the constructor gets them like the others, already when the input is looked at."""

    def node(state: Any) -> Any:
        return {"log": [state["left"] if isinstance(state, dict) else state.left]}

    graph = one(node, schema).compile()
    assert way.invoke(graph, {"log": []}, limited(7)) == {"log": [6]}


def test_in_an_inner_graph(way: Any) -> None:
    """MR-01: it counts its own steps, whatever it is given."""
    inner = one(see).compile()
    graph = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile()
    assert way.invoke(graph, {"log": []}, limited(7)) == {"log": [(6, False)]}


def test_what_is_sent_is_what_is_given(way: Any) -> None:
    """MR-01, CS-31: a Send's argument is not changed, so it shows what its sender saw."""
    builder = StateGraph(State).add_node("n", lambda state: {"log": [state["left"]]})
    builder.add_conditional_edges(START, lambda state: [Send("n", state)], ["n"])
    assert way.invoke(builder.compile(), {"log": []}, limited(7)) == {"log": [7]}


def test_a_path_function_in_an_update(way: Any) -> None:
    """MR-01: from outside there is no limit; it sees 2, which is not the last."""
    told: list[Any] = []

    def path(state: State) -> str:
        told.append((state["left"], state["last"]))
        return END

    graph = one(lambda state: None).add_conditional_edges("n", path)
    compiled = graph.compile(checkpointer=InMemorySaver())
    way.update(compiled, THREAD, {"log": ["u"]}, "n")
    assert told == [(2, False)]


def test_not_in_an_input_or_an_output() -> None:
    """MR-01: where they could be neither given nor returned."""
    with pytest.raises(ValueError, match=r"State has \['last', 'left'\], which the run itself"):
        StateGraph(Plain, input_schema=State)
    with pytest.raises(ValueError, match="no part of an input or an output"):
        StateGraph(Plain, output_schema=State)
    StateGraph(State, output_schema=State)


def test_not_beside_a_channel_of_that_name() -> None:
    """MR-01: one key has one meaning."""

    class Written(TypedDict):
        log: Annotated[list[Any], operator.add]
        left: int

    with pytest.raises(ValueError, match=r"The run provides \['left'\] in one schema"):
        StateGraph(Written).add_node("n", see, input_schema=State)
    with pytest.raises(ValueError, match=r"The run provides \['left'\] in one schema"):
        StateGraph(State).add_node("n", see, input_schema=Written)
