import pytest

from dragoman.auth.shared.redaction import (
    redacted_headers,
    redacted_json,
    redacted_url,
    without_userinfo,
)


def test_only_listed_headers_are_shown() -> None:
    headers = {"A2A-Version": "1.0", "Authorization": "Bearer s", "X-Anything": "s", "Cookie": "s"}
    assert redacted_headers(headers) == {
        "A2A-Version": "1.0",
        "Authorization": "<redacted>",
        "X-Anything": "<redacted>",
        "Cookie": "<redacted>",
    }


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:secret@a.example/x", "https://<redacted>@a.example/x"),
        (
            "https://a.example/tasks?pageSize=2&key=s",
            "https://a.example/tasks?pageSize=2&key=<redacted>",
        ),
        ("https://a.example/x", "https://a.example/x"),
    ],
)
def test_urls_are_shown_without_secrets(url: str, shown: str) -> None:
    assert redacted_url(url) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"token":"s","url":"u"}', '{"token":"<redacted>","url":"u"}'),
        ('{"a":{"credentials": "s\\"t"}}', '{"a":{"credentials": "<redacted>"}}'),
        (
            '{"access_token":"s","idToken":"s"}',
            '{"access_token":"<redacted>","idToken":"<redacted>"}',
        ),
        ('{"tokens":"kept"}', '{"tokens":"kept"}'),
    ],
)
def test_members_that_are_called_like_secrets_are_not_shown(text: str, shown: str) -> None:
    assert redacted_json(text) == shown


def test_a_text_without_a_url_stays_as_it_is() -> None:
    assert without_userinfo("me@agent.example") == "me@agent.example"
