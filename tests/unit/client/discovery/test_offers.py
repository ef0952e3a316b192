from typing import Any

import pytest

from dragoman.client.discovery.offers import Offer, binding_named, offers_of
from dragoman.client.errors import NoInterfaceError
from dragoman.dialects.negotiation import Version
from dragoman.dialects.registry import shown_profiles
from dragoman.errors import UsageError
from dragoman.model.cards import AgentInterface
from tests.support.client.fakes import card

CARD_URL = "https://a.example/.well-known/agent-card.json"


def at(
    binding: str, version: str, url: str = "https://a.example/rpc", tenant: str = ""
) -> AgentInterface:
    return AgentInterface(
        url=url, protocol_binding=binding, protocol_version=version, tenant=tenant
    )


def told(offers: tuple[Offer, ...]) -> list[tuple[str, str, str, str]]:
    return [(str(each.version), each.binding, each.form, each.url) for each in offers]


@pytest.mark.requirement("R-8.3.2-1", "R-8.3.2-2", "R-8.3.2-3")
def test_the_order_of_the_card_counts() -> None:
    offers = offers_of(
        card(
            at("HTTP+JSON", "1.0", "https://a.example/rest/"),
            at("urn:own-binding", "1.0"),
            at("GRPC", "0.3", "a.example:50051"),
            at("JSONRPC", "1.0.1"),
        ),
        CARD_URL,
    )
    assert told(tuple(each for each in offers if each.is_declared)) == [
        ("1.0", "HTTP+JSON", "1.0", "https://a.example/rest"),
        ("0.3", "GRPC", "0.3", "https://a.example:50051"),
        ("1.0", "JSONRPC", "1.0", "https://a.example/rpc"),
    ]


def test_guesses_come_after_all_that_is_declared() -> None:
    offers = offers_of(card(at("JSONRPC", "1.0"), at("HTTP+JSON", "1.0")), CARD_URL)
    assert told(offers) == [
        ("1.0", "JSONRPC", "1.0", "https://a.example/rpc"),
        ("1.0", "HTTP+JSON", "1.0", "https://a.example/rpc"),
        ("0.3", "JSONRPC", "0.3", "https://a.example/rpc"),
        ("0.1", "JSONRPC", "0.1", "https://a.example/rpc"),
        ("0.3", "HTTP+JSON", "0.3-proto", "https://a.example/rpc/v1"),
    ]


@pytest.mark.requirement("R-5.2-2")
def test_the_preference_of_the_caller_goes_before() -> None:
    found = card(at("JSONRPC", "1.0"), at("GRPC", "1.0", "a.example:1"), at("HTTP+JSON", "1.0"))
    offers = offers_of(found, CARD_URL, bindings=("HTTP+JSON", "GRPC"))
    assert [each.binding for each in offers if each.is_declared] == ["HTTP+JSON", "GRPC", "JSONRPC"]


def test_what_is_not_installed_is_left_out() -> None:
    found = card(at("GRPC", "1.0", "a.example:1"), at("JSONRPC", "1.0"))
    offers = offers_of(found, CARD_URL, installed=("JSONRPC", "HTTP+JSON"))
    assert {each.binding for each in offers} == {"JSONRPC"}


@pytest.mark.requirement("R-3.6.3-2")
def test_a_version_that_is_pinned_is_the_only_one() -> None:
    found = card(at("JSONRPC", "1.0"), at("JSONRPC", "0.3"), at("JSONRPC", "0.2"))
    offers = offers_of(found, CARD_URL, version=Version(0, 2))
    assert told(offers) == [("0.2", "JSONRPC", "0.3", "https://a.example/rpc")]


@pytest.mark.parametrize("tenant", ["", "acme"])
def test_a_tenant_has_interfaces_of_its_own(tenant: str) -> None:
    found = card(at("JSONRPC", "1.0"), at("JSONRPC", "1.0", tenant="acme"))
    first, *_ = offers_of(found, CARD_URL, tenant=tenant)
    assert first.tenant == tenant


def test_the_agents_of_xpr_are_called_beside_their_address() -> None:
    found = card(at("JSONRPC", "0.2", "https://a.example"))
    offers = offers_of(found, CARD_URL, profiles=shown_profiles(("xpr:account",)))
    assert [(each.form, each.url) for each in offers if each.is_declared] == [
        ("xpr", "https://a.example/a2a"),
        ("0.3", "https://a.example/a2a"),
        ("0.3", "https://a.example"),
    ]


def test_the_routes_of_0_3_begin_with_v1() -> None:
    offers = offers_of(card(at("HTTP+JSON", "0.3", "https://a.example/")), CARD_URL)
    assert [(each.form, each.url) for each in offers] == [
        ("0.3-proto", "https://a.example/v1"),
        ("0.3", "https://a.example/v1"),
    ]


def test_an_address_that_already_ends_so_is_tried_both_ways() -> None:
    offers = offers_of(card(at("HTTP+JSON", "0.3", "https://a.example/v1")), CARD_URL)
    urls = [each.url for each in offers if each.is_declared]
    assert urls == ["https://a.example/v1/v1", "https://a.example/v1"]


@pytest.mark.parametrize(
    "interface",
    [
        at("JSONRPC", "2.0"),
        at("JSONRPC", "one"),
        at("jsonrpc", "1.0"),  # names are compared exactly
        at("HTTP+JSON", "0.1"),
        at("JSONRPC", "1.0", "ftp://a.example"),
        at("GRPC", "1.0", "a.example:port"),
    ],
)
def test_what_cannot_be_used_is_not_offered(interface: AgentInterface) -> None:
    with pytest.raises(NoInterfaceError) as caught:
        offers_of(card(interface), CARD_URL)
    offered = f"{interface.protocol_binding} {interface.protocol_version}"
    assert caught.value.offered == (offered,)


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ({"version": Version(0, 3)}, "that is of version 0.3"),
        ({"tenant": "acme"}, "that is for the tenant 'acme'"),
        (
            {"version": Version(0, 3), "tenant": ""},
            "that is of version 0.3 and without a tenant",
        ),
    ],
)
def test_a_wish_that_cannot_be_met_is_named(wish: dict[str, Any], text: str) -> None:
    found = card(at("GRPC", "1.0", "a.example:1", tenant="x"))
    with pytest.raises(NoInterfaceError, match=text):
        offers_of(found, CARD_URL, **wish)


@pytest.mark.parametrize(
    ("name", "binding"),
    [("jsonrpc", "JSONRPC"), ("JSON-RPC", "JSONRPC"), ("rest", "HTTP+JSON"), ("Grpc", "GRPC")],
)
def test_bindings_go_by_several_names(name: str, binding: str) -> None:
    assert binding_named(name) == binding


def test_an_unknown_binding_is_refused() -> None:
    with pytest.raises(UsageError, match="choose from JSONRPC"):
        binding_named("soap")
