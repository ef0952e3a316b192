import pytest

from dragoman.auth.incoming.authenticator import BadCredentialsError
from dragoman.auth.incoming.authorization_header import challenge_of, credentials_in
from tests.support.auth.issuing import showing


@pytest.mark.parametrize(
    "header", ["Bearer abc", "bearer abc", "BEARER   abc  ", "\t Bearer abc\t", " Bearer abc "]
)
def test_the_credentials_of_a_scheme_are_found(header: str) -> None:
    assert credentials_in(showing(header), "Bearer", most=3) == "abc"


@pytest.mark.parametrize("header", [None, "", " ", "Basic abc", "Bearerabc", "Bearer,abc", "abc"])
def test_those_of_another_scheme_are_not(header: str | None) -> None:
    assert credentials_in(showing(header), "Bearer", most=10) is None


@pytest.mark.parametrize(
    "credentials",
    [
        "",
        "   ",
        "a b",
        "a,Bearer b",
        "a, b",
        "a=b",
        "=",
        'realm="a"',
        "a\tb",
        "a\nb",
        "a\x00",
        "\N{LATIN SMALL LETTER U WITH DIAERESIS}",
        "elevenchars",
    ],
)
def test_what_cannot_be_credentials_is_refused(credentials: str) -> None:
    with pytest.raises(BadCredentialsError):
        credentials_in(showing(f"Bearer {credentials}"), "Bearer", most=10)


def test_the_scheme_alone_is_refused() -> None:
    with pytest.raises(BadCredentialsError, match="missing"):
        credentials_in(showing("Bearer"), "Bearer", most=10)


def test_a_challenge_is_written_as_rfc_9110_has_it() -> None:
    assert (
        challenge_of("Basic", realm="a2a", charset="UTF-8") == 'Basic realm="a2a", charset="UTF-8"'
    )
    assert challenge_of("Negotiate") == "Negotiate"


@pytest.mark.parametrize("value", ['a"', "a\\", "a\r\nSet-Cookie: x", "\N{EURO SIGN}"])
def test_nothing_breaks_out_of_a_challenge(value: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a challenge"):
        challenge_of("Basic", realm=value)
