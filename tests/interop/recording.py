"""Stands between a client and a server of A2A, and keeps what they say to each other.

    python -m tests.interop.recording http://127.0.0.1:8000 exchanges.json --port 8001

Whoever calls port 8001 talks to port 8000; in all that passes, the address of the one is replaced
by that of the other, so that cards lead back here. The file has the form of ``tests/vectors``:
exchanges, each with its request and its answer. It is written anew after each of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import uvicorn

from dragoman.net.asgi import Receive, Scope, Send

__all__ = ("Recorder",)

_ADDRESS: Final = "agent.example:8000"
"""What stands for the address of a server in what is kept."""

_KEPT_REQUEST: Final = ("content-type", "accept", "a2a-version", "a2a-extensions")
_HOPS: Final = ("host", "connection", "content-length", "transfer-encoding", "accept-encoding")
_OK: Final = 200


class Recorder:
    """An application of ASGI that passes requests on to a server."""

    def __init__(self, target: str, source: str, path: Path | None = None) -> None:
        self._target = urlsplit(target).netloc
        self._http = httpx2.AsyncClient(base_url=target, trust_env=False, timeout=60)
        self._source = source
        self._path = path
        self.exchanges: list[dict[str, Any]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        near = headers["host"]
        question = self._turned(await _body(receive), near, self._target)
        path = scope["raw_path"].decode()
        query = scope["query_string"].decode()
        exchange: dict[str, Any] = {"source": self._source}
        self.exchanges.append(exchange)
        exchange["request"] = self._request(scope["method"], path, headers, question)
        passed = {name: value for name, value in headers.items() if name not in _HOPS}
        async with self._http.stream(
            scope["method"],
            f"{path}?{query}" if query else path,
            headers=passed,
            content=question,
        ) as response:
            kind = response.headers.get("content-type", "")
            await send(
                {
                    "type": "http.response.start",
                    "status": response.status_code,
                    "headers": [
                        (name.encode(), value.encode())
                        for name, value in response.headers.items()
                        if name not in (*_HOPS, "content-encoding")
                    ],
                }
            )
            answer = b""
            is_stream = kind.startswith("text/event-stream")
            async for chunk in response.aiter_bytes():
                answer += chunk
                if is_stream:
                    turned = self._turned(chunk, self._target, near)
                    await send({"type": "http.response.body", "body": turned, "more_body": True})
            turned = b"" if is_stream else self._turned(answer, self._target, near)
            exchange["answer"] = self._answer(response.status_code, kind, answer)
            await send({"type": "http.response.body", "body": turned})
        if self._path is not None:
            self._path.write_text(json.dumps({"exchanges": self.exchanges}, indent=2) + "\n")

    def _turned(self, content: bytes, old: str, new: str) -> bytes:
        return content.replace(old.encode(), new.encode())

    def _request(
        self, method: str, path: str, headers: dict[str, str], content: bytes
    ) -> dict[str, Any]:
        kept = {name: headers[name] for name in _KEPT_REQUEST if name in headers}
        request: dict[str, Any] = {"method": method, "path": path, "headers": kept}
        return {**request, "json": self._read(content)} if content else request

    def _answer(self, status: int, kind: str, content: bytes) -> dict[str, Any]:
        answer: dict[str, Any] = {"status": status} if status != _OK else {}
        if not kind.startswith("text/event-stream"):
            return {**answer, "json": self._read(content)}
        frames = content.replace(b"\r\n", b"\n").split(b"\n\n")
        data = [
            b"\n".join(line[5:].strip() for line in frame.split(b"\n") if line.startswith(b"data:"))
            for frame in frames
        ]
        return {**answer, "events": [self._read(each) for each in data if each]}

    def _read(self, content: bytes) -> Any:
        text = self._turned(content, self._target, _ADDRESS).decode(errors="replace")
        try:
            return json.loads(text)
        except ValueError:
            return text


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("path", type=Path)
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--source", default="")
    told = parser.parse_args()
    recorder = Recorder(told.target, told.source, told.path)
    config = uvicorn.Config(recorder, port=told.port, log_level="warning", lifespan="off")
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(_main())
