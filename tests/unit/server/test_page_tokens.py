import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.errors import InvalidParamsError
from dragoman.model.tasks import TaskState
from dragoman.server.page_tokens import decode_page_token, encode_page_token
from dragoman.stores.base import Position, Scope, TaskQuery

QUERY = TaskQuery(scope=Scope("tenant", "owner"), limit=10)
POSITION = Position(1_767_225_600_000, "t-1")
TOKEN = encode_page_token(QUERY, POSITION)


@given(st.integers(min_value=0, max_value=2**53), st.text())
def test_a_token_comes_back_as_the_place_it_was_made_of(status_at_ms: int, task_id: str) -> None:
    position = Position(status_at_ms, task_id)
    assert decode_page_token(QUERY, encode_page_token(QUERY, position)) == position


def test_a_token_needs_no_escaping_in_a_query() -> None:
    assert TOKEN.replace("-", "").replace("_", "").isalnum()


def test_the_size_of_the_page_may_change_from_page_to_page() -> None:
    assert decode_page_token(replace(QUERY, limit=99, after=POSITION), TOKEN) == POSITION


@pytest.mark.requirement("R-3.1.4-8")
@pytest.mark.parametrize(
    "query",
    [
        # Somebody else's list.
        replace(QUERY, scope=Scope("tenant", "other")),
        replace(QUERY, scope=Scope("other", "owner")),
        # Another list of the same caller.
        replace(QUERY, context_id="c-1"),
        replace(QUERY, state=TaskState.WORKING),
        replace(QUERY, status_at_or_after_ms=1),
    ],
)
def test_a_token_of_another_list_is_refused(query: TaskQuery) -> None:
    with pytest.raises(InvalidParamsError, match="pageToken must be the nextPageToken"):
        decode_page_token(query, TOKEN)


@pytest.mark.parametrize(
    "token",
    [
        # Cut off, or with a character of neither alphabet.
        TOKEN[:-1],
        TOKEN + "é",
        TOKEN + "!",
        # The right form around nothing, around no number, and around no text.
        base64.urlsafe_b64encode(b"123456").decode(),
        base64.urlsafe_b64encode(b"123456x.t-1").decode().rstrip("="),
        base64.urlsafe_b64encode(b"123456\xff.t-1").decode().rstrip("="),
        # A number of more digits than Python reads.
        base64.urlsafe_b64encode(b"123456" + b"9" * 5000).decode().rstrip("="),
        # The right form, but the mark is made up.
        base64.urlsafe_b64encode(b"1234561.t-1").decode().rstrip("="),
        # Nothing like it.
        "10",
        " ",
    ],
)
def test_a_token_that_is_made_up_is_refused(token: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        decode_page_token(QUERY, token)
    assert caught.value.violations[0].field == "pageToken"


def test_a_token_of_a_time_that_no_store_knows_is_refused() -> None:
    token = encode_page_token(QUERY, Position(2**63, "t-1"))
    with pytest.raises(InvalidParamsError, match="pageToken"):
        decode_page_token(QUERY, token)


@given(st.text(max_size=40))
def test_no_text_does_worse_than_being_refused(token: str) -> None:
    with pytest.raises(InvalidParamsError):
        decode_page_token(QUERY, token)
