import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from dragoman.cli.options.options import (
    AGENT_CARD,
    BEARER,
    CONFIG,
    OUTPUT,
    STREAM,
    SVC_PARAM,
    TIMEOUT,
    TRANSPORT,
)
from dragoman.cli.options.settings import NO_SETTINGS, Given, Level, Settings, Source, read_settings
from dragoman.cli.surroundings import Surroundings
from dragoman.errors import UsageError


def read(folder: Path, *given: Given, environment: Mapping[str, str] | None = None) -> Settings:
    return read_settings(
        given,
        Surroundings(
            environment=environment or {},
            folder=folder,
            settings_folder=folder / "config",
            stdin=io.BytesIO(),
            stdout=io.BytesIO(),
            stderr=io.BytesIO(),
        ),
    )


def test_without_any_source_the_built_in_value_counts(tmp_path: Path) -> None:
    settings = read(tmp_path)
    assert settings[TIMEOUT] == 300
    assert settings.source(TIMEOUT) == Source(Level.BUILT_IN)
    assert str(settings.source(TIMEOUT)) == "built-in"
    assert not settings.is_set(TIMEOUT)
    assert NO_SETTINGS[OUTPUT] == "text"


def test_the_last_of_several_flags_counts(tmp_path: Path) -> None:
    settings = read(tmp_path, Given(OUTPUT, "json", "-o"), Given(OUTPUT, "text", "--output"))
    assert settings[OUTPUT] == "text"
    assert settings.source(OUTPUT) == Source(Level.FLAG, "--output")


def test_an_option_that_may_be_repeated_has_all_of_them(tmp_path: Path) -> None:
    flags = (Given(TRANSPORT, "rest", "--transport"), Given(TRANSPORT, "grpc", "--transport"))
    assert read(tmp_path, *flags)[TRANSPORT] == ("HTTP+JSON", "GRPC")
    environment = {"A2ACLI_TRANSPORT": "grpc,jsonrpc"}
    assert read(tmp_path, environment=environment)[TRANSPORT] == ("GRPC", "JSONRPC")


def test_a_wrong_flag_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--timeout must be a duration"):
        read(tmp_path, Given(TIMEOUT, "soon", "--timeout"))


def test_a_wrong_variable_is_told_when_it_is_needed(tmp_path: Path) -> None:
    settings = read(tmp_path, environment={"A2ACLI_TIMEOUT": "soon"})
    with pytest.raises(UsageError, match=r"^A2ACLI_TIMEOUT must be a duration"):
        settings[TIMEOUT]


def test_a_wrong_line_is_told_with_its_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A2ACLI_TIMEOUT=soon")
    with pytest.raises(UsageError, match=r"\.env must be a duration"):
        read(tmp_path)[TIMEOUT]


def test_an_empty_variable_counts_as_unset(tmp_path: Path) -> None:
    assert read(tmp_path, environment={"A2ACLI_OUTPUT": ""})[OUTPUT] == "text"


def test_streaming_is_for_the_command_line_alone(tmp_path: Path) -> None:
    settings = read(tmp_path, environment={"A2ACLI_STREAM": "1", "A2ACLI_CONFIG": "x"})
    assert settings[STREAM] is False
    assert settings[CONFIG] is None
    assert [each.variable for each in settings.ignored()] == ["A2ACLI_STREAM", "A2ACLI_CONFIG"]


def test_an_agent_s_file_cannot_name_another_agent(tmp_path: Path) -> None:
    place = tmp_path / "config" / "agents" / "https_agent.example.env"
    place.parent.mkdir(parents=True)
    place.write_text("A2ACLI_AGENT_CARD=https://evil.example\nA2ACLI_OUTPUT=json\n")
    settings = read(tmp_path, Given(AGENT_CARD, "agent.example/card", "-a"))
    assert settings[AGENT_CARD] == "agent.example/card"
    assert settings.source(OUTPUT) == Source(Level.AGENT, str(place))


@pytest.mark.parametrize("reference", ["./card.json", "file:///card.json", "/etc/card.json"])
def test_a_file_has_no_settings_of_its_own(tmp_path: Path, reference: str) -> None:
    assert read(tmp_path, Given(AGENT_CARD, reference, "-a"))[OUTPUT] == "text"


def test_only_a_file_that_was_looked_for_is_found(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A2ACLI_OUTPUT=json")
    assert read(tmp_path).is_walked_up
    named = read(tmp_path, Given(CONFIG, ".env", "--config"))
    assert not named.is_walked_up
    assert named[OUTPUT] == "json"


def test_secrets_are_known_wherever_they_come_from(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        Given(SVC_PARAM, "X-Key: param-secret", "--svc-param"),
        Given(SVC_PARAM, "X-No: 1", "--svc-param"),
        Given(AGENT_CARD, "https://me:pass-word@agent.example", "-a"),
        environment={"A2ACLI_BEARER": "token-secret"},
    )
    # One that is as short as "1" would be taken out of the middle of harmless words.
    assert set(settings.secrets()) == {"param-secret", "pass-word", "token-secret"}


def test_files_with_secrets_that_others_can_read_are_known(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("A2ACLI_BEARER=token-secret")
    path.chmod(0o644)
    assert list(read(tmp_path).exposed_files()) == [str(path)]
    path.chmod(0o600)
    assert list(read(tmp_path).exposed_files()) == []
    path.chmod(0o644)
    # One that is not in effect is not sent either.
    assert list(read(tmp_path, Given(BEARER, "other", "--bearer")).exposed_files()) == []
