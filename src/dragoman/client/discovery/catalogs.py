"""AI catalogs: loading them, what they say, and which entry is meant (A2ACLI_CARD_GET_005).

A catalog is not trusted more than its place: one from the network leads to https or to its own
origin, and never to a file. How large, how deep and how many is limited: no catalog can keep a
program busy for long.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.auth.outgoing.origins import origin_of
from dragoman.client.discovery.addresses import card_locations, file_path
from dragoman.client.discovery.catalog_reference import CatalogReference
from dragoman.client.errors import CatalogError
from dragoman.client.transports.http_pool import HttpPool, read_body
from dragoman.errors import UsageError

__all__ = (
    "CATALOG_TYPE",
    "Entry",
    "HeldCard",
    "find_entry",
    "has_origin",
    "load_catalog",
    "locate",
    "read_entries",
)


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
        CatalogError: it is no catalog.
    """
    try:
        document = msgspec.json.decode(content, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise CatalogError(f"{place} is no catalog: {problem}") from None
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
        CatalogError: there is none.
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
    raise CatalogError(f"the catalog {place} has no agent {name!r}")


def has_origin(url: str, other: str) -> bool:
    """Tell whether two URLs have the same origin."""
    try:
        return origin_of(url) == origin_of(other)
    except UsageError:
        return False


# --- loading --------------------------------------------------------------------------------------

_WELL_KNOWN: Final = "/.well-known/ai-catalog.json"
_RELATION: Final = "ai-catalog"
_LINK: Final = re.compile(r"<([^>]*)>([^<]*)")
_REL: Final = re.compile(r";\s*rel\s*=\s*\"?([^\";,]*)", re.IGNORECASE)

_MAX_BYTES: Final = 4 * 1024 * 1024
"""Of one document; that is some ten thousand entries."""

_MAX_DEPTH: Final = 4
"""Catalogs in catalogs."""

_MAX_DOCUMENTS: Final = 32
"""All in all."""

_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SECONDS: Final = 30.0


class _Loaded(NamedTuple):
    """A catalog, and where it is: a URL or a path."""

    content: bytes
    place: str


class HeldCard(NamedTuple):
    """A card that a catalog holds, and which it is."""

    content: bytes
    place: str


async def locate(
    reference: CatalogReference, *, pool: HttpPool, folder: Path, tell: Callable[[str], None]
) -> str | Path | HeldCard:
    """Look up an agent in a catalog: where its card is, or the card itself.

    Args: see ``load_catalog``.

    Raises:
        CatalogError: there is no such agent, or no such catalog.
        ClientError: it cannot be asked for.
        UsageError: the agent could be several, or a catalog leads where it must not.
    """
    entries = await load_catalog(reference.catalog, pool=pool, folder=folder, tell=tell)
    entry = find_entry(entries, reference.entry, reference.catalog)
    if isinstance(entry.data, Raw):
        return HeldCard(bytes(entry.data), f"{entry.place}@{entry.identifier}")
    return entry.target()


async def load_catalog(
    place: str, *, pool: HttpPool, folder: Path, tell: Callable[[str], None]
) -> tuple[Entry, ...]:
    """Return the entries of a catalog, and of those that it holds.

    Args:
        place: a host, a URL or a path.
        pool: what to ask with. Credentials are for agents: no catalog is shown any.
        folder: what a path is relative to.
        tell: told what is left out, and why.

    Raises:
        CatalogError: there is no catalog.
        ClientError: it cannot be asked for.
        UsageError: it is no address, or a catalog leads where it must not.
    """
    path = file_path(place)
    if path is None and (folder / place).is_file():
        path = Path(place)
    first: str | Path = folder / path if path is not None else place
    return tuple([entry async for entry in _walk(pool, first, tell)])


async def _walk(
    pool: HttpPool, first: str | Path, tell: Callable[[str], None]
) -> AsyncIterator[Entry]:
    waiting: list[tuple[str | Path | _Loaded, int]] = [(first, 1)]
    seen: set[str] = set()
    for _ in range(_MAX_DOCUMENTS):
        if not waiting:
            return
        source, depth = waiting.pop(0)
        if not isinstance(source, _Loaded):
            if str(source) in seen:
                continue
            seen.add(str(source))
            source = await _load(pool, source)
        for entry in read_entries(source.content, source.place):
            if isinstance(entry, str):
                tell(entry)
            elif entry.kind != CATALOG_TYPE:
                yield entry
            elif depth < _MAX_DEPTH:
                waiting.append((_nested(entry), depth + 1))
            else:
                tell(f"{entry.identifier} is nested too deep, and left out")
    if waiting:
        tell(f"{first} holds more than {_MAX_DOCUMENTS} catalogs")


def _nested(entry: Entry) -> str | Path | _Loaded:
    """Return the catalog that an entry holds, or where it is."""
    if isinstance(entry.data, Raw):
        return _Loaded(bytes(entry.data), entry.place)
    return entry.target()


async def _load(pool: HttpPool, place: str | Path) -> _Loaded:
    if isinstance(place, Path):
        return _Loaded(await asyncio.to_thread(_read_file, place), str(place))
    whole = place if "://" in place else _with_scheme(place)
    url = urlsplit(whole)
    if url.path not in ("", "/"):
        return await _fetch(pool, whole)
    origin = f"{url.scheme}://{url.netloc}"
    try:
        return await _fetch(pool, origin + _WELL_KNOWN)
    except CatalogError:
        advertised = await _advertised(pool, f"{origin}/")
        if advertised is None:
            raise
    return await _fetch(pool, advertised)


def _with_scheme(place: str) -> str:
    """Complete a host as that of an agent is completed."""
    host, slash, path = place.partition("/")
    return card_locations(host)[0].partition("/.well-known/")[0] + slash + path


async def _fetch(pool: HttpPool, url: str) -> _Loaded:
    headers = {"Accept": f"{CATALOG_TYPE}, application/json"}
    place = url
    for _ in range(_MAX_REDIRECTS + 1):
        async with pool.exchange("GET", place, headers=headers, read_seconds=_SECONDS) as response:
            if response.status_code not in _REDIRECTS:
                if response.status_code != 200:
                    raise CatalogError(f"{place} answers with HTTP status {response.status_code}")
                return _Loaded(await read_body(response, _MAX_BYTES), place)
            target = urljoin(place, response.headers.get("location", ""))
        if not has_origin(target, place):
            raise CatalogError(f"{place} redirects to {target}: name that if you trust it")
        place = target
    raise CatalogError(f"{url} redirects more than {_MAX_REDIRECTS} times")


async def _advertised(pool: HttpPool, url: str) -> str | None:
    """Return the catalog that a site tells of in its headers (RFC 8288), None without one."""
    async with pool.exchange("GET", url, headers={}, read_seconds=_SECONDS) as response:
        header = response.headers.get("link", "")
    for target, parameters in _LINK.findall(header):
        relation = _REL.search(parameters)
        found = urljoin(url, target)
        is_safe = urlsplit(found).scheme == "https" or has_origin(found, url)
        if relation is not None and _RELATION in relation[1].lower().split() and is_safe:
            return found
    return None


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as problem:
        raise CatalogError(f"cannot read {path}: {problem.strerror}") from None
    if len(content) > _MAX_BYTES:
        raise CatalogError(f"{path} has more than {_MAX_BYTES} bytes")
    return content
