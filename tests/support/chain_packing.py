"""How transactions, permissions and rows of an Antelope chain are written as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from dragoman.extensions.xpr.crypto.keys import PublicKey

__all__ = (
    "Fields",
    "Keys",
    "abi",
    "blob",
    "integer",
    "name",
    "name_value",
    "permission",
    "row",
    "text",
    "varuint",
)

Fields: TypeAlias = Mapping[str, str]
"""The fields of a row by name, each with its type, in their order."""

Keys: TypeAlias = Sequence[tuple[PublicKey, int]]
"""Keys with their weights."""

_LETTERS: Final = ".12345abcdefghijklmnopqrstuvwxyz"
_CURVES: Final = {"K1": b"\0", "R1": b"\1"}
_SIZES: Final = {"uint64": 8, "int64": 8, "uint32": 4, "uint8": 1, "bool": 1}


def name_value(written: str) -> int:
    """Return the number that a name stands for."""
    value = 0
    for place in range(12):
        value = value << 5 | (_LETTERS.index(written[place]) if place < len(written) else 0)
    return value << 4


def name(written: str) -> bytes:
    """Write a name."""
    return integer(name_value(written), 8)


def integer(value: int, size: int) -> bytes:
    """Write an integer of so many bytes."""
    return value.to_bytes(size, "little", signed=value < 0)


def varuint(value: int) -> bytes:
    """Write a number in as few bytes as it needs."""
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes((*written, value))


def blob(data: bytes) -> bytes:
    """Write bytes after their number."""
    return varuint(len(data)) + data


def text(written: str) -> bytes:
    """Write a text after its length."""
    return blob(written.encode())


def several(items: Sequence[bytes]) -> bytes:
    """Write a list."""
    return varuint(len(items)) + b"".join(items)


def permission(keys: Keys, *, threshold: int = 1, account: str = "") -> bytes:
    """Write who may act: keys, or the active permission of another account."""
    packed = sorted((_CURVES[key.curve] + key.point, weight) for key, weight in keys)
    linked = [name(account) + name("active") + integer(1, 2)] if account else []
    return b"".join(
        (
            integer(threshold, 4),
            several([key + integer(weight, 2) for key, weight in packed]),
            several(linked),
            several([]),  # nothing to wait for
        )
    )


def row(fields: Fields, values: Mapping[str, object]) -> bytes:
    """Write a row; what is not given is empty."""
    return b"".join(_value(kind, values.get(field)) for field, kind in fields.items())


def _value(kind: str, value: object) -> bytes:
    if kind.endswith("[]"):
        assert not value, "the tests have empty lists alone"
        return several([])
    if kind == "name":
        return name(str(value or ""))
    if kind == "string":
        return text(str(value or ""))
    assert value is None or isinstance(value, int)
    return integer(int(value or 0), _SIZES[kind])


def abi(tables: Mapping[str, Fields], native: Mapping[str, Any] | None = None) -> bytes:
    """Write what a contract's tables hold, beside the actions that fill them.

    Args:
        native: what the node itself has for the account, which then stays.
    """
    kept = native or {"types": [], "structs": [], "actions": [], "tables": []}
    key = {"scope": "name", "table": "uint64", "pk": "uint64"}
    actions = {"put": {**key, "value": "bytes"}, "idx": {**key, "sec": "uint64"}, "del": key}
    types = [text(one["new_type_name"]) + text(one["type"]) for one in kept["types"]]
    structs = [_struct(of, fields) for of, fields in actions.items()]
    structs += [_struct(_row_type(table), fields) for table, fields in tables.items()]
    for one in kept["structs"]:
        fields = {field["name"]: field["type"] for field in one["fields"]}
        structs.append(_struct(one["name"], fields, one["base"]))
    named = {**{one["name"]: one["type"] for one in kept["actions"]}, **{of: of for of in actions}}
    return b"".join(
        (
            text("eosio::abi/1.1"),
            several(types),
            several(structs),
            several([name(action) + text(kind) + text("") for action, kind in named.items()]),
            several([_table(table) for table in tables]),
            *(several(()) for _ in range(4)),  # clauses, messages, extensions, variants
        )
    )


def _struct(written: str, fields: Fields, base: str = "") -> bytes:
    listed: Iterable[bytes] = (text(field) + text(kind) for field, kind in fields.items())
    return text(written) + text(base) + several(list(listed))


def _table(table: str) -> bytes:
    return name(table) + text("i64") + several([]) + several([]) + text(_row_type(table))


def _row_type(table: str) -> str:
    # The one type that nodes know by name: get_account shows a row of it.
    return "voter_info" if table == "voters" else table
