"""Names for what is different each time: the same conversation then reads the same.

Ids become ``<task-1>``, ``<context-1>``, ``<message-2>``, numbered by kind in the order in which
they first appear, so that what belongs together can still be seen. Times become ``<time>``: whether
two of them are equal is a matter of luck.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from dragoman.model.base import is_array, is_object

__all__ = ("with_stable_names",)

_KINDS: Final = {
    "taskId": "task",
    "referenceTaskIds": "task",
    "contextId": "context",
    "sessionId": "context",
    "messageId": "message",
    "artifactId": "artifact",
    "pushNotificationConfigId": "config",
    "pageToken": "page",
    "nextPageToken": "page",
}
"""The members that hold ids, in any version, and what they are ids of."""

_TIMES: Final = frozenset({"timestamp", "createdAt", "lastModified"})

_LONG: Final = 16
"""An id of so many characters is no word; where it stands in a text it is the id."""

_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_SEPARATOR: Final = re.compile(r"([/:?&=])")


def with_stable_names(conversation: object) -> object:
    """Return a copy of decoded JSON with names in the place of ids and times.

    Ids are known by the member that holds them. Where else they stand, they are known if they are
    long, and in a ``path`` also if they are not. A UUID that is no such id becomes ``<id-1>``.
    Applied to its own result it changes nothing.
    """
    names = _Names()
    names.learn(conversation)
    return names.applied(conversation)


class _Names:
    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def learn(self, value: object, member: str = "", kind: str = "") -> None:
        """Name the ids in a value, in their order; of a kind, the value is one."""
        if is_array(value):
            for element in value:
                self.learn(element, member, kind)
        elif is_object(value):
            for name, held in value.items():
                self.learn(held, name, _kind_of(name, value, member))
        elif kind and isinstance(value, str) and value:
            self._name(kind, value)

    def applied(self, value: object, member: str = "", kind: str = "") -> object:
        """Return a copy of a value with the names."""
        if is_array(value):
            return [self.applied(element, member, kind) for element in value]
        if is_object(value):
            return {
                name: self.applied(held, name, _kind_of(name, value, member))
                for name, held in value.items()
            }
        if not isinstance(value, str):
            return value
        if kind:
            return self._names.get(value, value)
        if member in _TIMES:
            return "<time>"
        return self._in_text(self._in_path(value) if member == "path" else value)

    def _name(self, kind: str, value: str) -> str:
        if value not in self._names:
            self._counts[kind] += 1
            self._names[value] = f"<{kind}-{self._counts[kind]}>"
        return self._names[value]

    def _in_path(self, path: str) -> str:
        return "".join(self._names.get(piece, piece) for piece in _SEPARATOR.split(path))

    def _in_text(self, text: str) -> str:
        long = sorted((each for each in self._names if len(each) >= _LONG), key=len, reverse=True)
        pattern = "|".join([*(re.escape(each) for each in long), _UUID])
        return re.sub(
            rf"(?<![\w-])(?:{pattern})(?![\w-])", lambda found: self._name("id", found[0]), text
        )


def _kind_of(name: str, owner: dict[str, object], member: str) -> str:
    """Return what the id is of that a member of an object holds; "" if it holds none."""
    if name != "id":
        return _KINDS.get(name, "")
    if "jsonrpc" in owner:
        return "call"
    # The id of a skill, say, is none of these, and the same each time.
    return "task" if "status" in owner or member == "params" else ""
