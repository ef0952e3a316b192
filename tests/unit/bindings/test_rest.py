"""HTTP+JSON paths, queries and errors: reference section 4."""

from contextlib import suppress
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.bindings import rest
from dragoman.bindings.rest import MAX_QUERY_FIELDS, RESERVED_SEGMENTS, Match, Router
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.routes import ROUTES
from dragoman.errors import (
    A2AError,
    FieldViolation,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    MethodNotAllowedError,
    MethodNotFoundError,
)
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Operation,
    Request,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig

CURSOR = "n"
ROUTER = Router(ROUTES, has_tenants=True)
SEND = b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}'

# Section 4.1, row by row.
TABLE: list[tuple[str, str, Operation, dict[str, str]]] = [
    ("POST", "/message:send", Operation.SEND_MESSAGE, {}),
    ("POST", "/message:stream", Operation.SEND_STREAMING_MESSAGE, {}),
    ("GET", "/tasks/t-1", Operation.GET_TASK, {"id": "t-1"}),
    ("GET", "/tasks", Operation.LIST_TASKS, {}),
    ("POST", "/tasks/t-1:cancel", Operation.CANCEL_TASK, {"id": "t-1"}),
    ("POST", "/tasks/t-1:subscribe", Operation.SUBSCRIBE_TO_TASK, {"id": "t-1"}),
    ("GET", "/tasks/t-1:subscribe", Operation.SUBSCRIBE_TO_TASK, {"id": "t-1"}),
    (
        "POST",
        "/tasks/t-1/pushNotificationConfigs",
        Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        {"taskId": "t-1"},
    ),
    (
        "GET",
        "/tasks/t-1/pushNotificationConfigs/p-1",
        Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
        {"taskId": "t-1", "id": "p-1"},
    ),
    (
        "GET",
        "/tasks/t-1/pushNotificationConfigs",
        Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
        {"taskId": "t-1"},
    ),
    (
        "DELETE",
        "/tasks/t-1/pushNotificationConfigs/p-1",
        Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
        {"taskId": "t-1", "id": "p-1"},
    ),
    ("GET", "/extendedAgentCard", Operation.GET_EXTENDED_AGENT_CARD, {}),
]


def read(verb: str, path: str, query: str = "", body: bytes = b"") -> Request:
    return rest.read_request(ROUTER.match(verb, path), query, body, V1_0_DIALECT).request


def refusal(verb: str, path: str, query: str = "", body: bytes = b"") -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        read(verb, path, query, body)
    (violation,) = caught.value.violations
    return violation


# --- routes -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-11.3-1")
@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize(("verb", "path", "operation", "fields"), TABLE)
def test_every_route_is_found_with_and_without_tenant(
    verb: str, path: str, operation: Operation, fields: dict[str, str], slash: str
) -> None:
    assert ROUTER.match(verb, path + slash) == Match(operation, verb, "", fields)
    assert ROUTER.match(verb, "/acme" + path + slash) == Match(operation, verb, "acme", fields)


@pytest.mark.requirement("R-5.1-1")
def test_every_operation_has_a_route() -> None:
    assert {operation for *_, operation, _ in TABLE} == set(Operation)
    assert {op for methods in ROUTES.values() for op in methods.values()} == set(Operation)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "//",
        "tasks",
        "/task",
        "/Tasks",
        "/message",
        "/message:other",
        "/message:send/x",
        "//tasks",
        "/acme/",
        "/acme/other",
        "/a/b/tasks",
        "/tasks/t/other",
        "/tasks/t/pushNotificationConfigs/p/x",
        "/tasks//pushNotificationConfigs",
        "/extendedAgentCard/x",
        "*",
    ],
)
def test_an_unknown_path_is_not_found(path: str) -> None:
    for verb in ("GET", "POST", "DELETE"):
        with pytest.raises(MethodNotFoundError):
            ROUTER.match(verb, path)


@pytest.mark.parametrize("segment", sorted(RESERVED_SEGMENTS))
def test_a_reserved_segment_is_no_tenant(segment: str) -> None:
    with pytest.raises(MethodNotFoundError):
        ROUTER.match("GET", f"/{segment}/tasks/t/pushNotificationConfigs")


@pytest.mark.parametrize(
    ("verb", "path", "allow"),
    [
        ("GET", "/message:send", ("POST",)),
        ("POST", "/tasks", ("GET",)),
        ("POST", "/acme/tasks", ("GET",)),
        ("DELETE", "/tasks/t", ("GET",)),
        ("GET", "/tasks/t:cancel", ("POST",)),
        ("PUT", "/tasks/t:subscribe", ("GET", "POST")),
        ("DELETE", "/tasks/t/pushNotificationConfigs", ("GET", "POST")),
        ("POST", "/tasks/t/pushNotificationConfigs/p", ("GET", "DELETE")),
        ("get", "/tasks", ("GET",)),
    ],
)
def test_a_known_path_with_another_method_tells_what_it_takes(
    verb: str, path: str, allow: tuple[str, ...]
) -> None:
    with pytest.raises(MethodNotAllowedError) as caught:
        ROUTER.match(verb, path)
    assert caught.value.allow == allow


