"""Whatever comes over the wire: never a 500, never a hang, and the next caller is served.

What is sent is a valid request of either binding with something wrong in it: bytes changed, JSON
changed, odd headers, paths and queries; or no request at all. ``make soak`` tries many more.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Agent, Artifact, Message, Reply
from tests.support.serving import Served, serving
from tests.support.strategies import json_values

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.wire import Json

TIMEOUT_SECONDS: Final = 5

Header = tuple[bytes, bytes]
JSON_TYPE: Final = (b"Content-Type", b"application/json")

_MESSAGE: Final[Json] = {
    "messageId": "m-1",
    "contextId": "c-1",
    "role": "ROLE_USER",
    "parts": [
        {"text": "hi", "metadata": {"a": [1, None]}},
        {"raw": "AQI=", "filename": "a.bin"},
        {"data": {"k": [1, 2.5, None, {"deep": []}]}},
    ],
    "metadata": {"skillId": "mirror"},
    "extensions": ["https://ext.example/v1"],
    "referenceTaskIds": ["t-1"],
}
_SEND: Final[Json] = {
    "tenant": "acme",
    "message": _MESSAGE,
    "configuration": {
        "acceptedOutputModes": ["text/plain"],
        "historyLength": 3,
        "returnImmediately": True,
    },
    "metadata": {"trace": "x"},
}
_LIST: Final[Json] = {
    "contextId": "c-1",
    "status": "TASK_STATE_COMPLETED",
    "pageSize": 5,
    "pageToken": "",
    "historyLength": 1,
    "statusTimestampAfter": "2026-01-31T12:00:00.000Z",
    "includeArtifacts": True,
}
_HOOK: Final[Json] = {
    "taskId": "t-1",
    "id": "p-1",
    "url": "https://client.example/hook",
    "token": "t",
    "authentication": {"scheme": "Bearer", "credentials": "c"},
}

CALLS: Final[dict[str, Json]] = {
    "SendMessage": _SEND,
    "SendStreamingMessage": _SEND,
    "GetTask": {"id": "t-1", "historyLength": 1},
    "ListTasks": _LIST,
    "CancelTask": {"id": "t-1", "metadata": {"why": "x"}},
    "SubscribeToTask": {"id": "t-1"},
    "CreateTaskPushNotificationConfig": _HOOK,
    "GetTaskPushNotificationConfig": {"taskId": "t-1", "id": "p-1"},
    "ListTaskPushNotificationConfigs": {"taskId": "t-1", "pageSize": 1},
    "DeleteTaskPushNotificationConfig": {"taskId": "t-1", "id": "p-1"},
    "GetExtendedAgentCard": {},
}
POSTS: Final[dict[str, Json]] = {
    "/message:send": _SEND,
    "/acme/message:send": _SEND,
    "/message:stream": _SEND,
    "/tasks/t-1:cancel": {"metadata": {"why": "x"}},
    "/tasks/t-1:subscribe": {},
    "/tasks/t-1/pushNotificationConfigs": _HOOK,
}
PATHS: Final = (
    *POSTS,
    "/",
    "/a2a",
    "/tasks",
    "/acme/tasks",
    "/tasks/t-1",
    "/tasks/t-1/pushNotificationConfigs/p-1",
    "/extendedAgentCard",
    "/.well-known/agent-card.json",
    "/healthz",
)
HEADERS: Final = (
    b"A2A-Version",
    b"A2A-Extensions",
    b"Accept",
    b"Content-Type",
    b"Content-Encoding",
    b"Forwarded",
    b"If-Modified-Since",
    b"If-None-Match",
    b"Last-Event-ID",
    b"Origin",
    b"Range",
    b"Expect",
    b"Upgrade",
    b"X-Forwarded-For",
    b"X-Forwarded-Host",
    b"X-Forwarded-Prefix",
    b"X-Forwarded-Proto",
)

# Valid or not, JSON that has been known to hurt.
TOKENS: Final = (
    b"null", b"true", b"{}", b"[]", b'""', b"0", b"-1", b"-0", b"1e400", b"-1e400", b"1e-400",
    b"NaN", b"Infinity", b"-Infinity", b"0x10", b"01", b"+1", b".5", b"1.", b"2147483648",
    b"9223372036854775808", b"1" * 400, b"1" * 5000, b"1.0", b'"\\ud800"', b'"\\udc00\\ud800"',
    b'"\\u0000"', b'"\\x"', b'"\n"', b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'"\xe2\x80\xa8"',
    b"[" * 150 + b"]" * 150, b"[" * 199 + b"]" * 199, b"[" * 900 + b"]" * 900, b"[" * 2000,
    b'{"a":' * 190 + b"1" + b"}" * 190, b'"' + b"x" * 100_000 + b'"', b"//", b"/**/", b"'a'",
    b'{"":1,"":2}', b'{"__proto__":1}', b'"TASK_STATE_UNSPECIFIED"', b'"ROLE_AGENT"', b"\x00",
    b"\xef\xbb\xbf", b",", b":", b"}", b"]", b"\\",
)  # fmt: skip


# --- the agent ----------------------------------------------------------------------------------


def make_agent() -> Agent:
    """Return an agent that ends every task at once: nothing a stream could wait for."""
    agent = Agent("Target", tenants=["acme"])

    @agent.skill(input_modes=["*/*"])
    async def mirror(message: Message) -> Artifact:
        return Artifact(artifact_id="a", parts=message.parts, metadata=message.metadata)

    @agent.skill
    async def reply(text: str) -> Reply:
        return Reply(text)

    return agent


class _Complaints(logging.Handler):
    """Collects what the server takes for its own fault."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(self.format(record))


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """The target; in the end it must have logged no error, and must still do its work."""
    complaints = _Complaints()
    loggers = [logging.getLogger(name) for name in ("dragoman", "uvicorn.error", "asyncio")]
    for logger in loggers:
        logger.addHandler(complaints)
    async with serving(make_agent(), max_body_bytes=1_000_000) as agent:
        yield agent
        await check_that_it_works(agent)
    for logger in loggers:
        logger.removeHandler(complaints)
    assert complaints.records == []


