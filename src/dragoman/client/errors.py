"""What can go wrong between a client and an agent, beside what the agent itself refuses.

DragomanError
├── A2AError                 the agent was asked and refused: its own error, whatever the binding
├── ClientError              the agent could not be asked, or its answer could not be had
│   ├── UnreachableError     no connection could be made; nothing was sent
│   ├── TimedOutError        no answer in time; the agent may have acted on the request
│   ├── CutError             the connection was lost; the agent may have acted on the request
│   ├── ProtocolError        what came is not A2A
│   └── CardError            what the agent says of itself cannot be used
│       └── CardNotFoundError · CardInvalidError · CardUntrustedError · CatalogError ·
│           NoInterfaceError
└── TaskNotCompletedError    asked for by ``raise_for_state``: the task ended otherwise, or waits

Messages name addresses, which a program's own peers may have no business to know:
``as_a2a_error`` makes what can be told to them.
"""

from __future__ import annotations

from dragoman.errors import A2AError, DragomanError, InvalidAgentResponseError, UnavailableError
from dragoman.model.tasks import TaskState

__all__ = (
    "CardError",
    "CardInvalidError",
    "CardNotFoundError",
    "CardUntrustedError",
    "CatalogError",
    "ClientError",
    "CutError",
    "NoInterfaceError",
    "ProtocolError",
    "TaskNotCompletedError",
    "TimedOutError",
    "UnreachableError",
    "as_a2a_error",
)


class ClientError(DragomanError):
    """The agent could not be asked, or its answer could not be had."""


class UnreachableError(ClientError):
    """No connection could be made (name, network, TLS); nothing was sent."""

    def __init__(self, address: str, reason: str) -> None:
        """Name who was called and what the machine says."""
        super().__init__(f"{address} cannot be reached: {reason}")
        self.address = address


class TimedOutError(ClientError):
    """No answer came in time; whether the agent has acted on the request is not known."""


class CutError(ClientError):
    """The connection was lost before the answer was complete.

    Whether the agent has acted on the request is not known, unless ``task_id`` names the task that
    came of it.
    """

    def __init__(self, address: str, reason: str, *, task_id: str = "") -> None:
        """Name who was called, how it ended, and the task if it is known."""
        of_task = f" while following task {task_id}" if task_id else ""
        super().__init__(f"the connection to {address} was lost{of_task}: {reason}")
        self.address = address
        self.reason = reason
        self.task_id = task_id


class ProtocolError(ClientError):
    """What came is not A2A, or not of the version that was asked for."""

    def __init__(self, address: str, finding: str) -> None:
        """Name who was called and what is wrong with the answer."""
        super().__init__(f"{address} does not answer in A2A: {finding}")
        self.address = address
        self.finding = finding


class CardError(ClientError):
    """What the agent says of itself cannot be used."""


class CardNotFoundError(CardError):
    """There is no card where one was looked for."""

    def __init__(self, findings: tuple[tuple[str, str], ...]) -> None:
        """Keep where it was looked for and what was there instead."""
        listed = "; ".join(f"{place}: {finding}" for place, finding in findings)
        super().__init__(f"no agent card was found ({listed})")
        self.findings = findings


class CatalogError(CardError):
    """There is no such catalog, or no such agent in it."""


class CardInvalidError(CardError):
    """There is a card, but it lacks what a card must have."""

    def __init__(self, place: str, finding: str) -> None:
        """Name the card and what is wrong with it."""
        super().__init__(f"{place} is no valid agent card: {finding}")
        self.place = place
        self.finding = finding


class CardUntrustedError(CardError):
    """The card is not signed as the caller demands.

    Attributes:
        is_signed: it has signatures, but none that a trusted key has made over what it says now.
    """

    def __init__(self, place: str, reason: str, *, is_signed: bool) -> None:
        """Name the card and why it is not trusted."""
        super().__init__(f"{place} cannot be trusted: {reason}")
        self.place = place
        self.reason = reason
        self.is_signed = is_signed


class NoInterfaceError(CardError):
    """The card offers no interface that can be used, or none of those that were asked for."""

    def __init__(self, offered: tuple[str, ...], wanted: str = "") -> None:
        """Keep what is offered; ``wanted`` tells what was asked for, if anything."""
        listed = ", ".join(offered) or "none at all"
        suffix = f" that is {wanted}" if wanted else " that this client speaks"
        super().__init__(f"the agent has no interface{suffix}; it offers {listed}")
        self.offered = offered


class TaskNotCompletedError(DragomanError):
    """The task did not complete: it failed, was rejected or canceled, or waits for its client."""

    def __init__(self, task_id: str, state: TaskState, text: str) -> None:
        """Keep the task, its state and what the agent says about it."""
        name = state.name.lower().replace("_", " ")
        super().__init__(f"task {task_id} is {name}{f': {text}' if text else ''}")
        self.task_id = task_id
        self.state = state
        self.text = text


def as_a2a_error(problem: ClientError) -> A2AError:
    """Return what a program that calls an agent for its own peers may tell them.

    No address and no text of the machine is in it.
    """
    if isinstance(problem, ProtocolError | CardError):
        return InvalidAgentResponseError("The agent behind this one does not answer as it should")
    return UnavailableError("The agent behind this one does not answer")
