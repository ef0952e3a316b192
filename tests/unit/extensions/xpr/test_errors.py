from dragoman.errors import DragomanError
from dragoman.extensions.xpr import errors


def test_they_are_one_tree() -> None:
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), DragomanError)


def test_they_carry_what_they_tell() -> None:
    assert errors.UnknownAccountError("alice").account == "alice"
    assert errors.QueryRefusedError(3060003, "no table").code == 3060003
    unavailable = errors.ChainUnavailableError(("a is down", "b is behind"))
    assert unavailable.findings == ("a is down", "b is behind")
    assert str(unavailable) == "no node of the chain answers: a is down; b is behind"
