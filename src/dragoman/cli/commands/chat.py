"""dragoman chat: talk to an agent on a terminal, turn by turn.

In a pipe there is nobody to talk to: with a text it is a send, without one a mistake.
"""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec.structs import replace

from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.send import SEND
from dragoman.cli.options.options import A2A_VERSION, ASYNC
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.session import opened, warn_of_secrets
from dragoman.cli.session.target import target_of
from dragoman.errors import UsageError

__all__ = ("CHAT",)


def _declare(parser: Parser) -> None:
    parser.add_argument("text", nargs="?", default=None, help="first message")


def _run(invocation: Invocation) -> int:
    surroundings, text = invocation.surroundings, invocation.arguments.text
    if text == "-":
        raise UsageError("chat takes no message from standard input: dragoman send - does")
    if not (surroundings.stdin.isatty() and surroundings.stdout.isatty()):
        # A2ACLI_OUT_005: an interactive mode degrades; it never waits for input that nobody types.
        if text is None:
            raise UsageError("chat needs a terminal; with a text it sends that once, as send does")
        return SEND.run(invocation)
    if invocation.output.is_json:
        raise UsageError("chat shows text: leave out -o, say -o text, or use dragoman send")
    if invocation.settings.is_given(ASYNC):
        raise UsageError(f"chat waits for the agent: leave out --{ASYNC.name}")
    warn_of_secrets(invocation)
    asyncio.run(_chat(invocation))
    return 0


async def _chat(invocation: Invocation) -> None:
    # Only now: it brings rich, which a pipe has no use for.
    from dragoman.cli.chat.app import Chat  # noqa: PLC0415 - see above
    from dragoman.cli.chat.view import View, console_on  # noqa: PLC0415 - see above

    settings, surroundings = invocation.settings, invocation.surroundings
    # A person sees what is spoken, so there is no floor: any version that both speak will do.
    target = replace(target_of(settings, surroundings.folder), version=settings[A2A_VERSION])
    with console_on(surroundings.stdout, surroundings.environment) as console:
        async with opened(invocation, target) as session:
            await Chat(invocation, session, View(console)).run(invocation.arguments.text)


CHAT: Final = Body(run=_run, declare=_declare)
