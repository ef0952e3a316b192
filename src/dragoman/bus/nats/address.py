"""What ``--bus nats://…`` says: the servers, and how to show who we are."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from msgspec import Struct

from dragoman.bus.nats.nkeys import NKey, read_credentials, read_seed
from dragoman.errors import UsageError

__all__ = ("DEFAULT_PREFIX", "NatsAddress", "parse_nats_address")

DEFAULT_PREFIX: Final = "main"

_PORT: Final = 4222
_OPTIONS: Final = ("ca", "cert", "creds", "key", "nkey", "prefix")
_PREFIX: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class NatsAddress(Struct, frozen=True, kw_only=True):
    """Where NATS is. What is shown to it is the same for all servers of a cluster.

    Attributes:
        servers: ``nats://host:port`` or ``tls://host:port``, without any secret.
        prefix: keeps deployments apart that share a NATS.
        creds, nkey: files with a JWT and its key, or with a key alone; read at every connection,
            so that they can be replaced while the replica runs.
        ca, cert, key: files for TLS; without them the machine's trusted roots, and no certificate.
    """

    servers: tuple[str, ...]
    prefix: str = DEFAULT_PREFIX
    user: str = ""
    password: str = ""
    token: str = ""
    creds: str = ""
    nkey: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""

    def __repr__(self) -> str:
        return f"NatsAddress({', '.join(self.servers)})"

    @property
    def is_tls(self) -> bool:
        """True when nothing is to be said in the clear."""
        return self.servers[0].startswith("tls:")

    def read_identity(self) -> tuple[str, NKey] | None:
        """Return the JWT ("" for none) and the key; None without either file.

        Raises OSError or ValueError when the file is no good.
        """
        if self.creds:
            return read_credentials(Path(self.creds).read_text("ascii"))
        if self.nkey:
            return "", read_seed(Path(self.nkey).read_text("ascii"))
        return None

    def tls_context(self) -> ssl.SSLContext | None:
        """Return how to talk TLS; None without it. Raises OSError when a file is no good."""
        if not self.is_tls:
            return None
        context = ssl.create_default_context(cafile=self.ca or None)
        if self.cert:
            context.load_cert_chain(self.cert, self.key or None)
        return context


def parse_nats_address(text: str) -> NatsAddress:
    """Read an address: ``nats://user:password@host:4222,nats://other:4222?option=value``.

    A user without password is a token. Raises UsageError that says what is wrong, without secrets;
    files are looked at now, so that a typing error is not found at the first reconnection.
    """
    hosts, _, query = text.partition("?")
    urls = [urlsplit(host) for host in hosts.split(",")]
    schemes = {url.scheme for url in urls}
    if len(schemes) != 1 or not schemes <= {"nats", "tls"}:
        raise UsageError("bus: every server is written nats://host:port, or every one tls://")
    options = _options(query)
    address = NatsAddress(servers=tuple(_server(url) for url in urls), **_identity(urls), **options)
    _check(address, options)
    return address


def _server(url: SplitResult) -> str:
    try:
        port = url.port or _PORT
    except ValueError:
        port = 0
    if not url.hostname or not port or url.path.strip("/") or url.fragment:
        raise UsageError("bus: a server of NATS is nats://host or nats://host:port, nothing more")
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    return f"{url.scheme}://{host}:{port}"


def _identity(urls: list[SplitResult]) -> dict[str, str]:
    """Return who we are, if the addresses say so; they may say it once."""
    given = {(url.username, url.password) for url in urls if url.username is not None}
    if len(given) > 1:
        raise UsageError("bus: the servers of one NATS take the same user; the addresses name two")
    if not given:
        return {}
    user, password = given.pop()
    if password is None:
        return {"token": unquote(user or "")}
    return {"user": unquote(user or ""), "password": unquote(password)}


def _options(query: str) -> dict[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    for name, value in pairs:
        if name not in _OPTIONS:
            raise UsageError(f"bus: NATS has no option {name!r}; known: {', '.join(_OPTIONS)}")
        if not value:
            raise UsageError(f"bus: option {name!r} has no value")
    options = dict(pairs)
    if len(options) != len(pairs):
        raise UsageError("bus: an option is given twice")
    return options


def _check(address: NatsAddress, options: dict[str, str]) -> None:
    if not _PREFIX.fullmatch(address.prefix):
        raise UsageError("bus: prefix takes letters, digits, _ and -, at most 64 of them")
    shown = [name for name in ("user", "token", "creds", "nkey") if getattr(address, name)]
    if len(shown) > 1:
        raise UsageError(f"bus: {' and '.join(shown)} exclude each other; give one of them")
    if not address.is_tls and options.keys() & {"ca", "cert", "key"}:
        raise UsageError("bus: ca, cert and key are for TLS; write tls:// instead of nats://")
    if address.key and not address.cert:
        raise UsageError("bus: key is the key of cert, which is not given")
    try:
        address.read_identity()
    except (OSError, ValueError) as error:
        file = "creds" if address.creds else "nkey"
        raise UsageError(f"bus: the file of option {file!r} is no good: {error}") from error
    try:
        address.tls_context()
    except OSError as error:
        raise UsageError(f"bus: the files for TLS are no good: {error}") from error
