from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from dragoman.errors import UsageError
from dragoman.net.limits import ConnectionLimits
from dragoman.server.settings import (
    ContentLimits,
    RateSettings,
    Settings,
    StoreSettings,
    load_settings,
    read_config_file,
    setting_fields,
)


def test_the_card_is_for_all_readers_or_for_those_of_1_0() -> None:
    assert load_settings({"card": "1.0"}, {}).card == "1.0"
    with pytest.raises(UsageError, match=r"^DRAGOMAN_CARD: .* all or of 1\.0$"):
        load_settings({}, {"DRAGOMAN_CARD": "0.3"})


def test_without_any_source_the_defaults_hold() -> None:
    assert load_settings({}, {}) == Settings()


@pytest.mark.parametrize(
    ("given", "environ", "file", "expected"),
    [
        # The caller wins, then the environment, then the file.
        ({"max_parts": 3}, {"DRAGOMAN_MAX_PARTS": "2"}, {"max_parts": 1}, 3),
        ({}, {"DRAGOMAN_MAX_PARTS": "2"}, {"max_parts": 1}, 2),
        ({}, {}, {"max_parts": 1}, 1),
    ],
)
def test_the_strongest_source_wins(
    given: Mapping[str, object],
    environ: Mapping[str, str],
    file: Mapping[str, object],
    expected: int,
) -> None:
    assert load_settings(given, environ, file).max_parts == expected


def test_sources_are_merged() -> None:
    settings = load_settings({"store": "memory:"}, {"DRAGOMAN_FORCE_JSON": "1"}, {"max_depth": 9})
    assert settings == Settings(store="memory:", force_json=True, max_depth=9)


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("DRAGOMAN_STORE", "memory:", "store", "memory:"),
        ("DRAGOMAN_MAX_PARTS", "7", "max_parts", 7),
        ("DRAGOMAN_STALL_SECONDS", "1.5", "stall_seconds", 1.5),
        ("DRAGOMAN_ALLOW_ANONYMOUS", "true", "allow_anonymous", True),
        ("DRAGOMAN_ALLOW_ANONYMOUS", "0", "allow_anonymous", False),
        # A list is written with commas.
        ("DRAGOMAN_TRUSTED_PROXIES", "10.0.0.1", "trusted_proxies", ("10.0.0.1",)),
        ("DRAGOMAN_TRUSTED_PROXIES", "10.0.0.1, ::1", "trusted_proxies", ("10.0.0.1", "::1")),
        ("DRAGOMAN_CORS_ORIGINS", "", "cors_origins", ()),
        ("DRAGOMAN_PUSH_PORTS", "443,8443", "push_ports", (443, 8443)),
        # A table is a list of pairs.
        (
            "DRAGOMAN_RATE_LIMIT_PER_OPERATION",
            "SendMessage=30/min, ListTasks = 5/s",
            "rate_limit_per_operation",
            {"SendMessage": "30/min", "ListTasks": "5/s"},
        ),
        (
            "DRAGOMAN_RATE_LIMIT_WEIGHTS",
            "SendMessage=1",
            "rate_limit_weights",
            {"SendMessage": 1},
        ),
    ],
)
def test_the_environment_is_text_and_read_as_what_is_meant(
    variable: str, text: str, name: str, value: object
) -> None:
    assert getattr(load_settings({}, {variable: text}), name) == value


@pytest.mark.parametrize("name", setting_fields())
def test_every_setting_can_come_from_the_environment(name: str) -> None:
    default: object = getattr(Settings(), name)
    is_list = isinstance(default, tuple | dict)
    text = ",".join(map(str, cast("tuple[object, ...]", default))) if is_list else str(default)
    assert load_settings({}, {f"DRAGOMAN_{name.upper()}": text}) is not None


@pytest.mark.parametrize("group", Settings.__bases__)
def test_a_part_is_given_the_settings_for_the_group_it_asks_for(group: type) -> None:
    given, alone = Settings(), group()
    assert isinstance(given, group)
    for name in setting_fields(group):
        assert getattr(given, name) == getattr(alone, name)


def test_every_setting_is_declared_in_one_group() -> None:
    declared = [name for group in Settings.__bases__ for name in setting_fields(group)]
    assert declared == list(setting_fields())


