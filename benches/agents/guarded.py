"""The benchmark contract behind a guard: the same agent, which asks who calls.

dragoman serve benches.agents.guarded:keyed
dragoman serve benches.agents.guarded:tokened
"""

from benches.agents.subject import make_agent
from benches.credentials import AUDIENCE, ISSUER, JWKS_FILE, KEYS_FILE
from dragoman.auth.api_key import ApiKeys
from dragoman.auth.bearer_jwt import BearerJwt

keyed = make_agent(auth=[ApiKeys(KEYS_FILE)])
tokened = make_agent(auth=[BearerJwt(issuer=ISSUER, audience=AUDIENCE, keys=JWKS_FILE)])
