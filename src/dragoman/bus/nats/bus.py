"""NatsBus: hints over NATS. Each task has a subject, and a replica asks for those it follows.

So a hint reaches only the replicas where somebody follows the task, and NATS drops it if there are
none. What nobody follows costs one small message to the server; what a replica hears grows with
what it follows and not with what the others do.

nats-py's own reconnecting is not used: it gives up for good on several errors that pass, such as a
server at its limit of connections. RemoteBus makes the next connection.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription

from dragoman.bus.base import Hint, InboxFilled, Spent, TaskMoved, WorkReleased
from dragoman.bus.nats.address import NatsAddress, parse_nats_address
from dragoman.bus.nats.nkeys import NKey
from dragoman.bus.outgoing import Hints
from dragoman.bus.remote import ANSWER_SECONDS, RemoteBus

__all__ = (
    "HintClient",
    "NatsBus",
)


_logger = logging.getLogger(__name__)


CONNECT_SECONDS: Final = 2.0
"""How long one server of a cluster may take to answer before the next is tried."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
"""Ids that are a token of a subject as they are, which those of our own making all are."""

_NUMBER: Final = re.compile(rb"[0-9]{1,18}")
"""What we send. Python refuses to read a number of thousands of digits, and that would end what
reads the connection."""


class NatsBus(RemoteBus):
    """A bus on a NATS server or cluster.

    Args:
        url: see ``parse_nats_address``; raises UsageError as that does.
    """

    def __init__(self, url: str) -> None:
        self._address = parse_nats_address(url)
        # Servers of the cluster that its servers have told of: these may be gone when one of those
        # is still there.
        self._told: tuple[str, ...] = ()
        super().__init__("bus on NATS", self._line)

    async def _line(
        self, replica_id: str, hear: Callable[[Hint], None], lost: Callable[[], None]
    ) -> _NatsLine:
        servers = list(self._address.servers)
        # Replicas spread over the cluster.
        random.shuffle(servers)
        failures: list[str] = []
        for server in (*servers, *(told for told in self._told if told not in servers)):
            line = _NatsLine(self._address, replica_id, hear)
            try:
                await line.connect(server, lost)
            except (OSError, ValueError) as error:
                failures.append(f"{urlsplit(server).netloc}: {error or type(error).__name__}")
                continue
            self._told = line.told or self._told
            return line
        # In one order, whatever the order of the tries: what is said once is not said again.
        raise ConnectionError("; ".join(sorted(failures)))


class _NatsLine:
    """One connection, to one server.

    Subjects, with the prefix of the deployment:

    - ``dragoman.<prefix>.task.<id>``: TaskMoved, the content is the number;
    - ``dragoman.<prefix>.replica.<id>``: InboxFilled for one replica, the content is the task;
    - ``dragoman.<prefix>.replicas``: the same for all, or WorkReleased when it is empty;
    - ``dragoman.<prefix>.spent``: Spent, the content is the number and the allowance.
    """

    def __init__(self, address: NatsAddress, replica_id: str, hear: Callable[[Hint], None]) -> None:
        self._address = address
        self._replica_id = replica_id
        self._hear = hear
        root = f"dragoman.{address.prefix}"
        self._task = f"{root}.task."
        self._replica = f"{root}.replica."
        self._own = self._replica + _token(replica_id)
        self._all = f"{root}.replicas"
        self._spent = f"{root}.spent"
        self._followed: dict[str, Subscription] = {}

    async def connect(self, server: str, lost: Callable[[], None]) -> None:
        """Connect, and hear what is meant for the replica. Raises OSError or ValueError."""
        address = self._address
        jwt, nkey = address.read_identity() or ("", None)
        self._client = HintClient(self._take, nkey=None if jwt else nkey, is_tls=address.is_tls)
        is_up = False

        async def closed() -> None:
            if is_up:
                lost()

        try:
            with _as_os_errors():
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self._client.connect(
                        [server],
                        name="dragoman",
                        allow_reconnect=False,
                        # Not none at all, which would mean without end.
                        max_reconnect_attempts=1,
                        reconnect_time_wait=0,
                        error_cb=_note_error,
                        closed_cb=closed,
                        no_echo=True,
                        tls=address.tls_context(),
                        user=address.user or None,
                        password=address.password or None,
                        token=address.token or None,
                        signature_cb=nkey.sign if nkey else None,
                        user_jwt_cb=(lambda: bytearray(jwt.encode())) if jwt else None,
                    )
                    for subject in (self._own, self._all, self._spent):
                        await self._subscribe(subject)
                    # Only now is it known that the server has taken them all.
                    await self.probe()
        except BaseException:
            await self.close()
            raise
        is_up = True

    @property
    def told(self) -> tuple[str, ...]:
        """The servers of the cluster that this one knows of."""
        if self._address.is_tls:
            # They come as numbers, for which no certificate speaks.
            return ()
        return tuple(server.geturl() for server in self._client.discovered_servers)

    async def follow(self, task_id: str) -> None:
        """Subscribe to a task, unless that is done."""
        if task_id not in self._followed:
            with _as_os_errors():
                self._followed[task_id] = await self._subscribe(self._task + _token(task_id))

    async def unfollow(self, task_id: str) -> None:
        """Unsubscribe."""
        subscription = self._followed.pop(task_id, None)
        if subscription is not None:
            with _as_os_errors():
                await subscription.unsubscribe()

    async def send(self, hints: Hints) -> None:
        """Publish each hint to those whom it concerns."""
        if not self._client.is_connected:
            raise ConnectionError("closed by the server")
        publish = self._client.publish
        with _as_os_errors():
            for task_id, seq in hints.moved.items():
                await publish(self._task + _token(task_id), b"%d" % seq)
            for hint in hints.filled:
                to = self._replica + _token(hint.holder) if hint.holder else self._all
                await publish(to, hint.task_id.encode())
            if hints.is_released:
                await publish(self._all)
            for allowance, units in hints.spent.items():
                await publish(self._spent, b"%d %b" % (units, allowance.encode()))

    async def probe(self) -> None:
        """Have the server answer a ping."""
        with _as_os_errors():
            await self._client.flush(timeout=round(ANSWER_SECONDS))

    async def close(self) -> None:
        """Close, as far as there is anything to close."""
        with suppress(OSError), _as_os_errors():
            async with asyncio.timeout(1):
                await self._client.close()

    async def _subscribe(self, subject: str) -> Subscription:
        # No callback: HintClient has one for all.
        return await self._client.subscribe(subject)  # type: ignore[no-untyped-call] - a part of its types is missing

    def _take(self, subject: str, content: bytes) -> None:
        if subject.startswith(self._task):
            if _NUMBER.fullmatch(content):
                self._hear(TaskMoved(unquote(subject[len(self._task) :]), int(content)))
        elif subject == self._spent:
            units, _, allowance = content.partition(b" ")
            if _NUMBER.fullmatch(units):
                self._hear(Spent(allowance.decode(errors="replace"), int(units)))
        elif not content:
            self._hear(WorkReleased())
        else:
            holder = self._replica_id if subject == self._own else ""
            self._hear(InboxFilled(content.decode(errors="replace"), holder))


