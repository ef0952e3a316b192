-- Webhooks of tasks. The log of the task is their outbox: each has a cursor into it, and no row is written for a
-- notification.
CREATE TABLE webhooks (
    task_id          TEXT    NOT NULL,
    id               TEXT    NOT NULL,
    tenant           TEXT    NOT NULL,               -- whose the task is
    owner            TEXT    NOT NULL,
    dialect          TEXT    NOT NULL,               -- the form it was registered in
    host             TEXT    NOT NULL,
    wants            TEXT    NOT NULL,               -- kinds of events, apart by commas
    created_ms       INTEGER NOT NULL,
    cursor           INTEGER NOT NULL,               -- the last event that was dealt with
    state            INTEGER NOT NULL,               -- of the task after that event; 0 before the first
    attempts         INTEGER NOT NULL DEFAULT 0,     -- in vain, of the next notification
    finding          TEXT    NOT NULL DEFAULT '',    -- what came of the last of them
    due_ms           INTEGER NOT NULL DEFAULT 0,     -- not to be taken before
    claim            INTEGER NOT NULL DEFAULT 0,     -- counts how often it was taken or replaced
    claimed_until_ms INTEGER NOT NULL DEFAULT 0,     -- taken until then; 0 if it is not
    pending_since_ms INTEGER NOT NULL DEFAULT 0,     -- there may be something after the cursor; 0 if not
    is_over          INTEGER NOT NULL DEFAULT 0,     -- its task has ended, and all was dealt with
    config           BLOB    NOT NULL,               -- as the client gave it, with its secrets
    PRIMARY KEY (task_id, id)
);

-- What to send, in the order it is due.
CREATE INDEX webhooks_pending ON webhooks (due_ms) WHERE pending_since_ms > 0;

-- How many an owner has that may still be called.
CREATE INDEX webhooks_in_use ON webhooks (tenant, owner) WHERE is_over = 0;

-- Notifications that were given up: which event, how often it was tried, what came of it.
CREATE TABLE dead_letters (
    task_id    TEXT    NOT NULL,
    webhook_id TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    finding    TEXT    NOT NULL,
    at_ms      INTEGER NOT NULL,
    is_queued  INTEGER NOT NULL DEFAULT 0,           -- an operator has it sent again
    PRIMARY KEY (task_id, webhook_id, seq)
) WITHOUT ROWID;
