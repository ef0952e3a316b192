"""Who has an account, or none, and would like to be another: on a real socket, all refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from dragoman import Agent, Context, connect
from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.outgoing.credentials import ApiKey
from dragoman.errors import A2AError, TaskNotFoundError
from dragoman.extensions.xpr import Chain, XprAuth, XprSigner
from dragoman.extensions.xpr.signing import sign_request
from tests.scenarios.xpr import ALICE, BOB, XprCaller, now, populate, said
from tests.support.chain_double import ANYONE, ChainDouble, serving_chain
from tests.support.serving import Served, serving
from tests.support.wire import message

REFUSED = -32000


@pytest.fixture
def node() -> Iterator[ChainDouble]:
    with serving_chain() as double:
        yield populate(double)


class House:
    """An agent with something to keep, and what it has heard."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, dict[str, Any]]] = []

    def agent(self, *auth: XprAuth | ApiKeys) -> Agent:
        agent = Agent("House", "Keeps things.", auth=list(auth), extended_card=True)

        @agent.skill
        async def keep(text: str, ctx: Context) -> str:
            """Keep something."""
            self.heard.append((ctx.user, text, dict(ctx.metadata)))
            return await ctx.ask("where?") if text == "ask" else f"{ctx.user}: {text}"

        return agent


@pytest.fixture
async def house() -> House:
    return House()


@pytest.fixture
async def served(node: ChainDouble, house: House) -> AsyncIterator[Served]:
    async with serving(
        house.agent(XprAuth(Chain(node.url), trust=ANYONE, rate_limit=1000))
    ) as place:
        yield place


@pytest.fixture
async def caller(served: Served) -> AsyncIterator[XprCaller]:
    async with XprCaller(served) as calls:
        yield calls


# --- what is another's ----------------------------------------------------------------------------


async def test_what_waits_for_its_owner_is_not_answered_by_another(
    caller: XprCaller, house: House
) -> None:
    asked = (await caller.send("ask")).result
    assert asked["status"]["state"] == "input-required"
    for method in ("tasks/get", "tasks/cancel"):
        stolen = await caller.call(method, {"id": asked["id"]}, "bob")
        assert stolen.error == (-32001, f"Task not found: {asked['id']}")
    # Under the name of another's task one begins a task of one's own.
    own = (await caller.send("mine", "bob", id=asked["id"])).result
    assert own["artifacts"][0]["parts"][0]["text"] == "xpr:bob: mine"
    # So is a context but a name.
    other = (await caller.send("mine too", "bob", contextId=asked["contextId"])).result
    assert other["id"] != asked["id"]
    still = (await caller.call("tasks/get", {"id": asked["id"]})).result
    assert still == asked
    answered = (await caller.send("here", id=asked["id"])).result
    assert answered["status"]["state"] == "completed"
    assert [(who, text) for who, text, _ in house.heard] == [
        ("xpr:alice", "ask"),
        ("xpr:bob", "mine"),
        ("xpr:bob", "mine too"),
    ]


@pytest.mark.parametrize("version", ["1.0", "0.3", "0.1"])
async def test_what_was_begun_in_the_dialect_is_not_there_for_another_in_any_version(
    caller: XprCaller, served: Served, version: str
) -> None:
    asked = (await caller.send("ask")).result
    async with connect(served.url, version=version, auth=XprSigner("bob", BOB)) as agent:
        with pytest.raises(TaskNotFoundError):
            await agent.task(asked["id"]).get()
        with pytest.raises(TaskNotFoundError):
            await agent.cancel(asked["id"])
        if version != "0.1":
            # There the client names the task, so it would be one of its own.
            with pytest.raises(TaskNotFoundError):
                await agent.send("here", task_id=asked["id"])
        if version == "1.0":
            assert [one async for one in agent.tasks()] == []
    assert (await caller.call("tasks/get", {"id": asked["id"]})).result == asked


# --- who one is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.0", "0.3", "0.2", "0.1"])
async def test_in_no_version_does_a_request_say_who_has_signed_it(
    served: Served, house: House, version: str
) -> None:
    claim = {"xpr:callerAccount": "bob", "xpr:claimedAccount": "bob"}
    async with connect(served.url, version=version, auth=XprSigner("alice", ALICE)) as agent:
        await agent.send("hello", metadata={**claim, "k": 1}, request_metadata={**claim, "l": 2})
    ((user, _, metadata),) = house.heard
    assert user == "xpr:alice"
    assert metadata["xpr:callerAccount"] == "alice"
    assert "xpr:claimedAccount" not in metadata


