"""An agent of the XPR network: it knows callers by their account, and the chain knows it.

XPR_RPC_ENDPOINT=... XPR_ACCOUNT=pilot dragoman serve agent.py
"""

import os

from dragoman import Agent, Context
from dragoman.extensions.xpr import Chain, XprAuth, XprPresence, load_xpr_settings

settings = load_xpr_settings(os.environ)
agent = Agent(
    "Pilot",
    "Brings ships into the harbour.",
    auth=[XprAuth.from_settings(settings)],
    presence=XprPresence(Chain(*settings.endpoints), settings.account),
)


@agent.skill
async def pilot(text: str, ctx: Context) -> str:
    """Bring a ship in."""
    job = ctx.metadata.get("xpr:jobId")
    return f"{ctx.user}{'' if job is None else f', job #{job}'}: aye to {text.splitlines()[0]!r}"


@agent.skill(scopes=["xpr:write"])
async def anchor(text: str) -> str:
    """Drop the anchor; not for callers in the tool mode readonly."""
    return f"anchored: {text}"
