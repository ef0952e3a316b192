"""Every exchange that was recorded at the network's own server, replayed at ours.

Its agent says other things than ours, so of its tasks the shape is compared. Where ours answers
otherwise on purpose, the row says why.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import pytest
from msgspec import Struct

from dragoman import Agent, Context
from dragoman.extensions.xpr import Chain, XprAuth
from dragoman.extensions.xpr.signing import sign_request
from dragoman.model.messages import Message, text_of
from tests.scenarios.xpr import ALICE, BOB, R1, Answer, XprCaller, now, populate, said, twin_of
from tests.support.chain_double import ANYONE, VECTORS, serving_chain
from tests.support.serving import serving

RECORDED: Final[dict[str, Any]] = {one["case"]: one for one in VECTORS["server_exchanges"]}
KEYS: Final = {"alice": ALICE, "bob": BOB, "webby": R1, "carol.x": ALICE, "multi": ALICE}
DATA: Final = {"message": {"role": "user", "parts": [{"type": "data", "data": {"a": 1}}]}}
KIND: Final = {"message": {"role": "user", "parts": [{"kind": "text", "text": "hi"}]}}

REFUSED, NOT_FOUND = -32000, -32001


class Row(Struct, frozen=True, kw_only=True):
    """One exchange.

    Attributes:
        body: instead of an envelope around method and params.
        envelope: other members of it; None leaves one out.
        account: who signs; "" is nobody.
        headers: what is shown instead of what was signed.
        late_seconds: how long ago it was signed.
        signed_body: what was signed in place of the body.
        code: what ours answers where it departs from the recorded answer; 0 is a task.
        why: the reason for that.
    """

    method: str = "message/send"
    params: object = None
    body: bytes | None = None
    envelope: dict[str, object] = {}
    account: str = "alice"
    signer: str = ""
    headers: dict[str, str] = {}
    late_seconds: int = 0
    signed_body: bytes | None = None
    label: str | None = "application/json"
    is_twin: bool = False
    code: int | None = None
    why: str = ""


GET: Final[dict[str, Any]] = {"method": "tasks/get"}
CANCEL: Final[dict[str, Any]] = {"method": "tasks/cancel"}
HI: Final[dict[str, Any]] = {"params": said("hi")}


ROWS: Final[dict[str, Row]] = {
    "no auth headers": Row(**HI, account=""),
    "no auth, bad rpc (order)": Row(**HI, account="", envelope={"jsonrpc": "1.0", "id": 9}),
    "no auth, unknown method (order)": Row(method="dance", account=""),
    "malformed json": Row(body=b"{", code=-32700, why="JSON, where theirs is an HTML page"),
    "empty body": Row(body=b""),
    "no content-type": Row(
        **GET, params={"id": "q"}, label=None, code=NOT_FOUND, why="nothing says it is not JSON"
    ),
    "text/plain": Row(**HI, label="text/plain"),
    "json array batch": Row(body=b"[]"),
    "json scalar": Row(body=b"7", code=-32600, why="JSON, where theirs is an HTML page"),
    "id missing": Row(
        **GET, params={"id": "q"}, envelope={"id": None}, code=NOT_FOUND, why="an answer has an id"
    ),
    "id null": Row(**GET, params={"id": "q"}, body=b"null-id"),
    "missing signature only": Row(**HI, headers={"X-XPR-Signature": ""}),
    "timestamp abc": Row(**HI, headers={"X-XPR-Timestamp": "abc"}),
    "timestamp stale": Row(**HI, late_seconds=400),
    "timestamp future": Row(**HI, late_seconds=-400),
    "timestamp decimals": Row(
        **HI, headers={"X-XPR-Timestamp": "1.5"}, code=REFUSED, why="digits alone are a time"
    ),
    "bad sig string": Row(**HI, headers={"X-XPR-Signature": "SIG_K1_nonsense"}),
    "bad sig prefix": Row(**HI, headers={"X-XPR-Signature": "nonsense"}),
    "wrong body": Row(**HI, signed_body=b"{}"),
    "wrong key": Row(**HI, signer="bob"),
    "unknown account": Row(
        **HI, account="nonexistacct", signer="bob", code=REFUSED, why="without a node's insides"
    ),
    "invalid account name": Row(
        **HI, account="Not.Valid!", signer="bob", code=REFUSED, why="no node is asked"
    ),
    "account w/o keys": Row(**HI, account="linked", signer="bob"),
    "multi threshold2 one key": Row(
        **HI, account="multi", code=REFUSED, why="the key is not enough by itself"
    ),
    "R1 key": Row(**HI, account="webby"),
    "ok message/send": Row(
        params={
            **said("hello"),
            "contextId": "ctx-9",
            "metadata": {"xpr:jobId": 42, "k": 1},
        }
    ),
    "ok no text parts": Row(params=DATA, envelope={"id": "s"}),
    "kind parts instead of type": Row(params=KIND, envelope={"id": "s"}),
    "no message": Row(params={}),
    "message no parts": Row(params={"message": {"role": "user"}}),
    "unknown method": Row(method="message/stream", **HI),
    "tasks/get no id": Row(**GET, params={}),
    "tasks/get none": Row(**GET, params={"id": "zzz"}),
    "tasks/get other owner": Row(**GET, params={"id": "task-1"}, account="bob"),
    "tasks/get ok": Row(**GET, params={"id": "task-1"}),
    "tasks/cancel other owner": Row(**CANCEL, params={"id": "task-1"}, account="bob"),
    "tasks/cancel completed": Row(**CANCEL, params={"id": "task-1"}),
    "tasks/cancel no id": Row(**CANCEL, params={}),
    "hijack id": Row(
        params={**said("x"), "id": "task-1"},
        account="bob",
        code=0,
        why="an id of another account is as unknown as any",
    ),
    "custom id": Row(params={**said("x"), "id": "my-task"}, account="bob"),
    "custom id reuse same owner": Row(params={**said("again"), "id": "boom-1"}, account="bob"),
    "agent throws": Row(
        params={**said("boom"), "id": "b"}, code=0, why="the task has failed, and says no more"
    ),
    "task after throw": Row(**GET, params={"id": "boom-1"}, account="bob"),
    "cancel after throw": Row(
        **CANCEL, params={"id": "boom-1"}, account="bob", code=-32002, why="it has failed"
    ),
    "cancel again": Row(
        **CANCEL, params={"id": "boom-1"}, account="bob", code=-32002, why="it has ended"
    ),
    "high-S": Row(
        **GET, params={"id": "q"}, is_twin=True, code=REFUSED, why="a signature has one form"
    ),
    "replay same sig": Row(**GET, params={"id": "q"}),
    "replay same sig 2": Row(
        **GET, params={"id": "q"}, body=b"again", code=REFUSED, why="a request is good once"
    ),
    "rate 19": Row(**GET, params={"id": "q"}, account="carol.x"),
    "rate 20": Row(**GET, params={"id": "q"}, account="carol.x"),
    "big body": Row(params=said("x" * 20_000), why="JSON, where theirs is an HTML page"),
}


def test_every_recorded_exchange_is_replayed() -> None:
    assert set(ROWS) == set(RECORDED)
    for case, row in ROWS.items():
        assert row.why or row.code is None, case


@pytest.fixture
def chain() -> Iterator[str]:
    with serving_chain() as node:
        populate(node)
        node.set_keys("carol.x", (ALICE.public.legacy_text, 1))
        node.set_keys("linked")
        node.set_keys(
            "multi", (ALICE.public.legacy_text, 1), (BOB.public.legacy_text, 1), threshold=2
        )
        yield node.url


@pytest.fixture
async def caller(chain: str) -> AsyncIterator[XprCaller]:
    """Somebody who calls an agent with a task of alice's, and one of bob's that has failed."""
    agent = Agent(
        "Recorded", "Answers what was asked of another.", auth=[XprAuth(Chain(chain), trust=ANYONE)]
    )

    @agent.skill(input_modes=("text/plain", "application/json"))
    async def answer(message: Message, ctx: Context) -> str:
        """Answer."""
        text = text_of(message.parts)
        if text == "boom":
            raise RuntimeError("boom")
        return f"[A2A from {ctx.user}] {text}"

    async with serving(agent, max_body_bytes=10_000) as place, XprCaller(place) as caller:
        await caller.send("hi", id="task-1")
        await caller.send("boom", "bob", id="boom-1")
        yield caller


async def replayed(caller: XprCaller, row: Row, case: str) -> Answer:
    """Send what a row says."""
    body = row.body
    if body is None or body in (b"null-id", b"again"):
        envelope: dict[str, object] = {
            "jsonrpc": "2.0",
            "id": None if body == b"null-id" else 1,
            "method": row.method,
            "params": {} if row.params is None else row.params,
            **row.envelope,
        }
        if case == "id missing":
            del envelope["id"]
        sent = json.dumps(envelope).encode()
    else:
        sent = body
    signed: dict[str, str] = {}
    if row.account:
        key = KEYS[row.signer or row.account]
        subject = sent if row.signed_body is None else row.signed_body
        signed = sign_request(key, row.account, now() - row.late_seconds, subject)
    if row.is_twin:
        signed["X-XPR-Signature"] = twin_of(signed["X-XPR-Signature"])
    headers = {**signed, **row.headers}
    if body == b"again":
        await caller.post(sent, headers, row.label)
    return await caller.post(sent, headers, row.label)


@pytest.mark.parametrize("case", [case for case in ROWS if case not in ("rate 20", "big body")])
async def test_an_exchange_is_answered_as_it_was_recorded(caller: XprCaller, case: str) -> None:
    row, theirs = ROWS[case], RECORDED[case]["response"]
    answer = await replayed(caller, row, case)
    assert (answer.status, answer.content_type) == (200, "application/json")
    if row.code is not None:
        found = answer.body["error"]["code"] if "error" in answer.body else 0
        assert found == row.code
        assert answer.body["jsonrpc"] == "2.0"
        assert "id" in answer.body
    elif "error" in theirs:
        assert answer.body == theirs
    else:
        ours, expected = answer.result, theirs["result"]
        # What theirs leaks, what ours always tells, and what theirs left at work for ever.
        assert set(ours) | {"createdAt", "contextId"} >= set(expected)
        assert answer.body["id"] == theirs["id"]
        assert ours["owner"] == row.account
        if "artifacts" in expected:
            assert ours["status"].keys() == expected["status"].keys()
            assert ours["status"]["state"] == expected["status"]["state"]
            shapes = [
                (artifact["index"], [part["type"] for part in artifact["parts"]])
                for artifact in ours["artifacts"]
            ]
            assert shapes == [(0, ["text"])]
        else:
            assert ours["status"]["state"] == "failed"


async def test_an_account_calls_twenty_times_a_minute(caller: XprCaller) -> None:
    row = ROWS["rate 20"]
    answers = [
        await replayed(
            caller, Row(method="tasks/get", params={"id": str(n)}, account=row.account), ""
        )
        for n in range(21)
    ]
    assert {answer.error[0] for answer in answers[:20]} == {NOT_FOUND}
    error = RECORDED["rate 20"]["response"]["error"]
    assert answers[20].error == (error["code"], error["message"])


async def test_a_body_that_is_too_large_is_refused_in_json(caller: XprCaller) -> None:
    answer = await replayed(caller, ROWS["big body"], "big body")
    assert answer.status == RECORDED["big body"]["status"] == 413
    assert answer.content_type == "application/json"
