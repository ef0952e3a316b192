"""What can come of calling an address that somebody else has named.

DragomanError
└── EgressError
    ├── DestinationRefusedError  the rules forbid it; nothing was sent
    └── NoAnswerError            it was tried, and no answer came

Messages are for the log. They name hosts and addresses, which are nobody's business outside, and
never the path or the query of a URL, which are often the secret of a webhook.
"""

from __future__ import annotations

from dragoman.errors import DragomanError

__all__ = ("DestinationRefusedError", "EgressError", "NoAnswerError")


class EgressError(DragomanError):
    """An address could not be called, or has not answered."""


class DestinationRefusedError(EgressError):
    """The rules forbid this address; nothing was sent to it.

    Attributes:
        rule: the name of the rule: one of ``dragoman.egress.urls.RULES``, or of the kinds of
            ``dragoman.egress.networks.REFUSED``, or ``policy``.
        finding: what is wrong; free of what was looked up.
        host: whose address it is, "" if the URL cannot even be read.
        address: what the host was resolved to, "" if it was not.
    """

    def __init__(self, rule: str, finding: str, host: str = "", address: str = "") -> None:
        """Name the rule, and what breaks it."""
        place = host or "the URL"
        found = f" ({address})" if address and address != host else ""
        super().__init__(f"{place}{found} may not be called: {finding}")
        self.rule = rule
        self.finding = finding
        self.host = host
        self.address = address

    @property
    def is_of_address(self) -> bool:
        """Tell whether the URL itself is good, and what is wrong is where its host is found."""
        return bool(self.address) and self.address != self.host


class NoAnswerError(EgressError):
    """No answer came: no address, no connection, no time, or what came is not HTTP."""

    def __init__(self, host: str, finding: str) -> None:
        """Name who was called and what came of it."""
        super().__init__(f"{host} does not answer: {finding}")
        self.host = host
        self.finding = finding
