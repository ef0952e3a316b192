"""dragoman skill: the file that tells other agents how to use this program.

There is one, and it sends its reader to the help (A2ACLI_SKILL_001). What the command line is bound
to do is written elsewhere (A2ACLI_SKILL_002).
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from dragoman.cli.command import Body, Invocation
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.surroundings import NAME, Surroundings
from dragoman.errors import UsageError

__all__ = ("SKILL",)

_FILE: Final = "SKILL.md"
_SCOPES: Final = ("user", "project")

_SCOPE: Final = Option[str](
    name="scope",
    metavar="SCOPE",
    read=values.choice(*_SCOPES),
    default="project",
    choices=_SCOPES,
    is_configurable=False,
    help="where to install it: for the user, or for the project in this folder",
)
_OVERWRITE: Final = Option[bool](
    name="overwrite",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="replace one that is there and differs",
)


def _declare(parser: Parser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=("show", "install"),
        default="show",
        help="print it (the default), or put it where agents look for skills",
    )
    parser.add_options((_SCOPE, _OVERWRITE))


def _run(invocation: Invocation) -> int:
    content = files("dragoman.cli").joinpath(_FILE).read_text("utf-8")
    if invocation.arguments.action == "show":
        invocation.output.print(content)
        return 0
    root = _root(invocation.settings[_SCOPE], invocation.surroundings)
    path = root / ".agents" / "skills" / NAME / _FILE
    _install(path, content, overwrite=invocation.settings[_OVERWRITE])
    invocation.output.print(f"Installed: {path}\n")
    return 0


def _root(scope: str, surroundings: Surroundings) -> Path:
    if scope == "project":
        return surroundings.folder
    home = surroundings.environment.get("HOME")
    if not home:
        raise UsageError("--scope user needs a home folder: set HOME")
    return Path(home)


def _install(path: Path, content: str, *, overwrite: bool) -> None:
    try:
        if path.exists() and path.read_text("utf-8") != content and not overwrite:
            raise UsageError(f"{path} is there and differs: add --overwrite to replace it")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"cannot write {path}: {problem}") from None


SKILL: Final = Body(run=_run, declare=_declare)
