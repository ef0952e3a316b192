"""There and back: an MCP server as an A2A agent, and that agent as an MCP server again."""

# ruff: noqa: S603 - it talks to the server it has started itself

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from dragoman import connect

AGENT = Path(__file__).with_name("agent.py")
TOKYO = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}


async def main(url: str) -> None:
    async with connect(url) as agent:
        reply = await agent.send(TOKYO, skill="convert_time")
        assert reply.as_type(dict[str, object])["time_difference"] == "+9.0h", reply.data

    bridge = StdioServerParameters(
        command=sys.executable, args=["-m", "dragoman", "mcp", "serve", url], env=dict(os.environ)
    )
    async with Client(bridge) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["get_current_time", "convert_time"], names
        result = await client.call_tool("convert_time", TOKYO)
        assert result.structured_content["time_difference"] == "+9.0h", result
        refused = await client.call_tool("get_current_time", {"timezone": "Nowhere"})
        assert refused.is_error, refused


command = [sys.executable, "-m", "dragoman", "serve", str(AGENT), "--port=0", "--store=memory:"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
    try:
        assert server.stdout is not None
        asyncio.run(main(re.findall(r"http://\S+", server.stdout.readline())[0]))
    finally:
        server.terminate()

print("mcp: ok")
