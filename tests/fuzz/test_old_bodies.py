"""Whatever comes in old words: never a 500, never a hang, and an error in the words it came in.

What is sent is a valid request of 0.1, 0.2/0.3 or 0.3 over HTTP+JSON with something wrong in it, or
no request at all. Hypothesis prints what it found and how to try it again; ``make soak`` tries
many more.
"""

from __future__ import annotations

import json
import logging
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.test_wire_fuzz import (
    JSON_TYPE,
    TOKENS,
    Header,
    check_that_it_works,
    edited,
    edits,
    exchange,
    header_values,
    make_agent,
    places,
    replaced,
    request,
)
from tests.scenarios.old_wire import ERRORS_0_1, ERRORS_0_3
from tests.support.serving import Served, serving
from tests.support.strategies import json_values

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.wire import Json

_ids = count(1)

# --- valid requests -----------------------------------------------------------------------------

_HOOK: Final[Json] = {
    "id": "p-1",
    "url": "https://client.example/hook",
    "token": "t",
    "authentication": {"schemes": ["Bearer"], "credentials": "c"},
}


def _parts(tag: str) -> list[Json]:
    return [
        {tag: "text", "text": "hi", "metadata": {"a": [1, None]}},
        {tag: "file", "file": {"bytes": "AQI=", "name": "a.bin", "mimeType": "image/png"}},
        {tag: "file", "file": {"uri": "https://client.example/f", "mimeType": "text/plain"}},
        {tag: "data", "data": {"k": [1, 2.5, None, {"deep": []}]}},
        {tag: "tool-result", "toolUseId": "u", "result": {}},
    ]


_SEND_0_1: Final[Json] = {
    "id": "mine",
    "sessionId": "c-1",
    "message": {"role": "user", "parts": _parts("type"), "metadata": {"skillId": "mirror"}},
    "acceptedOutputModes": ["text"],
    "historyLength": 3,
    "metadata": {"trace": "x"},
}
_SEND_0_3: Final[Json] = {
    "message": {
        "kind": "message",
        "messageId": "m-1",
        "contextId": "c-1",
        "role": "user",
        "parts": _parts("kind"),
        "metadata": {"skillId": "mirror"},
        "extensions": ["https://ext.example/v1"],
        "referenceTaskIds": ["t-1"],
    },
    "configuration": {"acceptedOutputModes": ["text/plain"], "historyLength": 3, "blocking": True},
    "metadata": {"trace": "x"},
}
_SEND_PROTO: Final[Json] = {
    "message": {
        "messageId": "m-1",
        "contextId": "c-1",
        "role": "ROLE_USER",
        "content": [
            {"text": "hi", "metadata": {"a": 1.0}},
            {"file": {"fileWithBytes": "QVFJPQ==", "mimeType": "image/png", "name": "a.png"}},
            {"file": {"fileWithUri": "https://client.example/f"}},
            {"data": {"data": {"k": [1, 2.5, None]}}},
        ],
        "metadata": {"skillId": "mirror"},
    },
    "configuration": {"acceptedOutputModes": ["text/plain"], "historyLength": 3, "blocking": True},
}
_LIST: Final[Json] = {
    "contextId": "c-1",
    "status": "completed",
    "pageSize": 5,
    "lastUpdatedAfter": 1,
    "includeArtifacts": True,
}
_CONFIG: Final[Json] = {"taskId": "t-1", "pushNotificationConfig": _HOOK}
_CONFIG_ID: Final[Json] = {"id": "t-1", "pushNotificationConfigId": "p-1"}

