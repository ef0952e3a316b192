"""Settings by the names that agents of this network have in their environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from dragoman.errors import UsageError

__all__ = ("ToolMode", "XprSettings", "load_xpr_settings")

ToolMode: TypeAlias = Literal["full", "readonly"]

_HOSTS: Final = {"mainnet": "https://proton.eosusa.io", "testnet": "https://tn1.protonnz.com"}
"""Where the network's own agents ask, by ``XPR_NETWORK``."""


class XprSettings(Struct, frozen=True, kw_only=True):
    """What an agent of this network is told. Its text does not show the private key.

    Attributes:
        endpoints: ``XPR_RPC_ENDPOINT``; several are separated by commas. Without it, a public node
            of ``XPR_NETWORK`` (``mainnet`` or ``testnet``), if that is named.
        account: ``XPR_ACCOUNT``, the agent's own.
        private_key: ``XPR_PRIVATE_KEY``, by which requests of its own are signed.
        permission: ``XPR_PERMISSION``, the one whose keys sign requests.
        auth_required: ``A2A_AUTH_REQUIRED``; only ``false`` lets unsigned requests in.
        require_agent: ``A2A_REQUIRE_AGENT``; only ``0`` and ``false`` let in who is no registered
            agent.
        min_kyc_level: ``A2A_MIN_KYC_LEVEL``, 0 to 3; 0 asks for none.
        min_trust_score: ``A2A_MIN_TRUST_SCORE``, 0 to 100; 0 asks for none.
        rate_limit: ``A2A_RATE_LIMIT``, calls of one account in a minute.
        tool_mode: ``A2A_TOOL_MODE``; ``readonly`` leaves callers the skills that only look.
    """

    endpoints: tuple[str, ...] = ()
    account: str = ""
    private_key: str = ""
    permission: str = "active"
    auth_required: bool = True
    require_agent: bool = True
    min_kyc_level: int = 0
    min_trust_score: int = 0
    rate_limit: int = 20
    tool_mode: ToolMode = "full"

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return f"XprSettings(account={self.account!r}, endpoints={self.endpoints!r})"


def load_xpr_settings(environ: Mapping[str, str]) -> XprSettings:
    """Read the settings.

    Raises:
        UsageError: one has a value that it cannot have; says which.
    """
    return XprSettings(
        endpoints=_endpoints(environ),
        account=environ.get("XPR_ACCOUNT", ""),
        private_key=environ.get("XPR_PRIVATE_KEY", ""),
        permission=environ.get("XPR_PERMISSION", "") or "active",
        auth_required=environ.get("A2A_AUTH_REQUIRED", "true") != "false",
        require_agent=environ.get("A2A_REQUIRE_AGENT", "1") not in ("0", "false"),
        min_kyc_level=_number(environ, "A2A_MIN_KYC_LEVEL", 0, most=3),
        min_trust_score=_number(environ, "A2A_MIN_TRUST_SCORE", 0, most=100),
        rate_limit=_number(environ, "A2A_RATE_LIMIT", 20, least=1),
        tool_mode=_mode(environ.get("A2A_TOOL_MODE", "full")),
    )


def _number(
    environ: Mapping[str, str], name: str, default: int, *, least: int = 0, most: int = 1_000_000
) -> int:
    text = environ.get(name, "").strip() or str(default)
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else -1
    if not least <= number <= most:
        raise UsageError(f"{name} is {text!r}: it is a whole number from {least} to {most}")
    return number


def _endpoints(environ: Mapping[str, str]) -> tuple[str, ...]:
    stated = [url.strip() for url in environ.get("XPR_RPC_ENDPOINT", "").split(",")]
    network = environ.get("XPR_NETWORK", "")
    if network and network not in _HOSTS:
        raise UsageError(f"XPR_NETWORK is {network!r}: it is mainnet or testnet")
    found = tuple(url for url in stated if url)
    return found or ((_HOSTS[network],) if network else ())


def _mode(text: str) -> ToolMode:
    match text:
        case "full" | "readonly":
            return text
        case _:
            raise UsageError(f"A2A_TOOL_MODE is {text!r}: it is full or readonly")
