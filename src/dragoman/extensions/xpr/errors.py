"""What can be wrong with keys, signatures, requests and the chain.

DragomanError
└── XprError
    ├── MalformedError             a key, a signature or an account name is not one
    ├── SignatureRefusedError      a request is not signed, or not by whom it says
    ├── AgentNotFoundError         an account has no agent that could be called
    ├── WrongCardError             an agent's endpoint has the card of another
    └── ChainError                 the chain has not told what was asked
        ├── UnknownAccountError    there is no such account
        ├── QueryRefusedError      the node does not take the question
        └── ChainUnavailableError  no node has given an answer that can be used

No message holds a private key.
"""

from __future__ import annotations

from dragoman.errors import DragomanError

__all__ = (
    "AgentNotFoundError",
    "ChainError",
    "ChainUnavailableError",
    "MalformedError",
    "QueryRefusedError",
    "SignatureRefusedError",
    "UnknownAccountError",
    "WrongCardError",
    "XprError",
)


class XprError(DragomanError):
    """Something about XPR is wrong."""


class MalformedError(XprError):
    """A key, a signature or an account name is not one; nothing else is raised for such text."""


class SignatureRefusedError(XprError):
    """A request is not signed, or not by whom it says; the message is what its sender is told."""


class AgentNotFoundError(XprError):
    """An account has no agent that could be called."""


class WrongCardError(XprError):
    """What an agent's endpoint has is the card of another account."""


class ChainError(XprError):
    """The chain has not told what was asked."""


class UnknownAccountError(ChainError):
    """There is no such account."""

    def __init__(self, account: str) -> None:
        """Name it."""
        super().__init__(f"account '{account}' is not known on the chain")
        self.account = account


class QueryRefusedError(ChainError):
    """The node has understood the question, and does not take it.

    Attributes:
        code: the number that the node gives to it, such as 3060003 for a table there is not.
    """

    def __init__(self, code: int, message: str) -> None:
        """Keep what the node says."""
        super().__init__(f"the chain refuses the query: {message} ({code})")
        self.code = code


class ChainUnavailableError(ChainError):
    """No node has given an answer that can be used; trying again may help."""

    def __init__(self, findings: tuple[str, ...]) -> None:
        """Keep what came of asking each of them."""
        super().__init__(f"no node of the chain answers: {'; '.join(findings)}")
        self.findings = findings
