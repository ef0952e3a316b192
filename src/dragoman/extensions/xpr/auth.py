"""XprAuth: callers who sign their requests with the key of an account of the chain."""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from typing import Final, Literal, Protocol, Self, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from dragoman.auth.incoming.authenticator import Evidence, Principal, ReadBody
from dragoman.auth.incoming.authorization_header import DEFAULT_REALM, challenge_of
from dragoman.clock import Clock, SystemClock
from dragoman.dialects.profiles.xpr.members import TARGET
from dragoman.errors import (
    PermissionDeniedError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
    UsageError,
)
from dragoman.extensions.xpr.chain.authority import Authority
from dragoman.extensions.xpr.chain.chain import Chain
from dragoman.extensions.xpr.chain.names import is_account
from dragoman.extensions.xpr.errors import (
    ChainError,
    SignatureRefusedError,
    UnknownAccountError,
    XprError,
)
from dragoman.extensions.xpr.settings import ToolMode, XprSettings
from dragoman.extensions.xpr.signing import (
    ACCOUNT_HEADER,
    SCHEME,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    WINDOW_SECONDS,
    Claim,
    check_signer,
    claim_of,
    shown_in,
)
from dragoman.extensions.xpr.trust import TrustFacts, TrustPolicy, refusal_of
from dragoman.model.security import HTTPAuthSecurityScheme, SecurityScheme
from dragoman.service.principal import ANONYMOUS, NOBODY, READ_ONLY

__all__ = (
    "READ",
    "WRITE",
    "Accounts",
    "Binding",
    "MemoryReplays",
    "Replays",
    "SlidingWindow",
    "XprAuth",
    "named_target",
)


Binding: TypeAlias = Literal["if-named", "required"]
"""Whether a request may leave open whom it is meant for."""

READ: Final = "xpr:read"
"""The scope that every caller has: for skills that look things up."""

WRITE: Final = "xpr:write"
"""The scope that callers have unless the tool mode is ``readonly``: for skills that do things.

Callers who lack it may use the skills that are read-only, and no others.
"""

_DESCRIPTION: Final = (
    f"{SIGNATURE_HEADER}: the body, signed by the active key of an XPR account, with "
    f"{ACCOUNT_HEADER} and {TIMESTAMP_HEADER}; JSON-RPC alone"
)
_BODILESS: Final = "XPR signatures cover a body: call by JSON-RPC"
_UNTOLD: Final = "Authentication error: the chain cannot be asked now"
_REPLAYED: Final = "Request was seen before: sign it anew"


class Accounts(Protocol):
    """What is known of accounts: a ``Chain``, or what stands for one in tests.

    All raise ChainError where that cannot be told.
    """

    async def authority(self, account: str, *, is_renewed: bool = False) -> Authority | None:
        """Return which keys may sign for an account, None if none ever may.

        Args:
            is_renewed: what was told before may be out of date.
        """
        ...

    async def trust_facts(self, account: str, policy: TrustPolicy) -> TrustFacts:
        """Return what a policy goes by."""
        ...

    async def aclose(self) -> None:
        """Let go of what is held for asking; it may be asked again."""
        ...


