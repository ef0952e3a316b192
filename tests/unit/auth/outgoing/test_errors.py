from dragoman.auth.outgoing.errors import (
    AuthorizationServerError,
    CredentialsError,
    MissingCredentialsError,
    TokenRefusedError,
)
from dragoman.errors import DragomanError


def test_all_of_them_are_errors_of_ours() -> None:
    for kind in (MissingCredentialsError, TokenRefusedError, AuthorizationServerError):
        assert issubclass(kind, CredentialsError)
    assert issubclass(CredentialsError, DragomanError)


def test_what_is_missing_is_told_for_every_alternative() -> None:
    error = MissingCredentialsError(("a key", "a token and a certificate"))
    assert str(error) == ("the agent wants other credentials: a key; or a token and a certificate")
    assert error.findings == ("a key", "a token and a certificate")


def test_a_refusal_names_the_server_and_its_reason() -> None:
    error = TokenRefusedError("https://id.example/token", "invalid_client", "who are you")
    assert str(error) == "https://id.example/token refuses a token: invalid_client (who are you)"
    assert error.code == "invalid_client"
    assert str(TokenRefusedError("https://x", "y")) == "https://x refuses a token: y"


def test_a_server_that_makes_no_sense_is_named() -> None:
    assert str(AuthorizationServerError("https://x", "no answer")) == "https://x: no answer"
