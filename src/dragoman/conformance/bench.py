"""Bench: what the checks of one interface share, and the words in which they judge.

It remembers what was made at the agent, so that it can be put away again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Final

from dragoman.conformance.answers import ERRORS, Answer, Refusal, at, text_at
from dragoman.conformance.interface import Interface, Params
from dragoman.conformance.lines import NoAnswerError
from dragoman.conformance.shapes import TERMINAL, flaws_in
from dragoman.errors import DragomanError

__all__ = ("NO_TASK", "Bench", "FailedError", "SkippedError")

NO_TASK: Final = "the agent answers with a message, and has no task to look at"

_FORMS: Final = {"JSONRPC": "jsonrpc", "HTTP+JSON": "http", "GRPC": "grpc"}
# R-9.5-4: the codes that A2A has for its own errors.
_NAMED_BY_A2A: Final = frozenset(
    name for name, form in ERRORS.items() if form.jsonrpc in range(-32099, -32000)
)
_AUTH: Final = frozenset({"UnauthenticatedError", "PermissionDeniedError"})
_AUTH_CODES: Final = {"HTTP+JSON": (401, 403), "GRPC": (16, 7)}
_TIDY_SECONDS: Final = 5.0
"""Putting one thing away takes no longer, or is left to the agent."""


class FailedError(DragomanError):
    """The agent does not do what was expected; the text says what it does."""


class SkippedError(DragomanError):
    """There is nothing to look at; the text says why."""


class Bench:
    """One interface under test.

    Attributes:
        capabilities: those that the card declares.
        settled: the task of the first send, once that has been answered; None if there is none.
        settled_id: its id.
    """

    def __init__(
        self,
        interface: Interface,
        *,
        capabilities: object,
        text: str,
        long_text: str,
        webhook: str,
        new_id: Callable[[], str],
    ) -> None:
        """Begin.

        Args:
            text: what is sent.
            long_text: what is sent where a task is best still at work when the answer comes.
            webhook: the address that is registered.
        """
        self.interface = interface
        self.capabilities = capabilities
        self.webhook = webhook
        self.new_id = new_id
        self.settled: object = None
        self._text = text
        self._long_text = long_text
        self._running: list[str] = []
        self._configs: list[tuple[str, str]] = []

    def message(self, **members: object) -> Params:
        """Return the request of a send."""
        message: dict[str, object] = {
            "messageId": self.new_id(),
            "role": "ROLE_USER",
            "parts": [{"text": self._text}],
            **members,
        }
        return {"message": message}

    async def send(self) -> object:
        """Send a message, look at the answer, and return it.

        Raises:
            FailedError: it is no answer to a send.
        """
        return await self._send(self.message())

    async def start(self) -> str:
        """Send a message without waiting, and return the id of the task.

        Raises:
            SkippedError: the agent makes none.
        """
        message = self.message(parts=[{"text": self._long_text}])
        request = {**message, "configuration": {"returnImmediately": True}}
        task_id = text_at(await self._send(request), "task", "id")
        if not task_id:
            raise SkippedError(NO_TASK)
        return task_id

    async def result(self, operation: str, params: Params, kind: str) -> object:
        """Ask for an operation that must succeed, and return its result.

        Raises:
            FailedError: it is refused, or the result is no such object.
            SkippedError: credentials are wanted that there are none of.
        """
        return self.judged(await self.interface.call(operation, params), kind)

    def judged(self, answer: Answer, kind: str) -> object:
        """Return the result of an answer, if it is what it should be; see ``result``."""
        if answer.refusal is not None:
            self._skip_unauthorized(answer.refusal)
            raise FailedError(f"it is refused with {answer.refusal}")
        flaws = (*answer.faults, *(flaws_in(answer.result, kind) if not answer.faults else ()))
        if flaws:
            raise FailedError("; ".join(flaws))
        return answer.result

    async def refused(self, operation: str, params: Params, *names: str) -> None:
        """Ask for an operation that must be refused, by one of these names.

        Raises:
            FailedError: it is not, or by another name, or in another form.
        """
        self.judged_refusal(await self.interface.call(operation, params), *names)

    async def stream_refused(self, operation: str, params: Params, *names: str) -> None:
        """Ask for a stream that must be refused, by one of these names; see ``refused``."""
        async with aclosing(self.interface.stream(operation, params)) as answers:
            async for answer in answers:
                self.judged_refusal(answer, *names)
                return
        raise FailedError(f"the stream ends without a word, instead of with {' or '.join(names)}")

    def judged_refusal(self, answer: Answer, *names: str) -> None:
        """Look at an answer that must be a refusal; see ``refused``."""
        wanted = " or ".join(names)
        if answer.refusal is None:
            found = "; ".join(answer.faults) or "it is not refused"
            raise FailedError(f"{found}, instead of {wanted}")
        self._skip_unauthorized(answer.refusal)
        if not any(self._is(answer.refusal, name) for name in names):
            raise FailedError(f"it is refused with {answer.refusal}, instead of {wanted}")
        if answer.faults:
            raise FailedError("; ".join(answer.faults))

    async def events(self, operation: str, params: Params) -> AsyncGenerator[object]:
        """Ask for a stream and yield its events, each looked at.

        Raises:
            FailedError: it is refused, or an event is none.
        """
        async with aclosing(self.interface.stream(operation, params)) as answers:
            async for answer in answers:
                yield self.remember(self.judged(answer, "StreamResponse"))

    def remember(self, response: object) -> object:
        """Keep in mind the task of a response while it is at work."""
        task_id = text_at(response, "task", "id") or text_at(response, "statusUpdate", "taskId")
        state = text_at(response, "task", "status", "state") or text_at(
            response, "statusUpdate", "status", "state"
        )
        if state in TERMINAL and task_id in self._running:
            self._running.remove(task_id)
        elif task_id and state and state not in TERMINAL and task_id not in self._running:
            self._running.append(task_id)
        return response

    def remember_config(self, task_id: str, config_id: str) -> None:
        """Keep in mind a webhook that was made."""
        self._configs.append((task_id, config_id))

    def ended_task(self) -> object:
        """Return the task of the first send, which has ended.

        Raises:
            SkippedError: there is none, or it waits for something.
        """
        if self.settled is None:
            raise SkippedError(NO_TASK)
        if at(self.settled, "status", "state") not in TERMINAL:
            raise SkippedError("the task waits for an answer, and has not ended")
        return self.settled

    async def tidy(self) -> None:
        """Delete the webhooks and cancel the tasks that are left; what fails is let be."""
        for task_id, config_id in self._configs:
            await self._put_away(
                "DeleteTaskPushNotificationConfig", {"taskId": task_id, "id": config_id}
            )
        for task_id in self._running:
            await self._put_away("CancelTask", {"id": task_id})
        self._configs.clear()
        self._running.clear()

    async def _send(self, request: Params) -> object:
        return self.remember(await self.result("SendMessage", request, "SendMessageResponse"))

    async def _put_away(self, operation: str, params: Params) -> None:
        with suppress(NoAnswerError, TimeoutError):
            async with asyncio.timeout(_TIDY_SECONDS):
                await self.interface.call(operation, params)

    def _is(self, refusal: Refusal, name: str) -> bool:
        if refusal.name:
            return refusal.name == name
        # Errors that are not A2A's own need no ErrorInfo: their code has to do.
        code = getattr(ERRORS[name], _FORMS[self.interface.binding])
        return name not in _NAMED_BY_A2A and refusal.code == code

    def _skip_unauthorized(self, refusal: Refusal) -> None:
        codes = _AUTH_CODES.get(self.interface.binding, ())
        if refusal.name in _AUTH or refusal.code in codes:
            raise SkippedError(f"the agent wants other credentials: {refusal}")
