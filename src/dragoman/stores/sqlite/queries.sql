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
INSERT INTO journal (task_id, n, kind, name, result, seq)
SELECT * FROM (VALUES (?, ?, ?, ?, ?, ?)...)
WHERE column1 IS NOT NULL;

-- name: update_plans
-- Say when tasks are to be woken and how often they were run again; NULL keeps what was said before.
WITH given (id, wake_at_ms, attempts) AS (VALUES (?, ?, ?)...)
UPDATE tasks SET
    wake_at_ms = coalesce(given.wake_at_ms, tasks.wake_at_ms),
    attempts = coalesce(given.attempts, tasks.attempts)
FROM given
WHERE tasks.id = given.id;

-- name: insert_secrets
-- Keep what only the turns of a task may see.
INSERT INTO secrets (task_id, n, body)
SELECT * FROM (VALUES (?, ?, ?)...)
WHERE column1 IS NOT NULL;

-- name: delete_secrets
-- Drop those of tasks that have ended.
DELETE FROM secrets WHERE task_id IN (SELECT column1 FROM (VALUES (?)...));

-- name: count_secrets
-- Tell whether there are any.
SELECT count(*) FROM (SELECT 1 FROM secrets LIMIT 1);

-- name: delete_inbox
-- Drop what a task has taken up: one item, or all if the number given is the third.
DELETE FROM inbox WHERE task_id = ?1 AND (n = ?2 OR ?2 = ?3);

-- name: next_inbox_number
-- Give out the next number; never one that was given before.
UPDATE tasks SET inbox_n = inbox_n + 1 WHERE id = ? RETURNING inbox_n;

-- name: insert_inbox
-- Keep a message, unless its task has ended.
INSERT INTO inbox (task_id, n, body)
SELECT id, ?2, ?3 FROM tasks WHERE id = ?1 AND state NOT IN (3, 4, 5, 7);

-- name: take_over
-- Replace the lease, if it is still the given one.
UPDATE tasks SET epoch = epoch + 1, attempts = coalesce(?, attempts) WHERE id = ? AND epoch = ?;

-- name: forget_sends
-- Drop those of the first records of sends that are old; few at a time, so that other writes need not
-- wait long.
DELETE FROM sends WHERE at_ms < ? AND id IN (SELECT id FROM sends ORDER BY id LIMIT ?);

-- name: delete_events
-- Drop the logs of tasks.
DELETE FROM events WHERE task_id IN (SELECT column1 FROM (VALUES (?)...));

-- name: delete_journal
DELETE FROM journal WHERE task_id IN (SELECT column1 FROM (VALUES (?)...));

-- name: delete_all_inbox
DELETE FROM inbox WHERE task_id IN (SELECT column1 FROM (VALUES (?)...));

-- name: delete_aliases
DELETE FROM aliases WHERE task_id IN (SELECT column1 FROM (VALUES (?)...));

-- name: delete_sends
-- Drop the records of sends of tasks. Nothing leads from a task to them, but they lie in the order of their time:
-- those before the first that is younger than all of the tasks are looked at. As a rule there are none, because
-- sends are forgotten long before their task is removed.
DELETE FROM sends
WHERE task_id IN (SELECT column1 FROM (VALUES (?)...))
  AND id < coalesce(
      (SELECT id FROM sends WHERE at_ms >= ? ORDER BY id LIMIT 1),
      (SELECT max(id) + 1 FROM sends)
  );

-- name: delete_tasks
-- Drop the rows of tasks. A trigger counts them.
DELETE FROM tasks WHERE id IN (SELECT column1 FROM (VALUES (?)...));

-- name: first_send
SELECT coalesce(min(id), 0) FROM sends;

-- name: last_send
SELECT coalesce(max(id), 0) FROM sends;

-- name: fill_probe
-- Large enough to need new pages.
INSERT INTO probe VALUES (zeroblob(65536));

-- name: empty_probe
DELETE FROM probe;

-- --- erasing ----------------------------------------------------------------------------------

-- name: create_erased
-- The tasks to erase, known to this connection alone.
CREATE TEMP TABLE erased (id TEXT PRIMARY KEY);

-- name: choose_erased
-- Task, owner, tenant and time; NULL is no condition.
INSERT INTO erased
SELECT id FROM tasks
WHERE (?1 IS NULL OR id = ?1)
  AND (?2 IS NULL OR owner = ?2)
  AND (?3 IS NULL OR tenant = ?3)
  AND (?4 IS NULL OR status_at_ms < ?4);

