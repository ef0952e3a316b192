"""An interface that answers as a test says, and the bench on which checks are run with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from itertools import count
from typing import Any

from dragoman.conformance.answers import ERRORS, Answer, Refusal
from dragoman.conformance.bench import Bench, FailedError, SkippedError
from dragoman.conformance.checks import Check
from dragoman.conformance.interface import Params

__all__ = ("ScriptedInterface", "bench_with", "outcome_of", "refused", "task")

Reply = Answer | list[Answer] | Callable[[Params], Answer]


def task(state: str = "COMPLETED", **members: object) -> dict[str, Any]:
    """Return a task."""
    return {
        "id": "t-1",
        "contextId": "c-1",
        "status": {"state": f"TASK_STATE_{state}"},
        **members,
    }


def refused(name: str) -> Answer:
    """Return an error as JSON-RPC has it."""
    return Answer(refusal=Refusal(name=name, code=ERRORS[name].jsonrpc, message="No."))


class ScriptedInterface:
    """Answers by operation; what it has no answer for is a task that is not found."""

    def __init__(self, binding: str = "JSONRPC", version: str = "1.0", **answers: Reply) -> None:
        self.binding = binding
        self.version = version
        self.answers = answers
        self.asked: list[tuple[str, Params]] = []

    async def call(self, operation: str, params: Params, *, version: str | None = None) -> Answer:
        """Answer with the first, or the only, answer there is."""
        if version is not None:
            self.answers.setdefault("other_version", refused("VersionNotSupportedError"))
            operation = "other_version"
        return self._found(operation, params)[0]

    async def stream(self, operation: str, params: Params) -> AsyncGenerator[Answer]:
        """Answer with all answers there are."""
        for answer in self._found(operation, params):
            yield answer

    async def call_unknown(self) -> Answer:
        """Answer what stands under ``unknown``."""
        return self._found("unknown", {})[0]

    async def send_garbage(self) -> Answer:
        """Answer what stands under ``garbage``."""
        return self._found("garbage", {})[0]

    def _found(self, operation: str, params: Params) -> list[Answer]:
        self.asked.append((operation, params))
        found = self.answers.get(operation, refused("TaskNotFoundError"))
        if callable(found):
            return [found(params)]
        return found if isinstance(found, list) else [found]


def bench_with(interface: ScriptedInterface, **capabilities: bool) -> Bench:
    """Return a bench; its ids are m-1, m-2 and so on."""
    numbers = count(1)
    return Bench(
        interface,
        capabilities=capabilities,
        text="Hello",
        long_text="Work",
        webhook="https://me.example/hook",
        new_id=lambda: f"m-{next(numbers)}",
    )


async def outcome_of(check: Check, bench: Bench) -> str:
    """Run a check: "" if it passes, otherwise what it says."""
    try:
        await check.run(bench)
    except FailedError as problem:
        return f"failed: {problem}"
    except SkippedError as problem:
        return f"skipped: {problem}"
    return ""
