"""Who is let in by a signature, and who is not."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.auth.incoming.authenticator import Evidence, Principal
from dragoman.errors import (
    A2AError,
    PermissionDeniedError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
    UsageError,
)
from dragoman.extensions.xpr.auth import READ, WRITE, MemoryReplays, XprAuth
from dragoman.extensions.xpr.chain.chain import Chain
from dragoman.extensions.xpr.chain.rows import AgentRow
from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.settings import load_xpr_settings
from dragoman.extensions.xpr.signing import sign_request
from dragoman.extensions.xpr.trust import TrustPolicy
from dragoman.service.principal import NOBODY, READ_ONLY
from dragoman.testing.chain import FakeChain
from dragoman.testing.clock import FakeClock
from tests.support.chain_double import ANYONE, VECTORS, ChainDouble, serving_chain

ALICE, BOB = (PrivateKey.read(pair["wif"]) for pair in VECTORS["keys"][:2])
R1 = PrivateKey.read(VECTORS["keys"][-1]["pvt"])
BODY = b'{"jsonrpc":"2.0","id":1,"method":"message/send"}'
EVERYTHING = frozenset({READ, WRITE})


class Body:
    """A body that is read when somebody asks for it."""

    def __init__(self, data: bytes = BODY) -> None:
        self.data = data
        self.reads = 0

    async def read(self) -> bytes:
        self.reads += 1
        return self.data


def showing(headers: Mapping[str, str], body: Body | bytes | None = BODY) -> Evidence:
    read = None if body is None else (body if isinstance(body, Body) else Body(body)).read
    shown = {name.lower().encode(): value for name, value in headers.items()}
    return Evidence(headers=shown, peer="192.0.2.1", body=read)


def known() -> FakeChain:
    chain = FakeChain({"alice": ALICE.public.text, "bob": BOB.public.legacy_text})
    chain.set_keys("webby", R1.public.text)
    chain.register(AgentRow(account="webby", active=True))
    return chain


def unregistered() -> FakeChain:
    chain = FakeChain()
    chain.set_keys("alice", ALICE.public.text)
    return chain


class Desk:
    """An authenticator, its clock, and callers who sign by it."""

    def __init__(self, chain: FakeChain | None = None, **options: Any) -> None:
        self.clock = FakeClock()
        self.chain = chain or known()
        self.auth = XprAuth(self.chain, clock=self.clock, **options)
        self.number = 0

    def signed(
        self, account: str = "alice", key: PrivateKey = ALICE, body: bytes = b""
    ) -> Evidence:
        """Return a request that nobody has sent before."""
        self.number += 1
        body = body or b'{"jsonrpc":"2.0","id":%d}' % self.number
        return showing(sign_request(key, account, self.clock.now_ms() // 1000, body), body)

    async def owner(self, evidence: Evidence) -> str | None:
        found = await self.auth.authenticate(evidence)
        return found.owner if found else None

    async def refusal(self, evidence: Evidence) -> A2AError:
        with pytest.raises(A2AError) as caught:
            await self.auth.authenticate(evidence)
        return caught.value


# --- the signature --------------------------------------------------------------------------------


async def test_who_has_signed_is_let_in() -> None:
    desk = Desk()
    found = await desk.auth.authenticate(desk.signed())
    assert found == Principal(owner="xpr:alice", scopes=EVERYTHING)
    assert await desk.owner(desk.signed("bob", BOB)) == "xpr:bob"
    assert await desk.owner(desk.signed("webby", R1)) == "xpr:webby"


async def test_who_shows_nothing_is_not_our_business() -> None:
    assert await Desk().auth.authenticate(showing({})) is None
    assert await Desk().auth.authenticate(showing({"Authorization": "Bearer x"})) is None


@pytest.mark.parametrize("vector", VECTORS["good"], ids=lambda vector: vector["id"])
async def test_good_requests(vector: dict[str, Any]) -> None:
    auth, evidence = recorded_desk(vector)
    found = await auth.authenticate(evidence)
    assert found == Principal(owner=f"xpr:{vector['account']}", scopes=EVERYTHING)


@pytest.mark.parametrize("vector", VECTORS["bad"], ids=lambda vector: vector["note"])
async def test_bad_requests_are_refused_with_the_words_of_the_network(
    vector: dict[str, Any],
) -> None:
    auth, evidence = recorded_desk(vector)
    with pytest.raises(UnauthenticatedError) as caught:
        await auth.authenticate(evidence)
    assert caught.value.message == vector["expect"]["message"]
    assert caught.value.challenges == (auth.challenge,)
    # The door counts who has shown something that is not good, and tells them by the cause.
    assert caught.value.__cause__ is not None


def recorded_desk(vector: dict[str, Any]) -> tuple[XprAuth, Evidence]:
    class Recorded(FakeChain):
        """An account as the chain had it."""

    chain, active = Recorded(), vector["chain_active"]
    keys = [one["key"] for one in active["keys"] for _ in range(1)]
    weights = {one["weight"] for one in active["keys"]}
    # A key of weight 2 at threshold 2 is one of weight 1 at threshold 1.
    threshold = active["threshold"] if weights != {2} else 1
    chain.set_keys(vector["account"], *keys, threshold=threshold)
    headers = {
        "X-XPR-Account": vector["account"],
        "X-XPR-Timestamp": vector["timestamp_header"],
        "X-XPR-Signature": vector["signature"],
    }
    auth = XprAuth(chain, trust=ANYONE, clock=FakeClock(vector["now"] * 1000))
    return auth, showing(headers, vector["body"].encode())


async def test_an_account_in_the_body_does_not_count() -> None:
    desk = Desk()
    body = b'{"params":{"xpr:callerAccount":"bob"}}'
    assert await desk.owner(desk.signed("alice", ALICE, body)) == "xpr:alice"


async def test_the_key_of_another_account_opens_nothing() -> None:
    desk = Desk()
    error = await desk.refusal(desk.signed("alice", BOB))
    assert error.message.endswith("does not match any active key for account 'alice'")
    assert (await desk.refusal(desk.signed("ghost"))).message == (
        "Authentication error: account 'ghost' is not known on the chain"
    )


async def test_without_a_body_there_is_nothing_to_sign() -> None:
    desk = Desk()
    headers = sign_request(ALICE, "alice", desk.clock.now_ms() // 1000, b"")
    error = await desk.refusal(showing(headers, None))
    assert error.message == "XPR signatures cover a body: call by JSON-RPC"


@pytest.mark.parametrize(
    "changed",
    [{"X-XPR-Timestamp": "1"}, {"X-XPR-Signature": "SIG_K1_x"}, {"X-XPR-Account": "A"}],
    ids=str,
)
async def test_bad_headers_are_refused_before_the_body_is_read(changed: dict[str, str]) -> None:
    desk, body = Desk(), Body()
    headers = sign_request(ALICE, "alice", desk.clock.now_ms() // 1000, BODY)
    await desk.refusal(showing({**headers, **changed}, body))
    assert body.reads == 0


async def test_weights_can_be_left_out_of_it() -> None:
    chain = known()
    chain.set_keys("multi", ALICE.public.text, BOB.public.text, threshold=2)
    chain.register(AgentRow(account="multi", active=True))
    strict, loose = Desk(chain), Desk(chain, honours_weights=False)
    assert isinstance(await strict.refusal(strict.signed("multi", BOB)), UnauthenticatedError)
    assert await loose.owner(loose.signed("multi", BOB)) == "xpr:multi"


# --- replays --------------------------------------------------------------------------------------


async def test_a_request_is_taken_once() -> None:
    desk = Desk()
    evidence = desk.signed()
    assert await desk.owner(evidence) == "xpr:alice"
    for _ in range(3):
        assert (await desk.refusal(evidence)).message == "Request was seen before: sign it anew"


async def test_another_signature_of_the_same_request_is_a_replay() -> None:
    desk = Desk()
    now = desk.clock.now_ms() // 1000
    first, second = (showing(sign_request(R1, "webby", now, BODY)) for _ in range(2))
    assert first.headers[b"x-xpr-signature"] != second.headers[b"x-xpr-signature"]
    assert await desk.owner(first) == "xpr:webby"
    assert "seen before" in (await desk.refusal(second)).message


async def test_replicas_that_share_what_they_remember_take_a_request_once() -> None:
    desk = Desk()
    shared = MemoryReplays(desk.clock)
    apart, one, another = Desk(), Desk(replays=shared), Desk(replays=shared)
    request = desk.signed()
    assert await one.owner(request) == "xpr:alice"
    assert "seen before" in str(await another.refusal(request))
    # Who remembers for itself knows nothing of that.
    assert await apart.owner(request) == "xpr:alice"


async def test_while_it_cannot_be_told_whether_a_request_was_taken_nobody_is_let_in() -> None:
    class Away:
        async def claim(self, digest: bytes) -> bool:
            raise UnavailableError(f"{len(digest)} bytes are too many")

    desk = Desk(replays=Away())
    assert isinstance(await desk.refusal(desk.signed()), UnavailableError)


async def test_a_replay_costs_its_victim_nothing() -> None:
    desk = Desk(rate_limit=2)
    evidence = desk.signed()
    await desk.owner(evidence)
    for _ in range(10):
        await desk.refusal(evidence)
    assert await desk.owner(desk.signed()) == "xpr:alice"


async def test_a_bad_signature_takes_no_place_in_the_memory() -> None:
    desk = Desk()
    headers = sign_request(BOB, "alice", desk.clock.now_ms() // 1000, BODY)
    good = sign_request(ALICE, "alice", desk.clock.now_ms() // 1000, BODY)
    await desk.refusal(showing(headers))
    assert await desk.owner(showing(good)) == "xpr:alice"


# --- how often ------------------------------------------------------------------------------------


async def test_so_many_calls_in_a_minute() -> None:
    desk = Desk()
    for _ in range(20):
        assert await desk.owner(desk.signed()) == "xpr:alice"
    error = await desk.refusal(desk.signed())
    assert isinstance(error, RateLimitedError)
    assert error.message == "Rate limit exceeded: 20 requests per minute for account 'alice'"
    assert error.retry_after_seconds == 60
    assert await desk.owner(desk.signed("bob", BOB)) == "xpr:bob"
    desk.clock.advance(60)
    assert await desk.owner(desk.signed()) == "xpr:alice"


async def test_one_who_was_refused_for_its_rate_may_send_the_same_again() -> None:
    desk = Desk(rate_limit=1)
    await desk.owner(desk.signed())
    evidence = desk.signed()
    await desk.refusal(evidence)
    desk.clock.advance(60)
    assert await desk.owner(evidence) == "xpr:alice"


async def test_bad_signatures_do_not_use_up_the_rate() -> None:
    desk = Desk(rate_limit=1)
    for _ in range(5):
        await desk.refusal(desk.signed("alice", BOB))
    assert await desk.owner(desk.signed()) == "xpr:alice"


# --- unsigned -------------------------------------------------------------------------------------


async def test_unsigned_requests_are_anonymous_where_they_are_let_in() -> None:
    desk = Desk(is_required=False, rate_limit=3)
    assert desk.auth.is_optional
    assert await desk.owner(showing({})) == "anonymous"
    # An account that nobody has signed for is not believed.
    assert await desk.owner(showing({"X-XPR-Account": "alice"})) == "anonymous"
    assert await desk.owner(showing({}, None)) == "anonymous"
    error = await desk.refusal(showing({}))
    assert error.message == "Rate limit exceeded: 3 requests per minute for account 'anonymous'"
    # Who signs is looked at all the same.
    assert await desk.owner(desk.signed()) == "xpr:alice"
    assert isinstance(await desk.refusal(desk.signed("alice", BOB)), UnauthenticatedError)


# --- whom it is for -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "named", "finding"),
    [
        ({"target": "carol"}, None, ""),
        ({"target": "carol"}, "carol", ""),
        ({"target": "carol"}, "dave", "for another agent than 'carol'"),
        ({"target": "carol", "target_binding": "required"}, None, "name xpr:targetAccount"),
        ({"target": "carol", "target_binding": "required"}, "carol", ""),
        # An agent that has not been told its account cannot tell.
        ({}, "dave", ""),
    ],
)
async def test_a_request_can_say_whom_it_is_for(
    options: dict[str, str], named: str | None, finding: str
) -> None:
    desk = Desk(None, **options)
    body = json.dumps({"params": {"xpr:targetAccount": named} if named else {}}).encode()
    evidence = desk.signed("alice", ALICE, body)
    if finding:
        assert finding in (await desk.refusal(evidence)).message
    else:
        assert await desk.owner(evidence) == "xpr:alice"


# --- trust ----------------------------------------------------------------------------------------

AGENT = AgentRow(account="alice", active=True)


async def test_a_signature_can_be_enough() -> None:
    desk = Desk(unregistered(), trust=ANYONE)
    assert await desk.owner(desk.signed()) == "xpr:alice"


async def test_the_chain_must_trust_the_caller_enough() -> None:
    chain = unregistered()
    desk = Desk(chain, trust=TrustPolicy(min_kyc_level=2, min_trust_score=50))
    steps = [
        (None, 0, 0, "Account 'alice' is not a registered agent"),
        (replace(AGENT, active=False), 3, 99, "Agent 'alice' is not active"),
        (AGENT, 1, 99, "KYC level 1 below minimum 2"),
        (AGENT, 2, 49, "Trust score 49 below minimum 50"),
    ]
    for agent, kyc, score, message in steps:
        if agent is not None:
            chain.register(agent, kyc=kyc, score=score)
        error = await desk.refusal(desk.signed())
        assert isinstance(error, PermissionDeniedError)
        assert error.message == message
    chain.register(AGENT, kyc=2, score=50)
    assert await desk.owner(desk.signed()) == "xpr:alice"


async def test_by_default_callers_are_registered_agents() -> None:
    chain = unregistered()
    desk = Desk(chain)
    assert isinstance(await desk.refusal(desk.signed()), PermissionDeniedError)
    chain.register(AGENT)
    assert await desk.owner(desk.signed()) == "xpr:alice"


async def test_who_may_only_look_is_marked_so() -> None:
    desk = Desk(tool_mode="readonly")
    found = await desk.auth.authenticate(desk.signed())
    assert found is not None
    assert found.scopes == {READ, READ_ONLY}
    desk = Desk(tool_mode="readonly", is_required=False)
    assert await desk.auth.authenticate(showing({})) == replace(
        NOBODY, scopes=frozenset({READ_ONLY})
    )


# --- the chain ------------------------------------------------------------------------------------


@pytest.fixture
def node() -> Iterator[ChainDouble]:
    with serving_chain() as double:
        double.set_keys("alice", (ALICE.public.legacy_text, 1))
        yield double


def at(node: ChainDouble, clock: FakeClock, **options: Any) -> XprAuth:
    node.lag_ms = 0
    options.setdefault("trust", ANYONE)
    return XprAuth(Chain(node.url, clock=clock), clock=clock, **options)


async def test_a_key_that_was_changed_works_at_once(node: ChainDouble) -> None:
    clock = FakeClock()
    auth = at(node, clock)

    def signed(key: PrivateKey, number: int) -> Evidence:
        body = b'{"id":%d}' % number
        return showing(sign_request(key, "alice", clock.now_ms() // 1000, body), body)

    assert await auth.authenticate(signed(ALICE, 1)) is not None
    clock.advance(10)
    node.set_keys("alice", (BOB.public.legacy_text, 1))
    assert await auth.authenticate(signed(BOB, 2)) is not None
    with pytest.raises(UnauthenticatedError):
        await auth.authenticate(signed(ALICE, 3))
    # However many try: the chain is asked once in ten seconds.
    for number in range(4, 30):
        with pytest.raises(UnauthenticatedError):
            await auth.authenticate(signed(ALICE, number))
    assert node.asked["/v1/chain/get_account", "alice"] == 2
    await auth.flush()


async def test_a_chain_that_is_down_lets_nobody_in(
    node: ChainDouble, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FakeClock()
    auth = at(node, clock)
    node.failures = [503] * 3
    headers = sign_request(ALICE, "alice", clock.now_ms() // 1000, BODY)
    with pytest.raises(UnavailableError, match="the chain cannot be asked now") as caught:
        await auth.authenticate(showing(headers))
    # With a cause the door would count it as a guess.
    assert caught.value.__cause__ is None
    assert "HTTP status 503" in caplog.text
    await auth.flush()


async def test_a_bad_signature_stays_one_while_the_chain_is_down(node: ChainDouble) -> None:
    clock = FakeClock()
    auth = at(node, clock)
    now = clock.now_ms() // 1000
    assert await auth.authenticate(showing(sign_request(ALICE, "alice", now, BODY))) is not None
    clock.advance(20)
    node.failures = [503] * 9
    with pytest.raises(UnauthenticatedError, match="does not match"):
        await auth.authenticate(showing(sign_request(BOB, "alice", now + 20, BODY)))
    await auth.flush()


async def test_trust_that_cannot_be_told_lets_nobody_in(node: ChainDouble) -> None:
    clock = FakeClock()
    auth = at(node, clock, trust=TrustPolicy(require_agent=True))
    headers = sign_request(ALICE, "alice", clock.now_ms() // 1000, BODY)
    with pytest.raises(UnavailableError, match="the chain cannot be asked now"):
        await auth.authenticate(showing(headers))
    await auth.flush()


# --- what it is made of ---------------------------------------------------------------------------


def test_it_can_be_made_of_the_environment(node: ChainDouble) -> None:
    settings = load_xpr_settings(
        {"XPR_RPC_ENDPOINT": node.url, "XPR_ACCOUNT": "carol", "A2A_AUTH_REQUIRED": "false"}
    )
    auth = XprAuth.from_settings(settings)
    assert auth.is_optional
    assert auth.name == "xpr"
    with pytest.raises(UsageError, match="no RPC endpoint"):
        XprAuth.from_settings(load_xpr_settings({}))


def test_what_cannot_be_meant_is_refused() -> None:
    for options, finding in (
        ({"target": "Carol"}, "no account"),
        ({"target_binding": "required"}, "needs a target"),
        ({"rate_limit": 0}, "nobody"),
        ({"owner_prefix": ""}, "mistaken"),
    ):
        with pytest.raises(UsageError, match=finding):
            Desk(None, **options)


def test_what_the_card_says() -> None:
    scheme = Desk().auth.scheme.http_auth_security_scheme
    assert scheme is not None
    assert scheme.scheme == "XPR"
    assert "X-XPR-Signature" in scheme.description
    assert Desk().auth.challenge == 'XPR realm="a2a"'