METHODS: Final[dict[str, Json]] = {
    "tasks/send": _SEND_0_1,
    "tasks/sendSubscribe": _SEND_0_1,
    "tasks/pushNotification/set": {"id": "t-1", "pushNotificationConfig": _HOOK},
    "tasks/pushNotification/get": {"id": "t-1"},
    "tasks/get": {"id": "t-1", "historyLength": 1, "metadata": {}},
    "tasks/cancel": {"id": "t-1", "metadata": {"why": "x"}},
    "tasks/resubscribe": {"id": "t-1"},
    "message/send": _SEND_0_3,
    "message/stream": _SEND_0_3,
    "tasks/list": _LIST,
    "tasks/pushNotificationConfig/set": _CONFIG,
    "tasks/pushNotificationConfig/get": _CONFIG_ID,
    "tasks/pushNotificationConfig/list": {"id": "t-1"},
    "tasks/pushNotificationConfig/delete": _CONFIG_ID,
    "agent/getAuthenticatedExtendedCard": {},
}
ROUTES: Final[dict[str, tuple[Json, ...]]] = {
    "/v1/message:send": (_SEND_PROTO, _SEND_0_3, {"request": _SEND_PROTO["message"]}),
    "/v1/message:stream": (_SEND_PROTO, _SEND_0_3),
    "/v1/tasks/t-1:cancel": ({"name": "tasks/t-1", "metadata": {}},),
    "/v1/tasks/t-1:subscribe": ({},),
    "/v1/tasks/t-1/pushNotificationConfigs": ({"configId": "p", "config": _CONFIG}, _CONFIG, _HOOK),
}
_ONLY_0_1: Final = ("tasks/send", "tasks/sendSubscribe", "tasks/pushNotification/")


class Post(NamedTuple):
    """A body for a path; ``method`` is "" on HTTP+JSON."""

    path: str
    method: str
    value: Json

    def body(self, value: object) -> bytes:
        """Return the bytes to send, with this in place of the valid value."""
        return self.envelope(json.dumps(value).encode())

    def envelope(self, params: bytes) -> bytes:
        """Return the bytes to send around params that are bytes already."""
        if not self.method:
            return params
        return b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b}' % (
            self.method.encode(),
            params,
        )


posts = st.one_of(
    st.sampled_from(sorted(METHODS)).map(lambda name: Post("/", name, METHODS[name])),
    st.sampled_from([Post(path, "", body) for path, some in ROUTES.items() for body in some]),
)


