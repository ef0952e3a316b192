"""JSON-RPC envelopes: reference section 3 and Q-26."""

from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.bindings import jsonrpc
from dragoman.bindings.jsonrpc import MAX_ID_BYTES, BadEnvelopeError, JsonRpcRequest
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.errors import decode_error, encode_error
from dragoman.errors import (
    A2AError,
    InvalidAgentResponseError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    MethodNotFoundError,
    TaskNotFoundError,
    UnavailableError,
)
from dragoman.model.operations import GetExtendedAgentCardRequest, Operation
from tests.support.strategies import json_values, texts

VECTORS = Path(__file__).resolve().parents[2] / "vectors" / "v1_0" / "errors"


def vector(name: str) -> object:
    return msgspec.json.decode((VECTORS / f"{name}.json").read_bytes())["wire"]


def refusal(body: bytes) -> BadEnvelopeError:
    with pytest.raises(BadEnvelopeError) as caught:
        jsonrpc.read_request(body)
    return caught.value


# --- requests ----------------------------------------------------------------------------------


def test_a_request_is_opened() -> None:
    body = b'{ "jsonrpc" : "2.0", "id" : 7 , "method" : "GetTask", "params" : { "id" : "t" } }'
    assert jsonrpc.read_request(body) == JsonRpcRequest(b"7", "GetTask", b'{ "id" : "t" }')


@pytest.mark.parametrize(
    "request_id", [b"0", b"-1", b'""', b'"a"', b'"\\u00e9"', b'"\xc3\xa9"', b"9" * 30]
)
def test_an_id_is_a_string_or_an_integer_and_kept_as_sent(request_id: bytes) -> None:
    body = b'{"jsonrpc":"2.0","method":"GetTask","id":' + request_id + b"}"
    assert jsonrpc.read_request(body).id == request_id


@pytest.mark.requirement("R-9.4-5")
@pytest.mark.parametrize("params", [b"", b',"params":null', b',"params":{}'])
def test_params_may_be_left_out(params: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"' + params + b"}"
    request = jsonrpc.read_request(body)
    assert request.params == b"{}"
    operation = V1_0_DIALECT.operation(request.method)
    assert operation is Operation.GET_EXTENDED_AGENT_CARD
    decoded = V1_0_DIALECT.decode_request(operation, request.params).request
    assert decoded == GetExtendedAgentCardRequest()


def test_of_equal_members_the_last_counts() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"A","method":"B"}'
    assert jsonrpc.read_request(body) == JsonRpcRequest(b"2", "B", b"{}")


def test_unknown_members_are_ignored() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"A","trace":{"x":[1]}}'
    assert jsonrpc.read_request(body).method == "A"


@pytest.mark.requirement("R-9.5-3", "R-14.1.1-1")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"hello",
        b'{"jsonrpc":"2.0","id":1,"method":"A","params":{"x":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"A"} x',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"A","ignored":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"A","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"jsonrpc":"1.0","id":1,"method":"A","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        # The envelope is wrong, but what follows is not JSON at all.
        b'{"jsonrpc":"1.0","id":1,',
    ],
    ids=range(10),
)
def test_what_is_not_json_is_a_parse_error(body: bytes) -> None:
    refused = refusal(body)
    assert isinstance(refused.error, JSONParseError)
    assert refused.id == b"null"


@pytest.mark.parametrize(
    ("body", "request_id", "message"),
    [
        (b"[]", b"null", "Batches"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"A"}]', b"null", "Batches"),
        (b"null", b"null", "A request must be"),
        (b"5", b"null", "A request must be"),
        (b'"x"', b"null", "A request must be"),
        (b"{}", b"null", "The member id"),
        (b'{"jsonrpc":"2.0","method":"A"}', b"null", "The member id"),
        (b'{"jsonrpc":"2.0","id":null,"method":"A"}', b"null", "The member id"),
        (b'{"jsonrpc":"2.0","id":true,"method":"A"}', b"null", "The member id"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"A"}', b"null", "The member id"),
        (b'{"jsonrpc":"2.0","id":1e3,"method":"A"}', b"null", "The member id"),
        (b'{"jsonrpc":"2.0","id":{},"method":"A"}', b"null", "The member id"),
        (b'{"jsonrpc":"2.0","id":[1],"method":"A"}', b"null", "The member id"),
        (b'{"id":1,"method":"A"}', b"1", "The member jsonrpc"),
        (b'{"jsonrpc":"1.0","id":"a","method":"A"}', b'"a"', "The member jsonrpc"),
        (b'{"jsonrpc":2.0,"id":1,"method":"A"}', b"1", "The member jsonrpc"),
        (b'{"jsonrpc":"2.0","id":1}', b"1", "The member method"),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', b"1", "The member method"),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', b"1", "The member method"),
    ],
)
def test_what_is_no_request_is_refused_under_its_id(
    body: bytes, request_id: bytes, message: str
) -> None:
    refused = refusal(body)
    assert isinstance(refused.error, InvalidRequestError)
    assert refused.error.message.startswith(message)
    assert str(refused) == refused.error.message
    assert refused.id == request_id


def test_an_id_has_a_limit() -> None:
    longest = b'"' + b"x" * (MAX_ID_BYTES - 2) + b'"'
    body = b'{"jsonrpc":"2.0","method":"A","id":%b}'
    assert jsonrpc.read_request(body % longest).id == longest
    refused = refusal(body % (b'"x' + longest[1:]))
    assert isinstance(refused.error, InvalidRequestError)
    assert refused.id == b"null"


