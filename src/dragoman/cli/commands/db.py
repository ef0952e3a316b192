"""dragoman db check, upgrade, vacuum and erase: look after the store of a server."""

from __future__ import annotations

from typing import Final

import msgspec

from dragoman.cli.command import Body, Invocation
from dragoman.cli.errors import FAILURE
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.serving.options import CONFIG_FILE
from dragoman.cli.views.labels import Lines
from dragoman.errors import UsageError
from dragoman.model.timestamps import parse_timestamp
from dragoman.server.settings import Settings, read_config_file
from dragoman.stores.maintenance import ERASED, Erasure, Finding, Maintenance
from dragoman.stores.opening import open_maintenance

__all__ = (
    "CHECK",
    "ERASE",
    "STORE",
    "UPGRADE",
    "VACUUM",
    "keeper_of",
    "store_of",
)


# --- which store ----------------------------------------------------------------------------------

STORE: Final = Option[str | None](
    name="store",
    metavar="URL",
    default=None,
    shown="that of dragoman serve: DRAGOMAN_STORE, dragoman.toml, or sqlite:///dragoman.db",
    # The variable is the one that the server reads.
    is_configurable=False,
    help="store to look at, such as sqlite:///tasks.db or postgres://user@host/name",
)


def keeper_of(invocation: Invocation) -> Maintenance:
    """Return what looks after the store that is meant; whether it exists is not looked at.

    Raises:
        UsageError: the store is gone with its process, or there is no such kind.
    """
    return open_maintenance(store_of(invocation), invocation.surroundings.folder)


def store_of(invocation: Invocation) -> str:
    """Return the address of the store that is meant."""
    variable = invocation.surroundings.environment.get("DRAGOMAN_STORE")
    return invocation.settings[STORE] or variable or _configured(invocation)


def _configured(invocation: Invocation) -> str:
    """Return the store that the settings file of a server names, or else the one by default."""
    surroundings = invocation.surroundings
    named = surroundings.environment.get("DRAGOMAN_CONFIG")
    file = surroundings.folder / (named or CONFIG_FILE)
    settings = read_config_file(file) if named or file.is_file() else {}
    url = settings.get("store", Settings().store)
    if not isinstance(url, str):
        raise UsageError(f"{file}: store must be a text, not {url!r}")
    return url


_LIMIT: Final = Option[int](
    name="limit",
    metavar="N",
    read=values.count,
    default=100,
    is_configurable=False,
    help="how many findings to show; all are counted",
)

# --- check ----------------------------------------------------------------------------------------


def _declare_check(parser: Parser) -> None:
    parser.add_options((STORE, _LIMIT))


def _check(invocation: Invocation) -> int:
    keeper = keeper_of(invocation)
    check = _Check(invocation)
    keeper.check(check.add, check.progress)
    invocation.output.show(check.document(keeper.name), lambda: check.lines(keeper.name))
    return FAILURE if check.found else 0


class _Check:
    """What a check has found so far; no more than is to be shown is kept."""

    def __init__(self, invocation: Invocation) -> None:
        self._output = invocation.output
        self._limit = invocation.settings[_LIMIT]
        self._shown: list[Finding] = []
        self._tasks = 0
        self.found = 0

    def add(self, finding: Finding) -> None:
        self.found += 1
        if self.found <= self._limit:
            self._shown.append(finding)

    def progress(self, done: int, total: int) -> None:
        self._tasks = done
        if done < total:
            self._output.note(f"{done} of {total} tasks checked")

    def document(self, store: str) -> bytes:
        findings = [
            {"rule": each.rule, "taskId": each.task_id or None, "text": each.text}
            for each in self._shown
        ]
        return msgspec.json.encode(
            {"store": store, "tasks": self._tasks, "found": self.found, "findings": findings}
        )

    def lines(self, store: str) -> Lines:
        lines = Lines()
        for each in self._shown:
            where = f"{each.rule} {each.task_id}".rstrip()
            lines.field("Finding", f"{where}: {each.text}")
        lines.field("Store", store).field("Tasks", self._tasks)
        shown = len(self._shown)
        cut = f" ({shown} shown)" if shown < self.found else ""
        return lines.field("Findings", f"{self.found}{cut}")


# --- upgrade, vacuum ------------------------------------------------------------------------------


def _declare(parser: Parser) -> None:
    parser.add_options((STORE,))


