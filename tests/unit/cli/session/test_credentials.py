import json
from pathlib import Path

import pytest

from dragoman.auth.outgoing.credentials import ApiKey, Bearer, Custom
from dragoman.cli.options.options import (
    API_KEY,
    AUTH,
    BEARER,
    CARD_AUTH,
    INSECURE,
    SVC_PARAM,
    Option,
)
from dragoman.cli.options.settings import Given
from dragoman.cli.session.credentials import (
    Luggage,
    card_failure,
    check_sources,
    hint_for,
    luggage_of,
    warnings_of,
)
from dragoman.dialects.v1_0.card import decode_card
from dragoman.errors import UnauthenticatedError, UsageError
from tests.cli.fake import asking_for, card
from tests.unit.cli.options.test_settings import read

BEARER_SCHEME = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
KEY_SCHEME = {"apiKeySecurityScheme": {"location": "header", "name": "k"}}


def given(option: Option[object], text: str = "true") -> Given:
    return Given(option, text, option.flags[0])


def test_credentials_are_held_and_not_sent_to_everybody(tmp_path: Path) -> None:
    luggage = luggage_of(read(tmp_path, given(BEARER, "token"), given(API_KEY, "key")))
    assert luggage == Luggage({}, (Bearer(token="token"), ApiKey(key="key")))  # noqa: S106 - none


async def test_parameters_like_credentials_are_held_too(tmp_path: Path) -> None:
    flags = (
        given(SVC_PARAM, "X-A: 1"),
        given(SVC_PARAM, "X-A: 2"),
        given(SVC_PARAM, "cookie: c"),
        given(AUTH, "Custom c"),
    )
    luggage = luggage_of(read(tmp_path, *flags))
    assert luggage.headers == {"X-A": "1,2"}
    (custom,) = luggage.held
    assert isinstance(custom, Custom)
    attached = await custom.bound_to("https://a.example:443").attach("https://a.example:443")
    assert attached.headers == {"cookie": "c", "Authorization": "Custom c"}


def test_the_card_gets_them_if_that_is_wanted(tmp_path: Path) -> None:
    luggage = luggage_of(read(tmp_path, given(BEARER, "token"), given(CARD_AUTH)))
    assert luggage.headers == {"Authorization": "Bearer token"}


def test_nothing_is_said_about_what_is_in_order(tmp_path: Path) -> None:
    environment = {"A2ACLI_AGENT_CARD": "a.example", "A2ACLI_BEARER": "token"}
    assert list(warnings_of(read(tmp_path, environment=environment))) == []


def test_an_unverified_peer_is_told(tmp_path: Path) -> None:
    (told,) = warnings_of(read(tmp_path, given(INSECURE)))
    assert told == "the certificate of the agent is not verified (--insecure)"
    (loud,) = warnings_of(read(tmp_path, given(INSECURE), given(API_KEY, "key")))
    assert loud.startswith("CREDENTIALS ARE SENT")


@pytest.mark.parametrize(
    ("local", "environment", "is_told"),
    [
        ("A2ACLI_AGENT_CARD=a.example", {"A2ACLI_BEARER": "token"}, True),
        ("A2ACLI_BEARER=token", {"A2ACLI_AGENT_CARD": "a.example"}, True),
        ("A2ACLI_BEARER=token\nA2ACLI_AGENT_CARD=a.example", {}, False),
    ],
)
def test_mixed_sources_are_told(
    tmp_path: Path, local: str, environment: dict[str, str], *, is_told: bool
) -> None:
    (tmp_path / ".env").write_text(local)
    (tmp_path / ".env").chmod(0o600)
    told = list(warnings_of(read(tmp_path, environment=environment)))
    assert bool(told) is is_told


def test_a_found_file_does_not_get_what_is_kept_for_all(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A2ACLI_AGENT_CARD=a.example")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / ".env").write_text("A2ACLI_API_KEY=key")
    with pytest.raises(UsageError, match=r"--api-key from .* is not sent to the agent that"):
        check_sources(read(tmp_path))
    # Said by the user, it is meant.
    check_sources(read(tmp_path, given(API_KEY, "key")))


@pytest.mark.parametrize(
    ("scheme", "hint"),
    [
        (BEARER_SCHEME, "give credentials with --bearer (A2ACLI_BEARER)"),
        (KEY_SCHEME, "give credentials with --api-key (A2ACLI_API_KEY)"),
    ],
)
def test_the_hint_fits_the_card(scheme: dict[str, object], hint: str) -> None:
    found = decode_card(json.dumps(card("https://a.example", **asking_for(scheme))).encode())
    assert hint_for(found) == hint


def test_a_card_that_says_nothing_leaves_both() -> None:
    found = decode_card(json.dumps(card("https://a.example")).encode())
    assert "--bearer" in hint_for(found)
    assert "--api-key" in hint_for(found)


def test_a_card_that_is_not_public_is_told_with_the_flag() -> None:
    failure = card_failure(UnauthenticatedError(), Luggage({}, ()))
    assert failure.code == "A2ACLI_ERR_CREDENTIALS_MISSING"
    assert "--card-auth" in (failure.hint or "")
    refused = card_failure(UnauthenticatedError(), Luggage({"Authorization": "x"}, ()))
    assert refused.code == "A2ACLI_ERR_AUTH_FAILED"
