"""Our client at the guard: it shows what the card asks for, in every version over every binding."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dragoman import A2AError, connect
from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.basic import BasicUsers
from dragoman.auth.incoming.passwords import hash_password
from dragoman.auth.outgoing.credentials import ApiKey, Basic, Credentials
from dragoman.errors import PermissionDeniedError, UnauthenticatedError
from tests.scenarios.guarding import KEY_HEADER, PEOPLE, guarded_agent
from tests.support.serving import Served, serving

WAYS = [
    ("1.0", "JSONRPC"),
    ("1.0", "HTTP+JSON"),
    ("1.0", "GRPC"),
    ("0.3", "JSONRPC"),
    ("0.3", "HTTP+JSON"),
    ("0.3", "GRPC"),
    ("0.1", "JSONRPC"),
]

HELD: list[tuple[Credentials, list[str]]] = [
    (ApiKey("key-of-ada"), ["cellar", "vault:open"]),
    (Basic("ada", "hunter2"), []),
]
"""What somebody shows, and what it was granted."""


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """An agent that takes a key or a password."""
    users = BasicUsers({"ada": hash_password("hunter2")}, owner_prefix="")
    keys = ApiKeys(PEOPLE, parameter=KEY_HEADER)
    async with serving(guarded_agent(auth=[keys, users])) as agent:
        yield agent


@pytest.mark.parametrize(("version", "binding"), WAYS)
@pytest.mark.parametrize(("held", "granted"), HELD, ids=["key", "password"])
async def test_a_caller_with_credentials_is_served_as_itself(
    served: Served, version: str, binding: str, held: Credentials, granted: list[str]
) -> None:
    async with connect(served.url, version=version, binding=binding, auth=held) as agent:
        reply = await agent.send("hello", skill="whoami")
    assert reply.data == {"text": "hello", "user": "ada", "owner": "ada", "scopes": granted}


@pytest.mark.parametrize(("version", "binding"), WAYS)
@pytest.mark.parametrize(
    ("held", "skill", "kind"),
    [
        (None, "whoami", UnauthenticatedError),
        (ApiKey("key-of-nobody"), "whoami", UnauthenticatedError),
        (ApiKey("key-of-bob"), "vault", PermissionDeniedError),
    ],
    ids=["none", "wrong", "scope"],
)
async def test_a_caller_who_is_refused_learns_why(
    served: Served,
    version: str,
    binding: str,
    held: Credentials | None,
    skill: str,
    kind: type[A2AError],
) -> None:
    async with connect(served.url, version=version, binding=binding, auth=held) as agent:
        with pytest.raises(kind):
            await agent.send("hello", skill=skill)


async def test_the_client_replaces_its_card_by_the_one_for_its_caller(served: Served) -> None:
    async with connect(served.url, auth=ApiKey("key-of-ada"), extended_card=True) as agent:
        assert "cellar" in [skill.id for skill in agent.card.skills]
