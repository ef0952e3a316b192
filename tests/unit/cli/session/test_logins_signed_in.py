import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.auth.outgoing.errors import CredentialsError
from dragoman.auth.outgoing.tokens import Token
from dragoman.cli.session.logins import Login, LoginFile, logins_for, signed_in
from dragoman.dialects.v1_0.card import decode_card
from dragoman.model.cards import AgentInterface
from tests.cli.fake import card
from tests.support.auth.answering import Answer, Answering
from tests.unit.cli.session.test_logins import LOGIN, put

ORIGIN = LOGIN.origin
EXPIRED = replace(LOGIN, token=Token("old", 0, expires_at_ms=1, refresh_token="again"))  # noqa: S106 - of a test
NEXT = {"access_token": "next", "expires_in": 60, "refresh_token": "and-again"}


class Asking:
    """The credentials of a login, and the server that they ask."""

    def __init__(self, file: LoginFile, login: Login, *answers: Answer, secret: str = "") -> None:
        self.server = Answering(*answers)
        self.hidden: list[Login] = []
        self._credentials = signed_in(
            file, login, secret, http=self.server.http, hide=self.hidden.append
        )

    async def token(self, *, is_retry: bool = False) -> str:
        found = await self._credentials.attach(ORIGIN, is_retry=is_retry)
        return found.headers["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def file(tmp_path: Path) -> LoginFile:
    return LoginFile(tmp_path / "own")


async def test_a_token_goes_to_its_origin_alone(file: LoginFile) -> None:
    credentials = signed_in(file, LOGIN, "", http=None, hide=lambda _: None)
    assert (await credentials.attach(ORIGIN)).headers == {"Authorization": "Bearer access"}
    assert (await credentials.attach("https://b.example:443")).headers == {}


async def test_one_that_has_expired_is_renewed_and_kept(file: LoginFile) -> None:
    await put(file, EXPIRED)
    asking = Asking(file, EXPIRED, NEXT)
    assert [await asking.token(), await asking.token()] == ["next", "next"]
    assert asking.server.forms == [
        {"grant_type": "refresh_token", "refresh_token": "again", "client_id": "me"}
    ]
    (kept,) = file.read()
    assert (kept.token.access_token, kept.token.refresh_token) == ("next", "and-again")
    assert [login.token.access_token for login in asking.hidden] == ["old", "next"]


async def test_what_another_process_has_renewed_is_taken(file: LoginFile) -> None:
    await put(file, replace(EXPIRED, token=Token("theirs", 5)))
    assert await Asking(file, EXPIRED).token() == "theirs"


async def test_one_that_the_agent_refuses_is_renewed(file: LoginFile) -> None:
    await put(file, LOGIN)
    assert await Asking(file, LOGIN, NEXT).token(is_retry=True) == "next"


async def test_one_that_is_refused_and_cannot_be_renewed_comes_again(file: LoginFile) -> None:
    login = replace(LOGIN, token=Token("access", 1))
    await put(file, login)
    assert await Asking(file, login).token(is_retry=True) == "access"


async def test_a_program_begins_anew_with_its_secret(file: LoginFile) -> None:
    login = replace(EXPIRED, flow="client-credentials", scopes=("read",))
    await put(file, login)
    asking = Asking(file, login, (400, {"error": "invalid_grant"}), NEXT, secret="s3cret")  # noqa: S106 - of a test
    assert await asking.token() == "next"
    assert asking.server.forms[1] == {"grant_type": "client_credentials", "scope": "read"}


async def test_a_person_is_not_asked_by_the_way(file: LoginFile) -> None:
    await put(file, EXPIRED)
    asking = Asking(file, EXPIRED, (400, {"error": "invalid_grant"}))
    with pytest.raises(CredentialsError, match=r"sign in again with auth login$"):
        await asking.token()
    assert file.read() == (EXPIRED,)


async def test_who_has_signed_out_stays_so(file: LoginFile) -> None:
    with pytest.raises(CredentialsError, match="has signed out"):
        await Asking(file, EXPIRED).token()
    assert not file.path.exists()


# --- whose they are -------------------------------------------------------------------------------

LED_AWAY = replace(LOGIN, origin="https://api.example:443")


def test_an_address_finds_what_was_got_for_it() -> None:
    logins = (LOGIN, LED_AWAY, replace(LOGIN, agent="https://b.example:443"))
    for address in ("a.example", "https://a.example/agents/card.json"):
        assert logins_for(address, logins) == (LOGIN, LED_AWAY)
    assert logins_for("http://a.example", logins) == ()


def test_a_card_of_the_users_own_finds_what_is_for_its_interfaces(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_text(json.dumps(card("https://api.example")))
    assert logins_for(path, (LOGIN, LED_AWAY)) == (LED_AWAY,)
    assert logins_for(decode_card(path.read_bytes()), (LOGIN, LED_AWAY)) == (LED_AWAY,)
    assert logins_for(tmp_path / "none.json", (LOGIN,)) == ()


@pytest.mark.parametrize(
    ("url", "binding"), [("https://a.example/rpc", "JSONRPC"), ("grpcs://a.example:443", "GRPC")]
)
def test_an_interface_finds_what_is_for_it(url: str, binding: str) -> None:
    interface = AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")
    assert logins_for(interface, (LOGIN, LED_AWAY)) == (LOGIN,)


def test_a_card_that_nobody_can_speak_to_finds_nothing() -> None:
    listed = [{"url": "x://a", "protocolBinding": "SMOKE", "protocolVersion": "1.0"}]
    content = json.dumps(card("https://a.example", supportedInterfaces=listed)).encode()
    assert logins_for(decode_card(content), (LOGIN,)) == ()
