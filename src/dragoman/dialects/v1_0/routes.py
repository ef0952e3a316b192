"""The HTTP+JSON routes of 1.0 (reference section 4.1), without their tenant variants.

A template is matched segment by segment. ``{x}`` is one segment, ``{x}:verb`` one that ends in a
verb. The first template with the right shape decides, so those with a verb precede the plain id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ("ROUTES",)

# R-11.3-1. The variables have the JSON names of the fields they fill.
ROUTES: Final[Mapping[str, Mapping[str, Operation]]] = {
    "/message:send": {"POST": Operation.SEND_MESSAGE},
    "/message:stream": {"POST": Operation.SEND_STREAMING_MESSAGE},
    "/tasks": {"GET": Operation.LIST_TASKS},
    "/tasks/{id}:cancel": {"POST": Operation.CANCEL_TASK},
    # the proto says GET, the prose says POST.
    "/tasks/{id}:subscribe": {
        "GET": Operation.SUBSCRIBE_TO_TASK,
        "POST": Operation.SUBSCRIBE_TO_TASK,
    },
    "/tasks/{id}": {"GET": Operation.GET_TASK},
    "/tasks/{taskId}/pushNotificationConfigs": {
        "GET": Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
        "POST": Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    },
    "/tasks/{taskId}/pushNotificationConfigs/{id}": {
        "GET": Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
        "DELETE": Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
    },
    "/extendedAgentCard": {"GET": Operation.GET_EXTENDED_AGENT_CARD},
}
