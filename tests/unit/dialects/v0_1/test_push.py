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


def test_a_webhook_is_read() -> None:
    params = (
        b'{"id":"t","pushNotificationConfig":{"id":"p","url":"https://h.example","token":"k",'
        b'"authentication":{"schemes":["Bearer"],"credentials":"c","issuer":"x"}}}'
    )
    # It has no id in 0.1.
    assert V0_1_DIALECT.decode_request(SET, params).request == msgspec.structs.replace(
        CONFIG, tenant="", id="", task_id="t"
    )


@pytest.mark.parametrize("params", [b'{"id":"t"}', b'{"id":"t","pushNotificationConfig":null}'])
def test_setting_no_webhook_is_refused(params: bytes) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        V0_1_DIALECT.decode_request(SET, params)
    assert caught.value.violations == (FieldViolation("pushNotificationConfig", "is required"),)


def test_a_webhook_has_an_address() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        V0_1_DIALECT.decode_request(SET, b'{"id":"t","pushNotificationConfig":{}}')
    assert caught.value.violations == (FieldViolation("pushNotificationConfig.url", "is required"),)