@pytest.mark.parametrize("params", [b"[]", b'[{"id":"t"}]', b'"x"', b"5", b"true"])
def test_params_are_an_object(params: bytes) -> None:
    refused = refusal(b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":' + params + b"}")
    assert isinstance(refused.error, InvalidParamsError)
    assert refused.id == b"1"


@given(st.binary(max_size=80))
def test_random_bytes_are_opened_or_refused(body: bytes) -> None:
    with suppress(BadEnvelopeError):
        jsonrpc.read_request(body)


_members = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("jsonrpc", "id", "method", "params"), json_values)
)


@given(_members, st.booleans())
def test_random_envelopes_are_opened_or_refused(
    members: dict[str, object],
    is_2_0: bool,  # noqa: FBT001 - hypothesis passes it by name
) -> None:
    if is_2_0:
        members |= {"jsonrpc": "2.0", "method": "A"}
    try:
        request = jsonrpc.read_request(msgspec.json.encode(members))
    except BadEnvelopeError as refused:
        answer = msgspec.json.decode(jsonrpc.error(refused.id, encode_error(refused.error)))
        assert answer["id"] in (None, members.get("id"))
    else:
        assert msgspec.json.decode(request.id) == members["id"]


@pytest.mark.parametrize(
    ("body", "request_id"),
    [
        (b'{"method":"message/send","params":{}}', b"null"),
        (b'{"jsonrpc":"2.0","id":null,"method":"message/send"}', b"null"),
        (b'{"id":5,"method":"tasks/send","params":null}', b"5"),
    ],
)
def test_requests_of_old_versions_may_lack_id_and_version(body: bytes, request_id: bytes) -> None:
    request = jsonrpc.read_request(body)
    assert (request.id, request.params) == (request_id, b"{}")


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"1.0","id":1,"method":"message/send"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"message/send"}',
        b'{"jsonrpc":"2.0","id":true,"method":"message/send"}',
        b'{"jsonrpc":"2.0","id":1,"method":"message/send","params":[]}',
    ],
)
def test_a_refusal_names_the_method_so_that_its_version_can_word_it(body: bytes) -> None:
    with pytest.raises(BadEnvelopeError) as caught:
        jsonrpc.read_request(body)
    assert caught.value.method == "message/send"


# --- answers ------------------------------------------------------------------------------------


def test_an_answer_is_spliced_around_its_result() -> None:
    assert jsonrpc.result(b'"a"', b'{"x":1}') == b'{"jsonrpc":"2.0","id":"a","result":{"x":1}}'


@pytest.mark.requirement("R-9.4-3")
def test_each_event_is_a_whole_response() -> None:
    framed = jsonrpc.event_prefix(b"7") + b'{"task":{}}' + jsonrpc.EVENT_SUFFIX
    assert framed == jsonrpc.result(b"7", b'{"task":{}}')


@pytest.mark.requirement("R-9.5-1", "R-9.5-2", "R-3.3.2-18", "R-3.3.2-17")
@pytest.mark.parametrize(
    ("name", "request_id", "error"),
    [
        ("jsonrpc-task-not-found", b"2", TaskNotFoundError("t-9")),
        (
            "jsonrpc-invalid-params",
            b"3",
            InvalidParamsError.of("message.parts", "must not be empty"),
        ),
    ],
)
def test_errors_are_written_as_in_section_3_4(
    name: str, request_id: bytes, error: A2AError
) -> None:
    assert msgspec.json.decode(jsonrpc.error(request_id, encode_error(error))) == vector(name)


def test_an_error_under_no_id() -> None:
    answer = msgspec.json.decode(jsonrpc.error(jsonrpc.NULL_ID, encode_error(JSONParseError())))
    assert answer["id"] is None
    assert answer["error"]["code"] == -32700
    assert answer["error"]["data"][0]["reason"] == "INVALID_REQUEST"


# --- the client's side --------------------------------------------------------------------------


@given(texts, json_values)
def test_a_request_passes_through_both_sides(method: str, value: object) -> None:
    params = msgspec.json.encode({"x": value})
    body = jsonrpc.request(b'"id"', method, params)
    assert jsonrpc.read_request(body) == JsonRpcRequest(b'"id"', method, params)


def test_a_result_passes_through_both_sides() -> None:
    assert jsonrpc.read_response(jsonrpc.result(b"1", b'{"id":"t"}'), decode_error) == b'{"id":"t"}'
    # a peer may answer Delete with null.
    assert jsonrpc.read_response(jsonrpc.result(b"1", b"null"), decode_error) == b"null"


@pytest.mark.parametrize(
    "error", [TaskNotFoundError("t"), UnavailableError("busy"), MethodNotFoundError()]
)
def test_an_error_passes_through_both_sides(error: A2AError) -> None:
    with pytest.raises(type(error)) as caught:
        jsonrpc.read_response(jsonrpc.error(b"1", encode_error(error)), decode_error)
    assert caught.value.message == error.message
    assert caught.value.metadata == error.metadata
    assert caught.value.retry_after_seconds == error.retry_after_seconds


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"result":1}', b'{"jsonrpc":"2.0"\xff'])
def test_what_is_no_response_is_an_invalid_one(body: bytes) -> None:
    with pytest.raises(InvalidAgentResponseError):
        jsonrpc.read_response(body, decode_error)
