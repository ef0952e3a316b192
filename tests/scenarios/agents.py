"""The agent of the scenarios: one skill per kind of work, held up by gates the tests open."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

from dragoman import Agent, Artifact, Context, File, Message, Part, Rejected, Reply
from tests.support.wire import Json, message

__all__ = ("GATES", "SECRET", "Gate", "make_agent", "to")

SECRET = "the password is hunter2"  # noqa: S105 - no password: what an exception says by mistake

_names = count(1)


class Gate:
    """Where a skill waits for its test. The text of a message names the gate it is to use."""

    def __init__(self) -> None:
        self.name = f"gate-{next(_names)}"
        self._permits = asyncio.Semaphore(0)
        self._arrivals = asyncio.Semaphore(0)

    def open(self, times: int = 1) -> None:
        """Let the skill pass that often, now or whenever it comes."""
        for _ in range(times):
            self._permits.release()

    async def reached(self) -> None:
        """Wait until the skill has come to the gate (once more)."""
        await self._arrivals.acquire()

    async def pass_through(self) -> None:
        """Say that the skill is here, and wait for the test; called by the skill."""
        self._arrivals.release()
        await self._permits.acquire()


GATES: dict[str, Gate] = {}
"""The gates of the tests that run, by name."""


def to(skill: str, text: str = "hello", **members: object) -> Json:
    """Return a message for a skill."""
    return message(text, metadata={"skillId": skill}, **members)


def make_agent(**options: Any) -> Agent:
    """Return a new agent with all the skills; it takes text, JSON and images."""
    agent = Agent("Stage", "Does what a test needs.", **options)
    for add in (_add_results, _add_gated, _add_asking, _add_ending, _add_direct, _add_looking):
        add(agent)
    return agent


def _add_results(agent: Agent) -> None:
    """Skills that give something back."""

    @agent.skill
    async def echo(text: str) -> str:
        """Return the text."""
        return text

    @agent.skill
    async def data(text: str) -> dict[str, object]:
        """Return data."""
        return {"text": text, "length": len(text)}

    @agent.skill
    async def file(text: str) -> File:
        """Return a file."""
        return File(text.encode(), name="note.txt", media_type="text/plain")

    @agent.skill
    async def count_to(upto: int) -> list[int]:
        """Count; takes data, not text."""
        return list(range(1, upto + 1))

    @agent.skill(input_modes=["text/plain", "application/json", "image/*"])
    async def mirror(message: Message) -> Artifact:
        """Return the parts and the metadata as they came."""
        return Artifact(artifact_id="mirror", parts=message.parts, metadata=message.metadata)

    @agent.skill
    async def append_to_nothing(ctx: Context, text: str) -> None:
        """Append to an artifact that does not exist."""
        await ctx.artifact(text, artifact_id="nothing", append=True)


def _add_gated(agent: Agent) -> None:
    """Skills that wait for a test."""

    @agent.skill
    async def chunks(gate: str) -> AsyncIterator[str]:
        """Give three words, one for each time the gate opens."""
        for word in ("one ", "two ", "three"):
            await GATES[gate].pass_through()
            yield word

    @agent.skill(final="replace")
    async def whole(text: str) -> AsyncIterator[str]:
        """Give the words one by one, and all of them at the end."""
        for word in text.split():
            yield f"{word} "

    @agent.skill
    async def linger(gate: str) -> AsyncIterator[str]:
        """Give two words, and return when the gate opens."""
        yield "one "
        yield "two"
        await GATES[gate].pass_through()

    @agent.skill
    async def hold(ctx: Context, gate: str) -> str:
        """Say something, wait at the gate, return."""
        await ctx.say("holding")
        await GATES[gate].pass_through()
        return "held"

    @agent.skill
    async def silence(gate: str) -> None:
        """Wait at the gate and give nothing back."""
        await GATES[gate].pass_through()

    @agent.skill
    async def steps(ctx: Context, gate: str) -> str:
        """Show every kind of event: words, artifacts, chunks, replacement."""
        await ctx.say("first")
        draft = await ctx.artifact("draft", name="poem", artifact_id="poem")
        await GATES[gate].pass_through()
        await ctx.artifact("line 1", artifact_id=draft)
        await ctx.artifact({"n": 2}, artifact_id=draft, append=True)
        await ctx.artifact("line 3", artifact_id=draft, append=True, last_chunk=True)
        await GATES[gate].pass_through()
        await ctx.say("last")
        return "the end"


def _add_asking(agent: Agent) -> None:
    """Skills that wait for their client."""

    @agent.skill
    async def ask(ctx: Context, text: str) -> str:
        """Ask one question."""
        return f"{text}: {await ctx.ask('Which city?')}"

    @agent.skill
    async def ask_midway(ctx: Context, text: str) -> AsyncIterator[str]:
        """Give a word, say something, ask for another word, and give that."""
        del text
        yield "one "
        await ctx.say("more to come")
        yield "two "
        yield await ctx.ask("And then?")
        yield ""

    @agent.skill
    async def ask_twice(ctx: Context, text: str) -> str:
        """Ask two questions, the second at once after the first answer."""
        return f"{text}: {await ctx.ask('One?')}, {await ctx.ask('Two?')}"

    @agent.skill
    async def hold_and_ask(ctx: Context, gate: str) -> str:
        """Wait at the gate, then ask a question."""
        await GATES[gate].pass_through()
        return await ctx.ask("Which city?")

    @agent.skill
    async def authorize(ctx: Context, text: str) -> str:
        """Ask for an authorization."""
        answer = await ctx.require_auth("Please sign in.", details={"url": "https://id.example/"})
        return f"{text}: {answer.parts[0].text}"


def _add_ending(agent: Agent) -> None:
    """Skills that end otherwise."""

    @agent.skill
    async def fail(text: str) -> str:
        """Fail with an exception that says too much."""
        raise RuntimeError(f"{SECRET} {text}")

    @agent.skill
    async def reject(text: str) -> str:
        """Decline."""
        raise Rejected(f"Not for {text}.")


def _add_direct(agent: Agent) -> None:
    """Skills that answer without a task."""

    @agent.skill
    async def reply(text: str) -> Reply:
        """Answer directly."""
        return Reply(f"You said {text}.")

    @agent.skill
    async def reply_late(gate: str) -> Reply:
        """Answer directly, after the gate."""
        await GATES[gate].pass_through()
        return Reply("At last.")

    @agent.skill
    async def reply_badly(text: str) -> Reply:
        """Return something that is not the reply it promised."""
        return text  # type: ignore[return-value] # the mistake is the point

    @agent.skill
    async def reply_and_fail(text: str) -> Reply:
        """Fail while answering directly."""
        raise RuntimeError(f"{SECRET} {text}")


def _add_looking(agent: Agent) -> None:
    """Skills that look around."""

    @agent.skill(input_modes=["text/plain"])
    async def inspect(ctx: Context) -> dict[str, object]:
        """Return what a skill can see of its task."""
        return {
            "contextId": ctx.context_id,
            "taskId": ctx.task_id,
            "tenant": ctx.tenant,
            "user": ctx.user,
            "metadata": ctx.metadata,
            "extensions": list(ctx.extensions),
            "acceptedOutputModes": list(ctx.accepted_output_modes),
            "referenceTaskIds": list(ctx.message.reference_task_ids),
            "history": [_text_of(item) for item in ctx.history],
        }

    @agent.skill(input_modes=["text/plain"])
    async def tailor(ctx: Context) -> object:
        """Give JSON to those who take it, text to the others."""
        if "application/json" in ctx.accepted_output_modes:
            return {"answer": 42}
        return "42"

    heard: dict[str, list[str]] = {}

    @agent.skill
    async def recollect(ctx: Context, text: str) -> str:
        """Return what was said before in the same conversation."""
        said = heard.setdefault(ctx.context_id, [])
        said.append(text)
        return ", ".join(said)


def _text_of(message: Message) -> str:
    return " ".join(_part_text(part) for part in message.parts)


def _part_text(part: Part) -> str:
    return part.text or ""
