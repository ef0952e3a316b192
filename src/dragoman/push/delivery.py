"""Deliverer: one attempt to tell a webhook something, and what comes of it.

When to try again is for ``dragoman.push.schedule``, and what to send for the dialect that the
webhook was registered in.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from dragoman import telemetry
from dragoman.clock import Clock
from dragoman.egress import DestinationRefusedError, Egress, NoAnswerError
from dragoman.errors import UsageError
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.push.headers import (
    AUTHORIZATION,
    ID_HEADER,
    JWT_HEADER,
    TIMESTAMP_HEADER,
    credential_headers,
    token_headers,
)
from dragoman.push.hmac_signing import hmac_headers, is_hmac, read_secret
from dragoman.push.jwt_signing import sign_jwt
from dragoman.push.notification import OutgoingNotification
from dragoman.push.schedule import (
    Answered,
    Forbidden,
    Outcome,
    Unanswered,
    Unsendable,
    Verdict,
    verdict_of,
)
from dragoman.push.signing_keys import SigningKey, SigningKeys
from dragoman.telemetry import CurrentSpan, Telemetry

__all__ = ("Deliverer", "headers_of")


class Deliverer:
    """Makes attempts to deliver.

    Args:
        keys: sign every notification with the newest of these; None signs none.
        issuer: who signs, as receivers know it: the address of the agent.
    """

    def __init__(
        self, egress: Egress, *, clock: Clock, keys: SigningKeys | None = None, issuer: str = ""
    ) -> None:
        self._egress = egress
        self._clock = clock
        self._keys = keys
        self._issuer = issuer

    async def deliver(
        self, config: TaskPushNotificationConfig, parcel: OutgoingNotification
    ) -> Outcome:
        """Send a notification to a webhook once. Whatever comes of it is an outcome."""
        if telemetry.active is not None:
            return await self._deliver_traced(telemetry.active, config, parcel)
        return await self._attempt(config, parcel, {})

    async def _deliver_traced(
        self, tracing: Telemetry, config: TaskPushNotificationConfig, parcel: OutgoingNotification
    ) -> Outcome:
        """Do the same as a span of the trace that the parcel tells of; the receiver goes on."""
        attributes = {
            "http.request.method": "POST",
            # No more of the address than this: paths of webhooks may be secrets.
            "server.address": urlsplit(config.url).hostname or "",
            "messaging.message.id": parcel.id,
            "a2a.task.id": config.task_id,
        }
        with tracing.span(
            "send notification", attributes, kind="client", parent=parcel.trace
        ) as span:
            outcome = await self._attempt(config, parcel, tracing.outgoing())
            _tell(span, outcome)
            return outcome

    async def _attempt(
        self,
        config: TaskPushNotificationConfig,
        parcel: OutgoingNotification,
        further: dict[str, str],
    ) -> Outcome:
        try:
            headers = further | headers_of(
                config,
                parcel,
                now_ms=self._clock.now_ms(),
                key=self._keys.current if self._keys is not None else None,
                issuer=self._issuer,
            )
            answer = await self._egress.ask("POST", config.url, headers=headers, body=parcel.body)
        except UsageError as problem:
            return Unsendable(finding=str(problem))
        except DestinationRefusedError as problem:
            return Forbidden(finding=str(problem), is_of_address=problem.is_of_address)
        except NoAnswerError as problem:
            return Unanswered(finding=problem.finding)
        return Answered(status=answer.status, retry_after=answer.headers.get("retry-after", ""))


def _tell(span: CurrentSpan, outcome: Outcome) -> None:
    kind = type(outcome).__name__
    if isinstance(outcome, Answered):
        span.tell("http.response.status_code", outcome.status)
        kind = str(outcome.status)
    if verdict_of(outcome) is not Verdict.DELIVERED:
        span.fail(kind)


def headers_of(
    config: TaskPushNotificationConfig,
    parcel: OutgoingNotification,
    *,
    now_ms: int,
    key: SigningKey | None = None,
    issuer: str = "",
) -> dict[str, str]:
    """Return the headers of an attempt; one with a signature is made anew for every attempt.

    Credentials of the scheme HMAC are a secret to sign with, and are not sent.

    Raises:
        UsageError: the secret of an HMAC is none.
    """
    headers = {
        **parcel.headers,
        ID_HEADER: parcel.id,
        # R-T.str-10.
        TIMESTAMP_HEADER: str(now_ms // 1000),
    }
    if config.token:
        headers |= token_headers(config.token)
    shown = config.authentication
    if shown is not None and is_hmac(shown):
        secret = read_secret(shown.credentials)
        headers |= hmac_headers(
            (secret,), notification_id=parcel.id, now_ms=now_ms, body=parcel.body
        )
    elif shown is not None and shown.credentials:
        # R-4.3.3-3.
        headers |= credential_headers(shown)
    if key is not None:
        jwt = sign_jwt(
            parcel.body,
            key.key,
            kid=key.kid,
            url=config.url,
            task_id=config.task_id,
            notification_id=parcel.id,
            now_ms=now_ms,
            issuer=issuer,
        )
        if AUTHORIZATION in headers:
            headers[JWT_HEADER] = jwt
        else:
            headers[AUTHORIZATION] = f"Bearer {jwt}"
    return headers
