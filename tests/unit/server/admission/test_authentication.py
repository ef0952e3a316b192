from collections.abc import Mapping

import pytest

from dragoman.auth.incoming.authenticator import Evidence, ReadBody
from dragoman.errors import (
    JSONParseError,
    MethodNotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitedError,
    UnauthenticatedError,
)
from dragoman.server.admission.authentication import Guard, IncomingRequest
from dragoman.server.admission.client_address import host_of, is_loopback
from dragoman.service.principal import NOBODY, Principal

HERE = "127.0.0.1"
ELSEWHERE = "203.0.113.7"


def guard(*, is_open: bool = False, public_url: str | None = None) -> Guard:
    return Guard(allow_anonymous=is_open, max_body_bytes=10, max_depth=2, public_url=public_url)


def headers(**values: str) -> dict[bytes, str]:
    """Return headers by name, with underscores for dashes."""
    return {name.replace("_", "-").encode(): value for name, value in values.items()}


ADMITTED = [
    # A caller on this machine.
    (HERE, headers()),
    ("::1", headers()),
    ("127.8.9.10", headers()),
    # IPv4 as a dual-stack socket reports it, and an address with a zone.
    ("::ffff:127.0.0.1", headers()),
    ("::1%lo", headers()),
    # No peer: a Unix socket, or an application called in its own process.
    (None, headers()),
    (None, headers(host="testserver")),
    # It calls us by a name of this machine.
    (HERE, headers(host="localhost:8000")),
    (HERE, headers(host="LOCALHOST")),
    (HERE, headers(host="agent.localhost:8000")),
    (HERE, headers(host="127.0.0.1:8000")),
    (HERE, headers(host="[::1]:8000")),
    # A page served from this machine.
    (HERE, headers(origin="http://localhost:3000", host="localhost:8000")),
    (HERE, headers(origin="http://[::1]:3000")),
    # A proxy on this machine, for a caller on this machine.
    (HERE, headers(x_forwarded_for="127.0.0.1")),
    (HERE, headers(x_forwarded_for="127.0.0.1:5000, ::1, [::1]:80")),
    (HERE, headers(forwarded="for=127.0.0.1;proto=http")),
    (HERE, headers(forwarded='For="[::1]:5000";host=localhost, for=127.0.0.1')),
]

REFUSED = [
    # A caller on another machine, or on a network next to it.
    (ELSEWHERE, headers()),
    ("10.0.0.1", headers()),
    ("fe80::1%eth0", headers()),
    ("::ffff:203.0.113.7", headers()),
    ("not an address", headers()),
    # A proxy on this machine, for one who is not.
    (HERE, headers(x_forwarded_for=ELSEWHERE)),
    (HERE, headers(x_forwarded_for=f"127.0.0.1, {ELSEWHERE}")),
    (HERE, headers(x_forwarded_for=f"{ELSEWHERE}, 127.0.0.1")),
    (HERE, headers(x_forwarded_for=f"{ELSEWHERE}:443")),
    (HERE, headers(forwarded=f"for={ELSEWHERE}")),
    (HERE, headers(forwarded=f'proto=http; for="{ELSEWHERE}:443"')),
    (HERE, headers(forwarded='for="[2001:db8::1]"')),
    (HERE, headers(forwarded=f"for=127.0.0.1, FOR={ELSEWHERE}")),
    # A proxy that does not say for whom, or one of several that does not.
    (HERE, headers(forwarded="proto=https")),
    (HERE, headers(forwarded="for=127.0.0.1, proto=https")),
    (HERE, headers(x_forwarded_for="")),
    (HERE, headers(x_forwarded_for="127.0.0.1,")),
    (HERE, headers(forwarded="for=unknown")),
    (HERE, headers(forwarded="for=_hidden")),
    (HERE, headers(x_forwarded_for="garbage")),
    # A page of another site in a browser on this machine.
    (HERE, headers(origin="https://evil.example")),
    (HERE, headers(origin="http://localhost.evil.example")),
    (HERE, headers(origin="http://127.0.0.1.evil.example:8000")),
    (None, headers(origin="https://evil.example")),
    # A page that will not say of which site it is: sandboxed, or from a file.
    (HERE, headers(origin="null")),
    (HERE, headers(origin="file://")),
    (HERE, headers(origin="")),
    # An origin that is none.
    (HERE, headers(origin="http://[")),
    # A foreign name that was made to point here.
    (HERE, headers(host="evil.example:8000")),
    (HERE, headers(host="localhost.evil.example")),
    (HERE, headers(host="localhost@evil.example")),
    # No name at all.
    (HERE, headers(host="")),
    (HERE, headers(host="[")),
]


@pytest.mark.parametrize(("peer", "values"), ADMITTED)
def test_a_closed_door_admits(peer: str | None, values: Mapping[bytes, str]) -> None:
    guard().admit(peer, values)


