"""Connection: an MCP server to call tools of, kept open, and opened again when it has died."""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    CallToolResult,
    ElicitRequestParams,
    ErrorData,
    Implementation,
    InputRequiredResult,
    Tool,
)

from dragoman import __version__
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext
    from mcp.shared.dispatcher import ProgressFnT
    from mcp.types import InputResponses

__all__ = ("START_SECONDS", "Connection", "Place", "ServerDiedError", "described")

_logger = logging.getLogger(__name__)

_SELF: Final = Implementation(name="dragoman", version=__version__)
START_SECONDS: Final = 30.0
"""How long a server may take to start, and to list its tools when an agent is made of it."""

_HTTP_SECONDS: Final = 30.0
"""How long an MCP server may be silent where it does not stream."""


class ServerDiedError(Exception):
    """The server has died, or cannot be reached."""


class Place:
    """Where an MCP server is: an address, or a command that starts it.

    Args:
        env: what the command finds in its environment beside what is safe to inherit.
        headers: what goes along with every request to the address.
    """

    def __init__(
        self,
        server: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Look at what was given.

        Raises:
            UsageError: it is neither an address nor a command.
        """
        self._url = server if isinstance(server, str) and "://" in server else ""
        words = shlex.split(server) if isinstance(server, str) else list(server)
        if not words:
            raise UsageError("an MCP server is an address, or a command and its arguments")
        if self._url and not self._url.startswith(("http://", "https://")):
            raise UsageError(f"{self._url} is no address of HTTP, which MCP servers are called by")
        self._parameters = StdioServerParameters(
            command=words[0], args=words[1:], env=dict(env) if env is not None else None
        )
        self._headers = dict(headers or {})
        self.name: Final = self._url or words[0]

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Client]:
        """Connect, starting the server if it is a command."""
        async with AsyncExitStack() as stack:
            server: Any = self._parameters
            if self._url:
                # A stream may be silent for as long as a tool works.
                limits = httpx2.Timeout(_HTTP_SECONDS, read=None)
                http = httpx2.AsyncClient(headers=self._headers, timeout=limits)
                await stack.enter_async_context(http)
                server = streamable_http_client(self._url, http_client=http)
            client = Client(
                server,
                client_info=_SELF,
                # Declares that we can be asked; see _refuse for when it is called.
                elicitation_callback=_refuse,
                # Lists tell whether the server lives, so each is to be asked for.
                cache=None,
            )
            yield await stack.enter_async_context(client)


class Connection:
    """A connection to an MCP server, made when it is first needed.

    It belongs to a coroutine of its own, because whoever opens a client must close it, and callers
    come and go.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._opening: asyncio.Future[Client] | None = None
        self._closing = asyncio.Event()
        self._running: asyncio.Future[None] | None = None

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        on_progress: ProgressFnT,
        responses: InputResponses | None = None,
        state: str | None = None,
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Whoever is canceled meanwhile cancels the call.

        Raises:
            ServerDiedError: the server cannot be reached, or has died; then it is not known whether
                it has done anything.
            MCPError: the server refuses.
        """
        client = await self._living()
        try:
            return await client.session.call_tool(
                tool,
                arguments,
                progress_callback=on_progress,
                input_responses=responses,
                request_state=state,
                allow_input_required=True,
            )
        except (MCPError, OSError, httpx2.HTTPError) as problem:
            if isinstance(problem, MCPError) and problem.code != CONNECTION_CLOSED:
                raise
            await self._drop(client)
            raise ServerDiedError(
                f"The MCP server died while it did {tool}; nobody knows how far it came"
            ) from problem

    async def close(self) -> None:
        """Let go of the server; a later call connects again."""
        running, opening = self._running, self._opening
        self._running = self._opening = None
        self._closing.set()
        if running is None or opening is None:
            return
        if not opening.done():
            running.cancel()
        await asyncio.wait((running,))
        # Canceled before it had begun, it has told nobody.
        _give_up(opening)

    async def _drop(self, client: Client) -> None:
        """Let go of a client that is of no use; not of one that somebody else has made since."""
        opening = self._opening
        if opening is None or not opening.done() or opening.exception() is not None:
            return
        if opening.result() is client:
            await self.close()

    async def _living(self) -> Client:
        """Return a client whose server is there, connecting again if need be.

        It is asked for its tools first: a call to a server that has died meanwhile would fail, and
        whether such a call has done anything nobody knows.
        """
        for _ in range(2):
            client = await self._client()
            try:
                await client.list_tools()
            except (MCPError, OSError, httpx2.HTTPError) as problem:
                _logger.info("MCP server %s is gone (%s); once more", self._place.name, problem)
                await self._drop(client)
            else:
                return client
        raise ServerDiedError(f"The MCP server {self._place.name} does not answer")

    async def _client(self) -> Client:
        if self._opening is None:
            loop = asyncio.get_running_loop()
            self._opening = loop.create_future()
            self._closing = asyncio.Event()
            self._running = asyncio.ensure_future(self._keep(self._opening, self._closing))
        opening = self._opening
        try:
            async with asyncio.timeout(START_SECONDS):
                # Several may wait for it, and one of them may leave.
                return await asyncio.shield(opening)
        except Exception as problem:
            if self._opening is opening:
                await self.close()
            raise ServerDiedError(f"The MCP server {self._place.name} cannot be had") from problem

    async def _keep(self, opening: asyncio.Future[Client], closing: asyncio.Event) -> None:
        """Hold a client open until it is to be closed."""
        try:
            async with self._place.opened() as client:
                opening.set_result(client)
                await closing.wait()
        except Exception as problem:  # noqa: BLE001 - whatever it is, those who wait are told
            if opening.done():
                _logger.info("MCP server %s did not end well: %s", self._place.name, problem)
            else:
                opening.set_exception(problem)
        finally:
            _give_up(opening)


def _give_up(opening: asyncio.Future[Client]) -> None:
    """Tell those who still wait for a client that none will come."""
    if not opening.done():
        opening.set_exception(ServerDiedError("it was given up"))
    # Whoever waited may have left.
    opening.exception()


async def described(place: Place) -> tuple[Implementation | None, str, list[Tool]]:
    """Ask a server who it is, what it says of itself, and for all of its tools."""
    async with place.opened() as client:
        tools: list[Tool] = []
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if not cursor:
                return client.server_info, client.instructions or "", tools


async def _refuse(context: ClientRequestContext, params: ElicitRequestParams) -> ErrorData:
    """Refuse a question on the side.

    In MCP from 2026 on, a call that needs an answer ends with the question, and is made again with
    the answer. Before, servers asked beside the call, and did not tell for which.
    """
    del context, params
    return ErrorData(
        code=INVALID_REQUEST,
        message="questions are answered from protocol version 2026-07-28 on",
    )
