-- Every statement the PostgreSQL store runs, but for the schema (migrations/) and the filters of a list.
--
-- A batch of writes is one statement, and so one transaction and one round trip. It is put together from the pieces
-- below that it needs (statements.py): "with_x" becomes the common table expression x, and "verdict_x" a part of the
-- query at the end, which either ends the transaction or returns nothing. Each piece counts its parameters from $1.
-- All pieces see the database as it was before the statement, and what others return.
--
-- Rows come in the order of their keys, so that two replicas lock them in the same order.

-- --- writing: the log -------------------------------------------------------------------------

-- name: with_created
-- Add tasks. Fails on an id that exists.
INSERT INTO tasks (
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms, state, status_at_ms,
    epoch, seq, wake_at_ms, attempts, has_webhooks, holder, snapshot_seq, head, artifacts, history
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::smallint[],
    $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::integer[], $14::boolean[], $15::text[],
    $16::bigint[], $17::bytea[], $18::bytea[], $19::bytea[]
);

-- name: with_aliases
-- Note what clients call new tasks. The newest task of a name has it.
INSERT INTO aliases (tenant, owner, alias, task_id)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
ON CONFLICT (tenant, owner, alias) DO UPDATE SET task_id = excluded.task_id;

-- name: with_registered
-- Add webhooks that come with their task: they are told of everything.
INSERT INTO webhooks (
    task_id, id, tenant, owner, dialect, host, wants, created_ms, config, due_ms, pending_since_ms, cursor, state
)
SELECT given.*, 0, 0 FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bytea[],
    $10::bigint[], $11::bigint[]
) AS given
RETURNING 1;

-- name: verdict_registered
-- How many have something to send now.
SELECT ARRAY[count(*)] FROM registered;

-- name: with_updated
-- Move tasks on; each at most once. NULL keeps what was there. The end comes with a snapshot, and lets go of the
-- holder.
UPDATE tasks SET
    seq = given.seq,
    state = coalesce(given.state, tasks.state),
    status_at_ms = coalesce(given.status_at_ms, tasks.status_at_ms),
    wake_at_ms = coalesce(given.wake_at_ms, tasks.wake_at_ms),
    attempts = coalesce(given.attempts, tasks.attempts),
    holder = CASE WHEN given.state IN (3, 4, 5, 7) THEN '' ELSE tasks.holder END,
    snapshot_seq = coalesce(given.snapshot_seq, tasks.snapshot_seq),
    head = coalesce(given.head, tasks.head),
    artifacts = coalesce(given.artifacts, tasks.artifacts),
    history = coalesce(given.history, tasks.history)
FROM unnest(
    $1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::smallint[], $6::bigint[], $7::bigint[],
    $8::integer[], $9::bigint[], $10::bigint[], $11::bytea[], $12::bytea[], $13::bytea[], $14::bigint[]
) AS given (
    id, epoch, expected_seq, seq, state, status_at_ms, wake_at_ms,
    attempts, inbox_seen, snapshot_seq, head, artifacts, history, at_ms
)
WHERE tasks.id = given.id AND tasks.epoch = given.epoch AND tasks.seq = given.expected_seq
RETURNING
    tasks.id, tasks.tenant, tasks.owner, tasks.state, tasks.inbox_n > given.inbox_seen AS is_unread,
    tasks.has_webhooks AND given.seq > given.expected_seq AS is_news, given.at_ms, given.state IS NOT NULL AS has_status;

-- name: verdict_updated
-- A lease or an expected number is stale; or a task is to end that has messages its writer does not know of. Otherwise
-- webhooks hear of it, of those tasks that may have any; how many have something to send now that had not before.
SELECT refuse('DR001') WHERE (SELECT count(*) FROM updated) <> cardinality($1::text[])
UNION ALL SELECT refuse('DR002') WHERE EXISTS (SELECT FROM updated WHERE is_unread)
UNION ALL SELECT tell_webhooks(array_agg(id), array_agg(at_ms), array_agg(has_status))
FROM updated WHERE is_news HAVING count(*) > 0;

-- name: with_counted
-- Count new tasks.
INSERT INTO counters (tenant, owner, state, shard, n)
SELECT given.tenant, given.owner, given.state, $5::smallint, given.n
FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[]) AS given (tenant, owner, state, n)
ORDER BY 1, 2, 3
ON CONFLICT (tenant, owner, state, shard) DO UPDATE SET n = counters.n + excluded.n;

-- name: with_recounted
-- Count new tasks, and those that were moved on. What those were before is seen in the tables themselves: nobody
-- else can have changed it meanwhile, or the expected number would not have been right.
INSERT INTO counters (tenant, owner, state, shard, n)
SELECT changes.tenant, changes.owner, changes.state, $5::smallint, sum(changes.n)
FROM (
    SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[]) AS given (tenant, owner, state, n)
    UNION ALL SELECT tenant, owner, state, 1 FROM updated
    UNION ALL SELECT before.tenant, before.owner, before.state, -1 FROM updated JOIN tasks AS before USING (id)
) AS changes
GROUP BY 1, 2, 3 HAVING sum(changes.n) <> 0 ORDER BY 1, 2, 3
ON CONFLICT (tenant, owner, state, shard) DO UPDATE SET n = counters.n + excluded.n;

