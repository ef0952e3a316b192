"""The frameworks that are tried live: what each of them does, lacks, and sees of us.

``lacks`` is what a framework itself cannot do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

__all__ = ("CALLERS", "SERVERS", "Caller", "Server")

_WORDS: Final = ("to ", "be ", "or ", "not ")


@dataclass(frozen=True)
class _Peer:
    peer: str
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Caller(_Peer):
    """A client, over one binding, and what its user gets of ``framework_agent.py``."""

    binding: str = "JSONRPC"
    plain: str = "HELLO"
    streamed: str = "to be or not "
    pieces: list[str] = field(default_factory=lambda: list(_WORDS))

    def __str__(self) -> str:
        return f"{self.peer} {self.binding}"


@dataclass(frozen=True)
class Server(_Peer):
    """A server of ``peers/script.py``, what it is asked, and in which chunks it answers."""

    shout: str = "shout hello"
    spell: str = "spell to be or not"
    streamed: str = "to be or not"
    question: str = "Which city?"
    chunks: list[str] = field(default_factory=lambda: list(_WORDS))


CALLERS: Final = (
    Caller(
        "adk",
    ),
    # It reads an answer out of the history, never out of artifacts, and never names a task.
    Caller("agno", lacks=("plain", "streamed", "asked")),
    Caller(
        "agno",
        binding="HTTP+JSON",
        lacks=("plain", "streamed", "asked"),
    ),
    Caller("a2akit"),
    Caller(
        "a2akit",
        binding="HTTP+JSON",
    ),
    # Its text is JSON of its own, and there is no way to answer a question.
    Caller(
        "a2a_lite",
        plain='"SHOUT", "PARAMS": {"TEXT": "HELLO"}}',
        streamed='"spell", "params": {"text": "to be or not"}} ',
        pieces=['"spell", ', '"params": ', '{"text": ', '"to ', "be ", "or ", 'not"}} '],
        lacks=("asked",),
    ),
    # A chunk is a line to it; it never names a task or a context, and streams no pieces.
    Caller(
        "strands",
        plain="HELLO\n",
        streamed="to \nbe \nor \nnot \n",
        lacks=("pieces", "asked"),
    ),
    # It holds text back until an artifact is whole.
    Caller("agent_framework", pieces=["to be or not "]),
    Caller("beeai", lacks=("pieces",)),
    # It joins chunks with spaces.
    Caller(
        "crewai",
        streamed="to  be  or  not ",
        lacks=("pieces",),
    ),
    # A question is shown; an answer names no task.
    Caller("js_ai_sdk", lacks=("asked",)),
    Caller("js_mastra", binding="1.0", streamed="to be or not"),
    Caller("js_mastra", binding="0.3", streamed="to be or not"),
)


SERVERS: Final = (
    # A question is the call of a function, without words.
    Server("adk", lacks=("ask",), chunks=["to be or not "]),
    # The first chunk is sent with what is appended later; there is no memory; to cancel is to wish.
    Server("a2akit", lacks=("stream", "context", "cancel")),
    # A word is a status of its own; what was said last is the answer.
    Server(
        "a2a_lite",
        streamed="not",
        chunks=[],
        shout='{"skill": "shout", "params": {"text": "hello"}}',
        spell='{"skill": "spell", "params": {"text": "to be or not"}}',
        lacks=("context", "ask", "get", "cancel"),
    ),
    # Chunks are working statuses; the artifact is given whole.
    Server(
        "strands",
        question="Agent requires input:\n- city: Which city?",
        chunks=["to be or not \n"],
    ),
    # Other operations have URLs that no card tells.
    Server(
        "agno",
        lacks=("ask", "get", "cancel"),
        chunks=[],
    ),
    # What an interrupt asks is data. A task that is read has no artifacts, and a status of its own.
    Server("langgraph", question="", chunks=["to be or not "], lacks=("get",)),
    Server(
        "agent_framework",
        lacks=("ask",),
    ),
    Server("pydantic_ai", lacks=("ask", "cancel"), chunks=["to be or not "]),
    # A task cannot be followed while it runs; an agent does one thing at a time.
    Server("crewai", lacks=("context", "ask", "cancel", "get"), chunks=[]),
    # Without storage there is no memory.
    Server("js_mastra", lacks=("context", "ask", "cancel")),
)
