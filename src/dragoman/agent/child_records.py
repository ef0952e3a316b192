"""What is recorded of a call of another agent, for a turn that is run again.

    call ............ the child has begun: which task it is, and until when it is waited for;
                      or all there is of it: an answer without a task, or why there is none
    call.next ....... what came of it: it asks something, it has ended, or the call has failed
    ask ............. the answer to what it asks, which our own caller has given
    call.next ....... and so on

A failure that the author's code was told of decides what that code does next. So it is recorded
like any other result, and raised again as it was.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

import dragoman.auth.outgoing.errors
import dragoman.client.errors
import dragoman.errors
from dragoman.auth.outgoing.errors import CredentialsError
from dragoman.client.errors import ClientError
from dragoman.errors import A2AError, DragomanError, FieldViolation
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message

__all__ = (
    "CALL",
    "CHILD_ERRORS",
    "NEXT",
    "Begun",
    "Failure",
    "News",
    "decode_begun",
    "decode_news",
    "encode",
)

CALL: Final = "call"
NEXT: Final = "call.next"

CHILD_ERRORS: Final = (A2AError, ClientError, CredentialsError)
"""With these an agent refuses, or cannot be asked. The store of our own turn has some of them too:
only where they come from tells."""

_KINDS: Final[dict[str, type[DragomanError]]] = {
    name: kind
    for module in (dragoman.errors, dragoman.client.errors, dragoman.auth.outgoing.errors)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, CHILD_ERRORS)
}

_Value: TypeAlias = str | float | bool | dict[str, str] | tuple[str | tuple[str, ...], ...] | None
"""What the attributes of these errors are, but for the violations."""


class Failure(Struct, frozen=True, omit_defaults=True):
    """A call that was refused, could not be made or was not done in time: the error it ended with.

    Attributes:
        kind: its class, or the nearest above that which is one of ours.
        values: its attributes.
    """

    kind: str
    text: str
    violations: tuple[FieldViolation, ...] = ()
    values: dict[str, _Value] = {}

    @classmethod
    def of(cls, problem: DragomanError) -> Failure:
        """Keep what there is to see of an error."""
        ours = (kind for kind in type(problem).__mro__ if _KINDS.get(kind.__name__) is kind)
        values = {name: value for name, value in vars(problem).items() if _is_kept(name, value)}
        violations = problem.violations if isinstance(problem, A2AError) else ()
        return cls(next(ours).__name__, str(problem), violations, values)

    def error(self) -> DragomanError:
        """Return the error again."""
        kind = _KINDS.get(self.kind, ClientError)
        # Its own __init__ would make the text anew, from what it does not keep.
        error = kind.__new__(kind, self.text)
        if isinstance(error, A2AError):
            A2AError.__init__(error, self.text, violations=self.violations)
        for name, value in self.values.items():
            setattr(error, name, value)
        return error


class News(Struct, frozen=True, omit_defaults=True):
    """What came of a child: what it asks, how it ended (as a stream would show it), or a failure.

    A child whose call has failed may be at work all the same.
    """

    asked: Message | None = None
    is_auth: bool = False
    ended: StreamResponse | None = None
    failed: Failure | None = None


class Begun(Struct, frozen=True, omit_defaults=True):
    """A child that has begun; without a task, ``at_once`` is all that came of it."""

    task_id: str = ""
    context_id: str = ""
    deadline_ms: int = 0
    at_once: News | None = None


encode: Final = msgspec.json.Encoder().encode
decode_begun: Final = msgspec.json.Decoder(Begun).decode
decode_news: Final = msgspec.json.Decoder(News).decode


def _is_kept(name: str, value: object) -> bool:
    """Tell whether an attribute goes with the values; of a class not ours it may be anything."""
    if name.startswith("_") or name == "violations":
        return False
    try:
        msgspec.convert(value, _Value)
    except msgspec.ValidationError:
        return False
    return True
