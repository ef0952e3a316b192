"""File content as ProtoJSON of 0.3, to agents of both habits: the content, or its base64 text."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Final

import pytest

from dragoman import File, connect
from dragoman.client.discovery.card_cache import CardCache
from dragoman.net.asgi import Receive, Scope, Send
from tests.scenarios.authority import listening
from tests.support.wire import Json

BINARY: Final = bytes(range(256))
TEXT: Final = b64encode(BINARY)
WORDS: Final = b"A file that is nothing but text."


class Peer:
    """An agent over HTTP+JSON of 0.3 that answers each message with a file.

    Args:
        gives: the bytes of that file, as its SDK would put them into the message of the proto.
        powered_by: what its server says of itself.
    """

    def __init__(self, gives: bytes, powered_by: str = "") -> None:
        self.gives = gives
        self._powered_by = powered_by
        self.got: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = dict(scope["headers"])[b"host"].decode()
        if scope["method"] == "GET":
            answer = self._card(f"http://{host}/rest")
        else:
            answer = self._answer(json.loads((await receive())["body"]))
        headers = [(b"content-type", b"application/json")]
        if self._powered_by:
            headers.append((b"x-powered-by", self._powered_by.encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    def _card(self, url: str) -> Json:
        return {
            "name": "Peer",
            "protocolVersion": "0.3.0",
            "url": url,
            "preferredTransport": "HTTP+JSON",
            "capabilities": {"streaming": False},
        }

    def _answer(self, asked: Json) -> Json:
        [part] = asked["message"]["content"]
        self.got.append(b64decode(part["file"]["fileWithBytes"]))
        file = {"fileWithBytes": b64encode(self.gives).decode(), "mimeType": "image/png"}
        message = {"messageId": "m", "role": "ROLE_AGENT", "content": [{"file": file}]}
        return {"message": message}


async def exchanged(peer: Peer, *contents: bytes) -> list[bytes]:
    """Send files, and return those that come back."""
    async with listening(peer) as url, connect(url, cards=CardCache()) as agent:
        replies = [await agent.send(File(content, name="f")) for content in contents]
    return [reply.files[0].read() for reply in replies]


@pytest.mark.parametrize(
    ("peer", "got"),
    [
        # Most SDKs want base64 text, so it is the first try ...
        pytest.param(Peer(TEXT), [TEXT, TEXT], id="base64 text"),
        # ... until an answer can only be raw.
        pytest.param(Peer(BINARY), [TEXT, BINARY], id="raw"),
        # The SDK for JavaScript runs on Express, and its card comes before any file.
        pytest.param(Peer(BINARY, "Express"), [BINARY, BINARY], id="raw on Express"),
        # An agent of another SDK behind a gateway of Express: its own answers count.
        pytest.param(Peer(TEXT, "Express"), [BINARY, TEXT], id="base64 text on Express"),
        pytest.param(Peer(TEXT, "PHP/8.4"), [TEXT, TEXT], id="base64 text on another"),
    ],
)
async def test_an_agent_gets_file_content_as_it_gives_it(peer: Peer, got: list[bytes]) -> None:
    assert await exchanged(peer, BINARY, BINARY) == [BINARY, BINARY]
    assert peer.got == got


async def test_base64_text_is_the_content_for_an_agent_that_has_sent_raw() -> None:
    peer = Peer(WORDS)
    async with listening(peer) as url, connect(url, cards=CardCache()) as agent:
        await agent.send(File(BINARY))
        peer.gives = TEXT
        reply = await agent.send(File(BINARY))
    assert reply.files[0].read() == TEXT
