import pytest

from dragoman.auth.incoming.authenticator import Principal
from dragoman.auth.incoming.verified_tokens import VerifiedTokens
from dragoman.errors import UsageError
from dragoman.testing.clock import FakeClock

ALICE = Principal(owner="alice")


def test_a_token_is_remembered_for_a_minute() -> None:
    clock = FakeClock()
    known = VerifiedTokens(clock)
    assert known.find(b"t") is None
    known.keep(b"t", ALICE)
    assert known.find(b"t") is ALICE
    assert known.find(b"u") is None
    clock.advance(59.999)
    assert known.find(b"t") is ALICE
    clock.advance(0.001)
    assert known.find(b"t") is None
    assert len(known) == 0


def test_being_asked_for_does_not_prolong_it() -> None:
    clock = FakeClock()
    known = VerifiedTokens(clock)
    known.keep(b"t", ALICE)
    clock.advance(30)
    assert known.find(b"t")
    clock.advance(30)
    assert known.find(b"t") is None


def test_it_is_never_remembered_past_its_end() -> None:
    clock = FakeClock()
    known = VerifiedTokens(clock)
    known.keep(b"t", Principal(owner="a", expires_ms=clock.now_ms() + 5_000))
    clock.advance(4.999)
    assert known.find(b"t")
    clock.advance(0.001)
    assert known.find(b"t") is None
    # One that is good only because clocks may differ is not remembered at all.
    known.keep(b"t", Principal(owner="a", expires_ms=clock.now_ms()))
    assert len(known) == 0


def test_of_too_many_the_least_recently_used_goes() -> None:
    known = VerifiedTokens(FakeClock(), most=2)
    known.keep(b"1", ALICE)
    known.keep(b"2", ALICE)
    assert known.find(b"1")
    known.keep(b"3", ALICE)
    assert len(known) == 2
    assert [known.find(token) for token in (b"1", b"2", b"3")] == [ALICE, None, ALICE]


def test_all_can_be_forgotten() -> None:
    known = VerifiedTokens(FakeClock())
    known.keep(b"t", ALICE)
    known.clear()
    assert known.find(b"t") is None


def test_remembering_can_be_turned_off() -> None:
    known = VerifiedTokens(FakeClock(), seconds=0)
    known.keep(b"t", ALICE)
    assert known.find(b"t") is None


@pytest.mark.parametrize("seconds", [-1, 60.1, float("nan")])
def test_nothing_is_remembered_longer_than_a_minute(seconds: float) -> None:
    with pytest.raises(UsageError, match="0 to 60 seconds"):
        VerifiedTokens(FakeClock(), seconds=seconds)


def test_no_token_is_kept_as_it_is() -> None:
    known = VerifiedTokens(FakeClock())
    known.keep(b"secret-token", ALICE)
    assert "secret-token" not in repr(vars(known))