-- name: with_segments
-- Add segments to logs. Fails on a number that is taken.
INSERT INTO events (task_id, seq, count, body)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::bytea[]);

-- name: with_snapshots
-- Keep the newest snapshot of tasks that are under way.
INSERT INTO snapshots (task_id, seq, head, artifacts, history)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[])
ON CONFLICT (task_id) DO UPDATE SET
    seq = excluded.seq, head = excluded.head, artifacts = excluded.artifacts, history = excluded.history;

-- name: with_ended
-- Drop the snapshots of tasks that have ended.
DELETE FROM snapshots WHERE task_id = ANY ($1::text[]);

-- name: with_journal
-- Record results of durable calls. Fails on a number that is taken.
INSERT INTO journal (task_id, n, kind, name, result, seq)
SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::bytea[], $6::bigint[]);

-- name: with_secrets
-- Keep what only a turn of its task may see.
INSERT INTO secrets (task_id, n, body)
SELECT * FROM unnest($1::text[], $2::integer[], $3::bytea[]);

-- name: with_forgotten
-- Drop the secrets of tasks that have ended.
DELETE FROM secrets WHERE task_id = ANY ($1::text[]);

-- name: with_taken
-- Drop what tasks have taken up.
DELETE FROM inbox USING unnest($1::text[], $2::bigint[]) AS given (task_id, n)
WHERE inbox.task_id = given.task_id AND inbox.n = given.n;

-- name: with_emptied
-- Drop all that waits for tasks.
DELETE FROM inbox WHERE task_id = ANY ($1::text[]);

-- name: with_sending
-- Records of sends.
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::text[], $7::bytea[], $8::bigint[]
) AS given (tenant, owner, message_id, digest, at_ms, task_id, reply, since_ms);

-- name: with_sent
-- Record what became of sends, unless the same was recorded before in the time that counts.
INSERT INTO sends (tenant, owner, message_id, digest, at_ms, task_id, reply, since_ms)
SELECT tenant, owner, message_id, digest, at_ms, task_id, reply, since_ms FROM sending ORDER BY 1, 2, 3
ON CONFLICT (tenant, owner, message_id) DO UPDATE SET
    digest = excluded.digest, at_ms = excluded.at_ms, task_id = excluded.task_id,
    reply = excluded.reply, since_ms = excluded.since_ms
WHERE excluded.since_ms = 0 OR sends.digest <> excluded.digest OR sends.at_ms < excluded.since_ms
RETURNING 1;

-- name: verdict_sent
SELECT refuse('DR003') WHERE (SELECT count(*) FROM sent) <> (SELECT count(*) FROM sending);

-- --- writing: inboxes and leases --------------------------------------------------------------

-- name: with_posts
-- What is to be put into inboxes: ordinal counts those of one task from 1. A post is for a task that somebody else
-- holds; if it has ended, the send is not kept either. The same if it has ended under another lease than was given.
SELECT * FROM unnest($1::text[], $2::integer[], $3::bytea[], $4::boolean[], $5::bigint[])
WITH ORDINALITY AS given (task_id, ordinal, body, is_post, epoch, place);

-- name: with_numbered
-- Give out the next numbers, without gaps; a task that has ended takes nothing.
UPDATE tasks SET inbox_n = inbox_n + CASE WHEN state IN (3, 4, 5, 7) THEN 0 ELSE totals.n END
FROM (SELECT task_id, count(*) AS n FROM posts GROUP BY task_id ORDER BY task_id) AS totals
WHERE tasks.id = totals.task_id
RETURNING tasks.id, tasks.seq, tasks.state, tasks.epoch, tasks.inbox_n - totals.n AS before,
    tasks.state IN (3, 4, 5, 7) AS has_ended;

-- name: with_kept
INSERT INTO inbox (task_id, n, body)
SELECT posts.task_id, numbered.before + posts.ordinal, posts.body
FROM posts JOIN numbered ON numbered.id = posts.task_id
WHERE NOT numbered.has_ended;

-- name: with_sending_of_posts
-- Records of the sends that the posts of the given places are; those of tasks that there are.
SELECT given.* FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::text[], $7::bytea[], $8::bigint[],
    $9::bigint[]
) AS given (tenant, owner, message_id, digest, at_ms, task_id, reply, since_ms, place)
JOIN posts USING (place) JOIN numbered ON numbered.id = posts.task_id
WHERE NOT (numbered.has_ended AND (posts.is_post OR coalesce(posts.epoch <> numbered.epoch, false)));

-- name: result_of_posts
-- For each its number, and state and last event of its task; NULL for a task that there is not, and as the number for
-- one that has ended under another lease.
SELECT array_agg(answer.value ORDER BY posts.place, answer.at)
FROM posts LEFT JOIN numbered ON numbered.id = posts.task_id
CROSS JOIN LATERAL (VALUES
    (
        1,
        CASE
            WHEN numbered.has_ended AND posts.epoch <> numbered.epoch THEN NULL
            WHEN numbered.has_ended THEN 0
            ELSE numbered.before + posts.ordinal
        END
    ),
    (2, numbered.state),
    (3, numbered.seq)
) AS answer (at, value);

