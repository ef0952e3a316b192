"""Clients of the official SDKs at our guard: by API key, by JWT and by certificate.

One process of an SDK makes all its visits (``peers/guarded.py``, ``peers/js_1_3_guarded.mjs``). The
card tells the SDK what to show, its own interceptor shows it, and without it the SDK is refused.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from dragoman.clock import SystemClock
from dragoman.testing.clock import FakeClock
from tests.interop.environments import PEERS, Environment
from tests.scenarios.guard.certificates import CertificateAuthority
from tests.support.auth.issuing import Issuer
from tests.support.server.certificates import write_files
from tests.support.serving import AgentProcess
from tests.support.wire import Json

pytestmark = [
    pytest.mark.interop,
    # The first test may have to install an SDK.
    pytest.mark.timeout(600),
]

AGENT = Path(__file__).with_name("guarded.py")
BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")
SDKS = ("py_1_3", "py_0_3", "js_1_3")
SCHEMES: Final = {"key": "apiKey", "jwt": "bearer", "mtls": "mtls"}
"""The guards, and what the card calls the scheme of each."""

UNASKED = ("HTTP+JSON", "GRPC")
"""Where a2a-sdk 0.3 does not ask its interceptors; see ``peers/py_0_3_guarded.py``."""

VISITS_SECONDS: Final = 120
"""All visits take a few seconds; this ends what hangs."""


class Door(NamedTuple):
    """A guarded agent, and what to show there: what gets one in, and what does not."""

    url: str
    shown: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Door]]:
    """One agent for each guard."""
    folder = tmp_path_factory.mktemp("guarded")
    issuer = Issuer(FakeClock(SystemClock().now_ms()))
    keys = folder / "keys.json"
    keys.write_text(json.dumps(issuer.jwks))
    files = write_files(folder)
    authority = CertificateAuthority(folder, "authority")
    own = ("--tls-cert", files.server, "--tls-key", files.server_key)

    def by_certificate(host: str) -> dict[str, Any]:
        certificate, key = authority.certify(host)
        return {"tls": {"ca": files.ca, "certificate": certificate, "key": key}}

    with ExitStack() as stack:

        def start(guard: str, *flags: str) -> str:
            process = AgentProcess(AGENT, "--advertise", "grpc", "--store", "memory:", *flags)
            # All come from one address, and most with nothing good.
            process.start(GUARD=guard, DRAGOMAN_RATE_LIMIT_REFUSALS="10000/min")
            return stack.enter_context(process).url

        yield {
            "key": Door(start("key"), by_credential("key-of-ada", "key-of-nobody")),
            "jwt": Door(
                start(f"jwt:{keys}"),
                by_credential(issuer.token(sub="ada"), issuer.token(sub="ada", exp=1)),
            ),
            "mtls": Door(
                start("mtls", *own, "--tls-client-ca", authority.path).replace("http:", "https:"),
                {
                    "good": by_certificate("ada.example"),
                    "nothing": {"tls": {"ca": files.ca}},
                    "wrong": by_certificate("eve.example"),
                },
            ),
        }


def by_credential(good: str, wrong: str) -> dict[str, dict[str, Any]]:
    return {"good": {"credential": good}, "nothing": {}, "wrong": {"credential": wrong}}


class Saw:
    """What an SDK has seen, by guard, binding and what was shown."""

    def __init__(self, sdk: str, seen: dict[tuple[str, str, str], Json]) -> None:
        self.sdk = sdk
        self._seen = seen

    def __call__(self, guard: str, binding: str, shown: str) -> Any:
        return self._seen[guard, binding, shown]


@pytest.fixture(scope="module")
def seen() -> dict[str, Saw]:
    """What was seen so far: the order of the tests is random, and an SDK may be asked for again."""
    return {}


@pytest.fixture(scope="module", params=SDKS)
def saw(
    request: pytest.FixtureRequest,
    doors: dict[str, Door],
    seen: dict[str, Saw],
    environment_of: Callable[[str], Environment],
) -> Saw:
    """Have an SDK make all visits, once."""
    sdk: str = request.param
    if sdk not in seen:
        seen[sdk] = visiting(sdk, doors, environment_of(sdk))
    return seen[sdk]


def visiting(sdk: str, doors: dict[str, Door], where: Environment) -> Saw:
    """Run the SDK's driver."""
    visits = {
        (guard, binding, shown): {
            "url": door.url,
            "binding": binding,
            "scheme": SCHEMES[guard],
            "credential": None,
            "tls": None,
            "by_hand": sdk == "py_0_3" and binding in UNASKED,
            **what,
        }
        for guard, door in doors.items()
        for binding in BINDINGS
        for shown, what in door.shown.items()
    }
    if sdk == "py_0_3":
        visits |= {
            (guard, binding, "by interceptor"): visits[guard, binding, "good"] | {"by_hand": False}
            for guard in ("key", "jwt")
            for binding in UNASKED
        }
    suffix = "mjs" if sdk.startswith("js") else "py"
    done = subprocess.run(
        [*where.command, str(PEERS / f"{sdk}_guarded.{suffix}")],
        cwd=where.folder,
        input=json.dumps(list(visits.values())),
        capture_output=True,
        text=True,
        timeout=VISITS_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Saw(sdk, dict(zip(visits, json.loads(done.stdout), strict=True)))


on_each_binding = pytest.mark.parametrize("binding", BINDINGS)
CALLS = ("send", "stream", "get")

SECURITY: Final[dict[str, tuple[Json, Json]]] = {
    "key": (
        {"apiKeySecurityScheme": {"location": "header", "name": "X-API-Key"}},
        {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    ),
    "jwt": (
        {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
        {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"},
    ),
    "mtls": ({"mtlsSecurityScheme": {}}, {"type": "mutualTLS"}),
}
"""What the card says of each guard, in the words of 1.0 and in those of 0.3."""


@pytest.mark.parametrize("guard", SCHEMES)
def test_the_card_tells_the_sdk_what_to_show(saw: Saw, guard: str) -> None:
    name, (new, old) = SCHEMES[guard], SECURITY[guard]
    card = saw(guard, "JSONRPC", "good")["card"]
    if saw.sdk == "py_0_3":
        assert card == {"schemes": {name: old}, "requirements": [{name: []}]}
    else:
        assert card == {"schemes": {name: new}, "requirements": [{"schemes": {name: {}}}]}


@on_each_binding
@pytest.mark.parametrize("guard", SCHEMES)
def test_who_shows_it_is_served_as_itself(saw: Saw, guard: str, binding: str) -> None:
    visit = saw(guard, binding, "good")
    [part] = visit["send"]["artifacts"][0]["parts"]
    assert part["text"] == "sent by ada"
    assert visit["get"]["id"] == visit["send"]["id"]
    state = visit["stream"]["statusUpdate"]["status"]["state"]
    assert state == ("completed" if saw.sdk == "py_0_3" else "TASK_STATE_COMPLETED")


@on_each_binding
@pytest.mark.parametrize(
    ("guard", "shown"),
    [("key", "nothing"), ("key", "wrong"), ("jwt", "nothing"), ("jwt", "wrong"), ("mtls", "wrong")],
)
def test_who_does_not_hears_that_it_is_not_known(
    saw: Saw, guard: str, binding: str, shown: str
) -> None:
    visit = saw(guard, binding, shown)
    for call in CALLS:
        assert_unauthenticated(saw.sdk, binding, visit[call]["refused"], shown)


def assert_unauthenticated(sdk: str, binding: str, refused: Json, shown: str) -> None:
    """See that an SDK tells its user what is the matter, as far as it tells anything."""
    reason = "Authentication required" if shown == "nothing" else "The credentials are not good"
    match sdk, binding:
        case "py_1_3", "GRPC":
            wanted = {"error": "A2AClientError", "message": f"gRPC Error UNAUTHENTICATED: {reason}"}
            assert refused == wanted
        case "py_1_3", _:
            assert refused["error"] == "A2AClientError"
            assert refused["message"].startswith("HTTP Error 401: ")
        case "py_0_3", "GRPC":
            assert refused["grpc"] == "UNAUTHENTICATED"
        case "py_0_3", _:
            assert refused["http"] == 401
        case _, "GRPC":
            assert refused["message"].endswith(f": 16 {reason}")
        case _:
            assert refused["message"] == reason


@pytest.mark.parametrize("saw", ["py_0_3"], indirect=True)
@pytest.mark.parametrize("binding", UNASKED)
@pytest.mark.parametrize("guard", ["key", "jwt"])
def test_an_interceptor_that_is_not_asked_shows_nothing(saw: Saw, guard: str, binding: str) -> None:
    # Should this fail with a newer SDK, then its interceptor can do there what we do by hand.
    refused = saw(guard, binding, "by interceptor")["send"]["refused"]
    assert_unauthenticated(saw.sdk, binding, refused, "nothing")


@on_each_binding
def test_who_has_no_certificate_does_not_even_get_the_card(saw: Saw, binding: str) -> None:
    refused = saw("mtls", binding, "nothing")["card"]["refused"]
    match saw.sdk:
        case "py_1_3":
            assert refused["error"] == "AgentCardResolutionError"
        case "py_0_3":
            assert refused["http"] == 503  # Which is what it says of whoever cannot be reached.
        case _:
            assert refused["code"] in ("ECONNRESET", "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED")


CHALLENGES: Final = {
    "key": 'ApiKey realm="a2a", in="header", name="X-API-Key"',
    "jwt": 'Bearer realm="a2a"',
}


@pytest.mark.parametrize("saw", ["js_1_3"], indirect=True)
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("guard", CHALLENGES)
def test_an_sdk_that_waits_for_a_challenge_gets_one(saw: Saw, guard: str, binding: str) -> None:
    # Once: what was good then is shown from then on.
    assert saw(guard, binding, "good")["challenges"] == [CHALLENGES[guard]]
