"""What the network's own server gets wrong, as was recorded: ours does not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from dragoman import Agent, Context
from dragoman.extensions.xpr import Chain, TrustPolicy, XprAuth
from dragoman.extensions.xpr.signing import sign_request
from tests.scenarios.xpr import ALICE, BOB, SIGNERS, XprCaller, now, populate, said
from tests.support.chain_double import ANYONE, ChainDouble, serving_chain
from tests.support.serving import serving

NOT_FOUND = -32001
REFUSED = -32000


@pytest.fixture
def node() -> Iterator[ChainDouble]:
    with serving_chain() as double:
        yield populate(double)


class Work:
    """An agent that works until it is let go."""

    def __init__(self, *auth: XprAuth) -> None:
        self.has_begun = asyncio.Event()
        self.has_ended = asyncio.Event()
        self.agent = Agent("Worker", "Works.", auth=list(auth))
        may_end = self.may_end = asyncio.Event()

        @self.agent.skill
        async def work(text: str, ctx: Context) -> str:
            """Work."""
            self.has_begun.set()
            if text == "boom":
                raise RuntimeError("boom")
            if text == "long":
                try:
                    await may_end.wait()
                finally:
                    self.has_ended.set()
            return f"{ctx.user}: {text}"


# --- tasks ----------------------------------------------------------------------------------------


async def test_a_task_that_was_canceled_stays_canceled_when_its_work_ends(
    node: ChainDouble,
) -> None:
    work = Work(XprAuth(Chain(node.url), trust=ANYONE))
    async with (
        serving(work.agent) as place,
        XprCaller(place) as caller,
        asyncio.TaskGroup() as group,
    ):
        sent = group.create_task(caller.send("long", id="t"))
        await asyncio.wait_for(work.has_begun.wait(), 10)
        canceled = await caller.call("tasks/cancel", {"id": "t"})
        assert canceled.result["status"]["state"] == "canceled"
        work.may_end.set()
        await asyncio.wait_for(work.has_ended.wait(), 10)
        assert (await sent).result["status"]["state"] == "canceled"
        after = await caller.call("tasks/get", {"id": "t"})
        assert after.result["status"]["state"] == "canceled"
        # Nor can it be canceled again.
        again = await caller.call("tasks/cancel", {"id": "t"})
        assert again.error == (-32002, "Task already canceled")


async def test_a_task_whose_agent_fails_has_failed(node: ChainDouble) -> None:
    work = Work(XprAuth(Chain(node.url), trust=ANYONE))
    async with serving(work.agent) as place, XprCaller(place) as caller:
        sent = await caller.send("boom", id="t")
        assert sent.result["status"]["state"] == "failed"
        # What went wrong in there is nobody's business.
        assert "boom" not in str(sent.result["status"])
        assert (await caller.call("tasks/get", {"id": "t"})).result == sent.result
        assert (await caller.call("tasks/cancel", {"id": "t"})).error == (
            -32002,
            "Task already failed",
        )


# --- who calls ------------------------------------------------------------------------------------


async def test_an_account_that_nobody_signs_for_opens_nothing(node: ChainDouble) -> None:
    work = Work(XprAuth(Chain(node.url), trust=ANYONE, is_required=False))
    async with serving(work.agent) as place, XprCaller(place) as caller:
        secret = (await caller.send("secret")).result["id"]
        account = {"X-XPR-Account": "alice"}
        for claim in (account, {**account, "X-XPR-Timestamp": str(now())}):
            for method in ("tasks/get", "tasks/cancel"):
                params = {"id": secret, "xpr:callerAccount": "alice"}
                answer = await caller.post(caller.body(method, params), claim)
                assert answer.error == (NOT_FOUND, f"Task not found: {secret}")


async def test_who_does_not_sign_is_limited_too(node: ChainDouble) -> None:
    work = Work(XprAuth(Chain(node.url), trust=ANYONE, is_required=False, rate_limit=2))
    async with serving(work.agent) as place, XprCaller(place) as caller:
        claims = ("alice", "bob", "carol")
        answers = [await caller.send("x", "", **{"xpr:callerAccount": name}) for name in claims]
        assert [answer.status for answer in answers] == [200, 200, 200]
        assert answers[-1].error == (
            REFUSED,
            "Rate limit exceeded: 2 requests per minute for account 'anonymous'",
        )


async def test_a_signature_that_is_shown_is_checked_even_if_none_is_needed(
    node: ChainDouble,
) -> None:
    work = Work(XprAuth(Chain(node.url), trust=ANYONE, is_required=False))
    async with serving(work.agent) as place, XprCaller(place) as caller:
        body = caller.body("message/send", said("x"))
        answer = await caller.post(body, sign_request(BOB, "alice", now(), body))
        assert answer.error[0] == REFUSED


async def test_a_request_is_good_for_one_time(node: ChainDouble) -> None:
    work = Work(XprAuth(Chain(node.url), trust=ANYONE))
    async with serving(work.agent) as place, XprCaller(place) as caller:
        body = caller.body("message/send", said("x"))
        at = now()
        assert (await caller.post(body, sign_request(ALICE, "alice", at, body))).result
        # Signed once more for the same second it is the same request.
        for _ in range(2):
            answer = await caller.post(body, sign_request(ALICE, "alice", at, body))
            assert answer.error == (REFUSED, "Request was seen before: sign it anew")


@pytest.mark.parametrize("tail", [".5", "x", " 1", "e3"])
async def test_a_time_with_something_behind_it_is_none(node: ChainDouble, tail: str) -> None:
    work = Work(XprAuth(Chain(node.url), trust=ANYONE))
    async with serving(work.agent) as place, XprCaller(place) as caller:
        body = caller.body("message/send", said("x"))
        headers = sign_request(ALICE, "alice", now(), body)
        headers["X-XPR-Timestamp"] += tail
        assert (await caller.post(body, headers)).error == (
            REFUSED,
            "Invalid X-XPR-Timestamp: must be a Unix timestamp",
        )


async def test_a_key_that_is_not_enough_by_itself_is_not_enough(node: ChainDouble) -> None:
    keys = (ALICE.public.legacy_text, 1), (BOB.public.legacy_text, 1)
    node.set_keys("multi", *keys, threshold=2)
    work = Work(XprAuth(Chain(node.url), trust=ANYONE))
    async with serving(work.agent) as place, XprCaller(place) as caller:
        body = caller.body("message/send", said("x"))
        answer = await caller.post(body, sign_request(ALICE, "multi", now(), body))
        assert answer.error[0] == REFUSED


# --- trust ----------------------------------------------------------------------------------------


async def test_an_account_of_digits_is_found_in_tables(node: ChainDouble) -> None:
    node.set_keys("12345", (ALICE.public.legacy_text, 1))
    node.put("agentcore", "agents", account="12345", owner="", active=1, registered_at=1)
    work = Work(XprAuth(Chain(node.url), trust=TrustPolicy(require_agent=True)))
    async with serving(work.agent) as place, XprCaller(place) as caller:
        body = caller.body("message/send", said("x"))
        answer = await caller.post(body, sign_request(ALICE, "12345", now(), body))
        assert answer.result["owner"] == "12345"


async def test_the_gate_counts_the_score_as_cards_do(node: ChainDouble) -> None:
    node.put("eosio", "voters", owner="alice", staked=10_000 * 500 * 20)
    node.put("agentfeed", "agentscores", agent="alice", avg_score=10_000, total_weight=5)
    work = Work(XprAuth(Chain(node.url), trust=TrustPolicy(min_trust_score=60)))
    async with serving(work.agent) as place, XprCaller(place) as caller:
        # 20 for the stake, 40 for the reputation, 10 for its age: beyond the 40 of theirs.
        assert (await caller.send("x")).result["owner"] == "alice"


# --- bytes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"{", b'{"jsonrpc":', b"\xff\xfe", b"nonsense"])
@pytest.mark.parametrize("account", ["", "alice"])
async def test_what_is_no_json_is_answered_in_json(
    node: ChainDouble, body: bytes, account: str
) -> None:
    work = Work(XprAuth(Chain(node.url), trust=ANYONE))
    async with serving(work.agent) as place, XprCaller(place) as caller:
        signed = sign_request(SIGNERS[account], account, now(), body) if account else {}
        answer = await caller.post(body, signed)
    assert (answer.content_type, answer.error[0]) == ("application/json", -32700)


@pytest.mark.parametrize("account", ["", "alice"])
async def test_what_is_too_large_is_answered_in_json(node: ChainDouble, account: str) -> None:
    work = Work(XprAuth(Chain(node.url), trust=ANYONE))
    async with serving(work.agent, max_body_bytes=2000) as place, XprCaller(place) as caller:
        answer = await caller.send("x" * 4000, account)
    assert (answer.status, answer.content_type) == (413, "application/json")
    assert answer.body["error"].keys() == {"code", "message"}
    assert answer.body["error"]["message"] == "The request body is larger than 2000 bytes"
