"""A serializer around another one: what it stores is encrypted.

    value ──▶ inner serializer ──▶ ("msgpack", bytes) ──▶ cipher ──▶ ("msgpack+aes", other bytes)

Whoever can read the store, or its backups, does not see the values of channels, the writes
of tasks, nor the checkpoints. Whoever can write to it cannot change them without being
noticed: AES in its mode EAX authenticates what it encrypts.

What stays readable: the ids of threads, checkpoints and tasks; the names of channels and
nodes; sizes and times. And in a saver that stores metadata as JSON, such as SQLite's, all
of the metadata: put no secrets into a config. What is not proved: *where* a value belongs.
Whoever can write to the store can put an old value, or one of another thread, in its place.

The tag has to stand beside the bytes, since the layout is the reference's. But bytes that are
read under another tag are another value; a text that a user has sent would be unpickled. So
the tag is bound to the bytes, where the reference has a place to spare: in the nonce. Half
of that number is random, and half is made of it with the key:

    nonce    8 random bytes; 4 of HMAC(key, random); 4 of HMAC(key, random + tag)
    stored   nonce (16), EAX's own seal of nonce and text (16), encrypted text

The first four say that the nonce was made here, and the second for which tag. The reference
reads such data, for it takes any nonce. Its own has nonces that are random all through, and
is read here. That is no way around the tag: nobody without the key can make new data, and
data that was made here is never taken for the reference's.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable
from copy import copy
from typing import Any, Final, Protocol, Self, runtime_checkable

from minigraph.checkpoint.serde.base import (
    CipherProtocol,
    SerializerProtocol,
    UnreadableError,
    UntypedSerializerProtocol,
    maybe_add_typed_methods,
)
from minigraph.checkpoint.serde.jsonplus import JsonPlusSerializer

__all__ = ["AesCipher", "CipherProtocol", "DecryptionError", "EncryptedSerializer"]

KEY_VARIABLES: Final = ("LANGGRAPH_AES_KEY", "MINIGRAPH_AES_KEY")


class DecryptionError(UnreadableError):
    """Stored data is not what was encrypted with this key, or is not encrypted at all (SD-33)."""


@runtime_checkable
class SealingCipher(Protocol):
    """A cipher that can also bind what it encrypts to the tag that it is stored with."""

    def encrypt_sealed(self, tag: str, plaintext: bytes) -> tuple[str, bytes]:
        """As `CipherProtocol.encrypt`."""

    def decrypt_sealed(self, tag: str, ciphername: str, ciphertext: bytes) -> bytes:
        """As `CipherProtocol.decrypt`. Raises an `Exception` if it was sealed for another tag."""


class EncryptedSerializer:
    """Encrypts what another serializer makes, and asks it again after decrypting (SD-30).

    Args:
        cipher: an object with ``encrypt(bytes)``, which gives its name and other bytes, and
            ``decrypt(name, bytes)``. How safe the store is depends on it: only a cipher that
            authenticates notices what was changed, and only an `AesCipher` also binds the tag.
        serde: the serializer inside; by default a `JsonPlusSerializer` that stores and builds
            only safe types, and those that a graph's state names.
        allow_plaintext: whether data that is not encrypted is read as well. For a store that is
            being moved to encryption; somebody who can write to it can plant anything then.

    Raises `TypeError` for what is no cipher, such as a key.

    >>> class Rot128:  # no cipher at all
    ...     def encrypt(self, plaintext):
    ...         return "rot128", bytes(byte ^ 128 for byte in plaintext)
    ...     def decrypt(self, ciphername, ciphertext):
    ...         return self.encrypt(ciphertext)[1]
    >>> serializer = EncryptedSerializer(Rot128())
    >>> serializer.dumps_typed("secret")
    ('msgpack+rot128', b'&\\xf3\\xe5\\xe3\\xf2\\xe5\\xf4')
    >>> serializer.loads_typed(serializer.dumps_typed("secret"))
    'secret'
    """

    def __init__(
        self,
        cipher: CipherProtocol,
        serde: SerializerProtocol | UntypedSerializerProtocol | None = None,
        *,
        allow_plaintext: bool = False,
    ) -> None:
        if isinstance(cipher, type) or not (
            hasattr(cipher, "encrypt") and hasattr(cipher, "decrypt")
        ):
            # It may be a key, so it is not shown.
            raise TypeError(
                "A cipher is an object with the methods encrypt and decrypt, but this is "
                f"{'a class' if isinstance(cipher, type) else type(cipher).__name__}. "
                "With a key, write EncryptedSerializer.from_pycryptodome_aes(key=…)."
            )
        self.cipher = cipher
        self.serde: SerializerProtocol = (
            JsonPlusSerializer(allowed_msgpack_modules=())
            if serde is None
            else maybe_add_typed_methods(serde)
        )
        self.allow_plaintext = allow_plaintext

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, str] | type]) -> Self:
        """A copy whose inner serializer allows these types as well (SD-25), if it knows a list."""
        widen = getattr(self.serde, "with_msgpack_allowlist", None)
        wider = self.serde if widen is None else widen(extra_allowlist)
        if wider is self.serde:
            return self
        serializer = copy(self)
        serializer.serde = wider
        return serializer

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """``<inner tag>+<cipher>``, and what the cipher makes of the inner bytes.

        The cipher's name may have a ``+`` in it. One in the inner tag, of a serializer that
        encrypts as well, is written ``%2B``, so that the first is the one between the two.

        Raises `TypeError` as the inner serializer does.
        """
        tag, plaintext = self.serde.dumps_typed(obj)
        if isinstance(self.cipher, SealingCipher):
            name, ciphertext = self.cipher.encrypt_sealed(tag, plaintext)
        else:
            name, ciphertext = self.cipher.encrypt(plaintext)
        return f"{tag.replace('%', '%25').replace('+', '%2B')}+{name}", ciphertext

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value that `dumps_typed` was given.

        Raises `DecryptionError` for what was changed, cut off, stored under another tag or with
        another key, and for what is not encrypted; other errors as the inner serializer does.
        """
        full_tag, ciphertext = data
        tag, plus, name = str(full_tag).partition("+")
        tag = tag.replace("%2B", "+").replace("%25", "%")
        if not plus:
            if self.allow_plaintext:
                return self.serde.loads_typed(data)
            raise DecryptionError(
                f"The stored data ({full_tag!r}) is not encrypted, so anybody may have put it "
                f"there. If it was stored before encryption was introduced, read it with "
                f"allow_plaintext=True, and store it again."
            )
        try:
            if isinstance(self.cipher, SealingCipher):
                plaintext = self.cipher.decrypt_sealed(tag, name, ciphertext)
            else:
                plaintext = self.cipher.decrypt(name, ciphertext)
        except Exception as error:
            raise DecryptionError(
                f"The stored data ({full_tag!r}) cannot be decrypted: {error}. It was encrypted "
                f"with another key, or it was changed since; restore it from a backup."
            ) from error
        return self.serde.loads_typed((tag, plaintext))

    @classmethod
    def from_pycryptodome_aes(
        cls,
        serde: SerializerProtocol | UntypedSerializerProtocol | None = None,
        *,
        allow_plaintext: bool = False,
        key: bytes | None = None,
        **kwargs: Any,
    ) -> Self:
        """With AES, from the package ``pycryptodome`` (SD-32).

        Args:
            serde: the serializer inside.
            allow_plaintext: whether data that is not encrypted is read as well.
            key: 16, 24 or 32 bytes. By default the environment variable ``LANGGRAPH_AES_KEY`` or
                ``MINIGRAPH_AES_KEY``.
            kwargs: for ``Crypto.Cipher.AES.new``; for instance another ``mode`` than EAX.

        Raises `ValueError` for a key that is missing or of another length, and for a mode that
        does not authenticate; `TypeError` for a key that is no bytes; `ImportError` if the package
        is not installed.
        """
        return cls(AesCipher(key, **kwargs), serde, allow_plaintext=allow_plaintext)


