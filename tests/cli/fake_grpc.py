"""An agent over gRPC that does as it is told, and remembers what it was asked."""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from google.protobuf import json_format

from dragoman._proto.messages import message_class, pool
from tests.cli.fake import Asked

__all__ = ("FakeGrpcAgent", "GrpcRefusal", "fake_grpc_agent")

# The library comes without types.
grpc: Any = importlib.import_module("grpc")
STATUS_DETAILS = "grpc-status-details-bin"


SERVICE = "lf.a2a.v1.A2AService"


class GrpcRefusal(NamedTuple):
    """An error to answer with."""

    code: int
    reason: str


class FakeGrpcAgent:
    """What it answers by operation, as JSON, and what it was asked."""

    def __init__(self) -> None:
        self.address = ""
        self.answers: dict[str, Any] = {}
        self.asked: list[Asked] = []

    def calls(self, method: str) -> list[Asked]:
        """The requests for one operation."""
        return [each for each in self.asked if each.method == method]

    def service(self, details: Any) -> Any:
        """Find who answers a call: on the wire a call with one answer is a stream of one."""
        name = details.method.rpartition("/")[2]

        def answer(request: bytes, context: Any) -> Iterator[bytes]:
            method = pool().FindServiceByName(SERVICE).FindMethodByName(name)
            message = message_class(method.input_type.full_name)()
            message.ParseFromString(request)
            params = json_format.MessageToDict(message, descriptor_pool=pool())
            headers = {key: str(value) for key, value in context.invocation_metadata()}
            self.asked.append(Asked(name, headers, params, 0.0))
            found = self.answers[name]
            if isinstance(found, GrpcRefusal):
                _refuse(context, found)
                return
            result = message_class(method.output_type.full_name)()
            json_format.ParseDict(found, result)
            yield result.SerializeToString()

        return grpc.unary_stream_rpc_method_handler(answer)


def _refuse(context: Any, refusal: GrpcRefusal) -> None:
    """End a call with a status, and its details in the trailer (R-10.6-1, R-10.6-2)."""
    info: Any = message_class("google.rpc.ErrorInfo")()
    info.reason, info.domain = refusal.reason, "a2a-protocol.org"
    status: Any = message_class("google.rpc.Status")()
    status.code, status.message = refusal.code, "No."
    detail = status.details.add()
    detail.type_url = "type.googleapis.com/google.rpc.ErrorInfo"
    detail.value = info.SerializeToString()
    context.set_trailing_metadata(((STATUS_DETAILS, status.SerializeToString()),))
    code = next(code for code in grpc.StatusCode if code.value[0] == refusal.code)
    context.abort(code, "No.")


@contextmanager
def fake_grpc_agent() -> Generator[FakeGrpcAgent]:
    """Serve one on a free port; its card has to come from elsewhere."""
    agent = FakeGrpcAgent()

    class Handler(grpc.GenericRpcHandler):
        def service(self, handler_call_details: Any) -> Any:
            return agent.service(handler_call_details)

    server = grpc.server(ThreadPoolExecutor(2), handlers=(Handler(),))
    agent.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield agent
    finally:
        server.stop(None).wait()
