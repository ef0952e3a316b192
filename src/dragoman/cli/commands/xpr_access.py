"""The chain, and the tools on it, for a command: which node to ask, who calls, what may be called.

Who calls is told by the environment alone (``XPR_ACCOUNT``, ``XPR_PRIVATE_KEY``): the key is never
an argument.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from dragoman.adapters.xpr_tools import XprTools
from dragoman.cli.command import Invocation
from dragoman.cli.options import values
from dragoman.cli.options.options import TIMEOUT, Option
from dragoman.egress import EgressPolicy
from dragoman.errors import UsageError
from dragoman.extensions.xpr import Chain, XprSettings, XprSigner, load_xpr_settings
from dragoman.extensions.xpr.settings import ToolMode

__all__ = ("CHAIN_OPTIONS", "XprAccess", "access_of")

_RPC: Final = Option[tuple[str, ...]](
    name="rpc",
    metavar="URL",
    split=values.split_list,
    default=(),
    shown="XPR_RPC_ENDPOINT, or a node of XPR_NETWORK",
    is_configurable=False,
    help="node of the chain to ask; may be repeated",
)
_ALLOW: Final = Option[tuple[str, ...]](
    name="allow",
    metavar="HOST",
    split=values.split_list,
    default=(),
    shown="public addresses, at the usual ports",
    is_configurable=False,
    help="endpoint to call though it is on an inner network or has a port of its own, such as "
    "10.0.0.7:8080; may be repeated",
)
_ALLOW_HTTP: Final = Option[bool](
    name="allow-http",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="call endpoints without TLS, too",
)
CHAIN_OPTIONS: Final = (_RPC, _ALLOW, _ALLOW_HTTP)


class XprAccess:
    """What a command needs to call agents by their account."""

    def __init__(
        self, endpoints: tuple[str, ...], settings: XprSettings, invocation: Invocation
    ) -> None:
        """Take what was set; see ``access_of``."""
        self._endpoints = endpoints
        self._permission = settings.permission
        self._signer = _signer(settings)
        self._account = settings.account
        self._allow_http = invocation.settings[_ALLOW_HTTP]
        self._policy = EgressPolicy.of(*invocation.settings[_ALLOW], allow_http=self._allow_http)
        self._timeout_seconds = invocation.settings[TIMEOUT] or None

    @asynccontextmanager
    async def tools(self, tool_mode: ToolMode = "full") -> AsyncGenerator[XprTools]:
        """Open the tools; the connections to the chain are closed after use."""
        chain = Chain(*self._endpoints, permission=self._permission, allow_http=self._allow_http)
        try:
            yield XprTools(
                chain,
                self._signer,
                account=self._account,
                tool_mode=tool_mode,
                policy=self._policy,
                timeout_seconds=self._timeout_seconds,
            )
        finally:
            await chain.aclose()


def access_of(invocation: Invocation) -> XprAccess:
    """Read what is set for the chain.

    Raises:
        UsageError: something is set wrong, or no node is named.
    """
    settings = load_xpr_settings(invocation.surroundings.environment)
    invocation.output.hide(settings.private_key)
    endpoints = invocation.settings[_RPC] or settings.endpoints
    if not endpoints:
        raise UsageError(
            "no node of the chain is named: give --rpc, or set XPR_RPC_ENDPOINT or XPR_NETWORK"
        )
    return XprAccess(endpoints, settings, invocation)


def _signer(settings: XprSettings) -> XprSigner | None:
    if not settings.private_key:
        return None
    if not settings.account:
        raise UsageError("XPR_PRIVATE_KEY is set and XPR_ACCOUNT is not: whose key is it?")
    return XprSigner(settings.account, settings.private_key)
