"""dragoman transport list: the bindings that can be spoken here."""

from __future__ import annotations

from typing import Final

import msgspec

from dragoman.bindings.grpc.base import is_installed
from dragoman.cli.command import Body, Invocation
from dragoman.cli.views.labels import Lines
from dragoman.client.discovery.offers import BINDINGS

__all__ = ("LIST",)


def _list(invocation: Invocation) -> int:
    found = {name: name != "GRPC" or is_installed() for name in BINDINGS}
    rows = [{"name": name, "isInstalled": is_here} for name, is_here in found.items()]
    lines = Lines()
    for name, is_here in found.items():
        lines.field("Transport", name if is_here else f"{name} (not installed)")
    invocation.output.show(msgspec.json.encode({"transports": rows}), lambda: lines)
    return 0


LIST: Final = Body(run=_list)
