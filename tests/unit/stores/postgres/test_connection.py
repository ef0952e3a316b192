"""What is told of an error of PostgreSQL's."""

import pytest

from dragoman.stores.postgres.connection import reason_of

RECOVERING = ConnectionError(
    "the database system is not yet accepting connections\n"
    "DETAIL:  Consistent recovery state has not been yet reached."
)
"""As the driver says it."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "[Errno 111] Connection refused"),
        # Details have a line of their own, which would lack whatever begins a line of a log.
        (
            RECOVERING,
            "the database system is not yet accepting connections "
            "DETAIL: Consistent recovery state has not been yet reached.",
        ),
        # Some say nothing.
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_the_reason_is_one_line(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason
