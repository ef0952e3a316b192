import pytest

from dragoman.auth.shared.issuer_keys import IssuerKeys
from dragoman.errors import PermissionDeniedError, UnauthenticatedError
from dragoman.model.push import AuthenticationInfo
from dragoman.push.headers import credential_headers, token_headers
from dragoman.push.hmac_signing import hmac_headers
from dragoman.push.jwt_signing import JwtRules
from dragoman.push.receiving.verification import Proof, Verifier
from dragoman.testing.clock import FakeClock
from tests.support.push.receiving import URL, Sender

BODY = b'{"task":{}}'
BEARER = AuthenticationInfo(scheme="Bearer", credentials="s3cret")
SECRET = b"s" * 24
CLOCK = FakeClock()
SENDER = Sender()


def verifier(
    *,
    tokens: tuple[str, ...] = (),
    authentication: AuthenticationInfo | None = None,
    secrets: tuple[bytes, ...] = (),
    sender: Sender | None = None,
) -> Verifier:
    keys = sender and IssuerKeys(keys=sender.jwks, clock=CLOCK)
    return Verifier(
        tokens=tokens,
        authentication=authentication,
        secrets=secrets,
        keys=keys,
        rules=JwtRules(audience=URL),
        clock=CLOCK,
    )


EVERYTHING = verifier(tokens=("tok",), authentication=BEARER, secrets=(SECRET,), sender=SENDER)


def shown() -> dict[str, str]:
    """Everything that can be shown, with names as ASGI has them."""
    headers = {
        **token_headers("tok"),
        **credential_headers(BEARER),
        **hmac_headers((SECRET,), notification_id="n-1", now_ms=CLOCK.now_ms(), body=BODY),
        "X-A2A-Notification-JWT": SENDER.jwt(BODY, now_ms=CLOCK.now_ms()),
    }
    return {name.lower(): value for name, value in headers.items()}


@pytest.mark.requirement("R-4.3.3-7", "R-13.2-9", "R-T.str-9")
async def test_all_that_is_asked_for_is_good_together() -> None:
    EVERYTHING.check_headers(shown())
    proof = await EVERYTHING.check_body(shown(), BODY)
    assert proof == Proof(body=BODY, jti="n-1", task_id="t-1")


@pytest.mark.parametrize(
    ("missing", "finding"),
    [
        (("x-a2a-notification-token", "a2a-notification-token"), "The token in"),
        (("authorization",), "The credentials of Bearer"),
        (("webhook-signature",), "webhook-signature is missing"),
        # The bearer token that stands there instead is not signed.
        (("x-a2a-notification-jwt",), "The JWT is none"),
        (("x-a2a-notification-jwt", "authorization"), "The credentials of Bearer"),
    ],
)
async def test_nothing_of_it_may_be_missing(missing: tuple[str, ...], finding: str) -> None:
    headers = {name: value for name, value in shown().items() if name not in missing}

    async def check() -> None:
        EVERYTHING.check_headers(headers)
        await EVERYTHING.check_body(headers, BODY)

    with pytest.raises(UnauthenticatedError, match=finding):
        await check()


async def test_a_jwt_may_stand_where_bearer_tokens_do() -> None:
    only = verifier(sender=SENDER)
    token = SENDER.jwt(BODY, now_ms=CLOCK.now_ms())
    only.check_headers({})
    proof = await only.check_body({"authorization": f"bearer  {token}"}, BODY)
    assert proof.jti == "n-1"
    for headers in ({}, {"authorization": "Bearer "}, {"authorization": f"Basic {token}"}):
        with pytest.raises(UnauthenticatedError, match="There is no JWT"):
            await only.check_body(headers, BODY)


async def test_a_jwt_of_somebody_else_is_refused() -> None:
    only = verifier(sender=SENDER)
    stranger = Sender().jwt(BODY, now_ms=CLOCK.now_ms())
    with pytest.raises(UnauthenticatedError, match="not signed with a key of the sender"):
        await only.check_body({"authorization": f"Bearer {stranger}"}, BODY)
    other = SENDER.jwt(BODY, now_ms=CLOCK.now_ms(), url="https://other.example")
    with pytest.raises(PermissionDeniedError, match="is not for"):
        await only.check_body({"authorization": f"Bearer {other}"}, BODY)


def test_who_asks_for_nothing_says_so() -> None:
    assert not verifier().asks_for_anything
    assert verifier(tokens=("t",)).asks_for_anything
    assert verifier(authentication=BEARER).asks_for_anything
    assert verifier(secrets=(SECRET,)).asks_for_anything
    assert verifier(sender=SENDER).asks_for_anything
