"""HTTP/2: connections of the server on asyncio."""
