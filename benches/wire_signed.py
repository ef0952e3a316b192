"""The echo of the benchmark, signed: the same bytes with three headers more.

Each request is signed when it is sent, which takes the generator a seventh of a millisecond.
"""

from hashlib import sha256
from typing import Final

from benches import wire
from benches.load import Check, Request
from dragoman.clock import SystemClock
from dragoman.extensions.xpr.keys import PrivateKey
from dragoman.extensions.xpr.signing import sign_request

__all__ = ("ACCOUNT", "KEY", "echo")

ACCOUNT: Final = "bench"
KEY: Final = PrivateKey("K1", sha256(b"a key that is good for benchmarks alone").digest())

_END: Final = b"\r\n\r\n"


def echo() -> tuple[Request, Check]:
    """SendMessage of an echo over JSON-RPC, signed."""
    plain, check = wire.echo_jsonrpc()
    clock = SystemClock()

    def signed(number: int) -> bytes:
        head, _, body = plain(number).partition(_END)
        headers = sign_request(KEY, ACCOUNT, clock.now_ms() // 1000, body)
        lines = [f"{name}: {value}".encode() for name, value in headers.items()]
        return b"\r\n".join((head, *lines)) + _END + body

    return signed, check
