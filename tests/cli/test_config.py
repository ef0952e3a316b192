"""DEFAULT, CONFIG and CLI: defaults, settings, help and completion."""

import subprocess
from pathlib import Path

import pytest

import dragoman
from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, task
from tests.support.programs import need


def setting(cli: Cli, name: str, *flags: str, **variables: str) -> tuple[str | None, str]:
    """The value of a setting and where it comes from."""
    shown = cli("config", "show", *flags, "-o", "json", **variables).json["settings"]
    (row,) = [row for row in shown if row["name"] == name]
    return row["value"], row["source"]


# --- DEFAULT --------------------------------------------------------------------------------------


def test_default_001_the_card_s_order_unless_preferred(cli: Cli) -> None:
    assert cli("card", "get").field("Selected interface").startswith("JSONRPC ")
    assert cli("card", "get", "--transport", "grpc").field("Selected interface").startswith("GRPC ")


def test_default_001_waits_unless_told_otherwise(cli: Cli) -> None:
    assert cli("send", "slow").field("State") == "TASK_STATE_COMPLETED"
    assert cli("send", "slow", "--async").field("State") != "TASK_STATE_COMPLETED"


def test_default_001_text_unless_json(cli: Cli) -> None:
    assert cli("send", "x").out.startswith("Task: ")
    assert cli("send", "x", "-o", "json").json["task"]


def test_default_001_concise_unless_verbose(cli: Cli) -> None:
    assert "History message" not in cli("send", "x").out
    assert "History message" in cli("send", "x", "--verbose").out
    assert "History message" in cli("send", "x", "-v").out


def test_default_001_the_newest_version_unless_asked(cli: Cli) -> None:
    assert "* interface JSONRPC 1.0 " in cli("send", "x", "--debug").err
    assert "* interface JSONRPC 0.3 " in cli("send", "x", "--debug", "--a2a-version", "0.3").err


def test_default_001_certificates_are_verified_unless_told(alone: Cli) -> None:
    assert setting(alone, "insecure") == ("false", "built-in")
    assert setting(alone, "insecure", "--insecure") == ("true", "flag")


def test_default_001_every_default_is_visible(alone: Cli) -> None:
    text = " ".join(alone("help", "send").out.split())
    for default in (
        "the order of the card",
        "send waits, task get does not",
        "default: text",
        "concise",
        "what both speak, at least 1.0 if the card has it",
        "certificates are verified",
        "default: 2s",
        "default: 5m",
    ):
        assert default in text


# --- CONFIG ---------------------------------------------------------------------------------------


def test_config_001_nothing_is_written_and_everything_can_be_seen(alone: Cli) -> None:
    result = alone("config", "show")
    assert result.code == 0
    assert "output: text (built-in)" in result.out
    assert list(alone.folder.iterdir()) == []


def test_config_002_the_stronger_source_counts(alone: Cli) -> None:
    def value(**variables: str) -> tuple[str | None, str]:
        return setting(alone.to("http://127.0.0.1:7"), "timeout", **variables)

    folder = alone.settings_folder
    (folder / "agents").mkdir(parents=True)
    assert value() == ("300s", "built-in")
    (folder / ".env").write_text("A2ACLI_TIMEOUT=1s\n")
    assert value() == ("1s", "global")
    (folder / "agents" / "http_127.0.0.1_7.env").write_text("A2ACLI_TIMEOUT=2s\n")
    assert value() == ("2s", "agent")
    (alone.folder / ".env").write_text("export A2ACLI_TIMEOUT='3s' # as it were\n")
    assert value() == ("3s", "local")
    assert value(A2ACLI_TIMEOUT="4s") == ("4s", "environment")
    flagged = setting(alone, "timeout", "--timeout", "5s", A2ACLI_TIMEOUT="4s")
    assert flagged == ("5s", "flag")


def test_config_002_a_named_file_replaces_the_local_one(alone: Cli) -> None:
    (alone.folder / ".env").write_text("A2ACLI_OUTPUT=json\nA2ACLI_TIMEOUT=9s")
    (alone.folder / "other.env").write_text("A2ACLI_TIMEOUT=8s")
    (alone.folder / "other.json").write_text('{"timeout": "7s", "transport": ["grpc", "rest"]}')
    assert setting(alone, "timeout", "--config", "other.env") == ("8s", "local")
    assert setting(alone, "timeout", "--config", "other.json") == ("7s", "local")
    assert setting(alone, "transport", "--config", "other.json") == ("GRPC, HTTP+JSON", "local")
    assert alone("config", "show", "--config", "none.env").code == 2


def test_config_002_the_local_file_is_found_above(alone: Cli) -> None:
    inner = alone.folder / "a" / "b"
    inner.mkdir(parents=True)
    (alone.folder / ".env").write_text("A2ACLI_CONTEXT_ID=c-7\n")
    assert setting(Cli(inner), "context-id") == ("c-7", "local")


