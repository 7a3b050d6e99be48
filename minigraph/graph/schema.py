"""Schemas: from annotations to channels, and from channels back to objects.

A user declares the state as a class; the machine knows only channels. This room
translates both ways:

    class State(TypedDict):                        channel
        x: int                                ─▶   LastValue
        log: Annotated[list, operator.add]    ─▶   BinaryOperatorAggregate
        now: Annotated[int, EphemeralValue]   ─▶   the channel that is named
    int, list, Annotated[list, add]           ─▶   a single channel, ``__root__``

    channels read as a dict   ─▶   what the node's schema makes of it
    what a node returned      ─▶   writes

The kinds of schemas with keys, and what a node of such a schema is given:

    TypedDict, other annotated classes        a dict
    dataclass, pydantic dataclass             an instance; its constructor has the last word
    pydantic model                            an instance, validated

Channels hold what was written, as it was written. So a model validates what is *read*, each
time that somebody reads, and its defaults are its readers' affair and never in the state.
Pydantic is not imported: a model tells what must be known about it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping
from functools import partial
from types import FunctionType
from typing import Annotated, Any, ClassVar, NotRequired, Required, get_args, get_origin
from weakref import WeakKeyDictionary

from typing_extensions import ReadOnly, get_type_hints, is_typeddict

from minigraph.channels.base import BaseChannel
from minigraph.channels.binop import BinaryOperatorAggregate
from minigraph.channels.last_value import LastValue
from minigraph.constants import BRANCH_PREFIX, JOIN_PREFIX, RESERVED, ROOT, START
from minigraph.errors import ErrorCode, InvalidUpdateError, message_with_code
from minigraph.managed import Managed
from minigraph.pregel.node import Write
from minigraph.types import Command, Send

# ---------------------------------------------------------------- to channels


def fields_of(schema: Any) -> dict[str, Any]:
    """The annotated keys of a schema; empty for one that is a single value (SG-01).

    Class variables are no keys, nor are private attributes of a model.

    Raises `NameError` for an annotation that cannot be resolved.

    >>> from typing import TypedDict
    >>> fields_of(TypedDict("State", {"x": int})), fields_of(int)
    ({'x': <class 'int'>}, {})
    """
    if not isinstance(schema, type):
        return {}
    if schema not in _fields:
        if all(ANNOTATIONS.isdisjoint(vars(cls)) for cls in schema.__mro__):
            return {}
        _fields[schema] = resolved_fields(schema)
    return _fields[schema]


_fields: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()
"""Known schemas. Resolving annotations is slow, and a graph of many nodes asks for one schema
again and again."""


ANNOTATIONS = frozenset({"__annotations__", "__annotate__", "__annotate_func__"})
"""Where a class keeps its annotations, in one Python or another. Asking for them by their name
would make empty ones for a class that has none, and others would take it for one that has."""

CLASS_VAR: Any = ClassVar  # as a value, to compare with


def resolved_fields(schema: type) -> dict[str, Any]:
    try:
        hints = get_type_hints(schema, include_extras=True)
    except NameError as error:
        raise NameError(
            f"The annotations of {schema.__name__} cannot be resolved: {error}. What they name "
            "must be found in the module of the class, and not in a function or under "
            "TYPE_CHECKING."
        ) from error
    if is_model(schema):
        return {name: hints.get(name, info.annotation) for name, info in models_fields(schema)}
    if dataclasses.is_dataclass(schema):
        return {field.name: hints[field.name] for field in dataclasses.fields(schema)}
    return {
        name: hint for name, hint in hints.items() if (get_origin(hint) or hint) is not CLASS_VAR
    }


def is_keyed(schema: Any) -> bool:
    """Whether a schema is made of keys, of which there may be none, or is a single value.

    >>> from typing import TypedDict
    >>> is_keyed(TypedDict("Nothing", {})), is_keyed(list)
    (True, False)
    """
    return bool(fields_of(schema)) or (
        isinstance(schema, type)
        and (is_typeddict(schema) or is_model(schema) or dataclasses.is_dataclass(schema))
    )


def is_model(schema: type) -> bool:
    """Whether this class is a pydantic model."""
    return hasattr(schema, "model_fields") and hasattr(schema, "model_validate")


def models_fields(model: Any) -> Collection[tuple[str, Any]]:
    """The fields of a pydantic model, as (name, what pydantic knows of it)."""
    fields: Mapping[str, Any] = model.model_fields
    return fields.items()


def name_of(schema: Any) -> str:
    """What to call a schema in a message."""
    return str(getattr(schema, "__name__", schema))


def channels_of(schema: Any) -> dict[str, BaseChannel[Any, Any, Any]]:
    """The channels that a schema declares.

    Raises `ValueError` for a reserved name and for a reducer that does not take two arguments.
    """
    fields = dict(fields_of(schema)) if is_keyed(schema) else {ROOT: schema}
    for name in managed_of(schema):
        del fields[name]
    for name in fields:
        if name in RESERVED or name == START or name.startswith((BRANCH_PREFIX, JOIN_PREFIX)):
            raise ValueError(
                f"Channel name {name!r} is reserved: rename this key of {name_of(schema)}."
            )
    return {name: channel_for(name, annotation) for name, annotation in fields.items()}


def managed_of(schema: Any) -> dict[str, Managed]:
    """The keys of a schema that are no channels, see `minigraph.managed` (MR-01)."""
    return {
        name: extra
        for name, annotation in fields_of(schema).items()
        for extra in take_apart(annotation)[1]
        if isinstance(extra, Managed)
    }


def channel_for(name: str, annotation: Any) -> BaseChannel[Any, Any, Any]:
    """The channel that an annotation means (SG-02, SG-04).

    A channel anywhere in the metadata wins; else a callable at its end is a reducer.

    >>> from operator import add
    >>> type(channel_for("log", Annotated[list, add])).__name__
    'BinaryOperatorAggregate'
    """
    typ, metadata = take_apart(annotation)
    for extra in metadata:
        if isinstance(extra, BaseChannel):
            # The annotation may serve several graphs. A `DeltaChannel` takes the type from it.
            of_type = getattr(extra, "of_type", None)
            channel = extra.copy() if of_type is None else of_type(typ)
            channel.key = name
            return channel
        if isinstance(extra, type) and issubclass(extra, BaseChannel):
            if extra.stores_writes:
                raise ValueError(
                    f"Key {name!r} is annotated with the class {extra.__name__}, which cannot know "
                    f"how to reduce: write {extra.__name__}(reducer)."
                )
            channel = extra(typ)
            channel.key = name
            return channel
    if metadata and callable(metadata[-1]):
        require_reducer(name, metadata[-1])
        reducing: BinaryOperatorAggregate[Any] = BinaryOperatorAggregate(typ, metadata[-1])
        reducing.key = name
        return reducing
    return LastValue(typ, name)


def take_apart(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """An annotation's type and its metadata, without Required and its like.

    >>> take_apart(NotRequired[Annotated[int, "doc"]])
    (<class 'int'>, ('doc',))
    """
    metadata: tuple[Any, ...] = ()
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            metadata = (*annotation.__metadata__, *metadata)
            annotation = annotation.__origin__
        elif origin in (Required, NotRequired, ReadOnly):
            annotation = get_args(annotation)[0]
        else:
            return annotation, metadata


def require_reducer(name: str, reducer: Callable[..., Any]) -> None:
    """Refuse a reducer that cannot be called with (state, write) (SG-03)."""
    try:
        signature = inspect.signature(reducer)
    except (TypeError, ValueError):
        if isinstance(reducer, type):
            raise ValueError(
                f"Invalid reducer signature for key {name!r}: the last item of its annotation is "
                f"the class {reducer.__name__}, which would be called with (current, write)."
            ) from None
        return  # written in C, and silent about its parameters
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if sum(p.kind in positional for p in signature.parameters.values()) != 2:
        raise ValueError(
            f"Invalid reducer signature for key {name!r}: a reducer takes (current, write) and "
            f"returns the new value, but {getattr(reducer, '__name__', reducer)} takes {signature}."
        )


# ---------------------------------------------------------------- to objects


def selection_of(schema: Any) -> str | tuple[str, ...]:
    """The channels to read for somebody who expects this schema."""
    return tuple(fields_of(schema)) if is_keyed(schema) else ROOT


def mapper_of(schema: Any) -> Callable[[Any], Any] | None:
    """From a dict of channels to an object of the schema; None if the dict itself will do.

    It raises what the schema raises: pydantic's `ValidationError`, or a dataclass's `TypeError`
    for a field that has neither a value nor a default (SG-08).
    """
    if not isinstance(schema, type):
        return None
    if is_model(schema):
        # Channels are called like fields. A model with aliases must be told so, or it finds none.
        aliased = any(info.validation_alias is not None for _, info in models_fields(schema))
        validate: Callable[..., Any] = schema.model_validate  # type: ignore[attr-defined]  # a model
        if aliased and "by_name" in inspect.signature(validate).parameters:
            return partial(validate, by_name=True, by_alias=False)
        return partial(construct, schema)
    if dataclasses.is_dataclass(schema):
        late = frozenset(field.name for field in dataclasses.fields(schema) if not field.init)
        return partial(construct_and_set, schema, late) if late else partial(construct, schema)
    return None


def maker_of(schema: Any) -> Callable[[Any], Any] | None:
    """From values to an object of the schema, for those who are shown values; None as above.

    Values that the schema does not know are left out. If it cannot be made, the values stay.
    """
    mapper = mapper_of(schema)
    if mapper is None:
        return None
    fields = fields_of(schema)

    def make(values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        try:
            return mapper({name: values[name] for name in fields if name in values})
        except Exception:
            return values

    return make


def construct(schema: type, values: Mapping[str, Any]) -> Any:
    return schema(**values)


def construct_and_set(schema: type, late: Collection[str], values: Mapping[str, Any]) -> Any:
    """The same, where the constructor does not take the `late` fields."""
    made = schema(**{name: value for name, value in values.items() if name not in late})
    for name in late:
        if name in values:
            object.__setattr__(made, name, values[name])  # it may be frozen
    return made


def validates(schema: Any) -> bool:
    """Whether a schema has an opinion about its values: a pydantic model or dataclass."""
    return hasattr(schema, "__pydantic_validator__")


def check_values(schema: Any, values: Mapping[str, Any], new: Collection[str]) -> None:
    """Let a schema that `validates` look at values that are perhaps not all.

    Args:
        values: the `new` ones, completed by those that are there already.

    Raises its `ValidationError` for a new value that cannot be. Where something is missing, its
    validators may stumble over that; so what they say of the whole, or raise besides, counts only
    if this is the whole.
    """
    make = mapper_of(schema)
    if make is None:
        return
    whole = values.keys() >= fields_of(schema).keys()
    try:
        make(values)
    except Exception as error:
        problems: Callable[[], Any] = getattr(error, "errors", list)
        for place, kind in [(problem["loc"], problem["type"]) for problem in problems()]:
            absent = len(place) == 1 and kind.startswith("missing")
            if place and place[0] in new and not absent:
                raise
        if whole:
            raise


def parameter_schema(function: Callable[..., Any], hints: Mapping[str, Any]) -> Any | None:
    """The schema that a function's first parameter is annotated with, if there is one (SG-08).

    Args:
        function: the function.
        hints: its annotations, from `annotations_of`.
    """
    if not hints:
        return None
    code = getattr(function, "__code__", None)
    if code is not None and code.co_argcount and code.co_varnames[0] in hints:
        first: str | None = code.co_varnames[0]  # so it is no `self`; and a signature is slow
    else:
        try:
            first = next(iter(inspect.signature(function).parameters), None)
        except (TypeError, ValueError):
            return None
    schema = hints.get(first) if first else None
    return schema if fields_of(schema) else None


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """A callable's annotations as types; empty when there are none that Python can resolve."""
    if type(function) is not FunctionType and not inspect.isroutine(function):
        function = getattr(function, "__call__", function)  # noqa: B004  # the bound method
    if not getattr(function, "__annotations__", None):
        return {}
    try:
        return get_type_hints(function)
    except (NameError, TypeError):
        return {}


