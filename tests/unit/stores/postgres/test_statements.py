from inline_snapshot import snapshot

from dragoman.stores.postgres.statements import compose


def test_parameters_are_counted_on_from_piece_to_piece() -> None:
    text, values = compose([("ended", (["a"],)), ("emptied", (["b"],))], (7, 1, 40))
    assert values == [7, 1, 40, ["a"], ["b"]]
    assert text == snapshot("""\
WITH ended AS (
DELETE FROM snapshots WHERE task_id = ANY ($4::text[])
),
emptied AS (
DELETE FROM inbox WHERE task_id = ANY ($5::text[])
),
marked AS (
UPDATE writers SET batch = batch + 1, result = (NULL), seen_at = now()
WHERE id = $1::bigint AND connection = $2::bigint AND batch = $3::bigint
RETURNING result
)
SELECT refuse('DR004') WHERE NOT EXISTS (SELECT FROM marked)
UNION ALL SELECT result FROM marked\
""")


def test_a_piece_brings_its_verdict_with_its_own_parameters() -> None:
    updated: list[object] = [()] * 13
    text, _ = compose([("ended", (["a"],)), ("updated", updated)], (1, 1, 1))
    assert "cardinality($5::text[])" in text
    assert text.index("refuse('DR001')") < text.index("refuse('DR004')")


def test_a_result_has_the_parameters_of_the_first_piece() -> None:
    text, _ = compose([("leases", (["a"], [1], [None], "me"))], (1, 1, 1), result="leases")
    assert "FROM unnest($4::text[]) WITH ORDINALITY" in text


def test_the_same_pieces_are_the_same_text() -> None:
    first, _ = compose([("ended", (["a"],))], (1, 1, 1))
    second, _ = compose([("ended", (["b", "c"],))], (1, 1, 2))
    assert first is second
