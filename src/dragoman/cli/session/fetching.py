"""Fetching a file from an address that an agent has given.

The address is not trusted: only https, no redirects, no credentials, a limit to what is read, and
nothing inside this machine or a private network unless that is allowed. The name is looked up once
and the connection goes to what was looked at, so that a second answer cannot lead elsewhere.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import httpx2

from dragoman.client.errors import ClientError, CutError, UnreachableError

__all__ = ("MAX_BYTES", "fetch")

MAX_BYTES: Final = 256 * 1024 * 1024
"""What is larger is better fetched with a program made for it."""

_SECONDS: Final = 60.0


class RefusedUrlError(ClientError):
    """An address that is not fetched from."""

    def __init__(self, url: str, reason: str) -> None:
        """Name the address and what is wrong with it."""
        super().__init__(f"{url} is not fetched: {reason}")


async def fetch(url: str, *, is_private_allowed: bool, is_insecure: bool) -> bytes:
    """Return what is at an address.

    Raises:
        RefusedUrlError: it is not fetched from such an address, or the file is too large.
        ClientError: it cannot be reached.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" or not host:
        raise RefusedUrlError(url, "only https addresses are")
    address = await _looked_up(url, host, parts.port or 443)
    if not is_private_allowed and not ip_address(address).is_global:
        raise RefusedUrlError(url, "it leads into a private network (--allow-private-urls)")
    literal = f"[{address}]" if ":" in address else address
    pinned = urlunsplit(parts._replace(netloc=f"{literal}:{parts.port or 443}"))
    netloc = parts.netloc.rpartition("@")[2]
    try:
        async with (
            httpx2.AsyncClient(verify=not is_insecure, timeout=_SECONDS, trust_env=False) as client,
            client.stream(
                "GET", pinned, headers={"Host": netloc}, extensions={"sni_hostname": host}
            ) as response,
        ):
            return await _read(url, response)
    except httpx2.ConnectError as problem:
        raise UnreachableError(url, str(problem)) from problem
    except httpx2.HTTPError as problem:
        raise CutError(url, str(problem) or type(problem).__name__) from problem


async def _looked_up(url: str, host: str, port: int) -> str:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as problem:
        raise UnreachableError(url, problem.strerror or "unknown host") from problem
    return str(found[0][4][0])


async def _read(url: str, response: httpx2.Response) -> bytes:
    if not response.is_success:
        raise RefusedUrlError(url, f"HTTP status {response.status_code}")
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_BYTES:
            raise RefusedUrlError(url, f"it has more than {MAX_BYTES} bytes")
    return bytes(content)