# ---------------------------------------------------------------- to writes


def updates_of(node: str, keys: Collection[str], result: Any) -> list[Write]:
    """The state update that a node's result means (SG-40 to SG-42, CS-01).

    Args:
        node: who returned it, for the error.
        keys: the state's channels; other keys are dropped.
        result: a dict, an object with annotated fields, a `Command`, a list with at least one
            Command in it, or None.

    Raises `InvalidUpdateError` for anything else.

    >>> updates_of("a", {"x"}, {"x": 1, "unknown": 2})
    [('x', 1)]
    >>> updates_of("a", {"x"}, Command(update={"x": 1}, goto="b"))
    [('x', 1)]
    """
    if isinstance(result, dict):
        return [(key, value) for key, value in result.items() if key in keys]
    if result is None or isinstance(result, Send):
        return []
    if isinstance(result, Command):
        return [(key, value) for key, value in command_updates(result) if key in keys]
    if has_command(result):
        return [write for each in result for write in updates_of(node, keys, each)]
    if fields_of(type(result)):
        return [(key, value) for key, value in field_values(result) if key in keys]
    found = f"{result!r:.200} ({type(result).__name__})."
    if node == START:
        raise InvalidUpdateError(
            f"The input must be a dict with keys among {sorted(keys)}, but it is {found}"
        )
    hint = ""
    if isinstance(result, (list, tuple)) and any(isinstance(each, Send) for each in result):
        hint = " To send, return Command(goto=[Send(…)]), or send from a conditional edge."
    raise InvalidUpdateError(
        message_with_code(
            f"Node {node!r} must return a dict of state updates, a Command, or None, but it "
            f"returned {found}{hint}",
            ErrorCode.INVALID_GRAPH_NODE_RETURN_VALUE,
        )
    )


