-- When a task is removed, what its client called it goes as well. Only tasks of A2A 0.1 have such names, so no
-- other pays for this index.
CREATE INDEX aliases_by_task ON aliases (task_id);
