"""The next version of Dragoman, as far as a database sees it: it has one migration more.

Run it like ``dragoman``. What it adds is what a migration may add while replicas of the version
before serve: columns to what they read and write, an index on it, and a table they do not know.
"""

from __future__ import annotations

from typing import Final

from dragoman.stores.shared import sql

__all__ = ()

_MORE: Final = """
ALTER TABLE tasks     ADD COLUMN later text NOT NULL DEFAULT 'then';
ALTER TABLE events    ADD COLUMN later bigint NOT NULL DEFAULT 1;
ALTER TABLE snapshots ADD COLUMN later bytea;
ALTER TABLE journal   ADD COLUMN later text;
ALTER TABLE inbox     ADD COLUMN later bigint NOT NULL DEFAULT 2;
ALTER TABLE sends     ADD COLUMN later text;
ALTER TABLE replicas  ADD COLUMN later text;
CREATE INDEX tasks_later ON tasks (later, id);
CREATE TABLE later (task_id text NOT NULL PRIMARY KEY);
INSERT INTO later SELECT id FROM tasks;
"""

_known = sql.read_migrations


def _read_migrations(package: str) -> list[str]:
    more = [_MORE] if package == "dragoman.stores.postgres" else []
    return [*_known(package), *more]


if __name__ == "__main__":
    # Before anybody has read them.
    sql.read_migrations = _read_migrations

    from dragoman.cli import main

    raise SystemExit(main())
