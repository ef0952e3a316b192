"""dragoman serve: run an agent."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from dragoman.cli.command import Body, Invocation
from dragoman.cli.errors import EXIT_CODES, INTERRUPTED, USAGE
from dragoman.cli.options.parser import Parser
from dragoman.cli.serving.logs import FORMATS, LEVELS, set_up_logging, tell_replica
from dragoman.cli.serving.options import CONFIG_FILE, OPTIONS, told
from dragoman.cli.serving.ports import address_of, listen, listen_beside
from dragoman.cli.serving.tracing import check_tracing, tracing
from dragoman.clock import SystemClock
from dragoman.errors import UsageError
from dragoman.server.settings import (
    ProcessSettings,
    Settings,
    load_settings,
    read_config_file,
    setting_fields,
)
from dragoman.server.webhooks.keys import check_push
from dragoman.stores.opening import is_shared, without_password

if TYPE_CHECKING:
    from dragoman.agent.agent import Agent
    from dragoman.net.asgi import ASGIApp
    from dragoman.net.tls import Tls
    from dragoman.server.app import App

__all__ = ("SERVE", "Served", "run_server")

_SPARE_SECONDS: Final = 5
"""Beyond the grace period, for answers that are still on their way out."""

_GRPC_SPARE_SECONDS: Final = 1
"""The same for calls of gRPC, which are ended before the connections are."""

_JOIN_SECONDS: Final = 0.5
"""How long threads that have nothing to do may take to notice that they are to end."""

_ID_LENGTH: Final = 6
"""How much of a fresh id the request to try has: 24 bits, all of them random."""

_EPILOG: Final = """\
Every option can also be set in the environment (DRAGOMAN_PORT=9000) or in a TOML file (port = 9000;
dragoman.toml in the working directory is read unless --config names another). The command line
wins, then the environment, then the file. The settings reference lists the limits that have no
option.
"""


def _declare(parser: Parser) -> None:
    parser.description = "Serve an agent over A2A: JSON-RPC, HTTP+JSON and gRPC on one port."
    parser.epilog = _EPILOG
    parser.add_argument(
        "agent",
        metavar="PATH[:NAME]",
        help="file with the agent, or module:variable; the variable is 'agent' unless named",
    )
    for group, options in groupby(OPTIONS, lambda option: option.group):
        parser.add_options(options, group)


def _run(invocation: Invocation) -> int:
    reference = invocation.arguments.agent
    return run_server(told(invocation.given), partial(_load, reference), watch=reference)


def _load(reference: str) -> Served:
    from dragoman.cli.serving.loading import load_agent  # noqa: PLC0415 - see _serve_agent

    return Served(load_agent(reference))


class Served(NamedTuple):
    """An agent, and what is called over HTTP instead of its app itself, if anything."""

    agent: Agent
    around: Callable[[ASGIApp], ASGIApp] | None = None


def run_server(given: dict[str, object], load: Callable[[], Served], *, watch: str = "") -> int:
    """Serve an agent until the process is told to stop, and return the exit code.

    Args:
        given: options of the command line, by name: settings of the server, and what ``serve``
            itself takes. All that is not there may come from the environment or a file.
        load: makes the agent, in the process that serves it.
        watch: the file whose folder is looked at for changes, with ``--reload``.
    """
    return _telling(partial(_serve_until_stopped, given, load, watch))


def _telling(serve: Callable[..., int], **options: object) -> int:
    """Serve, and tell what cannot be done by an error line and the exit code."""
    try:
        return serve(**options)
    except UsageError as error:
        sys.stderr.write(f"dragoman: error: {error}\n")
        return EXIT_CODES[USAGE]
    except KeyboardInterrupt:
        return EXIT_CODES[INTERRUPTED]


def _serve_until_stopped(given: dict[str, object], load: Callable[[], Served], watch: str) -> int:
    config = given.pop("config", None)
    path = _config_file(config if isinstance(config, str) else None)
    file = {} if path is None else read_config_file(path)
    own = {
        name: given.pop(
            name, os.environ.get(f"DRAGOMAN_{name.upper()}", file.get(name, field.default))
        )
        for name, field in setting_fields(ProcessSettings).items()
    }
    _check_choice("log_level", own["log_level"], LEVELS)
    _check_choice("log_format", own["log_format"], FORMATS)
    settings = load_settings(given, os.environ, file, file_name=str(path))
    check_push(settings)
    check_tracing(str(own["otlp"]))
    _tls(own)
    workers = _worker_count(own, settings)
    if own["grpc_port"] is not None:
        _check_grpc(str(own["host"]), _port(own["grpc_port"]))
    listener = listen(str(own["host"]), _port(own["port"]), is_shared=workers > 1)
    serve = partial(_serve_agent, load, settings, own)
    with listener:
        if workers > 1:
            return _serve_together(workers, serve, own, listener)
        if _is_on(own["reload"]):
            return _reload(watch, serve, listener)
        return serve(sockets=[listener])


def _config_file(path: str | None) -> Path | None:
    """Return the file that settings are read from, None if there is none."""
    named = path or os.environ.get("DRAGOMAN_CONFIG")
    if named:
        return Path(named)
    default = Path(CONFIG_FILE)
    return default if default.is_file() else None


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def _port(value: object) -> int:
    try:
        port = int(str(value))
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise UsageError(f"the port must be a number from 0 to 65535, not {value!r}")
    return port


def _worker_count(own: dict[str, object], settings: Settings) -> int:
    """Return how many processes are to serve; raises UsageError if they could not."""
    try:
        count = int(str(own["workers"]))
    except ValueError:
        count = 0
    if count < 1:
        raise UsageError(f"workers must be a number from 1, not {own['workers']!r}")
    if count > 1:
        if not is_shared(settings.store):
            raise UsageError(
                f"{count} workers need a store they can share: --store postgres://user@host/database"
            )
        if not hasattr(signal, "sigtimedwait"):
            raise UsageError("this system cannot look after workers: start several servers instead")
        if own["grpc_port"] is not None:
            raise UsageError("workers share one port, gRPC included: leave out --grpc-port")
        if _is_on(own["reload"]):
            raise UsageError("--reload is for one process: leave out --workers")
    return count


def _is_on(value: object) -> bool:
    return str(value).lower() in ("true", "1", "yes", "on")


def _serve_together(
    count: int, serve: Callable[..., int], own: dict[str, object], listener: socket.socket
) -> int:
    """Serve one port by several processes, and look after them."""
    from dragoman.cli.serving.workers import Ready, Workers  # noqa: PLC0415 - only here

    set_up_logging(str(own["log_level"]), str(own["log_format"]))

    def work(number: int, ready: Ready) -> int:
        def show(banner: str) -> None:
            if number == 0:
                _show(banner)
            ready()

        return serve(sockets=[listen_beside(listener)], show=show)

    return Workers(count, work).run()


def _tls(own: dict[str, object]) -> Tls | None:
    """Read the files for TLS, None without it."""
    cert, key, client_ca = own["tls_cert"], own["tls_key"], own["tls_client_ca"]
    if not (cert or key or client_ca):
        return None
    if not (cert and key):
        raise UsageError("TLS needs both --tls-cert and --tls-key")
    from dragoman.net.tls import read_tls  # noqa: PLC0415 - ssl is slow to import

    return read_tls(str(cert), str(key), str(client_ca or ""))


def _check_grpc(host: str, port: int) -> None:
    """Tell in one line what would keep gRPC from a port of its own; gRPC itself does not."""
    from dragoman.bindings.grpc.base import can_serve  # noqa: PLC0415 - only here
    from dragoman.server.grpc.server import MISSING  # noqa: PLC0415 - only here

    if not can_serve():
        raise UsageError(MISSING)
    listen(host, port, option="--grpc-port").close()


def _serve_agent(
    load: Callable[[], Served],
    settings: Settings,
    own: dict[str, object],
    sockets: list[socket.socket],
    show: Callable[[str], None] | None = None,
) -> int:
    """Serve in this process. It imports here: a usage error should not cost that time."""
    set_up_logging(str(own["log_level"]), str(own["log_format"]))
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - see above

    from dragoman.server.assembly import build_app  # noqa: PLC0415 - see above

    served = load()
    app = build_app(served.agent, settings)
    with (
        tracing(str(own["otlp"]), served.agent.name),
        asyncio.Runner(loop_factory=_loop_factory()) as runner,
    ):
        # Those of the loop, for whoever has something written meanwhile. Here they can be ended.
        threads = ThreadPoolExecutor(thread_name_prefix="dragoman-loop")
        runner.get_loop().set_default_executor(threads)
        code = runner.run(_serve(app, served, settings, own, sockets, show or _show))
        threads.shutdown(wait=False, cancel_futures=True)
        _leave_threads_behind(code)
        return code


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not to be had on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(
    app: App,
    served: Served,
    settings: Settings,
    own: dict[str, object],
    sockets: list[socket.socket],
    show: Callable[[str], None],
) -> int:
    import uvicorn  # noqa: PLC0415 - only this command needs it

    from dragoman.net.port import Server, speaking_both  # noqa: PLC0415 - imports uvicorn

    tls = _tls(own)
    # Started here, so that what is wrong with the store is one line and not a failed lifespan.
    await app.runtime.start()
    tell_replica(app.runtime.replica_id)
    targets = await _offer_grpc(app, own, tls, sockets[0])
    _calm_the_collector()
    config = uvicorn.Config(
        app if served.around is None else served.around(app),
        http=speaking_both(app.grpc, app.connection_limits),
        loop="none",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=round(settings.shutdown_grace_seconds) + _SPARE_SECONDS,
    )

    config.load()
    # Not by uvicorn's own options, which do not say what ALPN is to offer.
    config.ssl = tls.context if tls else None

    def show_banner() -> None:
        scheme = "https" if tls else "http"
        title = f"{served.agent.name} {served.agent.version}"
        show(_banner(title, scheme, sockets[0], targets, settings))

    async def wind_down() -> None:
        await app.runtime.drain()
        await app.grpc.stop(_GRPC_SPARE_SECONDS)

    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn raises the signal again when it is done; by then it has been obeyed.
        signal.signal(number, lambda _number, _frame: None)
    server = Server(
        config, on_started=show_banner, before_stop=wind_down, hasten=app.runtime.hasten
    )
    await server.serve(sockets=sockets)
    return 0


async def _offer_grpc(
    app: App, own: dict[str, object], tls: Tls | None, listener: socket.socket
) -> str:
    """Have gRPC served and listed on the card; return what the banner says of it."""
    from dragoman.bindings.grpc.base import can_serve  # noqa: PLC0415 - imported by now

    if not can_serve():
        return "not installed (pip install protobuf)"
    shared = address_of(listener)
    if own["grpc_port"] is None:
        app.offer_grpc()
        return shared
    try:
        port = await app.grpc.listen(str(own["host"]), _port(own["grpc_port"]), tls)
    except UsageError:
        await app.runtime.stop()
        raise
    app.offer_grpc(port)
    return f"{shared} and port {port}"


def _leave_threads_behind(code: int) -> None:
    """End the process if an agent's own code still blocks a thread; else Python would wait for it.

    The store is closed by now, so nothing is lost but what that code was about to do.
    """
    # Python does not wait for daemons, such as the thread that gRPC has.
    others = [t for t in threading.enumerate() if t is not threading.main_thread()]
    deadline = monotonic() + _JOIN_SECONDS
    for thread in others:
        if not thread.daemon:
            thread.join(max(0.0, deadline - monotonic()))
    stuck = [t.name for t in others if t.is_alive() and not t.daemon]
    if stuck:
        logging.getLogger(__name__).warning("threads left behind: %s", ", ".join(stuck))
        logging.shutdown()
        os._exit(code)


def _calm_the_collector() -> None:
    """Keep long garbage collections out of requests.

    What exists now lives as long as the process, so it need not be looked at again; the values of
    a request cannot form cycles. Measured: the 99th percentile falls from about 100 ms to 5 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _show(banner: str) -> None:
    sys.stdout.write(banner)
    sys.stdout.flush()