# --- talking to it ------------------------------------------------------------------------------


def request(method: str, target: bytes, headers: list[Header], body: bytes = b"") -> bytes:
    """Write an HTTP request; whoever sends it gets an answer and then the end."""
    lines = [
        b"%b %b HTTP/1.1" % (method.encode(), target),
        b"Host: 127.0.0.1",
        b"Connection: close",
        b"Content-Length: %d" % len(body),
        *(b"%b: %b" % header for header in headers),
    ]
    return b"\r\n".join([*lines, b"", body])


async def exchange(served: Served, raw: bytes, *, is_whole: bool = True) -> bytes:
    """Send bytes and return all that comes back until the server closes."""
    address = urlsplit(served.url)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            writer.write(raw)
            if not is_whole:
                writer.write_eof()
            return await reader.read()
        except ConnectionError:
            return b""  # It would not listen to the end, which is its right.
        finally:
            writer.close()


def check(answer: bytes, *, is_whole: bool = True) -> None:
    """No answer is our own fault, and whatever claims to be JSON is JSON."""
    if not answer and not is_whole:
        return
    head, _, body = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n").partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    assert 200 <= status < 500, answer
    assert b'"code":-32603' not in body, answer
    if body and b"json\r\n" in head + b"\r\n":
        json.loads(body.decode())


async def check_that_it_works(served: Served) -> None:
    message = {"messageId": "alive", "role": "ROLE_USER", "parts": [{"text": "still there?"}]}
    body = json.dumps({"message": message}).encode()
    answer = await exchange(served, request("POST", b"/message:send", [JSON_TYPE], body))
    assert b"TASK_STATE_COMPLETED" in answer, answer


async def attack(served: Served, raw: bytes, *, is_whole: bool = True) -> None:
    check(await exchange(served, raw, is_whole=is_whole), is_whole=is_whole)
    alive = await exchange(served, request("GET", b"/readyz", []))
    assert alive.startswith(b"HTTP/1.1 200"), alive


# --- mutations ----------------------------------------------------------------------------------

bodies: st.SearchStrategy[tuple[bytes, Json]] = st.one_of(
    st.sampled_from(sorted(CALLS)).map(
        lambda method: (
            b"/",
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": CALLS[method]},
        )
    ),
    st.sampled_from(sorted(POSTS)).map(lambda path: (path.encode(), POSTS[path])),
)
"""A path and what may be posted there."""

edits = st.tuples(
    st.floats(0, 1),
    st.sampled_from(["replace", "insert", "delete", "truncate", "repeat", "token"]),
    st.binary(min_size=1, max_size=4),
    st.sampled_from(TOKENS),
)


def edited(body: bytes, edit: tuple[float, str, bytes, bytes]) -> bytes:
    """Change a body in one place."""
    where, kind, some, token = edit
    at = int(where * len(body))
    match kind:
        case "replace":
            return body[:at] + some + body[at + len(some) :]
        case "insert":
            return body[:at] + some + body[at:]
        case "delete":
            return body[:at] + body[at + len(some) * 4 :]
        case "truncate":
            return body[:at]
        case "repeat":
            return body[:at] + body[max(0, at - 40) :]
        case _:
            return body[:at] + token + body[at:]


