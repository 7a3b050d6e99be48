"""Encryption: nothing readable in the store, and nothing believed that was changed in it."""

import dataclasses
import importlib
import json
import sqlite3
import sys
from typing import Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minigraph.checkpoint.memory import InMemorySaver
from minigraph.checkpoint.serde.base import UnreadableError
from minigraph.checkpoint.serde.encrypted import AesCipher, DecryptionError, EncryptedSerializer
from minigraph.checkpoint.serde.jsonplus import InvalidModuleError, JsonPlusSerializer
from minigraph.checkpoint.sqlite import SqliteSaver
from minigraph.graph import START, StateGraph

KEY = b"0123456789abcdef"


class Xor:
    """A cipher of a user's: no secret, no seal."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "xor", bytes(byte ^ 1 for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "xor"
        return bytes(byte ^ 1 for byte in ciphertext)


@dataclasses.dataclass
class Note:
    text: str


class State(TypedDict):
    note: Note


@pytest.fixture
def serializer() -> EncryptedSerializer:
    pytest.importorskip("Crypto")
    return EncryptedSerializer.from_pycryptodome_aes(key=KEY)


VALUES = [None, b"x", bytearray(b"x"), "secret", {"a": [1, (2,)]}]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_round_trip(value: Any, serializer: EncryptedSerializer) -> None:
    """SD-30: the tag is the inner one, and the cipher's name."""
    tag, content = serializer.dumps_typed(value)
    inner_tag, plaintext = JsonPlusSerializer().dumps_typed(value)
    assert tag == f"{inner_tag}+aes"
    assert serializer.loads_typed((tag, content)) == value
    assert len(content) == len(plaintext) + 32  # SD-33
    assert serializer.dumps_typed(value)[1] != content
    if len(plaintext) > 3:
        assert plaintext not in content


def test_a_cipher_of_ones_own() -> None:
    """SD-31: two methods are enough."""
    serializer = EncryptedSerializer(Xor())
    assert serializer.dumps_typed([1]) == ("msgpack+xor", b"\x90\x00")
    assert serializer.dumps_typed(None) == ("null+xor", b"")
    assert serializer.loads_typed(("msgpack+xor", b"\x90\x00")) == [1]


def test_a_serializer_of_ones_own() -> None:
    """SD-30: what is inside may be any; also one without tags."""
    import pickle

    serde: Any = pickle
    serializer = EncryptedSerializer(Xor(), serde)
    assert serializer.dumps_typed({1})[0] == "set+xor"
    assert serializer.loads_typed(serializer.dumps_typed({1})) == {1}