async def test_who_has_shown_something_else_has_not_signed(node: ChainDouble, house: House) -> None:
    auth = XprAuth(Chain(node.url), trust=ANYONE), ApiKeys({"k": "ada"})
    async with serving(house.agent(*auth)) as place:
        for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
            async with connect(place.url, binding=binding, auth=ApiKey("k")) as agent:
                await agent.send("hello", request_metadata={"xpr:callerAccount": "alice"})
    assert [(user, metadata) for user, _, metadata in house.heard] == [
        ("key:ada", {"xpr:claimedAccount": "alice"})
    ] * 3


@pytest.mark.parametrize("name", ["X-XPR-Account", "X-XPR-Timestamp", "X-XPR-Signature"])
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_header_that_comes_twice_is_none(
    served: Served, house: House, name: str, *, is_first: bool
) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": said("x")})
    mine = sign_request(BOB, "bob", now(), body.encode())
    theirs = {
        "X-XPR-Account": "alice",
        "X-XPR-Timestamp": str(now() - 1),
        "X-XPR-Signature": sign_request(BOB, "alice", now(), body.encode())["X-XPR-Signature"],
    }
    double = (name, theirs[name])
    headers = [("Content-Type", "application/json"), *mine.items()]
    headers = [double, *headers] if is_first else [*headers, double]
    async with httpx2.AsyncClient() as http:
        answer = (await http.post(f"{served.url}/a2a", content=body, headers=headers)).json()
    assert answer["error"]["code"] == REFUSED
    assert house.heard == []


@pytest.mark.parametrize(
    "stated",
    [
        "9" * 12,
        "9" * 13,
        "9" * 5000,
        "-1",
        "+{now}",
        "{now}.0",
        "{now}e0",
        "0x{now}",
        "{now}_0",
        "\xb2\xb9",
        "NaN",
    ],
)
async def test_a_time_that_is_none_is_refused(caller: XprCaller, house: House, stated: str) -> None:
    body = caller.body("message/send", said("x"))
    signed = sign_request(ALICE, "alice", now(), body)
    signed["X-XPR-Timestamp"] = stated.format(now=now())
    encoded = {name: value.encode("latin-1") for name, value in signed.items()}
    code, _ = (await caller.post(body, encoded)).error  # pyright: ignore[reportArgumentType] - bytes, for what is no ASCII
    assert (code, house.heard) == (REFUSED, [])


async def test_a_time_in_another_spelling_is_the_same_request(
    caller: XprCaller, house: House
) -> None:
    body = caller.body("message/send", said("x"))
    signed = sign_request(ALICE, "alice", now(), body)
    assert (await caller.post(body, signed)).result["status"]["state"] == "completed"
    signed["X-XPR-Timestamp"] = f"0{signed['X-XPR-Timestamp']}"
    assert (await caller.post(body, signed)).error[0] == REFUSED
    assert len(house.heard) == 1


# --- what is signed -------------------------------------------------------------------------------


async def test_what_was_signed_is_what_came_to_the_byte(caller: XprCaller, house: House) -> None:
    body = caller.body("message/send", said("x"))
    signed = sign_request(ALICE, "alice", now(), body)
    members = json.loads(body)
    for other in (
        json.dumps(members, separators=(",", ":")).encode(),
        json.dumps(members, indent=1).encode(),
        body + b"\n",
        b" " + body,
        json.dumps(dict(reversed(members.items()))).encode(),
    ):
        assert (await caller.post(other, signed)).error[0] == REFUSED
    assert house.heard == []


async def test_a_request_that_was_taken_at_one_address_is_not_taken_at_another(
    served: Served, house: House
) -> None:
    params = {"message": message("hello")}
    envelope = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    body = json.dumps(envelope).encode()
    headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
    signed = {**headers, **sign_request(ALICE, "alice", now(), body)}
    async with httpx2.AsyncClient(base_url=served.url) as http:
        places = ("/", "/a2a", "/api/a2a", "/a2a/", "/?again")
        statuses = [
            (await http.post(path, content=body, headers=signed)).status_code for path in places
        ]
    assert statuses == [200, 401, 401, 401, 401]
    assert len(house.heard) == 1