-- name: erase_dead_letters
DELETE FROM dead_letters WHERE task_id IN (SELECT id FROM erased) RETURNING 1;

-- name: erase_webhooks
DELETE FROM webhooks WHERE task_id IN (SELECT id FROM erased) RETURNING 1;

-- name: erase_secrets
DELETE FROM secrets WHERE task_id IN (SELECT id FROM erased) RETURNING 1;

-- name: erase_inbox
DELETE FROM inbox WHERE task_id IN (SELECT id FROM erased) RETURNING 1;

-- name: erase_journal
DELETE FROM journal WHERE task_id IN (SELECT id FROM erased) RETURNING 1;

-- name: erase_snapshots
DELETE FROM snapshots WHERE task_id IN (SELECT id FROM erased) RETURNING 1;

-- name: erase_aliases
DELETE FROM aliases WHERE task_id IN (SELECT id FROM erased) RETURNING 1;

-- name: erase_sends
-- Those of the tasks, and unless a task is named, those that were answered without one.
DELETE FROM sends
WHERE task_id IN (SELECT id FROM erased)
   OR (
       ?1 IS NULL
       AND (?2 IS NULL OR owner = ?2)
       AND (?3 IS NULL OR tenant = ?3)
       AND (?4 IS NULL OR at_ms < ?4)
       AND task_id NOT IN (SELECT id FROM tasks)
   )
RETURNING 1;

-- name: erase_events
DELETE FROM events WHERE task_id IN (SELECT id FROM erased) RETURNING count;

-- name: erase_tasks
-- A trigger counts them.
DELETE FROM tasks WHERE id IN (SELECT id FROM erased) RETURNING 1;

-- name: erase_counters
-- A counter names an owner, too.
DELETE FROM counters WHERE n = 0;

-- --- reading ----------------------------------------------------------------------------------

-- name: select_task
SELECT
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms,
    state, status_at_ms, epoch, seq, snapshot_seq, head, artifacts, history, wake_at_ms, attempts
FROM tasks WHERE id = ? AND tenant = ? AND owner = ?;

-- name: select_alias
SELECT task_id FROM aliases WHERE tenant = ? AND owner = ? AND alias = ?;

-- name: select_at_work
-- In the words of the partial index tasks_at_work.
SELECT
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms,
    state, status_at_ms, epoch, seq, snapshot_seq, head, artifacts, history, wake_at_ms, attempts
FROM tasks WHERE state IN (1, 2) AND wake_at_ms = 0 AND id > ? ORDER BY id LIMIT ?;

-- name: select_due
-- In the words of the partial index tasks_waking.
SELECT
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms,
    state, status_at_ms, epoch, seq, snapshot_seq, head, artifacts, history, wake_at_ms, attempts
FROM tasks WHERE wake_at_ms > 0 AND wake_at_ms <= ? ORDER BY wake_at_ms LIMIT ?;

-- name: select_waiting
-- Tasks that wait for their client since long. The counters know which owners have any; from there the index
-- tasks_by_state leads to the old ones.
SELECT
    tasks.id, tasks.tenant, tasks.owner, context_id, skill_id, origin_dialect, created_ms,
    tasks.state, status_at_ms, epoch, seq, snapshot_seq, head, artifacts, history, wake_at_ms, attempts
FROM counters CROSS JOIN tasks
    ON tasks.tenant = counters.tenant AND tasks.owner = counters.owner AND tasks.state = counters.state
WHERE counters.state IN (6, 8) AND counters.n > 0 AND status_at_ms < ? AND tasks.id > ?
ORDER BY tasks.id LIMIT ?;

-- name: select_oldest
-- Tasks in the order of their creation, which is that of their rows: SQLite gives a new row the highest number,
-- and VACUUM keeps the order. So what has ended long ago is found from the front, without an index on the time
-- of the end, which every task would pay for twice.
SELECT rowid, id, state, status_at_ms, created_ms, seq FROM tasks WHERE rowid > ? ORDER BY rowid LIMIT ?;