@pytest.mark.parametrize(
    ("name", "group", "title"),
    [
        ("store", StoreSettings, "Store and replicas"),
        ("keep_alive_seconds", ConnectionLimits, "Connections"),
        ("max_parts", ContentLimits, "Content of requests"),
        ("rate_limit_weights", RateSettings, "How often callers may ask"),
    ],
)
def test_a_setting_tells_its_group(name: str, group: type, title: str) -> None:
    assert setting_fields()[name].group == title
    assert setting_fields()[name] == setting_fields(group)[name]


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError):
        Settings().store = "memory:"  # type: ignore[misc] - it must not be possible


def test_a_list_of_a_file_is_a_list() -> None:
    assert load_settings({}, {}, {"trusted_proxies": ["10.0.0.1"]}).trusted_proxies == ("10.0.0.1",)


@pytest.mark.parametrize(
    ("given", "environ", "file", "told"),
    [
        # No such setting.
        ({"max_part": 1}, {}, {}, "--max-part: there is no setting called 'max_part'"),
        ({}, {"DRAGOMAN_STOER": "x"}, {}, "DRAGOMAN_STOER: there is no setting called 'stoer'"),
        ({}, {}, {"stoer": "x"}, "the config file: there is no setting called 'stoer'"),
        # The wrong kind of value, or one out of bounds.
        ({"max_parts": 0}, {}, {}, "--max-parts: Expected `int` >= 1 - at `$.max_parts`"),
        ({}, {"DRAGOMAN_MAX_PARTS": "many"}, {}, "DRAGOMAN_MAX_PARTS: Expected `int`, got `str`"),
        ({}, {}, {"heartbeat_seconds": 0}, "the config file: Expected `float` > 0.0"),
        ({}, {}, {"max_depth": 501}, "the config file: Expected `int` <= 500"),
        ({}, {}, {"store": 5}, "the config file: Expected `str`, got `int`"),
        ({}, {}, {"trusted_proxies": ["::1", 5]}, "the config file: Expected `str`, got `int`"),
        # The source that won is the one to blame.
        ({}, {"DRAGOMAN_MAX_PARTS": "0"}, {"max_parts": 1}, "DRAGOMAN_MAX_PARTS: "),
    ],
)
def test_what_is_wrong_is_told_with_where_it_came_from(
    given: Mapping[str, object], environ: Mapping[str, str], file: Mapping[str, object], told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load_settings(given, environ, file)
    assert str(caught.value).startswith(told)


def test_a_wrong_value_is_told_with_the_key() -> None:
    with pytest.raises(UsageError, match=r"the config file: .*\$\.trusted_proxies"):
        load_settings({}, {}, {"trusted_proxies": [5]})


def test_variables_of_others_are_left_alone() -> None:
    assert load_settings({}, {"PATH": "/bin", "MAX_PARTS": "1"}) == Settings()


@pytest.mark.parametrize(
    "variable",
    # The command line's own: an application under another server must not stumble over them.
    [
        "DRAGOMAN_PORT",
        "DRAGOMAN_HOST",
        "DRAGOMAN_GRPC_PORT",
        "DRAGOMAN_TLS_CERT",
        "DRAGOMAN_TLS_KEY",
        "DRAGOMAN_TLS_CLIENT_CA",
        "DRAGOMAN_LOG_LEVEL",
        "DRAGOMAN_LOG_FORMAT",
        "DRAGOMAN_RELOAD",
        "DRAGOMAN_WORKERS",
    ],
)
def test_variables_of_the_command_line_are_left_alone(variable: str) -> None:
    assert load_settings({}, {variable: "x"}) == Settings()


def test_what_the_process_is_told_is_left_alone() -> None:
    settings = load_settings({}, {}, {"port": 9000})
    assert settings == Settings()


def test_a_file_of_settings_is_read(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text('store = "memory:"\nmax_parts = 7\ntrusted_proxies = ["::1"]\n')
    assert read_config_file(path) == {
        "store": "memory:",
        "max_parts": 7,
        "trusted_proxies": ["::1"],
    }


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    with pytest.raises(UsageError, match=r"cannot read .*agent\.toml: No such file or directory"):
        read_config_file(path)


@pytest.mark.parametrize("content", [b"store = ", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "agent.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"agent\.toml is not valid TOML: "):
        read_config_file(path)
