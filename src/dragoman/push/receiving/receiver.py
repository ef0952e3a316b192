"""Receiver: the webhook of a client, as an ASGI application.

Agents deliver at least once and in the order of their own choice (R-4.3.3-8, R-4.3.3-9). A
receiver checks who is calling, takes every notification once, and passes them on as they came.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Container, Mapping
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

import httpx2

from dragoman.auth.cards.jws import ALGORITHMS
from dragoman.auth.shared.issuer_keys import IssuerKeys
from dragoman.clock import Clock, SystemClock
from dragoman.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    MethodNotAllowedError,
    PermissionDeniedError,
    TaskNotFoundError,
    UnavailableError,
    UsageError,
)
from dragoman.model.push import AuthenticationInfo
from dragoman.push.headers import ID_HEADER
from dragoman.push.hmac_signing import read_secret
from dragoman.push.jwt_signing import OWN_CLAIMS, Claims, JwtRules
from dragoman.push.receiving.exchange import DisconnectedError, Exchange, Receive, Scope, Send
from dragoman.push.receiving.notification import Notification, read_notification
from dragoman.push.receiving.verification import Proof, Verifier
from dragoman.push.registration import VALIDATION

__all__ = (
    "NotificationQueue",
    "Receiver",
    "Seen",
    "Verdict",
)


_logger = logging.getLogger(__name__)


Secrets: TypeAlias = str | tuple[str, ...]
"""One secret, or several any of which is good while they are being changed."""

OnNotification: TypeAlias = Callable[[Notification], Awaitable[None]]

_MAX_BODY_BYTES: Final = 1024 * 1024
"""A whole task with its artifacts, as agents before 1.0 send it, is seldom beyond 100 KiB."""

_MOST_WAITING: Final = 1000
_REMEMBERED_SECONDS: Final = 24 * 3600
"""Agents that try again for long do so for hours; a signature is good for minutes."""

_MOST_REMEMBERED: Final = 65_536
"""Marks of about 200 bytes: some 13 MiB."""

_MOST_ID_CHARACTERS: Final = 256
_MOST_VALIDATION_CHARACTERS: Final = 512


T = TypeVar("T")


class Receiver:
    """Takes notifications and hands them out, each once.

    With ``on_notification``, an agent is told that its notification was taken (2xx) when that
    function has returned; if it raises, the agent is told so and may try again. Without it,
    iterate over the receiver: then it is told when the notification waits in memory for its turn.
    What must survive the end of the process is for ``on_notification`` to keep.

    It answers at whatever path it is mounted. Everything it is told to ask for must be shown by
    whoever calls, and it refuses to be told nothing, unless ``allow_anonymous``.

    Args:
        token: the token of the webhook, or several.
        authentication: the credentials that the webhook is registered with.
        hmac_secret: ask for an HMAC made with this secret (Standard Webhooks), or one of several.
        keys: ask for a JWT signed with a key of this set (JWKS), data or a file.
        jwks: the same with the set at this URL, https or on this machine; it is fetched when it is
            needed, kept for minutes, and fetched anew when a key is missing in it.
        url: the address of the webhook as it is registered: the audience of JWTs.
        algorithms: with which JWTs may be signed.
        required_claims: which JWTs must have; what they have is checked in any case. Give
            ``("request_body_sha256",)`` for agents of the 0.1 reference.
        tasks: the tasks that notifications may be about (R-4.3.3-6); None leaves that to you.
        max_waiting: how many notifications may wait, or be worked on, at the same time.

    Raises:
        UsageError: the options make no sense, a secret is too weak, or keys cannot be read.
    """

    def __init__(
        self,
        on_notification: OnNotification | None = None,
        *,
        token: Secrets = (),
        authentication: AuthenticationInfo | None = None,
        hmac_secret: Secrets = (),
        keys: Mapping[str, object] | str | Path | None = None,
        jwks: str = "",
        url: str = "",
        algorithms: Collection[str] = ALGORITHMS,
        required_claims: tuple[str, ...] = OWN_CLAIMS,
        tasks: Container[str] | None = None,
        allow_anonymous: bool = False,
        max_body_bytes: int = _MAX_BODY_BYTES,
        max_waiting: int = _MOST_WAITING,
        http: httpx2.AsyncClient | None = None,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or SystemClock()
        has_jwts = keys is not None or bool(jwks)
        if has_jwts and not url and "aud" in required_claims:
            raise UsageError("url is missing: JWTs name the webhook that they are for")
        _check_among("algorithms", algorithms, ALGORITHMS)
        _check_among("required_claims", required_claims, Claims.__struct_encode_fields__)
        if authentication is not None and not authentication.credentials:
            raise UsageError("authentication.credentials must not be empty")
        self._verifier = Verifier(
            tokens=_several("token", token),
            authentication=authentication,
            secrets=tuple(map(read_secret, _several("hmac_secret", hmac_secret))),
            keys=IssuerKeys(keys=keys, url=jwks, whose="the sender", http=http, clock=clock)
            if has_jwts
            else None,
            rules=JwtRules(
                audience=url, algorithms=frozenset(algorithms), required=required_claims
            ),
            clock=clock,
        )
        if not self._verifier.asks_for_anything and not allow_anonymous:
            raise UsageError(
                "a receiver that asks for nothing believes everybody: give it a token, "
                "authentication, hmac_secret, keys or jwks, or say allow_anonymous=True"
            )
        self._tasks = tasks
        self._max_body_bytes = max_body_bytes
        self._max_waiting = max_waiting
        self._on_notification = on_notification
        self._at_work = 0
        self._inbox: NotificationQueue[Notification] = NotificationQueue(max_waiting)
        self._seen = Seen(seconds=_REMEMBERED_SECONDS, most=_MOST_REMEMBERED, clock=clock)

    def __aiter__(self) -> AsyncIterator[Notification]:
        """Hand out notifications as they come, until the receiver is closed and none waits."""
        if self._on_notification is not None:
            raise UsageError("this receiver hands its notifications to on_notification")
        return aiter(self._inbox)

    def close(self) -> None:
        """Take no more notifications (503); those that wait are still handed out."""
        self._inbox.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "http":
            exchange = Exchange(scope, receive, send)
            try:
                await self._answer(exchange)
            except DisconnectedError:
                _logger.debug("a sender left before its notification was read")
            except A2AError as error:
                _logger.info("a notification was refused: %s", error)
                await exchange.refuse(error)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event = (await receive())["type"]
            if event == "lifespan.shutdown":
                self.close()
            await send({"type": f"{event}.complete"})
            if event == "lifespan.shutdown":
                return

    async def _answer(self, exchange: Exchange) -> None:
        validation = exchange.query(VALIDATION)
        if exchange.method == "GET" and validation is not None:
            # 0.x reference, 2.7: agents ask so whether somebody here wants to be told.
            _check_validation(validation)
            await exchange.reply(200, validation.encode(), "text/plain; charset=utf-8")
            return
        if exchange.method != "POST":
            raise MethodNotAllowedError(("POST",), "Notifications come by POST")
        exchange.check_type()
        self._verifier.check_headers(exchange.headers)
        body = await exchange.read_body(self._max_body_bytes)
        proof = await self._verifier.check_body(exchange.headers, body)
        notification = self._read(exchange, proof)
        await self._take_once(notification, _marks(notification, proof))
        # R-4.3.3-4: any 2xx says that it has come.
        await exchange.reply(204)

    def _read(self, exchange: Exchange, proof: Proof) -> Notification:
        name = exchange.headers.get(ID_HEADER, "")
        if len(name) > _MOST_ID_CHARACTERS:
            raise InvalidParamsError.of(
                ID_HEADER, f"has more than {_MOST_ID_CHARACTERS} characters"
            )
        notification = read_notification(proof.body, notification_id=name or proof.jti)
        task_id = notification.task_id
        if proof.task_id and proof.task_id != task_id:
            raise PermissionDeniedError("The JWT is about another task (taskId)")
        if self._tasks is not None and task_id not in self._tasks:
            raise TaskNotFoundError(task_id)
        return notification

    async def _take_once(self, notification: Notification, marks: Mapping[str, str]) -> None:
        match self._seen.begin(marks):
            case Verdict.REPEATED:
                # R-4.3.3-5: an honest retry; its sender has missed our answer.
                return
            case Verdict.PENDING:
                raise UnavailableError("This notification is being taken right now")
            case Verdict.MISUSED:
                # R-T.str-12: what was shown for one notification is no proof of another.
                raise PermissionDeniedError("The id or the JWT was used for another notification")
            case Verdict.NEW:
                pass
        try:
            await self._take(notification)
        except BaseException:
            self._seen.drop(marks)
            raise
        self._seen.keep(marks)

    async def _take(self, notification: Notification) -> None:
        if self._on_notification is None:
            if not self._inbox.offer(notification):
                raise UnavailableError("Too many notifications wait here, or none is taken now")
            return
        if self._inbox.is_closed or self._at_work >= self._max_waiting:
            raise UnavailableError("Too many notifications are worked on here")
        self._at_work += 1
        try:
            await self._on_notification(notification)
        except A2AError:
            raise
        except Exception as problem:
            _logger.exception("a notification of task %s was not taken", notification.task_id)
            raise InternalError("The notification was not taken") from problem
        finally:
            self._at_work -= 1


def _marks(notification: Notification, proof: Proof) -> dict[str, str]:
    """Return by what a notification is known again, and what that stands for."""
    digest = sha256(proof.body).hexdigest()
    marks: dict[str, str] = {}
    if notification.id:
        marks[f"id {notification.id}"] = digest
    if proof.jti:
        marks[f"jti {proof.jti}"] = f"{notification.id} {digest}"
    if not marks and notification.status is not None and notification.status.timestamp:
        # Without a name, what says the same of the same moment is the same. Chunks of an artifact
        # have no time, and may well be equal.
        marks[f"body {digest}"] = digest
    return marks


def _several(name: str, secrets: Secrets) -> tuple[str, ...]:
    several = (secrets,) if isinstance(secrets, str) else secrets
    if not all(several):
        raise UsageError(f"{name} must not be empty")
    return several


def _check_among(name: str, values: Collection[str], known: Collection[str]) -> None:
    if not set(values) <= set(known):
        raise UsageError(f"{name} must be among {', '.join(sorted(known))}")


def _check_validation(text: str) -> None:
    if len(text) > _MOST_VALIDATION_CHARACTERS or not text.isprintable():
        raise InvalidParamsError.of(
            VALIDATION, f"must be printable, with at most {_MOST_VALIDATION_CHARACTERS} characters"
        )


class NotificationQueue(Generic[T]):
    """A bounded queue that can be closed; what was put in before is still handed out.

    Items come in the order in which they were put in. Belongs to one event loop.
    """

    def __init__(self, most: int) -> None:
        """Begin empty; ``most`` items may wait."""
        self._most = most
        self._items: deque[T] = deque()
        self._news = asyncio.Event()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Tell whether nothing more is taken."""
        return self._is_closed

    def offer(self, item: T) -> bool:
        """Take an item; False if there is no room for it, or the queue is closed."""
        if self._is_closed or len(self._items) >= self._most:
            return False
        self._items.append(item)
        self._news.set()
        return True

    def close(self) -> None:
        """Take nothing more; who waits is told when everything was handed out."""
        self._is_closed = True
        self._news.set()

    def __aiter__(self) -> NotificationQueue[T]:
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self._is_closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._items.popleft()