-- name: select_page
-- The filters of the query follow, then page_order.
SELECT
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms,
    state, status_at_ms, epoch, seq, snapshot_seq, head, artifacts, history, wake_at_ms, attempts
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
SELECT n, kind, name, result, seq FROM journal WHERE task_id = ? ORDER BY n;

-- name: select_secret
SELECT body FROM secrets WHERE task_id = ? AND n = ?;

-- name: select_send
SELECT digest, at_ms, task_id, reply FROM sends
WHERE id = ? AND tenant = ? AND owner = ? AND message_id = ?;

-- name: select_send_keys
-- All of them, oldest first, to fill the index in memory at start.
SELECT id, tenant, owner, message_id FROM sends ORDER BY id;

-- --- webhooks ---------------------------------------------------------------------------------

-- name: insert_webhook
-- Register one with its task: it is told of everything.
INSERT INTO webhooks (
    task_id, id, tenant, owner, dialect, host, wants, created_ms, config, cursor, state, due_ms, pending_since_ms
)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, ?10, ?10);

-- name: put_webhook
-- Register one at a task, to be told of what follows; or replace one, which then goes on where it stands. One that
-- is the same as before is left as it is.
INSERT INTO webhooks (
    task_id, id, tenant, owner, dialect, host, wants, created_ms, config, cursor, state, is_over
)
SELECT
    tasks.id, ?2, tenant, owner, ?3, ?4, ?5, ?6, ?7,
    coalesce(
        (
            SELECT events.seq + events.count - 1 FROM events
            WHERE events.task_id = tasks.id ORDER BY events.seq DESC LIMIT 1
        ),
        tasks.seq
    ),
    state,
    state IN (3, 4, 5, 7)
FROM tasks WHERE tasks.id = ?1
ON CONFLICT (task_id, id) DO UPDATE SET
    dialect = excluded.dialect,
    host = excluded.host,
    wants = excluded.wants,
    config = excluded.config,
    attempts = 0,
    finding = '',
    due_ms = excluded.created_ms,
    claim = claim + 1,
    claimed_until_ms = 0
WHERE (dialect, wants, config) <> (excluded.dialect, excluded.wants, excluded.config);

-- name: mark_webhooks
-- Note that tasks have new events, each with whether a status is among them. Only the first time costs a write.
WITH given (id, at_ms, has_status) AS (VALUES (?, ?, ?)...)
UPDATE webhooks SET pending_since_ms = given.at_ms, due_ms = given.at_ms
FROM given
WHERE webhooks.task_id = given.id
  AND pending_since_ms = 0
  AND (given.has_status OR instr(wants, 'artifacts'));

-- name: delete_webhook
DELETE FROM webhooks WHERE task_id = ? AND id = ?;

-- name: delete_letters
DELETE FROM dead_letters WHERE task_id = ? AND webhook_id = ?;

-- name: has_due_webhooks
-- Whether there is anything to take.
SELECT EXISTS (
    SELECT 1 FROM webhooks
    WHERE pending_since_ms > 0
      AND due_ms <= ?1
      AND claimed_until_ms <= ?1
      AND host NOT IN (SELECT value FROM json_each(?2))
);

-- name: take_webhooks
-- Take what is due and not taken, but for some hosts. Returns rows in no order.
UPDATE webhooks SET claim = claim + 1, claimed_until_ms = ?2
WHERE rowid IN (
    SELECT rowid FROM webhooks
    WHERE pending_since_ms > 0
      AND due_ms <= ?1
      AND claimed_until_ms <= ?1
      AND host NOT IN (SELECT value FROM json_each(?4))
    ORDER BY due_ms LIMIT ?3
)
RETURNING rowid;

-- name: advance_webhook
-- Move the cursor of one that is taken; an event before it is a dead letter, and moves nothing.
UPDATE webhooks SET
    state = iif(?4 > cursor, ?5, state),
    cursor = max(cursor, ?4),
    attempts = 0,
    finding = ''
WHERE task_id = ?1 AND id = ?2 AND claim = ?3;

-- name: keep_webhook
-- After that: stay with it if there is something left in the log or among the letters.
UPDATE webhooks SET pending_since_ms = ?3, claimed_until_ms = ?4
WHERE task_id = ?1 AND id = ?2
  AND (
      cursor < (
          SELECT events.seq + events.count - 1 FROM events
          WHERE events.task_id = ?1 ORDER BY events.seq DESC LIMIT 1
      )
      OR EXISTS (SELECT 1 FROM dead_letters WHERE task_id = ?1 AND webhook_id = ?2 AND is_queued)
  );

