"""XprSigner: what a client shows to an agent that wants signed requests."""

from __future__ import annotations

from hashlib import sha256
from typing import ClassVar, Final

from msgspec import field
from msgspec.structs import force_setattr

from dragoman.auth.outgoing.credentials import Attachment, OriginBound
from dragoman.clock import Clock, SystemClock
from dragoman.errors import UsageError
from dragoman.extensions.xpr.chain.names import check_account
from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.errors import MalformedError
from dragoman.extensions.xpr.signing import SCHEME, sign_request
from dragoman.model.security import SecurityScheme

__all__ = ("XprSigner",)

_MOST_BODIES: Final = 256
"""Bodies that are remembered: what is sent again is sent again soon."""


class _Timestamps:
    """Times to sign with: the present, but never the same twice for one body.

    Servers take a request once. One that is sent again within a second is another by its time.
    """

    def __init__(self) -> None:
        self._latest: dict[bytes, int] = {}

    def next(self, body: bytes, now_seconds: int) -> int:
        """Return the time to sign this body with."""
        mark = sha256(body).digest()
        chosen = max(now_seconds, self._latest.pop(mark, 0) + 1)
        self._latest[mark] = chosen
        if len(self._latest) > _MOST_BODIES:
            del self._latest[next(iter(self._latest))]
        return chosen


class XprSigner(OriginBound, frozen=True):
    """Signs requests as an account: ``connect(url, auth=XprSigner("alice", key))``.

    The key is in one of its text forms (WIF, ``PVT_K1_…``, ``PVT_R1_…``). It must be one of those
    of the account's active permission. Only requests with a body are signed.
    """

    signs_bodies: ClassVar[bool] = True

    account: str
    key: str | PrivateKey
    clock: Clock = field(default_factory=SystemClock)
    timestamps: _Timestamps = field(default_factory=_Timestamps)

    def __post_init__(self) -> None:
        """Read the key.

        Raises:
            UsageError: the account or the key is none; the key is not shown.
        """
        OriginBound.__post_init__(self)
        try:
            check_account(self.account)
            if isinstance(self.key, str):
                force_setattr(self, "key", PrivateKey.read(self.key))
        except MalformedError as error:
            raise UsageError(f"XprSigner: {error}") from None

    def fits(self, scheme: SecurityScheme | None) -> bool:
        """Tell whether a scheme of a card is this one."""
        http = scheme.http_auth_security_scheme if scheme is not None else None
        return http is not None and http.scheme.lower() == SCHEME.lower()

    async def attachment(self, *, is_retry: bool) -> Attachment:
        """Return what signs the body, once that is final."""
        del is_retry
        return Attachment(signers=(self._sign,))

    def _sign(self, body: bytes) -> dict[str, str]:
        if not body or isinstance(self.key, str):
            return {}
        timestamp = self.timestamps.next(body, self.clock.now_ms() // 1000)
        return sign_request(self.key, self.account, timestamp, body)
