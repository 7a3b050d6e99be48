"""Messages: a list that grows as people and models talk.

A message is said once, and may be corrected or taken back later. So the list has a reducer that
looks at ids:

    the list      [1: "hi", 2: "hello"]
    is written    [2: "Hello!", 3: "How are you?", remove 1]
    the list      [2: "Hello!", 3: "How are you?"]

*What is a message?* A dict with a role and a content, as models take and give them. There are two
short forms: ``("assistant", "hello")``, and a text alone, which is the user's.

Or an object of langchain-core's. Where the program has imported `langchain_core.messages`, all
messages are its objects, whatever they were written as, and they are what LangGraph's would be.
Nothing here imports it, and a program without it has dicts all along. To let each message stay
what it was written as would be simpler here, and wrong for those who read: a node that says
``state["messages"][-1].content`` must be able to rely on it.

*Where do ids come from?* A message that has none is given one, when a node returns it and before
it is stored: `prepare` is for that. A reducer alone would come too late. Its value may be worked
out several times: for a path function and then for the state; after a crash; or, in a
`DeltaChannel`, each time that somebody reads. It would be another id each time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Any, Final, TypeAlias, TypeVar, overload
from uuid import uuid4

from typing_extensions import TypedDict

from minigraph.channels.whole import overwrite_value
from minigraph.constants import MISSING
from minigraph.types import Overwrite

__all__ = [
    "REMOVE_ALL_MESSAGES",
    "MessagesState",
    "RemoveMessage",
    "add_messages",
    "messages_delta_reducer",
]

REMOVE_ALL_MESSAGES: Final = "__remove_all__"
"""The id for a `RemoveMessage` that removes all that came before it."""

Messages: TypeAlias = Any
"""A message in any of its forms, or a list of them."""

Reducer = TypeVar("Reducer", bound=Callable[..., Any])

REMOVAL: Final = "remove"

SHORT: Final = {"human": "user", "ai": "assistant"}
"""Other names of roles, in the short form; models know the ones behind them."""

ROLES: Final = (*SHORT, *SHORT.values(), "system", "developer", "tool", "function", REMOVAL)


# ---------------------------------------------------------------- the two reducers


def prepare(write: Messages) -> Any:
    """What a node has written, as it is stored: a list of messages, each with an id (SG-82).

    An `Overwrite` stays one, with such a list in it.

    Raises `ValueError` or `NotImplementedError` for what is no message, as langchain-core does.

    >>> prepare([{"role": "user", "content": "hi", "id": "1"}])
    [{'role': 'user', 'content': 'hi', 'id': '1'}]
    """
    return prepared(write)


def prepared(write: Messages, format: str | None = None) -> Any:
    if write is None:
        return None  # which the reducer refuses, as it always has
    whole = overwrite_value(write)
    if whole is MISSING:
        return with_ids(as_messages(write, format))
    return Overwrite(None if whole is None else with_ids(as_messages(whole, format)))


def prepared_by(prepare: Callable[[Any], Any]) -> Callable[[Reducer], Reducer]:
    """Have the writes for this reducer prepared before they are stored.

    A `StateGraph` looks for the attribute; see `minigraph.graph.compile.preparations_of`.
    """

    def mark(reducer: Reducer) -> Reducer:
        marked: Any = reducer
        marked.prepare_write = prepare
        return reducer

    return mark


@overload
def add_messages(left: Messages, right: Messages, *, format: str | None = None) -> list[Any]: ...
@overload
def add_messages(*, format: str | None = None) -> Callable[[Messages, Messages], list[Any]]: ...
@prepared_by(prepare)
def add_messages(
    left: Messages = None, right: Messages = None, *, format: str | None = None
) -> Any:
    """The messages of `left`, and those of `right` added to them (SG-80).

    In the order of `right`: a message whose id is known takes the place of the one that has it.
    Others go to the end. A `RemoveMessage` removes the one with its id; with the id
    `REMOVE_ALL_MESSAGES`, all that were there, and those before it in `right`. Who has no id is
    given one (SG-81). Neither argument is changed.

    Args:
        left: a list of messages, or a single one.
        right: likewise.
        format: ``"langchain-openai"`` has the contents brought into OpenAI's form. That is the
            work of langchain-core, so it must have been imported (SG-84).

    Without `left` and `right` it gives a reducer, for a schema:
    ``Annotated[list, add_messages(format="langchain-openai")]``.

    Raises `ValueError` if only one of them is given, for an id that there is nothing to remove of,
    and for another format; and what `prepare` raises.

    >>> talk = [{"role": "user", "content": "hi", "id": "1"}]
    >>> answer = {"role": "assistant", "content": "Hello!", "id": "2"}
    >>> [message["content"] for message in add_messages(talk, answer)]
    ['hi', 'Hello!']
    >>> add_messages([*talk, answer], RemoveMessage("1")) == [answer]
    True
    """
    if format not in (None, "langchain-openai"):
        raise ValueError(f"The format is 'langchain-openai' or None, not {format!r}.")
    if left is None and right is None:
        return prepared_by(partial(prepared, format=format))(partial(add_messages, format=format))
    if left is None or right is None:
        raise ValueError(
            "add_messages takes two lists of messages, but the "
            f"{'first' if left is None else 'second'} is None. A node that has nothing to say "
            "leaves the key out."
        )
    return folded(with_ids(as_messages(left, format)), [with_ids(as_messages(right, format))])


@prepared_by(prepare)
def messages_delta_reducer(state: Messages, writes: Sequence[Messages]) -> list[Any]:
    """The same for a `DeltaChannel`: ``Annotated[list, DeltaChannel(messages_delta_reducer)]``.

    It does what `add_messages` would do with one write after the other. So it makes no difference
    how they are grouped, and a list that is put together from stored writes is the one that was
    there (SG-83, DC-02). It gives no ids, which would differ each time; a graph has given them
    before.

    >>> messages_delta_reducer([], [("user", "hi"), [("assistant", "Hello!")]]) == (
    ...     messages_delta_reducer(messages_delta_reducer([], ["hi"]), [("assistant", "Hello!")])
    ... )
    True
    """
    return folded(as_messages(state), map(as_messages, writes))


_messages_delta_reducer = messages_delta_reducer  # as the reference calls it


class MessagesState(TypedDict):
    """A state that is a conversation. Subclass it to keep more than that (SG-85)."""

    messages: Annotated[list[Any], add_messages]


def RemoveMessage(id: str) -> dict[str, Any]:
    """What to write, to have the message with this id removed.

    langchain-core's class of this name does as well.

    >>> RemoveMessage("1")
    {'role': 'remove', 'content': '', 'id': '1'}
    """
    return {"role": REMOVAL, "content": "", "id": id}


# ---------------------------------------------------------------- the merge


def folded(messages: Sequence[Any], writes: Iterable[Sequence[Any]]) -> list[Any]:
    """The messages after these writes, one by one. In a write, a message that is removed and comes
    again keeps its place."""
    result = [*messages]
    places = places_of(result)
    for write in writes:
        if start := after_removal_of_all(write):
            result, places = [], {}
        removed: set[Any] = set()
        for message in write[start:]:
            id = field(message, "id")
            if is_removal(message):
                if id not in places:
                    raise ValueError(
                        f"There is no message with the id {id!r} to remove. It may have been "
                        f"removed before; remove only what is among the {len(result)} messages."
                    )
                removed.add(id)
            elif id in places:
                result[places[id]] = message
                removed.discard(id)
            else:
                if id is not None:
                    places[id] = len(result)
                result.append(message)
        if removed:
            result = [message for message in result if field(message, "id") not in removed]
            places = places_of(result)
    return result


def places_of(messages: Sequence[Any]) -> dict[Any, int]:
    ids = (field(message, "id") for message in messages)
    return {id: place for place, id in enumerate(ids) if id is not None}


def after_removal_of_all(write: Sequence[Any]) -> int:
    """Where what counts of this write begins: what is removed with all others need not be right."""
    ends = (
        end
        for end, message in enumerate(write, 1)
        if field(message, "id") == REMOVE_ALL_MESSAGES and is_removal(message)
    )
    return max(ends, default=0)


def is_removal(message: Any) -> bool:
    role = field(message, "role") if isinstance(message, dict) else None
    return bool((role or field(message, "type")) == REMOVAL)


def field(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)


def with_ids(messages: Iterable[Any]) -> list[Any]:
    """Copies for those that have no id. A message that a program keeps, to say it again and again,
    must not be given one: said twice, it would replace itself."""
    return [
        with_id(message, str(uuid4()))
        if field(message, "id") is None and not is_removal(message)
        else message
        for message in messages
    ]


def with_id(message: Any, id: str) -> Any:
    if isinstance(message, dict):
        return {**message, "id": id}
    return message.model_copy(update={"id": id})


# ---------------------------------------------------------------- what is a message?


def as_messages(value: Messages, format: str | None = None) -> list[Any]:
    """A new list of messages: dicts, or objects where the program has them."""
    items = value if isinstance(value, list) else [value]
    if isinstance(value, tuple) and not (len(value) == 2 and isinstance(value[0], str)):
        raise NotImplementedError(
            f"A tuple is one message, (role, content), but this one has {len(value)} items: "
            f"{value!r:.200}. Several messages are a list."
        )
    langchain = langchain_messages()
    if langchain is not None:
        objects = [as_object(langchain, item) for item in items]
        return objects if format is None else in_openai_format(langchain, objects)
    if format is not None:
        raise ImportError(
            f"The format {format!r} is the work of langchain-core: import langchain_core.messages "
            "in your program, or leave the format out."
        )
    return [as_dict(item) for item in items]


def langchain_messages() -> Any:
    """The module, if the program has imported it; None if not, or if it is still at it."""
    module = sys.modules.get("langchain_core.messages")
    return module if hasattr(module, "convert_to_messages") else None


def as_object(langchain: Any, item: Any) -> Any:
    if isinstance(item, langchain.BaseMessage):
        return langchain.message_chunk_to_message(item)
    return langchain.convert_to_messages([item])[0]


def in_openai_format(langchain: Any, messages: Iterable[Any]) -> list[Any]:
    """The same messages with other contents. One with results of tools in it becomes several."""
    result: list[Any] = []
    for message in messages:
        if is_removal(message):
            result.append(message)
            continue
        told = langchain.convert_to_messages(langchain.convert_to_openai_messages([message]))
        if [type(each) for each in told] == [type(message)]:  # OpenAI has no room for the rest
            parts = ("content", "tool_calls")
            update = {name: getattr(told[0], name) for name in parts if hasattr(told[0], name)}
            told = [message.model_copy(update=update)]
        result.extend(told)
    return result


def as_dict(item: Any) -> Any:
    """A message as a dict.

    >>> as_dict("hi"), as_dict(("ai", "Hello!"))
    ({'role': 'user', 'content': 'hi'}, {'role': 'assistant', 'content': 'Hello!'})
    """
    message: Any
    match item:
        case str():
            message = {"role": "user", "content": item}
        case (str(role), content):
            message = {"role": SHORT.get(role, role), "content": content}
        case dict():
            message = item
        case _:
            raise NotImplementedError(
                "A message is a dict with 'role' and 'content', a tuple (role, content), or a "
                f"text, but this is a {type(item).__name__}: {item!r:.200}."
            )
    role = message.get("role", message.get("type"))
    if role is None or ("content" not in message and role != REMOVAL):
        raise ValueError(f"A message has a 'role' and a 'content', but this is {item!r:.200}.")
    if role not in ROLES:
        known = ", ".join(map(repr, ROLES))
        raise ValueError(f"The role of a message is one of {known}, but this is {item!r:.200}.")
    return message
