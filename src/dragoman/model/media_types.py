"""Media types as cards and requests list them: with wildcards, compared without case."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ("accepts",)


def accepts(modes: Iterable[str], media_type: str) -> bool:
    """Tell whether a media type is among the modes, which may hold wildcards (``image/*``).

    Parameters such as ``charset`` do not count.
    """
    kind, subtype = _split(media_type)
    for mode in modes:
        mode_kind, mode_subtype = _split(mode)
        if mode_kind in ("*", kind) and mode_subtype in ("*", "", subtype):
            return True
    return False


def _split(media_type: str) -> tuple[str, str]:
    kind, _, subtype = media_type.partition(";")[0].strip().lower().partition("/")
    return kind, subtype