-- name: with_holders
-- The other replicas that hold these tasks, alive or not. A lease that is just being renewed is waited for, and none
-- can be renewed from now on until the tasks are taken over: who renews it then is told that it was late.
SELECT id, lease_until FROM replicas
WHERE id IN (SELECT tasks.holder FROM tasks WHERE tasks.id = ANY ($1::text[])) AND id <> $2::text
FOR SHARE;

-- name: with_leases
-- Replace leases that are still the given ones and that no living replica has; each task at most once. The new
-- holder has it.
UPDATE tasks SET epoch = tasks.epoch + 1, attempts = coalesce(given.attempts, tasks.attempts), holder = $4::text
FROM unnest($1::text[], $2::bigint[], $3::integer[]) AS given (id, epoch, attempts)
WHERE tasks.id = given.id AND tasks.epoch = given.epoch AND tasks.holder NOT IN (
    SELECT holders.id FROM holders WHERE holders.lease_until > clock_timestamp()
)
RETURNING tasks.id, tasks.epoch;

-- name: result_of_leases
-- For each its new lease; NULL for one that was not the given one, or that a living replica has.
SELECT array_agg(leases.epoch ORDER BY given.place)
FROM unnest($1::text[]) WITH ORDINALITY AS given (id, place) LEFT JOIN leases USING (id);

-- name: with_released
-- Hold tasks no longer whose lease is still the given one.
UPDATE tasks SET holder = ''
FROM unnest($1::text[], $2::bigint[]) AS given (id, epoch)
WHERE tasks.id = given.id AND tasks.epoch = given.epoch;

-- --- writing: batches -------------------------------------------------------------------------

-- name: with_marked
-- Count up the batches of this writer, if it is the one that is expected; the result is kept with it.
UPDATE writers SET batch = batch + 1, result = ({result}), seen_at = now()
WHERE id = $1::bigint AND connection = $2::bigint AND batch = $3::bigint
RETURNING result;

-- name: verdict_marked
-- This writer has been replaced by a newer connection. Otherwise all is well, and there may be a result.
SELECT refuse('DR004') WHERE NOT EXISTS (SELECT FROM marked)
UNION ALL SELECT result FROM marked;

-- name: keep_promise
-- What is acknowledged is on the disk, whatever the database does for others.
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';

-- name: add_writer
INSERT INTO writers DEFAULT VALUES RETURNING id;

-- name: settle
-- Begin a new connection of a writer: one that is still on its way on the old one will not be kept any more. Tell
-- which batch was the last that was, and what it answered.
UPDATE writers SET connection = connection + 1 WHERE id = $1 RETURNING connection, batch, result;

-- name: remove_writer
DELETE FROM writers WHERE id = $1;

-- name: remove_old_writers
-- Rows of writers that were killed. One that has had nothing to write for so long is told, and begins anew.
DELETE FROM writers WHERE seen_at < now() - interval '7 days' AND id <> $1;

-- --- replicas -----------------------------------------------------------------------------------

-- name: beat
-- Renew a lease; tell whether it had not run out. Who takes tasks over because it had comes before this, or after it
-- and then knows better: the clock is looked at when the row is ours.
WITH before AS (SELECT lease_until FROM replicas WHERE id = $1 FOR UPDATE),
renewed AS (
    INSERT INTO replicas (id, lease_until) VALUES ($1, clock_timestamp() + $2::float * interval '1 second')
    ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until
)
SELECT coalesce((SELECT lease_until > clock_timestamp() FROM before), false);

-- name: next_lapse
-- In how many seconds the next lease of another replica runs out; NULL if no other is alive.
SELECT extract(epoch FROM min(lease_until) - clock_timestamp())::float
FROM replicas WHERE id <> $1 AND lease_until > clock_timestamp();

-- name: leave
DELETE FROM replicas WHERE id = $1;

-- name: forget_replicas
-- Those that are dead since long. What they held is still for others: who is not there is dead as well.
DELETE FROM replicas WHERE lease_until < clock_timestamp() - interval '1 day';

-- --- removing -----------------------------------------------------------------------------------

-- name: forget_sends
-- Drop some of the records of sends that are old.
WITH gone AS (
    DELETE FROM sends WHERE (tenant, owner, message_id) IN (
        SELECT tenant, owner, message_id FROM sends WHERE at_ms < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    ) RETURNING 1
)
SELECT count(*) FROM gone;

-- name: select_ended
-- Tasks that ended before a time, those that ended first first, from a time on; but for those whose webhooks have
-- something to send.
SELECT id, status_at_ms, seq FROM tasks
WHERE state IN (3, 4, 5, 7) AND status_at_ms >= $1 AND status_at_ms < $2 AND NOT (
    has_webhooks AND EXISTS (SELECT FROM webhooks WHERE task_id = tasks.id AND pending_since_ms > 0)
)
ORDER BY status_at_ms LIMIT $3;

