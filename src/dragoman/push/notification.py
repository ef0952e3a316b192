"""Parcel: a notification, ready to be sent."""

from __future__ import annotations

from msgspec import Struct

__all__ = ("Parcel",)


class Parcel(Struct, frozen=True, kw_only=True):
    """A notification, ready to be sent.

    Attributes:
        id: what it is called; every attempt repeats it, so that receivers know it again.
        version: of the protocol, in whose form the body is.
        trace: of what it tells of, as ``dragoman.telemetry`` has it; "" if that was not traced.
    """

    id: str
    body: bytes
    version: str = "1.0"
    trace: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """How the body is labelled; versions before 1.0 have a label of their own."""
        if self.version == "1.0":
            # R-4.3.3-2.
            return {"Content-Type": "application/a2a+json", "A2A-Version": self.version}
        return {"Content-Type": "application/json"}
