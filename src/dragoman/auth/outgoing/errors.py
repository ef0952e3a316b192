"""What can go wrong while a client gets hold of what an agent wants to see.

DragomanError
└── CredentialsError             nothing was sent to the agent
    ├── MissingCredentialsError  none of the card's alternatives can be met with what there is
    ├── TokenRefusedError        the authorization server has said no
    └── AuthorizationServerError it cannot be reached, or what it says makes no sense

Messages name addresses and schemes, never a secret.
"""

from __future__ import annotations

from dragoman.errors import DragomanError

__all__ = (
    "AuthorizationServerError",
    "CredentialsError",
    "MissingCredentialsError",
    "TokenRefusedError",
)


class CredentialsError(DragomanError):
    """What the agent wants to see could not be had; nothing was sent to it."""


class MissingCredentialsError(CredentialsError):
    """None of the alternatives that a card offers can be met with the credentials there are."""

    def __init__(self, findings: tuple[str, ...]) -> None:
        """Keep what each alternative lacks, in the card's order."""
        super().__init__(f"the agent wants other credentials: {'; or '.join(findings)}")
        self.findings = findings


class TokenRefusedError(CredentialsError):
    """The authorization server has said no.

    Attributes:
        code: its error code (RFC 6749, 5.2; RFC 8628, 3.5), such as ``invalid_client``.
    """

    def __init__(self, url: str, code: str, description: str = "") -> None:
        """Name who was asked, and keep the code."""
        reason = f"{code} ({description})" if description else code
        super().__init__(f"{url} refuses a token: {reason}")
        self.code = code


class AuthorizationServerError(CredentialsError):
    """The authorization server cannot be reached, or what it says makes no sense."""

    def __init__(self, url: str, finding: str) -> None:
        """Name who was asked and what came of it."""
        super().__init__(f"{url}: {finding}")
        self.finding = finding
