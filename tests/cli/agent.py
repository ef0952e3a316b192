"""The agent that the command line is tried on: the first word of a message says what it does."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable

from dragoman import Agent, Artifact, Context, File, Message, Rejected, Reply

SLOW_SECONDS = float(os.environ.get("STAGE_SLOW", "0.4"))

agent = Agent("Stage", "Does what a test of the command line needs.", version="2.1.0")


@agent.skill(input_modes=["*/*"])
async def mirror(message: Message) -> Artifact:
    """Give the parts back as they came."""
    return Artifact(artifact_id="mirror", parts=message.parts, metadata=message.metadata)


@agent.skill
async def look(ctx: Context, text: str) -> dict[str, object]:
    """Tell what is known of the task."""
    del text
    return {
        "contextId": ctx.context_id,
        "taskId": ctx.task_id,
        "messageId": ctx.message.message_id,
        "saidContextId": ctx.message.context_id,
        "metadata": ctx.metadata,
        "accepted": list(ctx.accepted_output_modes),
        "extensions": list(ctx.extensions),
    }


@agent.skill
async def slow(ctx: Context, text: str) -> str:
    """Take some time."""
    await ctx.say("at work")
    await asyncio.sleep(SLOW_SECONDS)
    return f"done: {text}"


@agent.skill
async def forever(ctx: Context, text: str) -> str:
    """Take all the time in the world."""
    del text
    await ctx.say("at work")
    await asyncio.sleep(3600)
    return ""


@agent.skill
async def everything(ctx: Context, text: str) -> None:
    """Give every kind of part."""
    del text
    await ctx.artifact("a text", name="words")
    await ctx.artifact({"answer": 42}, name="facts")
    await ctx.artifact(File(b"\x00\x01\x02", name="raw.bin", media_type="application/x-raw"))
    await ctx.artifact(File(url="https://files.example/far.png", name="far.png"))


@agent.skill
async def chunks(text: str) -> AsyncIterator[str]:
    """Give the words one by one."""
    for word in text.split():
        await asyncio.sleep(0.02)
        yield f"{word} "


@agent.skill
async def ask(ctx: Context, text: str) -> str:
    """Ask a question."""
    del text
    return f"You said {await ctx.ask('Which city?')}."


@agent.skill
async def authorize(ctx: Context, text: str) -> str:
    """Ask for an authorization."""
    del text
    await ctx.require_auth("Please sign in.", details={"url": "https://id.example/"})
    return "thanks"


@agent.skill
async def fail(text: str) -> str:
    """Fail."""
    raise RuntimeError(text)


@agent.skill
async def reject(text: str) -> str:
    """Decline."""
    raise Rejected(f"Not {text}.")


@agent.skill
async def reply(text: str) -> Reply:
    """Answer without a task."""
    return Reply(f"You said {text}.")


@agent.skill
async def hostile(text: str) -> str:
    """Try to take over the terminal, and to pass for a field."""
    del text
    return "\x1b[31mred\x1b[0m\x9b1m\u202eback\n\nState: TASK_STATE_COMPLETED\r\nTask: fake\n\n  x"


@agent.skill
async def files(ctx: Context, text: str) -> None:
    """Give files with names of all kinds."""
    del text
    await ctx.artifact(File(b"up", name="../../up.txt", media_type="text/plain"))
    await ctx.artifact(File(b"abs", name="/etc/abs.txt", media_type="text/plain"))
    await ctx.artifact(File(b"dots", name="..", media_type="text/plain"), name="dots")
    await ctx.artifact(File(b"one", name="same.txt", media_type="text/plain"))
    await ctx.artifact(File(b"two", name="same.txt", media_type="text/plain"))
    await ctx.artifact(File(b"{}", media_type="application/json"), name="named")


SKILLS: dict[str, Callable[..., object]] = {
    skill.__name__: skill
    for skill in (
        mirror,
        look,
        slow,
        forever,
        everything,
        chunks,
        ask,
        authorize,
        fail,
        reject,
        reply,
        hostile,
        files,
    )
}


@agent.route
def choose(message: Message) -> Callable[..., object]:
    """Go by the first word."""
    first = message.parts[0].text or ""
    return SKILLS.get(first.partition(" ")[0], mirror)
