"""The dialect of the XPR network on a real socket: its shapes, its errors and their order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman import AccessRequest, Agent, Context, connect
from dragoman.errors import (
    TaskNotCancelableError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from dragoman.extensions.xpr import Chain, TrustPolicy, XprAuth, XprSigner
from dragoman.extensions.xpr.auth import WRITE
from dragoman.extensions.xpr.signing import sign_request
from dragoman.model.cards import AgentInterface
from tests.scenarios.xpr import (
    ALICE,
    BOB,
    SIGNERS,
    Answer,
    XprCaller,
    now,
    populate,
    said,
    twin_of,
)
from tests.support.chain_double import ANYONE, VECTORS, ChainDouble, serving_chain
from tests.support.serving import Served, serving

UNSIGNED = (
    "Authentication required: X-XPR-Account, X-XPR-Timestamp, and X-XPR-Signature headers are "
    "required"
)


def recorded(case: str) -> Any:
    """Return what the network's own server has answered."""
    return next(one["response"] for one in VECTORS["server_exchanges"] if one["case"] == case)


def recorded_error(case: str) -> tuple[int, str]:
    error = recorded(case)["error"]
    return error["code"], error["message"]


@pytest.fixture
def node() -> Iterator[ChainDouble]:
    with serving_chain() as double:
        yield populate(double)


class Bench:
    """An agent whose work a test can hold up."""

    def __init__(self) -> None:
        self.at_work = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.heard: list[dict[str, object]] = []

    def agent(self, *auth: XprAuth) -> Agent:
        """Make the agent; who has no way to sign cannot have it seal anything."""
        agent = Agent("Notary", "Says who asks.", auth=list(auth))

        @agent.skill
        async def whoami(text: str, ctx: Context) -> str:
            """Say who asks."""
            self.heard.append(dict(ctx.metadata))
            if text == "wait":
                self.at_work.set()
                await self.may_go_on.wait()
            if text == "boom":
                raise RuntimeError("boom")
            if text == "ask":
                return f"{ctx.user}: {await ctx.ask('what?')}"
            return f"{ctx.user}: {text}"

        @agent.skill(scopes=[WRITE] if auth else [])
        async def seal(text: str) -> str:
            """Seal a text."""
            return f"sealed: {text}"

        return agent


@pytest.fixture
async def bench() -> Bench:
    return Bench()


@pytest.fixture
async def served(node: ChainDouble, bench: Bench) -> AsyncIterator[Served]:
    async with serving(
        bench.agent(XprAuth(Chain(node.url), trust=ANYONE, rate_limit=1000))
    ) as place:
        yield place


@pytest.fixture
async def caller(served: Served) -> AsyncIterator[XprCaller]:
    async with XprCaller(served) as calls:
        yield calls


def text_of(answer: Answer) -> str:
    return answer.result["artifacts"][0]["parts"][0]["text"]


# --- shapes ---------------------------------------------------------------------------------------


async def test_a_send_is_answered_by_the_finished_task(caller: XprCaller) -> None:
    metadata = {"xpr:jobId": 42, "k": 1}
    answer = await caller.send("hello", contextId="ctx-9", metadata=metadata)
    theirs = recorded("ok message/send")
    ours = answer.result
    assert ours["status"].keys() == theirs["result"]["status"].keys()
    assert list(ours) == [name for name in theirs["result"] if name != "createdAt"]
    assert answer.body == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "id": ours["id"],
            "owner": "alice",
            "contextId": "ctx-9",
            "status": {"state": "completed", "timestamp": ours["status"]["timestamp"]},
            "metadata": metadata,
            "artifacts": [{"parts": [{"type": "text", "text": "xpr:alice: hello"}], "index": 0}],
        },
    }


@pytest.mark.parametrize("account", SIGNERS)
async def test_a_task_is_shown_to_its_owner_alone(caller: XprCaller, account: str) -> None:
    sent = await caller.send("hello", account)
    for asked in SIGNERS:
        answer = await caller.call("tasks/get", {"id": sent.result["id"]}, asked)
        if asked == account:
            assert answer.result == sent.result
        else:
            assert answer.error == (-32001, f"Task not found: {sent.result['id']}")
            answer = await caller.call("tasks/cancel", {"id": sent.result["id"]}, asked)
            assert answer.error == (-32001, f"Task not found: {sent.result['id']}")


async def test_the_caller_may_name_its_task_and_use_the_name_again(caller: XprCaller) -> None:
    first = await caller.send("x", "bob", id="my-task")
    again = await caller.send("again", "bob", id="my-task")
    assert first.result["id"] == again.result["id"] == recorded("custom id")["result"]["id"]
    assert text_of(again) == "xpr:bob: again"
    assert (await caller.call("tasks/get", {"id": "my-task"}, "bob")).result == again.result


