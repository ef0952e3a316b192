"""EgressPolicy: what may be called, and within which bounds. Pure."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_network
from typing import Final, Self

from msgspec import Struct

from dragoman.egress.errors import DestinationRefusedError
from dragoman.egress.networks import INNER_KINDS, Address, Network, range_of, target_of
from dragoman.errors import UsageError

__all__ = ("Allowed", "EgressPolicy", "read_allowed")

_ENTRY: Final = re.compile(
    r"(?:\[(?P<bracketed>[0-9A-Fa-f:./]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>\*|[0-9]{1,5}))?"
)
_NAME: Final = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*", re.IGNORECASE)
_EVERY_PORT: Final = 0
_MOST_PORT: Final = 65535


class Allowed(Struct, frozen=True, kw_only=True):
    """One exception from the rules: a host or a network, and perhaps a port of it.

    Attributes:
        name: of a host; ``*.`` in front stands for all below it. "" if it is a network.
        port: one that is open there beside the usual ones; 0 opens every one, None opens none.
    """

    name: str = ""
    network: Network | None = None
    port: int | None = None

    def has_name(self, host: str) -> bool:
        """Tell whether a host is meant by its name."""
        if self.name.startswith("*."):
            return host.endswith(self.name[1:])
        return bool(self.name) and host == self.name

    def has_address(self, address: Address) -> bool:
        """Tell whether an address is in the network."""
        return self.network is not None and target_of(address) in self.network

    def opens(self, port: int) -> bool:
        """Tell whether it opens a port."""
        return self.port in (port, _EVERY_PORT)


def read_allowed(text: str) -> Allowed:
    """Read an exception: ``hooks.corp.example``, ``*.corp.example``, ``10.1.0.0/16``, ``[fd00::]``.

    Each may be followed by ``:`` and a port, or by ``:*`` for all ports.

    Raises:
        UsageError: it is none of these.
    """
    match = _ENTRY.fullmatch(text.strip())
    # An IPv6 address needs no brackets where no port follows.
    body = (match["bracketed"] or match["host"]) if match else text.strip()
    given = match["port"] if match else None
    port = _EVERY_PORT if given == "*" else int(given) if given else None
    if given and given != "*" and not 0 < int(given) <= _MOST_PORT:
        raise UsageError(f"{text!r} has a port that is none")
    try:
        return Allowed(network=ip_network(body), port=port)
    except ValueError:
        pass
    if not _NAME.fullmatch(body) or body.rpartition(".")[2].isdecimal():
        raise UsageError(f"{text!r} is neither a host, nor an address or a network (10.1.0.0/16)")
    return Allowed(name=body.lower(), port=port)


class EgressPolicy(Struct, frozen=True, kw_only=True):
    """What may be called, and within which bounds.

    Attributes:
        allow_http: call by http, too; whoever is on the way can read and change what is sent.
        ports: the ports that may be called anywhere.
        allowed: hosts that may be found on inner networks, and networks that may be called.
        only_allowed: call these, and nothing else.
        refused: further networks that are not called, such as public ones of one's own.
        connect_seconds: for a name to be resolved and a connection to be made.
        total_seconds: for everything, the answer included. R-4.3.3-10: from 10 to 30 for webhooks.
        max_answer_bytes: what is read of a body.
    """

    allow_http: bool = False
    ports: frozenset[int] = frozenset({80, 443})
    allowed: tuple[Allowed, ...] = ()
    only_allowed: bool = False
    refused: tuple[Network, ...] = ()
    connect_seconds: float = 10.0
    total_seconds: float = 30.0
    max_answer_bytes: int = 64 * 1024

    @classmethod
    def of(cls, *allowed: str, allow_http: bool = False, only_allowed: bool = False) -> Self:
        """Make a policy with exceptions, as ``read_allowed`` reads them.

        Raises:
            UsageError: one of them cannot be read.
        """
        return cls(
            allow_http=allow_http,
            only_allowed=only_allowed,
            allowed=tuple(map(read_allowed, allowed)),
        )

    def check_address(self, host: str, port: int, address: Address) -> None:
        """Check one of the addresses that a host is found at.

        Raises:
            DestinationRefusedError: it must not be called.
        """
        exceptions = [
            each for each in self.allowed if each.has_name(host) or each.has_address(address)
        ]
        refusal = self._refusal(port, address, exceptions)
        if refusal is not None:
            raise DestinationRefusedError(*refusal, host, str(address))

    def may_open(self, port: int) -> bool:
        """Tell whether there is any host of which a port may be called."""
        return port in self.ports or any(each.opens(port) for each in self.allowed)

    def _refusal(
        self, port: int, address: Address, exceptions: list[Allowed]
    ) -> tuple[str, str] | None:
        """Return the rule that is broken, and what is wrong.

        Args:
            exceptions: those that are about the host or the address.
        """
        if self.only_allowed and not exceptions:
            return "policy", "it is not on the list of allowed ones"
        if port not in self.ports and not any(each.opens(port) for each in exceptions):
            return "port", f"its port {port} may not be called there"
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            return "zone", "its address is one of a link of this machine"
        if any(target_of(address) in network for network in self.refused):
            return "policy", "its address is on the list of refused ones"
        found = range_of(address)
        if found is None or any(each.has_address(address) for each in exceptions):
            return None
        if exceptions and found.kind in INNER_KINDS:
            return None
        return found.kind, f"its address is not a public one ({found.kind}: {found.what})"
