from dataclasses import dataclass
from typing import Any, Literal

import pytest

from dragoman.adapters.mcp.questions import Question
from dragoman.agent.forms import form_part
from dragoman.model.messages import Message
from dragoman.model.parts import Part
from dragoman.testing.turn import user_message


@dataclass
class Route:
    origin: str
    stops: int = 0


@dataclass
class Nested:
    route: Route


def asking(form: object, text: str = "What?") -> Question:
    part = form_part(form)
    return Question(user_message(text, *(() if part is None else (part,))))


def member(question: Question) -> Any:
    return question.schema["properties"]["answer"]


def test_a_flat_form_is_asked_as_it_is_and_answered_with_data() -> None:
    question = asking(Route)
    assert question.schema == {
        "type": "object",
        "properties": {"origin": {"type": "string"}, "stops": {"type": "integer", "default": 0}},
        "required": ["origin"],
    }
    assert question.parts({"origin": "Ulm"}) == (Part(data={"origin": "Ulm"}),)


@pytest.mark.parametrize(
    ("form", "schema", "answer", "text"),
    [
        (str, {"type": "string"}, "yes", "yes"),
        (bool, {"type": "boolean"}, True, "true"),
        (int, {"type": "integer"}, 4, "4"),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "a", "a"),
    ],
)
def test_a_single_value_is_one_member_and_answered_with_text(
    form: object, schema: object, answer: object, text: str
) -> None:
    question = asking(form)
    assert member(question) == schema
    assert question.parts({"answer": answer}) == (Part(text=text),)


@pytest.mark.parametrize("form", [Nested, list[int], Literal[1, 2], Message])
def test_what_forms_cannot_show_is_asked_as_text(form: object) -> None:
    assert member(asking(form)) == {"type": "string"}


def test_data_that_is_shown_follows_the_text() -> None:
    assert Question(user_message("Sure?", {"path": "a"})).text == 'Sure?\n{"path":"a"}'
    assert Question(user_message({"path": "a"})).text == '{"path":"a"}'
    assert Question(None).text == "The agent needs something."
