import pytest

from dragoman.agent.results import Rejected
from dragoman.demo.scenarios import REFUSALS, refuse
from dragoman.errors import SPELLINGS


@pytest.mark.parametrize("name", REFUSALS)
def test_every_error_can_be_made_and_is_called_so(name: str) -> None:
    assert type(REFUSALS[name]()).__name__ == name


def test_every_error_that_an_operation_can_end_with_is_there() -> None:
    of_the_envelope = {
        "JSONParseError",
        "MethodNotAllowedError",
        "PayloadTooLargeError",
        "UnsupportedMediaTypeError",
    }
    assert {kind.__name__ for kind in SPELLINGS} - of_the_envelope == set(REFUSALS)


async def test_an_unknown_one_is_told_with_those_that_there_are() -> None:
    with pytest.raises(Rejected, match="Name one of TaskNotFoundError, "):
        await refuse("refuse Nonsense")
