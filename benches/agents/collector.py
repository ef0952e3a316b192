"""A collector of spans that reads what it is sent, counts the spans of sends, and answers 200.

A GET is answered with the count.

python benches/agents/collector.py --port N
"""

import argparse
import asyncio

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b"

# Each send has one of both. In protobuf: the name's field, its length, the name.
NAMES = (b"\x2a\x0fa2a.SendMessage", b"\x2a\x11invoke_agent echo")


class Collector:
    def __init__(self) -> None:
        self._count = 0

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take requests until the other side has no more."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                if head.startswith(b"post "):
                    _, _, rest = head.partition(b"content-length:")
                    body = await reader.readexactly(int(rest.split(b"\r\n", 1)[0]))
                    self._count += sum(body.count(name) for name in NAMES)
                text = b"%d" % self._count
                writer.write(ANSWER % (len(text), text))
        except (asyncio.IncompleteReadError, ConnectionResetError):
            writer.close()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    async with await asyncio.start_server(Collector().take, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
