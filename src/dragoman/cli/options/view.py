"""How settings look to people: with where they come from, and without secrets."""

from __future__ import annotations

import msgspec

from dragoman.auth.shared.redaction import REDACTED, without_userinfo
from dragoman.cli.options.options import Option
from dragoman.cli.options.settings import Level, Settings
from dragoman.errors import UsageError

__all__ = ("described", "shown")


def described(option: Option[object], settings: Settings) -> str:
    """Tell, for the help, the value that an option has if it is not given; "" if it has none."""
    source = settings.source(option)
    if source.level is not Level.BUILT_IN:
        return f"{shown(option, settings)}, from {source}"
    # That a switch is off goes without saying.
    return option.shown or ("" if option.default is False else _plain(option.default) or "")


def shown(option: Option[object], settings: Settings) -> str | None:
    """Return a value as it may be shown, None if there is none; a secret never is."""
    if option.is_secret and settings.is_set(option):
        return REDACTED
    try:
        return _plain(settings[option])
    except UsageError as problem:
        return f"(invalid: {problem})"


def _plain(value: object) -> str | None:
    match value:
        case None | ():
            return None
        case bool():
            return "true" if value else "false"
        case tuple():
            return ", ".join(map(str, msgspec.convert(value, tuple[object, ...])))
        case float():
            return f"{value:g}s"
        case str():
            return without_userinfo(value)
        case _:
            return msgspec.json.encode(value).decode()
