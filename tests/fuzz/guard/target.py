"""The agent behind the guard, in a process of its own: ``dragoman serve`` is given this file.

It ends every task at once, so that there is nothing a stream could wait for.
"""

import os

from dragoman import AccessRequest, Agent, Artifact, Context, Message, Reply
from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.bearer_jwt import BearerJwt


def policy(request: AccessRequest) -> bool:
    """Keep one of the callers from canceling."""
    return not (request.principal.owner.endswith("7") and request.operation.value == "CancelTask")


agent = Agent(
    "Target",
    "Is attacked.",
    tenants=["acme"],
    auth=[
        ApiKeys(os.environ["FUZZ_KEYS"]),
        BearerJwt(
            issuer="https://id.example",
            audience="https://agent.example",
            keys=os.environ["FUZZ_JWKS"],
        ),
    ],
    authorize=policy,
    extended_card=True,
)


@agent.skill(input_modes=["*/*"])
async def mirror(message: Message) -> Artifact:
    """Give back what came."""
    return Artifact(artifact_id="a", parts=message.parts, metadata=message.metadata)


@agent.skill
async def reply(text: str) -> Reply:
    """Answer without a task."""
    return Reply(text)


@agent.skill(scopes=["read"])
async def tell(ctx: Context, text: str) -> str:
    """Tell who calls."""
    return f"{ctx.user}: {text}"


@agent.skill(scopes=["audit"], hidden=True)
async def books(year: int) -> str:
    """Open the books of a year."""
    return str(year)
