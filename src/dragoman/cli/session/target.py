"""Which agent the options name, and how it is to be spoken to."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec import Struct

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.cli.options.options import (
    A2A_VERSION,
    AGENT_CARD,
    CA_CERT,
    CATALOG,
    CLIENT_CERT,
    CLIENT_KEY,
    ENDPOINT,
    INSECURE,
    LEGACY,
    STRICT,
    TENANT,
    TRANSPORT,
)
from dragoman.cli.options.settings import Level, Settings
from dragoman.client.discovery.addresses import file_path
from dragoman.client.discovery.catalog_reference import CatalogReference, catalog_reference
from dragoman.client.discovery.offers import BINDINGS, Binding
from dragoman.client.transports.tls import Tls
from dragoman.dialects.registry import NEWEST
from dragoman.errors import UsageError
from dragoman.model.cards import AgentInterface

__all__ = ("FLOOR", "Target", "certificate_of", "target_of", "tls_of")

FLOOR: Final = str(NEWEST)
"""The oldest version that is spoken without a word: nothing is downgraded in silence."""


class Target(Struct, frozen=True):
    """What to connect to.

    Attributes:
        address: where the card is, or where that is to be looked up, or the interface itself.
        version: the only one to speak; None if any will do.
        bindings: those to prefer, the best first.
        downgrade: speak versions before 1.0 also where the card declares a newer one.
    """

    address: str | Path | AgentInterface | CatalogReference
    version: str | None
    bindings: tuple[Binding, ...]
    downgrade: bool = False


def target_of(settings: Settings, folder: Path) -> Target:
    """Return the agent that the options name.

    Raises:
        UsageError: they name none, or two, or leave open how to speak to it.
    """
    version = settings[A2A_VERSION] or (FLOOR if settings[STRICT] else None)
    downgrade = settings[LEGACY]
    # A binding of somebody's own is no mistake: where a card has another, that is taken.
    bindings: tuple[Binding, ...] = tuple(
        name for wish in settings[TRANSPORT] for name in BINDINGS if name == wish
    )
    if not _is_endpoint(settings):
        if settings.is_given(TENANT):
            raise UsageError("--tenant is for --endpoint: a card names the tenant itself")
        reference = settings[AGENT_CARD] or ""
        entry = catalog_reference(reference, settings[CATALOG], folder)
        return Target(entry or _place(reference, folder), version, bindings, downgrade)
    if len(settings[TRANSPORT]) != 1 or not bindings:
        raise UsageError(f"--endpoint needs exactly one --transport: {', '.join(BINDINGS)}")
    interface = AgentInterface(
        url=settings[ENDPOINT] or "",
        protocol_binding=bindings[0],
        protocol_version=version or FLOOR,
        tenant=settings[TENANT] or "",
    )
    return Target(interface, version, bindings, downgrade)


def tls_of(settings: Settings, folder: Path) -> Tls:
    """Return whom to trust when a connection is made."""
    given = settings[CA_CERT]
    ca_file = folder / given if given is not None else None
    return Tls(ca_file=ca_file, is_insecure=settings[INSECURE])


def certificate_of(settings: Settings, folder: Path) -> ClientCertificate | None:
    """Return what to show to the agent while a connection is made (A2ACLI_AUTH_009).

    Raises:
        UsageError: there is a certificate without its key, or a key alone.
    """
    certificate, key = settings[CLIENT_CERT], settings[CLIENT_KEY]
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise UsageError("--client-cert and --client-key go together")
    return ClientCertificate(certificate=folder / certificate, key=folder / key)


def _is_endpoint(settings: Settings) -> bool:
    """Tell which option names the agent; of two from different sources, the stronger counts."""
    card, endpoint = settings.source(AGENT_CARD).level, settings.source(ENDPOINT).level
    if card != endpoint:
        return endpoint < card
    if card is Level.BUILT_IN:
        raise UsageError("which agent? Name it with --agent-card, or set A2ACLI_AGENT_CARD")
    raise UsageError("--agent-card and --endpoint exclude each other")


def _place(reference: str, folder: Path) -> str | Path:
    """Return a file as its path, and anything else as it is; what exists is no host."""
    path = file_path(reference)
    if path is None and (folder / reference).is_file():
        path = Path(reference)
    return reference if path is None else folder / path