# --- the target ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """An agent that ends every task at once; it must log no error, and still work in the end."""
    complaints: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: complaints.append(record.getMessage())
    loggers = [logging.getLogger(name) for name in ("dragoman", "uvicorn.error", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    async with serving(make_agent(), max_body_bytes=1_000_000) as agent:
        yield agent
        await check_that_it_works(agent)
    for logger in loggers:
        logger.removeHandler(handler)
    assert complaints == []


def opened(answer: bytes) -> tuple[int, str, bytes]:
    """Return status, content type and body of an answer, its chunks joined."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").lower().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    if headers.get("transfer-encoding") == "chunked":
        # Chunks end where lines do: sizes stand alone on the lines between them.
        body = b"\n".join(line for line in body.split(b"\r\n") if not _is_size(line))
    return int(first.split(" ")[1]), headers.get("content-type", ""), body


def _is_size(line: bytes) -> bool:
    return 0 < len(line) < 8 and all(byte in b"0123456789abcdef" for byte in line.lower())


def check(answer: bytes, method: str = "", *, has_form: bool = True) -> None:
    """No answer is our own fault; an error has the form of the version that was spoken."""
    status, kind, body = opened(answer)
    # 501 says that there are no webhooks, and no extended card.
    assert 200 <= status < 500 or status == 501, answer
    assert b"-32603" not in body, answer
    if kind == "text/event-stream":
        lines = [line for line in body.split(b"\n") if line.startswith(b"data: ")]
        frames: list[Json] = [json.loads(line.removeprefix(b"data: ")) for line in lines]
        assert frames, answer
        # Who reads nothing but streams is refused by one, too.
        if "error" not in frames[-1]:
            check_last(frames[-1])
            return
        value = frames[-1]
    else:
        value = json.loads(body)
    if method:
        error = value.get("error")
        if error is not None and has_form:
            check_rpc_error(error, method)
    elif status != 200:
        assert {"code", "message", "type", "error"} <= set(value), answer
        assert value["message"] == ERRORS_0_3[value["code"]][2], answer


def check_rpc_error(error: Json, method: str) -> None:
    texts = {code: row[2] for code, row in ERRORS_0_3.items()}
    if method.startswith(_ONLY_0_1):
        texts = ERRORS_0_1
    assert error["message"] == texts[error["code"]], error
    assert isinstance(error.get("data", {}), dict), error


def check_last(frame: Json) -> None:
    """The last frame of a stream says so, or is a message."""
    event: Any = frame.get("result", frame)
    event = event.get("statusUpdate", event)
    assert event.get("final") is True or "message" in event or "parts" in event, frame


async def attack(
    served: Served, post: Post, body: bytes, *headers: Header, has_form: bool = True
) -> None:
    # A task of 0.1 that has ended takes no more messages: each is given a name of its own.
    body = body.replace(b'"mine"', b'"mine-%d"' % next(_ids))
    raw = request("POST", post.path.encode(), [JSON_TYPE, *headers], body)
    check(await exchange(served, raw), post.method, has_form=has_form)


# --- bodies -------------------------------------------------------------------------------------


@st.composite
def changed(draw: st.DrawFn, values: st.SearchStrategy[bytes]) -> tuple[Post, bytes]:
    """Return a post and its body, with another value in one place."""
    post = draw(posts)
    marked = replaced(post.value, draw(st.sampled_from(places(post.value))), "@@")
    return post, post.body(marked).replace(b'"@@"', draw(values))


@given(changed(json_values.map(lambda value: json.dumps(value).encode())))
async def test_values_of_another_kind(served: Served, change: tuple[Post, bytes]) -> None:
    await attack(served, *change)


@given(changed(st.sampled_from(TOKENS)))
async def test_tokens_that_have_hurt_others(served: Served, change: tuple[Post, bytes]) -> None:
    # A token may end the params early: then the method is not to be known.
    await attack(served, *change, has_form=False)


@given(posts, st.lists(edits, min_size=1, max_size=4))
async def test_bytes_changed(
    served: Served, post: Post, changes: list[tuple[float, str, bytes, bytes]]
) -> None:
    body = post.body(post.value)
    for change in changes:
        body = edited(body, change)
    await attack(served, post, body, has_form=False)


@given(posts, json_values)
async def test_any_json_at_all(served: Served, post: Post, value: object) -> None:
    await attack(served, post, post.body(value))


@given(posts, st.binary(max_size=200))
async def test_bytes_that_are_no_json(served: Served, post: Post, some: bytes) -> None:
    await attack(served, post, post.envelope(some), has_form=False)


@given(
    posts,
    st.lists(
        st.tuples(
            st.sampled_from([b"A2A-Version", b"A2A-Extensions", b"X-A2A-Extensions", b"Accept"]),
            header_values,
        ),
        min_size=1,
        max_size=3,
    ),
)
async def test_odd_headers(served: Served, post: Post, headers: list[Header]) -> None:
    await attack(served, post, post.body(post.value), *headers)


@pytest.mark.parametrize("depth", [100, 190, 194, 195, 196, 197, 198, 199, 200, 201, 500, 985])
@pytest.mark.parametrize("method", ["tasks/send", "message/send", "message/stream", ""])
async def test_nesting_up_to_and_beyond_the_limit(served: Served, method: str, depth: int) -> None:
    # What is just deep enough to be read in one form must be fit to be written in all.
    deep = b'{"x":%b}' % (b"[" * depth + b"]" * depth)
    part = b'"parts":[{"kind":"data","data":%b}]' % deep
    if not method:
        part = b'"content":[{"data":{"data":%b}}]' % deep
    message = b'{"contextId":"d-%d","metadata":{"skillId":"mirror"},%b}' % (depth, part)
    post = Post("/" if method else "/v1/message:send", method, {})
    # What is too deep is not read at all, so its method is not known.
    await attack(served, post, post.envelope(b'{"message":%b}' % message), has_form=False)
    await check_all_forms(served, {"contextId": f"d-{depth}"})


# --- whatever is taken can be told in all versions ----------------------------------------------

members = st.dictionaries(
    st.sampled_from(
        ["kind", "type", "text", "file", "data", "raw", "url", "root", "metadata", "filename"]
    ),
    st.one_of(
        st.sampled_from(["text", "file", "data", "tool-use", "", "AAEC/w==", "https://x.example/"]),
        st.fixed_dictionaries(
            {},
            optional={
                "bytes": st.sampled_from(["AAEC/w==", "AAEC_w", "", "?"]),
                "uri": st.just("https://x.example/f"),
                "name": st.text(max_size=5),
                "mimeType": st.sampled_from(["image/png", "text/plain", ""]),
                "value": json_values,
                "data_part_compat": st.booleans(),
                "a2a.v1": st.booleans(),
                "a2a.v0.kind": st.sampled_from(["x", "text"]),
                "a2a.v0.fileReference": st.booleans(),
                "a2a.v0.inputRequest": json_values,
            },
        ),
        json_values,
    ),
    max_size=5,
)


@given(
    st.sampled_from(["tasks/send", "message/send", "SendMessage"]),
    st.lists(members, min_size=1, max_size=3),
)
async def test_what_is_taken_can_be_told_in_all_versions(
    served: Served, method: str, parts: list[Json]
) -> None:
    role = "ROLE_USER" if method == "SendMessage" else "user"
    message = {"role": role, "parts": parts, "metadata": {"skillId": "mirror"}}
    if method == "SendMessage":
        message["messageId"] = json.dumps(parts)[:300]
    body = Post("/", method, {}).body({"message": message})
    answer = await exchange(served, request("POST", b"/", [JSON_TYPE], body))
    check(answer, method, has_form=method != "SendMessage")
    result = json.loads(opened(answer)[2]).get("result", {})
    task = result.get("task", result)
    if "id" in task:
        await check_all_forms(served, {"id": task["id"]})


async def check_all_forms(served: Served, query: Json) -> None:
    """Get a task, or list tasks, in every version."""
    call = "Get" if "id" in query else "List"
    calls = [
        ("GetTask" if call == "Get" else "ListTasks", b"1.0"),
        ("tasks/get" if call == "Get" else "tasks/list", b"0.3"),
    ]
    if call == "Get":
        calls.append(("tasks/get", b"0.1"))
    for method, version in calls:
        params = query if call == "Get" else {**query, "includeArtifacts": True}
        body = Post("/", method, {}).body(params)
        raw = request("POST", b"/", [JSON_TYPE, (b"A2A-Version", version)], body)
        status, _, answer = opened(await exchange(served, raw))
        assert (status, "result" in json.loads(answer)) == (200, True), (method, answer)
    path = f"/v1/tasks/{query['id']}" if call == "Get" else "/v1/tasks?includeArtifacts=true"
    status, _, answer = opened(await exchange(served, request("GET", path.encode(), [])))
    assert status == 200, answer


# --- paths and queries --------------------------------------------------------------------------


@given(
    st.lists(
        st.sampled_from(
            ["tasks", "task", "message:send", "message:stream", "t-1", ":cancel", ":subscribe", ":",
             "%", "%2F", "%00", "%FF", "%C3%A4", "..", "", "card", "pushNotificationConfigs",
             "pushNotifications", "agent", "authenticatedExtendedCard", "x" * 5000]
        ),
        max_size=5,
    ),
    st.sampled_from(["GET", "POST", "DELETE", "PUT", "HEAD"]),
)  # fmt: skip
async def test_odd_paths(served: Served, segments: list[str], verb: str) -> None:
    target = ("/v1/" + "/".join(segments)).encode()
    status, _, _ = opened(await exchange(served, request(verb, target, [])))
    assert 200 <= status < 500 or status == 501


@given(
    st.sampled_from(["/v1/tasks", "/v1/tasks/t-1", "/v1/card", "/v1/tasks/t-1:subscribe"]),
    st.lists(
        st.tuples(
            st.sampled_from(
                ["historyLength", "history_length", "pageSize", "status", "pageToken", "name",
                 "lastUpdatedTime", "lastUpdatedAfter", "includeArtifacts", "contextId", "id"]
            ),
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from(
                    [b"0", b"-1", b"5", b"1e9", b"99999999999999999999", b"true", b"nan", b"null",
                     b"TASK_STATE_WORKING", b"2026-01-31T12:00:00Z", b"0001-01-01", b"9999-12-31"]
                ),
            ),
        ),
        max_size=3,
    ),
)  # fmt: skip
async def test_odd_queries(served: Served, path: str, fields: list[tuple[str, bytes]]) -> None:
    escaped = [
        name.encode() + b"=" + b"".join(b"%%%02X" % byte for byte in value)
        for name, value in fields
    ]
    target = path.encode() + b"?" + b"&".join(escaped)
    check(await exchange(served, request("GET", target, [])))


async def test_a_stream_that_is_refused_to_a_reader_of_streams(served: Served) -> None:
    post = Post("/", "tasks/resubscribe", METHODS["tasks/resubscribe"])
    await attack(served, post, post.body(post.value), (b"Accept", b"text/event-stream"))
