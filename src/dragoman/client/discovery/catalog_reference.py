"""References to an entry of a catalog: ``CATALOG@ENTRY``, or ENTRY alone with ``--catalog``.

Pure but for one look at the folder: what exists there is a file and no reference.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from dragoman.client.discovery.addresses import file_path

__all__ = ("CatalogReference", "catalog_reference")

# An @ in the host of a URL ends a password.
_HOST: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


class CatalogReference(NamedTuple):
    """An entry, and the catalog it is in: a host, a URL or a path."""

    catalog: str
    entry: str


def catalog_reference(reference: str, catalog: str | None, folder: Path) -> CatalogReference | None:
    """Read the reference to an agent as one to a catalog; None if it names the agent itself.

    Args:
        catalog: the one that entries without a catalog are in. Where there is one, a name without
            a scheme is an entry.
    """
    if not reference or (folder / reference).exists():
        return None
    host = _HOST.match(reference)
    at = reference.find("@", host.end() if host else 1)
    if at > 0 and reference[at + 1 :] and not _is_within_path(reference[:at]):
        return CatalogReference(reference[:at], reference[at + 1 :])
    if catalog and "://" not in reference and file_path(reference) is None:
        return CatalogReference(catalog, reference)
    return None


def _is_within_path(head: str) -> bool:
    """Tell whether an @ after this begins a name in a path, as in ``/users/@somebody``."""
    return head.endswith("/") and urlsplit(head).path != "/"