@pytest.mark.parametrize(("peer", "values"), REFUSED)
def test_a_closed_door_refuses(peer: str | None, values: Mapping[bytes, str]) -> None:
    with pytest.raises(PermissionDeniedError):
        guard().admit(peer, values)


@pytest.mark.parametrize(("peer", "values"), [*ADMITTED, *REFUSED])
def test_an_open_door_admits_everybody(peer: str | None, values: Mapping[bytes, str]) -> None:
    guard(is_open=True).admit(peer, values)


def test_who_is_refused_is_told_the_remedy() -> None:
    with pytest.raises(PermissionDeniedError, match="--allow-anonymous"):
        guard().admit(ELSEWHERE, {})


def test_who_calls_by_a_foreign_name_is_told_the_other_remedy() -> None:
    with pytest.raises(PermissionDeniedError, match="--public-url"):
        guard().admit(HERE, headers(host="agent.example"))


@pytest.mark.parametrize(
    "values",
    [
        # The name callers use, in whatever case and with whatever port.
        headers(host="agent.example"),
        headers(host="AGENT.example:443"),
        headers(origin="https://agent.example", host="agent.example"),
    ],
)
def test_the_public_name_is_our_own(values: Mapping[bytes, str]) -> None:
    guard(public_url="https://agent.example/a2a").admit(HERE, values)


def test_another_name_than_the_public_one_is_refused() -> None:
    with pytest.raises(PermissionDeniedError):
        guard(public_url="https://agent.example").admit(HERE, headers(host="evil.example"))


def test_a_public_name_does_not_open_the_door() -> None:
    with pytest.raises(PermissionDeniedError):
        guard(public_url="https://agent.example").admit(ELSEWHERE, headers(host="agent.example"))


def test_a_body_up_to_the_limit_is_taken() -> None:
    guard().check_size(10)


def test_a_body_beyond_the_limit_is_refused() -> None:
    with pytest.raises(PayloadTooLargeError, match="larger than 10 bytes"):
        guard().check_size(11)


def test_nesting_up_to_the_limit_is_taken() -> None:
    guard().check_depth(b'{"a":[1]}')


def test_nesting_beyond_the_limit_is_refused() -> None:
    with pytest.raises(JSONParseError, match="more than 2 levels deep"):
        guard().check_depth(b"[[[1]]]")


@pytest.mark.parametrize(
    ("netloc", "host"),
    [
        ("example.com", "example.com"),
        ("Example.COM:80", "example.com"),
        ("[::1]:80", "::1"),
        # What is no host is nobody's.
        ("", ""),
        (":80", ""),
        ("[::1", ""),
    ],
)
def test_the_host_is_told_from_its_port(netloc: str, host: str) -> None:
    assert host_of(netloc) == host


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("x.localhost", True),
        ("127.0.0.1", True),
        ("::ffff:127.0.0.1", True),
        ("notlocalhost", False),
        ("0.0.0.0", False),  # noqa: S104 - compared, not bound
        ("", False),
    ],
)
def test_loopback_is_this_machine_only(host: str, expected: bool) -> None:  # noqa: FBT001 - a column of a table
    assert is_loopback(host) is expected


# --- with authenticators ------------------------------------------------------------------------


class Caller:
    """A request at the door."""

    scheme, server, root_path = "http", None, ""
    principal = NOBODY

    def __init__(self, peer: str | None = ELSEWHERE, **values: str) -> None:
        self.allowance: tuple[tuple[bytes, bytes], ...] = ()
        self.peer = peer
        self.headers = headers(**values)

    def evidence(self, read_body: ReadBody | None = None) -> Evidence:
        return Evidence(headers=self.headers, peer=self.peer, body=read_body)


class ByName:
    """Believes what callers say; it is asked, and remembers how often."""

    def __init__(self) -> None:
        self.asked = 0

    async def authenticate(self, evidence: Evidence) -> Principal:
        self.asked += 1
        if b"from" not in evidence.headers:
            raise UnauthenticatedError(challenges=("Name",))
        return Principal(owner=evidence.headers[b"from"])


def guarded(public_url: str | None = None, *allowed: str) -> tuple[Guard, ByName]:
    asked = ByName()
    made = Guard(
        allow_anonymous=False,
        max_body_bytes=10,
        max_depth=2,
        public_url=public_url,
        authentication=asked,
        allows_origin=allowed.__contains__,
    )
    return made, asked


@pytest.mark.requirement("R-7.4-1")
async def test_who_says_who_they_are_comes_from_anywhere() -> None:
    at, _ = guarded()
    assert await at.enter(Caller(**{"from": "ada"})) == Principal(owner="ada")
    assert await at.enter(Caller(None, **{"from": "ada"})) == Principal(owner="ada")


