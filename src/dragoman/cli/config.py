"""dragoman config show: every setting with its value and where that comes from. Never writes."""

from __future__ import annotations

from typing import Final

import msgspec

from dragoman.cli.commands import Body, Invocation
from dragoman.cli.labels import Lines
from dragoman.cli.options import GLOBAL
from dragoman.cli.settings import Settings
from dragoman.cli.settings_view import shown

__all__ = ("SHOW",)

_LISTED: Final = tuple(option for option in GLOBAL if option.is_configurable)


def _show(invocation: Invocation) -> int:
    settings = invocation.settings
    invocation.output.show(_document(settings), lambda: _lines(settings))
    return 0


def _document(settings: Settings) -> bytes:
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
    return msgspec.json.encode({"settings": listed, "ignored": ignored})


def _lines(settings: Settings) -> Lines:
    lines = Lines()
    for option in _LISTED:
        lines.field(option.name, f"{shown(option, settings) or '-'} ({settings.source(option)})")
    for one in settings.ignored():
        lines.field("ignored", f"{one.variable} ({one.source})")
    return lines


SHOW: Final = Body(run=_show)
