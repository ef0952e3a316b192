import pytest

from dragoman.agent.forms import form_part
from dragoman.agent.questions import Question, passed_on
from dragoman.agent.results import File, Reply
from dragoman.errors import InvalidParamsError, ToolError, UsageError
from dragoman.extensions.agent_tools.exchange import InputRequest, ToolResult, input_request_in
from dragoman.model.media_types import ANY
from dragoman.model.messages import Message
from dragoman.model.parts import Part
from dragoman.testing.turn import RecordingTurn, user_message


class KeylessTurn(RecordingTurn):
    """A turn on a server that has no key for secrets."""

    def check_secrecy(self) -> None:
        raise UsageError("no key")


def asked_for(form: object, *, sensitive: bool = False) -> Message:
    question = Question.of(("Which?",), form, sensitive=sensitive)
    return question.message(RecordingTurn("hi"), name="q-1" if sensitive else "")


# --- what a question says of its answer -------------------------------------------------------


def test_text_needs_no_explanation() -> None:
    message = asked_for(str)
    assert (message.parts, message.metadata) == ((Part(text="Which?"),), None)


def test_a_form_is_its_own_explanation() -> None:
    message = asked_for(int)
    assert (message.parts, message.metadata) == ((Part(text="Which?"), form_part(int)), None)


@pytest.mark.parametrize("form", [Message, File])
def test_free_content_may_be_of_any_media_type(form: object) -> None:
    assert input_request_in(asked_for(form)) == InputRequest(prompt="Which?", input_modes=(ANY,))


def test_a_secret_is_asked_for_as_such_and_by_name() -> None:
    wanted = InputRequest(request_id="q-1", prompt="Which?", sensitive=True)
    assert input_request_in(asked_for(str, sensitive=True)) == wanted
    # The schema of a form is no part of the prompt.
    assert input_request_in(asked_for(int, sensitive=True)) == wanted


def test_what_the_author_says_stays_beside_it() -> None:
    asked = Reply("Which?", metadata={"k": 1}, extensions=["urn:x"])
    message = Question.of((asked,), int, sensitive=True).message(RecordingTurn("hi"))
    assert message.extensions == ("urn:x",)
    assert message.metadata is not None
    assert message.metadata["k"] == 1
    assert input_request_in(message) is not None


def test_nobody_is_asked_for_a_secret_that_could_not_be_kept() -> None:
    with pytest.raises(UsageError, match="no key"):
        Question.of(("Which?",), str, sensitive=True).message(KeylessTurn("hi"))
    assert Question.of(("Which?",), str, sensitive=False).message(KeylessTurn("hi")).parts


def test_a_fault_is_told_before_the_question() -> None:
    question = Question.of(("How many?",), int, sensitive=False)
    message = question.message(RecordingTurn("hi"), fault="must be int")
    assert message.parts == (Part(text="must be int"), Part(text="How many?"), form_part(int))


# --- answers ----------------------------------------------------------------------------------


def test_an_answer_is_read_as_the_form() -> None:
    question = Question.of(("How many?",), int, sensitive=False)
    assert question.read(user_message("4")) == 4
    result = ToolResult(tool_use_id="q-1", result=5)
    assert question.read(user_message(result.part())) == 5


def test_a_fault_names_the_place_unless_the_answer_is_a_secret() -> None:
    with pytest.raises(InvalidParamsError, match=r"message\.parts\[0\]\.text"):
        Question.of(("How many?",), int, sensitive=False).read(user_message("hunter2"))
    with pytest.raises(InvalidParamsError) as caught:
        Question.of(("How many?",), int, sensitive=True).read(user_message("hunter2"))
    assert caught.value.message == "The answer does not fit what was asked for"
    assert caught.value.violations == ()
    assert caught.value.__suppress_context__


def test_who_has_no_answer_is_not_asked_again() -> None:
    refusal = ToolResult(tool_use_id="q-1", error="I will not tell")
    with pytest.raises(ToolError, match="I will not tell"):
        Question.of(("How many?",), int, sensitive=True).read(user_message(refusal.part()))


# --- what another agent asks ------------------------------------------------------------------


@pytest.mark.parametrize("is_auth", [False, True])
def test_a_question_that_says_nothing_takes_anything_and_credentials_are_secret(
    is_auth: bool,  # noqa: FBT001 - a column of a table
) -> None:
    message = passed_on(RecordingTurn("hi"), user_message("Which?"), is_auth=is_auth)
    wanted = InputRequest(prompt="Which?", sensitive=is_auth, input_modes=(ANY,))
    assert input_request_in(message) == wanted


def test_what_the_other_agent_says_of_its_question_stands() -> None:
    said = InputRequest(request_id="r", prompt="p", sensitive=False, input_modes=("image/png",))
    asked = user_message("Which?", metadata={"k": 1, **said.metadata()})
    message = passed_on(KeylessTurn("hi"), asked, is_auth=True)
    assert input_request_in(message) == said
    assert message == asked


def test_a_secret_that_could_not_be_kept_is_not_passed_on() -> None:
    with pytest.raises(UsageError, match="no key"):
        passed_on(KeylessTurn("hi"), user_message("Log in"), is_auth=True)
