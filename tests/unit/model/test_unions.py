"""Every one-of of the model refuses none and two."""

import msgspec
import pytest

from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageResponse
from dragoman.model.parts import Part
from dragoman.model.security import (
    ImplicitOAuthFlow,
    MutualTlsSecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    PasswordOAuthFlow,
    SecurityScheme,
)
from dragoman.model.tasks import Task, TaskState, TaskStatus

TASK = Task(id="t", status=TaskStatus(state=TaskState.WORKING))
MESSAGE = Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),))


@pytest.mark.requirement("R-3.1.1-5", "R-9.4-1")
@pytest.mark.parametrize(
    ("kind", "two"),
    [
        (SendMessageResponse, {"task": TASK, "message": MESSAGE}),
        (StreamResponse, {"task": TASK, "message": MESSAGE}),
        (OAuthFlows, {"implicit": ImplicitOAuthFlow(), "password": PasswordOAuthFlow()}),
        (
            SecurityScheme,
            {
                "mtls_security_scheme": MutualTlsSecurityScheme(),
                "open_id_connect_security_scheme": OpenIdConnectSecurityScheme(
                    open_id_connect_url="u"
                ),
            },
        ),
    ],
)
def test_a_union_holds_exactly_one_member(
    kind: type[msgspec.Struct], two: dict[str, object]
) -> None:
    for name, value in two.items():
        assert getattr(kind(**{name: value}), name) is value
    with pytest.raises(ValueError, match="needs exactly one"):
        kind()
    with pytest.raises(ValueError, match="needs exactly one"):
        kind(**two)
