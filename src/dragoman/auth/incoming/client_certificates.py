"""ClientCertificates: callers who are known by their certificate (mutual TLS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from cryptography import x509
from cryptography.x509.oid import ExtensionOID

from dragoman.auth.incoming.authenticator import BadCredentialsError, Evidence, Principal, refused
from dragoman.auth.incoming.authorization_header import DEFAULT_REALM, challenge_of
from dragoman.auth.incoming.forwarded_certificates import TrustedProxy
from dragoman.auth.incoming.verified_tokens import VerifiedTokens
from dragoman.clock import Clock, SystemClock
from dragoman.errors import UsageError
from dragoman.model.security import MutualTlsSecurityScheme, SecurityScheme

__all__ = ("CertificateName", "ClientCertificates")

CertificateName: TypeAlias = Literal["uri", "dns", "email", "subject"]
"""What of a certificate names its holder: an alternative name of some kind, or the subject."""

_NAMES: Final[tuple[CertificateName, ...]] = ("uri", "dns", "email", "subject")


class ClientCertificates:
    """Lets in who has shown a certificate that the server, or a trusted proxy, has verified.

    Which authorities are good is said where TLS ends: ``--tls-client-ca`` here, or the
    configuration of the proxy. The owner is called by the first name there is, with its kind:
    ``cert:uri:spiffe://example/agent``.
    """

    def __init__(
        self,
        owners: Mapping[str, str | Principal] | None = None,
        *,
        names: Sequence[CertificateName] = _NAMES,
        proxy: TrustedProxy | None = None,
        owner_prefix: str = "cert:",
        name: str = "mtls",
        description: str = "",
        clock: Clock | None = None,
    ) -> None:
        """Say who is let in.

        Args:
            owners: by the name in the certificate (``dns:agent.example``); nobody else is let in.
                Without it, everybody is whom the authorities vouch for.
            names: what names the holder, best first.
            proxy: a proxy that passes certificates on. From its addresses its header alone counts:
                the certificate of the connection is then the proxy's own.
            owner_prefix: put before the name of the owner; a ``Principal`` is taken as it is.

        Raises:
            UsageError: names is empty.
        """
        if not names:
            raise UsageError("names is empty: what of a certificate names its holder?")
        self._owners = owners
        self._names = tuple(names)
        self._proxy = proxy
        self._prefix = owner_prefix
        self._clock: Clock = clock or SystemClock()
        self._verified = VerifiedTokens(self._clock)
        self.name: Final = name
        self.scheme: Final = SecurityScheme(
            mtls_security_scheme=MutualTlsSecurityScheme(description=description)
        )
        self.challenge: Final = challenge_of("ClientCertificate", realm=DEFAULT_REALM)

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Return whose certificate was shown; see ``Authenticator.authenticate``."""
        try:
            shown = self._shown(evidence)
            if shown is None:
                return None
            found = self._verified.find(shown)
            if found is None:
                found = self._identify(shown)
                self._verified.keep(shown, found)
        except BadCredentialsError as error:
            raise refused(error) from error
        return found

    def _shown(self, evidence: Evidence) -> bytes | None:
        if self._proxy is not None and self._proxy.is_peer(evidence):
            return self._proxy.certificate(evidence)
        return evidence.certificate

    def _identify(self, shown: bytes) -> Principal:
        try:
            certificate = x509.load_der_x509_certificate(shown)
            name = _name_of(certificate, self._names)
        except ValueError:
            raise BadCredentialsError("it is no certificate") from None
        now = self._clock.now_ms() / 1000
        # A connection may outlive the certificate it was made with.
        end = certificate.not_valid_after_utc.timestamp()
        if not certificate.not_valid_before_utc.timestamp() <= now < end:
            raise BadCredentialsError("the certificate has expired or is not good yet")
        who = name if self._owners is None else self._owners.get(name)
        if who is None:
            raise BadCredentialsError(f"{name} is not among the owners")
        if isinstance(who, Principal):
            return who
        return Principal(owner=self._prefix + who, expires_ms=round(end * 1000))


def _name_of(certificate: x509.Certificate, names: Sequence[CertificateName]) -> str:
    for kind in names:
        text = _subject(certificate) if kind == "subject" else _alternative(certificate, kind)
        if text:
            return f"{kind}:{text}"
    raise BadCredentialsError("the certificate has no name that counts here")


def _subject(certificate: x509.Certificate) -> str:
    # RFC 4514: as text, with what could be taken for a separator escaped.
    return certificate.subject.rfc4514_string()


def _alternative(certificate: x509.Certificate, kind: CertificateName) -> str:
    try:
        found = certificate.extensions.get_extension_for_oid(
            ExtensionOID.SUBJECT_ALTERNATIVE_NAME
        ).value
    except x509.ExtensionNotFound:
        return ""
    if not isinstance(found, x509.SubjectAlternativeName):
        return ""
    match kind:
        case "uri":
            values = found.get_values_for_type(x509.UniformResourceIdentifier)
        case "dns":
            values = [value.lower() for value in found.get_values_for_type(x509.DNSName)]
        case _:
            values = found.get_values_for_type(x509.RFC822Name)
    return values[0] if values else ""
