"""dragoman keys create, list and revoke: who may call an agent that asks for keys or passwords."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex, token_urlsafe
from typing import Final

import msgspec
from msgspec.structs import replace

from dragoman.auth.incoming.key_records import (
    KeyRecord,
    change_keys,
    digest_of,
    read_keys,
    read_uses,
)
from dragoman.auth.incoming.passwords import hash_password
from dragoman.cli.command import Body, Invocation
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.views.labels import Lines
from dragoman.clock import SystemClock
from dragoman.errors import UsageError
from dragoman.model.timestamps import format_timestamp

__all__ = ("CREATE", "LIST", "REVOKE")

_KEY_BYTES: Final = 32
_KEY_MARK: Final = "dgm_"
"""What every key begins with, so that a scanner of secrets knows one when it sees it."""

_KEYS: Final = Option[str](
    name="keys",
    metavar="FILE",
    default="keys.json",
    is_configurable=False,
    help="the file with the keys",
)
_SCOPE: Final = Option[tuple[str, ...]](
    name="scope",
    metavar="SCOPE",
    split=values.split_list,
    default=(),
    is_configurable=False,
    help="what the key is good for; may be repeated",
)
_TENANT: Final = Option[tuple[str, ...]](
    name="for-tenant",
    metavar="TENANT",
    split=values.split_list,
    default=(),
    shown="all tenants",
    is_configurable=False,
    help="where the key may be used; may be repeated",
)
_EXPIRES_IN: Final = Option[float | None](
    name="expires-in",
    metavar="DURATION",
    read=values.duration,
    default=None,
    shown="never",
    is_configurable=False,
    help="how long the key is good, such as 720h",
)
_BASIC: Final = Option[bool](
    name="basic",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="make a password for HTTP basic authentication; the user is OWNER",
)


def _path(invocation: Invocation) -> Path:
    return invocation.surroundings.folder / invocation.settings[_KEYS]


# --- create ---------------------------------------------------------------------------------------


def _declare_create(parser: Parser) -> None:
    parser.add_argument("owner", metavar="OWNER", help="whose key it is")
    parser.add_options((_SCOPE, _TENANT, _EXPIRES_IN, _BASIC, _KEYS))


def _create(invocation: Invocation) -> int:
    settings = invocation.settings
    owner: str = invocation.arguments.owner
    is_basic = settings[_BASIC]
    if not owner or not owner.isprintable() or (is_basic and ":" in owner):
        raise UsageError("OWNER must not be empty, and a user of --basic has no colon")
    secret = token_urlsafe(_KEY_BYTES) if is_basic else _KEY_MARK + token_urlsafe(_KEY_BYTES)
    now_ms, seconds = SystemClock().now_ms(), settings[_EXPIRES_IN]
    record = KeyRecord(
        id=owner if is_basic else f"k-{token_hex(6)}",
        hash=hash_password(secret) if is_basic else digest_of(secret),
        owner=owner,
        scopes=settings[_SCOPE],
        tenants=settings[_TENANT] or None,
        created=format_timestamp(now_ms),
        expires="" if seconds is None else format_timestamp(now_ms + round(seconds * 1000)),
    )
    change_keys(_path(invocation), lambda known: _added(known, record))
    label = "Password" if is_basic else "Key"
    invocation.output.show(
        msgspec.json.encode({label.lower(): secret, **_document(record, "", now_ms)}),
        lambda: Lines().field(label, secret).add(_lines(record, "", now_ms)),
    )
    invocation.output.note(f"The {label.lower()} is shown this once; only a hash of it is kept.")
    return 0


def _added(known: tuple[KeyRecord, ...], record: KeyRecord) -> tuple[KeyRecord, ...]:
    if any(one.id == record.id and not one.revoked for one in known):
        raise UsageError(f"{record.id} is there already: revoke it first")
    # A user who gets another password needs the old record no more.
    return (*(one for one in known if one.id != record.id), record)


# --- list -----------------------------------------------------------------------------------------


def _declare_list(parser: Parser) -> None:
    parser.add_options((_KEYS,))


def _list(invocation: Invocation) -> int:
    path = _path(invocation)
    try:
        records = read_keys(path)
    except FileNotFoundError:
        raise UsageError(f"there is no {path}") from None
    uses, now_ms = read_uses(path), SystemClock().now_ms()
    documents = [_document(one, uses.get(one.id, ""), now_ms) for one in records]
    lines = Lines()
    for one in records:
        lines.gap().add(_lines(one, uses.get(one.id, ""), now_ms))
    invocation.output.show(msgspec.json.encode({"keys": documents}), lambda: lines)
    if not records:
        invocation.output.note("there are no keys")
    return 0


# --- revoke ---------------------------------------------------------------------------------------


def _declare_revoke(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="the id of the key, as keys list shows it")
    parser.add_options((_KEYS,))


def _revoke(invocation: Invocation) -> int:
    path, wanted = _path(invocation), invocation.arguments.id
    if not path.exists():
        raise UsageError(f"there is no {path}")
    now = format_timestamp(SystemClock().now_ms())

    def revoked(known: tuple[KeyRecord, ...]) -> tuple[KeyRecord, ...]:
        if all(one.id != wanted for one in known):
            raise UsageError(f"there is no key {wanted} in {path}")
        return tuple(
            # When it was revoked first is what counts.
            replace(one, revoked=one.revoked or now) if one.id == wanted else one
            for one in known
        )

    change_keys(path, revoked)
    invocation.output.show(
        msgspec.json.encode({"revoked": wanted}), lambda: Lines().field("Revoked", wanted)
    )
    return 0


# --- showing --------------------------------------------------------------------------------------


def _state(record: KeyRecord, now_ms: int) -> str:
    if record.revoked:
        return "revoked"
    return "good" if record.is_good(now_ms) else "expired"


def _document(record: KeyRecord, used: str, now_ms: int) -> dict[str, object]:
    return {
        "id": record.id,
        "kind": "basic" if record.is_password else "key",
        "owner": record.owner,
        "state": _state(record, now_ms),
        "scopes": record.scopes,
        "tenants": record.tenants,
        "created": record.created,
        "expires": record.expires or None,
        "revoked": record.revoked or None,
        "lastUsed": used or None,
    }


def _lines(record: KeyRecord, used: str, now_ms: int) -> Lines:
    lines = Lines()
    lines.field("Id", record.id)
    lines.field("Owner", record.owner)
    lines.field("State", _state(record, now_ms))
    lines.field("Scopes", " ".join(record.scopes) or "none")
    lines.field("Tenants", "all" if record.tenants is None else " ".join(record.tenants))
    lines.field("Created", record.created)
    lines.field("Expires", record.expires or "never")
    return lines.field("Last used", used or "never")


CREATE: Final = Body(run=_create, declare=_declare_create)
LIST: Final = Body(run=_list, declare=_declare_list)
REVOKE: Final = Body(run=_revoke, declare=_declare_revoke)
