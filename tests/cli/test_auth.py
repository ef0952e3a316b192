"""AUTH: credentials that a script can give, where they go, and where they never show."""

from collections.abc import Iterator, Mapping

import pytest

from tests.cli.calling import Cli, Result
from tests.cli.fake import FakeAgent, Refusal, asking_for, card, task
from tests.support.server.certificates import write_files
from tests.support.serving import AgentProcess

CANARY = "canary-7f3a"


def secured(fake: FakeAgent, scheme: Mapping[str, object]) -> None:
    """Have the card ask for one scheme."""
    fake.card = card(fake.url, **asking_for(scheme))
    fake.answers["GetTask"] = lambda _: task()


BEARER = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
OIDC = {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.example/"}}
OAUTH: Mapping[str, object] = {
    "oauth2SecurityScheme": {
        "flows": {"clientCredentials": {"tokenUrl": "https://id.example/t", "scopes": {}}}
    }
}


def key_in(location: str) -> dict[str, object]:
    return {"apiKeySecurityScheme": {"location": location, "name": "x-key"}}


@pytest.mark.parametrize("scheme", [BEARER, OIDC, OAUTH])
@pytest.mark.parametrize("source", ["flag", "environment"])
def test_auth_001_a_bearer_token_goes_where_the_card_says(
    alone: Cli, fake: FakeAgent, scheme: dict[str, object], source: str
) -> None:
    secured(fake, scheme)
    flags = ("--bearer", CANARY) if source == "flag" else ()
    variables = {} if source == "flag" else {"A2ACLI_BEARER": CANARY}
    assert alone.to(fake.url)("task", "get", "t-1", *flags, **variables).code == 0
    assert fake.calls("GetTask")[0].headers["authorization"] == f"Bearer {CANARY}"
    # The card is public: whoever serves it gets nothing.
    assert "authorization" not in fake.calls("card")[0].headers


@pytest.mark.parametrize("location", ["header", "cookie"])
def test_auth_001_an_api_key_goes_where_the_card_says(
    alone: Cli, fake: FakeAgent, location: str
) -> None:
    secured(fake, key_in(location))
    assert alone.to(fake.url)("task", "get", "t-1", A2ACLI_API_KEY=CANARY).code == 0
    headers = fake.calls("GetTask")[0].headers
    assert headers["x-key"] == CANARY if location == "header" else CANARY in headers["cookie"]


def test_auth_001_an_api_key_in_the_query_goes_there(alone: Cli, fake: FakeAgent) -> None:
    fake.card = card(
        fake.url,
        supportedInterfaces=[
            {"url": fake.url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}
        ],
        **asking_for(key_in("query")),
    )
    fake.answers["GET /tasks/t-1"] = lambda _: task()
    result = alone.to(fake.url)("task", "get", "t-1", "--api-key", CANARY, "--debug")
    assert result.code == 0
    assert "x-key=<redacted>" in result.err
    assert CANARY not in result.err


def test_auth_001_service_parameters_are_something_else(alone: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: task()
    flags = ("--svc-param", "X-One: 1", "--svc-param", "X-One=2", "--svc-param", "X-Two:a,b=c")
    assert alone.to(fake.url)("task", "get", "t-1", *flags, "--auth", f"Custom {CANARY}").code == 0
    headers = fake.calls("GetTask")[0].headers
    assert (headers["x-one"], headers["x-two"]) == ("1,2", "a,b=c")
    assert headers["authorization"] == f"Custom {CANARY}"
    # A gateway in front of the card may need the first, but not the second.
    asked = fake.calls("card")[0].headers
    assert asked["x-one"] == "1,2"
    assert "authorization" not in asked
    assert "auth" not in alone("send", "--help").out.partition("--svc-param")[2].split("\n")[0]


def test_auth_001_reaches_the_agent_over_grpc(each: Cli) -> None:
    """The agent wants none; what counts is that each binding can carry it."""
    assert each("send", "x", "--bearer", CANARY, "--svc-param", "x-trace:1").code == 0


def test_auth_002_every_credential_has_a_variable_and_a_warning(
    alone: Cli, fake: FakeAgent
) -> None:
    text = " ".join(alone("send", "--help").out.split())
    for name in ("A2ACLI_BEARER", "A2ACLI_API_KEY", "A2ACLI_AUTH"):
        assert f"process table and kept by the shell: prefer the variable {name}" in text
    fake.answers["GetTask"] = lambda _: task()
    secured(fake, BEARER)
    alone.to(fake.url)("task", "get", "t-1", "--bearer", "stronger", A2ACLI_BEARER=CANARY)
    assert fake.calls("GetTask")[0].headers["authorization"] == "Bearer stronger"


@pytest.fixture(scope="module")
def untrusted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """An agent behind a certificate of an authority that the machine does not know; and that."""
    files = write_files(tmp_path_factory.mktemp("tls"))
    flags = ("--tls-cert", files.server, "--tls-key", files.server_key)
    with AgentProcess(None, *flags) as process:
        yield process.url.replace("http://", "https://"), files.ca


def test_auth_003_a_credential_without_verification_is_told_loudly(
    alone: Cli, untrusted: tuple[str, str]
) -> None:
    url, ca = untrusted
    cli = alone.to(url)
    refused = cli("send", "x", "-o", "json")
    assert (refused.code, refused.error["code"]) == (3, "A2ACLI_ERR_UNREACHABLE")
    quiet = cli("send", "x", "--ca-cert", ca)
    assert quiet.code == 0
    assert "Warning" not in quiet.err
    plain = cli("send", "x", "--insecure")
    assert plain.code == 0
    assert "Warning: the certificate of the agent is not verified" in plain.err
    for form in ("text", "json"):
        loud = cli("send", "x", "--insecure", "-o", form, A2ACLI_BEARER=CANARY)
        assert loud.code == 0
        assert "Warning: CREDENTIALS ARE SENT WITHOUT VERIFYING WHO RECEIVES THEM" in loud.err


def test_auth_004_no_credential_shows_anywhere(alone: Cli, fake: FakeAgent) -> None:
    secured(fake, BEARER)
    to_fake = alone.to(fake.url)
    secrets = {
        "A2ACLI_BEARER": CANARY,
        "A2ACLI_API_KEY": f"{CANARY}-key",
        "A2ACLI_AUTH": f"Custom {CANARY}-auth",
        "A2ACLI_SVC_PARAM": f"X-Secret:{CANARY}-param",
    }
    fake.answers["GetTask"] = lambda _: Refusal(-32603, f"you sent {CANARY} and {CANARY}-key")

    def all_of(result: Result) -> str:
        return result.out + result.err

    for arguments in (
        ("task", "get", "t-1", "--debug", "--verbose"),
        ("task", "get", "t-1", "--debug", "-o", "json"),
        ("config", "show"),
        ("config", "show", "-o", "json"),
        ("help", "send"),
        ("task", "get", "--nonsense", CANARY),
    ):
        assert CANARY not in all_of(to_fake(*arguments, **secrets))


def test_auth_004_secrets_of_webhooks_do_not_show(alone: Cli, fake: FakeAgent) -> None:
    fake.card = card(fake.url, capabilities={"pushNotifications": True})
    config = {
        "id": "p",
        "taskId": "t-1",
        "url": "https://me.example/hook",
        "token": CANARY,
        "authentication": {"scheme": "Bearer", "credentials": f"{CANARY}-2"},
    }
    fake.answers["GetTaskPushNotificationConfig"] = lambda _: config
    to_fake = alone.to(fake.url)
    text = to_fake("task", "push-config", "get", "t-1", "p", "--debug")
    assert CANARY not in text.out + text.err
    # JSON is what the agent has returned.
    assert to_fake("task", "push-config", "get", "t-1", "p", "-o", "json").json == config


def test_auth_missing_credentials_are_told_with_what_fits(alone: Cli, fake: FakeAgent) -> None:
    secured(fake, BEARER)
    fake.answers["GetTask"] = lambda _: Refusal(-31401, "Who?", 401, "UNAUTHENTICATED")
    to_fake = alone.to(fake.url)
    missing = to_fake("task", "get", "t-1", "-o", "json")
    assert (missing.code, missing.error["code"]) == (4, "A2ACLI_ERR_CREDENTIALS_MISSING")
    assert "--bearer (A2ACLI_BEARER)" in missing.error["hint"]
    assert "api-key" not in missing.error["hint"]
    refused = to_fake("task", "get", "t-1", "-o", "json", "--bearer", "wrong-one")
    assert (refused.code, refused.error["code"]) == (4, "A2ACLI_ERR_AUTH_FAILED")
    fake.answers["GetTask"] = lambda _: Refusal(-31403, "No.", 403, "PERMISSION_DENIED")
    denied = to_fake("task", "get", "t-1", "-o", "json", "--bearer", "wrong-one")
    assert (denied.code, denied.error["code"]) == (4, "A2ACLI_ERR_AUTH_FAILED")
