"""What holds for every binding holds for gRPC: the tests of the others, run once more.

They are taken from the modules that tell it of the two JSON bindings. Left out is what only HTTP or
JSON can say, or what they say in other words; ``test_grpc.py`` has what gRPC has in its place.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Final

import pytest

from tests.scenarios.bindings import Binding, Grpc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODULES: Final = (
    "test_cancel",
    "test_capabilities",
    "test_data_model",
    "test_errors",
    "test_extended_card",
    "test_get",
    "test_history",
    "test_list",
    "test_media_types",
    "test_multi_turn",
    "test_output_modes",
    "test_push_refused",
    "test_send",
    "test_streaming",
    "test_subscribe",
)
FIXTURES: Final = frozenset(
    {"alone", "busy", "demanding_agent", "odd_agent", "quiet", "silent", "talked"}
)
"""What their tests ask for beside what all scenarios have."""

LEFT_OUT: Final = frozenset(
    {
        # About the HTTP or the SSE around an answer.
        "test_a_busy_agent_says_when_to_come_back",
        "test_a_stream_is_answered_with_200_and_text_event_stream",
        "test_an_idle_stream_gets_heartbeats",
        "test_no_text_can_break_out_of_its_event",
        # A status, a time, a member or an item of a kind that no message can hold.
        "test_a_status_that_does_not_exist_is_refused_with_those_that_do",
        "test_a_time_that_is_none_is_refused",
        "test_members_nobody_knows_are_ignored",
        "test_nothing_is_begun_by_an_invalid_request",
        "test_what_is_wrong_is_named_with_its_path",
        # An empty text or list in a message is none at all.
        "test_a_stream_of_an_invalid_message_is_refused",
        "test_a_task_without_artifacts_lists_an_empty_array_when_asked",
        # One of its headers is not ASCII.
        "test_a_cursor_we_did_not_give_out_counts_as_none",
        # JSON is told both bounds of a number, a message the one that is broken.
        "test_a_negative_length_is_refused",
        "test_a_negative_length_is_refused_in_a_send_before_it_is_sent",
        "test_a_page_size_outside_1_to_100_is_refused",
    }
)


@pytest.fixture
def kind() -> type[Binding]:
    """The binding of ``wire``, and of tests that make their client themselves."""
    return Grpc


def taken() -> Iterator[tuple[str, object]]:
    """Yield the tests that leave their binding to a fixture, and the fixtures they ask for."""
    for module in MODULES:
        for name, value in vars(import_module(f"tests.scenarios.{module}")).items():
            if name in FIXTURES or (name.startswith("test_") and leaves_its_binding(value)):
                yield name, value


def leaves_its_binding(test: Callable[..., object]) -> bool:
    """Tell whether a test runs over whatever binding its fixtures give it."""
    wanted = inspect.signature(test).parameters.keys()
    return bool(wanted & ({"wire", "kind"} | FIXTURES))


globals().update((name, value) for name, value in taken() if name not in LEFT_OUT)


def test_no_test_hides_another_and_none_is_left_out_in_vain() -> None:
    names = [name for name, _ in taken()]
    assert len(names) == len(set(names))
    assert set(names) >= LEFT_OUT | FIXTURES