-- name: delete_tasks
-- Remove tasks that have ended, with all that belongs to them; a trigger sees to webhooks. Another replica may be at the same, in the same
-- order: what it has removed is not counted here. Removals have a shard of their own, for which no writer waits.
WITH gone AS (
    DELETE FROM tasks USING unnest($1::text[]) AS given (id)
    WHERE tasks.id = given.id AND state IN (3, 4, 5, 7)
    RETURNING tasks.id, tenant, owner, state
),
logs AS (DELETE FROM events USING gone WHERE events.task_id = gone.id),
leftovers AS (DELETE FROM snapshots USING gone WHERE snapshots.task_id = gone.id),
results AS (DELETE FROM journal USING gone WHERE journal.task_id = gone.id),
messages AS (DELETE FROM inbox USING gone WHERE inbox.task_id = gone.id),
names AS (DELETE FROM aliases USING gone WHERE aliases.task_id = gone.id),
records AS (
    DELETE FROM sends USING gone
    WHERE sends.task_id = gone.id AND sends.at_ms < $2
),
counted AS (
    INSERT INTO counters (tenant, owner, state, shard, n)
    SELECT tenant, owner, state, -1, -count(*) FROM gone GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (tenant, owner, state, shard) DO UPDATE SET n = counters.n + excluded.n
)
SELECT count(*) FROM gone;

-- --- erasing ------------------------------------------------------------------------------------

-- name: choose_erased
-- Task, owner, tenant and time; NULL is no condition. The rows are ours from here on: their holders wait, and are
-- refused afterwards.
SELECT id FROM tasks
WHERE ($1::text IS NULL OR id = $1)
  AND ($2::text IS NULL OR owner = $2)
  AND ($3::text IS NULL OR tenant = $3)
  AND ($4::bigint IS NULL OR status_at_ms < $4)
ORDER BY id FOR UPDATE;

-- name: erase_dead_letters
WITH gone AS (DELETE FROM dead_letters WHERE task_id = ANY ($1::text[]) RETURNING 1 AS n) SELECT coalesce(sum(n), 0)::bigint FROM gone;

-- name: erase_webhooks
WITH gone AS (DELETE FROM webhooks WHERE task_id = ANY ($1::text[]) RETURNING 1 AS n) SELECT coalesce(sum(n), 0)::bigint FROM gone;

-- name: erase_secrets
WITH gone AS (DELETE FROM secrets WHERE task_id = ANY ($1::text[]) RETURNING 1 AS n) SELECT coalesce(sum(n), 0)::bigint FROM gone;

-- name: erase_inbox
WITH gone AS (DELETE FROM inbox WHERE task_id = ANY ($1::text[]) RETURNING 1 AS n) SELECT coalesce(sum(n), 0)::bigint FROM gone;

-- name: erase_journal
WITH gone AS (DELETE FROM journal WHERE task_id = ANY ($1::text[]) RETURNING 1 AS n) SELECT coalesce(sum(n), 0)::bigint FROM gone;

-- name: erase_snapshots
WITH gone AS (DELETE FROM snapshots WHERE task_id = ANY ($1::text[]) RETURNING 1 AS n) SELECT coalesce(sum(n), 0)::bigint FROM gone;

-- name: erase_aliases
WITH gone AS (DELETE FROM aliases WHERE task_id = ANY ($1::text[]) RETURNING 1 AS n) SELECT coalesce(sum(n), 0)::bigint FROM gone;

-- name: erase_sends
-- Those of the tasks, and unless a task is named, those that were answered without one.
WITH gone AS (
    DELETE FROM sends
    WHERE task_id = ANY ($1::text[])
       OR (
           $2::text IS NULL
           AND ($3::text IS NULL OR owner = $3)
           AND ($4::text IS NULL OR tenant = $4)
           AND ($5::bigint IS NULL OR at_ms < $5)
           AND NOT EXISTS (SELECT FROM tasks WHERE id = sends.task_id)
       )
    RETURNING 1 AS n
)
SELECT coalesce(sum(n), 0)::bigint FROM gone;

-- name: erase_events
WITH gone AS (DELETE FROM events WHERE task_id = ANY ($1::text[]) RETURNING count AS n) SELECT coalesce(sum(n), 0)::bigint FROM gone;

-- name: erase_tasks
-- Their webhooks are gone before them, so that no trigger keeps a task.
WITH gone AS (DELETE FROM tasks WHERE id = ANY ($1::text[]) RETURNING tenant, owner, state),
counted AS (
    INSERT INTO counters (tenant, owner, state, shard, n)
    SELECT tenant, owner, state, -1, -count(*) FROM gone GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (tenant, owner, state, shard) DO UPDATE SET n = counters.n + excluded.n
)
SELECT count(*) FROM gone;

-- name: lock_counters
-- Writers wait, so that none of them counts up what is about to go.
LOCK TABLE counters IN EXCLUSIVE MODE;

-- name: erase_counters
-- A counter names an owner, too.
DELETE FROM counters WHERE (tenant, owner) IN (
    SELECT tenant, owner FROM counters GROUP BY 1, 2 HAVING sum(n) = 0
) AND NOT EXISTS (
    SELECT FROM tasks WHERE tasks.tenant = counters.tenant AND tasks.owner = counters.owner
);

-- --- reading ------------------------------------------------------------------------------------

