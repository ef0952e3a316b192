"""What is said over HTTP/1.1: JSON-RPC and HTTP+JSON of every version, and what is no HTTP."""

from __future__ import annotations

import json
from random import Random
from typing import Final, NamedTuple

from tests.fuzz.guard.callers import Callers, Header
from tests.fuzz.guard.mutation import bent, in_pieces, odd_headers, reshaped
from tests.fuzz.guard.talks import Talk
from tests.fuzz.test_old_bodies import METHODS, ROUTES
from tests.fuzz.test_wire_fuzz import CALLS, JSON_TYPE, PATHS, POSTS
from tests.support.wire import Json

__all__ = ("DOORS", "Http1Talks")


class _Request(NamedTuple):
    """A request that an agent takes."""

    method: str
    path: str
    version: bytes
    value: Json | None = None


def _rpc(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


_ONLY_0_1: Final = ("tasks/send", "tasks/sendSubscribe", "tasks/pushNotification/set")
_QUERIES: Final = ("", "?pageSize=2&status=TASK_STATE_COMPLETED", "?pageSize=x", "?%ff=%00&a=b&a")
DOORS: Final[dict[str, tuple[_Request, ...]]] = {
    "JSON-RPC 1.0": tuple(
        _Request("POST", "/", b"1.0", _rpc(name, params)) for name, params in CALLS.items()
    ),
    "JSON-RPC 0.3": tuple(
        _Request("POST", "/", b"0.3", _rpc(name, params))
        for name, params in METHODS.items()
        if name not in _ONLY_0_1
    ),
    "JSON-RPC 0.1": tuple(
        _Request("POST", "/", b"", _rpc(name, METHODS[name])) for name in _ONLY_0_1
    ),
    "HTTP+JSON 1.0": (
        *(_Request("POST", path, b"1.0", value) for path, value in POSTS.items()),
        *(_Request("GET", path + query, b"1.0") for path in PATHS for query in _QUERIES),
        _Request("DELETE", "/tasks/t-1/pushNotificationConfigs/p-1", b"1.0"),
        _Request("HEAD", "/tasks", b"1.0"),
        _Request("OPTIONS", "/message:send", b"1.0"),
    ),
    "HTTP+JSON 0.3": (
        *(
            _Request("POST", path, b"0.3", value)
            for path, values in ROUTES.items()
            for value in values
        ),
        _Request("GET", "/v1/tasks/t-1?historyLength=1", b"0.3"),
        _Request("GET", "/v1/tasks", b"0.3"),
        _Request("GET", "/v1/card", b"0.3"),
        _Request("DELETE", "/v1/tasks/t-1/pushNotificationConfigs/p-1", b"0.3"),
    ),
}
"""What may be asked, by the words it is asked in."""

_ADDRESSES: Final = 3_000
"""From so many callers seem to come: a proxy that is trusted says so."""


class Http1Talks:
    """Makes talks."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    def talk(self, door: str, chance: Random) -> Talk:
        """Return up to three requests on one connection, something wrong with most of them."""
        requests = [self._request(door, chance) for _ in range(chance.randint(1, 3))]
        # Who is done closes, and so does the server.
        written = [
            _written(request, headers, body, closes=place == len(requests))
            for place, (request, headers, body, _) in enumerate(requests, start=1)
        ]
        pieces = [b"".join(written)]
        if chance.random() < 0.1:
            pieces = in_pieces(pieces[0], chance)
        what = ", ".join(change for *_, change in requests)
        return Talk(door, what, pieces, is_whole=True, asked=[one[0].method for one in requests])

    def raw_talk(self, chance: Random) -> Talk:
        """Return a request whose bytes or framing are wrong; it may have any answer, or none."""
        door = chance.choice(list(DOORS))
        request = chance.choice([one for one in DOORS[door] if one.method in ("GET", "POST")])
        headers = self._headers(request, chance)
        body = _body(request, chance)
        if chance.random() < 0.4:
            what, raw = _misframed(request, headers, body, chance)
        else:
            what, raw = "bytes", bent(_written(request, headers, body, closes=True), chance)
        pieces = in_pieces(raw, chance) if chance.random() < 0.3 else [raw]
        return Talk("HTTP/1.1", what, pieces, is_whole=False)

    def stalled_talk(self, chance: Random) -> Talk:
        """Return the beginning of a request that does not go on."""
        request = chance.choice(DOORS["JSON-RPC 1.0"])
        raw = _written(request, self._headers(request, chance), _body(request, chance), closes=True)
        cut = chance.randrange(len(raw) - 1)
        return Talk("HTTP/1.1", "stall", [raw[:cut]], is_whole=False, is_stalled=True)

    def _request(self, door: str, chance: Random) -> tuple[_Request, list[Header], bytes, str]:
        request = chance.choice(DOORS[door])
        body = _body(request, chance)
        headers = self._headers(request, chance)
        change = chance.choice(("nothing", "bytes", "shape", "shape", "headers"))
        if change == "headers":
            headers += odd_headers(chance)
            chance.shuffle(headers)
        elif change == "bytes":
            body = bent(body, chance)
        elif change == "shape" and request.value is not None:
            body = _fresh(reshaped(request.value, chance), chance)
        return request, headers, body, change

    def _headers(self, request: _Request, chance: Random) -> list[Header]:
        headers = self._callers.any(chance)
        if request.value is not None and chance.random() < 0.97:
            headers.append(JSON_TYPE)
        if request.version and chance.random() < 0.95:
            headers.append((b"A2A-Version", request.version))
        if chance.random() < 0.9:
            number = chance.randrange(_ADDRESSES)
            address = b"10.1.%d.%d" % divmod(number, 250)
            headers.append((b"X-Forwarded-For", address))
        return headers


def _body(request: _Request, chance: Random) -> bytes:
    return b"" if request.value is None else _fresh(json.dumps(request.value).encode(), chance)


def _fresh(body: bytes, chance: Random) -> bytes:
    """Give a message and a task names of their own, most of the time."""
    if chance.random() < 0.8:
        number = chance.getrandbits(40)
        body = body.replace(b'"m-1"', b'"m-%d"' % number).replace(b'"mine"', b'"t-%d"' % number)
    return body


def _written(request: _Request, headers: list[Header], body: bytes, *, closes: bool) -> bytes:
    return _framed(request, [*headers, (b"Content-Length", b"%d" % len(body))], body, closes=closes)


def _framed(
    request: _Request,
    headers: list[Header],
    body: bytes,
    *,
    closes: bool = True,
    start: bytes = b"%b %b HTTP/1.1",
) -> bytes:
    lines = [
        start % (request.method.encode(), request.path.encode()),
        b"Host: 127.0.0.1",
        *([b"Connection: close"] if closes else []),
        *(b"%b: %b" % header for header in headers),
    ]
    return b"\r\n".join([*lines, b"", body])


_LENGTHS: Final = (b"-1", b"+5", b"5, 5", b"0x5", b" 7 ", b"", b"9" * 30, b"1e3", b"5\t")
_CHUNKS: Final = (
    b"zz\r\nab\r\n0\r\n\r\n", b"-1\r\n\r\n", b"ffffffffffffffffff\r\nab\r\n", b"0\r\n",
    b"2\r\nabc\r\n0\r\n\r\n", b"2 \r\nab\r\n0\r\n\r\n", b"2;x=y\r\nab\r\n0\r\n\r\n",
    b"2\nab\n0\n\n", b"2\r\nab0\r\n\r\n", b"2\r\nab\r\n0\r\nX: y\r\n\r\n",
    b"2\r\nab\r\n0\r\n" + b"X: y\r\n" * 2000 + b"\r\n", b"2;" + b"x" * 70_000,
    b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
)  # fmt: skip
_STARTS: Final = (
    b"%b %b HTTP/1.0", b"%b %b HTTP/2.0", b"%b %b HTTP/9.9", b"%b %b", b"%b  %b HTTP/1.1",
    b"%b http://127.0.0.1%b HTTP/1.1", b"%b //%b HTTP/1.1", b"%b %b\x00 HTTP/1.1",
    b"x%b %b HTTP/1.1", b"%b \xff%b HTTP/1.1", b" %b %b HTTP/1.1", b"%b %b HTTP/1.1\r\n folded: x",
)  # fmt: skip


def _misframed(
    request: _Request, headers: list[Header], body: bytes, chance: Random
) -> tuple[str, bytes]:
    """Write a request whose parts do not fit together."""
    length = (b"Content-Length", b"%d" % len(body))
    chunked = (b"Transfer-Encoding", b"chunked")
    match chance.randrange(6):
        case 0:
            headers = [*headers, (b"Content-Length", chance.choice(_LENGTHS))]
            return "length", _framed(request, headers, body)
        case 1:
            other = (b"Content-Length", b"%d" % (len(body) + chance.choice((-3, 3, 10_000))))
            return "length", _framed(request, [*headers, other], body)
        case 2:
            both = [length, chunked] if chance.random() < 0.5 else [length, length]
            return "two framings", _framed(request, [*headers, *both], body)
        case 3:
            return "chunks", _framed(request, [*headers, chunked], chance.choice(_CHUNKS))
        case 4:
            pieces = in_pieces(body, chance)
            body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces if piece)
            body = bent(body + b"0\r\n\r\n", chance)
            return "chunks", _framed(request, [*headers, chunked], body)
        case _:
            start = chance.choice(_STARTS)
            return "start", _framed(request, [*headers, length], body, start=start)