def test_config_002_each_agent_has_its_own_settings(alone: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: task()
    place = (
        alone.settings_folder / "agents" / f"{fake.url.replace('://', '_').replace(':', '_')}.env"
    )
    place.parent.mkdir(parents=True)
    place.write_text("A2ACLI_BEARER=only-for-this\n")
    place.chmod(0o600)
    assert alone.to(fake.url)("task", "get", "t-1").code == 0
    assert fake.calls("GetTask")[0].headers["authorization"] == "Bearer only-for-this"


def test_config_002_show_tells_the_source_and_no_secret(alone: Cli) -> None:
    (alone.folder / ".env").write_text("A2ACLI_BEARER=hidden-one\nA2ACLI_STREAM=1\nA2ACLI_TYPO=1\n")
    (alone.folder / ".env").chmod(0o600)
    result = alone("config", "show", A2ACLI_OUTPUT="text")
    place = alone.folder / ".env"
    assert f"bearer: <redacted> ({place})" in result.out
    assert "output: text (A2ACLI_OUTPUT)" in result.out
    assert f"ignored: A2ACLI_STREAM ({place})" in result.out
    assert f"ignored: A2ACLI_TYPO ({place})" in result.out
    assert "hidden-one" not in result.out


def test_config_002_a_file_that_others_can_read_is_told(alone: Cli, fake: FakeAgent) -> None:
    (alone.folder / ".env").write_text("A2ACLI_BEARER=readable\n")
    (alone.folder / ".env").chmod(0o644)
    result = alone.to(fake.url)("task", "get", "t-1")
    assert "other users can read it: chmod 600" in result.err


def test_config_002_a_found_file_does_not_get_the_user_s_secret(
    alone: Cli, fake: FakeAgent
) -> None:
    """Whoever works in a foreign folder may not know what it names."""
    alone.settings_folder.mkdir(parents=True)
    shared = alone.settings_folder / ".env"
    shared.write_text("A2ACLI_BEARER=mine-alone\n")
    shared.chmod(0o600)
    (alone.folder / ".env").write_text(f"A2ACLI_AGENT_CARD={fake.url}\n")
    fake.answers["GetTask"] = lambda _: task()
    refused = alone("task", "get", "t-1", "-o", "json")
    assert (refused.code, refused.error["code"]) == (2, "A2ACLI_ERR_USAGE")
    assert fake.asked == []
    # Named by the user, the agent gets it; so does one whose file the user names.
    assert alone("task", "get", "t-1", "-a", fake.url).code == 0
    warned = alone("task", "get", "t-1", "--config", ".env")
    assert warned.code == 0
    assert f"the agent comes from {alone.folder / '.env'}, but --bearer from {shared}" in warned.err


# --- CLI ------------------------------------------------------------------------------------------


def test_cli_001_help_and_version_are_everywhere(alone: Cli) -> None:
    version = f"dragoman {dragoman.__version__}\n"
    for arguments in (("--version",), ("-v",), ("version",), ("send", "--version")):
        result = alone(*arguments)
        assert (result.code, result.out) == (0, version)
    assert alone("version", "-o", "json").json["version"] == dragoman.__version__
    for arguments in ((), ("help",), ("--help",), ("-h",)):
        result = alone(*arguments)
        assert result.code == 0
        assert "task" in result.out
    for arguments in (("help", "task", "get"), ("task", "get", "--help")):
        assert "--history" in alone(*arguments).out
    assert alone("help", "nonsense").code == 2


def test_cli_001_help_shows_the_defaults_in_effect(alone: Cli) -> None:
    text = " ".join(
        alone("help", "send", A2ACLI_OUTPUT="json", A2ACLI_BEARER="hidden-one").out.split()
    )
    assert "(default: json, from A2ACLI_OUTPUT)" in text
    assert "(default: <redacted>, from A2ACLI_BEARER)" in text
    assert "hidden-one" not in text


def test_cli_001_options_stand_before_and_after_the_command(cli: Cli, stage: str) -> None:
    alone = Cli(cli.folder)
    assert alone("--agent-card", stage, "-o", "json", "send", "x").json["task"]
    assert alone("-o", "json", "send", "x", "-a", stage).json["task"]
    # What is said twice counts as it is said last.
    assert alone("-o", "json", "send", "x", "-a", stage, "-o", "text").out.startswith("Task: ")


def test_cli_001_no_option_can_be_abbreviated(cli: Cli) -> None:
    assert cli("send", "x", "--str").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_cli_002_completion_knows_commands_options_and_values(alone: Cli, shell: str) -> None:
    result = alone("completion", shell)
    assert result.code == 0
    for word in ("push-config", "subscribe", "--agent-card", "--log-level", "jsonl", "powershell"):
        assert word in result.out
    assert "{{" not in result.out


def test_cli_002_another_shell_is_wrong_usage(alone: Cli) -> None:
    assert alone("completion", "tcsh").code == 2
    assert alone("completion").code == 2


@pytest.mark.parametrize(
    ("shell", "check"),
    [("bash", ("bash", "-n")), ("zsh", ("zsh", "-n")), ("fish", ("fish", "-n"))],
)
def test_cli_002_the_shell_understands_its_script(
    alone: Cli, shell: str, check: tuple[str, ...], tmp_path: Path
) -> None:
    need(shell)
    script = tmp_path / "script"
    script.write_text(alone("completion", shell).out)
    assert subprocess.run([*check, str(script)], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("dragoman ta", "task"),
        ("dragoman task push", "push-config"),
        ("dragoman task push-config cr", "create"),
        ("dragoman -o json task sub", "subscribe"),
        ("dragoman send -o j", "json jsonl"),
        ("dragoman send --poll", "--poll-interval"),
        ("dragoman completion p", "powershell"),
        ("dragoman serve --log-f", "--log-format"),
    ],
)
def test_cli_002_bash_completes(alone: Cli, tmp_path: Path, typed: str, expected: str) -> None:
    bash = need("bash")
    script = tmp_path / "script"
    script.write_text(alone("completion", "bash").out)
    words = typed.split()
    program = (
        f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _dragoman; "
        'echo "${COMPREPLY[@]}"'
    )
    shown = subprocess.run([bash, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == expected
