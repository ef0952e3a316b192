"""What a client adds to a request."""

import pytest

from dragoman.auth.outgoing.credentials import NOTHING
from dragoman.errors import UsageError
from dragoman.extensions.xpr.chain.authority import Authority
from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.signer import XprSigner
from dragoman.extensions.xpr.signing import check_signer, read_claim
from dragoman.model.security import (
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    SecurityScheme,
)
from dragoman.testing.clock import FakeClock
from tests.support.chain_double import VECTORS

WIF = VECTORS["keys"][0]["wif"]
KEY = PrivateKey.read(WIF)
AGENT = "https://agent.example"


async def headers_for(signer: XprSigner, body: bytes) -> dict[str, str]:
    return (await signer.attach(AGENT)).http_headers(body)


@pytest.mark.parametrize("pair", VECTORS["keys"], ids=lambda pair: pair["type"])
async def test_the_final_body_is_signed(pair: dict[str, str]) -> None:
    clock = FakeClock()
    signer = XprSigner("alice", pair["pvt"], clock=clock, for_origin=AGENT)
    headers = await headers_for(signer, b'{"jsonrpc":"2.0"}')
    now = clock.now_ms() // 1000
    assert headers["X-XPR-Account"] == "alice"
    assert headers["X-XPR-Timestamp"] == str(now)
    shown = {name.lower().encode(): value for name, value in headers.items()}
    claim = read_claim(shown, now)
    public = PrivateKey.read(pair["pvt"]).public
    authority = Authority(1, ((public, 1),))
    assert check_signer(claim, claim.digest(b'{"jsonrpc":"2.0"}'), authority) == public


async def test_a_request_without_a_body_is_not_signed() -> None:
    assert await headers_for(XprSigner("alice", WIF, for_origin=AGENT), b"") == {}


async def test_what_is_sent_again_is_signed_for_another_second() -> None:
    clock = FakeClock()
    signer = XprSigner("alice", WIF, clock=clock).bound_to(AGENT)
    now = clock.now_ms() // 1000
    times = [(await headers_for(signer, b"same"))["X-XPR-Timestamp"] for _ in range(3)]
    assert times == [str(now), str(now + 1), str(now + 2)]
    assert (await headers_for(signer, b"other"))["X-XPR-Timestamp"] == str(now)
    clock.advance(60)
    assert (await headers_for(signer, b"same"))["X-XPR-Timestamp"] == str(now + 60)


async def test_no_other_origin_gets_a_signature() -> None:
    signer = XprSigner("alice", WIF, for_origin=AGENT)
    assert await signer.attach("https://other.example") is NOTHING


@pytest.mark.parametrize(
    ("account", "key", "finding"),
    [
        ("Alice", WIF, "no account"),
        ("alice", WIF[:-1] + "2", "WIF"),
        ("alice", "", "37 bytes"),
        ("alice", VECTORS["keys"][0]["pub"], "too long"),
    ],
)
def test_what_cannot_sign_is_refused_at_once(account: str, key: str, finding: str) -> None:
    with pytest.raises(UsageError, match=finding) as caught:
        XprSigner(account, key)
    assert not key or key not in str(caught.value)


def test_it_shows_no_secret() -> None:
    signer = XprSigner("alice", WIF)
    for shown in (repr(signer), str(signer)):
        assert WIF not in shown
        assert KEY.secret.hex() not in shown


def test_it_meets_the_scheme_of_this_network_alone() -> None:
    signer = XprSigner("alice", WIF)
    xpr = HTTPAuthSecurityScheme(scheme="xpr")
    key = APIKeySecurityScheme(location="header", name="X-API-Key")
    bearer = HTTPAuthSecurityScheme(scheme="Bearer")
    assert signer.fits(SecurityScheme(http_auth_security_scheme=xpr))
    assert not signer.fits(SecurityScheme(api_key_security_scheme=key))
    assert not signer.fits(SecurityScheme(http_auth_security_scheme=bearer))
    assert not signer.fits(None)
