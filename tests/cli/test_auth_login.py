"""Signing in: auth login, status and logout, and what commands do with the tokens."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Cli, Result
from tests.cli.fake import FakeAgent, Refusal, asking_for, card, task
from tests.cli.issuer import issuing
from tests.scenarios.authority import Authority

LOGIN = ("auth", "login", "--client-id", "me")


@pytest.fixture
def issuer() -> Generator[Authority]:
    """Whom the agent trusts."""
    with issuing() as authority:
        yield authority


def device_scheme(url: str) -> dict[str, object]:
    flow: dict[str, object] = {
        "deviceAuthorizationUrl": f"{url}/device",
        "tokenUrl": f"{url}/token",
        "scopes": {},
    }
    return {"oauth2SecurityScheme": {"flows": {"deviceCode": flow}}}


def client_scheme(url: str) -> dict[str, object]:
    flow: dict[str, object] = {"tokenUrl": f"{url}/token", "scopes": {}}
    return {"oauth2SecurityScheme": {"flows": {"clientCredentials": flow}}}


def openid_scheme(url: str) -> dict[str, object]:
    place = f"{url}/.well-known/openid-configuration"
    return {"openIdConnectSecurityScheme": {"openIdConnectUrl": place}}


def secured(fake: FakeAgent, scheme: Mapping[str, object], issuer: Authority) -> None:
    """Have the agent ask for a token, and refuse all but the good one."""
    fake.card = card(fake.url, **asking_for(scheme))

    def answer(_: object) -> object:
        shown = fake.asked[-1].headers.get("authorization", "")
        is_good = issuer.is_good and shown == f"Bearer t{issuer.issued}"
        return task() if is_good else Refusal(-31401, "Who?", 401, "UNAUTHENTICATED")

    fake.answers["GetTask"] = answer


def tokens_of(cli: Cli) -> Path:
    return cli.settings_folder.parent / "dragoman" / "tokens.json"


def stored(cli: Cli) -> list[dict[str, Any]]:
    return json.loads(tokens_of(cli).read_text())["logins"]


def change(cli: Cli, **members: object) -> None:
    """Rewrite members of the token that is kept."""
    path = tokens_of(cli)
    document = json.loads(path.read_text())
    document["logins"][0]["token"].update(members)
    path.write_text(json.dumps(document))


def everything(result: Result) -> str:
    return result.out + result.err


# --- getting a token ------------------------------------------------------------------------------


def test_auth_005_a_person_signs_in_with_a_code(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, device_scheme(issuer.url), issuer)
    cli = alone.to(fake.url)
    result = cli(*LOGIN, "-o", "json")
    assert result.code == 0, result.err
    assert f"{issuer.url}/go with the code WDJB-MJHT" in result.err
    assert result.json["flow"] == "device-code"
    assert "t1" not in everything(result).split()
    # The next command shows it, without being told.
    assert cli("task", "get", "t-1").code == 0
    assert fake.calls("GetTask")[-1].headers["authorization"] == "Bearer t1"


def test_auth_005_polling_goes_on_until_the_person_has_agreed(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, device_scheme(issuer.url), issuer)
    issuer.has_agreed = False
    issuer.polls = 1  # Otherwise it would ask for five seconds more.

    def agree() -> None:
        while issuer.polls < 4:
            threading.Event().wait(0.01)
        issuer.has_agreed = True

    person = threading.Thread(target=agree)
    person.start()
    assert alone.to(fake.url)(*LOGIN).code == 0
    person.join()
    assert issuer.polls >= 4


@pytest.mark.parametrize("denial", ["access_denied", "expired_token"])
def test_auth_005_a_refusal_is_told(
    alone: Cli, fake: FakeAgent, issuer: Authority, denial: str
) -> None:
    secured(fake, device_scheme(issuer.url), issuer)
    issuer.denial = denial
    result = alone.to(fake.url)(*LOGIN, "-o", "json")
    assert (result.code, result.error["code"]) == (4, "A2ACLI_ERR_AUTH_FAILED")
    assert denial in result.error["message"]
    assert not tokens_of(alone).exists()


def test_auth_005_waiting_ends_with_the_timeout(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, device_scheme(issuer.url), issuer)
    issuer.has_agreed, issuer.polls = False, 1
    result = alone.to(fake.url)(*LOGIN, "--timeout", "300ms", "-o", "json")
    assert (result.code, result.error["code"]) == (5, "A2ACLI_ERR_TIMEOUT")


def test_auth_006_a_program_signs_in_with_its_secret(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, client_scheme(issuer.url), issuer)
    cli = alone.to(fake.url)
    flags = ("--token-url", f"{issuer.url}/token", "--scope", "read", "--scope", "write")
    result = cli(*LOGIN, *flags, A2ACLI_CLIENT_SECRET="s3cret")  # noqa: S106 - of a test
    assert result.code == 0, result.err
    assert result.field("Flow") == "client-credentials"
    assert issuer.asked[-1]["scope"] == "read write"
    assert cli("task", "get", "t-1").code == 0
    # On disk the secret is only if that is wanted.
    assert "s3cret" not in tokens_of(alone).read_text()
    assert "s3cret" not in everything(result)


def test_auth_006_the_secret_may_come_from_a_file_and_is_kept_on_request(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, client_scheme(issuer.url), issuer)
    (alone.folder / "secret.txt").write_text("s3cret\n")
    flags = ("--client-secret-file", "secret.txt", "--issuer", issuer.url, "--keep-client-secret")
    assert alone.to(fake.url)(*LOGIN, *flags, "--client-auth", "post").code == 0
    assert issuer.asked[-1]["client_secret"] == "s3cret"  # noqa: S105 - of a test
    assert stored(alone)[0]["client_secret"] == "s3cret"  # noqa: S105 - of a test


def test_auth_006_a_card_cannot_have_the_secret_sent_to_a_third_party(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, client_scheme(issuer.url), issuer)
    result = alone.to(fake.url)(*LOGIN, "-o", "json", A2ACLI_CLIENT_SECRET="s3cret")  # noqa: S106 - of a test
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")
    assert "--token-url" in result.error["message"]
    assert not issuer.asked


def test_auth_006_no_secret_of_the_user_goes_to_an_agent_that_a_found_file_names(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, client_scheme(fake.url), issuer)
    (alone.folder / ".env").write_text(f"A2ACLI_AGENT_CARD={fake.url}")
    alone.settings_folder.mkdir(parents=True)
    (alone.settings_folder / ".env").write_text("A2ACLI_CLIENT_SECRET=s3cret")
    result = alone(*LOGIN, "-o", "json")
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")
    assert "--client-secret from" in result.error["message"]
    assert fake.asked == []


def test_auth_006_a_wrong_secret_is_told(alone: Cli, fake: FakeAgent, issuer: Authority) -> None:
    secured(fake, client_scheme(issuer.url), issuer)
    flags = ("--issuer", issuer.url, "-o", "json")
    result = alone.to(fake.url)(*LOGIN, *flags, A2ACLI_CLIENT_SECRET="guess")  # noqa: S106 - of a test
    assert (result.code, result.error["code"]) == (4, "A2ACLI_ERR_AUTH_FAILED")
    assert "invalid_client" in result.error["message"]


def test_auth_010_the_endpoints_of_openid_connect_are_looked_up(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, openid_scheme(issuer.url), issuer)
    cli = alone.to(fake.url)
    result = cli(*LOGIN, "-o", "json")
    assert result.code == 0, result.err
    assert (result.json["issuer"], result.json["scopes"]) == (issuer.url, ["openid"])
    assert cli("task", "get", "t-1").code == 0


def test_auth_010_metadata_of_another_issuer_is_refused(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, openid_scheme(issuer.url), issuer)
    issuer.url = "https://elsewhere.example"
    result = alone.to(fake.url)(*LOGIN, "-o", "json")
    assert (result.code, result.error["code"]) == (4, "A2ACLI_ERR_AUTH_FAILED")
    assert "is about the issuer 'https://elsewhere.example'" in result.error["message"]


# --- keeping and using it -------------------------------------------------------------------------


@pytest.fixture
def signed_in(alone: Cli, fake: FakeAgent, issuer: Authority) -> Cli:
    """The command line after a person has signed in."""
    secured(fake, openid_scheme(issuer.url), issuer)
    assert alone.to(fake.url)(*LOGIN).code == 0
    return alone.to(fake.url)


def test_config_001_tokens_are_the_users_own(signed_in: Cli, fake: FakeAgent) -> None:
    path = tokens_of(signed_in)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    shown = signed_in("config", "show")
    assert f"login: <redacted> for {fake.url} ({path})" in shown.out
    (row,) = signed_in("config", "show", "-o", "json").json["logins"]
    assert (row["agent"], row["value"], row["path"]) == (fake.url, "<redacted>", str(path))


@pytest.mark.parametrize(("name", "mode"), [("tokens.json", 0o640), (".", 0o755)])
def test_auth_007_what_others_can_read_is_refused(signed_in: Cli, name: str, mode: int) -> None:
    (tokens_of(signed_in).parent / name).chmod(mode)
    result = signed_in("task", "get", "t-1", "-o", "json")
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")
    assert "chmod" in result.error["message"]


def test_auth_007_nobody_signs_in_for_a_token_that_cannot_be_kept(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, openid_scheme(issuer.url), issuer)
    tokens_of(alone).parent.mkdir(parents=True, mode=0o755)
    result = alone.to(fake.url)(*LOGIN, "-o", "json")
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")
    assert not issuer.asked


def test_auth_007_a_token_goes_to_its_origin_alone(
    signed_in: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    # The same card elsewhere, and the agent itself when its card leads elsewhere.
    path = signed_in.folder / "card.json"
    other = fake.url.replace("127.0.0.1", "localhost")
    scheme = openid_scheme(issuer.url)
    path.write_text(json.dumps(card(other, **asking_for(scheme))))
    refused = Cli(signed_in.folder).to(path)("task", "get", "t-1", "-o", "json")
    assert (refused.code, refused.error["code"]) == (4, "A2ACLI_ERR_CREDENTIALS_MISSING")
    assert "authorization" not in fake.calls("GetTask")[-1].headers
    before = len(fake.calls("GetTask"))
    fake.card = card(other, **asking_for(scheme))
    moved = signed_in("task", "get", "t-1", "-o", "json")
    assert (moved.code, moved.error["code"]) == (4, "A2ACLI_ERR_CREDENTIALS_MISSING")
    assert len(fake.calls("GetTask")) == before


def test_auth_007_a_file_of_the_same_agent_gets_it(
    signed_in: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    path = signed_in.folder / "card.json"
    path.write_text(json.dumps(card(fake.url, **asking_for(openid_scheme(issuer.url)))))
    assert Cli(signed_in.folder).to(path)("task", "get", "t-1").code == 0
    endpoint = ("--endpoint", f"{fake.url}/", "--transport", "jsonrpc")
    assert Cli(signed_in.folder)("task", "get", "t-1", *endpoint).code == 0


def test_auth_007_what_the_user_gives_is_stronger(signed_in: Cli, fake: FakeAgent) -> None:
    result = signed_in("task", "get", "t-1", "-o", "json", A2ACLI_BEARER="mine-instead")
    assert result.error["code"] == "A2ACLI_ERR_AUTH_FAILED"
    assert fake.calls("GetTask")[-1].headers["authorization"] == "Bearer mine-instead"


def test_auth_007_a_token_that_expires_is_renewed_and_kept(signed_in: Cli, fake: FakeAgent) -> None:
    change(signed_in, expires_at_ms=1, obtained_at_ms=0)
    assert signed_in("task", "get", "t-1").code == 0
    assert fake.calls("GetTask")[-1].headers["authorization"] == "Bearer t2"
    kept = stored(signed_in)[0]["token"]
    assert (kept["access_token"], kept["refresh_token"]) == ("t2", "r2")
    assert stat.S_IMODE(tokens_of(signed_in).stat().st_mode) == 0o600


def test_auth_007_a_token_that_is_refused_is_renewed_once(
    signed_in: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    change(signed_in, obtained_at_ms=0)
    issuer.revoke()
    assert signed_in("task", "get", "t-1").code == 0
    shown = [asked.headers["authorization"] for asked in fake.calls("GetTask")]
    assert shown == ["Bearer t1", "Bearer t2"]


def test_auth_007_processes_at_the_same_time_renew_it_once(
    signed_in: Cli, issuer: Authority
) -> None:
    """The issuer takes a refresh token once; a second use would be refused."""
    change(signed_in, expires_at_ms=1, obtained_at_ms=0)
    results: list[Result] = []
    threads = [
        threading.Thread(target=lambda: results.append(signed_in("task", "get", "t-1")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.code for result in results] == [0] * 4
    assert issuer.issued == 2


def test_auth_007_one_that_cannot_be_renewed_is_told_with_what_to_do(
    signed_in: Cli, issuer: Authority
) -> None:
    change(signed_in, expires_at_ms=1, obtained_at_ms=0, refresh_token="")
    result = signed_in("task", "get", "t-1", "-o", "json")
    assert (result.code, result.error["code"]) == (4, "A2ACLI_ERR_AUTH_FAILED")
    assert "sign in again with auth login" in result.error["message"]
    assert issuer.issued == 1


def test_auth_007_a_program_renews_with_the_secret_of_the_environment(
    alone: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    secured(fake, client_scheme(issuer.url), issuer)
    cli = alone.to(fake.url)
    secret = {"A2ACLI_CLIENT_SECRET": "s3cret"}
    assert cli(*LOGIN, "--issuer", issuer.url, **secret).code == 0
    change(cli, expires_at_ms=1, obtained_at_ms=0, refresh_token="")
    assert cli("task", "get", "t-1").code == 4
    assert cli("task", "get", "t-1", **secret).code == 0


def test_auth_004_a_token_that_an_agent_repeats_does_not_show(
    signed_in: Cli, fake: FakeAgent
) -> None:
    long = "a-very-secret-token"
    change(signed_in, access_token=long)
    fake.answers["GetTask"] = lambda _: Refusal(-32603, f"you sent {long}")
    for form in ("text", "json"):
        assert long not in everything(signed_in("task", "get", "t-1", "--debug", "-o", form))


# --- looking at it, and getting rid of it ---------------------------------------------------------


def test_auth_status_shows_everything_but_the_token(signed_in: Cli, fake: FakeAgent) -> None:
    text = signed_in("auth", "status")
    assert (text.field("Agent"), text.field("Client")) == (fake.url, "me")
    assert text.field("Renewable") == "yes"
    (row,) = signed_in("auth", "status", "-o", "json").json["logins"]
    assert row["agent"] == fake.url
    assert row["expiresAt"].endswith("Z")
    kept = stored(signed_in)[0]["token"]
    assert not {kept["access_token"], kept["refresh_token"]} & set(text.out.split())


def test_auth_status_of_nobody(alone: Cli) -> None:
    result = alone("auth", "status", "-o", "json")
    assert (result.code, result.json["logins"]) == (0, [])


def test_auth_logout_revokes_and_forgets(
    signed_in: Cli, fake: FakeAgent, issuer: Authority
) -> None:
    result = signed_in("auth", "logout", "-o", "json")
    assert (result.code, result.json) == (0, {"signedOut": [fake.url]})
    assert issuer.revoked == ["r1", "t1"]
    assert not tokens_of(signed_in).exists()
    again = signed_in("task", "get", "t-1", "-o", "json")
    assert again.error["code"] == "A2ACLI_ERR_CREDENTIALS_MISSING"
    assert "auth login" in again.error["hint"]


def test_auth_logout_forgets_even_if_nobody_can_be_told(signed_in: Cli, issuer: Authority) -> None:
    path = tokens_of(signed_in)
    document = json.loads(path.read_text())
    document["logins"][0]["revocation_url"] = f"{issuer.url}/nowhere"
    path.write_text(json.dumps(document))
    result = signed_in("auth", "logout")
    assert result.code == 0
    assert "Warning: the token was not revoked" in result.err
    assert not path.exists()


def test_auth_logout_of_another_agent_leaves_it(signed_in: Cli) -> None:
    other = Cli(signed_in.folder).to("http://127.0.0.1:1")
    assert other("auth", "logout", "-o", "json").json == {"signedOut": []}
    assert Cli(signed_in.folder)("auth", "logout", "--all").code == 0
    assert not tokens_of(signed_in).exists()


# --- while a task is at work ----------------------------------------------------------------------


def consent(fake: FakeAgent) -> None:
    """Have a task wait for an authorization, and go on by itself later."""
    states = iter(["AUTH_REQUIRED", "AUTH_REQUIRED", "AUTH_REQUIRED", "WORKING"])
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Open https://id.x/"}]}

    def answer(_: object) -> object:
        found = task(next(states, "COMPLETED"))
        found["status"]["message"] = message
        return found

    fake.answers["GetTask"] = answer
    fake.answers["SendMessage"] = lambda _: {"task": answer(None)}


@pytest.mark.parametrize("command", [("send", "x"), ("task", "get", "t-1", "--wait")])
def test_auth_011_a_task_that_wants_an_authorization_stops_the_command(
    alone: Cli, fake: FakeAgent, command: tuple[str, ...]
) -> None:
    consent(fake)
    result = alone.to(fake.url)(*command, "--poll-interval", "100ms")
    assert (result.code, result.field("State")) == (0, "TASK_STATE_AUTH_REQUIRED")
    assert "Open https://id.x/" in result.out
    assert "--task-id=t-1" in result.field("Resume")


@pytest.mark.parametrize(
    "command", [("send", "x"), ("task", "get", "t-1", "--wait"), ("task", "subscribe", "t-1")]
)
def test_auth_011_or_the_command_waits_until_it_goes_on(
    alone: Cli, fake: FakeAgent, command: tuple[str, ...]
) -> None:
    consent(fake)
    flags = ("--on-auth-required", "wait", "--poll-interval", "100ms", "-o", "json")
    result = alone.to(fake.url)(*command, *flags)
    assert result.code == 0, result.err
    found = result.json.get("task", result.json)
    assert found["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "Open https://id.x/" in result.err
