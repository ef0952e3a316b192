"""The JSON-RPC method names of 0.1 (0.x reference, 2.3). They are case-sensitive."""

from __future__ import annotations

from typing import Final

from dragoman.model.operations import Operation

__all__ = ("CALLS", "METHODS")

METHODS: Final = {
    "tasks/send": Operation.SEND_MESSAGE,
    "tasks/sendSubscribe": Operation.SEND_STREAMING_MESSAGE,
    "tasks/get": Operation.GET_TASK,
    "tasks/cancel": Operation.CANCEL_TASK,
    "tasks/resubscribe": Operation.SUBSCRIBE_TO_TASK,
    "tasks/pushNotification/set": Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    # A task has one webhook or none, and none is no error: that is a list.
    "tasks/pushNotification/get": Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
}

CALLS: Final = {
    **{operation: method for method, operation in METHODS.items()},
    # 0.x reference, 5.1: a task has one webhook, so listing is getting; setting null clears it.
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: "tasks/pushNotification/get",
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: "tasks/pushNotification/set",
}
"""How a client asks for an operation; ListTasks and GetExtendedAgentCard have no way."""
