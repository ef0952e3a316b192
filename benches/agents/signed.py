"""The echo of the benchmark, for callers who sign their requests.

dragoman serve benches/agents/signed.py
"""

from dragoman import Agent
from dragoman.clock import SystemClock
from dragoman.extensions.xpr import XprAuth
from dragoman.extensions.xpr.replays import MemoryReplays
from dragoman.testing.chain import FakeChain

# Its private key is in wire_signed.
PUBLIC_KEY = "PUB_K1_5kaqb3oAkT3bz9z2s2idjbaE2VHFEEwNbeG5KPRtRUf5GKjqiK"

# What is measured is the signature: nobody is asked for keys, and nobody is stopped.
auth = XprAuth(
    FakeChain({"bench": PUBLIC_KEY}),
    rate_limit=10_000_000,
    replays=MemoryReplays(SystemClock(), most=10_000_000),
)
agent = Agent("Bench", "Benchmark agent.", auth=[auth])


@agent.skill()
async def echo(text: str) -> str:
    """Give back the text."""
    return text
