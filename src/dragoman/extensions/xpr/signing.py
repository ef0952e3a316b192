"""The signature of a request: what is signed, how it travels, and whether it is good. Pure.

The body is covered as the bytes on the wire. Neither the target nor the chain is: a request that
one agent was sent is as good at another one while it is fresh.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from msgspec import Struct

from dragoman.extensions.xpr.chain.authority import Authority
from dragoman.extensions.xpr.chain.names import is_account
from dragoman.extensions.xpr.crypto.keys import PrivateKey, PublicKey
from dragoman.extensions.xpr.crypto.signatures import Signature, sign, signer_among
from dragoman.extensions.xpr.errors import MalformedError, SignatureRefusedError

__all__ = (
    "ACCOUNT_HEADER",
    "SCHEME",
    "SIGNATURE_HEADER",
    "TIMESTAMP_HEADER",
    "WINDOW_SECONDS",
    "Claim",
    "check_signer",
    "claim_of",
    "digest_of",
    "read_claim",
    "shown_in",
    "sign_request",
)

ACCOUNT_HEADER: Final = "X-XPR-Account"
TIMESTAMP_HEADER: Final = "X-XPR-Timestamp"
SIGNATURE_HEADER: Final = "X-XPR-Signature"

# As servers have them.
_ACCOUNT: Final = ACCOUNT_HEADER.lower().encode()
_TIMESTAMP: Final = TIMESTAMP_HEADER.lower().encode()
_SIGNATURE: Final = SIGNATURE_HEADER.lower().encode()

SCHEME: Final = "XPR"
"""What cards and challenges call this way to show who one is."""

WINDOW_SECONDS: Final = 300
"""How far a timestamp may be from the time of the server, either way."""

_MOST_DIGITS: Final = 12
_MOST_KEYS: Final = 32
"""Of one account; people have one to three. Each that is tried takes time."""

_MISSING: Final = (
    f"Authentication required: {ACCOUNT_HEADER}, {TIMESTAMP_HEADER}, and {SIGNATURE_HEADER} "
    "headers are required"
)
_NO_TIMESTAMP: Final = f"Invalid {TIMESTAMP_HEADER}: must be a Unix timestamp"
_TOO_FAR: Final = f"Request timestamp too far from server time (window: {WINDOW_SECONDS}s)"
_NO_SIGNATURE: Final = "Invalid signature: could not recover public key"
_NO_ACCOUNT: Final = f"Authentication error: {ACCOUNT_HEADER} is not the name of an account"


class Claim(Struct, frozen=True):
    """What the headers of a request claim: an account has signed this, then."""

    account: str
    timestamp: int
    signature: Signature

    def digest(self, body: bytes) -> bytes:
        """Return what tells this request from all others; a second one with it is a replay."""
        return digest_of(self.account, self.timestamp, body)


def digest_of(account: str, timestamp: int, body: bytes) -> bytes:
    """Return the digest that names account, time and body of a request."""
    text = f"{account}\n{timestamp}\n{sha256(body).hexdigest()}"
    return sha256(text.encode()).digest()


def sign_request(key: PrivateKey, account: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of a signed request.

    Args:
        timestamp: seconds since the Unix epoch.
    """
    signature = sign(key, _signed_hash(digest_of(account, timestamp, body)))
    return {
        ACCOUNT_HEADER: account,
        TIMESTAMP_HEADER: str(timestamp),
        SIGNATURE_HEADER: signature.text,
    }


def read_claim(headers: Mapping[bytes, str], now_seconds: int) -> Claim:
    """Read what the headers claim, and check all that needs neither the body nor the chain.

    Args:
        headers: by lower-case name.

    Raises:
        SignatureRefusedError: one is missing, stale or malformed; says what the caller is told.
    """
    account, stated, signature = shown_in(headers)
    return claim_of(account, stated, signature, now_seconds)


def shown_in(headers: Mapping[bytes, str]) -> tuple[str, str, str]:
    """Return the three headers, each "" if it is not there."""
    get = headers.get
    return get(_ACCOUNT, ""), get(_TIMESTAMP, ""), get(_SIGNATURE, "")


def claim_of(account: str, stated: str, signature: str, now_seconds: int) -> Claim:
    """Read the same of the three headers as they are; see ``read_claim``."""
    if not account or not stated or not signature:
        raise SignatureRefusedError(_MISSING)
    if not (len(stated) <= _MOST_DIGITS and stated.isascii() and stated.isdecimal()):
        raise SignatureRefusedError(_NO_TIMESTAMP)
    timestamp = int(stated)
    if abs(now_seconds - timestamp) > WINDOW_SECONDS:
        raise SignatureRefusedError(_TOO_FAR)
    try:
        read = Signature.read(signature)
    except MalformedError as error:
        raise SignatureRefusedError(_NO_SIGNATURE) from error
    if not is_account(account):
        raise SignatureRefusedError(_NO_ACCOUNT)
    return Claim(account, timestamp, read)


def check_signer(
    claim: Claim, digest: bytes, authority: Authority | None, *, honours_weights: bool = True
) -> PublicKey:
    """Return the key of the account that has signed a request.

    Args:
        digest: ``claim.digest`` of the body that came.
        authority: the active permission of the account, None if it has none.

    Raises:
        SignatureRefusedError: none has.
    """
    if authority is None:
        raise SignatureRefusedError(f"Account '{claim.account}' has no active permission")
    if not authority.keys:
        raise SignatureRefusedError(f"Account '{claim.account}' has no active keys")
    keys = authority.signers(honours_weights=honours_weights)[:_MOST_KEYS]
    found = signer_among(keys, claim.signature, _signed_hash(digest))
    if found is None:
        raise SignatureRefusedError(
            "Signature verification failed: recovered key does not match any active key for "
            f"account '{claim.account}'"
        )
    return found


def _signed_hash(digest: bytes) -> bytes:
    # The libraries of this network hash what they are given to sign, and are given the digest.
    return sha256(digest).digest()
