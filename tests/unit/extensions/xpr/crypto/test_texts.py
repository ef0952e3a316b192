"""Prefixes and checksums."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.extensions.xpr.crypto.curves import CurveName
from dragoman.extensions.xpr.crypto.texts import read_checked, read_text, write_text
from dragoman.extensions.xpr.errors import MalformedError

CURVE: st.SearchStrategy[CurveName] = st.sampled_from(("K1", "R1"))


@given(CURVE, st.binary(min_size=1, max_size=65))
def test_what_was_written_is_read(curve: CurveName, payload: bytes) -> None:
    text = write_text("SIG", curve, payload)
    assert text.startswith(f"SIG_{curve}_")
    assert read_text(text, "SIG", len(payload)) == (curve, payload)


@given(CURVE, st.binary(min_size=8, max_size=33), st.data())
def test_a_letter_that_was_changed_is_noticed(
    curve: CurveName, payload: bytes, data: st.DataObject
) -> None:
    text = write_text("PUB", curve, payload)
    place = data.draw(st.integers(len("PUB_K1_"), len(text) - 1))
    letter = "2" if text[place] != "2" else "3"
    with pytest.raises(MalformedError):
        read_text(text[:place] + letter + text[place + 1 :], "PUB", len(payload))


def test_the_checksum_tells_the_curve() -> None:
    text = write_text("PUB", "K1", b"x" * 33)
    with pytest.raises(MalformedError, match="checksum"):
        read_text(text.replace("K1", "R1", 1), "PUB", 33)
    with pytest.raises(MalformedError, match="checksum"):
        read_checked(text.removeprefix("PUB_K1_"), 33, "")


@pytest.mark.parametrize("text", ["", "PUB_", "PUB_K2_x", "pub_K1_x", "SIG_K1_x", " PUB_K1_x"])
def test_another_prefix_is_refused(text: str) -> None:
    with pytest.raises(MalformedError, match="does not begin"):
        read_text(text, "PUB", 33)
