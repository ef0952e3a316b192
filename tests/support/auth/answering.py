"""A server and a clock of a test's own making.

The server answers what it was told to and remembers what it was asked. The clock keeps nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias
from urllib.parse import parse_qsl

import httpx2

from dragoman.testing.clock import FakeClock

__all__ = ("Answer", "Answering", "Asked", "HurriedClock")

Answer: TypeAlias = (
    Mapping[str, object] | tuple[int, Mapping[str, object]] | httpx2.Response | Exception
)
"""A JSON object, one with a status of its own, anything else, or none at all."""


class Asked(NamedTuple):
    """One request."""

    method: str
    url: str
    form: dict[str, str]
    authorization: str


class Answering:
    """Gives its answers one after the other; ``http`` is a client that talks to it alone."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))

    @property
    def forms(self) -> list[dict[str, str]]:
        return [asked.form for asked in self.asked]

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        form = dict(parse_qsl(request.content.decode()))
        authorization = request.headers.get("Authorization", "")
        self.asked.append(Asked(request.method, str(request.url), form, authorization))
        match self.answers.pop(0):
            case Exception() as error:
                raise error
            case httpx2.Response() as response:
                return response
            case (status, body):
                return httpx2.Response(status, json=body)
            case body:
                return httpx2.Response(200, json=body)


class HurriedClock(FakeClock):
    """A clock on which no sleep takes any time."""

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
