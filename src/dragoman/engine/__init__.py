"""The sans-I/O heart: what may happen to a task. No clock, no socket, no asyncio."""
