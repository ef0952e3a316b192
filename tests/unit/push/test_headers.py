from base64 import b64encode

import pytest

from dragoman.model.push import AuthenticationInfo
from dragoman.push.headers import (
    credential_headers,
    is_same_text,
    shows_credentials,
    shows_token,
    token_headers,
)

PASSWORD = AuthenticationInfo(scheme="Basic", credentials="ada:let me in")


def received(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def test_a_token_is_sent_under_both_names() -> None:
    assert token_headers("tok") == {
        "X-A2A-Notification-Token": "tok",
        "A2A-Notification-Token": "tok",
    }


@pytest.mark.requirement("R-T.str-9")
@pytest.mark.parametrize(
    ("headers", "is_shown"),
    [
        ({"x-a2a-notification-token": "tok"}, True),
        ({"a2a-notification-token": "tok"}, True),
        # While it is being changed, the one before is good, too.
        ({"x-a2a-notification-token": "old"}, True),
        (received(token_headers("tok")), True),
        ({}, False),
        ({"x-a2a-notification-token": ""}, False),
        ({"x-a2a-notification-token": "to"}, False),
        ({"x-a2a-notification-token": "tok", "a2a-notification-token": "other"}, False),
        ({"x-a2a-notification-token": "tök"}, False),
    ],
)
def test_a_token_is_read_under_either_name(headers: dict[str, str], is_shown: bool) -> None:  # noqa: FBT001 - a column of the table
    assert shows_token(headers, ("tok", "old")) is is_shown


@pytest.mark.parametrize(
    ("scheme", "credentials", "headers"),
    [
        ("Bearer", "s3cret", {"Authorization": "Bearer s3cret"}),
        ("Basic", "YWRhOng=", {"Authorization": "Basic YWRhOng="}),
        ("Basic", "ada:x", {"Authorization": "Basic YWRhOng="}),
        ("ApiKey", "k", {"X-API-Key": "k"}),
        ("api-key", "k", {"X-API-Key": "k"}),
        ("Custom", "a b", {"Authorization": "Custom a b"}),
    ],
)
def test_what_is_sent_is_what_is_asked_for(
    scheme: str, credentials: str, headers: dict[str, str]
) -> None:
    authentication = AuthenticationInfo(scheme=scheme, credentials=credentials)
    assert credential_headers(authentication) == headers
    assert shows_credentials(received(headers), authentication)
    assert not shows_credentials({}, authentication)
    assert not shows_credentials(
        {name: f"{value}x" for name, value in received(headers).items()}, authentication
    )


@pytest.mark.requirement("R-4.3.2-1")
def test_the_case_of_a_scheme_does_not_matter() -> None:
    bearer = AuthenticationInfo(scheme="bearer", credentials="A")
    assert shows_credentials({"authorization": "BEARER A"}, bearer)
    assert not shows_credentials({"authorization": "Bearer a"}, bearer)
    assert not shows_credentials({"authorization": "Basic A"}, bearer)


def test_credentials_may_stand_as_they_were_registered() -> None:
    key = AuthenticationInfo(scheme="ApiKey", credentials="k")
    assert shows_credentials({"authorization": "ApiKey k"}, key)
    assert shows_credentials({"authorization": "Basic ada:let me in"}, PASSWORD)
    encoded = b64encode(b"ada:let me in").decode()
    assert shows_credentials({"authorization": f"Basic {encoded}"}, PASSWORD)


def test_texts_of_any_letters_can_be_compared() -> None:
    assert is_same_text("Grüße", "Grüße")
    assert not is_same_text("Grüße", "Gruesse")
