"""The contract of a saver, as far as the base class fulfils it."""

import asyncio

import pytest
from ormsgpack import Ext, packb

from minigraph.checkpoint.base.records import CheckpointTuple, empty_checkpoint
from minigraph.checkpoint.base.saver import BaseCheckpointSaver
from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.jsonplus import InvalidModuleError, JsonPlusSerializer
from minigraph.types import RunnableConfig

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
CHECKPOINT = empty_checkpoint()

SYNC = {
    "get": (CONFIG,),
    "get_tuple": (CONFIG,),
    "list": (CONFIG,),
    "put": (CONFIG, CHECKPOINT, {}, {}),
    "put_writes": (CONFIG, [], "task"),
    "delete_thread": ("t",),
    "delete_for_runs": (["r"],),
    "copy_thread": ("t", "u"),
    "prune": (["t"],),
}


@pytest.mark.parametrize("method", SYNC)
def test_the_base_class_stores_nothing(method: str) -> None:
    """SV-01, SV-02: the error names the method that a subclass must write."""
    missing = "get_tuple" if method == "get" else method
    with pytest.raises(NotImplementedError, match=rf"BaseCheckpointSaver has no {missing}\(\)"):
        getattr(BaseCheckpointSaver(), method)(*SYNC[method])


@pytest.mark.parametrize("method", SYNC)
def test_nor_do_its_async_twins(method: str) -> None:
    """SV-01, SV-02."""

    async def call() -> None:
        result = getattr(BaseCheckpointSaver(), f"a{method}")(*SYNC[method])
        if method == "list":
            async for _ in result:
                pass
        else:
            await result

    missing = "aget_tuple" if method == "get" else f"a{method}"
    with pytest.raises(NotImplementedError, match=rf"BaseCheckpointSaver has no {missing}\(\)"):
        asyncio.run(call())


def test_get_is_get_tuple_without_the_rest() -> None:
    """SV-01: a subclass gets `get` and `aget` for free."""

    class Fixed(BaseCheckpointSaver[int]):
        def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
            known = config["configurable"]["thread_id"] == "t"
            return CheckpointTuple(config, CHECKPOINT, {}) if known else None

        async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
            return self.get_tuple(config)

    unknown: RunnableConfig = {"configurable": {"thread_id": "u"}}
    assert Fixed().get(CONFIG) is CHECKPOINT
    assert Fixed().get(unknown) is None
    assert asyncio.run(Fixed().aget(CONFIG)) is CHECKPOINT
    assert asyncio.run(Fixed().aget(unknown)) is None


def test_versions_are_ints_from_one() -> None:
    """CP-05."""
    saver: BaseCheckpointSaver[int] = BaseCheckpointSaver()
    assert saver.get_next_version(None, None) == 1
    assert saver.get_next_version(3, None) == 4


def test_text_versions_need_a_method_of_their_own() -> None:
    """CP-05."""
    saver: BaseCheckpointSaver[str] = BaseCheckpointSaver()
    with pytest.raises(NotImplementedError, match="get_next_version for text versions"):
        saver.get_next_version("x", None)


def test_the_default_serializer_is_safe() -> None:
    """SV-01, SD-22: and a subclass has it without calling `__init__`."""

    class Careless(BaseCheckpointSaver[int]):
        def __init__(self) -> None:
            pass

    for saver in (BaseCheckpointSaver(), Careless()):
        assert type(saver.serde) is JsonPlusSerializer
        with pytest.raises(InvalidModuleError):
            saver.serde.loads_typed(("msgpack", packb(Ext(0, packb(["os", "abort", 0])))))


def test_a_given_serializer_is_used() -> None:
    serde = JsonPlusSerializer(allowed_msgpack_modules=True)
    assert BaseCheckpointSaver(serde=serde).serde is serde


def test_there_is_nothing_to_configure() -> None:
    """SV-01: as in the reference, for frameworks that ask everything they are given."""
    assert BaseCheckpointSaver().config_specs == InMemorySaver().config_specs == []
