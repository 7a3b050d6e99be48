"""langchain-core's messages as values: safe, exact, and imported only when they are met."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from ormsgpack import Ext, packb

from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.extensions import SAFE_MODELS, take_apart
from minigraph.checkpoint.serde.jsonplus import InvalidModuleError, JsonPlusSerializer

langchain: Any = pytest.importorskip("langchain_core.messages")
documents: Any = pytest.importorskip("langchain_core.documents")

STRICT = JsonPlusSerializer(allowed_msgpack_modules=[])
LENIENT = JsonPlusSerializer(allowed_msgpack_modules=None)

CALL: Any = {"name": "f", "args": {"x": [1]}, "id": "c", "type": "tool_call"}
USAGE: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}

VALUES = [
    langchain.HumanMessage("hi", id="1"),
    langchain.HumanMessage([{"type": "text", "text": "hi"}], name="Bob"),
    langchain.AIMessage("yo", tool_calls=[CALL], usage_metadata=USAGE, response_metadata={"a": 1}),
    langchain.SystemMessage("be kind", additional_kwargs={"x": (1, 2)}),
    langchain.ToolMessage("7", tool_call_id="c", status="error", artifact={1, 2}),
    langchain.FunctionMessage("7", name="f"),
    langchain.ChatMessage("hi", role="narrator"),
    langchain.RemoveMessage(id="1"),
    langchain.AIMessageChunk("y", tool_call_chunks=[{**CALL, "args": "{", "index": 0}]),
    langchain.HumanMessageChunk("h"),
    langchain.SystemMessageChunk("s"),
    langchain.ToolMessageChunk("t", tool_call_id="c"),
    langchain.FunctionMessageChunk("f", name="f"),
    langchain.ChatMessageChunk("c", role="narrator"),
    documents.Document("text", metadata={"page": 1}, id="1"),
]


def address(value: Any) -> tuple[str, str]:
    return type(value).__module__, type(value).__qualname__


def test_all_of_them_are_here() -> None:
    """SD-24: the safe list has what is tested below, and is where langchain-core has it."""
    assert {address(value) for value in VALUES} == SAFE_MODELS


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_they_need_no_permission(value: Any) -> None:
    """SD-24, SD-12: neither to be written nor to be read, and they come back exactly."""
    stored = STRICT.dumps_typed({"messages": [value]})

    for reader in (STRICT, JsonPlusSerializer(), LENIENT):
        (again,) = reader.loads_typed(stored)["messages"]
        assert again == value
        assert type(again) is type(value)
        assert again.model_fields_set == value.model_fields_set
    assert STRICT.loads_typed(stored) == STRICT.loads_typed(stored)  # the maker is remembered


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_each_package_reads_the_others(value: Any) -> None:
    """SD-11, SD-15."""
    theirs = pytest.importorskip("langgraph.checkpoint.serde.jsonplus").JsonPlusSerializer()
    # Without what the reference does not keep as it is: tuples and sets in a dump.
    empty = {"additional_kwargs": {}, "artifact": None}
    known = {name: part for name, part in empty.items() if hasattr(value, name)}
    plain = value.model_copy(update=known)

    assert theirs.loads_typed(STRICT.dumps_typed([plain])) == [plain]
    assert STRICT.loads_typed(theirs.dumps_typed([plain])) == [plain]
    assert take_apart(plain)[1][:2] == [*address(value)]


def test_others_of_the_package_are_not_safe() -> None:
    """SD-22, SD-24: nor is a function of these modules called."""
    for module, name in (
        ("langchain_core.messages.human", "BaseMessage"),
        ("langchain_core.messages.ai", "InputTokenDetails"),
        ("langchain_core.load.serializable", "Serializable"),
    ):
        for code in (0, 2, 5):
            data = packb(
                [Ext(code, packb([module, name, {"content": "x"}, "model_validate_json"]))]
            )
            with pytest.raises(InvalidModuleError, match=f"{module}.{name}"):
                STRICT.loads_typed(("msgpack", data))


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4])
def test_they_are_built_as_models_only(code: int) -> None:
    """SD-24: not by a constructor that data calls."""
    parts = ["langchain_core.messages.human", "HumanMessage", {"content": "x"}]
    parts += ["model_validate_json"] if code == 3 else []

    with pytest.raises(UnreadableError):
        STRICT.loads_typed(("msgpack", packb([Ext(code, packb(parts))])))


IMPORTED_WHEN_MET = """
import sys

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from minigraph.graph import START, MessagesState, StateGraph

def imported():
    return sorted({name.partition(".")[0] for name in sys.modules if name.startswith("lang")})

builder = StateGraph(MessagesState).add_node("echo", lambda state: {"messages": state["messages"]})
graph = builder.add_edge(START, "echo").compile(checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "t"}}
talk = graph.invoke({"messages": [("user", "hi")]}, thread)["messages"]
print(type(talk[0]).__name__, imported())

data = sys.stdin.buffer.read()
(found,) = JsonPlusSerializer().loads_typed(("msgpack", data))
print(type(found).__name__, imported())
talk = graph.invoke({"messages": [("ai", "yo")]}, thread)["messages"]
print([type(message).__name__ for message in talk])
"""


def test_imported_only_when_data_names_one() -> None:
    """SD-24, SG-81: until then messages are dicts; from then on, they are objects."""
    run = subprocess.run(
        [sys.executable, "-c", IMPORTED_WHEN_MET],
        input=STRICT.dumps_typed([VALUES[0]])[1],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=120,
    )

    first, second, third = run.stdout.decode().splitlines()
    assert first == "dict []"
    assert second.startswith("HumanMessage ['langchain_core'")
    assert third == "['HumanMessage', 'AIMessage']"