async def test_a_name_that_another_account_uses_is_as_good_as_any(caller: XprCaller) -> None:
    mine = await caller.send("mine", "alice", id="job")
    theirs = await caller.send("theirs", "bob", id="job")
    assert text_of(theirs) == "xpr:bob: theirs"
    assert (await caller.call("tasks/get", {"id": "job"}, "alice")).result == mine.result
    # The same goes for an id that the server has made up.
    made_up = (await caller.send("mine", "alice")).result["id"]
    assert text_of(await caller.send("theirs", "bob", id=made_up)) == "xpr:bob: theirs"
    assert text_of(await caller.call("tasks/get", {"id": made_up})) == "xpr:alice: mine"


async def test_a_task_that_has_ended_is_followed_by_another(caller: XprCaller) -> None:
    first = await caller.send("one")
    second = await caller.send("two", id=first.result["id"])
    assert second.result["id"] != first.result["id"]
    assert text_of(second) == "xpr:alice: two"


async def test_a_question_is_answered_by_another_message(caller: XprCaller) -> None:
    asked = await caller.send("ask", id="q")
    assert asked.result["status"]["state"] == "input-required"
    assert asked.result["status"]["message"]["role"] == "agent"
    assert asked.result["status"]["message"]["parts"] == [{"type": "text", "text": "what?"}]
    told = await caller.send("this", id="q")
    assert (told.result["id"], text_of(told)) == ("q", "xpr:alice: this")


async def test_parts_by_kind_are_read_as_well(caller: XprCaller) -> None:
    params = {"message": {"role": "user", "parts": [{"kind": "text", "text": "hi"}]}}
    answer = await caller.call("message/send", params)
    assert answer.result["artifacts"][0]["parts"] == [{"type": "text", "text": "xpr:alice: hi"}]


# --- errors and their order -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "method", "params"),
    [
        ("no message", "message/send", {}),
        ("message no parts", "message/send", {"message": {"role": "user"}}),
        ("message no parts", "message/send", {"message": {"role": "user", "parts": []}}),
        ("no message", "message/send", None),
        ("no message", "message/send", {"message": "hello"}),
        ("unknown method", "message/stream", said("hi")),
        ("tasks/get no id", "tasks/get", {}),
        ("tasks/get none", "tasks/get", {"id": "zzz"}),
        ("tasks/cancel no id", "tasks/cancel", {}),
    ],
)
async def test_what_is_wrong_is_said_as_the_network_does(
    caller: XprCaller, case: str, method: str, params: object
) -> None:
    answer = await caller.call(method, params, id=1)
    assert answer.status == 200
    assert {**answer.body, "error": dict(answer.body["error"])} == recorded(case)


async def test_what_no_version_has_is_no_method_here_either(caller: XprCaller) -> None:
    assert (await caller.call("dance", {})).error == (-32601, "Method not found: dance")


async def test_a_task_that_has_ended_cannot_be_canceled(caller: XprCaller) -> None:
    sent = await caller.send("hello")
    answer = await caller.call("tasks/cancel", {"id": sent.result["id"]}, id=1)
    assert answer.body == recorded("tasks/cancel completed")


@pytest.mark.parametrize("account", ["", "alice"])
@pytest.mark.parametrize(
    ("case", "body"),
    [
        ("no auth, bad rpc (order)", b'{"jsonrpc":"1.0","id":9,"method":"message/send"}'),
        ("json array batch", b'[{"jsonrpc":"2.0","id":9,"method":"message/send"}]'),
        ("empty body", b""),
    ],
)
async def test_what_is_no_request_is_refused_before_anybody_is_asked_who_it_is(
    caller: XprCaller, case: str, body: bytes, account: str
) -> None:
    signed = sign_request(ALICE, account, now(), body) if account else {}
    answer = await caller.post(body, signed)
    assert (answer.status, answer.body) == (200, recorded(case))


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("message/send", said("hi")),
        ("message/send", {}),
        ("message/send", [1]),
        ("tasks/get", {"id": "x"}),
        ("message/stream", said("hi")),
        ("dance", {}),
    ],
)
async def test_who_does_not_sign_hears_nothing_else(
    caller: XprCaller, method: str, params: object
) -> None:
    answer = await caller.call(method, params, "", id=1)
    assert (answer.status, answer.body) == (200, recorded("no auth headers"))
    assert answer.error == (-32000, UNSIGNED)


