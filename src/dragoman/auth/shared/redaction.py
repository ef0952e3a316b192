"""What may be shown of requests and settings. Closed by default: only what is listed is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = ("REDACTED", "redacted_headers", "redacted_json", "redacted_url", "without_userinfo")

REDACTED: Final = "<redacted>"

_SHOWN_HEADERS: Final = frozenset(
    {
        "a2a-version",
        "a2a-extensions",
        "accept",
        "accept-encoding",
        "cache-control",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "date",
        "etag",
        "host",
        "last-event-id",
        "last-modified",
        "retry-after",
        "server",
        "te",
        "traceparent",
        "transfer-encoding",
        "user-agent",
        "vary",
    }
)
_SHOWN_QUERY: Final = frozenset(
    {
        "contextId",
        "historyLength",
        "id",
        "includeArtifacts",
        "pageSize",
        "pageToken",
        "status",
        "statusTimestampAfter",
        "taskId",
        "tenant",
    }
)
# Whatever the object is: a webhook, an answer of an authorization server, a form of the agent.
_SECRET_MEMBER: Final = re.compile(
    r'("(?:token|credentials|password|secret|apiKey|api_key|clientSecret|client_secret|'
    r'accessToken|access_token|refreshToken|refresh_token|idToken|id_token|authorization)"\s*:\s*)'
    r'"(?:[^"\\]|\\.)*"',
    re.IGNORECASE,
)
_USERINFO: Final = re.compile(r"(://)[^/@\s]*@")
_QUERY_ITEM: Final = re.compile(r"([?&])([^=&#]*)=([^&#]*)")


def redacted_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers, or metadata of gRPC, with the values that may be shown."""
    return {
        name: value if name.lower() in _SHOWN_HEADERS else REDACTED
        for name, value in headers.items()
    }


def redacted_url(url: str) -> str:
    """Return a URL without user and password, and without the values of a query but ours."""
    return _QUERY_ITEM.sub(_shown_item, without_userinfo(url))


def redacted_json(text: str) -> str:
    """Return JSON without the values of members that are called like secrets."""
    return _SECRET_MEMBER.sub(rf'\1"{REDACTED}"', text)


def without_userinfo(text: str) -> str:
    """Return a text with no user and password in its URLs."""
    return _USERINFO.sub(rf"\1{REDACTED}@", text)


def _shown_item(match: re.Match[str]) -> str:
    value = match[3] if match[2] in _SHOWN_QUERY else REDACTED
    return f"{match[1]}{match[2]}={value}"
