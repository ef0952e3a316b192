import importlib
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.request import urlopen

import pytest

import dragoman
from dragoman.bindings.grpc.v1_0 import V1_0_GRPC
from dragoman.cli import main
from dragoman.model.messages import Message, Role
from dragoman.model.operations import Operation, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Task
from dragoman.server.settings import Settings
from tests.support.cli.commands import AGENT, PROGRAM, Running, call, environment, running
from tests.support.disks import DISK, run_on_small_disk
from tests.support.programs import need
from tests.support.server.certificates import write_files

# The library has no types.
grpc: Any = importlib.import_module("grpc")


@pytest.fixture
def folder(tmp_path: Path) -> Generator[Path]:
    """A folder with an agent in it, which some of the tests import into this process."""
    (tmp_path / "bot.py").write_text(AGENT)
    yield tmp_path
    sys.modules.pop("bot", None)


@pytest.fixture
def taken() -> Generator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def get(url: str) -> bytes:
    with urlopen(url, timeout=10) as response:  # noqa: S310 - our own server
        return response.read()


# --- the command itself -----------------------------------------------------------------------


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"dragoman {dragoman.__version__}\n"


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "serve" in capsys.readouterr().out


def test_help_tells_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"]) == 0
    text = capsys.readouterr().out
    for option in (
        "PATH[:NAME]",
        "--host",
        "--port",
        "--grpc-port",
        "--tls-cert",
        "--tls-key",
        "--tls-client-ca",
        "--store",
        "--public-url",
        "--allow-anonymous",
        "--strict-versions",
        "--reload",
        "--log-level",
        "--log-format",
        "--config",
        "DRAGOMAN_PORT",
        "dragoman.toml",
        Settings().store,
    ):
        assert option in text


# --- what is wrong is told before anything is done --------------------------------------------