async def test_who_does_not_is_turned_away_and_that_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    at, _ = guarded()
    with caplog.at_level("INFO", logger="dragoman.audit"), pytest.raises(UnauthenticatedError):
        await at.enter(Caller(HERE))
    assert caplog.records[0].__dict__["audit"]["peer"] == HERE


async def test_without_authenticators_callers_are_nobody() -> None:
    assert await guard().enter(Caller(HERE)) is NOBODY
    with pytest.raises(PermissionDeniedError):
        await guard().enter(Caller(ELSEWHERE))


@pytest.mark.parametrize(
    ("origin", "host", "is_admitted"),
    [
        # A page of the agent's own.
        ("https://agent.example", "agent.example", True),
        ("https://AGENT.example:443", "agent.example", True),
        ("http://agent.example:8000", "agent.example:8000", True),
        # One that was allowed, one by the address that the proxy has.
        ("https://app.example", "agent.example", True),
        ("https://public.example", "10.0.0.7:8000", True),
        # Cookies do not mind the port, so another port is another site.
        ("http://agent.example:3000", "agent.example:8000", False),
        ("https://evil.example", "agent.example", False),
        ("http://localhost:3000", "agent.example", False),
        ("null", "agent.example", False),
        ("", "", False),
    ],
)
async def test_a_page_of_another_site_cannot_use_what_the_browser_knows(
    origin: str,
    host: str,
    is_admitted: bool,  # noqa: FBT001 - a column of a table
) -> None:
    at, asked = guarded("https://public.example", "https://app.example")
    caller = Caller(origin=origin, host=host, **{"from": "ada"})
    if is_admitted:
        await at.enter(caller)
    else:
        with pytest.raises(PermissionDeniedError, match="Web pages of other sites"):
            await at.enter(caller)
    assert asked.asked == int(is_admitted)
    # What is public is public: a page may know of the card.
    at.admit(caller.peer, caller.headers)


# --- with a counter -------------------------------------------------------------------------------


class Counter:
    """Counts those who come and those who are turned away, and refuses some."""

    def __init__(self, *refused: str) -> None:
        self.met: list[str | None] = []
        self.away: list[str | None] = []
        self._refused = refused

    def meet(self, incoming: IncomingRequest) -> None:
        self.met.append(incoming.peer)
        if incoming.peer in self._refused:
            raise RateLimitedError

    def turned_away(self, incoming: IncomingRequest) -> None:
        self.away.append(incoming.peer)


class Refusing:
    """Finds nothing good, for this reason or because nothing was shown."""

    def __init__(self, reason: Exception | None) -> None:
        self.reason = reason
        self.asked = 0

    async def authenticate(self, evidence: Evidence) -> Principal:
        self.asked += 1
        raise UnauthenticatedError from self.reason


def counted(counter: Counter, reason: Exception | None = None) -> tuple[Guard, Refusing]:
    asked = Refusing(reason)
    made = Guard(
        allow_anonymous=False,
        max_body_bytes=10,
        max_depth=2,
        public_url=None,
        authentication=asked,
        counter=counter,
    )
    return made, asked


async def test_who_comes_too_often_is_refused_before_credentials_are_looked_at() -> None:
    at, asked = counted(counter := Counter(ELSEWHERE))
    with pytest.raises(RateLimitedError):
        await at.enter(Caller())
    assert (counter.met, counter.away, asked.asked) == ([ELSEWHERE], [], 0)


async def test_bad_credentials_are_counted_and_none_at_all_are_not() -> None:
    counter = Counter()
    for reason in (ValueError("bad"), None):
        with pytest.raises(UnauthenticatedError):
            await counted(counter, reason)[0].enter(Caller())
    assert (counter.met, counter.away) == ([ELSEWHERE, ELSEWHERE], [ELSEWHERE])


def test_what_is_public_is_counted_as_well() -> None:
    at, asked = counted(counter := Counter("198.51.100.1"))
    at.meet(Caller())
    with pytest.raises(RateLimitedError):
        at.meet(Caller("198.51.100.1"))
    assert (len(counter.met), asked.asked) == (2, 0)


# --- callers who sign bodies ----------------------------------------------------------------------


class ByBody:
    """Believes what bodies say."""

    async def authenticate(self, evidence: Evidence) -> Principal:
        assert evidence.body is not None
        return Principal(owner=(await evidence.body()).decode())


async def test_where_callers_sign_bodies_nothing_is_served_without_one() -> None:
    async def read() -> bytes:
        return b"ada"

    at = Guard(
        allow_anonymous=False,
        max_body_bytes=10,
        max_depth=2,
        public_url=None,
        authentication=ByBody(),
        needs_body=True,
    )
    assert await at.enter(Caller(), read) == Principal(owner="ada")
    with pytest.raises(MethodNotFoundError, match="JSON-RPC alone"):
        await at.enter(Caller())
