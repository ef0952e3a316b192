"""Limits on how often: which apply to whom, and what a refusal tells."""

from __future__ import annotations

import pytest

from dragoman.bus.base import Spent
from dragoman.errors import RateLimitedError, UsageError
from dragoman.model.operations import Operation
from dragoman.server.admission.rate_limits import (
    RateLimits,
    allowance,
    allowance_headers,
    refusal_headers,
)
from dragoman.server.settings import RateSettings
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import SetBackClock

SEND, GET, LIST = Operation.SEND_MESSAGE, Operation.GET_TASK, Operation.LIST_TASKS


def limits(clock: FakeClock | None = None, **settings: object) -> RateLimits:
    return RateLimits(RateSettings(**settings), clock or FakeClock())  # type: ignore[arg-type] - each test has its own


def left(rates: RateLimits, operation: Operation = GET, caller: str = "a", tenant: str = "") -> int:
    """Count an operation and return what remains."""
    verdict = rates.admit(operation, caller, tenant)
    assert verdict is not None
    return verdict.remaining


# --- at the gate --------------------------------------------------------------------------------


def test_without_limits_there_is_nothing_to_ask() -> None:
    rates = limits()
    assert not rates.is_at_gate
    assert not rates.is_at_door
    assert rates.admit(GET, "a", "") is None
    assert rates.meet("203.0.113.5") is None


def test_an_allowance_comes_back_although_the_clock_was_set_back() -> None:
    clock = FakeClock()
    rates = RateLimits(RateSettings(rate_limit="10/min"), SetBackClock(clock))
    assert left(rates, SEND) == 0
    with pytest.raises(RateLimitedError):
        left(rates, SEND)
    clock.advance(60)
    assert left(rates, SEND) == 0


def test_operations_count_by_their_weight() -> None:
    rates = limits(rate_limit="100/min")
    assert left(rates, GET) == 99
    assert left(rates, SEND) == 89
    assert left(rates, LIST) == 84


def test_weights_can_be_set() -> None:
    rates = limits(rate_limit="100/min", rate_limit_weights={"SendMessage": 1, "GetTask": 0})
    assert left(rates, SEND) == 99
    assert left(rates, GET) == 99


def test_each_caller_has_an_allowance_of_its_own() -> None:
    rates = limits(rate_limit="10/min")
    assert left(rates, SEND, "a") == 0
    assert left(rates, SEND, "b") == 0
    with pytest.raises(RateLimitedError):
        rates.admit(GET, "a", "")


