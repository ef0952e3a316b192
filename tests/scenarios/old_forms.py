"""The objects of every version of A2A, read and written by a stranger to the server.

Nothing here shares code or tables with the server: the members and names are those of the 0.x
reference (sections 2 to 5), written down a second time, and whatever is read is held against them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import ClassVar, Final, NamedTuple, TypeAlias

from tests.support.wire import Json

__all__ = (
    "GRAMMAR_0_1",
    "GRAMMAR_0_3",
    "GRAMMAR_1_0",
    "GRAMMAR_PROTO",
    "Blob",
    "Grammar",
    "Piece",
    "Saying",
    "Seen",
    "Step",
)


class Blob(NamedTuple):
    """A file that travels whole."""

    content: bytes
    name: str = ""
    media_type: str = ""


Piece: TypeAlias = str | Blob | Json
"""A part, whatever the version: a text, a file or data."""


class Saying(NamedTuple):
    """What somebody sends."""

    skill: str
    pieces: tuple[Piece, ...]
    task_id: str = ""
    context: str = ""
    is_waiting: bool = True


class Seen(NamedTuple):
    """A task as somebody was shown it; the state in the words of 0.3."""

    id: str
    context: str
    state: str
    said: list[Piece]
    """The message of its status."""
    results: list[list[Piece]]
    """Its artifacts."""
    history: list[list[Piece]]
    raw: Json


class Step(NamedTuple):
    """A frame of a stream as somebody was shown it."""

    kind: str
    """task, message, status or artifact."""
    task_id: str
    state: str
    pieces: list[Piece]
    is_final: bool
    raw: Json


# --- what the objects are made of ---------------------------------------------------------------

Shapes = Mapping[str, str]

# Section 2.4; the members with a star are required.
SHAPES_0_1: Final[Shapes] = {
    "Task": "id* sessionId status* artifacts history metadata",
    "TaskStatus": "state* message timestamp",
    "Message": "role* parts* metadata",
    "TextPart": "type* text* metadata",
    "FilePart": "type* file* metadata",
    "FileContent": "name mimeType bytes uri",
    "DataPart": "type* data* metadata",
    "Artifact": "name description parts* index append lastChunk metadata",
    "StatusEvent": "id* status* final metadata",
    "ArtifactEvent": "id* artifact* metadata",
}
# Section 3.4.
SHAPES_0_3: Final[Shapes] = {
    "Task": "kind* id* contextId* status* artifacts history metadata",
    "TaskStatus": "state* message timestamp",
    "Message": "kind* messageId* role* parts* taskId contextId metadata extensions "
    "referenceTaskIds",
    "TextPart": "kind* text* metadata",
    "FilePart": "kind* file* metadata",
    "FileContent": "bytes uri mimeType name",
    "DataPart": "kind* data* metadata",
    "Artifact": "artifactId* name description parts* metadata extensions",
    "StatusEvent": "kind* taskId* contextId* status* final* metadata",
    "ArtifactEvent": "kind* taskId* contextId* artifact* append lastChunk metadata",
}
# Section 4.4, by JSON name; with the late additions that all SDKs of 0.3 read.
SHAPES_PROTO: Final[Shapes] = {
    "Task": "id* contextId status* artifacts history metadata",
    "TaskStatus": "state* message timestamp",
    "Message": "messageId* contextId taskId role* content* metadata extensions",
    "TextPart": "text* metadata",
    "FilePart": "file* metadata",
    "FileContent": "fileWithUri fileWithBytes mimeType name",
    "DataPart": "data* metadata",
    "Artifact": "artifactId* name description parts* metadata extensions",
    "StatusEvent": "taskId* contextId* status* final metadata",
    "ArtifactEvent": "taskId* contextId* artifact* append lastChunk metadata",
}
SHAPES_1_0: Final[Shapes] = {
    "Task": "id* contextId status* artifacts history metadata",
    "TaskStatus": "state* message timestamp",
    "Message": "messageId* contextId taskId role* parts* metadata extensions referenceTaskIds",
    "TextPart": "text* metadata filename mediaType",
    "FilePart": "raw* metadata filename mediaType",
    "DataPart": "data* metadata filename mediaType",
    "Artifact": "artifactId* name description parts* metadata extensions",
    "StatusEvent": "taskId* contextId* status* metadata",
    "ArtifactEvent": "taskId* contextId* artifact* append lastChunk metadata",
}

# Section 5.4.
STATES: Final = (
    "submitted", "working", "completed", "failed", "canceled", "input-required", "rejected",
    "auth-required",
)  # fmt: skip
STATES_0_1: Final = {name: name for name in STATES[:6]}
STATES_0_3: Final = {name: name for name in STATES}
STATES_1_0: Final = {f"TASK_STATE_{n.upper().replace('-', '_')}": n for n in STATES}
STATES_PROTO: Final = {
    name.replace("CANCELED", "CANCELLED"): state for name, state in STATES_1_0.items()
}


class Grammar(ABC):
    """Reads and writes the objects of one wire form; what has another shape fails the test."""

    contents: ClassVar[str] = "parts"
    context: ClassVar[str] = "contextId"
    role: ClassVar[str] = "user"

    def __init__(self, shapes: Shapes, states: Mapping[str, str]) -> None:
        self._states = states
        self._shapes = {name: members.split() for name, members in shapes.items()}

    @abstractmethod
    def read_part(self, value: Json) -> Piece: ...

    @abstractmethod
    def write_part(self, piece: Piece) -> Json: ...

    @abstractmethod
    def unwrap(self, value: Json) -> tuple[str, Json]:
        """Return what an answer or a frame is, and its object."""

    def check(self, name: str, value: Json) -> Json:
        """Hold an object against its table; null is no value."""
        members = self._shapes[name]
        assert {member.strip("*") for member in members} >= set(value), (name, value)
        assert {member[:-1] for member in members if member.endswith("*")} <= set(value), value
        assert None not in value.values(), value
        return value

    def read_task(self, value: Json) -> Seen:
        task = self.check("Task", value)
        status = self.check("TaskStatus", task["status"])
        artifacts = [self.check("Artifact", item) for item in task.get("artifacts", [])]
        return Seen(
            id=task["id"],
            context=task.get(self.context, ""),
            state=self._states[status["state"]],
            said=self.read_message(status["message"]) if "message" in status else [],
            results=[self.read_parts(item["parts"]) for item in artifacts],
            history=[self.read_message(item) for item in task.get("history", [])],
            raw=value,
        )

    def read_message(self, value: Json) -> list[Piece]:
        return self.read_parts(self.check("Message", value)[self.contents])

    def read_parts(self, value: list[Json]) -> list[Piece]:
        assert value
        return [self.read_part(part) for part in value]

    def read_step(self, value: Json) -> Step:
        kind, body = self.unwrap(value)
        match kind:
            case "task":
                seen = self.read_task(body)
                return Step(kind, seen.id, seen.state, [], is_final=False, raw=body)
            case "message":
                pieces = self.read_message(body)
                return Step(kind, body.get("taskId", ""), "", pieces, is_final=False, raw=body)
            case "status":
                self.check("StatusEvent", body)
                status = self.check("TaskStatus", body["status"])
                said = self.read_message(status["message"]) if "message" in status else []
                is_final = body.get("final", False)
                state = self._states[status["state"]]
                return Step(kind, self._task_id(body), state, said, is_final, body)
            case _:
                artifact = self.check("Artifact", self.check("ArtifactEvent", body)["artifact"])
                pieces = self.read_parts(artifact["parts"])
                return Step(kind, self._task_id(body), "", pieces, is_final=False, raw=body)

    def write_message(self, saying: Saying, **members: str) -> Json:
        """Return a message of the user; members that are "" are left out."""
        return {
            "role": self.role,
            self.contents: [self.write_part(piece) for piece in saying.pieces],
            "metadata": {"skillId": saying.skill},
            **{name: value for name, value in members.items() if value},
        }

    def _task_id(self, event: Json) -> str:
        return event["taskId"]


class Tagged(Grammar):
    """0.1, and the JSON of 0.2 and 0.3: a part says what it is."""

    tag: ClassVar[str] = "kind"

    def read_part(self, value: Json) -> Piece:
        match value.get(self.tag):
            case "text":
                return self.check("TextPart", value)["text"]
            case "data":
                return self.check("DataPart", value)["data"]
            case "file":
                file = self.check("FileContent", self.check("FilePart", value)["file"])
                content = b64decode(file["bytes"], validate=True)
                return Blob(content, file.get("name", ""), file.get("mimeType", ""))
            case _:
                return value

    def write_part(self, piece: Piece) -> Json:
        if isinstance(piece, str):
            return {self.tag: "text", "text": piece}
        if isinstance(piece, Blob):
            content = b64encode(piece.content).decode()
            file = {"bytes": content, "name": piece.name, "mimeType": piece.media_type}
            return {self.tag: "file", "file": {k: v for k, v in file.items() if v}}
        return {self.tag: "data", "data": piece}

    def unwrap(self, value: Json) -> tuple[str, Json]:
        kind: str = value["kind"]
        return kind.removesuffix("-update"), value


class Tagged01(Tagged):
    """0.1: parts say ``type``, and nothing else says what it is."""

    tag = "type"
    context = "sessionId"

    def unwrap(self, value: Json) -> tuple[str, Json]:
        return ("artifact" if "artifact" in value else "status"), value

    def _task_id(self, event: Json) -> str:
        return event["id"]


class Members(Grammar):
    """1.0: what an object is, is told by the member it is in."""

    role = "ROLE_USER"

    def read_part(self, value: Json) -> Piece:
        if "text" in value:
            return self.check("TextPart", value)["text"]
        if "data" in value:
            return self.check("DataPart", value)["data"]
        file = self.check("FilePart", value)
        content = b64decode(file["raw"], validate=True)
        return Blob(content, file.get("filename", ""), file.get("mediaType", ""))

    def write_part(self, piece: Piece) -> Json:
        if isinstance(piece, str):
            return {"text": piece}
        if isinstance(piece, Blob):
            content = b64encode(piece.content).decode()
            return {"raw": content, "filename": piece.name, "mediaType": piece.media_type}
        return {"data": piece}

    def unwrap(self, value: Json) -> tuple[str, Json]:
        ((name, body),) = value.items()
        return name.removesuffix("Update"), body


class Proto(Members):
    """ProtoJSON of 0.3; files as the Python, Java and Go SDKs have them: base64 of base64."""

    contents = "content"

    def read_part(self, value: Json) -> Piece:
        if "text" in value:
            return self.check("TextPart", value)["text"]
        if "data" in value:
            return self.check("DataPart", value)["data"]["data"]
        file = self.check("FileContent", self.check("FilePart", value)["file"])
        content = b64decode(b64decode(file["fileWithBytes"], validate=True), validate=True)
        return Blob(content, file.get("name", ""), file.get("mimeType", ""))

    def write_part(self, piece: Piece) -> Json:
        if isinstance(piece, str):
            return {"text": piece}
        if isinstance(piece, Blob):
            content = b64encode(b64encode(piece.content)).decode()
            file = {"fileWithBytes": content, "name": piece.name, "mimeType": piece.media_type}
            return {"file": {k: v for k, v in file.items() if v}}
        return {"data": {"data": piece}}


GRAMMAR_0_1: Final = Tagged01(SHAPES_0_1, STATES_0_1)
GRAMMAR_0_3: Final = Tagged(SHAPES_0_3, STATES_0_3)
GRAMMAR_PROTO: Final = Proto(SHAPES_PROTO, STATES_PROTO)
GRAMMAR_1_0: Final = Members(SHAPES_1_0, STATES_1_0)
