-- Answers that must not be seen, encrypted with a key that is not here. They go when their task ends.
CREATE TABLE secrets (
    task_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task_id, n)
) WITHOUT ROWID;