@pytest.fixture
def alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in the folder of the agent, without settings from elsewhere."""
    monkeypatch.chdir(folder)
    for name in ("HOST", "PORT", "GRPC_PORT", "CONFIG", "LOG_LEVEL", "LOG_FORMAT"):
        monkeypatch.delenv(f"DRAGOMAN_{name}", raising=False)
    return folder


def refused(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Call ``serve`` with something wrong; return the one line it says."""
    assert main(["serve", "bot.py", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dragoman: error: ")
    assert err.count("\n") == 1
    return err.removeprefix("dragoman: error: ").strip()


@pytest.mark.usefixtures("alone")
def test_a_port_in_use_is_told_in_one_line(taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused("--port", str(taken), capsys=capsys) == (
        f"cannot listen on 127.0.0.1 port {taken}: address already in use; "
        "stop what uses it or choose another with --port"
    )


@pytest.mark.usefixtures("alone")
def test_a_port_for_grpc_in_use_is_told_in_one_line(
    taken: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused("--port", "0", "--grpc-port", str(taken), capsys=capsys) == (
        f"cannot listen on 127.0.0.1 port {taken}: address already in use; "
        "stop what uses it or choose another with --grpc-port"
    )


@pytest.mark.usefixtures("alone")
def test_a_port_for_grpc_needs_the_packages_of_grpc(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    assert refused("--grpc-port", "0", capsys=capsys) == (
        "gRPC needs a package that is not installed: pip install protobuf"
    )


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--tls-cert", "cert.pem"], "TLS needs both --tls-cert and --tls-key"),
        (["--tls-key", "key.pem"], "TLS needs both --tls-cert and --tls-key"),
        (["--tls-client-ca", "ca.pem"], "TLS needs both --tls-cert and --tls-key"),
        (
            ["--tls-cert", "cert.pem", "--tls-key", "key.pem"],
            "cannot read cert.pem: No such file or directory",
        ),
        (["--tls-cert", "bot.py", "--tls-key", "bot.py"], "cannot use bot.py with bot.py: not in"),
    ],
)
def test_files_for_tls_that_are_wrong_are_told_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused("--port", "0", *arguments, capsys=capsys).startswith(told)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--push-ports", "443,x"], "--push-ports: Expected `int`, got `str` - at `$.push_ports"),
        (["--push-ports", "0"], "--push-ports: Expected `int` >= 1"),
        (["--push-events", "states,all"], "--push-events: Invalid enum value 'all'"),
        (["--push-signing", "rsa"], "--push-signing: Invalid enum value 'rsa'"),
        (["--push-allow-hosts", "10.0.0.0/99"], "push_allow_hosts: '10.0.0.0/99' is"),
        (["--push-keys", "bot.py"], "bot.py "),
    ],
)
def test_what_is_wrong_with_webhooks_is_told_in_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused("--port", "0", *arguments, capsys=capsys).startswith(told)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_a_host_that_is_not_ours_is_told(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused("--host", host, "--port", "0", capsys=capsys)
    assert line.startswith(f"cannot listen on {host} port 0: ")
    assert line.endswith(" with --host")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("port", ["-1", "65536"])
def test_a_port_out_of_range_is_told(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(f"--port={port}", capsys=capsys)
    assert line == f"the port must be a number from 0 to 65535, not {port}"


@pytest.mark.usefixtures("alone")
def test_a_port_in_the_environment_that_is_no_number_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRAGOMAN_PORT", "http")
    assert "from 0 to 65535, not 'http'" in refused(capsys=capsys)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("variable", "told"),
    [
        ("DRAGOMAN_LOG_LEVEL", "log_level must be one of debug, info, warning, error, not 'loud'"),
        ("DRAGOMAN_LOG_FORMAT", "log_format must be one of text, json, not 'loud'"),
        ("DRAGOMAN_LOUDNESS", "DRAGOMAN_LOUDNESS: there is no setting called 'loudness'"),
        ("DRAGOMAN_MAX_PARTS", "DRAGOMAN_MAX_PARTS: Expected `int`, got `str`"),
    ],
)
def test_an_environment_that_is_wrong_is_told(
    variable: str,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable, "loud")
    assert refused(capsys=capsys).startswith(told)


@pytest.mark.parametrize(
    ("arguments", "environ", "files", "told"),
    [
        (["--config", "x.toml"], {}, {}, "cannot read x.toml: No such file"),
        ([], {"DRAGOMAN_CONFIG": "x.toml"}, {}, "cannot read x.toml: No such file"),
        ([], {}, {"dragoman.toml": "= 1"}, "dragoman.toml is not valid TOML"),
        ([], {}, {"dragoman.toml": "prot = 1"}, "dragoman.toml: there is no setting called 'prot'"),
        (["--config", "x.toml"], {}, {"x.toml": "max_parts = 0"}, "x.toml: Expected `int` >= 1"),
        ([], {"DRAGOMAN_CONFIG": "y.toml"}, {"y.toml": "prot = 1"}, "y.toml: there is no setting"),
        (["--config", "x.toml"], {}, {"x.toml": "", "dragoman.toml": "prot = 1"}, "cannot listen"),
    ],
)
def test_a_config_file_that_is_wrong_is_told(
    arguments: list[str],
    environ: Mapping[str, str],
    files: Mapping[str, str],
    told: str,
    alone: Path,
    taken: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    for name, content in files.items():
        (alone / name).write_text(content)
    assert refused(*arguments, f"--port={taken}", capsys=capsys).startswith(told)


@pytest.mark.parametrize("option", ["--log-level", "--log-format"])
def test_a_choice_that_is_none_is_told_by_the_parser(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "bot.py", option, "loud"]) == 2
    assert "invalid choice: 'loud'" in capsys.readouterr().err


def test_an_option_of_commands_to_agents_is_none_of_serve(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--bearer", "x", "serve", "bot.py"]) == 2
    assert "--bearer is no option of serve" in capsys.readouterr().err


# --- where a value comes from -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("sources", "winner"),
    [
        # The command line, the environment, the file: the first there is.
        ({"argument", "environment", "file"}, "argument"),
        ({"environment", "file"}, "environment"),
        ({"file"}, "file"),
    ],
)
def test_the_strongest_source_of_a_port_wins(
    sources: set[str],
    winner: str,
    alone: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Every port is taken, so the complaint tells which one was chosen.
    listeners = {name: socket.create_server(("127.0.0.1", 0)) for name in sources}
    ports = {name: listener.getsockname()[1] for name, listener in listeners.items()}
    arguments = ["--port", str(ports["argument"])] if "argument" in sources else []
    if "environment" in sources:
        monkeypatch.setenv("DRAGOMAN_PORT", str(ports["environment"]))
    (alone / "dragoman.toml").write_text(f"port = {ports['file']}\n")
    line = refused(*arguments, capsys=capsys)
    for listener in listeners.values():
        listener.close()
    assert line.startswith(f"cannot listen on 127.0.0.1 port {ports[winner]}: ")


# --- a server at work -------------------------------------------------------------------------


def test_an_agent_is_served_on_a_port_of_its_choice(folder: Path) -> None:
    with running(folder, "bot.py", "--port", "0", "--store", "memory:") as server:
        assert not server.url.endswith(":0")
        card = json.loads(get(f"{server.url}/.well-known/agent-card.json"))
        assert card["name"] == "Echo"
        assert server.output.startswith(f"Echo 1.0.0 is served at {server.url} (store: memory:)\n")
        assert f"curl {server.url}/message:send" in server.output
        assert server.stop() == 0
    assert server.errors == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_told_to_stop_stops_well(folder: Path, number: signal.Signals) -> None:
    with running(folder, "bot.py", "--port", "0", "--store", "memory:") as server:
        assert server.stop(number) == 0
        assert "Traceback" not in server.errors


def test_a_command_that_is_interrupted_before_it_serves_says_so_by_its_exit_code(
    folder: Path,
) -> None:
    (folder / "slow.py").write_text('import time\nprint("loading", flush=True)\ntime.sleep(60)\n')
    with running(folder, "slow.py", "--port", "0", until="loading") as server:
        assert server.stop(signal.SIGINT) == 130
        assert server.errors == ""


def test_settings_may_come_from_the_environment_and_a_file(folder: Path) -> None:
    (folder / "dragoman.toml").write_text('store = "memory:"\nport = 1\n')
    with running(
        folder, "bot.py", DRAGOMAN_PORT="0", DRAGOMAN_PUBLIC_URL="https://agent.example"
    ) as server:
        assert "(store: memory:)" in server.output
        assert "https://agent.example" in server.output
        assert server.stop() == 0


def test_the_banner_has_an_address_that_can_be_called(folder: Path) -> None:
    arguments = ("bot.py", "--port", "0", "--host", "0.0.0.0", "--store", "memory:")  # noqa: S104 - what is tested
    with running(folder, *arguments) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert get(f"{server.url}/healthz") == b'{"status":"ok"}'
        assert server.stop() == 0


def tried(server: Running) -> str:
    """Paste what the banner says to try, since the last start; return the id of the task."""
    line = server.output.rpartition("  try:   ")[2].partition("\n")[0]
    need("curl")
    # The plainest of shells; others read it alike.
    done = subprocess.run(
        [need("sh"), "-c", line], capture_output=True, text=True, timeout=10, check=True
    )
    return json.loads(done.stdout)["task"]["id"]


def test_what_the_banner_says_to_try_is_new_after_a_reload(folder: Path) -> None:
    with running(folder, "bot.py", "--port", "0", "--reload") as server:
        first = tried(server)
        # Else it would be taken for the same message, and get the answer of the old code.
        (folder / "bot.py").write_text(AGENT.replace('"Echo"', '"Parrot"'))
        server.wait_for("Parrot 1.0.0 is served at")
        server.wait_for("stop:")
        assert tried(server) != first
        assert server.stop() == 0


HEALTH = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"


def healthy(target: str, credentials: Any = None) -> bool:
    """Ask by gRPC whether an agent can take work."""
    if credentials is None:
        channel = grpc.insecure_channel(target)
    else:
        channel = grpc.secure_channel(target, credentials)
    with channel:
        return channel.unary_unary(HEALTH)(b"", timeout=10) == SERVING


def test_grpc_is_served_on_the_same_port_and_leaves_nothing_behind(folder: Path) -> None:
    with running(folder, "bot.py", "--port", "0", "--store", "memory:") as server:
        target = server.url.removeprefix("http://")
        assert f"  gRPC:  {target}\n" in server.output
        assert healthy(target)
        assert get(f"{server.url}/healthz") == b'{"status":"ok"}'
        assert server.stop() == 0
    assert server.errors == ""


def test_grpc_may_have_a_port_of_its_own(folder: Path) -> None:
    arguments = ("bot.py", "--port", "0", "--grpc-port", "0", "--store", "memory:")
    with running(folder, *arguments) as server:
        target = server.url.removeprefix("http://")
        match = re.search(r"  gRPC:  (\S+) and port (\d+)\n", server.output)
        assert match is not None
        assert match[1] == target
        assert healthy(target)
        assert healthy(f"127.0.0.1:{match[2]}")
        assert server.stop() == 0
    assert server.errors == ""


def test_a_call_of_grpc_reaches_the_agent_and_its_card_says_where(folder: Path) -> None:
    message = Message(message_id="m-1", role=Role.USER, parts=(Part(text="hello"),))
    request = V1_0_GRPC.encode_request(Operation.SEND_MESSAGE, SendMessageRequest(message=message))
    arguments = ("bot.py", "--port", "0", "--store", "memory:", "--advertise", "grpc")
    with running(folder, *arguments) as server:
        card = json.loads(get(f"{server.url}/.well-known/agent-card.json"))
        offered = [i["url"] for i in card["supportedInterfaces"] if i["protocolBinding"] == "GRPC"]
        assert offered
        with grpc.insecure_channel(offered[0]) as channel:
            call = channel.unary_unary("/lf.a2a.v1.A2AService/SendMessage")
            answer = call(request, timeout=10, metadata=(("a2a-version", "1.0"),))
        task = V1_0_GRPC.decode_result(Operation.SEND_MESSAGE, answer)
        assert isinstance(task, Task)
        assert task.artifacts[0].parts[0].text == "hello"
        assert server.stop() == 0


def test_every_address_on_the_card_is_a_url_unless_grpc_is_asked_for(folder: Path) -> None:
    with running(folder, "bot.py", "--port", "0", "--store", "memory:") as server:
        card = json.loads(get(f"{server.url}/.well-known/agent-card.json"))
        offered = [*card["supportedInterfaces"], *card["additionalInterfaces"]]
        assert {interface["url"].rstrip("/") for interface in offered} == {server.url}
        # It is served all the same, and the banner says where.
        target = server.url.removeprefix("http://")
        assert f"  gRPC:  {target}\n" in server.output
        assert healthy(target)
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("flags", "variables"),
    [
        (("--advertise", "grpc"), {}),
        ((), {"DRAGOMAN_ADVERTISE": "jsonrpc,http+json,grpc"}),
        (("--grpc-port", "0"), {}),
    ],
)
def test_grpc_is_on_the_card_when_asked_for(
    folder: Path, flags: tuple[str, ...], variables: dict[str, str]
) -> None:
    arguments = ("bot.py", "--port", "0", "--store", "memory:", *flags)
    with running(folder, *arguments, **variables) as server:
        card = json.loads(get(f"{server.url}/.well-known/agent-card.json"))
        port = server.output.partition("  gRPC:  ")[2].partition("\n")[0].split(" ")[-1]
        address = f"127.0.0.1:{port.rpartition(':')[2]}"
        for listed in (card["supportedInterfaces"], card["additionalInterfaces"]):
            urls = [i["url"] for i in listed if "GRPC" in i.values()]
            assert set(urls) == {address}
        assert healthy(address)
        assert server.stop() == 0


def test_the_banner_names_the_path(folder: Path) -> None:
    arguments = ("bot.py", "--port", "0", "--store", "memory:", "--path", "/a2a/v1")
    with running(folder, *arguments) as server:
        assert server.url.endswith("/a2a/v1")
        root = server.url.removesuffix("/a2a/v1")
        assert f"curl {server.url}/message:send " in server.output
        assert f"  card:  {root}/.well-known/agent-card.json\n" in server.output
        card = json.loads(get(f"{root}/.well-known/agent-card.json"))
        assert card["url"] == f"{server.url}/"
        assert server.stop() == 0


def test_both_ports_speak_tls(folder: Path) -> None:
    files = write_files(folder)
    arguments = ("bot.py", "--port", "0", "--grpc-port", "0", "--store", "memory:")
    tls = ("--tls-cert", files.server, "--tls-key", files.server_key)
    with running(folder, *arguments, *tls) as server:
        assert server.url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=files.ca)
        with urlopen(f"{server.url}/healthz", timeout=10, context=context) as response:  # noqa: S310 - our own server
            assert response.read() == b'{"status":"ok"}'
        credentials = grpc.ssl_channel_credentials(Path(files.ca).read_bytes())
        for port in re.findall(r"gRPC:  \S+:(\d+) and port (\d+)", server.output)[0]:
            assert healthy(f"localhost:{port}", credentials)
        assert server.stop() == 0
    assert server.errors == ""


def test_without_the_packages_of_grpc_the_rest_is_served(folder: Path) -> None:
    # Python imports this before anything else; protobuf cannot be imported after that.
    (folder / "sitecustomize.py").write_text("import sys\nsys.modules['google.protobuf'] = None\n")
    with running(
        folder, "bot.py", "--port", "0", "--store", "memory:", PYTHONPATH=str(folder)
    ) as server:
        assert "  gRPC:  not installed (pip install protobuf)\n" in server.output
        card = json.loads(get(f"{server.url}/.well-known/agent-card.json"))
        assert "GRPC" not in {i["protocolBinding"] for i in card["supportedInterfaces"]}
        assert server.stop() == 0
    assert server.errors == ""


def test_log_lines_for_machines_are_json(folder: Path) -> None:
    (folder / "bot.py").write_text(
        AGENT + '\n\nimport logging\nlogging.getLogger("bot").info("ready")\n'
    )
    with running(
        folder, "bot.py", "--port", "0", "--store", "memory:", "--log-format", "json"
    ) as server:
        assert server.stop() == 0
    entries = [json.loads(line) for line in server.errors.splitlines()]
    assert [(entry["logger"], entry["message"]) for entry in entries] == [("bot", "ready")]


@pytest.mark.timeout(120)  # Three processes start one after the other.
@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        # As an option, and in the environment.
        (["--reload"], {}),
        ([], {"DRAGOMAN_RELOAD": "true"}),
    ],
)
def test_a_reloading_server_starts_anew_when_its_file_changes(
    arguments: list[str], environ: Mapping[str, str], folder: Path
) -> None:
    options = ("bot.py", "--port", "0", "--store", "memory:", *arguments)
    with running(folder, *options, **environ) as server:
        (folder / "bot.py").write_text(AGENT.replace('"Echo"', '"Parrot"'))
        server.wait_for("Parrot 1.0.0 is served at")
        server.wait_for("stop:")
        card = json.loads(get(f"{server.url}/.well-known/agent-card.json"))
        assert card["name"] == "Parrot"
        assert server.stop() == 0


# --- a server that cannot start ---------------------------------------------------------------


def told_in_one_line(folder: Path, *arguments: str) -> str:
    """Call a command that cannot be obeyed; return the one line it says."""
    done = call(folder, "serve", *arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("dragoman: error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_a_port_in_use_ends_the_process_with_one_line(folder: Path, taken: int) -> None:
    assert "--port" in told_in_one_line(folder, "bot.py", "--port", str(taken))


def test_a_file_without_an_agent_ends_the_process_with_one_line(folder: Path) -> None:
    (folder / "empty.py").write_text("")
    line = told_in_one_line(folder, "empty.py", "--port", "0", "--store", "memory:")
    assert "empty.py has no Agent" in line


def test_an_agent_without_skills_ends_the_process_with_one_line(folder: Path) -> None:
    (folder / "mute.py").write_text('from dragoman import Agent\nagent = Agent("Mute")\n')
    line = told_in_one_line(folder, "mute.py", "--port", "0", "--store", "memory:")
    assert "agent 'Mute' has no skills" in line


def test_a_store_that_cannot_be_written_ends_the_process_with_one_line(folder: Path) -> None:
    (folder / "tasks.db").mkdir()
    line = told_in_one_line(folder, "bot.py", "--port", "0", "--store", "sqlite:///tasks.db")
    assert "tasks.db" in line


def test_a_store_in_a_folder_that_is_not_there_ends_the_process_with_one_line(
    folder: Path,
) -> None:
    line = told_in_one_line(folder, "bot.py", "--port", "0", "--store", "sqlite:///no/tasks.db")
    assert "no" in line


@pytest.mark.parametrize(
    ("pages", "what"),
    [
        (0, "cannot write disk/tasks.db.lock"),  # Not even for the lock.
        (1, "cannot write to disk/tasks.db"),  # SQLite says that the disk is full.
        (5, "cannot write to disk/tasks.db"),  # It says "disk I/O error".
    ],
)
def test_a_full_disk_ends_the_process_with_one_line(folder: Path, pages: int, what: str) -> None:
    store = f"sqlite:///{DISK}/tasks.db"
    command = [*PROGRAM, "serve", "bot.py", "--port", "0", "--store", store]
    done = run_on_small_disk(folder, command, left_pages=pages, environment=environment())
    assert done.returncode == 2
    assert done.stderr == (
        f"dragoman: error: {what}: the disk is full; make room or use another --store\n"
    )


def test_a_store_that_is_none_ends_the_process_with_one_line(folder: Path) -> None:
    line = told_in_one_line(folder, "bot.py", "--port", "0", "--store", "redis://x")
    assert "'redis://x' is no store" in line


def test_a_mistake_in_the_users_file_is_shown_where_it_is(folder: Path) -> None:
    (folder / "broken.py").write_text("def broken(:\n")
    done = call(folder, "serve", "broken.py", "--port", "0", "--store", "memory:")
    assert done.returncode == 2
    first, place, *_, last = done.stderr.splitlines()
    assert first == "dragoman: error: broken.py cannot be loaded"
    assert place.endswith('broken.py", line 1')
    assert last == "SyntaxError: invalid syntax"


@contextmanager
def saving(file: Path, text: str) -> Generator[None]:
    """Save a file again meanwhile, less and less often.

    Right after a reload the reloader does not know yet how old the file is, and would take what was
    saved in that moment for what it has loaded.
    """
    is_over = Event()

    def save() -> None:
        for pause in (2, 8, 16):
            file.write_text(text)
            if is_over.wait(pause):
                return

    saver = Thread(target=save)
    saver.start()
    try:
        yield
    finally:
        is_over.set()
        saver.join()


def test_a_mistake_that_is_mended_is_reloaded(folder: Path) -> None:
    options = ("bot.py", "--port", "0", "--store", "memory:", "--reload")
    with running(folder, *options) as server:
        (folder / "bot.py").write_text("def broken(:\n")
        server.wait_for_error("SyntaxError: invalid syntax")
        with saving(folder / "bot.py", AGENT.replace('"Echo"', '"Parrot"')):
            server.wait_for("Parrot 1.0.0 is served at")
        assert server.stop() == 0
    assert "dragoman: error: bot.py cannot be loaded\n" in server.errors
    # It is told as without --reload, and not by the process in which it happened.
    assert "multiprocessing" not in server.errors
