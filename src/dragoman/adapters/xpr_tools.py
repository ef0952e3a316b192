"""XprTools: the five tools by which agents of the XPR network call each other.

They have the names, arguments and results of the network's own plugin, as ``xpr_tool_table`` tells
them to models; ``XprTools.call`` carries one out by its name.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from dragoman.adapters.xpr_tool_table import TOOLS, Tool
from dragoman.client.agent import RemoteAgent
from dragoman.client.connect import connect
from dragoman.client.errors import CardInvalidError, CardNotFoundError, TimedOutError
from dragoman.client.results.reply import AgentReply
from dragoman.dialects.profiles.xpr.encode import Writer, task_of
from dragoman.dialects.profiles.xpr.members import CALLER, JOB
from dragoman.egress import Egress, EgressPolicy
from dragoman.errors import UsageError
from dragoman.extensions.xpr.chain.names import check_account
from dragoman.extensions.xpr.chain.rows import AgentRow, JobRow
from dragoman.extensions.xpr.delegation import confirmation_for, delegation_text
from dragoman.extensions.xpr.directory import XprDirectory
from dragoman.extensions.xpr.errors import MalformedError, XprError
from dragoman.extensions.xpr.settings import ToolMode
from dragoman.extensions.xpr.signer import XprSigner
from dragoman.model.base import JsonObject
from dragoman.model.tasks import Task

__all__ = ("AgentsAndJobs", "JobNotFoundError", "XprTools")

_CARD_PATH: Final = "/.well-known/agent.json"
_MOST_CARD_BYTES: Final = 1024 * 1024
_SECONDS: Final = 30.0
"""How long the network's own client waits."""

_WRITER: Final = Writer()


class JobNotFoundError(XprError):
    """There is no job of that number in escrow."""

    def __init__(self, job_id: int) -> None:
        """Name it."""
        super().__init__(f"Job #{job_id} not found")


class AgentsAndJobs(Protocol):
    """What is known of agents and jobs: a ``Chain``, or what stands for one in tests."""

    async def agent(self, account: str) -> AgentRow | None:
        """Return the agent that is registered for an account; raises ChainError."""
        ...

    async def job(self, job_id: int) -> JobRow | None:
        """Return a job in escrow; raises ChainError."""
        ...


