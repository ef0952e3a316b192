"""AI catalogs: what they say, and which entry is meant. Nothing is fetched here.

A catalog is not trusted more than its place: one from the network leads to https or to its own
origin, and never to a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.auth.outgoing.origins import origin_of
from dragoman.cli.errors import CARD_NOT_FOUND, CliError, Failure
from dragoman.client.discovery.addresses import file_path
from dragoman.errors import UsageError

__all__ = ("CATALOG_TYPE", "Entry", "find_entry", "has_origin", "missing", "read_entries")

CATALOG_TYPE: Final = "application/ai-catalog+json"
_CARD_TYPE: Final = "application/a2a-agent-card+json"


class Entry(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a catalog says of one thing.

    Attributes:
        media_type: what older drafts call ``type``.
        url: where it is; None if ``data`` holds it.
        place: where it was said: a URL, or the path of a file.
    """

    identifier: str
    type: str = ""
    media_type: str = ""
    url: str | None = None
    data: Raw | UnsetType = UNSET
    display_name: str = ""
    description: str = ""
    version: str = ""
    tags: tuple[str, ...] = ()
    place: str = ""

    @property
    def kind(self) -> str:
        """The media type, without its parameters."""
        return (self.type or self.media_type).partition(";")[0].strip().lower()

    @property
    def is_agent(self) -> bool:
        """Tell whether it is the card of an agent."""
        return self.kind == _CARD_TYPE

    def target(self) -> str | Path:
        """Return where it is.

        Raises:
            UsageError: a catalog of the network must not lead there.
        """
        url = self.url or ""
        if "://" not in self.place:
            # A file is the user's own, and may lead anywhere.
            named = file_path(url)
            is_file = named is not None or not urlsplit(url).scheme
            return Path(self.place).parent / (named or url) if is_file else url
        found = urljoin(self.place, url)
        if urlsplit(found).scheme != "https" and not has_origin(found, self.place):
            raise UsageError(f"{self.place} must not lead to {found}: only to https")
        return found


class _Document(Struct, frozen=True):
    entries: list[Raw]


_NAMES: Final[tuple[Callable[[Entry], str], ...]] = (
    lambda entry: entry.identifier,
    lambda entry: entry.display_name,
    lambda entry: re.split("[/:]", entry.identifier)[-1],
)
"""What an entry may be called, the surest first."""


def read_entries(content: bytes, place: str) -> Iterator[Entry | str]:
    """Yield the entries of a document; for one that is wrong, what is wrong with it.

    Raises:
        CliError: it is no catalog.
    """
    try:
        document = msgspec.json.decode(content, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise missing(f"{place} is no catalog: {problem}") from None
    for number, raw in enumerate(document.entries):
        try:
            entry = msgspec.json.decode(raw, type=Entry)
        except msgspec.DecodeError as problem:
            yield f"{place}: entries[{number}] is left out: {problem}"
            continue
        if (entry.url is None) is (entry.data is UNSET):
            yield f"{place}: entries[{number}] is left out: it needs either url or data"
            continue
        yield msgspec.structs.replace(entry, place=place)


def find_entry(entries: Sequence[Entry], name: str, place: str) -> Entry:
    """Return the agent that is called so: by its identifier, its name, or the end of the former.

    Raises:
        CliError: there is none.
        UsageError: there are several.
    """
    agents = [entry for entry in entries if entry.is_agent]
    for called in _NAMES:
        found = [entry for entry in agents if called(entry) == name]
        if len(found) == 1:
            return found[0]
        if found:
            candidates = ", ".join(f"{one.identifier} {one.version}".strip() for one in found)
            raise UsageError(f"{name!r} could be any of {candidates} in {place}")
    raise missing(f"the catalog {place} has no agent {name!r}")


def has_origin(url: str, other: str) -> bool:
    """Tell whether two URLs have the same origin."""
    try:
        return origin_of(url) == origin_of(other)
    except UsageError:
        return False


def missing(message: str) -> CliError:
    """Return the failure of a reference that leads nowhere."""
    return CliError(Failure(CARD_NOT_FOUND, message, "see what there is with catalog list"))
