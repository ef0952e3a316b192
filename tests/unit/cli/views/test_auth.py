from msgspec.structs import replace

from dragoman.auth.outgoing.tokens import Token
from dragoman.cli.views.auth import login_document, login_lines
from tests.unit.cli.session.test_logins import LOGIN


def test_everything_is_shown_but_the_secrets() -> None:
    login = replace(
        LOGIN,
        scheme="main",
        client_secret="s3cret",  # noqa: S106 - of a test
        scopes=("read",),
        token=Token("access", 1, expires_at_ms=0, refresh_token="again"),  # noqa: S106 - of a test
    )
    assert login_document(login) == {
        "agent": login.agent,
        "origin": login.origin,
        "scheme": "main",
        "flow": "device-code",
        "issuer": "https://id.example",
        "clientId": "me",
        "scopes": ["read"],
        "expiresAt": "1970-01-01T00:00:00.000Z",
        "canBeRenewed": True,
    }
    text = login_lines([login]).text()
    assert "Scopes: read\nExpires: 1970-01-01T00:00:00.000Z\nRenewable: yes\n" in text
    assert not [secret for secret in login.secrets() if secret in text]


def test_what_is_not_known_is_shown_as_such() -> None:
    login = replace(LOGIN, origin="https://api.example:443", token=Token("access", 1))
    text = login_lines([login, login]).text()
    assert "Token is for: https://api.example:443\n" in text
    assert "Scopes: -\nExpires: unknown\nRenewable: no\n\nAgent: " in text


def test_what_was_granted_counts() -> None:
    login = replace(LOGIN, scopes=("read", "write"), token=Token("access", 1, scope="read"))
    assert login_document(login)["scopes"] == ["read"]
