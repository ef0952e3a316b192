from base64 import b64decode, b64encode

import pytest

from dragoman.errors import UnauthenticatedError, UsageError
from dragoman.model.push import AuthenticationInfo
from dragoman.push.hmac_signing import check_hmac, hmac_headers, is_hmac, read_secret

NOW_MS = 1_731_705_121_999
BODY = b'{"event_type":"ping","data":{"success":true}}'
KEY, OTHER = b"k" * 24, b"o" * 24


def headers(*secrets: bytes) -> dict[str, str]:
    return hmac_headers(secrets, notification_id="n-1", now_ms=NOW_MS, body=BODY)


def check(shown: dict[str, str], *secrets: bytes, body: bytes = BODY, later_ms: int = 0) -> None:
    check_hmac(shown, secrets, body=body, now_ms=NOW_MS + later_ms, max_age_seconds=300)


def test_it_is_what_standard_webhooks_has() -> None:
    # The example of that specification, whose secret is shorter than it asks for itself.
    assert hmac_headers(
        (b64decode("plJ3nmyCDGBKInavdOK15jsl"),),
        notification_id="msg_loFOjxBNrRLzqYUf",
        now_ms=NOW_MS,
        body=BODY,
    ) == {
        "webhook-id": "msg_loFOjxBNrRLzqYUf",
        "webhook-timestamp": "1731705121",
        "webhook-signature": "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
    }


def test_what_is_signed_is_accepted_by_who_has_one_of_the_secrets() -> None:
    check(headers(KEY), KEY)
    check(headers(KEY, OTHER), OTHER)
    check(headers(OTHER), KEY, OTHER)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_every_header_is_needed(name: str) -> None:
    shown = headers(KEY)
    del shown[name]
    with pytest.raises(UnauthenticatedError, match=f"The header {name} is missing"):
        check(shown, KEY)


@pytest.mark.parametrize(
    "changes",
    [
        {"webhook-id": "n-2"},
        {"webhook-timestamp": "1731705122"},
        {"webhook-signature": "v1,AAAA"},
        # Versions that are not known do not count.
        {"webhook-signature": headers(KEY)["webhook-signature"].replace("v1", "v2")},
    ],
)
def test_nothing_that_is_signed_can_be_changed(changes: dict[str, str]) -> None:
    with pytest.raises(UnauthenticatedError, match="is not that of this body"):
        check({**headers(KEY), **changes}, KEY)


def test_another_body_or_another_secret_is_refused() -> None:
    with pytest.raises(UnauthenticatedError, match="is not that of this body"):
        check(headers(KEY), KEY, body=BODY + b" ")
    with pytest.raises(UnauthenticatedError, match="is not that of this body"):
        check(headers(KEY), OTHER)


@pytest.mark.requirement("R-T.str-11")
@pytest.mark.parametrize("later_ms", [302_000, -302_000])
def test_what_was_not_signed_just_now_is_refused(later_ms: int) -> None:
    with pytest.raises(UnauthenticatedError, match="too far from the time here"):
        check(headers(KEY), KEY, later_ms=later_ms)
    check(headers(KEY), KEY, later_ms=later_ms // 2)


@pytest.mark.parametrize("timestamp", ["soon", "-1", "1.5", "²", "9" * 400])
def test_a_time_that_is_none_is_refused(timestamp: str) -> None:
    with pytest.raises(UnauthenticatedError, match="must be in seconds"):
        check({**headers(KEY), "webhook-timestamp": timestamp}, KEY)


def test_a_secret_is_base64_or_a_text() -> None:
    assert read_secret("whsec_" + b64encode(KEY).decode()) == KEY
    assert read_secret("a text of some length, ä") == "a text of some length, ä".encode()


@pytest.mark.parametrize(
    ("secret", "finding"),
    [
        ("short", "at least 24 bytes"),
        ("whsec_AAAA", "at least 24 bytes"),
        ("whsec_no base64", "must be base64"),
    ],
)
def test_a_weak_secret_is_refused(secret: str, finding: str) -> None:
    with pytest.raises(UsageError, match=finding):
        read_secret(secret)


@pytest.mark.parametrize(
    ("scheme", "is_one"),
    [("HMAC", True), ("hmac-sha256", True), ("Bearer", False), ("ApiKey", False)],
)
def test_the_scheme_tells_whether_a_secret_is_to_sign_with(scheme: str, *, is_one: bool) -> None:
    assert is_hmac(AuthenticationInfo(scheme=scheme, credentials="x")) is is_one
