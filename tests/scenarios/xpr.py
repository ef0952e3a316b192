"""Callers of the XPR network as the wire sees them: raw requests at ``POST /a2a``."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeAlias

import httpx2

from dragoman.clock import SystemClock
from dragoman.extensions.xpr.crypto.curves import CURVES
from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.crypto.signatures import Signature
from dragoman.extensions.xpr.crypto.texts import write_text
from dragoman.extensions.xpr.signing import sign_request
from tests.support.chain_double import VECTORS, ChainDouble
from tests.support.serving import Served

__all__ = (
    "ALICE",
    "BOB",
    "R1",
    "SIGNERS",
    "Answer",
    "XprCaller",
    "now",
    "populate",
    "said",
    "twin_of",
)

Json: TypeAlias = dict[str, Any]

ALICE, BOB = (PrivateKey.read(pair["wif"]) for pair in VECTORS["keys"][:2])
R1: Final = PrivateKey.read(VECTORS["keys"][-1]["pvt"])
SIGNERS: Final = {"alice": ALICE, "bob": BOB, "webby": R1}


class Answer(NamedTuple):
    """What came back."""

    status: int
    content_type: str
    body: Any

    @property
    def error(self) -> tuple[int, str]:
        """The code and the words of an error, which rides on 200."""
        assert self.status == 200, self
        return self.body["error"]["code"], self.body["error"]["message"]

    @property
    def result(self) -> Json:
        """The task."""
        assert self.status == 200, self
        assert "result" in self.body, self.body
        return self.body["result"]


def now() -> int:
    """The time, in seconds."""
    return SystemClock().now_ms() // 1000


def twin_of(signature: str) -> str:
    """Return the other signature that is as true: the one with the high s."""
    read = Signature.read(signature)
    s = CURVES[read.curve].order - int.from_bytes(read.rs[32:])
    payload = bytes((31 + (read.recovery ^ 1),)) + read.rs[:32] + s.to_bytes(32)
    return write_text("SIG", read.curve, payload)


def said(text: str) -> Json:
    """The params of a message, as the network's own clients write it."""
    return {"message": {"role": "user", "parts": [{"type": "text", "text": text}]}}


def populate(double: ChainDouble) -> ChainDouble:
    """Give a chain three accounts, of which alice is an agent."""
    for account, key in SIGNERS.items():
        double.set_keys(account, (key.public.legacy_text, 1))
    double.put("agentcore", "agents", account="alice", owner="", active=1, registered_at=1)
    double.put("eosio.proton", "usersinfo", acc="alice", verified=1, kyc=[])
    return double


class XprCaller:
    """Calls an agent as clients of the network do, and as they should not."""

    def __init__(self, served: Served, path: str = "/a2a") -> None:
        self._url = served.url + path
        self._http = httpx2.AsyncClient()
        self._number = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def post(
        self, body: bytes, headers: dict[str, str], label: str | None = "application/json"
    ) -> Answer:
        """Send some bytes."""
        labels = {} if label is None else {"Content-Type": label}
        answer = await self._http.post(self._url, content=body, headers={**labels, **headers})
        return Answer(answer.status_code, answer.headers["content-type"], answer.json())

    def body(self, method: str, params: object, **changes: object) -> bytes:
        """Write a request; each is another."""
        self._number += 1
        envelope = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        return json.dumps({**envelope, **changes}).encode()

    async def call(
        self, method: str, params: object, account: str = "alice", **changes: object
    ) -> Answer:
        """Call a method, signed by an account; by "" it is not signed."""
        body = self.body(method, params, **changes)
        signed = sign_request(SIGNERS[account], account, now(), body) if account else {}
        return await self.post(body, signed)

    async def send(self, text: str, account: str = "alice", **params: object) -> Answer:
        """Send a message."""
        return await self.call("message/send", {**said(text), **params}, account)
