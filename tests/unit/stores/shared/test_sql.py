import pytest

from dragoman.stores.shared.sql import ManyRows, read_migrations, read_queries


def test_statements_are_found_by_name_without_their_comments() -> None:
    queries = read_queries("dragoman.stores.sqlite")
    assert queries["delete_inbox"] == "DELETE FROM inbox WHERE task_id = ?1 AND (n = ?2 OR ?2 = ?3)"
    assert not any("--" in statement for statement in queries.values())


def test_migrations_come_oldest_first() -> None:
    assert "CREATE TABLE tasks" in read_migrations("dragoman.stores.sqlite")[0]


@pytest.mark.parametrize(("rows", "size"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (200, 256)])
def test_rows_are_filled_up_to_a_power_of_two(rows: int, size: int) -> None:
    given = list[object](range(rows * 2))
    ((statement, values),) = ManyRows("VALUES (?, ?)...;").calls(given)
    assert statement == "VALUES " + ", ".join(["(?, ?)"] * size) + ";"
    assert values == given + [None, 0] * (size - rows)


def test_more_rows_than_a_statement_takes_are_several_statements() -> None:
    calls = ManyRows("VALUES (?)...").calls(list(range(600)))
    assert [statement.count("?") for statement, _ in calls] == [256, 256, 128]
    assert [value for _, values in calls for value in values if value is not None] == list(
        range(600)
    )


def test_the_statement_of_one_size_is_made_once() -> None:
    many = ManyRows("VALUES (?)...")
    ((first, _),) = many.calls([1, 2, 3])
    ((second, _),) = many.calls([4, 5, 6, 7])
    assert first is second


def test_a_statement_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="SELECT 1"):
        ManyRows("SELECT 1")
