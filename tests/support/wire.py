"""Raw A2A 1.0 calls for tests: what goes over the wire, as a stranger's client would send it."""

from __future__ import annotations

import json as json_
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import httpx2

from dragoman.bindings.sse import Parser

__all__ = ("Frame", "Json", "Wire", "message")

Json = dict[str, Any]
"""Decoded JSON of a test; what is in it is what the test asserts."""

_ids = count(1)


def message(text: str = "hello", **members: object) -> Json:
    """Return a user message with a fresh id."""
    return {
        "messageId": f"m-{next(_ids)}",
        "role": "ROLE_USER",
        "parts": [{"text": text}],
        **members,
    }


class Frame:
    """One SSE event: its id, its event name and its JSON."""

    def __init__(self, id: str, event: str, data: Json) -> None:  # noqa: A002 - the SSE name
        self.id = id
        self.event = event
        self.data = data

    @property
    def result(self) -> Json:
        """The StreamResponse, out of its JSON-RPC envelope if it has one."""
        return self.data.get("result", self.data)

    @property
    def kind(self) -> str:
        """The member that is set: task, message, statusUpdate, artifactUpdate (or error)."""
        return next(iter(self.result))

    @property
    def state(self) -> str | None:
        """The state a task or statusUpdate frame tells."""
        body = self.result.get("task") or self.result.get("statusUpdate")
        return body["status"]["state"] if body else None


class Wire:
    """A client that speaks JSON-RPC (``rpc``, ``rpc_stream``) and HTTP (``get``, ``post``, ...)."""

    def __init__(self, url: str, **headers: str) -> None:
        self.url = url
        self.http = httpx2.AsyncClient(
            base_url=url, headers={"A2A-Version": "1.0", **headers}, timeout=30, trust_env=False
        )

    async def __aenter__(self) -> Wire:
        await self.http.__aenter__()
        return self

    async def __aexit__(self, *reason: object) -> None:
        await self.http.aclose()

    async def rpc(self, method: str, params: object = None, **headers: str) -> Json:
        """Call a JSON-RPC method and return the whole response object."""
        response = await self.http.post("/", json=_envelope(method, params), headers=headers)
        return response.json()

    async def result(self, method: str, params: object = None, **headers: str) -> Json:
        """Call a JSON-RPC method and return its result; an error fails the test."""
        response = await self.rpc(method, params, **headers)
        assert "result" in response, response
        return response["result"]

    async def error(self, method: str, params: object = None, **headers: str) -> Json:
        """Call a JSON-RPC method and return its error; a result fails the test."""
        response = await self.rpc(method, params, **headers)
        assert "error" in response, response
        return response["error"]

    @asynccontextmanager
    async def rpc_stream(
        self, method: str, params: object = None, **headers: str
    ) -> AsyncGenerator[AsyncIterator[Frame]]:
        """Open a JSON-RPC stream and iterate over its frames."""
        async with self.http.stream(
            "POST", "/", json=_envelope(method, params), headers=headers
        ) as response:
            assert response.headers["content-type"].startswith("text/event-stream"), (
                await response.aread()
            )
            yield frames(response)

    @asynccontextmanager
    async def stream(
        self, verb: str, path: str, json: object = None, **headers: str
    ) -> AsyncGenerator[AsyncIterator[Frame]]:
        """Open an HTTP+JSON stream and iterate over its frames."""
        async with self.http.stream(verb, path, json=json, headers=headers) as response:
            assert response.headers["content-type"].startswith("text/event-stream"), (
                await response.aread()
            )
            yield frames(response)

    async def send(self, text: str = "hello", **members: object) -> Json:
        """Send a message, blocking, and return the task."""
        result = await self.result("SendMessage", {"message": message(text, **members)})
        return result["task"]


async def frames(response: httpx2.Response) -> AsyncIterator[Frame]:
    """Cut a response into frames."""
    parser = Parser()
    async for chunk in response.aiter_bytes():
        for event in parser.feed(chunk):
            yield Frame(event.id, event.event, json_.loads(event.data))


def _envelope(method: str, params: object) -> Json:
    envelope: Json = {"jsonrpc": "2.0", "id": next(_ids), "method": method}
    if params is not None:
        envelope["params"] = params
    return envelope
