-- Every statement the SQLite store runs, but for the schema (migrations/) and the filters of a list.
-- "(?, ?)..." stands for many rows; a row whose first value is NULL is filling and is skipped.

-- --- writing ----------------------------------------------------------------------------------

-- name: insert_tasks
-- Add tasks. Fails on an id that exists.
INSERT INTO tasks (
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms,
    state, status_at_ms, epoch, seq, snapshot_seq, head, artifacts, history
)
SELECT * FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)...)
WHERE column1 IS NOT NULL;

-- name: count_created
-- Count tasks that were added. Triggers count what becomes of them.
INSERT INTO counters (tenant, owner, state, n)
SELECT * FROM (VALUES (?, ?, ?, ?)...)
WHERE column1 IS NOT NULL
ON CONFLICT DO UPDATE SET n = n + excluded.n;

-- name: count_current
-- Count those of the given (id, epoch, seq) that are true: the lease is this one, and this is the last event.
WITH given (id, epoch, seq) AS (VALUES (?, ?, ?)...)
SELECT count(*)
FROM given CROSS JOIN tasks ON tasks.id = given.id AND tasks.epoch = given.epoch
WHERE given.seq = coalesce(
    (
        SELECT events.seq + events.count - 1 FROM events
        WHERE events.task_id = given.id ORDER BY events.seq DESC LIMIT 1
    ),
    tasks.seq
);

-- name: insert_segments
-- Add segments to logs. Fails on a number that is taken.
INSERT INTO events (task_id, seq, count, body)
SELECT * FROM (VALUES (?, ?, ?, ?)...)
WHERE column1 IS NOT NULL;

-- name: update_tasks
-- Move tasks on; each at most once. A state of NULL keeps the old one. The end comes with a snapshot.
WITH given (id, seq, state, status_at_ms, snapshot_seq, head, artifacts, history)
AS (VALUES (?, ?, ?, ?, ?, ?, ?, ?)...)
UPDATE tasks SET
    seq = given.seq,
    state = coalesce(given.state, tasks.state),
    status_at_ms = iif(given.state IS NULL, tasks.status_at_ms, given.status_at_ms),
    snapshot_seq = given.snapshot_seq,
    head = given.head,
    artifacts = given.artifacts,
    history = given.history
FROM given
WHERE tasks.id = given.id;

-- name: put_snapshots
-- Keep the newest snapshot of tasks that are under way.
INSERT OR REPLACE INTO snapshots (task_id, seq, head, artifacts, history)
SELECT * FROM (VALUES (?, ?, ?, ?, ?)...)
WHERE column1 IS NOT NULL;

-- name: delete_snapshots
-- Drop those of tasks that have ended.
DELETE FROM snapshots WHERE task_id IN (SELECT column1 FROM (VALUES (?)...));

-- name: insert_sends
-- Record what became of sends.
INSERT INTO sends (id, tenant, owner, message_id, digest, at_ms, task_id, reply)
SELECT * FROM (VALUES (?, ?, ?, ?, ?, ?, ?, ?)...)
WHERE column1 IS NOT NULL;

-- name: put_aliases
-- Note what clients call new tasks. The newest task of a name has it.
INSERT OR REPLACE INTO aliases (tenant, owner, alias, task_id)
SELECT * FROM (VALUES (?, ?, ?, ?)...)
WHERE column1 IS NOT NULL;

-- name: insert_journal
-- Record results of durable calls. Fails on a number that is taken.
INSERT INTO journal (task_id, n, kind, name, result)
SELECT * FROM (VALUES (?, ?, ?, ?, ?)...)
WHERE column1 IS NOT NULL;

-- name: delete_inbox
-- Drop what a task has taken up.
DELETE FROM inbox WHERE task_id = ? AND n <= ?;

-- name: next_inbox_number
-- Give out the next number; never one that was given before.
UPDATE tasks SET inbox_n = inbox_n + 1 WHERE id = ? RETURNING inbox_n;

-- name: insert_inbox
INSERT INTO inbox (task_id, n, body) VALUES (?, ?, ?);

-- name: take_over
-- Replace the lease, if it is still the given one.
UPDATE tasks SET epoch = epoch + 1 WHERE id = ? AND epoch = ?;

-- name: forget_sends
-- Drop those of the first records of sends that are old; few at a time, so that other writes need not
-- wait long.
DELETE FROM sends WHERE at_ms < ? AND id IN (SELECT id FROM sends ORDER BY id LIMIT ?);

-- name: first_send
SELECT coalesce(min(id), 0) FROM sends;

-- name: last_send
SELECT coalesce(max(id), 0) FROM sends;

-- name: fill_probe
-- Large enough to need new pages.
INSERT INTO probe VALUES (zeroblob(65536));

-- name: empty_probe
DELETE FROM probe;

-- --- reading ----------------------------------------------------------------------------------

-- name: select_task
SELECT
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms,
    state, status_at_ms, epoch, seq, snapshot_seq, head, artifacts, history
FROM tasks WHERE id = ? AND tenant = ? AND owner = ?;

-- name: select_alias
SELECT task_id FROM aliases WHERE tenant = ? AND owner = ? AND alias = ?;

-- name: select_unfinished
-- In the words of the partial index tasks_unfinished.
SELECT
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms,
    state, status_at_ms, epoch, seq, snapshot_seq, head, artifacts, history
FROM tasks WHERE state IN (1, 2, 6, 8) AND id > ? ORDER BY id LIMIT ?;

-- name: select_page
-- The filters of the query follow, then page_order.
SELECT
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms,
    state, status_at_ms, epoch, seq, snapshot_seq, head, artifacts, history
FROM tasks WHERE tenant = ? AND owner = ?;

-- name: page_order
ORDER BY status_at_ms DESC, id DESC LIMIT ?;

-- name: count_page
-- The filters of the query follow.
SELECT count(*) FROM tasks WHERE tenant = ? AND owner = ?;

-- name: count_all
SELECT coalesce(sum(n), 0) FROM counters WHERE tenant = ? AND owner = ?;

-- name: count_in_state
SELECT coalesce(sum(n), 0) FROM counters WHERE tenant = ? AND owner = ? AND state = ?;

-- name: select_segments_from
-- The segment that holds the event of the given number, and all after it.
SELECT seq, count, body FROM events
WHERE task_id = ?1
  AND seq >= coalesce((SELECT max(seq) FROM events WHERE task_id = ?1 AND seq <= ?2), 0)
ORDER BY seq;

-- name: select_segments_until
-- All segments that begin at or before the event of the given number.
SELECT seq, count, body FROM events WHERE task_id = ? AND seq <= ? ORDER BY seq;

-- name: select_snapshot
SELECT seq, head, artifacts, history FROM snapshots WHERE task_id = ?;

-- name: select_tail
-- All segments after a snapshot.
SELECT seq, count, body FROM events WHERE task_id = ? AND seq > ? ORDER BY seq;

-- name: select_inbox
SELECT n, body FROM inbox WHERE task_id = ? ORDER BY n;

-- name: select_journal
SELECT n, kind, name, result FROM journal WHERE task_id = ? ORDER BY n;

-- name: select_send
SELECT digest, at_ms, task_id, reply FROM sends
WHERE id = ? AND tenant = ? AND owner = ? AND message_id = ?;

-- name: select_send_keys
-- All of them, oldest first, to fill the index in memory at start.
SELECT id, tenant, owner, message_id FROM sends ORDER BY id;
