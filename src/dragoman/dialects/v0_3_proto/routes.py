"""The HTTP+JSON routes of 0.3, of both its JSON shapes, without their prefix ``/v1``.

Templates are matched as in 1.0: segment by segment, the first with the right shape decides, and a
variable has the JSON name of the field it fills.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ("ROUTES",)

_CONFIGS: Final = {
    "GET": Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    "POST": Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
}
_CONFIG: Final = {
    "GET": Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
    "DELETE": Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
}

# 0.x reference, 4.3.
ROUTES: Final[Mapping[str, Mapping[str, Operation]]] = {
    "/message:send": {"POST": Operation.SEND_MESSAGE},
    "/message:stream": {"POST": Operation.SEND_STREAMING_MESSAGE},
    # Named by the prose alone; the proto has no listing.
    "/tasks": {"GET": Operation.LIST_TASKS},
    "/tasks/{id}:cancel": {"POST": Operation.CANCEL_TASK},
    # The proto says GET, the prose says POST, and each has clients.
    "/tasks/{id}:subscribe": {
        "GET": Operation.SUBSCRIBE_TO_TASK,
        "POST": Operation.SUBSCRIBE_TO_TASK,
    },
    "/tasks/{id}": {"GET": Operation.GET_TASK},
    "/tasks/{taskId}/pushNotificationConfigs": _CONFIGS,
    "/tasks/{taskId}/pushNotificationConfigs/{id}": _CONFIG,
    # A slip of the pen in the proto of 0.3.0.
    "/task/{taskId}/pushNotificationConfigs": _CONFIGS,
    # 0.2.2 to 0.2.4 (0.x reference, 3.9).
    "/tasks/{taskId}/pushNotifications": _CONFIGS,
    "/tasks/{taskId}/pushNotifications/{id}": _CONFIG,
    "/card": {"GET": Operation.GET_EXTENDED_AGENT_CARD},
}
