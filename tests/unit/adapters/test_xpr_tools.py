"""The five tools against a real agent that knows its callers by their signatures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import pytest

from dragoman import Agent, Context
from dragoman.adapters.xpr_tools import JobNotFoundError, XprTools
from dragoman.client.errors import TimedOutError
from dragoman.egress import DestinationRefusedError, EgressPolicy
from dragoman.errors import TaskNotCancelableError, TaskNotFoundError, UsageError
from dragoman.extensions.xpr import (
    AgentNotFoundError,
    WrongCardError,
    XprAuth,
    XprPresence,
    XprSigner,
)
from dragoman.extensions.xpr.chain.rows import AgentRow, JobRow
from dragoman.testing.chain import FakeChain
from tests.scenarios.xpr import ALICE
from tests.support.serving import serving

HERE = EgressPolicy.of("127.0.0.1:*", allow_http=True)
JOB = JobRow(
    id=42,
    title="Survey\n# of boats",
    description="Count them.",
    deliverables='["report"]',
    amount=50_000_000,
    symbol="4,XPR",
    deadline=1_800_000_000,
)


class Harbour:
    """A chain, an agent on it, and what the agent was told."""

    def __init__(self) -> None:
        self.chain = FakeChain({"alice": ALICE.public.text})
        self.chain.post(JOB)
        self.heard: list[tuple[str, dict[str, object]]] = []
        self.agent = Agent(
            "Pilot",
            "Pilots ships.",
            # What is signed for another agent is refused, and what is for nobody.
            auth=[XprAuth(self.chain, target="pilot", target_binding="required")],
            presence=XprPresence(self.chain, "pilot"),
        )

        @self.agent.skill
        async def pilot(text: str, ctx: Context) -> str:
            """Pilot a ship."""
            self.heard.append((text, dict(ctx.metadata)))
            if text == "ask":
                return await ctx.ask("where to?")
            return f"{ctx.user}: aye"

    def moor(self, url: str) -> None:
        self.chain.register(
            AgentRow(account="pilot", owner="alice", endpoint=url, active=True), kyc=2, score=61
        )

    def tools(self, *, confirms_delegation: bool = True, timeout_seconds: float = 30.0) -> XprTools:
        return XprTools(
            self.chain,
            XprSigner("alice", ALICE),
            policy=HERE,
            confirms_delegation=confirms_delegation,
            timeout_seconds=timeout_seconds,
        )


@pytest.fixture
async def harbour() -> AsyncIterator[Harbour]:
    harbour = Harbour()
    async with serving(harbour.agent) as place:
        harbour.moor(f"{place.url}/")
        yield harbour


async def test_an_agent_is_found_by_its_account(harbour: Harbour) -> None:
    card = await harbour.tools().discover("pilot")
    assert (card["name"], card["xpr:account"]) == ("Pilot", "pilot")
    assert (card["xpr:trustScore"], card["xpr:kycLevel"]) == (61, 2)


async def test_a_message_is_sent_and_its_task_looked_at(harbour: Harbour) -> None:
    tools = harbour.tools()
    task = await tools.send_message("pilot", "ahoy", context_id="c-1", job_id=0)
    assert (task["contextId"], task["status"]) == ("c-1", {**_status(task), "state": "completed"})
    assert task["artifacts"] == [
        {"parts": [{"type": "text", "text": "xpr:alice: aye"}], "index": 0}
    ]
    ((said, metadata),) = harbour.heard
    assert said == "ahoy"
    assert metadata["xpr:jobId"] == 0
    again = await tools.get_task("pilot", str(task["id"]))
    assert (again["id"], again["status"]) == (task["id"], task["status"])
    with pytest.raises(TaskNotCancelableError):
        await tools.cancel_task("pilot", str(task["id"]))


async def test_a_task_that_waits_can_be_canceled(harbour: Harbour) -> None:
    tools = harbour.tools()
    task = await tools.send_message("pilot", "ask")
    assert _status(task)["state"] == "input-required"
    assert _status(await tools.cancel_task("pilot", str(task["id"])))["state"] == "canceled"
    with pytest.raises(TaskNotFoundError):
        await tools.get_task("pilot", "none")


def _status(task: dict[str, object]) -> dict[str, object]:
    status = task["status"]
    assert isinstance(status, dict)
    return cast("dict[str, object]", status)


# --- delegation -----------------------------------------------------------------------------------


async def test_a_job_is_delegated_when_that_is_confirmed(harbour: Harbour) -> None:
    asked = await harbour.tools().delegate_job("pilot", 42, "Count twice. " * 20)
    assert asked["needs_confirmation"] is True
    assert asked["details"] == {
        "target_agent": "pilot",
        "job_id": 42,
        "instructions": ("Count twice. " * 20)[:100] + "...",
    }
    assert harbour.heard == []
    task = await harbour.tools().delegate_job("pilot", 42, "Count twice.", confirmed=True)
    assert _status(task)["state"] == "completed"
    ((said, metadata),) = harbour.heard
    assert metadata["xpr:jobId"] == 42
    assert said.splitlines()[0] == "## Delegated job: Survey # of boats"
    assert "- **Amount:** 5000.0000 XPR" in said
    assert said.endswith("## Instructions\n\nCount twice.")


async def test_a_program_of_its_own_needs_no_confirmation(harbour: Harbour) -> None:
    await harbour.tools(confirms_delegation=False).delegate_job("pilot", 42, "Count.")
    assert len(harbour.heard) == 1


async def test_a_job_that_there_is_not_cannot_be_delegated(harbour: Harbour) -> None:
    with pytest.raises(JobNotFoundError, match="Job #7 not found"):
        await harbour.tools().delegate_job("pilot", 7, "Count.", confirmed=True)
    assert harbour.heard == []


# --- what is refused ------------------------------------------------------------------------------


async def test_whom_the_chain_does_not_know_is_not_called(harbour: Harbour) -> None:
    chain, tools = harbour.chain, harbour.tools()
    chain.register(AgentRow(account="idle", endpoint="https://a.example"))
    chain.register(AgentRow(account="silent", active=True))
    for account, words in {
        "ghost": "Agent 'ghost' not found on-chain",
        "idle": "Agent 'idle' is not active",
        "silent": "Agent 'silent' has no endpoint configured",
    }.items():
        with pytest.raises(AgentNotFoundError) as caught:
            await tools.send_message(account, "ahoy")
        assert str(caught.value) == words


async def test_an_endpoint_with_the_card_of_another_is_not_called(harbour: Harbour) -> None:
    found = await harbour.chain.agent("pilot")
    assert found is not None
    harbour.chain.register(AgentRow(account="pirate", endpoint=found.endpoint, active=True))
    for use in (harbour.tools().discover("pirate"), harbour.tools().send_message("pirate", "x")):
        with pytest.raises(WrongCardError, match="the card of 'pilot'"):
            await use
    assert harbour.heard == []


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:80", "https://127.0.0.1", "https://10.0.0.1", "https://[::1]"]
)
async def test_what_is_inside_is_not_called_unless_it_is_allowed(
    harbour: Harbour, endpoint: str
) -> None:
    harbour.chain.register(AgentRow(account="inner", endpoint=endpoint, active=True))
    tools = XprTools(harbour.chain, XprSigner("alice", ALICE))
    for use in (
        tools.discover("inner"),
        tools.send_message("inner", "x"),
        tools.delegate_job("inner", 42, "x", confirmed=True),
    ):
        with pytest.raises(DestinationRefusedError):
            await use


async def test_nobody_waits_for_ever(harbour: Harbour) -> None:
    with pytest.raises(TimedOutError, match="'pilot' did not answer in time"):
        await harbour.tools(timeout_seconds=0.0).send_message("pilot", "ahoy")


# --- by their names -------------------------------------------------------------------------------


async def test_a_model_calls_them_by_name(harbour: Harbour) -> None:
    tools = harbour.tools()
    assert (await tools.call("xpr_a2a_discover", {"account": "pilot"}))["xpr:account"] == "pilot"
    asked = {"account": "pilot", "text": "ask"}
    task = await tools.call("xpr_a2a_send_message", asked)
    named = {"account": "pilot", "task_id": task["id"]}
    assert (await tools.call("xpr_a2a_get_task", named))["id"] == task["id"]
    assert _status(await tools.call("xpr_a2a_cancel_task", named))["state"] == "canceled"
    job = {"account": "pilot", "job_id": 42, "instructions": "Count."}
    for confirmed in (None, False, "true", 1):
        asked = {**job, "confirmed": confirmed}
        assert (await tools.call("xpr_a2a_delegate_job", asked))["needs_confirmation"] is True
    done = await tools.call("xpr_a2a_delegate_job", {**job, "confirmed": True})
    assert _status(done)["state"] == "completed"


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("xpr_a2a_discover", {}, "account is required"),
        ("xpr_a2a_discover", {"account": "Pilot!"}, "a-z, 1-5"),
        ("xpr_a2a_discover", {"account": "abcdefabcdefa"}, "12 characters"),
        ("xpr_a2a_discover", {"account": "pilot", "url": "x"}, "has no argument 'url'"),
        ("xpr_a2a_discover", {"account": 7}, "account must be a text"),
        ("xpr_a2a_send_message", {"account": "pilot"}, "text is required"),
        ("xpr_a2a_get_task", {"account": "pilot"}, "task_id is required"),
        ("xpr_a2a_cancel_task", {"account": "pilot"}, "task_id is required"),
        (
            "xpr_a2a_delegate_job",
            {"account": "pilot", "instructions": "x"},
            "job_id is required and must be a number",
        ),
        (
            "xpr_a2a_delegate_job",
            {"account": "pilot", "instructions": "x", "job_id": "42"},
            "job_id is required and must be a number",
        ),
        ("xpr_a2a_delegate_job", {"account": "pilot", "job_id": 42}, "instructions is required"),
        ("xpr_a2a_dance", {"account": "pilot"}, "Unknown tool: xpr_a2a_dance"),
    ],
)
async def test_arguments_that_are_none_are_refused(
    name: str, arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        await XprTools(FakeChain()).call(name, arguments)


async def test_who_may_only_look_has_two_of_them() -> None:
    tools = XprTools(FakeChain(), tool_mode="readonly")
    assert [tool.name for tool in tools.tools] == ["xpr_a2a_discover", "xpr_a2a_get_task"]
    with pytest.raises(UsageError, match="Unknown tool"):
        await tools.call("xpr_a2a_send_message", {"account": "pilot", "text": "x"})
