"""dragoman xpr discover, send, get-task, cancel and delegate: agents by their account on the chain.

These are the five tools of the network's own plugin, for people and for scripts. Requests are
signed if ``XPR_ACCOUNT`` and ``XPR_PRIVATE_KEY`` are set; the key is never an argument.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import msgspec

from dragoman.adapters.xpr_tools import XprTools
from dragoman.cli import values
from dragoman.cli.commands import Body, Invocation
from dragoman.cli.errors import FAILURE
from dragoman.cli.labels import Lines
from dragoman.cli.options import CONTEXT_ID, TASK_ID, Option
from dragoman.cli.parser import Parser
from dragoman.cli.session import run_async
from dragoman.egress import EgressPolicy
from dragoman.errors import UsageError
from dragoman.extensions.xpr import Chain, XprSettings, XprSigner, load_xpr_settings
from dragoman.model.base import JsonObject

__all__ = ("CANCEL", "DELEGATE", "DISCOVER", "GET_TASK", "SEND")

_RPC: Final = Option[tuple[str, ...]](
    name="rpc",
    metavar="URL",
    split=values.split_list,
    default=(),
    shown="XPR_RPC_ENDPOINT, or a node of XPR_NETWORK",
    is_configurable=False,
    help="node of the chain to ask; may be repeated",
)
_ALLOW: Final = Option[tuple[str, ...]](
    name="allow",
    metavar="HOST",
    split=values.split_list,
    default=(),
    shown="public addresses, at the usual ports",
    is_configurable=False,
    help="endpoint to call though it is on an inner network or has a port of its own, such as "
    "10.0.0.7:8080; may be repeated",
)
_ALLOW_HTTP: Final = Option[bool](
    name="allow-http",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="call endpoints without TLS, too",
)
_JOB: Final = Option[int | None](
    name="job",
    metavar="NUMBER",
    read=int,
    default=None,
    is_configurable=False,
    help="job in escrow that the message is about",
)
_YES: Final = Option[bool](
    name="yes",
    short="-y",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="delegate the job, instead of showing what would be done",
)
_SHARED: Final = (_RPC, _ALLOW, _ALLOW_HTTP)


# --- the tools ------------------------------------------------------------------------------------


def _settings(invocation: Invocation) -> XprSettings:
    found = load_xpr_settings(invocation.surroundings.environment)
    invocation.output.hide(found.private_key)
    return found


def _signer(settings: XprSettings) -> XprSigner | None:
    if not settings.private_key:
        return None
    if not settings.account:
        raise UsageError("XPR_PRIVATE_KEY is set and XPR_ACCOUNT is not: whose key is it?")
    return XprSigner(settings.account, settings.private_key)


def _run(invocation: Invocation, use: Callable[[XprTools], Awaitable[JsonObject]]) -> int:
    settings = _settings(invocation)
    endpoints = invocation.settings[_RPC] or settings.endpoints
    if not endpoints:
        raise UsageError(
            "no node of the chain is named: give --rpc, or set XPR_RPC_ENDPOINT or XPR_NETWORK"
        )
    signer = _signer(settings)
    is_plain = invocation.settings[_ALLOW_HTTP]
    policy = EgressPolicy.of(*invocation.settings[_ALLOW], allow_http=is_plain)
    results: list[JsonObject] = []

    async def work() -> None:
        chain = Chain(*endpoints, permission=settings.permission, allow_http=is_plain)
        try:
            results.append(await use(XprTools(chain, signer, policy=policy)))
        finally:
            await chain.aclose()

    run_async(invocation, work)
    (result,) = results
    invocation.output.show(msgspec.json.encode(result), partial(_lines, result))
    return FAILURE if result.get("needs_confirmation") else 0


def _lines(result: JsonObject) -> Lines:
    """Show what is at the top, and the rest as the JSON that it is."""
    lines = Lines()
    for name, value in result.items():
        shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        lines.field(name, shown)
    return lines


# --- the commands ---------------------------------------------------------------------------------


def _declare(parser: Parser) -> None:
    parser.add_argument("account", metavar="ACCOUNT", help="account of the agent to call")
    parser.add_options(_SHARED)


def _declare_send(parser: Parser) -> None:
    parser.add_argument("account", metavar="ACCOUNT", help="account of the agent to call")
    parser.add_argument("text", metavar="TEXT", help="what to say")
    parser.add_options((_JOB, *_SHARED))


def _declare_task(parser: Parser) -> None:
    parser.add_argument("account", metavar="ACCOUNT", help="account of the agent to call")
    parser.add_argument("task", metavar="TASK_ID", help="id of the task")
    parser.add_options(_SHARED)


def _declare_delegate(parser: Parser) -> None:
    parser.add_argument("account", metavar="ACCOUNT", help="account of the agent to do the job")
    parser.add_argument("job", metavar="JOB_ID", type=int, help="number of the job in escrow")
    parser.add_argument("instructions", metavar="INSTRUCTIONS", help="what the agent is to do")
    parser.add_options((_YES, *_SHARED))


def _discover(invocation: Invocation) -> int:
    return _run(invocation, lambda tools: tools.discover(invocation.arguments.account))


def _send(invocation: Invocation) -> int:
    told, settings = invocation.arguments, invocation.settings
    return _run(
        invocation,
        lambda tools: tools.send_message(
            told.account,
            told.text,
            task_id=settings[TASK_ID] or "",
            context_id=settings[CONTEXT_ID] or "",
            job_id=settings[_JOB],
        ),
    )


def _get_task(invocation: Invocation) -> int:
    told = invocation.arguments
    return _run(invocation, lambda tools: tools.get_task(told.account, told.task))


def _cancel(invocation: Invocation) -> int:
    told = invocation.arguments
    return _run(invocation, lambda tools: tools.cancel_task(told.account, told.task))


def _delegate(invocation: Invocation) -> int:
    told = invocation.arguments
    is_confirmed = invocation.settings[_YES]
    code = _run(
        invocation,
        lambda tools: tools.delegate_job(
            told.account, told.job, told.instructions, confirmed=is_confirmed
        ),
    )
    if code == FAILURE:
        invocation.output.note("Nothing was sent. Say --yes to delegate the job.")
    return code


DISCOVER: Final = Body(run=_discover, declare=_declare)
SEND: Final = Body(run=_send, declare=_declare_send)
GET_TASK: Final = Body(run=_get_task, declare=_declare_task)
CANCEL: Final = Body(run=_cancel, declare=_declare_task)
DELEGATE: Final = Body(run=_delegate, declare=_declare_delegate)