def test_a_refusal_says_when_to_come_back() -> None:
    clock = FakeClock()
    rates = limits(clock, rate_limit="10/min")
    left(rates, SEND)
    with pytest.raises(
        RateLimitedError, match="the limit for you is reached; try again in 6 s"
    ) as e:
        rates.admit(GET, "a", "")
    assert e.value.retry_after_seconds == 6
    assert e.value.metadata == {
        "limit": "10",
        "remaining": "0",
        "reset": str(clock.now_ms() // 1000 + 60),
    }
    clock.advance(6)
    assert left(rates, GET) == 0


def test_a_tenant_has_an_allowance_for_all_its_callers() -> None:
    rates = limits(rate_limit_per_tenant="20/min")
    left(rates, SEND, "a", "t")
    left(rates, SEND, "b", "t")
    with pytest.raises(RateLimitedError, match="your tenant"):
        rates.admit(GET, "c", "t")
    assert left(rates, GET, "c", "other") == 19


def test_an_operation_can_have_a_limit_of_its_own() -> None:
    rates = limits(rate_limit_per_operation={"SendMessage": "2/min"})
    # By the number of calls, whatever they weigh.
    assert [left(rates, SEND) for _ in range(2)] == [1, 0]
    with pytest.raises(RateLimitedError, match="you for SendMessage"):
        rates.admit(SEND, "a", "")
    assert rates.admit(GET, "a", "") is None


def test_what_is_told_is_the_least_that_is_left() -> None:
    rates = limits(rate_limit="100/min", rate_limit_per_operation={"SendMessage": "3/min"})
    verdict = rates.admit(SEND, "a", "")
    assert verdict is not None
    assert (verdict.limit, verdict.remaining) == (3, 2)


def test_who_is_refused_by_one_limit_uses_up_no_other() -> None:
    rates = limits(rate_limit="10/min", rate_limit_per_tenant="100/min")
    left(rates, SEND, "noisy", "t")
    for _ in range(50):
        with pytest.raises(RateLimitedError, match="for you"):
            rates.admit(SEND, "noisy", "t")
    verdict = rates.admit(GET, "other", "t")
    assert verdict is not None
    # Of its tenant's 100, one send and this are gone; of its own 10, this.
    assert verdict.remaining == 9
    assert sum(rates.admit(SEND, f"other {n}", "t") is not None for n in range(8)) == 8


# --- at the door --------------------------------------------------------------------------------


def test_requests_are_counted_by_their_address() -> None:
    rates = limits(rate_limit_per_address="2/s")
    assert rates.is_at_door
    verdict = rates.meet("203.0.113.5")
    assert verdict is not None
    assert verdict.remaining == 1
    rates.meet("203.0.113.5")
    with pytest.raises(RateLimitedError, match="your address is reached"):
        rates.meet("203.0.113.5")
    rates.meet("203.0.113.6")


def test_nobody_can_try_out_many_credentials() -> None:
    clock = FakeClock()
    rates = limits(clock, rate_limit_refusals="3/min")
    for _ in range(3):
        rates.meet("203.0.113.5")
        rates.turned_away("203.0.113.5")
    with pytest.raises(RateLimitedError, match="bad credentials"):
        rates.meet("203.0.113.5")
    rates.meet("203.0.113.6")
    clock.advance(20)
    rates.meet("203.0.113.5")


def test_the_door_asks_nothing_until_somebody_was_turned_away() -> None:
    clock = FakeClock()
    rates = limits(clock, rate_limit_refusals="3/min")
    assert not rates.is_at_door
    rates.turned_away("203.0.113.5")
    assert rates.is_at_door
    for _ in range(2):
        clock.advance(60)
        rates.meet("203.0.113.6")
    assert not rates.is_at_door


def test_good_requests_are_no_refusals() -> None:
    rates = limits(rate_limit_refusals="1/min")
    rates.turned_away("203.0.113.6")
    for _ in range(10):
        rates.meet("203.0.113.5")


# --- together with other replicas ---------------------------------------------------------------


def sharing(**settings: object) -> tuple[RateLimits, RateLimits, list[Spent]]:
    """Return the limits of two replicas who hear of each other, and what was said."""
    a, b, said = limits(None, **settings), limits(None, **settings), list[Spent]()

    def tell(other: RateLimits, spent: Spent) -> None:
        said.append(spent)
        other.hear(spent)

    a.share(lambda spent: tell(b, spent))
    b.share(lambda spent: tell(a, spent))
    return a, b, said


def admitted(rates: RateLimits, caller: str = "a", tenant: str = "") -> bool:
    try:
        rates.admit(GET, caller, tenant)
    except RateLimitedError:
        return False
    return True


def test_replicas_keep_one_allowance_together() -> None:
    a, b, _ = sharing(rate_limit="80/h")
    allowed = sum(admitted(each) for _ in range(80) for each in (a, b))
    # What is less than an eighth is not told.
    assert 80 <= allowed <= 80 + 10


def test_what_one_replica_has_let_through_is_missing_at_the_other() -> None:
    a, b, _ = sharing(rate_limit="80/h")
    for _ in range(8):
        a.admit(SEND, "a", "")
    assert not admitted(b)
    assert admitted(b, caller="b")


def test_every_limit_is_kept_together() -> None:
    a, b, _ = sharing(
        rate_limit="100/h",
        rate_limit_per_tenant="50/h",
        rate_limit_per_operation={"GetTask": "3/h"},
    )
    assert [admitted(each, "a", "t") for each in (a, b, a, b)] == [True, True, True, False]
    for number in range(4):
        a.admit(SEND, f"caller {number}", "t")
    with pytest.raises(RateLimitedError, match="your tenant"):
        b.admit(SEND, "another", "t")


def test_addresses_and_refusals_are_kept_together() -> None:
    a, b, _ = sharing(rate_limit_per_address="2/h", rate_limit_refusals="1/h")
    a.meet("203.0.113.5")
    b.meet("203.0.113.5")
    with pytest.raises(RateLimitedError, match="your address is"):
        a.meet("203.0.113.5")
    b.turned_away("203.0.113.9")
    with pytest.raises(RateLimitedError, match="bad credentials"):
        a.meet("203.0.113.9")


def test_nobody_is_named_to_the_others() -> None:
    a, _, said = sharing(rate_limit="10/h", rate_limit_per_address="10/h")
    a.meet("203.0.113.5")
    a.admit(GET, "alice@example.com", "")
    text = " ".join(spent.allowance for spent in said)
    assert len(said) == 2
    assert "203.0.113.5" not in text
    assert "alice" not in text


def test_a_limit_that_is_not_set_here_is_not_charged() -> None:
    rates = limits(rate_limit="10/h")
    rates.share(lambda _: None)
    rates.hear(Spent("rate_limit_per_tenant/x", 10))
    rates.hear(Spent("nonsense", 10))
    assert left(rates) == 9


def test_nobody_gets_anything_back_by_what_is_told() -> None:
    a, b, said = sharing(rate_limit="10/h")
    left(a)
    b.hear(Spent(said[0].allowance, -5))
    assert left(b) == 8


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"rate_limit": "many"}, "rate_limit: 'many' is no rate"),
        ({"rate_limit_per_address": "1"}, "rate_limit_per_address: '1' is no rate"),
        ({"rate_limit_per_tenant": "1/x"}, "rate_limit_per_tenant: '1/x' is no rate"),
        ({"rate_limit_refusals": "x"}, "rate_limit_refusals: 'x' is no rate"),
        (
            {"rate_limit_per_operation": {"SendMessage": "x"}},
            "rate_limit_per_operation.SendMessage: 'x' is no rate",
        ),
        (
            {"rate_limit_per_operation": {"Send": "1/s"}},
            "rate_limit_per_operation: there is no operation 'Send'; there are SendMessage, ",
        ),
        ({"rate_limit_weights": {"Send": 1}}, "rate_limit_weights: there is no operation 'Send'"),
        # It would be refused for ever.
        (
            {"rate_limit": "5/s"},
            "rate_limit: SendMessage weighs 10 and could never be done at 5 units",
        ),
        ({"rate_limit_per_tenant": "5/s"}, "rate_limit_per_tenant: SendMessage weighs 10"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        limits(None, **settings)
    assert str(caught.value).startswith(told)


# --- headers ------------------------------------------------------------------------------------


def test_what_is_left_is_told_in_headers() -> None:
    clock = FakeClock(1_000_500)
    verdict = limits(clock, rate_limit="10/s").admit(GET, "a", "")
    assert verdict is not None
    assert allowance_headers(verdict) == (
        (b"x-ratelimit-limit", b"10"),
        (b"x-ratelimit-remaining", b"9"),
        # Rounded up: whoever comes back then has all of it.
        (b"x-ratelimit-reset", b"1001"),
    )
    refusal = RateLimitedError(metadata=allowance(verdict))
    assert refusal_headers(refusal) == allowance_headers(verdict)


@pytest.mark.parametrize(
    "told", [{}, {"limit": "1"}, {"limit": "1", "remaining": "x", "reset": "\r\n"}]
)
def test_what_is_no_allowance_is_not_told(told: dict[str, str]) -> None:
    assert refusal_headers(RateLimitedError(metadata=told)) == ()