class AesCipher:
    """AES, with nonces that bind the tag (SD-33). See `EncryptedSerializer.from_pycryptodome_aes`.

    Args:
        key: 16, 24 or 32 bytes, or None for that of the environment.
        kwargs: for ``Crypto.Cipher.AES.new``.
    """

    name = "aes"

    def __init__(self, key: bytes | None = None, **kwargs: Any) -> None:
        try:
            from Crypto.Cipher import AES
        except ImportError as error:
            raise ImportError(
                "AES is in the package pycryptodome, which is not installed: "
                "pip install 'minigraph[encryption]'."
            ) from error
        self._key = key_of_environment() if key is None else key
        if not isinstance(self._key, bytes):
            kind = "text" if isinstance(self._key, str) else type(self._key).__name__
            raise TypeError(
                f"An AES key must be bytes, but this one is {kind}. Write key=b'…', or "
                "key=text.encode() for what is stored as text."
            )
        if len(self._key) not in (16, 24, 32):
            raise ValueError(
                "An AES key must be 16, 24, or 32 bytes long, such as secrets.token_bytes(32); "
                "in the environment, as many characters of plain ASCII."
            )
        self._new = AES.new
        self._options = {"mode": AES.MODE_EAX, **kwargs}
        try:
            self.decrypt(*self.encrypt(b"a trial"))
        except Exception as error:
            raise ValueError(
                f"AES cannot be used with {kwargs}: {error}. A mode is needed that authenticates "
                f"and takes a nonce of 16 bytes, such as EAX, the default, or GCM."
            ) from error

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """Not bound to any tag."""
        return self._encrypt(os.urandom(_NONCE), plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """Whatever tag it is bound to."""
        if ciphername != self.name:
            raise ValueError(f"it was encrypted with {ciphername!r}, and this is {self.name!r}")
        nonce, seal, content = (
            ciphertext[:_NONCE],
            ciphertext[_NONCE : _NONCE + _SEAL],
            ciphertext[_NONCE + _SEAL :],
        )
        if len(seal) < _SEAL:
            raise ValueError("its end is missing")
        cipher = self._new(self._key, nonce=nonce, **self._options)
        plaintext: bytes = cipher.decrypt_and_verify(content, seal)
        return plaintext

    def encrypt_sealed(self, tag: str, plaintext: bytes) -> tuple[str, bytes]:
        """Bound to the tag."""
        random = os.urandom(_RANDOM)
        return self._encrypt(random + self._proof(random) + self._proof(random, tag), plaintext)

    def decrypt_sealed(self, tag: str, ciphername: str, ciphertext: bytes) -> bytes:
        """Of this tag, or of none: then it is the reference's."""
        plaintext = self.decrypt(ciphername, ciphertext)
        random, ours = ciphertext[:_RANDOM], ciphertext[_RANDOM : _RANDOM + _PROOF]
        sealed = ciphertext[_RANDOM + _PROOF : _NONCE]
        if hmac.compare_digest(ours, self._proof(random)) and not hmac.compare_digest(
            sealed, self._proof(random, tag)
        ):
            raise ValueError(f"it was not {tag!r} that it was stored as")
        return plaintext

    def _encrypt(self, nonce: bytes, plaintext: bytes) -> tuple[str, bytes]:
        cipher = self._new(self._key, nonce=nonce, **self._options)
        content, seal = cipher.encrypt_and_digest(plaintext)
        return self.name, nonce + seal + content

    def _proof(self, random: bytes, tag: str | None = None) -> bytes:
        text = random if tag is None else random + tag.encode()
        return hmac.digest(self._key, text, "sha256")[:_PROOF]


_RANDOM, _PROOF = 8, 4
_NONCE: Final = _RANDOM + 2 * _PROOF
_SEAL: Final = 16


def key_of_environment() -> bytes:
    """The key, from the first of the environment variables that is set.

    Raises `ValueError` if none is.
    """
    for variable in KEY_VARIABLES:
        if key := os.environ.get(variable):
            return key.encode()
    raise ValueError(
        f"The {KEY_VARIABLES[0]} environment variable is not set, and neither is "
        f"{KEY_VARIABLES[1]}. Set one of them to a key of 16, 24 or 32 characters, or pass a key: "
        f"from_pycryptodome_aes(key=…)."
    )