class Verdict(Enum):
    """What is known of some marks."""

    NEW = "new"
    PENDING = "pending"
    REPEATED = "repeated"
    MISUSED = "misused"


class Seen:
    """Which notifications have come already, so that none is taken twice.

    A notification goes by marks, each with what it stands for: its id, and the id of its JWT, stand
    for its body. The same mark with the same meaning is a retry; with another meaning it is
    misused. The memory is bounded; the oldest marks are forgotten first.

    Only those who have shown who they are get marks in here: nobody else can have it forget.
    """

    def __init__(self, *, seconds: float, most: int, clock: Clock) -> None:
        """Remember marks for so long, and at most so many."""
        self._window_ms = round(seconds * 1000)
        self._most = most
        self._clock = clock
        self._pending: dict[str, str] = {}
        # In the order of time, since all are kept equally long.
        self._kept: dict[str, tuple[str, int]] = {}

    def begin(self, marks: Mapping[str, str]) -> Verdict:
        """Look at some marks; if they are new, they are pending until ``keep`` or ``drop``."""
        self._forget()
        known = {mark: meaning for mark in marks if (meaning := self._meaning(mark)) is not None}
        if any(marks[mark] != meaning for mark, meaning in known.items()):
            return Verdict.MISUSED
        if any(mark in self._pending for mark in known):
            return Verdict.PENDING
        if known:
            return Verdict.REPEATED
        self._pending.update(marks)
        return Verdict.NEW

    def keep(self, marks: Mapping[str, str]) -> None:
        """Remember marks whose notification was taken."""
        self.drop(marks)
        until_ms = self._clock.now_ms() + self._window_ms
        for mark, meaning in marks.items():
            self._kept[mark] = (meaning, until_ms)
        self._forget()

    def drop(self, marks: Mapping[str, str]) -> None:
        """Forget marks whose notification was not taken: it may come again."""
        for mark in marks:
            self._pending.pop(mark, None)

    def _meaning(self, mark: str) -> str | None:
        pending = self._pending.get(mark)
        return pending if pending is not None else self._kept.get(mark, (None,))[0]

    def _forget(self) -> None:
        now_ms = self._clock.now_ms()
        while self._kept:
            oldest = next(iter(self._kept))
            if len(self._kept) <= self._most and self._kept[oldest][1] > now_ms:
                return
            del self._kept[oldest]
