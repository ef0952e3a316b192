"""A span that records what it is told, until it ends.

It does as little as it can where it is made and changed: values are kept as they are given, and
looked at when they are written out, by another thread. There is no lock: each change is one step of
a dict or a list.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode

if TYPE_CHECKING:
    from types import TracebackType

    from opentelemetry.util import types

__all__ = ("MOST_ATTRIBUTES", "MOST_EVENTS", "MOST_LINKS", "Event", "RecordedSpan", "Scope")

MOST_ATTRIBUTES: Final = 128
MOST_EVENTS: Final = 128
MOST_LINKS: Final = 128
"""What OpenTelemetry keeps of each unless told otherwise. What comes later is counted alone."""


class Scope(Struct, frozen=True):
    """Who makes spans: a library, with what it says of itself."""

    name: str
    version: str = ""
    schema_url: str = ""
    attributes: Mapping[str, object] = {}


class Event(Struct, frozen=True, gc=False):
    """Something that happened during a span."""

    name: str
    at_ns: int
    attributes: Mapping[str, object]


class RecordedSpan(Span):
    """A span on its way to a collector. Once it has ended, it takes no further change.

    Attributes:
        parent: what it is part of, None at the root of a trace.
        lost_attributes, lost_events, lost_links: how many there was no room for.
        end_ns: when it has ended, None before.
    """

    __slots__ = (
        "_context",
        "_has_status_of_errors",
        "_now_ns",
        "_records_errors",
        "_take",
        "attributes",
        "end_ns",
        "events",
        "kind",
        "links",
        "lost_attributes",
        "lost_events",
        "lost_links",
        "name",
        "parent",
        "scope",
        "start_ns",
        "status",
        "status_text",
    )

    def __init__(
        self,
        scope: Scope,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        kind: SpanKind,
        start_ns: int,
        attributes: types.Attributes = None,
        *,
        take: Callable[[RecordedSpan], None],
        now_ns: Callable[[], int],
        records_errors: bool = True,
        has_status_of_errors: bool = True,
    ) -> None:
        """Begin.

        Args:
            take: gets the span when it has ended; called on whichever thread ends it.
            records_errors: whether an error that leaves a ``with`` of this span becomes an event.
            has_status_of_errors: whether it becomes the status.
        """
        self.scope = scope
        self.name = name
        self.parent = parent
        self.kind = kind
        self.start_ns = start_ns
        self.end_ns: int | None = None
        self.attributes: dict[str, types.AnyValue] = dict(attributes) if attributes else {}
        # Most spans have none of either.
        self.events: list[Event] | None = None
        self.links: list[tuple[SpanContext, Mapping[str, object]]] | None = None
        self.status = StatusCode.UNSET
        self.status_text = ""
        self.lost_attributes = self.lost_events = self.lost_links = 0
        while len(self.attributes) > MOST_ATTRIBUTES:
            self.attributes.popitem()
            self.lost_attributes += 1
        self._context = context
        self._take = take
        self._now_ns = now_ns
        self._records_errors = records_errors
        self._has_status_of_errors = has_status_of_errors

    def get_span_context(self) -> SpanContext:
        """Return what others know it by."""
        return self._context

    def is_recording(self) -> bool:
        """Return whether it has not ended."""
        return self.end_ns is None

    def set_attributes(self, attributes: Mapping[str, types.AnyValue]) -> None:
        """Set several attributes."""
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def set_attribute(self, key: str, value: types.AnyValue) -> None:
        """Set an attribute, in place of one of the same name if there is one."""
        if self.end_ns is not None:
            return
        if len(self.attributes) < MOST_ATTRIBUTES or key in self.attributes:
            self.attributes[key] = value
        else:
            self.lost_attributes += 1

    def add_event(
        self, name: str, attributes: types.Attributes = None, timestamp: int | None = None
    ) -> None:
        """Add something that happened, now unless a time is given in nanoseconds."""
        if self.end_ns is not None:
            return
        if self.events is None:
            self.events = []
        if len(self.events) < MOST_EVENTS:
            at_ns = self._now_ns() if timestamp is None else timestamp
            self.events.append(Event(name, at_ns, dict(attributes or {})))
        else:
            self.lost_events += 1

    def add_link(self, context: SpanContext, attributes: types.Attributes = None) -> None:
        """Link another span; one without valid ids counts only if something is said of it."""
        if self.end_ns is not None:
            return
        if not (context.is_valid or attributes or context.trace_state):
            return
        if self.links is None:
            self.links = []
        if len(self.links) < MOST_LINKS:
            self.links.append((context, dict(attributes or {})))
        else:
            self.lost_links += 1

    def update_name(self, name: str) -> None:
        """Give it another name."""
        if self.end_ns is None:
            self.name = name

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """Say how it went. OK is the last word, and nothing is unset again.

        Args:
            description: what is wrong, for an error given by its code alone.
        """
        if isinstance(status, Status):
            status, description = status.status_code, status.description
        if self.end_ns is not None or self.status is StatusCode.OK or status is StatusCode.UNSET:
            return
        self.status = status
        self.status_text = (description or "") if status is StatusCode.ERROR else ""

    def record_exception(
        self,
        exception: BaseException,
        attributes: types.Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,  # noqa: FBT001, FBT002 - as the API has it
    ) -> None:
        """Add an error as an event, under the names that the conventions have for it."""
        if self.end_ns is not None:
            return
        kind = type(exception)
        is_builtin = kind.__module__ == "builtins"
        found: dict[str, types.AnyValue] = {
            "exception.type": kind.__qualname__
            if is_builtin
            else f"{kind.__module__}.{kind.__qualname__}",
            "exception.message": str(exception),
            "exception.stacktrace": "".join(traceback.format_exception(exception)),
            "exception.escaped": str(escaped),
        }
        self.add_event("exception", {**found, **(attributes or {})}, timestamp)

    def end(self, end_time: int | None = None) -> None:
        """End it, now unless a time is given in nanoseconds; a second end changes nothing."""
        if self.end_ns is None:
            self.end_ns = self._now_ns() if end_time is None else end_time
            self._take(self)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if isinstance(exc_val, Exception):
            if self._records_errors:
                self.record_exception(exc_val)
            if self._has_status_of_errors:
                self.set_status(StatusCode.ERROR, f"{type(exc_val).__name__}: {exc_val}")
        self.end()
