-- Statements of the notebook of adapters. All text columns are as their owners write them.

-- name: create_said
-- What was said in conversations, by the run that said it.
CREATE TABLE IF NOT EXISTS said (
    conversation TEXT NOT NULL,
    n INTEGER NOT NULL,
    run TEXT NOT NULL,
    messages BLOB NOT NULL,
    PRIMARY KEY (conversation, n),
    UNIQUE (conversation, run)
) WITHOUT ROWID;

-- name: create_checkpoints
-- The states of a graph, by thread; ids are ordered as they were made.
CREATE TABLE IF NOT EXISTS checkpoints (
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    parent TEXT,
    kind TEXT NOT NULL,
    state BLOB NOT NULL,
    metadata_kind TEXT NOT NULL,
    metadata BLOB NOT NULL,
    PRIMARY KEY (thread, namespace, id)
) WITHOUT ROWID;

-- name: create_writes
-- What tasks of a graph have written since a state.
CREATE TABLE IF NOT EXISTS writes (
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    task TEXT NOT NULL,
    n INTEGER NOT NULL,
    channel TEXT NOT NULL,
    kind TEXT NOT NULL,
    value BLOB NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (thread, namespace, id, task, n)
) WITHOUT ROWID;

-- name: read_said
SELECT messages FROM said WHERE conversation = ? ORDER BY n LIMIT ?;

-- name: add_said
-- A run that is noted again stays as it was noted first.
INSERT INTO said (conversation, n, run, messages)
SELECT ?1, COALESCE(MAX(n), 0) + 1, ?2, ?3 FROM said WHERE conversation = ?1
ON CONFLICT DO NOTHING;

-- name: read_checkpoint
SELECT id, parent, kind, state, metadata_kind, metadata FROM checkpoints
WHERE thread = ? AND namespace = ? AND id = ?;

-- name: read_last_checkpoint
SELECT id, parent, kind, state, metadata_kind, metadata FROM checkpoints
WHERE thread = ? AND namespace = ? ORDER BY id DESC LIMIT 1;

-- name: list_checkpoints
-- The newest first; an empty bound is none.
SELECT id, parent, kind, state, metadata_kind, metadata FROM checkpoints
WHERE thread = ?1 AND namespace = ?2 AND (?3 = '' OR id < ?3) ORDER BY id DESC;

-- name: write_checkpoint
INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: read_writes
SELECT task, channel, kind, value FROM writes
WHERE thread = ? AND namespace = ? AND id = ? ORDER BY path, task, n;

-- name: add_write
-- What a task writes is written once.
INSERT OR IGNORE INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: replace_write
-- Interrupts, answers and errors of a task take the place of the ones before.
INSERT OR REPLACE INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: delete_checkpoints
DELETE FROM checkpoints WHERE thread = ?;

-- name: delete_writes
DELETE FROM writes WHERE thread = ?;
