"""An MCP server from PyPI as an A2A agent: its tools are the skills."""

import sys

from dragoman import Agent

agent = Agent.from_mcp(
    [sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"],
    name="Clock",
    description="Knows what time it is, anywhere.",
)
