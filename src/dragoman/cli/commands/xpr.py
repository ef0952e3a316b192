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
from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.xpr_access import CHAIN_OPTIONS, access_of
from dragoman.cli.errors import FAILURE
from dragoman.cli.options import values
from dragoman.cli.options.options import CONTEXT_ID, TASK_ID, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.session import run_async
from dragoman.cli.views.labels import Lines
from dragoman.model.base import JsonObject

__all__ = ("CANCEL", "DELEGATE", "DISCOVER", "GET_TASK", "SEND")

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


def _run(invocation: Invocation, use: Callable[[XprTools], Awaitable[JsonObject]]) -> int:
    access = access_of(invocation)
    results: list[JsonObject] = []

    async def work() -> None:
        async with access.tools() as tools:
            results.append(await use(tools))

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
    parser.add_options(CHAIN_OPTIONS)


def _declare_send(parser: Parser) -> None:
    parser.add_argument("account", metavar="ACCOUNT", help="account of the agent to call")
    parser.add_argument("text", metavar="TEXT", help="what to say")
    parser.add_options((_JOB, *CHAIN_OPTIONS))


def _declare_task(parser: Parser) -> None:
    parser.add_argument("account", metavar="ACCOUNT", help="account of the agent to call")
    parser.add_argument("task", metavar="TASK_ID", help="id of the task")
    parser.add_options(CHAIN_OPTIONS)


def _declare_delegate(parser: Parser) -> None:
    parser.add_argument("account", metavar="ACCOUNT", help="account of the agent to do the job")
    parser.add_argument("job", metavar="JOB_ID", type=int, help="number of the job in escrow")
    parser.add_argument("instructions", metavar="INSTRUCTIONS", help="what the agent is to do")
    parser.add_options((_YES, *CHAIN_OPTIONS))


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