-- name: whole_tasks
-- Tasks with what came after their snapshot and what waits for them, all as of one moment. {found} selects rows of
-- tasks, {order} says how they are sorted, and {total} is a number that goes with them; $1 is this replica. There is
-- always a row: one without an id says that nothing was found. A task that has ended with a snapshot is complete: its
-- row says all.
SELECT
    whole.n, found.id, tenant, owner, context_id, skill_id, origin_dialect, created_ms, state, status_at_ms, epoch,
    found.seq, wake_at_ms, attempts, snapshot_seq, found.head, found.artifacts, found.history, holder, inbox_n,
    EXISTS (
        SELECT FROM replicas
        WHERE replicas.id = holder AND replicas.id <> $1 AND lease_until > clock_timestamp()
    ) AS is_elsewhere,
    snapshots.seq, snapshots.head, snapshots.artifacts, snapshots.history,
    (
        SELECT array_agg(events.body ORDER BY events.seq) FROM events
        WHERE NOT is_complete AND events.task_id = found.id AND events.seq > coalesce(snapshots.seq, 0)
    ) AS tail,
    (
        SELECT array_agg(inbox.n ORDER BY inbox.n) FROM inbox
        WHERE NOT is_complete AND inbox.task_id = found.id
    ) AS inbox_numbers,
    (
        SELECT array_agg(inbox.body ORDER BY inbox.n) FROM inbox
        WHERE NOT is_complete AND inbox.task_id = found.id
    ) AS inbox_bodies
FROM (SELECT {total} AS n) AS whole
LEFT JOIN (
    SELECT *, state IN (3, 4, 5, 7) AND seq = snapshot_seq AS is_complete FROM ({found}) AS chosen
) AS found ON true
LEFT JOIN snapshots ON snapshots.task_id = found.id AND NOT is_complete
ORDER BY {order};

-- name: found_task
SELECT * FROM tasks WHERE id = $2 AND tenant = $3 AND owner = $4;

-- name: found_at_work
-- Tasks that should be running and that no living replica holds. Who holds any is found by one step down the index
-- tasks_at_work for each, however much they hold.
WITH RECURSIVE holders AS (
    (SELECT holder FROM tasks WHERE state IN (1, 2) AND wake_at_ms = 0 ORDER BY holder LIMIT 1)
    UNION ALL
    SELECT (
        SELECT tasks.holder FROM tasks
        WHERE state IN (1, 2) AND wake_at_ms = 0 AND tasks.holder > holders.holder ORDER BY tasks.holder LIMIT 1
    ) FROM holders WHERE holders.holder IS NOT NULL
),
dead AS (
    SELECT holder FROM holders
    WHERE holder IS NOT NULL AND NOT EXISTS (
        SELECT FROM replicas WHERE replicas.id = holders.holder AND lease_until > clock_timestamp()
    )
)
SELECT theirs.*
FROM dead CROSS JOIN LATERAL (
    SELECT * FROM tasks
    WHERE state IN (1, 2) AND wake_at_ms = 0 AND tasks.holder = dead.holder AND tasks.id > $2
    ORDER BY tasks.id LIMIT $3
) AS theirs
ORDER BY theirs.id LIMIT $3;

-- name: found_due
SELECT * FROM tasks
WHERE wake_at_ms > 0 AND wake_at_ms <= $2 AND NOT EXISTS (
    SELECT FROM replicas
    WHERE replicas.id = tasks.holder AND replicas.id <> $1 AND lease_until > clock_timestamp()
)
ORDER BY wake_at_ms, id LIMIT $3;

-- name: found_waiting
SELECT * FROM tasks
WHERE state IN (6, 8) AND status_at_ms < $2 AND id > $3 AND NOT EXISTS (
    SELECT FROM replicas
    WHERE replicas.id = tasks.holder AND replicas.id <> $1 AND lease_until > clock_timestamp()
)
ORDER BY id LIMIT $4;

-- name: found_page
-- {filters} are those of the query, with the place to go on from; {limit} is the number of a parameter.
SELECT * FROM tasks WHERE tenant = $2 AND owner = $3{filters}
ORDER BY status_at_ms DESC, id DESC LIMIT {limit};

-- name: total_of_page
SELECT count(*) FROM tasks WHERE tenant = $2 AND owner = $3{filters};

-- name: total_of_all
SELECT coalesce(sum(counters.n), 0)::bigint FROM counters WHERE tenant = $2 AND owner = $3;

-- name: total_in_state
SELECT coalesce(sum(counters.n), 0)::bigint FROM counters WHERE tenant = $2 AND owner = $3{filters};

-- name: select_segments_from
-- The segment that holds the event of the given number, and some after it, as long as those before are small.
SELECT seq, body FROM (
    SELECT seq, body, sum(octet_length(body)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) - octet_length(body) AS before
    FROM events
    WHERE task_id = $1
      AND seq >= coalesce((SELECT max(seq) FROM events WHERE task_id = $1 AND seq <= $2), 0)
    ORDER BY seq LIMIT $3
) AS segments
WHERE before < $4 ORDER BY seq;

-- name: select_segments_until
-- All segments that begin at or before the event of the given number.
SELECT seq, body FROM events WHERE task_id = $1 AND seq <= $2 ORDER BY seq;

-- name: select_secret
SELECT body FROM secrets WHERE task_id = $1 AND n = $2;

-- name: select_journal
SELECT n, kind, name, result, seq FROM journal WHERE task_id = $1 ORDER BY n;

