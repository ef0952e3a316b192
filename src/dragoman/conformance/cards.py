"""Looking at a card: whether it is one, and which interfaces it declares. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from dragoman.conformance.answers import at, objects, text_at
from dragoman.conformance.checks import Finding
from dragoman.conformance.requirements import REQUIREMENTS

__all__ = ("Declared", "card_findings", "declared_in", "no_card", "no_interface", "not_spoken")

_PARTS: Final = 2
"""R-3.6-1: a version is Major.Minor; older cards have a third number."""


class Declared(Struct, frozen=True, kw_only=True):
    """One interface as a card declares it."""

    binding: str
    version: str
    url: str
    tenant: str = ""


def declared_in(card: object) -> tuple[Declared, ...]:
    """Return the interfaces of a card, in its order; that of an older card comes first."""
    if at(card, "supportedInterfaces") is not None:
        return tuple(
            Declared(
                binding=text_at(entry, "protocolBinding"),
                version=text_at(entry, "protocolVersion"),
                url=text_at(entry, "url"),
                tenant=text_at(entry, "tenant"),
            )
            for entry in objects(at(card, "supportedInterfaces"))
        )
    # 0.x reference, 3.4.
    version = ".".join((text_at(card, "protocolVersion") or "0.2").split(".")[:_PARTS])
    main = {"transport": text_at(card, "preferredTransport") or "JSONRPC", "url": at(card, "url")}
    entries = (main, *objects(at(card, "additionalInterfaces")))
    found = (
        Declared(binding=text_at(entry, "transport"), version=version, url=text_at(entry, "url"))
        for entry in entries
    )
    return tuple(dict.fromkeys(found))


def card_findings(flaws: Sequence[str], headers: Mapping[str, str] | None) -> Iterator[Finding]:
    """Yield what is found about a card that there is.

    Args:
        flaws: what is wrong with it, by its schema.
        headers: those it came with, by names in lower case; None if it is a file.
    """
    yield _finding("card.available", "R-8.1-1", "there is a card", "")
    yield _finding(
        "card.schema", "R-14.3-1", "the card is one by the schema of its version", "; ".join(flaws)
    )
    if headers is None:
        return
    cached = headers.get("cache-control", "")
    yield _finding(
        "card.cache-control",
        "R-8.6.1-1",
        "the card comes with Cache-Control and its max-age",
        "" if "max-age" in cached else f"Cache-Control is {cached!r}",
    )
    yield _finding(
        "card.etag",
        "R-8.6.1-2",
        "the card comes with an ETag",
        "" if headers.get("etag") else "it has none",
    )


def no_card(reason: str) -> Finding:
    """Return the finding that there is no card."""
    return _finding("card.available", "R-8.1-1", "there is a card", reason)


def no_interface(reason: str) -> Finding:
    """Return the finding that a card has nothing that could be checked."""
    expected = "the card declares an interface that can be checked"
    return _finding("card.interfaces", "R-5.2-1", expected, reason)


def not_spoken(declared: Declared, reason: str) -> Finding:
    """Return the finding that an interface is not looked at."""
    return Finding(
        id="interface.answers",
        level="MUST",
        requirement="R-8.3.1-3" if declared.version == "1.0" else "",
        binding=declared.binding,
        version=declared.version,
        status="skip",
        expected="the interface answers at its URL, in its binding and version",
        found=reason,
    )


def _finding(check: str, requirement: str, expected: str, found: str) -> Finding:
    return Finding(
        id=check,
        level=REQUIREMENTS[requirement].level,
        requirement=requirement,
        binding="",
        version="",
        status="fail" if found else "pass",
        expected=expected,
        found=found,
    )
