from dragoman.conformance.cards import (
    Declared,
    card_findings,
    declared_in,
    no_card,
    no_interface,
    not_spoken,
)


def test_interfaces_are_read_in_the_order_of_the_card() -> None:
    card = {
        "supportedInterfaces": [
            {"url": "a", "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "t"},
            {"url": "b", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            "nonsense",
        ]
    }
    assert declared_in(card) == (
        Declared(binding="GRPC", version="1.0", url="a", tenant="t"),
        Declared(binding="JSONRPC", version="0.3", url="b"),
    )


def test_an_older_card_has_one_and_others() -> None:
    card = {
        "url": "a",
        "protocolVersion": "0.3.0",
        "additionalInterfaces": [
            {"url": "a", "transport": "JSONRPC"},
            {"url": "b", "transport": "GRPC"},
        ],
    }
    assert declared_in(card) == (
        Declared(binding="JSONRPC", version="0.3", url="a"),
        Declared(binding="GRPC", version="0.3", url="b"),
    )
    assert declared_in({"url": "a"})[0].version == "0.2"


def test_what_is_found_about_a_card() -> None:
    good = {"cache-control": "public, max-age=60", "etag": '"1"'}
    assert [(each.id, each.status) for each in card_findings([], good)] == [
        ("card.available", "pass"),
        ("card.schema", "pass"),
        ("card.cache-control", "pass"),
        ("card.etag", "pass"),
    ]
    _, schema, cached, tagged = card_findings(["/x: is missing", "/y: is missing"], {})
    assert (schema.status, schema.found) == ("fail", "/x: is missing; /y: is missing")
    # These are advice, no demand.
    assert (cached.level, cached.status, tagged.status) == ("SHOULD", "fail", "fail")


def test_a_file_has_no_headers_to_look_at() -> None:
    assert [each.id for each in card_findings([], None)] == ["card.available", "card.schema"]


def test_what_is_not_there_fails_and_what_is_not_spoken_is_skipped() -> None:
    assert no_card("404").is_must_failure
    assert no_interface("it declares none").is_must_failure
    skipped = not_spoken(Declared(binding="GRPC", version="0.3", url="a"), "not installed")
    assert (skipped.status, skipped.found, skipped.requirement) == ("skip", "not installed", "")