@pytest.mark.parametrize(
    ("path", "task_id"),
    [
        ("/tasks/a%2Fb", "a/b"),
        ("/tasks/a:b", "a:b"),
        ("/tasks/a:cancelled", "a:cancelled"),
        ("/tasks/tasks", "tasks"),
        ("/tasks/:cancel", ":cancel"),  # no id before the verb
        ("/tasks/x%3Acancel", "x:cancel"),  # an encoded colon is part of the id
        ("/tasks/%C3%A9", "é"),
        ("/tasks/a+b", "a+b"),
        ("/tasks/100%", "100%"),
    ],
)
def test_ids_are_decoded_segment_by_segment(path: str, task_id: str) -> None:
    assert ROUTER.match("GET", path).fields == {"id": task_id}


def test_ids_with_verbs_keep_their_slashes_and_colons() -> None:
    assert ROUTER.match("POST", "/tasks/a%2Fb:c:cancel").fields == {"id": "a/b:c"}
    assert ROUTER.match("POST", "/ten%2Fant/tasks/x:cancel").tenant == "ten/ant"
    match = ROUTER.match("GET", "/tasks/a%2Fb/pushNotificationConfigs/c%2Fd")
    assert match.fields == {"taskId": "a/b", "id": "c/d"}


def test_an_encoded_literal_is_the_same() -> None:
    assert ROUTER.match("POST", "/message%3Asend").operation is Operation.SEND_MESSAGE


@pytest.mark.parametrize("path", ["/tasks/%FF", "/%FF/tasks", "/tasks/%C3"])
def test_a_path_that_is_not_utf_8_is_refused(path: str) -> None:
    with pytest.raises(InvalidRequestError):
        ROUTER.match("GET", path)


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_id_and_tenant_survive_the_path(task_id: str, tenant: str) -> None:
    path = f"/tasks/{quote(task_id, safe='')}:cancel"
    assert ROUTER.match("POST", path).fields == {"id": task_id}
    if tenant not in RESERVED_SEGMENTS:
        match = ROUTER.match("POST", f"/{quote(tenant, safe='')}{path}")
        assert (match.tenant, match.fields) == (tenant, {"id": task_id})


@given(st.sampled_from(["GET", "POST", "DELETE", "PUT"]), st.text(max_size=30))
def test_random_paths_raise_a2a_errors_only(verb: str, path: str) -> None:
    for candidate in (path, "/tasks/" + path, "/" + path + "/tasks"):
        with suppress(A2AError):
            ROUTER.match(verb, candidate)


# --- requests ----------------------------------------------------------------------------------


@pytest.mark.requirement("R-11.4-1")
@pytest.mark.parametrize(
    ("verb", "path", "query", "body", "expected"),
    [
        ("GET", "/tasks/t", "historyLength=2", b"", GetTaskRequest(id="t", history_length=2)),
        ("GET", "/tasks", "", b"", ListTasksRequest()),
        ("POST", "/tasks/t:cancel", "", b"", CancelTaskRequest(id="t")),
        (
            "POST",
            "/tasks/t:cancel",
            "",
            b'{"metadata":{"a":1}}',
            CancelTaskRequest(id="t", metadata={"a": 1}),
        ),
        ("GET", "/tasks/t:subscribe", "", b"", SubscribeToTaskRequest(id="t")),
        ("POST", "/tasks/t:subscribe", "", b"", SubscribeToTaskRequest(id="t")),
        (
            "POST",
            "/tasks/t/pushNotificationConfigs",
            "",
            b'{"url":"u"}',
            TaskPushNotificationConfig(task_id="t", url="u"),
        ),
        (
            "GET",
            "/tasks/t/pushNotificationConfigs/p",
            "",
            b"",
            GetTaskPushNotificationConfigRequest(task_id="t", id="p"),
        ),
        (
            "GET",
            "/tasks/t/pushNotificationConfigs",
            f"pageSize=5&pageToken={CURSOR}",
            b"",
            ListTaskPushNotificationConfigsRequest(task_id="t", page_size=5, page_token=CURSOR),
        ),
        (
            "DELETE",
            "/tasks/t/pushNotificationConfigs/p",
            "",
            b"",
            DeleteTaskPushNotificationConfigRequest(task_id="t", id="p"),
        ),
        ("GET", "/extendedAgentCard", "", b"", GetExtendedAgentCardRequest()),
        ("GET", "/acme/extendedAgentCard", "", b"", GetExtendedAgentCardRequest(tenant="acme")),
    ],
)
def test_requests_are_read_from_path_query_and_body(
    verb: str, path: str, query: str, body: bytes, expected: Request
) -> None:
    assert read(verb, path, query, body) == expected


