-- The task log.
--
-- Times are milliseconds since the Unix epoch. A state is its number in the A2A protocol's TaskState:
-- 1 submitted, 2 working, 3 completed, 4 failed, 5 canceled, 6 input required, 7 rejected, 8 auth required.

-- One row per task. Large columns come last, so that reading the others does not touch them.
CREATE TABLE tasks (
    id             TEXT    NOT NULL PRIMARY KEY,
    tenant         TEXT    NOT NULL,
    owner          TEXT    NOT NULL,
    context_id     TEXT    NOT NULL,
    skill_id       TEXT    NOT NULL,
    origin_dialect TEXT    NOT NULL,
    created_ms     INTEGER NOT NULL,
    state          INTEGER NOT NULL,
    status_at_ms   INTEGER NOT NULL,
    epoch          INTEGER NOT NULL,               -- the lease under which the task may be written
    seq            INTEGER NOT NULL,               -- the last event when this row was last written
    inbox_n        INTEGER NOT NULL DEFAULT 0,     -- the last number given in the inbox
    snapshot_seq   INTEGER NOT NULL,               -- the last event, once the task has ended; 0 before that
    head           BLOB,                           -- these three are the task itself, once it has ended
    artifacts      BLOB,
    history        BLOB
);

-- Keyset pages, newest status first, read backwards.
CREATE INDEX tasks_by_status  ON tasks (tenant, owner, status_at_ms, id);
CREATE INDEX tasks_by_state   ON tasks (tenant, owner, state, status_at_ms, id);
CREATE INDEX tasks_by_context ON tasks (tenant, owner, context_id, status_at_ms, id);

-- What to look at after a restart.
CREATE INDEX tasks_unfinished ON tasks (id) WHERE state IN (1, 2, 6, 8);

-- Entries that were committed together: seq is the number of the first event among them, count how many
-- events there are, body the entries joined by newlines. A snapshot is always at the end of a segment.
CREATE TABLE events (
    task_id TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    count   INTEGER NOT NULL,
    body    BLOB    NOT NULL,
    PRIMARY KEY (task_id, seq)
) WITHOUT ROWID;

-- The task as it was after an event, while it is under way. Kept apart from its row, which changes with
-- every status and would be rewritten with all of this.
CREATE TABLE snapshots (
    task_id   TEXT    NOT NULL PRIMARY KEY,
    seq       INTEGER NOT NULL,
    head      BLOB    NOT NULL,
    artifacts BLOB    NOT NULL,
    history   BLOB    NOT NULL
);

-- Messages acknowledged to their sender that the task has not taken up yet.
CREATE TABLE inbox (
    task_id TEXT    NOT NULL,
    n       INTEGER NOT NULL,
    body    BLOB    NOT NULL,
    PRIMARY KEY (task_id, n)
) WITHOUT ROWID;

-- Recorded results of durable calls.
CREATE TABLE journal (
    task_id TEXT    NOT NULL,
    n       INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    result  BLOB    NOT NULL,
    PRIMARY KEY (task_id, n)
) WITHOUT ROWID;

-- What became of a send, to recognise it when it is tried again. In the order of writing; the way from a
-- key to its newest row is kept in memory (send_index.py).
CREATE TABLE sends (
    id         INTEGER NOT NULL PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    message_id TEXT    NOT NULL,
    digest     BLOB    NOT NULL,
    at_ms      INTEGER NOT NULL,
    task_id    TEXT    NOT NULL,
    reply      BLOB    NOT NULL
);

-- How many tasks stand where: counting rows would take 59 ms at a million of them. Triggers keep it, so
-- that no statement can forget to.
CREATE TABLE counters (
    tenant TEXT    NOT NULL,
    owner  TEXT    NOT NULL,
    state  INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (tenant, owner, state)
) WITHOUT ROWID;

CREATE TRIGGER tasks_inserted AFTER INSERT ON tasks BEGIN
    INSERT INTO counters VALUES (new.tenant, new.owner, new.state, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER tasks_updated AFTER UPDATE OF state ON tasks WHEN old.state <> new.state BEGIN
    UPDATE counters SET n = n - 1
    WHERE tenant = old.tenant AND owner = old.owner AND state = old.state;
    INSERT INTO counters VALUES (new.tenant, new.owner, new.state, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER tasks_deleted AFTER DELETE ON tasks BEGIN
    UPDATE counters SET n = n - 1
    WHERE tenant = old.tenant AND owner = old.owner AND state = old.state;
END;

-- Written and emptied again to find out whether the disk takes data.
CREATE TABLE probe (body BLOB NOT NULL);