-- name: rest_webhook
-- Or else: nothing is left, and if its task has ended nothing will come.
UPDATE webhooks SET
    pending_since_ms = 0,
    claimed_until_ms = 0,
    due_ms = 0,
    is_over = EXISTS (SELECT 1 FROM tasks WHERE tasks.id = ?1 AND tasks.state IN (3, 4, 5, 7))
WHERE task_id = ?1 AND id = ?2;

-- name: postpone_webhook
UPDATE webhooks SET attempts = ?4, due_ms = ?5, finding = ?6, claimed_until_ms = 0
WHERE task_id = ?1 AND id = ?2 AND claim = ?3;

-- name: release_webhooks
-- Whoever had taken them is gone.
UPDATE webhooks SET claimed_until_ms = 0 WHERE pending_since_ms > 0 AND claimed_until_ms > 0;

-- name: put_letter
INSERT OR REPLACE INTO dead_letters (task_id, webhook_id, seq, attempts, finding, at_ms)
VALUES (?, ?, ?, ?, ?, ?);

-- name: delete_letter
DELETE FROM dead_letters WHERE task_id = ? AND webhook_id = ? AND seq = ?;

-- name: queue_letter
UPDATE dead_letters SET is_queued = 1 WHERE task_id = ? AND webhook_id = ? AND seq = ? AND NOT is_queued;

-- name: wake_webhook
-- Its letters are to be sent, at once.
UPDATE webhooks SET
    pending_since_ms = iif(pending_since_ms > 0, pending_since_ms, ?3), due_ms = ?3, attempts = 0
WHERE task_id = ?1 AND id = ?2;

-- name: delete_all_webhooks
DELETE FROM webhooks WHERE task_id IN (SELECT column1 FROM (VALUES (?)...));

-- name: delete_all_letters
DELETE FROM dead_letters WHERE task_id IN (SELECT column1 FROM (VALUES (?)...));

-- name: select_tasks_to_tell_of
-- Those among the given that have something to send.
SELECT DISTINCT task_id FROM webhooks
WHERE pending_since_ms > 0 AND task_id IN (SELECT column1 FROM (VALUES (?)...));

-- name: select_tasks_with_webhooks
-- Those that may still have events.
SELECT DISTINCT task_id FROM webhooks WHERE is_over = 0;

-- name: select_webhooks
-- One of the clauses below follows.
SELECT
    task_id, id, tenant, owner, dialect, host, wants, created_ms, config, cursor, state, attempts, finding, due_ms,
    claim, claimed_until_ms, pending_since_ms,
    coalesce(
        (
            SELECT min(seq) FROM dead_letters
            WHERE dead_letters.task_id = webhooks.task_id AND webhook_id = webhooks.id AND is_queued
        ),
        0
    )
FROM webhooks;

-- name: webhook_of_key
WHERE task_id = ? AND id = ?;

-- name: webhooks_of_rows
WHERE rowid IN (SELECT value FROM json_each(?)) ORDER BY due_ms;

-- name: webhooks_of_task
WHERE task_id = ? AND (created_ms, id) > (?, ?) ORDER BY created_ms, id LIMIT ?;

-- name: webhooks_after
WHERE (task_id, id) > (?, ?) ORDER BY task_id, id LIMIT ?;

-- name: select_letters
SELECT dead_letters.task_id, webhook_id, seq, host, dead_letters.attempts, dead_letters.finding, at_ms, is_queued
FROM dead_letters JOIN webhooks ON webhooks.task_id = dead_letters.task_id AND webhooks.id = webhook_id
WHERE (dead_letters.task_id, webhook_id, seq) > (?, ?, ?)
ORDER BY dead_letters.task_id, webhook_id, seq LIMIT ?;

-- name: count_webhooks
SELECT
    (SELECT count(*) FROM webhooks WHERE task_id = ?1),
    (SELECT count(*) FROM webhooks WHERE tenant = ?2 AND owner = ?3 AND is_over = 0);

-- name: webhook_overview
SELECT
    (SELECT count(*) FROM webhooks),
    (SELECT count(*) FROM webhooks WHERE pending_since_ms > 0),
    (SELECT coalesce(min(pending_since_ms), 0) FROM webhooks WHERE pending_since_ms > 0),
    (SELECT count(*) FROM dead_letters);

