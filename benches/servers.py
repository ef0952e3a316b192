"""Start, watch and stop the servers of the comparison, each a process of its own.

The reference SDK lives in an environment made by this module under `.bench/`, so that its
dependencies never meet ours. Where there are two cores, servers get the first and the load
generator the second. Processes are ended by the id they were started under, nothing else is.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benches import credentials
from benches.database import Database
from benches.load import HOST, CheckError, call
from benches.load_grpc import call_grpc
from benches.wire_grpc import LIST_TASKS, list_tasks

__all__ = (
    "HAS_CORES",
    "ROOT",
    "WORK",
    "Fleet",
    "Server",
    "ServerError",
    "Side",
    "Spec",
    "busy_seconds",
    "free_port",
    "pin_load",
    "prepare_sdk",
    "roaming",
    "spin_on_server_core",
    "versions",
)

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".bench"
AGENTS = Path(__file__).resolve().parent / "agents"

SDK_VERSION = "1.3.0"
# The SDK imports SQLAlchemy and gRPC whenever they are installed, which costs start time and
# memory. Each kind of server therefore has an environment of its own, so that the in-memory one is
# as light as it can be.
SDK_EXTRAS = {
    "memory": "http-server",
    "sqlite": "http-server,sqlite",
    "postgres": "http-server,postgresql",
    "grpc": "http-server,grpc",
}
SERVER_PACKAGES = ("uvicorn", "httptools", "uvloop<0.23")

# The SDK builds its 100,000 preloaded tasks before it listens; everything else is up in a second.
START_TIMEOUT_SECONDS = 120.0
STOP_TIMEOUT_SECONDS = 5.0
POLL_SECONDS = 0.003

SERVER_CORE, LOAD_CORE = 0, 1
# Where there are four cores, what stands for other machines has cores of its own.
HAS_CORES = len(os.sched_getaffinity(0)) >= 4
OTHER_SERVER_CORE, DATABASE_CORE = (2, 3) if HAS_CORES else (0, 1)
# Or each replica has a core, and the rest goes wherever there is room.
SPREAD_SERVER_CORE = 2 if HAS_CORES else 1
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

Side = str


class ServerError(Exception):
    """A server could not be made, started or kept; its last words are part of the message."""

    def __init__(self, *, what: str, output: str = "") -> None:
        super().__init__(f"{what}\n{output[-2000:]}".strip())


@dataclass(frozen=True)
class Spec:
    """Which server: whose, on which store, holding how many tasks, speaking gRPC alone or not.

    `replicas` on one PostgreSQL are sampled as one server. With `is_spread` each has a core, also
    where there are but two; see `roaming`.
    `options` are further ones for `dragoman serve`.
    `guard` names the agent of ours that asks its callers who they are; without it nobody is asked.
    `telemetry` names the agent of ours that has OpenTelemetry's SDK set up.
    `is_collected` has us send spans to a collector, by `--otlp`.
    """

    side: Side
    store: str = "memory"
    stored: int = 0
    is_grpc: bool = False
    options: tuple[str, ...] = ()
    guard: str = ""
    replicas: int = 1
    is_spread: bool = False
    telemetry: str = ""
    is_collected: bool = False

    @property
    def name(self) -> str:
        """A short name for logs and results."""
        stored = f"-{self.stored}" if self.stored else ""
        kind = self.guard or self.telemetry or ("collected" if self.is_collected else "")
        guard = f"-{kind}" if kind else ""
        replicas = f"-x{self.replicas}" if self.replicas > 1 else ""
        replicas += "-spread" if self.is_spread else ""
        return f"{self.side}-{'grpc' if self.is_grpc else self.store}{stored}{guard}{replicas}"

    @property
    def environment(self) -> str:
        """Which of the SDK's environments it needs."""
        return "grpc" if self.is_grpc else self.store


@dataclass
class Server:
    """A running server process, with its other replicas and its database if it has them."""

    spec: Spec
    port: int
    process: subprocess.Popen[bytes]
    start_seconds: float
    task_ids: list[str] = field(default_factory=list[str])
    notes: dict[str, float] = field(default_factory=dict[str, float])
    others: "list[Server]" = field(default_factory=list["Server"])
    database: Database | None = None
    collector_port: int = 0

    @property
    def ports(self) -> list[int]:
        """Where it listens, and where its other replicas do."""
        return [self.port, *(other.port for other in self.others)]

    def cpu_seconds(self) -> float:
        """Return the CPU time it and its replicas have used, all threads, user and system."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = stat[stat.rindex(")") + 2 :].split()
        own = (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND
        return own + sum(other.cpu_seconds() for other in self.others)

    def database_cpu_seconds(self) -> float:
        """Return the CPU time its database has used, whoever asked; 0 if it is part of it."""
        return self.database.cpu_seconds() if self.database else 0.0

    def rss_kb(self) -> float:
        """Return the resident memory of the process."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return float(line.split()[1])
        raise ServerError(what=f"{self.spec.name} has ended")

    def stop(self) -> None:
        """End the process and its replicas, politely first."""
        for other in self.others:
            other.stop()
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_TIMEOUT_SECONDS)


