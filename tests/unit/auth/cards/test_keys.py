import json
from pathlib import Path

import httpx2
import pytest

from dragoman.auth.cards.keys import KeysOutOfReachError, TrustedKeys
from dragoman.auth.shared.key_sets import NoKeyError
from dragoman.errors import UsageError
from dragoman.testing.clock import FakeClock
from tests.support.auth.answering import Answering
from tests.support.auth.signing_cards import new_key

JKU = "https://keys.example/jwks.json"


def public(kid: str, **more: object) -> dict[str, object]:
    private = {"d", "alg"}
    key = {name: value for name, value in new_key("ES256").items() if name not in private}
    return {**key, "kid": kid, **more}


ONE, TWO = public("one"), public("two")


async def kids(keys: TrustedKeys, kid: str, jku: str = "") -> list[str | None]:
    return [key.kid for key in await keys.find(kid, jku)]


async def reason(keys: TrustedKeys, kid: str, jku: str = "") -> str:
    with pytest.raises(NoKeyError) as caught:
        await keys.find(kid, jku)
    return str(caught.value)


@pytest.mark.requirement("R-8.4.3-1", "R-8.4.3-5")
async def test_a_key_is_found_by_its_name_in_what_was_given(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [TWO]}))
    keys = TrustedKeys({"keys": [ONE]}, path)
    assert await kids(keys, "one") == ["one"]
    assert await kids(keys, "two") == ["two"]
    assert await reason(keys, "three") == "the key is not known"


async def test_two_keys_may_have_one_name() -> None:
    assert await kids(TrustedKeys({"keys": [ONE, {**TWO, "kid": "one"}]}), "one") == ["one", "one"]


@pytest.mark.requirement("R-8.4.3-1")
@pytest.mark.parametrize("allowed", ["https://keys.example", "https://KEYS.example:443/", JKU])
async def test_a_key_is_fetched_from_where_that_is_allowed(allowed: str) -> None:
    server = Answering({"keys": [ONE]})
    keys = TrustedKeys(jku=[allowed], http=server.http)
    assert await kids(keys, "one", JKU) == ["one"]
    assert [asked.url for asked in server.asked] == [JKU]


@pytest.mark.requirement("R-8.4.3-4")
@pytest.mark.parametrize(
    "jku",
    [
        "http://keys.example/jwks.json",
        "https://keys.example.evil.example/jwks.json",
        "https://keys.example:8443/jwks.json",
        "https://keys.example@evil.example/jwks.json",
        "https://exact.example/other.json",
        "https://exact.example/jwks.json?x",
        "file:///etc/passwd",
        "//keys.example",
        "https://[",
    ],
)
async def test_no_other_address_is_asked(jku: str) -> None:
    server = Answering()
    allowed = ["https://keys.example", "https://exact.example/jwks.json"]
    keys = TrustedKeys(jku=allowed, http=server.http)
    assert "is not on the allow-list" in await reason(keys, "one", jku)
    assert server.asked == []


async def test_what_was_given_comes_before_what_can_be_fetched() -> None:
    server = Answering()
    keys = TrustedKeys({"keys": [ONE]}, jku=[JKU], http=server.http)
    assert await kids(keys, "one", JKU) == ["one"]
    assert server.asked == []


@pytest.mark.requirement("R-8.4.3-6")
async def test_a_key_that_has_been_withdrawn_is_gone_after_a_while() -> None:
    server, clock = Answering({"keys": [ONE]}, {"keys": [TWO]}), FakeClock()
    keys = TrustedKeys(jku=[JKU], http=server.http, clock=clock)
    assert await kids(keys, "one", JKU) == ["one"]
    clock.advance(299)
    assert await kids(keys, "one", JKU) == ["one"]
    clock.advance(1)
    assert await reason(keys, "one", JKU) == "the key is not known"


async def test_a_key_that_is_new_is_looked_for_but_not_all_the_time() -> None:
    server, clock = Answering({"keys": [ONE]}, {"keys": [ONE, TWO]}), FakeClock()
    keys = TrustedKeys(jku=[JKU], http=server.http, clock=clock)
    assert await kids(keys, "one", JKU) == ["one"]
    clock.advance(9)
    assert await reason(keys, "two", JKU) == "the key is not known"
    clock.advance(1)
    assert await kids(keys, "two", JKU) == ["two"]


async def test_a_set_that_cannot_be_had_may_be_had_later() -> None:
    server = Answering((404, {"a": 1}), httpx2.ConnectError("refused"))
    keys = TrustedKeys(jku=[JKU], http=server.http)
    for _ in range(2):
        with pytest.raises(KeysOutOfReachError):
            await keys.find("one", JKU)


async def test_keys_may_be_fetched_on_this_machine_without_tls() -> None:
    local = "http://127.0.0.1:8000/jwks.json"
    server = Answering({"keys": [ONE]})
    assert await kids(TrustedKeys(jku=[local], http=server.http), "one", local) == ["one"]


async def test_a_set_that_cannot_be_had_is_told() -> None:
    server = Answering((404, {"a": 1}), httpx2.ConnectError("refused"), {"keys": "none"})
    keys = TrustedKeys(jku=[JKU], http=server.http)
    assert await reason(keys, "one", JKU) == f"{JKU} answers with HTTP status 404"
    assert await reason(keys, "one", JKU) == f"{JKU}: no answer: refused"
    assert await reason(keys, "one", JKU) == "the key is not known"


NOW = FakeClock().now_ms() // 1000


@pytest.mark.requirement("R-8.4.3-6")
@pytest.mark.parametrize(
    "more", [{"exp": NOW}, {"exp": NOW - 0.5}, {"nbf": NOW + 1}, {"revoked": {"revoked_at": 1}}]
)
async def test_a_key_that_is_not_in_force_is_no_key(more: dict[str, object]) -> None:
    keys = TrustedKeys({"keys": [{**ONE, **more}]}, clock=FakeClock())
    assert await reason(keys, "one") == "the key has expired or was revoked"


@pytest.mark.requirement("R-8.4.3-6")
async def test_a_key_that_is_in_force_is_one() -> None:
    keys = TrustedKeys({"keys": [{**ONE, "nbf": NOW, "exp": NOW + 1}]}, clock=FakeClock())
    assert await kids(keys, "one") == ["one"]


def test_only_addresses_of_https_can_be_allowed() -> None:
    with pytest.raises(UsageError, match="by https alone"):
        TrustedKeys(jku=["http://keys.example"])
