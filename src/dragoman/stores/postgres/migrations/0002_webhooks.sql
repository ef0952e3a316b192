-- Webhooks of tasks. The log of the task is their outbox: each has a cursor into it, and no row is written for a
-- notification.
CREATE TABLE webhooks (
    task_id          text     COLLATE "C" NOT NULL,
    id               text     COLLATE "C" NOT NULL,
    tenant           text     COLLATE "C" NOT NULL,     -- whose the task is
    owner            text     COLLATE "C" NOT NULL,
    dialect          text     COLLATE "C" NOT NULL,     -- the form it was registered in
    host             text     COLLATE "C" NOT NULL,
    wants            text     COLLATE "C" NOT NULL,     -- kinds of events, apart by commas
    created_ms       bigint   NOT NULL,
    cursor           bigint   NOT NULL,                 -- the last event that was dealt with
    state            smallint NOT NULL,                 -- of the task after that event; 0 before the first
    attempts         integer  NOT NULL DEFAULT 0,       -- in vain, of the next notification
    finding          text     COLLATE "C" NOT NULL DEFAULT '',  -- what came of the last of them
    due_ms           bigint   NOT NULL DEFAULT 0,       -- not to be taken before
    claim            bigint   NOT NULL DEFAULT 0,       -- counts how often it was taken from somebody
    claimed_until_ms bigint   NOT NULL DEFAULT 0,       -- taken until then; 0 if it is not
    pending_since_ms bigint   NOT NULL DEFAULT 0,       -- there may be something after the cursor; 0 if not
    is_over          boolean  NOT NULL DEFAULT false,   -- its task has ended, and all was dealt with
    config           bytea    NOT NULL,                 -- as the client gave it, with its secrets
    PRIMARY KEY (task_id, id)
) WITH (fillfactor = 70);

-- What to send, in the order it is due.
CREATE INDEX webhooks_pending ON webhooks (due_ms) WHERE pending_since_ms > 0;

-- How many an owner has that may still be called.
CREATE INDEX webhooks_in_use ON webhooks (tenant, owner) WHERE NOT is_over;

-- Notifications that were given up: which event, how often it was tried, what came of it. They go with their webhook,
-- also when one is just being added.
CREATE TABLE dead_letters (
    task_id    text    COLLATE "C" NOT NULL,
    webhook_id text    COLLATE "C" NOT NULL,
    seq        bigint  NOT NULL,
    attempts   integer NOT NULL,
    finding    text    COLLATE "C" NOT NULL,
    at_ms      bigint  NOT NULL,
    is_queued  boolean NOT NULL DEFAULT false,          -- an operator has it sent again
    PRIMARY KEY (task_id, webhook_id, seq),
    FOREIGN KEY (task_id, webhook_id) REFERENCES webhooks ON DELETE CASCADE
);

-- Whether a task has, or had, webhooks: to look for them costs those nothing that have none. It is written and read
-- under the lock of the task's row, so that whoever adds an event knows of a webhook that was registered just before.
ALTER TABLE tasks ADD COLUMN has_webhooks boolean NOT NULL DEFAULT false;

-- Makes webhooks of tasks pending that have new events, each given with the time and whether a status is among them;
-- tells how many have become so. To be called by a statement that has the rows of the tasks locked. A function, not a
-- part of that statement, because it sees what was committed until it got the locks: a webhook that was registered
-- meanwhile, and one that had nothing to send any more.
CREATE FUNCTION tell_webhooks(task_ids text[], at_ms bigint[], has_status boolean[]) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    told bigint;
BEGIN
    UPDATE webhooks SET pending_since_ms = given.at_ms, due_ms = given.at_ms
    FROM unnest(task_ids, $2, $3) AS given (task_id, at_ms, has_status)
    WHERE webhooks.task_id = given.task_id
      AND webhooks.pending_since_ms = 0
      AND (given.has_status OR position('artifacts' IN webhooks.wants) > 0);
    GET DIAGNOSTICS told = ROW_COUNT;
    RETURN ARRAY[told];
END
$$;

-- Tells which dead letter of a webhook is the first to be sent again, but for one; 0 if none is. A function for the
-- same reason: whoever changes a webhook, and had to wait for the lock of its row, sees what was queued until then.
CREATE FUNCTION next_letter(of_task text, of_webhook text, but bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN coalesce(min(seq), 0) FROM dead_letters
    WHERE task_id = of_task AND webhook_id = of_webhook AND is_queued AND seq <> but;
END
$$;

-- Replicas of the version before know of no webhooks. Whatever such a one does to a task that has some: with its next
-- status they hear of all that has happened.
CREATE FUNCTION tell_of_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM tell_webhooks(ARRAY[NEW.id], ARRAY[greatest(NEW.status_at_ms, 1)], ARRAY[true]);
    RETURN NULL;
END
$$;
CREATE TRIGGER tell_of_status AFTER UPDATE OF state ON tasks FOR EACH ROW
WHEN (NEW.has_webhooks AND (NEW.state, NEW.status_at_ms) IS DISTINCT FROM (OLD.state, OLD.status_at_ms))
EXECUTE FUNCTION tell_of_status();

-- A task goes with its webhooks, and stays while they have something to send, whoever removes it.
CREATE FUNCTION go_with_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM webhooks WHERE task_id = OLD.id AND pending_since_ms > 0) THEN
        RETURN NULL;
    END IF;
    DELETE FROM webhooks WHERE task_id = OLD.id;
    RETURN OLD;
END
$$;
CREATE TRIGGER go_with_webhooks BEFORE DELETE ON tasks FOR EACH ROW
WHEN (OLD.has_webhooks) EXECUTE FUNCTION go_with_webhooks();