class XprTools:
    """Calls agents by their account.

    All methods raise UsageError for arguments that are none, XprError where the chain knows no
    such agent or job, and what ``connect`` and the calls of its agents raise.
    """

    def __init__(
        self,
        chain: AgentsAndJobs,
        signer: XprSigner | None = None,
        *,
        account: str = "",
        tool_mode: ToolMode = "full",
        confirms_delegation: bool = True,
        policy: EgressPolicy | None = None,
        timeout_seconds: float | None = _SECONDS,
    ) -> None:
        """Take the chain, and what requests are signed with.

        Args:
            signer: None calls unsigned, which most agents refuse.
            account: the one that unsigned requests name; it is the signer's unless given.
            tool_mode: ``readonly`` keeps ``call`` from tools that do more than look.
            confirms_delegation: a job is delegated only when that was confirmed.
            policy: which endpoints may be called; public ones by https unless given.
            timeout_seconds: for one tool; None waits until the agent is done.
        """
        self._chain = chain
        self._signer = signer
        self._tool_mode = tool_mode
        self._confirms_delegation = confirms_delegation
        self._account = account or (signer.account if signer else "")
        self._directory = XprDirectory(chain, policy=policy)
        self._timeout_seconds = timeout_seconds

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that ``call`` has."""
        is_full = self._tool_mode == "full"
        return tuple(tool for tool in TOOLS.values() if is_full or tool.kind == "read")

    async def call(self, name: str, arguments: Mapping[str, object]) -> JsonObject:
        """Carry out a tool by its name, with arguments that a model has made up.

        Raises:
            UsageError: there is no such tool here, or an argument is wrong.
        """
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            raise UsageError(f"Unknown tool: {name[:100]}")
        unknown = sorted(set(arguments) - set(tool.arguments))
        if unknown:
            raise UsageError(f"{name} has no argument {unknown[0][:100]!r}")
        account = _text(arguments, "account")
        match name:
            case "xpr_a2a_discover":
                return await self.discover(account)
            case "xpr_a2a_send_message":
                return await self.send_message(
                    account,
                    _text(arguments, "text"),
                    task_id=_text(arguments, "task_id"),
                    context_id=_text(arguments, "context_id"),
                    job_id=_number(arguments),
                )
            case "xpr_a2a_get_task":
                return await self.get_task(account, _text(arguments, "task_id"))
            case "xpr_a2a_cancel_task":
                return await self.cancel_task(account, _text(arguments, "task_id"))
            case _:
                return await self.delegate_job(
                    account,
                    _number(arguments),
                    _text(arguments, "instructions"),
                    # Nothing but true is a yes.
                    confirmed=arguments.get("confirmed") is True,
                )

    # --- the five -------------------------------------------------------------------------------

    async def discover(self, account: str) -> JsonObject:
        """Look up an agent on the chain, and return its card as it is."""
        _check(account)
        url = await self._directory.find(account) + _CARD_PATH
        policy = replace(
            self._directory.policy,
            max_answer_bytes=_MOST_CARD_BYTES,
            total_seconds=self._timeout_seconds or _SECONDS,
        )
        async with Egress(policy) as egress:
            answer = await egress.ask("GET", url, headers={"Accept": "application/json"})
        if not 200 <= answer.status < 300:
            raise CardNotFoundError(((url, f"HTTP status {answer.status}"),))
        try:
            card = msgspec.json.decode(answer.body, type=dict[str, object])
        except (msgspec.DecodeError, RecursionError):
            raise CardInvalidError(url, "it is no JSON object of less than 1 MiB") from None
        self._directory.check(account, answer.body)
        return card

    async def send_message(
        self,
        account: str,
        text: str,
        *,
        task_id: str = "",
        context_id: str = "",
        job_id: int | None = None,
    ) -> JsonObject:
        """Send a message, wait for its task, and return that.

        Args:
            job_id: the job in escrow that it is about.
        """
        _check(account, text=text)
        about: JsonObject = {} if job_id is None else {JOB: job_id}
        async with self._connected(account) as agent:
            reply = await agent.send(
                text,
                task_id=task_id,
                context_id=context_id,
                request_metadata={**about, **self._caller()},
            )
        return _task(reply)

    async def get_task(self, account: str, task_id: str) -> JsonObject:
        """Return a task as it is now."""
        _check(account, task_id=task_id)
        async with self._connected(account) as agent:
            return _task(await agent.task(task_id).get())

    async def cancel_task(self, account: str, task_id: str) -> JsonObject:
        """Cancel a task and return it as it is then."""
        _check(account, task_id=task_id)
        async with self._connected(account) as agent:
            return _task(await agent.cancel(task_id))

    async def delegate_job(
        self, account: str, job_id: int | None, instructions: str, *, confirmed: bool = False
    ) -> JsonObject:
        """Tell another agent of a job and what to do; return its task.

        Without confirmation nothing is sent, and what is returned says what would be.
        """
        if job_id is None or isinstance(job_id, bool) or job_id < 0:
            raise UsageError("job_id is required and must be a number")
        _check(account, instructions=instructions)
        if self._confirms_delegation and not confirmed:
            return confirmation_for(account, job_id, instructions)
        job = await self._chain.job(job_id)
        if job is None:
            raise JobNotFoundError(job_id)
        return await self.send_message(account, delegation_text(job, instructions), job_id=job_id)

    # --- calling --------------------------------------------------------------------------------

    def _caller(self) -> JsonObject:
        return {CALLER: self._account} if self._account else {}

    @asynccontextmanager
    async def _connected(self, account: str) -> AsyncGenerator[RemoteAgent]:
        limit = asyncio.timeout(self._timeout_seconds)
        try:
            async with (
                limit,
                connect(f"xpr:{account}", directory=self._directory, auth=self._signer) as agent,
            ):
                yield agent
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimedOutError(f"Agent '{account}' did not answer in time") from None


def _task(reply: AgentReply) -> JsonObject:
    outcome = reply.outcome
    return _WRITER.task(outcome if isinstance(outcome, Task) else task_of(outcome))


def _check(account: str, **needed: str) -> None:
    if not account:
        raise UsageError("account is required")
    try:
        check_account(account)
    except MalformedError as error:
        raise UsageError(f"account: {error}") from None
    for name, value in needed.items():
        if not value:
            raise UsageError(f"{name} is required")


def _text(arguments: Mapping[str, object], name: str) -> str:
    value = arguments.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UsageError(f"{name} must be a text")
    return value


def _number(arguments: Mapping[str, object]) -> int | None:
    value = arguments.get("job_id")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError("job_id is required and must be a number")
    return value
