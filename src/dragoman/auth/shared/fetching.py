"""Documents from third parties: key sets, metadata, tokens. Small, in time, and from where asked.

Redirects are not followed: what is allowed is one address, not what it points to.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Final

import httpx2
import msgspec

from dragoman.auth.outgoing.errors import AuthorizationServerError
from dragoman.auth.outgoing.origins import is_confidential

__all__ = ("Answer", "get_json", "post_form")

_TIMEOUT_SECONDS: Final = 10.0
"""For each step of a call; an authorization server that is slower is down."""

_TOTAL_SECONDS: Final = 30.0
"""For all steps together: an answer that drips in byte by byte is never silent."""

_LIMIT: Final = 256 * 1024
"""Bytes. Large key sets have some 20 KiB, metadata 5 KiB, tokens 10 KiB."""

_decode: Final = msgspec.json.Decoder(dict[str, object]).decode


class Answer(msgspec.Struct, frozen=True):
    """What came: the status, and the body if it is a JSON object (otherwise empty)."""

    status: int
    body: dict[str, object]


async def get_json(http: httpx2.AsyncClient | None, url: str) -> Answer:
    """Fetch a document; ``http`` None opens a connection for this call alone.

    Raises:
        AuthorizationServerError: the address is not confidential, or gives no answer in bounds.
    """
    return await _call(http, "GET", url, {}, None)


async def post_form(
    http: httpx2.AsyncClient | None,
    url: str,
    form: Mapping[str, str],
    headers: Mapping[str, str],
) -> Answer:
    """Send a form, as OAuth 2.0 has it (RFC 6749, 3.2).

    Raises:
        AuthorizationServerError: the address is not confidential, or gives no answer in bounds.
    """
    return await _call(http, "POST", url, headers, form)


async def _call(
    http: httpx2.AsyncClient | None,
    method: str,
    url: str,
    headers: Mapping[str, str],
    form: Mapping[str, str] | None,
) -> Answer:
    if not is_confidential(url):
        raise AuthorizationServerError(url, "only https is safe for this")
    try:
        async with (
            asyncio.timeout(_TOTAL_SECONDS),
            _opened(http) as client,
            client.stream(
                method,
                url,
                headers={"Accept": "application/json", **headers},
                data=dict(form) if form is not None else None,
                follow_redirects=False,
                timeout=_TIMEOUT_SECONDS,
            ) as response,
        ):
            return Answer(response.status_code, _object(await _read(response, url)))
    except (httpx2.HTTPError, TimeoutError) as error:
        finding = str(error) or type(error).__name__
        raise AuthorizationServerError(url, f"no answer: {finding}") from error


@asynccontextmanager
async def _opened(http: httpx2.AsyncClient | None) -> AsyncGenerator[httpx2.AsyncClient]:
    if http is not None:
        yield http
        return
    async with httpx2.AsyncClient(verify=_trust()) as client:
        yield client


@cache
def _trust() -> ssl.SSLContext:
    """Return whom this machine trusts, read once: that takes longer than many a call."""
    return httpx2.create_ssl_context()


async def _read(response: httpx2.Response, url: str) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _LIMIT:
            raise AuthorizationServerError(url, f"the answer has more than {_LIMIT} bytes")
    return bytes(body)


def _object(body: bytes) -> dict[str, object]:
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
