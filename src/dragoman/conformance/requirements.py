"""The requirement manifest of A2A 1.0: every sentence of the specification that can be obeyed.

The rows live in ``requirements_v1_0.tsv``, one per line, in the specification's order by area.
Tests and probes name a row by its id, ``R-<section>-<n>``; a published id keeps its meaning.

This module knows what is demanded. How a demand is met, or probed, is not its business.
"""

import csv
from collections.abc import Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec

__all__ = ("REQUIREMENTS", "Binding", "Check", "Level", "Requirement", "Scope", "Side")

Level: TypeAlias = Literal["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY"]
Binding: TypeAlias = Literal["JSONRPC", "HTTP+JSON", "GRPC", "custom"]

Side: TypeAlias = Literal["S", "C", "B", "W", "X", "E", "K", "P"]
"""Who obeys: server, client, both, webhook receiver, custom binding author, extension author,
SDK vendor, publisher of the specification."""

Check: TypeAlias = Literal["wire", "client", "unit", "ops"]
"""How it is seen: from outside a server, by watching a client, in code, in a deployment."""

Scope: TypeAlias = Literal[
    "now",
    "auth",
    "client",
    "custom",
    "docs",
    "extensions",
    "grpc",
    "sdk",
    "signing",
    "telemetry",
]
"""``now`` for what Dragoman does today, otherwise the topic that will bring it."""


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One conforming behaviour; a MUST NOT describes what is avoided as already avoided."""

    id: str
    area: str
    level: Level
    implied: bool
    """The source says it without an upper-case RFC 2119 word."""
    side: Side
    check: Check
    scope: Scope
    same_as: str | None
    """Id of the requirement this one restates; that one restates nothing."""
    after_1_0_1: bool
    """Found on the specification's main branch, in no release up to 1.0.1."""
    text: str
    bindings: tuple[Binding, ...]
    """The bindings it is about; empty means all of them."""


REQUIREMENTS: Mapping[str, Requirement]
"""All requirements by id. Read from the table on first use, so that importing stays cheap."""

_BINDINGS_BY_AREA: Final[Mapping[str, tuple[Binding, ...]]] = {
    "JSON-RPC binding": ("JSONRPC",),
    "HTTP+JSON binding": ("HTTP+JSON",),
    "gRPC binding": ("GRPC",),
    "Custom bindings": ("custom",),
}


def __getattr__(name: str) -> object:
    """Read the manifest when it is first asked for."""
    if name != "REQUIREMENTS":
        raise AttributeError(name)
    loaded = MappingProxyType({row.id: row for row in _read_table()})
    # Once the name is bound, Python no longer asks here.
    globals()["REQUIREMENTS"] = loaded
    return loaded


def _read_table() -> Iterator[Requirement]:
    table = files("dragoman.conformance").joinpath("requirements_v1_0.tsv").read_text("utf-8")
    for row in csv.DictReader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        fields = {
            **row,
            "same_as": row["same_as"] or None,
            "bindings": _BINDINGS_BY_AREA.get(row["area"], ()),
        }
        # Not strict: "true" and "false" are booleans in a table of text.
        yield msgspec.convert(fields, Requirement, strict=False)
