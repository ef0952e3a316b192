from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool

from dragoman.adapters.mcp.connection import Connection, Place, ServerDiedError, described
from dragoman.adapters.mcp.serving import serve_http
from dragoman.errors import UsageError
from tests.support.serving import free_port

pytestmark = pytest.mark.timeout(60)

KITCHEN = (sys.executable, str(Path(__file__).parents[3] / "adapters" / "kitchen.py"))


async def silent(progress: float, total: float | None, message: str | None) -> None:
    del progress, total, message


async def cook(connection: Connection, dish: str) -> object:
    result = await connection.call("cook", {"dish": dish}, on_progress=silent)
    assert isinstance(result, CallToolResult)
    return result.structured_content


async def test_a_server_tells_of_itself() -> None:
    about, said, tools = await described(Place(KITCHEN))
    assert about is not None
    assert (about.name, said) == ("Kitchen", "Cooks.")
    assert [tool.name for tool in tools] == ["cook", "burn", "reserve", "explode", "simmer"]


async def test_one_connection_serves_many_and_is_made_again_after_a_death() -> None:
    connection = Connection(Place(KITCHEN))
    try:
        dishes = [f"dish {number}" for number in range(5)]
        done = await asyncio.gather(*(cook(connection, dish) for dish in dishes))
        assert done == [{"result": f"{dish} is ready"} for dish in dishes]
        with pytest.raises(ServerDiedError, match="died while it did explode"):
            await connection.call("explode", {}, on_progress=silent)
        assert await cook(connection, "soup") == {"result": "soup is ready"}
    finally:
        await connection.close()
    # Closed is not for good: an agent may be started again.
    assert await cook(connection, "bread") == {"result": "bread is ready"}
    await connection.close()


async def test_what_the_server_refuses_leaves_it_connected() -> None:
    connection = Connection(Place((sys.executable, "-m", "mcp_server_time")))
    try:
        with pytest.raises(MCPError, match="no_such_tool"):
            await connection.call("no_such_tool", {}, on_progress=silent)
        arguments = {"timezone": "UTC"}
        result = await connection.call("get_current_time", arguments, on_progress=silent)
        assert isinstance(result, CallToolResult)
        assert not result.is_error
    finally:
        await connection.close()


async def echo(ctx: object, params: CallToolRequestParams) -> CallToolResult:
    del ctx
    return CallToolResult(content=[TextContent(text=f"{params.arguments}")])


async def list_tools(ctx: object, params: object) -> ListToolsResult:
    del ctx, params
    return ListToolsResult(tools=[Tool(name="echo", input_schema={"type": "object"})])


@asynccontextmanager
async def over_http(port: int) -> AsyncGenerator[None]:
    """Serve a tool over HTTP, on this port."""
    started = asyncio.Event()
    with socket.create_server(("127.0.0.1", port)) as listener:
        server = Server("Echo", on_list_tools=list_tools, on_call_tool=echo)
        serving = asyncio.ensure_future(serve_http(server, "127.0.0.1", listener, started.set))
        await started.wait()
        try:
            yield
        finally:
            serving.cancel()
            await asyncio.wait((serving,))


async def test_a_server_over_http_may_go_and_come_back() -> None:
    port = free_port()
    connection = Connection(Place(f"http://127.0.0.1:{port}/mcp"))
    for number in range(2):
        async with over_http(port):
            result = await connection.call("echo", {"n": number}, on_progress=silent)
            assert isinstance(result, CallToolResult)
            assert result.content == [TextContent(text=f"{{'n': {number}}}")]
    with pytest.raises(ServerDiedError):
        await connection.call("echo", {}, on_progress=silent)
    await connection.close()


@pytest.mark.parametrize("server", [("no-such-command",), "http://127.0.0.1:9/mcp"])
async def test_a_server_that_is_not_there_is_told(server: str | tuple[str, ...]) -> None:
    connection = Connection(Place(server))
    with pytest.raises(ServerDiedError, match=r"cannot be had|does not answer"):
        await cook(connection, "soup")
    await connection.close()


async def test_a_server_that_does_not_say_anything_is_given_up_when_the_agent_stops() -> None:
    connection = Connection(Place((sys.executable, "-c", "import time; time.sleep(600)")))
    waiting = asyncio.ensure_future(cook(connection, "soup"))
    await asyncio.sleep(0)
    await connection.close()
    with pytest.raises(ServerDiedError, match="cannot be had"):
        await waiting


@pytest.mark.parametrize(
    ("server", "reason"),
    [("", "an address, or a command"), ("ftp://a.example", "no address of HTTP")],
)
def test_what_is_no_place_is_refused(server: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        Place(server)
