import ssl
from base64 import b64encode
from urllib.parse import quote

import pytest

from dragoman.auth.incoming.authenticator import BadCredentialsError, Evidence
from dragoman.auth.incoming.forwarded_certificates import ForwardedForm, TrustedProxy
from dragoman.errors import UsageError
from tests.support.auth.certifying import pem

PEM = pem()
DER = ssl.PEM_cert_to_DER_cert(PEM)
RFC9440 = f":{b64encode(DER).decode()}:"
ESCAPED = quote(PEM)
ENVOY = f'By=spiffe://a/b;Hash=0f;Cert="{ESCAPED}";Subject="CN=\\"x\\",O=y;z";URI=spiffe://c/d'


def passed_on(header: str, value: str, peer: str | None = "10.1.2.3") -> Evidence:
    return Evidence(headers={header.encode(): value}, peer=peer)


WRITTEN: dict[str, tuple[ForwardedForm, str, str]] = {
    "rfc 9440": ("rfc9440", "client-cert", RFC9440),
    "envoy": ("envoy", "x-forwarded-client-cert", ENVOY),
    "envoy without quotes": ("envoy", "x-forwarded-client-cert", f"cert={ESCAPED}"),
    "nginx": ("pem", "x-ssl-client-cert", ESCAPED),
    # Some proxies put spaces where lines end.
    "one line": ("pem", "x-ssl-client-cert", PEM.strip().replace("\n", " ")),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_a_certificate_is_read_as_the_proxy_writes_it(written: str) -> None:
    form, header, value = WRITTEN[written]
    proxy = TrustedProxy("10.0.0.0/8", form=form)
    assert proxy.certificate(passed_on(header, value)) == DER
    for nothing in ("", " "):
        assert proxy.certificate(passed_on(header, nothing)) is None
    assert proxy.certificate(Evidence(headers={})) is None
    named = TrustedProxy("10.0.0.0/8", form=form, header="X-My-Cert")
    assert named.certificate(passed_on("x-my-cert", value)) == DER
    assert named.certificate(passed_on(header, value)) is None


UNREADABLE: dict[str, tuple[ForwardedForm, str]] = {
    "no colons": ("rfc9440", b64encode(DER).decode()),
    "two": ("rfc9440", f"{RFC9440},{RFC9440}"),
    "one colon": ("rfc9440", ":"),
    "no base64": ("rfc9440", ":!:"),
    "no ascii": ("rfc9440", ":\xe9:"),
    "too long": ("rfc9440", f":{'A' * 40_000}:"),
    # Or a header of the caller's own that was not taken away.
    "two proxies": ("envoy", f"{ENVOY},{ENVOY}"),
    "two certificates": ("envoy", f'Cert="{ESCAPED}";Cert="{ESCAPED}"'),
    "no certificate": ("envoy", "URI=spiffe://a/b"),
    "one in quotes": ("envoy", 'Subject="CN=\\";Cert=x"'),
    "half a quote": ("envoy", 'Cert="'),
    "no pairs": ("envoy", "nonsense"),
    "no pem": ("pem", "nonsense"),
    "cut off": ("pem", quote(PEM)[:-40]),
    "no base64 in it": ("pem", quote(f"{ssl.PEM_HEADER}\n!\n{ssl.PEM_FOOTER}\n")),
    "two in pem": ("pem", f"{ESCAPED},{ESCAPED}"),
    "no text": ("pem", "%ff%fe"),
}


@pytest.mark.parametrize("unreadable", UNREADABLE)
def test_what_cannot_be_read_is_refused(unreadable: str) -> None:
    form, value = UNREADABLE[unreadable]
    proxy = TrustedProxy("10.0.0.0/8", form=form, header="c")
    with pytest.raises(BadCredentialsError):
        proxy.certificate(passed_on("c", value))


@pytest.mark.parametrize(
    ("peer", "is_trusted"),
    [
        ("10.9.8.7", True),
        ("::ffff:10.9.8.7", True),
        ("192.0.2.1", True),
        ("fd00::1", True),
        ("fd00::1%eth0", True),
        ("11.0.0.1", False),
        ("192.0.2.2", False),
        ("fe80::1", False),
        ("localhost", False),
        ("", False),
        (None, False),
    ],
)
def test_a_proxy_is_known_by_its_address(peer: str | None, *, is_trusted: bool) -> None:
    proxy = TrustedProxy("10.0.0.0/8", "192.0.2.1", "fd00::/8")
    assert proxy.is_peer(Evidence(headers={}, peer=peer)) is is_trusted


def test_a_proxy_may_sit_on_a_unix_socket() -> None:
    proxy = TrustedProxy("unix")
    assert proxy.is_peer(Evidence(headers={}, peer=None))
    assert not proxy.is_peer(Evidence(headers={}, peer="127.0.0.1"))


def test_nobody_is_trusted_by_default() -> None:
    with pytest.raises(UsageError, match="needs the addresses"):
        TrustedProxy()
    with pytest.raises(UsageError, match="no address and no network"):
        TrustedProxy("proxy.example")
