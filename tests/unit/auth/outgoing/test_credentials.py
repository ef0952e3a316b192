from collections.abc import Mapping

import pytest

from dragoman.auth.outgoing.credentials import (
    NOTHING,
    ApiKey,
    Attachment,
    Basic,
    Bearer,
    Credentials,
    Custom,
    OriginBound,
    origin_bound,
)
from dragoman.errors import UsageError

AGENT = "https://agent.example"
OTHERS = (
    "https://evil.example",
    "http://agent.example",
    "https://agent.example:8443",
    "https://agent.example.evil.example",
)


class Foreign:
    """Credentials of somebody else, who does not look at the origin."""

    async def attach(self, origin: str, *, is_retry: bool = False) -> Attachment:
        del origin
        return Attachment(headers={"X-Retry": str(is_retry)})


ALL: list[OriginBound] = [
    Bearer("s3cret"),
    ApiKey("s3cret", name="X-Key"),
    ApiKey("s3cret", name="key", location="query"),
    ApiKey("s3cret", name="key", location="cookie"),
    Basic("user", "s3cret"),
    Custom(lambda _: {"X-Signature": "s3cret"}),
    origin_bound(Foreign()),
]


@pytest.mark.parametrize("credentials", ALL, ids=repr)
async def test_nothing_is_attached_before_an_origin_is_known(credentials: OriginBound) -> None:
    assert await credentials.attach(AGENT) == NOTHING


@pytest.mark.parametrize("origin", OTHERS)
@pytest.mark.parametrize("credentials", ALL, ids=repr)
async def test_nothing_is_attached_for_another_origin(
    credentials: OriginBound, origin: str
) -> None:
    bound = credentials.bound_to(AGENT)
    assert await bound.attach(AGENT) != NOTHING
    assert await bound.attach(origin) == NOTHING
    assert await bound.attach(origin, is_retry=True) == NOTHING


@pytest.mark.parametrize("spelled", ["https://agent.example:443", "https://AGENT.example/a?b"])
async def test_one_origin_may_be_spelled_in_several_ways(spelled: str) -> None:
    assert await Bearer("t", for_origin=AGENT).attach(spelled) != NOTHING
    assert await Bearer("t", for_origin=spelled).attach(AGENT) != NOTHING


async def test_an_origin_that_was_given_is_not_replaced() -> None:
    bound = Bearer("t", for_origin="https://other.example").bound_to(AGENT)
    assert await bound.attach(AGENT) == NOTHING
    assert await bound.attach("https://other.example") != NOTHING


def test_an_origin_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="is no http or https URL"):
        Bearer("t", for_origin="agent.example")


@pytest.mark.parametrize("credentials", ALL, ids=repr)
def test_secrets_are_not_shown(credentials: OriginBound) -> None:
    assert "s3cret" not in repr(credentials.bound_to(AGENT))


async def test_an_attachment_shows_names_alone() -> None:
    attachment = await Bearer("s3cret", for_origin=AGENT).attach(AGENT)
    assert repr(attachment) == "Attachment(Authorization)"


@pytest.mark.requirement("R-T.ent-2")
async def test_a_token_travels_in_the_authorization_header() -> None:
    attachment = await Bearer("t0", for_origin=AGENT).attach(AGENT)
    assert attachment == Attachment(headers={"Authorization": "Bearer t0"})


