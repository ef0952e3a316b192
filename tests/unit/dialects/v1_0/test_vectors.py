"""Golden messages: each reads, and is written again as it was."""

from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from dragoman.dialects.v1_0.decode import Form
from tests.support.strategies import BY_TYPE

VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "v1_0"
TYPES = {kind.__name__: kind for kind in BY_TYPE}


class Vector(Struct, forbid_unknown_fields=True):
    section: str
    type: str
    wire: msgspec.Raw


def load(path: Path) -> Vector:
    return msgspec.json.decode(path.read_bytes(), type=Vector)


@pytest.mark.requirement("R-4-1", "R-11.4-1", "R-5.5-1")
@pytest.mark.parametrize("path", sorted(VECTORS.glob("*.json")), ids=lambda path: path.stem)
def test_a_vector_is_written_as_it_is_read(path: Path) -> None:
    vector = load(path)
    value = Form(TYPES[vector.type]).decode(bytes(vector.wire))
    assert msgspec.json.decode(msgspec.json.encode(value)) == msgspec.json.decode(vector.wire)
    assert msgspec.json.decode(vector.wire, type=TYPES[vector.type]) == value


def test_every_request_and_top_level_object_has_a_vector() -> None:
    covered = {load(path).type for path in VECTORS.glob("*.json")}
    nested = {
        "TaskStatus",
        "Artifact",
        "TaskStatusUpdateEvent",
        "TaskArtifactUpdateEvent",
        "AuthenticationInfo",
        "SendMessageConfiguration",
    }
    missing = {
        name
        for name, kind in TYPES.items()
        if name not in covered and kind.__module__.rpartition(".")[2] not in {"security", "cards"}
    }
    assert missing == nested