async def test_a_body_that_is_labelled_as_something_else_is_none(caller: XprCaller) -> None:
    answer = await caller.post(caller.body("message/send", said("x")), {}, label="text/plain")
    assert (answer.status, answer.body) == (200, recorded("text/plain"))


# --- beside the versions of A2A -------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.0", "0.3", "0.2", "0.1"])
async def test_at_the_same_address_every_version_is_served(served: Served, version: str) -> None:
    place = AgentInterface(
        url=f"{served.url}/a2a", protocol_binding="JSONRPC", protocol_version=version
    )
    async with connect(place, auth=XprSigner("alice", ALICE)) as agent:
        reply = await agent.send("hello")
        assert reply.text == "xpr:alice: hello"
        assert reply.task is not None
        assert (await agent.task(reply.task.id).get()).text == "xpr:alice: hello"


async def test_a_message_with_an_id_is_one_of_0_3(caller: XprCaller) -> None:
    sent = {
        "role": "user",
        "messageId": "m-1",
        "kind": "message",
        "parts": [{"kind": "text", "text": "hello"}],
    }
    answer = await caller.call("message/send", {"message": sent})
    assert answer.result["kind"] == "task"
    # It is spoken of as it was begun.
    got = await caller.call("tasks/get", {"id": answer.result["id"]})
    assert got.result["kind"] == "task"


async def test_an_agent_that_asks_for_nothing_understands_the_network_too() -> None:
    async with serving(Bench().agent()) as place, XprCaller(place) as caller:
        answer = await caller.send("hello", "")
        assert answer.result["artifacts"][0]["parts"] == [
            {"type": "text", "text": "anonymous: hello"}
        ]
        params = {"id": answer.result["id"], "xpr:callerAccount": "bob"}
        assert (await caller.call("tasks/get", params, "")).result == answer.result


# --- who calls ------------------------------------------------------------------------------------


async def test_the_agent_hears_who_has_signed_and_not_who_is_claimed(
    caller: XprCaller, bench: Bench
) -> None:
    claims = {"xpr:callerAccount": "bob", "metadata": {"xpr:callerAccount": "bob", "k": 1}}
    await caller.send("hello", "alice", **claims)
    assert bench.heard == [{"xpr:callerAccount": "alice", "k": 1}]


async def test_a_claim_that_nobody_has_signed_is_called_a_claim(
    node: ChainDouble, bench: Bench
) -> None:
    auth = XprAuth(Chain(node.url), trust=ANYONE, is_required=False)
    async with serving(bench.agent(auth)) as place, XprCaller(place) as caller:
        answer = await caller.send("hello", "", **{"xpr:callerAccount": "alice"})
        assert (answer.result["owner"], text_of(answer)) == ("anonymous", "anonymous: hello")
    assert bench.heard == [{"xpr:claimedAccount": "alice"}]


async def test_refusals_of_all_kinds_ride_on_200(node: ChainDouble, bench: Bench) -> None:
    policy = TrustPolicy(min_kyc_level=1)
    auth = XprAuth(Chain(node.url), trust=policy, rate_limit=2, tool_mode="readonly")
    async with serving(bench.agent(auth)) as place, XprCaller(place) as caller:
        assert (await caller.send("hello", "bob")).error == (
            -32000,
            "Account 'bob' is not a registered agent",
        )
        refused = await caller.send("x", metadata={"skillId": "seal"})
        assert refused.error[0] == -32000
        await caller.send("hello")
        limited = await caller.send("hello")
        assert limited.error == (
            -32000,
            "Rate limit exceeded: 2 requests per minute for account 'alice'",
        )
        assert 0 < limited.body["error"]["data"]["retryAfter"] <= 60


async def test_while_the_chain_is_away_that_is_told(node: ChainDouble, bench: Bench) -> None:
    node.failures = [500] * 20
    async with (
        serving(bench.agent(XprAuth(Chain(node.url), trust=ANYONE))) as place,
        XprCaller(place) as caller,
    ):
        code, words = (await caller.send("hello")).error
    assert code == -32000
    assert words.startswith("Authentication error")


# --- requests that are not good -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "late_seconds"), [("timestamp stale", 310), ("timestamp future", -310)]
)
async def test_a_request_out_of_its_time_is_refused(
    caller: XprCaller, case: str, late_seconds: int
) -> None:
    body = caller.body("message/send", said("x"))
    answer = await caller.post(body, sign_request(ALICE, "alice", now() - late_seconds, body))
    assert answer.error == recorded_error(case)


