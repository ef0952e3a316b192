"""dragoman config show: every setting with its value and where that comes from. Never writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.auth.shared.redaction import REDACTED
from dragoman.cli.command import Body, Invocation
from dragoman.cli.options.options import GLOBAL
from dragoman.cli.options.settings import Settings
from dragoman.cli.options.view import shown
from dragoman.cli.surroundings import LOGINS
from dragoman.cli.views.labels import Lines

if TYPE_CHECKING:
    from dragoman.cli.session.logins import Login

__all__ = ("SHOW",)

_LISTED: Final = tuple(option for option in GLOBAL if option.is_configurable)


def _show(invocation: Invocation) -> int:
    settings = invocation.settings
    path, logins = _kept(invocation)
    invocation.output.show(
        _document(settings, path, logins), lambda: _lines(settings, path, logins)
    )
    return 0


def _kept(invocation: Invocation) -> tuple[str, tuple[Login, ...]]:
    """Return the file of the logins and what is in it."""
    path = invocation.surroundings.own_folder / LOGINS
    if not path.exists():
        return "", ()
    # All that is needed to renew a token comes with it.
    from dragoman.cli.session.logins import LoginFile  # noqa: PLC0415 - see above

    return str(path), LoginFile(path.parent).read()


def _document(settings: Settings, path: str, logins: tuple[Login, ...]) -> bytes:
    listed = [
        {
            "name": option.name,
            "envVar": option.variable,
            "value": shown(option, settings),
            "source": settings.source(option).level.name.lower().replace("_", "-"),
            "path": settings.source(option).place or None,
        }
        for option in _LISTED
    ]
    ignored = [{"envVar": one.variable, "path": one.source.place} for one in settings.ignored()]
    kept = [
        {"agent": login.agent, "value": REDACTED, "source": "login", "path": path}
        for login in logins
    ]
    return msgspec.json.encode({"settings": listed, "logins": kept, "ignored": ignored})


def _lines(settings: Settings, path: str, logins: tuple[Login, ...]) -> Lines:
    lines = Lines()
    for option in _LISTED:
        lines.field(option.name, f"{shown(option, settings) or '-'} ({settings.source(option)})")
    for login in logins:
        lines.field("login", f"{REDACTED} for {login.agent} ({path})")
    for one in settings.ignored():
        lines.field("ignored", f"{one.variable} ({one.source})")
    return lines


SHOW: Final = Body(run=_show)
