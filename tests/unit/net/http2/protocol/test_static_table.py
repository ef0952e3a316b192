from hpack.table import HeaderTable

from dragoman.net.http2.protocol.static_table import STATIC_TABLE


def test_the_table_is_the_one_that_others_know() -> None:
    assert STATIC_TABLE == HeaderTable.STATIC_TABLE
    assert len(STATIC_TABLE) == 61
