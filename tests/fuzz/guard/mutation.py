"""Mutations: bytes, JSON and headers with something wrong in them, all by one source of chance."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from tests.fuzz.guard.callers import Header
from tests.fuzz.test_wire_fuzz import HEADERS, TOKENS, edited, inside, places, replaced

__all__ = ("bent", "in_pieces", "odd_headers", "reshaped")

_EDITS: Final = ("replace", "insert", "delete", "truncate", "repeat", "token", "flip")
_SIZES: Final = (100, 5_000, 30_000, 250_000)
_DEPTHS: Final = (3, 90, 105, 300, 2_000)


def bent(data: bytes, chance: Random, tokens: tuple[bytes, ...] = TOKENS) -> bytes:
    """Return bytes changed in one to three places."""
    for _ in range(chance.randint(1, 3)):
        kind = chance.choice(_EDITS)
        if kind == "flip":
            at = chance.randrange(len(data) + 1)
            data = (
                data[:at]
                + bytes(b ^ 1 << chance.randrange(8) for b in data[at : at + 1])
                + (data[at + 1 :])
            )
        else:
            some = chance.randbytes(chance.randint(1, 4))
            data = edited(data, (chance.random(), kind, some, chance.choice(tokens)))
    return data


# --- JSON -----------------------------------------------------------------------------------------


def reshaped(value: object, chance: Random) -> bytes:
    """Return a JSON value with something dropped, replaced, doubled, deepened or made huge."""
    place = chance.choice(places(value))
    change = chance.choice((_dropped, _replaced, _doubled, _deepened, _made_huge))
    return change(value, place, chance)


def _dropped(value: object, place: tuple[Any, ...], chance: Random) -> bytes:
    del chance
    if not place:
        return b""
    holder = _at(value, place[:-1])
    kept = {key: item for key, item in inside(holder).items() if key != place[-1]}
    new: object = kept if isinstance(holder, dict) else list(kept.values())
    return json.dumps(replaced(value, place[:-1], new)).encode()


def _replaced(value: object, place: tuple[Any, ...], chance: Random) -> bytes:
    return _with(value, place, lambda _: chance.choice(TOKENS))


def _doubled(value: object, place: tuple[Any, ...], chance: Random) -> bytes:
    """Have a member twice in one object, or an item many times in one list."""
    name = json.dumps(str(place[-1])).encode() if place else b'"x"'
    if place and isinstance(_at(value, place[:-1]), list):
        times = chance.choice((2, 60, 2_000))
        return _with(value, place, lambda item: b",".join([item] * times))
    return _with(value, place, lambda item: b"%b,%b:%b" % (item, name, item))


def _deepened(value: object, place: tuple[Any, ...], chance: Random) -> bytes:
    depth = chance.choice(_DEPTHS)
    if chance.random() < 0.5:
        return _with(value, place, lambda item: b"[" * depth + item + b"]" * depth)
    return _with(value, place, lambda item: b'{"a":' * depth + item + b"}" * depth)


def _made_huge(value: object, place: tuple[Any, ...], chance: Random) -> bytes:
    size = chance.choice(_SIZES)
    huge: tuple[bytes, ...] = (
        b'"%b"' % (b"x" * size),
        b'"%b"' % ("🦜" * (size // 4)).encode(),
        b"9" * size,
        b"[%b]" % b",".join([b"0"] * (size // 2)),
        b"{%b}" % b",".join(b'"%d":0' % number for number in range(size // 8)),
        b" " * size + b"1",
    )
    return _with(value, place, lambda _: chance.choice(huge))


def _at(value: object, place: tuple[Any, ...]) -> object:
    for key in place:
        value = inside(value)[key]
    return value


def _with(value: object, place: tuple[Any, ...], write: Callable[[bytes], bytes]) -> bytes:
    """Return JSON with other bytes in one place, made of those that were there."""
    item = json.dumps(_at(value, place)).encode()
    marked = json.dumps(replaced(value, place, "@@")).encode()
    return marked.replace(b'"@@"', write(item), 1)


# --- headers --------------------------------------------------------------------------------------

_VALUES: Final = (
    b"", b",", b";", b"=", b'"', b"for=", b'for="[', b"[", b"http://[", b"null", b"1.0", b"0.3",
    b"9" * 50, b"-1", b"\xb2", b"text/event-stream", b"*/*;q=x", b"W/", b"*", b"gzip", b"identity",
    b"Thu, 99 Jan 99999 00:00:00 GMT", b"application/json; charset=utf-16", b"text/plain",
    b"multipart/form-data; boundary=", b"%s" * 10, b"\xff\xfe", b"websocket", b"h2c", b"bytes=0-",
    b"100-continue", b"https://ext.example/v1", b"https://evil.example", b"203.0.113.7, ::1, x",
)  # fmt: skip


def odd_headers(chance: Random) -> list[Header]:
    """Return headers that are odd in what they say, in how long they are, or in their number."""
    match chance.randrange(8):
        case 0:
            return [(chance.choice(HEADERS), b"x" * chance.choice((4_000, 20_000, 70_000)))]
        case 1:
            return [(b"X-Header-%d" % number, b"x") for number in range(chance.choice((45, 60)))]
        case 2:
            # The same again, with another value.
            name = chance.choice(HEADERS)
            return [(name, chance.choice(_VALUES)) for _ in range(chance.randint(2, 20))]
        case 3:
            return [(chance.choice(HEADERS), chance.randbytes(20))]
        case _:
            count = chance.randint(1, 4)
            return [(chance.choice(HEADERS), chance.choice(_VALUES)) for _ in range(count)]


def in_pieces(data: bytes, chance: Random) -> list[bytes]:
    """Cut bytes into up to five pieces, to be sent one after the other."""
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randint(1, 4)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
