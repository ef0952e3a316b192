"""The requests of the benchmark as bytes, and the shallow checks that run beside them.

Requests are made from templates by one `%`, because the generator shares a core with nothing but
must stay far below it. Message ids are unique for the whole run: a server may rightly answer a
repeated one from memory.
"""

import itertools
import json
import re
from typing import Any, cast

from benches.load import Check, CheckError, Request

__all__ = (
    "cancel",
    "check_task",
    "echo_jsonrpc",
    "echo_rest",
    "echo_v0_1",
    "echo_v0_3",
    "echo_v0_3_rest",
    "get_tasks",
    "list_tasks",
    "numbered",
    "result_of",
    "showing",
    "streams",
    "subscribe",
    "task_id_of",
    "webhook",
)

# Each loop takes a block of message numbers of its own; no loop sends more than this.
_BLOCK = 10_000_000
_blocks = itertools.count(1)

_TASK_ID = re.compile(rb'"task":\s*\{\s*"id":\s*"([^"]+)"')


def _post(body: bytes, *, path: bytes = b"/", version: bytes = b"1.0") -> bytes:
    head = (
        b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"A2A-Version: %b\r\nContent-Length: %d\r\n\r\n" % (path, version, len(body))
    )
    return head + body


def showing(header: bytes, request: bytes) -> bytes:
    """Return a request with one more header, a whole line."""
    start, _, rest = request.partition(b"\r\n")
    return b"%b\r\n%b%b" % (start, header, rest)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _rpc(method: str, params: dict[str, object], *, version: bytes = b"1.0") -> bytes:
    envelope = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return _post(_json(envelope), version=version)


def _message(text: str) -> dict[str, object]:
    """Return a 1.0 message; the number is filled in per request and always twelve digits wide."""
    return {"messageId": "m-999999999999", "role": "ROLE_USER", "parts": [{"text": text}]}


def numbered(request: bytes) -> Request:
    """Turn a request with twelve-digit gaps into a function of the request's number."""
    template = request.replace(b"%", b"%%").replace(b"999999999999", b"%012d")
    base = next(_blocks) * _BLOCK
    if template.count(b"%012d") == 1:
        return lambda number: template % (base + number)
    return lambda number: template % (base + number, base + number)


def _echoed(request: Request, state: bytes) -> Check:
    """Accept an answer that is finished, has an artifact, and gives back this request's text."""
    first = request(0)
    at = first.index(b"echo ") + 5
    base = int(first[at : at + 12])

    def check(number: int, answer: bytes) -> bool:
        return (
            state in answer
            and b'"artifacts"' in answer
            and b"echo %012d" % (base + number) in answer
        )

    return check


def echo_jsonrpc(header: bytes = b"") -> tuple[Request, Check]:
    """SendMessage of an echo over JSON-RPC, by a caller who shows something or not."""
    raw = _rpc("SendMessage", {"message": _message("echo 999999999999")})
    request = numbered(showing(header, raw))
    return request, _echoed(request, b"TASK_STATE_COMPLETED")


def echo_rest() -> tuple[Request, Check]:
    """SendMessage of an echo over HTTP+JSON."""
    body = _json({"message": _message("echo 999999999999")})
    request = numbered(_post(body, path=b"/message:send"))
    return request, _echoed(request, b"TASK_STATE_COMPLETED")


def echo_v0_1() -> tuple[Request, Check]:
    """The same send in the words of version 0.1, where the client names the task."""
    message = {"role": "user", "parts": [{"type": "text", "text": "echo 999999999999"}]}
    params = {"id": "t-999999999999", "message": message}
    request = numbered(_rpc("tasks/send", params, version=b"0.1"))
    return request, _echoed(request, b'"completed"')


def echo_v0_3() -> tuple[Request, Check]:
    """The same send in the words of version 0.3."""
    message = {
        "kind": "message",
        "messageId": "m-999999999999",
        "role": "user",
        "parts": [{"kind": "text", "text": "echo 999999999999"}],
    }
    params = {"message": message, "configuration": {"blocking": True}}
    request = numbered(_rpc("message/send", params, version=b"0.3"))
    return request, _echoed(request, b'"completed"')


def echo_v0_3_rest() -> tuple[Request, Check]:
    """The same send over the HTTP+JSON of version 0.3, as its SDKs write it: ProtoJSON."""
    message = {
        "messageId": "m-999999999999",
        "role": "ROLE_USER",
        "content": [{"text": "echo 999999999999"}],
    }
    body = _json({"message": message, "configuration": {"blocking": True}})
    request = numbered(_post(body, path=b"/v1/message:send", version=b"0.3"))
    return request, _echoed(request, b"TASK_STATE_COMPLETED")


def streams(text: str) -> Request:
    """SendStreamingMessage of `text`, a new message each time."""
    return numbered(_rpc("SendStreamingMessage", {"message": _message(text)}))


def subscribe(task_id: str) -> bytes:
    """SubscribeToTask."""
    return _rpc("SubscribeToTask", {"id": task_id})


def cancel(task_id: str) -> bytes:
    """CancelTask."""
    return _rpc("CancelTask", {"id": task_id})


def webhook(task_id: str, config_id: str, url: str) -> bytes:
    """CreateTaskPushNotificationConfig."""
    params: dict[str, object] = {"taskId": task_id, "id": config_id, "url": url}
    return _rpc("CreateTaskPushNotificationConfig", params)


def get_tasks(task_ids: list[str]) -> tuple[Request, Check]:
    """GetTask of the given tasks in turn."""
    requests = [_rpc("GetTask", {"id": task_id}) for task_id in task_ids]
    names = [task_id.encode() for task_id in task_ids]
    count = len(requests)

    def check(number: int, answer: bytes) -> bool:
        return names[number % count] in answer and b"TASK_STATE_COMPLETED" in answer

    return lambda number: requests[number % count], check


def list_tasks(**params: object) -> bytes:
    """ListTasks; parameters by their wire names."""
    return _rpc("ListTasks", params)


def result_of(body: bytes) -> dict[str, Any]:
    """Return the result of a JSON-RPC answer."""
    answer = cast("dict[str, Any]", json.loads(body))
    if "result" not in answer:
        raise CheckError(wanted="a result", got=body[:400])
    return cast("dict[str, Any]", answer["result"])


def check_task(task: dict[str, Any], text: str) -> str:
    """Check a finished echo task to the letter and return its id."""
    state = task["status"]["state"]
    texts = [part["text"] for artifact in task["artifacts"] for part in artifact["parts"]]
    if state != "TASK_STATE_COMPLETED" or texts != [text]:
        raise CheckError(wanted=f"a finished task with {text!r}", got=task)
    return str(task["id"])


def task_id_of(first_event: bytes) -> str:
    """Return the task id in the first event of a stream."""
    match = _TASK_ID.search(first_event)
    if match is None:
        raise CheckError(wanted="a task in the first event", got=first_event[-400:])
    return match[1].decode()
