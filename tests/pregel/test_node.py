"""A node as the machine sees it: a pipeline that asks for calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from minigraph.constants import TAG_HIDDEN
from minigraph.pregel.node import (
    Call,
    Graph,
    PregelNode,
    Route,
    UserFunction,
    function_name,
    is_coroutine_function,
    parameter_names,
)
from minigraph.pregel.selection import Selection


class Surroundings:
    """A run around a task, with notes of what it was asked."""

    config: Any = {"tags": ["mine"]}

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def read(self, selection: Selection, writes: Sequence[Any]) -> Any:
        self.asked.append((selection.names, list(writes)))
        return {"state": len(writes)}


def walk(node: PregelNode, value: Any, **options: Any) -> tuple[list[Call], Any]:
    """Do what the walk asks for; the calls, and the writes at its end."""
    calls: list[Call] = []
    work = node.work(value, options.pop("around", Surroundings()), **options)
    answer: Any = None
    while True:
        try:
            call = work.send(answer)
        except StopIteration as end:
            return calls, list(end.value)
        calls.append(call)
        answer = call.function(*call.arguments, **call.keywords)


def double(x: int) -> int:
    return 2 * x


def make(**parts: Any) -> PregelNode:
    return PregelNode("n", ("t",), Selection("x"), **parts)


class TestWork:
    def test_input_to_mapper_to_function_to_writers(self) -> None:
        node = make(
            mapper=lambda value: value["x"],
            bound=UserFunction(double),
            writers=(lambda result: [("x", result)], lambda result: [("y", -result)]),
        )
        calls, writes = walk(node, {"x": 21})
        assert calls == [Call(double, (21,), {}, False)]
        assert writes == [("x", 42), ("y", -42)]

    def test_without_a_function_the_input_is_the_result(self) -> None:
        """SG-11: so START passes on what came in."""
        calls, writes = walk(make(writers=(lambda result: [("x", result)],)), 5)
        assert (calls, writes) == ([], [("x", 5)])

    def test_without_writers_nothing_is_written(self) -> None:
        assert walk(make(bound=UserFunction(double)), 5)[1] == []

    def test_what_was_sent_is_passed_on_as_it_is(self) -> None:
        """CS-31: no mapper touches it."""
        node = make(mapper=lambda value: 1 / 0, bound=UserFunction(double))
        calls, _ = walk(node, 4, sent=True)
        assert calls == [Call(double, (4,), {}, False)]

    def test_what_was_returned_is_written_without_a_call(self) -> None:
        """CP-60: an update from outside starts behind the function."""
        node = make(
            mapper=lambda value: 1 / 0,
            bound=UserFunction(double),
            writers=(lambda result: [("x", result)],),
        )
        assert walk(node, 4, returned=True) == ([], [("x", 4)])

    def test_the_config_is_given_to_those_who_want_it(self) -> None:
        """MR-05: by the name of the parameter."""
        node = make(
            bound=UserFunction(lambda x, config: config["tags"]), writers=(lambda r: [("t", r)],)
        )
        calls, writes = walk(node, 4)
        assert calls[0].keywords == {"config": {"tags": ["mine"]}}
        assert writes == [("t", ["mine"])]

    def test_routes_see_the_writes_and_add_to_them(self) -> None:
        """SG-50: each route sees the state with all that was written before it."""
        seen: list[Any] = []

        def route(name: str, mapper: Any = None) -> Route:
            path = UserFunction(lambda state: seen.append((name, state)) or name)
            return Route(path, Selection([name]), mapper, lambda choice: [("go", choice)])

        around = Surroundings()
        node = make(
            bound=UserFunction(double),
            writers=(lambda result: [("x", result)],),
            routes=(route("one"), route("two", mapper=lambda state: ("mapped", state))),
        )

        _, writes = walk(node, 21, around=around)

        assert writes == [("x", 42), ("go", "one"), ("go", "two")]
        assert seen == [("one", {"state": 1}), ("two", ("mapped", {"state": 2}))]
        assert around.asked == [
            (("one",), [("x", 42)]),
            (("two",), [("x", 42), ("go", "one")]),
        ]

    def test_routes_are_taken_after_an_update_from_outside(self) -> None:
        """CP-60: the edges of `as_node` are followed, and this means its routes as well."""
        path = UserFunction(lambda state: "b")
        route = Route(path, Selection(["x"]), None, lambda choice: [("go", choice)])
        node = make(writers=(lambda result: [("x", result)],), routes=(route,))
        assert walk(node, 1, returned=True)[1] == [("x", 1), ("go", "b")]

    def test_an_error_ends_the_walk(self) -> None:
        """Of a mapper or a writer; those of functions happen outside of the walk."""
        with pytest.raises(ZeroDivisionError):
            walk(make(mapper=lambda value: 1 / 0), 1)
        with pytest.raises(ZeroDivisionError):
            walk(make(writers=(lambda result: 1 / 0,)), 1)


def test_what_a_node_knows_of_itself() -> None:
    """SG-11: hidden by its tag; which of its functions must be awaited."""

    async def later(x: Any) -> None: ...

    path = Route(UserFunction(later, "path"), Selection("x"), None, lambda choice: [])
    assert make().hidden is False
    assert make(tags=("a", TAG_HIDDEN)).hidden is True
    assert make().async_functions == []
    assert make(bound=UserFunction(double), routes=(path,)).async_functions == ["path"]
    assert make(bound=UserFunction(later)).async_functions == ["later"]


class Inner(Graph):
    """As much of a graph as a node sees of it."""

    def __init__(self, *async_nodes: str) -> None:
        self.invoke = lambda value, config=None: ("sync", value)
        self.ainvoke = lambda value, config=None: ("async", value)
        self.layout = SimpleNamespace(async_nodes=async_nodes)
        self.name = "inside"


def test_a_graph_in_a_node() -> None:
    """SB-10, ST-31: it is called like a function of the state, in both ways;
    it needs to be awaited if one of its nodes does."""
    graph = Inner()
    function = UserFunction(graph, "mine")
    assert (function.graph, function.name, function.is_async) == (graph, "mine", False)
    assert function.wants == ()
    call = function.call(5, Surroundings())
    assert (call.arguments, call.keywords) == ((5,), {})
    assert (call.function(5), call.awaited(5)) == (("sync", 5), ("async", 5))
    assert UserFunction(double).call(5, Surroundings()).awaited is None
    assert make(bound=function).async_functions == []
    assert make(bound=UserFunction(Inner("b", "c"))).async_functions == ["n/b", "n/c"]


# ---------------------------------------------------------------- functions


class Caller:
    def __call__(self, state: Any, config: Any) -> Any:
        return state

    def method(self, state: Any, *, config: Any) -> Any:
        return state

    async def async_method(self, state: Any) -> Any:
        return state


class AsyncCaller:
    async def __call__(self, state: Any) -> Any:
        return state


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **more: Any) -> Any:
        return function(*args, **more)

    return wrapper


async def later(state: Any, config: Any) -> Any:
    return state


def of_a_dict(state: Any, config: dict[str, Any]) -> Any:
    return state


@pytest.mark.parametrize(
    ("function", "name", "is_async", "wants_config"),
    [
        pytest.param(double, "double", False, False, id="function"),
        pytest.param(lambda state, config=None: None, "<lambda>", False, True, id="lambda"),
        pytest.param(later, "later", True, True, id="coroutine function"),
        pytest.param(of_a_dict, "of_a_dict", False, True, id="config: dict"),
        pytest.param(Caller(), "Caller", False, True, id="object"),
        pytest.param(Caller().method, "method", False, True, id="method, keyword only"),
        pytest.param(Caller().async_method, "async_method", True, False, id="async method"),
        pytest.param(AsyncCaller(), "AsyncCaller", True, False, id="async object"),
        pytest.param(decorated(later), "later", False, True, id="decorated"),
        pytest.param(functools.partial(later), "partial", True, True, id="partial"),
        pytest.param(
            functools.partial(Caller().method, config=1),
            "partial",
            False,
            True,
            id="partial config",
        ),
        pytest.param(len, "len", False, False, id="built in"),
        pytest.param(dict, "dict", False, False, id="class without signature"),
        pytest.param(Caller, "Caller", False, False, id="class"),
    ],
)
def test_user_function(function: Any, name: str, is_async: bool, wants_config: bool) -> None:
    """SG-15, MR-05: any callable, its name, and how to call it."""
    user_function = UserFunction(function)
    assert user_function.name == function_name(function) == name
    assert user_function.is_async is is_coroutine_function(function) is is_async
    assert user_function.wants == ((("config", "config"),) if wants_config else ())


def test_what_is_given_by_name() -> None:
    """MR-05: by the name of any parameter but the first, which is the state's."""

    def everything(state: Any, *, runtime: Any, writer: Any, config: Any) -> None: ...

    def of_that_name(config: Any, other: Any = None) -> None: ...

    class Around:
        config: Any = {"tags": ["t"]}
        runtime = "the runtime"
        write = "the writer"

        def read(self, selection: Any, writes: Any) -> Any: ...

    call = UserFunction(everything).call("state", Around())  # type: ignore[arg-type]
    assert call.arguments == ("state",)
    assert call.keywords == {
        "config": {"tags": ["t"]},
        "runtime": "the runtime",
        "writer": "the writer",
    }
    assert UserFunction(of_that_name).wants == ()


def test_a_name_of_ones_own() -> None:
    assert UserFunction(double, "node").name == "node"


def test_parameter_names() -> None:
    """Positional and by keyword, and neither local names nor `*args`."""

    def function(a: Any, /, b: Any, *args: Any, c: Any, **more: Any) -> None:
        config = a
        del config

    assert parameter_names(function) == ("a", "b", "c")
    assert parameter_names(dict) == ()
