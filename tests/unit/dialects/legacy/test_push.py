import pytest

from dragoman.dialects.fields import Fields
from dragoman.dialects.legacy.push import read_authentication, read_webhook, webhook_members
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig

NONCE = "k"
CONFIG = TaskPushNotificationConfig(
    url="u",
    token=NONCE,
    authentication=AuthenticationInfo(scheme="Bearer", credentials="c"),
)
MEMBERS = {
    "url": "u",
    "token": "k",
    "authentication": {"schemes": ["Bearer"], "credentials": "c"},
}


def test_a_webhook_is_written_and_read() -> None:
    assert webhook_members(CONFIG) == MEMBERS
    assert read_webhook(Fields(MEMBERS)) == CONFIG


def test_the_ids_are_told_by_whoever_reads() -> None:
    webhook = Fields({"url": "u", "id": "x", "taskId": "y"})
    assert read_webhook(webhook, task_id="t", config_id="p") == TaskPushNotificationConfig(
        id="p", task_id="t", url="u"
    )


def test_what_is_empty_is_left_out() -> None:
    hawk = TaskPushNotificationConfig(
        id="p", task_id="t", url="u", authentication=AuthenticationInfo(scheme="Hawk")
    )
    assert webhook_members(hawk) == {"url": "u", "authentication": {"schemes": ["Hawk"]}}
    assert webhook_members(TaskPushNotificationConfig(url="u")) == {"url": "u"}


@pytest.mark.parametrize(
    ("schemes", "chosen"),
    [
        # Those that most webhooks understand come first, in any case.
        (["Digest", "basic", "Bearer"], "Bearer"),
        (["Digest", "BASIC"], "BASIC"),
        # Else the first that has a name.
        (["", "Digest", "Hawk"], "Digest"),
    ],
)
def test_of_several_schemes_one_is_kept(schemes: list[str], chosen: str) -> None:
    assert read_authentication(schemes, "c") == AuthenticationInfo(scheme=chosen, credentials="c")


@pytest.mark.parametrize("schemes", [[], ["", ""]])
def test_without_a_scheme_there_is_no_authentication(schemes: list[str]) -> None:
    assert read_authentication(schemes, "c") is None
    webhook = Fields({"url": "u", "authentication": {"schemes": schemes, "credentials": "c"}})
    assert read_webhook(webhook) == TaskPushNotificationConfig(url="u")


@pytest.mark.parametrize(
    ("webhook", "field", "description"),
    [
        ({}, "at.url", "is required"),
        ({"url": ""}, "at.url", "must not be empty"),
        ({"url": "u", "token": 5}, "at.token", "expected string, got integer"),
        (
            {"url": "u", "authentication": {"schemes": "Bearer"}},
            "at.authentication.schemes",
            "expected array, got string",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_path(webhook: object, field: str, description: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        read_webhook(Fields(webhook, "at"))
    assert caught.value.violations == (FieldViolation(field, description),)
