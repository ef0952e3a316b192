"""How chunks become an artifact: replace, append, join.

The rule for joining holds in every fold of a log: a chunk that is one plain text part (no metadata,
file name or media type) appended to an artifact whose last part is plain text too becomes part of
that text. So a thousand yielded strings read as one text, and a fold of them costs no more than
their length. An empty one adds nothing: it only carries the mark of the last chunk.
"""

from __future__ import annotations

from dragoman.model.base import JsonObject
from dragoman.model.events import TaskArtifactUpdateEvent
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact

__all__ = ("ArtifactFold",)


def _is_plain_text(part: Part) -> bool:
    return (
        part.text is not None
        and part.metadata is None
        and not part.filename
        and not part.media_type
    )


def _plain_text_of(chunk: Artifact) -> str | None:
    """Return the text of a chunk that is nothing but plain text."""
    parts = chunk.parts
    return parts[0].text if len(parts) == 1 and _is_plain_text(parts[0]) else None


class ArtifactFold:
    """One artifact while its chunks arrive."""

    __slots__ = ("_artifact", "_parts", "_texts")

    def __init__(self, artifact: Artifact) -> None:
        """Begin with the first chunk."""
        self._artifact = artifact
        self._parts = list(artifact.parts)
        # The pieces of the last part, if it is plain text: joined only when somebody looks.
        self._texts: list[str] = []

    def append(self, event: TaskArtifactUpdateEvent) -> None:
        """Add a chunk (R-4.2.2-1); its metadata is merged into the artifact's (Q-29)."""
        chunk = event.artifact
        text = _plain_text_of(chunk)
        if text is None or (text and not _is_plain_text(self._parts[-1])):
            self._settle()
            self._parts.extend(chunk.parts)
        elif text:
            self._texts.append(text)
        if chunk.metadata or chunk.name or chunk.description or chunk.extensions:
            self._merge(chunk)

    def artifact(self) -> Artifact:
        """Return the artifact as it is now."""
        self._settle()
        head = self._artifact
        return Artifact(
            artifact_id=head.artifact_id,
            name=head.name,
            description=head.description,
            parts=tuple(self._parts),
            metadata=head.metadata,
            extensions=head.extensions,
        )

    def _settle(self) -> None:
        if self._texts:
            self._parts[-1] = Part(text=(self._parts[-1].text or "") + "".join(self._texts))
            self._texts.clear()

    def _merge(self, chunk: Artifact) -> None:
        head = self._artifact
        metadata: JsonObject | None = head.metadata
        if chunk.metadata:
            metadata = {**(metadata or {}), **chunk.metadata}
        self._artifact = Artifact(
            artifact_id=head.artifact_id,
            name=chunk.name or head.name,
            description=chunk.description or head.description,
            parts=head.parts,
            metadata=metadata,
            extensions=head.extensions
            + tuple(uri for uri in chunk.extensions if uri not in head.extensions),
        )