-- name: select_inbox
SELECT n, body FROM inbox WHERE task_id = $1 ORDER BY n;

-- name: select_alias
SELECT task_id FROM aliases WHERE tenant = $1 AND owner = $2 AND alias = $3;

-- name: select_sends
-- Records of the given keys, each with the place of its key. One by one, by the index: a join is planned by what
-- is known of the table, and as long as that is nothing, it reads all of it.
SELECT given.place, found.digest, found.at_ms, found.task_id, found.reply
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS given (tenant, owner, message_id, place)
CROSS JOIN LATERAL (
    SELECT sends.digest, sends.at_ms, sends.task_id, sends.reply FROM sends
    WHERE sends.tenant = given.tenant AND sends.owner = given.owner AND sends.message_id = given.message_id
    LIMIT 1
) AS found;

-- name: select_filled
-- Unfinished tasks that something waits for, but for those that another living replica holds.
SELECT tenant, owner, id FROM tasks
WHERE id IN (SELECT task_id FROM inbox) AND state NOT IN (3, 4, 5, 7) AND NOT EXISTS (
    SELECT FROM replicas
    WHERE replicas.id = tasks.holder AND replicas.id <> $1 AND lease_until > clock_timestamp()
)
ORDER BY id;

-- name: select_moved
SELECT tasks.id FROM unnest($1::text[], $2::bigint[]) AS given (id, seq) JOIN tasks USING (id)
WHERE tasks.seq > given.seq;

-- name: select_lost
SELECT given.id FROM unnest($1::text[], $2::bigint[]) AS given (id, epoch) LEFT JOIN tasks USING (id)
WHERE tasks.epoch IS DISTINCT FROM given.epoch;

-- --- webhooks -----------------------------------------------------------------------------------

-- name: select_webhooks
-- {rows} is the table, or a common table expression with rows of it. A clause may follow. {but} is the event of a
-- dead letter that is just being dealt with, and is not to be sent again.
SELECT
    task_id, id, tenant, owner, dialect, host, wants, created_ms, config, cursor, state, attempts, finding, due_ms,
    claim, claimed_until_ms, pending_since_ms, next_letter(task_id, id, {but})
FROM {rows};

-- name: webhook_of_key
WHERE task_id = $1 AND id = $2;

-- name: webhooks_of_task
WHERE task_id = $1 AND (created_ms, id) > ($2, $3) ORDER BY created_ms, id LIMIT $4;

-- name: webhooks_after
WHERE (task_id, id) > ($1, $2) ORDER BY task_id, id LIMIT $3;

-- name: put_webhook
-- Register one at a task, to be told of what follows; or replace one, which then goes on where it stands. One that
-- is the same as before is left as it is. Whoever is just adding an event to the task comes before it, or after it and
-- then knows of it.
WITH task AS (
    UPDATE tasks SET has_webhooks = true WHERE id = $1 RETURNING id, tenant, owner, seq, state
),
put AS (
    INSERT INTO webhooks (
        task_id, id, dialect, host, wants, created_ms, config, tenant, owner, cursor, state, is_over
    )
    SELECT
        task.id, $2::text, $3::text, $4::text, $5::text, $6::bigint, $7::bytea, tenant, owner, seq, state,
        state IN (3, 4, 5, 7)
    FROM task
    ON CONFLICT (task_id, id) DO UPDATE SET
        dialect = excluded.dialect,
        host = excluded.host,
        wants = excluded.wants,
        config = excluded.config,
        attempts = 0,
        finding = '',
        due_ms = excluded.created_ms,
        claim = webhooks.claim + 1,
        claimed_until_ms = 0
    WHERE (webhooks.dialect, webhooks.wants, webhooks.config)
        <> (excluded.dialect, excluded.wants, excluded.config)
    RETURNING *
),
known AS (
    SELECT * FROM put
    UNION ALL SELECT * FROM webhooks WHERE task_id = $1 AND id = $2 AND NOT EXISTS (SELECT FROM put)
)
{webhooks};

-- name: remove_webhook
DELETE FROM webhooks WHERE task_id = $1 AND id = $2 RETURNING 1;

-- name: count_webhooks
SELECT
    (SELECT count(*) FROM webhooks WHERE task_id = $1),
    (SELECT count(*) FROM webhooks WHERE tenant = $2 AND owner = $3 AND NOT is_over);

-- name: take_webhooks
-- Take what is due and not taken, but for some hosts; what another replica is just taking is passed over.
WITH due AS (
    SELECT task_id AS of_task, id AS of_webhook FROM webhooks
    WHERE pending_since_ms > 0 AND due_ms <= $1 AND claimed_until_ms <= $1 AND host <> ALL ($4::text[])
    ORDER BY due_ms LIMIT $3 FOR UPDATE SKIP LOCKED
),
taken AS (
    UPDATE webhooks SET claim = claim + 1, claimed_until_ms = $2 FROM due
    WHERE task_id = of_task AND id = of_webhook
    RETURNING webhooks.*
)
{webhooks} ORDER BY due_ms;

