import pytest

from dragoman.dialects.profiles.base import Claim, Serving
from dragoman.dialects.profiles.rxjs.profile import (
    PROFILE,
    RXJS_DIALECT,
    RXJS_TOOLS_DIALECT,
    ServedRxjs,
)
from dragoman.errors import MethodNotFoundError
from dragoman.model.operations import Operation
from tests.support.dialects.heads import Head

PLAIN = Head("/api/a2a")
STREAM = Head("/api/a2a", takes_stream=True)


def test_a_server_speaks_it_when_it_is_told_to() -> None:
    assert PROFILE.serve(Serving()) is None
    assert PROFILE.serve(Serving(names=("rxjs",))) is not None


@pytest.mark.parametrize(
    ("method", "claim"),
    [
        ("message/send", Claim.YES),
        ("tasks/resume", Claim.YES),
        ("dance", Claim.YES),
        ("SendMessage", Claim.NO),
        ("tasks/send", Claim.NO),
    ],
)
def test_it_claims_the_methods_of_0_3_and_what_nobody_knows(method: str, claim: Claim) -> None:
    is_known = method not in ("dance", "tasks/resume")
    assert ServedRxjs().claims(PLAIN, method, b"{}", is_known=is_known) is claim


@pytest.mark.parametrize(
    ("method", "head", "operation"),
    [
        ("tasks/get", PLAIN, Operation.GET_TASK),
        ("tasks/get", STREAM, Operation.SUBSCRIBE_TO_TASK),
        ("tasks/resume", PLAIN, Operation.SEND_MESSAGE),
        ("tasks/resume", STREAM, Operation.SEND_STREAMING_MESSAGE),
        ("message/send", STREAM, Operation.SEND_MESSAGE),
    ],
)
def test_what_the_client_accepts_tells_a_stream(
    method: str, head: Head, operation: Operation
) -> None:
    assert ServedRxjs().find_method(method, head).operation is operation


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(MethodNotFoundError) as caught:
        ServedRxjs().find_method("dance", PLAIN)
    assert caught.value.metadata == {"method": "dance"}


def test_tasks_that_were_begun_with_tool_parts_are_told_so() -> None:
    assert ServedRxjs().dialect_of("rxjs+tools") is RXJS_TOOLS_DIALECT
    assert ServedRxjs().dialect_of("0.3") is RXJS_DIALECT
    assert [
        name
        for name in ("tasks/get", "tasks/cancel", "tasks/resubscribe", "message/send")
        if ServedRxjs().find_method(name, PLAIN).is_shared
    ] == ["tasks/get", "tasks/cancel", "tasks/resubscribe"]
