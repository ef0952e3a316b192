from __future__ import annotations

import asyncio
import socket

import httpx2
import pytest
from mcp import Client
from mcp.server import Server
from mcp.types import ListToolsResult, Tool

from dragoman.adapters.mcp.serving import PATH, is_local, serve_http


async def list_tools(ctx: object, params: object) -> ListToolsResult:
    del ctx, params
    return ListToolsResult(tools=[Tool(name="one", input_schema={"type": "object"})])


async def test_http_is_served_to_this_machine_and_under_its_own_name_alone() -> None:
    started = asyncio.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}{PATH}"
        server = Server("Test", on_list_tools=list_tools)
        serving = asyncio.ensure_future(serve_http(server, "127.0.0.1", listener, started.set))
        await started.wait()
        async with Client(url) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["one"]
        async with httpx2.AsyncClient() as http:
            # As a web page would have it done that has its name point to this machine.
            refused = await http.post(url, json={}, headers={"Host": "evil.example"})
        assert refused.status_code == 421
        serving.cancel()
        await asyncio.wait((serving,))


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - looked at, not bound
        ("192.168.1.7", False),
        ("agent.example", False),
    ],
)
def test_what_others_can_reach_is_not_local(host: str, local: bool) -> None:  # noqa: FBT001 - a row
    assert is_local(host) is local
