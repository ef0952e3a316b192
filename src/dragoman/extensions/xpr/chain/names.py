"""Names of accounts: 1 to 12 characters of a-z, 1-5 and dots."""

from __future__ import annotations

import re
from typing import Final

from dragoman.extensions.xpr.errors import MalformedError

__all__ = ("check_account", "is_account")

_NAME: Final = re.compile(r"[a-z1-5.]{0,11}[a-z1-5]")
"""A dot at the end adds nothing to the number that a name stands for: ``alice.`` is ``alice``. One
account has one name here, so that form is refused."""


def is_account(text: str) -> bool:
    """Tell whether a text can be the name of an account."""
    return _NAME.fullmatch(text) is not None


def check_account(text: str) -> str:
    """Return the name of an account.

    Raises:
        MalformedError: the text is none.
    """
    if not is_account(text):
        raise MalformedError(
            f"{text[:20]!r} is no account: it has 1 to 12 characters of a-z, 1-5 and '.', "
            "and does not end with a dot"
        )
    return text