@pytest.mark.parametrize(
    ("case", "changes"),
    [
        ("timestamp abc", {"X-XPR-Timestamp": "abc"}),
        ("missing signature only", {"X-XPR-Signature": ""}),
        ("bad sig string", {"X-XPR-Signature": "SIG_K1_x"}),
        ("bad sig prefix", {"X-XPR-Signature": "nonsense"}),
    ],
)
async def test_headers_that_are_not_good_are_refused(
    caller: XprCaller, case: str, changes: dict[str, str]
) -> None:
    body = caller.body("message/send", said("x"))
    answer = await caller.post(body, {**sign_request(ALICE, "alice", now(), body), **changes})
    assert answer.error == recorded_error(case)


async def test_a_body_that_was_not_signed_is_refused(caller: XprCaller) -> None:
    signed = sign_request(ALICE, "alice", now(), caller.body("message/send", said("x")))
    answer = await caller.post(caller.body("message/send", said("y")), signed)
    assert answer.error == recorded_error("wrong body")


async def test_the_key_of_another_account_is_refused(caller: XprCaller) -> None:
    body = caller.body("message/send", said("x"))
    answer = await caller.post(body, sign_request(BOB, "alice", now(), body))
    assert answer.error == recorded_error("wrong key")


async def test_a_signature_that_was_cut_is_refused(caller: XprCaller) -> None:
    body = caller.body("message/send", said("x"))
    signed = sign_request(ALICE, "alice", now(), body)
    signed["X-XPR-Signature"] = signed["X-XPR-Signature"][:-3]
    assert (await caller.post(body, signed)).error == recorded_error("bad sig string")


async def test_the_twin_of_a_good_signature_is_refused(caller: XprCaller) -> None:
    body = caller.body("message/send", said("x"))
    signed = sign_request(ALICE, "alice", now(), body)
    signed["X-XPR-Signature"] = twin_of(signed["X-XPR-Signature"])
    # The network's own server takes it (its recorded exchange "high-S").
    assert (await caller.post(body, signed)).error == recorded_error("bad sig string")


# --- our client -----------------------------------------------------------------------------------


@pytest.fixture
def card(served: Served, tmp_path: Path) -> Path:
    """The card of an agent that knows nothing but the XPR network, at the address of ours."""
    members = {
        "name": "Notary",
        "description": "Says who asks.",
        "url": served.url,
        "version": "1.0.0",
        "capabilities": {"streaming": False, "pushNotifications": False},
        "defaultInputModes": ["text"],
        "defaultOutputModes": ["text"],
        "skills": [{"id": "a", "name": "a", "description": "a capability", "tags": ["a"]}],
        "xpr:account": "carol",
    }
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(members))
    return file


async def test_our_client_speaks_the_dialect_to_who_has_no_other(card: Path, bench: Bench) -> None:
    async with connect(card, auth=XprSigner("alice", ALICE)) as agent:
        told = {"xpr:jobId": 0, "xpr:callerAccount": "alice"}
        reply = await agent.send("hello", request_metadata={**told})
        assert (reply.text, bench.heard) == ("xpr:alice: hello", [told])
        assert reply.task is not None
        # 0 is a job like any other, though the network's own client drops it.
        assert reply.task.metadata == {"xpr:jobId": 0}
        assert (await agent.task(reply.task.id).get()).text == "xpr:alice: hello"
        with pytest.raises(TaskNotCancelableError, match="Task already completed"):
            await agent.cancel(reply.task.id)
        with pytest.raises(UnsupportedOperationError):
            [one async for one in agent.tasks()]
        question = await agent.send("ask")
        assert (await question.answer("this")).text == "xpr:alice: this"
    async with connect(card, auth=XprSigner("bob", ALICE)) as agent:
        with pytest.raises(UnauthenticatedError, match="does not match any active key"):
            await agent.send("hello")


# --- what a name stands for -----------------------------------------------------------------------


async def test_a_name_that_is_used_again_opens_no_other_skill(node: ChainDouble) -> None:
    asked: list[str] = []

    def allows(wish: AccessRequest) -> bool:
        asked.append(wish.skill_id)
        return wish.skill_id != "seal"

    agent = Agent("Notary", auth=[XprAuth(Chain(node.url), trust=ANYONE)], authorize=allows)

    @agent.skill
    async def whoami(ctx: Context) -> str:
        """Say who asks."""
        return str(ctx.user)

    @agent.skill
    async def seal(text: str) -> str:
        """Seal a text."""
        return f"sealed: {text}"

    async with serving(agent) as place, XprCaller(place) as caller:
        assert text_of(await caller.send("hello", id="x")) == "xpr:alice"
        refused = await caller.send("hello", id="x", metadata={"skillId": "seal"})
        assert refused.error[0] == -32000
    assert asked == ["whoami", "seal"]
