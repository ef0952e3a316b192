"""Our signatures against those of the network's own SDK, in both directions."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from dragoman import Agent, Context, connect
from dragoman.clock import SystemClock
from dragoman.extensions.xpr import XprAuth, XprPresence, XprSigner
from dragoman.extensions.xpr.chain.authority import Authority
from dragoman.extensions.xpr.chain.rows import AgentRow
from dragoman.extensions.xpr.crypto.ecdsa import Backend, FastBackend, PlainBackend
from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.crypto.signatures import Signature, sign
from dragoman.extensions.xpr.signing import Claim, check_signer, digest_of
from dragoman.testing.chain import FakeChain
from tests.interop.conftest import Missing
from tests.interop.environments import PEERS, UnreachableError, environment
from tests.support.chain_double import VECTORS
from tests.support.serving import serving

pytestmark = [
    pytest.mark.interop,
    pytest.mark.xdist_group("interop-xpr"),
    # The first test may have to install the SDK.
    pytest.mark.timeout(600),
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
    # The window is five minutes, and others may have been tested since this was imported.
    now = SystemClock().now_ms() // 1000
    task = {"task": "send", "account": "alice", "timestamp": now, "headers": headers, "body": body}
    async with serving(agent) as place:
        sent = {**task, "url": f"{place.url}/a2a"}
        keys = (K1.wif, K1.wif, OTHER.wif)
        answers = await asyncio.to_thread(ask, *({**sent, "key": key} for key in keys))
    good, again, wrong = answers
    assert "xpr:alice" in json.dumps(good["body"]["result"])
    # Errors ride on 200 in this network.
    assert [answer["status"] for answer in answers] == [200, 200, 200]
    assert [answer["body"]["error"]["code"] for answer in (again, wrong)] == [-32000, -32000]
    assert "seen before" in json.dumps(again["body"])
    assert "does not match any active key" in json.dumps(wrong["body"])


@pytest.mark.parametrize("key", [K1, R1], ids=["K1", "R1"])
async def test_our_client_is_let_in_by_a_server_of_the_sdk(
    server_of: Callable[[str], str], key: PrivateKey
) -> None:
    async with connect(server_of(PEER), auth=XprSigner("alice", key)) as agent:
        for words in ("hello", "hello", "ünï ☃"):
            assert (await agent.send(words)).text == f"alice {key.public.text}"


# --- the network's own client, and one of its servers ---------------------------------------------


async def test_the_client_of_the_sdk_speaks_to_our_server(ask: Ask) -> None:
    chain = FakeChain({"alice": K1.public.text, "bob": OTHER.public.text})
    row = AgentRow(account="notary", owner="alice", capabilities='["seal"]')
    chain.register(row, kyc=2, score=20)
    agent = Agent(
        "Notary",
        "Says who asks.",
        auth=[XprAuth(chain)],
        presence=XprPresence(chain, "notary"),
    )

    @agent.skill
    async def whoami(ctx: Context) -> str:
        """Say who asks."""
        return f"{ctx.user} about {ctx.metadata['xpr:jobId']}"

    said = {"role": "user", "parts": [{"type": "text", "text": "who am I? ☃"}]}
    options = {"jobId": 42, "taskId": "mine", "contextId": "c-1"}
    calls: list[tuple[str, str, list[Any]]] = [
        ("alice", "getAgentCard", []),
        ("alice", "sendMessage", [said, options]),
        ("alice", "getTask", ["mine"]),
        ("alice", "cancelTask", ["mine"]),
        ("bob", "getTask", ["mine"]),
        # alice's name with the key of bob
        ("carol", "getTask", ["mine"]),
    ]
    keys = {"alice": K1.wif, "bob": OTHER.wif, "carol": OTHER.wif}
    async with serving(agent) as place:
        sent = {"task": "client", "url": f"{place.url}/"}
        card, task, again, late, others, unknown = await asyncio.to_thread(
            ask,
            *(
                {**sent, "account": account, "key": keys[account], "call": call, "args": args}
                for account, call, args in calls
            ),
        )
    assert (card["result"]["name"], card["result"]["xpr:account"]) == ("Notary", "notary")
    assert card["result"]["xpr:kycLevel"] == 2
    assert "seal" in card["result"]["skills"][0]["tags"]
    shown = task["result"]
    assert (shown["id"], shown["contextId"], shown["owner"]) == ("mine", "c-1", "alice")
    assert (shown["status"]["state"], shown["metadata"]) == ("completed", {"xpr:jobId": 42})
    assert shown["artifacts"][0]["parts"] == [{"type": "text", "text": "xpr:alice about 42"}]
    assert again["result"] == shown
    assert late["error"] == {"code": -32002, "message": "Task already completed"}
    assert others["error"] == {"code": -32001, "message": "Task not found: mine"}
    assert unknown["error"]["code"] == -32000
    assert "not known on the chain" in unknown["error"]["message"]


async def test_our_client_speaks_the_dialect_to_a_server_of_the_sdk(
    server_of: Callable[[str], str], tmp_path: Path
) -> None:
    card = {
        "name": "Notary",
        "description": "Says by which key a request is signed.",
        "url": server_of(PEER),
        "version": "1.0.0",
        "capabilities": {"streaming": False},
        "defaultInputModes": ["text"],
        "defaultOutputModes": ["text"],
        "skills": [],
        "xpr:account": "notary",
    }
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(card))
    async with connect(file, auth=XprSigner("alice", K1)) as agent:
        told = {"xpr:callerAccount": "alice", "xpr:jobId": 7}
        reply = await agent.send("hello", request_metadata={**told})
    assert reply.text == f"alice {K1.public.text} text=hello alice"
    assert reply.task is not None
    assert reply.task.metadata == {"xpr:jobId": 7}
