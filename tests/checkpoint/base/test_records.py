"""The records of a thread, and the rules for metadata and order."""

from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest

from minigraph.checkpoint import base
from minigraph.checkpoint.base.records import (
    EXCLUDED_METADATA_KEYS,
    WRITES_IDX_MAP,
    CheckpointTuple,
    copy_checkpoint,
    empty_checkpoint,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from minigraph.errors import EmptyChannelError


class Mode(StrEnum):
    FAST = "fast"


def test_public_names_are_at_the_references_address() -> None:
    """Every name of `__all__` opens, and the error class is the one of `minigraph.errors`."""
    for name in base.__all__:
        assert getattr(base, name) is not None
    assert base.EmptyChannelError is EmptyChannelError
    with pytest.raises(AttributeError, match="NoSuchThing"):
        _ = base.NoSuchThing


def test_special_writes_have_fixed_places() -> None:
    """CP-20."""
    assert WRITES_IDX_MAP == {
        "__error__": -1,
        "__scheduled__": -2,
        "__interrupt__": -3,
        "__resume__": -4,
    }


def test_nine_keys_are_kept_out_of_metadata() -> None:
    """CP-13."""
    assert sorted(EXCLUDED_METADATA_KEYS) == [
        "checkpoint_id",
        "checkpoint_map",
        "checkpoint_ns",
        "langgraph_checkpoint_ns",
        "langgraph_node",
        "langgraph_path",
        "langgraph_step",
        "langgraph_triggers",
        "thread_id",
    ]


def test_metadata_takes_in_scalars_of_the_config() -> None:
    """CP-13: from `metadata`, then `configurable`; no key twice, reserved ones left out."""
    config: Any = {
        "metadata": {
            "a": "x\0y",
            "thread_id": "no",
            "__private": 1,
            "a list": [1],
            "f": 1.5,
            "nothing": None,
            "source": "not this one",
        },
        "configurable": {"b": 2, "checkpoint_ns": "no", "a": "too late", "flag": True},
    }
    metadata: Any = {"source": "loop", "step": 1, "k": "z\0"}
    result = get_checkpoint_metadata(config, metadata)
    assert list(result.items()) == [
        ("source", "loop"),
        ("step", 1),
        ("k", "z"),
        ("a", "xy"),
        ("f", 1.5),
        ("b", 2),
        ("flag", True),
    ]
    assert metadata == {"source": "loop", "step": 1, "k": "z\0"}


def test_metadata_of_the_runtime_is_kept_whatever_its_type() -> None:
    """SV-06: only the config's entries are chosen from."""
    metadata: Any = {"parents": {"": "1\0"}, "thread_id": "mine", "__x": 1, "u": UUID(int=1)}
    assert get_checkpoint_metadata({"configurable": {}}, metadata) == metadata


def test_an_enum_in_the_config_is_not_a_scalar() -> None:
    """CP-13: it would make the checkpoint unreadable where its class is not trusted."""
    assert get_checkpoint_metadata({"configurable": {"mode": Mode.FAST}}, {}) == {}


def test_metadata_needs_no_part_of_the_config() -> None:
    assert get_checkpoint_metadata({}, {"step": 1}) == {"step": 1}


def test_run_id_is_taken_from_metadata_and_configurable_only() -> None:
    """CP-14: not from the config's own `run_id`."""
    assert get_checkpoint_metadata({"run_id": "r", "configurable": {}}, {}) == {}
    assert get_checkpoint_metadata({"metadata": {"run_id": "r"}}, {}) == {"run_id": "r"}


def test_checkpoint_id_of_a_config() -> None:
    assert get_checkpoint_id({"configurable": {"checkpoint_id": "c"}}) == "c"
    assert get_checkpoint_id({"configurable": {}}) is None


def test_writes_sort_by_path_before_id() -> None:
    """SV-09: the order of parallel tasks is their place, not the hash that is their id."""
    keys = [writes_sort_key("~b", "t1", 0), writes_sort_key("~a", "t2", 1), writes_sort_key("")]
    assert sorted(keys) == [("", "", 0), ("~a", "t2", 1), ("~b", "t1", 0)]


def test_tuple_fields_and_defaults() -> None:
    assert CheckpointTuple._fields == (
        "config",
        "checkpoint",
        "metadata",
        "parent_config",
        "pending_writes",
    )
    assert CheckpointTuple._field_defaults == {"parent_config": None, "pending_writes": None}


def test_empty_checkpoint_has_the_older_form() -> None:
    """CP-06."""
    made: dict[str, Any] = {**empty_checkpoint()}
    assert UUID(made.pop("id")).version == 6
    assert made.pop("ts").endswith("+00:00")
    assert made == {
        "v": 2,
        "channel_values": {},
        "channel_versions": {},
        "versions_seen": {},
        "pending_sends": [],
        "updated_channels": None,
    }


def test_a_copied_checkpoint_can_be_edited() -> None:
    """CP-06: its dicts are its own; keys of another version are left behind."""
    original: Any = {**empty_checkpoint(), "extra": 1}
    original["versions_seen"] = {"n": {"x": 1}}
    original["updated_channels"] = ["x"]
    copied: Any = copy_checkpoint(original)
    assert copied == {key: value for key, value in original.items() if key != "extra"}
    copied["channel_values"]["x"] = 1
    copied["channel_versions"]["x"] = 1
    copied["versions_seen"]["n"]["x"] = 2
    copied["pending_sends"].append(1)
    assert original["channel_values"] == original["channel_versions"] == {}
    assert original["versions_seen"] == {"n": {"x": 1}}
    assert original["pending_sends"] == []


def test_a_checkpoint_of_the_newer_form_can_be_copied() -> None:
    """CP-06: without `pending_sends` and `updated_channels` in it."""
    original: Any = empty_checkpoint()
    del original["pending_sends"], original["updated_channels"]
    copied: Any = copy_checkpoint(original)
    assert (copied["pending_sends"], copied["updated_channels"]) == ([], None)
