"""The agent that other implementations talk to: one skill for each thing a peer may want to see."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator

from dragoman import Agent, AgentProvider, Artifact, Context, File, Message, Rejected, Reply

agent = Agent(
    "Interop",
    "Does what a peer asks for, so that the peer can be watched.",
    version="7.8.9",
    provider=AgentProvider(organization="Dragoman tests", url="https://dragoman.example/"),
    documentation_url="https://dragoman.example/interop",
    tenants=("acme",),
)

# Gates are opened by another request, so that a task runs for as long as the peer wants it to.
_gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)


@agent.skill(examples=["hello"], tags=["text", "simple"])
async def shout(text: str) -> str:
    """Give the text back in capitals."""
    return text.upper()


@agent.skill
async def greet(text: str) -> Reply:
    """Greet at once, without a task."""
    return Reply(f"Hello, {text}!", {"greeted": text})


@agent.skill
async def spell(text: str, ctx: Context) -> AsyncIterator[str]:
    """Give the text back word by word."""
    await ctx.say("Spelling.")
    for word in text.split():
        yield f"{word} "


@agent.skill
async def hold(text: str, ctx: Context) -> None:
    """Begin an artifact, wait until the gate named by the text is opened, and finish it."""
    artifact_id = await ctx.artifact("before ", name="held")
    await ctx.say("Holding.")
    await _gates[text].wait()
    await ctx.artifact("after", artifact_id=artifact_id, append=True, last_chunk=True)


@agent.skill
async def open_gate(text: str) -> Reply:
    """Open the gate named by the text."""
    _gates[text].set()
    return Reply("Open.")


@agent.skill
async def book(text: str, ctx: Context) -> dict[str, object]:
    """Ask two questions, the second with a form, and book."""
    day = await ctx.ask("Which day?")
    seats = await ctx.ask("How many seats?", int)
    return {"city": text, "day": day, "seats": seats}


@agent.skill(input_modes=["text/*", "application/json", "image/*"])
async def mirror(message: Message, ctx: Context) -> Artifact:
    """Give back the parts as they came, and as metadata what else came with them."""
    return Artifact(
        artifact_id="mirror",
        name="Mirror",
        description="What you sent",
        parts=message.parts,
        metadata={
            "message": message.metadata,
            "request": ctx.metadata,
            "outputModes": list(ctx.accepted_output_modes),
            "references": list(message.reference_task_ids),
            "tenant": ctx.tenant,
        },
    )


@agent.skill(input_modes=["image/*"])
async def reverse(file: File) -> File:
    """Give a file back, reversed."""
    return File(content=file.read()[::-1], name=f"reversed-{file.name}", media_type=file.media_type)


@agent.skill
async def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers of a data part."""
    return {"sum": a + b}


@agent.skill
async def decline(text: str) -> str:
    """Decline the work."""
    raise Rejected(f"No {text} here.")


@agent.skill
async def fail(text: str) -> str:
    """Fail with an exception, whose text is nobody's business."""
    raise RuntimeError(f"secret {text}")