-- --- looking from outside ---------------------------------------------------------------------

-- name: select_record
-- All of the row of a task, whoever owns it.
SELECT
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms, state, status_at_ms, epoch, seq,
    inbox_n, wake_at_ms, attempts, snapshot_seq, head, artifacts, history
FROM tasks WHERE id = ?;

-- name: select_all_segments
SELECT seq, count, body FROM events WHERE task_id = ? ORDER BY seq;

-- name: select_ids
-- All tasks, in the order of their creation.
SELECT id FROM tasks ORDER BY rowid;

-- name: count_tasks
SELECT count(*) FROM tasks;

-- name: select_schema
-- What is ours to name; SQLite makes the rest.
SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name;

-- name: misfits
-- Values that are of another kind than their column, which SQLite does not mind, with the task they belong to.
SELECT id, 'tasks' FROM tasks
WHERE typeof(id) <> 'text' OR typeof(tenant) <> 'text' OR typeof(owner) <> 'text'
   OR typeof(context_id) <> 'text' OR typeof(skill_id) <> 'text' OR typeof(origin_dialect) <> 'text'
   OR typeof(created_ms) <> 'integer' OR typeof(state) <> 'integer' OR typeof(status_at_ms) <> 'integer'
   OR typeof(epoch) <> 'integer' OR typeof(seq) <> 'integer' OR typeof(inbox_n) <> 'integer'
   OR typeof(wake_at_ms) <> 'integer' OR typeof(attempts) <> 'integer' OR typeof(snapshot_seq) <> 'integer'
   OR typeof(head) NOT IN ('blob', 'null') OR typeof(artifacts) <> typeof(head)
   OR typeof(history) <> typeof(head)
UNION SELECT task_id, 'events' FROM events
WHERE typeof(task_id) <> 'text' OR typeof(seq) <> 'integer' OR typeof(count) <> 'integer'
   OR typeof(body) <> 'blob'
UNION SELECT task_id, 'snapshots' FROM snapshots
WHERE typeof(task_id) <> 'text' OR typeof(seq) <> 'integer' OR typeof(head) <> 'blob'
   OR typeof(artifacts) <> 'blob' OR typeof(history) <> 'blob'
UNION SELECT task_id, 'journal' FROM journal
WHERE typeof(task_id) <> 'text' OR typeof(n) <> 'integer' OR typeof(kind) <> 'text' OR typeof(name) <> 'text'
   OR typeof(result) <> 'blob' OR typeof(seq) <> 'integer'
UNION SELECT task_id, 'inbox' FROM inbox
WHERE typeof(task_id) <> 'text' OR typeof(n) <> 'integer' OR typeof(body) <> 'blob'
UNION SELECT task_id, 'aliases' FROM aliases
WHERE typeof(tenant) <> 'text' OR typeof(owner) <> 'text' OR typeof(alias) <> 'text' OR typeof(task_id) <> 'text'
UNION SELECT task_id, 'sends' FROM sends
WHERE typeof(tenant) <> 'text' OR typeof(owner) <> 'text' OR typeof(message_id) <> 'text'
   OR typeof(digest) <> 'blob' OR typeof(at_ms) <> 'integer' OR typeof(task_id) <> 'text'
   OR typeof(reply) <> 'blob'
UNION SELECT task_id, 'webhooks' FROM webhooks
WHERE typeof(task_id) <> 'text' OR typeof(id) <> 'text' OR typeof(tenant) <> 'text' OR typeof(owner) <> 'text'
   OR typeof(dialect) <> 'text' OR typeof(host) <> 'text' OR typeof(wants) <> 'text'
   OR typeof(created_ms) <> 'integer' OR typeof(cursor) <> 'integer' OR typeof(state) <> 'integer'
   OR typeof(attempts) <> 'integer' OR typeof(finding) <> 'text' OR typeof(due_ms) <> 'integer'
   OR typeof(claim) <> 'integer' OR typeof(claimed_until_ms) <> 'integer'
   OR typeof(pending_since_ms) <> 'integer' OR typeof(is_over) <> 'integer' OR typeof(config) <> 'blob'
