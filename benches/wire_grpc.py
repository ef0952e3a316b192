"""The messages of the benchmark over gRPC, and the checks of what is answered to them.

Requests are templates as in `wire.py`: the texts that change keep their length, and so does every
message around them.
"""

from collections.abc import Sequence
from typing import Any

from benches.load import Check, CheckError, Request
from benches.wire import numbered
from dragoman._proto.messages import message_class

__all__ = ("LIST_TASKS", "Echo", "echo_v0_3", "echo_v1_0", "list_tasks", "total_of")

LIST_TASKS = "/lf.a2a.v1.A2AService/ListTasks"

# These two numbers are the same in both versions.
ROLE_USER = 1
TASK_STATE_COMPLETED = 3

# The classes are made at run time; no type checker knows their fields.
Proto = Any


class Echo:
    """SendMessage of an echo: the calls of one loop, and what they must be answered with."""

    def __init__(self, package: str, version: str, template: Proto) -> None:
        self.path = f"/{package}.A2AService/SendMessage"
        self.version = version
        self.request: Request = numbered(template.SerializeToString())
        self.check: Check = self._echoes
        self._response: Proto = message_class(f"{package}.SendMessageResponse")
        first = self.request(0)
        at = first.index(b"echo ") + 5
        self._base = int(first[at : at + 12])

    def check_all(self, answers: Sequence[bytes]) -> None:
        """Check answers to the letter: each a finished task of its own, with its own text."""
        tasks = [self._response.FromString(answer).task for answer in answers]
        for task in tasks:
            texts = [part.text for artifact in task.artifacts for part in artifact.parts]
            said = task.history[0]
            # What was 0.3's content is 1.0's parts.
            parts = said.parts if hasattr(said, "parts") else said.content
            if task.status.state != TASK_STATE_COMPLETED or texts != [parts[0].text]:
                raise CheckError(wanted="a finished echo", got=task)
        if len({task.id for task in tasks}) != len(answers):
            raise CheckError(wanted="a task for each message", got="the same one twice")

    def _echoes(self, number: int, answer: bytes) -> bool:
        return b"echo %012d" % (self._base + number) in answer


def echo_v1_0() -> Echo:
    """SendMessage of 1.0."""
    send: Proto = message_class("lf.a2a.v1.SendMessageRequest")()
    send.message.message_id, send.message.role = "m-999999999999", ROLE_USER
    send.message.parts.add(text="echo 999999999999")
    return Echo("lf.a2a.v1", "1.0", send)


def echo_v0_3() -> Echo:
    """SendMessage of 0.3, which does not wait unless it is told to."""
    send: Proto = message_class("a2a.v1.SendMessageRequest")()
    send.request.message_id, send.request.role = "m-999999999999", ROLE_USER
    send.request.content.add(text="echo 999999999999")
    send.configuration.blocking = True
    return Echo("a2a.v1", "0.3", send)


def list_tasks() -> bytes:
    """ListTasks of 1.0, the smallest page."""
    request: Proto = message_class("lf.a2a.v1.ListTasksRequest")(page_size=1)
    return request.SerializeToString()


def total_of(answer: bytes) -> int:
    """Return how many tasks there are, by the answer of ListTasks."""
    page: Proto = message_class("lf.a2a.v1.ListTasksResponse").FromString(answer)
    return page.total_size