-- name: advance_webhook
-- Move the cursor of one that is taken; an event before it is a dead letter, and moves nothing. Stay with it if there
-- is something left in the log or among the letters. Nobody adds an event meanwhile: who wants to comes before, and it
-- is seen here, or after, and finds the webhook at rest. {letter} is what becomes of the dead letter of event $8.
WITH task AS (SELECT seq AS last_seq, state AS task_state FROM tasks WHERE id = $1 FOR SHARE),
moved AS (
    UPDATE webhooks SET
        state = CASE WHEN $4 > cursor THEN $5 ELSE state END,
        cursor = greatest(cursor, $4),
        attempts = 0,
        finding = '',
        (pending_since_ms, claimed_until_ms, due_ms, is_over) = (
            SELECT
                CASE WHEN is_left THEN $6::bigint ELSE 0 END,
                CASE WHEN is_left THEN $7::bigint ELSE 0 END,
                CASE WHEN is_left THEN due_ms ELSE 0 END,
                NOT is_left AND task_state IN (3, 4, 5, 7)
            FROM (SELECT greatest(cursor, $4) < last_seq OR next_letter(task_id, id, $8) > 0 AS is_left) AS rest
        )
    FROM task
    WHERE task_id = $1 AND id = $2 AND claim = $3
    RETURNING webhooks.*
),
letter AS ({letter})
{webhooks};

-- name: letter_delivered
DELETE FROM dead_letters USING moved
WHERE dead_letters.task_id = moved.task_id AND webhook_id = moved.id AND seq = $8;

-- name: letter_dead
INSERT INTO dead_letters (task_id, webhook_id, seq, attempts, finding, at_ms)
SELECT task_id, id, $8, $9::integer, $10::text, $6 FROM moved
ON CONFLICT (task_id, webhook_id, seq) DO UPDATE SET
    attempts = excluded.attempts, finding = excluded.finding, at_ms = excluded.at_ms, is_queued = false;

-- name: postpone_webhook
UPDATE webhooks SET attempts = $4, due_ms = $5, finding = $6, claimed_until_ms = 0
WHERE task_id = $1 AND id = $2 AND claim = $3
RETURNING 1;

-- name: select_letters
SELECT dead_letters.task_id, webhook_id, seq, host, dead_letters.attempts, dead_letters.finding, at_ms, is_queued
FROM dead_letters JOIN webhooks ON webhooks.task_id = dead_letters.task_id AND webhooks.id = webhook_id
WHERE (dead_letters.task_id, webhook_id, seq) > ($1, $2, $3)
ORDER BY dead_letters.task_id, webhook_id, seq LIMIT $4;

-- name: retry_letters
-- Queue letters, and have their webhooks taken at once. The webhook comes first: who advances it sees the letters.
WITH given AS (
    SELECT task_id, webhook_id, seq
    FROM unnest($1::text[], $2::text[], $3::bigint[]) AS keys (task_id, webhook_id, seq)
    JOIN dead_letters USING (task_id, webhook_id, seq) WHERE NOT is_queued
),
woken AS (
    UPDATE webhooks SET
        pending_since_ms = CASE WHEN pending_since_ms > 0 THEN pending_since_ms ELSE $4::bigint END,
        due_ms = $4::bigint,
        attempts = 0
    WHERE (task_id, id) IN (SELECT task_id, webhook_id FROM given)
    RETURNING task_id, id
),
queued AS (
    UPDATE dead_letters SET is_queued = true
    FROM given JOIN woken ON woken.task_id = given.task_id AND woken.id = given.webhook_id
    WHERE dead_letters.task_id = given.task_id AND dead_letters.webhook_id = given.webhook_id
      AND dead_letters.seq = given.seq AND NOT is_queued
    RETURNING 1
)
SELECT count(*) FROM queued;

-- name: drop_letters
WITH gone AS (
    DELETE FROM dead_letters USING unnest($1::text[], $2::text[], $3::bigint[]) AS given (task_id, webhook_id, seq)
    WHERE dead_letters.task_id = given.task_id AND dead_letters.webhook_id = given.webhook_id
      AND dead_letters.seq = given.seq
    RETURNING 1
)
SELECT count(*) FROM gone;

-- name: webhook_overview
SELECT
    (SELECT count(*) FROM webhooks),
    (SELECT count(*) FROM webhooks WHERE pending_since_ms > 0),
    (SELECT coalesce(min(pending_since_ms), 0) FROM webhooks WHERE pending_since_ms > 0),
    (SELECT count(*) FROM dead_letters);

-- --- schema -------------------------------------------------------------------------------------

-- name: find_schema
SELECT to_regnamespace($1) IS NOT NULL, to_regclass($1 || '.schema_version') IS NOT NULL;

-- name: create_schema
CREATE SCHEMA {schema};
CREATE TABLE {schema}.schema_version (version integer NOT NULL, oldest integer NOT NULL);
INSERT INTO {schema}.schema_version VALUES (0, 1);

-- name: select_version
SELECT max(version) FROM schema_version;

-- name: select_oldest
-- The oldest version of Dragoman, by its own latest version of the schema, that can work with this one.
SELECT max(oldest) FROM schema_version;

-- name: set_version
UPDATE schema_version SET version = {version};

-- --- looking from outside ---------------------------------------------------------------------

