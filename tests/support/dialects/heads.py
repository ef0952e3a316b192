"""The head of a request, as profiles see it."""

from collections.abc import Mapping


class Head:
    """A request that was not sent; headers are given with underscores for hyphens."""

    def __init__(
        self, path: str = "/", method: str = "POST", *, takes_stream: bool = False, **headers: str
    ) -> None:
        self.path = path
        self.method = method
        self.takes_stream = takes_stream
        self.headers: Mapping[bytes, str] = {
            name.replace("_", "-").encode(): value for name, value in headers.items()
        }

    def parameter(self, header: bytes, name: str) -> str | None:
        del name
        return self.headers.get(header)
