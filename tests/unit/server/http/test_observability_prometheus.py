"""The numbers about a process, and who may see them."""

from __future__ import annotations

import pytest

from dragoman.auth.incoming.authenticator import Evidence
from dragoman.clock import Clock
from dragoman.errors import StoreUnavailableError, UnauthenticatedError
from dragoman.push.notification import PushCounters
from dragoman.server.admission.authentication import Guard
from dragoman.server.http.exchange import Exchange
from dragoman.server.http.observability import METRICS_PATH, Metrics, Sample, exposition
from dragoman.server.replicas.lease import ReplicaNumbers
from dragoman.service.principal import Principal
from dragoman.stores.webhooks import PendingOverview
from dragoman.testing.clock import FakeClock
from tests.support.server.in_process import Event, Response


class Process:
    """A runtime with a few numbers."""

    def __init__(self, overview: PendingOverview | None = None) -> None:
        self.clock: Clock = FakeClock()
        self.is_ready = True
        self.replica: ReplicaNumbers | None = None
        self.live_tasks = 3
        self.open_streams = 2
        self.running_turns = 7
        self.waiting_turns = 6
        self.push_counters = PushCounters(delivered=5, retried=4, dead=1)
        self.overview = overview
        self.is_broken = False

    async def push_overview(self) -> PendingOverview | None:
        if self.is_broken:
            raise StoreUnavailableError("gone")
        return self.overview


class KnowsAlice:
    """Knows one caller, by a header."""

    async def authenticate(self, evidence: Evidence) -> Principal:
        if evidence.headers.get(b"x-api-key") != "alice":
            raise UnauthenticatedError("Who are you?")
        return Principal(owner="alice")


def closed_door() -> Guard:
    return Guard(allow_anonymous=False, max_body_bytes=1, max_depth=1, public_url=None)


async def ask(
    metrics: Metrics, method: str = "GET", *, peer: str = "127.0.0.1", **headers: str
) -> Response:
    sent: list[Event] = []

    async def receive() -> Event:
        return {"type": "http.request"}

    async def send(event: Event) -> None:
        sent.append(event)

    raw = {"host": "localhost", **headers}
    scope: Event = {
        "type": "http",
        "method": method,
        "path": METRICS_PATH,
        "raw_path": METRICS_PATH.encode(),
        "query_string": b"",
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in raw.items()],
        "client": (peer, 5000),
        "server": ("127.0.0.1", 8000),
    }
    await metrics.serve(Exchange(scope, receive, send))
    return Response(sent)


def numbers(response: Response) -> dict[str, float]:
    assert response.status == 200
    lines = [line for line in response.body.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.partition(" ") for line in lines)}


def test_samples_are_written_as_prometheus_reads_them() -> None:
    text = exposition(
        [Sample("a_total", "counter", "All of a.", 12_345_678), Sample("b", "gauge", "B.", 0.5)]
    )
    assert text == (
        b"# HELP a_total All of a.\n# TYPE a_total counter\na_total 12345678\n"
        b"# HELP b B.\n# TYPE b gauge\nb 0.5\n"
    )


async def test_every_number_is_there() -> None:
    process = Process()
    oldest = process.clock.now_ms() - 1500
    process.overview = PendingOverview(webhooks=7, pending=6, oldest_ms=oldest, dead_letters=8)
    response = await ask(Metrics(process, local=closed_door(), guard=None))
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert numbers(response) == {
        "dragoman_ready": 1,
        "dragoman_live_tasks": 3,
        "dragoman_open_streams": 2,
        "dragoman_turns_running": 7,
        "dragoman_turns_waiting": 6,
        "dragoman_push_delivered_total": 5,
        "dragoman_push_retried_total": 4,
        "dragoman_push_dead_total": 1,
        "dragoman_push_webhooks": 7,
        "dragoman_push_pending": 6,
        "dragoman_push_oldest_pending_seconds": 1.5,
        "dragoman_push_dead_letters": 8,
    }


async def test_one_of_several_tells_which_it_is_and_how_it_stands_with_the_others() -> None:
    process = Process()
    process.replica = ReplicaNumbers(
        id="r-1", has_lease=False, lapses=2, has_bus=True, followed=4, taken_over=5, lost=6
    )
    found = numbers(await ask(Metrics(process, local=closed_door(), guard=None)))
    assert all(name.endswith('{replica="r-1"}') for name in found)
    told = {name.partition("{")[0]: value for name, value in found.items()}
    assert (
        told.items()
        >= {
            "dragoman_ready": 1,
            "dragoman_lease_valid": 0,
            "dragoman_lease_lapses_total": 2,
            "dragoman_bus_connected": 1,
            "dragoman_tasks_followed_elsewhere": 4,
            "dragoman_tasks_taken_over_total": 5,
            "dragoman_tasks_lost_total": 6,
        }.items()
    )


async def test_nothing_waits_for_no_time() -> None:
    overview = PendingOverview(webhooks=1, pending=0, oldest_ms=0, dead_letters=0)
    response = await ask(Metrics(Process(overview), local=closed_door(), guard=None))
    assert numbers(response)["dragoman_push_oldest_pending_seconds"] == 0


async def test_what_the_store_cannot_say_is_left_out() -> None:
    process = Process()
    process.is_broken = True
    process.is_ready = False
    found = numbers(await ask(Metrics(process, local=closed_door(), guard=None)))
    assert found["dragoman_ready"] == 0
    assert "dragoman_push_webhooks" not in found
    assert found["dragoman_push_delivered_total"] == 5


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("192.0.2.1", {}),
        # A proxy on this machine, acting for somebody else.
        ("127.0.0.1", {"x_forwarded_for": "192.0.2.1"}),
        # A page of another site, in a browser on this machine.
        ("127.0.0.1", {"origin": "https://evil.example"}),
        ("127.0.0.1", {"host": "evil.example"}),
    ],
)
async def test_they_are_nobody_elses_business(peer: str, headers: dict[str, str]) -> None:
    metrics = Metrics(Process(), local=closed_door(), guard=None)
    assert (await ask(metrics, peer=peer, **headers)).status == 403


async def test_whoever_can_show_who_they_are_may_see_them_from_elsewhere() -> None:
    guard = Guard(
        allow_anonymous=False,
        max_body_bytes=1,
        max_depth=1,
        public_url=None,
        authentication=KnowsAlice(),
    )
    metrics = Metrics(Process(), local=closed_door(), guard=guard)
    assert (await ask(metrics, peer="192.0.2.1")).status == 401
    assert (await ask(metrics, peer="192.0.2.1", x_api_key="alice")).status == 200
    # Whoever is on this machine need not.
    assert (await ask(metrics)).status == 200


async def test_they_are_read_and_nothing_else() -> None:
    metrics = Metrics(Process(), local=closed_door(), guard=None)
    assert (await ask(metrics, "POST")).status == 405
    head = await ask(metrics, "HEAD")
    assert (head.status, head.body) == (200, b"")