async def test_user_and_password_travel_in_the_authorization_header() -> None:
    # The example of RFC 7617, 2.
    attachment = await Basic("Aladdin", "open sesame", for_origin=AGENT).attach(AGENT)
    assert attachment.headers == {"Authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}
    # And that of 2.1, in UTF-8.
    attachment = await Basic("test", "123\N{POUND SIGN}", for_origin=AGENT).attach(AGENT)
    assert attachment.headers == {"Authorization": "Basic dGVzdDoxMjPCow=="}


@pytest.mark.parametrize(
    ("key", "attachment"),
    [
        (ApiKey("k", name="X-Key"), Attachment(headers={"X-Key": "k"})),
        (ApiKey("k", name="X-Key", location="header"), Attachment(headers={"X-Key": "k"})),
        (ApiKey("k", name="key", location="query"), Attachment(query={"key": "k"})),
        (ApiKey("k", name="key", location="cookie"), Attachment(cookies={"key": "k"})),
    ],
    ids=repr,
)
async def test_a_key_travels_where_it_is_told_to(key: ApiKey, attachment: Attachment) -> None:
    assert await key.bound_to(AGENT).attach(AGENT) == attachment


async def test_a_key_that_nobody_has_named_is_not_sent() -> None:
    with pytest.raises(UsageError, match="give it a name"):
        await ApiKey("k", for_origin=AGENT).attach(AGENT)


@pytest.mark.parametrize(
    "secret", ["", "a\r\nX-Evil: 1", "a\x00", "sch\N{LATIN SMALL LETTER O WITH DIAERESIS}n"]
)
def test_what_would_break_out_of_a_header_is_refused_and_not_shown(secret: str) -> None:
    for make in (Bearer, ApiKey):
        with pytest.raises(UsageError, match="no header can carry") as caught:
            make(secret)
        assert not secret or secret not in str(caught.value)


def test_a_key_that_would_end_a_cookie_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be a cookie"):
        ApiKey("a; admin=1", name="key", location="cookie")


def test_a_user_with_a_colon_is_refused() -> None:
    with pytest.raises(UsageError, match="colon"):
        Basic("a:b", "c")


async def plain_headers(is_retry: bool) -> Mapping[str, str]:  # noqa: FBT001 - the shape of a provider
    return {"X-Retry": str(is_retry)}


def whole_attachment(is_retry: bool) -> Attachment:  # noqa: FBT001 - the shape of a provider
    return Attachment(query={"retry": str(is_retry)})


async def test_a_function_is_asked_every_time_and_told_of_a_refusal() -> None:
    credentials = Custom(plain_headers, for_origin=AGENT)
    assert await credentials.attach(AGENT) == Attachment(headers={"X-Retry": "False"})
    assert await credentials.attach(AGENT, is_retry=True) == Attachment(headers={"X-Retry": "True"})


async def test_a_plain_function_may_say_more_than_headers() -> None:
    credentials = Custom(whole_attachment, for_origin=AGENT)
    assert await credentials.attach(AGENT) == Attachment(query={"retry": "False"})


async def test_foreign_credentials_are_told_of_a_refusal() -> None:
    foreign: Credentials = Foreign()
    fenced = origin_bound(foreign).bound_to(AGENT)
    assert await fenced.attach(AGENT, is_retry=True) == Attachment(headers={"X-Retry": "True"})


def test_what_a_subclass_must_say_is_not_guessed() -> None:
    with pytest.raises(NotImplementedError):
        OriginBound().attachment(is_retry=False).send(None)


def test_attachments_are_joined() -> None:
    one = Attachment(headers={"A": "1", "B": "1"}, query={"q": "1"})
    other = Attachment(headers={"B": "2"}, cookies={"c": "2"})
    assert one.joined(other) == Attachment(
        headers={"A": "1", "B": "2"}, query={"q": "1"}, cookies={"c": "2"}
    )


def test_cookies_are_one_header() -> None:
    attachment = Attachment(headers={"A": "1"}, cookies={"b": "2", "c": "3"})
    assert attachment.http_headers() == {"A": "1", "Cookie": "b=2; c=3"}
    assert Attachment(headers={"A": "1"}).http_headers() == {"A": "1"}


def test_over_grpc_all_of_it_is_metadata() -> None:
    attachment = Attachment(headers={"X-Key": "1"}, query={"Token": "2"}, cookies={"c": "3"})
    assert attachment.grpc_metadata() == (("token", "2"), ("x-key", "1"), ("cookie", "c=3"))


def test_a_body_is_signed_when_it_is_final() -> None:
    signed = Attachment(headers={"A": "1"}, signers=(lambda body: {"S": body.decode()},))
    assert signed.http_headers(b"x") == {"A": "1", "S": "x"}
    both = signed.joined(Attachment(signers=(lambda body: {"T": str(len(body))},)))
    assert both.http_headers(b"xy") == {"A": "1", "S": "xy", "T": "2"}


def test_credentials_sign_no_bodies_and_fit_unless_they_say_so() -> None:
    custom = Custom(lambda _: {})
    assert not custom.signs_bodies
    assert custom.fits(None)
