"""Media types of HTTP bodies: what is read, and what is answered in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from dragoman.errors import ContentTypeNotSupportedError, UnsupportedMediaTypeError

__all__ = (
    "A2A_JSON",
    "EVENT_STREAM",
    "JSON",
    "check_is_json",
    "check_is_plain",
    "check_is_rest_json",
    "rest_content_type",
)

JSON: Final = b"application/json"
A2A_JSON: Final = b"application/a2a+json"
EVENT_STREAM: Final = b"text/event-stream"

_READ: Final = (JSON.decode(), A2A_JSON.decode())


def check_is_json(headers: Mapping[bytes, str]) -> None:
    """Refuse a body labelled as something else; parameters and a missing label do not matter."""
    # Nearly every request says this, and is not looked at further.
    if headers.get(b"content-type") == "application/json":
        return
    if (label := _foreign_label(headers)) is not None:
        raise UnsupportedMediaTypeError(_complaint(label))


def check_is_rest_json(headers: Mapping[bytes, str]) -> None:
    """Do the same for HTTP+JSON, which has an error of its own for it, and tell what is taken."""
    if (label := _foreign_label(headers)) is not None:
        raise ContentTypeNotSupportedError(
            _complaint(label),
            metadata={"mediaType": label[:100], "supportedMediaTypes": ", ".join(_READ)},
        )


def _foreign_label(headers: Mapping[bytes, str]) -> str | None:
    label = headers.get(b"content-type")
    is_json = label is None or _bare(label) in _READ
    return None if is_json else label


def _complaint(label: str) -> str:
    return f"Content-Type must be {' or '.join(_READ)}, not {label[:100]}"


def check_is_plain(headers: Mapping[bytes, str]) -> None:
    """Refuse a compressed body: how large it is would not be known before it is unpacked."""
    coding = headers.get(b"content-encoding", "").strip().lower()
    if coding not in ("", "identity"):
        raise UnsupportedMediaTypeError(
            f"Bodies are read as they are, not with Content-Encoding {coding[:100]}"
        )


def rest_content_type(headers: Mapping[bytes, str], *, force_json: bool) -> bytes:
    """Return the type to answer HTTP+JSON in: its own, unless the other is preferred (R-11.1-1)."""
    return JSON if force_json or _prefers_json(headers.get(b"accept", "")) else A2A_JSON


# Clients have few forms of the header; what they make up does not stay.
@lru_cache(maxsize=64)
def _prefers_json(accept: str) -> bool:
    """Tell whether plain JSON is accepted rather than the type of A2A (RFC 9110, 12.5.1).

    Of two that are accepted alike, the one is preferred that is named.
    """
    weights = {**dict(_weight(item) for item in accept.split(",")), "": 0.0}
    plain, own = (
        # The range that fits best is the one that counts, and the sooner the better it fits.
        next(
            (weights[name], -place)
            for place, name in enumerate((kind.decode(), "application/*", "*/*", ""))
            if name in weights
        )
        for kind in (JSON, A2A_JSON)
    )
    return plain[0] > 0 and plain > own


def _weight(item: str) -> tuple[str, float]:
    """Read one media range of Accept, with how much it is liked."""
    name, *parameters = item.split(";")
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            try:
                return _bare(name), float(value)
            except ValueError:
                break
    return _bare(name), 1.0


def _bare(label: str) -> str:
    return label.partition(";")[0].strip().lower()