async def _note_error(error: Exception) -> None:
    """Log what the server complains about while the connection stays: mostly permissions."""
    if "permissions" in str(error).lower():
        _logger.warning("bus on NATS: %s", error)


@contextmanager
def _as_os_errors() -> Generator[None]:
    """Turn what nats-py raises into what a Line may."""
    try:
        yield
    except nats.errors.Error as error:
        raise ConnectionError(str(error).removeprefix("nats: ")) from error
    except RuntimeError as error:
        # So says uvloop of a connection that was closed just before.
        raise ConnectionError(str(error)) from error


def _token(text: str) -> str:
    """Return an id as one token of a subject."""
    if _PLAIN.fullmatch(text):
        return text
    # What quote leaves alone although it parts tokens.
    return quote(text, safe="").replace(".", "%2E")


class HintClient(Client):
    """nats-py's client, which gives every message to one function.

    It is changed in four places that it offers no setting for. So it builds on the insides of
    nats-py, which is why that is pinned to a minor version. The contract of the bus fails when one
    of these methods is not called any more.

    Args:
        take: called with the subject and the content of each message.
        nkey: the key to show without a JWT. nats-py would take another library to sign with, while
            the one we have for everything else can do it.
        is_tls: say nothing about ourselves to a server that does not encrypt. nats-py would send
            the password in the clear if somebody on the way took the offer of TLS out.
    """

    def __init__(
        self, take: Callable[[str, bytes], None], *, nkey: NKey | None, is_tls: bool
    ) -> None:
        super().__init__()
        self._take = take
        self._is_tls = is_tls
        self._is_leaving = False
        self._public_nkey = nkey.public if nkey is not None else None

    def _connect_command(self) -> bytes:
        if self._is_tls and not self._server_info.get("tls_required"):
            raise nats.errors.Error("the server does not offer TLS, which tls:// demands")
        return super()._connect_command()

    async def close(self) -> None:
        """Send what is pending and disconnect; raises RuntimeError or OSError if that fails."""
        self._is_leaving = True
        await super().close()

    async def _close(self, status: int, do_cbs: bool = True) -> None:  # noqa: FBT001, FBT002 - as it is there
        if not self._is_leaving:
            # The connection is lost, or the server has had enough of it. To send what is pending
            # fails then, and after that failure nats-py would tell nobody of the loss.
            self._pending = []
            self._pending_data_size = 0
        await super()._close(status, do_cbs)

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        # In place of a queue and a task for each subscription: there are as many as followed tasks,
        # and a hint is dealt with at once.
        if sid in self._subs:
            self._take(bytes(subject).decode(), bytes(data))
