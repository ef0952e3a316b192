"""JSON-RPC: envelopes, ids, endpoints, and what is not a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scenarios.bindings import OPERATIONS, JsonRpc
from tests.scenarios.test_capabilities import PARAMS
from tests.support.wire import Json, message

if TYPE_CHECKING:
    import httpx2


async def post(rpc: JsonRpc, body: bytes, path: str = "/") -> httpx2.Response:
    return await rpc.http.post(path, content=body, headers={"Content-Type": "application/json"})


async def error_of(rpc: JsonRpc, body: bytes) -> tuple[object, int, str]:
    """Return the id, the code and the message of the error that answers a body."""
    response = await post(rpc, body)
    assert response.status_code == 200
    answer: Json = response.json()
    assert list(answer) == ["jsonrpc", "id", "error"]
    assert answer["jsonrpc"] == "2.0"
    return answer["id"], answer["error"]["code"], answer["error"]["message"]


@pytest.mark.requirement("R-9.1-1")
async def test_a_request_is_answered_with_its_id_and_its_result(rpc: JsonRpc) -> None:
    response = await post(rpc, b'{"jsonrpc":"2.0","id":7,"method":"ListTasks","params":{}}')
    answer = response.json()
    assert list(answer) == ["jsonrpc", "id", "result"]
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)


@pytest.mark.requirement("R-9.1-3")
@pytest.mark.parametrize("method", OPERATIONS)
async def test_every_operation_is_a_method_in_pascal_case(rpc: JsonRpc, method: str) -> None:
    params = PARAMS.get(method, {"message": message()} if "Message" in method else {})
    response = await rpc.respond(method, params)
    assert b"-32601" not in response.content


@pytest.mark.requirement("R-9.1-3", "R-9.5-3")
@pytest.mark.parametrize("method", ["sendMessage", "SENDMESSAGE", "", "rpc.discover", "x"])
async def test_no_other_name_is_a_method(rpc: JsonRpc, method: str) -> None:
    body = b'{"jsonrpc":"2.0","id":"a","method":"%b","params":{}}' % method.encode()
    assert await error_of(rpc, body) == ("a", -32601, f"There is no method {method!r}")


@pytest.mark.requirement("R-9.1-1")
@pytest.mark.parametrize(
    "request_id",
    ["1", "0", "-5", '"a"', '""', '"\\u00fc"', '"ü"', "9007199254740993", '"\\ud83e\\udd9c"'],
)
async def test_an_id_comes_back_as_it_was_written(rpc: JsonRpc, request_id: str) -> None:
    body = f'{{"jsonrpc":"2.0","id":{request_id},"method":"ListTasks"}}'.encode()
    response = await post(rpc, body)
    assert response.text.startswith(f'{{"jsonrpc":"2.0","id":{request_id},"result":')


@pytest.mark.requirement("R-9.5-3")
@pytest.mark.parametrize(
    "request_id", ["null", "1.5", "1e3", "true", "[1]", "{}", '"%s"' % ("x" * 2000)]
)
async def test_an_id_of_another_kind_is_an_invalid_request(rpc: JsonRpc, request_id: str) -> None:
    body = f'{{"jsonrpc":"2.0","id":{request_id},"method":"ListTasks"}}'.encode()
    answered, code, words = await error_of(rpc, body)
    assert (answered, code) == (None, -32600)
    assert words.startswith("The member id must")


@pytest.mark.requirement("R-9.5-3")
async def test_a_request_without_an_id_is_refused(rpc: JsonRpc, context: str) -> None:
    # 1.0 has no notifications.
    sent = {"message": message(contextId=context)}
    response = await rpc.http.post(
        "/", json={"jsonrpc": "2.0", "method": "SendMessage", "params": sent}
    )
    assert response.json()["id"] is None
    assert response.json()["error"]["code"] == -32600
    assert (await rpc.list_tasks(contextId=context))["totalSize"] == 0


@pytest.mark.requirement("R-9.5-3")
@pytest.mark.parametrize("body", [b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ListTasks"}]'])
async def test_batches_are_refused(rpc: JsonRpc, body: bytes) -> None:
    assert await error_of(rpc, body) == (
        None,
        -32600,
        "Batches are not supported; send one request at a time",
    )


@pytest.mark.requirement("R-9.5-3")
@pytest.mark.parametrize(
    ("body", "request_id", "words"),
    [
        (b"1", None, "A request must be a JSON object"),
        (b'"hi"', None, "A request must be a JSON object"),
        (b"null", None, "A request must be a JSON object"),
        (b'{"id":1,"method":"ListTasks"}', 1, 'The member jsonrpc must be "2.0"'),
        (b'{"jsonrpc":"1.0","id":1,"method":"ListTasks"}', 1, 'The member jsonrpc must be "2.0"'),
        (b'{"jsonrpc":2.0,"id":1,"method":"ListTasks"}', 1, 'The member jsonrpc must be "2.0"'),
        (b'{"jsonrpc":"2.0","id":1}', 1, "The member method must be a string"),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', 1, "The member method must be a string"),
    ],
)
async def test_json_that_is_no_request_is_an_invalid_request(
    rpc: JsonRpc, body: bytes, request_id: object, words: str
) -> None:
    assert await error_of(rpc, body) == (request_id, -32600, words)


@pytest.mark.requirement("R-9.5-3")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"hello",
        b'{"jsonrpc":"2.0","id":1,"method":"ListTasks"',
        b'{"jsonrpc":"2.0","id":1,"method":"ListTasks"}x',
        b"{'jsonrpc':'2.0'}",
        b'{"jsonrpc":"2.0","id":NaN}',
        b'{"jsonrpc":"2.0","id":01,"method":"ListTasks"}',
        b'{"jsonrpc":"2.0","id":"a\nb","method":"ListTasks"}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"ListTasks"}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ListTasks"}',
        '{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'.encode("utf-16"),
    ],
)
async def test_what_is_not_json_is_a_parse_error(rpc: JsonRpc, body: bytes) -> None:
    request_id, code, _ = await error_of(rpc, body)
    assert (request_id, code) == (None, -32700)


@pytest.mark.requirement("R-9.5-3")
@pytest.mark.parametrize("params", ["[]", "[1]", '"x"', "1", "true"])
async def test_params_that_are_no_object_are_invalid_params(rpc: JsonRpc, params: str) -> None:
    body = f'{{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{params}}}'.encode()
    request_id, code, _ = await error_of(rpc, body)
    assert (request_id, code) == (1, -32602)


@pytest.mark.parametrize("params", ["", ',"params":null', ',"params":{}'])
async def test_params_may_be_left_out_where_nothing_is_required(rpc: JsonRpc, params: str) -> None:
    body = f'{{"jsonrpc":"2.0","id":1,"method":"ListTasks"{params}}}'.encode()
    assert "result" in (await post(rpc, body)).json()


async def test_the_members_of_a_request_may_stand_in_any_order(rpc: JsonRpc) -> None:
    body = b' {"params" : {}, "extra":[1], "method":"ListTasks","id":3,\n"jsonrpc":"2.0"} '
    assert (await post(rpc, body)).json()["id"] == 3


@pytest.mark.parametrize("path", ["/", "/a2a", "/a2a/", "/api/a2a", "/api/a2a/", "//"])
async def test_the_endpoint_has_several_names(rpc: JsonRpc, path: str) -> None:
    response = await post(rpc, b'{"jsonrpc":"2.0","id":1,"method":"ListTasks"}', path)
    assert "result" in response.json()


@pytest.mark.parametrize("path", ["/", "/a2a", "/api/a2a"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_the_endpoint_takes_post_alone_and_says_so(
    rpc: JsonRpc, method: str, path: str
) -> None:
    response = await rpc.http.request(method, path)
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    error = response.json()["error"]
    assert error["code"] == -32601
    assert error["message"].endswith("The agent's card is at /.well-known/agent-card.json")


async def test_a_head_request_gets_no_body(rpc: JsonRpc) -> None:
    response = await rpc.http.head("/")
    assert (response.status_code, response.content) == (405, b"")


async def test_a_tenant_in_the_path_is_no_endpoint(rpc: JsonRpc) -> None:
    # The tenant of a call is params.tenant; there is no address per tenant in this binding.
    response = await post(rpc, b'{"jsonrpc":"2.0","id":1,"method":"ListTasks"}', "/acme")
    assert response.status_code == 404


async def test_of_a_member_given_twice_the_last_counts(rpc: JsonRpc) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"Nonsense","method":"ListTasks"}'
    answer = (await post(rpc, body)).json()
    assert answer["id"] == 2
    assert "result" in answer