-- name: records_tasks
-- All of the rows of tasks, whoever owns them.
SELECT
    id, tenant, owner, context_id, skill_id, origin_dialect, created_ms, state, status_at_ms, epoch, seq,
    inbox_n, wake_at_ms, attempts, snapshot_seq, head, artifacts, history
FROM tasks WHERE id = ANY ($1::text[]) ORDER BY id;

-- name: records_snapshots
SELECT task_id, seq, head, artifacts, history FROM snapshots WHERE task_id = ANY ($1::text[]);

-- name: records_segments
SELECT task_id, seq, count, body FROM events WHERE task_id = ANY ($1::text[]) ORDER BY task_id, seq;

-- name: records_journal
SELECT task_id, n, kind, name, result, seq FROM journal WHERE task_id = ANY ($1::text[]) ORDER BY task_id, n;

-- name: records_inbox
SELECT task_id, n, body FROM inbox WHERE task_id = ANY ($1::text[]) ORDER BY task_id, n;

-- name: select_ids
SELECT id FROM tasks WHERE id > $1 ORDER BY id LIMIT $2;

-- name: count_tasks
SELECT count(*) FROM tasks;

-- name: select_schema
-- What there is, by kind and name.
SELECT CASE relkind WHEN 'i' THEN 'index' ELSE 'table' END, relname::text
FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'i')
UNION ALL SELECT 'function', proname::text FROM pg_proc WHERE pronamespace = to_regnamespace($1)
UNION ALL SELECT 'trigger', tgname::text
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid WHERE relnamespace = to_regnamespace($1) AND NOT tgisinternal;

-- name: strays
-- What belongs to a task that there is not; or, of secrets, to one that has ended.
SELECT DISTINCT task_id, 'events' FROM events WHERE NOT EXISTS (SELECT FROM tasks WHERE id = task_id)
UNION ALL SELECT task_id, 'snapshots' FROM snapshots WHERE NOT EXISTS (SELECT FROM tasks WHERE id = task_id)
UNION ALL SELECT DISTINCT task_id, 'journal' FROM journal WHERE NOT EXISTS (SELECT FROM tasks WHERE id = task_id)
UNION ALL SELECT DISTINCT task_id, 'secrets' FROM secrets
WHERE NOT EXISTS (SELECT FROM tasks WHERE id = task_id AND state NOT IN (3, 4, 5, 7))
UNION ALL SELECT DISTINCT task_id, 'inbox' FROM inbox WHERE NOT EXISTS (SELECT FROM tasks WHERE id = task_id)
UNION ALL SELECT DISTINCT task_id, 'webhooks' FROM webhooks
WHERE NOT EXISTS (SELECT FROM tasks WHERE tasks.id = task_id);

-- name: stray_aliases
-- Names of tasks that their owner does not have.
SELECT alias, task_id FROM aliases
WHERE NOT EXISTS (
    SELECT FROM tasks
    WHERE tasks.id = aliases.task_id AND tasks.tenant = aliases.tenant AND tasks.owner = aliases.owner
);

-- name: stray_sends
-- Records of sends whose task their owner does not have. One that was answered without a task names none.
SELECT message_id, task_id FROM sends
WHERE task_id <> '' AND NOT EXISTS (
    SELECT FROM tasks
    WHERE tasks.id = sends.task_id AND tasks.tenant = sends.tenant AND tasks.owner = sends.owner
);

-- name: wrong_counters
-- Owner and state, what is counted, and what there is; where the two differ.
SELECT tenant, owner, state, sum(counted)::bigint, sum(found)::bigint
FROM (
    SELECT tenant, owner, state, n AS counted, 0 AS found FROM counters
    UNION ALL SELECT tenant, owner, state, 0, count(*) FROM tasks GROUP BY tenant, owner, state
) AS both_sides
GROUP BY tenant, owner, state HAVING sum(counted) <> sum(found);

-- name: wrong_webhooks
-- Task, webhook, and what is wrong with it.
SELECT webhooks.task_id, webhooks.id, faults.text
FROM webhooks JOIN tasks ON tasks.id = webhooks.task_id
CROSS JOIN LATERAL (VALUES
    (
        (tasks.tenant, tasks.owner) <> (webhooks.tenant, webhooks.owner),
        'belongs to another owner than its task'
    ),
    (NOT tasks.has_webhooks, 'is not known to its task'),
    (cursor > tasks.seq, 'stands at event ' || cursor || ', which there is not'),
    (
        pending_since_ms = 0 AND (
            next_letter(webhooks.task_id, webhooks.id, 0) > 0
            -- A new state concerns every webhook; what else has happened only some.
            OR tasks.seq > cursor AND (tasks.state <> webhooks.state OR position('artifacts' IN wants) > 0)
        ),
        'has something to tell, but is not pending'
    ),
    (is_over AND tasks.state NOT IN (3, 4, 5, 7), 'is over, but its task is not')
) AS faults (is_so, text)
WHERE faults.is_so
ORDER BY 1, 2;

-- name: wrong_letters
-- Dead letters of events that their webhook has not come to.
SELECT dead_letters.task_id, webhook_id, seq
FROM dead_letters JOIN webhooks ON webhooks.task_id = dead_letters.task_id AND webhooks.id = webhook_id
WHERE seq > cursor;

-- name: size
-- Bytes of all tables, with their indexes.
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint
FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r';