def root_updates_of(result: Any) -> list[Write]:
    """The same for a state that is a single value: anything but None replaces or feeds it (SG-43).

    >>> root_updates_of(5), root_updates_of(None)
    ([('__root__', 5)], [])
    """
    if isinstance(result, Command):
        return root_updates_of(result.update)
    if has_command(result):
        # Beside a Command, None is one value among others.
        return [w for x in result for w in ([(ROOT, None)] if x is None else root_updates_of(x))]
    return [] if result is None or isinstance(result, Send) else [(ROOT, result)]


def has_command(result: Any) -> bool:
    return isinstance(result, (list, tuple)) and any(isinstance(x, Command) for x in result)


def command_updates(command: Command[Any]) -> list[Write]:
    """A command's update as pairs; a key may repeat (CS-01)."""
    update = command.update
    if update is None:
        return []
    if isinstance(update, dict):
        return list(update.items())
    if isinstance(update, (list, tuple)) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in update
    ):
        return [(key, value) for key, value in update]
    return field_values(update)


def field_values(value: Any) -> list[Write]:
    """The fields of an object that are there, as (name, value) (SG-42).

    A model has all its fields. Those that nobody set, and that are None by default, say nothing.
    """
    kind = type(value)
    silent: Collection[str] = ()
    if is_model(kind):
        silent = {
            name
            for name, info in models_fields(kind)
            if info.default is None and name not in value.model_fields_set
        }
    return [
        (name, getattr(value, name))
        for name in fields_of(kind)
        if hasattr(value, name) and not (name in silent and getattr(value, name) is None)
    ]
