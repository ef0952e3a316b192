"""The bridge to MCP: agents as tools, and tools as skills."""
