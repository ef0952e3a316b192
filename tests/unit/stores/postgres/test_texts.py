from hypothesis import given
from hypothesis import strategies as st

from dragoman.stores.postgres.texts import readable, storable

TEXTS = st.text(st.sampled_from("a0\x001\x1a"))


def test_a_plain_text_stands_for_itself() -> None:
    text = "café 0 1"
    assert storable(text) is text
    assert readable(text) is text


@given(TEXTS)
def test_every_text_comes_back_and_is_without_nul(text: str) -> None:
    assert "\x00" not in storable(text)
    assert readable(storable(text)) == text


@given(TEXTS, TEXTS)
def test_different_texts_stay_different(one: str, other: str) -> None:
    assert (storable(one) == storable(other)) == (one == other)
