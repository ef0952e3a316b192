"""The echo of the contract on nothing but `grpc.aio` and protobuf's messages: gRPC's limit.

It reads the request into a message, keeps the task in a dict, and answers with it. Like `bare.py`
it has no dialects, no limits, no owners and no errors, and listens itself: nothing stands between
it and its callers.
"""

import argparse
import secrets
from typing import Any

import grpc
import uvloop

from dragoman._proto.messages import message_class

SERVICE = "lf.a2a.v1.A2AService"

TASK_STATE_COMPLETED = 3

# The classes are made at run time; no type checker knows their fields.
Proto = Any

SendMessageRequest: Proto = message_class("lf.a2a.v1.SendMessageRequest")
SendMessageResponse: Proto = message_class("lf.a2a.v1.SendMessageResponse")
ListTasksRequest: Proto = message_class("lf.a2a.v1.ListTasksRequest")
ListTasksResponse: Proto = message_class("lf.a2a.v1.ListTasksResponse")

TASKS: dict[str, Proto] = {}


async def send_message(request: Proto, context: object) -> Proto:
    """Make a task of the message and finish it."""
    del context
    answer = SendMessageResponse()
    task = answer.task
    message = request.message
    message.task_id = task.id = secrets.token_hex(16)
    message.context_id = task.context_id = message.context_id or secrets.token_hex(16)
    task.history.append(message)
    task.artifacts.add(artifact_id=secrets.token_hex(16)).parts.add(text=message.parts[0].text)
    task.status.state = TASK_STATE_COMPLETED
    task.status.timestamp.GetCurrentTime()
    TASKS[task.id] = task
    return answer


async def list_tasks(request: Proto, context: object) -> Proto:
    """Tell how many tasks there are."""
    del context
    return ListTasksResponse(page_size=request.page_size, total_size=len(TASKS))


def _handler(behaviour: Any, request: Proto, answer: Proto) -> grpc.RpcMethodHandler:
    return grpc.unary_unary_rpc_method_handler(
        behaviour,
        request_deserializer=request.FromString,
        response_serializer=answer.SerializeToString,
    )


async def _serve(port: int) -> None:
    server = grpc.aio.server()
    methods = {
        "SendMessage": _handler(send_message, SendMessageRequest, SendMessageResponse),
        "ListTasks": _handler(list_tasks, ListTasksRequest, ListTasksResponse),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--store", default="memory:", choices=["memory:"])
    options = parser.parse_args()
    uvloop.run(_serve(options.port))


if __name__ == "__main__":
    main()
