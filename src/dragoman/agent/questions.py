"""Questions: what the caller of a task is asked, and the answers read as what was asked for.

A question may say in its metadata (``InputRequest``) what it takes for an answer: other media types
than text and forms, or a secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from dragoman.agent.client_tools import input_of
from dragoman.agent.forms import form_part, read_answer
from dragoman.agent.results import File, Reply, reply_of, turn_message
from dragoman.errors import InvalidParamsError
from dragoman.extensions.agent_tools.exchange import InputRequest, input_request_in
from dragoman.model.media_types import ANY
from dragoman.model.messages import Message, text_of
from dragoman.model.parts import Part

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.service.worker import Turn

__all__ = ("Question", "passed_on")

_UNFIT: Final = "The answer does not fit what was asked for"


class Question(Struct, frozen=True):
    """A question of the agent's own.

    Attributes:
        content: what is shown of it, with the schema of the form.
        form: the type that the answer is read as.
        sensitive: the answer is a secret.
    """

    content: Reply
    form: object
    sensitive: bool

    @classmethod
    def of(cls, content: tuple[object, ...], form: object, *, sensitive: bool) -> Question:
        """Make a question of what an author has to ask.

        Raises:
            UsageError: there is nothing to ask, or no answer could be read as this type.
        """
        asked = reply_of(content, None)
        schema = form_part(form)
        if schema is not None:
            metadata, extensions = asked.metadata, asked.extensions
            asked = Reply(*asked.parts, schema, metadata=metadata, extensions=extensions)
        return cls(asked, form, sensitive)

    def message(self, turn: Turn, *, name: str = "", fault: str = "") -> Message:
        """Return the message that asks it.

        Args:
            name: what an answer may call the question.
            fault: what was wrong with the answer before.

        Raises:
            UsageError: the answer is a secret, and there is no key to keep it under.
        """
        complaint = (Part(text=fault),) if fault else ()
        reply = Reply(
            *complaint,
            *self.content.parts,
            metadata={**(self.content.metadata or {}), **self._request(turn, name)} or None,
            extensions=self.content.extensions,
        )
        return turn_message(turn, reply)

    def _request(self, turn: Turn, name: str) -> JsonObject:
        """Return what the metadata of the question says of the answer it wants."""
        modes = (ANY,) if self.form is File or self.form is Message else UNSET
        if self.sensitive:
            # Nobody is asked for what could not be kept.
            turn.check_secrecy()
        elif modes is UNSET:
            return {}
        request = InputRequest(
            request_id=name,
            prompt=text_of(self.content.parts),
            sensitive=self.sensitive,
            input_modes=modes,
        )
        return request.metadata()

    def read(self, answer: Message) -> object:
        """Read an answer as what was asked for.

        Raises:
            InvalidParamsError: it does not fit.
            ToolError: the caller says that it has no answer.
        """
        try:
            return read_answer(self.form, input_of(answer))
        except InvalidParamsError as error:
            # What is said of a value may repeat it.
            raise (InvalidParamsError(_UNFIT) if self.sensitive else error) from None


def passed_on(turn: Turn, message: Message, *, is_auth: bool) -> Message:
    """Return what another agent asks, for the caller: it alone knows what it takes for an answer.

    Credentials are a secret to us, unless it says otherwise.

    Raises:
        UsageError: the answer is a secret, and there is no key to keep it under.
    """
    request = input_request_in(message) or InputRequest(
        prompt=text_of(message.parts), sensitive=is_auth
    )
    if request.sensitive:
        turn.check_secrecy()
    if request.input_modes is UNSET:
        request = replace(request, input_modes=(ANY,))
    return replace(message, metadata={**(message.metadata or {}), **request.metadata()})
