from collections.abc import Callable
from functools import partial

import pytest

from dragoman.agent.callables import underlying


def add(a: int, b: int) -> int:
    return a + b


class Adder:
    def __call__(self, a: int) -> int:
        return a

    def method(self, a: int) -> int:
        return a


ADDER = Adder()


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (add, add),
        (partial(add, 1), add),
        # A partial of a partial of a callable object.
        (partial(partial(ADDER), 1), Adder.__call__),
        (ADDER, Adder.__call__),
        (ADDER.method, ADDER.method),
        (len, len),
    ],
)
def test_the_code_is_where_it_was_written(
    function: Callable[..., object], code: Callable[..., object]
) -> None:
    assert underlying(function) == code
