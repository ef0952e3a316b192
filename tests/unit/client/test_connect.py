import json
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from dragoman import connect
from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import CardSigner
from dragoman.auth.outgoing.credentials import Bearer
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.errors import CardNotFoundError, CardUntrustedError, NoInterfaceError
from dragoman.client.retry import NEVER
from dragoman.errors import UsageError
from dragoman.model.cards import AgentCapabilities, AgentInterface, AgentSkill
from tests.support.auth.signing_cards import new_key
from tests.support.client.fakes import Web, card, sse
from tests.support.serving import serving
from tests.support.testing.house import tea_house

CARD = "/.well-known/agent-card.json"
TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}
OLD_TASK = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"}}


def interface(
    binding: str = "JSONRPC", version: str = "1.0", url: str = "http://agent.test/rpc"
) -> AgentInterface:
    return AgentInterface(url=url, protocol_binding=binding, protocol_version=version)


def served(*interfaces: AgentInterface, speaks: str = "1.0", **capabilities: Any) -> Web:
    """Return an agent that has a card and speaks one version over JSON-RPC."""
    document = card(*(interfaces or (interface(),)), **capabilities)

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == CARD:
            return httpx2.Response(200, content=msgspec.json.encode(document))
        method = json.loads(request.content)["method"]
        if method not in METHODS[speaks]:
            error = {"code": -32601, "message": "Method not found"}
            return httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "error": error})
        if "tream" in method or "ubscribe" in method:
            return sse({"jsonrpc": "2.0", "id": 1, "result": RESULTS[speaks]})
        result = TASK if method == "GetTask" else RESULTS[speaks]
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": result})

    return Web(answer)


METHODS = {
    "1.0": ("SendMessage", "SendStreamingMessage", "GetTask"),
    "0.3": ("message/send", "message/stream", "tasks/get"),
    "0.1": ("tasks/send", "tasks/sendSubscribe", "tasks/get"),
}
RESULTS: dict[str, Any] = {
    "1.0": {"task": TASK},
    "0.3": OLD_TASK,
    "0.1": {"id": "t", "status": {"state": "completed"}, "final": True},
}


def methods_of(web: Web) -> list[str]:
    return [json.loads(each.content)["method"] for each in web.requests if each.content]


async def test_an_address_becomes_an_agent() -> None:
    web = served()
    async with connect("http://agent.test", http=web.client, cards=CardCache()) as agent:
        assert agent.card.name == "Agent"
        reply = await agent.send("hi")
    assert reply.task_id == "t"
    assert web.requests[0].headers["a2a-version"] == "1.0"
    assert methods_of(web) == ["SendStreamingMessage"]


async def test_headers_go_to_the_card_and_to_the_agent() -> None:
    web = served()
    async with connect(
        "http://agent.test", http=web.client, cards=CardCache(), headers={"X-Team": "blue"}
    ) as agent:
        await agent.send("hi")
    assert [request.headers["x-team"] for request in web.requests] == ["blue", "blue"]


async def test_headers_do_not_follow_a_card_elsewhere() -> None:
    web = served(interface(url="http://elsewhere.test/rpc"))
    async with connect(
        "http://agent.test", http=web.client, cards=CardCache(), headers={"X-Team": "blue"}
    ) as agent:
        await agent.send("hi")
    assert [request.headers.get("x-team") for request in web.requests] == ["blue", None]


@pytest.mark.requirement("R-A.2-2")
@pytest.mark.parametrize("speaks", ["0.3", "0.1"])
async def test_an_agent_that_speaks_less_than_its_card_says_is_understood(speaks: str) -> None:
    web = served(speaks=speaks)
    async with connect("http://agent.test", http=web.client, cards=CardCache()) as agent:
        assert (await agent.send("hi")).task_id == "t"
        assert (await agent.send("hi")).task_id == "t"
        assert agent.interface is not None
        assert agent.interface.protocol_version == speaks
    # What was found out is remembered.
    assert methods_of(web).count("SendStreamingMessage") == 1
    assert methods_of(web).count(METHODS[speaks][1]) == 2


async def test_a_pinned_version_is_the_only_one() -> None:
    web = served(speaks="0.3")
    async with connect(
        "http://agent.test", http=web.client, cards=CardCache(), version="1.0"
    ) as agent:
        with pytest.raises(Exception, match="Method not found"):
            await agent.send("hi")
    assert set(methods_of(web)) == {"SendStreamingMessage", "SendMessage"}


async def test_an_interface_alone_is_called_without_a_card() -> None:
    web = served()
    async with connect(interface(), http=web.client) as agent:
        assert (await agent.send("hi")).task_id == "t"
    assert len(web.requests) == 1


async def test_a_card_may_be_given() -> None:
    web = served()
    given = card(interface(), streaming=False)
    async with connect(given, http=web.client, headers={"X-Team": "blue"}) as agent:
        assert agent.card is given
        assert (await agent.send("hi")).task_id == "t"
    assert methods_of(web) == ["SendMessage"]
    # Who gives the card himself says whom it is for.
    assert web.last.headers["x-team"] == "blue"