@dataclass
class Fleet:
    """The servers of one run: started when first asked for, stopped together."""

    sdk_base: str
    sides: tuple[Side, ...]
    _servers: dict[Spec, Server] = field(default_factory=dict[Spec, Server])
    _started: int = 0
    _postgres: Database | None = None
    _collector: tuple[subprocess.Popen[bytes], int] | None = None

    async def get(self, spec: Spec) -> Server:
        """Return the running server for `spec`, starting it if need be."""
        if spec not in self._servers:
            self._servers[spec] = await self.start(spec)
        return self._servers[spec]

    async def start(self, spec: Spec) -> Server:
        """Start one more server for `spec`, with its replicas; the caller stops it."""
        self._started += 1
        store = self._store(spec)
        server = await self._start_one(spec, store, SERVER_CORE)
        server.database = self._postgres if spec.store == "postgres" else None
        server.collector_port = self._collector_port() if spec.is_collected else 0
        try:
            for number in range(1, spec.replicas):
                # One after the other: the SDK's would both make its tables.
                core = SPREAD_SERVER_CORE if spec.is_spread else OTHER_SERVER_CORE
                other = await self._start_one(spec, store, core, f"-{number}")
                server.others.append(other)
        except BaseException:
            server.stop()
            raise
        return server

    async def _start_one(self, spec: Spec, store: str, core: int, mark: str = "") -> Server:
        port = free_port()
        command = self._command(spec, port, store)
        log = WORK / "logs" / f"{spec.name}{mark}.log"
        started = time.perf_counter()
        server = Server(spec, port, _spawn(command, log, core), 0.0)
        try:
            await _wait_until_up(server, log)
        except BaseException:
            server.stop()
            raise
        server.start_seconds = time.perf_counter() - started
        return server

    def stop(self, spec: Spec | None = None) -> None:
        """Stop the server of one spec, or all."""
        for key in [spec] if spec else list(self._servers):
            server = self._servers.pop(key, None)
            if server:
                server.stop()

    def _command(self, spec: Spec, port: int, store: str) -> list[str]:
        arguments = ["--port", str(port), "--store", store]
        if spec.side == "bare":
            script = "bare_grpc.py" if spec.is_grpc else "bare.py"
            return [sys.executable, str(AGENTS / script), *arguments]
        if spec.side == "sdk":
            script = str(AGENTS / "sdk.py")
            interpreter = str(prepare_sdk(self.sdk_base, spec.environment))
            arguments += ["--grpc"] if spec.is_grpc else []
            arguments += ["--cluster"] if spec.replicas > 1 else []
            return [interpreter, script, *arguments, "--preload", str(spec.stored)]
        program = str(Path(sys.executable).with_name("dragoman"))
        agent = str(AGENTS / "subject.py")
        if spec.guard:
            credentials.prepare()
            agent = f"benches.agents.guarded:{spec.guard}"
        if spec.telemetry:
            agent = f"benches.agents.{spec.telemetry}:agent"
        if spec.is_collected:
            arguments += ["--otlp", f"http://{HOST}:{self._collector_port()}"]
        # Each dead webhook would have a line.
        level = "error" if spec.options else "warning"
        return [program, "serve", agent, *arguments, *spec.options, "--log-level", level]

    def _store(self, spec: Spec) -> str:
        """Name a store with nothing in it yet."""
        if spec.store == "memory":
            return "memory:"
        if spec.store == "postgres":
            return self._database().create(f"bench_{self._started}")
        folder = WORK / "data" / f"{os.getpid()}-{self._started}-{spec.name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return f"sqlite:///{folder / 'tasks.db'}"

    def _database(self) -> Database:
        if self._postgres is None:
            self._postgres = Database()
            for pid in self._postgres.processes():
                # What it starts later stays there, too.
                _pin(pid, DATABASE_CORE)
        return self._postgres

    def _collector_port(self) -> int:
        """Return where spans are taken; that stands for a machine of its own, too."""
        if self._collector is None:
            port = free_port()
            command = [sys.executable, str(AGENTS / "collector.py"), "--port", str(port)]
            process = _spawn(command, WORK / "logs" / "collector.log", DATABASE_CORE)
            self._collector = process, port
        return self._collector[1]

    def clean(self) -> None:
        """Stop everything and remove the databases of this run."""
        self.stop()
        if self._collector is not None:
            self._collector[0].terminate()
            self._collector[0].wait()
            self._collector = None
        if self._postgres is not None:
            self._postgres.stop()
            self._postgres = None
        for folder in (WORK / "data").glob(f"{os.getpid()}-*"):
            shutil.rmtree(folder, ignore_errors=True)


