import re

from dragoman.net.http1.server import _head  # pyright: ignore[reportPrivateUsage] - its memory is the point
from dragoman.server.http.exchange import SECURITY_HEADERS
from tests.support.net.http1_connections import Connection, answering, whole


def test_they_are_written_as_the_server_takes_them() -> None:
    # In lower case and as a tuple of tuples: so a head can be found again.
    assert all(re.fullmatch(rb"[a-z-]+", name) for name, _ in SECURITY_HEADERS)
    assert hash(SECURITY_HEADERS)


async def test_a_head_that_has_them_is_written_once() -> None:
    # Counted, not timed: the second answer finds what the first has written.
    _head.cache_clear()
    connection = Connection(answering(whole(200, b"{}", *SECURITY_HEADERS)))
    for _ in range(10):
        await connection.request()
    assert (_head.cache_info().misses, _head.cache_info().hits) == (1, 9)
