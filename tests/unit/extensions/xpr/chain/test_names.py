import pytest

from dragoman.extensions.xpr.chain.names import check_account, is_account
from dragoman.extensions.xpr.errors import MalformedError


@pytest.mark.parametrize("name", ["a", "alice", "carol.x", "12345", "dave12345111", ".a", "a..b"])
def test_names(name: str) -> None:
    assert is_account(name)
    assert check_account(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Alice",
        "a6",
        "a0",
        "a-b",
        "a b",
        "alice\n",
        "alice.",
        ".",
        "abcdefghijklm",
        "é",
        "alice ",
    ],
)
def test_what_is_no_name(name: str) -> None:
    assert not is_account(name)
    with pytest.raises(MalformedError, match="no account"):
        check_account(name)


def test_a_long_text_is_not_repeated() -> None:
    with pytest.raises(MalformedError) as caught:
        check_account("x" * 10_000)
    assert len(str(caught.value)) < 200
