"""Signed requests from end to end: a real server, a real client, and a chain over HTTP."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx2
import pytest

from dragoman import A2AError, Agent, Context, connect
from dragoman.adapters.xpr_tools import XprTools
from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.outgoing.credentials import ApiKey
from dragoman.auth.outgoing.errors import MissingCredentialsError
from dragoman.clock import SystemClock
from dragoman.egress import EgressPolicy
from dragoman.errors import (
    PermissionDeniedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
)
from dragoman.extensions.xpr import (
    AgentRow,
    Chain,
    TrustPolicy,
    XprAuth,
    XprDirectory,
    XprPresence,
    XprSigner,
    load_xpr_settings,
)
from dragoman.extensions.xpr.auth import WRITE
from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.signing import sign_request
from dragoman.testing import FakeChain
from tests.scenarios.bindings import Grpc
from tests.support.chain_double import ANYONE, VECTORS, ChainDouble, serving_chain
from tests.support.serving import Served, serving
from tests.support.wire import message

ALICE, BOB = (PrivateKey.read(pair["wif"]) for pair in VECTORS["keys"][:2])
R1 = PrivateKey.read(VECTORS["keys"][-1]["pvt"])
SIGNERS = {"alice": ALICE, "bob": BOB, "webby": R1}
VERSIONS = ["1.0", "0.3", "0.2", "0.1"]


@pytest.fixture
def node() -> Iterator[ChainDouble]:
    """A chain with three accounts, of which alice is an agent."""
    with serving_chain() as double:
        for account, key in SIGNERS.items():
            double.set_keys(account, (key.public.legacy_text, 1))
        double.put("agentcore", "agents", account="alice", owner="", active=1, registered_at=1)
        double.put("eosio.proton", "usersinfo", acc="alice", verified=1, kyc=[])
        yield double


def made(*auth: XprAuth | ApiKeys, presence: XprPresence | None = None) -> Agent:
    agent = Agent("Notary", "Says who asks.", auth=list(auth), presence=presence)

    @agent.skill
    async def whoami(text: str, ctx: Context) -> str:
        """Say who asks."""
        return f"{ctx.user}: {text}"

    @agent.skill(scopes=[WRITE])
    async def seal(text: str) -> str:
        """Seal a text."""
        return f"sealed: {text}"

    @agent.skill(read_only=True)
    async def look(text: str) -> str:
        """Look at a text."""
        return f"looked at {text}"

    @agent.skill
    async def list_seals() -> str:
        """List the seals."""
        return "no seals"

    return agent


def signed_by(account: str, key: PrivateKey | None = None) -> XprSigner:
    return XprSigner(account, key or SIGNERS[account])


@pytest.fixture
async def served(node: ChainDouble) -> AsyncIterator[Served]:
    async with serving(made(XprAuth(Chain(node.url), trust=ANYONE, rate_limit=1000))) as place:
        yield place


# --- who signs is served --------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("account", SIGNERS)
async def test_a_caller_who_signs_is_served_as_its_account(
    served: Served, version: str, account: str
) -> None:
    async with connect(served.url, version=version, auth=signed_by(account)) as agent:
        assert (await agent.send("hello")).text == f"xpr:{account}: hello"
        # The same words again, within the second, are another request.
        assert (await agent.send("hello")).text == f"xpr:{account}: hello"


async def test_streams_are_signed_too(served: Served) -> None:
    async with connect(served.url, auth=signed_by("alice")) as agent:
        kinds = [type(event).__name__ async for event in agent.stream("hello")]
    assert kinds


async def test_a_task_of_another_account_does_not_exist(served: Served) -> None:
    async with connect(served.url, auth=signed_by("alice")) as agent:
        task = (await agent.send("mine")).task
        assert task is not None
        assert (await agent.task(task.id).get()).text == "xpr:alice: mine"
    async with connect(served.url, auth=signed_by("bob")) as agent:
        with pytest.raises(TaskNotFoundError):
            await agent.task(task.id).get()


@pytest.mark.parametrize(
    ("account", "key", "words"),
    [
        ("alice", BOB, "does not match any active key for account 'alice'"),
        ("ghost", BOB, "account 'ghost' is not known on the chain"),
    ],
)
async def test_who_signs_with_another_key_is_refused(
    served: Served, account: str, key: PrivateKey, words: str
) -> None:
    async with connect(served.url, auth=signed_by(account, key)) as agent:
        with pytest.raises(UnauthenticatedError, match=words):
            await agent.send("hello")


async def test_who_has_nothing_to_sign_with_is_told_what_is_wanted(served: Served) -> None:
    with pytest.raises((MissingCredentialsError, UnauthenticatedError)):
        async with connect(served.url, auth=ApiKey("k")) as agent:
            await agent.send("hello")
    async with connect(served.url) as agent:
        with pytest.raises(UnauthenticatedError):
            await agent.send("hello")


async def test_a_key_that_was_changed_on_the_chain_counts(
    served: Served, node: ChainDouble
) -> None:
    node.set_keys("carol", (BOB.public.text, 1))
    async with connect(served.url, auth=signed_by("carol", BOB)) as agent:
        assert (await agent.send("hello")).text == "xpr:carol: hello"


# --- raw requests ---------------------------------------------------------------------------------


class Sender:
    """Somebody who has the bytes of a request in hand."""

    def __init__(self, served: Served, path: str = "/") -> None:
        self._url = served.url + path
        self._http = httpx2.AsyncClient()

    async def __aenter__(self) -> Sender:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def post(self, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
        types = {"Content-Type": "application/json", "A2A-Version": "1.0"}
        answer = await self._http.post(self._url, content=body, headers={**types, **headers})
        return answer.status_code, answer.json()


def body_of(text: str = "hello", **params: object) -> bytes:
    asked = {"message": message(text), **params}
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": asked}
    ).encode()


def headers_of(body: bytes, *, late_seconds: int = 0) -> dict[str, str]:
    now = SystemClock().now_ms() // 1000
    return sign_request(ALICE, "alice", now - late_seconds, body)


@pytest.mark.parametrize("path", ["/", "/a2a", "/api/a2a"])
async def test_a_request_is_taken_once_and_as_it_was_signed(served: Served, path: str) -> None:
    async with Sender(served, path) as sender:
        body = body_of()
        headers = headers_of(body)
        status, answer = await sender.post(body + b" ", headers)
        assert (status, answer["error"]["code"]) == (401, -31401)
        status, answer = await sender.post(body, headers)
        assert status == 200
        assert "result" in answer
        status, answer = await sender.post(body, headers)
        assert status == 401
        assert "seen before" in answer["error"]["message"]


@pytest.mark.parametrize("late_seconds", [310, -310])
async def test_a_request_out_of_its_time_is_refused(served: Served, late_seconds: int) -> None:
    async with Sender(served) as sender:
        body = body_of()
        status, answer = await sender.post(body, headers_of(body, late_seconds=late_seconds))
    assert status == 401
    assert "too far from server time" in answer["error"]["message"]


async def test_what_the_body_says_of_the_caller_does_not_count(served: Served) -> None:
    async with Sender(served) as sender:
        body = body_of(metadata={"xpr:callerAccount": "bob"})
        status, answer = await sender.post(body, headers_of(body))
    assert status == 200
    assert "xpr:alice: hello" in json.dumps(answer)


async def test_a_body_beyond_the_limit_is_refused_and_not_held(node: ChainDouble) -> None:
    auth = XprAuth(Chain(node.url), trust=ANYONE)
    async with serving(made(auth), max_body_bytes=1000) as place, Sender(place) as sender:
        body = body_of("x" * 2000)
        assert (await sender.post(body, headers_of(body)))[0] == 413
        fine = body_of()
        assert (await sender.post(fine, headers_of(fine)))[0] == 200


# --- other bindings -------------------------------------------------------------------------------


async def test_an_agent_that_wants_signatures_is_called_by_json_rpc_alone(served: Served) -> None:
    async with httpx2.AsyncClient(base_url=served.url) as http:
        card = (await http.get("/.well-known/agent-card.json")).json()
        bindings = {one["protocolBinding"] for one in card["supportedInterfaces"]}
        assert bindings == {"JSONRPC"}
        for path in (
            "/tasks",
            "/v1/tasks",
            "/extendedAgentCard",
            "/agent/authenticatedExtendedCard",
        ):
            answer = await http.get(path, headers={"A2A-Version": "1.0", **headers_of(b"")})
            assert answer.status_code == 404, path
        answer = await http.post("/message:send", content=body_of(), headers=headers_of(body_of()))
        assert answer.status_code == 404


@pytest.mark.parametrize("is_required", [True, False])
async def test_grpc_is_not_there_either(node: ChainDouble, *, is_required: bool) -> None:
    auth = XprAuth(Chain(node.url), trust=ANYONE, is_required=is_required)
    async with serving(made(auth)) as place, Grpc(place.url) as wire:
        answer = await wire.respond("ListTasks", headers=headers_of(b""))
        assert answer.json()["error"]["code"] == 5
        assert "JSON-RPC alone" in answer.text


async def test_beside_another_way_in_all_bindings_are_there(node: ChainDouble) -> None:
    auth = XprAuth(Chain(node.url), trust=ANYONE), ApiKeys({"k": "ada"})
    async with serving(made(*auth)) as place:
        for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
            async with connect(place.url, binding=binding, auth=ApiKey("k")) as agent:
                assert (await agent.send("hi")).text == "key:ada: hi"
        # Whatever is preferred: a signature is good for JSON-RPC alone.
        async with connect(place.url, binding="GRPC", auth=signed_by("alice")) as agent:
            assert (await agent.send("hi")).text == "xpr:alice: hi"
        async with httpx2.AsyncClient(base_url=place.url) as http:
            answer = await http.get("/tasks", headers={"A2A-Version": "1.0", **headers_of(b"")})
        assert answer.status_code == 401
        assert "call by JSON-RPC" in answer.text


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_request_can_say_whom_it_is_for(node: ChainDouble, version: str) -> None:
    auth = XprAuth(Chain(node.url), trust=ANYONE, target="carol", target_binding="required")
    mine, another = ({"xpr:targetAccount": name} for name in ("carol", "dave"))
    async with (
        serving(made(auth)) as place,
        connect(place.url, version=version, auth=signed_by("alice")) as agent,
    ):
        assert (await agent.send("hi", request_metadata={**mine})).text == "xpr:alice: hi"
        with pytest.raises(UnauthenticatedError):
            await agent.send("hi", request_metadata={**another})
        with pytest.raises(UnauthenticatedError):
            await agent.send("hi")


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("version", VERSIONS)
async def test_every_request_to_an_account_says_whom_it_is_for(
    node: ChainDouble, version: str, *, strict: bool
) -> None:
    chain = Chain(node.url)
    auth = XprAuth(chain, trust=ANYONE, target="carol", target_binding="required")
    policy = EgressPolicy.of("127.0.0.1:*", allow_http=True)
    made_up = made(auth, presence=XprPresence(chain, "carol"))
    async with serving(made_up, strict_versions=strict) as place:
        node.put("agentcore", "agents", account="carol", active=1, endpoint=place.url)
        async with connect(
            "xpr:carol",
            version=version,
            directory=XprDirectory(chain, policy=policy),
            auth=signed_by("alice"),
        ) as agent:
            sent = await agent.send("hi")
            assert sent.text == "xpr:alice: hi"
            task = agent.task(sent.task_id)
            assert (await task.get()).text == "xpr:alice: hi"
            with pytest.raises(TaskNotCancelableError):
                await agent.cancel(sent.task_id)
            events = [event.kind async for event in agent.stream("hi")]
            assert events
        # By its address alone nobody knows who it is, and a card may lie.
        async with connect(place.url, version=version, auth=signed_by("alice")) as agent:
            with pytest.raises(UnauthenticatedError, match="xpr:targetAccount"):
                await agent.task(sent.task_id).get()


# --- who may call, and how often ------------------------------------------------------------------


async def refusal(place: Served, account: str, **options: Any) -> A2AError:
    async with connect(place.url, auth=signed_by(account)) as agent:
        with pytest.raises(A2AError) as caught:
            await agent.send("hello", **options)
    return caught.value


async def test_the_chain_must_trust_the_caller(node: ChainDouble) -> None:
    auth = XprAuth(Chain(node.url), trust=TrustPolicy(min_kyc_level=1))
    async with serving(made(auth)) as place:
        async with connect(place.url, auth=signed_by("alice")) as agent:
            assert (await agent.send("hello")).text == "xpr:alice: hello"
        error = await refusal(place, "bob")
        assert isinstance(error, PermissionDeniedError)
        assert error.message == "Account 'bob' is not a registered agent"


async def test_an_account_has_its_rate(node: ChainDouble) -> None:
    async with (
        serving(made(XprAuth(Chain(node.url), trust=ANYONE, rate_limit=2))) as place,
        Sender(place) as raw,
    ):
        bodies = [body_of(str(number)) for number in range(3)]
        answers = [await raw.post(body, headers_of(body)) for body in bodies]
        assert [status for status, _ in answers] == [200, 200, 429]
        told = answers[-1][1]["error"]["message"]
        assert told == "Rate limit exceeded: 2 requests per minute for account 'alice'"
        async with connect(place.url, auth=signed_by("bob")) as agent:
            assert (await agent.send("hello")).text == "xpr:bob: hello"


async def test_unsigned_callers_share_one_name_and_one_rate(node: ChainDouble) -> None:
    auth = XprAuth(Chain(node.url), trust=ANYONE, is_required=False, rate_limit=2)
    async with serving(made(auth)) as place, Sender(place) as raw:
        body = body_of()
        status, answer = await raw.post(body, {"X-XPR-Account": "alice"})
        assert status == 200
        assert "anonymous: hello" in json.dumps(answer)
        async with connect(place.url) as agent:
            assert (await agent.send("hello")).text == "anonymous: hello"
        assert (await raw.post(body, {}))[0] == 429
        async with connect(place.url, auth=signed_by("alice")) as agent:
            assert (await agent.send("hello")).text == "xpr:alice: hello"


async def test_who_may_only_look_cannot_do(node: ChainDouble) -> None:
    async with (
        serving(made(XprAuth(Chain(node.url), trust=ANYONE))) as place,
        connect(place.url, auth=signed_by("alice")) as agent,
    ):
        assert (await agent.send("x", skill="seal")).text == "sealed: x"
    async with serving(made(XprAuth(Chain(node.url), trust=ANYONE, tool_mode="readonly"))) as place:
        assert isinstance(await refusal(place, "alice", skill="seal"), PermissionDeniedError)
        # Whatever needs no scope and is not said to be read-only does more than look.
        assert isinstance(await refusal(place, "alice", skill="whoami"), PermissionDeniedError)
        async with connect(place.url, auth=signed_by("alice")) as agent:
            assert (await agent.send("x", skill="look")).text == "looked at x"
            assert (await agent.send("x", skill="list_seals")).text == "no seals"


async def test_by_default_callers_are_registered_agents(
    node: ChainDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XPR_RPC_ENDPOINT", node.url)
    async with serving(made(XprAuth.from_settings(load_xpr_settings(os.environ)))) as place:
        assert "bob' is not a registered agent" in str(await refusal(place, "bob"))
        async with connect(place.url, auth=signed_by("alice")) as agent:
            assert (await agent.send("hello")).text == "xpr:alice: hello"
    monkeypatch.setenv("A2A_REQUIRE_AGENT", "0")
    async with (
        serving(made(XprAuth.from_settings(load_xpr_settings(os.environ)))) as place,
        connect(place.url, auth=signed_by("bob")) as agent,
    ):
        assert (await agent.send("hello")).text == "xpr:bob: hello"


async def test_the_card_is_called_where_the_chain_says() -> None:
    chain = FakeChain()
    chain.register(AgentRow(account="pilot", active=True, endpoint="https://pilot.example/a"))
    agent = made(XprAuth(chain), presence=XprPresence(chain, "pilot"))
    async with serving(agent) as place, httpx2.AsyncClient() as http:
        card = (await http.get(f"{place.url}/.well-known/agent.json")).json()
    assert card["url"] == "https://pilot.example/a/"
    assert {each["url"] for each in card["supportedInterfaces"]} == {card["url"]}


CARD = {
    "name": "My Agent",
    "description": "Processes data analysis jobs",
    "url": "https://agent.example.com",
    "version": "1.0.0",
    "capabilities": {"streaming": False, "stateTransitionHistory": False},
    "defaultInputModes": ["text"],
    "defaultOutputModes": ["text"],
    "skills": [{"id": "analysis", "name": "Analysis", "description": "Analyzes", "tags": ["ai"]}],
    "xpr:account": "myagent",
    "xpr:trustScore": 82,
}


class CardHandler(BaseHTTPRequestHandler):
    """Serves the card that the network's document shows, where its agents have it."""

    def do_GET(self) -> None:
        is_there = self.path == "/.well-known/agent.json"
        self.send_response(200 if is_there else 404)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(CARD).encode() if is_there else b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - of the library
        """Say nothing."""


async def test_connect_shows_what_a_card_says_beyond_a2a() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), CardHandler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            async with connect(f"http://127.0.0.1:{server.server_port}") as remote:
                card = remote.card
        finally:
            server.shutdown()
            thread.join()
    assert card.name == "My Agent"
    assert dict(card.others) == {"xpr:account": "myagent", "xpr:trustScore": 82}


async def test_unsigned_requests_name_their_account(node: ChainDouble) -> None:
    claims: list[object] = []
    agent = Agent(
        "Notary",
        auth=[XprAuth(Chain(node.url), is_required=False)],
        presence=XprPresence(Chain(node.url), "pilot"),
    )

    @agent.skill
    async def note(ctx: Context) -> str:
        """Note who claims to call."""
        claims.append(ctx.metadata.get("xpr:claimedAccount"))
        return "noted"

    async with serving(agent) as place:
        node.put("agentcore", "agents", account="pilot", active=1, endpoint=place.url)
        here = EgressPolicy.of("127.0.0.1:*", allow_http=True)
        chain = Chain(node.url)
        await XprTools(chain, account="webby", policy=here).send_message("pilot", "hello")
        await chain.aclose()
    assert claims == ["webby"]
