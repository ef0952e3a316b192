"""Callers that an agent lets in: from the card's requirements to the request, over real sockets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import httpx2
import pytest

from dragoman import Agent
from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.outgoing.credentials import ApiKey, Basic, Bearer, Custom
from dragoman.auth.outgoing.errors import MissingCredentialsError, TokenRefusedError
from dragoman.auth.outgoing.grants import ClientCredentials, DeviceCode
from dragoman.auth.outgoing.oauth2 import ClientAuth, DevicePrompt
from dragoman.auth.outgoing.requirements import Held
from dragoman.client.connect import connect
from dragoman.errors import UnauthenticatedError
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentInterface
from dragoman.model.security import (
    APIKeySecurityScheme,
    ClientCredentialsOAuthFlow,
    DeviceCodeOAuthFlow,
    HTTPAuthSecurityScheme,
    OAuth2SecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from tests.scenarios.authority import Authority, Guard, Shown, listening
from tests.support.auth.answering import HurriedClock
from tests.support.server.certificates import write_files
from tests.support.serving import serving

SECRET = "s3cret"  # noqa: S105 - of a server that lives as long as a test

BINDINGS = ("JSONRPC", "HTTP+JSON")


def api_key(location: str) -> SecurityScheme:
    scheme = APIKeySecurityScheme(location=location, name="X-Key")
    return SecurityScheme(api_key_security_scheme=scheme)


def http(scheme: str) -> SecurityScheme:
    return SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme=scheme))


def card_of(url: str, scheme: SecurityScheme, binding: str = "JSONRPC") -> AgentCard:
    return AgentCard(
        name="Guarded",
        description="Lets in who is known.",
        supported_interfaces=(
            AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0"),
        ),
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        security_schemes={"it": scheme},
        security_requirements=(
            SecurityRequirement(schemes={"it": StringList(list=("read", "write"))}),
        ),
        default_input_modes=("text/plain",),
        default_output_modes=("text/plain",),
        skills=(),
    )


@asynccontextmanager
async def guarded(lets_in: Callable[[Shown], bool]) -> AsyncGenerator[tuple[Guard, str]]:
    """Serve an agent behind a guard."""
    agent = Agent("Echo", "Says it again.")

    @agent.skill
    async def echo(text: str) -> str:  # pyright: ignore[reportUnusedFunction] - called by its name
        """Say it again."""
        return text

    async with serving(agent) as served:
        guard = Guard(served.app, lets_in)
        async with listening(guard) as url:
            yield guard, url


@asynccontextmanager
async def authority() -> AsyncGenerator[Authority]:
    found = Authority()
    async with listening(found) as url:
        found.url = url
        yield found


async def said(url: str, held: Held | None, text: str = "hello") -> str | None:
    async with connect(url, auth=held) as agent:
        return (await agent.send(text)).text


# --- what needs no third party -------------------------------------------------------------------


SHOWN = {
    "bearer": (http("Bearer"), Bearer("t"), "headers", "authorization", "Bearer t"),
    "basic": (http("Basic"), Basic("u", "p"), "headers", "authorization", "Basic dTpw"),
    "header": (api_key("header"), ApiKey("k"), "headers", "x-key", "k"),
    "query": (api_key("query"), ApiKey("k"), "query", "X-Key", "k"),
    "cookie": (api_key("cookie"), ApiKey("k"), "cookies", "X-Key", "k"),
    "custom": (http("Own"), Custom(lambda _: {"X-Own": "o"}), "headers", "x-own", "o"),
}
"""What the card asks for, what the user has, and where it is to be found in a request."""


@pytest.mark.requirement("R-7.3-1", "R-7.3-3", "R-T.ent-2", "R-3.1.11-3")
@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("kind", SHOWN)
async def test_who_shows_what_the_card_asks_for_is_let_in(kind: str, binding: str) -> None:
    scheme, held, place, name, value = SHOWN[kind]
    async with guarded(lambda shown: getattr(shown, place).get(name) == value) as (guard, url):
        guard.card = card_of(url, scheme, binding)
        assert await said(url, held) == "hello"
        # Every request shows it, not only the first.
        assert guard.refused == 0
        assert guard.seen


async def test_who_has_something_else_is_told_before_anything_is_sent() -> None:
    async with guarded(lambda _: True) as (guard, url):
        guard.card = card_of(url, api_key("header"))
        with pytest.raises(MissingCredentialsError, match="an API key, header X-Key: ApiKey"):
            await said(url, Bearer("t"))
        assert guard.seen == []


async def test_a_secret_that_cannot_be_renewed_is_refused_once_and_for_all() -> None:
    async with guarded(lambda _: False) as (guard, url):
        guard.card = card_of(url, http("Bearer"))
        with pytest.raises(UnauthenticatedError):
            await said(url, Bearer("wrong"))


async def test_a_card_cannot_have_a_secret_sent_to_somebody_else() -> None:
    async with (
        guarded(lambda _: True) as (honest, honest_url),
        guarded(lambda _: True) as (other, other_url),
    ):
        honest.card = card_of(other_url, http("Bearer"))
        with pytest.raises(MissingCredentialsError, match="give it for_origin="):
            await said(honest_url, Bearer("t"))
        assert other.seen == []
        assert await said(honest_url, Bearer("t", for_origin=other_url)) == "hello"


# --- authorization servers -----------------------------------------------------------------------


def by_client(token_url: str) -> SecurityScheme:
    flow = ClientCredentialsOAuthFlow(token_url=token_url, scopes={})
    return SecurityScheme(
        oauth2_security_scheme=OAuth2SecurityScheme(flows=OAuthFlows(client_credentials=flow))
    )


@pytest.mark.requirement("R-7.3-3")
@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_client_gets_a_token_once_and_another_when_it_is_refused(binding: str) -> None:
    async with authority() as issuer, guarded(issuer.knows) as (guard, url):
        guard.card = card_of(url, by_client(f"{issuer.url}/token"), binding)
        clock = HurriedClock()
        held = ClientCredentials("me", SECRET, token_url=f"{issuer.url}/token", clock=clock)
        async with connect(url, auth=held) as agent:
            assert (await agent.send("one")).text == "one"
            assert (await agent.send("two")).text == "two"
            assert issuer.issued == 1
            issuer.revoke()
            clock.advance(10)
            assert (await agent.send("three")).text == "three"
        assert issuer.issued == 2
        assert guard.refused == 1
        # The scopes are those that the card asks for. The second one came by the refresh token.
        assert [form["grant_type"] for form in issuer.asked] == [
            "client_credentials",
            "refresh_token",
        ]
        assert issuer.asked[0]["scope"] == "read write"


async def test_many_requests_at_once_get_one_token() -> None:
    async with authority() as issuer, guarded(issuer.knows) as (guard, url):
        guard.card = card_of(url, by_client(f"{issuer.url}/token"))
        held = ClientCredentials("me", SECRET, token_url=f"{issuer.url}/token")
        async with connect(url, auth=held) as agent, asyncio.TaskGroup() as group:
            sends = [group.create_task(agent.send(str(n))) for n in range(10)]
        assert [send.result().text for send in sends] == [str(n) for n in range(10)]
        assert issuer.issued == 1


@pytest.mark.parametrize("client_auth", ["basic", "post"])
async def test_a_client_that_is_not_known_is_told(client_auth: ClientAuth) -> None:
    async with authority() as issuer, guarded(issuer.knows) as (guard, url):
        guard.card = card_of(url, by_client(f"{issuer.url}/token"))
        held = ClientCredentials(
            "me", "wrong", token_url=f"{issuer.url}/token", client_auth=client_auth
        )
        with pytest.raises(TokenRefusedError, match="invalid_client"):
            await said(url, held)
        assert guard.seen == []


async def test_a_card_cannot_have_the_secret_of_a_client_sent_to_somebody_else() -> None:
    async with authority() as evil, guarded(lambda _: True) as (guard, url):
        guard.card = card_of(url, by_client(f"{evil.url}/token"))
        with pytest.raises(MissingCredentialsError, match="give it as token_url if you trust it"):
            await said(url, ClientCredentials("me", SECRET))
        assert evil.asked == []


async def test_an_issuer_is_looked_up() -> None:
    async with authority() as issuer, guarded(issuer.knows) as (guard, url):
        discovery = f"{issuer.url}/.well-known/openid-configuration"
        guard.card = card_of(
            url,
            SecurityScheme(
                open_id_connect_security_scheme=OpenIdConnectSecurityScheme(
                    open_id_connect_url=discovery
                )
            ),
        )
        assert await said(url, ClientCredentials("me", SECRET, issuer=issuer.url)) == "hello"


async def test_a_person_signs_in_somewhere_else() -> None:
    shown: list[DevicePrompt] = []
    async with authority() as issuer, guarded(issuer.knows) as (guard, url):

        class Patience(HurriedClock):
            async def sleep(self, seconds: float) -> None:
                await super().sleep(seconds)
                # The person agrees while the client waits for the third time.
                issuer.has_agreed = issuer.polls == 2

        flow = DeviceCodeOAuthFlow(
            device_authorization_url=f"{issuer.url}/device",
            token_url=f"{issuer.url}/token",
            scopes={},
        )
        guard.card = card_of(
            url,
            SecurityScheme(
                oauth2_security_scheme=OAuth2SecurityScheme(flows=OAuthFlows(device_code=flow))
            ),
        )
        held = DeviceCode(
            "me",
            shown.append,
            token_url=f"{issuer.url}/token",
            device_url=f"{issuer.url}/device",
            clock=Patience(),
        )
        assert await said(url, held) == "hello"
        # Nobody is asked again for another connection.
        assert await said(url, held) == "hello"
        assert [(one.url, one.user_code) for one in shown] == [(f"{issuer.url}/go", "WDJB-MJHT")]
        assert issuer.polls == 3


# --- mutual TLS ----------------------------------------------------------------------------------


async def test_a_certificate_is_shown_over_http_and_over_grpc(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.server, files.server_key)
    context.load_verify_locations(files.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    certificate = ClientCertificate(files.client, files.client_key, files.ca)

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "localhost", 0, ssl=context) as server:
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
        async with httpx2.AsyncClient(verify=certificate.ssl_context()) as known:
            assert (await known.get(url)).status_code == 204

    keys = certificate.grpc_keys()
    server_keys = ClientCertificate(files.server, files.server_key, files.ca).grpc_keys()
    over_grpc = grpc.aio.server()
    credentials = grpc.ssl_server_credentials(
        [(server_keys.private_key, server_keys.certificate_chain)],
        server_keys.root_certificates,
        require_client_auth=True,
    )
    port = over_grpc.add_secure_port("localhost:0", credentials)
    await over_grpc.start()
    shown = grpc.ssl_channel_credentials(
        keys.root_certificates, keys.private_key, keys.certificate_chain
    )
    async with grpc.aio.secure_channel(f"localhost:{port}", shown) as channel:
        await asyncio.wait_for(channel.channel_ready(), 10)
    await over_grpc.stop(0)
