"""What tests read out of what a peer has printed."""

from __future__ import annotations

from typing import Any, cast

from tests.support.wire import Json

__all__ = ("final_marks", "in_words_of_1_0", "kinds", "said", "texts")


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


def final_marks(events: list[Json]) -> list[bool]:
    """Return the ``final`` of each status update of a stream before 1.0."""
    return [event["statusUpdate"]["final"] for event in events if "statusUpdate" in event]


def in_words_of_1_0(told: Any) -> Any:
    """Return the JSON of 0.2 and 0.3 in the words of 1.0, so that one test reads every peer.

    Members that are empty are left out: SDKs that read protobuf show them, others do not. What has
    no word in 1.0 stays: ``final``, and a whole card; so does what the driver itself has ``sent``.
    """
    if isinstance(told, list):
        return [in_words_of_1_0(item) for item in cast("list[Any]", told)]
    return _object(cast("Json", told)) if isinstance(told, dict) else told


def _object(told: Json) -> Json:
    match told:
        case {"protocolVersion": str()}:
            return told
        case {"kind": "text", "text": text}:
            return {"text": text} | _told(metadata=told.get("metadata"))
        case {"kind": "data", "data": data}:
            return {"data": data} | _told(metadata=told.get("metadata"))
        case {"kind": "file", "file": file}:
            return _told(
                raw=file.get("bytes"),
                url=file.get("uri"),
                filename=file.get("name"),
                mediaType=file.get("mimeType"),
                metadata=told.get("metadata"),
            )
        case _:
            return _told(**{name: _member(name, value) for name, value in told.items()})


def _told(**members: Any) -> Json:
    return {name: value for name, value in members.items() if value not in ("", [], {}, None)}


def _member(name: str, value: Any) -> Any:
    match name:
        case "kind":
            return None
        case "metadata" | "data" | "sent":
            return value
        case "state":
            return f"TASK_STATE_{str(value).upper().replace('-', '_')}"
        case "role":
            return f"ROLE_{str(value).upper()}"
        case _:
            return in_words_of_1_0(value)
