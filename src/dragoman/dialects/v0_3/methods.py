"""The JSON-RPC method names of 0.2 and 0.3 (0.x reference, 3.3)."""

from __future__ import annotations

from typing import Final

from dragoman.model.operations import Operation

__all__ = ("METHODS", "NAMES")

NAMES: Final = {
    Operation.SEND_MESSAGE: "message/send",
    Operation.SEND_STREAMING_MESSAGE: "message/stream",
    Operation.GET_TASK: "tasks/get",
    # 4.4: no version of the text has it, late peers of 0.3 do.
    Operation.LIST_TASKS: "tasks/list",
    Operation.CANCEL_TASK: "tasks/cancel",
    Operation.SUBSCRIBE_TO_TASK: "tasks/resubscribe",
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: "tasks/pushNotificationConfig/set",
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: "tasks/pushNotificationConfig/get",
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: "tasks/pushNotificationConfig/list",
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: "tasks/pushNotificationConfig/delete",
    Operation.GET_EXTENDED_AGENT_CARD: "agent/getAuthenticatedExtendedCard",
}

METHODS: Final = {name: operation for operation, name in NAMES.items()} | {
    # 4.2: what 0.2.6 and one section of 0.3 call it.
    "agent/authenticatedExtendedCard": Operation.GET_EXTENDED_AGENT_CARD,
}
