"""HttpAnswer: what there is to an answer of HTTP, whoever has carried it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

__all__ = ("HttpAnswer",)


class HttpAnswer(Protocol):
    """The head of an answer, and its body as it comes."""

    @property
    def status_code(self) -> int:
        """Return the status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers; whoever asks for one gives its name in lower case."""
        ...

    @property
    def url(self) -> object:
        """Return the URL that has answered; its ``str`` counts."""
        ...

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Iterate over the body, unpacked. It can be done once.

        Raises:
            ClientError: the rest of it does not come. Other clients of HTTP have their own errors.
        """
        ...
