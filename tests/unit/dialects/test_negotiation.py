import pytest

from dragoman.dialects.negotiation import Version, parse_version


@pytest.mark.requirement("R-3.6-1", "R-3.6-3")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.0", Version(1, 0)),
        ("1.0.7", Version(1, 0)),
        (" 0.3 ", Version(0, 3)),
        ("10.2", Version(10, 2)),
        ("01.00", Version(1, 0)),
        ("1", None),
        ("1.x", None),
        ("v1.0", None),
        ("1.0.0.0", None),
        ("1.0-rc1", None),
        ("-1.0", None),
        ("99999.0", None),
        ("１.０", None),  # noqa: RUF001 - digits of another script are no digits
        ("", None),
    ],
)
def test_a_version_is_major_dot_minor(text: str, expected: Version | None) -> None:
    assert parse_version(text) == expected
