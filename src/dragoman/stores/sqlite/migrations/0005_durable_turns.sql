-- A turn can be run again: the journal knows the last event before each result, and a task when to be woken
-- (0: not at all) and how often it was run again since it last got on.
ALTER TABLE journal ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN wake_at_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;

-- What to run after a restart. Tasks that wait for their client are left alone, however many they are.
DROP INDEX tasks_unfinished;
CREATE INDEX tasks_at_work ON tasks (id) WHERE state IN (1, 2);
CREATE INDEX tasks_waking ON tasks (wake_at_ms) WHERE wake_at_ms > 0;

-- What came with a message is kept with it.
UPDATE inbox SET body = CAST('{"message":' || body || '}' AS BLOB);

-- Answers were all that was recorded, and not where: as if after everything there is. A turn that is run again
-- may repeat what it had said since the last of them; that is better than to leave out what it had not.
UPDATE journal SET
    result = CAST('{"errand":{"message":' || result || '}}' AS BLOB),
    seq = coalesce((SELECT tasks.seq FROM tasks WHERE tasks.id = journal.task_id), 0);
