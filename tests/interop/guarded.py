"""The agent that other implementations have to show something to; ``GUARD`` says what.

It is ``key``, or ``jwt`` with a path to the keys of the issuer after a colon, or ``mtls``.
"""

from __future__ import annotations

import os
from pathlib import Path

from dragoman import Agent, Context
from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.authenticator import Authenticator
from dragoman.auth.incoming.bearer_jwt import BearerJwt
from dragoman.auth.incoming.client_certificates import ClientCertificates


def guard(kind: str, keys: str) -> Authenticator:
    """Return what is asked of callers."""
    match kind:
        case "key":
            return ApiKeys({"key-of-ada": "ada"}, owner_prefix="")
        case "jwt":
            return BearerJwt(
                issuer="https://id.example",
                audience="https://agent.example",
                keys=Path(keys),
                owner=lambda claims: str(claims["sub"]),
            )
        case _:
            return ClientCertificates({"dns:ada.example": "ada"}, owner_prefix="")


agent = Agent(
    "Guarded",
    "Tells callers who they are.",
    auth=[guard(*os.environ["GUARD"].partition(":")[::2])],
)


@agent.skill
async def whoami(ctx: Context, text: str) -> str:
    """Tell who calls."""
    return f"{text} by {ctx.user}"