UNION SELECT task_id, 'dead_letters' FROM dead_letters
WHERE typeof(task_id) <> 'text' OR typeof(webhook_id) <> 'text' OR typeof(seq) <> 'integer'
   OR typeof(attempts) <> 'integer' OR typeof(finding) <> 'text' OR typeof(at_ms) <> 'integer'
   OR typeof(is_queued) <> 'integer'
UNION SELECT '', 'counters' FROM counters
WHERE typeof(tenant) <> 'text' OR typeof(owner) <> 'text' OR typeof(state) <> 'integer' OR typeof(n) <> 'integer';

-- name: strays
-- What belongs to a task that there is not.
SELECT DISTINCT task_id, 'events' FROM events WHERE task_id NOT IN (SELECT id FROM tasks)
UNION ALL SELECT task_id, 'snapshots' FROM snapshots WHERE task_id NOT IN (SELECT id FROM tasks)
UNION ALL SELECT DISTINCT task_id, 'journal' FROM journal WHERE task_id NOT IN (SELECT id FROM tasks)
UNION ALL SELECT DISTINCT task_id, 'inbox' FROM inbox WHERE task_id NOT IN (SELECT id FROM tasks)
UNION ALL SELECT DISTINCT task_id, 'webhooks' FROM webhooks WHERE task_id NOT IN (SELECT id FROM tasks)
UNION ALL SELECT DISTINCT task_id, 'dead_letters' FROM dead_letters WHERE task_id NOT IN (SELECT id FROM tasks);

-- name: stray_aliases
-- Names of tasks that their owner does not have.
SELECT alias, task_id FROM aliases
WHERE NOT EXISTS (
    SELECT 1 FROM tasks
    WHERE tasks.id = aliases.task_id AND tasks.tenant = aliases.tenant AND tasks.owner = aliases.owner
);

-- name: stray_sends
-- Records of sends whose task their owner does not have. One that was answered without a task names none.
SELECT message_id, task_id FROM sends
WHERE task_id <> '' AND NOT EXISTS (
    SELECT 1 FROM tasks
    WHERE tasks.id = sends.task_id AND tasks.tenant = sends.tenant AND tasks.owner = sends.owner
);

-- name: wrong_counters
-- Owner and state, what is counted, and what there is; where the two differ.
SELECT tenant, owner, state, sum(counted), sum(found)
FROM (
    SELECT tenant, owner, state, n AS counted, 0 AS found FROM counters
    UNION ALL SELECT tenant, owner, state, 0, count(*) FROM tasks GROUP BY tenant, owner, state
)
GROUP BY tenant, owner, state HAVING sum(counted) <> sum(found);

-- name: wrong_webhooks
-- Task, webhook, and what is wrong with it. A row of tasks knows of every status in its log, and a status makes
-- every webhook pending; what else has happened concerns only some.
SELECT webhooks.task_id, webhooks.id, 'belongs to another owner than its task'
FROM webhooks JOIN tasks ON tasks.id = webhooks.task_id
WHERE tasks.tenant <> webhooks.tenant OR tasks.owner <> webhooks.owner
UNION ALL SELECT task_id, id, 'stands at event ' || cursor || ', which there is not'
FROM webhooks WHERE cursor > coalesce(
    (
        SELECT events.seq + events.count - 1 FROM events
        WHERE events.task_id = webhooks.task_id ORDER BY events.seq DESC LIMIT 1
    ),
    0
)
UNION ALL SELECT task_id, webhooks.id, 'has something to tell, but is not pending'
FROM webhooks JOIN tasks ON tasks.id = task_id
WHERE pending_since_ms = 0
  AND (
      tasks.seq > cursor
      OR EXISTS (
          SELECT 1 FROM dead_letters
          WHERE dead_letters.task_id = webhooks.task_id AND webhook_id = webhooks.id AND is_queued
      )
  )
UNION ALL SELECT task_id, webhooks.id, 'is over, but its task is not'
FROM webhooks JOIN tasks ON tasks.id = task_id WHERE is_over AND tasks.state NOT IN (3, 4, 5, 7);

-- name: wrong_letters
-- Dead letters without a webhook, or of an event that it has not come to.
SELECT dead_letters.task_id, webhook_id, seq FROM dead_letters
LEFT JOIN webhooks ON webhooks.task_id = dead_letters.task_id AND webhooks.id = webhook_id
WHERE webhooks.id IS NULL OR seq NOT BETWEEN 1 AND cursor;
