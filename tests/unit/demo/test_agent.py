import pytest

from dragoman.demo.agent import Setup, demo_agent
from dragoman.errors import TaskNotFoundError, UsageError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part


def request(text: str) -> SendMessageRequest:
    message = Message(message_id="m", role=Role.USER, parts=(Part(text=text),))
    return SendMessageRequest(message=message)


@pytest.mark.parametrize(
    ("text", "skill"),
    [("slow 3", "slow"), ("  ask", "ask"), ("hello", "mirror"), ("slowly", "mirror")],
)
def test_the_first_word_names_the_scenario(text: str, skill: str) -> None:
    assert demo_agent(Setup()).worker.plan(request(text)).skill_id == skill


def test_an_error_by_order_comes_before_there_is_a_task() -> None:
    with pytest.raises(TaskNotFoundError):
        demo_agent(Setup()).worker.plan(request("refuse TaskNotFoundError"))
    assert demo_agent(Setup()).worker.plan(request("refuse x")).skill_id == "refuse"


def test_the_card_says_what_it_is_told() -> None:
    setup = Setup(name="N", streaming=False, tenants=("acme",), required_extensions=("https://e",))
    agent = demo_agent(setup)
    assert (agent.name, agent.streaming, agent.tenants) == ("N", False, ("acme",))
    assert [(one.uri, one.required) for one in agent.extensions] == [("https://e", True)]


def test_a_name_that_no_tenant_can_have_is_refused() -> None:
    with pytest.raises(UsageError):
        demo_agent(Setup(tenants=("tasks",)))
