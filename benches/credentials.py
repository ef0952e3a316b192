"""What callers of a guarded server show: an API key, and tokens that are signed here.

The keys are made anew for each run, and what a server has to know of them is written to files.
"""

from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from joserfc import jwt
from joserfc.jwk import ECKey

from dragoman.auth.incoming.key_records import KeyRecord, change_keys, digest_of
from dragoman.clock import SystemClock

__all__ = ("AUDIENCE", "ISSUER", "JWKS_FILE", "KEYS_FILE", "key_header", "prepare", "token_header")

ISSUER: Final = "https://id.example"
AUDIENCE: Final = "https://bench.example"

_FOLDER: Final = Path(__file__).resolve().parent.parent / ".bench" / "credentials"
KEYS_FILE: Final = _FOLDER / "keys.json"
JWKS_FILE: Final = _FOLDER / "jwks.json"

_API_KEY: Final = "bench-0123456789abcdef0123456789abcdef012345"
"""As long as those that `dragoman keys` makes. The server is up for a benchmark, and local."""

_LIFETIME_SECONDS: Final = 6 * 3600


@cache
def _signing_key() -> ECKey:
    return ECKey.generate_key("P-256", {"kid": "bench", "alg": "ES256", "use": "sig"})


def prepare() -> None:
    """Write what guarded servers have to know."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    record = KeyRecord(
        id="bench", hash=digest_of(_API_KEY), owner="bench", created="2026-01-01T00:00:00Z"
    )
    change_keys(KEYS_FILE, lambda _: (record,))
    jwks = {"keys": [_signing_key().as_dict(private=False)]}
    JWKS_FILE.write_bytes(msgspec.json.encode(jwks))


def key_header() -> bytes:
    """Return the header of a caller with an API key."""
    return b"X-API-Key: %b\r\n" % _API_KEY.encode()


def token_header(name: str) -> bytes:
    """Return the header of a caller with a token; another name (`jti`) makes it another token."""
    now = SystemClock().now_ms() // 1000
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "bench",
        "jti": name,
        "iat": now,
        "exp": now + _LIFETIME_SECONDS,
        "scope": "read write",
    }
    token = jwt.encode({"alg": "ES256", "kid": "bench"}, claims, _signing_key())
    return b"Authorization: Bearer %b\r\n" % token.encode()
