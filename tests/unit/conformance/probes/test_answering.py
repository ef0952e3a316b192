from typing import Any

import pytest

from dragoman.conformance.answers import Answer, Refusal
from dragoman.conformance.probes.answering import ERROR_CHECKS, FIRST
from tests.support.conformance.scripted import (
    ScriptedInterface,
    bench_with,
    outcome_of,
    refused,
)

BY_ID = {check.id: check for check in (FIRST, *ERROR_CHECKS)}


def grpc_status(code: int) -> Answer:
    return Answer(refusal=Refusal(name="", code=code, message="what?"))


@pytest.mark.parametrize(
    ("check", "binding", "answers", "outcome"),
    [
        ("interface.answers", "JSONRPC", {}, ""),
        ("interface.answers", "JSONRPC", {"GetTask": refused("InternalError")}, ""),
        ("interface.answers", "JSONRPC", {"GetTask": Answer(faults=("torn",))}, "failed: torn"),
        (
            "interface.answers",
            "JSONRPC",
            {"GetTask": refused("UnauthenticatedError")},
            "failed: credentials are wanted",
        ),
        ("version.unknown", "JSONRPC", {}, ""),
        (
            "version.unknown",
            "JSONRPC",
            {"other_version": refused("TaskNotFoundError")},
            "failed: it is refused with TaskNotFoundError",
        ),
        ("errors.unknown-method", "JSONRPC", {"unknown": refused("MethodNotFoundError")}, ""),
        ("errors.unknown-method", "GRPC", {"unknown": grpc_status(12)}, ""),
        ("errors.unknown-method", "JSONRPC", {"unknown": Answer(result={})}, "failed: it is not"),
        ("errors.malformed", "JSONRPC", {"garbage": refused("JSONParseError")}, ""),
        ("errors.malformed", "HTTP+JSON", {"garbage": grpc_status(400)}, ""),
        ("errors.malformed", "HTTP+JSON", {"garbage": grpc_status(500)}, "failed: it is refused"),
        ("errors.malformed", "GRPC", {"garbage": grpc_status(13)}, ""),
        ("errors.malformed", "GRPC", {"garbage": grpc_status(5)}, "failed: an error (5: what?)"),
        ("errors.malformed", "GRPC", {"garbage": Answer(result={})}, "failed: it is taken"),
    ],
)
async def test_a_check_tells_right_from_wrong(
    check: str, binding: str, answers: dict[str, Any], outcome: str
) -> None:
    bench = bench_with(ScriptedInterface(binding, **answers))
    found = await outcome_of(BY_ID[check], bench)
    assert found.startswith(outcome)
    assert bool(found) == bool(outcome)
