"""Texts as PostgreSQL takes them: every character but NUL, which clients may send in ids."""

from __future__ import annotations

from typing import Any, Final

__all__ = ("readable", "readable_value", "storable", "storable_value")

_NUL: Final = "\x00"

_ESCAPE: Final = "\x1a"
"""A character that says nothing of its own (substitute); where it occurs, a mark follows."""


def storable(text: str) -> str:
    """Return what stands for a text; mostly the text itself. Different texts stay different."""
    if _NUL in text or _ESCAPE in text:
        return text.replace(_ESCAPE, f"{_ESCAPE}1").replace(_NUL, f"{_ESCAPE}0")
    return text


def readable(text: str) -> str:
    """Return the text that something stands for."""
    if _ESCAPE in text:
        return text.replace(f"{_ESCAPE}0", _NUL).replace(f"{_ESCAPE}1", _ESCAPE)
    return text


def storable_value(value: object) -> object:
    """Return what stands for a value of any kind."""
    return storable(value) if isinstance(value, str) else value


def readable_value(value: Any) -> Any:
    """Return the value of any kind that something stands for."""
    return readable(value) if isinstance(value, str) else value
