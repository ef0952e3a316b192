"""What browsers are told with every answer, so that they do no more with it than was meant.

Constant tuples: the server writes a head it has written before from memory
(``net.http1.server``), and these do not change that.
"""

from __future__ import annotations

from typing import Final

__all__ = ("SECURITY_HEADERS",)

SECURITY_HEADERS: Final = (
    # An artifact is what its type says; no browser makes a page or a script of it.
    (b"x-content-type-options", b"nosniff"),
    # Addresses hold the ids of tasks and the names of tenants.
    (b"referrer-policy", b"no-referrer"),
)
