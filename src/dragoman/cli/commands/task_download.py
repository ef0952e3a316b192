"""dragoman task download: save the results of a task as files."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import httpx2
from msgspec.structs import replace

from dragoman.cli.command import Invocation
from dragoman.cli.commands.task import declare_task
from dragoman.cli.options import values
from dragoman.cli.options.options import INSECURE, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.saving import SavedFile, plan_files, write_files
from dragoman.cli.session.session import Session, agent_command
from dragoman.cli.views.labels import Lines
from dragoman.cli.views.task import summary_lines
from dragoman.client.errors import ClientError, CutError, UnreachableError
from dragoman.errors import UsageError
from dragoman.model.operations import GetTaskRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact

__all__ = (
    "DOWNLOAD",
    "MAX_BYTES",
    "fetch",
)


_OUTPUT_DIR: Final = Option[str](
    name="output-dir",
    metavar="FOLDER",
    default=".",
    is_configurable=False,
    help="folder to write to",
)
_ARTIFACT: Final = Option[tuple[str, ...]](
    name="artifact",
    metavar="ID",
    split=values.split_list,
    default=(),
    is_configurable=False,
    help="artifact to save; may be repeated; all of them if this is left out",
)
_OVERWRITE: Final = Option[bool](
    name="overwrite",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="replace files that exist",
)
_FETCH_URLS: Final = Option[bool](
    name="fetch-urls",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="fetch files that the agent gives by address, too (https, without credentials)",
)
_ALLOW_PRIVATE: Final = Option[bool](
    name="allow-private-urls",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="fetch from addresses of this machine and of private networks, too",
)


def _declare(parser: Parser) -> None:
    declare_task(parser)
    parser.add_options((_OUTPUT_DIR, _ARTIFACT, _OVERWRITE, _FETCH_URLS, _ALLOW_PRIVATE))


async def _download(invocation: Invocation, session: Session) -> None:
    settings, output = invocation.settings, invocation.output
    document = await session.follower.look(GetTaskRequest(id=invocation.arguments.task))
    task = document.task()
    artifacts = _chosen(task.artifacts, settings[_ARTIFACT])
    if settings[_FETCH_URLS]:
        artifacts = [await _fetched(invocation, artifact) for artifact in artifacts]
    folder = invocation.surroundings.folder / settings[_OUTPUT_DIR]
    files = plan_files(artifacts, only_files=False)
    write_files(files, folder, overwrite=settings[_OVERWRITE])
    saved = [f"{folder / file.name} ({_kind(file)}{len(file.content)} bytes)" for file in files]
    left = [part.url for artifact in artifacts for part in artifact.parts if part.url is not None]
    if output.is_json:
        output.note(*(f"Saved: {line}" for line in saved))
    for url in left:
        output.note(f"not fetched: {url}; add --fetch-urls to fetch it")
    output.show(document.json(), partial(_lines, summary_lines(task), saved))


def _chosen(artifacts: tuple[Artifact, ...], wanted: tuple[str, ...]) -> list[Artifact]:
    known = {artifact.artifact_id for artifact in artifacts}
    missing = [each for each in wanted if each not in known]
    if missing:
        raise UsageError(f"the task has no artifact {missing[0]}")
    return [each for each in artifacts if not wanted or each.artifact_id in wanted]


async def _fetched(invocation: Invocation, artifact: Artifact) -> Artifact:
    """Return the artifact with bytes in place of addresses."""
    settings = invocation.settings
    parts: list[Part] = []
    for part in artifact.parts:
        if part.url is None:
            parts.append(part)
            continue
        content = await fetch(
            part.url,
            is_private_allowed=settings[_ALLOW_PRIVATE],
            is_insecure=settings[INSECURE],
        )
        name = part.filename or part.url.partition("?")[0].rpartition("/")[2]
        parts.append(replace(part, url=None, raw=content, filename=name))
    return replace(artifact, parts=tuple(parts))


def _kind(file: SavedFile) -> str:
    return f"{file.media_type}, " if file.media_type else ""


def _lines(lines: Lines, saved: list[str]) -> Lines:
    for line in saved:
        lines.field("Saved", line)
    return lines


DOWNLOAD: Final = agent_command(_download, declare=_declare)


# --- fetching -------------------------------------------------------------------------------------

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
