"""The client of NATS, changed in four places that it offers no setting for.

It builds on the insides of nats-py, which is why that is pinned to a minor version. The contract of
the bus fails when one of these methods is not called any more.
"""

from __future__ import annotations

from collections.abc import Callable

import nats.errors
from nats.aio.client import Client

from dragoman.bus.nkeys import NKey

__all__ = ("HintClient",)


class HintClient(Client):
    """A client that gives every message to one function.

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
