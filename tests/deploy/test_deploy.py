"""What ``deploy/`` says fits together, and is what the program understands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from dragoman.bindings.grpc.v0_3 import V0_3_GRPC
from dragoman.bindings.grpc.v1_0 import V1_0_GRPC
from dragoman.bus.nats.bus import NatsBus
from dragoman.bus.opening import open_bus
from dragoman.server.app import HEALTH_PATHS
from dragoman.server.settings import Settings, load_settings
from tests.deploy.plain_blocks import read_documents

DEPLOY: Final = Path(__file__).parents[2] / "deploy"
KUBERNETES: Final = DEPLOY / "kubernetes"
DEFAULTS: Final = Settings()
REPLICAS: Final = ("agent-1", "agent-2", "agent-3")
PORT: Final = 8000
GRPC_PATHS: Final = tuple(f"/{form.service}/SendMessage" for form in (V0_3_GRPC, V1_0_GRPC))

Node = dict[str, Any]


def read(path: Path) -> Node:
    """Return the one document of a file."""
    (document,) = read_documents(path.read_text("utf-8"))
    return document


def seconds(text: str) -> float:
    """Read a duration as nginx and Envoy write it."""
    number, unit = re.fullmatch(r"(\d+)(s|m|h)", text).groups()  # type: ignore[union-attr] - or it fails
    return float(number) * {"s": 1, "m": 60, "h": 3600}[unit]


def settings_of(variables: dict[str, str]) -> Settings:
    """Read settings as the server does; the values that compose puts in are made up."""
    return load_settings({}, {k: re.sub(r"\$\{.*?\}", "x", v) for k, v in variables.items()})


# --- compose --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def services() -> Node:
    return read(DEPLOY / "compose.yaml")["services"]


def test_the_replicas_of_compose_are_alike(services: Node) -> None:
    first, *others = REPLICAS
    assert {*services} == {*REPLICAS, "postgres", "nats", "nginx"}
    for name in others:
        assert services[name] == {"extends": {"service": first}}


def test_the_replicas_of_compose_have_settings_that_exist(services: Node) -> None:
    settings = settings_of(services["agent-1"]["environment"])
    assert settings.store == "postgres://agents:x@postgres/agents"
    assert isinstance(open_bus(settings.bus), NatsBus)
    assert settings.trusted_proxies == (services["nginx"]["networks"]["default"]["ipv4_address"],)


def test_compose_gives_replicas_the_time_they_need(services: Node) -> None:
    replica = services["agent-1"]
    assert seconds(replica["stop_grace_period"]) > DEFAULTS.shutdown_grace_seconds + 5
    (question,) = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", replica["healthcheck"]["test"][-1])
    assert question == (str(PORT), "/readyz")


def test_compose_builds_the_image_that_is_described(services: Node) -> None:
    build = services["agent-1"]["build"]
    dockerfile = (DEPLOY / build["context"] / build["dockerfile"]).resolve()
    assert dockerfile == DEPLOY / "Dockerfile"
    root = DEPLOY.parent
    lines = dockerfile.read_text("utf-8").splitlines()
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    (example,) = [line.partition("=")[2] for line in lines if line.startswith("ARG AGENT=")]
    for name in (*copied, example):
        assert name == "${AGENT}" or (root / name).exists(), name
    assert f"EXPOSE {PORT}" in lines


# --- Kubernetes -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def objects() -> dict[tuple[str, str], Node]:
    """All that is applied, by kind and name."""
    resources: list[str] = read(KUBERNETES / "kustomization.yaml")["resources"]
    assert {*resources} == {path.name for path in KUBERNETES.glob("*.yaml")} - {
        "kustomization.yaml"
    }
    found = [
        document
        for name in resources
        for document in read_documents((KUBERNETES / name).read_text("utf-8"))
    ]
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in found}
    assert len(by_name) == len(found)
    return by_name


Objects = dict[tuple[str, str], Node]


@pytest.mark.parametrize(("kind", "name"), [("Deployment", "agent"), ("StatefulSet", "nats")])
def test_selectors_find_the_pods(objects: Objects, kind: str, name: str) -> None:
    workload = objects[kind, name]["spec"]
    labels = workload["template"]["metadata"]["labels"]
    spread = workload["template"]["spec"]["topologySpreadConstraints"][0]
    assert workload["selector"]["matchLabels"] == labels
    assert spread["labelSelector"]["matchLabels"] == labels
    assert objects["Service", name]["spec"]["selector"] == labels
    assert objects["PodDisruptionBudget", name]["spec"]["selector"]["matchLabels"] == labels


def containers_of(workload: Node) -> list[Node]:
    pod = workload["spec"]["template"]["spec"]
    return [*pod.get("initContainers", ()), *pod["containers"]]


def test_replicas_have_settings_that_exist(objects: Objects) -> None:
    for container in containers_of(objects["Deployment", "agent"]):
        variables: dict[str, str] = {}
        for source in container["envFrom"]:
            variables |= objects["Secret", source["secretRef"]["name"]]["stringData"]
        variables |= {each["name"]: each["value"] for each in container.get("env", ())}
        settings = settings_of(variables)
        assert isinstance(open_bus(settings.bus), NatsBus)


def test_replicas_are_asked_what_they_answer(objects: Objects) -> None:
    (container,) = objects["Deployment", "agent"]["spec"]["template"]["spec"]["containers"]
    probes = [container[f"{kind}Probe"]["httpGet"] for kind in ("readiness", "liveness")]
    assert [probe["path"] for probe in probes] == ["/readyz", "/healthz"]
    assert {probe["path"] for probe in probes} <= HEALTH_PATHS
    (port,) = container["ports"]
    assert port["containerPort"] == PORT
    (service_port,) = objects["Service", "agent"]["spec"]["ports"]
    names = {service_port["targetPort"], *(probe["port"] for probe in probes)}
    assert names == {port["name"]}


def test_replicas_have_the_time_to_hand_over(objects: Objects) -> None:
    pod = objects["Deployment", "agent"]["spec"]["template"]["spec"]
    waits = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    needed = waits + DEFAULTS.shutdown_grace_seconds + 5
    assert pod["terminationGracePeriodSeconds"] >= needed


@pytest.mark.parametrize(("kind", "name"), [("Deployment", "agent"), ("StatefulSet", "nats")])
def test_no_container_may_do_more_than_it_must(objects: Objects, kind: str, name: str) -> None:
    workload = objects[kind, name]
    assert workload["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"] is True
    for container in containers_of(workload):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_the_servers_of_nats_know_each_other(objects: Objects) -> None:
    nats = objects["StatefulSet", "nats"]["spec"]
    names = [f"nats-{number}.{nats['serviceName']}" for number in range(nats["replicas"])]
    (container,) = nats["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    routes = ",".join(f"nats://{name}:{ports['cluster']}" for name in names)
    assert f"--routes={routes}" in container["args"]
    bus = ",".join(f"nats://{name}:{ports['client']}" for name in names)
    assert objects["Secret", "agent"]["stringData"]["DRAGOMAN_BUS"] == bus
    rules = objects["NetworkPolicy", "nats"]["spec"]["ingress"]
    assert {rule["ports"][0]["port"] for rule in rules} == {ports["client"], ports["cluster"]}


def test_the_ingress_leads_to_the_service(objects: Objects) -> None:
    (port,) = objects["Service", "agent"]["spec"]["ports"]
    paths: dict[str, list[str]] = {}
    for name in ("agent", "agent-grpc"):
        (rule,) = objects["Ingress", name]["spec"]["rules"]
        for path in rule["http"]["paths"]:
            paths.setdefault(name, []).append(path["path"])
            assert path["backend"]["service"] == {"name": "agent", "port": {"name": port["name"]}}
    assert paths["agent"] == ["/"]
    assert {f"{path}/SendMessage" for path in paths["agent-grpc"]} == {*GRPC_PATHS}
    prefix = "nginx.ingress.kubernetes.io/"
    plain = objects["Ingress", "agent"]["metadata"]["annotations"]
    grpc = objects["Ingress", "agent-grpc"]["metadata"]["annotations"]
    assert plain[f"{prefix}proxy-buffering"] == "off"
    assert int(plain[f"{prefix}proxy-read-timeout"]) > DEFAULTS.max_wait_seconds
    assert grpc[f"{prefix}backend-protocol"] == "GRPC"


# --- nginx, Envoy ---------------------------------------------------------------------------------


def directives(name: str) -> list[str]:
    """Return what stands after a directive of nginx.conf, wherever it is given."""
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    return re.findall(rf"^\s*{name}\s+(.*?);$", text, re.MULTILINE)


def test_nginx_knows_the_replicas_of_compose() -> None:
    hosts = [server.split()[0] for server in directives("server")]
    assert hosts == [f"{name}:{PORT}" for name in REPLICAS] * 2


def test_nginx_waits_long_enough_and_lets_bodies_through() -> None:
    assert directives("proxy_buffering") == ["off"]
    (patience,) = map(seconds, directives("proxy_read_timeout"))
    assert patience > max(DEFAULTS.heartbeat_seconds, DEFAULTS.max_wait_seconds)
    (keep_alive,) = map(seconds, directives("keepalive_timeout"))
    assert keep_alive < DEFAULTS.keep_alive_seconds
    (body,) = directives("client_max_body_size")
    assert int(body.removesuffix("m")) * 2**20 > DEFAULTS.max_body_bytes


def test_nginx_tells_grpc_by_its_path() -> None:
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    (pattern,) = re.findall(r"location ~ (\S+) \{", text)
    health = ("/grpc.health.v1.Health/Check", "/grpc.reflection.v1.ServerReflection/Info")
    for path in (*GRPC_PATHS, *health):
        assert re.search(pattern, path), path
    for path in ("/", "/a2a", "/message:send", "/tasks/1", "/.well-known/agent-card.json"):
        assert not re.search(pattern, path), path


@pytest.fixture(scope="module")
def envoy() -> Node:
    return read(DEPLOY / "envoy.yaml")["static_resources"]


def test_envoy_sets_no_limit_to_the_time_of_an_answer(envoy: Node) -> None:
    (listener,) = envoy["listeners"]
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    idle = seconds(manager["stream_idle_timeout"])
    assert idle > max(DEFAULTS.heartbeat_seconds, DEFAULTS.max_wait_seconds)
    grpc, rest = manager["route_config"]["virtual_hosts"][0]["routes"]
    assert "grpc" in grpc["match"]
    assert {seconds(route["route"]["timeout"]) for route in (grpc, rest)} == {0}
    assert [route["route"]["cluster"] for route in (grpc, rest)] == ["agents_grpc", "agents"]


def test_envoy_speaks_to_replicas_what_each_call_needs(envoy: Node) -> None:
    key = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    plain, grpc = envoy["clusters"]
    plain_options = plain["typed_extension_protocol_options"][key]
    assert "http_protocol_options" in plain_options["explicit_http_config"]
    idle = seconds(plain_options["common_http_protocol_options"]["idle_timeout"])
    assert idle < DEFAULTS.keep_alive_seconds
    grpc_options = grpc["typed_extension_protocol_options"][key]
    assert "http2_protocol_options" in grpc_options["explicit_http_config"]
    assert plain["health_checks"][0]["http_health_check"] == {"path": "/readyz"}


def test_envoy_knows_the_replicas_of_compose(envoy: Node) -> None:
    for cluster in envoy["clusters"]:
        assert cluster["load_assignment"]["cluster_name"] == cluster["name"]
        (group,) = cluster["load_assignment"]["endpoints"]
        addresses = [
            endpoint["endpoint"]["address"]["socket_address"] for endpoint in group["lb_endpoints"]
        ]
        assert [address["address"] for address in addresses] == [*REPLICAS]
        assert {address["port_value"] for address in addresses} == {PORT}
