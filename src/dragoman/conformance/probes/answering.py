"""Answering at all: the interface is where the card says, in its version; mistakes get errors."""

from __future__ import annotations

from typing import Final

from dragoman.conformance.bench import Bench, FailedError
from dragoman.conformance.checks import Check

__all__ = ("ERROR_CHECKS", "FIRST")

_NO_VERSION: Final = "99.0"
_GRPC_MALFORMED: Final = frozenset({3, 12, 13})
"""gRPC's own libraries answer what they cannot read with INTERNAL, others INVALID_ARGUMENT."""


async def _answers(bench: Bench) -> None:
    answer = await bench.interface.call("GetTask", {"id": bench.new_id()})
    refusal = answer.refusal
    if refusal is not None and refusal.name in ("UnauthenticatedError", "PermissionDeniedError"):
        raise FailedError(f"credentials are wanted: {refusal}")
    # Whatever it says, it must be said in this binding.
    if answer.faults:
        raise FailedError("; ".join(answer.faults))


async def _unknown_version(bench: Bench) -> None:
    params = {"id": bench.new_id()}
    answer = await bench.interface.call("GetTask", params, version=_NO_VERSION)
    bench.judged_refusal(answer, "VersionNotSupportedError")


async def _unknown_method(bench: Bench) -> None:
    answer = await bench.interface.call_unknown()
    if bench.interface.binding == "GRPC":
        bench.judged_refusal(answer, "MethodNotFoundError", "MethodNotAllowedError")
    else:
        bench.judged_refusal(answer, "MethodNotFoundError")


async def _garbage(bench: Bench) -> None:
    answer = await bench.interface.send_garbage()
    if bench.interface.binding != "GRPC":
        bench.judged_refusal(answer, "JSONParseError", "InvalidRequestError", "InvalidParamsError")
    elif answer.refusal is None or answer.refusal.code not in _GRPC_MALFORMED:
        found = str(answer.refusal) if answer.refusal else "it is taken"
        raise FailedError(f"{found}, instead of INVALID_ARGUMENT or INTERNAL")


FIRST: Final = Check(
    id="interface.answers",
    requirement="R-8.3.1-3",
    expected="the interface answers at its URL, in its binding and version",
    run=_answers,
    is_old=True,
)
"""Where this fails, there is nothing else to look at."""

ERROR_CHECKS: Final = (
    Check(
        id="version.unknown",
        requirement="R-3.2.6-4",
        expected="an unknown A2A-Version fails with VersionNotSupportedError",
        run=_unknown_version,
    ),
    Check(
        id="errors.unknown-method",
        requirement="R-3.3.2-1",
        expected="an operation that does not exist fails as not found",
        run=_unknown_method,
        is_old=True,
    ),
    Check(
        id="errors.malformed",
        requirement="R-3.3.2-1",
        expected="a request that cannot be read fails as such",
        run=_garbage,
        is_old=True,
    ),
)