def _banner(
    title: str, scheme: str, listener: socket.socket, grpc_targets: str, settings: Settings
) -> str:
    url = f"{scheme}://{address_of(listener)}"
    # A new one at every start: an agent that was changed would be given its old answer otherwise.
    message = f'"messageId":"m-{SystemClock().new_id()[-_ID_LENGTH:]}"'
    request = f'{{"message":{{{message},"role":"ROLE_USER","parts":[{{"text":"hello"}}]}}}}'
    public = f"  public: {settings.public_url}\n" if settings.public_url else ""
    return (
        f"{title} is served at {url}{settings.path} (store: {without_password(settings.store)})\n"
        f"{public}"
        f"  card:  {url}/.well-known/agent-card.json\n"
        f"  gRPC:  {grpc_targets}\n"
        f"  try:   curl {url}{settings.path}/message:send -H 'Content-Type: application/a2a+json' "
        f"-H 'A2A-Version: 1.0' -d '{request}'\n"
        "  stop:  Ctrl-C\n"
    )


def _reload(
    watch: str, serve: Callable[[list[socket.socket]], int], listener: socket.socket
) -> int:
    import uvicorn  # noqa: PLC0415 - only here
    from uvicorn.supervisors import ChangeReload  # noqa: PLC0415 - only here

    place = Path(watch.partition(":")[0])
    folder = place.resolve().parent if place.exists() else Path.cwd()
    config = uvicorn.Config("reloaded", reload=True, reload_dirs=[str(folder)], log_config=None)
    # uvicorn declares a target without result; it does not look at ours.
    # What cannot be served is told, and may be mended: the next change starts it anew.
    target = partial(_telling, serve)
    reloader = ChangeReload(config, target=target, sockets=[listener])  # type: ignore[arg-type] - see above
    reloader.should_restart()  # Looks at the files now, so that no change from here on is missed.
    reloader.run()
    return 0


SERVE: Final = Body(run=_run, declare=_declare, calls_agents=False)
