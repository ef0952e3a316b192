"""Telling versions apart: section 6 of the 0.x reference, row by row."""

import pytest

from dragoman.dialects.base import Method
from dragoman.dialects.negotiation import Version
from dragoman.dialects.registry import (
    NEWEST,
    dialect_of_origin,
    find_method,
    is_method,
    refusal_dialect,
    rest_shape,
    route_dialect,
    route_shape,
    route_shape_of_origin,
    shape_of_origin,
    task_hinted,
    task_named,
    task_shown,
    unread_dialect,
)
from dragoman.dialects.v0_1.codec import V0_1_DIALECT
from dragoman.dialects.v0_3.codec import V0_3_DIALECT, V0_3_REST_DIALECT
from dragoman.dialects.v0_3_proto.codec import V0_3_PROTO_DIALECT, V0_3_PROTO_RAW_DIALECT
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.lenient import MIXED_DIALECT
from dragoman.errors import InvalidParamsError, MethodNotFoundError, VersionNotSupportedError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    Operation,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part

SEND = Operation.SEND_MESSAGE
DIALECTS = {"1.0": MIXED_DIALECT, "0.3": V0_3_DIALECT, "0.1": V0_1_DIALECT}


def send_of(discriminator: str) -> bytes:
    """Return a send whose parts are known by a member that was known to old versions."""
    part = b'{"%b":"text","text":"x"}' % discriminator.encode()
    return b'{"message":{"messageId":"m","role":"user","parts":[%b]}}' % part


@pytest.mark.parametrize(
    ("name", "family"),
    [
        *((operation.value, "1.0") for operation in Operation),
        ("tasks/send", "0.1"),
        ("tasks/sendSubscribe", "0.1"),
        ("tasks/pushNotification/set", "0.1"),
        ("tasks/pushNotification/get", "0.1"),
        ("message/send", "0.3"),
        ("message/stream", "0.3"),
        ("tasks/pushNotificationConfig/set", "0.3"),
        ("tasks/pushNotificationConfig/get", "0.3"),
        ("tasks/pushNotificationConfig/list", "0.3"),
        ("tasks/pushNotificationConfig/delete", "0.3"),
        ("agent/getAuthenticatedExtendedCard", "0.3"),
        ("agent/authenticatedExtendedCard", "0.3"),
        ("tasks/list", "0.3"),
    ],
)
def test_a_method_name_tells_the_family(name: str, family: str) -> None:
    method = find_method(name, None, is_strict=False)
    assert method.dialect is DIALECTS[family]
    assert not method.is_shared
    assert refusal_dialect(name, None, is_strict=False) is method.dialect


@pytest.mark.parametrize("name", ["tasks/get", "tasks/cancel", "tasks/resubscribe"])
def test_three_methods_are_shared_until_a_version_is_stated(name: str) -> None:
    assert find_method(name, None, is_strict=False).is_shared  # D6
    for version, dialect in (("0.1", V0_1_DIALECT), ("0.2.6", V0_3_DIALECT), ("0.3", V0_3_DIALECT)):
        operation = find_method(name, None, is_strict=False).operation
        assert find_method(name, version, is_strict=False) == Method(dialect, operation)


@pytest.mark.parametrize("name", ["Nothing", "message/nothing", "", "sendmessage"])
def test_an_unknown_method_is_not_found(name: str) -> None:
    with pytest.raises(MethodNotFoundError):
        find_method(name, None, is_strict=False)


def test_an_unknown_method_is_refused_in_the_words_of_its_look() -> None:
    assert refusal_dialect("message/nothing", None, is_strict=False) is V0_3_DIALECT
    assert refusal_dialect("Nothing", None, is_strict=False) is V1_0_DIALECT


def test_an_old_method_in_a_1_0_request() -> None:  # D2
    assert find_method("message/send", "1.0", is_strict=False).dialect is V0_3_DIALECT
    with pytest.raises(MethodNotFoundError):
        find_method("message/send", "1.0", is_strict=True)
    assert refusal_dialect("message/send", "1.0", is_strict=True) is V1_0_DIALECT


