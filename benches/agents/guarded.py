"""The benchmark contract behind a guard: the same agent, which asks who calls.

dragoman serve benches.agents.guarded:keyed
dragoman serve benches.agents.guarded:tokened
dragoman serve benches.agents.guarded:signed
"""

from benches.agents.subject import make_agent
from benches.credentials import AUDIENCE, ISSUER, JWKS_FILE, KEYS_FILE
from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.bearer_jwt import BearerJwt
from dragoman.clock import SystemClock
from dragoman.extensions.xpr import XprAuth
from dragoman.extensions.xpr.auth import MemoryReplays
from dragoman.testing.chain import FakeChain

# Its private key is in wire_signed.
_PUBLIC_KEY = "PUB_K1_5kaqb3oAkT3bz9z2s2idjbaE2VHFEEwNbeG5KPRtRUf5GKjqiK"

keyed = make_agent(auth=[ApiKeys(KEYS_FILE)])
tokened = make_agent(auth=[BearerJwt(issuer=ISSUER, audience=AUDIENCE, keys=JWKS_FILE)])

# What is measured is the signature: nobody is asked for keys, and nobody is stopped.
signed = make_agent(
    auth=[
        XprAuth(
            FakeChain({"bench": _PUBLIC_KEY}),
            rate_limit=10_000_000,
            replays=MemoryReplays(SystemClock(), most=10_000_000),
        )
    ]
)