class XprAuth:
    """Lets in who has signed the request, and whom the chain trusts enough.

    Callers sign the bodies of JSON-RPC requests, so an agent for which this is the only way in
    offers no other binding. Whatever ``xpr:callerAccount`` a body names, the caller is the account
    whose key has signed.

    Attributes:
        signs_bodies: it needs the body of a request.
        is_optional: unsigned requests are let in as well.
        owner_prefix: what stands before the account in the name of an owner.
    """

    signs_bodies: Final = True

    def __init__(
        self,
        chain: Accounts,
        *,
        trust: TrustPolicy | None = None,
        rate_limit: int = 20,
        is_required: bool = True,
        tool_mode: ToolMode = "full",
        target: str = "",
        target_binding: Binding = "if-named",
        honours_weights: bool = True,
        replays: Replays | None = None,
        owner_prefix: str = "xpr:",
        name: str = "xpr",
        clock: Clock | None = None,
    ) -> None:
        """Take the chain that knows the keys, and say who is let in.

        Args:
            rate_limit: calls of one account in a minute.
            tool_mode: ``readonly`` leaves callers, known or not, the skills that are read-only.
            is_required: refuse requests without a signature. Else they are let in as ``anonymous``,
                all of them under one rate limit, whatever account they name.
            target: the agent's own account. A request whose body names another is refused.
            target_binding: ``required`` also refuses a request that names none.
            honours_weights: a key must reach the threshold of its permission by itself. Without it
                any active key will do, as on the network's own servers.
            replays: where requests are remembered; in this process unless given.
            owner_prefix: put before the account in the name of the owner.

        Raises:
            UsageError: the target is no account, is missing where it is required, the rate limit
                lets nobody in, or there is no prefix.
        """
        if target and not is_account(target):
            raise UsageError(f"target is {target!r}, which is no account")
        if target_binding == "required" and not target:
            raise UsageError("target_binding='required' needs a target: the agent's own account")
        if not owner_prefix:
            raise UsageError("owner_prefix is empty: accounts could be mistaken for other owners")
        if rate_limit < 1:
            raise UsageError(f"rate_limit is {rate_limit}: it lets nobody in")
        self._chain = chain
        self._trust = trust or TrustPolicy()
        self._window = SlidingWindow(rate_limit)
        self._target = target
        self._target_binding = target_binding
        self._honours_weights = honours_weights
        self._clock: Clock = clock or SystemClock()
        self._replays = replays or MemoryReplays(self._clock)
        self.owner_prefix: Final = owner_prefix
        is_full = tool_mode == "full"
        self._scopes = frozenset({READ, WRITE}) if is_full else frozenset({READ, READ_ONLY})
        self._nobody = NOBODY if is_full else replace(NOBODY, scopes=frozenset({READ_ONLY}))
        self.is_optional: Final = not is_required
        self.name: Final = name
        self.scheme: Final = SecurityScheme(
            # Not an API key in a header: clients that have some key would send it there.
            http_auth_security_scheme=HTTPAuthSecurityScheme(
                description=_DESCRIPTION, scheme=SCHEME
            )
        )
        self.challenge: Final = challenge_of(SCHEME, realm=DEFAULT_REALM)

    @classmethod
    def from_settings(cls, settings: XprSettings, *, clock: Clock | None = None) -> Self:
        """Make one as the environment of an agent of this network says.

        Raises:
            UsageError: there is no endpoint, or a setting cannot be used.
        """
        return cls(
            Chain(*settings.endpoints, permission=settings.permission, clock=clock),
            trust=TrustPolicy(
                require_agent=settings.require_agent,
                min_kyc_level=settings.min_kyc_level,
                min_trust_score=settings.min_trust_score,
            ),
            rate_limit=settings.rate_limit,
            is_required=settings.auth_required,
            tool_mode=settings.tool_mode,
            target=settings.account,
            clock=clock,
        )

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Return the account that has signed; see ``Authenticator.authenticate``.

        Raises:
            UnauthenticatedError: the request is not signed well; says why, as this network does.
            RateLimitedError: the account has called too often.
            PermissionDeniedError: the chain does not trust the account enough.
            UnavailableError: the chain cannot tell now.
        """
        account, stated, signature = shown_in(evidence.headers)
        if self.is_optional and not signature:
            # An account that nobody has signed for is a claim, and not who calls.
            return self._anonymous()
        if not (account or stated or signature):
            return None
        now_ms = self._clock.now_ms()
        try:
            claim = claim_of(account, stated, signature, now_ms // 1000)
            await self._check(claim, evidence.body, now_ms)
        except ChainError:
            raise UnavailableError(_UNTOLD) from None
        except XprError as error:
            # The cause tells that something was shown, and was not good.
            raise self._refused(str(error)) from error
        if self._trust.asks:
            await self._check_trust(account)
        return Principal(owner=self.owner_prefix + account, scopes=self._scopes)

    async def flush(self) -> None:
        """Close the connections to the chain; for a server that stops."""
        await self._chain.aclose()

    # --- the signature ----------------------------------------------------------------------------

    async def _check(self, claim: Claim, read_body: ReadBody | None, now_ms: int) -> None:
        """Raise unless it is as it is claimed, and the request may be taken; then it is.

        The chain is asked last, and only requests that are signed well are remembered and counted.
        """
        if read_body is None:
            raise SignatureRefusedError(_BODILESS)
        body = await read_body()
        digest = claim.digest(body)
        try:
            authority = await self._chain.authority(claim.account)
        except UnknownAccountError as error:
            raise SignatureRefusedError(f"Authentication error: {error}") from error
        try:
            check_signer(claim, digest, authority, honours_weights=self._honours_weights)
        except SignatureRefusedError as refusal:
            await self._check_anew(claim, digest, authority, refusal)
        if self._target:
            self._check_target(body)
        self._check_rate(claim.account, now_ms)
        if not await self._replays.claim(digest):
            raise SignatureRefusedError(_REPLAYED)
        self._window.count(claim.account, now_ms)

    async def _check_anew(
        self,
        claim: Claim,
        digest: bytes,
        authority: Authority | None,
        refusal: SignatureRefusedError,
    ) -> None:
        """Raise a refusal unless the account has other keys by now, and one of them has signed."""
        try:
            renewed = await self._chain.authority(claim.account, is_renewed=True)
        except ChainError:
            # What is known of the account stands.
            raise refusal from None
        if renewed == authority:
            raise refusal
        check_signer(claim, digest, renewed, honours_weights=self._honours_weights)

    def _check_target(self, body: bytes) -> None:
        named = named_target(body)
        if named is None and self._target_binding == "required":
            raise SignatureRefusedError(f"Request does not say whom it is for: name {TARGET}")
        if named not in (None, self._target):
            raise SignatureRefusedError(f"Request is for another agent than '{self._target}'")

    def _refused(self, message: str) -> UnauthenticatedError:
        return UnauthenticatedError(message, challenges=(self.challenge,))

    # --- who may call, and how often --------------------------------------------------------------

    def _anonymous(self) -> Principal:
        now_ms = self._clock.now_ms()
        self._check_rate(ANONYMOUS, now_ms)
        self._window.count(ANONYMOUS, now_ms)
        return self._nobody

    def _check_rate(self, account: str, now_ms: int) -> None:
        wait_ms = self._window.wait_ms(account, now_ms)
        if wait_ms:
            raise RateLimitedError(
                f"Rate limit exceeded: {self._window.limit} requests per minute for account "
                f"'{account}'",
                retry_after_seconds=math.ceil(wait_ms / 1000),
            )

    async def _check_trust(self, account: str) -> None:
        try:
            facts = await self._chain.trust_facts(account, self._trust)
        except ChainError:
            raise UnavailableError(_UNTOLD) from None
        refusal = refusal_of(self._trust, account, facts)
        if refusal is not None:
            raise PermissionDeniedError(refusal)


# --- requests that were seen before ---------------------------------------------------------------


_KEPT_MS: Final = 2 * WINDOW_SECONDS * 1000
"""A timestamp may lie in the future by one window, and is good for another after that."""

_MOST_DIGESTS: Final = 100_000
"""Digests that are kept: at 20 calls a minute for each account, those of 500 busy ones."""


class Replays(Protocol):
    """Remembers which requests were taken. One that several replicas share guards them all."""

    async def claim(self, digest: bytes) -> bool:
        """Take a request by its digest; False if it was taken before.

        Of several that claim one digest at the same time, one gets True. A digest is kept for at
        least ten minutes.

        Raises:
            UnavailableError: it cannot be told now; nothing is taken then.
        """
        ...


class MemoryReplays:
    """Remembers in this process.

    Forgetting early would open the door to who has kept a request, so when it is full nobody is let
    in until the oldest digests have run out.
    """

    def __init__(self, clock: Clock, *, most: int = _MOST_DIGESTS) -> None:
        self._clock = clock
        self._most = most
        self._until_ms: dict[bytes, int] = {}
        # In the order of time, since all are kept equally long. The dictionary has the same order,
        # but to find the first of what is left in it goes over all that were removed.
        self._oldest: deque[bytes] = deque()

    async def claim(self, digest: bytes) -> bool:
        """Take a request; see ``Replays.claim``."""
        now_ms = self._clock.now_ms()
        self._forget(now_ms)
        if digest in self._until_ms:
            return False
        if len(self._oldest) >= self._most:
            oldest_ms = self._until_ms[self._oldest[0]]
            raise UnavailableError(
                "Too many signed requests have come in the last minutes",
                retry_after_seconds=(oldest_ms - now_ms) / 1000,
            )
        self._until_ms[digest] = now_ms + _KEPT_MS
        self._oldest.append(digest)
        return True

    def _forget(self, now_ms: int) -> None:
        while self._oldest and self._until_ms[self._oldest[0]] <= now_ms:
            del self._until_ms[self._oldest.popleft()]


# --- calls per minute -----------------------------------------------------------------------------


_WINDOW_MS: Final = 60_000
_MOST_ACCOUNTS: Final = 10_000
"""Accounts that are watched; the one that was counted longest ago is forgotten first."""


class SlidingWindow:
    """Counts calls by account. Calls that are refused are not counted.

    Kept in this process: several replicas let through as many times the limit.
    """

    def __init__(self, limit: int, *, most: int = _MOST_ACCOUNTS) -> None:
        """Allow so many calls in any 60 seconds."""
        self.limit: Final = limit
        self._most = most
        # In the order of the latest calls.
        self._calls: OrderedDict[str, deque[int]] = OrderedDict()

    def wait_ms(self, account: str, now_ms: int) -> int:
        """Return how long an account has to wait for its next call, 0 if it may call now."""
        calls = self._calls.get(account)
        if calls is None:
            return 0
        while calls and calls[0] + _WINDOW_MS <= now_ms:
            calls.popleft()
        return calls[0] + _WINDOW_MS - now_ms if len(calls) >= self.limit else 0

    def count(self, account: str, now_ms: int) -> None:
        """Count a call."""
        calls = self._calls.setdefault(account, deque())
        calls.append(now_ms)
        self._calls.move_to_end(account)
        if len(self._calls) > self._most:
            self._calls.popitem(last=False)


# --- whom a request is meant for ------------------------------------------------------------------


class _Metadata(Struct):
    target: object = field(name=TARGET, default=None)


class _Params(Struct):
    target: object = field(name=TARGET, default=None)
    metadata: _Metadata | None = None


class _Request(Struct):
    params: _Params | None = None


_decode: Final = msgspec.json.Decoder(_Request).decode


def named_target(body: bytes) -> str | None:
    """Return the account that a request is meant for, None if it names none.

    The signature covers the body and no address. A sender who names the agent in the body makes
    sure that nobody takes the request to another one.

    What is no JSON-RPC request names none; whoever reads it says what is wrong with it.
    """
    try:
        params = _decode(body).params
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if params is None:
        return None
    named = params.target
    if named is None and params.metadata is not None:
        named = params.metadata.target
    return None if named is None else str(named)
