"""Our client, as a user of Dragoman would use it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from benches.callers.loop import Echo, measure
from dragoman import connect


@asynccontextmanager
async def _connected(url: str, binding: str) -> AsyncGenerator[Echo]:
    async with connect(url, binding=binding, version="1.0") as agent:

        async def echo(text: str) -> str:
            return (await agent.send(text)).text

        yield echo


if __name__ == "__main__":
    measure(_connected)
