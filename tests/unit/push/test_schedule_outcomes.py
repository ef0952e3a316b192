import pytest

from dragoman.push.schedule import (
    Answered,
    Forbidden,
    Outcome,
    Unanswered,
    Unsendable,
    Verdict,
    verdict_of,
)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_says_that_it_has_come(status: int) -> None:
    assert verdict_of(Answered(status=status)) is Verdict.DELIVERED


@pytest.mark.parametrize("status", [408, 409, 421, 423, 425, 429, 500, 502, 503, 504, 520, 599])
def test_what_will_pass_is_tried_for_long(status: int) -> None:
    assert verdict_of(Answered(status=status)) is Verdict.RETRY


@pytest.mark.parametrize("status", [401, 402, 403, 404, 407, 418, 451])
def test_what_may_be_a_deployment_is_tried_a_few_times(status: int) -> None:
    assert verdict_of(Answered(status=status)) is Verdict.RETRY_BRIEFLY


@pytest.mark.parametrize("status", [301, 302, 304, 307, 308, 400, 405, 410, 413, 415, 422, 501])
def test_what_will_always_be_so_is_given_up(status: int) -> None:
    assert verdict_of(Answered(status=status)) is Verdict.GIVE_UP


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Unanswered(finding="reset"), Verdict.RETRY),
        # A rule for URLs will always refuse this one; a name may be found elsewhere tomorrow.
        (Forbidden(finding="port"), Verdict.GIVE_UP),
        (Forbidden(finding="private", is_of_address=True), Verdict.RETRY_BRIEFLY),
        (Unsendable(finding="token"), Verdict.GIVE_UP),
    ],
)
def test_what_comes_of_no_answer(outcome: Outcome, verdict: Verdict) -> None:
    assert verdict_of(outcome) is verdict


def test_every_outcome_says_what_it_is() -> None:
    assert Answered(status=503).finding == "HTTP status 503"
    assert Unanswered(finding="reset").finding == "reset"
