"""A chat as a test has it: an agent on a real socket, and a keyboard that types what it is told."""

from __future__ import annotations

import argparse
import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from dragoman import Agent, Context, File, Message, Reply
from dragoman.cli.chat.app import Chat
from dragoman.cli.chat.view import View, console_on
from dragoman.cli.command import Invocation
from dragoman.cli.options.options import AGENT_CARD, Option
from dragoman.cli.options.settings import Given, read_settings
from dragoman.cli.output import Output
from dragoman.cli.session.progress import Progress
from dragoman.cli.session.session import opened
from dragoman.cli.session.target import target_of
from dragoman.cli.surroundings import Surroundings
from tests.support.serving import serving

__all__ = ("Desk", "Line", "Typed", "chatting", "names_in", "until")

Line = str | type[BaseException]

agent = Agent("Talker", "Talks.")


@agent.skill
async def echo(text: str) -> str:
    """Repeat."""
    return f"echo {text}"


@agent.skill
async def ids(ctx: Context) -> dict[str, str]:
    """Tell where a message has come to, and what it says of that."""
    return {"context": ctx.context_id, "task": ctx.task_id, "said": ctx.message.context_id}


@agent.skill
async def ask(ctx: Context) -> str:
    """Ask a question."""
    return f"you said [{await ctx.ask('Which city?')}]"


@agent.skill
async def unlock(ctx: Context) -> str:
    """Ask for a secret."""
    return f"{len(await ctx.ask('Your key?', sensitive=True))} characters"


@dataclass
class Trip:
    city: str
    days: int = 3


@agent.skill
async def plan(ctx: Context) -> str:
    """Ask with a form."""
    trip = await ctx.ask("What trip?", Trip)
    return f"{trip.days} days in {trip.city}"


@agent.skill
async def consent(ctx: Context) -> str:
    """Ask for an authorization."""
    await ctx.require_auth("Sign in.", details={"url": "https://id.example/"})
    return "thanks"


@agent.skill
async def forever(ctx: Context) -> AsyncIterator[str]:
    """Work without an end."""
    await ctx.say("beginning")
    yield "one "
    await asyncio.sleep(3600)
    yield "two"


@agent.skill
async def reply(text: str) -> Reply:
    """Answer without a task."""
    return Reply(f"heard {text}")


@agent.skill
async def give() -> File:
    """Give a file."""
    return File(b"a,b", name="../table.csv", media_type="text/csv")


@agent.skill
async def measure(file: File) -> str:
    """Take a file."""
    return f"{file.name} has {len(file.content or b'')} bytes"


_SKILLS: dict[str, Callable[..., object]] = {
    skill.__name__: skill
    for skill in (echo, ids, ask, unlock, plan, consent, forever, reply, give, measure)
}


@agent.route
def choose(message: Message) -> Callable[..., object]:
    """Go by the first word; a file is measured."""
    first = (message.parts[0].text or "").partition(" ")[0]
    is_file = message.parts[0].raw is not None
    return measure if is_file else _SKILLS.get(first, echo)


class Typed:
    """A keyboard: what is typed line by line, a press being the exception it raises.

    After the last line nothing more comes.
    """

    def __init__(self, *lines: Line) -> None:
        self._lines = list(lines)
        self.prompts: list[str] = []

    def read(self, prompt: str, *, is_kept: bool = False) -> str:
        """Return the next line."""
        del is_kept
        self.prompts.append(prompt)
        line = self._lines.pop(0) if self._lines else EOFError
        if isinstance(line, str):
            return line
        raise line

    def read_secret(self, prompt: str) -> str:
        """Return the next line."""
        return self.read(f"secret {prompt}")


class Desk:
    """A chat, its keyboard, and what was written so far."""

    def __init__(self, chat: Chat, keyboard: Typed, stdout: io.BytesIO, stderr: io.BytesIO) -> None:
        self.chat = chat
        self.keyboard = keyboard
        self._stdout = stdout
        self._stderr = stderr

    @property
    def shown(self) -> str:
        """What the terminal shows."""
        return self._stdout.getvalue().decode()

    @property
    def errors(self) -> str:
        """What was said on standard error."""
        return self._stderr.getvalue().decode()


@asynccontextmanager
async def chatting(
    folder: Path,
    *lines: Line,
    url: str | None = None,
    options: Iterable[tuple[Option[object], str]] = (),
) -> AsyncGenerator[Desk]:
    """Open a chat with the agent above, or with that at a URL; nothing is typed yet."""
    async with _served(url) as address:
        stdout, stderr = io.BytesIO(), io.BytesIO()
        surroundings = Surroundings(
            environment={},
            folder=folder,
            settings_folder=folder / "config",
            stdin=io.BytesIO(),
            stdout=stdout,
            stderr=stderr,
        )
        given = [Given(option, text, f"--{option.name}") for option, text in options]
        settings = read_settings([Given(AGENT_CARD, address, "-a"), *given], surroundings)
        invocation = Invocation(
            arguments=argparse.Namespace(),
            settings=settings,
            output=Output(stdout, stderr),
            surroundings=surroundings,
            progress=Progress(settings),
            parsers={},
        )
        keyboard = Typed(*lines)
        with console_on(stdout, {}) as console:
            async with opened(invocation, target_of(settings, folder)) as session:
                chat = Chat(invocation, session, View(console), keyboard)
                yield Desk(chat, keyboard, stdout, stderr)


@asynccontextmanager
async def _served(url: str | None) -> AsyncGenerator[str]:
    if url is not None:
        yield url
        return
    async with serving(agent) as served:
        yield served.url


def names_in(folder: Path) -> list[str]:
    """Return what is in a folder, and in the folders in it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the condition is no event
            await asyncio.sleep(0.01)
