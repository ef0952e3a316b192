import pytest

from dragoman.client.discovery.fallback import is_understood, offer_after
from dragoman.client.errors import CutError, UnreachableError
from dragoman.errors import (
    ContentTypeNotSupportedError,
    DragomanError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    TaskNotFoundError,
    UnavailableError,
    VersionNotSupportedError,
)
from tests.support.client.fakes import offer

AWAY = UnreachableError("a", "refused")
UNKNOWN = MethodNotFoundError()

OFFERS = (
    offer("1.0"),
    offer("1.0", binding="HTTP+JSON", url="http://agent.test"),
    offer("1.0", binding="GRPC", url="http://agent.test:80"),
    offer("0.3", url="http://other.test/"),
    offer("0.1", is_declared=False),
)


def after(index: int, problem: DragomanError, *tried: int) -> int | None:
    return offer_after(OFFERS, index, problem, {index, *tried})


@pytest.mark.requirement("R-5.2-3")
def test_who_cannot_be_reached_is_tried_elsewhere() -> None:
    # The second is at the same place; gRPC may pass where HTTP does not.
    assert after(0, AWAY) == 2
    assert after(2, AWAY, 0) == 1
    assert after(0, AWAY, 2) == 3
    assert after(3, AWAY, 0, 1, 2) is None


def test_a_guess_is_not_made_about_who_cannot_be_reached() -> None:
    assert (
        offer_after((offer(), offer("0.1", "http://b.test", is_declared=False)), 0, AWAY, ())
        is None
    )


def test_a_method_that_is_not_known_leads_to_the_next() -> None:
    assert after(0, UNKNOWN) == 1
    assert after(3, UNKNOWN) == 4
    assert after(4, UNKNOWN) is None


@pytest.mark.parametrize(
    "problem",
    [
        VersionNotSupportedError("1.0", ("0.3", "0.1")),
        # Others say it in words.
        VersionNotSupportedError("1.0", ()),
    ],
)
def test_a_version_is_chosen_from_those_that_a_refusal_lists(
    problem: VersionNotSupportedError,
) -> None:
    if not problem.metadata["supportedVersions"]:
        problem.metadata = {}
        problem.message = "only 0.3 is spoken here, not 1.0"
    assert after(0, problem) == 3


def test_a_version_that_is_not_offered_is_not_tried() -> None:
    assert after(0, VersionNotSupportedError("1.0", ("2.0",))) is None


def test_a_complaint_about_the_envelope_counts_as_not_knowing_the_method() -> None:
    assert after(0, InvalidRequestError("Request payload validation error")) == 1
    assert after(1, InvalidRequestError("Bad request")) is None


def test_the_other_json_of_0_3_is_tried_when_one_is_refused() -> None:
    proto = offer("0.3", binding="HTTP+JSON", form="0.3-proto", url="http://a.test/v1")
    schema = offer("0.3", binding="HTTP+JSON", form="0.3", url="http://a.test/v1")
    elsewhere = offer("0.3", binding="HTTP+JSON", form="0.3", url="http://a.test")
    problem = InvalidParamsError.of("message", "is required")
    assert offer_after((proto, elsewhere, schema), 0, problem, {0}) == 2
    assert offer_after((schema, proto), 0, problem, {0}) is None


@pytest.mark.parametrize("problem", [CutError("a", "b"), TaskNotFoundError("t"), InternalError()])
def test_other_failures_stand(problem: DragomanError) -> None:
    assert after(0, problem) is None


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (TaskNotFoundError("t"), True),
        (ContentTypeNotSupportedError(), True),
        (UNKNOWN, False),
        (InvalidParamsError(), False),
        (UnavailableError(), False),
        (AWAY, False),
    ],
)
def test_a_refusal_may_show_that_one_was_understood(
    problem: DragomanError, *, expected: bool
) -> None:
    assert is_understood(problem) is expected