class Plus(Xor):
    """A cipher whose name has a plus in it."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "aes+hmac", super().encrypt(plaintext)[1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "aes+hmac"
        return super().decrypt("xor", ciphertext)


def test_a_plus_in_the_name_of_a_cipher() -> None:
    """SD-30, SD-31: the first plus is the one between tag and name, as in the reference."""
    serializer = EncryptedSerializer(Plus())
    assert serializer.dumps_typed([1]) == ("msgpack+aes+hmac", b"\x90\x00")
    assert serializer.loads_typed(("msgpack+aes+hmac", b"\x90\x00")) == [1]


def test_a_plus_in_the_inner_tag(serializer: EncryptedSerializer) -> None:
    """SD-30: of a serializer that encrypts as well. It is written down differently."""

    class Tagged:
        def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
            return "100%2B+%", obj

        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            assert data[0] == "100%2B+%"
            return data[1]

    for outer in (EncryptedSerializer(Plus(), serializer), EncryptedSerializer(Plus(), Tagged())):
        tag, content = outer.dumps_typed(b"x")
        assert tag in ("bytes%2Baes+aes+hmac", "100%252B%2B%25+aes+hmac")
        assert outer.loads_typed((tag, content)) == b"x"
    twice = EncryptedSerializer.from_pycryptodome_aes(serializer, key=b"another key....!")
    assert twice.loads_typed(twice.dumps_typed({"a": 1})) == {"a": 1}


class Mine(EncryptedSerializer):
    """A subclass with another constructor, and something of its own."""

    def __init__(self, note: str) -> None:
        super().__init__(Xor())
        self.note = note


def test_a_wider_copy_of_a_subclass() -> None:
    """SD-25: it is a copy, and no constructor is asked."""
    serializer = Mine("kept")
    wider = serializer.with_msgpack_allowlist([Note])
    assert (type(wider), wider.note, wider.cipher) == (Mine, "kept", serializer.cipher)
    assert wider.loads_typed(wider.dumps_typed(Note("a"))) == Note("a")
    with pytest.raises(TypeError, match="Note"):
        serializer.dumps_typed(Note("a"))
    assert wider.with_msgpack_allowlist([Note]) is wider


@pytest.mark.parametrize("tag", [None, 5, b"msgpack+aes", "", "+", "+aes"])
@pytest.mark.parametrize("content", [None, 5, "text", b""])
def test_what_a_column_may_hold(tag: Any, content: Any, serializer: EncryptedSerializer) -> None:
    """SD-14: somebody else may have put anything there."""
    with pytest.raises(UnreadableError):
        serializer.loads_typed((tag, content))


# --------------------------------------------------------------- what is not believed


@settings(max_examples=100, deadline=None)
@given(st.binary(min_size=1, max_size=40), st.integers(0, 10**6), st.integers(1, 255))
def test_a_changed_byte(value: bytes, position: int, difference: int) -> None:
    """SD-33: anywhere: in the nonce, the seal, or the text."""
    pytest.importorskip("Crypto")
    serializer = EncryptedSerializer.from_pycryptodome_aes(key=KEY)
    tag, content = serializer.dumps_typed(value)
    changed = bytearray(content)
    changed[position % len(changed)] ^= difference
    with pytest.raises(DecryptionError, match="cannot be decrypted"):
        serializer.loads_typed((tag, bytes(changed)))


def test_what_was_cut_off(serializer: EncryptedSerializer) -> None:
    """SD-33: at any place, and what was added."""
    tag, content = serializer.dumps_typed("secret")
    for end in range(len(content)):
        with pytest.raises(DecryptionError):
            serializer.loads_typed((tag, content[:end]))
    with pytest.raises(DecryptionError):
        serializer.loads_typed((tag, content + b"\x00"))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_changed_tag(value: Any, serializer: EncryptedSerializer) -> None:
    """SD-35: bytes that are read as something else are another value, or a pickle to be run."""
    tag, content = serializer.dumps_typed(value)
    for other in ("null", "bytes", "bytearray", "msgpack", "pickle", "json", "mine", ""):
        if f"{other}+aes" != tag:
            with pytest.raises(DecryptionError, match=r"it was not .* that it was stored as"):
                serializer.loads_typed((f"{other}+aes", content))
    for wrong in (tag.replace("aes", "xor"), tag + "+aes", tag + "+"):
        with pytest.raises(DecryptionError):
            serializer.loads_typed((wrong, content))


def test_planted_plaintext(serializer: EncryptedSerializer) -> None:
    """SD-36: an encrypted store does not trust what is not encrypted, unless it is told to."""
    for value in VALUES:
        plain = JsonPlusSerializer().dumps_typed(value)
        with pytest.raises(DecryptionError, match=r"is not encrypted.*allow_plaintext=True"):
            serializer.loads_typed(plain)
        migrating = EncryptedSerializer.from_pycryptodome_aes(key=KEY, allow_plaintext=True)
        assert migrating.loads_typed(plain) == value
        assert migrating.dumps_typed(value)[0].endswith("+aes")
        assert migrating.loads_typed(serializer.dumps_typed(value)) == value


def test_another_key(serializer: EncryptedSerializer) -> None:
    """SD-33."""
    other = EncryptedSerializer.from_pycryptodome_aes(key=b"x" * 32)
    with pytest.raises(DecryptionError, match="another key"):
        other.loads_typed(serializer.dumps_typed("secret"))
    assert issubclass(DecryptionError, UnreadableError)  # and so a ValueError, as in the reference


def test_what_is_inside_is_still_not_trusted(serializer: EncryptedSerializer) -> None:
    """SD-22: the inner serializer has its list."""
    wider = serializer.with_msgpack_allowlist([Note])
    data = wider.dumps_typed(Note("x"))
    assert wider.loads_typed(data) == Note("x")
    fresh = EncryptedSerializer.from_pycryptodome_aes(key=KEY)
    with pytest.raises(InvalidModuleError):
        fresh.loads_typed(data)
    with pytest.raises(TypeError, match="Note"):
        fresh.dumps_typed(Note("x"))
    assert wider.with_msgpack_allowlist([Note]) is wider
    assert (
        EncryptedSerializer(Xor(), JsonPlusSerializer(pickle_fallback=True)).dumps_typed(object)[0]
        == "pickle+xor"
    )


# ----------------------------------------------------------------------- keys


@pytest.mark.parametrize("variable", ["LANGGRAPH_AES_KEY", "MINIGRAPH_AES_KEY"])
def test_the_key_may_come_from_the_environment(
    variable: str, monkeypatch: pytest.MonkeyPatch, serializer: EncryptedSerializer
) -> None:
    """SD-32."""
    monkeypatch.setenv(variable, KEY.decode())
    other = EncryptedSerializer.from_pycryptodome_aes()
    assert other.loads_typed(serializer.dumps_typed("secret")) == "secret"


def test_a_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """SD-32: and it has one of three lengths."""
    pytest.importorskip("Crypto")
    monkeypatch.delenv("LANGGRAPH_AES_KEY", raising=False)
    monkeypatch.delenv("MINIGRAPH_AES_KEY", raising=False)
    with pytest.raises(ValueError) as caught:
        EncryptedSerializer.from_pycryptodome_aes()
    assert str(caught.value) == (
        "The LANGGRAPH_AES_KEY environment variable is not set, and neither is MINIGRAPH_AES_KEY. "
        "Set one of them to a key of 16, 24 or 32 characters, or pass a key: "
        "from_pycryptodome_aes(key=…)."
    )
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "short")
    wrong: Any
    for wrong in (None, b"short", b"x" * 33):
        with pytest.raises(ValueError, match="must be 16, 24, or 32 bytes long"):
            EncryptedSerializer.from_pycryptodome_aes(key=wrong)
    for length in (16, 24, 32):
        assert AesCipher(b"k" * length).decrypt(*AesCipher(b"k" * length).encrypt(b"x")) == b"x"


@pytest.mark.parametrize(("key", "kind"), [("x" * 16, "text"), (bytearray(16), "bytearray")])
def test_a_key_is_bytes(key: Any, kind: str) -> None:
    """SD-32: it is not shown."""
    pytest.importorskip("Crypto")
    with pytest.raises(TypeError) as caught:
        EncryptedSerializer.from_pycryptodome_aes(key=key)
    assert str(caught.value) == (
        f"An AES key must be bytes, but this one is {kind}. Write key=b'…', or key=text.encode() "
        "for what is stored as text."
    )


@pytest.mark.parametrize(
    ("cipher", "kind"), [(KEY, "bytes"), ("key", "str"), (None, "NoneType"), (Xor, "a class")]
)
def test_what_is_no_cipher(cipher: Any, kind: str) -> None:
    """SD-31: refused at once, and not shown, since it may be a key."""
    with pytest.raises(TypeError) as caught:
        EncryptedSerializer(cipher)
    assert str(caught.value) == (
        "A cipher is an object with the methods encrypt and decrypt, but this is "
        f"{kind}. With a key, write EncryptedSerializer.from_pycryptodome_aes(key=…)."
    )


def test_a_mode_must_authenticate() -> None:
    """SD-32: one that does not would not notice what was changed."""
    aes = pytest.importorskip("Crypto.Cipher.AES")
    gcm = EncryptedSerializer.from_pycryptodome_aes(key=KEY, mode=aes.MODE_GCM)
    assert gcm.loads_typed(gcm.dumps_typed([1])) == [1]
    for mode in (aes.MODE_CTR, aes.MODE_CBC, aes.MODE_ECB, 99):
        with pytest.raises(ValueError, match="A mode is needed that authenticates"):
            EncryptedSerializer.from_pycryptodome_aes(key=KEY, mode=mode)


def test_the_package_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """SD-32."""
    monkeypatch.setitem(sys.modules, "Crypto.Cipher", None)
    with pytest.raises(ImportError, match=r"pip install 'minigraph\[encryption\]'"):
        EncryptedSerializer.from_pycryptodome_aes(key=KEY)


# ------------------------------------------------------------------- in a saver


def test_in_a_saver(serializer: EncryptedSerializer) -> None:
    """SD-34: values, writes and checkpoints are encrypted; a graph adds its classes."""
    saver = InMemorySaver(serde=serializer)
    builder = StateGraph(State).add_node("a", lambda state: {"note": Note("secret")})
    graph = builder.add_edge(START, "a").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"note": Note("a secret")}, config)

    assert graph.get_state(config).values == {"note": Note("secret")}
    assert {tag for tag, _ in saver.blobs.values()} <= {"empty", "msgpack+aes", "null+aes"}
    stored = repr([saver.blobs, saver.writes, dict(saver.storage)])
    assert "secret" not in stored
    assert "branch:to:a" in stored  # the names of channels stay readable


def test_in_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """A9, SD-34: as in the documentation; the metadata stays plain."""
    pytest.importorskip("Crypto")
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEY.decode())
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    saver = SqliteSaver(connection, serde=EncryptedSerializer.from_pycryptodome_aes())
    builder = StateGraph(State).add_node("a", lambda state: {"note": Note("secret")})
    graph = builder.add_edge(START, "a").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"note": Note("a secret")}, config)

    assert graph.get_state(config).values == {"note": Note("secret")}
    rows = connection.execute("select type from checkpoints union select type from writes")
    assert {tag for (tag,) in rows} == {"msgpack+aes", "null+aes"}
    (metadata,) = connection.execute("select metadata from checkpoints limit 1").fetchone()
    assert json.loads(metadata)["source"] == "input"
    connection.close()


def test_each_package_reads_the_others_data(serializer: EncryptedSerializer) -> None:
    """SD-33, SD-35: the layout is the reference's, and its nonces carry no tag."""
    pytest.importorskip("langgraph")
    reference = importlib.import_module("langgraph.checkpoint.serde.encrypted")
    theirs = reference.EncryptedSerializer.from_pycryptodome_aes(key=KEY)
    for value in (None, b"x", bytearray(b"x"), "secret", {"a": [1, {2}]}):
        assert serializer.loads_typed(theirs.dumps_typed(value)) == value
        assert theirs.loads_typed(serializer.dumps_typed(value)) == value
