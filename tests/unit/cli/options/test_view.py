import pytest

from dragoman.cli.options.options import (
    AGENT_CARD,
    ASYNC,
    BEARER,
    METADATA,
    OUTPUT,
    TIMEOUT,
    TRANSPORT,
    Option,
)
from dragoman.cli.options.settings import NO_SETTINGS, Given, Settings
from dragoman.cli.options.view import described, shown


def given(option: Option[object], text: str) -> Settings:
    return Settings((Given(option, text, option.flags[0]),), (), is_walked_up=False)


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        (TIMEOUT, "1m30s", "90s"),
        (ASYNC, "true", "true"),
        (TRANSPORT, "rest", "HTTP+JSON"),
        (METADATA, '{"a": 1}', '{"a":1}'),
        (AGENT_CARD, "https://me:secret@agent.example", "https://<redacted>@agent.example"),
        (BEARER, "secret", "<redacted>"),
        (TIMEOUT, "soon", "(invalid: --timeout must be a duration such as 500ms, 2s or 1m30s)"),
    ],
)
def test_a_value_is_shown_as_it_may_be(option: Option[object], text: str, expected: str) -> None:
    assert shown(option, given(option, text)) == expected


def test_what_is_not_set_is_shown_as_nothing() -> None:
    assert shown(AGENT_CARD, NO_SETTINGS) is None
    assert shown(TRANSPORT, NO_SETTINGS) is None


def test_help_tells_the_value_and_its_source() -> None:
    assert described(OUTPUT, NO_SETTINGS) == "text"
    assert described(OUTPUT, given(OUTPUT, "json")) == "json, from --output"
    assert described(TIMEOUT, NO_SETTINGS) == "5m"
    assert described(BEARER, given(BEARER, "secret")) == "<redacted>, from --bearer"


def test_that_a_switch_is_off_goes_without_saying() -> None:
    assert described(ASYNC, NO_SETTINGS) == ""
    assert described(AGENT_CARD, NO_SETTINGS) == ""
