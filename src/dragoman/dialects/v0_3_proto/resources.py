"""Resource names, by which the proto of 0.3 calls tasks and their webhooks.

``tasks/{id}`` and ``tasks/{id}/pushNotificationConfigs/{id}``; they are built and read exactly so,
because some peers refuse any other form (0.x reference, 5.11).
"""

from __future__ import annotations

from typing import Final

__all__ = ("config_name", "parse_config_name", "parse_task_name", "task_name")

_TASKS: Final = "tasks/"
_CONFIGS: Final = "/pushNotificationConfigs/"
# 0.2.2 to 0.2.4 (0.x reference, 3.9).
_EARLY_CONFIGS: Final = "/pushNotifications/"


def task_name(task_id: str) -> str:
    """Return the name of a task."""
    return _TASKS + task_id


def config_name(task_id: str, config_id: str) -> str:
    """Return the name of a webhook."""
    return f"{_TASKS}{task_id}{_CONFIGS}{config_id}"


def parse_task_name(name: str) -> str:
    """Return the id of a task, "" if the name is not a task's."""
    return name.removeprefix(_TASKS) if name.startswith(_TASKS) else ""


def parse_config_name(name: str) -> tuple[str, str]:
    """Return the ids of a task and of its webhook, both "" if the name is not a webhook's."""
    for segment in (_CONFIGS, _EARLY_CONFIGS):
        task, found, config_id = name.partition(segment)
        task_id = parse_task_name(task)
        if found and task_id and config_id:
            return task_id, config_id
    return "", ""