async def test_a_file_is_a_card(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_bytes(msgspec.json.encode(card(interface())))
    web = served()
    async with connect(tmp_path / "card.json", http=web.client) as agent:
        assert (await agent.send("hi")).task_id == "t"


async def test_the_preferred_binding_is_used() -> None:
    web = served(interface(), interface("HTTP+JSON"), interface("GRPC", url="agent.test:1"))
    for wish, binding in (("rest", "HTTP+JSON"), (("GRPC", "JSONRPC"), "GRPC")):
        async with connect(
            "http://agent.test", http=web.client, cards=CardCache(), binding=wish
        ) as agent:
            assert agent.interface is not None
            assert agent.interface.protocol_binding == binding


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_grpc_is_found_at_the_port_of_http(version: str) -> None:
    async with (
        serving(tea_house()) as place,
        connect(place.url, binding="GRPC", version=version) as agent,
    ):
        listed = {each.protocol_binding for each in agent.card.supported_interfaces}
        assert listed == {"JSONRPC", "HTTP+JSON"}
        assert (await agent.send("mint")).text == "mint"
        assert agent.interface is not None
        spoken = (agent.interface.protocol_binding, agent.interface.protocol_version)
        assert spoken == ("GRPC", version)


async def test_an_interface_that_nobody_speaks_is_no_interface() -> None:
    web = served(interface("CARRIER-PIGEON"))
    with pytest.raises(NoInterfaceError, match="CARRIER-PIGEON"):
        async with connect("http://agent.test", http=web.client, cards=CardCache()):
            pass


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"version": "new"}, "is no version of A2A"),
        ({"binding": "soap"}, "there is no binding"),
        ({"address": 7}, "is no address"),
    ],
)
async def test_a_wrong_argument_is_named(options: dict[str, Any], text: str) -> None:
    web = served()
    address = options.pop("address", "http://agent.test")
    with pytest.raises(UsageError, match=text):
        async with connect(address, http=web.client, cards=CardCache(), **options):
            pass


async def test_where_there_is_no_card_there_is_no_agent() -> None:
    web = Web(lambda _: httpx2.Response(404))
    with pytest.raises(CardNotFoundError):
        async with connect("http://agent.test", http=web.client, retry=NEVER):
            pass


def extended(*, offered: bool = True, signer: CardSigner | None = None) -> Web:
    """Return an agent that has a card for those it knows, with one more skill and no streaming."""
    public = card(interface(url="https://agent.test/rpc"), extended_agent_card=offered)
    skill = AgentSkill(id="secret", name="Secret", description="Hidden.", tags=("x",))
    private = msgspec.structs.replace(
        public, skills=(skill,), capabilities=AgentCapabilities(streaming=False)
    )
    if signer is not None:
        public = signer.signed(public)

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == CARD:
            return httpx2.Response(200, content=msgspec.json.encode(public))
        method = json.loads(request.content)["method"]
        result = RESULTS["1.0"] if method == "SendMessage" else msgspec.to_builtins(private)
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": result})

    return Web(answer)


@pytest.mark.requirement("R-3.1.11-3", "R-3.1.11-5", "R-13.3-11", "R-3.3.4-7")
async def test_the_extended_card_takes_the_place_of_the_public_one() -> None:
    web = extended()
    async with connect(
        "https://agent.test",
        http=web.client,
        cards=CardCache(),
        auth=Bearer("t0ken"),
        extended_card=True,
    ) as agent:
        assert [skill.id for skill in agent.card.skills] == ["secret"]
        await agent.send("hi")
    # The one card is public. What the other says is what counts: it does not stream.
    assert [each.headers.get("authorization") for each in web.requests] == [
        None,
        "Bearer t0ken",
        "Bearer t0ken",
    ]
    assert methods_of(web) == ["GetExtendedAgentCard", "SendMessage"]


async def test_an_extended_card_that_is_not_offered_is_not_asked_for() -> None:
    web = extended(offered=False)
    async with connect(
        "https://agent.test", http=web.client, cards=CardCache(), extended_card=True
    ) as agent:
        assert agent.card.skills == ()
    assert len(web.requests) == 1


async def test_credentials_for_the_card_are_sent_if_the_caller_says_so() -> None:
    web = extended()
    token = Bearer("t0ken")
    for says_so, shown in ((False, None), (True, "Bearer t0ken")):
        async with connect(
            "https://agent.test", http=web.client, cards=CardCache(), auth=token, card_auth=says_so
        ):
            assert web.last.headers.get("authorization") == shown


async def test_a_card_that_is_not_trusted_is_not_connected_to() -> None:
    signer = CardSigner(new_key("ES256"))
    keys = TrustedKeys(signer.public_keys)
    web = extended(signer=signer)
    async with connect("https://agent.test", http=web.client, cards=CardCache(), trust=keys):
        pass
    with pytest.raises(CardUntrustedError, match="the key is not known"):
        async with connect(
            "https://agent.test", http=web.client, cards=CardCache(), trust=TrustedKeys()
        ):
            pass
    with pytest.raises(CardUntrustedError, match="the card is not signed"):
        async with connect(
            "https://agent.test", http=extended().client, cards=CardCache(), trust=keys
        ):
            pass


async def test_an_extended_card_must_be_signed_as_well() -> None:
    signer = CardSigner(new_key("ES256"))
    web = extended(signer=signer)
    keys = TrustedKeys(signer.public_keys)
    async with connect(
        "https://agent.test", http=web.client, cards=CardCache(), trust=keys
    ) as agent:
        before = agent.card
        with pytest.raises(CardUntrustedError, match="the card is not signed"):
            await agent.extended_card()
        assert agent.card is before


@pytest.mark.parametrize("downgrade", [True, False])
async def test_what_a_card_declares_is_spoken_in_its_order_or_in_its_newest(
    *, downgrade: bool
) -> None:
    old, new = interface(version="0.3"), interface(version="1.0")
    async with connect(card(old, new), downgrade=downgrade) as agent:
        assert agent.interface == (old if downgrade else new)
    async with connect(card(old), downgrade=downgrade) as agent:
        assert agent.interface == old
