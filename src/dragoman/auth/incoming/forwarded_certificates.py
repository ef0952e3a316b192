"""The certificate of a caller, as a proxy that ended TLS passes it on.

Anybody can write such a header. It counts only when it comes from a proxy that is trusted to have
verified the certificate, and to let no such header of its callers through.
"""

from __future__ import annotations

import re
import ssl
from base64 import b64decode
from collections.abc import Callable, Mapping
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote

from dragoman.auth.incoming.authenticator import BadCredentialsError, Evidence
from dragoman.errors import UsageError

__all__ = ("ForwardedForm", "TrustedProxy")

ForwardedForm: TypeAlias = Literal["rfc9440", "envoy", "pem"]
"""How a certificate is written: as RFC 9440 has it, as Envoy has it, or as escaped PEM (nginx)."""

_HEADERS: Final[dict[ForwardedForm, str]] = {
    "rfc9440": "Client-Cert",
    "envoy": "X-Forwarded-Client-Cert",
    "pem": "X-SSL-Client-Cert",
}

_MOST: Final = 32_768
"""Characters; certificates have 1,000 to 4,000, and escaping may treble them."""

_UNIX: Final = "unix"

_ENVOY_PAIR: Final = re.compile(r'([^=,;"]+)=("(?:[^"\\]|\\.)*"|[^,;"]*)')
_ENVOY: Final = re.compile(rf"{_ENVOY_PAIR.pattern}(?:;{_ENVOY_PAIR.pattern})*")
"""One element: pairs of a name and a value, which has quotes where it could be mistaken."""


class TrustedProxy:
    """Where a proxy is, and how it passes certificates on."""

    def __init__(self, *addresses: str, form: ForwardedForm = "rfc9440", header: str = "") -> None:
        """Name the addresses, or networks, of the proxies; ``unix`` for one on a unix socket.

        Args:
            header: the name of the header, if it is not the usual one of the form.

        Raises:
            UsageError: there is no address, or one is none.
        """
        if not addresses:
            raise UsageError("TrustedProxy needs the addresses of the proxies")
        self._is_unix = _UNIX in addresses
        self._networks = tuple(_network(one) for one in addresses if one != _UNIX)
        self._read = _READERS[form]
        self._header = (header or _HEADERS[form]).lower().encode()

    def is_peer(self, evidence: Evidence) -> bool:
        """Tell whether a request comes from a trusted proxy."""
        if evidence.peer is None:
            return self._is_unix
        try:
            address = ip_address(evidence.peer.partition("%")[0])
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)

    def certificate(self, evidence: Evidence) -> bytes | None:
        """Return the certificate (DER) that the proxy passes on, None if its caller has shown none.

        Raises:
            BadCredentialsError: the header cannot be read.
        """
        value = evidence.headers.get(self._header, "").strip(" \t")
        if not value:
            return None
        if len(value) > _MOST:
            raise BadCredentialsError(f"the certificate has more than {_MOST} characters")
        return self._read(value)


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text)
    except ValueError:
        raise UsageError(f"{text!r} is no address and no network, such as 10.0.0.0/8") from None


def _rfc9440(value: str) -> bytes:
    # RFC 8941, 3.3.5: a sequence of bytes stands between colons.
    if len(value) < 2 or value[0] != ":" or value[-1] != ":":
        raise BadCredentialsError("the certificate is not written as RFC 9440 has it")
    try:
        return b64decode(value[1:-1], validate=True)
    except ValueError:
        raise BadCredentialsError("the certificate is not written as RFC 9440 has it") from None


def _envoy(value: str) -> bytes:
    match = _ENVOY.fullmatch(value)
    # One element for each proxy on the way. Who has written the first ones cannot be told.
    if match is None:
        raise BadCredentialsError("the certificates of several proxies, or none, were passed on")
    found = [text for name, text in _ENVOY_PAIR.findall(value) if name.strip().lower() == "cert"]
    if len(found) != 1:
        raise BadCredentialsError("the proxy does not pass on the certificate itself (Cert)")
    return _pem(found[0].strip('"'))


def _pem(value: str) -> bytes:
    text = unquote(value).strip()
    if not (text.startswith(ssl.PEM_HEADER) and text.endswith(ssl.PEM_FOOTER)):
        raise BadCredentialsError("the certificate is not written in PEM")
    body = text.removeprefix(ssl.PEM_HEADER).removesuffix(ssl.PEM_FOOTER)
    try:
        # Some proxies write the lines of PEM side by side, as a header has one line only.
        return b64decode("".join(body.split()), validate=True)
    except ValueError:
        raise BadCredentialsError("the certificate is not written in PEM") from None


_READERS: Final[Mapping[ForwardedForm, Callable[[str], bytes]]] = {
    "rfc9440": _rfc9440,
    "envoy": _envoy,
    "pem": _pem,
}
