import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.model.timestamps import format_timestamp, parse_timestamp


@pytest.mark.requirement("R-5.6.1-1", "R-5.6.1-5")
def test_a_time_is_written_in_utc_with_milliseconds() -> None:
    assert format_timestamp(1_767_323_045_678) == "2026-01-02T03:04:05.678Z"
    assert format_timestamp(1_767_323_045_000) == "2026-01-02T03:04:05.000Z"


@pytest.mark.requirement("R-5.6.1-3")
@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_what_is_written_reads_back(ms: int) -> None:
    text = format_timestamp(ms)
    # The system's strftime does not pad the years before 1000.
    assert parse_timestamp(text.rjust(24, "0")) == ms


@pytest.mark.requirement("R-5.6.1-3")
@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01T00:00:00.123456789Z", 124),  # rounded up
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T18:30:00-05:30", 0),
    ],
)
def test_zero_to_nine_digits_and_offsets_are_read(text: str, ms: int) -> None:
    assert parse_timestamp(text) == ms


@pytest.mark.requirement("R-5.6.1-3")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-01-31",
        "2026-01-31T12:00:00",  # no zone
        "2026-01-31 12:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-31T25:00:00Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00.0000000001Z",
        "2026-01-31T12:00:00+99:99",
        "２０２６-01-31T12:00:00Z",  # noqa: RUF001 - digits of another script are no digits
        "2026-01-31T12:00:00Z\n",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_timestamp(text)
