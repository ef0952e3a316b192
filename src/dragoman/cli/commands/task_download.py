"""dragoman task download: save the results of a task as files."""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec.structs import replace

from dragoman.cli.command import Invocation
from dragoman.cli.commands.task import declare_task
from dragoman.cli.options import values
from dragoman.cli.options.options import INSECURE, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.fetching import fetch
from dragoman.cli.session.saving import SavedFile, plan_files, write_files
from dragoman.cli.session.session import Session, agent_command
from dragoman.cli.views.labels import Lines
from dragoman.cli.views.task import summary_lines
from dragoman.errors import UsageError
from dragoman.model.operations import GetTaskRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact

__all__ = ("DOWNLOAD",)

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
