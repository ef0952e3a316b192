from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.negotiation import SERVED, Version, choose, parse_version
from dragoman.errors import VersionNotSupportedError


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


@pytest.mark.requirement("R-3.6.2-1", "R-3.6-3")
@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("requested", ["1.0", "1.0.7", " 1.0 "])
def test_a_served_version_is_chosen_whatever_its_patch(requested: str, *, is_strict: bool) -> None:
    assert choose(requested, is_strict=is_strict) == "1.0"


@pytest.mark.parametrize(
    "requested",
    [
        None,  # D1
        "",
        "0.3",  # D3
        "0.2.5",  # D4
        "latest",  # D5, unparsable
        "1",
    ],
)
def test_lenient_negotiation_trusts_the_method_name(requested: str | None) -> None:
    assert choose(requested, is_strict=False) == "1.0"


@pytest.mark.requirement("R-3.6.2-3")
@pytest.mark.parametrize("requested", [None, ""])
def test_strictly_no_version_means_0_3(requested: str | None) -> None:
    with pytest.raises(VersionNotSupportedError) as caught:
        choose(requested, is_strict=True)
    assert caught.value.metadata == {"requestedVersion": "0.3", "supportedVersions": "1.0"}


@pytest.mark.requirement("R-3.6.2-3")
def test_strictly_no_version_is_answered_in_0_3_where_that_is_served() -> None:
    served = (Version(1, 0), Version(0, 3))
    assert choose(None, is_strict=True, served=served) == "0.3"


@pytest.mark.requirement("R-3.2.6-4")
@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("requested", ["2.0", "1.5", "0.5", "1.10"])
def test_a_readable_version_that_is_not_served_is_refused(
    requested: str, *, is_strict: bool
) -> None:
    with pytest.raises(VersionNotSupportedError) as caught:
        choose(requested, is_strict=is_strict)
    assert caught.value.metadata == {"requestedVersion": requested, "supportedVersions": "1.0"}


@pytest.mark.requirement("R-3.2.6-4")
@pytest.mark.parametrize("requested", ["0.3", "0.2", "latest"])
def test_strictly_only_what_is_served_is_served(requested: str) -> None:
    with pytest.raises(VersionNotSupportedError):
        choose(requested, is_strict=True)


def test_a_mistaken_version_is_refused_where_the_meant_one_is_not_served() -> None:
    with pytest.raises(VersionNotSupportedError):
        choose("0.3", is_strict=False, served=(Version(2, 0),))


def test_an_unreadable_version_is_repeated_only_in_part() -> None:
    with pytest.raises(VersionNotSupportedError) as caught:
        choose("x" * 1000, is_strict=True)
    assert caught.value.metadata["requestedVersion"] == "x" * 32


@given(st.text(), st.booleans())
def test_any_text_is_served_or_refused(requested: str, is_strict: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
    with suppress(VersionNotSupportedError):
        assert choose(requested, is_strict=is_strict) in {str(version) for version in SERVED}
