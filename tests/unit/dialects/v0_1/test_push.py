import msgspec
import pytest

from dragoman.dialects.v0_1.codec import V0_1, V0_1_DIALECT
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.operations import Operation
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig

SET = Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
CONFIG = TaskPushNotificationConfig(
    tenant="acme",
    id="p",
    task_id="server-id",
    url="https://h.example",
    token="k",  # noqa: S106 - an example
    authentication=AuthenticationInfo(scheme="Bearer", credentials="c"),
)


def read_scheme(*schemes: str) -> str | None:
    params = {
        "id": "t",
        "pushNotificationConfig": {"url": "u", "authentication": {"schemes": schemes}},
    }
    config = V0_1_DIALECT.decode_request(SET, msgspec.json.encode(params)).request
    assert isinstance(config, TaskPushNotificationConfig)
    return config.authentication.scheme if config.authentication else None


def test_a_webhook_is_written_under_the_id_the_client_knows() -> None:
    for operation in (SET, Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG):
        wire = V0_1("t-9").encode_result(operation, CONFIG)
        assert msgspec.json.decode(wire) == {
            "id": "t-9",
            "pushNotificationConfig": {
                "url": "https://h.example",
                "token": "k",
                "authentication": {"schemes": ["Bearer"], "credentials": "c"},
            },
        }


def test_what_a_webhook_does_not_have_is_left_out() -> None:
    bare = TaskPushNotificationConfig(
        task_id="t", url="u", authentication=AuthenticationInfo(scheme="Basic")
    )
    assert V0_1_DIALECT.encode_result(SET, bare) == (
        b'{"id":"t","pushNotificationConfig":{"url":"u","authentication":{"schemes":["Basic"]}}}'
    )


def test_a_webhook_is_read() -> None:
    params = (
        b'{"id":"t","pushNotificationConfig":{"url":"https://h.example","token":"k",'
        b'"authentication":{"schemes":["Bearer"],"credentials":"c","issuer":"x"}}}'
    )
    assert V0_1_DIALECT.decode_request(SET, params).request == msgspec.structs.replace(
        CONFIG, tenant="", id="", task_id="t"
    )


@pytest.mark.parametrize(
    ("schemes", "scheme"),
    [
        (("Digest", "Basic", "Bearer"), "Bearer"),
        (("Digest", "basic"), "basic"),
        (("Digest", "Negotiate"), "Digest"),
        (("", "Digest"), "Digest"),
        (("",), None),
        ((), None),
    ],
)
def test_of_several_schemes_one_is_kept(schemes: tuple[str, ...], scheme: str | None) -> None:
    assert read_scheme(*schemes) == scheme


@pytest.mark.parametrize("params", [b'{"id":"t"}', b'{"id":"t","pushNotificationConfig":null}'])
def test_setting_no_webhook_is_refused(params: bytes) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        V0_1_DIALECT.decode_request(SET, params)
    assert caught.value.violations == (FieldViolation("pushNotificationConfig", "is required"),)


def test_a_webhook_has_an_address() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        V0_1_DIALECT.decode_request(SET, b'{"id":"t","pushNotificationConfig":{}}')
    assert caught.value.violations == (FieldViolation("pushNotificationConfig.url", "is required"),)
