"""What authorization servers are asked with: their certificates are always verified."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from msgspec.structs import replace

from dragoman.cli.options.settings import Settings
from dragoman.cli.session.target import tls_of

__all__ = ("asking",)


@asynccontextmanager
async def asking(settings: Settings, folder: Path) -> AsyncGenerator[httpx2.AsyncClient | None]:
    """Give a client that trusts ``--ca-cert``; None where the machine's own authorities will do.

    ``--insecure`` is about the agent, and not about who is shown secrets.
    """
    tls = replace(tls_of(settings, folder), is_insecure=False, certificate=None)
    if tls.ca_file is None:
        yield None
        return
    async with httpx2.AsyncClient(verify=tls.http()) as client:
        yield client
