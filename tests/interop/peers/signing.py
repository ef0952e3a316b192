"""Signs and verifies cards with the official Python SDK of the environment it is run in.

Reads ``[{"do": "sign" | "verify", "card", "key"}, …]`` from standard input. Writes, for each, the
signatures of the card, or whether one of them was found good.
"""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import sys
from typing import Any

from a2a.types import AgentCard
from a2a.utils import signing
from google.protobuf.json_format import ParseDict
from jwt.api_jwk import PyJWK


def read(card: dict[str, Any]) -> AgentCard:
    if hasattr(AgentCard, "model_validate"):
        return AgentCard.model_validate(card)
    return ParseDict(card, AgentCard(), ignore_unknown_fields=True)


def sign(card: AgentCard, key: dict[str, str]) -> list[dict[str, str]]:
    header = {"alg": key["alg"], "kid": key["kid"], "typ": "JOSE"}
    signed = signing.create_agent_card_signer(PyJWK(key), header)(card)
    return [{"protected": one.protected, "signature": one.signature} for one in signed.signatures]


def verify(card: AgentCard, key: dict[str, str]) -> bool:
    verifier = signing.create_signature_verifier(lambda _kid, _jku: PyJWK(key), [key["alg"]])
    try:
        verifier(card)
    except signing.SignatureVerificationError:
        return False
    return True


DO = {"sign": sign, "verify": verify}
tasks = json.load(sys.stdin)
json.dump([DO[task["do"]](read(task["card"]), task["key"]) for task in tasks], sys.stdout)
