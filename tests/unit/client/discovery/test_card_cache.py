import pytest

from dragoman.client.discovery.card_cache import MAX_CARDS, CardCache

URL = "https://a.example/card"
NONE: dict[str, str] = {}


def kept(answer: dict[str, str], now_ms: int = 1000) -> tuple[int, dict[str, str]] | None:
    """Return how long a card is fresh and how it is asked for again; None if it is not kept."""
    cache = CardCache()
    cache.keep(URL, {}, b"{}", answer, now_ms)
    card = cache.find(URL, {})
    return None if card is None else (card.fresh_until_ms - now_ms, card.validators())


@pytest.mark.requirement("R-8.6.2-1", "R-8.6.2-2", "R-8.6.2-3")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            {"cache-control": "public, max-age=60", "etag": '"x"'},
            (60_000, {"If-None-Match": '"x"'}),
        ),
        ({"cache-control": "MAX-AGE=60"}, (60_000, NONE)),
        ({"etag": '"x"', "last-modified": "Mon"}, (0, {"If-None-Match": '"x"'})),
        ({"last-modified": "Mon"}, (0, {"If-Modified-Since": "Mon"})),
        ({"cache-control": "no-cache, max-age=60", "etag": '"x"'}, (0, {"If-None-Match": '"x"'})),
        # Neither fresh for a while nor to be asked about.
        (NONE, None),
        ({"cache-control": "no-store", "etag": '"x"'}, None),
        # Nobody else looks in here.
        ({"cache-control": "private, max-age=60"}, (60_000, NONE)),
    ],
)
def test_a_card_is_kept_as_its_headers_say(
    answer: dict[str, str], expected: tuple[int, dict[str, str]] | None
) -> None:
    assert kept(answer) == expected


def test_what_was_sent_along_makes_a_difference() -> None:
    cache = CardCache()
    cache.keep(URL, {"Authorization": "a"}, b"{}", {"etag": '"x"'}, 0)
    assert cache.find(URL, {"Authorization": "a"}) is not None
    assert cache.find(URL, {"Authorization": "b"}) is None
    assert cache.find(URL, {}) is None


def test_a_card_that_may_no_longer_be_kept_is_forgotten() -> None:
    cache = CardCache()
    cache.keep(URL, {}, b"{}", {"etag": '"x"'}, 0)
    cache.keep(URL, {}, b"{}", {"cache-control": "no-store"}, 0)
    assert cache.find(URL, {}) is None


def test_the_oldest_makes_room() -> None:
    cache = CardCache()
    for number in range(MAX_CARDS + 1):
        cache.keep(f"{URL}/{number}", {}, b"{}", {"etag": '"x"'}, 0)
    assert cache.find(f"{URL}/0", {}) is None
    assert cache.find(f"{URL}/1", {}) is not None
