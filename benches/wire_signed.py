"""The echo of the benchmark, signed: the same bytes with three headers more.

They are signed before they are sent. To sign one takes the generator a seventh of a millisecond:
the server would wait for each, and wake up for every single request.
"""

from hashlib import sha256
from typing import Final

from benches import wire
from benches.load import Check, Request
from dragoman.clock import SystemClock
from dragoman.extensions.xpr.crypto.keys import PrivateKey
from dragoman.extensions.xpr.signing import sign_request

__all__ = ("ACCOUNT", "KEY", "echo")

ACCOUNT: Final = "bench"
KEY: Final = PrivateKey("K1", sha256(b"a key that is good for benchmarks alone").digest())

_END: Final = b"\r\n\r\n"


def echo(count: int) -> tuple[Request, Check]:
    """So many SendMessages of an echo over JSON-RPC, each signed."""
    plain, check = wire.echo_jsonrpc()
    seconds = SystemClock().now_ms() // 1000
    signed = [_signed(plain(number), seconds) for number in range(count)]
    return signed.__getitem__, check


def _signed(request: bytes, seconds: int) -> bytes:
    head, _, body = request.partition(_END)
    headers = sign_request(KEY, ACCOUNT, seconds, body)
    lines = [f"{name}: {value}".encode() for name, value in headers.items()]
    return b"\r\n".join((head, *lines)) + _END + body
