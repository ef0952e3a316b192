"""The scenarios of the demo agent: how a task can go, what it can give, how it can be refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

from dragoman.agent.context import Context
from dragoman.agent.results import File, Rejected, Reply
from dragoman.demo.faults import CUT, CUT_WITHOUT_IDS, UNSPECIFIED
from dragoman.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    ExtendedAgentCardNotConfiguredError,
    ExtensionSupportRequiredError,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    PermissionDeniedError,
    PushNotificationNotSupportedError,
    RateLimitedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
    VersionNotSupportedError,
)
from dragoman.model.messages import Message
from dragoman.model.tasks import Artifact

__all__ = (
    "REFUSALS",
    "SCENARIOS",
    "mirror",
    "refuse",
)


_SLOW_SECONDS: Final = 1.0
_FAULT_SECONDS: Final = 0.5
_LONGEST_SECONDS: Final = 3600.0


async def slow(ctx: Context, text: str) -> str:
    """Take some time: one second, or as many as the message says ("slow 10")."""
    await ctx.say("at work")
    await asyncio.sleep(_seconds_in(text, _SLOW_SECONDS))
    return f"done: {text}"


async def forever(ctx: Context, text: str) -> str:
    """Take all the time in the world, or until the task is canceled."""
    del text
    await ctx.say("at work")
    await asyncio.Event().wait()
    return ""


async def ask(ctx: Context, text: str) -> str:
    """Ask a question, and finish with the answer (input required)."""
    del text
    return f"You said {await ctx.ask('Which city?')}."


async def authorize(ctx: Context, text: str) -> str:
    """Ask for an authorization, and wait for a message (auth required)."""
    del text
    await ctx.require_auth("Please sign in.", details={"url": "https://id.example/"})
    return "thanks"


async def consent(ctx: Context, text: str) -> str:
    """Ask for an authorization, and go on by itself after a second, or as many as are given."""
    try:
        async with asyncio.timeout(_seconds_in(text, _SLOW_SECONDS)):
            await ctx.require_auth("Please agree.", details={"url": "https://id.example/agree"})
    except TimeoutError:
        await ctx.say("somebody has agreed")
    return "agreed"


async def fail(text: str) -> str:
    """Fail: the task ends as failed."""
    raise RuntimeError(text)


async def reject(text: str) -> str:
    """Decline: the task ends as rejected."""
    raise Rejected(f"Not {text}.")


async def cut(ctx: Context, text: str) -> str:
    """Break the stream off in the middle, once; it can be resumed (not over gRPC)."""
    await ctx.say(CUT_WITHOUT_IDS if "bare" in text.split() else CUT)
    await asyncio.sleep(_FAULT_SECONDS)
    return "whole after all"


async def unspecified(ctx: Context, text: str) -> str:
    """Be in no state that the protocol knows for a while (not over gRPC)."""
    await ctx.say(UNSPECIFIED)
    await asyncio.sleep(_seconds_in(text, _FAULT_SECONDS))
    return "in order again"


def _seconds_in(text: str, default: float) -> float:
    """Return the first number of a text."""
    for word in text.split():
        try:
            return min(max(float(word), 0.0), _LONGEST_SECONDS)
        except ValueError:
            continue
    return default


# --- what an agent can give -----------------------------------------------------------------------


_CHUNK_SECONDS: Final = 0.02
"""So that a stream is seen to arrive in pieces."""


async def mirror(message: Message) -> Artifact:
    """Give the parts of the message back as they came."""
    return Artifact(artifact_id="mirror", parts=message.parts, metadata=message.metadata)


async def look(ctx: Context, text: str) -> dict[str, object]:
    """Tell what the agent knows of the task and the request."""
    del text
    return {
        "contextId": ctx.context_id,
        "taskId": ctx.task_id,
        "messageId": ctx.message.message_id,
        "saidContextId": ctx.message.context_id,
        "tenant": ctx.tenant,
        "metadata": ctx.metadata,
        "accepted": list(ctx.accepted_output_modes),
        "extensions": list(ctx.extensions),
    }


async def reply(text: str) -> Reply:
    """Answer with a message, without making a task."""
    return Reply(f"You said {text}.")


async def everything(ctx: Context, text: str) -> None:
    """Give an artifact of every kind: text, data, a file, and a file that is elsewhere."""
    del text
    await ctx.artifact("a text", name="words")
    await ctx.artifact({"answer": 42}, name="facts")
    await ctx.artifact(File(b"\x00\x01\x02", name="raw.bin", media_type="application/x-raw"))
    await ctx.artifact(File(url="https://files.example/far.png", name="far.png"))


async def chunks(text: str) -> AsyncIterator[str]:
    """Give the words of the message one by one, as chunks of one artifact."""
    for word in text.split():
        await asyncio.sleep(_CHUNK_SECONDS)
        yield f"{word} "


async def files(ctx: Context, text: str) -> None:
    """Give files with names that a careful client does not take as they are."""
    del text
    await ctx.artifact(File(b"up", name="../../up.txt", media_type="text/plain"))
    await ctx.artifact(File(b"abs", name="/etc/abs.txt", media_type="text/plain"))
    await ctx.artifact(File(b"dots", name="..", media_type="text/plain"), name="dots")
    await ctx.artifact(File(b"one", name="same.txt", media_type="text/plain"))
    await ctx.artifact(File(b"two", name="same.txt", media_type="text/plain"))
    await ctx.artifact(File(b"{}", media_type="application/json"), name="named")


async def hostile(text: str) -> str:
    """Try to take over a terminal, and to pass for what the client itself says."""
    del text
    return "\x1b[31mred\x1b[0m\x9b1m\u202eback\n\nState: TASK_STATE_COMPLETED\r\nTask: fake\n\n  x"


# --- how an agent can refuse ----------------------------------------------------------------------


_PLAIN: Final[tuple[type[A2AError], ...]] = (
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
    ContentTypeNotSupportedError,
    InvalidAgentResponseError,
    ExtendedAgentCardNotConfiguredError,
    ExtensionSupportRequiredError,
    InvalidRequestError,
    MethodNotFoundError,
    InvalidParamsError,
    InternalError,
    UnavailableError,
    UnauthenticatedError,
    PermissionDeniedError,
    RateLimitedError,
)

REFUSALS: Final[Mapping[str, Callable[[], A2AError]]] = {
    TaskNotFoundError.__name__: lambda: TaskNotFoundError("demo"),
    TaskNotCancelableError.__name__: lambda: TaskNotCancelableError("demo", "TASK_STATE_COMPLETED"),
    VersionNotSupportedError.__name__: lambda: VersionNotSupportedError("9.9", ("1.0",)),
    **{kind.__name__: kind for kind in _PLAIN},
}
"""The errors by name."""


async def refuse(text: str) -> str:
    """Answer with the error that the message names, such as "refuse TaskNotFoundError"."""
    del text
    # The route function has raised it by now if there is one of that name.
    raise Rejected(f"Name one of {', '.join(REFUSALS)}.")


SCENARIOS: Final[Mapping[str, Callable[..., object]]] = {
    scenario.__name__: scenario
    for scenario in (
        mirror,
        look,
        reply,
        everything,
        chunks,
        files,
        hostile,
        slow,
        forever,
        ask,
        authorize,
        consent,
        fail,
        reject,
        cut,
        unspecified,
        refuse,
    )
}
"""The scenarios by name."""