def test_a_1_0_method_in_an_old_request() -> None:  # D1, D3
    for version in (None, "0.3", "0.2", "0.1"):
        assert find_method("SendMessage", version, is_strict=False).dialect.name == "1.0"
        with pytest.raises(VersionNotSupportedError):
            find_method("SendMessage", version, is_strict=True)


@pytest.mark.parametrize("name", ["SendMessage", "message/send", "tasks/send", "tasks/get"])
def test_a_version_that_is_not_served_is_refused(name: str) -> None:  # D5
    with pytest.raises(VersionNotSupportedError):
        find_method(name, "2.0", is_strict=False)
    assert find_method(name, "rubbish", is_strict=False)
    with pytest.raises(VersionNotSupportedError):
        find_method(name, "rubbish", is_strict=True)


@pytest.mark.parametrize("is_strict", [False, True])
def test_the_origin_of_a_task_tells_the_version_of_shared_methods(*, is_strict: bool) -> None:
    for origin in ("0.1", "0.1+kind", "0.3+type"):
        assert dialect_of_origin(origin, is_strict=is_strict).name == origin
    for dialect in (V1_0_DIALECT, V0_3_DIALECT, V0_3_PROTO_DIALECT, V0_3_REST_DIALECT):
        assert dialect_of_origin(dialect.name, is_strict=is_strict).name == "0.3"
    assert dialect_of_origin("", is_strict=is_strict).name == "0.3"  # D7


@pytest.mark.parametrize("name", ["tasks/get", "tasks/cancel", "tasks/resubscribe"])
def test_the_task_of_a_shared_method_is_found_in_all_words(name: str) -> None:
    operation = find_method(name, None, is_strict=True).operation
    for params in (b'{"id":"t"}', b'{"taskId":"t","id":null}', b'{"task_id":"t"}'):
        assert task_named(operation, params) == "t"
    with pytest.raises(InvalidParamsError):
        task_named(operation, b"{}")


def test_an_answer_shows_the_task_that_its_request_names() -> None:
    message = Message(message_id="m", role=Role.USER, parts=(Part(text="x"),), task_id="t")
    for request in (
        GetTaskRequest(id="t"),
        CancelTaskRequest(id="t"),
        SubscribeToTaskRequest(id="t"),
        SendMessageRequest(message=message),
    ):
        assert task_shown(request) == "t"
    assert task_shown(ListTaskPushNotificationConfigsRequest(task_id="t")) == ""


# --- strictness ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "version", "params"),
    [
        ("tasks/get", "0.3", b'{"taskId":"t"}'),  # D8
        ("tasks/get", "0.1", b'{"taskId":"t"}'),
        ("message/send", None, send_of("type")),  # D9
        ("tasks/send", None, send_of("type")),  # D14
        ("SendMessage", "1.0", send_of("kind")),  # D12
    ],
)
def test_strict_methods_are_read_by_strict_dialects(
    method: str, version: str | None, params: bytes
) -> None:
    lenient, operation, _ = find_method(method, version, is_strict=False)
    assert lenient.decode_request(operation, params)
    strict, operation, _ = find_method(method, version, is_strict=True)
    assert strict.name == lenient.name
    with pytest.raises(InvalidParamsError):
        strict.decode_request(operation, params)


@pytest.mark.parametrize("origin", ["0.1", "0.1+kind", "0.3", "0.3+type"])
def test_a_task_is_asked_for_in_the_strict_words_of_its_origin(origin: str) -> None:
    params = b'{"taskId":"t"}'
    lenient = dialect_of_origin(origin, is_strict=False)
    assert lenient.decode_request(Operation.GET_TASK, params)
    strict = dialect_of_origin(origin, is_strict=True)
    assert strict.decode_request(Operation.GET_TASK, b'{"id":"t"}').answer.name == origin
    with pytest.raises(InvalidParamsError):
        strict.decode_request(Operation.GET_TASK, params)


