import errno
import socket

import pytest

from dragoman.cli.serving.ports import address_of, listen
from dragoman.errors import UsageError


def test_a_free_port_is_taken() -> None:
    with listen("127.0.0.1", 0) as listener:
        host, _, port = address_of(listener).partition(":")
        assert (host, int(port)) == listener.getsockname()
        # Small frames leave without delay only if asyncio sees the protocol.
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(
    ("host", "address"),
    [("0.0.0.0", "127.0.0.1"), ("localhost", "127.0.0.1")],  # noqa: S104 - what a user may ask for
)
def test_the_address_is_one_that_can_be_called(host: str, address: str) -> None:
    with listen(host, 0) as listener:
        assert address_of(listener) == f"{address}:{listener.getsockname()[1]}"


def test_an_address_of_six_stands_in_brackets() -> None:
    try:
        listener = listen("::1", 0)
    except UsageError:
        pytest.skip("this machine has no IPv6")
    with listener:
        assert address_of(listener).startswith("[::1]:")


def test_a_port_in_use_is_told_with_the_option_that_chooses_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}: .*choose another with --grpc-port"):
            listen("127.0.0.1", port, option="--grpc-port")


def refusal(host: str, *, host_option: str = "--host") -> str:
    with pytest.raises(UsageError) as caught:
        listen(host, 0, host_option=host_option)
    return str(caught.value)


def test_an_address_of_another_machine_is_told_with_the_option_that_chooses_it() -> None:
    told = "cannot listen on 192.0.2.1 port 0: this machine has no such address; name one that it"
    assert refusal("192.0.2.1") == f"{told} has with --host"
    assert refusal("192.0.2.1", host_option="--http") == f"{told} has with --http"


def test_a_name_that_is_none_is_told() -> None:
    told = refusal("no.such.name.invalid")
    assert told.startswith("cannot listen on no.such.name.invalid port 0: ")
    # No port would help.
    assert told.endswith("; name an address of this machine with --host")


def test_any_other_reason_is_told_as_the_system_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Guarded(socket.socket):
        def bind(self, address: object, /) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "socket", Guarded)
    assert refusal("127.0.0.1") == (
        "cannot listen on 127.0.0.1 port 0: permission denied; choose another with --port or --host"
    )
