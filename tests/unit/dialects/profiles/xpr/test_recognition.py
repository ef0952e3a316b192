import msgspec
import pytest

from dragoman.dialects.profiles.base import Claim
from dragoman.dialects.profiles.xpr.recognition import recognise

XPR, OTHER, BY_TASK = Claim.YES, Claim.NO, Claim.ASK_TASK
TYPED = {"message": {"role": "user", "parts": [{"type": "text", "text": "x"}]}}
KIND = {"message": {"role": "user", "parts": [{"kind": "text", "text": "x"}]}}
BOTH = {"message": {"role": "user", "parts": [{"type": "text", "kind": "text", "text": "x"}]}}
NAMED = {"message": {**TYPED["message"], "messageId": "m"}}
KIND_NAMED = {"message": {**KIND["message"], "messageId": "m"}}
CLAIMED = {**NAMED, "xpr:callerAccount": "alice"}


@pytest.mark.parametrize(
    ("method", "params", "expected", "unexpected"),
    [
        # What clients of the network write.
        ("message/send", TYPED, XPR, XPR),
        ("message/send", CLAIMED, XPR, XPR),
        ("tasks/get", {"id": "t", "xpr:callerAccount": "alice"}, XPR, XPR),
        # What only one who expects it takes for theirs.
        ("message/send", KIND, XPR, OTHER),
        ("message/send", BOTH, XPR, OTHER),
        ("message/send", {}, XPR, OTHER),
        ("message/send", {"message": 7}, XPR, OTHER),
        ("message/stream", TYPED, XPR, OTHER),
        # A message with an id is one of 0.2 and later, unless the params name its task.
        ("message/send", {**NAMED, "id": "t"}, XPR, XPR),
        ("message/send", {**KIND_NAMED, "id": "t"}, OTHER, OTHER),
        ("message/send", NAMED, OTHER, OTHER),
        ("message/stream", NAMED, OTHER, OTHER),
        ("tasks/get", {"id": "t"}, BY_TASK, BY_TASK),
        ("tasks/cancel", {}, BY_TASK, BY_TASK),
        # 0.1 has parts by type as well, and a method of its own.
        ("tasks/send", TYPED, OTHER, OTHER),
        ("tasks/send", CLAIMED, XPR, XPR),
    ],
)
def test_requests_are_told_by_what_they_say(
    method: str, params: object, expected: Claim, unexpected: Claim
) -> None:
    body = msgspec.json.encode(params)
    for is_expected, verdict in ((True, expected), (False, unexpected)):
        found = recognise(method, body, is_expected=is_expected, is_known=True)
        assert found is verdict


@pytest.mark.parametrize("is_expected", [True, False])
def test_a_method_that_nobody_has_is_refused_where_it_is_expected(*, is_expected: bool) -> None:
    found = recognise("dance", b"{}", is_expected=is_expected, is_known=False)
    assert found is (XPR if is_expected else OTHER)
