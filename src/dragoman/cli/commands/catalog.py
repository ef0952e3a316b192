"""dragoman catalog list: the agents, and whatever else, that a catalog tells of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from dragoman.cli.command import Body, Invocation
from dragoman.cli.errors import CliError, failure_of
from dragoman.cli.options.options import CATALOG
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.session import run_async
from dragoman.cli.session.target import tls_of
from dragoman.cli.views.labels import Lines
from dragoman.client.discovery.catalogs import Entry, load_catalog
from dragoman.client.transports.http_pool import HttpPool
from dragoman.errors import DragomanError, UsageError

__all__ = ("LIST",)


def _declare(parser: Parser) -> None:
    parser.add_stand_in("catalog", CATALOG)


def _run(invocation: Invocation) -> int:
    place = invocation.settings[CATALOG]
    if place is None:
        raise UsageError("which catalog? Name it with --catalog, or set A2ACLI_CATALOG")
    return run_async(invocation, lambda: _list(invocation, place))


async def _list(invocation: Invocation, place: str) -> None:
    folder = invocation.surroundings.folder
    try:
        async with aclosing(HttpPool(tls_of(invocation.settings, folder))) as pool:
            entries = await load_catalog(
                place, pool=pool, folder=folder, tell=invocation.output.warn
            )
    except DragomanError as problem:
        raise CliError(failure_of(problem)) from problem
    document = {"catalog": place, "entries": [_document(entry) for entry in entries]}
    invocation.output.show(msgspec.json.encode(document), lambda: _lines(entries))


def _document(entry: Entry) -> dict[str, object]:
    return {
        "identifier": entry.identifier,
        "type": entry.kind,
        "displayName": entry.display_name or None,
        "description": entry.description or None,
        "version": entry.version or None,
        "tags": entry.tags,
        "url": entry.url,
        "isAgent": entry.is_agent,
        "catalog": entry.place,
    }


def _lines(entries: Sequence[Entry]) -> Lines:
    lines = Lines()
    for entry in entries:
        lines.gap().field("Entry", entry.identifier)
        facts = {
            "Name": entry.display_name,
            "Version": entry.version,
            "Type": entry.kind,
            "Tags": ", ".join(entry.tags),
            "URL": entry.url or "",
        }
        for label, value in facts.items():
            if value:
                lines.field(label, value)
        if entry.description:
            lines.block("Description", entry.description)
    return lines


LIST: Final = Body(run=_run, declare=_declare)
