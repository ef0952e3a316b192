"""Our signatures against those of the network's own SDK, in both directions."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final, TypeAlias

import pytest

from dragoman import Agent, Context, connect
from dragoman.clock import SystemClock
from dragoman.extensions.xpr import XprAuth, XprSigner
from dragoman.extensions.xpr.authority import Authority
from dragoman.extensions.xpr.ecdsa import Backend, FastBackend, PlainBackend
from dragoman.extensions.xpr.keys import PrivateKey
from dragoman.extensions.xpr.signatures import Signature, sign
from dragoman.extensions.xpr.signing import Claim, check_signer, digest_of
from dragoman.testing.chain import FakeChain
from tests.chain_double import VECTORS
from tests.interop.conftest import Missing
from tests.interop.environments import PEERS, UnreachableError, environment
from tests.serving import serving

pytestmark = [
    pytest.mark.interop,
    pytest.mark.xdist_group("interop-xpr"),
    # The first test may have to install the SDK.
    pytest.mark.timeout(300),
]

Json: TypeAlias = dict[str, Any]
Ask: TypeAlias = Callable[..., list[Any]]

PEER: Final = "js_xpr"
K1, OTHER = (PrivateKey.read(pair["wif"]) for pair in VECTORS["keys"][:2])
R1 = PrivateKey.read(VECTORS["keys"][-1]["pvt"])
BODIES: Final = ["", "{}", '{"a": 1}\n', "ünï ☃", "x" * 10_000]
NOW: Final = SystemClock().now_ms() // 1000


@pytest.fixture
def ask(missing: Missing) -> Ask:
    """Return what has the SDK do tasks, and skips the test where it cannot be had."""

    def tasks_done(*tasks: Json) -> list[Any]:
        if PEER not in missing:
            try:
                command, folder = environment(PEER)
            except UnreachableError as error:
                missing.note(PEER, error)
            else:
                return _run([*command, str(PEERS / "js_xpr.mjs")], str(folder), tasks)
        raise missing.outcome(PEER)

    return tasks_done


def _run(command: list[str], folder: str, tasks: tuple[Json, ...]) -> list[Any]:
    done = subprocess.run(
        command, cwd=folder, input=json.dumps(tasks), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def request_of(number: int) -> Json:
    return {"account": "alice", "timestamp": NOW + number, "body": BODIES[number % len(BODIES)]}


@pytest.mark.parametrize("key", [K1, R1], ids=["K1", "R1"])
def test_what_the_sdk_signs_is_good_here(ask: Ask, key: PrivateKey) -> None:
    text = key.wif if key is K1 else key.text
    requests = [request_of(number) for number in range(50)]
    made = ask(*({"task": "sign", "key": text, **request} for request in requests))
    authority = Authority(1, ((OTHER.public, 1), (key.public, 1)))
    for request, signature in zip(requests, made, strict=True):
        claim = Claim(request["account"], request["timestamp"], Signature.read(signature))
        digest = claim.digest(request["body"].encode())
        assert check_signer(claim, digest, authority) == key.public


@pytest.mark.parametrize(
    ("key", "backend"),
    [(K1, PlainBackend()), (K1, FastBackend()), (R1, PlainBackend())],
    ids=["K1 plain", "K1 fast", "R1"],
)
def test_what_we_sign_is_good_there(ask: Ask, key: PrivateKey, backend: Backend) -> None:
    tasks: list[Json] = []
    for number in range(100):
        request = request_of(number)
        digest = digest_of("alice", request["timestamp"], request["body"].encode())
        signature = sign(key, sha256(digest).digest(), backend).text
        tasks.append({"task": "recover", "signature": signature, **request})
    assert ask(*tasks) == [key.public.text] * len(tasks)


async def test_who_signs_with_the_sdk_is_let_in_here(ask: Ask) -> None:
    agent = Agent("Notary", "Says who asks.", auth=[XprAuth(FakeChain({"alice": K1.public.text}))])

    @agent.skill
    async def whoami(ctx: Context) -> str:
        """Say who asks."""
        return str(ctx.user)

    message = {
        "role": "user",
        "messageId": "m-1",
        "parts": [{"kind": "text", "text": "who am I? ☃"}],
    }
    params = {"message": message, "xpr:callerAccount": "bob"}
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "message/send", "params": params})
    headers = {"Content-Type": "application/json"}
    task = {"task": "send", "account": "alice", "timestamp": NOW, "headers": headers, "body": body}
    async with serving(agent) as place:
        sent = {**task, "url": f"{place.url}/a2a"}
        keys = (K1.wif, K1.wif, OTHER.wif)
        answers = await asyncio.to_thread(ask, *({**sent, "key": key} for key in keys))
    good, again, wrong = answers
    assert good["status"] == 200
    assert "xpr:alice" in json.dumps(good["body"]["result"])
    assert (again["status"], wrong["status"]) == (401, 401)
    assert "seen before" in json.dumps(again["body"])
    assert "does not match any active key" in json.dumps(wrong["body"])


@pytest.mark.parametrize("key", [K1, R1], ids=["K1", "R1"])
async def test_our_client_is_let_in_by_a_server_of_the_sdk(
    server_of: Callable[[str], str], key: PrivateKey
) -> None:
    async with connect(server_of(PEER), auth=XprSigner("alice", key)) as agent:
        for words in ("hello", "hello", "ünï ☃"):
            assert (await agent.send(words)).text == f"alice {key.public.text}"
