from __future__ import annotations

import pytest

from dragoman.errors import UsageError
from dragoman.otlp.environment import (
    Collector,
    collector_of,
    headers_of,
    ratio_of,
    resource_of,
)


@pytest.mark.parametrize(
    ("url", "expected", "told"),
    [
        (
            "http://collector:4318",
            Collector(False, "collector", 4318, "/v1/traces"),  # noqa: FBT003 - a value
            "http://collector:4318",
        ),
        (
            "https://collector.example/",
            Collector(True, "collector.example", None, "/v1/traces"),  # noqa: FBT003 - a value
            "https://collector.example",
        ),
        # Behind a prefix, as some vendors have it.
        (
            "https://v.example/otlp/",
            Collector(True, "v.example", None, "/otlp/v1/traces"),  # noqa: FBT003 - a value
            "https://v.example",
        ),
        # The whole address, as other tools want it.
        (
            "http://[::1]:4318/v1/traces",
            Collector(False, "::1", 4318, "/v1/traces"),  # noqa: FBT003 - a value
            "http://[::1]:4318",
        ),
    ],
)
def test_an_address_is_read(url: str, expected: Collector, told: str) -> None:
    assert collector_of(url) == expected
    assert str(collector_of(url)) == told


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("collector:4318", "is no address of a collector"),
        ("grpc://collector:4317", "is no address of a collector"),
        ("http://", "is no address of a collector"),
        ("http://collector:port", "is no address"),
        ("http://collector:99999", "is no address"),
        ("http://[::1", "is no address"),
        ("http://collector:4318/?a=b", "must end with its path"),
        ("http://collector:4318/#a", "must end with its path"),
        ("http://collector/a b", "characters that an address cannot have"),
        ("http://cöllector/", "characters that an address cannot have"),
    ],
)
def test_what_is_no_address_is_told(url: str, told: str) -> None:
    with pytest.raises(UsageError, match=r"^otlp: ") as caught:
        collector_of(url)
    assert told in str(caught.value)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="OTEL_EXPORTER_OTLP_HEADERS") as caught:
        collector_of("https://me:hunter2@collector.example")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("api-key=secret", {"api-key": "secret"}),
        (
            "authorization=Basic%20dXNlcg==, x-tenant = a%2Cb ,",
            {"authorization": "Basic dXNlcg==", "x-tenant": "a,b"},
        ),
        ("empty=", {"empty": ""}),
    ],
)
def test_headers_are_read(text: str, expected: dict[str, str]) -> None:
    assert headers_of({"OTEL_EXPORTER_OTLP_HEADERS": text}) == expected


@pytest.mark.parametrize(
    "text", ["hunter2", "=hunter2", "a b=hunter2", "a%0D%0Ab=hunter2", "a=hunter2%0D%0Ab:c"]
)
def test_headers_that_cannot_be_are_told_without_their_values(text: str) -> None:
    with pytest.raises(UsageError, match=r"^OTEL_EXPORTER_OTLP_HEADERS") as caught:
        headers_of({"OTEL_EXPORTER_OTLP_HEADERS": text})
    assert "hunter2" not in str(caught.value)


def test_without_headers_there_are_none() -> None:
    assert headers_of({}) == {}


@pytest.mark.parametrize(
    ("text", "expected"), [("", 1.0), ("0", 0.0), (" 0.25 ", 0.25), ("1", 1.0)]
)
def test_a_ratio_is_read(text: str, expected: float) -> None:
    assert ratio_of({"OTEL_TRACES_SAMPLER_ARG": text}) == expected


@pytest.mark.parametrize("text", ["1.1", "-0.1", "nan", "a tenth"])
def test_what_is_no_ratio_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1"):
        ratio_of({"OTEL_TRACES_SAMPLER_ARG": text})


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {"service.name": "Echo"}),
        # The variable for the name alone wins over the one for all.
        (
            {"OTEL_RESOURCE_ATTRIBUTES": "service.name=a,deployment.environment.name=prod"},
            {"service.name": "a", "deployment.environment.name": "prod"},
        ),
        (
            {"OTEL_RESOURCE_ATTRIBUTES": "service.name=a", "OTEL_SERVICE_NAME": "b"},
            {"service.name": "b"},
        ),
    ],
)
def test_the_environment_says_who_we_are(environ: dict[str, str], expected: dict[str, str]) -> None:
    assert resource_of(environ, "Echo") == expected


def test_attributes_that_cannot_be_read_are_told() -> None:
    with pytest.raises(UsageError, match=r"^OTEL_RESOURCE_ATTRIBUTES must be a list"):
        resource_of({"OTEL_RESOURCE_ATTRIBUTES": "production"}, "Echo")
