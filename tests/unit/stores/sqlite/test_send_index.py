from dragoman.stores.base import Scope, SendKey
from dragoman.stores.sqlite.send_index import SendIndex


def key(number: int) -> SendKey:
    return SendKey(Scope("", "alice"), f"m{number}")


def test_an_unknown_key_has_no_rows() -> None:
    index = SendIndex()
    index.add([(key(1), 1)])
    assert index.rows(key(2)) == []
    assert SendIndex().rows(key(1)) == []


def test_the_newest_row_of_a_key_is_named() -> None:
    index = SendIndex()
    index.add([(key(1), 10), (key(2), 11), (key(1), 12)])
    assert index.rows(key(1)) == [12]
    assert index.rows(key(2)) == [11]


def test_a_key_used_again_and_again_takes_one_place() -> None:
    index = SendIndex()
    index.add((key(1), row) for row in range(1, 200_000))
    assert index.rows(key(1)) == [199_999]


def test_more_keys_than_one_table_holds_are_all_found_newest_first() -> None:
    index = SendIndex()
    index.add((key(n), n + 1) for n in range(200_000))
    assert all(n + 1 in index.rows(key(n)) for n in range(0, 200_000, 997))
    index.add([(key(0), 200_001)])
    assert index.rows(key(0)) == [200_001, 1]


def test_forgetting_gives_back_whole_tables_only() -> None:
    index = SendIndex()
    index.add((key(n), n + 1) for n in range(100_000))
    index.forget_before(95_000)
    assert index.rows(key(0)) == []
    assert index.rows(key(99_999)) == [100_000]
