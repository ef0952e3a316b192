-- The task log.
--
-- Times are milliseconds since the Unix epoch by the clocks of the replicas; leases alone run by the clock of
-- the database. A state is its number in the A2A protocol's TaskState: 1 submitted, 2 working, 3 completed,
-- 4 failed, 5 canceled, 6 input required, 7 rejected, 8 auth required. Keys are compared byte by byte.

-- One row per task. What is written with every event (seq, and inbox_n with every message) is in no index, and a
-- page keeps room for it: such a change stays on its page and touches no index. Of 4,958
-- changes by chunks of one task, each in a commit of its own, all were of that kind.
CREATE TABLE tasks (
    id             text     COLLATE "C" NOT NULL PRIMARY KEY,
    tenant         text     COLLATE "C" NOT NULL,
    owner          text     COLLATE "C" NOT NULL,
    context_id     text     COLLATE "C" NOT NULL,
    skill_id       text     COLLATE "C" NOT NULL,
    origin_dialect text     COLLATE "C" NOT NULL,
    created_ms     bigint   NOT NULL,
    state          smallint NOT NULL,
    status_at_ms   bigint   NOT NULL,
    epoch          bigint   NOT NULL,              -- the lease under which the task may be written
    seq            bigint   NOT NULL,              -- its last event
    inbox_n        bigint   NOT NULL DEFAULT 0,    -- the last number given in the inbox
    wake_at_ms     bigint   NOT NULL DEFAULT 0,    -- when to be woken although nobody asks; 0 for not at all
    attempts       integer  NOT NULL DEFAULT 0,
    holder         text     COLLATE "C" NOT NULL DEFAULT '',   -- the replica that has it in memory
    snapshot_seq   bigint   NOT NULL DEFAULT 0,    -- the last event, once the task has ended; 0 before that
    head           bytea,                          -- these three are the task itself, once it has ended
    artifacts      bytea,
    history        bytea
) WITH (fillfactor = 85);

-- Keyset pages, newest status first, read backwards.
CREATE INDEX tasks_by_status  ON tasks (tenant, owner, status_at_ms, id);
CREATE INDEX tasks_by_state   ON tasks (tenant, owner, state, status_at_ms, id);
CREATE INDEX tasks_by_context ON tasks (tenant, owner, context_id, status_at_ms, id);

-- What to run when its holder is dead: by holder, of which there are few, so that those who live are passed over.
CREATE INDEX tasks_at_work ON tasks (holder, id) WHERE state IN (1, 2) AND wake_at_ms = 0;
CREATE INDEX tasks_waking  ON tasks (wake_at_ms) WHERE wake_at_ms > 0;
CREATE INDEX tasks_waiting ON tasks (status_at_ms) WHERE state IN (6, 8);

-- What to remove some day. Ends come in the order of time, so that this grows at its right edge alone.
CREATE INDEX tasks_ended ON tasks (status_at_ms) WHERE state IN (3, 4, 5, 7);

-- Entries that were committed together: seq is the number of the first event among them, count how many
-- events there are, body the entries joined by newlines. A snapshot is always at the end of a segment.
--
-- Not partitioned: a log goes with its task, and tasks of one month end, or do not, at any time after it, so that
-- no partition would ever be free to be dropped as a whole, while every read of a log would have to know its
-- month. Removing by key measured 0.06 to 0.10 of the processor time that storing the same tasks took (16,000 small
-- ones, three runs), and 0.28 where the tables had never been analyzed; there it grows with the table, because
-- the index on the time of the end is not trusted. What autovacuum does afterwards is not in these numbers.
CREATE TABLE events (
    task_id text    COLLATE "C" NOT NULL,
    seq     bigint  NOT NULL,
    count   integer NOT NULL,
    body    bytea   NOT NULL,
    PRIMARY KEY (task_id, seq)
);

-- The task as it was after an event, while it is under way. Kept apart from its row, which changes with
-- every event and would be rewritten with all of this.
CREATE TABLE snapshots (
    task_id   text   COLLATE "C" NOT NULL PRIMARY KEY,
    seq       bigint NOT NULL,
    head      bytea  NOT NULL,
    artifacts bytea  NOT NULL,
    history   bytea  NOT NULL
) WITH (fillfactor = 70);

-- Messages acknowledged to their sender that the task has not taken up yet.
CREATE TABLE inbox (
    task_id text   COLLATE "C" NOT NULL,
    n       bigint NOT NULL,
    body    bytea  NOT NULL,
    PRIMARY KEY (task_id, n)
);

-- Recorded results of durable calls; seq is the last event before each.
CREATE TABLE journal (
    task_id text    COLLATE "C" NOT NULL,
    n       integer NOT NULL,
    kind    text    COLLATE "C" NOT NULL,
    name    text    COLLATE "C" NOT NULL,
    result  bytea   NOT NULL,
    seq     bigint  NOT NULL,
    PRIMARY KEY (task_id, n)
);

-- What became of a send, to recognise it when it is tried again, here or elsewhere.
CREATE TABLE sends (
    tenant     text   COLLATE "C" NOT NULL,
    owner      text   COLLATE "C" NOT NULL,
    message_id text   COLLATE "C" NOT NULL,
    digest     bytea  NOT NULL,
    at_ms      bigint NOT NULL,
    task_id    text   COLLATE "C" NOT NULL,
    reply      bytea  NOT NULL,
    since_ms   bigint NOT NULL,                    -- an older record of the same key may be replaced
    PRIMARY KEY (tenant, owner, message_id)
);

-- Times grow, so that this index does so at its right edge alone.
CREATE INDEX sends_by_time ON sends (at_ms);

-- Ids that clients of A2A 0.1 made up for their tasks. They are unique to their owner, not beyond.
CREATE TABLE aliases (
    tenant  text COLLATE "C" NOT NULL,
    owner   text COLLATE "C" NOT NULL,
    alias   text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, owner, alias)
);
CREATE INDEX aliases_by_task ON aliases (task_id);

-- How many tasks stand where: the sum over the shards. Every writer has a shard of its own, as far as there are
-- enough, so that no two of them wait for the same row; a row is counted up in place.
CREATE TABLE counters (
    tenant text     COLLATE "C" NOT NULL,
    owner  text     COLLATE "C" NOT NULL,
    state  smallint NOT NULL,
    shard  smallint NOT NULL,
    n      bigint   NOT NULL,
    PRIMARY KEY (tenant, owner, state, shard)
) WITH (fillfactor = 50);

-- Who writes: one row for each replica. Every statement that writes to the log counts up the batches of its writer
-- in the same transaction, and only if both numbers are what its sender expects. So after a broken connection the
-- number of the batch tells whether the last one was kept; and the next connection counts up, which makes sure that
-- it will not be kept later on, should it still be on its way.
CREATE TABLE writers (
    id         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    connection bigint      NOT NULL DEFAULT 0,
    batch      bigint      NOT NULL DEFAULT 0,
    result     bigint[],                           -- what the last batch answered, where that is more than "done"
    seen_at    timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10);

-- Leases of replicas.
CREATE TABLE replicas (
    id          text        COLLATE "C" NOT NULL PRIMARY KEY,
    lease_until timestamptz NOT NULL
) WITH (fillfactor = 10);

-- Ends a statement, and its transaction, with a code of ours.
CREATE FUNCTION refuse(code text) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'refused' USING ERRCODE = code;
END
$$;
