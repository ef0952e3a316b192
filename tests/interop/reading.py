"""What tests read out of what a peer has printed."""

from tests.wire import Json

__all__ = ("kinds", "said", "texts")


def texts(holder: Json) -> list[str | None]:
    """Return the texts of the parts of a message or an artifact."""
    return [part.get("text") for part in holder["parts"]]


def said(task: Json) -> list[list[str | None]]:
    """Return the texts of a task's history, a list for each message."""
    return [texts(message) for message in task["history"]]


def kinds(events: list[Json]) -> list[str]:
    """Return what each event of a stream is: its state, or artifactUpdate, or message."""
    told: list[str] = []
    for event in events:
        body = event.get("task") or event.get("statusUpdate")
        kind = next(iter(event))
        told.append(f"{kind} {body['status']['state']}" if body else kind)
    return told
