"""What the settings say of webhooks."""

import stat
from ipaddress import ip_address
from pathlib import Path

import pytest

from dragoman.clock import SystemClock
from dragoman.egress import DestinationRefusedError, EgressPolicy, read_url
from dragoman.errors import UsageError
from dragoman.server.settings import Settings
from dragoman.server.webhooks.keys import (
    KEYS_SUFFIX,
    PushKeys,
    check_push,
    egress_policy_of,
    keys_file_of,
    tell_unsigned,
)


def keys_of(settings: Settings) -> PushKeys:
    return PushKeys(settings, SystemClock())


def test_unless_told_otherwise_the_rules_are_the_strict_ones() -> None:
    assert egress_policy_of(Settings()) == EgressPolicy()


def test_every_setting_of_addresses_is_in_the_policy() -> None:
    policy = egress_policy_of(
        Settings(
            push_allow_http=True,
            push_allow_hosts=("10.1.0.0/16", "hooks.corp.example:9000"),
            push_ports=(443, 8443),
            push_timeout_seconds=12,
        )
    )
    assert read_url("http://hooks.example:8443/", policy).port == 8443
    with pytest.raises(DestinationRefusedError):
        read_url("http://hooks.example:80/", policy)
    policy.check_address("inside.example", 443, ip_address("10.1.2.3"))
    policy.check_address("hooks.corp.example", 9000, ip_address("192.168.0.1"))
    with pytest.raises(DestinationRefusedError):
        policy.check_address("inside.example", 443, ip_address("10.2.0.1"))
    assert policy.total_seconds == 12


def test_no_connection_is_waited_for_beyond_the_whole_attempt() -> None:
    assert egress_policy_of(Settings(push_timeout_seconds=3)).connect_seconds == 3


def test_a_host_that_cannot_be_read_is_told_with_the_setting() -> None:
    with pytest.raises(UsageError, match=r"push_allow_hosts: '10\.1\.0\.0/99'"):
        egress_policy_of(Settings(push_allow_hosts=("10.1.0.0/99",)))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (Settings(push_allow_hosts=("a b",)), "push_allow_hosts"),
        (Settings(push_keys="/dev/null/keys"), "/dev/null/keys"),
    ],
)
def test_what_is_wrong_is_told_before_the_first_webhook(settings: Settings, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        check_push(settings)


def test_what_is_not_used_is_not_looked_at() -> None:
    check_push(Settings(push=False, push_allow_hosts=("a b",), push_keys="/dev/null/keys"))
    check_push(Settings(push_signing="none", push_keys="/dev/null/keys"))


@pytest.mark.parametrize(
    ("settings", "file"),
    [
        (Settings(store="sqlite:///tasks.db"), Path(f"tasks.db{KEYS_SUFFIX}")),
        (Settings(store="sqlite:////var/a/tasks.db"), Path(f"/var/a/tasks.db{KEYS_SUFFIX}")),
        (Settings(store="memory:"), None),
        (Settings(store="memory:", push_keys="k.json"), Path("k.json")),
        (Settings(store="postgres://host/name"), None),
        (Settings(store="postgresql://host/name", push_keys="k.json"), Path("k.json")),
    ],
)
def test_keys_lie_beside_the_store_unless_a_file_is_named(
    settings: Settings, file: Path | None
) -> None:
    assert keys_file_of(settings) == file


def test_keys_are_made_when_they_are_first_needed_and_kept(tmp_path: Path) -> None:
    settings = Settings(store=f"sqlite:///{tmp_path}/tasks.db")
    keys = keys_of(settings)
    assert not list(tmp_path.iterdir())
    made = keys.get()
    assert made is not None
    assert keys.get() is made
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = keys_of(settings).get()
    assert again is not None
    assert again.newest.kid == made.newest.kid


@pytest.mark.parametrize(
    "settings",
    [
        Settings(store="memory:", push=False),
        Settings(store="memory:", push_signing="none"),
        # Each replica would have keys of its own.
        Settings(store="postgres://host/name"),
    ],
)
def test_where_nothing_is_signed_there_are_no_keys(settings: Settings) -> None:
    keys = keys_of(settings)
    assert not keys.is_used
    assert keys.get() is None


def test_replicas_sign_with_the_keys_of_a_file_that_all_have(tmp_path: Path) -> None:
    settings = Settings(store="postgres://host/name", push_keys=str(tmp_path / "keys.json"))
    first, second = keys_of(settings).get(), keys_of(settings).get()
    assert first is not None
    assert second is not None
    assert first.newest.kid == second.newest.kid


def test_it_is_told_when_replicas_have_no_keys_in_common(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tell_unsigned(Settings(store="postgres://host/name"))
    (message,) = caplog.messages
    assert "--push-keys" in message


@pytest.mark.parametrize(
    "settings",
    [
        Settings(store="postgres://host/name", push=False),
        Settings(store="postgres://host/name", push_signing="none"),
        Settings(store="memory:"),
    ],
)
def test_where_nothing_is_to_be_signed_nothing_is_told(
    caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    tell_unsigned(settings)
    assert caplog.messages == []


def test_keys_for_a_store_that_the_settings_do_not_name_are_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert PushKeys(Settings(), SystemClock(), is_passing=True).get() is not None
    assert list(tmp_path.iterdir()) == []
    named = Settings(push_keys=str(tmp_path / "keys.json"))
    assert PushKeys(named, SystemClock(), is_passing=True).get() is not None
    assert [file.name for file in tmp_path.iterdir()] == ["keys.json"]
