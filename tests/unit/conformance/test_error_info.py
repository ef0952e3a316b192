import pytest

from dragoman.conformance.error_info import ErrorInfo, error_info_in, refusal_of

DOMAIN = "a2a-protocol.org"


def test_an_error_info_is_found_among_other_details() -> None:
    details = [
        {"@type": "type.googleapis.com/google.rpc.BadRequest"},
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "R", "domain": "d"},
    ]
    assert error_info_in(details) == ErrorInfo("R", "d")
    assert error_info_in(details[:1]) is None
    assert error_info_in("nothing") is None


@pytest.mark.parametrize("code", [400, 409])
def test_the_statuses_of_1_0_0_and_1_0_1_are_both_right(code: int) -> None:
    found = refusal_of(ErrorInfo("TASK_NOT_CANCELABLE", DOMAIN), code, "No.", "http")
    assert found.name == "TaskNotCancelableError"


@pytest.mark.parametrize(
    ("info", "code"),
    [
        (None, 404),
        (ErrorInfo("TASK_NOT_FOUND", "elsewhere.example"), 404),
        (ErrorInfo("TASK_NOT_FOUND", DOMAIN), 500),
        (ErrorInfo("MADE_UP", DOMAIN), 404),
    ],
)
def test_without_a_reason_that_fits_the_status_no_name_is_known(
    info: ErrorInfo | None, code: int
) -> None:
    assert refusal_of(info, code, "No.", "http").name == ""


def test_grpc_has_codes_of_its_own() -> None:
    info = ErrorInfo("UNSUPPORTED_OPERATION", DOMAIN)
    names = [refusal_of(info, code, "", "grpc").name for code in (9, 12, 13)]
    assert names == ["UnsupportedOperationError", "UnsupportedOperationError", ""]
