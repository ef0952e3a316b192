"""The frameworks that are tried live: what each of them does, lacks, and sees of us.

``lacks`` is what a framework itself cannot do; ``faults`` what fails for a reason of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pytest

__all__ = ("CALLERS", "SERVERS", "Caller", "Server")

_WORDS: Final = ("to ", "be ", "or ", "not ")


@dataclass(frozen=True)
class _Peer:
    peer: str
    lacks: tuple[str, ...] = ()
    faults: Mapping[str, str] = field(default_factory=dict[str, str])

    def marks(self, scenario: str) -> tuple[pytest.MarkDecorator, ...]:
        reason = self.faults.get(scenario) or self.faults.get("all")
        return (pytest.mark.xfail(strict=True, reason=reason),) if reason else ()


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
    question: str = "Which city?"
    chunks: list[str] = field(default_factory=lambda: list(_WORDS))


CALLERS: Final = (
    Caller(
        "adk",
        faults={
            "all": "The card lists gRPC as host:port; ADK wants http(s) for every interface.",
        },
    ),
    # It reads an answer out of the history, never out of artifacts, and never names a task.
    Caller("agno", lacks=("plain", "streamed", "asked")),
    Caller(
        "agno",
        binding="HTTP+JSON",
        lacks=("plain", "streamed", "asked"),
        faults={"pieces": "A JSON-RPC envelope at /v1/message:send is refused with 422."},
    ),
    Caller("a2akit"),
    Caller(
        "a2akit",
        binding="HTTP+JSON",
        faults={"all": "A body of 0.3 at /message:stream is answered in the form of 1.0."},
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
        faults={"streamed": "An empty chunk ends the artifact: one line too many."},
    ),
    # It holds text back until an artifact is whole.
    Caller("agent_framework", pieces=["to be or not "]),
    Caller("beeai", lacks=("pieces",)),
    # It joins chunks with spaces.
    Caller(
        "crewai",
        streamed="to  be  or  not ",
        lacks=("pieces",),
        faults={"streamed": "An empty chunk ends the artifact: one space too many."},
    ),
    # A question is shown; an answer names no task.
    Caller("js_ai_sdk", lacks=("asked",)),
    Caller("js_mastra", binding="1.0", streamed="to be or not"),
    Caller("js_mastra", binding="0.3", streamed="to be or not"),
)

_TAGS: Final = "A skill without tags makes the whole card invalid."
_KINDS: Final = "Stream results that go by their kind, in the words of 1.0, are not understood."
_OLD: Final = "The command line does not speak to agents of 0.3 unless it is told --legacy."
_TOKENS: Final = "The first message with the id of a running task is taken for the whole answer."

SERVERS: Final = (
    # A question is the call of a function, without words.
    Server("adk", lacks=("ask",), chunks=["to be or not "]),
    # The first chunk is sent with what is appended later; there is no memory; to cancel is to wish.
    Server("a2akit", lacks=("stream", "context", "cancel"), faults={"cli": _OLD}),
    Server(
        "a2a_lite",
        shout='{"skill": "shout", "params": {"text": "hello"}}',
        spell='{"skill": "spell", "params": {"text": "to be or not"}}',
        lacks=("context", "ask", "get", "cancel"),
        faults={"all": _TAGS},
    ),
    # Chunks are working statuses; the artifact is given whole.
    Server(
        "strands",
        question="Agent requires input:\n- city: Which city?",
        chunks=["to be or not \n"],
        faults={"ask": "The answer to an interrupt is sent as text, and refused.", "cli": _OLD},
    ),
    # Other operations have URLs that no card tells.
    Server(
        "agno",
        lacks=("ask", "get", "cancel"),
        chunks=[],
        faults={"stream": _TOKENS, "cli": _OLD},
    ),
    Server("langgraph", chunks=["to be or not "], faults={"all": _KINDS}),
    Server(
        "agent_framework",
        lacks=("ask",),
        faults={"all": _TAGS},
    ),
    Server("pydantic_ai", lacks=("ask", "cancel"), chunks=["to be or not "]),
    # A task cannot be followed while it runs; an agent does one thing at a time.
    Server("crewai", lacks=("context", "ask", "cancel", "get"), chunks=[], faults={"cli": _OLD}),
    # Without storage there is no memory.
    Server("js_mastra", lacks=("context", "ask", "cancel"), faults={"cli": _OLD}),
)