def _spawn(command: list[str], log: Path, core: int) -> subprocess.Popen[bytes]:
    """Start a server process on a core, its words going to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    # The SDK is quoted at its fastest: without its tracing wrapper.
    environment = os.environ | {"OTEL_INSTRUMENTATION_A2A_SDK_ENABLED": "false"}
    with log.open("wb") as sink:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=sink, stderr=sink)
    _pin(process.pid, core)
    return process


def _last_words(log: Path) -> str:
    return log.read_text(errors="replace")


async def _ask(server: Server) -> None:
    """Ask for the Agent Card, or for tasks where nothing but gRPC is served."""
    if server.spec.is_grpc:
        await call_grpc(server.port, LIST_TASKS, "1.0", list_tasks())
        return
    request = (
        b"GET /.well-known/agent-card.json HTTP/1.1\r\n"
        b"Host: 127.0.0.1:%d\r\nA2A-Version: 1.0\r\n\r\n" % server.port
    )
    await call(server.port, request)


async def _wait_until_up(server: Server, log: Path) -> None:
    """Return once the first request is answered."""
    deadline = time.perf_counter() + START_TIMEOUT_SECONDS
    while time.perf_counter() < deadline:
        if server.process.poll() is not None:
            break
        with contextlib.suppress(OSError, CheckError):
            await _ask(server)
            return
        await asyncio.sleep(POLL_SECONDS)
    raise ServerError(what=f"{server.spec.name} did not start", output=_last_words(log))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _pin(pid: int, core: int) -> None:
    """Keep a process on one core, where the machine has two and lets us."""
    if len(_CORES) < 2:
        return
    with contextlib.suppress(OSError):
        os.sched_setaffinity(pid, {_CORES[core]})


# Read before anything is pinned.
_CORES = sorted(os.sched_getaffinity(0))


def pin_load() -> None:
    """Keep this process on the load generator's core."""
    _pin(os.getpid(), LOAD_CORE)


@contextlib.contextmanager
def roaming(server: Server) -> Iterator[None]:
    """Let the load generator and the database of a server run wherever there is room.

    That is for replicas that have a core each, where there are no more cores than that.
    """
    database = [] if HAS_CORES or server.database is None else list(server.database.processes())
    if database:
        for pid in (os.getpid(), *database):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(pid, _CORES)
    try:
        yield
    finally:
        pin_load()
        for pid in database:
            _pin(pid, DATABASE_CORE)


def busy_seconds() -> float:
    """Return the CPU time all processes together have used, over all cores."""
    user, nice, system, _idle, _iowait, interrupts, soft, *_ = (
        int(field) for field in Path("/proc/stat").read_text().split(maxsplit=8)[1:8]
    )
    return (user + nice + system + interrupts + soft) / _TICKS_PER_SECOND


def spin_on_server_core(spin_rounds: int) -> int:
    """Time a fixed amount of work on the servers' core, in nanoseconds.

    A sample is only as good as the machine was while it ran; this shows how fast that was.
    """
    _pin(os.getpid(), SERVER_CORE)
    started = time.perf_counter_ns()
    total = 0
    for number in range(spin_rounds):
        total += number * number
    elapsed = time.perf_counter_ns() - started
    pin_load()
    return elapsed


def prepare_sdk(python: str, environment: str) -> Path:
    """Return the interpreter of one of the SDK's environments, making it on first use."""
    version = _output([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
    folder = WORK / f"sdk-{SDK_VERSION}-{environment}-py{version}"
    interpreter = folder / "bin" / "python"
    ready = folder / "ready"
    if ready.exists():
        return interpreter
    WORK.mkdir(exist_ok=True)
    (WORK / ".gitignore").write_text("*\n")
    shutil.rmtree(folder, ignore_errors=True)
    _output([python, "-m", "venv", str(folder)])
    sdk = f"a2a-sdk[{SDK_EXTRAS[environment]}]=={SDK_VERSION}"
    _output([str(interpreter), "-m", "pip", "install", "--quiet", sdk, *SERVER_PACKAGES])
    ready.touch()
    return interpreter


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerError(what=f"{' '.join(command)} failed", output=done.stderr)
    return done.stdout.strip()


def versions(python: Path | str, packages: tuple[str, ...]) -> dict[str, str]:
    """Return the Python version and the versions of packages in another environment."""
    script = (
        "import sys, importlib.metadata as m\n"
        "print('python', sys.version.split()[0])\n"
        "for name in sys.argv[1:]:\n"
        "    try: print(name, m.version(name))\n"
        "    except m.PackageNotFoundError: pass\n"
    )
    lines = _output([str(python), "-c", script, *packages]).splitlines()
    return dict(line.split(" ", 1) for line in lines)
