"""Settings files: where they are looked for, and how they are read.

A file is in the form of dotenv, ``A2ACLI_NAME=value`` a line; one that ``--config`` names may also
be a JSON object with the names of the flags. Only our own keys are taken, and nothing is passed on
to the environment.
"""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from dragoman.cli.options.options import PREFIX
from dragoman.cli.options.values import is_list, is_object
from dragoman.errors import UsageError

__all__ = ("agent_file", "is_open_to_others", "nearest_file", "read_file")

_NAME: Final = ".env"
_LINE: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_ESCAPES: Final = {r"\n": "\n", r"\"": '"', r"\\": "\\"}


def nearest_file(folder: Path) -> Path | None:
    """Return the ``.env`` of a folder or of the nearest folder above it."""
    for place in (folder, *folder.parents):
        if (place / _NAME).is_file():
            return place / _NAME
    return None


def agent_file(settings_folder: Path, origin: str) -> Path:
    """Return the file with the settings for one agent: ``agents/https_agent.example.com.env``.

    The scheme is part of the name: what is meant for https is not used over http.
    """
    parts = urlsplit(origin)
    host = parts.hostname or ""
    port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f"_{parts.port}"
    return settings_folder / "agents" / f"{parts.scheme}_{host.replace(':', '_')}{port}.env"


def read_file(path: Path) -> dict[str, str]:
    """Return the settings in a file, by the name of the variable.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise UsageError(f"cannot read {path}: {(problem.strerror or 'failed').lower()}") from None
    if path.suffix == ".json":
        return _read_json(path, content)
    # Lines of others, which may be in another encoding, are none of our business.
    return _read_lines(content.decode("utf-8", "replace"))


def is_open_to_others(path: Path) -> bool:
    """Tell whether other users of the machine may read a file."""
    return bool(stat.S_IMODE(path.stat().st_mode) & (stat.S_IRGRP | stat.S_IROTH))


def _read_lines(content: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in content.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is not None and match[1].startswith(PREFIX):
            found[match[1]] = _unquoted(match[2].strip())
    return found


def _unquoted(value: str) -> str:
    quote = value[:1]
    if quote in ("'", '"'):
        end = value.find(quote, 1) if quote == "'" else _end_of_quoted(value)
        if end > 0:
            inner = value[1:end]
            return inner if quote == "'" else re.sub(r"\\[n\"\\]", _unescaped, inner)
    # A comment begins where a # follows a space; inside a word it is part of the value.
    return re.split(r"\s#", value, maxsplit=1)[0].rstrip()


def _end_of_quoted(value: str) -> int:
    match = re.match(r'"(?:[^"\\]|\\.)*"', value)
    return match.end() - 1 if match else -1


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPES[match[0]]


def _read_json(path: Path, content: bytes) -> dict[str, str]:
    try:
        value: object = json.loads(content)
    except ValueError as problem:
        raise UsageError(f"cannot read {path}: {problem}") from None
    if not is_object(value):
        raise UsageError(f"cannot read {path}: it must hold a JSON object")
    return {
        PREFIX + name.upper().replace("-", "_"): _as_text(item)
        for name, item in value.items()
        if item is not None
    }


def _as_text(item: object) -> str:
    """Write a JSON value as it would stand in a line of dotenv."""
    if isinstance(item, str):
        return item
    return ",".join(map(_as_text, item)) if is_list(item) else json.dumps(item)
