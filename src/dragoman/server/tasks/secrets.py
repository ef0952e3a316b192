"""Secret answers, which only the turn that has asked for them may see.

What the task keeps of such an answer is a placeholder. Its content is encrypted (AES-256-GCM, the
id of the task being what it is bound to), goes to the store with the placeholder in one write, and
is removed from there when the task ends. The key is in a file that is not part of the store, so
that whoever has a copy of the store has nothing of the answers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from dragoman.auth.shared.private_files import exclusive, replace_private
from dragoman.errors import UsageError
from dragoman.model.base import JsonObject
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ("PLACEHOLDER", "TaskSecrets", "concealed")

PLACEHOLDER: Final = "[not shown]"
"""The text that stands for an answer which is a secret."""

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12

_Content = tuple[tuple[Part, ...], JsonObject | None]

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Content).decode


def concealed(request: SendMessageRequest) -> SendMessageRequest:
    """Return a request of which only the ids are left."""
    message = replace(request.message, parts=(Part(text=PLACEHOLDER),), metadata=None)
    return replace(request, message=message, metadata=None)


class TaskSecrets:
    """Encrypts and decrypts, with a key that is made when it is first needed.

    Args:
        key_file: where the key is, or shall be; None for one that is gone with the process.
        why_none: why there is none at all; then nothing can be kept.
    """

    def __init__(self, key_file: Path | None = None, *, why_none: str = "") -> None:
        self._key_file = key_file
        self._why_none = why_none
        self._cipher: AESGCM | None = None

    def unlock(self) -> AESGCM:
        """Have the key at hand.

        Raises:
            UsageError: it cannot be had; says why.
        """
        if self._cipher is None:
            from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 - takes its time
                AESGCM,
            )

            self._cipher = AESGCM(self._key())
        return self._cipher

    def seal(self, task_id: str, message: Message) -> bytes:
        """Return the content of a message so that only ``open`` can read it.

        Raises:
            UsageError: the key cannot be had; says why.
        """
        # A nonce by chance: of 2**32 answers under one key two have the same by one in 2**33.
        nonce = os.urandom(_NONCE_BYTES)
        content = _encode((message.parts, message.metadata))
        return nonce + self.unlock().encrypt(nonce, content, task_id.encode())

    def open(self, task_id: str, sealed: bytes, message: Message) -> Message:
        """Return a message with the content that was sealed for this task.

        Raises:
            UsageError: the key cannot be had, or is another than the content was sealed with.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - takes its time

        nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            content = self.unlock().decrypt(nonce, body, task_id.encode())
        except InvalidTag:
            raise UsageError(
                f"a secret answer of task {task_id} cannot be read: {self._place} is not the key "
                "that it was kept under"
            ) from None
        parts, metadata = _decode(content)
        return replace(message, parts=parts, metadata=metadata)

    @property
    def _place(self) -> str:
        return str(self._key_file) if self._key_file is not None else "the key of this process"

    def _key(self) -> bytes:
        if self._why_none:
            raise UsageError(f"secrets_key: {self._why_none}")
        if self._key_file is None:
            return os.urandom(_KEY_BYTES)
        try:
            with exclusive(self._key_file):
                if not self._key_file.exists():
                    replace_private(self._key_file, os.urandom(_KEY_BYTES))
                key = self._key_file.read_bytes()
        except OSError as error:
            raise UsageError(f"secrets_key: {self._key_file}: {error.strerror or error}") from None
        if len(key) != _KEY_BYTES:
            raise UsageError(f"secrets_key: {self._key_file} does not hold {_KEY_BYTES} bytes")
        return key
