"""Wire: what client and server have said to each other, to look at, to assert on and to keep."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard

import msgspec
from msgspec import Struct

from dragoman.auth.shared.redaction import redacted_json
from dragoman.testing.stable_names import with_stable_names

__all__ = ("UPDATE", "Exchange", "Frame", "Lack", "Request", "Response", "Wire", "missing")


UPDATE: Final = "UPDATE_WIRE"
"""The variable in the environment with which ``assert_golden`` writes instead of comparing."""

_KEPT_HEADERS: Final = frozenset(
    {
        "a2a-extensions",
        "a2a-version",
        "accept",
        "authorization",
        "content-type",
        "last-event-id",
        "retry-after",
        "www-authenticate",
    }
)
"""The headers that mean something to A2A. The others tell of the HTTP library and of the day."""


class Request(Struct, kw_only=True, omit_defaults=True):
    """What was asked.

    Attributes:
        path: with its query, where values that may be secret are redacted.
        headers: by name in lower case; values that may be secret are redacted.
        body: the JSON of it; text that is no JSON; None if there is none.
    """

    method: str
    path: str
    headers: dict[str, str] = {}
    body: object = None


class Frame(Struct, kw_only=True, omit_defaults=True):
    """One event of a stream: its SSE id and name, "" without, and its JSON."""

    id: str = ""
    event: str = ""
    data: object


class Response(Struct, kw_only=True, omit_defaults=True):
    """What was answered: a body, or frames as they come."""

    status: int
    headers: dict[str, str] = {}
    body: object = None
    frames: list[Frame] = []


class Exchange(Struct, kw_only=True, omit_defaults=True):
    """A request and its answer, None as long as there is none."""

    request: Request
    response: Response | None = None


class Wire:
    """A recorded conversation, in the order of its requests.

    Give it to ``pair`` as ``record``, or call a real agent through ``dragoman.testing.recording``.
    An assertion that fails says what was there instead.

    Attributes:
        exchanges: all there is, the reading of the card included.
    """

    def __init__(self, exchanges: Iterable[Exchange] = ()) -> None:
        """Begin with what is known."""
        self.exchanges: list[Exchange] = list(exchanges)

    def frames(self) -> list[object]:
        """Return the JSON of the frames of all streams, in order."""
        return [
            frame.data
            for exchange in self.exchanges
            for frame in (exchange.response.frames if exchange.response else ())
        ]

    def assert_sent(
        self, body: object = ..., *, method: str = "", path: str = "", **headers: str
    ) -> Exchange:
        """Return the first exchange whose request has what is expected.

        Args:
            body: what its JSON contains: there may be more members, ``...`` is any value.
            method: of HTTP.
            path: without the query.
            headers: with underscores for hyphens: ``a2a_version="1.0"``.

        Raises:
            AssertionError: there is none; says what the closest lacks.
        """
        __tracebackhide__ = True
        expected: dict[str, object] = {"body": body}
        if method:
            expected["method"] = method
        if path:
            expected["path"] = path
        if headers:
            expected["headers"] = {name.replace("_", "-"): text for name, text in headers.items()}
        found = [(_request_view(each.request), each) for each in self.exchanges]
        return _first_with(expected, found, "no request has what is expected")

    def assert_received(self, body: object) -> Exchange:
        """Return the first exchange with an answer, or a frame of a stream, that contains this.

        Raises:
            AssertionError: there is none; says what the closest lacks.
        """
        __tracebackhide__ = True
        found: list[tuple[object, Exchange]] = []
        for each in self.exchanges:
            if each.response is not None:
                frames = [frame.data for frame in each.response.frames]
                found += [(data, each) for data in frames or [each.response.body]]
        return _first_with(body, found, "no answer contains what is expected")

    def assert_golden(self, path: str | Path) -> None:
        """Compare with a conversation that was kept.

        With ``UPDATE_WIRE=1`` in the environment it is written instead.

        Raises:
            AssertionError: they differ, or there is none yet; shows the lines.
        """
        __tracebackhide__ = True
        path = Path(path)
        if os.environ.get(UPDATE):
            self.dump(path)
        if not path.exists():
            raise AssertionError(f"there is no {path} yet: run this test once with {UPDATE}=1")
        kept, now = Wire.load(path).text().splitlines(), self.text().splitlines()
        lines = list(difflib.unified_diff(kept, now, str(path), "this run", lineterm=""))
        if lines:
            complaint = f"another conversation was kept; to keep this one, set {UPDATE}=1"
            raise AssertionError("\n".join([complaint, *lines]))

    def text(self) -> str:
        """Return the conversation as JSON that is the same each time.

        What differs from run to run has a stable name, headers that A2A does not know are left out,
        and members that are called like secrets are redacted.
        """
        plain = [_with_few_headers(msgspec.to_builtins(each)) for each in self.exchanges]
        return redacted_json(
            json.dumps(with_stable_names(plain), indent=2, ensure_ascii=False) + "\n"
        )

    def dump(self, path: str | Path) -> None:
        """Write ``text`` to a file."""
        Path(path).write_text(self.text(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Wire:
        """Read what ``dump`` has written.

        Raises:
            ValueError: the file is no conversation; says where it is wrong.
        """
        try:
            return cls(msgspec.json.decode(Path(path).read_bytes(), type=list[Exchange]))
        except msgspec.DecodeError as problem:
            raise ValueError(f"{path} holds no conversation: {problem}") from None

    def __str__(self) -> str:
        """Show it briefly, a line for each body and each frame."""
        return "\n".join(line for each in self.exchanges for line in _lines(each))


def _request_view(request: Request) -> dict[str, object]:
    return {**msgspec.structs.asdict(request), "path": request.path.partition("?")[0]}


def _first_with(
    expected: object, found: Iterable[tuple[object, Exchange]], complaint: str
) -> Exchange:
    __tracebackhide__ = True
    failures: list[tuple[list[Lack], Exchange]] = []
    for value, exchange in found:
        lacks = list(missing(expected, value))
        if not lacks:
            return exchange
        failures.append((lacks, exchange))
    if not failures:
        raise AssertionError(f"{complaint}: nothing was recorded")
    lacks, closest = min(failures, key=lambda failure: sum(lack.size for lack in failure[0]))
    lines = [lack.line for lack in lacks]
    told = [f"{complaint}; the closest differs:", *lines, "in", *_lines(closest)]
    raise AssertionError("\n".join(told))


def _with_few_headers(exchange: dict[str, Mapping[str, object]]) -> dict[str, object]:
    return {
        side: {
            name: _kept(value) if name == "headers" else value for name, value in message.items()
        }
        for side, message in exchange.items()
    }


def _kept(headers: object) -> dict[str, str]:
    known = msgspec.convert(headers, dict[str, str])
    return {name: value for name, value in known.items() if name in _KEPT_HEADERS}


def _lines(exchange: Exchange) -> Iterable[str]:
    request, response = exchange.request, exchange.response
    yield f"> {request.method} {request.path} {_brief(request.body)}".rstrip()
    if response is None:
        yield "< no answer"
        return
    yield f"< {response.status} {_brief(response.body)}".rstrip()
    for frame in response.frames:
        yield f"< | {_brief(frame.data)}"


def _brief(body: object) -> str:
    return "" if body is None else redacted_json(json.dumps(body, ensure_ascii=False))


class Lack(NamedTuple):
    """One place where something is missing: a line about it, and how many values were expected."""

    line: str
    size: int


def missing(expected: object, found: object, place: str = "$") -> Iterator[Lack]:
    """Yield what ``found`` lacks of ``expected``, by place; nothing if it has it all.

    An object may have more members than expected, at any depth. A list has as many elements as
    expected, in that order. ``...`` stands for any value.
    """
    if expected is ...:
        return
    if _is_mapping(expected) and _is_mapping(found):
        for name, value in expected.items():
            if name in found:
                yield from missing(value, found[name], f"{place}.{name}")
            else:
                yield Lack(f"{place}.{name} is missing", _size(value))
    elif _is_sequence(expected) and _is_sequence(found):
        if len(expected) != len(found):
            yield Lack(f"{place} has {len(found)} elements, not {len(expected)}", 1)
        for index, (value, element) in enumerate(zip(expected, found, strict=False)):
            yield from missing(value, element, f"{place}[{index}]")
    # True is 1 in Python, but not in JSON.
    elif expected != found or isinstance(expected, bool) is not isinstance(found, bool):
        yield Lack(f"{place} is {found!r}, not {expected!r}", _size(expected))


def _size(value: object) -> int:
    """Count the values in a value, itself included."""
    if _is_mapping(value):
        held = tuple(value.values())
    else:
        held = tuple(value) if _is_sequence(value) else ()
    return 1 + sum(map(_size, held))


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Whether it stands for a JSON array; authors of tests also write tuples."""
    return isinstance(value, list | tuple)
