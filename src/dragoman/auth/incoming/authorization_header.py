"""What stands in ``Authorization`` (RFC 9110, 11.6.2): one scheme, and one text of credentials."""

from __future__ import annotations

import re
from typing import Final

from dragoman.auth.incoming.authenticator import BadCredentialsError, Evidence

__all__ = ("DEFAULT_REALM", "challenge_of", "credentials_in")

DEFAULT_REALM: Final = "a2a"

_NAME: Final = b"authorization"

_TOKEN68: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""RFC 9110, 11.2. It has neither space nor comma, so two headers that were joined are none."""


def credentials_in(evidence: Evidence, scheme: str, *, most: int) -> str | None:
    """Return the credentials of a scheme, None if there are none of that scheme.

    Args:
        most: how long they may be. What is longer is refused before anything is done with it.

    Raises:
        BadCredentialsError: the scheme is named, and what follows cannot be its credentials.
    """
    header = evidence.headers.get(_NAME)
    if header is None:
        return None
    found, _, credentials = header.strip(" \t").partition(" ")
    # RFC 9110, 11.1: the case of a scheme does not count.
    if found.lower() != scheme.lower():
        return None
    credentials = credentials.strip(" ")
    if len(credentials) > most:
        raise BadCredentialsError(f"they are longer than {most} characters")
    if not _TOKEN68.fullmatch(credentials):
        raise BadCredentialsError("they are missing, several, or have characters that none has")
    return credentials


def challenge_of(scheme: str, **parameters: str) -> str:
    """Write a challenge (RFC 9110, 11.6.1).

    Raises:
        ValueError: a value would break out of its quotes, or of the header.
    """
    for value in parameters.values():
        if not value.isascii() or not value.isprintable() or '"' in value or "\\" in value:
            raise ValueError(f"{value!r} cannot stand in a challenge")
    written = ", ".join(f'{name}="{value}"' for name, value in parameters.items())
    return f"{scheme} {written}" if written else scheme