def inside(value: object) -> dict[Any, object]:
    """Return what a JSON value holds, by name or by number."""
    if isinstance(value, dict):
        return cast("dict[Any, object]", value)
    return dict(enumerate(cast("list[object]", value))) if isinstance(value, list) else {}


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value inside a JSON value, itself included."""
    found = [path]
    for key, item in inside(value).items():
        found += places(item, (*path, key))
    return found


def replaced(value: object, path: tuple[Any, ...], new: object) -> object:
    """Return a copy of a JSON value with another value in one place."""
    if not path:
        return new
    items = {
        key: replaced(item, path[1:], new) if key == path[0] else item
        for key, item in inside(value).items()
    }
    return items if isinstance(value, dict) else list(items.values())


@st.composite
def changed_bodies(draw: st.DrawFn, values: st.SearchStrategy[bytes]) -> tuple[bytes, bytes]:
    """Return a path and what to post there, with another value in one place."""
    path, value = draw(bodies)
    marked = replaced(value, draw(st.sampled_from(places(value))), "@@")
    return path, json.dumps(marked).encode().replace(b'"@@"', draw(values))


# --- no requests at all -------------------------------------------------------------------------


@given(st.binary(max_size=300))
async def test_bytes_that_are_no_http(served: Served, raw: bytes) -> None:
    await attack(served, raw, is_whole=False)


@given(bodies, st.floats(0, 1))
async def test_requests_that_break_off(
    served: Served, post: tuple[bytes, Json], where: float
) -> None:
    path, value = post
    raw = request("POST", path, [JSON_TYPE], json.dumps(value).encode())
    await attack(served, raw[: int(where * len(raw))], is_whole=False)


@given(bodies, st.lists(edits, min_size=1, max_size=3))
async def test_requests_with_bytes_changed_anywhere(
    served: Served, post: tuple[bytes, Json], changes: list[tuple[float, str, bytes, bytes]]
) -> None:
    path, value = post
    raw = request("POST", path, [JSON_TYPE], json.dumps(value).encode())
    for change in changes:
        raw = edited(raw, change)
    await attack(served, raw, is_whole=False)


# --- bodies -------------------------------------------------------------------------------------


@given(bodies, st.lists(edits, min_size=1, max_size=4))
async def test_bodies_with_bytes_changed(
    served: Served, post: tuple[bytes, Json], changes: list[tuple[float, str, bytes, bytes]]
) -> None:
    path, value = post
    body = json.dumps(value).encode()
    for change in changes:
        body = edited(body, change)
    await attack(served, request("POST", path, [JSON_TYPE], body))


@given(changed_bodies(json_values.map(lambda value: json.dumps(value).encode())))
async def test_bodies_with_a_value_of_another_kind(
    served: Served, post: tuple[bytes, bytes]
) -> None:
    path, body = post
    await attack(served, request("POST", path, [JSON_TYPE], body))


@given(changed_bodies(st.sampled_from(TOKENS)))
async def test_bodies_with_a_token_that_has_hurt_others(
    served: Served, post: tuple[bytes, bytes]
) -> None:
    path, body = post
    await attack(served, request("POST", path, [JSON_TYPE], body))


@given(st.sampled_from(["/", "/message:send"]), json_values)
async def test_bodies_that_are_any_json_at_all(served: Served, path: str, value: object) -> None:
    body = json.dumps(value).encode()
    await attack(served, request("POST", path.encode(), [JSON_TYPE], body))


@pytest.mark.parametrize("size", [1_000, 100_000, 900_000])
@pytest.mark.parametrize("member", ["id", "messageId", "contextId", "taskId", "text", "key"])
async def test_members_of_enormous_length(served: Served, member: str, size: int) -> None:
    long = "x" * size
    message: Json = {**_MESSAGE, "messageId": f"m-{member}-{size}"}
    match member:
        case "id":
            pass
        case "text":
            message["parts"] = [{"text": long}]
        case "key":
            message["metadata"] = {long: 1}
        case _:
            message[member] = long
    call = {
        "jsonrpc": "2.0",
        "id": long if member == "id" else 1,
        "method": "SendMessage",
        "params": {"message": message},
    }
    for path, body in ((b"/", call), (b"/message:send", {"message": message})):
        await attack(served, request("POST", path, [JSON_TYPE], json.dumps(body).encode()))


@pytest.mark.parametrize("depth", [10, 100, 190, 195, 196, 197, 198, 199, 200, 201, 500, 970, 985])
@pytest.mark.parametrize("place", ["metadata", "data"])
async def test_nesting_up_to_and_beyond_the_limit(served: Served, place: str, depth: int) -> None:
    # What is just deep enough to be read must also be fit to be stored, listed and streamed.
    deep = b"[" * depth + b"]" * depth
    body = b'{"message":{"messageId":"m-%b-%d","role":"ROLE_USER",%b}}' % (
        place.encode(),
        depth,
        b'"parts":[{"data":%b}]' % deep
        if place == "data"
        else b'"parts":[{"text":"x"}],"metadata":{"x":%b}' % deep,
    )
    await attack(served, request("POST", b"/message:send", [JSON_TYPE], body))
    await attack(served, request("POST", b"/message:stream", [JSON_TYPE], body))
    await attack(served, request("GET", b"/tasks?includeArtifacts=true", []))


# --- headers, paths, queries --------------------------------------------------------------------

header_values = st.one_of(
    st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f")).map(
        lambda text: text.strip().encode("latin-1")
    ),
    st.sampled_from(
        [
            b"", b",", b";", b"=", b'"', b"for=", b'for="', b"for=[", b"[", b"http://[", b"null",
            b"1.0", b"9" * 50, b"-1", b"\xb2", b"text/event-stream", b"*/*;q=x", b"W/", b"*",
            b"Thu, 01 Jan 1970 00:00:00 GMT", b"Thu, 99 Jan 99999 00:00:00 GMT", b"gzip",
            b"application/json; charset=utf-16", b"multipart/form-data; boundary=", b"x" * 8000,
            b"%s" * 10, b"${jndi:x}", b"\xff\xfe", b"websocket", b"bytes=0-", b"100-continue",
        ]
    ),
)  # fmt: skip


@given(
    st.sampled_from(PATHS),
    st.sampled_from(["GET", "POST", "HEAD", "DELETE", "PUT", "OPTIONS", "PATCH", "TRACE"]),
    st.lists(st.tuples(st.sampled_from(HEADERS), header_values), min_size=1, max_size=4),
)
async def test_odd_headers(served: Served, path: str, method: str, headers: list[Header]) -> None:
    body = json.dumps(POSTS.get(path, {})).encode() if method == "POST" else b""
    await attack(served, request(method, path.encode(), headers, body))


@given(
    st.sampled_from(["/tasks", "/acme/tasks", "/tasks/t-1", "/", "/.well-known/agent-card.json"]),
    st.text(st.sampled_from("abcPST_%&=?+;#/.:0123456789[]{}\"'<>|^`~-\\"), max_size=60),
)
async def test_odd_queries(served: Served, path: str, query: str) -> None:
    await attack(served, request("GET", f"{path}?{query}".encode(), []))


@given(
    st.sampled_from(["pageSize", "status", "pageToken", "statusTimestampAfter", "tenant", "x"]),
    st.binary(max_size=20),
)
async def test_odd_values_in_queries(served: Served, name: str, value: bytes) -> None:
    escaped = b"".join(b"%%%02X" % byte for byte in value)
    await attack(served, request("GET", b"/tasks?%b=%b" % (name.encode(), escaped), []))


@given(
    st.lists(
        st.sampled_from(
            [
                "tasks", "message:send", "acme", "t-1", ":cancel", ":subscribe", ":", "%", "%2",
                "%2F", "%2f", "%00", "%FF", "%C3%A4", "%3A", "..", ".", "", "a2a", "*", "~", "%25",
                "v1", "pushNotificationConfigs", "extendedAgentCard", ".well-known", "x" * 5000,
            ]
        ),
        max_size=6,
    ),
    st.sampled_from(["GET", "POST", "DELETE"]),
)  # fmt: skip
async def test_odd_paths(served: Served, segments: list[str], method: str) -> None:
    target = ("/" + "/".join(segments)).encode()
    await attack(served, request(method, target, [], b""))


# --- many at once -------------------------------------------------------------------------------


async def test_a_crowd_of_broken_requests_at_once(served: Served) -> None:
    good = json.dumps(_SEND).encode()
    raws = [
        request("POST", b"/message:stream", [JSON_TYPE], good[:at]) for at in range(0, len(good), 9)
    ]
    answers = await asyncio.gather(*(exchange(served, raw) for raw in raws))
    for answer in answers:
        check(answer)


async def test_callers_who_hang_up_in_the_middle(served: Served) -> None:
    address = urlsplit(served.url)
    body = json.dumps(_SEND).encode()
    for path in (b"/message:stream", b"/message:send", b"/tasks/t-1:subscribe"):
        for cut in (10, 200, -1):
            _, writer = await asyncio.open_connection(address.hostname, address.port)
            writer.write(request("POST", path, [JSON_TYPE], body)[:cut])
            writer.transport.abort()
    await check_that_it_works(served)