async def test_of_several_that_come_at_once_one_is_taken(caller: XprCaller, house: House) -> None:
    body = caller.body("message/send", said("x"))
    signed = sign_request(ALICE, "alice", now(), body)
    answers = await asyncio.gather(*[caller.post(body, signed) for _ in range(8)])
    assert sum("result" in answer.body for answer in answers) == 1
    assert len(house.heard) == 1


@pytest.mark.parametrize(
    ("path", "account", "status", "words"),
    [
        # What is no request is told there before anybody is asked who it is.
        ("/a2a", "alice", 200, "must be JSON-RPC 2.0"),
        ("/a2a", "", 200, "must be JSON-RPC 2.0"),
        ("/", "alice", 200, "Batches"),
        ("/", "", 401, "Authentication"),
    ],
)
async def test_a_batch_is_no_request(
    served: Served, house: House, path: str, account: str, status: int, words: str
) -> None:
    async with XprCaller(served, path) as caller:
        one = json.loads(caller.body("message/send", said("x")))
        body = json.dumps([one, {**one, "id": 2}]).encode()
        signed = sign_request(ALICE, account, now(), body) if account else {}
        answer = await caller.post(body, signed)
    assert answer.status == status
    assert words in answer.body["error"]["message"]
    assert house.heard == []


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("is_signed", [True, False])
async def test_what_is_nested_without_end_is_refused_before_it_is_read(
    caller: XprCaller, house: House, opening: bytes, *, is_signed: bool
) -> None:
    body = opening * 100_000
    signed = sign_request(ALICE, "alice", now(), b"another") if is_signed else {}
    answer = await caller.post(body, signed)
    assert answer.error[0] == -32700
    assert (await caller.send("still there")).result["status"]["state"] == "completed"
    assert len(house.heard) == 1


async def test_what_is_too_large_in_pieces_is_refused_at_once(
    node: ChainDouble, house: House
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b" " * 1000

    auth = XprAuth(Chain(node.url), trust=ANYONE)
    async with serving(house.agent(auth), max_body_bytes=8000) as place:
        signed = sign_request(ALICE, "alice", now(), b"another")
        headers = {"Content-Type": "application/json", **signed}
        async with httpx2.AsyncClient() as http:
            answer = await http.post(f"{place.url}/a2a", content=pieces(), headers=headers)
    assert answer.status_code == 413
    assert "larger than 8000 bytes" in answer.json()["error"]["message"]


# --- other ways in --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("GET", "/tasks"),
        ("GET", "/extendedAgentCard"),
        ("POST", "/message:send"),
        ("POST", "/message:stream"),
        ("GET", "/v1/tasks/t"),
        ("POST", "/v1/message:send"),
        ("GET", "/v1/card"),
        ("GET", "/agent/authenticatedExtendedCard"),
    ],
)
@pytest.mark.parametrize("account", ["alice", ""])
async def test_no_other_binding_lets_anybody_in(
    served: Served, house: House, verb: str, path: str, account: str
) -> None:
    body = json.dumps({"message": message("hello")}).encode() if verb == "POST" else b""
    signed = sign_request(ALICE, account, now(), body) if account else {}
    headers = {"A2A-Version": "1.0" if not path.startswith("/v1") else "0.3", **signed}
    async with httpx2.AsyncClient(base_url=served.url) as http:
        answer = await http.request(
            verb, path, content=body, headers={"Content-Type": "application/json", **headers}
        )
    assert answer.status_code in (401, 404), answer.text
    assert house.heard == []


async def test_who_only_names_an_account_is_nobody(served: Served, house: House) -> None:
    async with XprCaller(served) as caller:
        params = {**said("x"), "xpr:callerAccount": "alice"}
        assert (await caller.call("message/send", params, "")).error[0] == REFUSED
        body = caller.body("message/send", params)
        assert (await caller.post(body, {"X-XPR-Account": "alice"})).error[0] == REFUSED
    async with connect(served.url) as agent:
        with pytest.raises(A2AError):
            await agent.send("x", request_metadata={"xpr:callerAccount": "alice"})
    assert house.heard == []