@pytest.mark.parametrize("path", ["/message:send", "/message:stream"])
def test_a_message_is_read_from_the_body(path: str) -> None:
    request = read("POST", path, "", SEND)
    assert isinstance(request, SendMessageRequest)
    assert request.message.message_id == "m"


def test_the_id_in_the_path_rules() -> None:
    assert read("POST", "/tasks/t:cancel", "", b'{"id":"other"}') == CancelTaskRequest(id="t")
    for body in (b'{"taskId":"other","url":"u"}', b'{"task_id":"other","url":"u"}'):
        request = read("POST", "/tasks/t/pushNotificationConfigs", "", body)
        assert request == TaskPushNotificationConfig(task_id="t", url="u")
    assert read("GET", "/tasks/t", "id=other") == GetTaskRequest(id="t")


def test_of_equal_names_in_a_query_the_last_counts() -> None:
    assert read("GET", "/tasks", "pageSize=1&pageSize=2") == ListTasksRequest(page_size=2)


def test_a_query_is_percent_decoded() -> None:
    request = read(
        "GET", "/tasks", "contextId=a%26b+c&statusTimestampAfter=2025-11-09T10%3A30%3A00%2B02:00"
    )
    assert request == ListTasksRequest(
        context_id="a&b c", status_timestamp_after="2025-11-09T10:30:00+02:00"
    )


@pytest.mark.parametrize("query", ["contextId=%FF", "&".join(["x=1"] * (MAX_QUERY_FIELDS + 1))])
def test_a_query_that_cannot_be_read_is_refused(query: str) -> None:
    with pytest.raises(InvalidRequestError):
        read("GET", "/tasks", query)


@pytest.mark.parametrize(
    ("path", "query", "body"),
    [
        ("/acme/message:send", "", b""),
        ("/message:send", "", b'"tenant":"acme",'),
        ("/message:send", "tenant=acme", b""),
        # Said twice, but the same.
        ("/acme/message:send", "tenant=acme", b'"tenant":"acme",'),
    ],
)
def test_the_tenant_is_in_path_body_or_query(path: str, query: str, body: bytes) -> None:
    assert read("POST", path, query, b"{" + body + SEND[1:]).tenant == "acme"


@pytest.mark.parametrize(
    ("path", "query", "body"),
    [
        ("/acme/message:send", "", b'"tenant":"other",'),
        ("/acme/message:send", "tenant=other", b""),
        ("/message:send", "tenant=other", b'"tenant":"acme",'),
    ],
)
def test_conflicting_tenants_are_refused(path: str, query: str, body: bytes) -> None:
    violation = refusal("POST", path, query, b"{" + body + SEND[1:])
    assert violation.field == "tenant"


def test_the_tenant_of_a_get_is_in_path_or_query() -> None:
    assert read("GET", "/tasks", "tenant=acme").tenant == "acme"
    assert read("GET", "/acme/tasks").tenant == "acme"
    assert refusal("GET", "/acme/tasks", "tenant=other").field == "tenant"


@pytest.mark.requirement("R-5.7-1")
def test_an_empty_body_lacks_what_is_required() -> None:
    assert refusal("POST", "/message:send") == FieldViolation("message", "is required")
    assert refusal("POST", "/tasks/t/pushNotificationConfigs") == FieldViolation(
        "url", "is required"
    )


@pytest.mark.requirement("R-14.1.1-1")
@pytest.mark.parametrize("path", ["/message:send", "/tasks/t:cancel"])
@pytest.mark.parametrize(
    "body", [b"{", b"hello", b'{"x":"\xff"}', b'{"x":NaN}', b'{"x":' + b"[" * 100_000]
)
def test_a_body_that_is_not_json_is_a_parse_error(path: str, body: bytes) -> None:
    with pytest.raises(JSONParseError):
        read("POST", path, "", body)


@pytest.mark.parametrize("path", ["/message:send", "/tasks/t:cancel"])
@pytest.mark.parametrize("body", [b"[]", b"null", b"5", b'"x"'])
def test_a_body_is_an_object(path: str, body: bytes) -> None:
    assert refusal("POST", path, "", body).description.startswith("expected object, got ")


@given(st.sampled_from(TABLE), st.text(max_size=20), st.binary(max_size=40))
def test_random_queries_and_bodies_raise_a2a_errors_only(
    row: tuple[str, str, Operation, dict[str, str]], query: str, body: bytes
) -> None:
    verb, path, *_ = row
    with suppress(A2AError):
        read(verb, path, query, body)


# --- errors -----------------------------------------------------------------------------------
