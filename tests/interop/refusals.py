"""How a peer sees that it is refused."""

from __future__ import annotations

from typing import Final

from tests.support.wire import Json

__all__ = ("assert_refused",)

# The code of JSON-RPC; and for 0.3, the statuses of HTTP+JSON and gRPC (0.x reference, 4.4, 4.5).
_FACTS: Final = {
    "TaskNotFoundError": (-32001, 404, "NOT_FOUND"),
    "TaskNotCancelableError": (-32002, 409, "FAILED_PRECONDITION"),
    "PushNotificationNotSupportedError": (-32003, 501, "UNIMPLEMENTED"),
    "UnsupportedOperationError": (-32004, 501, "UNIMPLEMENTED"),
    "ContentTypeNotSupportedError": (-32005, 415, "UNIMPLEMENTED"),
    "InvalidParamsError": (-32602, 422, "INVALID_ARGUMENT"),
}

_NAMES: Final = {"RequestMalformedError": "InvalidParamsError"}
"""What js_1_3 calls differently."""


def assert_refused(told: Json, error: str) -> None:
    """Assert that what the peer lets its user see of an error is all of this error.

    SDKs differ in what that is: a class of its own, the code, or no more than the status.
    """
    code, http, grpc = _FACTS[error]
    expected: Json = {"error": error, "code": code, "http": http, "grpc": grpc}
    seen = {name: told[name] for name in expected if name in told}
    if "error" in seen:
        seen["error"] = _NAMES.get(seen["error"], seen["error"])
    assert seen, told
    assert seen == {name: expected[name] for name in seen}, told
    if "grpc" in seen:
        # SDKs of 0.3 know the error by this prefix.
        assert told["message"].startswith(f"{error}: ")
