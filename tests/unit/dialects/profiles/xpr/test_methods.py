from dragoman.dialects.profiles.xpr.codec import XPR_DIALECT
from dragoman.dialects.profiles.xpr.methods import CALLS, METHODS
from dragoman.model.operations import Operation


def test_the_network_has_three_methods() -> None:
    assert set(METHODS) == {"message/send", "tasks/get", "tasks/cancel"}
    for name, operation in METHODS.items():
        assert CALLS[operation] == XPR_DIALECT.method(operation) == name
        assert XPR_DIALECT.operation(name) is operation


def test_there_are_no_others() -> None:
    assert XPR_DIALECT.operation("message/stream") is None
    assert XPR_DIALECT.method(Operation.LIST_TASKS) is None
