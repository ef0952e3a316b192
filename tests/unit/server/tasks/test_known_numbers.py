from itertools import permutations

from dragoman.server.tasks.known_numbers import KnownNumbers


def test_numbers_are_known_in_whatever_order_they_come() -> None:
    for order in permutations((1, 2, 3, 4)):
        seen = KnownNumbers()
        for n in order:
            assert n not in seen
            seen.add(n)
            assert n in seen
        assert seen.mark == 4


def test_a_gap_is_not_known() -> None:
    seen = KnownNumbers(2)
    seen.add(4)
    assert (seen.mark, 3 in seen, 4 in seen) == (2, False, True)


def test_all_that_came_before_is_known() -> None:
    seen = KnownNumbers(5)
    seen.add(3)
    assert (seen.mark, 1 in seen, 5 in seen, 6 in seen) == (5, True, True, False)
