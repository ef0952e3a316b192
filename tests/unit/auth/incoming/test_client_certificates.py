"""Who is let in by a certificate that somebody has verified before."""

from base64 import b64encode
from datetime import timedelta

import pytest
from cryptography import x509

from dragoman.auth.incoming.authenticator import Evidence, Principal
from dragoman.auth.incoming.client_certificates import ClientCertificates
from dragoman.auth.incoming.forwarded_certificates import TrustedProxy
from dragoman.errors import UsageError
from dragoman.testing.clock import FakeClock
from tests.support.auth.certifying import START, der
from tests.support.auth.issuing import refusal, showing

URI = x509.UniformResourceIdentifier("spiffe://example/agent")
DNS = x509.DNSName("Agent.Example")
MAIL = x509.RFC822Name("agent@mail.example")


def shown(certificate: bytes) -> Evidence:
    return Evidence(headers={}, peer="192.0.2.1", certificate=certificate)


async def owner(certificates: ClientCertificates, evidence: Evidence) -> str | None:
    found = await certificates.authenticate(evidence)
    return found.owner if found else None


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((DNS, URI, MAIL), "cert:uri:spiffe://example/agent"),
        ((MAIL, DNS), "cert:dns:agent.example"),
        ((MAIL,), "cert:email:agent@mail.example"),
        ((), "cert:subject:CN=agent"),
    ],
)
async def test_the_owner_is_the_best_name_there_is(
    names: tuple[x509.GeneralName, ...], expected: str
) -> None:
    assert await owner(ClientCertificates(clock=FakeClock()), shown(der(*names))) == expected


async def test_what_names_the_holder_can_be_chosen() -> None:
    certificates = ClientCertificates(names=["dns"], owner_prefix="", clock=FakeClock())
    assert await owner(certificates, shown(der(URI, DNS))) == "dns:agent.example"
    assert "no name that counts" in await refusal(certificates, shown(der(URI)))


async def test_only_those_on_the_list_are_let_in() -> None:
    bob = Principal(owner="bob", scopes=frozenset({"x"}))
    owners = {"dns:agent.example": "alice", "uri:spiffe://example/agent": bob}
    certificates = ClientCertificates(owners, clock=FakeClock())
    assert await owner(certificates, shown(der(DNS))) == "cert:alice"
    assert await certificates.authenticate(shown(der(URI))) is bob
    assert "not among the owners" in await refusal(certificates, shown(der(MAIL)))
    # A name of one kind does not pass for one of another.
    imitation = der(common_name="dns:agent.example")
    assert "not among the owners" in await refusal(certificates, shown(imitation))


async def test_a_subject_cannot_imitate_another() -> None:
    certificates = ClientCertificates(clock=FakeClock())
    imitation = shown(der(common_name="agent,O=bank"))
    assert await owner(certificates, imitation) == r"cert:subject:CN=agent\,O=bank"


async def test_a_certificate_is_good_in_its_time() -> None:
    clock = FakeClock()
    certificates = ClientCertificates(clock=clock)
    early = shown(der(URI, start=START + timedelta(seconds=10)))
    late = shown(der(DNS, start=START - timedelta(days=1), lasts=timedelta(days=1, seconds=10)))
    assert "not good yet" in await refusal(certificates, early)
    assert await owner(certificates, late)
    clock.advance(10)
    assert await owner(certificates, early)
    # The connection it was shown on may still be open.
    assert "has expired" in await refusal(certificates, late)


async def test_who_shows_none_is_not_judged_and_nonsense_is_refused() -> None:
    certificates = ClientCertificates()
    assert await certificates.authenticate(showing()) is None
    for nonsense in (b"", b"x", der(URI)[:-1], b"\x30\x82" * 100):
        assert "no certificate" in await refusal(certificates, shown(nonsense))


def through(
    certificate: bytes | None, peer: str = "10.0.0.1", own: bytes | None = None
) -> Evidence:
    value = "" if certificate is None else f":{b64encode(certificate).decode()}:"
    return Evidence(headers={b"client-cert": value}, peer=peer, certificate=own)


async def test_a_header_counts_from_a_trusted_proxy_alone() -> None:
    behind = ClientCertificates(proxy=TrustedProxy("10.0.0.1"), clock=FakeClock())
    assert await owner(behind, through(der(URI))) == "cert:uri:spiffe://example/agent"
    # From anybody else, and where no proxy was named, it is just a header.
    assert await owner(behind, through(der(URI), peer="10.0.0.2")) is None
    assert await owner(ClientCertificates(clock=FakeClock()), through(der(URI))) is None
    # Who comes past the proxy with a certificate of its own is known by that.
    direct = through(der(URI), peer="10.0.0.2", own=der(DNS))
    assert await owner(behind, direct) == "cert:dns:agent.example"


async def test_nobody_is_taken_for_the_proxy() -> None:
    behind = ClientCertificates(proxy=TrustedProxy("10.0.0.1"), clock=FakeClock())
    assert await owner(behind, through(None, own=der(DNS))) is None
    assert "no certificate" in await refusal(behind, through(b"x", own=der(DNS)))
    garbled = Evidence(headers={b"client-cert": "x"}, peer="10.0.0.1", certificate=der(DNS))
    assert "RFC 9440" in await refusal(behind, garbled)


def test_the_card_tells_of_it() -> None:
    certificates = ClientCertificates(name="tls", description="Ask us.")
    assert certificates.scheme.mtls_security_scheme is not None
    assert certificates.scheme.mtls_security_scheme.description == "Ask us."
    assert (certificates.name, certificates.challenge) == ("tls", 'ClientCertificate realm="a2a"')
    with pytest.raises(UsageError, match="names is empty"):
        ClientCertificates(names=[])