def _upgrade(invocation: Invocation) -> int:
    keeper = keeper_of(invocation)
    before, after = keeper.upgrade()
    invocation.output.show(
        msgspec.json.encode({"store": keeper.name, "schemaBefore": before, "schemaAfter": after}),
        lambda: (
            Lines()
            .field("Store", keeper.name)
            .field("Schema before", before)
            .field("Schema after", after)
        ),
    )
    return 0


def _vacuum(invocation: Invocation) -> int:
    keeper = keeper_of(invocation)
    before, after = keeper.vacuum()
    invocation.output.show(
        msgspec.json.encode({"store": keeper.name, "bytesBefore": before, "bytesAfter": after}),
        lambda: (
            Lines()
            .field("Store", keeper.name)
            .field("Bytes before", before)
            .field("Bytes after", after)
        ),
    )
    return 0


# --- erase ----------------------------------------------------------------------------------------

_TASK: Final = Option[str | None](
    name="task",
    metavar="ID",
    read=values.text,
    default=None,
    is_configurable=False,
    help="erase this task",
)
_OWNER: Final = Option[str | None](
    name="owner",
    metavar="NAME",
    read=values.text,
    default=None,
    is_configurable=False,
    help="erase everything of this owner; with --tenant, of the owner in that tenant",
)
_OF_TENANT: Final = Option[str | None](
    name="tenant",
    metavar="NAME",
    read=values.text,
    default=None,
    is_configurable=False,
    help="erase everything of this tenant",
)
_BEFORE: Final = Option[str | None](
    name="before",
    metavar="WHEN",
    read=values.timestamp,
    default=None,
    is_configurable=False,
    help="only tasks whose last status is older, such as 2026-01-31T00:00:00Z",
)
_DRY_RUN: Final = Option[bool](
    name="dry-run",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="count what would be erased, and leave it in place",
)

_ERASE_EPILOG: Final = """\
Tasks under way are erased as well. There is no way back.
Backups and the stores of other agents are not touched.

examples:
  dragoman db erase --owner key:alice --dry-run
  dragoman db erase --tenant acme --before 2026-01-31T00:00:00Z
"""


def _declare_erase(parser: Parser) -> None:
    parser.epilog = _ERASE_EPILOG
    parser.add_options((_TASK, _OWNER, _OF_TENANT, _BEFORE, _DRY_RUN, STORE))


def _erase(invocation: Invocation) -> int:
    settings = invocation.settings
    task_id, owner, tenant = settings[_TASK], settings[_OWNER], settings[_OF_TENANT]
    if (task_id is None) == (owner is None and tenant is None):
        raise UsageError("say what to erase: --task ID, or --owner NAME, --tenant NAME or both")
    before, is_trial = settings[_BEFORE], settings[_DRY_RUN]
    keeper = keeper_of(invocation)
    removed = keeper.erase(
        Erasure(task_id, owner, tenant, None if before is None else parse_timestamp(before)),
        is_trial=is_trial,
    )
    counts = {_ERASED_NAMES[table]: removed[table] for table in reversed(ERASED)}
    invocation.output.show(
        msgspec.json.encode({"store": keeper.name, "dryRun": is_trial, "erased": counts}),
        lambda: _erased_lines(keeper.name, counts, is_trial=is_trial),
    )
    return FAILURE if task_id is not None and not removed["tasks"] else 0


_ERASED_NAMES: Final = {
    "tasks": "tasks",
    "events": "events",
    "sends": "sends",
    "aliases": "aliases",
    "snapshots": "snapshots",
    "journal": "results",
    "inbox": "messages",
    "secrets": "secrets",
    "webhooks": "webhooks",
    "dead_letters": "deadLetters",
}
"""What the rows of a table are to users."""


def _erased_lines(store: str, counts: dict[str, int], *, is_trial: bool) -> Lines:
    lines = Lines().field("Store", store)
    if is_trial:
        lines.field("Dry run", "nothing was erased")
    for name, count in counts.items():
        lines.field("Dead letters" if name == "deadLetters" else name.capitalize(), count)
    return lines


CHECK: Final = Body(run=_check, declare=_declare_check)
ERASE: Final = Body(run=_erase, declare=_declare_erase)
UPGRADE: Final = Body(run=_upgrade, declare=_declare)
VACUUM: Final = Body(run=_vacuum, declare=_declare)
