from pathlib import Path

import pytest

from dragoman.bus.nats.address import NatsAddress, parse_nats_address
from dragoman.errors import UsageError
from tests.support.nats_keys import credentials, make_seed

SEED = make_seed("user", bytes(32))


def test_a_server_has_a_port() -> None:
    assert parse_nats_address("nats://nats.example") == NatsAddress(
        servers=("nats://nats.example:4222",)
    )


def test_a_cluster_is_a_list_of_servers() -> None:
    address = parse_nats_address("nats://me:p%2Cw@a:1,nats://b,nats://[::1]:3/?prefix=prod")
    assert address == NatsAddress(
        servers=("nats://a:1", "nats://b:4222", "nats://[::1]:3"),
        user="me",
        password="p,w",  # noqa: S106 - no secret
        prefix="prod",
    )


def test_a_user_without_password_is_a_token() -> None:
    assert parse_nats_address("nats://t%40ken@a").token == "t@ken"  # noqa: S105 - no secret


def test_no_secret_is_shown() -> None:
    address = parse_nats_address("nats://user:secret@a")
    assert "secret" not in repr(address)
    assert "a:4222" in repr(address)


def test_files_are_read_when_they_are_named(tmp_path: Path) -> None:
    seed = tmp_path / "user.nk"
    seed.write_text(SEED, "ascii")
    creds = tmp_path / "user.creds"
    creds.write_text(credentials("a.b.c", SEED), "ascii")
    by_seed = parse_nats_address(f"nats://a?nkey={seed}").read_identity()
    by_creds = parse_nats_address(f"nats://a?creds={creds}").read_identity()
    assert by_seed is not None
    assert by_creds is not None
    assert (by_seed[0], by_creds[0]) == ("", "a.b.c")
    assert by_seed[1].public == by_creds[1].public


def test_tls_is_asked_for_by_the_scheme() -> None:
    assert parse_nats_address("nats://a").tls_context() is None
    assert parse_nats_address("tls://a").tls_context() is not None


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("nats://a,tls://b", "every server is written"),
        ("nats://a,b:4222", "every server is written"),
        ("nats://", "nothing more"),
        ("nats://a:x", "nothing more"),
        ("nats://a:70000", "nothing more"),
        ("nats://a/subject", "nothing more"),
        ("nats://a,", "every server is written"),
        ("nats://u:secret@a,nats://v:secret@b", "the addresses name two"),
        ("nats://a?colour=red", "no option 'colour'"),
        ("nats://a?prefix=", "'prefix' has no value"),
        ("nats://a?prefix=b&prefix=c", "given twice"),
        ("nats://a?prefix=a.b", "prefix takes"),
        ("nats://a?ca=/x", "write tls://"),
        ("tls://a?key=/x", "cert, which is not given"),
        ("tls://a?ca=/nowhere/ca.pem", "files for TLS are no good"),
        ("nats://a?creds=/nowhere/user.creds", "'creds' is no good"),
        ("nats://a?nkey=/nowhere/user.nk", "'nkey' is no good"),
        ("nats://secret@a?nkey=/nowhere/user.nk", "token and nkey exclude each other"),
    ],
)
def test_what_is_wrong_is_named_without_secrets(url: str, rule: str) -> None:
    with pytest.raises(UsageError, match=rule) as caught:
        parse_nats_address(url)
    assert "secret" not in str(caught.value)


def test_a_file_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "user.nk"
    file.write_text("something else", "ascii")
    with pytest.raises(UsageError, match="'nkey' is no good: it holds no NKey seed"):
        parse_nats_address(f"nats://a?nkey={file}")
    with pytest.raises(UsageError, match="'creds' is no good: it has no section"):
        parse_nats_address(f"nats://a?creds={file}")
