"""The version that a request states: rows D1 to D5 of the 0.x reference, section 6.1."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.negotiation import Version
from dragoman.dialects.registry import RELEASES, check_version
from dragoman.errors import VersionNotSupportedError

ALL = "1.0,0.3,0.2,0.1"


@pytest.mark.requirement("R-3.6.2-1", "R-3.6-3")
@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize(
    ("requested", "is_old", "stated"),
    [
        ("1.0", False, Version(1, 0)),
        ("1.0.7", False, Version(1, 0)),
        (" 1.0 ", False, Version(1, 0)),
        ("0.3", True, Version(0, 3)),
        ("0.2.5", True, Version(0, 2)),  # D4
        ("0.1", True, Version(0, 1)),  # D4
    ],
)
def test_a_served_version_is_taken_whatever_its_patch(
    requested: str, stated: Version, *, is_old: bool, is_strict: bool
) -> None:
    assert check_version(requested, is_old=is_old, is_strict=is_strict) == stated


@pytest.mark.parametrize(
    ("requested", "is_old", "stated"),
    [
        (None, False, None),  # D1
        ("", False, None),
        ("1.0", True, Version(1, 0)),  # D2
        ("0.3", False, Version(0, 3)),  # D3
        ("0.2.5", False, Version(0, 2)),
        ("latest", False, None),  # D5, unreadable
        ("1", True, None),
    ],
)
def test_lenient_negotiation_trusts_the_method_name(
    requested: str | None, stated: Version | None, *, is_old: bool
) -> None:
    assert check_version(requested, is_old=is_old, is_strict=False) == stated


@pytest.mark.requirement("R-3.6.2-3")
@pytest.mark.parametrize("requested", [None, ""])
def test_strictly_no_version_means_0_3(requested: str | None) -> None:
    assert check_version(requested, is_old=True, is_strict=True) is None
    with pytest.raises(VersionNotSupportedError) as caught:
        check_version(requested, is_old=False, is_strict=True)
    assert caught.value.metadata == {"requestedVersion": "0.3", "supportedVersions": "1.0"}


@pytest.mark.requirement("R-3.2.6-4")
@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("requested", ["2.0", "1.5", "0.5", "1.10"])
def test_a_readable_version_that_is_not_served_is_refused(requested: str, *, is_old: bool) -> None:
    with pytest.raises(VersionNotSupportedError) as caught:
        check_version(requested, is_old=is_old, is_strict=False)
    assert caught.value.metadata == {"requestedVersion": requested, "supportedVersions": ALL}


@pytest.mark.requirement("R-3.2.6-4")
@pytest.mark.parametrize(
    ("requested", "is_old", "served"),
    [
        ("0.3", False, "1.0"),
        ("0.2", False, "1.0"),
        ("latest", False, "1.0"),
        ("2.0", False, "1.0"),
        ("1.0", True, "0.3,0.2,0.1"),
        ("latest", True, "0.3,0.2,0.1"),
    ],
)
def test_strictly_the_version_must_agree_with_the_method(
    requested: str, served: str, *, is_old: bool
) -> None:
    with pytest.raises(VersionNotSupportedError) as caught:
        check_version(requested, is_old=is_old, is_strict=True)
    assert caught.value.metadata["supportedVersions"] == served


def test_an_unreadable_version_is_repeated_only_in_part() -> None:
    with pytest.raises(VersionNotSupportedError) as caught:
        check_version("x" * 1000, is_old=False, is_strict=True)
    assert caught.value.metadata["requestedVersion"] == "x" * 32


@given(st.text(), st.booleans(), st.booleans())
def test_any_text_is_served_or_refused(requested: str, is_old: bool, is_strict: bool) -> None:  # noqa: FBT001 - hypothesis passes them by name
    with suppress(VersionNotSupportedError):
        stated = check_version(requested, is_old=is_old, is_strict=is_strict)
        assert stated is None or stated in [release.version for release in RELEASES]