def test_the_routes_of_1_0_take_messages_of_0_3_unless_they_are_strict() -> None:  # D12
    body = send_of("kind")
    lenient, strict = (route_dialect(NEWEST, is_strict=each) for each in (False, True))
    assert lenient is not None
    assert lenient.decode_request(SEND, body).answer.name == "1.0"
    assert strict is not None
    with pytest.raises(InvalidParamsError):
        strict.decode_request(SEND, body)


@pytest.mark.parametrize("stated", [None, Version(0, 3), Version(0, 2)])
def test_who_does_not_state_1_0_on_its_routes_is_told_by_the_shape(stated: Version | None) -> None:
    assert route_dialect(stated, is_strict=False) is None
    assert route_shape(send_of("kind")).decode_request(SEND, send_of("kind")).answer.name == (
        "0.3-rest"
    )
    assert route_shape(send_of("type")) is V0_3_REST_DIALECT
    for body in (b'{"message":{"role":"ROLE_USER","parts":[{"text":"x"}]}}', b"{}", b"[", b""):
        assert route_shape(body).name == "1.0"
    assert route_shape_of_origin("0.3-rest") is V0_3_REST_DIALECT
    for origin in ("", "1.0", "0.3", "0.3-proto"):
        assert route_shape_of_origin(origin).name == "1.0"


# --- HTTP+JSON ----------------------------------------------------------------------------------


def test_the_shape_of_0_3_over_http_is_the_one_that_the_client_uses() -> None:
    schema = b'{"message":{"kind":"message","role":"user","parts":[{"kind":"text","text":"x"}]}}'
    proto = b'{"message":{"role":"ROLE_USER","content":[{"text":"x"}]}}'
    assert rest_shape(schema) is V0_3_REST_DIALECT
    assert rest_shape(proto) is V0_3_PROTO_DIALECT
    assert shape_of_origin(V0_3_REST_DIALECT.name) is V0_3_REST_DIALECT
    assert shape_of_origin(V0_3_PROTO_RAW_DIALECT.name) is V0_3_PROTO_RAW_DIALECT
    for origin in ("", "1.0", "0.1", "0.3", "0.3-proto", "0.3-grpc+raw"):
        assert shape_of_origin(origin) is V0_3_PROTO_DIALECT


@pytest.mark.parametrize(
    ("version", "dialect"),
    [
        # R-3.6.2-3: who says nothing is of 0.3.
        (None, V0_3_DIALECT),
        ("", V0_3_DIALECT),
        ("0.3", V0_3_DIALECT),
        ("0.2", V0_3_DIALECT),
        ("0.1", V0_1_DIALECT),
        ("1.0", V1_0_DIALECT),
        # What is no version of ours is no reason to speak an old one.
        ("9.9", V1_0_DIALECT),
        ("x", V1_0_DIALECT),
    ],
)
def test_before_a_request_is_read_the_stated_version_tells_the_dialect(
    version: str | None, dialect: object
) -> None:
    assert unread_dialect(version) is dialect


@pytest.mark.parametrize(
    ("params", "named"),
    [
        (b'{"id":"t"}', "t"),
        (b'{"taskId":"t"}', "t"),
        (b"{}", ""),
        (b'{"id":7}', ""),
        (b"[]", ""),
        (b"{", ""),
    ],
)
def test_a_task_may_be_named_by_params_that_are_no_good(params: bytes, named: str) -> None:
    assert task_hinted(params) == named


@pytest.mark.parametrize(
    ("name", "expected"),
    [("SendMessage", True), ("message/stream", True), ("tasks/send", True), ("dance", False)],
)
def test_methods_are_those_of_all_versions(name: str, *, expected: bool) -> None:
    assert is_method(name) is expected
