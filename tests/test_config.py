"""The config: where a call goes, and what accompanies it."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, TypedDict

import pytest

from minigraph import config as config_module
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.config import (
    RunnableConfig,
    at_checkpoint,
    get_config,
    merged,
    prepared,
    recursion_limit,
    require_thread,
)
from minigraph.graph import START, StateGraph


class State(TypedDict):
    x: int


def one_node(node: Any, **options: Any) -> Any:
    return StateGraph(State).add_node("a", node).add_edge(START, "a").compile(**options)


class TestGetConfig:
    def test_inside_of_a_node_it_is_the_nodes(self, way: Any) -> None:
        """MR-07: the very config that the parameter would have been."""
        seen: list[Any] = []

        def node(state: State, config: RunnableConfig) -> None:
            seen.extend([config, get_config()])

        way.invoke(one_node(node), {"x": 1}, {"tags": ["t"]})

        assert seen[0] is seen[1]
        assert seen[0]["tags"] == ["t"]

    def test_outside_there_is_none(self) -> None:
        """MR-07."""
        with pytest.raises(RuntimeError) as caught:
            get_config()
        assert str(caught.value) == (
            "get_config() was called outside of a node: no task is running here."
        )


class TestRecursionLimit:
    def test_the_default(self) -> None:
        """SS-40."""
        assert recursion_limit({}) == 10007
        assert config_module.DEFAULT_RECURSION_LIMIT == 10007

    def test_the_environment_may_set_it(self) -> None:
        """SS-40: read once, when the module is imported."""
        program = "from minigraph.config import recursion_limit; print(recursion_limit({}))"
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "LANGGRAPH_DEFAULT_RECURSION_LIMIT": "12"},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert ran.stdout == "12\n"

    def test_the_caller_may_set_it(self) -> None:
        assert recursion_limit({"recursion_limit": 1}) == 1

    @pytest.mark.parametrize("limit", [0, -1])
    def test_below_one_it_is_refused(self, way: Any, limit: int) -> None:
        """SS-44: also by every way to run, before anything has run."""
        words = f"recursion_limit must be at least 1, but it is {limit}"
        with pytest.raises(ValueError, match=words):
            recursion_limit({"recursion_limit": limit})
        with pytest.raises(ValueError, match=words):
            way.invoke(one_node(lambda state: 1 / 0), {"x": 1}, {"recursion_limit": limit})

    @pytest.mark.parametrize("limit", [0, -1])
    def test_max_concurrency_is_at_least_one_too(self, way: Any, limit: int) -> None:
        """MR-10: nothing could ever run with less."""
        with pytest.raises(ValueError, match=f"max_concurrency must be at least 1, but.* {limit}"):
            way.invoke(one_node(lambda state: None), {"x": 1}, {"max_concurrency": limit})

    def test_a_node_sees_it_only_if_it_was_given(self, way: Any) -> None:
        """SS-40: when the default applies, the key is absent."""
        seen: list[Any] = []
        graph = one_node(lambda state, config: seen.append(config.get("recursion_limit", "absent")))

        way.invoke(graph, {"x": 1})
        way.invoke(graph, {"x": 1}, {"recursion_limit": 7})

        assert seen == ["absent", 7]


class TestAtCheckpoint:
    def test_it_names_a_checkpoint(self) -> None:
        config: RunnableConfig = {"configurable": {"thread_id": "1", "mine": 2}, "tags": ["t"]}
        assert at_checkpoint(config, "1ef") == {
            "configurable": {
                "thread_id": "1",
                "mine": 2,
                "checkpoint_ns": "",
                "checkpoint_id": "1ef",
            },
            "tags": ["t"],
        }
        assert config == {"configurable": {"thread_id": "1", "mine": 2}, "tags": ["t"]}

    def test_none_names_the_latest(self) -> None:
        config: RunnableConfig = {
            "configurable": {"thread_id": "1", "checkpoint_ns": "a:1", "checkpoint_id": "1ef"}
        }
        assert at_checkpoint(config, None) == {
            "configurable": {"thread_id": "1", "checkpoint_ns": "a:1"}
        }
        assert config["configurable"]["checkpoint_id"] == "1ef"

    def test_a_config_of_nothing(self) -> None:
        assert at_checkpoint({}, None) == {"configurable": {"checkpoint_ns": ""}}


class TestRequireThread:
    def test_a_thread_is_enough(self) -> None:
        require_thread({"configurable": {"thread_id": "1"}}, to_run=True)

    @pytest.mark.parametrize("config", [{}, {"configurable": {}}])
    def test_a_run_without_anything(self, way: Any, config: Any) -> None:
        """CP-30: a ValueError that names the three keys."""
        graph = one_node(lambda state: None, checkpointer=InMemorySaver())
        for call in (
            lambda: require_thread(config, to_run=True),
            lambda: way.invoke(graph, {"x": 1}),
            lambda: way.invoke(graph, {"x": 1}, config),
        ):
            with pytest.raises(ValueError, match="thread_id, and optionally checkpoint_ns, check"):
                call()

    @pytest.mark.parametrize("config", [{}, {"configurable": {}}, {"configurable": {"user": "u"}}])
    def test_a_thread_that_is_not_named(self, way: Any, config: Any) -> None:
        """CP-30: a KeyError that names the key."""
        graph = one_node(lambda state: None, checkpointer=InMemorySaver())
        calls = [
            lambda: require_thread(config, to_run=False),
            lambda: way.state(graph, config),
            lambda: way.history(graph, config),
            lambda: way.update(graph, config, {"x": 1}),
        ]
        if config.get("configurable"):
            calls += [lambda: way.invoke(graph, {"x": 1}, config)]
        for call in calls:
            with pytest.raises(KeyError, match="thread_id"):
                call()

    @pytest.mark.parametrize("place", [{"thread_id": None}, {"thread_id": None, "user": "u"}])
    def test_a_thread_whose_name_is_none(self, way: Any, place: Any) -> None:
        """CP-30: is a missing one, and not the thread called "None"."""
        graph = one_node(lambda state: None, checkpointer=InMemorySaver())
        config: Any = {"configurable": place}
        for call in (
            lambda: require_thread(config, to_run=True),
            lambda: require_thread(config, to_run=False),
            lambda: way.invoke(graph, {"x": 1}, config),
            lambda: way.stream(graph, {"x": 1}, config),
            lambda: way.state(graph, config),
            lambda: way.history(graph, config),
            lambda: way.update(graph, config, {"x": 1}),
        ):
            with pytest.raises(KeyError, match="thread_id"):
                call()
        assert dict(graph.checkpointer.storage) == {}

    @pytest.mark.parametrize("config", ["thread-1", 5, {"recursion_limit": "5"}])
    def test_what_is_no_config(self, way: Any, config: Any) -> None:
        graph = one_node(lambda state: None)
        with pytest.raises(TypeError, match=r"A config is a dict|must be a number"):
            way.invoke(graph, {"x": 1}, config)


@pytest.mark.parametrize(
    "entry",
    ["configurable", "metadata", "tags", "recursion_limit", "max_concurrency", "run_id"],
)
def test_an_entry_that_is_none_is_as_good_as_absent(way: Any, entry: str) -> None:
    """So that a config which somebody filled in with defaults can be passed on."""
    seen: list[Any] = []
    graph = one_node(lambda state, config: seen.append(config["metadata"]["langgraph_node"]))

    assert way.invoke(graph, {"x": 1}, {entry: None}) == {"x": 1}
    assert seen == ["a"]


class TestKeysOfTheUsersOwn:
    def test_they_move_to_configurable(self) -> None:
        """What already stands there is not replaced."""
        given: Any = {"user": "u", "tags": ["t"], "x": 1, "configurable": {"x": 2, "y": 3}}
        assert prepared(given) == {
            "tags": ["t"],
            "configurable": {"user": "u", "x": 2, "y": 3},
        }
        assert given == {"user": "u", "tags": ["t"], "x": 1, "configurable": {"x": 2, "y": 3}}

    def test_without_any_there_is_no_configurable(self) -> None:
        """Nor for one that is None."""
        given: Any = {"user": None, "recursion_limit": 5}
        assert prepared(given) == {"recursion_limit": 5}

    def test_a_thread_may_be_named_there(self, way: Any) -> None:
        """CP-30: a thread id is one of them; and a node sees them all in `configurable`."""
        seen: list[Any] = []

        def node(state: State, config: RunnableConfig) -> None:
            seen.append((config["configurable"]["user"], config["configurable"]["thread_id"]))
            assert "user" not in config

        graph = one_node(node, checkpointer=InMemorySaver())
        config: Any = {"thread_id": "1", "user": "u"}
        assert way.invoke(graph, {"x": 1}, config) == {"x": 1}
        assert seen == [("u", "1")]
        way.update(graph, config, {"x": 2})
        state = way.state(graph, config)
        assert state == way.state(graph, {"configurable": {"thread_id": "1"}})
        assert (state.values, state.metadata["step"]) == ({"x": 2}, 2)
        assert way.history(graph, config)[0].values == {"x": 2}


def test_a_config_is_not_changed_by_a_run(way: Any) -> None:
    """The caller's dicts stay the caller's."""
    config: Any = {
        "configurable": {"thread_id": "1", "mine": [1]},
        "metadata": {"m": 1},
        "tags": ["t"],
    }
    graph = one_node(
        lambda state, config: config["metadata"].update(new=1), checkpointer=InMemorySaver()
    )

    way.invoke(graph, {"x": 1}, config)
    way.update(graph, config, {"x": 2})

    assert config == {
        "configurable": {"thread_id": "1", "mine": [1]},
        "metadata": {"m": 1},
        "tags": ["t"],
    }


class TestMerged:
    """MR-08: two configs as one."""

    @pytest.mark.parametrize(
        ("first", "second", "both"),
        [
            (None, None, {}),
            ({}, {"tags": ["t"]}, {"tags": ["t"]}),
            ({"tags": ["t"]}, None, {"tags": ["t"]}),
            ({"tags": ["t", "u"]}, {"tags": ["u"]}, {"tags": ["t", "u", "u"]}),
            (
                {"metadata": {"a": 1, "b": 1}},
                {"metadata": {"b": 2}},
                {"metadata": {"a": 1, "b": 2}},
            ),
            (
                {"configurable": {"a": 1, "b": 1}},
                {"configurable": {"b": None, "c": 3}},
                {"configurable": {"a": 1, "b": None, "c": 3}},
            ),
            ({"recursion_limit": 3}, {"recursion_limit": 4}, {"recursion_limit": 4}),
            ({"recursion_limit": 3}, {"recursion_limit": None}, {"recursion_limit": 3}),
            ({"mine": 1}, {"configurable": {"a": 1}}, {"configurable": {"mine": 1, "a": 1}}),
            ({"run_id": "x"}, {"max_concurrency": 2}, {"run_id": "x", "max_concurrency": 2}),
        ],
    )
    def test_key_by_key(self, first: Any, second: Any, both: Any) -> None:
        assert merged(first, second) == both

    def test_what_is_merged_stays_as_it_is(self) -> None:
        first: Any = {"tags": ["t"], "configurable": {"a": 1}}
        second: Any = {"tags": ["u"], "configurable": {"b": 2}}
        both: Any = merged(first, second)
        both["tags"].append("v")
        both["configurable"]["c"] = 3
        assert first == {"tags": ["t"], "configurable": {"a": 1}}
        assert second == {"tags": ["u"], "configurable": {"b": 2}}

    @pytest.mark.parametrize(
        "wrong", [({"recursion_limit": 0}, None), (None, {"max_concurrency": 0})]
    )
    def test_both_are_looked_at(self, wrong: Any) -> None:
        """SS-44."""
        with pytest.raises(ValueError, match="must be at least 1"):
            merged(*wrong)
