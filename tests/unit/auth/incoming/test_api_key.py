"""Who is let in by a key, and who is not."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.authenticator import Evidence, Principal
from dragoman.auth.incoming.key_records import KeyRecord, change_keys, digest_of, read_uses
from dragoman.auth.outgoing.credentials import ApiKey, KeyLocation
from dragoman.errors import UsageError
from dragoman.testing.clock import FakeClock
from tests.support.auth.issuing import refusal, showing

KEY = "dgm_Zm9vYmFy"
RECORD = KeyRecord(
    id="k-1",
    hash=digest_of(KEY),
    owner="alice",
    scopes=("read",),
    tenants=("t",),
    created="2026-01-01T00:00:00.000Z",
    expires="2026-01-02T00:00:00.000Z",
)


async def owner(keys: ApiKeys, evidence: Evidence) -> str | None:
    found = await keys.authenticate(evidence)
    return found.owner if found else None


# --- where it travels -----------------------------------------------------------------------------


def in_query(query: str) -> Evidence:
    return Evidence(headers={}, query=query)


async def test_a_key_travels_in_a_header() -> None:
    keys = ApiKeys({KEY: "alice"})
    assert await owner(keys, showing(x_api_key=KEY)) == "key:alice"
    assert await owner(keys, showing()) is None
    # Elsewhere it is not looked for: it may be somebody else's business.
    assert await owner(keys, in_query(f"X-API-Key={KEY}")) is None
    assert await owner(keys, showing(cookie=f"X-API-Key={KEY}")) is None
    assert await owner(keys, showing(f"Bearer {KEY}")) is None


async def test_a_key_travels_in_the_query() -> None:
    keys = ApiKeys({"a+b/c=": "alice"}, location="query", parameter="key")
    assert await owner(keys, in_query("x=1&key=a%2Bb%2Fc%3D&y")) == "key:alice"
    assert await owner(keys, in_query("")) is None
    assert await owner(keys, in_query("keys=a&KEY=b")) is None
    # Clients of gRPC have no query, and send metadata of that name.
    assert await owner(keys, showing(key="a+b/c=")) == "key:alice"
    for query in ("key=", "key", "key=wrong", "key=a%2Bb%2Fc%3D&key=other", "key=%FF%FE"):
        assert await refusal(keys, in_query(query))
    assert "more than 64 members" in await refusal(keys, in_query("a=1&" * 100 + "key=x"))


async def test_a_key_travels_in_a_cookie() -> None:
    keys = ApiKeys({KEY: "alice"}, location="cookie", parameter="key")
    for cookie in (f"key={KEY}", f"a=b; key={KEY}; c", f' key="{KEY}" ', f"key={KEY}; key={KEY}"):
        assert await owner(keys, showing(cookie=cookie)) == "key:alice"
    for cookie in ("", "a=b", "Key=x", "key", ";;;"):
        assert await owner(keys, showing(cookie=cookie)) is None
    for cookie in ("key=", "key=wrong", f"key={KEY}; key=other", f"key={KEY},key=other"):
        assert await refusal(keys, showing(cookie=cookie))


@pytest.mark.parametrize("location", ["header", "query", "cookie"])
async def test_what_our_client_sends_is_what_is_read(location: KeyLocation) -> None:
    keys = ApiKeys({KEY: "alice"}, location=location, parameter="X-Key")
    credentials = ApiKey(key=KEY, name="X-Key", location=location, for_origin="https://a.example")
    sent = await credentials.attach("https://a.example")
    headers = {name.lower().encode(): value for name, value in sent.http_headers().items()}
    query = sent.applied_to("https://a.example/").partition("?")[2]
    assert await owner(keys, Evidence(headers=headers, query=query)) == "key:alice"
    metadata = {name.encode(): value for name, value in sent.grpc_metadata()}
    assert await owner(keys, Evidence(headers=metadata)) == "key:alice"


# --- what is no key -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shown",
    [
        "",
        " ",
        f"{KEY} ",
        KEY.lower(),
        KEY[:-1],
        f"{KEY}x",
        f"{KEY},{KEY}",
        f"{KEY}\x00",
        f"{KEY}\N{NO-BREAK SPACE}",
        "\N{LATIN SMALL LETTER E WITH ACUTE}",
        pytest.param("x" * 512, id="longest"),
        pytest.param("x" * 513, id="too long"),
        pytest.param("x" * 60_000, id="huge"),
        digest_of(KEY),
    ],
)
async def test_what_is_no_key_is_refused(shown: str) -> None:
    assert await refusal(ApiKeys({KEY: "alice"}), showing(x_api_key=shown))


async def test_the_hash_in_the_file_opens_no_door(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    change_keys(path, lambda _: (RECORD,))
    keys = ApiKeys(path, clock=FakeClock())
    for stolen in (RECORD.hash, RECORD.hash.removeprefix("sha256:"), RECORD.id):
        assert await refusal(keys, showing(x_api_key=stolen))


# --- a file ---------------------------------------------------------------------------------------


async def test_keys_of_a_file_have_all_that_the_file_says(tmp_path: Path) -> None:
    path, clock = tmp_path / "keys.json", FakeClock()
    change_keys(path, lambda _: (RECORD,))
    keys = ApiKeys(path, clock=clock)
    assert await keys.authenticate(showing(x_api_key=KEY)) == Principal(
        owner="key:alice",
        scopes=frozenset({"read"}),
        tenants=frozenset({"t"}),
        expires_ms=RECORD.expires_ms,
    )
    assert read_uses(path) == {"k-1": "2026-01-01T00:00:00.000Z"}
    clock.advance(30)
    assert await owner(keys, showing(x_api_key=KEY))
    await keys.flush()
    assert read_uses(path) == {"k-1": "2026-01-01T00:00:30.000Z"}


async def test_a_key_that_has_expired_or_is_revoked_is_refused(tmp_path: Path) -> None:
    path, clock = tmp_path / "keys.json", FakeClock()
    change_keys(path, lambda _: (RECORD, replace(RECORD, id="l", hash=digest_of("l"), expires="")))
    keys = ApiKeys(path, clock=clock)
    clock.advance(24 * 3600)
    assert await refusal(keys, showing(x_api_key=KEY))
    assert await owner(keys, showing(x_api_key="l"))
    change_keys(path, lambda known: tuple(replace(one, revoked=one.created) for one in known))
    clock.advance(1)
    assert await refusal(keys, showing(x_api_key="l"))


def test_a_file_that_cannot_be_read_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        ApiKeys(tmp_path / "keys.json")


# --- in code --------------------------------------------------------------------------------------


async def test_keys_may_be_given_in_code() -> None:
    bob = Principal(owner="bob", scopes=frozenset({"x"}))
    keys = ApiKeys({"a": "alice", "b": bob}, owner_prefix="")
    assert await owner(keys, showing(x_api_key="a")) == "alice"
    assert await keys.authenticate(showing(x_api_key="b")) is bob
    assert "'a'" not in repr(vars(keys))
    await keys.flush()


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_function_may_know_the_keys(*, is_async: bool) -> None:
    def find(key: str) -> str | None:
        return {"a": "alice"}.get(key)

    async def find_slowly(key: str) -> str | None:
        return find(key)

    keys = ApiKeys(find_slowly if is_async else find)
    assert await owner(keys, showing(x_api_key="a")) == "key:alice"
    assert await refusal(keys, showing(x_api_key="b"))
    # It is not even asked what cannot be a key.
    assert await refusal(keys, showing(x_api_key="\xff"))


@pytest.mark.parametrize(
    "key", ["", "\N{EURO SIGN}", "a\nb", pytest.param("x" * 513, id="too long")]
)
def test_a_key_that_no_header_can_carry_cannot_be_given(key: str) -> None:
    with pytest.raises(UsageError, match="an API key has") as caught:
        ApiKeys({key: "alice"})
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize("location", ["header", "query", "cookie"])
def test_the_card_tells_of_it(location: Any) -> None:
    keys = ApiKeys({}, location=location, parameter="X-Key", name="key", description="Ask us.")
    scheme = keys.scheme.api_key_security_scheme
    assert scheme is not None
    assert (scheme.location, scheme.name, scheme.description) == (location, "X-Key", "Ask us.")
    assert keys.name == "key"
    assert keys.challenge == f'ApiKey realm="a2a", in="{location}", name="X-Key"'
